"""Seconds in which robots load with a ground, each in a process of its own: the hulls of their meshes are made.

    python benchmarks/loads.py [--smoke] [--all]

"made" has no cache of hulls, "first" an empty one, "again" one with the hulls; the import of vitree is left out. The
least of three processes counts, and the files were read before. With --all the robots are all those that
``vt.find_robot`` knows, without the network.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import vitree as vt
from vitree.urdf.robots import list_robots

#: Few meshes and many, of all kinds of files.
ROBOTS = ("g1", "g1_29dof_with_hand", "talos", "romeo", "tiago_dual", "centauro", "alex_psyonic_hands", "so101", "z1",
          "xarm7", "panda", "go1", "laikago", "human")  # fmt: skip
LOAD = """
import sys, time, vitree as vt
start = time.perf_counter()
model = vt.load_urdf(sys.argv[1], "free", ground=vt.Ground(friction=0.7))
shapes = [shape for contact in model.contacts for shape in contact.shapes]
print(time.perf_counter() - start, sum(isinstance(shape, vt.Hull) for shape in shapes), len(shapes))
"""


def load(path: Path, cache: str) -> tuple[float, int, int]:
    """Seconds of a load in a new process, hulls and shapes; raise a CalledProcessError for a robot without shapes."""
    told = subprocess.run([sys.executable, "-c", LOAD, path], env={**os.environ, "VITREE_CACHE": cache},
                          capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
    return float(told[0]), int(told[1]), int(told[2])


def times(path: Path, rounds: int) -> tuple[list[float], int, int]:
    """The least seconds without a cache, with an empty one and with the hulls; hulls and shapes."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.append([load(path, cache) for cache in ("off", folder, folder)])
    least = [min(each[k][0] for each in found) for k in range(3)]
    return least, *found[0][0][1:]


def main() -> None:
    """Print a row for each robot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    parser.add_argument("--all", action="store_true", help="all robots that are installed")
    arguments = parser.parse_args()
    names = ("so101", "human") if arguments.smoke else list_robots() if arguments.all else ROBOTS
    print("| | shapes | of them hulls | made | first | again |\n|---|---|---|---|---|---|")
    for name in names:
        try:
            seconds, hulls, shapes = times(vt.find_robot(name), 1 if arguments.smoke else 3)
        except subprocess.CalledProcessError as error:
            print(f"| {name} | " + error.stderr.strip().splitlines()[-1][:80] + " | | | | |")
        else:
            made, first, again = (f"{each:.2f}" for each in seconds)
            print(f"| {name} | {shapes} | {hulls} | {made} | {first} | {again} |", flush=True)


if __name__ == "__main__":
    main()
