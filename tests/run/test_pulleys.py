"""Ropes around pulleys: lengths and their derivatives, where they lift off, closed forms, conservation, and errors."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from scipy.integrate import solve_ivp
from step_differences import compared

import vitree as vt
from vitree._core import scalar
from vitree.model.contacts import unilateral_gaps

G, R = 9.81, 0.2
METHODS = ("linear-time", "midpoint", "implicit-euler", "semi-implicit-euler", "rk4")
AXIS = np.array([0.48, -0.6, 0.64])


def three(length: float = 50.0, gravity: float = 0.0, **pulley: object) -> vt.Model:
    """A free drum, and two free bodies at the ends of a rope around it."""
    tree = vt.Tree("three", gravity=(0, 0, -gravity))
    for name, mass in (("drum", 2.0), ("a", 1.3), ("b", 0.7)):
        tree.world.add(vt.free(f"free {name}"), vt.body(name, mass, (0.02, 0.03, 0.04)))
    around = vt.Pulley("drum", R, position=(0.02, 0.05, -0.03), **{"axis": AXIS, **pulley})
    tree.constrain(vt.Rope([("a", (0.02, 0.03, 0.01)), around, ("b", (-0.02, 0.03, 0.01))], length, label="rope"))
    return tree.compile()


def states(model: vt.Model, count: int, seed: int = 0):
    """Configurations whose ends are outside of the drum, on all sides of it."""
    rng = np.random.default_rng(seed)
    while count:
        q = model.random_configuration(rng)
        for k, size in enumerate((0.1, 0.5, 0.5)):
            q[7 * k : 7 * k + 3] = size * rng.normal(size=3)
        if min(distances(model, q)) > R:
            count -= 1
            yield q


def ends(model: vt.Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the rope from the drum's middle, in its axes."""
    X = model.frame_pose("drum", q)
    middle = X[:3, :3] @ (0.02, 0.05, -0.03) + X[:3, 3]
    places = [(model.frame_pose(name, q) @ [*at, 1.0])[:3] for name, at in (("a", (0.02, 0.03, 0.01)),
                                                                          ("b", (-0.02, 0.03, 0.01)))]  # fmt: skip
    one, other = ((place - middle) @ X[:3, :3] for place in places)
    return one, other


def distances(model: vt.Model, q: np.ndarray) -> list[float]:
    return [float(np.linalg.norm(x - (x @ AXIS) * AXIS)) for x in ends(model, q)]


def gap_of(model: vt.Model, q: np.ndarray) -> float:
    return float(unilateral_gaps(model.full, q)[1][0])


# ---- the length, and its derivative -----------------------------------------------------------------------------


@pytest.mark.parametrize("sense", [1, -1])
def test_the_length_in_a_sense_is_that_of_the_oracle(sense: int) -> None:
    model, wrapped = three(turn=sense), 0
    for q in states(model, 300):
        one, other = ends(model, q)
        expected = reference.wrapped_length(one, other, R, AXIS, sense)
        assert 50 - gap_of(model, q) == pytest.approx(expected, abs=1e-13)
        wrapped += expected > np.linalg.norm(one - other) + 1e-12
    assert 100 < wrapped < 250


def test_the_shorter_way_is_the_shorter_of_both_senses() -> None:
    """Of a line that meets the cylinder; one that passes it is straight."""
    model, wrapped = three(), 0
    for q in states(model, 300):
        one, other = ends(model, q)
        both = [reference.wrapped_length(one, other, R, AXIS, sense) for sense in (1, -1)]
        assert 50 - gap_of(model, q) == pytest.approx(min(both), abs=1e-13)
        wrapped += min(both) > np.linalg.norm(one - other) + 1e-12
    assert wrapped > 30


def test_around_a_sphere_the_path_is_in_the_plane_of_its_ends() -> None:
    model, wrapped = three(axis=None), 0
    for q in states(model, 300):
        one, other = ends(model, q)
        if min(np.linalg.norm(one), np.linalg.norm(other)) < R:
            continue
        axis = np.cross(one, other)
        expected = reference.wrapped_length(one, other, R, axis / np.linalg.norm(axis), 1)
        assert 50 - gap_of(model, q) == pytest.approx(expected, abs=1e-13)
        wrapped += expected > np.linalg.norm(one - other) + 1e-12
    assert wrapped > 10


def test_the_path_does_not_cross_the_ray_away_from_its_side() -> None:
    """Of both senses it has the one whose arc, or line, passes the ray towards the point, or neither of both rays."""
    side = np.array([0.02, 0.05, -0.03]) + 0.4 * np.cross(AXIS, [0, 0, 1.0])
    model, seen = three(side=side), set()
    for q in states(model, 300):
        one, other = ends(model, q)
        x = (side - [0.02, 0.05, -0.03]) / np.linalg.norm(side - [0.02, 0.05, -0.03])
        y = np.cross(AXIS, x)
        first, last = (np.arctan2(u @ y, u @ x) for u in (one, other))  # from -pi to pi: the ray is not between them
        sense = 1 if last > first else -1
        expected = reference.wrapped_length(one, other, R, AXIS, sense)
        assert 50 - gap_of(model, q) == pytest.approx(expected, abs=1e-13)
        seen.add((abs(last - first) > np.pi, expected > np.linalg.norm(one - other) + 1e-12))
    assert seen == {(False, False), (False, True), (True, True)}


@pytest.mark.parametrize("pulley", [{"turn": 1}, {"turn": -1}, {}, {"axis": None}, {"side": (0.5, 0.1, 0)}], ids=str)
def test_rows_are_derivatives_of_the_length(pulley: dict[str, object]) -> None:
    """By central differences of order 4; of all bodies, the drum among them."""
    model, e, count = three(**pulley), 1e-3, 0
    for q in states(model, 60, seed=1):
        gap, row = (x[0] for x in unilateral_gaps(model, q)[1:])
        differences, smooth = [], True
        for unit in np.eye(model.nv):
            a, b, c, d = (gap_of(model, model.integrate(q, s * e * unit)) for s in (-2, -1, 1, 2))
            differences.append((a - 8 * b + 8 * c - d) / (12 * e))
            smooth &= abs(a - 4 * b + 6 * gap - 4 * c + d) < 1e-8  # else it lifts off nearby
        if smooth:
            np.testing.assert_allclose(row, differences, atol=2e-7)
            count += 1
    assert count > 30


def test_the_length_is_stationary_where_the_rope_comes_and_leaves() -> None:
    """The sum of its parts, by these points on the cylinder, has no slope, and a second derivative that is positive."""
    one, other = np.array([0.5, 0.3, -0.2]), np.array([-0.4, -0.05, 0.6])

    def parts(x: np.ndarray) -> float:
        a, b = (np.array([R * np.cos(t), R * np.sin(t), h]) for t, h in (x[:2], x[2:]))
        return float(np.linalg.norm(a - one) + np.hypot(R * (x[2] - x[0]), x[3] - x[1]) + np.linalg.norm(other - b))

    tree = vt.Tree("peg")
    tree.world.add(vt.tx("x"), vt.ty("y"), vt.tz("z"), vt.body("weight", 1.0))
    tree.constrain(vt.Rope([("world", tuple(one)), vt.Pulley("world", R, turn=1), "weight"], 9.0))
    model = tree.compile()
    _, _, arms, units, length = scalar().rope_legs(model.contact_list, 0, model.body_poses(other)[:, :3].copy())
    x = np.array([(np.arctan2(at[1], at[0]), at[2]) for at in (arms[0, 1], arms[1, 0])]).ravel()
    assert x[2] > x[0] + 0.1 and parts(x) == pytest.approx(length, abs=1e-14)
    assert 9.0 - gap_of(model, other) == pytest.approx(length, abs=1e-14)
    e = 1e-4
    for unit in np.eye(4):
        up, down = parts(x + e * unit), parts(x - e * unit)
        assert abs(up - down) < 1e-10 and up + down - 2 * length > 1e-10
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1.0, atol=1e-15)


@pytest.mark.parametrize("way", [{"turn": 1}, {}, {"side": (0, -0.5, 0)}])
def test_length_and_slope_go_on_where_the_rope_lifts_off(way: dict[str, object]) -> None:
    tree = vt.Tree("peg")
    tree.world.add(vt.tx("x"), vt.ty("y"), vt.body("weight", 1.0))
    tree.constrain(vt.Rope([("world", (-0.5, -R, 0)), vt.Pulley("world", R, **way), "weight"], 3.0))
    model = tree.compile()
    for x in (0.1, 0.5, 2.0):  # the tangent of the other end is y = -R
        at = [unilateral_gaps(model, np.array([x, -R + e])) for e in (-1e-9, 0.0, 1e-9)]
        assert np.ptp([gap[0] for _, gap, _ in at]) < 1e-8
        assert np.ptp([row[0] for _, _, row in at], axis=0).max() < 1e-6


# ---- motion -----------------------------------------------------------------------------------------------------


def atwood(m1: float, m2: float, turn: int = 1, **options: object) -> vt.Model:
    """Two weights on slides, and a rope over a wheel of radius R: half a turn around it."""
    tree = vt.Tree("atwood", gravity=(0, 0, -G))
    for name, x, mass in (("left", -R, m1), ("right", R, m2)):
        tree.world.add(vt.tx(x), vt.tz(name), vt.body(f"{name} weight", mass))
    around = vt.Pulley("world", R, (0, turn, 0), turn=turn)
    tree.constrain(vt.Rope(["left weight", around, "right weight"], 3.0 + np.pi * R, **options))
    return tree.compile()


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("method", METHODS)
def test_atwood(method: str, turn: int) -> None:
    """a = g (m2 - m1)/(m1 + m2), T = 2 g m1 m2/(m1 + m2), whatever the radius; the ropes' parts stay vertical."""
    dt, t, m1, m2 = 1e-2, 0.4, 1.0, 3.0
    run = vt.simulate(atwood(m1, m2, turn), [-1.5, -1.5], duration=t, dt=dt, method=method)
    a = G * (m2 - m1) / (m1 + m2)
    assert run.contacts.force[1:, 0] == pytest.approx(2 * G * m1 * m2 / (m1 + m2), rel=1e-9)
    assert np.abs(run.q.sum(axis=1) + 3.0).max() < 1e-12
    assert run.v[-1] == pytest.approx([a * t, -a * t], abs=1e-9)


def peg(length: float = 1.0) -> vt.Model:
    """A bob on a string that is tied to the top of a fixed peg and winds around it."""
    tree = vt.Tree("peg", gravity=(0, 0, -G))
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("bob", 2.0))
    tree.constrain(vt.Rope([("world", (0, 0, R)), vt.Pulley("world", R, (0, -1, 0), turn=-1), "bob"], length))
    return tree.compile()


def wound(angle: np.ndarray, length: float = 1.0) -> np.ndarray:
    """Where the bob is when the string leaves the peg at an angle from its top: an involute of the circle."""
    s, c, free = np.sin(angle), np.cos(angle), length - R * angle
    return np.array([R * s + free * c, R * c - free * s]).T


@pytest.mark.parametrize("method", ["linear-time", "midpoint", "rk4"])
def test_a_bob_that_winds_around_a_peg_moves_on_its_involute(method: str) -> None:
    """(L - r a)^2 a'' = r (L - r a) a'^2 + g (L - r a) cos a: of order 2, or 4 before events, and exact lengths."""
    model, start, t = peg(), 0.4, 0.8
    exact = solve_ivp(lambda _, y: [y[1], (R * y[1] ** 2 + G * np.cos(y[0])) / (1.0 - R * y[0])], (0, t),
                      [start, 0.0], rtol=1e-12, atol=1e-12)  # fmt: skip
    goal, errors = wound(exact.y[0, -1]), []
    assert exact.y[0].max() > 1.5
    for dt in (4e-3, 2e-3):
        run = vt.simulate(model, wound(start), duration=t, dt=dt, method=method)
        assert (run.contacts.force[:, 0] > 0).all() and len(run.contacts) >= len(run) - 2
        assert min(gap_of(model, q) for q in run.q) > -1e-12
        assert max(gap_of(model, q) for q in run.q) < 1e-11
        assert np.ptp(run.energy) < 60 * dt**2
        errors.append(np.linalg.norm(run.q[-1] - goal))
    assert errors[1] < 1e-4 and 3.5 < errors[0] / errors[1] < 4.5 if method != "rk4" else errors[1] < 1e-4


@pytest.mark.parametrize("pulley", [{"turn": 1}, {"axis": None}], ids=str)
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_momentum_of_free_bodies_around_a_free_drum(method: str, pulley: dict[str, object]) -> None:
    """Nothing holds the drum: momentum and angular momentum stay, the rope is no longer than it is."""
    loose = three(**pulley)
    q = next(q for q in states(loose, 400, seed=3)
             if 50 - gap_of(loose, q) > np.linalg.norm(np.subtract(*ends(loose, q))) + 0.02)  # fmt: skip
    model = three(50 - gap_of(loose, q), **pulley)
    row = unilateral_gaps(model, q)[2][0]
    for seed in range(20):
        v0 = np.random.default_rng(seed).normal(size=model.nv)
        v0 -= row * (row @ v0 + 1.0) / (row @ row)  # it stretches
        run = vt.simulate(model, q, v0, duration=0.4, dt=2e-3, method=method)
        if len(run.contacts) > 20:
            break
    assert len(run.contacts) > 20 and (run.contacts.force[:, 0] > 0).all()
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11
    assert min(gap_of(model, x) for x in run.q) > -1e-12
    assert np.diff(run.energy).max() < 1e-3 * run.energy[0]


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_derivatives_of_steps(method: str) -> None:
    """Of a taut rope that winds around a peg, against differences."""
    model = peg()
    run = vt.simulate(model, wound(0.4), duration=0.3, dt=5e-3, method=method)
    found, expected, _ = compared(model, run.q[0], run.v[0], 5e-3, method, 21, 1e-6)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_a_state_is_in_balance() -> None:
    """The tension keeps the second derivative of the slack from being negative; the drum's joint has its sum."""
    tree = vt.Tree("crane", gravity=(0, 0, -G))
    tree.world.add(vt.ry("hinge"), vt.body("wheel", 1.0, (0.1, 0.1, 0.1)))
    for name, x in (("left", -R), ("right", R)):
        tree.world.add(vt.tx(x), vt.tz(name), vt.body(f"{name} weight", 2.0))
    tree.constrain(vt.Rope(["left weight", vt.Pulley("wheel", R, (0, 1, 0), turn=1), "right weight"], 2 + np.pi * R))
    model = tree.compile()
    q, v = np.array([0.3, -1.0, -1.0]), np.zeros(3)
    for contacts in ("closed", model.contact_forces(q, v)):
        reaction = model.joint_reactions(q, v, contacts=contacts)["hinge"]
        c, s = np.cos(0.3), np.sin(0.3)
        assert reaction[5] * c - reaction[3] * s == pytest.approx(5 * G, rel=1e-12)  # its weight, and two tensions
        assert np.abs(reaction[:3]).max() < 1e-12  # the rope does not turn it
    assert np.abs(model.forward_dynamics(q, v)[0]).max() < 1e-12
    run = vt.simulate(model, q, v, duration=0.02, dt=2e-3)
    read = vt.ForceTorque("hinge").read(run)
    assert np.abs(np.hypot(read.force[2:, 0], read.force[2:, 2]) - 5 * G).max() < 1e-6


def test_runs_go_on_to_the_bit() -> None:
    model = peg()
    whole = vt.simulate(model, wound(0.4), duration=1.0, dt=5e-3)
    half = vt.simulate(model, wound(0.4), duration=0.5, dt=5e-3)
    assert np.array_equal(half.resume(duration=0.5).q[-1], whole.q[-1])


@pytest.mark.parametrize("way", [{"turn": -1}, {"side": (0, 0, 0.5)}], ids=str)
def test_a_path_that_jumps_is_told(way: dict[str, object]) -> None:
    """A bob that is driven once around the peg: past a full turn, or the ray away from the side, and not before."""
    tree = vt.Tree("round", gravity=(0, 0, 0))
    tree.world.add(vt.ry("motor"), vt.tx(0.6), vt.body("bob", 1.0, (0.01, 0.01, 0.01)))
    tree.constrain(vt.Rope([("world", (0, 0, 0.6)), vt.Pulley("world", R, (0, -1, 0), **way), "bob"], 5.0))
    model = tree.compile()
    for duration, jumps in ((3.0, False), (6.0, True)):
        run = vt.simulate(model, [0.0 if "turn" in way else -1.6], [1.0], duration=duration, dt=0.01)
        assert any("its path is another one" in text for text in run.warnings) is jumps
        assert not vt.simulate(model, [0.0], [1.0], duration=0.5, dt=0.01).warnings


# ---- what is given ----------------------------------------------------------------------------------------------


def test_names_follow_prefixes_and_texts_keep_pulleys() -> None:
    tree = vt.Tree("peg")
    tree.world.add(vt.tx("x"), vt.tz("z"), vt.body("bob", 2.0), vt.fixed("rim", (0, 0, 0.5)))
    pulleys = [vt.Pulley("world", 0.1, (0, -1, 0), turn=-1), vt.Pulley("bob", 0.1, None, side=(0, 0.3, 0)),
               vt.Pulley("bob", 0.2)]  # fmt: skip
    tree.constrain(vt.Rope([("world", (1, 0, 0)), pulleys[0], "rim", pulleys[1], ("rim", (1, 0, 0)), pulleys[2],
                            ("world", (2, 0, 0))], 9.0))  # fmt: skip
    two = vt.Tree("two")
    two.attach(tree, prefix="one_")
    (rope,) = two.compile().unilateral
    assert rope.frames == ("world", "world", "one_rim", "one_bob", "one_rim", "one_bob", "world")
    assert vt.read_sexpr(vt.write_sexpr(tree)).unilateral == tree.unilateral


def test_wrong_pulleys_are_errors() -> None:
    """They name the thing and the remedy."""
    around = vt.Pulley("world", 0.1)
    for wrong, match in (
        (lambda: vt.Pulley("world", 0.0), "positive"), (lambda: vt.Pulley(3, 0.1), "a name"),
        (lambda: vt.Pulley("world", 0.1, turn=2), "1 or -1"),
        (lambda: vt.Pulley("world", 0.1, turn=1, side=(1, 0, 0)), "one of turn and side"),
        (lambda: vt.Pulley("world", 0.1, None, turn=1), "side alone"),
        (lambda: vt.Pulley("world", 0.1, side=(0.05, 0, 3)), "inside"),
        (lambda: vt.Rope([around, "bob"], 1.0), "between two points"),
        (lambda: vt.Rope(["world", around], 1.0), "between two points"),
        (lambda: vt.Rope(["world", around, around, "bob"], 1.0), "between two points"),
    ):  # fmt: skip
        with pytest.raises(vt.ModelError, match=match):
            wrong()
    tree = vt.Tree("peg")
    tree.world.add(vt.tx("x"), vt.body("bob", 2.0))
    tree.constrain(vt.Rope([("world", (0.05, 0, 0)), around, "bob"], 1.0))
    with pytest.raises(vt.ModelError, match="inside of the pulley"):
        tree.compile()
    with pytest.raises(vt.UnknownNameError, match="drum"):
        tree.unilateral[0] = vt.Rope(["world", vt.Pulley("drum", 0.1), "bob"], 1.0)
        tree.compile()
