"""An answer that a model has written in the course of its work: cited, checked, and handed over like any other."""

from __future__ import annotations

from dataclasses import replace

from app.answer.cite import cite
from app.answer.refusal import is_refusal
from app.answer.reply import tidy
from app.domain.answer import Draft
from app.strategies.answering import Material, refused
from app.strategies.checking import Checked, check, disclosure, note
from app.strategies.run import Outcome, Run, coverage


def drafted(text: str, material: Material) -> Draft:
    """The text with citations of `material.passages`, of which `[n]` means the n-th; numbers of nothing are taken out."""
    cited = cite(tidy(text), material.passages)
    if is_refusal(cited.text, cited=bool(cited.citations)):
        return Draft(cited.text, (), False, 0.0, ("The model found no answer in what it read.",))
    told = [] if cited.citations else ["The answer cites no source."]
    if cited.stripped:
        told.append(f"{cited.stripped} citations of sources that do not exist were removed.")
    return Draft(cited.text, cited.citations, True, material.confidence if cited.citations else 0.0, tuple(told))


async def checked(run: Run, text: str, material: Material) -> Checked:
    """The draft with its check, noted in the record as an attempt."""
    found = await check(run, drafted(text, material), material.passages, material.confidence)
    note(run, len(run.record.attempts) + 1, found)
    return found


async def handed_over(run: Run, material: Material, best: Checked) -> Outcome:
    """The answer, with what its sources do not support said."""
    assert run.kit.chat is not None
    draft = best.draft if best.draft.found else await refused(run, best.draft)
    draft = replace(draft, insufficiencies=(*draft.insufficiencies, *disclosure(best)))
    return Outcome(
        draft, run.kit.chat.name, material.passages, material.confidence,
        material.coverage or coverage(len(material.passages), max(material.visible, len(material.passages))),
        best.grounding, iterations=max(1, len(run.record.attempts)), more=material.more,
        degraded=(*material.degraded, *draft.degraded, *(best.grounding.degraded if best.grounding else ())),
    )  # fmt: skip
