"""The camera of a page: a whole motion is in the picture, and fills it; what goes far is followed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from closed_chains import four_bar
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree import vehicles
from vitree.results.filming import film_of
from vitree.viewer.source import goes_far, middle, view_of_runs, what_to_show

#: Tangents of half the camera's angle: up and down, and of the narrowest picture aside.
TALL = np.tan(np.radians(37.5))
WIDE = 1.2 * TALL


def pendulum():
    tree = vt.Tree("pendulum")
    tree.world.add(vt.ry("hinge"), vt.tz(-1.0), vt.body("bob", mass=1.0))
    return vt.simulate(tree.compile(), [2.0], duration=3.0, dt=0.01)


def closed():
    model = four_bar()
    q = vt.satisfy_constraints(model, [0.5, 0.1, 0.3])
    return vt.simulate(model, q, duration=2.0, dt=0.01, method="midpoint")


def talos(duration=1.0, speed=1.0):
    model = vt.load_urdf(vt.find_robot("talos"), base="free")
    v = speed * np.random.default_rng(0).normal(size=model.nv)
    return vt.simulate(model, None, v, duration=duration, dt=0.01)


def car():
    turning = vt.Control(inputs={"torque": 900.0, "steering": 0.1})
    return vt.simulate(vehicles.car(), duration=4.0, dt=0.05, control=turning)


RUNS = {"pendulum": pendulum, "closed chain": closed, "talos": talos, "car": car,
        "arm": lambda: vt.simulate(vt.load_urdf(vt.find_robot("arm6")), duration=1.0, dt=0.01)}  # fmt: skip


def projected(run, view, follow, aside=0.0) -> np.ndarray:
    """Where frames of the bodies, drawn ``aside`` along y, are in the picture at each record (n, k, 2).

    In columns aside and above, 1 at its edges.
    """
    film, at = run.film, np.array(view.position)
    back = at - np.array(view.look_at)
    back /= np.linalg.norm(back)
    right = np.cross((0, 0, 1.0), back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    found = []
    for poses in film.poses.astype(float):
        shift = middle(film.drawing, poses) - middle(film.drawing, film.poses[0].astype(float)) if follow else 0.0
        points = [poses[m.body, :3] + Rotation.from_quat(poses[m.body, 3:]).apply(m.pose[:3])
                  for m in film.drawing.frames if m.body >= 0]  # fmt: skip
        points = np.array([*points, *poses[:, :3]]) - shift - at + (0.0, aside, 0.0)
        depth = -points @ back
        assert (depth > 0).all()
        found.append(np.column_stack((points @ right / (WIDE * depth), points @ up / (TALL * depth))))
    return np.array(found)


@pytest.mark.parametrize("name", RUNS)
def test_a_whole_motion_is_in_the_picture_and_fills_it(name):
    (run,) = what_to_show(RUNS[name]())
    follow = goes_far(run)
    assert follow == (name in ("talos", "car"))
    places = projected(run, view_of_runs([run], follow), follow)
    assert np.abs(places).max() < 1.0
    assert np.abs(places).max() > 0.4
    size = np.ptp(places, axis=1).max(axis=1)  # of the robot alone, at each record
    assert size.min() > 0.25 * (name != "pendulum")


def test_what_goes_a_little_is_not_followed():
    (run,) = what_to_show(talos(duration=0.3))
    assert not goes_far(run)
    assert np.abs(projected(run, view_of_runs([run], False), False)).max() < 1.0


@pytest.mark.parametrize("name", ["pendulum", "talos"])
@pytest.mark.parametrize("spread", [2.0, -0.7])
def test_runs_that_stand_apart_are_in_the_picture(name, spread):
    runs = what_to_show([RUNS[name]()] * 3)
    follow = goes_far(runs[0])
    view = view_of_runs(runs, follow, spread)
    places = np.array([projected(run, view, follow, k * spread) for k, run in enumerate(runs)])
    assert np.abs(places).max() < 1.0
    assert min(places[..., 0].max(), -places[..., 0].min()) > 0.3  # to both sides


def test_the_camera_is_fitted_to_the_run_that_did_not_fail():
    calm, wild = what_to_show([pendulum(), pendulum()])
    poses = np.array(wild.film.poses)
    poses[1:, :, :3] *= 1e4
    wild = dataclasses.replace(wild, film=dataclasses.replace(wild.film, poses=poses))
    alone, both = view_of_runs([calm], False), view_of_runs([calm, wild], False)
    assert alone == both


def test_the_middle_of_a_film_is_that_of_the_masses():
    """The first body counts, and links on the world do not."""
    tree = vt.Tree("two")
    tree.world.add(vt.tx(5.0), vt.body("table", 100.0, (1.0,) * 3))
    tree.world.add(vt.tx("x"), vt.body("cart", 3.0, (0.1,) * 3), vt.tz("z"), vt.body("load", 1.0, (0.1,) * 3))
    run = vt.simulate(tree.compile(), [2.0, 0.8], duration=0.01, dt=0.01)
    film = film_of(run)
    np.testing.assert_allclose(middle(film.drawing, film.poses[0].astype(float)), [2.0, 0.0, 0.2], atol=1e-6)
