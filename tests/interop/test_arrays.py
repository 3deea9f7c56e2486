# SPDX-License-Identifier: MIT
"""Arrays go from here to the other implementations, and back.

What is exchanged is in ``exchange/v3_cases.py`` and ``exchange/v2_cases.py``, what a peer cannot do in
``exchange/limits.py``.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")  # for the data types of the cases

from exchange.cases import Case
from exchange.limits import READS, WRITES, peers_for, refusals, why_not
from exchange.peers import Ours, need_packages, peer_named
from exchange.table import CASES
from exchange.zarr2 import Zarr2Error

import zarrcore

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]  # the peers' warnings are theirs


OUR_CODE = Path(zarrcore.__file__).parent


def pairs(direction: str) -> list[Any]:
    """Cases and the peers that can read or write them."""
    return [
        pytest.param(case, peer, id=f"{case}-{peer.replace(' ', '')}")
        for case in CASES
        for peer in peers_for(case)
        if why_not(case, peer, direction) is None
    ]


def impossible() -> list[Any]:
    """Cases, peers and directions that are not possible there."""
    return [
        pytest.param(case, peer, direction, id=f"{case}-{peer.replace(' ', '')}-{direction}")
        for case, peer, direction in refusals(CASES)
    ]


def assert_same(found: Any, wanted: np.ndarray) -> None:
    """Same shape, same dtype but for the byte order in memory, same bits; equal objects."""
    found = np.asarray(found)
    assert found.shape == wanted.shape
    if wanted.dtype.kind in "OT":
        assert [plain(item) for item in found.flat] == [plain(item) for item in wanted.flat]
        return
    assert found.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
    assert found.astype(wanted.dtype).tobytes() == wanted.tobytes()


def plain(item: Any) -> tuple[type, Any]:
    """An object so that == tells it from another: 1 is not True, and an array not another's part."""
    if isinstance(item, np.ndarray):
        return np.ndarray, (item.dtype, item.tolist())
    return (str, str(item)) if isinstance(item, str) else (type(item), item)


@pytest.mark.parametrize(("case", "peer"), pairs(READS))
def test_ours_read_there(case: Case, peer: str, tmp_path: Path) -> None:
    """They read what we wrote, and patch it."""
    ours, theirs = Ours(), peer_named(peer, case)
    ours.write(tmp_path / "a", case)
    assert_same(theirs.read(tmp_path / "a", case), case.values)
    if why_not(case, peer, WRITES) is None:
        theirs.patch(tmp_path / "a", case)
        assert_same(ours.read(tmp_path / "a", case), case.patched)


@pytest.mark.parametrize(("case", "peer"), pairs(WRITES))
def test_theirs_read_here(case: Case, peer: str, tmp_path: Path) -> None:
    """We read what they wrote, and patch it."""
    ours, theirs = Ours(), peer_named(peer, case)
    theirs.write(tmp_path / "a", case)
    assert_same(ours.read(tmp_path / "a", case), case.values)
    array = zarrcore.open_array(tmp_path / "a")
    assert array.attrs.asdict() == case.document.get("attributes", {})
    if array.metadata.zarr_format == 3:
        assert array.metadata.dimension_names == case.metadata.dimension_names
    ours.patch(tmp_path / "a", case)
    assert_same(ours.read(tmp_path / "a", case), case.patched)
    if why_not(case, peer, READS) is None:
        assert_same(theirs.read(tmp_path / "a", case), case.patched)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ours_read_here(case: Case, tmp_path: Path) -> None:
    """The cases themselves: absent chunks are absent, and everything comes back."""
    need_packages(case)
    ours = Ours()
    ours.write(tmp_path / "a", case)
    assert_same(ours.read(tmp_path / "a", case), case.values)
    ours.patch(tmp_path / "a", case)
    assert_same(ours.read(tmp_path / "a", case), case.patched)


# zarrs has classes of its own for what it does not know.
FOREIGN = (ValueError, TypeError, RuntimeError, Zarr2Error)
OF_ZARRS = ("UnsupportedMetadataError", "UnsupportedDataTypeError")


def refusal(action: Callable[[], Any]) -> Exception | None:
    """The error with which a peer refuses, or None; anything else is a fault of these tests."""
    try:
        action()
    except Exception as error:
        assert isinstance(error, FOREIGN) or type(error).__name__ in OF_ZARRS, repr(error)
        files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
        # Once as_zarr() is loaded, zarr-python asks it for pipelines, and it asks zarr-python again.
        asked = [file for file in files[:-1] if not file.is_relative_to(OUR_CODE / "integrations")]
        assert not any(file.is_relative_to(OUR_CODE) for file in [*asked, files[-1]]), "the error is ours"
        return error
    return None


def differs(found: Any, wanted: np.ndarray) -> bool:
    """Whether the arrays differ as ``assert_same`` sees it."""
    try:
        assert_same(found, wanted)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(("case", "peer", "direction"), impossible())
def test_not_possible_there(case: Case, peer: str, direction: str, tmp_path: Path) -> None:
    """What ``limits.py`` says is still so: they refuse, or what they read or write are other values."""
    ours, theirs = Ours(), peer_named(peer, case)
    found: list[Any] = []
    if direction == READS:
        ours.write(tmp_path / "a", case)
        assert_same(ours.read(tmp_path / "a", case), case.values)
        refused = refusal(lambda: found.append(theirs.read(tmp_path / "a", case)))
    else:
        refused = refusal(lambda: theirs.write(tmp_path / "a", case))
        if refused is None:
            found.append(ours.read(tmp_path / "a", case))
    assert refused is not None or differs(found[0], case.values)


def test_an_error_of_ours_is_no_refusal() -> None:
    with pytest.raises(AssertionError, match="the error is ours"):
        refusal(lambda: zarrcore.open_array({}, mode="no such mode"))
    with pytest.raises(AssertionError, match="AttributeError"):
        refusal(lambda: ().read)  # type: ignore[attr-defined]
