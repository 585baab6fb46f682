"""Solvers of optimal control problems, and their solutions."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import scipy.sparse as sp
from scipy import optimize
from scipy.sparse.csgraph import structural_rank

from vitree.arguments import Asked, Keywords, of_kind, real, shown, whole
from vitree.control.program import Motion, Program
from vitree.errors import InputError, MissingExtraError, UnknownNameError
from vitree.threads import one_blas_thread

#: The largest violation of a constraint that counts as none.
FEASIBLE = 1e-8
#: The status and the words of a search that was interrupted.
INTERRUPTED, STOPPED = -100, "the search was interrupted by the keyboard"
#: The cost is scaled for SciPy to be no steeper than this at the guess.
_STEEPEST = 100.0


#: Of a search: its point, the solver's status, that in words, whether it is an optimum, and iterations.
Found = tuple[np.ndarray, int, str, bool, int]


@dataclass(frozen=True, eq=False)
class TranscriptionSolution(Generic[Motion]):
    """The plan that a solver found, and how sound it is.

    Attributes
    ----------
    trajectory : Plan or MotionPlan
        The motion, of a :class:`ControlProblem` or of a :class:`MotionProblem`.
    x : (n,) array
        The problem's variables, in units of the motion.
    cost : float
        In units of its terms.
    success : bool
        Whether the solver says that this is a local optimum, and all constraints hold to 1e-8.
    status : int
        The solver's own code.
    message : str
        The meaning of the status, and the violated constraints if there are any.
    iterations : int
    constraint_violation : float
        The largest amount, in units of its constraint.
    seconds : float [s]
    method : str
    """

    trajectory: Motion
    x: np.ndarray
    cost: float
    success: bool
    status: int
    message: str
    iterations: int
    constraint_violation: float
    seconds: float
    method: str


def solve(
    problem: Program[Motion],
    method: str = "scipy",
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    progress: Callable[[int, float, float], object] | None = None,
    **options: object,
) -> TranscriptionSolution[Motion]:
    """Find a local optimum of a problem.

    Parameters
    ----------
    problem : ControlProblem or MotionProblem
    method : str
        "scipy" (``trust-constr``: an interior point method with sparse factors), or "ipopt" (through ``ipyopt``, the
        extra "control"). Both use exact Jacobians and Hessians.
    tolerance : float [-]
        The largest error of the optimality conditions.
    max_iterations : int
    progress : callable (iteration, cost, violation), optional
        Called after each iteration, with the cost and the largest violation of a constraint at the point it led to.
    **options
        Further options of the solver: ``options`` of scipy.optimize.minimize, or those of IPOPT.

    Returns
    -------
    TranscriptionSolution
        Look at its ``success``. If the solver fails, or Ctrl-C ends it, the solution is the best point that it met:
        the one of least cost among those that satisfy the constraints, or else the one of least violation.

    Raises
    ------
    InputError
        If a tolerance or count is out of its range, or SciPy's solver cannot take the problem.
    UnknownNameError
        If the method is not known.
    MissingExtraError
        If the method is "ipopt", and ipyopt is not installed.
    """
    methods = {"scipy": _scipy, "ipopt": _ipopt}
    of_kind(problem, Program, "problem", "a ControlProblem or MotionProblem")
    if not isinstance(method, str) or method not in methods:
        raise UnknownNameError("method", method, methods)
    if not 0 < real(tolerance) < 1:
        raise InputError(f"the tolerance is {shown(tolerance)}; it must be between 0 and 1")
    if (most := whole(max_iterations)) is None or most < 1:
        raise InputError(f"max_iterations is {shown(max_iterations)}; it must be a whole number of at least 1")
    told = None if progress is None else Asked(progress, "progress", "(iteration, cost, violation)", timed=False)
    best, begun = _Best(problem, told), time.perf_counter()
    try:
        x, status, text, optimal, iterations = methods[method](problem, best, real(tolerance), most, options)
    except KeyboardInterrupt:
        x, status, text, optimal, iterations = best.x, INTERRUPTED, STOPPED, False, best.iterations
    best.consider(x)
    off = problem.violation(x)
    success = optimal and off <= FEASIBLE
    if optimal and not success:
        text += f"; its point violates the constraints by {off:.3g}, so this is the best point that it met"
    if not success:
        x = best.x
    violated = [f"{name} by {amount:.3g}" for name, amount in problem.violations(x) if amount > FEASIBLE]
    message = text + ("; violated: " + ", ".join(violated) if violated else "")
    return TranscriptionSolution(
        problem.trajectory(x), x, problem.objective(x), success, status, message, iterations,
        problem.violation(x), time.perf_counter() - begun, method,
    )  # fmt: skip


class _Best:
    """The best of all points that a solver has visited; it reports each iteration."""

    def __init__(self, problem: Program[Any], told: Asked | None):
        self._problem, self.x, self._rank = problem, problem.x0, (np.inf, np.inf)
        self._told, self.iterations = told, 0
        self.consider(problem.x0)

    def tell(self, iteration: int, cost: float, violation: float) -> None:
        self.iterations = iteration
        if self._told is not None:
            self._told(iteration, cost, violation)

    def consider(self, x: np.ndarray) -> None:
        if np.isfinite(x).all():
            rank = max(self._problem.violation(x), FEASIBLE), self._problem.objective(x)
            if rank < self._rank:
                self.x, self._rank = x.copy(), rank


def _scipy(problem: Program[Any], best: _Best, tolerance: float, max_iterations: int, options: Keywords) -> Found:
    zeros = np.zeros(problem.constraint_bounds.shape[1])
    # The solver's barrier and tolerance are absolute, but an integral over many steps is small in each variable.
    scale = _STEEPEST / max(1.0, np.abs(problem.gradient(problem.x0)).max(initial=0.0))

    def symmetric(L: sp.csr_array) -> sp.csr_array:
        return L + sp.tril(L, -1).T

    def callback(x: np.ndarray, state: optimize.OptimizeResult) -> None:
        best.consider(x)
        best.tell(int(state.nit), problem.objective(x), problem.violation(x))

    # The solver's sparse factors may crash on Jacobians that are singular by structure.
    equations = problem.jacobian(problem.x0)[problem.constraint_bounds[0] == problem.constraint_bounds[1]]
    equations.eliminate_zeros()
    missing = equations.shape[0] - structural_rank(equations)
    if missing:
        raise InputError(
            f'the inputs do not reach {missing} of the equations at the guess, and the method "scipy" needs them all: '
            'leave coordinates of the goal free that cannot be driven, give another guess, or take the method "ipopt"'
        )

    constraints = optimize.NonlinearConstraint(
        problem.constraints,
        *problem.constraint_bounds,
        jac=problem.jacobian,
        hess=lambda x, multipliers: symmetric(problem.hessian(x, multipliers, 0.0)),
    )
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # the result says the same
        found = optimize.minimize(
            lambda x: scale * problem.objective(x),
            problem.x0,
            jac=lambda x: scale * problem.gradient(x),
            hess=lambda x: symmetric(problem.hessian(x, zeros, scale)),
            constraints=[constraints],
            bounds=optimize.Bounds(*problem.bounds, keep_feasible=problem.strict),
            method="trust-constr",
            callback=callback,
            options={"maxiter": max_iterations, "gtol": tolerance, "xtol": 1e-12} | options,
        )
    text = f"trust-constr: {found.message} (status {found.status}, optimality {found.optimality:.1g})"
    # Status 2 says that steps have become too small, as they do where round-off ends them.
    optimal = found.status == 1 or (found.status == 2 and found.optimality <= 100 * tolerance)
    return found.x, int(found.status), text, optimal, int(found.nit)


#: IPOPT's codes that are worth a word.
_IPOPT = {
    0: "solved",
    1: "solved to an acceptable level only",
    2: "converged to a point of local infeasibility",
    3: "the search direction has become too small",
    4: "iterates diverge",
    -1: "the most iterations are reached",
    -2: "restoration of feasibility failed",
    -3: "the step cannot be computed",
    -10: "not enough degrees of freedom",
    -12: "an option is not valid",
    -13: "a function gave a number that is not finite",
}


def _ipopt(problem: Program[Any], best: _Best, tolerance: float, max_iterations: int, options: Keywords) -> Found:
    try:
        import ipyopt
    except ImportError:
        raise MissingExtraError("ipyopt", "control", 'the method "ipopt"') from None

    x0, (lower, upper) = problem.x0.copy(), problem.constraint_bounds
    J, H = problem.jacobian(x0).tocoo(), problem.hessian(x0, np.zeros(len(lower))).tocoo()

    # An exception must not pass through IPOPT: it is kept, and IPOPT meets numbers that are not finite.
    raised: list[BaseException] = []

    def guarded(function: Callable[..., object], failed: object = np.nan) -> Callable[..., object]:
        def called(*arguments: object) -> object:
            try:
                if not raised:
                    return function(*arguments)
            except BaseException as error:
                raised.append(error)
            if isinstance(arguments[-1], np.ndarray) and failed is None:
                arguments[-1][:] = np.nan
            return failed

        return called

    def gradient(x: np.ndarray, out: np.ndarray) -> None:
        best.consider(x)
        out[:] = problem.gradient(x)

    def constraints(x: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.constraints(x)

    def jacobian(x: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.jacobian(x).data

    def hessian(x: np.ndarray, multipliers: np.ndarray, cost: float, out: np.ndarray) -> None:
        out[:] = problem.hessian(x, multipliers, cost).data

    def iteration(mode: int, count: int, cost: float, violation: float, *others: object) -> bool:
        best.tell(count, cost, violation)
        return True

    solver = ipyopt.Problem(
        len(x0),
        *problem.bounds,
        len(lower),
        lower,
        upper,
        (J.row, J.col),
        (H.row, H.col),
        guarded(problem.objective),
        guarded(gradient, None),
        guarded(constraints, None),
        guarded(jacobian, None),
        guarded(hessian, None),
        guarded(iteration, False),
        ipopt_options={
            "tol": tolerance,
            "constr_viol_tol": FEASIBLE / 1000,
            "acceptable_iter": 0,
            "bound_relax_factor": 0.0,
            "max_iter": max_iterations,
            "print_level": 0,
            "sb": "yes",
        }
        | dict(problem.ipopt)
        | options,
    )
    with _kept_interrupts(raised):
        x, _, status = solver.solve(x0)
    if raised:
        raise raised[0]
    text = f"IPOPT: {_IPOPT.get(status, 'failed')} (status {status})"
    return x, int(status), text, status == 0, int(solver.stats["n_iter"])


@contextmanager
def _kept_interrupts(raised: list[BaseException]) -> Iterator[None]:
    """Keep Ctrl-C in a list; the second one raises."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return

    def keep(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        raised.append(KeyboardInterrupt())

    signal.signal(signal.SIGINT, keep)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
