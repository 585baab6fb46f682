"""The tests' own modules are importable by name."""

import os
import pathlib
import signal
import sys
import threading

# tests run beside each other: threads of OpenBLAS, of which each process would have as many as there are cores, would
# wait for each other a hundred times as long as they compute. NumPy reads it where it is imported, in all processes
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from vitree.integrators.compiled import CompiledIntegrator

# a job in the background ignores Ctrl-C, and so would the processes that tests start and interrupt
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# no test depends on what another one, or a person, left in the cache of hulls
os.environ["VITREE_CACHE"] = "off"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
pytest.register_assert_rewrite("directions", "kernel_checks")  # what their asserts compare is shown


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than cores: tests wait for browsers, shells and other processes a fifth of the time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else None


def pytest_configure(config):
    # a process that a test has ended is replaced, and would run the same test again, a dozen times
    if hasattr(config.option, "maxworkerrestart") and config.option.maxworkerrestart is None:
        config.option.maxworkerrestart = "1"


def pytest_collection_modifyitems(items):
    """Files with slow tests come first, the longest before all: none of them is left to one core in the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, item.path.name != "test_browser.py"))


@pytest.fixture(autouse=True, scope="session")
def runs_resume_from_kept_memory_alone():
    """Wherever a test resumes a run, all memory of the stepper that is not kept for that is NaN."""
    resume = CompiledIntegrator.resume

    def resumed(self, checkpoint):
        state = resume(self, checkpoint)
        if hasattr(self.stepper, "spoil"):
            self.stepper.spoil()
        return state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompiledIntegrator, "resume", resumed)
        yield
