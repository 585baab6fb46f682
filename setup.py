"""Builds the compiled core: one source, once for each number of lanes the compiler can make.

Four things are read from the environment. VITREE_WIDTHS=1 (or 1,4 ...) builds no other widths: less to compile.
VITREE_OPT=1 compiles with -O1: the same bits in half the time, slower; for work on the core. CFLAGS=-g keeps the
symbols for debuggers and profilers. SOURCE_DATE_EPOCH is the time that files in packages have: with it two builds of
the same source give the same bytes.

Without VITREE_WIDTHS the compiler is asked which widths it can make. The platform is not: a compiler may make code for
another one.
"""

import gzip
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

CORE = pathlib.Path("vitree/_core")
#: what each width needs beyond the platform's baseline
WIDE_FLAGS = {
    # packing scalars of one instance into vectors costs more in shuffles than it gains
    1: ["-fno-tree-slp-vectorize"],
    2: [],
    4: ["-mavx2"],
    8: ["-mavx512f", "-mavx512dq", "-mavx512vl"],
}
#: Of one lane: copies of structs through registers of 512 bits stall, and some compilers can avoid them
NARROW_COPIES = ["-mprefer-vector-width=128", "-mmove-max=128", "-mstore-max=128"]
HEADERS = [str(CORE / "lane" / name) for name in ("lane.h", "pose.h", "coefficients.h")]
#: Cython's own code for memory views, once for all modules
SHARED = "vitree._core._cyutility"
SYMBOLS = "-g" in os.environ.get("CFLAGS", "").split()
JOBS = 1 if sys.platform == "win32" else os.cpu_count() or 1


def chosen_widths():
    """Return the widths to build: those in VITREE_WIDTHS, or all. One lane is always built."""
    asked = os.environ.get("VITREE_WIDTHS", "").replace(",", " ").split()
    unknown = [width for width in asked if width not in map(str, WIDE_FLAGS)]
    if unknown:
        raise SystemExit(f"VITREE_WIDTHS names {', '.join(unknown)}; the choices are {', '.join(map(str, WIDE_FLAGS))}")
    return sorted({1, *map(int, asked or WIDE_FLAGS)})


def width_of(extension):
    """Return the width whose instructions a module is made of."""
    endings = {"_x2": 2, "_x4": 4, "_x8": 8, "_avx2": 4, "_avx512": 8}
    return next((width for ending, width in endings.items() if extension.name.endswith(ending)), 1)


def core(name, width=1, flags=(), suffix=".pyx"):
    return Extension(
        f"vitree._core.{name}",
        [(CORE / f"{name}{suffix}").as_posix()],
        define_macros=[("VT_WIDTH", str(width)), ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=[*WIDE_FLAGS[width], *flags],
        extra_link_args=["-Wl,-s"] if sys.platform == "linux" and not SYMBOLS else [],
        include_dirs=[str(CORE / "lane"), numpy.get_include()],
        depends=[*HEADERS, "setup.py"],
    )


def modules():
    """Return the modules of the core, those that take longest to compile first."""
    widths = chosen_widths()
    wide = [core(f"_x{width}", width) for width in reversed(widths)]
    # one lane again: with instructions of three operands, and with twice the registers
    for width, name in ((4, "_x1_avx2"), (8, "_x1_avx512")):
        if width in widths:
            wide.append(core(name, 1, [*WIDE_FLAGS[width], *NARROW_COPIES]))
    wide.sort(key=lambda extension: "_x1" not in extension.name)
    # no formulas in these
    glue = [core(name, 1, ["-O2"]) for name in ("types", "_cpu", "_link")] + [core("_cyutility", 1, ["-O2"], ".c")]
    return [*wide, core("_vehicles"), core("se3"), *glue]


class BuildCore(build_ext):
    """Cython and the compiler, each on all cores; the generated C stays in build/."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or (JOBS if JOBS > 1 else None)

    def run(self):
        super().run()
        # modules of other widths, of an earlier build, may be of other source
        wanted = {pathlib.Path(self.get_ext_filename(extension.name)).name for extension in self.extensions}
        ending = self.get_ext_filename("x")[1:]
        for folder in (pathlib.Path(self.build_lib, CORE), *([CORE] if self.inplace else [])):
            for module in folder.glob(f"_x*{ending}"):
                if module.name not in wanted:
                    module.unlink()

    def build_extensions(self):
        from Cython.Build import cythonize

        self.leave_out_widths()
        unix = self.compiler.compiler_type != "msvc"
        start = time.monotonic()
        print(f"vitree: {len(self.extensions)} modules, {JOBS} at a time; to C first", flush=True)
        made = cythonize(
            self.extensions,
            build_dir="build/cython",
            nthreads=JOBS if JOBS > 1 else 0,
            shared_utility_qualified_name=SHARED,
            compiler_directives={
                "language_level": 3,
                "cdivision": True,
                "boundscheck": False,
                "wraparound": False,
                "initializedcheck": False,
                # nothing relies on the interpreter's lock: "Threads" in CONTRIBUTING.md
                "freethreading_compatible": True,
            },
        )
        print(f"vitree: C in {time.monotonic() - start:.0f} s", flush=True)
        unknown = [flag for flag in NARROW_COPIES if not (unix and self.accepts("-Werror", flag))]
        sources = {extension.name: extension.sources for extension in made}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
            if unix:
                extension.extra_compile_args = [
                    f"-O{os.environ.get('VITREE_OPT', '3')}",
                    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
                    "-Wno-psabi", "-Wno-unused-function", *([] if SYMBOLS else ["-g0"]),
                    *(flag for flag in extension.extra_compile_args if flag not in unknown),
                ]  # fmt: skip
            else:
                extension.extra_compile_args = ["/O2", "/fp:precise"]
        super().build_extensions()
        print(f"vitree: compiled in {time.monotonic() - start:.0f} s", flush=True)

    def leave_out_widths(self):
        """Leave out the modules that the compiler cannot make."""
        # none of MSVC, which has no vectors, and of MinGW, whose stack is not aligned for those of more than two
        makes = {1, *(w for w in WIDE_FLAGS if w > 1 and self.compiler.compiler_type == "unix" and self.makes(w))}
        refused = {*map(width_of, self.extensions)} - makes
        if refused and os.environ.get("VITREE_WIDTHS"):
            raise SystemExit(
                f"VITREE_WIDTHS asks for {', '.join(map(str, sorted(refused)))}; for this platform the compiler makes "
                f"{', '.join(map(str, sorted(makes)))}"
            )
        self.extensions = [extension for extension in self.extensions if width_of(extension) in makes]

    def accepts(self, *flags, text="int empty;\n"):
        """Return whether the compiler takes flags, for a text of C."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "tried.c"
            source.write_text(text)
            made = str(source.with_suffix(".o"))
            command = [*self.compiler.compiler_so, *flags, "-c", str(source), "-o", made]
            return subprocess.run(command, capture_output=True).returncode == 0

    def makes(self, width):
        """Return whether the compiler makes vectors of so many lanes, for the platform that it makes code for."""
        flags = [f"-DVT_WIDTH={width}", f"-I{(CORE / 'lane').absolute()}", *WIDE_FLAGS[width]]
        known = all(self.accepts("-Werror", flag) for flag in WIDE_FLAGS[width])
        return known and self.accepts(*flags, text='#include "lane.h"\n')

    def build_extension(self, extension):
        target = pathlib.Path(self.get_ext_fullpath(extension.name))
        in_source = CORE / target.name
        if self.editable_mode and in_source.exists():  # still good if it is newer than its source
            self.mkpath(str(target.parent))
            self.copy_file(str(in_source), str(target))
        start = time.monotonic()
        super().build_extension(extension)
        # one write: several modules are compiled at a time
        print(f"vitree: {extension.name} in {time.monotonic() - start:.0f} s\n", end="", flush=True)


class PackSource(sdist):
    """The source package. With SOURCE_DATE_EPOCH its bytes depend on the source alone."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        written = super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        moment = os.environ.get("SOURCE_DATE_EPOCH")
        if format != "gztar" or moment is None:
            return written
        files = sorted(path for path in pathlib.Path(root_dir or ".", base_dir).rglob("*") if path.is_file())
        with (
            open(written, "wb") as file,
            gzip.GzipFile("", "wb", mtime=int(moment), fileobj=file) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in files:
                name = path.relative_to(root_dir or ".").as_posix()
                entry = archive.gettarinfo(path, name)
                entry.mtime, entry.mode = int(moment), 0o755 if entry.mode & 0o100 else 0o644
                entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, "", ""
                with path.open("rb") as content:
                    archive.addfile(entry, content)
        return written


if __name__ == "__main__":
    packages = {*find_packages(include=["vitree", "vitree.*"]), "vitree.own_robots"}
    setup(packages=sorted(packages), ext_modules=modules(), cmdclass={"build_ext": BuildCore, "sdist": PackSource})
