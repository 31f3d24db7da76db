"""A multiplex as a network sees it: what its visibility allows, on a device."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from banditplex.backend.packing import EdgeTensors, node_features
from banditplex.multiplex import Multiplex
from banditplex.nn.evidence import Evidence
from banditplex.nn.graph import PackedGraph
from banditplex.nn.panels import Panels
from banditplex.pairs.visibility import Visibility


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a network with this visibility sees it: its layers, what all of them say together, node features."""

    graph: PackedGraph
    visibility: Visibility
    evidence: Evidence | None = None  # of all layers; None: the network looks at target and drawn layers alone
    features: Tensor | None = None  # (num_nodes, F), if nodes have any

    @classmethod
    def of(
        cls, edges: EdgeTensors, visibility: Visibility, panels: Panels | None = None, features: Tensor | None = None
    ) -> "View":
        """Pack edges where they are; evidence is for the targets of panels, None: for all layers, without pools."""
        pools = panels.pools()[0] if panels is not None and visibility.pooled else ()
        graph = PackedGraph.from_edges(edges, union=visibility.evidence, pools=pools)
        evidence = Evidence.of(graph, visibility, panels) if visibility.evidence else None
        return cls(graph, visibility, evidence, features)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.graph.device

    def only(self, layers: Tensor) -> "View":
        """Return a view of some layers, sorted, as `PackedGraph.only` does; the evidence stays that of all layers."""
        return replace(self, graph=self.graph.only(layers))


def pack(mx: Multiplex, device: torch.device | str, visibility: Visibility, panels: Panels | None = None) -> View:
    """Return a multiplex as a network with this visibility sees it."""
    return View.of(EdgeTensors.of(mx, device), visibility, panels, node_features(mx, device))
