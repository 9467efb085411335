"""The commands of `python -m redraft_bench`, a module each."""
