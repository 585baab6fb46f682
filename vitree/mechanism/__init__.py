"""A mechanism in arrays, and its loads and constraints; no equations of motion."""
