"""redraft: edit code with a local model that copies what it does not change."""

__version__ = "0.1.0"
