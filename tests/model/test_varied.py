"""Models with other numbers: what a Tree with these numbers compiles to, what they scale, and what is refused."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from closed_chains import finger
from random_models import random_inertia, random_rotation
from touching_models import crate, crawler, human_figure

import vitree as vt
from vitree.mechanism.flat import Flat
from vitree.model.candidates import Candidates
from vitree.model.variants import PARAMETERS

ARM = vt.load_urdf(vt.find_robot("arm6"))
PENDULUM = vt.load_urdf(vt.find_robot("double_pendulum"))


def numbers(rng, links, joints):
    """Random numbers of links, and of joints by name."""
    masses = rng.uniform(0.5, 3.0, len(links))
    return {
        "mass": dict(zip(links, masses.tolist(), strict=True)),
        "com": {link: rng.normal(size=3) for link in links},
        "inertia": {link: random_inertia(rng, m) for link, m in zip(links, masses, strict=True)},
        **{what: {joint: float(rng.uniform(0.1, 2.0)) for joint in joints}
           for what in ("damping", "friction", "dry_friction", "armature")},
        "gravity": rng.normal(size=3),
        "gains": {joints[0]: rng.uniform(1.0, 9.0, 2)},
    }  # fmt: skip


LINKS, JOINTS = ("still", "trunk", "box", "arm", "tool", "lid"), ("slide", "turn", "twist")


def tree_of(numbers, seed):
    """A tree whose bodies are fixed together in twos and threes, with joints of every kind."""
    rng = np.random.default_rng(seed)
    body = lambda link: vt.body(link, numbers["mass"][link], numbers["inertia"][link], numbers["com"][link])  # noqa: E731
    of = lambda joint: {what: numbers[what][joint] for what in ("damping", "friction", "dry_friction", "armature")}  # noqa: E731
    fixed = lambda: vt.fixed(xyz=rng.normal(size=3), rotation=random_rotation(rng))  # noqa: E731
    tree = vt.Tree("varied", gravity=numbers["gravity"])
    tree.world.add(fixed(), body("still"))
    trunk = tree.world.add(vt.free("base"), body("trunk"))
    trunk.add(fixed(), body("box"))
    slide = trunk.add(fixed(), vt.tx("slide", **of("slide")), body("arm"))
    slide.add(fixed(), body("tool"))
    slide.add(vt.ball("wrist")).add(fixed(), vt.screw("turn", axis=(1, 2, 3), point=(0, 1, 0), pitch=0.2, **of("turn")),
                                    body("lid"))  # fmt: skip
    slide.add(vt.rz("twist", **of("twist")), vt.body("stub", 0.1, (0.1, 0.1, 0.1)))
    kp, kd = numbers["gains"]["slide"]
    tree.load(vt.Drive("slide", kp=kp, kd=kd, target="goal"))
    return tree


def same(a, b):
    """Whether two mechanisms have the same arrays; a library's product rounds the COM by the order in memory."""
    for field in fields(Flat):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.name in ("loads", "joints"):
            assert x == y, field.name
        elif field.name in ("com", "inertia"):
            assert np.allclose(x, y, rtol=0, atol=1e-14), field.name
        elif isinstance(x, np.ndarray) or field.name in ("link_mass", "link_com", "link_inertia"):
            assert np.array_equal(np.asarray(x), np.asarray(y)), field.name


@pytest.mark.parametrize("seed", range(4))
def test_the_arrays_are_those_of_a_tree_with_these_numbers(seed):
    rng = np.random.default_rng(seed)
    before, after = (numbers(rng, LINKS, JOINTS) for _ in range(2))
    model, other = tree_of(before, seed).compile(), tree_of(after, seed).compile()
    digest = model.digest
    found = model.with_parameters(**after)
    same(found.flat, other.flat)
    assert model.digest == digest  # it stayed as it was
    assert found != model
    same(found.with_parameters(**before).flat, model.flat)
    # one after another, and as arrays
    step = model
    for what in PARAMETERS:
        step = step.with_parameters(**{what: after[what]})
    same(step.flat, other.flat)
    assert model.with_parameters(**before) == model
    flat = other.flat
    as_arrays = {"mass": flat.link_mass, "com": flat.link_com, "inertia": flat.link_inertia, "damping": flat.damping,
                 "friction": flat.friction, "dry_friction": flat.dry_friction, "armature": flat.armature,
                 "gravity": flat.gravity, "gains": after["gains"]}  # fmt: skip
    assert model.with_parameters(**as_arrays) == found


def test_a_mapping_changes_what_it_names_alone():
    model = tree_of(numbers(np.random.default_rng(0), LINKS, JOINTS), 0).compile()
    found = model.with_parameters(mass={"tool": 7.0})
    changed = [name for name, a, b in zip(LINKS, model.flat.link_mass, found.flat.link_mass, strict=False) if a != b]
    assert changed == ["tool"]
    moved = np.flatnonzero(model.flat.mass != found.flat.mass)
    assert len(moved) == 1  # the body that "tool" is a part of
    rest = np.arange(model.nbody) != moved[0]
    assert np.array_equal(found.flat.inertia[rest], model.flat.inertia[rest])
    assert found.total_mass - model.total_mass == pytest.approx(7.0 - dict(zip(model.link_names, model.flat.link_mass,
                                                                               strict=True))["tool"])  # fmt: skip
    assert model.with_parameters() == model
    assert model.with_parameters(mass={"still": 99.0}).total_mass == model.total_mass  # it does not move
    damped = model.with_parameters(damping={"base": 2.0, "wrist": [1.0, 2.0, 3.0]}).damping
    assert np.array_equal(damped[model.joint("base").v_slice], np.full(6, 2.0))
    assert np.array_equal(damped[model.joint("wrist").v_slice], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("model", [ARM, PENDULUM, finger(), finger().reduced()],
                         ids=["arm", "pendulum", "loop", "reduced"])  # fmt: skip
def test_masses_scale_forces_and_gravity_scales_with_time(model):
    """M and rnea are proportional to masses and inertias; g -> g/4 is time twice as slow."""
    flat, rng = model.full.flat, np.random.default_rng(1)
    q, v, a = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    heavy = model.with_parameters(mass=3 * np.array(flat.link_mass), inertia=3 * np.array(flat.link_inertia))
    assert type(heavy) is type(model)
    assert heavy.crba(q) == pytest.approx(3 * model.crba(q))
    assert heavy.rnea(q, v, a) == pytest.approx(3 * model.rnea(q, v, a))
    assert heavy.aba(q, v, 3 * a) == pytest.approx(model.aba(q, v, a))
    light = model.with_parameters(gravity=model.gravity / 4)
    assert light.rnea(q, v / 2, a / 4) == pytest.approx(model.rnea(q, v, a) / 4)
    half = model.with_parameters(mass=np.array(flat.link_mass) / 2, inertia=np.array(flat.link_inertia) / 2,
                                 gravity=model.gravity / 2)  # fmt: skip
    assert half.potential_energy(q) == pytest.approx(model.potential_energy(q) / 4)


def mixed():
    """A floating trunk on a ground with a loop, a gear, a spring, drives, dry friction and enforced limits."""
    tree = vt.Tree("mixed")
    trunk = tree.world.add(vt.free("base"), vt.body("trunk", 3.0, (0.05, 0.06, 0.04)))
    for k, x in enumerate((0.25, -0.25)):
        leg = trunk.add(vt.tx(x), vt.ry(f"hip{k}", lower=-0.5, upper=0.6, dry_friction=0.1 * k), vt.tz(-0.3),
                        vt.body(f"leg{k}", 1.0, (0.02, 0.02, 0.005)))  # fmt: skip
        leg.add(vt.ry(f"knee{k}"), vt.tz(-0.2), vt.body(f"foot{k}", 0.5, (0.01,) * 3))
        tree.contact(vt.Contact(f"foot{k}", shapes=vt.Sphere(0.08)))
    tree.contact(
        vt.Ground(friction=0.6), vt.Contact("trunk", points=[(s * 0.2, r * 0.1, 0) for s in (-1, 1) for r in (-1, 1)])
    )
    tree.constrain(vt.gear("hip0", "hip1", -1.0), vt.Distance("foot0", "foot1", 0.5))
    tree.load(vt.Gravity(("leg0",), (0.0, 0.0, -1.0)), vt.Spring("leg0", "leg1", 20.0, 0.4))
    tree.limits = "enforce"
    return tree.compile().with_drives({"knee*": (30.0, 1.0)})


@pytest.mark.parametrize("given", [
    {"gravity": (0.1, 0.2, -5.0)}, {"mass": {"trunk": 4.0, "leg0": 0.7}}, {"com": {"leg0": (0.0, 0.01, 0.05)}},
    {"inertia": {"foot1": np.eye(3) * 0.02}}, {"damping": {"knee0": 0.3}}, {"dry_friction": {"knee1": 0.4}},
    {"armature": {"hip0": 0.1}}, {"gains": {"knee1": (60.0, 2.0)}}], ids=lambda given: next(iter(given)))  # fmt: skip
@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
def test_a_model_with_other_numbers_runs_as_one_that_is_made_of_its_arrays(method, given):
    """It shares what does not follow from its numbers with the model that it was made of, before and after that ran."""
    model = mixed()
    q = vt.place_on_ground(model, vt.satisfy_constraints(model, model.neutral()))
    run = lambda model: vt.simulate(model, q, duration=0.2, dt=2e-3, method=method)  # noqa: E731
    early, before = model.with_parameters(**given), run(model)
    for other in (early, model.with_parameters(**given)):
        assert other.constraint_list is model.constraint_list and other.contact_candidates is model.contact_candidates
        assert (other.contact_list is model.contact_list) == ("dry_friction" not in given)
        found, exact = run(other), run(vt.Model(other.flat))
        assert np.array_equal(found.q, exact.q) and np.array_equal(found.v, exact.v)
        assert other.digest == vt.Model(other.flat).digest != model.digest
        assert not np.array_equal(found.q, before.q)
    assert np.array_equal(run(model).q, before.q)


def test_a_body_that_gets_its_first_mass_changes_what_floats():
    tree = vt.Tree("carriage")
    slide = tree.world.add(vt.tx("x"), vt.body("cart", 0.0))
    slide.add(vt.ty("y"), vt.body("load", 1.0, (0.1,) * 3))
    model = tree.compile()
    heavier = model.with_parameters(mass={"cart": 2.0})
    assert len(model._floating[0].coordinates) == 2 and len(heavier._floating[0].coordinates) == 1
    assert model.with_parameters(mass={"load": 3.0})._floating[0].mass == 3.0


def test_kinds_of_models_stay_and_have_the_numbers():
    tree = vt.Tree("top")
    tree.world.add(vt.ball("pivot"), vt.body("top", 1.0, (0.1, 0.2, 0.25), com=(0, 0, 0.5)))
    euler = tree.compile().euler().with_parameters(mass={"top": 2.0})
    assert type(euler) is vt.EulerModel
    assert euler.native.total_mass == euler.total_mass == 2.0
    reduced = finger().reduced()
    follower = next(joint.name for joint in reduced.joints if joint.mimic)
    damped = reduced.with_parameters(damping={follower: 0.5})
    _, gain, _ = damped.joint(follower).mimic
    at = damped.joint(follower).v_slice
    before = reduced.full.damping[reduced.full.joint(follower).v_slice]
    assert damped.damping[at] == pytest.approx(reduced.damping[at] + gain**2 * (0.5 - before))
    driven = PENDULUM.with_drives({"*": {"kp": 5.0, "kd": 1.0, "effort_limit": 3.0}})
    first, second = driven.with_parameters(gains={"hinge2": (9.0, 2.0)}).drives
    assert (first, second.kp, second.kd, second.effort_limit) == (driven.drives[0], 9.0, 2.0, 3.0)


@pytest.mark.parametrize(("given", "error", "text"), [
    ({"mass": {"shouder": 1.0}}, vt.UnknownNameError, 'did you mean "shoulder"'),
    ({"damping": {"elbow": 1.0}}, vt.UnknownNameError, 'did you mean "elbow_joint"'),
    ({"gains": {"elbow_joint": (1, 2)}}, vt.UnknownNameError, "no driven joint"),
    ({"mass": {"elbow": -1.0}}, vt.ModelError, 'mass of "elbow" is -1'),
    ({"mass": {"elbow": np.nan}}, vt.InputError, r'mass\["elbow"\]'),
    ({"mass": {"elbow": [1.0, 2.0]}}, vt.InputError, r'mass\["elbow"\] has shape'),
    ({"mass": np.ones(3)}, vt.InputError, r"\(7,\), or a mapping of names of links"),
    ({"com": {"elbow": [1.0, 2.0]}}, vt.InputError, "com"),
    ({"inertia": {"elbow": -np.eye(3)}}, vt.ModelError, 'inertia of "elbow" has a negative principal moment'),
    ({"inertia": {"elbow": np.triu(np.ones((3, 3)))}}, vt.ModelError, "not symmetric"),
    ({"inertia": {"elbow": [1.0, 1.0, 1.0]}}, vt.InputError, "inertia"),
    ({"damping": {"elbow_joint": -0.1}}, vt.ModelError, 'damping of "elbow_joint" is -0.1'),
    ({"friction": np.full(6, -1.0)}, vt.ModelError, "friction of"),
    ({"armature": np.full(5, 1.0)}, vt.InputError, "armature"),
    ({"armature": {"elbow_joint": np.inf}}, vt.InputError, "armature"),
    ({"gravity": [1.0, 2.0]}, vt.InputError, "gravity"),
    ({"gains": 3.0}, vt.InputError, "gains"),
    ({"mass": "elbow"}, vt.InputError, "mass"),
])  # fmt: skip
def test_wrong_numbers_are_told(given, error, text):
    with pytest.raises(error, match=text):
        ARM.with_parameters(**given)


def test_wrong_gains_and_friction_of_balls_are_told():
    driven = PENDULUM.with_drives({"*": (5.0, 1.0)})
    with pytest.raises(vt.ModelError, match="kp of the drive"):
        driven.with_parameters(gains={"hinge1": (-1.0, 1.0)})
    with pytest.raises(vt.InputError, match="gains"):
        driven.with_parameters(gains={"hinge1": 1.0})
    tree = vt.Tree("top")
    tree.world.add(vt.ball("pivot"), vt.body("top", 1.0, (0.1, 0.2, 0.25), com=(0, 0, 0.5)))
    with pytest.raises(vt.ModelError, match="ball and free joints have no friction"):
        tree.compile().with_parameters(friction={"pivot": 1.0})


@pytest.mark.parametrize("friction", [0.3, 0.0, (0.6, 1e-3, 2e-3), {"ground": 0.2, "*": 0.9}])
@pytest.mark.parametrize("name", ["crawler", "human figure", "crate"])
def test_friction_of_contacts_is_that_of_a_model_made_anew(name, friction):
    """Points, rods, boxes, and convex shapes, of which the geometry is not worked out again, and runs."""
    model = {"crawler": lambda: crawler(vt.Ground(friction=0.7)), "human figure": human_figure,
             "crate": lambda: crate()[0]}[name]()  # fmt: skip
    found = model.with_parameters(contact_friction=friction)
    other = vt.Model(found.flat)
    assert found.digest == other.digest != model.digest
    for field in fields(Candidates):
        one, two = (getattr(each.contact_candidates, field.name) for each in (found, other))
        assert np.array_equal(one, two) if isinstance(one, np.ndarray) else repr(one) == repr(two), field.name
    assert found._contact_names == other._contact_names
    q = vt.place_on_ground(model, model.neutral())
    v = np.random.default_rng(0).normal(size=model.nv)
    runs = [vt.simulate(each, q, v, duration=0.2, dt=2e-3) for each in (found, other, model)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert not np.array_equal(runs[0].q, runs[2].q)
    # and back, by another change
    again = found.with_parameters(contact_friction=0.5, gravity=(0.0, 0.0, -1.0))
    assert again.digest == model.with_parameters(gravity=(0.0, 0.0, -1.0), contact_friction=0.5).digest


def test_wrong_friction_of_contacts_is_told():
    with pytest.raises(vt.InputError, match="may touch"):
        ARM.with_parameters(contact_friction=0.5)
    model = crawler(vt.Ground())
    for wrong in (-1.0, np.nan, "rough", {"ground": -0.1}):
        with pytest.raises(vt.VitreeError, match="friction"):
            model.with_parameters(contact_friction=wrong)
    with pytest.raises(vt.ModelError, match=r"the friction of the ground is -0\.1"):
        model.with_parameters(contact_friction={"ground": -0.1})
    with pytest.raises(vt.ModelError, match="the friction of the contacts is -1"):
        model.with_parameters(contact_friction=-1.0)
    with pytest.raises(vt.UnknownNameError, match="frame that may touch"):
        model.with_parameters(contact_friction={"nose": 0.5})
