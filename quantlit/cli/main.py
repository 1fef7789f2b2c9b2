"""The ``quantlit`` command: plain commands, and the Trainer's own through LightningCLI."""

from __future__ import annotations

import difflib
import re
import sys
from argparse import ArgumentError
from collections.abc import Callable, Sequence

from quantlit.core import QuantlitError

COMMANDS = ("prepare", "convert", "fit", "validate", "test", "predict")
USAGE = """usage: quantlit COMMAND [options]

commands:
  prepare    turn raw files into a panel store
  convert    write a panel store as a Qlib store or a Parquet file
  fit        train a forecaster, validating as it goes
  validate   score a checkpoint on the validation dates
  test       score a checkpoint on the test dates and write its predictions
  predict    write the forecasts of a checkpoint, with or without labels

`quantlit COMMAND --help` lists the options of a command; `--debug` shows tracebacks."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; errors in the user's input become one message and exit code 1."""
    args = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in args
    args = [arg for arg in args if arg != "--debug"]
    if not args or args[0] in {"-h", "--help"}:
        print(USAGE)
        return 0 if args else 2
    if args[0] == "--version":
        from quantlit import __version__

        print(f"quantlit {__version__}")
        return 0
    if args[0] not in COMMANDS:
        near = difflib.get_close_matches(args[0], COMMANDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        print(f"quantlit: there is no command {args[0]!r}.{hint}\n\n{USAGE}", file=sys.stderr)
        return 2
    try:
        _command(args[0])(args)
    except ArgumentError as error:
        if debug:
            raise
        print(f"quantlit {args[0]}: {_own_error(error) or _brief(error)}", file=sys.stderr)
        print(
            f"`quantlit {args[0]} --help` lists the options, and `--data.help CLASS`, "
            "`--model.help CLASS` or `--source.help CLASS` those of a class.",
            file=sys.stderr,
        )
        return 2
    except Exception as error:
        ours = _own_error(error)
        if debug or ours is None:
            raise
        print(f"quantlit {args[0]}: {type(ours).__name__}: {ours}", file=sys.stderr)
        return 1
    return 0


def _brief(error: ArgumentError) -> str:
    """A parser's message without the lines that only name types and repeat values."""
    found = re.findall(r"given class_path '([\w.]+)':\s+Option '(\w+)' is not accepted", str(error))
    if found:
        unknown = [f"{path.rpartition('.')[2]} has no option {name!r}" for path, name in found]
        return "; ".join(dict.fromkeys(unknown))
    noise = ("Does not validate", "Subtypes:", "Errors:", "- Expected a <class", "Given value")
    lines = [line for line in str(error).splitlines() if not line.strip().startswith(noise)]
    return "\n".join(lines)


def _own_error(error: BaseException | None) -> QuantlitError | None:
    """The error of ours at the bottom of what a parser or trainer made of it."""
    while error is not None and not isinstance(error, QuantlitError):
        error = error.__cause__ or error.__context__
    return error


def _command(name: str) -> Callable[[list[str]], object]:
    # Imported here: `quantlit prepare --help` should not wait for torch and Lightning.
    if name == "prepare":
        from quantlit.cli.prepare import run

        return run
    if name == "convert":
        from quantlit.cli.convert import run_convert

        return run_convert
    from quantlit.cli.lightning import run_trainer

    return run_trainer


if __name__ == "__main__":
    sys.exit(main())
