"""Gradients for other programs: time a run, and a run with its gradient by all torques, in PyTorch and JAX.

    python benchmarks/bridges.py [--smoke]

The gradient is that of a cost at the end. "numpy" is ``vt.rollout``, what the run costs without a bridge. All take
turns, and the least of many turns counts.
"""

from __future__ import annotations

import argparse

import numpy as np
import peers

import vitree as vt

STEPS, ROUNDS = 100, 7
STARTS = (1, 16, 64)


def in_torch(model, dt, q, p, torque):
    """A run, and a run with its gradient."""
    import torch

    from vitree.bridges.torch import Steps

    steps = Steps(model, dt=dt)
    start = [torch.tensor(x) for x in (q, p)]
    forces = torch.tensor(torque, requires_grad=True)

    def gradient():
        forces.grad = None
        Q, _ = steps.run(*start, forces)
        (Q[:, -1] ** 2).sum().backward()

    return lambda: steps.run(*start, forces), gradient


def in_jax(model, dt, q, p, torque):
    """A run, and a run with its gradient, both compiled."""
    import jax

    from vitree.bridges.jax import Steps

    jax.config.update("jax_enable_x64", True)
    steps = Steps(model, dt=dt)
    run = jax.jit(lambda forces: steps.run(q, p, forces))
    gradient = jax.jit(jax.grad(lambda forces: (steps.run(q, p, forces)[0][:, -1] ** 2).sum()))
    return lambda: jax.block_until_ready(run(torque)), lambda: jax.block_until_ready(gradient(torque))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="only see that it runs")
    smoke = parser.parse_args().smoke
    steps, rounds = (4, 1) if smoke else (STEPS, ROUNDS)
    print(peers.machine())
    print(f"us for a step of an instance, of {steps} steps")
    columns = ("numpy", "torch", "+ gradient", "jax", "+ gradient")
    print(f"{'':24s}" + "".join(f"{name:>12s}" for name in columns))
    for name in ("double_pendulum", "arm6"):
        model = vt.load_urdf(vt.find_robot(name))
        rng = np.random.default_rng(0)
        for n in STARTS:
            q, p = 0.3 * rng.uniform(-1, 1, (n, model.nq)), np.zeros((n, model.nv))
            torque, dt = np.zeros((n, steps, model.nv)), 0.005
            calls = [lambda q=q, p=p, torque=torque, model=model, dt=dt: vt.rollout(
                model, q, p0=p, duration=steps * dt, dt=dt, method="linear-time", control=torque, tolerance=1e-12,
                record=("q", "p"))]  # fmt: skip
            calls += [*in_torch(model, dt, q, p, torque), *in_jax(model, dt, q, p, torque)]
            least = np.full(len(calls), np.inf)
            for _ in range(rounds):
                least = np.minimum(least, [peers.best_of(call, n * steps, 1) for call in calls])
            print(f"{name + f', {n} starts':24s}" + "".join(f"{x:12.2f}" for x in least))


if __name__ == "__main__":
    main()
