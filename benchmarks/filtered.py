"""Filtered ranking of a default model: 2,000 entities in the place of both ends of 2,000 test triples.

    python -m benchmarks filtered

The knowledge graph is made up: 2,000 entities on a circle, 42 relations that go a distance each, give or take 20
entities, and 36,000 triples. The bar is a minute on two cores, in bounded memory: that of the process is printed.
"""

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from banditplex.evaluation import filtered_ranking, fixed_split
from banditplex.predictor import LinkPredictor

ENTITIES, RELATIONS, NEAR, TRIPLES, TESTED = 2_000, 42, 20, 36_000, 2_000


def main() -> None:
    rng = np.random.default_rng(0)
    head, relation = (rng.integers(0, size, 2 * TRIPLES) for size in (ENTITIES, RELATIONS))
    distance = rng.integers(0, ENTITIES, RELATIONS)[relation] + rng.integers(-NEAR, NEAR + 1, 2 * TRIPLES)
    tail = (head + distance) % ENTITIES
    triples = np.unique(np.stack([head, relation, tail], 1)[head != tail], axis=0)
    triples = rng.permutation(triples)[:TRIPLES]
    with tempfile.TemporaryDirectory() as folder:
        for name, part in zip(("test", "valid", "train"), np.split(triples, [TESTED, TESTED + 1_000]), strict=True):
            lines = (f"e{h}\tr{r}\te{t}\n" for h, r, t in part)
            Path(folder, f"{name}.txt").write_text("".join(lines))
        data = fixed_split(folder)
    start = time.perf_counter()
    model = LinkPredictor(device="cpu").fit(data.test.train)
    fitted = time.perf_counter()
    found = filtered_ranking(model, data)
    seconds, memory = time.perf_counter() - fitted, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{data.test.train.num_nodes:,} entities, {TESTED:,} test triples: {seconds:.0f} s, after a fit of "
        f"{fitted - start:.0f} s; at most {memory:,.0f} MiB in all; MRR {found.pooled['mrr']:.3f}"
    )
