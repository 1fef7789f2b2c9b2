"""CompositeLoss: the weighted sum, its log values, its refusals, and its YAML."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import yaml
from jsonargparse import ArgumentParser
from torch import Tensor

from quantlit.core import ConfigError
from quantlit.functional import standardise_labels
from quantlit.losses import (
    CompositeLoss,
    LossOutput,
    MaskedMSE,
    PearsonLoss,
    SoftSpearmanLoss,
    WeightedTerm,
)

YAML = """
class_path: quantlit.losses.CompositeLoss
init_args:
  terms:
    mse: {weight: 0.7, loss: {class_path: quantlit.losses.MaskedMSE}}
    rank:
      weight: 0.3
      loss: {class_path: quantlit.losses.SoftSpearmanLoss, init_args: {temperature: 0.25}}
"""


def _composite(**weights: float) -> CompositeLoss:
    losses = {"mse": MaskedMSE(), "rank": SoftSpearmanLoss(), "ic": PearsonLoss()}
    return CompositeLoss(terms={n: WeightedTerm(w, losses[n]) for n, w in weights.items()})


def _block(n: int = 40) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    forecast = torch.randn(3, n, 1, generator=generator)
    target = forecast + torch.randn(3, n, 1, generator=generator)
    return forecast, target, torch.ones(3, n, 1, dtype=torch.bool), torch.ones(3, n)


def _backward(composite: CompositeLoss, *block: Tensor) -> tuple[LossOutput, Tensor]:
    forecast = block[0].clone().requires_grad_()
    output: LossOutput = composite(forecast, *block[1:])
    torch.autograd.backward(output.total)
    assert forecast.grad is not None
    return output, forecast.grad


def test_total_and_gradient_are_the_weighted_sums() -> None:
    block = _block()
    output, gradient = _backward(_composite(mse=0.7, rank=0.3), *block)
    mse, mse_gradient = _backward(_composite(mse=1.0), *block)
    rank, rank_gradient = _backward(_composite(rank=1.0), *block)
    torch.testing.assert_close(output.total, 0.7 * mse.total + 0.3 * rank.total)
    torch.testing.assert_close(gradient, 0.7 * mse_gradient + 0.3 * rank_gradient)
    assert list(output.terms) == ["mse", "rank"]
    torch.testing.assert_close(output.terms["rank"], rank.total.detach())  # without its weight
    assert not any(value.requires_grad for value in output.terms.values())


def test_a_term_of_weight_zero_is_only_watched() -> None:
    block = _block()
    output, gradient = _backward(_composite(mse=1.0, ic=0.0), *block)
    _, alone = _backward(_composite(mse=1.0), *block)
    assert torch.equal(gradient, alone)
    assert output.terms["ic"] == PearsonLoss()(*block)


def test_dates_used_counts_dates_that_every_term_can_use() -> None:
    forecast, target, mask, weight = _block()
    forecast, target = forecast.repeat(1, 1, 2), target.repeat(1, 1, 2)
    mask = mask.repeat(1, 1, 2)
    mask[0, 3:] = False  # enough for the squared error, too few for ranks
    mask[1, :, 1] = False  # one of two horizons
    output = _composite(mse=0.7, rank=0.3)(forecast, target, mask, weight)
    assert output.dates_used == 1.5
    assert _composite(mse=1.0)(forecast, target, mask, weight).dates_used == 2.5


def test_a_padding_block_adds_nothing() -> None:
    forecast, target, mask, weight = _block()
    composite = _composite(mse=0.7, rank=0.3)
    output, gradient = _backward(composite, forecast, target, torch.zeros_like(mask), weight)
    assert output.total == 0 and output.dates_used == 0
    assert (gradient == 0).all()


def test_a_model_without_a_finite_forecast_does_not_look_perfect() -> None:
    forecast, target, mask, weight = _block()
    composite = _composite(mse=0.7, rank=0.3)
    forecast[1:] = torch.nan
    partly = composite(forecast, target, mask, weight)
    assert partly.total.isfinite() and partly.dates_used == 1
    forecast[0] = torch.inf
    output, gradient = _backward(composite, forecast, target, mask, weight)
    assert output.total.isnan() and output.dates_used == 0
    assert (gradient == 0).all()


def test_standardised_labels_put_the_two_terms_on_one_scale() -> None:
    """Raw 2 % returns make the rank term hundreds of times stronger; z-scores do not."""
    generator = torch.Generator().manual_seed(1)
    raw = 0.02 * torch.randn(3, 300, 1, generator=generator)
    valid = torch.ones(3, 300, dtype=torch.bool)

    def ratio(method: str, scale: float) -> float:
        forecast = scale * torch.randn(3, 300, 1, generator=torch.Generator().manual_seed(2))
        target, mask = standardise_labels(raw, valid, method)
        block = (forecast, target, mask, torch.ones(3, 300))
        norms = [0.7 * _backward(_composite(mse=1.0), *block)[1].norm()]
        norms.append(0.3 * _backward(_composite(rank=1.0), *block)[1].norm())
        return float(norms[1] / norms[0])

    assert ratio("raw", 0.02) > 100
    assert 0.05 < ratio("zscore", 1.0) < 0.5
    assert 0.05 < ratio("rank_gaussian", 1.0) < 0.5


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({}, "at least one term"),
        ({"mse": -0.1}, r"weight of the loss term 'mse' is -0\.1; it must be a finite number"),
        ({"mse": math.nan}, "weight of the loss term 'mse' is nan"),
        ({"mse": math.inf}, "weight of the loss term 'mse' is inf"),
        ({"mse": 0.0, "ic": 0.0}, "All weights of the loss terms mse, ic are zero"),
        ({"a.b": 1.0}, r"cannot name a term 'a\.b': use letters"),
        ({"loss": 1.0}, "cannot name a term 'loss'"),
    ],
)
def test_impossible_terms_are_refused(terms: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CompositeLoss(terms={name: WeightedTerm(w, PearsonLoss()) for name, w in terms.items()})


def test_it_prints_its_settings() -> None:
    text = repr(_composite(mse=0.7, rank=0.3))
    assert "mse: 0.7, rank: 0.3" in text
    assert "SoftSpearmanLoss(temperature=0.2, min_assets=5)" in text


class _Task:
    def __init__(self, *, loss: CompositeLoss) -> None:
        self.loss = loss


def _parser() -> ArgumentParser:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(_Task, "model")
    return parser


def _config(**rank: Any) -> dict[str, Any]:
    loss = yaml.safe_load(YAML)
    loss["init_args"]["terms"]["rank"]["loss"]["init_args"] |= rank
    return {"model": {"loss": loss}}


def test_yaml_is_checked_and_makes_the_loss() -> None:
    parser = _parser()
    config = parser.parse_object(_config())
    loss = parser.instantiate(config).model.loss
    assert loss.term_names == ("mse", "rank") and loss.weights == {"mse": 0.7, "rank": 0.3}
    assert isinstance(loss.terms["rank"], SoftSpearmanLoss)
    assert loss.terms["rank"].temperature == 0.25
    again = parser.instantiate(parser.parse_string(parser.dump(config))).model.loss
    assert repr(again) == repr(loss)


@pytest.mark.parametrize("rank", [{"temprature": 0.2}, {"temperature": "warm"}])
def test_yaml_with_a_wrong_key_or_type_is_refused(rank: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"temprature|warm"):
        _parser().parse_object(_config(**rank))
