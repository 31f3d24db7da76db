"""Functions inside `banditplex.multiplex`, each by an example."""

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa

from banditplex.multiplex.build import linked_types
from banditplex.multiplex.cells import folded, in_all, tidy
from banditplex.multiplex.convert import as_multiplex
from banditplex.multiplex.names import factorize, near_names
from banditplex.multiplex.notes import collected, note, show_files, tell_together
from banditplex.multiplex.numbers import are_readable, date_of, looks_grouped
from banditplex.multiplex.options import TableOptions, by_role
from banditplex.multiplex.roles import (
    _layers_side_by_side,
    _like_layers,
    _likely_ends,
    are_dates,
    choose_columns,
    guess_ends,
    suggest_layer,
    with_usual,
)
from banditplex.multiplex.table import stem
from banditplex.multiplex.wide import from_matrices
from tests.shown import shown


def test_in_all():
    assert (in_all(1), in_all(1200)) == ("", " (1,200 such rows in all)")


def test_as_multiplex():
    from banditplex.multiplex import Multiplex

    found = shown(as_multiplex(Multiplex, {"mail": nx.path_graph(3), "chat": nx.path_graph(2)}))
    expected = "Multiplex(3 nodes, 2 layers, 3 edges, undirected): 'mail' (2), 'chat' (1)"
    assert found == expected


def test_are_readable():
    found = (
        are_readable(["19.09.2025", ""]),
        are_readable([5, 7]),
        are_readable(["04/05/2025"]),
        are_readable(["soon"]),
    )
    expected = (True, True, False, False)
    assert found == expected


def test_date_of():
    found = shown((date_of("19.09.2025"), date_of("04/05/2025", "mdy")))
    expected = "(np.datetime64('2025-09-19T00:00:00.000000000'), np.datetime64('2025-04-05T00:00:00.000000000'))"
    assert found == expected


def test_factorize():
    assert shown(factorize(np.array([30, 10, 30]))) == "(array([10, 30]), array([1, 0, 1]))"


def test_near_names():
    found = (
        near_names("12", ["customer/12", "item/12"]),
        near_names("ANN", ["ann", "anna"]),
        near_names("biy", ["Buy"]),
    )
    expected = (["customer/12", "item/12"], ["ann"], ["Buy"])
    assert found == expected


def test_collected():
    with collected(silent=True) as notes:
        note("net.csv: read with semicolons.")
    assert notes == ["net.csv: read with semicolons."]


def test_show_files():
    assert (show_files(["a", "b"]), show_files(["a", "b", "c", "d", "e"])) == ("a, b", "a and 4 more files")


def test_tell_together():
    with collected(silent=True) as told:
        tell_together({"a.csv": ["a.csv: read with tabs."], "b.csv": ["b.csv: read with tabs."]})
    assert told == ["a.csv, b.csv: read with tabs."]


def test_looks_grouped():
    assert (looks_grouped(["12", "1.234", "2.500"]), looks_grouped(["0.125", "1.234"])) == ("1.234", None)


def test_by_role():
    assert by_role({"target": "to", "directed": True}) == {"destination": "to", "directed": True}


def test_layers_side_by_side():
    table = {"friend": ["1", "0", ""], "work": ["1", "1", "0"], "age": ["7", "8", "9"]}
    found = _layers_side_by_side(table, table.get)
    expected = "; 'friend' and 'work' hold yes or no: if each is a layer, wide=True reads them"
    assert found == expected


def test_like_layers():
    found = (
        _like_layers(["mail", "talk", "mail"]),
        _like_layers(["2024-05-01", "2024-05-02"] * 5),
        _like_layers([3, 4, 3]),
    )
    expected = (True, False, False)
    assert found == expected


def test_likely_ends():
    table = {"no": "1234", "kind": "aabb", "who": "uvvw", "whom": "xyyz"}
    assert _likely_ends(list(table), table.get) == ["who", "whom"]


def test_are_dates():
    found = (are_dates(["25.04.2025", "", None]), are_dates(["2025-04"]), are_dates(["v1.2.3"]))
    expected = (True, True, False)
    assert found == expected


def test_choose_columns():
    assert choose_columns(["u", "Target", "kind"], {"source": "u"}) == {"source": "u", "destination": "Target"}
    found = choose_columns(["day", "household_1", "household_2"], {})
    expected = {"source": "household_1", "destination": "household_2"}
    assert found == expected


def test_guess_ends():
    table = {"day": ["mo", "tu", "we"], "who": ["ann", "bob", "cid"], "whom": ["bob", "cid", "ann"]}
    assert guess_ends(list(table), table.get) == ("who", "whom")
    guess_ends(["ann", "bob"], {"ann": ["bob", "cid"], "bob": ["cid", "dan"]}.get)


def test_suggest_layer():
    assert suggest_layer(["Label", "Kind"], {"Label": ["", ""], "Kind": ["mail", "talk"]}.get) == "Kind"


def test_with_usual():
    assert with_usual("source", "von") == ("von", "source", "from", "u", "src", "sender", "caller", "follower", "head")


def test_folded():
    assert folded(np.array(["Anna  Weiß", "ANNA WEISS"], dtype=object)).to_pylist() == ["anna weiss", "anna weiss"]


def test_tidy():
    assert tidy(pa.array([" anna", "Zoe\u0308", "a b"])).to_pylist() == ["anna", "Zoë", "a b"]


def test_stem():
    found = [stem(name) for name in ("from", "Source", "user_id", "person1", "person_b", "2")]
    expected = ["", "", "user", "person", "person", ""]
    assert found == expected


def test_linked_types():
    from banditplex import Multiplex

    mx = Multiplex.from_edges([0, 1, 0], [2, 2, 1], ["buys", "buys", "knows"], node_types=["user", "user", "item"])
    assert (mx.type_names, linked_types(mx).T.tolist()) == (("item", "user"), [[0, 0, 1], [1, 1, 1]])


def test_from_matrices():
    from banditplex.multiplex import Multiplex

    matrix = pd.DataFrame({"": ["ann", "bob"], "ann": [0, 2], "bob": [2, 0]})
    found = shown(from_matrices(Multiplex, {"work": matrix}, TableOptions(matrix=True)))
    expected = "Multiplex(2 nodes, 1 layer, 1 edge, undirected, weighted): 'work' (1)"
    assert found == expected
