"""Environments: spaces, bits of Simulation, resets, failures, wrong arguments."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from places import EXAMPLES

import vitree as vt

gymnasium = pytest.importorskip("gymnasium")
from vitree.gym import VectorEnv  # noqa: E402

N = 9


def pendulum():
    return vt.load_urdf(vt.find_robot("double_pendulum"))


def start(rng, n):
    return rng.uniform(-1, 1, (n, 2)), rng.normal(size=(n, 2))


def environment(model=None, **more):
    given = {"dt": 0.01, "frame_skip": 3, "start": start, "reward": lambda Q, V, A: Q[:, 0] + A[:, 1], "limit": 5.0}
    return VectorEnv(pendulum() if model is None else model, N, dtype=np.float64, **{**given, **more})


@pytest.mark.parametrize("method", ["linear-time", "rk4", "midpoint"])
def test_each_instance_has_the_bits_of_a_simulation(method):
    drawn = []

    def noted(rng, n):
        drawn.append(start(rng, n))
        return drawn[-1]

    env, rng = environment(method=method, start=noted), np.random.default_rng(3)
    observed, infos = env.reset(seed=5)
    assert infos == {}
    assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    alone = [vt.Simulation(env.model, q, v, dt=0.01, method=method) for q, v in zip(*drawn[-1], strict=True)]
    for k in range(7):
        action = rng.uniform(-8, 8, (N, 2))
        observed, reward, terminated, truncated, infos = env.step(action)
        for one, row in zip(alone, np.clip(action, -5, 5), strict=True):
            one.step(3, control=row)
        assert np.array_equal(observed, [np.r_[one.q, one.v] for one in alone])
        assert np.array_equal(reward, observed[:, 0] + np.clip(action[:, 1], -5, 5))
        assert not (terminated.any() or truncated.any() or infos["failed"].any())
        assert env.observation_space.contains(observed)
        assert env.t == pytest.approx(0.03 * (k + 1))
    env.close()


def test_equal_seeds_give_equal_bits():
    runs = []
    for _ in range(2):
        env = environment(duration=0.09)
        env.action_space.seed(1)
        observed = [env.reset(seed=2)[0]] + [env.step(env.action_space.sample())[0] for _ in range(10)]
        runs.append(np.array(observed))
    assert np.array_equal(*runs)


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_episodes_that_end_begin_anew_with_the_next_step(method):
    """Some end by themselves, all after four actions; the step that resets takes no action and gives no reward."""
    env = environment(method=method, duration=0.12, terminated=lambda Q, V: V[:, 0] > 1.5)
    env.reset(seed=0)
    action, ended = np.full((N, 2), 2.0), np.zeros(N, bool)
    for _ in range(15):
        before = env.t
        observed, reward, terminated, truncated, _ = env.step(action)
        assert (reward[ended] == 0).all()
        assert (env.t[ended] == 0).all()
        assert (np.abs(observed[ended, :2]) <= 1).all()
        assert env.t[~ended] == pytest.approx(before[~ended] + 0.03)
        assert np.array_equal(terminated[~ended], observed[~ended, 2] > 1.5)
        assert np.array_equal(truncated, (env.t > 0.119) & ~terminated)
        ended = terminated | truncated
    env.reset(seed=1, options={"reset_mask": np.arange(N) == 4})
    assert (env.t == 0).sum() >= 1


@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_an_instance_that_fails_is_truncated_and_comes_back(method):
    def far(rng, n):
        q, v = start(rng, n)
        v[:1] *= 1e6 if n == N else 1.0
        return q, v

    env = environment(method=method, start=far)
    before = env.reset(seed=0)[0]
    observed, _, terminated, truncated, infos = env.step(np.zeros((N, 2)))
    if method == "linear-time":
        assert infos["failed"].tolist() == truncated.tolist() == [True] + [False] * (N - 1)
        assert not terminated.any()
        assert np.isfinite(observed).all()
        assert np.array_equal(observed[0], before[0])
    observed, _, _, truncated, infos = env.step(np.zeros((N, 2)))
    assert not (infos["failed"] & truncated).all()
    assert np.isfinite(observed).all()


def test_actions_have_the_limits_of_the_joints():
    tree = vt.Tree("arm")
    arm = tree.world.add(vt.revolute("a", lower=-1.0, upper=2.0, effort=7.0), vt.body("one", 1.0, (0.1, 0.1, 0.1)))
    arm.add(vt.tx(0.5), vt.revolute("b"), vt.body("two", 1.0, (0.1, 0.1, 0.1)))
    model = tree.compile()
    space = environment(model, limit=None).single_action_space
    assert (space.low.tolist(), space.high.tolist()) == ([-7.0, -np.inf], [7.0, np.inf])
    space = environment(model.with_drives({"*": (10, 1)}), limit=None, action="targets").single_action_space
    assert (space.low.tolist(), space.high.tolist()) == ([-1.0, -1.0], [1.0, 1.0])
    one = environment(model, limit=None, actuators=["b"], reward=lambda Q, V, A: A[:, 0])
    one.reset(seed=0)
    one.step(np.ones((N, 1)))
    assert one.single_action_space.shape == (1,)


def test_wrong_arguments_are_told():
    for wrong, text in (
        ({"action": "force"}, "torque"), ({"actuators": ["hing"]}, "hing"), ({"limit": -1.0}, "limit"),
        ({"limit": [1.0, 2.0, 3.0]}, "limit"), ({"frame_skip": 0}, "frame_skip"), ({"action": "targets"}, "drives"),
        ({"start": lambda rng, n: (np.zeros((n, 3)), np.zeros((n, 2)))}, "start"), ({"method": "rk5"}, "rk5"),
        ({"duration": 0.1}, "duration"), ({"dt": -1.0}, "dt"),
    ):  # fmt: skip
        with pytest.raises(vt.VitreeError, match=text):
            environment(**wrong)
    env = environment()
    with pytest.raises(vt.InputError, match="reset"):
        env.step(np.zeros((N, 2)))
    env.reset()
    with pytest.raises(vt.InputError, match=r"\(9, 2\)"):
        env.step(np.zeros((N, 3)))
    with pytest.raises(vt.InputError, match="finite"):
        env.step(np.full((N, 2), np.nan))
    for wrong, text in (({"reward": lambda Q, V, A: 1.0}, "reward"), ({"reward": lambda Q, V, A: 1 / 0}, "reward"),
                        ({"terminated": lambda Q, V: Q[:, 0]}, "terminated")):  # fmt: skip
        env = environment(**wrong)
        env.reset()
        with pytest.raises(vt.VitreeError, match=text):
            env.step(np.zeros((N, 2)))


def test_the_examples_balance_and_stand(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES / "learning")
    for name, other in (("cart_pole", 1.0), ("standing_quadrupeds", 0.5)):
        example = importlib.import_module(name)
        env = example.environment(16 if name == "cart_pole" else 3)
        if name == "cart_pole":
            K = example.gains(env.model)
            reward, fallen = example.play(env, lambda x, K=K: -x @ K.T, 200)
            poor, falls = example.play(env, lambda x: np.full((16, 1), 5.0), 200)
        else:
            reward, fallen = example.play(env, 0 * example.POSTURE)
            poor, falls = example.play(env, -example.POSTURE)
        assert reward > 0.95 and fallen == 0
        assert poor < other and falls > 0
        env.close()
        sys.modules.pop("stand_ins", None)


# ---- functions that go wrong ------------------------------------------------------------------------------

WRONG = {
    "nan": lambda right: np.full_like(np.asarray(right, float), np.nan),
    "infinity": lambda right: np.full_like(np.asarray(right, float), np.inf),
    "shape": lambda right: np.asarray(right)[:-1],
    "text": lambda right: "much",
    "nothing": lambda right: None,
    "error": lambda right: 1 / 0,
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["reward", "observe", "terminated", "start"])
def test_a_function_that_goes_wrong_is_named(name, wrong):
    functions = {
        "reward": lambda Q, V, A: Q[:, 0], "observe": lambda Q, V: np.hstack([Q, V]),
        "terminated": lambda Q, V: Q[:, 0] > 9, "start": start,
    }  # fmt: skip
    broken = []

    def function(*of):
        right = functions[name](*of)
        if not broken:
            return right
        return (WRONG[wrong](right[0]), right[1]) if name == "start" else WRONG[wrong](right)

    env = environment(**{**functions, name: function})
    env.reset(seed=1)
    broken.append(True)
    with pytest.raises(vt.CallableError, match=rf"^{name}\(.*\) (returned|raised)") as told:
        env.reset(seed=2) if name == "start" else env.step(np.zeros((N, 2)))
    assert isinstance(told.value.__cause__, ZeroDivisionError) == (wrong == "error")


def test_an_observation_keeps_its_size_and_its_own_memory():
    seen = []

    def observe(Q, V):
        seen.append(np.zeros((N, 2 if len(seen) < 2 else 3)))
        return seen[-1]

    env = environment(observe=observe)
    observed, _ = env.reset(seed=0)
    assert not np.may_share_memory(observed, seen[-1])
    with pytest.raises(vt.CallableError, match=rf"observe\(Q, V\) returned shape \({N}, 3\); it must be \({N}, 2\)"):
        env.step(np.zeros((N, 2)))
