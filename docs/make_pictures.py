"""Make the pictures in docs/pictures: notebooks, a terminal and the card; with Chromium, tmux and Pillow."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np
from PIL import Image

import zarrcore
from zarrcore.display import page as pages_of_zarrcore

PICTURES = Path(__file__).parent / "pictures"
DARK = "--blink-settings=preferredColorScheme=0"
COMMANDS = ("tree ocean.zarr --sizes", "stat ocean.zarr/water/salt", "explain ocean.zarr/depth :100,300:400")


def make_store(folder: Path) -> zarrcore.Group:
    """Return a group with arrays in which something is stored."""
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
    return root


def pages(root: zarrcore.Group) -> Iterator[tuple[str, str, str, int, int]]:
    """Yield name, HTML, style, width and height of each picture of a notebook."""
    salt, depth = root["water/salt"]._repr_html_(), root["depth"]._repr_html_()
    yield "array", salt + depth, "", 800, 530
    yield "array-dark", salt, "background:#111;color:#ddd", 800, 310
    yield "array-narrow", salt, "width:340px", 500, 520
    yield "group", root._repr_html_().replace("<details>", "<details open>"), "", 640, 240


def terminal(folder: Path, columns: int) -> str:
    """Return what a terminal of so many columns shows of the command line, as HTML."""
    shown = [f"echo '$ zarrcore {command}'; {sys.executable} -m zarrcore {command}" for command in COMMANDS]
    (folder / "show.sh").write_text("\n".join([*shown, "touch done; sleep 60"]), encoding="utf-8")
    server = ["tmux", "-L", f"zarrcore{columns}"]
    size = ["-x", str(columns), "-y", "24", "-c", str(folder)]
    subprocess.run([*server, "new-session", "-d", *size, "bash show.sh"], check=True)
    while not (folder / "done").exists():
        time.sleep(0.1)
    time.sleep(1)  # tmux shows what was printed a moment later
    done = subprocess.run([*server, "capture-pane", "-p"], check=True, capture_output=True, text=True)
    subprocess.run([*server, "kill-server"], check=True)
    (folder / "done").unlink()
    return f"<pre style='margin:6px;font:13px/1.35 monospace'>{escape(done.stdout.rstrip())}</pre>"


def take(chromium: str, folder: Path, name: str, html: str, style: str, size: tuple[int, int]) -> None:
    """Take the picture of a page, and reduce its colors."""
    page, picture = folder / "page.html", PICTURES / f"{name}.png"
    shown = html.replace(f"file://{folder}/", "")
    body = f"<!doctype html><meta charset=utf-8><body style='{style}'>{shown}"
    page.write_text(body, encoding="utf-8")
    window = f"--window-size={size[0]},{size[1]}"
    scheme = [DARK] if "#111" in style else []
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", window, *scheme]
    subprocess.run([*command, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True)
    with Image.open(picture) as taken:
        taken.convert("RGB").quantize(32, dither=Image.Dither.NONE).save(picture, optimize=True)


def main() -> None:
    """Write all pictures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("make_pictures: no chromium is installed")
    pages_of_zarrcore.MOST_SECONDS = 60.0  # nothing is left out on a busy machine
    PICTURES.mkdir(exist_ok=True)
    card = PICTURES.with_name("card.svg").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        take(chromium, folder, "card", card, "margin:0", (1280, 640))  # those who show it take no SVG
        for picture, html, style, *size in pages(make_store(folder)):
            take(chromium, folder, picture, html, style, (size[0], size[1]))
        for columns, width in ((80, 670), (120, 980)):
            shown = terminal(folder, columns)
            style = "margin:0;background:#111;color:#ddd"
            take(chromium, folder, f"terminal-{columns}", shown, style, (width, 30 + 18 * shown.count("\n")))


if __name__ == "__main__":
    main()
