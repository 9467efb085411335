"""The exceptions of redraft.

Expected outcomes of an edit are data (`redraft.records.Outcome`); an exception means that the
request itself cannot be served. Every message says what happened and what to do about it.
"""

__all__ = ["DownloadError", "EngineError", "InputError", "ModelError", "RedraftError"]


class RedraftError(Exception):
    """Base class; `str(error)` is a message for the user."""


class InputError(RedraftError):
    """The user's input is wrong: the file, the target, the instruction or an option."""


class ModelError(RedraftError):
    """The model is unknown, missing, damaged, or does not fit this machine."""


class DownloadError(ModelError):
    """A model could not be fetched; nothing that looks finished was left behind."""


class EngineError(RedraftError):
    """The native library refused or failed; no document was changed."""
