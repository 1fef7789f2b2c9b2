"""Forecasters: plain modules from a block of bars to a forecast per date, asset and horizon."""

from quantlit.forecasters.base import Forecaster, WindowForecaster
from quantlit.forecasters.initialisation import initialise_lstm
from quantlit.forecasters.lstm import LSTMForecaster

__all__ = ["Forecaster", "LSTMForecaster", "WindowForecaster", "initialise_lstm"]
