"""Joints that rebound from their limits: heights of bounces, energy, files and what is refused."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import vitree as vt

METHODS = ("linear-time", "midpoint", "semi-implicit-euler", "rk4")
G = 9.81
ONE = """<robot name="r"><link name="a"/><joint name="s" type="revolute"><parent link="a"/><child link="b"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="b"><inertial><origin xyz="0 0 -1"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="t" type="{kind}"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/>{more}
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""
FREE = ONE.format(kind="continuous", more="")
LED = ONE.format(kind="revolute", more='<mimic joint="s" multiplier="2"/>')


def falling(restitution, **limits):
    """A block on a vertical rail with a stop at zero."""
    tree = vt.Tree("rail")
    limits = limits or {"lower": 0.0}
    tree.world.add(vt.tz("z", limit_restitution=restitution, **limits), vt.body("block", 2.0))
    tree.limits = "enforce"
    return tree.compile()


def apices(z):
    """Heights at which it turns, each that of the parabola through three records."""
    top = np.flatnonzero((z[1:-1] >= z[:-2]) & (z[1:-1] > z[2:])) + 1
    a, b, c = z[top - 1], z[top], z[top + 1]
    return b + (a - c) ** 2 / (8 * (2 * b - a - c))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("e", [1.0, 0.5])
def test_a_block_rises_to_the_square_of_the_restitution(method, e):
    """A blow a step's way below the stop: e^2 of the height above that, to round-off; Euler's method to its order."""
    for dt in (2e-3, 2.5e-4):
        run = vt.simulate(falling(e), [0.5], duration=1.0 + e / 2, dt=dt, method=method)
        way, found = dt * np.sqrt(2 * G * 0.5), apices(run.q[:, 0])[:2]
        assert -run.q.min() < 1.001 * way
        error = np.abs(found - 0.5 * e ** (2 * np.arange(1, 3))).max()
        if method == "semi-implicit-euler":
            assert error < 2.1 * way
        elif e == 1:
            assert error < 1e-12 and np.ptp(run.energy) < 1e-11
        else:
            assert error < (1 - e**2) * way
            assert found[0] == pytest.approx(e**2 * (0.5 - run.q.min()) + run.q.min(), rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_both_stops_rebound_and_no_other_joint_does(method):
    """A slide without gravity between an elastic lower and upper limit; one beside it stops dead."""
    tree = vt.Tree("slides", gravity=(0, 0, 0))
    for name, e in (("elastic", 1.0), ("dead", 0.0), ("half", 0.5)):
        tree.world.add(vt.tx(name, lower=-0.1, upper=0.1, limit_restitution=e), vt.body(f"of {name}", 1.0))
    tree.limits = "enforce"
    run = vt.simulate(tree.compile(), v0=[1.0, 1.0, 1.0], duration=0.64, dt=1e-3, method=method)
    np.testing.assert_allclose(run.v[-1], [-1.0, 0.0, 0.25], rtol=0, atol=1e-12)
    assert np.abs(run.q[:, 1]).max() < 0.1 + 1e-11 and np.abs(run.q).max() < 0.1 + 1.01e-3


@pytest.mark.parametrize("method", METHODS[:2])
def test_rebounds_never_add_energy_and_resume_bit_for_bit(method):
    """Random trees of slides and hinges between stops of random restitutions, without gravity.

    Below 0.5 a body is stopped at one record and rebounds at the next, so that energy falls and rises between them.
    """
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tree = vt.Tree("chain", gravity=(0, 0, 0))
        at = tree.world
        for k in range(4):
            make = (vt.rx, vt.ry, vt.tz)[rng.integers(3)]
            at = at.add(make(f"j{k}", lower=-0.2, upper=0.2, limit_restitution=rng.uniform(0.5, 1)), vt.tx(0.4),
                        vt.body(f"b{k}", 1.0, (0.02, 0.02, 0.03), com=(0.1, 0.05, 0)))  # fmt: skip
        tree.limits = "enforce"
        model, v = tree.compile(), rng.standard_normal(4)
        run = vt.simulate(model, v0=v, duration=1.0, dt=1e-3, method=method)
        assert len(run.contacts) >= 3
        assert np.diff(run.energy).max() < 2e-4 * run.energy[0]
        assert run.energy[-1] < run.energy[0]
        part = vt.simulate(model, v0=v, duration=0.5, dt=1e-3, method=method)
        rest = part.resume(0.5)
        assert rest.q.tobytes() == run.q[500:].tobytes()


# ---- where it is said ---------------------------------------------------------------------------------------


def test_a_robot_file_takes_a_number_or_numbers_by_names():
    def read(text, given, **more):
        return vt.load_urdf(text, limits="enforce", limit_restitution=given, **more).limit_restitution.tolist()

    assert read(FREE, 0.5) == read(FREE, {"*": 0.5}) == read(FREE, {"s": 0.5, "*": 0.2}) == [0.5, 0.0]
    assert read(FREE, None) == [0.0, 0.0]
    assert read(LED, 0.25) == [0.25]
    assert read(LED, {"t": 0.5, "*": 0.25}, mimic="independent") == [0.25, 0.5]
    assert read(FREE, 0.5, base="euler") == [0.0] * 6 + [0.5, 0.0]
    for given, text in (
        (1.5, r"limit_restitution=1.5 must be a number from 0 to 1"), (-0.1, "from 0 to 1"), ("x", "from 0 to 1"),
        (True, "from 0 to 1"), (np.nan, "from 0 to 1"), ({"s": 2}, r'limit_restitution\["s"\] is 2; it must be'),
        ({3: 0.5}, "a key of limit_restitution is 3"),
    ):  # fmt: skip
        with pytest.raises(vt.InputError, match=text):
            read(FREE, given)
    for given in ({"t": 0.5}, {"knee": 0.5}):
        with pytest.raises(vt.UnknownNameError, match=r"no joint with limits .*choose from s"):
            read(FREE, given)
    for limits in ("report", "ignore"):
        with pytest.raises(vt.InputError, match=r'limit_restitution= is of limits .* give limits="enforce"'):
            vt.load_urdf(FREE, limits=limits, limit_restitution=0.5)


def test_a_joint_refuses_what_is_no_restitution():
    for bad in (1.1, -0.1, np.nan, np.inf, "x", [0.1, 0.2]):
        with pytest.raises(vt.ModelError, match='the limit_restitution of "z" is'):
            falling(bad)
    with pytest.raises(vt.ModelError, match='"z" has limit_restitution and no limits; give lower= or upper=, too'):
        falling(0.5, lower=-np.inf)
    tree = vt.Tree("ball")
    tree.world.add(vt.ball("b", limit_restitution=0.5), vt.body("body", 1.0, (1, 1, 1)))
    with pytest.raises(vt.ModelError, match="limit restitution, but only joints of one coordinate can"):
        tree.compile()
    for bad in ([1.5], [-0.5], [np.nan], [0.1, 0.2]):
        with pytest.raises(vt.ModelError, match="limit_restitution"):
            replace(falling(0.0).flat, limit_restitution=np.array(bad))
    for method in ("scipy-rk45", "gauss"):
        with pytest.raises(vt.ModelError, match='limits="enforce"'):
            vt.simulate(falling(0.5), [0.5], duration=0.1, dt=1e-3, method=method)


def test_it_is_written_copied_and_part_of_the_digest(tmp_path):
    model = falling(0.5)
    assert model.digest != falling(0.25).digest and model == falling(0.5)
    assert falling(0.0).digest == vt.Model(replace(falling(0.0).flat, limit_restitution=None)).digest
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.euler()):
        assert again.limit_restitution.tolist() == [0.5]
    tree = vt.Tree("two")
    tree.world.add(*vt.universal("u", lower=-1.0, upper=1.0, limit_restitution=0.5), vt.body("a", 1.0, (1, 1, 1)))
    tree.limits = "enforce"
    text = vt.write_sexpr(tree)
    assert "(limit-restitution 0.5)" in text and "(limits enforce)" in text
    assert vt.load_sexpr(text).limit_restitution.tolist() == [0.5, 0.5]
    assert vt.write_sexpr(vt.read_sexpr(text)) == text
    run = vt.simulate(model, [0.5], duration=1.0, dt=1e-3)
    again = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    assert again.resume(0.5, model=model).q[0].tobytes() == run.q[-1].tobytes()
    with pytest.raises(vt.InputError, match="another model"):
        again.resume(0.5, model=falling(0.25))


def test_limits_in_body_axes_that_euler_angles_do_not_have_are_told():
    """Those of other joints stay."""
    tree = vt.Tree("mixed")
    top = tree.world.add(vt.free("base", velocity=3.0), vt.body("top", 1.0, (1, 1, 1)))
    side = top.add(vt.ball("shoulder", effort=5.0), vt.body("arm", 1.0, (1, 1, 1)))
    side.add(vt.ball("wrist"), vt.body("hand", 1.0, (1, 1, 1)))
    top.add(vt.rz("wheel", velocity=2.0, effort=4.0), vt.body("rim", 1.0, (1, 1, 1)))
    model = tree.compile()
    euler = model.euler()
    (told,) = euler.report
    assert told.id == "euler-limits" and told.severity == "warning"
    assert '"base", "shoulder" are in body axes' in told.text
    assert [(j.velocity, j.effort) for j in euler.joints if j.name == "wheel"] == [((2.0,), (4.0,))]
    assert not model.report
    assert not vt.Model(replace(model.flat, joints=tuple(
        replace(j, velocity=(np.inf,) * len(j.velocity), effort=(np.inf,) * len(j.effort)) for j in model.joints
    ))).euler().report  # fmt: skip
