# SPDX-License-Identifier: MIT
"""Classes of users in the tables of extensions: what is checked at once, and how they are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore import registry
from zarrcore.codecs import BytesBytesCodec, BytesCodec, GzipCodec, ShardingCodec
from zarrcore.dtype import Int32, data_type_registry
from zarrcore.errors import (
    DataTypeValidationError,
    MetadataValidationError,
    UnknownCodecError,
    ZarrUserWarning,
)
from zarrcore.grids import RegularGrid

REGISTER: dict[str, Callable[[Any, Any], None]] = {
    "codec": registry.register_codec,
    "format 2 codec": lambda name, cls: registry.compressor_registry.register(cls, name),
    "data type": data_type_registry.register,
    "chunk grid": lambda name, cls: registry.grid_registry.register(cls, name),
    "chunk key encoding": registry.register_chunk_key_encoding,
    "storage transformer": lambda name, cls: registry.storage_transformer_registry.register(cls, name),
}
MISSING = {
    "codec": "from_json, to_json, kind, encode, decode",
    "format 2 codec": "from_config, get_config, encode, decode",
    "data type": "from_json, to_json, from_native_dtype",
    "chunk grid": "from_json, to_json, native, validate, update_shape",
    "chunk key encoding": "from_json, to_json, encode",
    "storage transformer": "from_json, to_json, wrap",
}


@pytest.mark.parametrize("what", REGISTER)
def test_a_class_of_another_kind_is_refused_at_once(what: str) -> None:
    register = REGISTER[what]
    before = registry.registrations()
    with pytest.raises(TypeError, match=f"the class dict as a {what}: it has no {MISSING[what]}"):
        register("example.wrong", dict)
    with pytest.raises(TypeError, match=f"cannot register 5 as a {what}: it is no class"):
        register("example.wrong", 5)
    for name in ("", 5):
        with pytest.raises(TypeError, match=f"as a {what}: it has no name"):
            register(name, GzipCodec)
    assert registry.registrations() is before, "arrays that were opened look things up again"


def test_a_class_that_has_been_refused_is_not_known() -> None:
    with pytest.raises(TypeError, match="the class RegularGrid as a codec: it has no kind, encode, decode"):
        registry.register_codec("example.wrong", RegularGrid)  # type: ignore[arg-type]
    assert "example.wrong" not in registry.codec_registry


class Grey(Int32):
    """A data type that NumPy has under another name."""

    _zarr_v3_name: ClassVar[str] = "example.grey"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return False


@pytest.fixture
def _grey() -> Iterator[None]:
    data_type_registry.register(Grey._zarr_v3_name, Grey)
    yield
    data_type_registry.unregister(Grey._zarr_v3_name)


@pytest.mark.usefixtures("_grey")
def test_a_users_data_type_is_shown_and_not_that_of_numpy() -> None:
    group = zarrcore.create_group({})
    created = group.create_array("a", shape=3, dtype=Grey())
    for array in (created, zarrcore.open_array(group.store, path="a")):
        for text in (repr(array), str(array.info), array._repr_html_(), str(group.tree())):
            assert "Grey" in text
            assert "int32" not in text
        assert array.dtype == np.dtype("i4")


@pytest.mark.usefixtures("_grey")
@pytest.mark.parametrize(
    ("data_type", "got"),
    [
        ({"name": "example.grey", "configuration": {"bits": 12}}, '{"name": "example.grey", "configuration"'),
        ("example.other", '"example.other"'),
        ({"name": "example.other", "configuration": {}}, '"example.other"'),
    ],
)
def test_an_error_of_from_json_does_not_contradict_itself(data_type: Any, got: str) -> None:
    """What is expected is something else than what was given."""
    expected = f"not a data type Grey: expected 'example.grey' without configuration, got {got}"
    with pytest.raises(DataTypeValidationError, match=expected):
        Grey.from_json(data_type, zarr_format=3)
    store = zarrcore.create_array({}, shape=3, dtype=Grey()).store
    document = json.loads(bytes(store.get("zarr.json"))) | {"data_type": data_type}
    store.set("zarr.json", json.dumps(document).encode())
    with pytest.raises(MetadataValidationError, match=r"zarr\.json: data_type: .*example\.(other|grey)"):
        zarrcore.open_array(store)


@pytest.mark.usefixtures("_grey")
def test_what_is_expected_is_accepted() -> None:
    for data_type in (
        "example.grey",
        {"name": "example.grey"},
        {"name": "example.grey", "configuration": {}},
    ):
        assert Grey.from_json(data_type, zarr_format=3) == Grey()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "raise ValueError('boom')",
        "def (",
        "raise SystemExit(3)",
        "assert False",
        "C = 5",
        "raise MemoryError",
    ],
)
def test_a_package_that_fails_when_it_is_loaded_is_a_typed_error(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was an error of any kind, without a name, and SystemExit ended the process."""
    (tmp_path / "failing_package.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    known: registry.Registry[Any] = registry.Registry("codec", "none", UnknownCodecError)
    known.register("failing_package:C", "example.failing")
    with pytest.raises(UnknownCodecError, match=r"the codec 'example\.failing' cannot be imported from"):
        known.get("example.failing")


def test_entry_points_that_cannot_be_read_are_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken-1.dist-info").mkdir()
    (tmp_path / "broken-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: broken\nVersion: 1\n"
    )
    (tmp_path / "broken-1.dist-info" / "entry_points.txt").write_bytes(b"[zarrcore.codecs]\n\xff = a:b\n")
    monkeypatch.syspath_prepend(tmp_path)
    known: registry.Registry[Any] = registry.Registry("codec", "zarrcore.codecs", UnknownCodecError)
    with pytest.raises(UnknownCodecError, match="entry points of the installed packages cannot be read"):
        known.get("example.unknown")


def test_a_codec_that_nobody_will_find_is_named_in_a_warning(tmp_path: Path) -> None:
    """The array could not be opened again, and nothing had said so."""

    @dataclass(frozen=True)
    class Own(BytesBytesCodec):
        name = "example.own"

        def encode(self, data: Any, spec: Any) -> bytes:
            return bytes(data)

        def decode(self, data: Any, spec: Any, max_size: int | None = None) -> bytes:
            return bytes(data)

    shards = ShardingCodec(chunk_shape=(2,), codecs=[BytesCodec(), Own()])
    for layout in ({"compressors": [Own()]}, {"serializer": shards, "compressors": None}):
        with pytest.warns(
            ZarrUserWarning, match=r"'example.own' is not registered.*register_codec"
        ) as seen:
            zarrcore.create_array(tmp_path, shape=4, dtype="i4", overwrite=True, **layout)
        assert seen[0].filename == __file__
    with pytest.raises(UnknownCodecError, match=r"example\.own"):
        zarrcore.open_array(tmp_path)
