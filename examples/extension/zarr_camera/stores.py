"""A store: everything in one SQLite file."""

import sqlite3
from threading import Lock

from zarrcore.abc.store import Store
from zarrcore.storage import resolve_range


class SQLiteStore(Store):
    """Values as rows of a table."""

    def __init__(self, path, *, read_only=False):
        super().__init__(read_only=read_only)
        self._lock = Lock()
        self._db = sqlite3.connect(path, check_same_thread=False)
        with self._lock, self._db:
            self._db.execute("CREATE TABLE IF NOT EXISTS zarr (key TEXT PRIMARY KEY, value BLOB)")

    def get(self, key, byte_range=None):
        with self._lock:
            row = self._db.execute("SELECT value FROM zarr WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        start, stop = resolve_range(byte_range, len(row[0]))
        return row[0][start:stop]

    def set(self, key, value):
        self._check_writable()
        with self._lock, self._db:
            self._db.execute("INSERT OR REPLACE INTO zarr VALUES (?, ?)", (key, memoryview(value).tobytes()))

    def delete(self, key):
        self._check_writable()
        with self._lock, self._db:
            self._db.execute("DELETE FROM zarr WHERE key = ?", (key,))

    def list(self):
        with self._lock:
            rows = self._db.execute("SELECT key FROM zarr").fetchall()
        return (key for (key,) in rows)

    def close(self):
        self._db.close()
