"""The command line speaks of flags where the library speaks of Python parameters."""

import re
import warnings

import pytest

import banditplex as bx
from banditplex.cli.data import FLAGS, in_flags

EDGES = "source,target,layer,weight\nann,bob,work,2\nbob,cid,home,1\n"
FILES = {
    "net.csv": EDGES,
    "bare.csv": EDGES.partition("\n")[2],
    "net": "nothing known",
}
PARAMETER = re.compile(r"(?<!--columns )(?<!',)\b[a-z_]+=(?!from|to)")


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("convert net.csv net.csv", ["--force"]),
        ("convert shop.parquet out.csv", ["--lossy"]),
        ("convert net.csv out", ["--to NAME"]),
        ("convert net out.csv", ["--from NAME"]),
        ("convert bare.csv out.csv", ["--columns source=NAME", "--no-header"]),
        ("convert net.csv out.csv --columns source=from", ["--no-header"]),
        ("datasets show net.bx --num-nodes 5", ["--num-nodes"]),
        ("datasets show net.bx --no-header", ["--header/--no-header"]),
        ("datasets show net.bx --columns target=to", ["--columns target"]),
        ("evaluate twins --hide pair -o net.csv", ["--resume"]),
        ("train twins -o run --batch-size -1", ["--batch-size"]),
        ("train twins -o run --learning-rate -1", ["--learning-rate"]),
        ("train twins -o run --steps-per-draw 0", ["--steps-per-draw"]),
    ],
)
def test_real_commands_name_flags(words, flags, tmp_path, refusal):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    mx = bx.read(tmp_path / "net.csv")
    bx.write(mx, tmp_path / "net.bx")
    bx.write(mx.with_node_types(["user"] * 3), tmp_path / "shop.parquet")
    message = refusal(*words.split(), cwd=tmp_path)
    assert all(flag in message for flag in flags), message
    assert not PARAMETER.search(message), message


def test_warnings_name_flags(tmp_path, call):
    call("formats", cwd=tmp_path)
    shown = warnings.formatwarning("resume=True continues.", UserWarning, "file.py", 1)
    assert shown == "banditplex: --resume continues.\n"


@pytest.mark.parametrize("phrase", [phrase for phrase, flag in FLAGS.items() if flag])
def test_each_phrase_becomes_its_flag(phrase):
    assert in_flags(f"Expected {phrase}, got none.") == f"Expected {FLAGS[phrase]}, got none."


@pytest.mark.parametrize(
    ("message", "translated"),
    [
        ("Expected layers=['a'], got none.", "Expected --policy-option layers=['a'], got none."),
        ("Expected num_nodes=5.", "Expected --num-nodes 5."),
        ("a; its options: directed, verify.", "a."),
        ("runs/resume=True: my_batch_size, 'header=False'", "runs/resume=True: my_batch_size, 'header=False'"),
        ("--columns source=NAME", "--columns source=NAME"),
    ],
)
def test_values_hints_and_what_stays(message, translated):
    assert in_flags(message) == translated
