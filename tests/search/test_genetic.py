"""The searches for orders, the evaluation of orders, and what happens when they are interrupted."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from loopwright import compiler
from loopwright.corpus import files, programs
from loopwright.corpus.files import Context
from loopwright.corpus.recording import context_of
from loopwright.errors import LoopwrightError
from loopwright.ir.parse import parse
from loopwright.regalloc.heuristics import DEFAULT_ORDER, canonical
from loopwright.search import evaluate
from loopwright.search.genetic import METHODS, Result, Settings, search
from loopwright.search.orders import PUBLISHED
from loopwright.targets import registry

GOAL = "HGIDJNLCPOBKAEFMQ"


def distance(orders: list[str]) -> list[float]:
    """A fitness without a compiler: how far letters are from where they are in ``GOAL``."""
    return [float(sum(abs(order.index(letter) - place) for place, letter in enumerate(canonical(GOAL)))) for order in orders]


def contexts(count: int = 6, targets: tuple[str, ...] = ("x86-64-v3", "rv64gc")) -> list[Context]:
    """Contexts of programs, from small ones up."""
    made: list[Context] = []
    for name in programs.names(1)[:count]:
        f = programs.make(name)
        made += [context_of(f, registry.get(target), DEFAULT_ORDER, "programs", name) for target in targets]
    return made


def random_orders(count: int, seed: int) -> list[str]:
    source = random.Random(seed)
    return ["".join(source.sample(DEFAULT_ORDER, len(DEFAULT_ORDER))) for _ in range(count)]


def needs_deap(method: str) -> None:
    if method == "genetic":
        pytest.importorskip("deap", reason="the genetic search uses DEAP")


# --- searches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_search_scores_each_canonical_order_once_within_its_budget(method: str) -> None:
    needs_deap(method)
    asked: list[str] = []

    def evaluate_(orders: list[str]) -> list[float]:
        asked.extend(orders)
        return distance(orders)

    result = search(evaluate_, Settings(budget=300, population=20, children=15, seed=4), method)
    assert len(asked) == len(set(asked)) == len(result.known) <= 300
    assert all(order == canonical(order) for order in asked)
    assert result.fitness == min(result.known.values()) == distance([result.best])[0]
    assert [point.best for point in result.history] == sorted((point.best for point in result.history), reverse=True)


def test_the_genetic_search_beats_chance() -> None:
    pytest.importorskip("deap")
    settings = Settings(budget=1500, population=50, children=30, seed=2)
    assert search(distance, settings).fitness < search(distance, settings, "random").fitness


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_search(method: str) -> None:
    needs_deap(method)
    settings = Settings(budget=200, population=20, children=15, seed=9)
    random.seed(1)
    one = search(distance, settings, method)
    random.seed(2)
    before = random.getstate()
    two = search(distance, settings, method)
    assert random.getstate() == before
    assert (one.known, one.best, one.history) == (two.known, two.best, two.history)
    assert list(one.known) == list(two.known)
    assert search(distance, Settings(budget=200, population=20, children=15, seed=10), method).known != one.known


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("steps", [1, 3, 7])
def test_a_search_that_was_killed_ends_as_it_would_have_ended(method: str, steps: int, tmp_path: Path) -> None:
    needs_deap(method)
    settings = Settings(budget=250, population=20, children=15, seed=5)
    whole = search(distance, settings, method)
    calls = 0

    def dying(orders: list[str]) -> list[float]:
        nonlocal calls
        calls += 1
        if calls > steps:
            raise KeyboardInterrupt
        return distance(orders)

    state = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        search(dying, settings, method, state)
    scored: list[str] = []

    def counting(orders: list[str]) -> list[float]:
        scored.extend(orders)
        return distance(orders)

    resumed = search(counting, settings, method, state)
    assert (resumed.known, resumed.best, resumed.history, resumed.finished) == (whole.known, whole.best, whole.history, whole.finished)
    assert len(scored) < len(whole.known)
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
    # A finished one is not searched again.
    assert search(dying, settings, method, state).known == whole.known


def test_a_state_of_another_search_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    search(distance, Settings(budget=30, seed=1), "random", state, "kernels")
    with pytest.raises(LoopwrightError, match="another search"):
        search(distance, Settings(budget=30, seed=2), "random", state, "kernels")
    with pytest.raises(LoopwrightError, match="another search"):
        search(distance, Settings(budget=30, seed=1), "random", state, "programs")
    state.write_text("{")
    with pytest.raises(LoopwrightError, match="not the state"):
        search(distance, Settings(budget=30, seed=1), "random", state, "kernels")


def test_the_state_on_disk_is_whole_after_each_step(tmp_path: Path) -> None:
    state = tmp_path / "state.json"

    def look(result: Result) -> None:
        assert json.loads(state.read_text())["result"]["known"] == result.known

    search(distance, Settings(budget=60, children=10), "hill climbing", state, progress=look)


def test_a_population_that_makes_nothing_new_ends_the_search() -> None:
    pytest.importorskip("deap")
    found = search(
        lambda orders: [0.0 if order == canonical(DEFAULT_ORDER) else 1.0 for order in orders], Settings(budget=100_000, population=1, children=5, patience=3)
    )
    assert found.finished == "no candidate of 3 generations was good enough to stay"
    assert found.best == canonical(DEFAULT_ORDER)


def test_bad_settings_and_methods_are_clear_errors() -> None:
    with pytest.raises(LoopwrightError, match="not a permutation"):
        Settings(start=("ABC",))
    with pytest.raises(LoopwrightError, match="population"):
        Settings(population=0)
    with pytest.raises(LoopwrightError, match="there are genetic"):
        search(distance, Settings(), "annealing")


# --- evaluation ---------------------------------------------------------------------------------------------------


def plain(context: Context, order: str) -> evaluate.Numbers:
    """The same numbers by the whole pipeline."""
    target = registry.get(context.target, context.vector_bits or None, context.convention)
    compiled = compiler.compile(parse(context.function, target=target), target, ordering=order)
    perf, cycles = evaluate.Prepared(context)._scores(compiled)
    return perf, cycles, float(compiled.machine.code_size), compiled.statistics.spill_weight + compiled.statistics.move_weight


def test_an_order_scores_as_in_the_whole_pipeline_and_memory_changes_nothing() -> None:
    orders = [DEFAULT_ORDER, *PUBLISHED.values(), *random_orders(25, 3)]
    # Neighbours share prefixes, which is what the memory is about.
    orders += [order[:9] + order[9:][::-1] for order in orders]
    asked = found = 0
    for context in contexts(5):
        prepared = evaluate.Prepared(context)
        for order in orders:
            assert prepared.numbers(canonical(order)) == plain(context, order), (context.name, context.target, order)
        asked += prepared.asked
        found += prepared.found
    assert asked > found > 0


def test_processes_give_what_one_process_gives_and_one_that_dies_is_replaced() -> None:
    those = contexts(4)
    orders = random_orders(6, 1)
    with evaluate.Evaluator(those, jobs=1) as alone, evaluate.Evaluator(those, jobs=2) as shared:
        expected = alone.numbers(orders)
        assert shared.numbers(orders) == expected
        backend = shared._backend
        assert isinstance(backend, evaluate._Processes)
        for pid in list(backend._pools[0]._processes):
            os.kill(pid, signal.SIGKILL)
        assert shared.numbers(orders) == expected


@pytest.mark.slow
def test_a_command_that_is_killed_leaves_no_processes_and_goes_on_when_given_again(tmp_path: Path) -> None:
    pytest.importorskip("deap", reason="the genetic search uses DEAP")
    file = tmp_path / "few.lwc"
    files.write(file, contexts(14, ("x86-64-v3",)))
    script = tmp_path / "tune.py"
    script.write_text("import sys\nfrom loopwright.search.command import tune_command\nif __name__ == '__main__':\n    sys.exit(tune_command(sys.argv[1:]))\n")
    command = [sys.executable, str(script), str(file), "--methods", "genetic", "--population", "10", "--children", "5", "-j", "2", "--budget", "120", "-o"]
    assert subprocess.run([*command, str(tmp_path / "whole")], capture_output=True, check=False).returncode == 0
    running = subprocess.Popen([*command, str(tmp_path / "killed")], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not list((tmp_path / "killed").glob("state-*.json")):
        assert running.poll() is None
        time.sleep(0.01)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    left = [int(word) for word in children.read_text().split()] if children.exists() else []
    running.kill()
    running.wait()
    end = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left):
        assert time.monotonic() < end, "processes were left behind"
        time.sleep(0.05)
    (state,) = (tmp_path / "killed").glob("state-*.json")
    before = json.loads(state.read_text())["result"]
    assert not before["finished"]
    assert subprocess.run([*command, str(tmp_path / "killed")], capture_output=True, check=False).returncode == 0
    after = json.loads(state.read_text())["result"]
    whole = json.loads((tmp_path / "whole" / state.name).read_text())["result"]
    assert after["known"] == whole["known"] and after["history"] == whole["history"]
    assert after["seconds"] >= before["seconds"]


def test_fitness_is_the_sum_of_relative_changes() -> None:
    assert evaluate.fitness([110.0, 1.0], [100.0, 2.0]) == pytest.approx(0.1 - 0.5)
    those = contexts(2)
    evaluator, base = evaluate.open_evaluator(those, jobs=1)
    with evaluator:
        assert evaluate.fitness(evaluator.scores([DEFAULT_ORDER])[0], base) == 0.0


def test_unknown_models_and_empty_corpora_are_clear_errors() -> None:
    with pytest.raises(LoopwrightError, match="there are perfscore, cycles"):
        evaluate.Evaluator(contexts(1), model="speed")
    with pytest.raises(LoopwrightError, match="no functions"):
        evaluate.Evaluator([])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_nothing_is_lost_when_a_worker_of_the_cluster_dies() -> None:
    distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed (extra: tuning)")
    those = contexts(8)
    orders = random_orders(40, 8)
    with evaluate.Evaluator(those, jobs=1) as alone:
        expected = alone.numbers(orders)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        killed: list[str] = []

        def kill() -> None:
            """Kill a worker that has work, of which something is done."""
            while not killed:
                for address, worker in list(cluster.scheduler.workers.items()):
                    if worker.processing and worker.has_what:
                        killed.append(address)
                        os.kill(next(w.pid for w in cluster.workers.values() if w.worker_address == address), signal.SIGKILL)
                        break
                time.sleep(0.002)

        import loopwright

        usual = loopwright.__version__
        loopwright.__version__ = "0.0.1"
        try:
            with pytest.raises(LoopwrightError, match=f"has loopwright {usual}, this is 0.0.1"):
                evaluate.Evaluator(those, scheduler=cluster.scheduler_address)
        finally:
            loopwright.__version__ = usual
        with evaluate.Evaluator(those, scheduler=cluster.scheduler_address) as remote:
            killer = threading.Thread(target=kill, daemon=True)
            killer.start()
            assert remote.numbers(orders) == expected
            killer.join(10)
            assert killed
            assert remote.numbers(orders[:3]) == expected[:3]
            assert not remote.failures


def started(*words: str, cwd: Path, log: Path) -> subprocess.Popen[bytes]:
    source = str(Path(evaluate.__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]), "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "0"}
    with open(log, "wb") as out:
        return subprocess.Popen([sys.executable, "-P", "-m", *words], cwd=cwd, env=env, stdout=out, stderr=subprocess.STDOUT)


@pytest.mark.slow
def test_the_command_on_a_cluster_gives_what_it_gives_alone_though_a_worker_is_killed(tmp_path: Path) -> None:
    """A scheduler and two workers as a user starts them, one killed in the middle of the search; not an order's score is lost or another."""
    pytest.importorskip("distributed", reason="Dask's distributed is not installed (extra: tuning)")
    pytest.importorskip("deap", reason="the genetic search uses DEAP")
    file = tmp_path / "few.lwc"
    files.write(file, contexts(14, ("x86-64-v3",)))
    tune = ("loopwright", "tune", str(file), "--methods", "genetic,random", "--population", "12", "--children", "6", "--budget", "90")
    alone = started(*tune, "-j", "1", "-o", "alone", cwd=tmp_path, log=tmp_path / "alone.log")
    running = [alone]
    try:
        place = tmp_path / "scheduler.json"
        words = ("--no-dashboard", "--scheduler-file", str(place))
        running.append(started("dask", "scheduler", "--host", "127.0.0.1", "--port", "0", *words, cwd=tmp_path, log=tmp_path / "scheduler.log"))
        for n in (1, 2):
            log = tmp_path / f"worker{n}.log"
            running.append(started("dask", "worker", "--no-nanny", "--nthreads", "1", *words, cwd=tmp_path, log=log))
        end = time.monotonic() + 60
        while not place.exists() or not all("Registered to" in (tmp_path / f"worker{n}.log").read_text() for n in (1, 2)):
            assert time.monotonic() < end and all(process.poll() in (None, 0) for process in running), "the cluster did not start"
            time.sleep(0.05)
        address = json.loads(place.read_text())["address"]
        assert alone.wait(60) == 0, (tmp_path / "alone.log").read_text()
        remote = started(*tune, "--scheduler", address, "-o", "remote", cwd=tmp_path, log=tmp_path / "remote.log")
        running.append(remote)
        while not list((tmp_path / "remote").glob("state-*genetic.json")):
            assert remote.poll() is None, (tmp_path / "remote.log").read_text()
            time.sleep(0.01)
        running[2].kill()
        (state,) = (tmp_path / "remote").glob("state-*genetic.json")
        assert not json.loads(state.read_text())["result"]["finished"], "the search was over before the worker was killed"
        assert remote.wait(90) == 0, (tmp_path / "remote.log").read_text()
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
    for state in (tmp_path / "alone").glob("state-*.json"):
        expected, found = (json.loads((tmp_path / folder / state.name).read_text())["result"] for folder in ("alone", "remote"))
        assert found["known"] == expected["known"] and found["history"] == expected["history"]
    reports = [(tmp_path / folder / "report.md").read_text() for folder in ("alone", "remote")]
    # But for how fast it was.
    assert [line for line in reports[0].splitlines() if " s" not in line] == [line for line in reports[1].splitlines() if " s" not in line]


def test_a_scheduler_that_is_not_there_is_a_clear_error() -> None:
    pytest.importorskip("distributed", reason="Dask's distributed is not installed (extra: tuning)")
    with pytest.raises(LoopwrightError, match="there is no Dask scheduler at nonsense://"):
        evaluate.Evaluator(contexts(1), scheduler="nonsense://127.0.0.1:1")
