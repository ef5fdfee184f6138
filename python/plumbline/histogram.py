"""Histograms in HdrHistogram's encoded form, read without any other package.

Source: ``HdrHistogram.java`` and ``ZigZagLEB128`` of the Java implementation (V2, compressed).
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from typing import Iterable, Iterator, Optional

import pandas as pd

from .errors import BrokenHistogram

_V2 = 0x1C849313
_V2_COMPRESSED = 0x1C849314
_HEAD = struct.Struct(">IIIIqqd")
_HALF_BITS = 10
_TOP_BIT = 42
_COUNTERS = ((_TOP_BIT - _HALF_BITS) << _HALF_BITS) + (1 << _HALF_BITS)
_PLAIN_BYTES_MAX = 1 << 20

HIGHEST_NS = (1 << _TOP_BIT) - 1
"""The largest value with a bucket of its own, nanoseconds (about 73 minutes); larger ones are in the last."""


def _lowest_in(index: int) -> int:
    exponent = max((index >> _HALF_BITS) - 1, 0)
    return (index - (exponent << _HALF_BITS)) << exponent


def _highest_in(index: int) -> int:
    return _lowest_in(index) + (1 << max((index >> _HALF_BITS) - 1, 0)) - 1


class Histogram:
    """Counts of values in buckets whose width is at most 1/1,024 of the value.

    Values are in the unit that was recorded: nanoseconds, of everything that plumb writes. ``minimum`` and ``maximum``
    are exact where the record tells them; without, they are known to the width of a bucket.
    """

    def __init__(
        self,
        counts: dict[int, int],
        minimum: Optional[int] = None,
        maximum: Optional[int] = None,
    ) -> None:
        self._counts = dict(sorted((index, count) for index, count in counts.items() if count > 0))
        self.count: int = sum(self._counts.values())
        """How many values were recorded."""
        known = bool(self._counts)
        first, last = (min(self._counts), max(self._counts)) if known else (0, 0)
        self.minimum: Optional[int] = (_lowest_in(first) if minimum is None else minimum) if known else None
        """The smallest value, nanoseconds; ``None`` when nothing was recorded."""
        self.maximum: Optional[int] = (_highest_in(last) if maximum is None else maximum) if known else None
        """The largest value, nanoseconds; ``None`` when nothing was recorded."""

    @classmethod
    def decode(
        cls, text: str, minimum: Optional[int] = None, maximum: Optional[int] = None
    ) -> "Histogram":
        """The histogram that ``text`` (base64, begins with ``HISTFAAA``) stands for.

        ``minimum`` and ``maximum`` are the exact ones, nanoseconds, where they are known.

        Raises :class:`BrokenHistogram` when it was cut or altered, or has another layout than three significant
        digits from 1.
        """
        try:
            packed = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BrokenHistogram("not base64: the histogram was cut or altered") from error
        if len(packed) < 8 or struct.unpack_from(">I", packed)[0] != _V2_COMPRESSED:
            raise BrokenHistogram("not a V2 HdrHistogram: it has another cookie")
        inflate = zlib.decompressobj()
        try:
            plain = inflate.decompress(packed[8:], _PLAIN_BYTES_MAX)
        except zlib.error as error:
            raise BrokenHistogram("it cannot be inflated: it was cut or altered") from error
        if not inflate.eof:
            raise BrokenHistogram("it is cut, or larger than any histogram")
        if len(plain) < _HEAD.size:
            raise BrokenHistogram("its head is cut")
        cookie, _, offset, digits, lowest, _, _ = _HEAD.unpack_from(plain)
        if cookie != _V2:
            raise BrokenHistogram("not a V2 HdrHistogram: it has another cookie")
        if (offset, digits, lowest) != (0, 3, 1):
            raise BrokenHistogram("it has another layout than three significant digits from 1")
        return cls(dict(_counters(plain[_HEAD.size :])), minimum, maximum)

    @classmethod
    def merged(cls, histograms: Iterable["Histogram"]) -> "Histogram":
        """All values of several histograms in one. Histograms merge; quantiles do not."""
        counts: dict[int, int] = {}
        lows: list[int] = []
        highs: list[int] = []
        for histogram in histograms:
            for index, count in histogram._counts.items():
                counts[index] = counts.get(index, 0) + count
            if histogram.minimum is not None and histogram.maximum is not None:
                lows.append(histogram.minimum)
                highs.append(histogram.maximum)
        return cls(counts, min(lows, default=None), max(highs, default=None))

    def quantile(self, q: float) -> Optional[int]:
        """The smallest value that at least ``ceil(q n)`` (and at least one) of the ``n`` values do not exceed.

        ``q`` is from 0 to 1. No interpolation: the value is the upper end of its bucket, at most 1/1,024 above the
        exact one, and never outside minimum and maximum. Nanoseconds; ``None`` when nothing was recorded.
        """
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"a quantile is from 0 to 1, not {q}")
        if self.minimum is None or self.maximum is None:
            return None
        rank = min(max(math.ceil(q * self.count), 1), self.count)
        seen = 0
        for index, count in self._counts.items():
            seen += count
            if seen >= rank:
                return min(max(_highest_in(index), self.minimum), self.maximum)
        return self.maximum

    def percentile(self, percent: float) -> Optional[int]:
        """The same with ``percent`` from 0 to 100."""
        return self.quantile(percent / 100.0)

    def buckets(self) -> pd.DataFrame:
        """The buckets that hold anything: ``low_ns``, ``high_ns`` (both included), ``count`` and ``share``, the part of
        all values that is not above ``high_ns``, from 0 to 1."""
        rows = [(_lowest_in(i), _highest_in(i), count) for i, count in self._counts.items()]
        frame = pd.DataFrame(rows, columns=["low_ns", "high_ns", "count"]).astype("int64")
        frame["share"] = frame["count"].cumsum() / self.count if self.count else pd.Series(dtype="float64")
        return frame

    def __len__(self) -> int:
        return self.count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        mine = (self._counts, self.minimum, self.maximum)
        return mine == (other._counts, other.minimum, other.maximum)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Histogram of {self.count} values, median {self.quantile(0.5)} ns>"


def _counters(plain: bytes) -> Iterator[tuple[int, int]]:
    """Places and counts: zig-zag LEB128, where a run of zeros is one negative number."""
    at = index = 0
    while at < len(plain):
        value = 0
        for position in range(9):
            if at >= len(plain):
                raise BrokenHistogram("its counters are cut")
            byte = plain[at]
            at += 1
            value |= (byte if position == 8 else byte & 0x7F) << (7 * position)
            if byte < 0x80 or position == 8:
                break
        count = (value >> 1) ^ -(value & 1)
        if count < 0:
            index -= count
            continue
        if count > 0:
            if index >= _COUNTERS:
                raise BrokenHistogram("its counters exceed the range")
            yield index, count
        index += 1
