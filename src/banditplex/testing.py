"""Checks that everything of a kind here passes, for policies, layer losses and link scorers of your own.

Each raises an AssertionError that says what was expected and what came.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from inspect import signature
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import Draw, Observations, Policy, make_policy
from banditplex.bandits.rounding import FloatArray, IntArray

if TYPE_CHECKING:  # torch takes a while to import, and policies do without
    from banditplex.multiplex import Multiplex
    from banditplex.nn.relevance import LayerLoss, Relevance, RelevanceBatch
    from banditplex.scorer import LinkScorer

SIZES = ((1, 1), (5, 1), (6, 2), (3, 3), (90, 3))
"""Pairs (num_arms, k) at which policies are checked; unseen arms share memory in the last."""

NUM_INSTANCES = 4


def check_policy(
    policy: str | Callable[..., Policy], *, equivariant: bool = True, seed: int = 0, **options: Any
) -> None:
    """Check that a policy keeps the contract of `banditplex.bandits.Policy`, at several sizes.

    Inclusion lies in [0, 1] and sums to k; draws are k distinct arms with exactly these probabilities, made
    with the given generator alone; instances do not touch each other; a restored policy has the same future;
    bad input is refused and changes nothing; any mixture of losses from 0 to 1e100 is borne in silence.

    Parameters: `policy`, a name, or a function of (num_arms, k, num_instances) that returns a new policy;
    `equivariant`, whether it must treat arms alike whatever their number; `options` go to the policy.

    >>> check_policy("exp3+", raw_range=True)
    >>> check_policy("fixed", arms=[0], equivariant=False)
    """
    make = partial(make_policy, policy, **options) if isinstance(policy, str) else partial(policy, **options)
    checks = (
        _check_inclusion, _check_draws, _check_frequencies, _check_one_by_one, _check_round_trip,
        _check_refusals, _check_extremes, *([_check_equivariance] if equivariant else []),
    )  # fmt: skip
    for (num_arms, k), check in product(SIZES, checks):
        sized = partial(make, num_arms=num_arms, k=k)
        try:
            check(sized, np.random.default_rng([seed, num_arms, k]))
        except AssertionError:
            raise
        except Exception as error:
            _expect(False, sized(num_instances=NUM_INSTANCES), "rounds of play raise no error", repr(error))
    _check_attributes(make)


_Make = Callable[..., Policy]


def _check_inclusion(make: _Make, rng: np.random.Generator) -> None:
    """Check that inclusion has its shape, lies in [0, 1], sums to k for any subset, and stays if `learns` is False."""
    policy = make(num_instances=NUM_INSTANCES)
    first, shape = policy.inclusion(), (NUM_INSTANCES, policy.num_arms)
    for _ in _play(policy, rng, rounds=12):
        p = policy.inclusion()
        _expect(p.shape == shape, policy, f"inclusion() has shape {shape}", p.shape)
        _expect(bool((p >= 0).all() and (p <= 1).all()), policy, "inclusion lies in [0, 1]", p)
        _expect(_near(p.sum(axis=1), policy.k), policy, f"inclusion sums to k = {policy.k}", p.sum(axis=1))
        _expect(policy.learns or _near(first, p), policy, "inclusion never changes, as learns is False", p)
        part = policy.inclusion([2, 0])
        _expect(_near(part, p[[2, 0]]), policy, "inclusion([2, 0]) is rows 2 and 0 of inclusion()", part)


def _check_draws(make: _Make, rng: np.random.Generator) -> None:
    """Check that a draw is k distinct arms with the probabilities of `inclusion`, by the given generator alone."""
    policy = make(num_instances=NUM_INSTANCES)
    for _ in _play(policy, rng, rounds=6):
        before, p = policy.state_dict(), policy.inclusion()
        draw = policy.draw(rng, instances=[3, 1])
        _expect(draw.instances.tolist() == [3, 1], policy, "draw.instances is [3, 1]", draw.instances)
        _expect(draw.arms.shape == (2, policy.k), policy, f"draw.arms is (2, {policy.k})", draw.arms.shape)
        inside = bool((draw.arms >= 0).all() and (draw.arms < policy.num_arms).all())
        _expect(inside, policy, f"arms lie between 0 and {policy.num_arms - 1}", draw.arms)
        distinct = all(len(set(row)) == policy.k for row in draw.arms.tolist())
        _expect(distinct, policy, "the arms of an instance are distinct", draw.arms)
        stated = np.take_along_axis(p[[3, 1]], draw.arms, 1)
        _expect(_near(draw.probability, stated), policy, "draw.probability is inclusion", draw.probability)
        _expect(_near(draw.inclusion, p[[3, 1]]), policy, "draw.inclusion is inclusion", draw.inclusion)
        _expect(_same(before, policy.state_dict()), policy, "draw() changes no state", "a changed state")
        moved = dict(np.random.get_state(legacy=False)["state"]), random.getstate()  # noqa: NPY002
        first, second = (policy.draw(np.random.default_rng(7)).arms for _ in range(2))
        _expect(bool((first == second).all()), policy, "equal generators draw equal arms", (first, second))
        now: Any = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
        kept = _same(moved[0], now) and moved[1] == random.getstate()
        _expect(kept, policy, "randomness comes from the generator handed in", "a moved global generator")


def _check_frequencies(make: _Make, rng: np.random.Generator) -> None:
    """Check that arms are drawn as often as stated (Bernstein's inequality, false alarm below 1e-6)."""
    policy, trials = make(num_instances=1000), 20_000
    for _ in range(5):
        arms = rng.permutation(policy.num_arms)[: policy.k]
        p = np.maximum(policy.inclusion()[:, arms], 0.01)
        forced = Draw(np.arange(1000), np.tile(arms, (1000, 1)), p)
        policy.update(forced, np.tile(rng.random(policy.k), (1000, 1)))
    p = policy.inclusion([0])[0]
    drawn = np.concatenate([policy.draw(rng).arms.ravel() for _ in range(trials // 1000)])
    frequency = np.bincount(drawn, minlength=policy.num_arms) / trials
    doubt = np.log(2 * policy.num_arms / 1e-6)
    allowed = np.sqrt(2 * p * (1 - p) * doubt / trials) + doubt / (3 * trials)
    worst = int(np.argmax(np.abs(frequency - p) - allowed))
    message = f"arm {worst} is drawn with probability {p[worst]:.4f}"
    fits = abs(frequency[worst] - p[worst]) <= allowed[worst]
    _expect(bool(fits), policy, message, f"{frequency[worst]:.4f} of {trials} draws")


def _check_one_by_one(make: _Make, rng: np.random.Generator) -> None:
    """Check that many instances behave as so many policies of one instance, those outside of a draw, too."""
    many, ones = make(num_instances=NUM_INSTANCES), [make(num_instances=1) for _ in range(NUM_INSTANCES)]
    for step in range(15):
        chosen = rng.permutation(NUM_INSTANCES)[: 1 + step % NUM_INSTANCES]
        draw = many.draw(rng, instances=chosen)
        losses = rng.random(draw.arms.shape) * 10.0 ** (step % 5)
        extra = _extra(many, draw, rng) if step % 3 else None
        many.update(draw, losses, extra=extra)
        for row, instance in enumerate(chosen.tolist()):
            own, seen = Draw([0], draw.arms[[row]], draw.probability[[row]]), None
            if extra is not None:
                here = np.flatnonzero(extra.instance == instance)
                seen = Observations(np.zeros_like(here), extra.arm[here], extra.loss[here], extra.probability[here])
            ones[instance].update(own, losses[[row]], extra=seen)
        p, apart = many.inclusion(), np.concatenate([one.inclusion() for one in ones])
        _expect(_near(p, apart), many, "many instances equal one by one", p - apart)


def _check_round_trip(make: _Make, rng: np.random.Generator) -> None:
    """Check that a policy restored in mid-run draws and learns exactly as the original."""
    policy, restored = make(num_instances=NUM_INSTANCES), make(num_instances=NUM_INSTANCES)
    list(_play(policy, rng, rounds=7))
    state = policy.state_dict()
    for name, value in state.items():
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
        plain = is_array or isinstance(value, int | float | str)
        _expect(plain, policy, f"state_dict()[{name!r}] is a number or a plain array", type(value).__name__)
    restored.load_state_dict(state)
    for seed in rng.integers(1 << 30, size=8).tolist():
        for each in (policy, restored):
            own = np.random.default_rng(seed)
            draw = each.draw(own)
            each.update(draw, own.random(draw.arms.shape), extra=_extra(each, draw, own))
        same = np.array_equal(policy.inclusion(), restored.inclusion())
        _expect(same, policy, "a restored policy has the same future", "different inclusion")
    again = make(num_instances=NUM_INSTANCES)
    again.load_state_dict(state)
    _expect(_same(state, again.state_dict()), policy, "state_dict() is a copy", "one that went on changing")


def _check_refusals(make: _Make, rng: np.random.Generator) -> None:
    """Check that bad input is a ValueError and that the state is as before."""
    policy = make(num_instances=NUM_INSTANCES)
    list(_play(policy, rng, rounds=3))
    draw = policy.draw(rng, instances=[2, 0])
    for what, update in _bad_updates(policy, draw):
        before = policy.state_dict()
        try:
            update()
        except ValueError:
            kept = _same(before, policy.state_dict())
            _expect(kept, policy, f"an update refused for {what} changes nothing", "a changed state")
        else:
            _expect(False, policy, f"{what} is refused with a ValueError", "no error")


def _check_extremes(make: _Make, rng: np.random.Generator) -> None:
    """Check that losses of any size, mixed, equal or zero, leave good probabilities and no warning."""
    sizes = np.array([0.0, 1e-310, 1e-300, 1e-200, 1e-30, 1.0, 1e30, 1e99, 1e100])
    with warnings.catch_warnings(), np.errstate(over="warn", divide="warn", invalid="warn"):
        warnings.simplefilter("error")
        for choice in (sizes, sizes[::-1], np.array([0.0]), np.array([0.1]), np.array([1e100])):
            policy = make(num_instances=NUM_INSTANCES)
            for step in range(20):
                draw = policy.draw(rng)
                losses = choice[rng.integers(len(choice), size=draw.arms.shape)]
                policy.update(draw, losses, extra=_extra(policy, draw, rng, choice) if step % 2 else None)
                p = policy.inclusion()
                good = bool((p >= 0).all() and (p <= 1).all()) and _near(p.sum(axis=1), policy.k)
                _expect(good, policy, f"inclusion sums to k after losses up to {losses.max(initial=0):g}", p)


def _check_equivariance(make: _Make, rng: np.random.Generator) -> None:
    """Check that renumbering the arms renumbers the probabilities."""
    policy, renumbered = make(num_instances=1), make(num_instances=1)
    to = rng.permutation(policy.num_arms)
    for _ in range(15):
        draw = policy.draw(rng)
        losses = rng.random(draw.arms.shape)
        policy.update(draw, losses)
        renumbered.update(Draw([0], to[draw.arms], draw.probability), losses)
        p, q = policy.inclusion()[0], renumbered.inclusion()[0][to]
        _expect(_near(p, q), policy, "renumbering arms renumbers inclusion", q - p)


def _check_attributes(make: _Make) -> None:
    """Check `arm_options` and `takes_k`: where the caller chooses k, it is kept, or refused if too large."""
    policy = make(num_arms=3, k=2, num_instances=1)
    known, named = list(signature(type(policy)).parameters), list(policy.arm_options)
    _expect(set(named) <= set(known), policy, f"arm_options are among the parameters {known}", named)
    _expect(policy.k == 2 or not policy.takes_k, policy, "k = 2 is kept, as takes_k is True", f"k = {policy.k}")
    try:
        policy = make(num_arms=3, k=4, num_instances=1)
    except ValueError:
        return
    refused = policy.k <= 3 and not policy.takes_k
    _expect(refused, policy, "k = 4 of 3 arms is refused with a ValueError", f"k = {policy.k}")


def _bad_updates(policy: Policy, draw: Draw) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what is wrong, and the update that is."""
    shape, k = draw.arms.shape, policy.k
    good, last = np.ones(shape), policy.num_arms - 1

    def forced(arms: NDArray[Any] = draw.arms, p: NDArray[Any] = good, instances: Any = (2, 0)) -> Draw:
        return Draw(instances, arms, p)

    yield "losses of the wrong shape", lambda: policy.update(draw, np.ones((3, k)))
    yield "an instance out of range", lambda: policy.update(forced(instances=[2, NUM_INSTANCES]), good)
    yield "an instance twice", lambda: policy.update(forced(instances=[2, 2]), good)
    yield "an arm out of range", lambda: policy.update(draw, good, extra=Observations([2], [last + 1], [1.0]))
    if k == 0:
        return
    for bad in (np.nan, np.inf, -1.0, 1e101):
        yield f"a loss of {bad}", partial(policy.update, draw, np.where(np.arange(k) == k - 1, bad, good))
    for bad in (0.0, np.nan, -0.5, 1.5):
        yield f"a probability of {bad}", partial(policy.update, draw, good, probability=good * bad)
        yield f"a draw of probability {bad}", partial(policy.update, forced(p=good * bad), good)
    yield "a drawn arm out of range", lambda: policy.update(forced(draw.arms + last + 1), good)
    if k > 1:
        yield "an arm drawn twice", lambda: policy.update(forced(draw.arms[:, [0] * k]), good)
    again = Observations([2], draw.arms[0, :1], [1.0])
    yield "a drawn arm observed again", lambda: policy.update(draw, good, extra=again)
    stray = Observations([1], [0], [1.0], [0.5])
    yield "a probability outside the draw", lambda: policy.update(draw, good, extra=stray)
    yield "a negative advisory loss", lambda: policy.update(draw, good, extra=Observations([1], [0], [-1.0]))


def _play(policy: Policy, rng: np.random.Generator, rounds: int) -> Iterator[None]:
    """Yield before each of some rounds with random losses, for all instances and for some."""
    for step in range(rounds):
        yield
        draw = policy.draw(rng, instances=None if step % 2 else [0, 3])
        extra = _extra(policy, draw, rng) if step % 3 else None
        policy.update(draw, rng.random(draw.arms.shape), extra=extra)


def _extra(policy: Policy, draw: Draw, rng: np.random.Generator, losses: FloatArray | None = None) -> Observations:
    """Return observations of about half of the arms not drawn, every other one advisory."""
    free = np.ones((len(draw.instances), policy.num_arms), dtype=bool)
    np.put_along_axis(free, draw.arms, False, 1)
    row, arm = np.nonzero(free & (rng.random(free.shape) < 0.5))
    loss = rng.random(len(row)) if losses is None else rng.choice(losses, len(row))
    probability = np.where(arm % 2, np.nan, rng.uniform(0.5, 1.0, len(row)))
    return Observations(draw.instances[row], arm, loss, probability)


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Return whether two dictionaries of numbers and arrays are identical."""
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def _near(a: NDArray[Any], b: Any) -> bool:
    """Return whether numbers agree to 1e-12."""
    return bool(np.allclose(a, b, rtol=0, atol=1e-12))


# Layer losses


def check_relevance(relevance: "str | Relevance | LayerLoss", *, seed: int = 0) -> None:
    """Check that a layer loss keeps the contract of `banditplex.nn.relevance.Relevance`, on several batches.

    It returns one finite number >= 0 per comparison, also where all labels are equal or all numbers are 0; the order
    of pairs and nodes and the other comparisons of a batch do not matter; the batch stays as it is; nothing is read
    but what `needs` declares; if it is declared symmetric, target and layer may be swapped.

    Parameters: `relevance`, a name, a `Relevance` or a plain function.

    >>> check_relevance("cosine")
    >>> check_relevance(lambda batch: batch.mean(batch.own - batch.other, batch.pair_group))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: relevance '<lambda>': expected that losses are finite and >= 0 on a random batch, got ...
    """
    from banditplex.nn.relevance import get_relevance

    found = get_relevance(relevance)
    rng = np.random.default_rng(seed)
    for what, batch in _relevance_batches(rng):
        given = _leave_out(batch, found, empty=True)
        losses = _layer_losses(found, given, what)
        for promise, changed, chosen in _variants(found, batch, given, rng):
            got = _layer_losses(found, changed, f"{what}, where {promise}")
            same = bool(np.allclose(losses[chosen], got, rtol=1e-4, atol=1e-5))  # up to rounding in 32 bits
            _expect(same, f"relevance {found.name!r}", f"{promise} on {what}", f"{got} instead of {losses[chosen]}")


PAIR_FIELDS, NODE_FIELDS = ("label", "own", "other"), ("target_embedding", "layer_embedding")


def _relevance_batches(rng: np.random.Generator) -> Iterator[tuple[str, "RelevanceBatch"]]:
    """Yield batches of several comparisons, in words and as they are."""
    yield "a random batch", _relevance_batch(rng, (7, 2, 12, 1))
    yield "a batch of one comparison", _relevance_batch(rng, (9,))
    for label in (1, 0):
        batch = _relevance_batch(rng, (6, 3))
        yield f"labels that are all {label}", replace(batch, label=batch.label * 0 + label)
    yield "logits and embeddings that are all 0", _relevance_batch(rng, (6, 3), scale=0.0)
    yield "logits and embeddings of up to 100", _relevance_batch(rng, (6, 3), scale=30.0)


def _relevance_batch(rng: np.random.Generator, sizes: tuple[int, ...], scale: float = 1.0) -> "RelevanceBatch":
    """Return a batch of comparisons with so many pairs and one node more each, in random order."""
    import torch

    from banditplex.nn.relevance import RelevanceBatch

    pair_group, node_group = (rng.permutation(np.repeat(np.arange(len(sizes)), np.add(sizes, n))) for n in (0, 1))
    own, other = scale * rng.normal(size=(2, len(pair_group)))
    first, second = scale * rng.normal(size=(2, len(node_group), 5))
    numbers = [rng.random(len(pair_group)) < 0.5, own, other, first, second]
    label, own, other, first, second = (torch.from_numpy(each.astype(np.float32)) for each in numbers)
    groups = torch.from_numpy(pair_group), torch.from_numpy(node_group)
    return RelevanceBatch(len(sizes), groups[0], label, own, other, groups[1], first, second)


def _leave_out(batch: "RelevanceBatch", relevance: "Relevance", *, empty: bool) -> "RelevanceBatch":
    """Return a batch in which what a relevance does not need is empty, as in training, or not a number."""
    changes: dict[str, Any] = {}
    for need, names, group in (("logits", PAIR_FIELDS, "pair_group"), ("embeddings", NODE_FIELDS, "node_group")):
        if need not in relevance.needs:
            for name in names:
                value = getattr(batch, name)
                changes[name] = value.new_zeros((0,) * value.ndim) if empty else value * float("nan")
            if empty:
                changes[group] = getattr(batch, group)[:0]
    return replace(batch, **changes)


def _layer_losses(relevance: "Relevance", batch: "RelevanceBatch", what: str) -> FloatArray:
    """Return the losses of a batch, once they are found to be losses and the batch to be as before."""
    import torch

    who = f"relevance {relevance.name!r}"
    tensors = {each.name: getattr(batch, each.name) for each in fields(batch) if each.name != "num_groups"}
    before = {name: value.clone() for name, value in tensors.items()}
    try:
        with torch.no_grad():
            losses: Any = relevance(batch)
    except Exception as error:
        _expect(False, who, f"no error is raised on {what}", repr(error))
    shape, got = (batch.num_groups,), tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses).__name__
    _expect(got == shape, who, f"a tensor of shape {shape}, one loss per comparison, is returned on {what}", got)
    values: FloatArray = losses.double().cpu().numpy()
    _expect(bool((np.isfinite(values) & (values >= 0)).all()), who, f"losses are finite and >= 0 on {what}", values)
    changed = [name for name in tensors if not np.array_equal(tensors[name], before[name], equal_nan=True)]
    _expect(not changed, who, f"the batch stays as it is on {what}", f"a changed {', '.join(changed)}")
    return values


def _variants(
    relevance: "Relevance", batch: "RelevanceBatch", given: "RelevanceBatch", rng: np.random.Generator
) -> Iterator[tuple[str, "RelevanceBatch", slice]]:
    """Yield what does not matter, a batch that differs from `given` in this, and which losses it must have."""
    groups = ("pair_group", PAIR_FIELDS), ("node_group", NODE_FIELDS)
    changes: dict[str, Any] = {}
    for group, names in groups:
        order = rng.permutation(len(getattr(given, group)))
        changes |= {name: getattr(given, name)[order] for name in (group, *names) if len(getattr(given, name))}
    yield "the order of pairs and nodes does not matter", replace(given, **changes), slice(None)
    for number in range(given.num_groups):
        changes = {"num_groups": 1}
        for group, names in groups:
            own = getattr(given, group) == number
            changes |= {name: getattr(given, name)[own] for name in names if len(own)}
            changes[group] = getattr(given, group)[own] * 0
        yield "other comparisons do not matter", replace(given, **changes), slice(number, number + 1)
    promise = f"nothing but the needs ({' and '.join(sorted(relevance.needs))}) is read, and all else NaN"
    yield promise, _leave_out(batch, relevance, empty=False), slice(None)
    if relevance.symmetric:
        swapped = replace(given, target_embedding=given.layer_embedding, layer_embedding=given.target_embedding)
        yield "target and layer may be swapped, as symmetric is True", swapped, slice(None)


# Link scorers


def check_scorer(
    make: "Callable[..., LinkScorer]",
    *,
    hide: str = "layer",
    trials: int = 2,
    memory: float = 0.1,
    seed: int = 0,
    **options: Any,
) -> None:
    """Check that a link prediction method keeps the contract of `banditplex.scorer.LinkScorer`, on random graphs.

    - `fit` returns the method, and `score_pairs` one finite number per pair, none for no pairs.
    - The score of a pair does not depend on which other pairs are scored with it, nor on their order: asked alone,
      reversed, twice, and edges apart from other pairs. In an undirected multiplex (u, v) and (v, u) score alike.
    - Two fits with the same seed give the same scores.
    - Fitted to edges that are independent of each other, it finds nothing: ROC-AUC of held-out edges against other
      pairs is .5 within four standard errors.
    - If its attribute `sees_own_edge` is False, ROC-AUC of the training edges of such a graph is at most `memory` more:
      a method that was fitted to labels may remember some, but one that sees the edge itself knows them all.

    Parameters
    ----------
    make
        A function that returns a new method, such as its class.
    hide
        "layer" or "pair": what a split hides. It is set where the method has an attribute `hide`; so is `seed`.
    trials
        Number of random graphs without signal, of three layers each.
    memory, seed
        See above; seed of the graphs and of the method.
    options
        Arguments of `make`.

    >>> from banditplex.baselines import BASELINES
    >>> check_scorer(BASELINES["adamic-adar"])
    """
    from banditplex.evaluation import split

    for directed in (False, True):
        mx = _independent_edges(30, seed, directed=directed)
        _check_scores(_fitted(make, options, mx, hide, seed), mx, seed)
    mx = _independent_edges(30, seed)
    pairs = np.stack(np.triu_indices(30, 1), 1)
    first, again = (_fitted(make, options, mx, hide, seed).score_pairs(pairs, "a") for _ in range(2))
    _expect(np.array_equal(first, again), _name(make, options), "equal seeds give equal scores", again - first)
    held_out, known, errors = [], [], []
    for trial in range(trials):
        parts = split(_independent_edges(60, 1_000 * seed + trial), hide=hide, seed=seed + trial)
        scorer = _fitted(make, options, parts.train, hide, seed + trial)
        for layer in parts.train.layer_names:
            asked, label = parts.test(layer)
            auc, error = _null_auc(scorer.score_pairs(asked, layer), label)
            held_out.append(auc)
            errors.append(error)
            edges = parts.train.edges(layer).T
            both = np.concatenate([edges, asked[label == 0]])
            known.append(_null_auc(scorer.score_pairs(both, layer), np.arange(len(both)) < len(edges))[0])
    allowed = 4 * float(np.sqrt(np.square(errors).sum())) / len(errors)
    promise = f"ROC-AUC without signal lies within {allowed:.3f} of .5, four standard errors"
    _expect(bool(abs(np.mean(held_out) - 0.5) <= allowed), _name(make, options), promise, f"{np.mean(held_out):.3f}")
    if getattr(scorer, "sees_own_edge", True) is False:
        promise = f"training edges without signal have ROC-AUC of at most {0.5 + memory + allowed:.3f}, unseen"
        _expect(bool(np.mean(known) <= 0.5 + memory + allowed), _name(make, options), promise, f"{np.mean(known):.3f}")


def _independent_edges(num_nodes: int, seed: int, *, directed: bool = False) -> "Multiplex":
    """Return three layers in which every pair is an edge with probability .1, independently: nothing can be learnt."""
    from banditplex.multiplex import Multiplex

    flags = np.random.default_rng([seed, num_nodes]).random((3, num_nodes, num_nodes)) < 0.1
    if not directed:
        flags &= np.triu(np.ones((num_nodes, num_nodes), np.bool_), 1)
    layer, source, destination = np.nonzero(flags)
    ends, names = (source, destination), np.array(list("abc"))[layer]
    return Multiplex.from_edges(*ends, names, num_nodes=num_nodes, directed=directed, self_loops="drop")


def _fitted(
    make: "Callable[..., LinkScorer]", options: dict[str, Any], mx: "Multiplex", hide: str, seed: int
) -> "LinkScorer":
    """Return a method fitted to a multiplex, once `fit` is found to return it."""
    scorer: Any = make(**options)
    for name, value in (("hide", hide), ("seed", seed)):
        if hasattr(scorer, name):
            setattr(scorer, name, value)
    try:
        found = scorer.fit(mx)
    except Exception as error:
        _expect(False, _name(make, options), f"fit raises no error on {mx.title}", repr(error))
    _expect(found is scorer, _name(make, options), "fit returns the method itself", type(found).__name__)
    return found


def _check_scores(scorer: "LinkScorer", mx: "Multiplex", seed: int) -> None:
    """Check shapes, and that other pairs and their order do not matter."""
    rng, who = np.random.default_rng(seed), type(scorer).__name__
    edges = rng.permutation(mx.edges("a").T)[:12]
    every = np.stack(np.nonzero(~np.eye(mx.num_nodes, dtype=np.bool_)), 1)
    others = rng.permutation(every[~mx.has_edges(every, "a")])[:12]
    pairs = np.concatenate([edges, others])
    shape = np.shape(scores := scorer.score_pairs(pairs, "a"))
    _expect(shape == (len(pairs),), who, f"score_pairs returns shape {(len(pairs),)} for {len(pairs)} pairs", shape)
    _expect(bool(np.isfinite(scores).all()), who, "scores are finite", scores)
    none = np.shape(scorer.score_pairs(np.empty((0, 2), np.int64), "a"))
    _expect(none == (0,), who, "score_pairs of no pairs has shape (0,)", none)
    ways: list[tuple[str, IntArray]] = [
        ("in another order", rng.permutation(len(pairs))),
        ("alone", np.array([3])),
        ("twice", np.repeat(np.arange(len(pairs)), 2)),
        ("edges apart from other pairs", np.arange(len(edges))),
        ("other pairs apart from edges", np.arange(len(edges), len(pairs))),
    ]
    for way, chosen in ways:
        found = scorer.score_pairs(pairs[chosen], "a")
        _expect_scores(who, scores[chosen], found, f"the score of a pair is the same {way}")
    if not mx.directed:
        _expect_scores(who, scores, scorer.score_pairs(pairs[:, ::-1], "a"), "(u, v) and (v, u) score alike")


def _expect_scores(who: str, scores: FloatArray, found: FloatArray, promise: str) -> None:
    """Complain if scores are not the same up to rounding in 32 bits."""
    room = 1e-5 * max(1.0, float(np.abs(scores).max(initial=0)))
    _expect(bool(np.allclose(scores, found, rtol=0, atol=room)), who, promise, f"{found} instead of {scores}")


def _null_auc(scores: FloatArray, label: NDArray[Any]) -> tuple[float, float]:
    """Return ROC-AUC and its standard error where scores tell nothing of the label."""
    from banditplex.evaluation import roc_auc

    ones = int(np.count_nonzero(label))
    return roc_auc(label, scores), float(np.sqrt((len(label) + 1) / (12 * ones * (len(label) - ones))))


def _name(make: Any, options: dict[str, Any]) -> str:
    return f"{getattr(make, '__name__', None) or make!r}{options or ''}"


def _expect(holds: bool, subject: object, expected: str, got: object) -> None:
    """Raise the one form of complaint."""
    if not holds:
        name = subject if isinstance(subject, str) else repr(subject)
        with np.printoptions(threshold=12, precision=4):
            raise AssertionError(f"{name}: expected that {expected}, got {got}.")
