# SPDX-License-Identifier: MIT
"""Encoding and decoding of items of any length."""

from zarrcore._core import load_modules

load_modules(__name__, ("decoding", "encoding", "ragged"))

from zarrcore._core.vlen.decoding import decode, decode_into, unchanging
from zarrcore._core.vlen.encoding import all_text, encode, first_missing

__all__ = ["all_text", "decode", "decode_into", "encode", "first_missing", "unchanging"]
