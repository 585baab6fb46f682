"""The options of the examples: save, draw or show the result."""

import argparse


def run(main, **numbers: float) -> None:
    """Call main(), and save, draw or show the trajectory or comparison that it returns, as the options say.

    ``numbers`` are options of its own, with their defaults.
    """
    parser = argparse.ArgumentParser(
        description=main.__globals__["__doc__"], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", metavar="FILE", help="write the trajectory, .npz")
    parser.add_argument("--plot", metavar="FILE", help="draw the energy, .png, .pdf or .svg (needs Matplotlib)")
    parser.add_argument("--view", action="store_true", help="play the run in the browser")
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=float, default=value, help=f"of the example, {value:g} if not given")
    options = parser.parse_args()

    found = main(**{name: getattr(options, name) for name in numbers})
    if options.save:
        first = next(iter(found.trajectories.values())) if hasattr(found, "trajectories") else found
        print("written:", first.save(options.save))
    if options.plot:
        found.plot(options.plot) if hasattr(found, "trajectories") else found.plot("energy", options.plot)
        print("written:", options.plot)
    if options.view:
        import vitree as vt

        vt.view(found)
