"""Changes within a run: welds on and off, gains, friction, grounds and states; momentum, bits, and errors."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import vitree as vt
from vitree.model.changes import after_changes

DT = 2e-3
METHODS = ("linear-time", "midpoint", "rk4", "semi-implicit-euler")
IMPLICIT = METHODS[:2]
SKEW = (0.1, 0.2, 0.3, np.sqrt(1 - 0.14))


def floating(gravity=(0, 0, 0), **more):
    """Two boxes, one turned against the other."""
    world = vt.World(gravity=gravity, **more)
    world.add(vt.Box((0.2, 0.2, 0.2)), "a", mass=1.0)
    world.add(vt.Box((0.1, 0.2, 0.3)), "b", at=(0.6, 0.05, 0.1, *SKEW), mass=2.0)
    return world.compile()


def scene(gains=(400, 40)):
    """An arm above a box that lies on a table, and another box on the ground."""
    world = vt.World(ground=vt.Ground(friction=0.6))
    world.add("arm6", "arm", drives={"*": gains})
    world.add(vt.Box((0.4, 0.4, 0.2)), "table", at=(0.6, 0, 0.1))
    world.add(vt.Box((0.1, 0.1, 0.1)), "cup", at=(0.6, 0, 0.25), mass=0.3)
    world.add(vt.Box((0.1, 0.1, 0.1)), "crate", at=(0, 1, 0.05), mass=1.0)
    return world, world.compile()


def gains(method):
    """Of drives that a method can take."""
    return (400, 40) if method in IMPLICIT else (4, 0.02)


def linkage(method, gravity=(0, 0, 0), ground=None):
    """A floating base with a driven four-bar linkage, and a cup that a spring or its weight presses on the base."""
    tree = vt.Tree("robot", gravity=gravity)
    tree.world.add(vt.free("float"), vt.body("base", 2.0, (0.05, 0.04, 0.06)))
    for name, x in (("crank", -0.1), ("lever", 0.1)):
        tree.frame("base").add(vt.tx(x), vt.ry(f"{name}_joint"), vt.tz(0.2), vt.body(name, 0.4, (4e-3, 4e-3, 1e-3)),
                               vt.tz(0.2), vt.frame(f"{name}_end"))  # fmt: skip
    tree.frame("crank_end").add(vt.ry("rod_joint"), vt.tx(0.1), vt.body("rod", 0.2, (1e-3, 2e-3, 2e-3)), vt.tx(0.1),
                                vt.frame("rod_end"))  # fmt: skip
    for axis in ((1, 0, 0), (0, 0, 1)):
        tree.constrain(vt.PointConstraint("rod_end", "lever_end", axis, axes="local"))
    tree.contact(vt.Contact("base", shapes=[vt.Box((0.3, 0.2, 0.1))], friction=0.5))
    world = vt.World(gravity=gravity, ground=ground)
    world.add(tree, "robot", at=(0, 0, 0.05), drives={"*crank*": gains(method)})
    world.add(vt.Box((0.1, 0.1, 0.1)), "cup", at=(0.02, 0.01, 0.15), mass=0.3)
    if ground is None:
        world.tree.load(vt.Spring("robot/base", "cup", 50.0, 0.02))
    return world, world.compile()


def moving(method, slip, crank, **scene):
    """A simulation of the linkage: base and cup slide on each other, and the loop moves."""
    world, model = linkage(method, **scene)
    q, v = world.start(model)
    for name, velocity in {"robot/float": (0.1, 0.2), "cup": slip, "robot/crank_joint": (crank,)}.items():
        v[model.joint(name).v_slice][: len(velocity)] = velocity
    rows = model._constraint_rows(q[None])[1][0]
    held = model.joint("robot/float").v_slice
    loose = rows.copy()
    loose[:, held] = 0
    v -= np.linalg.pinv(loose) @ (rows @ v)
    return vt.Simulation(model, q, v, dt=DT, method=method, control=world.control(model), record_every=1)


#: A change of each kind to the linkage and what it stands on.
CHANGES = {
    "attach": lambda sim: sim.attach("cup", "robot/base", "grip"),
    "gains": lambda sim: sim.set_gains({"*crank*": tuple(2 * gain for gain in gains(sim.method))}),
    "detach": lambda sim: sim.detach("grip"),
    "friction": lambda sim: sim.set_friction(0.1),
    "terrain": lambda sim: sim.set_ground(vt.Ground(terrain=vt.HeightField(np.zeros((5, 5)), 1.0, (-2, -2, 0)))),
    "ground": lambda sim: sim.set_ground(vt.Ground(height=-0.02)),
}


def alike(one, two):
    """The records of two runs have the same bits."""
    for name in ("t", "q", "v", "p", "energy", "residual", "iterations", "constraint", "multipliers"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def speeds(model, scale=0.3):
    return scale * np.random.default_rng(0).normal(size=model.nv)


# ---- momentum ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_the_momentum_jumps_by_the_impulse_of_the_weld_alone(method):
    """Each body by the wrench that is noted, at its place, and the two together not at all."""
    model = floating()
    sim = vt.Simulation(model, None, speeds(model), dt=DT, method=method)
    sim.step(40)
    p, v, total, energy, t = sim.p.copy(), sim.v.copy(), model.momentum(sim.q, sim.v), sim.energy, sim.t
    assert sim.attach("b", "a", "grip") == "grip"
    noted = sim.changes[-1]
    assert (noted.kind, noted.t, noted.step, sim.t, sim.steps) == ("attach", t, 40, t, 40)
    wrench = np.array([*noted.values["angular"], *noted.values["impulse"]])
    b = model.joint("b").v_slice
    a = model.joint("a").v_slice
    jump = sim.p - p
    np.testing.assert_allclose(jump[b], (model.frame_jacobian("b", sim.q).T @ wrench)[b], rtol=0, atol=1e-12)
    arm = sim["b"].position - sim["a"].position
    on_a = -wrench - np.array([*np.cross(arm, wrench[3:]), 0, 0, 0])
    np.testing.assert_allclose(jump[a], (model.frame_jacobian("a", sim.q).T @ on_a)[a], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.momentum(sim.q, sim.v), total, rtol=0, atol=1e-12)
    # the two move as one, and what is lost is half of the impulse times the relative velocity that it ended
    np.testing.assert_allclose(sim["a"].velocity[:3], sim["b"].velocity[:3], rtol=0, atol=1e-12)
    relative = model.frame_jacobian("b", sim.q) @ v - model.frame_jacobian("a", sim.q) @ v
    relative[3:] -= np.cross((model.frame_jacobian("a", sim.q) @ v)[:3], arm)
    lost = -0.5 * float(wrench @ relative)
    assert abs(energy - sim.energy - lost) < 1e-12 and abs(noted.values["energy"] - lost) < 1e-12 and lost > 1e-3
    X = np.linalg.inv(sim["a"].pose) @ sim["b"].pose
    sim.step(100)
    np.testing.assert_allclose(np.linalg.inv(sim["a"].pose) @ sim["b"].pose, X, rtol=0, atol=1e-9)
    close = {} if method in ("linear-time", "midpoint") else {"atol": 1e-3}
    np.testing.assert_allclose(model.momentum(sim.q, sim.v), total, **{"rtol": 0, "atol": 1e-12, **close})


@pytest.mark.parametrize("method", METHODS)
def test_changes_within_a_floating_robot_leave_its_momentum(method):
    """Welds, gains and friction are internal, as contacts, a loop and drives are: nothing jumps, in the whole run."""
    sim = moving(method, (0.3, 0.2), 0.5)
    changes = ["attach", "gains", "detach", "friction"]
    for name in changes:
        sim.step(25)
        CHANGES[name](sim)
    sim.step(25)
    run = sim.trajectory
    total = np.array([sim.model.momentum(q, v) for q, v in zip(run.q, run.v, strict=True)])
    # the first order of semi-implicit Euler, and the rounding of the substeps that contacts take in rk4
    most = {"semi-implicit-euler": 1e-2, "rk4": 1e-10}.get(method, 1e-12)
    assert np.abs(total - total[0]).max() < most and [each.kind for each in run.changes] == changes
    pressed = [np.abs(run.contacts.of(k).impulse).max(initial=0.0) for k in (20, 40, 60, 90, 110)]
    assert min(pressed[0], *pressed[-2:]) > 1e-4 and not any(pressed[1:3])  # the weld is between what touched
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.02


@pytest.mark.parametrize("method", METHODS)
def test_each_change_of_a_standing_robot_jumps_by_its_impulse_and_resumes(method, tmp_path):
    """With a free base, a loop, contacts and drives at once: momentum, and the bits from files before every change."""
    scene = {"gravity": (0, 0, -9.81), "ground": vt.Ground(friction=0.6)}
    sim = moving(method, (-0.2, 0.3), 0.5, **scene)
    control, first, files = linkage(method, **scene)[0].control(sim.model), sim.model, []
    for name, change in CHANGES.items():
        sim.step(15)
        files.append(sim.trajectory.save(tmp_path / f"{name}.npz"))
        before, p, v = sim.model, sim.p.copy(), sim.v.copy()
        change(sim)
        if name == "attach":  # the wrench of the weld on both, and what closes the loop under it
            noted = sim.changes[-1].values
            wrench = np.array([*noted["angular"], *noted["impulse"]])
            arm = sim["cup"].position - sim["robot/base"].position
            back = -wrench - np.array([*np.cross(arm, wrench[3:]), 0, 0, 0])
            J, J_base = (before.frame_jacobian(frame, sim.q) for frame in ("cup", "robot/base"))
            left = sim.p - p - J.T @ wrench - J_base.T @ back
            rows = before._constraint_rows(sim.q[None])[1][0]
            left -= rows.T @ np.linalg.lstsq(rows.T, left, rcond=None)[0]
            assert np.abs(left).max() < 1e-12 and np.abs(wrench).max() > 0.01
        else:
            np.testing.assert_allclose(sim.v, v, rtol=0, atol=1e-12)
            jump = sim.model.momentum(sim.q, sim.v) - before.momentum(sim.q, v)
            assert np.abs(jump).max() < 1e-12
    sim.step(15)
    for k, file in enumerate(files):
        again = vt.Simulation(first, resume=vt.Trajectory.load(file), record_every=1, control=control)
        for change in list(CHANGES.values())[k:]:
            change(again)
            again.step(15)
        for name in ("t", "q", "v", "p"):
            assert np.asarray(getattr(again, name)).tobytes() == np.asarray(getattr(sim, name)).tobytes(), (name, file)


def test_two_masses_that_stick_lose_the_closed_form():
    """Along a line: v = (m1 v1 + m2 v2)/(m1 + m2), and the energy mu (v1 - v2)^2/2 with mu = m1 m2/(m1 + m2)."""
    model = floating()
    sim = vt.Simulation(model, None, [1.0, 0, 0, 0, 0, 0, *np.zeros(6)], dt=DT)
    sim.set_state(q={"b": (0.6, 0, 0, 0, 0, 0, 1)})
    sim.step(50)
    sim.attach("b", "a")
    np.testing.assert_allclose(sim["a"].velocity, [0, 0, 0, 1 / 3, 0, 0], rtol=0, atol=1e-12)
    assert abs(sim.changes[-1].values["energy"] - 0.5 * (2 / 3)) < 1e-12
    np.testing.assert_allclose(sim.changes[-1].values["impulse"], [2 / 3, 0, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_velocities_go_on_where_a_weld_is_taken_off(method):
    """Also in a field of gravity, where the weld carries: what flies on is the parabola of that velocity."""
    model = floating(gravity=(0, 0, -9.81))
    sim = vt.Simulation(model, None, speeds(model), dt=DT, method=method)
    sim.attach("a", "world", "nail")
    sim.attach("b", "a", "grip")
    sim.step(30)
    np.testing.assert_allclose(sim.v, 0, atol=1e-12)
    sim.detach("grip")
    np.testing.assert_allclose(sim.v, 0, atol=1e-12)
    before, t = sim["b"].position[2], sim.t
    sim.step(100)
    fallen = before - sim["b"].position[2]
    exact = 9.81 / 2 * (sim.t - t) ** 2
    assert abs(fallen - exact) < (1e-9 if method != "semi-implicit-euler" else 0.51 * 9.81 * DT * (sim.t - t))
    np.testing.assert_allclose(sim["a"].velocity, 0, atol=1e-12)
    assert [each.kind for each in sim.changes] == ["attach", "attach", "detach"]


def test_a_robot_takes_hold_of_what_lies_on_a_table():
    """The weld and the contacts of the table agree: the cup is lifted, and put down again where it was let go."""
    world, model = scene()
    sim = vt.Simulation(model, dt=DT, control=world.control(model), record_every=5)
    sim.step(20)
    place = sim["cup"].position
    assert abs(place - (0.6, 0, 0.25)).max() < 1e-9
    hand = "arm/flange"
    sim.attach("cup", hand, "hold")
    sim.step(20, control=vt.Control(targets={"arm/elbow_joint": 0.0}))
    relative = np.linalg.inv(sim[hand].pose) @ sim["cup"].pose
    sim.step(300, control=vt.Control(targets={"arm/elbow_joint": -0.4}))
    np.testing.assert_allclose(np.linalg.inv(sim[hand].pose) @ sim["cup"].pose, relative, rtol=0, atol=1e-8)
    assert np.linalg.norm(sim["cup"].position - place) > 0.02
    sim.detach("hold")
    sim.step(500)
    run = sim.trajectory
    assert abs(run.system.contact_gaps(run.q[-1]).gap.min()) < 1e-6 and len(run) == 1 + 840 // 5
    assert np.abs(sim["cup"].velocity).max() < 1e-6 or sim["cup"].position[2] < 0.3
    assert np.abs(sim["crate"].position - (0, 1, 0.05)).max() < 1e-9


def test_directions_that_are_held_already_are_left_out():
    """A cart on a rail is welded to the world by one row, and a second weld has nothing to hold."""
    tree = vt.Tree("cart")
    tree.world.add(vt.tx("x"), vt.body("cart", 1.0, (0.1, 0.1, 0.1)))
    model = tree.compile()
    sim = vt.Simulation(model, None, [0.5], dt=DT)
    sim.attach("cart", name="brake")
    assert sim.changes[-1].values["rows"] == ["x"] and abs(sim.v).max() < 1e-15
    assert abs(sim.changes[-1].values["energy"] - 0.125) < 1e-15
    with pytest.raises(vt.InputError, match="cannot move against"):
        sim.attach("cart", name="more")
    sim.detach("brake")
    sim.push("cart", (1.0, 0, 0))
    sim.step(10)
    assert abs(sim.q[0] - 10 * DT) < 1e-12


def test_constraints_of_the_model_are_taken_off_by_their_label():
    world = vt.World(gravity=(0, 0, 0))
    for name, x in (("a", 3.0), ("b", 4.0)):
        world.add(vt.Box((0.1, 0.1, 0.1)), name, at=(x, 0, 0), mass=1.0)
    world.tree.frame("a").add(vt.tx(1.0), vt.frame("tip"))
    world.tree.constrain(vt.weld("tip", "b", label="glue"), vt.Distance("a", "world", 3.0, label="rope"))
    sim = vt.Simulation(world.compile(), dt=DT)
    with pytest.raises(vt.UnknownNameError, match='did you mean "glue"'):
        sim.detach("glu")
    sim.detach("glue")
    assert [each.name for each in sim.model.constraints] == ["rope"]


# ---- gains, friction, ground ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_change_to_what_was_there_changes_nothing(method):
    """The same gains and friction again: contacts remember their last step, and the run is the same to rounding."""
    world, model = scene(gains(method))
    v = 0.2 * speeds(model)
    v[model.joint("crate").v_slice] = [0.8, 0.3, 0, 0, 0, 0.2]  # it slides
    runs = []
    for changes in (False, True):
        sim = vt.Simulation(model, None, v, dt=DT, method=method, control=world.control(model), record_every=1)
        for _ in range(3):
            sim.step(15)
            if changes:
                sim.set_gains({"arm/*": gains(method)})
                sim.set_friction({"ground": 0.6})
        runs.append(sim.trajectory)
    assert abs(runs[0].q[-1][model.joint("crate").q_slice][0]) > 0.03
    for name in ("q", "v", "p"):  # guesses differ, and so does what steps leave of residuals
        np.testing.assert_allclose(getattr(runs[0], name), getattr(runs[1], name), rtol=0, atol=1e-7)
    assert np.array_equal(runs[0].t, runs[1].t)
    assert runs[0].contacts.names == runs[1].contacts.names
    assert np.array_equal(runs[0].contacts.record, runs[1].contacts.record)
    np.testing.assert_allclose(runs[0].contacts.impulse, runs[1].contacts.impulse, rtol=0, atol=1e-7)
    # a start there would have none of that: its first impulses are halves
    anew = vt.Simulation(model, runs[0].q[15], runs[0].v[15], dt=DT, method=method, control=world.control(model))
    anew.step()
    first = np.abs(anew.contacts.impulse).sum(axis=0) - np.abs(runs[0].contacts.of(16).impulse).sum(axis=0)
    assert np.abs(first).max() > 1e-4


def test_gains_change_as_in_a_run_that_begins_there():
    model = vt.load_urdf(vt.find_robot("arm6")).with_drives({"*": (100, 10)})
    sim = vt.Simulation(model, dt=DT, record_every=1)
    sim.step(50)
    sim.set_gains({"*elbow*": (900, 60), "*": (200, 20)})
    two = vt.simulate(sim.model, sim.q, p0=sim.p, t0=sim.t, duration=0.1, dt=DT)
    sim.step(50)
    assert dict.fromkeys(sim.changes[-1].values)  # by joints
    assert sim.changes[-1].values["elbow_joint"] == [900, 60] and sim.changes[-1].values["wrist_joint"] == [200, 20]
    np.testing.assert_allclose(sim.q, two.q[-1], rtol=0, atol=1e-12)
    assert {drive.joint: drive.kp for drive in sim.model.drives}["elbow_joint"] == 900


def test_friction_changes_the_way_of_a_block_by_its_coefficient():
    world = vt.World(ground=vt.Ground(friction=0.2))
    world.add(vt.Box((0.2, 0.2, 0.1)), "block", at=(0, 0, 0.05), mass=1.0)
    model = world.compile()
    sim = vt.Simulation(model, None, [3.0, 0, 0, 0, 0, 0], dt=DT)
    sim.step(100)
    speed = sim.v[0]
    assert abs(speed - (3 - 0.2 * 9.81 * 0.2)) < 1e-6
    sim.set_friction(0.5)
    sim.step(100)
    assert abs(speed - sim.v[0] - 0.5 * 9.81 * 0.2) < 2 * 0.3 * 9.81 * DT  # half a step with either
    sim.set_friction({"block": 0.0})
    speed = sim.v[0]
    sim.step(100)
    assert abs(sim.v[0] - speed) < 0.5 * 9.81 * DT
    assert [each.values for each in sim.changes] == [{"ground": 0.5, "block": 0.5}, {"block": 0.0}]


def test_a_ground_that_is_lowered_lets_fall():
    """As freely as from rest; a ground that would be inside of something is refused."""
    world = vt.World(ground=vt.Ground())
    world.add(vt.Box((0.2, 0.2, 0.1)), "block", at=(0, 0, 0.05), mass=1.0)
    model = world.compile()
    sim = vt.Simulation(model, dt=DT, record_every=1)
    sim.step(50)
    saved = sim.save()
    with pytest.raises(vt.InputError, match=r"overlap by 0\.02 m with the other ground"):
        sim.set_ground(vt.Ground(height=0.02))
    assert sim.save().kept == saved.kept and sim.changes == () and sim.model is model
    field = vt.HeightField([[-0.5, -0.5], [-0.5, -0.5]], spacing=2.0, origin=(-1, -1, 0))
    sim.set_ground(vt.Ground(terrain=field, friction=(0.5, 0.01, 0.001)))
    sim.step(100)
    assert abs(sim["block"].position[2] - (0.05 - 9.81 / 2 * (100 * DT) ** 2)) < 1e-9
    sim.step(200)
    assert abs(sim["block"].position[2] + 0.45) < 1e-9
    again = after_changes(model, sim.trajectory.changes)
    assert again.digest == sim.model.digest and again.ground == sim.model.ground


# ---- states -----------------------------------------------------------------------------------------------------


def test_the_state_of_a_body_is_seen_and_set():
    """Its place alone: the velocity in the world stays, and so does all of the other body."""
    model = floating()
    sim = vt.Simulation(model, None, speeds(model), dt=DT, record_every=1)
    sim.step(10)
    before, v = sim["a"].pose, sim["b"].velocity
    np.testing.assert_allclose(sim["b"].pose, model.frame_pose("b", sim.q), rtol=0, atol=0)
    others = sim.q[model.joint("a").q_slice].copy(), sim.p[model.joint("a").v_slice].copy()
    sim["b"].pose = (1, 2, 3, *SKEW[::-1])
    np.testing.assert_allclose(sim["b"].position, (1, 2, 3), rtol=0, atol=1e-15)
    np.testing.assert_allclose(sim["b"].velocity, v, rtol=0, atol=1e-14)
    sim["b"].position = (1, 2, 4)
    np.testing.assert_allclose(sim["b"].rotation, vt.lie.matrix_from_pose((1, 2, 4, *SKEW[::-1]))[:3, :3], atol=1e-14)
    sim["b"].velocity = (0, 0, 1, 0.5, 0, 0)
    np.testing.assert_allclose(sim["b"].velocity, (0, 0, 1, 0.5, 0, 0), rtol=0, atol=1e-14)
    assert np.array_equal(sim["a"].pose, before) and sim.t == 10 * DT and sim.steps == 10
    np.testing.assert_allclose(sim.q[model.joint("a").q_slice], others[0], rtol=0, atol=0)
    np.testing.assert_allclose(sim.p[model.joint("a").v_slice], others[1], rtol=1e-14)
    sim.step(10)
    run = sim.trajectory
    assert len(run) == 21 and [each.kind for each in run.changes] == ["state"] * 3
    np.testing.assert_allclose(run.q[-1][7:10] - (1, 2, 4), [0.5 * 10 * DT, 0, 0], atol=1e-12)


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_a_simulation_begins_anew_at_its_own_state(method):
    """Its ``q``, ``v`` and ``p`` are views of what begins anew."""
    model = vt.load_urdf(vt.find_robot("arm6"))
    sim = vt.Simulation(model, v0=np.full(model.nv, 0.1), dt=DT, method=method)
    sim.step(5)
    q, v = sim.q.copy(), sim.v.copy()
    sim.reset(sim.q, sim.v)
    assert sim.steps == 0
    np.testing.assert_array_equal(sim.q, q)
    np.testing.assert_allclose(sim.v, v, rtol=0, atol=1e-14)
    p = sim.p.copy()
    sim.reset(sim.q, p0=sim.p)
    np.testing.assert_allclose(sim.p, p, rtol=0, atol=1e-14)


def test_states_of_joints_are_set_by_name():
    model = vt.load_urdf(vt.find_robot("arm6"))
    sim = vt.Simulation(model, dt=DT, tolerance=1e-13)
    sim.step(5)
    q, v = sim.q.copy(), sim.v.copy()
    sim.set_state(q={"elbow_joint": 0.7}, v={"wrist_joint": [0.2]})
    k, j = model.joint("elbow_joint").q_slice, model.joint("wrist_joint").v_slice
    q[k], v[j] = 0.7, 0.2
    np.testing.assert_allclose(sim.q, q, rtol=0, atol=0)
    np.testing.assert_allclose(sim.v, v, rtol=0, atol=1e-13)
    other = vt.Simulation(model, q, v, dt=DT, t0=sim.t, tolerance=1e-13)
    for one in (sim, other):
        one.step(20)
    np.testing.assert_allclose(sim.q, other.q, rtol=0, atol=1e-12)


# ---- bits -------------------------------------------------------------------------------------------------------


def driven(sim):
    """A course of changes of every kind, in three parts."""
    sim.step(10)
    sim.attach("cup", "arm/flange", "hold")
    sim.set_gains({"arm/*": (300, 30) if sim.method in IMPLICIT else (3, 0.01)})
    yield
    sim.step(15)
    sim.set_friction({"ground": 0.3, "crate": 0.3})
    sim.detach("hold")
    sim["crate"].velocity = (0, 0, 0.5, 0.4, 0.1, 0)
    yield
    sim.step(7)
    sim.set_ground(vt.Ground(height=-0.01))
    sim.attach("cup", "arm/wrist")
    sim.step(30)
    yield


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_has_the_bits_of_the_whole(method, tmp_path):
    """From files between changes, with the first model or the last one; and by what save() returns, pickled."""
    world, model = scene(gains(method))
    how = {"dt": DT, "method": method, "record_every": 1}
    whole = vt.Simulation(model, control=world.control(model), **how)
    for _ in driven(whole):
        pass
    run = whole.trajectory
    assert len(run) == 63 and [each.kind for each in run.changes] == [
        "attach", "gains", "friction", "detach", "state", "ground", "attach"]  # fmt: skip
    sim = vt.Simulation(model, control=world.control(model), **how)
    course = driven(sim)
    next(course)
    sim.step(15)
    first = vt.Trajectory.load(sim.trajectory.save(tmp_path / "run.npz"))
    assert [each.values for each in first.changes] == [each.values for each in run.changes[:2]]
    # in one go from there, with what was changed by then: up to the next change
    part = first.resume(0.0 + DT, model=model, control=world.control(model))
    assert part.changes[0].values == first.changes[0].values and part.settings["model_digest"] != model.digest
    again = vt.Simulation(model, resume=first, record_every=1, control=world.control(model))
    assert [each.kind for each in again.changes] == ["attach", "gains"] and again.t == first.t[-1]
    again.set_friction({"ground": 0.3, "crate": 0.3})
    again.detach("hold")
    again["crate"].velocity = (0, 0, 0.5, 0.4, 0.1, 0)
    again.step(7)
    middle = vt.Trajectory.load(again.trajectory.save(tmp_path / "run.npz"))
    there = slice(25, 33)
    for name in ("t", "q", "v", "p"):
        assert getattr(middle, name).tobytes() == getattr(run, name)[there].tobytes(), name
    last = vt.Simulation(model, resume=middle, record_every=1, control=world.control(model))
    saved = pickle.loads(pickle.dumps(last.save()))
    last.set_ground(vt.Ground(height=-0.01))
    last.attach("cup", "arm/wrist")
    last.step(30)
    assert last.q.tobytes() == whole.q.tobytes() and last.p.tobytes() == whole.p.tobytes()
    assert last.v.tobytes() == whole.v.tobytes() and last.model.digest == whole.model.digest
    assert last.trajectory.t.tobytes() == run.t[32:].tobytes()
    assert [each.values for each in last.changes] == [each.values for each in run.changes]
    last.restore(saved)
    assert last.q.tobytes() == run.q[32].tobytes() and len(last.changes) == 5


@pytest.mark.parametrize("method", METHODS)
def test_going_back_over_changes_and_forth(method):
    """To the first model and to another one; the arrays are the same objects all the while."""
    _, model = scene(gains(method))
    sim = vt.Simulation(model, dt=DT, method=method, record_every=1)
    arrays = {name: getattr(sim, name) for name in ("q", "v", "p", "torque", "inputs")}
    states = [sim.save()]
    for _ in driven(sim):
        states.append(sim.save())
    seen = []
    for state in (states[3], states[0], states[2], states[1], states[3]):
        sim.restore(state)
        for name, array in arrays.items():
            assert getattr(sim, name) is array
        seen.append((sim.t, sim.q.tobytes(), sim.p.tobytes(), sim.v.tobytes(), sim.model.digest))
    assert seen[0] == seen[-1] and len({each[4] for each in seen}) == 4
    other = vt.Simulation(model, dt=DT, method=method)
    other.restore(states[2])
    other.step(7)
    sim.restore(states[2])
    sim.step(7)
    for name in ("q", "v", "p"):
        assert getattr(sim, name).tobytes() == getattr(other, name).tobytes()
        assert arrays[name].tobytes() == getattr(sim, name).tobytes()
    sim.reset()
    assert sim.changes == () and sim.model is model and sim.t == 0.0
    fresh = vt.Simulation(model, dt=DT, method=method, record_every=1)
    for one in (sim, fresh):
        one.step(20)
    alike(sim.trajectory, fresh.trajectory)


def test_what_drives_goes_on_in_the_changed_model():
    """A controller with a delay, a wrench that ends, a prescribed joint and a torque by hand."""
    tree = vt.Tree("moved", gravity=(0, 0, -9.81))
    tree.world.add(vt.tx("slide", kinematic=True), vt.body("sled", 1.0, (0.1, 0.1, 0.1)),
                   vt.ry("swing", damping=0.1), vt.tz(-0.5), vt.body("bob", 0.5, (0.01, 0.01, 0.01)))
    tree.world.add(vt.ty(0.5), vt.free("ball"), vt.body("ball", 0.2, (0.01, 0.01, 0.01)))
    model = tree.compile()
    ask = vt.Controller(lambda t, q, v: np.array([0, -0.3 * v[1], *np.zeros(6)]), period=5 * DT, delay=2 * DT)
    control = vt.Control(torque=ask, prescribed={"slide": lambda t: 0.1 * np.sin(3 * t)})
    push = [vt.ExternalWrench("bob", (0.5, 0, 0), start=5 * DT, end=30 * DT), vt.Impulse("ball", (0, 0, 0.2), 40 * DT)]
    sim = vt.Simulation(model, dt=DT, control=control, wrenches=push, record_every=1)
    sim.step(20)
    sim.attach("ball", "bob")
    saved = sim.save()
    sim.step(40)
    run = sim.trajectory
    np.testing.assert_allclose(run.q[:, 0], 0.1 * np.sin(3 * run.t), rtol=0, atol=1e-12)
    assert np.abs(run.constraint[-1]).max() < 1e-9
    sim.restore(saved)
    sim.step(40)
    assert sim.q.tobytes() == run.q[-1].tobytes()
    rows = vt.Simulation(model, dt=DT, control=vt.Control(prescribed={"slide": 0.1 * np.sin(3 * DT * np.arange(61))}))
    rows.step(20)
    rows.attach("ball", "bob")
    rows.step(40)
    np.testing.assert_allclose(rows.q[0], 0.1 * np.sin(3 * 60 * DT), rtol=0, atol=1e-12)
    with pytest.raises(vt.InputError, match="rows of the control end"):
        rows.step()
    with pytest.raises(vt.InputError, match="moves prescribed joints"):
        sim.set_state(q={"slide": 0.5})


def test_reduced_models_and_methods_in_python():
    """Joints that follow others have no coordinate, before and after."""
    model = vt.load_urdf(vt.find_robot("panda")).with_drives({"*": (100, 10)})
    assert model.full is not model
    sim = vt.Simulation(model, dt=DT, record_every=1)
    q = sim.q
    sim.step(10)
    sim.set_gains({"*": (200, 20)})
    hand = model.link_names[-1]
    sim.attach(hand, "world", "stop")
    place = sim[hand].pose
    sim.step(20)
    np.testing.assert_allclose(sim[hand].pose, place, rtol=0, atol=1e-9)
    assert sim.q is q and sim.q.shape == (model.nq,) and sim.trajectory.system.digest == sim.model.digest
    sim.detach("stop")
    sim.step(20)
    assert np.isfinite(sim.q).all() and len(sim.trajectory) == 51

    class Plain(vt.Integrator):
        name = "plain"
        order = 1

        def step(self, t, q, x):
            v = x + self.dt * self.acceleration(t, q, x)
            return self.model.integrate(q, self.dt * v), v

    vt.METHODS["plain"] = Plain
    try:
        free = floating()
        free = vt.Model(replace(free.flat, contacts=(), limits="ignore"))
        sim = vt.Simulation(free, None, speeds(free), dt=DT, method="plain", record_every=1)
        q = sim.q
        sim.step(10)
        sim.attach("b", "a")
        sim.step(10)
        assert sim.q is q and len(sim.trajectory) == 21 and sim.t == 20 * DT
        np.testing.assert_allclose(sim["a"].velocity[:3], sim["b"].velocity[:3], rtol=0, atol=1e-3)
    finally:
        del vt.METHODS["plain"]


# ---- records ----------------------------------------------------------------------------------------------------


def test_records_of_all_parts_are_one_run():
    _, model = scene()
    sim = vt.Simulation(model, dt=DT, record_every=1)
    for _ in driven(sim):
        pass
    run = sim.trajectory
    np.testing.assert_allclose(run.t, DT * np.arange(63), rtol=0, atol=1e-15)
    assert run.steps == 62 and run.constraint_names[:1] == ("cup on arm/wrist x",) and len(
        run.constraint_names) == 12  # fmt: skip
    held = run.multipliers[:, run.constraint_names.index("hold z")]
    assert np.isfinite(held[11:26]).all() and np.isnan(held[:11]).all() and np.isnan(held[26:]).all()
    assert {"cup", "crate", "ground"} <= {x for pair in run.contacts.names for x in pair}
    weight = run.contact_wrench("crate")[2:26, 5]
    np.testing.assert_allclose(weight[5:], 9.81, rtol=1e-6)
    later = run[run.t > 32.5 * DT]
    assert len(vt.Encoder(["arm/elbow_joint"]).read(later).t) == len(later)
    for call in (lambda: vt.Encoder(["arm/elbow_joint"]).read(run), run.linearize,
                 lambda: run.gradient(by_q=np.zeros((63, model.nv)))):
        with pytest.raises(vt.InputError, match=r"changed at t = .* run\[run.t > "):
            call()
    assert not any("passes" in text for text in run.warnings)
    assert run.at(0.05 + 0.3 * DT).q.shape == (model.nq,)
    text = repr(run.changes[0])
    assert "attach" in text and "hold" in text


def test_nothing_recorded_behind_a_change_goes_on_from_it():
    model = floating()
    sim = vt.Simulation(model, None, speeds(model), dt=DT, record_every=1)
    sim.step(10)
    sim.attach("b", "a")
    run = sim.trajectory
    assert len(run) == 11 and run.changes[0].kind == "attach"
    sim.step(10)
    part = run.resume(10 * DT)
    assert part.q[-1].tobytes() == sim.q.tobytes()


# ---- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda sim: sim["cpu"], vt.UnknownNameError, 'no body or frame "cpu"; did you mean "cup"'),
    (lambda sim: sim.attach("cpu"), vt.UnknownNameError, 'no frame "cpu"; did you mean "cup"'),
    (lambda sim: sim.attach("cup", "arm/tool"), vt.UnknownNameError, 'no frame "arm/tool"; did you mean "arm/'),
    (lambda sim: sim.attach("world", "cup"), vt.UnknownNameError, 'no frame "world"'),
    (lambda sim: sim.attach("cup", "cup"), vt.InputError, "fixed to each other already"),
    (lambda sim: sim.attach("table", "cup"), vt.InputError, "is fixed to the world; give a body that moves"),
    (lambda sim: sim.attach("cup", "crate", "hold"), vt.InputError, "is taken.*attached are hold"),
    (lambda sim: sim.attach("cup", "crate", ""), vt.InputError, "no text"),
    (lambda sim: sim.detach("hol"), vt.UnknownNameError, 'did you mean "hold"'),
    (lambda sim: sim.set_gains({"arm/elbw": (1, 1)}), vt.UnknownNameError, 'no driven joint "arm/elbw"; did you mean'),
    (lambda sim: sim.set_gains({"arm/*": (1, -1)}), vt.ModelError, "zero or more"),
    (lambda sim: sim.set_gains({"arm/*": (1, np.nan)}), vt.InputError, "finite"),
    (lambda sim: sim.set_gains({"arm/*": "much"}), vt.InputError, "numbers"),
    (lambda sim: sim.set_gains(3.0), vt.InputError, "a mapping of patterns"),
    (lambda sim: sim.set_friction({"grund": 0.1}), vt.UnknownNameError, 'did you mean "ground"'),
    (lambda sim: sim.set_friction(-0.1), vt.ModelError, "friction"),
    (lambda sim: sim.set_ground(0.1), vt.InputError, r"such as vt.Ground\(0.1\)"),
    (lambda sim: sim.set_ground(vt.Ground(height=0.1)), vt.InputError, "overlap"),
    (lambda sim: sim.set_state(), vt.InputError, "give q=, v=, or both"),
    (lambda sim: sim.set_state(q={"arm/elbw": 1}), vt.UnknownNameError, "did you mean"),
    (lambda sim: sim.set_state(v={"arm/elbow_joint": np.nan}), vt.InputError, "finite"),
    (lambda sim: setattr(sim["crate"], "pose", (0, 1, 0.04)), vt.InputError, "overlap by 0.01 m there"),
    (lambda sim: setattr(sim["crate"], "velocity", (1, 2)), vt.InputError, "velocity"),
    (lambda sim: setattr(sim["crate"], "pose", (1, 2)), vt.InputError, "must be"),
    (lambda sim: setattr(sim["cup"], "position", (0, 0, 2)), vt.InputError, "hold"),
    (lambda sim: setattr(sim["table"], "pose", (0, 0, 1)), vt.InputError, "does not float: it is fixed to the world"),
    (lambda sim: setattr(sim["arm/flange"], "position", (0, 0, 1)), vt.InputError, "is moved by joints"),
])  # fmt: skip
def test_errors_name_the_choices_and_leave_the_state(call, error, text):
    _, model = scene()
    sim = vt.Simulation(model, dt=DT, record_every=1)
    sim.step(3)
    sim.attach("cup", "arm/flange", "hold")
    assert np.isfinite(sim.v).all()
    before, count, digest = sim.save(), len(sim.trajectory), sim.model.digest
    with pytest.raises(error, match=text):
        call(sim)
    after = sim.save()
    assert after.kept == before.kept and after.changes == before.changes
    assert len(sim.trajectory) == count and sim.model.digest == digest
    sim.step(2)
    assert len(sim.trajectory) == count + 2


def test_vehicles_have_no_bodies_to_change():
    sim = vt.Simulation(vt.vehicles.boat(), dt=0.01)
    for call in (lambda: sim["hull"], lambda: sim.attach("a"), lambda: sim.set_friction(1.0), lambda: sim.set_state()):
        with pytest.raises(vt.InputError, match="vehicle"):
            call()


def test_damaged_changes_in_a_file_are_told(tmp_path):
    """Settings that are no changes, and changes that do not fit the model."""
    sim = vt.Simulation(floating(), dt=DT, record_every=1)
    sim.step(2)
    sim.attach("b", "a")
    sim.step(2)
    run = sim.trajectory
    for damaged in ("x", [1], [{"t": 0.0}], [{**run.settings["changes"][0], "kind": "magic"}]):
        with pytest.raises(vt.InputError, match=r"damaged|a list of changes"):
            _ = replace(run, settings={**run.settings, "changes": damaged}).changes
    other = [{**run.settings["changes"][0], "values": {"name": "x"}}]
    broken = vt.Trajectory.load(replace(run, settings={**run.settings, "changes": other}).save(tmp_path / "run.npz"))
    with pytest.raises(vt.InputError, match="of another model"):
        broken.resume(DT, model=floating())


@pytest.mark.parametrize("method", METHODS)
def test_steps_beside_records_have_the_same_bits(method):
    """With torques and targets given, written and held, and many steps at once or one by one."""
    model = vt.load_urdf(vt.find_robot("arm6")).with_drives({"*": (4, 0.02)})
    runs = []
    for every in (0, 1):
        sim = vt.Simulation(model, 0.1 * np.ones(6), dt=DT, method=method, record_every=every)
        torque, q = sim.torque, sim.q
        sim.step(3, control=0.1 * np.ones(6))
        sim.set_gains({"*": (5, 0.01)})
        sim.step(2)
        torque[:] = 0.2
        sim.step(control=vt.Control(targets={"elbow_joint": 0.3}))
        sim.step(2, control=vt.Control(targets=0.05 * np.ones(6)))
        sim.step(control=vt.Control(torque=np.zeros(6), inputs={"elbow_joint target": 0.1}))
        sim.step(5)
        assert sim.q is q and sim.torque is torque and not torque.any() and sim.inputs[2] == 0.1
        runs.append((sim.q.tobytes(), q.tobytes(), sim.p.tobytes(), sim.v.tobytes(), sim.t))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_cup_that_is_held_on_a_table(method):
    """Velocities are those of contacts that pushed, whose facets the end of the step has replaced: a rim that tilts."""
    arm, ready = vt.load_urdf(vt.find_robot("arm6")), np.array([0.0, 0.68, 0.91, 0.0, 1.55, 0.0])
    place = arm.frame_pose("flange", ready)[:3, 3]
    world, top = vt.World("table", ground=vt.Ground()), place[2] - 0.131
    world.add("arm6", "arm", start=dict(zip(arm.joint_names, ready, strict=True)), drives={"*": (20000, 400)})
    world.add(vt.Box((0.4, 0.6, top)), "table", at=(place[0], 0, 0.5 * top))
    world.add(vt.Cylinder(0.04, 0.1), "cup", at=place - [0, 0, 0.081], mass=0.2)
    model = world.compile()
    sim = vt.Simulation(model, dt=1e-3, method=method, control=world.control(model))
    sim.attach("cup", to="arm/flange", name="weld")
    speeds = []
    for k in range(8):
        sim.step(1, control=vt.Control(targets={"arm/" + arm.joint_names[0]: 0.2 if k > 1 else 0.0}))
        speeds.append(sim.v[0])
        assert np.isfinite(sim.v).all() and np.isfinite(sim.energy)
    assert np.abs(speeds[:2]).max() < 1e-6 and (np.diff(speeds[2:]) > 0.2).all()
