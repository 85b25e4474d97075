"""The command line: what it loads, what it prints, and how it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from launching import collect

from tfslowtop import exit_codes
from tfslowtop.catalogue.find import all_entries
from tfslowtop.commands import attach
from tfslowtop.commands import help as help_command
from tfslowtop.commands.main import COMMANDS, main, parse
from tfslowtop.diagnosis.registry import causes, explain


def tfslowtop(*arguments: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tfslowtop", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


@pytest.fixture
def refusal(capsys):
    """The one line that a command line is refused with."""

    def refuse(*arguments: str) -> str:
        assert main(arguments) == exit_codes.USAGE
        said = capsys.readouterr()
        assert said.out == ""
        (line,) = said.err.splitlines()
        assert line.startswith("tfslowtop: ") and line[-1] in ".?"
        return line.removeprefix("tfslowtop: ")

    return refuse


HEAVY = "{'tensorflow', 'textual', 'numpy', 'psutil', 'pynvml', 'keras'}"


@pytest.mark.parametrize(
    "code",
    [
        "import tfslowtop.agent.sender, tfslowtop.agent.hooks.tf_function.traces, tfslowtop.catalogue.kernel",
        "from tfslowtop.commands.main import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from tfslowtop.commands.main import main\n"
        "for words in ('list', 'list --json', '--nonsense', 'nonsense'): main(words.split())",
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


# -- commands -----------------------------------------------------------------------------------------------


def test_every_command_has_arguments_a_run_and_one_line_of_help(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    for name, module in COMMANDS.items():
        assert callable(module.add_arguments) and callable(module.run)
        assert re.search(rf"^  {name} +{re.escape(module.HELP)}$", text, re.MULTILINE)


def test_no_scenario_has_the_name_of_a_command():
    assert not set(COMMANDS) & {entry.id for entry in all_entries()}


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns_and_ends_well(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ending:
        main([*command.split(), "--help"])
    assert ending.value.code == exit_codes.SUCCESS
    text = capsys.readouterr().out
    assert text.startswith(f"usage: tfslowtop {command}".rstrip())
    assert [line for line in text.splitlines() if len(line) >= 80] == []


def test_help_of_the_bare_command_names_every_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out.partition("exit codes:")[2]
    codes = {value for name, value in vars(exit_codes).items() if name.isupper()}
    assert {int(code) for code in re.findall(r"^  (\d+) ", text, re.MULTILINE)} == codes


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("tfslowtop 0.")


def test_list_prints_every_scenario(capfd):
    assert main(["list"]) == exit_codes.SUCCESS
    rows = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in rows] == [entry.id for entry in all_entries()]
    assert main(["list", "--json"]) == exit_codes.SUCCESS
    rows = json.loads(capfd.readouterr().out)
    assert {row["id"] for row in rows} == {entry.id for entry in all_entries()}
    assert all(row["claim"] and row["mechanism"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "script", "step"),
    [
        (["--attach", "train.py", "--json", "x"], ["train.py", "--json", "x"], None),
        (["--attach=train.py", "--attach", "x"], ["train.py", "--attach", "x"], None),
        (["--step", "f", "--attach", "-m", "pkg", "--", "-p"], ["-m", "pkg", "--", "-p"], "f"),
        (["--attach", "list"], ["list"], None),
        (["--attach"], [], None),
    ],
)
def test_everything_after_attach_belongs_to_the_script(arguments, script, step):
    options = parse(arguments)
    assert (options.script, options.step, options.json) == (script, step, None)
    assert options.run is attach.run


# -- help ---------------------------------------------------------------------------------------------------


def test_help_lists_every_cause_on_a_line_of_its_own(capfd):
    assert main(["help"]) == exit_codes.SUCCESS
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(causes())]] == list(causes())
    assert lines[-1] == "`tfslowtop help CAUSE` explains one of them."


@pytest.mark.parametrize("width", [40, 80, 200])
def test_help_prints_all_that_is_known_about_a_cause_in_the_width_of_the_terminal(width, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    for cause in causes():
        assert main(["help", cause]) == exit_codes.SUCCESS
        text = capfd.readouterr().out
        assert text.split() == explain(cause).split()
        prose = [part for part in text.split("\n\n") if not part.startswith("# before")]
        lines = [line for part in prose for line in part.splitlines() if len(line) > min(width, 100)]
        assert all(" " not in line for line in lines), lines


def test_wrapping_leaves_code_alone():
    code = "# before\nfor x in xs:\n    " + "step(x, " * 12 + "\n# after\n" + "step(xs, " * 12
    wrapped = help_command.wrap(f"cause: {'word ' * 20}\n\n{code}\n", 60)
    assert wrapped.endswith(code) and max(map(len, wrapped.splitlines()[:2])) <= 60


def test_help_explains_a_command_too(capfd):
    assert main(["help", "check"]) == exit_codes.SUCCESS
    assert capfd.readouterr().out.startswith("usage: tfslowtop check")


# -- wrong usage --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py"], "no such file"),
        (["graph_growth", "-p", "adds"], "NAME=VALUE"),
        (["graph_growth", "-p", "adds=many"], "whole number"),
        (["graph_growth", "-p", "width=3"], "no parameter 'width'"),
        (["-p", "size=3"], "name the scenario"),
        (["--readonly"], "name the scenario"),
        (["run", "graph_growth", "--fix", "magic"], "no fix 'magic'"),
        (["run", "graph_growth", "--iterations", "0"], "--iterations must be a whole number of 1 or more"),
        (
            ["run", "graph_growth", "--seconds", "inf"],
            "--seconds must be a finite number above 0, not 'inf'.",
        ),
        (
            ["run", "graph_growth", "--seconds", "soon"],
            "--seconds must be a finite number above 0, not 'soon'.",
        ),
        (["run", "graph_growth", "--seconds"], "--seconds needs a value."),
        (["run", "graph_growth", "-p"], "--param needs a value."),
        (["run", "graph_growth", "--ab=yes"], "--ab takes no value."),
        (["run", "graph_growth", "-p", "adds=99999999999999999999"], "between 1 and 1,000,000,000"),
        (["run"], "Name a scenario to run; `tfslowtop list` prints them all."),
        (["list", "it"], "`tfslowtop list` does not expect 'it'; see `tfslowtop list --help`."),
        (["graph_growth"], "needs a terminal"),
        (["graph_growth", "more"], "`tfslowtop` does not expect 'more'"),
        (["train.py", "--lr", "3"], "put --attach before it: tfslowtop --attach train.py ..."),
        (["--headless", "check", "train.py"], "Write the command first: tfslowtop check ..."),
        (["--ascii", "list"], "Write the command first: tfslowtop list ..."),
        (["--headless"], "--headless needs --attach SCRIPT"),
        (["--python", "python3", "graph_growth"], "--python needs --attach SCRIPT"),
        (["graph_growth", "--attach", "x.py"], "either the scenario graph_growth or a script of your own"),
        (["--demo", "--attach", "x.py"], "--demo is for scenarios"),
        (["--reattach", "--attach", "x.py"], "--attach to start a script or --reattach"),
        (["--headless", "--reattach"], "--headless does not go with --reattach"),
        (["--reattach", "x"], "--reattach must be a whole number of 1 or more, not 'x'."),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments, message, refusal):
    assert message in refusal(*arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["checkk"], "There is no command or scenario called 'checkk'; did you mean check?"),
        (["checkk", "x.py"], "There is no command 'checkk'; did you mean check?"),
        (["grph_growth"], "called 'grph_growth'; did you mean graph_growth?"),
        (["predict_loop"], "called 'predict_loop'; did you mean predict_in_loop?"),
        (
            ["run", "predict-loop"],
            "There is no scenario called 'predict-loop'; did you mean predict_in_loop?",
        ),
        (["verify", "Graph-Growth"], "did you mean graph_growth?"),
        (["--atach", "x.py"], "`tfslowtop` has no option --atach; did you mean --attach?"),
        (["list", "--jsn"], "`tfslowtop list` has no option --jsn; did you mean --json?"),
        (["help", "retrace-shap"], "There is no cause called 'retrace-shap'; did you mean retrace-shape?"),
        (["help", "predict_loop"], "did you mean predict-loop?"),
        (["check", "--fail-on", "gc-pauses", "x.py"], "there is no such cause; did you mean gc-pause?"),
        (["help", "leak"], "did you mean session-leak, tensor-leak or python-leak?"),
    ],
)
def test_a_mistyped_name_gets_a_suggestion(arguments, sentence, refusal):
    assert refusal(*arguments).endswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing_like_it"], "`tfslowtop list` prints them all."),
        (["--nonsense"], "`tfslowtop --help` lists its options."),
        (["check", "--nonsense"], "`tfslowtop check --help` lists its options."),
        (["help", "sunspots"], "`tfslowtop help` lists them all."),
    ],
)
def test_where_nothing_is_close_it_says_where_to_look(arguments, sentence, refusal):
    assert refusal(*arguments).endswith(f"; {sentence}")


# -- for real -----------------------------------------------------------------------------------------------


@pytest.fixture
def interpreter(tmp_path, monkeypatch):
    """A Python that writes down every start, and how many there were."""
    log, wrapper = tmp_path / "starts", tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\necho started >> "{log}"\nexec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o755)
    (tmp_path / "script.py").write_text("print('output')\n")
    (tmp_path / "s").mkdir(mode=0o700)
    monkeypatch.setenv("TFSLOWTOP_SESSIONS", str(tmp_path / "s"))
    monkeypatch.chdir(tmp_path)
    return str(wrapper), lambda: len(log.read_text().splitlines())


@pytest.mark.parametrize("command", [["--headless", "--attach"], ["check", "--allow-nothing"]])
def test_one_interpreter_is_started_before_the_script(command, interpreter, capfd):
    python, starts = interpreter
    assert main([command[0], "--python", python, *command[1:], "script.py"]) == exit_codes.SUCCESS
    assert "output" in capfd.readouterr().out
    assert starts() == 2  # it is asked once, and then runs the script


def test_without_python_only_the_script_is_started(interpreter, monkeypatch):
    python, starts = interpreter
    monkeypatch.setattr(sys, "executable", python)
    assert main(["--headless", "--attach", "script.py"]) == exit_codes.SUCCESS
    assert starts() == 1


def test_the_app_asks_the_interpreter_once_and_again_when_it_restarts_the_script(interpreter, monkeypatch):
    python, starts = interpreter
    made = []
    monkeypatch.setattr(attach, "prepare_screen", lambda hint: None)
    monkeypatch.setattr(attach, "_open_app", lambda options, make: made.extend([make(), make()]) or 0)
    assert main(["--python", python, "--attach", "script.py"]) == 0
    first, second = made
    assert starts() == 1
    for source, expected in ((first, 2), (second, 4)):  # the file may have been edited since
        source.start()
        collect(source)
        source.close()
        assert starts() == expected


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


def test_a_scenario_is_diagnosed_like_a_script(scenario_file):
    """Its steps are the kernel's iterations, and every line of it is the user's."""
    body = (
        "import numpy as np\ndef setup(p): return {'h': np.zeros(300_000)}\n"
        "def iteration(s, fixes, i):\n    s['h'] = np.append(s['h'], np.ones(5_000))\n"
    )
    path = scenario_file(body)
    done = tfslowtop("run", str(path), "--seconds", "8", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "np.append" in text)
    (found, *_) = result["findings"]
    assert (found["cause"], found["line"]) == ("growing-input", line)
    heaviest = result["account"][0]
    assert (heaviest["activity"], heaviest["file"], heaviest["line"]) == ("library", str(path), line)
    assert sum(entry["share"] for entry in result["account"]) == pytest.approx(1)


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
    assert result["effect"]["wall"]["low"] > 1.5
    # It claims to grow, which it does not; on a busy machine it may look so for a while, or pause.
    assert result["verdict"]["outcome"] in ("constant penalty", "confirmed")
    assert result["as_declared"] is ("grows" in result["verdict"]["found"])


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


def test_an_interrupted_measurement_is_exit_code_130(monkeypatch):
    monkeypatch.setattr("tfslowtop.catalogue.find.all_entries", interrupted)
    assert main(["list"]) == exit_codes.INTERRUPTED


def interrupted() -> None:
    raise KeyboardInterrupt
