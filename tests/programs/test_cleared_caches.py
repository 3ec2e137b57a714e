"""Runs `cleared_caches.py`, where JAX forgets what it compiled."""

import os
from pathlib import Path

from subprocesses import output_of


FILE = Path(__file__).parents[1] / "cleared_caches.py"


def test_what_jax_forgets_is_compiled_again():
    cache = {k: v for k, v in os.environ.items() if k == "JFI_TEST_CACHE"}
    options = ["-q", "-n0", "-p", "no:cacheprovider", str(FILE)]
    code = f"import pytest; print('exit code', int(pytest.main({options})))"
    text = output_of(code, env=cache, timeout=600)
    assert text.endswith("exit code 0"), text
    assert " passed" in text
