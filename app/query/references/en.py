"""References in English. Data."""

from __future__ import annotations

from typing import Final

from app.language.text import folded_words
from app.query.references.table import END, LAST, References, pattern

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
    expletive=pattern(
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
    openers=pattern(
        r"""(?:(?:and|but|or|so|ok|okay|also|then|now)[\s,]+)*
            (?:(?:what|how)\s+about|what\s+of|what\s+if\s+it\s+is|(?:and\s+)?the\s+same\s+(?:thing\s+)?for|same\s+for|
               same\s+question\s+(?:for|about)|likewise\s+for|as\s+for|and|or)\s+"""
    ),
    corrections=pattern(
        r"""(?:no|nope|sorry|actually|wait)?[\s,.!-]*(?:i\s+(?:mean|meant|was\s+asking\s+about|was\s+talking\s+about)|rather)\s+"""
    ),
    joints=pattern(r"(?:(?:and|but|so|ok|okay|also|then|now|well|yes|no|or|hmm+|alright|great|thanks)\b[\s,.!]*)+"),
    whole=pattern(
        r"""(?:but\s+|and\s+|so\s+)?(?:why|how|when|where|who|which|what|since\s+when|until\s+when|how\s+(?:so|come|much|many|
            long|often|far|old|big|tall|high|late|early)|why\s+(?:not|is\s+that|so)|says?\s+who|really|for\s+whom|by\s+whom|
            to\s+whom|with\s+whom|in\s+which\s+(?:year|country|case)|what\s+for|where\s+from|what\s+else|who\s+else|
            where\s+else|and\s+then|then\s+what|so\s+what|any(?:thing)?\s+(?:else|others?)|which\s+ones?|for\s+example|
            such\s+as|is\s+that\s+(?:all|so|it|true)|are\s+you\s+sure)"""
    ),
    ordinal=pattern(
        r"""(?:(?:\bthe\s+|^)(?P<word>first|second|third|fourth|fifth|sixth|last|latter|former|1st|2nd|3rd|4th|5th)
              (?:\s+(?:one|item|point|option|step|method|reason|source|document|result|example|part|case|policy|rule|
              version|product|file|approach|plan|two)\b(?!\s+(?:of|in|to)\b)|"""
        + END
        + r""")|\b(?:number|item|point|option|step|source|document|result|no\.)\s*\#?(?P<number>\d{1,2})\b)"""
    ),
    every=pattern(r"\b(?:both|either|neither)\b|\b(?:each|all|any|none|some)\s+of\s+(?:them|these|those)\b"),
    other=pattern(
        r"\bthe\s+other\s+(?:one|ones|two|three|four|five)\b(?!\s+\w+s\b)|\b(?:the\s+)?others?" + END + r"|\banother\s+one\b|"
        r"\bthe\s+rest" + END
    ),
    pick=pattern(r"\bwhich\s+(?:one|ones|of\s+(?:them|these|those))\b|\b(?:this|that)\s+ones?\b|^(?:and\s+)?the\s+\w+\s+ones?\b"),
    ordinals={
        "first": 1, "former": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5,
        "5th": 5, "sixth": 6, "last": LAST, "latter": LAST,
    },
)  # fmt: skip
