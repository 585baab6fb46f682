"""A pole on a cart, for tests of control."""

from __future__ import annotations

import vitree as vt


def cart_pole():
    """A cart of 1 kg on a rail, and a pole of 0.3 kg that stands upright at zero."""
    tree = vt.Tree("cart-pole", gravity=(0, 0, -9.81))
    tree.world.add(
        vt.ty("slide"), vt.body("cart", 1.0, (0.1, 0.1, 0.1)),
        [vt.rx("swing"), vt.body("pole", 0.3, (0.01, 0.01, 0.001), com=(0, 0, 0.5))],
    )  # fmt: skip
    return tree.compile()
