"""Papers that cannot be read end as failed, in their record and on the bus, with the cure in the reason."""

import pytest

from firetrial.parser.v1 import events_pb2
from firetrial_parser.records import PaperState
from unit.parser import hostile_pdf
from unit.parser.latex_source import gzipped, zipped
from unit.parser.paper_pdf import Put, pdf
from unit.parser.world import World, plan

PAPERS = {
    "scan.pdf": (hostile_pdf.scanned(), "OCR"),
    "locked.pdf": (pdf([[Put(72, 700, "secret")]], encrypted=True), "remove the password"),
    "letterless.pdf": (hostile_pdf.unmapped(), "give its source"),
    "loops.pdf": (hostile_pdf.looping_pages(), "fetch the PDF again"),
    "cut.pdf": (hostile_pdf.without_table(), "fetch it again"),
    "heads.pdf": (hostile_pdf.many_pages(4, y=770), "give the paper itself"),
    "garbage.pdf": (b"%PDF-1.7\n" + b"\x00garbage" * 100, "fetch it again"),
    "empty.html": (b"<html><script>x</script></html>", "give the paper itself"),
    "bomb.gz": (gzipped("a" * 10_500_000), "a source has at most"),
    "office.zip": (zipped({"word/document.xml": "<w/>"}), "LaTeX source"),
    "endless.tex": (rb"\def\a#1{" + b"#1" * 9_000 + rb"}\a{" + b"x" * 9_000 + b"}", "give the PDF"),
    "latin.md": ("Ein Größenvergleich".encode("latin-1"), "iconv"),
    "plain.zip": (b"no archive", "be what it says"),
}


@pytest.mark.parametrize("name", PAPERS)
async def test_a_bad_paper_fails_with_its_cure(name: str) -> None:
    data, cure = PAPERS[name]
    world = World()
    answer = await world.submit(data, name, plan=plan())
    assert await world.run() == ["failed"]
    (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
    assert cure in failed.reason
    assert failed.experiment_id == answer.experiment_id
    record = await world.papers.records.get(answer.paper.id)
    assert (record.state, record.failure) == (PaperState.FAILED, failed.reason)
    assert record.document is None
