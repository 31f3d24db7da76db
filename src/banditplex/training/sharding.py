"""Layers divided over processes: each holds the edges of its own layers, and asks the others for what it lacks.

What a step needs of a layer that is elsewhere are the neighbours of the nodes of its batch. So what travels depends on
the pairs of the step, on the layers drawn for them and on degrees, and not on the number of layers. The union of all
layers, where it is looked at, is held by every process.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.nn.elsewhere import Encode
from banditplex.nn.graph import HiddenEdges, Neighbours, PackedGraph, ranges
from banditplex.nn.known import Lists
from banditplex.nn.packing import LAST
from banditplex.pairs.negatives import SCARCE
from banditplex.training.batches import TargetEdges
from banditplex.training.distributed import Group
from banditplex.training.negatives import DeviceNegatives, Part

Ints = NDArray[np.int64]


def deal_layers(size: Ints, targets: Ints, group: Group) -> Ints:
    """Return the process (L,) that holds each layer, of `size` (L,) edges; targets and other layers are divided alike.

    >>> deal_layers(np.array([5, 9, 1, 7]), np.array([1, 3]), Group(0, 2))
    array([0, 0, 1, 1])
    """
    owner = np.empty(len(size), np.int64)
    others = np.setdiff1d(np.arange(len(size)), targets)
    for some in (targets, others):
        owner[some] = group.deal(size[some])
    return owner


@dataclass(eq=False)
class Shard:
    """How a process asks others for their layers, and answers for its own; see `banditplex.nn.elsewhere.Elsewhere`."""

    group: Group
    names: tuple[Name, ...]  # of all layers
    owner: Tensor  # (L,) the process that holds each layer
    layers: NDArray[np.bool_] | None  # (L,) those of this process; None: all
    sent: int = 0  # bytes that this process has sent to others

    @classmethod
    def of(cls, mx: Multiplex, targets: Ints, group: Group, device: torch.device) -> "Shard":
        """Divide the layers of a multiplex over the processes of a group, which may be one process."""
        owner = deal_layers(mx.layer_sizes, targets, group)
        mine = None if group.size == 1 else owner == group.rank
        return cls(group, mx.layer_names, torch.from_numpy(owner).to(device), mine)

    # What is made ready before training

    def count(self, edges: TargetEdges, targets: Ints) -> TargetEdges:
        """Return edges of the targets that are here, with the numbers of edges of all targets."""
        if self.layers is None:
            return edges
        mine = self.layers[targets]
        size = self.add_up(torch.from_numpy(edges.size * mine).to(edges.pairs.device)).cpu().numpy()
        return replace(edges, size=size, held=mine)

    def copy(self, edges: TargetEdges) -> TargetEdges:
        """Return the edges of all processes, sorted by target."""
        instance, order = torch.sort(self.join(edges.instance), stable=True)
        size = torch.bincount(instance, minlength=len(edges.size)).cpu().numpy()
        return TargetEdges(size, instance, self.join(edges.pairs)[order])

    def draw(self, negatives: DeviceNegatives, targets: Ints, layer: Ints, rng: np.random.Generator) -> Ints:
        """Return one negative (n, 2) for each layer index in `layer` (n,), drawn where the layers are.

        Refused are targets (T,) whose negatives are drawn on the host, one after the other.
        """
        if self.layers is None:
            return negatives.draw(layer, rng)
        if negatives.only_host:
            got = "others (given, between types of nodes, or between active nodes)"
            raise InputError(f"Expected negatives among all pairs of nodes for shard_layers, got {got}.")
        here = np.flatnonzero(self.layers[layer])
        scarce = self.most(1 + int(negatives.scarce(targets[self.layers[targets]]).max(initial=-1)))
        if scarce:
            name, share = self.names[scarce - 1], round(1 / SCARCE)
            raise InputError(
                f"Expected targets in which at least one pair in {share} has no edge for shard_layers, got {name!r}."
            )
        place = torch.from_numpy(here).to(self.owner.device)
        drawn = negatives.draw_tensor(torch.from_numpy(layer[here]).to(place.device), rng, Part(place, len(layer)))
        return self.group.put_together(drawn, place, len(layer)).cpu().numpy()

    # What is asked for

    def add_up(self, values: Tensor) -> Tensor:
        """Return the sums of values over all processes."""
        return self.group.add_up(values)

    def join(self, values: Tensor) -> Tensor:
        """Return the values (n, ...) of all processes, one after the other."""
        return torch.cat(self._gather(values))

    def most(self, number: int) -> int:
        """Return the largest of the numbers of all processes."""
        return self.group.most(number)

    def fetch(self, graph: PackedGraph, key: Tensor) -> PackedGraph:
        """Return a graph with the rows of keys (n,), sorted, of layers here and elsewhere, and no others."""
        asked, send, receive, order = self._ask(key // graph.num_nodes, key)
        tables = (graph.both, graph.out, graph.into) if graph.directed else (graph.both,)
        answers = [Rows.of(lists, asked) for lists in tables]
        sizes = self.exchange(torch.stack([each.size for each in answers], 1), receive, send)[0]
        near = []
        for lists, each, size in zip(tables, answers, sizes.unbind(1), strict=True):
            there, back = (_sums(*parts) for parts in ((each.size, receive), (size, send)))
            arcs = self.exchange(each.arcs, there, back)[0]
            near.append(Rows(size, arcs).in_order(order).as_lists(key, lists))
        both, out, into = near if graph.directed else near * 3
        starts = torch.arange(graph.num_layers + 1, device=key.device) * graph.num_nodes
        rows = torch.searchsorted(both.row_key, starts)
        return replace(graph, both=both, out=out, into=into, layer_rows=rows, elsewhere=None, origin=graph)

    def lists_of(self, graph: PackedGraph, pairs: Tensor, target: Tensor) -> Lists:
        """Return the layers, here and elsewhere, that have pairs (n, 2), their targets (n,) excepted."""
        assert graph.evidence is not None
        asked = self._gather(torch.cat([pairs, target.unsqueeze(1)], 1))
        every, size = torch.cat(asked), torch.tensor([len(each) for each in asked], device=pairs.device)
        which, layer, reverse = graph.evidence.layers_of(every[:, :2], every[:, 2])
        number = graph.num_layers - 1  # without the union
        last = torch.cumsum(size, 0)
        process = torch.searchsorted(last, which, right=True)
        found = (which - (last - size)[process]) * (2 * number) + layer + reverse * number
        key = torch.sort(self.exchange(found, torch.bincount(process, minlength=len(asked)).tolist())[0]).values
        start = torch.searchsorted(key, torch.arange(len(pairs) + 1, device=key.device) * (2 * number))
        return Lists(start, key % (2 * number))

    def embed(self, graph: PackedGraph, key: Tensor, hidden: HiddenEdges, encode: Encode) -> Tensor:
        """Return the embeddings (n, width) of keys (n,) of layers here and elsewhere, encoded where the layers are.

        Each process hides its own edges; these travel to where their layers are. Gradients travel back.
        """
        asked, send, receive, order = self._ask(key // graph.num_nodes, key)
        unseen = self._ask(hidden.layer, torch.cat([hidden.pairs, hidden.layer.unsqueeze(1)], 1))[0]
        layer, node = asked // graph.num_nodes, asked % graph.num_nodes
        own = encode(layer, node, HiddenEdges(unseen[:, :2].contiguous(), unseen[:, 2].contiguous()))
        found: Tensor = Answer.apply(own, self, receive, send)  # type: ignore[no-untyped-call]
        return torch.zeros_like(found).index_copy(0, order, found)

    def _ask(self, layer: Tensor, values: Tensor) -> tuple[Tensor, list[int], list[int], Tensor]:
        """Send values (n, ...) about layers (n,) to where these are.

        Returned are what came from all processes, how many were sent to each and came from each, and the order in
        which values were sent.
        """
        owner, order = torch.sort(self.owner[layer], stable=True)
        send = torch.bincount(owner, minlength=self.group.size).tolist()
        found, receive = self.exchange(values[order], send)
        return found, send, receive, order

    def exchange(self, values: Tensor, send: list[int], receive: list[int] | None = None) -> tuple[Tensor, list[int]]:
        """Send and receive as `Group.exchange` does, and count what is sent."""
        row = values.element_size() * math.prod(values.shape[1:])
        self.sent += row * (len(values) - send[self.group.rank])
        return self.group.exchange(values, send, receive)

    def _gather(self, values: Tensor) -> list[Tensor]:
        self.sent += values.nbytes * (self.group.size - 1)
        return self.group.gather(values)


class Answer(torch.autograd.Function):
    """Embeddings on their way to the processes that have asked for them; their gradients come back the same way."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, shard: Shard, send: list[int], receive: list[int]) -> Tensor:
        """Send rows of values (n, width), as `Shard.exchange` does."""
        ctx.way = shard, receive, send
        return shard.exchange(values, send, receive)[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        """Send the gradients of what was received."""
        shard, send, receive = ctx.way
        return shard.exchange(gradients[0], send, receive)[0], None, None, None


class Rows(NamedTuple):
    """Neighbour lists of some rows, one after the other."""

    size: Tensor  # (n,)
    arcs: Tensor  # (M, 2 or 3) int32: neighbour, its number of neighbours and, with weights, the bits of its weight

    @classmethod
    def of(cls, lists: Neighbours, key: Tensor) -> "Rows":
        """Look up rows by their keys (n,); nodes without neighbours have empty lists."""
        row = lists.rows(key // lists.num_nodes, key % lists.num_nodes)
        size = lists.row_degree[row]
        arc = ranges(lists.indptr[row], size)[1]
        columns = [lists.neighbour[arc].int(), lists.arc_degree[arc].int()]
        if lists.weight is not None:
            columns.append(lists.relative_weight[arc].view(torch.int32))
        return cls(size, torch.stack(columns, 1))

    def in_order(self, place: Tensor) -> "Rows":
        """Return the lists in another order: list i comes to place[i]."""
        size, start = torch.empty_like(self.size), torch.empty_like(self.size)
        size[place], start[place] = self.size, torch.cumsum(self.size, 0) - self.size
        return Rows(size, self.arcs[ranges(start, size)[1]])

    def as_lists(self, key: Tensor, like: Neighbours) -> Neighbours:
        """Return neighbour lists of these rows alone, whose keys (n,) are sorted; where arcs lead is not in them."""
        there, num_nodes = torch.nonzero(self.size).squeeze(1), like.num_nodes
        size, neighbour = self.size[there], self.arcs[:, 0].long()
        total, end = len(neighbour), size.new_zeros(1)
        arc_key = torch.repeat_interleave(size, output_size=total) * num_nodes + neighbour
        found = Neighbours(
            num_nodes, torch.cat([key[there], end + LAST]),
            torch.cat([end, torch.cumsum(size, 0), end + total]), torch.cat([neighbour, end]),
            torch.cat([arc_key, end + LAST]), size.new_full((total + 1,), len(there)),
            torch.cat([self.arcs[:, 1], end]).float(), None,
        )  # fmt: skip
        if like.weight is not None:  # relative to means of whole layers
            weight = torch.cat([self.arcs[:, 2].contiguous().view(torch.float32), end.float()])
            found.__dict__["relative_weight"] = weight
        return found


def _sums(size: Tensor, count: list[int]) -> list[int]:
    """Return the sums of the first count[0] sizes, of the next count[1], and so on."""
    return [int(part.sum()) for part in torch.split(size, count)]
