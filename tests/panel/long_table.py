"""A small long table, for the tests of panels."""

from __future__ import annotations

import pandas as pd


def bar_table() -> pd.DataFrame:
    """Three days of two assets, rows in no order; BBB was suspended on the second day."""
    return pd.DataFrame(
        [
            ("2020-01-03", "BBB", 20.0, 22.0, 19.0, 21.0, 300.0),
            ("2020-01-01", "AAA", 10.0, 11.0, 9.0, 10.0, 100.0),
            ("2020-01-02", "AAA", 10.0, 12.0, 10.0, 11.0, 200.0),
            ("2020-01-01", "BBB", 20.0, 20.0, 18.0, 19.0, 400.0),
            ("2020-01-03", "AAA", 11.0, 11.0, 10.0, 10.5, 150.0),
        ],
        columns=["date", "symbol", "open", "high", "low", "close", "volume"],
    )
