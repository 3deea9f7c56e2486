# SPDX-License-Identifier: MIT
# ruff: noqa
"""For Spack: libzarrcore, the library for C, C++ and Fortran, without Python."""

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Libzarrcore(MakefilePackage):
    """Zarr v2 and v3 for C, C++ and Fortran: regions and chunks, read and written by threads."""

    homepage = "https://pypi.org/project/zarrcore/"
    pypi = "zarrcore/zarrcore-0.1.0.tar.gz"

    license("MIT")

    # The checksum is that of the release.
    version("0.1.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("c-blosc")
    depends_on("lz4")
    depends_on("zlib-api")
    depends_on("zstd")

    build_directory = "csrc"

    # yyjson's source is in the archive; Python and the network are not needed.
    def build(self, spec, prefix):
        pass

    def install(self, spec, prefix):
        with working_dir(self.build_directory):
            make("install", f"PREFIX={prefix}", f"CC={spack_cc}")
