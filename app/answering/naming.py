"""Which documents a message names, and which topic it has besides. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from app.domain.document import ListedDocument
from app.language.text import fold
from app.language.tokens import alike, spelled_terms, terms

_SAID: Final = """
    summarize summarise summarized summary summaries overview recap outline digest gist tldr synopsis brief abstract
    résumer résume résumez résumé résumés synthèse synthétiser aperçu récapituler récapitulatif resumir resume resuma
    resumen resúmenes síntesis sintetizar sinopsis panorama zusammenfassen zusammenfassung fasse fass zusammen
    überblick übersicht kurzfassung show count number total amount list enumerate display contains contain include
    available stored uploaded indexed combien nombre liste lister affiche afficher montre montrer disponibles stockés
    chargés indexés contient cuántos cuántas número lista listar muestra mostrar enumera cargados indexados contiene
    hay anzahl viele zeige zeig auflisten aufzählen vorhanden gespeichert hochgeladen indexiert enthält gibt main key
    important points point ideas idea essential principal principaux principales clés idées puntos clave wichtigsten
    wichtigste punkte hauptpunkte kernaussagen kurz short brièvement brevemente quick please merci favor bitte
    sentences paragraph phrases frases sätzen about talk talks mention mentions mentioned concern concerns deal deals
    discuss discusses cover covers refer refers related regarding parlent parle mentionnent mentionne concernent
    traitent évoquent abordent sujet hablan habla mencionan menciona tratan tema erwähnen erwähnt handeln behandeln
    betreffen sprechen thema themen hauptthemen theme themes topic topics subject subjects thème thèmes sujets temas word
    words term terms phrase mot mots palabra palabras wort wörter kommt kommen
"""
"""What one does with documents as such."""
_CALLED: Final = """
    document documents doc docs file files paper papers text texts collection collections database corpus knowledge
    base library content contents everything all whole entire pdf pdfs page pages fichier fichiers textes données
    bibliothèque contenu contenus tout tous toute toutes entier ensemble documento documentos archivo archivos fichero
    ficheros texto textos colección colecciones datos biblioteca contenido contenidos todo todos toda todas entero
    conjunto dokument dokumente dokumenten datei dateien texte sammlung datenbank bibliothek inhalt inhalte alles alle
    allen gesamte gesamten ganze ganzen unterlagen korpus
"""
"""What documents and collections of them are called."""
_DOCUMENT: Final = frozenset(fold(word) for word in _CALLED.split())
_META: Final = frozenset(fold(word) for word in (_SAID + _CALLED).split())
SHORTEST_NAME: Final = 3
"""Letters of a title or file name that is looked for in a message."""


def topic(message: str) -> list[str]:
    """Words of the message, as spelled, that are about something, not about documents as such."""
    return [raw for raw, word in spelled_terms(message) if word not in _META]


def named(message: str, documents: Sequence[ListedDocument]) -> list[ListedDocument]:
    """Documents whose title, identity or file name stands in the message; else those whose name holds all words of its
    topic, if these are not most of them. Empty where it names none.

    "Summarise parental leave" names no document "Leave", but has a subject; "summarise the document on leave" names it.
    """
    said = f" {_plain(message)} "
    wanted = [fold(word) for word in topic(message)]
    spoken = []
    for item in documents:
        name = max((name for name in _names(item) if f" {name} " in said), key=len, default="")
        beside = set(wanted) - set(name.split())
        if name and (
            not beside or ("." in item.external_id and _plain(item.external_id) in said) or _of_document(message)
        ):
            spoken.append(item)
    if spoken or not wanted:
        return spoken
    fitting = [item for item in documents if _holds(item, wanted)]
    return fitting if len(fitting) == 1 or 2 * len(fitting) <= len(documents) else []


def without_names(message: str, external_ids: Sequence[str]) -> str:
    """The message without the file names in it: what is asked of these documents."""
    for external_id in external_ids:
        for name in (external_id, PurePosixPath(external_id).name):
            message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", message, flags=re.IGNORECASE)
    return " ".join(message.split())


def _of_document(message: str) -> bool:
    return any(fold(word) in _DOCUMENT for word in _APART.split(message))


def _names(item: ListedDocument) -> set[str]:
    path = PurePosixPath(item.external_id)
    names = {_plain(name) for name in (item.title, item.external_id, path.name, path.stem)}
    return {name for name in names if len(name) >= SHORTEST_NAME and not set(name.split()) <= _META}


def _holds(item: ListedDocument, wanted: Sequence[str]) -> bool:
    vocabulary = frozenset(terms(f"{item.title} {_plain(item.external_id)}"))
    return all(alike(word, vocabulary) for word in wanted)


_APART = re.compile(r"[\W_]+")


def _plain(text: str) -> str:
    """Words and numbers alone, folded: "Leave-Policy_2024.pdf" and "leave policy 2024 pdf" are the same."""
    return _APART.sub(" ", fold(text)).strip()
