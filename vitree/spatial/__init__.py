"""Small mathematics of space: checked numbers and vectors, rotations, inertias."""
