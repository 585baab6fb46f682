"""Points with and without a radius touch shapes of every kind, on the side on which they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vitree as vt

HALF = 0.1
CORNERS = HALF * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
SLAB = np.array([(x, y, z) for x in (-0.6, 0.6) for y in (-0.6, 0.6) for z in (-0.2, 0.0)])


def sheet(count=4, half=0.8, rough=0.0):
    """A plane of triangles at z = 0, or a rough one."""
    x, rng = np.linspace(-half, half, count + 1), np.random.default_rng(1)
    first = [i * (count + 1) + j for i in range(count) for j in range(count)]
    squares = [(k, k + count + 1, k + count + 2, k + 1) for k in first]
    return vt.TriangleMesh([(a, b, rough * rng.normal()) for a in x for b in x],
                           [face for a, b, c, d in squares for face in ((a, b, c), (a, c, d))])  # fmt: skip


#: Shapes whose top is the plane z = 0.
FLAT = {
    "box": vt.Box((1.2, 1.2, 0.2), position=(0, 0, -0.1)), "hull": vt.Hull(SLAB),
    "cylinder": vt.Cylinder(0.8, 0.2, position=(0, 0, -0.1)), "disk": vt.Disk(0.8, (0, 0, 1)),
    "plate": vt.Hull(SLAB * (1, 1, 0)), "triangles": sheet(),
}  # fmt: skip
#: Others, the highest point of which is at z = 0.
ROUND = {
    "sphere": vt.Sphere(0.5, position=(0, 0, -0.5)), "ellipsoid": vt.Ellipsoid((0.6, 0.5, 0.2), position=(0, 0, -0.2)),
    "capsule": vt.Capsule(0.2, 1.0, position=(0, 0, -0.2), rotation=Rotation.from_euler("y", 90, True).as_matrix()),
    "cone": vt.Cone(0.5, 0.3, position=(0, 0, -0.15)),
}  # fmt: skip


def crate(shape, friction=0.3, more=(), **own):
    """A cube of points that are its corners, above what is fixed."""
    tree = vt.Tree("crate")
    tree.world.add(vt.tz(0.15), vt.free("joint"), vt.body("crate", 1.0, (1 / 150,) * 3))
    tree.contact(vt.Contact("crate", **{"points": CORNERS, **own}, friction=friction),
                 vt.Contact("world", shapes=[shape], friction=friction), *more)  # fmt: skip
    return tree.compile()


def heights(q):
    """Of the corners at rows of configurations, (n, 8) [m]."""
    turned = Rotation.from_quat(q[:, 3:7]).as_matrix()
    return np.einsum("nj,kj->nk", turned[:, 2], CORNERS) + q[:, 2:3] + 0.15


def tilted(model, x=0.0):
    q = model.neutral().copy()
    q[0], q[2], q[3:7] = x, 0.05, Rotation.from_rotvec((0.5, 0.3, 0.2)).as_quat()
    return q


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", FLAT)
def test_corners_fall_on_faces_as_on_the_ground(name, turned):
    ground = vt.Tree("ground")
    ground.world.add(vt.tz(0.15), vt.free("joint"), vt.body("crate", 1.0, (1 / 150,) * 3))
    ground.contact(vt.Contact("crate", points=CORNERS), vt.Ground(friction=0.3))
    model, plane = crate(FLAT[name]), ground.compile()
    q0 = tilted(model) if turned else model.neutral()
    ways = [vt.simulate(m, q0, np.array([0.3, 0.1, 0, 0, 0, 0]), duration=0.6, dt=4e-3) for m in (model, plane)]
    run, other = ways
    assert run.warnings == () and heights(run.q).min() > -1e-10
    assert min(model.contact_gaps(q).gap.min() for q in run.q) > -1e-10
    # at rest on four corners; friction of a patch is that of its wrench, so that ways differ after it slides and turns
    assert np.abs(np.sort(heights(run.q)[-1])[:4]).max() < 1e-9
    np.testing.assert_allclose(run.q[-1, :3], other.q[-1, :3], atol=0.03 if turned else 1e-9)


@pytest.mark.parametrize("name", ["box", "plate", "triangles"])
def test_without_friction_corners_slide_over_seams_as_on_the_ground(name):
    model = crate(FLAT[name], 0.0)
    q0 = tilted(model, -0.3)
    q0[2] -= heights(q0[None]).min()
    R = Rotation.from_quat(q0[3:7])
    run = vt.simulate(model, q0, np.array([*R.inv().apply((1.0, 0.2, 0.0)), 0, 0, 0]), duration=0.4, dt=4e-3)
    assert run.warnings == () and heights(run.q).min() > -1e-10
    np.testing.assert_allclose(run.q[:, :2] - q0[:2], np.outer(run.t, (1.0, 0.2)), atol=1e-9)


@pytest.mark.parametrize("dt", [2e-3, 1e-2])
def test_corners_stay_above_a_rough_mesh(dt):
    mesh = sheet(rough=0.03)
    model = crate(mesh)
    q0 = tilted(model)
    q0[2] = 0.1
    run = vt.simulate(model, q0, np.array([0.5, 0.2, 0, 0, 0, 0]), duration=0.6, dt=dt)
    assert run.warnings == ()
    x = np.einsum("nij,kj->nki", Rotation.from_quat(run.q[:, 3:7]).as_matrix(), CORNERS) + run.q[:, None, :3]
    x = (x + np.array((0.0, 0.0, 0.15))).reshape(-1, 3)
    above = []
    for a, b, c in np.array(mesh.vertices)[np.array(mesh.faces)]:
        share = np.linalg.solve(np.column_stack([b - a, c - a])[:2], (x - a)[:, :2].T)
        over = (share.min(axis=0) >= 0) & (share.sum(axis=0) <= 1)
        above.append((x[over, 2] - a[2] - (share[:, over].T @ [(b - a)[2], (c - a)[2]])).min(initial=np.inf))
    assert -1e-10 < min(above) < 1e-9


@pytest.mark.parametrize("name", ROUND)
def test_a_point_meets_curved_shapes(name):
    model = crate(ROUND[name], 0.0, points=[(0.03, 0.02, -HALF), (-0.03, 0.02, -HALF), (0.0, -0.04, -HALF)])
    run = vt.simulate(model, duration=0.3, dt=2e-3)
    assert run.warnings == () and len(run.contacts)
    assert -1e-10 < min(model.contact_gaps(q).gap.min() for q in run.q) < 1e-9
    # there is no friction, and what it hits is at rest
    energy = run.kinetic + run.potential
    assert energy.max() - energy[0] < 1e-9


@pytest.mark.parametrize("name", ["hull", "cylinder", "disk", "triangles", "sphere"])
def test_points_with_a_radius_touch_what_a_sphere_touches(name):
    shape = (FLAT | ROUND)[name]
    points = crate(shape, points=[(0.0, 0.0, -0.05)], radius=0.05)
    sphere = crate(shape, points=None, shapes=[vt.Sphere(0.05, position=(0, 0, -0.05))])
    runs = [vt.simulate(model, duration=0.3, dt=2e-3) for model in (points, sphere)]
    assert len(runs[0].contacts) and np.array_equal(runs[0].q, runs[1].q)


@pytest.mark.parametrize("angle", [0.2, 0.4])
def test_on_a_tilted_plate_corners_stick_or_slide(angle):
    R = Rotation.from_rotvec((0, angle, 0))
    model = crate(vt.Box((4.0, 4.0, 0.2), position=R.apply((0, 0, -0.1)), rotation=R.as_matrix()))
    q = model.neutral().copy()
    q[:3], q[3:7] = R.apply((0, 0, HALF)) - (0, 0, 0.15), R.as_quat()
    run = vt.simulate(model, q, duration=0.4, dt=4e-3)
    assert run.warnings == () and min(model.contact_gaps(q).gap.min() for q in run.q) > -1e-10
    along = (run.q[:, :3] - q[:3]) @ R.apply((1, 0, 0))
    pull = 9.81 * (np.sin(angle) - 0.3 * np.cos(angle))
    np.testing.assert_allclose(along, max(pull, 0.0) * run.t**2 / 2, atol=1e-3 * run.t[-1])
    np.testing.assert_allclose((run.q[:, :3] - q[:3]) @ R.apply((0, 0, 1)), 0.0, atol=1e-10)


def test_a_disk_that_falls_on_points_of_the_world_stays_above_them():
    tree = vt.Tree("disk")
    tree.world.add(vt.tz(0.1), vt.free("joint"), vt.body("disk", 1.0, (0.01, 0.01, 0.02)))
    tree.contact(vt.Contact("disk", shapes=[vt.Disk(0.2, (0, 0, 1))]),
                 vt.Contact("world", points=[(0.1, 0.0, 0.0), (-0.1, 0.1, 0.0), (-0.1, -0.1, 0.0)]))  # fmt: skip
    model = tree.compile()
    run = vt.simulate(model, duration=0.4, dt=2e-3)
    assert run.warnings == ()
    np.testing.assert_allclose(run.q[-1], [0, 0, -0.1, 0, 0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("aside", [0.19, 0.21])
def test_points_pass_beside_a_plate_and_not_through_it(aside):
    """One corner of the disk is within its rim of 0.2 m, or the point is beside it."""
    tree = vt.Tree("point")
    tree.world.add(vt.tz(0.1), vt.free("joint"), vt.body("bead", 1.0, (0.01,) * 3))
    tree.contact(vt.Contact("bead"), vt.Contact("world", shapes=[vt.Disk(0.2, (0, 0, 1))]))
    model = tree.compile()
    q = model.neutral().copy()
    q[0] = aside
    z = vt.simulate(model, q, duration=0.4, dt=1e-2).q[-1, 2] + 0.1
    assert (abs(z) < 1e-10) if aside < 0.2 else z < -0.5


def test_a_fast_point_that_passes_a_thin_body_is_told():
    model = crate(vt.Box((1.0, 1.0, 0.01)), points=[(0.0, 0.0, 0.0)])
    run = vt.simulate(model, v0=np.array([0, 0, -100.0, 0, 0, 0]), duration=4e-3, dt=2e-3)
    (told,) = run.warnings
    assert "passes through" in told


def test_points_of_two_bodies_do_not_touch_each_other_and_near_hulls_are_left_out():
    model = crate(FLAT["box"], more=[vt.Contact("world", points=[(0.0, 0.0, 0.5)])])
    gaps = model.contact_gaps(model.neutral())
    assert len(gaps.gap) == len(CORNERS) and {*zip(gaps.a, gaps.b, strict=True)} == {("crate", "world")}
    np.testing.assert_allclose(gaps.gap, CORNERS[:, 2] + 0.15, atol=1e-15)
    tree, at = vt.Tree("arm"), None
    for k in range(6):
        at = (at or tree.world).add(vt.tx(0.5), vt.ry(f"j{k}"), vt.body(f"link {k}", 1.0, (0.1,) * 3))
    tree.contact(vt.Contact("link 5", points=[(0.1, 0.0, 0.0)]),
                 *(vt.Contact(f"link {k}", shapes=[vt.Hull(CORNERS)]) for k in range(5)))  # fmt: skip
    arm = tree.compile()
    met = arm.contact_gaps(arm.neutral())
    assert {b for a, b in zip(met.a, met.b, strict=True) if a == "link 5"} == {"link 0", "link 1"}
