"""Policies that drive runs: of PolicyInterface.control and in ONNX files, against the environment of the same task."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from policies import network, walking_task

import vitree as vt

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")

from vitree import gym as vg

DT, SKIP, ACTIONS = 0.004, 5, 12


def weights(rows=14, columns=2, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns))


def policy(tmp_path, task, **more):
    path = tmp_path / "policy.onnx"
    network(path, weights(), **more)
    return vg.OnnxPolicy(path, task)


def episode(task, act, command):
    """The states after each action of an environment."""
    env = vg.Env(task)
    observed, _ = env.reset(seed=0, options={"command": command})
    states = [env.q.copy()]
    for _ in range(ACTIONS):
        observed = env.step(act(observed[None])[0])[0]
        states.append(env.q.copy())
    return np.array(states)


@pytest.mark.parametrize("action", ["targets", "torque"])
def test_a_policy_drives_runs_as_it_drives_the_environment(tmp_path, action):
    """simulate, Simulation and rollout have the bits of the environment; other commands lead elsewhere."""
    more = {"actuators": ["left hip", "right hip"], "limit": 5.0} if action == "torque" else {}
    task = walking_task(action=action, **more)
    act, command = policy(tmp_path, task), {"x": 0.5, "yaw": -0.2}
    expected = episode(task, act, command)
    given = {"duration": ACTIONS * SKIP * DT, "dt": DT}
    run = vt.simulate(task.model, task.pose, control=act.control(command), record_every=SKIP, **given)
    np.testing.assert_array_equal(run.q, expected)
    assert np.abs(expected[-1] - expected[0]).max() > 0.01
    held = vt.Simulation(task.model, task.pose, dt=DT, control=act.control(command))
    held.step(ACTIONS * SKIP)
    np.testing.assert_array_equal(held.q, expected[-1])
    # of starts that differ, each is that of its own
    starts = np.tile(task.pose, (3, 1))
    starts[1:, 2] += 0.01, 0.03
    control = act.control(command)
    runs = vt.rollout(task.model, starts, control=control, record_every=SKIP, **given)
    for k, start in enumerate(starts):
        alone = vt.simulate(task.model, start, control=control, record_every=SKIP, **given)
        np.testing.assert_array_equal(runs.q[k], alone.q)
    np.testing.assert_array_equal(runs.q[0], expected)
    other = vt.simulate(task.model, task.pose, control=act.control({"x": -1.0}), record_every=SKIP, **given)
    assert np.abs(other.q - run.q).max() > 1e-3


def test_a_policy_does_not_drive_another_robot_of_the_same_size(tmp_path):
    """Variations of its robot it does."""
    task = walking_task()
    control, model = policy(tmp_path, task).control(), task.model
    names = [*model.joint_names]
    named = lambda k: names.index(f"{('left', 'right')[k]} hip")  # noqa: E731
    joints = list(model.flat.joints)
    joints[named(0)], joints[named(1)] = (replace(joints[named(k)], name=names[named(1 - k)]) for k in range(2))
    other = vt.Model(replace(model.flat, joints=tuple(joints)))
    for run in (lambda x: vt.simulate(x, task.pose, duration=0.02, dt=DT, control=control),
                lambda x: vt.rollout(x, task.pose[None], duration=0.02, dt=DT, control=control),
                lambda x: vt.Simulation(x, task.pose, dt=DT, control=control)):  # fmt: skip
        run(model.with_parameters(mass={"trunk": 5.0}))
        with pytest.raises(vt.InputError, match=r'the joint "left hip" where .* has "right hip"'):
            run(other)


def test_a_control_is_as_new_for_each_run(tmp_path):
    """Its memory of actions is not that of the run before, which ended at a later time, or had other instances."""
    task = walking_task()
    act = policy(tmp_path, task)
    given, control = {"duration": 0.1, "dt": DT}, act.control()
    first = vt.simulate(task.model, task.pose, control=control, **given)
    vt.rollout(task.model, np.tile(task.pose, (2, 1)), control=control, **given)
    np.testing.assert_array_equal(vt.simulate(task.model, task.pose, control=control, **given).q, first.q)


def test_commands_of_time_and_delays(tmp_path):
    task = walking_task()
    act, duration = policy(tmp_path, task), 0.2
    commands = lambda t: {"x": 1.0 if t > 0.09 else 0.0}  # noqa: E731
    given = {"duration": duration, "dt": DT}
    runs = [vt.simulate(task.model, task.pose, control=act.control(command, delay=delay), **given)
            for command, delay in ((None, 0.0), (commands, 0.0), (None, 2 * DT))]  # fmt: skip
    # the command changes with the action at 0.1 s
    same = [int(np.argmin((run.q == runs[0].q).all(axis=1))) for run in runs[1:]]
    assert same == [round(0.1 / DT) + 1, 1]
    delayed = vt.rollout(task.model, task.pose[None], control=act.control(delay=2 * DT), **given)
    np.testing.assert_array_equal(delayed.q[0], runs[2].q)
    # until the first action acts the drives hold the pose
    rest = vt.simulate(task.model, task.pose, control=vt.Control(targets=np.zeros(2)), duration=2 * DT, dt=DT)
    np.testing.assert_array_equal(runs[2].q[:3], rest.q)


def test_any_function_is_a_policy():
    task = walking_task()
    W = weights()
    interface = vg.PolicyInterface(task, float)
    control = interface.control(lambda seen: np.tanh(seen @ W))
    run = vt.simulate(task.model, task.pose, control=control, duration=0.1, dt=DT)
    runs = vt.rollout(task.model, task.pose[None], control=control, duration=0.1, dt=DT)
    np.testing.assert_allclose(runs.q[0], run.q, rtol=0, atol=1e-12)
    for wrong, text in ((lambda seen: seen, r"shape \(1, 14\)"), (lambda seen: np.full((1, 2), np.nan), "finite"),
                        (lambda seen: 1 / 0, r"policy\(observations\) raised ZeroDivisionError")):  # fmt: skip
        with pytest.raises(vt.CallableError, match=text):
            vt.simulate(task.model, task.pose, control=interface.control(wrong), duration=0.1, dt=DT)
    with pytest.raises(vt.UnknownNameError, match="yaw"):
        interface.control(lambda seen: seen, {"z": 1.0})
    with pytest.raises(vt.CallableError, match="yaw"):
        vt.simulate(task.model, task.pose, control=interface.control(lambda seen: seen, lambda t: {"z": 1}),
                    duration=0.1, dt=DT)  # fmt: skip
    with pytest.raises(vt.InputError, match="of the controller is not a whole number of steps"):
        vt.simulate(task.model, task.pose, control=control, duration=0.09, dt=0.003)


@pytest.mark.parametrize("shape", ["many", "one", "flat"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_types_of_files(tmp_path, shape, dtype):
    """Files for any number of instances, for one, and without an axis of instances give the same actions."""
    task = walking_task()
    act = policy(tmp_path, task, shape=shape, dtype=dtype)
    seen = np.random.default_rng(1).normal(size=(5, 14)).astype(dtype)
    np.testing.assert_allclose(act(seen), np.tanh(seen @ weights().astype(dtype)), rtol=2e-5)
    assert act(seen[:0]).shape == (0, 2)
    assert act.interface.dtype == dtype
    with pytest.raises(vt.InputError, match=r"observations .*\(5, 13\); it must be \(n, 14\)"):
        act(seen[:, 1:])


def test_an_environment_of_many_takes_its_actions(tmp_path):
    task = walking_task()
    act, env = policy(tmp_path, task), vg.VectorEnv(task, 4)
    observed, _ = env.reset(seed=0)
    for _ in range(3):
        observed, *_ = env.step(act(observed))
    assert act.metadata == {"trained by": "hand"}
    assert repr(act) == '<vitree.gym.OnnxPolicy "policy.onnx" for \'walker\'>'


@pytest.mark.parametrize("kind", ["scores", "choice"])
def test_discrete_actions(tmp_path, kind):
    choices = [[0.7, 0.2], [1.0, -1.0], [-0.5, 0.5]]
    task, W = walking_task(choices=choices), weights(14, 3)
    path = tmp_path / "policy.onnx"
    network(path, W, choice=kind == "choice")
    act = vg.OnnxPolicy(path, task)
    seen = np.random.default_rng(1).normal(size=(40, 14)).astype(np.float32)
    found = act(seen)
    np.testing.assert_array_equal(found, np.argmax(seen @ W.astype(np.float32), axis=1))
    assert {*found.tolist()} == {0, 1, 2}
    run = vt.simulate(task.model, task.pose, control=act.control(), duration=0.1, dt=DT)
    assert np.abs(run.q[-1] - run.q[0]).max() > 1e-3


def test_files_that_do_not_fit_are_told(tmp_path):
    task, path = walking_task(), tmp_path / "policy.onnx"
    network(path, weights(13))
    quantities = "base_angular_velocity 3, projected_gravity 3, command 2, joint_positions 2, joint_velocities 2"
    with pytest.raises(vt.InputError, match=rf"shape \(n, 13\).* 14 numbers \({quantities}, last_action 2\)"):
        vg.OnnxPolicy(path, task)
    network(path, weights(14, 3))
    with pytest.raises(vt.InputError, match=r'output "actions" of shape \(1, 3\).* actions of the task are \(1, 2\)'):
        vg.OnnxPolicy(path, task)
    network(path, weights(), batch=8)
    with pytest.raises(vt.InputError, match="for 8 instances; export it for one, or for any number"):
        vg.OnnxPolicy(path, task)
    network(path, weights(), outputs=("actions", "values"))
    with pytest.raises(vt.InputError, match=r"several outputs, actions, values; .* output="):
        vg.OnnxPolicy(path, task)
    assert vg.OnnxPolicy(path, task, output="actions").control() is not None
    with pytest.raises(vt.UnknownNameError, match='no input "observation"; choose from obs'):
        vg.OnnxPolicy(path, task, input="observation", output="actions")
    network(path, weights(), inputs=("obs", "hidden"))
    with pytest.raises(vt.InputError, match=r"further inputs, hidden; policies with a memory"):
        vg.OnnxPolicy(path, task)
    network(path, weights(), dtype=np.float16)
    with pytest.raises(vt.InputError, match=r"takes tensor\(float16\); observations are tensor\(float\)"):
        vg.OnnxPolicy(path, task)
    path.write_bytes(b"no network")
    with pytest.raises(vt.InputError, match="cannot be read as an ONNX file"):
        vg.OnnxPolicy(path, task)
    with pytest.raises(vt.InputError, match="cannot be read as an ONNX file"):
        vg.OnnxPolicy(tmp_path / "none.onnx", task)
    network(path, np.full((14, 2), np.inf))
    with pytest.raises(vt.InputError, match="returned NaN or infinity for observation 0"):
        vg.OnnxPolicy(path, task)
    network(path, weights())
    with pytest.raises(vt.InputError, match="contacts"):
        vg.OnnxPolicy(path, replace(task, observe=["contacts", "q"]))


def test_what_is_no_task_and_a_policy_in_place_of_its_control_are_told(tmp_path):
    task = walking_task()
    act = policy(tmp_path, task)
    for made in (lambda: vg.OnnxPolicy(act.path, "cart_pole"), lambda: vg.PolicyInterface(task.model)):
        with pytest.raises(vt.InputError, match=r"task is .*; it must be a Task, such as vitree.gym.tasks.cart_pole"):
            made()
    with pytest.raises(vt.CallableError, match=r"to drive a run give policy.control\(\)"):
        vt.simulate(task.model, task.pose, duration=DT, dt=DT, control=act)


def test_without_onnxruntime_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(vt.errors.MissingExtraError, match=r"pip install 'vitree\[onnx\]'"):
        policy(tmp_path, walking_task())
