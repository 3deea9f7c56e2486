"""Build of the example with setuptools: one extension module in C, which needs the header alone."""

from setuptools import Extension, setup

import zarrcore

setup(ext_modules=[Extension("region_sum", ["region_sum.c"], include_dirs=[zarrcore.get_include()])])
