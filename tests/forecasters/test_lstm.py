from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from quantlit.core import PanelSpec
from quantlit.forecasters import LSTMForecaster, initialise_lstm

W, D, N, F = 6, 5, 7, 3


def spec(horizons: tuple[int, ...] = (1,)) -> PanelSpec:
    return PanelSpec(
        n_features=F,
        window=W,
        n_assets=N,
        horizons=list(horizons),
        delay=1,
        standardise="zscore",
        bars_per_year=252.0,
        factors=[f"f{k}" for k in range(F)],
        symbols=[f"s{k}" for k in range(N)],
    )


def block(seed: int = 0, dates: int = D) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    bars = W + dates - 1
    features = torch.randn(bars, N, F, generator=generator)
    return features, torch.ones(bars, N, dtype=torch.bool), torch.zeros(bars, 5, dtype=torch.int64)


def forecaster(one_pass: bool = True, horizons: tuple[int, ...] = (1,)) -> LSTMForecaster:
    torch.manual_seed(0)
    return LSTMForecaster(spec(horizons), hidden_size=8, num_layers=2, one_pass=one_pass)


@pytest.mark.parametrize("horizons", [(1,), (1, 5)])
@pytest.mark.parametrize("dates", [1, D])
def test_shapes(horizons: tuple[int, ...], dates: int) -> None:
    model = forecaster(horizons=horizons)
    for mode in (True, False):
        out = model.train(mode)(*block(dates=dates))
        assert out.shape == (dates, N, len(horizons), 1)


def test_the_windowed_path_equals_each_window_alone() -> None:
    model = forecaster().eval()
    features, observed, stamps = block()
    together = model(features, observed, stamps)
    for date in range(D):
        window = slice(date, date + W)
        alone = model(features[window].contiguous(), observed[window], stamps[window])
        torch.testing.assert_close(together[date], alone[0], atol=1e-6, rtol=1e-5)


def test_one_pass_equals_the_windowed_path_where_the_state_starts_at_the_window() -> None:
    model = forecaster()
    inputs = block()
    one_pass = model.train()(*inputs)
    windowed = model.eval()(*inputs)
    # the first date's window starts at the slice's first bar; later dates saw more bars
    torch.testing.assert_close(one_pass[0], windowed[0], atol=1e-6, rtol=1e-5)
    assert not torch.allclose(one_pass[-1], windowed[-1], atol=1e-6)


def test_evaluation_is_windowed_whatever_the_training() -> None:
    first, second = forecaster(one_pass=True).eval(), forecaster(one_pass=False).eval()
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(first(*block()), second(*block()), atol=0, rtol=0)


@pytest.mark.parametrize("training", [True, False])
def test_no_forecast_depends_on_a_later_bar(training: bool) -> None:
    model = forecaster().train(training)
    features, observed, stamps = block()
    features.requires_grad_()
    out = model(features, observed, stamps)
    for date in range(D):
        (gradient,) = torch.autograd.grad(out[date].sum(), features, retain_graph=True)
        later = gradient[date + W :]
        assert later.numel() == 0 or later.abs().max() == 0
        assert gradient[date + W - 1].abs().max() > 0


def test_assets_do_not_mix() -> None:
    model = forecaster().eval()
    features, observed, stamps = block()
    changed = features.clone()
    changed[:, 3] = 1e6
    before, after = model(features, observed, stamps), model(changed, observed, stamps)
    keep = [n for n in range(N) if n != 3]
    assert torch.equal(before[:, keep], after[:, keep])


def test_initialisation_table() -> None:
    lstm = nn.LSTM(F, 16, 2)
    torch.manual_seed(0)
    initialise_lstm(lstm, recurrent_gain=0.1)
    weights = {name: value.detach() for name, value in lstm.named_parameters()}
    for gate in weights["weight_hh_l0"].chunk(4):
        torch.testing.assert_close(gate @ gate.T, 0.01 * torch.eye(16), atol=1e-6, rtol=0)
    bound = (6 / (F + 16)) ** 0.5
    assert weights["weight_ih_l0"].abs().max() <= bound
    assert float(weights["weight_ih_l0"].std()) == pytest.approx(bound / 3**0.5, rel=0.15)
    assert weights["bias_ih_l1"][16:32].eq(1).all()
    assert weights["bias_ih_l1"].sum() == 16
    assert weights["bias_hh_l1"].eq(0).all()


def test_a_block_that_is_not_contiguous_is_refused() -> None:
    model = forecaster().eval()
    features, observed, stamps = block()
    with pytest.raises(ValueError, match="contiguous"):
        model(features.transpose(0, 1).contiguous().transpose(0, 1), observed, stamps)
