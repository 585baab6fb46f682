"""The state of one body of a simulation, by its name."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import JsonObject, entries, shown
from vitree.errors import InputError, UnknownNameError
from vitree.mechanism.flat import FREE
from vitree.model.model import Model
from vitree.model.system import System
from vitree.tree.poses import pose_of


class Stateful(Protocol):
    """What a body asks of its simulation."""

    @property
    def model(self) -> System: ...
    @property
    def t(self) -> float: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def v(self) -> np.ndarray: ...
    def _set_state(self, q: np.ndarray, v: np.ndarray, values: JsonObject) -> None: ...


class BodyState:
    """A body of a :class:`vitree.Simulation`, as ``sim["cup"]``: where it is, and how it moves.

    ``pose``, ``position``, ``rotation`` and ``velocity`` can be set where the body floats. The run goes on: time, the
    state of other bodies, records and drives stay. All are copies, in world axes.

    Parameters
    ----------
    simulation : Simulation
    name : str
        Of a link or another frame.

    Raises
    ------
    UnknownNameError
        If there is no such frame.
    InputError
        If the simulation is none, or of a vehicle.
    """

    def __init__(self, simulation: Stateful, name: str):
        if not hasattr(simulation, "_set_state"):
            raise InputError("simulation", simulation, f"is {shown(simulation)}; it must be a vt.Simulation")
        model = simulation.model
        if not isinstance(model, Model):
            raise InputError(f'"{model.name}" is a vehicle, which has no bodies by name; its state is sim.q and sim.v')
        try:
            row = model._frame(name)
        except UnknownNameError as error:
            raise UnknownNameError("body or frame", name, model.frame_names, argument="name") from error
        self._of, self._name, self._row = simulation, name, row

    @property
    def name(self) -> str:
        """The name of the frame."""
        return self._name

    @property
    def pose(self) -> np.ndarray:
        """Its pose in the world, (4, 4) [m].

        It is set as ``at=`` of :meth:`vitree.Tree.attach`: (4, 4); (x, y, z, qx, qy, qz, qw); or (x, y, z), without a
        rotation. The velocity stays as it is in the world.
        """
        found: np.ndarray = self._model.frame_pose(self._name, self._of.q)
        return found

    @pose.setter
    def pose(self, pose: ArrayLike) -> None:
        self._place(pose_of(pose), self.velocity)

    @property
    def position(self) -> np.ndarray:
        """The place of its origin, (3,) [m]; setting it keeps the rotation."""
        return self.pose[:3, 3]

    @position.setter
    def position(self, position: ArrayLike) -> None:
        X = self.pose
        X[:3, 3] = entries(position, (3,), "position")
        self._place(X, self.velocity)

    @property
    def rotation(self) -> np.ndarray:
        """Its rotation, (3, 3); setting it keeps the place of the origin."""
        return self.pose[:3, :3]

    @rotation.setter
    def rotation(self, rotation: ArrayLike) -> None:
        X = self.pose
        X[:3, :3] = entries(rotation, (3, 3), "rotation")
        self._place(pose_of(X), self.velocity)

    @property
    def velocity(self) -> np.ndarray:
        """Its angular velocity [rad/s], and the velocity of its origin [m/s], (6,)."""
        found: np.ndarray = self._model.frame_velocity(self._name, self._of.q, self._of.v)
        return found

    @velocity.setter
    def velocity(self, velocity: ArrayLike) -> None:
        self._place(None, entries(velocity, (6,), "velocity"))

    def __repr__(self) -> str:
        x, y, z = self.position
        return f"<vitree.BodyState {self._name!r} at ({x:.6g}, {y:.6g}, {z:.6g}) m, t = {self._of.t:.9g} s>"

    @property
    def _model(self) -> Model:
        model: Model = self._of.model  # type: ignore[assignment]  # checked at the start
        return model

    def _place(self, pose: np.ndarray | None, velocity: np.ndarray) -> None:
        """Set the pose in the world, if one is given, and the velocity."""
        model, flat = self._model, self._model.full.flat
        body = int(flat.frame_body[self._row])
        if body < 0 or flat.kind[body] != FREE or flat.parent[body] >= 0:
            how = "is fixed to the world" if body < 0 else "is moved by joints; set_state(q={joint: ...}) sets these"
            raise InputError(f'"{self._name}" does not float: it {how}')
        first = model.full.index.iq[body]
        at = model.joint(next(each.name for each in model.full.joints if each.q_slice.start == first))
        q, v = self._of.q.copy(), self._of.v.copy()
        if pose is not None:
            X = pose @ np.linalg.inv(_matrix(flat.frame_E[self._row], flat.frame_p[self._row]))
            from vitree.lie import pose_from_matrix

            q[at.q_slice] = pose_from_matrix(X)
        J = model.frame_jacobian(self._name, q)
        v[at.v_slice] = np.linalg.solve(J[:, at.v_slice], velocity)
        self._of._set_state(q, v, {"body": self._name})


def _matrix(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X
