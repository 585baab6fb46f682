"""<collision> shapes of robot files that touch a ground."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt
from vitree.errors import InputError, UrdfError

trimesh = pytest.importorskip("trimesh")

SHAPES = """
  <collision><origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/><geometry>{}</geometry></collision>"""


def robot(*shapes, more=""):
    own = "".join(SHAPES.format(shape) for shape in shapes)
    return f"""<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"
      ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><sphere radius="9"/></geometry></visual>{own}</link>{more}</robot>"""


def turned():
    from vitree.spatial.rotations import rotation_rpy

    return rotation_rpy(0.3, -0.2, 0.5)


@pytest.mark.parametrize(("text", "shape"), [
    ('<sphere radius="0.1"/>', vt.Sphere(0.1)), ('<box size="0.1 0.2 0.3"/>', vt.Box((0.1, 0.2, 0.3))),
    ('<capsule radius="0.1" length="0.4"/>', vt.Capsule(0.1, 0.4)),
    ('<cylinder radius="0.1" length="0.4"/>', vt.Cylinder(0.1, 0.4)),
])  # fmt: skip
@pytest.mark.parametrize("base", ["free", "euler"])
def test_each_shape(text, shape, base):
    model = vt.load_urdf(robot(text), base=base, ground=vt.Ground(friction=0.3), limits="ignore")
    (contact,) = model.contacts
    assert contact.frame == "base"
    (found,) = contact.shapes
    assert type(found) is type(shape)
    np.testing.assert_allclose(found.points, shape.points @ turned().T + (0.1, 0.2, 0.3), atol=1e-15)
    assert found.ball == shape.ball
    assert (model.ground, model.limits) == (vt.Ground(friction=0.3), "ignore")
    # the visual sphere of 9 m does not touch
    assert vt.place_on_ground(model, model.neutral())[2] < 0.5


def mesh_file(folder, kind, points, faces):
    mesh = trimesh.Trimesh(points, faces, process=False)
    path = folder / f"part.{kind}"
    mesh.export(path)
    return path


CUBE = np.array([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)


@pytest.mark.parametrize("kind", ["stl", "obj", "ply"])
@pytest.mark.parametrize("scale", ["", ' scale="0.5 2 -1"', ' scale="1e-3 1e-3 1e-3"', ' scale="0.5"'])
def test_meshes_are_scaled_hulls(tmp_path, kind, scale):
    part = trimesh.creation.box()
    part.apply_translation((0.5, 0.5, 0.5))
    mesh_file(tmp_path, kind, part.vertices, part.faces)
    (tmp_path / "r.urdf").write_text(robot(f'<mesh filename="part.{kind}"{scale}/>'))
    model = vt.load_urdf(tmp_path / "r.urdf", base="free", ground=vt.Ground())
    sizes = [float(x) for x in scale.partition('"')[2].strip('"').split()] or [1, 1, 1]
    wanted = (CUBE * sizes) @ turned().T + (0.1, 0.2, 0.3)
    found = model.contacts[0].shapes[0].points
    assert len(found) == 8
    assert np.abs(found[:, None] - wanted[None]).sum(-1).min(axis=1).max() < 1e-6
    assert model.contacts[0].lost == 0


def test_many_vertices_are_thinned_and_the_report_says_by_how_much(tmp_path):
    ball = trimesh.creation.icosphere(4, 0.5)
    mesh_file(tmp_path, "stl", ball.vertices, ball.faces)
    (tmp_path / "r.urdf").write_text(robot('<mesh filename="part.stl"/>'))
    lost = []
    for count in (8, 20, 64):
        model = vt.load_urdf(tmp_path / "r.urdf", base="free", ground=vt.Ground(), meshes=vt.Meshes(points=count))
        assert len(model.contact_candidates.point) == count
        lost.append(model.contacts[0].lost)
        (note,) = [f for f in model.report if f.id == "contact-points"]
        assert "links: 1, shapes: 1." in note.text
        assert f'{lost[-1]:.2g} m, on "base"' in note.text
    assert lost[0] > lost[1] > lost[2] > 0
    placed = vt.place_on_ground(model, model.neutral())
    true = (np.asarray(ball.vertices) @ turned().T)[:, 2].min() + 0.3 + placed[2]
    assert -lost[2] - 1e-9 <= true <= 1e-9


def test_the_model_needs_its_meshes_no_more(tmp_path):
    import pickle

    part = trimesh.creation.box()
    path = mesh_file(tmp_path, "stl", part.vertices, part.faces)
    (tmp_path / "r.urdf").write_text(robot('<mesh filename="part.stl"/>'))
    model = vt.load_urdf(tmp_path / "r.urdf", base="free", ground=vt.Ground())
    path.unlink()
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert again.contact_gaps(model.neutral()).gap.tolist() == model.contact_gaps(model.neutral()).gap.tolist()


@pytest.mark.parametrize("content", [None, b"", b"no mesh at all", b"solid x\nendsolid x\n"])
def test_meshes_that_cannot_be_read_have_a_line(tmp_path, content):
    if content is not None:
        (tmp_path / "part.stl").write_bytes(content)
    path = tmp_path / "r.urdf"
    path.write_text(robot('<box size="1 1 1"/>', '<mesh filename="part.stl"/>'))
    assert vt.load_urdf(path, base="free").contacts == ()  # without a ground it is for viewers only
    with pytest.raises(UrdfError, match=r'urdf:5: the mesh ".*part\.stl" of a <collision> of link "base" cannot make'):
        vt.load_urdf(path, base="free", ground=vt.Ground())
    assert [f.id for f in vt.check_urdf(path, base="free", ground=vt.Ground()).of("error")] == ["contact-mesh"]


def test_shapes_with_faults_are_left_out_with_a_warning():
    text = robot('<sphere radius="0"/>', '<box size="1 1"/>', '<cone/>', '<sphere radius="0.1"/>')
    model = vt.load_urdf(text, base="free", ground=vt.Ground())
    assert len(model.contacts[0].shapes) == 1
    assert len(model.report.of("warning")) >= 3
    with pytest.raises(UrdfError, match="nothing that can meet it"):
        vt.load_urdf(robot('<sphere radius="0"/>'), base="free", ground=vt.Ground())


@pytest.mark.parametrize(("more", "text"), [
    ({"ground": 0.0}, "ground"), ({"ground": True}, "ground"), ({"limits": "hold"}, "limits"),
    ({"meshes": "hulls"}, "vt.Meshes"), ({"meshes": 8}, "meshes"), ({"limits": None}, "limits"),
])  # fmt: skip
def test_bad_options(more, text):
    with pytest.raises(InputError, match=text):
        vt.load_urdf(robot('<sphere radius="0.1"/>'), base="free", **more)


def test_links_that_are_left_out_or_still():
    hinge = """<joint name="{0}" type="{1}"><parent link="base"/><child link="{0}l"/><limit effort="1" velocity="1"
      lower="-1" upper="1"/></joint><link name="{0}l"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"
      ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link>"""
    text = robot('<box size="1 1 1"/>', more=hinge.format("a", "revolute") + hinge.format("b", "fixed"))
    free = vt.load_urdf(text, base="free", ground=vt.Ground())
    assert [c.frame for c in free.contacts] == ["base", "al", "bl"]
    assert np.unique(free.contact_candidates.body).tolist() == [0, 1]
    still = vt.load_urdf(text, ground=vt.Ground())
    assert np.unique(still.contact_candidates.body).tolist() == [0]
    assert still.contact_candidates.box_body.tolist() == [-1]
    tree = vt.read_urdf(text, base="free", ground=vt.Ground())
    tree.contact(vt.NoContact("al", "base"))
    assert len(tree.compile().contacts) == 4
    assert vt.load_urdf(text, base="free").contacts == ()
    plain = vt.load_urdf(text, base="free")
    assert plain.digest != free.digest
    run = vt.simulate(plain, duration=0.01, dt=1e-3)
    assert run.q.shape == (11, 8)


def test_contacts_that_a_file_cannot_hold_are_named():
    path = vt.find_robot("human")
    model = vt.load_urdf(path, base="free", ground=vt.Ground())
    again = vt.load_urdf(vt.write_urdf(model), base="free", ground=vt.Ground())
    assert again.contact_candidates.point.tobytes() == model.contact_candidates.point.tobytes()
    tree = vt.read_urdf(path)
    tree.contact(vt.Ground(), vt.Contact("head", points=[(0, 0, 0)]), vt.NoContact("head", "thorax"))
    with pytest.raises(vt.ModelError, match=r'contacts: "?contact of "head".*no contact of "head" and "thorax".*lossy'):
        vt.write_urdf(tree)
    assert "<collision>" in vt.write_urdf(tree, lossy=True)


@pytest.mark.parametrize(
    "limits, text", [("report", "not enforced"), ("enforce", "are enforced"), ("ignore", "kept as data")]
)
def test_the_report_says_how_limits_are_treated(limits, text):
    report = vt.load_urdf(vt.find_robot("arm6"), limits=limits).report
    assert [text in finding.text for finding in report if finding.id == "limits"] == [True]
    inverted = vt.find_robot("arm6").read_text().replace('lower="-1.745329252"', 'lower="5"')
    found = vt.check_urdf(inverted, limits=limits).of("warning")
    assert [finding.id for finding in found] == ["limit-inverted"] and "swap them" in found[0].text


LINK = """<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><origin xyz="{1} 0 0"/><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>"""
CHAIN = f"""<robot name="chain">{"".join(LINK.format(name, 0.0) for name in "abc")}{LINK.format("lid", 0.2)}
    <joint name="one" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 0.5"/></joint>
    <joint name="two" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0 0 0.5"/></joint>
    <joint name="weld" type="fixed"><parent link="a"/><child link="lid"/></joint></robot>"""


def chain_of(folder, srdf=None):
    (folder / "urdf").mkdir()
    (folder / "srdf").mkdir()
    (folder / "urdf" / "chain.urdf").write_text(CHAIN)
    if srdf is not None:
        (folder / "srdf" / "chain.srdf").write_text(srdf)
    model = vt.load_urdf(folder / "urdf" / "chain.urdf", base="free", ground=vt.Ground(-1.0))
    gaps = model.contact_gaps(model.neutral())
    pairs = {frozenset(pair) for pair in zip(gaps.a, gaps.b, strict=True) if pair[1] != "ground"}
    return pairs, [finding.text for finding in model.report if finding.id == "contact-points"]


def test_links_touch_but_for_those_that_an_srdf_file_disables(tmp_path):
    """What is fixed to a link that is left out still touches; a pair that is disabled and enabled does not."""
    for k, (srdf, left) in enumerate((
        (None, {"ac", "lid c"}), ('<robot name="chain"><disable_collisions link1="c" link2="a"/></robot>', {"lid c"}),
        ('<robot name="chain"><disable_collisions link1="lid" link2="c" reason="Never"/>'
         '<disable_collisions link1="a" link2="c"/><disable_collisions link1="x" link2="c"/></robot>', set()),
        ('<robot name="chain"><disable_default_collisions link="c"/></robot>', set()),
        ('<robot name="chain"><disable_default_collisions link="lid"/></robot>', {"ac"}),
        ('<robot name="chain"><enable_collisions link1="c" link2="a"/><disable_default_collisions link="c"/>'
         '<disable_default_collisions link="a"/></robot>', {"ac"}),
        ('<robot name="chain"><disable_default_collisions link="c"/><disable_collisions link1="a" link2="c"/>'
         '<enable_collisions link1="a" link2="c"/><enable_collisions link1="lid" link2="c"/></robot>', {"lid c"}),
    )):  # fmt: skip
        (tmp_path / str(k)).mkdir()
        pairs, notes = chain_of(tmp_path / str(k), srdf)
        assert pairs == {frozenset(text.split() if " " in text else text) for text in left}
        assert ("by chain.srdf" in " ".join(notes)) == (srdf is not None)


def test_an_srdf_file_that_cannot_be_read_is_told(tmp_path):
    pairs, notes = chain_of(tmp_path, "<robot><disable")
    assert len(pairs) == 2 and "pairs of links that do not touch are not read" in notes[1]
