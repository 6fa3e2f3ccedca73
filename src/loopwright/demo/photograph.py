"""Pictures as planes of f32: reading a photograph, writing PNG files."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from loopwright.errors import LoopwrightError

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["MOST_PIXELS", "Planes", "bundled", "read", "write"]

#: A picture of so many takes half a gigabyte, and each of the three made of it as much.
MOST_PIXELS = 40_000_000

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
    """A picture file as three planes, or one when it is grey. What is transparent counts as it is stored.

    Raises ``LoopwrightError`` for what is no picture, or one of more than ``MOST_PIXELS``.
    """
    from PIL import Image

    if not path.is_file():
        raise LoopwrightError(f"{path} is {'a directory' if path.is_dir() else 'no regular file'}" if path.exists() else f"there is no file {path}")
    try:
        with warnings.catch_warnings():
            # Pillow warns of sizes below the limit here, and of palettes with transparent colours.
            warnings.simplefilter("ignore")
            with Image.open(path) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    raise _too_large(path, f"{picture.width} x {picture.height} pixels")
                return _planes(picture)
    except LoopwrightError:
        raise
    except Image.DecompressionBombError:
        raise _too_large(path, "more pixels than Pillow reads") from None
    except OSError as reason:
        if reason.errno is not None:
            raise LoopwrightError(f"{path} cannot be read: {reason.strerror}") from None
        raise LoopwrightError(f"{path} is not a picture that Pillow reads: {reason}") from reason
    except Exception as reason:
        # Each format has its own decoder, and each raises what it likes on a damaged file.
        raise LoopwrightError(f"{path} is not a picture that Pillow reads: {type(reason).__name__}: {reason}") from reason


def _too_large(path: Path, size: str) -> LoopwrightError:
    return LoopwrightError(f"{path} has {size}; the demo takes {MOST_PIXELS // 1_000_000} million at most: make it smaller")


def _planes(picture: Image.Image) -> Planes:
    pixels: NDArray[Any]
    if picture.mode in ("I;16", "I;16L", "I;16B", "I;16N", "I", "F"):
        # Of 16 bits (Pillow has them as 32, too), or of floats, which are from 0 to 1 where that is said at all.
        pixels = np.nan_to_num(np.asarray(picture, np.float32))
        most = 1.0 if picture.mode == "F" and pixels.max() <= 1 else 255.0 if picture.mode == "F" else 65535.0
    else:
        pixels = np.asarray(picture.convert("L" if picture.mode in ("1", "L", "LA", "La") else "RGB"))
        most = 255.0
    planes: Planes = np.array(pixels[np.newaxis] if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0), np.float32, order="C")
    planes /= np.float32(most)
    return np.clip(planes, 0, 1, out=planes)


def write(planes: Planes, path: Path) -> None:
    """Planes as a PNG file; what is below 0 or above 1 is cut off."""
    from PIL import Image

    pixels = np.rint(np.clip(planes, 0, 1) * 255).astype(np.uint8)
    Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(np.moveaxis(pixels, 0, 2))).save(path)
