"""What `draws_in_advance.py` tests, as XLA compiles it for users."""

import os
import subprocess
import sys
from pathlib import Path


FILE = Path(__file__).with_name("draws_in_advance.py")


def test_draws_in_advance_are_single_draws_to_the_last_bit():
    """Slow: programs that draw take XLA long, when it leaves nothing out."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", str(FILE)],
        env={**os.environ, "XLA_FLAGS": ""},
        cwd=FILE.parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
