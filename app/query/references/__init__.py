"""Words by which a message leans on what was said before, by language. Data; app/query/followup.py reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.language.text import folded_words
from app.query.references.de import DE
from app.query.references.en import EN
from app.query.references.es import ES
from app.query.references.fr import FR
from app.query.references.table import LAST, References

__all__ = ["ABOUT_DOCUMENTS", "BY_LANGUAGE", "LAST", "References"]

BY_LANGUAGE: Final[Mapping[str, References]] = {"en": EN, "fr": FR, "es": ES, "de": DE}

ABOUT_DOCUMENTS: Final = folded_words(
    "document documents file files page text report paper article manual handbook pdf collection chapter section source "
    "fichier rapport texte manuel dossier chapitre documento documentos archivo informe texto manual capitulo "
    "dokument dokumente datei bericht handbuch kapitel abschnitt"
)
"""After a demonstrative: what is meant is a source, not a subject."""
