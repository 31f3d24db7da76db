"""Tests run beside each other: one thread each is fastest. Commands run inside, as a new process takes seconds.

Examples that Hypothesis makes up are the same in every run, so that a change is judged by what it changes;
`make test-all` looks at new ones.
"""

import os
import signal
import sys
import threading
import warnings

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
try:
    from hypothesis import HealthCheck, settings
except ImportError:  # tests that need no made-up examples run all the same
    pass
else:
    patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
    settings.register_profile("same", derandomize=True, max_examples=25, **patient)
    settings.register_profile("new", print_blob=True, max_examples=1000, **patient)
    settings.load_profile("same")


def print_warning(message, category, filename, line, *_):
    """Print a warning as Python does outside of tests."""
    sys.stderr.write(warnings.formatwarning(message, category, filename, line))


def pytest_configure() -> None:
    """Undo what a shell does to programs in the background of a script: it lets them ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items) -> None:
    """Put tests of bandits in the middle: a second process begins there, without what the first one compiles."""
    late = [item for item in items if "/bandits/" in item.nodeid]
    rest = [item for item in items if "/bandits/" not in item.nodeid]
    middle = min(len(items) // 2, len(rest))
    items[:] = [*rest[:middle], *late, *rest[middle:]]


@pytest.fixture
def call(capsys, monkeypatch):
    """Run a command in a folder; return its status, and what it printed on stdout and stderr."""
    from banditplex.cli import main

    def call(*words, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["banditplex", *words])
        monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
        monkeypatch.setattr(warnings, "showwarning", print_warning)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", ".*torch.jit.script.*", DeprecationWarning)  # when PyG is imported
            with pytest.raises(SystemExit) as stop:
                main()
        said = capsys.readouterr()
        return stop.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def refusal(call):
    """Run a command that must be refused: status 2, one line on stderr, nothing on stdout."""

    def refusal(*words, cwd):
        status, out, error = call(*words, cwd=cwd)
        assert (status, out) == (2, ""), error
        assert error.startswith("banditplex: ")
        assert error.count("\n") == 1
        return error.removeprefix("banditplex: ").rstrip("\n")

    return refusal
