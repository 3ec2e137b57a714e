"""A client and a server with other versions of Python and JAX: served, or told why not.

JFI_OTHER_PYTHON names the interpreter of another environment that has jfi.
"""

import os
import subprocess
import tempfile

import jax
import numpy as np
import pytest

import jfi as jnp

from ..conftest import free_port


OTHER = os.environ.get("JFI_OTHER_PYTHON", "")
pytestmark = pytest.mark.skipif(not OTHER, reason="JFI_OTHER_PYTHON is not set")


def command(base, *words):
    own = {"JFI_SERVER_DIR": base, "JFI_CACHE_DIR": f"{base}/cache"}
    subprocess.run(
        [OTHER, "-P", "-m", "jfi_server", *words],
        # Flags of the one JAX may end the other.
        env={k: v for k, v in {**os.environ, **own}.items() if k != "XLA_FLAGS"},
        check=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def url():
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as base:
        address = f"127.0.0.1:{free_port()}"
        command(base, "start", "--listen", address)
        try:
            yield f"rpyc://{address}"
        finally:
            command(base, "logs")  # shown where a test fails
            command(base, "stop")


FUNCTIONS = {
    "arithmetic": lambda x: jnp.tanh(x) @ x.T,
    "linear algebra": lambda x: jnp.linalg.solve(x @ x.T + jnp.eye(3), x),
    "eigenvalues": lambda x: jnp.linalg.eigvalsh(x @ x.T),
    "draws": lambda x: x + jnp.randn(3, 3),
    "loops": lambda x: jax.lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) + i, x),
    "gradients": jax.grad(lambda x: jnp.sum(jnp.exp(x))),
    "sorting": lambda x: (jnp.sort(x), jnp.argmax(x), jax.lax.top_k(x, 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_served_or_refused_in_words(url, name):
    fn, x = FUNCTIONS[name], jnp.array(np.arange(9.0).reshape(3, 3) / 9)
    jnp.manual_seed(3)
    expected = jnp.autojit(fn)(x)
    jnp.manual_seed(3)
    try:
        found = jnp.persistent(fn, server=url, fallback=False)(x)
    except jnp.RemoteError as error:
        assert "of the server can't read the program" in str(error)  # noqa: PT017
        print(f"{name}: {error}")
        return
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5),
        found,
        expected,
    )
    print(f"{name}: there")


def test_arrays_stay_there(url):
    x = jnp.on_server(jnp.ones(3), server=url)
    assert np.asarray(x).tolist() == [1, 1, 1]
