"""What a mechanism is, in arrays, and what can be added to it; no equations of motion."""
