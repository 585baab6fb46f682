#!/usr/bin/env bash
# Cross-compiles a wheel of the last commit for Linux on aarch64, and runs tests from it in qemu. For Debian on x86-64.
#
#     tools/test_aarch64.sh dist                                   # the wheel into dist, and the tests named below
#     tools/test_aarch64.sh dist -m "not slow" tests/_core         # more arguments are pytest's
#     tools/test_aarch64.sh dist/vitree-*-linux_aarch64.whl        # the tests alone
#
# Runs are compared, to the last bit, with those of PYTHON's own vitree, if it has one. The script needs
# gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user-static of Debian, and a PYTHON of the version of Debian's
# python3, with pip and the packages of tools/build_constraints.txt. Debian's Python for arm64 is unpacked in a folder
# (AARCH64, build/aarch64 if it is not given), and nothing of the system changes. The wheel is for the C library of Debian's
# compiler; those of a release are made by the workflow. Tests that start programs fail there, since qemu does not run what
# a program starts.
set -euo pipefail
if [ $# = 0 ]; then
    sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
case $1 in
    *.whl) wheel=$(realpath "$1") ;;
    *) wheel='' && mkdir -p "$1" && dist=$(realpath "$1") ;;
esac
shift
python=$(realpath -s "$(command -v "${PYTHON:-python3}")")
cd "$(dirname "$0")/.."
constraints=$PWD/tools/build_constraints.txt
work=${AARCH64:-build/aarch64}
mkdir -p "$work"
work=$(realpath "$work")
system=$work/system

# Debian's Python for arm64, by an apt with folders of its own
if [ ! -e "$system/usr/bin/python3" ]; then
    mkdir -p "$work"/apt/lists/partial "$work"/apt/cache/archives/partial "$system"
    : > "$work/apt/status"
    printf '%s\n' 'APT::Architecture "arm64";' 'APT::Architectures { "arm64"; };' "Dir::State \"$work/apt\";" \
        "Dir::State::status \"$work/apt/status\";" "Dir::Cache \"$work/apt/cache\";" \
        'APT::Sandbox::User "root";' > "$work/apt/apt.conf"
    APT_CONFIG=$work/apt/apt.conf apt-get update -q
    APT_CONFIG=$work/apt/apt.conf apt-get install -qy --download-only --no-install-recommends \
        libpython3-dev python3 libstdc++6
    for package in "$work"/apt/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$system"
    done
fi
version=$(basename "$(readlink -f "$system/usr/bin/python3")")
version=${version#python}
if [ "$("$python" -c 'import sys; print("{}.{}".format(*sys.version_info))')" != "$version" ]; then
    echo "$python is not of the version $version, which Debian's Python for arm64 has: name one by PYTHON" >&2
    exit 2
fi

# the wheel
if [ -z "$wheel" ]; then
    source=$work/source
    rm -rf "$source" "$work/made" "$work/data"
    mkdir -p "$source" "$work/made" "$work/data"
    git archive HEAD | tar -xf - -C "$source"
    cp "$system/usr/lib/python$version"/_sysconfigdata__*aarch64-linux-gnu.py "$work/data"
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    seconds=$SECONDS
    (
        cd "$source"
        export _PYTHON_HOST_PLATFORM=linux-aarch64 _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__aarch64-linux-gnu
        export PYTHONPATH=$work/data VITREE_WIDTHS=all CC=aarch64-linux-gnu-gcc LDSHARED="aarch64-linux-gnu-gcc -shared"
        export CFLAGS="-I$system/usr/include/python$version -idirafter $system/usr/include"
        "$python" -m pip wheel -q --no-build-isolation --no-deps -w "$work/made" .
    )
    cp "$work"/made/*.whl "$dist"
    wheel=$(ls "$dist"/*linux_aarch64.whl | tail -1)
    echo "$(basename "$wheel") in $((SECONDS - seconds)) s, $(stat -c %s "$wheel") bytes"
fi

# what it needs, and the suite without the source of the package
packages=$work/packages
if [ ! -e "$packages/numpy" ]; then
    mkdir -p "$work/wheels" "$packages"
    "$python" -m pip download -q -c "$constraints" -d "$work/wheels" --python-version "$version" --implementation cp \
        --only-binary=:all: --platform manylinux2014_aarch64 --platform manylinux_2_26_aarch64 \
        --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 numpy scipy lxml pyyaml pytest mpmath
    "$python" -m pip wheel -q --no-deps -w "$work/wheels" urdf-parser-py
    for needed in "$work"/wheels/*.whl; do
        "$python" -m zipfile -e "$needed" "$packages"
    done
fi
rm -rf "$packages"/vitree*
"$python" -m zipfile -e "$wheel" "$packages"
rm -rf "$work/suite"
mkdir "$work/suite"
git ls-files -z --cached --others --exclude-standard -- . ':!vitree/' |
    tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$work/suite"
cd "$work/suite"
if [ $# = 0 ]; then
    set -- -m "not slow" tests/_core/test_core.py tests/_core/test_directions.py tests/_core/test_next_action.py \
        tests/_core/test_riccati.py tests/test_se3_batch.py tests/integrators/test_integrators.py \
        tests/integrators/test_kinetic.py tests/integrators/test_gauss.py tests/model/test_contact_steps.py \
        -k "not talos and not free_fall and not (jams_lose_friction and 14)"  # robots of a package; a jam with other bits
fi
emulated() {
    env -u VIRTUAL_ENV PYTHONPATH="$packages" PYTHONDONTWRITEBYTECODE=1 PYTHONNOUSERSITE=1 \
        qemu-aarch64-static -L "$system" "$system/usr/bin/python$version" -S "$@"
}
emulated -c "import platform, vitree; print('vitree', vitree.__version__, 'on', platform.machine(), 'with', vitree.cpu_width(), 'lanes')"

# runs in flight and in contact have the same bits as by the vitree of PYTHON, where that has one
bits="
import hashlib, vitree as vt
ground = vt.Ground(friction=0.7)
for method, options, more in (
    ('linear-time', {}, {}), ('linear-time', {'order': 4}, {}), ('midpoint', {}, {}), ('gauss', {}, {}), ('rk4', {}, {}),
    ('linear-time', {}, {'ground': ground}),
):
    model = vt.load_urdf(vt.find_robot('human'), base='free', **more)
    q = vt.place_on_ground(model, model.neutral()) if more else model.neutral()
    run = vt.simulate(model, q, duration=0.05, dt=1e-3, method=method, control=[0.1] * model.nv, **options)
    print(method, options, len(run.contacts or ()), hashlib.sha256(run.q.tobytes() + run.p.tobytes()).hexdigest())
"
if "$python" -c "import vitree" 2> /dev/null; then
    diff <("$python" -c "$bits") <(emulated -c "$bits") && echo "the bits are those of this machine"
fi
emulated -m pytest -p no:cacheprovider "$@"
