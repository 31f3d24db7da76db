"""A folder with data and a finished run, which the tests of `train` and `predict` share."""

import json

import pytest

import banditplex as bx
from banditplex.cli.predict import load_model
from tests.cli.test_main import answer
from tests.persistence.killed import multiplex

FAST = ("--epochs", "3", "--warmup", "1", "--width", "0", "--batch-size", "64")


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A folder with data of ours, and a finished run."""
    folder = tmp_path_factory.mktemp("cli")
    bx.write(multiplex(), folder / "data.bx")
    return folder


@pytest.fixture(scope="session")
def trained(place):
    """What `train --json` says about the run in the folder."""
    words = ("train", "data.bx", "-o", "run", "--target", "a", "--target", "c", *FAST, "--json")
    return json.loads(answer(*words, cwd=place))


@pytest.fixture(scope="session")
def model(place, trained):
    return load_model(place / "run")
