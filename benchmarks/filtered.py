"""Filtered ranking of a default model: 2,000 entities in the place of both ends of 2,000 test triples.

    python -m benchmarks filtered

The knowledge graph is made up: 42 relations between 2,000 entities of 8 kinds, 36,000 triples. The bar is a minute on
two cores, in bounded memory, which is that of the process above what it had before ranking.
"""

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from banditplex.evaluation import filtered_ranking, fixed_split
from banditplex.predictor import LinkPredictor

ENTITIES, RELATIONS, KINDS, TRIPLES, TESTED = 2_000, 42, 8, 36_000, 2_000


def main() -> None:
    rng = np.random.default_rng(0)
    links = rng.integers(0, KINDS, (RELATIONS, KINDS))  # the kind of tail of each kind of head
    triples = np.stack([rng.integers(0, size, 2 * TRIPLES) for size in (ENTITIES, RELATIONS, ENTITIES)], 1)
    head, relation, tail = triples.T
    tail = tail // KINDS * KINDS + links[relation, head % KINDS]
    triples = np.unique(np.stack([head, relation, tail], 1)[head != tail], axis=0)
    triples = rng.permutation(triples)[:TRIPLES]
    with tempfile.TemporaryDirectory() as folder:
        for name, part in zip(("test", "valid", "train"), np.split(triples, [TESTED, TESTED + 1_000]), strict=True):
            lines = (f"e{h}\tr{r}\te{t}\n" for h, r, t in part)
            Path(folder, f"{name}.txt").write_text("".join(lines))
        data = fixed_split(folder)
    start = time.perf_counter()
    model = LinkPredictor(device="cpu").fit(data.test.train)
    fitted, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = filtered_ranking(model, data)
    seconds, after = time.perf_counter() - fitted, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{len(data.test.train.node_names):,} entities, {TESTED:,} test triples: {seconds:.0f} s, "
        f"{(after - before) / 1024:,.0f} MiB more; MRR {found.pooled['mrr']:.3f}; the fit took {fitted - start:.0f} s"
    )
