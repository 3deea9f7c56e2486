# SPDX-License-Identifier: MIT
"""The command line: what each command prints, as text and as JSON, and how it fails."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import zarrcore
from zarrcore.kernels import crc32c

pytest.importorskip("click")

import click

from zarrcore.cli.app import COMMANDS, cli, describe, run
from zarrcore.cli.places import selection_of, split_place

ESCAPE = "\x1b[31m"


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs the command line in this process."""

    def call(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as end:
            run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err, "control characters of names must not reach the terminal"
        return Result(int(end.value.code or 0), out, err)

    return call


def on_terminal(*arguments: str) -> str:
    """What a command prints on a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "zarrcore", *arguments], stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the end, on Linux
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return shown.decode()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "data.zarr"
    group = zarrcore.create_group(root)
    group.attrs["title"] = "a survey"
    depth = group.create_array("region/depth", shape=(20, 30), chunks=(5, 10), dtype="f4")
    depth[:10] = np.arange(300).reshape(10, 30)
    counts = group.create_array(
        "counts", shape=(16, 16), chunks=(4, 4), shards=(8, 8), dtype="i2", compressors=None
    )
    counts[...] = np.arange(1, 257).reshape(16, 16)
    return root


def test_every_command_has_help(command: Callable[..., Result]) -> None:
    listed = command("--help")
    assert listed.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in listed.out
        shown = command(name, "--help")
        assert shown.code == 0 and shown.out.startswith(f"Usage: zarrcore {name}")


def test_the_list_of_commands_has_their_first_sentences() -> None:
    for name, home in COMMANDS.items():
        found = cli.get_command(click.Context(cli), name)
        assert found is not None and home.summary == found.get_short_help_str(200)


@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_cuts_no_sentence(
    command: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = command("--help").out
    assert "..." not in shown.partition("Commands:")[2] and max(map(len, shown.splitlines())) <= int(columns)


def test_tree(command: Callable[..., Result], store: Path) -> None:
    assert command("tree", store).out.splitlines() == [
        "/",
        "├── counts 16 x 16 int16, shards 8 x 8, chunks 4 x 4",
        "└── region",
        "    └── depth 20 x 30 float32, chunks 5 x 10",
    ]
    assert len(command("tree", store, "--depth", 1).out.splitlines()) == 3
    sizes = {node["path"]: node.get("nbytes_stored") for node in command("tree", store, "-s", "--json").json}
    stored = sum(file.stat().st_size for file in (store / "counts").rglob("*") if file.is_file())
    assert sizes == {"": None, "counts": stored, "region": None, "region/depth": sizes["region/depth"]}


def test_tree_shows_what_cannot_be_read(command: Callable[..., Result], store: Path) -> None:
    (store / "region" / "depth" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}')
    shown = command("tree", store)
    assert shown.code == 0
    assert "depth (unreadable: " in shown.out and "counts 16 x 16" in shown.out


@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize("name", ["tree", "ls"])
def test_a_member_that_may_not_be_read_hides_no_others(
    command: Callable[..., Result], store: Path, name: str, is_json: bool
) -> None:
    """The commands ended with its error, and showed nothing."""
    (store / "region" / "zarr.json").unlink()
    (store / "region" / "zarr.json").symlink_to("nowhere")
    shown = command(name, store, *(["--json"] if is_json else []))
    assert shown.code == 1
    assert "counts" in shown.out and "region" in shown.out
    assert "/region: node 'region' in " in shown.err and "points to nothing" in shown.err
    if is_json:
        found = {node.get("path", node.get("name")): node for node in shown.json}
        assert found["region"]["kind"] == "unreadable" and found["region"]["failed"] is True
        assert found["counts"]["kind"] == "array" and "failed" not in found["counts"]


def test_a_group_that_may_not_be_listed_hides_no_others(
    command: Callable[..., Result], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_dir = zarrcore.storage.LocalStore.list_dir

    def fail(self: Any, prefix: str) -> Any:
        if prefix.startswith("region"):
            raise PermissionError(13, "Permission denied", prefix)
        return list_dir(self, prefix)

    monkeypatch.setattr(zarrcore.storage.LocalStore, "list_dir", fail)
    zarrcore.open_group(store).create_array("winter", shape=3, dtype="i1")
    shown = command("tree", store)
    assert shown.code == 1 and "Permission denied" in shown.err
    counts, region, winter = shown.out.splitlines()[1:]
    assert counts.startswith("├── counts 16") and winter == "└── winter 3 int8, chunks 3"
    assert region.startswith("├── region (members are unreadable: node 'region' in ")
    assert "region" in repr(zarrcore.open_group(store).tree()) and "winter" in repr(
        zarrcore.open_group(store).tree()
    )
    assert command("ls", store).code == 0
    assert command("tree", store, "--depth", 1).code == 0


def test_a_tree_goes_on_below_its_bars_where_a_terminal_is_narrow(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert on_terminal("tree", str(store)).splitlines() == [
        "/",
        "├── counts 16 x 16 int16, shards",
        "│       8 x 8, chunks 4 x 4",
        "└── region",
        "    └── depth 20 x 30 float32,",
        "            chunks 5 x 10",
    ]


def test_names_and_errors_are_escaped(command: Callable[..., Result], tmp_path: Path) -> None:
    group = zarrcore.create_group(tmp_path / "odd.zarr")
    group.create_array(f"red{ESCAPE}", shape=2, dtype="i1")
    group.attrs[ESCAPE] = ESCAPE
    words = group.create_array("words", shape=1, dtype="str")
    words[:] = [f"a{ESCAPE}"]
    for arguments in (
        ["tree"],
        ["ls"],
        ["ls", "-l"],
        ["info"],
        ["attrs", "get"],
        ["verify"],
        ["cat"],
        ["stat"],
    ):
        assert command(*arguments, tmp_path / "odd.zarr").code in (0, 1)
    assert command("cat", tmp_path / "odd.zarr/words").out == "['a\\x1b[31m']\n"
    place = f"{tmp_path / 'odd.zarr'}/words"
    assert on_terminal("cat", place, "-f", "csv") == "a\\x1b[31m\r\n"
    assert "npy is no text" in on_terminal("cat", place, "-f", "npy")


def test_info(command: Callable[..., Result], store: Path) -> None:
    assert (
        command("info", store / "counts").out == f"{zarrcore.open_array(store / 'counts', mode='r').info}\n"
    )
    found = command("info", store / "counts", "--complete", "--json").json
    assert found["shape"] == [16, 16] and found["nchunks"] == 16 and found["data_type"] == "int16"
    assert found["nbytes"] == 512 and found["nbytes_stored"] > 512
    assert command("info", store, "--json").json["attributes"] == {"title": "a survey"}


def test_info_counts_the_chunks_that_are_in_shards(command: Callable[..., Result], tmp_path: Path) -> None:
    """It had the number of shards alone, also where most of what a shard can hold was absent."""
    array = zarrcore.create_array(tmp_path / "s", shape=80, chunks=4, shards=40, dtype="i4")
    array[:10] = 1
    lines = command("info", tmp_path / "s", "-c").out.splitlines()
    assert lines[-2:] == ["Shards Initialized : 1", "Chunks stored      : 3 of 20 (15%)"]
    assert command("info", tmp_path / "s", "-c", "--json").json["nchunks_stored"] == 3


def test_ls(command: Callable[..., Result], store: Path) -> None:
    assert command("ls", store).out == "counts\nregion\n"
    assert [node["kind"] for node in command("ls", store, "--json").json] == ["array", "group"]
    assert command("ls", store, "-l").out.splitlines()[1] == "region  group"
    failed = command("ls", store / "counts")
    assert (failed.code, failed.out) == (1, "") and "has no members" in failed.err


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_cat(command: Callable[..., Result], store: Path, form: str) -> None:
    expected = {"text": "[[1 2]\n [5 6]]\n", "csv": "1,2\n5,6\n", "json": "[[1, 2], [5, 6]]"}
    values = np.array([[1, 2], [5, 6]], "i2")
    zarrcore.save(store / "small", values)
    found = command("cat", store / "small", "-f", form)
    assert found.code == 0
    assert found.json == values.tolist() if form == "json" else found.out == expected[form]


def test_cat_takes_the_columns_of_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarrcore.save(tmp_path / "a", np.arange(100))
    for columns in (40, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = on_terminal("cat", str(tmp_path / "a")).splitlines()
        assert columns - 5 < max(map(len, lines)) < columns


def test_cat_writes_what_numpy_loads(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zarrcore", "cat", str(store / "region/depth"), "2:4, ::7", "-f", "npy"],
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    expected = np.arange(600, dtype="f4").reshape(20, 30)[2:4, ::7]
    np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), expected, strict=True)


@pytest.mark.parametrize(
    ("selection", "form", "message"),
    [
        ("0, x", "text", "expected an integer, a slice or ..., got 'x'"),
        ("99", "text", "99"),
        ("0, 0, 0", "text", "too many indices"),
    ],
)
def test_cat_of_what_is_not_there(
    command: Callable[..., Result], store: Path, selection: str, form: str, message: str
) -> None:
    failed = command("cat", store / "counts", selection, "-f", form)
    assert failed.code in (1, 2) and message in failed.err and failed.out == ""


def test_values_without_a_safe_form(command: Callable[..., Result], store: Path) -> None:
    zarrcore.create_array(store / "words", shape=2, dtype="str")
    zarrcore.create_array(store / "cube", shape=(2, 2, 2), dtype="i1")
    zarrcore.create_array(store / "times", shape=2, dtype="M8[s]", fill_value="NaT")
    assert "use json" in command("cat", store / "words", "-f", "npy").err
    assert "csv has two dimensions" in command("cat", store / "cube", "-f", "csv").err
    assert command("cat", store / "times", "-f", "json").json == ["NaT", "NaT"]


@pytest.mark.parametrize(
    ("dtype", "data", "expected"),
    [
        ("S3", b"ab\xff\x01", ["ab\\xff", "\x01"]),
        ("V2", b"a\xff\x00b", [r"a\xff", "\x00b"]),
        ("bfloat16", b"\xc0\x3f\x00\x80", [1.5, -0.0]),
        ("int4", b"\x0f\x01", [-1, 1]),
        ([("a", "S1"), ("b", "i1")], b"\xff\x01b\x02", [["\\xff", 1], ["b", 2]]),
    ],
    ids=str,
)
def test_values_of_any_kind_were_an_error_of_encoding_or_casting(
    command: Callable[..., Result], tmp_path: Path, dtype: Any, data: bytes, expected: Any
) -> None:
    if dtype in ("bfloat16", "int4"):
        pytest.importorskip("ml_dtypes")
    array = zarrcore.create_array(tmp_path / "a", shape=2, dtype=dtype, compressors=None)
    (tmp_path / "a" / "c").mkdir()
    (tmp_path / "a" / "c" / "0").write_bytes(data.ljust(2 * array.dtype.itemsize, b"\0"))
    assert command("cat", tmp_path / "a", "--json").json == expected
    lines = command("cat", tmp_path / "a", "-f", "csv").out.splitlines()
    is_record = isinstance(expected[0], list)
    assert lines == (["a,b", "\\xff,1", "b,2"] if is_record else [str(item) for item in expected])


RECORD = np.dtype([
    ("at", "M8[ns]"), ("for", "m8[h]"), ("z", "c8"), ("code", "S4"), ("raw", "V2"), ("name", "U3"),
    ("xyz", "f4", (2,)), ("sub", [("n", "i2"), ("t", "M8[D]")]), ("x", "f8"),
])  # fmt: skip


def test_records_have_a_column_for_each_field(command: Callable[..., Result], tmp_path: Path) -> None:
    """They were one column with Python's text of a tuple; times in ns were numbers, byte strings b'...'."""
    record = ("2026-02-03T04:05:06", 3, 1 + 2j, b"a\xff", b"\x00b", "é,", [1.5, 2], (7, "2026-01-01"), np.nan)
    values = np.array([record, record], RECORD)
    zarrcore.create_array(tmp_path / "a", data=values, zarr_format=2, compressors=None)
    row = [
        "2026-02-03T04:05:06.000000000", "3 hours", "(1+2j)", "a\\xff", "\x00b", "é,", [1.5, 2.0],
        [7, "2026-01-01"], "NaN",
    ]  # fmt: skip
    assert command("cat", tmp_path / "a", "--json").json == [row, row]
    assert command("cat", tmp_path / "a", "0", "--json").json == row
    header = "at,for,z,code,raw,name,xyz,sub,x\n"
    line = (
        "2026-02-03T04:05:06.000000000,3 hours,(1+2j),a\\xff,\x00b,"
        '"é,","[1.5, 2.0]","[7, ""2026-01-01""]",nan\n'
    )
    assert command("cat", tmp_path / "a", "-f", "csv").out == header + 2 * line
    assert command("cat", tmp_path / "a", "0", "-f", "csv").out == header + line
    zarrcore.create_array(tmp_path / "b", data=values.reshape(2, 1), zarr_format=2)
    assert command("cat", tmp_path / "b", "--json").json == [[row], [row]]
    failed = command("cat", tmp_path / "b", "-f", "csv")
    assert failed.code == 1 and "csv of records has one dimension, the selection 2" in failed.err


def test_fields_of_records_are_chosen_by_name(command: Callable[..., Result], tmp_path: Path) -> None:
    """No command could: `cat` printed all fields, `plot` and `bench` took none alone."""
    place = tmp_path / "r.zarr"
    records = np.zeros((2, 3), [("x", "f4"), ("n", "i2"), ("name", "S4")])
    records["x"], records["name"] = np.arange(6).reshape(2, 3) / 2, b"ab"
    zarrcore.create_array(place, data=records, chunks=(1, 3))
    assert command("cat", place, "0", "--field", "x").out == "[0.  0.5 1. ]\n"
    assert command("cat", place, "1", "-F", "name", "-F", "n", "-f", "csv").out == "name,n\n" + "ab,0\n" * 3
    assert json.loads(command("explain", place, "0", "-F", "n", "--json").out)["kept"] == 6
    assert json.loads(command("plot", place, "-F", "x", "--json").out)["largest"] == 2.5
    rows = json.loads(command("bench", place, "-F", "n", "-j", 1, "-r", 1, "--no-peer", "--json").out)
    assert rows[0]["nbytes"] == 12
    for name in ("cat", "explain", "plot", "bench"):
        failed = command(name, place, "-F", "y")
        assert failed.code == 1 and "unknown ['y']" in failed.err and "'name'" in failed.err
    assert "--field NAME chooses one of x, n, name" in command("plot", place).err
    assert command("plot", place, "-F", "x", "-F", "n").code == 2


def test_byte_strings_of_any_length_are_text_as_those_of_a_fixed_length(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    blobs = zarrcore.create_array(tmp_path / "a", shape=2, dtype="bytes")
    blobs[...] = np.array([b"one\xff", b""], object)
    assert command("cat", tmp_path / "a", "--json").json == ["one\\xff", ""]
    assert command("cat", tmp_path / "a", "0", "-f", "csv").out == "one\\xff\n"


@pytest.mark.parametrize(("dtype", "item", "text"), [("str", "Tromsø", "Tromsø"), ("bytes", b"a\0", "a\0")])
def test_cat_of_one_item_of_any_length(
    command: Callable[..., Result], tmp_path: Path, dtype: str, item: Any, text: str
) -> None:
    """As JSON it was an error of Python's, and CSV left zero bytes at the end out."""
    array = zarrcore.create_array(tmp_path / "a", shape=2, dtype=dtype)
    array[0] = item
    assert command("cat", tmp_path / "a", "0", "--json").json == text
    assert command("cat", tmp_path / "a", "0", "-f", "csv").out == f"{text}\n"
    assert command("cat", tmp_path / "a", "0").out == f"{item}\n"
    assert "use json" in command("cat", tmp_path / "a", "0", "-f", "npy").err


def test_stat(command: Callable[..., Result], store: Path) -> None:
    found = command("stat", store / "counts", "--json").json
    assert found["chunks"] == found["chunks_stored"] == 4 and found["inner_chunks_stored"] == 16
    assert found["nbytes"] == 512 and found["unused"] == 0
    assert sum(count for _, count in found["histogram"]) == 4
    assert all(low <= found["largest"] for low, _ in found["histogram"])
    shown = command("stat", store / "region/depth").out
    assert shown.startswith("6 of 12 chunks stored\n")
    empty = zarrcore.create_array(store / "empty", shape=8, dtype="i1")
    assert empty.nchunks_initialized == 0
    assert command("stat", store / "empty").out.startswith("0 of 1 chunks stored\n0 B stored")


def test_attrs(command: Callable[..., Result], store: Path) -> None:
    for key, text, value in (
        ("n", "3", 3),
        ("range", "[0, 400]", [0, 400]),
        ("units", "K", "K"),
        ("x", "null", None),
    ):
        assert command("attrs", "set", store, key, text).code == 0
        assert command("attrs", "get", store, key).json == value
    assert command("attrs", "delete", store, "n", "x", "n").code == 0  # twice is no other key
    assert command("attrs", "get", store).json == {"title": "a survey", "range": [0, 400], "units": "K"}
    failed = command("attrs", "delete", store, "units", "nothing")
    assert failed.code == 1 and "nothing was deleted" in failed.err
    assert "units" in command("attrs", "get", store).json
    assert "there are: title" in command("attrs", "get", store, "unit").err


def test_json_of_what_changes(command: Callable[..., Result], store: Path) -> None:
    assert command("attrs", "set", store, "n", "3", "--json").json == {"title": "a survey", "n": 3}
    assert command("attrs", "delete", store, "title", "--json").json == {"n": 3}
    assert command("attrs", "get", store, "--json").json == {"n": 3}
    assert command("cat", store / "counts", "0, :2", "--json").json == [1, 2]
    assert command("consolidate", store, "--json").json == {"nodes": 3}
    shown = command("plot", store / "counts", ":2, :2", "--json").json
    assert shown == {"shown": "2 x 2", "least": 1, "largest": 18, "values": [[1, 2], [17, 18]]}
    stored = command("plot", store / "region/depth", "--chunks", "--json").json["values"]
    assert [[size is None for size in row] for row in stored] == [[False] * 3] * 2 + [[True] * 3] * 2


def test_copy(command: Callable[..., Result], store: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.zip"
    assert command("copy", store, target).out == "3 copied, 0 left out, 2.8 KiB of values\n"
    assert target.is_file()
    for path in ("counts", "region/depth"):
        new, old = (zarrcore.open_array(place, path=path, mode="r") for place in (target, store))
        np.testing.assert_array_equal(new[...], old[...], strict=True)
        assert new.metadata == old.metadata


def test_options_of_a_copy_go_to_the_place_that_is_remote(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    pytest.importorskip("fsspec")
    options = ["-o", "skip_instance_cache=true"]
    assert command("copy", store, "memory://copied.zarr", *options).code == 0
    assert command("copy", "memory://copied.zarr", tmp_path / "back.zarr", *options).code == 0
    assert zarrcore.open_array(tmp_path / "back.zarr", path="counts", mode="r")[0, 0] == 1
    assert "LocalStore takes none" in command("copy", store, tmp_path / "local.zarr", *options).err


def test_what_is_in_the_way_is_said_to_be_replaced_by_an_option(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    command("copy", store, tmp_path / "new.zarr")
    failed = command("copy", store, tmp_path / "new.zarr").err
    assert "--overwrite replaces what is there" in failed and "if_exists" not in failed
    picture = ["plot", store / "counts", "-O", tmp_path / "a.png"]
    assert command(*picture).code == 0
    assert command(*picture).err.rstrip().endswith("--overwrite replaces it")


def test_a_group_of_another_format_is_not_said_to_be_replaced(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    """The hint was overwrite=True, and --overwrite failed with it again."""
    zarrcore.create_group(tmp_path / "old.zarr", zarr_format=2)
    for options in ([], ["--overwrite"]):
        failed = command("copy", store, tmp_path / "old.zarr", *options)
        assert failed.code == 1 and failed.err.endswith("of format 2: --zarr-format 2 copies into it\n")
    assert command("copy", store, tmp_path / "old.zarr", "--zarr-format", "2").code == 0


def test_no_error_names_an_argument_of_python(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    (store / "region/zarr.json").write_text("{")
    failed = command("copy", store, tmp_path / "copy.zarr")
    assert failed.code == 1 and "; --skip-unreadable leaves it out" in failed.err
    assert describe(ValueError("overwrite=True replaces it")) == "--overwrite replaces it"


def test_where_nothing_is_there_is_nothing_to_repair(command: Callable[..., Result], tmp_path: Path) -> None:
    failed = command("repair", tmp_path / "nothing.zarr")
    assert failed.code == 1 and "there is no Zarr array or group" in failed.err


def test_repair_does_not_hide_what_it_cannot_mend(command: Callable[..., Result], store: Path) -> None:
    """It said that there was nothing to repair, with exit code 0."""
    (store / "region" / "depth" / "zarr.json").write_text('{"zarr_format": 3,')
    failed = command("repair", store)
    assert failed.code == 1 and failed.out == ""
    assert failed.err == "zarrcore: nothing can be mended, 1 error left: see zarrcore verify\n"
    failed = command("repair", store, "--json")
    assert failed.code == 1 and failed.json == []


def test_repair_says_what_it_takes_to_mend_and_what_was_not_mended(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    """It named --apply, which then changed nothing, with exit code 0."""
    chunk = store / "region/depth/c/0/0"
    chunk.write_bytes(b"damaged")
    shown = command("repair", store)
    assert shown.code == 0 and shown.out.endswith("nothing was changed: --quarantine DIR --apply does it\n")
    failed = command("repair", store, "--apply")
    assert failed.code == 1 and "depth/c/0/0: damaged; --quarantine DIR moves it aside" in failed.out
    assert failed.err == "zarrcore: 1 error was not mended: see zarrcore verify\n" and chunk.exists()
    (store / "counts/zarr.json").write_text("{")
    failed = command("repair", store, "--apply", "--quarantine", tmp_path / "aside")
    assert failed.code == 1 and "moved aside" in failed.out and not chunk.exists()
    assert failed.err == "zarrcore: 1 error was not mended: see zarrcore verify\n"


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="for root nothing is closed")
def test_repair_does_not_call_damaged_what_it_may_not_read(
    command: Callable[..., Result], store: Path
) -> None:
    chunk = store / "region/depth/c/0/0"
    chunk.chmod(0)
    shown = command("repair", store).out
    assert "Permission denied" in shown and "damaged" not in shown


def test_an_archive_cannot_be_resumed_and_the_error_says_what_to_do(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy.zip"
    with zarrcore.storage.ZipStore(target, mode="w") as archive:
        archive.set("counts/c/0/0", b"of a copy that was broken off")
    failed = command("copy", store, target, "--resume")
    assert failed.code == 1 and "remove the archive, or copy into another one" in failed.err


def test_copy_into_another_layout(command: Callable[..., Result], store: Path, tmp_path: Path) -> None:
    options = [
        "--chunks",
        "8,8",
        "--shards",
        "16,16",
        "--codec",
        '{"name": "gzip", "configuration": {"level": 5}}',
    ]
    assert command("copy", store / "counts", tmp_path / "new.zarr", *options).code == 0
    new = zarrcore.open_array(tmp_path / "new.zarr", mode="r")
    assert (new.chunks, new.shards) == ((8, 8), (16, 16)) and "gzip" in json.dumps(new.metadata.to_dict())
    np.testing.assert_array_equal(new[...], np.arange(1, 257).reshape(16, 16))
    assert command("copy", store, tmp_path / "two.zarr", "--zarr-format", 2, "--shards", "null").code == 2
    failed = command("copy", store / "counts", tmp_path / "new.zarr")
    assert failed.code == 1 and "exists" in failed.err


def test_a_layout_that_does_not_fit_leaves_nothing_at_the_target(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    """There was an empty group."""
    for name in ("copy.zarr", "copy.zip"):
        failed = command("copy", store, tmp_path / name, "--chunks", "4")
        assert failed.code == 1
        assert failed.err.endswith("nothing has been written; --skip-unreadable leaves it out\n")
        assert not (tmp_path / name).exists()
    assert command("copy", store, tmp_path / "copy.zarr", "--codec", "null").code == 0


def test_copy_goes_on_where_it_ended(command: Callable[..., Result], store: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.zarr"
    command("copy", store / "counts", target / "counts")
    assert command("copy", store, target).code == 1
    assert command("copy", store, target, "--resume", "--json").json["left_out"] == 1
    assert command("copy", store, target, "--resume").out.startswith("1 copied, 2 left out, 0 B")
    assert command("copy", store, target, "--overwrite").out.startswith("3 copied")
    assert command("copy", store, target, "--overwrite", "--resume").code == 2


def test_the_copy_of_one_array_goes_on_where_it_ended(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    """`--resume` was for groups."""
    source, target = store / "counts", tmp_path / "one.zarr"
    shown = command("copy", source, target, "--dry-run", "--resume")
    assert shown.code == 0 and shown.out.startswith("copy / (") and not target.exists()
    assert command("copy", source, target, "--resume").out.startswith("1 copied, 0 left out")
    before = {path: path.stat().st_mtime_ns for path in target.rglob("*")}
    assert command("copy", source, target, "--resume").out.startswith("0 copied, 1 left out, 0 B")
    assert before == {path: path.stat().st_mtime_ns for path in target.rglob("*")}
    failed = command("copy", source, target)
    assert failed.code == 1 and "--resume goes on after a break" in failed.err
    next(path for path in (target / "c").rglob("*") if path.is_file()).unlink()
    assert command("copy", source, target, "--resume", "-v").out.startswith("copy / (")
    np.testing.assert_array_equal(zarrcore.open_array(target)[...], zarrcore.open_array(source)[...])
    assert command("copy", source, target, "--overwrite").out.startswith("1 copied")
    assert command("copy", source, target, "--skip-unreadable").code == 2
    failed = command("copy", source, source, "--overwrite")
    assert failed.code == 1 and "lies in the other" in failed.err
    np.testing.assert_array_equal(zarrcore.open_array(target)[...], zarrcore.open_array(source)[...])


@pytest.mark.parametrize("options", [(), ("--resume",), ("--overwrite",), ("--dry-run",)])
def test_an_array_does_not_replace_a_store(
    command: Callable[..., Result], store: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """With `--resume`, too, all arrays of the target were removed for the one that was to come into it."""
    target = tmp_path / "other.zarr"
    zarrcore.create_group(target).create_array("kept", data=np.arange(3))
    failed = command("copy", store / "region/depth", target, *options)
    assert failed.code == 1 and not failed.out
    assert f"{target} is a group: name the array in it, such as {target}/depth\n" in failed.err
    assert zarrcore.open_array(target, path="kept")[...].tolist() == [0, 1, 2]
    assert command("copy", store / "region/depth", f"{target}/depth", *options).code == 0


def test_an_array_is_copied_into_an_archive_by_its_name(
    command: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    target = tmp_path / "other.zip"
    zarrcore.save(target, kept=np.arange(3))
    failed = command("copy", f"{store}::counts", target, "--overwrite")
    assert failed.code == 1 and f"such as {target}::counts\n" in failed.err
    assert command("copy", f"{store}::counts", f"{target}::counts").code == 0
    assert command("ls", target).out == "counts\nkept\n"


@pytest.mark.skipif(os.name == "nt", reason="there are no such locks")
@pytest.mark.parametrize("what", ["", "counts"])
def test_two_copies_to_one_place_do_not_mix_their_chunks(store: Path, tmp_path: Path, what: str) -> None:
    """With other layouts, chunks of the one were read as those of the other."""
    target = tmp_path / "copy.zarr"
    zarrcore.create_array(store / "counts", data=np.arange(1 << 17), chunks=64, overwrite=True)
    layouts = [["--codec", "null"], ["--codec", "zstd"], ["--codec", "null"]]
    for option in ("--resume", "--overwrite"):
        copies = [
            subprocess.Popen(
                [sys.executable, "-m", "zarrcore", "copy", str(store / what), str(target), option, *layout],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for layout in layouts
        ]
        told = [one.communicate()[1] for one in copies]
        assert 0 in [one.returncode for one in copies], told
        for one, said in zip(copies, told, strict=True):
            assert one.returncode == 0 or "another copy to this place is under way" in said
        copied = zarrcore.open_array(target / "counts" if not what else target)
        np.testing.assert_array_equal(copied[...], np.arange(1 << 17))
        assert zarrcore.verify(target).ok


@pytest.mark.skipif(os.name == "nt", reason="there are no such locks")
@pytest.mark.filterwarnings("always:.*keeps away")
def test_a_copy_whose_lock_could_not_be_had_went_without(
    command: Callable[..., Result], store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its file cannot be opened that is an error, and without a place for the file a warning."""
    from zarrcore.cli import alone

    target = tmp_path / "copy.zarr"
    monkeypatch.setattr(alone, "_path", lambda scope: str(tmp_path))  # no file
    failed = command("copy", store, target)
    assert failed.code == 1 and str(tmp_path) in failed.err and not target.exists()
    monkeypatch.setattr(alone, "_path", lambda scope: None)
    copied = command("copy", store, target)
    assert copied.code == 0 and "warning" in copied.err and "keeps away" in copied.err


def test_a_dry_run_writes_nothing(command: Callable[..., Result], store: Path, tmp_path: Path) -> None:
    shown = command("copy", store, tmp_path / "copy.zarr", "--dry-run")
    assert "copy /region/depth" in shown.out and not (tmp_path / "copy.zarr").exists()
    command("copy", store, tmp_path / "copy.zarr")
    assert command("copy", store, tmp_path / "copy.zarr", "--dry-run").code == 1


def test_a_group_is_not_copied_into_itself(command: Callable[..., Result], store: Path) -> None:
    failed = command("copy", store, store / "region/again")
    assert failed.code == 1 and "lies in the other" in failed.err
    assert not (store / "region/again").exists()


def test_verify_and_repair(command: Callable[..., Result], store: Path, tmp_path: Path) -> None:
    assert command("verify", store).code == 0
    chunk = store / "region/depth/c/0/0"
    chunk.write_bytes(chunk.read_bytes()[:9])
    found = command("verify", store)
    assert found.code == 1 and "error " in found.out and "region/depth/c/0/0" in found.out
    assert command("verify", store, "--json").json["findings"][0]["key"] == "region/depth/c/0/0"
    assert command("verify", store, "--level", "metadata").code == 0
    aside = tmp_path / "aside"
    assert "--apply does it" in command("repair", store, "--quarantine", aside).out and chunk.exists()
    assert command("repair", store, "--quarantine", aside, "--apply", "--json").json[0]["done"]
    assert not chunk.exists() and command("verify", store).code == 0
    assert command("repair", store).out == "nothing to repair\n"


def test_compact(command: Callable[..., Result], store: Path) -> None:
    array = zarrcore.open_array(store / "counts", mode="r+")
    assert command("compact", store).out == "/counts: 0 of 4 shards rewritten, 0 B saved\n"
    shard = store / "counts/c/0/0"
    data = shard.read_bytes()  # four inner chunks of 32 bytes, then the index with its checksum
    entries = np.frombuffer(data[128:192], "<u8").reshape(4, 2) + np.array([100, 0], "<u8")
    index = entries.tobytes()
    shard.write_bytes(bytes(100) + data[:128] + index + struct.pack("<I", crc32c(index)))
    assert command("stat", store / "counts", "--json").json["unused"] == 100
    assert command("compact", store).out == "/counts: 1 of 4 shards rewritten, 100 B saved\n"
    assert array[...].tolist() == np.arange(1, 257).reshape(16, 16).tolist()
    assert command("compact", store, "--json").json["counts"]["rewritten"] == 0
    assert command("compact", store / "region").out == "there are no shards\n"


def test_compact_of_what_has_no_chunk_shape(command: Callable[..., Result], tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path / "a", shape=6, chunks=[[2, 1, 3]], dtype="i1")[:] = 1
    assert command("compact", tmp_path / "a").out == "there are no shards\n"


def test_consolidate(command: Callable[..., Result], store: Path) -> None:
    assert command("consolidate", store, "--check").code == 1
    assert command("consolidate", store).code == 0
    assert command("consolidate", store, "--check").code == 0
    (store / "region" / "zarr.json").write_text(
        '{"zarr_format": 3, "node_type": "group", "attributes": {"new": 1}}'
    )
    differing = command("consolidate", store, "--check")
    assert differing.code == 1 and "region" in differing.out
    assert command("consolidate", store, "--check", "--json").json[0]["path"] == "region"


def test_a_dry_run_of_migrate_fails_where_migrate_would(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    dtype = zarrcore.dtype.PythonObject(object_codec_id="json2")
    zarrcore.create_array(tmp_path / "old", shape=4, dtype=dtype, zarr_format=2)
    shown = command("migrate", tmp_path / "old", "--dry-run")
    assert shown.code == 1 and "refused: dtype: Python objects" in shown.out and not shown.err
    assert command("migrate", tmp_path / "old", "-n", "--json").code == 1


def test_a_place_that_is_empty_is_not_this_directory(
    command: Callable[..., Result], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of a shell that is not set made `repair` and `migrate` work on the current directory."""
    monkeypatch.chdir(store)
    for arguments in ("tree|", "migrate|", "copy||x", "copy|.|", "attrs|set||a|1"):
        failed = command(*arguments.split("|"))
        assert failed.code == 2 and "it is empty; a dot is the directory that you are in" in failed.err
    assert command("tree", ".").code == 0


@pytest.mark.parametrize(
    "arguments", [["cat", "data.zarr/counts", "-1, :2"], ["attrs", "set", "data.zarr", "least", "-5"]]
)
def test_what_begins_with_a_minus_comes_after_two(
    command: Callable[..., Result], store: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    failed = command(*arguments)
    assert failed.code == 2 and "What begins with a minus and is no option comes after --." in failed.err
    assert command(*arguments[:-1], "--", arguments[-1]).code == 0
    assert "after --." not in command(*arguments[:-1], "--nothing").err


def test_migrate(command: Callable[..., Result], tmp_path: Path) -> None:
    old = zarrcore.create_array(tmp_path / "old", shape=6, chunks=2, dtype="i4", zarr_format=2)
    old[:] = np.arange(6)
    assert "format 2" in command("migrate", tmp_path / "old", "--dry-run").out
    assert command("migrate", tmp_path / "old", "-n", "--json").json["nodes"][0]["zarr_format"] == 2
    assert not (tmp_path / "old/zarr.json").exists()
    assert command("migrate", tmp_path / "old", "--remove-old").code == 0
    new = zarrcore.open_array(tmp_path / "old", mode="r")
    assert new.metadata.zarr_format == 3 and new[:].tolist() == [*range(6)]


def test_explain(command: Callable[..., Result], store: Path) -> None:
    found = command("explain", store / "counts", "0, 0", "--json").json
    assert found["kept"] == 2 and found["decoded"] == 32 and found["requests"] == 2
    assert command("explain", store / "counts", "0, 0").out.startswith("Result   : (), 2 bytes\n")


def test_version(command: Callable[..., Result]) -> None:
    assert command("--version").out == f"zarrcore {zarrcore.__version__}\n"
    assert command("version", "--json").json["version"] == zarrcore.__version__
    assert "numpy: " in command("version").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(command: Callable[..., Result], shell: str) -> None:
    assert "_ZARRCORE_COMPLETE" in command("completion", shell).out


def test_failures_are_one_line(command: Callable[..., Result], store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("nothing of Zarr")
    for place in (tmp_path / "nowhere", tmp_path / "file", tmp_path, "s3//typo", "gopher://host/x"):
        for name in ("tree", "info", "ls", "cat", "stat", "explain", "compact", "copy"):
            failed = command(name, place, *([tmp_path / "target"] if name == "copy" else []))
            assert failed.code in (1, 2) and failed.out == "", (name, place)
            assert failed.err.startswith("zarrcore: ") and failed.err.count("\n") == 1, failed.err
    assert not (tmp_path / "nowhere").exists() and not (tmp_path / "target").exists()
    assert (tmp_path / "file").read_text() == "nothing of Zarr"


def test_a_group_in_the_place_of_an_array(command: Callable[..., Result], store: Path) -> None:
    failed = command("cat", store)
    assert failed.code == 1 and "its arrays are counts" in failed.err


def test_debug_shows_the_error(store: Path) -> None:
    with pytest.raises(zarrcore.errors.NodeNotFoundError):
        run(["--debug", "info", str(store / "nowhere")])


def test_an_unknown_command_suggests_one(command: Callable[..., Result]) -> None:
    failed = command("vrify", "x")
    assert failed.code == 2 and "Did you mean 'verify'?" in failed.err


def test_warnings_are_one_line(command: Callable[..., Result], tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path / "a", shape=4, chunks=4, dtype="i1", compressors=None)
    array[:] = 1
    document = json.loads((tmp_path / "a/zarr.json").read_text())
    (tmp_path / "a/zarr.json").write_text(json.dumps({**document, "fill_value": None}))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        shown = command("cat", tmp_path / "a")
    assert shown.out == "[1 1 1 1]\n" and shown.err.count("\n") == 1
    assert shown.err.startswith("zarrcore: warning: ") and "fill_value" in shown.err


def test_a_long_error_is_cut_before_its_hints(command: Callable[..., Result], store: Path) -> None:
    """The line had all that a store had said: of many attributes, or of a page of a server, a megabyte."""
    group = zarrcore.open_group(store)
    group.attrs.update({f"number {k}": k for k in range(10_000)})
    failed = command("attrs", "get", store, "units")
    assert failed.code == 1 and len(failed.err) < 1100 and "characters)\n" in failed.err
    error = ValueError("x" * 100_000 + " http://me:secret@host")
    error.add_note("try another one")
    shown = describe(error)
    assert len(shown) < 1100 and shown.endswith("... (100,016 characters); try another one")


def test_credentials_are_masked(command: Callable[..., Result]) -> None:
    failed = command("info", "gopher://me:secret@host/x")
    assert failed.code == 1 and "secret" not in failed.err


def test_a_closed_pipe_is_no_traceback(store: Path) -> None:
    program = f"{sys.executable} -m zarrcore cat {store / 'region/depth'} -f json | head -n 1"
    done = subprocess.run(program, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "[\n" and "Traceback" not in done.stderr


def test_a_closed_output_is_no_traceback(store: Path) -> None:
    line = f'"{sys.executable}" -m zarrcore tree "{store}" >&-'
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "zarrcore: there is no standard output\n")


def test_a_terminal_without_box_drawing(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zarrcore", "tree", str(store)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        check=True,
    )
    assert b"`-- region" in done.stdout


def test_places() -> None:
    assert split_place("data.zip::a/b") == ("data.zip", "a/b")
    assert split_place("s3://bucket/data.zip::a") == ("s3://bucket/data.zip", "a")
    assert split_place("zip::https://host/data.zip") == ("zip::https://host/data.zip", "")
    assert split_place("./zip::a") == ("./zip", "a")
    assert split_place("data.zarr/a") == ("data.zarr/a", "")


@pytest.mark.parametrize(
    "url", ["http://[::1]:8000/x.zarr", "https://user@[fe80::1]/x.zip", "zip::http://[::1]/x.zip"]
)
def test_the_colons_of_an_address_of_ipv6_are_none_of_a_place(url: str) -> None:
    """The store was "http://[", and the path "1]:8000/x.zarr"."""
    assert split_place(url) == (url, "")
    assert split_place(f"{url}::a/b") == (url, "a/b")
    assert split_place("data[1.zip::a]") == ("data[1.zip", "a]")


def test_selections() -> None:
    assert selection_of("...") == (...,)
    assert selection_of("") is ...
    assert selection_of("[0, 1:, :-2, ::3, ...]") == (
        0,
        slice(1, None),
        slice(None, -2),
        slice(None, None, 3),
        ...,
    )


def test_storage_options(command: Callable[..., Result], store: Path) -> None:
    failed = command("info", store, "-o", "anon")
    assert failed.code == 2 and "expected KEY=VALUE" in failed.err


def test_values_that_are_too_many_are_not_read(command: Callable[..., Result], tmp_path: Path) -> None:
    """A document of a few hundred bytes made the command take all memory."""
    zarrcore.create_array(tmp_path / "huge", shape=(10**6, 10**6), chunks=(1000, 1000), dtype="i1")
    for form in ("text", "json", "csv"):
        found = command("cat", tmp_path / "huge", "-f", form)
        assert (found.code, found.out) == (1, "")
        assert "these are 931.3 GiB of values: select fewer" in found.err
    assert command("cat", tmp_path / "huge", "0, :3").out == "[0 0 0]\n"


@pytest.mark.filterwarnings("default::zarrcore.errors.ZarrUserWarning")
def test_copies_leave_out_members_that_cannot_be_opened(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    group = zarrcore.create_group(tmp_path / "s")
    group["a"] = np.arange(3)
    for name in ("b", "c"):
        (tmp_path / "s" / name).mkdir()
    (tmp_path / "s" / "b" / "zarr.json").write_text('{"zarr_format": 3')
    (tmp_path / "s" / "c" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "other"}')
    assert command("copy", tmp_path / "s", tmp_path / "t").code == 1
    assert not list((tmp_path / "t").glob("*/*"))
    found = command("copy", tmp_path / "s", tmp_path / "t", "--skip-unreadable", "--overwrite")
    assert found.code == 0
    assert "1 copied, 2 left out" in found.out
    assert "not copied: /b:" in found.err and "/c:" in found.err
    assert zarrcore.load(tmp_path / "t")["a"].tolist() == [0, 1, 2]


def test_a_deep_chain_of_groups_is_drawn(command: Callable[..., Result], tmp_path: Path) -> None:
    """Each line took as many copies of its path as the path has names."""
    depth, name = 300, "n" * 200
    with zarrcore.storage.ZipStore(tmp_path / "deep.zip", mode="w") as store:
        for level in range(depth):
            store.set("/".join([name] * level + ["zarr.json"]), b'{"zarr_format": 3, "node_type": "group"}')
    found = command("tree", tmp_path / "deep.zip")
    assert found.code == 0
    assert len(found.out.splitlines()) == depth
    assert found.out.splitlines()[-1] == "    " * (depth - 2) + "└── " + name


def test_a_store_is_shown_by_the_name_that_users_know() -> None:
    """Web servers were shown as a class that nobody can import."""
    from zarrcore.info import store_type

    class _Ours(zarrcore.storage.MemoryStore):
        pass

    group = zarrcore.create_group(_Ours())
    array = group.create_array("a", shape=3, dtype="i1")
    assert store_type(group.store) == group.info["Store type"] == array.info["Store type"] == "MemoryStore"
    assert "_Ours" not in group._repr_html_() + array._repr_html_()
