"""Many states at once, on one core: time a state of a batch, beside Pinocchio's time of a call, in the same run.

    python benchmarks/batch.py [--no-cpp] [--only {dynamics,se3}] [--smoke]

Rows of vitree are the methods of a model on a stack of states, with all their checks ("method"), and the compiled loop
alone ("kernel"). Pinocchio has no lanes: its rows are the least of its loops of single calls from C++, compiled here
("C++"), and of its own loops over batches on one thread ("batch"). All take turns, and the least of many turns counts.

The other table is of SE(3), ``vitree.lie.se3`` with its checks and ``out=``: nanoseconds an element of a stack that
fits the cache, and of one that does not, beside NumPy's products of matrices and SciPy's RigidTransform.
"""

from __future__ import annotations

import argparse

import numpy as np
import peers

import vitree as vt
from vitree._core import wide, width
from vitree.lie import SE3, se3

#: States of a batch: few enough for the processor's cache.
STATES = 512
ROUNDS = 5
#: Elements of SE(3): few enough for the processor's second cache, and far too many for the last.
ELEMENTS = (1000, 1_000_000)


def states(model: vt.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows q, v and a third."""
    rng = np.random.default_rng(0)
    steps, v, a = rng.uniform(-1, 1, (3, STATES, model.nv))
    return model.integrate(model.neutral(), steps), v, a


def own_calls(model: vt.Model) -> dict[str, dict]:
    """Name of a row -> the methods and the compiled loops."""
    q, v, a = states(model)
    core, g, kernels = model.core, model.gravity, wide()
    vector, matrix = np.empty((STATES, model.nv)), np.empty((STATES, model.nv**2))
    return {
        "method": {
            "rnea": lambda: model.rnea(q, v, a),
            "aba": lambda: model.aba(q, v, a),
            "crba": lambda: model.crba(q),
        },
        "kernel": {
            "rnea": lambda: kernels.batch_rnea(core, g, q, v, a, vector),
            "aba": lambda: kernels.batch_aba(core, g, q, v, a, vector),
            "crba": lambda: kernels.batch_crba(core, q, matrix),
        },
    }


def pinocchio_batches(text: str, free: bool) -> dict:
    """Pinocchio's own loops over batches on one thread, as its wheel has them."""
    import pinocchio as pin

    model = peers.pinocchio_model(text, free)
    rng = np.random.default_rng(0)
    v, a = (np.asfortranarray(x) for x in rng.uniform(-1, 1, (2, model.nv, STATES)))
    q = np.asfortranarray(np.array([pin.integrate(model, pin.neutral(model), x) for x in v.T]).T)
    out, pool = np.empty_like(v, order="F"), pin.ModelPool(model, 1)
    return {
        "rnea": lambda: pin.rneaInParallel(1, pool, q, v, a, out),
        "aba": lambda: pin.abaInParallel(1, pool, q, v, a, out),
    }


def least(found: dict[str, float], more: dict[str, float]) -> dict[str, float]:
    return {name: min(value, found.get(name, np.inf)) for name, value in more.items()}


def dynamics(no_cpp: bool) -> None:
    """Print the kernels of dynamics."""
    names = ("rnea", "aba", "crba")
    for robot, (text, free) in peers.robots().items():
        if robot == "chain10":
            continue
        model = vt.load_urdf(text, base="free" if free else "fixed")
        own, batches = own_calls(model), pinocchio_batches(text, free)
        rows: dict[str, dict[str, float]] = {}
        for _ in range(ROUNDS):
            turns = {key: {name: peers.best_of(call, STATES) for name, call in calls.items()}
                     for key, calls in {**own, "pinocchio, batch": batches}.items()}  # fmt: skip
            if not no_cpp:
                for label, flags in (("-O3", ()), ("-march=native", ("-march=native",))):
                    found = peers.pinocchio_cpp(text, free, flags)
                    if found is not None:
                        turns[f"pinocchio, C++ {label}"] = {name: found[name] for name in names}
            for key, times in turns.items():
                rows[key] = least(rows.get(key, {}), times)
        print(f"\n{robot}: us a state, {STATES} states, {width()} lanes (share of the method in it)")
        print(f"{'':28s}" + "".join(f"{name:>18s}" for name in names))
        for label, row in rows.items():
            cells = [f"{row[n]:8.3f} ({rows['method'][n] / row[n]:5.3f})" if n in row else "-" for n in names]
            print(f"{label:28s}" + "".join(f"{cell:>18s}" for cell in cells))


def elements(n: int, rows: int) -> dict[str, dict]:
    """Name of a row -> actions on stacks of n elements of so many rows."""
    from scipy.spatial.transform import RigidTransform

    rng = np.random.default_rng(0)
    X, Y = (np.ascontiguousarray(SE3.random(rng, (n,))[:, :rows]) for _ in range(2))
    x, points = rng.normal(size=(n, 6)), rng.normal(size=(n, 3))
    Z, twist, point, adjoint = np.empty_like(X), np.empty((n, 6)), np.empty((n, 3)), np.empty((n, 6, 6))
    own = {
        "product": lambda: se3.product(X, Y, out=Z),
        "inverse": lambda: se3.inverse(X, out=Z),
        "exp": lambda: se3.exp(x, out=Z),
        "log": lambda: se3.log(X, out=twist),
        "Ad": lambda: se3.Ad(X, out=adjoint),
        "act": lambda: se3.act(X, points, out=point),
    }
    found = {f"vitree, {rows} rows": own}
    if rows == 4:
        A, B = RigidTransform.from_matrix(X), RigidTransform.from_matrix(Y)
        found["numpy"] = {"product": lambda: np.matmul(X, Y, out=Z)}
        found["scipy"] = {
            "product": lambda: A * B, "inverse": lambda: A.inv(), "exp": lambda: RigidTransform.from_exp_coords(x),
            "log": lambda: A.as_exp_coords(), "act": lambda: A.apply(points),
        }  # fmt: skip
    return found


def groups() -> None:
    """Print the actions of SE(3)."""
    names = ("product", "inverse", "exp", "log", "Ad", "act")
    for n in ELEMENTS:
        calls = elements(n, 3) | elements(n, 4)
        repeats = max(3, min(200, 10**6 // n))
        rows: dict[str, dict[str, float]] = {}
        for _ in range(min(ROUNDS, max(1, 10**5 // n))):
            for key, row in calls.items():
                times = {name: 1e3 * peers.best_of(call, n, repeats) for name, call in row.items()}
                rows[key] = least(rows.get(key, {}), times)
        print(f"\nSE(3): ns an element, {n} elements")
        print(f"{'':28s}" + "".join(f"{name:>10s}" for name in names))
        for label, row in rows.items():
            print(f"{label:28s}" + "".join(f"{row[n]:10.2f}" if n in row else f"{'-':>10s}" for n in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-cpp", action="store_true", help="leave out Pinocchio from C++ (minutes to compile)")
    parser.add_argument("--only", choices=("dynamics", "se3"), help="one of the tables")
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    arguments = parser.parse_args()
    print(peers.machine())
    if arguments.smoke:
        global STATES, ROUNDS, ELEMENTS
        STATES, ROUNDS, ELEMENTS, arguments.no_cpp = 16, 1, (10,), True
    if arguments.only != "se3":
        dynamics(arguments.no_cpp)
    if arguments.only != "dynamics":
        groups()


if __name__ == "__main__":
    main()
