"""States as Foxglove and rerun get them."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import vitree as vt
from vitree.results.drawing import drawing_of, poses
from vitree.viewer.streams import FoxgloveStream, RerunStream, to_rerun


@pytest.fixture
def run():
    model = vt.load_urdf(vt.find_robot("arm6"))
    return vt.simulate(model, np.full(6, 0.3), np.arange(6.0), duration=0.05, dt=0.01)


def test_foxglove_gets_poses_and_joints(run):
    pytest.importorskip("foxglove")
    client = pytest.importorskip("websockets.sync.client")
    with FoxgloveStream(run.system, port=0) as stream, client.connect(
        stream.address, subprotocols=["foxglove.sdk.v1"], proxy=None
    ) as page:  # fmt: skip
        channels: dict[str, int] = {}
        while len(channels) < 2:
            told = page.recv(timeout=5)
            if isinstance(told, str) and (content := json.loads(told))["op"] == "advertise":
                channels |= {each["topic"]: each["id"] for each in content["channels"]}
                names = {each["topic"]: each["schemaName"] for each in content["channels"]}
                known = {"/tf": "foxglove.FrameTransforms", "/joint_states": "foxglove.JointStates"}
                assert names.items() <= known.items()
        wanted = [{"id": k, "channelId": channels[topic]} for k, topic in enumerate(("/tf", "/joint_states"))]
        page.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
        got: dict[int, tuple[int, dict]] = {}
        for _ in range(50):  # until the server has read that
            stream.send(run.t[-1], run.q[-1], run.v[-1])
            try:
                while len(got) < 2:
                    told = page.recv(timeout=0.1)
                    if isinstance(told, bytes) and told[0] == 1:
                        k, at = struct.unpack("<IQ", told[1:13])
                        got[k] = at, json.loads(told[13:])
                break
            except TimeoutError:
                continue
    assert {at for at, _ in got.values()} == {50_000_000}
    frames = {each["child_frame_id"]: each for each in got[0][1]["transforms"]}
    for name, pose in zip(drawing_of(run.system).bodies, poses(run.system, run.q[-1]), strict=True):
        assert list(frames[name]["translation"].values()) == pytest.approx(pose[:3], abs=1e-12)
        assert list(frames[name]["rotation"].values()) == pytest.approx(pose[3:], abs=1e-12)
    joints = {each["name"]: each for each in got[1][1]["joints"]}
    assert [joints[name]["position"] for name in run.system.joint_names] == run.q[-1].tolist()
    assert [joints[name]["velocity"] for name in run.system.joint_names] == run.v[-1].tolist()


def test_rerun_gets_poses_shapes_and_joints(run, tmp_path, monkeypatch):
    rerun = pytest.importorskip("rerun")
    logged: dict[str, list] = {}
    log = rerun.RecordingStream.log

    def kept(self, path, archetype, **options):
        logged.setdefault(path, []).append(archetype)
        log(self, path, archetype, **options)

    monkeypatch.setattr(rerun.RecordingStream, "log", kept)
    path = to_rerun(run, tmp_path / "run.rrd")
    assert path.read_bytes()[:4] == b"RRF2"
    body = drawing_of(run.system).bodies[-1]
    place = logged[rerun.new_entity_path([run.model_name, body])]
    assert len(place) == len(run)
    expected = poses(run.system, run.q[-1])[-1]
    assert np.allclose(place[-1].translation.as_arrow_array().to_pylist(), expected[:3], rtol=0, atol=1e-6)
    turn = logged[rerun.new_entity_path(["joints", run.system.joint_names[2], "velocity"])]
    assert turn[-1].scalars.as_arrow_array().to_pylist() == [run.v[-1, 2]]
    shapes = [each for path, own in logged.items() for each in own if "rerun.archetypes" in type(each).__module__
              and type(each).__name__ not in ("Transform3D", "Scalars")]  # fmt: skip
    assert len(shapes) == len(drawing_of(run.system).shapes)


@pytest.mark.parametrize("kind", ["foxglove", "rerun"])
def test_wrong_states_are_refused(run, kind, tmp_path):
    pytest.importorskip(kind)
    stream = FoxgloveStream(run.system, port=0) if kind == "foxglove" else RerunStream(run.system, tmp_path / "a.rrd")
    with stream, pytest.raises(vt.InputError, match="q"):
        stream.send(0.0, [1.0], run.v[0])
    with pytest.raises(vt.InputError, match="closed"):
        stream.send(0.0, run.q[0], run.v[0])
    with pytest.raises(vt.InputError):
        type(stream)("arm")
