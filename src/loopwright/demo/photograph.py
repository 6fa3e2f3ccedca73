"""Pictures as planes of f32: reading a photograph, writing PNG files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loopwright.errors import LoopwrightError

__all__ = ["Planes", "bundled", "read", "write"]

#: (1 or 3, height, width), from 0 to 1.
Planes = NDArray[np.float32]


def bundled() -> Path:
    """The photograph that scikit-learn's wheel carries: a temple in Beijing, 640 x 427, by Yves Tennevin (CC BY 2.0).

    Found without importing the package, which takes a second.
    """
    spec = find_spec("sklearn")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "datasets" / "images" / "china.jpg"
        if path.is_file():
            return path
    raise LoopwrightError("the demo's photograph comes with scikit-learn: pip install 'loopwright[demo]', or name a picture of your own")


def read(path: Path) -> Planes:
    """A picture file as three planes, or one when it is grey."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("L" if picture.mode in ("1", "L", "LA", "I", "I;16", "F") else "RGB"))
    except FileNotFoundError:
        raise LoopwrightError(f"there is no file {path}") from None
    except (UnidentifiedImageError, OSError) as reason:
        raise LoopwrightError(f"{path} is not a picture that Pillow reads: {reason}") from reason
    planes = pixels[np.newaxis] if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0)
    return np.ascontiguousarray(planes, dtype=np.float32) / np.float32(255)


def write(planes: Planes, path: Path) -> None:
    """Planes as a PNG file; what is below 0 or above 1 is cut off."""
    from PIL import Image

    pixels = np.rint(np.clip(planes, 0, 1) * 255).astype(np.uint8)
    Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(np.moveaxis(pixels, 0, 2))).save(path)
