"""474 real tosses of a cube against vitree, MuJoCo, Bullet and Drake, and what friction and restitution they show.

    python cube.py [--quick] [--out FOLDER] [--engines vitree MuJoCo ...]

Each engine is searched for its best parameters on one half of the tosses, all by the same number of trials, and
measured on the other half. The error is the mean distance of the eight corners from where the cameras saw them, in
widths of the cube. The script prints

1. the best parameters and the errors on the other half, with intervals of the differences to vitree;
2. the errors by time, beside the distance of two runs whose starts differ by as much as the starts are uncertain, and
   the distances of pairs of tosses that start nearly alike, as measured and as simulated;
3. friction and restitution by vitree, with intervals over the tosses, from the first moments after the first touch and
   from all that follows;

and writes two pictures. Engines that are not installed are left out, and named (pip install mujoco pybullet drake).
The whole takes about seven minutes of computing, the half of it Drake.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import engines
import numpy as np
import tosses
from matplotlib.figure import Figure
from scipy.stats import qmc

WIDTH = 2 * tosses.HALF
#: Lines of engines: shades and dashes that can be told apart in grey.
LINES = {"vitree": ("0.0", "-"), "MuJoCo": ("0.45", "--"), "Bullet": ("0.45", ":"), "Drake": ("0.6", "-."),
         "own parameters": ("0.7", "-"), "two runs": ("0.7", "--")}  # fmt: skip
#: How many pairs of tosses that start nearly alike are compared.
PAIRS = 40
#: Grids of friction and restitution for the intervals.
FRICTION, RESTITUTION = np.linspace(0.14, 0.24, 11), np.linspace(0.0, 0.4, 9)
#: How many frames after the first touch are used to identify them; None: all.
WINDOWS = (4, 7, 15, None)
#: Values of the grid are used within this share of the least.
NEAR = 1.1


def error(found, real: tosses.Tosses) -> np.ndarray:
    """Mean distance of the corners by toss and frame [widths]; NaN after a record's end."""
    apart = tosses.corners(*found) - real.corners()
    return np.linalg.norm(apart, axis=-1).mean(axis=-1) / WIDTH


def by_toss(errors: np.ndarray) -> np.ndarray:
    """The mean over the frames of each toss."""
    return np.nanmean(errors, axis=1)


def angle(found, real: tosses.Tosses) -> np.ndarray:
    """Mean angle between the orientations, by toss [deg]."""
    cosine = (np.einsum("...ij,...ij", found[1], real.rotation) - 1) / 2
    return np.degrees(np.nanmean(np.arccos(np.clip(cosine, -1, 1)), axis=1))


def face_up(rotation) -> np.ndarray:
    """Which face is on top, 0 to 5."""
    up = rotation[..., 2, :]
    axis = np.abs(up).argmax(axis=-1)
    return 2 * axis + (np.take_along_axis(up, axis[..., None], -1)[..., 0] < 0)


def lands_right(found, real: tosses.Tosses) -> np.ndarray:
    """Whether the same face is on top in the last frame of each record."""
    last = np.isfinite(real.position[..., 0]).sum(axis=1) - 1
    rows = np.arange(len(real))
    return face_up(found[1][rows, last]) == face_up(real.rotation[rows, last])


def run(name: str, real: tosses.Tosses, parameters):
    """All tosses in one engine."""
    return engines.ENGINES[name][1](real.start, real.position.shape[1], *parameters)


def best(name: str, real: tosses.Tosses, trials: int) -> np.ndarray:
    """The parameters of the least mean error.

    Trials within the bounds and half as many near the best of them, on a quarter of the tosses; then the best eighth of
    all trials on all tosses.
    """
    few, bounds = real[::4], np.array(list(engines.ENGINES[name][2].values()))
    logs = bounds[:, 2] == 1
    low, high = (np.where(logs, np.log(np.where(logs, bounds[:, k], 1.0)), bounds[:, k]) for k in (0, 1))
    unit, found = qmc.Halton(len(low), seed=0), []

    def tried(x, tosses_):
        parameters = np.where(logs, np.exp(x), x)
        return by_toss(error(run(name, tosses_, parameters), tosses_)).mean(), tuple(parameters)

    for count, width in ((trials, 1.0), (trials // 2, 0.3)):
        drawn = unit.random(count)
        if found:
            middle = np.array(min(found)[1])
            middle = (np.where(logs, np.log(np.where(logs, middle, 1.0)), middle) - low) / (high - low)
            drawn = np.clip(middle + width * (drawn - 0.5), 0, 1)
        found += [tried(x, few) for x in low + drawn * (high - low)]
    again = [np.array(each) for _, each in sorted(found)[: max(trials // 8, 1)]]
    return min(again, key=lambda each: by_toss(error(run(name, real, each), real)).mean())


def two_runs(name: str, real: tosses.Tosses, parameters, rng) -> np.ndarray:
    """Distance of two runs by toss and frame [widths]: their starts are drawn as the measured start is uncertain."""
    drawn = [tosses.Tosses(real.position, real.rotation, rng.normal(real.start, real.spread), real.spread, real.flight)
             for _ in range(2)]  # fmt: skip
    one, other = (run(name, each, parameters) for each in drawn)
    apart = np.linalg.norm(tosses.corners(*one) - tosses.corners(*other), axis=-1).mean(axis=-1) / WIDTH
    return np.where(np.isfinite(real.position[..., 0]), apart, np.nan)


def least(values: np.ndarray, mu: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Where values on a grid are least: (n, 2) friction, restitution.

    ``values`` is (n, friction, restitution). A quadratic is fitted where their mean is NEAR its least. Where it has no
    least point, or one outside the grid, the least value of the grid counts.
    """
    x, y = ((g - g.mean()) / np.ptp(g) for g in np.meshgrid(mu, e, indexing="ij"))
    mean = values.mean(axis=0)
    near = mean <= NEAR * mean.min()
    terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=-1)[near]
    a = np.linalg.pinv(terms) @ values[:, near].T
    hessian = np.array([[2 * a[3], a[4]], [a[4], 2 * a[5]]]).transpose(2, 0, 1)
    convex = (np.linalg.eigvalsh(hessian)[:, 0] > 1e-6) & (len(terms) >= 10)
    at = np.full((len(values), 2), np.inf)
    at[convex] = np.linalg.solve(hessian[convex], -a[1:3].T[convex, :, None])[..., 0]
    lowest = values.reshape(len(values), -1).argmin(axis=1)
    inside = (np.abs(at) <= 0.5).all(axis=1)
    at = np.where(inside[:, None], at, np.stack((x.ravel()[lowest], y.ravel()[lowest]), axis=-1))
    return np.clip(at * (np.ptp(mu), np.ptp(e)) + (mu.mean(), e.mean()), (mu[0], e[0]), (mu[-1], e[-1]))


def table(headings, rows) -> None:
    """Print rows below headings, the first column on the left."""
    text = [list(map(str, row)) for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*text, strict=True)]
    for line in text:
        print("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]))


def resampled(count: int, draws: int = 1000) -> np.ndarray:
    """Indices of tosses drawn with replacement, (draws, count)."""
    return np.random.default_rng(1).integers(0, count, (draws, count))


def compare(names, training, test, trials):
    """Part 1; return the best parameters and the errors by toss and frame of the other half."""
    chosen, errors, rows = {}, {}, []
    for name in names:
        began = time.perf_counter()
        chosen[name] = best(name, training, trials)
        found = run(name, test, chosen[name])
        errors[name] = error(found, test)
        each = by_toss(errors[name])
        away = by_toss(np.linalg.norm(found[0] - test.position, axis=-1) / WIDTH)
        apart = by_toss(errors[name]) - by_toss(errors[names[0]])
        low, high = np.percentile(apart[resampled(len(apart))].mean(axis=1), (2.5, 97.5))
        numbered = zip(engines.ENGINES[name][2], chosen[name], strict=True)
        numbers = ", ".join(f"{key} {value:.3g}" for key, value in numbered)
        rows.append([name, numbers, f"{each.mean():.3f}", f"{np.median(each):.3f}", f"{away.mean():.3f}",
                     f"{angle(found, test).mean():.1f}", f"{lands_right(found, test).mean():.0%}",
                     f"{low:+.3f} to {high:+.3f}" if name != names[0] else "-",
                     f"{time.perf_counter() - began:.0f}"])  # fmt: skip
    tried = trials + trials // 2
    print(f"\n1. the best of {tried} parameters on {len(training)} tosses; errors on {len(test)} others:")
    print("corners [widths], centre [widths], angle [deg], right face on top; difference to the first, 95 % interval")
    table(["engine", "parameters", "mean", "median", "centre", "angle", "face", "difference", "seconds"], rows)
    return chosen, errors


def by_time(errors, times) -> None:
    """Part 2."""
    at = range(0, len(times), 4)
    rows = [[name, *(f"{x:.3f}" for x in values.mean(axis=0)[at])] for name, values in errors.items()]
    print("\n2. mean error by time [s]; own parameters: vitree with the best of the grid for each toss by itself;")
    print("two runs: distance of two runs of vitree whose starts are drawn within the uncertainty of the measured one;")
    print(f"pairs: distance of the {PAIRS} pairs of tosses whose starts are nearest, as measured and by vitree")
    table(["", *(f"{times[k]:.2f}" for k in at)], rows)


def identify(every, real: tosses.Tosses, mu, e):
    """Part 3; by window the mean errors on the grid, the estimate, and those of resampled tosses."""
    frame, rows, found = np.arange(every.shape[-1]), [], {}
    for window in WINDOWS:
        after = frame - real.flight[:, None]
        used = np.where((after >= 0) & (after < (window or len(frame))), every, np.nan)
        grid = np.nanmean(used, axis=3).transpose(2, 0, 1)
        at = least(grid.mean(axis=0)[None], mu, e)[0]
        draws = least(np.array([grid[each].mean(axis=0) for each in resampled(len(grid), 500)]), mu, e)
        low, high = np.percentile(draws, (2.5, 97.5), axis=0)
        name = f"{window * tosses.FRAME:.2f} s after the first touch" if window else "all after the first touch"
        found[name] = grid.mean(axis=0), at, draws
        rows.append([name, f"{at[0]:.3f}", f"{low[0]:.3f} to {high[0]:.3f}", f"{at[1]:.2f}",
                     f"{low[1]:.2f} to {high[1]:.2f}", f"{grid.mean(axis=0).min():.3f}"])  # fmt: skip
    print(f"\n3. friction and restitution by {len(real)} tosses, 95 % intervals over resampled tosses, and least error")
    print("[widths]. The intervals hold for this model of contact, and not for what it leaves out.")
    table(["from", "friction", "interval", "restitution", "interval", "error"], rows)
    return found


def pictures(errors, times, identified, mu, e, out: Path) -> None:
    """Write reality-errors.png and reality-contact.png."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for name, (shade, dashes) in LINES.items():
        if name not in errors:
            continue
        values = errors[name]
        axes.plot(times, values.mean(axis=0), color=shade, linestyle=dashes, label=name)
    axes.set(xlabel="time [s]", ylabel="mean distance of the corners [widths]", xlim=(0, times[-1]), ylim=(0, None))
    axes.legend(fontsize="small")
    figure.savefig(out / "reality-errors.png", dpi=110)
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    names = list(identified)
    for axes, name in zip(figure.subplots(1, 2, sharey=True), (names[1], names[-1]), strict=True):
        mean, at, draws = identified[name]
        share = mean / mean.min()
        filled = axes.contourf(mu, e, share.T, [1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.4], cmap="gray", extend="max")
        axes.plot(*draws.T, ".", color="0.9", markersize=2, label="resampled tosses")
        axes.plot(*at, "k+", markersize=10, label="all tosses")
        axes.set(title=name, xlabel="friction", xlim=(mu[0], mu[-1]), ylim=(e[0], e[-1]))
        axes.set_xticks((0.15, 0.18, 0.21, 0.24))
    figure.axes[0].set(ylabel="restitution")
    figure.axes[0].legend(fontsize="small", loc="upper left")
    figure.colorbar(filled, ax=figure.axes, label="mean distance of the corners / least")
    figure.savefig(out / "reality-contact.png", dpi=110)
    print(f"\nwritten: {out / 'reality-errors.png'}, {out / 'reality-contact.png'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few tosses and trials, to see that it works")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="FOLDER", help="where the pictures go")
    parser.add_argument("--data", type=Path, default=Path(__file__).with_name("cube_tosses.npz"), metavar="FILE")
    parser.add_argument("--engines", nargs="+", choices=engines.ENGINES, default=list(engines.ENGINES))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    real = tosses.load(given.data)
    trials, mu, e = 48, FRICTION, RESTITUTION
    if given.quick:
        real, trials, mu, e = real[::20], 8, FRICTION[::2], RESTITUTION[::2]
    absent = [name for name in given.engines if not engines.installed(engines.ENGINES[name][0])]
    names = [name for name in given.engines if name not in absent]
    print(f"{len(real)} tosses, {real.times[-1]:.2f} s at most; not installed: {', '.join(absent) or 'none'}")
    training, test = real[::2], real[1::2]
    chosen, errors = compare(names, training, test, trials)
    parameters = chosen.get("vitree", np.array([0.18, 0.1]))
    spread = two_runs("vitree", test, parameters, np.random.default_rng(2))
    every = np.array([[error(run("vitree", real, (m, r)), real) for r in e] for m in mu])
    each = every.reshape(-1, *every.shape[2:])
    own = each[np.nanmean(each, axis=2).argmin(axis=0), np.arange(len(real))][1::2]
    series = {**errors, "own parameters": own, "two runs": spread}
    pairs = tosses.alike(real, PAIRS)
    for name, motion in (("measured", (real.position, real.rotation)), ("simulated", run("vitree", real, parameters))):
        series[f"pairs, {name}"] = pairs.apart(*motion) / WIDTH
    # as long as all records are
    shared = np.isfinite(real.position[..., 0]).all(axis=0)
    series = {name: values[:, shared] for name, values in series.items()}
    by_time(series, real.times[shared])
    identified = identify(every, real, mu, e)
    pictures(series, real.times[shared], identified, mu, e, given.out)


if __name__ == "__main__":
    main()
