"""The library's Exp3+ and hinted AdaHedge against the slow plain ones in reference.py, round by round."""

import numpy as np
import pytest

from banditplex.bandits import Observations, make_policy
from tests.bandits import reference
from tests.quick import every

KINDS = {
    "exp3+": ("exp3+", {}, reference.Exp3Plus),
    "raw range": ("exp3+", {"raw_range": True}, reference.Exp3Plus),
    "printed sign": ("exp3+", {"printed_sign": True}, reference.Exp3Plus),
    "hinted": ("hinted", {}, reference.Hinted),
}
LOSSES = {
    "unit": lambda rng, shape: rng.random(shape),
    "levels": lambda rng, shape: rng.integers(0, 3, shape) / 4,  # zeros and many ties
    "wild": lambda rng, shape: 10.0 ** rng.uniform(-30, 30, shape),
    "distances": lambda rng, shape: 5.0 + 0.1 * rng.random(shape),
}
SIZES = [(1, 1), (2, 1), (3, 3), (5, 1), (5, 2), (7, 3), (150, 1), (150, 3)]


def make_both(kind, *, n, k, instances):
    name, options, plain = KINDS[kind]
    policy = make_policy(name, num_arms=n, k=k, num_instances=instances, **options)
    return policy, [plain(n, k, **options) for _ in range(instances)]


def assert_agree(policy, plain):
    want = np.array([one.inclusion() for one in plain])
    np.testing.assert_allclose(policy.inclusion(), want, rtol=1e-10, atol=1e-10)


def further_observations(rng, draw, losses):
    """Return rows (instance, arm, loss, probability or NaN) of a third of the arms that were not drawn."""
    drawn = dict(zip(draw.instances.tolist(), draw.arms.tolist(), strict=True))
    rows = []
    for i, a in np.argwhere(rng.random(losses.shape) < 0.3).tolist():
        if a not in drawn.get(i, []):
            known = i in drawn and rng.random() < 0.5
            rows.append((i, a, float(losses[i, a]), float(rng.uniform(0.05, 1.0)) if known else np.nan))
    rng.shuffle(rows)
    return rows


def tell_plain(one, i, draw, losses, probability, rows):
    """Let one plain instance know what the library was told of it."""
    advice = {a: loss for owner, a, loss, q in rows if owner == i and np.isnan(q)}
    if i not in draw.instances:
        if isinstance(one, reference.Hinted):
            one.advise(advice)
        return
    at = draw.instances.tolist().index(i)
    own = zip(draw.arms[at].tolist(), probability[at].tolist(), strict=True)
    observed = {a: (float(losses[i, a]), q) for a, q in own}
    observed |= {a: (loss, q) for owner, a, loss, q in rows if owner == i and not np.isnan(q)}
    one.update(observed, advice)


@pytest.mark.parametrize(("kind", "size", "losses"), every(3, KINDS, SIZES, LOSSES))
def test_own_draws(kind, size, losses):
    """Three instances that always play; with many arms, most stay unseen for long."""
    n, k = size
    rng = np.random.default_rng([n, k, *kind.encode(), *losses.encode()])
    policy, plain = make_both(kind, n=n, k=k, instances=3)
    for _ in range(40 if n < 100 else 10):
        draw = policy.draw(rng)
        seen = LOSSES[losses](rng, (3, n))
        policy.update(draw, np.take_along_axis(seen, draw.arms, axis=1))
        for i, one in enumerate(plain):
            one.update({a: (float(seen[i, a]), None) for a in draw.arms[i].tolist()})
        assert_agree(policy, plain)


@pytest.mark.parametrize(("kind", "size", "losses"), every(3, KINDS, SIZES, LOSSES))
def test_free_observations(kind, size, losses):
    """Of four instances a random subset plays and others are advised; probabilities exceed the inclusion."""
    n, k = size
    rng = np.random.default_rng([n, k, *kind.encode(), *losses.encode()])
    policy, plain = make_both(kind, n=n, k=k, instances=4)
    for _ in range(15 if n < 100 else 4):
        draw = policy.draw(rng, rng.permutation(4)[: rng.integers(1, 5)])
        seen = LOSSES[losses](rng, (4, n))
        probability = 1.0 - (1.0 - draw.probability) * rng.random(draw.arms.shape)
        rows = further_observations(rng, draw, seen)
        extra = Observations(*([row[column] for row in rows] for column in range(4)))
        own = seen[draw.instances[:, None], draw.arms]
        policy.update(draw, own, probability=probability, extra=extra)
        for i, one in enumerate(plain):
            tell_plain(one, i, draw, seen, probability, rows)
        assert_agree(policy, plain)


def test_many_rounds_with_many_arms():
    """As in training: most arms are never seen, and some of the instances play in each round."""
    rng = np.random.default_rng(8)
    policy, plain = make_both("hinted", n=250, k=1, instances=3)
    means = rng.random(250)
    for _ in range(60):
        draw = policy.draw(rng, np.flatnonzero(rng.random(3) < 0.7))
        losses = means[draw.arms] * rng.uniform(0.9, 1.1, draw.arms.shape)
        policy.update(draw, losses)
        for i, arm, loss in zip(draw.instances.tolist(), draw.arms[:, 0].tolist(), losses[:, 0].tolist(), strict=True):
            plain[i].update({arm: (loss, None)})
    want = np.array([one.inclusion() for one in plain])
    np.testing.assert_allclose(policy.inclusion(), want, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_long_runs(kind):
    rng = np.random.default_rng(7)
    policy, (plain,) = make_both(kind, n=4, k=1, instances=1)
    for _ in range(1000):
        draw = policy.draw(rng)
        loss = float(rng.random() * (1 + draw.arms[0, 0]))
        policy.update(draw, [[loss]])
        plain.update({int(draw.arms[0, 0]): (loss, None)})
    assert_agree(policy, [plain])
