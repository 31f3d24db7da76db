"""Enclosing subgraphs with DRNL labels: all pairs at once beside one networkx extraction per pair."""

import time

import networkx as nx
import numpy as np
import torch

from banditplex.baselines.seal import enclosing_subgraphs
from banditplex.datasets import planted
from banditplex.nn import PackedGraph

PAIRS, SLOW_PAIRS, CHUNK = 10_000, 200, 512


def main() -> None:
    torch.set_num_threads(1)
    for num_nodes, num_edges in ((1_000, 5_000), (10_000, 100_000)):
        mx = planted(2, 1, 0.5, num_nodes=num_nodes, edges_per_layer=num_edges, communities=20)
        lists = PackedGraph.from_multiplex(mx).both
        graph = nx.Graph(mx.edges(mx.layer_names[0]).T.tolist())
        graph.add_nodes_from(range(num_nodes))
        pairs = np.random.default_rng(0).integers(0, num_nodes, (PAIRS, 2))
        pairs[:, 1] = (pairs[:, 0] + 1 + pairs[:, 1] % (num_nodes - 1)) % num_nodes
        for hops in (1, 2) if num_nodes == 1_000 else (1,):
            count = PAIRS if hops == 1 else PAIRS // 10
            start = time.process_time()
            for chunk in torch.split(torch.from_numpy(pairs[:count].copy()), CHUNK):
                nothing = torch.zeros(len(chunk), dtype=torch.long)
                enclosing_subgraphs(lists, chunk, nothing, nothing.bool(), hops=hops)
            fast = (time.process_time() - start) / count
            start = time.process_time()
            for u, v in pairs[:SLOW_PAIRS].tolist():
                _one(graph, u, v, hops)
            slow = (time.process_time() - start) / SLOW_PAIRS
            print(
                f"{num_nodes:,} nodes, {num_edges:,} edges, {hops} hops: {fast * 1e6:,.0f} us per pair, networkx "
                f"{slow * 1e6:,.0f} us, {slow / fast:.0f}x",
                flush=True,
            )


def _one(graph: nx.Graph, u: int, v: int, hops: int) -> dict[int, int]:
    """Return the DRNL labels of the subgraph of one pair."""
    near = set(nx.single_source_shortest_path_length(graph, u, cutoff=hops))
    near |= set(nx.single_source_shortest_path_length(graph, v, cutoff=hops))
    found = graph.subgraph(near).copy()
    if found.has_edge(u, v):
        found.remove_edge(u, v)
    from_u = nx.single_source_shortest_path_length(found.subgraph(near - {v}), u)
    from_v = nx.single_source_shortest_path_length(found.subgraph(near - {u}), v)
    labels = {}
    for node in near:
        a, b = from_u.get(node), from_v.get(node)
        d = 0 if a is None or b is None else a + b
        labels[node] = 0 if a is None or b is None else 1 + min(a, b) + d // 2 * (d // 2 + d % 2 - 1)
    labels[u] = labels[v] = 1
    return labels
