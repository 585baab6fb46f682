"""Memory that arguments ask for is estimated before it is taken."""

import numpy as np
import pytest

import vitree as vt
from vitree import memory
from vitree.cli import main


@pytest.fixture(scope="module")
def pendulum():
    return vt.load_urdf(vt.find_robot("double_pendulum"))


@pytest.fixture
def scarce(monkeypatch):
    """A machine with 100 MB left, on which arrays of that size are never made."""
    monkeypatch.setattr(memory, "available", lambda: 10**8)
    for name in ("empty", "zeros", "full", "tile"):
        plain = getattr(np, name)

        def checked(shape, *more, plain=plain, name=name, **named):
            found = plain(shape, *more, **named)
            assert found.nbytes < 10**8, f"{name} takes {found.nbytes} bytes"
            return found

        monkeypatch.setattr(np, name, checked)


RUNS = {
    "rollout": (lambda m: vt.rollout(m, instances=10**9, duration=0.1, dt=1e-3), "every instances record"),
    "rollout of ends": (lambda m: vt.rollout(m, instances=10**9, duration=0.1, dt=1e-3, record_every=None),
                        "instances"),
    "driven rollout": (
        lambda m: vt.rollout(m, instances=10**6, duration=1e3, dt=1e-3, control=lambda t, Q, V: 0 * V), "every"),
    "simulate": (lambda m: vt.simulate(m, duration=1e6, dt=1e-3), "every duration"),
    "monitors": (
        lambda m: vt.simulate(m, duration=1e6, dt=1e-3, record_every=10**6, monitors="momentum"), "monitors duration"),
    "stages": (lambda m: vt.simulate(m, duration=1e6, dt=1e-3, method="gauss", dense=True), "dense duration"),
    "sweep of a grid": (
        lambda m: vt.sweep(lambda a, b, c: {}, {x: range(1000) for x in "abc"}, backend="threads"), "over"),
    "sweep of seeds": (lambda m: vt.sweep(m, {"seed": range(10**9)}, duration=0.1, dt=1e-3), "over"),
}  # fmt: skip


@pytest.mark.parametrize("kind", RUNS)
def test_what_is_too_large_is_refused_before_it_is_taken(kind, pendulum, scarce):
    call, remedies = RUNS[kind]
    with pytest.raises(vt.InputError, match=r"take about [\d.e+]+ GB, and 100 MB of memory are available") as told:
        call(pendulum)
    for remedy in remedies.split():
        assert f"{remedy}=" in str(told.value)


def test_steppers_of_instances_are_estimated(pendulum, monkeypatch):
    """Under a policy linear-time holds a stepper for each instance: the need is told with the first of them."""
    monkeypatch.setattr(memory, "available", lambda: 10**8)
    made = []
    plain = vt.Simulation.__init__
    monkeypatch.setattr(vt.Simulation, "__init__", lambda self, *a, **k: (made.append(1), plain(self, *a, **k))[1])
    with pytest.raises(vt.InputError, match=r"steppers of 19999 instances, [\d.]+ MB each, take about [\d.]+ MB"):
        vt.rollout(pendulum, instances=20_000, duration=0.1, dt=1e-3, record_every=None, control=lambda t, Q, V: 0 * V)
    assert len(made) == 1


def test_environments_are_estimated(pendulum, scarce):
    gym = pytest.importorskip("vitree.gym")
    with pytest.raises(vt.InputError, match="fewer of them with num_envs="):
        gym.VectorEnv(pendulum, 10**8, dt=1e-3, reward=lambda Q, V, A: 0)


def test_the_command_line_names_its_own_options(scarce, capsys):
    assert main(["simulate", "double_pendulum", "--duration", "1e6", "-o", "never.npz"]) == 2
    told = capsys.readouterr().err
    assert "100 MB of memory are available" in told and "--record-every" in told and "--duration" in told


def test_what_fits_runs(pendulum, monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)
    asked = []
    monkeypatch.setattr(memory, "available", lambda: asked.append(1) or 10**7)
    assert len(vt.simulate(pendulum, duration=0.1, dt=1e-3, record_every=10)) == 11
    assert len(vt.rollout(pendulum, instances=3, duration=0.1, dt=1e-3).q) == 3
    assert asked


@pytest.mark.parametrize(("group", "machine", "most"), [("max", 5000, 5000 * 1024), ("2000000", 5000, 1_500_000),
                                                        ("9000000000", 5000, 5000 * 1024)])  # fmt: skip
def test_the_least_limit_counts(group, machine, most, monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text(f"MemTotal: 9999 kB\nMemAvailable: {machine} kB\n")
    for name, text in (("memory.max", group), ("memory.current", "600000"), ("memory.stat", "inactive_file 100000\n")):
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(memory, "_MEMINFO", str(tmp_path / "meminfo"))
    monkeypatch.setattr(memory, "_GROUP", str(tmp_path))
    monkeypatch.setattr(memory, "_of_process", lambda: None)
    assert memory.available() == most


@pytest.mark.parametrize("more", [
    {"record_every": 3}, {"record_every": 1}, {"method": "gauss", "order": 16, "dense": True},
    {"method": "gauss", "dense": True}])
def test_the_estimate_of_the_arrays_of_a_run(more, pendulum, monkeypatch):
    """Records, and the stages of gauss: not less than they take, nor half more."""
    estimates = []
    monkeypatch.setattr("vitree.run.arguments.require_memory", lambda what, size, *more: estimates.append(size))
    run = vt.simulate(pendulum, [0.3, 0.2], duration=2.0, dt=1e-3, **more)
    arrays = [run.t, run.q, run.v, run.p, run.kinetic, run.potential, run.momentum, run.residual, run.iterations,
              *([] if run.stages is None else [run.stages])]  # fmt: skip
    taken = sum(x.nbytes for x in arrays)
    assert taken <= estimates[-1] <= 1.5 * taken


@pytest.mark.parametrize("every", [1, 7, None])
def test_the_estimate_of_the_arrays_of_a_rollout(every, pendulum, monkeypatch):
    estimates = []
    monkeypatch.setattr("vitree.run.rollout.require_memory", lambda what, size, *more: estimates.append(size))
    found = vt.rollout(pendulum, instances=50, duration=0.7, dt=1e-3, record_every=every)
    taken = sum(x.nbytes for x in found.data.values())
    assert taken <= estimates[-1] <= 1.5 * taken + 8 * 50 * 30


def test_the_estimate_is_what_a_run_takes(pendulum, monkeypatch):
    import tracemalloc

    estimates = []
    require = memory.require_memory
    monkeypatch.setattr("vitree.run.arguments.require_memory",
                        lambda what, size, *more: (estimates.append(size), require(what, size, *more)))  # fmt: skip
    tracemalloc.start()
    run = vt.simulate(pendulum, [0.3, 0.2], duration=20.0, dt=1e-3)
    arrays = [run.t, run.q, run.v, run.p, run.kinetic, run.potential, run.momentum, run.residual, run.iterations]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert sum(x.nbytes for x in arrays) <= estimates[0] * 1.01
    assert 0.5 * estimates[0] < taken < 2 * estimates[0]
