"""The variational integrators: linear-time (Lee et al. 2016) and midpoint (Johnson & Murphey 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from vitree._core import scalar
from vitree.errors import InputError, UnknownNameError
from vitree.integrators.compiled import CompiledIntegrator
from vitree.integrators.composition import SHARES, TOLERANCES
from vitree.mechanism.loads import CONSERVATIVE

SOLVERS: dict[str, int] = scalar().SOLVERS
GUESSES: dict[str, int] = scalar().GUESSES
#: Those that do not follow how the operator changes within a step.
INEXACT = ("frozen", "broyden", "riqn")
#: Schemes by which steps adapt themselves to the motion.
ADAPTATIONS: dict[str, int] = scalar().ADAPTATIONS

_OPTIONS = {
    "solver": "one of auto, recursive-newton (exact direction at each pass, in O(n)), newton (the same by a dense "
    "matrix), frozen (one exact factorisation a step), broyden (updates of it), riqn (impulse-based quasi-Newton)",
    "guess": "one of auto, current, euler, semi-implicit, aba, extrapolate (the order that did best lately), "
    "extrapolate-2, -3, -4",
    "order": "2 (default), 4, 6 or 8: steps composed of 5, 9 or 17 substeps",
    "halvings": "how often a step that cannot be solved is halved (default 3 with the solver auto, else 0)",
    "tolerance": "largest residual accepted, as a share of the momentum (default 1e-9; orders 4 to 8: to 1e-12)",
    "max_iterations": "most corrections of one step (default 30)",
    "adapt": "density: steps of length dt rate/sqrt(rate^2 + |v|^2), nearly, and reversible; of midpoint also sundman, "
    "which is symplectic; dt is then the step at rest",
    "rate": "with adapt: the speed [1/s] about which steps begin to shorten",
    "density": 'with adapt="density": the step density at the start [1/s] (default sqrt(rate^2 + |v0|^2))',
}
#: Those that say more of ``adapt``.
_MORE = ("rate", "density", "inertia", "energy")


class Variational(CompiledIntegrator):
    """What both have in common: the state is (q, p), and a step solves for the next q.

    A step ends when the residual is below ``tolerance`` times the largest momentum or impulse; what
    is left is carried into p, so that momentum is kept to round-off at any tolerance.
    """

    uses_momentum = True
    order = 2
    symplectic = True
    conserves_momentum = True
    options: ClassVar[Mapping[str, str]] = _OPTIONS
    remedy = "halve dt, or give max_iterations= or a looser tolerance="
    #: what ``adapt`` may be
    adaptations: ClassVar[tuple[str, ...]] = ("density",)

    def _solver_options(self) -> dict:
        chosen = self.chosen
        solver, guess = chosen.get("solver", "auto"), chosen.get("guess", "auto")
        if solver not in SOLVERS:
            raise UnknownNameError("solver", solver, SOLVERS)
        if guess not in GUESSES:
            raise UnknownNameError("guess", guess, GUESSES)
        if self.model.friction.any() and solver in INEXACT:
            self.remedy = 'take solver="auto": friction bends the equations more than this solver follows'
        self.order = chosen.get("order", 2)
        if self.order not in SHARES:
            raise InputError(f"order={self.order!r} is not known; choose from {', '.join(map(str, SHARES))}")
        tolerance, most = chosen.get("tolerance", TOLERANCES[self.order]), chosen.get("max_iterations", 30)
        if not (isinstance(tolerance, int | float) and 1e-14 <= tolerance < 1e-2):
            raise InputError(
                f"tolerance={tolerance!r} must be a share of the momentum from 1e-14 (below it rounding rules) to 1e-2"
            )
        if not (isinstance(most, int) and most >= 1):
            raise InputError(f"max_iterations={most!r} must be a whole number, at least 1")
        halvings = chosen.get("halvings", 3 if solver == "auto" else 0)
        if not (isinstance(halvings, int) and 0 <= halvings <= 20):
            raise InputError(f"halvings={halvings!r} must be a whole number from 0 to 20")
        shares = SHARES[self.order]
        bounds = np.concatenate(([0.0], np.cumsum(shares)[:-1], [1.0]))
        self.moments = np.column_stack((bounds[:-1], 0.5 * (bounds[:-1] + bounds[1:]))).ravel()
        return {
            "solver": SOLVERS[solver], "guess": GUESSES[guess], "shares": shares, "halvings": halvings,
            "tolerance": float(tolerance), "max_iterations": most, **self._adaptive_options(),
        }  # fmt: skip

    def _adaptive_options(self) -> dict:
        adapt = self.chosen.get("adapt")
        given = {name: self.chosen[name] for name in _MORE if self.chosen.get(name) is not None}
        if adapt is None:
            if given:
                raise InputError(f"{next(iter(given))}= goes with adapt=, one of {', '.join(self.adaptations)}")
            return {}
        if adapt not in ADAPTATIONS:
            raise UnknownNameError("adapt", adapt, self.adaptations)
        if adapt not in self.adaptations:
            raise InputError(f'adapt="{adapt}" is of the method midpoint; {self.name} takes adapt="density"')
        takes = {"density": ("rate", "density"), "sundman": ("rate", "inertia", "energy")}[adapt]
        for name, value in given.items():
            if name not in takes:
                raise InputError(f'{name}= does not go with adapt="{adapt}"; it takes {", ".join(takes)}')
            number = isinstance(value, int | float | np.floating | np.integer) and np.isfinite(value)
            if not number or (name != "energy" and value <= 0):
                raise InputError(f"{name}={value!r} must be a {'finite' if name == 'energy' else 'positive'} number")
        if "rate" not in given:
            raise InputError(
                f'adapt="{adapt}" takes rate=, the speed |v| [1/s] about which steps begin to shorten: '
                "at rest they are dt, at |v| much larger dt rate/|v|"
            )
        if self.model.kinematic_names:
            raise InputError(f'adapt="{adapt}" does not know its steps beforehand, as prescribed coordinates must; '
                             "take equal steps")  # fmt: skip
        if isinstance(self.inputs, np.ndarray) and self.inputs.ndim == 2:
            raise InputError(f'adapt="{adapt}" does not know how many steps it takes: give inputs as numbers or '
                             "callables of time, not a row a step")  # fmt: skip
        return {"adapt": ADAPTATIONS[adapt], **{name: float(value) for name, value in given.items()}}

    @property
    def adaptive(self):
        return self.chosen.get("adapt") is not None

    @property
    def adapted(self):
        density = self.stepper.density_here()
        return {} if density is None else {"density": density}

    @property
    def settings(self):
        return {
            "solver": "auto", "guess": "auto", "order": 2, "tolerance": TOLERANCES[self.order], "max_iterations": 30,
            **self.chosen,
        }  # fmt: skip

    @property
    def halved(self):
        return self.stepper.halved

    def start_between(self, t, q0, q1):
        if self.adaptive:
            raise InputError("q1 is the end of a step of dt, and with adapt= steps differ; start from q0 and v0")
        if self.order > 2:
            raise InputError(f"q1 is the end of a step of order 2; with order={self.order} start from q0 and v0")
        return self.stepper.momentum_between(float(t), q0, q1)


class LinearTime(Variational):
    """The Lie-group trapezoid, residual and exact Newton direction in O(n), on every joint kind.

    Potentials act half at each node, explicitly: a spring of frequency w [rad/s] needs h w < 2. Joint damping and
    friction are solved for.

    References
    ----------
    Lee, Liu, Park & Srinivasa 2016, "A linear-time variational integrator for multibody systems".
    """

    name = "linear-time"

    def _prepare(self):
        self.stepper = self._make("LinearTimeStepper", **self._solver_options())


class Midpoint(Variational):
    """Johnson & Murphey's midpoint rule, in O(n).

    On ball and free joints the middle is half way along the exponential map. ``alpha`` places the
    evaluation between the ends of the step; 1/2 is second order, others are first.

    References
    ----------
    Johnson & Murphey 2009, "Scalable variational integrators for constrained mechanical systems in
    generalized coordinates".
    """

    name = "midpoint"
    adaptations = ("density", "sundman")
    options: ClassVar[Mapping[str, str]] = {
        **_OPTIONS,
        "alpha": "where in the step L is taken, 0 to 1 (default 0.5)",
        "residual": "recursive, in O(n), or tree: the derivatives of Johnson & Murphey, in O(n^2), "
        "on joints of one coordinate",
        "caching": "whether the tree's derivatives are kept for use again (default True); the paper compares",
        "inertia": 'with adapt="sundman": what makes a speed of the kinetic energy, 2 T/inertia = |v|^2 [kg m^2]',
        "energy": 'with adapt="sundman": the energy that time is measured by [J] (default that of the start)',
    }

    def _prepare(self):
        alpha = self.chosen.get("alpha", 0.5)
        if not (isinstance(alpha, int | float) and 0 <= alpha <= 1):
            raise InputError(f"alpha={alpha!r} must be a number from 0 to 1")
        residual, caching = self.chosen.get("residual", "recursive"), self.chosen.get("caching", True)
        if residual not in ("recursive", "tree"):
            raise UnknownNameError("residual", residual, ("recursive", "tree"))
        if not isinstance(caching, bool):
            raise InputError(f"caching={caching!r} must be True or False")
        if alpha != 0.5 and self.chosen.get("order", 2) != 2:
            raise InputError(f"alpha={alpha!r} is not self-adjoint: compositions (order=) take alpha=0.5")
        turning = [joint.name for joint in self.model.flat.joints if joint.kind in ("ball", "free")]
        if residual == "tree" and turning:
            names = ", ".join(f'"{name}"' for name in turning)
            raise InputError(
                f'residual="tree" takes joints of one coordinate, and "{self.model.name}" has the ball or free joints '
                f'{names}; take "recursive", or run model.euler(), which has them as Euler angles'
            )
        if self.chosen.get("adapt") is not None and alpha != 0.5:
            raise InputError(f"alpha={alpha!r} is not self-adjoint: adapt= takes alpha=0.5")
        if self.chosen.get("adapt") == "sundman":
            self._require_conservative(turning, residual)
        kind = "SundmanStepper" if self.chosen.get("adapt") == "sundman" else "MidpointStepper"
        self.stepper = self._make(
            kind, **self._solver_options(), alpha=float(alpha), tree=residual == "tree", caching=caching
        )

    def _require_conservative(self, turning, residual):
        """Refuse what the discrete action with time in it does not cover."""
        model, say = self.model, 'adapt="sundman" is for conservative systems of one-coordinate joints, and '
        other = '; take adapt="density"'
        if turning:
            names = ", ".join(f'"{name}"' for name in turning)
            raise InputError(f'{say}"{model.name}" has the ball or free joints {names}; run model.euler(), which has '
                             f"them as Euler angles, or take adapt=\"density\"")  # fmt: skip
        if residual == "tree":
            raise InputError(f'{say}residual="tree" has no equations of it; take "recursive"')
        for what, values in (("damping", model.damping), ("friction", model.friction)):
            if values.any():
                raise InputError(f'{say}"{model.name}" has {what}{other}')
        if self.torque is not None or self.wrenches:
            raise InputError(f"{say}{'wrenches' if self.wrenches else 'torque'} need not be{other}")
        for load in model.loads:
            if not isinstance(load, CONSERVATIVE):
                raise InputError(f'{say}"{model.name}" has a load of the kind {type(load).__name__}{other}')
        if self.chosen.get("inertia") is None:
            raise InputError('adapt="sundman" takes inertia=: steps shorten as sqrt(rate^2 + 2 (E - V)/inertia) grows, '
                             "E - V being the kinetic energy")  # fmt: skip

    @property
    def settings(self):
        return {"alpha": 0.5, "residual": "recursive", **super().settings}
