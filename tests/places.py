"""Where things are in the source."""

import pathlib

TESTS = pathlib.Path(__file__).parent
ROOT = TESTS.parent
DATA = TESTS / "data"
EXAMPLES = ROOT / "examples"
PAPERS = EXAMPLES / "papers"
