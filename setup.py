"""Builds the compiled core: two sources of kernels, for one lane and for several, and some small modules.

Four things are read from the environment. VITREE_WIDTHS says for which CPUs. Without it the core is built for the CPU
of this machine: what vitree._core loads here, and nothing else. VITREE_WIDTHS=all builds all that the compiler makes,
for packages; so does a build for another machine, which cannot be asked. VITREE_WIDTHS=1 (or 1,4 ...) builds those
widths. VITREE_OPT=1 compiles with -O1: the same bits in half the time, slower; for work on the core. CFLAGS=-g keeps
the symbols for debuggers and profilers. SOURCE_DATE_EPOCH is the time that files in packages have: with it two builds
of the same source give the same bytes.

A module is compiled where something differs of what it is made of (`ingredients`); times of files say nothing. What was
compiled stays in build/core. The platform is not asked for widths: a compiler may make code for another one.
"""

import gzip
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import threading
import time

import numpy
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CompileError

CORE = pathlib.Path("vitree/_core")
#: the generated C, and compiled modules by what they are made of
GENERATED, MADE = pathlib.Path("build/cython"), pathlib.Path("build/core")
#: how many builds of a module are kept
KEPT = 3
#: what each width needs beyond the platform's baseline
WIDE_FLAGS = {
    # packing scalars of one instance into vectors costs more in shuffles than it gains
    1: ["-fno-tree-slp-vectorize"],
    2: [],
    4: ["-mavx2"],
    8: ["-mavx512f", "-mavx512dq", "-mavx512vl"],
}
#: one lane, and one lane again: with instructions of three operands, and with twice the registers
ONE_LANE = {1: "_x1", 4: "_x1_avx2", 8: "_x1_avx512"}
#: maps of the whole body, likewise; more registers gain nothing there
MAPS = {1: "_maps", 4: "_maps_avx2"}
#: Of one lane: copies of structs through registers of 512 bits stall, and some compilers can avoid them
NARROW_COPIES = ["-mprefer-vector-width=128", "-mmove-max=128", "-mstore-max=128"]
#: Cython's own code for memory views, once for all modules
SHARED = "vitree._core._cyutility"
DIRECTIVES = {
    "language_level": 3,
    "cdivision": True,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    # nothing relies on the interpreter's lock: "Threads" in CONTRIBUTING.md
    "freethreading_compatible": True,
}
#: run by another Python: Cython holds the interpreter's lock
CYTHONIZE = """
import json, sys
from Cython.Build import cythonize
from setuptools import Extension
name, source, options = json.loads(sys.argv[1])
cythonize([Extension(name, [source])], force=True, quiet=True, **options)
"""
SYMBOLS = "-g" in os.environ.get("CFLAGS", "").split()
JOBS = 1 if sys.platform == "win32" else os.cpu_count() or 1
#: seconds between two lines that say what is being compiled
SAID_EVERY = 10.0


def asked_widths():
    """Return the widths in VITREE_WIDTHS, to which one lane always belongs, or None where it names no numbers."""
    asked = os.environ.get("VITREE_WIDTHS", "").replace(",", " ").split()
    if asked in ([], ["all"]):
        return None
    unknown = [width for width in asked if width not in map(str, WIDE_FLAGS)]
    if unknown:
        choices = ", ".join([*map(str, WIDE_FLAGS), "all"])
        raise SystemExit(f"VITREE_WIDTHS names {', '.join(unknown)}; the choices are {choices}")
    return {1, *map(int, asked)}


def modules_of(widths):
    """Return the names of the modules of kernels for widths, those that take longest to compile first."""
    one = [name for width, name in reversed(ONE_LANE.items()) if width in widths]
    wide = [f"_x{width}" for width in sorted(widths, reverse=True) if width > 1]
    # one of each source first: two of the same would wait for each other's C
    return [*one[:1], *wide[:1], *one[1:], *wide[1:]]


def loaded_of(widths):
    """Return those modules that vitree._core loads on a CPU that runs the widths: `scalar`, `wide`, `stages` there."""
    most = max(widths)
    one = next(name for width, name in reversed(ONE_LANE.items()) if width in widths)
    return [one, *(f"_x{width}" for width in sorted({most, min(most, 4)}, reverse=True) if width > 1)]


def width_of(extension):
    """Return the width whose instructions a module is made of."""
    endings = {"_x2": 2, "_x4": 4, "_x8": 8, "_avx2": 4, "_avx512": 8}
    return next((width for ending, width in endings.items() if extension.name.endswith(ending)), 1)


def short(extension):
    return extension.name.rpartition(".")[2]


def core(name, source, width=1, flags=(), suffix=".pyx"):
    return Extension(
        f"vitree._core.{name}",
        [(CORE / f"{source}{suffix}").as_posix()],
        define_macros=[("VT_WIDTH", str(width)), ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=[*WIDE_FLAGS[width], *flags],
        extra_link_args=["-Wl,-s"] if sys.platform == "linux" and not SYMBOLS else [],
        include_dirs=[str(CORE / "lane"), numpy.get_include()],
    )


def modules():
    """Return the modules that may be built, those that take longest to compile first."""
    made = []
    for name in modules_of(asked_widths() or set(WIDE_FLAGS)):
        if name in ONE_LANE.values():
            width = next(w for w, x in ONE_LANE.items() if x == name)
            made.append(core(name, "_scalar", 1, [*WIDE_FLAGS[width], *NARROW_COPIES] if width > 1 else []))
        else:
            made.append(core(name, "_wide", int(name.removeprefix("_x"))))
    maps = [core(name, "_maps", 1, WIDE_FLAGS[width] if width > 1 else [])
            for width, name in MAPS.items() if width in (asked_widths() or set(WIDE_FLAGS))]  # fmt: skip
    # no formulas in these
    glue = [core(name, name, 1, ["-O2"]) for name in ("types", "_cpu", "_link")]
    glue.append(core("_cyutility", "_cyutility", 1, ["-O2"], ".c"))
    return [*made, core("_vehicles", "_vehicles"), core("_tasks", "_tasks"), *maps, core("se3", "se3"), *glue]


# what names a text of the core in another: of Cython, of C, and of C in Cython
INCLUDED = re.compile(r'^\s*#?\s*(?:include|cdef extern from)\s+"([^"]+)"', re.MULTILINE)
CIMPORTED = re.compile(r"^\s*(?:from\s+(vitree[\w.]*)\s+cimport|cimport\s+(vitree[\w.]*))", re.MULTILINE)


def texts_of(source):
    """Return the texts that a source is made of, those included: bytes by path."""
    found, left = {}, [pathlib.Path(source)]
    while left:
        path = left.pop()
        if path.as_posix() in found or not path.is_file():
            continue
        content = path.read_bytes()
        found[path.as_posix()] = content
        text = content.decode()
        left += [folder / name for name in INCLUDED.findall(text) for folder in (path.parent, CORE, CORE / "lane")]
        left += [pathlib.Path(*(a or b).split(".")).with_suffix(".pxd") for a, b in CIMPORTED.findall(text)]
        left.append(path.with_suffix(".pxd"))
    return found


def key_of(**parts):
    """Return the digest of what something is made of."""
    plain = json.dumps(parts, sort_keys=True, default=lambda content: hashlib.sha256(content).hexdigest())
    return hashlib.sha256(plain.encode()).hexdigest()[:32]


class Underway:
    """Says every ten seconds what is being compiled."""

    def __init__(self):
        self.start, self.since, self.over = time.monotonic(), {}, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *raised):
        self.over.set()
        self.thread.join()

    def watch(self):
        while not self.over.wait(SAID_EVERY):
            now = time.monotonic()
            parts = [f"{name} for {now - since:.0f} s" for name, since in self.since.copy().items()]
            self.say(f"{now - self.start:.0f} s; at work: {', '.join(parts) or 'nothing'}")

    @staticmethod
    def say(text):
        # one write: several modules are compiled at a time
        print(f"vitree: {text}\n", end="", flush=True)


class BuildCore(build_ext):
    """Compiles what differs from what was compiled before, on all cores; all that is generated stays in build/."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or (JOBS if JOBS > 1 else None)
        # content is compared here, not times of files
        self.anew, self.force = bool(self.force), True

    def run(self):
        super().run()
        # modules of other widths, of an earlier build, may be of other source
        wanted = {pathlib.Path(self.get_ext_filename(extension.name)).name for extension in self.extensions}
        ending = self.get_ext_filename("x")[1:]
        for folder in (pathlib.Path(self.build_lib, CORE), *([CORE] if self.inplace else [])):
            for module in (*folder.glob(f"_x*{ending}"), *folder.glob(f"_maps*{ending}")):
                if module.name not in wanted:
                    module.unlink()

    def build_extensions(self):
        self.leave_out_modules()
        unix = self.compiler.compiler_type != "msvc"
        unknown = [flag for flag in NARROW_COPIES if not (unix and self.accepts("-Werror", flag))]
        for extension in self.extensions:
            if unix:
                extension.extra_compile_args = [
                    f"-O{os.environ.get('VITREE_OPT', '3')}",
                    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
                    "-Wno-psabi", "-Wno-unused-function", "-Wno-maybe-uninitialized", *([] if SYMBOLS else ["-g0"]),
                    *(flag for flag in extension.extra_compile_args if flag not in unknown),
                ]  # fmt: skip
            else:
                extension.extra_compile_args = ["/O2", "/fp:precise"]
        self.tools, self.compiled = self.asked_tools(), []
        self.turns = {extension.sources[0]: threading.Lock() for extension in self.extensions}
        with Underway() as self.underway:
            names = ", ".join(map(short, self.extensions))
            self.underway.say(f"modules for {self.target}: {names}; {self.parallel or 1} at a time")
            super().build_extensions()
            seconds = time.monotonic() - self.underway.start
            self.underway.say(f"{len(self.compiled)} of {len(self.extensions)} modules compiled, in {seconds:.0f} s")

    def leave_out_modules(self):
        """Leave out the modules that the compiler cannot make, and those that this machine does not load."""
        # none of MSVC, which has no vectors, and of MinGW, whose stack is not aligned for those of more than two
        makes = {1, *(w for w in WIDE_FLAGS if w > 1 and self.compiler.compiler_type == "unix" and self.makes(w))}
        refused = {*map(width_of, self.extensions)} - makes
        if refused and asked_widths():
            raise SystemExit(
                f"VITREE_WIDTHS asks for {', '.join(map(str, sorted(refused)))}; for this platform the compiler makes "
                f"{', '.join(map(str, sorted(makes)))}"
            )
        self.extensions = [extension for extension in self.extensions if width_of(extension) in makes]
        self.target = "all CPUs of the platform"
        if os.environ.get("VITREE_WIDTHS"):
            self.target = f"VITREE_WIDTHS={os.environ['VITREE_WIDTHS']}"
        elif runs := self.runs():
            self.target = "this CPU alone (VITREE_WIDTHS=all: for all)"
            loaded = loaded_of(makes & runs)
            self.extensions = [
                x for x in self.extensions
                if short(x) in loaded or (not short(x).startswith("_x") and width_of(x) in runs)
            ]  # fmt: skip

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

    def runs(self):
        """Return the widths that this CPU runs, or None where the compiler makes code for another machine."""
        if self.compiler.compiler_type != "unix" or "_PYTHON_HOST_PLATFORM" in os.environ:
            return None
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "asked.c", str(pathlib.Path(folder) / "asked")
            lines = "".join(f'    if (vt_runs({width})) puts("{width}");\n' for width in WIDE_FLAGS)
            source.write_text(f'#include <stdio.h>\n#include "cpu.h"\nint main(void) {{\n{lines}    return 0;\n}}\n')
            command = [*self.compiler.compiler_so, f"-I{(CORE / 'lane').absolute()}", str(source), "-o", program]
            try:
                subprocess.run(command, capture_output=True, check=True)
                told = subprocess.run([program], capture_output=True, check=True, text=True, timeout=60)
            except (OSError, subprocess.SubprocessError):
                return None
        return {*map(int, told.stdout.split())}

    def asked_tools(self):
        """Return what compiles, with its versions, and what it reads from the environment."""
        compiler = getattr(self.compiler, "compiler_so", None) or []
        version = subprocess.run([compiler[0], "--version"], capture_output=True, text=True).stdout if compiler else ""
        return {
            "compiler": [version, compiler, getattr(self.compiler, "linker_so", None)],
            "environment": [os.environ.get(x) for x in ("CPATH", "C_INCLUDE_PATH", "INCLUDE", "LIBRARY_PATH", "LIB")]
            + [os.environ.get("MACOSX_DEPLOYMENT_TARGET"), os.environ.get("VCToolsVersion")],
            "python": [sys.version, sysconfig.get_config_var("EXT_SUFFIX")],
            "packages": {name: importlib.metadata.version(name) for name in ("Cython", "numpy", "setuptools")},
            "setup": pathlib.Path("setup.py").read_bytes(),
        }

    def ingredients(self, extension):
        """Return all that a module is made of."""
        return {
            **self.tools,
            "name": extension.name,
            "texts": texts_of(extension.sources[0]),
            "directives": DIRECTIVES,
            "macros": extension.define_macros,
            "flags": [extension.extra_compile_args, extension.extra_link_args],
        }

    def build_extension(self, extension):
        target = pathlib.Path(self.get_ext_fullpath(extension.name))
        kept = MADE / f"{target.name}.{key_of(**self.ingredients(extension))}"
        target.parent.mkdir(parents=True, exist_ok=True)
        if kept.exists() and not self.anew:
            target.unlink(missing_ok=True)  # a process may have it open
            shutil.copyfile(kept, target)
            shutil.copymode(kept, target)
            os.utime(kept)
            return
        name, start = short(extension), time.monotonic()
        self.underway.since[name] = start
        try:
            extension.sources = [self.c_text(extension)]
            super().build_extension(extension)
        finally:
            del self.underway.since[name]
        self.compiled.append(name)
        self.underway.say(f"{name} in {time.monotonic() - start:.0f} s")
        MADE.mkdir(parents=True, exist_ok=True)
        shutil.copy2(target, f"{kept}.part")
        os.replace(f"{kept}.part", kept)
        os.utime(kept)
        for old in sorted(MADE.glob(f"{target.name}.*"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)

    def c_text(self, extension):
        """Return the C of a module. Cython runs once a source; a second file gives the module's name."""
        source = pathlib.Path(extension.sources[0])
        made = GENERATED / source.with_suffix(".c")
        name, of_source = short(extension), source.stem
        options = {
            "build_dir": str(GENERATED), "shared_utility_qualified_name": SHARED, "compiler_directives": DIRECTIVES,
        }  # fmt: skip
        with self.turns[extension.sources[0]]:
            noted = made.with_suffix(".key")
            key = key_of(
                texts=texts_of(source), options=options, tools=self.tools["packages"], setup=self.tools["setup"]
            )
            if self.anew or not (made.exists() and noted.exists() and noted.read_text() == key):
                noted.unlink(missing_ok=True)
                what = json.dumps([f"vitree._core.{of_source}", source.as_posix(), options])
                if subprocess.run([sys.executable, "-c", CYTHONIZE, what]).returncode:
                    raise CompileError(f"Cython has errors in {source}")
                noted.write_text(key)
        if name == of_source:
            return made.as_posix()
        named = made.with_name(f"{name}.c")
        named.write_text(f'#define PyInit_{of_source} PyInit_{name}\n#include "{made.name}"\n')
        return named.as_posix()


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
