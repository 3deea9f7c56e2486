# SPDX-License-Identifier: MIT
"""examples/readers: what GDAL and netCDF would show, of stores that zarrcore and others have written."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from capi_programs import compile_program, linked, run_program

import zarrcore

READERS = Path(__file__).resolve().parents[2] / "examples" / "readers"

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="libzarrcore is built by make"),
]
Run = Callable[..., subprocess.CompletedProcess[str]]
RGB = np.random.default_rng(0).integers(0, 256, (3, 40, 50)).astype("u1")
HEIGHTS = np.linspace(-5, 20, 30 * 45).reshape(30, 45).astype("f4")
ATTRIBUTES = {"title": 'a "b", {c}: \\ ', "range": [1, [2.5, None], {"x": "]"}], "none": {}, "of": []}


@pytest.fixture(scope="module")
def readers(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both programs, without a warning."""
    directory = tmp_path_factory.mktemp("readers")
    flags = ["-std=c11", "-O2", "-Wpedantic", "-lm", *linked(prefix)]
    return {
        name: compile_program("cc", directory / name, READERS / f"{name}.c", *flags)
        for name in ("raster", "dump")
    }


@pytest.fixture(scope="module")
def run(readers: dict[str, Path]) -> Run:
    def run_reader(name: str, *args: str | Path, fails: str = "") -> subprocess.CompletedProcess[str]:
        done = run_program(readers[name], *args)
        assert (done.returncode == 0) is (not fails), done.stdout + done.stderr
        assert fails in done.stderr
        return done

    return run_reader


def write_zarrcore(path: Path, zarr_format: int) -> None:
    group = zarrcore.create_group(path, zarr_format=zarr_format, attributes=ATTRIBUTES)
    more = {"shards": (1, 40, 60)} if zarr_format == 3 else {}
    names = {"dimension_names": ("band", "y", "x")} if zarr_format == 3 else {}
    attributes = {"units": "1"} | ({} if names else {"_ARRAY_DIMENSIONS": ["band", "y", "x"]})
    group.create_array("image/rgb", data=RGB, chunks=(1, 20, 20), attributes=attributes, **more, **names)
    group.create_array("height", data=HEIGHTS, chunks=(7, 9), attributes={"_FillValue": -5.0})


def write_zarr_python(path: Path, zarr_format: int) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(str(path), zarr_format=zarr_format, attributes=ATTRIBUTES)
    more = {"shards": (1, 40, 60)} if zarr_format == 3 else {}
    names = {"dimension_names": ("band", "y", "x")} if zarr_format == 3 else {}
    attributes = {"units": "1"} | ({} if names else {"_ARRAY_DIMENSIONS": ["band", "y", "x"]})
    rgb = group.create_array(
        "image/rgb", shape=RGB.shape, dtype="u1", chunks=(1, 20, 20), attributes=attributes, **more, **names
    )
    rgb[...] = RGB
    group.create_array("height", data=HEIGHTS, chunks=(7, 9), attributes={"_FillValue": -5.0})


@pytest.fixture(scope="module", params=["zarrcore-2", "zarrcore-3", "zarr_python-2", "zarr_python-3"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    package, zarr_format = request.param.split("-")
    path = tmp_path_factory.mktemp("stores") / request.param
    {"zarrcore": write_zarrcore, "zarr_python": write_zarr_python}[package](path, int(zarr_format))
    return path


def image(path: Path) -> np.ndarray:
    data = path.read_bytes()
    width, height = map(int, re.match(rb"P5\n(\d+) (\d+)\n255\n", data).groups())
    return np.frombuffer(data[-width * height :], "u1").reshape(height, width)


def drawn(values: np.ndarray, missing: float = np.nan) -> np.ndarray:
    """Black where there is nothing, else from 1 to 255."""
    values = values.astype("f8")
    there = np.isfinite(values) & (values != missing)
    low, high = values[there].min(), values[there].max()
    share = (values - low) / (high - low) if high > low else values * 0
    return np.where(there, np.floor(share * 254 + 0.5) + 1, 0)


def assert_alike(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1  # rounded
    np.testing.assert_array_equal(found == 0, expected == 0)


def test_rasters_are_listed_and_described(run: Run, store: Path) -> None:
    listed = run("raster", store).stdout.splitlines()
    assert listed == ["height: 45 x 30, 1 band, <f4", "image/rgb: 50 x 40, 3 bands, |u1"]
    text = run("raster", store, "image/rgb").stdout
    for line in ("Size is 50, 40", "Bands: 3", "Type: |u1", "Block: 20 x 20", '  units = "1"'):
        assert f"\n{line}\n" in text
    assert "Dimensions: band y x\n" in text
    assert ("Shard: 60 x 40\n" in text) is store.name.endswith("3")


def test_a_band_is_drawn(run: Run, store: Path, tmp_path: Path) -> None:
    run("raster", store, "image/rgb", "2", tmp_path / "out.pgm")
    assert_alike(image(tmp_path / "out.pgm"), drawn(RGB[2]))
    run("raster", store, "height", "0", tmp_path / "out.pgm")
    assert_alike(image(tmp_path / "out.pgm"), drawn(HEIGHTS, -5))
    run("dump", store, "image/rgb", tmp_path / "other.pgm", "1")
    assert_alike(image(tmp_path / "other.pgm"), drawn(RGB[1]))


def test_a_data_set_is_printed_as_ncdump_does(run: Run, store: Path) -> None:
    text = run("dump", store).stdout
    height = "float height(dim_30, dim_45)"
    for line in (
        f"    {height} ;",
        "      height:_FillValue = -5.0 ;",
        '      :title = "a \\"b\\", {c}: \\\\ " ;',
        "      :none = {} ;",
        "      :of = [] ;",
        "  group: image {",
        "      band = 3 ;",
        "      ubyte rgb(band, y, x) ;",
        '        rgb:units = "1" ;',
    ):
        assert f"\n{line}\n" in text, text
    assert re.search(r'\n {6}:range = \[ ?1, \[ ?2\.5, null ?\], \{ ?"x": "\]" ?\} ?\] ;\n', text), text


def test_values_are_printed(run: Run, store: Path) -> None:
    for name, values in (("height", HEIGHTS), ("image/rgb", RGB)):
        text = run("dump", store, name).stdout
        found = text[text.index("data:") :].split("=", 1)[1].rstrip().removesuffix("}")
        numbers = np.array([float(one) for one in re.split(r"[,\s]+", found.strip())])
        np.testing.assert_array_equal(numbers, values.ravel())


def test_a_data_set_of_xarray(run: Run, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    times = np.arange(4.0)
    data = xarray.Dataset(
        {"t": (("time", "station"), np.arange(12.0).reshape(4, 3), {"units": "K"})}, {"time": times}
    )
    for zarr_format in (2, 3):
        path = tmp_path / f"{zarr_format}"
        data.to_zarr(path, zarr_format=zarr_format, consolidated=zarr_format == 2)
        text = run("dump", path, "t").stdout
        assert "    station = 3 ;\n" in text and "    time = 4 ;\n" in text
        assert "    double t(time, station) ;\n" in text and "    double time(time) ;\n" in text
        assert '      t:units = "K" ;\n' in text
        assert " 9, 10, 11\n" in text


def test_large_rasters_are_drawn_in_steps(run: Run, tmp_path: Path) -> None:
    values = np.add.outer(np.arange(3000.0), np.arange(1500.0))
    values[::50] = np.nan
    zarrcore.create_array(tmp_path / "a", data=values, chunks=(500, 500))
    run("raster", tmp_path / "a", "", "0", tmp_path / "out.pgm")
    assert_alike(image(tmp_path / "out.pgm"), drawn(values[::3, ::2]))


def test_what_is_no_raster(run: Run, tmp_path: Path) -> None:
    group = zarrcore.create_group(tmp_path / "s")
    group.create_array("text", shape=(3, 3), dtype="str")
    group.create_array("line", shape=(3,), dtype="f4")
    group.create_array("flat", data=np.full((2, 3), 7))
    group.create_array("none", shape=(0, 3), dtype="f4")
    broken = tmp_path / "s" / "broken"
    broken.mkdir()
    (broken / "zarr.json").write_text("{")
    done = run("raster", tmp_path / "s")
    assert done.stdout.splitlines() == ["flat: 3 x 2, 1 band, <i8", "none: 3 x 0, 1 band, <f4"]
    assert "broken: its metadata are not valid" in done.stderr
    assert "opaque text ;\n" in run("dump", tmp_path / "s").stdout
    out = tmp_path / "out.pgm"
    run("raster", tmp_path / "s", "flat", "0", out)
    np.testing.assert_array_equal(image(out), np.ones((2, 3)))
    run("raster", tmp_path / "s", "none", "0", out)
    run("raster", tmp_path / "s", "line", fails="line is no raster")
    run("raster", tmp_path / "s", "text", fails='"string" is not supported')
    run("raster", tmp_path / "s", "flat", "1", out, fails="there is no band 1")
    run("raster", tmp_path / "s", "flat", "x", out, fails="there is no band x")
    run("raster", tmp_path / "s", "nothing", fails="no array or group is there")
    run("raster", tmp_path / "s", "flat", "0", tmp_path / "no" / "out.pgm", fails="No such file")
    run("raster", tmp_path / "nothing", fails="there is no such directory")
    run("dump", tmp_path / "nothing", fails="there is no such directory")
    run("dump", tmp_path / "s", "line", out, fails="needs two dimensions")
    run("raster", fails="usage")
    run("dump", fails="usage")


def test_readers_are_short() -> None:
    for source in READERS.iterdir():
        assert len(source.read_text(encoding="utf-8").splitlines()) < 300
