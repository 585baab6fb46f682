"""States of all instances, as the functions of a task see them: quantities are worked out when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from vitree.errors import InputError
from vitree.gym.layout import Layout
from vitree.spatial.rotations import rotate

#: Quantities that observations may name.
FIELDS = (
    "q", "v", "t", "base_position", "base_orientation", "base_linear_velocity", "base_angular_velocity",
    "projected_gravity", "joint_positions", "joint_velocities", "joint_accelerations", "drive_forces", "last_action",
    "previous_action", "command", "contacts", "contact_forces", "air_time", "contact_time", "last_air_time",
    "first_contact", "gaps", "heights",
)  # fmt: skip

#: Those that contacts give.
OF_CONTACTS = ("contacts", "contact_forces", "air_time", "contact_time", "last_air_time", "first_contact")


class State:
    """The states of n instances after an action; functions of a task take it.

    Arrays have the instances along their first axis. Those that cost something are worked out when they are first asked
    for. A state keeps its numbers, but gaps must be asked for before the next action.

    Parameters
    ----------
    layout : Layout
        Where quantities are.
    arrays : dict
        The arrays among the attributes, by name.
    asked : dict
        Functions of what is worked out by others, by name.

    Attributes
    ----------
    q, v : (n, nq) and (n, nv) arrays [m or rad, m/s or rad/s]
    t : (n,) array [s]
        Time of the episodes.
    last_action, previous_action : (n, k) arrays
        The action that led to the state, and the one before, as they were given; zeros after a reset. [-]
    command : (n, c) array [units as the task has them]
        What is asked of the robot; no columns without commands.
    contacts : (n, m) array of bool
        Whether each of ``contact_frames`` touched something in the last step.
    contact_forces : (n, m, 3) array [N]
        Forces of contacts on these frames in the last step, in world axes: impulses over dt.
    air_time, contact_time : (n, m) arrays [s]
        How long each has been in the air, or touched; zero for the other one of the two.
    last_air_time : (n, m) array [s]
        How long it had been in the air when it touched down last.
    first_contact : (n, m) array of bool
        Whether it touched down with the last action.
    """

    q: np.ndarray
    v: np.ndarray
    t: np.ndarray
    last_action: np.ndarray
    previous_action: np.ndarray
    command: np.ndarray
    contacts: np.ndarray
    contact_forces: np.ndarray
    air_time: np.ndarray
    contact_time: np.ndarray
    last_air_time: np.ndarray
    first_contact: np.ndarray

    def __init__(self, layout: Layout, arrays: dict[str, np.ndarray], asked: dict[str, Callable[[], np.ndarray]]):
        self._layout, self._asked = layout, asked
        vars(self).update(arrays)

    def __repr__(self) -> str:
        return f'<vitree.gym.State of {len(self.q)} x "{self._layout.model.name}">'

    # ---- the base ----------------------------------------------------------------------------------------

    def _base(self, name: str, velocity: bool, first: int, count: int) -> np.ndarray:
        at = self._layout.require_base(name)[velocity] + first
        return (self.v if velocity else self.q)[:, at : at + count]

    @property
    def base_position(self) -> np.ndarray:
        """Position (n, 3) [m] of the base in the world."""
        return self._base("base_position", False, 0, 3)

    @property
    def base_orientation(self) -> np.ndarray:
        """Orientation (n, 4) of the base, a quaternion (x, y, z, w)."""
        return self._base("base_orientation", False, 3, 4)

    @property
    def base_linear_velocity(self) -> np.ndarray:
        """Linear velocity (n, 3) [m/s] of the base, in its own axes."""
        return self._base("base_linear_velocity", True, 0, 3)

    @property
    def base_angular_velocity(self) -> np.ndarray:
        """Angular velocity (n, 3) [rad/s] of the base, in its own axes."""
        return self._base("base_angular_velocity", True, 3, 3)

    @cached_property
    def projected_gravity(self) -> np.ndarray:
        """Direction (n, 3) of gravity in the axes of the base: (0, 0, -1) where it is upright."""
        back = self._base("projected_gravity", False, 3, 4) * np.array([-1.0, -1.0, -1.0, 1.0])
        return rotate(back, np.broadcast_to(self._layout.down, (len(back), 3)))

    @cached_property
    def heading(self) -> np.ndarray:
        """Angle (n,) [rad] of the forward axis of the base about the vertical."""
        x, y, z, w = self._base("heading", False, 3, 4).T
        found: np.ndarray = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        return found

    # ---- joints ------------------------------------------------------------------------------------------

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints of one coordinate, in the order of their columns."""
        return self._layout.joint_names

    @cached_property
    def joint_positions(self) -> np.ndarray:
        """Positions (n, joints) [m or rad] relative to the default pose."""
        at = self._layout.joints_q
        found: np.ndarray = self.q[:, at] - self._layout.pose[at]
        return found

    @cached_property
    def joint_velocities(self) -> np.ndarray:
        """Velocities (n, joints) [m/s or rad/s]."""
        return self.v[:, self._layout.joints_v]

    @cached_property
    def joint_accelerations(self) -> np.ndarray:
        """Mean accelerations (n, joints) [m/s^2 or rad/s^2] over the last action; zeros after a reset."""
        found: np.ndarray = self._asked["accelerations"]()[:, self._layout.joints_v]
        return found

    @cached_property
    def drive_forces(self) -> np.ndarray:
        """Forces (n, drives) [N or N m] of the drives at the state, with their gains and limits of effort."""
        return self._asked["drive_forces"]()

    # ---- contacts ----------------------------------------------------------------------------------------

    @property
    def contact_frames(self) -> tuple[str, ...]:
        """The frames whose contacts are told, in the order of their columns."""
        return self._layout.frames

    def columns(self, *frames: str) -> np.ndarray:
        """Return the columns of ``frames``, names or patterns such as ``"*_foot"``, (m,) without unit.

        Raises
        ------
        UnknownNameError
            If there is no such frame among ``contact_frames``.
        """
        return self._layout.columns(frames)

    @cached_property
    def gaps(self) -> np.ndarray:
        """Smallest gap (n, m) [m] of each of ``contact_frames`` to all that it may touch; infinite if to nothing."""
        found = self._asked["gaps"]()
        signs = self._layout.signs[: found.shape[1]].T
        columns = [found[:, np.flatnonzero(row)] for row in signs]
        return np.stack([rows.min(axis=1, initial=np.inf) for rows in columns], axis=1) if columns else found[:, :0]

    @cached_property
    def heights(self) -> np.ndarray:
        """Heights (n, k) [m] of the base above the ground under the points of the task's ``height_scan``."""
        return self._asked["heights"]()

    # ---- frames ------------------------------------------------------------------------------------------

    def frame_position(self, name: str) -> np.ndarray:
        """Return the positions (n, 3) [m] of the frame ``name`` in the world.

        Raises
        ------
        UnknownNameError
            If there is no such frame.
        """
        model: Any = self._layout.model
        found: np.ndarray = model.frame_pose(name, self.q)[:, :3, 3]
        return found

    def frame_velocity(self, name: str) -> np.ndarray:
        """Return the linear velocities (n, 3) [m/s] of the origin of the frame ``name``, in world axes.

        Raises
        ------
        UnknownNameError
            If there is no such frame.
        """
        model: Any = self._layout.model
        found: np.ndarray = model.frame_velocity(name, self.q, self.v, "world")
        return found[:, 3:]

    def named(self, name: str) -> np.ndarray:
        """Return the quantity ``name`` of FIELDS as rows (n, k) [units as it has them].

        Raises
        ------
        InputError
            If the robot has no such quantity.
        """
        found = np.asarray(getattr(self, name), dtype=float)
        if name == "heights" and not found.shape[1]:
            raise InputError('the task has no height_scan; "heights" needs one')
        if name in (*OF_CONTACTS, "gaps") and not self.contact_frames:
            raise InputError(f'nothing of "{self._layout.model.name}" may touch; "{name}" needs contacts and a ground')
        return found.reshape(len(found), -1)

