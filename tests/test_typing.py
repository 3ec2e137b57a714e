"""The public types are complete, as pyright counts it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[1]


def pyright(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *arguments],
        cwd=ROOT,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("package", ["jfi", "jfi_server"])
def test_types_are_complete(package):
    found = pyright("--verifytypes", package, "--ignoreexternal")["typeCompleteness"]
    unknown = [
        symbol["name"]
        for symbol in found["symbols"]
        if symbol["isExported"] and not symbol["isTypeKnown"]
    ]
    assert unknown == []
    assert found["completenessScore"] == 1
