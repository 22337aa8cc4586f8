"""References in Spanish. Data."""

from __future__ import annotations

from typing import Final

from app.language.text import folded_words
from app.query.references.table import END, LAST, References, pattern

ES: Final = References(
    pronouns=folded_words("ella ellos ellas ello"),
    possessives=folded_words("su sus suyo suya suyos suyas"),
    demonstratives=folded_words("este esta estos estas ese esa esos esas eso esto aquel aquella aquello aquellos aquellas"),
    adverbs=folded_words("alli ahi alla"),
    determiners=folded_words(
        "el la los las un una unos unas mi mis nuestro nuestra cada todo toda todos todas este esta ese esa"
    ),
    prepositions=folded_words("de del a al para por en con sin sobre entre contra desde hasta"),
    verbs=folded_words(
        "es son era eran fue fueron esta estan tiene tienen tenia tuvo tuvieron hay hace hacen hizo puede pueden debe deben "
        "cuesta cuestan vale dura duran mide pesa vive vivio murio nacio gano significa produce vende ofrece incluye dice "
        "funciona sirve llama gana"
    ),
    questions=folded_words("que quien quienes cual cuales donde cuando como cuanto cuanta cuantos cuantas"),
    expletive=pattern(
        r"""\besta\s+(?:noche|semana|tarde|mañana)\b | \beste\s+(?:año|mes)\b | \best[áa]n?\b(?!\s+\w+\s*\?) | \bes\s+decir\b
          | \bpor\s+eso\b | \beso\s+sí\b"""
    ),
    times=folded_words("ano mes semana noche tarde manana dia dias siglo momento vez temporada"),
    openers=pattern(
        r"""¿?\s*(?:(?:y|e|pero|o|entonces)[\s,]+)*
            (?:qu[ée]\s+(?:hay\s+de|tal|pasa\s+con|sucede\s+con|ocurre\s+con|me\s+dices\s+de)\s+|(?:y\s+)?lo\s+mismo\s+(?:para|con)\s+|
               (?:la\s+)?misma\s+pregunta\s+(?:para|sobre)\s+|(?:y|e|o)\s+)"""
    ),
    corrections=pattern(
        r"""(?:no|perdón|perdona)?[\s,.!-]*(?:me\s+(?:refiero|refería)\s+(?:al?\s+)?|quer[íi]a\s+decir\s+|quise\s+decir\s+|quiero\s+decir\s+|
            hablo\s+del?\s+|digo\s+)"""
    ),
    joints=pattern(r"¿?\s*(?:(?:y|e|pero|entonces|ok|vale|sí|no|bueno|o|gracias)\b[\s,.!]*)+¿?"),
    whole=pattern(
        r"""¿?\s*(?:y\s+|pero\s+)?(?:por\s*qu[ée](?:\s+no)?|c[óo]mo|cu[áa]ndo|d[óo]nde|qui[ée]n(?:es)?|qu[ée]|cu[áa]l(?:es)?|
            cu[áa]nt[oa]s?|desde\s+cu[áa]ndo|hasta\s+cu[áa]ndo|cu[áa]nto\s+tiempo|para\s+qu[ée]|para\s+qui[ée]n|con\s+qui[ée]n|
            a\s+qui[ée]n|de\s+d[óo]nde|qu[ée]\s+m[áa]s|qui[ée]n\s+m[áa]s|algo\s+m[áa]s|y\s+(?:despu[ée]s|luego)|de\s+verdad|
            en\s+qu[ée]\s+(?:año|país|caso)|por\s+ejemplo|es\s+(?:todo|cierto|verdad))"""
    ),
    ordinal=pattern(
        r"""(?:(?:\b(?:el|la|al|del)\s+|^¿?\s*)(?P<word>primer[oa]?|segund[oa]|tercer[oa]?|cuart[oa]|quint[oa]|[úu]ltim[oa])
            (?:\s+(?:punto|elemento|opción|paso|método|razón|fuente|documento|resultado|ejemplo|caso|solución|regla|política|producto)\b(?!\s+de)|"""
        + END
        + r""")|\b(?:número|punto|opción|paso|fuente|documento|n[º°])\s*(?P<number>\d{1,2})\b)"""
    ),
    every=pattern(r"\b(?:ambos|ambas)\b|\b(?:los|las)\s+(?:dos|tres)(?=\s*(?:$|[?.!,;]|son|tienen))|\bcada\s+un[oa](?:\s+de\s+ell[oa]s|(?=\s*\?))"),
    other=pattern(r"\b(?:los|las|el|la)\s+otr[oa]s?(?:\s+(?:dos|tres))?(?=\s*(?:$|[?.!,;]))|\bel\s+resto\b"),
    pick=pattern(r"\bcu[áa]l(?:es)?\s+de\s+(?:ell[oa]s|l[oa]s\s+dos|est[oa]s|es[oa]s)\b"),
    ordinals={
        "primer": 1, "primero": 1, "primera": 1, "segundo": 2, "segunda": 2, "tercer": 3, "tercero": 3, "tercera": 3,
        "cuarto": 4, "cuarta": 4, "quinto": 5, "quinta": 5, "ultimo": LAST, "ultima": LAST,
    },
)  # fmt: skip
