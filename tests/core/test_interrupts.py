"""Ctrl-C: exit code 130 and one line at any moment, however often it is pressed."""

import signal
import subprocess
import sys
import time

import pytest

from relulab.core import interrupts

# Children of a shell in the background inherit that Ctrl-C is ignored; in a terminal it is not.
START = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); print('here', flush=True); "
# A signal just before the system call of a sleep does not end it: Python looks at signals between such calls only.
WAITS = "[time.sleep(0.05) for _ in range(1200)]"
# The command says "here" as soon as it handles Ctrl-C, which is the first thing that it does.
LOADS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from relulab.__main__ import interrupts, main
def handled(handler, handled=interrupts.handled):
    handled(handler)
    interrupts.handled = handled
    print("here", flush=True)
interrupts.handled = handled
sys.argv = ["relulab", "env"]
main()
"""
ENDS = (
    START
    + """
import time
from relulab.core import interrupts
interrupts.handled(interrupts.interrupt)
try:
    print("begun", flush=True)
    WAITS
except KeyboardInterrupt:
    print("ending", flush=True)
    time.sleep(1.5)
    print("ended", flush=True)
    sys.exit(130)
"""
)
SLOW = """
def slow(*_):
    import time
    print("begun", flush=True)
    WAITS
"""
MAIN = f"{START}{SLOW}import atexit, relulab.lab.cli as cli; cli.build = BUILD; import relulab.__main__ as m; m.main()"
BUILDS = MAIN.replace("BUILD", "slow")
LEAVES = MAIN.replace("BUILD", "lambda *_: lambda: atexit.register(slow)")
LOST = """
def lost(*_):
    import time
    try:
        print("begun", flush=True)
        WAITS
    except BaseException:
        print("lost", flush=True)
    try:
        WAITS
    finally:
        for _ in range(15):
            time.sleep(0.1)
        print("ended", flush=True)
"""
LOSES = MAIN.replace(SLOW, LOST).replace("BUILD", "lost")
IN_A_STRING = MAIN.replace("BUILD", "lambda *_: exec('raise KeyboardInterrupt')")
CLASS = """
class Part:
    def __set_name__(self, owner, name):
        import time
        print("begun", flush=True)
        WAITS

def builds(*_):
    def command():
        class Whole:
            part = Part()
    return command
"""
BUILDS_A_CLASS = MAIN.replace(SLOW, CLASS).replace("BUILD", "builds")
DELETED = """
class Deleted:
    def __del__(self):
        print("begun", flush=True)
        WAITS

class Failing:
    def __del__(self):
        raise ValueError("said")

def deletes(*_):
    global time
    import time
    Deleted()
    Failing()
    WAITS
"""
DELETES = MAIN.replace(SLOW, DELETED).replace("BUILD", "deletes")
TORCH = """
def loads(*_):
    import time
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    sys.modules["torch"] = torch = ModuleType("torch")
    torch.__spec__ = ModuleSpec("torch", None)
    torch.__spec__._initializing = True
    print("begun", flush=True)
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        time.sleep(0.05)
    torch.__spec__._initializing = False
    print("loaded", flush=True)
    WAITS
"""
LOADS_TORCH = MAIN.replace(SLOW, TORCH).replace("BUILD", "loads")
LATE = (
    START
    + """
import os
class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), interrupt=signal.SIGINT):
        kill(process, interrupt)
late = Late()
sys.argv = ["relulab", "--version"]
from relulab.__main__ import main
main()
"""
)


def started(code: str) -> subprocess.Popen:
    code = code.replace("WAITS", WAITS)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None and process.stdout.readline() == "here\n"
    return process


@pytest.mark.parametrize("delay", [0.0, 0.15, 0.3])
def test_while_the_command_loads(delay):
    process = started(LOADS)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode == 130 and "Traceback" not in err) or process.returncode == 0  # it was faster


@pytest.mark.parametrize("code", [BUILDS, LEAVES])
def test_while_the_command_line_is_built_and_while_python_ends(code):
    process = started(code)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err


def test_one_that_a_library_catches_is_not_lost():
    process = started(LOSES)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "lost\nended\n" and "Traceback" not in err


def test_while_code_from_a_string_is_executed(tmp_path):
    (tmp_path / "command.py").write_text(IN_A_STRING)  # as a module, because -c ends in another way
    done = subprocess.run([sys.executable, "-m", "command"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130 and "Traceback" not in done.stderr


def test_when_the_command_is_done_and_python_takes_itself_apart():
    process = started(LATE)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and not err


def test_more_of_them_do_not_disturb_the_end():
    process = started(ENDS)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "ending\n"
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "ended\n" and not err


def test_an_end_that_takes_too_long_is_cut_short():
    process = started(ENDS.replace("interrupts.handled", "interrupts.PATIENCE = 0.2; interrupts.handled"))
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "ending\n"
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and not out and err == "interrupted\n"


def test_a_process_in_the_background_stays_undisturbed():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interrupts.handled(interrupts.interrupt)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_while_python_builds_a_class_of_a_library():
    """Python raises a RuntimeError in place of what ``__set_name__`` raises, even of a KeyboardInterrupt."""
    process = started(BUILDS_A_CLASS)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err == "relulab: interrupted\n"


def test_only_errors_that_an_interrupt_led_to_count_as_one():
    def raised(first: type[BaseException]) -> BaseException:
        try:
            try:
                raise first
            except BaseException:
                raise ValueError from None
        except ValueError as error:
            return error

    assert interrupts.behind(KeyboardInterrupt()) and interrupts.behind(raised(KeyboardInterrupt))
    assert not interrupts.behind(raised(RuntimeError)) and not interrupts.behind(None)


def test_nothing_is_imported_before_the_command_handles_it():
    code = "import sys; before = {*sys.modules}; import relulab.__main__; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["relulab", "relulab.__main__", "relulab.core", "relulab.core.interrupts"]


def test_while_an_object_is_deleted():
    process = started(DELETES)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "KeyboardInterrupt" not in err and "ValueError: said" in err


def test_the_import_of_torch_is_not_interrupted():
    process = started(LOADS_TORCH)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "loaded\n" and "Traceback" not in err
