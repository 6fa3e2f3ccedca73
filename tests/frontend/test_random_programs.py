"""Random kernels mean what their Python functions mean."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.staging import stage

from loopwright.ir.interpret import run
from loopwright.ir.verify import verify


def _module(path: Path, name: str):
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


program = _module(Path(__file__).with_name("programs.py"), "programs").program


@pytest.mark.parametrize("seed", range(40))
def test_a_random_scalar_program(tmp_path, seed):
    path = tmp_path / f"scalar{seed}.py"
    path.write_text(program(seed, False))
    kernel = _module(path, path.stem).kernel
    f = kernel.stage(kernel.signature([], {}))
    verify(f)
    values = np.random.default_rng(seed).integers(-30, 30, (8, 2))
    for x, y in values.tolist():
        assert int(run(f, x, y, 5)) == kernel.function(x, y, 5), path.read_text()


@pytest.mark.parametrize("seed", range(40))
def test_a_random_program_by_lane(tmp_path, seed):
    path = tmp_path / f"lanes{seed}.py"
    path.write_text(program(seed, True))
    kernel = _module(path, path.stem).kernel
    x, y = np.random.default_rng(seed).integers(-30, 30, (2, 11))
    expected = y.tolist()
    kernel.function(x.tolist(), expected, 5)
    for bits in (0, 256, 512):
        f = stage(kernel, kernel.signature([], {}), bits)
        verify(f)
        got = y.copy()
        run(f, x, got, 5)
        assert got.tolist() == expected, path.read_text()
