"""What is shown around a quotation: whole blocks of its section, as Markdown."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.shown import MOST_ANNOUNCED, MOST_SHOWN, OUTLINED, _lines, as_markdown, can_mark, surroundings
from cairn.ingest.loaders.render import picture
from cairn.language.blocks import blocks_in
from cairn.language.outbound import filtered
from cairn.language.sentences import split_sentences

FILLER = "\n\n".join(
    f"Paragraph {n} speaks of granite, slate and chalk, at some length. It ends here." for n in range(20)
)


def shown(content: str, quote: str, *, row: bool = False, said_briefly: bool = False) -> str:
    at = content.index(quote)
    around = surroundings(content, (at, at + len(quote)), row=row, said_briefly=said_briefly)
    assert around.span[0] <= at
    assert at + len(quote) <= around.span[1]
    return as_markdown(around, {} if row else {at + len(quote): "[1]"})


def in_long_section(part: str) -> str:
    return f"# Walking\n\n{FILLER}\n\n{part}\n\n{FILLER}"


def test_a_line_that_announces_code_shows_it() -> None:
    part = "To protect a directory:\n\n```sh\nhtpasswd -c .users ada\n```"
    assert shown(in_long_section(part), "To protect a directory:") == (
        "To protect a directory: [1]\n\n```sh\nhtpasswd -c .users ada\n```"
    )


CONSOLE: Final = (
    "It is done in the console. To do so, follow the steps below:\n\nList them:\n\n```\nall\n```\n\nLook for its name.\n\n"
    "Take it:\n\n```\ntake(9)\n```\n\nSave it:\n\n```\nsave\n```"
)


def test_steps_that_are_a_sentence_and_its_code_each_are_shown_to_the_last() -> None:
    """Some of them have no code."""
    for quoted in ("It is done in the console.", "To do so, follow the steps below:"):
        text = shown(in_long_section(f"{CONSOLE}\n\nNow it is."), quoted)
        assert text.replace(" [1]", "") == CONSOLE
    few = CONSOLE.replace("To do so, follow the steps below:", "It is easy.")
    assert shown(in_long_section(few), "It is done in the console.").endswith("```\nall\n```")
    many = CONSOLE + "".join(f"\n\nLook:\n\n```\nlook {'so' * 40}\n```" for _ in range(20))
    text = shown(in_long_section(many), "It is done in the console.")
    assert "save" in text
    assert MOST_ANNOUNCED - 150 < len(text) <= MOST_ANNOUNCED + 20
    bold = CONSOLE.replace("Save it:", "**Saving**")
    assert "save" not in shown(in_long_section(bold), "It is done in the console.")


@pytest.mark.parametrize(
    "said", ["It lies in the folder, by default:", "Brackets have the same result, as seen below."]
)
def test_what_is_shown_does_not_end_with_what_announces_something_else(said: str) -> None:
    """The passage ends there, or there is no room for what is announced."""
    for behind in ("", f"\n\n```\n{'code ' * 400}\n```"):
        text = shown(f"# Copies\n\nChecks want 5 GB. It may be too little. {said}{behind}", "Checks want 5 GB.")
        assert text == "Checks want 5 GB. [1] It may be too little."
        text = shown(f"# Copies\n\nChecks want 5 GB.\n\n{said}{behind}", "Checks want 5 GB.")
        assert text == "Checks want 5 GB. [1]"
    assert said in shown(f"# Copies\n\n{said}", said).replace(" [1]", "")
    behind = f"\n\n![The folder]()\n\nGo on.\n\n{FILLER}"  # a picture: the sentence says something without it
    assert said in shown(f"# Copies\n\nChecks want 5 GB. {said}{behind}", "Checks want 5 GB.")
    assert "below it" in shown("# Copies\n\nChecks want 5 GB. It lies below it.\n\nIt is old.", "Checks want 5 GB.")


def test_an_item_that_goes_on_with_a_table_is_shown_with_it_and_the_items_behind() -> None:
    table = "  |  |  |\n  | --- | --- |\n  | Name | `email` |\n  | Type | `user` |"
    part = f"- Save it.\n- Make one with these entries:\n\n{table}\n\n  It is taken from there.\n\n- Go back.\n\nThat is all."
    for filler in ("", FILLER):
        text = shown(f"# Clients\n\n{part}\n\n{filler}", "Save it.")
        assert "- Make one with these entries:\n\n" in text
        assert "| Type | `user` |" in text
        assert "- Go back." in text
    assert "That is all." not in text
    apart = part.replace(f"\n\n{table}\n\n  It is", "\n\nIt is")
    assert "Go back" not in shown(f"# Clients\n\n{apart}\n\n{FILLER}", "Save it.")


def test_what_stands_below_a_picture_is_no_sentence_of_what_is_shown() -> None:
    caption = picture("Report of the [failed]\njob")
    assert caption == "![Report of the (failed) job]()"
    assert picture(" - ") == ""
    text = f"# Jobs\n\nOpen the report.\n\n{caption}\n\nRead it.\n\n1. Look here.\n\n   {caption}\n2. And there.\n- {caption}"
    assert split_sentences(caption) == []
    assert [block.kind for block in blocks_in(text)] == ["heading", "prose", "other", "prose", "list", "list"]
    assert shown(text, "Open the report.") == "Open the report. [1]\n\nRead it.\n\n1. Look here.\n2. And there."


def test_the_rest_of_an_item_that_begins_with_a_picture_is_no_code() -> None:
    caption = picture("Report of the job.")
    text = f"    {caption}\n\n    Note: Jobs are kept.\n\n    Nothing is kept for longer.\n\n    {caption}\n\n  - Old: No.\n"
    assert [block.kind for block in blocks_in(text)] == ["other", "prose", "prose", "other", "list"]
    assert (
        shown(text, "Nothing is kept for longer.")
        == "Note: Jobs are kept.\n\nNothing is kept for longer. [1]\n\n  - Old: No."
    )
    assert [block.kind for block in blocks_in(f"    {caption}\n\n    run --now\n    -----\n")] == ["other", "code"]


def test_code_is_shown_with_the_sentence_before_it_and_its_number_stands_behind_the_fence() -> None:
    part = f"{'It is old. ' * 40}Then protect it.\n\n```sh\nhtpasswd -c .users ada\n\nls\n```"
    assert shown(in_long_section(part), "htpasswd -c .users ada") == (
        "Then protect it.\n\n```sh\nhtpasswd -c .users ada\n\nls\n```\n[1]"
    )


def test_a_term_is_shown_with_all_that_is_said_of_it_where_that_is_short() -> None:
    terms = [
        f"**`SHELF_{n}`**\n\nThe height of a shelf.\n\nIt is {n} feet.\n\nSet it before the first jar."
        for n in range(20)
    ]
    assert shown("# Shelves\n\n" + "\n\n".join(terms), "It is 7 feet.") == (
        "`SHELF_7`\n\nThe height of a shelf.\n\nIt is 7 feet. [1]\n\nSet it before the first jar."
    )
    long = "\n\n".join((*terms, f"**`LAST`**\n\n{'Shelves are of oak. ' * 40}\n\nPaint it."))
    assert shown("# Shelves\n\n" + long, "Paint it.") == "Paint it. [1]"


METRICS = """Metrics are sent over UDP. The module `statsd` turns the server into a client of it.

UDP keeps the server apart from slow consumers, so that requests are not held up.

Tell the server where they are sent to:

```bash
serve --statsd-host=localhost:8125
```

For IPv6 the address is in brackets:

```bash
serve --statsd-host='[::1]:8125'
```"""


def test_a_sentence_is_shown_with_the_code_that_its_section_leads_to() -> None:
    text = shown(in_long_section(METRICS), "The module `statsd` turns the server into a client of it.")
    assert text == METRICS.split("\n\nFor")[0].replace("client of it.", "client of it. [1]")


def test_what_a_sentence_says_is_shown_without_that_code() -> None:
    text = shown(
        in_long_section(METRICS), "The module `statsd` turns the server into a client of it.", said_briefly=True
    )
    assert text == METRICS.split("\n\n", maxsplit=1)[0] + " [1]"


@pytest.mark.parametrize(
    ("announcing", "answering"),
    [
        ("Set the following options.", "- `a`: first\n- `b`: second"),
        ("Dies sind die folgenden Werte.", "| Wert | |\n| --- | --- |\n| a | b |"),
        ("Voici la commande.", "```\nls\n```"),
        ("Se usa la siguiente orden.", "```\nls\n```"),
        ("Si usano le opzioni seguenti.", "1. `a`\n2. `b`"),
    ],
)
def test_a_section_leads_to_what_a_paragraph_announces_in_any_language(announcing: str, answering: str) -> None:
    part = f"It was made in spring.\n\n{announcing}\n\n{answering}\n\nThat is all."
    assert shown(in_long_section(part), "It was made in spring.") == (
        f"It was made in spring. [1]\n\n{announcing}\n\n{answering}"
    )


@pytest.mark.parametrize(
    "behind",
    [
        "It is old.\n\n```\nls\n```",  # nothing announces it
        f"{'It is old. ' * 30}Do this:\n\n```\nls\n```",  # far away
        "## Signals\n\nDo this:\n\n```\nls\n```",  # another section
        "Do this:\n\n```\n" + "ls -l\n" * 200 + "```",  # too long, and half of it says nothing
    ],
)
def test_a_section_does_not_lead_to_what_is_not_announced_near_or_short(behind: str) -> None:
    part = f"It was made in spring.\n\n{behind}"
    assert shown(in_long_section(part), "It was made in spring.") == "It was made in spring. [1]"


def test_as_much_of_a_list_that_a_section_leads_to_is_shown_as_there_is_room_for() -> None:
    items = "\n".join(f"- Item {n} is about stone {n}, which lies on the ridge" for n in range(60))
    text = shown(in_long_section(f"It was made in spring.\n\nThese are there:\n\n{items}"), "It was made in spring.")
    assert text.startswith("It was made in spring. [1]\n\nThese are there:\n\n- Item 0 is")
    assert re.search(r", which lies on the ridge\n- … \(\+\d\d\)\Z", text)
    assert len(text) <= MOST_SHOWN + 20


OPTIONS = (
    "Records may be old:\n\n```\nrecord [-i]\n```\n\nRun it at night.\n\nSpecify `-i` for new ones alone. It is slow."
)


def test_what_is_said_of_an_option_is_shown_below_the_command_that_its_section_is_about() -> None:
    text = shown(in_long_section(OPTIONS), "Specify `-i` for new ones alone.")
    assert text == "```\nrecord [-i]\n```\n\nRun it at night.\n\nSpecify `-i` for new ones alone. [1] It is slow."
    far = OPTIONS.replace("Run it at night.", "Run it at night. " * 60)
    assert shown(in_long_section(far), "Specify `-i` for new ones alone.") == (
        "```\nrecord [-i]\n```\n\n…\n\nSpecify `-i` for new ones alone. [1] It is slow."
    )
    assert shown(in_long_section(OPTIONS), "Run it at night.").startswith(
        "```\nrecord [-i]\n```\n\nRun it at night. [1]"
    )


@pytest.mark.parametrize(
    ("part", "quote"),
    [
        (
            OPTIONS.replace("Run it", "- On\n- Off\n\n## Nights\n\nRun it"),
            "Specify `-i` for new ones alone.",
        ),  # of another one
        (
            OPTIONS.replace("```\nrecord [-i]\n```", "- one\n- two\n\n```\nrecord\n```"),
            "Specify `-i` for new ones alone.",
        ),
        (f"{OPTIONS}\n\n- One\n- Two", "One"),  # that is what answers
    ],
)
def test_no_other_command_is_shown_above_it(part: str, quote: str) -> None:
    assert "record" not in shown(in_long_section(part), quote)


def test_a_fact_is_shown_without_the_command() -> None:
    quoted = OPTIONS.index("Specify"), OPTIONS.index("Specify") + len("Specify `-i` for new ones alone.")
    long = f"{OPTIONS} {'It is old. ' * 90}"
    assert "record" in as_markdown(surroundings(long, quoted))
    assert "record" not in as_markdown(surroundings(long, quoted, said_briefly=True))


def test_a_link_that_goes_over_two_lines_is_none_when_it_is_shown() -> None:
    part = "Get the [sample\nfile](https://example.org/sample) first."
    assert shown(in_long_section(part), "Get the [sample\nfile](https://example.org/sample) first.") == (
        "Get the sample file first. [1]"
    )


def test_code_that_is_quoted_leads_no_further() -> None:
    text = shown(in_long_section(METRICS), "serve --statsd-host=localhost:8125")
    assert text == "Tell the server where they are sent to:\n\n```bash\nserve --statsd-host=localhost:8125\n```\n[1]"


@pytest.mark.parametrize(
    "sentence",
    [
        "This directive starts a new file each day.",
        "Diese Anweisung beginnt jeden Tag eine neue Datei.",
        "Cette directive commence chaque jour un nouveau fichier.",
        "Esta directiva empieza un archivo cada día.",
        "Questa direttiva comincia un file ogni giorno.",
        "Dies beginnt jeden Tag eine neue Datei.",
        "Ce module commence chaque jour un nouveau fichier.",
        "Ceci commence chaque jour un nouveau fichier.",
        "Esto empieza un archivo cada día.",
        "Quest'opzione comincia un file ogni giorno.",
    ],
)
def test_what_explains_the_code_before_it_is_shown_with_that_and_not_with_the_next(sentence: str) -> None:
    part = f"A log may grow:\n\n```\nlog daily\n```\n\n{sentence}\n\n```\nlog weekly\n```"
    assert shown(in_long_section(part), sentence) == f"```\nlog daily\n```\n\n{sentence} [1]"


def test_markup_before_the_first_word_hides_nothing() -> None:
    part = "A log may grow:\n\n```\nlog daily\n```\n\n**This** option is slow.\n\n```\nlog weekly\n```"
    assert shown(in_long_section(part), "This** option is slow.").startswith("```\nlog daily\n```\n\n")


def test_what_points_back_is_shown_with_the_paragraph_before_it() -> None:
    part = "Larger tools share work among servers.\n\nThese tools need a broker. Some need two.\n\nIt costs more."
    assert shown(in_long_section(part), "These tools need a broker.") == (
        "Larger tools share work among servers.\n\nThese tools need a broker. [1] Some need two."
    )


def test_a_sentence_that_points_into_its_own_paragraph_is_shown_in_it() -> None:
    part = "- log daily\n- log weekly\n\nA log is a file. This file grows. It never ends."
    assert shown(in_long_section(f"{part} {'It is old. ' * 30}"), "This file grows.") == (
        "A log is a file. This file grows. [1] It never ends."
    )


def test_an_item_is_shown_in_its_list_under_its_introduction() -> None:
    part = "The signals are:\n\n- `HUP`: read the settings\n  again\n- `TERM`: stop\n  - at once\n- `USR1`: open logs"
    assert shown(in_long_section(part), "`TERM`: stop") == (
        "The signals are:\n\n- `HUP`: read the settings again\n- `TERM`: stop [1]\n  - at once\n- `USR1`: open logs"
    )


def test_of_a_long_list_the_neighbours_of_the_item_are_shown_whole() -> None:
    items = "\n".join(f"- Item {n} is about stone {n}, which lies on the ridge" for n in range(60))
    text = shown(in_long_section(items), "Item 30 is about stone 30")
    assert "Item 29 is" in text
    assert "Item 31 is" in text
    assert len(text) <= MOST_SHOWN + 20
    first, *lines, last = text.split("\n")
    missing = [int(cut.removeprefix("- … (+").removesuffix(")")) for cut in (first, last)]  # it is not the whole list
    assert len(lines) + sum(missing) == 60
    assert all(
        re.fullmatch(r"- Item \d+ is about stone \d+, which lies on the ridge(?: \[1\])?", line) for line in lines
    )


def test_steps_in_one_paragraph_are_one() -> None:
    steps = "To restart: 1. Stop the server, and wait until it has ended. 2. Start it again. 3. Look at the log. " + (
        "4. Tell those who use it, each of them, that it is there again. 5. Write down what went wrong, and when. " * 3
    )
    text = shown(in_long_section(steps.strip()), "2. Start it again.")
    assert text == steps.strip().replace("2. Start it again.", "2. Start it again. [1]")


def test_numbers_at_the_end_of_sentences_are_no_steps() -> None:
    part = " ".join(f"Step {n} is described on the sheet with number {n}." for n in range(30))
    assert shown(in_long_section(part), "Step 9 is described on the sheet with number 9.").count("Step") == 3


def test_a_sentence_of_a_long_paragraph_is_shown_with_the_two_around_it() -> None:
    part = " ".join(f"Sentence {n} says what stone {n} is like in winter." for n in range(30))
    assert shown(in_long_section(part), "Sentence 9 says what stone 9 is like in winter.") == (
        "Sentence 8 says what stone 8 is like in winter. Sentence 9 says what stone 9 is like in winter. [1] "
        "Sentence 10 says what stone 10 is like in winter."
    )


def test_a_short_section_is_shown_whole_and_another_one_is_not() -> None:
    text = f"# Walking\n\n{FILLER}\n\n## Fees\n\nIt costs 4 euros.\n\nChildren are free.\n\n## Hours\n\n{FILLER}"
    assert shown(text, "It costs 4 euros.") == "**Fees**\n\nIt costs 4 euros. [1]\n\nChildren are free."


def test_a_section_that_only_begins_is_shown_with_those_below_it() -> None:
    text = f"## Signals\n\nSome are handled.\n\n### Master\n\n- `HUP`: read again\n\n### Worker\n\n{FILLER}"
    assert shown(text, "Some are handled.").startswith(
        "Some are handled. [1]\n\n**Master**\n\n- `HUP`: read again\n\n**Worker**\n\nParagraph 0"
    )


def test_what_is_said_of_a_term_is_shown_with_the_term() -> None:
    part = "**max_connections (integer)**\n\nHow many may connect at once.\n\n**port (integer)**"
    assert shown(in_long_section(part), "How many may connect at once.") == (
        "max_connections (integer)\n\nHow many may connect at once. [1]"
    )


@pytest.mark.parametrize(
    ("said", "leads"),
    [
        ("When it is slow, there are a number of things to check.", True),
        ("Man kann mehrere Dinge prüfen.", True), ("Il y a plusieurs causes possibles.", True),
        ("Hay varias cosas que comprobar.", True), ("Ci sono diverse cose da controllare.", True),
        ("There are seven transfer types.", True), ("This has two consequences.", True),
        ("It supports 3 modes of operation.", True), ("Es gibt sieben Übertragungsarten.", True),
        ("Das hat zwei Folgen.", True), ("Cela a deux conséquences.", True), ("Existen siete tipos.", True),
        ("Questo ha due conseguenze.", True), ("It has two doors.", False),
        ("It adds devices by itself. In this example:", True), ("It is slow at times.", False),
    ],
)  # fmt: skip
def test_what_leads_to_paragraphs_is_shown_with_them(said: str, leads: bool) -> None:
    behind = "First, look at the relay.\n\nSecond, look at the fan."
    quote = said.rpartition("itself. ")[2]
    text = shown(f"# Sync\n\n{FILLER}\n\n## Slow\n\n{said}\n\n{behind}\n\n{FILLER}", quote, said_briefly=True)
    assert ("Second, look at the fan." in text) is leads
    assert len(text) <= MOST_SHOWN + 10


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("If you see this error:", True), ("The log has one of these warnings:", True), ("Diese Fehlermeldung kommt vor:", True),
        ("Si vous voyez cette erreur :", True), ("Si aparece este error:", True), ("Se appare questo errore:", True),
        ("The file looks so:", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("quoted", ["said", "code"])
def test_an_error_is_shown_with_its_remedy(said: str, told: bool, quoted: str) -> None:
    code, remedy = "E42: cannot open the lock", "Remove the lock with:\n\n```\nrm lock\n```"
    text = f"# Sync\n\n{FILLER}\n\n## Slow\n\n{FILLER}\n\n{said}\n\n```\n{code}\n```\n\n{remedy}"
    made = shown(f"{text}\n\n{FILLER}", said if quoted == "said" else code)
    assert ("Remove the lock" in made) is told
    assert ("rm lock" in made) is told
    assert "Paragraph 0" not in made.partition("rm lock")[2]


KEYS = "\n".join(f"- `{name}` - sets how much of it is kept." for name in ("size", "age", "depth", "width"))


@pytest.mark.parametrize(
    ("keys", "key", "alone"),
    [
        (KEYS, "depth", True), (KEYS, "size", True), (KEYS, "", False), (KEYS, "height", False),
        (KEYS.rpartition("\n")[0], "depth", False),  # three
        (KEYS.replace("`", ""), "depth", False),
        (KEYS.replace("`age`", "`age_depth`"), "depth", False),
    ],
)  # fmt: skip
def test_of_a_key_that_is_asked_for_its_entry_alone_is_shown(keys: str, key: str, alone: bool) -> None:
    content = f"# Sync\n\n{FILLER}\n\n## Keys\n\n{FILLER}\n\nThese keys can be set:\n\n{keys}\n\n{FILLER}\n"
    line = next((one for one in keys.split("\n") if key and key in one and "age_" not in one), keys.split("\n")[0])
    at = content.index(line) + 2
    around = surroundings(content, (at, at + len(line) - 2), key=key)
    text = as_markdown(around, {at + len(line) - 2: "[1]"})
    assert (text == f"These keys can be set:\n\n{line} [1]") is alone
    assert "These keys can be set:" in text
    assert ("(+" in text or text.count("\n- ") > 1) is not alone


NUMBERED = "1. Stop the server\n```\nstop x\n```\n2. Copy the data\n\n```\ncp a b\n```\n\n3. Start the server\n```\nstart x\n```"


@pytest.mark.parametrize("quote", ["Stop the server", "Copy the data", "cp a b", "Start the server", "start x"])
def test_steps_with_code_at_the_beginning_of_the_line_are_one_list(quote: str) -> None:
    text = shown(f"# Sync\n\n{FILLER}\n\n## Move\n\n{FILLER}\n\n{NUMBERED}\n\n{FILLER}\n", quote)
    for said in ("1. Stop the server", "stop x", "2. Copy the data", "cp a b", "3. Start the server", "start x"):
        assert said in text


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (NUMBERED, ["list"]),
        ("1. Stop it\n```\nstop\n```\n1. Other list\n", ["list", "code", "list"]),
        ("- Stop it\n```\nstop\n```\n- Start it\n", ["list", "code", "list"]),
        ("1. Stop it\n\n```\nstop\n```\n", ["list", "code"]),
        ("1. Stop it\n2. Start it\n\n```\nconfig\n```\n", ["list", "code"]),
        ("1. Stop it\n\nNow:\n\n```\nstop\n```\n\n2. Start it\n", ["list", "prose", "code", "list"]),
    ],
)
def test_only_such_steps_are_joined(text: str, kinds: list[str]) -> None:
    assert [block.kind for block in blocks_in(text)] == kinds


def test_code_that_takes_the_place_of_code_is_shown_with_it() -> None:
    part = (
        "Change this in the file:\n\n```\nlisten 127.0.0.1\n```\n\nto:\n\n```\nlisten 0.0.0.0\n```\n\nStart it again."
    )
    text = shown(in_long_section(part), "Change this in the file:")
    assert "listen 0.0.0.0" in text
    assert "Start it again." not in text
    assert "listen 0.0.0.0" not in shown(
        in_long_section(part.replace("to:", "Then it goes.")), "Change this in the file:"
    )


def test_a_paragraph_that_ends_in_a_colon_is_shown_with_what_it_leads_to() -> None:
    part = "It adds devices by itself. In this example:\n\nThe first adds the second one.\n\n## More"
    assert "The first adds the second one." in shown(
        f"# Intro\n\n{FILLER}\n\n## Adding\n\n{part}", "It adds devices by itself."
    )


def test_a_short_answer_is_shown_with_what_is_said_behind_it() -> None:
    long = "Run it there if the file is there, too. " * 10
    entry = f"**Must I run it there?**\n\nNo, you need not.\n\n{long}\n\nElsewhere it is a client.\n\n{FILLER}\n\n**And then?**"
    text = shown(f"# Questions\n\n{FILLER}\n\n{entry}", "No, you need not.")
    assert text.startswith("No, you need not. [1]\n\nRun it there")
    assert "Elsewhere it is a client." in text
    assert len(text) < 620
    assert (
        shown(f"# Questions\n\n{FILLER}\n\n{entry}", "No, you need not.", said_briefly=True) == "No, you need not. [1]"
    )


def test_what_is_said_of_a_term_at_length_is_shown_with_the_term() -> None:
    said = " ".join(f"Sentence {n} says what it does in winter." for n in range(30))
    text = shown(in_long_section(f"**`--foo`**\n\n{said}"), "Sentence 9 says what it does in winter.")
    assert text.startswith("**`--foo`**\n\nSentence 8 says what it does in winter. Sentence 9 says")


def test_what_points_back_to_the_first_that_is_said_of_a_term_is_shown_with_both() -> None:
    part = "**--foo**\n\nWalks on.\n\nThis option is slow.\n\n**--bar**\n\nStops."
    assert shown(in_long_section(part), "This option is slow.") == "--foo\n\nWalks on.\n\nThis option is slow. [1]"


@pytest.mark.parametrize(
    "sentence",
    [
        "This variable names a place without an option.",
        "It names a place without an option.",
        "Diese Variable nennt einen Ort ohne Schalter.",
        "Cette variable nomme un lieu sans option.",
        "Esta variable nombra un lugar sin opción.",
        "Questa variabile nomina un luogo senza opzione.",
    ],
)
@pytest.mark.parametrize("behind", ["", f" {'Granite is old. ' * 40}"])
def test_what_points_back_to_its_heading_is_shown_with_the_heading(sentence: str, behind: str) -> None:
    text = f"# Variables\n\n{FILLER}\n\n## LG_PLACE\n\n{sentence}{behind}\n\n## LG_TIME\n\n{FILLER}"
    assert shown(text, sentence).startswith(f"**LG_PLACE**\n\n{sentence} [1]")


def test_what_does_not_point_back_is_shown_without_its_heading() -> None:
    text = f"# Variables\n\n{FILLER}\n\n## Places\n\nA variable names a place.\n\n## Times\n\n{FILLER}"
    assert shown(text, "A variable names a place.") == "A variable names a place. [1]"


@pytest.mark.parametrize(
    ("heading", "reads"),
    [
        ("LG_PLACE", "LG_PLACE"),
        ("-n, --dry-run", "-n, --dry-run"),
        ("--bwlimit BwTimetable", "--bwlimit BwTimetable"),
        ("`hide_diff`", "`hide_diff`"),
        ("[`LG_USER=<name>`](#LG_USER)", "`LG_USER=<name>`"),
        ("layout python [<python_exe>]", "layout python [`<python_exe>`]"),
        ("num_jobs()", "num_jobs()"),
        (f"`{'a' * 154}`", f"`{'a' * 154}`"),  # with its marks 160
    ],
)
def test_what_is_said_of_an_option_is_shown_with_its_name(heading: str, reads: str) -> None:
    text = f"# Options\n\n{FILLER}\n\n### {heading}\n\nSet to true to hide it.\n\nFalse is the default.\n\n### other\n\n{FILLER}"
    assert shown(text, "Set to true to hide it.").startswith(f"**{reads}**\n\nSet to true to hide it. [1]")
    long = text.replace("False is", f"{'Granite is old. ' * 60}\n\nFalse is")
    assert shown(long, "False is the default.") == f"**{reads}**\n\nFalse is the default. [1]"


def test_the_term_is_nearer_than_the_name_of_the_section() -> None:
    terms = f"**fast**\n\nWalks fast.\n\n**slow**\n\nWalks slowly.\n\n**far**\n\n{FILLER}"
    assert shown(f"# Options\n\n{FILLER}\n\n## `walk`\n\n{terms}", "Walks slowly.").endswith(
        "slow\n\nWalks slowly. [1]"
    )


@pytest.mark.parametrize(
    ("text", "heading", "reads"),
    [
        ("It limits what is sent.", "--limit RATE", "**--limit RATE**\n\nIt limits what is sent."),
        ("It limits what is sent.", "Limits", "It limits what is sent."),
        ("It limits what is sent.", "", "It limits what is sent."),
        ("# X\n\nMore.\n\n## Of it\n\nIt limits what is sent.", "--limit RATE", "It limits what is sent."),
        ("# `walk`\n\nIt limits what is sent.", "", "It limits what is sent."),
    ],
)
def test_a_name_in_an_earlier_passage_is_shown_too(text: str, heading: str, reads: str) -> None:
    start = text.index("It limits")
    assert as_markdown(surroundings(text, (start, len(text)), begun=True, heading=heading)).endswith(reads)
    assert as_markdown(surroundings(text, (start, len(text)), begun=True, heading=heading)).count("**") in (0, 2)


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        ("0 changed, 12 unmodified\nDirs: 0 new\n\ndone", "```\nDirs: 0 new\n\ndone\n```\n\n…\n\nStones lie there."),
        ("0 changed, 12 unmodified", "Stones lie there."),
    ],
)
def test_code_that_stands_above_begins_with_a_line_where_the_passage_begins_inside_of_it(code: str, reads: str) -> None:
    text = f"{code}\n```\n\n{FILLER}\n\nStones lie there."
    quoted = text.index("Stones lie"), len(text)
    assert as_markdown(surroundings(text, quoted, begun=True)).startswith(reads)


@pytest.mark.parametrize(
    "heading", ["Dry runs", "Use of [sync](#a)", "How to limit it", "Use of `sync`", f"`{'a' * 155}`"]
)
def test_a_heading_in_words_is_no_name(heading: str) -> None:
    text = f"# Options\n\n{FILLER}\n\n### {heading}\n\nSet to true to hide it.\n\n### other\n\n{FILLER}"
    assert shown(text, "Set to true to hide it.") == "Set to true to hide it. [1]"


NESTED: Final = "\n".join(
    [
        "- First",
        "- Stones of the ridge:",
        *(f"  - Stone {n} lies on the ridge, and is as old as it" for n in range(40)),
        "- Last",
    ]
)


@pytest.mark.parametrize(
    ("marker", "behind", "cut"),
    [
        ("*", "That is all.", "* … (+{left})"), ("+", "That is all.", "+ … (+{left})"),
        ("*", "", "* …"),  # the list may go on in the next passage
    ],
)  # fmt: skip
def test_a_list_that_is_cut_says_so_in_its_own_marks(marker: str, behind: str, cut: str) -> None:
    items = "\n".join(f"{marker} Maintainer {n} of the ridge and of the stones that lie on it" for n in range(40))
    text = shown(f"# Walking\n\nThey are:\n\n{items}\n\n{behind}", "They are:")
    count = text.count("Maintainer")
    assert 5 < count < 40
    assert text.endswith("\n" + cut.format(left=40 - count))


def test_a_long_item_is_cut_where_the_items_in_it_begin() -> None:
    text = shown(in_long_section(NESTED), "Stone 20 lies on the ridge")
    first, item, cut, *lines, last, end = text.split("\n")
    assert (first, item, end) == ("- First", "- Stones of the ridge:", "- Last")
    assert re.fullmatch(r"  - … \(\+\d+\)", cut)
    assert len(lines) + sum(int(left[7:-1]) for left in (cut, last)) == 40
    assert all(re.fullmatch(r"  - Stone \d+ lies on the ridge, and is as old as it(?: \[1\])?", line) for line in lines)
    assert 10 < len(lines) < 20
    assert len(text) <= MOST_SHOWN + 40


def test_a_long_item_is_shown_from_its_beginning_as_far_as_there_is_room() -> None:
    text = shown(in_long_section(NESTED), "Stones of the ridge:")
    assert "\n\n- First\n- Stones of the ridge: [1]\n  - Stone 0 lies" in text
    shown_stones = text.count("  - Stone")
    assert text.endswith(f", and is as old as it\n  - … (+{40 - shown_stones})\n- Last")
    assert 500 < len(text) <= MOST_SHOWN + 40


SHOP = "The shop has two switches:\n\n- **Closed.** Nobody enters.{more}\n- **Keys.** Who is named here enters all the same."


def test_an_item_without_room_is_begun_with_its_sentences() -> None:
    """It begins with what it is about, so that its first sentences may answer where the rest is left out."""
    rest = " Names are set apart by commas." * 40
    begun = shown(in_long_section(SHOP.format(more="") + rest), "Nobody enters.")
    assert begun.startswith(
        "The shop has two switches:\n\n- Closed. Nobody enters. [1]\n- Keys. Who is named here enters all "
    )
    assert begun.endswith("the same." + begun.count("commas.") * " Names are set apart by commas." + " …")
    assert MOST_SHOWN - 60 <= len(begun) <= MOST_SHOWN


@pytest.mark.parametrize(("more", "begun"), [(65, True), (67, False)], ids=["two sentences", "its name alone"])
def test_an_item_is_not_begun_with_its_name_alone(more: int, begun: bool) -> None:
    part = SHOP.format(more=" It is dark." * more) + " Names are set apart." * 40 + f"\n- {'So on' * 40}." * 2
    text = shown(in_long_section(part), "Nobody enters.", said_briefly=True)
    assert ("Who is named here" in text) is ("- Keys." in text) is begun


STEPS = "There are four steps:\n\n" + "\n".join(
    f"{n}. {said} It is not hard.{' It takes a while, and nobody may look on.' * 12}"
    for n, said in [
        (1, "Empty it. Pour the water of the last journey out of the kettle, to the last drop."),
        (2, "Rinse it. Take clear water for it, and as much as goes in, or the tea is bitter."),
        (3, "Scour it with sand of the river, which is fine enough, and dry it with a cloth of wool. Sing."),
        (4, "Put it away. Keep it dry."),
    ]
)


def test_steps_without_room_are_told_by_how_they_begin() -> None:
    quoted = "Pour the water of the last journey out of the kettle, to the last drop."
    assert shown(in_long_section(STEPS), quoted).endswith(
        "\n3. Scour it with sand of the river, which is fine enough, and dry it with a cloth of wool. …\n"
        "4. Put it away. Keep it dry. It is not hard. It takes a while, and nobody may look on. …"
    )
    briefly = shown(in_long_section(STEPS), quoted, said_briefly=True)
    assert briefly.endswith(
        "\n3. Scour it with sand of the river, which is fine enough, and dry it with a cloth of wool. …\n4. Put it away. …"
    )
    last = "Scour it with sand of the river, which is fine enough, and dry it with a cloth of wool."
    assert shown(in_long_section(STEPS), last).startswith(
        "There are four steps:\n\n1. Empty it. Pour the water of the last journey out of the kettle, to the last drop. …\n2. "
    )


@pytest.mark.parametrize(("length", "told"), [(78, True), (79, False)])
def test_of_what_is_said_briefly_an_item_or_two_are_told_by_how_they_begin(length: int, told: bool) -> None:
    """ "- … (+2)" is as long as their labels."""
    items = [f"{n} {'s' * (length - 5)}." for n in range(2)]
    part = "\n".join(
        [
            "Stones:",
            "",
            f"- It is red.{' It is old, and large.' * 40}",
            *(f"- {one} {'Old. ' * 30}Ends." for one in items),
        ]
    )
    text = shown(in_long_section(part), "It is red.", said_briefly=True)
    assert text.endswith("".join(f"\n- {one} …" for one in items) if told else "\n- … (+2)")


LONG_OPTIONS: Final = [f"`option{n}`: It sets the size of stone {n}. Default: {n}." for n in range(12)]


@pytest.mark.parametrize("at", [1, 5, 10])
def test_items_are_shortened_before_any_is_dropped(at: int) -> None:
    more = " It is old, and nobody has ever been there in winter, as far as is known." * 3
    part = "The options are:\n\n" + "\n".join(f"- {one}{more}" for one in LONG_OPTIONS)
    text = shown(in_long_section(part), LONG_OPTIONS[at].partition(" Def")[0])
    assert text.startswith("The options are:\n\n- `option0`: It sets the size of stone 0.")
    assert [f"option{n}`" in text for n in range(12)] == [True] * 12
    assert "(+" not in text
    assert len(text) <= MOST_SHOWN + OUTLINED


def test_a_list_that_begins_in_the_middle_has_the_paragraph_that_stands_alone_above_it() -> None:
    items = "\n".join(f"- Item {n} is about stone {n}, which lies on the ridge" for n in range(60))
    text = f"# Walking\n\n{FILLER}\n\n## Stones to avoid\n\nThey may break. Please be careful.\n\n{items}\n\n{FILLER}"
    assert shown(text, "Item 30 is about stone 30").startswith("They may break. Please be careful.\n\n- … (+")
    assert shown(text.replace("They may", "It is so.\n\nThey may"), "Item 30 is about stone 30").startswith("- … (+")


def test_the_items_behind_one_that_is_cut_are_told() -> None:
    """Of steps the last is the one that is missed most."""
    said = "It is old, and nobody has ever been there in winter. " * 8
    part = f"1. Copy it.\n\n   {said}\n\n   {said}\n\n   {said}\n2. Start it.\n3. Look at it."
    text = shown(in_long_section(part), "Copy it.")
    assert text.endswith("\n   …\n2. Start it.\n3. Look at it.")
    text = shown(in_long_section(part.replace("1. C", "1. Stop it.\n2. C").replace("\n2. S", "\n3. S")), said.strip())
    assert "1. Stop it.\n2. Copy it." in text


def test_a_long_item_is_cut_between_its_paragraphs_and_never_in_code() -> None:
    said = "It is old, and nobody has ever been there in winter. " * 8
    item = f"- Copy it.\n\n  {said}\n\n  ```\n  cp a b\n\n  - c\n  ```\n\n  {said}\n- Go"
    text = shown(in_long_section(item), "cp a b")
    assert "  ```\n  cp a b\n\n  - c\n  ```\n  [1]" in text
    assert text.startswith("- Copy it.\n  …\n  ```\n")


TABLE = "| Stone | Weight |\n| --- | --- |\n" + "\n".join(f"| Stone {n} | {n} kg |" for n in range(80))


def test_a_row_is_shown_in_its_table_under_the_header() -> None:
    text = shown(in_long_section(TABLE), "Stone 70 | 70 kg", row=True)
    lines = text.split("\n")
    assert lines[:2] == ["| Stone | Weight |", "| --- | --- |"]
    assert "| Stone 70 | 70 kg |" in lines
    assert all(re.fullmatch(r"\| Stone \d+ \| \d+ kg \|", line) for line in lines[3:])
    assert re.fullmatch(r"\| … \(\+\d\d\) \| \|", lines[2])
    assert len(text) <= MOST_SHOWN + 20


@pytest.mark.parametrize(
    ("before", "behind", "counted"),
    [("Above it.\n\n", "\n\nBelow it.", True), ("", "", False)],  # there may be more of it in its document
)
def test_a_table_says_how_many_of_its_rows_are_left_out(before: str, behind: str, *, counted: bool) -> None:
    text = shown(f"{before}{TABLE}{behind}", "Stone 40 | 40 kg", row=True)
    _, _, above, *rows, below = text.split("\n")
    assert all("…" not in row for row in rows)
    hidden = [int(said) for line in (above, below) for said in re.findall(r"\A\| … \(\+(\d+)\) \| \|\Z", line)]
    assert sum(hidden) + len(rows) == 80 if counted else above == below == "| … | |"


def test_as_many_rows_are_shown_of_a_table_whose_columns_are_filled_up_as_of_another() -> None:
    filled = re.sub(r"(?<=kg) ", " " * 60, TABLE)
    texts = [shown(f"Above.\n\n{one}\n\nBelow.", "Stone 40 | 40 kg", row=True) for one in (TABLE, filled)]
    assert abs(texts[0].count("kg |") - texts[1].count("kg |")) < 3


def test_a_table_is_shown_without_what_fills_its_columns_up() -> None:
    padded = "| Stone      |  Weight |\n|:-----------|--------:|\n| Granite    |    4 kg |"
    assert shown(in_long_section(padded), "Granite    |    4 kg", row=True) == (
        "| Stone | Weight |\n|:---|---:|\n| Granite | 4 kg |"
    )


def test_the_rest_of_a_table_gets_a_header_so_that_it_is_shown_as_one() -> None:
    rest = "| Granite | 4 kg |\n| Slate | 3 kg |\n\nAfter it."
    assert shown(rest, "Slate | 3 kg", row=True) == "|  |  |\n| --- | --- |\n| Granite | 4 kg |\n| Slate | 3 kg |"


@pytest.mark.parametrize(
    ("content", "quote", "text"),
    [
        ("ls -l\nrm x\n```\n\nThat is all.", "rm x", "```\nls -l\nrm x\n```\n[1]\n\nThat is all."),
        ("Do this:\n\n```sh\nls -l\nrm x", "Do this:", "Do this: [1]\n\n```sh\nls -l\nrm x\n```"),
        (
            "1. Copy:\n\n   ```\n   cp a b\n   ```\n2. Go",
            "cp a b",
            "1. Copy:\n   ```\n   cp a b\n   ```\n   [1]\n2. Go",
        ),
        ("- Copy:\n\n  ```\n  cp a b", "Copy:", "- Copy: [1]\n  ```\n  cp a b\n  ```"),
    ],
)
def test_fences_that_were_cut_are_closed(content: str, quote: str, text: str) -> None:
    assert shown(content, quote) == text


def test_tags_links_and_rules_are_not_shown_and_code_stays_as_it_is() -> None:
    content = (
        "<div class='x'>\n\nSee <b>the</b> [guide](http://example.org/a) for `<b>` and *more*.\n\n---\n\n"
        "<!-- nothing -->\n\n![stones](a.png) Go."
    )
    assert shown(content, "See <b>the</b> [guide](http://example.org/a) for `<b>` and *more*.") == (
        "See the guide for `<b>` and more. [1]\n\nstones Go."
    )


def test_front_matter_is_not_shown() -> None:
    content = "---\ntitle: Fees\ntags: [a]\n---\n\nIt costs 4 euros.\n"
    assert shown(content, "It costs 4 euros.") == "It costs 4 euros. [1]"


def test_a_passage_of_any_length_is_read_near_the_quotation_alone() -> None:
    content = f"{FILLER * 40}\n\nIt costs 4 euros.\n\n{FILLER * 40}"
    begun = time.thread_time()
    assert "It costs 4 euros. [1]" in shown(content, "It costs 4 euros.")
    assert time.thread_time() - begun < 5


PIECES = st.lists(
    st.sampled_from(
        ["Word", "Word.", " ", "\n", "\n\n", "# ", "- ", "1. ", "> ", "| a | b |\n", "|---|---|\n", "```\n", "```", "~~~\n",
         "    x\n", "<div>", "**", "`", "---\n", "[a](b)", "\r", "é", ":\n\n", "\t"]
    ),
    max_size=50,
).map("".join)  # fmt: skip


@given(PIECES, st.data())
def test_blocks_are_ordered_and_whatever_is_quoted_is_shown(text: str, data: st.DataObject) -> None:
    blocks = blocks_in(text)
    assert all(a.end <= b.start for a, b in pairwise(blocks))
    assert all(0 <= block.start <= block.end <= len(text) for block in blocks)
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    for row in (False, True):
        around = surroundings(text, (start, end), row=row)
        assert around.span[0] <= start < end <= around.span[1] <= len(text)
        made = as_markdown(around, {end: "[1]"} if can_mark(around, (start, end)) else {})
        assert "\0" not in made
        assert made.count("[1]") == can_mark(around, (start, end))


SETUP = "To set it up:\n\n" + "\n".join(
    f"{n}. Do step {n}:\n\n    ```\n    run <x{n}>\n    ```\n\n    {'More is said of it here. ' * 8}"
    for n in range(1, 8)
)


def test_of_steps_that_there_is_no_room_for_the_command_is_told() -> None:
    text = shown(in_long_section(SETUP), "Do step 1:")
    assert text.count("run <x") == 7
    assert text.endswith("7. Do step 7:\n   ```\n   run <x7>\n   ```")


def test_code_in_a_list_is_code_to_whoever_lets_it_out() -> None:
    """A fence that is set in further is none outside of a list, and what stands in it would be taken for tags."""
    text = shown(in_long_section(SETUP), "Do step 1:")
    assert filtered(text, None)[0] == text


def test_of_a_list_that_is_shown_from_its_middle_the_beginning_is_told() -> None:
    items = "\n".join(f"- `--keep-{n}` keeps {n}. {'More is said of it here. ' * 8}" for n in range(8))
    text = shown(in_long_section(f"These options are there:\n\n{items}"), "`--keep-6` keeps 6.")
    assert text.startswith("These options are there:\n\n- `--keep-0` keeps 0. More is said")
    assert text.count("- `--keep-") == 8


@pytest.mark.parametrize("label", ["**macOS**", "### macOS", "Run it like this:", "1. Run it:"])
def test_what_only_names_what_follows_does_not_end_what_is_shown(label: str) -> None:
    part = f"Setting up is short.\n\n### Ways\n\n**Linux**\n\n```\napt\n```\n\n{label}\n\n```\n{'brew ' * 200}\n```"
    text = as_markdown(
        surroundings(
            in_long_section(f"## Setup\n\n{part}"), at(in_long_section(f"## Setup\n\n{part}"), "Setting up is short.")
        )
    )
    assert text.endswith("```\napt\n```")


def at(content: str, quote: str) -> tuple[int, int]:
    return content.index(quote), content.index(quote) + len(quote)


def test_terms_that_are_announced_are_shown_with_all_that_is_said_of_each() -> None:
    terms = "\n\n".join(f"**`--{name}`**\n\nIt is {name}:\n\n```\nrun --{name}\n```" for name in ("a", "b", "c"))
    content = in_long_section(f"The options are the following.\n\n{terms}")
    assert as_markdown(surroundings(content, at(content, "The options are the following."))).count("run --") == 3


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        (
            "- **a** is one.\n\n  If it is two, three.\n  \n  Default: four\n\n- b",
            "- a is one.\n\n  If it is two, three.\n\n  Default: four\n- b",
        ),
        ("1. It can be:\n\n\t- one\n\t\n\t- two\n\t\t- three", "1. It can be:\n   - one\n   - two\n      - three"),
        (
            "- **[run](#r)**\n  Starts it\n- [a [b]](#c)\n  Ends\n- **Careful.**\n  It",
            "- run: Starts it\n- a [b]: Ends\n- Careful. It",
        ),
        ("- **run**\n  starts it\n- **A** b\n  It\n\n**Do**\nIt", "- run starts it\n- A b It\n\nDo It"),
        ("- a\n\nText.\n\n  Set in.", "- a\n\nText.\n\nSet in."),
    ],
)
def test_what_belongs_to_an_item_is_set_in(text: str, reads: str) -> None:
    assert "\n".join(_lines(text)) == reads


@pytest.mark.parametrize(("lines", "whole"), [(120, True), (200, False)])
def test_code_is_shown_whole_or_says_that_it_is_not(lines: int, whole: bool) -> None:
    code = "\n".join(f"line {n:03}" for n in range(lines))
    content = in_long_section(f"Run it:\n\n```\n{code}\n```")
    text = as_markdown(surroundings(content, at(content, "line 100")))
    assert ("line 000" in text and f"line {lines - 1:03}" in text) is whole
    assert text.startswith("…\n\n```") is not whole
    assert text.endswith("```\n\n…") is not whole


def test_a_row_is_shown_without_where_its_links_lead() -> None:
    table = "| A | B |\n| --- | --- |\n| [x](y.md) | `[z](w)`, <name>[^1] |"
    content = in_long_section(table)
    text = as_markdown(surroundings(content, at(content, "| [x](y.md) | `[z](w)`, <name>[^1] |"), row=True))
    assert text.endswith("| x | `[z](w)`, `<name>` |")


def test_a_placeholder_is_code() -> None:
    assert shown(in_long_section("Run it on <your host> or sftp:<user>@<host>:/srv now."), "Run it") == (
        "Run it on `<your host>` or `sftp:<user>@<host>:/srv` now. [1]"
    )


@pytest.mark.parametrize(
    ("text", "quoted", "begun", "first"),
    [
        ("transfers a lot.\n\nUse the flag.\n\nIt is quick.", "Use the flag.", True, "Use the flag."),
        ("transfers a lot. Use the flag. It is quick.", "It is quick.", True, "Use the flag."),
        ("transfers a lot.\n\nUse the flag.", "Use the flag.", False, "transfers a lot."),
        ("transfers a lot. Use the flag.", "transfers a lot.", True, "transfers a lot."),
        ("Transfers a lot. Use the flag.", "Use the flag.", True, "Transfers a lot."),
        (
            "    RATE  what is sent\n    --size NUMBER  what is kept\n",
            "    --size NUMBER",
            True,
            "…\n\n```\n--size NUMBER",
        ),
        ("    RATE  what is sent\n    --size NUMBER  what is kept\n", "    --size NUMBER", False, "```\nRATE"),
    ],
)
def test_the_rest_of_a_sentence_that_began_elsewhere_is_not_shown(
    text: str, quoted: str, begun: bool, first: str
) -> None:
    start = text.index(quoted)
    around = surroundings(text, (start, start + len(quoted)), begun=begun)
    assert as_markdown(around).startswith(first)


@pytest.mark.parametrize(
    ("text", "quoted", "shown"),
    [
        (
            "Old files may stay, which is bad. More.",
            "Old files may stay,",
            "Old files may stay, which is bad. [1] More.",
        ),
        (
            "Old files may stay, which\nis bad. More.",
            "Old files may stay,",
            "Old files may stay, which is bad. [1] More.",
        ),
        ("Files stay. They are old.", "Files stay.", "Files stay. [1] They are old."),
        ("- Files may stay,\n  which is bad\n- More", "Files may stay,", "- Files may stay, which is bad [1]\n- More"),
        ("- Files stay\n- More", "Files stay", "- Files stay [1]\n- More"),
    ],
)
def test_a_mark_stands_behind_the_sentence(text: str, quoted: str, shown: str) -> None:
    at = text.find(quoted)
    around = surroundings(text, (at, at + len(quoted)))
    assert as_markdown(around, {at + len(quoted): "[1]"}) == shown
