"""The command line: what it loads, what it prints, and how it refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tfslowtop.catalogue.find import all_entries


def tfslowtop(*arguments: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tfslowtop.commands.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


HEAVY = "{'tensorflow', 'textual', 'numpy', 'psutil', 'pynvml', 'keras'}"


@pytest.mark.parametrize(
    "code",
    [
        "import tfslowtop",
        "import tfslowtop.commands.main",
        "import tfslowtop.agent.sender, tfslowtop.agent.hooks.tf_function.traces, tfslowtop.catalogue.kernel",
        "from tfslowtop.commands.main import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from tfslowtop.commands.main import main\nmain(['list'])",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code):
    code += (
        f"\nimport sys; found = {HEAVY} & set(sys.modules); sys.exit(f'loaded: {{found}}' if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_app_itself_never_loads_tensorflow_and_what_watching_takes_only_beside_the_first_picture():
    code = (
        "import asyncio, sys\n"
        "from tfslowtop.ui.scenario_app import ScenarioApp, Options\n"
        "from tfslowtop.catalogue.find import all_entries\n"
        "entries = all_entries()\n"
        "early = {'tensorflow', 'psutil', 'tfslowtop.run'} & set(sys.modules)\n"
        "async def main():\n"
        "    async with ScenarioApp(Options(entries)).run_test() as pilot: await pilot.pause()\n"
        "asyncio.run(main())\n"
        "found = early | {'tensorflow'} & set(sys.modules); sys.exit(f'loaded: {found}' if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_list_prints_every_scenario():
    done = tfslowtop("list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [entry.id for entry in all_entries()]
    rows = json.loads(tfslowtop("list", "--json").stdout)
    assert {row["id"] for row in rows} == {entry.id for entry in all_entries()}
    assert all(row["claim"] and row["mechanism"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing_like_it"], "no scenario called"),
        (["nowhere.py"], "no such file"),
        (["graph_growth", "-p", "adds"], "NAME=VALUE"),
        (["graph_growth", "-p", "adds=many"], "whole number"),
        (["graph_growth", "-p", "width=3"], "no parameter 'width'"),
        (["-p", "size=3"], "name the scenario"),
        (["--readonly"], "name the scenario"),
        (["run", "graph_growth", "--fix", "magic"], "no fix 'magic'"),
        (["run", "graph_growth", "--iterations", "0"], "more than 0"),
        (["run", "graph_growth", "--seconds", "inf"], "finite"),
        (["run", "graph_growth", "-p", "adds=99999999999999999999"], "between 1 and 1,000,000,000"),
        (["run"], "required"),
        (["graph_growth"], "needs a terminal"),
        (["--nonsense"], "unrecognized"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments, message):
    done = tfslowtop(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_run_without_a_terminal_prints_json(scenario_file):
    body = (
        "import time\ndef setup(p): pass\n"
        "def iteration(s, fixes, i): time.sleep(.001 if fixes.quick else .004)\n"
    )
    path = scenario_file(body, "fixes=(Fix('quick', 'be quick'),)")
    done = tfslowtop("run", str(path), "--seconds", "2.5", "--ab", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["id"] == "mine" and result["iterations"] > 100
    assert 4 <= result["median_ms"] < 8
    assert result["effect"]["wall"]["low"] > 1.5


def test_verify_ends_when_it_is_certain_and_says_whether_that_was_declared(scenario_file):
    body = (
        "import time\ndef setup(p): pass\n"
        # long enough that a busy machine's hiccups are no pauses
        "def iteration(s, fixes, i): time.sleep(.0025 if fixes.quick else .01)\n"
    )
    path = scenario_file(body, "fixes=(Fix('quick', 'be quick'),)")
    done = tfslowtop("verify", str(path), "--seconds", "600", "--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert result["seconds"] < 600
    assert result["verdict"]["outcome"] == "constant penalty"
    assert result["as_declared"] is False  # it says of itself that it grows


def test_iterations_are_counted(scenario_file):
    path = scenario_file("import time\ndef setup(p): pass\ndef iteration(s, fixes, i): time.sleep(.001)\n")
    done = tfslowtop("run", str(path), "--iterations", "300")
    assert done.returncode == 0 and "mine: " in done.stdout
    assert int(done.stdout.split()[1].replace(",", "")) >= 300


def test_a_scenario_that_fails_is_exit_code_1(scenario_file):
    path = scenario_file("def setup(p): pass\ndef iteration(s, fixes, i): 1 / 0\n")
    done = tfslowtop("run", str(path))
    assert done.returncode == 1
    assert "mine.py:4: ZeroDivisionError" in done.stdout


def test_version():
    assert tfslowtop("--version").stdout.startswith("tfslowtop 0.")
