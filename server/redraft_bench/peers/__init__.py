"""Other programs on the same edits, run for real beside redraft.

Every peer runs in a process of its own, gets the very tokens that redraft gets, and decodes
greedily with as many threads; one is asked at a time. A peer that is not installed is left out by
name.
"""
