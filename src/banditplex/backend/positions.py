"""What the leading eigenvectors of a layer say of pairs."""

import torch
from torch import Tensor

from banditplex.backend.choice import offer


@offer
def position_columns(
    fold: Tensor, layer: Tensor, row: Tensor, vectors: Tensor, values: Tensor, degree: Tensor, size: Tensor
) -> Tensor:
    """Return columns (n, 5) of pairs of folds (n,), at rows (2, n) in layers (n,).

    Each fold has vectors (folds, R + 1, r), values (folds, L, r), the largest first by size, 0 where there is no
    vector, and degrees (folds, R + 1); `size` (L,) are the nodes of each layer. The columns are entries of the low-rank
    matrix, from 4 vectors and from all, times the size of the layer; two cosines, with and without the eigenvalues; and
    the entry times the root of the degrees' product.
    """
    a, b = vectors[fold, row[0]], vectors[fold, row[1]]
    value = values[fold, layer]
    used = (value != 0).float()
    a, b, length = a * used, b * used, value.abs()
    entry, scale = a * b * value, size[layer]
    whole = entry.sum(1)
    square = (a.square() * length).sum(1) * (b.square() * length).sum(1)
    weighted = (a * b * length).sum(1) * square.clamp(min=1e-12).rsqrt()
    rest_a, rest_b = a[:, 1:], b[:, 1:]
    square = rest_a.square().sum(1) * rest_b.square().sum(1)
    plain = (rest_a * rest_b * value[:, 1:].sign()).sum(1) * square.clamp(min=1e-12).rsqrt()
    degrees = degree[fold, row[0]] * degree[fold, row[1]]
    return torch.stack(
        [signed_log(entry[:, :4].sum(1) * scale), signed_log(whole * scale), weighted, plain,
         signed_log(whole * degrees.sqrt())], 1,
    )  # fmt: skip


def signed_log(x: Tensor) -> Tensor:
    """Return sign(x) log(1 + |x|)."""
    return torch.sign(x) * torch.log1p(x.abs())
