"""Make the pictures of notebook pages in docs/pictures, with a Chromium that is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import zarrcore
from zarrcore.display import page as pages_of_zarrcore

PICTURES = Path(__file__).parent / "pictures"


def pages(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Return HTML, width and height of each picture."""
    root = zarrcore.create_group(folder / "ocean.zarr", attributes={"title": "Cruise 12", "ship": "Meteor"})
    salt = root.create_array(
        "water/salt", shape=(365, 720, 1440), chunks=(30, 90, 90), shards=(120, 360, 360), dtype="f4",
        dimension_names=("time", "lat", "lon"), attributes={"units": "1e-3"},
    )  # fmt: skip
    salt[:120, :360] = np.float32(35)
    depth = root.create_array(
        "depth", shape=(720, 1440), chunks=(120, 180), dtype="i2", dimension_names=("lat", "lon")
    )
    depth[:400, 300:900] = -3000
    root.create_array("stations/position", shape=(40, 2), dtype="f8")
    return {
        "array": (salt._repr_html_() + depth._repr_html_(), 800, 590),
        "group": (root._repr_html_().replace("<details>", "<details open>"), 640, 270),
    }


def main() -> None:
    """Write all pictures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("make_pictures: no chromium is installed")
    pages_of_zarrcore.MOST_SECONDS = 60.0  # nothing is left out on a busy machine
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        for picture, (html, width, height) in pages(Path(name)).items():
            page = Path(name) / "page.html"
            shown = html.replace(f"file://{name}/", "")
            page.write_text(f"<!doctype html><meta charset=utf-8>{shown}", encoding="utf-8")
            subprocess.run(
                [
                    chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--window-size={width},{height}", f"--screenshot={PICTURES / picture}.png",
                    page.as_uri(),
                ],
                check=True, capture_output=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
