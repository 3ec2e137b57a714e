"""Random scripts give with jfi's tools what they give with plain Python's.

Some in each run; `JFI_FUZZ=2000 python -m pytest -n0 tests/programs/test_fuzz.py` runs
as many of each kind. `python -m fuzzing`, from `tests`, shows more of what they find.
"""

import collections
import os
import sys
import types

import jax
import pytest
from fuzzing import plain
from fuzzing.edits import measured
from fuzzing.making import case
from fuzzing.running import report, shrunk, verdict, workable
from fuzzing.states import stale


# Slow: each script is compiled, in some 0.2 seconds. What hundreds of them show is for
# JFI_FUZZ; these show that the tools, and the fuzzing itself, still work.
COUNTS = {"autojit": 16, "loops": 12, "writes": 14, "threads": 3, "floats": 12}
SHOWN = 3  # failures; more take long to make small, and say the same
TOOLS = [*COUNTS, "writes in loops", "each autojit"]


@pytest.mark.parametrize("tool", COUNTS)
def test_scripts_give_what_plain_python_gives(tool):
    kinds = collections.Counter()
    failures = []
    count = int(os.environ.get("JFI_FUZZ", COUNTS[tool]))
    for seed in range(count):
        script = workable(case(seed, tool))
        found = verdict(script)
        kinds[found.kind] += 1
        if found.kind not in ("same", "refused") and len(failures) < SHOWN:
            failures.append(report(*shrunk(script, found)))
    print(f"{tool}: {dict(kinds)}")
    assert not failures, "\n".join([str(dict(kinds)), *failures])
    # Of what is refused nothing is known: a test of that alone would be none.
    assert kinds["same"] > count / 2, kinds


@pytest.mark.parametrize("tool", TOOLS)
def test_plain_python_agrees_with_itself(tool):
    for seed in range(10_000, 10_005):
        script = workable(case(seed, tool))
        found = verdict(script, "fuzzing.plain")
        assert found.kind == "same", report(script, found)


def test_a_tool_that_does_not_see_changes_is_found_out(monkeypatch):
    """`jax.jit` holds global variables as constants, and leaks what is written."""
    module = types.ModuleType("fuzzing_with_jit")
    vars(module).update(vars(plain), autojit=lambda fn: jax.jit(fn))
    monkeypatch.setitem(sys.modules, "fuzzing_with_jit", module)
    found = [
        verdict(workable(case(seed, tool)), "fuzzing_with_jit").kind
        for tool in ("autojit", "writes")
        for seed in range(8)
    ]
    assert found.count("different") > 4


def test_a_grad_that_trains_every_float_is_found_out(monkeypatch):
    """As if each attribute of a class were declared as data."""
    module = types.ModuleType("fuzzing_that_trains_all")

    def pytree(cls=None, **declared):
        names = [f"f{n}" for n in range(5)] + ["rate", "eps"]
        return plain.pytree(cls, data=names)

    vars(module).update(vars(plain), pytree=pytree)
    monkeypatch.setitem(sys.modules, "fuzzing_that_trains_all", module)
    found = [
        verdict(workable(case(seed, "floats")), "fuzzing_that_trains_all").kind
        for seed in range(16)
    ]
    assert found.count("different") > 4


def test_what_scripts_set_in_libraries_is_never_found_old():
    count = int(os.environ.get("JFI_FUZZ", 25))
    faults, kinds = [], collections.Counter()
    for first in range(0, count, 25):
        more, counts = stale(range(first, min(first + 25, count)))
        faults += more
        kinds.update(counts)
    print(dict(kinds))
    assert not faults, "\n".join(faults[:SHOWN])
    assert kinds["changed"] > count / 3  # else a stale result would not be seen
    assert kinds["found"] > count / 10


def test_what_was_compiled_before_an_edit_without_meaning_is_found():
    all_of_them = "JFI_FUZZ" in os.environ
    part = slice(None) if all_of_them else slice(3, None, 17)
    names = ("comments", "docstrings", "future annotations", "renamed locals")
    results = list(measured(part=part) if all_of_them else measured(names, part))
    count = sum(found for _, found, _ in results)
    missed = [text for _, _, more in results for text in more]
    print({name: found for name, found, _ in results})
    assert len(missed) <= count / 100, "\n".join(missed[:SHOWN])
    assert count > 20
