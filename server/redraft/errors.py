"""The few exceptions of redraft.

Expected endings of an edit are data (`redraft.records.Outcome`); an exception means the request
itself cannot be served. Every message says what happened and what to do about it.
"""

__all__ = ["DownloadError", "EngineError", "InputError", "ModelError", "RedraftError"]


class RedraftError(Exception):
    """Base class: `str(error)` can be shown to a user as it stands."""


class InputError(RedraftError):
    """What the user named cannot be edited: the file, the target, the instruction or an option."""


class ModelError(RedraftError):
    """The model is unknown, missing, damaged, or does not fit this machine."""


class DownloadError(ModelError):
    """A model could not be fetched; nothing that looks finished was left behind."""


class EngineError(RedraftError):
    """The native library refused or failed; documents are untouched."""
