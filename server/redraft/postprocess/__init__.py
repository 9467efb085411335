"""From the model's reply to the new text of the target, or to the reason why there is none."""
