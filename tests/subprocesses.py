"""Run a piece of Python in a process of its own, as a user's script would."""

import os
import subprocess
import sys


def run_python(code, *, env=None, check=True, timeout=120):
    """Run code with warnings as errors; `env` adds to a plain environment.

    JAX's own variables are left out, so that the defaults are those of a fresh machine.
    """
    drop = ("JAX_", "XLA_", "JFI_")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**plain, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    if check and done.returncode:
        raise AssertionError(f"exit code {done.returncode}\n{done.stderr}")
    return done


def output_of(code, **options):
    """What the code prints, stripped."""
    return run_python(code, **options).stdout.strip()
