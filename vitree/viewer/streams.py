"""States as they come to other viewers: Foxglove, by its websocket, and rerun, by its server or into a file."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vitree.arguments import of_kind, path_of
from vitree.errors import InputError, MissingExtraError
from vitree.model.system import System
from vitree.results.drawing import PLAIN, WORLD, Shape, drawing_of, poses
from vitree.results.mcap import CHANNELS, frame_transforms, joint_states, of_one_coordinate
from vitree.results.recording import Recording
from vitree.urdf.meshes import read_mesh

#: Name of the timeline of rerun.
TIMELINE = "run"


class _Stream:
    """What both streams have in common: a system, its drawing, and the joints with one coordinate."""

    def __init__(self, system: System):
        self.system = of_kind(system, System, "system", "a model, such as vt.load_urdf returns")
        self.drawing = drawing_of(system)
        self.joints = of_one_coordinate(system)
        self._q = [system.q_names.index(name) for name in self.joints]
        self._v = [system.v_names.index(name) for name in self.joints]
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the stream."""
        self._closed = True

    def send(self, t: float, q: ArrayLike, v: ArrayLike) -> None:
        """Send one state: its time [s], q (nq,) [m or rad] and v (nv,) [m/s or rad/s].

        Raises
        ------
        InputError
            If q or v have a wrong shape, or entries that are not finite; or the time is negative, or the stream closed.
        """
        if self._closed:
            raise InputError("the stream is closed; open another one")
        if not (np.isfinite(t) and t >= 0):
            raise InputError("t", t, "must be a finite time, zero or more")
        q, v = self.system.validate_configuration(q), self.system.validate_velocity(v, "v")
        self._send(float(t), poses(self.system, q), q[self._q], v[self._v])

    def _send(self, t: float, at: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        raise NotImplementedError


class FoxgloveStream(_Stream):
    """A server of states for Foxglove, by the websocket of its SDK.

    The topics are those of MCAP files: ``/tf`` (foxglove.FrameTransforms), the poses of bodies, and ``/joint_states``
    (foxglove.JointStates), the joints with one coordinate. In Foxglove open a connection to ``address``.

    Parameters
    ----------
    system : Model or vehicle
    host : str
        Network address to serve at; the default is accessible from this machine only.
    port : int
        0: any that is free.

    Attributes
    ----------
    address : str

    Raises
    ------
    MissingExtraError
        If foxglove-sdk is not installed (extra "foxglove").
    InputError
        If the system is none, or this machine cannot serve there.
    """

    def __init__(self, system: System, host: str = "127.0.0.1", port: int = 8765):
        try:
            import foxglove
        except ImportError:
            raise MissingExtraError("foxglove-sdk", "foxglove", "a stream to Foxglove") from None
        super().__init__(system)
        if type(port) is not int or not 0 <= port < 65536:
            raise InputError("port", port, "must be a number from 0 to 65535")
        self._context = context = foxglove.Context()  # which closes its channels when it goes
        try:
            self._server = foxglove.start_server(name=system.name, host=host, port=port, context=context)
        except Exception as error:  # of several kinds
            raise InputError("port", port, f"of {host} cannot be served at: {error}; give another one") from None
        self.address = f"ws://{host}:{self._server.port}"
        self._channels: dict[str, Any] = {}
        for topic in ("/tf", "/joint_states"):
            name, schema = CHANNELS[topic]
            text = json.dumps({"title": name, **schema}).encode()
            made = foxglove.Schema(name=name, encoding="jsonschema", data=text)
            self._channels[topic] = foxglove.Channel(topic, schema=made, message_encoding="json", context=context)

    def _send(self, t: float, at: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        for nanoseconds, topic, content in (
            frame_transforms(self.drawing.bodies, t, at), joint_states(self.joints, t, q, v),
        ):  # fmt: skip
            self._channels[topic].log(content, log_time=nanoseconds)

    def close(self) -> None:
        """Stop the server."""
        if not self._closed:
            self._server.stop()
        super().close()


class RerunStream(_Stream):
    """States for rerun: a recording in a file, or a server to which its viewer connects.

    Bodies are entities ``NAME/BODY`` with a Transform3D and their shapes; joints with one coordinate are Scalars,
    ``joints/JOINT/position`` and ``joints/JOINT/velocity``. The timeline "run" has the times.

    Parameters
    ----------
    system : Model or vehicle
    path : path, optional
        A file (.rrd) to write. Without it states are served at ``address``: ``rerun ADDRESS`` shows them.
    port : int, optional
        Of the server; by default that of rerun.

    Attributes
    ----------
    address : str
        The path, or the address of the server.

    Raises
    ------
    MissingExtraError
        If rerun-sdk is not installed (extra "rerun").
    InputError
        If the system is none, or the file cannot be written.
    """

    def __init__(self, system: System, path: str | os.PathLike[str] | None = None, port: int | None = None):
        try:
            import rerun
        except ImportError:
            raise MissingExtraError("rerun-sdk", "rerun", "a stream to rerun") from None
        super().__init__(system)
        if path is not None and port is not None:
            raise InputError("port", port, "is of a server, and path= writes a file; give one of them")
        self._rerun, self._stream = rerun, rerun.RecordingStream(f"vitree: {system.name}")
        if path is None:
            self.address = str(self._stream.serve_grpc(grpc_port=port))
        else:
            file = Path(path_of(path))
            if not file.parent.is_dir():
                raise InputError("path", path, f"is in a folder that is not there; make {file.parent}")
            self._stream.save(str(file))
            self.address = str(file)
        self._root = rerun.new_entity_path([system.name or "system"])
        self._bodies = [rerun.new_entity_path([system.name or "system", body]) for body in self.drawing.bodies]
        for k, shape in enumerate(self.drawing.shapes):
            self._add_shape(k, shape)

    def _log(self, path: str, archetype: object, static: bool = False) -> None:
        self._stream.log(path, archetype, static=static)

    def _add_shape(self, k: int, shape: Shape) -> None:
        """Log a shape once, at its place on its body."""
        rerun = self._rerun
        above = self._root if shape.body == WORLD else self._bodies[shape.body]
        path = f"{above}/{rerun.new_entity_path([f'{shape.link} {k}'])}".replace("//", "/")
        colour = [round(255 * x) for x in (shape.rgba or PLAIN)]
        size, points, faces, scale = shape.size, None, None, [1.0, 1.0, 1.0]
        made: object = None
        look: dict[str, Any] = {"colors": [colour], "fill_mode": "solid"}
        if shape.kind == "box":
            made = rerun.Boxes3D(sizes=[size], **look)
        elif shape.kind == "sphere":
            made = rerun.Ellipsoids3D(radii=[size[0]], **look)
        elif shape.kind == "cylinder":
            made = rerun.Cylinders3D(radii=[size[0]], lengths=[size[1]], **look)
        elif shape.kind == "capsule":  # which begins at the centre of its first ball
            made = rerun.Capsules3D(radii=[size[0]], lengths=[size[1]], translations=[[0, 0, -size[1] / 2]], **look)
        elif shape.kind == "surface":
            points, faces = np.reshape(size, (-1, 3)), np.reshape(shape.faces, (-1, 3))
        else:
            with contextlib.suppress(Exception):  # a mesh that is not there, or damaged, is not drawn
                points, faces, _ = read_mesh(str(shape.filename), "a mesh in rerun")
                scale = list(size)
        if points is not None:
            made = rerun.Mesh3D(vertex_positions=points * scale, triangle_indices=faces, albedo_factor=colour)
        if made is not None:
            place = rerun.Transform3D(translation=shape.pose[:3], quaternion=shape.pose[3:])
            self._log(path, place, static=True)
            self._log(path, made, static=True)

    def _send(self, t: float, at: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        rerun = self._rerun
        self._stream.set_time(TIMELINE, duration=t)
        for path, pose in zip(self._bodies, at, strict=True):
            self._log(path, rerun.Transform3D(translation=pose[:3], quaternion=pose[3:]))
        for name, position, velocity in zip(self.joints, q, v, strict=True):
            for what, value in (("position", position), ("velocity", velocity)):
                self._log(rerun.new_entity_path(["joints", name, what]), rerun.Scalars(float(value)))

    def close(self) -> None:
        """Write what is left, and end the stream."""
        if not self._closed:
            self._stream.flush()
            self._stream.disconnect()
        super().close()


def to_rerun(traj: Recording, path: str | os.PathLike[str]) -> Path:
    """Write a run as a recording (.rrd) of rerun, with poses, shapes and joints as of :class:`RerunStream`.

    Raises
    ------
    MissingExtraError
        If rerun-sdk is not installed (extra "rerun").
    InputError
        If the run does not know its system, has negative times, or the file cannot be written.
    """
    system = getattr(traj, "system", None)
    if not isinstance(system, System):
        raise InputError("the run does not know its system; give a run as vt.simulate returns, or load its robot")
    with RerunStream(system, path) as stream:
        for t, q, v in zip(traj.t, traj.q, traj.v, strict=True):
            stream.send(float(t), q, v)
    return Path(stream.address)
