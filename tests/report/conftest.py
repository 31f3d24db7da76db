"""A run on six layers with names that would like to be code, its page, and a browser that the tests share."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import banditplex as bx
from banditplex.cli.train import fit_in
from banditplex.persistence.run_folder import RunFolder
from banditplex.report.about import write_about
from banditplex.report.collect import collect_run
from banditplex.report.page import write_page

LONG = "long " + "x" * 10_000
HOSTILE = (
    '"><img src=x onerror="document.title=1">',
    "<script>document.title='gone'</script>",
    "emoji 👩‍🔬🧪 and </script><!--",
    LONG,
    "quotes ' and \" and `${1}` {b} {a|x}",
    "ימין לשמאל \u202e rtl",
)
"""Names of layers, sorted; those of nodes are made of them, too."""


def hostile():
    """Six layers on 24 nodes; the second layer is the first one, but for a few edges."""
    rng = np.random.default_rng(0)
    pairs = np.stack(np.triu_indices(24, 1), 1)
    chosen = [rng.permutation(len(pairs))[:60] for _ in HOSTILE]
    chosen[1] = np.concatenate([chosen[0][:52], chosen[1][:8]])
    edges = np.concatenate([pairs[each] for each in chosen])
    layer = np.repeat(np.array(HOSTILE, object), [len(each) for each in chosen])
    names = np.array([f"{HOSTILE[i % 3]} node {i}" for i in range(22)] + [LONG, HOSTILE[5]], object)
    return bx.Multiplex.from_edges(names[edges[:, 0]], names[edges[:, 1]], layer)


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """The folder of a finished run, and its model."""
    folder = tmp_path_factory.mktemp("report") / "run"
    settings = {"epochs": 5, "warmup": 1, "width": 0, "policy": "exp3"}
    model = fit_in(RunFolder(folder), hostile(), None, settings)
    write_about(folder, HOSTILE[0], model.multiplex_, model)
    return folder, model


@pytest.fixture(scope="session")
def data(run):
    return collect_run(*run)


@pytest.fixture(scope="session")
def browser():
    """The Chromium of this system."""
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome", "chrome")]
    program = os.environ.get("BANDITPLEX_BROWSER") or next(filter(None, found), None)
    if program is None:
        pytest.skip("there is no Chromium on this system: install the package chromium, or set BANDITPLEX_BROWSER")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def opened(browser):
    """A context manager that opens a file; on leaving, it checks that nothing was complained about or asked for."""

    @contextmanager
    def opened(path: Path, **options):
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        )
        page = context.new_page()
        heard = []
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        yield page
        assert heard == []
        context.close()

    return opened


@pytest.fixture(scope="session")
def written(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(path, data)
    return path


@pytest.fixture(scope="session")
def page(opened, written):
    """The page of the run, in a browser, for all tests that only look at it or put back what they change."""
    with opened(written) as page:
        yield page
