"""A codemod's results for people and tools: words, JSON, HTML and SARIF."""
