"""A tippe top against the equations of a sliding top, solved by SciPy: nothing of the contact's code is in them."""

from __future__ import annotations

import numpy as np
import pytest
from sliding_tops import axis_errors, rotation

from vitree.scenes.base import SCENES

MASS, R, LOW, FRICTION, G = 0.02, 0.02, 0.004, 0.3, 9.81
MOMENTS = np.array((0.41, 0.41, 0.4)) * MASS * R**2
UP = np.array((0.0, 0.0, 1.0))


def rates(_: float, y: np.ndarray) -> np.ndarray:
    """Of position, quaternion, velocity in the world, and angular velocity in the body.

    The point of contact slides. Its normal force N keeps the height R - LOW cos(angle). Friction is mu N, against slip.
    """
    x, u, w = y[3:7], y[7:10], y[10:]
    A = rotation(x)
    axis, turn = A[:, 2], A @ w
    arm = LOW * axis - R * UP
    slip = (u + np.cross(turn, arm)) * (1, 1, 0)
    force = UP - FRICTION * slip / np.linalg.norm(slip)
    # of N: angular acceleration own + N * more, in the body
    own, more = np.cross(MOMENTS * w, w) / MOMENTS, A.T @ np.cross(arm, force) / MOMENTS
    lift = -LOW * (np.cross(A @ own, axis) + np.cross(turn, np.cross(turn, axis)))[2]
    N = (lift + G) / (1 / MASS + LOW * np.cross(A @ more, axis)[2])
    half = 0.5 * np.append(x[3] * w + np.cross(x[:3], w), -x[:3] @ w)
    return np.concatenate([u, half, N / MASS * force - G * UP, own + N * more])


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_top_that_slides_is_of_second_order(method):
    stage = SCENES["tippe-top"].prepare(True)
    errors, last = axis_errors(stage, rates, 4, method)
    assert rotation(last[3:])[2, 2] < 0.7  # it has begun to stand up
    assert abs(np.log2(errors[0] / errors[2]) / 2 - 2) < 0.1
