"""The model in this process: load it, decode with it, know what that costs.

Knows llama.cpp, which nothing above it does. Knows nothing of code, prompts or edits.
"""

from redraft.engine.engine import Engine
from redraft.engine.llama import backend, versions

__all__ = ["Engine", "backend", "versions"]
