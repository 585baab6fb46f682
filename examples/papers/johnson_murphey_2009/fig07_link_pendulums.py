"""Johnson & Murphey 2009, Fig. 7 (and 2008, Fig. 3): runtime against the number of links of a pendulum.

    python fig07_link_pendulums.py [--quick] [--out FOLDER]

20 s at dt = 0.01 s from aligned links, the first at 45 degrees. The paper's claim: a cache of the repeated values of
the recursive tree equations makes them drastically quicker, and the runtime grows more slowly with the number of links.

Three ways to evaluate the same equations are timed. The paper has residual="tree" with caching=False and caching=True.
The default of this package is residual="recursive", a sweep in linear time. Result: the cache's gain grows with the
number of links, and the sweep has the least slope. All three take the same steps, so that the angles agree to rounding.
The chaos of many links enlarges rounding; the table therefore compares the angles after one second.
"""

import sys
from pathlib import Path

import mechanisms
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

WAYS = {
    "recursive": {"residual": "recursive"},
    "tree, cached": {"residual": "tree", "caching": True},
    "tree, not cached": {"residual": "tree", "caching": False},
}
#: Runs that would take longer are left out [s].
LONGEST = 120.0


def main() -> None:
    arguments = common.arguments(__doc__)
    duration, dt = 1.0 if arguments.quick else 20.0, 0.01
    counts = [1, 2, 4] if arguments.quick else [*range(1, 11), 20, 40]
    seconds = {way: [] for way in WAYS}
    rows = []
    for k, links in enumerate(counts):
        model, q0 = mechanisms.link_pendulum(links)
        after = []
        for way, options in WAYS.items():
            # the first way runs in any case; without a cache the work grows with about the fourth power of links
            if k and after and not seconds[way][-1] * (links / counts[k - 1]) ** 4 < LONGEST:
                seconds[way].append(np.nan)
                continue
            # short runs are repeated, the least time counts
            runs = [vt.simulate(model, q0, duration=duration, dt=dt, method="midpoint", **options)]
            while len(runs) < 5 and runs[0].seconds < 1.0:
                runs.append(vt.simulate(model, q0, duration=duration, dt=dt, method="midpoint", **options))
            seconds[way].append(min(run.seconds for run in runs))
            after.append(runs[0].at(1.0).q)
        times = [seconds[way][-1] for way in WAYS]
        cells = [f"{1e3 * s:.2f}" for s in times] + [f"{s / times[0]:.1f}" for s in times[1:]]
        difference = max(np.abs(q - after[0]).max() for q in after)
        rows.append([links, *(None if cell == "nan" else cell for cell in cells), f"{difference:.0e}"])
    print(f"pendulums of links, {duration:g} s, dt = {dt} s: runtime [ms], its ratio to recursive's,")
    print("and the largest difference of the angles after 1 s [rad]")
    common.table(["links", *WAYS, "cached/recursive", "not cached/recursive", "difference"], rows)

    figure, axes = common.figure(1, 2, size=(9, 3.8))
    for style, marker, (way, values) in zip(common.LINES, "os^", seconds.items(), strict=False):
        few = np.array(counts) <= 10
        axes[0].plot(np.array(counts)[few], np.array(values)[few], marker=marker, markersize=4, label=way, **style)
        axes[1].loglog(counts, values, marker=marker, markersize=4, label=way, **style)
    for panel in axes:
        panel.set(xlabel="links", ylabel=f"runtime of {duration:g} s [s]")
        panel.legend(fontsize="small")
    axes[0].xaxis.get_major_locator().set_params(integer=True)
    common.save(figure, arguments.out, "fig07_link_pendulums.png")
    claims(np.array(counts), {way: np.array(values) for way, values in seconds.items()})


def claims(counts, seconds) -> None:
    """The claims of section VI-A; slopes are those of the powers of the links from the middle of the counts on."""
    cached, plain = seconds["tree, cached"], seconds["tree, not cached"]
    both = np.isfinite(cached) & np.isfinite(plain)
    gains = (plain / cached)[both]
    slopes = {}
    for way, values in seconds.items():
        ran = np.isfinite(values)
        tail = ran & (counts >= np.median(counts[ran]))
        slopes[way] = np.polyfit(np.log(counts[tail]), np.log(values[tail]), 1)[0]
    common.claims(
        ("with the cache the simulations are drastically faster",
         f"{gains[0]:.1f} times as fast with {counts[both][0]} link, {gains[-1]:.0f} times with {counts[both][-1]}",
         gains[-1] > 5),
        ("with the cache the runtime grows at a slower rate",
         ", ".join(f"{way}: power {slope:.1f}" for way, slope in slopes.items()) + " of the links",
         slopes["tree, cached"] < slopes["tree, not cached"]),
        ("runs of up to 10 links take at most 50 s, where the axis of the picture ends",
         ", ".join(f"{way}: {values[-1 if counts[-1] < 10 else list(counts).index(10)]:.3g} s"
                   for way, values in seconds.items()) + f" at {min(10, counts[-1])} links",
         "not the same computer"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
