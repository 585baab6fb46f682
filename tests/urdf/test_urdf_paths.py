"""Files of a robot: found where they are, and never outside the folders that were given."""

from __future__ import annotations

import os
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from vitree.errors import InputError
from vitree.urdf.paths import LEVELS, Places, resolve


@pytest.fixture(autouse=True)
def no_workspaces(monkeypatch):
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def package(folder: Path, name: str | None = None) -> Path:
    """Make a package with a mesh, and return its folder."""
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes" / "a b.stl").touch()
    (folder / "urdf").mkdir()
    (folder / "package.xml").write_text(f"<package format='3'>\n  <name>{name or folder.name}</name>\n</package>")
    return folder


def found(reference: str, robot: Path | None, packages=None) -> Path:
    answer = resolve(reference, robot, packages)
    assert answer.problem is None, answer
    assert os.path.isfile(answer.path)
    return Path(answer.path).resolve()


def problem(reference: str, robot: Path | None, packages=None) -> str:
    answer = resolve(reference, robot, packages)
    assert answer.path == reference and answer.problem
    return answer.problem


def test_one_file_by_every_spelling(tmp_path):
    pkg = package(tmp_path / "pkg")
    robot, mesh = pkg / "urdf" / "r.urdf", pkg / "meshes" / "a b.stl"
    for reference in (
        "package://pkg/meshes/a b.stl",
        "package://pkg/meshes/a%20b.stl",
        "package:///pkg/meshes/a b.stl",
        "package://pkg//meshes/a b.stl",
        "PACKAGE://pkg/urdf/../meshes/a b.stl",
        "package:\\\\pkg\\meshes\\a b.stl",
        "model://pkg/meshes/a b.stl",
        "../meshes/a b.stl",
        "..\\meshes\\a b.stl",
        "file://../meshes/a b.stl",
        f"file://{mesh}",
        f"file://{quote(str(mesh))}",
        f"File://localhost{mesh}",
        f"file:{mesh}",
        str(mesh),
    ):
        assert found(reference, robot) == mesh, reference


def test_a_file_is_taken_by_its_literal_name_first(tmp_path):
    for name in ("a%20b.stl", "a b.stl", "c:d.stl", "#1?.stl"):
        (tmp_path / name).touch()
        assert found(name, tmp_path / "r.urdf").name == name
    assert found("file://a%20b.stl", tmp_path / "r.urdf").name == "a%20b.stl"


def test_packages_given(tmp_path):
    mesh = package(tmp_path / "ws" / "deep" / "folder", "pkg") / "meshes" / "a b.stl"
    reference, robot = "package://pkg/meshes/a b.stl", tmp_path / "elsewhere" / "urdf" / "r.urdf"
    assert problem(reference, robot) == 'missing: no package "pkg" is found; name its folder by packages='
    for packages in (
        {"pkg": mesh.parent.parent},
        {"other": tmp_path, "pkg": str(mesh.parent.parent)},
        [tmp_path / "ws"],
        [mesh.parent.parent],
        mesh.parent.parent.parent,
        str(tmp_path),
    ):
        for file in (robot, None):
            assert found(reference, file, packages) == mesh, packages
    assert found("meshes/a b.stl", None, mesh.parent.parent) == mesh
    assert found(str(mesh), robot, tmp_path / "ws") == mesh
    # one that is given is the package, and no other
    (tmp_path / "empty").mkdir()
    package(robot.parent.parent / "pkg")
    assert found(reference, robot)
    assert "has no such file" in problem(reference, robot, {"pkg": tmp_path / "empty"})


@pytest.mark.parametrize("packages", ["/nowhere", ["/nowhere"], {"pkg": "/nowhere"}, {"pkg": 3}, 3, [None]])
def test_packages_that_are_none_are_refused(packages):
    with pytest.raises(InputError, match="packages"):
        resolve("x.stl", None, packages)


def test_packages_of_the_environment(tmp_path, monkeypatch):
    robot = tmp_path / "r" / "urdf" / "r.urdf"
    ros1 = package(tmp_path / "src" / "stack" / "ros1") / "meshes" / "a b.stl"
    ros2 = package(tmp_path / "install" / "share" / "ros2") / "meshes" / "a b.stl"
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere::relative:{tmp_path / 'src'}")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'install'}")
    (tmp_path / "install" / "share" / "linked").symlink_to(ros1.parent.parent)
    assert found("package://linked/meshes/a b.stl", robot) == ros1
    assert found("package://ros1/meshes/a b.stl", robot) == ros1
    assert found("package://ros2/meshes/a b.stl", robot) == ros2
    assert found(f"file://{ros2}", robot) == ros2  # what $(find ros2) becomes in xacro
    package(tmp_path / "later" / "share" / "ros2")  # a second package of that name takes nothing away
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'install'}:{tmp_path / 'later'}")
    assert found(f"file://{ros2}", robot) == ros2
    outside = tmp_path / "install" / "x.stl"
    outside.touch()
    assert problem(str(outside), robot).startswith("escapes")


def test_packages_near_the_robot(tmp_path):
    one, two = package(tmp_path / "src" / "one"), package(tmp_path / "src" / "two_main", "two")
    robot = one / "urdf" / "r.urdf"
    assert found("package://one/meshes/a b.stl", robot)
    assert found("package://two_main/meshes/a b.stl", robot).is_relative_to(two)
    assert found("../../two_main/meshes/a b.stl", robot, [tmp_path / "src"])
    assert found("package://two/meshes/a b.stl", two / "urdf" / "r.urdf")  # by the name it declares
    # without package.xml only what is near counts
    (one / "package.xml").unlink()
    assert found("package://one/meshes/a b.stl", robot)
    assert found("package://meshes/a b.stl", robot)
    (two / "package.xml").unlink()
    assert problem("package://two_main/meshes/a b.stl", robot).startswith("missing: no package")
    assert problem("package://src/one/meshes/a b.stl", robot).startswith("missing: no package")


def test_a_folder_beside_the_package_that_declares_the_name(tmp_path):
    """Whatever it is called; a folder of that name comes first, and a link does not count."""
    robot = package(tmp_path / "src" / "arm") / "urdf" / "r.urdf"
    reference, other = "package://hand/meshes/a b.stl", package(tmp_path / "src" / "hand-v2", "hand")
    assert found(reference, robot) == other / "meshes" / "a b.stl"
    named = package(tmp_path / "src" / "hand")
    assert found(reference, robot) == named / "meshes" / "a b.stl"
    assert "no such file" in problem("package://hand/meshes/none.stl", robot)
    (tmp_path / "src" / "linked").symlink_to(package(tmp_path / "far" / "leg", "foot"))
    assert "missing: no package" in problem("package://foot/meshes/a b.stl", robot)
    alone = tmp_path / "src" / "plain" / "urdf"
    alone.mkdir(parents=True)
    assert "missing" in problem("package://wrist/meshes/a b.stl", alone / "r.urdf")
    package(tmp_path / "src" / "wrist-v1", "wrist")
    assert "missing" in problem("package://wrist/meshes/a b.stl", alone / "r.urdf")


def test_no_reference_leads_outside(tmp_path):
    pkg = package(tmp_path / "ws" / "pkg")
    robot, secret = pkg / "urdf" / "r.urdf", tmp_path / "secret.stl"
    secret.touch()
    (pkg / "link.stl").symlink_to(secret)
    (pkg / "folder").symlink_to(tmp_path)
    for reference in (
        "package://pkg/../../secret.stl",
        "package://pkg/%2e%2e/../secret.stl",
        "package://pkg/..\\..\\secret.stl",
        "package://pkg/link.stl",
        "package://pkg/folder/secret.stl",
        "../../../secret.stl",
        "../link.stl",
        "../folder/secret.stl",
        str(secret),
        f"file://{secret}",
        f"file://localhost/{secret}",
        "/etc/passwd",
        "package://pkg//../../../../../../../../../../etc/passwd",
    ):
        assert problem(reference, robot).startswith("escapes"), reference
    for reference in ("package://../secret.stl", "package://etc/passwd", f"package://{tmp_path.name}/secret.stl"):
        assert problem(reference, robot).startswith("missing: no package"), reference
    (pkg / "urdf" / "root").symlink_to("/")
    for packages in (None, pkg, pkg / "urdf"):
        for name in ("root", "folder"):
            assert problem(f"package://{name}/etc/passwd", robot, packages).startswith("missing: no package")
    other = package(tmp_path / "far" / "other")
    (tmp_path / "ws" / "other").symlink_to(other)
    (tmp_path / "ws" / "far").symlink_to(tmp_path / "far")
    for packages in (None, tmp_path / "ws"):
        assert problem("package://other/meshes/a b.stl", robot, packages).startswith("missing: no package")
    assert found("../link.stl", robot, tmp_path) == secret
    assert found("package://pkg/link.stl", robot, tmp_path) == secret
    assert problem(str(secret), None).startswith("missing: the robot is a text")
    assert problem(str(secret), None, {"pkg": pkg}).startswith("escapes")


def test_one_folder_up_but_not_out_of_a_home(tmp_path, monkeypatch):
    for place in ("robot/urdf", "robot/meshes", "else"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "robot/meshes/x.stl").touch()
    (tmp_path / "else/x.stl").touch()
    robot = tmp_path / "robot" / "urdf" / "r.urdf"
    assert found("../meshes/x.stl", robot)
    assert problem("../../else/x.stl", robot).startswith("escapes")
    monkeypatch.setenv("HOME", str(tmp_path / "robot"))
    assert problem("../meshes/x.stl", robot).startswith("escapes")
    monkeypatch.setenv("HOME", str(tmp_path / "robot" / "user"))
    assert problem("../meshes/x.stl", robot).startswith("escapes")


def test_what_a_build_links_is_followed_into_the_same_package(tmp_path, monkeypatch):
    """An install folder of links (colcon build --symlink-install), the robot file itself one."""
    source, installed = package(tmp_path / "src" / "pkg"), tmp_path / "install" / "share" / "pkg"
    (source / "urdf" / "r.urdf").touch()
    for file in ("package.xml", "meshes/a b.stl", "urdf/r.urdf"):
        (installed / file).parent.mkdir(parents=True, exist_ok=True)
        (installed / file).symlink_to(source / file)
    robot = installed / "urdf" / "r.urdf"
    assert found("package://pkg/meshes/a b.stl", robot) == source / "meshes" / "a b.stl"
    assert found("../meshes/a b.stl", robot) == source / "meshes" / "a b.stl"
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert found("package://pkg/meshes/a b.stl", tmp_path / "x" / "urdf" / "r.urdf").is_relative_to(source)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        ".",
        "..",
        "/",
        "file://",
        "file:///",
        "package://",
        "package:///",
        "package://pkg",
        "package://./x",
        "package://%00/x",
        "\0",
        "a\0.stl",
        "a%00.stl",
        "package://pkg/\0",
        "x" * 300,
        "x" * 100_000,
        "../" * 1000,
        "package://" + "y" * 300 + "/x",
        "C:\\meshes\\x.stl",
        "C:/meshes/x.stl",
        "file:///C:/meshes/x.stl",
        "\\\\server\\share\\x.stl",
        "http://somewhere/x.stl",
        "data://x",
        "://x",
        "loop",
        "pipe",
        "locked/x.stl",
        "urdf",
        "\ud800.stl",
    ],
)
def test_what_is_no_file_is_left_as_it_is(tmp_path, reference):
    pkg = package(tmp_path / "pkg")
    (pkg / "urdf" / "loop").symlink_to(pkg / "urdf" / "loop")
    os.mkfifo(pkg / "urdf" / "pipe")
    (pkg / "urdf" / "locked").mkdir(mode=0)
    for robot in (pkg / "urdf" / "r.urdf", pkg / "nowhere" / "r.urdf", None):
        for packages in (None, tmp_path):
            assert problem(reference, robot, packages).startswith(("missing", "escapes"))


def test_a_search_for_packages_is_bounded(tmp_path):
    folder = tmp_path / "ws"
    deep = folder.joinpath(*"abcdefghij"[:LEVELS])
    package(deep / "too_deep")
    package(deep.parent / "pkg")
    package(deep.parent / "pkg" / "nested")
    (folder / "a" / "up").symlink_to(folder)  # a ring
    assert found("package://pkg/meshes/a b.stl", None, folder)
    assert problem("package://too_deep/meshes/a b.stl", None, folder)
    assert problem("package://nested/meshes/a b.stl", None, folder)
    for k in range(3000):
        (folder / f"x{k}").mkdir()
    places, start = Places(None, folder), time.perf_counter()
    for k in range(200):
        assert places.resolve(f"package://none{k}/x.stl").problem
    assert time.perf_counter() - start < 5


def test_a_package_file_that_cannot_be_read_gives_the_folders_name(tmp_path):
    pkg = package(tmp_path / "src" / "pkg")
    for text in (b"", b"\xff\xfe<name>", b"<package><name></name></package>", b"<name>" * 100_000):
        (pkg / "package.xml").write_bytes(text)
        assert found("package://pkg/meshes/a b.stl", None, tmp_path / "src")


def test_what_is_known_of_folders_changes_no_answer(tmp_path):
    """Places that have resolved all else answer as new ones do, in every order."""
    pkg, other = package(tmp_path / "ws" / "pkg"), package(tmp_path / "ws" / "other")
    (tmp_path / "out").mkdir()
    for file in (tmp_path / "out" / "x.stl", pkg / "meshes" / "b.stl", pkg / "x.stl"):
        file.touch()
    (pkg / "meshes" / "away.stl").symlink_to(tmp_path / "out" / "x.stl")
    (pkg / "meshes" / "near.stl").symlink_to("b.stl")
    (pkg / "meshes" / "round").symlink_to("round")
    (pkg / "out").symlink_to(tmp_path / "out")
    (pkg / "again").symlink_to(other / "meshes")
    (pkg / "meshes" / "folder.stl").mkdir()
    folders = ("", "meshes/", "meshes/./", "out/", "out/../", "again/", "../", "nowhere/", "meshes/b.stl/",
               "meshes/round/", "../other/meshes/", "../pkg/")  # fmt: skip
    names = ("b.stl", "x.stl", "a b.stl", "a%20b.stl", "away.stl", "near.stl", "folder.stl", "round", "", ".", "..",
             "pkg", "y" * 300)  # fmt: skip
    starts = ("package://pkg/", "../", f"file://{pkg}/", "model://no/")
    references = [start + folder + name for folder in folders for name in names for start in starts]
    for robot, packages in (
        (pkg / "urdf" / "r.urdf", None),
        (pkg / "urdf" / "r.urdf", [tmp_path / "out"]),
        (None, {"pkg": pkg}),
    ):
        alone = {reference: resolve(reference, robot, packages) for reference in references}
        assert {answer.problem is None for answer in alone.values()} == {True, False}
        for order in (references, references[::-1]):
            places = Places(robot, packages)
            assert {reference: places.resolve(reference) for reference in order} == alone
            assert {reference: places.resolve(reference) for reference in references} == alone


def test_folders_are_looked_at_once(tmp_path, monkeypatch):
    pkg = package(tmp_path / "ws" / "pkg")
    for k in range(100):
        (pkg / "meshes" / f"{k}.stl").touch()
    counts = dict.fromkeys(("realpath", "lstat", "stat"), 0)

    def counted(module, name):
        function = getattr(module, name)

        def count(*arguments, **options):
            counts[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, count)

    for module, name in ((os.path, "realpath"), (os, "lstat"), (os, "stat")):
        counted(module, name)

    def looks(count: int, shapes: int, start: str = "package://pkg/meshes/") -> dict[str, int]:
        """Calls for a robot of so many shapes of so many meshes."""
        for name in counts:
            counts[name] = 0
        places = Places(pkg / "urdf" / "r.urdf")
        for k in range(shapes):
            assert places.resolve(f"{start}{k % count}.stl").problem is None
        return dict(counts)

    for start in ("package://pkg/meshes/", "../meshes/", str(pkg / "meshes") + "/"):
        few, shapes, meshes = looks(10, 10, start), looks(10, 1000, start), looks(100, 100, start)
        assert shapes == few
        assert meshes == few | {"lstat": few["lstat"] + 90}  # whether the file is there, and no link


def test_nothing_is_known_of_the_load_before(tmp_path):
    pkg = package(tmp_path / "ws" / "pkg")
    robot, mesh = pkg / "urdf" / "r.urdf", pkg / "meshes" / "new.stl"
    reference = "package://pkg/meshes/new.stl"
    assert problem(reference, robot).startswith("missing")
    mesh.touch()
    assert found(reference, robot) == mesh
    mesh.unlink()
    (tmp_path / "secret.stl").touch()
    mesh.symlink_to(tmp_path / "secret.stl")
    assert problem(reference, robot).startswith("escapes")
