"""Words that turn a statement round, and words about speaker and listener. Folded; English, French, Spanish, German."""

from __future__ import annotations

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS: Final = _set(
    "not no never none nobody nothing neither nor without cannot non ne pas jamais aucun aucune rien sans ni nunca ningun "
    "ninguna nadie nada sin tampoco nicht kein keine keinen keinem keiner nie niemals niemand nichts ohne weder"
)
"""Only whether there is one counts, so "ne ... pas" is one negation."""

NO_NEGATION: Final = frozenset(
    {
        ("not", "only"), ("not", "just"), ("not", "least"), ("no", "matter"), ("nicht", "nur"), ("no", "solo"),
        ("non", "seulement"),
    }
)  # fmt: skip

SPEAKER: Final = _set(
    "i me my mine myself you your yours we us our ours ve je j moi mon mes nous notre nos vous votre vos tu yo mi mis "
    "nosotros nuestro nuestra tus usted ich mich mir mein meine wir uns unser unsere du dein deine"
)

INTERJECTIONS: Final = _set("yes yeah oui si ja nein ok okay well oh wow ah hello hi hey sure thanks")

COMMANDS: Final = (
    "pg_reindex", "reindex", "vacuum", "kubectl", "helm", "docker compose", "systemctl", "drop table", "truncate",
    "alter table",
)  # fmt: skip
"""A model that advises these without a source that does is dangerous. ("vacuum analyze" holds "vacuum".)"""

_PAIRS: Final = """
increase increased increases rise rose risen rises grow grew grown gained up
    | decrease decreased decreases fall fell fallen falls shrink shrank drop dropped decline declined lost down
higher more above larger greater over bigger | lower less below smaller under fewer
highest largest most maximum best biggest | lowest smallest least minimum worst fewest
before | after
first | last
allow allowed allows permit permitted permits | forbid forbidden forbids prohibited prohibits banned
accept accepted accepts approved approves | reject rejected rejects refused denied declined
win won wins | lose lost loses
open opened opens | close closed closes shut
enable enabled enables | disable disabled disables
always | sometimes
required mandatory must | optional voluntary
true | false
safe | dangerous unsafe toxic
early earlier | late later
north northern | south southern
east eastern | west western
male | female
buy bought | sell sold
import imports imported | export exports exported
hausse augmente augmentation | baisse diminue diminution
superieur superieure | inferieur inferieure
avant | apres
autorise autorisee permis | interdit interdite defendu
obligatoire | facultatif facultative
aumenta aumento subio | disminuye disminuyo bajo
antes | despues
permitido permite | prohibido prohibe
obligatorio | opcional voluntario
steigt stieg gestiegen erhoht | sinkt sank gesunken gesenkt
vor | nach
erlaubt | verboten untersagt
hochste grosste meisten | niedrigste kleinste wenigsten
"""

OPPOSITES: Final = tuple(
    (_set(one), _set(other))
    for one, other in (pair.split("|") for pair in _PAIRS.replace("\n    |", " |").strip().splitlines())
)
