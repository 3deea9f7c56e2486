# SPDX-License-Identifier: MIT
"""How many requests remote stores are asked, and how many of them wait for each other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from datetime import timedelta
from threading import current_thread
from time import sleep
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.storage import clients, make_store, object_reads, tags, versions
from zarrcore.storage.ends import Ends

pytest.importorskip("obstore")

VALUES = np.arange(1000 * 1000, dtype="i4").reshape(1000, 1000)
SHARDS: dict[str, Any] = {"chunks": (50, 50), "shards": (500, 500), "compressors": None}


@pytest.fixture
def words(server: ObjectServer) -> dict[str, Any]:
    return {"key": "testing", "secret": "s", "endpoint_url": server.url}


@pytest.fixture
def place(words: dict[str, Any], request: Any) -> Callable[[], Any]:
    """A store that nobody has used, of a bucket of its own, opened once more by each call."""
    bucket = f"bucket-{abs(hash(request.node.nodeid))}"
    return lambda: make_store(f"s3://{bucket}/data", storage_options=words)


def test_opening_an_array_is_one_wave_and_then_one_request(server: ObjectServer, place: Any) -> None:
    zarrcore.create_array(place(), name="a", data=np.arange(10))
    with server.watch() as seen:
        zarrcore.open_array(place(), path="a", mode="r")
    assert seen.waves == 1
    for mode in ("r", "r+"):
        with server.watch() as seen:
            zarrcore.open_array(place(), path="a", mode=mode)
        assert len(seen.requests) == 1, str(seen)
    with server.watch() as seen:
        zarrcore.open_array(place(), path="a", mode="r", zarr_format=3)
    assert len(seen.requests) == 1


def test_both_formats_in_one_store(server: ObjectServer, place: Any) -> None:
    zarrcore.create_array(place(), name="three", data=np.arange(10))
    zarrcore.create_array(place(), name="two", data=np.arange(10), zarr_format=2)
    for _ in range(3):
        for name in ("three", "two"):
            assert zarrcore.open_array(place(), path=name, mode="r")[3] == 3
    with server.watch() as seen:
        zarrcore.open_array(place(), path="two", mode="r")
    assert seen.waves == 1


def test_a_group_that_is_found_was_read_twice(server: ObjectServer, place: Any) -> None:
    zarrcore.create_group(place())
    for mode in ("r", "a"):
        zarrcore.open(place(), mode=mode)
        with server.watch() as seen:
            zarrcore.open(place(), mode=mode)
        assert len(seen.requests) == 1, str(seen)
    with server.watch() as seen:
        zarrcore.open(place(), path="b", mode="a")
    assert seen.waves == 5, str(seen)


def test_opening_a_consolidated_group_is_one_wave(server: ObjectServer, place: Any) -> None:
    root = zarrcore.create_group(place())
    for number in range(5):
        root.create_array(f"a{number}", shape=(10,), dtype="i4")
    zarrcore.consolidate_metadata(place())
    with server.watch() as seen:
        group = zarrcore.open_group(place(), mode="r")
        assert len(dict(group.members())) == 5
        assert group["a3"].shape == (10,)
    assert seen.waves == 1


@pytest.mark.parametrize("zarr_format", [3, 2])
def test_listing_200_arrays_is_two_waves(server: ObjectServer, place: Any, zarr_format: int) -> None:
    root = zarrcore.create_group(place(), zarr_format=zarr_format)
    root.create_array("a0", shape=(10,), dtype="i4")
    array = {key: value for key, value in server.objects.items() if "/a0/" in key}
    for number in range(1, 200 if zarr_format == 3 else 60):
        server.objects |= {key.replace("/a0/", f"/a{number}/"): value for key, value in array.items()}
    group = zarrcore.open_group(place(), mode="r", use_consolidated=False)
    with server.watch() as seen:
        assert len(dict(group.members())) == (200 if zarr_format == 3 else 60)
    assert seen.waves == 2


@pytest.mark.parametrize("kind", ["array", "group"])
def test_creating_is_two_requests(server: ObjectServer, place: Any, kind: str) -> None:
    with server.watch() as seen:
        if kind == "array":
            zarrcore.create_array(place(), shape=(10,), dtype="i4")
        else:
            zarrcore.create_group(place())
    assert (len(seen.requests), seen.waves) == (2, 2), str(seen)


def test_a_tree_of_format_2_is_not_hidden_and_looking_takes_no_wave(server: ObjectServer, place: Any) -> None:
    """A root of format 3 was made above it, and the group of format 2 had no members any more."""
    with server.watch() as seen:
        zarrcore.create_array(place(), name="a", shape=(10,), dtype="i4")
    assert (len(seen.requests), seen.waves) == (3, 2), str(seen)
    group = zarrcore.create_group(place(), path="old", zarr_format=2)
    group.create_array("values", data=[1, 2, 3])
    before = dict(server.objects)
    with pytest.raises(zarrcore.errors.ContainsGroupError, match="would hide"):
        zarrcore.create_array(place(), name="old/new", shape=3, dtype="i4")
    with pytest.raises(zarrcore.errors.ContainsArrayError, match="would hide"):
        zarrcore.create_group(place(), path="old/values/new", overwrite=True)
    assert server.objects == before


def test_what_is_above_is_looked_at_in_one_wave(server: ObjectServer, place: Any) -> None:
    """Each group above was waited for, and then whether anything is at the place."""
    zarrcore.create_array(place(), name="x/y/z/a", shape=(10,), dtype="i4")
    with server.watch() as seen:
        zarrcore.create_array(place(), name="x/y/z/b", shape=(10,), dtype="i4")
    assert seen.waves == 2, str(seen)
    group = zarrcore.open_group(place(), path="x/y", mode="r+")
    with server.watch() as seen:
        group.create_array("c", shape=(10,), dtype="i4")
    assert (len(seen.requests), seen.waves) == (5, 2), str(seen)  # and the copies in two groups above
    with pytest.raises(zarrcore.errors.ContainsArrayError, match="'x/y/c'; no node can be below it"):
        zarrcore.create_group(place(), path="x/y/c/d/e")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_that_was_removed_is_made_again(server: ObjectServer, place: Any, zarr_format: int) -> None:
    group = zarrcore.create_group(place(), path="x/y", zarr_format=zarr_format)
    server.objects.clear()
    group.create_array("a", shape=(10,), dtype="i4")
    assert [*zarrcore.open_group(place(), mode="r")["x/y"].array_keys()] == ["a"]


def test_overwriting_nothing_is_creating(server: ObjectServer, place: Any) -> None:
    """What was not there was looked for, listed and removed all the same: 7 waves."""
    zarrcore.create_group(place())
    for mode in ({"overwrite": True}, {}):
        with server.watch() as seen:
            zarrcore.create_array(place(), name=f"a{len(mode)}", shape=(10,), dtype="i4", **mode)
        assert (len(seen.requests), seen.waves) == (3, 2), str(seen)


def test_each_document_above_a_new_node_was_looked_for(server: ObjectServer, place: Any) -> None:
    """One look at an empty store shows that none is there; where there are nodes, a group is at the root."""
    with server.watch() as seen:
        zarrcore.create_array(place(), name="x/y/a", shape=(10,), dtype="i4")
    assert (len(seen.requests), seen.waves) == (5, 2), str(seen)
    with server.watch() as seen:
        group = zarrcore.create_group(place(), path="b")
    assert (len(seen.requests), seen.waves) == (3, 2), str(seen)
    with server.watch() as seen:
        group.create_array("c", shape=(10,), dtype="i4")
    assert (len(seen.requests), seen.waves) == (4, 2), str(seen)  # and the copy in the root
    zarrcore.consolidate_metadata(place())
    for made in (group.create_array("d", shape=3, dtype="i4"), zarrcore.create_group(place(), path="e")):
        assert made.path in zarrcore.open_consolidated(place())


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["array", "group"])
def test_what_another_process_has_made_is_not_taken_for_an_empty_store(
    server: ObjectServer, place: Any, words: Any, kind: str, zarr_format: int
) -> None:
    create: Any = zarrcore.create_array if kind == "array" else zarrcore.create_group
    options = {"shape": 3, "dtype": "i4"} if kind == "array" else {}
    create(place(), zarr_format=zarr_format, **options)
    server.objects.update({key.replace("/data/", "/was/"): value for key, value in server.objects.items()})
    before = dict(server.objects)
    there = make_store(str(place()).replace("/data", "/was"), storage_options=words)
    if (kind, zarr_format) == ("group", 3):
        zarrcore.create_array(there, name="a", shape=3, dtype="i4")
        assert [*zarrcore.open_group(there).array_keys()] == ["a"]
        return
    exists = zarrcore.errors.ContainsArrayError if kind == "array" else zarrcore.errors.ContainsGroupError
    with pytest.raises(exists):
        zarrcore.create_array(there, name="a", shape=3, dtype="i4", zarr_format=3)
    assert server.objects == before
    # Nor where this process has found nodes, which somebody replaces.
    server.objects.clear()
    zarrcore.create_array(there, name="a", shape=3, dtype="i4")
    server.objects.clear()
    server.objects.update(before)
    with pytest.raises(zarrcore.errors.BaseZarrError, match="hide|below it"):
        zarrcore.create_array(there, name="b", shape=3, dtype="i4", zarr_format=3)
    assert server.objects == before


def test_the_groups_above_a_new_node_took_turns(server: ObjectServer, place: Any) -> None:
    with server.watch() as seen:
        zarrcore.create_array(place(), name="x/y/a", shape=(10,), dtype="i4")
    assert (len([r for r in seen.requests if r.method == "PUT"]), seen.waves) == (4, 2), str(seen)
    assert [*zarrcore.open_group(place(), mode="r")["x/y"].array_keys()] == ["a"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_node_is_withdrawn_if_somebody_makes_an_array_above(
    server: ObjectServer, place: Any, zarr_format: int
) -> None:
    """It is stored at the same time as the groups above it."""
    name = "zarr.json" if zarr_format == 3 else ".zarray"
    array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=zarr_format)

    def intervene(request: Any) -> None:
        if request.key.endswith(("/x/zarr.json", "/x/.zgroup")):
            server.objects[f"{request.key.rpartition('/')[0]}/{name}"] = bytes(array.store.get(name))

    server.before_put = intervene
    with pytest.raises(zarrcore.errors.ContainsArrayError, match="'x'"):
        zarrcore.create_array(place(), name="x/y/a", shape=10, dtype="i4", zarr_format=zarr_format)
    assert not [key for key in server.objects if key.endswith(f"/a/{name}")], [*server.objects]


@pytest.mark.parametrize("key", ["data/zarr.json", "x/zarr.json"])
def test_a_node_is_withdrawn_if_a_group_above_cannot_be_stored(
    server: ObjectServer, place: Any, key: str
) -> None:
    server.fail(403, f"{key}$", method="PUT")
    with pytest.raises(zarrcore.errors.StoreError, match=r"zarr\.json.*403"):
        zarrcore.create_array(place(), name="x/a", shape=10, dtype="i4")
    assert not [key for key in server.objects if "/a/" in key], [*server.objects]


def test_copies_above_were_looked_for_after_a_change(server: ObjectServer, place: Any) -> None:
    """What is above was asked for once the document was stored, which was one more wave of each change."""
    zarrcore.create_array(place(), name="x/a", data=np.arange(20), chunks=4)
    array = zarrcore.open_array(place(), path="x/a", mode="r+")
    with server.watch() as seen:
        array.attrs["n"] = 1
    assert seen.waves == 1, str(seen)
    with server.watch() as seen:
        array.append(np.arange(4))
    assert seen.waves == 3, str(seen)
    zarrcore.consolidate_metadata(place())
    array.attrs["n"] = 2
    assert zarrcore.open_consolidated(place())["x/a"].attrs["n"] == 2


@pytest.mark.parametrize("kind", ["array", "group"])
def test_a_node_was_read_again_before_its_attributes_were_changed(
    server: ObjectServer, place: Any, kind: str
) -> None:
    zarrcore.create_group(place(), path="a/b") if kind == "group" else zarrcore.create_array(
        place(), name="a/b", shape=3, dtype="i4"
    )
    zarrcore.open(place(), path="a/b")
    with server.watch() as seen:
        node = zarrcore.open(place(), path="a/b", mode="r+")
        node.attrs["n"] = 1
    assert (len(seen.requests), seen.waves) == (4, 2), str(seen)  # two for copies above it
    with server.watch() as seen:
        node.attrs["n"] = 2
    assert seen.waves == 1, str(seen)
    assert zarrcore.open(place(), path="a/b", mode="r").attrs.asdict() == {"n": 2}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_attributes_that_others_have_just_changed_are_not_lost(
    server: ObjectServer, place: Any, zarr_format: int
) -> None:
    """What was read a moment ago takes the place of reading them again: the server finds out the others."""
    array = zarrcore.create_array(place(), shape=3, dtype="i4", zarr_format=zarr_format)
    name = "zarr.json" if zarr_format == 3 else ".zattrs"
    key = next(key for key in server.objects if key.endswith(name))

    def by_others(**attributes: int) -> None:
        other = zarrcore.create_array({}, shape=3, dtype="i4", attributes=attributes, zarr_format=zarr_format)
        server.objects[key] = bytes(other.store.get(name))

    array.attrs["a"] = 1
    by_others(a=1, b=2)
    array.attrs["c"] = 3
    assert array.attrs.asdict() == {"a": 1, "b": 2, "c": 3}
    by_others(d=4, e=5)
    del array.attrs["d"]  # which the array does not have, as far as is known here
    assert zarrcore.open_array(place(), mode="r").attrs.asdict() == {"e": 5}
    with pytest.raises(KeyError):
        del array.attrs["d"]
    server.objects.clear()
    with pytest.raises(zarrcore.errors.ArrayNotFoundError):
        array.attrs["f"] = 6
    assert not server.objects


def test_attributes_that_an_event_loop_changes_were_read_again(server: ObjectServer, place: Any) -> None:
    zarrcore.create_array(place(), shape=3, dtype="i4")
    zarrcore.open_array(place())

    async def change(name: str) -> None:
        array = await zarrcore.AsyncArray.open(place())
        await array.update_attributes({name: 1})

    async def several() -> None:
        await asyncio.gather(*(change(f"n{number}") for number in range(8)))

    with server.watch() as seen:
        asyncio.run(change("a"))
    assert [request.method for request in seen.requests] == ["GET", "PUT"], str(seen)
    asyncio.run(several())
    names = {"a", *(f"n{number}" for number in range(8))}
    assert zarrcore.open_array(place()).attrs.keys() == names


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_changes_attributes_that_its_parent_has_just_read(server: ObjectServer, place: Any) -> None:
    array = zarrcore.create_array(place(), shape=3, dtype="i4")
    array.attrs["a"] = 1
    child = os.fork()
    if child == 0:
        try:
            array.attrs["b"] = 2
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    array.attrs["c"] = 3  # the child has changed what is kept here
    assert array.attrs.asdict() == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize("fault", [503, "reset", "lost"])
def test_attributes_after_an_answer_that_failed(
    server: ObjectServer, place: Any, words: Any, fault: Any
) -> None:
    words["retry_config"] = {"max_retries": 2, "backoff": {"init_backoff": timedelta(milliseconds=1)}}
    array = zarrcore.create_array(str(place()), storage_options=words, shape=3, dtype="i4")
    server.fail(fault, method="PUT", times=1)
    array.attrs["a"] = 1
    server.fail(403, method="PUT", times=1)
    with pytest.raises(zarrcore.errors.StoreError, match="403"):
        array.attrs["b"] = 2
    array.attrs["c"] = 3
    assert zarrcore.open_array(place()).attrs.asdict() == {"a": 1, "c": 3}


def test_documents_are_read_again_after_a_while_and_after_other_changes(
    server: ObjectServer, place: Any, words: Any, monkeypatch: Any
) -> None:
    """A server that ignores conditions finds nobody out."""
    other = make_store(str(place()), storage_options={**words, "client_options": {"timeout": "20s"}})
    array = zarrcore.create_array(place(), shape=3, dtype="i4")
    server.compares = False
    array.attrs["a"] = 1
    zarrcore.open_array(other).attrs["b"] = 2  # of a client of its own
    array.attrs["c"] = 3
    document = {key: value.replace(b'"c"', b'"d"') for key, value in server.objects.items()}
    monkeypatch.setattr(versions, "clock", lambda: time.monotonic() + 3)
    server.objects.update(document)
    array.attrs["e"] = 5
    assert array.attrs.asdict() == {"a": 1, "b": 2, "d": 3, "e": 5}


def test_removing_and_replacing_took_turns_with_each_look(server: ObjectServer, place: Any) -> None:
    """Removing took 6 waves, and replacing 10: files of others, and copies above, were asked for alone."""
    root = zarrcore.create_group(place())
    for name in "ab":
        root.create_array(name, data=np.arange(20), chunks=4)
    with server.watch() as seen:
        del root["a"]
    assert seen.waves == 4, str(seen)
    with server.watch() as seen:
        zarrcore.create_array(place(), name="b", shape=3, dtype="i4", overwrite=True)
    assert seen.waves == 6, str(seen)
    assert [*root.array_keys()] == ["b"]
    assert not [key for key in server.objects if "/c/" in key]


def test_the_arrays_of_a_group_are_loaded_together(server: ObjectServer, place: Any) -> None:
    group = zarrcore.create_group(place())
    values = {"a": np.arange(20), "b/c": np.arange(9.0).reshape(3, 3), "s": np.float32(3)}
    for name, value in values.items():
        group.create_array(name, data=value)
    with server.watch() as seen:
        found = zarrcore.load(place())
    assert seen.waves == 6, str(seen)  # 1 for the root, 4 for two levels of members
    assert found.keys() == values.keys()
    assert all(np.array_equal(found[name], value) for name, value in values.items())
    assert type(found["s"]) is np.float32


def test_an_array_that_was_known_not_to_be_there_was_looked_for(server: ObjectServer, place: Any) -> None:
    zarrcore.create_group(place())
    for name, waves in ("a", 4), ("b", 3):  # at first it is made sure that the server knows absence
        with server.watch() as seen:
            zarrcore.open_array(place(), path=name, mode="w-", shape=3, dtype="i4")
        assert seen.waves == waves, str(seen)
    with server.watch() as seen:
        zarrcore.open_array(place(), path="c", mode="a", shape=3, dtype="i4")
    assert seen.waves == 4, str(seen)
    with pytest.raises(FileExistsError):
        zarrcore.open_array(place(), path="c", mode="w-", shape=3, dtype="i4")


def test_a_place_with_nothing_is_not_searched_for_every_format(server: ObjectServer, place: Any) -> None:
    zarrcore.create_array(place(), name="a", shape=(10,), dtype="i4")
    with server.watch() as seen, pytest.raises(zarrcore.errors.NodeNotFoundError):
        zarrcore.open(place(), path="b/c", mode="r")
    assert seen.waves <= 4, str(seen)


def test_many_nodes_are_as_few_waves_as_one(server: ObjectServer, place: Any) -> None:
    metadata = zarrcore.create_array({}, shape=(10,), dtype="i4").metadata
    with server.watch() as seen:
        made = dict(zarrcore.create_hierarchy(store=place(), nodes={f"x/a{n}": metadata for n in range(20)}))
    assert sorted(made) == sorted(["", "x", *(f"x/a{n}" for n in range(20))])
    assert seen.waves == 4, str(seen)
    assert len(seen.requests) == 20 + 9, str(seen)
    with server.watch() as seen:
        dict(zarrcore.create_hierarchy(store=place(), nodes={f"x/b{n}": metadata for n in range(20)}))
    assert seen.waves <= 5, str(seen)
    assert len(seen.requests) <= 3 * 20 + 12, str(seen)
    for overwrite in (False, True):
        with contextlib.suppress(zarrcore.errors.ContainsArrayError):
            dict(zarrcore.create_hierarchy(store=place(), nodes={"x/b0": metadata}, overwrite=overwrite))
            assert overwrite


def test_a_node_that_somebody_makes_meanwhile_is_not_replaced(server: ObjectServer, place: Any) -> None:
    """Nodes of an empty store are stored without a look at each place."""
    arrays = {name: zarrcore.create_array({}, shape=n, dtype="i4").metadata for n, name in enumerate("abc")}
    theirs = bytes(zarrcore.create_array({}, shape=7, dtype="i4").store.get("zarr.json"))

    def intervene(request: Any) -> None:
        if request.key.endswith("/b/zarr.json"):
            server.objects.setdefault(request.key, theirs)

    server.before_put = intervene
    with pytest.raises(zarrcore.errors.ContainsArrayError, match="'b'"):
        dict(zarrcore.create_hierarchy(store=place(), nodes=arrays))
    assert zarrcore.open_array(place(), path="b").shape == (7,)


def test_a_smaller_shape_took_turns_with_each_chunk(server: ObjectServer, place: Any) -> None:
    values = np.arange(400).reshape(20, 20)
    array = zarrcore.create_array(place(), data=values, chunks=(5, 1))
    with server.watch() as seen:
        array.resize((7, 20))
    assert seen.waves <= 9, str(seen)
    array.resize((20, 20))
    assert np.array_equal(array[...], np.vstack([values[:7], np.zeros((13, 20), int)]))


def test_a_move_took_turns_with_each_key(server: ObjectServer, place: Any) -> None:
    group = zarrcore.create_group(place())
    for name in "abcd":
        group.create_array(f"g/{name}", data=np.arange(20), chunks=4)
    with server.watch() as seen:
        group.move("g", "h")
    assert seen.waves <= 24, str(seen)
    assert [*group.group_keys()] == ["h"]
    assert all(np.array_equal(array[...], np.arange(20)) for _, array in group["h"].arrays())


def test_creating_without_the_right_to_list(server: ObjectServer, place: Any) -> None:
    server.fail(403, r"^[^/]*/?$", method="GET")
    array = zarrcore.create_array(place(), shape=(10,), dtype="i4")
    array[...] = np.arange(10)
    assert array[3] == 3
    with pytest.raises(zarrcore.errors.ContainsArrayError):
        zarrcore.create_array(place(), shape=(10,), dtype="i4")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_is_there_is_found_by_whoever_creates(place: Any, zarr_format: int) -> None:
    zarrcore.create_array(place(), data=np.arange(10), zarr_format=zarr_format)
    for other in (2, 3):
        with pytest.raises(zarrcore.errors.ContainsArrayError):
            zarrcore.create_array(place(), shape=(10,), dtype="i4", zarr_format=other)


def test_chunks_are_one_wave(server: ObjectServer, place: Any) -> None:
    array = zarrcore.create_array(place(), data=np.arange(200), chunks=1)
    array[...]  # as many connections as are needed are open
    with server.watch() as seen:
        assert np.array_equal(array[...], np.arange(200))
    assert (len(seen.requests), seen.waves) == (200, 1)
    with server.watch() as seen, zarrcore.config.set({"async.concurrency": 5}):
        array[:20]
    assert (len(seen.requests), seen.waves) == (20, 4)


def test_answers_that_come_at_once_were_waited_for_by_256_threads(
    server: ObjectServer, place: Any, monkeypatch: Any
) -> None:
    """Each switch between them costs; where answers take a while, all requests are one wave."""
    monkeypatch.setattr(clients, "_NEAR", 20)
    monkeypatch.setattr(object_reads, "_SLOW", 20)
    asking: set[str] = set()
    array = zarrcore.create_array(place(), data=np.arange(200), chunks=1)
    array = zarrcore.open_array(place(), mode="r")
    server.before_get = lambda request: sleep(0.001)
    get = clients.obstore().get

    def noted(*args: Any, **options: Any) -> Any:
        asking.add(current_thread().name)
        return get(*args, **options)

    monkeypatch.setattr(clients.obstore(), "get", noted)
    assert np.array_equal(array[...], np.arange(200))
    assert len(asking) <= 16
    monkeypatch.undo()
    monkeypatch.setattr(clients, "_NEAR", 20)
    for is_near in (True, True, False):
        with server.watch() as seen:
            assert np.array_equal(array[...], np.arange(200))
        assert (len(seen.requests), seen.waves) == (200, 1), str(seen)
        assert (array.store._client.enough(2) is not None) == is_near


def test_one_late_answer_to_a_busy_machine_made_a_near_server_a_far_one_for_good(
    place: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(clients, "_NEAR", 20)
    array = zarrcore.create_array(place(), data=np.arange(20), chunks=1)
    client = array.store._client
    client._waits = (30.0,)
    assert client.enough(2) is None
    assert np.array_equal(array[...], np.arange(20))
    assert client.enough(2) is not None


def test_an_answer_that_brought_a_connection_had_more_threads_wait_for_good(
    place: Any, monkeypatch: Any
) -> None:
    """What is known of a near server is how fast its fastest answers are, and those to reads count, too."""
    monkeypatch.setattr(clients, "_NEAR", 20)
    monkeypatch.setattr(clients, "_WORK", 1)
    monkeypatch.setattr(object_reads, "_SLOW", 20)
    array = zarrcore.create_array(place(), data=np.arange(20), chunks=1)
    client = array.store._client
    client._waits = (15.0,)
    assert client.enough(2) == 15
    assert np.array_equal(array[...], np.arange(20))
    assert client.enough(2) == 6


def test_a_large_chunk_is_sent_by_one_request(server: ObjectServer, place: Any) -> None:
    values = np.random.default_rng(0).integers(0, 256, 16 << 20, dtype="u1")
    array = zarrcore.create_array(place(), shape=values.shape, chunks=values.shape, dtype="u1")
    with server.watch() as seen:
        array[...] = values
    assert [request.method for request in seen.requests] == ["PUT"]
    assert np.array_equal(array[...], values)


def test_a_value_larger_than_that_is_sent_in_parts(server: ObjectServer, place: Any) -> None:
    data = np.random.default_rng(0).bytes(30 << 20)
    store = place()
    store.set("k", data)
    assert any("partNumber" in request.query for request in server.log)
    assert store.get("k") == data


# --- shards ---


def test_the_second_read_in_a_shard_is_one_wave(server: ObjectServer, place: Any) -> None:
    zarrcore.create_array(place(), data=VALUES, **SHARDS)
    array = zarrcore.open_array(place(), mode="r")
    for at, waves in ((0, 2), (200, 1), (400, 1)):
        with server.watch() as seen:
            assert np.array_equal(array[at : at + 50, :50], VALUES[at : at + 50, :50])
        assert (len(seen.requests), seen.waves) == (waves, waves), str(seen)
    again = zarrcore.open_array(place(), mode="r")
    with server.watch() as seen:
        assert np.array_equal(again[300:350, :50], VALUES[300:350, :50])
    assert len(seen.requests) == 1  # whoever opens the array has the indexes
    with server.watch() as seen:
        assert np.array_equal(again[10], VALUES[10])
    assert (len(seen.requests), seen.waves) == (3, 2)  # that of the other shard is not there yet


@pytest.mark.parametrize("conditions", [True, False])
def test_an_index_is_not_used_for_another_version(server: ObjectServer, place: Any, conditions: bool) -> None:
    server.conditions = conditions  # where nobody compares, the answers show their version
    array = zarrcore.create_array(place(), data=VALUES, chunks=(50, 50), shards=(500, 500))
    assert np.array_equal(array[:50, :50], VALUES[:50, :50])
    other = zarrcore.create_array({}, data=-VALUES[::-1] // 7, chunks=(50, 50), shards=(500, 500))
    bucket = next(key.partition("/")[0] for key in server.objects)
    for key in [*other.store.list()]:
        if "c/" in key:
            server.objects[f"{bucket}/data/{key}"] = bytes(other.store.get(key))
    expected = -VALUES[::-1] // 7
    assert np.array_equal(array[100:150, :50], expected[100:150, :50])
    assert np.array_equal(array[200:250, :50], expected[200:250, :50])
    assert np.array_equal(array[10], expected[10])


def test_a_chunk_that_was_absent_is_looked_for_again(server: ObjectServer, place: Any) -> None:
    array = zarrcore.create_array(place(), shape=(1000, 1000), dtype="i4", **SHARDS)
    array[:50, :50] = 1
    assert array[200, 200] == 0
    full = zarrcore.create_array({}, data=VALUES, **SHARDS)
    bucket = next(key.partition("/")[0] for key in server.objects)
    server.objects[f"{bucket}/data/c/0/0"] = bytes(full.store.get("c/0/0"))
    assert array[200, 200] == VALUES[200, 200]


def test_an_index_of_our_own_writes(place: Any) -> None:
    array = zarrcore.create_array(place(), data=VALUES, **SHARDS)
    for value in range(3):
        assert array[60, 60] == (VALUES[60, 60] if value == 0 else value - 1)
        array[60, 60] = value


def test_close_ranges_are_joined(server: ObjectServer, place: Any) -> None:
    zarrcore.create_array(place(), data=VALUES, **SHARDS)
    array = zarrcore.open_array(place(), mode="r")
    array[:50, :50]
    with server.watch() as seen:
        assert np.array_equal(array[:50, ::100], VALUES[:50, ::100])
    assert len([request for request in seen.requests if "/c/0/0" in request.key]) == 1


def test_a_small_shard_is_fetched_whole(server: ObjectServer, place: Any) -> None:
    values = VALUES[:100, :100]
    zarrcore.create_array(place(), data=values, chunks=(10, 10), shards=(100, 100))
    array = zarrcore.open_array(place(), mode="r")
    with server.watch() as seen:
        assert np.array_equal(array[:5, :5], values[:5, :5])
    assert [request.range for request in seen.requests] == [None]


def test_a_plane_through_many_shards_is_one_wave_when_warm(server: ObjectServer, place: Any) -> None:
    zarrcore.create_array(place(), data=VALUES, chunks=(50, 50), shards=(500, 100), compressors=None)
    array = zarrcore.open_array(place(), mode="r")
    array[3]
    with server.watch() as seen:
        assert np.array_equal(array[60], VALUES[60])
    assert (len(seen.requests), seen.waves) == (10, 1)


def test_absent_shards_are_asked_for_once(server: ObjectServer, place: Any) -> None:
    array = zarrcore.create_array(place(), shape=(1000, 1000), dtype="i4", fill_value=3, **SHARDS)
    with server.watch() as seen:
        assert (array[10] == 3).all()
    assert (len(seen.requests), seen.waves) == (2, 1)


def test_ends_are_bounded() -> None:
    ends = Ends()
    for number in range(100):
        ends.note(str(number), 4 << 20, "tag", bytes(4 << 20))
    assert ends._nbytes == 64 << 20
    assert len(ends._kept) == 16
    assert ends.find("99", 4 << 20) is not None
    assert ends.find("1", 4 << 20) is None
    ends.drop("99")
    assert ends.find("99", 4 << 20) is None
    for tag in (None, 'W/"weak"'):
        ends.note("k", 4, tag, b"1234")
        assert ends.find("k", 4) is None


# --- chunks in a cache, and values that do not change ---


PART = np.s_[400:600]  # of all shards, and so little that none is fetched as a whole
LAYOUTS: dict[str, dict[str, Any]] = {"chunks": {"chunks": (500, 500)}, "shards": SHARDS}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_chunks_in_a_cache_are_asked_about_in_one_wave(server: ObjectServer, place: Any, layout: str) -> None:
    zarrcore.create_array(place(), data=VALUES, **LAYOUTS[layout])
    array = zarrcore.open_array(place(), mode="r").with_cache(1 << 30)
    for _ in range(2):
        assert np.array_equal(array[PART], VALUES[PART])
    hits = array.cache.hits
    with server.watch() as seen:
        assert np.array_equal(array[PART], VALUES[PART])
    assert ([request.status for request in seen.requests], seen.waves) == ([304] * 4, 1), str(seen)
    assert array.cache.hits > hits
    others = [zarrcore.create_array({}, data=sign * VALUES, **LAYOUTS[layout]).store for sign in (-1, 1)]
    key = next(key for key in server.objects if key.endswith("c/0/1"))
    server.objects[key] = bytes(others[0].get("c/0/1"))
    expected = VALUES.copy()
    expected[:500, 500:] *= -1
    for _ in range(2):
        assert np.array_equal(array[PART], expected[PART])
    assert array[400, 999] == -VALUES[400, 999]
    with server.watch() as seen:
        assert np.array_equal(array[PART], expected[PART])
    assert [request.status for request in seen.requests] == [304] * 4
    server.objects[key] = bytes(others[1].get("c/0/1"))
    assert array[400, 999] == VALUES[400, 999]
    array = zarrcore.open_array(place(), mode="r+").with_cache(array.cache)
    array[3, 3] = -7
    assert array[3, 3] == -7


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cache_over_a_server_of_weak_tags(server: ObjectServer, place: Any, layout: str) -> None:
    """What is not certain is read again: what others had replaced came from the cache as it was."""
    server.weak = True
    zarrcore.create_array(place(), data=VALUES, **LAYOUTS[layout])
    array = zarrcore.open_array(place(), mode="r").with_cache(1 << 30)
    for sign in (1, -1, 1):
        other = zarrcore.create_array({}, data=sign * VALUES, **LAYOUTS[layout]).store
        for key in [key for key in server.objects if "/c/" in key]:
            server.objects[key] = bytes(other.get(key[key.index("c/") :]))
        for _ in range(2):
            assert np.array_equal(array[PART], sign * VALUES[PART])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cache_asks_nothing_where_nothing_changes(
    server: ObjectServer, place: Any, words: Any, layout: str
) -> None:
    zarrcore.create_array(place(), data=VALUES, **LAYOUTS[layout])
    options = {**words, "immutable": True}
    array = zarrcore.open_array(str(place()), mode="r", storage_options=options).with_cache(1 << 30)
    assert np.array_equal(array[PART], VALUES[PART])
    with server.watch() as seen:
        assert np.array_equal(array[PART], VALUES[PART])
        assert array[599, 1] == VALUES[599, 1]
    assert seen.requests == []


def test_what_fails_to_be_asked_about_is_an_error(server: ObjectServer, place: Any, words: Any) -> None:
    words["retry_config"] = {"max_retries": 0}
    zarrcore.create_array(place(), data=VALUES, chunks=(500, 500))
    array = zarrcore.open_array(place(), mode="r").with_cache(1 << 30)
    for _ in range(2):
        array[...]
    server.fail(403, "/c/0/1")
    with pytest.raises(zarrcore.errors.ChunkIOError, match="key 'c/0/1'"):
        array[...]
    assert np.array_equal(array[500:], VALUES[500:])


def test_indexes_of_sparse_shards_are_kept_where_nothing_changes(
    server: ObjectServer, place: Any, words: Any
) -> None:
    array = zarrcore.create_array(place(), shape=(1000, 1000), dtype="i4", **SHARDS)
    array[:50, :50] = 1
    array[200:250, 200:250] = 2
    for immutable, waves in ((False, 2), (True, 1)):
        options = {**words, "immutable": immutable}
        array = zarrcore.open_array(str(place()), mode="r", storage_options=options)
        assert array[60, 60] == 0
        with server.watch() as seen:
            assert array[210, 210] == 2
        assert (len(seen.requests), seen.waves) == (waves, waves), str(seen)
    # Conditions are not asked for either: a server without tags serves as well.
    assert "if-match" not in seen.requests[0].headers
    array = zarrcore.open_array(str(place()), mode="r+", storage_options={**words, "immutable": True})
    array[210, 210] = 3
    assert array[210, 210] == 3


def test_tags_that_are_forgotten_are_changes(server: ObjectServer, place: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(tags, "_MOST", 2)
    zarrcore.create_array(place(), data=VALUES, chunks=(500, 500))
    array = zarrcore.open_array(place(), mode="r").with_cache(1 << 30)
    other = zarrcore.create_array({}, data=-VALUES, chunks=(500, 500)).store
    for values in (VALUES, VALUES, -VALUES):
        if values is not VALUES:
            for key in [key for key in server.objects if "/c/" in key]:
                server.objects[key] = bytes(other.get(key.partition("data/")[2]))
        assert np.array_equal(array[...], values)
