"""What pages show as it is: shapes of contacts, meshes and their images, fewer triangles, and curves in their axes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree.results.drawing import drawing_of, poses
from vitree.viewer.curves import bounds
from vitree.viewer.lighter import PIXELS, SMALL, TRIANGLES, lighter, shares, smaller
from vitree.viewer.quantities import ENERGY, quantities_of
from vitree.viewer.source import what_to_show

trimesh = pytest.importorskip("trimesh")
image = pytest.importorskip("PIL.Image")
PRISM = np.array([(0, 0, 0), (0.2, 0, 0), (0, 0.1, 0), (0, 0, 0.4)], dtype=float)
TRIANGLES_OF_PRISM = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def wedge(path, uv=False):
    """A mesh without symmetry, so that a wrong pose shows; with coordinates of a texture if they are asked for."""
    lines = [f"v {x} {y} {z}" for x, y, z in PRISM]
    lines += [f"vt {x} {y}" for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))] if uv else []
    lines += ["f " + " ".join(f"{k + 1}/{k + 1}" if uv else f"{k + 1}" for k in row) for row in TRIANGLES_OF_PRISM]
    path.write_text("\n".join(lines) + "\n")
    return path


# ---- shapes of contacts -----------------------------------------------------------------------------------------

SHAPES = {
    "box": vt.Box((0.1, 0.2, 0.3)), "sphere": vt.Sphere(0.1), "capsule": vt.Capsule(0.05, 0.2),
    "cylinder": vt.Cylinder(0.05, 0.2), "disk": vt.Disk(0.2, axis=(1.0, 0.0, 0.0)), "cone": vt.Cone(0.1, 0.3),
    "ellipsoid": vt.Ellipsoid((0.1, 0.2, 0.3)), "hull": vt.Hull(PRISM),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_body_that_has_a_shape_to_touch_with_only_is_drawn_by_it(name):
    tree = vt.Tree("things")
    arm = vt.Geometry("arm", "box", (0.1, 0.1, 0.5), np.eye(3), np.zeros(3))
    tree.world.add(vt.ry("hinge"), vt.body("arm", 1.0, (0.1, 0.1, 0.1), geometry=[arm]), vt.tx(0.3), vt.frame("tip"))
    tree.world.add(vt.free("base"), vt.body("thing", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Contact("thing", shapes=SHAPES[name]), vt.Contact("tip", shapes=vt.Sphere(0.02)), vt.Ground())
    drawing = drawing_of(tree.compile())
    (drawn,) = (shape for shape in drawing.shapes if shape.link == "thing")
    assert [shape.kind for shape in drawing.shapes if shape.link == "tip"] == ["sphere"]
    assert [shape.kind for shape in drawing.shapes if shape.link == "arm"] == ["box"]
    if drawn.kind == "surface":  # of the volume of the shape, and closed
        made = trimesh.Trimesh(np.reshape(drawn.size, (-1, 3)), np.reshape(drawn.faces, (-1, 3)))
        volume = {"cone": np.pi * 0.01 * 0.1, "ellipsoid": 4 / 3 * np.pi * 0.006, "hull": 0.02 * 0.4 / 6}[name]
        assert made.is_watertight and made.volume == pytest.approx(volume, rel=0.05)
    elif name == "disk":
        turned = np.array(drawn.pose[3:])
        axle = 2 * np.array([turned[0] * turned[2] + turned[1] * turned[3], turned[1] * turned[2]
                             - turned[0] * turned[3], 0.5 - turned[0] ** 2 - turned[1] ** 2])  # fmt: skip
        np.testing.assert_allclose(np.abs(axle), [1.0, 0.0, 0.0], atol=1e-12)
    else:
        assert drawn.kind == name
    again = type(drawing).from_plain(_listed(drawing.plain()))
    assert again == drawing


def _listed(content):
    """What JSON makes of a content."""
    import json

    return json.loads(json.dumps(content))


def test_balls_about_points_are_drawn():
    tree = vt.Tree("x")
    tree.world.add(vt.free("base"), vt.body("thing", 1.0, (0.1, 0.1, 0.1)))
    tree.contact(vt.Contact("thing", points=[(0.1, 0, 0), (0, 0.2, 0)], radius=0.03), vt.Ground())
    found = [shape for shape in drawing_of(tree.compile()).shapes if shape.link == "thing"]
    assert [shape.size for shape in found] == [(0.03,)] * 2
    np.testing.assert_array_equal([shape.pose[:3] for shape in found], [(0.1, 0, 0), (0, 0.2, 0)])


# ---- meshes of files --------------------------------------------------------------------------------------------

MJCF = """<mujoco><asset>
  <texture name="image" type="2d" file="{image}"/><material name="painted" texture="image" rgba="1 1 1 1"/>
  <mesh name="wedge" file="{mesh}" scale="1 2 0.5"/></asset>
 <worldbody><body name="thing" pos="0.1 0.2 0.3"><freejoint/>
  <geom type="mesh" mesh="wedge" material="painted" pos="0.3 0.1 0" euler="20 40 60" group="1"/></body></worldbody>
</mujoco>"""


def test_meshes_of_mujoco_are_where_mujoco_has_them(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    wedge(tmp_path / "wedge.obj", uv=True)
    image.new("RGB", (8, 8), (200, 30, 30)).save(tmp_path / "red.png")
    path = tmp_path / "thing.xml"
    path.write_text(MJCF.format(mesh="wedge.obj", image="red.png"))
    model = vt.load_mjcf(path)
    (shape,) = (shape for shape in drawing_of(model).shapes if shape.kind == "mesh")
    assert shape.texture == str(tmp_path / "red.png") and shape.rgba == (1.0, 1.0, 1.0, 1.0)

    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    points = theirs.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    body = poses(model, model.start)[shape.body]
    ours = _placed(_placed(PRISM * shape.size, shape.pose), body)
    near = np.linalg.norm(points[:, None] - ours[None], axis=2)
    assert near.min(axis=0).max() < 1e-6 and near.min(axis=1).max() < 1e-6


def _placed(points, pose):
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(pose[3:]).apply(points) + pose[:3]


URDF = """<robot name="x"><material name="painted"><texture filename="red.png"/></material>
 <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
 <visual><geometry><mesh filename="{mesh}"/></geometry><material name="painted"/></visual></link></robot>"""


def test_a_texture_of_a_urdf_file_is_on_its_mesh_and_what_is_missing_is_told(tmp_path):
    pytest.importorskip("viser")
    from viser import ViserServer

    from vitree.viewer.stage import Stage, quiet

    wedge(tmp_path / "wedge.obj", uv=True)
    image.new("RGB", (8, 8), (200, 30, 30)).save(tmp_path / "red.png")
    found = {}
    with quiet():
        server = ViserServer(port=8990, verbose=False)
    try:
        for name, mesh in (("found", "wedge.obj"), ("lost", "none.obj")):
            path = tmp_path / f"{name}.urdf"
            path.write_text(URDF.format(mesh=mesh))
            model = vt.load_urdf(path, base="free")
            found[name] = Stage(server.scene, name, drawing_of(model))
    finally:
        with quiet():
            server.stop()
    (node,) = (node for _, node in found["found"].solids)
    assert type(node).__name__ == "GlbHandle" and not found["found"].missing
    assert len(found["lost"].missing) == 1 and "none.obj" in found["lost"].missing[0]


# ---- fewer triangles --------------------------------------------------------------------------------------------


def test_a_page_has_so_many_triangles():
    assert shares([100, 200]) == 1.0
    counts = [SMALL, 10 * TRIANGLES, 5 * TRIANGLES]
    share = shares(counts)
    assert sum(count if count <= SMALL else int(share * count) for count in counts) <= TRIANGLES


@pytest.mark.parametrize("visual", ["plain", "colours", "texture"])
def test_a_mesh_with_fewer_triangles_has_the_shape_and_the_colours_of_the_mesh(visual):
    pytest.importorskip("fast_simplification")
    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.3)
    if visual == "colours":
        low = np.array([200, 0, 0, 255], dtype=np.uint8), np.array([0, 0, 200, 255], dtype=np.uint8)
        ball.visual.face_colors = np.where(ball.triangles_center[:, 2:] < 0, *low)
    elif visual == "texture":
        uv = 0.5 + ball.vertices[:, :2]
        material = trimesh.visual.material.SimpleMaterial(image=image.new("RGB", (8, 8)))
        ball.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    less = lighter(ball, 0.1)
    assert len(less.faces) <= 0.1 * len(ball.faces) + 1
    assert less.volume == pytest.approx(ball.volume, rel=0.02)
    assert np.abs(np.linalg.norm(less.vertices, axis=1) - 0.3).max() < 0.01
    if visual == "colours":
        middle = less.triangles_center[:, 2]
        far = np.abs(middle) > 0.03
        assert ((less.visual.face_colors[far, 0] == 200) == (middle[far] < 0)).all()
    elif visual == "texture":
        np.testing.assert_allclose(less.visual.uv, 0.5 + less.vertices[:, :2], atol=0.02)
    assert lighter(ball, 1.0) is ball


def test_images_are_as_small_as_a_page_needs_them():
    large = image.fromarray(np.random.default_rng(0).integers(0, 255, (3000, 1500, 3), dtype=np.uint8))
    found = smaller(large)
    assert max(found.size) == PIXELS and found.size[0] * 2 == found.size[1] and found.format == "JPEG"
    clear = image.new("RGBA", (16, 16), (0, 0, 0, 100))
    assert smaller(clear).mode == "RGBA"


# ---- curves -----------------------------------------------------------------------------------------------------


def test_axes_have_room_for_all_of_their_curves_and_stand_still_for_those_that_do():
    low, high = bounds(np.array([[1.0, 3.0], [-2.0, np.nan]]))
    assert low < -2.0 and high > 3.0
    low, high = bounds(np.full((1, 5), 885.57) + 1e-6 * np.arange(5))
    assert high - low > 0.5 and low < 885.57 < high
    assert bounds(np.full((1, 3), np.nan)) == (0.0, 1.0)


def test_a_run_has_curves_of_its_centre_of_mass_its_ground_and_its_drives():
    tree = vt.Tree("leg")
    tree.world.add(vt.free("base"), vt.body("foot", 2.0, (0.1, 0.1, 0.1)), vt.ry("knee"),
                   vt.body("shin", 1.0, (0.1, 0.1, 0.1), com=(0.1, 0, 0.3)))  # fmt: skip
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    tree.contact(vt.Contact("foot", points=corners), vt.Ground(friction=0.8))
    tree.load(vt.Drive("knee", 100.0, 5.0, target="knee target"))
    model = tree.compile()
    q = model.neutral()
    q[2] = 0.1
    run = vt.simulate(model, q, duration=0.5, dt=2e-3, control=vt.Control(targets={"knee": 0.2}))
    t, found = quantities_of(what_to_show(run))
    assert list(found) == [ENERGY, "centre of mass [m]", "force of the ground [N]", "drive forces [N m, N]"]
    com = found["centre of mass [m]"].columns
    np.testing.assert_allclose(com[:, 0], model.center_of_mass(q), atol=1e-6)
    np.testing.assert_allclose(com[:, -1], model.center_of_mass(run.q[-1]), atol=1e-6)
    weight = model.total_mass * 9.81
    assert np.mean(found["force of the ground [N]"].columns[2, len(t) // 2 :]) == pytest.approx(weight, rel=0.02)
    (drive,) = found["drive forces [N m, N]"].columns
    k = run.q[-1, model.joint("knee").q_slice][0]
    rate = run.v[-1, model.joint("knee").v_slice][0]
    assert drive[-1] == pytest.approx(100.0 * (0.2 - k) - 5.0 * rate, abs=1e-6)


def test_meshes_written_in_mjcf_and_geoms_of_the_world_are_drawn_where_mujoco_has_them():
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><asset>
      <mesh name="m" vertex="0 0 0 1 0 0 0 2 0 0 0 3" face="0 2 1 0 1 3 0 3 2 1 2 3" scale="1 2 1"/></asset><worldbody>
      <geom type="plane" size="3 2 .1" pos="0 0 -1" euler="20 0 0" rgba="1 0 0 1"/><geom type="plane" size="0 0 1"/>
      <geom type="box" size=".5 .4 .3" pos="1 0 .3"/><geom type="mesh" mesh="m" pos="0 2 0" euler="0 30 0"/>
      <body pos="0 0 2"><freejoint/><geom type="mesh" mesh="m" pos="0.1 0 0" euler="10 0 0"/>
      <geom type="ellipsoid" size=".1 .2 .3"/></body></worldbody></mujoco>"""
    robot = vt.from_mujoco(text)
    assert robot.model.link_names == ("body1",) and "not drawn" not in str(robot.report)
    q = robot.model.integrate(robot.start, np.array([0.3, 0.2, 0.1, 0.5, 0.6, 0.7]))
    data = mujoco.MjData(robot.mujoco)
    data.qpos[:] = robot.to_mujoco(q, np.zeros(6))[0]
    mujoco.mj_forward(robot.mujoco, data)
    drawing = drawing_of(robot.model)
    assert [shape.kind for shape in drawing.shapes] == ["surface", "surface", "box", "box", "surface"]
    at = poses(robot.model, q)
    for shape, geom in zip(drawing.shapes, (4, 5, 0, 2, 3), strict=True):
        place, own = at[shape.body] if shape.body >= 0 else np.eye(7)[6], np.array(shape.pose)
        turns = Rotation.from_quat(place[3:]), Rotation.from_quat(own[3:])
        R, p = (turns[0] * turns[1]).as_matrix(), place[:3] + turns[0].apply(own[:3])
        theirs, below = data.geom_xmat[geom].reshape(3, 3), 0.02 * 2 / 2 if geom == 0 else 0.0
        assert np.allclose(R, theirs, rtol=0, atol=1e-6)
        assert np.allclose(p, data.geom_xpos[geom] - below * theirs[:, 2], rtol=0, atol=1e-6)
    mesh = drawing.shapes[0]
    corners = np.reshape(mesh.size, (-1, 3)) @ Rotation.from_quat(mesh.pose[3:]).as_matrix().T + mesh.pose[:3]
    turn = Rotation.from_euler("x", 10, degrees=True).as_matrix()
    written = np.array([[0, 0, 0], [1, 0, 0], [0, 4, 0], [0, 0, 3]]) @ turn.T + np.array([0.1, 0, 0])
    assert max(np.abs(written - corner).sum(axis=1).min() for corner in corners) < 1e-6
    assert type(drawing).from_plain(_listed(drawing.plain())) == drawing


def test_a_large_floor_leaves_the_robot_in_the_picture():
    from vitree.viewer.source import view_of

    text = """<mujoco><worldbody><geom type="plane" size="{size} {size} .1"/><body pos="0 0 1"><joint axis="0 1 0"/>
      <geom type="capsule" size=".05 .3"/></body></worldbody></mujoco>"""
    distances = []
    for size in ("0", "50"):
        model = vt.load_mjcf(text.replace("{size}", size))
        drawing = drawing_of(model)
        distances.append(np.linalg.norm(view_of([drawing], [poses(model, model.start)[None]]).position))
    assert distances[0] == distances[1] < 10
