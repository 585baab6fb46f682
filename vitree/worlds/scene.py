"""Scenes: worlds as files in TOML."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vitree.arguments import path_of
from vitree.errors import InputError, ModelError, UnknownNameError, VitreeError
from vitree.geometry.meshes import TriangleMesh
from vitree.geometry.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Hull, Shape, Sphere
from vitree.geometry.terrain import HeightField
from vitree.mechanism.contacts import Ground
from vitree.model.keyframes import KEYFRAMES
from vitree.spatial.rotations import rotation_rpy
from vitree.tree.elements import Fixed
from vitree.urdf.meshes import read_mesh
from vitree.worlds.shapes import OF_SHAPES
from vitree.worlds.world import World

#: Keys of a scene, of its ground, of a terrain, and of things.
SCENE = ("name", "gravity", "limits", "velocity_limits", "ground", "apart", "things")
GROUND = ("height", "normal", "friction", "restitution", "stiffness", "damping", "softness", "planes", "terrain")
TERRAIN = ("heights", "file", "spacing", "origin")
PLACE = ("at", "rpy", "frame")
OF_FILES = ("file", *PLACE, "base", "start", "drives", "options")
#: Solids by their keys, with the numbers that each takes.
SOLIDS: dict[str, tuple[Callable[..., Shape], int]] = {
    "box": (lambda *size: Box(size), 3), "sphere": (Sphere, 1), "capsule": (Capsule, 2), "cylinder": (Cylinder, 2),
    "cone": (Cone, 2), "ellipsoid": (lambda *axes: Ellipsoid(axes), 3),
}  # fmt: skip
#: Meshes by their keys: as they are, or their convex hulls.
MESHES = ("mesh", "hull")
#: Keys of things that are made of shapes.
OF_BODIES = (*SOLIDS, *MESHES, "scale", *PLACE, "base", *OF_SHAPES)


def read_scene(path: str | os.PathLike[str]) -> World:
    """Read a scene file in TOML as a World, to which more can be added.

    Parameters
    ----------
    path : path
        Files that it names are looked for beside it, and then as robots by name.

    Returns
    -------
    World

    Raises
    ------
    ModelError
        If the file cannot be read, is no TOML, or its things cannot be joined.
    InputError, UnknownNameError
        If a key is not known, or its value wrong; the text names the file, the key and the choices.
    """
    file = Path(os.path.expanduser(path_of(path, "path")))
    try:
        with open(file, "rb") as stream:
            scene = tomllib.load(stream)
    except FileNotFoundError:
        raise ModelError(f"there is no file {file}; give the path of a scene (.toml)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{file.name} is no TOML: {error}") from None
    return _Reader(file).world(scene)


class _Reader:
    """Makes a world of the tables of a file."""

    def __init__(self, file: Path):
        self.file = file

    def world(self, scene: Mapping[str, Any]) -> World:
        self._known(scene, SCENE, "the scene")
        with self._naming("the scene"):
            own = {key: scene[key] for key in ("gravity", "limits", "velocity_limits") if key in scene}
            ground = self._ground(scene["ground"]) if "ground" in scene else None
            world = World(str(scene.get("name", self.file.stem)), ground=ground, **own)
        things = self._table(scene.get("things", {}), "things")
        for name, thing in things.items():
            where = f"things.{name}"
            with self._naming(where):
                self._add(world, name, self._table(thing, where), where)
        pairs = scene.get("apart", [])
        with self._naming("apart"):
            if not isinstance(pairs, list):
                raise InputError(f'is {pairs!r}; it must be a list of pairs of names, such as [["arm/hand", "table"]]')
            world.apart(*pairs)
        return world

    @contextmanager
    def _naming(self, where: str) -> Iterator[None]:
        """Name the file and the table in errors that do not."""
        try:
            yield
        except VitreeError as error:
            text = str(error.args[0]) if error.args else str(error)
            if not text.startswith(f"{self.file.name}: "):
                error.args = (f"{self.file.name}: {where}: {text}", *error.args[1:])
            raise

    def _known(self, table: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
        for key in table:
            if key not in keys:
                error = UnknownNameError(f"key of {where}", key, tuple(keys))
                error.args = (f"{self.file.name}: {error.args[0]}", *error.args[1:])
                raise error

    def _table(self, value: object, where: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise InputError(f"{self.file.name}: {where} is {value!r}; it must be a table, such as [{where}]")
        return value

    def _path(self, value: object, where: str) -> Path:
        """A file beside the scene."""
        if not isinstance(value, str) or not value:
            raise InputError(f"{where} is {value!r}; it must be the path of a file")
        return self.file.parent / os.path.expanduser(value)

    # ---- things ----------------------------------------------------------------------------------------

    def _add(self, world: World, name: str, thing: Mapping[str, Any], where: str) -> None:
        kinds = [key for key in thing if key in ("file", *SOLIDS, *MESHES)]
        if len(kinds) != 1:
            given = f"has {' and '.join(kinds)}" if kinds else "has no file and no shape"
            known = ", ".join(("file", *SOLIDS, *MESHES))
            self._known(thing, {*OF_FILES, *OF_BODIES}, where)
            raise InputError(f"{given}; give one of {known}")
        kind = kinds[0]
        self._known(thing, OF_FILES if kind == "file" else OF_BODIES, where)
        at: Any = self._place(thing)
        if "frame" in thing:
            if not isinstance(thing["frame"], str):
                raise InputError(f"frame is {thing['frame']!r}; it must be the name of a frame, such as \"arm/tool0\"")
            at = world.tree.frame(thing["frame"]).add(at) if at is not None else thing["frame"]
        more = {"at": at} if at is not None else {}
        if "base" in thing:
            more["base"] = thing["base"]
        if kind == "file":
            path = self._path(thing["file"], "file")
            source = path if path.is_file() else thing["file"]
            options = self._table(thing.get("options", {}), f"{where}.options")
            drives = self._table(thing.get("drives", {}), f"{where}.drives")
            start = thing.get("start")
            if isinstance(start, str) and KEYFRAMES.search(start):
                start = str(self._path(start, "start"))
            world.add(source, name, start=start, drives=drives, **more, **options)
            return
        if "scale" in thing and kind not in MESHES:
            raise InputError(f"scale is of a mesh or a hull, not of a {kind}; leave it out")
        own = {key: thing[key] for key in OF_SHAPES if key in thing}
        for key in ("friction", "rgba"):
            if isinstance(own.get(key), list):
                own[key] = tuple(own[key])
        world.add(self._shape(kind, thing), name, **more, **own)

    def _place(self, thing: Mapping[str, Any]) -> Any:
        """The pose of a thing; None if it has none."""
        if not {"at", "rpy"} & {*thing}:
            return None
        p = self._numbers(thing.get("at", [0.0, 0.0, 0.0]), "at", (3, 7) if "rpy" not in thing else (3,))
        if len(p) == 7:
            return p
        rpy = self._numbers(thing.get("rpy", [0.0, 0.0, 0.0]), "rpy", (3,))
        return Fixed(None, rotation_rpy(*rpy) if any(rpy) else None, tuple(p))

    def _numbers(self, value: object, what: str, counts: tuple[int, ...]) -> list[float]:
        given: list[Any] = value if isinstance(value, list) else [value]
        if len(given) not in counts or not all(type(x) in (int, float) and np.isfinite(x) for x in given):
            many = " or ".join(map(str, counts))
            raise InputError(f"{what} is {value!r}; it must be {many} number{'s' * (many != '1')}")
        return [float(x) for x in given]

    def _shape(self, kind: str, thing: Mapping[str, Any]) -> Shape:
        if kind in SOLIDS:
            make, count = SOLIDS[kind]
            return make(*self._numbers(thing[kind], kind, (count,)))
        path = self._path(thing[kind], kind)
        if not path.is_file():
            raise InputError(f"{kind} is {thing[kind]!r}, and there is no such file beside {self.file.name}")
        scale = np.array(self._numbers(thing.get("scale", 1.0), "scale", (1, 3)))
        points, faces, _ = read_mesh(str(path), "the mesh of a scene")
        return Hull(points * scale) if kind == "hull" else TriangleMesh(points * scale, faces)

    # ---- the ground ------------------------------------------------------------------------------------

    def _ground(self, value: object) -> Ground | None:
        if value is True or value is False:
            return Ground() if value else None
        table = self._table(value, "ground")
        self._known(table, GROUND, "ground")
        given: dict[str, Any] = {key: tuple(x) if isinstance(x, list) else x for key, x in table.items()}
        if "planes" in table:
            given["planes"] = tuple(self._plane(plane) for plane in table["planes"])
        if "terrain" in table:
            given["terrain"] = self._terrain(self._table(table["terrain"], "ground.terrain"))
        return Ground(**given)

    def _plane(self, value: object) -> tuple[list[float], float]:
        table = self._table(value, "ground.planes")
        self._known(table, ("normal", "height"), "ground.planes")
        normal = self._numbers(table.get("normal", [0.0, 0.0, 1.0]), "normal", (3,))
        return normal, self._numbers(table.get("height", 0.0), "height", (1,))[0]

    def _terrain(self, table: Mapping[str, Any]) -> HeightField:
        self._known(table, TERRAIN, "ground.terrain")
        if ("heights" in table) == ("file" in table):
            raise InputError("ground.terrain needs heights, rows of numbers, or the file of a table (.csv, .npy)")
        heights = table.get("heights")
        if heights is None:
            path = self._path(table["file"], "ground.terrain.file")
            try:
                binary = path.suffix == ".npy"
                heights = np.load(path, allow_pickle=False) if binary else np.loadtxt(path, delimiter=",")
            except (OSError, ValueError) as error:
                raise InputError(f"ground.terrain.file {table['file']!r} cannot be read: {error}") from None
        spacing = self._numbers(table.get("spacing", 1.0), "spacing", (1, 2))
        origin = self._numbers(table.get("origin", [0.0, 0.0, 0.0]), "origin", (3,))
        return HeightField(heights, spacing, (origin[0], origin[1], origin[2]))
