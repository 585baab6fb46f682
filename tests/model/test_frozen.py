"""Models and runs never change; rows of states of a wrong shape are refused by name."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
import tracemalloc

import numpy as np
import pytest
from random_models import chain_flat, random_flat

import vitree as vt
from vitree import vehicles
from vitree._core import scalar
from vitree.errors import InputError
from vitree.mechanism.constraints import Coupling
from vitree.model.system import OF_ROWS

KINDS = ("plain", "random", "euler", "reduced", "urdf", "boat", "helicopter", "car", "snakeboard")
WAYS = {"made": lambda x: x, "pickled": lambda x: pickle.loads(pickle.dumps(x)), "copied": copy.copy,
        "copied deep": copy.deepcopy}  # fmt: skip


#: Modules of what models are described by.
DESCRIPTIONS = ("constraints", "contacts", "drives", "loads", "pushes")


@pytest.mark.parametrize("module", DESCRIPTIONS)
def test_descriptions_cannot_be_changed(module):
    """Joints, loads, contacts and pushes are shared by models, threads and runs."""
    known = vars(importlib.import_module(f"vitree.mechanism.{module}"))
    found = [x for x in known.values() if isinstance(x, type) and dataclasses.is_dataclass(x)]
    assert found
    for kind in found:
        assert kind.__dataclass_params__.frozen, kind


def system(kind):
    if kind in ("boat", "helicopter", "car", "snakeboard"):
        return getattr(vehicles, kind)()
    if kind == "urdf":
        return vt.load_urdf(vt.find_robot("arm6"))
    if kind == "plain":
        return vt.Model(chain_flat(3))
    if kind == "reduced":
        flat = dataclasses.replace(chain_flat(3), constraints=(vt.gear("joint0", "joint2", 2.0),))
        assert isinstance(flat.constraints[0], Coupling)
        return vt.Model(flat).reduced()
    model = vt.Model(random_flat(np.random.default_rng(3), 5))
    return model.euler() if kind == "euler" else model


def arrays_of(x, seen=None):
    """All arrays within the public attributes of an object, one level of containers and dataclasses deep."""
    for name, value in vars(x).items():
        if name in ("_full", "native", "_expanded", "index", "written", "system"):
            continue
        for part in value if isinstance(value, tuple) else [value]:
            if isinstance(part, np.ndarray):
                yield name, part
            elif dataclasses.is_dataclass(part) and name in ("flat", "geometry", "film"):
                yield from ((f"{name}.{inner}", found) for inner, found in arrays_of(part))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_array_of_a_model_is_read_only(kind, way):
    model = WAYS[way](system(kind))
    found = list(arrays_of(model))
    if isinstance(model, vt.Model):
        assert {"flat.gravity", "flat.mass", "flat.damping", "flat.E"} <= {name for name, _ in found}
    for name, array in found:
        assert not array.flags.writeable, name
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array.flat[0] = 7


@pytest.mark.parametrize("kind", KINDS)
def test_no_attribute_of_a_model_can_be_set(kind):
    model = system(kind)
    digest, names = model.digest, list(vars(model))
    assert names
    for name in names:
        with pytest.raises(AttributeError, match="never changes"):
            setattr(model, name, None)
    assert model.digest == digest


def test_the_arrays_given_stay_the_callers():
    flat = chain_flat(2)
    given = {f.name: np.array(getattr(flat, f.name)) for f in dataclasses.fields(flat)
             if isinstance(getattr(flat, f.name), np.ndarray)}  # fmt: skip
    model = vt.Model(dataclasses.replace(flat, **given))
    before = model.rnea([0.1, 0.2], [0, 0], [0, 0])
    for array in given.values():
        assert array.flags.writeable
        array[...] = 0
    assert np.array_equal(model.rnea([0.1, 0.2], [0, 0], [0, 0]), before)


def test_gravity_is_one_in_all_methods():
    model = vt.Model(chain_flat(2))
    with pytest.raises(ValueError, match="read-only"):
        model.flat.gravity[2] = 0
    with pytest.raises(ValueError, match="read-only"):
        model.gravity[2] = 0
    for array in (model.damping, model.neutral()):  # copies
        array[...] = 1
    assert model.gravity[2] == -9.81


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("chosen", [{"method": "midpoint"}, {"method": "rk4"}, {"method": "scipy-rk45"}])
def test_every_array_of_a_run_is_read_only(chosen, way, tmp_path):
    run = vt.simulate(vt.Model(chain_flat(2)), v0=[1, 0], duration=0.1, dt=0.01, **chosen,
                      **({"monitors": "energy"} if chosen["method"] == "midpoint" else {}))  # fmt: skip
    run = WAYS[way](run)
    for one in (run, run[2:5], vt.Trajectory.load(run.save(tmp_path / "run.npz"))):
        found = [*arrays_of(one), *one.monitors.items(), *one[-1]._asdict().items()]
        assert len(found) > 15
        for name, array in found:
            if isinstance(array, np.ndarray):
                assert not array.flags.writeable, name
    dataset = pytest.importorskip("xarray") and run.to_xarray()
    dataset["q"][0] = 5.0  # a caller's own
    assert run.q[0, 0] == 0.0


def test_arrays_of_a_caller_stay_writable():
    run = vt.simulate(vt.Model(chain_flat(2)), v0=[1, 0], duration=0.1, dt=0.01)
    mine = run.q.copy()
    other = dataclasses.replace(run, q=mine)
    assert mine.flags.writeable and not other.q.flags.writeable


# ---- rows of states ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_wrong_shape_are_refused_by_name(kind, name):
    model = system(kind)
    if not hasattr(model, name):
        pytest.skip("vehicles have no such method")
    method, n = getattr(model, name), 4
    q = np.array([model.neutral()] * n)
    second = "v" if name in ("_energies", "_momenta") else "p"
    alone = name in ("_mass_matrices", "_pose_rows", "_constraint_rows", "_constraint_errors", "_facing_cosines",
                     "_facing_rows")  # fmt: skip
    rest = [] if alone else [np.ones((n, model.nv))]
    whole = method(q, *rest)
    wrong = {"narrow": q[:, :-1], "wide": np.hstack((q, q)), "one state": q[0], "none": np.zeros(0), "deep": q[None],
             "a number": 1.0, "texts": [["a"] * model.nq], "ragged": [[1.0], [1.0, 2.0]]}  # fmt: skip
    for what, bad in wrong.items():
        with pytest.raises(InputError, match=r"^q "):
            print(what, method(bad, *rest))
    for bad in [] if alone else [rest[0][:, 1:], np.hstack((rest[0], rest[0])), rest[0][0], rest[0][:2]]:
        with pytest.raises(InputError, match=rf"^{second} |{n} rows of q, 2 rows of {second}"):
            method(q, bad)
    # what is right in another form gives the same bits, and is left alone
    frozen = q.copy()
    frozen.flags.writeable = False
    for form in (frozen, np.asfortranarray(q), q.tolist(), np.repeat(q, 2, axis=0)[::2]):
        again = method(form, *rest)
        for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (again, whole)), strict=True):
            assert np.array_equal(a, b)
    assert len(method(q[:0], *(x[:0] for x in rest))[0] if name in ("_constraint_rows", "_facing_rows") else method(
        q[:0], *(x[:0] for x in rest))) == 0  # fmt: skip


def test_rates_of_a_wrong_shape_are_refused():
    model = system("plain")
    q, p = np.zeros((3, 3)), np.ones((3, 3))
    assert np.array_equal(model._constrained_velocities(q, p), model._constrained_velocities(q, p, rates=None))
    for bad in (np.zeros((3, 2)), np.zeros((2, 3)), np.zeros(3)):
        with pytest.raises(InputError, match="rates"):
            model._constrained_velocities(q, p, bad)
    with pytest.raises(TypeError):
        model._velocities(q, p, p, p)
    with pytest.raises(TypeError):
        model._velocities(q, x=p)
    with pytest.raises(TypeError):
        model._velocities(q)


@pytest.mark.parametrize("change", [-1, 1, 5])
def test_the_doors_of_the_core_check_every_array(change):
    """Each array in turn has another width, or another number of rows."""
    model, core, n = system("random"), scalar(), 3
    nq, nv, nb = model.nq, model.nv, model.nbody
    g, point = np.zeros(3), np.zeros(3)
    rows = lambda width: np.zeros((n, width))  # noqa: E731
    doors = {
        "batch_integrate": [rows(nq), rows(nv), rows(nq)], "batch_difference": [rows(nq), rows(nq), rows(nv)],
        "batch_rnea": [g, rows(nq), rows(nv), rows(nv), rows(nv)],
        "batch_aba": [g, rows(nq), rows(nv), rows(nv), rows(nv)], "batch_crba": [rows(nq), rows(nv * nv)],
        "batch_pivots": [rows(nq), rows(2 * nv)],
        "batch_energy": [rows(nq), rows(nv), rows(11)], "batch_poses": [rows(nq), rows(12 * nb)],
        "batch_jacobian": [rows(nq), 0, point, rows(6 * nv)],
        "batch_constraints": [model.constraint_list, rows(nq), rows(0), rows(0)],
        "batch_constraint_slopes": [model.constraint_list, rows(nq), rows(0), rows(nv * nv)],
        "batch_linear_time": [0.01, rows(nq), rows(nv), rows(nv), rows(nv), rows(3 * nv)],
        "batch_midpoint": [(0.01, 0.5), rows(nq), rows(nv), rows(nv), rows(nv), rows(3 * nv), rows(6 * nb)],
        "load_potentials": [model.load_list, rows(nq)],
        "batch_inverse_mass_matrix": [rows(nq), rows(nv * nv)],
        "batch_rnea_derivatives": [g, rows(nq), rows(nv), rows(nv), *[rows(nv * nv)] * 3],
        "batch_aba_derivatives": [g, rows(nq), rows(nv), rows(nv), *[rows(nv * nv)] * 3],
        "batch_linear_time_slopes": [(0.01, True, 0), model.drive_list, rows(nq), rows(nq), rows(0), rows(4 * nv * nv),
                                     rows(3 * nv), rows(2 * nv), True],
        "batch_midpoint_slopes": [(0.01, 0.5, 0), model.drive_list, rows(nq), rows(nq), rows(0), rows(nv),
                                  rows(4 * nv * nv), rows(3 * nv), rows(2 * nv), rows(2 * nv * nv), True],
        "batch_linear_time_masses": [(0.01, True), rows(nq), rows(nq), rows(nv), rows(nv), rows(10 * nb + 3)],
        "batch_midpoint_masses": [(0.01, 0.5), rows(nq), rows(nv), rows(nv), rows(nv), rows(10 * nb + 3)],
    }  # fmt: skip
    assert {name for name in dir(core) if name.startswith("batch_")} - {"batch_elementary", "batch_atan2"} <= set(doors)
    for name, given in doors.items():
        door = getattr(core, name)
        door(model.core, *given)
        for k, array in enumerate(given):
            if not isinstance(array, np.ndarray):
                continue
            for axis in range(array.ndim):
                shape = list(array.shape)
                shape[axis] = max(shape[axis] + change, 0)
                only = axis == 0 and sum(isinstance(x, np.ndarray) and x.ndim == 2 for x in given) == 1
                if shape == list(array.shape) or (only and array.ndim == 2):
                    continue
                with pytest.raises(ValueError, match="are needed"):
                    door(model.core, *given[:k], np.zeros(shape), *given[k + 1 :])


def test_the_doors_of_steppers_check_every_array():
    from vitree.integrators import METHODS

    stepper = METHODS["midpoint"](vt.Model(chain_flat(3)), 0.01).stepper
    good, bad = np.zeros(3), (np.zeros(2), np.zeros(4), np.zeros(0))
    for wrong in bad:
        for call in (lambda x: stepper.set_state(0.0, x, good), lambda x: stepper.set_state(0.0, good, x),
                     lambda x: stepper.acceleration_at(0.0, x, good), lambda x: stepper.acceleration_at(0.0, good, x),
                     lambda x: stepper.acceleration_at(0.0, good, good, x), lambda x: stepper.set_steps(good, x[:3]),
                     lambda x: stepper.momentum_between(0.0, good, x),
                     lambda x: stepper.probe(0.0, good, good, x, np.zeros(0)),
                     lambda x: stepper.probe(0.0, good, good, good, np.zeros(1))):  # fmt: skip
            with pytest.raises(ValueError, match="are needed"):
                call(wrong)


@pytest.mark.parametrize("form", ["narrow", "wide"])
def test_expansion_checks_the_last_axis(form):
    model = system("reduced")
    q = np.zeros((2, model.nq + (1 if form == "wide" else -1)))
    full = np.zeros((2, model.full.nq + (1 if form == "wide" else -1)))
    for method, x in ((model.expand, q), (model.expand_velocity, q), (model.contract, full),
                      (model.contract_velocity, full)):  # fmt: skip
        with pytest.raises(InputError, match="has shape"):
            method(x)


@pytest.mark.parametrize("method", ["rk4", "linear-time", "midpoint"])
def test_a_sparse_recording_keeps_nothing_a_step(method):
    model, steps = vt.Model(chain_flat(1)), 200_000
    vt.simulate(model, duration=1.0, dt=0.5, method=method)  # what is imported and cached
    tracemalloc.start()
    run = vt.simulate(model, v0=[0.1], duration=steps * 1e-3, dt=1e-3, record_every=steps // 2, method=method)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(run) == 3 and run.steps == steps and peak < steps
