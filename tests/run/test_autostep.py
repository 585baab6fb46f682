"""dt="auto": the step keeps the accuracy, is the same each time, and is refused where it makes no sense."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import chain_flat

import vitree as vt
from vitree import vehicles
from vitree.errors import CallableError, InputError
from vitree.run import simulate as autostep
from vitree.run.arguments import RunArguments

WAYS = [
    ("linear-time", {}, 1e-4), ("linear-time", {}, 1e-6), ("midpoint", {}, 1e-5), ("linear-time", {"order": 4}, 1e-7),
    ("midpoint", {"order": 6}, 1e-8), ("gauss", {"order": 4}, 1e-6), ("gauss", {}, 1e-9),
    ("gauss", {"order": 16}, 1e-9), ("rk4", {}, 1e-6), ("rk8", {}, 1e-8),
    ("semi-implicit-euler", {}, 1e-2), ("explicit-euler", {}, 1e-2),
]  # fmt: skip


def chain(n=3, **more):
    return vt.Model(chain_flat(n, **more))


def floating():
    """A body that moves freely, with a ball joint and a slider on it."""
    tree = vt.Tree("floating")
    base = tree.world.add(vt.free("base"), vt.body("hull", 2.0, (0.2, 0.3, 0.4)))
    base.add(vt.ball("wrist"), vt.tz(-0.4), vt.body("arm", 0.5, (0.02, 0.03, 0.04)))
    return tree.compile()


def auto(model, *start, duration=0.5, **more):
    return vt.simulate(model, *start, duration=duration, dt="auto", **more)


def error_of(model, run, *start):
    """The largest error of a run's configurations [rad, m], against a tight solution."""
    truth = vt.simulate(model, *start, duration=run.t[-1], dt=run.dt, method="scipy-dop853", rtol=1e-12, atol=1e-12)
    return max(np.linalg.norm(model.difference(a, b)) for a, b in zip(truth.q, run.q, strict=True))


@pytest.mark.parametrize(("method", "options", "accuracy"), WAYS)
@pytest.mark.parametrize("name", ["chain", "floating"])
def test_a_short_run_is_as_accurate_as_asked(name, method, options, accuracy):
    """And no more accurate than it need be, unless the steps are the longest."""
    model = chain(2) if name == "chain" else floating()
    rng = np.random.default_rng(3)
    start = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv)), 0.5 * rng.normal(size=model.nv)
    run = auto(model, *start, method=method, accuracy=accuracy, **options)
    found, told = error_of(model, run, *start), run.settings["auto"]
    assert found < 3 * accuracy
    assert told["error"] <= accuracy and told["accuracy"] == accuracy and told["trial"] == pytest.approx(0.5)
    order = options.get("order", vt.METHODS[method].order)
    if order in (2, 4) and run.steps > 64:
        assert found > accuracy / 10


def test_the_choice_is_repeated_and_a_run_with_that_number_has_the_same_bits():
    model, q = chain(), np.full(3, 0.8)
    one, two = (auto(model, q, accuracy=1e-5, record_every=5) for _ in range(2))
    same = vt.simulate(model, q, duration=0.5, dt=one.dt, record_every=5)
    for other in (two, same):
        assert other.q.tobytes() == one.q.tobytes() and other.dt == one.dt
    assert round(0.5 / one.dt) * one.dt == pytest.approx(0.5, rel=1e-14)
    assert len(one.t) == one.steps // 5 + 1
    assert "auto" not in same.settings


def test_a_run_goes_on_with_the_chosen_step(tmp_path):
    model, q = chain(), np.full(3, 0.8)
    auto(model, q, accuracy=1e-4).save(tmp_path / "half.npz")
    half = vt.Trajectory.load(tmp_path / "half.npz")
    rest = half.resume(0.5, model=model)
    whole = vt.simulate(model, q, duration=1.0, dt=half.dt)
    assert rest.dt == half.dt
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()


def test_a_long_run_is_tried_over_its_first_part():
    model = chain()
    asked = []
    def torque(t, q, v):
        asked.append(t)
        return np.zeros(3)
    run = auto(model, np.full(3, 0.3), duration=10.0, accuracy=1e-3, control=torque)
    assert run.settings["auto"]["trial"] == pytest.approx(2.0, rel=0.05)
    first_of_run = len(asked) - asked[::-1].index(min(asked[-run.steps :])) - 1
    assert max(asked[:first_of_run]) < 2.2 < 9.9 < max(asked)
    assert run.settings["auto"]["steps"] < run.steps
    run = auto(model, np.full(3, 0.01), duration=400.0, accuracy=1e-1)
    assert run.settings["auto"]["trial"] == pytest.approx(4.0, rel=0.05)


def test_steps_that_fail_are_too_long():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    start = model.neutral() + 1.0, np.array([12.0, -24.0])
    with pytest.raises(vt.ConvergenceError):
        vt.simulate(model, *start, duration=0.8, dt=0.05, max_halvings=0)
    for halvings in (0, 3):  # steps in halves of 2 h and h would be the same, and agree
        run = auto(model, *start, duration=0.8, accuracy=1e-2, max_halvings=halvings)
        assert run.settings["halved"] == 0 and error_of(model, run, *start) < 1e-2


def test_impacts_are_of_order_one():
    """A ball falls on the ground after 0.14 s or more: its bounce is as exact as asked."""
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.004,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), vt.Ground(restitution=0.5))
    model = tree.compile()
    q = model.neutral()
    for height, accuracy in ((0.2, 1e-2), (0.2, 1e-3), (0.27, 1e-4)):  # the last strikes as a step of two trials ends
        q[2] = height
        run = auto(model, q, duration=0.25, accuracy=accuracy)
        fall = np.sqrt(2 * (height - 0.1) / 9.81)
        t = 0.25 - fall
        exact = 0.1 + 0.5 * 9.81 * fall * t - 9.81 / 2 * t * t
        assert abs(run.q[-1, 2] - exact) < 3 * accuracy


def test_pushes_after_the_trial_are_left_to_the_run():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    late, early = (vt.Impulse(model.link_names[-1], (0.1, 0.0, 0.0), at=t) for t in (4.0, 0.3))
    q = model.neutral() + 0.2
    one = auto(model, q, duration=5.0, accuracy=1e-3, wrenches=[late])
    assert one.dt == auto(model, q, duration=5.0, accuracy=1e-3).dt
    assert auto(model, q, accuracy=1e-3, wrenches=[early]).steps > 0


def test_vehicles_and_reduced_models_and_what_rests():
    boat = vehicles.boat()
    assert error_of_two(boat, auto(boat, None, np.full(boat.nv, 0.3), accuracy=1e-5)) < 1e-5
    model = chain(2, gravity=(0.0, 0.0, 0.0))
    rest = auto(model)
    assert rest.settings["auto"]["error"] == 0 and rest.steps <= 2 * autostep.LEAST


def error_of_two(model, run):
    """The largest change of a run's configurations with steps of half the length."""
    fine = vt.simulate(model, run.q[0], run.v[0], duration=run.t[-1], dt=run.dt / 2, record_every=2)
    return max(np.linalg.norm(model.difference(a, b)) for a, b in zip(run.q, fine.q, strict=True))


@pytest.mark.parametrize(("more", "words"), [
    ({"dt": 0.01, "accuracy": 1e-4}, 'requires dt="auto"'),
    ({"dt": None, "accuracy": 1e-4}, 'requires dt="auto"'),
    ({"dt": "automatic"}, 'or dt="auto"'),
    ({"accuracy": 1e-14}, "from 1e-13 to 0.1"),
    ({"accuracy": 1.0}, "from 1e-13 to 0.1"),
    ({"accuracy": np.nan}, "from 1e-13 to 0.1"),
    ({"accuracy": "small"}, "from 1e-13 to 0.1"),
    ({"duration": None}, "duration=None must be a positive number"),
    ({"duration": np.inf}, "duration=inf must be a positive number"),
    ({"method": "scipy-rk45"}, "chooses its own.*rtol="),
    ({"adapt": "density"}, "chooses its own"),
    ({"control": vt.Control(inputs=np.zeros((50, 0)))}, "inputs that have a row for each step"),
    ({"control": vt.Control(inputs={"push": np.zeros(50)})}, "inputs that have a row for each step"),
    ({"control": vt.Control(targets=np.zeros((50, 1)))}, "targets that have a row for each step"),
    ({"control": vt.Control(prescribed={"joint0": np.zeros(51)})}, "prescribed that have a row for each step"),
    ({"control": vt.Controller(lambda t, q, v: -v, period=0.01)}, "Controller as torque"),
    ({"q1": np.zeros(3)}, "q1, which is one step later"),
    ({"record_every": 0}, "every=0 must be a whole number"),
    ({"order": 3}, "order=3"),
    ({"accuracy": 1e-13, "duration": 0.3},
     "no step of the method linear-time, of order 2, reaches accuracy=1e-13.*order=.*gauss"),
    ({"accuracy": 1e-13, "method": "explicit-euler"}, "of order 1, reaches accuracy=1e-13.*linear-time"),
])  # fmt: skip
def test_bad_input(more, words):
    with pytest.raises(InputError, match=words):
        vt.simulate(chain(), **{"q0": np.full(3, 0.8), "duration": 0.1, "dt": "auto", **more})


def test_names_of_monitors_are_checked_before_the_trials():
    asked = []
    with pytest.raises(vt.UnknownNameError):
        auto(chain(), monitors="enrgy", control=lambda t, q, v: asked.append(t) or np.zeros(3))
    assert not asked


def test_a_function_that_fails_in_a_trial_leaves_no_trajectory():
    """That of the trial would not be the run's."""
    def torque(t, q, v):
        if t > 0.2:
            raise ValueError("late")
        return np.zeros(3)
    with pytest.raises(CallableError, match="late") as caught:
        auto(chain(), np.full(3, 0.8), control=torque)
    assert getattr(caught.value, "trajectory", None) is None


def test_compare_chooses_for_each_method():
    model, q = vt.load_urdf(vt.find_robot("double_pendulum")), [0.5, 0.3]
    found = vt.compare(model, ["midpoint", "rk4"], q, duration=0.5, dt=["auto", 0.01], accuracy=1e-5)
    rows = {(row["label"], row["dt"]): row for row in found.table}
    assert len(rows) == 4
    for method in ("midpoint", "rk4"):
        own = auto(model, q, method=method, accuracy=1e-5).dt
        assert rows[method, own]["error"] < 2e-5
    assert found.settings["auto"] == {"accuracy": 1e-5}
    alone = vt.compare(model, "rk4", q, duration=0.5, dt="auto", accuracy=1e-5, reference=False)
    assert [row["dt"] for row in alone.table] == [own]


@pytest.mark.parametrize(("more", "words"), [
    ({"dt": 0.01, "accuracy": 1e-5}, 'requires dt="auto"'),
    ({"dt": ["auto", "auto"]}, 'one may be "auto"'),
    ({"dt": ["auto", "often"]}, 'one may be "auto"'),
    ({"dt": []}, 'one may be "auto"'),
    ({"dt": "auto", "record_every": 10**6}, "is more than the steps"),
    ({"dt": "auto", "methods": ["scipy-rk45"]}, "chooses its own"),
    ({"dt": "auto", "methods": [("rk4", {"accuracy": 1e-3})]}, "is the same for all methods"),
])  # fmt: skip
def test_bad_input_of_compare(more, words):
    with pytest.raises(InputError, match=words):
        vt.compare(chain(), **{"methods": ["rk4"], "q0": np.full(3, 0.8), "duration": 0.1, **more})


def test_the_command_line_tells_the_step(tmp_path, monkeypatch, capsys):
    from vitree import cli

    monkeypatch.chdir(tmp_path)
    assert cli.main("simulate double_pendulum --dt auto --accuracy 1e-4 -T 0.5 -o run.npz".split()) == 0
    run = vt.Trajectory.load("run.npz")
    assert f"dt = {run.dt:.6g} s was chosen" in capsys.readouterr().out
    assert run.settings["auto"]["accuracy"] == 1e-4


def test_a_method_without_a_step_is_a_row_of_a_comparison():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    methods = ["explicit-euler", "gauss"]
    found = vt.compare(model, methods, [1.0, 0.5], duration=0.5, dt="auto", accuracy=1e-9)
    rows = {row["label"]: row for row in found.table}
    assert rows["explicit-euler"]["status"] == "no step"
    assert "accuracy" in rows["explicit-euler"]["reason"]
    assert rows["gauss"]["status"] == "ok"
    assert rows["gauss"]["error"] < 1e-9
    assert "no step" in str(found)
    with pytest.raises(vt.InputError, match="explicit-euler"):
        vt.compare(model, ["explicit-euler"], [1.0, 0.5], duration=0.5, dt="auto", accuracy=1e-9)


def test_a_simulation_that_is_held_takes_a_number():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    with pytest.raises(vt.InputError, match="whole run"):
        vt.Simulation(model, dt="auto")


def search(method="linear-time", duration=1.0, **more):
    model = vt.load_urdf(vt.find_robot("pendulum"))
    given = RunArguments(q0=model.neutral(), dt="auto", duration=duration, method=method, **more)
    return autostep._Search(model, model.methods[method], given.but(t0=0.0, wrenches=()), None)


@pytest.mark.parametrize("duration", [0.3, 1.0, 2.0, 7.7, 1000.0])
def test_steps_of_trials_and_of_the_run_are_no_longer_than_asked(duration):
    found = search(duration=duration)
    assert found.trial == pytest.approx(min(duration, max(2.0, 0.01 * duration)))
    for h in found.trial / np.array([16, 17.5, 100, 999.9, 12345.6]):
        count, pieces = found._counts(h)
        step = duration / count
        assert step <= h * (1 + 1e-9) and 0 < 2 * pieces <= count
        every = autostep._every(pieces)
        assert pieces % every == 0 and pieces // every < 3 * autostep.RECORDS
        assert every == 1 or pieces // every >= autostep.RECORDS
        # no more steps than that needs, but for whole numbers of records
        assert step > h * (1 - (1 + 2 * every) / count) and 2 * pieces * step > 0.9 * found.trial - 4 * every * step
        if duration == found.trial:
            assert count == 2 * pieces


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_step_is_the_one_at_which_the_error_is_what_is_asked_for(order, accuracy, size):
    """Of a method whose error is size h^order."""
    method = {1: "explicit-euler", 2: "linear-time", 4: "rk4"}[order]
    found = search(method, duration=200.0, accuracy=accuracy)
    found._difference = lambda h, pieces: size * (2.0**order - 1) * h**order
    best = (accuracy / size) ** (1 / order)
    shortest, longest = found.trial / autostep.MOST, found.trial / autostep.LEAST
    if best < 2 * shortest:
        with pytest.raises(vt.InputError, match=rf"^no step of the method {method}, of order {order}, reaches"):
            found.choice()
        return
    choice = found.choice()
    assert choice.error == pytest.approx(size * choice.dt**order, rel=0.05)
    assert 0.3 * min(best, longest) < choice.dt < min(best, longest) * 1.01
    count = 200.0 / choice.dt
    assert count == pytest.approx(round(count), rel=1e-12)


def test_methods_that_are_advised_are_of_a_higher_order():
    for name, kind in vt.METHODS.items():
        if "rtol" in kind.options:
            continue
        found = search(name)
        text = str(found._failure(np.inf))
        for other, each in vt.METHODS.items():
            better = "rtol" not in each.options and each.order > kind.order
            assert (f'method="{other}"' in text) == better, (name, other)
        assert ("a smaller tolerance=" in text) == ("tolerance" in kind.options)
        assert "a larger accuracy=" in text and "no trial could be solved" in text
        assert "the least error found is 0.25, with steps of" in str(found._failure(0.25))


def test_methods_that_do_not_say_their_order_are_of_the_first(monkeypatch):
    class Plain(vt.Integrator):
        name = "plain"

        def _step(self, t, q, x):
            return q, x

    monkeypatch.setitem(vt.METHODS, "plain", Plain)
    assert 'method="rk4"' in (text := str(search("explicit-euler")._failure(1.0))) and 'method="plain"' not in text
