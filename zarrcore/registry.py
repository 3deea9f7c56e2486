"""The extension points: names of metadata documents -> classes.

The built-in classes are registered here by the place where they are found, and are imported when they are
first asked for; a user's class is registered by :func:`register_codec` and its like, or by an entry point of
the package that brings it:

.. code-block:: toml

    [project.entry-points."zarrcore.codecs"]
    "example.rot13" = "example.codecs:Rot13Codec"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from zarrcore.config import config
from zarrcore.errors import BadConfigError, MetadataValidationError, UnknownCodecError, named, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from zarrcore.codecs.base import Codec
    from zarrcore.keys.base import ChunkKeyEncoding

__all__ = [
    "Registry",
    "chunk_key_encoding_registry",
    "codec_registry",
    "compressor_registry",
    "get_buffer_class",
    "get_chunk_key_encoding_class",
    "get_codec_class",
    "get_ndbuffer_class",
    "get_pipeline_class",
    "grid_registry",
    "key_encoding_registry",
    "note_registration",
    "register_buffer",
    "register_chunk_key_encoding",
    "register_codec",
    "register_ndbuffer",
    "register_pipeline",
    "registrations",
    "storage_transformer_registry",
]

T = TypeVar("T")
_SPEAKING = (ImportError, AttributeError, TypeError)  # whose messages need no name of the class before them


class Registry(Generic[T]):
    """A table of classes by name.

    Parameters
    ----------
    what : str
        What the classes are, for messages: ``"codec"``.
    group : str
        The entry-point group, searched when a name is not in the table.
    error : type of Exception, optional
        Raised for a name that is not known.
    needs : str, optional
        What every class must have: names of methods and attributes, separated by blanks.
    lent : tuple of str, optional
        A group of entry points that packages declare for zarr-python, searched last, and the place of the
        function that makes a class for this registry of one of theirs: ``function(cls, name, package)``.
    aliases : dict, optional
        Other names that are read, with the names of the classes that they stand for.

    Examples
    --------
    >>> readers = Registry("reader", "example.readers")
    >>> readers.register(dict, "plain")
    >>> readers.get("plain"), "other" in readers
    (<class 'dict'>, False)
    """

    def __init__(
        self,
        what: str,
        group: str,
        error: type[Exception] = MetadataValidationError,
        needs: str = "",
        lent: tuple[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.what = what
        self.group = group
        self._error = error
        self._needs = needs
        self._lent = lent
        self._aliases = aliases or {}
        self._classes: dict[str, T | str] = {}
        self._searched = False

    def register(self, cls: T | str, name: str | None = None) -> None:
        """Register a class under a name, in place of the one that had that name.

        Parameters
        ----------
        cls : class or str
            The class, or the place where it is found as ``"module:Class"``, imported when first asked for.
        name : str, optional
            The name in metadata documents.  Default: ``cls.name``.

        Raises
        ------
        TypeError
            If it has no name, or is no class with the methods that a class of its kind needs.
        """
        key = name if name is not None else getattr(cls, "name", None)
        if not isinstance(key, str) or not key:
            raise TypeError(f"cannot register {cls!r} as a {self.what}: it has no name")
        self._classes[key] = cls if isinstance(cls, str) else self._checked(cls)
        note_registration()

    def get(self, name: str) -> T:
        """Return the class registered under `name`.

        Raises
        ------
        Exception
            The registry's error, naming what is known, where nothing has that name.
        """
        if name not in self:
            raise self.unknown(name, self._classes)
        name = self._own_name(name)
        found = self._classes[name]
        if not isinstance(found, str):
            return found
        try:
            cls = self._classes[name] = self._checked(self._imported(found, name))
        except (Exception, SystemExit) as error:  # whatever the package does when it is loaded
            reason = shown(error if isinstance(error, _SPEAKING) else named(error))
            raise self._error(
                f"the {self.what} {name!r} cannot be imported from {found}: {reason}"
            ) from error
        return cls

    def has_another(self, cls: type, name: object) -> bool:
        """Return whether something else than a class is registered under a name; imports nothing of ours.

        Parameters
        ----------
        cls : type
            The class.
        name : object
            The name; nothing is registered under what is no text.
        """
        if not name or not isinstance(name, str) or name not in self:
            return False
        found = self._classes[self._own_name(name)]
        if found is cls or found == f"{cls.__module__}:{cls.__qualname__}":
            return False
        return self.get(name) is not cls

    def _imported(self, place: str, name: str) -> T:
        """Return the class at a place, or one made of a class that a package has for zarr-python."""
        if not isinstance(place, Lent) or self._lent is None:
            return _import(place)  # type: ignore[no-any-return]
        try:
            return _import(self._lent[1])(_import(str(place)), name, place.package)  # type: ignore[no-any-return]
        except (Exception, SystemExit) as error:  # whatever the package does when it is loaded
            raise ImportError(
                f"{shown(error)} (the package {place.package} declares it for zarr-python)"
            ) from error

    def unknown(self, name: str, known: Iterable[str]) -> Exception:
        """Return the error for a name.

        Parameters
        ----------
        name : str
            The name that is not known.
        known : iterable of str
            What to offer: names like that one, or else all of them.
        """
        from zarrcore._validate import suggestion

        known = [*known]
        hint = suggestion(name, known)
        if f"numcodecs.{name}" in known:
            hint = f"; did you mean 'numcodecs.{name}'?"
        hint = hint or f"; known are {_listed(known) or 'none'}"
        short = name if len(name) <= 80 else f"{name[:77]}..."
        return self._error(f"unknown {self.what} {short!r}{hint}{provided(self.what, name)}")

    def _checked(self, cls: T) -> T:
        """Return `cls` if it is a class that can be used as one of this registry."""
        _check_class(cls, f"as a {self.what}", self._needs)
        return cls

    def names(self) -> tuple[str, ...]:
        """Return the names that are known, those of entry points included."""
        self._search_entry_points()
        return tuple(sorted(self._classes))

    def _own_name(self, name: Any) -> Any:
        """Return the name under which the class is registered that is called `name`."""
        return name if name in self._classes else self._aliases.get(name, name)

    def __contains__(self, name: object) -> bool:
        if self._own_name(name) not in self._classes:
            self._search_entry_points()
        return self._own_name(name) in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _search_entry_points(self) -> list[str]:
        """Add the entry points of all installed packages, once, and return the names that this has added.

        They never hide what was registered.
        """
        if self._searched:
            return []
        new = {point.name: point.value for point in self._entry_points(group=self.group)}
        new = {name: place for name, place in new.items() if name not in self._classes}
        new |= {
            name: place for name, place in self._lent_places().items() if name not in {**self._classes, **new}
        }
        self._classes.update(new)
        self._searched = True  # now: another thread may search at the same time, but not miss what is there
        return list(new)

    def _entry_points(self, **chosen: Any) -> EntryPoints:
        from importlib.metadata import entry_points

        try:
            return entry_points(**chosen)
        except Exception as error:  # of the files of any package
            reason = f"{type(error).__name__}: {error}"
            raise self._error(
                f"the entry points of the installed packages cannot be read: {reason}"
            ) from error

    def _lent_places(self) -> dict[str, Lent]:
        """Return the places of classes for zarr-python; a group may also be called after one name."""
        if self._lent is None:
            return {}
        found: dict[str, Lent] = {}
        group, points = self._lent[0], self._entry_points()
        for one in sorted(name for name in points.groups if name == group or name.startswith(f"{group}.")):
            for point in points.select(group=one):
                name = one.removeprefix(f"{group}.") if one != group else point.name
                package = point.dist.name if point.dist is not None else point.module
                found.setdefault(name, Lent(point.value, package))
        return found


class Lent(str):
    """The place of a class that an installed package has registered with zarr-python."""

    package: str

    def __new__(cls, place: str, package: str) -> Self:
        lent = super().__new__(cls, place)
        lent.package = package
        return lent


def _check_class(cls: object, use: str, needs: str) -> None:
    """Refuse to register what is no class with the methods that it needs."""
    if not isinstance(cls, type):
        raise TypeError(f"cannot register {cls!r} {use}: it is no class")
    missing = [name for name in needs.split() if not hasattr(cls, name)]
    if missing:
        raise TypeError(f"cannot register the class {cls.__qualname__} {use}: it has no {', '.join(missing)}")


_state = object()


def registrations() -> object:
    """Return an object that is replaced at each registration, so that caches notice them.

    Examples
    --------
    >>> before = registrations()
    >>> note_registration()
    >>> registrations() is before
    False
    """
    return _state


def note_registration() -> None:
    """Replace the object of :func:`registrations`.

    Examples
    --------
    >>> from functools import lru_cache
    >>> @lru_cache
    ... def is_known(name, state):  # an answer that holds until something else is registered
    ...     return name in codec_registry
    >>> is_known("gzip", registrations())
    True
    >>> note_registration()
    >>> is_known("gzip", registrations()), is_known.cache_info().misses
    (True, 2)
    """
    global _state
    _state = object()  # of two threads one wins, but no state comes twice, as that of a counter might


_PROVIDERS = {
    "codec": {
        "any-numcodecs.": "zarr-any-numcodecs",
        "gribberish": "gribberish",
        "imagecodecs_": "imagecodecs-zarr",
        "n5_default": "zarr-n5",
        "omfiles.": "omfiles",
        "virtual_tiff.": "virtual-tiff",
    },
    "format 2 codec": {
        "fill_hdf_strings": "kerchunk",
        "FITS": "kerchunk",
        "gribscan.": "gribscan",
        "grib": "kerchunk",
        "imagecodecs_": "imagecodecs-numcodecs",
        "rawgrib": "gribscan",
        "record_member": "kerchunk",
    },
}
"""Packages that bring codecs for zarr-python, by what the names of the codecs begin with."""


def provided(what: str, name: str) -> str:
    """Return, for a message, which package is known to bring what has a name."""
    for start, package in _PROVIDERS.get(what, {}).items():
        if name.startswith(start):
            return f"; the package {package} brings it to other readers: pip install {package}"
    return ""


def _listed(names: Iterable[str]) -> str:
    """Names for a message; of a family of names such as ``numcodecs.zlib`` only its own, ``numcodecs.*``."""
    families = {name: f"{name.partition('.')[0]}.*" if "." in name else name for name in sorted(names)}
    together = list(families.values())
    shown = (family if together.count(family) > 2 else name for name, family in families.items())
    return ", ".join(dict.fromkeys(shown))


@cache
def _import(place: str) -> Any:
    from importlib import import_module

    module, _, path = place.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


# Names that zarrs reads as well: of its drafts, and the addresses of its specifications.
_OF_ZARRS = "bitround numcodecs.pcodec numcodecs.zfpy zarrs.optional zarrs.vlen zarrs.vlen_v2 zfp".split()
_CODEC_ALIASES = {
    "optional": "zarrs.optional",
    "zarrs.zfp": "zfp",
    "https://codec.zarrs.dev/bytes_to_bytes/fletcher32": "numcodecs.fletcher32",
    **{f"https://codec.zarrs.dev/array_to_bytes/{name.rpartition('.')[2]}": name for name in _OF_ZARRS},
}
_EXTENSION = "from_json to_json"  # the methods that Extension brings
codec_registry: Registry[type[Codec]] = Registry(
    "codec",
    "zarrcore.codecs",
    UnknownCodecError,
    f"{_EXTENSION} kind encode decode",
    lent=("zarr.codecs", "zarrcore.integrations.zarr_python.extensions:codec_class"),
    aliases=_CODEC_ALIASES,
)
compressor_registry: Registry[Any] = Registry(
    "format 2 codec", "zarrcore.compressors", UnknownCodecError, "from_config get_config encode decode"
)
grid_registry: Registry[Any] = Registry(
    "chunk grid", "zarrcore.grids", needs=f"{_EXTENSION} native validate update_shape"
)
key_encoding_registry: Registry[type[ChunkKeyEncoding]] = Registry(
    "chunk key encoding",
    "zarrcore.key_encodings",
    needs=f"{_EXTENSION} encode",
    lent=("zarr.chunk_key_encoding", "zarrcore.integrations.zarr_python.extensions:key_encoding_class"),
)
chunk_key_encoding_registry = key_encoding_registry
storage_transformer_registry: Registry[Any] = Registry(
    "storage transformer", "zarrcore.storage_transformers", needs=f"{_EXTENSION} wrap"
)


def register_codec(key: str, codec_cls: type[Codec], *, qualname: str | None = None) -> None:
    """Register a codec class of format 3 under its name in metadata documents.

    Parameters
    ----------
    key : str
        The codec's name.
    codec_cls : type
        A subclass of ``ArrayArrayCodec``, ``ArrayBytesCodec`` or ``BytesBytesCodec``.
    qualname : str, optional
        Accepted for compatibility; not used.

    Examples
    --------
    >>> class Own(get_codec_class("crc32c")):
    ...     name = "example.checksum"
    >>> register_codec("example.checksum", Own)
    >>> array = zarrcore.create_array({}, shape=4, dtype="u1", compressors="example.checksum")
    >>> array.metadata.to_dict()["codecs"][-1]
    {'name': 'example.checksum'}
    """
    codec_registry.register(codec_cls, key)


def get_codec_class(key: str, reload_config: bool = False) -> type[Codec]:
    """Return the codec class of format 3 registered under a name.

    Parameters
    ----------
    key : str
        The codec's name.
    reload_config : bool
        Accepted for compatibility; not used.

    Raises
    ------
    UnknownCodecError
        If no codec has that name.

    Examples
    --------
    >>> get_codec_class("gzip")
    <class 'zarrcore.codecs.gzip.GzipCodec'>
    >>> get_codec_class("gzipp")
    Traceback (most recent call last):
        ...
    zarrcore.errors.UnknownCodecError: unknown codec 'gzipp'; did you mean 'gzip'?
    """
    return codec_registry.get(key)


def register_chunk_key_encoding(key: str, cls: type[ChunkKeyEncoding]) -> None:
    """Register `cls`, a chunk key encoding, under `key`, its name in metadata documents.

    Examples
    --------
    >>> class Own(get_chunk_key_encoding_class("default")):
    ...     name = "example.own_keys"
    >>> register_chunk_key_encoding("example.own_keys", Own)
    >>> get_chunk_key_encoding_class("example.own_keys") is Own
    True
    """
    key_encoding_registry.register(cls, key)


def get_chunk_key_encoding_class(key: str) -> type[ChunkKeyEncoding]:
    """Return the chunk key encoding class registered under `key`.

    Examples
    --------
    >>> get_chunk_key_encoding_class("v2")
    <class 'zarrcore.keys.standard.V2ChunkKeyEncoding'>
    """
    return key_encoding_registry.get(key)


# --- classes that are chosen by the configuration ---


class _Choice:
    """Classes by their qualified name; a setting names the one in use.

    For scripts that register and look up such classes as with zarr-python.  What zarrcore itself does is the
    same for every choice: chunks are decoded in the memory of the host into numpy arrays.
    """

    def __init__(self, setting: str, default: str, needs: str) -> None:
        self._setting = setting
        self._default = default
        self._needs = needs
        self._classes: dict[str, type] = {}

    def register(self, cls: type, qualname: str | None = None) -> None:
        """Register `cls`, under `qualname` if given; zarrcore itself uses none of these classes.

        Raises
        ------
        TypeError
            If it is no class with the methods that the setting needs.
        """
        _check_class(cls, f"for the setting {self._setting!r}", self._needs)
        self._classes[qualname or f"{cls.__module__}.{cls.__qualname__}"] = cls

    def get(self, reload_config: bool = False) -> Any:
        """Return the class that the setting names; without one, that of zarrcore.

        `reload_config` is accepted for compatibility and not used.

        Raises
        ------
        BadConfigError
            If no class of that name is registered.
        """
        name = config.get(self._setting, None)
        if name is None or name == self._default.replace(":", "."):
            return _import(self._default)
        if name not in self._classes:
            raise BadConfigError(
                f"configuration {self._setting!r}: no class {name!r} is registered; "
                f"registered are {', '.join(sorted(self._classes)) or 'none'}"
            )
        return self._classes[name]


_buffers = _Choice("buffer", "zarrcore.buffer.cpu:Buffer", "from_bytes to_bytes as_numpy_array")
register_buffer, get_buffer_class = _buffers.register, _buffers.get

_ndbuffers = _Choice("ndbuffer", "zarrcore.buffer.cpu:NDBuffer", "create from_numpy_array as_numpy_array")
register_ndbuffer, get_ndbuffer_class = _ndbuffers.register, _ndbuffers.get

_pipelines = _Choice("codec_pipeline.path", "zarrcore.codecs.chain:CodecChain", "from_codecs encode decode")
get_pipeline_class = _pipelines.get


def register_pipeline(pipe_cls: type) -> None:
    """Register `pipe_cls` for :func:`get_pipeline_class`; arrays go on to use their own.

    Examples
    --------
    >>> class Own(get_pipeline_class()):
    ...     pass
    >>> register_pipeline(Own)
    >>> with zarrcore.config.set({"codec_pipeline.path": f"{__name__}.Own"}):
    ...     get_pipeline_class() is Own
    True
    """
    _pipelines.register(pipe_cls)


# The codecs of numcodecs by module: their ids, which are their names in format 2; in format 3 they are
# numcodecs.<id>.
_NUMCODECS = {
    "blosc": "blosc=Blosc",
    "checksums": (
        "adler32=Adler32 crc32=CRC32 crc32c=CRC32C fletcher32=Fletcher32 jenkins_lookup3=JenkinsLookup3"
    ),
    "compressors": "bz2=BZ2 lz4=LZ4 lzma=LZMA shuffle=Shuffle",
    "gzip": "gzip=GZip zlib=Zlib",
    "number_filters": (
        "astype=AsType bitround=BitRound delta=Delta fixedscaleoffset=FixedScaleOffset packbits=PackBits "
        "quantize=Quantize"
    ),
    "zstd": "zstd=Zstd",
}
_CODECS = {
    "blosc": "blosc=BloscCodec",
    "bytes": "bytes=BytesCodec endian=BytesCodec",  # endian: its name before ZEP 1 was accepted
    "cast_value": "cast_value=CastValue",
    "checksums": "crc32c=Crc32cCodec",
    "conditional": "conditional=ConditionalCodec",
    "foreign": "numcodecs.pcodec=PCodec numcodecs.zfpy=ZFPY",
    "gzip": "gzip=GzipCodec",
    "n5": "n5_default=N5DefaultCodec zarrcore.lz4block=LZ4BlockCodec",
    "optional": "zarrs.optional=OptionalCodec",
    "packbits": "packbits=PackBitsCodec",
    "pcodec": "pcodec=PCodecCodec",
    "scale_offset": "bitround=BitRoundCodec scale_offset=ScaleOffset",
    "sharding": "sharding_indexed=ShardingCodec",
    "transpose": "reshape=ReshapeCodec transpose=TransposeCodec zarrs.squeeze=SqueezeCodec",
    "vlen": "vlen-utf8=VLenUTF8Codec vlen-bytes=VLenBytesCodec zarrs.vlen_v2=VLenV2Codec",
    "vlen_indexed": "zarrs.vlen=VLenCodec",
    "zfp": "zfp=ZfpCodec",
    "zstd": "zstd=ZstdCodec",
}
_FORMAT_2 = {
    "object_filters": (
        "categorize=Categorize json2=JSON2 msgpack2=MsgPack2 vlen-array=VLenArray vlen-bytes=VLenBytes "
        "vlen-utf8=VLenUTF8"
    ),
}
_GRIDS = {
    "bounded": "zarrs.regular_bounded=RegularBoundedGrid",
    "rectilinear": "rectangular=RectangularGrid rectilinear=RectilinearGrid",
    "regular": "regular=RegularGrid",
}
_KEYS = {
    "fanout": "fanout=FanoutChunkKeyEncoding",
    "standard": "default=DefaultChunkKeyEncoding v2=V2ChunkKeyEncoding zarrcore.n5=N5ChunkKeyEncoding",
    "suffix": "suffix=SuffixChunkKeyEncoding zarrs.default_suffix=DefaultSuffixChunkKeyEncoding",
}


def _register_all(registry: Registry[Any], package: str, classes: dict[str, str], prefix: str = "") -> None:
    """Register pairs of name and class, by their module in `package`, under the names after `prefix`."""
    for module, pairs in classes.items():
        for name, _, cls in (pair.partition("=") for pair in pairs.split()):
            registry.register(f"zarrcore.{package}.{module}:{cls}", prefix + name)


_register_all(codec_registry, "codecs", _CODECS)
_register_all(codec_registry, "codecs", _NUMCODECS, "numcodecs.")
_register_all(compressor_registry, "codecs", _NUMCODECS | _FORMAT_2)
compressor_registry.register("zarrcore.codecs.compressors:Base64", "base64")
_register_all(grid_registry, "grids", _GRIDS)
_register_all(key_encoding_registry, "keys", _KEYS)
