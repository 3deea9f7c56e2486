"""Measurements that are not rounds of one operation, by name: imports, peak memory, freedom of the GIL."""

from __future__ import annotations

from benchmarks.probes import gil, imports, memory

#: Each takes (setup, names of libraries, rounds).
PROBES = {"imports": imports.run, "memory": memory.run, "gil": gil.run}
