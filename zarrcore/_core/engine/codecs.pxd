# Options of single codecs.
from zarrcore._core.engine.csrc cimport zc_codec

cdef int configure(zc_codec *codec, str name, dict config) except -1
