"""Benchmarks for users: what passes cost here, how strategies compare, how long an editor waits,
and what is made of replies that are known to be good or bad.

`redraft bench` runs them. Every speed is a ratio of what one run measured, so that anyone can
repeat it on any machine; each result carries the machine, the versions and the load.
"""
