# Calls of Python functions on the threads of the pool.

cpdef int thread_number(threads) except -1
