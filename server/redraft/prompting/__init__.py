"""From an edit request to the prompt that asks for it."""
