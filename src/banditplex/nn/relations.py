"""Scores of triples (u, layer, v) by vectors of nodes and layers: one family, of our model and of its rivals.

With <a, b, c> the sum of a_i b_i c_i, the score of a triple (u, r, v) is

- DistMult (Yang et al., ICLR 2015): <e_u, w_r, e_v>;
- ComplEx (Trouillon et al., ICML 2016): the real part of <e_u, w_r, conjugate of e_v>, with complex vectors;
- SimplE (Kazemi and Poole, NeurIPS 2018): (<h_u, w_r, t_v> + <h_v, w'_r, t_u>) / 2, with two vectors h and t of each
  node and two vectors w and w' of each relation;
- RotatE (Sun et al., ICLR 2019): a margin - the sum of |e_u,i w_r,i - e_v,i|, with complex vectors and w_r,i of length
  1: each relation has angles, by which it turns the numbers of u.

`nn/vectors.py` and `training/vectors.py` learn ComplEx in folds, so that no pair helps to place itself;
`baselines/triples.py` learns any of them from all training edges, as the papers do.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from banditplex.registry import Registry

MARGIN = 6.0  # the score of RotatE at distance 0
TINY = 1e-12  # keeps gradients of lengths finite at 0


def dot(first: Tensor, second: Tensor) -> Tensor:
    """Return the products of vectors, over the last dimension."""
    return (first * second).sum(-1)


def _nearness(first: Tensor, second: Tensor) -> Tensor:
    """Return the margin minus the lengths of the differences of complex numbers."""
    real, imaginary = (first - second).chunk(2, -1)
    return MARGIN - (real * real + imaginary * imaginary + TINY).sqrt().sum(-1)


class Formula(NamedTuple):
    """A score: alike(towards(e_u, w_r), e_v) = alike(towards(e_v, inverse(w_r)), e_u).

    `parts` and `relation_parts` are how many vectors of `dimension` numbers each node and each relation has.
    """

    towards: Callable[[Tensor, Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]
    parts: int
    relation_parts: int
    alike: Callable[[Tensor, Tensor], Tensor] = dot

    def score(self, first: Tensor, relation: Tensor, second: Tensor) -> Tensor:
        """Return the scores of triples, sums over the last dimension."""
        return self.alike(self.towards(first, relation), second)


def _complex_product(first: Tensor, relation: Tensor) -> Tensor:
    """Return e_u w_r of complex vectors; the first half of a vector is its real part."""
    (a, b), (c, d) = first.chunk(2, -1), relation.chunk(2, -1)
    return torch.cat([a * c - b * d, a * d + b * c], -1)


def _crossed_product(first: Tensor, relation: Tensor) -> Tensor:
    """Return what SimplE multiplies with (h_v, t_v); the first half of a vector is h or w, the second t or w'."""
    (head, tail), (there, back) = first.chunk(2, -1), relation.chunk(2, -1)
    return torch.cat([tail * back, head * there], -1) / 2


def _turn(first: Tensor, angle: Tensor) -> Tensor:
    """Return complex vectors, turned by angles."""
    return _complex_product(first, torch.cat([angle.cos(), angle.sin()], -1))


def _conjugate(relation: Tensor) -> Tensor:
    real, imaginary = relation.chunk(2, -1)
    return torch.cat([real, -imaginary], -1)


FORMULAS: Registry[Formula] = Registry("knowledge-graph model")
FORMULAS.add("distmult", Formula(torch.mul, lambda relation: relation, 1, 1))
FORMULAS.add("complex", Formula(_complex_product, _conjugate, 2, 2))
FORMULAS.add("simple", Formula(_crossed_product, lambda relation: relation.roll(relation.shape[-1] // 2, -1), 2, 2))
FORMULAS.add("rotate", Formula(_turn, torch.neg, 2, 1, _nearness))
