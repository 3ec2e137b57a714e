"""Read by pyright and mypy, never run: they fail if the public types change."""

from typing import Any, assert_type

import numpy as np

import jfi as jnp
from jfi import jaxm
from jfi.linalg import norm
from jfi.scipy.linalg import cho_factor


def scale(x: jnp.Array, factor: float = 2.0) -> jnp.Array:
    """A function whose signature the transformations keep."""
    return x * factor


def loss(w: dict[str, jnp.Array], x: jnp.Array) -> jnp.Array:
    """A function of a tree."""
    return (w["a"] * x).sum()


class Model:
    """A class with compiled methods."""

    @jnp.autojit
    def step(self, x: jnp.Array, mode: str = "train") -> jnp.Array:
        """A method compiled by autojit."""
        return x if mode == "train" else -x

    @jnp.jit
    def apply(self, x: jnp.Array) -> jnp.Array:
        """A method compiled by jit."""
        return x


x = jnp.zeros(3)
assert_type(x, jnp.Array)
assert_type(jnp.sin(x), jnp.Array)
assert_type(jaxm.randn(2, 3), jnp.Array)
assert_type(jnp.randn(2, key=jnp.key(0), dtype="float64", device="cpu"), jnp.Array)
assert_type(jnp.random.gumbel(1.0, size=(2, 3), key=jnp.key(0)), jnp.Array)
assert_type(jnp.random.gumbel(jnp.key(0), (2, 3)), jnp.Array)
assert_type(jnp.Generator(0).normal(1.0, size=3), jnp.Array)
assert_type(jnp.random.default_rng(0).gumbel(1.0, size=3), jnp.Array)
jnp.Generator(0).normal(sized=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
jnp.random.weibull(2.0, size="3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
assert_type(jnp.cat([x, x], dim=-1), jnp.Array)
assert_type(jnp.sum(x, dim=0, keepdim=True), jnp.Array)
assert_type(jnp.unstack(x, dim=0), tuple[jnp.Array, ...])
assert_type(jnp.zeros(2, 3, dtype=int), jnp.Array)
assert_type(jnp.ones((2, 3), float, device="cpu"), jnp.Array)
jnp.max(x, dim=0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
assert_type(jnp.to({"x": x}, "cpu"), dict[str, jnp.Array])
assert_type(jnp.resolve_dtype("float32"), np.dtype[Any])
assert_type(jnp.zeros(3, device="cpu"), jnp.Array)
assert_type(jnp.array([1.0], device="cuda:1"), jnp.Array)
assert_type(jnp.linspace(0, 1), jnp.Array)
assert_type(jnp.linspace(0, 1, retstep=True), tuple[jnp.Array, jnp.Array])

assert_type(jnp.jit(scale)(x, factor=1.0), jnp.Array)
assert_type(jnp.jit(static_argnames="factor")(scale)(x), jnp.Array)
assert_type(jnp.vmap(scale)(x), jnp.Array)
assert_type(jnp.grad(scale)(x, 1.0), jnp.Array)
assert_type(jnp.grad(loss)({"a": x}, x), dict[str, jnp.Array])
assert_type(
    jnp.value_and_grad(loss)({"a": x}, x), tuple[jnp.Array, dict[str, jnp.Array]]
)
assert_type(jnp.grad(loss, 1)({"a": x}, x), Any)
assert_type(jnp.value_and_grad(loss, argnames="x")({"a": x}, x), tuple[jnp.Array, Any])
assert_type(jnp.checkpoint(scale)(x), jnp.Array)
assert_type(jnp.stop_gradient({"a": x}), dict[str, jnp.Array])
assert_type(Model().step(x, mode="test"), jnp.Array)
assert_type(Model().apply(x), jnp.Array)
assert_type(jnp.autojit(scale)(x, factor=1.0), jnp.Array)
assert_type(jnp.autojit(static="factor", max_traces=3)(scale)(x), jnp.Array)
assert_type(jnp.AutoJIT(scale)(x), jnp.Array)
assert_type(jnp.autojit(scale).cache_info().traces, int)
assert_type(jnp.autojit(scale).explain()[0].cause, str)
assert_type(jnp.persistent(scale)(x), jnp.Array)

# Arguments of lambdas have no type: any attribute of them is right.
print(jnp.grad(lambda x: x.sum())(x), jnp.grad(lambda x: (x.sum(), x), has_aux=True)(x))
print(jnp.grad(lambda w, x: (w["a"] * x).sum(), argnums=(0, 1))({"a": x}, x))
print(jnp.grad(lambda w, x: w @ x, argnames="x")(x, x=x))
print(jnp.value_and_grad(lambda w, x: (w["a"] * x).sum())({"a": x}, x))
print(jnp.jit(lambda x: x.sum())(x), jnp.autojit(lambda x: x.sum())(x))
print(jnp.vmap(lambda x: x.sum())(x), jnp.hessian(lambda x: x.sum())(x))
print(jnp.vmap_automatically(lambda p: p["x"].sum(), {"x": x}))

with jnp.seed(0), jnp.default_dtype("float64"), jnp.default_device("cpu"):
    jnp.manual_seed(1)

print(jnp.linalg.norm(x), jnp.fft.fft(x), jnp.scipy.linalg.expm(jnp.eye(2)))
assert_type(jnp.linalg.cholesky_solve(x, jnp.linalg.cho_factor(jnp.eye(3))), jnp.Array)
print(norm(x), cho_factor(jnp.eye(2)))
jnp.jit(scale)("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
jnp.autojit(scale)("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
jnp.vmap_automatically(scale)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
Model().step(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
print(jnp.nope)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
