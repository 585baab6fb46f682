"""The report: its script runs, its tables are those of the manual, its references resolve, and it compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from places import ROOT, of_source

from vitree.urdf.robots import example_robots

pytest.importorskip("matplotlib")
pytestmark = [of_source, pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")]

FOLDER = ROOT / "paper" / "report"
GENERATED = FOLDER / "generated"
TEXT = "\n".join(re.sub(r"(?<!\\)%.*", "", line) for line in (FOLDER / "report.tex").read_text().splitlines())
#: Tables that are read from those of the manual.
READ = "scenes", "problems", "pits", "reality", "windows", "pendulum", "solver", "precision", "steps", "moving"


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The folder that a smoke run writes."""
    out = tmp_path_factory.mktemp("generated")
    command = [sys.executable, FOLDER / "make_figures.py", "--smoke", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def macros(folder) -> dict[str, str]:
    return dict(re.findall(r"\\newcommand\{\\(\w+)\}\{(.*)\}", (folder / "numbers.tex").read_text()))


def test_a_smoke_run_writes_all_files(smoke):
    assert {path.name for path in smoke.iterdir()} == {path.name for path in GENERATED.iterdir()}
    assert macros(smoke).keys() == macros(GENERATED).keys()
    assert [path.name for path in smoke.iterdir() if f"{{generated/{path.stem}}}" not in TEXT] == []


@pytest.mark.parametrize("table", READ)
def test_tables_that_are_read_are_those_of_the_manual(smoke, table):
    """Run make_figures.py where this fails: a table of the manual has changed."""
    assert (smoke / f"{table}.tex").read_text() == (GENERATED / f"{table}.tex").read_text()


def test_numbers_that_are_read_are_those_of_the_manual(smoke):
    computed = ("frame", "train", "long", "sliding", "landing", "throw", "symplectic")
    read, kept = ({name: text for name, text in macros(folder).items() if not name.startswith(computed)}
                  for folder in (smoke, GENERATED))  # fmt: skip
    assert read == kept and len(read) > 20


def test_the_theorem_holds_in_its_table_and_not_outside():
    """Covered forms agree to round-off, those in italics do not."""
    for table in ("frames", "pairs"):
        rows = [line for line in (GENERATED / f"{table}.tex").read_text().splitlines() if "cdot" in line]
        assert len(rows) > 5
        for row in rows:
            apart = [float(a) * 10.0 ** int(b) for a, b in re.findall(r"\$([\d.]+) \\cdot 10\^\{(-?\d+)\}\$", row)][:2]
            assert len(apart) == 2 and (min(apart) > 1e-9 if r"\emph" in row else max(apart) < 2e-12), row


def test_references_resolve():
    labels = re.findall(r"\\label\{([^}]*)\}", TEXT)
    named = {name for found in re.findall(r"\\(?:eq)?ref\{([^}]*)\}", TEXT) for name in found.split(",")}
    assert len(set(labels)) == len(labels) and named <= set(labels)
    assert {label for label in labels if label.startswith(("tab:", "fig:"))} <= named
    cited = {name for found in re.findall(r"\\cite[tp]?\{([^}]*)\}", TEXT) for name in re.split(r",\s*", found)}
    own, shared = (re.findall(r"^@\w+\{(\w+),", path.read_text(), re.M)
                   for path in (FOLDER / "report.bib", FOLDER.parent / "paper.bib"))  # fmt: skip
    assert cited <= {*own, *shared} and set(own) <= cited and not set(own) & set(shared)


def test_files_that_it_names_exist():
    named = [name.replace(r"\_", "_").split(" ")[0] for name in re.findall(r"\\file\{([^}]*)\}", TEXT)]
    named = [name.removeprefix("python ") for name in named if name != "python"]
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).exists() and not (FOLDER / name).exists()] == []


def test_numbers_of_the_text_are_macros():
    """All are defined, and all are used."""
    defined = macros(GENERATED).keys()
    used = set(re.findall(r"\\([A-Za-z]+)", TEXT))
    assert {name for name in defined if name not in used} <= {
        "frameScrewTrain", "trainMiddlePower", "landingNotLocated", "landingLocatedSlipReverses",
        "slidingSemiImplicitEuler", "dropsEnergy", "frictionMuJoCo", "frictionDrake", "growthTen", "growthMost",
    }  # fmt: skip


def test_it_compiles_without_undefined_references(tmp_path):
    if not all(map(shutil.which, ("pdflatex", "bibtex"))):
        pytest.skip("LaTeX is not installed")
    shutil.copytree(FOLDER.parent, tmp_path / "paper")
    report = tmp_path / "paper" / "report"
    for command in ("pdflatex", "bibtex", "pdflatex", "pdflatex"):
        more = ["-interaction=nonstopmode", "-halt-on-error"] if command == "pdflatex" else []
        done = subprocess.run([command, *more, "report"], cwd=report, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    log = (report / "report.log").read_text(errors="replace")
    assert not re.search(r"undefined|multiply defined|Rerun to get", log)
    assert 10 <= int(re.search(r"Output written on report.pdf \((\d+) pages", log)[1]) <= 13


def test_what_is_generated_is_small():
    assert sum(path.stat().st_size for path in GENERATED.iterdir()) < 300_000
