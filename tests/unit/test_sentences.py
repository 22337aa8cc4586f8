"""Units of text: where sentences, headings, items, rows and code begin and end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.language.code_fences import opens_fence
from cairn.language.sentences import LONGEST_UNIT, split_sentences, split_units
from cairn.language.tables import tables_in
from tests.growth import repeated, takes_linear_time


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there! Three? Four.", ["One here.", "Two there!", "Three?", "Four."]),
        ("Dr. Smith paid 3.5 million. He left.", ["Dr. Smith paid 3.5 million.", "He left."]),
        ("J. K. Rowling wrote it. I read it.", ["J. K. Rowling wrote it.", "I read it."]),
        ("She moved to the U.S. in 1999. He did not.", ["She moved to the U.S. in 1999.", "He did not."]),
        ("It is in the U.S. The rest is not.", ["It is in the U.S.", "The rest is not."]),
        ("See Fig. 3 and No. 5. Then e.g. this.", ["See Fig. 3 and No. 5.", "Then e.g. this."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ('"Really?" she asked. Yes.', ['"Really?" she asked.', "Yes."]),
        ("It grew.[3] It fell.[4][5] It ended.", ["It grew.[3]", "It fell.[4][5]", "It ended."]),
        ("M. Dupont dit « Bonjour. » Il part ! Oui.", ["M. Dupont dit « Bonjour. »", "Il part !", "Oui."]),
        ("¿Qué es? ¡Hola! Es el Sr. Pérez.", ["¿Qué es?", "¡Hola!", "Es el Sr. Pérez."]),
        ("Vive en EE. UU. desde 1990. Trabaja.", ["Vive en EE. UU. desde 1990.", "Trabaja."]),
        ("Am 3. Oktober 1990 war es so. Im 19. Jahrhundert nicht.",
         ["Am 3. Oktober 1990 war es so.", "Im 19. Jahrhundert nicht."]),
        ("Das gilt z. B. Hier, d. h. überall. Gut.", ["Das gilt z. B. Hier, d. h. überall.", "Gut."]),
        ("Er sagte: „Komm.“ Dann ging er.", ["Er sagte: „Komm.“", "Dann ging er."]),
        ("To restart: 1. Stop it. 2. Start it (see Fig. 3). 3. Look.",
         ["To restart: 1. Stop it.", "2. Start it (see Fig. 3).", "3. Look."]),
        ("So geht es: 1. Datei öffnen. 2. Speichern.", ["So geht es: 1. Datei öffnen.", "2. Speichern."]),
        ("Pos. 2: Restl. Ware folgt. Gut.", ["Pos. 2: Restl. Ware folgt.", "Gut."]),
        ("Siehe Art. 6 Abs. 1 DSGVO. Gut.", ["Siehe Art. 6 Abs. 1 DSGVO.", "Gut."]),
        ("L'art. L. 300-2 le dit. L'article R. 311-3-1-1 aussi.",
         ["L'art. L. 300-2 le dit.", "L'article R. 311-3-1-1 aussi."]),
        ("Il aime l'art. Léa aussi. No. I do not.", ["Il aime l'art.", "Léa aussi.", "No.", "I do not."]),
        ("The answer is 7. It is so.", ["The answer is 7.", "It is so."]),
        ("It ends in 1999. 2000 was better.", ["It ends in 1999.", "2000 was better."]),
        ("第一句。第二句！", ["第一句。", "第二句！"]),
        ("a wrapped\nline goes on. Next\none.", ["a wrapped\nline goes on.", "Next\none."]),
    ],
)  # fmt: skip
def test_sentences_of_four_languages(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


MARKDOWN = """# A title.  With a stop

Intro text without end

- first item. With two sentences.
- second item
  goes on
2) numbered

| Name | Value |
|------|-------|
| k | 60 |
---
```python
def f():
    return 1. + 2

x = "a. B"
```
Chapter 1 ........ 12
Chapter 2 . . . . . 15
After.
"""


def test_markdown_structure_gives_units_of_their_own() -> None:
    assert [(unit.kind, MARKDOWN[unit.start : unit.end]) for unit in split_units(MARKDOWN)] == [
        ("heading", "A title.  With a stop"),
        ("prose", "Intro text without end"),
        ("item", "first item."),
        ("item", "With two sentences."),
        ("item", "second item\n  goes on"),
        ("item", "numbered"),
        ("row", "k | 60"),
        ("code", "def f():\n    return 1. + 2"),
        ("code", 'x = "a. B"'),
        ("heading", "Chapter 1 ........ 12"),
        ("heading", "Chapter 2 . . . . . 15"),
        ("prose", "After."),
    ]


def test_source_code_is_cut_at_blank_lines_only() -> None:
    text = "# Not a heading. Really.\nimport os\n\n\n    indented()\n"
    found = [text[u.start : u.end] for u in split_units(text, code=True)]
    assert found == ["# Not a heading. Really.\nimport os", "    indented()"]


def test_fence_that_is_never_closed_stays_code() -> None:
    assert [unit.kind for unit in split_units("Text.\n\n```\na = 1. B\n\nb = 2")] == ["prose", "code", "code"]


def test_backticks_with_others_behind_them_open_no_fence() -> None:
    units = split_units("As for ```icon```\nand ```x```.\n```.htaccess``` too.\n\nThe next one. It is prose.")
    assert [unit.kind for unit in units] == ["prose"] * 4
    text = "```.htaccess``` hides nothing.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    assert [table.header for table in tables_in(text)] == [("a", "b")]


def test_passage_that_begins_inside_a_fence_is_code_up_to_its_end() -> None:
    units = split_units("$ make\n$ make install\n```\n\nThen start it.\n\n```\n$ run\n```")
    assert [unit.kind for unit in units] == ["code", "prose", "code"]
    units = split_units("Then start it:\n```\n$ run\n```\n\nIt says hello.")
    assert [unit.kind for unit in units] == ["prose", "code", "prose"]


def test_a_footnote_mark_before_a_full_stop_is_no_number() -> None:
    assert len(split_units("As shown: ². Then it ends. Der Wert steigt im ². Jahr.")) > 1


def test_text_without_punctuation_is_cut_before_the_limit() -> None:
    text = "word " * 1000
    spans = split_sentences(text)
    assert all(end - start <= LONGEST_UNIT for start, end in spans)
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")


PIECES = st.lists(
    st.sampled_from(
        ["Word", "z. B.", "3.", "Dr.", " ", "\n", "\n\n", "# ", "- ", "| a |", "```", "...", "? ", ". ", '"', "»", "é"]
    ),
    max_size=60,
).map("".join)


@given(st.one_of(PIECES, st.text(max_size=300)))
def test_spans_are_ordered_trimmed_and_lose_no_word(text: str) -> None:
    units = split_units(text)
    for unit in units:
        piece = text[unit.start : unit.end]
        assert piece.strip()
        assert piece == piece.rstrip()
        assert unit.kind == "code" or "\n\n" not in piece
    assert all(a.end <= b.start for a, b in pairwise(units))
    covered = "".join(text[u.start : u.end] for u in units)
    beside_marks = sum(line.count("Word") for line in text.split("\n") if opens_fence(line))  # "```sh"
    assert 0 <= text.count("Word") - covered.count("Word") <= beside_marks


@pytest.mark.parametrize("piece", ["." * 50, ". ", "a.", "! ", "| ", "(", "\"'", "A. B. ", "x\n", "[1]", "- a\n"])
def test_no_text_takes_quadratic_time(piece: str) -> None:
    assert takes_linear_time(split_sentences, repeated(piece), 10_000)
