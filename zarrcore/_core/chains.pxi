# Codec chains.

_BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")

_PADDINGS = ("none", "first_byte", "last_byte")

_NUMBERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "f2")    # as zc_number_kind counts

_OTHER_NUMBERS = {"b1": <int>ZC_NUMBER_BOOL, "c8": <int>ZC_NUMBER_C64, "c16": <int>ZC_NUMBER_C128}

_ROUNDINGS = ("nearest-even", "nearest-away", "towards-zero", "towards-positive", "towards-negative")

_OUT_OF_RANGE = (None, "clamp", "wrap")

_DECISIONS = ("compress_if_smaller", "always_apply", "never_apply")


cdef int _set_number(zc_number *number, const zc_codec_class *cls, str dtype) except -1:
    """The type of a filter's numbers: its name in numpy, such as ``"<f4"``, or a byte order and its name in Zarr."""
    cdef zc_number_kind kind
    cdef bytes name = dtype[1:].encode()
    if dtype[1:] in _NUMBERS:
        kind = <zc_number_kind><int>_NUMBERS.index(dtype[1:])
    elif dtype[1:] in _OTHER_NUMBERS:
        kind = <zc_number_kind><int>_OTHER_NUMBERS[dtype[1:]]
    elif not zc_number_named(name, &kind):
        raise TypeError(f"the chunk engine has no numbers of type {dtype!r}")
    if not zc_codec_takes(cls, kind):
        raise TypeError(f"codec {cls.name.decode()!r} of the chunk engine takes no numbers of type {dtype!r}")
    number.kind = kind
    number.swapped = dtype[0] == (">" if sys.byteorder == "little" else "<") and zc_number_size(kind) > 1
    return 0


cdef int _set_pairs(zc_number_pairs *pairs, bytes words) except -1:
    """Numbers that are exchanged, as words of 8 bytes; `words` has to outlive the codec."""
    if len(words) % sizeof(zc_number_pair):
        raise ValueError(f"expected pairs of words, got {len(words)} bytes")
    pairs.pairs = <const zc_number_pair *>PyBytes_AS_STRING(words)
    pairs.n = len(words) // sizeof(zc_number_pair)
    return 0


cdef int _configure(zc_codec *codec, str name, dict config) except -1:
    """Set up one codec.  It points into values of `config`, which have to outlive it.

    Codecs that it holds are replaced in `config` by what they are in memory.
    """
    cdef bytes encoded = name.encode()
    cdef object key
    if not zc_codec_init(codec, encoded):
        raise errors.UnknownCodecError(f"the chunk engine has no codec {name!r}")
    for key, value in config.items():
        if key in ("level", "acceleration", "clevel", "keepbits", "bits"):
            codec.level = value
        elif key == "checksum":
            codec.checksum = bool(value)
        elif key == "location":
            codec.at_start = value == "start"
        elif key == "initval":
            codec.lookup3.initial = value
        elif key == "prefix":            # bytes
            codec.lookup3.prefix = <const uint8_t *>PyBytes_AS_STRING(value)
            codec.lookup3.n_prefix = PyBytes_GET_SIZE(value)
        elif key == "cname":
            codec.blosc.compressor = <zc_blosc_compressor><int>_BLOSC_COMPRESSORS.index(value)
        elif key == "shuffle":
            codec.blosc.shuffle = <zc_blosc_shuffle><int>value
        elif key == "typesize":
            codec.blosc.typesize = value
        elif key == "blocksize":
            codec.blosc.blocksize = value
        elif key == "elementsize":
            codec.element = value
        elif key == "dtype":
            _set_number(&codec.decoded, codec.cls, value)
        elif key == "astype":
            _set_number(&codec.encoded, codec.cls, value)
        elif key == "offset":
            codec.offset = value
        elif key == "scale":
            codec.scale = value
        elif key == "whole_offset":
            codec.whole.offset = <int64_t><uint64_t>(value & 0xFFFFFFFFFFFFFFFF)
            codec.whole.has_offset = True
        elif key == "whole_scale":
            codec.whole.scale = <int64_t><uint64_t>(value & 0xFFFFFFFFFFFFFFFF)
            codec.whole.has_scale = True
        elif key == "padding":
            codec.bits.padding = <zc_padding><int>(1 + _PADDINGS.index(value))
        elif key == "first_bit":
            codec.bits.first = value
        elif key == "width":
            codec.bits.width = value
        elif key == "keep_special":
            codec.keep_special = value
        elif key == "rounding":
            codec.cast.rounding = <zc_rounding><int>_ROUNDINGS.index(value)
        elif key == "out_of_range":
            codec.cast.out_of_range = <zc_out_of_range><int>_OUT_OF_RANGE.index(value)
        elif key == "encode_pairs":
            _set_pairs(&codec.cast.encode, value)
        elif key == "decode_pairs":
            _set_pairs(&codec.cast.decode, value)
        elif key == "codecs":
            config[key] = _Nested(value)
            codec.nested.codecs = (<_Nested>config[key]).at
            codec.nested.n = (<_Nested>config[key]).n
        elif key == "header":
            codec.nested.header = value
        elif key == "decision":
            codec.nested.decision = <zc_decision><int>_DECISIONS.index(value)
        else:
            raise TypeError(f"codec {name!r} of the chunk engine has no option {key!r}")
    return 0


@cython.final
cdef class _Nested:
    """The codecs that another one holds."""

    cdef zc_codec *at
    cdef int n
    cdef tuple options                   # which they point into

    def __cinit__(self, stages):
        self.at = <zc_codec *>malloc((len(stages) + 1) * sizeof(zc_codec))
        if self.at == NULL:
            raise MemoryError
        self.options = tuple([dict(config) for _, config in stages])
        for i, (name, _) in enumerate(stages):
            _configure(&self.at[i], name, self.options[i])
        self.n = <int>len(stages)
        if zc_stages_count(self.at, self.n) > ZC_MAX_STAGES:
            raise ValueError(f"more than {ZC_MAX_STAGES} codecs in one")

    def __dealloc__(self):
        free(self.at)


@cython.final
cdef class Shard:
    """The sharding part of a codec chain.

    Parameters
    ----------
    inner_shape : tuple of int
        Shape of the inner chunks, in the order of the dimensions in which shards are stored.
    inner, index : Chain
        The chains of inner chunks and of the index (items of 8 bytes).
    index_location : {"end", "start"}
        Where in the shard the index lies.
    """

    cdef readonly tuple inner_shape
    cdef readonly Chain inner
    cdef readonly Chain index
    cdef readonly str index_location

    def __init__(self, inner_shape, Chain inner not None, Chain index not None, index_location="end"):
        if index_location not in ("start", "end"):
            raise ValueError(f"index_location: expected 'start' or 'end', got {index_location!r}")
        self.inner_shape = tuple(int(n) for n in inner_shape)
        if len(self.inner_shape) > ZC_MAX_DIMS or any(n < 1 for n in self.inner_shape):
            raise ValueError(f"inner_shape: expected up to {ZC_MAX_DIMS} lengths of 1 or more, got {inner_shape}")
        self.inner = inner
        self.index = index
        self.index_location = index_location


@cython.final
cdef class Body:
    """The array that the stages of a chain make of a chunk, where it has a chain of its own.

    Parameters
    ----------
    chain : Chain
        That chain.
    lengths : sequence of (int or tuple of int)
        Its shape: a length, the stored dimensions of the chunk whose lengths are multiplied, or once -1 for what is
        left over.
    fill : bytes
        One item of it, as it lies in memory.
    """

    cdef zc_body c
    cdef readonly Chain chain
    cdef readonly tuple lengths
    cdef readonly bytes fill

    def __init__(self, Chain chain not None, lengths, bytes fill not None):
        cdef Py_ssize_t d
        self.chain = chain
        self.lengths = tuple(lengths)
        self.fill = fill
        if len(self.lengths) > ZC_MAX_DIMS:
            raise ValueError(f"lengths: the engine handles up to {ZC_MAX_DIMS} dimensions, got {len(self.lengths)}")
        if len(fill) != chain.itemsize:
            raise ValueError(f"fill: expected {chain.itemsize} bytes, got {len(fill)}")
        self.c.chain = &chain.c
        self.c.ndim = <int>len(self.lengths)
        self.c.fill = <const void *>PyBytes_AS_STRING(fill)
        for d, length in enumerate(self.lengths):
            self.c.lengths[d].fixed = 0
            self.c.lengths[d].axes = 0
            if isinstance(length, tuple):
                for axis in length:
                    if not 0 <= axis < ZC_MAX_DIMS:
                        raise ValueError(f"lengths[{d}]: expected dimensions, got {length}")
                    self.c.lengths[d].axes |= <uint64_t>1 << <int>axis
            elif length == -1 or length > 0:
                self.c.lengths[d].fixed = length
            else:
                raise ValueError(f"lengths[{d}]: expected 1 or more, -1 or dimensions, got {length}")
        if self.lengths.count(-1) > 1:
            raise ValueError(f"lengths: expected -1 once at most, got {self.lengths}")
        chain.check_ndim(self.c.ndim)


@cython.final
cdef class Chain:
    """A codec chain, compiled for the engine.  Immutable.

    Parameters
    ----------
    itemsize : int
        Bytes of one element.
    swap : int or tuple of (offset, word, count)
        What differs in byte order between memory and stored form: all words of that size (2, 4 or 8; 0: nothing), or
        runs of words inside of an element.
    order : tuple of int, optional
        Stored dimension ``i`` is dimension ``order[i]`` of the chunk (zarr v3 "transpose").  None: C order.
    stages : sequence of (name, configuration)
        Filters and bytes -> bytes codecs in the order of encoding.
    shard : Shard, optional
        Chunks are shards.
    block : Chain, optional
        Chunks are blocks of N5, whose elements that chain makes.
    body : Body, optional
        The stages are filters that make this array.
    """

    cdef zc_chain c
    cdef zc_swap_field *fields
    cdef readonly Shard shard
    cdef readonly Chain block
    cdef readonly Body body
    cdef readonly tuple order
    cdef readonly tuple stages
    cdef readonly int bodies             # arrays inside of arrays, at most so many around one another
    cdef tuple _options                  # of the stages, which point into them

    def __cinit__(self):
        memset(&self.c, 0, sizeof(self.c))
        self.fields = NULL

    def __dealloc__(self):
        free(self.fields)

    def __init__(self, itemsize, *, swap=0, order=None, stages=(), shard=None, Chain block=None, Body body=None):
        if itemsize < 1:
            raise ValueError(f"itemsize: expected 1 or more, got {itemsize}")
        if self.c.item.size != 0:
            raise RuntimeError("a Chain is immutable")
        self.c.item.size = itemsize
        self._set_swap(swap)
        if order is not None:
            self._set_order(tuple(int(axis) for axis in order))
        self.stages = tuple(stages)
        self._options = tuple([dict(config) for _, config in self.stages])
        if len(self.stages) > ZC_MAX_STAGES:
            raise ValueError(f"more than {ZC_MAX_STAGES} bytes -> bytes codecs in one chain")
        for i, (name, _) in enumerate(self.stages):
            _configure(&self.c.stages[i], name, self._options[i])
        self.c.n_stages = <int>len(self.stages)
        if zc_stages_count(self.c.stages, self.c.n_stages) > ZC_MAX_STAGES:
            raise ValueError(f"more than {ZC_MAX_STAGES} codecs in one chain, with those that they hold")
        if (shard is not None) + (block is not None) + (body is not None) > 1:
            raise ValueError("a chain has a shard, a block or a body, not several of them")
        if shard is not None:
            self._set_shard(shard)
        if block is not None:
            self._set_block(block)
        if body is not None:
            self._set_body(body)

    def check_ndim(self, ndim):
        """Raise ValueError unless the chain is one for chunks of that many dimensions."""
        if self.order is not None and len(self.order) != ndim:
            raise ValueError(f"chain: its order {self.order} is not one of {ndim} dimensions")
        if self.shard is not None:
            if len(self.shard.inner_shape) != ndim:
                raise ValueError(f"chain: its inner chunks {self.shard.inner_shape} have not {ndim} dimensions")
            self.shard.inner.check_ndim(ndim)
        if self.block is not None:
            self.block.check_ndim(ndim)
        if self.body is not None and any(axis >= ndim for axes in self.body.lengths if isinstance(axes, tuple)
                                         for axis in axes):
            raise ValueError(f"chain: the lengths {self.body.lengths} of its body need more than {ndim} dimensions")

    cdef int _set_block(self, Chain block) except -1:
        if self.c.item.word or self.c.item.n_fields:
            raise ValueError("swap: a chain of blocks swaps bytes in the chain of their elements")
        if block.c.item.size != self.c.item.size:
            raise ValueError("block and chunk have elements of different sizes")
        self.block = block
        self.c.block = &block.c
        self.c.item = block.c.item
        return 0

    cdef int _set_body(self, Body body) except -1:
        cdef int i
        if self.c.item.word or self.c.item.n_fields:
            raise ValueError("swap: filters take items as they are in memory")
        for i in range(self.c.n_stages):
            if not self.c.stages[i].cls.fixed_size:
                raise ValueError(f"stages[{i}]: filters before an array are of fixed size")
        self.body = body
        self.bodies = 1 + body.chain.bodies
        self.c.body = &body.c
        return 0

    cdef int _set_swap(self, swap) except -1:
        cdef size_t i
        if isinstance(swap, int):
            if swap not in (0, 2, 4, 8) or (swap and self.c.item.size % <size_t>swap):
                raise ValueError(f"swap: expected 0, 2, 4 or 8 and a divisor of the item size, got {swap}")
            self.c.item.word = swap
            return 0
        fields = tuple(swap)
        if not fields:
            return 0
        self.fields = <zc_swap_field *>malloc(len(fields) * sizeof(zc_swap_field))
        if self.fields == NULL:
            raise MemoryError
        for i, (offset, word, count) in enumerate(fields):
            if word not in (2, 4, 8) or offset < 0 or count < 1 or offset + word * count > self.c.item.size:
                raise ValueError(
                    f"swap[{i}]: {(offset, word, count)} does not lie in an item of {self.c.item.size} bytes")
            self.fields[i].offset = offset
            self.fields[i].word = word
            self.fields[i].count = count
        self.c.swap_fields = self.fields
        if len(fields) == 1 and fields[0][0] == 0 and fields[0][1] * fields[0][2] == self.c.item.size:
            self.c.item.word = fields[0][1]
        else:
            self.c.item.fields = self.fields
            self.c.item.n_fields = <uint32_t>len(fields)
        return 0

    cdef int _set_order(self, tuple order) except -1:
        cdef int i
        if len(order) > ZC_MAX_DIMS or sorted(order) != list(range(len(order))):
            raise ValueError(f"order: expected a permutation, got {order}")
        self.order = order
        self.c.order_ndim = <int>len(order)
        for i in range(self.c.order_ndim):
            self.c.order[i] = order[i]
        return 0

    cdef int _set_shard(self, Shard shard) except -1:
        cdef size_t size
        cdef zc_error err
        if self.c.item.word or self.c.item.n_fields:
            raise ValueError("swap: a sharded chain swaps bytes in its inner chain")
        if shard.inner.c.item.size != self.c.item.size:
            raise ValueError("inner chunks and shard have elements of different sizes")
        if shard.index.c.item.size != 8 or shard.index.c.sharded:
            raise ValueError("the index chain must have items of 8 bytes")
        self.shard = shard
        self.bodies = shard.inner.bodies
        self.c.sharded = True
        self.c.shard_ndim = <int>len(shard.inner_shape)
        for i, n in enumerate(shard.inner_shape):
            self.c.inner_shape[i] = n
        self.c.inner = &shard.inner.c
        self.c.index = &shard.index.c
        self.c.index_at_start = shard.index_location == "start"
        zc_error_clear(&err)
        if zc_chain_index_size(&self.c, 1, &size, &err) != ZC_OK:
            raise ValueError((<bytes>err.message).decode())
        return 0

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.c.item.size


def libraries() -> dict:
    """The compression libraries that are linked: name -> version, None for one that this build does without."""
    cdef zc_library library
    cdef size_t i = 0
    found = {}
    while zc_library_get(i, &library):
        found[library.name.decode()] = library.version.decode() if library.version != NULL else None
        i += 1
    return found


def libraries_origin() -> str:
    """Where the build found them: "system", "wheel", "source" or "prefix"."""
    return zc_libraries_origin().decode()
