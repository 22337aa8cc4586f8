"""References in German. Data."""

from __future__ import annotations

from typing import Final

from app.language.text import folded_words
from app.query.references.table import END, LAST, References, pattern

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
    questions=folded_words(
        "was wer wem wen wessen wo wohin woher wann warum weshalb wieso wie "
        "welche welcher welches welchem welchen"
    ),
    expletive=pattern(
        r"""\b(?:gibt|gab)\s+es\b | \bes\s+(?:gibt|gab|handelt|geht|regnet|heißt)\b | \b(?:handelt|geht)\s+es\b
          | \bwie\s+spät\s+ist\s+es\b | \b(?:ist|war|wäre)\s+es\s+(?:möglich|nötig|erlaubt|wahr|verboten|wichtig|sinnvoll|sicher|
            üblich|richtig|notwendig)\b | \bes\s+ist\s+(?:möglich|nötig|erlaubt|wahr|verboten|wichtig)\b
          | \bdamit\s+(?:die|der|das|ich|man|wir)\b
          | \b(?:können|könnten|würden|haben|sind|wissen|geben|erklären|zeigen|nennen|sagen|fassen|vergleichen)\s+Sie\b
          | \bda(?:rauf|von|ran|zu|mit|für|rüber|rin|gegen),\s"""
    ),
    times=folded_words("jahr jahres monat monats woche tag tage mal jahrhundert zeit saison"),
    openers=pattern(
        r"""(?:(?:und|aber|oder|also|ok)[\s,]+)*
            (?:was\s+ist\s+(?:denn\s+)?mit\s+|wie\s+(?:ist|sieht|steht)\s+es\s+(?:mit|in|bei|um|für)\s+|(?:und\s+)?das\s+(?:gleiche|selbe)\s+für\s+|
               dasselbe\s+für\s+|gleiche\s+frage\s+(?:für|zu)\s+|und\s+|oder\s+)"""
    ),
    corrections=pattern(r"(?:nein|sorry|entschuldigung)?[\s,.!-]*ich\s+(?:meine|meinte|rede\s+von|sprach\s+von)\s+"),
    joints=pattern(r"(?:(?:und|aber|also|ok|okay|ja|nein|gut|oder|dann|danke)\b[\s,.!]*)+"),
    whole=pattern(
        r"""(?:und\s+|aber\s+)?(?:warum(?:\s+nicht)?|wieso|weshalb|wie(?:\s+(?:das|so|lange|viel|viele|oft|alt|hoch|groß|weit))?|wann|wo|wer|
            was|welche[rsnm]?|seit\s+wann|bis\s+wann|für\s+wen|mit\s+wem|von\s+wem|woher|wohin|wozu|was\s+(?:noch|sonst)|
            wer\s+(?:noch|sonst)|und\s+(?:dann|danach)|wirklich|in\s+welchem\s+(?:jahr|land|fall)|zum\s+beispiel|
            ist\s+das\s+(?:alles|so|wahr)|was\s+ist\s+das|wer\s+ist\s+das|wie\s+geht\s+das)"""
    ),
    ordinal=pattern(
        r"""(?:(?:\b(?:der|die|das|den|dem|beim|zum)\s+|^)(?P<word>erste[nrs]?|zweite[nrs]?|dritte[nrs]?|vierte[nrs]?|fünfte[nrs]?|
            letzte[nrs]?|erstere[nrs]?|letztere[nrs]?)
            (?:\s+(?:punkt|eintrag|option|schritt|methode|grund|quelle|dokument|ergebnis|beispiel|fall|möglichkeit|regel|richtlinie|produkt)\b|"""
        + END
        + r""")|\b(?:nummer|punkt|option|schritt|quelle|dokument|nr\.)\s*(?P<number>\d{1,2})\b)"""
    ),
    every=pattern(r"\b(?:beide[nrs]?|alle\s+(?:drei|beide))(?=\s*(?:$|[?.!,;]|sind|haben|waren|davon|gleich))"),
    other=pattern(r"\b(?:die|der|das|den)\s+andere[nrs]?(?:\s+(?:beiden|zwei|drei))?(?=\s*(?:$|[?.!,;]))|\bder\s+rest\b"),
    pick=pattern(r"\bwelche[rsnm]?\s+(?:davon|von\s+(?:ihnen|beiden|diesen))\b"),
    ordinals={
        "erste": 1, "ersten": 1, "erster": 1, "erstes": 1, "erstere": 1, "ersterer": 1, "ersteres": 1, "ersteren": 1,
        "zweite": 2, "zweiten": 2, "zweiter": 2, "zweites": 2, "dritte": 3, "dritten": 3, "dritter": 3, "drittes": 3,
        "vierte": 4, "vierten": 4, "funfte": 5, "funften": 5, "letzte": LAST, "letzten": LAST, "letzter": LAST,
        "letztes": LAST, "letztere": LAST, "letzterer": LAST, "letzteres": LAST, "letzteren": LAST,
    },
)  # fmt: skip
