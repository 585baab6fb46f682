"""Derivatives of steps along a run: time a step, beside that of the step itself and of Pinocchio's ABA derivatives.

    python benchmarks/linearize.py [--smoke]

"map" is all columns of A and of the derivative by torque, as ``run.linearize()`` makes them; "kernels" is the compiled
part of that; "gradient" is that of a number by all states, torques and 50 parameters, by one sweep back. trep 1.0.3
takes 454 us for the first derivatives of a step of the pendulum of 20 links (recorded on another machine). All take
turns, and the least of many turns counts. Then the same of a G1 and a quadruped that stand, held by drives.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import numpy as np
import peers

import vitree as vt
from vitree.integrators.slopes import slopes

STEPS, ROUNDS = 1000, 5


def robots() -> dict[str, tuple[str, bool]]:
    found = {f"chain{n}": (peers.chain_urdf(n), False) for n in (10, 20, 40)}
    return found | {name: robot for name, robot in peers.robots().items() if name == "talos"}


def pinocchio_call(text: str, free: bool, q: np.ndarray):
    """One call of computeABADerivatives from Python."""
    import pinocchio as pin

    model = peers.pinocchio_model(text, free)
    data, v = model.createData(), np.zeros(model.nv)
    at = pin.integrate(model, pin.neutral(model), np.full(model.nv, 0.1))
    return lambda: pin.computeABADerivatives(model, data, at, v, v)


def standing() -> dict[str, tuple[vt.Model, np.ndarray, np.ndarray]]:
    """Robots that stand, held by drives: models, starts and targets."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))
    import stand_ins
    from contact_problems import marcher

    humanoid, q, march = marcher()
    found = {"g1 on eight points": (humanoid, q, np.array(march(0.0, None, None)))}
    quadruped = stand_ins.quadruped(vt.Ground(friction=0.8)).with_drives({"*": (500, 10)})
    q = vt.place_on_ground(quadruped, quadruped.start)
    targets = [float(q[quadruped.joint(drive.joint).q_slice][0]) for drive in quadruped.drives]
    return found | {"quadruped on four spheres": (quadruped, q, np.array(targets))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    steps, rounds = (8, 1) if parser.parse_args().smoke else (STEPS, ROUNDS)
    print(peers.machine())
    print(f"us a step, of {steps} steps (and in steps)")
    print(f"{'':24s}{'step':>10s}{'map':>18s}{'kernels':>18s}{'gradient':>18s}{'pinocchio':>18s}")
    for name, (text, free) in robots().items():
        model = vt.load_urdf(text, base="free" if free else "fixed")
        rng = np.random.default_rng(0)
        q, v = model.integrate(model.neutral(), 0.3 * rng.uniform(-1, 1, model.nv)), 0.5 * rng.uniform(-1, 1, model.nv)
        peer = pinocchio_call(text, free, q)
        for method in ("linear-time", "midpoint"):
            run = vt.simulate(model, q, v, duration=steps * 0.005, dt=0.005, method=method)
            integrator = vt.METHODS[method](model, 0.005)
            rows = run.q[:-1].copy(), run.q[1:].copy(), run.p[:-1].copy(), np.zeros((steps, 0))
            weights = rng.normal(size=(2, steps + 1, model.nv))
            links = [link for link, mass in zip(model.link_names, model.flat.link_mass, strict=True) if mass > 0][:10]
            asked = {"mass": links, "com": links, "damping": [joint.name for joint in model.joints][-10:]}
            least = np.full(5, np.inf)
            for _ in range(rounds):
                least = np.minimum(least, [
                    run.seconds / steps * 1e6,
                    peers.best_of(run.linearize, steps, 3),
                    peers.best_of(lambda i=integrator, x=rows: slopes(i, *x), steps, 3),
                    peers.best_of(lambda: run.gradient(*weights, parameters=asked), steps, 3),  # noqa: B023
                    peers.best_of(peer, 1, 40),
                ])  # fmt: skip
                run = vt.simulate(model, q, v, duration=steps * 0.005, dt=0.005, method=method)
            cells = "".join(f"{us:10.1f} ({us / least[0]:5.1f})" for us in least[1:])
            print(f"{name + ', ' + method:24s}{least[0]:10.1f}{cells}")
    for name, (model, q, inputs) in standing().items():
        for dt in (0.002, 0.005):
            least = np.full(2, np.inf)
            for _ in range(rounds):
                run = vt.simulate(model, q, duration=(steps + 100) * dt, dt=dt, control=vt.Control(inputs=inputs))
                found = run.seconds / (steps + 100) * 1e6, peers.best_of(run.linearize, steps + 100, 1)
                least = np.minimum(least, found)
            print(f"{name}, dt {dt:g}: a step {least[0]:.1f}, its map {least[1]:.0f} ({least[1] / least[0]:.1f})")


if __name__ == "__main__":
    main()
