"""Draws made in advance are single draws to the last bit, as XLA compiles for users.

Less work for XLA, as in the other tests, gives other last bits.
"""

import os
import subprocess
import sys
from pathlib import Path


FILE = Path(__file__).parents[1] / "test_random_in_advance.py"
TESTS = [
    *(
        f"test_draws_in_advance_are_single_draws[{kind}]"
        for kind in ("randn", "randn float64", "randn bfloat16", "rand", "normal")
    ),
    "test_what_xla_computes_otherwise_in_batches[exponential-None]",
    "test_what_xla_computes_otherwise_in_batches[exponential-float16]",
    "test_what_xla_computes_otherwise_in_batches[cauchy-None]",
    "test_interleaved_kinds[2]",  # the other kinds are integers
    "test_a_new_seed_or_state_in_between",
    "test_other_draws_take_their_numbers_out",
    "test_in_threads",
    "test_settings_change_in_between[randn-matmul]",
]


def test_some_draws_are_the_same_to_the_last_bit():
    """Slow: programs that draw take XLA long, when it leaves nothing out."""
    names = [f"{FILE}::{name}" for name in TESTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", *names],
        env={**os.environ, "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(TESTS)} passed" in done.stdout
