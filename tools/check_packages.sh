#!/usr/bin/env bash
# Checks the packages in a folder as PyPI and pip see them, and then what is in them: tools/check_packages.sh FOLDER.
# PYTHON names a Python that has twine and check-wheel-contents.
set -euo pipefail
folder=$(realpath "$1")
python=$(realpath -s "$(command -v "${PYTHON:-python}")")
cd "$(dirname "$0")/.."

"$python" -m twine check --strict "$folder"/*.tar.gz "$folder"/*.whl
"$python" -m check_wheel_contents "$folder"/*.whl
"$python" tools/check_package.py "$folder"
