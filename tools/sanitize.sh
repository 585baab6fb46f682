#!/usr/bin/env bash
# Builds the core with the sanitizers of addresses and of undefined behaviour, in a copy of the tree, and runs the fast
# tests and tools/fuzz_calls.py with it. A report of a sanitizer ends the process that it is of, and so the script.
#
#     tools/sanitize.sh                           # the tests, and ten minutes of the fuzzer
#     tools/sanitize.sh --no-suite --seconds 90 --seed 1 --calls 4000   # as .ci/run has it: the same calls each time
#
# The copy stays in build/sanitized, so that a second run compiles only what has changed. PYTHON names another Python
# than that of .venv-test; it needs the packages of the extra "test".
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=600 suite=yes seed=$(date +%s) calls=inf
while [ $# -gt 0 ]; do
    case $1 in
        --seconds) seconds=$2; shift 2 ;;
        --seed) seed=$2; shift 2 ;;
        --calls) calls=$2; shift 2 ;;
        --no-suite) suite=no; shift ;;
        *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
python=$(realpath -s "${PYTHON:-.venv-test/bin/python}")
copy=$PWD/build/sanitized

# the tree as git sees it, changes that are not committed included
mkdir -p "$copy"
find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$copy"
cd "$copy"

# setup.py compiles with -O3, one lane for the platform's baseline; -g keeps the names for reports. It has
# -fwrapv as well: overflow of whole numbers is no report.
checks="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
VITREE_WIDTHS=1 CFLAGS="-g -g1 -fno-omit-frame-pointer $checks" LDFLAGS="$checks" \
    "$python" setup.py -q build_ext --inplace

# Python's and NumPy's memory comes from malloc, so that a read beyond an array is seen; Python itself leaks at its end.
# libstdc++ is there before a library throws through the sanitizer.
compiler=${CC:-gcc}
preload=$($compiler -print-file-name=libasan.so):$($compiler -print-file-name=libubsan.so)
preload=$preload:$($compiler -print-file-name=libstdc++.so.6)
checked() {
    env LD_PRELOAD="$preload" PYTHONPATH="$copy" PYTHONMALLOC=malloc MPLBACKEND=Agg \
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096 \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 "$python" "$@"
}

checked -c "
import pathlib, vitree._core._x1 as core
assert pathlib.Path(core.__file__).is_relative_to('$copy'), core.__file__
assert 'libasan' in pathlib.Path('/proc/self/maps').read_text()"
if [ $suite = yes ]; then
    # only one number of lanes is compiled; the sanitizer takes more memory than a process that has given up may have
    checked -m pytest -n auto --dist loadfile --no-loadscope-reorder -p no:cacheprovider -m 'not slow' \
        -k 'not every_width and not an_ulp and not given_up'
fi
checked tools/fuzz_calls.py --seconds "$seconds" --seed "$seed" --calls "$calls" --sanitized --limit 120
