"""Measuring redraft: speed against plain decoding and against an oracle, exactness, costs.

What `redraft bench` prints and writes. Every figure is a ratio of what one run measured, so that
anyone can repeat it on any machine; each result carries the machine, the versions and the load.
"""
