"""Building and reading a multiplex, beside what sorting or reading the same edges costs elsewhere.

Each line is a ratio measured in one run: the best of a few rounds of ours over the best of as many of the other,
taken in turns, so that a busy machine slows both alike.
"""

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import banditplex as bx
from banditplex.arrays import Ints

NUM_EDGES, NUM_NODES, NUM_LAYERS = 10_000_000, 1_000_000, 20
NUM_LINES = 5_000_000
VARIANTS: dict[str, dict[str, Any]] = {
    "indices, unweighted": {"num_nodes": NUM_NODES},
    "indices, weighted": {"num_nodes": NUM_NODES},
    "names, unweighted": {},
    "names, weighted": {},
}

Columns = tuple[Ints, Ints, Ints]


def main() -> None:
    columns = random_edges(NUM_EDGES)
    weight = np.random.default_rng(1).random(NUM_EDGES)
    print(f"{NUM_EDGES:,} edges, {NUM_NODES:,} nodes, {NUM_LAYERS} layers; .edges files of {NUM_LINES:,} lines")
    print(f"{'':68} {'ours':>8} {'other':>8} {'ratio':>7}   bar")
    with TemporaryDirectory() as folder:
        build(columns, weight)
        memory(columns, weight)
        parquet(Path(folder), columns, weight)
        edges_file(Path(folder))
        own_folder(Path(folder))


def random_edges(count: int) -> Columns:
    """Return source, destination and layer of edges drawn at random."""
    rng = np.random.default_rng(0)
    return rng.integers(0, NUM_NODES, count), rng.integers(0, NUM_NODES, count), rng.integers(0, NUM_LAYERS, count)


# The measurements


def build(columns: Columns, weight: Any) -> None:
    source, destination, layer = columns
    for what, options in VARIANTS.items():
        given = options | ({"weight": weight} if "unweighted" not in what else {})
        ours, other = race(
            partial(bx.Multiplex.from_edges, *columns, **given), partial(np.lexsort, (destination, source, layer))
        )
        report(f"build from {what} / numpy.lexsort", ours, other, "<= 0.5")


def memory(columns: Columns, weight: Any) -> None:
    for what, options in VARIANTS.items():
        given = options | ({"weight": weight} if "unweighted" not in what else {})
        size = sum(column.nbytes for column in (*columns, given.get("weight")) if column is not None)
        tracemalloc.start()
        bx.Multiplex.from_edges(*columns, **given)
        extra = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        report(f"peak memory, input included, from {what} / input", size + extra, size, "<= 4", unit="MB")


def parquet(folder: Path, columns: Columns, weight: Any) -> None:
    for what, given in {"unweighted": {}, "weighted": {"weight": weight}}.items():
        path = folder / f"{what}.parquet"
        bx.write(bx.Multiplex.from_edges(*columns, num_nodes=NUM_NODES, directed=True, **given), path)
        shuffle_rows(path)
        for sort, bar in {lexsort: "<= 2", packed_sort: "<= 2 in the stricter reading"}.items():
            ours, other = race(partial(bx.read, path), partial(read_and_sort, path, columns, sort))
            report(f"read Parquet, {what} / pyarrow read_table + {sort.__name__}", ours, other, bar)
        path.unlink()


def read_and_sort(path: Path, columns: Columns, sort: Callable[[Columns], object]) -> None:
    import pyarrow.parquet as pq

    pq.read_table(path)
    sort(columns)


def lexsort(columns: Columns) -> None:
    source, destination, layer = columns
    np.lexsort((destination, source, layer))


def packed_sort(columns: Columns) -> None:
    source, destination, layer = columns
    bits = NUM_NODES.bit_length()
    np.sort((layer << 2 * bits) | (source << bits) | destination)


def edges_file(folder: Path) -> None:
    import networkx as nx
    import pyarrow as pa
    import pyarrow.csv

    source, destination, layer = random_edges(NUM_LINES)
    weight = np.round(np.random.default_rng(1).random(NUM_LINES), 6)
    plain = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ")
    ours, theirs = folder / "net.edges", folder / "net.edgelist"
    pyarrow.csv.write_csv(pa.table([layer, source, destination, weight], names=[*"luvw"]), ours, plain)
    pyarrow.csv.write_csv(pa.table([source, destination, weight], names=[*"uvw"]), theirs, plain)
    fast = min(seconds(lambda: bx.read(ours)) for _ in range(5))
    slow = seconds(lambda: nx.read_edgelist(theirs, data=(("w", float),)))
    report("read .edges / networkx.read_edgelist (whole file, once)", fast, slow, "<= 0.05 (20 times faster)")
    declared = min(seconds(lambda: bx.read(ours, num_nodes=NUM_NODES, directed=True)) for _ in range(5))
    report("the same with num_nodes, directed / the same", declared, slow, "<= 0.05")


def own_folder(folder: Path) -> None:
    """Open a folder of 100 million edges of one layer, and sort as many integers."""
    count = 100_000_000
    source, destination = np.divmod(np.arange(count), NUM_NODES)
    mx = bx.Multiplex(
        np.stack([source, destination]), np.array([0, count]), ("a",), np.arange(NUM_NODES), directed=True
    )
    bx.write(mx, folder / "large.bx")
    keys = np.random.default_rng(3).permutation(count)
    ours, other = race(partial(bx.read, folder / "large.bx", verify=False), lambda: np.sort(keys))
    report("open a folder of 100 M edges / sort as many integers", ours, other, "<= 1")


# The tools


def seconds(action: Callable[[], object]) -> float:
    gc.collect()
    start = perf_counter()
    action()
    return perf_counter() - start


def race(ours: Callable[[], object], other: Callable[[], object], rounds: int = 3) -> tuple[float, float]:
    """Return the best time of each of two actions, taken in turns."""
    times = [(seconds(ours), seconds(other)) for _ in range(rounds)]
    return min(mine for mine, _ in times), min(theirs for _, theirs in times)


def shuffle_rows(path: Path) -> None:
    """Put the rows of a Parquet file into random order, so that reading it has to sort."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    pq.write_table(table.take(np.random.default_rng(2).permutation(len(table))), path)


def resident() -> int:
    """Return the bytes of memory this process holds, as Linux counts them."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def report(what: str, ours: float, other: float, bar: str, *, unit: str = "s") -> None:
    scale = {"s": 1, "ms": 1e3, "MB": 1e-6}[unit]
    print(
        f"{what:68} {ours * scale:6.2f}{unit:>2} {other * scale:6.2f}{unit:>2} {ours / other:7.3f}   {bar}", flush=True
    )


if __name__ == "__main__":
    main()
