"""The configuration: one process-wide object with dotted keys.

>>> from zarrcore.config import config
>>> config.get("array.order")
'C'
>>> with config.set({"array.order": "F"}):
...     config.get("array.order")
'F'

Environment variables are read once, at import: ``ZARRCORE_ARRAY__ORDER=F`` sets ``array.order`` (a double
underscore separates levels) and ``ZARRCORE_NUM_THREADS=8`` sets ``threading.max_workers``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zarrcore._locks import forkable
from zarrcore._typed import NamedTuple
from zarrcore.errors import BadConfigError, ZarrRuntimeWarning, ZarrUserWarning, given, printable

__all__ = ["SETTINGS", "BadConfigError", "Config", "Setting", "config"]

_PREFIX = "ZARRCORE_"
_ALIASES = {"num_threads": "threading.max_workers"}
_MISSING: Any = object()
_ABSENT: Any = object()


class Setting(NamedTuple):
    """A key that zarrcore reads, with its default, its meaning, and the values that it may have.

    Examples
    --------
    >>> SETTINGS["array.order"].allowed
    "'C' or 'F'"
    """

    default: Any
    meaning: str
    allowed: str
    accepts: Callable[[Any], bool]
    in_force: str | None = None
    """Where the function is, as ``"module:function"``, that returns what None stands for now."""


def _choice(default: Any, meaning: str, *values: Any) -> Setting:
    """Return a setting that is one of `values`; True is not 1, nor is 3.0 the format 3."""
    *names, last = map(repr, values)
    return Setting(
        default,
        meaning,
        f"{', '.join(names)} or {last}",
        lambda v: any(isinstance(v, type(value)) and v == value for value in values),
    )


def _count(
    default: int | None,
    meaning: str,
    allowed: str = "a positive integer below 2**63",
    most: int = (1 << 63) - 1,
    in_force: str | None = None,
) -> Setting:
    """Return a setting that is None or a positive integer; the engine counts with 64 bits."""
    return Setting(
        default,
        meaning,
        f"{allowed} or None",
        lambda v: v is None or (isinstance(v, int) and not isinstance(v, bool) and 1 <= v <= most),
        in_force,
    )


def _is_indent(value: Any) -> bool:
    """Return whether documents that are indented by `value`, a number of blanks or their text, are JSON."""
    if isinstance(value, str):
        return len(value) <= 100 and not value.strip(" \t")
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100


SETTINGS = {
    "default_zarr_format": _choice(
        3,
        "Format of new nodes where `zarr_format=` is not given, or None; `create_array`, as in zarr-python, "
        "makes format 3 unless it is given.",
        2,
        3,
    ),
    "array.order": _choice("C", "Memory layout of the arrays that a read returns.", "C", "F"),
    "array.write_empty_chunks": _choice(
        False, "Store chunks that contain nothing but the fill value.", True, False
    ),
    "array.read_missing_chunks": _choice(
        True, "Read absent chunks as the fill value; False makes them a `ChunkNotFoundError`.", True, False
    ),
    "array.target_shard_size_bytes": _count(
        None,
        'Most bytes of a shard where `shards="auto"`; None: room for 2, 4, 8 or 16 chunks, by the number of '
        "dimensions.",
    ),
    "array.max_variable_chunk_bytes": _count(
        1 << 28,
        "Most bytes of a stored chunk (or inner chunk) whose size the metadata do not bound, as with strings "
        "and other items of any length; larger ones are neither read nor written.  None: no limit.",
    ),
    "array.allow_unsafe_pickle_decode": _choice(
        False, "Decode Python objects that were pickled, which can run any code.", True, False
    ),
    "async.concurrency": _count(
        None,
        "Most requests at a time to a store over a network; None: 256.",
        in_force="zarrcore.storage.remote:reads_at_once",
    ),
    "async.write_concurrency": _count(
        None,
        "Most of these requests that write; None: as many as `async.concurrency` if that is set, "
        "otherwise 64.",
        in_force="zarrcore.storage.remote:concurrency",
    ),
    "async.bytes_in_flight": _count(
        1 << 27,
        "Most bytes of a read that are on the way from a store over a network, or wait to be decoded, at a "
        "time, and of chunks that are encoded and sent; None: no limit.  A single chunk, or what is read of "
        "a single shard, may have more.",
    ),
    "threading.max_workers": _count(
        None,
        "Threads of a call where `threads=` is not given; None: one for each CPU that the process may use, "
        "in a worker of dask's distributed as many as it has.  "
        "`array.info` shows how many, as `config.get` does.",
        "an integer from 1 to 65536",
        1 << 16,
        "zarrcore.engine.build:threads_in_force",
    ),
    "memory.kept_results": Setting(
        1 << 29,
        "Most bytes that large results (of 32 MiB and more), once nothing uses them, keep for up to two "
        "seconds, for the next results of about their size; 0: none.  The system may take them meanwhile "
        "(Linux, macOS; elsewhere none are kept).",
        "an integer from 0 to 2**63 - 1",
        lambda v: isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 63,
    ),
    "store.fsync": _choice(
        False,
        "Wait until each write to a directory is on disk, and a ZIP archive that is closed, unless "
        "`LocalStore` or `ZipStore` got another `fsync=`.",
        True,
        False,
    ),
    "store.page_cache": _choice(
        True,
        "Let the system keep the chunks of a directory in memory after they are read or written, unless "
        "`LocalStore` got another `page_cache=`.",
        True,
        False,
    ),
    "store.locks": _choice(
        "none",
        '"file": writers to a directory keep other processes away from the same chunks and metadata, '
        'unless `LocalStore` got another `locks=`; "warn": the same, with a warning where two processes '
        "write to one chunk at the same time.",
        "none",
        "file",
        "warn",
    ),
    "pickle.credentials": _choice(
        False,
        "Put the credentials of a store, in `storage_options` or its URL, into pickles of it.  Processes of "
        "`multiprocessing` get them always.",
        True,
        False,
    ),
    "metadata.check_consolidated": _choice(
        None,
        "Whether consolidated metadata are compared with the own document of a member that is opened; "
        '"warn" uses the own document if they differ.  '
        'None: "warn" in directories and in memory, otherwise "off".',
        "off",
        "warn",
        "raise",
        None,
    ),
    "metadata.confirm_reads": _choice(
        "near",
        "Where a read of several chunks looks at its end whether the array was replaced meanwhile, and a "
        'write before it begins: "near", in directories and in memory, or "always", also in an '
        "`ObjectStore`, which is one more request and wait for each of them.",
        "near",
        "always",
    ),
    "attributes.nan": _choice(
        "refuse",
        "Whether NaN and infinities, which JSON does not have, may be written to attributes.",
        "refuse",
        "allow",
    ),
    "json_indent": Setting(
        2,
        "Indentation of metadata documents.",
        "a number of blanks up to 100, or None for one line",
        lambda v: v is None or _is_indent(v),
    ),
}
"""The keys that zarrcore reads; every other key takes any value."""


# Keys of zarr-python that change nothing here.
_WITHOUT_EFFECT = (
    "array.rectilinear_chunks",
    "array.sharding_",
    "array.v2_default_",
    "array.v3_default_",
    "async.timeout",
    "codec_pipeline.",
    "codecs.",
)

# Keys of classes that zarrcore.registry returns, and what it does unless they are set.
_CHOICES = {
    "buffer": "zarrcore.buffer.cpu.Buffer",
    "codec_pipeline.path": "zarrcore.codecs.chain.CodecChain",
    "ndbuffer": "zarrcore.buffer.cpu.NDBuffer",
}


class Config:
    """A tree of settings, addressed by dotted keys such as ``"array.order"``.

    Keys are not case-folded; ``-`` and ``_`` are the same.  Scripts and plug-ins may store keys of their own;
    one that looks like a misspelt key of zarrcore is refused.  Settings belong to the process: every
    thread sees them.

    Parameters
    ----------
    defaults : mapping
        The settings of a fresh configuration, flat or nested.
    environ : mapping, optional
        Environment variables to read; none by default.

    Examples
    --------
    >>> own = Config({"array": {"order": "C"}})
    >>> with own.set({"array.order": "F"}):
    ...     own.get("array.order")
    'F'
    >>> own.get("array.order")
    'C'
    """

    _values: dict[str, Any]
    _items: tuple[tuple[str, Any], ...]  # the same, another object after each change

    def __init__(self, defaults: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> None:
        self._defaults = _flatten(defaults)
        self._watchers: dict[str, Callable[[Any], object]] = {}
        # Flat, so that a lookup on a hot path is one dictionary access; changed without a lock, for which
        # others would wait while a signal handler waits for them.
        self._values = {}
        self._replace(self._defaults)
        self._read_environment(environ or {})
        self._initial = self._values.copy()
        forkable(self)

    # --- reading ---

    def get(self, key: str, default: Any = _MISSING) -> Any:
        """Return the value of `key` that is in force, or `default` if nothing is set there.

        Where None is set and stands for a number that zarrcore chooses, that is the number; :meth:`given`
        returns the None.  For a `key` that names a whole branch it is a dictionary of what is set there.

        Raises
        ------
        KeyError
            If nothing is set at `key` and no default is given.
        """
        value = self._values.get(key)
        if value is not None:
            return value
        value, name = self.given(key, default), _normalise(key)
        return _in_force(name) if value is None and name in self._values else value

    def given(self, key: str, default: Any = _MISSING) -> Any:
        """Return what is set at `key`, which may be None where :meth:`get` returns a number.

        Parameters and errors are those of :meth:`get`.
        """
        name, values = _normalise(key), self._values
        value = values.get(name, _MISSING)
        if value is _MISSING:
            value = _branch(values, name) or default
        if value is _MISSING:
            value = _CHOICES.get(name, _MISSING)
        if value is _MISSING:
            raise KeyError(key)
        return value

    def __getitem__(self, key: str) -> Any:
        return self.get(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.given(key, _ABSENT) is not _ABSENT

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as nested dictionaries (a copy)."""
        return _nest(self._values)

    @property
    def config(self) -> dict[str, Any]:
        """All settings as nested dictionaries (a copy), under the name that zarr-python's have."""
        return self.to_dict()

    @property
    def defaults(self) -> list[dict[str, Any]]:
        """The default settings as nested dictionaries (a copy)."""
        return [_nest(self._defaults)]

    def pprint(self, **options: Any) -> None:
        """Print all settings; the options are those of :func:`pprint.pprint`, such as ``stream``."""
        from pprint import pprint

        pprint(self.to_dict(), **options)

    def __repr__(self) -> str:
        return f"Config({self.to_dict()!r})"

    # --- writing ---

    def set(self, arg: Mapping[str, Any] | None = None, **kwargs: Any) -> Restore:
        """Change settings, at once; used in a ``with`` statement, the old ones come back at its end.

        Parameters
        ----------
        arg : mapping, optional
            New values; keys are dotted, or values are nested mappings, which are merged into what is set.
        **kwargs
            The same with ``__`` for the dot: ``array__order="F"``.

        Raises
        ------
        BadConfigError
            If a value is not one its key may have; then nothing is changed.
        """
        changes = _flatten(arg or {})
        changes.update(_flatten({key.replace("__", "."): value for key, value in kwargs.items()}))
        for key, value in changes.items():
            _check(key, value)
            self._check_known(key)
        values = {**self._values, **changes}
        for key in changes:
            _refuse_leaf_with_children(values, key)
        before = {key: self._values.get(key, _MISSING) for key in changes}
        self._replace(changes)
        return Restore(self, before)

    def update(self, new: Mapping[str, Any]) -> None:
        """Change settings for good; like :meth:`set` outside a ``with`` statement."""
        self.set(new)

    def reset(self) -> None:
        """Restore the defaults and the settings that the environment had at import."""
        self._replace(dict.fromkeys(self._values.copy(), _MISSING) | self._initial)

    refresh = reset

    def watch(self, key: str, watcher: Callable[[Any], object]) -> None:
        """Call `watcher` with the value of `key` now and whenever it is set; one watcher a key."""
        self._watchers[key] = watcher
        self._announce(key)

    def _read_environment(self, environ: Mapping[str, str]) -> None:
        for variable, text in environ.items():
            if not variable.startswith(_PREFIX):
                continue
            name = _normalise(variable.removeprefix(_PREFIX).lower().replace("__", "."))
            try:
                self.set({_ALIASES.get(name, name): _parse(text)})
            except (BadConfigError, TypeError) as error:  # TypeError: a key that is no string
                import warnings

                # An import that fails would be worse than a default that was announced.
                warnings.warn(
                    f"environment variable {printable(variable)} is ignored: {error}",
                    ZarrUserWarning,
                    stacklevel=3,
                )

    def _check_known(self, key: str) -> None:
        """Refuse a key that looks like a misspelt one; warn of those that only zarr-python reads."""
        known = self._defaults.keys() | SETTINGS.keys() | _CHOICES.keys()
        if key in known or key in self._values or any(key.startswith(f"{name}.") for name in known):
            return
        if key.startswith(_WITHOUT_EFFECT):
            import warnings

            warnings.warn(
                f"configuration {key!r} has no effect in zarrcore", ZarrRuntimeWarning, stacklevel=3
            )
            return
        from difflib import get_close_matches

        # Without a section, a name of one that has it, or what the environment variable is called.
        short = {name.rpartition(".")[2]: name for name in SETTINGS} | _ALIASES
        names = {} if "." in key else short | {"threads": _ALIASES["num_threads"]}
        near = get_close_matches(key, sorted(known | names.keys()), n=1, cutoff=0.8)
        close = [names.get(name, name) for name in near]
        sections = {name.partition(".")[0] for name in SETTINGS if "." in name}
        section, dot, _ = key.partition(".")
        if close or (dot and section in sections):
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(SETTINGS))}"
            raise BadConfigError(f"configuration {key!r}: zarrcore has no such key; {hint}")

    def _restore(self, old: Mapping[str, Any]) -> None:
        self._replace(old)

    def _replace(self, changes: Mapping[str, Any]) -> None:
        """Change settings, all of them at once; those that are _MISSING are removed."""
        self._values.update({key: value for key, value in changes.items() if value is not _MISSING})
        for key, value in changes.items():
            if value is _MISSING:
                self._values.pop(key, None)
        # Of several threads, the last one to do this looks once more, and finds what all have set.
        items: tuple[tuple[str, Any], ...] = ()
        while items != (now := (*self._values.items(),)):
            self._items = items = now
        for key in changes.keys() & self._watchers.keys():
            self._announce(key)

    def _announce(self, key: str) -> None:
        value: Any = _MISSING
        while value is not (now := self._values.get(key)):
            self._watchers[key](now)
            value = now

    def _at_fork_reinit(self) -> None:
        """Begin a child of a fork with a dictionary of its own, made of what has no lock.

        Without a GIL CPython locks a dictionary while it is read, and hands that lock to a thread that waits,
        which need not be in the child: nobody could ask for a setting there.
        """
        self._values = dict(self._items)


_KEYS = "\n".join(
    f"    {key} : {setting.allowed}, default {setting.default!r}\n        {setting.meaning}"
    for key, setting in SETTINGS.items()
)
# Read by help(zarrcore.config).
_NOTES = f"    Notes\n    -----\n    zarrcore reads these keys:\n\n{_KEYS}\n"
Config.__doc__ = f"{(Config.__doc__ or '').rstrip()}\n\n{_NOTES}"


class Restore:
    """What :meth:`Config.set` returns: a context manager that puts the old settings back when it ends."""

    def __init__(self, owner: Config, old: Mapping[str, Any]) -> None:
        self._owner = owner
        self._old = old

    def __enter__(self) -> Config:
        return self._owner

    def __exit__(self, *exc: object) -> None:
        self._owner._restore(self._old)


def _normalise(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a configuration key is a string, got {given(key)}")
    return key.replace("-", "_")


_MOST_LEVELS = 64


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings to dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        name = prefix + _normalise(key)
        # An empty dictionary in the place of a setting is a wrong value, no branch without settings.
        if isinstance(value, dict) and (value or name not in SETTINGS):
            if name.count(".") == _MOST_LEVELS:
                raise BadConfigError(f"a configuration key has at most {_MOST_LEVELS} dots: {name!r}")
            flat.update(_flatten(value, name + "."))
        else:
            flat[name] = value
    return flat


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys to nested dictionaries."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *parents, last = key.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[last] = value
    return tree


def _branch(flat: Mapping[str, Any], name: str) -> dict[str, Any]:
    prefix = name + "."
    return _nest({key.removeprefix(prefix): value for key, value in flat.items() if key.startswith(prefix)})


def _in_force(key: str) -> Any:
    """Return what None stands for at a key, where that is one number."""
    place = SETTINGS[key].in_force if key in SETTINGS else None
    if place is None:
        return None
    from importlib import import_module

    module, _, function = place.partition(":")
    return getattr(import_module(module), function)()


def _check(key: str, value: Any) -> None:
    setting = SETTINGS.get(key)
    try:
        accepted = setting is None or setting.accepts(value)
    except Exception:  # of comparisons, such as those of arrays
        accepted = False
    if setting is not None and not accepted:
        raise BadConfigError(f"configuration {key!r}: expected {setting.allowed}, got {_described(value)}")


def _described(value: object) -> str:
    try:
        return f"{printable(repr(value)):.120}"
    except Exception:  # an integer of too many digits, an object of a user
        return f"<{type(value).__name__}>"


def _refuse_leaf_with_children(flat: Mapping[str, Any], key: str) -> None:
    """Refuse a key that is both a value and a branch: half of the settings would be invisible."""
    *parents, _ = key.split(".")
    above = [".".join(parents[: i + 1]) for i in range(len(parents))]
    below = [name for name in flat if name.startswith(key + ".")] if key in flat else []
    for other in [name for name in above if name in flat] + below[:1]:
        raise BadConfigError(f"configuration {key!r}: cannot be set together with {other!r}")


def _parse(text: str) -> Any:
    """Return a Python literal, ``true``/``false``, or the text itself."""
    import warnings  # imported only when a variable is set
    from ast import literal_eval

    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        with warnings.catch_warnings():  # those of the compiler name no variable
            warnings.simplefilter("ignore")
            return literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


config = Config({key: setting.default for key, setting in SETTINGS.items()}, os.environ)
