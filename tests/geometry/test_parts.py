"""Convex parts of meshes that are not convex, and how far they are from them."""

from __future__ import annotations

import functools
import sys

import numpy as np
import pytest
from surfaces import MUG, tray, volume

import vitree as vt
from vitree.errors import InputError, MissingExtraError, ModelError
from vitree.geometry import parts

CUBE = np.array([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)
FACES = np.array([(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6),
                  (0, 6, 4), (1, 5, 7), (1, 7, 3)])  # fmt: skip


@functools.cache
def mug(error=0.01):
    return vt.convex_parts(*MUG, error)


def test_meshes_of_the_tests_are_solids():
    assert volume(CUBE, FACES) == pytest.approx(1.0)
    assert volume(*MUG) == pytest.approx(12 * 0.5 * np.sin(np.pi / 6) * (0.04**2 * 0.1 - 0.03**2 * 0.09))
    assert volume(*tray()) == pytest.approx(0.3 * 0.3 * 0.1 - 0.26 * 0.26 * 0.08)


@pytest.mark.slow
def test_the_parts_of_a_mug_leave_it_hollow():
    found = mug()
    assert 4 < len(found) < 30 and all(isinstance(part, vt.Hull) for part in found)
    told = vt.parts_deviation(found, *MUG)
    assert 0 < told.outside <= 0.0101 and told.missing < 0.004
    # the axis above the floor is in no part, and the middle of floor and walls in some
    assert not any(within(part, (0.0, 0.0, z)) for part in found for z in np.linspace(0.025, 0.1, 20))
    for angle in np.linspace(0.1, 6.2, 9):
        assert any(within(part, (0.034 * np.cos(angle), 0.034 * np.sin(angle), 0.05)) for part in found)
    assert any(within(part, (0.0, 0.0, 0.005)) for part in found)


def within(part, x):
    from scipy.spatial import ConvexHull

    planes = ConvexHull(part.points).equations
    return bool((planes[:, :3] @ x + planes[:, 3] <= 0).all())


@pytest.mark.slow
def test_the_same_mesh_has_the_same_parts():
    again = vt.convex_parts(*MUG, 0.01)
    assert again == mug() and again is not mug()


@pytest.mark.slow
def test_smaller_errors_have_more_parts_that_are_nearer():
    few, many = vt.convex_parts(*MUG, 0.02), mug(0.003)
    assert len(few) < len(many)
    assert vt.parts_deviation(many, *MUG).outside < vt.parts_deviation(few, *MUG).outside


@pytest.mark.slow
def test_each_part_has_few_points_and_says_what_it_lost():
    whole, thin = mug(), vt.convex_parts(*MUG, 0.01, 6)
    most = [max(len(part.vertices) for part in found) for found in (whole, thin)]
    assert len(whole) == len(thin) and most[1] <= 6 < most[0]
    assert max(part.lost for part in thin) > max(part.lost for part in whole)


def test_a_convex_mesh_is_its_hull_and_needs_no_package(monkeypatch):
    monkeypatch.setattr(parts.importlib.util, "find_spec", lambda name: None)
    (whole,) = vt.convex_parts(CUBE, FACES)
    assert whole.vertices == vt.Hull(CUBE).vertices and isinstance(whole, vt.Hull)
    assert vt.parts_deviation([vt.Hull(CUBE)], CUBE, FACES) == (0.0, 0.0)
    with pytest.raises(MissingExtraError, match=r"coacd.*pip install 'vitree\[parts\]'"):
        vt.convex_parts(*MUG)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_deviation_of_a_hull_is_that_of_closed_forms(flip, scale):
    x, faces = tray()
    faces = faces[:, ::-1] if flip else faces
    told = vt.parts_deviation([vt.Hull(scale * x)], scale * x, faces)
    # the farthest place is in the middle of the opening
    assert told.outside == pytest.approx(0.08 * scale, rel=1e-9) and told.missing == 0.0
    lower = vt.Hull(np.where(x[:, 2:] > 0.05, x * (1, 1, 0.6), x) * scale)
    assert vt.parts_deviation([lower], scale * x, faces).missing == pytest.approx(0.04 * scale, rel=1e-9)


def test_the_cavity_within_a_shell_counts():
    inner = 0.5 + 0.5 * (CUBE - 0.5)
    points, faces = np.concatenate([CUBE, inner]), np.concatenate([FACES, FACES[:, ::-1] + 8])
    assert vt.parts_deviation([vt.Hull(CUBE)], points, faces).outside == 0.0  # its surface is that of the shell
    cut = vt.Hull(np.where(CUBE[:, :1] > 0.5, CUBE * (0.5, 1, 1), CUBE))
    # the middle of the cut, in the cavity; samples are 0.02 apart
    assert 0.235 < vt.parts_deviation([cut], points, faces).outside <= 0.25


def test_plates_have_a_deviation():
    plate = vt.Hull(CUBE[:4] + np.array((0.25, 0.0, 0.0)))
    told = vt.parts_deviation([plate], CUBE, FACES)
    assert told.outside == 0.0 and told.missing == pytest.approx(0.75)


@pytest.mark.parametrize(("points", "faces", "text"), [
    (CUBE, [(0, 1, 8)], "from 0 to 8; there are 8"), (CUBE, [(0, 1, -1)], "from -1"), (CUBE, [(0, 1)], "the faces"),
    (CUBE, [], "at least one"), (CUBE, [(0.5, 1, 2)], "whole numbers"), (CUBE, "a", "the faces"),
    (CUBE * np.nan, FACES, "not finite"), ("a", FACES, "vertices of the mesh"),
])  # fmt: skip
def test_meshes_that_are_none(points, faces, text):
    for function in (vt.convex_parts, lambda *given: vt.parts_deviation([vt.Hull(CUBE)], *given), vt.TriangleMesh):
        with pytest.raises(ModelError, match=text.replace("of the mesh", "of the (triangle )?mesh")):
            function(points, faces)


@pytest.mark.parametrize("error", [0.0, 0.004, -1.0, np.inf, np.nan, "a"])
def test_errors_that_are_none(error):
    with pytest.raises(InputError, match=r"error.*at least 0\.005 m.* 0\.5 %"):
        vt.convex_parts(CUBE, FACES, error)


def test_parts_that_are_none():
    for given, text in (([], "at least one hull"), ([vt.Sphere(1.0)], "convex hulls"), (3, "convex hulls")):
        with pytest.raises(InputError, match=text):
            vt.parts_deviation(given, CUBE, FACES)


def test_an_end_of_the_other_process_is_an_error(monkeypatch):
    for program, why in (("import sys; sys.exit('no luck')", "no luck"), ("import os; os.abort()", "cannot decompose")):
        monkeypatch.setattr(parts, "_PROGRAM", program)
        with pytest.raises(ModelError, match=f"{why}.*repair the mesh|{why}; repair"):
            vt.convex_parts(*MUG)


@pytest.mark.slow
def test_a_module_beside_the_working_directory_is_not_run(monkeypatch, tmp_path):
    (tmp_path / "coacd.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert vt.convex_parts(*MUG, 0.01) == mug()
