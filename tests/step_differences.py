"""Differences of steps, for tests of their derivatives."""

import numpy as np


def central(model, end, size, count):
    """Central differences of order 6 of (q2, p2) by all displacements."""
    q2 = end(np.zeros(count))[0]
    columns = []
    for unit in np.eye(count):
        column = 0.0
        for place, weight in ((1, 45), (2, -9), (3, 1)):
            (qa, pa), (qb, pb) = end(place * size * unit), end(-place * size * unit)
            change = np.concatenate([model.difference(q2, qa) - model.difference(q2, qb), pa - pb])
            column = column + weight * change / (60 * size)
        columns.append(column)
    return np.array(columns).T
