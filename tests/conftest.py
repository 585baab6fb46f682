"""The tests' own modules are importable by name."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
pytest.register_assert_rewrite("directions", "kernel_checks")  # what their asserts compare is shown
