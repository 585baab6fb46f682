"""Instances with a stepper each that advance in one call: the bits of single steps, and what cannot take part."""

import numpy as np
import pytest

import vitree as vt
from vitree._core import scalar

core = scalar()
CAREFUL = -1


def hopper(floating=True):
    """A leg on a drive that falls on a ground."""
    tree = vt.Tree("hopper")
    base = tree.world.add(vt.free("base") if floating else vt.tz("base"), vt.body("trunk", 2.0, (0.02, 0.03, 0.04)))
    base.add(vt.ry("hip"), vt.tz(-0.3), vt.body("foot", 0.5, (0.002, 0.002, 0.001)))
    tree.contact(vt.Contact("foot", shapes=vt.Sphere(0.05), friction=0.7), vt.Ground(friction=0.7))
    return tree.compile().with_drives({"hip": (40.0, 1.0)})


def simulations(model, count=5, **options):
    rng = np.random.default_rng(count)
    found = []
    for _ in range(count):
        q = model.integrate(model.neutral(), 0.2 * rng.normal(size=model.nv))
        found.append(vt.Simulation(model, vt.place_on_ground(model, q), rng.normal(size=model.nv), dt=5e-3, **options))
    return found, rng


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4", "semi-implicit-euler"])
def test_states_and_contacts_are_those_of_single_steps(method, floating):
    model = hopper(floating)
    together, rng = simulations(model, method=method)
    alone, _ = simulations(model, method=method)
    which = np.array([3, 0, 4])
    q, v = (np.array([getattr(one, name) for one in together]) for name in "qv")
    kept = q.copy(), v.copy()
    signs, acted = rng.integers(-1, 2, (len(model._contact_names), 2)) * np.array([1.0, 0.0]) + [0.0, 1.0], False
    for _ in range(40):
        inputs, torque = 0.3 * rng.normal(size=(5, 1)), rng.normal(size=(5, model.nv))
        status = core.advance_together(tuple(together[k]._plain for k in which), which, 3, torque, inputs,
                                       vt.METHODS[method].uses_momentum, q, v)  # fmt: skip
        assert not status.any()
        for k in which:
            alone[k].step(3, vt.Control(torque=torque[k], inputs=inputs[k]))
            for here, name in ((q, "q"), (v, "v")):
                np.testing.assert_array_equal(here[k], getattr(alone[k], name))
                np.testing.assert_array_equal(here[k], getattr(together[k], name))
            assert alone[k].t == together[k].t
        impulses, touching = np.zeros((5, 2, 3)), np.zeros((5, 2), np.uint8)
        core.contact_impulses(tuple(together[k]._plain for k in which), which, signs, impulses, touching)
        for k in which:
            rows = core.step_contacts(alone[k]._plain)[0]
            number, given = rows[:, 1].astype(int), rows[:, 2:5]
            np.testing.assert_allclose(impulses[k], signs[number].T @ given, rtol=1e-14, atol=1e-15)
            np.testing.assert_array_equal(touching[k], (signs[number] != 0).any(axis=0))
        assert not impulses[[1, 2]].any()
        acted |= touching.any()
    assert acted
    # the others have not moved
    for here, before in zip((q, v), kept, strict=True):
        np.testing.assert_array_equal(here[[1, 2]], before[[1, 2]])


def test_what_steppers_alone_cannot_do_is_left():
    model = hopper()
    plain, _ = simulations(model, 2)
    asked, _ = simulations(model, 2, control=lambda t, q, v: 0 * v)
    q, v = (np.array([getattr(one, name) for one in plain]) for name in "qv")
    before, which = (q.copy(), v.copy()), np.arange(2)

    def status(steppers, steps=1, torque=None):
        return core.advance_together(tuple(steppers), which, steps, torque, None, True, q, v).tolist()

    steppers = [one._plain for one in plain]
    assert status([None, asked[1]._integrator.stepper]) == [CAREFUL, CAREFUL]
    assert status(steppers, 0) == status(steppers, 65) == [CAREFUL, CAREFUL]
    for wrong in ({"torque": np.zeros((1, model.nv))}, {"torque": np.zeros((2, 1))}):
        with pytest.raises(ValueError, match="torque"):
            status(steppers, **wrong)
    with pytest.raises(ValueError, match="steppers"):
        status(steppers[:1])
    with pytest.raises(IndexError):
        core.advance_together(tuple(steppers), np.array([0, 2]), 1, None, None, True, q, v)
    for here, kept in zip((q, v), before, strict=True):
        np.testing.assert_array_equal(here, kept)
    assert [one.steps for one in plain] == [0, 0]
    plain[1].torque[0] = np.nan
    assert status(steppers) == [0, CAREFUL]
    assert [one.steps for one in plain] == [1, 0]


def test_an_instance_that_fails_keeps_its_last_state():
    """One of three cannot be solved; the others advance, and its state is that before the step."""
    model = hopper(False)
    simulations_of = [vt.Simulation(model, [0.6, 0.2], [0.0, speed], dt=0.5, max_iterations=1, max_halvings=0)
                      for speed in (0.0, 90.0, 0.0)]  # fmt: skip
    q, v = (np.array([getattr(one, name) for one in simulations_of]) for name in "qv")
    before, which = q.copy(), np.arange(3)
    status = core.advance_together(tuple(one._plain for one in simulations_of), which, 1, None, None, True, q, v)
    assert status[1] > 0
    np.testing.assert_array_equal(q[1], before[1])
    assert isinstance(simulations_of[1]._stopped_by(int(status[1])), vt.VitreeError)
