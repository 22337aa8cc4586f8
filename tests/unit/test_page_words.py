"""What the page says is said in words that a person uses, in all its languages."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import Final, get_args

import pytest

import cairn
from cairn.connectors.registry import KINDS
from cairn.domain.code import CodeRelation
from cairn.domain.event import Progress
from cairn.domain.graph import SYMMETRIC, EntityKind
from cairn.domain.passage import FusionForm, Leg, Mode
from cairn.domain.question import BuiltInStrategy
from cairn.domain.trace import BELOW_TOP_K
from cairn.interfaces.http.policy import Kind
from cairn.interfaces.web.badge import tell_worth
from cairn.interfaces.web.parts import bytes_of
from cairn.interfaces.web.run_detail import DECIDED
from cairn.interfaces.web.texts import LANGUAGES, load_words, texts_in
from cairn.interfaces.web.turn import COUNTED, step_in_words
from cairn.strategies.registry import STRATEGIES

EVERYWHERE: Final = ("co_occurs", "relative_score", " rrf", "bm25", " utc ", "top_k")
OF_MACHINES: Final = {
    "en": (
        " leg", "hops", "ways between", "communit", "way to answer", "reranked", "fetches what is missing", "approximate",
        "admission", "traces", "in force", "of no limit", "coverage", "converse", "planned", "circuit", "as shipped",
        "what is shipped", "read as well", " fused", "fusion", " entit", "bypassed",
    ),
    "de": (
        "wege nebeneinander", "wege dazwischen", "gemeinschaft", "art der antwort", "umformuliert", "fehlendes nachholt",
        "angenähert", "neu geordnet", "spuren", "einlass", "in kraft", "ausgeliefert", "auslieferung", "außerdem gelesen",
        "verschmolz", "verschmelz", "entität", "umgangen",
    ),
    "fr": (
        " voie", "chemins entre", "communauté", "façon de répondre", "reformulée", "ce qui manque", "approché", "reclass",
        "traces", "admission", "en vigueur", "livré", "livraison", "lus également", "fusionn", "entité", "contournés",
    ),
    "es": (
        " vía", "caminos entre", "comunidad", "manera de responder", "reformulada", "lo que falta", "aproximado", "reordena",
        "trazas", "admisión", "en vigor", "entrega", "leídos además", "fusion", "entidad", "omitidos (",
    ),
    "it": (
        " via ", " vie ", "percorsi tra", "comunità", "modo di rispondere", "riformulato", "ciò che manca", "approssimato",
        "riordin", "tracce", "ammissione", "in vigore", "fornito", "lette inoltre", "unisci per", "entità", "saltate",
    ),
}  # fmt: skip
"""Of the review: what nobody understood, and what stood for it in the other languages."""
ENUMERATIONS: Final = {
    "ways": {*get_args(BuiltInStrategy), *STRATEGIES}, "finders": get_args(Leg), "modes": get_args(Mode),
    "merges": get_args(FusionForm), "kinds": get_args(EntityKind), "gates": {*get_args(Kind)} - {"own"},
    "relations": {*SYMMETRIC, *get_args(CodeRelation)}, "decisions": DECIDED,
    "fates": ("kept", "same document", BELOW_TOP_K, f"{BELOW_TOP_K} after reranking"),
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_has_a_word_that_only_machines_use(language: str) -> None:
    said = {key: f" {_without_places(text).casefold()} " for key, text in load_words(language).items()}
    assert not [(word, key) for word in (*EVERYWHERE, *OF_MACHINES[language]) for key in said if word in said[key]]


def test_every_text_of_a_room_is_used() -> None:
    """By its whole key, or as `room.{name}` where the name is written in the same file or is one of the domain's; a name after a
    prefix (`ask.doing_{step}`) may be anybody's."""
    app = Path(cairn.__file__).parent
    files = [path.read_text("utf-8") for path in sorted((app / "interfaces" / "web").rglob("*.py"))]
    domain = _quoted("".join(path.read_text("utf-8") for path in (app / "domain").glob("*.py")))
    anywhere = _quoted("".join(path.read_text("utf-8") for path in app.rglob("*.py")))
    used = set().union(*map(_quoted, files))
    for file in files:
        for room, prefix in re.findall(r"""f["'](\w+)\.(\w*)\{""", file):
            used |= {f"{room}.{prefix}{name}" for name in (anywhere if prefix else domain | _quoted(file))}
        for room in re.findall(r"""f["'](\w+)\.\{\w+\}_\{'one' if""", file):
            used |= {f"{room}.{name}_{number}" for name in _quoted(file) for number in ("one", "many")}
    used |= {f"{key}_one" for file in files for key in re.findall(r"""count\(\s*["']([\w.]+)["']""", file)}
    tables = {*ENUMERATIONS, "stages", "work"}
    assert not [key for key in load_words("en") if key not in used and key.partition(".")[0] not in tables]


def _quoted(source: str) -> set[str]:
    return set(re.findall(r"""["']([\w.-]+)["']""", source))


def _without_places(text: str) -> str:
    return "".join(said for said, *_ in Formatter().parse(text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_rooms_show_of_enumerations_has_words(language: str) -> None:
    words = load_words(language)
    for table, names in ENUMERATIONS.items():
        for name in names:
            assert words.get(f"{table}.{name.replace(' ', '_')}"), (table, name)
    for kind in KINDS:
        named = [*(f"option_{name}" for name in kind.options), *(f"secret_{name}" for name in kind.secrets)]
        assert all(words.get(f"sources.{name}") for name in named), kind.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_is_said_otherwise_than_several(language: str) -> None:
    text = texts_in(language)
    for key in ("documents.passages", "graph.entity", "graph.evidence", "search.found"):
        one, several = (text.count(key, number, kind="", title="", best=1) for number in (1, 2000))
        assert one.replace("1", text.number(2000)) != several
        assert text.number(2000) in several


@pytest.mark.parametrize(
    ("answered", "grounded", "word", "shown", "told"),
    [
        ("yes", True, "found", "found", "Read"),
        ("yes", None, "exact", "found", "Counted"),
        ("yes", None, "computed", "found", "Computed"),
        ("yes", None, "recognised", "likely", "Recognised"),
        ("unsure", True, "not_sure", "not_sure", "The nearest"),
        ("yes", True, None, "found", "Every sentence"),  # from here on a model wrote
        ("yes", False, None, "not_sure", "Not every sentence"),
        ("unsure", True, None, "not_sure", "The nearest"),
    ],
)
def test_an_answer_is_worth_one_of_three_words(
    answered: str, grounded: bool | None, word: str | None, shown: str, told: str
) -> None:
    worth = tell_worth(texts_in("en"), answered, grounded, word)
    assert worth is not None
    assert worth[0] == shown
    assert worth[1].startswith(told)


def test_how_often_it_was_right_is_told_of_a_quotation_and_nothing_of_small_talk() -> None:
    text = texts_in("en")
    likely, counted = (tell_worth(text, "yes", None, word, 0.75) for word in ("likely", "exact"))
    assert likely is not None
    assert likely[1].endswith(" 75% were right when it was measured.")
    assert counted is not None
    assert "%" not in counted[1]
    assert tell_worth(text, "yes", None, None) is None
    assert tell_worth(text, "no", True, None) is None


def _steps() -> set[str]:
    """All that a run of ours tells; those of a plan are named by its lines."""
    sources = (path.read_text("utf-8") for path in Path(cairn.__file__).parent.rglob("*.py"))
    told = {step for source in sources for step in re.findall(r"""\bProgress\(\s*"(\w+)\"""", source)}
    return told | {"tool_call", "validation", "reprompt", "final"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_run_does_is_said_in_the_language_of_the_reader(language: str) -> None:
    text, numbers = texts_in(language), {"passages": 2000, "sources": 2000, "parts": 2000, "read": 3, "seconds": 10}
    steps = _steps()
    assert len(steps) > 25
    for step in steps:
        said = step_in_words(text, Progress(step, 50, "As told", numbers=numbers))
        assert (said == "As told") == (language == "en" and step != "silent"), step
        assert (text.number(2000) in said) == (language != "en" and step in COUNTED), step
        assert step_in_words(text, Progress(step, 50)), step
    assert step_in_words(text, Progress("my_own", 50, "Own words")) == "Own words"


@pytest.mark.parametrize(
    ("language", "written", "size"),
    [
        ("en", "1,234.5", "2.5 kB"),
        ("de", "1.234,5", "2,5 kB"),
        ("fr", "1\u202f234,5", "2,5 kB"),
        ("it", "1.234,5", "2,5 kB"),
    ],
)
def test_numbers_are_written_as_in_the_language_of_the_reader(language: str, written: str, size: str) -> None:
    text = texts_in(language)
    assert text.number(1234.5, 1) == written
    assert bytes_of(text, 2500) == size
    assert bytes_of(text, 999) == "999 B"


def test_a_name_that_a_plugin_brings_is_said_as_it_is_without_underscores() -> None:
    text = texts_in("en")
    assert text.say("ways", "my_own_way") == "my own way"
    assert text.say("relations", "co_occurs") == "named together with"
