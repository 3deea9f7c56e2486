"""Data types written by a user after the model of zarr-python, for dtypes that a package adds to NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar, Literal, Self, TypeGuard

import numpy as np
import pytest

import zarrcore
from zarrcore.dtype import (
    JSON,
    DTypeConfig_V2,
    DTypeJSON,
    Struct,
    Structured,
    UInt16,
    ZarrFormat,
    ZDType,
    check_dtype_spec_v2,
    data_type_registry,
    parse_dtype,
    scalar_to_bytes,
    swap_fields,
)
from zarrcore.errors import DataTypeValidationError, MetadataValidationError

ml_dtypes = pytest.importorskip("ml_dtypes")

int2_dtype_cls: Any = type(np.dtype(ml_dtypes.int2))


class Int2(ZDType[int2_dtype_cls, ml_dtypes.int2]):
    """Integers of two bits."""

    _zarr_v3_name: ClassVar[Literal["int2"]] = "int2"
    _zarr_v2_name: ClassVar[Literal["int2"]] = "int2"
    dtype_cls = int2_dtype_cls

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        if cls._check_native_dtype(dtype):
            return cls()
        raise DataTypeValidationError(f"not int2: {dtype}")

    def to_native_dtype(self) -> Any:
        return self.dtype_cls()

    @classmethod
    def _check_json_v2(cls, data: DTypeJSON) -> TypeGuard[DTypeConfig_V2[Literal["int2"], None]]:
        return check_dtype_spec_v2(data) and data["name"] == "int2" and data["object_codec_id"] is None

    @classmethod
    def _check_json_v3(cls, data: DTypeJSON) -> TypeGuard[Literal["int2"]]:
        return data == cls._zarr_v3_name

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        if cls._check_json_v2(data):
            return cls()
        raise DataTypeValidationError(f"not int2: {data!r}")

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        if cls._check_json_v3(data):
            return cls()
        raise DataTypeValidationError(f"not int2: {data!r}")

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        return {"name": "int2", "object_codec_id": None} if zarr_format == 2 else self._zarr_v3_name

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, (int, ml_dtypes.int2))

    def cast_scalar(self, data: object) -> Any:
        if self._check_scalar(data):
            return ml_dtypes.int2(data)
        raise TypeError(f"not an int2: {data!r}")

    def default_scalar(self) -> Any:
        return ml_dtypes.int2(0)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> int:
        return int(data)  # type: ignore[call-overload,no-any-return]

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        return self.cast_scalar(data)


class BFloat16(Int2):
    """A type with more than one byte, registered under another name than the one it reads."""

    _zarr_v3_name: ClassVar[Any] = "example.brain_float"
    dtype_cls = type(np.dtype(ml_dtypes.bfloat16))

    def default_scalar(self) -> Any:
        return ml_dtypes.bfloat16(0)


@pytest.fixture
def registered() -> Iterator[None]:
    before = data_type_registry.contents
    data_type_registry.register(Int2._zarr_v3_name, Int2)
    data_type_registry.register("example.bfloat16", BFloat16)
    yield
    for name in data_type_registry.contents:
        data_type_registry.unregister(name)
    for name, cls in before.items():
        data_type_registry.register(name, cls)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_user_type_is_found(zarr_format: ZarrFormat) -> None:
    zdtype = parse_dtype("int2", zarr_format=zarr_format)
    assert type(zdtype) is Int2
    assert zdtype == Int2()
    assert hash(zdtype) == hash(Int2())
    assert parse_dtype(np.dtype(ml_dtypes.int2), zarr_format=zarr_format) == zdtype
    assert data_type_registry.match_json(zdtype.to_json(zarr_format), zarr_format=zarr_format) == zdtype
    assert zdtype.from_json_scalar(-1, zarr_format=zarr_format) == ml_dtypes.int2(-1)


@pytest.mark.usefixtures("registered")
def test_user_type_is_seen_in_canonical_form() -> None:
    assert Int2.from_json({"name": "int2", "configuration": {}}, zarr_format=3) == Int2()
    assert data_type_registry.match_json({"name": "example.brain_float"}, zarr_format=3) == BFloat16()


@pytest.mark.usefixtures("registered")
def test_user_type_has_a_layout() -> None:
    assert (Int2().item_size, swap_fields(Int2())) == (1, ())
    assert scalar_to_bytes(Int2(), ml_dtypes.int2(1)) == b"\1"
    assert (BFloat16().item_size, swap_fields(BFloat16())) == (2, ((0, 2, 1),))
    assert scalar_to_bytes(BFloat16(), ml_dtypes.bfloat16(1)) == np.array(1, ml_dtypes.bfloat16).tobytes()


class Grey12(UInt16):
    """Twelve bits in words of 16; of NumPy's dtypes it claims none."""

    _zarr_v3_name: ClassVar[str] = "example.grey12"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return False


class Unnamed(Grey12):
    """The same without a name in format 2."""

    _zarr_v3_name: ClassVar[str] = "example.unnamed"
    _v2_kinds = ()


@pytest.mark.parametrize("cls", [Grey12, Unnamed])
def test_a_users_refinement_does_not_take_the_type_strings_of_the_library(cls: type[UInt16]) -> None:
    """``"<u2"`` of unrelated arrays was read as a user's data type that inherits from UInt16."""
    data_type_registry.register(cls._zarr_v3_name, cls)
    try:
        store: dict[str, Any] = {}
        for dtype in ("<u2", cls()):
            with suppress(MetadataValidationError):
                zarrcore.create_array(store, name=str(dtype), shape=8, dtype=dtype, zarr_format=2)
        assert [name for name, _ in zarrcore.open_group(store).arrays()] == ["<u2"]
        assert type(zarrcore.open_array(store, path="<u2").metadata.dtype) is UInt16
        with pytest.raises(
            MetadataValidationError, match=f"format 2 has no name for .*{cls.__name__}.* format 3"
        ):
            zarrcore.create_array({}, shape=8, dtype=cls(), zarr_format=2)
        array = zarrcore.create_array({}, shape=8, dtype=cls(), fill_value=5)
        assert zarrcore.open_array(array.store).metadata.data_type == cls()
        assert array[:].dtype == np.uint16
        assert repr(array).endswith(f"shape=(8,) dtype={cls()} chunks=(8,)>")
        assert repr(array.info["Data type"]) == str(cls())
        group = zarrcore.create_group({})
        group.create_array("x", shape=8, dtype=cls())
        assert f"x (8,) {cls.__name__}(" in repr(group.tree())
    finally:
        data_type_registry.unregister(cls._zarr_v3_name)


def test_both_data_types_of_records_are_stored_in_format_2() -> None:
    inner = Structured(fields=(("x", UInt16()),))
    store = zarrcore.create_array({}, shape=2, dtype=Structured(fields=(("a", inner),)), zarr_format=2).store
    assert zarrcore.open_array(store).metadata.dtype == Struct(fields=(("a", Struct(fields=inner.fields)),))
    with pytest.raises(MetadataValidationError, match="format 2 has no name for .*Grey12"):
        zarrcore.create_array({}, shape=2, dtype=Struct(fields=(("a", Grey12()),)), zarr_format=2)


@pytest.mark.parametrize("scalar", [(), [1, 2], "text", 2**70, np.zeros(2, "i4")], ids=repr)
def test_what_cast_scalar_returns_is_one_item(scalar: Any) -> None:
    """Others were bare errors of the engine, about the bytes of a fill value."""
    with pytest.raises(DataTypeValidationError, match="is no item of"):
        scalar_to_bytes(zarrcore.dtype.Int32(), scalar)
