"""Trajectory: exact round trip, whole files only, slices that keep what they say."""

from __future__ import annotations

import dataclasses
import json
import threading

import numpy as np
import pytest
from recorded import make

import vitree as vt
from vitree.errors import InputError, VitreeError
from vitree.results.files import FORMAT, UNITS
from vitree.run.trajectory import Trajectory

ARRAYS = ("t", "q", "v", "p", "kinetic", "potential", "momentum", "iterations", "residual",
          "constraint", "multipliers")  # fmt: skip


def test_round_trip_is_exact(tmp_path):
    odd = np.array([[np.nan, -0.0, np.inf], [5e-324, 1 / 3, -1e308]])
    for traj in (make(), make(n=2, v=odd), make(n=0), make(n=3, nq=0, nv=0)):
        path = traj.save(tmp_path / "run.npz")
        again = Trajectory.load(path)
        for field in dataclasses.fields(Trajectory):
            one, two = getattr(traj, field.name), getattr(again, field.name)
            if field.name == "monitors":
                assert list(one) == list(two)
                for a, b in zip(one.values(), two.values(), strict=True):
                    assert a.tobytes() == b.tobytes() and a.shape == b.shape
            elif field.name in (*ARRAYS, "checkpoint"):
                assert one.shape == two.shape and one.dtype == two.dtype
                assert one.tobytes() == two.tobytes(), field.name
            else:
                assert one == two and type(one) is type(two), field.name


def test_file_is_plain_arrays_and_a_header_with_units(tmp_path):
    with np.load(make().save(tmp_path / "run.npz"), allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        assert set(file.files) == {"header", *ARRAYS, "checkpoint", "monitor: t", "monitor: momentum"}
    assert header["format"] == FORMAT and header["method"] == "linear-time"
    assert set(ARRAYS) <= set(header["units"]) and header["units"] == UNITS


def test_settings_become_plain():
    def thrust(t, q, v):
        return v

    given = {"torque": thrust, "q0": np.arange(2.0), "n": np.int64(3), "pair": (1, 2)}
    settings = make(settings=given).settings
    assert settings == json.loads(json.dumps(settings))
    assert settings["q0"] == [0.0, 1.0] and settings["n"] == 3 and settings["pair"] == [1, 2]
    assert "thrust" in settings["torque"] and "0x" not in settings["torque"]


def bad_files(folder):
    good = make().save(folder / "good.npz")
    raw = good.read_bytes()
    for k, size in enumerate((1, 30, len(raw) // 2, len(raw) - 1)):
        (folder / f"truncated{k}.npz").write_bytes(raw[:size])
    (folder / "empty.npz").write_bytes(b"")
    (folder / "text.npz").write_text("t,q\n0,1\n")
    (folder / "folder.npz").mkdir()
    np.save(folder / "array.npy", np.zeros(3))
    np.savez(folder / "foreign.npz", t=np.zeros(3), q=np.zeros(3))
    np.savez(folder / "pickled.npz", header=np.array([{"kind": 1}], dtype=object))
    np.savez(folder / "other_header.npz", header=np.array(json.dumps({"kind": "map"})))
    np.savez(folder / "list_header.npz", header=np.array("[1, 2]"))
    np.savez(folder / "not_json.npz", header=np.array("{"))
    flipped = bytearray(raw)
    place = raw.find(make().q.tobytes())
    assert place > 0
    flipped[place + 3] ^= 1
    (folder / "flipped_bit.npz").write_bytes(flipped)
    with np.load(good) as file:
        parts = dict(file)
    header = json.loads(str(parts["header"]))
    np.savez(folder / "short_array.npz", **(parts | {"v": parts["v"][:-1]}))
    np.savez(folder / "words.npz", **(parts | {"v": np.full(parts["v"].shape, "x")}))
    np.savez(folder / "no_array.npz", **{k: v for k, v in parts.items() if k != "p"})
    del header["steps"]
    np.savez(folder / "short_header.npz", **(parts | {"header": np.array(json.dumps(header))}))
    return [*sorted(path for path in folder.iterdir() if path != good), folder / "missing.npz"]


def test_wrong_files_are_refused_by_name(tmp_path):
    files = bad_files(tmp_path)
    assert len(files) == 19
    for path in files:
        with pytest.raises(VitreeError) as caught:
            Trajectory.load(path)
        assert str(path) in str(caught.value), path
        assert "\n" not in str(caught.value), path


@pytest.mark.parametrize("name", ["text.npz", "empty.npz", "array.npy"])
def test_what_is_no_archive_is_said_to_be_none(name, tmp_path):
    bad_files(tmp_path)
    with pytest.raises(InputError, match=r"it is not an \.npz file") as caught:
        Trajectory.load(tmp_path / name)
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize(("number", "remedy"), [(FORMAT + 1, "upgrade vitree"), (FORMAT - 1, "simulate again")])
def test_another_format_is_refused_with_the_remedy(number, remedy, tmp_path):
    path = make().save(tmp_path / "run.npz")
    with np.load(path) as file:
        parts = dict(file)
    header = json.loads(str(parts["header"])) | {"format": number}
    np.savez(path, **(parts | {"header": np.array(json.dumps(header))}))
    with pytest.raises(InputError, match=rf"its format is {number}, .* reads format {FORMAT}: {remedy}"):
        Trajectory.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = make().save(tmp_path / "run.npz")
    before = path.read_bytes()

    def full_disk(stream, **arrays):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(InputError, match="No space left"):
        make(n=3).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_save_names_what_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="absent"):
        make().save(tmp_path / "absent" / "run.npz")


def test_slices_keep_records_together_and_totals_of_the_run():
    traj = make()
    part = traj[2:9:3]
    assert len(part) == 3 and isinstance(part, Trajectory)
    for name in ARRAYS:
        assert np.array_equal(getattr(part, name), getattr(traj, name)[[2, 5, 8]])
    assert (part.steps, part.iterations_total) == (traj.steps, traj.iterations_total)
    assert np.array_equal(traj[np.array([2, 5, 8])].q, part.q)
    assert np.array_equal(traj.energy, traj.kinetic + traj.potential)
    # what a run goes on from is that of its last record
    assert not len(part.checkpoint) and np.array_equal(traj[::5].checkpoint, traj.checkpoint)


def test_one_record():
    traj = make()
    last = traj[-1]
    assert last.t == traj.t[-1] and np.array_equal(last.q, traj.q[-1])
    assert last.energy == traj.energy[-1]
    assert [state.t for state in traj] == list(traj.t)
    with pytest.raises(IndexError):
        traj[len(traj)]
    with pytest.raises(InputError, match="at"):
        traj[0.5]


@pytest.mark.parametrize("t, k", [(0.0, 0), (0.32, 3), (0.38, 4), (1.0, 10)])
def test_nearest_takes_the_nearest_record(t, k):
    assert np.array_equal(make().nearest(t).q, make().q[k])


@pytest.mark.parametrize("off", [-1.0, 1.0])
@pytest.mark.parametrize("ask", [Trajectory.at, Trajectory.nearest])
def test_times_allow_for_rounding_only(ask, off):
    traj = make()
    edge = traj.t[0] if off < 0 else traj.t[-1]
    assert ask(traj, edge + 1e-12 * off).t == edge
    with pytest.raises(InputError, match="0 to 1 s"):
        ask(traj, edge + 1e-8 * off)


@pytest.mark.parametrize("t", [-0.2, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("ask", [Trajectory.at, Trajectory.nearest])
def test_times_outside_are_refused(ask, t):
    with pytest.raises(InputError, match="0 to 1 s"):
        ask(make(), t)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_wrong_shape_is_named(name):
    with pytest.raises(InputError, match=name):
        make(**{name: getattr(make(), name)[:-1]} if name != "t" else {"t": np.zeros(4)})


def test_nothing_can_be_replaced():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().t = np.zeros(11)


def test_threads_write_one_file_at_once(tmp_path):
    failed, traj = [], make()

    def write():
        try:
            for _ in range(20):
                traj.save(tmp_path / "run.npz")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and [path.name for path in tmp_path.iterdir()] == ["run.npz"]
    assert len(Trajectory.load(tmp_path / "run.npz")) == len(traj)


def test_names_as_long_as_file_systems_take_are_written(tmp_path):
    make().save(tmp_path / ("a" * 251 + ".npz"))
    with pytest.raises(InputError, match="cannot write"):
        make().save(tmp_path / ("a" * 300 + ".npz"))
    assert len(list(tmp_path.iterdir())) == 1


def test_inputs_at_records_are_means_of_those_of_the_steps_beside_them():
    tree = vt.Tree("arm")
    part = tree.world
    for k in range(3):
        part = part.add(vt.ry(f"joint {k}"), vt.body(f"link {k}", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1)))
    tree.load(vt.Drive("joint 0", 20.0, 2.0, target="goal"))
    goal = np.array([[0.1], [0.3], [0.2], [-0.4]])
    run = vt.simulate(tree.compile(), duration=0.04, dt=0.01, control=vt.Control(inputs=goal))
    np.testing.assert_allclose(run.drive.inputs, [[0.1], [0.2], [0.25], [-0.1], [-0.4]], rtol=1e-12)
