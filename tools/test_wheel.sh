#!/usr/bin/env bash
# Runs the suite from a wheel: in a new environment, in a folder that has the tests and what they read, but not the source
# of the package. More arguments are pytest's.
#
#     tools/test_wheel.sh dist/vitree-*.whl -n auto --dist loadfile
#     EXTRA= tools/test_wheel.sh dist/vitree-*.whl tests/_core/test_directions.py   # only what vitree itself needs
#
# EXTRA names the extra to install (test). ENVIRONMENT names a folder for the environment, which is then kept.
set -euo pipefail
if [ $# = 0 ]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
wheel=$(realpath "$1")
shift
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
environment=${ENVIRONMENT:-$folder/environment}
extra=${EXTRA-test}
python3 -m venv "$environment"
"$environment/bin/python" -m pip install -q "$wheel${extra:+[$extra]}" pytest mpmath
"$environment/bin/python" -m pip install -q --no-deps --force-reinstall "$wheel"

mkdir "$folder/suite"
git ls-files -z --cached --others --exclude-standard -- . ':!vitree/' |
    tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$folder/suite"
cd "$folder/suite"
env -u PYTHONPATH "$environment/bin/python" -c "
import pathlib, sys, vitree
assert pathlib.Path(vitree.__file__).is_relative_to(pathlib.Path(sys.prefix).resolve()), vitree.__file__
print('vitree', vitree.__version__, 'of', vitree.__file__, 'with', vitree.cpu_width(), 'lanes')"
env -u PYTHONPATH "$environment/bin/python" -m pytest "$@"
