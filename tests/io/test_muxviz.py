import pytest

from banditplex.io import detect, read
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.refusals import refuses

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
    with refuses_file(tmp_path / "config.txt", "'work.edges'", line=1):
        read(tmp_path / "config.txt")
    lay_out(tmp_path, {"other.txt": "source;target;layer\n0.5;1;2\n"})
    with refuses(tmp_path / "other.txt", "format"):
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
    with refuses_file(tmp_path / "net.edges", "'1' to '2'", "interlayer='drop'", line=2):
        read(lay_out(tmp_path, inter) / "config.txt")
    dropped = read(tmp_path / "config.txt", interlayer="drop")
    assert dropped == read(lay_out(tmp_path / "clean", EXTENDED) / "config.txt")
    with refuses("interlayer", "'keep'"):
        read(tmp_path / "config.txt", interlayer="keep")


@pytest.mark.parametrize(
    ("files", "wrong", "line", "values"),
    [
        ({"config.txt": ""}, "config.txt", None, ["edges;label;layout", "empty"]),
        ({"config.txt": "net.edges;a;nodes.txt;x\n"}, "config.txt", 1, ["edges;label;layout", 4]),
        ({"config.txt": "\nno.edges;a\n"}, "config.txt", 2, ["'no.edges'"]),
        ({"config.txt": "a.edges;a;no.txt\n"}, "config.txt", 1, ["'no.txt'"]),
        ({"config.txt": ";a\n"}, "config.txt", 1, ["''"]),
        ({"config.txt": "a.edges;a\na.edges;a\n"}, "config.txt", 2, ["label", "'a'"]),
        ({"a.edges": "1 2\n1 2 3 4\n"}, "a.edges", 2, ["2 columns", "got 4", "'1 2 3 4'"]),
        ({"a.edges": "1\n"}, "a.edges", 1, ["2 to 3 columns", "got 1", "'1'"]),
        ({"a.edges": "1 2\n2 9\n"}, "a.edges", 2, ["4 nodes", "'9'"]),
        ({"a.edges": "1 2 x\n"}, "a.edges", 1, ["number", "weight", "'x'"]),
        ({"a.edges": "1 2 1\n\n1 3 -1\n"}, "a.edges", 3, ["weight", "-1.0"]),
        ({"a.edges": "1 2 nan\n"}, "a.edges", 1, ["weight", "nan"]),
        ({"a.edges": b"1 2\n\xc3 2\n"}, "a.edges", 2, ["UTF-8", "0xc3"]),
        ({"nodes.txt": ""}, "nodes.txt", None, ["header", "nodeID", "nodeLabel", "''"]),
        ({"nodes.txt": "1 n1\n"}, "nodes.txt", None, ["header", "nodeID", "nodeLabel", "'1 n1'"]),
        ({"nodes.txt": "nodeID\n1\n2\n1\n"}, "nodes.txt", 4, ["node", "'1'"]),
        ({"nodes.txt": "nodeID nodeLabel\n1 a\n2\n"}, "nodes.txt", 3, ["2 columns", "got 1", "'2'"]),
        ({"nodes.txt": "nodeID nodeLabel\n1 a\n2 a\n"}, "config.txt", None, ["labels=False"]),
        (
            {"config.txt": "a.edges;a;nodes.txt\na.edges;b;more.txt\n", "more.txt": "nodeID nodeLabel\n1 x\n"},
            *("more.txt", None, ["'n1'", "node 1", "'x'"]),
        ),
        (
            {"config.txt": "net.edges;layers.txt;nodes.txt\n", "net.edges": "1 1 2 1\n1 9 2 9\n"},
            *("net.edges", 2, ["layers.txt", "'9'"]),
        ),
    ],
)
def test_bad_files(tmp_path, files, wrong, line, values):
    usual = EXTENDED | {"config.txt": "a.edges;a;nodes.txt\n", "a.edges": "1 2\n"}
    with refuses_file(tmp_path / wrong, *values, line=line):
        read(lay_out(tmp_path, usual | files) / "config.txt", format="muxviz")


@pytest.mark.parametrize("name", ["../secret.txt", "{root}/secret.txt", "sub/../../secret.txt", "link.txt"])
def test_files_out_of_the_folder_are_refused(tmp_path, name):
    lay_out(tmp_path, {"secret.txt": "root:x:0\n", "net/config.txt": "", "net/ok.edges": "1 2\n", "net/sub/x": ""})
    (tmp_path / "net" / "link.txt").symlink_to(tmp_path / "secret.txt")
    config = tmp_path / "net" / "config.txt"
    named = name.format(root=tmp_path)
    for line in (f"{named};work;\n", f"ok.edges;work;{named}\n"):
        config.write_text(line)
        with refuses_file(config, repr(named), line=1):
            read(config, format="muxviz")
    (tmp_path / "secret.txt").write_text("1 2\n")
    config.write_text(f"{named};work;\n")
    if name != "link.txt":
        with refuses_file(config, "allow_outside=True", line=1):
            read(config, format="muxviz")
    assert read(config, format="muxviz", allow_outside=True).num_edges == 1


def test_a_file_that_names_others_elsewhere_is_not_taken_for_a_configuration(tmp_path):
    lay_out(tmp_path, {"edges.xyz": "1 2\n", "net/list": f"{tmp_path}/edges.xyz;work;\n"})
    lay_out(tmp_path, {"net/near": "near.xyz;work;\n", "net/near.xyz": "1 2\n"})
    assert detect(tmp_path / "net" / "near").name == "muxviz"
    with refuses(tmp_path / "net" / "list"):
        detect(tmp_path / "net" / "list")
