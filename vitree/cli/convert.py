"""The command that writes runs and robots in other formats: convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from vitree.cli.base import Force, Json, argument, option
from vitree.cli.console import Busy, check_writable, out, print_json
from vitree.cli.names import is_run, sources
from vitree.cli.options import GRAVITY, Reading, find
from vitree.errors import InputError, ModelError
from vitree.run.trajectory import LEFT_OUT, Trajectory
from vitree.run.trajectory import convert as convert_run
from vitree.tree.tree import Tree
from vitree.writing import write_text

#: Endings of robot files that are written, and the gravity that URDF files are read with.
_WRITTEN = (".urdf", ".sexpr")
STANDARD = tuple(map(float, GRAVITY.split(",")))


def convert(
    reading: Reading,
    source: Annotated[
        str,
        argument("File of a run (.npz), or a robot, by its name or file.", "SOURCE", sources),
    ],
    target: Annotated[
        Path,
        argument("Output file: .csv, .json, .mcap, .nc or .npz for a run; .urdf or .sexpr for a robot.", "TARGET"),
    ],
    lossy: Annotated[
        bool, option("--lossy", text="Omit parts that URDF cannot represent, such as loads, instead of refusing.")
    ] = False,
    contacts: Annotated[
        bool, option("--contacts", text="Write the contacts of a run to a .csv file, one row per contact.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Convert a run or a robot to another format.

    Prints what the format cannot represent.
    """
    check_writable("TARGET", target, force=force)
    if is_run(source):
        reading.refuse("the source is a run, which has no such options; leave it out", lossy=(lossy, False))
        with Busy(f"writing {target}"):
            convert_run(Trajectory.load(source), target, contacts)
        lost = "all but contacts" if contacts else LEFT_OUT[target.suffix.lower()]
    elif contacts:
        raise InputError("--contacts is for runs, and the source is a robot; leave it out")
    else:
        lost = _write_robot(_tree(reading, source), target, lossy)
    if as_json:
        print_json({"file": str(target), "source": source, "left_out": lost or None})
    else:
        out(f"wrote {target}" + (f"; left out: {lost}" if lost else ""))


def _tree(reading: Reading, source: str) -> Tree:
    from vitree.mjcf import from_mujoco
    from vitree.mjcf.files import is_mjcf
    from vitree.sdf.reader import is_sdf, read_sdf
    from vitree.tree.sexpr import read_sexpr
    from vitree.urdf import read_urdf

    if source.endswith(".sexpr"):
        reading.refuse(f"{source} defines this itself; leave it out")
        return read_sexpr(source)
    path = find(source)
    with reading.naming_check(source):
        if is_mjcf(path):
            return from_mujoco(path, **reading.of_mjcf(source)).tree
        if is_sdf(path):
            return read_sdf(path, **reading.of_sdf(source))
        return read_urdf(path, **reading.options(path))


def _write_robot(tree: Tree, target: Path, lossy: bool) -> str:
    """Write a tree to a file and return the parts that the file does not hold."""
    from vitree.tree.sexpr import write_sexpr

    ending = target.suffix.lower()
    if ending not in _WRITTEN:
        raise InputError(f'{target} has the ending "{ending}"; a robot is written as one of {", ".join(_WRITTEN)}')
    if ending == ".sexpr":
        if lossy:
            raise InputError("--lossy is for .urdf; an s-expression represents everything but shapes; leave it out")
        text = write_sexpr(tree)
        lost = ["shapes"] if tree.compile().geometry else []
    else:
        text, lost = _urdf(tree, lossy)
    write_text(target, text)
    return ", ".join(lost)


def _urdf(tree: Tree, lossy: bool) -> tuple[str, list[str]]:
    """Return the text of a URDF file, and the parts that it does not hold."""
    from vitree.urdf import write_urdf

    lost = []
    try:
        text = write_urdf(tree)
    except ModelError as refusal:
        if not lossy:
            raise
        text = write_urdf(tree, lossy=True)
        lost = [str(refusal).partition('": ')[2].partition(". Remedy")[0]]
    model = tree.compile()
    if any(joint.kind == "free" for joint in model.joints) and 'type="floating"' not in text:
        lost.append("the free joint of the base (--base free makes it)")
    x, y, z = model.gravity
    if (x, y, z) != STANDARD:
        lost.append(f"gravity (--gravity={x:g},{y:g},{z:g} gives it)")
    return text, lost
