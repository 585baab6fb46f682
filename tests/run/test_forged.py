"""Checkpoints and run files from anywhere: what is not whole is refused, and nothing reads or writes elsewhere."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest
from random_models import chain_flat

import vitree as vt
from vitree.errors import InputError, VitreeError
from vitree.integrators.base import DIGEST
from vitree.vehicles import RigidVehicle

DT = 0.01
#: Kinds of steppers: a run of each has another kept memory.
CHOICES = [
    {"method": "linear-time"}, {"method": "linear-time", "solver": "newton"}, {"method": "linear-time", "order": 4},
    {"method": "midpoint"}, {"method": "midpoint", "solver": "newton"}, {"method": "midpoint", "residual": "tree"},
    {"method": "midpoint", "adapt": "density", "rate": 1.0}, {"method": "rk4"},
    {"method": "midpoint", "solver": "broyden"}, {"method": "linear-time", "guess": "extrapolate-4"},
    {"method": "gauss"}, {"method": "gauss", "order": 4},
]  # fmt: skip
VEHICLE = RigidVehicle(np.diag([1.0, 1.5, 2.0]), np.diag([3.0, 3.0, 4.0]), mass=3.0)


def run_of(chosen, steps=12):
    model = vt.Model(chain_flat(3)) if chosen["method"] != "lie" else VEHICLE
    v0 = np.linspace(0.5, 1.0, model.nv)
    return model, vt.simulate(model, v0=v0, duration=steps * DT, dt=DT, **chosen)


def parts(run):
    """The mark, and the bytes behind the digest."""
    whole = run.checkpoint.tobytes()
    end = whole.index(b"Stepper ") + len(b"Stepper ")
    return whole[:end], whole[end + DIGEST :]


def forged(run, mark, history):
    digest = blake2b(history, digest_size=DIGEST).digest()
    return replace(run, checkpoint=np.frombuffer(mark + digest + history, np.uint8))


def outcome(model, run):
    """Go on from a run; an error of ours is as good as an end."""
    try:
        with np.errstate(all="ignore"):
            end = run.resume(3 * DT)
    except VitreeError as error:
        return error
    return end


@pytest.mark.parametrize("chosen", [*CHOICES, {"method": "lie"}], ids=lambda x: " ".join(map(str, x.values())))
def test_no_number_of_a_checkpoint_does_harm(chosen):
    """Each four and eight bytes in turn are numbers that no run has; the digest is forged as well."""
    model, run = run_of(chosen)
    mark, history = parts(run)
    assert not isinstance(outcome(model, forged(run, mark, history)), Exception)  # as it is
    places = list(range(0, len(history), 4))
    if len(places) > 800:  # the integers stand in front of tables, and at the end
        places = places[:200] + places[200:-200:23] + places[-200:]
    refused = 0
    for place in places:
        for number in (struct.pack("<i", 2**31 - 1), struct.pack("<i", -(2**31)), struct.pack("<q", 2**62),
                       struct.pack("<d", np.nan)):  # fmt: skip
            changed = history[:place] + number + history[place + len(number) :]
            if len(changed) == len(history):
                refused += isinstance(outcome(model, forged(run, mark, changed)), InputError)
    assert refused > 10


@pytest.mark.parametrize("method", ["linear-time", "midpoint"])
@pytest.mark.parametrize("pivot", [3, 1000, -1, 2**31 - 1])
def test_pivots_beyond_the_matrix_are_refused(method, pivot):
    model, run = run_of({"method": method, "solver": "newton"})
    mark, history = parts(run)
    pivots = struct.pack("<3i", 0, 1, 2)
    places = [k for k in range(0, len(history) - 11, 4) if all(
        at <= p < 3 for at, p in enumerate(struct.unpack("<3i", history[k : k + 12])))]  # fmt: skip
    hits = 0
    for place in places:
        changed = history[: place + 8] + struct.pack("<i", pivot) + history[place + 12 :]
        found = outcome(model, forged(run, mark, changed))
        hits += isinstance(found, InputError) and "is not from 0 to 2" in str(found)
    assert len(pivots) == 12 and hits == 1


@pytest.mark.parametrize("damage", ["flipped", "cut", "longer", "empty", "digest"])
def test_a_damaged_checkpoint_is_told(damage):
    _, run = run_of({"method": "midpoint"})
    whole = run.checkpoint.copy()
    if damage == "flipped":
        whole[-5] ^= 1
    elif damage == "cut":
        whole = whole[:-8]
    elif damage == "longer":
        whole = np.append(whole, np.zeros(8, np.uint8))
    elif damage == "empty":
        whole = whole[:40]
    else:
        whole[len(parts(run)[0])] ^= 1
    with pytest.raises(InputError, match="another version of vitree, or damaged"):
        replace(run, checkpoint=whole).resume(DT)


def test_a_history_that_is_refused_leaves_the_stepper_as_it_was():
    from vitree.integrators import METHODS

    _, run = run_of({"method": "midpoint"})
    stepper = METHODS["midpoint"](vt.Model(chain_flat(3)), DT).stepper
    stepper.set_history(parts(run)[1])
    before = stepper.history()
    with pytest.raises(ValueError, match="is not from"):
        stepper.set_history(b"\xff" * len(before))
    assert stepper.history() == before


def test_settings_without_what_a_run_needs_are_told():
    _, run = run_of({"method": "midpoint"})
    for key in ("options", "dt"):
        settings = {name: value for name, value in run.settings.items() if name != key}
        with pytest.raises(InputError, match="settings of the run to resume are damaged"):
            replace(run, settings=settings).resume(DT)


# ---- files --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.npz"
    run = vt.simulate(vt.Model(chain_flat(3)), duration=0.1, dt=DT, monitors=("energy", "momentum"))
    return run.save(path)


def with_array(path, name, data, compression=zipfile.ZIP_STORED):
    """A copy of a run file in which one array is other bytes."""
    to = path.with_name("forged.npz")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.infolist():
            if entry.filename != f"{name}.npy":
                new.writestr(entry.filename, old.read(entry))
        new.writestr(f"{name}.npy", data, compression)
    return to


def as_npy(array, **more):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), **more)
    return stream.getvalue()


def claiming(shape, kind="<f8"):
    """The head of an array that says it is of a shape, and no content."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue()


FORGED = {
    "far too large": ("q", claiming((10**12, 3))), "overflowing": ("q", claiming((2**62, 4))),
    "negative": ("q", claiming((-1, 3))), "objects": ("q", as_npy(np.array([{}], object), allow_pickle=True)),
    "texts": ("t", as_npy(["a"] * 11)), "structured": ("t", as_npy(np.zeros(11, "f8,f8"))),
    "complex": ("t", as_npy(np.zeros(11, complex))), "dates": ("t", as_npy(np.zeros(11, "M8[s]"))),
    "too few rows": ("q", as_npy(np.zeros((5, 3)))), "too wide": ("v", as_npy(np.zeros((11, 4)))),
    "no array": ("p", b"not an array"), "nothing": ("p", b""),
    "of another version": ("p", b"\x93NUMPY\x09\x00" + b" " * 90),
    "longer than it says": ("t", as_npy(np.zeros(11)) + bytes(8)),
    "a header of numbers": ("header", as_npy(np.zeros(3))),
    "monitors of other steps": ("monitor: energy", as_npy(np.zeros(3))),
    "a checkpoint in rows": ("checkpoint", as_npy(np.zeros((3, 3), np.uint8))),
    "a deep header": ("header", as_npy(np.array("[" * 100_000))),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_array_is_refused(kind, saved):
    with pytest.raises(InputError, match=r"forged\.npz"):
        vt.Trajectory.load(with_array(saved, *FORGED[kind]))


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_is_refused_before_memory_is_taken(compression, saved):
    import tracemalloc

    path = with_array(saved, "q", claiming((2**20, 8)) + bytes(2**26), compression)
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    with pytest.raises(InputError, match=r"forged\.npz"):
        vt.Trajectory.load(path)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f8", ">f8", "<f4"])
def test_arrays_of_others_are_read(order, kind, saved):
    whole = vt.Trajectory.load(saved)
    given = np.asarray(whole.q, kind, order=order)
    again = vt.Trajectory.load(with_array(saved, "q", as_npy(given), zipfile.ZIP_DEFLATED))
    assert np.array_equal(again.q, given) and again.q.dtype == float


def test_bytes_changed_at_random_never_leave_our_errors(saved):
    data, rng = bytearray(saved.read_bytes()), np.random.default_rng(0)
    path, good = saved.with_name("changed.npz"), 0
    for _ in range(300):
        changed = bytearray(data)
        for place in rng.integers(0, len(data), 3):
            changed[place] = rng.integers(256)
        path.write_bytes(changed)
        try:
            good += isinstance(vt.Trajectory.load(path), vt.Trajectory)
        except InputError:
            pass
    assert good < 300


def test_a_header_that_is_no_run_is_told(saved):
    for content in ({}, {"kind": "vitree trajectory"}, [], 3):
        with pytest.raises(InputError, match=r"forged\.npz"):
            vt.Trajectory.load(with_array(saved, "header", as_npy(np.array(json.dumps(content)))))


WRONG_SETTINGS = {
    "dt": [0, -1.0, float("nan"), float("inf"), 10**400, True, None, "x", []],
    "record_every": [1.5, -1, "x", None, True],
    "dt_range": [1, [1], [1, "x"], [1, float("nan")]], "halved": [-1, 0.5, "x"], "order": [0, "x", None],
    "options": [[], None, "x"], "auto": [1, []], "warnings": ["x", [1], None], "model_digest": [1, None],
    "driven": [1, "x"],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_settings_of_another_type_are_told(name, saved):
    header = json.loads(str(np.load(saved)["header"]))
    for value in WRONG_SETTINGS[name]:
        forged = header | {"settings": header["settings"] | {name: value}}
        with pytest.raises(InputError, match=rf"its setting {name} is"):
            vt.Trajectory.load(with_array(saved, "header", as_npy(np.array(json.dumps(forged)))))


def test_a_run_by_a_method_that_is_none_does_not_go_on(saved):
    header = json.loads(str(np.load(saved)["header"])) | {"method": "guess"}
    run = vt.Trajectory.load(with_array(saved, "header", as_npy(np.array(json.dumps(header)))))
    with pytest.raises(InputError, match='is by "guess", which is no method here'):
        run.resume(DT, model=run_of({"method": "midpoint"})[0])
