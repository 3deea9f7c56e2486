"""A server of what is below a store path, over HTTP: read-only, with ranges."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from threading import Semaphore
from typing import Any
from urllib.parse import unquote, urlsplit

import click

from zarrcore._typing import Buffer
from zarrcore.cli.text import one_line
from zarrcore.errors import InvalidKeyError
from zarrcore.storage import LocalStore, Store
from zarrcore.storage.validation import is_document, join_path, validate_key

_PART = 1 << 20  # bytes of a value that are in memory at a time; a client has a minute to take them
_MOST_CLIENTS = 480  # served at a time: each has a thread, two open files and a part of a value
_NAME = re.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # of a header
_RANGE = re.compile(r"bytes=([0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def make_server(
    place: Any, host: str, port: int, *, cors: bool = False, verbose: bool = False
) -> ThreadingHTTPServer:
    """Return a server of what is below a store path; its method `serve_forever` serves."""
    store, prefix = place.store, place.path
    if type(store) is LocalStore:  # links must not lead out of the node either
        store, prefix = LocalStore(store._directory(f"{prefix}/" if prefix else ""), read_only=True), ""

    class Bound(_Handler):
        pass

    Bound.store, Bound.prefix, Bound.cors, Bound.verbose = store, prefix, cors, verbose
    Bound.hosts = _LOOPBACK | {host} if host in _LOOPBACK else None

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 1024  # clients that connect while others are being accepted
        if ":" in host:
            address_family = AF_INET6
        _room = Semaphore(_MOST_CLIENTS)

        def process_request(self, request: Any, client_address: Any) -> None:
            self._room.acquire()  # the others wait until they are accepted
            try:
                super().process_request(request, client_address)
            except BaseException:  # no thread could be started
                self._room.release()
                raise

        def process_request_thread(self, request: Any, client_address: Any) -> None:
            try:
                super().process_request_thread(request, client_address)
            finally:
                self._room.release()

        def handle_error(self, request: Any, client_address: Any) -> None:
            error = sys.exception()
            if not isinstance(error, ConnectionError | TimeoutError):  # clients may go at any time
                _report(f"{type(error).__name__}: {error}")

    return Server((host, port), Bound)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for the keys of a store."""

    store: Store
    prefix: str
    cors: bool
    verbose: bool
    hosts: set[str] | None
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "zarrcore", ""
    timeout = 60
    disable_nagle_algorithm = True  # a value comes after its headers, which the client acknowledges late

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_OPTIONS(self) -> None:
        """Answer a browser that asks whether the page of a web site may read ranges."""
        if not self.cors:
            return self._refuse()
        self.close_connection = True  # what follows may be no request
        self.send_response(HTTPStatus.NO_CONTENT)
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD")
        self.send_header("Access-Control-Allow-Headers", "Range")
        self.send_header("Access-Control-Max-Age", "86400")
        return self._end_headers(None)

    def _refuse(self) -> None:  # what is "not implemented" (501), clients ask for ten times
        self.close_connection = True
        self.send_response(HTTPStatus.METHOD_NOT_ALLOWED)
        self.send_header("Allow", "GET, HEAD")
        self._end_headers(0)

    do_PUT = do_POST = do_DELETE = do_PATCH = _refuse
    do_PROPFIND = _refuse  # WebDAV's listing

    def _answer(self, *, with_body: bool) -> None:
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # what follows is no request
        if self.headers.defects or not all(map(_NAME.fullmatch, self.headers)):
            self.close_connection = True  # nor can the end of it be known: "Content-Length :"
            return self._fail(HTTPStatus.BAD_REQUEST)
        # A page of another site must not reach a local store by a name that it makes resolve to this machine.
        if self.hosts is not None and self._host() not in self.hosts:
            return self._fail(HTTPStatus.FORBIDDEN)
        try:
            path = urlsplit(self.path).path
        except ValueError:
            return self._fail(HTTPStatus.BAD_REQUEST)
        try:
            key = join_path(self.prefix, unquote(path, errors="strict").lstrip("/"))
            validate_key(key)
            size = self.store._size(key)
        except (InvalidKeyError, UnicodeDecodeError):
            return self._fail(HTTPStatus.NOT_FOUND)
        except Exception as error:
            _report(f"{type(error).__name__}: {error}")
            return self._fail(HTTPStatus.INTERNAL_SERVER_ERROR)
        if size is None:
            return self._fail(HTTPStatus.NOT_FOUND)
        asked = self.headers.get("Range", "").strip()
        # Several ranges, or other units: all is sent, as the standard allows.
        is_part = _RANGE.fullmatch(asked) is not None
        start, stop = _part(asked, size) if is_part else (0, size)
        if is_part and start >= stop:
            return self._fail(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, size)
        parts = self._parts(key, start, stop, size) if with_body else iter((b"",))
        first = next(parts, None)
        if first is None:
            return self._fail(HTTPStatus.INTERNAL_SERVER_ERROR)
        self.send_response(HTTPStatus.PARTIAL_CONTENT if is_part else HTTPStatus.OK)
        if is_part:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header(
            "Content-Type", "application/json" if is_document(key) else "application/octet-stream"
        )
        self._end_headers(stop - start)
        self.wfile.write(first)
        for part in parts:
            self.wfile.write(part)
        return None

    def _parts(self, key: str, start: int, stop: int, size: int) -> Iterator[Buffer]:
        """Yield parts of a value, all of one version; it ends early where another one is found."""
        versions: dict[str, str] = {}
        for at in range(start, max(stop, start + 1), _PART):
            length = min(_PART, stop - at)
            try:  # one byte more shows that a longer value has come since the size was asked for
                part = self.store._get_part(key, (at, length + (at + length == size)), versions)
            except Exception as error:
                _report(f"{type(error).__name__}: {error}")
                part = None
            if part is None or memoryview(part).nbytes != length:
                self.close_connection = True  # the client sees an answer that is too short
                return
            yield part

    def _host(self) -> str:
        host = self.headers.get("Host", "")
        return host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]

    def _fail(self, status: HTTPStatus, size: int | None = None) -> None:
        self.send_response(status)
        if size is not None:
            self.send_header("Content-Range", f"bytes */{size}")
        self._end_headers(0)

    def _end_headers(self, length: int | None) -> None:
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.cors:
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Expose-Headers", "Content-Range, Content-Length")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        if self.verbose:
            _report(format % args)


def _report(message: str) -> None:
    click.echo(f"zarrcore: {one_line(message)}", err=True)


def _part(asked: str, size: int) -> tuple[int, int]:
    """Return start and stop of a range of a value of this size; empty if there is nothing.

    Examples
    --------
    >>> _part("bytes=2-5", 10), _part("bytes=-3", 10), _part("bytes=7-", 10)
    ((2, 6), (7, 10), (7, 10))
    """
    first, last = asked.partition("=")[2].split("-")
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1 if last else size)
