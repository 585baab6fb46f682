"""Bodies as lanes: a step has the same bits whichever module takes a state's bodies, and where none does."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import random_flat

import vitree as vt
from vitree._core import lanes, scalar, widths
from vitree.model.model import Model

KINDS = ("revolute", "prismatic", "helical", "ball", "free")
CHOICES = (
    ("linear-time", {"kinetic": "screw"}), ("linear-time", {"kinetic": "com"}), ("linear-time", {"order": 4}),
    ("linear-time", {"solver": "recursive-newton"}), ("linear-time", {"solver": "riqn"}), ("midpoint", {}),
)  # fmt: skip


@pytest.fixture
def helped():
    """Return a function that lets the module of so many lanes help, 0 for none; undone after the test."""

    def choose(width: int) -> None:
        scalar().take_bodies_of(lanes(width).bodies_in_lanes() if width else 0)

    yield choose
    scalar.cache_clear()
    scalar()


def bits(flat, method, options, speed, dt):
    model, rng = Model(flat), np.random.default_rng(7)
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    v = speed * rng.normal(size=model.nv)
    try:
        run = vt.simulate(model, q, v, duration=12 * dt, dt=dt, method=method, **options)
    except vt.VitreeError as error:
        return str(error)
    return run.q.tobytes(), run.p.tobytes(), run.residual.tobytes(), run.iterations.tobytes()


@pytest.mark.parametrize(("method", "options"), CHOICES, ids=str)
@pytest.mark.parametrize("nbody", [1, 2, 3, 4, 5, 7, 8, 9, 17])
def test_help_does_not_change_bits(helped, nbody, method, options):
    flats = [
        random_flat(np.random.default_rng(seed), nbody, kinds, base, massless=nbody > 3, damping=seed > 0)
        for seed, (kinds, base) in enumerate(((("revolute",), "fixed"), (KINDS, "fixed"), (KINDS[:3], "free")))
    ]
    found = []
    for width in (0, *widths()):
        helped(width)
        found.append([bits(flat, method, options, *pace) for flat in flats for pace in ((1.0, 1e-3), (6.0, 2e-2))])
    assert all(one == found[0] for one in found[1:])
    assert any(isinstance(one, tuple) for one in found[0])


def test_islands_are_parts_of_a_state(helped):
    """Gains of the bodies of one mechanism are turned without those of its neighbours."""
    tree = vt.Tree("two closed chains")
    for name, x in (("left", 0.0), ("right", 3.0)):
        chain = tree.world.add(vt.tx(x))
        for k in range(6):
            link = vt.body(f"{name} link {k}", 1.0 + 0.1 * k, (0.1, 0.1, 0.1))
            chain = chain.add(vt.ry(f"{name} {k}"), link, vt.tx(0.3))
        chain.add(vt.frame(f"{name} end"))
        tree.world.add(vt.fixed(f"{name} wall", xyz=(x + 1.2, 0.0, 0.4)))
        tree.constrain(vt.Distance(f"{name} end", f"{name} wall", 0.9))
    model = tree.compile()
    q = vt.satisfy_constraints(model, 0.05 * np.arange(model.nq))
    found = []
    for width in (0, *widths()):
        helped(width)
        run = vt.simulate(model, q, duration=0.05, dt=1e-3, method="linear-time")
        found.append(run.q.tobytes() + run.multipliers.tobytes())
    assert len(set(found)) == 1


def test_modules_of_other_layouts_are_refused(helped):
    wrong = np.zeros(64, dtype=np.uint8)
    with pytest.raises(ImportError, match="build all of them anew"):
        scalar().take_bodies_of(wrong.ctypes.data)
