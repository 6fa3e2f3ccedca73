"""The demo: its pictures, its inner loops, and that it judges its own results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="the demo checks itself against SciPy")
pytest.importorskip("PIL", reason="the demo reads pictures with Pillow")

from loopwright.cli import main
from loopwright.demo import photograph, run
from loopwright.demo.inner_loops import inner_loops
from loopwright.errors import LoopwrightError


@pytest.fixture(scope="module")
def small_picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("picture") / "small.png"
    planes = np.random.default_rng(1).random((3, 37, 53), dtype=np.float32)
    photograph.write(planes, path)
    return path


def test_the_bundled_photograph_is_one_of_decent_size() -> None:
    pytest.importorskip("sklearn", reason="the photograph comes with scikit-learn")
    planes = photograph.read(photograph.bundled())
    assert planes.shape == (3, 427, 640)
    assert planes.dtype == np.float32
    assert planes.min() >= 0 and planes.max() <= 1
    assert planes.std() > 0.1


@pytest.mark.parametrize("count", [1, 3])
def test_pictures_survive_writing_and_reading(tmp_path: Path, count: int) -> None:
    planes = np.random.default_rng(count).integers(0, 256, (count, 5, 7)).astype(np.float32) / np.float32(255)
    photograph.write(planes, tmp_path / "picture.png")
    assert np.array_equal(photograph.read(tmp_path / "picture.png"), planes)


def test_writing_cuts_off_what_no_picture_can_show(tmp_path: Path) -> None:
    photograph.write(np.array([[[-1.0, 0.5, 2.0]]], np.float32), tmp_path / "picture.png")
    assert photograph.read(tmp_path / "picture.png")[0, 0].tolist() == [0.0, np.float32(128) / np.float32(255), 1.0]


def test_a_file_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no picture")
    with pytest.raises(LoopwrightError, match="not a picture"):
        photograph.read(tmp_path / "notes.txt")
    with pytest.raises(LoopwrightError, match="no file"):
        photograph.read(tmp_path / "nothing.png")


def test_inner_loops_are_the_innermost_backward_branches() -> None:
    rows = [
        (0x00, b"", "xor eax, eax", 1),
        (0x02, b"", "mov ecx, 3", 1),  # outer
        (0x07, b"", "vaddps ymm0, ymm0, [rdi]", 2),  # inner
        (0x0B, b"", "dec ecx", 2),
        (0x0D, b"", "jne 0x7", 2),
        (0x0F, b"", "je 0x20", 3),
        (0x11, b"", "jl 0x2", 3),
        (0x20, b"", "ret", 4),
    ]
    assert inner_loops(rows) == [rows[2:5]]
    assert inner_loops([(0, b"", "addi a0, a0, 1", 1), (4, b"", "blt a0, a1, 0x0", 1)]) == [[(0, b"", "addi a0, a0, 1", 1), (4, b"", "blt a0, a1, 0x0", 1)]]
    assert inner_loops([(0, b"", "ret", 1)]) == []


def test_the_demo_is_right_and_writes_its_pictures(small_picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", str(small_picture), "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"before.png", "after-blur.png", "after-curve.png", "after-max.png"}
    for job in run.jobs(53):
        assert job.name in printed
    assert "vmaxps" in printed
    assert "WRONG" not in printed


def test_the_demo_finds_a_wrong_result(small_picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    honest = run.jobs

    def lying(width: int) -> list[run.Job]:
        made = honest(width)[:1]
        judge = made[0].judge
        made[0].judge = lambda plane: judge(plane) + np.float32(0.01)
        return made

    monkeypatch.setattr(run, "jobs", lying)
    assert main(["demo", str(small_picture), "--output", str(tmp_path), "--no-listings"]) == 1
    assert "WRONG" in capsys.readouterr().out


def test_every_job_agrees_with_its_judge_at_awkward_sizes() -> None:
    random = np.random.default_rng(3)
    for height, width in ((1, 1), (1, 7), (2, 8), (3, 15), (16, 16), (5, 17), (13, 33), (31, 67)):
        plane = random.random((height, width), dtype=np.float32)
        for job in run.jobs(width):
            source = run.padded(plane[np.newaxis], job.reach)[0]
            result = np.full_like(plane, np.nan)
            job.kernel(*job.arguments(source, result), **job.constants)
            assert np.max(np.abs(result - job.judge(plane))) <= job.tolerance, (job.name, height, width)
