"""What is known of each language: one file a language, `data/<code>.toml`, read and checked once.

To add a language, add its file: no key of it is required but `name`, and a section that is not there means that there
is no such rule. A key that is not among those below is refused by name. Nothing here decides anything.

Three kinds of values. Words: divided by white space, compared folded (without case and accents). Phrases: divided by
semicolons and line ends. Patterns: regular expressions; where it says "folded" they are read over folded text, so they
are written with accents and matched without, as whole words; elsewhere over the text as it stands, without regard to
case, and a space is any white space. `<name>` in a pattern stands for what the file's section `define` says, or SHARED;
a definition may use those above it.
A repetition without an end is given one (cairn/language/linear.py); a nested one would still be slow, and a test says so.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cairn.language.linear import bound, bounded
from cairn.language.text import fold, folded_words

DATA: Final = Path(__file__).with_name("data")
DEFAULT: Final = "en"
"""The language of texts that say nothing of theirs, and of replies that a language lacks."""

SHARED: Final[Mapping[str, str]] = {
    "gap": ".{1,120}?",
    "words": r"(?: [^\s?.!]+){1,6}",
    "end": r"\s*[?.!]*$",
    "a": "(?P<a>.{1,120}?)",
    "b": "(?P<b>.{1,120}?)",
    "both": "(?P<two>.{3,240}?)",
    "lead": r"^(?P<lead>.*?\b)?",
    "side_a": r"(?P<a>(?:[^?.!;]|\.(?=\w)){1,80}?)",
    "side_b": r"(?P<b>(?:[^?.!;]|\.(?=\w)){1,160}?)",
    "noun_phrase": r"(?:[\w'’-]+ ){0,3}?[\w'’-]+",
    "relation": r"(?P<role>[\w-]+(?: [\w-]+)?)",
}
"""Definitions that every file may use."""
_LEFT_TO_ROOMS: Final = frozenset(
    {"the", "kind", "name", "file", "module", "path", "constant", "x", "year", "high", "tongue", "type"}
)
"""Names that cairn/graph/code/questions.py and cairn/query/listing.py fill."""
_REFERENCE: Final = re.compile(r"(?<!\?P)<(\w+)>")


def _folded(value: Any) -> Any:
    return folded_words(value) if isinstance(value, str) else value


def _written(value: Any) -> Any:
    return frozenset(value.lower().split()) if isinstance(value, str) else value


def _phrases(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(phrase.strip() for phrase in re.split(r"[;\n]", value) if phrase.strip())


Words = Annotated[frozenset[str], BeforeValidator(_folded)]
Written = Annotated[frozenset[str], BeforeValidator(_written)]
"""Words whose accents count, in lower case."""
Phrases = Annotated[tuple[str, ...], BeforeValidator(_phrases)]
Endings = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(sorted(_folded(value))))]
Patterns = tuple[str, ...]
NONE: Final[frozenset[str]] = frozenset()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WordLists(_Section):
    """Words that carry no subject."""

    stop: Words = NONE
    """THE stop words: function words that are no words of content in another known language."""
    asking: Words = NONE
    """Words by which one asks ("explain", "name", "kind"): they say nothing in a question."""
    idle: Words = NONE
    """Words that say nothing by themselves in a message of nothing else ("ok", "really"), and function words that are
    words of content in another known language ("car", "due")."""
    chatter: Words = NONE
    """What people say around a question: "please", "I want to know"."""
    elided: Words = NONE
    """What comes off before an apostrophe: l', qu', dell'."""
    everyday: Words = NONE
    """Words that mean something else in another language, where they are a command or small talk: "resume" asks for a summary in
    Spanish, "toll" praises in German."""
    clitics: Words = NONE
    """What comes off after one: 's, 've."""
    inverted: Words = NONE
    """Pronouns that a hyphen joins to their verb: "est-elle"."""


class Identify(_Section):
    """What tells the language of a message (identify.py)."""

    words: Written = NONE
    """Question words and the like, which count double; folded too, but for those in `accented`."""
    accented: Written = NONE
    opening: Written = NONE
    """Words that say so where they begin a question, and are words of other languages elsewhere: Italian "come"."""
    letters: str = ""
    """Letters that speak for the language."""
    own: str = ""
    """Signs that no other language has."""
    telling: Mapping[str, int] = Field(default_factory=dict)
    """Signs, and how many stop words they are worth where stop words are counted."""


class Messages(_Section):
    """Whole messages that want something else than documents (cairn/query/small_talk.py)."""

    greetings: Phrases = ()
    farewells: Phrases = ()
    gratitude: Phrases = ()
    acknowledgements: Phrases = ()
    followups: Phrases = ()
    simplifications: Phrases = ()
    deepenings: Phrases = ()
    commands: Phrases = ()
    alone: Phrases = ()
    """Phrases that say little: beside them only `beside_alone` may stand."""
    beside_alone: str = ""
    polite: str = ""
    addressed: str = ""
    thanked: str = ""
    pointed: str = ""
    """Words that may stand beside phrases."""
    typo_prone: str = ""
    """Words recognised with one letter wrong, and words that are no typing errors of them."""
    real_words: str = ""
    off_topic_cues: str = ""
    """One of these is in all small talk and in all orders to a device."""
    nonsense: str = ""
    small_talk: Patterns = ()
    """Folded, without punctuation: small talk and orders to a device, as whole messages."""
    before_orders: Patterns = ()
    after_orders: Patterns = ()
    """Folded: courtesies around them."""
    how_to: Patterns = ()
    """Folded: asks how something is done, or what somebody says; documents may know."""


class Questions(_Section):
    """Types of questions (cairn/query/classify.py, hops.py)."""

    words: Words = NONE
    """Question words with inflections."""
    words_with: Mapping[str, str] = Field(default_factory=dict)
    """Words that ask only with another one in the question, and then why: "por" with "que"."""
    first_only: Words = NONE
    """Question words that ask only as first word of a question: "que" is "that" too."""
    light: Words = NONE
    """Verbs that say nothing of what is asked: "which license does X use?"."""
    never: Words = NONE
    """Question words that do not tell names from others: they are everyday words elsewhere."""
    why: Words = NONE
    names: Patterns = ()
    """Folded: "how" questions that ask for a name: "comment s'appelle"."""
    inversion: str = ""
    """Folded: an inverted verb that asks for yes or no."""
    openers: Patterns = ()
    """Folded: what stands before a question: "and ", "please "."""
    yes_no: Words = NONE
    """First words of questions that ask for yes or no."""
    alternative: str = ""
    """The word for "or", with its accents."""
    comparative: Patterns = ()
    relational: Patterns = ()
    analytical: Patterns = ()
    procedural: Patterns = ()
    exploratory: Patterns = ()
    """Folded: the types."""
    value: Patterns = ()
    """Folded: asks for a date or a number."""
    through_another: Patterns = ()
    """As written: a description in place of a name: "the company that makes X"."""
    spread: Patterns = ()
    """As written: what no single place answers: a comparison of a whole class, a development over time."""


class Complexity(_Section):
    """Folded: words of more than looking something up, (cairn/query/complexity.py)."""

    causal: Patterns = ()
    analysis: Patterns = ()
    comparison: Patterns = ()
    multi_step: Patterns = ()
    synthesis: Patterns = ()
    vague: Words = NONE
    """Content words by form that say nothing alone: "things"."""


class Lists(_Section):
    """Lists and counts of documents, and of what they name (cairn/query/listing.py): folded, read from left to right."""

    leading: Patterns = ()
    """What may stand before everything: "please", "can you tell me"."""
    count: Patterns = ()
    order: Patterns = ()
    ask: Patterns = ()
    """How one asks for a number, tells somebody to list, asks which."""
    them: Patterns = ()
    """Asks which of those that were listed."""
    rest: Patterns = ()
    """Asks for those that were not shown, as a whole message: "show the rest"."""
    determiners: Patterns = ()
    """Before the noun: "all", "the"."""
    documents: Patterns = ()
    """Documents of any kind."""
    kinds: Mapping[str, Words] = Field(default_factory=dict)
    """Documents of one kind each, with inflections; the same key in every language."""
    pages: Patterns = ()
    words: Patterns = ()
    people: Patterns = ()
    organisations: Patterns = ()
    places: Patterns = ()
    dates: Patterns = ()
    """What else is counted, or listed."""
    months: str = ""
    """In order, each with its abbreviations behind bars."""
    no_months: Words = NONE
    """Short names of months in another language that are words of this one."""
    byline: Patterns = ()
    """What stands before the name of an author in a text."""
    dates_of: Patterns = ()
    """Between the parts of a date: "of"."""
    newest: Patterns = ()
    oldest: Patterns = ()
    clauses: tuple[
        tuple[
            Literal[
                "about",
                "on",
                "not",
                "by",
                "from",
                "in",
                "year",
                "since",
                "after",
                "before",
                "between",
                "language",
                "type",
                "newest",
                "oldest",
                "skip",
                "named",
                "named_in",
            ],
            str,
        ],
        ...,
    ] = ()
    """What may follow, in the order in which it is tried: the role of <x>, or of <year>, <high>, <tongue>, <type>. "on" is
    "about" by a word that may also stand inside a value; "in" and "named_in" name documents; "named" asks what stands in
    them; "skip" says nothing."""
    trailing: Patterns = ()
    """What may end the message: "please"."""
    but: Patterns = ()
    """Before a clause, besides "and"."""
    articles: Words = NONE
    """Before a value, not part of it."""
    tongues: Mapping[str, str] = Field(default_factory=dict)
    """What languages are called, by code, with inflections."""
    whole: Patterns = ()
    """Asks for all documents in other ways: "what is in this collection"."""


class Related(_Section):
    """How two things are related (cairn/query/related.py): without accents, up to the end of the question."""

    joined: Patterns = ()
    """Words between the two things."""
    two: Patterns = ()
    """With <both>."""
    each: Patterns = ()
    """With <a> and <b>."""


class Split(_Section):
    """Several questions in one (cairn/query/decompose.py): as written."""

    joins: Patterns = ()
    asking: Patterns = ()
    computing: Words = NONE
    """Words that say that a number was reckoned: "together", "more than"."""
    symmetric: Words = NONE
    """What holds of two in both directions ("married"), so that their order says nothing."""
    passive: Words = NONE
    """What stands before the one who acts, where the sentence is about the other: "by"."""
    respectively: Words = NONE
    orders: Patterns = ()
    """Verbs that begin a question: "is", "give"."""
    before_asking: Patterns = ()
    """Prepositions before a question word."""
    light: Words = NONE
    """Verbs that a question word after them does not part from: "know who"."""
    respects: Patterns = ()
    """"in terms of", "when": what sides are compared in."""
    no_side: Words = NONE
    """What a side of a comparison neither begins nor ends with: "the tablets with", "without food"."""
    around: Patterns = ()
    """Prepositions before the system that both sides are of: "a channel and a team in Slack"."""
    nouns_behind: Patterns = ()
    """Words behind the last side that may be the noun of all: "light and dark themes"; as written, like the next two."""
    without_noun: Patterns = ()
    """Words of a side that may wait for such a noun."""
    adjectives: Patterns = ()
    """Where adjectives stand behind their noun, words that may be one: "canali pubblici e privati"."""
    compare: Patterns = ()
    """With <side_a> and <side_b>."""
    asker_compares: Patterns = ()
    """Say that who asks wants to compare: "how can I compare"."""
    yes_or_no: Patterns = ()
    """Before a question, say how it may be answered: "yes or no:"."""
    articles: Patterns = ()
    of: Patterns = ()
    in_names: Patterns = ()
    """Small words inside a name."""
    before_names: Patterns = ()
    together: Patterns = ()
    """What is asked of both at once is not split."""
    counted: Patterns = ()
    """"two", "both": what they stand before has no sides."""
    places: Patterns = ()
    """Prepositions of what both sides share."""
    several: Patterns = ()
    """What stands before names of which each is asked about: "the prices of"."""


class Filters(_Section):
    """Restrictions that a message states (cairn/query/filters.py): as written."""

    documents: Patterns = ()
    within: Patterns = ()
    """What stands before them where they are looked into: "in the"."""
    of_year: Patterns = ()
    the_year: Patterns = ()
    between: Patterns = ()
    until: Patterns = ()
    since: Patterns = ()
    after: Patterns = ()
    before: Patterns = ()
    by: Patterns = ()
    in_persons: Patterns = ()
    """Small words inside the name of a person."""
    author: Patterns = ()
    copula: Patterns = ()
    tagged: Patterns = ()
    topic: Patterns = ()
    """Words that need a colon."""
    titled: Patterns = ()
    year_keys: Written = NONE
    author_keys: Written = NONE
    topic_keys: Written = NONE
    kind_keys: Written = NONE
    """Metadata keys that may hold each kind of wish."""


class Summaries(_Section):
    """Whether a message asks for a summary of the whole (cairn/query/summarize.py): as written."""

    verbs: Patterns = ()
    whole: Patterns = ()
    narrower: Patterns = ()
    """What goes on after the whole with a part of it: "about"."""
    before: Patterns = ()
    alone: Patterns = ()
    after: Patterns = ()


class Orders(_Section):
    """What a prompt demands of the work (cairn/query/constraints.py): as written."""

    numbers: Mapping[str, int] = Field(default_factory=dict)
    separate: Patterns = ()
    separate_after: Patterns = ()
    searches: Patterns = ()
    apart: Patterns = ()
    texts: Patterns = ()
    read: Patterns = ()
    at_least: Patterns = ()
    read_whole: Patterns = ()
    quote: Patterns = ()
    conflict: Patterns = ()
    disclose: Patterns = ()
    words: Patterns = ()
    sections: Patterns = ()
    section_names: Patterns = ()
    about: Patterns = ()
    topics: Patterns = ()
    each: Patterns = ()
    item: Patterns = ()
    then: Patterns = ()


class Documents(_Section):
    """Which words are about documents as such: of a message (cairn/strategies/document_names.py), of a title."""

    verbs: Words = NONE
    """What one does with documents."""
    called: Words = NONE
    """What documents and collections are called."""
    parts: Words = NONE
    """What sections of documents are called."""
    formats: Mapping[str, Words] = Field(default_factory=dict)
    """What files of a format are called ("deck", "workbook"), by a part of their media type."""
    placeholders: Phrases = ()
    """Titles that programs and templates put where none was written (cairn/ingest/loaders/titles.py)."""
    contents: Phrases = ()
    """Above a list that leads to the parts of a page."""
    openings: Phrases = ()
    """Titles of the first page of a folder, which say nothing without its name (cairn/ingest/loaders/titles.py)."""
    sections: Phrases = ()
    """Headings that any document may have, and that say nothing of what it is about."""


class Nouns(_Section):
    """A language that writes all its nouns with capitals: what tells nouns from names."""

    determiners: Words = NONE
    words: Words = NONE
    endings: Endings = ()
    adjective_endings: Endings = ()
    inflections: Endings = ()
    """Endings that nouns take and names do not."""
    connectors: Words = NONE
    """Small words inside a name."""
    after_determiner: Words = NONE
    """Connectors that join no names after a determiner: "der Abschnitt von Luther"."""


class Names(_Section):
    """What tells names from other capitalised words (names.py)."""

    before: Words = NONE
    """Prepositions after which a name stands without an article."""
    connectors: Words = NONE
    """Small words inside a name: Bank of America, Universidad de Chile, Ludwig van Beethoven."""
    articles: Words = NONE
    """Begin names of places where they are capitalised: Los Angeles."""
    addresses: Words = NONE
    speaking: Words = NONE
    """What stands behind "I" where somebody speaks: "With Docker I cannot log in", but World War I."""
    openers: Words = NONE
    """Words that begin sentences and are no names, though a capitalised word may follow."""
    abbreviations: Words = NONE
    """A full stop after these ends no name."""
    nouns: Nouns | None = None


class Sentences(_Section):
    """Where sentences end (sentences.py)."""

    abbreviations: Written = NONE
    """Never end a sentence; months among them only where they are shortened."""
    numbered: Written = NONE
    """Do not end a sentence when a number follows ("No. 5", "Art. 3", "S. 12")."""
    starters: Written = NONE
    """Capitalised after a full stop, these begin a sentence even if an initial or acronym stands before it."""
    before_ordinal: Written = NONE
    """Where ordinals are written with a full stop, what stands before them: "am 3. Oktober"."""


class Numbers(_Section):
    """Numbers and units in words, folded (numbers.py)."""

    words: Mapping[str, int] = Field(default_factory=dict)
    scales: Mapping[str, int] = Field(default_factory=dict)
    units: Mapping[str, Words] = Field(default_factory=dict)
    """What each unit is called."""
    phrases: Mapping[str, str] = Field(default_factory=dict)
    """Units of several words."""
    joins: Words = NONE
    """What stands inside a number in words: "thirty and five"."""
    ones: Words = NONE
    """One, where a number in words goes on with it; alone it is an article more often."""
    approximate: Words = NONE
    """Words before a number that is rounded, or a bound."""


class Graph(_Section):
    """What a name is of, and what stands between two related names (cairn/graph)."""

    stops: Words = NONE
    """Words that never begin a name, besides stop words."""
    alone: Words = NONE
    """Words that begin names, but are none by themselves."""
    labels: Words = NONE
    """Words of headings, forms and tables: alone or together they name nothing: "Total", "Board of directors"."""
    indefinite: Words = NONE
    """Before the name of a kind of thing: "each Participant"."""
    numbered: Words = NONE
    """What is numbered by what stands behind it: "Form 10-K", "Item 1A" name nothing, nor does "10-K" beside them."""
    continued: Patterns = ()
    """How names go on in small letters behind their last capital: "Agence nationale de l'habitat"."""
    asserts: Words = NONE
    """After a single capitalised word that begins a sentence these make it a name: "Paris is ..."."""
    calendar: Words = NONE
    """Dates are no entities: they would join everything of a year."""
    titles: Words = NONE
    organisations: Words = NONE
    legal_forms: Words = NONE
    """Those of them that companies have behind their names and leave out."""
    places: Words = NONE
    """Words before persons, and words of which one is in the name of an organisation, of a place."""
    occupations: Words = NONE
    """What people are: before a name of two words, or in what is said of it, they make it a person's."""
    is_someone: Patterns = ()
    """Between a name and what somebody is."""
    place_prepositions: Written = NONE
    pronouns: Words = NONE
    """First words of sentences that speak of the document's topic."""
    leading_articles: Patterns = ()
    relations: tuple[tuple[str, str], ...] = ()
    """Folded, in full: what may stand between two names, and the relation from the first to the second; `{role}` is what
    <relation> matched."""


class Symbols(_Section):
    """Which symbols of code a question names (cairn/graph/code/questions.py): as written."""

    kinds: Patterns = ()
    articles: Patterns = ()
    inside: Patterns = ()
    of: Patterns = ()
    never: Words = NONE
    """Words beside such words that are no symbols."""
    asked: tuple[
        tuple[
            Literal[
                "calls",
                "inherits",
                "imports",
                "contains",
                "defined",
                "returns",
                "takes",
                "raises",
                "does",
                "shown",
                "value",
            ],
            Literal["in", "out"],
            str,
        ],
        ...,
    ] = ()
    """Relation or aspect, whether it is asked from its end ("who calls x": in), and a pattern with <the> and one of <name>,
    <file> (or a name), <module> (also of another package), <path> (a file alone) and <constant> (one with "_" in it)."""
    holders: Patterns = ()
    """Words for what holds code; beside one a plain word is meant as a name of code: "which files import x"."""


class AskedKinds(_Section):
    """What kind of thing a question asks for, and what shows in a text that it is there (answer_type.py); as written."""

    number: Patterns = ()
    time: Patterns = ()
    person: Patterns = ()
    reason: Patterns = ()
    definition: Patterns = ()
    """Questions for these."""
    money: Patterns = ()
    """Questions for a sum of money: what something costs, a fee, a salary."""
    amounts: Patterns = ()
    """What says a sum of money without a sign of a currency: "free", francs."""
    what_is: str = ""
    """How a definition of `{}` is asked for."""
    announces: Patterns = ()
    """Words of a sentence that says that what it speaks of stands behind it: "the following", "below"."""
    foretells: Patterns = ()
    """The same of a sentence that paragraphs go on with: "there are a number of things to check"."""
    errors: Patterns = ()
    """Words of a sentence behind which stands what a program says of a failure: "if you see this error"."""
    conditions: Words = NONE
    """Begin a clause that says when something is asked about: "if I set nothing"."""
    leaves_out: Patterns = ()
    """Words that say without a negation that something is not so, is not meant or is left out: "except", "forbidden", "only"."""
    supposes: Patterns = ()
    """Words that say that a sentence is an example, or only supposed."""
    leads_elsewhere: Patterns = ()
    """What a sentence begins with that only says where to read on: "please see", "for more information, refer to"."""
    read_at: Patterns = ()
    """What it leads to, where that is no link and has no quotation marks: "the page on backups", "more details"."""
    asks_default: Patterns = ()
    """Questions for the value that something has where nobody sets one;"""
    defaults: Patterns = ()
    """what says in a text that it is told;"""
    switched: Patterns = ()
    """and values that are words: "enabled", "none"."""
    options: Words = NONE
    """What an option of a command is called, before its name: "the flag -sm"."""
    joining: Words = NONE
    """Words between "Geburtsdatum" and "-ort", which is no option."""
    counts: Patterns = ()
    """What stands before the thing of which the number is asked for: "how many", "the number of"."""
    counted_loosely: Words = NONE
    """Such things for which texts have other words: "people"."""
    limits: Patterns = ()
    """Folded, one on either side of a slash: the largest and the smallest that there may be."""
    acts: Patterns = ()
    """The same of what undoes each other, as a text tells to do it: "enable/disable"."""
    undo: Patterns = ()
    """Ask how something is undone, whatever it is."""
    undoing: Patterns = ()
    """Words of a text of which one at least says how something is undone."""
    changes: Patterns = ()
    """Words of questions about what became otherwise, and in which version: "what changed", "since"."""
    beside_release: Patterns = ()
    """What else a question with a version asks: since when, from which one on, who."""
    changed: Patterns = ()
    """The section of a release that has changes of no kind: "what changed" asks for all."""
    change_logs: Patterns = ()
    """Names of lists of changes, as files, documents and sections are called."""
    maybe_change_logs: Patterns = ()
    """Such names that other things have, too: "News"."""
    beside: Patterns = ()
    """Words before a name by which what comes next to it is asked for: "after Nixon", "successor of"."""
    several: Patterns = ()
    """Questions for several things: which kinds, what are the areas, list the ways."""
    commands: Patterns = ()
    """Folded: questions for what is typed or written in code."""
    outcomes: Mapping[str, str] = Field(default_factory=dict)
    """What may become of what is proposed, as an answer begins with it, and the words that say so in a text."""
    times: Patterns = ()
    """Words for spans and points of time, beside numbers."""
    reasons: Patterns = ()
    """Words that bring a reason;"""
    may_reason: Patterns = ()
    """that do so here and there, or bring a purpose."""
    defines: Patterns = ()
    """Words that say what something is."""
    measures: Words = NONE
    """Say of a value only that it is one."""
    most: Patterns = ()
    least: Patterns = ()
    """Ask for the row or column with the largest or the smallest value."""


class Superlative(_Section):
    """Adjectives that say which column they are the highest or lowest of: the cheapest, of prices."""

    highest: Phrases = ()
    lowest: Phrases = ()
    more: Phrases = ()
    less: Phrases = ()
    """Before a number: "cheaper than"."""
    how: Phrases = ()
    """Ask for that column of one, or for its average: "how old"."""
    high: Phrases = ()
    """Words that are said of any number, and of the rows mean that column: "the highest peak"."""
    of: Words = NONE
    """Words of the header of that column."""
    rivals: Words = NONE
    """Of the header of another one that they may be said of: a long trip is one of many hours, or of many kilometres."""
    named: Words = NONE
    """Of the header of one that they are said of where the question names it: "the longest delay"."""
    born: Words = NONE
    """Of the header of a date by which they count the other way, where no column has that number: the oldest was born first."""


class Arithmetic(_Section):
    """How a question asks for something computed over the cells of a table (cairn/query/table_words.py); phrases, folded."""

    highest: Phrases = ()
    lowest: Phrases = ()
    sum: Phrases = ()
    superlatives: tuple[Superlative, ...] = ()
    latest: Phrases = ()
    earliest: Phrases = ()
    """Of dates."""
    average: Phrases = ()
    difference: Phrases = ()
    growth: Phrases = ()
    """By how many percent something changed."""
    rising: Words = NONE
    falling: Words = NONE
    """Of the words for a difference those that say in which direction: "the largest increase"."""
    percents: Words = NONE
    """Ask for a difference in percent."""
    share: Phrases = ()
    count: Phrases = ()
    how_many: Words = NONE
    """Of phrases for a count or a difference those words by which things are counted that are several: "how many more"."""
    counted: Words = NONE
    """Headers of numbers of separate things, which are added up over rows: "passengers"."""
    mosts: Phrases = ()
    """Of the phrases for the highest and the lowest those that are said of a number of things: "most visits"."""
    ranking: Phrases = ()
    """At the beginning: all of what follows in the order of a number, "rank the regions by revenue"."""
    rising_order: Phrases = ()
    falling_order: Phrases = ()
    """In which order: "from lowest to highest"; the highest first where nothing is said."""
    monthly: Words = NONE
    """Headers of columns of months, where "mar" is no day."""
    readings: Words = NONE
    """Headers of columns that say how a row is to be read: plan or actual, of the month or since January. Their rows are no parts
    of one whole."""
    flows: Words = NONE
    """Headers of what comes in or goes out, of which the sum over rows is what all of them had: "revenue"."""
    outflows: Words = NONE
    """Of these what goes out, which statements write in parentheses: of two such numbers the lower one is the higher cost."""
    commonest: Phrases = ()
    """The group of which there are the most rows: "the most common reason"."""
    settling: Words = NONE
    """Of `doing` what some rows are and others not, where a column has their state: "paid"."""
    states: Words = NONE
    """Headers of such a column: "Status"."""
    qualifiers: Words = NONE
    """Words of the header of a price or a salary that need not be said where it is the only one: "Purchase price"."""
    top: Phrases = ()
    """Before a number: so many of the highest ones."""
    bottom: Phrases = ()
    """The same of the lowest."""
    more: Phrases = ()
    less: Phrases = ()
    at_least: Phrases = ()
    at_most: Phrases = ()
    """Before a number or the name of a column."""
    higher: Words = NONE
    lower: Words = NONE
    than: Words = NONE
    """Compare two columns: "lower in 2025 than in 2024"."""
    before: Phrases = ()
    after: Phrases = ()
    since: Phrases = ()
    until: Phrases = ()
    ends: Words = NONE
    starts: Words = NONE
    """Of a year or a month: "before the end of 2026"."""
    at: Phrases = ()
    """Before a date."""
    doing: Words = NONE
    """Verbs that say no more than that a row has its cell: "works", "won"."""
    outcomes: Words = NONE
    """Of these what some rows have and others not: "how many did they win" counts no rows."""
    one_of: Words = NONE
    """Before the name of a kind of which one is meant: "how much does a cook earn"."""
    being: Words = NONE
    """Between "what" and several things: "what are the three tallest"."""
    as_many: Words = NONE
    as_those: Words = NONE
    """Before and between what is compared: "at least as many nights as their target"."""
    losing: Words = NONE
    """Said of a number that falls, but of a game, too, so that not every question with them asks for a change."""
    winning: Words = NONE
    """Of words of change those that tell what was won, and nothing more: "gained"."""
    contests: Words = NONE
    """They are lost each for itself: of them there are not fewer than the year before."""
    wages: Words = NONE
    """Headers of what each person gets, whose sum over several is not meant by "how much do cooks earn"."""
    living: Words = NONE
    """What inhabitants do."""
    some_people: Words = NONE
    """Of persons a part, which is not all that a column of persons counts: "women"."""
    stating: Words = NONE
    """Verbs that say no more than that something stands in the table: "listed"."""
    money: Words = NONE
    """What columns of sums of money are called, whatever their header says."""
    same: Words = NONE
    """Ask for another row that is like one: "the same points as"."""
    orders: Words = NONE
    """Headers of numbers that say which one it is, of which nothing is the sum: "Seed", "Age"."""
    times: Words = NONE
    """Behind "how many": rows are counted, and no column "Time" is meant."""
    ranks: Words = NONE
    """The same of places, of which the highest may be the first: "Position"."""
    entering: Words = NONE
    """Of these those by which a row comes to be, so that its date is theirs: "placed", but not "paid"."""
    begun: Words = NONE
    """Headers of what happened once to a row, with its year or date: "Opened", "Joined"."""
    goods: Words = NONE
    """Headers of columns whose rows are things: "Part"."""
    prices: Words = NONE
    """What the header of a column of prices says: those of things "under 200"."""
    endings: Words = NONE
    """Of verbs and of what is named after them: "delivered", "delivery"."""
    stretches: Words = NONE
    """What a price or a salary is for, which its column need not be called by: "night", "monthly"."""
    how_much: Phrases = ()
    """Before an adjective, of two rows: "how much longer is A than B"."""
    costing: Words = NONE
    """Verbs that name a column of prices: "cost"."""
    spending: Words = NONE
    """Verbs of what is done with money."""
    measuring: Words = NONE
    """Verbs before a number that say no more than that a row has it: "measures more than 20 degrees"."""
    degrees: Words = NONE
    """What a column with the sign ° is counted in."""
    sources: Words = NONE
    """What a document is called behind its name: "the turnout data"."""
    kin: Phrases = ()
    """Groups of words by one of which title, headings and first column may be called for another: "monthly" for "Month"."""
    items: Words = NONE
    """Rows, where it is said which: "items below the minimum"."""
    pieces: Words = NONE
    """What a column of numbers counts: "how many units"."""
    quantities: Words = NONE
    """Further words in the header of such a column."""
    remaining: Words = NONE
    """What is left when something is taken away."""
    worth: Words = NONE
    """What something is worth, which is no number of pieces: "the value of the stock"."""
    carried: Phrases = ()
    """Labels of rows at the end and the beginning of a page that repeat the sum so far: "carried forward"."""
    owing: Phrases = ()
    """Before the name of a row: "due to"."""
    per: Words = NONE
    """Between two words of a header, and what a question says there: "hours per week", "hours a week"."""
    counted_in: Words = NONE
    """Header of a column that says what each row is counted in: "Unit", "Currency"."""
    currencies: Words = NONE
    """Those of them that mean it beside any other word: "Currency code", but no "Business unit"."""
    having: Words = NONE
    """Before the number of what a row has: "with 4 cylinders"."""
    listing: Phrases = ()
    """Ask which rows meet a condition."""
    others: Phrases = ()
    """Ask for something else, whatever else is said: "why", "who"."""
    when: Words = NONE
    moments: Words = NONE
    """Stand for the column of dates: "when", "day"."""
    years: Words = NONE
    beside: Words = NONE
    """Say nothing of what is computed of what: "amount", "row", "fiscal"."""
    by: Words = NONE
    """Before what the highest ones are the highest of."""
    best: Phrases = ()
    worst: Phrases = ()
    """The highest and the lowest, or the other way round: only of what a header says to be `good` ("score")."""
    good: Words = NONE
    none: Phrases = ()
    """Before the name of a column: where it is zero."""
    ranges: Phrases = ()
    """A word before and those between two years that stand for the years between them, too."""
    ratios: Words = NONE
    """Words of the header of numbers that are not added: "rate", "median", "code"."""
    bound: Words = NONE
    """Words of a header, beside `ratios`, without which it is no name of the column: "planned", "change"."""
    alike: Phrases = ()
    """Groups of words that may stand for each other between question and header: "died" and "fatalities"."""
    inhabitants: Words = NONE
    """Stand for each other, too; what a table of them counts are people."""
    moved: Phrases = ()
    """Verbs that ask for a difference; no name of a column tells by them that it is one: "Gain (Loss)"."""
    adding: Phrases = ()
    """Verbs that ask for one sum, of every row, too;"""
    all_of: Words = NONE
    """before what the rows are, says that none is left out."""
    each: Words = NONE
    """there, ask for one value of each row."""
    distinct: Words = NONE
    """Behind "how many": of what comes again each is counted once."""
    beyond: Phrases = ()
    """In "how many" of two rows: by how many one has more or less than the other."""
    who: Phrases = ()
    """Asks for a row where the highest or lowest is asked for, else for something else."""
    persons: Words = NONE
    """In the header of a column of those whom "who" asks for."""
    humans: Words = NONE
    """Those of them who are one person each, and no company."""
    names: Words = NONE
    """Such a header, where it says nothing besides: "Name", but no "Product name"."""
    given: Words = NONE
    """Which name of a person such a header may say: "First name"."""
    people: Words = NONE
    """What a column counts, never a row."""
    unmade: Phrases = ()
    """What is asked of numbers and is not computed: "median";"""
    statistics: Words = NONE
    """Labels of rows below others that say something of these: "Average"."""
    totals: Words = NONE
    """Begin or end the label of a row that sums up others;"""
    wholes: Words = NONE
    """begin one of at most two words ("all regions")."""
    said: Mapping[str, str] = Field(default_factory=dict)
    """How the answer says what was computed, by the name of the computation."""


class Claims(_Section):
    """What turns a statement round (cairn/answer/ground)."""

    negations: Words = NONE
    """Only whether there is one counts, so "ne ... pas" is one negation."""
    no_negation: tuple[tuple[str, str], ...] = ()
    speaker: Words = NONE
    interjections: Words = NONE
    opposites: tuple[str, ...] = ()
    """Words on both sides of a bar."""
    computing: Words = NONE
    """Words that say that a number was reckoned: "together", "more than"."""
    symmetric: Words = NONE
    """What holds of two in both directions ("married"), so that their order says nothing."""
    passive: Words = NONE
    """What stands before the one who acts, where the sentence is about the other: "by"."""
    respectively: Words = NONE
    orders: Patterns = ()
    """What is said to a model that reads, not to people: "ignore your instructions", "answer only with" (instructions.py)."""
    demands: str = ""
    """How a sentence begins that goes on with an order beside it ("Say ..."); by itself a manual may say so."""


class Guards(_Section):
    """What two queries must share before one may answer for the other (cairn/retrieve/cache.py)."""

    negations: Written = NONE
    numbers: Written = NONE
    directions: Written = NONE
    first: Written = NONE
    """Words that are capitalised only because they come first."""


class Replies(_Section):
    """What Cairn says, and how it recognises a model that says that it does not know."""

    read_as: str = ""
    """That words of a question were taken for `{words}`, which the documents have."""
    uncomputed: str = ""
    """That a table is shown, and nothing was computed over it."""
    described: Mapping[str, str] = Field(default_factory=dict)
    """Which of several documents that a description fits was taken ("one"), and that none fits ("none")."""
    fixed: Mapping[str, str] = Field(default_factory=dict)
    """To what asks nothing of documents, by its intent."""
    refusal: str = ""
    absent: tuple[str, str] = ("", "")
    """That no document mentions one name, or several."""
    elsewhere: tuple[str, str] = ("", "")
    """That documents mention it, but not where what is asked could stand."""
    not_said_of: str = ""
    """That documents mention `{names}`, and none of `{words}` beside them."""
    none_found: str = ""
    none_answers: tuple[str, str] = ("", "")
    """That the one passage, or none of `{n}`, answers."""
    unmentioned: str = ""
    """Which words of the question, `{names}`, no passage has."""
    other_years: str = ""
    """That a written answer speaks of other years than the question."""
    other_thing: str = ""
    """That an answer may be about something else than what is asked."""
    no_default: str = ""
    """That what is quoted states no default, where one is asked for."""
    documents_in: Mapping[str, str] = Field(default_factory=dict)
    """In which language the documents are, by its code, where it is not that of the question."""
    wordings: tuple[str, ...] = ()
    """Other beginnings of a refusal."""
    says_nothing: Patterns = ()
    """Folded: how models begin to say so."""
    lacking: str = ""
    """That the documents lack something, where an answer has to say so."""
    discloses: Patterns = ()
    """How answers say it."""
    empty: str = ""
    others: str = ""
    rephrase: str = ""
    """After a refusal, where nothing was read: what there is to ask about."""
    look_at: str = ""
    """After a refusal: where the nearest of what was read stands."""
    alternative: str = "/"
    """The word for "or"."""
    quotes: str = "“{}”"
    holds: tuple[str, str] = ("", "")
    mentions: tuple[str, str] = ("", "")
    fits: tuple[str, str] = ("", "")
    """For one document and for several."""
    conditions: Mapping[str, str] = Field(default_factory=dict)
    """What listed documents had to meet, by the field of ListRequest; "all_words": a term was looked for word by word."""
    named: Mapping[str, tuple[str, str]] = Field(default_factory=dict)
    """How many people, organisations, places and dates, pages and words there are; for one and for several."""
    by_rules: str = ""
    """That others may be named than those that rules recognised."""
    unstated: Mapping[str, tuple[str, str]] = Field(default_factory=dict)
    """That documents do not say what was asked for, by the field of ListRequest, so that they may belong to the list too."""
    confidence: Mapping[str, str] = Field(default_factory=dict)
    """What an answer is worth, by the ConfidenceWord; before its number."""
    model_failed: Mapping[str, str] = Field(default_factory=dict)
    """Why the chat model failed, by the FailureCause; the HTTP status and a full stop follow."""
    model_instead: Mapping[str, str] = Field(default_factory=dict)
    """What was done without it: the answer is a quotation, it was made without it, or a part of the work was."""
    newest: Mapping[str, str] = Field(default_factory=dict)
    """Before the newest and oldest document: by its year, by when it was indexed."""
    nearest: str = ""
    in_documents: tuple[str, str] = ("", "")
    outline: Mapping[str, str] = Field(default_factory=dict)
    """Before and after an outline."""
    more: str = ""
    also: str = ""
    """Before other places that say it;"""
    perhaps: str = ""
    """and before those that may answer instead, where the first is not sure;"""
    near_to_it: str = ""
    """and before what comes nearest, where nothing answers."""
    nothing_on: str = ""
    """Of a part or subject of a question, `{name}`, that nothing answers."""
    written_in: Mapping[str, str] = Field(default_factory=dict)
    """That what is quoted is in another language than the question, by its code; "other": in one that has no sentence."""
    page: str = ""
    unready: str = ""
    pages: str = ""
    subject: str = ""
    which: str = ""
    for_example: str = ""
    code: Mapping[str, str] = Field(default_factory=dict)


class Carry(_Section):
    """How a message refers back to what was said (cairn/query/followup.py); patterns and words without case and accents."""

    pronouns: Words = NONE
    """Stand for a thing or a person."""
    persons: Words = NONE
    """Of these, for a person."""
    owners: Words = NONE
    """Before what belongs to it; so many words of content before them hold what they mean:"""
    owners_bound: int = 4
    plurals: Words = NONE
    """For several things, never for one name."""
    replaced: Words = NONE
    """A name can stand in their place."""
    demonstratives: Words = NONE
    """Before the kind of thing that is meant."""
    points_back: Words = NONE
    """More words that begin a sentence about what stands before it."""
    last: Words = NONE
    """Refer back only where they end the message."""
    who: Words = NONE
    """Those that ask for a person: the answer names it."""
    names: Words = NONE
    """In questions whose answer names something beside their subject."""
    things: Words = NONE
    """In questions that ask for what is spoken of next."""
    spelled: Mapping[str, str] = Field(default_factory=dict)
    """Words whose accents or capitals say that they are others."""
    nothing: Patterns = ()
    """Where a pronoun means nothing."""
    defines: Patterns = ()
    """Ask what a thing is, however few words name it."""
    openers: Patterns = ()
    """Begin a new focus of the last question: "and"."""
    about: Patterns = ()
    """Also, and never a wish about the last answer: "what about"."""
    no_wishes: Words = NONE
    """Words that are such a wish alone, but not behind an opener: "and simple?"."""
    all_there_is: Patterns = ()
    """Whole messages that ask which things, <x>, there are, of whatever."""
    belongs: Words = NONE
    """Of these, things that are always of something: "options", "steps"."""
    subjects: Patterns = ()
    """Whole questions that ask what a thing, <x>, is or does."""
    compares: Patterns = ()
    """Hold what was asked about against something else, <x>, which ends the message."""
    several: Patterns = ()
    """All of what was listed; `$` is the end of the message."""
    documents: Patterns = ()
    """The source of the last answer."""
    ordinals: str = ""
    """In order from the first; `numbered`: other spellings of these; `final`: the last one."""
    numbered: str = ""
    final: str = ""
    articles: str = ""
    opens_thing: Words = NONE
    """Of these, those that never say of what or for whom something is: "die Preise der Hotels" are one thing."""
    items: str = ""
    """What may be counted, also with a number behind it."""
    leans: Patterns = ()
    """Whole messages about what was spoken of, though no word of them refers back: "quanto tempo ci vuole?"."""
    clitics: Patterns = ()
    """Pronouns at their verb, or in it: "lo activo", "activarlo"; what stands before them may be what they mean, but these:"""
    modals: Words = NONE
    undoes: Patterns = ()
    """Whole messages that ask how what was spoken of is undone, folded and without punctuation (cairn/query/undo.py)."""
    opposites: Patterns = ()
    """What a question asks how to do, and behind a slash what undoes it; <x> is what stands between the parts of a verb."""
    before_acts: Patterns = ()
    """Words of which one has to stand before what is to be done, if the message does not begin with it: "to start" is no "start
    page". Any word, where there are none."""


class LastAnswer(_Section):
    """Whole messages that want something of the last answer (cairn/query/last_answer.py), folded and without punctuation."""

    examples: Patterns = ()
    reasons: Patterns = ()
    sources: Patterns = ()
    """Where it is said: "where does it say that?", "on which page?"."""
    example_marks: Patterns = ()
    """By which a sentence of a document is known as an example; as a reason by `asked.reasons`."""
    example_headings: Patterns = ()
    """Whole headings below which there are examples, folded."""
    extremes: Patterns = ()
    """"Which of them is the <x>", where <x> is one of the words of `least` and `most`, by kinds of quantities
    (cairn/language/numbers.py); "any": of whichever all have."""
    least: Mapping[str, Patterns] = Field(default_factory=dict)
    most: Mapping[str, Patterns] = Field(default_factory=dict)
    stated: Patterns = ()
    """How a document says of one thing alone that it is the <x>."""
    in_language: Patterns = ()
    """"In <tongue> please"."""
    in_language_alone: Patterns = ()
    """The same without a word that asks, which is none where a question mark ends it."""


class Language(_Section):
    """All that is known of a language."""

    code: str
    """ISO 639-1; the name of the file."""
    name: str
    order: int = 100
    """Which language comes first where nothing tells."""
    spellings: Mapping[str, str] = Field(default_factory=dict)
    """Letters that may be written as two: ä as ae."""
    words: WordLists = WordLists()
    identify: Identify = Identify()
    messages: Messages = Messages()
    questions: Questions = Questions()
    complexity: Complexity = Complexity()
    lists: Lists = Lists()
    related: Related = Related()
    split: Split = Split()
    carry: Carry = Carry()
    last_answer: LastAnswer = LastAnswer()
    filters: Filters = Filters()
    summaries: Summaries = Summaries()
    orders: Orders = Orders()
    documents: Documents = Documents()
    names: Names = Names()
    sentences: Sentences = Sentences()
    numbers: Numbers = Numbers()
    graph: Graph = Graph()
    symbols: Symbols = Symbols()
    asked: AskedKinds = AskedKinds()
    arithmetic: Arithmetic = Arithmetic()
    claims: Claims = Claims()
    guards: Guards = Guards()
    replies: Replies = Replies()
    exemplars: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Example messages of each intent (cairn/query/exemplars.py)."""

    def compiled(self, *patterns: str) -> re.Pattern[str]:
        """One pattern over folded text out of alternatives written with accents, each of whole words; without any, one
        that matches nothing."""
        whole = [f"(?:{_whole_words(pattern, self.spellings)})" for pattern in patterns]
        return bounded("|".join(whole) or r"\A(?!)")

    def opening(self, pattern: str) -> re.Pattern[str]:
        """The same of a pattern that something follows: after a space or an apostrophe of it a word may go on."""
        words = _whole_words(pattern, self.spellings).removesuffix(_WORD_ENDS)
        return bounded(rf"(?:{words})(?:(?<=[\s'])|{_WORD_ENDS})")


_WORD_ENDS: Final = r"(?!\w)"


def _whole_words(pattern: str, spellings: Mapping[str, str]) -> str:
    pattern = pattern.replace("ß", "ss")
    for letter, letters in spellings.items():
        pattern = pattern.replace(letter, f"(?:{fold(letter)}|{letters})")
    bare = "".join(c for c in unicodedata.normalize("NFKD", pattern) if not unicodedata.combining(c))
    before = "" if bare.startswith("^") else r"(?<!\w)"
    after = "" if bare.endswith("$") else _WORD_ENDS
    return f"{before}{bare}{after}"


# --- reading ------------------------------------------------------------------------------------------------------------


def read(path: Path) -> Language:
    """One file. Raises ValueError that names the file and the key which is unknown or of another kind."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    defined = dict(SHARED)
    for name, text in raw.pop("define", {}).items():
        defined[name] = _filled(text, defined, path)
    try:
        return Language(**{key: _filled(value, defined, path) for key, value in raw.items()}, code=path.stem)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ValueError(f"{path.name}: {'; '.join(problems)}") from None


def _filled(value: Any, defined: Mapping[str, str], path: Path) -> Any:
    """With each `<name>` replaced by its definition."""
    if isinstance(value, list):
        return [_filled(item, defined, path) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, defined, path) for key, item in value.items()}
    if not isinstance(value, str):
        return value

    def definition(match: re.Match[str]) -> str:
        if match[1] in _LEFT_TO_ROOMS:
            return match[0]
        if match[1] not in defined:
            raise ValueError(f"{path.name}: <{match[1]}> is not defined")
        return defined[match[1]]

    return _REFERENCE.sub(definition, value)


@cache
def languages() -> tuple[Language, ...]:
    """All languages that have a file, in the order in which they are tried where nothing tells them apart."""
    return tuple(sorted(map(read, DATA.glob("*.toml")), key=lambda one: (one.order, one.code)))


# --- asking -------------------------------------------------------------------------------------------------------------


def language(code: str | None) -> Language:
    """The language, or the default one where it is not known."""
    known = {one.code: one for one in languages()}
    return known.get(code or DEFAULT, known[DEFAULT])


def in_order(code: str | None) -> tuple[Language, ...]:
    """All languages, that one first. Short messages are recognised badly, so the others stay in."""
    return tuple(sorted(languages(), key=lambda one: one.code != code))


@cache
def replies(code: str | None) -> Replies:
    """What Cairn says in the language; each text that it lacks in the default one."""
    return Replies(**{**_said(language(DEFAULT)), **_said(language(code))})


@cache
def computed_words(code: str | None) -> Mapping[str, str]:
    """How an answer in the language says what was computed; each text that it lacks in the default one."""
    return {**language(DEFAULT).arithmetic.said, **language(code).arithmetic.said}


def _said(one: Language) -> dict[str, Any]:
    return one.replies.model_dump(exclude_unset=True)


@cache
def refusals() -> tuple[str, ...]:
    """The sentence by which Cairn says that the documents do not answer, in every language."""
    return tuple(one.replies.refusal for one in languages() if one.replies.refusal)


def every(pick: Callable[[Language], Iterable[str]]) -> frozenset[str]:
    """The words that any language has."""
    return frozenset(word for one in languages() for word in pick(one))


def patterns(pick: Callable[[Language], Iterable[str]]) -> list[str]:
    """Patterns over text as it is written, of all languages in their order, each once; a space is any white space. Words of a set
    come longest first: the same in each process, and none before one that begins as it does."""
    return _spaced(pattern for one in languages() for pattern in _in_order(pick(one)))


def _in_order(picked: Iterable[str]) -> Iterable[str]:
    return sorted(picked, key=lambda word: (-len(word), word)) if isinstance(picked, frozenset) else picked


def _spaced(written: Iterable[str]) -> list[str]:
    return [bound(_SPACE.sub(r"\\s+", pattern)) for pattern in dict.fromkeys(written)]


def either(written: Iterable[str]) -> str:
    """One group of the patterns of a language, to be put into a pattern."""
    return f"(?:{'|'.join(_spaced(written)) or '(?!)'})"


_SPACE: Final = bounded(r" (?![^\[\]]*\])")
"""Not inside brackets."""


def any_of(pick: Callable[[Language], Iterable[str]]) -> str:
    """One group of these patterns, to be put into a pattern."""
    return f"(?:{'|'.join(patterns(pick)) or '(?!)'})"
