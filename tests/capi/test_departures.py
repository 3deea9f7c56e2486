# SPDX-License-Identifier: MIT
"""libzarrcore reads and refuses the documents that zarrcore reads with a warning and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import refused_with
from departing_documents import CASES, REFUSED, Case

pytestmark = pytest.mark.timeout(600)  # the first test builds the library


def put(root: Path, document: dict[str, Any]) -> None:
    name = ".zarray" if document["zarr_format"] == 2 else "zarr.json"
    (root / name).write_text(json.dumps(document))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.document['zarr_format']} {case.name}")
def test_what_has_one_meaning_is_read(library: Any, tmp_path: Path, case: Case) -> None:
    put(tmp_path, case.document)
    if not case.in_c:
        with pytest.raises(Exception, match="is not supported"):
            library.handle(tmp_path)
        return
    handle = library.handle(tmp_path, writable=False)
    try:
        dtype = np.dtype(library.typestr(handle).decode())
        assert dtype == np.dtype(case.dtype).newbyteorder("=")
        item = np.zeros(1, dtype)
        assert library.fill_value(handle, item.ctypes.data, item.nbytes) == 0
        np.testing.assert_equal(item, np.array([case.fill_value]).astype(dtype))
    finally:
        library.release(handle)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_one_meaning_is_refused(library: Any, tmp_path: Path, name: str) -> None:
    document, _ = REFUSED[name]
    put(tmp_path, document)
    with pytest.raises(Exception) as caught:
        library.release(library.handle(tmp_path))
    assert caught.value.args[0] == refused_with(caught.value.args[1])
