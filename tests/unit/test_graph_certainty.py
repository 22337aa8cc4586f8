"""How sure a document makes it that a name is one."""

from __future__ import annotations

import pytest

from cairn.graph.certainty import LIKELY, OPEN, SURE, UNLIKELY
from cairn.graph.extract import PassageSpan, extract


def step(text: str, name: str, language: str) -> set[float]:
    found = extract(text, [PassageSpan(0, len(text))], language=language)[0].entities
    return {one.confidence for one in found if one.name == name}


@pytest.mark.parametrize(
    ("text", "language", "name", "wanted"),
    [
        ("They sold it to Acme Widgets, Inc. in time.", "en", "Acme Widgets, Inc.", SURE),
        ("Many wrote to the editors of it. The Editors of Acme Widgets, Inc. agreed.", "en",
         "Editors of Acme Widgets, Inc.", UNLIKELY),
        ("They own Acme Widgets LLC Texas by now.", "en", "Acme Widgets LLC Texas", UNLIKELY),
        ("So the District Court said. Now the District Court says more.", "en", "District Court", UNLIKELY),
        ("We asked Mr. Ringo Starr about it.", "en", "Ringo Starr", SURE),
        ("We spoke with Ada Ringo Engineer, a writer.", "en", "Ada Ringo Engineer", UNLIKELY),
        ("She lives in Marylebone. That is good.", "en", "Marylebone", SURE),
        ("Sie lebt in Marylebone. Das ist gut.", "de", "Marylebone", OPEN),
        ("We watch YouTube at home.", "en", "YouTube", SURE),
        ("We set max_depth at home.", "en", "max_depth", SURE),
        ("We set it at home.\n\n```\nmax_depth = 2\n```\n", "en", "max_depth", OPEN),
        ("We read 2.Revenue at home.", "en", "2.Revenue", UNLIKELY),
        ("It is _loud thing_ here.", "en", "_loud", UNLIKELY),
        ("So we asked NASA again, and NASA said no.", "en", "NASA", LIKELY),
        ("So we asked NASA again.", "en", "NASA", OPEN),
        ("So we gave RSUs again, and RSUs were taken.", "en", "RSUs", UNLIKELY),
        ("So we read about mCRPC again.", "en", "mCRPC", OPEN),
        ("So we read about 37-2020-0002-CU again.", "en", "37-2020-0002-CU", UNLIKELY),
        ("We set the `Ⓐ ` of it.", "en", "Ⓐ ", UNLIKELY),
        ("See Treas. Reg. 7 and Treas. Reg. 8.", "en", "Treas", UNLIKELY),
        ("We gave frozen duck hulls (FDH) then. So the FDH grew, and the FDH fell.", "en", "frozen duck hulls", OPEN),
        ("We left the Frozen Duck Hulls (FDH) alone, a frozen one, a duck, two hulls. So the FDH grew.", "en",
         "Frozen Duck Hulls", LIKELY),
        ("So we like UX again, and UX likes us.", "en", "UX", OPEN),
        ("So we asked the CEO again, and the CEO said no.", "en", "CEO", UNLIKELY),
        ("We went to Kestrel, then to Kestrel, and from Kestrel's door.", "en", "Kestrel", SURE),
        ("We like Kestrel so. We saw Kestrel again and we had Kestrel there.", "en", "Kestrel", LIKELY),
        ("We like Kestrel so.", "en", "Kestrel", OPEN),
        ("We sell Kestrel parts, buy Kestrel parts and own Kestrel parts.", "en", "Kestrel", OPEN),
        ("We like the Kestrel so. We saw the Kestrel again and we had the Kestrel there.", "en", "Kestrel", UNLIKELY),
        ("Wir nutzen heute Kestrel, und morgen nutzen wir Kestrel, aber nie Wikidata.", "de", "Kestrel", LIKELY),
        ("Sie nutzen Kestrel und Wikidata, aber nicht Kestrel.", "de", "Wikidata", UNLIKELY),
        ("We saw Red Hawk again and like Red Hawk so.", "en", "Red Hawk", LIKELY),
        ("We saw Red Hawk again.", "en", "Red Hawk", OPEN),
        ("We saw a hawk in red. We saw Red Hawk again and like Red Hawk so.", "en", "Red Hawk", UNLIKELY),
    ],
)  # fmt: skip
def test_steps(text: str, language: str, name: str, wanted: float) -> None:
    assert step(text, name, language) == {wanted}


def test_a_term_is_surer_of_nothing_than_any_name() -> None:
    text = "A fuel valve, a fuel valve and a fuel valve."
    assert max(step(text, "fuel valve", "en")) < UNLIKELY < OPEN < LIKELY < SURE
