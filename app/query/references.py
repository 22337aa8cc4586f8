"""Words by which a message leans on what was said before, by language. Data; app/query/followup.py reads it.

Folded forms (no case, no accents). English, French, Spanish, German.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.words import folded_words


@dataclass(frozen=True, slots=True)
class References:
    """How one language refers back.

    `pronouns` stand for a thing or person, `possessives` before what belongs to it, `demonstratives` before its kind
    ("that policy") or alone, `adverbs` for a place or a means ("there", "davon"). `determiners` begin a noun phrase,
    `prepositions` bind what follows. `expletive`: where such a word refers to nothing. `times`: nouns after a
    demonstrative that mean now. `openers` end where the new focus begins ("what about ..."), `corrections` likewise.
    `joints` are words that may stand before anything ("and", "so"). `whole`: messages that are nothing without history.
    `ordinal` has the groups `word` or `number`; `every` means all that was listed; `other` what was not yet spoken of.
    """

    pronouns: frozenset[str]
    possessives: frozenset[str]
    demonstratives: frozenset[str]
    adverbs: frozenset[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    verbs: frozenset[str]
    questions: frozenset[str]
    expletive: re.Pattern[str]
    times: frozenset[str]
    openers: re.Pattern[str]
    corrections: re.Pattern[str]
    joints: re.Pattern[str]
    whole: re.Pattern[str]
    ordinal: re.Pattern[str]
    every: re.Pattern[str]
    other: re.Pattern[str]
    pick: re.Pattern[str]
    ordinals: Mapping[str, int]


def _p(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


LAST: Final = -1

_END = r"(?=\s*(?:$|[?.!,;]))"

EN: Final = References(
    pronouns=folded_words("it he she they him her them itself himself herself themselves"),
    possessives=folded_words("its his her their hers theirs whose's"),
    demonstratives=folded_words("this that these those such"),
    adverbs=folded_words("there therein thereof"),
    determiners=folded_words("the a an my your our this that these those each every any all some no"),
    prepositions=folded_words("of for about in to on by with from at under after before behind between against into than as"),
    verbs=folded_words(
        "is are was were be been am do does did has have had can could will would shall should may might must did "
        "makes make means mean work works apply applies cost costs"
    ),
    questions=folded_words("what who whom whose where when which why how"),
    expletive=_p(
        r"""\bit\s+(?:is\s+|was\s+|be\s+|still\s+|really\s+|ever\s+)*(?:possible|necessary|important|true|safe|legal|illegal|
            better|best|worth|raining|ok|okay|easy|hard|difficult|allowed|permitted|mandatory|required|likely|common|normal|
            said|known|believed|considered)\b.{0,40}\b(?:to|that|for|if)\b
          | \bit\s+(?:take|takes|took|cost|costs)\b[^?.!]{0,40}\bto\s+\w+
          | \bit\s+(?:mean|means)\s+(?:to|when|if|that)\b | \bwhat\s+(?:time|day|date|year)\s+is\s+it\b
          | \bis\s+it\s+(?:that|the\s+case)\b | \bmake\s+it\s+to\b | \b(?:is|are|was|were|be|been|has|have|had|will)\s+there\b
          | \bthere\s+(?:is|are|was|were|any|exist|a|an|no|been|be|have|has|will)\b | \bso\s+that\b | \bsuch\s+(?:as|a|an)\b
          | \bthat\s+is\b(?=,) | \bthan\s+th(?:at|ose)\s+of\b | \bhow\s+\w+\s+does\s+it\s+get\b | \bit\s+(?:rain|snow)s?\b
          | \b(?:is|are|was|were)\s+(?:it|they)\s+(?:called|named)\s+\w+"""
    ),
    times=folded_words("year month week morning evening afternoon time times day days moment world century way season"),
    openers=_p(
        r"""(?:(?:and|but|or|so|ok|okay|also|then|now)[\s,]+)*
            (?:(?:what|how)\s+about|what\s+of|what\s+if\s+it\s+is|(?:and\s+)?the\s+same\s+(?:thing\s+)?for|same\s+for|
               same\s+question\s+(?:for|about)|likewise\s+for|as\s+for|and|or)\s+"""
    ),
    corrections=_p(
        r"""(?:no|nope|sorry|actually|wait)?[\s,.!-]*(?:i\s+(?:mean|meant|was\s+asking\s+about|was\s+talking\s+about)|rather)\s+"""
    ),
    joints=_p(r"(?:(?:and|but|so|ok|okay|also|then|now|well|yes|no|or|hmm+|alright|great|thanks)\b[\s,.!]*)+"),
    whole=_p(
        r"""(?:but\s+|and\s+|so\s+)?(?:why|how|when|where|who|which|what|since\s+when|until\s+when|how\s+(?:so|come|much|many|
            long|often|far|old|big|tall|high|late|early)|why\s+(?:not|is\s+that|so)|says?\s+who|really|for\s+whom|by\s+whom|
            to\s+whom|with\s+whom|in\s+which\s+(?:year|country|case)|what\s+for|where\s+from|what\s+else|who\s+else|
            where\s+else|and\s+then|then\s+what|so\s+what|any(?:thing)?\s+(?:else|others?)|which\s+ones?|for\s+example|
            such\s+as|is\s+that\s+(?:all|so|it|true)|are\s+you\s+sure)"""
    ),
    ordinal=_p(
        r"""(?:(?:\bthe\s+|^)(?P<word>first|second|third|fourth|fifth|sixth|last|latter|former|1st|2nd|3rd|4th|5th)
              (?:\s+(?:one|item|point|option|step|method|reason|source|document|result|example|part|case|two)\b(?!\s+(?:of|in|to)\b)|"""
        + _END
        + r""")|\b(?:number|item|point|option|step|source|document|result|no\.)\s*\#?(?P<number>\d{1,2})\b)"""
    ),
    every=_p(r"\b(?:both|either|neither)\b|\b(?:each|all|any|none|some)\s+of\s+(?:them|these|those)\b"),
    other=_p(
        r"\bthe\s+other\s+(?:one|ones|two|three|four|five)\b(?!\s+\w+s\b)|\b(?:the\s+)?others?" + _END + r"|\banother\s+one\b|"
        r"\bthe\s+rest" + _END
    ),
    pick=_p(r"\bwhich\s+(?:one|ones|of\s+(?:them|these|those))\b|\b(?:this|that)\s+ones?\b|^(?:and\s+)?the\s+\w+\s+ones?\b"),
    ordinals={
        "first": 1, "former": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5,
        "5th": 5, "sixth": 6, "last": LAST, "latter": LAST,
    },
)  # fmt: skip

FR: Final = References(
    pronouns=folded_words("il elle ils elles lui eux celui-ci celle-ci ceux-ci celles-ci celui-la celle-la ceux-la celles-la"),
    possessives=folded_words("son sa ses leur leurs"),
    demonstratives=folded_words("ce cet cette ces cela ceci ca"),
    adverbs=folded_words("la-bas la-dedans"),
    determiners=folded_words("le la les l un une mon ma mes votre vos notre nos chaque tout tous toutes ce cet cette ces"),
    prepositions=folded_words("de d du des a au aux pour dans en sur par avec chez sous vers entre contre"),
    verbs=folded_words(
        "est sont etait etaient a ont avait avaient fait font peut peuvent doit doivent faut sera seront fut coute coutent "
        "est-ce qu'est-ce dit va vont"
    ),
    questions=folded_words("que quoi qui quel quelle quels quelles ou quand combien pourquoi comment lequel laquelle est-ce qu"),
    expletive=_p(
        r"""\bil\s+(?:y\s+a|faut|fallait|faudra|s['’]agit|existe|pleut|suffit|est\s+(?:possible|necessaire|nécessaire|obligatoire|
            vrai|interdit|permis|important|préférable|temps))\b | \by\s+a-t-il\b | \b(?:faut|existe-t|s['’]agit|suffit-t?)-il\b
          | \best-il\s+(?:possible|nécessaire|obligatoire|vrai|interdit|permis|important|utile|prévu)\b
          | \b(?:quelle\s+heure)\s+est-il\b | \bce\s+(?:que|qui|dont|qu['’]|sont|n['’]est)
          | \by\s+(?:avait|aura|aurait)-(?:t-)?il\b | \bqu['’]il\s+s['’] | \bque\s+cela\s+signifie\b | \best-ce\b | \bqu['’]est-ce\b | \bn['’]est-ce\s+pas\b | \bce\s+soir\b | \bqu['’]est-ce\s+que\b"""
    ),
    times=folded_words("annee an mois semaine matin soir jour jours siecle moment fois saison"),
    openers=_p(
        r"""(?:(?:et|mais|ou|alors|ok|donc)[\s,]+)*
            (?:qu['’]en\s+est-il\s+(?:de\s+la\s+|de\s+l['’]|du\s+|des\s+|de\s+|d['’]|pour\s+)|quid\s+(?:de\s+|du\s+|des\s+|d['’])|
               (?:la\s+)?même\s+(?:question|chose)\s+pour\s+|pareil\s+pour\s+|et\s+|ou\s+)"""
    ),
    corrections=_p(
        r"""(?:non|pardon|désolée?)?[\s,.!-]*je\s+(?:veux|voulais|parle|parlais|pensais)\s*(?:dire|parler\s+de|de|du|à)?\s+"""
    ),
    joints=_p(r"(?:(?:et|mais|alors|donc|ok|oui|non|bon|ou|merci|d['’]accord)\b[\s,.!]*)+"),
    whole=_p(
        r"""(?:et\s+|mais\s+)?(?:pourquoi(?:\s+(?:pas|ça|cela))?|comment(?:\s+(?:ça|cela|donc))?|quand|où|qui|quoi|combien|lequel|
            laquelle|lesquels|lesquelles|depuis\s+quand|jusqu['’]à\s+quand|combien\s+de\s+temps|à\s+qui|pour\s+qui|par\s+qui|
            avec\s+qui|d['’]où|quoi\s+d['’]autre|qui\s+d['’]autre|et\s+(?:après|ensuite|alors)|vraiment|en\s+quelle\s+année|
            c['’]est\s+(?:tout|quoi|combien|qui|où|vrai)|par\s+exemple|à\s+quel\s+prix|dans\s+quel\s+(?:cas|pays))"""
    ),
    ordinal=_p(
        r"""(?:(?:\bl[ae]\s+|\bl['’]|\bau\s+|\bdu\s+|^)(?P<word>premi(?:er|ère)|deuxième|second|seconde|troisième|quatrième|cinquième|derni(?:er|ère))
            (?:\s+(?:point|élément|option|étape|méthode|raison|source|document|résultat|exemple|cas|solution)\b(?!\s+d)|"""
        + _END
        + r""")|\b(?:numéro|point|option|étape|source|document|n°)\s*(?P<number>\d{1,2})\b)"""
    ),
    every=_p(r"\bles\s+(?:deux|trois)(?=\s*(?:$|[?.!,;]|sont|ont|étaient))|\btous\s+les\s+(?:deux|trois)\b|\bchacune?\s+d['’]e"),
    other=_p(r"\b(?:les|des|l['’]|d['’])\s*(?:(?:deux|trois)\s+)?autres?(?=\s*(?:$|[?.!,;]))|\ble\s+reste\b"),
    pick=_p(r"\b(?:le|la|les)?quel(?:le)?s?\s+(?:d['’]entre\s+(?:eux|elles)|des\s+deux)\b|\b(?:lequel|laquelle|lesquels|lesquelles)\b"),
    ordinals={
        "premier": 1, "premiere": 1, "deuxieme": 2, "second": 2, "seconde": 2, "troisieme": 3, "quatrieme": 4,
        "cinquieme": 5, "dernier": LAST, "derniere": LAST,
    },
)  # fmt: skip

ES: Final = References(
    pronouns=folded_words("ella ellos ellas ello"),
    possessives=folded_words("su sus suyo suya suyos suyas"),
    demonstratives=folded_words("este esta estos estas ese esa esos esas eso esto aquel aquella aquello aquellos aquellas"),
    adverbs=folded_words("alli ahi alla"),
    determiners=folded_words("el la los las un una unos unas mi mis nuestro nuestra cada todo toda todos todas este esta ese esa"),
    prepositions=folded_words("de del a al para por en con sin sobre entre contra desde hasta"),
    verbs=folded_words(
        "es son era eran fue fueron esta estan tiene tienen tenia tuvo tuvieron hay hace hacen hizo puede pueden debe deben "
        "cuesta cuestan vale dura duran mide pesa vive vivio murio nacio gano significa produce vende ofrece incluye dice "
        "funciona sirve llama gana"
    ),
    questions=folded_words("que quien quienes cual cuales donde cuando como cuanto cuanta cuantos cuantas"),
    expletive=_p(
        r"""\besta\s+(?:noche|semana|tarde|mañana)\b | \beste\s+(?:año|mes)\b | \best[áa]n?\b(?!\s+\w+\s*\?) | \bes\s+decir\b
          | \bpor\s+eso\b | \beso\s+sí\b"""
    ),
    times=folded_words("ano mes semana noche tarde manana dia dias siglo momento vez temporada"),
    openers=_p(
        r"""¿?\s*(?:(?:y|e|pero|o|entonces)[\s,]+)*
            (?:qu[ée]\s+(?:hay\s+de|tal|pasa\s+con|sucede\s+con|ocurre\s+con|me\s+dices\s+de)\s+|(?:y\s+)?lo\s+mismo\s+(?:para|con)\s+|
               (?:la\s+)?misma\s+pregunta\s+(?:para|sobre)\s+|(?:y|e|o)\s+)"""
    ),
    corrections=_p(
        r"""(?:no|perdón|perdona)?[\s,.!-]*(?:me\s+(?:refiero|refería)\s+(?:al?\s+)?|quer[íi]a\s+decir\s+|quise\s+decir\s+|quiero\s+decir\s+|
            hablo\s+del?\s+|digo\s+)"""
    ),
    joints=_p(r"¿?\s*(?:(?:y|e|pero|entonces|ok|vale|sí|no|bueno|o|gracias)\b[\s,.!]*)+¿?"),
    whole=_p(
        r"""¿?\s*(?:y\s+|pero\s+)?(?:por\s*qu[ée](?:\s+no)?|c[óo]mo|cu[áa]ndo|d[óo]nde|qui[ée]n(?:es)?|qu[ée]|cu[áa]l(?:es)?|
            cu[áa]nt[oa]s?|desde\s+cu[áa]ndo|hasta\s+cu[áa]ndo|cu[áa]nto\s+tiempo|para\s+qu[ée]|para\s+qui[ée]n|con\s+qui[ée]n|
            a\s+qui[ée]n|de\s+d[óo]nde|qu[ée]\s+m[áa]s|qui[ée]n\s+m[áa]s|algo\s+m[áa]s|y\s+(?:despu[ée]s|luego)|de\s+verdad|
            en\s+qu[ée]\s+(?:año|país|caso)|por\s+ejemplo|es\s+(?:todo|cierto|verdad))"""
    ),
    ordinal=_p(
        r"""(?:(?:\b(?:el|la|al|del)\s+|^¿?\s*)(?P<word>primer[oa]?|segund[oa]|tercer[oa]?|cuart[oa]|quint[oa]|[úu]ltim[oa])
            (?:\s+(?:punto|elemento|opción|paso|método|razón|fuente|documento|resultado|ejemplo|caso|solución)\b(?!\s+de)|"""
        + _END
        + r""")|\b(?:número|punto|opción|paso|fuente|documento|n[º°])\s*(?P<number>\d{1,2})\b)"""
    ),
    every=_p(r"\b(?:ambos|ambas)\b|\b(?:los|las)\s+(?:dos|tres)(?=\s*(?:$|[?.!,;]|son|tienen))|\bcada\s+un[oa](?:\s+de\s+ell[oa]s|(?=\s*\?))"),
    other=_p(r"\b(?:los|las|el|la)\s+otr[oa]s?(?:\s+(?:dos|tres))?(?=\s*(?:$|[?.!,;]))|\bel\s+resto\b"),
    pick=_p(r"\bcu[áa]l(?:es)?\s+de\s+(?:ell[oa]s|l[oa]s\s+dos|est[oa]s|es[oa]s)\b"),
    ordinals={
        "primer": 1, "primero": 1, "primera": 1, "segundo": 2, "segunda": 2, "tercer": 3, "tercero": 3, "tercera": 3,
        "cuarto": 4, "cuarta": 4, "quinto": 5, "quinta": 5, "ultimo": LAST, "ultima": LAST,
    },
)  # fmt: skip

DE: Final = References(
    pronouns=folded_words("er sie es ihn ihm ihnen denen"),
    possessives=folded_words(
        "sein seine seinen seinem seiner seines ihr ihre ihren ihrem ihrer ihres deren dessen"
    ),
    demonstratives=folded_words("dies diese dieser dieses diesem diesen jene jener jenes jenem jenen"),
    adverbs=folded_words("dort dorthin davon dafur damit daruber dazu darin daran dagegen danach dahinter darauf daraus dabei"),
    determiners=folded_words("der die das den dem des ein eine einen einem einer mein meine unser unsere jeder jede jedes alle"),
    prepositions=folded_words("von vom fur in im an am auf bei beim mit nach aus zu zum zur uber unter gegen um ohne durch vor"),
    verbs=folded_words(
        "ist sind war waren hat haben hatte hatten wird werden wurde wurden kann konnen muss mussen soll sollen darf gibt "
        "kostet kosten gilt gelten macht heisst heißt liegt lebt starb dauert funktioniert bedeutet"
    ),
    questions=folded_words("was wer wem wen wessen wo wohin woher wann warum weshalb wieso welche welcher welches welchem welchen wie"),
    expletive=_p(
        r"""\b(?:gibt|gab)\s+es\b | \bes\s+(?:gibt|gab|handelt|geht|regnet|heißt)\b | \b(?:handelt|geht)\s+es\b
          | \bwie\s+spät\s+ist\s+es\b | \b(?:ist|war|wäre)\s+es\s+(?:möglich|nötig|erlaubt|wahr|verboten|wichtig|sinnvoll|sicher|
            üblich|richtig|notwendig)\b | \bes\s+ist\s+(?:möglich|nötig|erlaubt|wahr|verboten|wichtig)\b | \bdamit\s+(?:die|der|das|ich|man|wir)\b
          | \b(?:können|könnten|würden|haben|sind|wissen|geben|erklären|zeigen|nennen|sagen|fassen|vergleichen)\s+Sie\b
          | \bda(?:rauf|von|ran|zu|mit|für|rüber|rin|gegen),\s"""
    ),
    times=folded_words("jahr jahres monat monats woche tag tage mal jahrhundert zeit saison"),
    openers=_p(
        r"""(?:(?:und|aber|oder|also|ok)[\s,]+)*
            (?:was\s+ist\s+(?:denn\s+)?mit\s+|wie\s+(?:ist|sieht|steht)\s+es\s+(?:mit|in|bei|um|für)\s+|(?:und\s+)?das\s+(?:gleiche|selbe)\s+für\s+|
               dasselbe\s+für\s+|gleiche\s+frage\s+(?:für|zu)\s+|und\s+|oder\s+)"""
    ),
    corrections=_p(r"(?:nein|sorry|entschuldigung)?[\s,.!-]*ich\s+(?:meine|meinte|rede\s+von|sprach\s+von)\s+"),
    joints=_p(r"(?:(?:und|aber|also|ok|okay|ja|nein|gut|oder|dann|danke)\b[\s,.!]*)+"),
    whole=_p(
        r"""(?:und\s+|aber\s+)?(?:warum(?:\s+nicht)?|wieso|weshalb|wie(?:\s+(?:das|so|lange|viel|viele|oft|alt|hoch|groß|weit))?|wann|wo|wer|
            was|welche[rsnm]?|seit\s+wann|bis\s+wann|für\s+wen|mit\s+wem|von\s+wem|woher|wohin|wozu|was\s+(?:noch|sonst)|
            wer\s+(?:noch|sonst)|und\s+(?:dann|danach)|wirklich|in\s+welchem\s+(?:jahr|land|fall)|zum\s+beispiel|
            ist\s+das\s+(?:alles|so|wahr)|was\s+ist\s+das|wer\s+ist\s+das|wie\s+geht\s+das)"""
    ),
    ordinal=_p(
        r"""(?:(?:\b(?:der|die|das|den|dem|beim|zum)\s+|^)(?P<word>erste[nrs]?|zweite[nrs]?|dritte[nrs]?|vierte[nrs]?|fünfte[nrs]?|
            letzte[nrs]?|erstere[nrs]?|letztere[nrs]?)
            (?:\s+(?:punkt|eintrag|option|schritt|methode|grund|quelle|dokument|ergebnis|beispiel|fall|möglichkeit)\b|"""
        + _END
        + r""")|\b(?:nummer|punkt|option|schritt|quelle|dokument|nr\.)\s*(?P<number>\d{1,2})\b)"""
    ),
    every=_p(r"\b(?:beide[nrs]?|alle\s+(?:drei|beide))(?=\s*(?:$|[?.!,;]|sind|haben|waren|davon|gleich))"),
    other=_p(r"\b(?:die|der|das|den)\s+andere[nrs]?(?:\s+(?:beiden|zwei|drei))?(?=\s*(?:$|[?.!,;]))|\bder\s+rest\b"),
    pick=_p(r"\bwelche[rsnm]?\s+(?:davon|von\s+(?:ihnen|beiden|diesen))\b"),
    ordinals={
        "erste": 1, "ersten": 1, "erster": 1, "erstes": 1, "erstere": 1, "ersterer": 1, "ersteres": 1, "ersteren": 1,
        "zweite": 2, "zweiten": 2, "zweiter": 2, "zweites": 2, "dritte": 3, "dritten": 3, "dritter": 3, "drittes": 3,
        "vierte": 4, "vierten": 4, "funfte": 5, "funften": 5, "letzte": LAST, "letzten": LAST, "letzter": LAST,
        "letztes": LAST, "letztere": LAST, "letzterer": LAST, "letzteres": LAST, "letzteren": LAST,
    },
)  # fmt: skip

BY_LANGUAGE: Final[Mapping[str, References]] = {"en": EN, "fr": FR, "es": ES, "de": DE}

ABOUT_DOCUMENTS: Final = folded_words(
    "document documents file files page text report paper article manual handbook pdf collection chapter section source "
    "fichier rapport texte manuel dossier chapitre documento documentos archivo informe texto manual capitulo "
    "dokument dokumente datei bericht handbuch kapitel abschnitt"
)
"""After a demonstrative: what is meant is a source, not a subject."""
