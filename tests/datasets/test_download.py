"""Downloads, for real, from a server on this machine: all or nothing, and one clear line."""

import hashlib
import io
import re
import sys
import zipfile
from dataclasses import replace
from functools import partial

import pytest

from banditplex.datasets import Dataset, File, loading
from banditplex.datasets.base import load_comune
from banditplex.datasets.loading import fetch_files
from banditplex.storage.files import draft_folder
from tests.refusals import refuses
from tests.storage.drafts import dead_draft

EDGES = b"1 1 2 1\n1 2 1 1\n2 2 3 5\n"
LAYERS = b"layerID layerLabel\n1 work\n2 at home\n"
PADDING = bytes(range(256)) * 1024  # so that half of the archive is many packets


def sha256(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def archive(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        target.writestr("Tiny_Multiplex/padding.bin", PADDING)
        target.writestr("__MACOSX/Tiny_Multiplex/Dataset/._tiny_multiplex.edges", b"not this one")
        for name, content in files.items():
            target.writestr(f"Tiny_Multiplex/Dataset/{name}", content)
    return packed.getvalue()


TINY_ZIP = archive({"tiny_multiplex.edges": EDGES, "tiny_layers.txt": LAYERS, "tiny_nodes.txt": b"not declared"})


@pytest.fixture
def tiny(site, folder):
    """A data set of four nodes and two layers, which the site serves."""
    edges = File("tiny/tiny_multiplex.edges", sha256(EDGES))
    layers = File("tiny/tiny_layers.txt", sha256(LAYERS))
    load = partial(load_comune, edges, layers, None, num_nodes=4, directed=True)
    return Dataset("tiny", "Tiny", load, files=(edges, layers), archive=site.add("/tiny.zip", TINY_ZIP))


def left_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def refused(dataset, *values, **options):
    """Fetch a data set, expect an error of one line that names `values`, and return that line."""
    with refuses(*values) as caught:
        fetch_files(dataset, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_complete_download(tiny, folder):
    seen = []
    assert not tiny.at_hand
    assert fetch_files(tiny, progress=lambda done, total: seen.append((done, total))) == folder / "tiny"
    assert tiny.at_hand
    assert left_in(folder) == ["tiny", "tiny/tiny_layers.txt", "tiny/tiny_multiplex.edges"]
    assert seen[-1] == (len(TINY_ZIP), len(TINY_ZIP))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    mx = tiny.load()
    assert (mx.num_nodes, mx.layer_names, mx.directed) == (4, ("work", "at home"), True)
    assert mx.edges("work").T.tolist() == [[0, 1], [1, 0]]
    assert mx.weight.tolist() == [1, 1, 5]


def test_only_https_is_followed(tiny, site, folder):
    """A server that sends us to an address without encryption is not followed, wherever it stands."""
    site.moved["/tiny.zip"] = "http://example.org/tiny.zip"
    refused(tiny, "http://example.org/tiny.zip", "https://")
    assert left_in(folder) == []
    refused(replace(tiny, archive="ftp://example.org/tiny.zip"), "ftp://example.org", "https://")
    refused(replace(tiny, archive="http://example.org/tiny.zip"), "http://example.org", "https://")


def test_a_folder_in_the_place_of_a_file(tiny, folder):
    (folder / "tiny" / "tiny_multiplex.edges").mkdir(parents=True)
    refused(tiny, folder / "tiny" / "tiny_multiplex.edges", "a file, got a folder")


def test_what_a_killed_download_has_left_is_removed(tiny, folder):
    dead = dead_draft(folder / "tiny")
    dead.mkdir()
    with draft_folder(folder / "tiny") as alive:
        fetch_files(tiny)
        assert list(folder.glob(".*")) == [alive]


def test_what_is_at_hand_is_not_downloaded_again(tiny, folder, site):
    fetch_files(tiny)
    site.pages.clear()
    assert fetch_files(tiny) == folder / "tiny"


@pytest.mark.parametrize("size", [len(TINY_ZIP), 100])
def test_a_download_that_breaks_off(tiny, folder, site, size):
    site.add("/tiny.zip", TINY_ZIP[:size])
    site.cut.add("/tiny.zip")
    said = refused(tiny, "tiny", tiny.archive)
    done, total = (int(number.replace(",", "")) for number in re.findall(r"([0-9,]+) of ([0-9,]+) bytes", said)[0])
    assert total == size
    assert size // 2 - 8192 <= done <= size // 2  # it is written in pieces of 8,192
    assert left_in(folder) == []


def test_a_checksum_that_differs(tiny, folder, site):
    other = EDGES.replace(b"5", b"6")
    site.add("/tiny.zip", archive({"tiny_multiplex.edges": other, "tiny_layers.txt": LAYERS}))
    expected, got = hashlib.sha256(EDGES).hexdigest(), hashlib.sha256(other).hexdigest()
    refused(tiny, "tiny_multiplex.edges", tiny.archive, expected, got)
    assert left_in(folder) == []


def test_an_address_that_is_gone(tiny, folder, site):
    site.pages.clear()
    refused(tiny, tiny.archive, 404)
    assert left_in(folder) == []


@pytest.mark.parametrize("content", [b"<html>moved</html>", TINY_ZIP[:-100], b""])
def test_a_zip_that_is_not_a_zip(tiny, folder, site, content):
    site.add("/tiny.zip", content)
    refused(tiny, tiny.archive, "zip")
    assert left_in(folder) == []


def test_a_zip_with_a_damaged_file(tiny, folder, site):
    place = TINY_ZIP.index(EDGES)
    site.add("/tiny.zip", TINY_ZIP[:place] + b"9" + TINY_ZIP[place + 1 :])
    refused(tiny, tiny.archive, "Bad CRC-32")
    assert left_in(folder) == []


def test_a_zip_without_the_file(tiny, folder, site):
    site.add("/tiny.zip", archive({"tiny_multiplex.edges": EDGES}))
    refused(tiny, tiny.archive, "tiny_layers.txt")
    assert left_in(folder) == []


def test_no_network(tiny, folder, site):
    site.socket.close()  # nobody listens any more
    tiny = replace(tiny, archive="http://127.0.0.1:9/tiny.zip")
    refused(tiny, "http://127.0.0.1:9/tiny.zip", "no connection")
    assert left_in(folder) == []


def test_a_server_that_does_not_answer(tiny, folder, site, monkeypatch):
    monkeypatch.setattr(loading, "TIMEOUT", 0.2)
    site.mute.add("/tiny.zip")
    refused(tiny, tiny.archive, "0.2 seconds")
    assert left_in(folder) == []


def test_an_interrupted_download_leaves_nothing(tiny, folder):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_files(tiny, progress=interrupt)
    assert left_in(folder) == []


def test_a_folder_that_cannot_be_written(tiny, folder):
    (folder / "tiny").write_text("a file where the folder should be")
    refused(tiny, "tiny", folder)
    assert left_in(folder) == ["tiny"]


def test_a_file_at_hand_that_was_changed(tiny, folder):
    fetch_files(tiny)
    path = folder / "tiny" / "tiny_layers.txt"
    path.write_bytes(LAYERS + b"3 new\n")
    expected = hashlib.sha256(LAYERS).hexdigest()
    refused(tiny, path, "checksum", expected)
    (folder / "tiny" / "tiny_multiplex.edges").unlink()  # that another one is missing is not what is wrong
    refused(tiny, path, "checksum", expected)


def test_the_mirror_helps_out(tiny, folder, site):
    site.pages.clear()
    edges, layers = tiny.files
    edges = replace(edges, mirror=site.add("/mirror/tiny_multiplex.edges", EDGES))
    layers = replace(layers, mirror=site.add("/mirror/tiny_layers.txt", LAYERS))
    fetch_files(replace(tiny, files=(edges, layers)))
    assert left_in(folder) == ["tiny", "tiny/tiny_layers.txt", "tiny/tiny_multiplex.edges"]


def test_a_mirror_is_checked_too_and_every_trouble_is_told(tiny, folder, site):
    site.pages.clear()
    edges = replace(tiny.files[0], mirror=site.add("/mirror/tiny_multiplex.edges", b"1 1 1 1\n"))
    refused(replace(tiny, files=(edges, tiny.files[1])), tiny.archive, 404, edges.mirror, "checksum")
    assert left_in(folder) == []


NEWER = EDGES + b"2 1 3 1\n"


def newer(tiny):
    return File("tiny-newer/tiny_multiplex.edges", sha256(NEWER))


def test_another_release_is_kept_under_its_own_name(tiny, folder, site):
    site.add("/tiny.zip", archive({"tiny_multiplex.edges": NEWER, "tiny_layers.txt": LAYERS}))
    refused(tiny, tiny.archive, "'tiny-newer'", known=[*tiny.files, newer(tiny)])
    assert left_in(folder) == ["tiny-newer", "tiny-newer/tiny_multiplex.edges"]
    assert (folder / "tiny-newer" / "tiny_multiplex.edges").read_bytes() == NEWER


def test_another_release_does_not_keep_the_mirror_from_helping(tiny, folder, site):
    site.add("/tiny.zip", archive({"tiny_multiplex.edges": NEWER, "tiny_layers.txt": LAYERS}))
    edges = replace(tiny.files[0], mirror=site.add("/mirror/tiny_multiplex.edges", EDGES))
    layers = replace(tiny.files[1], mirror=site.add("/mirror/tiny_layers.txt", LAYERS))
    fetch_files(replace(tiny, files=(edges, layers)), known=[edges, layers, newer(tiny)])
    assert (folder / "tiny" / "tiny_multiplex.edges").read_bytes() == EDGES
    assert (folder / "tiny-newer" / "tiny_multiplex.edges").read_bytes() == NEWER


def test_the_cache_where_no_folder_is_named(tiny, tmp_path, monkeypatch):
    monkeypatch.delenv("BANDITPLEX_DATA")
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    assert fetch_files(tiny) == tmp_path / "cache" / "banditplex" / "tiny"
    assert tiny.at_hand


def test_a_folder_that_is_not_there_is_made(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("BANDITPLEX_DATA", str(tmp_path / "new" / "data"))
    assert not tiny.at_hand
    assert fetch_files(tiny) == tmp_path / "new" / "data" / "tiny"
    assert tiny.at_hand


def test_a_folder_that_is_a_file(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("BANDITPLEX_DATA", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    refused(tiny, "BANDITPLEX_DATA", tmp_path / "file")


def test_without_pooch_what_is_at_hand_loads(tiny, folder, monkeypatch):
    fetch_files(tiny)
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert fetch_files(tiny) == folder / "tiny"
    assert tiny.load().num_edges == 3


@pytest.mark.parametrize("named", [True, False])
def test_without_pooch_what_is_not_at_hand_is_refused(tiny, monkeypatch, named):
    monkeypatch.setitem(sys.modules, "pooch", None)
    if not named:
        monkeypatch.delenv("BANDITPLEX_DATA")
    assert not tiny.at_hand
    refused(tiny, "tiny", "pooch", "BANDITPLEX_DATA")


@pytest.mark.parametrize(
    ("content", "name"),
    [(b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"), (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a")],
)
def test_git_ids(tmp_path, content, name):
    """What `git hash-object` says of an empty file and of "hello"."""
    (tmp_path / "file").write_bytes(content)
    File("file", f"git:{name}").check(tmp_path / "file")


def test_a_stand_in_is_checked_and_loaded(folder):
    whole = b"1 1 2 1\n1 2 3 1\n2 3 1 1\n"
    plain = File("tiny/plain.edges", sha256(whole))
    edges = File("tiny/tiny.edges", sha256(b"what is not at hand"), stand_in=plain)
    (folder / "tiny").mkdir()
    (folder / "tiny" / "plain.edges").write_bytes(whole)
    load = partial(load_comune, edges, ("a", "b"), None, num_nodes=3, directed=True)
    tiny = Dataset("tiny", "Tiny", load, files=(edges,))
    fetch_files(tiny)
    mx = tiny.load()
    assert mx.edges("a").T.tolist() == [[0, 1], [1, 2]]
    assert mx.edges("b").T.tolist() == [[2, 0]]
    assert mx.metadata["missing"] == ["weight"]
    (folder / "tiny" / "plain.edges").write_bytes(whole + b"2 1 2 1\n")
    refused(tiny, folder / "tiny" / "plain.edges", "checksum", "sha256")
