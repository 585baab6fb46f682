"""MJCF read by vitree has the numbers of MuJoCo: dynamics, energies, actuators, states."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from mjcf_texts import ACTUATORS, INERTIAL, MODELS, OTHER, driven, mjcf, of_gymnasium, random_text
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.model.contacts import unilateral_gaps

mujoco = pytest.importorskip("mujoco")
GYM = of_gymnasium()
OFF = mujoco.mjtDisableBit
#: What is soft in MuJoCo, and the fluid of the swimmer, are told and not compared.
SOFT = OFF.mjDSBL_CONTACT | OFF.mjDSBL_LIMIT | OFF.mjDSBL_FRICTIONLOSS | OFF.mjDSBL_EQUALITY


def read(source, **options):
    """The robot, and MuJoCo's data of its model without what is soft."""
    robot = vt.from_mujoco(source, **options)
    robot.mujoco.opt.disableflags |= int(SOFT)
    robot.mujoco.opt.density = robot.mujoco.opt.viscosity = 0
    return robot, mujoco.MjData(robot.mujoco)


def states(robot, data, count=4, seed=0):
    """Random states of both; MuJoCo's data is forwarded at each."""
    model, rng = robot.model, np.random.default_rng(seed)
    for _ in range(count):
        q = model.integrate(robot.start, rng.standard_normal(model.nv))
        v = rng.standard_normal(model.nv)
        data.qpos[:], data.qvel[:] = robot.to_mujoco(q, v)
        data.ctrl[:] = rng.uniform(-1.5, 1.5, len(data.ctrl))
        mujoco.mj_forward(robot.mujoco, data)
        yield q, v


def turns(robot, q):
    """The matrix that takes v to qvel."""
    columns = [robot.to_mujoco(q, e)[1] for e in np.eye(robot.model.nv)]
    return np.array(columns).T


def rate_of_turns(robot, q, v):
    """What the turning axes of free joints add to the rate of qvel."""
    out = np.zeros(robot.model.nv)
    for _, iv in robot._states.free:
        out[iv : iv + 3] = np.cross(v[iv + 3 : iv + 6], v[iv : iv + 3])
    return turns(robot, q) @ out


def close(ours, theirs, tolerance=1e-12):
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)


ALL = {**MODELS, **{f"driven by {name}": driven(name) for name in ACTUATORS}, **GYM}


@pytest.mark.parametrize("name", ALL)
def test_accelerations_are_those_of_mujoco(name):
    """qacc, with gravity, damping, springs and actuators, at random states; nothing touches or is at a limit."""
    robot, data = read(ALL[name])
    for q, v in states(robot, data):
        a = robot.model.forward_dynamics(q, v, inputs=robot.controls(data.ctrl), contacts="none").acceleration
        close(turns(robot, q) @ a + rate_of_turns(robot, q, v), data.qacc, 1e-11)


def test_random_models_move_as_in_mujoco_or_a_warning_says_why_not():
    """What is left out of accelerations is never left out in silence."""
    alike = 0
    for seed in range(100):
        robot, data = read(random_text(seed))
        told = [finding for finding in robot.report.of("warning") if not finding.id.startswith("mjcf-contact")]
        for q, v in states(robot, data, 2, seed):
            a = robot.model.forward_dynamics(q, v, inputs=robot.controls(data.ctrl), contacts="none").acceleration
            if not told:
                close(turns(robot, q) @ a + rate_of_turns(robot, q, v), data.qacc, 1e-10)
        alike += not told
    assert alike > 40


@pytest.mark.parametrize("name", ALL)
def test_mass_matrices_bias_and_energy_are_those_of_mujoco(name):
    robot, data = read(ALL[name])
    model, theirs = robot.model, robot.mujoco
    M = np.zeros((model.nv, model.nv))
    data.energy[:] = 0
    theirs.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    start = None
    for q, v in states(robot, data):
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(theirs, data, column, unit)
        J = turns(robot, q)
        close(model.crba(q), J.T @ M @ J, 1e-13)
        # bias: the force of gravity and velocities, at qacc = 0
        a = -np.linalg.solve(J, rate_of_turns(robot, q, v))
        close(model.rnea(q, v, a), J.T @ data.qfrc_bias, 1e-13)
        held = not theirs.body_gravcomp.any()
        energy = model.kinetic_energy(q, v) - data.energy[1], (model.potential_energy(q) - data.energy[0]) * held
        start = energy if start is None else start
        close(energy[0], 0.0, 1e-10)
        close(energy[1], start[1], 1e-10)  # potentials differ by a constant, if at all


@pytest.mark.parametrize("name", ALL)
def test_states_go_both_ways(name):
    robot, data = read(ALL[name])
    for q, v in states(robot, data):
        back = robot.from_mujoco(data.qpos, data.qvel)
        np.testing.assert_array_equal(back[0], q)
        np.testing.assert_allclose(back[1], v, rtol=0, atol=1e-14)
        there = robot.to_mujoco(*back)
        np.testing.assert_array_equal(there[0], data.qpos)
        # every body is where it is in MuJoCo
        for k in range(1, robot.mujoco.nbody):
            pose = robot.model.frame_pose(robot.model.link_names[k - 1], q)
            close(pose[:3, 3], data.xpos[k]), close(pose[:3, :3].ravel(), data.xmat[k])


@pytest.mark.parametrize("name", [x for x in MODELS if x not in ("hinge, then ball",)])
def test_motions_are_those_of_mujoco(name):
    """rk4 of MuJoCo with small steps, against linear-time of order 4."""
    robot, data = read(MODELS[name])
    model, theirs = robot.model, robot.mujoco
    rng = np.random.default_rng(3)
    q, v = robot.start, 0.5 * rng.standard_normal(model.nv)
    data.qpos[:], data.qvel[:] = robot.to_mujoco(q, v)
    theirs.opt.integrator, theirs.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    mujoco.mj_step(theirs, data, nstep=300)
    run = vt.simulate(model, q, v, duration=0.3, dt=1e-3, method="rk4")
    end, speed = robot.from_mujoco(data.qpos, data.qvel)
    assert np.abs(model.difference(run.q[-1], end)).max() < 2e-7
    np.testing.assert_allclose(run.v[-1], speed, rtol=0, atol=2e-6)


def test_forces_of_drives_are_those_of_actuators():
    robot, data = read(driven("position, limited"))
    cut = 0
    for q, v in states(robot, data, 20):
        (force,) = robot.model.drive_forces(q, v, inputs=robot.controls(data.ctrl))
        assert force == pytest.approx(-3 * data.actuator_force[0], abs=1e-12)
        cut += abs(abs(force) - 12) < 1e-12
    assert 0 < cut < 20


def test_the_right_things_are_drives_and_inputs():
    robot = vt.from_mujoco(driven("servo of two"))
    (drive,) = robot.model.drives
    assert (drive.joint, drive.kp, drive.kd) == ("elbow", 20, 2)
    assert robot.model.input_names == ("actuator2", "actuator0 + actuator1")
    assert robot.controls.names == ("actuator0", "actuator1", "actuator2")
    np.testing.assert_allclose(robot.controls([1.0, 10.0, 3.0]), [3.0, 2.0])
    assert vt.from_mujoco(driven("motor")).model.joint("shoulder").effort == (1.5,)


@pytest.mark.parametrize("kind", ["position", "motor"])
def test_an_actuator_without_a_gear_does_nothing(kind):
    """And is no drive; nothing is divided by its zero."""
    robot, data = read(mjcf(_PAIR, f'<actuator><{kind} joint="p" gear="0"/></actuator>'))
    assert robot.model.drives == () and robot.model.input_names == ()
    for q, v in states(robot, data):
        assert robot.controls(data.ctrl).shape == (0,)
        close(robot.model.forward_dynamics(q, v).acceleration, data.qacc, 1e-11)


def test_a_spring_within_a_rigid_body_does_nothing():
    """Sites on one body, or on bodies that are welded together."""
    text = mjcf(f"""<body><joint axis="0 1 0"/>{INERTIAL}<site name="a"/>
        <body pos="0 0 0.3">{OTHER}<site name="b" pos="0.1 0 0"/></body></body>""", """<tendon>
        <spatial stiffness="9" damping="1"><site site="a"/><site site="b"/></spatial></tendon>""")  # fmt: skip
    robot, data = read(text)
    assert robot.model.loads == () and not robot.report.of("warning")
    for q, v in states(robot, data):
        close(robot.model.forward_dynamics(q, v).acceleration, data.qacc, 1e-11)


def test_names_order_and_numbers():
    robot = vt.from_mujoco(mjcf(
        f"""<body name="a"><joint name="same" range="-30 60" damping="1" armature="2" frictionloss="3"/>{INERTIAL}
        <site name="a"/><site name="eye" pos="0 0 1"/><body><joint name="last" type="slide"/>{OTHER}</body></body>""",
        '<keyframe><key name="home" qpos="0.1 0.2" qvel="1 2"/><key/></keyframe>',
    ), limits="report")  # fmt: skip
    model = robot.model
    assert model.joint_names == ("same", "last") and model.link_names == ("a", "body2")
    assert {"a_site", "eye"} <= set(model.frame_names)
    assert model.joint("same").lower == pytest.approx([-np.pi / 6])
    assert (model.damping[0], model.armature[0], model.friction[0]) == (1, 2, 3)
    assert vt.load_mjcf(robot.mujoco, friction="dry", limits="ignore").dry_friction[0] == 3
    assert robot.keyframes["home"].q.tolist() == [0.1, 0.2] and robot.keyframes["home"].v.tolist() == [1, 2]
    assert list(robot.keyframes) == ["home", "key1"]
    assert model.limits == "report" and vt.load_mjcf(robot.mujoco).limits == "enforce"
    assert 'the site "a" is "a_site"' in str(robot.report)


# ---- equalities ----------------------------------------------------------------------------------------------


_PAIR = f"""<body name="one"><joint name="p" axis="0 1 0" ref="10"/>{INERTIAL}</body>
    <body name="two" pos="1 0 0"><joint name="q" axis="0 1 0"/>{OTHER}</body>"""


def test_joint_equalities_are_couplings():
    text = mjcf(_PAIR, '<equality><joint joint1="p" joint2="q" polycoef="0.3 -2 0 0 0"/></equality>')
    model = vt.load_mjcf(text)
    q = vt.satisfy_constraints(model, [0.0, 0.5], hold=["q"])
    assert q[0] - np.deg2rad(10) == pytest.approx(0.3 - 2 * 0.5)


@pytest.mark.parametrize("equality", [
    '<joint joint1="p" joint2="q" polycoef="0.3 -2 0 0 0"/>',
    '<joint joint1="q" joint2="p" polycoef="-0.1 0.5 0 0 0"/>',
    '<tendon tendon1="both" polycoef="0.2 0 0 0 0"/>', '<tendon tendon1="both" tendon2="one" polycoef="0.2 3 0 0 0"/>',
])  # fmt: skip
def test_couplings_hold_where_those_of_mujoco_do(equality):
    tendons = """<tendon><fixed name="both"><joint joint="p" coef="2"/><joint joint="q" coef="-1"/></fixed>
        <fixed name="one"><joint joint="q" coef="3"/></fixed></tendon>"""
    robot = vt.from_mujoco(mjcf(_PAIR, f"{tendons}<equality>{equality}</equality>"))
    data = mujoco.MjData(robot.mujoco)
    for start, zero in (([0.4, 0.7], False), (vt.satisfy_constraints(robot.model, [0.4, 0.7]), True)):
        data.qpos[:] = start
        mujoco.mj_forward(robot.mujoco, data)
        assert data.nefc == 1 and bool(abs(data.efc_pos[0]) < 1e-9) is zero


@pytest.mark.parametrize("kind", ["connect", "weld", "weld sites", "connect sites"])
def test_loops_are_closed_where_mujoco_closes_them(kind):
    """The residual of MuJoCo's equality is zero in configurations that satisfy our constraints, and not elsewhere."""
    bodies = f"""<body name="one"><freejoint/>{INERTIAL}<site name="s" pos="0.1 0.2 0.3" euler="10 20 30"/></body>
        <body name="two" pos="1 0 0"><joint type="ball" pos="0 0.1 0"/>{OTHER}<site name="t" pos="0 0.5 0"/></body>"""
    equality = {
        "connect": '<connect body1="one" body2="two" anchor="0.3 0.1 0.2"/>',
        "weld": '<weld body1="one" body2="two" anchor="0.3 0.1 0.2" relpose="0.1 0.2 0.3 0.9 0.1 0.2 0.3"/>',
        "weld sites": '<weld site1="s" site2="t"/>',
        "connect sites": '<connect site1="s" site2="t"/>',
    }[kind]
    robot = vt.from_mujoco(mjcf(bodies, f"<equality>{equality}</equality>"))
    model, data = robot.model, mujoco.MjData(robot.mujoco)
    assert len(model.constraints) == (3 if "connect" in kind else 6)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q = model.integrate(robot.start, 0.3 * rng.standard_normal(model.nv))
        for expected, at in ((False, q), (True, vt.satisfy_constraints(model, q))):
            data.qpos[:], data.qvel[:] = robot.to_mujoco(at, np.zeros(model.nv))
            mujoco.mj_forward(robot.mujoco, data)
            assert data.nefc == len(model.constraints)
            assert bool(np.abs(data.efc_pos).max() < 1e-9) is expected


def test_implied_equations_are_left_out():
    text = mjcf(f"""<body><joint axis="0 1 0"/>{OTHER}<body name="a" pos="0 0 0.5"><joint axis="0 1 0"/>{OTHER}</body>
        </body><body name="b" pos="1 0 0"><joint axis="0 1 0"/>{OTHER}</body>""",
        '<equality><connect body1="a" body2="b" anchor="0.5 0 0"/></equality>')  # fmt: skip
    model = vt.load_mjcf(text)
    assert len(model.constraints) == 2 and "mjcf-loops" in str(model.report)
    run = vt.simulate(model, vt.satisfy_constraints(model, model.neutral()), duration=0.1, dt=1e-3)
    assert np.abs(run.constraint).max() < 1e-10


# ---- contacts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("geom", "height"), [
    ('type="sphere" size="0.1"', 0.1), ('type="box" size="0.1 0.2 0.3"', 0.3),
    ('type="capsule" size="0.1 0.3" euler="0 90 0"', 0.1), ('type="cylinder" size="0.1 0.25"', 0.25),
    ('type="cylinder" size="0.1 0.25" euler="90 0 0"', 0.1), ('type="ellipsoid" size="0.3 0.2 0.1"', 0.1),
])  # fmt: skip
def test_solids_rest_on_planes_at_the_right_height(geom, height):
    text = mjcf(f"""<geom type="plane" size="1 1 1" pos="0 0 0.5" friction="0.7"/>
        <body pos="0 0 {0.5 + height + 0.01}"><freejoint/><geom {geom}/></body>""")  # fmt: skip
    robot = vt.from_mujoco(text)
    run = vt.simulate(robot.model, robot.start, duration=0.6, dt=2e-3)
    assert run.q[-1, 2] == pytest.approx(0.5 + height, abs=1e-9)
    data = mujoco.MjData(robot.mujoco)
    mujoco.mj_step(robot.mujoco, data, nstep=600)
    assert data.qpos[2] == pytest.approx(run.q[-1, 2], abs=2e-3)  # theirs is soft


def test_a_mesh_is_its_hull():
    spec = mujoco.MjSpec()
    spec.add_mesh(name="m", uservert=[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1])
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    body = spec.worldbody.add_body(pos=[0, 0, 1])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
    robot = vt.from_mujoco(spec)
    gaps = robot.model.contact_gaps(robot.start).gap
    assert sorted(gaps) == pytest.approx([1, 1, 1, 2])


def test_friction_is_that_of_the_pair():
    text = mjcf("""<geom type="plane" size="1 1 1" friction="0.3"/>
        <body pos="0 0 1"><freejoint/><geom size="0.1" friction="0.9"/></body>
        <body pos="1 0 1"><freejoint/><geom size="0.1" friction="0.1"/></body>
        <body pos="2 0 1"><freejoint/><geom size="0.1" friction="0.1" priority="1"/></body>
        <body pos="3 0 1"><freejoint/><geom size="0.1" friction="0.9" condim="1" priority="1"/></body>""")
    contacts = [x for x in vt.load_mjcf(text).contacts if isinstance(x, vt.Contact)]
    assert [x.friction for x in contacts] == [0.9, 0.3, 0.1, 0.0]


def test_an_override_of_friction_is_that_of_all_contacts():
    text = mjcf("""<geom type="plane" size="1 1 1" friction="0.3"/>
        <body pos="0 0 1"><freejoint/><geom size="0.1" friction="0.1"/></body>""", options="""
        <option o_friction="0.7 0.7 0 0 0"><flag override="enable"/></option>""")  # fmt: skip
    model = vt.load_mjcf(text)
    assert model.ground.friction == 0.7 and [x.friction for x in model.contacts if isinstance(x, vt.Contact)] == [0.7]


#: Of boxes MuJoCo finds no pairs of which the margin is much larger than they are.
KINDS = ('size="0.1"', 'type="cylinder" size="0.1 0.1"', 'type="capsule" size="0.1 0.05"',
         'type="ellipsoid" size="0.1 0.05 0.1"')  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_pairs_that_touch_are_those_of_mujoco(seed):
    """Shapes with random bits, excluded pairs, parents and children: the candidates are MuJoCo's pairs."""
    rng = np.random.default_rng(seed)

    def shape():
        return KINDS[rng.integers(len(KINDS))] if seed > 3 else KINDS[0]

    bodies = "".join(
        f"""<body name="b{k}" pos="{k} 0 1"><freejoint/><geom {shape()} contype="{rng.integers(4)}"
        conaffinity="{rng.integers(4)}"/><body name="c{k}" pos="0 0 0.3"><joint/><geom {shape()}/>
        <body name="d{k}" pos="0 0 0.3"><joint/><geom {shape()} contype="2" conaffinity="2"/></body></body></body>"""
        for k in range(3)
    )
    text = mjcf(bodies, '<contact><exclude body1="b0" body2="d0"/><exclude body1="c1" body2="c2"/></contact>')
    robot = vt.from_mujoco(text)
    gaps = robot.model.contact_gaps(robot.start)
    ours = {frozenset(pair) for pair in zip(gaps.a, gaps.b, strict=True)}
    data = mujoco.MjData(robot.mujoco)
    data.qpos[:] = robot.mujoco.qpos0
    robot.mujoco.geom_margin[:] = 1e3  # all that may touch is near
    mujoco.mj_forward(robot.mujoco, data)
    name = lambda geom: robot.mujoco.body(robot.mujoco.geom_bodyid[geom]).name  # noqa: E731
    theirs = {frozenset((name(a), name(b))) for a, b in data.contact.geom}
    assert ours == theirs and len(ours) > 3


@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_contact_touch_whatever_else_is_said(seed):
    """Geoms without bits, in some pairs of <contact>, also excluded ones: the candidates are MuJoCo's."""
    rng = np.random.default_rng(seed)
    bodies = "".join(f"""<body name="b{k}" pos="{k} 0 1"><freejoint/>
        <geom name="g{k}" size="0.1" contype="{int(k > 3)}" conaffinity="{int(k > 3)}"/></body>""" for k in range(6))
    floor = '<geom name="floor" type="plane" size="9 9 1" contype="0" conaffinity="0"/>'
    pairs = {frozenset(map(int, rng.choice(6, 2, replace=False))) for _ in range(5)}
    listed = "".join(f'<pair geom1="g{min(pair)}" geom2="g{max(pair)}"/>' for pair in pairs)
    listed += "".join(f'<pair geom1="g{k}" geom2="floor"/>' for k in range(6))
    one, other = sorted(next(iter(pairs)))
    text = mjcf(floor + bodies, f'<contact>{listed}<exclude body1="b{one}" body2="b{other}"/></contact>')
    robot = vt.from_mujoco(text)
    gaps = robot.model.contact_gaps(robot.start)
    ours = {frozenset(pair) for pair in zip(gaps.a, gaps.b, strict=True)}
    data = mujoco.MjData(robot.mujoco)
    robot.mujoco.geom_margin[:] = robot.mujoco.pair_margin[:] = 1e3
    mujoco.mj_forward(robot.mujoco, data)
    name = lambda geom: robot.mujoco.body(robot.mujoco.geom_bodyid[geom]).name  # noqa: E731
    theirs = {frozenset((name(a), name(b).replace("world", "ground"))) for a, b in np.sort(data.contact.geom)[:, ::-1]}
    assert ours == theirs == {frozenset((f"b{a}", f"b{b}")) for a, b in [*map(sorted, pairs), (4, 5)]} | {
        frozenset((f"b{k}", "ground")) for k in range(6)}  # fmt: skip
    assert not robot.left_out.of("warning")


@pytest.mark.parametrize("friction", ["0.3 0.3 0 0 0", "0.1 0.3 0 0 0", "0 0 0 0 0"])
def test_a_pair_of_contact_has_its_own_friction(friction):
    """A box slides down a slope of 30 degrees, whatever friction the geoms have."""
    text = mjcf(f"""<geom name="slope" type="plane" size="9 9 1" euler="0 30 0" contype="0" conaffinity="0"/>
        <body pos="0.05 0 {0.1 * 3**0.5 / 2}" euler="0 30 0"><freejoint/>
        <geom name="box" type="box" size="0.1 0.1 0.1" contype="0" conaffinity="0"/></body>""",
                f'<contact><pair geom1="box" geom2="slope" friction="{friction}"/></contact>')  # fmt: skip
    robot = vt.from_mujoco(text)
    run = vt.simulate(robot.model, robot.start, duration=0.5, dt=1e-3)
    mu = max(map(float, friction.split()))
    slid = np.linalg.norm(run.q[-1, :3] - run.q[0, :3])
    g = np.linalg.norm(robot.model.gravity)
    assert slid == pytest.approx(0.5 * g * (np.sin(np.pi / 6) - mu * np.cos(np.pi / 6)) * 0.5**2, rel=5e-3)
    assert ("differs by direction" in str(robot.report)) == (friction[:3] == "0.1")


@pytest.mark.parametrize("a", [*KINDS, 'type="box" size="0.1 0.1 0.1"'])
@pytest.mark.parametrize("b", [*KINDS, 'type="box" size="0.1 0.1 0.1"'])
def test_shapes_of_all_kinds_lie_on_each_other_as_in_mujoco(a, b):
    text = mjcf(f"""<geom type="plane" size="1 1 1"/><body pos="0 0 0.2"><geom {a}/></body>
        <body pos="0 0 0.55"><joint type="slide" axis="0 0 1" ref="0.55"/><geom {b}/></body>""")  # fmt: skip
    robot = vt.from_mujoco(text)
    assert not robot.left_out.of("warning")
    run = vt.simulate(robot.model, robot.start, duration=0.4, dt=2e-3)
    data = mujoco.MjData(robot.mujoco)
    mujoco.mj_step(robot.mujoco, data, nstep=400)
    fall = robot.start[0] - run.q[-1, 0]
    assert 0.04 < fall < 0.16 and fall == pytest.approx(0.55 - data.qpos[0], abs=2e-3)  # theirs is soft


def test_a_body_that_is_fixed_to_another_is_one_with_it():
    """Its masks do not take the contacts of the other; where the two differ that is told."""
    text = mjcf("""<body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/><body name="lid" pos="0 0 0.2">
        <geom size="0.1" contype="2" conaffinity="2"/></body></body>
        <body name="b" pos="1 0 1"><freejoint/><geom size="0.1"/></body>""")  # fmt: skip
    robot = vt.from_mujoco(text)
    gaps = robot.model.contact_gaps(robot.start)
    assert {*zip(gaps.a, gaps.b, strict=True)} == {("a", "b")}
    robot = vt.from_mujoco(text.replace('contype="2" conaffinity="2"', 'contype="1" conaffinity="2"'))
    gaps = robot.model.contact_gaps(robot.start)
    assert {*zip(gaps.a, gaps.b, strict=True)} == {("a", "b"), ("lid", "b")}
    assert "of which some geoms touch" not in str(robot.report)
    robot = vt.from_mujoco(text.replace('<geom size="0.1"/></body>"', "").replace(
        'contype="2" conaffinity="2"/></body></body>', 'contype="2" conaffinity="2"/></body></body>'
        '<body name="c" pos="2 0 1"><freejoint/><geom size="0.1" contype="3" conaffinity="3"/></body>'))  # fmt: skip
    gaps = robot.model.contact_gaps(robot.start)
    assert {("a", "c"), ("lid", "c")} <= {*zip(gaps.a, gaps.b, strict=True)}
    assert 'some geoms touch each other; here all of them do: "a - b"' in str(robot.report)


def test_planes_are_the_ground():
    text = mjcf("""<geom type="plane" size="1 1 1" friction="0.3"/><geom type="plane" size="1 1 1" euler="0 90 0"
        pos="-2 0 0"/><body pos="0 0 1"><freejoint/><geom size="0.1"/></body>""")  # fmt: skip
    ground = vt.load_mjcf(text).ground
    assert ground.friction == 0.3 and ground.height == 0 and ground.normal == (0, 0, 1)
    ((normal, height),) = ground.planes
    np.testing.assert_allclose(normal, (1, 0, 0), atol=1e-15)
    assert height == -2
    assert vt.load_mjcf(text, ground=vt.Ground(0.5)).ground == vt.Ground(0.5)
    assert vt.load_mjcf(text, contacts=False).ground is None


@pytest.mark.parametrize("name", GYM)
def test_robots_of_gymnasium_fall_and_lie(name):
    """Steps of contact keep the gaps; nothing gains energy."""
    robot = vt.from_mujoco(GYM[name])
    q = robot.start
    if robot.model.ground is not None and robot.model.contact_gaps(q).gap.min(initial=0.0) < 0:
        q = vt.place_on_ground(robot.model, q)
    run = vt.simulate(robot.model, q, duration=0.5, dt=2e-3)
    assert run.energy[-1] <= run.energy[0] + 1e-6
    limited = robot.model.limited_coordinates
    assert limited is None or not run.warnings
    if robot.model.ground is not None:
        assert min(robot.model.contact_gaps(q).gap.min() for q in run.q[::50]) > -1e-9
        fell = robot.model.center_of_mass(run.q[0])[2] - robot.model.center_of_mass(run.q[-1])[2]
        assert fell > -1e-9


# ---- what is left out, and errors ----------------------------------------------------------------------------

_BODY = f'<body name="b"><joint name="j" axis="0 1 0"/>{INERTIAL}<site name="s"/></body>'
_BALL = f'<body name="b"><joint name="j" type="ball" %s/>{INERTIAL}</body>'
_TENDON = '<tendon><fixed name="t" %s><joint joint="j" coef="1"/></fixed></tendon>'
LEFT_OUT = {
    "muscle": (mjcf(_BODY, '<actuator><muscle name="m" joint="j" lengthrange="0.1 1"/></actuator>'), 'actuator "m"'),
    "filter": (mjcf(_BODY, '<actuator><general joint="j" dyntype="filter" dynprm="1"/></actuator>'), "dynamics"),
    "asymmetric": (mjcf(_BODY, '<actuator><position joint="j" kp="1" forcerange="-1 2"/></actuator>'), "by direction"),
    "armature of a ball": (mjcf(_BALL % 'armature="1"'), "armature of the joint"),
    "spring of a free joint": (mjcf(f'<body><joint type="free" stiffness="1"/>{INERTIAL}</body>'), "spring of the"),
    "friction of a ball": (mjcf(_BALL % 'frictionloss="1"'), "friction of the joint"),
    "fluid": (mjcf(_BODY, options='<option density="1.2"/>'), "density 1.2"),
    "mocap": (mjcf(_BODY + '<body name="m" mocap="true"/>'), 'mocap bodies, which do not move: "m"'),
    "tendon": (mjcf(_BODY, '<tendon><fixed name="t" limited="true" range="0 1"><joint joint="j" coef="1"/></fixed>'
                           '</tendon>'), 'tendon "t": limits'),
    "polynomial": (mjcf(_PAIR, '<equality><joint joint1="p" joint2="q" polycoef="0 1 1 0 0"/></equality>'), "linear"),
    "lock": (mjcf(_PAIR, '<equality><joint joint1="p"/></equality>'), "it is of 1 joints"),
    "inactive": (mjcf(_PAIR, '<equality><joint joint1="p" joint2="q" active="false"/></equality>'), "not active"),
    "height field": (mjcf(_BODY + '<geom type="hfield" hfield="hills" euler="9 0 0"/>',
                          '<asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 0 1"/></asset>'),
                     "height fields"),
    "carried": (mjcf(
        f'<geom type="plane" size="1 1 1"/><body name="b" pos="0 0 1"><freejoint/>{INERTIAL}<geom size=".1"/>'
        f'<body name="c" pos="1 0 0"><joint/>{INERTIAL}<geom size=".1"/></body></body>',
        options='<option><flag filterparent="disable"/></option>'), 'what carries them; here they do not: "b - c"'),
    "limit of a tendon's actuators": (mjcf(_BODY, _TENDON % 'actuatorfrcrange="-1 1"' +
                                           '<actuator><motor tendon="t"/></actuator>'), 'force on the tendon "t"'),
    "armature on a tendon": (mjcf(_BODY, _TENDON % "" +
                                  '<actuator><motor tendon="t" armature="1" damping="2"/></actuator>'),
                             'armature and damping of the actuator "actuator0"'),
    "limit under a site": (mjcf(_BODY.replace('name="j"', 'name="j" actuatorfrcrange="-1 1"'),
                                '<actuator><motor site="s" gear="1 0 0 0 0 0"/></actuator>'), 'on sites, too: "j"'),
    "polynomial damping": (mjcf(_BODY, '<actuator><motor joint="j" damping="1 2"/></actuator>'),
                           'not linear, of the actuator "actuator0"'),
    "compensation within a limit": (mjcf('<body gravcomp="1"><joint name="j" axis="0 1 0" actuatorgravcomp="true" '
                                         f'actuatorfrcrange="-1 1"/>{INERTIAL}</body>',
                                         '<actuator><motor joint="j"/></actuator>'), "actuatorgravcomp"),
    "some geoms of two bodies": (mjcf("".join(
        f'<body name="b{k}" pos="{k} 0 0"><freejoint/><geom size=".1"/><geom size=".1" contype="2" conaffinity="2"/>'
        "</body>" for k in range(2))), 'some geoms touch each other; here all of them do: "b0 - b1"'),
}  # fmt: skip


def test_limits_of_balls_and_tendons_are_exact():
    """The angle of a ball joint, and the length of a tendon over sites, where MuJoCo's are soft."""
    bodies = f"""<site name="peg" pos="0.3 0 1"/><body name="b" pos="0 0 1"><joint name="j" type="ball" range="0 40"
        limited="true"/>{INERTIAL}<site name="tip" pos="0 0 -0.4"/><body pos="0 0 -0.4"><joint name="h" axis="0 1 0"/>
        {OTHER}<site name="end" pos="0 0 -0.3"/></body></body>"""
    tendon = """<tendon><spatial name="rope" limited="true" range="0 0.9"><site site="peg"/><site site="tip"/>
        <site site="end"/></spatial></tendon>"""
    robot = vt.from_mujoco(mjcf(bodies, tendon))
    assert not robot.left_out.of("warning")
    limit, rope = robot.tree.unilateral
    assert limit == vt.BallLimit("j", angle=np.radians(40)) and [x for x, _ in rope.points] == ["peg", "tip", "end"]
    model = robot.model
    run = vt.simulate(model, v0=[2.0, -3.0, 1.0, 3.0], duration=2.0, dt=2e-3)
    assert 2 * np.arccos(np.abs(run.q[:, 3])).max() < np.radians(40) + 1e-10
    at = [model.frame_pose(name, run.q)[:, :3, 3] for name in ("peg", "tip", "end")]
    length = np.linalg.norm(at[0] - at[1], axis=1) + np.linalg.norm(at[1] - at[2], axis=1)
    assert length.max() < 0.9 + 1e-10 and set(run.contacts.b) == {"angle limit", "rope"}
    lenient = vt.from_mujoco(mjcf(bodies, tendon), limits="report")
    told = str(lenient.left_out.of("warning"))
    assert not lenient.tree.unilateral and 'limit of the ball joint "j"' in told and 'tendon "rope": limits' in told


HILLS = """<asset><hfield name="hills" nrow="5" ncol="8" size="2 1 0.5 0.1" elevation="%s"/></asset>"""
HILLY = '<geom name="g" type="hfield" hfield="hills" pos="0.3 -0.2 0.4" friction="0.7"/>'


def test_a_height_field_is_the_ground():
    """Where MuJoCo's rays meet it, at its points. Beside a plane it is left out, as the ground goes on beyond it."""
    mujoco = pytest.importorskip("mujoco", minversion="4")
    heights = np.random.default_rng(2).random((5, 8))
    ball = '<body name="b" pos="0.5 0 2"><freejoint/><geom size="0.1" mass="1"/></body>'
    text = mjcf(HILLY + ball, HILLS % " ".join(map(repr, heights.ravel().tolist())))
    robot = vt.from_mujoco(text)
    ground, theirs = robot.model.ground, mujoco.MjModel.from_xml_string(text)
    assert not robot.left_out.of("warning") and ground.friction == 0.7
    data, field = mujoco.MjData(theirs), ground.terrain
    mujoco.mj_forward(theirs, data)
    x, y = (np.linspace(-1, 1, n)[1:-1] for n in (8, 5))
    for a, b in ((0.3 + 2 * a, -0.2 + b) for a in x for b in y):
        z = 5 - mujoco.mj_ray(theirs, data, [a, b, 5.0], [0, 0, -1.0], None, 1, 1, np.zeros(1, np.int32), None)
        assert field.height(a, b) == pytest.approx(z, abs=1e-6)
    assert robot.model.has_contact
    plane = vt.from_mujoco(text.replace(HILLY, HILLY + '<geom type="plane" size="9 9 1"/>'))
    assert plane.model.ground.terrain is None and "height fields" in str(plane.left_out.of("warning"))


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
def test_tendons_around_geoms_are_ropes_around_pulleys(kind, side):
    """Lengths and their derivatives are MuJoCo's, wherever the bodies are."""
    mujoco = pytest.importorskip("mujoco", minversion="4")
    beside = 'sidesite="beside"' if side else ""
    bodies = f"""<body name="drum"><freejoint/><geom name="g" type="{kind}" size="0.2 0.5" pos="0.1 0.05 0"
        euler="20 30 40" mass="1"/><site name="beside" pos="0.1 0.5 0.05"/></body>""" + "".join(
        f'<body name="{x}"><freejoint/><geom size=".01" mass="1"/><site name="at {x}" pos=".02 .03 .01"/></body>'
        for x in "ab")  # fmt: skip
    tendon = f"""<tendon><spatial name="rope" limited="true" range="0 50"><site site="at a"/>
        <geom geom="g" {beside}/><site site="at b"/></spatial></tendon>"""
    text = mjcf(bodies, tendon)
    robot = vt.from_mujoco(text)
    model, theirs = robot.model, mujoco.MjModel.from_xml_string(text)
    assert not robot.left_out.of("warning") and isinstance(robot.tree.unilateral[0].points[1], vt.Pulley)
    data, rng, wrapped = mujoco.MjData(theirs), np.random.default_rng(0), 0
    for _ in range(500):
        q = model.random_configuration(rng)
        for k in range(3):
            q[7 * k : 7 * k + 3] = rng.normal(size=3) * (0.1 if k == 0 else 0.4)
            data.qpos[7 * k : 7 * k + 7] = q[7 * k + np.array([0, 1, 2, 6, 3, 4, 5])]
        mujoco.mj_forward(theirs, data)
        _, (gap,), (row,) = unilateral_gaps(model, q)
        assert 50 - gap == pytest.approx(data.ten_length[0], abs=1e-12)
        expected = np.zeros(theirs.nv)  # rows of tendons are sparse, and of all coordinates here
        expected[:] = np.ravel(data.ten_J)
        for k in range(3):  # velocities of free joints are in world axes there
            expected[6 * k : 6 * k + 3] = Rotation.from_quat(q[7 * k + 3 : 7 * k + 7]).inv().apply(
                expected[6 * k : 6 * k + 3])  # fmt: skip
        np.testing.assert_allclose(-row, expected, atol=1e-11)
        wrapped += int(data.ten_wrapnum[0] > 2)
    assert 50 < wrapped < 450


@pytest.mark.parametrize("path, why", [
    ('<site site="at a"/><geom geom="g" sidesite="inside"/><site site="at b"/>', "inside of a geom"),
    ('<site site="at a"/><geom geom="g" sidesite="at a"/><site site="at b"/>', "side site moves"),
    ('<site site="at a"/><pulley divisor="2"/><site site="at a"/><site site="at b"/>', "branches"),
])  # fmt: skip
def test_tendons_that_are_no_ropes_are_told_with_the_reason(path, why):
    bodies = """<body name="drum"><freejoint/><geom name="g" type="sphere" size="0.2" mass="1"/><site name="inside"/>
        </body>""" + "".join(
        f'<body name="{x}"><freejoint/><geom size=".01" mass="1"/><site name="at {x}" pos=".02 .03 .01"/></body>'
        for x in "ab")  # fmt: skip
    tendon = f'<tendon><spatial name="rope" limited="true" range="0 50">{path}</spatial></tendon>'
    if "pulley" in path:
        tendon = tendon.replace("<pulley", '<site site="at b"/><pulley', 1)
    robot = vt.from_mujoco(mjcf(bodies, tendon))
    (told,) = robot.left_out.of("warning")
    assert not robot.tree.unilateral and "limits" in told.text and why in told.text


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_changes_the_motion_is_a_warning(what):
    text, words = LEFT_OUT[what]
    robot = vt.from_mujoco(text)
    assert words in str(robot.left_out.of("warning"))
    assert robot.model.report == robot.report  # the model has it, too
    plain = vt.from_mujoco(mjcf(_BODY))
    assert not plain.report.of("warning")


def test_smooth_friction_is_a_note():
    text = mjcf(_BODY.replace('name="j"', 'name="j" frictionloss="1"'))
    told = 'joint friction is regularised, so loaded joints creep; friction="dry" makes it exact: "j"'
    assert told in str(vt.check_mjcf(text))
    assert "smooth" not in str(vt.check_mjcf(text, friction="dry")) + str(vt.check_mjcf(mjcf(_BODY)))


def test_what_does_not_change_it_is_a_note():
    text = mjcf(_BODY + '<camera/><light/>', '<sensor><jointpos joint="j"/></sensor>')
    notes = str(vt.from_mujoco(text).left_out.of("note"))
    assert "cameras: 1, lights: 1" in notes and "sensors: 1" in notes and "time step of 0.002 s" in notes


@pytest.mark.parametrize(("text", "words"), [
    ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "MuJoCo does not compile it"),
    ("<mujoco><what/></mujoco>", "<text>: MuJoCo does not compile it"),
    ("<robot name='r'/>", "is URDF: its root element is <robot>; read it with load_urdf"),
    ("<sdf/>", "its root element is <sdf>"),
    ("<mujoco/>", "nothing in"),
    ("/no/such/file.xml", "there is no file /no/such/file.xml"),
    ("/", "is a folder"),
])  # fmt: skip
def test_errors_tell(text, words):
    with pytest.raises(vt.ModelError, match=words):
        vt.load_mjcf(text)
    if text[0] == "<":
        assert words in str(vt.check_mjcf(text).of("error"))


def test_a_file_that_does_not_compile_is_named(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text('<mujoco><worldbody><body><geom mesh="none" type="mesh"/></body></worldbody></mujoco>')
    with pytest.raises(vt.ModelError, match=r"bad\.xml: MuJoCo does not compile it: .*none"):
        vt.load_mjcf(path)


def test_wrong_arguments():
    text = mjcf(_BODY)
    for options, words in (({"friction": "wet"}, "friction"), ({"limits": "no"}, "limits")):
        with pytest.raises(vt.InputError, match=words):
            vt.load_mjcf(text, **options)
    with pytest.raises(vt.InputError, match="must be a path"):
        vt.load_mjcf(3)
    robot = vt.from_mujoco(text)
    with pytest.raises(vt.InputError, match="ctrl"):
        robot.controls([1.0])
    with pytest.raises(vt.InputError, match="qpos"):
        robot.from_mujoco([np.nan], [0.0])
    ball = vt.from_mujoco(MODELS["ball"])
    with pytest.raises(vt.InputError, match="quaternion of zeros"):
        ball.from_mujoco(np.zeros(4), np.zeros(3))
    long, _ = ball.from_mujoco([2.0, 0, 0, 0], np.zeros(3))
    assert long.tolist() == [0, 0, 0, 1]


def test_the_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(vt.MissingExtraError, match=r"vitree\[mjcf\]"):
        vt.load_mjcf(MODELS["hinge"])


def test_warnings_of_the_compiler_are_findings(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    text = mjcf(_BODY, options='<compiler settotalmass="3"/>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = vt.from_mujoco(text)
    assert robot.model.total_mass == pytest.approx(3)
    assert not list(tmp_path.iterdir()) and not any(capfd.readouterr())


def test_options_that_are_not_known_are_named():
    for read in (vt.load_mjcf, vt.check_mjcf):
        with pytest.raises(vt.UnknownNameError, match=r"frictoin.*friction"):
            read("<mujoco/>", frictoin="dry")
