"""Qlib's own Alpha158: ``python _qlib_alpha158.py STORE OUTPUT``, by a Python that has pyqlib.

Loads all instruments of the store without processors and without the label. Prints ``ready`` before
it starts, and the seconds that the loader took when it has. ``OUTPUT`` gets the values, dates by
instruments by factors in float32, and beside it a JSON file with the three axes.
"""

import json
import os
import sys
import time
from pathlib import Path

import pandas as pd
import qlib
from qlib.contrib.data.loader import Alpha158DL


def main() -> None:
    store, output = sys.argv[1:]
    qlib.init(provider_uri=store, region="cn", kernels=os.cpu_count(), logging_level=40)
    print("ready", flush=True)
    start = time.perf_counter()
    table = Alpha158DL().load("all")["feature"]
    print(time.perf_counter() - start, flush=True)
    dates, symbols = (table.index.get_level_values(level).unique() for level in (0, 1))
    axes = {
        "dates": [str(date.date()) for date in dates],
        "symbols": symbols.tolist(),
        "factors": table.columns.tolist(),
    }
    Path(output).with_suffix(".json").write_text(json.dumps(axes))
    whole = table.reindex(pd.MultiIndex.from_product([dates, symbols]))
    whole.to_numpy("float32").tofile(output)


if __name__ == "__main__":
    main()
