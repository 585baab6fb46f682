"""Compositions: substeps of shares of a step that raise the order of a self-adjoint method.

A share may be negative: the substep goes back in time. Symmetric sequences keep what the method keeps,
symplecticity, momentum and time reversal.

References
----------
Suzuki 1990, "Fractal decomposition of exponential operators" (order 4, five substeps).
Kahan & Li 1997, "Composition constants for raising the orders of unconventional schemes for ordinary
differential equations" (order 6, nine substeps; order 8, seventeen).
"""

from __future__ import annotations


def _mirrored(*half: float) -> tuple[float, ...]:
    """Shares of a symmetric sequence from its first half; the one in the middle makes the sum 1."""
    return (*half, 1.0 - 2.0 * sum(half), *reversed(half))


_SUZUKI = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))

#: Shares of the step by order.
SHARES: dict[int, tuple[float, ...]] = {
    2: (1.0,),
    4: _mirrored(_SUZUKI, _SUZUKI),
    6: _mirrored(0.39216144400731413928, 0.33259913678935943860, -0.70624617255763935981, 0.08221359629355080023),
    8: _mirrored(
        0.13020248308889008087881763, 0.56116298177510838456196441, -0.38947496264484728640807860,
        0.15884190655515560089621075, -0.39590389413323757733623154, 0.18453964097831570709183254,
        0.25837438768632204729397911, 0.29501172360931029887096624,
    ),
}  # fmt: skip

#: Tolerances that let the order show.
TOLERANCES = {2: 1e-9, 4: 1e-10, 6: 1e-11, 8: 1e-12}
