# SPDX-License-Identifier: MIT
"""The border between Python and the chunk engine (csrc/engine).

Its modules convert and check arguments, release the GIL, call C once and raise what went wrong.
"""

from zarrcore._core import load_modules

load_modules(
    __name__,
    {
        "sessions": "FileSpan OpenFile trust",
        "threads": "Decoding available_cpus call_parallel close_collected count is_ending is_in_call metrics "
        "num_threads set_num_threads thread_number",
        "codecs": "check_options decode_bytes decode_into encode_bytes encode_into is_plain libraries "
        "libraries_origin",
        "keys": "Held KeyLock Owned Place change_item changes_below key_events note_loss note_shape "
        "real_path shape_is_stale wait_for_writes while_changing",
        "files": "age_by_mtime make_below open_below read_file remove_file size_below which_below write_file "
        "write_parts writer_lives",
        "sources": "LocalSource MemorySource StoreSource",
        "callbacks": "Feed",
        "chains": "Chain Shard",
        "cache": "ChunkCache byte_limit",
        "selections": "are_indices basic_dims",
        "masks": "MaskPoints mask_points",
        "results": "empty keep_results kept_results",
        "arrays": "NativeArray",
        "batches": "entangled get_many prefetch read_many",
        "parts": "begins_of box_of",
        "stored": "list_stored read_parts try_chunks",
        "capi": "_C_API",
    },
)
