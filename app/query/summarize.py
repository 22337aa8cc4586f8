"""Whether a message asks for a summary of a whole document or of the whole collection. Pure.

A summary of the whole is read in order, passage by passage; "summarize the refund policy" is a question like any other,
answered from the passages that are about it.
"""

from __future__ import annotations

import re
from typing import Final

FILE_NAME: Final = re.compile(
    r"(?<![\w/])[\w][\w .()/-]{0,120}?\."
    r"(?:pdf|docx?|md|markdown|txt|html?|rst|pptx?|xlsx?|csv|json|py|js|ts|java|go|rs|c|cpp|sql)\b",
    re.IGNORECASE,
)

_VERB: Final = re.compile(
    r"""\b(?:summari[sz]e|sum\s+up|tl;?dr|recap|condense|(?:give|write|provide|make|show|create)\s+(?:me\s+|us\s+)?(?:an?|the)\s+
          (?:\w+\s+){0,2}(?:summary|overview|synopsis|abstract|outline|gist|digest)|
        (?:summary|overview|synopsis|outline|gist|key\s+(?:points|takeaways)|main\s+(?:points|ideas|topics|themes))\s+(?:of|for|from|in|about)|
        what\s+(?:is|are)\s+(?:this|these|the|my|our|all)\b[^?]{0,40}\babout|what\s+(?:does|do)\s+(?:this|the|these)\b[^?]{0,40}\bcover|
        résum(?:e|er|é|ez)|synthèse|synthétise[rz]?|(?:aperçu|points\s+(?:clés|principaux)|idées\s+principales)\s+(?:de|du|des|d['’])|
        de\s+quoi\s+(?:parle(?:nt)?|traite(?:nt)?)|
        resum(?:e|en|ir|a|idme)|resúme(?:me|lo)?|sintetiza|sintetizar|(?:visión\s+general|síntesis|puntos\s+(?:clave|principales)|ideas\s+principales)
        \s+(?:de|del)|de\s+qué\s+(?:trata|tratan|habla|hablan)|
        zusammenfass(?:en|ung)|fass(?:e|t|en)?\b[^?.!]{0,80}\bzusammen|überblick\s+(?:über|zu|von)|(?:kernpunkte|hauptpunkte|kernaussagen|
        hauptthemen)\s+(?:von|des|der|aus|in)|worum\s+geht\s+es|wovon\s+handel[nt]|worüber\s+handel[nt])""",
    re.IGNORECASE | re.VERBOSE,
)
_WHOLE: Final = re.compile(
    r"""\b(?:(?:this|the|these|those|all|my|our|your|every|each|whole|entire|uploaded|attached|indexed)\s+){1,4}
          (?:documents?|files?|collections?|pdfs?|papers?|reports?|texts?|articles?|handbook|manual|contents?|corpus|library|uploads?|
             knowledge\s+base|materials?|books?|docs?)\b
      | \b(?:everything|it\s+all|all\s+of\s+(?:it|them|this))\b
      | \b(?:(?:le|la|les|du|des|aux?|ce|cet|cette|ces|mon|mes|nos|vos|tous|toute|tout|l['’])\s*){1,3}
          (?:documents?|fichiers?|collection|pdf|rapports?|textes?|articles?|manuel|contenu|corpus|ensemble|livres?)\b
      | \btout\s*[?.!]*$
      | \b(?:(?:el|la|los|las|este|esta|estos|estas|ese|mi|mis|todos|todas|todo|toda|del|al)\s+){1,3}
          (?:documentos?|archivos?|ficheros?|colección|pdf|informes?|textos?|artículos?|manual|contenido|libros?)\b
      | \btodo\s*[?.!]*$
      | \b(?:(?:das|der|die|den|dem|des|diese[smnr]?|alle|aller|mein|meine|meiner|unsere|ganze|gesamte)\s+){1,3}
          (?:dokumente?[ns]?|dateie?n?|sammlung|pdfs?|berichte?s?|texte?s?|artikels?|handbuchs?|inhalt|bücher|buch)\b
      | \balles\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NARROW: Final = re.compile(
    r"^\s*(?:about|on|regarding|concerning|say|says|mention|related|that|which|where|who|"
    r"sur|concernant|à\s+propos|qui|que|sobre|acerca|que|über|zu|zum|zur|bezüglich|die|das|der)\b",
    re.IGNORECASE,
)
_BARE: Final = re.compile(
    r"^\W*(?:please\s+|can\s+you\s+|could\s+you\s+|bitte\s+|por\s+favor\s+|peux-tu\s+)*"
    r"(?:summari[sz]e(?:\s+(?:it|this|them|all))?|summary|overview|tl;?dr|résum[eé]r?|résumez|un\s+résumé|resume|resumen|resumir|"
    r"zusammenfassung|zusammenfassen|"
    r"(?:(?:what|which)\s+are|quels\s+sont|quelles\s+sont|cuáles\s+son|(?:was|welches|welche)\s+sind)\s+"
    r"(?:the|les|los|las|die)\s+(?:(?:main|key|central|principal|principales|wichtigsten|zentralen)\s+"
    r"(?:themes|topics|subjects|points|ideas|themen|punkte)|(?:thèmes|sujets|points|idées|temas|puntos|ideas)\s+"
    r"(?:principaux|principales|clés|clave|centraux|centrales))|(?:was|welches|welche)\s+sind\s+(?:die\s+)?hauptthemen)"
    r"(?:\s+(?:please|bitte|stp|svp|por\s+favor))?\W*$",
    re.IGNORECASE,
)


def asks_summary(text: str) -> bool:
    """Whether the message asks for a summary of anything: of the whole, of a document, or of what is said on a subject."""
    text = text[:600]
    return bool(_BARE.match(text) or _VERB.search(text))


def wants_summary(text: str) -> bool:
    """Whether the message asks to summarize a document or the collection as a whole, in English, French, Spanish, German."""
    text = text[:600]
    if _BARE.match(text):
        return True
    verb = _VERB.search(text)
    if not verb:
        return False
    if FILE_NAME.search(text):
        return True
    return any(
        not _NARROW.match(text[whole.end() :]) or verb.start() > whole.start() or whole.end() <= verb.end()
        for whole in _WHOLE.finditer(text)
    )
