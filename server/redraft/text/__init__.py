"""Texts: their lines, the differences between them, and the files that hold them."""
