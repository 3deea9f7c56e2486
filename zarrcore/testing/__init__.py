"""Conformance suites for people who write their own stores, codecs and data types; they need pytest."""
