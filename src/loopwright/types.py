"""Types of the intermediate representation: scalars, vectors and masks.

Every type exists once (types are interned), so ``is`` compares them, and each has a dense ``number``
that tables can be indexed with.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = [
    "BF16",
    "BOOL",
    "COMPLEX64",
    "COMPLEX128",
    "F16",
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "PTR",
    "SCALARS",
    "SIGNED",
    "U8",
    "U16",
    "U32",
    "U64",
    "UNSIGNED",
    "VOID",
    "Type",
    "bfloat16",
    "limits",
    "mask_of",
    "parse_type",
    "same_lanes",
    "saturated",
    "vector_of",
]

KIND_VOID: Final = 0
KIND_BOOL: Final = 1
KIND_INT: Final = 2
KIND_UINT: Final = 3
KIND_FLOAT: Final = 4
KIND_PTR: Final = 5
KIND_MASK: Final = 6
#: Of what the front end makes two floats of: there are no values of it in the intermediate representation.
KIND_COMPLEX: Final = 7


class Type:
    """A scalar, vector or mask type.

    Attributes:
        name: as printed, e.g. ``f32``, ``f32x8``, ``mask32x8``.
        kind: one of the ``KIND_…`` codes; for a vector, that of its elements.
        bits: width of one element in bits (of a mask: of the lanes it governs; of ``bool``: 8).
        lanes: number of lanes; 0 for a scalar.
        element: the scalar type of one lane (itself for a scalar; ``BOOL`` for a mask).
        size: bytes in memory (of the whole vector; 0 for masks and void).
        number: dense identity, an index into per-type tables.
        dtype: the NumPy dtype name of one element, or "" where NumPy has none.
    """

    __slots__ = ("bits", "dtype", "element", "is_float", "is_vector", "kind", "lanes", "name", "number", "signed", "size")

    def __init__(self, name: str, kind: int, bits: int, lanes: int, element: Type | None, number: int, dtype: str) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.lanes = lanes
        self.element: Type = element if element is not None else self
        self.size = 0 if kind == KIND_MASK else bits // 8 * max(lanes, 1)
        self.number = number
        self.dtype = dtype
        self.is_float = kind == KIND_FLOAT
        self.is_vector = lanes > 0 and kind != KIND_MASK
        self.signed = kind == KIND_INT

    @property
    def is_mask(self) -> bool:
        return self.kind == KIND_MASK

    @property
    def is_complex(self) -> bool:
        """True for ``COMPLEX64`` and ``COMPLEX128``, which kernels know and the intermediate representation does not: there they are two floats."""
        return self.kind == KIND_COMPLEX

    @property
    def part(self) -> Type:
        """The type of the real and of the imaginary part of a complex type."""
        return F32 if self.bits == 64 else F64

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, scalar or vector (not pointers, not ``bool``)."""
        return self.kind == KIND_INT or self.kind == KIND_UINT

    @property
    def is_word(self) -> bool:
        """True for 64-bit integers and pointers: what a machine's integer register holds as a whole."""
        return self.bits == 64 and not self.lanes and not self.is_float and not self.is_mask

    @property
    def is_half_word(self) -> bool:
        """True for 32-bit integers."""
        return self.bits == 32 and self.is_integer and not self.lanes

    @property
    def is_narrow(self) -> bool:
        """True for integers of 8 and 16 bits."""
        return self.bits < 32 and self.is_integer and not self.lanes

    def __call__(self, value: Any, imaginary: Any = 0.0) -> Any:
        """``value`` converted to this type: an expression of a kernel or builder if it is one, otherwise a NumPy scalar.

        A NumPy scalar is a constant of exactly this type wherever an expression meets it, unlike a Python number, which adapts. A complex type takes the imaginary
        part besides: ``lw.complex64(x, y)``.
        """
        if self.kind == KIND_COMPLEX:
            for part in (value, imaginary):
                paired = getattr(part, "__paired__", None)
                if paired is not None:
                    return paired(self, value, imaginary)
            return _complex_constant(self, value, imaginary)
        converted = getattr(value, "__converted__", None)
        if converted is not None:
            return converted(self)
        if self is BF16:
            return bfloat16()(value)
        if not self.dtype or self.lanes:
            raise TypeError(f"{self.name} has no constants of its own: convert an expression of a kernel")
        import numpy

        kind = type(value)
        if (kind is int and not self.is_float) or (kind is float and self.is_float and -6e4 < value < 6e4):
            # NumPy refuses a Python integer that does not fit. The floats are those that fit in any type, f16 too.
            return numpy.dtype(self.dtype).type(value)
        given = numpy.asarray(value)
        if given.dtype.kind not in "fiub":
            return numpy.dtype(self.dtype).type(value)
        with numpy.errstate(all="ignore"):
            return saturated(self, given) if given.dtype.kind == "f" and self.is_integer else given.astype(self.dtype)[()]

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _named, (self.name,)


_by_name: Final[dict[str, Type]] = {}
_all: Final[list[Type]] = []


def _make(name: str, kind: int, bits: int, lanes: int = 0, element: Type | None = None, dtype: str = "") -> Type:
    known = _by_name.get(name)
    if known is not None:
        return known
    made = Type(name, kind, bits, lanes, element, len(_all), dtype)
    # setdefault is atomic: two threads that make the same type at once agree on one of the two.
    kept = _by_name.setdefault(name, made)
    if kept is made:
        _all.append(made)
    return kept


VOID: Final = _make("void", KIND_VOID, 0)
BOOL: Final = _make("bool", KIND_BOOL, 8, dtype="bool")
I8: Final = _make("i8", KIND_INT, 8, dtype="int8")
U8: Final = _make("u8", KIND_UINT, 8, dtype="uint8")
I16: Final = _make("i16", KIND_INT, 16, dtype="int16")
U16: Final = _make("u16", KIND_UINT, 16, dtype="uint16")
I32: Final = _make("i32", KIND_INT, 32, dtype="int32")
U32: Final = _make("u32", KIND_UINT, 32, dtype="uint32")
I64: Final = _make("i64", KIND_INT, 64, dtype="int64")
U64: Final = _make("u64", KIND_UINT, 64, dtype="uint64")
PTR: Final = _make("ptr", KIND_PTR, 64, dtype="uint64")
F16: Final = _make("f16", KIND_FLOAT, 16, dtype="float16")
BF16: Final = _make("bf16", KIND_FLOAT, 16)
F32: Final = _make("f32", KIND_FLOAT, 32, dtype="float32")
F64: Final = _make("f64", KIND_FLOAT, 64, dtype="float64")
# (Not among the types by name: text of the intermediate representation has none of them.)
COMPLEX64: Final = Type("complex64", KIND_COMPLEX, 64, 0, None, -1, "complex64")
COMPLEX128: Final = Type("complex128", KIND_COMPLEX, 128, 0, None, -2, "complex128")

# Integer types by their number of bits.
SIGNED: Final[dict[int, Type]] = {8: I8, 16: I16, 32: I32, 64: I64}
UNSIGNED: Final[dict[int, Type]] = {8: U8, 16: U16, 32: U32, 64: U64}

SCALARS: Final[tuple[Type, ...]] = (BOOL, I8, U8, I16, U16, I32, U32, I64, U64, PTR, F16, BF16, F32, F64)

_vectors: Final[dict[tuple[int, int], Type]] = {}


def vector_of(element: Type, lanes: int) -> Type:
    """The vector of ``lanes`` elements of a scalar type; ``lanes`` 0 gives the scalar itself."""
    if lanes == 0:
        return element
    known = _vectors.get((element.number, lanes))
    if known is None:
        if element.lanes or element.kind == KIND_VOID or element.kind == KIND_PTR:
            raise ValueError(f"no vectors of {element.name}")
        if element.kind == KIND_BOOL:
            return mask_of(32, lanes)
        known = _make(f"{element.name}x{lanes}", element.kind, element.bits, lanes, element, element.dtype)
        _vectors[(element.number, lanes)] = known
    return known


def mask_of(bits: int, lanes: int) -> Type:
    """The mask that governs ``lanes`` lanes of ``bits`` bits each (AVX2 keeps it as wide as the lanes; AVX-512 as one bit a lane)."""
    known = _vectors.get((-bits, lanes))
    if known is None:
        known = _make(f"mask{bits}x{lanes}", KIND_MASK, bits, lanes, BOOL)
        _vectors[(-bits, lanes)] = known
    return known


def _named(name: str) -> Type:
    """The type of a name, complex ones included."""
    return COMPLEX64 if name == "complex64" else COMPLEX128 if name == "complex128" else parse_type(name)


def _complex_constant(type_: Type, value: Any, imaginary: Any) -> Any:
    """A NumPy scalar of a complex type."""
    import numpy

    kind = numpy.dtype(type_.dtype).type
    if type(imaginary) is float and imaginary == 0.0:
        return kind(value)
    if isinstance(value, (complex, numpy.complexfloating)) or isinstance(imaginary, (complex, numpy.complexfloating)):
        raise TypeError(f"lw.{type_.name}(real, imaginary) takes two real numbers, not {value!r} and {imaginary!r}")
    return kind(complex(float(value), float(imaginary)))


def bfloat16() -> Any:
    """The class of NumPy scalars of bf16, of the package ml_dtypes."""
    import importlib

    try:
        package: Any = importlib.import_module("ml_dtypes")
    except ImportError:
        raise TypeError("bf16 has no constants without the package ml_dtypes (the extra loopwright[bf16]): convert an expression of a kernel") from None
    return package.bfloat16


def same_lanes(a: Type, b: Type) -> bool:
    """Whether two types are vectors of as many lanes of as many bits, so that a register that holds one holds the other as it is."""
    return a.is_vector and b.is_vector and a.bits == b.bits and a.lanes == b.lanes


def limits(type_: Type) -> tuple[int, int]:
    """The least and the greatest of an integer type."""
    return (-(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1) if type_.signed else (0, (1 << type_.bits) - 1)


def saturated(type_: Type, value: Any) -> Any:
    """NumPy floats as the integers of a type: towards zero, what lies outside as the nearest bound, NaN as 0."""
    import numpy as np

    low, high = limits(type_)
    dtype = np.dtype(type_.element.dtype)
    # (NumPy 2.5 takes integers beyond 64 signed bits as numbers of their own type alone.)
    least, greatest = dtype.type(low), dtype.type(high)
    number = np.asarray(value, np.float64)
    # The bounds one beyond are exact in every float type; high itself may not be.
    inside = (number > low - 1.0) & (number < high + 1.0)
    whole = np.where(inside, np.where(inside, number, 0.0).astype(dtype), np.where(number > 0, greatest, least))
    made = np.where(np.isnan(number), 0, whole).astype(dtype)
    return made if type_.lanes else made[()]


def parse_type(name: str) -> Type:
    """The type printed as ``name``. Raises ``KeyError`` when there is none such."""
    known = _by_name.get(name)
    if known is not None:
        return known
    base, _, lanes = name.partition("x")
    if not lanes.isdigit() or not 0 < int(lanes) <= 4096:
        raise KeyError(name)
    if base.startswith("mask"):
        if base[4:] not in ("8", "16", "32", "64"):
            raise KeyError(name)
        return mask_of(int(base[4:]), int(lanes))
    element = _by_name.get(base)
    if element is None or element.lanes or not (element.is_integer or element.is_float):
        raise KeyError(name)
    return vector_of(element, int(lanes))
