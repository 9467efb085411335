"""Benchmarks for users: what passes cost here, how strategies compare, how long an editor waits.

`redraft bench` runs them. Every figure is a ratio of what one run measured, so that anyone can
repeat it on any machine; each result carries the machine, the versions and the load.
"""
