"""The tasks: short scripts that do what they say, beside those of MuJoCo and Pinocchio."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from places import EXAMPLES

import vitree as vt

FOLDER = EXAMPLES / "tasks"
SCRIPTS = sorted(FOLDER.glob("[0-9]*.py"))
PEERS = sorted(path for library in ("mujoco", "pinocchio") for path in (FOLDER / library).glob("[0-9]*.py"))

_spec = importlib.util.spec_from_file_location("time_all", FOLDER / "time_all.py")
time_all = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(time_all)


def install(made, text):
    assert f"vitree {vt.__version__}" in text and f"{vt.cpu_width()} lanes" in text
    assert made["run"].steps == 1000 and 0 < made["drift"] < 1e-4


def see(made, text):
    page = Path("human.html")
    assert page.stat().st_size > 1e5 and "lumbar_flexion" in page.read_text()


def stand(made, text):
    """The figure stands, and its foot neither creeps nor sinks in."""
    run = made["run"]
    assert made["moved"] < 1e-9 and -run.contacts.gap.min() < 1e-9 and run.t[-1] == pytest.approx(5.0)
    weight = run.contacts.total(len(run))[-1, 2] / run.settings["dt"]
    assert weight == pytest.approx(9.81 * made["model"].total_mass, rel=1e-3)
    assert 0.8 < run.q[-1, 2] < 0.9 and np.abs(run.v[-1]).max() < 0.02


def pd(made, text):
    assert np.abs(made["run"].q[-1] - made["GOAL"]).max() < 1e-9 and np.abs(made["run"].q[0] - made["GOAL"]).max() > 1


def rollouts(made, text):
    runs = made["runs"]
    assert made["same"] and runs.q.shape == (1000, 2, 6) and not runs.failed and runs.in_lanes.all() == (runs.width > 1)
    last = vt.simulate(made["model"], made["starts"][999], duration=1.0, dt=1e-3)
    assert np.array_equal(last.q[-1], runs.q[999, -1])


def compare(made, text):
    orders = made["result"].orders
    assert orders["linear-time"] == pytest.approx(2, abs=0.15) and orders["midpoint"] == pytest.approx(2, abs=0.05)
    assert orders["semi-implicit-euler"] == pytest.approx(1, abs=0.05) and orders["rk4"] == pytest.approx(4, abs=0.4)
    assert Path("compare.png").stat().st_size > 1e4


def four_bar(made, text):
    run = made["run"]
    assert np.abs(run.constraint).max() < 1e-10 and made["drift"] < 1e-3 and np.ptp(run.q[:, 0]) > 1
    ends = [made["model"].frame_pose(name, run.q)[:, :3, 3] for name in ("tip", "end")]
    assert np.abs(ends[0] - ends[1]).max() < 1e-10


def puppet(made, text):
    """Each string has its length at each step, and is taut; the puppet has the masses of trep's, and moves."""
    run, model = made["run"], made["model"]
    assert model.total_mass == pytest.approx(50 + 10 + 2 * (5 + 4) + 2 * (5 + 4)) and model.nv == 28
    for string, lengths in made["motion"].items():
        eye, hook = (model.frame_pose(string.replace("string", end), run.q)[:, :3, 3] for end in ("eye", "hook"))
        assert np.abs(np.linalg.norm(eye - hook, axis=1) - lengths).max() < 1e-10
    assert run.multipliers[1:].max() < -1 and np.ptp(run.q[:, model.joint("left leg 2").q_slice]) > 0.1


def lqr(made, text):
    off = made["off"]
    assert off[0] == pytest.approx(0.05) and off[-1] < 1e-3 and np.abs(made["run"].v[-1]).max() < 1e-3
    falls = vt.simulate(made["model"], made["run"].q[0], duration=5.0, dt=0.01)
    assert np.abs(falls.q - made["upright"]).max() > 1


def parking(made, text):
    """The car of the simulation ends in its place, at rest but for its steering, and meets neither car on its way."""
    run, found = made["run"], made["found"]
    assert found.success and np.abs(run.q[-1, 1:]).max() < 1e-9 and np.abs(run.v[-1, [0, 2, 3, 4]]).max() < 1e-6
    heading, x, y = run.q[:, 2:].T
    for along in (0.0, 0.4, 0.8):
        at = np.column_stack((x + along * np.cos(heading), y + along * np.sin(heading)))
        for lower, upper in (((1.5, -0.25), (2.7, 0.25)), ((-1.8, -0.25), (-0.6, 0.25))):
            beside = np.maximum(lower - at, at - upper)
            outside = np.maximum(beside, 0.0)
            assert np.linalg.norm(outside, axis=1).min() > 0.22 - 1e-6


def table(made, text):
    """The cup stays, the ball rests on the table, and nothing sinks in."""
    assert made["moved"] < 1e-9 and made["sunk"] < 1e-9
    assert made["ball"][2] == pytest.approx(0.75, abs=1e-9) or made["ball"][2] == pytest.approx(0.03, abs=1e-9)


def two_arms(made, text):
    """Each arm is at its own goal, but for the sag of its drives."""
    assert made["off"] == pytest.approx(made["sag"], abs=1e-6) and made["off"] < 0.03
    assert made["model"].joint_names[0].startswith("left/") and made["model"].nq == 12


def gripper(made, text):
    model, sim = made["model"], made["sim"]
    assert model.full is not model and model.nv == 7
    assert made["width"] == pytest.approx(0.1, abs=1e-5)
    assert sim.q[model.joint("hand_left_finger").q_slice] == pytest.approx(0.01, abs=1e-5)


def pick_and_place(made, text):
    """The box is where it was put down, and was carried there: it has been at the height of the way."""
    run = made["sim"].trajectory
    box = run.q[:, run.system.joint("box").q_slice]
    assert made["off"].max() < 1e-3 and box[:, 2].max() > 0.3
    assert [change.kind for change in run.changes] == ["attach", "detach"]


def drawer(made, text):
    """The stop holds exactly, against the pull of the spring beyond it."""
    assert made["stop"] == pytest.approx(0.3, abs=1e-9) and made["left"] == pytest.approx(0.3, abs=1e-9)
    assert made["pull"] == pytest.approx(2000 * 0.05, rel=1e-6)


def cart(made, text):
    """It rolls: the wheels' mean speed is that of the cart, and the faster side is the outer one."""
    run = made["run"]
    assert made["sunk"] < 1e-9 and 5 < np.degrees(made["turn"]) < 40
    speed = np.linalg.norm(run.v[-1, :2])
    assert speed == pytest.approx(0.7, rel=0.05)


def push_and_drag(made, text):
    """Both forces are that of friction, 0.5 m g of what rests on the floor."""
    assert made["push"] == pytest.approx(0.5 * 2 * 9.81, rel=0.02) and made["drag"] == pytest.approx(9.81, rel=0.02)
    assert made["pushed"] > 0.3 and made["dragged"] < 0


def cassie(made, text):
    """It stands and comes to rest; its legs stay closed, and the springs of the file are held as drives."""
    run = made["run"]
    assert 0.9 < run.q[-1, 2] < 0.95 and made["speed"] < 5e-3 and made["opened"] < 1e-9
    assert set(made["gains"]) == {f"{side}-{name}" for side in ("left", "right")
                                  for name in ("knee-shin-joint", "tarsus-spring-joint")} | {"*-op"}  # fmt: skip
    assert -run.contacts.gap.min() < 1e-9


def humanoid_spec(made, text):
    """It stands where it was set, on its feet alone."""
    run = made["run"]
    weight = run.contacts.total(len(run))[-1, 2] / run.settings["dt"]
    assert weight == pytest.approx(9.81 * made["model"].total_mass, rel=1e-3)
    assert made["moved"] < 1e-6 and 0.75 < run.q[-1, 2] < 0.85


def rope_and_pulley(made, text):
    """The rope is never longer than it is, goes slack and is taut; it pulls, and energy is lost where it is caught."""
    run, slack = made["run"], made["slack"]
    assert slack.min() > -1e-11 and slack.max() > 0.1 and (np.abs(slack) < 1e-11).mean() > 0.5
    assert made["tension"].min() > 0 and run.energy[-1] < run.energy[0]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_task(script, tmp_path, monkeypatch, capsys):
    if script.stem[3:] in ("see", "compare"):
        pytest.importorskip("viser" if script.stem[3:] == "see" else "matplotlib")
    monkeypatch.chdir(tmp_path)
    made = runpy.run_path(str(script))
    printed = capsys.readouterr()
    assert printed.out and not printed.err
    globals()[script.stem[3:]](made, printed.out)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_tasks_are_short_and_say_how_to_call_them(script):
    text = script.read_text()
    assert len(text.splitlines()) < 30
    assert f"python {script.name}" in text.split('"""')[1]


def test_the_page_has_them_all():
    assert [int(path.name[:2]) for path in SCRIPTS] == list(range(1, 21))
    page = (FOLDER / "README.md").read_text()
    assert re.findall(r"^\| `(\d\d_\w+\.py)`", page, re.M) == [path.name for path in SCRIPTS]
    assert {path.name for path in PEERS} <= {path.name for path in SCRIPTS}
    assert list(time_all.DIFFERS) == [path.stem for path in SCRIPTS]


def test_the_table_has_the_lines_of_the_scripts_and_a_dash_where_there_is_none():
    page = (FOLDER / "README.md").read_text()
    rows = dict(re.findall(r"^\| (\d\d_\w+) \| ((?:[^|]+\| ){6}[^|]+)\|$", page, re.M))
    assert list(rows) == [path.stem for path in SCRIPTS]
    for task, row in rows.items():
        cells = [cell.strip() for cell in row.split("|")]
        assert cells[6] == time_all.DIFFERS[task]
        for k, folder in enumerate(time_all.LIBRARIES.values()):
            script = folder / f"{task}.py"
            assert cells[k] == (str(time_all.count_code(script)) if script.exists() else "-"), script
            assert (cells[3 + k] == "-") == (not script.exists())
        assert float(cells[3].split()[0]) > 0


def test_lines_of_code_are_counted(tmp_path):
    script = tmp_path / "a.py"
    text = ['"""One.', "", 'Two."""', "", "# three", "x = (1,", "     2)  # four", "", "def f():", '    """Five."""',
            '    return """a', 'b"""', ""]  # fmt: skip
    script.write_text("\n".join(text))
    assert time_all.count_code(script) == 5


#: What each script of a peer must reach: a number of its last line, and the most that it may be.
REACHED = {"03_stand": (r"moves (\S+) m", 1e-3), "04_pd": (r"(\S+) rad after", 1e-9),
           "07_four_bar": (r"(\S+) m at most", 2e-3), "08_puppet": (r"(\S+) m at most", 0.1),
           "09_lqr": (r"(\S+) at the end", 1e-3), "20_rope_and_pulley": (r"(\S+) m too long", 1e-2)}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("script", PEERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_task_of_a_peer(script, tmp_path, monkeypatch, capfd):
    pytest.importorskip({"mujoco": "mujoco", "pinocchio": "pinocchio"}[script.parent.name])
    if script.stem in ("02_see", "05_rollouts"):
        pytest.skip("it needs a display or a port, or takes long; time_all.py runs it")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    told = capfd.readouterr().out
    if script.stem in REACHED:
        pattern, most = REACHED[script.stem]
        assert float(re.search(pattern, told)[1]) < most
    if script.stem == "06_compare":
        assert float(re.search(r"rk4 (\S+)", told.lower().splitlines()[-1])[1]) == pytest.approx(4, abs=0.4)
