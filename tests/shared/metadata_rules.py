# SPDX-License-Identifier: MIT
"""Why zarrcore, zarr-python and tensorstore disagree on a document: a clause for each choice of the grammar.

A row has the format, the choice, what zarrcore does (+ reads, W reads with a warning, - refuses), and whether
zarr-python and tensorstore read it (+ the same, o something else, - refuse).  "core" is the specification of
format 3, "v2" that of format 2, "fill values" is "Permitted fill values" of the data types of format 3, and
other names are those of the specifications of codecs.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """What the three do with a choice, and the clause by which zarrcore does it."""

    ours: str
    peers: dict[str, str]
    clause: str


_TABLE = """
3 | format as float | --+ | core, zarr_format: an integer, must be 3; it chooses the parser
3 | r16 | +-- | data types, r*: raw bits, optional; fill value an array of integers
3 | time | ++- | core, Data types: extensions may define additional ones
3 | data type as object | +-- | core, Short-hand names: equivalent to objects with just a name
3 | data type with empty configuration | +-+ | core, Objects: configuration may be present
3 | data type with configuration | --+ | core, must_understand: fail at fields not recognised
3 | data type not to be understood | W-- | core, must_understand: false is not supported for data types
3 | data type to be understood | +-- | core, must_understand: an implicit field, True
3 | fill null | W-- | fill values: integers; null has one reading, zero
3 | fill null of float | W-- | fill values: null has one reading, zero
3 | fill 3.0 of integer | W++ | fill values: no fraction or exponent part
3 | fill text of integer | -+- | fill values: integers are JSON numbers
3 | fill true of integer | -+- | fill values: integers are JSON numbers
3 | fill 1 of bool | -+- | fill values: a JSON boolean
3 | fill text of bool | -+- | fill values: a JSON boolean
3 | fill true of float | -+- | fill values: a JSON number or one of the strings
3 | fill text of float | -+- | fill values: a JSON number or one of the strings
3 | fill nan in small letters | -+- | fill values: "NaN"
3 | fill inf | -+- | fill values: "Infinity"
3 | fill +Infinity | -+- | fill values: "Infinity"
3 | fill -NaN | -+- | fill values: "NaN" has the sign bit 0
3 | fill with too few bits | -++ | fill values: the byte representation; the peers read two different numbers
3 | fill too large for float32 | -++ | fill values: rounded to the nearest representable; infinity is none
3 | fill text of r16 | W-o | fill values: raw bits are an array of integers
3 | chunk 0 of length 0 | W+- | regular grid: chunk lengths; there is no chunk either way
3 | chunk 0 | -+- | regular grid: chunks of length 0 cover nothing
3 | chunk as float | W-+ | core, chunk_grid: an array of integers; 2.0 has one meaning
3 | chunk true | -+- | core, chunk_grid: an array of integers
3 | shape as float | W-+ | core, shape: an array of integers; 4.0 has one meaning
3 | shape true | -+- | core, shape: an array of integers
3 | shape as number | -+- | core, shape: an array of integers
3 | shape beyond 63 bits | -+- | core, shape: a limit of zarrcore, lengths below 2**63
3 | grid with more | -+- | core, must_understand: fail at fields not recognised
3 | grid with a member beside | -+- | core, must_understand: fail at fields not recognised
3 | grid not to be understood | W+- | core, must_understand: false is not supported for chunk grids
3 | keys as name | +-- | core, Short-hand names: equivalent to objects with just a name
3 | keys v2 as name | +-- | core, Short-hand names: equivalent to objects with just a name
3 | separator null | W-- | default keys: separator is "." or "/", the default is "/"
3 | keys with separator beside | W+- | core, Objects: parameters are in configuration
3 | keys not to be understood | W+- | core, must_understand: false is not supported for chunk key encodings
3 | endian codec | W-- | bytes, Change log: the endian codec was renamed
3 | transpose F | W-+ | transpose, Change log: "C" and "F" are no longer supported
3 | transpose C | W-+ | transpose, Change log: "C" and "F" are no longer supported
3 | gzip level as float | --+ | gzip, level: an integer from 0 to 9
3 | gzip without level | ++- | gzip, level: it controls encoding, and decoding does not need it
3 | gzip as name | +-- | core, Short-hand names: if no configuration is required
3 | zstd without level | ++- | core, Extension codecs: decoding does not need it
3 | blosc without typesize | W+- | blosc, typesize: required unless shuffle is "noshuffle"
3 | blosc typesize 256 | ++- | blosc, typesize: a positive integer
3 | blosc clevel 10 | -+- | blosc, clevel: an integer from 0 to 9
3 | blosc blocksize negative | -+- | blosc, blocksize: a size in bytes
3 | blosc without blocksize | ++- | blosc, blocksize: decoding does not need it
3 | blosc without cname | ++- | blosc, cname: decoding does not need it
3 | crc32c as name | +-- | core, Short-hand names: equivalent to objects with just a name
3 | crc32c with more | -+- | core, must_understand: fail at fields not recognised
3 | index codecs missing | -+- | sharding, index_codecs: the member is required
3 | index codecs empty | -+- | sharding, index_codecs: exactly one array -> bytes codec
3 | index codecs without endian | -+- | bytes, endian: required for multi-byte data types
3 | inner codecs missing | -+- | sharding, codecs: the member is required
3 | sharding compressed | ++- | core, Codecs: any number of bytes -> bytes codecs may follow
3 | codecs empty | W-- | core, codecs: the list cannot be empty; the writer stored little-endian bytes
3 | codec unknown, not to be understood | +-- | core, must_understand: implementations can ignore its presence
3 | codec to be understood | ++- | core, must_understand: an implicit field, True
3 | codec with a member beside | -+- | core, must_understand: fail at fields not recognised
3 | attributes null | W+- | core, attributes: the value must be an object
3 | attributes as list | -+- | core, attributes: the value must be an object
3 | names twice | ++- | core, dimension_names: distinct names are recommended, not required
3 | names null | W+- | core, dimension_names: must be an array
3 | names as text | -+- | core, dimension_names: must be an array
3 | transformers null | W+- | core, storage_transformers: a list
3 | transformers as object | -+- | core, storage_transformers: a list
2 | format as float | --+ | v2, zarr_format: an integer
2 | |S3 | ++- | v2, Fill value encoding: base64 of the bytes
2 | <U2 | ++- | v2, Data type encoding: "U"
2 | |V3 | ++o | v2, Data type encoding: "V" is a chunk of memory, no dimension
2 | <M8[s] | ++- | v2, Data type encoding: "M" with a unit
2 | records | ++- | v2, Data type encoding: structured data types
2 | records with shape | +-o | v2, Data type encoding: a shape is optional
2 | fill text of integer | W+- | v2, Fill value encoding: a number is a JSON number
2 | fill true of integer | -+- | v2, Fill value encoding: a value of the data type
2 | fill 1 of bool | ++- | v2, fill_value: a scalar value
2 | fill 0 of bool | ++- | v2, fill_value: a scalar value
2 | fill text of float | W++ | v2, Fill value encoding: a number is a JSON number
2 | fill nan in small letters | W+- | v2, Fill value encoding: "NaN"
2 | fill true of float | -+- | v2, Fill value encoding: a value of the data type
2 | fill 0 of text | W-- | v2, Fill value encoding: base64
2 | fill too long | -+- | v2, Fill value encoding: a value of the data type
2 | fill not base64 | Wo- | v2, Fill value encoding: base64; text that is none was meant as text
2 | fill empty of text | ++- | v2, Data type encoding: "U"
2 | fill number of complex | +-- | v2, fill_value: a scalar value
2 | fill 0 of records | W-- | v2, Fill value encoding: base64
2 | dtype without order | W-- | v2, Data type encoding: the byte order must be specified
2 | dtype with = order | W-- | v2, Data type encoding: the byte order must be specified
2 | dtype name | W-- | v2, Data type encoding: the byte order must be specified
2 | dtype times without unit | ++- | v2, Data type encoding: units must be included; generic ones have none
2 | records of one name | -+- | v2, Data type encoding: fields are told apart by their names
2 | chunk 0 of length 0 | ++- | v2, chunks: a list of integers
2 | chunk 0 | -+- | v2, chunks: chunks of length 0 cover nothing
2 | chunk as float | W-+ | v2, chunks: a list of integers; 2.0 has one meaning
2 | shape as float | W-+ | v2, shape: a list of integers; 4.0 has one meaning
2 | shape as number | -+- | v2, shape: a list of integers
2 | lzma | ++- | v2, compressor: any codec of numcodecs
2 | blosc clevel 10 | W+- | v2, compressor: decoding does not need it
2 | blosc shuffle as text | W+- | v2, compressor: decoding does not need it
2 | blosc cname unknown | W+- | v2, compressor: decoding does not need it
2 | zlib level as text | W+- | v2, compressor: decoding does not need it
2 | zlib level 10 | W+- | v2, compressor: decoding does not need it
2 | zlib with more | W-- | v2, compressor: decoding does not need it
2 | compressor missing | W+- | v2, Metadata: the key must be present
2 | filters | ++- | v2, Filters: filters are applied before compression
2 | filters missing | W+- | v2, Metadata: the key must be present
2 | filters as object | -+- | v2, filters: a list of JSON objects, or null
2 | filter compresses | ++- | v2, filters: any codec
2 | separator null | W-- | v2, dimension_separator: "." or "/"
"""


def _rules() -> dict[tuple[int, str], Rule]:
    found = {}
    for row in _TABLE.strip().splitlines():
        zarr_format, rest = row.split(" | ", 1)
        choice, marks, clause = (part.strip() for part in rest.rsplit(" | ", 2))
        peers = dict(zip(("zarr-python", "tensorstore"), marks[1:], strict=True))
        found[int(zarr_format), choice] = Rule(marks[0], peers, clause)
    return found


RULES = _rules()
