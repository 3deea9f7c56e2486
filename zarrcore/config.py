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
from typing import TYPE_CHECKING, Any

from zarrcore._locks import Lock
from zarrcore.errors import BadConfigError, ZarrRuntimeWarning, ZarrUserWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["BadConfigError", "Config", "config"]

_PREFIX = "ZARRCORE_"
_ALIASES = {"num_threads": "threading.max_workers"}
_MISSING: Any = object()
_ABSENT: Any = object()

_DEFAULTS: dict[str, Any] = {
    "default_zarr_format": 3,
    "array.order": "C",
    "array.write_empty_chunks": False,
    "array.read_missing_chunks": True,
    "array.target_shard_size_bytes": None,
    "array.allow_unsafe_pickle_decode": False,
    "async.concurrency": 64,
    "threading.max_workers": None,
    "store.fsync": False,
    "metadata.check_consolidated": None,
    "attributes.nan": "refuse",
    "json_indent": 2,
}


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

# Keys without a default: the classes that zarrcore.registry returns.
_CHOICES = {"buffer", "codec_pipeline.path", "ndbuffer"}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


# What the values of the keys that zarrcore itself reads may be; every other key takes any value.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "default_zarr_format": (lambda v: v in (2, 3) and not isinstance(v, bool), "2 or 3"),
    "array.order": (lambda v: v in ("C", "F"), "'C' or 'F'"),
    "array.write_empty_chunks": (lambda v: isinstance(v, bool), "True or False"),
    "array.read_missing_chunks": (lambda v: isinstance(v, bool), "True or False"),
    "array.allow_unsafe_pickle_decode": (lambda v: isinstance(v, bool), "True or False"),
    "async.concurrency": (lambda v: v is None or _is_count(v), "a positive integer or None"),
    "threading.max_workers": (
        lambda v: v is None or (_is_count(v) and v <= 1 << 16),
        "an integer from 1 to 65536 or None",
    ),
    "store.fsync": (lambda v: isinstance(v, bool), "True or False"),
    "attributes.nan": (lambda v: v in ("refuse", "allow"), "'refuse' or 'allow'"),
    "metadata.check_consolidated": (
        lambda v: v in (None, "off", "warn", "raise"),
        "'off', 'warn', 'raise' or None",
    ),
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
    """

    def __init__(self, defaults: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> None:
        self._defaults = _flatten(defaults)
        self._lock = Lock()
        self._watchers: dict[str, Callable[[Any], object]] = {}
        # Flat, so that a lookup on a hot path is one dictionary access; replaced as a whole, never changed in
        # place, so that readers need no lock.
        self._values = self._defaults
        self._read_environment(environ or {})
        self._initial = self._values

    # --- reading ---

    def get(self, key: str, default: Any = _MISSING) -> Any:
        """Return the value of `key`, or `default`; a dictionary if `key` names a whole branch.

        Raises
        ------
        KeyError
            If nothing is set at `key` and no default is given.
        """
        value = self._values.get(key, _MISSING)
        if value is not _MISSING:
            return value
        name = _normalise(key)
        values = self._values
        value = values.get(name, _MISSING)
        if value is _MISSING:
            value = _branch(values, name) or default
        if value is _MISSING:
            raise KeyError(key)
        return value

    def __getitem__(self, key: str) -> Any:
        return self.get(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key, _ABSENT) is not _ABSENT

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as nested dictionaries (a copy)."""
        return _nest(self._values)

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
        with self._lock:
            old = {key: self._values.get(key, _MISSING) for key in changes}
            self._replace(changes)
        return Restore(self, old)

    def update(self, new: Mapping[str, Any]) -> None:
        """Change settings for good; like :meth:`set` outside a ``with`` statement."""
        self.set(new)

    def reset(self) -> None:
        """Restore the defaults and the settings that the environment had at import."""
        with self._lock:
            self._values = self._initial
            for key, watcher in self._watchers.items():
                watcher(self._values.get(key))

    refresh = reset

    def watch(self, key: str, watcher: Callable[[Any], object]) -> None:
        """Call `watcher` with the value of `key` now and whenever it is set; one watcher a key."""
        with self._lock:
            self._watchers[key] = watcher
            watcher(self._values.get(key))

    def _read_environment(self, environ: Mapping[str, str]) -> None:
        for variable, text in environ.items():
            if not variable.startswith(_PREFIX):
                continue
            name = _normalise(variable.removeprefix(_PREFIX).lower().replace("__", "."))
            try:
                self.set({_ALIASES.get(name, name): _parse(text)})
            except BadConfigError as error:
                import warnings

                # An import that fails would be worse than a default that was announced.
                warnings.warn(
                    f"environment variable {variable} is ignored: {error}", ZarrUserWarning, stacklevel=3
                )

    def _check_known(self, key: str) -> None:
        """Refuse a key that looks like a misspelt one; warn of those that only zarr-python reads."""
        known = self._defaults.keys() | _DEFAULTS.keys() | _CHOICES
        if key in known or key in self._values or any(key.startswith(f"{name}.") for name in known):
            return
        if key.startswith(_WITHOUT_EFFECT):
            import warnings

            warnings.warn(
                f"configuration {key!r} has no effect in zarrcore", ZarrRuntimeWarning, stacklevel=3
            )
            return
        from difflib import get_close_matches

        close = get_close_matches(key, sorted(known), n=1, cutoff=0.8)
        sections = {name.partition(".")[0] for name in _DEFAULTS if "." in name}
        section, dot, _ = key.partition(".")
        if close or (dot and section in sections):
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(_DEFAULTS))}"
            raise BadConfigError(f"configuration {key!r}: zarrcore has no such key; {hint}")

    def _restore(self, old: Mapping[str, Any]) -> None:
        with self._lock:
            self._replace(old)

    def _replace(self, changes: Mapping[str, Any]) -> None:
        values = {**self._values, **changes}
        values = {key: value for key, value in values.items() if value is not _MISSING}
        for key in changes:
            _refuse_leaf_with_children(values, key)
        self._values = values
        for key in changes.keys() & self._watchers.keys():
            self._watchers[key](values.get(key))


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
        raise TypeError(f"a configuration key is a string, got {key!r}")
    return key.replace("-", "_")


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings to dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        name = prefix + _normalise(key)
        if isinstance(value, dict):
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


def _check(key: str, value: Any) -> None:
    rule = _RULES.get(key)
    if rule is not None and not rule[0](value):
        raise BadConfigError(f"configuration {key!r}: expected {rule[1]}, got {value!r}")


def _refuse_leaf_with_children(flat: Mapping[str, Any], key: str) -> None:
    """Refuse a key that is both a value and a branch: half of the settings would be invisible."""
    *parents, _ = key.split(".")
    above = [".".join(parents[: i + 1]) for i in range(len(parents))]
    below = [name for name in flat if name.startswith(key + ".")] if key in flat else []
    for other in [name for name in above if name in flat] + below[:1]:
        raise BadConfigError(f"configuration {key!r}: cannot be set together with {other!r}")


def _parse(text: str) -> Any:
    """Return a Python literal, ``true``/``false``, or the text itself."""
    from ast import literal_eval  # imported only when a variable is set

    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text


config = Config(_DEFAULTS, os.environ)
