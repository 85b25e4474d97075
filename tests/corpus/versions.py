"""The diagnosis with other versions of TensorFlow and Keras: a short set of slow and healthy scripts in each.

    make versions                              # builds environments in .versions/ (some GB), prints the table
    python tests/corpus/versions.py 2.15 ...   # only these

Each script runs under `tfslowtop --headless --python`, one at a time, and its first finding about the program
is compared with expected.json. Versions that do not exist for this Python are reported and left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "helpers")]

import corpus_run  # noqa: E402
from paths import CORPUS, ROOT  # noqa: E402

from tfslowtop.diagnosis.registry import causes  # noqa: E402

#: By name: what is installed, and the environment variables of the run.
VERSIONS: dict[str, tuple[list[str], dict[str, str]]] = {
    "2.12": (["tensorflow-cpu==2.12.*"], {}),
    "2.13": (["tensorflow-cpu==2.13.*"], {}),
    "2.15": (["tensorflow-cpu==2.15.*"], {}),
    "2.16": (["tensorflow-cpu==2.16.*"], {}),
    "2.16 with tf_keras": (["tensorflow-cpu==2.16.*", "tf_keras==2.16.*"], {"TF_USE_LEGACY_KERAS": "1"}),
    "newest": (["tensorflow-cpu"], {}),
}
SLOW = (
    "linear_schedule", "char_rnn", "style_transfer", "policy_update", "meta_step", "ensemble_scores",
    "cartpole_scores", "checkpoint_often", "tabular_stream", "pendulum_rollout", "calibrate",
)  # fmt: skip
HEALTHY = ("custom_loop", "mnist_fit", "inference", "two_networks")


def environment(name: str) -> Path | None:
    """Build the environment of a version, unless it is there; return its interpreter."""
    place = ROOT / ".versions" / name.replace(" ", "-")
    python = place / "bin" / "python"
    if not (place / "complete").exists():
        venv.create(place, clear=True, with_pip=True)
        wanted = ["setuptools<81", *VERSIONS[name][0]]  # Keras 2 needs pkg_resources
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        if subprocess.run(install).returncode:
            return None
        (place / "complete").touch()
    return python


def judge(case: corpus_run.Case, python: Path, variables: dict[str, str]) -> str:
    """Run a script; return an empty text if it was judged rightly, else what was said."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "result.json"
        command = [sys.executable, "-m", "tfslowtop", "--headless", "--json", file, "--python", python]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **variables}
        run = subprocess.run(
            [*command, "--attach", CORPUS / case.script], cwd=ROOT, env=environment, capture_output=True
        )
        result = json.loads(file.read_text())
    if run.returncode:
        return f"{case.script}: it ended with {run.returncode}"
    if b"AutoGraph could not" in run.stderr:
        return f"{case.script}: AutoGraph complains about a hook"
    found = [f for f in result["findings"] if not causes()[f["cause"]].is_machines]
    if not found:
        return f"{case.script}: no finding" if case.cause else ""
    lines = (CORPUS / case.script).read_text().splitlines()
    line = lines[found[0]["line"] - 1] if found[0]["line"] else ""
    placed = not case.lines or any(piece in line for piece in case.lines)
    right = found[0]["cause"] == case.cause and placed
    return "" if right else f"{case.script}: {found[0]['cause']} at line {found[0]['line']}"


def main(names: list[str]) -> int:
    rows, wrong = [], []
    for name in names or list(VERSIONS):
        python = environment(name)
        if python is None:
            print(f"{name}: cannot be installed for this Python")
            continue
        counts = []
        for chosen in (SLOW, HEALTHY):
            said = [judge(case, python, VERSIONS[name][1]) for case in corpus_run.cases(*chosen)]
            wrong += [f"{name}: {text}" for text in said if text]
            counts.append(f"{said.count('')} of {len(chosen)}")
        rows.append(f"| {name} | {counts[0]} | {counts[1]} |")
        print(rows[-1], flush=True)
    print("\n".join(["", "| TensorFlow | slow, right | healthy, silent |", "|---|---|---|", *rows, *wrong]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
