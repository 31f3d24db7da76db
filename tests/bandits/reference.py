"""A second opinion: Exp3+ and hinted AdaHedge for one instance, in slow plain Python, formula by formula.

Nothing here is shared with the library. A round reads `inclusion()`, then calls `update(observed, advisory)`:
two dictionaries by arm, (loss, probability) of what was observed (probability None: the arm's own inclusion)
and the loss of what is known by advice alone.
"""

import math


def capped_softmax(y, k):
    """Return (w, b, capped), w_i = min(1, exp(y_i + b)) with sum k: try every number of capped arms."""
    n = len(y)
    order = sorted(range(n), key=lambda i: -y[i])
    for r in range(k):
        free = [y[i] for i in order[r:]]
        total = free[0] + math.log(math.fsum(math.exp(v - free[0]) for v in free))
        b = math.log(k - r) - total
        if free[0] + b <= 0.0:
            w = [0.0] * n
            for i in order[:r]:
                w[i] = 1.0
            for i in order[r:]:
                w[i] = math.exp(y[i] + b)
            return w, b, order[:r]
    return [1.0] * n, math.inf, order


def lowest_share(L, k):
    """Return weight 1 on the arms below the k-th smallest value; those that tie with it share the rest."""
    kth = sorted(L)[k - 1]
    below = sum(v < kth for v in L)
    ties = sum(v == kth for v in L)
    return [1.0 if v < kth else (k - below) / ties if v == kth else 0.0 for v in L]


def potential(L, k, eta):
    """Return min over w of <w, L> + (1/eta) sum w ln w, or the sum of the k smallest when eta is infinite."""
    if math.isinf(eta):
        return math.fsum(sorted(L)[:k])
    low = min(L)
    shifted = [v - low for v in L]
    _, b, capped = capped_softmax([-eta * v for v in shifted], k)
    return math.fsum(shifted[i] for i in capped) + (b / eta) * (k - len(capped)) + k * low


def next_power_of_two(x):
    """Return the smallest power of two >= x > 0, exactly."""
    power = 1.0
    while power < x:
        power *= 2.0
    while power / 2.0 >= x:
        power /= 2.0
    return power


def difference(a, b):
    """Return a - b, or 0 when it is nothing but rounding."""
    return 0.0 if abs(a - b) < 1e-13 * max(abs(a), abs(b)) else a - b


def as_zero(loss):
    return 0.0 if loss < 1e-300 else loss


class Exp3Plus:
    def __init__(self, n, k=1, *, raw_range=False, printed_sign=False):
        self.n, self.k, self.raw_range, self.sign = n, k, raw_range, 1.0 if printed_sign else -1.0
        self.t, self.L, self.E, self.V = 0, [0.0] * n, 0.0 if raw_range else 1.0, 0.0

    def eta(self):
        if self.t == 0 or self.n == self.k or self.E == 0.0:
            return 0.0
        D = self.k * math.log(self.n / self.k)
        return min(1.0 / self.E, math.sqrt(D / self.V) if self.V > 0.0 else math.inf)

    def inclusion(self):
        if self.n == self.k:
            return [1.0] * self.n
        eta, centre = self.eta(), min(self.L) if self.sign < 0 else max(self.L)
        return capped_softmax([self.sign * eta * (v - centre) for v in self.L], self.k)[0]

    def update(self, observed, advisory=None):
        p = self.inclusion()
        lhat = [0.0] * self.n
        for arm, (loss, q) in observed.items():
            lhat[arm] = as_zero(loss) / (p[arm] if q is None else q)
        self.L = [a + b for a, b in zip(self.L, lhat, strict=True)]
        if self.raw_range:
            delta = max(as_zero(loss) for loss, _ in observed.values())
        else:
            delta = max(lhat) - min(lhat)
        if delta > 0.0:
            self.E = max(self.E, next_power_of_two(delta))
        if self.k == 1 and len(observed) == 1 and next(iter(observed.values()))[1] is None:
            ((arm, (loss, _)),) = observed.items()
            self.V += as_zero(loss) ** 2 * (1.0 - p[arm]) / p[arm]
        else:
            mean = math.fsum(a * b for a, b in zip(p, lhat, strict=True)) / self.k
            self.V += max(0.0, math.fsum(a * b * b for a, b in zip(p, lhat, strict=True)) - self.k * mean**2)
        self.delta = delta
        self.t += 1


class Hinted:
    def __init__(self, n, k=1):
        self.n, self.k = n, k
        self.t, self.L, self.S, self.m, self.c = 0, [0.0] * n, 0.0, [0.0] * n, [0] * n
        self.D = k * math.log(n / k)

    def discounted(self):
        """Return L', S' and eta of the round that is about to be played."""
        t = self.t + 1
        f = (t - 1) / t if t > 1 else 1.0
        S = f * self.S
        return [f * v for v in self.L], S, self.D / S if S > 0.0 else math.inf

    def weights(self):
        if self.n == self.k:
            return [1.0] * self.n
        L, _, eta = self.discounted()
        if math.isinf(eta):
            return lowest_share(L, self.k)
        return capped_softmax([-eta * (v - min(L)) for v in L], self.k)[0]

    def exploration(self):
        n, k, t = self.n, self.k, self.t + 1
        uniform = min((1 + 4 / n) / 20, math.sqrt(n * math.log(n / k) / (k * t)))
        return uniform, t**-0.5 if t > 1 and 0 in self.c else 0.0

    def inclusion(self):
        n, k, w = self.n, self.k, self.weights()
        if n == k:
            return w
        uniform, unseen = self.exploration()
        fresh = self.c.count(0)
        e = [0.0] * n
        if unseen > 0.0:
            share = min(1.0, k / fresh)
            rest = (k - share * fresh) / (n - fresh) if fresh < n else 0.0
            e = [share if c == 0 else rest for c in self.c]
        return [(1 - uniform - unseen) * w[i] + uniform * k / n + unseen * e[i] for i in range(n)]

    def hints(self):
        seen = [m for m, c in zip(self.m, self.c, strict=True) if c > 0]
        mean = min(seen) + math.fsum(m - min(seen) for m in seen) / len(seen)
        return [m if c > 0 else mean for m, c in zip(self.m, self.c, strict=True)]

    def estimate(self, observed):
        """Return lhat of the round, the losses as the hints and the observations together see them."""
        t, p, h = self.t + 1, self.inclusion(), self.hints()
        cap = min(t, math.sqrt(self.n * t / self.D))
        lhat = [difference(v, min(h)) for v in h]
        for arm, (loss, q) in observed.items():
            g = min(1.0 / (p[arm] if q is None else q), cap)
            lhat[arm] += difference(as_zero(loss), h[arm]) * g
        return lhat

    def update(self, observed, advisory=None):
        self.gap = 0.0
        if self.n > self.k:
            L, S, eta = self.discounted()
            if self.t > 0:
                w, lhat = self.weights(), self.estimate(observed)
                after = [a + b for a, b in zip(L, lhat, strict=True)]
                mix = potential(after, self.k, eta) - potential(L, self.k, eta)
                self.gap = max(0.0, math.fsum(a * b for a, b in zip(w, lhat, strict=True)) - mix)
                L, S = [v - min(after) for v in after], S + self.gap
            self.L, self.S = L, S
        self.t += 1
        self.advise({arm: loss for arm, (loss, _) in observed.items()} | (advisory or {}))

    def advise(self, losses):
        """Let `losses` (arm -> loss) change hints and counts, and nothing else."""
        for arm, loss in losses.items():
            self.c[arm] += 1
            rate = 1.0 if self.c[arm] == 1 else max(1.0 / self.c[arm], 0.25)
            self.m[arm] = as_zero(loss) if self.c[arm] == 1 else self.m[arm] + rate * (as_zero(loss) - self.m[arm])
