import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.errors import FormatError, InputError
from banditplex.io import read, write
from banditplex.multiplex import Multiplex
from tests.io.checks import comes_back, edges_by_name, lay_out
from tests.io.strategies import multiplexes, strings

NAMES = strings.filter(lambda name: name and not set(name) & set('"\t;'))


@given(multiplexes(names=NAMES, times=False, features=False))
def test_round_trip(mx):
    assert comes_back(mx, "net.txt", "muxviz")


@given(
    st.sampled_from([("node", '"'), ("node", "a\tb"), ("node", ""), ("layer", "a;b"), ("layer", ""), ("layer", "a\nb")])
)
def test_names_that_cannot_be_held_are_refused(case):
    what, name = case
    mx = Multiplex.from_edges(["u"], ["v"], [name]) if what == "layer" else Multiplex.from_edges([name], ["v"], ["l"])
    with pytest.raises(InputError, match=f"Cannot write the {what} name"):
        comes_back(mx, "net.txt", "muxviz")


FAMILIES = {
    "data/families/config.txt": (
        "data/families/marriage.edges;Marriage Alliances;data/families/layout.txt\r\n"
        "data/families/business.edges;Business Alliances;data/families/layout.txt\r\n"
    ),
    "data/families/layout.txt": 'nodeLabel nodeID nodeX\nMEDICI 1 0.5\n"DE PAZZI"\t2 1\nPUCCI 3 2\n',
    "data/families/marriage.edges": "1 2\n",
    "data/families/business.edges": "# both ways\n2 1 0.5\n1 2 2\n2 3 1\n",
}
CONFIG = "data/families/config.txt"


def test_edge_coloured_network_by_hand(tmp_path):
    """Paths start from muxViz's own folder, two above the configuration's."""
    mx = read(lay_out(tmp_path, FAMILIES) / CONFIG)
    assert mx.node_names.tolist() == ["MEDICI", "DE PAZZI", "PUCCI"]
    assert mx.layer_names == ("Marriage Alliances", "Business Alliances")
    assert edges_by_name(mx) == [
        ("Marriage Alliances", "MEDICI", "DE PAZZI", 1.0, None),
        ("Business Alliances", "MEDICI", "DE PAZZI", 2.5, None),
        ("Business Alliances", "DE PAZZI", "PUCCI", 1.0, None),
    ]
    assert read(tmp_path / CONFIG, labels=False).node_names.tolist() == [1, 2, 3]
    assert read(tmp_path / CONFIG, directed=True).num_edges == 4


def test_moved_with_its_files(tmp_path):
    moved = {name.removeprefix("data/families/"): text for name, text in FAMILIES.items()}
    assert read(lay_out(tmp_path, moved) / "config.txt").num_edges == 3


def test_label_and_layout_are_optional(tmp_path):
    mx = read(lay_out(tmp_path, {"list.txt": "a.edges;;\nb.edges;B\n", "a.edges": "0 5\n", "b.edges": ""}) / "list.txt")
    assert mx.layer_names == ("a", "B")
    assert mx.node_names.tolist() == [0, 5]


def test_edges_may_name_nodes_by_label(tmp_path):
    files = {
        "list.txt": "a.edges;a;nodes.txt\n",
        "a.edges": "alice bob 0.5\n",
        "nodes.txt": "nodeLabel\nbob\nalice\neve\n",
    }
    mx = read(lay_out(tmp_path, files) / "list.txt")
    assert mx.node_names.tolist() == ["bob", "alice", "eve"]
    assert edges_by_name(mx) == [("a", "bob", "alice", 0.5, None)]
    lay_out(tmp_path, {"nodes.txt": "nodeID nodeLabel\n1 bob\n2 alice\n3 eve\n"})
    assert read(tmp_path / "list.txt") == mx


def test_a_configuration_is_known_even_if_its_files_are_missing(tmp_path):
    lay_out(tmp_path, {"config.txt": "work.edges;Work;people.txt\nhome.edges;Home;people.txt\n"})
    with pytest.raises(FormatError, match=r"config.txt, line 1: expected a file, got no such file: 'work.edges'"):
        read(tmp_path / "config.txt")
    lay_out(tmp_path, {"other.txt": "source;target;layer\n0.5;1;2\n"})
    with pytest.raises(InputError, match="cannot tell the format"):
        read(tmp_path / "other.txt")


EXTENDED = {
    "config.txt": "net.edges;layers.txt;nodes.txt\n",
    "net.edges": "1 1 2 1 0.5\n2 2 3 2 4\n",
    "layers.txt": "layerID layerLabel\n1 work\n2 home\n3 club\n",
    "nodes.txt": "nodeID nodeLabel\n1 n1\n2 n2\n3 n3\n4 n4\n",
}


def test_extended_list_by_hand(tmp_path):
    mx = read(lay_out(tmp_path, EXTENDED) / "config.txt")
    assert mx.layer_names == ("work", "home", "club")
    assert mx.num_nodes == 4
    assert edges_by_name(mx) == [("work", "n1", "n2", 0.5, None), ("home", "n2", "n3", 4.0, None)]


def test_edges_between_layers(tmp_path):
    inter = EXTENDED | {"net.edges": "1 1 2 1 0.5\n1 1 1 2 7\n2 2 3 2 4\n"}
    with pytest.raises(
        FormatError, match=r"net.edges, line 2: expected an edge inside one layer, got one from '1' to '2'"
    ):
        read(lay_out(tmp_path, inter) / "config.txt")
    dropped = read(tmp_path / "config.txt", interlayer="drop")
    assert dropped == read(lay_out(tmp_path / "clean", EXTENDED) / "config.txt")
    with pytest.raises(InputError, match="interlayer"):
        read(tmp_path / "config.txt", interlayer="keep")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config.txt": ""}, "config.txt: expected lines edges;label;layout, got an empty file"),
        ({"config.txt": "net.edges;a;nodes.txt;x\n"}, "config.txt, line 1: expected edges;label;layout, got 4 fields"),
        ({"config.txt": "\nno.edges;a\n"}, "config.txt, line 2: expected a file, got no such file: 'no.edges'"),
        ({"config.txt": "a.edges;a;no.txt\n"}, "config.txt, line 1: expected a file, got no such file: 'no.txt'"),
        ({"config.txt": ";a\n"}, "config.txt, line 1: expected a file, got no such file: ''"),
        ({"config.txt": "a.edges;a\na.edges;a\n"}, "config.txt, line 2: expected every label once, got 'a' again"),
        ({"a.edges": "1 2\n1 2 3 4\n"}, "a.edges, line 2: expected 2 columns as in the lines before, got 4: '1 2 3 4'"),
        ({"a.edges": "1\n"}, "a.edges, line 1: expected 2 to 3 columns, got 1: '1'"),
        ({"a.edges": "1 2\n2 9\n"}, "a.edges, line 2: expected one of the 4 nodes of the layout, got '9'"),
        ({"a.edges": "1 2 x\n"}, "a.edges, line 1: expected a number as weight, got 'x'"),
        ({"a.edges": "1 2 1\n\n1 3 -1\n"}, "a.edges, line 3: expected a finite weight of at least 0, got -1.0"),
        ({"a.edges": "1 2 nan\n"}, "a.edges, line 1: expected a finite weight of at least 0, got nan"),
        ({"a.edges": b"1 2\n\xc3 2\n"}, "a.edges, line 2: expected UTF-8 text, got byte 0xc3"),
        ({"nodes.txt": ""}, "nodes.txt: expected a header with nodeID or nodeLabel, got ''"),
        ({"nodes.txt": "1 n1\n"}, "nodes.txt: expected a header with nodeID or nodeLabel, got '1 n1'"),
        ({"nodes.txt": "nodeID\n1\n2\n1\n"}, "nodes.txt, line 4: expected every node once, got '1' again"),
        (
            {"nodes.txt": "nodeID nodeLabel\n1 a\n2\n"},
            "nodes.txt, line 3: expected 2 columns as in the lines before, got 1: '2'",
        ),
        ({"nodes.txt": "nodeID nodeLabel\n1 a\n2 a\n"}, "config.txt: Expected distinct node labels"),
        (
            {"config.txt": "a.edges;a;nodes.txt\na.edges;b;more.txt\n", "more.txt": "nodeID nodeLabel\n1 x\n"},
            "more.txt: expected the label 'n1' of node 1, got 'x'",
        ),
        (
            {"config.txt": "net.edges;layers.txt;nodes.txt\n", "net.edges": "1 1 2 1\n1 9 2 9\n"},
            "net.edges, line 2: expected a layer of layers.txt, got '9'",
        ),
    ],
)
def test_bad_files(tmp_path, files, message):
    usual = EXTENDED | {"config.txt": "a.edges;a;nodes.txt\n", "a.edges": "1 2\n"}
    with pytest.raises(FormatError) as caught:
        read(lay_out(tmp_path, usual | files) / "config.txt", format="muxviz")
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(caught.value)


def test_what_is_written(tmp_path):
    mx = Multiplex.from_edges(["a b", "it's"], ["c", "c"], ["x", "y"], weight=[1, 0.25], directed=True)
    write(mx, tmp_path / "net.cfg", format="muxviz")
    files = {str(each.relative_to(tmp_path)): each.read_text() for each in tmp_path.rglob("*") if each.is_file()}
    assert files == {
        "net.cfg": (
            "net.cfg.layers/1.edges;x;net.cfg.layers/layout.txt\nnet.cfg.layers/2.edges;y;net.cfg.layers/layout.txt\n"
        ),
        "net.cfg.layers/layout.txt": 'nodeID nodeLabel\n1 "a b"\n2 c\n3 "it\'s"\n',
        "net.cfg.layers/1.edges": "1 2 1\n",
        "net.cfg.layers/2.edges": "3 2 0.25\n",
        "net.cfg.meta.json": '{"banditplex": 1, "directed": true}',
    }


def test_no_layers(tmp_path):
    with pytest.raises(InputError, match="at least one layer"):
        write(Multiplex.from_edges([], [], []), tmp_path / "net.cfg", format="muxviz")
