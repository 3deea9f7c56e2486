"""The ``data_type`` member of format 3, brought into one form (Zarr v3, "Extension definition")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrcore.errors import DataTypeValidationError


def canonical_v3(data: object) -> Any:
    """Return the `data_type` member as a name, or as an object with ``name`` and ``configuration``.

    Raises
    ------
    DataTypeValidationError
        If `data` has not the form of an extension point.
    """
    if isinstance(data, str):
        if not data:
            raise DataTypeValidationError("the name of a data type must not be empty")
        return data
    if not isinstance(data, Mapping):
        raise DataTypeValidationError(f"a data type must be a name or an object, got {shown(data)}")
    _check_members(data)
    configuration = data.get("configuration", {})
    if not configuration:
        return data["name"]
    return {"name": data["name"], "configuration": dict(configuration)}


def _check_members(data: Mapping[Any, Any]) -> None:
    unknown = sorted(map(str, set(data) - {"name", "configuration", "must_understand"}))
    if unknown:
        raise DataTypeValidationError(f"a data type object has unknown members {shown(unknown)}")
    if not isinstance(data.get("name"), str) or not data["name"]:
        raise DataTypeValidationError(f"a data type object must have a name, got {shown(data)}")
    if not isinstance(data.get("configuration", {}), Mapping):
        raise DataTypeValidationError(
            f"the configuration of a data type must be an object, got {shown(data)}"
        )
    if not isinstance(data.get("must_understand", True), bool):
        raise DataTypeValidationError(f"must_understand must be true or false, got {shown(data)}")


def shown(data: object) -> str:
    """Return `data` as text for a message, shortened: it may come from a damaged document."""
    try:
        text = repr(data)
    except (ValueError, RecursionError):  # an integer of too many digits, a value nested too deeply
        text = f"<{type(data).__name__}>"
    return text if len(text) <= 120 else f"{text[:117]}..."
