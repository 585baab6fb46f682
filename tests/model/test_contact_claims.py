"""What the manual claims of contacts, where nobody stands: other frames, tolerances, steps, light feet, long runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from touching_models import GROUNDS, STANDING, crawler, standing, thrown

import vitree as vt

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "contact.json").read_text())
METHODS = ("linear-time", "midpoint")
EXACT = {"tolerance": 1e-12}
G = 9.81


def box(size=(0.4, 0.3, 0.2), mass=2.0, gravity=(0, 0, -G), normal=(0, 0, 1.0), **surface):
    """A box that lies on a plane through the origin, on its lower corners and the point between them."""
    a, b, c = size
    tree = vt.Tree("box", gravity=gravity)
    tree.world.add(vt.free("base"), vt.body("box", mass, (mass / 12 * (b * b + c * c), mass / 12 * (a * a + c * c),
                                                          mass / 12 * (a * a + b * b))))  # fmt: skip
    points = [(s * a / 2, r * b / 2, -c / 2) for s in (-1, 1) for r in (-1, 1)] + [(0, 0, -c / 2)]
    tree.contact(vt.Contact("box", points=points), vt.Ground(0.0, normal, **surface))
    model, n = tree.compile(), np.array(normal) / np.linalg.norm(normal)
    q = model.neutral()
    q[:3], q[3:] = c / 2 * n, Rotation.align_vectors([n], [(0, 0, 1.0)])[0].as_quat()
    return model, q


def balls(count, radius=0.1, gravity=0.0, ground=None, mass=(1.0,), **surface):
    tree = vt.Tree("balls", gravity=(0, 0, -gravity))
    for k in range(count):
        m = mass[k % len(mass)]
        tree.world.add(vt.free(f"f{k}"), vt.body(f"b{k}", m, (0.4 * m * radius**2,) * 3))
        tree.contact(vt.Contact(f"b{k}", shapes=vt.Sphere(radius), **surface))
    tree.contact(*([ground] if ground else []))
    return tree.compile()


# ---- at rest ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_box_on_five_points_rests_for_long(method):
    model, q = box(friction=0.5)
    run = vt.simulate(model, q, duration=200.0, dt=2e-3, record_every=1000, method=method)
    assert run.steps == 100_000 and np.abs(run.q - q).max() < 1e-9 and not run.settings.get("halved", 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_rest_at_any_tolerance_on_any_plane(method, dt):
    """A looser tolerance does not let a box creep, nor does a plane that is inclined."""
    for tolerance in (1e-6, 1e-9, 1e-12):
        for normal, up in (((0, 0, 1.0), (0, 0, 1.0)), ((0.3, 0.1, 0.2), (0.3, 0.1, 0.2)), ((0.3, -0.2, 1), (0, 0, 1))):
            gravity = tuple(-G * np.array(up) / np.linalg.norm(up))
            model, q = box(normal=normal, gravity=gravity, friction=0.5)
            run = vt.simulate(model, q, duration=3000 * dt, dt=dt, record_every=100, method=method, tolerance=tolerance)
            assert np.abs(run.q - q).max() < 1e-9, (tolerance, normal)


@pytest.mark.parametrize("name", STANDING)
@pytest.mark.parametrize(("method", "dt", "duration"), [
    ("linear-time", 2e-3, 3.0), ("midpoint", 5e-3, 3.0),
    *(pytest.param(method, dt, 60.0, marks=pytest.mark.slow)
      for method, dt in (("linear-time", 1e-3), ("midpoint", 2e-3), ("midpoint", 5e-3))),
])  # fmt: skip
def test_humanoids_stand(name, method, dt, duration):
    """Dropped by 2 cm they stand; after 2 s their feet stay, and the ground carries the weight."""
    try:
        model, q = standing(name)
    except vt.UnknownNameError:
        pytest.skip(f"{name} is not installed")
    targets = [float(q[model.joint(drive.joint).q_slice][0]) for drive in model.drives]
    q[2] += 0.02
    run = vt.simulate(model, q, duration=duration, dt=dt, method=method, control=vt.Control(targets=targets),
                      record_every=round(0.05 / dt),
                      monitors=("gap", "momentum_balance"))  # fmt: skip
    late = run.t >= 2.0 - 1e-9
    feet = np.array([model.contact_gaps(q).point_a for q in run.q[late][::4]])
    assert np.ptp(feet, axis=0).max() < 1e-11 and run.monitors["gap"].min() > -1e-9
    weight = run.contacts.total(len(run))[late, 2] / (dt * G * model.total_mass)
    assert abs(weight.mean() - 1) < 1e-3 and (duration < 10 or np.abs(weight[-10:] - 1).max() < 1e-3)
    size = np.abs(run.momentum).max() + model.total_mass * G * dt
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12 * size
    assert not run.settings.get("halved", 0)
    if name == "talos" and duration > 10:
        assert abs(run.at(10.0).q[2] - REFERENCE["talos_standing"]["z_at_10_s"]) < 1e-6


def test_a_posture_in_balance_does_not_move():
    """Started at the targets of its stance a humanoid stays where it is."""
    model, q = standing("human")
    found = vt.static_equilibrium(model, q)
    run = vt.simulate(model, q, duration=2.0, dt=1e-3, control=vt.Control(targets=found.targets), record_every=100)
    assert np.abs(run.q - q).max() < 1e-9


# ---- sliding and rolling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("azimuth", [0.0, 0.7])
@pytest.mark.parametrize("share", [-1e-9, 1e-3, 0.2])
def test_a_plane_that_is_inclined(method, azimuth, share):
    """Below the threshold of friction nothing moves in 1 s; above it the box slides as it must."""
    friction = 0.5
    slope = np.arctan(friction * (1 + share))
    down = np.array((np.sin(slope) * np.cos(azimuth), np.sin(slope) * np.sin(azimuth)))
    model, q = box(normal=(*down, np.cos(slope)), friction=friction)
    run = vt.simulate(model, q, duration=1.0, dt=1e-3, method=method)
    along = max(0.0, 0.5 * G * (np.sin(slope) - friction * np.cos(slope)))
    moved = run.q[-1, :3] - q[:3]
    assert abs(np.linalg.norm(moved) - along) < (1e-11 if share < 0 else 1e-9)
    if share > 0:
        np.testing.assert_allclose(moved[:2], along * np.cos(slope) * down / np.sin(slope), rtol=0, atol=1e-9)
    assert np.abs((run.q[:, :3] - q[:3]) @ (*down, np.cos(slope))).max() < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_a_rolling_ball_is_of_second_order(method):
    """Balls roll exactly, but for the step in which sliding ends; with the paper's midpoint to second order."""
    exact, steps = REFERENCE["rolling"]["x_at_1"], np.array((0.02, 0.01, 5e-3, 2.5e-3))
    errors, papers = [], []
    for dt in steps:
        model = balls(1, gravity=G, ground=vt.Ground(friction=0.2), friction=0.2)
        q, v = [0, 0, 0.1, 0, 0, 0, 1], [2.0, 0, 0, 0, 0, 0]
        run = vt.simulate(model, q, v, duration=1.0, dt=dt, method=method, **EXACT)
        errors.append(abs(run.q[-1, 0] - exact))
        if method == "midpoint":
            run = vt.simulate(model, q, v, duration=1.0, dt=dt, method=method, kinetic="midpoint", **EXACT)
            papers.append(abs(run.q[-1, 0] - exact))
    assert (errors < 0.3 * steps**2).all()
    if papers:
        assert abs(np.log2(papers[0] / papers[-1]) / 3 - 2) < 0.1 and (papers < 8 * steps**2).all()


# ---- other frames -------------------------------------------------------------------------------------------


def sled(method: str, dt: float, prescribed: bool, speed: float) -> vt.Trajectory:
    """A plate on four balls, which stand on a car."""
    tree = vt.Tree("sled")
    tree.world.add(vt.tx("car", kinematic=prescribed), vt.body("car", 500.0, (50.0, 50.0, 50.0)))
    tree.world.add(vt.free("base"), vt.body("plate", 2.0, (0.03, 0.04, 0.05)))
    feet = [vt.Sphere(0.05, position=(s * 0.2, r * 0.15, -0.1)) for s in (-1, 1) for r in (-1, 1)]
    tree.contact(vt.Contact("plate", shapes=feet, friction=0.5), vt.Contact("car", shapes=vt.Box((20, 4, 1))))
    model = tree.compile()
    q, v = model.neutral(), model.zero_velocity()
    base = model.joint("base")
    q[base.q_slice.start + 2], v[base.v_slice.start], v[model.joint("car").v_slice] = 0.65, speed, speed
    motion = {"control": vt.Control(prescribed={"car": lambda t: speed * t})} if prescribed else {}
    return vt.simulate(model, q, v, duration=200 * dt, dt=dt, method=method, **motion)


@pytest.mark.parametrize("prescribed", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_what_stands_on_a_car_at_20_m_per_s_stays(method, dt, prescribed):
    run = sled(method, dt, prescribed, 20.0)
    car, base = (run.system.joint(name).q_slice.start for name in ("car", "base"))
    assert run.q[-1, car] == pytest.approx(20 * 200 * dt)
    assert np.ptp(run.q[:, base] - run.q[:, car]) < 1e-9
    assert np.abs(run.q[:, base + 1 : base + 7] - run.q[0, base + 1 : base + 7]).max() < 1e-9


def test_blows_in_a_frame_that_moves():
    """Rough balls strike each other off centre; seen from a frame at 20 m/s it is the same.

    With the paper's form of `midpoint` it is so to second order of dt: poses halfway are means of rotations.
    """
    model = balls(3, mass=(1.0, 0.3, 2.0), friction=0.5, restitution=0.6)
    q, v = model.neutral(), np.zeros(18)
    q[:3], q[7:10], q[14:17] = (-0.4, 0.03, 0.02), (0, 0, 0), (0.3, -0.05, 0)
    v[:6] = 2.0, 0, 0, 3.0, -2.0, 5.0

    def difference(method, dt, **form):
        ends = []
        for frame in (np.zeros(3), np.array((20.0, -7.0, 3.0))):
            start = v.reshape(3, 6) + np.append(frame, np.zeros(3))  # axes of the bodies are those of the world
            run = vt.simulate(model, q, start.ravel(), duration=0.5, dt=dt, method=method, monitors="momentum_balance",
                              **EXACT, **form)  # fmt: skip
            assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12 * np.abs(run.momentum).max()
            assert len(run.contacts) >= 2
            ends.append(run.q[-1].reshape(3, 7)[:, :3] - 0.5 * frame)
        return np.abs(ends[0] - ends[1]).max()

    assert max(difference(method, dt) for method in ("linear-time", "midpoint") for dt in (2e-3, 5e-4)) < 1e-9
    papers = [difference("midpoint", dt, kinetic="midpoint") for dt in (1e-3, 2.5e-4)]
    assert abs(np.log2(papers[0] / papers[1]) / 2 - 2) < 0.1


@pytest.mark.parametrize("method", METHODS)
def test_all_turns_with_the_frame(method):
    """A box that is thrown on a plane, and the same where plane, gravity and box are turned and far away."""
    turn, ends = Rotation.from_rotvec((0.7, -1.1, 0.4)), []
    for R in (Rotation.identity(), turn):
        normal = R.apply((0, 0, 1.0))
        model, _ = box(normal=tuple(normal), gravity=tuple(R.apply((0, 0, -G))), friction=0.4, restitution=0.3)
        q = np.concatenate([R.apply((1.0, 2.0, 0.3)), (R * Rotation.from_rotvec((0.3, 0.2, 0.1))).as_quat()])
        run = vt.simulate(model, q, [1.0, 0.5, 0, 2.0, 1.0, 3.0], duration=0.5, dt=1e-3, method=method, **EXACT)
        assert len(run.contacts) > 50
        end = np.array(run.q[-1])
        ends.append((R.inv().apply(end[:3]), (R.inv() * Rotation.from_quat(end[3:])).as_matrix()))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


# ---- light feet, planar mechanisms, ball joints ---------------------------------------------------------------


def planar_legs(foot: float) -> tuple[vt.Model, np.ndarray]:
    """A trunk in the plane on two legs with drives; of each flat foot two points."""
    tree = vt.Tree("planar")
    trunk = tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("trunk", 10.0, (0.2, 0.2, 0.2)))
    for side in (1, -1):
        trunk.add(vt.tx(0.15 * side), vt.ry(f"hip{side}"), vt.tz(-0.4), vt.body(f"thigh{side}", 1.0, (0.02, 0.02, 0.1)),
                  vt.ry(f"knee{side}"), vt.tz(-0.4), vt.body(f"foot{side}", foot, (0.02 * foot,) * 3))  # fmt: skip
        tree.contact(vt.Contact(f"foot{side}", points=[(-0.05, 0, -0.02), (0.1, 0, -0.02)]))
        tree.load(vt.Drive(f"hip{side}", 500.0, 5.0, target=0.3), vt.Drive(f"knee{side}", 500.0, 5.0, target=-0.6))
    tree.contact(vt.Ground(friction=0.7))
    model = tree.compile()
    return model, vt.place_on_ground(model, [0.0, 0.0, 0.0, 0.3, -0.6, 0.3, -0.6])


def four_legs(foot: float) -> tuple[vt.Model, np.ndarray]:
    """A trunk on four legs, which hang on damped ball joints and end in balls."""
    tree = vt.Tree("ball joints")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 10.0, (0.2, 0.2, 0.2)))
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        trunk.add(vt.tx(0.2 * x), vt.ty(0.15 * y), vt.ball(f"hip{k}", damping=8.0), vt.tz(-0.3),
                  vt.body(f"thigh{k}", 1.0, (0.02, 0.02, 0.01)), vt.ry(f"knee{k}", damping=8.0), vt.tz(-0.3),
                  vt.body(f"foot{k}", foot, (0.02 * foot,) * 3))  # fmt: skip
        tree.contact(vt.Contact(f"foot{k}", shapes=vt.Sphere(0.02)))
        tree.contact(vt.Contact(f"thigh{k}", shapes=vt.Capsule(0.03, 0.2)))
    tree.contact(vt.Contact("trunk", shapes=vt.Box((0.5, 0.4, 0.1))), vt.Ground(friction=0.7))
    model = tree.compile()
    return model, vt.place_on_ground(model, model.neutral())


@pytest.mark.parametrize("method", [*METHODS, "implicit-euler"])
@pytest.mark.parametrize("make", [planar_legs, four_legs])
@pytest.mark.parametrize("foot", [0.5, 1e-3, 1e-9])
def test_legs_with_light_feet(make, foot, method):
    """Dropped and pushed along at any dt: nothing is in the ground, no step fails, momentum is in balance."""
    model, q = make(foot)
    q[1 if make is planar_legs else 2] += 0.05
    v = model.zero_velocity()
    v[0] = 0.3
    watched = ("gap", "momentum_balance")
    for dt in (1e-3, 1e-2):
        run = vt.simulate(model, q, v, duration=0.8, dt=dt, method=method, monitors=watched, **EXACT)
        assert run.monitors["gap"].min() > -1e-11
        size = np.abs(run.momentum).max() + np.abs(run.contacts.impulse).max()
        if make is four_legs or method != "implicit-euler":  # which knows the balance of trees on free joints
            assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12 * size
        assert run.settings.get("halved", 0) <= 2


# ---- impacts ------------------------------------------------------------------------------------------------


def struck(rng, equal: bool = True) -> tuple[vt.Model, np.ndarray]:
    """Bodies that touch the ground and each other: a box, a trunk with legs, balls in a row, a rod."""
    kind, common = int(rng.integers(4)), float(rng.choice([0.2, 0.7, 1.0]))
    tree = vt.Tree("struck", gravity=(0, 0, 0))

    def surface():
        e = common if equal else float(rng.choice([0.0, 0.7, 1.0]))
        return {"friction": float(rng.choice([0.0, 0.1, 0.5, 1.0, 3.0])), "restitution": e}

    if kind == 0:
        size, mass = rng.uniform(0.05, 1, 3), float(rng.uniform(0.1, 10))
        inertia = mass / 12 * (size @ size - size**2)
        tree.world.add(vt.free("b"), vt.body("B", mass, tuple(inertia)))
        corners = [(s * size[0] / 2, r * size[1] / 2, -size[2] / 2) for s in (-1, 1) for r in (-1, 1)]
        for k in rng.permutation(4)[: rng.integers(1, 5)]:
            tree.contact(vt.Contact("B", points=[corners[k]], **surface()))
    elif kind == 1:
        trunk = tree.world.add(vt.free("b"), vt.body("B", 3.0, (0.05, 0.06, 0.04)))
        for k in range(int(rng.integers(1, 5))):
            joint = (vt.rx, vt.ry, vt.ball)[rng.integers(3)](f"j{k}")
            x, y = 0.3 * rng.standard_normal(2)
            trunk.add(vt.tx(x), vt.ty(y), joint, vt.tz(-0.5),
                      vt.body(f"F{k}", float(10 ** rng.uniform(-3, 0)), (0.01,) * 3))  # fmt: skip
            tree.contact(vt.Contact(f"F{k}", points=[(0, 0, -0.1)], **surface()))
    elif kind == 2:
        for k in range(int(rng.integers(1, 5))):
            tree.world.add(vt.free(f"f{k}"), vt.body(f"S{k}", float(10 ** rng.uniform(-2, 1)), (0.004,) * 3))
            tree.contact(vt.Contact(f"S{k}", shapes=vt.Sphere(0.1), **surface()))
    else:
        tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("R", 1.0, (1 / 12,) * 3))
        tree.contact(vt.Contact("R", points=[(0, 0, -0.5)], **surface()))
    tree.contact(vt.Ground(**surface()))
    model = tree.compile()
    q = model.neutral()
    if kind == 2:
        q[::7], q[2::7] = 0.2 * np.arange(model.nq // 7), 0.1
        return model, q
    if kind != 3 and rng.random() < 0.6:
        q = model.integrate(q, np.concatenate([np.zeros(3), 0.5 * rng.standard_normal(model.nv - 3)]))
    if kind == 3:
        q[2] = rng.uniform(-1.5, 1.5)
    return model, vt.place_on_ground(model, q)


def blow(model, q, v, method):
    """The share by which kinetic energy grows at the first node."""
    integrator = vt.METHODS[method](model, 1e-9, tolerance=1e-13)
    integrator.start(0.0, q, model.generalized_momentum(q, v))
    integrator.advance(1)
    q2, p2 = integrator.state()
    return model.kinetic_energy(q2, model.velocity_from_momentum(q2, p2)) / model.kinetic_energy(q, v) - 1


@pytest.mark.slow
def test_a_thousand_blows_of_any_kind_give_no_energy():
    grown = []
    for k in range(1000):
        rng = np.random.default_rng(k)
        model, q = struck(rng)
        grown.append(blow(model, q, rng.standard_normal(model.nv), METHODS[k % 2]))
    assert max(grown) < 1e-11 and np.mean(np.array(grown) < -1e-6) > 0.4


def test_blows_of_contacts_with_several_restitutions_give_no_energy():
    model = balls(2, mass=(6.0, 5.0), ground=vt.Ground(friction=1.0), friction=1.0)
    contacts = [replace(c, restitution=e) for c, e in zip(model.contacts, (0.0, 1.0), strict=True)]
    model = vt.Model(replace(model.flat, contacts=tuple(contacts)))
    q = np.array([0, 0, 0.1, 0, 0, 0, 1, 0.2, 0, 0.1, 0, 0, 0, 1])
    grown = [blow(model, q, np.random.default_rng(k).standard_normal(12), "linear-time") for k in range(300)]
    assert max(grown) < 1e-11


def rolling_together(seed: int, count: int, friction: float, **surface) -> tuple[vt.Model, np.ndarray, np.ndarray]:
    """Balls of any mass in a row on the ground, which spin."""
    rng = np.random.default_rng(seed)
    masses = tuple(float(10 ** rng.uniform(-2, 1)) for _ in range(count))
    model = balls(count, mass=masses, gravity=G, ground=vt.Ground(friction=friction, **surface))
    q = model.neutral()
    q[::7], q[2::7] = 0.25 * np.arange(count), 0.1
    return model, q, rng.standard_normal(model.nv) * np.tile((1, 0.1, 0, 5, 5, 5), count)


@pytest.mark.parametrize("surface", [{"friction": 0.5}, {"friction": 3.0, "stiffness": 1e6, "damping": 1e3}])
def test_balls_that_roll_against_each_other(surface):
    for seed in range(8):
        model, q, v = rolling_together(seed, 2, **surface)
        run = vt.simulate(model, q, v, duration=0.5, dt=1e-3, method=METHODS[seed % 2], monitors="gap")
        assert run.monitors["gap"].min() > (-1e-9 if "stiffness" not in surface else -1e-2)


@pytest.mark.parametrize(("seed", "count", "friction"), [(4, 2, 3.0), (8, 3, 1.0), (51, 3, 3.0)])
def test_rough_balls_that_jam(seed, count, friction):
    """Impulses are large, and hundreds of sweeps find them."""
    model, q, v = rolling_together(seed, count, friction)
    vt.simulate(model, q, v, duration=0.2, dt=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_rocks_as_housner_says(method):
    """The share of the rate that the impact leaves nears his with dt, and is that of the formulas' own check."""
    found, a, b = [], 0.2, 1.0
    for dt in REFERENCE["rocking"]["h"]:
        tree = vt.Tree("block")
        tree.world.add(vt.tx("x"), vt.tz("z"), vt.ry("a"), vt.body("block", 1.0, (1.0, (a * a + b * b) / 12, 1.0)))
        tree.contact(vt.Contact("block", points=[(s * a / 2, 0, -b / 2) for s in (-1, 1)]), vt.Ground(friction=2.0))
        model = tree.compile()
        run = vt.simulate(model, vt.place_on_ground(model, [0, 0, 0.15]), duration=0.7, dt=dt, method=method, **EXACT)
        energy = run.energy - G * b / 2
        after = int(np.argmax(energy < 0.97 * energy[5])) + 20
        found.append(np.sqrt(energy[after] / energy[5]))
    np.testing.assert_allclose(found, REFERENCE["rocking"]["ratio"], rtol=0, atol=5e-5)
    errors = np.abs(np.array(found) - REFERENCE["rocking"]["exact"])
    np.testing.assert_allclose(errors[1:] / errors[:-1], [0.66, 0.74], atol=0.02)


# ---- limits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_elastic_stops_keep_the_energy_band(method):
    tree = vt.Tree("pendulum")
    elbow = vt.ry("b", lower=-0.3, upper=0.3, limit_restitution=1.0)
    tree.world.add(vt.ry("a"), vt.tz(-1.0), vt.body("one", 1.0), elbow, vt.tz(-1.0), vt.body("two", 1.0))
    tree.limits = "enforce"
    model, bands = tree.compile(), []
    for dt in (4e-3, 2e-3, 1e-3):
        run = vt.simulate(model, [1.5, 0.0], duration=10.0, dt=dt, method=method, **EXACT)
        bands.append(np.ptp(run.energy))
        assert len(run.contacts) >= 14 and np.abs(run.q[:, 1]).max() - 0.3 < 3 * dt
    assert bands[1] < 2.5e-4 and abs(np.log2(bands[0] / bands[2]) / 2 - 2) < 0.1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_many_limits_at_once(method, dt):
    """A driven humanoid is pushed against its limits; the largest velocity times dt is the measure."""
    model = vt.load_urdf(vt.find_robot("human"), limits="enforce").with_drives({"*": (300, 10)})
    rng = np.random.default_rng(0)
    v = 3 * rng.standard_normal(model.nv)
    run = vt.simulate(model, None, v, duration=min(0.5, 1000 * dt), dt=dt, method=method,
                      control=vt.Control(targets=rng.uniform(-4, 4, len(model.drives))))  # fmt: skip
    over = max(max((run.q[:, j.q_slice] - j.upper).max(), (j.lower - run.q[:, j.q_slice]).max()) for j in model.joints)
    assert len(set(run.contacts.number)) > 15
    assert over < 1e-11 * max(1.0, 1e3 * dt)


# ---- runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("ground", "limits"), [("corner", True), ("hills", False)])
def test_a_robot_resumes_bit_for_bit(method, ground, limits, tmp_path):
    """Impulses, ways of slipping and what is closed are in the state of a run, and of a file."""
    model = crawler(GROUNDS[ground], limits)
    q, v = thrown(model, 3)
    whole = vt.simulate(model, q, v, duration=0.6, dt=1e-3, method=method)
    assert len(set(whole.contacts.number)) > 4
    for steps in (150, 301, 444):
        part = vt.simulate(model, q, v, duration=steps * 1e-3, dt=1e-3, method=method)
        for again in (part, vt.Trajectory.load(part.save(tmp_path / "run.npz"))):
            rest = again.resume((600 - steps) * 1e-3, model=model)
            assert rest.q.tobytes() == whole.q[steps:].tobytes() and rest.p.tobytes() == whole.p[steps:].tobytes()
            assert rest[1:].contacts.rows.tobytes() == whole[steps + 1 :].contacts.rows.tobytes()
        sim = vt.Simulation(model, q, v, dt=1e-3, method=method)
        sim.step(steps)
        kept = sim.save()
        for _ in range(2):
            sim.step(600 - steps)
            assert sim.q.tobytes() == whole.q[-1].tobytes()
            sim.restore(kept)


def test_a_step_that_is_not_solved_says_what_to_do():
    """A plate that is moved through the ground: the contact, its gap, what it lacks, and a remedy, which serves."""

    def press(**surface):
        tree = vt.Tree("press")
        tree.world.add(vt.tz("press", kinematic=True), vt.body("plate", 1.0, (0.1, 0.1, 0.1)))
        tree.contact(vt.Contact("plate", points=[(0, 0, 0)]), vt.Ground(friction=0.5, **surface))
        return vt.simulate(tree.compile(), [0.1], duration=0.5, dt=1e-2,
                           control=vt.Control(prescribed={"press": lambda t: 0.1 - t}))

    with pytest.raises(vt.ConvergenceError, match=(
        r'step 11 at t = 0.1 s.*contact of "plate" and the ground is not solved \(gap -0.01 m, off by 1 m/s\).*'
        r"halve dt, or give a looser tolerance=, or let it yield: give stiffness= and damping= to the contact"
    )):  # fmt: skip
        press()
    assert press(stiffness=1e5, damping=10.0).q[-1, 0] == pytest.approx(-0.4)
