"""Notes of comparisons: when they are there, how many joints and runs they are of, and their numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import vitree as vt
from vitree.run.arguments import count_steps
from vitree.run.compare_notes import friction_notes, spring_notes, warning_notes
from vitree.run.trajectory import OF_LIMITS


def sliders(*numbers):
    """Bodies of 2 kg that slide, each with numbers of its joint."""
    tree = vt.Tree("sliders")
    for k, more in enumerate(numbers):
        tree.world.add(vt.tx(f"x{k}", **more), vt.body(f"b{k}", 2.0))
    return tree


def test_stiff_friction_is_told_with_how_many_joints_it_is_of():
    # the rate of friction f below the velocity e is f/(m e): 100, 50 and 5 per second
    model = sliders(*({"friction": f, "friction_velocity": 0.1} for f in (20.0, 10.0, 1.0))).compile()
    for dt, count, share in ((0.019, 0, 0), (0.021, 1, 2.1), (0.039, 1, 3.9), (0.041, 2, 4.1), (0.41, 3, 41.0)):
        notes = friction_notes(model, model.neutral(), dt)
        assert len(notes) == (count > 0)
        if notes:
            joints = "1 joint is" if count == 1 else f"{count} joints is"
            assert notes[0].startswith(f"The friction of {joints} too stiff for dt = {dt:g} s ({share:.2g} times")
    exact = sliders({"friction": 16.0, "friction_velocity": 0.125}).compile()
    assert friction_notes(exact, np.zeros(1), 2.0**-5) == []  # twice the time in which it acts
    assert friction_notes(sliders({}).compile(), np.zeros(1), 1e3) == []


def test_stiff_springs_are_told():
    tree = sliders({}, {})
    tree.load(vt.JointSpring("x0", 2.0 * 30.0**2, 0.0), vt.JointSpring("x1", 2.0 * 20.0**2, 0.0))
    model = tree.compile()
    assert spring_notes(model, model.neutral(), 0.99 / 30) == []
    (note,) = spring_notes(model, model.neutral(), 1.6 / 30)
    assert note.startswith("A spring is stiff for dt = 0.0533333 s: dt is 1.6 times its 1/frequency.")


@pytest.mark.parametrize(("kind", "tolerance"), [(float, 1e-9), (np.float64, 1e-9), (np.longdouble, 1e-9),
                                                 (np.float32, 1.1920929e-7), (np.float16, 1e-6)])  # fmt: skip
def test_steps_are_whole_within_the_digits_of_times(kind, tolerance):
    """A time of few digits may be off by its rounding, and none by more than a millionth."""
    dt = kind(2.0**-6)
    for off, good in ((0.9, True), (1.1, False)):
        duration = 0.5 * (1 + off * tolerance)
        if good:
            assert count_steps(duration, dt) == 32
        else:
            with pytest.raises(vt.InputError, match=r"take 0.5 s \(32 steps\) or 0.515625 s"):
                count_steps(duration, dt)


def test_warnings_of_runs_are_told_once_with_the_runs_that_have_them():
    def run(*warnings):
        return SimpleNamespace(warnings=warnings)

    own = "Odd at 3 m. Move it. It may fall."
    limits = [f"The limits of {joint} are passed. {OF_LIMITS}" for joint in "ab"]
    runs = {("rk4", 0.1): run(own, limits[0]), ("gauss", 0.2): run(own, limits[1]), ("rk4", 0.2): run()}
    assert warning_notes(runs) == [
        "rk4, dt = 0.1 s; gauss, dt = 0.2 s: Odd at 3 m.", "Move it. It may fall.",
        f"In rk4, dt = 0.1 s and 1 more run: The limits of a are passed. {OF_LIMITS}",
    ]  # fmt: skip
    more = {**runs, ("euler", 1.0): run(limits[0])}
    assert warning_notes(more)[2].startswith("In rk4, dt = 0.1 s and 2 more runs: The limits of a")
    assert warning_notes({("rk4", 0.1): run(limits[1])}) == [f"In rk4, dt = 0.1 s: {limits[1]}"]
    assert warning_notes({("rk4", 0.1): run("Odd")}) == ["rk4, dt = 0.1 s: Odd"]
