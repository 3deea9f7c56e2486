# SPDX-License-Identifier: MIT
"""A server of objects on loopback for tests: it counts what it is asked for, and fails on order.

It speaks the part of S3 that clients of Zarr need, with buckets in the path, and answers the same paths as a
plain web server: GET with ranges and conditions, HEAD, PUT with conditions, DELETE, ListObjectsV2,
DeleteObjects and uploads in parts.  Signatures are not checked.

Round trips are counted as *waves*: while :meth:`ObjectServer.watch` is active, answers are held back until no
further request has come for a while, and then all go out at once.  A request that needs the answer to another
one is in a later wave.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self
from urllib.parse import parse_qs, quote, unquote
from xml.sax.saxutils import escape, unescape

QUIET = 0.15  # seconds without a request after which the answers of a wave go out
DATE = "Mon, 01 Jan 2024 00:00:00 GMT"
NAMES = {200: "OK", 204: "No Content", 206: "Partial Content", 304: "Not Modified"}
CODES = {
    301: "PermanentRedirect",
    403: "AccessDenied",
    404: "NoSuchKey",
    409: "BucketAlreadyOwnedByYou",
    412: "PreconditionFailed",
    416: "InvalidRange",
    429: "SlowDown",
    500: "InternalError",
    501: "NotImplemented",
    503: "SlowDown",
}


@dataclass
class Request:
    """What a client asked for, and what it got."""

    method: str
    key: str  # bucket and key
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""
    status: int = 0
    sent: int = 0  # bytes of the answer, without its head
    wave: int = 0

    @property
    def range(self) -> str | None:
        return self.headers.get("range")

    def __str__(self) -> str:
        what = "&".join(name for name in self.query if name in ("list-type", "delete", "uploads", "uploadId"))
        return " ".join(filter(None, [self.method, self.key + (what and f"?{what}"), self.range]))


@dataclass
class Seen:
    """The requests of a block."""

    requests: list[Request] = field(default_factory=list)
    waves: int = 0

    def __str__(self) -> str:
        return "\n".join(f"{request.wave}: {request} -> {request.status}" for request in self.requests)

    @property
    def nbytes(self) -> int:
        return sum(request.sent for request in self.requests)


@dataclass
class Fault:
    """What is wrong with the answers to some requests: see :meth:`ObjectServer.fail`."""

    kind: int | str
    key: re.Pattern[str]
    method: str | None
    times: float
    headers: dict[str, str]


@dataclass
class Held:
    """Answers that are held back: see :meth:`ObjectServer.hold`."""

    key: re.Pattern[str]
    released: asyncio.Event
    requests: list[Request] = field(default_factory=list)  # that wait for theirs


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class ObjectServer:
    """The server; it runs in a thread between ``start()`` and ``stop()``, or in a ``with`` block.

    `objects` are the values by bucket and key, ``{"bucket/a/zarr.json": b"..."}``; tests may change them.
    `latency` is added to each answer, in seconds.  Where `private` is set, what nobody has signed is refused;
    with a `region`, what is signed for another one.  Without `conditions`, those of readers are ignored;
    without `compares`, those of writers who replace a value.  Tags may be `weak`.
    `before_put` is called before a value is stored, `before_get` before one is looked for, with the request.
    Long runs set `keeps_log` to False.
    """

    def __init__(self, *, latency: float = 0.0, private: bool = False) -> None:
        self.objects: dict[str, bytes] = {}
        self.latency = latency
        self.private = private
        self.region: str | None = None
        self.conditions = self.compares = True
        self.weak = False
        self.before_put: Callable[[Request], object] | None = None
        self.before_get: Callable[[Request], object] | None = None
        self.log: list[Request] = []
        self.keeps_log = True
        self.connections = 0
        self._faults: list[Fault] = []
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._metadata: dict[str, tuple[bytes, dict[str, str]]] = {}  # and the value that they belong to
        self._seen: Seen | None = None
        self._held: Held | None = None
        self._gate: asyncio.Future[None] | None = None
        self._arrived = 0  # requests so far
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="object-server", daemon=True)

    # --- life ---

    def start(self) -> Self:
        self._thread.start()
        self._server = self._call(
            asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def stop(self) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _end(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- for tests ---

    @contextmanager
    def watch(self) -> Iterator[Seen]:
        """Count the requests of a block and their waves."""
        self._seen = seen = Seen()
        try:
            yield seen
        finally:
            self._seen = None

    def fail(
        self,
        kind: int | str,
        key: str = "",
        *,
        method: str | None = None,
        times: float = float("inf"),
        headers: dict[str, str] | None = None,
    ) -> Fault:
        """Answer the next `times` requests for keys in which the pattern `key` is found with a fault.

        It is a status, or ``"reset"``: the connection ends without an answer; ``"lost"``: it does what it is
        asked for, but its answer does not arrive; ``"truncated"``: the connection ends within the body;
        ``"whole"``: a range is answered by all of the value, with status 200; ``"hang"``: there is no answer;
        ``"no bucket"``: there is none of that name.
        """
        fault = Fault(kind, re.compile(key), method, times, headers or {})
        self._faults.append(fault)
        return fault

    @contextmanager
    def hold(self, key: str) -> Iterator[Held]:
        """Hold back the answers to requests for keys in which a pattern is found, until the block ends."""
        held = Held(re.compile(key), asyncio.Event())
        self._held = held
        try:
            yield held
        finally:
            self._held = None
            self._loop.call_soon_threadsafe(held.released.set)

    def mend(self) -> None:
        """Fail no more."""
        self._faults.clear()

    def reset(self) -> None:
        """Be as new: empty, fast, open to everyone and without faults."""
        self.mend()
        self.objects.clear()
        self.log.clear()
        self.latency, self.private, self.region = 0.0, False, None
        self.conditions = self.compares = self.keeps_log = True
        self.weak = False
        self.before_put = self.before_get = None

    # --- connections ---

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._serve(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            with suppress(Exception):
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await _body(reader, headers)
        path, _, query = target.partition("?")
        words = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        request = Request(method, unquote(path).lstrip("/"), words, headers, body)
        if self.keeps_log:
            self.log.append(request)
        self._arrived += 1
        if self._held is not None and self._held.key.search(request.key):
            self._held.requests.append(request)
            await self._held.released.wait()
        await self._hold(request)
        fault = self._fault(request)
        kind = fault.kind if fault is not None else None
        if kind == "hang":
            await asyncio.Event().wait()
        if kind == "reset":
            writer.transport.abort()
            return False
        if kind == "whole":
            headers.pop("range", None)
        if isinstance(kind, int):
            answer = _refused(kind, request, fault.headers if fault else {})
        elif kind == "no bucket":
            answer = _refused(404, request, code="NoSuchBucket")
        else:
            answer = self._answer(request)
        if kind == "lost":
            writer.transport.abort()
            return False
        request.status, request.sent = answer.status, len(answer.body) if method != "HEAD" else 0
        writer.write(_head(answer))
        if method != "HEAD":
            writer.write(answer.body if kind != "truncated" else answer.body[: len(answer.body) // 2])
        await writer.drain()
        if kind == "truncated":
            writer.close()
            return False
        return True

    async def _hold(self, request: Request) -> None:
        """Wait until the answer may go out."""
        seen = self._seen
        if seen is None:
            if self.latency:
                await asyncio.sleep(self.latency)
            return
        if self._gate is None:
            seen.waves += 1
            self._gate = self._loop.create_future()
            opening = self._loop.create_task(self._open(self._gate))
            self._tasks.add(opening)
            opening.add_done_callback(self._tasks.discard)
        request.wave = seen.waves
        seen.requests.append(request)
        await self._gate

    async def _open(self, gate: asyncio.Future[None]) -> None:
        """Let the answers go out as soon as nothing more arrives."""
        arrived = -1
        while arrived != self._arrived:
            arrived = self._arrived
            await asyncio.sleep(QUIET)
            for _ in range(10):  # what came while this thread had no turn is not served yet
                await asyncio.sleep(0)
        self._gate = None
        gate.set_result(None)

    def _fault(self, request: Request) -> Fault | None:
        for fault in self._faults:
            if fault.times > 0 and fault.method in (None, request.method) and fault.key.search(request.key):
                fault.times -= 1
                return fault
        return None

    # --- answers ---

    def _answer(self, request: Request) -> Answer:
        if self.private and "authorization" not in request.headers:
            return _refused(403, request)
        signature = request.headers.get("authorization", "")
        if self.region is not None and f"/{self.region}/" not in signature:
            return _refused(301, request, {"x-amz-bucket-region": self.region})
        bucket, _, key = request.key.partition("/")
        match request.method:
            case "GET" if not key and "list-type" in request.query:
                return self._list(bucket, request.query)
            case "GET" | "HEAD":
                return self._get(request)
            case "PUT" if "partNumber" in request.query:
                self._uploads[request.query["uploadId"]][int(request.query["partNumber"])] = request.body
                return Answer(headers={"ETag": _etag(request.body)})
            case "PUT" if key:
                return self._put(request)
            case "PUT":  # a new bucket
                return Answer()
            case "DELETE":
                self.objects.pop(request.key, None)
                return Answer(204)
            case "POST" if "delete" in request.query:
                keys = [unescape(name) for name in re.findall(r"<Key>(.*?)</Key>", request.body.decode())]
                for name in keys:
                    self.objects.pop(f"{bucket}/{name}", None)
                gone = "".join(f"<Deleted><Key>{escape(name)}</Key></Deleted>" for name in keys)
                return _xml(f"<DeleteResult>{gone}</DeleteResult>")
            case "POST" if "uploads" in request.query:
                number = str(len(self._uploads))
                self._uploads[number] = {}
                return _xml(
                    f"<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key>"
                    f"<UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
                )
            case "POST" if "uploadId" in request.query:
                parts = self._uploads.pop(request.query["uploadId"])
                data = self.objects[request.key] = b"".join(parts[n] for n in sorted(parts))
                return _xml(
                    f"<CompleteMultipartUploadResult><Key>{escape(key)}</Key><ETag>{_etag(data)}</ETag>"
                    "</CompleteMultipartUploadResult>"
                )
        return _refused(501, request)

    def _get(self, request: Request) -> Answer:
        if self.before_get is not None:
            self.before_get(request)
        data = self.objects.get(request.key)
        if data is None:
            return _refused(404, request)
        headers = {"ETag": "W/" * self.weak + _etag(data), "Last-Modified": DATE, "Accept-Ranges": "bytes"}
        described, metadata = self._metadata.get(request.key, (None, {}))
        if described is data:
            headers |= metadata
        if self.conditions and request.headers.get("if-none-match") == headers["ETag"]:
            return Answer(304, headers=headers)
        if self.conditions and request.headers.get("if-match", headers["ETag"]) != headers["ETag"]:
            return _refused(412, request)
        if request.range is None:
            return Answer(200, data, headers)
        start, stop = _span(request.range, len(data))
        if start >= len(data):
            return _refused(416, request, {"Content-Range": f"bytes */{len(data)}"})
        return Answer(
            206, data[start:stop], {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}
        )

    def _put(self, request: Request) -> Answer:
        if self.before_put is not None:
            self.before_put(request)
        old = self.objects.get(request.key)
        match = request.headers.get("if-match") if self.compares else None
        if request.headers.get("if-none-match") == "*" and old is not None:
            return _refused(412, request)
        if match is not None and (old is None or match != _etag(old)):
            return _refused(412 if old is not None else 404, request)
        self.objects[request.key] = request.body
        metadata = {name: text for name, text in request.headers.items() if name.startswith("x-amz-meta-")}
        self._metadata[request.key] = request.body, metadata
        return Answer(headers={"ETag": _etag(request.body)})

    def _list(self, bucket: str, query: dict[str, str]) -> Answer:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        most = int(query.get("max-keys", 1000))
        after = query.get("continuation-token", query.get("start-after", ""))
        in_url = "encoding-type" in query
        encode = quote if in_url else escape
        more = "<EncodingType>url</EncodingType>" if in_url else ""
        lines: dict[str, str] = {}
        for name in sorted(self.objects):
            key = name.removeprefix(f"{bucket}/")
            if key == name or not key.startswith(prefix):
                continue
            below, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            at = prefix + below + found if found else key
            if at <= after or at in lines:
                continue
            if len(lines) == most:
                break
            if found:
                lines[at] = f"<CommonPrefixes><Prefix>{encode(at)}</Prefix></CommonPrefixes>"
                continue
            data = self.objects[name]
            lines[at] = (
                f"<Contents><Key>{encode(key)}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
                f"<ETag>{escape(_etag(data))}</ETag><Size>{len(data)}</Size></Contents>"
            )
        else:
            return _listing(bucket, prefix, lines, f"{more}<IsTruncated>false</IsTruncated>")
        token = f"<NextContinuationToken>{escape([*lines][-1])}</NextContinuationToken>"
        return _listing(bucket, prefix, lines, f"{more}<IsTruncated>true</IsTruncated>{token}")


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") == "chunked":
        data = await _chunks(reader)
    else:
        data = await reader.readexactly(int(headers.get("content-length", 0)))
    if "aws-chunked" in headers.get("content-encoding", ""):
        inner = asyncio.StreamReader()
        inner.feed_data(data)
        inner.feed_eof()
        return await _chunks(inner)
    return data


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while (await reader.readline()).strip():  # trailers
        pass
    return b"".join(parts)


def _span(text: str, size: int) -> tuple[int, int]:
    first, _, last = text.removeprefix("bytes=").partition("-")
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(int(last) + 1, size) if last else size


@lru_cache(maxsize=16)  # a large one is asked for again and again
def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


def _head(answer: Answer) -> bytes:
    headers = {"Content-Length": str(len(answer.body)), **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} {NAMES.get(answer.status, 'Error')}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()


def _refused(
    status: int, request: Request, headers: dict[str, str] | None = None, *, code: str | None = None
) -> Answer:
    code = code or CODES.get(status, "Error")
    what = "The requested range is not satisfiable" if status == 416 else code
    text = f"<Error><Code>{code}</Code><Message>{what}</Message><Key>{escape(request.key)}</Key></Error>"
    return _xml(text, status, headers)


def _xml(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()
    return Answer(status, body, {"Content-Type": "application/xml", **(headers or {})})


def _listing(bucket: str, prefix: str, lines: dict[str, str], token: str) -> Answer:
    return _xml(
        f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(lines)}</KeyCount>"
        f"{token}{''.join(lines.values())}</ListBucketResult>"
    )
