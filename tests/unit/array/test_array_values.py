"""What may be written: casting, broadcasting, fields, and that nothing is written when a value is refused."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import zarrcore
from zarrcore.arrays.values import as_values, broadcast_values


def make(dtype="i4", shape=(6, 4), **kwargs):
    return zarrcore.create_array({}, shape=shape, chunks=(2,) * len(shape), dtype=dtype, **kwargs)


NAT = -(2**63)


@pytest.mark.parametrize(
    "value", [np.ones((5, 4)), np.ones((6, 3)), [1, 2, 3], np.ones((2, 6, 4)), np.ones((4, 6))]
)
def test_wrong_shapes(engine, value):
    array = engine(make())
    with pytest.raises(ValueError, match="shape"):
        array[...] = value
    assert array.nchunks_initialized == 0


@pytest.mark.parametrize(
    "value", [5, [1, 2, 3, 4], [[1], [2], [3], [4], [5], [6]], np.ones((1, 6, 4), int), [[7]]]
)
def test_broadcasting(engine, value):
    array = engine(make())
    expected = np.zeros((6, 4), "i4")
    expected[...] = value
    array[...] = value
    np.testing.assert_array_equal(array[...], expected)


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("u1", 256, OverflowError),
        ("u1", -1, OverflowError),
        ("i1", np.array([1, 200]), OverflowError),
        ("i8", np.array([2**63], dtype="u8"), OverflowError),
        ("i4", 1.5, ValueError),
        ("i4", np.nan, ValueError),
        ("i4", np.array([1.0, np.inf]), ValueError),
        ("i8", 2.0**63, ValueError),
        ("i4", 1j, TypeError),
        ("f8", 1j, TypeError),
        ("i4", "7", TypeError),
        ("i4", np.datetime64("2020-01-01"), TypeError),
        ("?", 2, ValueError),
        ("U3", np.array([1, 2]), TypeError),
        ("i4", {"a": 1}, TypeError),
    ],
)
def test_refused_values(dtype, value, error):
    array = make(dtype, shape=(2,))
    with pytest.raises(error):
        array[...] = value
    assert array.nchunks_initialized == 0


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("u1", 255, 255),
        ("i4", 3.0, 3),
        ("i4", np.float32(-2), -2),
        ("?", 1, True),
        ("f4", 3, 3.0),
        ("f2", 1.5, 1.5),
        ("c8", 2.5, 2.5 + 0j),
        ("U3", "abc", "abc"),
        ("S3", b"abc", b"abc"),
        ("M8[s]", "2020-01-02T03:04:05", np.datetime64("2020-01-02T03:04:05")),
        ("M8[s]", np.datetime64("2020-01-02"), np.datetime64("2020-01-02")),
        ("m8[s]", 5, np.timedelta64(5, "s")),
        (">i4", 7, 7),
    ],
)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_accepted_values(dtype, value, expected, zarr_format):
    array = make(dtype, shape=(3,), zarr_format=zarr_format)
    array[1:] = value
    assert array[2] == expected
    assert array[1].dtype.kind == np.dtype(dtype).kind


def test_nan_bits_survive():
    bits = np.array([0x7FC00001, 0xFFC12345, 0x7F800001], dtype="u4")
    array = make("f4", shape=(3,))
    array[...] = bits.view("f4")
    np.testing.assert_array_equal(array[...].view("u4"), bits)


RECORD = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S3"), ("d", "i2", (2,))])


@pytest.fixture(params=[2, 3])
def records(request, engine):
    dtype = RECORD if request.param == 2 else RECORD[["a", "b", "c"]]
    dtype = np.dtype([(name, RECORD[name]) for name in dtype.names])
    array = engine(zarrcore.create_array({}, shape=(7,), chunks=(3,), dtype=dtype, zarr_format=request.param))
    values = np.zeros(7, dtype=dtype)
    values["a"] = np.arange(7)
    values["b"] = np.arange(7) / 2
    values["c"] = b"xyz"
    array[...] = values
    return array, values


def test_fields_are_read(records):
    array, values = records
    np.testing.assert_array_equal(array["a"], values["a"])
    np.testing.assert_array_equal(array["b", 2:5], values["b"][2:5])
    np.testing.assert_array_equal(array.oindex["a", [1, 5]], values["a"][[1, 5]])
    np.testing.assert_array_equal(array.get_basic_selection(slice(1, 3), fields="c"), values["c"][1:3])
    two = array["a", "c"]
    assert two.dtype.names == ("a", "c")
    np.testing.assert_array_equal(two["c"], values["c"])
    np.testing.assert_array_equal(array[["a", "b"]]["b"], values["b"])
    assert array[3].dtype == values.dtype
    assert array["a", 3] == 3


def test_fields_are_written(records):
    array, values = records
    array["a"] = 9
    values["a"] = 9
    array["b", ::-2] = [1, 2, 3, 4]
    values["b"][::-2] = [1, 2, 3, 4]
    array.vindex["c", [0, 6]] = b"q"
    values["c"][[0, 6]] = b"q"
    if "d" in values.dtype.names:
        array["d"] = [4, 5]
        values["d"] = [4, 5]
        np.testing.assert_array_equal(array["d"], values["d"])
    assert array[...].tobytes() == values.tobytes()


def test_records_from_tuples(records):
    array, values = records
    item = (5, 2.5, b"ab", (1, 2))[: len(values.dtype.names)]
    array[2] = item
    values[2] = item
    assert array[2].tobytes() == values[2].tobytes()


@pytest.mark.parametrize("fields", ["z", ["a", "z"], 3])
def test_unknown_fields(records, fields):
    with pytest.raises(IndexError):
        records[0].get_basic_selection(..., fields=fields)


def test_fields_of_plain_data():
    with pytest.raises(IndexError, match="no fields"):
        make()["a"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_strings_of_any_length(zarr_format):
    array = zarrcore.create_array({}, shape=(5,), chunks=(2,), dtype="string", zarr_format=zarr_format)
    array[:3] = ["a", "", "длинная строка"]
    array[-1] = "z\0z"
    assert array[...].tolist() == ["a", "", "длинная строка", "", "z\0z"]
    assert array[1:3].tolist() == ["", "длинная строка"]
    assert array[4] == "z\0z"
    with pytest.raises((TypeError, ValueError)):
        array[0] = 5


def test_bytes_of_any_length():
    array = zarrcore.create_array({}, shape=(4,), chunks=(2,), dtype="variable_length_bytes")
    array[0] = b"ab\0"
    array[2:] = np.array([b"", b"\0\0"], dtype=object)
    assert array[...].tolist() == [b"ab\0", b"", b"", b"\0\0"]


def test_as_values_keeps_what_fits():
    values = np.arange(4, dtype="i4")
    assert as_values(values, np.dtype("i4")) is values
    assert as_values([], np.dtype("i4")).shape == (0,)


def test_broadcast_values_copies_nothing():
    values = np.arange(3)
    wide = broadcast_values(values, (4, 3))
    assert wide.strides[0] == 0
    assert np.shares_memory(wide, values)


PAIR = np.dtype([("a", "u1"), ("b", "i4")])


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (np.array([(300, 1.0)] * 3, dtype=[("a", "i8"), ("b", "f8")]), OverflowError),
        (np.array([(3, 1.5)] * 3, dtype=[("a", "i8"), ("b", "f8")]), ValueError),
        (np.array([1.5, 2, 3]), ValueError),
        ([(5, 6.7)], ValueError),
        ([(500, 6)], OverflowError),
        (np.array([(1, 2)] * 3, dtype=[("a", "u1"), ("c", "i4")]), TypeError),
    ],
)
def test_every_field_of_a_record_is_checked(value, error):
    array = zarrcore.create_array({}, shape=3, dtype=PAIR)
    with pytest.raises(error):
        array[...] = value
    assert array[:].tolist() == [(0, 0)] * 3


def test_fields_of_records_go_by_name():
    array = zarrcore.create_array({}, shape=2, dtype=PAIR)
    array[...] = np.array([(1, 2), (3, 4)], dtype=[("b", "i8"), ("a", "i8")])
    assert array[:].tolist() == [(2, 1), (4, 3)]
    array[...] = 7
    assert array[:].tolist() == [(7, 7)] * 2


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("u1", np.array([np.int64(300), 1], object), OverflowError),
        ("i4", np.array([1.5, 2], object), ValueError),
        ("i4", np.array(["1", "2"], object), TypeError),
        ("u8", [2**70, 1], OverflowError),
    ],
)
def test_objects_follow_the_rules_of_what_they_are(dtype, value, error):
    array = zarrcore.create_array({}, shape=2, dtype=dtype)
    with pytest.raises(error):
        array[...] = value


def test_integers_around_the_largest_float_stay_exact():
    array = zarrcore.create_array({}, shape=2, dtype="u8")
    array[:] = [2**64 - 1, 0]
    assert array[:].tolist() == [2**64 - 1, 0]


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 3)])
def test_an_array_is_true_whatever_it_holds(shape):
    assert bool(make(shape=shape))


def test_python_objects_have_no_format_3():
    array = zarrcore.create_array({}, shape=2, dtype=object, filters=[{"id": "json2"}], zarr_format=2)
    with pytest.raises(zarrcore.errors.MetadataValidationError, match="cannot be stored in Zarr format 3"):
        zarrcore.from_array({}, data=array, zarr_format=3)


def ragged(shape):
    return zarrcore.create_array(
        {},
        shape=shape,
        chunks=2,
        dtype=object,
        zarr_format=2,
        filters=[{"id": "vlen-array", "dtype": "<i8"}],
        fill_value=None,
    )


def test_an_array_is_an_item_where_arrays_are_items():
    array = ragged((4,))
    array[0] = np.array([1, 3, 5])
    array[1] = np.array([7])
    array[-1] = np.array([], dtype="i8")
    with array.writer() as writer:
        writer[2] = np.array([8, 9])
    assert [item.tolist() for item in array[...]] == [[1, 3, 5], [7], [8, 9], []]
    square = ragged((2, 2))
    square[1, 0] = np.arange(3)
    square.set_basic_selection((0, 0), np.arange(2))
    assert square[1, 0].tolist() == [0, 1, 2]
    assert square[0, 0].tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        square[1] = np.arange(3)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({"dtype": bytes}, [b"x", b"", b"\0y"]),
        ({"dtype": str}, ["x", "", "\0y"]),
        ({"dtype": object, "zarr_format": 2, "filters": [{"id": "json2"}]}, [{"a": 1}, [1, 2], None]),
    ],
    ids=["bytes", "str", "json2"],
)
def test_lists_of_objects_are_appended(options, given):
    array = zarrcore.create_array({}, shape=0, chunks=2, **options)
    array.append(given)
    array.append(tuple(given[:1]))
    assert array.shape == (4,)
    assert array[...].tolist() == [*given, given[0]]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("M8[ns]", "3000-01-01"),
        ("M8[ns]", ["2000-01-01", None, "3000-01-01"]),
        ("M8[ns]", datetime.datetime(3000, 1, 1)),
        ("M8[ns]", np.array([datetime.date(3000, 1, 1), 1, "NaT"], dtype=object)),
        ("M8[ns]", np.datetime64("3000-01-01")),
        ("M8[ns]", [np.datetime64("3000"), 1, 2]),
        (">M8[ns]", np.array(["NaT", "3000", "2000"], dtype=">M8[Y]")),
        ("M8[as]", np.array(["NaT", "1971", "1970"], dtype="M8[Y]")),
        ("m8[ns]", datetime.timedelta(days=10**6)),
        ("m8[ns]", np.array([1, 10**6, 2], dtype="m8[D]")),
    ],
)
def test_times_that_64_bits_cannot_count(dtype, value):
    array = zarrcore.create_array({}, shape=3, dtype=dtype, fill_value=0)
    with pytest.raises(OverflowError):
        array[...] = value
    assert array[...].view("i8").tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("dtype", "value", "counts"),
    [
        ("M8[ns]", ["1970-01-01T00:00:01", None, "NaT"], [10**9, NAT, NAT]),
        ("M8[s]", [datetime.date(1970, 1, 2), 5, np.datetime64("NaT", "s")], [86400, 5, NAT]),
        ("M8[D]", np.array(["1970-01-02T05", "NaT", "1969-12-31T05"], dtype="M8[ns]"), [1, NAT, -1]),
        ("M8[ns]", np.array([1, NAT, -1], dtype="i8").view("M8[Y]"), [31536 * 10**12, NAT, -31536 * 10**12]),
        ("m8[s]", [datetime.timedelta(minutes=1), 5, None], [60, 5, NAT]),
    ],
)
def test_times_in_other_steps(dtype, value, counts):
    array = zarrcore.create_array({}, shape=3, dtype=dtype, fill_value=0)
    array[...] = value
    assert array[...].view("i8").tolist() == counts


def test_times_of_records():
    array = zarrcore.create_array({}, shape=2, dtype=[("t", "M8[ns]"), ("n", "i4")])
    array[...] = [("1970-01-01T00:00:01", 1), (None, 2)]
    assert array["t"].view("i8").tolist() == [10**9, NAT]
    array[0] = (datetime.datetime(1970, 1, 2), 3)
    assert array["t"].view("i8").tolist() == [86400 * 10**9, NAT]
    for value in ([("3000-01-01", 1)] * 2, np.array([("3000", 1)] * 2, dtype=[("t", "M8[Y]"), ("n", "i4")])):
        with pytest.raises(OverflowError):
            array[...] = value
    assert array["n"].tolist() == [3, 2]
