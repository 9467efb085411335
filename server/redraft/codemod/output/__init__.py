"""A codemod's results as pages and records for people and tools."""
