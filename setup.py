"""Builds the compiled core: one source, once for each number of lanes the compiler can make."""

import os
import platform
import sys

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

X86 = platform.machine().lower() in ("x86_64", "amd64")
#: what each width needs beyond the platform's baseline
WIDE_FLAGS = {
    # packing scalars of one instance into vectors costs more in shuffles than it gains
    1: ["-fno-tree-slp-vectorize"],
    2: [],
}
if X86:
    WIDE_FLAGS |= {4: ["-mavx2"], 8: ["-mavx512f", "-mavx512dq", "-mavx512vl"]}
HEADERS = ["vitree/_core/lane/lane.h", "vitree/_core/lane/coefficients.h"]


class BuildCore(build_ext):
    """Compiler flags by compiler; without vector extensions only one lane is built."""

    def build_extensions(self):
        unix = self.compiler.compiler_type != "msvc"
        if not unix:
            self.extensions = [e for e in self.extensions if not e.name.endswith(("_x2", "_x4", "_x8", "_avx512"))]
        for extension in self.extensions:
            if unix:
                extension.extra_compile_args = [
                    "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
                    "-Wno-psabi", "-Wno-unused-function", *extension.extra_compile_args,
                ]  # fmt: skip
            else:
                extension.extra_compile_args = ["/O2", "/fp:precise"]
        super().build_extensions()


def core(name, width=1, flags=()):
    return Extension(
        f"vitree._core.{name}",
        [f"vitree/_core/{name}.pyx"],
        define_macros=[("VT_WIDTH", str(width))],
        extra_compile_args=[*WIDE_FLAGS[width], *flags],
        include_dirs=["vitree/_core/lane"],
        depends=HEADERS,
    )


extensions = [core("types"), core("_cpu"), core("_vehicles"), *(core(f"_x{width}", width) for width in WIDE_FLAGS)]
if X86:  # one lane again, with twice the registers
    extensions.append(core("_x1_avx512", 1, WIDE_FLAGS[8]))
parallel = 0 if sys.platform == "win32" else min(len(extensions), os.cpu_count() or 1)
setup(
    packages=[*find_packages(include=["vitree*"]), "vitree.own_robots"],
    ext_modules=cythonize(
        extensions,
        nthreads=0,
        compiler_directives={
            "language_level": 3,
            "cdivision": True,
            "boundscheck": False,
            "wraparound": False,
            "initializedcheck": False,
        },
    ),
    cmdclass={"build_ext": BuildCore},
    options={"build_ext": {"parallel": parallel or None}},
)
