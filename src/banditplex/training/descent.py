"""The gradient of what vectors learn in a step: which nodes are the right answers to some questions.

Plain torch, and compiled loops around the same products of matrices.
"""

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import compile_loop
from banditplex.nn.relations import TINY, dot
from banditplex.nn.vectors import FOLDS, FORMULA

if TYPE_CHECKING:
    from banditplex.training.vectors import Questions


class Step(NamedTuple):
    """What the vectors of J models learn from in a step."""

    question: Tensor  # (J, B): places in `Questions`; the last place fills gaps
    row: Tensor  # (n,): which of the J * B questions each answer is to
    answer: Tensor  # (n,)
    candidates: Tensor  # (C,): nodes that answers are compared with, sorted


@offer
def descent(node: Tensor, layer: Tensor, asked: "Questions", step: Step, penalty: float) -> tuple[Tensor, Tensor]:
    """Return the gradients of the loss of a step by the vectors of nodes (J, N, D) and of layers (J, L, D)."""
    (question, row, answer, candidates), (size, width) = step, step.question.shape
    every, num_nodes, num_layers = torch.arange(question.numel(), device=node.device), node.shape[1], layer.shape[1]
    end, relation, against = (each[question.flatten()] for each in (asked.end, asked.layer, asked.against))
    own, against = every // width, against.bool().unsqueeze(1)  # own: the model of each question
    at_end, at_layer, at_answer = own * num_nodes + end, own * num_layers + relation, own[row] * num_nodes + answer
    e, w = node.flatten(0, 1).index_select(0, at_end), layer.flatten(0, 1).index_select(0, at_layer)

    def turn(x: Tensor) -> Tensor:
        return torch.where(against, FORMULA.inverse(x), x) if asked.directed else x

    turned = turn(w)
    query = FORMULA.towards(e, turned)
    # Scores of candidates, without those of the fold and the end itself. If they are a sample, each stands for several
    # nodes, but for right answers, and right answers that are not among them are added as `rest`.
    sampled = len(candidates) < num_nodes
    others = node[:, candidates] if sampled else node
    score = torch.bmm(query.view(size, width, -1), others.transpose(1, 2))
    if asked.groups is not None:
        (number, place), groups = divide(own, FOLDS), asked.groups.node
        hidden = (place - groups[number, end] - asked.groups.layer[number, relation]) % FOLDS
        of_candidates = groups[:, candidates].repeat_interleave(FOLDS, 0).unsqueeze(1)
        score.masked_fill_(of_candidates == hidden.view(size, width, 1), -math.inf)
    score = score.flatten(0, 1)
    column, found = find(candidates, end)
    score[every[found], column[found]] = -math.inf
    column, found = find(candidates, answer)
    right, rest = (row[found], column[found]), row[~found]
    if sampled:
        score += math.log(num_nodes / len(candidates))
        score[right] -= math.log(num_nodes / len(candidates))
    at_rest = at_answer[~found]
    x, asked_rest = node.flatten(0, 1).index_select(0, at_rest), query.index_select(0, rest)
    of_rest = dot(asked_rest, x)
    # Softmax: the share of each in the sum, times the number of right answers, less 1 for right answers.
    top = score.amax(1).clamp(min=-1e9).scatter_reduce(0, rest, of_rest, "amax")
    share, of_rest = score.sub_(top.unsqueeze(1)).exp_(), (of_rest - top[rest]).exp()
    total = share.sum(1).index_add_(0, rest, of_rest).clamp(min=TINY)
    factor = torch.bincount(row, minlength=len(every)) / total
    share *= factor.unsqueeze(1)
    share[right] -= 1
    share, of_rest = share.view(size, width, -1), (of_rest * factor[rest] - 1).unsqueeze(1)
    # Gradients by queries and candidates, then by what queries are made of, and of the penalty.
    by_query = torch.bmm(share, others).flatten(0, 1).index_add_(0, rest, x.mul_(of_rest))
    by_others = torch.bmm(share.transpose(1, 2), query.view(size, width, -1))
    by_node = torch.zeros_like(node).index_add_(1, candidates, by_others) if sampled else by_others
    add_penalty(by_node, node, at_answer, penalty)
    by_rows = by_node.view(-1, node.shape[2]).index_add_(0, at_rest, asked_rest.mul_(of_rest))
    by_rows.index_add_(0, at_end, FORMULA.towards(by_query, FORMULA.inverse(turned)))
    by_turned = FORMULA.towards(by_query, FORMULA.inverse(e))
    by_layer = torch.zeros_like(layer)
    add_penalty(by_layer, layer, at_layer[row], penalty)
    by_layer.view(-1, layer.shape[2]).index_add_(0, at_layer, turn(by_turned))
    return by_node, by_layer


def add_penalty(gradient: Tensor, vectors: Tensor, at: Tensor, penalty: float) -> None:
    """Add the gradient of the penalty on vectors (J, N, D) to `gradient`, as often as the rows of all are at `at` (n,).

    It is `penalty` times the sum of the cubes of the lengths of complex numbers.
    """
    real, imaginary = vectors.chunk(2, 2)
    count = torch.bincount(at, minlength=vectors.shape[0] * vectors.shape[1]).view(*vectors.shape[:2], 1)
    factor = torch.hypot(real, imaginary).mul_(3 * penalty).mul_(count)
    for part, value in zip(gradient.chunk(2, 2), (real, imaginary), strict=True):
        part.addcmul_(value, factor)


def divide(numbers: Tensor, by: int) -> tuple[Tensor, Tensor]:
    """Return quotients and remainders."""
    return numbers // by, numbers % by


def find(values: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return where each wanted number is among sorted values, and whether it is."""
    place = torch.searchsorted(values, wanted).clamp_(max=len(values) - 1)
    return place, values[place] == wanted


# Compiled loops

HIDDEN, LEAST = -1e9, -80.0
"""The score of what is no answer, and the least score beside the highest: exponentials of less are slow, and near 0."""


@descent.faster(on_cpu)
def _descent(node: Tensor, layer: Tensor, asked: "Questions", step: Step, penalty: float) -> tuple[Tensor, Tensor]:
    (models, width), (_, size, numbers), at = step.question.shape, node.shape, step.question.flatten()
    candidates, sampled, place = step.candidates, len(step.candidates) < size, torch.full((size,), -1)
    place[candidates] = torch.arange(len(candidates))
    others = node[:, candidates] if sampled else node
    if asked.groups is None:
        folds = (np.zeros((0, 0), np.int64),) * 3
    else:
        groups = asked.groups.node
        folds = groups.numpy(), asked.groups.layer.numpy(), groups[:, candidates].numpy()
    ends = [each[at].numpy() for each in (asked.end, asked.layer, asked.against)]
    answers = step.row.numpy(), step.answer.numpy(), place.numpy()
    values = node.numpy(), layer.numpy()
    query, rest = node.new_empty(models, width, numbers), node.new_zeros(len(step.row))
    asking, most = query.view(-1, numbers).numpy(), node.new_full((len(at),), HIDDEN)
    _ask(width, *ends, *values, asking)
    share = torch.bmm(query, others.transpose(1, 2))
    shares = share.view(-1, len(candidates))
    _hide(width, *ends[:2], *answers, *folds, values[0], asking, shares.numpy(), rest.numpy(), most.numpy())
    top = torch.maximum(shares.amax(1), most)
    shares.sub_(top.unsqueeze(1)).clamp_(min=LEAST).exp_()
    rest.sub_(top[step.row]).clamp_(min=LEAST).exp_()
    _divide(*answers, size / len(candidates), shares.numpy(), rest.numpy())
    by_query, by_others = torch.bmm(share, others), torch.bmm(share.transpose(1, 2), query)
    by_node, by_layer = torch.zeros_like(node) if sampled else by_others, torch.zeros_like(layer)
    if sampled:
        by_node.index_add_(1, candidates, by_others)
    found = by_query.view(-1, numbers).numpy(), by_node.numpy(), by_layer.numpy()
    _pass_on(width, *ends, *answers, *values, asking, rest.numpy(), 3 * penalty, *found)
    return by_node, by_layer


@partial(compile_loop, reorder=True)
def _ask(width: Any, end: Any, relation: Any, against: Any, node: Any, layer: Any, query: Any) -> None:
    """Compute queries: products of the vectors of ends and of layers, or their conjugates."""
    half = node.shape[2] // 2
    for i in range(len(end)):
        e, w, into = node[i // width, end[i]], layer[i // width, relation[i]], query[i]
        sign = np.float32(-1 if against[i] else 1)
        for c in range(half):
            a, b = w[c], sign * w[half + c]
            into[c] = e[c] * a - e[half + c] * b
            into[half + c] = e[c] * b + e[half + c] * a


@partial(compile_loop, reorder=True)
def _hide(
    width: Any, end: Any, relation: Any, row: Any, answer: Any, place: Any, group: Any, shift: Any, of_candidate: Any,
    node: Any, query: Any, score: Any, rest: Any, most: Any,
) -> None:  # fmt: skip
    """Hide candidates of the fold, and the end itself; compute scores of other right answers, and the highest one."""
    low, hidden_score = 0, score.dtype.type(HIDDEN)
    for i in range(len(end)):
        model, line = i // width, score[i]
        if len(group):
            number = model // FOLDS
            hidden = (model - group[number, end[i]] - shift[number, relation[i]]) % FOLDS
            of = of_candidate[number]
            for c in range(len(line)):
                line[c] = hidden_score if of[c] == hidden else line[c]
        if place[end[i]] >= 0:
            line[place[end[i]]] = hidden_score
        while low < len(row) and row[low] == i:
            if place[answer[low]] < 0:
                x = node[model, answer[low]]
                for c in range(len(x)):
                    rest[low] += query[i, c] * x[c]
                most[i] = max(most[i], rest[low])
            low += 1


@partial(compile_loop, reorder=True)
def _divide(row: Any, answer: Any, place: Any, ratio: Any, share: Any, rest: Any) -> None:
    """Turn exponentials into shares of their sum, times the number of right answers, less 1 for right answers.

    Each candidate stands for `ratio` nodes, but for right answers.
    """
    low, one = 0, np.float32(1)
    ratio = share.dtype.type(ratio)
    for i in range(len(share)):
        line, total, first = share[i], share.dtype.type(0), low
        for c in range(len(line)):
            total += line[c]
        total *= ratio
        while low < len(row) and row[low] == i:
            at = place[answer[low]]
            total += rest[low] if at < 0 else (one - ratio) * line[at]
            low += 1
        factor = np.float32(low - first) / total
        for c in range(len(line)):
            line[c] *= factor * ratio
        for a in range(first, low):
            at = place[answer[a]]
            if at < 0:
                rest[a] = rest[a] * factor - one
            else:
                line[at] = line[at] / ratio - one


@partial(compile_loop, reorder=True)
def _pass_on(
    width: Any, end: Any, relation: Any, against: Any, row: Any, answer: Any, place: Any, node: Any, layer: Any,
    query: Any, rest: Any, penalty: Any, by_query: Any, by_node: Any, by_layer: Any,
) -> None:  # fmt: skip
    """Pass the gradient on: from right answers that are no candidates, to what queries are made of; add the penalty."""
    low, half, penalty = 0, node.shape[2] // 2, node.dtype.type(penalty)
    for i in range(len(end)):
        model, d, first = i // width, by_query[i], low
        while low < len(row) and row[low] == i:
            x, into = node[model, answer[low]], by_node[model, answer[low]]
            if place[answer[low]] < 0:
                for c in range(len(x)):
                    d[c] += rest[low] * x[c]
                    into[c] += rest[low] * query[i, c]
            for c in range(half):
                factor = penalty * np.sqrt(x[c] * x[c] + x[half + c] * x[half + c])
                into[c] += factor * x[c]
                into[half + c] += factor * x[half + c]
            low += 1
        e, of_e = node[model, end[i]], by_node[model, end[i]]
        w, of_w = layer[model, relation[i]], by_layer[model, relation[i]]
        sign, own = np.float32(-1 if against[i] else 1), penalty * np.float32(low - first)
        for c in range(half):
            a, b = w[c], sign * w[half + c]
            factor = own * np.sqrt(a * a + b * b)
            of_e[c] += d[c] * a + d[half + c] * b
            of_e[half + c] += d[half + c] * a - d[c] * b
            of_w[c] += d[c] * e[c] + d[half + c] * e[half + c] + factor * a
            of_w[half + c] += sign * (d[half + c] * e[c] - d[c] * e[half + c] + factor * b)
