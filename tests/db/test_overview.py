"""Overviews of a collection that is too large to be read are made from its communities (ADR 24, 26)."""

from __future__ import annotations

from cairn.service.documents import refresh_communities
from cairn.wiring import Services
from tests.db.runs import answered, change, fill
from tests.sharing import SHARED

pytestmark = SHARED

SUBJECTS = {
    "Ada Lovelace": ("Charles Babbage", "Luigi Menabrea", "Analytical Engine"),
    "Marie Curie": ("Pierre Curie", "Henri Becquerel", "Radium Institute"),
    "Roald Amundsen": ("Oscar Wisting", "Helmer Hanssen", "South Pole"),
    "Niels Bohr": ("Werner Heisenberg", "Aage Bohr", "Copenhagen Institute"),
}


def library() -> dict[str, str]:
    """Twelve documents, three of each subject, each with much that is about nothing."""
    texts = {}
    for who, others in SUBJECTS.items():
        for number in range(3):
            known = f"{who} worked with {others[0]} and {others[1]} at the {others[2]} in the year {1800 + number}."
            noise = " ".join(f"The weather of day {day} was mild and nothing else happened." for day in range(25))
            texts[f"{who.split()[0].lower()}{number}.txt"] = f"{known}\n\n{noise}\n\n{known[:-1]} again."
    return texts


async def test_an_overview_covers_the_communities_with_sources_that_can_be_checked(services: Services) -> None:
    change(services, "answer", summary_tokens=3000)
    await fill(services, library())
    result = await refresh_communities(services, "handbook", force=True)
    assert result.communities >= len(SUBJECTS)
    made = await answered(services, "What are the main themes?")
    assert made.route["strategy"] == "summarize"
    assert made.route["communities"] >= len(SUBJECTS)
    assert not made.coverage.complete
    quoted = " ".join(citation.quote for citation in made.citations)
    assert all(who in quoted for who in SUBJECTS), quoted
    sources = {passage.passage_id: passage for passage in made.sources}
    for cited in made.citations:
        source = sources[cited.passage_id]
        assert source.content[cited.start - source.start : cited.end - source.start] == cited.quote


async def test_what_can_be_read_whole_is_and_named_documents_are_what_is_read(services: Services) -> None:
    await fill(services, library())
    await refresh_communities(services, "handbook", force=True)
    made = await answered(services, "What are the main themes?")
    assert made.coverage.complete
    change(services, "answer", summary_tokens=1000)
    made = await answered(services, "Summarize marie0.txt and marie1.txt")
    assert "communities" not in made.route
    assert {passage.external_id for passage in made.sources} <= {"marie0.txt", "marie1.txt"}
