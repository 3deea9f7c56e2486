"""Keys, prefixes, paths and byte ranges: examples, and properties against the plainest definition."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore.errors import InvalidKeyError
from zarrcore.storage import (
    LocalStore,
    MemoryStore,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    normalize_path,
    resolve_range,
    validate_key,
    validate_prefix,
)
from zarrcore.storage.validation import windows_problem
from zarrcore.testing.store import BAD_KEYS, GOOD_KEYS

# Text that is rich in what keys must not hold.
tricky = st.lists(
    st.sampled_from(["/", ".", "..", "a", "b", "\0", "\\", "~", "ü", " ", "c.0"]), max_size=8
).map("".join)


def is_key(text):
    """The definition, word for word."""
    return "\0" not in text and all(part not in ("", ".", "..") for part in text.split("/"))


@settings(deadline=None)
@given(tricky | st.text(max_size=20))
def test_validate_key_is_the_definition(text):
    if is_key(text):
        assert validate_key(text) is text
        assert validate_prefix(text) == validate_prefix(text + "/") == text + "/"
    else:
        with pytest.raises(InvalidKeyError) as caught:
            validate_key(text)
        assert repr(text) in str(caught.value)


@settings(deadline=None)
@given(tricky)
def test_normalised_paths_are_keys_or_the_root(text):
    try:
        path = normalize_path(text)
    except InvalidKeyError:
        parts = text.replace("\\", "/").split("/")
        assert "." in parts or ".." in parts or "\0" in text
    else:
        assert path == "" or is_key(path)
        assert normalize_path(path) == path


@settings(max_examples=200, deadline=None)
@given(key=tricky)
def test_no_key_leaves_the_root(key, tmp_path_factory):
    outside = tmp_path_factory.getbasetemp()
    root = outside / "root"
    before = {path.name for path in outside.iterdir()} | {"root"}
    store = LocalStore(root)
    try:
        store.set(key, b"value")
    except InvalidKeyError:
        assert not is_key(key)
    except OSError:
        assert not is_key(key) or any(os.path.lexists(root / part) for part in parents(key))
    else:
        assert os.path.realpath(root / key).startswith(os.path.realpath(root) + os.sep)
        assert store.get(key) == b"value"
        store.clear()
    assert {path.name for path in outside.iterdir()} <= before


def parents(key):
    parts = key.split("/")
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(["a", "a/b", "a/b/c", "ab/c", "b/a", "zarr.json"]), st.binary(max_size=4))
)
def test_listings_agree(values):
    store = MemoryStore(values)
    assert set(store.list()) == set(values)
    for prefix in ("", "a/", "a/b/", "ab/", "x/"):
        below = {key for key in values if key.startswith(prefix)}
        assert set(store.list_prefix(prefix)) == below
        assert sorted(store.list_dir(prefix)) == sorted({key[len(prefix) :].split("/")[0] for key in below})


@pytest.mark.parametrize("key", BAD_KEYS)
def test_bad_keys(key):
    with pytest.raises(InvalidKeyError, match="invalid store key"):
        validate_key(key)


def test_every_short_key_is_judged_by_its_components():
    """An expression that finds plain keys soon took "a/" for one, in CPython before 3.11.5."""
    for length in range(1, 7):
        for key in map("".join, itertools.product("a./\0", repeat=length)):
            parts = key.split("/")
            if any(part in ("", ".", "..") or "\0" in part for part in parts):
                with pytest.raises(InvalidKeyError, match="invalid store key"):
                    validate_key(key)
            else:
                assert validate_key(key) == key
                assert normalize_path(key) == key


@pytest.mark.parametrize("key", [None, 3, b"bytes"])
def test_a_key_is_a_string(key):
    with pytest.raises(TypeError, match="string"):
        validate_key(key)
    with pytest.raises(TypeError, match="string"):
        validate_prefix(key)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "empty"),
        ("a\0", "NUL"),
        ("/a", "begins"),
        ("a/", "ends"),
        ("a//b", "empty component"),
        ("a/../b", r"'\.\.'"),
        ("./a", r"'\.'"),
    ],
)
def test_the_reason_is_told(key, reason):
    with pytest.raises(InvalidKeyError, match=reason):
        validate_key(key)


@pytest.mark.parametrize("prefix", ["", "/"])
def test_the_root_prefix(prefix):
    assert validate_prefix(prefix) == ""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (None, ""),
        ("", ""),
        ("/", ""),
        ("/a//b/", "a/b"),
        ("a\\b", "a/b"),
        (b"a/b", "a/b"),
        ("..a/b..", "..a/b.."),
    ],
)
def test_normalize_path(path, expected):
    assert normalize_path(path) == expected


@pytest.mark.parametrize("path", ["..", "a/../b", "..\\a", "a/.", "a\0"])
def test_bad_paths(path):
    with pytest.raises(InvalidKeyError, match="invalid path"):
        normalize_path(path)


def test_a_path_is_text():
    with pytest.raises(TypeError, match="int"):
        normalize_path(3)


@pytest.mark.parametrize("key", ["a\\b", "C:/a", "a/con", "NUL.txt", "a/b.", "a /b", "a*", "com1", "a\x01b"])
def test_windows_refuses(key):
    assert windows_problem(key) is not None


@pytest.mark.parametrize(
    "key", [key for key in GOOD_KEYS if not key.startswith("...")] + ["console", "com10", "c/0"]
)
def test_windows_allows(key):
    assert windows_problem(key) is None


# --- byte ranges ---

counts = st.integers(0, 40) | st.integers(0, 2**70)


@settings(deadline=None)
@given(st.integers(0, 30), counts, counts)
def test_ranges_are_slices(size, first, second):
    data = bytes(range(size))
    low, high = sorted((first, second))
    for byte_range, expected in [
        (None, data),
        (RangeByteRequest(low, high), data[low:high]),
        (OffsetByteRequest(low), data[low:]),
        (SuffixByteRequest(low), data[max(0, size - low) :]),
        ((low, None), data[low:]),
        ((low, high), data[low : low + high]),
    ]:
        start, stop = resolve_range(byte_range, size)
        assert 0 <= start <= stop <= size
        assert data[start:stop] == expected


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: RangeByteRequest(-1, 2), ValueError),
        (lambda: RangeByteRequest(3, 2), ValueError),
        (lambda: RangeByteRequest(0, 2.0), TypeError),
        (lambda: OffsetByteRequest(-1), ValueError),
        (lambda: SuffixByteRequest(None), TypeError),
        (lambda: resolve_range((0, -1), 5), ValueError),
        (lambda: resolve_range("bytes=0-1", 5), TypeError),
    ],
)
def test_bad_ranges(make, error):
    with pytest.raises(error, match="byte range"):
        make()
