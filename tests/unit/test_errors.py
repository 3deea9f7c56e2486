"""Errors: names, base classes, messages and pickling."""

from __future__ import annotations

import inspect
import pickle

import pytest

from zarrcore import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]
PLACE = {
    "array": "foo/bar",
    "chunk": (3, 1),
    "inner_chunk": (0, 2),
    "key": "foo/bar/c/3/1",
    "codec": "zstd",
    "byte_range": (16, 48),
}


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_is_documented_and_pickles(cls):
    assert cls.__doc__
    error = cls("what went wrong")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert str(copy) == str(error) == "what went wrong"


@pytest.mark.parametrize("cls", CLASSES)
def test_errors_are_made_as_other_ways_to_pickle_make_them(cls):
    made = cls.__new__(cls)  # as tblib does in the processes of dask
    assert type(made) is cls and made.args == ()


@pytest.mark.parametrize("cls", [errors.MetadataValidationError, errors.ZarrcoreWarning])
def test_control_characters_of_keys_and_members_are_escaped(cls):
    error = cls("what is wrong", key="a\x1b[2J\u202eb/zarr.json", where="codecs[0].x\r\ny")
    assert str(error) == r"a\x1b[2J\u202eb/zarr.json: codecs[0].x\r\ny: what is wrong"
    assert (error.key, error.where) == ("a\x1b[2J\u202eb/zarr.json", "codecs[0].x\r\ny")


def test_all_names_everything():
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


@pytest.mark.parametrize(
    ("cls", "bases"),
    [
        (errors.BaseZarrError, (ValueError,)),
        (errors.ArrayNotFoundError, (errors.BaseZarrError, FileNotFoundError)),
        (errors.GroupNotFoundError, (errors.NodeNotFoundError, FileNotFoundError)),
        (errors.NodeTypeValidationError, (errors.MetadataValidationError,)),
        (errors.DataTypeValidationError, (ValueError,)),
        (errors.ChunkIOError, (errors.ChunkError, OSError)),
        (errors.ChecksumError, (errors.ChunkDecodeError,)),
        (errors.ReadOnlyError, (errors.StoreError, ValueError)),
        (errors.VindexInvalidSelectionError, (IndexError,)),
        (errors.BoundsCheckError, (IndexError,)),
        (errors.UnstableSpecificationWarning, (FutureWarning,)),
    ],
)
def test_base_classes(cls, bases):
    assert all(issubclass(cls, base) for base in bases)


@pytest.mark.parametrize(
    "cls", [errors.ChunkError, errors.ChunkDecodeError, errors.ChecksumError, errors.ChunkIOError]
)
def test_a_chunk_error_tells_its_place(cls):
    error = cls("corrupt input", **PLACE)
    assert str(error) == (
        "array 'foo/bar', chunk (3, 1), inner chunk (0, 2), key 'foo/bar/c/3/1', codec 'zstd', "
        "48 bytes at 16: corrupt input"
    )
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.reason == "corrupt input"
    assert {name: getattr(copy, name) for name in PLACE} == PLACE


def test_what_is_unknown_is_left_out():
    assert str(errors.ChunkError("corrupt input")) == "corrupt input"
    assert str(errors.ChunkError(reason="x", chunk=())) == "chunk (): x"
    assert str(errors.ChunkError(array="")) == "array ''"


def test_the_place_is_completed_from_outside():
    inner = errors.ChunkDecodeError("corrupt input", codec="zstd", key="inner")
    error = inner.located(array="foo", chunk=(0,), key="outer")
    assert type(error) is errors.ChunkDecodeError
    assert str(error) == "array 'foo', chunk (0,), key 'inner', codec 'zstd': corrupt input"


def test_a_metadata_error_tells_its_place():
    error = errors.MetadataValidationError("expected 3, got 4", where="zarr_format", key="foo/zarr.json")
    assert str(error) == "foo/zarr.json: zarr_format: expected 3, got 4"
    copy = pickle.loads(pickle.dumps(errors.NodeTypeValidationError("x", where="node_type")))
    assert (str(copy), copy.where, copy.key, copy.reason) == ("node_type: x", "node_type", None, "x")
