"""The language server: edits from any editor that speaks the protocol."""
