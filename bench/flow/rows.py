"""Rows of one large document: processor time and peak memory of `plumb flow try`, xsltproc, a tree."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from lib import build
from lib.process import Cost, cost

MEGABYTES = (1, 10, 100)
TRANSACTION = """
[[action]]
name = "rows"
repeat = "/ORDER/HEAD/OPERATION/COMPONENT"
assign = { order = "../../NUMBER", operation = "../STEP", part = "PART", quantity = "QUANTITY" }

[[action]]
respond = "${rows.rows}"
"""
STYLESHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/>
<xsl:template match="/"><xsl:for-each select="/ORDER/HEAD"><xsl:variable name="order" select="NUMBER"/>
<xsl:for-each select="OPERATION"><xsl:variable name="step" select="STEP"/>
<xsl:for-each select="COMPONENT"><xsl:value-of select="$order"/>,<xsl:value-of select="$step"/>,<xsl:value-of
select="PART"/>,<xsl:value-of select="QUANTITY"/><xsl:text>
</xsl:text></xsl:for-each></xsl:for-each></xsl:for-each></xsl:template></xsl:stylesheet>
"""
TREE = """
import sys
from xml.etree import ElementTree
head = ElementTree.parse(sys.argv[1]).getroot().find("HEAD")
order, rows = head.findtext("NUMBER"), 0
for operation in head.iter("OPERATION"):
    step = operation.findtext("STEP")
    for part in operation.iter("COMPONENT"):
        row = (order, step, part.findtext("PART"), part.findtext("QUANTITY"))
        rows += 1
print(rows)
"""
COMPONENT = (
    '<COMPONENT SEGMENT="1"><RESERVATION>0000045678</RESERVATION><ITEM>{0:05d}</ITEM>'
    "<PART>RM-{0:06d}</PART><PLANT>1000</PLANT><PLACE>0001</PLACE><BATCH>B{0:09d}</BATCH>"
    "<DUE>20260118</DUE><QUANTITY>{1}.250</QUANTITY><UNIT>KG</UNIT><TAKEN>0.000</TAKEN>"
    "<SCRAP>0.00</SCRAP></COMPONENT>\n"
)


def document(path: Path, megabytes: int) -> None:
    """An order with operations of eight components each, of about so many megabytes."""
    with path.open("w", encoding="ascii") as out:
        out.write("<?xml version='1.0'?>\n<ORDER><HEAD><NUMBER>000001000123</NUMBER>\n")
        for number in _numbers(out, megabytes * 1_000_000):
            out.write(f"<OPERATION><STEP>{number:04d}</STEP><TEXT>weld &amp; check</TEXT>\n")
            parts = range(8 * number, 8 * number + 8)
            out.writelines(COMPONENT.format(part, part % 500) for part in parts)
            out.write("</OPERATION>\n")
        out.write("</HEAD></ORDER>\n")


def _numbers(out, size: int) -> Iterator[int]:  # type: ignore[no-untyped-def]
    number = 0
    while out.tell() < size:
        yield number
        number += 1


def commands(plumb: Path, message: str) -> dict[str, list[str]]:
    """The contenders, which read `message` in the folder that `prepare` has filled."""
    return {
        "plumb": [str(plumb), "flow", "try", "rows", message, "--rows", "0"],
        "xsltproc": ["xsltproc", "--nonet", "rows.xsl", message],
        "tree in Python": [sys.executable, "tree.py", message],
    }


def prepare(folder: Path) -> None:
    """Writes what the contenders need beside the document."""
    build.package("xsltproc", "xsltproc")
    (folder / "rows.toml").write_text(TRANSACTION)
    (folder / "rows.xsl").write_text(STYLESHEET)
    (folder / "tree.py").write_text(TREE)


def measured(plumb: Path, folder: Path, rounds: int) -> Iterator[tuple[int, str, Cost]]:
    """Each size with each contender, the best of some rounds: what disturbs only adds."""
    prepare(folder)
    for megabytes in MEGABYTES:
        message = folder / "order.xml"
        document(message, megabytes)
        for name, command in commands(plumb, message.name).items():
            found = [cost(command, folder) for _ in range(rounds)]
            least = min(it.cpu_seconds for it in found)
            yield megabytes, name, Cost(least, max(it.peak_bytes for it in found))
