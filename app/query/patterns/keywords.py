"""Words that speak of more than looking something up, in five families and four languages, and questions about
the collection itself, over folded text (keywords.toml)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, get_args

from app.query.patterns.lexicon import LANGUAGES, Language
from app.query.patterns.tables import table
from app.query.patterns.text import compiled, folded_set

Family = Literal["causal", "analysis", "comparison", "multi_step", "synthesis"]

KEYWORDS: Final[Mapping[tuple[Family, Language], tuple[re.Pattern[str], ...]]] = {
    (family, language): tuple(
        compiled(pattern, german=language == "de") for pattern in table("keywords")[family][language]
    )
    for family in get_args(Family)
    for language in LANGUAGES
}

ABOUT_COLLECTION: Final = tuple(
    compiled(*table("keywords")["about_collection"][language], german=language == "de") for language in LANGUAGES
)
"""Questions about the collection itself. `what ... doc` is too common to be one."""

VAGUE: Final = folded_set(
    "thing things stuff info information help issue problem details detail example topic subject truc trucs chose "
    "choses aide probleme cosa cosas ayuda problema ding dinge sache sachen hilfe frage question pregunta idea idee "
    "seriously hmm etc"
)
"""Content words by form that say nothing alone."""
