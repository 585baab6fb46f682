"""Cylinders on their base, on slopes at which they begin to tip."""

import numpy as np
import pytest

import vitree as vt

RADIUS, LENGTH = 0.1, 0.3


def on_slope(angle, azimuth):
    """A cylinder at rest on a slope that falls along an azimuth: the model and the configuration."""
    tree = vt.Tree("cylinder")
    tree.world.add(vt.free("joint"), vt.body("body", 1.0, np.diag((8e-3, 8e-3, 5e-3))))
    normal = np.array((np.sin(angle) * np.cos(azimuth), np.sin(angle) * np.sin(azimuth), np.cos(angle)))
    tree.contact(vt.Contact("body", shapes=vt.Cylinder(RADIUS, LENGTH)), vt.Ground(friction=3.0, normal=normal))
    axis = np.array((-np.sin(azimuth), np.cos(azimuth), 0.0))
    q = np.r_[0.5 * LENGTH * normal, np.sin(0.5 * angle) * axis, np.cos(0.5 * angle)]
    return tree.compile(), q


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("azimuth", [0.0, 0.3, 1.1])
def test_it_tips_beyond_the_angle_of_statics(azimuth, method):
    """Where the weight passes by the rim, tan(angle) = radius/(length/2), to a thousandth, in whichever direction.

    It tips about the point of the rim that is lowest, which no material point of the first trial is.
    """
    for share in (0.98, 0.999, 1.001, 1.02):
        model, q = on_slope(share * np.arctan(RADIUS / (0.5 * LENGTH)), azimuth)
        for dt in (1e-3, 1e-2):
            run = vt.simulate(model, q, duration=0.3, dt=dt, method=method, monitors="gap")
            moved = np.linalg.norm(run.q[-1] - run.q[0])
            assert (moved < 1e-6) if share < 1.0 else (moved > 1e-4)
            assert run.monitors["gap"].min() > -1e-10
            assert run.settings.get("inexact_contacts", (0, 0.0))[1] < 1e-9
