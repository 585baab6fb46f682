"""Methods on stacks of states: each row has the bits of the call on its state alone, whatever the lanes."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from closed_chains import finger
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree
from random_models import random_flat
from state_methods import STACKED

import vitree as vt
from vitree._core import lanes, widths
from vitree.mechanism.flat import KINDS
from vitree.model import broadcasting as stacks
from vitree.model import dynamics, kinematics

LEADS = [(), (0,), (1,), (3,), (2, 0, 3), (2, 3), (33,)]


def tree(seed, **more):
    return random_tree(seed, kinds=KINDS, **more)[0]


def loaded(seed, loads, **more):
    flat = tree(seed, **more)
    return replace(flat, loads=loads(flat))


class Bowl(vt.Potential):
    content = ("bowl",)

    def energy(self, model, q):
        return 2.0 * float(q[0]) ** 2


def small(*parts, kinematic=False):
    made = vt.Tree("small")
    cart = made.world.add(vt.tx("drive", kinematic=kinematic), vt.body("cart", 1.0))
    cart.add(vt.ry("swing"), vt.tz(-1.0), vt.body("mass", 0.3))
    made.load(*parts)
    return made.compile()


def rubbing():
    flat = tree(4, nbody=6, damping=True)
    friction = np.zeros(len(flat.damping))
    for joint in flat.joints:
        if joint.v_slice.stop - joint.v_slice.start == 1:
            friction[joint.v_slice] = 0.3
    return vt.Model(replace(flat, friction=friction))


MODELS = {
    "all kinds": vt.Model(tree(1, nbody=7)), "all kinds, floating": vt.Model(tree(2, nbody=9, base="free")),
    "damped": vt.Model(tree(3, nbody=6, damping=True)), "rubbing": rubbing(),
    "massless": vt.Model(random_flat(np.random.default_rng(5), 7, massless=True)),
    "potentials": vt.Model(loaded(6, conservative_loads)), "loads": vt.Model(loaded(7, driving_loads)),
    "constraints": constrained_tree(1)[0], "coupled": finger(), "reduced": finger().reduced(),
    "euler": vt.Model(tree(2, nbody=5, base="free")).euler(), "written": small(Bowl()),
    "prescribed": small(kinematic=True), "talos": vt.load_urdf(vt.find_robot("talos"), base="free"),
}  # fmt: skip


def states(model, lead, seed=0):
    """Stacks for the letters of STACKED."""
    rng, n = np.random.default_rng(seed), math.prod(lead)
    q, r = (np.reshape([model.random_configuration(rng) for _ in range(n)], (*lead, model.nq)) for _ in range(2))
    frame = model.frame_names[int(rng.integers(len(model.frame_names)))]
    return {"q": q, "r": r, "v": rng.normal(size=(*lead, model.nv)), "f": frame}


def arguments(name, values):
    return [values[letter] for letter in STACKED[name]]


def parts_of(result):
    """The arrays of a result, by name."""
    if isinstance(result, dict):
        return result
    return result._asdict() if hasattr(result, "_asdict") else {"": np.asarray(result)}


def one_by_one(model, name, values, lead):
    """The results of calls on single states, stacked."""
    alone = []
    for at in np.ndindex(lead):
        of_row = {key: x if key == "f" else x[at] for key, x in values.items()}
        alone.append(parts_of(getattr(model, name)(*arguments(name, of_row))))
    if not alone:
        return None
    return {key: np.reshape([x[key] for x in alone], (*lead, *np.shape(alone[0][key]))) for key in alone[0]}


def same_bits(found, expected, lead, like):
    found, like = parts_of(found), parts_of(like)
    assert found.keys() == like.keys()
    for key, x in found.items():
        assert type(x) is np.ndarray and x.dtype == float and x.shape == (*lead, *np.shape(like[key]))
        assert expected is None or x.tobytes() == expected[key].tobytes()


@pytest.mark.parametrize("name", STACKED)
@pytest.mark.parametrize("label", MODELS)
def test_rows_have_the_bits_of_single_calls(label, name):
    model = MODELS[label]
    like = getattr(model, name)(*arguments(name, states(model, ())))
    for lead in LEADS[1:]:
        values = states(model, lead, len(label) + len(name))
        found = getattr(model, name)(*arguments(name, values))
        same_bits(found, one_by_one(model, name, values, lead), lead, like)
    for lead, value in (((), float), ((1,), np.ndarray)):  # numbers of one state stay plain
        if name in ("lagrangian", "kinetic_energy", "potential_energy"):
            assert type(getattr(model, name)(*arguments(name, states(model, lead)))) is value


@pytest.mark.parametrize("width", widths())
def test_bits_depend_neither_on_lanes_nor_on_neighbours(width, monkeypatch):
    model = MODELS["all kinds, floating"]
    values = states(model, (33,))
    expected = {name: one_by_one(model, name, values, (33,)) for name in STACKED}
    for module in (kinematics, dynamics, stacks):
        monkeypatch.setattr(module, "wide", lambda: lanes(width))
    for n in range(34):
        some = {key: x if key == "f" else x[:n] for key, x in values.items()}
        for name in ("aba", "crba", "integrate", "difference") if n % 8 > 1 else STACKED:
            found = parts_of(getattr(model, name)(*arguments(name, some)))
            for key, x in found.items():
                assert x.tobytes() == expected[name][key][:n].tobytes(), (name, n)


def test_axes_of_frames_are_those_of_single_calls():
    model = MODELS["all kinds, floating"]
    values = states(model, (5,))
    q, v = values["q"], values["v"]
    for frame in model.frame_names:
        for axes in ("world", "local"):
            J = model.frame_jacobian(frame, q, axes)
            assert J.tobytes() == np.array([model.frame_jacobian(frame, x, axes=axes) for x in q]).tobytes()
            speed = model.frame_velocity(frame, q, v, axes=axes)
            assert np.allclose(speed, np.einsum("nij,nj->ni", J, v), rtol=0, atol=1e-12)


@pytest.mark.parametrize("label", ["all kinds, floating", "reduced", "loads"])
def test_leading_axes_broadcast(label):
    model = MODELS[label]
    values = states(model, (5,))
    q, v = values["q"], values["v"]
    tau = np.random.default_rng(3).normal(size=(3, 1, model.nv))
    for name in ("aba", "rnea", "forward_dynamics"):
        found = parts_of(getattr(model, name)(q[0], v, tau))
        for key, x in found.items():
            assert x.shape[:2] == (3, 5)
            for i, j in np.ndindex(3, 5):
                alone = parts_of(getattr(model, name)(q[0], v[j], tau[i, 0]))
                assert x[i, j].tobytes() == np.asarray(alone[key]).tobytes()
    assert model.forward_dynamics(q, v[0]).acceleration.shape == (5, model.nv)
    assert model.integrate(q[:, None], v).shape == (5, 5, model.nq)


CHANGES = {
    "lists": lambda x: x.tolist(), "float32": lambda x: x.astype(np.float32), "Fortran's order": np.asfortranarray,
    "every other": lambda x: x.repeat(2, 0)[::2], "strided": lambda x: x.repeat(2, 1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape), "list of arrays": list,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHANGES)
def test_arrays_of_every_kind(kind):
    model = MODELS["all kinds"]
    values = states(model, (5,))
    q, v = (CHANGES[kind](values[letter]) for letter in "qv")
    plain = [np.array(np.asarray(x, dtype=float)) for x in (q, v)]
    for name in ("rnea", "forward_dynamics"):
        found, expected = (parts_of(getattr(model, name)(*x, x[1])) for x in ((q, v), plain))
        assert all(found[key].tobytes() == expected[key].tobytes() for key in expected)
    whole = vt.load_urdf(vt.find_robot("arm6"))
    assert np.array_equal(whole.crba([[0, 1, 2, 0, 1, 2]] * 2)[1], whole.crba([0.0, 1.0, 2.0, 0.0, 1.0, 2.0]))


@pytest.mark.parametrize("off", [3e-16, 1e-15, -1e-9, 9e-7])
def test_quaternions_are_straightened_row_by_row(off):
    model = MODELS["all kinds, floating"]
    q = states(model, (6,))["q"]
    for i in model._quaternions:
        q[::2, i : i + 4] *= 1.0 + off
    before = q.copy()
    found = model.body_poses(q)
    assert q.tobytes() == before.tobytes()
    assert found.tobytes() == np.array([model.body_poses(x) for x in q]).tobytes()


def test_what_is_wrong_is_named_with_its_row():
    model = MODELS["all kinds, floating"]
    values = states(model, (2, 3))
    q, v, nq, nv = values["q"], values["v"], model.nq, model.nv

    def changed(x, at, value):
        x = x.copy()
        x[at] = value
        return x

    for wrong, text in [
        ((q[..., 1:], v, v), rf"^q has shape \(2, 3, {nq - 1}\); it must be .* of shape \(..., {nq}\)"),
        ((q, v[..., 1:], v), rf"^v has shape \(2, 3, {nv - 1}\); it must be .* of shape \(..., {nv}\)"),
        ((q, v, v[..., 0]), rf"^a has shape \(2, 3\); it must be .* of shape \(..., {nv}\)"),
        ((q, 3.0, v), rf"^v=3.0 has shape \(\); it must be .* of shape \(..., {nv}\)"),
        ((q, v[:, :2], v), r"^q has the leading axes \(2, 3\), v has .* \(2, 2\), a .*; they must broadcast"),
        ((changed(q, (1, 2, 0), np.nan), v, v), r"^q\[1, 2, 0\] is nan; all entries must be finite"),
        ((q, v, changed(v, (0, 1, 2), -np.inf)), r"^a\[0, 1, 2\] is -inf; all entries must be finite"),
        ((changed(q, (1, 0, slice(3, 7)), 0.7), v, v), r"^in row \[1, 0\]: q\[3:7\] is a quaternion .* of length 1.4"),
        ((q, changed(v, (1, 1), 1e200), v), r"^v\[1, 1, 0\] is 1e\+200: rnea is then too large for a double"),
        ((q, "v", v), '^v="v" has text'), ((q, None, v), "^v=None has Python objects|^v=None has shape"),
    ]:  # fmt: skip
        with pytest.raises(vt.InputError, match=text) as caught:
            model.rnea(*wrong)
        assert caught.value.argument in ("q", "v", "a")
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    for call in (lambda: model.frame_pose("no such", q), lambda: model.frame_jacobian("no such", q)):
        with pytest.raises(vt.UnknownNameError, match=r'^no frame "no such"'):
            call()
    with pytest.raises(TypeError):
        model.rnea(q, v, v, v)
    with pytest.raises(TypeError):
        model.rnea(q, v, q=q)


def test_the_singular_row_is_named():
    made = vt.Tree("hinges")
    made.world.add(vt.rx("a"), vt.ry("b"), vt.rx("c"), vt.body("mass", 1.0, (0.1, 0.1, 0.1), (0.0, 0.0, -1.0)))
    model = made.compile()
    q = np.array([[0.1, 0.4, 0.3], [0.2, 0.0, 0.3], [0.1, 0.7, 0.3]])
    v = np.ones(3)
    for call in (model.aba, model.forward_dynamics, lambda q, v, tau: model.velocity_from_momentum(q, v)):
        call(q[::2], v, v)
        with pytest.raises(vt.ModelError, match=r"^in row \[1\]: in this configuration .* mass matrix is singular"):
            call(q, v, v)


def test_frames_that_coincide_are_named_with_their_row():
    made = vt.Tree("pair")
    made.world.add(vt.tx("x"), vt.body("a", 1.0))
    made.world.add(vt.tx("y"), vt.body("b", 1.0))
    made.load(vt.Attraction("a", "b"))
    model = made.compile()
    q = np.array([[0.0, 1.0], [0.5, 0.5]])
    with pytest.raises(vt.InputError, match=r'^potential_energy has no result at q\[1\]: .* frames "a" and "b"'):
        model.potential_energy(q)
    with pytest.raises(vt.InputError, match=r'^in row \[1\]: forward_dynamics has no result at q: .* "a" and "b"'):
        model.forward_dynamics(q, q)


def test_a_subclass_that_checks_otherwise_is_heard():
    class Strict(vt.Model):
        def validate_configuration(self, q, name="q"):
            q = super().validate_configuration(q, name)
            if q[0] > 1:
                raise vt.InputError("too far")
            return q

    model = Strict(MODELS["damped"].flat)
    q = np.zeros((3, model.nq)) + model.neutral()
    model.crba(q)
    q[2, 0] = 1.5
    with pytest.raises(vt.InputError, match=r"^in row \[2\]: too far"):
        model.crba(q)


@pytest.mark.parametrize("make", [vt.vehicles.helicopter, vt.vehicles.boat])
def test_vehicles_have_momenta_of_stacks(make):
    body = make()
    rng = np.random.default_rng(1)
    q = np.array([body.integrate(body.neutral(), x) for x in rng.normal(size=(4, body.nv))])
    v = rng.normal(size=(4, body.nv))
    found = body.generalized_momentum(q.reshape(2, 2, -1), v.reshape(2, 2, -1))
    alone = [body.generalized_momentum(x, y) for x, y in zip(q, v, strict=True)]
    assert found.shape == (2, 2, body.nv) and found.tobytes() == np.array(alone).tobytes()
    with pytest.raises(vt.InputError, match=r"^in row \[1\]: .*"):
        body.generalized_momentum(q * np.array([[1.0], [2.0], [1.0], [1.0]]), v)


@pytest.mark.parametrize("name", ["pose_derivatives", "position_derivatives", "twist_derivatives"])
def test_derivatives_are_of_one_state(name):
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    q = np.zeros((2, 2))
    more = (np.zeros(2),) if name == "twist_derivatives" else ()
    with pytest.raises(vt.InputError, match=r"^q has shape \(2, 2\)"):
        getattr(model, name)("rod2", q, *more)
