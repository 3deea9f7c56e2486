"""The configuration object."""

from __future__ import annotations

import io
import os
import pydoc
import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import zarrcore
from zarrcore._core import engine
from zarrcore.config import SETTINGS, Config, config
from zarrcore.errors import BadConfigError, ZarrUserWarning
from zarrcore.storage import remote
from zarrcore.testing.process import in_child

DEFAULTS = {"array": {"order": "C", "write_empty_chunks": False}, "threading.max_workers": None, "x_y": 1}


@pytest.fixture
def own():
    return Config(DEFAULTS)


def test_the_defaults_of_the_package():
    fresh = Config(config.defaults[0])
    assert fresh.get("default_zarr_format") == 3
    assert (
        fresh.get("array") | {"order": "C", "write_empty_chunks": False, "read_missing_chunks": True}
        == fresh["array"]
    )
    assert fresh["store.fsync"] is False
    for key in ("threading.max_workers", "async.concurrency", "async.write_concurrency"):
        assert fresh.given(key) is None
        section, _, name = key.partition(".")
        assert fresh.to_dict()[section][name] is fresh.get(section)[name] is None


def test_get_returns_the_number_in_force_where_none_is_set() -> None:
    """It was None, and nothing but array.info showed how many threads work."""
    fresh = Config(config.defaults[0])
    assert fresh.get("threading.max_workers") == fresh["threading.max-workers"] == engine.num_threads() > 0
    assert (fresh.get("async.concurrency"), fresh.get("async.write_concurrency")) == (256, 64)
    array = zarrcore.create_array({}, shape=3, dtype="i4")
    for number in (None, 3):
        with config.set({"threading.max_workers": number}):
            assert array.info["Threads"] == config.get("threading.max_workers") == engine.num_threads()
            assert config.given("threading.max_workers") == number
    with config.set({"async.concurrency": 9}):
        assert config.get("async.concurrency") == config.get("async.write_concurrency") == 9
        assert config.given("async.write_concurrency") is None
    assert fresh.get("array.target_shard_size_bytes") is None  # no number stands for it


def test_numbers_in_force_are_what_is_used() -> None:
    with config.set({"async.concurrency": 9, "async.write_concurrency": 4}):
        assert (remote.reads_at_once(), remote.concurrency()) == (9, 4)
    with config.set({"async.write_concurrency": 100}):
        assert (remote.reads_at_once(), remote.concurrency()) == (256, 100)


def test_get(own):
    assert own.get("array.order") == own["array.order"] == "C"
    assert own["array"] == {"order": "C", "write_empty_chunks": False}
    assert own.given("threading.max_workers", 5) is None
    assert own.get("threading.max_workers", 0) == engine.num_threads()
    assert own.given("absent", None) is own.get("absent", None) is None
    assert own.given("array.order") == "C"
    assert own.get("absent", 5) == 5
    assert own.get("absent.deeper", None) is None
    for call in (own.get, own.given, own.__getitem__):
        with pytest.raises(KeyError, match="absent"):
            call("absent")
    assert "array" in own
    assert "array.order" in own
    assert "absent" not in own
    assert 3 not in own
    assert list(own) == ["array", "threading", "x_y"]


def test_dashes_are_underscores(own):
    assert own["x-y"] == 1
    own.set({"x-y": 2})
    assert own["x_y"] == 2


def test_set_forms(own):
    own.set({"array.order": "F"})
    assert own["array.order"] == "F"
    own.set({"array": {"order": "C"}}, threading__max_workers=3)
    assert own["array"] == {"order": "C", "write_empty_chunks": False}
    assert own["threading.max_workers"] == 3
    own.update({"unknown.to.us": [1, 2]})
    assert own["unknown"] == {"to": {"us": [1, 2]}}


def test_a_with_statement_restores(own):
    with own.set({"array.order": "F", "new.key": 1}) as inside:
        assert inside is own
        with own.set(array__order="C"):
            assert own["array.order"] == "C"
        assert own["array.order"] == "F"
        own.set({"x_y": 9})
    assert own["array.order"] == "C"
    assert "new.key" not in own
    assert "new" not in own
    assert own["x_y"] == 9


def test_a_with_statement_restores_after_an_error(own):
    with pytest.raises(ZeroDivisionError), own.set({"array.order": "F"}):
        raise ZeroDivisionError
    assert own["array.order"] == "C"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("default_zarr_format", 1),
        ("default_zarr_format", True),
        ("array.order", "K"),
        ("array.write_empty_chunks", 1),
        ("threading.max_workers", 0),
        ("threading.max_workers", "4"),
        ("async.concurrency", -1),
        ("store.fsync", "yes"),
    ],
)
def test_bad_values_are_refused(own, key, value):
    before = own.to_dict()
    with pytest.raises(BadConfigError, match=f"'{key}'"):
        own.set({"x_y": 5, key: value})
    assert own.to_dict() == before


@pytest.mark.parametrize("change", [{"array": 5}, {"array.order.deeper": 1}, {"x_y": {"z": 1}}])
def test_a_key_is_a_value_or_a_branch(own, change):
    before = own.to_dict()
    with pytest.raises(BadConfigError, match="together with"):
        own.set(change)
    assert own.to_dict() == before


def test_a_key_is_a_string(own):
    with pytest.raises(TypeError, match="string"):
        own.set({3: 1})


def test_reset(own):
    own.set({"array.order": "F", "new": 1})
    own.reset()
    assert own.to_dict() == own.defaults[0]


def test_copies_are_copies(own):
    own.defaults[0]["array"]["order"] = "F"
    own.to_dict()["array"]["order"] = "F"
    own["array"]["order"] = "F"
    assert own["array.order"] == "C"


def test_printing(own, capsys):
    own.pprint()
    assert "write_empty_chunks" in capsys.readouterr().out
    assert "'order': 'C'" in repr(own)
    stream = io.StringIO()
    own.pprint(stream=stream, depth=1)
    assert "'array': {...}" in stream.getvalue()


def test_environment():
    own = Config(
        DEFAULTS,
        {
            "ZARRCORE_NUM_THREADS": "4",
            "ZARRCORE_ARRAY__ORDER": "F",
            "ZARRCORE_ARRAY__WRITE_EMPTY_CHUNKS": "true",
            "ZARRCORE_MY__LIST": "[1, 2]",
            "ZARRCORE_MY__TEXT": "a b",
            "ZARRCORE_MY__NONE": "none",
            "ZARR_ARRAY__ORDER": "not ours",
        },
    )
    assert own["threading.max_workers"] == 4
    assert own["array"] == {"order": "F", "write_empty_chunks": True}
    assert own["my"] == {"list": [1, 2], "text": "a b", "none": None}
    own.set({"array.order": "C"})
    own.reset()
    assert own["array.order"] == "F"


@pytest.mark.parametrize("variable", ["ZARRCORE_NUM_THREADS", "ZARRCORE_ARRAY__ORDER", "ZARRCORE_ARRAY"])
def test_a_bad_environment_warns(variable):
    with pytest.warns(ZarrUserWarning, match=variable):
        own = Config(DEFAULTS, {variable: "many"})
    assert own.to_dict() == own.defaults[0]


def test_the_environment_is_read_at_import():
    code = "from zarrcore.config import config; print(config['threading.max_workers'])"
    environ = {**os.environ, "ZARRCORE_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "3"


def test_threads_lose_no_setting(own):
    def work(name):
        for turn in range(200):
            own.set({f"thread.{name}": turn})

    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert own["thread"] == {f"t{i}": 199 for i in range(4)}


def test_every_key_has_a_meaning_and_a_valid_default():
    assert [key for key, setting in SETTINGS.items() if not setting.meaning.endswith(".")] == []
    assert [key for key, setting in SETTINGS.items() if not setting.accepts(setting.default)] == []


def test_help_lists_every_key_with_its_default():
    text = pydoc.render_doc(config, renderer=pydoc.plaintext)
    for key, setting in SETTINGS.items():
        assert f"{key} : {setting.allowed}, default {setting.default!r}" in text
        assert setting.meaning in text


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("default_zarr_format", True),
        ("array.write_empty_chunks", 1),
        ("array.target_shard_size_bytes", 0),
        ("threading.max_workers", 1 << 17),
        ("threading.max_workers", True),
        ("metadata.check_consolidated", "no"),
        ("json_indent", "x"),
        ("json_indent", 1.5),
        ("json_indent", True),
        ("json_indent", -1),
        ("json_indent", 10**20),
        ("default_zarr_format", 3.0),
        ("array.order", np.array("C")),
        ("array.order", {}),
        ("array.max_variable_chunk_bytes", 1 << 63),
        ("async.bytes_in_flight", 1 << 64),
        ("async.concurrency", 1 << 200),
    ],
)
def test_values_that_a_key_cannot_have_are_refused(key, wrong):
    with pytest.raises(BadConfigError, match=re.escape(f", got {wrong!r}")) as caught:
        config.set({key: wrong})
    assert re.match(f"configuration '{key}': expected ", str(caught.value))


@pytest.mark.parametrize("wrong", ["x" * 10_000, 10**5000, "\x1b[31m"], ids=["long", "digits", "red"])
def test_what_is_said_of_a_wrong_value_is_short_and_harmless(wrong):
    with pytest.raises(BadConfigError, match="array.order") as caught:
        config.set({"array.order": wrong})
    assert len(str(caught.value)) < 200 and str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["1if 2else 3", r"'\d'"])
def test_the_compiler_says_nothing_of_an_environment(text):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Config(DEFAULTS, {"ZARRCORE_MY__KEY": text, "ZARRCORE_\x1b[31m": "{1: 2}"})
    (warning,) = caught
    assert str(warning.message).startswith(r"environment variable ZARRCORE_\x1b[31m is ignored")


def test_values_that_cannot_be_compared_are_refused():
    with pytest.raises(BadConfigError, match="array.order.*expected 'C' or 'F'"):
        config.set({"array.order": np.array(["C", "F"])})


@pytest.mark.parametrize("text", ["{1: 2}", "{[]: 1}", "-" * 100_000, "(" * 500])
def test_no_environment_keeps_the_package_from_being_imported(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZarrUserWarning)
        own = Config(DEFAULTS, {"ZARRCORE_MY__KEY": text})
    assert own["array.order"] == DEFAULTS["array"]["order"]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("threads", "threading.max_workers"),
        ("num_threads", "threading.max_workers"),
        ("max_workers", "threading.max_workers"),
        ("fsync", "store.fsync"),
        ("order", "array.order"),
    ],
)
def test_a_key_without_its_section_is_refused(key, meant):
    with pytest.raises(BadConfigError, match=f"'{key}': .*did you mean '{meant}'"):
        config.set({key: 1})
    assert key not in config


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_of_a_fork_waited_for_a_reader_of_settings_that_is_not_there() -> None:
    """Without a GIL CPython hands the lock of a dictionary to who waits for it; the child has another one."""
    with config.set({"array.order": "F"}):
        values = config._values
        assert in_child(lambda: config._values is not values and config._values == values)


def test_an_array_has_the_settings_that_are_in_force_when_it_is_opened() -> None:
    def is_of_fortran() -> bool:
        return bool(zarrcore.zeros((2, 3), store={})[:].flags["F_CONTIGUOUS"])

    assert not is_of_fortran()
    with config.set({"array.order": "F"}):
        assert is_of_fortran()
    assert not is_of_fortran()
