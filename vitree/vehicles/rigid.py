"""RigidVehicle: a vehicle that is one rigid body in space, on SE(3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import _vehicles
from vitree.arguments import Asked, Keywords, entries, explain_calls, mapping
from vitree.errors import ModelError
from vitree.integrators.base import Integrator
from vitree.lie import matrix_from_pose
from vitree.mechanism.flat import Geometry
from vitree.model.broadcasting import finite_result
from vitree.model.system import METHODS_OF
from vitree.spatial.checks import frozen
from vitree.vehicles.base import GRAVITY, Vehicle
from vitree.vehicles.checks import array, not_negative, symmetric


@explain_calls
class RigidVehicle(Vehicle):
    """One rigid body on SE(3) with general inertia, controls and external forces.

    ``q`` is (position, quaternion xyzw) and ``v`` (linear, angular) in body axes, as of a ``free`` joint. But twists
    ``xi`` and wrenches in the arguments are (angular, linear) and (torque, force), in body axes. The equations are

        J dw/dt = J w x w + M v x v + torque,    M dv/dt = M v x w + force.

    Parameters
    ----------
    rotational : number, (3,) or (3, 3) array [kg m^2]
        J, about the body's origin: a multiple of the identity, a diagonal, or a full matrix.
    translational : number, (3,) or (3, 3) array [kg]
        M; not a multiple of the identity if it includes added mass.
    mass : float, optional [kg]
        The mass on which gravity acts, at the body's origin. By default that of M, if M is a multiple of 1.
    gravity : (3,) array [m/s^2]
        In world axes.
    drag : number, (6,) or (6, 6) array, optional
        Symmetric, positive semidefinite: the wrench -drag xi [N m s, N s, N s/m].
    controls : mapping of name to (6,) array, optional
        The wrench (torque, force) of one unit of each input [N m, N].
    force : callable (t, g, xi, u) -> (6,) array, optional
        An additional wrench [N m, N]: t [s], pose g (4, 4), twist xi (6,), inputs u (nu,). Each step calls it.
    force_slope : callable (t, g, xi, u) -> (6, 6) array, optional
        Its derivative by xi [N m s, N s, N s/m]. Without it steps converge more slowly if the force depends on xi.
    name : str
    geometry : sequence of Geometry
        Shapes on the frame "body", for viewers.

    Raises
    ------
    ModelError
        If an inertia or the drag is not symmetric or not positive, or numbers have another shape or a magnitude above
        1e50.

    Notes
    -----
    The momentum p is (M v, J w). The spatial momentum is p, moved to the world's origin. The centre of mass is at the
    body's origin.

    References
    ----------
    Kobilarov, Crane & Desbrun 2009, "Lie group integrators for animation and control of vehicles", section 4.

    Examples
    --------
    >>> import vitree as vt
    >>> from vitree.vehicles import RigidVehicle
    >>> body = RigidVehicle((1.0, 2.0, 3.0), 4.0, gravity=(0, 0, 0))
    >>> run = vt.simulate(body, v0=[0, 0, 0, 0.1, 2.0, 0.1], duration=1.0, dt=0.01)
    >>> bool(abs(run.momentum - run.momentum[0]).max() < 1e-12)
    True
    """

    def __init__(self, rotational: ArrayLike, translational: ArrayLike, *, mass: float | None = None,
                 gravity: ArrayLike = GRAVITY, drag: ArrayLike = 0.0,
                 controls: Mapping[str, ArrayLike] | None = None,
                 force: Callable[..., ArrayLike] | None = None,
                 force_slope: Callable[..., ArrayLike] | None = None, name: str = "vehicle",
                 geometry: Sequence[Geometry] = (),
                 _inputs: Iterable[str] | None = None, _parts: Keywords | None = None):  # fmt: skip
        self.rotational = symmetric(rotational, 3, f'the rotational inertia of "{name}"')
        self.translational = symmetric(translational, 3, f'the translational inertia of "{name}"')
        self._gravity = array(gravity, (3,), f'the gravity on "{name}"')
        self.drag = symmetric(drag, 6, f'the drag of "{name}"', definite=False)
        M = self.translational
        if mass is None:
            if np.any(M[0, 0] * np.eye(3) != M) and self._gravity.any():
                raise ModelError(f'the translational inertia of "{name}" differs by axis and gives no mass for '
                                 f"gravity: give mass=")  # fmt: skip
            mass = M[0, 0]
        self.mass = not_negative(mass, f'the mass of "{name}"')
        controls = mapping(controls, "controls", "a mapping of names of inputs to wrenches")
        self.columns = np.array(
            [array(w, (6,), f'the wrench of the input "{k}"') for k, w in controls.items()]
        ).reshape(-1, 6)
        for what, given in (("force", force), ("force_slope", force_slope)):
            if given is not None and not callable(given):
                raise ModelError(f"{what} is {given!r}; it must be a callable (t, g, xi, u)")
        if force_slope is not None and force is None:
            raise ModelError("force_slope is the derivative of force; give force= as well")
        self.force, self.force_slope = force, force_slope
        #: numbers of the compiled body that are specific to this kind of vehicle
        self.parts = dict(_parts or {})
        parts = {
            "rotational": self.rotational, "translational": M, "mass": self.mass, "gravity": self._gravity,
            "drag": self.drag, "columns": self.columns, "force": force, "force_slope": force_slope, **self.parts,
        }  # fmt: skip
        super().__init__(name, controls if _inputs is None else _inputs, geometry, parts)
        self.__setstate__(vars(self))

    # ---- compiled parts ----------------------------------------------------------------------------

    #: the class of the compiled body
    _kind = "RigidBody"

    @property
    def compiled(self) -> Keywords:
        return {"equations": self.core}

    @cached_property
    def core(self) -> _vehicles.RigidBody:
        """The compiled body: inertia and forces."""
        kind: type[_vehicles.RigidBody] = getattr(_vehicles, self._kind)
        return kind(
            self.rotational, self.translational, self.mass * self._gravity, self.drag, self.columns,
            force=self._asked("force", self.force, (6,)),
            slope=self._asked("force_slope", self.force_slope, (6, 6)), **self.parts,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in dict(vars(self)).items() if key != "core"}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        # unpickled arrays are writable
        vars(self).update({key: frozen(value) for key, value in state.items()})

    # ---- properties --------------------------------------------------------------------------------

    @property
    def gravity(self) -> np.ndarray:
        """Gravity in world axes, (3,) [m/s^2]; read-only, since a vehicle is immutable."""
        return frozen(self._gravity)

    @property
    def total_mass(self) -> float:
        """The mass on which gravity acts [kg]."""
        return self.mass

    @property
    def methods(self) -> Mapping[str, type[Integrator]]:
        """The integrators, the default first."""
        return METHODS_OF["rigid"]

    @property
    def is_conservative(self) -> bool:
        """Whether the energy is constant without inputs."""
        return not self.drag.any() and self.force is None

    @property
    def is_dissipative(self) -> bool:
        """Whether only drag changes the energy without inputs."""
        return bool(self.drag.any()) and self.force is None

    @property
    def is_free_floating(self) -> bool:
        """Whether only gravity changes the spatial momentum without inputs."""
        return self.is_conservative

    # ---- states ------------------------------------------------------------------------------------

    @finite_result
    def wrench(self, t: float, q: ArrayLike, v: ArrayLike, inputs: Sequence[float] | np.ndarray = ()) -> np.ndarray:
        """Return the sum of all wrenches (torque, force) on the body, (6,) [N m, N], in body axes.

        Parameters
        ----------
        t : float
            Time [s].
        q : (7,) array [m]
        v : (6,) array [m/s, rad/s]
        inputs : (nu,) array
            Units as those of the controls; zero if empty.

        Raises
        ------
        ModelError
            If the number of inputs is wrong.
        """
        q, v = self.validate_configuration(q), self._checked(v, 6, "v")
        none = isinstance(inputs, tuple | list) and not inputs
        u = array(np.zeros(len(self.input_names)) if none else inputs, (len(self.input_names),), "inputs")
        t = t if type(t) is float and math.isfinite(t) else float(entries(t, (), "t"))
        still, slope = self.core.wrench(t, q, u)
        xi = np.concatenate((v[3:], v[:3]))
        total: np.ndarray = still + slope @ xi
        force = self._asked("force", self.force, (6,))
        if force is not None:
            total = total + force(t, self.pose(q), xi, u)
        return total

    def _asked(self, name: str, function: Callable[..., ArrayLike] | None, shape: tuple[int, ...]) -> Asked | None:
        """A function of the user, or None."""
        return None if function is None else Asked(function, name, "(t, g, xi, u)", shape)

    def pose(self, q: ArrayLike) -> np.ndarray:
        """Return the pose of the body in the world, (4, 4) [m]."""
        return matrix_from_pose(self.validate_configuration(q))

    # ---- stacks of states --------------------------------------------------------------------------

    def _masses(self, q: np.ndarray) -> np.ndarray:
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = self.rotational, self.translational
        return np.broadcast_to(M, (len(q), 6, 6))

    def _potentials(self, q: np.ndarray) -> np.ndarray:
        return self.core.potentials(q)

    def _velocities(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        solve = np.linalg.solve
        return np.concatenate((solve(self.translational, p[:, :3].T), solve(self.rotational, p[:, 3:].T))).T
