# SPDX-License-Identifier: MIT
"""What a configuration or a stream demands of memory is bounded by what it is for."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from zarrcore.codecs.compressors import LZMA
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
