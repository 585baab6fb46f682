"""Data for other programs: exact, with names and units, whole files only."""

from __future__ import annotations

import csv
import json
import sys
import types

import numpy as np
import pytest
from random_models import chain_flat
from recorded import make
from scipy.spatial.transform import Rotation

import vitree as vt
from vitree import vehicles
from vitree.errors import InputError, MissingExtraError
from vitree.model.model import Model
from vitree.results import export, mcap, units
from vitree.results.drawing import drawing_of
from vitree.results.plain import versions
from vitree.run.simulate import simulate
from vitree.run.trajectory import Trajectory, convert

ODD = np.array([[np.nan, -0.0, np.inf], [5e-324, 1 / 3, -1e308]])
HIP = ("hip.qx", "hip.qy", "hip.qz", "hip.qw"), ("hip.wx", "hip.wy", "hip.wz")


def run(n=11, **changes) -> Trajectory:
    """A run of a ball joint, with constraints and monitors."""
    rng = np.random.default_rng(3)
    steps = 2 * n
    monitors = {"t": 0.05 * np.arange(1, steps + 1), "momentum": rng.random((steps, 6)), "energy": rng.random(steps)}
    monitors["certificate"] = np.column_stack((rng.random(steps), np.full(steps, np.nan)))
    given = {
        "q_names": HIP[0], "v_names": HIP[1], "constraint_names": ("rod", "gear"), "monitors": monitors,
        "constraint": rng.random((n, 2)), "multipliers": rng.random((n, 2)),
    }  # fmt: skip
    return make(n=n, **(given | changes))


def scalar(**changes) -> Trajectory:
    """A run of joints with one coordinate each."""
    names = ("shoulder", "elbow", "slide")
    return make(nq=3, nv=3, **({"joint_names": names, "q_names": names, "v_names": names} | changes))


def test_versions_name_what_a_result_depends_on():
    found = versions()
    assert {"vitree", "numpy", "scipy", "python", "platform", "width"} == set(found)
    assert found == json.loads(json.dumps(found)) and found["numpy"] == np.__version__


# ---- names and units ------------------------------------------------------------------------------


def test_columns_have_names_and_units():
    traj = run()
    found = units.columns(traj)
    assert all(values.shape == (11,) and unit for values, unit in found.values())
    assert len(found) == 1 + 4 + 3 + 3 + 3 + 6 + 2 + 2 + 2
    expected = {
        "t": "s", "q.hip.qx": "1", "v.hip.wx": "rad/s", "p.hip.wx": "kg m^2/s", "energy": "J", "iterations": "1",
        "momentum.angular.x": "kg m^2/s", "momentum.linear.z": "kg m/s", "multiplier.rod": "N or N m",
    }  # fmt: skip
    assert {name: found[name][1] for name in expected} == expected
    assert np.array_equal(found["momentum.linear.z"][0], traj.momentum[:, 5])
    assert np.array_equal(found["constraint.gear"][0], traj.constraint[:, 1])


def test_constraints_of_one_name_are_all_there():
    traj = run(constraint_names=("rod", "rod"))
    found = units.columns(traj)
    for k, name in enumerate(("rod", "rod (2)")):
        assert np.array_equal(found[f"constraint.{name}"][0], traj.constraint[:, k])


def test_units_of_joints_are_those_of_the_system():
    traj = scalar()
    assert set(units.units_of(traj)["q"]) == {"rad or m"}
    kinds = dict(zip(traj.joint_names, ("revolute", "helical", "prismatic"), strict=True))
    joints = [types.SimpleNamespace(name=name, kind=kind) for name, kind in kinds.items()]
    system = types.SimpleNamespace(joints=joints, gravity=np.zeros(3), total_mass=1, is_free_floating=0,
                                   is_conservative=0, is_dissipative=0)  # fmt: skip
    object.__setattr__(traj, "system", system)
    assert units.units_of(traj) == {"q": ("rad", "rad", "m"), "v": ("rad/s", "rad/s", "m/s"),
                                     "p": ("kg m^2/s", "kg m^2/s", "kg m/s")}  # fmt: skip


def test_names_alone_tell_the_units_of_free_joints_and_vehicles_only():
    free = make(nq=2, nv=2, joint_names=("base",), q_names=("base.x", "base.qw"), v_names=("base.vx", "base.wz"))
    assert units.units_of(free)["q"] == ("m", "1") and units.units_of(free)["v"] == ("m/s", "rad/s")
    car = make(nq=2, nv=2, joint_names=("psi", "body"), q_names=("psi", "theta"), v_names=("psi", "vx"))
    assert units.units_of(car)["q"] == ("rad or m", "rad") and units.units_of(car)["v"] == ("rad/s or m/s", "m/s")
    for vehicle, own in ((vehicles.car(), ("rad", "1")), (vehicles.snakeboard(), ("rad", "rad"))):
        found = units.units_of(simulate(vehicle, duration=0.02, dt=0.01))  # the vehicle knows its shape
        assert found["q"] == (*own, "rad", "m", "m")
        assert found["v"] == (*(f"{unit}/s" for unit in own), "rad/s", "m/s", "m/s")
        assert found["p"] == (*["kg m^2/s"] * 3, "kg m/s", "kg m/s")
    joint = make(nq=1, nv=1, joint_names=("x",), q_names=("x",), v_names=("x",))
    assert units.units_of(joint)["q"] == ("rad or m",)


@pytest.mark.parametrize("system", [
    Model(chain_flat(2)), Model(chain_flat(2, gravity=(0, 0, 0))), vt.load_urdf(vt.find_robot("human"), base="free"),
    vehicles.car(), vehicles.helicopter()])  # fmt: skip
def test_a_file_knows_of_the_system_what_the_run_did(system, tmp_path):
    live = simulate(system, duration=0.02, dt=0.01)
    known = units.about(live)
    assert known["gravity"] == system.gravity.tolist() and known["total_mass"] == system.total_mass
    assert (known["is_free_floating"], known["conservative"]) == (system.is_free_floating, system.is_conservative)
    loaded = Trajectory.load(live.save(tmp_path / "run.npz"))
    again = Trajectory.load(loaded[:2].save(tmp_path / "again.npz"))
    assert loaded.system is None and units.about(loaded) == units.about(again) == known
    assert {name: unit for name, (_, unit) in units.columns(loaded).items()} == {
        name: unit for name, (_, unit) in units.columns(live).items()}  # fmt: skip


SIX = "tx ty tz rz ry rx".split()


@pytest.mark.parametrize(("base", "more", "expected"), [
    ([vt.free("base")], [], True),
    ([vt.tx("x"), vt.ty("y"), vt.tz("z"), vt.ball("turn")], [], True),
    ([getattr(vt, name)(name) for name in SIX], [], True),
    ([getattr(vt, name)(name, damping=0.1 * (name == "rz")) for name in SIX], [], False),
    ([getattr(vt, name)(name, friction=0.1 * (name == "tx")) for name in SIX], [], False),
    ([getattr(vt, name)(name, kinematic=name == "tz") for name in SIX], [], False),
    ([getattr(vt, name)(name) for name in SIX], [vt.Coupling({"hip": 1.0, "rx": -2.0})], False),
    ([getattr(vt, name)(name) for name in SIX], [vt.Coupling({"hip": 1.0, "knee": -2.0})], True),
    ([getattr(vt, name)(name) for name in SIX[:5]], [], False),
    ([vt.ball("turn")], [], False),
    ([vt.tx("x")], [], False),
    ([vt.free("base")], [vt.Spring("world", "leg", 3.0)], False),
    ([vt.free("base")], [vt.Distance("world", "leg", 0.5)], False),
])  # fmt: skip
def test_what_only_falls(base, more, expected):
    tree = vt.Tree("thrown")
    link = tree.world.add(base, vt.body("trunk", 2.0, inertia=(0.1, 0.2, 0.3)))
    link = link.add(vt.ry("hip", damping=0.2), vt.tz(-0.5), vt.body("leg", 1.0, inertia=(0.1, 0.1, 0.1)))
    link.add(vt.ry("knee"), vt.body("foot", 1.0, inertia=(0.1, 0.1, 0.1)))
    for part in more:
        (tree.load if isinstance(part, vt.Spring) else tree.constrain)(part)
    model = tree.compile()
    coupled = any(isinstance(part, vt.Coupling) for part in more)
    assert (model.reduced() if coupled else model).is_free_floating is expected
    assert not (coupled and model.is_free_floating)


# ---- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("traj", [run(), make(n=2, v=ODD), make(n=0), make(n=3, nq=0, nv=0)])
def test_csv_reads_back_exactly(traj, tmp_path):
    path = export.to_csv(traj, tmp_path / "run.csv")
    with open(path, newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    found = units.columns(traj)
    assert head == [f"{name} [{unit}]" for name, (_, unit) in found.items()]
    read = np.array(rows, dtype=float).reshape(len(traj), len(head))
    for k, (values, _) in enumerate(found.values()):
        assert read[:, k].tobytes() == values.astype(float).tobytes(), head[k]


def test_a_table_has_the_same_columns():
    pandas = pytest.importorskip("pandas")
    traj = run()
    table = traj.to_pandas()
    assert isinstance(table, pandas.DataFrame) and table.index.name == "t" and np.array_equal(table.index, traj.t)
    for name, (values, unit) in units.columns(traj).items():
        assert name == "t" or np.array_equal(table[name], values)
        assert table.attrs["units"][name] == unit
    assert table["iterations"].dtype == int and json.loads(table.attrs["settings"]) == traj.settings


def test_a_dataset_has_names_and_units():
    xarray = pytest.importorskip("xarray")
    traj = run()
    data = traj.to_xarray()
    assert data.q.dims == ("t", "q_name") and data.t.attrs["units"] == "s"
    assert np.array_equal(data.v.sel(v_name="hip.wy"), traj.v[:, 1])
    assert data.p.sel(v_name="hip.wy").p_unit == "kg m^2/s"
    assert np.array_equal(data.momentum.sel(part="linear.x"), traj.momentum[:, 3])
    assert np.array_equal(data.constraint.sel(constraint_name="gear"), traj.constraint[:, 1])
    assert np.array_equal(data.monitor_energy, traj.monitors["energy"]) and data.monitor_momentum.dims[1] == "part"
    assert np.array_equal(data.step_end, traj.monitors["t"])
    assert np.array_equal(data.monitor_certificate.sel(certificate_part="turn"), traj.monitors["certificate"][:, 0])
    assert json.loads(data.attrs["settings"]) == traj.settings and json.loads(data.attrs["versions"]) == versions()
    assert isinstance(make(monitors=None).to_xarray(), xarray.Dataset)


@pytest.mark.parametrize("traj", [run(), make(n=2, v=ODD), make(n=3, nq=0, nv=0)])
def test_netcdf_reads_back_exactly(traj, tmp_path):
    xarray = pytest.importorskip("xarray")
    path = traj.to_netcdf(tmp_path / "run.nc")
    with xarray.open_dataset(path) as stream:
        read = stream.load()
    given = traj.to_xarray()
    assert {name for name in (*given.variables,) if given[name].size} == set(read.variables)
    for name, values in read.variables.items():
        original = given[name].values
        if original.dtype.kind == "f":
            assert values.values.tobytes() == original.tobytes() and values.dims == given[name].dims
        else:
            assert values.values.tolist() == original.tolist()
        assert values.attrs == given[name].attrs
    assert read.attrs == given.attrs


def test_netcdf_has_no_place_for_no_records(tmp_path):
    pytest.importorskip("xarray")
    with pytest.raises(InputError, match="no records"):
        make(n=0).to_netcdf(tmp_path / "run.nc")


# ---- MCAP -----------------------------------------------------------------------------------------


@pytest.fixture
def film(monkeypatch):
    """The film of every run: two bodies at three times."""
    poses = np.zeros((3, 2, 7), np.float32)
    poses[..., 0], poses[..., 6] = np.arange(6).reshape(3, 2) / 10, 1
    made = types.SimpleNamespace(
        drawing=types.SimpleNamespace(bodies=("pelvis", "arm")), t=np.array([0.0, 0.5, 1.0]), poses=poses
    )
    monkeypatch.setattr("vitree.results.mcap.film_of", lambda traj: made)
    return made


def read_mcap(path):
    """Schemas by topic, messages (seconds, content) by topic, and metadata."""
    reader = pytest.importorskip("mcap.reader")
    schemas, messages, last = {}, {}, 0
    with open(path, "rb") as stream:
        opened = reader.make_reader(stream, validate_crcs=True)
        for schema, channel, message in opened.iter_messages():
            assert channel.message_encoding == "json" and schema.encoding == "jsonschema"
            assert message.log_time == message.publish_time >= last  # in order
            last = message.log_time
            schemas[channel.topic] = schema.name, json.loads(schema.data)
            content = json.loads(message.data, parse_constant=pytest.fail)
            messages.setdefault(channel.topic, []).append((1e-9 * message.log_time, content))
        (metadata,) = opened.iter_metadata()
    return schemas, messages, metadata


def check(content, schema, place=""):
    """The content has no more than the schema says, and its types."""
    types_ = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int}
    assert isinstance(content, types_[schema["type"]]), place
    for key, value in content.items() if isinstance(content, dict) else ():
        check(value, schema["properties"][key], f"{place}.{key}")
    for value in content if isinstance(content, list) else ():
        check(value, schema["items"], f"{place}[]")


def test_mcap_has_frames_joints_states_and_monitors(film, tmp_path):
    traj = scalar(monitors=run().monitors)
    schemas, messages, metadata = read_mcap(traj.to_mcap(tmp_path / "run.mcap"))
    assert {topic: name for topic, (name, _) in schemas.items()} == {
        "/tf": "foxglove.FrameTransforms", "/joint_states": "foxglove.JointStates", "/state": "vitree.State",
        "/monitors": "vitree.Monitors"}  # fmt: skip
    for topic, (name, schema) in schemas.items():
        assert schema["title"] == name
        for seconds, content in messages[topic]:
            check(content, schema, topic)
            stamp = content.get("timestamp") or content["transforms"][0]["timestamp"]
            assert np.isclose(stamp["sec"] + 1e-9 * stamp["nsec"], seconds) and stamp["nsec"] < 10**9
    assert [t for t, _ in messages["/tf"]] == [0.0, 0.5, 1.0]
    frame = messages["/tf"][2][1]["transforms"][1]
    assert frame["parent_frame_id"] == "world" and frame["child_frame_id"] == "arm"
    assert frame["translation"] == {"x": 0.5, "y": 0, "z": 0} and frame["rotation"] == {"x": 0, "y": 0, "z": 0, "w": 1}
    for k, (t, content) in enumerate(messages["/joint_states"]):
        assert np.isclose(t, traj.t[k]) and [joint["name"] for joint in content["joints"]] == list(traj.joint_names)
        assert [joint["position"] for joint in content["joints"]] == traj.q[k].tolist()
        assert [joint["velocity"] for joint in content["joints"]] == traj.v[k].tolist()
    for k, (_, content) in enumerate(messages["/state"]):
        assert content["energy"] == traj.energy[k]
        assert content["momentum"]["linear"]["z"] == traj.momentum[k, 5]
        assert content["p"] == [{"name": n, "value": x} for n, x in zip(traj.v_names, traj.p[k], strict=True)]
    assert [content["energy"] for _, content in messages["/monitors"]] == traj.monitors["energy"].tolist()
    assert [content["certificate"] for _, content in messages["/monitors"]] == [
        {"turn": turn} for turn in traj.monitors["certificate"][:, 0]]  # fmt: skip
    assert metadata.name == "vitree" and json.loads(metadata.metadata["settings"]) == traj.settings


def test_foxglove_knows_the_names_and_fields(film, tmp_path):
    """Each message of a schema of Foxglove's is one that its own library builds from the same fields."""
    known = pytest.importorskip("foxglove.messages")

    def build(kind, content):
        parts = {"timestamp": "Timestamp", "translation": "Vector3", "rotation": "Quaternion"}
        several = {"transforms": "FrameTransform", "joints": "JointState"}
        made = {key: build(parts[key], value) if key in parts
                else [build(several[key], part) for part in value] if key in several else value
                for key, value in content.items()}  # fmt: skip
        return getattr(known, kind)(**made)

    schemas, messages, _ = read_mcap(scalar().to_mcap(tmp_path / "run.mcap"))
    for topic, kind in (("/tf", "FrameTransforms"), ("/joint_states", "JointStates")):
        assert schemas[topic][0] == getattr(known, kind).get_schema().name
        for _, content in messages[topic]:
            build(kind, content)


def test_mcap_of_a_simulation_has_the_poses_of_its_bodies(tmp_path):
    model = Model(chain_flat(2))
    traj = simulate(model, [0.3, 0.4], duration=0.1, dt=0.01)
    _, messages, _ = read_mcap(traj.to_mcap(tmp_path / "run.mcap"))
    frames = messages["/tf"][-1][1]["transforms"]
    assert [part["child_frame_id"] for part in frames] == list(drawing_of(model).bodies)
    for part, X in zip(frames, model.body_poses(traj.q[-1]), strict=True):
        assert np.allclose(list(part["translation"].values()), X[:3, 3], atol=1e-6)
        assert np.allclose(Rotation.from_quat(list(part["rotation"].values())).as_matrix(), X[:3, :3], atol=1e-6)


def test_mcap_leaves_out_what_is_not_there(tmp_path):
    schemas, messages, _ = read_mcap(make(n=2, v=ODD, monitors=None).to_mcap(tmp_path / "run.mcap"))
    assert set(schemas) == {"/state"}  # no drawing, no joint with one coordinate, no monitors
    assert [part["name"] for part in messages["/state"][0][1]["v"]] == ["hip.w1"]
    assert read_mcap(make(n=0, monitors=None).to_mcap(tmp_path / "none.mcap"))[:2] == ({}, {})


def test_mcap_has_no_times_before_zero(tmp_path):
    pytest.importorskip("mcap")
    with pytest.raises(InputError, match="t0=0"):
        make(t=0.1 * np.arange(11) - 0.5).to_mcap(tmp_path / "run.mcap")
    assert not list(tmp_path.iterdir())


def test_a_body_called_world_is_not_its_own_parent(film, tmp_path):
    film.drawing.bodies = ("world", "arm")
    _, messages, _ = read_mcap(scalar().to_mcap(tmp_path / "run.mcap"))
    assert all(part["parent_frame_id"] != "world" for part in messages["/tf"][0][1]["transforms"])


# ---- files ----------------------------------------------------------------------------------------


def test_the_ending_chooses_the_format(tmp_path):
    for package in ("xarray", "mcap"):
        pytest.importorskip(package)
    starts = {".npz": b"PK", ".nc": b"CDF\x02", ".csv": b"t [s]", ".json": b"{", ".mcap": b"\x89MCAP"}
    for ending, start in starts.items():
        path = convert(run(), str(tmp_path / f"run{ending.upper()}"))
        assert path.read_bytes().startswith(start)
    for name in ("run.xyz", "run"):
        with pytest.raises(InputError, match=r"\.npz, \.nc, \.csv, \.json, \.mcap"):
            convert(run(), tmp_path / name)
    assert len(list(tmp_path.iterdir())) == len(starts)


@pytest.mark.parametrize("ending", [".nc", ".csv", ".mcap"])
def test_what_cannot_be_written_is_named(ending, tmp_path):
    pytest.importorskip({".nc": "xarray", ".mcap": "mcap"}.get(ending, "csv"))
    with pytest.raises(InputError, match="absent"):
        convert(run(), tmp_path / "absent" / f"run{ending}")


def test_an_interrupted_write_leaves_the_old_file(film, tmp_path, monkeypatch):
    pytest.importorskip("mcap")
    path = run().to_mcap(tmp_path / "run.mcap")
    before = path.read_bytes()

    def interrupted(traj):
        yield 0, "/state", {}
        raise KeyboardInterrupt

    monkeypatch.setattr(mcap, "_states", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run().to_mcap(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("module", "write", "extra"), [
    ("pandas", "to_pandas", "data"), ("xarray", "to_xarray", "data"), ("mcap.writer", "to_mcap", "mcap")])  # fmt: skip
def test_a_missing_package_is_named(module, write, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    arguments = (tmp_path / "run.mcap",) if write == "to_mcap" else ()
    with pytest.raises(MissingExtraError, match=rf"{module.split('.')[0]}.*vitree\[{extra}\]"):
        getattr(run(), write)(*arguments)
