"""The action after a pass of the solver: a pure function of plain numbers."""

from __future__ import annotations

import itertools
import math

import pytest

from vitree._core import scalar

CORE = scalar()
NAMES = {value: name for name, value in CORE.ACTIONS.items()}
SOLVERS = ("auto", "recursive-newton", "newton", "modified-newton", "broyden", "riqn")


PASS = {"k": 0, "most": 30, "error": 1e-5, "error_before": 1.0, "goal": 1e-9, "scale": 1.0, "rings": 0, "turned": 0,
        "required_signs": 2, "signs_ok": 1}  # fmt: skip
ECONOMY = {"have": 1, "reused": 0, "age": 1, "aged": 0, "contraction": 0.01, "newton_constant": 1.0, "first": 1.0}
COSTS = {"correction": 1.7, "factor": 1.9}


def action(solver="auto", **changed):
    """The name of the action, where some of the numbers above are changed."""
    parts = [{name: changed.pop(name, value) for name, value in part.items()} for part in (PASS, ECONOMY, COSTS)]
    assert not changed
    return NAMES[CORE.action_after({"solver": CORE.SOLVERS[solver], **parts[0]}, *parts[1:])]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_residual_at_the_goal_is_the_end(solver):
    """At any pass, the last one included."""
    for k, error in itertools.product((0, 1, 30), (0.0, 0.5e-9, 1e-9)):
        assert action(solver, k=k, error=error) == "done"
        assert action(solver, k=k, error=1.0000001e-9) != "done"


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solution_on_another_branch_is_none(solver):
    """Whatever the residual."""
    for k, error in itertools.product((1, 29, 30), (0.0, 1e-9)):
        assert action(solver, k=k, error=error, signs_ok=0) == "fail"
    assert action(solver, k=1, error=1e-3, error_before=1e-2, signs_ok=0) in ("reuse", "factor")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_what_is_not_a_number_is_never_done(solver, error):
    """Not at any goal either."""
    assert action(solver, error=error) == "fail"
    assert action(solver, error=error, goal=1e300) == "fail"
    assert action(solver, k=7, error=error, error_before=math.nan) == "fail"


@pytest.mark.parametrize("solver", SOLVERS)
def test_passes_are_counted(solver):
    """The last pass may succeed but not go on."""
    assert action(solver, k=29) in ("reuse", "factor")
    assert action(solver, k=30) == "fail"
    assert action(solver, k=30, error=1e-10) == "done"


@pytest.mark.parametrize("solver", ["recursive-newton", "newton"])
def test_newton_factors_at_each_pass(solver):
    assert {action(solver, k=k, have=have) for k in range(30) for have in (0, 1)} == {"factor"}


@pytest.mark.parametrize("solver", ["modified-newton", "broyden", "riqn"])
def test_others_factor_once_a_step(solver):
    """An operator of steps before does not count."""
    assert [action(solver, k=k, have=1) for k in range(4)] == ["factor", "reuse", "reuse", "reuse"]


def test_auto_without_an_operator_factors():
    assert action(have=0) == "factor"


def test_auto_takes_the_cheaper_way():
    """Costs decide: one more correction against a factorisation."""
    # two corrections with the operator, or a factorisation and one or two
    assert action(error=1e-5, contraction=0.01, correction=1.0, factor=2.0) == "reuse"
    assert action(error=1e-5, contraction=0.3, correction=1.0, factor=2.0) == "factor"
    assert action(error=1e-5, contraction=0.3, correction=1.0, factor=20.0) == "reuse"


def test_auto_never_reuses_an_operator_that_hardly_converges():
    """Whatever a factorisation costs."""
    for k, ratio in itertools.product((0, 1), (0.51, 0.9, 2.0)):
        assert action(k=k, error=1e-5, error_before=1e-5 / ratio, contraction=ratio, factor=1e9) == "factor"


def test_an_operator_ages():
    """Its contraction grows with the steps since it was made; behind the first pass the last ratio counts."""
    ages = [action(error=1e-5, contraction=0.001, age=age, factor=3.0) for age in (1, 10, 100, 1000)]
    assert ages[0] == "reuse" and ages[-1] == "factor" and ages == sorted(ages, reverse=True)
    assert action(k=1, error=1e-6, error_before=1e-3, contraction=0.9, age=50) == "reuse"
    assert action(k=1, error=1e-3, error_before=1.5e-3, contraction=1e-6, age=1) == "factor"


def test_equal_numbers_give_equal_verdicts():
    """Nothing is remembered from one call to the next."""
    cases = [{"k": k, "error": 10.0**-e, "age": a} for k in (0, 1, 5) for e in range(3, 9) for a in (1, 9)]
    assert [action(**c) for c in cases] == [action(**c) for c in reversed(cases)][::-1]
