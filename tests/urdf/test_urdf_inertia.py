"""Inertias that bodies have: faults named, the nearest one, and those of shapes."""

import builtins
import itertools

import numpy as np
import pytest
from random_models import random_inertia, random_rotation

import vitree as vt
from vitree.errors import InputError, MissingExtraError, ModelError
from vitree.mechanism.flat import Geometry
from vitree.spatial.inertia import inertia_tensor
from vitree.urdf.inertia import _surely_possible, inertia_faults, nearest_inertia, shapes_inertia


def random_tensor(rng):
    """A symmetric (3, 3) array, rarely the inertia of a body."""
    A = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-6, 3)
    return A + A.T


def excess(tensor):
    """By how much the largest principal moment exceeds the sum of the other two, relative to it."""
    a, b, c = np.linalg.eigvalsh(tensor)
    return (c - a - b) / max(abs(a), abs(c))


# ---- faults -------------------------------------------------------------------------------------------


def test_inertias_of_bodies_have_no_fault():
    rng = np.random.default_rng(1)
    for _ in range(200):
        R = random_rotation(rng)
        plate, rod = (R @ np.diag(moments) @ R.T for moments in ((1.0, 1.0, 2.0), (0.0, 1.0, 1.0)))
        for tensor in (random_inertia(rng, 2.0), plate, rod):
            tensor = tensor * 10.0 ** rng.uniform(-9, 3)
            assert inertia_faults(1.0, tensor) == ()


@pytest.mark.parametrize("digits", [4, 6, 9])
def test_rounding_in_files_is_no_fault(digits):
    rng = np.random.default_rng(2)
    for _ in range(500):
        R = random_rotation(rng) if rng.uniform() < 0.7 else np.eye(3)
        plate, rod = rng.uniform(0.1, 1.0, 2), rng.uniform(0.1, 1.0)
        for moments in ((*plate, plate.sum()), (0.0, rod, rod)):
            tensor = R @ np.diag(moments) @ R.T
            rounded = np.array([[float(f"{x:.{digits}g}") for x in row] for row in tensor])
            assert inertia_faults(1.0, 0.5 * (rounded + rounded.T)) == ()


@pytest.mark.parametrize(
    ("moments", "fault"),
    [
        ((1.0, 1.0, 2.01), "inertia-triangle"),
        ((0.001, 0.001, 0.01), "inertia-triangle"),
        ((0.0, 1.0, 2.0), "inertia-triangle"),
        ((-0.01, 1.0, 1.0), "inertia-negative"),
        ((-1.0, -1.0, -1.0), "inertia-negative"),
        ((-0.01, 0.001, 1.0), "inertia-negative"),
    ],
)
def test_faults_do_not_depend_on_axes_or_units(moments, fault):
    rng = np.random.default_rng(3)
    for scale in (1e-6, 1.0, 1e3):
        R = random_rotation(rng)
        for turn in (np.eye(3), R):
            assert inertia_faults(1e-6, scale * turn @ np.diag(moments) @ turn.T) == (fault,)


def test_a_negative_diagonal_is_a_fault_however_small():
    assert inertia_faults(1.0, np.diag([-1e-5, 1.0, 1.0])) == ("inertia-negative",)


def test_zeros_with_round_off_are_those_of_a_point():
    assert inertia_faults(1.0, np.diag([-1e-20, 0.0, 1e-18])) == ()
    assert inertia_faults(0.0, np.zeros((3, 3))) == ()


def test_the_quick_check_of_an_inertia_passes_possible_ones_alone():
    rng = np.random.default_rng(3)
    passed = []
    for _ in range(3000):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        moments = rng.normal(size=3) * 10.0 ** rng.uniform(-6, 6) + rng.choice([0.0, 1.0, 1e6])
        if rng.random() < 0.5:  # near the edge
            moments[2] = moments[0] + moments[1] + rng.choice([-1, 1]) * 10 ** rng.uniform(-12, 0) * abs(moments).max()
        tensor = turn @ np.diag(moments) @ turn.T
        tensor = 0.5 * (tensor + tensor.T)
        least, middle, largest = np.linalg.eigvalsh(tensor)
        passed.append(_surely_possible(*tensor.ravel().tolist()))
        if passed[-1]:
            assert largest - middle - least <= 1e-6 * largest and least >= -1e-6 * largest
        elif least > 0:
            assert largest - middle - least >= -1e-6 * largest
    assert 300 < sum(passed) < 2700


# ---- the nearest --------------------------------------------------------------------------------------


def test_the_inertia_of_a_body_is_its_own_nearest():
    rng = np.random.default_rng(4)
    for _ in range(200):
        tensor = random_inertia(rng, 1.0)
        tensor = 0.5 * (tensor + tensor.T)
        assert np.array_equal(nearest_inertia(tensor), tensor)
    for moments in ((1.0, 1.0, 2.0), (0.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.3, 0.4, 0.7)):
        assert np.array_equal(nearest_inertia(np.diag(moments)), np.diag(moments))


def test_the_nearest_is_that_of_a_body_and_stays():
    rng = np.random.default_rng(5)
    for _ in range(300):
        near = nearest_inertia(random_tensor(rng))
        assert np.array_equal(near, near.T)
        assert not near.any() or excess(near) < 1e-13
        assert inertia_faults(0.0, near) == ()
        inertia_tensor(near, "link")  # a Tree takes it
        assert np.array_equal(nearest_inertia(near), near)


def test_no_other_is_nearer():
    # of a convex set, the point N is nearest to T if and only if (T - N) . (S - N) <= 0 for all S of it
    rng = np.random.default_rng(6)
    for _ in range(100):
        tensor = random_tensor(rng)
        near = nearest_inertia(tensor)
        size = np.linalg.norm(tensor)
        for _ in range(100):
            other = random_inertia(rng, 1.0) * size * 10.0 ** rng.uniform(-3, 1)
            assert np.sum((tensor - near) * (other - near)) <= 1e-12 * size * np.linalg.norm(other - near)


def test_the_nearest_is_what_a_slow_search_finds():
    from scipy.optimize import minimize

    rng = np.random.default_rng(7)
    for _ in range(20):
        tensor = random_tensor(rng)
        tensor /= np.linalg.norm(tensor)

        def distance(x, tensor=tensor):
            # second moments L L^T are positive semi-definite whatever L
            L = x.reshape(3, 3)
            second = L @ L.T
            return np.sum((np.trace(second) * np.eye(3) - second - tensor) ** 2)

        best = min(minimize(distance, rng.normal(size=9), tol=1e-14).fun for _ in range(5))
        assert np.sum((nearest_inertia(tensor) - tensor) ** 2) == pytest.approx(best, abs=1e-8)


# ---- shapes -------------------------------------------------------------------------------------------


def shape(kind, size, R=None, at=(0.0, 0.0, 0.0), filename=None):
    return Geometry("link", kind, tuple(size), np.eye(3) if R is None else R, np.array(at), filename)


def inside(kind, size, x):
    """Whether points (n, 3) are inside a shape at the origin."""
    rho, z = np.hypot(x[:, 0], x[:, 1]), np.abs(x[:, 2])
    if kind == "box":
        return (np.abs(x) <= np.array(size) / 2).all(axis=1)
    if kind == "sphere":
        return np.hypot(rho, z) <= size[0]
    barrel = (rho <= size[0]) & (z <= size[1] / 2)
    return barrel if kind == "cylinder" else barrel | (np.hypot(rho, z - size[1] / 2) <= size[0])


SHAPES = [("box", (0.4, 0.7, 1.1)), ("cylinder", (0.3, 0.9)), ("sphere", (0.5,)), ("capsule", (0.3, 0.8))]


@pytest.mark.parametrize(("kind", "size"), SHAPES)
def test_shapes_are_the_integrals_over_them(kind, size):
    n = 150
    grid = (np.arange(n) + 0.5) / n * 1.5 - 0.75
    x = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    x = x[inside(kind, size, x)]
    cell = (1.5 / n) ** 3
    second = x.T @ x * cell
    mass, com, inertia = shapes_inertia([shape(kind, size)], 1000.0)
    assert mass == pytest.approx(1000.0 * len(x) * cell, rel=0.01)
    assert np.array_equal(com, np.zeros(3))
    expected = 1000.0 * (np.trace(second) * np.eye(3) - second)
    assert inertia == pytest.approx(expected, rel=0.01, abs=1e-6 * expected.max())


def test_shapes_have_their_known_moments():
    _, _, box = shapes_inertia([shape("box", (1.0, 2.0, 3.0))], 1.0, mass=12.0)
    assert box == pytest.approx(np.diag([13.0, 10.0, 5.0]), abs=1e-14)
    _, _, ball = shapes_inertia([shape("sphere", (2.0,))], 1.0, mass=5.0)
    assert ball == pytest.approx(8.0 * np.eye(3), abs=1e-14)
    _, _, rod = shapes_inertia([shape("cylinder", (2.0, 6.0))], 1.0, mass=12.0)
    assert rod == pytest.approx(np.diag([48.0, 48.0, 24.0]), abs=1e-13)
    # a capsule without a cylinder is a ball
    assert shapes_inertia([shape("capsule", (2.0, 0.0))], 1.0, mass=5.0)[2] == pytest.approx(ball, abs=1e-14)


@pytest.mark.parametrize(("kind", "size"), SHAPES)
def test_turned_and_moved_shapes_turn_and_move_their_inertia(kind, size):
    rng = np.random.default_rng(8)
    R, at = random_rotation(rng), rng.normal(size=3)
    mass, _, inertia = shapes_inertia([shape(kind, size)], 500.0)
    moved = shapes_inertia([shape(kind, size, R, at)], 500.0)
    assert moved[0] == mass
    assert moved[1] == pytest.approx(at)
    assert moved[2] == pytest.approx(R @ inertia @ R.T, rel=1e-12, abs=1e-14)
    assert np.array_equal(moved[2], moved[2].T)


def test_two_halves_make_a_whole():
    halves = [shape("box", (1.0, 2.0, 0.5), at=(0.1, 0.2, z)) for z in (0.75, 1.25)]
    whole = shapes_inertia([shape("box", (1.0, 2.0, 1.0), at=(0.1, 0.2, 1.0))], 100.0)
    for got, expected in zip(shapes_inertia(halves, 100.0), whole, strict=True):
        assert got == pytest.approx(expected, rel=1e-14)


def test_a_mass_overrules_the_density():
    shapes = [shape("box", (1.0, 2.0, 3.0)), shape("sphere", (0.5,), at=(0.0, 0.0, 2.0))]
    mass, com, inertia = shapes_inertia(shapes, 1000.0)
    lighter = shapes_inertia(shapes, 1000.0, mass=2.5)
    assert lighter[0] == 2.5
    assert np.array_equal(lighter[1], com)
    assert lighter[2] == pytest.approx(inertia * 2.5 / mass, rel=1e-14)


@pytest.mark.parametrize("none", [[], [shape("box", (1.0, 0.0, 1.0))], [shape("capsule", (0.0, 1.0))]])
def test_without_volume_there_is_no_inertia(none):
    assert shapes_inertia(none, 1000.0) is None


@pytest.mark.parametrize("given", [{"density": 0.0}, {"density": np.nan}, {"density": 1.0, "mass": -1.0}])
def test_density_and_mass_are_positive(given):
    with pytest.raises(InputError, match="positive"):
        shapes_inertia([shape("sphere", (1.0,))], **given)


# ---- meshes -------------------------------------------------------------------------------------------

#: Corners of a box, two triangles a face, outwards.
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = [t for a, b, c, d in FACES for t in ((a, b, c), (a, c, d))]


def corners(edges, at=(0.0, 0.0, 0.0)):
    return np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * edges + at


def write_obj(path, points, triangles):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    lines += ["f " + " ".join(str(k + 1) for k in triangle) for triangle in triangles]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_stl(path, points, triangles):
    lines = ["solid box"]
    for triangle in triangles:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex {!r} {!r} {!r}".format(*points[k].tolist()) for k in triangle]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid box"]) + "\n")
    return str(path)


@pytest.mark.parametrize("write", [write_obj, write_stl])
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.5, 2.0, 3.0), (-1.0, 1.0, 1.0), (-0.5, -2.0, -3.0)])
def test_the_mesh_of_a_box_is_the_box(tmp_path, write, scale):
    pytest.importorskip("trimesh")
    rng = np.random.default_rng(9)
    edges, shift = np.array([0.4, 0.7, 1.1]), np.array([0.25, -0.5, 2.0])
    R, at = random_rotation(rng), rng.normal(size=3)
    expected = shapes_inertia([shape("box", edges * scale, R, at + R @ (shift * scale))], 700.0)
    for triangles in (TRIANGLES, [t[::-1] for t in TRIANGLES], TRIANGLES[1:]):  # the last one is open: its hull
        file = write(tmp_path / f"box.{write.__name__[-3:]}", corners(edges, shift), triangles)
        got = shapes_inertia([shape("mesh", scale, R, at, file)], 700.0)
        for a, b in zip(got, expected, strict=True):
            assert a == pytest.approx(b, rel=1e-6, abs=1e-6 * np.abs(b).max())


def test_a_mesh_that_is_not_convex_counts_what_it_encloses(tmp_path):
    pytest.importorskip("trimesh")
    boxes = [((1.0, 1.0, 1.0), (0.0, 0.0, 0.0)), ((0.5, 0.5, 2.0), (3.0, 0.0, 0.0))]
    points = np.vstack([corners(*box) for box in boxes])
    triangles = TRIANGLES + [tuple(k + 8 for k in t) for t in TRIANGLES]
    file = write_obj(tmp_path / "two.obj", points, triangles)
    got = shapes_inertia([shape("mesh", (1.0,) * 3, filename=file)], 10.0)
    expected = shapes_inertia([shape("box", edges, at=at) for edges, at in boxes], 10.0)
    for a, b in zip(got, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)


def test_a_flat_mesh_has_no_inertia(tmp_path):
    pytest.importorskip("trimesh")
    file = write_obj(tmp_path / "flat.obj", corners((1.0, 1.0, 1.0)), TRIANGLES)
    assert shapes_inertia([shape("mesh", (1.0, 0.0, 1.0), filename=file)], 1.0) is None


@pytest.mark.parametrize("content", [None, "", "no mesh at all", "v 0 0 0\nv 1 0 0\nv 0 nan 0\nf 1 2 3\n"])
@pytest.mark.parametrize("suffix", ["obj", "stl", "unheard-of"])
def test_a_mesh_that_cannot_be_read_is_named(tmp_path, content, suffix, capfd):
    pytest.importorskip("trimesh")
    path = tmp_path / f"part.{suffix}"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelError, match=r"part\."):
        shapes_inertia([shape("mesh", (1.0,) * 3, filename=str(path))], 1.0)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("package", "suffix"), [("trimesh", "stl"), ("pycollada", "dae")])
def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch, package, suffix):
    pytest.importorskip("trimesh")
    usual, hidden = builtins.__import__, {"trimesh": "trimesh", "pycollada": "collada"}[package]

    def without(name, *rest, **more):
        if name.partition(".")[0] == hidden:
            raise ImportError(name)
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    file = tmp_path / f"part.{suffix}"
    file.write_text("<COLLADA/>")
    with pytest.raises(MissingExtraError, match=rf"{package}.*vitree\[meshes\]"):
        shapes_inertia([shape("mesh", (1.0,) * 3, filename=str(file))], 1.0)


def test_a_mesh_that_may_not_be_opened_is_not(tmp_path):
    """Its volume is not taken, though the file is there and could be read."""
    trimesh = pytest.importorskip("trimesh")
    outside, inside = tmp_path / "box.stl", tmp_path / "pkg" / "urdf" / "r.urdf"
    inside.parent.mkdir(parents=True)
    trimesh.creation.box((1, 1, 1)).export(outside)
    text = f"""<robot name="r"><link name="a"><collision><geometry><mesh filename="{outside}"/></geometry></collision>
      </link></robot>"""
    inside.write_text(text)
    with pytest.raises(ModelError, match="not found: give the folder"):
        vt.load_urdf(inside, "free", inertia="geometry")
    assert "mesh-escapes" in {f.id for f in vt.check_urdf(inside, "free")}
    trusted = vt.load_urdf(inside, "free", inertia="geometry", packages=[tmp_path], density=2.0)
    assert trusted.total_mass == pytest.approx(2.0)
