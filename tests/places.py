"""Where things are: in the source, and in the package that is tested, which may be an installed one."""

import importlib.util
import pathlib

import pytest

TESTS = pathlib.Path(__file__).parent
ROOT = TESTS.parent
DATA = TESTS / "data"
EXAMPLES = ROOT / "examples"
PAPERS = EXAMPLES / "papers"
#: the package that the tests import
PACKAGE = pathlib.Path(importlib.util.find_spec("vitree").origin).parent
#: Tests of what only the source has. tools/test_wheel.sh runs the suite where it is not.
of_source = pytest.mark.skipif(not (ROOT / "vitree").is_dir(), reason="of the source of vitree, which is not here")
