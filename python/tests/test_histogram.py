"""Histograms, held against HdrHistogram's own implementation and against plain sorted lists."""

import base64
import math
import random
import struct
import unittest
import zlib

from plumbline import BrokenHistogram, Histogram

try:
    from hdrh.histogram import HdrHistogram
except ImportError:
    HdrHistogram = None


def packed(plain: bytes) -> str:
    deflated = zlib.compress(plain)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(deflated)) + deflated).decode()


def plain(counters: bytes, cookie: int = 0x1C849313, digits: int = 3) -> bytes:
    return struct.pack(">IIIIqqd", cookie, len(counters), 0, digits, 1, (1 << 42) - 1, 1.0) + counters


class Decoding(unittest.TestCase):
    def test_small_values_have_buckets_of_their_own(self) -> None:
        # two fives: five empty counters (-5 as zig-zag is 9), then a count of two (4)
        histogram = Histogram.decode(packed(plain(bytes([9, 4]))))
        self.assertEqual((histogram.count, histogram.minimum, histogram.maximum), (2, 5, 5))
        self.assertEqual([histogram.quantile(q) for q in (0.0, 0.5, 1.0)], [5, 5, 5])
        expected = [{"low_ns": 5, "high_ns": 5, "count": 2, "share": 1.0}]
        self.assertEqual(histogram.buckets().to_dict("records"), expected)

    def test_an_empty_one_has_no_quantile(self) -> None:
        histogram = Histogram.decode(packed(plain(b"")))
        self.assertEqual((histogram.count, histogram.quantile(0.5), histogram.maximum), (0, None, None))
        self.assertTrue(histogram.buckets().empty)

    def test_what_is_damaged_is_refused_with_what_is_wrong(self) -> None:
        good = packed(plain(bytes([9, 4])))
        for text, said in (
            ("***", "base64"),
            ("AAAAAAAA", "cookie"),
            ("", "cookie"),
            (good[:-8], "cut"),
            (packed(plain(b"", cookie=1)), "cookie"),
            (packed(plain(b"", digits=2)), "layout"),
            (packed(plain(bytes([0x80]))), "counters are cut"),
            (packed(plain(bytes([0xFF, 0xFF, 0x7F, 2]))), "exceed the range"),
            (packed(b"short"), "head"),
            (packed(plain(b"\2" * (2 << 20))), "larger"),
        ):
            with self.subTest(text[:20]), self.assertRaisesRegex(BrokenHistogram, said):
                Histogram.decode(text)

    def test_any_text_is_read_or_refused(self) -> None:
        rng = random.Random(7)
        good = plain(bytes([9, 4, 200, 1, 7, 3]))
        for _ in range(500):
            bent = bytearray(good)
            bent[rng.randrange(len(bent))] = rng.randrange(256)
            try:
                Histogram.decode(packed(bytes(bent[: rng.randrange(len(bent) + 1)])))
            except BrokenHistogram:
                pass


@unittest.skipIf(HdrHistogram is None, "the package hdrhistogram is not installed")
class BesideTheOriginal(unittest.TestCase):
    def values(self) -> list:
        rng = random.Random(11)
        return [int(rng.lognormvariate(11, 2)) for _ in range(5_000)]

    def encoded(self, values: list) -> str:
        original = HdrHistogram(1, (1 << 42) - 1, 3)
        for value in values:
            original.record_value(value)
        return original.encode().decode()

    def test_buckets_and_quantiles_are_those_of_a_sorted_list(self) -> None:
        values = sorted(self.values())
        histogram = Histogram.decode(self.encoded(values), values[0], values[-1])
        self.assertEqual(histogram.count, len(values))
        for q in (0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0):
            exact = values[max(math.ceil(q * len(values)), 1) - 1]
            found = histogram.quantile(q)
            self.assertTrue(exact <= found <= exact + exact / 1024 + 1, (q, exact, found))
        self.assertEqual((histogram.quantile(0.0) >= values[0], histogram.quantile(1.0)), (True, values[-1]))
        self.assertAlmostEqual(histogram.buckets()["share"].iloc[-1], 1.0)

    def test_parts_merge_to_the_whole(self) -> None:
        values = self.values()
        parts = [Histogram.decode(self.encoded(part)) for part in (values[:100], values[100:], [])]
        self.assertEqual(Histogram.merged(parts), Histogram.decode(self.encoded(values)))
        with self.assertRaises(ValueError):
            parts[0].quantile(50)


if __name__ == "__main__":
    unittest.main()
