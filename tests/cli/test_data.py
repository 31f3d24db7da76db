"""How commands read DATA: the same options for every command."""

import json
import re
import sys

import pytest

import banditplex as bx
from banditplex.cli.output import print_table, print_text


def shown(call, *words, cwd):
    """What `datasets show --json` says of each layer, and what is said on stderr."""
    status, text, said = call("datasets", "show", *words, "--json", cwd=cwd)
    assert status == 0, said
    return {row["layer"]: row["edges"] for row in json.loads(text)["layers"]}, said


def test_a_table_without_a_header(tmp_path, call, refusal):
    (tmp_path / "bare.csv").write_text("ann,bob,work,2\nbob,cid,work,3\nann,cid,home,5\n")
    message = refusal("convert", "bare.csv", "x.csv", cwd=tmp_path)
    assert all(word in message for word in ("bare.csv", "'source'", "'2'", " --columns source=NAME", " --no-header"))
    message = refusal("convert", "bare.csv", "x.csv", "--columns", "source=from", cwd=tmp_path)
    assert all(word in message for word in ("bare.csv", "'from'", "'2'", " --no-header"))
    assert "--columns" not in message
    assert call("convert", "bare.csv", "whole.bx", "--no-header", cwd=tmp_path)[0] == 0
    whole = bx.Multiplex.from_edges(list("aba"), list("bcc"), ["work", "work", "home"], weight=[2, 3, 5])
    found = bx.read(tmp_path / "whole.bx")
    assert found.node_names.tolist() == ["ann", "bob", "cid"]
    assert [found.weights(layer).tolist() for layer in ("work", "home")] == [[2, 3], [5]]
    assert found.edge_index.tolist() == whole.edge_index.tolist()
    columns = "source=2,target=1,weight=4"
    assert call("convert", "bare.csv", "part.bx", "--no-header", "--columns", columns, cwd=tmp_path)[0] == 0
    part = bx.read(tmp_path / "part.bx")
    assert part.layer_names == ("edges",)
    assert part.weights("edges").tolist() == [2, 5, 3]  # ann-bob, ann-cid, bob-cid


def test_a_table_without_a_header_knows_its_lines(tmp_path, refusal):
    (tmp_path / "bare.tsv").write_text("a\tb\tx\t1\n\na\tc\tx\tmuch\n")
    message = refusal("convert", "bare.tsv", "x.csv", "--no-header", cwd=tmp_path)
    assert all(word in message for word in ("bare.tsv, line 3", "4", "'much'"))
    (tmp_path / "bare.tsv").write_text("a\tb\tx\t1\na\tc\tx\t-1\n")
    message = refusal("convert", "bare.tsv", "x.csv", "--no-header", cwd=tmp_path)
    assert all(word in message for word in ("bare.tsv, line 2", "weight", "-1.0"))


def test_a_folder_of_lists_with_headers(tmp_path, call):
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "mon.txt").write_text("source target\n1 2\n")
    edges, said = shown(call, "days", cwd=tmp_path)
    assert edges == {"mon": 1}
    assert "days: first lines such as 'source target'" in said
    assert "--no-header reads them as edges" in said
    assert shown(call, "days", "--header", cwd=tmp_path) == ({"mon": 1}, "")
    assert shown(call, "days", "--no-header", cwd=tmp_path) == ({"mon": 2}, "")


def test_several_tables(tmp_path, call, refusal):
    (tmp_path / "calls.csv").write_text("source,target\nann,bob\nbob,cid\n")
    (tmp_path / "mails.csv").write_text("von;an;HOURS\nann;cid;1.234,5\n")
    words = ("calls.csv", "mails.csv", "--columns", "source=von,target=an")
    edges, said = shown(call, *words, "--no-bipartite", cwd=tmp_path)
    assert edges == {"calls": 2, "mails": 1}
    assert "banditplex: calls.csv, mails.csv: each file is a layer: calls, mails.\n" in said
    assert "banditplex: mails.csv: columns not used: HOURS" in said
    status, out, _ = call("convert", *words, "both.csv", cwd=tmp_path)
    assert (status, out) == (0, "both.csv: Multiplex(3 nodes, 2 layers, 3 edges, undirected)\n")
    message = refusal("datasets", "show", "calls.csv", "twins", cwd=tmp_path)
    assert "'twins'" in message
    message = refusal("datasets", "show", "calls.csv", "nowhere.csv", cwd=tmp_path)
    assert message.startswith("nowhere.csv: ")


def test_spellings_of_numbers_dates_and_names(tmp_path, call, refusal):
    text = "source;target;weight;time\nAnna;bob;1,234;04/05/2025\nanna;cid;2;01/02/2025\n"
    (tmp_path / "net.csv").write_text(text)
    message = refusal("convert", "net.csv", "net.bx", "--delimiter", "semicolon", cwd=tmp_path)
    assert "--thousands ','" in message
    words = ("convert", "net.csv", "net.bx", "--delimiter", ";", "--thousands", "comma")
    message = refusal(*words, cwd=tmp_path)
    assert "--date-format 'dmy'" in message
    status, _, said = call(*words, "--date-format", "mdy", cwd=tmp_path)
    assert status == 0
    assert "--fold-case merges them" in said
    assert call(*words, "--date-format", "mdy", "--fold-case", "--force", cwd=tmp_path)[0] == 0
    mx = bx.read(tmp_path / "net.bx")
    assert mx.node_names.tolist() == ["Anna", "bob", "cid"]
    assert mx.weights("edges").tolist() == [1234, 2]
    days = mx.times("edges") // (24 * 60 * 60 * 10**9)
    assert days.astype("datetime64[D]").astype(str).tolist() == ["2025-04-05", "2025-01-02"]


def test_notes_on_reading_are_in_the_json(tmp_path, call):
    (tmp_path / "net.csv").write_text("von;an\nann;bob\nann;bob\n")
    words = ("datasets", "show", "net.csv", "--columns", "source=von,target=an", "--no-bipartite", "--json")
    notes = json.loads(call(*words, cwd=tmp_path)[1])["notes"]
    assert notes == [
        "net.csv: columns used: 'von' as source, 'an' as target.",
        "net.csv: read with semicolons.",
        "net.csv: 1 of 2 rows merged with another of the same nodes and layer.",
    ]


def test_where_nothing_can_be_written_nothing_is_read(tmp_path, refusal):
    """The data are damaged, but the error is about the output path."""
    (tmp_path / "bad.csv").write_text("source,target\n1\n")
    (tmp_path / "there.csv").touch()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").touch()
    for words, values in {
        "convert bad.csv there.csv": ["there.csv: ", " --force"],
        "convert bad.csv there": ["there: ", ".parquet", " --to NAME"],
        "convert bad.csv no/x.csv": ["no/x.csv: ", "folder no"],
        "train bad.csv -o run": ["run: ", "folder", "checkpoint.safetensors"],
        "train bad.csv -o run --resume": ["run: ", "folder", "checkpoint.safetensors"],
        "train bad.csv -o run --resume --force": ["--resume", "--force"],
        "predict run --layer a --top 3 -o there.csv": ["there.csv: ", "--force"],
        "predict run --layer a --top 3 -o there.txt": ["there.txt: ", ".csv"],
    }.items():
        message = refusal(*words.split(), cwd=tmp_path)
        assert all(value in message for value in values), message


def test_format_columns_and_nodes(tmp_path, call, refusal):
    (tmp_path / "calls").write_text("from,to\n0,1\n1,2\n")
    words = ("calls", "--from", "csv", "--columns", "source=from,target=to", "--num-nodes", "5")
    assert shown(call, *words, cwd=tmp_path) == ({"edges": 2}, "")
    assert call("convert", *words[:1], "calls.bx", *words[1:], cwd=tmp_path)[0] == 0
    assert bx.read(tmp_path / "calls.bx").num_nodes == 5
    message = refusal("datasets", "show", *words[:-1], "2", cwd=tmp_path)
    assert all(word in message for word in ("calls, line 3", "2 declared nodes", "got 2"))
    message = refusal("datasets", "show", "calls.bx", "--num-nodes", "5", cwd=tmp_path)
    assert "--num-nodes" in message
    assert "verify" not in message  # an option of Python alone


@pytest.mark.parametrize("option", ["--from csv", "--columns source=a", "--header", "--num-nodes 3"])
def test_data_sets_take_no_options_of_files(option, tmp_path, refusal):
    words = option.split()
    message = refusal("datasets", "show", "twins", *words, cwd=tmp_path)
    assert words[0] in message
    assert "'twins'" in message


def test_direction_of_a_data_set(tmp_path, call):
    assert call("convert", "twins", "same.bx", "--undirected", cwd=tmp_path)[0] == 0
    assert bx.read(tmp_path / "same.bx") == bx.load_dataset("twins")
    assert call("convert", "twins", "arcs.bx", "--directed", cwd=tmp_path)[0] == 0
    arcs = bx.read(tmp_path / "arcs.bx")
    assert arcs.directed
    assert arcs.num_edges == 2 * 4800
    assert arcs.to_undirected() == bx.load_dataset("twins")


def test_direction_of_a_plain_list(tmp_path, call):
    """Each line is one directed edge; a note says so if no edge has its reverse, which may be a mistake."""
    (tmp_path / "once.csv").write_text("source,target\n1,2\n2,3\n3,3\n")
    edges, said = shown(call, "once.csv", "--directed", cwd=tmp_path)
    assert edges == {"edges": 3}
    assert said.startswith("banditplex: once.csv: ")
    assert said.count("\n") == 1
    (tmp_path / "twice.csv").write_text("source,target\n1,2\n2,1\n2,3\n")
    assert shown(call, "twice.csv", "--directed", cwd=tmp_path) == ({"edges": 3}, "")
    assert shown(call, "twice.csv", "--undirected", cwd=tmp_path) == ({"edges": 2}, "")


ROWS = [["ann", 1000, "a title of some seven or eight words"], ["b" * 15, 2, "short"]]


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (80, ["title", "a title of some seven or eight words", "short"]),
        (50, ["title", "a title of some seven or", "eight words", "short"]),  # 15 + 6 + 2 * 2 and 25 are left
        (40, ["title", "a title of some", "seven or eight", "words", "short"]),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
def test_the_widest_column_is_wrapped_in_a_terminal(width, titles, place, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    table = [["name", "number", "title"], *ROWS]
    table = [row if place else [row[2], *row[:2]] for row in table]
    print_table(table[0], table[1:])
    plain = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    lines = plain.splitlines()
    assert max(map(len, lines)) <= width
    others = ["name", "number", "ann", "1,000", "b" * 15, "2"]
    for text in [*titles, *others]:
        assert text in plain
    assert len(lines) == len(titles)


def test_two_wide_columns_share_what_there_is(capsys, monkeypatch):
    """Names of layers, as of food: 64 characters of names and 10 others in a terminal of 50."""
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    names = "Beverages,_non_alcoholic,_others", "Milk,_whole_fresh_cow_and_others"
    print_table(["layer", "edges", "most similar"], [[names[0], 4004, names[1]]])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 50
    assert "".join(line[:20].strip() for line in lines[1:]) == names[0]
    assert "".join(line[29:].strip() for line in lines[1:]) == names[1]


def test_numbers_are_never_cut(capsys, monkeypatch):
    """Three columns of 10 in a terminal of 30: their names are wrapped, and the rest is the terminal's affair."""
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table(["mean and deviation"] * 3, [["0.123 ± 0.4"] * 3])
    plain = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert [line.split() for line in plain.splitlines()] == [
        ["mean", "and"] * 3,
        ["deviation"] * 3,
        ["0.123", "±", "0.4"] * 3,
    ]


def test_a_file_gets_every_line_whole(capsys):
    print_table(["name", "title"], [["ann", "x" * 300]])
    assert capsys.readouterr().out.splitlines()[1] == f"ann   {'x' * 300}"
    print_text("[bold]note[/]: ", "x " * 150 + "[red]")
    assert capsys.readouterr().out == f"note: {'x ' * 150}[red]\n"
