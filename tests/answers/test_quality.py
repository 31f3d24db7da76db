"""`score`: the ROC-AUC of other edges, from tables as scikit-learn cuts them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import banditplex as bx
from tests.refusals import refuses
from tests.test_predictor import small


def test_the_score_is_the_auc_against_all_that_is_no_edge():
    """Where the test edges leave one pair without an edge, it is the only negative."""
    mx = small().subset(nodes=range(12))
    model = bx.LinkPredictor(epochs=2, width=0).fit(mx, ["g1-base", "g2-base"])
    values, tables = [], []
    for name, free in (("g1-base", (2, 7)), ("g2-base", (1, 11))):
        if mx.has_edges([free], name)[0]:
            free = next(pair for pair in combinations(range(12), 2) if not mx.has_edges([pair], name)[0])
        test = [p for p in combinations(range(12), 2) if p != free and not mx.has_edges([p], name)[0]]
        scores, negative = model.score_pairs(test, name), model.score_pairs([free], name)[0]
        values.append(np.mean([(s > negative) + 0.5 * (s == negative) for s in scores]))
        tables.append(bx.Multiplex.from_edges(*np.array(test).T, name).to_pandas())
    table = pd.concat([*tables, pd.DataFrame({"source": [0], "destination": [1], "layer": ["g1-copy1"]})])
    assert model.score(table) == pytest.approx(np.mean(values))
    stranger = pd.concat([table, pd.DataFrame({"source": [0], "destination": [99], "layer": ["g1-base"]})])
    with pytest.warns(UserWarning, match=f"1 of {len(table)} "):
        found = model.score(stranger)
    assert found == pytest.approx(np.mean(values))
    with refuses("'g1-base'", "none"):
        model.score(pd.DataFrame({"source": [0], "destination": [1], "layer": ["g1-copy1"]}))
    with refuses("directed=False", "directed=True"):
        model.score(mx.to_directed())
    with refuses("DataFrame", "list"):
        model.score([[0, 1]])


def test_folds_of_a_table_sorted_by_layer_are_warned_of():
    """The second half of the rows is a layer that the first half does not have."""
    mx = bx.planted(2, 1, 1.0, num_nodes=40, edges_per_layer=120, communities=4, seed=0)
    table = mx.to_pandas()
    first, last = table["layer"].iloc[0], table["layer"].iloc[-1]
    seen = table[table["layer"] != last]
    test = pd.concat([table[table["layer"] == first].head(9), table[table["layer"] == last].head(7)])
    model = bx.LinkPredictor(epochs=1, width=0).fit(seen)
    with pytest.warns(UserWarning, match=f"^7 of 16 .*: '{last}'.*sample"):
        model.score(test)


@pytest.mark.filterwarnings("ignore:.*does not know")
def test_grids_are_searched_on_tables(tmp_path):
    mx = bx.planted(2, 1, 1.0, num_nodes=40, edges_per_layer=120, communities=4, seed=0)
    table = mx.to_pandas().sample(frac=1, random_state=0)
    search = GridSearchCV(bx.LinkPredictor(epochs=4, width=0), {"evidence": ["all", "drawn"]}, cv=2).fit(table)
    assert search.best_score_ > 0.7
    assert search.best_estimator_.multiplex_.num_edges == len(table)
    bx.write(mx, tmp_path / "edges.csv")
    from_file = bx.LinkPredictor(epochs=1, width=0).fit(tmp_path / "edges.csv")
    from_table = bx.LinkPredictor(epochs=1, width=0).fit(mx.to_pandas())
    assert from_file.score_pairs([[0, 1]], mx.layer_names[0]) == from_table.score_pairs([[0, 1]], mx.layer_names[0])
    assert from_file.score(str(tmp_path / "edges.csv")) > 0.5
