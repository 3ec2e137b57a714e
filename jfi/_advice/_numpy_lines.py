"""What to write for names of NumPy that jfi does not have, as lines that run.

`x`, `y` stand for arrays, `mask` for one of bools, `path` for a file. A remark comes
after the code.
"""

_ASARRAY = "jnp.asarray(data)"
_MATRIX = "jnp.asarray(data)  # x @ y multiplies matrices"
_NO_WARNINGS = "with jax.debug_nans(True): jnp.log(y)  # else nan and inf are results"
_DATES = "numpy.datetime64('2020-01-01')  # JAX has numbers alone: keep dates in NumPy"
_TEXTS = "numpy.asarray(['a', 'b'])  # JAX has numbers alone: keep texts in NumPy"
_RECORDS = "{'a': x, 'b': y}  # JAX has no records: write a dict, or a pytree class"
_NAN, _INF = "jnp.nan", "jnp.inf"

_TOP = {
    "False_": "False",
    "Inf": _INF,
    "Infinity": _INF,
    "NAN": _NAN,
    "NINF": "-jnp.inf",
    "NaN": _NAN,
    "PINF": _INF,
    "True_": "True",
    "alltrue": "jnp.all(x)",
    "array2string": "numpy.array2string(numpy.asarray(x))",
    "asanyarray": _ASARRAY,
    "asarray_chkfinite": "jnp.asarray(data)  # look for jnp.isfinite(x).all()",
    "ascontiguousarray": _ASARRAY,
    "asfarray": "jnp.asarray(data, dtype=float)",
    "asfortranarray": _ASARRAY,
    "asmatrix": _MATRIX,
    "base_repr": "numpy.base_repr(5, 2)",
    "binary_repr": "numpy.binary_repr(5)",
    "bmat": "jnp.block([[x, y], [y, x]])",
    "broadcast": "jnp.broadcast_shapes(x.shape, y.shape)",
    "busday_count": _DATES,
    "busday_offset": _DATES,
    "byte": "jnp.int8",
    "bytes_": _TEXTS,
    "char": _TEXTS,
    "common_type": "jnp.result_type(x, y)",
    "copyto": "jnp.where(mask, y, x)  # the new x",
    "cumproduct": "jnp.cumprod(x)",
    "datetime64": _DATES,
    "emath": "jnp.sqrt(x + 0j)  # complex numbers in, complex numbers out",
    "errstate": _NO_WARNINGS,
    "fix": "jnp.trunc(x)",
    "format_float_positional": "numpy.format_float_positional(2.0)",
    "format_float_scientific": "numpy.format_float_scientific(2.0)",
    "fromregex": "jnp.asarray(numpy.loadtxt(path))",
    "genfromtxt": "jnp.asarray(numpy.genfromtxt(path))",
    "geterr": _NO_WARNINGS,
    "in1d": "jnp.isin(x, y).ravel()",
    "infty": _INF,
    "intc": "jnp.int32",
    "intp": "jnp.int32  # indices; jnp.int64 in the 64-bit world",
    "is_busday": _DATES,
    "isfortran": "False  # the order in memory is left to XLA",
    "isnat": _DATES,
    "lib": "x[jnp.arange(2)[:, None] + jnp.arange(2)]  # windows of 2 rows",
    "loadtxt": "jnp.asarray(numpy.loadtxt(path))",
    "longdouble": "jnp.float64  # the widest that JAX has",
    "longlong": "jnp.int64",
    "ma": "jnp.where(mask, x, 0)  # an array and its mask are two arrays",
    "mat": _MATRIX,
    "matrix": _MATRIX,
    "may_share_memory": "False  # an array of JAX never changes",
    "memmap": "jnp.asarray(numpy.memmap(path, 'float32', 'r'))",
    "min_scalar_type": "numpy.min_scalar_type(255)",
    "ndenumerate": "numpy.ndenumerate(numpy.asarray(x))",
    "ndindex": "numpy.ndindex(x.shape)",
    "nditer": "numpy.nditer(numpy.asarray(x))",
    "poly1d": "jnp.polyval(x[0], 2.0)  # a polynomial is an array of coefficients",
    "polynomial": "jnp.polyval(x[0], 2.0)  # a polynomial is an array of coefficients",
    "product": "jnp.prod(x)",
    "putmask": "x.at[mask].set(0)  # the new x",
    "real_if_close": "x.real  # a dtype can't depend on values",
    "rec": _RECORDS,
    "recarray": _RECORDS,
    "record": _RECORDS,
    "require": _ASARRAY,
    "savetxt": "numpy.savetxt(path, x)",
    "savez_compressed": "numpy.savez_compressed(path, x=x)  # trees: jnp.save_state",
    "seterr": _NO_WARNINGS,
    "shares_memory": "False  # an array of JAX never changes",
    "short": "jnp.int16",
    "sometrue": "jnp.any(x)",
    "str_": _TEXTS,
    "strings": _TEXTS,
    "timedelta64": _DATES,
    "ubyte": "jnp.uint8",
    "uintc": "jnp.uint32",
    "ulonglong": "jnp.uint64",
    "ushort": "jnp.uint16",
    "void": _RECORDS,
}
_LINALG = {
    "LinAlgError": "jnp.isnan(x).any()  # JAX raises none: what fails is nan",
}
_TESTING = {
    name: f"numpy.testing.{name}(x, x)"
    for name in ("assert_allclose", "assert_array_almost_equal", "assert_array_equal")
}
_TESTING["assert_equal"] = _TESTING["assert_array_equal"]
INSTEAD = {"jfi": _TOP, "jfi.linalg": _LINALG, "jfi.testing": _TESTING}
