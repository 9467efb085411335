"""The model in this process. Only this package imports llama_cpp."""

from redraft.engine.engine import Engine
from redraft.engine.llama import backend, versions

__all__ = ["Engine", "backend", "versions"]
