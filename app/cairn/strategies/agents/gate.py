"""The gate before a planned answer is accepted: whether it keeps to what the prompt demands, and to what was read. Pure.

Suspicious terms count as whole words, and only where no source holds them. What was never found cannot be demanded:
openings are limited to the chunks that searches have brought, and an exact quote to where something was opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cairn.answer.cite import marks, named_sources, plain, quotations, stands_in
from cairn.answer.refusal import is_refusal
from cairn.domain.plan import PromptConstraints
from cairn.language.lexicon import any_of, replies
from cairn.language.sentences import split_sentences
from cairn.language.text import fold
from cairn.language.tokens import content_words

Code = Literal[
    "MIN_SEARCHES_UNMET", "MIN_OPEN_CITATIONS_UNMET", "INVALID_CITATION_REF", "HALLUCINATED_CITATION", "UNGROUNDED_CLAIM",
    "UNGROUNDED_CLAIM_NO_CONTEXT", "EXACT_QUOTE_NO_SOURCE", "NO_QUOTED_TEXT", "QUOTE_NOT_VERBATIM", "EMPTY_ANSWER",
    "UNEXPLAINED_DONT_KNOW", "TRUNCATED_ANSWER", "ANSWER_TOO_SHORT", "MISSING_SECTIONS", "MISSING_INSUFFICIENCY_DISCLOSURE",
]  # fmt: skip
DISCLOSURES: Final[frozenset[Code]] = frozenset({"MISSING_INSUFFICIENCY_DISCLOSURE", "UNEXPLAINED_DONT_KNOW"})
"""What a model is told once; where it still does not say what is missing, `disclosed` does."""
SUSPICIOUS_TERMS: Final = (
    "pg_reindex", "reindex", "vacuum", "vacuum analyze", "kubectl", "helm", "docker compose", "systemctl", "drop table",
    "truncate", "alter table",
)  # fmt: skip
"""Commands that models like to invent."""
LISTED: Final = 50
"""Citations and insufficiencies of one answer that are read."""
STEM: Final = 5
"""Letters by which words are the same: "deployed" and "deployment"."""
SHOWN: Final = 3
"""Offending pieces that an error names."""
_CODE_SPAN: Final = re.compile(r"```[^\n]{0,100}\n(.*?)```|`([^`\n]{3,600})`", re.DOTALL)
_BLOCK_QUOTE: Final = re.compile(r"^[ \t]*>[ \t]?(\S.*)$", re.MULTILINE)
_DISCLOSED: Final = re.compile(any_of(lambda one: one.replies.discloses), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CitationRef:
    """A chunk that the model says it has used; texts as it wrote them, checked by whoever looks them up."""

    document_id: str
    chunk_id: str


@dataclass(frozen=True, slots=True)
class Insufficiency:
    """What the documents do not say."""

    section: str
    missing: str
    queries_tried: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """In words: "Rollback: the command"."""
        return ": ".join(part for part in (self.section, self.missing) if part)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """`[n]` in `answer` are numbers of opened citations."""

    answer: str
    used_citations: tuple[CitationRef, ...] = ()
    insufficiencies: tuple[Insufficiency, ...] = ()


def read_final(said: Mapping[str, Any]) -> FinalAnswer:
    """The arguments of a final answer, whatever a model put into them."""
    texts = [value for value in (said.get("answer"), *said.values()) if isinstance(value, str)]
    return FinalAnswer(
        texts[0] if texts else "",
        tuple(_reference(item) for item in _list(said, "used_citations", "usedCitations")),
        tuple(_insufficiency(item) for item in _list(said, "insufficiencies")),
    )


def _list(said: Mapping[str, Any], *names: str) -> list[Any]:
    found: list[Any] = next((said[name] for name in names if isinstance(said.get(name), list)), [])
    return found[:LISTED]


def _reference(item: Any) -> CitationRef:
    if not isinstance(item, Mapping):
        return CitationRef("", str(item)[:80])
    return CitationRef(str(item.get("docId", ""))[:80], str(item.get("chunkId", ""))[:80])


def _insufficiency(item: Any) -> Insufficiency:
    if not isinstance(item, Mapping):
        return Insufficiency("", str(item)[:500])
    tried = item.get("queries_tried", item.get("queriesTried"))
    queries = tuple(str(query)[:200] for query in tried[:LISTED]) if isinstance(tried, list) else ()
    return Insufficiency(str(item.get("section", ""))[:200], str(item.get("missing", ""))[:500], queries)


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened chunk: `[n]` is the n-th of them. Ids as the tools show them; `text` is the whole that was read."""

    document_id: str
    chunk_id: str
    text: str


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What has been done so far. `found`: (document, chunk, snippet) of every search result, each chunk once. `question`: what
    was asked, and `parts` of it where there are several."""

    searches: tuple[str, ...] = ()
    opened: tuple[Opened, ...] = ()
    found: tuple[Opened, ...] = ()
    cut_off: bool = False
    question: str = ""
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Objection:
    """`code` for programs, `message` for the model, which is told what to do about it."""

    code: Code
    message: str


def validate(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> tuple[Objection, ...]:
    """Everything that is wrong with a final answer; () lets it pass."""
    return tuple(problem for check in CHECKS for problem in check(final, constraints, state))


# --- the work that was demanded ---------------------------------------------------------------------------------------


def min_searches(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> Iterator[Objection]:
    done = len(state.searches)
    if done < constraints.min_searches:
        left = [topic for topic in constraints.required_search_topics if not _searched(topic, state.searches)]
        of = f" Not searched for yet: {', '.join(left)}." if left else ""
        needed = f"Required at least {constraints.min_searches} separate searches, but only {done} were performed."
        yield Objection("MIN_SEARCHES_UNMET", needed + of)


def min_open_citations(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> Iterator[Objection]:
    possible = len({one.chunk_id for one in (*state.found, *state.opened)})
    wanted, done = min(constraints.min_open_citations, possible), len(state.opened)
    if done < wanted:
        yield Objection(
            "MIN_OPEN_CITATIONS_UNMET", f"Required to open at least {wanted} citation(s), but only {done} were opened."
        )


def _searched(topic: str, searches: Sequence[str]) -> bool:
    words = set(fold(topic).split())
    return any(words & set(fold(query).split()) for query in searches)


# --- citations and claims -----------------------------------------------------------------------------------------------


def citation_references(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> Iterator[Objection]:
    numbers = [n for mark in marks(final.answer) for n in named_sources(mark)]
    if wrong := sorted({n for n in numbers if not 1 <= n <= len(state.opened)}):
        there = f"[1] to [{len(state.opened)}]" if state.opened else "none: open a citation before you cite it"
        yield Objection(
            "INVALID_CITATION_REF", f"{_several(f'[{n}]' for n in wrong)} cite nothing. Opened are {there}."
        )
    known = {one.chunk_id.casefold() for one in (*state.opened, *state.found)}
    if made_up := [ref.chunk_id for ref in final.used_citations if ref.chunk_id.casefold() not in known]:
        yield Objection(
            "HALLUCINATED_CITATION",
            f"used_citations names chunks that no search has returned: {_several(repr(one) for one in made_up)}.",
        )


def grounded_claims(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> Iterator[Objection]:
    if not (state.opened or state.found):
        if final.answer.strip() and not (is_refusal(final.answer) or _DISCLOSED.search(final.answer)):
            yield Objection(
                "UNGROUNDED_CLAIM_NO_CONTEXT", "The answer claims things although nothing was found or opened."
            )
        return
    held = " ".join(fold(one.text) for one in (*state.opened, *state.found))
    said = fold(_claimed(final.answer, state.question))
    if terms := [term for term in SUSPICIOUS_TERMS if _has(said, term) and not _has(held, term)]:
        terms = [term for term in terms if not any(term != other and term in other for other in terms)]
        yield Objection("UNGROUNDED_CLAIM", f"{_several(map(repr, terms))} stand(s) in no source. Leave it out.")


def _claimed(answer: str, question: str) -> str:
    """The answer, of what it says is not documented without the commands that were asked about."""
    asked = fold(question)
    of_it = [term for term in SUSPICIOUS_TERMS if _has(asked, term)]
    claimed = []
    for start, end in split_sentences(answer):
        sentence = fold(answer[start:end])
        if _DISCLOSED.search(sentence):
            for term in of_it:
                sentence = re.sub(_whole(term), " ", sentence)
        claimed.append(sentence)
    return "\n".join(claimed)


def _whole(term: str) -> str:
    return rf"(?<![\w]){re.escape(term)}(?![\w])"


def _has(text: str, term: str) -> bool:
    return re.search(_whole(term), text) is not None


def exact_quote(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> Iterator[Objection]:
    if not constraints.requires_exact_quote or is_refusal(final.answer):
        return
    if not state.opened:
        if state.found:
            yield Objection(
                "EXACT_QUOTE_NO_SOURCE", "An exact quote is required: open the citation that holds it first."
            )
        return
    quotes = [item.text for item in quotations(final.answer)]
    quotes += [match[1] or match[2] or "" for match in _CODE_SPAN.finditer(final.answer)]
    quotes += _BLOCK_QUOTE.findall(final.answer)
    quotes = [quote for quote in quotes if plain(quote)]
    if not quotes:
        if not final.insufficiencies:
            wanted = _several(repr(one) for one in constraints.exact_quote_indicators)
            yield Objection(
                "NO_QUOTED_TEXT", f"An exact quote is required ({wanted}): copy it between quotation marks."
            )
        return
    if wrong := [quote for quote in quotes if not any(stands_in(quote, one.text) for one in state.opened)]:
        yield Objection(
            "QUOTE_NOT_VERBATIM", f"Not verbatim in an opened citation: {_several(repr(q[:120]) for q in wrong)}."
        )


# --- the answer itself --------------------------------------------------------------------------------------------------


def form(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> Iterator[Objection]:
    text = final.answer.strip()
    if not text:
        yield Objection("EMPTY_ANSWER", "The answer is empty.")
        return
    if is_refusal(text):
        if not final.insufficiencies:
            yield Objection(
                "UNEXPLAINED_DONT_KNOW", "The answer is that you do not know. List in insufficiencies what is missing and "
                "which queries were tried.",
            )  # fmt: skip
        return
    if state.cut_off or text.count("```") % 2 or text.endswith(("...", "…", ",", ";")):
        yield Objection("TRUNCATED_ANSWER", "The answer breaks off. Write it whole, shorter if need be.")
    if len(text) < constraints.estimated_min_answer_length and not final.insufficiencies:
        wanted = constraints.estimated_min_answer_length
        yield Objection("ANSWER_TOO_SHORT", f"The answer has {len(text)} characters; about {wanted} are expected.")


def sections(final: FinalAnswer, constraints: PromptConstraints, state: WorkDone) -> Iterator[Objection]:
    said = fold(final.answer)
    disclosed = " ".join(fold(one.section) for one in final.insufficiencies)
    missing = [name for name in constraints.required_sections if fold(name) not in said and fold(name) not in disclosed]
    if missing and final.answer.strip() and not is_refusal(final.answer):
        yield Objection("MISSING_SECTIONS", f"The answer has no section {_several(map(repr, missing))}.")


def insufficiency_disclosure(
    final: FinalAnswer, constraints: PromptConstraints, state: WorkDone
) -> Iterator[Objection]:
    if not constraints.requires_insufficiency_disclosure or _DISCLOSED.search(final.answer):
        return
    if final.insufficiencies:
        yield Objection(
            "MISSING_INSUFFICIENCY_DISCLOSURE",
            "You listed insufficiencies: say in the answer, where the missing part would stand, 'Insufficient documentation'.",
        )
    elif final.answer.strip() and not is_refusal(final.answer) and (left := _left_out(final.answer, state.parts)):
        yield Objection(
            "MISSING_INSUFFICIENCY_DISCLOSURE",
            f"The answer says nothing of {_several(map(repr, left))}. Answer it, or where the documents do not say it write "
            "'Insufficient documentation' and list it in insufficiencies. If the answer has it in other words, give it again.",
        )


def _left_out(answer: str, parts: Sequence[str]) -> list[str]:
    """Parts of the question of which the answer has no word of its own."""
    said = {fold(word)[:STEM] for word in content_words(answer)}
    words = [{fold(word)[:STEM] for word in content_words(part)} for part in parts]
    return [part for part, own in zip(parts, words, strict=True) if own and not own & said]


def disclosed(text: str, lacks: Sequence[Insufficiency], language: str) -> str:
    """An answer that says that something is missing: as it is, or with a line of ours at its end."""
    missing = "; ".join(dict.fromkeys(one.told for one in lacks if one.told))
    if not lacks or _DISCLOSED.search(text):
        return text
    lacking = replies(language).lacking
    return f"{text}\n\n{lacking}: {missing}." if missing else f"{text}\n\n{lacking}."


def _several(items: Iterator[str] | Sequence[str] | map[str]) -> str:
    all_of = list(items)
    return ", ".join(all_of[:SHOWN]) + (f" and {len(all_of) - SHOWN} more" if len(all_of) > SHOWN else "")


CHECKS: Final[tuple[Callable[[FinalAnswer, PromptConstraints, WorkDone], Iterator[Objection]], ...]] = (
    form, min_searches, min_open_citations, citation_references, grounded_claims, exact_quote, sections,
    insufficiency_disclosure,
)  # fmt: skip
