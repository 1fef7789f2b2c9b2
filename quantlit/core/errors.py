"""The error types of quantlit: each names what is wrong, gives the value, and says what to do."""

from __future__ import annotations


class QuantlitError(Exception):
    """Base of every error that quantlit raises about a user's input.

    The command line prints these as one message, without a traceback.
    """


class DataError(QuantlitError):
    """A raw file, frame or column cannot be turned into a panel."""


class PanelError(QuantlitError):
    """A panel store is missing, damaged, or of another version than this quantlit reads."""


class ConfigError(QuantlitError):
    """A setting is impossible, alone or together with another one."""


class TimeContinuityError(QuantlitError):
    """A block holds dates that are not consecutive on the panel's calendar."""


class LookAheadError(QuantlitError):
    """Something would have used data that was not known yet (e.g. a second fit of a scaler)."""


class CheckpointError(QuantlitError):
    """A checkpoint does not fit the panel, the factors or the model it is asked to serve."""
