#!/usr/bin/env bash
# Runs random drops with valgrind's memcheck, and fails where the core decides by a value that it has not written: the
# sanitizers of addresses and of undefined behaviour do not see that, and bits would differ from build to build.
#
#     tools/memcheck.sh [--drops N] [--mixed N] [--first SEED]       # options of benchmarks/random_drops.py
#
# Valgrind runs no AVX-512: a core that was built for a CPU with it alone cannot be checked (VITREE_WIDTHS=all builds the
# others, too). PYTHON names another Python than that of .venv-test.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v valgrind >/dev/null || { echo "valgrind is not installed: nothing is checked" >&2; exit 0; }
report=$(mktemp)
trap 'rm -f "$report"' EXIT
PYTHONMALLOC=malloc valgrind --error-limit=no --log-file="$report" \
    "${PYTHON:-.venv-test/bin/python}" benchmarks/random_drops.py --processes 0 "$@"
# a report starts with what happened, and has the place in its second line
if grep -A1 "uninitialised\|Invalid \(read\|write\)" "$report" | grep -q "_core_"; then
    grep -A12 "uninitialised\|Invalid \(read\|write\)" "$report" | grep -B1 -A11 "at 0x.*_core_" | head -60 >&2
    exit 1
fi
