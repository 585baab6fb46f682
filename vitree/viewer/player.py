"""Player: a simulation that runs in a thread of its own, at the speed of a clock, whoever looks at it."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vitree.errors import InputError, VitreeError
from vitree.model.model import Model
from vitree.results.contacts import ContactLog
from vitree.results.drawing import poses
from vitree.run.controller import Targets
from vitree.run.simulation import Simulation, _of_step
from vitree.spatial.rotations import turn_z_to
from vitree.viewer.pull import Pull
from vitree.viewer.pushes import by_pairs
from vitree.viewer.reload import ControllerFile

#: Pictures a second, and the share of their time that steps may take.
RATE, SHARE = 60.0, 0.85
#: A clock that stood still for longer [s], as in a sleeping machine, is not caught up with.
LONGEST = 0.1
#: Steps that are taken at once last about CHUNK [s], so that a picture is late by no more.
CHUNK = 2e-3
#: Seconds after which a thread of Python gives way to another that waits: single steps would wait for a page each.
TURNS = 2e-4
#: Seconds between looks at the file of a controller, and over which the factor of real time is measured.
LOOK, MEASURED = 0.25, 0.5


@dataclass(frozen=True, eq=False)
class Picture:
    """What a page shows of a state.

    Attributes
    ----------
    t : float [s]
    steps : int
    q : (nq,) array [m or rad]
    poses : (nbody, 7) array
        Of :func:`vitree.results.drawing.poses`.
    points, forces : (n, 3) arrays [m, N]
        Of each pair that touched in the last step: the centre of pressure, and the force on the first of the two.
    support : (m, 3) array [m]
        Corners of the support polygon: the hull of points that press on the ground, seen along gravity.
    load : float [N]
        The force of the ground against gravity.
    com : (3,) array [m]
    energy : float [J]
    drives : (n,) array [N m or N]
        Forces of drives at the state.
    inputs : (nu,) array
    pull : (2, 3) array [m, N], optional
        Point and force of what the mouse pulls.
    factor : float [-]
        Simulated time by time of the clock, while it plays.
    step_time : float [s]
        What a step takes.
    playing : bool
    error : str
    """

    t: float
    steps: int
    q: np.ndarray
    poses: np.ndarray
    points: np.ndarray
    forces: np.ndarray
    support: np.ndarray
    load: float
    com: np.ndarray
    energy: float
    drives: np.ndarray
    inputs: np.ndarray
    pull: np.ndarray | None
    factor: float
    step_time: float
    playing: bool
    error: str


def outline(points: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return the corners (m, 3) [m] of the hull of points (n, 3), seen along ``up``, in order around it."""
    if len(points) < 3 or not up.any():
        return points
    from scipy.spatial import ConvexHull, QhullError

    across = turn_z_to(up)[:, :2]
    try:
        corners: np.ndarray = points[ConvexHull(points @ across).vertices]
        return corners
    except QhullError:  # on one line: its two ends
        along = points - points.mean(axis=0)
        way = np.linalg.svd(along, full_matrices=False)[2][0]
        ends: np.ndarray = points[[int(np.argmin(along @ way)), int(np.argmax(along @ way))]]
        return ends


class Player:
    """Runs a simulation in time; ``picture`` is what there is to see of it now.

    Parameters
    ----------
    sim : Simulation
        Nobody else may step it while the player runs.
    speed : float [-]
        Simulated seconds for each second.
    playing : bool
        Whether it plays from the start.
    controller : ControllerFile, optional

    Attributes
    ----------
    picture : Picture
        Replaced as a whole about ``RATE`` times a second.
    pull : Pull or None
        What a mouse pulls; it may be replaced at any time.
    targets : Targets or None
        Where the targets of drives are among the inputs.
    """

    def __init__(self, sim: Simulation, speed: float = 1.0, playing: bool = True,
                 controller: ControllerFile | None = None):  # fmt: skip
        self.sim, self.speed, self.playing, self.controller = sim, speed, playing, controller
        self.pull: Pull | None = None
        drives = [drive for drive in getattr(sim.model, "drives", ()) if isinstance(drive.target, str)]
        self.targets = Targets(sim.model, None) if drives else None
        #: whether torques and inputs can be given in steps
        self.takes_torque = sim._free[0] and sim._limited is None
        self.takes_inputs = sim._free[1]
        self.gravity = np.asarray(getattr(sim.model, "gravity", (0.0, 0.0, -9.81)), dtype=float)
        self._error = ""
        self._todo: deque[Callable[[], None]] = deque()
        self._wake, self._ended = threading.Event(), threading.Event()
        self._torque = sim.torque.copy()
        self._owed = 0.0
        self._step_time, self._factor = 0.0, 0.0
        self._marks: deque[tuple[float, float]] = deque()
        if controller is not None:
            controller.refresh()
            self._error_of_file()
        self.picture = self._look()
        self._thread = threading.Thread(target=self._run, name="vitree simulation", daemon=True)

    def begin(self) -> None:
        """Start the thread. Until :meth:`stop` threads of this process take turns more often."""
        self._turns = sys.getswitchinterval()
        sys.setswitchinterval(min(self._turns, TURNS))
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the simulation can be used as before then."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)
            sys.setswitchinterval(self._turns)
        if self.takes_torque:
            self.sim.torque[:] = self._torque

    # ---- what a page asks for, from any thread -----------------------------------------------------------

    def ask(self, work: Callable[[], None]) -> None:
        """Let the thread of the simulation do a work between two steps."""
        self._todo.append(work)
        self._wake.set()

    def play(self, playing: bool) -> None:
        """Go on, or pause."""
        self.ask(lambda: self._play(playing))

    def step(self) -> None:
        """Pause, and take one step."""

        def work() -> None:
            self._play(False)
            self._guarded(1)

        self.ask(work)

    def reset(self, q: np.ndarray | None = None, v: np.ndarray | None = None, t: float | None = None) -> None:
        """Begin anew, from another state if one is given. What went wrong before is forgotten."""
        self.ask(lambda: self._reset(q, v, t))

    def set_input(self, index: int, value: float) -> None:
        """Give one input another value from the next step on."""

        def work() -> None:
            if self.takes_inputs:
                self.sim.inputs[index] = value

        self.ask(work)

    # ---- the thread of the simulation --------------------------------------------------------------------

    def _run(self) -> None:
        looked = last = time.perf_counter()
        while not self._ended.is_set():
            now = time.perf_counter()
            elapsed, last = now - last, now
            while self._todo:
                self._todo.popleft()()
            if self.controller is not None and now - looked > LOOK:
                looked = now
                self.controller.refresh()
                self._error_of_file()
            if self.playing:
                self._advance(min(elapsed, LONGEST) * self.speed, now + SHARE / RATE)
            self.picture = self._look()
            self._measure(now)
            rest = now + 1 / RATE - time.perf_counter()
            if rest > 0 and not self._todo:
                self._wake.wait(rest)
            self._wake.clear()

    def _advance(self, seconds: float, until: float) -> None:
        """Take the steps of some simulated seconds, as many as there is time for; the rest is left for the next time.

        What is more than LONGEST behind the clock is left out.
        """
        self._owed = min(self._owed + seconds, max(LONGEST * self.speed, self.sim.dt))
        dt = self.sim.dt
        while self._owed >= dt and self.playing:
            if time.perf_counter() > until:
                return
            most = max(int(CHUNK / max(self._step_time, 1e-6)), 1)
            before, begun = self.sim.t, time.perf_counter()
            count = min(int(self._owed / dt * (1 + 1e-12)), most)
            if not self._guarded(count):
                return
            self._owed -= self.sim.t - before
            each = (time.perf_counter() - begun) / count
            self._step_time += 0.1 * (each - self._step_time) if self._step_time else each

    def _guarded(self, count: int) -> bool:
        """Take steps; return False, with the error for the page and the simulation paused, if they fail."""
        try:
            self._steps(count)
            if not np.isfinite(self.sim.q).all():
                raise VitreeError(f"the coordinates at t = {self.sim.t:.9g} s are not finite; choose a smaller dt")
        except Exception as error:  # controllers are the user's own
            self._fail(error)
            return False
        return True

    def _fail(self, error: Exception) -> None:
        self._error = str(error.args[0]) if isinstance(error, VitreeError) and error.args else f"{error!r}"
        self._play(False)

    def _steps(self, count: int) -> None:
        sim = self.sim
        if self.pull is None and self.controller is None:
            if self.takes_torque:
                sim.torque[:] = self._torque
            sim.step(count)
            return
        for _ in range(count):
            self._one_step()

    def _one_step(self) -> None:
        sim, pull = self.sim, self.pull
        if self.controller is not None:
            answer = self.controller(sim.t, sim.q, sim.v)
            if answer is not None:
                try:
                    self._take(answer)
                except VitreeError as error:
                    self.controller.fall_back(error)
            self._error_of_file()
        force = None
        if pull is not None and isinstance(sim.model, Model):
            force = pull.generalized_force(sim.model, sim.q, sim.dt)
        if self.takes_torque:
            sim.torque[:] = self._torque if force is None else self._torque + force
        elif force is not None and pull is not None and pull.point is not None and pull.force is not None:
            X = sim.model.frame_pose(pull.frame, sim.q)  # type: ignore[attr-defined]
            impulse = sim.dt * pull.force
            sim.push(pull.frame, impulse, np.cross(pull.point - X[:3, 3], impulse))
            sim._impulses.clear()
        sim.step()

    def _take(self, answer: object) -> None:
        """Let what a controller returned act."""
        torque, inputs, targets = _of_step(answer)
        sim, model = self.sim, self.sim.model
        if torque is not None:
            if not self.takes_torque:
                raise InputError("control(t, q, v) returned a torque, and the simulation was made with one")
            self._torque = model.validate_velocity(torque, "torque").copy()
        if inputs is None and targets is None:
            return
        if not self.takes_inputs:
            raise InputError("control(t, q, v) returned inputs, and the simulation was made with a callable of them")
        now = sim.inputs if inputs is None else sim._inputs_of(inputs)
        if targets is not None:
            now = (self.targets or Targets(model, targets)).over(targets, now)
        if not np.isfinite(now).all():
            raise InputError("control(t, q, v) returned numbers that are not finite")
        sim.inputs[:] = now

    def _play(self, playing: bool) -> None:
        if playing and not self.playing:
            self._owed = 0.0
            self._marks.clear()
        if playing:
            self._error = ""
        self.playing = playing

    def _reset(self, q: np.ndarray | None, v: np.ndarray | None, t: float | None) -> None:
        try:
            self.sim.reset(q, v, t0=t)
            self._torque, self._error, self._owed, self.pull = self.sim.torque.copy(), "", 0.0, None
            if self.controller is not None:
                self.controller.begin()
        except Exception as error:
            self._fail(error)

    def _error_of_file(self) -> None:
        """Whatever is wrong with the controller's file is told, while the one before goes on."""
        if self.controller is not None and self.controller.error:
            self._error = self.controller.error
        elif self.controller is not None and self.playing:
            self._error = ""

    # ---- what there is to see ------------------------------------------------------------------------------

    def _look(self) -> Picture:
        sim = self.sim
        system, q = sim.model, sim.q.copy()
        points = forces = support = np.zeros((0, 3))
        load, drives = 0.0, np.zeros(len(getattr(system, "drives", ())))
        pull = self.pull
        arrow = None
        if pull is not None and pull.point is not None and pull.force is not None:
            arrow = np.stack([pull.point, pull.force])
        try:
            rows = sim.model._energies(q[None], sim.v[None])[0]
            energy, com = float(rows[0] + rows[1]), rows[-3:]
            log = sim.contacts
            if log is not None and len(log.number):
                points, forces, support, load = self._contacts(log)
            if len(drives) and isinstance(system, Model):
                drives = system.drive_forces(q, sim.v, inputs=sim.inputs if len(sim.inputs) else None)
            placed = poses(system, q)
        except Exception as error:  # of a state that is not finite, the picture before stays
            if not self._error:
                self._fail(error)
            before = getattr(self, "picture", None)
            if before is None:
                raise
            energy, com, placed = before.energy, before.com, before.poses
        return Picture(sim.t, sim.steps, q, placed, points, forces, support, load, com, energy, drives,
                       sim.inputs.copy(), arrow, self._factor, self._step_time, self.playing, self._error)  # fmt: skip

    def _contacts(self, log: ContactLog) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return points and forces of pairs, the support polygon, and the load on the ground."""
        known = np.isfinite(log.point_a).all(axis=1) & np.isfinite(log.force).all(axis=1)
        names = [log.names[k] for k in log.number[known]]
        if not names:
            return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), 0.0
        pairs = sorted(set(names))
        at = np.zeros(len(names), dtype=int), np.array([pairs.index(pair) for pair in names])
        point, force, normal = log.point_a[known], log.force[known], log.normal[known]
        centres, sums = by_pairs(at, (1, len(pairs)), point, normal, force)
        grounded = np.array([pair[1] == "ground" for pair in names])
        up = -self.gravity / max(float(np.linalg.norm(self.gravity)), 1e-300)
        pressed = point[grounded & ((force * normal).sum(axis=1) > 0)]
        return centres[0], sums[0], outline(pressed, up), float((force[grounded] @ up).sum())

    def _measure(self, now: float) -> None:
        """Measure simulated time by time of the clock."""
        self._marks.append((now, self.sim.t))
        while len(self._marks) > 2 and now - self._marks[0][0] > MEASURED:
            self._marks.popleft()
        (begun, t0), (ended, t1) = self._marks[0], self._marks[-1]
        self._factor = max((t1 - t0) / (ended - begun), 0.0) if ended > begun else 0.0


