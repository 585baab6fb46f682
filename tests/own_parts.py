"""Loads and constraints written in Python that compiled ones are as well."""

from __future__ import annotations

import numpy as np
from loaded_models import distances

import vitree as vt

ENDS = ("link1", "frame1")


class OwnSpring(vt.Potential):
    """V = k (|a - b| - length)^2 / 2, derivatives left to differences."""

    def __init__(self, stiffness, length):
        self.stiffness, self.length = stiffness, length

    def energy(self, model, q):
        return 0.5 * self.stiffness * (np.linalg.norm(distances(model, q, *ENDS)) - self.length) ** 2


def rows_between(model, q):
    """Change of the vector between the ends by displacements, (3, nv), in world axes."""
    return (model.frame_jacobian(ENDS[0], q) - model.frame_jacobian(ENDS[1], q))[3:]


class ExactSpring(OwnSpring):
    """With its gradient, and the gradient's differences."""

    def gradient(self, model, q):
        d = distances(model, q, *ENDS)
        r = np.linalg.norm(d)
        return self.stiffness * (r - self.length) / r * d @ rows_between(model, q)


class OwnDamper(vt.Force):
    """Q = -c J^T n (n . J v), derivatives left to differences."""

    def __init__(self, coefficient):
        self.coefficient = coefficient

    def force(self, model, t, q, v, u):
        d = distances(model, q, *ENDS)
        row = d @ rows_between(model, q) / np.linalg.norm(d)
        return -self.coefficient * row * (row @ v)


class ExactDamper(OwnDamper):
    """With its derivative by v."""

    def by_v(self, model, t, q, v, u):
        d = distances(model, q, *ENDS)
        row = d @ rows_between(model, q) / np.linalg.norm(d)
        return -self.coefficient * np.outer(row, row)


class OwnDistance(vt.Constraint):
    """h = |a - b| - length, the gradient left to differences."""

    def __init__(self, length):
        self.length = length

    def value(self, model, q):
        return np.linalg.norm(distances(model, q, *ENDS)) - self.length


class ExactDistance(OwnDistance):
    """With its gradient."""

    def gradient(self, model, q):
        d = distances(model, q, *ENDS)
        return d @ rows_between(model, q) / np.linalg.norm(d)
