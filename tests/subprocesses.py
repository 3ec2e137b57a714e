"""Run a piece of Python in a process of its own, as a user's script would."""

import functools
import os
import subprocess
import sys

import forking
import jax


# Warnings are errors, but for a damaged entry of the cache: JAX compiles it again.
PYTHON = [
    sys.executable,
    *("-W", "error"),
    *("-W", "ignore:Error reading persistent compilation cache entry"),
    *("-W", "ignore:Error writing persistent compilation cache entry"),
]


OWN_FOLDERS = ("JFI_CACHE_DIR", "JFI_SERVER_DIR")  # of the tests: see conftest.py


def environment(added=None, *, as_users=False):
    """The variables of a process: those of a fresh machine, and `added`.

    XLA works as in the tests (see conftest.py), which takes half the time and gives
    the same numbers; with `as_users` as for a user.
    """
    # JAX's own variables are left out, so that the defaults are those of users.
    drop = ("JAX_", "XLA_", "JFI_")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    plain |= {k: os.environ[k] for k in OWN_FOLDERS if k in os.environ}
    added = dict(added or {})
    if not as_users:
        flags = [os.environ.get("XLA_FLAGS", ""), added.get("XLA_FLAGS", "")]
        added = {**cache_variables(), **added, "XLA_FLAGS": " ".join(flags).strip()}
    return {**plain, **added}


def cache_variables():
    """The tests' cache of compiled programs, for another process."""
    folder = jax.config.jax_compilation_cache_dir
    if folder is None:
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
    }


@functools.cache
def fork_server():
    """The process that has imported JAX, one for all tests of this process."""
    return forking.start(PYTHON, environment())


def run_python(code, *, env=None, check=True, timeout=120, as_users=False, fresh=False):
    """Run code with warnings as errors, in an `environment` with what `env` adds.

    A fork of a process that has imported JAX runs it. With `fresh` a new interpreter
    does: for tests of what is imported, and of how a process starts.
    """
    variables = environment(env, as_users=as_users)
    at_start = _read_at_start(variables) != _read_at_start(environment())
    if fresh or at_start or not hasattr(os, "fork"):
        done = subprocess.run(
            [*PYTHON, "-c", code],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    else:
        done = fork_server().run(code, env=variables, timeout=timeout)
    if check and done.returncode:
        raise AssertionError(f"exit code {done.returncode}\n{done.stderr}")
    return done


def output_of(code, **options):
    """What the code prints, stripped."""
    return run_python(code, **options).stdout.strip()


def _read_at_start(variables):
    """The variables that Python and JAX read before the code runs."""
    return {k: v for k, v in variables.items() if k.startswith(("PYTHON", "JAX_"))}
