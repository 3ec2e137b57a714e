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
    "asanyarray": _ASARRAY,
    "asarray_chkfinite": "jnp.asarray(data)  # look for jnp.isfinite(x).all()",
    "ascontiguousarray": _ASARRAY,
    "asfarray": "jnp.asarray(data, dtype=float)",
    "asfortranarray": _ASARRAY,
    "asmatrix": _MATRIX,
    "bmat": "jnp.block([[x, y], [y, x]])",
    "broadcast": "jnp.broadcast_shapes(x.shape, y.shape)",
    "char": _TEXTS,
    "copyto": "jnp.where(mask, y, x)  # the new x",
    "cumproduct": "jnp.cumprod(x)",
    "datetime64": _DATES,
    "errstate": _NO_WARNINGS,
    "fix": "jnp.trunc(x)",
    "fromregex": "jnp.asarray(numpy.loadtxt(path))",
    "genfromtxt": "jnp.asarray(numpy.genfromtxt(path))",
    "geterr": _NO_WARNINGS,
    "in1d": "jnp.isin(x, y).ravel()",
    "infty": _INF,
    "loadtxt": "jnp.asarray(numpy.loadtxt(path))",
    "longdouble": "jnp.float64  # the widest that JAX has",
    "ma": "jnp.where(mask, x, 0)  # an array and its mask are two arrays",
    "mat": _MATRIX,
    "matrix": _MATRIX,
    "may_share_memory": "False  # an array of JAX never changes",
    "memmap": "jnp.asarray(numpy.memmap(path, 'float32', 'r'))",
    "ndenumerate": "numpy.ndenumerate(numpy.asarray(x))",
    "ndindex": "numpy.ndindex(x.shape)",
    "nditer": "numpy.nditer(numpy.asarray(x))",
    "lib": "x[jnp.arange(2)[:, None] + jnp.arange(2)]  # windows of 2 rows",
    "poly1d": "jnp.polyval(x[0], 2.0)  # a polynomial is an array of coefficients",
    "polynomial": "jnp.polyval(x[0], 2.0)  # a polynomial is an array of coefficients",
    "product": "jnp.prod(x)",
    "putmask": "x.at[mask].set(0)  # the new x",
    "rec": _RECORDS,
    "recarray": _RECORDS,
    "record": _RECORDS,
    "require": _ASARRAY,
    "savetxt": "numpy.savetxt(path, x)",
    "savez_compressed": "numpy.savez_compressed(path, x=x)  # trees: jnp.save_state",
    "seterr": _NO_WARNINGS,
    "shares_memory": "False  # an array of JAX never changes",
    "sometrue": "jnp.any(x)",
    "str_": _TEXTS,
    "strings": _TEXTS,
    "timedelta64": _DATES,
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
