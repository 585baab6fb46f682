"""Warnings of a run: what was odd about it, in sentences. A Trajectory and its file keep them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: Share of the largest kinetic energy by which no sound run of a conservative system changes its energy.
EXPLODED = 0.5


def halving_warnings(count: int, between: tuple[float, float] | None, steps: int) -> list[str]:
    """Say how many steps of a run were taken in halves, and when [s] the first and the last of them began."""
    if between is None:
        return []
    when = f"at t = {between[0]:.9g} s" + (f", the last at t = {between[1]:.9g} s" if count > 1 else "")
    return [
        f"{count} of {steps} steps could not be solved whole and were taken in halves, the first {when}. The energy of "
        "such a run may drift, and its errors are those of shorter steps. Use a smaller dt."
    ]


def energy_warnings(energies: np.ndarray, stiff: Callable[[], bool]) -> list[str]:
    """Say that the energy of a conservative system changes too much; rows of energies (n, ...) at the records [J].

    ``stiff`` is asked whether springs are why, which the method could solve for.
    """
    kinetic, total = energies[:, 0], energies[:, 0] + energies[:, 1]
    sound = np.isfinite(total)
    if not sound.any():
        return []
    kinetic, total = kinetic[sound], total[sound]
    change, rounding = np.abs(total - total[0]).max(), 1e-9 * np.abs(energies[sound, 1]).max()
    if change <= EXPLODED * kinetic.max() or change <= rounding:
        return []
    return [
        f"The energy changes by up to {change:.3g} J, more than half of the largest kinetic energy, "
        f"{kinetic.max():.3g} J, though nothing drives or damps the motion. The steps are too long for it: use a "
        "smaller dt" + (', or springs="averaged", which solves for the springs.' if stiff() else ".")
    ]
