"""Measurements that are not rounds of one operation, by name."""

from __future__ import annotations

from benchmarks.probes import beside, imports, memory, threads

#: Each takes (setup, names of libraries, rounds).
PROBES = {"threads": threads.run, "imports": imports.run, "memory": memory.run, "beside": beside.run}
