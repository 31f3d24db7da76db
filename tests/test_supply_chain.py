"""No file that is read can run code, and downloads come from listed addresses: the source says so."""

import ast
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import banditplex
from banditplex.datasets.base import CATALOG

SOURCE = Path(banditplex.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
RUNS_CODE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "jsonpickle", "yaml"}
CALLS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {
    ("torch", "load"), ("torch", "save"), ("pd", "read_pickle"), ("pandas", "read_pickle"), ("os", "system"),
    ("os", "popen"), ("torch.jit", "load"), ("np", "fromfile"),
}  # fmt: skip
COLLECTIVES = ("gather_object", "object_list")
"""What torch.distributed sends as pickles."""
PIPES = "jobs/worker.py"
"""Tasks and their outcomes go to processes of our own as pickles, through pipes: no file is read there."""


def found_in(tree):
    """Return what a module uses that could run code from a file: imports, calls, and `np.load` that allows pickles."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name for alias in node.names if (name := alias.name.partition(".")[0]) in RUNS_CODE}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in RUNS_CODE:
            found.add(node.module)
        elif isinstance(node, ast.Attribute) and (
            (ast.unparse(node.value), node.attr) in ATTRIBUTES or node.attr.endswith(COLLECTIVES)
        ):
            found.add(ast.unparse(node))
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            words = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if called in CALLS or words.get("shell") == "True" or words.get("allow_pickle") == "True":
                found.add(called)
            if called in ("np.load", "numpy.load") and words.get("allow_pickle") != "False":
                found.add(called)
    return found


def test_nothing_that_is_read_can_run_code():
    found = {str(path.relative_to(SOURCE)): found_in(ast.parse(path.read_text())) for path in FILES}
    assert {name: uses for name, uses in found.items() if uses} == {PIPES: {"pickle", "cloudpickle"}}
    text = (SOURCE / PIPES).read_text()
    assert " open(" not in text
    assert ".open(" not in text
    assert "read_bytes" not in text


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("import pickle", {"pickle"}),
        ("from joblib import load", {"joblib"}),
        ("torch.load(path)", {"torch.load"}),
        ("np.load(path)", {"np.load"}),
        ("np.load(path, allow_pickle=True)", {"np.load"}),
        ("np.load(path, allow_pickle=False)", set()),
        ("eval(text)", {"eval"}),
        ("model.eval()", set()),
        ("dist.all_gather_object(a, b)", {"dist.all_gather_object"}),
        ("dist.broadcast_object_list(a)", {"dist.broadcast_object_list"}),
        ("dist.broadcast(a)", set()),
        ("subprocess.run(text, shell=True)", {"subprocess.run"}),
    ],
)
def test_the_scan_finds_what_it_looks_for(code, uses):
    assert found_in(ast.parse(code)) == uses


def test_downloads_come_over_https_from_hosts_that_are_listed():
    addresses = {each.archive for each in CATALOG} | {file.mirror for each in CATALOG for file in each.files}
    hosts = {urlsplit(address).hostname for address in addresses if address}
    assert all(address.startswith("https://") for address in addresses if address)
    listed = (SOURCE.parents[1] / "SECURITY.md").read_text()
    assert hosts
    assert [host for host in sorted(hosts) if f"`{host}`" not in listed] == []
    assert all(file.checksum.partition(":")[2] for each in CATALOG for file in each.files)
