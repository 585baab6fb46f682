"""The map from modules to test files is whole: a change runs its own tests (tests/mapped.py)."""

from fnmatch import fnmatch

import mapped
import pytest
from places import of_source

pytestmark = of_source


def test_every_module_has_tests():
    assert [module for module in mapped.modules() if not mapped.tests_of(module)] == []


def test_every_test_file_is_of_a_module():
    reached = {file for module in mapped.modules() for file in mapped.tests_of(module)}
    left = [file for file in mapped.test_files() if file not in reached]
    assert [file for file in left if not any(fnmatch(file, each) for each in mapped.OF_ALL)] == []


@pytest.mark.parametrize(("pattern", "named"), mapped.table())
def test_each_line_of_the_table_is_of_files_that_are_there(pattern, named):
    assert any(fnmatch(module, pattern) for module in mapped.modules()), f"no module {pattern}"
    assert named
    for each in named:
        assert any(fnmatch(file, each) for file in mapped.test_files()), f"no test file {each}"


def test_a_test_that_imports_a_module_is_of_it():
    assert "run/test_event_places.py" in mapped.tests_of("run/runner.py")
    assert "run/test_forged.py" not in mapped.tests_of("plot/page.py")


def test_changed_files_are_printed(capsys):
    mapped.main(["vitree/run/simulate.py", "tests/run/test_gym.py", "README.md"])
    printed = capsys.readouterr().out.split()
    assert {"tests/run/test_autostep.py", "tests/run/test_gym.py"} <= set(printed)
