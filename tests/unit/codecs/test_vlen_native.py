"""The compiled vlen decoder and encoder against a few lines of Python and against numcodecs."""

from __future__ import annotations

import struct
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore._core import vlen
from zarrcore.codecs import ArraySpec, VLenBytesCodec, VLenUTF8Codec
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError

STRINGS = np.dtypes.StringDType()
OBJECTS = np.dtype(object)
ITEMS = ArraySpec((), None)  # which the codecs do not look at when they encode, or decode into an array


def encode_strings(items: np.ndarray) -> bytes:
    return VLenUTF8Codec().encode(items, ITEMS)


def encode_binary(items: np.ndarray) -> bytes:
    return VLenBytesCodec().encode(items, ITEMS)


def decode_strings(data, count: int, dtype: np.dtype) -> np.ndarray:
    return vlen.decode(data, count, dtype, "vlen-utf8", utf8=True)


def decode_binary(data, count: int) -> np.ndarray:
    return vlen.decode(data, count, OBJECTS, "vlen-bytes", utf8=False)


def decode_strings_into(data: bytes, out: np.ndarray) -> bool:
    return VLenUTF8Codec().decode_into(data, ITEMS, out)


def decode_binary_into(data: bytes, out: np.ndarray) -> bool:
    return VLenBytesCodec().decode_into(data, ITEMS, out)


def packed(items: list[bytes], count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<I", len(item)) + item for item in items)
    return struct.pack("<I", len(items) if count is None else count) + body


def unpacked(data: bytes, count: int) -> list[bytes] | None:
    """The items of a sound value, None for every other."""
    items, at = [], 4
    if len(data) < 4 or struct.unpack_from("<I", data)[0] != count:
        return None
    for _ in range(count):
        if at + 4 > len(data):
            return None
        (length,) = struct.unpack_from("<I", data, at)
        if at + 4 + length > len(data):
            return None
        items.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return items if at == len(data) else None


def as_text(items: list[bytes] | None) -> list[str] | None:
    try:
        return None if items is None else [item.decode() for item in items]
    except UnicodeDecodeError:
        return None


def outcome(call, *args) -> list | None:
    try:
        return call(*args).tolist()
    except ChunkDecodeError:
        return None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=40), max_size=30))
def test_strings_come_back(texts: list[str]) -> None:
    expected = packed([text.encode() for text in texts])
    for dtype in (STRINGS, OBJECTS):
        items = np.array(texts, dtype)
        assert encode_strings(items) == expected
        found = decode_strings(expected, len(texts), dtype)
        assert found.dtype == dtype
        assert found.tolist() == texts


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=30))
def test_bytes_come_back_as_with_numcodecs(items: list[bytes]) -> None:
    numcodecs = pytest.importorskip("numcodecs")
    array = np.empty(len(items), object)
    array[:] = items
    encoded = encode_binary(array)
    assert encoded == bytes(numcodecs.VLenBytes().encode(array))
    assert decode_binary(encoded, len(items)).tolist() == items


@settings(max_examples=400, deadline=None)
@given(st.lists(st.binary(max_size=12), max_size=8), st.data())
def test_damaged_values_are_refused_or_right(items: list[bytes], data: st.DataObject) -> None:
    value = bytearray(packed(items))
    for _ in range(data.draw(st.integers(0, 3))):
        value[data.draw(st.integers(0, len(value) - 1))] = data.draw(
            st.sampled_from([0, 1, 3, 127, 128, 255])
        )
    cut = bytes(value[: data.draw(st.integers(0, len(value)))]) if data.draw(st.booleans()) else bytes(value)
    expected = unpacked(cut, len(items))
    assert outcome(decode_binary, cut, len(items)) == expected
    for dtype in (STRINGS, OBJECTS):
        assert outcome(decode_strings, cut, len(items), dtype) == as_text(expected)


@pytest.mark.parametrize("dtype", [STRINGS, OBJECTS])
@pytest.mark.parametrize(
    ("data", "count", "reason"),
    [
        (b"\1\0", 1, "expected the number of items, got 2 bytes"),
        (packed([b"a"], 7), 1, "expected 1 items, the chunk states 7"),
        (struct.pack("<I", 2**31), 2**31, "cannot hold 2147483648 items"),
        (struct.pack("<III", 2, 4, 0) + b"\0", 2, "the chunk ends before item 1 of 2"),
        (packed([b"ab"])[:4] + struct.pack("<I", 2**32 - 1) + b"ab", 1, "item 0 has 4294967295 bytes at 8"),
        (packed([b"ok", b"ab\xffcd"]), 2, "item 1 is not UTF-8: byte 0xff at 2 of its 5 bytes"),
        (packed([b"\xed\xa0\x80"]), 1, "item 0 is not UTF-8: byte 0xed at 0"),
        (packed([b"a"]) + b"xyz", 1, "3 bytes follow the last item"),
    ],
)
def test_faults_are_named(data: bytes, count: int, reason: str, dtype: np.dtype) -> None:
    with pytest.raises(ChunkDecodeError, match=reason) as caught:
        decode_strings(data, count, dtype)
    assert caught.value.codec == "vlen-utf8"


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (["a", 7], "item 1: expected a string, got int 7"),
        (["a", "b", b"c"], "item 2: expected a string, got bytes"),
        (["\ud800"], "item 0: .*surrogates"),
    ],
)
def test_items_without_an_encoding(items: list, reason: str) -> None:
    array = np.empty(len(items), object)
    array[:] = items
    with pytest.raises(ChunkEncodeError, match=reason):
        encode_strings(array)


def test_long_columns_with_and_without_repetition() -> None:
    numcodecs = pytest.importorskip("numcodecs")
    rng = np.random.default_rng(5)
    few = [chr(97 + i % 26) * (i % 40) + "éß"[i % 3 :] + "漢🎉"[i % 5 :] for i in range(300)]
    different = [f"{i} of many, {i * i}" + "é" * (i % 2) for i in range(40_000)]
    repeated = [few[i] for i in rng.integers(0, 300, 40_000)]
    for texts in (repeated, different, different[:20_000] + repeated, repeated + different):
        items = np.array(texts, OBJECTS)
        encoded = encode_strings(items)
        assert encoded == bytes(numcodecs.VLenUTF8().encode(items))
        assert decode_strings(encoded, items.size, OBJECTS).tolist() == texts
        raw = [text.encode() for text in texts]
        binary = np.empty(len(raw), object)
        binary[:] = raw
        assert encode_binary(binary) == encoded
        assert decode_binary(encoded, items.size).tolist() == raw


def test_strings_are_in_their_canonical_form() -> None:
    texts = [
        "",
        "a",
        "é",
        "ÿ",
        "Ā",
        "ab" * 20,
        "aÿ" * 9,
        "a漢" * 9,
        "a🎉" * 9,
        "\x7f\x80",
        "\uffff\U00010000",
    ]
    raw = [text.encode() for text in texts]
    found = decode_strings(packed(raw), len(texts), OBJECTS).tolist()
    assert [sys.getsizeof(item) for item in found] == [sys.getsizeof(item.decode()) for item in raw]
    assert [hash(item) for item in found] == [hash(text) for text in texts]
    assert found == texts and "".join(found) == "".join(texts)


def test_an_item_that_does_not_decode_among_many() -> None:
    raw = [b"some text %d" % (i % 50) for i in range(5000)]
    raw[4321] = b"abc\xc3"
    with pytest.raises(ChunkDecodeError, match="item 4321 is not UTF-8: byte 0xc3 at 3 of its 4 bytes"):
        decode_strings(packed(raw), len(raw), OBJECTS)


def test_items_never_set() -> None:
    assert encode_strings(np.array([None, 0, "x"], object)) == packed([b"", b"", b"x"])
    assert encode_binary(np.array([None, 0, bytearray(b"x")], object)) == packed([b"", b"", b"x"])
    missing = np.array(["a", None], np.dtypes.StringDType(na_object=None))
    assert encode_strings(missing) == packed([b"a", b""])
    with pytest.raises(ChunkEncodeError, match="item 0"):
        encode_strings(np.array([np.nan], np.dtypes.StringDType(na_object=np.nan)))


def test_other_memory() -> None:
    class Name(str):
        pass

    items = np.array(["a", "bc", "def", "é" * 40], STRINGS)
    assert encode_strings(items[::-2]) == packed([("é" * 40).encode(), b"bc"])
    assert encode_strings(np.array([Name("é")], object)) == packed(["é".encode()])
    assert encode_strings(np.array(["ab", "c"])) == packed([b"ab", b"c"])
    assert decode_strings(bytearray(packed([b"a"])), 1, STRINGS).tolist() == ["a"]
    assert decode_strings(np.frombuffer(packed([b"a"]), np.uint8), 1, OBJECTS).tolist() == ["a"]


def test_on_several_threads() -> None:
    texts = [f"text {i} " + "é" * (i % 30) for i in range(5000)]
    items = np.array(texts, STRINGS)
    wrong: list[int] = []

    def work(seed: int) -> None:
        for _ in range(10):
            data = encode_strings(items)
            if decode_strings(data, len(texts), STRINGS).tolist() != texts:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def places(dtype: np.dtype) -> list[np.ndarray]:
    """Arrays with 24 places of every kind of order, whose items belong to others before."""
    whole = np.empty((10, 4, 6), dtype)
    whole[...] = "old one, of more than 15 bytes"
    return [
        whole[0],
        whole[1].T,
        whole[2:8, ::-1, 3],
        whole[8:, 1:3, :].transpose(1, 2, 0),
        np.asfortranarray(whole[9]),
        whole.reshape(-1)[::-10],
    ]


@pytest.mark.parametrize("dtype", [STRINGS, OBJECTS])
def test_items_go_where_they_shall(dtype: np.dtype) -> None:
    texts = [f"{'é' * (i % 3)}text {i}" + "x" * i for i in range(24)]
    data = packed([text.encode() for text in texts])
    for out in places(dtype):
        untouched = out.base.copy() if out.base is not None else None
        assert decode_strings_into(data, out)
        assert out.ravel().tolist() == texts
        if untouched is not None:
            assert np.count_nonzero(out.base != untouched) <= 24


def test_bytes_go_where_they_shall() -> None:
    raw = [b"%d" % i * (i % 9) for i in range(24)]
    for out in places(OBJECTS):
        assert decode_binary_into(packed(raw), out)
        assert out.ravel().tolist() == raw


@pytest.mark.parametrize("dtype", [STRINGS, OBJECTS])
def test_one_place_and_none(dtype: np.dtype) -> None:
    one = np.empty((), dtype)
    assert decode_strings_into(packed([b"a"]), one)
    assert one[()] == "a"
    for shape in ((0,), (3, 0), (0, 3)):
        assert decode_strings_into(packed([]), np.empty(shape, dtype))
        with pytest.raises(ChunkDecodeError, match="1 bytes follow"):
            decode_strings_into(packed([]) + b"x", np.empty(shape, dtype))
    with pytest.raises(ChunkDecodeError, match="expected 4 items, the chunk states 5"):
        decode_strings_into(packed([b""] * 5), np.empty((2, 2), dtype))


def test_places_that_cannot_have_the_items() -> None:
    data = packed([b"a"])
    odd = np.zeros(1, [("x", "u1"), ("y", "O")])["y"]
    assert not odd.flags.aligned
    for out in (np.empty(1, "U4"), np.empty(1, "S4"), odd):
        assert not decode_strings_into(data, out)
        assert not decode_binary_into(data, out)
    assert not decode_binary_into(data, np.empty(1, STRINGS))
    assert odd[0] == 0


def test_each_item_is_counted_once() -> None:
    raw = [b"a text that is there %d times" % (i % 50) for i in range(5000)]
    data = packed(raw)
    out = decode_binary(data, len(raw))
    several = {id(item): item for item in out}
    assert len(several) == 50
    for item in several.values():
        held = sum(item is other for other in out)
        assert sys.getrefcount(item) == held + 3  # in the dictionary, by its name, as an argument
    old = object()
    before = sys.getrefcount(old)
    again = np.full(len(raw), old, object)
    assert decode_binary_into(data, again)
    assert sys.getrefcount(old) == before


def test_an_old_item_that_takes_new_ones_with_it() -> None:
    """What runs when an item of the caller's array goes may change that array."""

    class Vandal:
        def __del__(self) -> None:
            out[:1000] = None

    raw = [b"%d, which is repeated" % (i % 20) for i in range(3000)]
    out = np.empty(3000, object)
    out[1500] = Vandal()
    assert decode_binary_into(packed(raw), out)
    assert out[1000:].tolist() == raw[1000:]
    assert out[:1000].tolist() == [None] * 1000


def test_what_is_text() -> None:
    class Name(str):
        pass

    for texts in ([], ["a"], ["", "é", "漢" * 50, "🎉", "\0"], [["a", "b"], ["c", "d"]]):
        assert vlen.all_text(np.array(texts, object))
    for other in (None, 0, b"a", Name("a"), np.str_("a"), "\ud800", "a" * 40 + "\udfff", "🎉\udc00"):
        items = np.empty(30, object)
        items[:] = "text"
        items[29] = other
        assert not vlen.all_text(items)
    assert vlen.all_text(np.array(["\ud7ff\ue000", "\U0010ffff"], object))
    assert not vlen.all_text(np.array(["a", "b"], object)[::-1])  # the way through numpy takes any memory
    assert not vlen.all_text(np.array(["a"], STRINGS))
    fixed = np.array(["", "abc", "é\0", "🎉"])
    assert vlen.all_text(fixed)
    assert not vlen.all_text(fixed.astype(">U3"))
    assert not vlen.all_text(np.array(["a", "b\udc80"]))


def test_strings_of_fixed_length() -> None:
    texts = ["", "nul\0inside", "é漢🎉", "x" * 40, "\uffff\U0010ffff"]
    for items in (np.array(texts), np.array(texts).astype(">U40"), np.array([texts, texts])[:, ::-1]):
        expected = packed([text.encode() for text in items.ravel().tolist()])
        assert encode_strings(items) == expected
    assert encode_strings(np.zeros(3, "U0")) == packed([b""] * 3)
    with pytest.raises(ChunkEncodeError, match=r"item 1: U\+DC80 has no UTF-8"):
        encode_strings(np.array(["a", "b\udc80"]))


@pytest.mark.parametrize("point", [0xD800, 0x110000, 0x7FFFFFFF, 0xFFFFFFFF])
def test_code_points_that_are_none(point: int) -> None:
    texts = np.array([0x61, point], "u4").view("U1")
    assert not vlen.all_text(texts)
    with pytest.raises(ChunkEncodeError, match=rf"item 1: U\+{point:04X} has no UTF-8"):
        vlen.encode(texts, "c", bytes, utf8=True)


def test_bytes_do_not_become_references() -> None:
    value = packed([b"12345678"])
    for dtype in (OBJECTS, STRINGS, np.dtype([("a", "i4"), ("b", "O")])):
        with pytest.raises(TypeError, match="without references"):
            vlen.decode_arrays(value, 1, dtype, "c")
        with pytest.raises(TypeError, match="without references"):
            vlen.encode_arrays([np.empty(1, dtype)], dtype, "c", np.asarray)
