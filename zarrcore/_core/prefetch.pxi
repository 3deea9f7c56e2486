# Reading into a cache alone.

def prefetch(NativeArray array not None, dims, shape, bint points, threads=0, token=None) -> None:
    """Decode the chunks of a selection into the array's cache.

    Parameters
    ----------
    array : NativeArray
        With a cache.
    dims : sequence
        As of :meth:`NativeArray.read`, or for points of :meth:`NativeArray.read_points`.
    shape : tuple of int
        Number of elements along each dimension, or of points.
    points : bool
        The selection is one of points.
    threads : int
        Most threads to use; 0: the default.
    token : object, optional
        The call ends early, without an error, when its attribute ``cancelled`` is true.
    """
    cdef zc_selection selection
    cdef cnp.ndarray nothing = np.broadcast_to(np.zeros((), array.dtype), shape)
    if array.cache is None:
        raise ValueError(f"array {array.path or '/'!r}: has no cache to prefetch into")
    kept = array._set_points(&selection, dims, nothing) if points else array._set_region(&selection, dims, nothing)
    selection.memory = NULL
    if cnp.PyArray_SIZE(nothing):
        array._run(&selection, array._threads(threads), False, False, NULL, token)
