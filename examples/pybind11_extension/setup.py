"""Build of the example with setuptools and pybind11."""

from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

import zarrcore

setup(
    ext_modules=[
        Pybind11Extension("region", ["region.cpp"], include_dirs=[zarrcore.get_include()], cxx_std=17)
    ]
)
