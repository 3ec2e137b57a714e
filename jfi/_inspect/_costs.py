"""What an operation costs: floating-point operations, and bytes read and written.

Elementwise operations count one for each element of the result, as in XLA's own cost
analysis: comparisons and conversions, too. So does an operation that is not known here,
if its shapes are those of an elementwise one; others are named as not counted.
Functions such as `exp` are counted apart. A multiply-add is two operations. Arithmetic
of complex numbers counts in real operations, which XLA does not do.

The counts of factorizations are those of the textbook for the leading terms.

References:
    Golub, G. H., and Van Loan, C. F., "Matrix Computations", 4th ed., 2013:
    figures 5.2.1, 5.4.5, 8.6.1 and section 7.5.6.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


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
Avals = Sequence[Any]
Formula = Callable[[Avals, Avals, Params], Any]


def cost(name: str, ins: Sequence[Any], outs: Sequence[Any], params: Params) -> Cost:
    """The cost of an operation.

    Args:
        name: That of its primitive.
        ins: The types (shape and dtype) of its inputs.
        outs: The same of its results.
        params: Its parameters.
    """
    moved = sum(map(nbytes, ins)) + sum(map(nbytes, outs))
    if name in _MOVES:
        return Cost(0, 0, moved)
    if name in _TRANSCENDENTAL:
        return Cost(0, _results(outs), moved)
    if name == "logistic":  # 1 / (1 + exp(-x))
        return Cost(3 * _results(outs), _results(outs), moved)
    if "callback" in name or name in _UNKNOWN:
        return Cost(0, 0, moved, is_known=False)
    formula = _FORMULAS.get(name)
    if formula is None and not _is_by_element(ins, outs):
        return Cost(0, 0, moved, is_known=False)
    try:
        flops = formula(ins, outs, params) if formula else _elementwise(name, outs)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return Cost(0, 0, moved, is_known=False)  # another release of JAX
    return Cost(round(flops), 0, moved)


def _is_by_element(ins: Avals, outs: Avals) -> bool:
    """Whether the shapes are those of an operation on single elements."""
    before, after = ([getattr(x, "shape", ()) for x in avals] for avals in (ins, outs))
    try:
        shape = np.broadcast_shapes(*before)
    except ValueError:
        return False
    return all(one == shape for one in after)


def size(aval: Any) -> int:
    """How many elements an array has."""
    return math.prod(getattr(aval, "shape", ()))


def nbytes(aval: Any) -> int:
    """The bytes of an array; a random key is what its data take."""
    dtype = getattr(aval, "dtype", None)
    item = getattr(dtype, "itemsize", 0)
    return size(aval) * int(item)


def is_complex(aval: Any) -> bool:
    """Whether an array is of complex numbers."""
    return getattr(getattr(aval, "dtype", None), "kind", "") == "c"


def _results(outs: Sequence[Any]) -> int:
    return sum(map(size, outs))


def _elementwise(name: str, outs: Sequence[Any]) -> int:
    each = _OF_COMPLEX.get(name, 2) if any(map(is_complex, outs)) else 1
    return each * _results(outs)


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


# ------------------------------------------------------------ sums, sorts, draws


def _reduce(ins: Avals, outs: Avals, params: Params) -> Any:
    return max(size(ins[0]) - size(outs[0]), 0)


def _cumulative(ins: Avals, outs: Avals, params: Params) -> Any:
    return size(ins[0])


def _sort(ins: Avals, outs: Avals, params: Params) -> Any:
    shape = ins[0].shape
    length = shape[params.get("dimension", len(shape) - 1)] if shape else 1
    return size(ins[0]) * math.ceil(math.log2(max(length, 2)))


def _scatter(ins: Avals, outs: Avals, params: Params) -> Any:
    return size(ins[2])


def _window(ins: Avals, outs: Avals, params: Params) -> Any:
    return size(outs[0]) * (math.prod(params["window_dimensions"]) - 1)


def _unpooled(ins: Avals, outs: Avals, params: Params) -> Any:
    return size(ins[0]) * math.prod(params["window_dimensions"])


def _random_bits(ins: Avals, outs: Avals, params: Params) -> Any:
    # Threefry: 20 rounds of about 5 operations for two words of 32 bits.
    return 50 * size(outs[0]) * max(params["bit_width"] // 32, 1)


def _integer_pow(ins: Avals, outs: Avals, params: Params) -> Any:
    n = abs(params["y"])
    products = max(n.bit_length() - 1 + n.bit_count() - 1, 0)
    per_product = 6 if is_complex(outs[0]) else 1
    return size(outs[0]) * (products * per_product + (params["y"] < 0))


def _fft(ins: Avals, outs: Avals, params: Params) -> Any:
    points = math.prod(params["fft_lengths"])
    real = not all(map(is_complex, (*ins, *outs)))
    batch = max(size(ins[0]), size(outs[0])) / max(points, 1)
    return (2.5 if real else 5) * batch * points * math.log2(max(points, 2))


# ------------------------------------------------------------ linear algebra


def _dot(ins: Avals, outs: Avals, params: Params) -> Any:
    (contracted, _), _ = params["dimension_numbers"]
    length = math.prod(ins[0].shape[axis] for axis in contracted)
    return 2 * size(outs[0]) * length * (4 if is_complex(outs[0]) else 1)


def _convolution(ins: Avals, outs: Avals, params: Params) -> Any:
    """Products with the zeros of a padding don't count, as in XLA."""
    numbers = params["dimension_numbers"]
    batch, features, *_ = (outs[0].shape[axis] for axis in numbers.out_spec)
    channels = ins[1].shape[numbers.rhs_spec[1]]
    products = 1
    specs = numbers.lhs_spec[2:], numbers.rhs_spec[2:], numbers.out_spec[2:]
    for k, (axis_in, axis_kernel, axis_out) in enumerate(zip(*specs, strict=True)):
        products *= _overlaps(
            ins[0].shape[axis_in],
            ins[1].shape[axis_kernel],
            outs[0].shape[axis_out],
            params["window_strides"][k],
            params["padding"][k][0],
            params["lhs_dilation"][k],
            params["rhs_dilation"][k],
        )
    batch /= params.get("batch_group_count", 1)
    real = 4 if is_complex(outs[0]) else 1
    return 2 * batch * features * channels * products * real


def _overlaps(
    length: int,
    kernel: int,
    result: int,
    stride: int,
    padding: int,
    spread: int,
    dilation: int,
) -> int:
    """How many pairs of a place in the result and one in the kernel meet an element."""
    starts = np.arange(result) * stride - padding
    found = 0
    for k in range(kernel):
        at = starts + k * dilation
        inside = (at >= 0) & (at <= (length - 1) * spread) & (at % spread == 0)
        found += int(inside.sum())
    return found


def _of_matrices(formula: Callable[[int, int, Params], float]) -> Formula:
    """The cost for a batch of `m` x `n` matrices, of one with `m >= n`."""

    def flops(ins: Avals, outs: Avals, params: Params) -> Any:
        *batch, m, n = ins[0].shape
        each = formula(max(m, n), min(m, n), params)
        return math.prod(batch) * each * (4 if is_complex(ins[0]) else 1)

    return flops


def _qr(m: int, n: int, params: Params) -> float:
    """Householder vectors, and then Q out of them."""
    columns = m if params.get("full_matrices") else n
    return _geqrf(m, n, params) + _make_q(m, columns, n)


def _geqrf(m: int, n: int, params: Params) -> float:
    return 2 * n**2 * (m - n / 3)


def _make_q(m: int, columns: int, vectors: int) -> float:
    k = vectors
    return 4 * m * columns * k - 2 * (m + columns) * k**2 + 4 * k**3 / 3


def _householder(ins: Avals, outs: Avals, params: Params) -> Any:
    *batch, m, columns = ins[0].shape
    each = _make_q(m, columns, ins[1].shape[-1])
    return math.prod(batch) * each * (4 if is_complex(ins[0]) else 1)


def _times_q(ins: Avals, outs: Avals, params: Params) -> Any:
    """Householder vectors applied to a matrix."""
    vectors = ins[1].shape[-1]
    return (
        (4 * ins[0].shape[-2] - 2 * vectors)
        * vectors
        * size(outs[0])
        / max(ins[0].shape[-2], 1)
        * (4 if is_complex(ins[0]) else 1)
    )


def _svd(m: int, n: int, params: Params) -> float:
    if not params.get("compute_uv", True):
        return 4 * m * n**2 - 4 * n**3 / 3
    whole = params.get("full_matrices")
    return 4 * m**2 * n + 22 * n**3 if whole else 14 * m * n**2 + 8 * n**3


def _eigh(m: int, n: int, params: Params) -> float:
    return 9 * n**3  # the vectors are always computed


def _eig(m: int, n: int, params: Params) -> float:
    left = params.get("compute_left_eigenvectors", True)
    right = params.get("compute_right_eigenvectors", True)
    return (25 if left or right else 10) * n**3


def _schur(m: int, n: int, params: Params) -> float:
    return (25 if params.get("compute_schur_vectors", True) else 10) * n**3


def _triangular_solve(ins: Avals, outs: Avals, params: Params) -> Any:
    return size(ins[1]) * ins[0].shape[-1] * (4 if is_complex(ins[0]) else 1)


def _tridiagonal_solve(ins: Avals, outs: Avals, params: Params) -> Any:
    return 8 * size(outs[0])


_FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(
        """reduce reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or
        reduce_xor argmax argmin""".split(),
        _reduce,
    ),
    **dict.fromkeys("cumsum cumprod cummax cummin cumlogsumexp".split(), _cumulative),
    **dict.fromkeys(
        """scatter-add scatter-sub scatter-mul scatter-min scatter-max scatter_add
        scatter_sub scatter_mul scatter_min scatter_max""".split(),
        _scatter,
    ),
    **dict.fromkeys(
        """reduce_window reduce_window_sum reduce_window_max reduce_window_min
        select_and_gather_add""".split(),
        _window,
    ),
    "select_and_scatter_add": _unpooled,
    "sort": _sort,
    "top_k": _sort,
    "approx_top_k": _sort,
    "random_bits": _random_bits,
    "integer_pow": _integer_pow,
    "one_minus_square": lambda ins, outs, params: 3 * size(outs[0]),
    "clamp": lambda ins, outs, params: 2 * size(outs[0]),
    "fft": _fft,
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "cholesky": _of_matrices(lambda m, n, params: n**3 / 3),
    "cholesky_update": _of_matrices(lambda m, n, params: 4 * n**2),
    "lu": _of_matrices(lambda m, n, params: n**2 * (m - n / 3)),
    "qr": _of_matrices(_qr),
    "geqrf": _of_matrices(_geqrf),
    "geqp3": _of_matrices(_geqrf),
    "householder_product": _householder,
    "ormqr": _times_q,
    "svd": _of_matrices(_svd),
    "eigh": _of_matrices(_eigh),
    "eig": _of_matrices(_eig),
    "schur": _of_matrices(_schur),
    "hessenberg": _of_matrices(lambda m, n, params: 10 * n**3 / 3),
    "tridiagonal": _of_matrices(lambda m, n, params: 4 * n**3 / 3),
    "triangular_solve": _triangular_solve,
    "tridiagonal_solve": _tridiagonal_solve,
}
