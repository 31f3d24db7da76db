"""The package as a whole: it opens quickly, hands out its names lazily, and its version is one."""

import os
import subprocess
import sys

import pytest

import banditplex as bx

HEAVY = {"torch", "torch_geometric", "pandas", "scipy", "sklearn", "pyarrow", "networkx", "matplotlib"}


def loaded_after(code: str) -> set[str]:
    """Run `code` in a fresh interpreter and return the heavy libraries it imported."""
    script = f"import sys\n{code}\nprint(*(name for name in {sorted(HEAVY)} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_imports_nothing_heavy():
    assert loaded_after("import banditplex") == set()


def test_importing_the_bandits_imports_nothing_heavy():
    assert loaded_after("import banditplex.bandits") == set()


def test_help_imports_nothing_heavy():
    code = "from typer.testing import CliRunner\nfrom banditplex.cli import app\n"
    assert loaded_after(code + "assert CliRunner().invoke(app, ['--help']).exit_code == 0") == set()


def test_help_answers_at_once():
    """Processor time, not time on the clock: other tests run beside this one."""

    def seconds() -> float:
        before = os.times()
        subprocess.run([sys.executable, "-m", "banditplex", "--help"], capture_output=True, check=True)
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    assert min(seconds() for _ in range(5)) < 0.6


@pytest.mark.parametrize("name", bx.__all__)
def test_every_public_name_is_there(name):
    assert getattr(bx, name) is not None
    assert name in dir(bx)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Multiplexx'"):
        _ = bx.Multiplexx
