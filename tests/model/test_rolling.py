"""Wheels, skates and balls that roll without slip: against equations of their own, closed forms, and vehicles."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import vitree as vt
from vitree import vehicles
from vitree._core import scalar
from vitree.model.candidates import rims
from vitree.model.dynamics import _ways, rows_of
from vitree.tree.sexpr import read_sexpr, write_sexpr

METHODS = ("linear-time", "midpoint")
G = 9.81
EXACT = {"tolerance": 1e-12}


def orders(errors):
    return np.log2(np.array(errors[:-1]) / errors[1:])


# ---- the rolling disk, on equations of its own --------------------------------------------------------------

MASS, RADIUS, THIN, SPIN = 1.3, 0.3, 0.026, 0.05  # moments of inertia across and about the axle


def disk(**more):
    tree = vt.Tree("disk")
    tree.world.add(vt.free("base"), vt.body("disk", MASS, (THIN, SPIN, THIN)))
    tree.roll(vt.RollingConstraint("disk", radius=RADIUS, **{"normal": True, **more}))
    return tree.compile()


def axes(phi, theta):
    """e1 along the way, e2 up in the disk, e3 its axle, at the angle theta to the vertical; rows."""
    up, h = np.array([0, 0, 1.0]), np.array([-np.sin(phi), np.cos(phi), 0])
    e1 = np.array([np.cos(phi), np.sin(phi), 0])
    return np.array([e1, np.sin(theta) * up + np.cos(theta) * h, np.cos(theta) * up - np.sin(theta) * h])


def disk_rates(t, y):
    """Rates of (center, phi, theta, omega along e1 e2 e3), by the balance of torques about the point of contact."""
    phi, theta, w1, w2, w3 = y[3:]
    Omega = np.array([w1, w2, w2 / np.tan(theta)])
    L = np.array([THIN * w1, THIN * w2, SPIN * w3])
    v = RADIUS * np.array([-w3, 0, w1])
    up = np.array([0, np.sin(theta), np.cos(theta)])
    lever = np.array([0, -RADIUS, 0])

    def torque(a):  # of a = domega: dL + Omega x L - lever x (m dv + m Omega x v + m g up)
        dv = RADIUS * np.array([-a[2], 0, a[0]])
        force = MASS * (dv + np.cross(Omega, v) + G * up)
        return np.array([THIN, THIN, SPIN]) * a + np.cross(Omega, L) - np.cross(lever, force)

    rest = torque(np.zeros(3))
    a = -np.linalg.solve(np.column_stack([torque(e) - rest for e in np.eye(3)]), rest)
    return np.concatenate([axes(phi, theta).T @ v, [w2 / np.sin(theta), w1], a])


def start_of_disk(model, phi, theta, w):
    e = axes(phi, theta)
    # the body's axes x, z and -y are e1, e2 and e3
    R = np.column_stack([e[0], -e[2], e[1]])
    q = model.neutral()
    q[:3] = RADIUS * e[1]
    q[3:] = quaternion(R)
    v = R.T @ (e.T @ (RADIUS * np.array([-w[2], 0, w[0]])))
    return q, np.concatenate([v, R.T @ (e.T @ w)])


def quaternion(R):
    w = 0.5 * np.sqrt(1 + np.trace(R))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 4 * w * w]) / (4 * w)


def axle_of(q):
    """Minus the body's y axis."""
    x, y, z, w = q
    return -np.array([2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("phi, theta, w", [(0.4, 1.2, (0.5, 0.8, -6.0)), (0.0, np.pi / 2, (0.05, 0.3, -9.0))])
def test_a_disk_rolls_as_its_equations_say(method, phi, theta, w):
    model, w = disk(), np.array(w)
    q, v = start_of_disk(model, phi, theta, w)
    exact = solve_ivp(disk_rates, (0, 1.0), [*q[:3], phi, theta, *w], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    errors, speeds = [], []
    for dt in (1e-2, 5e-3, 2.5e-3):
        run = vt.simulate(model, q, v, duration=1.0, dt=dt, method=method, **EXACT)
        found = np.concatenate([run.q[-1, :3], axle_of(run.q[-1, 3:])])
        errors.append(np.abs(found - [*exact[:3], *axes(*exact[3:5])[2]]).max())
        speeds.append(np.abs(axle_of(run.q[-1, 3:]) @ rotated(run.q[-1, 3:], run.v[-1, 3:]) - exact[7]))
        assert np.abs(rows_of(model, run.q[-1])[2] @ run.v[-1]).max() < 1e-10
    assert np.abs(orders(errors) - 2).max() < 0.1
    assert errors[-1] < 2e-4 and speeds[-1] < 1e-3 and orders(speeds)[-1] > 1.8


def rotated(quaternion_, a):
    u, w = quaternion_[:3], quaternion_[3]
    return a + 2 * np.cross(u, np.cross(u, a) + w * a)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_energy_of_a_rolling_disk_stays_in_a_band(method):
    model = disk()
    q, v = start_of_disk(model, 0.4, 1.2, np.array([0.5, 0.8, -6.0]))
    run = vt.simulate(model, q, v, duration=60.0, dt=5e-3, method=method, monitors=("momentum_balance", "contact_work"))
    off = run.energy - run.energy[0]
    first, last = np.abs(off[:2000]).max(), np.abs(off[-2000:]).max()
    assert last < 1.5 * first and first < 2e-3 * abs(run.energy[0])
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12
    gap = rims(model.wheels, np.zeros(len(run.q), int), model._pose_rows(run.q)[:, 0])[0]
    assert np.abs(gap).max() < 1e-10


def test_an_upright_disk_rolls_straight_on_and_turns_as_much_as_it_goes():
    model = disk()
    q, v = start_of_disk(model, 0.0, np.pi / 2, np.array([0, 0, -4.0]))
    for method in METHODS:
        run = vt.simulate(model, q, v, duration=0.5, dt=1e-2, method=method)
        # on a free joint the midpoint rule is exact to second order only
        near = 1e-10 if method == "linear-time" else 5e-4
        np.testing.assert_allclose(run.q[-1, :3], (4.0 * RADIUS * 0.5, 0, RADIUS), rtol=0, atol=near)
        turns = 2 * np.arccos(np.minimum((run.q[1:, 3:] * run.q[:-1, 3:]).sum(axis=1), 1.0))
        np.testing.assert_allclose(run.q[-1, 0], RADIUS * turns.sum(), rtol=0, atol=1e-7)
        np.testing.assert_allclose(rotated(run.q[-1, 3:], run.v[-1, :3]), v[:3], rtol=0, atol=1e-9)
        np.testing.assert_allclose(run.v[-1, 3:], v[3:], rtol=0, atol=1e-9)


# ---- skates -------------------------------------------------------------------------------------------------


def sleigh(slope=0.0, ahead=0.0, mass=1.5, inertia=0.2):
    tree = vt.Tree("sleigh", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    at = tree.world.add(vt.tx("x"), vt.ty("y"), vt.rz("turn"), vt.frame("blade"))
    at.add(vt.tx(ahead), vt.body("sleigh", mass, (0.1, 0.1, inertia)))
    tree.roll(vt.RollingConstraint("blade"))
    return tree.compile()


@pytest.mark.parametrize("method", METHODS)
def test_a_knife_edge_on_a_slope_goes_along_a_cycloid(method):
    model, slope, w, T = sleigh(0.4), 0.4, 1.7, 2.0
    s = G * np.sin(slope)
    errors = []
    for dt in (4e-2, 2e-2, 1e-2):
        run = vt.simulate(model, v0=[0, 0, w], duration=T, dt=dt, method=method, **EXACT)
        x = s / (2 * w * w) * np.sin(w * run.t) ** 2
        y = s / (2 * w * w) * (w * run.t - 0.5 * np.sin(2 * w * run.t))
        errors.append(np.abs(run.q - np.column_stack([x, y, w * run.t])).max())
        speed = s / w * np.sin(w * run.t)
        fast = np.abs(run.v[:, 0] - speed * np.cos(w * run.t)).max()
        assert fast < 3 * s * w * dt * dt
    assert np.abs(orders(errors) - 2).max() < 0.1


@pytest.mark.parametrize("method", METHODS)
def test_the_sleigh_of_chaplygin_comes_to_go_straight(method):
    """m (a^2 + k^2) w' = -m a u w, u' = a w^2: u = V tanh(c t), w = W/cosh(c t)."""
    a, mass, inertia, W = 0.3, 1.5, 0.2, 2.0
    model = sleigh(ahead=a, mass=mass, inertia=inertia)
    size = inertia / mass + a * a
    V, c = W * np.sqrt(size), a * W / np.sqrt(size)
    errors = []
    for dt in (2e-2, 1e-2, 5e-3):
        run = vt.simulate(model, v0=[0, 0, W], duration=3.0, dt=dt, method=method, **EXACT)
        t = run.t
        turn = 2 * W / c * np.arctan(np.tanh(0.5 * c * t))
        u = run.v[:, 0] * np.cos(run.q[:, 2]) + run.v[:, 1] * np.sin(run.q[:, 2])
        errors.append(max(np.abs(run.q[:, 2] - turn).max(), np.abs(u - V * np.tanh(c * t)).max()))
        across = run.v[:, 1] * np.cos(run.q[:, 2]) - run.v[:, 0] * np.sin(run.q[:, 2])
        assert np.abs(across).max() < 1e-11
    assert np.abs(orders(errors) - 2).max() < 0.1


def test_a_sleigh_returns_where_its_steps_are_reversed():
    model = sleigh(0.3, ahead=0.2)
    for method in METHODS:
        there = vt.simulate(model, v0=[0, 0, 1.5], duration=1.0, dt=1e-2, method=method, **EXACT)
        back = vt.simulate(model, there.q[-1], -there.v[-1], duration=1.0, dt=1e-2, method=method, **EXACT)
        assert np.abs(back.q[-1] - there.q[0]).max() < 1e-8


# ---- vehicles as trees --------------------------------------------------------------------------------------


def car_tree(car):
    """The vehicle's car as a tree: a rear wheel in the middle, and a skate without mass that is steered."""
    l, rho, I = car.wheelbase, car.wheel_radius, car.wheel_inertia  # noqa: E741
    tree = vt.Tree("car")
    at = tree.world.add(vt.tx("x"), vt.ty("y"), vt.rz("theta"))
    at.add(vt.body("chassis", car.mass, (car.inertia, car.inertia, car.inertia - I / 2)))
    at.add(vt.tz(rho), vt.ry("psi"), vt.body("wheel", 0.0, (I / 2, I, I / 2)))
    at.add(vt.tx(l), vt.rz("steering", kinematic=True), vt.frame("front"))
    tree.roll(vt.RollingConstraint("wheel", radius=rho), vt.RollingConstraint("front"))
    return tree.compile()


@pytest.mark.parametrize("method", METHODS)
def test_a_car_drives_as_the_vehicle(method):
    car = vehicles.car()
    model = car_tree(car)
    place = [model.q_names.index(name) for name in ("psi", "theta", "x", "y")]
    pushed = model.v_names.index("psi")

    def torque(t, *_):
        out = np.zeros(model.nv)
        out[pushed] = 400 + 300 * np.sin(t)
        return out

    def sigma(t):
        return 0.2 * np.sin(0.8 * t)

    errors = []
    inputs = {"torque": lambda t: 400 + 300 * np.sin(t), "steering": lambda t: 0.16 * np.cos(0.8 * t)}
    fine = vt.simulate(car, duration=4.0, dt=1.25e-3, control=vt.Control(inputs=inputs))
    for dt in (4e-2, 2e-2, 1e-2):
        control = vt.Control(torque=torque, prescribed={"steering": lambda t: np.arctan(sigma(t))})
        run = vt.simulate(model, duration=4.0, dt=dt, control=control, method=method, **EXACT)
        errors.append(np.abs(run.q[-1, place] - fine.q[-1, [0, 2, 3, 4]]).max())
    assert np.abs(orders(errors) - 2).max() < 0.15
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_a_snakeboard_moves_as_the_vehicle(method):
    board = vehicles.snakeboard()
    m, l, I, J = board.mass, board.half_length, board.rotor_inertia, board.wheel_inertia  # noqa: E741
    tree = vt.Tree("board")
    at = tree.world.add(vt.tx("x"), vt.ty("y"), vt.rz("theta"))
    rest = m * l * l - I - 2 * J
    at.add(vt.body("board", m, (rest, rest, rest)))
    at.add(vt.rz("psi"), vt.body("rotor", 0.0, (I, I, I)))
    for name, ahead in (("rear", -l), ("front", l)):
        at.add(vt.tx(ahead), vt.rz(name), vt.body(f"{name} wheels", 0.0, (J, J, J)))
        tree.roll(vt.RollingConstraint(f"{name} wheels"))
    # in the vehicle's equations phi is the angle of the rear wheels
    tree.constrain(vt.Coupling({"front": 1.0, "rear": 1.0}))
    model = tree.compile()
    names = list(model.q_names)
    place = [names.index(name) for name in ("psi", "rear", "theta", "x", "y")]

    def torque(t, *_):
        out = np.zeros(model.nv)
        out[place[:2]] = -0.126 * np.sin(np.pi * t), -0.0128 * np.sin(np.pi * t)
        return out

    swing = {"rotor": lambda t: torque(t)[place[0]], "steering": lambda t: torque(t)[place[1]]}
    v0 = board.velocity(board.neutral(), {"psi": 2.5, "phi": 1.6})
    fine = vt.simulate(board, v0=v0, duration=3.0, dt=1e-3, control=vt.Control(inputs=swing))
    v = np.zeros(model.nv)
    v[place[:2]], v[names.index("front")] = (2.5, 1.6), -1.6
    v[place[2]] = v0[2]
    errors = []
    for dt in (2e-2, 1e-2, 5e-3):
        run = vt.simulate(model, v0=v, duration=3.0, dt=dt, control=torque, method=method, **EXACT)
        errors.append(np.abs(run.q[-1, place] - fine.q[-1]).max())
    assert np.abs(orders(errors) - 2).max() < 0.2
    assert errors[-1] < 2e-3


WHEEL = """
  <link name="{name}"><inertial><mass value="20"/><inertia ixx=".6" iyy="1" izz=".6" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <joint name="{name} spin" type="continuous"><parent link="chassis"/><child link="{name}"/>
    <origin xyz="{x} {y} 0.3" rpy="0 0 {turn}"/><axis xyz="0 1 0"/></joint>"""


def car_file(sigma=0.25, l=2.6, half=0.7):  # noqa: E741
    """A car whose four wheels stand as on a circle of the curvature sigma/l."""
    wheels = ""
    for name, x, y in (("rl", 0, half), ("rr", 0, -half), ("fl", l, half), ("fr", l, -half)):
        turn = np.arctan2(x, l / sigma - y)
        wheels += WHEEL.format(name=name, x=x, y=y, turn=turn)
    return f"""<robot name="car"><link name="world"/><link name="chassis"><inertial><mass value="1000"/>
      <inertia ixx="500" iyy="1500" izz="2000" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="place" type="planar"><parent link="world"/><child link="chassis"/><axis xyz="0 0 1"/></joint>
      {wheels}</robot>"""


def file_model(**more):
    tree = vt.read_urdf(car_file(**more))
    tree.roll([vt.RollingConstraint(name, radius=0.3) for name in ("rl", "rr", "fl", "fr")])
    return tree.compile()


@pytest.mark.parametrize("method", METHODS)
def test_four_wheels_of_a_robot_file_go_along_their_circle(method):
    """Twelve rows, of which several depend on the others, hold eight coordinates but one."""
    model, sigma, l = file_model(), 0.25, 2.6  # noqa: E741
    v = model.project_velocity(model.neutral(), [3.0, 0, 0, 0, 0, 0, 0])
    rows = rows_of(model, model.neutral())[2]
    assert np.linalg.matrix_rank(rows, tol=1e-9) == 6 < len(rows) == 8
    run = vt.simulate(model, v0=v, duration=5.0, dt=1e-2, method=method)
    x, y, theta = run.q[:, 0], run.q[:, 1], run.q[:, 2]
    speed = np.hypot(v[0], v[1])
    np.testing.assert_allclose(theta, sigma / l * speed * run.t, rtol=1e-4)
    assert np.ptp(np.diff(theta)) < 1e-12
    np.testing.assert_allclose(x**2 + (y - l / sigma) ** 2, (l / sigma) ** 2, rtol=1e-10)
    assert np.ptp(run.energy) < 1e-9 * run.energy[0]
    assert np.abs(rows_of(model, run.q[-1])[2] @ run.v[-1]).max() < 1e-11 * speed
    # the impulses of rows that depend on each other do not wander
    force = np.abs(run.contacts.force)
    assert force[-40:].max() < 1.1 * force[40:80].max()


@pytest.mark.parametrize("method", METHODS)
def test_four_wheels_on_a_stiff_chassis_are_pushed(method):
    model = file_model(sigma=1e-9)
    push = np.zeros(model.nv)
    push[3:5] = 200.0
    run = vt.simulate(model, duration=2.0, dt=1e-2, control=push, method=method)
    # 4 wheels of 20 kg, and of 1 kg m^2 that turn
    a = 400 / 0.3 / (1000 + 80 + 4 / 0.3**2)
    np.testing.assert_allclose(run.q[-1, 0], 0.5 * a * 4, rtol=1e-9)
    assert np.abs(run.q[-1, 1:3]).max() < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_wheels_that_turn_far_in_a_step_need_no_halves(method):
    model = file_model()
    v = model.project_velocity(model.neutral(), [20.0, 0, 0, 0, 0, 0, 0])
    assert v[3:].min() * 2e-2 > 1.0
    run = vt.simulate(model, v0=v, duration=4.0, dt=2e-2, method=method, monitors=("certificate",))
    assert run.settings["halved"] == 0 and run.monitors["certificate"][:, 0].min() > 1.0
    assert np.ptp(run.energy) < 1e-9 * run.energy[0]
    # a wheel that is spun from rest within a step does not turn steadily
    push = np.zeros(model.nv)
    push[3:5] = 5e4
    run = vt.simulate(model, duration=0.1, dt=5e-2, control=push, method=method)
    assert run.settings["halved"] > 0


# ---- balls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_rolls_down_a_slope(method):
    ends = []
    for rolling in (True, False):
        tree = vt.Tree("ball", gravity=(G * 0.3, 0, -G))
        tree.world.add(vt.free("base"), vt.body("ball", 2.0, (0.02,) * 3))
        if rolling:
            tree.roll(vt.RollingConstraint("ball", radius=0.1, axis=None, normal=True))
        else:
            tree.contact(vt.Ground(friction=5.0), vt.Contact("ball", shapes=vt.Sphere(0.1)))
        q = tree.compile().neutral()
        q[2] = 0.1
        ends.append(vt.simulate(tree.compile(), q, [0, 1, 0, -10, 0, 3], duration=1.0, dt=2e-3, method=method))
    a = 0.3 * G * 2.0 / (2.0 + 0.02 / 0.1**2)
    np.testing.assert_allclose(ends[0].q[-1, :3], (0.5 * a, 1.0, 0.1), rtol=0, atol=1e-4)
    np.testing.assert_allclose(ends[0].q[-1], ends[1].q[-1], rtol=0, atol=1e-9)


# ---- disks as contacts --------------------------------------------------------------------------------------


def wheel_on_ground(friction):
    tree = vt.Tree("coin")
    tree.world.add(vt.free("base"), vt.body("disk", MASS, (THIN, SPIN, THIN)))
    tree.contact(vt.Ground(friction=friction), vt.Contact("disk", shapes=vt.Disk(RADIUS)))
    return tree.compile()


@pytest.mark.parametrize("method", METHODS)
def test_a_disk_that_sticks_to_the_ground_rolls(method):
    model = wheel_on_ground(20.0)
    q, v = start_of_disk(model, 0.4, 1.2, np.array([0.5, 0.8, -6.0]))
    run = vt.simulate(model, q, v, duration=0.5, dt=2e-3, method=method)
    other = vt.simulate(disk(), q, v, duration=0.5, dt=2e-3, method=method)
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-7)
    assert np.abs([model.contact_gaps(x).gap[0] for x in run.q]).max() < 1e-9


def test_a_wheel_that_spins_on_the_spot_comes_to_roll():
    """Upright on ice of 0.2: m v' = mu m g, I w' = -mu m g r, until v = r w."""
    model, mu, w = wheel_on_ground(0.2), 0.2, 10.0
    q = model.neutral()
    q[2] = RADIUS
    sliding = w / (mu * G / RADIUS + mu * MASS * G * RADIUS / SPIN)
    for method in METHODS:
        run = vt.simulate(model, q, [0, 0, 0, 0, w, 0], duration=1.0, dt=1e-3, method=method)
        k = int(0.5 * sliding / 1e-3)
        np.testing.assert_allclose(run.q[k, 0], 0.5 * mu * G * run.t[k] ** 2, rtol=0, atol=1e-5)
        assert abs(np.linalg.norm(run.v[-1, :3]) - RADIUS * run.v[-1, 4]) < 1e-8
        np.testing.assert_allclose(np.linalg.norm(run.v[-1, :3]), mu * G * sliding, rtol=1e-3)


def test_gaps_of_disks_are_those_of_many_points_of_the_rim():
    rng = np.random.default_rng(0)
    tree = vt.Tree("disks")
    tree.world.add(vt.free("base"), vt.body("disk", 1.0, (1, 1, 1)))
    tree.contact(vt.Ground(height=-0.3, normal=(0.2, 0.1, 1), planes=[((1, 0, 0.4), -2.0)]))
    axis, at = np.array([0.3, -0.5, 0.8]), np.array([0.1, 0.2, -0.1])
    tree.contact(vt.Contact("disk", shapes=vt.Disk(0.4, axis, position=at)))
    model = tree.compile()
    across = np.linalg.svd(axis[None])[2][1:]
    turns = np.linspace(0, 2 * np.pi, 20001)
    rim = at + 0.4 * (np.cos(turns)[:, None] * across[0] + np.sin(turns)[:, None] * across[1])
    for _ in range(20):
        q = model.random_configuration(rng)
        gaps = model.contact_gaps(q)
        R = np.column_stack([rotated(q[3:], x) for x in np.eye(3)])
        points = rim @ R.T + q[:3]
        for k, plane in enumerate(model.contact_candidates.planes):
            assert abs((points @ plane[:3]).min() - plane[3] - gaps.gap[k]) < 1e-7
            assert abs(gaps.point_a[k] @ plane[:3] - plane[3] - gaps.gap[k]) < 1e-12


# ---- together with all else ---------------------------------------------------------------------------------


def cart():
    """A cart on two rolling wheels with dry axles, a dragging foot, an enforced limit, a drive and a constraint."""
    tree = vt.Tree("cart")
    at = tree.world.add(vt.free("base"), vt.body("cart", 5.0, (0.2, 0.3, 0.4)))
    for side, y in (("left", 0.3), ("right", -0.3)):
        at.add(vt.ty(y), vt.tz(-0.1), vt.ry(side, dry_friction=0.05), vt.body(f"{side} wheel", 0.5, (3e-3, 5e-3, 3e-3)))
        tree.roll(vt.RollingConstraint(f"{side} wheel", radius=0.1, normal=True, across=side == "left"))
    at.add(vt.tx(0.4), vt.ry("leg", lower=-0.4, upper=0.2), vt.tz(-0.2), vt.body("foot", 0.3, (1e-3,) * 3))
    at.add(vt.tz(0.2), vt.rz("mast"), vt.body("mast", 0.4, (0.01, 0.02, 0.02)))
    at.add(vt.tz(0.3), vt.rz("flag", kinematic=True), vt.body("flag", 0.1, (0.01, 0.01, 0.01)))
    tree.contact(vt.Ground(friction=0.4), vt.Contact("foot", points=[(0, 0, 0)]))
    tree.constrain(vt.gear("mast", "leg", 1.5))
    tree.limits = "enforce"
    return tree.compile().with_drives({"leg": (30, 1)})


def run_of_cart(method, duration=0.6, **more):
    model = cart()
    q = model.neutral()
    q[2] = 0.2
    q[model.joint("leg").q_slice] = -0.1
    q[model.joint("mast").q_slice] = -0.15
    v = np.zeros(model.nv)
    v[0], v[5], v[model.joint("flag").v_slice] = 1.0, 0.5, 0.9
    v = model.project_velocity(q, v)
    start = {"q0": q, "v0": v, "control": vt.Control(prescribed={"flag": lambda t: 0.9 * t}, targets=[0.3])}
    return model, partial(vt.simulate, model, dt=2e-3, method=method, duration=duration, **{**start, **more})


@pytest.mark.parametrize("method", METHODS)
def test_wheels_act_with_contacts_limits_drives_constraints_and_prescribed_motion(method):
    model, simulate = run_of_cart(method)
    run = simulate(monitors=("momentum_balance", "contact_work", "gap"))
    rows = rows_of(model, run.q[-1])[2]
    assert np.abs(rows @ run.v[-1]).max() < 1e-9
    gap = rims(model.wheels, np.arange(2), model._pose_rows(run.q[-1:])[0][model.wheels.body])[0]
    assert np.abs(gap).max() < 1e-10
    assert run.q[:, model.joint("leg").q_slice].max() < 0.2 + 1e-9
    assert np.abs(run.constraint).max() < 1e-11
    assert run.monitors["gap"].min() > -1e-9
    log = run.contacts
    pairs = {log.names[k] for k in set(log.number.tolist())}
    assert {("left wheel", "ground"), ("right wheel", "ground"), ("left", "dry friction")} <= pairs
    # the whole weight is on the wheels and the foot, on the mean
    force = run.contact_wrench("left wheel", "right wheel", "foot")[50:, 5].mean()
    assert abs(force - 9.81 * model.total_mass) < 0.1 * 9.81 * model.total_mass
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-11
    assert set(log.touching) == {"foot", "left wheel", "right wheel"}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_with_wheels_is_resumed_bit_for_bit(method, tmp_path):
    model, simulate = run_of_cart(method, 0.4)
    whole = simulate()
    for steps in (1, 37, 120):
        _, simulate = run_of_cart(method, steps * 2e-3)
        part = vt.Trajectory.load(simulate().save(tmp_path / "run.npz"))
        rest = part.resume((200 - steps) * 2e-3, model=model,
                           control=vt.Control(targets=[0.3], prescribed={"flag": lambda t: 0.9 * t}))  # fmt: skip
        assert rest.q.tobytes() == whole.q[steps:].tobytes()
        assert rest.v[1:].tobytes() == whole.v[steps + 1 :].tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_of_a_step_with_wheels_depends_on_scratch(method):
    model = disk()
    q, v = start_of_disk(model, 0.4, 1.2, np.array([0.5, 0.8, -6.0]))
    ends = []
    for spoiled in (False, True):
        integrator = vt.METHODS[method](model, 5e-3)
        integrator.start(0.0, q, model.generalized_momentum(q, v))
        for _ in range(30):
            integrator.advance(1)
            if spoiled:
                integrator.stepper.spoil()
        ends.append(integrator.state()[0])
    assert ends[0].tobytes() == ends[1].tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_a_blow_does_not_make_wheels_slip(method):
    """A ball hits the side of a cart on a rail of skates: restitution, and a row that holds."""
    tree = vt.Tree("hit", gravity=(0, 0, 0))
    tree.world.add(vt.tx("x"), vt.ty("y"), vt.rz("turn"), vt.body("sleigh", 2.0, (0.1, 0.1, 0.1)))
    tree.world.add(vt.tx("bx"), vt.ty("by"), vt.body("ball", 1.0, (0.1,) * 3))
    tree.roll(vt.RollingConstraint("sleigh"))
    tree.contact(vt.Contact("sleigh", shapes=vt.Sphere(0.2, position=(0.5, 0, 0)), restitution=1.0, friction=0.0))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1), restitution=1.0, friction=0.0))
    model = tree.compile()
    q = np.zeros(model.nq)
    names = list(model.q_names)
    q[names.index("bx")], q[names.index("by")] = 0.55, 0.8
    v = np.zeros(model.nv)
    v[names.index("by")] = -2.0
    run = vt.simulate(model, q, v, duration=1.0, dt=2e-3, method=method)
    turn = run.q[:, 2]
    across = run.v[:, 1] * np.cos(turn) - run.v[:, 0] * np.sin(turn)
    assert abs(run.v[-1, 2]) > 0.1
    assert np.abs(across).max() < 1e-10
    assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * run.energy[0]


# ---- the problem of rows ------------------------------------------------------------------------------------


def test_rows_that_hold_and_depend_on_each_other_are_solved_to_rounding():
    rng = np.random.default_rng(1)
    for _ in range(50):
        J = rng.standard_normal((3, 5))
        J = np.vstack([J, J[:2], J[0] + J[1], np.zeros(5)])
        M = np.diag(rng.uniform(0.5, 3, 5))
        G, b = J @ M @ J.T, J @ rng.standard_normal(5)
        dim = [1, 2, 3, 1]
        lam, w, residual, *_ = scalar().solve_cones(dim, G, b, [0] * 4, [(0, 0)] * 4, np.zeros(7), 1e-13, [1] * 4)
        assert residual < 1e-13
        np.testing.assert_allclose(w, 0, atol=1e-13)
        np.testing.assert_allclose(G @ lam + b, 0, atol=1e-12)
        assert lam[-1] == 0


def test_the_problem_with_rows_that_rub_is_that_of_its_inequalities():
    rng = np.random.default_rng(2)
    for _ in range(100):
        n = 6
        A = rng.standard_normal((n, n))
        G, b, bound = A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n), rng.uniform(0.01, 1, n)
        lead = rng.uniform(-0.2, 0.2, n)
        law = [2, 2, 2, 2, 1, 0]
        lam, w, *_ = scalar().solve_cones(
            [1] * n, G, b, bound, np.column_stack([lead, 0 * lead]), np.zeros(n), 1e-12, law)
        beta = (lam - lead)[:4]
        assert (np.abs(beta) < bound[:4] + 1e-11).all()
        held = np.abs(beta) < bound[:4] - 1e-9
        assert np.abs(w[:4][held]).max(initial=0) < 1e-10
        assert (w[:4][~held] * beta[~held] < 1e-10).all()
        assert abs(w[4]) < 1e-10 and lam[5] > -1e-11 and w[5] > -1e-11 and abs(lam[5] * w[5]) < 1e-10


# ---- data, names, refusals ----------------------------------------------------------------------------------


def test_rolling_is_written_and_read():
    tree = vt.Tree("all")
    tree.world.add(vt.free("base"), vt.body("a", 1.0, (1, 1, 1)))
    tree.roll(vt.RollingConstraint("a", radius=0.2, axis=(1, 2, 3), center=(0.1, 0, 0)),
              vt.RollingConstraint("a", across=True),
              vt.RollingConstraint("a", radius=0.1, axis=None, normal=True, plane=((0, 0, 1), 0.5)))  # fmt: skip
    tree.contact(vt.Ground(), vt.Contact("a", shapes=vt.Disk(0.3, (1, 0, 1), position=(0, 0, 1))))
    again = read_sexpr(write_sexpr(tree))
    assert again.rolling == tree.rolling and again.contacts == tree.contacts
    assert again.compile() == tree.compile() != vt.Model(tree.compile().flat.__class__(**{
        **vars(tree.compile().flat), "rolling": ()}))  # fmt: skip
    assert 'rolling of "a"' in str(tree)


def test_wheels_that_cannot_be_are_refused():
    with pytest.raises(vt.ModelError, match=r"no axis, which makes it a ball, and no radius"):
        vt.RollingConstraint("a", axis=None)
    with pytest.raises(vt.ModelError, match="constrains nothing"):
        vt.RollingConstraint("a", across=False)
    with pytest.raises(vt.ModelError, match="along of the rolling"):
        vt.RollingConstraint("a", along=1)
    with pytest.raises(vt.ModelError, match=r"give \(normal, height\)"):
        vt.RollingConstraint("a", plane=3.0)
    with pytest.raises(vt.ModelError, match="name"):
        vt.RollingConstraint(3)
    with pytest.raises(vt.ModelError, match="radius"):
        vt.RollingConstraint("a", radius=-1.0)
    tree = vt.Tree("t")
    tree.world.add(vt.tx("x"), vt.body("a", 1.0, (1, 1, 1)))
    with pytest.raises(vt.InputError, match="a RollingConstraint"):
        tree.roll(vt.Ground())
    tree.roll(vt.RollingConstraint("b"))
    with pytest.raises(vt.UnknownNameError, match='"b"'):
        tree.compile()
    tree.rolling[:] = [vt.RollingConstraint("world")]
    with pytest.raises(vt.ModelError, match="fixed to the world"):
        tree.compile()
    tree.rolling[:] = [vt.RollingConstraint("a")]
    hills = vt.HeightField(np.zeros((4, 4)), 1.0)
    tree.contact(vt.Ground(terrain=hills), vt.Contact("a"))
    with pytest.raises(vt.ModelError, match="terrain"):
        tree.compile()
    tree.contacts[:], tree.rolling[:] = [vt.Contact("a", shapes=vt.Disk(1.0))], []
    with pytest.raises(vt.ModelError, match="a disk, which touches planes only"):
        tree.compile()


def test_starts_off_the_plane_and_with_slip_are_refused():
    model = disk()
    q, v = start_of_disk(model, 0.0, 1.2, np.array([0.2, 0.3, -4.0]))
    with pytest.raises(vt.InputError, match=r'"disk" slips by .* m/s at the start'):
        vt.simulate(model, q, v + 0.1, duration=0.1, dt=1e-2)
    higher = q.copy()
    higher[2] += 0.1
    with pytest.raises(vt.InputError, match=r'"disk" is 0.1 m from the plane on which it rolls'):
        vt.simulate(model, higher, duration=0.1, dt=1e-2)
    with pytest.raises(vt.InputError, match="slips"):
        vt.Simulation(model, q, v + 0.1, dt=1e-2)
    still = model.project_velocity(q, v + 0.1)
    assert np.abs(rows_of(model, q)[2] @ still).max() < 1e-14
    np.testing.assert_allclose(model.project_velocity(q, still), still, rtol=0, atol=1e-13)
    vt.simulate(model, q, still, duration=0.05, dt=1e-2)


def test_methods_that_know_no_wheels_refuse_them():
    model = disk()
    q = model.neutral()
    q[2] = RADIUS
    for method in set(vt.METHODS) - {*METHODS, "implicit-euler"}:
        with pytest.raises(vt.ModelError, match=r"wheels that roll without slip.*, midpoint or implicit-euler"):
            vt.simulate(model, q, duration=0.1, dt=1e-2, method=method)
    for more in ({"order": 4}, {"adapt": "density", "method": "midpoint"}):
        with pytest.raises(vt.InputError, match=r"is not for wheels that roll .*, midpoint or implicit-euler"):
            vt.simulate(model, q, duration=0.1, dt=1e-2, **more)
    with pytest.raises(vt.ModelError, match="static_equilibrium"):
        vt.static_equilibrium(model, q)
    with pytest.raises(vt.ModelError, match=r'rolling: rolling of "disk"'):
        vt.write_urdf(model)


@pytest.mark.parametrize("lean", [0.0, 1e-2, 0.7])
def test_normal_way_and_axle_are_perpendicular_on_any_plane(lean):
    """Also of a wheel that lies flat, whose axle is the normal."""
    rng = np.random.default_rng(1)
    for n in (*np.eye(3), *(x / np.linalg.norm(x) for x in rng.normal(size=(5, 3)))):
        axle = n + lean * np.cross(n, rng.normal(size=3))
        ways = np.array(_ways(n, axle / np.linalg.norm(axle)))
        assert np.abs(ways @ ways.T - np.eye(3)).max() < 1e-12 and np.array_equal(ways[0], n)
