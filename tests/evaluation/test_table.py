"""The prediction table: arrays to rows and back."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from random_predictions import make_arrays, make_frame

from quantlit.core import DataError
from quantlit.evaluation import prediction_frame, wide_predictions


def test_columns_types_and_order() -> None:
    frame = make_frame()
    assert list(frame.columns) == ["date", "symbol", "horizon", "forecast", "label", "valid"]
    assert [str(kind) for kind in frame.dtypes] == [
        *("datetime64[ns]", "category", "int32", "float32", "float32", "bool")
    ]
    assert len(frame) == 12 * 30 * 2
    plain = frame.astype({"symbol": str})
    pd.testing.assert_frame_equal(
        plain, plain.sort_values(["date", "symbol", "horizon"]).reset_index(drop=True)
    )


def test_every_cell_is_at_its_key() -> None:
    arrays = make_arrays(n_dates=3, n_symbols=4)
    rows = prediction_frame(**arrays).set_index(["date", "symbol", "horizon"])
    cells = rows.to_dict("index")
    for d, date in enumerate(arrays["dates"]):
        for n, symbol in enumerate(arrays["symbols"]):
            for h, horizon in enumerate(arrays["horizons"]):
                row = cells[pd.Timestamp(date), symbol, horizon]
                assert row["forecast"] == arrays["forecast"][d, n, h]
                assert row["valid"] == arrays["valid"][d, n]
                np.testing.assert_equal(row["label"], arrays["label"][d, n, h])


def test_unsorted_axes_give_the_same_table() -> None:
    arrays = make_arrays()
    rng = np.random.default_rng(1)
    t, n, h = rng.permutation(12), rng.permutation(30), np.array([1, 0])
    mixed = {
        "dates": arrays["dates"][t],
        "symbols": [arrays["symbols"][i] for i in n],
        "horizons": [arrays["horizons"][i] for i in h],
        "forecast": arrays["forecast"][np.ix_(t, n, h)],
        "label": arrays["label"][np.ix_(t, n, h)],
        "valid": arrays["valid"][np.ix_(t, n)],
    }
    pd.testing.assert_frame_equal(prediction_frame(**mixed), prediction_frame(**arrays))


def test_wide_is_the_inverse() -> None:
    arrays = make_arrays()
    wide = wide_predictions(prediction_frame(**arrays), 5)
    np.testing.assert_array_equal(wide.dates, arrays["dates"])
    assert wide.symbols == arrays["symbols"]
    np.testing.assert_array_equal(wide.forecast, arrays["forecast"][..., 1])
    np.testing.assert_array_equal(wide.label, arrays["label"][..., 1])
    np.testing.assert_array_equal(wide.valid, arrays["valid"])


def test_wide_leaves_absent_rows_invalid() -> None:
    frame = make_frame()
    wide = wide_predictions(frame.drop(index=[0, 1]), 1)
    assert np.isnan(wide.forecast[0, 0])
    assert not wide.valid[0, 0]


def test_an_unknown_horizon_is_named() -> None:
    frame = make_frame()
    with pytest.raises(DataError, match=re.escape("no horizon 3; it has [1, 5]")):
        wide_predictions(frame, 3)


def test_a_date_twice_is_refused() -> None:
    arrays = make_arrays()
    arrays["dates"][4] = arrays["dates"][3]
    with pytest.raises(DataError, match=r"The date 2019-01-07\S* occurs 2 times"):
        prediction_frame(**arrays)


def test_wrong_shapes_are_refused() -> None:
    arrays = make_arrays()
    arrays["label"] = arrays["label"][:, 1:]
    with pytest.raises(DataError, match=re.escape("not [12, 30, 2], [12, 29, 2] and [12, 30]")):
        prediction_frame(**arrays)
