"""`cairn ask` and `cairn feedback`: an answer with what it stands on, and what its reader thinks of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from cairn.domain.answer import PROBABLE, Answer
from cairn.domain.event import Event, Progress, Token
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import InputError
from cairn.interfaces.cli.ingest import ingest_selection, show_failures, summary
from cairn.interfaces.cli.search import label_place, require_documents, shown_weights
from cairn.interfaces.cli.terminal import STDOUT, note, say, say_json, services, shorten
from cairn.language.lexicon import replies
from cairn.language.quoted import locate_quotation
from cairn.service import runs as run_service
from cairn.service.ask import final, has_model, start
from cairn.service.conversations import check_session_id
from cairn.service.documents import check_collection_name, collection_of
from cairn.service.files import Selection, describe_formats, select_files
from cairn.service.jobs import build_indexes
from cairn.service.search import check_query
from cairn.wiring import Services

_QUOTE = 240
"""Characters of a quotation that are shown; --json has all of it."""
_EMPTY_HEADER = re.compile(r"^\|(?:[ \t]*+\|)++\n\|(?: ---+ \|)++\n", re.MULTILINE)
"""Without which a table is none to whoever reads Markdown (answer/shown.py)."""
_FAILURES = 5
"""Files that could not be read, of those that are named before an answer."""


async def ask(
    words: Sequence[str], collection: str | None, strategy: str, session: str | None, as_json: bool, verbose: bool
) -> int:
    """Raises what the run failed with, and InputError for a path that is to be read and cannot be."""
    path = path_to_read(words)
    selection = None if path is None else select_files([path])
    if selection is not None and not selection.files:
        raise InputError(f"there is nothing to read in {path}: Cairn reads {describe_formats()}")
    async with services() as opened:
        question = check_query(" ".join(words[path is not None :]), opened.settings.current)
        named = None if session is None else check_session_id(session)
        if path is not None and selection is not None:
            collection = collection or collection_of(path)
            await _read(opened, check_collection_name(collection), selection)
        found = await require_documents(opened, collection)
        answer = await answer_question(opened, question, found.name, session=named, strategy=strategy, silent=as_json)
    if as_json:
        from cairn.interfaces.http.query import answer_out

        say_json(answer_out(answer).model_dump(mode="json"))
    else:
        show_sources(answer)
        if verbose:
            show_route(answer)
    return 0


def path_to_read(words: Sequence[str]) -> Path | None:
    """The first word, where it is a path and the question follows as one argument, in quotes; else all words are the question.

    Raises InputError for what is written as a path and is none.
    """
    if len(words) != 2 or len(words[1].split()) < 2:
        return None
    path = Path(words[0]).expanduser()
    if path.exists():
        return path
    if words[0].startswith(("/", "./", "../", "~")):
        raise InputError(f"there is no file or folder {words[0]}")
    return None


async def _read(opened: Services, collection: str, selection: Selection) -> None:
    """The collection has what the path has now; what it had already costs nothing."""
    report = await ingest_selection(opened, collection, selection, prune=True)
    await build_indexes(opened)
    show_failures(report, _FAILURES)
    if report.fresh or report.removed:
        note(summary(report))


async def answer_question(
    opened: Services,
    text: str,
    collection: str,
    *,
    session: str | None = None,
    strategy: str = "auto",
    silent: bool = False,
) -> Answer:
    """Run one question and print its answer: what a model writes piece by piece on a terminal, else when it is checked.

    Raises the CairnError that ended the run.
    """
    question = Question(text, collection, new_id(), strategy=strategy, session_id=session)
    written = has_model(opened)
    live, shown, why = written and not silent and STDOUT.is_terminal, "", "After checking its sources"

    def show(event: Event) -> None:
        nonlocal shown, why
        if isinstance(event, Progress) and event.step == "retract":
            why = event.message
        if isinstance(event, Progress) and event.step == "silent" and not silent:
            note(f"{event.message}; Ctrl-C ends it")
        if isinstance(event, Token) and live:
            shown += event.text
            say(event.text, end="")

    answer = (await final(await start(opened, question), show)).answer
    if not silent:
        _finish(answer, shown, why)
    return answer


def _finish(answer: Answer, shown: str, why: str) -> None:
    """The checked text counts, so it is printed where it differs from what was shown while it was written, and why it does."""
    if shown:
        say()
    if shown.strip() != answer.answer.strip():
        if shown:
            say(f"\n{why}:")
        say_answer(answer)


def say_answer(answer: Answer) -> None:
    """A quotation is bold in what stands around it. A table whose header was cut off needs none here."""
    text, first = _EMPTY_HEADER.sub("", answer.answer), answer.citations[0] if answer.citations else None
    place = locate_quotation(text, first.n, first.quote) if first and first.context and not first.instead else None
    if place is None:
        say(text)
        return
    start, end = place
    say(text[:start], end="")
    say(text[start:end], style="bold", end="")
    say(text[end:])


def show_sources(answer: Answer) -> None:
    """Citations with place and quote, then what the reader should know about the answer."""
    for cited in answer.citations:
        if cited.n == 1:
            say()
        say(f"[{cited.n}] {label_place(cited.title, cited.page, cited.headings, cited.external_id)}", style="cyan")
        say(f'    "{shorten(cited.quote, _QUOTE)}"')
    if reasons := [reason for reason in answer.insufficiencies if reason not in answer.answer]:
        say("\n" + " ".join(reasons))
    told = told_confidence(answer)
    total = answer.timings_ms.get("total", 0)
    say(f"\n{told}", style="yellow" if answer.answered == "unsure" else "bold", end="") if told else say()
    say(f"{', ' if told else ''}{total:.0f} ms, run {answer.run_id}", style="dim")
    if answer.usage.get("input_tokens"):
        say(told_usage(answer), style="dim")
    for problem in answer.remarks:
        more = " (details: -v)" if answer.model_failure and problem == answer.model_failure.sentence else ""
        note(f"note: {problem}{more}")


def told_usage(answer: Answer) -> str:
    """Which chat model wrote the answer, and what all calls for it cost."""
    usage = answer.usage
    cost = "" if usage["cost"] is None else f", {usage['cost']:.4f} at the prices of the settings"
    about = "about " if usage["estimated"] else ""
    writer = f"written by {answer.written_by}" if answer.written_by else f"asked {usage['model']}"
    return f"{writer}, {about}{usage['input_tokens']:,} tokens read and {usage['output_tokens']:,} written{cost}"


def told_confidence(answer: Answer) -> str:
    """In the language of the answer: what it is worth, and of a quotation the number behind it. Nothing of what has none."""
    words, word = replies(answer.route.get("language")).confidence, answer.confidence_word
    if word is None:
        return words["not_sure"] if answer.answered == "unsure" else ""
    return f"{words[word]} ({answer.confidence:.0%})" if word in PROBABLE else words[word]


def show_route(answer: Answer) -> None:
    """How the message was understood, and what was done for it."""
    route = answer.route
    complexity = route["complexity"]
    layer = "" if route["intent_layer"] is None else f", layer {route['intent_layer']}"
    lines = {
        "strategy": f"{route['strategy']}: {route['reason']}",
        "intent": f"{route['intent']} ({route['intent_confidence']:.2f}{layer}): {route['intent_reason']}",
        "language": route["language"],
        "type": f"{route['query_type']} ({route['query_type_confidence']:.2f}): {route['query_type_reason']}",
        "complexity": f"{complexity['score']:.3f} {complexity['level']}: {complexity['reasoning']}",
        "weights": shown_weights(route["weights"]),
        "searched for": route["rewritten_query"],
        "entities": ", ".join(route["entities"]),
        "sub-questions": "; ".join(route["subquestions"]),
        "answered by": f"{route['answerer']}, {route['iterations']} attempts",
        "groundedness": None if answer.groundedness_score is None else f"{answer.groundedness_score:.2f}",
        "read": str(answer.coverage),
    }
    say()
    for name, value in lines.items():
        if value:
            say(f"{name:>13}  {value}", style="dim")
    for detail in answer.model_failure.details if answer.model_failure else ():
        say(f"{'failed':>13}  {detail}", style="dim")


# --- `cairn feedback` ---------------------------------------------------------------------------------------------------


async def feedback(run_id: UUID, rating: int, comment: str | None) -> int:
    """Raises NotFoundError, InputError."""
    async with services() as opened:
        judged = await run_service.rate_run(opened, run_id, rating, comment)
    said = {-1: "bad", 0: "neither good nor bad", 1: "good"}[judged.rating]
    say(f"run {judged.run_id}: {said}")
    return 0
