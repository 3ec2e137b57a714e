"""The wheel: what it holds, and that it works on its own."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[2]


def run(*command, cwd=ROOT, **env):
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    run(*build, "--outdir", folder, ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_holds_both_packages_with_their_types(names):
    expected = {
        str(path.relative_to(base))
        for base, package in ((ROOT, "jfi"), (ROOT / "server", "jfi_server"))
        for path in (base / package).rglob("*")
        if path.suffix in (".py", ".pyi") or path.name == "py.typed"
    }
    assert {
        "jfi/py.typed",
        "jfi/_transforms/_public.pyi",
        "jfi_server/py.typed",
    } <= expected
    assert expected <= names


def test_holds_nothing_else(names):
    folders = {name.split("/")[0] for name in names}
    assert {f for f in folders if not f.endswith(".dist-info")} == {"jfi", "jfi_server"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_works_on_its_own(wheel, tmp_path):
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q"]
    run(*pip, "--target", tmp_path / "site", wheel)
    site = str(tmp_path / "site")
    code = "import jfi, jfi_server; print(jfi.__file__, jfi_server.__file__)"
    files = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=site).split()
    assert all(Path(file).is_relative_to(site) for file in files)
    usage = run(f"{site}/bin/jfi-server", "--help", cwd=tmp_path, PYTHONPATH=site)
    assert {"run", "start", "stop", "status"} <= set(
        usage.replace(",", " ").replace("{", " ").replace("}", " ").split()
    )
