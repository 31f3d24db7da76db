"""Time and memory of an epoch against the number of layers, beside methods that look at every layer in every step.

Of a data set, the first layers of a random order are kept: 16, 64, 256, ... All are targets. An epoch is all edges and
as many negatives. Some steps are timed, and the time is scaled to an epoch. "default" is the default model; with k = 1,
k = 3 and "all", a model that sees target and drawn layers alone draws so many layers per pair (width 16). HeteroConv
and R-GCN (PyG) encode all layers in every step, with vectors of the same width; DistMult is that of PyKEEN, which draws
its own negatives. Their steps have 16,384 pairs; ours are those of training, which are smaller. DeePlex cuts out the
subgraph of a pair in every layer; some pairs are timed. MNE learns from walks: its epoch is 20 walks of 10 nodes from
each node of each layer, of which one is timed. On a CPU, time is processor time of one thread. Memory is the peak of
the process, and of its GPU, beyond what the data take.
"""

import multiprocessing
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from banditplex.jobs.limits import fresh_start, peak_memory
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Multiplex
from banditplex.plots import figure
from banditplex.rng import stream
from banditplex.storage.rows import Row
from banditplex.training.config import Config
from banditplex.training.data import choose_device
from banditplex.training.setup import make_trainer
from benchmarks._steps import Steps
from experiments import comparison
from experiments.runner import Experiment, Page, names_of, seeds_of

QUICK = {"data": "twins", "layers": "2,4", "methods": "default,k=1,all,hetero-conv,rgcn"}
WIDTH, PAIRS, TIMED = 16, 1 << 14, 3
DRAWN: dict[str, Any] = {"evidence": "drawn", "width": WIDTH, "members": 1}
OURS: dict[str, dict[str, Any]] = {
    "default": {"members": 1},
    "k=1": {**DRAWN, "k": 1},
    "k=3": {**DRAWN, "k": 3},
    "all": {**DRAWN, "policy": "all"},
}
METHODS = (*OURS, "hetero-conv", "rgcn", "mne", "deeplex", "distmult")
MOST = 300
"""Layers with which all of them are still drawn: a step grows with their number."""


class Run(NamedTuple):
    """One method on some layers of a data set."""

    data: str
    layers: int
    method: str
    seed: int

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.layers} layers, {self.method}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument("--data", default="polypharmacy,fao", metavar="NAMES", help="data sets, with commas")
    parser.add_argument("--layers", default="16,64,256,1024", metavar="NUMBERS", help="numbers of layers, with commas")
    parser.add_argument("--methods", metavar="NAMES", help=f"with commas, of {', '.join(METHODS)}; default: all")
    parser.set_defaults(seeds=1)


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    methods, seeds = names_of(options.methods, METHODS, "--methods"), seeds_of(options)
    tasks = []
    for data in options.data.split(","):
        most = comparison.load(data, 0).num_layers
        for size in sorted({min(int(each), most) for each in options.layers.split(",")}):
            tasks += [
                Run(data, size, method, seeds[0])
                for method in methods
                if (method != "all" or size <= MOST) and (method != "distmult" or find_spec("pykeen"))
            ]
    return Experiment(measure, tasks, report, seeds)


def measure(task: Run) -> Iterator[Row]:
    """Yield seconds and bytes of an epoch, measured in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool.submit(measure_here, task).result()


def measure_here(task: Run) -> Row:
    """Return seconds and bytes of an epoch."""
    torch.set_num_threads(1)
    mx, device = some_layers(task), choose_device("auto")
    begin: Callable[..., tuple[Callable[[], Any], float]] = {
        "hetero-conv": hetero_conv, "rgcn": rgcn, "mne": mne, "deeplex": deeplex, "distmult": pykeen,
    }.get(task.method, ours)  # fmt: skip
    before = fresh_start()
    step, steps_per_epoch = begin(mx, task, device)
    step()
    clock = time.process_time  # of one thread: a busy machine does not count
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        clock = time.perf_counter
    start = clock()
    for _ in range(TIMED):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    seconds = (clock() - start) / TIMED * steps_per_epoch
    about = {"data": task.data, "layers": task.layers, "method": task.method, "edges": mx.num_edges}
    return {**about, "seconds": seconds, "megabytes": (peak_memory() - before) / 2**20, "device": device.type}


def some_layers(task: Run) -> Multiplex:
    """Return some layers of a data set, in a random order that is the same for all numbers."""
    mx = comparison.load(task.data, 0)
    order = stream(task.seed, "scale", task.data).permutation(mx.num_layers)
    return mx.subset(layers=[mx.layer_names[index] for index in np.sort(order[: task.layers]).tolist()])


# One step of each method, and how many make an epoch


def ours(mx: Multiplex, task: Run, device: torch.device) -> tuple[Callable[[], Any], float]:
    """Return a step of our model."""
    trainer = make_trainer(
        mx, np.arange(mx.num_layers), Config(warmup=0, seed=task.seed, **OURS[task.method]).checked()
    )
    steps = Steps(trainer)
    one = max(1, len(steps) // max(1, 2 * len(trainer.data.train_edges) // PAIRS))  # of our steps, PAIRS pairs

    def step() -> None:
        for _ in range(one):
            steps.take()

    return step, len(steps) / one


def hetero_conv(mx: Multiplex, task: Run, device: torch.device) -> tuple[Callable[[], Any], float]:
    """Return a step of PyG's HeteroConv: a convolution per layer, in a loop over all layers, twice."""
    from torch_geometric.nn import HeteroConv, SAGEConv

    edges = {("node", str(i), "node"): both_ways(mx, i, device) for i in range(mx.num_layers)}
    convs = [HeteroConv({name: SAGEConv(WIDTH, WIDTH) for name in edges}, aggr="mean").to(device) for _ in range(2)]

    def encode(x: Tensor) -> Tensor:
        for conv in convs:
            x = torch.relu(conv({"node": x}, edges)["node"])
        return x

    return all_layers(mx, encode, nn.ModuleList(convs), device)


def rgcn(mx: Multiplex, task: Run, device: torch.device) -> tuple[Callable[[], Any], float]:
    """Return a step of PyG's R-GCN with two bases."""
    from torch_geometric.nn import RGCNConv

    parts = [both_ways(mx, i, device) for i in range(mx.num_layers)]
    edges, kind = torch.cat(parts, 1), torch.repeat_interleave(torch.tensor([part.shape[1] for part in parts]))
    kind = kind.to(device)
    convs = [RGCNConv(WIDTH, WIDTH, mx.num_layers, num_bases=2).to(device) for _ in range(2)]

    def encode(x: Tensor) -> Tensor:
        for conv in convs:
            x = torch.relu(conv(x, edges, kind))
        return x

    return all_layers(mx, encode, nn.ModuleList(convs), device)


def both_ways(mx: Multiplex, layer: int, device: torch.device) -> Tensor:
    """Return the edges (2, n) of a layer in both directions."""
    edges = torch.from_numpy(np.array(mx.edges(mx.layer_names[layer]))).to(device)
    return torch.cat([edges, edges.flip(0)], 1)


def all_layers(
    mx: Multiplex, encode: Callable[[Tensor], Tensor], convs: nn.Module, device: torch.device
) -> tuple[Callable[[], Any], float]:
    """Return a step that encodes all layers and scores pairs of random layers by DistMult."""
    base, relation = (nn.Parameter(torch.randn(n, WIDTH, device=device)) for n in (mx.num_nodes, mx.num_layers))
    optimiser = torch.optim.AdamW([base, relation, *convs.parameters()])
    edges, layer = (torch.from_numpy(np.array(each)).to(device) for each in (mx.edge_index, mx.edge_layer))
    label = torch.arange(PAIRS, device=device) < PAIRS // 2

    def step() -> None:
        at = torch.randint(edges.shape[1], (PAIRS // 2,), device=device)
        pairs = torch.cat([edges[:, at], torch.randint(mx.num_nodes, (2, PAIRS // 2), device=device)], 1)
        x = encode(base)
        score = (x[pairs[0]] * relation[layer[at].repeat(2)] * x[pairs[1]]).sum(1)
        optimiser.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(score, label.float()).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step, 2 * mx.num_edges / PAIRS


def pykeen(mx: Multiplex, task: Run, device: torch.device) -> tuple[Callable[[], Any], float]:
    """Return an epoch of PyKEEN's DistMult, with one negative per edge."""
    models, training = import_module("pykeen.models"), import_module("pykeen.training")
    factory = mx.to_triples_factory()
    model = models.DistMult(triples_factory=factory, embedding_dim=WIDTH, random_seed=task.seed).to(device)
    loop = training.SLCWATrainingLoop(
        model=model, triples_factory=factory, optimizer="Adam", negative_sampler_kwargs={"num_negs_per_pos": 1}
    )

    def step() -> None:
        loop.train(factory, num_epochs=1, batch_size=PAIRS // 2, use_tqdm=False, use_tqdm_batch=False)

    return step, 0.5  # it sees each undirected edge twice


def mne(mx: Multiplex, task: Run, device: torch.device) -> tuple[Callable[[], Any], float]:
    """Return one of the 20 walks from each node of each layer that are an epoch of MNE."""
    from banditplex.baselines import BASELINES

    model = BASELINES["mne"](dimension=WIDTH, epochs=1, num_walks=1, device=str(device))
    return lambda: model.fit(mx), 20.0


def deeplex(mx: Multiplex, task: Run, device: torch.device) -> tuple[Callable[[], Any], float]:
    """Return a step of DeePlex with as many pairs as it has in memory at a time."""
    from banditplex.baselines.neural import NetworkData
    from banditplex.baselines.seal import DeePlex
    from banditplex.nn import HiddenEdges
    from banditplex.training.data import prepare

    config = Config(evidence="drawn", seed=task.seed).checked()
    data = NetworkData(prepare(mx, np.arange(mx.num_layers), config), task.seed, epochs=1)
    network = DeePlex.network(data, DeePlex(seed=task.seed)).to(device)
    graph, rng, size = data.graph(network.sees), stream(task.seed, "scale", "pairs"), (network.chunk + 1) // 2
    optimiser = torch.optim.AdamW(network.parameters())

    def step() -> None:
        pairs, target = data.sample(size, rng)
        label = (torch.arange(2 * size, device=device) < size).float()
        optimiser.zero_grad()
        network.loss(network(graph, pairs, target, HiddenEdges(pairs[:0], target[:0])), label).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step, mx.num_edges / size


# The report


def report(rows: list[Row]) -> Page:
    """Return tables of times and of memory, and a figure."""
    table = pd.DataFrame(rows)
    parts = [str(__doc__).split("\n\n", 1)[1].strip() + "\n"]
    for data, here in table.groupby("data", sort=False):
        sizes = sorted(here["layers"].unique())
        for column, what in (("seconds", "Seconds per epoch"), ("megabytes", "Megabytes")):
            wide = here.pivot_table(index="method", columns="layers", values=column)
            lines = [
                [name, *(number(float(wide.loc[name, size]), 1) for size in sizes)] for name in here["method"].unique()
            ]
            head = ["method", *(f"{size} layers" for size in sizes)]
            parts.append(f"## {data}: {what.lower()}\n\n{markdown_table(head, lines)}")
    return Page("Time and memory against the number of layers", parts, {"values": table}, lambda to: draw(table, to))


def draw(table: pd.DataFrame, folder: Path) -> None:
    """Draw time and memory against the number of layers."""
    names, table = list(dict.fromkeys(table["data"])), table.sort_values("layers", kind="stable")
    with figure(folder, "scale", size=(8.0, 2.8 * len(names))) as made:
        grids = made.subplots(len(names), 2, squeeze=False)
        for axes, data in zip(grids, names, strict=True):
            here = table[table["data"] == data]
            sizes = sorted(here["layers"].unique().tolist())
            for place, (column, what) in zip(axes, (("seconds", "s per epoch"), ("megabytes", "MB")), strict=True):
                for method, line in here.groupby("method", sort=False):
                    place.plot(line["layers"], line[column], "o-", label=method, markersize=3)
                place.set(xscale="log", yscale="log", xlabel="layers", ylabel=what, title=str(data))
                place.set_xticks(sizes, [str(size) for size in sizes])
                place.set_xticks([], minor=True)
        grids[0][1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
