"""What persistent functions of every kind give in the next process.

What one kind does is in tests/test_persistent.py.
"""

import json
from pathlib import Path

import pytest
from subprocesses import output_of


# Slow: each of a hundred kinds is compiled, by autojit, too.
CASES = (Path(__file__).parents[1] / "persistent_cases.py").read_text()


def found_by(folder, **env):
    """What the cases give, and what the report says."""
    env = {**env, "JFI_CACHE_DIR": str(folder), "JFI_SERVER_DIR": str(folder / "none")}
    return json.loads(output_of(CASES, env=env, timeout=300))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_next_process_traces_and_compiles_nothing(tmp_path, dtype):
    cold = found_by(tmp_path, JFI_DTYPE=dtype, PYTHONHASHSEED="1")
    warm = found_by(tmp_path, JFI_DTYPE=dtype, PYTHONHASHSEED="2", JFI_COMPARED="")
    for name, (persistent, autojit, _) in cold[0].items():
        assert persistent == autojit, name
    for name, (persistent, _, traces) in warm[0].items():
        assert persistent == cold[0][name][0], name
        assert traces == 0 or "Error: " in persistent[0][0], name
    (hits, misses, refused), (found, again, _) = cold[1:], warm[1:]
    assert misses > 80
    assert found >= hits + misses
    assert (again, refused) == (0, {})


def test_results_are_the_same_where_jax_hides_what_a_program_is(tmp_path):
    found = found_by(tmp_path, JFI_WITHOUT="all")
    for name, (persistent, autojit, traces) in found[0].items():
        assert persistent == autojit, name
        assert traces == 1 or "Error: " in persistent[0][0] or "passed" in name, name
