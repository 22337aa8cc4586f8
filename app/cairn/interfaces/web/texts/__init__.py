"""The words of the page, a table per language; a word that a language lacks is English."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any, Final

LANGUAGES: Final = ("en", "de", "fr", "es", "it")


class Texts:
    """The words in one language."""

    def __init__(self, language: str, words: dict[str, str]) -> None:
        self.language = language
        self._words = words

    def __call__(self, key: str, **values: Any) -> str:
        """The text `room.name`, its {places} filled. Raises KeyError for one that there is not."""
        text = self._words[key]
        return text.format(**values) if values else text

    def count(self, key: str, number: int, **values: Any) -> str:
        """The text about so many things; of one it is `room.name_one`."""
        return self(f"{key}_one" if number == 1 else key, count=self.number(number), **values)

    def number(self, value: float, digits: int | None = None) -> str:
        """As people of that language write it: 1,234.5 in English is 1.234,5 in German. `digits`: after the point, as many as it
        has unless said."""
        written = f"{value:,}" if digits is None else f"{value:,.{digits}f}"
        return written.translate(str.maketrans(",.", self("frame.number_marks")))

    def say(self, table: str, name: str) -> str:
        """What machines call so, in words: a way of answering, a stage, a kind of job. A plugin's own name is as it is, without
        underscores."""
        return self._words.get(f"{table}.{name.replace(' ', '_')}") or name.replace("_", " ")


@lru_cache
def texts_in(language: str) -> Texts:
    """Raises KeyError for a language that there is not."""
    if language not in LANGUAGES:
        raise KeyError(language)
    return Texts(language, load_words("en") | load_words(language))


def load_words(language: str) -> dict[str, str]:
    """`room.name` -> text, as the table of the language has them."""
    table = tomllib.loads(resources.files(__package__).joinpath(f"{language}.toml").read_text("utf-8"))
    return {f"{room}.{name}": text for room, words in table.items() for name, text in words.items()}


def choose_language(accepted: str) -> str:
    """The first language of an Accept-Language header that there is; English else. Weights are taken to be in order, as
    browsers send them."""
    for part in accepted[:500].split(","):
        language = part.partition(";")[0].partition("-")[0].strip().lower()
        if language in LANGUAGES:
            return language
    return "en"
