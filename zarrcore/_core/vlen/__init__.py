# SPDX-License-Identifier: MIT
"""Encoding and decoding of items of any length."""

from zarrcore._core import load_modules

load_modules(
    __name__,
    {
        "decoding": "decode decode_into interleaved unchanging",
        "encoding": "all_text check encode first_missing separated",
        "ragged": "check_arrays decode_arrays encode_arrays",
    },
)
