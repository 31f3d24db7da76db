"""The encoder: convolutions whose weights all layers share, and a small adaptation to each layer."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.backend import adapt, take
from banditplex.errors import InputError
from banditplex.nn.graph import Block
from banditplex.nn.mean import Mean, add_convolution

CONVOLUTIONS = ("sage", "gcn")
Convolution = str | Callable[[int, int], nn.Module]
"""A name, or a class or function called as conv(in_channels, out_channels)."""
MAX_NODE_EMBEDDINGS = 2_000
"""Nodes whose input vectors are trained, at most. Beyond, trained vectors overfit the training edges; random ones still
tell which neighbours two nodes share: means of them are random projections of neighbour lists (Achlioptas, 2003)."""


class Encoder(nn.Module):
    """Embeds the nodes of some layers at once, in one space.

    x = input(features or base embedding) + degree(log(1 + degree)); `depth` times x = silu(conv(x)) + x; then
    layer normalisation and, per layer, x * (1 + scale) + shift. Embeddings of different layers are comparable
    because only scale and shift belong to a layer; both start at 0.

    Parameters: `num_features` 0 means that nodes have no features; then each node has an input vector, trained if there
    are at most `MAX_NODE_EMBEDDINGS` nodes, else fixed and random. `conv` is "sage" (mean of messages), "gcn", or any
    PyG convolution, as a class or function that is called as conv(in, out). Edge weights are message weights, for
    convolutions that take `edge_weight` (both built-in ones do).
    """

    def __init__(
        self, *, num_nodes: int, num_layers: int, num_features: int, width: int, depth: int, conv: Convolution
    ) -> None:
        super().__init__()
        self.num_features, self.width = num_features, width
        if num_features:
            self.input: nn.Module = FeatureInput(num_features, width)
        else:
            make: Any = nn.Embedding.from_pretrained  # fixed vectors
            trained, vectors = num_nodes <= MAX_NODE_EMBEDDINGS, torch.empty(num_nodes, width)
            self.input = nn.Embedding(num_nodes, width) if trained else make(vectors)
            nn.init.normal_(self.input.weight, std=width**-0.5)
        self.degree = nn.Linear(1, width)
        self.convs = nn.ModuleList([make_convolution(conv, width) for _ in range(depth)])
        self.adapt = nn.Parameter(torch.zeros(num_layers, 2, width))
        self.averages = conv == "sage"  # so neighbours can be sampled; other convolutions may sum, or divide by degrees
        hops = 1 if conv in CONVOLUTIONS else count_hops(self.convs[0], width)
        self.reach = depth * hops + (not self.averages)  # hops that the result depends on, degrees included
        taken = inspect.signature(self.convs[0].forward).parameters
        self.takes_mean, self.takes_weights = "mean" in taken, "edge_weight" in taken

    def forward(self, block: Block, features: Tensor | None) -> Tensor:
        """Return the embedding of each vertex of a block that was asked for; `features` (num_nodes, F), if any."""
        degree = F.pad(torch.log1p(block.degree).unsqueeze(1), (0, 1), value=1.0)  # (V, 2), for weight and bias
        weight = torch.cat([self.degree.weight.t(), self.degree.bias.unsqueeze(0)])
        x = self._input(block.node, features).addmm_(degree.to(weight.dtype), weight)
        arcs: Any = Mean.of(block) if self.takes_mean else block.edge_index
        options = {"edge_weight": block.weight} if self.takes_weights and block.weight is not None else {}
        for conv in self.convs:
            size = block.asked if conv is self.convs[-1] else None
            if self.takes_mean:
                x = add_convolution(x, arcs, conv, size)
            else:
                x = (x + F.silu(conv(x, arcs, **options)))[:size]
        return adapt(x, self.adapt, block.layer[: block.asked])

    def _input(self, node: Tensor, features: Tensor | None) -> Tensor:
        """Return the input vectors of the vertices, (V, width)."""
        if isinstance(self.input, nn.Embedding):
            return take(self.input.weight, node)
        assert features is not None
        return self.input(take(features, node))

    @torch.no_grad()
    def measure(self, features: Tensor) -> None:
        """Take mean and scale of node features (num_nodes, F), if the encoder looks at them."""
        if isinstance(self.input, FeatureInput):
            for kept, found in zip((self.input.mean, self.input.factor), column_scales(features), strict=True):
                kept.copy_(found)


class FeatureInput(nn.Linear):
    """A linear map of node features that are standardised first: age in years and income in euros count alike.

    Mean and factor are part of the model, so that new nodes are read as those of training. They and the difference have
    double precision: dates in seconds would lose their digits else.
    """

    mean: Tensor
    factor: Tensor

    def __init__(self, num_features: int, width: int) -> None:
        super().__init__(num_features, width)
        self.register_buffer("mean", torch.zeros(num_features, dtype=torch.float64))
        self.register_buffer("factor", torch.ones(num_features, dtype=torch.float64))

    def forward(self, input: Tensor) -> Tensor:
        """Return the input vectors (n, width) of nodes with features (n, F)."""
        return super().forward(((input - self.mean) * self.factor).to(self.weight.dtype))


def column_scales(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and factor (F,) that give columns of features (n, F) mean 0 and deviation 1; 0 for a constant one."""
    values = features.double()
    largest = values.abs().amax(0).clamp(min=torch.finfo(torch.float64).tiny)  # squares of large numbers overflow
    deviation = (values / largest).std(0, unbiased=False)
    factor = torch.where(deviation > CONSTANT, 1 / (deviation * largest), 0.0)
    return (values / largest).mean(0) * largest, factor


CONSTANT = 1e-12
"""Deviation, relative to the largest number of a column, up to which its differences are taken for rounding."""


def make_convolution(conv: Convolution, width: int) -> nn.Module:
    """Return a convolution from `width` to `width` channels."""
    if conv == "gcn":
        from torch_geometric.nn import GCNConv

        return GCNConv(width, width)
    if conv == "sage":
        from banditplex.nn.mean_conv import MeanConv

        return MeanConv(width, width)
    if isinstance(conv, str | nn.Module) or not callable(conv):
        known = ", ".join(CONVOLUTIONS)
        raise InputError(f"Expected conv to be one of {known}, or a class or function that makes one, got {conv!r}.")
    try:
        made = conv(width, width)
        if not isinstance(made, nn.Module):
            raise TypeError(f"no torch module, but {made!r}")
        found = tuple(try_convolution(made, torch.zeros(PATH, width)).shape)
    except Exception as error:
        raise InputError(
            f"Expected conv({width}, {width}) to make a convolution that is called as (x, edge_index), "
            f"got {type(error).__name__} from {name_of(conv)!r}: {error}"
        ) from error
    if found != (PATH, width):
        raise InputError(f"Expected {width} channels of {name_of(conv)!r} as conv({width}, {width}), got {found[1:]}.")
    return made


def name_of(conv: Callable[[int, int], nn.Module]) -> str:
    """Return the name of a convolution's class or function."""
    return getattr(conv, "__name__", type(conv).__name__)


PATH = 12  # vertices of the path on which convolutions are tried


@torch.no_grad()
def try_convolution(conv: nn.Module, x: Tensor) -> Tensor:
    """Return the output of a convolution for x (PATH, width) on a path; neither it nor any generator changes."""
    ends = torch.arange(PATH - 1)
    arcs = torch.stack([torch.cat([ends, ends + 1]), torch.cat([ends + 1, ends])])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return copy.deepcopy(conv).eval()(x, arcs)


def count_hops(conv: nn.Module, width: int, trials: int = 4) -> int:
    """Return the receptive field of a convolution: the largest distance on a path at which an input matters."""
    generator = torch.Generator().manual_seed(0)
    for distance in range(PATH - 1, 1, -1):
        for _ in range(trials):
            x = torch.randn(PATH, width, generator=generator)
            other = x.clone()
            other[distance] += torch.randn(width, generator=generator)
            if not torch.equal(try_convolution(conv, x)[0], try_convolution(conv, other)[0]):
                return distance
    return 1
