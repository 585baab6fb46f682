"""SE(3) on stacks: the equations of vitree.lie in long doubles and of mpmath, and bits that depend on nothing else."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import mpmath
import numpy as np
import pytest

import vitree as vt
from vitree import se3 as module
from vitree._core import lanes, widths
from vitree.lie import SE3, se3

EXACT = SE3.maps["exp"]
#: Lengths of rotation vectors: near zero, where series meet closed forms, near pi and beyond.
ANGLES = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4, 0.1, 0.125, 0.2, 1.4, 1.5, 1.6, 2.0, 3.0, np.pi - 1e-4, np.pi - 1e-8,
          np.pi - 1e-12, np.pi - 4e-16]  # fmt: skip
BEYOND = [np.pi, 3.2, 4.0, 2 * np.pi - 1e-9, 2 * np.pi, 7.0, 100.0]


def twists(angles, seed=0, many=6):
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(len(angles), many, 3))
    axes[:, 0], axes[:, 1] = np.eye(3)[rng.integers(3, size=len(angles))], [0.6, 0.8, 0.0]
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    return np.concatenate((axes * np.array(angles)[:, None, None], rng.normal(size=axes.shape)), axis=-1).reshape(-1, 6)


def elements(n, seed=0):
    return SE3.random(np.random.default_rng(seed), (n,))


def exact(x):
    return np.asarray(x, dtype=np.longdouble)


def test_products_and_inverses_are_those_of_matrices():
    X, Y = elements(40), elements(40, 1)
    assert np.abs(se3.product(X, Y) - exact(X) @ exact(Y)).max() < 1e-15
    assert np.abs(exact(X) @ se3.inverse(X) - np.eye(4)).max() < 3e-15
    assert np.abs(se3.product(se3.inverse(X), X) - np.eye(4)).max() < 3e-15
    assert np.array_equal(se3.inverse(X)[:, :3, :3], X[:, :3, :3].swapaxes(1, 2))
    points = np.random.default_rng(2).normal(size=(40, 3))
    moved = (exact(X) @ np.append(points, np.ones((40, 1)), axis=1)[..., None])[:, :3, 0]
    assert np.abs(se3.act(X, points) - moved).max() < 3e-15
    assert np.abs(se3.Ad(X) - SE3.Ad(exact(X))).max() < 3e-15
    assert np.abs(se3.Ad(se3.product(X, Y)) - se3.Ad(X) @ se3.Ad(Y)).max() < 3e-14


def test_exponentials_are_those_of_long_doubles():
    x = twists(ANGLES + BEYOND)
    off = np.abs(se3.exp(x) - EXACT.tau(exact(x))).max(axis=(1, 2))
    # an angle is itself rounded
    assert (off < 1e-15 * np.maximum(2.0, np.linalg.norm(x[:, :3], axis=1))).all()
    assert (se3.exp(x)[:, 3] == [0, 0, 0, 1]).all()


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.12, 1.55, 3.1, 6.2])
def test_exponentials_are_those_of_mpmath(angle):
    with mpmath.workdps(40):
        for x in twists([angle], seed=3, many=3):
            w, v = x[:3].tolist(), x[3:].tolist()
            X = mpmath.matrix([[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0] * 4])
            expected = np.array(mpmath.expm(X, method="taylor").tolist(), dtype=float)
            assert np.abs(se3.exp(x) - expected).max() < 1e-15


def test_logarithms_are_the_inverse_of_exponentials():
    x = twists(ANGLES)
    X = np.asarray(EXACT.tau(exact(x)), dtype=float)
    found, angle = se3.log(X), np.linalg.norm(x[:, :3], axis=1)
    assert (np.linalg.norm(found[:, :3], axis=1) <= np.pi + 1e-15).all()
    # an element is rounded to 1e-16; at pi, w and -w are the same
    assert np.abs(se3.exp(found) - X).max() < 3e-15
    inside = angle < 3.1
    assert np.abs(found - x)[inside].max() < 1e-14
    assert np.abs(found - np.asarray(EXACT.log(exact(X)), float))[inside].max() < 5e-15
    near = (angle > 3.1) & (angle < np.pi - 1e-9)
    assert np.abs(found - x)[near].max() < 1e-13
    small = (angle > 0) & (angle < 1e-7)
    assert (np.abs(found - x)[small, :3].max(axis=1) <= 4e-16 * angle[small]).all()
    # beyond pi it is the shorter way
    far = se3.log(se3.exp(twists([4.0, 5.0, 6.0])))
    left = 2 * np.pi - np.repeat([4.0, 5.0, 6.0], 6)
    assert np.abs(np.linalg.norm(far[:, :3], axis=1) - left).max() < 1e-13


def test_logarithms_of_half_turns():
    for axis in (*np.eye(3), [0.6, 0.8, 0.0], [0.0, -0.6, 0.8], [1 / 3, -2 / 3, 2 / 3]):
        axis = np.asarray(axis)
        X = np.eye(4)
        X[:3, :3] = 2 * np.outer(axis, axis) - np.eye(3)
        w = se3.log(X)[:3]
        assert min(np.abs(w - s * np.pi * axis).max() for s in (1, -1)) < 1e-15


def calls(X, Y, x, a):
    """Each function with its arguments."""
    return {"product": (X, Y), "inverse": (X,), "exp": (x,), "log": (X,), "Ad": (X,), "act": (X, a)}


def stacks(n, rows=4, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = (np.ascontiguousarray(elements(n, seed + k)[:, :rows]) for k in range(2))
    x = twists([*ANGLES, *BEYOND], seed, 2)[rng.integers(50, size=n)]
    return calls(X, Y, x, rng.normal(size=(n, 3)))


@pytest.mark.parametrize("rows", [3, 4])
@pytest.mark.parametrize("width", widths())
def test_bits_depend_neither_on_lanes_nor_on_neighbours(width, rows, monkeypatch):
    whole = stacks(70, rows)
    alone = {name: np.array([getattr(se3, name)(*at) for at in zip(*given, strict=True)])
             for name, given in whole.items()}  # fmt: skip
    monkeypatch.setattr(module, "wide", lambda: lanes(width))
    for n in [*range(34), 63, 64, 65, 70]:
        for name, given in whole.items():
            found = getattr(se3, name)(*(x[:n] for x in given))
            assert found.shape == (n, *alone[name].shape[1:])
            assert found.tobytes() == alone[name][:n].tobytes(), (name, n)


def test_three_rows_are_those_of_four():
    four, three = stacks(9, 4), stacks(9, 3)
    for name in four:
        a, b = (getattr(se3, name)(*given[name]) for given in (four, three))
        assert name == "exp" or a[..., : b.shape[-2], :].tobytes() == b.tobytes()
    X, Y = four["product"]
    assert se3.product(X, Y[:, :3]).shape == (9, 3, 4) and se3.product(X[:, :3], Y).shape == (9, 3, 4)
    assert se3.exp(four["exp"][0], out=np.empty((9, 3, 4))).tobytes() == se3.exp(four["exp"][0])[:, :3].tobytes()
    wide = np.full((9, 4, 4), np.nan)
    assert se3.product(*three["product"], out=wide) is wide and np.array_equal(wide, se3.product(X, Y))
    X[:, 3] = np.nan  # not read
    for name, given in calls(X, Y, *four["exp"], four["act"][1]).items():
        assert np.isfinite(getattr(se3, name)(*given)).all()


@pytest.mark.parametrize("name", ["product", "inverse", "exp", "log", "Ad", "act"])
def test_leading_axes_and_arrays_of_every_kind(name):
    given = stacks(12)[name]
    function = getattr(se3, name)
    flat = function(*given)
    shaped = [x.reshape(3, 4, *x.shape[1:]) for x in given]
    assert function(*shaped).tobytes() == flat.tobytes() and function(*shaped).shape[:2] == (3, 4)
    assert function(*(x[0] for x in given)).tobytes() == flat[0].tobytes()
    for change in (
        np.asfortranarray, lambda x: x.tolist(), lambda x: np.repeat(x, 2, 0)[::2],
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, 1)])[..., :-1],
    ):  # fmt: skip
        assert function(*map(change, given)).tobytes() == flat.tobytes()
    single = [x.astype(np.float32) for x in given]
    assert function(*single).tobytes() == function(*(x.astype(float) for x in single)).tobytes()
    empty = function(*(x[:0] for x in given))
    assert empty.shape == (0, *flat.shape[1:])
    out = np.empty_like(flat)
    assert function(*given, out=out) is out and out.tobytes() == flat.tobytes()
    strided = np.empty((24, *flat.shape[1:]))[::2]
    assert function(*given, out=strided) is strided and strided.tobytes() == flat.tobytes()
    if len(given) == 2:
        one = function(given[0][0], given[1])
        assert one.tobytes() == function(np.repeat(given[0][:1], 12, 0), given[1]).tobytes()
        one = function(given[0], given[1][0])
        assert one.tobytes() == function(given[0], np.repeat(given[1][:1], 12, 0)).tobytes()
        assert function(given[0][:, None], given[1]).shape[:2] == (12, 12)
        assert function(given[0][:, None], given[1])[3, 5].tobytes() == function(given[0][3], given[1][5]).tobytes()


@pytest.mark.parametrize("n", [1, 5, 100])
def test_results_may_take_the_place_of_arguments(n):
    X, Y = elements(n), elements(n, 1)
    Z = se3.product(X, Y)
    for place in (0, 1):
        pair = [X.copy(), Y.copy()]
        assert np.array_equal(se3.product(*pair, out=pair[place]), Z)
    again = X.copy()
    assert np.array_equal(se3.inverse(again, out=again), se3.inverse(X))
    points = np.random.default_rng(0).normal(size=(n, 3))
    moved = se3.act(X, points)
    assert np.array_equal(se3.act(X, points, out=points), moved)
    # memory that overlaps otherwise
    room = np.empty((n + 1, 4, 4))
    room[:n] = X
    assert np.array_equal(se3.product(room[:n], Y, out=room[1:]), Z)
    room[:n], one = X, X[0].copy()
    assert np.array_equal(se3.product(room[0], Y, out=room[:n]), se3.product(one, Y))


def test_what_is_wrong_is_named():
    X, x = elements(4), np.zeros((4, 6))
    for call, text in [
        (lambda: se3.product(X[:, :2], X), r"^X has shape \(4, 2, 4\); it must be .* \(..., 4, 4\) or \(..., 3, 4\)"),
        (lambda: se3.product(X, X[:3]), r"^X has the leading axes \(4,\), Y has .* \(3,\); they must broadcast"),
        (lambda: se3.exp(x[:, :5]), r"^x has shape \(4, 5\); it must be .* of shape \(..., 6\)"),
        (lambda: se3.act(X, x), r"^points has shape \(4, 6\); it must be .* of shape \(..., 3\)"),
        (lambda: se3.log("X"), '^X="X" has text'), (lambda: se3.inverse(None), "^X=None has Python objects"),
        (lambda: se3.inverse(X + 0j), "^X has complex numbers"), (lambda: se3.inverse(3.0), r"^X=3.0 has shape \(\)"),
        (lambda: se3.inverse(X, out=X[:3]), r"^out has shape \(3, 4, 4\); its leading axes must be \(4,\)"),
        (lambda: se3.log(X, out=X), r"^out has shape \(4, 4, 4\); it must be .* of shape \(..., 6\)"),
        (lambda: se3.inverse(X, out=[1.0]), "^out is .* it must be an array of doubles to write to"),
        (lambda: se3.inverse(X, out=X.astype(np.float32)), "^out is .* it must be an array of doubles to write to"),
        (lambda: se3.inverse(X, out=np.broadcast_to(X[0], (4, 4, 4))), "^out is .* it must be an array of doubles"),
    ]:  # fmt: skip
        with pytest.raises(vt.InputError, match=text):
            call()


def test_nan_stays_with_its_element():
    X, Y = elements(9), elements(9, 1)
    X[4, 0, 0] = np.nan
    x = twists([0.5], many=9)
    x[4] = np.nan
    for name, given in calls(X, Y, x, X[:, 0, :3]).items():
        found = getattr(se3, name)(*given).reshape(9, -1)
        assert np.isnan(found[4]).any() and np.isfinite(np.delete(found, 4, 0)).all(), name


SOURCE = """
from vitree.se3 cimport product, inverse, act
from vitree cimport se3

def actions(double[:, :, ::1] X, double[:, :, ::1] Y, double[:, ::1] x, double[:, ::1] a, double[:, :, ::1] products,
            double[:, :, ::1] inverses, double[:, :, ::1] exps, double[:, ::1] logs, double[:, :, ::1] adjoints,
            double[:, ::1] points):
    cdef Py_ssize_t k
    with nogil:
        for k in range(X.shape[0]):
            product(&X[k, 0, 0], &Y[k, 0, 0], &products[k, 0, 0])
            inverse(&X[k, 0, 0], &inverses[k, 0, 0])
            se3.exp(&x[k, 0], &exps[k, 0, 0])
            se3.log(&X[k, 0, 0], &logs[k, 0])
            se3.Ad(&X[k, 0, 0], &adjoints[k, 0, 0])
            act(&X[k, 0, 0], &a[k, 0], &points[k, 0])
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="needs a C compiler")
def test_other_cython_modules_take_the_kernels(tmp_path):
    """A module that cimports them has the bits of the stacks, whatever flags it is compiled with."""
    (tmp_path / "user.pyx").write_text(SOURCE)
    build = (
        "from setuptools import Extension, setup; from Cython.Build import cythonize; "
        "setup(name='user', ext_modules=cythonize([Extension('user', ['user.pyx'], extra_compile_args=['-O3', "
        "'-ffp-contract=fast'])], language_level=3))"
    )
    root = str(pathlib.Path(vt.__file__).parent.parent)
    paths = f"import sys; sys.path.insert(0, {root!r}); "
    done = subprocess.run([sys.executable, "-c", paths + build, "build_ext", "--inplace"], cwd=tmp_path, check=False,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(tmp_path))
    try:
        import user
    finally:
        sys.path.remove(str(tmp_path))
    given = stacks(50)
    X, Y, x, a = *given["product"], *given["exp"], given["act"][1]
    shapes = {"product": (3, 4), "inverse": (3, 4), "exp": (3, 4), "log": (6,), "Ad": (6, 6), "act": (3,)}
    found = {name: np.empty((50, *shape)) for name, shape in shapes.items()}
    user.actions(X, Y, x, a, *found.values())
    for name, part in found.items():
        expected = getattr(se3, name)(*given[name])
        expected = expected[:, :3] if shapes[name] == (3, 4) else expected
        assert part.tobytes() == np.ascontiguousarray(expected).tobytes(), name
