"""Robots on legs with contacts, for tests of steps."""

from __future__ import annotations

import vitree as vt


def walker(shape="spheres", legs=4, drives=True, friction=0.7, belly=None, side=0.12, radius=0.0, limit=None, dry=0.0,
           **ground):  # fmt: skip
    """A trunk on legs of two joints, each with a sphere, or a foot of four points; the trunk may have a shape.

    The feet are ``side`` [m] from the middle; points are small balls if they have a radius [m]. Joints have enforced
    limits at plus and minus ``limit`` [rad], and dry friction [N m].
    """
    tree = vt.Tree("walker")
    joint: dict = {"armature": 0.01, "dry_friction": dry}
    if limit is not None:
        tree.limits, joint["lower"], joint["upper"] = "enforce", -limit, limit
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 6.0, (0.05, 0.1, 0.12)))
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)][:legs]):
        hip = trunk.add(vt.tx(0.2 * x), vt.ty(side * y), vt.ry(f"hip {k}", **joint), vt.tz(-0.1),
                        vt.body(f"thigh {k}", 1.0, (4e-3, 4e-3, 1e-3)))  # fmt: skip
        knee = hip.add(vt.tz(-0.1), vt.rx(f"knee {k}", **joint), vt.tz(-0.1),
                       vt.body(f"shank {k}", 0.4, (1e-3, 1e-3, 1e-4)))  # fmt: skip
        knee.add(vt.tz(-0.1), vt.frame(f"foot {k}"))
        if shape == "points":
            corners = [(0.06, 0.03, 0), (0.06, -0.03, 0), (-0.06, 0.03, 0), (-0.06, -0.03, 0)]
            tree.contact(vt.Contact(f"foot {k}", points=corners, radius=radius))
        else:
            tree.contact(vt.Contact(f"foot {k}", shapes=vt.Sphere(0.03)))
    if belly is not None:
        tree.contact(vt.Contact("trunk", shapes=belly))
    tree.contact(vt.Ground(friction=friction, **ground))
    model = tree.compile()
    return model.with_drives({"*": (60.0, 2.0)}) if drives else model
