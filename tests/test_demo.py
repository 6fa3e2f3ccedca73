"""The demo: its pictures, its inner loops, and that it judges its own results."""

from __future__ import annotations

import os
import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="the demo checks itself against SciPy")
pytest.importorskip("PIL", reason="the demo reads pictures with Pillow")

from PIL import Image

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


def stored(picture: Image.Image, path: Path) -> Path:
    picture.save(path)
    return path


def png(width: int, height: int) -> bytes:
    """A PNG file that says it is so large, and has next to no data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("mode", "suffix", "planes"),
    [("1", "png", 1), ("L", "jpg", 1), ("LA", "png", 1), ("P", "gif", 3), ("RGBA", "png", 3), ("CMYK", "jpg", 3), ("YCbCr", "jpg", 3), ("LAB", "tif", 3)],
)
def test_pictures_of_every_kind_are_read(tmp_path: Path, mode: str, suffix: str, planes: int) -> None:
    colours = Image.fromarray(np.random.default_rng(5).integers(0, 256, (20, 30, 3), dtype=np.uint8))
    made = photograph.read(stored(colours.convert(mode), tmp_path / f"picture.{suffix}"))
    assert made.shape == (planes, 20, 30) and made.dtype == np.float32 and made.flags.c_contiguous
    assert made.min() >= 0 and made.max() <= 1 and made.std() > 0.1


def test_a_palette_with_transparent_colours_is_read_without_a_word(tmp_path: Path) -> None:
    palette = Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16)).convert("P")
    palette.save(tmp_path / "picture.png", transparency=bytes(range(256)))
    assert photograph.read(tmp_path / "picture.png").shape == (3, 16, 16)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_keep_their_scale(tmp_path: Path, suffix: str) -> None:
    values = np.array([[0, 256, 32768, 65535]], np.uint16)
    made = photograph.read(stored(Image.fromarray(values), tmp_path / f"picture.{suffix}"))
    assert np.array_equal(made[0], values.astype(np.float32) / np.float32(65535))


def test_floats_are_cut_to_what_is_a_picture(tmp_path: Path) -> None:
    values = np.array([[-1.0, 0.25, np.nan, 1.0]], np.float32)
    assert photograph.read(stored(Image.fromarray(values), tmp_path / "picture.tif"))[0].tolist() == [[0.0, 0.25, 0.0, 1.0]]
    assert photograph.read(stored(Image.fromarray(values * 255), tmp_path / "bytes.tif"))[0].tolist() == [[0.0, 0.25, 0.0, 1.0]]


@pytest.mark.parametrize("size", [(60_000, 60_000), (10_000, 10_000), (8000, 5001)])
def test_a_picture_of_too_many_pixels_is_refused_before_it_is_read(tmp_path: Path, size: tuple[int, int], capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.png"
    path.write_bytes(png(*size))
    assert main(["demo", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"loopwright: {path} has ") and said.endswith("; the demo takes 40 million at most: make it smaller\n")


def test_what_cannot_be_read_is_one_line_of_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "short.png").write_bytes(png(50, 50))
    (tmp_path / "empty.png").touch()
    whole = stored(Image.fromarray(np.random.default_rng(6).integers(0, 256, (40, 40, 3), dtype=np.uint8)), tmp_path / "whole.jpg").read_bytes()
    (tmp_path / "half.jpg").write_bytes(whole[: len(whole) // 2])
    for name, problem in (
        ("pipe.png", "is no regular file"),
        ("", "is a directory"),
        ("short.png", "is not a picture that Pillow reads"),
        ("empty.png", "is not a picture that Pillow reads"),
        ("half.jpg", "is not a picture that Pillow reads"),
    ):
        path = tmp_path / name
        assert main(["demo", str(path)]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"loopwright: {path} {problem}") and said.count("\n") == 1, said


def test_damaged_pictures_are_read_or_refused(tmp_path: Path) -> None:
    colours = Image.fromarray(np.random.default_rng(7).integers(0, 256, (20, 30, 3), dtype=np.uint8))
    refused = 0
    for suffix in ("png", "jpg", "gif", "tif", "bmp", "webp"):
        whole = stored(colours, tmp_path / f"whole.{suffix}").read_bytes()
        for seed in range(25):
            chooser = random.Random(seed)
            made = bytearray(whole)
            for _ in range(chooser.choice([1, 5, 20])):
                made[chooser.randrange(min(len(made), chooser.choice([40, 4000])))] ^= 1 << chooser.randrange(8)
            path = tmp_path / f"{seed}.{suffix}"
            path.write_bytes(bytes(made))
            try:
                assert photograph.read(path).ndim == 3
            except LoopwrightError as error:
                assert str(path) in str(error)
                refused += 1
    assert 20 < refused < 130


def test_the_smallest_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stored(Image.new("RGB", (1, 1), (255, 0, 128)), tmp_path / "one.png")
    assert main(["demo", str(path), "--output", str(tmp_path / "out"), "--no-listings"]) == 0
    assert "1 x 1 pixels" in capsys.readouterr().out


def test_an_output_that_cannot_be_written(small_picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["demo", str(small_picture), "--output", str(tmp_path / "file"), "--no-listings"]) == 1
    assert "cannot write pictures to" in capsys.readouterr().err


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
