"""Make tour.ipynb, a notebook with its results, of the code on the page guide/tour.md.

python docs/make_tour.py            write it
python docs/make_tour.py --check    compare; exit status 1 if it is out of date
"""

from __future__ import annotations

import doctest
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated import write_or_check

DOCS = Path(__file__).parent
PAGE = DOCS / "guide" / "tour.md"
NOTEBOOK = DOCS / "tour.ipynb"


def notebook() -> str:
    """Return the notebook as JSON."""
    text = PAGE.read_text(encoding="utf-8").replace(
        "; [tour.ipynb](../tour.ipynb) is the same as a notebook", ""
    )
    parts = re.split(r"^```python\n(.*?)^```\n", text, flags=re.MULTILINE | re.DOTALL)
    cells = [*made(parts)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def made(parts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the cells: text, and one of code for each example with a result."""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            if part.strip():
                yield {"cell_type": "markdown", "metadata": {}, "source": linked(part.strip())}
            continue
        gathered = ""
        for example in doctest.DocTestParser().get_examples(part):
            gathered += example.source
            if example.want:
                yield code(gathered, example.want)
                gathered = ""
        if gathered:
            yield code(gathered, "")


def linked(text: str) -> str:
    """Return text whose links lead from the folder of the notebook."""
    return re.sub(r"\]\((\w[\w-]*\.md)\)", r"](guide/\1)", text)


def code(source: str, want: str) -> dict[str, Any]:
    """Return a cell, with the result that the page shows."""
    text = {"data": {"text/plain": want.rstrip()}, "execution_count": None, "metadata": {}}
    outputs = [{**text, "output_type": "execute_result"}] if want else []
    if "print(" in source:
        outputs = [{"name": "stdout", "output_type": "stream", "text": want}]
    return {
        "cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs,
        "source": source.rstrip(),
    }  # fmt: skip


def run(document: dict[str, Any], folder: Path) -> int:
    """Run the cells of a notebook one after the other in a folder; returns how many there were."""
    names: dict[str, Any] = {}
    before, count = os.getcwd(), 0
    os.chdir(folder)
    try:
        for cell in document["cells"]:
            if cell["cell_type"] == "code":
                exec(compile(cell["source"], cell["id"], "exec"), names)
                count += 1
    finally:
        os.chdir(before)
    return count


def main() -> int:
    """Write or compare, after the cells have been run."""
    with tempfile.TemporaryDirectory() as folder:
        run(json.loads(notebook()), Path(folder))
    return write_or_check(__file__, __doc__, NOTEBOOK, notebook, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
