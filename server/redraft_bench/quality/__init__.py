"""Edit quality: sets of problems, the ways of asking, and the sandbox that judges edits."""
