"""Signals at random instants of runs on every engine: the same bytes, nothing left, 130 for Ctrl-C, no traceback.

Each round starts a command, sends a signal when its processes have used a random share of the processor time of an
undisturbed run, looks at how it ends and what it leaves, and runs the command again to the end, most often in a process
that has loaded PyTorch already and without workers.

    python tests/signal_rounds.py [ROUNDS] [SEED] [ROUNDS AT A TIME]
"""

import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from signals.command import LONGEST, Command, files_of, temporary
from signals.engines import ALONE, ENGINES, STUDIES, Cluster, clusters, words, workers_of
from signals.kinds import KINDS, send, wrong_end

STARTED = 0.5  # seconds of processor time in which Python reaches the first line of relulab
LITERAL = 0.2  # share of the rounds in which the second command is exactly the first one
LOADED = ["torch", "xarray", "matplotlib.pyplot", "relulab.lab.cli", "relulab.lab.run.job", "signal_rounds"]
PAIRS = [(e, k) for e in ENGINES for k in KINDS if e != ALONE or KINDS[k][1] != "worker"]


@dataclass
class Undisturbed:
    """What runs without a signal make: files by study, and processor time and temporary files by engine."""

    files: dict[int, dict[str, bytes]] = field(default_factory=dict)
    names: dict[int, set[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    temporary: dict[str, set[str]] = field(default_factory=dict)


def again(folder: Path, arguments: list[str]) -> None:
    """The command in this process, which has PyTorch already."""
    from relulab.lab.cli import main

    os.chdir(folder)
    sys.argv = ["relulab", *arguments]
    with open("again.txt", "w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        main()


def finish(folder: Path, study: tuple[str, ...]) -> int | None:
    process = multiprocessing.get_context("forkserver").Process(
        target=again, args=(folder, words(study, ("--workers", "1")))
    )
    process.start()
    process.join(LONGEST)
    return process.exitcode


def measured(top: Path, engines: dict[str, Cluster], pool: ThreadPoolExecutor) -> Undisturbed:
    """Runs without a signal. Files that two of them make alike are to be the same ever after."""
    found = Undisturbed()

    def made(number: int, time: int) -> dict[str, bytes]:
        folder = top / f"undisturbed {number} {time}"
        folder.mkdir()
        assert finish(folder, STUDIES[number]) == 0, (folder / "again.txt").read_text()
        return files_of(folder)

    def used(engine: str) -> dict[str, bytes]:
        command = Command(top / f"undisturbed {engine}", words(STUDIES[0], engines[engine].options))
        found.seconds[engine] = command.wait_until(LONGEST)
        assert command.end() == 0, (command.folder / "err.txt").read_text()
        found.temporary[engine] = temporary(command.folder)
        return files_of(command.folder)

    by_engine = {engine: pool.submit(used, engine) for engine in ENGINES}
    by_study = [[pool.submit(made, number, time) for time in range(2)] for number in range(len(STUDIES))]
    for number, (first, second) in enumerate(by_study):
        files, others = first.result(), second.result()
        found.names[number] = set(files)
        found.files[number] = {name: content for name, content in files.items() if others[name] == content}
    print("always the same bytes:", ", ".join(sorted(found.files[0])), flush=True)
    for engine, files in by_engine.items():
        other = [name for name, content in found.files[0].items() if files.result()[name] != content]
        assert not other, f"{engine}: other bytes of {other} without a signal"
        print(f"{engine}: {found.seconds[engine]:.1f} s of processor time undisturbed", flush=True)
    return found


@dataclass
class Round:
    """One command, one signal, and the same command again."""

    number: int
    seed: int
    undisturbed: Undisturbed
    wrong: list[str] = field(default_factory=list)
    note: str = ""
    code: int | None = None
    details: str = ""

    def __post_init__(self) -> None:
        self.dice = random.Random(f"{self.seed}-{self.number}")
        cycle, place = divmod(self.number, len(PAIRS))
        self.engine, self.kind = random.Random(f"{self.seed}+{cycle}").sample(PAIRS, len(PAIRS))[place]
        self.study = self.dice.randrange(len(STUDIES))
        self.share, self.literal = self.dice.random(), self.dice.random() < LITERAL

    def play(self, top: Path, cluster: Cluster) -> None:
        arguments = words(STUDIES[self.study], cluster.options)
        command = Command(top / f"{self.number}", arguments)
        folder = command.folder
        used = command.wait_until(self.share * self.undisturbed.seconds[self.engine])
        time.sleep(self.dice.uniform(0, 0.02))
        begun, finished = used > STARTED, any(folder.glob("runs/*/*/manifest.json"))
        workers = cluster.workers if cluster.keeper else lambda: workers_of(command.process)
        sent = command.running() and send(self.kind, command.process, workers, command.running, self.dice)
        self.note = "" if sent else "the run had ended before"
        self.code, err = command.end(), (folder / "err.txt")
        self.wrong += self.ends(command, self.code, finished if sent else True, begun)
        instant = f"study {self.study}, after {used:.2f} s ({self.share:.4f})"
        self.details = f"{instant}, exit code {self.code}, {err.read_text()[-3000:]}"
        if self.code == 130 and temporary(folder) - self.undisturbed.temporary[self.engine]:
            self.wrong.append(f"in the temporary folder: {sorted(temporary(folder))}")
        self.repeat(folder, arguments)

    def ends(self, command: Command, code: int | None, finished: bool, begun: bool) -> list[str]:
        """What is wrong at the end of the first command."""
        from relulab.lab.run import lock

        found = ["hangs"] if code is None else []
        if code is None:
            os.killpg(command.popen.pid, signal.SIGKILL)
        elif problem := wrong_end(self.kind, code, finished, (command.folder / "err.txt").read_text(), begun):
            found.append(problem)
        if left := command.left():
            found.append(f"still running: {left}")
            for process in left:
                with suppress(psutil.Error):
                    process.kill()
        return found + [f"locked: {run}" for run in command.folder.glob("runs/*/*") if lock.holder(run)]

    def repeat(self, folder: Path, arguments: list[str]) -> None:
        """Run the command again and compare what it leaves with an undisturbed run."""
        before, usual = temporary(folder), self.undisturbed.temporary[self.engine]
        if self.literal or before - usual:  # the next cluster removes what a killed one has left
            code = Command(folder, arguments).end()
        else:
            code = finish(folder, STUDIES[self.study])
        if code != 0:
            said = "".join(
                (folder / name).read_text()[-800:] for name in ("err.txt", "again.txt") if (folder / name).exists()
            )
            self.wrong.append(f"the second command ends with {code}: {said}")
            return
        made = files_of(folder)
        other = [name for name, content in self.undisturbed.files[self.study].items() if made.get(name) != content]
        more = set(made) - self.undisturbed.names[self.study]
        executable = [path.name for path in folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o111]
        self.wrong += [f"other bytes: {other}"] * bool(other) + [f"left: {sorted(more)}"] * bool(more)
        self.wrong += [f"executable: {executable}"] * bool(executable)
        if left := sorted(temporary(folder) - usual):
            self.wrong.append(f"left in the temporary folder: {left}")


def table(rounds: list[Round]) -> None:
    """Print the number of rounds by engine and signal, and how many of them went wrong."""
    all_of, bad = Counter((r.engine, r.kind) for r in rounds), Counter((r.engine, r.kind) for r in rounds if r.wrong)
    print(f"{'rounds (wrong)':24}" + "".join(f"{engine:>22}" for engine in ENGINES) + f"{'all':>12}")
    for kind in KINDS:
        row = [(all_of[engine, kind], bad[engine, kind]) for engine in ENGINES]
        total = f"{sum(a for a, _ in row)} ({sum(b for _, b in row)})"
        print(f"{kind:24}" + "".join(f"{f'{a} ({b})' if a else '':>22}" for a, b in row) + f"{total:>12}")
    ends = Counter(r.code for r in rounds if KINDS[r.kind][0] == signal.SIGINT)
    print(f"exit codes after Ctrl-C: {dict(ends)}; notes: {dict(Counter(r.note for r in rounds if r.note))}")
    print(f"{len(rounds)} rounds, {sum(bool(r.wrong) for r in rounds)} went wrong", flush=True)


def main(count: int, seed: int, at_a_time: int) -> int:
    """Play rounds and print a table; the exit code is 1 if any went wrong."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is ignored here, commands would ignore, too
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    multiprocessing.get_context("forkserver").set_forkserver_preload(LOADED)
    done: list[Round] = []
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engines = stack.enter_context(clusters(top / "clusters"))
        pool = stack.enter_context(ThreadPoolExecutor(at_a_time))
        undisturbed = measured(top, engines, pool)

        def play(number: int) -> None:
            one = Round(number, seed, undisturbed)
            with engines[one.engine].free:
                try:
                    one.play(top, engines[one.engine])
                except Exception as error:
                    one.wrong.append(f"{type(error).__name__}: {error}")
            if one.wrong:
                print(
                    f"round {number} of seed {seed}, {one.engine}, {one.kind}: {one.wrong}; {one.details}", flush=True
                )
            else:
                shutil.rmtree(top / f"{number}")
            done.append(one)
            if len(done) % 10 == 0:
                print(f"{len(done)} rounds, {sum(bool(r.wrong) for r in done)} wrong", flush=True)

        try:
            list(pool.map(play, range(count)))
        except KeyboardInterrupt:  # the rounds that have begun are finished
            pool.shutdown(cancel_futures=True)
        table(done)
    return int(any(one.wrong for one in done))


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*given, *(200, 0, 2)[len(given) :]))
