"""Measured tosses: starts are fitted exactly where flights are exact, engines fly alike, and the script runs."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from places import EXAMPLES
from scipy.spatial.transform import Rotation

FOLDER = EXAMPLES / "reality"
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def scripts():
    """The modules cube, engines and tosses, which leave nothing behind."""
    names = ("cube", "engines", "tosses")
    sys.path.insert(0, str(FOLDER))
    try:
        import cube
        import engines
        import tosses

        yield cube, engines, tosses
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


def flight(tosses, start, count):
    """Positions and rotations of a free flight in closed form."""
    t = tosses.FRAME * np.arange(count)[:, None]
    position = start[:3] + start[6:9] * t - 0.5 * tosses.GRAVITY * t**2 * (0, 0, 1)
    return position, (Rotation.from_rotvec(start[9:] * t) * Rotation.from_rotvec(start[3:6])).as_matrix()


def test_a_flight_gives_its_start(scripts):
    tosses, rng = scripts[2], np.random.default_rng(0)
    for count in (4, 9):
        start = rng.uniform(-1, 1, 12) * np.repeat((1, 1.7, 2, 10), 3)
        found, spread = tosses.fitted(*flight(tosses, start, count))
        assert np.allclose(found, start, rtol=0, atol=1e-9) and spread.max() < 1e-9


def test_the_spread_of_a_start_is_that_of_noisy_flights(scripts):
    """Fits of flights with noise scatter as they say."""
    tosses, rng = scripts[2], np.random.default_rng(1)
    start = np.array([0.1, 0.0, 0.3, 0.4, -0.2, 0.3, 1.0, 0.2, -0.3, 3.0, -2.0, 1.0])
    position, rotation = flight(tosses, start, 8)
    fits = []
    for _ in range(300):
        turned = Rotation.from_rotvec(rng.normal(0, 2e-3, (8, 3))) * Rotation.from_matrix(rotation)
        fits.append(tosses.fitted(position + rng.normal(0, 1e-4, (8, 3)), turned.as_matrix()))
    found, spread = (np.array(part) for part in zip(*fits, strict=True))
    ratio = found.std(axis=0) / np.sqrt((spread**2).mean(axis=0))
    assert np.abs(found.mean(axis=0) - start).max() < 4 * found.std(axis=0).max() / np.sqrt(300)
    assert 0.85 < ratio.min() <= ratio.max() < 1.15


def test_the_file_has_the_tosses(scripts):
    cube, _, tosses = scripts
    real = tosses.load(FOLDER / "cube_tosses.npz")
    assert len(real) == 474 and real.position.shape == (474, 60, 3)
    # what flies is where the fit is, to a hundredth of a width
    for k in range(0, 474, 31):
        found = flight(tosses, real.start[k], real.flight[k])
        apart = tosses.corners(*found) - real.corners()[k, : real.flight[k]]
        assert np.linalg.norm(apart, axis=-1).max() < 0.01 * cube.WIDTH


def test_pairs_start_alike_up_to_the_board_and_the_symmetries_of_a_cube(scripts):
    """A toss that is moved and turned on the board, with its axes renamed, stays with its original; others do not."""
    tosses, rng = scripts[2], np.random.default_rng(2)
    real = tosses.load(FOLDER / "cube_tosses.npz")[:8]
    yaw, axes = Rotation.from_rotvec([0, 0, 1.9]), Rotation.create_group("O")[7]
    position = yaw.apply(real.position[3]) + np.array([0.2, -0.1, 0])
    rotation = yaw.as_matrix() @ real.rotation[3] @ axes.as_matrix()
    start = real.start[3].copy()
    start[:3] = position[0] + yaw.apply(start[:3] - real.position[3, 0])
    start[3:6] = (yaw * Rotation.from_rotvec(start[3:6]) * axes).as_rotvec()
    start[6:9], start[9:] = yaw.apply(start[6:9]), yaw.apply(start[9:])
    both = tosses.Tosses(*(np.concatenate((old, new[None])) for old, new in (
        (real.position, position), (real.rotation, rotation), (real.start, start), (real.spread, real.spread[3]),
        (real.flight, real.flight[3]))))  # fmt: skip
    pairs = tosses.alike(both, 5)
    assert (pairs.one[0], pairs.other[0]) == (3, 8)
    apart = pairs.apart(both.position, both.rotation)
    assert np.nanmax(apart[0]) < 1e-6 and np.nanmin(apart[1:, -20:]) > 1e-3
    # whichever way the board is turned
    turn = Rotation.from_rotvec([0, 0, rng.uniform(-3, 3)]).as_matrix()
    moved = tosses.Tosses(both.position @ turn.T, turn @ both.rotation, *(
        getattr(both, name) for name in ("start", "spread", "flight")))  # fmt: skip
    again = tosses.Pairs(pairs.one, pairs.other, pairs.symmetry, pairs.board @ turn.T, pairs.centre @ turn.T)
    assert np.allclose(again.apart(moved.position, moved.rotation), apart, rtol=0, atol=1e-9, equal_nan=True)


def test_a_file_of_other_frames_is_refused(scripts, tmp_path):
    file = tmp_path / "tosses.npz"
    np.savez(file, lengths=[1], position=np.zeros((1, 3)), quaternion_xyzw=[[0, 0, 0, 1]], every=1)
    with pytest.raises(ValueError, match="every second one"):
        scripts[2].load(file)


@pytest.mark.parametrize("name", ["vitree", "MuJoCo", "Bullet", "Drake"])
def test_engines_fly_as_a_cube_does_and_come_to_rest_on_the_board(scripts, name):
    _, engines, tosses = scripts
    package, _, bounds = engines.ENGINES[name]
    if not engines.installed(package):
        pytest.skip(f"{name} is not installed")
    start = np.array([[0.1, 0.0, 0.4, 0.4, -0.2, 0.3, 1.0, 0.2, -0.3, 3.0, -2.0, 1.0],
                      [0.0, 0.1, tosses.HALF, 0.0, 0.0, 0.4, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]])  # fmt: skip
    parameters = [(low * high) ** 0.5 if log else 0.5 * (low + high) for low, high, log in bounds.values()]
    position, rotation = engines.ENGINES[name][1](start, 9, *parameters)
    expected = flight(tosses, start[0], 9)
    # methods of order 1 fall late by half a step
    assert np.allclose(position[0], expected[0], rtol=0, atol=2e-3)
    assert np.allclose(rotation[0], expected[1], rtol=0, atol=5e-3)
    assert np.abs(position[1, :, 2] - tosses.HALF).max() < 1e-3 and np.ptp(position[1, :, 0]) < 0.011


def test_the_least_point_of_a_grid(scripts):
    """That of a quadratic is found; without one it is the least value."""
    cube, mu, e = scripts[0], np.linspace(0.1, 0.3, 11), np.linspace(0, 0.4, 9)
    x, y = np.meshgrid(mu, e, indexing="ij")
    bowl = 0.2 + 3 * (x - 0.183) ** 2 + 0.4 * (y - 0.17) ** 2 + 0.2 * (x - 0.183) * (y - 0.17)
    slope = 0.2 + x - 0.1 * y
    assert np.allclose(cube.least(bowl[None], mu, e), [[0.183, 0.17]])
    assert np.allclose(cube.least(slope[None], mu, e), [[0.1, 0.4]])


def test_faces(scripts):
    quarter = np.pi / 2
    vectors = [[0, 0, 0.3], [quarter, 0, 0], [-quarter, 0, 0], [0, quarter, 0], [2 * quarter, 0, 0]]
    turned = Rotation.from_rotvec(vectors)
    assert scripts[0].face_up(turned.as_matrix()).tolist() == [4, 2, 3, 1, 5]


def test_the_script_runs(scripts, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["cube.py", "--quick", "--engines", "vitree", "--out", str(tmp_path)])
    scripts[0].main()
    text = capsys.readouterr().out
    rows = {cells[0]: cells[1:] for cells in (re.split(r"\s{2,}", line.strip()) for line in text.splitlines())}
    assert text.startswith("24 tosses") and sorted(path.name for path in tmp_path.iterdir()) == [
        "reality-contact.png", "reality-errors.png"]  # fmt: skip
    # on the way down alike, and much farther apart after the first touches than two runs of one start
    ours, twice = ([float(x) for x in rows[name]] for name in ("vitree", "two runs"))
    assert max(ours[:2]) < 0.01 and max(twice) < 0.1 < max(ours)
    friction = float(rows["all after the first touch"][0])
    assert 0.14 < friction < 0.22
