# Fields of records.

cdef tuple _field(cnp.dtype record, str name):
    """Data type and offset of a field; memory for one that is an array itself is of void items."""
    dtype, offset = record.fields[name][:2]
    return np.dtype((np.void, dtype.itemsize)) if dtype.subdtype is not None else dtype, offset


cdef list _runs(cnp.dtype record, tuple names, cnp.dtype wanted):
    """Which bytes of a record make up those of `wanted`: (from, to, size), neighbours joined."""
    cdef list runs = []
    for name in names:
        dtype, begin = record.fields[name][:2]
        if wanted.fields is None or name not in wanted.fields or wanted.fields[name][0] != dtype:
            raise ValueError(f"out: expected the field {name!r} of {dtype}, got {wanted}")
        to = wanted.fields[name][1]
        if runs and runs[-1][0] + runs[-1][2] == begin and runs[-1][1] + runs[-1][2] == to:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + dtype.itemsize)
        elif dtype.itemsize:
            runs.append((begin, to, dtype.itemsize))
    return runs
