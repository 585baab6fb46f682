"""Steps in contact of several instances in lanes: the bits, and all that steppers keep, of steps by their own."""

import functools
import importlib

import numpy as np
import pytest
from walkers import walker

import vitree as vt
from vitree._core import scalar, wide
from vitree.run import lanes

core = scalar()

pytestmark = pytest.mark.skipif(wide().VT_LANES < 2, reason="one lane")


def instances(model, count, dt, spread, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        q = model.neutral()
        q[7:] += spread * rng.normal(size=model.nq - 7)
        v = spread * rng.normal(size=model.nv)
        found.append(vt.Simulation(model, vt.place_on_ground(model, q), v, dt=dt))
    return found


class Pair:
    """The same instances twice: by their own steppers, and in lanes."""

    def __init__(self, model, count, dt=5e-3, spread=0.03, begin=instances):
        self.alone, self.held = (begin(model, count, dt, spread) for _ in range(2))
        self.which = np.arange(count)
        self.lanes = core.contact_lanes(self.held[0]._plain, wide())
        self.rows = [[np.array([getattr(one, name) for one in ones]) for name in "qv"]
                     for ones in (self.alone, self.held)]  # fmt: skip

    def step(self, steps, torque=None, inputs=None):
        """Advance both, and compare all."""
        plain, together = (tuple(one._plain for one in ones) for ones in (self.alone, self.held))
        status = core.advance_together(plain, self.which, steps, torque, inputs, True, *self.rows[0])
        found = core.advance_in_lanes(self.lanes, together, self.which, steps, torque, inputs, True, *self.rows[1])
        np.testing.assert_array_equal(status, found)
        for one, other in zip(*self.rows, strict=True):
            np.testing.assert_array_equal(one, other)
        good = self.which[status == 0]
        for k in good:
            assert plain[k].history() == together[k].history(), k
            wanted, told = (core.step_contacts(ones[k])[0] for ones in (plain, together))
            np.testing.assert_array_equal(wanted, told)
        return status


@pytest.mark.parametrize("shape, legs", [("spheres", 4), ("spheres", 3), ("points", 2), ("points", 4)])
def test_walks_have_the_bits_and_the_memory_of_single_instances(shape, legs):
    """Targets that change, feet that slide, lift and land; where as many feet touch, steps are taken in lanes."""
    model, count = walker(shape, legs), 27
    pair = Pair(model, count)
    rng = np.random.default_rng(1)
    for k in range(50):
        inputs = 0.15 * np.sin(0.4 * k + np.arange(model.nv - 6)) + 0.05 * rng.normal(size=(count, model.nv - 6))
        assert not pair.step(4, inputs=inputs).any()
    assert pair.lanes.together > (0.2 if shape == "spheres" else 0.02) * pair.lanes.steps


@pytest.mark.parametrize("shape, legs, dry", [("spheres", 4, 0.0), ("spheres", 3, 0.2), ("points", 4, 0.0)])
def test_steps_that_other_contacts_join_go_on_from_the_trials_of_lanes(shape, legs, dry):
    """Feet that trot: enough lanes that the same contacts join go on together, others by their steppers."""
    model, count = walker(shape, legs, dry=dry), 8 * wide().VT_LANES
    pair = Pair(model, count, dt=2e-3, spread=0.02)
    rng = np.random.default_rng(23)
    for k in range(100):
        phase = np.repeat(np.pi * np.arange(legs), 2)
        inputs = 0.15 * np.sin(0.5 * k + phase) + 0.01 * rng.normal(size=(count, 2 * legs))
        assert not pair.step(4, inputs=inputs).any()
    assert pair.lanes.joined > pair.lanes.resumed > 0


def test_robots_at_rest_are_taken_together_in_all_steps():
    model = walker()
    pair = Pair(model, wide().VT_LANES, spread=0.0)
    for _ in range(30):
        pair.step(4)
    before = pair.lanes.together, pair.lanes.steps
    for _ in range(10):
        pair.step(4)
    assert pair.lanes.together - before[0] == pair.lanes.steps - before[1] > 0


@pytest.mark.parametrize("options", [{"side": 0.05, "radius": 5e-3}, {}])
def test_points_that_lift_and_feet_beside_each_other_stay_in_lanes(options):
    """Robots of which other points touch the ground, and balls of two feet within their balls, take steps together."""
    model, count = walker("points", 2, **options), 4 * wide().VT_LANES
    pair = Pair(model, count, dt=2e-3, spread=0.01)
    rng = np.random.default_rng(6)
    for k in range(30):
        if k == 10:
            before = pair.lanes.together, pair.lanes.steps
        pair.step(4, inputs=0.03 * np.sin(0.2 * k) + 0.01 * rng.normal(size=(count, model.nv - 6)))
    assert pair.lanes.together - before[0] > 0.8 * (pair.lanes.steps - before[1])


@pytest.mark.parametrize("belly", [None, vt.Box((0.3, 0.2, 0.1)), vt.Cylinder(radius=0.08, length=0.3)])
def test_falls_pushes_and_failures_leave_the_lanes(belly):
    """Robots without drives collapse on their trunks, some are pushed, and one gets more torque than steps take."""
    model = walker(drives=False, belly=belly)
    count = 2 * wide().VT_LANES
    pair = Pair(model, count, spread=0.2)
    rng = np.random.default_rng(2)
    for k in range(30):
        if k % 7 == 3:
            impulse = rng.normal(size=3)
            for ones in (pair.alone, pair.held):
                ones[k % count].push("trunk", impulse)
        torque = np.zeros((count, model.nv))
        torque[:, 6:] = rng.normal(size=(count, model.nv - 6))
        torque[1, 6] = 1e12 if k == 20 else torque[1, 6]
        pair.step(3, torque=torque)


def test_friction_limits_and_normals_do_not_matter():
    """Slopes, ice and a step that is long for its drives."""
    for ground in ({"normal": (0.1, -0.2, 1.0)}, {"friction": 0.05}):
        pair = Pair(walker(**ground), wide().VT_LANES + 1, dt=8e-3)
        rng = np.random.default_rng(3)
        for _ in range(25):
            pair.step(3, inputs=0.2 * rng.normal(size=(wide().VT_LANES + 1, 8)))


@pytest.mark.parametrize("shape, legs, dry", [("spheres", 4, 0.3), ("points", 2, 0.3), ("points", 4, 0.02),
                                              ("points", 3, 3.0)])  # fmt: skip
def test_joints_with_dry_friction_stay_in_lanes(shape, legs, dry):
    """Some of them stand, others slide, in each lane other ones, on feet that stand, slide and lift."""
    model, count = walker(shape, legs, dry=dry, limit=0.6), 3 * wide().VT_LANES
    pair = Pair(model, count, dt=2e-3, spread=0.02)
    rng = np.random.default_rng(9)
    stood = slid = 0
    for k in range(50):
        if k == 15:
            before = pair.lanes.together, pair.lanes.steps
        reach = 0.0 if k < 25 else 0.1
        noise = 0.01 * rng.normal(size=(count, model.nv - 6))
        assert not pair.step(4, inputs=reach * np.sin(0.3 * k + np.arange(model.nv - 6)) + noise).any()
        v = np.abs(pair.rows[0][1][:, 6:])
        stood, slid = stood + (v < 1e-10).sum(), slid + (v > 1e-4).sum()
    # where few points touch, instances have to touch with the same ones
    share = 0.15 if shape == "spheres" else 0.02
    assert pair.lanes.together - before[0] > share * (pair.lanes.steps - before[1])
    assert stood and slid


@pytest.mark.parametrize("links", [3, 9])
def test_arms_with_dry_friction_are_in_lanes(links):
    """Without contacts; few joints, and so many that those that stand are eliminated."""
    tree = vt.Tree("arm")
    at = tree.world
    for k in range(links):
        at = at.add((vt.ry, vt.rx)[k % 2](f"joint {k}", dry_friction=0.2 + 0.1 * k, armature=0.01), vt.tz(0.2),
                    vt.body(f"link {k}", 1.0, (4e-3, 4e-3, 1e-3)))  # fmt: skip
    model, count = tree.compile().with_drives({"*": (60.0, 2.0)}), 2 * wide().VT_LANES + 1
    starts = 0.3 * np.random.default_rng(0).normal(size=(count, 2, links))
    pair = Pair(model, count, begin=lambda *_: [vt.Simulation(model, q, v, dt=2e-3) for q, v in starts])
    for k in range(60):
        assert not pair.step(4, inputs=0.2 * np.sin(0.2 * k + np.arange(links)) * np.ones((count, 1))).any()
    assert pair.lanes.together > 0.8 * pair.lanes.steps


@pytest.mark.parametrize("shape", ["spheres", "points"])
def test_joints_at_their_limits_leave_the_lanes_and_others_do_not(shape):
    """First limits are open, then some instances have targets beyond them."""
    model, count = walker(shape, 2 if shape == "points" else 4, limit=0.25), 3 * wide().VT_LANES
    pair = Pair(model, count, dt=2e-3, spread=0.01)
    rng = np.random.default_rng(8)
    for k in range(40):
        if k in (10, 25):
            before = pair.lanes.together, pair.lanes.steps
        reach = np.where(np.arange(count) % 3 == 0, 0.5, 0.1)[:, None] if k >= 25 else 0.05
        noise = 0.01 * rng.normal(size=(count, model.nv - 6))
        pair.step(4, inputs=reach * np.sin(0.3 * k + np.arange(model.nv - 6)) + noise)
        if k == 24:
            assert pair.lanes.together - before[0] > 0.6 * (pair.lanes.steps - before[1])
    assert 0 < pair.lanes.together - before[0] < pair.lanes.steps - before[1]
    assert (np.abs(pair.rows[0][0][:, 7:]) > 0.2499).any()


def thrown(model, count, dt, spread):
    """Instances that leave the ground at 2 m/s, turning, for 0.4 s."""
    found = instances(model, count, dt, spread, seed=5)
    for k, one in enumerate(found):
        v = np.zeros(model.nv)
        v[2], v[3:6], v[6:] = 2.0 + 0.02 * k, 0.5 * np.cos(k + np.arange(3)), spread
        one.reset(one.q, v)
    return found


@pytest.mark.parametrize("shape, legs, more", [
    ("spheres", 4, {}), ("points", 2, {}), ("spheres", 3, {"limit": 1.5}),
    ("points", 4, {"belly": vt.Box((0.3, 0.2, 0.1))}),
])  # fmt: skip
def test_flights_are_in_lanes_up_to_the_landing(shape, legs, more):
    """Under targets that jump, which change the orders of extrapolation and ask for other operators."""
    model, count = walker(shape, legs, **more), 2 * wide().VT_LANES + 3
    pair = Pair(model, count, dt=4e-3, begin=thrown)
    rng = np.random.default_rng(3)
    for k in range(60):
        if k == 20:
            before = pair.lanes.together, pair.lanes.steps
        noise = 0.05 * rng.normal(size=(count, model.nv - 6))
        pair.step(4, inputs=0.2 * np.sin(0.3 * k + np.arange(model.nv - 6)) + noise)
        if k == 20:
            assert min(one.gaps.min() for one in pair.held) > 0.01
            assert before[0] > 0.9 * before[1]
    assert (pair.held[0].contacts.impulse != 0.0).any() or pair.held[0].gaps.min() < 0.01


@pytest.mark.parametrize("limits", ["ignore", "enforce"])
def test_robots_without_contacts_are_in_lanes(limits):
    """Two trees, one of which floats, with joints of every kind; limits that are enforced are far."""
    tree = vt.Tree("both")
    tree.limits = limits
    for name, first in (("arm", vt.ry("arm base", lower=-9.0, upper=9.0)), ("figure", vt.free("root"))):
        at = tree.world.add(first, vt.body(name, 2.0, (0.05, 0.04, 0.03), com=(0, 0, 0.1)))
        for k, joint in enumerate((vt.ball, vt.rx, vt.tz)):
            link = vt.body(f"{name} {k}", 0.5, (4e-3, 3e-3, 2e-3), com=(0, 0.1, 0))
            at = at.add(joint(f"{name} {k}"), vt.ty(0.2), link)
    model, count = tree.compile().with_drives({"arm base": (60.0, 2.0), "* 1": (30.0, 1.0)}), 2 * wide().VT_LANES + 1
    rng = np.random.default_rng(0)
    starts = [(model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
              for _ in range(count)]  # fmt: skip
    pair = Pair(model, count, begin=lambda *_: [vt.Simulation(model, q, v, dt=2e-3) for q, v in starts])
    for k in range(50):
        inputs = 0.3 * np.sin(0.2 * k + np.arange(3)) * np.ones((count, 1))
        assert not pair.step(4, inputs=inputs, torque=0.1 * rng.normal(size=(count, model.nv))).any()
    assert pair.lanes.together > 0.9 * pair.lanes.steps


def test_instances_that_begin_anew_join_the_others():
    """After a few steps of their own, whatever the time since their start."""
    model = walker()
    count = wide().VT_LANES
    pair = Pair(model, count, spread=0.0)
    for k in range(40):
        if k == 20:
            for ones in (pair.alone, pair.held):
                ones[1].reset(ones[0].q, ones[0].v)
        if k == 30:
            before = pair.lanes.together, pair.lanes.steps
        pair.step(4)
    assert pair.held[1].t < pair.held[0].t
    assert pair.lanes.together - before[0] == pair.lanes.steps - before[1]


@pytest.mark.parametrize("shape, legs, dry, own", [("spheres", 4, 0.0, False), ("points", 2, 0.0, True),
                                                   ("points", 3, 0.2, False), ("spheres", 4, 0.2, True)])  # fmt: skip
def test_robots_on_terrain_are_in_lanes(shape, legs, dry, own):
    """Spheres touch at the nearest points, points above those below; with numbers of their own, also other terrains."""
    count, rng = 3 * wide().VT_LANES, np.random.default_rng(21)

    def model_on(seed):
        heights = 0.04 * np.random.default_rng(seed).normal(size=(12, 9))
        return walker(shape, legs, dry=dry, terrain=vt.HeightField(heights, (0.4, 0.5), (-2.1, -2.2, 0.0)))

    model = model_on(0)
    others = [varied(model_on(k % 3), rng, legs, dry) if own else model for k in range(count)]

    def begin(_, count, dt, spread):
        found, drawn = [], np.random.default_rng(22)
        for other in others:
            q = model.neutral()
            q[:2], q[7:] = drawn.uniform(-1.0, 1.0, 2), spread * drawn.normal(size=model.nq - 7)
            v = spread * drawn.normal(size=model.nv)
            found.append(vt.Simulation(other, vt.place_on_ground(other, q), v, dt=dt))
        return found

    pair = Pair(model, count, dt=2e-3, spread=0.02, begin=begin)
    for k in range(50):
        if k == 20:
            before = pair.lanes.together, pair.lanes.steps
        inputs = 0.03 * np.sin(0.2 * k + np.arange(model.nv - 6)) + 0.01 * rng.normal(size=(count, model.nv - 6))
        assert not pair.step(4, inputs=inputs).any()
    # where few points touch, instances have to touch with the same ones
    share = 0.1 if shape == "spheres" else 0.02
    assert pair.lanes.together - before[0] > share * (pair.lanes.steps - before[1])


def varied(model, rng, legs, dry):
    """A model with other numbers: masses, COMs, inertias, what acts on joints, gains, and friction of contacts."""
    links, joints = model.flat.link_names, [drive.joint for drive in model.drives]
    near = lambda *size: rng.uniform(0.7, 1.3, size)  # noqa: E731
    mass, inertia = np.array(model.flat.link_mass), np.array(model.flat.link_inertia)
    return model.with_parameters(
        mass=mass * near(len(links)), com=np.array(model.flat.link_com) + 0.01 * rng.normal(size=(len(links), 3)),
        inertia=inertia * near(len(links))[:, None, None], damping={name: 0.02 * float(near()) for name in joints},
        friction={name: 0.05 * float(near()) for name in joints},
        armature={name: 0.01 * float(near()) for name in joints},
        gains={name: (60.0 * float(near()), 2.0 * float(near())) for name in joints},
        dry_friction={name: dry * float(near()) for name in joints},
        contact_friction={"ground": 0.7 * float(near()), **{f"foot {k}": float(near()) for k in range(legs)}},
        gravity=(*0.3 * rng.normal(size=2), -9.81 * float(near())),
    )  # fmt: skip


@pytest.mark.parametrize("shape, legs, dry", [("spheres", 4, 0.0), ("points", 2, 0.0), ("spheres", 4, 0.2),
                                              ("points", 3, 0.2)])  # fmt: skip
def test_instances_with_numbers_of_their_own_are_in_lanes(shape, legs, dry):
    """With the bits of their own steppers, also after one began anew with another model, and beside equal ones."""
    model, count, rng = walker(shape, legs, dry=dry), 3 * wide().VT_LANES, np.random.default_rng(12)
    models = [varied(model, rng, legs, dry) for _ in range(count)]
    models[3] = models[5] = models[0]

    def begin(_, count, dt, spread):
        starts = [instances(models[k], 1, dt, spread, seed=k)[0] for k in range(count)]
        return [vt.Simulation(models[k], one.q, one.v, dt=dt) for k, one in enumerate(starts)]

    pair = Pair(model, count, dt=2e-3, spread=0.01, begin=begin)
    for k in range(40):
        if k == 20:
            other = varied(model, rng, legs, dry)
            for ones in (pair.alone, pair.held):
                ones[4] = vt.Simulation(other, vt.place_on_ground(other, other.neutral()), dt=2e-3)
            for rows in pair.rows:
                rows[0][4], rows[1][4] = pair.alone[4].q, pair.alone[4].v
            before = pair.lanes.together, pair.lanes.steps
        inputs = 0.03 * np.sin(0.2 * k + np.arange(model.nv - 6)) + 0.01 * rng.normal(size=(count, model.nv - 6))
        assert not pair.step(4, inputs=inputs).any()
    # where few points touch, instances have to touch with the same ones
    share = 0.1 if shape == "spheres" else 0.02
    assert pair.lanes.together - before[0] > share * (pair.lanes.steps - before[1])


@pytest.mark.parametrize("other", [
    walker(side=0.13), walker(friction=0.0), walker(dry=0.1), walker().with_parameters(gravity=(0.0, 0.0, 0.0)),
    walker().with_parameters(armature={"hip 0": 0.0}),
    walker(drives=False).with_drives({"*": {"kp": 60.0, "kd": 2.0, "effort_limit": 50.0}}),
])  # fmt: skip
def test_instances_that_differ_in_more_than_numbers_step_alone(other):
    """In lengths, frictions and gravity that there are or not, or limits of their drives."""
    model = walker()
    count = wide().VT_LANES
    pair = Pair(model, 2 * count, spread=0.0)
    for ones in (pair.alone, pair.held):
        for k in range(0, 2 * count, 2):
            ones[k] = vt.Simulation(other, vt.place_on_ground(other, other.neutral()), dt=5e-3)
    pair.lanes = core.contact_lanes(pair.held[1]._plain, wide())
    for _ in range(20):
        pair.step(4)
    assert 0 < pair.lanes.together <= pair.lanes.steps / 2


@pytest.mark.parametrize("change", [{"restitution": 0.4}, {"stiffness": 1e5}])
def test_what_has_no_lanes_is_told(change):
    for model, method in ((walker(**change), "linear-time"), (walker(), "midpoint")):
        one = vt.Simulation(model, vt.place_on_ground(model, model.neutral()), dt=5e-3, method=method)
        assert core.contact_lanes(one._plain, wide()) is None


def test_rollouts_under_a_policy_are_those_of_single_runs():
    model = walker()
    count = 20
    rng = np.random.default_rng(4)

    def policy(t, q, v):
        # in operations whose bits do not depend on the number of rows
        return 0.3 * v[:, 6:] / (1.0 + v[:, 6:] * v[:, 6:]) - 0.1 * q[:, 3:4]

    q0 = np.array([vt.place_on_ground(model, model.integrate(model.neutral(), 0.02 * rng.normal(size=model.nv)))
                   for _ in range(count)])  # fmt: skip
    found = vt.rollout(model, q0, duration=0.2, dt=5e-3, control=vt.Control(targets=policy))
    for k in (0, 7, 19):
        alone = vt.Simulation(model, q0[k], dt=5e-3)
        for row in range(1, 41):
            alone.step(1, vt.Control(targets=policy(None, alone.q[None], alone.v[None])[0]))
            np.testing.assert_array_equal(found.q[k, row], alone.q)
            np.testing.assert_array_equal(found.v[k, row], alone.v)


@pytest.mark.parametrize("own", [False, True])
def test_arms_under_a_policy_are_those_of_single_runs(own):
    """Without contacts; also of masses of their own."""
    model, count = vt.load_urdf(vt.find_robot("panda"), mimic="independent").with_drives({"*": (60.0, 2.0)}), 19
    rng = np.random.default_rng(2)
    q0 = np.array([model.integrate(model.neutral(), 0.1 * rng.normal(size=model.nv)) for _ in range(count)])
    masses = {name: 1.0 + rng.random(count) for name in ("panda_link2", "panda_hand")} if own else {}

    def policy(t, q, v):
        return 0.3 * np.sin(3 * t) - 0.002 * v

    found = vt.rollout(model, q0, duration=0.2, dt=2e-3, control=vt.Control(targets=policy),
                       parameters={"mass": masses} if own else None)  # fmt: skip
    for k in (0, 7, 18):
        one = model.with_parameters(mass={name: row[k] for name, row in masses.items()}) if own else model
        alone = vt.Simulation(one, q0[k], dt=2e-3)
        for row in range(1, 101):
            alone.step(1, vt.Control(targets=policy(2e-3 * (row - 1), alone.q[None], alone.v[None])[0]))
            np.testing.assert_array_equal(found.q[k, row], alone.q)
            np.testing.assert_array_equal(found.v[k, row], alone.v)


@pytest.mark.parametrize("every", [None, 1, 7])
def test_rollouts_without_functions_are_those_of_instances_one_by_one(every, monkeypatch):
    """All that a rollout has, of robots that stand, stumble and fail, by parts of which one is short."""
    model, count = walker("points"), 11
    rng = np.random.default_rng(7)
    q0 = np.array([vt.place_on_ground(model, model.integrate(model.neutral(), 0.05 * rng.normal(size=model.nv)))
                   for _ in range(count)])  # fmt: skip
    v0 = 0.3 * rng.normal(size=(count, model.nv))
    v0[3] *= 1e6
    done: list = []
    call = functools.partial(
        vt.rollout, model, q0, v0, duration=0.42, dt=2e-3, record=("q", "v", "p", "energy"), record_every=every,
        control=vt.Control(targets=0.2 * rng.normal(size=(count, model.nv - 6))),
        progress=lambda *of: done.append(of))  # fmt: skip
    monkeypatch.setattr(lanes, "HELD_AT_ONCE", 8)
    found = call()
    assert done[-1] == (count, count)
    monkeypatch.setattr(importlib.import_module("vitree.run.rollout"), "in_contact", lambda batch: False)
    wanted = call()
    for name, array in wanted.data.items():
        np.testing.assert_array_equal(found.data[name], array)
    counts, errors = zip(*(((*one.solved, one.rows, one.steps), [(k, str(e)) for k, e in one.failed.items()])
                           for one in (found, wanted)), strict=True)  # fmt: skip
    for one, other in zip(*counts, strict=True):
        np.testing.assert_array_equal(one, other)
    assert errors[0] == errors[1]
    assert found.step_warnings == wanted.step_warnings
    assert 3 in found.failed


def test_sampled_policies_are_asked_at_their_times_alone():
    """With a period of four steps and a delay of one: the records of every step, and of the end alone."""
    model = walker()
    times = []

    def policy(t, q, v):
        times.append(t)
        return 0.2 * np.sin(9 * t) + 0.1 * v[:, 6:]

    q0 = np.tile(vt.place_on_ground(model, model.neutral()), (9, 1))
    q0[:, 7:] += 0.05 * np.random.default_rng(5).normal(size=(9, 8))
    found = []
    for every in (1, 3, None):
        times.clear()
        control = vt.Control(targets=vt.Controller(policy, 0.02, delay=0.005))
        found.append(vt.rollout(model, q0, duration=0.15, dt=5e-3, control=control, record_every=every))
        np.testing.assert_allclose(times, 0.02 * np.arange(8), atol=1e-12)
        np.testing.assert_array_equal(found[-1].q[:, -1], found[0].q[:, -1])
        assert (found[-1].steps == 30).all()
    np.testing.assert_array_equal(found[0].q[:, ::3], found[1].q)
