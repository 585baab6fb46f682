"""The tables of the page "Coming from trep": their code runs, they leave no name out, and their formulas are true."""

from __future__ import annotations

import re

import numpy as np
import pytest
from blocks import python_blocks
from places import ROOT, TESTS

import vitree as vt

PAGE = ROOT / "docs" / "coming-from-trep.md"
#: Name of the table, what stands left, what stands right.
ROWS = [
    (heading, left, right)
    for heading, text in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    for left, right in re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.M)
    if left != "trep" and heading != "Conventions that differ"
]
#: Opens a page and stays; the command line.
NOT_RUN = {"vt.view(model)", "vt.view(traj)", "vitree view"}
#: Words in code that are names of other things: of keywords, of fields of what stands before, of methods of a part.
WORDS = {"by_q", "by_v", "by_qq", "by_vq", "by_vv", ".by_v", ".K", ".P", "energy", "gradient", "hessian", "force",
         "value", "examples/papers", "optimize_motion", "trajectory",
         "PointConstraint", "Force", "g", "g_inv"}  # fmt: skip


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.fixture(scope="module")
def names():
    """What the block of the section "The names of the tables" defines."""
    (block,) = [block for block in python_blocks(PAGE) if "def slope" in block]
    found: dict = {}
    exec(compile(block, PAGE.name, "exec"), found)
    return found


def result(code: str, names: dict):
    return eval(compile(code, PAGE.name, "eval"), dict(names))


@pytest.mark.parametrize(("heading", "left", "right"), ROWS, ids=[f"{h}-{le[:40]}" for h, le, _ in ROWS])
def test_the_code_of_each_row_runs(heading, left, right, names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ran = 0
    for span in spans(right):
        if span in WORDS or span in NOT_RUN or re.match(r"\w+=", span):
            continue
        if result(span, names) is not None or "(" in span:
            ran += 1
    excuses = "not there|not needed|not asked for|zero|arrays of your own|what you gave|`vt.view|=`"
    assert ran or re.search(excuses, right), "a row without code must say why"


def test_rows_are_complete():
    """Each public name of trep 1.0.3, by the class that has it, stands on the left of a row."""
    left = [text for _, text, _ in ROWS]
    told = {re.match(r"\w+", span)[0] for text in left for span in spans(text) if re.match(r"\w+", span)}
    whole = {span for text in left if "all of their methods" in text
             for span in spans(text.partition("all of their methods")[0])}  # fmt: skip
    missing = []
    for line in (TESTS / "docs" / "trep_names.txt").read_text().splitlines():
        kind, _, members = line.partition(": ")
        kind = kind.rstrip(":")
        if kind != "functions" and kind not in told:
            missing.append(kind)
        if kind not in whole:
            missing += [f"{kind}.{name}" for name in members.split() if name not in told]
    assert missing == []


def test_a_name_that_is_left_out_is_seen():
    assert "q2_dq1" in {span for _, text, _ in ROWS for span in spans(text)}
    assert sum(len(line.split()) for line in (TESTS / "docs" / "trep_names.txt").read_text().splitlines()) > 500


def row(name: str) -> list[str]:
    """The code of the first row of a name."""
    return spans(next(right for _, left, right in ROWS if name in spans(left)))


def next_state(names, x, u):
    run = vt.simulate(names["model"], x[:2], p0=x[2:], duration=names["dt"], tolerance=1e-14,
                      control=vt.Control(torque=names["tau"], inputs=u), **names["how"])  # fmt: skip
    return np.concatenate([run.q[-1], run.p[-1]])


@pytest.mark.parametrize(("name", "out", "by"), [
    (f"{a}2_d{b}1", a, b) for a in "qp" for b in "qpu"
])  # fmt: skip
def test_first_derivatives_of_a_step(name, out, by, names):
    x, u = names["x"], names["u"]
    at = {"q": slice(0, 2), "p": slice(2, 4)}
    found = result(row(name)[0], names)
    if by == "u":
        expected = names["slope"](lambda u: next_state(names, x, u)[at[out]], u)
    else:
        expected = names["slope"](lambda x: next_state(names, x, u)[at[out]], x)[:, at[by]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    assert np.abs(expected).max() > 1e-6


@pytest.mark.parametrize(("name", "out", "first", "second"), [
    (f"{a}2_d{b}", a, b[0], b[3]) for a in "qp" for b in ("q1dq1", "q1dp1", "p1dp1", "q1du1", "p1du1", "u1du1")
])  # fmt: skip
def test_second_derivatives_of_a_step(name, out, first, second, names):
    """Against second differences of the step itself."""
    slope, x, u = names["slope"], names["x"], names["u"]
    at = {"q": slice(0, 2), "p": slice(2, 4), "u": slice(4, 5)}
    found = result(row(name)[0], names)

    def whole(y):
        return next_state(names, y[:4], y[4:])[at[out]]

    y = np.concatenate([x, u])
    expected = slope(lambda y: slope(whole, y, 3e-3), y, 3e-3)[:, at[first], at[second]]
    if second == "u":
        # by u and by x, or by u and by u
        found = found if first == "u" else found.swapaxes(1, 2)[:, at[first]]
    else:
        found = found[:, at[first], at[second]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(("name", "function", "of"), [
    ("f_dq", lambda n, q: n["model"].forward_dynamics(q, n["v"], n["tau"], inputs=n["u"]).acceleration, "q"),
    ("f_ddq", lambda n, v: n["model"].forward_dynamics(n["q"], v, n["tau"], inputs=n["u"]).acceleration, "v"),
    # the spring by hand
    ("f_dqdq", lambda n, q: n["slope"](lambda q: n["model"].aba(q, n["v"], n["tau"] - [0, 3 * q[1]]), q, 1e-3), "q"),
    ("g_inv_dq", lambda n, q: np.linalg.inv(n["model"].frame_pose("bob", q)), "q"),
    ("lg_dq", lambda n, q: np.linalg.inv(n["model"].frame_pose("cart", q)) @ n["model"].frame_pose("bob", q), "q"),
    ("L_dqdqdq", lambda n, q: n["slope"](lambda q: n["model"].lagrangian_derivatives(q, n["v"]).by_q, q), "q"),
    ("L_ddqddqdq", lambda n, q: n["model"].lagrangian_derivatives(q, n["v"]).by_vv, "q"),
    ("g_dqdqdq", lambda n, q: n["slope"](lambda q: n["model"].pose_derivatives("bob", q)[1], q), "q"),
])  # fmt: skip
def test_derivatives_of_the_dynamics(name, function, of, names):
    found, x = result(row(name)[0], names), names[of]
    expected = names["slope"](lambda y: function(names, y), x)
    if name == "g_inv_dq":
        expected = np.moveaxis(expected, -1, 0)
    if name == "g_dqdqdq":
        expected = expected.transpose(0, 3, 1, 2, 4)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * max(1.0, np.abs(expected).max()))


def test_contracted_second_derivatives(names):
    """Those of a DSystem are differences of products with first ones."""
    slope, step, x, u, z = (names[name] for name in ("slope", "step", "x", "u", "z"))
    for name, expected in (
        ("fdxdx", slope(lambda x: z @ step(x).A, x)), ("fdxdu", slope(lambda x: z @ step(x).by_inputs, x).T),
        ("fdudu", slope(lambda u: z @ step(x, u).by_inputs, u)),
    ):  # fmt: skip
        found = result(row(name)[0], names)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))
        if name == "fdxdx":
            assert np.abs(expected).max() > 0.01
            whole = result(row(name)[1], names)
            np.testing.assert_allclose(whole[0], found, rtol=0, atol=1e-8)


def test_second_derivatives_by_the_length_of_the_string(names):
    slope, pulled, k = (names[name] for name in ("slope", "pulled", "k"))
    by_length = slope(lambda k: pulled(k).linearize()[1].by_prescribed, k, 1e-3)
    found = np.concatenate([result(code, names) for code in row("q2_dk2dk2")[:2]])
    np.testing.assert_allclose(found, by_length, rtol=0, atol=1e-5 * np.abs(by_length).max())
    crossed = slope(lambda k: pulled(k).linearize()[1].A, k, 1e-3)
    np.testing.assert_allclose(result(row("q2_dq1dk2")[0], names), crossed, rtol=0, atol=1e-5 * np.abs(crossed).max())
    assert np.abs(by_length).max() > 1e-6 and np.abs(crossed).max() > 0.1


def test_what_is_said_of_the_string(names):
    """The end of a step under a prescribed length, and the multiplier, by that length."""
    found = result(row("q2_dk2")[0], names)
    # the length itself, and the bob along the string
    assert found[2, 0] == pytest.approx(1.0, abs=1e-9)
    direction = names["ql"][:2] / np.linalg.norm(names["ql"][:2])
    assert direction @ found[:2, 0] == pytest.approx(1.0, abs=1e-2)
    # a bob of 1 kg that is to be elsewhere by d at the end takes the impulse d/dt
    np.testing.assert_allclose(np.abs(result(row("lambda1_dk2")[0], names)), 1.0 / names["dt"], rtol=1e-2)


def test_a_wrong_formula_is_seen(names):
    """The blocks of A are not each other's."""
    blocks = [result(row(name)[0], names) for name in ("q2_dq1", "q2_dp1", "p2_dq1", "p2_dp1")]
    for k, one in enumerate(blocks):
        for other in blocks[:k]:
            assert np.abs(one - other).max() > 1e-3
