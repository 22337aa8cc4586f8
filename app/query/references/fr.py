"""References in French. Data."""

from __future__ import annotations

from typing import Final

from app.language.text import folded_words
from app.query.references.table import END, LAST, References, pattern

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
    expletive=pattern(
        r"""\bil\s+(?:y\s+a|faut|fallait|faudra|s['’]agit|existe|pleut|suffit|est\s+(?:possible|necessaire|nécessaire|obligatoire|
            vrai|interdit|permis|important|préférable|temps))\b | \by\s+a-t-il\b | \b(?:faut|existe-t|s['’]agit|suffit-t?)-il\b
          | \best-il\s+(?:possible|nécessaire|obligatoire|vrai|interdit|permis|important|utile|prévu)\b
          | \b(?:quelle\s+heure)\s+est-il\b | \bce\s+(?:que|qui|dont|qu['’]|sont|n['’]est)
          | \by\s+(?:avait|aura|aurait)-(?:t-)?il\b | \bqu['’]il\s+s['’] | \bque\s+cela\s+signifie\b | \best-ce\b
          | \bqu['’]est-ce\b | \bn['’]est-ce\s+pas\b | \bce\s+soir\b | \bqu['’]est-ce\s+que\b"""
    ),
    times=folded_words("annee an mois semaine matin soir jour jours siecle moment fois saison"),
    openers=pattern(
        r"""(?:(?:et|mais|ou|alors|ok|donc)[\s,]+)*
            (?:qu['’]en\s+est-il\s+(?:de\s+la\s+|de\s+l['’]|du\s+|des\s+|de\s+|d['’]|pour\s+)|quid\s+(?:de\s+|du\s+|des\s+|d['’])|
               (?:la\s+)?même\s+(?:question|chose)\s+pour\s+|pareil\s+pour\s+|et\s+|ou\s+)"""
    ),
    corrections=pattern(
        r"""(?:non|pardon|désolée?)?[\s,.!-]*je\s+(?:veux|voulais|parle|parlais|pensais)\s*(?:dire|parler\s+de|de|du|à)?\s+"""
    ),
    joints=pattern(r"(?:(?:et|mais|alors|donc|ok|oui|non|bon|ou|merci|d['’]accord)\b[\s,.!]*)+"),
    whole=pattern(
        r"""(?:et\s+|mais\s+)?(?:pourquoi(?:\s+(?:pas|ça|cela))?|comment(?:\s+(?:ça|cela|donc))?|quand|où|qui|quoi|combien|lequel|
            laquelle|lesquels|lesquelles|depuis\s+quand|jusqu['’]à\s+quand|combien\s+de\s+temps|à\s+qui|pour\s+qui|par\s+qui|
            avec\s+qui|d['’]où|quoi\s+d['’]autre|qui\s+d['’]autre|et\s+(?:après|ensuite|alors)|vraiment|en\s+quelle\s+année|
            c['’]est\s+(?:tout|quoi|combien|qui|où|vrai)|par\s+exemple|à\s+quel\s+prix|dans\s+quel\s+(?:cas|pays))"""
    ),
    ordinal=pattern(
        r"""(?:(?:\bl[ae]\s+|\bl['’]|\bau\s+|\bdu\s+|^)(?P<word>premi(?:er|ère)|deuxième|second|seconde|troisième|quatrième|cinquième|derni(?:er|ère))
            (?:\s+(?:point|élément|option|étape|méthode|raison|source|document|résultat|exemple|cas|solution|règle|politique|produit)\b(?!\s+d)|"""
        + END
        + r""")|\b(?:numéro|point|option|étape|source|document|n°)\s*(?P<number>\d{1,2})\b)"""
    ),
    every=pattern(r"\bles\s+(?:deux|trois)(?=\s*(?:$|[?.!,;]|sont|ont|étaient))|\btous\s+les\s+(?:deux|trois)\b|\bchacune?\s+d['’]e"),
    other=pattern(r"\b(?:les|des|l['’]|d['’])\s*(?:(?:deux|trois)\s+)?autres?(?=\s*(?:$|[?.!,;]))|\ble\s+reste\b"),
    pick=pattern(r"\b(?:le|la|les)?quel(?:le)?s?\s+(?:d['’]entre\s+(?:eux|elles)|des\s+deux)\b|\b(?:lequel|laquelle|lesquels|lesquelles)\b"),
    ordinals={
        "premier": 1, "premiere": 1, "deuxieme": 2, "second": 2, "seconde": 2, "troisieme": 3, "quatrieme": 4,
        "cinquieme": 5, "dernier": LAST, "derniere": LAST,
    },
)  # fmt: skip
