"""Extensions of Zarr for the images of a camera: one of each kind that zarrcore takes."""

from zarr_camera.codecs import Deflate, Mirror, Pack12
from zarr_camera.data_types import Grey
from zarr_camera.grids import Monthly
from zarr_camera.keys import Hexadecimal
from zarr_camera.stores import SQLiteStore
from zarr_camera.transformers import Masked

__all__ = ["Deflate", "Grey", "Hexadecimal", "Masked", "Mirror", "Monthly", "Pack12", "SQLiteStore"]
