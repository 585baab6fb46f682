"""The variational integrators: linear-time (Lee et al. 2016) and midpoint (Johnson & Murphey 2009)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from vitree._core import scalar
from vitree.arguments import Keywords, entries, real
from vitree.errors import InputError
from vitree.integrators.base import acting, serving
from vitree.integrators.compiled import NOT_CONVERGED, CompiledIntegrator, reusable
from vitree.integrators.composition import SHARES, TOLERANCES
from vitree.integrators.options import EVENTS, alpha_of, events_of, one_of, solving, whole_from
from vitree.mechanism.flat import SEVERAL
from vitree.mechanism.loads import CONSERVATIVE
from vitree.model.dynamics import heaviest_load, spring_rate
from vitree.wording import quoted

SOLVERS = scalar().SOLVERS
GUESSES = scalar().GUESSES
#: Solvers that do not follow how the operator changes within a step.
INEXACT = ("modified-newton", "broyden", "riqn")
#: Schemes by which steps adapt themselves to the motion.
ADAPTATIONS = scalar().ADAPTATIONS

_OPTIONS = {
    "solver": "one of auto, recursive-newton (exact direction at each pass, in O(n)), newton (the same by a dense "
    "matrix), modified-newton (one exact factorisation a step), broyden (updates of it), riqn (impulse-based "
    "quasi-Newton)",
    "guess": "one of auto, current, euler, semi-implicit, aba, extrapolate (the order that did best lately), "
    "extrapolate-2, -3, -4",
    "order": "2 (default), 4, 6 or 8: steps composed of 5, 9 or 17 substeps",
    "max_halvings": "how often a step that cannot be solved is halved (default 3 with the solver auto, else 0)",
    **EVENTS,
    "tolerance": "largest residual accepted, as a share of the momentum (default 1e-9; orders 4 to 8: to 1e-12)",
    "norm": "of the residual: momentum, its largest entry, or energy, in which a light joint counts as a heavy one",
    "max_iterations": "most corrections of one step (default 30)",
    "adapt": "density: steps of length dt rate/sqrt(rate^2 + |v|^2), nearly, and reversible; of midpoint also sundman, "
    "which is symplectic; dt is then the step at rest",
    "rate": "with adapt: the speed [1/s] about which steps begin to shorten",
    "density": 'with adapt="density": the step density at the start [1/s] (default sqrt(rate^2 + |v0|^2))',
}
#: The largest velocity between two configurations that a run starts from [m/s or rad/s].
FASTEST = 1e50
#: Values of the option ``norm``.
NORMS = ("momentum", "energy")
#: Of the largest inertia of a joint, the least that counts in the norm of the energy: rounding errors have this size.
LEAST_INERTIA = 1e-12
#: Values of the option ``kinetic`` of linear-time, with what the core calls them.
KINETIC = scalar().FORMS
#: Those of midpoint.
MIDDLES = ("relative", "midpoint")
#: Values of the option ``springs``.
SPRINGS = ("nodes", "averaged")
#: Options that go with ``adapt``.
_MORE = ("rate", "density", "inertia", "energy")


#: What a joint may carry, as a multiple of the mass of its body, before a failed step names it.
BURDEN = 1e3


@functools.lru_cache
def _moments(shares: tuple[float, ...]) -> np.ndarray:
    """Where steps composed of substeps ask for prescribed motion: where these begin, and in their middles."""
    bounds = np.concatenate(([0.0], np.cumsum(shares)[:-1], [1.0]))
    found = np.column_stack((bounds[:-1], 0.5 * (bounds[:-1] + bounds[1:]))).ravel()
    found.flags.writeable = False
    return found


class Variational(CompiledIntegrator):
    """Base of the variational integrators and implicit Euler: the state is (q, p), and a step solves for the next q.

    A step ends when the residual is below ``tolerance`` times the largest momentum or impulse. The
    residual is carried into p, so that momentum is kept to round-off at any tolerance.
    """

    uses_momentum = True

    @property
    def asks_midway(self) -> bool:  # type: ignore[override]
        """Whether the user's functions are asked once, at the predicted middle of a step: not in compositions."""
        return self.order <= 2
    order = 2
    symplectic = True
    conserves_momentum = True
    options: ClassVar[Mapping[str, str]] = _OPTIONS
    iterates = True
    #: the option ``norm`` where it is not given
    default_norm: str = "momentum"
    #: values of the option ``adapt``
    adaptations: ClassVar[tuple[str, ...]] = ("density",)

    def _remedy(self, status: int = NOT_CONVERGED, share: float = 1.0) -> str:
        found = heaviest_load(self.model)
        if found is None or found[2] < BURDEN * found[1]:
            return super()._remedy(status, share)
        joint, own, carried = found
        return (
            f'give "{joint}" and other joints of light bodies armature= (its body of {own:.3g} kg carries '
            f"{carried:.3g} kg, which a smaller dt hardly helps), or " + super()._remedy(status, share)
        )

    def _solver_options(self) -> Keywords:
        chosen = self.chosen
        solver, guess = chosen.get("solver", "auto"), chosen.get("guess", "auto")
        one_of("solver", solver, SOLVERS)
        one_of("guess", guess, GUESSES)
        if solver in INEXACT and self.model.friction.any():
            self.remedy = 'take solver="auto": this solver does not follow friction'
        order = chosen.get("order", 2)
        if real(order) not in SHARES:
            raise InputError("order", order, f"must be one of {', '.join(map(str, SHARES))}", choices=SHARES)
        if "order" in self.options:
            self.order = order
        if self.order > 2 and (self.model.friction.any() or self.model.damping.any()):
            self.beside = (
                "; or take order=2: substeps back in time have no solution where damping or friction stops a "
                "joint within about the substep"
            )
        self._require_plain_steps()
        solved = solving(chosen, TOLERANCES[order])
        halvings = chosen.get("max_halvings", 3 if solver == "auto" else 0)
        events, shares = events_of(chosen, self.model), SHARES[order]
        self.moments = _moments(shares)
        return {
            "solver": SOLVERS[solver], "guess": GUESSES[guess], "shares": shares,
            "max_halvings": whole_from("max_halvings", halvings, 0,
                                       20), "max_impacts": events, **solved, **self._norm(),
            **self._adaptive_options(),
        }  # fmt: skip

    def _require_plain_steps(self) -> None:
        """Raise an InputError if contacts act in steps of another kind than theirs."""
        if not getattr(self.model, "has_contact", False) or not (self.order > 2 or self.adaptive):
            return
        which, able = " and ".join(acting(self.model)), serving(self.model)
        if self.order > 2:
            raise InputError(
                "order", self.order,
                f'is not for {which}, which "{self.model.name}" has: this order has backward substeps, in which '
                f"contact forces would pull; use order=2. Methods that support them: {able}"
            )
        if self.adaptive:
            raise InputError(
                f'adapt= is not for {which}, which "{self.model.name}" has: steps are equal there; leave it out. '
                f"Methods that support them: {able}"
            )

    def _norm(self) -> Keywords:
        if one_of("norm", self.chosen.get("norm", self.default_norm), NORMS) == "momentum":
            return {}
        inertia = np.diag(self.model.crba(self.model.neutral()))
        if not len(inertia):
            return {}
        return {
            "inertia_scale": np.sqrt(np.maximum(inertia, LEAST_INERTIA * inertia.max())).tolist(),
        }

    def _adaptive_options(self) -> Keywords:
        adapt = self.chosen.get("adapt")
        given = {name: self.chosen[name] for name in _MORE if self.chosen.get(name) is not None}
        if adapt is None:
            if given:
                name, value = next(iter(given.items()))
                raise InputError(f"{name}= requires adapt=, one of {', '.join(self.adaptations)}")
            return {}
        if not isinstance(adapt, str) or adapt not in ADAPTATIONS:
            one_of("adapt", adapt, self.adaptations)
        if adapt not in self.adaptations:
            raise InputError("adapt", adapt, f'is of the method midpoint; {self.name} takes adapt="density"')
        takes = {"density": ("rate", "density"), "sundman": ("rate", "inertia", "energy")}[adapt]
        for name, value in given.items():
            if name not in takes:
                raise InputError(f"{name}= does not go with adapt={quoted(adapt)}, which takes {', '.join(takes)}")
            number = real(value)
            if not np.isfinite(number) or (name != "energy" and number <= 0):
                kind = "finite" if name == "energy" else "positive"
                raise InputError(name, value, f"must be a {kind} number")
        if "rate" not in given:
            raise InputError(
                "adapt", adapt,
                "takes rate=, the speed |v| [1/s] about which steps begin to shorten: at rest they are dt, at |v| "
                "much larger dt rate/|v|"
            )
        if self.model.prescribed_joint_names:
            raise InputError(
                "adapt", adapt,
                "does not know its steps in advance, but prescribed coordinates need them; use equal steps"
            )
        if isinstance(self.inputs, np.ndarray) and self.inputs.ndim == 2:
            raise InputError(
                "adapt", adapt,
                "leaves the number of steps open: give inputs as constants or functions of time, not one row per step"
            )
        return {"adapt": ADAPTATIONS[adapt], **{name: real(value) for name, value in given.items()}}

    @property
    def adaptive(self) -> bool:
        return self.chosen.get("adapt") is not None

    @property
    def adapted(self) -> Keywords:
        density = self.stepper.density_here()
        return {} if density is None else {"density": density}

    @property
    def settings(self) -> Keywords:
        order = {"order": 2} if "order" in self.options else {}
        return {
            "solver": "auto", "guess": "auto", **order, "tolerance": TOLERANCES[self.chosen.get("order", 2)],
            "max_iterations": 30, "norm": self.default_norm, **self.chosen,
        }  # fmt: skip

    def start_between(self, t: float, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        if self.adaptive:
            raise InputError("q1", q1, "is the end of a step of dt, and with adapt= steps differ; start from q0 and v0")
        if self.order > 2:
            raise InputError(
                "q1", q1, f"is the end of a step of order 2; with order={quoted(self.order)} start from q0 and v0"
            )
        q0, q1 = (entries(q, (self.model.nq,), name) for q, name in ((q0, "q0"), (q1, "q1")))
        rate = float(np.abs(self.model.difference(q0, q1)).max(initial=0.0)) / self.dt
        if not rate <= FASTEST:
            raise InputError(
                "q1", q1,
                f"is too far from q0 for a step of {self.dt:g} s: the velocity between them is {rate:.3g} m/s or "
                "rad/s; start from q0 and v0, or nearer"
            )
        return self.stepper.momentum_between(float(t), q0, q1)


@reusable
class LinearTime(Variational):
    """The Lie-group trapezoid, residual and exact Newton direction in O(n), on every joint kind.

    Potentials act half at each node, explicitly: a spring of frequency w [rad/s] needs h w < 2. With
    ``springs="averaged"`` springs, attractions and potentials in Python are taken at means of the nodes and solved for;
    only the tension F of a spring of length l, which swings a mass m from side to side, needs h^2 F < 4 m l then. Joint
    damping, friction and drives are solved for.

    References
    ----------
    Lee, Liu, Park & Srinivasa 2016, "A linear-time variational integrator for multibody systems".
    """

    name = "linear-time"
    touches = True
    rolls = True
    options: ClassVar[Mapping[str, str]] = {
        **_OPTIONS,
        "kinetic": "the discrete kinetic energy of a body: screw (of its average twist, Lee et al. 2016), com (its "
        "centre of mass moves straight and the body turns about it: errors do not grow with the speed of the whole), "
        "or auto (default: com of each tree that a free or a sliding joint at its root carries, screw of others)",
        "springs": "where springs, attractions and potentials in Python act: nodes (half at each node, explicitly; "
        "default), or averaged (at means of the nodes, solved for: dt may be far beyond their 1/frequency)",
    }

    def _prepare(self) -> None:
        self.kinetic = one_of("kinetic", self.chosen.get("kinetic", "auto"), KINETIC)
        trees = self.model._floating
        if self.kinetic == "auto" and len(trees) in (0, sum(np.asarray(self.model.flat.parent) < 0)):
            # the same of all bodies
            self.kinetic = "com" if trees else "screw"
        if self.kinetic != "screw":
            self.default_norm = "energy"
        self.springs = one_of("springs", self.chosen.get("springs", "nodes"), SPRINGS)
        self.stepper = self._make(
            "linear-time", **self._solver_options(), split=KINETIC[self.kinetic],
            averaged=self.springs == "averaged",
        )  # fmt: skip

    def _remedy(self, status: int = NOT_CONVERGED, share: float = 1.0) -> str:
        share = self.dt * spring_rate(self.model, self.stepper.state()[1]) if self.springs == "nodes" else 0.0
        if share > 1:
            return (
                f'give springs="averaged", since springs are stiff (dt is {share:.2g} times their 1/frequency), '
                f"or {super()._remedy(status, share)}"
            )
        return super()._remedy(status)

    @property
    def settings(self) -> Keywords:
        return {"kinetic": self.kinetic, "springs": self.springs, **super().settings}


@reusable
class Midpoint(Variational):
    """Johnson & Murphey's midpoint rule, in O(n).

    On ball and free joints the middle is half way along the exponential map. ``alpha`` places the
    evaluation between the ends of the step; 1/2 is second order, others are first.

    Of each tree that a free or a sliding joint at its root carries, the centre of mass goes from node to node, and the
    bodies' motion relative to it is taken in the middle: the errors are those of the robot at rest, however fast it
    moves or falls as a whole. ``kinetic="midpoint"`` is the rule of the paper, all in the middle.

    References
    ----------
    Johnson & Murphey 2009, "Scalable variational integrators for constrained mechanical systems in
    generalized coordinates".
    """

    name = "midpoint"
    touches = True
    rolls = True
    adaptations = ("density", "sundman")
    options: ClassVar[Mapping[str, str]] = {
        **_OPTIONS,
        "alpha": "where in the step L is taken, 0 to 1 (default 0.5)",
        "kinetic": "where kinetic energy and gravity are taken: relative (of the centre of mass of each tree that a "
        "free or a sliding joint at its root carries from node to node, the rest in the middle; default where there "
        "is one that no constraint ties to the world or to another tree, but for "
        'residual="tree" and adapt="sundman"), or midpoint (all in the middle, as the paper has it)',
        "residual": "recursive, in O(n), or tree: the derivatives of Johnson & Murphey, in O(n^2), "
        "on joints of one coordinate",
        "caching": "whether the tree's derivatives are kept for use again (default True); the paper compares",
        "inertia": 'with adapt="sundman": inertia of the speed of steps, |v|^2 = 2 T/inertia [kg m^2]',
        "energy": 'with adapt="sundman": the energy E of E - V [J] (default: the energy at the start)',
    }

    def _prepare(self) -> None:
        alpha, caching = alpha_of(self.chosen), self.chosen.get("caching", True)
        residual = one_of("residual", self.chosen.get("residual", "recursive"), ("recursive", "tree"))
        if not isinstance(caching, bool):
            raise InputError("caching", caching, "must be True or False")
        if alpha != 0.5 and self.chosen.get("order", 2) != 2:
            raise InputError("alpha", alpha, "is not self-adjoint: compositions (order=) take alpha=0.5")
        turning = [joint.name for joint in self.model.flat.joints if joint.kind in SEVERAL]
        if residual == "tree" and turning:
            names = ", ".join(f'"{name}"' for name in turning)
            raise InputError(
                "residual", "tree",
                f'takes joints of one coordinate, and "{self.model.name}" has the ball or free joints {names}; take '
                '"recursive", or run model.euler(), which has them as Euler angles'
            )
        if self.chosen.get("adapt") is not None and alpha != 0.5:
            raise InputError("alpha", alpha, "is not self-adjoint: adapt= takes alpha=0.5")
        if self.chosen.get("adapt") == "sundman":
            self._require_conservative(turning, residual)
        self.kinetic = self._kinetic(residual)
        if self.relative:
            self.default_norm = "energy"
        kind = "sundman" if self.chosen.get("adapt") == "sundman" else "midpoint"
        self.stepper = self._make(
            kind, **self._solver_options(), alpha=alpha, tree=residual == "tree", caching=caching,
            relative=self.relative,
        )  # fmt: skip

    def _kinetic(self, residual: str) -> str:
        """Return the option ``kinetic``; raise an InputError if the equations chosen are the paper's alone."""
        sundman = self.chosen.get("adapt") == "sundman"
        own, floats = residual == "tree" or sundman, any(not tree.tied for tree in self.model._floating)
        default = "relative" if floats and not own else "midpoint"
        kinetic: str = one_of("kinetic", self.chosen.get("kinetic", default), MIDDLES)
        if kinetic == "relative" and own:
            of = 'adapt="sundman"' if sundman else f"residual={quoted(residual)}"
            raise InputError("kinetic", kinetic, f'is not of {of}; take kinetic="midpoint"')
        return kinetic

    @property
    def relative(self) -> bool:
        """Whether the centres of mass of trees go from node to node."""
        return self.kinetic == "relative" and any(not tree.tied for tree in self.model._floating)

    def _require_conservative(self, turning: Sequence[str], residual: str | None) -> None:
        """Raise an InputError for a system that the discrete action with time in it does not cover."""
        model, sundman = self.model, 'adapt="sundman"'
        energy = sundman + " needs a system that conserves energy; "
        other = '. Take adapt="density"'
        if turning:
            names = ", ".join(f'"{name}"' for name in turning)
            raise InputError(
                f'{sundman} needs joints of one coordinate, and "{model.name}" has the ball or free joints {names}. '
                'Run model.euler(), which has them as Euler angles, or take adapt="density"'
            )
        if residual == "tree":
            raise InputError(f'{sundman} has no equations for residual={quoted(residual)}; take "recursive"')
        for what, values in (("damping", model.damping), ("friction", model.friction)):
            if values.any():
                raise InputError(energy + f'"{model.name}" has {what}' + other)
        if self.torque is not None or self.wrenches:
            raise InputError(energy + f"one driven by {'wrenches' if self.wrenches else 'a torque'} need not" + other)
        for load in model.loads:
            if not isinstance(load, CONSERVATIVE):
                raise InputError(energy + f'"{model.name}" has a load of the kind {type(load).__name__}' + other)
        if self.chosen.get("inertia") is None:
            raise InputError(
                f"{sundman} takes inertia=: steps shorten as sqrt(rate^2 + 2 (E - V)/inertia) grows, E - V being the "
                "kinetic energy"
            )

    @property
    def settings(self) -> Keywords:
        return {"alpha": 0.5, "kinetic": self.kinetic, "residual": "recursive", **super().settings}
