"""The scripts under examples/papers run, draw, and show what they claim; each in its quick form."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import groupby, pairwise

import numpy as np
import pytest
from places import EXAMPLES
from scripts import run_here

import vitree as vt

pytestmark = pytest.mark.slow

FOLDER = EXAMPLES / "papers"
SCRIPTS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/fig*.py"))
PEER = find_spec("panda3d") is not None


def rows_of(text: str) -> dict[str, list[str]]:
    """Rows of a printed table by their first cell; cells are two or more spaces apart."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if re.search(r"\S\s{2,}\S", line)]
    return {cells[0]: cells[1:] for cells in lines[1:]}


def numbers(cells) -> list[float]:
    return [float(cell) for cell in cells if cell != "-"]


def pendulum_energy(rows):
    """The band is narrow, and stays; that of semi-implicit Euler is a hundred times as wide."""
    least, greatest, first, last, *_ = numbers(rows["midpoint"])
    wide = numbers(rows["semi-implicit-euler"])
    assert greatest - least < 2e-3 and abs(first - last) < 2e-4 < 1e-2 * (wide[1] - wide[0])
    falling = numbers(rows["rk4"])
    assert falling[3] < 5 * falling[2] < 0
    pinned = numbers(rows["midpoint, pinned"])
    assert pinned[1] - pinned[0] < 1e-2
    if PEER:
        assert numbers(rows["ODE"])[3] < -5


def human(rows):
    """Angular momentum is kept by the midpoint integrator alone, and its energy in a band."""
    angular = {m: numbers(rows[f"planar human, floating, {m}"])[3] for m in ("midpoint", "rk4", "semi-implicit-euler")}
    assert angular["midpoint"] < 1e-9 < 1e-7 < angular["rk4"] < angular["semi-implicit-euler"]
    for case in ("pinned", "floating"):
        energy = [numbers(rows[f"planar human, {case}, {m}"])[0] for m in ("midpoint", "semi-implicit-euler")]
        assert energy[0] < 0.1 and energy[0] < 0.02 * energy[1]


def links(rows):
    """All ways take the same steps."""
    assert len(rows) == 3 and all(numbers(cells)[-1] < 1e-8 for cells in rows.values())


def chain(text):
    """ODE loses energy and opens the pins; of longer runs, half the step and order 4 have the narrower bands."""
    rows, longer = (rows_of(part) for part in text.split("\n\n")[:2])
    least, greatest, _, h, *_ = numbers(rows["midpoint"])
    assert -1 < least <= greatest < 1 and h < 1e-11
    if PEER:
        for dt, loss in (("0.01", 5), ("0.001", 0.2)):
            bounds = numbers(rows[f"ODE, dt = {dt} s"])
            assert bounds[2] < -loss and bounds[3] > 1e-5
    bands = {name: np.ptp(numbers(cells)[-2:]) for name, cells in longer.items()}
    finer = max(bands["midpoint, dt = 0.005 s"], bands["midpoint, order 4, dt = 0.01 s"])
    assert finer < bands["midpoint, dt = 0.01 s"]


def scissor(rows):
    angle, least, greatest, h, _ = numbers(rows["midpoint, dt = 0.01 s"])
    assert angle < 1e-2 and -0.2 < least <= greatest < 0.2 and h < 1e-11
    if PEER:
        errors = [numbers(rows[f"ODE, dt = {dt} s"])[:2] for dt in ("0.01", "0.001")]
        assert all(error[0] > 0.5 and error[1] < -20 for error in errors)


def scissor_long(rows):
    for name in ("greatest angle [rad]", "least angle [rad]"):
        ours, benchmark = numbers(rows[name])
        assert abs(ours - benchmark) < 2e-4
    shift = numbers(rows["ahead by [s]"])[0]
    assert 0 < shift < 0.1
    rms, moved = (numbers(rows[f"rms difference{end} [rad]"])[0] for end in ("", ", shift taken out"))
    assert moved < 0.2 * rms


def scissor_runtime(text):
    cells = [line.split() for line in text.splitlines() if re.match(r"(midpoint|ODE) +\d", line)]
    assert len(cells) == 2 * (1 + PEER) and all(float(error) <= 1e-3 for *_, error, _ in cells)
    steps = {(name, int(segments)): float(dt) for name, segments, dt, *_ in cells}
    if PEER:
        assert all(steps["midpoint", n] > 2 * steps["ODE", n] for n in (1, 2))


def marionette(rows):
    """The strings are held at every step size; rk4 lets them drift."""
    for dt in ("0.005", "0.01", "0.02"):
        off = numbers(rows[f"midpoint, dt = {dt} s"])[0]
        assert off < 1e-11 and numbers(rows[f"rk4, dt = {dt} s"])[0] > 100 * off
    # of second order: (0.02^2 - 0.005^2) / (0.01^2 - 0.005^2) = 5
    middle, long = (numbers(rows[f"midpoint, dt = {dt} s"])[1] for dt in ("0.01", "0.02"))
    assert middle < 2e-3 and 4 < long / middle < 6


def chain_energy(text):
    """Semi-implicit Euler loses energy on the start with speeds; block means of the variational ones stay."""
    rows, _, claims = (rows_of(part) for part in text.split("\n\n")[:3])
    for start in ("thrown", "swinging"):
        for method in ("linear-time", "midpoint"):
            least, greatest, *_, scatter, rise, error, kinetic, _ = numbers(rows[f"{start}, {method}"])
            assert greatest - least < 1e-3 * kinetic and scatter < 0.1 * (greatest - least)
            assert abs(rise) < 4 * error and abs(rise) < 1e-5 * kinetic
            errors, scatters, share, stays, first, last, most, angle, _ = claims[f"{start}, {method}"]
            # both tables speak of the same line
            assert stays == "yes" and np.isclose(float(errors), abs(rise) / error, rtol=0.1)
            assert np.isclose(float(scatters), abs(rise) / scatter, rtol=0.1) and float(share) < 1e-5
            # the start of a run is not wound up yet
            assert 0 < float(first) < 1 and 0 < float(last) < 1.5 and int(most) < 10 < int(angle)
        # its energy is off by a hundred times as much
        wide = numbers(rows[f"{start}, semi-implicit-euler"])
        assert wide[1] - wide[0] > 100 * (greatest - least)
    assert numbers(rows["thrown, semi-implicit-euler"])[5] < -50


def chain_times(text):
    """Every pair is timed, in whatever time; both exact directions take as many iterations, and fewer than RIQN."""
    rows, ratios = (rows_of(part) for part in text.split("\n\n")[:2])
    directions, residuals = ("RIQN", "Broyden", "Newton"), ("DRNEA", "SVI")
    assert {f"{way} + {residual}" for way in directions for residual in residuals} < set(rows) and len(rows) == 10
    assert all(min(numbers(cells)[:3]) > 0 for cells in rows.values())
    for residual in residuals:
        means = [numbers(rows[f"{way} + {residual}"])[-1] for way in ("Newton", "exact by recursion")]
        assert means[0] == means[1] < numbers(rows[f"RIQN + {residual}"])[-1]
    # the ratios at 10 links are of the same times
    times = {label: numbers(cells)[1] for label, cells in rows.items()}
    for a, b, which, paper in (("RIQN + SVI", "RIQN + DRNEA", "DRNEA over SVI, both RIQN", 15.0),
                               ("Newton + DRNEA", "RIQN + DRNEA", "RIQN over Newton, both DRNEA", 3.8)):  # fmt: skip
        assert numbers(ratios[which]) == [pytest.approx(times[a] / times[b], abs=0.01), paper]


def chain_iterations(text):
    """Newton squares the residual, riqn gains a few digits; extrapolation needs the fewest corrections."""
    first, zero, second, third = (rows_of(part) for part in text.split("\n\n")[:4])
    for method in ("linear-time", "midpoint"):
        newton, *others = (numbers(first[f"{method}, {solver}"])
                           for solver in ("newton", "riqn", "broyden", "modified-newton"))  # fmt: skip
        for other in others:
            assert newton[1] < 100 * newton[0] ** 2 and newton[1] < 1e-2 * other[1] and len(newton) < len(other)
        for solver in ("recursive-newton", "newton", "broyden", "modified-newton", "riqn", "auto"):
            means = [float(cell.split()[0]) for cell in second[f"{method}, {solver}, 1e-12"]]
            current, euler, semi_implicit, aba, second_order, fourth_order, chosen = means
            assert chosen <= min(second_order, fourth_order) and chosen < aba <= min(semi_implicit, euler, current)
        for tolerance in ("1e-09", "1e-12"):
            exact = [second[f"{method}, {solver}, {tolerance}"] for solver in ("recursive-newton", "newton")]
            assert exact[0] == exact[1]
    # the equations in NumPy have the compiled step's root; from far away none, or another one, off by whole turns, as
    # rounding decides
    near = [zero[f"at q = 0, {direction}"] for direction in ("newton", "riqn")]
    assert max(float(cells[-1]) for cells in near) < 1e-12 and float(near[0][2]) < 0.1 * float(near[1][2])
    far = [zero[f"at the drawn angles, {direction}"] for direction in ("newton", "riqn")]
    assert all(cells[-2] == "fails" or float(cells[-1]) >= 1 for cells in far)
    for what in ("steps", "first step, repeated"):
        newton, riqn = (numbers(third[f"{what}, {solver}"]) for solver in ("newton", "riqn"))
        assert newton[0] < riqn[0] and newton[-2:] == [4.0, 0.0] and riqn[-2:] == [5.69, 1.16]
    # the solves in NumPy are those of the compiled integrator, where weight hardly counts
    assert third["steps, newton"][:3] == third["first step, repeated, newton"][:3]


def large_steps(rows):
    """Every map keeps the momentum and bounds the energy; Runge-Kutta does not live through the larger step."""
    for dt in ("0.5", "1.25"):
        for name in ("exp", "cayley", "dual-cayley", "trapezoidal"):
            ended, least, greatest, momentum = rows[f"lie, {name}, dt = {dt} s"]
            assert ended == "runs" and float(momentum) < 1e-11
            assert -float(least) < (1e-9 if name == "trapezoidal" else 0.3) and float(greatest) < 0.3
        assert float(rows[f"rk4, dt = {dt} s"][3]) > 1
    assert "blows up" in rows["rk4, dt = 1.25 s"][0] and "blows up" in rows["rk2, dt = 0.5 s"][0]


def free_bodies(rows):
    """Of order two, ahead of the others of order two, and never lost."""
    steps = ("0.2", "0.1", "0.05", "0.025")
    error = {(m, dt): numbers(rows[f"{m}, dt = {dt}"])[0] for m in ("lie", "rk2", "implicit-rk2", "rk4", "lie-newmark")
             for dt in steps}  # fmt: skip
    for coarse, fine in pairwise(steps):
        assert 3 < error["lie", coarse] / error["lie", fine] < 5
    for dt in steps:
        assert numbers(rows[f"lie, dt = {dt}"])[3] == 0
        assert error["lie", dt] < 0.7 * min(error[m, dt] for m in ("rk2", "implicit-rk2", "lie-newmark"))


def cars(rows):
    """Of order two, and ahead of the Runge-Kutta method of that order."""
    steps = ("0.1", "0.05", "0.025")
    error = {(m, dt): numbers(rows[f"{m}, dt = {dt}"])[0] for m in ("lie", "rk2") for dt in steps}
    for coarse, fine in pairwise(steps):
        assert 3.5 < error["lie", coarse] / error["lie", fine] < 4.5
    assert all(error["lie", dt] < 0.6 * error["rk2", dt] for dt in steps)


def snakeboard(text):
    """It gains speed with each swing; with the wheels at rest it keeps circle and momentum."""
    speeds = numbers(rows_of(text)["speed [m/s]"])
    assert speeds[0] == 0 and np.diff(speeds).min() > 0.1
    off, drift = (float(re.search(rf"{words} (\S+?)( m)?[;\n]", text)[1]) for words in ("off by", "momentum off by"))
    assert off < 1e-9 and drift < 1e-11


def momentum_balance(rows):
    """With the maps the balance holds to round-off, without them it does not."""
    for name in ("exp", "cayley", "dual-cayley"):
        off, plain = numbers(rows[name])
        assert off < 1e-9 < 1 < plain


def pseudocode(rows):
    """All pairs are of second order; the matched ones keep the momentum, and are the compiled steps."""
    assert len(rows) == 6
    for label, (_, _, order, drift, compiled) in rows.items():
        assert float(order) == pytest.approx(2, abs=0.15)
        if compiled == "-":
            assert float(drift) > 1e-8, label
        else:
            assert float(drift) < 1e-12 and float(compiled) < 1e-9, label


def models(text):
    """The printed matrix and the printed constraints are those of the compiled vehicles."""
    off = [float(x) for x in re.findall(r": (\S+) (?:N|m/s)[;\n]", text)]
    assert len(off) == 2 and max(off) < 1e-13


def boat_in_waves(text):
    """It follows a long wave, and a short one less; its steps are of second order."""
    short, long = numbers(rows_of(text)["boat / wave"])
    assert short < 0.8 < 0.95 < long < 1.1
    assert float(re.search(r"order (\S+)", text)[1]) == pytest.approx(2, abs=0.3)


def flown_by_hand(rows):
    way, speed, least, greatest, *_ = numbers(rows["flight"])
    assert way > 5 and 2 < speed < 6 and 1.9 < least < greatest - 1


def discrete_lagrangians(rows):
    """Rectangles are of first order, midpoint and trapezoid of second; so are their sums."""
    for rule, order in (("left", 1), ("right", 1), ("midpoint", 2), ("trapezoid", 2)):
        assert numbers(rows[rule])[-2:] == pytest.approx([order, order], abs=0.15)


def root_finder(text):
    """The steps by hand are the compiled ones; the printed loop does nothing."""
    assert float(re.search(r"compiled run: (\S+) rad", text)[1]) < 1e-7
    assert float(re.search(r"moves its guess by (\S+) rad", text)[1]) == 0


def mechanisms(rows):
    assert numbers(rows["closed chain"]) == [7, 4, 3]
    for n in (2, 5):
        assert numbers(rows[f"scissor lift, {n} segments"]) == [2 * n + 1, 2 * n, 1]


def links_2008(rows):
    """The cache's gain grows, and 19 links come to the end."""
    assert all(numbers(cells)[-2] == 1 and numbers(cells)[-1] < 1e-3 for cells in rows.values())
    gains = {links: numbers(cells)[3] for links, cells in rows.items()}
    assert gains["19"] > 3 and gains["19"] > gains["1"]


def articulated_system(rows):
    assert {link: cells[:2] for link, cells in rows.items()} == {
        "1": ["0", "2"], "2": ["1", "3"], "3": ["2", "1"], "4": ["2", "1"]}  # fmt: skip
    assert rows["4"][2] == "{1, 2, 4}"


def link_forces(rows):
    """At rest each link carries the weight beyond its joint: 2, 1.5, 1 and 1 kg."""
    carried = [numbers(rows[link])[0] for link in "1234"]
    assert carried == pytest.approx(9.81 * np.array([5.5, 3.5, 1.0, 1.0]), abs=1e-3)


CLAIMS = {
    "kobilarov_2009/fig02_momentum_balance.py": momentum_balance,
    "kobilarov_2009/fig06_pseudocode.py": pseudocode,
    "kobilarov_2009/fig09_drive.py": flown_by_hand,
    "johnson_murphey_2009/fig03_discrete_lagrangians.py": discrete_lagrangians,
    "johnson_murphey_2009/fig06_mechanisms.py": mechanisms,
    "johnson_murphey_2009/fig2008_03_link_pendulums.py": links_2008,
    "liu_jain_2012/fig01_articulated_system.py": articulated_system,
    "liu_jain_2012/fig02_link_forces.py": link_forces,
    "kobilarov_2009/fig05_car.py": cars,
    "kobilarov_2009/fig03_large_steps.py": large_steps,
    "kobilarov_2009/fig04_rigid_body_error.py": free_bodies,
    "johnson_murphey_2009/fig2008_02_marionette.py": marionette,
    "johnson_murphey_2009/fig01_pendulum_energy.py": pendulum_energy,
    "johnson_murphey_2009/fig02_planar_human.py": human,
    "johnson_murphey_2009/fig07_link_pendulums.py": links,
    "johnson_murphey_2009/fig11_scissor.py": scissor,
    "johnson_murphey_2009/fig12_scissor_long.py": scissor_long,
}
#: Those whose tables are not one row to a first cell.
CLAIMS_OF_TEXT = {
    "kobilarov_2009/fig01_snakeboard.py": snakeboard,
    "kobilarov_2009/fig07_models.py": models,
    "kobilarov_2009/fig08_boat_in_waves.py": boat_in_waves,
    "johnson_murphey_2009/fig04_root_finder.py": root_finder,
    "johnson_murphey_2009/fig08_closed_chain.py": chain,
    "johnson_murphey_2009/fig13_scissor_runtime.py": scissor_runtime,
    "lee_2016/fig02_energy.py": chain_energy,
    "lee_2016/fig03_time_per_step.py": chain_times,
    "lee_2016/fig04_iterations.py": chain_iterations,
}


#: The first of each folder is run as a person runs it, in a process of its own.
ALONE = {next(group) for _, group in groupby(SCRIPTS, lambda script: script.split("/")[0])}


def printed_by_a_process(script, folder) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / script, "--quick", "--out", folder],
        capture_output=True, text=True, check=False, cwd=folder, timeout=120,
        env=os.environ | {"PYTHONPATH": str(pathlib.Path(vt.__file__).parent.parent), "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def printed_here(script, folder, monkeypatch, capsys) -> tuple[str, str]:
    monkeypatch.chdir(folder)
    run_here(monkeypatch, FOLDER / script, ["--quick", "--out", folder], [FOLDER])
    return capsys.readouterr()


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_figure_shows_what_it_claims(script, tmp_path, monkeypatch, capsys):
    if script in ALONE:
        out, err = printed_by_a_process(script, tmp_path)
    else:
        out, err = printed_here(script, tmp_path, monkeypatch, capsys)
    assert err == ""
    heads = re.findall(r"^(the paper claims|found|holds): \S", out, re.M)
    assert heads and heads == len(heads) // 3 * ["the paper claims", "found", "holds"]
    picture = tmp_path / f"{pathlib.Path(script).stem}.png"
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
    if script in CLAIMS_OF_TEXT:
        CLAIMS_OF_TEXT[script](out)
    else:
        CLAIMS[script](rows_of(out))


def test_the_closed_chain_is_the_same_written_by_hand():
    """closed_chain.sexpr against the mechanism of the constraint tests."""
    from closed_chains import REFERENCE, closed_chain

    model, ours = vt.load_sexpr(FOLDER / "johnson_murphey_2009" / "closed_chain.sexpr"), closed_chain()
    assert model.joint_names == ours.joint_names
    q0 = REFERENCE["closed_chain"]["q0"]
    runs = [vt.simulate(each, q0, duration=0.5, dt=0.01, method="midpoint") for each in (model, ours)]
    assert (runs[0].q == runs[1].q).all()
