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
    if asked.save:
        first = next(iter(found.trajectories.values())) if hasattr(found, "trajectories") else found
        print("written:", first.save(asked.save))
    if asked.plot:
        found.plot(asked.plot) if hasattr(found, "trajectories") else found.plot("energy", asked.plot)
        print("written:", asked.plot)
    if asked.view:
        import vitree as vt

        vt.view(found)
