"""Standing still: torques and forces that hold a posture, and why there may be none."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference_cases import pinocchio_model
from scipy.optimize import bisect, linprog

import vitree as vt
from vitree.model.socp import Problem
from vitree.model.static_equilibrium import _Posture

METHODS = ("linear-time", "midpoint")
G = 9.81


def crate(points, friction=0.5, tilt=0.0, way=0.0, com=(0.0, 0.0, 0.0), **more):
    """A crate with points, on a slope that rises against a direction in the plane, and where it lies there."""
    normal = np.array((np.sin(tilt) * np.cos(way), np.sin(tilt) * np.sin(way), np.cos(tilt)))
    tree = vt.Tree("crate")
    tree.world.add(vt.free("base"), vt.body("crate", 2.0, (0.3, 0.4, 0.5), com=com))
    tree.contact(vt.Contact("crate", points=points), vt.Ground(friction=friction, normal=tuple(normal), **more))
    model = tree.compile()
    q = model.neutral()
    q[3:6] = np.sin(tilt / 2) * np.array((-np.sin(way), np.cos(way), 0.0))
    q[6] = np.cos(tilt / 2)
    return model, vt.place_on_ground(model, q)


def corners(a=0.2, b=0.15, c=0.1):
    return [(x, y, -c) for x in (-a, a) for y in (-b, b)]


def figure(rng, legs=2, motors=True, **ground):
    """A trunk on legs of three joints with feet of four points, and an arm; on any slope."""
    tilt, way = rng.uniform(0, 0.12), rng.uniform(0, 6)
    normal = np.array((np.sin(tilt) * np.cos(way), np.sin(tilt) * np.sin(way), np.cos(tilt)))
    tree = vt.Tree("figure")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 5.0, (0.1, 0.1, 0.1), com=rng.normal(size=3) * 0.01))
    feet = []
    for k in range(legs):
        side = 0.1 * (2 * k - legs + 1)
        hip = trunk.add(vt.fixed(xyz=(0.05 * (k % 2), side, 0)), vt.ry(f"hip{k}"), vt.tz(-0.3))
        hip = hip.add(vt.body(f"thigh{k}", 0.5, (0.01,) * 3))
        shin = hip.add(vt.ry(f"knee{k}"), vt.tz(-0.3), vt.body(f"shin{k}", 0.4, (0.01,) * 3))
        shin.add(vt.ry(f"ankle{k}"), vt.body(f"foot{k}", 0.2, (0.002,) * 3))
        feet.append(vt.Contact(f"foot{k}", points=[(x, y, -0.05) for x in (-0.08, 0.12) for y in (-0.04, 0.04)]))
    trunk.add(vt.tz(0.3), vt.ball("arm"), vt.tx(0.1), vt.body("hand", 0.3, (0.001,) * 3))
    tree.contact(feet, vt.Ground(normal=tuple(normal), **{"friction": 0.8, **ground}))
    model = tree.compile()
    q = model.neutral()
    bend = rng.uniform(0, 0.3)
    lean = np.sin(tilt / 2) * np.array((-np.sin(way), np.cos(way), 0.0))
    q[3:6], q[6] = lean, np.cos(tilt / 2)
    for k in range(legs):
        for name, value in (("hip", -bend), ("knee", 2 * bend), ("ankle", -bend)):
            q[model.joint(f"{name}{k}").q_slice] = value
    arm = rng.normal(size=4)
    q[model.joint("arm").q_slice] = arm / np.linalg.norm(arm)
    return model, vt.place_on_ground(model, q)


def held(model, q, found):
    """What is left on the coordinates: written anew by the work of all forces in small motions."""
    left = -model.rnea(q, model.zero_velocity(), model.zero_velocity()) + found.torques + found.limit_forces
    for k, dv in enumerate(np.eye(model.nv)):
        step = 1e-5
        one, other = (model.full.frame_poses(model.expand(model.integrate(q, s * dv))) for s in (step, -step))
        here = model.full.frame_poses(model.expand(q))
        for a, b, x, f in zip(found.a, found.b, found.points, found.forces, strict=True):
            for frame, force in ((a, f), (b, -f)):
                if frame != "ground":
                    local = np.append(np.linalg.solve(here[frame], np.append(x, 1.0))[:3], 1.0)
                    left[k] += force @ ((one[frame] - other[frame]) @ local)[:3] / (2 * step)
    Dh = model.constraint_jacobian(q)
    return left + Dh.T @ found.multipliers


def within_cones(found):
    normal = np.einsum("ki,ki->k", found.forces, found.normals)
    across = np.linalg.norm(found.forces - normal[:, None] * found.normals, axis=1)
    scale = max(np.abs(found.forces).max(initial=0.0), 1.0)
    assert (normal >= -1e-11 * scale).all()
    assert (across <= found.friction * normal + 1e-11 * scale).all()


# ---- what holds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", ["native", "euler"])
def test_forces_balance_and_lie_in_their_cones(seed, form):
    rng = np.random.default_rng(seed)
    model, q = figure(rng, legs=2 + seed % 3)
    if form == "euler":
        native, model = model, model.euler()
        q = model.from_native(q, native.zero_velocity())[0]
    found = vt.static_equilibrium(model, q)
    assert found.possible and not found.why and not found.fault
    assert (found.torques[:6] == 0).all()
    weight = model.total_mass * G
    assert found.residual < 1e-12 * weight
    within_cones(found)
    np.testing.assert_allclose(found.forces.sum(axis=0), (0, 0, weight), atol=1e-11 * weight)
    assert np.abs(held(model, q, found)).max() < 1e-8 * weight
    for name in ("torques", "forces", "points"):
        assert not getattr(found, name).flags.writeable


@pytest.mark.parametrize("seed", range(3))
def test_no_nearby_forces_are_better(seed):
    """The least sum of squares: other forces in the cones that balance have a larger one."""
    rng = np.random.default_rng(seed)
    model, q = figure(rng, friction=(0.8, 0.35, 0.5)[seed])
    found = vt.static_equilibrium(model, q)
    cost = lambda torques, forces: torques @ torques + 0.01 * (forces**2).sum()  # noqa: E731
    tighter = [vt.static_equilibrium(model, q, friction_share=share) for share in (0.95, 0.9, 0.8)]
    costs = [cost(x.torques, x.forces) for x in (found, *tighter) if x.possible]
    assert len(costs) > 1 and all(one <= other * (1 + 1e-9) for one, other in pairwise(costs))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_torques_hold_a_figure(method, seed):
    """Four-legged, arm hanging, low: an equilibrium from which rounding grows slowly."""
    rng = np.random.default_rng(seed)
    model, q = figure(rng, legs=4)
    q[model.joint("arm").q_slice] = (0, np.sin(np.pi / 4), 0, np.cos(np.pi / 4))  # it hangs
    found = vt.static_equilibrium(model, q)
    assert found.possible
    run = vt.simulate(model, q, duration=0.2, dt=1e-3, control=found.torques, method=method, tolerance=1e-12)
    assert max(np.abs(model.difference(q, x)).max() for x in run.q) < 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("friction, tilt", [(0.5, 0.46), (0.9, 0.73), (0.2, 0.1)])
def test_a_crate_that_can_stand_stays_and_another_does_not(method, friction, tilt):
    model, q = crate(corners(), friction, tilt, way=0.7)
    assert vt.static_equilibrium(model, q).possible
    run = vt.simulate(model, q, duration=1.0, dt=2e-3, method=method)
    assert max(np.abs(model.difference(q, x)).max() for x in run.q) < 1e-9
    steep, q = crate(corners(), friction, np.arctan(friction) + 0.01, way=0.7)
    assert vt.static_equilibrium(steep, q).fault == "friction"
    run = vt.simulate(steep, q, duration=1.0, dt=2e-3, method=method)
    assert np.abs(steep.difference(q, run.q[-1])).max() > 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["g1", "solo12", "anymal", "human"])
def test_drives_at_its_targets_hold_a_robot(method, name):
    try:
        path = vt.find_robot(name)
    except vt.UnknownNameError:
        pytest.skip(f"{name} is not installed")
    model = vt.load_urdf(path, base="free", ground=vt.Ground(friction=0.8)).with_drives({"*": (2000, 50)})
    q = vt.place_on_ground(model, model.neutral())
    found = vt.static_equilibrium(model, q)
    assert found.possible and list(found.targets) == [drive.joint for drive in model.drives]
    run = vt.simulate(model, q, duration=1.0, dt=2e-3, control=vt.Control(targets=found.targets), method=method,
                      record_every=50)
    assert max(np.abs(model.difference(q, x)).max() for x in run.q) < 1e-9


def test_soles_that_are_not_flat_carry_by_default():
    """Two of their points touch, at the front; with those within 5 mm there is a support, which the result tells."""
    tree = vt.Tree("t")
    sole = [(0.1, 0.05, 0), (0.1, -0.05, 0), (0, 0.05, 8e-4), (0, -0.05, 8e-4), (-0.1, 0.05, 2e-3), (-0.1, -0.05, 2e-3)]
    tree.world.add(vt.free("base"), vt.body("foot", 10.0, np.eye(3), (0.01, 0, 0.3)))
    tree.contact(vt.Ground(friction=0.8), vt.Contact("foot", points=sole))
    model = tree.compile()
    q = vt.place_on_ground(model, model.neutral())
    found = vt.static_equilibrium(model, q)
    assert found.possible and len(found.forces) == 6 and found.tolerance == 5e-3 and "up to 0.005 m" in repr(found)
    assert np.allclose(found.forces.sum(axis=0), [0, 0, 98.1], atol=1e-6)
    strict = vt.static_equilibrium(model, q, tolerance=1e-6)
    assert not strict.possible and strict.fault == "center of mass" and "with tolerance=0.005" in strict.why
    flat = vt.static_equilibrium(model, vt.place_on_ground(model, [0, 0, 0, 0, 0, 0, 1.0]), tolerance=1e-2)
    assert flat.possible and flat.tolerance == 1e-2
    tree = vt.Tree("t")
    tree.world.add(vt.free("base"), vt.body("foot", 10.0, np.eye(3), (0.5, 0, 0.3)))
    tree.contact(vt.Ground(friction=0.8), vt.Contact("foot", points=sole))
    model = tree.compile()
    over = vt.static_equilibrium(model, vt.place_on_ground(model, model.neutral()))
    assert not over.possible and over.tolerance == 1e-6 and "0.4 m outside" in over.why


@pytest.mark.parametrize("name", ["talos", "g1", "human"])
def test_pinocchio_agrees(name):
    pin = pytest.importorskip("pinocchio")
    model = vt.load_urdf(vt.find_robot(name), base="free", ground=vt.Ground(friction=0.8), mimic="independent")
    other = pinocchio_model(model.flat)
    q = vt.place_on_ground(model, model.neutral())
    found = vt.static_equilibrium(model, q, tolerance=5e-3)
    assert found.possible
    data = other.createData()
    pin.forwardKinematics(other, data, q)
    force = [pin.Force.Zero() for _ in range(other.njoints)]
    body = dict(zip(model.flat.frame_names, model.flat.frame_body.tolist(), strict=True))
    gaps = model.contact_gaps(q)
    for k, f in zip(np.flatnonzero(gaps.gap <= 5e-3), found.forces, strict=True):
        # parts of a robot that are near enough touch each other as well
        for side, at, own in ((gaps.a[k], gaps.point_a[k], f), (gaps.b[k], gaps.point_b[k], -f)):
            if side != "ground":
                joint = other.getJointId(f"joint{body[side]}")
                force[joint] += data.oMi[joint].actInv(pin.Force(own, np.cross(at, own)))
    tau = pin.rnea(other, data, q, np.zeros(other.nv), np.zeros(other.nv), force)
    np.testing.assert_allclose(tau, found.torques, atol=1e-12 * model.total_mass * G)


def test_other_forces_that_hold():
    """Springs, wrenches, inputs, closed loops, followers, prescribed motion and enforced limits, each by statics."""
    tree = vt.Tree("arm")
    tree.world.add(vt.ry("hinge", lower=0.0, upper=1.0), vt.tx(0.5), vt.body("arm", 2.0, (0.1,) * 3))
    model = tree.compile()
    assert vt.static_equilibrium(model, [0.3]).torques[0] == pytest.approx(-2 * G * 0.5 * np.cos(0.3), rel=1e-14)
    tree.load(vt.JointSpring("hinge", stiffness=3.0))
    tree.load(vt.JointForce("hinge", "push"))
    tree.load(vt.Wrench("arm", (0, 0, 0), (0, 0, 7.0)))
    model = tree.compile()
    lever = 0.5 * np.cos(0.3)
    wanted = -2 * G * lever + 3.0 * 0.3 - 4.0 + 7.0 * lever
    assert vt.static_equilibrium(model, [0.3], inputs={"push": 4.0}).torques[0] == pytest.approx(wanted, rel=1e-12)
    found = vt.static_equilibrium(model, [0.3], inputs={"push": 0.0})
    assert found.torques[0] == pytest.approx(wanted + 4.0, rel=1e-12)

    tree = vt.Tree("arm")
    tree.world.add(vt.ry("hinge", lower=-1.0, upper=0.4), vt.tx(0.5), vt.body("arm", 2.0, (0.1,) * 3))
    tree.limits = "enforce"
    model = tree.compile()
    found = vt.static_equilibrium(model, [0.4], motors=[])  # gravity turns it against its upper limit
    assert found.possible and found.torques[0] == 0
    assert found.limit_forces[0] == pytest.approx(-2 * G * 0.5 * np.cos(0.4), rel=1e-12)
    assert vt.static_equilibrium(model, [0.39], motors=[]).fault == "motor"
    assert "hinge" in vt.static_equilibrium(model, [-1.0], motors=[]).why


def test_loops_and_followers():
    tree = vt.Tree("hung")
    tree.world.add(vt.fixed("hook", xyz=(0.0, 0, 1.0)))
    tree.world.add(vt.free("base"), vt.body("bob", 2.0, (0.01,) * 3))
    tree.constrain(vt.Distance("hook", "bob", length=1.0))
    model = tree.compile()
    found = vt.static_equilibrium(model, model.neutral())
    assert found.possible and abs(found.multipliers[0]) == pytest.approx(2 * G, rel=1e-12)
    q = model.neutral()
    q[0], q[2] = np.sin(0.2), 1 - np.cos(0.2)
    assert vt.static_equilibrium(model, q).fault == "contact"
    q[2] = 0.5
    with pytest.raises(vt.InputError, match="constraint"):
        vt.static_equilibrium(model, q)

    tree = vt.Tree("fingers")
    for name in ("left", "right"):
        tree.world.add(vt.ry(name), vt.tx(0.5), vt.body(name + " finger", 2.0, (0.1,) * 3))
    tree.constrain(vt.gear("right", "left", 0.5))
    full = tree.compile()
    model = full.reduced()
    wanted = -2 * G * 0.5 * (np.cos(0.3) + 0.5 * np.cos(0.15))
    assert vt.static_equilibrium(model, [0.3]).torques[0] == pytest.approx(wanted, rel=1e-12)
    tight = vt.static_equilibrium(full, [0.3, 0.15], motors=["left"])
    assert tight.torques[0] == pytest.approx(wanted, rel=1e-12) and tight.torques[1] == 0


def test_prescribed_coordinates_hold_themselves():
    tree = vt.Tree("cart")
    cart = tree.world.add(vt.tz("lift", kinematic=True), vt.body("cart", 3.0, (0.1,) * 3))
    cart.add(vt.ry("hinge"), vt.tx(0.5), vt.body("arm", 2.0, (0.1,) * 3))
    found = vt.static_equilibrium(tree.compile(), [0.0, 0.2])
    np.testing.assert_allclose(found.torques, (0, -2 * G * 0.5 * np.cos(0.2)), rtol=1e-13)
    assert found.residual < 1e-12


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.2, 0.3, 0.6])
def test_balls_in_a_heap(friction):
    """A ball on two that lie apart: by symmetry, friction at all contacts must be tan of half the angle."""
    tree, r, mass = vt.Tree("heap"), 0.1, 1.0
    for k in range(3):
        tree.world.add(vt.free(f"base{k}"), vt.body(f"ball{k}", mass, (0.004,) * 3))
        tree.contact(vt.Contact(f"ball{k}", shapes=vt.Sphere(r)))
    tree.contact(vt.Ground(friction=friction))
    model = tree.compile()
    q, half = model.neutral(), np.pi / 6
    for k, (x, z) in enumerate(((-r, r), (r, r), (0, r + 2 * r * np.cos(half)))):
        q[7 * k], q[7 * k + 2] = x, z
    found = vt.static_equilibrium(model, q)
    needed = np.tan(half / 2)
    assert found.possible == (friction > needed)
    if found.possible:
        within_cones(found)
        assert found.residual < 1e-12
        assert len(found.a) == 5
    else:
        assert found.fault == "friction" and float(found.why.split()[2]) == pytest.approx(needed, rel=1e-3)


# ---- why not ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tilt", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_how_far_the_center_of_mass_is_outside(seed, tilt):
    """Against the support on the plane, projected along gravity."""
    rng = np.random.default_rng(seed)
    com = np.array((*rng.uniform(-0.4, 0.4, 2), 0.05))
    model, q = crate(corners(), 0.8, tilt, way=1.1, com=com)
    found = vt.static_equilibrium(model, q)
    hull = model.contact_gaps(q).point_a[:, :2][[0, 1, 3, 2]]
    at = model.center_of_mass(q)[:2]
    edges = list(zip(hull, np.roll(hull, -1, axis=0), strict=True))
    side = [np.cross(np.append(b - a, 0), np.append(at - a, 0))[2] for a, b in edges]
    inside = min(side) > 0 or max(side) < 0
    assert found.possible == inside
    if not inside:
        away = min(np.linalg.norm(at - a - np.clip((at - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1) * (b - a))
                   for a, b in edges)  # fmt: skip
        assert found.fault == "center of mass"
        assert f"{away:.3g} m outside of the support" in found.why
        assert found.residual > 0


def test_over_the_edge_by_little():
    """The edge of the support decides to 1e-9 m."""
    for off, possible in ((-1e-9, True), (1e-8, False)):
        model, q = crate(corners(), com=(0.2 + off, 0.0, 0.0))
        assert vt.static_equilibrium(model, q).possible is possible


@pytest.mark.parametrize("way", np.linspace(0.0, 1.5, 5))
def test_the_cone_is_round(way):
    """A slope in any direction needs the tangent of its angle: no pyramid."""
    for slack, possible in ((1 - 1e-9, True), (1 + 1e-7, False)):
        model, q = crate(corners(), 0.5, np.arctan(0.5) * slack, way)
        found = vt.static_equilibrium(model, q)
        assert found.possible is possible
        if not possible:
            assert "friction of 0.5" in found.why and found.fault == "friction"


def test_friction_share_leaves_a_margin():
    model, q = crate(corners(), 0.5, np.arctan(0.45))
    assert vt.static_equilibrium(model, q).possible and vt.static_equilibrium(model, q, friction_share=0.91).possible
    found = vt.static_equilibrium(model, q, friction_share=0.8)
    assert 'friction of 0.45 is needed, and "crate" on the ground has 0.4 that may be used' in found.why


def leg(effort):
    tree = vt.Tree("leg")
    trunk = tree.world.add(vt.tz("slide"), vt.body("trunk", 5.0, (0.1,) * 3))
    thigh = trunk.add(vt.ry("hip", effort=effort), vt.tz(-0.4), vt.body("thigh", 1.0, (0.02, 0.02, 0.01)))
    thigh.add(vt.ry("knee", effort=effort), vt.tz(-0.4), vt.body("shin", 0.5, (0.01,) * 3))
    tree.contact(vt.Contact("shin"), vt.Ground(friction=0.9))
    model = tree.compile()
    return model, vt.place_on_ground(model, [1.0, 0.4, -0.8])


def test_effort_beyond_the_limit_names_joint_and_need():
    model, q = leg(np.inf)
    free = vt.static_equilibrium(model, q)
    assert free.possible and free.torques[0] == 0
    most = np.abs(free.torques).max()
    for effort in (1.001 * most, 0.5 * most, 0.0):
        model, q = leg(effort)
        found = vt.static_equilibrium(model, q)
        stands = lambda x, q=q: float(vt.static_equilibrium(leg(x)[0], q).possible) - 0.5  # noqa: E731
        least = bisect(stands, 0.0, 2 * most, xtol=1e-7 * most)
        assert found.possible == (effort > least)
        assert vt.static_equilibrium(model, q, effort_limits=False).possible
        if not found.possible:
            assert found.fault == "effort" and "needs" in found.why
            joint, need = found.why.split('"')[1], float(found.why.split()[2])
            assert joint in ("hip", "knee") and (effort == 0 or need == pytest.approx(least, rel=1e-3))
            assert found.residual < 1e-9


@pytest.mark.parametrize(("mimic", "gears", "limits"), [
    (None, (), [np.inf, 2.0, 3.0]), (("hip", -2.0, 0.0), (), [np.inf, 2.0, 3.0]),
    (None, (vt.gear("knee", "hip", -2.0),), [np.inf, 2.0, 3.0]),
    (("hip", -2.0, 0.0), (vt.gear("knee", "hip", -2.0),), [np.inf, 2.0, np.inf])])  # fmt: skip
def test_the_effort_of_all_joints_counts_but_that_of_mimics(mimic, gears, limits):
    """Mimic joints of a file that follow have no motors; independent ones have, and gears have one at each end."""
    model, q = leg(2.0)
    joints = [replace(joint, effort=3.0, mimic=mimic) if joint.name == "knee" else joint for joint in model.flat.joints]
    model = vt.Model(replace(model.flat, joints=tuple(joints), constraints=gears))
    assert _Posture(model, q, None, 1.0, 1e-3, None).effort.tolist() == limits


def test_bases_are_of_what_stands_on_the_world_alone():
    """A lift on a trunk is driven, though it moves upwards as the trunk does."""
    tree = vt.Tree("lift")
    trunk = tree.world.add(vt.tz("slide"), vt.body("trunk", 5.0, (0.1,) * 3))
    trunk.add(vt.tz("lift"), vt.body("load", 2.0))
    tree.contact(vt.Contact("trunk", shapes=[vt.Sphere(0.1)]), vt.Ground())
    model = tree.compile()
    found = vt.static_equilibrium(model, vt.place_on_ground(model, [1.0, 0.3]))
    assert found.possible and found.torques == pytest.approx([0.0, -2.0 * model.gravity[2]], rel=1e-9)


def test_nothing_touches_and_no_motor():
    model, q = crate(corners())
    q[2] += 0.03
    found = vt.static_equilibrium(model, q)
    assert found.fault == "contact" and "0.03 m from the ground" in found.why and "place_on_ground" in found.why
    assert found.residual == pytest.approx(2 * G) and len(found.forces) == 0 and "not possible" in repr(found)
    rng = np.random.default_rng(1)
    model, q = figure(rng)
    others = [joint.name for joint in model.joints if joint.name not in ("base", "arm")]
    found = vt.static_equilibrium(model, q, motors=others)
    assert found.fault == "motor" and '"arm' in found.why and "N m" in found.why
    tree = vt.Tree("bare")
    tree.world.add(vt.free("base"), vt.body("bob", 1.0, (0.1,) * 3))
    assert "nothing that touches" in vt.static_equilibrium(tree.compile(), tree.compile().neutral()).why


def test_without_gravity_everything_rests():
    tree = vt.Tree("drifts", gravity=(0, 0, 0))
    bob = tree.world.add(vt.free("base"), vt.body("bob", 1.0, (0.1,) * 3))
    bob.add(vt.ry("a"), vt.tx(1.0), vt.body("b", 1.0, (0.1,) * 3))
    found = vt.static_equilibrium(tree.compile(), tree.compile().neutral())
    assert found.possible and not found.torques.any()


@pytest.mark.parametrize(
    "more, text",
    [
        ({"friction_share": 0.0}, "friction_share=0.0 must be above 0"),
        ({"friction_share": 1.1}, "friction_share"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"effort_limits": 1}, "effort_limits"),
        ({"motors": ["elbo*"]}, "elbo"),
        ({"motors": 3}, "motors"),
        ({"inputs": {"push": 1.0}}, "push"),
    ],
)
def test_bad_arguments(more, text):
    model, q = crate(corners())
    with pytest.raises(vt.VitreeError, match=text):
        vt.static_equilibrium(model, q, **more)


def test_what_has_no_stance():
    model, q = crate(corners())
    q[2] -= 0.01
    with pytest.raises(vt.InputError, match=r'"crate" and the ground overlap by 0.01 m at q; vt.place_on_ground'):
        vt.static_equilibrium(model, q)
    model, q = crate(corners(), stiffness=1e4, damping=10.0)
    with pytest.raises(vt.ModelError, match='contact of "crate" and the ground has stiffness=10000'):
        vt.static_equilibrium(model, q)
    with pytest.raises(vt.InputError, match="model"):
        vt.static_equilibrium("talos", q)
    with pytest.raises(vt.InputError, match="q"):
        vt.static_equilibrium(model, q[:3])


# ---- the solver -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_problems_with_known_answers(seed):
    """Optimality conditions that decide it: made around a solution with multipliers of the right signs."""
    rng = np.random.default_rng(seed)
    n, cones, planes = 9 + seed % 5, 3, 4
    M, x = rng.normal(size=(n + 3, n)), rng.normal(size=n)
    U = rng.normal(size=(2, n))
    G = rng.normal(size=(planes, n))
    active = rng.random(planes) < 0.5
    h = G @ x + np.where(active, 0.0, rng.random(planes))
    A, c = rng.normal(size=(cones, 2, n)), rng.normal(size=(cones, n))
    size = np.linalg.norm(A @ x, axis=1)
    met = rng.random(cones) < 0.6
    e = size - c @ x + np.where(met, 0.0, rng.random(cones))
    slope = np.einsum("ki,kin->kn", A @ x / size[:, None], A) - c
    pull = G.T @ (active * rng.random(planes)) + slope.T @ (met * rng.random(cones)) + U.T @ rng.normal(size=2)
    # M^T (M x - d) = -pull
    d = M @ x + M @ np.linalg.solve(M.T @ M, pull)
    found = Problem(M=M, d=d, U=U, b=U @ x, G=G, h=h, A=A, c=c, e=e).solve()
    np.testing.assert_allclose(found, x, atol=1e-6)
    assert (np.linalg.norm(A @ found, axis=1) - c @ found - e).max() < 1e-11 and (G @ found - h).max() < 1e-11


def test_results_are_plain_enough_for_json_and_copies():
    model, q = crate(corners())
    found = vt.static_equilibrium(model, q)
    assert json.loads(json.dumps(found.forces.tolist())) == found.forces.tolist()
    assert replace(found, why="x").why == "x"


@pytest.mark.parametrize("seed", range(20))
def test_the_room_lies_between_those_of_pyramids(seed):
    """By how much a problem misses: against linear programs with 64 planes inside and around each cone."""
    rng = np.random.default_rng(seed)
    n, cones, planes = 6 + seed % 4, seed % 5, 8
    U, G = rng.normal(size=(2, n)), rng.normal(size=(planes, n))
    A, c = rng.normal(size=(cones, 2, n)), rng.normal(size=(cones, n))
    b, h, e = rng.normal(size=2), rng.normal(size=planes), rng.normal(size=cones)
    box = np.concatenate([np.eye(n), -np.eye(n)])
    G, h = np.concatenate([G, box]), np.append(h, np.full(2 * n, 2.0))
    found, x = Problem(M=np.eye(n), d=np.zeros(n), U=U, b=b, G=G, h=h, A=A, c=c, e=e).excess()
    turn = 2 * np.pi * np.arange(64) / 64
    way = np.column_stack([np.cos(turn), np.sin(turn)])
    bounds = []
    for size in (1.0, np.cos(np.pi / 64)):
        rows = (np.einsum("wi,kin->kwn", way, A) / size - c[:, None]).reshape(-1, n)
        rows = np.column_stack([np.concatenate([G, rows]), -np.ones(len(G) + len(rows))])
        most = np.append(h, np.repeat(e, 64))
        least = linprog(np.eye(n + 1)[-1], rows, most, np.column_stack([U, np.zeros(2)]), b,
                        bounds=[(None, None)] * n + [(-1, None)])  # fmt: skip
        bounds.append(least.fun)
    assert bounds[0] - 1e-8 <= found <= bounds[1] + 1e-8
    np.testing.assert_allclose(U @ x, b, atol=1e-12)
    worst = max((G @ x - h).max(), (np.linalg.norm(A @ x, axis=1) - c @ x - e).max(initial=-1.0), -1.0)
    assert worst == pytest.approx(found, abs=1e-10)


@pytest.mark.parametrize(("name", "wrong"), [("forces", np.zeros(3)), ("forces", np.zeros((1, 1, 3))), ("points", "x"),
                                             ("torques", None), ("normals", [object()]), ("friction", "x"),
                                             ("limit_forces", "x"), ("multipliers", "x")])  # fmt: skip
def test_a_stance_made_by_hand_is_checked(name, wrong):
    from dataclasses import fields

    row = np.zeros((1, 3))
    given = {each.name: np.zeros(1) for each in fields(vt.StaticEquilibrium)}
    given |= {"points": row, "normals": row, "forces": row, "possible": True, "why": "", "targets": {}, "residual": 0.0}
    given |= {key: value for key, value in {"touching": ()}.items() if key in given}
    assert vt.StaticEquilibrium(**given).residual == 0.0
    with pytest.raises(vt.InputError, match=name):
        vt.StaticEquilibrium(**{**given, name: wrong})
