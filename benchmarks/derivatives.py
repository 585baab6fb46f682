"""Derivatives of inverse and forward dynamics, on one core: time a state, beside Pinocchio's in the same run.

    python benchmarks/derivatives.py [--no-cpp] [--smoke]

Rows of vitree are the methods of a model on one state and on a stack of states, with all their checks ("method"), and
the compiled loops alone ("kernel"): of one lane, and of as many as the processor has. Pinocchio's rows are its calls
from Python, and from C++, compiled here. All take turns, and the least of many turns counts.

Another table is of chains of 10 to 200 joints: the time grows with the square of their number.
"""

from __future__ import annotations

import argparse

import numpy as np
import peers

import vitree as vt
from vitree._core import scalar, wide, width

STATES = 256
ROUNDS = 5
NAMES = ("rnea_derivatives", "aba_derivatives", "inverse_mass_matrix")


def own_calls(model: vt.Model) -> dict[str, tuple[int, dict]]:
    """Name of a row -> the number of states, and the calls."""
    rng = np.random.default_rng(0)
    steps, v, a = rng.uniform(-1, 1, (3, STATES, model.nv))
    q, core, g = model.integrate(model.neutral(), steps), model.core, model.gravity
    out = [np.empty((STATES, model.nv**2)) for _ in range(3)]
    one = (q[0].copy(), v[0].copy(), a[0].copy())

    def kernels(module):
        return {
            "rnea_derivatives": lambda: module.batch_rnea_derivatives(core, g, q, v, a, *out),
            "aba_derivatives": lambda: module.batch_aba_derivatives(core, g, q, v, a, *out),
            "inverse_mass_matrix": lambda: module.batch_inverse_mass_matrix(core, q, out[0]),
        }

    def methods(q, v, a):
        return {
            "rnea_derivatives": lambda: model.rnea_derivatives(q, v, a),
            "aba_derivatives": lambda: model.aba_derivatives(q, v, a),
            "inverse_mass_matrix": lambda: model.inverse_mass_matrix(q),
        }

    return {
        "method, one state": (1, methods(*one)),
        "kernel, 1 lane": (STATES, kernels(scalar())),
        f"method, {STATES} states": (STATES, methods(q, v, a)),
        f"kernel, {width()} lanes": (STATES, kernels(wide())),
    }


def pinocchio_calls(text: str, free: bool) -> dict:
    """Pinocchio's calls from Python."""
    import pinocchio as pin

    model = peers.pinocchio_model(text, free)
    data = model.createData()
    rng = np.random.default_rng(0)
    steps, v, a = rng.uniform(-1, 1, (3, model.nv))
    q = pin.integrate(model, pin.neutral(model), steps)
    return {
        "rnea_derivatives": lambda: pin.computeRNEADerivatives(model, data, q, v, a),
        "aba_derivatives": lambda: pin.computeABADerivatives(model, data, q, v, a),
        "inverse_mass_matrix": lambda: pin.computeMinverse(model, data, q),
    }


def timed(count: int, calls: dict) -> dict[str, float]:
    """Microseconds a state."""
    return {name: peers.best_of(call, count, 200 if count == 1 else 20) for name, call in calls.items()}


def robots(no_cpp: bool) -> None:
    """Print the table of each robot."""
    for robot, (text, free) in peers.robots().items():
        if robot == "chain10":
            continue
        model = vt.load_urdf(text, base="free" if free else "fixed")
        calls = own_calls(model) | {"pinocchio, Python": (1, pinocchio_calls(text, free))}
        rows: dict[str, dict[str, float]] = {}
        for _ in range(ROUNDS):
            turns = {label: timed(*row) for label, row in calls.items()}
            if not no_cpp:
                for flags in ((), ("-march=native",)):
                    found = peers.pinocchio_cpp(text, free, (*flags, "-DDERIVATIVES"))
                    if found is not None:
                        turns[" ".join(["pinocchio, C++ -O3", *flags])] = {name: found[name] for name in NAMES}
            for label, times in turns.items():
                known = rows.setdefault(label, times)
                rows[label] = {name: min(times[name], known[name]) for name in NAMES}
        base = next(row for label, row in reversed(rows.items()) if label.startswith("pinocchio"))
        print(f"\n{robot}: us a state (share of the last row)")
        print(f"{'':34s}" + "".join(f"{name:>22s}" for name in NAMES))
        for label, row in rows.items():
            cells = "".join(f"{f'{row[name]:8.2f} ({row[name] / base[name]:5.2f})':>22s}" for name in NAMES)
            print(f"{label:34s}{cells}")


def chains(lengths: tuple[int, ...]) -> None:
    """Print the times of chains."""
    print(f"\nchains: us a state, {width()} lanes, and in brackets ns by nv^2")
    print(f"{'nv':>6s}" + "".join(f"{name:>22s}" for name in NAMES))
    for n in lengths:
        model = vt.load_urdf(peers.chain_urdf(n, offset=0.3, alternate_axes=True))
        times = timed(*own_calls(model)[f"kernel, {width()} lanes"])
        print(f"{n:6d}" + "".join(f"{f'{times[x]:8.2f} ({1e3 * times[x] / n**2:5.1f})':>22s}" for x in NAMES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-cpp", action="store_true", help="leave out Pinocchio from C++ (minutes to compile)")
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    options = parser.parse_args()
    if options.smoke:
        global STATES, ROUNDS
        STATES, ROUNDS = 8, 1
    print(peers.machine())
    robots(options.no_cpp or options.smoke)
    chains((10,) if options.smoke else (10, 20, 50, 100, 200))


if __name__ == "__main__":
    main()
