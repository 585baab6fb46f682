"""What tasks see and draw: contacts, quantities of the base, randomisation by name, commands, scans, the cart-pole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from policies import walker

import vitree as vt

gymnasium = pytest.importorskip("gymnasium")

from vitree import gym as vg  # noqa: E402
from vitree.gym.state import FIELDS  # noqa: E402

FEET = [f"{end} foot" for end in ("left", "right")]


def standing(model):
    return vt.place_on_ground(model, model.neutral())


def task(model=None, seen=None, **more):
    """A task of the walker that keeps the states that its reward is given."""
    model = walker() if model is None else model

    def reward(state):
        if seen is not None:
            seen.append(state)
        return np.zeros(len(state.q))

    given = {"dt": 0.004, "frame_skip": 5, "reward": reward, "action": "targets"} | more
    return vg.Task(model=model, **{"pose": standing(model) if model.full.contacts else None} | given)


def kicked(model, n):
    """Starts in the air and on the ground, that move and turn."""
    rng = np.random.default_rng(1)
    q = np.tile(standing(model), (n, 1))
    q[::2, 2] += rng.uniform(0.02, 0.1, len(q[::2]))
    return q, rng.normal(0, 0.5, (n, model.nv))


# ---- contacts -------------------------------------------------------------------------------------------


def test_contacts_are_those_of_a_simulation():
    """Forces by the log of each step, touching by who is in it, gaps by the simulation's."""
    n, seen, model = 7, [], walker()
    starts = kicked(model, n)
    env = vg.VectorEnv(task(model, seen, start=lambda rng, m: (starts[0][:m], starts[1][:m])), n)
    env.reset(seed=0)
    rng = np.random.default_rng(2)
    alone = [vt.Simulation(model, q, v, dt=0.004) for q, v in zip(*starts, strict=True)]
    touched = 0
    for _ in range(25):
        action = rng.uniform(-1, 1, (n, 2))
        env.step(action)
        state = seen[-1]
        gaps = env.state.gaps
        assert {*state.contact_frames} == {"trunk", *FEET}
        targets = model.start[7:] + 0.5 * np.clip(action, -1, 1)
        for i, one in enumerate(alone):
            one.step(5, vt.Control(targets=targets[i]))
            log = one.contacts
            np.testing.assert_array_equal(state.q[i], one.q)
            for j, frame in enumerate(state.contact_frames):
                wrench = one.contact_wrench(frame)
                np.testing.assert_allclose(state.contact_forces[i, j], wrench[3:], rtol=1e-9, atol=1e-9)
                assert state.contacts[i, j] == (frame in {*log.a, *log.b})
                of = [number for number, pair in enumerate(log.names[: len(one.gaps)]) if frame in pair]
                assert gaps[i, j] == one.gaps[of].min()
            touched += len(log)
    assert touched > 50


def test_contact_forces_at_rest_are_those_of_the_model():
    """Where nothing moves, the impulses of a step over dt are the forces of forward dynamics, and hold the weight."""
    seen, model = [], walker()
    tree_weight = 9.81 * model.total_mass
    env = vg.VectorEnv(task(model, seen), 2)
    env.reset(seed=0)
    for _ in range(60):
        env.step(np.zeros((2, 2)))
    state = seen[-1]
    feet = state.columns("* foot")
    assert state.contacts[:, feet].all() and not state.contacts[:, state.columns("trunk")].any()
    np.testing.assert_allclose(state.contact_forces[:, feet].sum(axis=1)[:, 2], tree_weight, rtol=1e-3)
    inputs = dict(zip(model.input_names, model.start[7:], strict=True))
    forces = model.contact_forces(state.q[0], state.v[0], inputs=inputs)
    for foot, column in zip(FEET, state.columns(*FEET), strict=True):
        np.testing.assert_allclose(state.contact_forces[0, column, 2], forces.wrench(foot)[5], rtol=0.02)
    np.testing.assert_allclose(state.contact_time[:, feet], state.t[:, None] * np.ones(2), atol=0.05)
    assert (state.air_time[:, feet] == 0).all()
    np.testing.assert_allclose(state.air_time[:, state.columns("trunk")][:, 0], state.t)


def test_times_in_the_air_end_where_feet_touch_down():
    seen, model = [], walker()
    high = standing(model)
    high[2] += 0.15
    fall = np.sqrt(2 * 0.15 / 9.81)
    env = vg.VectorEnv(task(model, seen, start=lambda rng, n: (np.tile(high, (n, 1)), np.zeros((n, model.nv)))), 2)
    env.reset(seed=0)
    for _ in range(14):
        env.step(np.zeros((2, 2)))
    first = np.array([state.first_contact[0, state.columns("left foot")[0]] for state in seen])
    assert first.sum() >= 1
    k = int(np.argmax(first))
    column = seen[k].columns("left foot")[0]
    assert seen[k].last_air_time[0, column] == pytest.approx(fall, abs=0.02 + 0.004)
    assert seen[k].air_time[0, column] == 0.0
    assert seen[k - 1].air_time[0, column] == pytest.approx(0.02 * k)
    assert not first[:k].any()


def test_episodes_that_begin_anew_have_no_past():
    env = vg.VectorEnv(task(observe=["contacts", "air_time", "contact_time", "last_action", "contact_forces"],
                            duration=0.2, reward=lambda Q, V, A: Q[:, 0]), 3, autoreset_mode="SameStep")  # fmt: skip
    env.reset(seed=0)
    for _ in range(10):
        observed, *_, infos = env.step(np.ones((3, 2)))
    assert infos["time_out"].all()
    assert (observed == 0).all()
    assert all((row[:2] != 0).any() or (row != 0).any() for row in infos["final_obs"])


# ---- quantities -----------------------------------------------------------------------------------------


def test_quantities_of_the_base_and_the_joints():
    seen, model = [], walker()
    n = 5
    starts = kicked(model, n)
    starts[0][:, 2] += 1.0
    rng = np.random.default_rng(0)
    turns = rng.normal(size=(n, 4))
    starts[0][:, 3:7] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    env = vg.VectorEnv(task(model, seen, start=lambda rng, m: (starts[0][:m], starts[1][:m])), n)
    env.reset(seed=0)
    before = env.v
    action = rng.uniform(-1, 1, (n, 2))
    env.step(action)
    state = seen[-1]
    for i in range(n):
        X = model.frame_pose("trunk", state.q[i])
        np.testing.assert_allclose(state.projected_gravity[i], -X[2, :3], atol=1e-12)
        np.testing.assert_allclose(state.heading[i], np.arctan2(X[1, 0], X[0, 0]), atol=1e-12)
        twist = model.frame_velocity("trunk", state.q[i], state.v[i], "local")
        np.testing.assert_allclose(state.base_angular_velocity[i], twist[:3], atol=1e-12)
        np.testing.assert_allclose(state.base_linear_velocity[i], twist[3:], atol=1e-12)
        foot = model.frame_pose("left foot", state.q[i])
        moving = model.frame_velocity("left foot", state.q[i], state.v[i])
        np.testing.assert_allclose(state.frame_position("left foot")[i], foot[:3, 3])
        np.testing.assert_allclose(state.frame_velocity("left foot")[i], moving[3:])
        inputs = dict(zip(model.input_names, 0.5 * action[i] + model.start[7:], strict=True))
        np.testing.assert_allclose(state.drive_forces[i], model.drive_forces(state.q[i], state.v[i], inputs=inputs),
                                   rtol=1e-9)  # fmt: skip
    np.testing.assert_allclose(state.joint_accelerations, (state.v - before)[:, 6:] / env.dt)
    np.testing.assert_array_equal(state.joint_positions, state.q[:, 7:] - model.start[7:])
    np.testing.assert_array_equal(state.last_action, action)
    assert (state.previous_action == 0).all()
    assert {name for name in FIELDS if not hasattr(vg.State, name)} <= {*vg.State.__annotations__}


def test_observations_by_name_are_scaled_and_in_order():
    names = {"joint_velocities": 0.05, "command": (2.0, 0.5), "last_action": 1.0, "base_angular_velocity": 0.25}
    command = vg.Command({"x": (-1, 1), "yaw": (0.5, 0.5)})
    env = vg.VectorEnv(task(observe=names, command=command), 4, dtype=float)
    observed, _ = env.reset(seed=1)
    for _ in range(3):
        state = env.state
        rows = [0.05 * state.joint_velocities, state.command * [2.0, 0.5], state.last_action,
                0.25 * state.base_angular_velocity]  # fmt: skip
        np.testing.assert_allclose(observed, np.concatenate(rows, axis=1), rtol=1e-15)
        observed, *_ = env.step(np.full((4, 2), 0.3))


def test_actions_move_targets_from_the_pose_and_stay_within_limits():
    tree = vt.Tree("arm")
    arm = tree.world.add(vt.revolute("a", lower=-1.0, upper=2.0), vt.body("one", 1.0, (0.1, 0.1, 0.1)))
    arm.add(vt.tx(0.5), vt.revolute("b"), vt.body("two", 1.0, (0.1, 0.1, 0.1)))
    model = tree.compile().with_drives({"*": (10, 1)})
    seen = []
    env = vg.VectorEnv(task(model, seen, pose={"a": 1.8, "b": -0.5}, action_scale={"a": 0.5, "b": 2.0}), 2)
    env.reset(seed=0)
    np.testing.assert_array_equal(env.q, [[1.8, -0.5]] * 2)
    alone = vt.Simulation(model, [1.8, -0.5], dt=0.004)
    env.step([[1.0, 0.25], [0.0, 0.0]])
    alone.step(5, vt.Control(targets=[2.0, 0.0]))
    np.testing.assert_array_equal(seen[-1].q[0], alone.q)
    part = vg.VectorEnv(task(model, actuators=["b"], pose={"a": 0.3}), 1)
    part.reset(seed=0)
    part.step([[0.0]])
    alone = vt.Simulation(model, [0.3, 0.0], dt=0.004)
    alone.step(5, vt.Control(targets=[0.3, 0.0]))
    np.testing.assert_array_equal(part.q[0], alone.q)


# ---- what is drawn --------------------------------------------------------------------------------------


def models_of(env):
    return [one.model for one in env._episodes.held.held.values()]


def drawn(seed=3, n=6, **what):
    env = vg.VectorEnv(task(randomization=vg.Randomization(**what)), n, dtype=float)
    env.reset(seed=seed)
    return env


def test_masses_are_drawn_and_nothing_else_changes():
    plain, env = drawn(), drawn(mass={"trunk": (0.8, 1.2)})
    model = walker()
    at = model.link_names.index("trunk")
    factors = []
    for one in models_of(env):
        factor = one.flat.link_mass[at] / model.flat.link_mass[at]
        factors.append(factor)
        assert 0.8 <= factor <= 1.2
        np.testing.assert_allclose(one.flat.link_inertia[at], factor * np.asarray(model.flat.link_inertia[at]))
        back = one.with_parameters(mass={"trunk": 5.0}, inertia={"trunk": model.flat.link_inertia[at]})
        np.testing.assert_allclose(back.flat.mass, model.flat.mass)
        np.testing.assert_allclose(back.flat.inertia, model.flat.inertia)
        assert one.drives == model.drives and one.ground == model.ground
    assert len({*factors}) == 6
    np.testing.assert_array_equal(env.q, plain.q)


def test_friction_and_gains_are_drawn_by_name():
    env, model = drawn(friction=(0.3, 0.9), gains={"left*": (0.5, 1.5)}), walker()
    seen = set()
    for one in models_of(env):
        friction = one.ground.friction
        assert 0.3 <= friction <= 0.9 and {each.friction for each in one.contacts} == {friction}
        left, right = one.drives
        assert right == model.drives[1]
        assert 30 <= left.kp <= 90 and 1 <= left.kd <= 3 and left.kp / 60 != left.kd / 2
        np.testing.assert_array_equal(one.flat.mass, model.flat.mass)
        seen.add((friction, left.kp, left.kd))
    assert len(seen) == 6
    first = models_of(env)
    env.reset()
    assert {one.ground.friction for one in first}.isdisjoint({one.ground.friction for one in models_of(env)})


def test_entries_draw_from_streams_of_their_own():
    """The masses of a seed are the same whatever else is drawn, and of another seed they are not."""
    def masses(env):
        return [one.flat.link_mass for one in models_of(env)]

    one = masses(drawn(mass={"trunk": (0.8, 1.2)}))
    more = masses(drawn(mass={"trunk": (0.8, 1.2)}, friction=(0.3, 0.9), positions={"left hip": (-0.1, 0.1)},
                        latency=(0.0, 0.02), noise={"q": 0.1}))  # fmt: skip
    np.testing.assert_array_equal(one, more)
    assert not np.array_equal(one, masses(drawn(seed=4, mass={"trunk": (0.8, 1.2)})))


def test_starts_are_drawn_and_robots_stand_on_the_ground():
    env = drawn(n=20, positions={"left hip": (-0.6, 0.6)}, velocities={"root.vx": (0.5, 1.0)})
    rest, model = standing(walker()), walker()
    assert np.ptp(env.q[:, 7]) > 0.5 and (np.abs(env.q[:, 7]) <= 0.6).all()
    np.testing.assert_array_equal(env.q[:, 8], rest[8])
    assert ((env.v[:, 0] >= 0.5) & (env.v[:, 0] <= 1.0)).all()
    assert all(model.contact_gaps(q).gap.min() >= -1e-9 for q in env.q)


def test_a_latency_delays_actions_by_whole_steps():
    """As a simulation that is given the targets by hand, each after its time."""
    model, rng = walker(), np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (8, 2))
    pose = standing(model)[7:]
    for steps in (0, 2, 5, 7, 11):
        env = vg.VectorEnv(task(model, randomization=vg.Randomization(latency=0.004 * steps)), 2)
        env.reset(seed=0)
        alone = vt.Simulation(model, standing(model), dt=0.004)
        for k in range(8):
            env.step(np.tile(actions[k], (2, 1)))
            for step in range(5 * k, 5 * k + 5):
                age = (step - steps) // 5
                alone.step(1, vt.Control(targets=pose + (0.5 * actions[age] if age >= 0 else 0.0)))
            np.testing.assert_array_equal(env.q, [alone.q] * 2)


def test_latencies_of_instances_differ():
    env = drawn(n=30, latency=(0.0, 0.02))
    assert {*env._episodes._latency.tolist()} == {0, 1, 2, 3, 4, 5}
    for _ in range(3):
        env.step(np.random.default_rng(0).uniform(-1, 1, (30, 2)))
    assert len({q.tobytes() for q in env.q}) > 5


def test_pushes_act_at_their_times_with_their_impulse():
    seen, model = [], walker()
    high = standing(model)
    high[2] += 50.0
    of = vg.Randomization(pushes=vg.Pushes(impulse=(2.0, 3.0), interval=(0.1, 0.2)))
    env = vg.VectorEnv(task(model, seen, randomization=of,
                            start=lambda rng, n: (np.tile(high, (n, 1)), np.zeros((n, model.nv)))), 4)  # fmt: skip
    env.reset(seed=0)
    momenta = []
    for _ in range(40):
        env.step(np.zeros((4, 2)))
        momenta.append([model.momentum(q, v)[3:5] for q, v in zip(env.q, env.v, strict=True)])
    jumps = np.linalg.norm(np.diff(np.array(momenta), axis=0, prepend=0.0), axis=2)
    pushed = jumps > 0.1
    assert ((jumps[pushed] > 1.99) & (jumps[pushed] < 3.01)).all()
    assert (jumps[~pushed] < 1e-6).all()
    for times in pushed.T:
        gaps = np.diff(np.flatnonzero(times), prepend=0) * env.dt
        assert len(gaps) >= 3 and (gaps >= 0.08).all() and (gaps <= 0.24).all()


def test_noise_is_of_the_observations_that_are_named():
    names = ["joint_positions", "joint_velocities"]
    noisy = task(observe=names, randomization=vg.Randomization(noise={"joint_positions": 0.1}))
    env = vg.VectorEnv(noisy, 40, dtype=float)
    observed, _ = env.reset(seed=0)
    state = env.state
    noise = observed[:, :2] - state.joint_positions
    assert 0.09 < np.abs(noise).max() <= 0.1 and abs(noise.mean()) < 0.03
    np.testing.assert_array_equal(observed[:, 2:], state.joint_velocities)
    plain = vg.VectorEnv(task(observe=names), 40, dtype=float)
    plain.reset(seed=0)
    for _ in range(3):
        env.step(np.full((40, 2), 0.2))
        plain.step(np.full((40, 2), 0.2))
    np.testing.assert_array_equal(env.q, plain.q)


def test_commands_are_drawn_again_and_may_be_fixed():
    seen = []
    command = vg.Command({"x": (-1.0, 1.0), "yaw": (-2.0, 2.0)}, interval=(0.1, 0.1), zero=0.25)
    env = vg.VectorEnv(task(None, seen, command=command), 50)
    env.reset(seed=0)
    for _ in range(11):
        env.step(np.zeros((50, 2)))
    commands = np.array([state.command for state in seen])
    assert (commands[:5] == commands[0]).all() and (commands[5:10] == commands[5]).all()
    assert (commands[5] != commands[4]).any(axis=1).mean() > 0.9
    zero = (commands[[0, 5, 10]] == 0).all(axis=2).mean()
    assert 0.1 < zero < 0.4
    assert (np.abs(commands) <= [1.0, 2.0]).all() and np.ptp(commands[0, :, 1]) > 3
    env.reset(seed=0, options={"command": {"x": 0.5}})
    assert (env.state.command[:, 0] == 0.5).all()
    first = env.state.command
    for _ in range(11):
        env.step(np.zeros((50, 2)))
    np.testing.assert_array_equal(env.state.command, first)
    with pytest.raises(vt.UnknownNameError, match="yaw"):
        env.reset(options={"command": {"z": 0.5}})
    with pytest.raises(vt.InputError, match="command"):
        env.reset(options={"command": 0.5})


# ---- terrain --------------------------------------------------------------------------------------------


def test_heights_are_scanned_about_the_base_in_its_heading():
    field = vt.HeightField(lambda x, y: 0.2 * np.sin(x) + 0.1 * y, spacing=0.1, origin=(-3, -3, 0), shape=(61, 61))
    model = walker(vt.Ground(terrain=field))
    scan = vg.HeightScan(x=[0.0, 0.3, 0.6], y=[-0.2, 0.2])
    q = standing(model)
    q[2] += 1.0
    q[3:7] = [0.0, 0.0, np.sin(0.4), np.cos(0.4)]
    env = vg.VectorEnv(task(model, height_scan=scan, observe=["heights"], start=lambda rng, n: (
        np.tile(q, (n, 1)), np.zeros((n, model.nv)))), 2, dtype=float)  # fmt: skip
    observed, _ = env.reset(seed=0)
    expected = []
    for x in scan.x:
        for y in scan.y:
            at = np.array([[np.cos(0.8), -np.sin(0.8)], [np.sin(0.8), np.cos(0.8)]]) @ [x, y] + q[:2]
            expected.append(q[2] - field.height(*at))
    np.testing.assert_allclose(observed, [expected] * 2, rtol=1e-12)


def test_heights_above_planes_are_those_above_the_highest():
    ground = vt.Ground(height=-0.1, planes=[((np.sin(0.2), 0.0, np.cos(0.2)), 0.0), ((1.0, 0.0, 0.0), -5.0)])
    at = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 0.0]])
    found = vg.randomization.ground_heights(ground, at)
    np.testing.assert_allclose(found, np.maximum(-0.1, -np.tan(0.2) * at[:, 0]))


# ---- terms ----------------------------------------------------------------------------------------------


def test_terms_end_and_reward():
    model, seen = walker(), []
    tilt = standing(model)
    tilt[2] += 1.0
    tilt[3:7] = [np.sin(0.3), 0.0, 0.0, np.cos(0.3)]
    env = vg.VectorEnv(task(model, seen, start=lambda rng, n: (np.tile(tilt, (n, 1)), np.zeros((n, model.nv)))), 2)
    env.reset(seed=0)
    state = env.state
    assert vg.terms.tilted(0.59)(state).all() and not vg.terms.tilted(0.61)(state).any()
    z = tilt[2]
    assert vg.terms.below(z + 1e-6)(state).all() and not vg.terms.below(z - 1e-6)(state).any()
    assert not vg.terms.touching("*")(state).any()
    near = vg.terms.tracked(lambda s: s.q[:, :2], lambda s: s.q[:, :2] + [0.3, 0.4], 0.5)(state)
    np.testing.assert_allclose(near, np.exp(-1.0))
    np.testing.assert_allclose(vg.terms.squared(lambda s: s.q[:, 2])(state), z**2)
    with pytest.raises(vt.UnknownNameError, match="left foot"):
        vg.terms.touching("hand")(state)
    with pytest.raises(vt.InputError, match="width"):
        vg.terms.tracked(len, len, 0.0)


def test_wrong_numbers_of_what_is_drawn_are_told():
    for make, kind, text in (
        (lambda: vg.Randomization(mass={"trunk": (1.2, 0.8)}), vt.InputError, "low"),
        (lambda: vg.Randomization(mass={"trunk": (0.0, 0.8)}), vt.InputError, "positive"),
        (lambda: vg.Randomization(mass=2.0), vt.InputError, "mass"),
        (lambda: vg.Randomization(noise={"speed": 2.0}), vt.UnknownNameError, "joint_velocities"),
        (lambda: vg.Randomization(noise={"q": -2.0}), vt.InputError, "noise"),
        (lambda: vg.Randomization(latency=-0.1), vt.InputError, "latency"),
        (lambda: vg.Randomization(pushes=3.0), vt.InputError, "Pushes"),
        (lambda: vg.Randomization(masses={}), vt.UnknownNameError, "mass"),
        (lambda: vg.Pushes(impulse=1.0, interval=0.0), vt.InputError, "interval"),
        (lambda: vg.Command({"x": (1, 2, 3)}), vt.InputError, "x"),
        (lambda: vg.Command({"x": (0, 1)}, zero=2.0), vt.InputError, "share"),
        (lambda: vg.Command({"x": (0, 1)}, interval=(0.0, 1.0)), vt.InputError, "interval"),
        (lambda: vg.HeightScan(x="a", y=0.0), vt.InputError, "x"),
    ):  # fmt: skip
        with pytest.raises(kind, match=text):
            make()
    for of, text in (({"mass": {"head": (1, 2)}}, "trunk"), ({"gains": {"knee": (1, 2)}}, "left hip"),
                     ({"positions": {"root.x": (0, 1)}}, "left hip"), ({"velocities": {"knee": (0, 1)}}, "root.vx"),
                     ({"noise": {"command": 0.1}}, "observed")):  # fmt: skip
        with pytest.raises(vt.UnknownNameError, match=text):
            vg.VectorEnv(task(randomization=vg.Randomization(**of)), 2)


# ---- policies elsewhere, inputs --------------------------------------------------------------------------


def test_an_interface_has_the_observations_and_drives_of_the_environment():
    scan = vg.HeightScan(x=[0.0, 0.5], y=0.0)
    names = {"base_angular_velocity": 0.25, "projected_gravity": 1.0, "command": 2.0, "joint_positions": 1.0,
             "joint_velocities": 0.05, "last_action": 1.0, "previous_action": 1.0, "heights": 1.0}  # fmt: skip
    seen, model, command = [], walker(), vg.Command({"x": (-1, 1), "yaw": (-1, 1)})
    of = task(model, seen, observe=names, command=command, height_scan=scan)
    env, interface = vg.Env(of), vg.PolicyInterface(of)
    assert interface.dt == env.dt
    env.reset(seed=0)
    alone = vt.Simulation(model, of.pose, dt=0.004)
    rng, actions = np.random.default_rng(0), [np.zeros(2), np.zeros(2)]
    for _ in range(4):
        action = rng.uniform(-1.5, 1.5, 2)
        observed = env.step(action)[0]
        alone.step(5, vt.Control(targets=interface.drive(action)))
        actions.append(np.clip(action, -1, 1))
        asked = dict(zip(("x", "yaw"), seen[-1].command[0], strict=True))
        elsewhere = interface.observe(alone.q, alone.v, actions[-1], asked, previous_action=actions[-2])
        assert elsewhere.dtype == observed.dtype
        np.testing.assert_array_equal(elsewhere, observed)
    rest = interface.observe(alone.q, alone.v)
    np.testing.assert_array_equal(rest[6:8], 0)
    for wrong, kind, text in (
        (lambda: interface.observe(alone.q, alone.v[1:]), vt.InputError, "v"),
        (lambda: interface.observe(alone.q, alone.v, np.zeros(3)), vt.InputError, "last_action"),
        (lambda: interface.observe(alone.q, alone.v, command={"z": 1.0}), vt.UnknownNameError, "yaw"),
        (lambda: interface.drive(np.full(2, np.nan)), vt.InputError, "finite"),
        (lambda: vg.PolicyInterface(task(observe=["contacts", "q"])), vt.InputError, "contacts"),
    ):  # fmt: skip
        with pytest.raises(kind, match=text):
            wrong()


def test_joints_that_follow_others_are_no_coordinates():
    """Of a gripper with a mimic joint: quantities are those of the joints that lead."""
    tree = vt.Tree("gripper")
    arm = tree.world.add(vt.free("root"), vt.body("palm", 1.0, (0.1, 0.1, 0.1)))
    left = arm.add(vt.ty(0.1), vt.rx("left"), vt.tz(-0.1), vt.body("left finger", 0.1, (1e-3, 1e-3, 1e-3)))
    right = arm.add(vt.ty(-0.1), vt.rx("right"), vt.tz(-0.1), vt.body("right finger", 0.1, (1e-3, 1e-3, 1e-3)))
    assert left and right
    tree.constrain(vt.gear("left", "right", 1.0))
    model = tree.compile().reduced().with_drives({"right": (5, 0.1)})
    env = vg.VectorEnv(task(model, observe=["joint_positions", "drive_forces"], frame_skip=2), 2, dtype=float)
    env.reset(seed=0)
    observed = env.step(np.ones(env.action_space.shape))[0]
    alone = vt.Simulation(model, dt=0.004)
    alone.step(2, vt.Control(targets=[0.5]))
    assert env.state.joint_names == ("right",) and model.nv == 7
    np.testing.assert_array_equal(env.q[0], alone.q)
    np.testing.assert_allclose(observed[0, 1], model.drive_forces(alone.q, alone.v, inputs=[0.5])[0], rtol=1e-9)


def test_actions_may_be_inputs_of_the_model():
    """Forces of joints by the names of their inputs; those that are not named are zero."""
    tree = vt.Tree("two")
    arm = tree.world.add(vt.ry("a"), vt.tx(0.5), vt.body("one", 1.0, (0.1, 0.1, 0.1)))
    arm.add(vt.tx(0.5), vt.ry("b"), vt.tx(0.5), vt.body("two", 1.0, (0.1, 0.1, 0.1)))
    for name in "ab":
        tree.load(vt.JointForce(name, f"push {name}"))
    model = tree.compile()
    env = vg.VectorEnv(task(model, action="inputs", actuators=["push b"], action_scale=3.0, limit=2.0), 2, dtype=float)
    assert env.single_action_space.high.tolist() == [2.0]
    env.reset(seed=0)
    env.step([[1.0], [-5.0]])
    for row, force in zip(env.q, (3.0, -6.0), strict=True):
        alone = vt.Simulation(model, dt=0.004)
        alone.step(5, vt.Control(inputs={"push b": force}))
        np.testing.assert_array_equal(row, alone.q)
    with pytest.raises(vt.UnknownNameError, match="push b"):
        vg.VectorEnv(task(model, action="inputs", actuators=["push"]), 2)
    with pytest.raises(vt.InputError, match="no inputs"):
        vg.VectorEnv(task(vt.load_urdf(vt.find_robot("double_pendulum")), action="inputs"), 2)


# ---- tasks with names -----------------------------------------------------------------------------------


def test_the_cart_pole_is_that_of_gymnasium():
    """The same start, and the same forces: states, rewards and ends to rounding errors."""
    theirs = gymnasium.make("CartPole-v1").unwrapped
    ours = vg.Env(vg.tasks.cart_pole(), dtype=np.float64)
    rng, ends = np.random.default_rng(0), 0
    for episode in range(20):
        ours.reset(seed=episode)
        theirs.reset(seed=episode)
        q, v = ours.q, ours.v
        theirs.state = np.array([q[0], v[0], q[1], v[1]])
        for _ in range(200):
            action = int(rng.random() < 0.5 + 0.4 * np.sign(ours.q[1])) if episode % 2 else int(rng.integers(2))
            observed, reward, terminated, _, _ = ours.step(action)
            _, gain, ended, _, _ = theirs.step(action)
            np.testing.assert_allclose(observed, theirs.state, rtol=1e-9, atol=1e-12)
            assert (reward, terminated) == (gain, ended)
            if ended:
                ends += 1
                break
    assert ends >= 10
    assert ours.task.duration == pytest.approx(500 * ours.dt)


@pytest.mark.skipif("go2" not in vt.list_robots(), reason="example-robot-data is not installed")
def test_legged_robots_stand_without_actions_and_fall_limp():
    for make in (vg.tasks.go2_velocity, vg.tasks.g1_velocity):
        quiet = make(noise=False, randomization=None, command=vg.Command({"x": 0, "y": 0, "yaw": 0}))
        env = vg.VectorEnv(quiet, 2)
        env.reset(seed=0)
        for _ in range(25):
            _, reward, terminated, *_ = env.step(np.zeros(env.action_space.shape))
        assert not terminated.any() and (reward > 0.03).all()
        limp = quiet.model.with_parameters(gains={drive.joint: (0.0, 0.0) for drive in quiet.model.drives})
        env = vg.VectorEnv(replace(quiet, model=limp), 2)
        env.reset(seed=0)
        ended = False
        for _ in range(60):
            ended |= env.step(np.zeros(env.action_space.shape))[2].all()
        assert ended
    with pytest.raises(vt.UnknownNameError, match="air time"):
        vg.tasks.go2_velocity(weights={"air": 1.0})
