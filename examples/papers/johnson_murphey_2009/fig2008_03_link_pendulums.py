"""Johnson & Murphey 2008, Fig. 3: runtime of pendulums of up to 19 links over 10 s, with and without the cache.

    python fig2008_03_link_pendulums.py [--quick] [--out FOLDER]

The paper's claims: a value that was computed once is kept and used again, which gives significant gains in speed. Even
with 19 links the simulation of 10 s takes less than 20 s. The paper does not give the step or the start. Here the step
is 0.01 s, and the links are aligned at 45 degrees, as in the paper of 2009 (its Fig. 7). The solid line is with the
cache, the dotted line without it, as in the paper. The default, a sweep in linear time, stands beside.

Result: with the cache 19 links take a small part of a second, on a computer of today and in compiled code. The gain
grows with the number of links. The table says until when a run came, and how well the energy was kept.
"""

import sys
from pathlib import Path

import mechanisms
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

WAYS = {
    "with the cache": {"residual": "tree", "caching": True},
    "without": {"residual": "tree", "caching": False},
    "recursive": {},
}
STYLES = {"with the cache": common.LINES[0], "without": common.LINES[3], "recursive": common.LINES[1]}
CLAIM = 20.0


def seconds_of(model, q0, duration: float, dt: float, options) -> tuple[float, float, float]:
    """Least seconds of some runs, the time until which they came [s], and the change of the energy as a share of it."""
    best = np.inf
    for _ in range(3):
        try:
            run = vt.simulate(model, q0, duration=duration, dt=dt, method="midpoint", **options)
        except vt.ConvergenceError as stop:
            run = stop.trajectory
        best = min(best, run.seconds)
        if best > 1.0:
            break
    energy = np.abs(run.energy - run.energy[0]).max() / max(run.kinetic.max(), 1e-300)
    return best, run.t[-1], energy


def main() -> None:
    arguments = common.arguments(__doc__)
    duration, dt = (1.0 if arguments.quick else 10.0), 0.01
    counts = [1, 2, 5, 19] if arguments.quick else list(range(1, 20))
    found = {way: [] for way in WAYS}
    rows = []
    for links in counts:
        model, q0 = mechanisms.link_pendulum(links)
        for way, options in WAYS.items():
            found[way].append(seconds_of(model, q0, duration, dt, options))
        times = [found[way][-1][0] for way in WAYS]
        _, until, energy = found["with the cache"][-1]
        rows.append([links, *(f"{1e3 * s:.3f}" for s in times), f"{times[1] / times[0]:.1f}", f"{until:g}",
                     f"{energy:.0e}"])  # fmt: skip
    print(f"pendulums of links, {duration:g} s, dt = {dt} s: runtime [ms], the gain by the cache, until when the")
    print("cached run came, and the largest change of its energy over the largest kinetic energy")
    common.table(["links", *WAYS, "gain", "until [s]", "energy"], rows)

    figure, axes = common.figure(1, 2, size=(10, 3.9))
    for way, values in found.items():
        for panel in axes:
            panel.plot(counts, [s for s, *_ in values], marker=".", label=way, **STYLES[way])
    axes[1].set_yscale("log")
    for panel in axes:
        panel.set(xlabel="links", ylabel=f"runtime of {duration:g} s [s]", xticks=range(1, 20, 3))
    axes[0].legend(fontsize="small")
    common.save(figure, arguments.out, "fig2008_03_link_pendulums.png")

    gains = [plain[0] / cached[0] for plain, cached in zip(found["without"], found["with the cache"], strict=True)]
    last, until, _ = found["with the cache"][-1]
    common.claims(
        ("with 19 links the simulation of 10 s takes less than 20 s",
         f"{counts[-1]} links take {last:.3g} s with the cache, {found['without'][-1][0]:.3g} s without, "
         f"{found['recursive'][-1][0]:.3g} s by recursion; the cached run ends at {until:g} s of {duration:g} s",
         (last < CLAIM and until > duration - dt) if not arguments.quick else "not the whole run"),
        ("caching leads to significant speed improvements",
         f"{gains[0]:.1f} times as fast with {counts[0]} link, {gains[-1]:.1f} times with {counts[-1]}", gains[-1] > 2),
    )  # fmt: skip


if __name__ == "__main__":
    main()
