"""Benchmarks that redraft's developers run: the evidence behind docs/benchmarks.md.

Not in the wheel; `redraft.bench` has what users measure on machines of theirs, and what both share.
"""
