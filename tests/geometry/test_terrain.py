"""Height fields: smooth, through their heights, exact for planes."""

import pickle

import numpy as np
import pytest

import vitree as vt
from vitree.geometry.terrain import weights


def hills(x, y):
    return 0.3 * np.sin(2 * x) * np.cos(3 * y)


def field(seed, shape=(7, 5), spacing=(0.3, 0.7), origin=(-0.4, 1.1, 0.25)):
    return vt.HeightField(np.random.default_rng(seed).normal(size=shape), spacing, origin)


@pytest.mark.parametrize("shape", [(2, 2), (2, 9), (3, 3), (4, 3), (5, 8), (30, 20)])
def test_it_goes_through_its_heights(shape):
    f = field(1, shape)
    for i in range(shape[0]):
        for j in range(shape[1]):
            z = f.height(-0.4 + 0.3 * i, 1.1 + 0.7 * j)
            assert z == pytest.approx(0.25 + f.heights[i, j], abs=1e-13)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (6, 4)])
def test_planes_are_exact_everywhere(shape):
    f = vt.HeightField(lambda x, y: 0.5 * x - 0.2 * y + 3, 0.4, (1, 2, -1), shape=shape)
    for x, y in np.random.default_rng(0).uniform(-20, 20, size=(50, 2)):
        z, dx, dy = f.height_and_slope(x, y)
        np.testing.assert_allclose((z, dx, dy), (0.5 * x - 0.2 * y + 2, 0.5, -0.2), rtol=0, atol=1e-12 * 20)


@pytest.mark.parametrize("seed", range(4))
def test_slopes_against_differences_and_without_jumps(seed):
    """In cells, on their edges and corners, at the rim and outside: one value and slope from all sides."""
    f, rng = field(seed), np.random.default_rng(seed)
    inside = rng.uniform((-1.2, -0.5), (2.4, 5.0), size=(150, 2))
    edges = np.array([(-0.4 + 0.3 * i, 1.1 + 0.7 * j) for i in range(-1, 8) for j in range(-1, 6)])
    half_edges = edges + np.array((0, 0.2))
    h = 1e-5
    for x, y in np.concatenate([inside, edges, half_edges, [(-0.4, 1.1), (1.4, 3.9)]]):
        _, dx, dy = f.height_and_slope(x, y)
        near = np.array([f.height_and_slope(x + a, y + b) for a in (-h, h) for b in (-h, h)])
        assert np.ptp(near[:, 1:], axis=0).max() < 1e4 * h  # the slope has no jump
        assert (f.height(x + h, y) - f.height(x - h, y)) / (2 * h) == pytest.approx(dx, abs=2e-7)
        assert (f.height(x, y + h) - f.height(x, y - h)) / (2 * h) == pytest.approx(dy, abs=2e-7)


def test_coefficients_are_what_the_notes_say():
    f = field(2)
    for x, y in np.random.default_rng(2).uniform((-0.4, 1.1), (1.4, 3.9), size=(30, 2)):
        u, v = (x + 0.4) / 0.3, (y - 1.1) / 0.7
        i, j = min(int(u), 5), min(int(v), 3)
        w = [np.array([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]) / 6
             for t in (u - i, v - j)]  # fmt: skip
        total = sum(w[0][k] * w[1][m] * f.coefficients[i + k, j + m] for k in range(4) for m in range(4))
        assert f.height(x, y) == pytest.approx(0.25 + total, abs=1e-13)
        assert weights(u, 7)[0] == i


def test_a_smooth_function_is_met_of_order_four_inside():
    errors = []
    for n in (11, 21, 41):
        f = vt.HeightField(hills, 4 / (n - 1), (-2, -2, 0), shape=(n, n))
        at = np.random.default_rng(1).uniform(-0.8, 0.8, size=(200, 2))
        errors.append(max(abs(f.height(x, y) - hills(x, y)) for x, y in at))
    assert np.log2(errors[0] / errors[1]) > 3.5
    assert np.log2(errors[1] / errors[2]) > 3.5


def test_equal_by_content_and_pickled():
    f = field(3)
    again = pickle.loads(pickle.dumps(f))
    assert again == f
    assert hash(again) == hash(f)
    assert f != field(4)
    assert not again.heights.flags.writeable
    assert not again.coefficients.flags.writeable
    assert again.height(0.1, 2.0) == f.height(0.1, 2.0)


@pytest.mark.parametrize(("arguments", "text"), [
    (([[1, 2, 3]],), "at least"), ((np.zeros(5),), "shape"), (([[0, np.nan], [0, 0]],), "finite"),
    ((np.zeros((3, 3)), 0.0), "spacing"), ((np.zeros((3, 3)), (1, 2, 3)), "one or two"),
    ((np.zeros((3, 3)), -1), "spacing"), (("hill",), "heights"), ((np.zeros((3, 3)), 1, (0, 0)), "origin"),
    ((hills, 0.1), "shape"), ((hills, 0.1, (0, 0, 0), (1, 5)), "shape"), ((np.zeros((3, 3)), 1, (0, 0, 0), (2, 3)),
                                                                         "shape"),
    ((hills, 0.1, (0, 0, 0), 7), "shape"),
])  # fmt: skip
def test_bad_fields(arguments, text):
    with pytest.raises(vt.ModelError, match=text):
        vt.HeightField(*arguments)


@pytest.mark.parametrize("function", [lambda x, y: np.nan, lambda x, y: 1 / 0, lambda x: x, lambda x, y: "high"])
def test_functions_that_fail_are_named(function):
    with pytest.raises(vt.CallableError, match="heights"):
        vt.HeightField(function, 0.1, shape=(3, 3))
