# SPDX-License-Identifier: MIT
"""What a configuration or a stream demands of memory is bounded by what it is for."""

from __future__ import annotations

import bz2
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zarrcore.codecs.compressors import BZ2, LZMA, _decompress
from zarrcore.errors import ChunkDecodeError
from zarrcore.testing.process import in_child

HUGE = (1 << 32) - 1
RAW = [{"id": lzma.FILTER_LZMA2, "dict_size": 4096}]


def test_a_dictionary_of_4_gib_is_as_large_as_the_chunk() -> None:
    data = lzma.compress(b"abcd", format=lzma.FORMAT_RAW, filters=RAW)
    codec = LZMA(format=lzma.FORMAT_RAW, filters=[{**RAW[0], "dict_size": HUGE}])

    def decodes() -> bool:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20),) * 2)
        return codec.decode(data, None, 4) == b"abcd"

    assert in_child(decodes) if Path("/proc/self/statm").exists() else codec.decode(data, None, 4) == b"abcd"


@pytest.mark.parametrize("filters", [None, [{"id": lzma.FILTER_LZMA1, "dict_size": HUGE}]])
def test_a_stream_that_demands_4_gib_is_refused(filters: list[dict[str, int]] | None) -> None:
    data = bytearray(lzma.compress(b"abcd", format=lzma.FORMAT_ALONE))
    data[1:5] = b"\xff" * 4
    with pytest.raises(ChunkDecodeError, match="Memory usage limit exceeded"):
        LZMA(format=lzma.FORMAT_ALONE, filters=filters).decode(bytes(data), None, 4)


@pytest.mark.parametrize(("module", "start"), [(bz2, bz2.BZ2Decompressor), (lzma, lzma.LZMADecompressor)])
def test_a_chunk_of_thousands_of_empty_streams_took_time_by_the_square_of_their_number(
    module: Any, start: Any
) -> None:
    given = 0

    class Counting:
        def __init__(self) -> None:
            self._stream = start()

        def decompress(self, data: Any, most: int) -> bytes:
            nonlocal given
            given += len(data)
            return self._stream.decompress(data, most)  # type: ignore[no-any-return]

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

    empty, numbers = module.compress(b""), []
    for number in (1000, 4000):
        given = 0
        data = empty * number + module.compress(b"abcd")
        assert _decompress(Counting, data, None, 4, "", OSError) == b"abcd"
        numbers.append(given)
    assert numbers[1] < 5 * numbers[0]  # of bytes that are copied


@pytest.mark.parametrize("codec", [BZ2(), LZMA(), LZMA(format=lzma.FORMAT_RAW, filters=RAW)])
def test_streams_of_any_length_are_decoded_in_steps(codec: Any) -> None:
    rng = np.random.default_rng(1)
    for nbytes in (0, 1, 1000, 1023, 1024, 1025, 5000, 300_000, 3_000_000):
        value = rng.integers(0, 256, nbytes, dtype="u1").tobytes() + bytes(nbytes)
        data = codec.encode(value)
        assert codec.decode(data, None, len(value)) == value
        if value:
            with pytest.raises(ChunkDecodeError, match="more than"):
                codec.decode(data, None, len(value) - 1)
