"""Edit quality: sets of problems, ways of asking for edits, and the sandbox that judges them."""
