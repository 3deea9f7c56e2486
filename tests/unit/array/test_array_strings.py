"""Arrays of strings and bytes of any length: what is written is what is read, whichever way it takes."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError
from zarrcore.storage import MemoryStore

STRINGS = np.dtypes.StringDType()
WORDS = ["", "a", "é漢🎉", "nul\0inside", "word", "x" * 300]


def texts(*shape: int) -> np.ndarray:
    """Strings that are all different, in objects."""
    count = int(np.prod(shape))
    items = np.empty(count, object)
    items[:] = [f"{WORDS[i % 6]}{i}" for i in range(count)]
    return items.reshape(shape)


def create(shape, chunks, *, dtype="string", zarr_format=3, store=None, **options):
    return zarrcore.create_array(
        MemoryStore() if store is None else store,
        name="words",
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        zarr_format=zarr_format,
        **options,
    )


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("compressors", ["auto", None])
@pytest.mark.parametrize(
    ("shape", "chunks"),
    [((1000,), (90,)), ((13, 11), (4, 11)), ((13, 11), (4, 3)), ((6, 5, 4), (2, 5, 3)), ((), ())],
)
def test_strings_of_every_shape(shape, chunks, zarr_format, compressors) -> None:
    objects = texts(*shape)
    fixed = objects.astype(str)
    for values in (
        objects,
        objects.astype(STRINGS),
        np.asfortranarray(objects),
        objects.tolist(),
        fixed,
        fixed.astype(">U310"),
        np.asfortranarray(fixed),
    ):
        array = create(shape, chunks, zarr_format=zarr_format, compressors=compressors)
        array[...] = values
        found = array[...]
        if shape == ():
            assert found == objects[()]
            continue
        assert found.dtype == STRINGS
        assert found.tolist() == objects.tolist()
        every_other = tuple(slice(None, None, -2) for _ in shape)
        assert array[every_other].tolist() == objects[every_other].tolist()
        out = np.empty((*shape, 2), STRINGS)[..., 1]
        assert array.read(out=out, threads=3) is out
        assert out.tolist() == objects.tolist()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_objects_are_stored_as_strings_are(zarr_format) -> None:
    objects = texts(500)
    stored = []
    for values in (objects, objects.astype(STRINGS), objects.astype(str), objects.tolist()):
        given = np.asarray(values, object)
        store = MemoryStore()
        array = create((500,), (64,), zarr_format=zarr_format, store=store)
        array[...] = values
        array[3:400:7] = given[3:400:7]
        array.vindex[[5, 499]] = given[[5, 499]]
        stored.append({key: bytes(store.get(key)) for key in store.list()})
    assert stored[0] == stored[1] == stored[2] == stored[3]


@pytest.mark.parametrize("dtype", ["string", "bytes"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_chunks_on_several_threads(dtype, threads) -> None:
    values = texts(40_000)
    if dtype == "bytes":
        values[:] = [item.encode() * 5 for item in values]
    array = create((40_000,), (1000,), dtype=dtype)
    array.write(..., values, threads=threads)
    assert array.read(threads=threads).tolist() == values.tolist()
    assert array.nchunks_initialized == 40


def test_objects_in_shards() -> None:
    objects = texts(12, 10)
    for values in (objects, objects.astype(str)):
        array = create((12, 10), (3, 5), shards=(6, 10))
        array[...] = values
        assert array[...].tolist() == objects.tolist()
        assert array[4:8, ::3].tolist() == objects[4:8, ::3].tolist()


@pytest.mark.parametrize("shards", [None, ()])
@pytest.mark.parametrize(("dtype", "item"), [("string", "añ\0b"), ("bytes", b"\0a")])
def test_without_dimensions(dtype, item, shards) -> None:
    array = create((), (), dtype=dtype, shards=shards, fill_value=item * 2)
    assert (array[...], array[()]) == (item * 2, item * 2)
    assert isinstance(array[...], type(item))
    array[...] = item
    assert zarrcore.open_array(array.store, path="words")[()] == item
    array[()] = item * 2
    assert array.nchunks_initialized == 0


@pytest.mark.parametrize("shards", [None, (6,)])
def test_shorter_strings_are_not_taken_for_the_fill_value(shards) -> None:
    for values in (np.array(["no", "n"] * 3), np.array(["no", "n"] * 3, object)):
        array = create((6,), (2,), shards=shards, fill_value="none")
        array[...] = values
        assert array[...].tolist() == ["no", "n"] * 3
        array[...] = np.array(["none"] * 6)
        assert array.nchunks_initialized == 0


def test_strings_of_other_classes() -> None:
    class Name(str):
        pass

    array = create((3,), (2,))
    array[...] = np.array(["a", np.str_("é"), Name("b")], object)
    assert array[...].tolist() == ["a", "é", "b"]


def test_nothing_is_written_before_all_is_checked() -> None:
    objects = texts(1000)
    objects[999] = "half of a pair: \ud83d"
    array = create((1000,), (100,))
    for values in (objects, objects.tolist()):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            array[...] = values
    assert array.nchunks_initialized == 0


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_strings_have_no_value(missing) -> None:
    values = np.array(["a", "b", missing, "d"], np.dtypes.StringDType(na_object=missing))
    array = create((4,), (1,))
    with pytest.raises(ValueError, match="item 2 of the strings is missing"):
        array[...] = values
    with pytest.raises(ValueError, match="item 1 of the strings is missing"):
        array[::2] = values[::2]
    assert array.nchunks_initialized == 0
    array[:2] = values[:2]
    assert array[...].tolist() == ["a", "b", "", ""]
    named = np.array(["a", "NA"], np.dtypes.StringDType(na_object="NA"))
    array[:2] = named
    assert array[:2].tolist() == ["a", "NA"]


def test_objects_equal_to_the_fill_value_are_not_stored() -> None:
    array = create((6,), (2,), fill_value="none")
    array[...] = np.array(["none", "none", "none", "some", "", ""], object)
    assert array.nchunks_initialized == 2
    assert array[...].tolist() == ["none", "none", "none", "some", "", ""]
    array[...] = np.array(["none"] * 6, object)
    assert array.nchunks_initialized == 0


def packed(*items: bytes) -> bytes:
    return struct.pack("<I", len(items)) + b"".join(struct.pack("<I", len(item)) + item for item in items)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (packed(b"a", b"\xff"), "item 1 is not UTF-8: byte 0xff at 0 of its 1 bytes"),
        (packed(b"a", b"\xed\xa0\x80"), "item 1 is not UTF-8"),
        (packed(b"a"), "expected 2 items, the chunk states 1"),
        (packed(b"a", b"b") + b"!", "1 bytes follow the last item"),
        (packed(b"a", b"bcd")[:-1], "item 1 has 3 bytes at 13, the chunk ends at 15"),
        (b"", "expected the number of items, got 0 bytes"),
    ],
)
def test_chunks_that_are_not_sound(zarr_format, value, reason) -> None:
    store = MemoryStore()
    array = create((7,), (2,), zarr_format=zarr_format, store=store, compressors=None)
    array[...] = texts(7)
    key = "words/1" if zarr_format == 2 else "words/c/1"
    store.set(key, value)
    with pytest.raises(ChunkDecodeError, match=reason) as caught:
        array[...]
    assert (caught.value.array, caught.value.chunk, caught.value.key) == ("words", (1,), key)
    assert caught.value.codec == "vlen-utf8"
    assert array[4:].tolist() == texts(7)[4:].tolist()


def test_a_chunk_that_does_not_decompress_among_many() -> None:
    store = MemoryStore()
    array = create((40_000,), (1000,), store=store)
    array[...] = texts(40_000)
    store.set("words/c/29", bytes(store.get("words/c/29"))[:-5])
    with pytest.raises(ChunkDecodeError) as caught:
        array.read(threads=4)
    assert (caught.value.chunk, caught.value.key, caught.value.codec) == ((29,), "words/c/29", "zstd")


def test_bytes_that_are_none_among_many() -> None:
    values = np.empty(40_000, object)
    values[:] = b"some bytes, the same ones"
    values[33_333] = 1.5
    array = create((40_000,), (1000,), dtype="bytes")
    with pytest.raises(ChunkEncodeError, match="item 333: expected bytes, got float 1.5") as caught:
        array.write(..., values, threads=4)
    assert (caught.value.chunk, caught.value.codec) == ((33,), "vlen-bytes")


@pytest.mark.parametrize(
    "other", [None, np.nan, 1, 1.5, True, pytest.param(object(), id="object"), ["nested"]], ids=repr
)
@pytest.mark.parametrize("dtype", ["string", "U6", "S6"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_is_no_string_is_not_stored_as_its_name(dtype, other, zarr_format) -> None:
    """NumPy would write "None", and "nan": nobody could tell them from such a string afterwards."""
    objects = np.array(["a", None], object)
    objects[1] = other
    array = create((2,), (2,), dtype=dtype, zarr_format=zarr_format)
    array[...] = "kept"
    before = array[...].tolist()
    for values in (objects, objects.tolist(), tuple(objects)):
        with pytest.raises((TypeError, ValueError), match="item 1 is|inhomogeneous"):
            array[...] = values
        with array.writer() as writer, pytest.raises((TypeError, ValueError)):
            writer[:] = values
    with pytest.raises(TypeError, match=r"item 0 is|cannot store"):
        array[1] = None if isinstance(other, list) else other
    assert array[...].tolist() == before


def test_what_is_no_string_in_a_record() -> None:
    array = create((2,), (2,), dtype=[("name", "U4"), ("number", "i2")], zarr_format=2)
    array[...] = [("some", 1), ("more", 2)]
    with pytest.raises(TypeError, match="item 1 is None"):
        array[...] = [("a", 1), (None, 2)]
    assert array[...].tolist() == [("some", 1), ("more", 2)]


def test_bytes_are_no_text_of_any_length() -> None:
    """Those of fixed length are taken by NumPy's rule, as ASCII."""
    for values in ([b"a", "b"], np.array([b"a", "b"], object), np.array([b"a", b"b"])):
        fixed = create((2,), (2,), dtype="U6")
        fixed[...] = values
        assert fixed[...].tolist() == ["a", "b"]
        with pytest.raises(TypeError, match=r"item 0 is b'a'|cannot store"):
            create((2,), (2,))[...] = values


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["string", ">U4", "<U4"])
def test_byte_order_of_text(dtype: str, zarr_format: int) -> None:
    """NumPy before 2.5 reads big-endian text as the machine's: of U+0100 it makes U+10000."""
    words = ["Ā", "a", "é漢🎉", ""]
    native = np.array(words)
    for values in (native, native.astype(">U4"), native.astype(">U4")[::-1][::-1], native.astype(STRINGS)):
        array = create((4,), (2,), dtype=dtype, zarr_format=zarr_format)
        array[...] = values
        assert array[...].tolist() == words
        array.oindex[[3, 1]] = values[[3, 1]]
        array.append(values[:1])
        assert array[...].tolist() == [*words, "Ā"]
        assert zarrcore.array(values, dtype=dtype, zarr_format=zarr_format)[...].tolist() == words


READS = """
import sys
import numpy as np
import zarrcore

items = np.empty({count}, object)
items[:] = [b"%030d" % i for i in range({count})]
array = zarrcore.create_array({{}}, shape={count}, chunks=20_000, dtype="variable_length_bytes")
array[...] = items
del items
for _ in range(4):
    array[...]
    sys._debugmallocstats()
"""


def arenas_of_reads(count: int) -> tuple[list[int], list[int]]:
    """Arenas of Python's allocator, asked for so far and there now, after each of four reads."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONMALLOC"}
    program = [sys.executable, "-c", READS.format(count=count)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=env)
    asked, there = (
        [int(n.replace(",", "")) for n in re.findall(rf"arenas allocated {which} *= *([\d,]+)", done.stderr)]
        for which in ("total", "current")
    )
    if not asked:
        pytest.skip("this Python has another allocator")
    return asked, there


def test_reading_again_asks_the_system_for_no_memory_of_items_again():
    asked, there = arenas_of_reads(200_000)  # about 13 MiB, so that two reads would ask for 26
    assert asked[3] - asked[1] <= 3  # what is at the end of a read may just not fit into those that there are
    assert there[3] >= there[0]


def test_no_more_than_a_bounded_part_of_it_is_kept():
    few, many = arenas_of_reads(20_000)[1][-1], arenas_of_reads(800_000)[1][-1]  # 1.3 and 52 MiB
    assert many - few <= 48  # arenas of 1 MiB
