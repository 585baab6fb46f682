"""Bodies that may touch, and checks of their gaps and rows against the oracle and against differences."""

from __future__ import annotations

import contact_reference as oracle
import numpy as np
import pytest
from random_models import random_rotation

import vitree as vt


def two_bodies(*contacts, inside=False, gravity=(0, 0, -9.81)):
    """Two free bodies, or a body on an arm of three joints on a free one."""
    tree = vt.Tree("two", gravity=gravity)
    a = tree.world.add(vt.free("a"), vt.body("A", 1.0, (0.1, 0.2, 0.25)))
    if inside:
        a.add(vt.tx(0.3), vt.ball("s"), vt.ty(0.8), vt.body("M", 0.5, (0.01,) * 3), vt.rx("e"), vt.tz(0.7),
              vt.body("B", 1.0, (0.2, 0.2, 0.1)))  # fmt: skip
    else:
        tree.world.add(vt.free("b"), vt.body("B", 1.0, (0.2, 0.2, 0.1)))
    tree.contact(*contacts)
    return tree.compile()


def place(rng):
    return {"position": rng.normal(size=3) * 0.2, "rotation": random_rotation(rng)}


def state(model, rng, spread=1.0):
    q = model.random_configuration(rng)
    return model.integrate(q, rng.normal(size=model.nv) * spread)


def axis(shape, X):
    """The axis (2, 3) of a capsule or sphere in the world."""
    R, p = np.array(shape.rotation), np.array(shape.position)
    half = np.array((0, 0, 0.5 * getattr(shape, "length", 0.0)))
    return np.array([oracle.moved(X, p + R @ half * sign) for sign in (-1, 1)])


def of(model, q, frame):
    return model.frame_pose(frame, q)


def differences(function, model, q, h=1e-3):
    """The derivative of a function by the displacement of q, of order six."""
    share = {1: 45, 2: -9, 3: 1}
    columns = []
    for e in np.eye(model.nv):
        columns.append(sum(w * (function(model.integrate(q, k * h * e)) - function(model.integrate(q, -k * h * e)))
                           for k, w in share.items()) / (60 * h))  # fmt: skip
    return np.array(columns).T


def require_rows(model, q, gap, touch, a, b=None):
    """The rows of a contact against differences of its gap, and of the displacement of its material points.

    A gap's second derivative jumps where a closest point comes to an end, edge or corner: a column that has such
    a place within its differences is left out, as two steps that disagree tell. Returns whether there was none.
    """
    J = oracle.rows(model, q, touch, a, b)
    far, near = (differences(gap, model, q, h) for h in (1e-3, 3e-4))
    sound = np.abs(far - near) < 3e-10
    np.testing.assert_allclose(J[0][sound], far[sound], rtol=0, atol=1e-9)
    own = [(name, np.linalg.inv(of(model, q, name))) for name in (a, b) if name is not None]
    at = [oracle.moved(X, x) for (_, X), x in zip(own, (touch.a, touch.b), strict=False)]
    tangents = oracle.basis(touch.normal)[1:]

    def slip(q):
        x = [oracle.moved(of(model, q, name), local) for (name, _), local in zip(own, at, strict=True)]
        return tangents @ (x[0] - x[1] if b is not None else x[0])

    np.testing.assert_allclose(J[1:], differences(slip, model, q), rtol=0, atol=1e-9)
    return sound.all()


def require_gap(model, q, touch, k=0, a="A", b="B", found=None):
    """A row of contact_gaps, or of those found, is a contact of the oracle."""
    found = model.contact_gaps(q) if found is None else found
    assert (found.a[k], found.b[k]) == (a, b)
    assert found.gap[k] == pytest.approx(touch.gap, abs=1e-13)
    for got, wanted in ((found.normal[k], touch.normal), (found.point_a[k], touch.a), (found.point_b[k], touch.b)):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)
    # each surface's points are a gap apart along the normal
    np.testing.assert_allclose(found.point_a[k] - found.point_b[k], found.gap[k] * found.normal[k], rtol=0, atol=1e-12)
