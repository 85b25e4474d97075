"""A built wheel, installed into an empty virtual environment, runs."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from paths import ROOT

pytestmark = pytest.mark.install


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    return path


def test_the_wheel_has_the_scenarios_and_the_stylesheet(wheel, root):
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (root / "scenarios").glob("*.py"):
        assert f"tfslowtop/_scenarios/{path.name}" in names
    assert {"tfslowtop/ui/app.tcss", "tfslowtop/py.typed"} <= names
    assert not [n for n in names if n.startswith(("tests", "scenarios", "benchmarks"))]


def test_it_runs_from_an_empty_environment(wheel, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = venv / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, capture_output=True)
    # Its dependencies, half a gigabyte of them, are lent by the environment that runs this test.
    (packages,) = (venv / "lib").glob("python*/site-packages")
    (packages / "lent.pth").write_text("\n".join(site.getsitepackages()))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def tfslowtop(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(venv / "bin" / "tfslowtop"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    rows = json.loads(tfslowtop("list", "--json").stdout)
    assert len(rows) >= 3
    where = "import tfslowtop; print(tfslowtop.__file__)"
    command = [str(python), "-c", where]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert str(venv) in found.stdout
    done = tfslowtop("run", "large_arrays", "--iterations", "20", "-p", "size=50", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["iterations"] >= 20
