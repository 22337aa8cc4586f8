"""What Cairn says where the documents do not answer, in each language. Data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.language.tokens import Language

REFUSALS: Final[Mapping[Language, str]] = {
    "en": "I don't know based on the provided documents.",
    "fr": "Je ne sais pas d'après les documents fournis.",
    "es": "No lo sé según los documentos proporcionados.",
    "de": "Das weiß ich anhand der vorliegenden Dokumente nicht.",
}
