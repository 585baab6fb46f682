"""What the examples share: where the trajectory goes, if anywhere."""

import argparse


def run(main) -> None:
    """Call main(), and save, draw or show what it returns, a trajectory or a comparison, if asked to."""
    parser = argparse.ArgumentParser(
        description=main.__globals__["__doc__"], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", metavar="FILE", help="write the trajectory, .npz")
    parser.add_argument("--plot", metavar="FILE", help="draw its energy, .png, .pdf or .svg (needs Matplotlib)")
    parser.add_argument("--view", action="store_true", help="show it moving, in the browser")
    asked = parser.parse_args()

    found = main()
    compared = hasattr(found, "trajectories")
    runs = [*found.trajectories.values()] if compared else [found]
    if asked.save:
        print("written:", runs[0].save(asked.save))
    if asked.plot:
        found.plot(asked.plot) if compared else energy_picture(found, asked.plot)
        print("written:", asked.plot)
    if asked.view:
        import vitree as vt

        vt.view(runs[0])


def energy_picture(run, path) -> None:
    """Draw kinetic, potential and total energy over time."""
    from vitree.plot import check_format, line_style

    check_format(path)  # and that Matplotlib is there
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for k, name in enumerate(("energy", "kinetic", "potential")):
        axes.plot(run.t, getattr(run, name), label=name, **line_style(k))
    axes.set(title=f"{run.model_name}, {run.method}", xlabel="time (s)", ylabel="energy (J)")
    axes.legend()
    figure.savefig(path, dpi=150)
