"""Numbers of other types than numpy's: stored exactly, rounded only where a data type rounds, or refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import zarrcore

INTEGERS = ["i1", "u1", "i8", "u8"]


def stored(dtype: str, value: Any) -> list[Any]:
    array = zarrcore.create_array({}, shape=2, dtype=dtype)
    array[...] = value
    return array[...].tolist()


def forms(item: Any) -> list[Any]:
    """The same number in each way in which it can be handed over."""
    return [item, [item, Decimal(1)], [item, 1], np.array([item, 1], dtype=object), [[item][0], Fraction(1)]]


@pytest.mark.parametrize("item", [Decimal("1.5"), Fraction(7, 2), 1.5, np.float32(1.5), np.longdouble(1.5)])
@pytest.mark.parametrize("dtype", [*INTEGERS, "?"])
def test_no_digits_are_cut_off(dtype: str, item: Any) -> None:
    for value in forms(item):
        with pytest.raises(ValueError, match="without changing it"):
            stored(dtype, value)


@pytest.mark.parametrize("item", [Decimal("NaN"), Decimal("Infinity"), float("nan"), float("-inf")])
@pytest.mark.parametrize("dtype", [*INTEGERS, "?"])
def test_no_integer_for_what_is_none(dtype: str, item: Any) -> None:
    for value in forms(item):
        with pytest.raises((ValueError, OverflowError), match="without changing it"):
            stored(dtype, value)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_numbers_of_any_type_are_integers(dtype: str) -> None:
    for item in (Decimal(2), Fraction(4, 2), 2.0, np.float32(2), np.int8(2)):
        for value in forms(item):
            assert stored(dtype, value)[0] == 2


@pytest.mark.parametrize("number", [2**63 + 1, 2**53 + 1])
def test_large_integers_beside_floats_stay_exact(number: int) -> None:
    for value in ([number, 1.0], [number, Decimal(1)], np.array([number, 1.0], dtype=object)):
        assert stored("u8", value) == [number, 1]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("item", [Decimal("1e30"), 2**64, -(2**63) - 1])
def test_integers_out_of_range(dtype: str, item: Any) -> None:
    for value in forms(item):
        with pytest.raises((OverflowError, ValueError)):
            stored(dtype, value)


def test_floats_round_and_do_not_overflow() -> None:
    assert stored("f8", [Decimal("0.1"), Fraction(1, 3)]) == [0.1, 1 / 3]
    assert stored("c16", [Decimal("0.5"), 1j]) == [0.5, 1j]
    for item in (Decimal("1e400"), 10**400):
        with pytest.raises(OverflowError):
            stored("f8", [item, 1])


@pytest.mark.parametrize("dtype", [*INTEGERS, "?", "f4", "f8", "c8"])
@pytest.mark.parametrize("item", ["1", b"1", None, np.datetime64(1, "s"), object()])
def test_what_is_no_number(dtype: str, item: Any) -> None:
    for value in ([item, Decimal(1)], np.array([item, 1], dtype=object)):
        with pytest.raises(TypeError):
            stored(dtype, value)


@pytest.mark.parametrize("dtype", [*INTEGERS, "?", "f4"])
def test_complex_numbers_are_not_real(dtype: str) -> None:
    with pytest.raises(TypeError, match="complex"):
        stored(dtype, [1 + 0j, Decimal(1)])


def test_masked_values_are_refused() -> None:
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    for dtype in ("i8", "i4", "f8"):
        with pytest.raises(ValueError, match=r"masked.*filled"):
            stored(dtype, masked)
        assert stored(dtype, np.ma.masked_array([1, 2])) == stored(dtype, masked.filled(2)) == [1, 2]


def test_records_follow_the_same_rules() -> None:
    array = zarrcore.create_array({}, shape=2, dtype=[("a", "i4"), ("b", "f4")])
    with pytest.raises(ValueError, match="without changing it"):
        array[...] = [(Decimal("1.5"), 1), (1, 1)]
    with pytest.raises(ValueError, match="without changing it"):
        array["a"] = [Fraction(1, 2), 1]
    array[...] = [(Decimal(2), Decimal("0.5")), (1, 1)]
    assert array[0].tolist() == (2, 0.5)


def test_records_are_matched_by_the_names_of_their_fields() -> None:
    """Unlike numpy's assignment, which goes by position and so swaps the fields of reordered records."""
    array = zarrcore.create_array({}, shape=1, dtype=[("a", "i4"), ("b", "i4")])
    array[...] = np.array([(1, 2)], [("b", "i4"), ("a", "i4")])
    assert array[0].tolist() == (2, 1)
    with pytest.raises(TypeError, match="fields"):
        array[...] = np.array([(1, 2)], [("x", "i4"), ("y", "i4")])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("given", ["f2", "f4", "f8"])
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_infinite_numbers_of_every_width_are_no_integers(value: float, given: str, dtype: str) -> None:
    """A half is infinite beyond 65504, so that the lowest integer and -inf are equal as halves."""
    array = zarrcore.create_array({}, shape=(2,), dtype=dtype)
    with pytest.raises(ValueError, match="without changing it"):
        array[...] = np.array([1, value], given)
