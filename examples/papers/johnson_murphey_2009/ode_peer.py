"""The same mechanisms in the Open Dynamics Engine (ODE), the force-balance simulator of the papers.

ODE comes with the package panda3d (``pip install "vitree[bench]"``), in single precision. As in the papers, each body
moves freely in space, and every joint is held by forces with ODE's settings as they come: an error reduction parameter
(ERP) of 0.2, a constraint force mixing (CFM) of 1e-5. Without panda3d ``simulate`` returns None and says so once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

try:
    from panda3d import ode
except ImportError:
    ode = None

#: ODE requires all bodies to have inertia; what point masses get [kg m^2]. A tenth of it stops ODE by an assertion.
LEAST = 1e-3
#: Speed at which a run has failed [m/s or rad/s].
BOUND = 200.0


@dataclass
class Run:
    """Recorded times, planar states of the bodies, energies, gaps of joints, and the seconds spent in steps."""

    t: np.ndarray
    #: turn about y of each body since the start (rows, bodies) [rad]
    turn: np.ndarray
    energy: np.ndarray
    #: largest distance of two points that a joint holds together (rows,) [m]
    gap: np.ndarray
    seconds: float


@cache
def available() -> bool:
    """Whether ODE is installed; said once if not."""
    if ode is None:
        print('ODE is not installed, and its rows are missing: pip install "vitree[bench]" (panda3d)')
    return ode is not None


class World:
    """A mechanism of hinges about y and slides, with pins between frames, as bodies and joints of ODE.

    Parameters
    ----------
    model : vitree.Model
        Every body has mass. Its point constraints come as pins in the plane x-z.
    q : (nq,) array
        Where it starts, at rest.
    """

    def __init__(self, model, q):
        flat, poses = model.flat, model.body_poses(q)
        if not flat.mass.all():
            raise ValueError(f"{flat.name}: ODE requires every body to have mass")
        self.world, self.mass, self.gravity = ode.OdeWorld(), flat.mass, flat.gravity
        self.world.setGravity(*flat.gravity)
        self.bodies, self.inertia, self.hinges, self.slides = [], [], [], []
        for pose, mass, com, inertia in zip(poses, flat.mass, flat.com, flat.inertia, strict=True):
            turned = pose[:3, :3] @ inertia @ pose[:3, :3].T
            if not inertia.any():
                turned = LEAST * np.eye(3)
            parameters, body = ode.OdeMass(), ode.OdeBody(self.world)
            parameters.setParameters(mass, 0, 0, 0, *turned[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
            body.setMass(parameters)
            body.setPosition(*(pose[:3, :3] @ com + pose[:3, 3]))
            self.bodies.append(body)
            self.inertia.append(turned[1, 1])
        for i, parent in enumerate(flat.parent):
            ends = self.bodies[i], None if parent < 0 else self.bodies[parent]
            if flat.kind[i] == 0:
                self.pin(*ends, poses[i, :3, 3])
            else:
                slide = ode.OdeSliderJoint(self.world)
                slide.attach(*ends)
                slide.setAxis(*poses[i, :3, 2])
                self.slides.append(slide)
        places = model.frame_poses(q)
        for a, b in dict.fromkeys((c.a, c.b) for c in model.constraints):
            self.pin(*(self.bodies[flat.frame_body[model.frame_names.index(f)]] for f in (a, b)), places[a][:3, 3])

    def pin(self, one, other, place) -> None:
        """Hold two bodies together at a place, free to turn about y; None is the world."""
        hinge = ode.OdeHingeJoint(self.world)
        hinge.attach(one, other)
        hinge.setAnchor(*place)
        hinge.setAxis(0, 1, 0)
        self.hinges.append(hinge)

    def state(self):
        """Turns about y [rad], energy [J], largest gap of a pin [m], largest speed."""
        x, v, w = (np.array([tuple(getattr(body, name)()) for body in self.bodies])
                   for name in ("getPosition", "getLinearVel", "getAngularVel"))  # fmt: skip
        quaternions = np.array([tuple(body.getQuaternion()) for body in self.bodies])
        energy = 0.5 * self.mass @ (v**2).sum(axis=1) + 0.5 * np.array(self.inertia) @ w[:, 1] ** 2
        gaps = [(hinge.getAnchor() - hinge.getAnchor2()).length() for hinge in self.hinges]
        turn = 2 * np.arctan2(quaternions[:, 2], quaternions[:, 0])
        return turn, energy - self.mass @ (x @ self.gravity), max(gaps), max(np.abs(v).max(), np.abs(w).max())


def scissor_angle(model, q0, run) -> np.ndarray:
    """The angle theta of a run of the scissor lift [rad]; as ``mechanisms.scissor_angle``."""
    start = q0[model.joint("a0").q_slice.start]
    return start + run.turn[:, model.flat.frame_body[model.frame_names.index("a_link0")]]


def simulate(model, q0, *, duration, dt, record_every: int = 1, stop=None) -> Run | None:
    """Run ODE's semi-implicit Euler (its "big matrix" step) from rest; None without ODE.

    Steps so long that the bodies fly apart at once end the program: ODE's own assertion. A run whose speeds get out of
    all bounds ends there, and after the first record whose time and turns make ``stop(t, turn)`` true.
    """
    if not available():
        return None
    peer = World(model, q0)
    rows, seconds, step = round(duration / dt) // record_every, 0.0, peer.world.step
    found = [peer.state()]
    for row in range(1, rows + 1):
        began = time.perf_counter()
        for _ in range(record_every):
            step(dt)
        seconds += time.perf_counter() - began
        state = peer.state()
        if not state[-1] < BOUND:
            break
        found.append(state)
        if stop is not None and stop(row * record_every * dt, state[0]):
            break
    peer.world.destroy()
    turn, energy, gap, _ = (np.array(part) for part in zip(*found, strict=True))
    return Run(dt * record_every * np.arange(len(found)), np.unwrap(turn, axis=0), energy, gap, seconds)
