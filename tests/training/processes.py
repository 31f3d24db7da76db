"""One process, then two that train together: fit models, run `banditplex train`, leave what came out for a test.

Run as `python processes.py FOLDER CASE ...`. The two are forked from the one, where everything is imported already,
with the variables that torchrun sets.
"""

import json
import os
import socket
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch

import banditplex as bx
from banditplex.cli import main
from banditplex.datasets import planted
from banditplex.training import find, vectors
from banditplex.training.distributed import joined

CASES: dict[str, dict[str, Any]] = {
    "default": {},
    "free": {"relevance": "euclidean", "width": 4, "k": 2, "targets_per_step": 3},
    "drawn": {"evidence": "drawn", "hide": "pair", "targets_per_step": 1},
    "several": {"members": 2, "epochs": 2, "warmup": 0},  # networks, with regressions beside them
    "searched": {"epochs": 1, "compared": 2},  # the most promising layers alone are compared, to find panels
}
SETTINGS = ["--epochs", "3", "--warmup", "1", "--width", "0", "--target", "g1-base", "--target", "noise1", "--json"]


def multiplex() -> bx.Multiplex:
    """Return five layers, two of them near copies of two others."""
    return planted(5, 2, 0.8, num_nodes=40, edges_per_layer=90, communities=3, seed=0)


def outcome(compared: int = find.COMPARED, **settings: Any) -> dict[str, Any]:
    """Fit a model; return its history, its policies, its panels and some predictions.

    So many layers are compared, to find panels.
    """
    find.COMPARED = compared
    model = bx.LinkPredictor(**{"epochs": 4, "warmup": 1, "members": 1} | settings).fit(multiplex())
    return {
        "gains": model.layer_gains_["gain"].tolist(),
        "history": model.history_.to_dict("records"),
        "policies": model.layer_probabilities_.to_numpy().tolist(),
        "panels": model.panel_.query("weight > 0").to_dict("records"),
        "layers": model.k_.tolist(),
        "scores": model.predict_proba([[0, 1], [2, 3], [4, 9]], "g1-base").tolist(),
    }


def work(folder: Path, cases: list[str]) -> int:
    """Do what each of the processes does; return the status of the command."""
    vectors.FEWEST = vectors.MOST = 5  # steps: how good they are does not matter here
    with joined() as group:
        found: dict[str, Any] = {name: outcome(**CASES[name]) for name in cases}
        rows = group.put_together(torch.ones(1) + group.rank, torch.tensor([group.rank]), group.size)
        found["put together"] = rows.tolist()
        name = f"{group.rank} of {group.size}"
        (folder / f"{name}.json").write_text(json.dumps(found))
        sys.argv[1:] = ["train", str(folder / "data.bx"), "-o", str(folder / f"run of {group.size}"), *SETTINGS]
        with (folder / f"{name}.txt").open("w") as file, redirect_stdout(file):
            try:
                main()
            except SystemExit as end:
                return int(end.code or 0)


def in_child(rank: int, size: int, port: int, folder: Path, cases: list[str]) -> int:
    """Start the process of a rank and return its number; its status is that of `banditplex train`."""
    child = os.fork()
    if child:
        return child
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in place.items()} | {"MASTER_ADDR": "127.0.0.1"}
    status = 1
    try:
        status = work(folder, cases)
    except BaseException:
        traceback.print_exc()
    os._exit(status)


if __name__ == "__main__":
    folder, cases = Path(sys.argv[1]), sys.argv[2:]
    assert work(folder, cases) == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = [in_child(rank, 2, port, folder, cases) for rank in (0, 1)]
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children))
