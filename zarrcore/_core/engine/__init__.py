# SPDX-License-Identifier: MIT
"""The border between Python and the chunk engine (csrc/engine).

Its modules convert and check arguments, release the GIL, call C once and raise what went wrong.
"""

from zarrcore._core import load_modules

load_modules(
    __name__,
    (
        "threads",
        "codecs",
        "keys",
        "files",
        "sources",
        "callbacks",
        "chains",
        "cache",
        "selections",
        "masks",
        "gathered",
        "arrays",
        "batches",
        "capi",
    ),
)

from zarrcore._core.engine.arrays import NativeArray
from zarrcore._core.engine.batches import entangled, prefetch, read_many
from zarrcore._core.engine.cache import ChunkCache, byte_limit
from zarrcore._core.engine.capi import _C_API
from zarrcore._core.engine.chains import Chain, Shard
from zarrcore._core.engine.codecs import (
    check_options,
    decode_bytes,
    decode_into,
    encode_bytes,
    encode_into,
    is_plain,
    libraries,
    libraries_origin,
)
from zarrcore._core.engine.files import open_below, write_file
from zarrcore._core.engine.keys import (
    KeyLock,
    Place,
    key_events,
    note_shape,
    real_path,
    set_item,
    shape_is_stale,
    while_changing,
)
from zarrcore._core.engine.masks import MaskPoints, mask_points
from zarrcore._core.engine.sources import LocalSource, MemorySource, StoreSource
from zarrcore._core.engine.threads import (
    available_cpus,
    call_parallel,
    num_threads,
    set_num_threads,
    thread_number,
)

__all__ = [
    "_C_API",
    "Chain",
    "ChunkCache",
    "KeyLock",
    "LocalSource",
    "MaskPoints",
    "MemorySource",
    "NativeArray",
    "Place",
    "Shard",
    "StoreSource",
    "available_cpus",
    "byte_limit",
    "call_parallel",
    "check_options",
    "decode_bytes",
    "decode_into",
    "encode_bytes",
    "encode_into",
    "entangled",
    "is_plain",
    "key_events",
    "libraries",
    "libraries_origin",
    "mask_points",
    "note_shape",
    "num_threads",
    "prefetch",
    "read_many",
    "open_below",
    "real_path",
    "set_item",
    "set_num_threads",
    "shape_is_stale",
    "thread_number",
    "while_changing",
    "write_file",
]
