"""What an operation costs: floating-point operations, bytes, memory in use.

XLA's own analysis counts a loop's body once and calls of LAPACK as nothing, opens `erf`
into its polynomials, and takes 5 to 50 ms where it is asked for a single operation. So
the operations are counted here, by their shapes, which takes microseconds. Arithmetic,
sums and products count as in XLA: one for each element of the result, two for a
multiply-add. Functions such as `exp` are counted apart. Arithmetic of complex numbers
counts in real operations, which XLA does not do. An operation that is not known here
counts one for each element if its shapes are those of an elementwise one; others are
named as not counted.

The counts of factorizations are those of the textbook for the leading terms.

References:
    Golub, G. H., and Van Loan, C. F., "Matrix Computations", 4th ed., 2013:
    figures 5.2.1, 5.4.5, 8.6.1 and section 7.5.6.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._jax_internals import inside, is_call, is_literal


class Cost(NamedTuple):
    """What one run of an operation costs.

    Attributes:
        flops: Operations on numbers, without those of `transcendentals`.
        transcendentals: How many values of `exp`, `sin`, `sqrt` ... are computed.
        bytes: What it reads and writes.
        is_known: False for callbacks and kernels: what they do is not to be seen.
    """

    flops: int
    transcendentals: int
    bytes: int
    is_known: bool = True


Params = Mapping[str, Any]
Avals = Sequence[Any]  # the types of arrays: they have a shape and a dtype


def cost(name: str, ins: Avals, outs: Avals, params: Params) -> Cost:
    """The cost of an operation.

    Args:
        name: That of its primitive.
        ins: The types of its inputs.
        outs: The same of its results.
        params: Its parameters.
    """
    moved, results = sum(map(nbytes, [*ins, *outs])), sum(map(size, outs))
    if name in _MOVES:
        return Cost(0, 0, moved)
    if name in _TRANSCENDENTAL:
        return Cost(0, results, moved)
    if name == "logistic":  # 1 / (1 + exp(-x))
        return Cost(3 * results, results, moved)
    unknown = Cost(0, 0, moved, is_known=False)
    if "callback" in name or name in _UNKNOWN:
        return unknown
    try:
        if name in _FORMULAS:
            flops = _FORMULAS[name](ins, outs, params)
        elif name in _OF_MATRICES:
            flops = _of_matrices(name, ins[0], params)
        elif _is_by_element(ins, outs):
            flops = results
            if any(map(is_complex, outs)):
                flops *= _OF_COMPLEX.get(name, 2)
        else:
            return unknown
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return unknown  # another release of JAX
    return Cost(round(flops), 0, moved)


def _is_by_element(ins: Avals, outs: Avals) -> bool:
    """Whether the shapes are those of an operation on single elements."""
    try:
        shape = np.broadcast_shapes(*map(shape_of, ins))
    except ValueError:
        return False
    return all(shape_of(aval) == shape for aval in outs)


def dtype_of(aval: Any) -> str:
    """The name of a dtype; "" for a token."""
    return str(getattr(aval, "dtype", ""))


def shape_of(aval: Any) -> tuple[int, ...]:
    """The shape; empty for a token."""
    return tuple(getattr(aval, "shape", ()))


def size(aval: Any) -> int:
    """How many elements an array has."""
    return math.prod(shape_of(aval))


def nbytes(aval: Any) -> int:
    """The bytes of an array; a random key is what its data take."""
    return size(aval) * int(getattr(getattr(aval, "dtype", None), "itemsize", 0))


def is_complex(aval: Any) -> bool:
    """Whether an array is of complex numbers."""
    return getattr(getattr(aval, "dtype", None), "kind", "") == "c"


# Real operations that one operation on complex numbers takes.
_OF_COMPLEX = {"add": 2, "sub": 2, "mul": 6, "div": 11, "square": 6, "neg": 2}

_MOVES = set("""
    reshape broadcast_in_dim transpose squeeze expand_dims bitcast_convert_type slice
    dynamic_slice dynamic_update_slice concatenate pad gather scatter copy copy_p iota
    rev stop_gradient device_put split real imag complex random_wrap random_unwrap
    random_seed random_fold_in random_split random_clone next_key optimization_barrier
    sharding_constraint reshard create_token broadcast layout_constraint
    lu_pivots_to_permutation pbroadcast pvary all_gather all_to_all ppermute axis_index
    name empty empty2 mutable_array new_ref freeze ref_get get swap squeeze rng_uniform
    split stack unstack tile tie_p unreduced_psum reduced_vary_cast reduce_precision
    clone full
""".split())  # fmt: skip

_TRANSCENDENTAL = set("""
    exp exp2 expm1 log log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh
    atanh erf erfc erf_inv lgamma digamma igamma igammac igamma_grad_a random_gamma_grad
    bessel_i0e bessel_i1e regularized_incomplete_beta polygamma zeta pow sqrt rsqrt cbrt
""".split())  # fmt: skip

_UNKNOWN = {"ffi_call", "custom_call", "pallas_call", "debug_print", "linear_call"}


# ------------------------------------------------------------ sums, sorts, products


def _sort(ins: Avals, outs: Avals, params: Params) -> float:
    shape = shape_of(ins[0])
    length = shape[params.get("dimension", len(shape) - 1)] if shape else 1
    return size(ins[0]) * math.ceil(math.log2(max(length, 2)))


def _integer_pow(ins: Avals, outs: Avals, params: Params) -> float:
    n = abs(int(params["y"]))
    products = max(n.bit_length() - 1 + n.bit_count() - 1, 0)
    per_product = 6 if is_complex(outs[0]) else 1
    return size(outs[0]) * (products * per_product + int(params["y"] < 0))


def _fft(ins: Avals, outs: Avals, params: Params) -> float:
    points = int(math.prod(params["fft_lengths"]))
    real = not all(map(is_complex, (*ins, *outs)))
    batch = max(size(ins[0]), size(outs[0])) / max(points, 1)
    return (2.5 if real else 5) * batch * points * math.log2(max(points, 2))


def _dot(ins: Avals, outs: Avals, params: Params) -> float:
    (contracted, _), _ = params["dimension_numbers"]
    length: int = math.prod(shape_of(ins[0])[axis] for axis in contracted)
    return 2 * size(outs[0]) * length * _real(outs[0])


def _convolution(ins: Avals, outs: Avals, params: Params) -> float:
    """Products with the zeros of a padding don't count, as in XLA."""
    numbers = params["dimension_numbers"]
    batch, features, *_ = (shape_of(outs[0])[axis] for axis in numbers.out_spec)
    products = shape_of(ins[1])[numbers.rhs_spec[1]]
    specs = numbers.lhs_spec[2:], numbers.rhs_spec[2:], numbers.out_spec[2:]
    for k, (axis_in, axis_kernel, axis_out) in enumerate(zip(*specs, strict=True)):
        spread = params["lhs_dilation"][k]
        end = (shape_of(ins[0])[axis_in] - 1) * spread
        starts = np.arange(shape_of(outs[0])[axis_out]) * params["window_strides"][k]
        pairs = 0  # of a place in the result and one in the kernel that meet an element
        for step in range(shape_of(ins[1])[axis_kernel]):
            at = starts + step * params["rhs_dilation"][k] - params["padding"][k][0]
            pairs += int(((at >= 0) & (at <= end) & (at % spread == 0)).sum())
        products *= pairs
    groups: int = params.get("batch_group_count", 1)
    flops: float = 2 * batch / groups * features * products * _real(outs[0])
    return flops


def _real(aval: Any) -> int:
    """Real multiply-adds in one of the array's numbers."""
    return 4 if is_complex(aval) else 1


# ------------------------------------------------------------ linear algebra


def _of_matrices(name: str, aval: Any, params: Params) -> float:
    *batch, m, n = shape_of(aval)
    each = _OF_MATRICES[name](max(m, n), min(m, n), params)
    return math.prod(batch) * each * _real(aval)


def _make_q(m: int, columns: int, vectors: int) -> float:
    k = vectors
    return 4 * m * columns * k - 2 * (m + columns) * k**2 + 4 * k**3 / 3


def _qr(m: int, n: int, params: Params) -> float:
    """Householder vectors, and then Q out of them."""
    columns = m if params.get("full_matrices") else n
    return 2 * n**2 * (m - n / 3) + _make_q(m, columns, n)


def _svd(m: int, n: int, params: Params) -> float:
    if not params.get("compute_uv", True):
        return 4 * m * n**2 - 4 * n**3 / 3
    whole = params.get("full_matrices")
    return 4 * m**2 * n + 22 * n**3 if whole else 14 * m * n**2 + 8 * n**3


def _eig(m: int, n: int, params: Params) -> float:
    """Of `eig` and `schur`: with vectors, which both compute by default."""
    names = "left_eigenvectors", "right_eigenvectors", "schur_vectors"
    wanted = [params[f"compute_{x}"] for x in names if f"compute_{x}" in params]
    return (25 if any(wanted) or not wanted else 10) * n**3


def _householder(ins: Avals, outs: Avals, params: Params) -> float:
    *batch, m, columns = shape_of(ins[0])
    return math.prod(batch) * _make_q(m, columns, shape_of(ins[1])[-1]) * _real(ins[0])


def _times_q(ins: Avals, outs: Avals, params: Params) -> float:
    """Householder vectors applied to a matrix."""
    m, vectors = max(shape_of(ins[0])[-2], 1), shape_of(ins[1])[-1]
    return (4 * m - 2 * vectors) * vectors * size(outs[0]) / m * _real(ins[0])


# The cost of one `m` x `n` matrix with `m >= n`.
_OF_MATRICES: dict[str, Callable[[int, int, Params], float]] = {
    "cholesky": lambda m, n, params: n**3 / 3,
    "cholesky_update": lambda m, n, params: 4 * n**2,
    "lu": lambda m, n, params: n**2 * (m - n / 3),
    "qr": _qr,
    "geqrf": lambda m, n, params: 2 * n**2 * (m - n / 3),
    "geqp3": lambda m, n, params: 2 * n**2 * (m - n / 3),
    "svd": _svd,
    "eigh": lambda m, n, params: 9 * n**3,  # the vectors are always computed
    "eig": _eig,
    "schur": _eig,
    "hessenberg": lambda m, n, params: 10 * n**3 / 3,
    "tridiagonal": lambda m, n, params: 4 * n**3 / 3,
}

_Formula = Callable[[Avals, Avals, Params], float]


def _for_all(formula: _Formula, *names: str) -> dict[str, _Formula]:
    return dict.fromkeys(" ".join(names).split(), formula)


_FORMULAS: dict[str, _Formula] = {
    **_for_all(
        lambda ins, outs, params: max(size(ins[0]) - size(outs[0]), 0),
        "reduce reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or",
        "reduce_xor argmax argmin",
    ),
    **_for_all(
        lambda ins, outs, params: size(ins[0]),
        "cumsum cumprod cummax cummin cumlogsumexp",
    ),
    **_for_all(
        lambda ins, outs, params: size(ins[2]),
        "scatter-add scatter-sub scatter-mul scatter-min scatter-max",
        "scatter_add scatter_sub scatter_mul scatter_min scatter_max",
    ),
    **_for_all(
        lambda ins, outs, params: (
            size(outs[0]) * (math.prod(params["window_dimensions"]) - 1)
        ),
        "reduce_window reduce_window_sum reduce_window_max reduce_window_min",
        "select_and_gather_add",
    ),
    "select_and_scatter_add": lambda ins, outs, params: (
        size(ins[0]) * math.prod(params["window_dimensions"])
    ),
    "sort": _sort,
    "top_k": _sort,
    "approx_top_k": _sort,
    # Threefry: 20 rounds of about 5 operations for two words of 32 bits.
    "random_bits": lambda ins, outs, params: (
        50 * size(outs[0]) * max(params["bit_width"] // 32, 1)
    ),
    "integer_pow": _integer_pow,
    "one_minus_square": lambda ins, outs, params: 3 * size(outs[0]),
    "clamp": lambda ins, outs, params: 2 * size(outs[0]),
    "fft": _fft,
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "householder_product": _householder,
    "ormqr": _times_q,
    "triangular_solve": lambda ins, outs, params: (
        size(ins[1]) * ins[0].shape[-1] * _real(ins[0])
    ),
    "tridiagonal_solve": lambda ins, outs, params: 8 * size(outs[0]),
}


# ------------------------------------------------------------ memory


def peak_bytes(jaxpr: Any) -> int:
    """The most bytes that are alive at a time, in the order of the jaxpr.

    Inputs stay alive until the end, since their owner has them. Any other value lives
    from the operation that makes it to the last one that reads it. A program of XLA
    needs less where it fuses operations, and more where it runs them in another order.
    """
    last: dict[Any, int] = {}
    for i, equation in enumerate(jaxpr.eqns):
        for atom in equation.invars:
            if not is_literal(atom):
                last[atom] = i
    given = [*jaxpr.invars, *jaxpr.constvars]
    stay = {atom for atom in jaxpr.outvars if not is_literal(atom)}.union(given)
    live = peak = _bytes(given)
    alive: dict[Any, int] = {}
    for i, equation in enumerate(jaxpr.eqns):
        peak = max(peak, live + _while_running(equation))
        for variable in equation.outvars:
            alive[variable] = nbytes(variable.aval)
            live += alive[variable]
        read = {atom for atom in equation.invars if not is_literal(atom)}
        for variable in read.union(equation.outvars) - stay:
            if variable in alive and last.get(variable, -1) <= i:
                live -= alive.pop(variable)
    return peak


def _while_running(equation: Any) -> int:
    """What an operation takes beside its inputs."""
    results = _bytes(equation.outvars)
    own = 0
    for inner in inside(equation):
        more = peak_bytes(inner.jaxpr) - _bytes(inner.jaxpr.invars)
        if is_call(inner):  # its results are among what it takes
            return max(results, more)
        own = max(own, more)
    return results + own


def _bytes(variables: Any) -> int:
    return sum(nbytes(variable.aval) for variable in variables)
