"""Comparisons from many starts and work-precision sets: medians, bands, tolerances, robots, and their files."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import math

import numpy as np
import pytest

import vitree as vt
from vitree import plot

MODEL = vt.load_urdf(vt.find_robot("double_pendulum"))
Q0 = MODEL.neutral() + 1.0
METHODS = {"variational": "linear-time", "rk4": "rk4"}


def starts(n, spread=0.1):
    return Q0 + spread * np.random.default_rng(3).standard_normal((n, 2))


@pytest.fixture(scope="module")
def many():
    return vt.compare_ensemble(MODEL, METHODS, starts(7), duration=0.5, dt=[0.02, 0.01])


@pytest.fixture(scope="module")
def work():
    return vt.work_precision(MODEL, [*METHODS.values(), "scipy-rk45"], Q0, duration=0.5, dt=[0.02, 0.01],
                             tolerance=[1e-4, 1e-7], repeats=1)  # fmt: skip


def test_medians_and_bands_are_those_of_single_comparisons(many):
    alone = [vt.compare(MODEL, METHODS, q, duration=0.5, dt=[0.02, 0.01]) for q in starts(7)]
    assert len(many.comparisons) == 7 and len(many.table) == 4
    for k, row in enumerate(many.table):
        assert (row["starts"], row["failed"], row["status"], row["valid_to_end"]) == (7, 0, "ok", 7)
        for key in ("error", "energy_error", "energy_drift", "iterations_mean"):
            each = np.array([found.table[k][key] for found in alone])
            if math.isnan(row[key]):
                assert row["label"] == "rk4" and np.isnan(each).all()
                continue
            assert row[key] == np.median(each)
            assert row[f"{key}_low"] == np.quantile(each, 0.1, method="inverted_cdf") == each.min()
            assert row[f"{key}_high"] == np.quantile(each, 0.9, method="inverted_cdf") == each.max()
    assert "Medians over 7 starts" in str(many) and "[" in str(many)


def test_failed_starts_are_counted_and_left_out_of_medians():
    v0 = np.array([[0.0, 0.0], [0.5, 0.0], [12.0, -24.0]])
    found = vt.compare_ensemble(MODEL, [("linear-time", {"max_halvings": 0})], Q0, v0, duration=3.0, dt=0.05,
                                reference=False)  # fmt: skip
    (row,) = found.table
    each = [one.table[0] for one in found.comparisons]
    good = [one["energy_error"] for one in each if one["status"] == "ok"]
    assert 0 < len(good) < 3 and row["failed"] == 3 - len(good) and row["energy_error"] == np.median(good)
    assert f"{row['failed']} of 3" in str(found)


def test_starts_may_vary_by_velocity_alone():
    v0 = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    found = vt.compare_ensemble(MODEL, ["rk4"], Q0, v0, duration=0.1, dt=0.01)
    assert [list(one.trajectories["rk4", 0.01].v[0]) for one in found.comparisons] == v0.tolist()
    assert np.shape(found.settings["q0"]) == (3, 2) and found.settings["v0"] == v0.tolist()


@pytest.mark.parametrize(("q0", "v0", "words"), [
    (Q0, None, "1 start"), (np.zeros((3, 3)), None, "q0 has shape"), (np.zeros((3, 2)), np.zeros((2, 2)), "3 rows"),
    (np.zeros((2, 2)), np.zeros(3), "v0 has shape"), (np.zeros((2, 2, 2)), None, "q0 has shape"),
    (np.zeros((0, 2)), None, "q0 has shape"), ([[0, 0], [math.nan, 0]], None, "q0"),
])  # fmt: skip
def test_bad_starts_are_named(q0, v0, words):
    with pytest.raises(vt.InputError, match=words):
        vt.compare_ensemble(MODEL, ["rk4"], q0, v0, duration=0.1, dt=0.01)


def test_of_chaotic_starts_the_valid_time_has_a_band():
    q0 = MODEL.neutral() + 2.5 + 0.05 * np.random.default_rng(0).standard_normal((5, 2))
    found = vt.compare_ensemble(MODEL, ["rk4", "gauss"], q0, duration=12.0, dt=0.01, record_every=5)
    rk4, gauss = found.table
    assert rk4["valid_time_low"] < rk4["valid_time"] < rk4["valid_time_high"] < 12.0 and rk4["valid_to_end"] == 0
    assert rk4["valid_time"] < gauss["valid_time"]
    assert "valid time" in str(found)


def test_the_figure_of_an_ensemble_has_medians_and_bands(many, tmp_path):
    figure = many.plot(tmp_path / "many.png")
    _, lower = figure.axes
    assert len(lower.lines) == len(lower.collections) == 2 and (tmp_path / "many.png").stat().st_size > 1000
    rows = np.array([one.series["rk4", 0.01].error for one in many.comparisons])
    drawn = {line.get_label(): line for line in lower.lines}["rk4"]
    assert np.nanmax(drawn.get_ydata()) == np.median(np.abs(rows), axis=0).max()
    with pytest.raises(vt.InputError, match="EnsembleComparison"):
        plot.ensemble(many.comparisons[0])


# ---- work against precision ----------------------------------------------------------------------------------


def test_each_method_runs_over_what_sets_its_work(work):
    keys = [(row["method"], row["dt"], row["tolerance"]) for row in work.table]
    for method in ("linear-time", "rk4"):
        assert [(dt, math.isnan(tol)) for name, dt, tol in keys if name == method] == [(0.02, True), (0.01, True)]
    assert [(math.isnan(dt), tol) for name, dt, tol in keys if name == "scipy-rk45"] == [(True, 1e-4), (True, 1e-7)]
    assert len(keys) == 6


def test_errors_are_those_of_comparisons_and_times_of_their_runs(work):
    alone = vt.compare(MODEL, ["linear-time", "rk4"], Q0, duration=0.5, dt=[0.02, 0.01])
    for row, other in zip(work.table, alone.table, strict=False):
        assert row["error"] == row["error_low"] == row["error_high"] == other["error"]
    loose, tight = work.table[-2:]
    run = vt.simulate(MODEL, Q0, duration=0.5, dt=0.01, method="scipy-rk45", rtol=1e-4, atol=1e-4)
    assert (run.q == work.comparisons[MODEL.name].trajectories["scipy-rk45, tolerance=0.0001", 0.01].q).all()
    assert 100 * tight["error"] < loose["error"] < 1e-2
    for row in work.table:
        assert row["per_second"] == pytest.approx(2.0 * row["seconds"]) and row["seconds"] > 0
    first = work.table[0]
    assert first["seconds"] == pytest.approx(1e-6 * first["us_per_step"] * 25)


def test_with_one_step_tolerances_vary_all_methods_that_have_one():
    found = vt.work_precision(MODEL, ["gauss", "rk4"], Q0, duration=0.5, dt=0.02, tolerance=[1e-3, 1e-6], repeats=1)
    assert [(row["method"], row["dt"], row["tolerance"]) for row in found.table] == [
        ("gauss", 0.02, 1e-3), ("gauss", 0.02, 1e-6), ("rk4", 0.02, pytest.approx(math.nan, nan_ok=True))]  # fmt: skip
    assert found.table[1]["error"] < found.table[0]["error"]


def test_robots_and_starts_in_one_call(tmp_path):
    arm = vt.load_urdf(vt.find_robot("arm6"))
    q0 = {"two": starts(3), "arm": np.full(arm.nq, 0.3)}
    found = vt.work_precision({"two": MODEL, "arm": arm}, ["rk4"], q0, duration=0.2, dt=[0.02, 0.01], repeats=1)
    assert [(row["robot"], row["starts"]) for row in found.table] == [("two", 3)] * 2 + [("arm", 1)] * 2
    assert found.table[0]["error_low"] < found.table[0]["error"] < found.table[0]["error_high"]
    figure = found.plot(tmp_path / "work.pdf")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["two, rk4", "arm, rk4"]
    assert vt.work_precision(arm, ["rk4"], duration=0.2, dt=0.02, repeats=1).table[0]["error"] >= 0


@pytest.mark.parametrize(("change", "words"), [
    ({"models": {}}, "empty"), ({"models": 3}, "models"), ({"tolerance": [2.0]}, "between 0 and 1"),
    ({"tolerance": [1e-3, 1e-3]}, "differ"), ({"q0": {"other": Q0}}, "no label"), ({"dt": 0.3}, "0.3"),
    ({"models": {"a": MODEL, "b": MODEL}}, "mapping of labels"),
])  # fmt: skip
def test_bad_arguments_are_named(change, words):
    given = {"models": MODEL, "methods": ["rk4"], "q0": Q0, "duration": 0.1, "dt": 0.01} | change
    with pytest.raises(vt.InputError, match=words):
        vt.work_precision(given.pop("models"), given.pop("methods"), given.pop("q0"), **given)


def test_methods_may_have_their_own_steps():
    found = vt.compare(MODEL, {"short": ("rk4", {"dt": 0.005}), "long": ("linear-time", {"dt": [0.02, 0.01]}),
                               "all": "rk4"}, Q0, duration=0.2, dt=0.01)  # fmt: skip
    assert [(row["label"], row["dt"]) for row in found.table] == [
        ("short", 0.005), ("long", 0.02), ("long", 0.01), ("all", 0.01)]  # fmt: skip
    assert all(row["error"] < 1e-2 for row in found.table)
    with pytest.raises(vt.InputError, match=r"0\.03"):
        vt.compare(MODEL, [("rk4", {"dt": 0.03})], Q0, duration=0.2, dt=0.01)
    with pytest.raises(vt.InputError, match="auto"):
        vt.compare(MODEL, [("rk4", {"dt": "auto"})], Q0, duration=0.2, dt=0.01)


# ---- files -----------------------------------------------------------------------------------------------------


class Cells(html.parser.HTMLParser):
    """The texts of cells of tables, row by row."""

    def __init__(self):
        super().__init__()
        self.rows, self.inside, self.tags = [], False, []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in ("td", "th", "span") or (self.inside and tag == "br")
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def results(many, work):
    failed = vt.compare(MODEL, ["rk4", ("linear-time", {"max_halvings": 0})], Q0, [12.0, -24.0], duration=3.0, dt=0.05,
                        reference=False)  # fmt: skip
    assert "failed" in failed.table[1]["status"]
    return {"compared": failed, "many": many, "work": work}


@pytest.mark.parametrize("which", ["compared", "many", "work"])
def test_files_have_what_is_printed(results, which, tmp_path):
    found = results[which]
    printed = [line.split() for line in str(found).splitlines()[3 : 3 + len(found.table)]]
    # CSV: all keys, numbers that read back exactly
    rows = list(csv.reader(io.StringIO(found.save(tmp_path / "t.csv").read_text())))
    names = [name.partition(" [")[0] for name in rows[0]]
    for row, cells in zip(found.table, rows[1:], strict=True):
        for name, cell in zip(names, cells, strict=True):
            value = row[name]
            if isinstance(value, float):
                assert cell == str(value)
    # JSON: strict
    content = json.loads(found.save(tmp_path / "t.json").read_text(), parse_constant=pytest.fail)
    assert len(content["table"]) == len(found.table) and content["settings"]
    # LaTeX: as many cells in each row
    lines = found.save(tmp_path / "t.tex").read_text().splitlines()
    (begin,) = [line for line in lines if line.startswith(r"\begin{tabular}")]
    count = begin.rpartition("{")[2].count("l") + begin.rpartition("{")[2].count("r")
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(body) == len(found.table) and "e-0" not in "".join(body)
    for line, row in zip(body, found.table, strict=True):
        cells = line.removesuffix(r" \\").split(" & ")
        wide = [int(cell.split("{")[1].split("}")[0]) for cell in cells if cell.startswith(r"\multicolumn")]
        assert len(cells) - len(wide) + sum(wide) == count and bool(wide) == (row["status"] != "ok")
    # HTML: the same cells, a picture, and nothing from elsewhere
    text = found.save(tmp_path / "t.html").read_text()
    page = Cells()
    page.feed(text)
    assert len(page.rows) == len(found.table) + 1 and "svg" in page.tags and "script" not in page.tags
    for cells, words in zip(page.rows[1:], printed, strict=True):
        assert " ".join(cells).split() == words
    assert 'src="' not in text and 'href="http' not in text.replace('xmlns:xlink="http', "")
    with pytest.raises(vt.InputError, match=r"must end in .csv, .json, .tex, .html"):
        found.save(tmp_path / "t.txt")


def test_names_of_robots_are_escaped():
    tree = vt.Tree("<b>_&%$#{x}")
    tree.world.add(vt.rx("hinge"), vt.tz(-1.0), vt.body("bob", 1.0))
    found = vt.compare(tree.compile(), {"a_b & <i>": "rk4"}, [0.3], duration=0.1, dt=0.01)
    assert r"a\_b \& $<$i$>$" in found.to_latex()
    text = found.to_html()
    assert "<b>" not in text and "<i>" not in text and "a_b &amp; &lt;i&gt;" in text


# ---- at the command line -----------------------------------------------------------------------------------


def numbers_of(capsys, line):
    pytest.importorskip("typer")
    from vitree.cli import main

    assert main(["compare", *line.split(), "--no-plot", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_ensemble_of_the_command_line_has_the_starts_of_its_seeds(capsys):
    line = "double_pendulum -m linear-time,rk4 -T 0.2 --dt 0.02,0.01 --q0 random --repeats 1"
    found = numbers_of(capsys, line + " --seed 3 --ensemble 3")
    alone = [numbers_of(capsys, f"{line} --seed {seed}") for seed in (3, 4, 5)]
    assert [row["starts"] for row in found["table"]] == [3] * 4
    for k, row in enumerate(found["table"]):
        errors = [each["table"][k]["error"] for each in alone]
        assert row["error"] == sorted(errors)[1] and row["error_high"] == max(errors)


def test_work_and_precision_at_the_command_line_are_those_of_python(capsys):
    line = "double_pendulum -m rk4,scipy-dop853 -T 0.2 --dt 0.02,0.01 --v0 zero --q0 1,1 --work-precision"
    found = numbers_of(capsys, line + " --tolerances 1e-4,1e-8")
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    python = vt.work_precision(model, ["rk4", "scipy-dop853"], [1.0, 1.0], duration=0.2, dt=[0.02, 0.01],
                               tolerance=[1e-4, 1e-8])  # fmt: skip
    keys = ("method", "tolerance", "error")
    assert [[row[key] for key in keys if row[key] is not None] for row in found["table"]] == [
        [row[key] for key in keys if row[key] == row[key]] for row in python.table
    ]


def test_sets_take_no_step_that_is_to_be_chosen():
    model = vt.load_urdf(vt.find_robot("double_pendulum"))
    for call in (vt.compare_ensemble, vt.work_precision):
        with pytest.raises(vt.InputError, match=r'dt="auto" chooses .* give numbers'):
            call(model, ["rk4"], np.ones((2, 2)), duration=0.1, dt="auto")
