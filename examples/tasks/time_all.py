"""Time the tasks, each from its start to its end in a process of its own, and write the tables of README.md.

    python time_all.py [--repeats N] [--only TASK ...] [--smoke]

Each script runs once before it is timed, so that its compiled bytecode is there. Of N runs the shortest counts.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import tokenize
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = {"vitree": HERE, "MuJoCo": HERE / "mujoco", "Pinocchio": HERE / "pinocchio"}
IMPORTS = {"vitree": "vitree", "MuJoCo": "mujoco", "Pinocchio": "pinocchio"}
BEGIN, END = "<!-- measured by time_all.py -->", "<!-- end -->"
#: What is not code of a line.
NOTHING = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
#: What differs, by task.
DIFFERS = {
    "01_install": "Pinocchio has no loop: the script has its own.",
    "02_see": (
        "vitree writes a page that moves each of 41 coordinates through its range; most of its time goes into "
        "the messages of viser. MuJoCo writes a picture of one posture. Pinocchio serves a page by viser "
        "while the script runs."
    ),
    "03_stand": (
        "MuJoCo's contacts are springs: the figure sinks in and creeps. vitree's are rigid. Pinocchio has "
        "solvers of contact problems, but nothing that finds contacts of shapes and steps with them."
    ),
    "04_pd": (
        "In vitree the controller is a function that is asked once a step; with MuJoCo and Pinocchio the loop "
        "is in the script. Most of vitree's time are imports: its own, and those of its reader of robot "
        "files."
    ),
    "05_rollouts": "MuJoCo records all steps and vitree the ends. The loop of Pinocchio is in the script.",
    "06_compare": (
        "vitree has the comparison, the reference and the picture; it compares one method more. With the "
        "others they are in the script, and so are Pinocchio's integrators. MuJoCo's reference is its own RK4 "
        "with dt = 0.1 ms."
    ),
    "07_four_bar": (
        "vitree closes the loop to round-off. MuJoCo's loop is a stiff spring. Pinocchio has the acceleration "
        "of the constraint, and the loop and Baumgarte's correction are in the script. Both need Newton's "
        "method for the start."
    ),
    "08_puppet": (
        "vitree closes the strings to round-off. MuJoCo's tendons are strings that may go slack, and yield. "
        "Most of vitree's time goes into splines through the given lengths, and into importing those of "
        "SciPy. Pinocchio has no constraint whose distance is prescribed."
    ),
    "09_lqr": (
        "vitree's derivatives are exact, MuJoCo's are differences. Pinocchio has those of the acceleration, "
        "from which the script makes those of a step. `vitree.control` imports all of its solvers, which "
        "takes most of its time."
    ),
    "10_parking": "MuJoCo and Pinocchio have no optimal control, and no car whose wheels roll without slip.",
    "11_table": (
        "MuJoCo's contacts are springs: the ball sinks in when it falls, and the cup settles by a tenth of a "
        "millimetre. Pinocchio has no steps with contacts."
    ),
    "12_two_arms": "Pinocchio has no drives: the script would have its own loop.",
    "13_gripper": (
        "In vitree the second finger follows the first and has no coordinate; MuJoCo's equality is a stiff "
        "spring. Pinocchio appends models, and has neither gears nor drives."
    ),
    "14_pick_and_place": (
        "`attach` is an inelastic impact, noted in the run. MuJoCo's weld is switched on, and its pose is "
        "written by hand. Pinocchio has no steps with contacts."
    ),
    "15_drawer": (
        "The stop and the grip are exact in vitree, and springs in MuJoCo. Pinocchio has no limits and no dry "
        "friction in its steps."
    ),
    "16_cart": (
        "Wheels at different speeds slip: the turn depends on creeping friction in MuJoCo, and on sliding friction "
        "alone in vitree. Pinocchio has no steps with contacts."
    ),
    "17_push_and_drag": (
        "vitree sums the forces of contacts of a body; with MuJoCo the script does. Pinocchio has no steps with "
        "contacts."
    ),
    "18_cassie": (
        "MuJoCo reads no SDF, and Pinocchio has no steps with contacts. The leaf springs are drives with the "
        "stiffness of the file, preloaded for the posture; the legs are closed by ball joints, exactly."
    ),
    "19_humanoid_spec": (
        "The humanoid is Unitree's G1 of example-robot-data; no package here brings an H1 in MJCF. MuJoCo's drives "
        "sag, and vitree's have the targets of an equilibrium. Pinocchio has no steps with contacts."
    ),
    "20_rope_and_pulley": (
        "vitree's rope has its length to round-off and pulls by an impulse where it becomes taut; MuJoCo's tendon "
        "yields as a stiff spring. Pinocchio has no tendons."
    ),
}


def count_code(path: Path) -> int:
    """Lines of a script with code: no docstrings, comments or empty lines."""
    text = path.read_text()
    strings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            strings |= {*range(node.lineno, node.end_lineno + 1)}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOTHING:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    return len(lines - strings)


def run_once(command: list[str], folder: str, environment: dict) -> tuple[float, float, str]:
    """Seconds from start to end, seconds of the processor, and the last line that is printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    told = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("(viser)")]
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, told[-1] if told else ""


def measure(commands: dict[tuple[str, str], list[str]], repeats: int) -> dict:
    """Least seconds, least processor seconds and the last line of each command, which take turns."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if "DISPLAY" not in environment:
        environment.setdefault("MUJOCO_GL", "egl")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        for turn in range(repeats + 1):
            for key, command in commands.items():
                wall, processor, line = run_once(command, folder, environment)
                if turn:
                    least = found.get(key, (wall, processor, line))
                    found[key] = min(wall, least[0]), min(processor, least[1]), line
    return found


def cell(found: dict, key: tuple[str, str]) -> str:
    return f"{found[key][0]:.1f} ({found[key][1]:.1f})" if key in found else "-"


def tables(tasks: list[str], found: dict, repeats: int) -> str:
    """The text between the marks of README.md."""
    names = {"vitree": "vitree", "mujoco": "MuJoCo", "pin": "Pinocchio", "numpy": "NumPy"}
    versions = ", ".join(f"{name} {version(package)}" for package, name in names.items() if package != "vitree")
    rows = [f"Python {platform.python_version()}, {versions}, {os.cpu_count()} cores, the least of {repeats} runs. "
            "In brackets: seconds of the processor, of all cores together.", "",
            "| task | lines of code | | | seconds, import and all | | | what differs |",
            "|---|---|---|---|---|---|---|---|",
            "| | vitree | MuJoCo | Pinocchio | vitree | MuJoCo | Pinocchio | |"]  # fmt: skip
    for task in ["import alone", *tasks]:
        paths = {library: folder / f"{task}.py" for library, folder in LIBRARIES.items()}
        lines = [str(count_code(path)) if path.exists() else "-" for path in paths.values()]
        seconds = [cell(found, (task, library)) for library in LIBRARIES]
        rows.append(f"| {task} | {' | '.join(lines)} | {' | '.join(seconds)} | {DIFFERS.get(task, '')} |")
    rows += ["", "The last line that each script prints:", "", "| task | | |", "|---|---|---|"]
    rows += [f"| {task} | {library} | {found[task, library][2]} |"
             for task in tasks for library in LIBRARIES if (task, library) in found]  # fmt: skip
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", metavar="TASK", help="print these alone, and leave README.md")
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: the first task, once")
    chosen = parser.parse_args()
    tasks = sorted(path.stem for path in HERE.glob("[0-9]*.py"))
    wanted = tasks[:1] if chosen.smoke else chosen.only or tasks
    repeats = 1 if chosen.smoke else chosen.repeats
    commands = {("import alone", name): [sys.executable, "-c", f"import {module}"] for name, module in IMPORTS.items()}
    commands |= {(task, library): [sys.executable, str(folder / f"{task}.py")] for task in wanted
                 for library, folder in LIBRARIES.items() if (folder / f"{task}.py").exists()}  # fmt: skip
    text = tables(wanted, measure(commands, repeats), repeats)
    print(text)
    if wanted == tasks:
        page = HERE / "README.md"
        head, _, rest = page.read_text().partition(BEGIN)
        page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
