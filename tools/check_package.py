"""Check that the packages in a folder hold what they should: python tools/check_package.py FOLDER.

The folder is that of `python -m build --outdir FOLDER`. The source package has every file of git that a build or a
test needs and nothing generated; a wheel has every Python module and type file, what other Cython modules take, and
neither source of the core nor debug symbols; it has all modules that the compilers of its platform make. No package is
larger than 12 MB, and all have the version of the source.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).parent.parent
#: files of git that the source package leaves out
NOT_PACKED = (".ci/", ".git")
FOR_CYTHON = {"vitree/se3.pxd", "vitree/_core/se3.pxd"}
IN_WHEEL = {".py", ".pyi", ".typed", ".pxd", ".urdf", ".md", ".so", ".pyd"}
#: modules of kernels in wheels whose tags end so; of others one lane
KERNELS = {
    "x86_64": {"_x1", "_x1_avx2", "_x1_avx512", "_x2", "_x4", "_x8"},
    "aarch64": {"_x1", "_x2"},
    "arm64": {"_x1", "_x2"},
}
#: bytes of a package
MOST = 12_000_000


def in_git() -> set[str]:
    """The files of the project."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(listed.split("\n")) - {""}


def faults_of_source(package: pathlib.Path) -> list[str]:
    """What is wrong with the source package."""
    with tarfile.open(package) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {name for name in in_git() if not name.startswith(NOT_PACKED)}
    generated = {name for name in packed if pathlib.Path(name).suffix in {".c", ".so", ".pyd", ".o", ".pyc"}}
    return [f"not in the source package: {name}" for name in sorted(wanted - packed)] + [
        f"generated, in the source package: {name}" for name in sorted(generated)
    ]


def faults_of_wheel(package: pathlib.Path) -> list[str]:
    """What is wrong with the wheel."""
    with zipfile.ZipFile(package) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name and not name.endswith("/")]
        packed = {name: archive.read(name) for name in names}
    wanted = {name for name in in_git() if re.fullmatch(r"vitree/.*\.(py|pyi|typed)|urdf/.*\.urdf", name)}
    wanted |= FOR_CYTHON
    wanted = {re.sub("^urdf/", "vitree/own_robots/", name) for name in wanted}
    kernels = next((names for end, names in KERNELS.items() if package.stem.endswith(end)), {"_x1"})
    built = {name.split("/")[-1].split(".")[0] for name in packed if name.startswith("vitree/_core/")}
    return (
        [f"not in the wheel: {name}" for name in sorted(wanted - set(packed))]
        + [f"no business of the wheel: {name}" for name in packed
           if pathlib.Path(name).suffix not in IN_WHEEL or (name.endswith(".pxd") and name not in FOR_CYTHON)]
        + [f"debug symbols in the wheel: {name}" for name, content in packed.items() if b".debug_info\0" in content]
        + [f"not in the wheel: vitree._core.{name}, of the compiled core" for name in sorted(kernels - built)]
    )


def faults_outside(package: pathlib.Path) -> list[str]:
    """What is wrong with the size and the version of a package."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    faults = []
    if package.stat().st_size > MOST:
        faults.append(f"larger than {MOST / 1e6:.0f} MB")
    if package.name.removesuffix(".tar.gz").split("-")[1] != version:
        faults.append(f"not of version {version}, which pyproject.toml has")
    if f'__version__ = "{version}"' not in (ROOT / "vitree" / "version.py").read_text():
        faults.append(f"vitree/version.py does not say {version}, as pyproject.toml does")
    return faults


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    faults = []
    for pattern, check in (("*.tar.gz", faults_of_source), ("*.whl", faults_of_wheel)):
        packages = sorted(folder.glob(pattern))
        if not packages:
            faults.append(f"{folder} has no {pattern}")
        for package in packages:
            print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB")
            faults += [f"{package.name}: {fault}" for fault in faults_outside(package) + check(package)]
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()
