# SPDX-License-Identifier: MIT
"""The commands plot, bench and serve."""

from __future__ import annotations

import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

pytest.importorskip("click")

from zarrcore.cli import png
from zarrcore.cli.app import run
from zarrcore.cli.places import store_path
from zarrcore.cli.server import make_server
from zarrcore.storage import LocalStore


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command line in this process; returns exit code, output and errors."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            run([str(argument) for argument in arguments])
        return int(end.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = zarrcore.create_group(tmp_path / "s.zarr", attributes={"title": "a"})
    ramp = root.create_array("ramp", shape=(8, 40), chunks=(4, 10), dtype="f4", compressors=None)
    ramp[:, :20] = np.arange(20)
    root.create_array("text", shape=3, dtype="T")
    root.create_array("deep", shape=(3, 4, 5000), chunks=(1, 4, 500), dtype="i2")[1:] = 7
    return tmp_path / "s.zarr"


def pixels(path: Path) -> np.ndarray:
    """A PNG file of 8-bit colors without filters, read as its specification has it."""
    data, parts = path.read_bytes(), {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + body)
        parts[kind] = body
        at += 12 + length
    width, height, depth, color = struct.unpack_from(">IIBB", parts[b"IHDR"])
    assert (depth, color) == (8, 2) and parts[b"IEND"] == b""
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_plot_as_png(command: Callable[..., Any], store: Path, tmp_path: Path) -> None:
    code, out, _ = command("plot", store / "ramp", "-O", tmp_path / "p.png")
    assert code == 0 and out == "8 x 40, 0 to 19\n"
    shown = pixels(tmp_path / "p.png")
    assert shown.shape == (56, 280, 3)
    assert tuple(shown[0, 0]) == (68, 1, 84) and tuple(shown[0, 19 * 7]) == (253, 231, 37)
    assert command("plot", store / "ramp", "-O", tmp_path / "p.png")[0] == 1
    assert command("plot", store / "ramp", "-O", tmp_path / "p.png", "--overwrite")[0] == 0


def test_plot_as_text(command: Callable[..., Any], store: Path) -> None:
    code, out, err = command("plot", store / "ramp", "0:4, :20")
    assert code == 0 and err == "4 x 20, 0 to 19\n"
    assert out.split("\n")[0][0] == " " and out.split("\n")[0][19] == "@" and "\x1b" not in out
    assert "dimension 0 at 0" in command("plot", store / "deep")[2]
    assert command("plot", store / "deep", "1")[2] == "4 x 1000, 7 to 7\n"


def test_plot_of_chunks(command: Callable[..., Any], store: Path) -> None:
    code, out, err = command("plot", store / "ramp", "--chunks")
    assert code == 0 and err == "4 of 8 chunks stored, 160 B to 160 B\n"
    rows = out.split("\n")
    half = len(rows[0]) // 2  # blanks were chunks that are stored, and ? was none
    assert rows[0] == rows[1] == "@" * half + " " * half
    zarrcore.create_array(store / "nothing", shape=4, chunks=2, dtype="i1")
    assert command("plot", store / "nothing", "--chunks")[2] == "0 of 2 chunks stored\n"
    assert "20 of 30 chunks" in command("plot", store / "deep", "--chunks")[2]
    empty = zarrcore.create_array(store / "none", shape=(0, 3), dtype="i1")
    assert empty.size == 0 and command("plot", store / "none", "--chunks")[0] == 1


def test_plot_refuses_what_is_no_picture(command: Callable[..., Any], store: Path) -> None:
    assert "expected numbers" in command("plot", store / "text")[2]
    assert command("plot", store / "ramp", "0, 0, 0")[0] == 2
    assert command("plot", store / "ramp", "::-1")[0] == 2
    assert command("plot", store / "ramp", "0", "--chunks")[0] == 2
    assert command("plot", store / "ramp", "0:0")[0] == 1
    assert command("plot", store)[0] == 1


def test_pictures_of_unusual_values() -> None:
    values = np.array([[np.nan, -np.inf, np.inf], [-1e308, 0, 1e308]])
    scaled = png.fractions(values)
    np.testing.assert_array_equal(scaled, [[np.nan, 0, 1], [0, 0.5, 1]])
    assert tuple(png.colors(scaled)[0, 0]) == (128, 128, 128)
    assert list(png.shades(scaled, "?")) in (["? @", " =@"], ["? @", " +@"])
    assert png.fractions(np.full((2, 2), np.nan)).shape == (2, 2)
    assert png.fractions(np.full((1, 2), 5)).tolist() == [[0, 0]]
    assert len(list(png.blocks(png.fractions(np.arange(15).reshape(5, 3))))) == 3


def test_a_terminal_shows_colors_unless_told_otherwise(store: Path) -> None:
    pty = pytest.importorskip("pty")
    for no_color, terminal, expected in (("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)):
        ours, theirs = pty.openpty()
        environ = {**os.environ, "NO_COLOR": no_color, "TERM": terminal, "COLUMNS": "80", "LINES": "24"}
        program = [sys.executable, "-m", "zarrcore", "plot", str(store / "ramp")]
        with subprocess.Popen(program, stdout=theirs, stderr=theirs, env=environ):
            os.close(theirs)
            shown = b""
            while True:
                try:
                    found = os.read(ours, 65536)
                except OSError:  # Linux: the other end was closed
                    break
                if not found:
                    break
                shown += found
        os.close(ours)
        assert (b"\x1b[38;2;68;1;84" in shown) is expected


def test_bench(command: Callable[..., Any], store: Path) -> None:
    code, out, _ = command("bench", store / "ramp", "--threads", "1,2", "--repeat", 1, "--no-peer", "--json")
    assert code == 0
    rows = json.loads(out)
    assert [row["threads"] for row in rows] == [1, 2] and all(row["nbytes"] == 8 * 40 * 4 for row in rows)
    assert all(row["bytes_per_second"] > 0 for row in rows)
    out = command("bench", store / "deep", "1", "-j", "1", "-r", 1, "--no-peer")[1]
    assert "1 thread " in out and "/s" in out and "100%" in out
    assert command("bench", store / "ramp", "--threads", "0")[0] == 2
    assert command("bench", store)[0] == 1


def test_bench_of_one_string_counts_its_bytes(command: Callable[..., Any], tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path / "names", data=np.array(["Oslo", "Bergen"], "T"))
    rows = json.loads(command("bench", tmp_path / "names", "0", "-j", "1", "-r", 1, "--no-peer", "--json")[1])
    assert rows[0]["nbytes"] > 0 and rows[0]["bytes_per_second"] > 0


def test_a_client_that_asks_the_server_to_list_is_refused_for_good(site: Any) -> None:
    assert site.ask("/", "PROPFIND")[0] == 405


def test_bench_with_zarr_python(command: Callable[..., Any], store: Path) -> None:
    pytest.importorskip("zarr")
    rows = json.loads(command("bench", store / "ramp", "-j", "1", "-r", 1, "--json")[1])
    assert [row["reader"] for row in rows] == ["zarrcore", "zarr-python"]
    assert rows[0]["nbytes"] == rows[1]["nbytes"]


def test_bench_reads_the_beginning_of_what_is_large(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrcore.cli import speed

    array = zarrcore.open_array(store / "deep", mode="r")
    monkeypatch.setattr(speed, "_MOST_BYTES", 4 * 1000 * 2)
    assert speed._first(array) == (slice(0, 1), slice(0, 4), slice(0, 1000))
    monkeypatch.setattr(speed, "_MOST_BYTES", 1)
    assert speed._first(array) == (slice(0, 1), slice(0, 4), slice(0, 500))
    monkeypatch.setattr(speed, "_MOST_BYTES", 1 << 28)
    assert speed._first(array) == (slice(0, 3), slice(0, 4), slice(0, 5000))
    # The lengths of all chunks of a grid were listed, or refused as too many.
    huge = zarrcore.create_array({}, shape=(10**18, 3), chunks=(2, 3), dtype="f8")
    assert speed._first(huge) == (slice(0, (1 << 28) // 48 * 2), slice(0, 3))
    odd = zarrcore.create_array({}, shape=(60,), chunks=[[10, 20, 30]], dtype="i1")
    monkeypatch.setattr(speed, "_MOST_BYTES", 40)
    assert speed._first(odd) == (slice(0, 30),)


class Site:
    """A served store, asked with what a client may send, also what no client of good will sends."""

    def __init__(self, place: str, **options: Any) -> None:
        self.server = make_server(store_path(place), "127.0.0.1", 0, **options)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
        port = self.server.server_address[1]
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            with connection.getresponse() as response:
                return response.status, response.read(), dict(response.headers)

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def site(store: Path) -> Iterator[Site]:
    found = Site(str(store), cors=True)
    yield found
    found.close()


def test_serve_values_and_ranges(site: Site, store: Path) -> None:
    data = (store / "ramp/c/0/0").read_bytes()
    status, body, headers = site.ask("/ramp/c/0/0")
    assert (status, body) == (200, data) and headers["Access-Control-Allow-Origin"] == "*"
    for asked, part in (("2-5", data[2:6]), ("-3", data[-3:]), ("150-", data[150:]), ("0-9999", data)):
        status, body, headers = site.ask("/ramp/c/0/0", Range=f"bytes={asked}")
        assert (status, body) == (206, part)
        assert headers["Content-Range"].endswith("/160")
    assert site.ask("/ramp/c/0/0", Range="bytes=160-")[0] == 416
    for several in ("bytes=0-1,4-5", "lines=1-2", "bytes=-"):  # all of it, as the standard allows
        assert site.ask("/ramp/c/0/0", Range=several)[:2] == (200, data)
    status, body, headers = site.ask("/ramp/zarr.json", "HEAD")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 100
    assert headers["Content-Type"] == "application/json"
    assert site.ask("/ramp/c/1/3")[0] == site.ask("/ramp")[0] == site.ask("/")[0] == 404


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_serve_refuses_changes_for_good(site: Site, store: Path, method: str) -> None:
    """Clients ask again and again for what is "not implemented" (501): a write failed after three seconds."""
    status, _, headers = site.ask("/ramp/zarr.json", method)
    assert status == 405 and headers["Allow"] == "GET, HEAD" and (store / "ramp/zarr.json").exists()


def test_serve_lets_pages_of_web_sites_ask_for_ranges(site: Site, store: Path) -> None:
    """Some browsers ask first whether they may."""
    status, body, headers = site.ask("/ramp/c/0/0", "OPTIONS")
    assert (status, body) == (204, b"") and headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Allow-Headers"] == "Range" and "Content-Length" not in headers
    alone = Site(str(store))
    status, _, headers = alone.ask("/ramp/c/0/0", "OPTIONS")
    alone.close()
    assert status == 405 and "Access-Control-Allow-Origin" not in headers


def test_serve_sends_the_end_of_an_answer_at_once(store: Path) -> None:
    """The system kept it back until the client had acknowledged the beginning, some 40 ms for each value."""
    server = make_server(store_path(str(store)), "127.0.0.1", 0)
    found = []

    class Handler(server.RequestHandlerClass):  # type: ignore[misc, name-defined]
        def handle(self) -> None:
            found.append(self.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            super().handle()

    server.RequestHandlerClass = Handler
    with server, socket.create_connection(server.server_address[:2]) as client:
        client.sendall(b"HEAD /zarr.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        server.handle_request()
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
    assert found and found[0] != 0


def test_serve_at_a_port_that_is_taken_names_the_way_out(
    site: Site, store: Path, command: Callable[..., Any]
) -> None:
    port = site.server.server_address[1]
    code, _, err = command("serve", store, "--port", port)
    assert code == 1 and "--port 0 takes any free one" in err


def test_serve_nothing_outside_of_the_store(site: Site, store: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (store / "out").symlink_to(tmp_path / "secret")
    (store / "up").symlink_to(tmp_path)
    for path in (
        "/../secret", "/%2e%2e/secret", "/..%2fsecret", "//../secret", "/ramp/../../secret", "/out",
        "/up/secret", f"/{tmp_path}/secret", "/\\..\\secret", "/%00", "/%ff", "/.zc-locks", "http://127.0.0.1/../secret",
    ):  # fmt: skip
        status, body, _ = site.ask(path)
        assert status in (404, 500) and b"secret" not in body, path


# CPython before 3.11.4 takes what is in brackets for a host, whatever it is.
NO_URLS = ["http://[x/zarr.json", "http://[1::2/zarr.json", "http://x]/"]
NO_URLS += ["http://[v1.]/"] if sys.version_info >= (3, 11, 4) else []


@pytest.mark.parametrize("url", NO_URLS)
def test_serve_answers_what_is_no_url_with_400(
    url: str, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(site.server.server_address[:2]) as connection:  # http.client refuses
        connection.sendall(f"GET {url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    assert capsys.readouterr().err == ""


def test_the_body_of_a_request_is_not_taken_for_another_request(site: Site) -> None:
    inner = b"GET /zarr.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = f"GET /ramp/zarr.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(inner)}\r\n\r\n"
    with socket.create_connection(site.server.server_address[:2]) as connection:
        connection.sendall(head.encode() + inner)
        answer = b""
        with suppress(ConnectionError):
            while data := connection.recv(1 << 16):
                answer += data
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("line", ["Content-Length : {}", "odd\r\nContent-Length: {}", "X\x0b-Length: {}"])
def test_headers_whose_end_nobody_knows_are_refused(site: Site, line: str) -> None:
    """What a proxy took for the body of a request was another request."""
    inner = "GET /zarr.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = f"GET /ramp/zarr.json HTTP/1.1\r\nHost: localhost\r\n{line.format(len(inner))}\r\n\r\n"
    with socket.create_connection(site.server.server_address[:2]) as connection:
        connection.sendall(head.encode() + inner.encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while data := connection.recv(1 << 16):
                answer += data
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(("before", "after"), [(100, 200), (0, 5), (200, 100), (3 << 20, 3 << 20)])
def test_a_value_that_is_replaced_while_it_is_sent_is_no_answer(
    site: Site, store: Path, before: int, after: int
) -> None:
    """The beginning of a longer value was sent as the whole, and parts of two values as one."""
    path = store / "ramp/c/0/0"
    path.write_bytes(bytes(before))

    class Replacing(LocalStore):
        def _size(self, key: str) -> int | None:
            size = super()._size(key)
            if before != after:
                path.unlink()
                path.write_bytes(b"x" * after)
            return size

        def _get_part(self, key: str, byte_range: Any, versions: dict[str, str]) -> Any:
            part = self._read_many([(key, byte_range)], versions)[0]
            if before == after and path.read_bytes()[:1] != b"x":
                path.unlink()
                path.write_bytes(b"x" * after)
            return part

    site.server.RequestHandlerClass.store = Replacing(store)  # type: ignore[attr-defined]
    if before == after:
        with pytest.raises(http.client.IncompleteRead):
            site.ask("/ramp/c/0/0")
    else:
        assert site.ask("/ramp/c/0/0")[:2] == (500, b"")


def test_many_clients_may_connect_before_one_is_accepted(store: Path) -> None:
    server = make_server(store_path(str(store)), "127.0.0.1", 0)
    address = server.server_address[:2]
    clients = [socket.create_connection(address, timeout=5) for _ in range(200)]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        for client in clients:
            client.sendall(b"HEAD /zarr.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert all(client.recv(100).startswith(b"HTTP/1.1 200 ") for client in clients)
    finally:
        for client in clients:
            client.close()
        server.shutdown()
        server.server_close()
        thread.join()


def test_serve_had_a_thread_for_each_of_any_number_of_clients(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarrcore.cli.server._MOST_CLIENTS", 2)
    server = make_server(store_path(str(store)), "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    clients = [socket.create_connection(server.server_address[:2], 10) for _ in range(4)]
    before = threading.active_count()
    try:
        thread.start()
        for client in clients:
            client.sendall(b"GET /zarr.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for client in clients:  # the first two are idle from now on, and keep what they have
            assert client.recv(12) == b"HTTP/1.1 200"
            assert threading.active_count() - before <= 3
            client.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_serve_a_member_alone(store: Path) -> None:
    (store / "ramp/link").symlink_to(store / "zarr.json")
    for place in (f"{store}::ramp", str(store / "ramp")):
        site = Site(place)
        try:
            assert site.ask("/c/0/0")[0] == 200
            assert site.ask("/link")[0] in (404, 500)
            assert site.ask("/../zarr.json")[0] == 404
        finally:
            site.close()


def test_serve_refuses_other_names_of_this_machine(site: Site) -> None:
    assert site.ask("/zarr.json", Host="evil.example")[0] == 403
    assert site.ask("/zarr.json", Host="localhost:8000")[0] == 200


def test_a_served_store_is_read_by_zarrcore(site: Site, store: Path) -> None:
    pytest.importorskip("obstore")
    url = f"http://127.0.0.1:{site.server.server_address[1]}"
    array = zarrcore.open_array(
        url, path="ramp", mode="r", storage_options={"client_options": {"allow_http": True}}
    )
    np.testing.assert_array_equal(array[...], zarrcore.open_array(store / "ramp", mode="r")[...])


def test_serve_a_zip_file(store: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    assert command("copy", store, tmp_path / "s.zip")[0] == 0
    site = Site(f"{tmp_path}/s.zip::ramp")
    try:
        assert site.ask("/c/0/0", Range="bytes=4-7")[1] == (store / "ramp/c/0/0").read_bytes()[4:8]
        assert site.ask("/../text/zarr.json")[0] == 404
    finally:
        site.close()


def test_serve_reports_requests_only_when_asked(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verbose in (False, True):
        site = Site(str(store), verbose=verbose)
        site.ask("/zarr.json")
        site.ask("/no\\x1b[31mthing")
        site.close()
        shown = capsys.readouterr().err
        assert ("GET /zarr.json" in shown) is verbose and "\x1b" not in shown


def test_serve_needs_a_node(command: Callable[..., Any], tmp_path: Path) -> None:
    code, _, err = command("serve", tmp_path)
    assert code == 1 and "no array or group" in err


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        (
            np.array(["2026-02-03T04:05:06.7", "NaT", "2026-02-04"], "M8[ms]"),
            "2026-02-03T04:05:06.700 to 2026-02-04T00:00:00.000",
        ),
        (np.array([1, 30], "m8[h]"), "1 hours to 30 hours"),
        (np.array(["NaT"], "M8[s]"), "NaT to NaT"),
        (np.array([3 + 4j, 0]), "absolute values, 0 to 5"),
    ],
)  # fmt: skip
def test_the_ends_of_a_plot_are_in_the_terms_of_the_array(
    tmp_path: Path, command: Callable[..., Any], values: np.ndarray, ends: str
) -> None:
    """Of dates they were numbers such as 1.57784e+18, and absolute values were not called so."""
    zarrcore.create_array(tmp_path / "a.zarr", data=values)
    code, out, err = command("plot", tmp_path / "a.zarr")
    assert code == 0 and err == f"1 x {len(values)}, {ends}\n" and out


def test_bench_of_an_array_without_elements_says_so(tmp_path: Path, command: Callable[..., Any]) -> None:
    """It was a division by zero."""
    zarrcore.save(tmp_path / "a.zarr", np.zeros((0, 3)))
    code, _, err = command("bench", tmp_path / "a.zarr")
    assert code == 1 and "nothing to read" in err and "(0, 3)" in err
    zarrcore.save(tmp_path / "b.zarr", np.arange(3))
    assert command("bench", tmp_path / "b.zarr", "3:", "--repeat", 1)[0] == 0


def test_a_picture_of_another_kind_than_png_is_refused(tmp_path: Path, command: Callable[..., Any]) -> None:
    zarrcore.save(tmp_path / "a.zarr", np.arange(6).reshape(2, 3))
    code, _, err = command("plot", tmp_path / "a.zarr", "-O", tmp_path / "a.jpg")
    assert code == 2 and ".png" in err and not (tmp_path / "a.jpg").exists()


def test_json_has_no_numbers_that_json_does_not_have(tmp_path: Path, command: Callable[..., Any]) -> None:
    """NaN stood there bare, which strict readers refuse."""
    zarrcore.save(tmp_path / "a.zarr", np.array([np.nan, np.inf, -np.inf, 1.5]))
    zarrcore.save(tmp_path / "b.zarr", np.array([(1, np.nan)], [("n", "i4"), ("x", "f8")]))

    def read(*arguments: object) -> Any:
        code, out, _ = command(*arguments)
        assert code == 0
        return json.loads(out, parse_constant=lambda name: pytest.fail(f"bare {name}"))

    assert read("cat", tmp_path / "a.zarr", "--json") == ["NaN", "Infinity", "-Infinity", 1.5]
    assert read("cat", tmp_path / "b.zarr", "--json") == [[1, "NaN"]]
    with zarrcore.config.set({"attributes.nan": "allow"}):
        zarrcore.open(tmp_path / "a.zarr").attrs["bad"] = float("nan")
    assert read("attrs", "get", tmp_path / "a.zarr") == {"bad": "NaN"}
    read("plot", tmp_path / "a.zarr", "--json")
    read("info", tmp_path / "a.zarr", "--json")
