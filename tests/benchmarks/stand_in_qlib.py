"""Takes the place of ``_qlib_alpha158.py``: the same values, from the store, by quantlit."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from quantlit.features import resolve_factors
from quantlit.features.evaluate import evaluate_factors
from quantlit.panel import QlibSource, build_panel


def main() -> None:
    store, output = sys.argv[-2:]
    print("ready", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        panel = build_panel(QlibSource(path=store), Path(folder) / "panel")
        factors = resolve_factors(["alpha158"], panel.fields)
        values = evaluate_factors(panel, factors)
    axes = {
        "dates": [str(date)[:10] for date in panel.dates],
        "symbols": panel.symbols,
        "factors": [factor.name for factor in factors],
    }
    print(1.5, flush=True)
    Path(output).with_suffix(".json").write_text(json.dumps(axes))
    values.tofile(output)


if __name__ == "__main__":
    main()
