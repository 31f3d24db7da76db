"""Layers divided over processes (`shard_layers`): what each holds and sends, against the number of layers.

    python -m benchmarks sharding

Planted layers of equal size, all of them targets. 16 targets share a step, so its pairs do not depend on the number of
layers. Processes are forked, have a thread each and talk by Gloo; they read one folder of memory-mapped files. Of each
number, the largest of all processes is printed. "Graph" is what grows with edges: neighbour lists, index of pairs,
training edges, known pairs. "Memory" is the growth of resident memory that is no file, from before training to after an
epoch. "Rows" are what a process sends to others per step, validation included; "gradients" are what is added up.
"""

import json
import os
import socket
import sys
import tempfile
import traceback
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import torch

import banditplex as bx
from banditplex.datasets import planted
from banditplex.training.distributed import joined
from banditplex.training.memory import resident

LAYERS, NODES, EDGES = (16, 64, 256), 500, 2_500
DRAWN: dict[str, Any] = {"evidence": "drawn", "width": 0}
CASES: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...] = (
    ("drawn", (1, 2, 4), DRAWN),
    ("drawn, width 16", (2,), DRAWN | {"width": 16}),
    ("all", (1, 2), {"evidence": "all", "width": 0}),
)
"""Evidence and width, numbers of processes, settings."""
COLUMNS = ("graph MB", "memory MB", "rows KB", "gradients KB")


def size_of(value: Any, seen: set[int]) -> int:
    """Return the bytes of all tensors in an object, each once."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        new = storage.data_ptr() not in seen
        seen.add(storage.data_ptr())
        return storage.nbytes() * new
    if is_dataclass(value):
        return sum(size_of(getattr(value, each.name), seen) for each in fields(value))
    return sum(size_of(each, seen) for each in vars(value).values()) if hasattr(value, "__dict__") else 0


def measure(folder: Path, settings: dict[str, Any]) -> dict[str, float]:
    """Train for an epoch, then measure another one."""
    mx = bx.read(folder)
    more: dict[str, Any] = {
        "targets_per_step": 16,
        "max_rounds": 4,
        "members": 1,
        "shard_layers": True,
        "max_steps": None,
    }
    with joined():
        before = resident()
        trainer = bx.LinkPredictor(**settings, **more, epochs=2, device="cpu").make_trainer(mx)
        trainer.run_epoch()
        data, memory, shard = trainer.data, resident() - before, trainer.data.train_graph.elsewhere
        sent = getattr(shard, "sent", 0)
        trainer.run_epoch()
        seen: set[int] = set()
        graph = sum(size_of(each, seen) for each in (data.train_graph, data.train_edges, data.negatives))
        rows = (getattr(shard, "sent", 0) - sent) / trainer.steps_per_epoch
    values = graph / 1e6, memory / 1e6, rows / 1e3, 4 * trainer.optimizer.num_sent / 1e3
    return dict(zip(COLUMNS, values, strict=True))


def in_processes(size: int, folder: Path, settings: dict[str, Any]) -> dict[str, float]:
    """Measure in so many processes; return the largest numbers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    files = [folder.parent / f"{rank}.json" for rank in range(size)]
    children = []
    for rank, file in enumerate(files):
        children.append(os.fork())
        if children[-1]:
            continue
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_PORT": port}
        os.environ |= {name: str(value) for name, value in place.items()} | {"MASTER_ADDR": "127.0.0.1"}
        try:
            file.write_text(json.dumps(measure(folder, settings)))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if max(os.waitpid(child, 0)[1] for child in children):
        sys.exit("A process has failed.")
    found = [json.loads(file.read_text()) for file in files]
    return {name: max(each[name] for each in found) for name in COLUMNS}


def main() -> None:
    torch.set_num_threads(1)
    print("| evidence | layers | processes | " + " | ".join(COLUMNS) + " |")
    print("|---" * (3 + len(COLUMNS)) + "|")
    for name, processes, settings in CASES:
        for layers in LAYERS:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place) / "data.bx"
                bx.write(planted(layers, layers // 2, 0.8, num_nodes=NODES, edges_per_layer=EDGES), folder)
                for size in processes:
                    found = in_processes(size, folder, settings)
                    numbers = " | ".join(
                        f"{value:,.1f}" if value < 100 else f"{value:,.0f}" for value in found.values()
                    )
                    print(f"| {name} | {layers} | {size} | {numbers} |", flush=True)
