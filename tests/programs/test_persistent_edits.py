"""An edit between two runs of a script is never missed; what does the same is found."""

import edited_scripts
import pytest
from restarting import start


# In one process: what all scripts give is there once.
pytestmark = pytest.mark.xdist_group("edited scripts")


def all_scripts(number):
    """The scripts by name, before (0) or after (1) the edit."""
    scripts = {}
    for table in ("EDITED", "UNTOUCHED"):
        for name, pair in getattr(edited_scripts, table).items():
            scripts[f"{table} {name}"] = pair[number]
    for k, (name, use) in enumerate(edited_scripts.USES.items()):
        scripts[f"USES {name}"] = use.replace("NAME", f"jfi_edited_{k}")
    return {name: edited_scripts.headed(script) for name, script in scripts.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What all scripts give before and after, in two processes with one store."""
    folder = tmp_path_factory.mktemp("edits")
    found = []
    for number in (0, 1):
        modules = folder / f"modules{number}"
        modules.mkdir()
        source = (edited_scripts.MODULE, edited_scripts.EDITED_MODULE)[number]
        for k in range(len(edited_scripts.USES)):
            (modules / f"jfi_edited_{k}.py").write_text(source)
        found.append(start(all_scripts(number), folder, number))
    return found


@pytest.mark.parametrize("name", [n for n in all_scripts(0) if "UNTOUCHED" not in n])
def test_an_edit_is_seen(runs, name):
    before, after = (run[name] for run in runs)
    assert before["kept"] == before["again"] == before["plain"]
    assert after["kept"] == after["again"] == after["plain"]


@pytest.mark.parametrize("name", edited_scripts.UNTOUCHED)
def test_what_does_the_same_is_found(runs, name):
    before, after = (run[f"UNTOUCHED {name}"] for run in runs)
    assert after["kept"] == after["again"] == after["plain"]
    assert (before["hits"], before["misses"]) == (0, 1)
    assert (after["hits"], after["misses"]) == (1, 0)


def test_the_edits_change_results(runs):
    # Else a stale result would not be seen.
    alike = [
        name
        for name, before in runs[0].items()
        if "UNTOUCHED" not in name and before["plain"] == runs[1][name]["plain"]
    ]
    assert alike == ["EDITED a jitted helper's options"]
    failed = [name for name, after in runs[1].items() if "Error" in after["plain"]]
    assert failed == []
