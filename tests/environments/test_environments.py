"""One environment and many of a task: what Gymnasium, Stable-Baselines3 and single-file learners ask of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vitree as vt

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from vitree import gym as vg  # noqa: E402

NAMES = [
    pytest.param(name, id=name.partition("/")[2]) for name in vg.tasks.TASKS
    if name == "vitree/CartPole-v0" or {"Go2": "go2", "G1V": "g1"}[name.partition("/")[2][:3]] in vt.list_robots()
]  # fmt: skip
MODES = ["NextStep", "SameStep", "Disabled"]
#: Bounds of observations that are not known.
UNBOUNDED = "ignore:.*(Box observation space|symmetric and normalized).*:UserWarning"


def pendulum(**more):
    """A task whose functions take arrays; episodes end early, and after six actions."""
    given = {
        "dt": 0.01, "frame_skip": 3, "limit": 5.0, "duration": 0.18, "reward": lambda Q, V, A: Q[:, 0] + A[:, 1],
        "start": lambda rng, n: (rng.uniform(-1, 1, (n, 2)), rng.normal(size=(n, 2))),
        "terminated": lambda Q, V: V[:, 0] > 1.5,
    }  # fmt: skip
    return vg.Task(**{"model": vt.load_urdf(vt.find_robot("double_pendulum")), **given, **more})


# ---- what others ask ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings(UNBOUNDED)
def test_gymnasium_makes_and_checks_each_task(name):
    env = gymnasium.make(name)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.unwrapped.task.model is env.unwrapped.model
    many = gymnasium.make_vec(name, num_envs=3, autoreset_mode="SameStep", dtype=np.float64)
    assert many.spec.id == name and many.num_envs == 3
    assert many.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    observed, _ = many.reset(seed=0)
    assert many.observation_space.contains(observed) and observed.dtype == np.float64
    sampled = many.step(many.action_space.sample())
    assert many.observation_space.contains(sampled[0])
    env.close()
    many.close()


@pytest.mark.filterwarnings(UNBOUNDED)
def test_gymnasium_checks_a_task_of_arrays():
    check_env(vg.Env(pendulum()), skip_render_check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings(UNBOUNDED)
def test_stable_baselines3_checks_and_learns(name):
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env as check

    env = gymnasium.make(name)
    check(env, skip_render_check=True)
    PPO("MlpPolicy", env, n_steps=16, batch_size=8, device="cpu").learn(32)
    many = vg.sb3_vec_env(gymnasium.make_vec(name, num_envs=4, autoreset_mode="SameStep"))
    model = PPO("MlpPolicy", many, n_steps=8, batch_size=8, seed=3, device="cpu").learn(64)
    assert model.num_timesteps == 64
    assert model.predict(many.reset())[0].shape == many.env.action_space.shape


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ends_for_stable_baselines3_are_those_of_the_environment():
    pytest.importorskip("stable_baselines3")
    env = vg.VectorEnv(pendulum(), 5, autoreset_mode="SameStep")
    twin = vg.VectorEnv(pendulum(), 5, autoreset_mode="SameStep")
    many = vg.sb3_vec_env(env)
    many.seed(7)
    np.testing.assert_array_equal(many.reset(), twin.reset(seed=7)[0])
    total, length, seen = np.zeros(5), np.zeros(5, int), 0
    for _ in range(14):
        action = np.ones((5, 2), np.float32)
        observed, _, done, infos = many.step(action)
        other, gain, terminated, truncated, told = twin.step(action)
        np.testing.assert_array_equal(observed, other)
        np.testing.assert_array_equal(done, terminated | truncated)
        total, length = total + gain, length + 1
        for k in np.flatnonzero(done):
            seen += 1
            assert infos[k]["TimeLimit.truncated"] == truncated[k]
            np.testing.assert_array_equal(infos[k]["terminal_observation"], told["final_obs"][k])
            assert infos[k]["episode"]["l"] == length[k]
            assert infos[k]["episode"]["r"] == pytest.approx(total[k])
        total[done], length[done] = 0.0, 0
    assert seen >= 10
    with pytest.raises(vt.InputError, match="SameStep"):
        vg.sb3_vec_env(vg.VectorEnv(pendulum(), 2))


def test_a_single_file_learner_takes_many_as_they_are():
    """Wrappers and loop of single-file PPO scripts: episodes are counted, and their rewards summed."""
    envs = gymnasium.make_vec("vitree/CartPole-v0", num_envs=8)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete)
    observed, _ = envs.reset(seed=1)
    buffer = np.zeros((40, *envs.observation_space.shape), np.float32)
    lengths = []
    for step in range(40):
        buffer[step] = observed
        observed, _reward, _terminated, _truncated, infos = envs.step(envs.action_space.sample())
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
            assert (infos["episode"]["r"][infos["_episode"]] == infos["episode"]["l"][infos["_episode"]]).all()
    assert lengths and max(lengths) <= 40


# ---- episodes that end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["linear-time", "rk4"])
def test_all_modes_of_reset_are_the_same_episodes(mode, method):
    """Each is what :class:`Env` has from the same starts, in the order in which they are drawn."""
    n, rng = 4, np.random.default_rng(0)
    starts = [(rng.uniform(-1, 1, 2), rng.normal(size=2)) for _ in range(60)]

    def drawn():
        left = iter(starts)

        def start(rng, count):
            rows = [next(left) for _ in range(count)]
            return np.array([q for q, _ in rows]), np.array([v for _, v in rows])

        return start

    of = {"method": method, "start": drawn()}
    next(iter(of["start"](None, n)))  # the environment draws n when it is made
    env = vg.VectorEnv(pendulum(**{**of, "start": drawn()}), n, autoreset_mode=mode, dtype=float)
    alone, at = [], n
    for _ in range(n):
        alone.append(vg.Env(pendulum(method=method, start=lambda rng, count: (np.zeros((1, 2)), np.zeros((1, 2)))),
                            dtype=float))  # fmt: skip

    def begin(one, k):
        one._episodes._start.function = lambda rng, count: tuple(x[None] for x in starts[k])
        return one.reset(seed=0)[0]

    expected = [begin(one, at + k) for k, one in enumerate(alone)]
    at += n
    observed, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observed, expected)
    done = np.zeros(n, bool)
    for _ in range(20):
        action = rng.uniform(-3, 3, (n, 2))
        observed, reward, terminated, truncated, infos = env.step(action)
        rows = [None] * n
        resting = done.copy()
        for k, one in enumerate(alone):
            if resting[k]:
                rows[k] = (None, 0.0, False, False)
            else:
                rows[k] = one.step(action[k])[:4]
        np.testing.assert_array_equal(reward, [row[1] for row in rows])
        np.testing.assert_array_equal(terminated, [row[2] for row in rows])
        np.testing.assert_array_equal(truncated, [row[3] for row in rows])
        ends = terminated | truncated
        assert ("final_obs" in infos) == (mode == "SameStep" and ends.any())
        if "final_obs" in infos:
            np.testing.assert_array_equal(infos["_final_obs"], ends)
            for k in np.flatnonzero(ends):
                np.testing.assert_array_equal(infos["final_obs"][k], rows[k][0])
            assert set(infos["final_info"]) >= {"failed", "_failed", "rewards", "_rewards"}
        anew = ends if mode == "SameStep" else resting
        now = [row[0] for row in rows]
        for k in np.flatnonzero(anew):
            now[k] = begin(alone[k], at)
            at += 1
        np.testing.assert_array_equal(observed, now)
        np.testing.assert_array_equal(infos["time_out"], truncated)
        done = ends if mode == "NextStep" else np.zeros(n, bool)
        if mode == "Disabled" and ends.any():
            with pytest.raises(vt.InputError, match="reset_mask"):
                env.step(action)
            observed, _ = env.reset(options={"reset_mask": ends})
            for k in np.flatnonzero(ends):
                np.testing.assert_array_equal(observed[k], begin(alone[k], at))
                at += 1
    assert at >= 3 * n
    env.close()


def test_ends_are_told_by_name_and_rewards_by_term():
    task = pendulum(
        reward={"place": (2.0, lambda state: state.q[:, 0]), "push": lambda Q, V, A: A[:, 1]},
        terminated={"fast": lambda state: state.v[:, 0] > 1.5, "far": lambda Q, V: np.abs(Q[:, 0]) > 2.0},
    )  # fmt: skip
    env, plain = vg.VectorEnv(task, 6), vg.VectorEnv(pendulum(reward=lambda Q, V, A: 2 * Q[:, 0] + A[:, 1]), 6)
    env.reset(seed=3)
    plain.reset(seed=3)
    action, total = np.full((6, 2), 2.0), np.zeros(6)
    for _ in range(6):
        _, reward, terminated, truncated, infos = env.step(action)
        _, same, *_ = plain.step(action)
        np.testing.assert_allclose(reward, same, rtol=1e-12)
        total += reward
        if (ends := terminated | truncated).any():
            sums = infos["rewards"]["place"] + infos["rewards"]["push"]
            np.testing.assert_allclose(sums[ends], total[ends], rtol=1e-12)
            np.testing.assert_array_equal(infos["terminated_by"]["fast"] | infos["terminated_by"]["far"], terminated)
            return
    raise AssertionError("nothing ended")


def test_an_episode_that_fails_is_told_and_must_be_reset():
    start = np.zeros((1, 2)), np.full((1, 2), 1e6)
    env = vg.Env(pendulum(start=lambda rng, n: start, method="linear-time", terminated=None))
    env.reset(seed=0)
    _, _, terminated, truncated, info = env.step(np.zeros(2))
    assert (terminated, truncated, info["failed"], info["time_out"]) == (False, True, True, False)
    with pytest.raises(vt.InputError, match="reset"):
        env.step(np.zeros(2))


# ---- spaces, seeds, pictures ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_observations_have_the_type_of_the_space(dtype):
    env = vg.VectorEnv(pendulum(), 3, dtype=dtype)
    exact = vg.VectorEnv(pendulum(), 3, dtype=np.float64)
    observed, full = env.reset(seed=1)[0], exact.reset(seed=1)[0]
    assert observed.dtype == env.single_observation_space.dtype == env.single_action_space.dtype == dtype
    np.testing.assert_array_equal(observed, full.astype(dtype))


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_bits_and_others_do_not(name):
    def run(seed):
        env = gymnasium.make_vec(name, num_envs=3, autoreset_mode="SameStep")
        env.action_space.seed(0)
        found = [env.reset(seed=seed)[0]]
        found += [env.step(env.action_space.sample())[0] for _ in range(12)]
        env.close()
        return np.array(found)

    np.testing.assert_array_equal(run(4), run(4))
    assert not np.array_equal(run(4), run(5))


def test_one_and_many_have_the_same_episode():
    """Of the same seed, since both draw one start and one stream of everything else."""
    if "go2" not in vt.list_robots():
        pytest.skip("no quadruped is installed")
    one, many = vg.Env(vg.tasks.go2_velocity()), vg.VectorEnv(vg.tasks.go2_velocity(), 1)
    np.testing.assert_array_equal(one.reset(seed=2)[0], many.reset(seed=2)[0][0])
    for k in range(5):
        action = np.full(12, 0.1 * k, np.float32)
        observed, reward, *_ = one.step(action)
        others = many.step(action[None])
        np.testing.assert_array_equal(observed, others[0][0])
        assert reward == others[1][0]


def test_pictures_are_drawn_and_change():
    pytest.importorskip("matplotlib")
    env = vg.Env(vg.tasks.cart_pole(), render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3 and first.std() > 5
    for _ in range(15):
        env.step(1)
    assert not np.array_equal(first, env.render())
    many = gymnasium.make_vec("vitree/CartPole-v0", num_envs=2, render_mode="rgb_array")
    many.reset(seed=0)
    assert many.render()[0].shape == first.shape
    with pytest.raises(vt.InputError, match="render_mode"):
        vg.Env(vg.tasks.cart_pole()).render()
    with pytest.raises(vt.UnknownNameError, match="rgb_array"):
        vg.Env(vg.tasks.cart_pole(), render_mode="ansi")


def test_gymnasium_makes_environments_that_draw_and_writes_their_specification():
    pytest.importorskip("matplotlib")
    env = gymnasium.make("vitree.gym:vitree/CartPole-v0", render_mode="rgb_array", max_episode_steps=3)
    env.reset(seed=0)
    assert env.render().shape[2] == 3
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    np.testing.assert_array_equal(again.reset(seed=0)[0], env.reset(seed=0)[0])
    short = gymnasium.make("vitree/CartPole-v0", duration=0.04)
    short.reset(seed=0)
    assert [short.step(0)[3] for _ in range(2)] == [False, True]


def test_a_page_shows_the_robot(monkeypatch):
    pytest.importorskip("viser")
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    env = vg.Env(vg.tasks.cart_pole(), render_mode="human")
    env.reset(seed=0)
    env.step(1)
    assert opened == [env._picture.url]
    env.close()


# ---- arguments ------------------------------------------------------------------------------------------


def test_wrong_arguments_are_told():
    task = pendulum()
    for wrong, kind, text in (
        ({"autoreset_mode": "Later"}, vt.UnknownNameError, "SameStep"), ({"dtype": np.int32}, vt.InputError, "float32"),
        ({"dtype": "real"}, vt.InputError, "float32"), ({"num_envs": 0}, vt.InputError, "num_envs"),
        ({"dt": 0.1}, vt.InputError, "dataclasses.replace"), ({"threads": 0}, vt.InputError, "threads"),
    ):  # fmt: skip
        with pytest.raises(kind, match=text):
            vg.VectorEnv(task, **{"num_envs": 2, **wrong})
    for wrong, kind, text in (
        ({"observe": ["speed"]}, vt.UnknownNameError, "joint_velocities"), ({"observe": []}, vt.InputError, "observe"),
        ({"observe": {"q": "much"}}, vt.InputError, "observe"), ({"observe": {"q": [1, 2, 3]}}, vt.InputError, "2 of"),
        ({"observe": ["base_position"]}, vt.InputError, "free base"),
        ({"observe": ["heights"]}, vt.InputError, "height_scan"),
        ({"observe": ["contacts"]}, vt.InputError, "may touch"), ({"duration": "long"}, vt.InputError, "duration"),
        ({"observe": ["drive_forces"]}, vt.InputError, "no drives"), ({"reward": {}}, vt.InputError, "terms"),
        ({"reward": {"a": 3}}, vt.InputError, r'reward\["a"\]'),
        ({"reward": {"a": (np.nan, len)}}, vt.InputError, "weight"),
        ({"terminated": {"a": 1}}, vt.InputError, r'terminated\["a"\]'),
        ({"pose": {"knee": 1.0}}, vt.UnknownNameError, "knee"),
        ({"pose": [1.0]}, vt.InputError, "pose"), ({"action_scale": -1.0}, vt.InputError, "action_scale"),
        ({"action_scale": {"knee": 1.0}}, vt.UnknownNameError, "knee"),
        ({"choices": [[1.0]]}, vt.InputError, r"\(n, 2\)"),
        ({"command": 1.0}, vt.InputError, "Command"), ({"randomization": {}}, vt.InputError, "Randomization"),
        ({"height_scan": vg.HeightScan(x=0, y=0)}, vt.InputError, "free base"), ({"model": 3}, vt.InputError, "model"),
        ({"contacts": ["foot"]}, vt.UnknownNameError, "foot"), ({"options": 3}, vt.InputError, "options"),
    ):  # fmt: skip
        with pytest.raises(kind, match=text):
            vg.VectorEnv(pendulum(**wrong), 2)
    with pytest.raises(vt.UnknownNameError, match="frame_skip"):
        vg.VectorEnv(task.model, 2, dt=0.1, reward=len, frame_skips=3)
    env = vg.VectorEnv(vg.tasks.cart_pole(), 2)
    env.reset(seed=0)
    for wrong in ([0, 2], [[0], [1]], [0.5, 1]):
        with pytest.raises(vt.InputError, match=r"whole numbers from 0 to 1"):
            env.step(wrong)
    with pytest.raises(vt.UnknownNameError, match="reset_mask"):
        env.reset(options={"mask": [True, False]})
    with pytest.raises(vt.UnknownNameError, match="command"):
        env.reset(options={"command": {"x": 1.0}})


def test_state_is_untouched_by_wrong_actions():
    env = vg.VectorEnv(pendulum(), 2)
    env.reset(seed=0)
    before = env.q, env.v, env.t
    for wrong in (np.zeros((2, 3)), np.full((2, 2), np.nan), "much"):
        with pytest.raises(vt.InputError):
            env.step(wrong)
    for a, b in zip(before, (env.q, env.v, env.t), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_task_is_changed_by_replace():
    task = dataclasses.replace(vg.tasks.cart_pole(), duration=0.1)
    env = vg.Env(task)
    env.reset(seed=0)
    assert [env.step(k % 2)[3] for k in range(5)] == [False] * 4 + [True]
