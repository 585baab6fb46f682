"""Where contacts push and how much: by the steps themselves, by momentum, by energy; records, files and tables."""

from __future__ import annotations

import csv
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from touching_models import GROUNDS, crawler, thrown

import vitree as vt
from vitree.model import contacts as pushed
from vitree.results.contacts import ContactLog
from vitree.run.trajectory import convert

METHODS = ("linear-time", "midpoint")
EXPLICIT = ("semi-implicit-euler", "explicit-euler", "rk4", "rk8")
EXACT = {"tolerance": 1e-13}


def exactly(method):
    """The options of a method that solves its equations; explicit ones have none."""
    return EXACT if method in METHODS else {}


def crawl(ground="plane", seed=1, limits=False, duration=0.5, dt=1e-3, **more):
    model = crawler(GROUNDS[ground], limits)
    q, v = thrown(model, seed)
    return model, vt.simulate(model, q, v, duration=duration, dt=dt, **more)


def box(friction=0.5, height=0.0, normal=(0, 0, 1.0), gravity=(0, 0, -9.81), com=(0, 0, 0)):
    tree = vt.Tree("box", gravity=gravity)
    tree.world.add(vt.free("base"), vt.body("box", 2.0, (0.03, 0.04, 0.05), com=com))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    tree.contact(vt.Contact("box", points=corners), vt.Ground(height, normal, friction=friction))
    model = tree.compile()
    return model, vt.place_on_ground(model, model.neutral())


# ---- that which acted ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
@pytest.mark.parametrize(("ground", "limits", "seed"), [("plane", False, 1), ("slope", True, 2), ("corner", True, 3),
                                                        ("hills", False, 4), ("ice", False, 5)])  # fmt: skip
def test_wrenches_make_the_step(method, ground, limits, seed):
    """A model without contacts, whose momentum jumps by the wrenches of its bodies, goes where the run went."""
    dt = 1e-3
    model, run = crawl(ground, seed, limits, method=method, dt=dt, **exactly(method))
    bare = vt.Model(replace(model.flat, contacts=(), ground=None, limits="ignore"))
    log = run.contacts
    kicks = np.zeros_like(run.p)
    for name in log.touching:
        wrench = run.contact_wrench(name, about=name)
        for k in np.flatnonzero(wrench.any(axis=1)):
            kicks[k] += dt * wrench[k] @ bare.frame_jacobian(name, run.q[k - 1])
    for number, record, impulse in zip(log.number, log.record, log.impulse, strict=True):
        joint, other = log.names[number]
        if other == "limit":
            kicks[record, bare.joint(joint).v_slice] += impulse[0]
    steps = np.unique(log.record)
    assert len(steps) > 100 and len({log.names[k] for k in log.number}) > 4
    integrator = vt.METHODS[method](bare, dt, **exactly(method))
    worst = 0.0
    for k in steps:
        start = run.p[k - 1] + kicks[k]
        if not integrator.uses_momentum:
            start = bare.velocity_from_momentum(run.q[k - 1], start)
        integrator.start(0.0, run.q[k - 1], start)
        integrator.advance(1)
        q, p = integrator.state()
        p = p if integrator.uses_momentum else bare.generalized_momentum(q, p)
        size = np.abs(run.p[k]).max() + np.abs(kicks[k]).max()
        worst = max(worst, np.abs(q - run.q[k]).max() / dt / size, np.abs(p - run.p[k]).max() / size)
    assert worst < 2e-11
    if limits:
        signs = {np.sign(x[0]) for n, x in zip(log.number, log.impulse, strict=True) if log.names[n][1] == "limit"}
        assert signs  # those of upper limits are negative
        for number, record, impulse in zip(log.number, log.record, log.impulse, strict=True):
            if log.names[number][1] == "limit":
                q = run.q[record, model.joint(log.names[number][0]).q_slice][0]
                assert np.sign(impulse[0]) == -np.sign(q)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_momentum_changes_by_impulses_and_gravity(method, ground):
    dt = 1e-3
    model, run = crawl(ground, 6, method=method, dt=dt, monitors=("momentum_balance", "momentum"), **EXACT)
    log, found = run.contacts, run.monitors["momentum_balance"]
    size = np.abs(run.momentum).max() + np.abs(log.impulse).max()
    assert np.abs(found).max() < 1e-12 * size
    # and said anew: momenta of the states before the kick
    before = [model.momentum(q, model.velocity_from_momentum(q, p)) for q, p in zip(run.q, run.p, strict=True)]
    weight = model.total_mass * dt * np.array(model.gravity)
    change = np.diff(before, axis=0)[:, 3:] - weight - dt * run.contact_wrench()[1:, 3:]
    assert np.abs(change).max() < 1e-12 * size
    assert np.abs(change - found[:, 3:]).max() < 1e-13 * size


def test_blows_are_among_the_impulses():
    tree = vt.Tree("ball")
    tree.world.add(vt.free("base"), vt.body("ball", 1.0, (0.004,) * 3))
    tree.contact(vt.Contact("ball", shapes=vt.Sphere(0.1)), vt.Ground(restitution=0.8, friction=0.5))
    run = vt.simulate(tree.compile(), [0, 0, 0.5, 0, 0, 0, 1], [1.0, 0, 0, 0, 0, 3.0], duration=1.0, dt=1e-3,
                      monitors="momentum_balance", **EXACT)  # fmt: skip
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-11


def test_the_balance_shows_what_else_acts():
    """A wrench on the trunk is what is left; so is the start of a body that is held."""
    model = crawler(GROUNDS["plane"])
    q, v = thrown(model, 2)
    run = vt.simulate(model, q, v, duration=0.1, dt=1e-3, wrenches=[vt.ExternalWrench("trunk", (3.0, 0, 1.0))],
                      monitors="momentum_balance", **EXACT)  # fmt: skip
    np.testing.assert_allclose(run.monitors["momentum_balance"][:, 3:], np.tile((3e-3, 0, 1e-3), (100, 1)), atol=1e-11)


@pytest.mark.parametrize("method", (*METHODS, "rk4"))
@pytest.mark.parametrize("ground", ["plane", "hills"])
def test_energy_changes_by_the_work_of_contacts(method, ground):
    """E(p) - E0 = sum of W at all nodes, to the band of the method, which is of second order.

    So is E(p^) with half of the next kick's work, which friction owes at the node, but where a contact has just closed:
    there p^ has lost already that which the next kick takes.
    """
    bands, settled = [], []
    for dt in (2e-3, 1e-3, 5e-4):
        model, run = crawl(ground, 7, duration=0.6, dt=dt, method=method, monitors=("contact_work", "energy"),
                           **exactly(method))  # fmt: skip
        work = np.concatenate([[0.0], np.cumsum(run.monitors["contact_work"])])
        np.testing.assert_array_equal(run.monitors["energy"], run.energy[1:])
        before = model._energies(run.q, model._velocities(run.q, run.p))[:, :2].sum(axis=1)
        assert work.min() < -5.0
        bands.append(np.abs(before - before[0] - work).max())
        half = 0.5 * run.monitors["contact_work"]
        settled.append(np.median(np.abs((run.energy - run.energy[0] - work)[:-1] - half)))
        assert (run.energy <= before + 1e-9).all()
    assert bands[0] < 2e-3 and bands[2] < bands[0] / 10, bands
    # on hills the half of the next kick has another normal and place: a part of first order, and small
    assert settled[0] < 2e-4 and settled[2] < settled[0] / 6, settled
    free = vt.simulate(crawler(GROUNDS[ground]), *thrown(crawler(GROUNDS[ground]), 7, lift=50.0), duration=0.1, dt=1e-3,
                       method=method, monitors=("contact_work", "gap"))  # fmt: skip
    assert not free.monitors["contact_work"].any() and (free.monitors["gap"] > 0.1).all()


def test_the_work_of_friction_and_of_limits():
    model, q = box(friction=0.5)
    run = vt.simulate(model, q, [1.0, 0, 0, 0, 0, 0], duration=0.4, dt=1e-3, monitors="contact_work")
    # before a kick the box falls with h g/2
    assert run.monitors["contact_work"].sum() == pytest.approx(-1.0 + (0.5e-3 * 9.81) ** 2, abs=1e-9)
    tree = vt.Tree("hinge", gravity=(0, 0, 0))
    tree.world.add(vt.rz("a", lower=-0.3, upper=0.3), vt.tx(1.0), vt.body("bob", 1.0))
    tree.limits = "enforce"
    for speed in (1.0, -1.0):
        run = vt.simulate(tree.compile(), [0.0], [speed], duration=0.5, dt=1e-3,
                          monitors=("contact_work", "gap"))  # fmt: skip
        assert run.monitors["contact_work"].sum() == pytest.approx(-0.5, abs=1e-9)
        assert run.contacts.impulse[:, 0].sum() == pytest.approx(-speed)
        assert np.isnan(run.monitors["gap"]).all() and np.isnan(run.contacts.point_a).all()
        assert not run.contact_wrench().any() and np.isnan(run.center_of_pressure()).all()


def test_gaps_of_monitors_are_those_of_the_model():
    for ground in GROUNDS:
        model, run = crawl(ground, 8, duration=0.2, monitors="gap")
        expected = [model.contact_gaps(q).gap.min() for q in run.q[1:]]
        np.testing.assert_allclose(run.monitors["gap"], expected, rtol=0, atol=1e-14)
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    run = vt.simulate(model, [1.0, 0.5], duration=0.1, dt=0.01, monitors=("gap", "contact_work", "momentum_balance"))
    assert np.isnan(run.monitors["gap"]).all() and not run.monitors["contact_work"].any()


def test_long_runs_are_taken_in_parts(monkeypatch):
    """The same bits, whatever is worked out at once."""
    found = []
    for most in (pushed.MOST_POSES, 70):
        monkeypatch.setattr(pushed, "MOST_POSES", most)
        _, run = crawl("corner", 3, duration=0.2, monitors=("gap", "contact_work"))
        found.append((run.contacts.places, run.monitors["gap"], run.monitors["contact_work"]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


# ---- what a person reads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS + EXPLICIT)
@pytest.mark.parametrize("normal", [(0, 0, 1.0), (0.3, -0.2, 1.0)])
def test_a_box_at_rest(method, normal):
    """Its weight, below its centre of mass, whatever the points share."""
    com = (0.06, -0.04, 0.02)
    model, _ = box(friction=1.0, com=com, normal=normal)
    n = np.array(normal) / np.linalg.norm(normal)
    q = model.neutral()
    turn = Rotation.align_vectors([n], [(0, 0, 1.0)])[0]
    q[3:] = turn.as_quat()
    q[:3] = 0.1 * n + (1.0, 2.0, 0.0)
    q[:3] -= n * (q[:3] @ n - 0.1)
    run = vt.simulate(model, q, duration=0.3, dt=1e-3, method=method)
    wrench = run.contact_wrench("box")[2:]
    np.testing.assert_allclose(wrench[:, 3:], np.tile((0, 0, 2 * 9.81), (len(wrench), 1)), atol=1e-6)
    mass = q[:3] + turn.apply(com)
    about = run.contact_wrench("box", about=mass)[2:]
    np.testing.assert_allclose(about[:, :3], 0.0, atol=1e-6)
    # along gravity from the centre of mass to the plane
    foot = mass - (0, 0, (mass @ n) / n[2])
    np.testing.assert_allclose(run.center_of_pressure("box")[2:], np.tile(foot, (len(wrench), 1)), atol=1e-6)
    np.testing.assert_array_equal(run.center_of_pressure(), run.center_of_pressure("box"))
    assert np.isnan(run.center_of_pressure()[0]).all() and not run.contact_wrench()[0].any()
    np.testing.assert_allclose(run.contacts.normal, np.tile(n, (len(run.contacts), 1)), atol=1e-15)
    assert np.abs(run.contacts.point_a @ n).max() < 1e-9
    first = run.contact_wrench("box")[1, 3:]
    # the run begins in contact: half a step's, or what the method puts where a step begins
    np.testing.assert_allclose(first, (0, 0, 19.62 * (1 - vt.METHODS[method].at_end)), atol=1e-6)


def test_forces_between_bodies_cancel():
    _, run = crawl("plane", 1, duration=1.0)
    both = [pair for pair in {run.contacts.names[k] for k in run.contacts.number} if pair[1] != "ground"]
    assert both
    a, b = both[0]
    one, other, together = (run.contact_wrench(*names) for names in ((a,), (b,), (a, b)))
    assert (np.abs(one) > 0).any(axis=1).sum() > 3
    np.testing.assert_allclose((one + other)[:, 3:], together[:, 3:], atol=1e-9)
    every = run.contact_wrench(*run.contacts.touching)
    np.testing.assert_allclose(every[:, 3:], run.contact_wrench()[:, 3:], atol=1e-9)
    np.testing.assert_allclose(run.contacts.total(len(run), a) / 1e-3, one[:, 3:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("monitors", [(), ("gap",)])
@pytest.mark.parametrize("every", [2, 7])
def test_records_between_which_steps_lie(every, monitors, tmp_path):
    _, full = crawl("plane", 9, duration=0.7)
    _, run = crawl("plane", 9, duration=0.7, record_every=every, monitors=monitors)
    assert run.q.tobytes() == full.q[::every].tobytes()
    assert [*run.monitors] == (["t", *monitors] if monitors else [])
    for names in ((), ("trunk",), ("left_foot", "ball")):
        for about in ("trunk", (0.1, 0.2, 0.3)):
            expected = full.contact_wrench(*names, about=about)[::every]
            expected[0] = 0.0
            np.testing.assert_array_equal(run.contact_wrench(*names, about=about), expected)
    part, back = run[3:40:2], run[::-1]
    np.testing.assert_array_equal(part.contact_wrench("trunk", about="trunk"),
                                  run.contact_wrench("trunk", about="trunk")[3:40:2])  # fmt: skip
    np.testing.assert_array_equal(back.center_of_pressure(), run.center_of_pressure()[::-1])
    np.testing.assert_array_equal(run[[5, 5, 2]].contact_wrench(), run.contact_wrench()[[5, 5, 2]])
    for again in (pickle.loads(pickle.dumps(run)), vt.Trajectory.load(run.save(tmp_path / "run.npz"))):
        for name in ("point_a", "point_b", "normal", "force", "impulse", "slip", "gap"):
            np.testing.assert_array_equal(getattr(again.contacts, name), getattr(run.contacts, name))
        np.testing.assert_array_equal(again.contact_wrench("trunk"), run.contact_wrench("trunk"))
    with pytest.raises(vt.InputError, match=r'not known where "trunk" was, since the run is from a file; give about='):
        again.contact_wrench("trunk", about="trunk")


@pytest.mark.parametrize("every", [1, 5])
def test_a_held_run_tells_its_contacts(every):
    model, full = crawl("plane", 9, duration=0.5)
    sim = vt.Simulation(model, *thrown(model, 9), dt=1e-3, record_every=every)
    for count in (1, 2, 97, 400):
        sim.step(count)
    run = sim.trajectory
    expected = full.contact_wrench("trunk", about="trunk")[::every]
    expected[0] = 0.0
    np.testing.assert_array_equal(run.contact_wrench("trunk", about="trunk"), expected)
    np.testing.assert_array_equal(run.v, full.v[::every])
    kept = sim.save()
    sim.step(every)
    sim.restore(kept)
    sim.record()
    assert len(sim.trajectory.contacts.of(len(sim.trajectory) - 1)) == 0  # the step before it is not known


def test_a_reduced_model_tells_what_the_full_one_does(tmp_path):
    tree = vt.Tree("walker")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 2.0, (0.03, 0.04, 0.05)))
    for side, x in (("left", 0.2), ("right", -0.2)):
        trunk.add(vt.tx(x), vt.ry(side), vt.tz(-0.3), vt.body(f"{side}_foot", 1.0, (0.01, 0.01, 0.01)))
        tree.contact(vt.Contact(f"{side}_foot", points=[(0.05, 0, 0), (-0.05, 0.02, 0)]))
    tree.contact(vt.Ground(friction=0.7))
    tree.constrain(vt.Coupling({"left": 1.0, "right": -1.0}))
    full = tree.compile()
    model = full.reduced()
    q = vt.place_on_ground(model, model.integrate(model.neutral(), np.array([0, 0, 0, 0.2, 0.1, 0.3, 0.3])))
    watched = ("gap", "contact_work", "momentum_balance")
    run = vt.simulate(model, q, duration=0.3, dt=1e-3, record_every=3, monitors=watched)
    same = vt.simulate(full, model.expand(q), duration=0.3, dt=1e-3, record_every=3, monitors=watched)
    assert run.system is model and len(run.contacts) > 50
    for name in watched:
        np.testing.assert_array_equal(run.monitors[name], same.monitors[name])
    np.testing.assert_array_equal(run.contact_wrench("left_foot", about="left_foot"),
                                  same.contact_wrench("left_foot", about="left_foot"))  # fmt: skip
    again = vt.Trajectory.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.center_of_pressure(), same.center_of_pressure())


def test_steps_that_differ():
    """Forces are impulses over the length of their own step."""
    model, q = box()
    dt = np.tile([1e-3, 3e-3, 2e-3], 30)
    for every in (1, 3):
        run = vt.simulate(model, q, dt=dt, record_every=every)
        log = run.contacts
        np.testing.assert_array_equal(np.unique(log.dt), np.unique(dt[every - 1 :: every]))
        np.testing.assert_allclose(log.force * log.dt[:, None], log.impulse, rtol=1e-14, atol=1e-18)
        assert np.isfinite(log.point_a).all()


@pytest.mark.parametrize("method", METHODS)
def test_balances_of_steps_that_all_differ(method):
    """Monitors know the length of each step, over all chunks of a run."""
    model, q = box()
    dt = np.random.default_rng(0).uniform(2e-4, 2e-3, 200)
    run = vt.simulate(model, q, [1.0, 0.3, 0, 0, 0, 2.0], dt=dt, method=method, **EXACT,
                      monitors=("momentum_balance", "contact_work"))  # fmt: skip
    assert np.abs(run.monitors["momentum_balance"]).max() < 1e-12 * np.abs(run.momentum).max()
    before = model._energies(run.q, model._velocities(run.q, run.p))[:, :2].sum(axis=1)
    assert abs(before[-1] - before[0] - run.monitors["contact_work"].sum()) < 2e-5


def test_errors_say_what_there_is():
    _, run = crawl("plane", 1, duration=0.05)
    with pytest.raises(vt.UnknownNameError, match=r'no frame that may touch "left_food"; did you mean "left_foot"'):
        run.contact_wrench("left_food")
    with pytest.raises(vt.UnknownNameError, match="frame that may touch"):
        run.center_of_pressure("ground")
    with pytest.raises(vt.UnknownNameError, match='no frame "nowhere"'):
        run.contact_wrench("trunk", about="nowhere")
    for about in ((1, 2), np.zeros((3, 3)), (np.nan, 0, 0)):
        with pytest.raises(vt.InputError, match="about"):
            run.contact_wrench("trunk", about=about)
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    none = vt.simulate(model, duration=0.1, dt=0.01)
    for call in (none.contact_wrench, none.center_of_pressure, lambda: none.to_pandas(contacts=True)):
        with pytest.raises(vt.InputError, match="may touch"):
            call()
    rows, names = np.zeros((2, 9)), [("a", "ground")]
    for places, dt in ((np.zeros((2, 6)), 1.0), (np.zeros((1, 7)), 1.0), (None, np.zeros(3))):
        with pytest.raises(vt.InputError, match="contacts ha"):
            ContactLog(rows, names, places, dt)
    assert np.isnan(ContactLog(rows, names).point_a).all()


# ---- tables and files ---------------------------------------------------------------------------------------


def test_tables_of_contacts(tmp_path):
    _, run = crawl("slope", 3, duration=0.4, limits=True)
    log = run.contacts
    table = run.to_pandas(contacts=True)
    assert list(table.columns[:3]) == ["record", "a", "b"] and len(table) == len(log) > 50
    assert table.attrs["units"]["force.x"] == "N" and table.attrs["units"]["gap"] == "m"
    np.testing.assert_array_equal(table[["force.x", "force.y", "force.z"]].to_numpy(), log.force)
    np.testing.assert_allclose(table.index, run.t[log.record] - 1e-3, atol=1e-15)
    assert [*zip(table.a, table.b, strict=True)] == [log.names[k] for k in log.number]
    with open(run.to_csv(tmp_path / "contacts.csv", contacts=True), newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0][:4] == ["t [s]", "record [1]", "a", "b"] and len(rows) == len(log) + 1
    k = rows[0].index("impulse.y [N s]")
    np.testing.assert_array_equal([float(row[k]) for row in rows[1:]], log.impulse[:, 1])
    # the table of records has the force and the centre of pressure of each frame
    records = run.to_pandas()
    np.testing.assert_array_equal(records["contact.trunk.force.z"], run.contact_wrench("trunk")[:, 5])
    np.testing.assert_array_equal(records["contact.trunk.center.x"], run.center_of_pressure("trunk")[:, 0])
    content = json.loads(convert(run, tmp_path / "run.json").read_text())
    np.testing.assert_array_equal(content["contacts"]["slip.z"]["values"], log.slip[:, 2])
    assert content["contacts"]["b"]["values"] == [log.names[k][1] for k in log.number]


def test_datasets_of_contacts(tmp_path):
    xarray = pytest.importorskip("xarray")
    _, run = crawl("plane", 3, duration=0.3, monitors=("gap", "contact_work", "momentum_balance"))
    data = run.to_xarray()
    np.testing.assert_array_equal(data.contact_force, run.contacts.force)
    assert data.contact_force.dims == ("contact", "axis") and data.contact_force.units == "N"
    with xarray.open_dataset(run.to_netcdf(tmp_path / "run.nc")) as again:
        np.testing.assert_array_equal(again.contact_point, run.contacts.point_a)
        assert [str(x) for x in again.contact_a.values] == [run.contacts.names[k][0] for k in run.contacts.number]
        np.testing.assert_array_equal(again.monitor_momentum_balance, run.monitors["momentum_balance"])
        assert again.monitor_gap.units == "m"
    model = crawler(GROUNDS["plane"])
    empty = vt.simulate(model, *thrown(model, 1, lift=9.0), duration=0.01, dt=1e-3)
    assert "contact_force" not in empty.to_xarray() and len(empty.to_pandas(contacts=True)) == 0
    empty.to_netcdf(tmp_path / "empty.nc")


def test_mcap_has_contacts(tmp_path):
    reader = pytest.importorskip("mcap.reader")
    _, run = crawl("plane", 3, duration=0.3, record_every=3, monitors=("gap", "momentum_balance"))
    with open(run.to_mcap(tmp_path / "run.mcap"), "rb") as stream:
        messages = [(channel.topic, json.loads(message.data)) for _, channel, message in
                    reader.make_reader(stream).iter_messages()]  # fmt: skip
    contacts = [content["contacts"] for topic, content in messages if topic == "/contacts"]
    assert len(contacts) == len(run)
    assert [len(row) for row in contacts] == [len(run.contacts.of(k)) for k in range(len(run))]
    first = next(row for row in contacts if row)[0]
    np.testing.assert_array_equal([first["force"][x] for x in "xyz"], run.contacts.force[0])
    watched = [content for topic, content in messages if topic == "/monitors"]
    np.testing.assert_array_equal([x["gap"] for x in watched], run.monitors["gap"])
    assert set(watched[0]["momentum_balance"]) == {"angular", "linear"}
