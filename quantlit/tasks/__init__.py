"""Tasks: thin LightningModules around a forecaster, a loss, metrics and an optimizer."""

from quantlit.tasks.forecast import BlockForecast, ForecastTask
from quantlit.tasks.schedulers import BudgetScheduler, LinearWarmup, OneCycle, WarmupCosine

__all__ = [
    "BlockForecast",
    "BudgetScheduler",
    "ForecastTask",
    "LinearWarmup",
    "OneCycle",
    "WarmupCosine",
]
