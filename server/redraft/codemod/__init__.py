"""One instruction over a code base: which files, which targets, and writing without loss.

In the order of a run: `walk` and `ignore` (which files may be touched), `select` (which parts of
them), `plan` and `estimate` (both together, and the sums), `task` and `replies` (what the model is
asked, and its replies, from the `cache` where it knows them, or from a cluster: `distribute`),
`edit` (the edits of one file together), `run` (all files), `write` and `journal` (on disk, so that
it can be resumed and undone). `recipe` reads a shared codemod, `git` and `commands` run programs,
`results`, `sarif` and `report` tell what came of it.
"""
