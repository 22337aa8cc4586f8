"""Lists and counts are exact, in every form in which people ask for them, in four languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

import pytest

from cairn.domain.answer import Answer, Coverage
from cairn.domain.document import Source
from cairn.domain.ids import new_id
from cairn.domain.question import Turn
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.listed import WORDS, Made, collection, source
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = SHARED

Wanted = Callable[[Made], bool]

ALL_FORMS: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "about": ("list all documents about {x}", "which files deal with {x}?", "which documents mention {x}?",
                  "files that talk about {x}",
                  "documents on {x}", "how many documents are about {x}?", "Show me all documents mentioning {x}",
                  'which documents mention "{x}"?',
                  "is there a document about {x}?", "in which documents are {x} mentioned?", "which files contain {x}?"),
        "not": ("which documents do not mention {x}?", "which documents don't mention {x}?", "documents without {x}",
                  "how many documents are not about {x}?",
                "documents not mentioning {x}", "how many files do not deal with {x}?"),
        "and": ("which documents mention {x} and {y}?", "documents about {x} and {y}",
                  "documents that mention {x} and mention {y}"),
        "but": ("documents that mention {x} but not {y}", "which documents mention {x} but do not mention {y}?",
                  "list the documents about {x} but not about {y}"),
        "or": ("which documents mention {x} or {y}?", "documents about {x} or {y}"),
        "by": ("how many documents are by Kim Lee?", "documents by Kim Lee", "how many documents are from Kim Lee?",
                  "which files were written by Kim Lee?", "list all documents written by Kim Lee"),
        "report": ("how many reports are from Kim Lee?", "reports by Kim Lee", "list all reports written by Kim Lee"),
        "year": ("how many documents are dated 2019?", "documents from 2019", "which files are from 2019?",
                  "list all documents of 2019", "2019 documents"),
        "since": ("documents since 2020", "documents after 2019", "which documents are from 2020 to 2021?"),
        "french": ("how many documents are in French?", "French documents", "which documents are written in French?",
                  "list all files in French"),
        "html": ("how many documents are in HTML?", "HTML files", "which documents are available as HTML?",
                  "list all files in HTML format"),
        "mixed": ("list the documents by Kim Lee from 2019 in French", "documents in French by Kim Lee from 2019"),
        "office": ("how many documents are from Bremen?", "documents from Bremen"),
        "all": ("what documents do you have?", "how many documents are there?", "list all documents"),
    },
    "fr": {
        "about": ("liste tous les documents sur les {x}", "quels fichiers traitent de {x} ?",
                  "quels documents mentionnent {x} ?", "documents qui parlent de {x}",
                  "documents sur {x}", "combien de documents parlent de {x} ?", "montre-moi les documents mentionnant {x}",
                  "quels documents mentionnent « {x} » ?",
                  "y a-t-il un document sur les {x} ?", "dans quels documents apparaissent les {x} ?"),
        "not": ("quels documents ne mentionnent pas {x} ?", "documents sans {x}",
                  "combien de documents ne parlent pas de {x} ?", "les documents qui ne traitent pas de {x}"),
        "and": ("quels documents mentionnent {x} et {y} ?", "documents sur {x} et {y}"),
        "but": ("documents qui mentionnent {x} mais pas {y}", "quels documents mentionnent {x} mais ne mentionnent pas {y} ?"),
        "or": ("quels documents mentionnent {x} ou {y} ?",),
        "by": ("combien de documents sont de Kim Lee ?", "documents de Kim Lee",
                  "combien de fichiers ont été écrits par Kim Lee ?", "liste les documents rédigés par Kim Lee"),
        "report": ("combien de rapports sont de Kim Lee ?", "rapports écrits par Kim Lee"),
        "year": ("combien de documents datent de 2019 ?", "documents de 2019", "quels fichiers sont de 2019 ?",
                  "liste les documents datés de 2019"),
        "since": ("documents depuis 2020", "documents après 2019"),
        "french": ("combien de documents sont en français ?", "documents en français",
                  "quels documents sont rédigés en français ?"),
        "html": ("combien de documents sont en HTML ?", "fichiers HTML", "quels documents sont au format HTML ?"),
        "mixed": ("liste les documents de Kim Lee de 2019 en français",),
        "office": ("combien de documents viennent de Bremen ?",),
        "all": ("quels documents as-tu ?", "combien de documents y a-t-il ?", "liste tous les documents"),
    },
    "es": {
        "about": ("lista todos los documentos sobre {x}", "¿qué archivos tratan de {x}?", "¿qué documentos mencionan {x}?",
                  "documentos que hablan de {x}",
                  "documentos sobre {x}", "¿cuántos documentos hablan de {x}?", "muéstrame los documentos que mencionan {x}",
                  "¿qué documentos mencionan «{x}»?",
                  "¿hay algún documento sobre {x}?", "¿en qué documentos aparecen {x}?"),
        "not": ("¿qué documentos no mencionan {x}?", "documentos sin {x}", "¿cuántos documentos no hablan de {x}?",
                  "documentos que no tratan de {x}"),
        "and": ("¿qué documentos mencionan {x} y {y}?", "documentos sobre {x} y {y}"),
        "but": ("documentos que mencionan {x} pero no {y}", "¿qué documentos mencionan {x} pero no mencionan {y}?"),
        "or": ("¿qué documentos mencionan {x} o {y}?",),
        "by": ("¿cuántos documentos son de Kim Lee?", "documentos de Kim Lee",
                  "¿cuántos archivos fueron escritos por Kim Lee?", "lista los documentos escritos por Kim Lee"),
        "report": ("¿cuántos informes son de Kim Lee?", "informes de Kim Lee"),
        "year": ("¿cuántos documentos son de 2019?", "documentos de 2019", "¿qué archivos son del año 2019?"),
        "since": ("documentos desde 2020", "documentos después de 2019"),
        "french": ("¿cuántos documentos están en francés?", "documentos en francés",
                  "¿qué documentos están escritos en francés?"),
        "html": ("¿cuántos documentos están en HTML?", "archivos HTML", "¿qué documentos hay en formato HTML?"),
        "mixed": ("lista los documentos de Kim Lee de 2019 en francés",),
        "office": ("¿cuántos documentos vienen de Bremen?",),
        "all": ("¿qué documentos tienes?", "¿cuántos documentos hay?", "lista todos los documentos"),
    },
    "de": {
        "about": ("liste alle Dokumente über {x} auf", "welche Dateien handeln von {x}?", "welche Dokumente erwähnen {x}?",
                  "Dokumente, die {x} erwähnen",
                  "Dokumente über {x}", "wie viele Dokumente handeln von {x}?", "zeige mir alle Dokumente zu {x}",
                  "welche Dokumente erwähnen „{x}“?",
                  "gibt es ein Dokument über {x}?", "in welchen Dokumenten kommen {x} vor?", "Dokumente, in denen {x} vorkommen"),
        "not": ("welche Dokumente erwähnen {x} nicht?", "Dokumente, die {x} nicht erwähnen", "Dokumente ohne {x}",
                  "wie viele Dokumente handeln nicht von {x}?"),
        "and": ("welche Dokumente erwähnen {x} und {y}?", "Dokumente, die {x} und {y} erwähnen", "Dokumente über {x} und {y}"),
        "but": ("Dokumente, die {x} erwähnen, aber nicht {y}", "welche Dokumente erwähnen {x}, aber nicht {y}?"),
        "or": ("welche Dokumente erwähnen {x} oder {y}?",),
        "by": ("wie viele Dokumente sind von Kim Lee?", "Dokumente von Kim Lee",
                  "wie viele Dateien wurden von Kim Lee geschrieben?", "welche Dokumente hat Kim Lee geschrieben?"),
        "report": ("wie viele Berichte sind von Kim Lee?", "Berichte von Kim Lee"),
        "year": ("wie viele Dokumente sind aus 2019?", "Dokumente von 2019", "welche Dateien sind aus dem Jahr 2019?",
                  "Dokumente aus dem Jahr 2019"),
        "since": ("Dokumente seit 2020", "Dokumente nach 2019"),
        "french": ("wie viele Dokumente sind auf Französisch?", "französische Dokumente",
                  "welche Dokumente sind auf Französisch geschrieben?"),
        "html": ("wie viele Dokumente sind HTML?", "HTML-Dateien", "welche Dokumente gibt es als HTML?"),
        "mixed": ("liste die Dokumente von Kim Lee aus 2019 auf Französisch auf",),
        "office": ("wie viele Dokumente kommen aus Bremen?",),
        "all": ("welche Dokumente hast du?", "wie viele Dokumente gibt es?", "liste alle Dokumente auf"),
    },
}  # fmt: skip


def _wanted(form: str, language: str) -> Wanted:
    def holds(topic: str) -> Wanted:
        return lambda one: one.language == language and topic in one.topics

    wind, solar = holds("wind"), holds("solar")
    wanted: dict[str, Wanted] = {
        "about": wind,
        "not": lambda one: not wind(one),
        "and": lambda one: wind(one) and solar(one),
        "but": lambda one: wind(one) and not solar(one),
        "or": lambda one: wind(one) or solar(one),
        "by": lambda one: one.author == "Kim Lee",
        "report": lambda one: one.author == "Kim Lee" and one.kind == "report",
        "year": lambda one: one.year == 2019,
        "since": lambda one: one.year >= 2020,
        "french": lambda one: one.language == "fr",
        "html": lambda one: one.suffix == "html",
        "mixed": lambda one: one.author == "Kim Lee" and one.year == 2019 and one.language == "fr",
        "office": lambda one: one.office == "Bremen",
        "all": lambda one: True,
    }
    return wanted[form]


def _questions(step: int) -> Iterator[tuple[str, str, str]]:
    """Of each form in each language, one in `step`, its first in any case."""
    for language, forms in ALL_FORMS.items():
        for form, questions in forms.items():
            words = {"x": WORDS[language]["wind"], "y": WORDS[language]["solar"]}
            yield from ((language, form, question.format(**words)) for question in questions[::step])


def _wrong(answer: Answer, expected: Iterable[Made]) -> str:
    """What is wrong with an answer; "" where nothing is."""
    names = sorted(one.name for one in expected)
    listed = re.findall(r"file-\d\d\.\w+", answer.answer)
    more = re.search(r"^- \D*(\d+) ", answer.answer, re.MULTILINE) if len(names) > 20 else None
    if answer.route["strategy"] != "aggregate":
        return f"went {answer.route['strategy']}"
    if answer.coverage != Coverage(True, 60, 60, "documents"):
        return str(answer.coverage)
    if listed != names[:20] or answer.route["listed"] != len(names):
        return f"{answer.route['listed']} of {len(names)}: {listed} instead of {names[:20]}"
    return "" if len(names) <= 20 or more else "the rest is not counted"


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.measurement)])
async def test_all_forms_are_right_in_four_languages(services: Services, step: int) -> None:
    made = collection()
    outcomes = await index_now(services, "town", [source(one) for one in made])
    assert all(hasattr(outcome, "document_id") for outcome in outcomes)
    wrong = []
    for language, form, question in _questions(step):
        answer = await answered(services, question, collection="town")
        wanted = _wanted(form, language)
        if why := _wrong(answer, [one for one in made if wanted(one)]):
            wrong.append(f"{question!r} ({form}): {why}")
    assert not wrong, "\n".join(wrong)


async def _answered_after(services: Services, asked: Sequence[str], text: str) -> Answer:
    said = [Turn(new_id(), "user", one, datetime.now(UTC)) for one in asked]
    return await answered(services, text, collection="canals", history=tuple(said))


def _listed(answer: Answer) -> set[str]:
    return set(re.findall(r"canal-\d\d", answer.answer))


async def test_a_list_goes_on_where_it_broke_off(services: Services) -> None:
    names = [f"canal-{n:02}.txt" for n in range(43)]
    texts = [f"The canal of {chr(65 + n % 26)}{chr(97 + n // 26)}land is {n + 3} km long.".encode() for n in range(43)]
    await index_now(services, "canals", [Source(name, name, text) for name, text in zip(names, texts, strict=True)])
    first = await answered(services, "List all documents about canals", collection="canals")
    second = await _answered_after(services, ["List all documents about canals"], "show the rest")
    third = await _answered_after(services, ["List all documents about canals", "show the rest"], "and the others?")
    shown = [_listed(one) for one in (first, second, third)]
    assert [len(one) for one in shown] == [20, 20, 3]
    assert set.union(*shown) == {name.removesuffix(".txt") for name in names}
    assert [one.route["shown_before"] for one in (first, second, third)] == [0, 20, 40]
    assert ("and 23 more" in first.answer, "and 3 more" in second.answer, "more" in third.answer) == (True, True, False)
    assert all(one.citations and one.coverage == Coverage(True, 43, 43, "documents") for one in (first, second, third))
    assert {c.external_id for c in third.citations} == set(names[40:])
    end = await _answered_after(services, ["List all documents about canals", "more", "more"], "more")
    assert (_listed(end), end.citations, "43" in end.answer) == (set(), (), True)
    whole = await _answered_after(services, ["how many documents are there?"], "show the rest")
    assert len(_listed(whole)) == 20
    assert not _listed(whole) & _listed(await answered(services, "how many documents are there?", collection="canals"))
