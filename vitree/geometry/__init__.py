"""Shapes that touch: solids, convex hulls and grounds; no mechanism."""
