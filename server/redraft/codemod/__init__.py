"""Apply one instruction to a code base: choose files and targets, edit, and write without loss.

In the order of a run: `discover` (which files may be touched), `select` (which parts of them),
`plan` (both together, and an estimate), `run` (all files: read, ask, merge, format, write),
`replies` (from the model or the cache; with `ray` from a cluster), `write` and `journal` (on disk,
so that a run can be resumed and undone). `recipe` reads a codemod kept in a file, `programs` runs
git and the user's commands, `results` and `output` tell how it ended.
"""
