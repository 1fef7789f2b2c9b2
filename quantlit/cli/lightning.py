"""QuantlitCLI: LightningCLI with our defaults, the data-to-model link and checkpoint handling."""

from __future__ import annotations

import warnings
from typing import Any

from lightning import LightningDataModule, LightningModule, Trainer
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

# Imported so that configs may use short class names, and so that Lightning finds the classes that a
# checkpoint names.
import quantlit.callbacks
import quantlit.datamodules
import quantlit.forecasters
import quantlit.losses
import quantlit.tasks  # noqa: F401
from quantlit.callbacks import PredictionWriter
from quantlit.cli.checkpoint import keep_to_own_run, with_checkpoint
from quantlit.cli.configs import configs_dir
from quantlit.cli.record import RunConfig
from quantlit.core import ConfigError


class QuantlitCLI(LightningCLI):
    """``quantlit fit | validate | test | predict``.

    Differences from LightningCLI: ``configs/default.yaml`` is read first; ``data.spec`` is linked
    to the model; a checkpoint given by ``--ckpt_path`` (a file, or the folder of a run) supplies
    the configuration it was trained with, and flags and configs given beside it win.
    """

    def init_parser(self, **kwargs: Any) -> LightningArgumentParser:
        """A parser whose errors `main` prints, without pages of usage."""
        return super().init_parser(exit_on_error=False, allow_abbrev=False, **kwargs)

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse the arguments, on top of the configuration of a checkpoint if one is given."""
        with with_checkpoint(list(args)) as complete:
            self.config = parser.parse_args(complete)
        if self.config.subcommand != "fit":
            keep_to_own_run(self.config[self.config.subcommand])

    def _parse_ckpt_path(self) -> None:
        """Lightning lets a checkpoint's hyperparameters overwrite flags; ours are read first."""

    def _prepare_subcommand_parser(
        self, klass: type, subcommand: str, **kwargs: Any
    ) -> LightningArgumentParser:
        parser = super()._prepare_subcommand_parser(klass, subcommand, **kwargs)
        if subcommand in {"validate", "test"}:
            parser.set_defaults(verbose=False)  # RunReport prints the scores
        if subcommand == "predict":
            parser.set_defaults(return_predictions=False)  # PredictionWriter keeps them
        return parser

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Link what the data side found to the model."""
        parser.link_arguments("data.spec", "model.init_args.spec", apply_on="instantiate")

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """The Trainer, or what is wrong with its settings.

        Raises:
            ConfigError: if two of them exclude each other.
        """
        try:
            return super().instantiate_trainer(**kwargs)
        except ValueError as error:
            raise ConfigError(f"trainer: {error}") from error

    def after_instantiate_classes(self) -> None:
        """Tell the prediction writers which configuration they write under."""
        self._dump_config()
        for callback in self.trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, PredictionWriter):
                callback.metadata["config"] = RunConfig.dump(self.config_dump)


def run_trainer(args: list[str]) -> QuantlitCLI:
    """Run one of the Trainer's commands from command-line arguments, the command first.

    Returns:
        The finished run; its ``trainer``, ``model`` and ``datamodule`` can be read or used further.

    Raises:
        ConfigError: if Lightning refuses the Trainer's settings, or the machine lacks what they
            ask for.
    """
    _quieten()
    default = configs_dir() / "default.yaml"
    parser_kwargs = {
        command: {"default_config_files": [str(default)]} for command in QuantlitCLI.subcommands()
    }
    try:
        return QuantlitCLI(
            LightningModule,
            LightningDataModule,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=RunConfig,
            save_config_kwargs={"config_filename": f"config.{args[0]}.yaml", "overwrite": True},
            auto_configure_optimizers=False,
            parser_kwargs=parser_kwargs,
            args=args,
        )
    except MisconfigurationException as error:
        raise ConfigError(f"trainer: {error}") from error


def _quieten() -> None:
    """Silence what a user can do nothing about, and advice that does not hold for views."""
    # Lightning 2.6 calls jsonargparse by names that its version 4.49 deprecates.
    warnings.filterwarnings(
        "ignore", category=DeprecationWarning, module=r"lightning\.pytorch\.cli"
    )
    # Lightning 2.6 asks torch 2.13's pytree in a way that it deprecates.
    warnings.filterwarnings("ignore", message=".*treespec, LeafSpec.* is deprecated")
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    # Our scores are merged over the ranks date by date before they are logged.
    warnings.filterwarnings(
        "ignore", message=".*It is recommended to use .self.log.*sync_dist=True"
    )
