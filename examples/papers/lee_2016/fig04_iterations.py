"""Lee et al. 2016, Fig. 4: convergence within a step, and iterations over a thousand steps.

    python fig04_iterations.py [--quick] [--out FOLDER]

The paper's claim: Newton's method converges quadratically and takes 4 iterations a step on average. RIQN converges
linearly and takes 5.69, which costs less time. The chain has 50 links and starts at the authors' drawn angles and
speeds (their program does not seed its draws, so that they are known); its links soon turn at 100 rad/s.

The first table and the left picture are of the first step, from a poor guess: the current configuration. Result: with
the exact direction the number of correct digits doubles at each correction. With a direction that is kept through the
step (frozen, or broyden, which updates it) or replaced by the mass matrix (riqn), each correction adds about two
digits.

The paper's own start of Fig. 4a is the zero configuration as the guess of the next one. The second table and the middle
picture begin there, by the equations in NumPy (equations.py). Where the chain itself is at zero, which makes this guess
the current configuration, Newton's method takes fewer corrections than RIQN, as in the paper. From the drawn angles
the guess is so far off that the links' turns in a step pass half a turn, where the logarithm of the equations jumps:
with 50 links neither direction converges. Short chains come to a root that is off by whole turns.

The third table has the iterations over the run, from the paper's guesses IG1 to IG3 and from ours. A better guess
needs fewer corrections with every direction. An extrapolation of past increments, of the order that was best lately, is
better than the paper's guesses; the default is auto with this extrapolation. IG2 takes the velocity of the momentum;
the paper takes the last increment. The exact direction by recursion ("recursive-newton") equals the one by the paper's
dense matrix ("newton"), and takes the same iterations. Tolerances are shares of the largest momentum; the authors' is
about 2e-13 at the start.

The fourth table counts as the authors do: the SVI residual, the guess IG3, |f| <= 1e-8, and evaluations in place of
corrections. Newton's method takes as many as in the paper; its deviation is not 0. RIQN takes twice as many. The fifth
table changes one thing at a time of such a run of RIQN: the tolerance (that of a force, f/dt, among them), the guess,
the time step, the residual, and how many steps are counted. No run of a thousand steps takes 5.69 with a deviation of
1.16. Its first steps take 6 each, and more as the chain speeds up. The last rows of the fourth table say why. They do
in NumPy what the experiment in the authors' published program does. It solves the first step a
thousand times: after a solve the chain is not moved on. Its residual has no gravity; the guess has. DART's
impulse-based recursion adds each of RIQN's corrections, in rad, to the velocities, so that its solves differ a little.
Newton's method then takes the same evaluations each time, which is the paper's deviation of 0. RIQN's numbers are
those of the first step, and scatter since 1e-8 is about what rounding leaves of the residual. So over draws they
reach from below the paper's 5.69 to above it. (The paper's own figures may come from an earlier state of the program.)
"""

import sys
from pathlib import Path

import chains
import equations
import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

SOLVERS = {f"{method}, {solver}": (method, solver) for method in ("linear-time", "midpoint")
           for solver in ("newton", "modified-newton", "broyden", "riqn")}  # fmt: skip
ITERATED = {**SOLVERS, **{f"{method}, {solver}": (method, solver) for method in ("linear-time", "midpoint")
                          for solver in ("recursive-newton", "auto")}}  # fmt: skip
#: The paper's three, and ours; "extrapolate" chooses the order of the extrapolation.
GUESSES = {"IG1": "current", "IG2": "euler", "IG3": "semi-implicit", "aba": "aba", "order 2": "extrapolate-2",
           "order 4": "extrapolate-4", "chosen": "extrapolate"}  # fmt: skip
#: What the paper reports of its Fig. 4b: mean and standard deviation.
PAPER = {"newton": (4.0, 0.0), "riqn": (5.69, 1.16)}
#: The authors' tolerance: the norm of f [kg m^2/s].
AUTHORS, MOST = 1e-8, 30
TOLERANCES = 1e-9, 1e-12
#: Where rounding ends the descent, about, as a share of the momentum.
FLOOR = 1e-14


def history(model, q, v, method, solver, guess="current", most=12) -> list[float]:
    """Residuals of the first step after 1, 2, ... corrections as shares of the start's momentum."""
    scale, residuals = np.abs(model.crba(q) @ v).max(), []
    options = {"method": method, "solver": solver, "guess": guess, "tolerance": FLOOR}
    for count in range(1, most + 1):
        try:
            # a solve that ends after so many corrections tells what it had reached
            run = vt.simulate(model, q, v, duration=chains.DT, dt=chains.DT, max_iterations=count, **options)
        except vt.ConvergenceError as stop:
            residuals.append(stop.residual / scale)
        else:
            return [*residuals, run.residual[-1] / scale]
    return residuals


def from_zero(model, v, q, axes) -> dict:
    """Solve a step from the guess q = 0, with the chain at zero and at q; corrections by state and direction."""
    rows, found = [], {}
    for state, start, shade in (("at q = 0", np.zeros_like(q), "0.0"), ("at the drawn angles", q, "0.55")):
        end = vt.simulate(model, start, v, duration=chains.DT, dt=chains.DT, method="linear-time", tolerance=1e-13)
        for direction, mark in (("newton", "o"), ("riqn", "s")):
            step = equations.Step(model, start, v, chains.DT)
            errors = step.solve(direction, np.zeros_like(q), AUTHORS, MOST)
            found[state, direction] = taken = len(errors) - 1 if errors[-1] <= AUTHORS else None
            turns = None if taken is None else f"{np.abs(step.end - end.q[-1]).max() / (2 * np.pi):.1g}"
            # past the tolerance a descent has no more to show
            cells = [f"{error:.0e}" for error in errors[:7]]
            rows.append([f"{state}, {direction}", *cells, *[None] * (7 - len(cells)), taken or "fails", turns])
            axes.semilogy(errors, marker=mark, markersize=4, linewidth=1.0, color=shade, label=f"{state}, {direction}")
    print(f"\nthe guess q = 0: norm of f [kg m^2/s] after 0, 1, ... corrections, how many until {AUTHORS:g}, and")
    print("how far in turns the angles are from those of the compiled step")
    common.table(["state, direction", *range(7), "taken", "turns off"], rows)
    axes.set(title="guess q = 0", xlabel="corrections", ylabel="norm of f [kg m$^2$/s]", xlim=(-0.5, 14.5))
    return found


def stepped(model, q, v, solver, steps, dt=chains.DT, tolerance=AUTHORS, **changed) -> np.ndarray:
    """Evaluations of each step, counted as the authors do, with options that are ``changed``."""
    options = {"method": "midpoint", "residual": "tree", "guess": "semi-implicit"} | changed
    options = {key: value for key, value in options.items() if value is not None}
    run = vt.simulate(model, q, v, duration=steps * dt, dt=dt, solver=solver,
                      tolerance=tolerance / np.abs(model.crba(q) @ v).max(), **options)  # fmt: skip
    return run.iterations[1:] + 1


def changed_one_by_one(model, q, v, steps) -> None:
    """Count what RIQN takes in runs that differ in one thing from those of the authors."""
    cases = {
        "as it is": {},
        **{f"|f| <= {share * AUTHORS:.0e}": {"tolerance": share * AUTHORS} for share in (1e1, 1e2, 1e4)},
        "|f|/dt <= 1e-08": {"tolerance": AUTHORS / chains.DT},
        **{f"guess {name}": {"guess": GUESSES[name]} for name in ("IG1", "IG2", "aba", "chosen")},
        "steps of 0.5 ms": {"dt": 0.5 * chains.DT, "steps": 2 * steps},
        "steps of 0.2 ms": {"dt": 0.2 * chains.DT, "steps": 5 * steps},
        "linear-time": {"method": "linear-time", "residual": None},
        **{f"{count} steps": {"steps": count} for count in (30, 100, 300) if count <= steps},
    }
    print("\nthe same of RIQN with one thing changed: evaluations a step")
    found = [stepped(model, q, v, "riqn", **({"steps": steps} | options)) for options in cases.values()]
    rows = [[name, f"{taken.mean():.2f}", f"{taken.std():.2f}", taken.min(), taken.max()]
            for name, taken in zip(cases, found, strict=True)]  # fmt: skip
    common.table(["changed", "mean", "deviation", "least", "most"], rows)


def repeated(model, weightless, q, v, solver, times) -> np.ndarray:
    """Evaluations of each solve where the first step is solved again and again, as in the authors' program."""
    v, counts = v.copy(), []
    for _ in range(times):
        step = equations.MidpointStep(weightless, q, v, chains.DT)
        guess = q + chains.DT * v + chains.DT**2 * model.aba(q, v, np.zeros_like(v))
        counts.append(len(step.solve(solver, guess, AUTHORS, MOST)))
        if solver == "riqn":
            v += step.end - guess
    return np.array(counts)


def as_authors(model, links, steps, draws, axes) -> dict[tuple[str, str], list[float]]:
    """Count as the authors do, for their draw and for others; means by what is counted and solver."""
    weightless, means, rows = chains.chain(links, gravity=0.0), {}, []
    for what, count, most in (("steps", stepped, steps), ("first step, repeated", repeated, min(steps, 200))):
        for solver in PAPER:
            taken = [count(*([model] if count is stepped else [model, weightless]), *chains.thrown(links, seed), solver,
                           steps if seed == 1 else most) for seed in range(1, 1 + draws)]  # fmt: skip
            means[what, solver] = each = [counts.mean() for counts in taken]
            if count is stepped:
                shade = "0.0" if solver == "riqn" else "0.55"
                axes.plot(taken[0], ".", markersize=3, label=f"midpoint, {solver}", color=shade)
            rows.append([f"{what}, {solver}", f"{each[0]:.2f}", f"{taken[0].std():.2f}", taken[0].max(),
                         f"{min(each):.2f}", f"{max(each):.2f}", *PAPER[solver]])  # fmt: skip
    print(f"\nevaluations of the SVI residual from IG3 until |f| <= {AUTHORS:g}: the authors' draw, means over {draws}")
    common.table(["what, solver", "mean", "deviation", "most", "least mean", "greatest mean", "paper", "deviation"],
                 rows)  # fmt: skip
    axes.set(title="counted as the authors do", xlabel="step", ylabel="evaluations")
    return means


def main() -> None:
    arguments = common.arguments(__doc__)
    links, steps = (10, 100) if arguments.quick else (50, 1000)
    model, (q, v) = chains.chain(links), chains.thrown(links)
    figure, axes = common.figure(1, 3, size=(14, 4.4))

    print(f"chain of {links}: residual over momentum after each correction of the first step, from the current one")
    rows = []
    for marker, (label, (method, solver)) in zip("osv^" * 2, SOLVERS.items(), strict=True):
        values = history(model, q, v, method, solver)
        # where nothing is displaced the residual is the momentum
        rows.append([label, *(f"{value:.0e}" for value in values), *[None] * (8 - len(values))][:9])
        style = {"color": "0.0" if method == "linear-time" else "0.55", "marker": marker, "label": label}
        axes[0].semilogy([1.0, *values], linewidth=1.0, markersize=4, **style)
    common.table(["correction", *range(1, 9)], rows)
    axes[0].set(title="the first step", xlabel="corrections", ylabel="residual / momentum")

    corrections = from_zero(model, v, q, axes[1])

    print(f"\n{steps} steps of {chains.DT} s: iterations a step by guess, mean (greatest),")
    print("for tolerances of " + " and ".join(f"{x:g}" for x in TOLERANCES))
    rows = []
    for label, (method, solver) in ITERATED.items():
        for tolerance in TOLERANCES:
            cells = []
            for guess in GUESSES.values():
                try:
                    run = vt.simulate(model, q, v, duration=steps * chains.DT, dt=chains.DT, method=method,
                                      solver=solver, guess=guess, tolerance=tolerance)  # fmt: skip
                except vt.ConvergenceError:
                    cells.append("fails")
                    continue
                taken = run.iterations[1:]
                cells.append(f"{taken.mean():.2f} ({run.iterations_max})")
            rows.append([f"{label}, {tolerance:g}", *cells])
    common.table(["solver, tolerance", *GUESSES], rows)
    means = as_authors(model, links, steps, 3 if arguments.quick else 8, axes[2])
    changed_one_by_one(model, q, v, steps)
    for panel in axes:
        panel.legend(fontsize="x-small")
    common.save(figure, arguments.out, "fig04_iterations.png")
    at_zero, thrown = ([corrections[state, direction] for direction in ("newton", "riqn")]
                       for state in ("at q = 0", "at the drawn angles"))  # fmt: skip
    ours, first = ({solver: means[what, solver] for solver in PAPER} for what in ("steps", "first step, repeated"))
    common.claims(
        ("(a) from the guess q = 0 RIQN converges more slowly than Newton's method, whose rate is quadratic",
         f"with the chain at q = 0: {at_zero[0]} corrections by Newton's method, {at_zero[1]} by RIQN; with the chain "
         f"at the drawn angles: {thrown[0] or 'no convergence'} and {thrown[1] or 'no convergence'}",
         at_zero[0] < at_zero[1]),
        ("(b) Newton's method takes 4 iterations a step on average (deviation 0), RIQN 5.69 (deviation 1.16)",
         f"from the authors' draw Newton's method takes {ours['newton'][0]:.2f}, RIQN {ours['riqn'][0]:.2f}; a solve "
         f"of the first step alone, repeated, takes RIQN {min(first['riqn']):.2f} to {max(first['riqn']):.2f} over "
         f"{len(first['riqn'])} draws",
         ("the order, yes" if max(ours["newton"]) < min(ours["riqn"]) else "NO")
         + ("; Newton's number, yes" if abs(ours["newton"][0] - 4) < 0.1 else "; Newton's number, no")
         + "; RIQN's is that of the first step: the experiment in the authors' program does not move on from it"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
