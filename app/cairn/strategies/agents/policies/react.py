"""ReAct: think, act, observe and reflect, until there is an answer. For questions that one search does not settle.

    decide  think: which tools -> nothing that can be called -> conclude
    act     final_answer, ask_clarification -> end
            one tool, or two at once -> nothing there -> back, once, with a hint
            observe, reflect -> enough is known -> conclude
    after `agents.maxSteps`, or when the budget is out -> conclude

What is remembered of the steps is in steps.py, how it ends in endings.py. Where a step fails, the answer is concluded from
what was gathered; where nothing was, the question is answered by fast.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

import structlog

from cairn.answer.cite import marks
from cairn.answer.generate import told_conversation
from cairn.answer.refusal import is_refusal, refusal
from cairn.answer.reply import tidy
from cairn.domain.event import Progress
from cairn.errors import CairnError, ProviderError
from cairn.language.fence import fenced, quoted
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import Message, Schema, ToolCall, ToolProtocol
from cairn.providers.reader import without_thought
from cairn.runs.context import Outcome, Run
from cairn.runs.progress import counted
from cairn.strategies.agents.draft_check import has_answer
from cairn.strategies.agents.endings import ask_back, conclude, give_answer, run_fast
from cairn.strategies.agents.loop import call_tools, work
from cairn.strategies.agents.protocol import Decision, Patience, ask_for_calls
from cairn.strategies.agents.steps import (
    GATHERED_CHARS,
    REFLECTED_CHARS,
    AgentStep,
    Notebook,
    cut,
    dead_end,
    windows,
)
from cairn.strategies.agents.tools.registry import open_toolbox
from cairn.strategies.agents.tools.tool import LONGEST_ANSWER

log = structlog.get_logger(__name__)

MOST_REPEATED: Final = 2
"""Calls that were made before; with so many the agent goes in circles."""
REFLECTION_TOKENS: Final = 512
_CONCLUDES: Final = re.compile(r"ACTION[ \t*_`]*:[ \t*_`\"']*(final_answer|continue)", re.IGNORECASE)
REFLECTION: Final = Schema("reflection", {"missing": {"type": "string"}, "enough": {"type": "boolean"}})


async def react(run: Run) -> Outcome:
    """Raises CairnError only where fast does."""
    notebook = Notebook(run, open_toolbox(run))
    if run.deps.chat is None:
        return await run_fast(notebook, "no chat model is configured")
    try:
        outcome = await _work(notebook)
        if outcome is not None:
            if not outcome.needs_clarification:
                run.emit(Progress("finished", 98, f"Finished after {counted(notebook.taken, 'step')}"))
            return outcome
        why = "the agent found nothing"
    except CairnError as error:
        why = f"the agent failed ({error.code}: {error.detail})"
    except Exception as error:
        log.exception("react.bug", run_id=str(run.question.run_id))
        why = f"the agent failed (internal: {type(error).__name__})"
    return await run_fast(notebook, why)


async def _work(notebook: Notebook) -> Outcome | None:
    """None where nothing was found."""
    policy = React(notebook)
    notebook.forced_conclusion = await work(policy) == "steps"
    if policy.outcome is not None:
        return policy.outcome
    notebook.gathered = notebook.gathered or list(notebook.toolbox.passages)
    return await conclude(notebook) if notebook.gathered or notebook.toolbox.facts else None


@dataclass(slots=True)
class React:
    """The policy. `hint`: what to do differently after a dead end. `outcome`: where the model has ended the work itself."""

    notebook: Notebook
    hint: str = ""
    outcome: Outcome | None = None

    @property
    def run(self) -> Run:
        return self.notebook.run

    @property
    def most_steps(self) -> int:
        return self.run.settings.agents.max_steps

    # --- decide -------------------------------------------------------------------------------------------------------

    async def decide(self, step: int) -> Decision | None:
        """The next actions. None where the model calls nothing, or fails and there is something to conclude from."""
        run, agents, notebook = self.run, self.run.settings.agents, self.notebook
        run.emit(Progress("thinking", self._percent(step), f"Step {step} of {self.most_steps}"))
        patience = Patience(agents.step_tokens, agents.temperature, agents.call_seconds)
        try:
            decision = await ask_for_calls(
                run, notebook.toolbox, "think", lambda protocol: self._messages(protocol, step), patience
            )
        except ProviderError as error:
            if not (notebook.gathered or notebook.toolbox.facts):
                raise
            run.record.degraded.append(f"react: step {step} failed ({error.code}: {error.detail})")
            return None
        if decision.calls:
            return decision
        answer = _plain_answer(decision)
        return Decision((answer,), "", decision.text, False, decision.protocol) if answer else None

    def _messages(self, protocol: ToolProtocol, step: int) -> list[Message]:
        """In words all steps stand in the user's part; natively they are the conversation."""
        run, notebook = self.run, self.notebook
        native = protocol == "native"
        how = prompt_part("react", protocol, tools="" if native else notebook.toolbox.described())
        history = notebook.remarks() if native else notebook.history()
        history = prompt_part("react", "remarks" if native else "history", history=fenced(history)) if history else ""
        filled = prompt(
            "react",
            how=how,
            refusal=refusal(run.plan.text),
            language=run.plan.language or "as it is",
            question=quoted(run.plan.text),
            before="".join(f"{part}\n\n" for part in (told_conversation(run.history), history, self.hint) if part),
            step=str(step),
            steps=str(self.most_steps),
        )
        messages = [Message("system", filled.system), Message("user", filled.user)]
        return [*messages, *notebook.messages()] if native else messages

    # --- act ----------------------------------------------------------------------------------------------------------

    async def act(self, step: int, decision: Decision) -> bool:
        run, notebook, toolbox = self.run, self.notebook, self.notebook.toolbox
        notebook.taken, self.hint = step, ""
        tool = toolbox.tools.get(decision.calls[0].name)
        if tool is not None and tool.kind == "end":
            self.outcome = await self._end(decision.calls[0])
            return False
        run.emit(Progress("acting", self._percent(step), _doing(decision), documents=toolbox.documents))
        notebook.parallel_steps += len(decision.calls) > 1
        results = await call_tools(toolbox, decision.calls)
        mark = notebook.mark()
        notebook.steps.append(AgentStep(decision.thought, decision.calls, tuple(results)))
        notebook.trace(decision.protocol)
        if not notebook.backtracked and (failure := dead_end(toolbox, decision.calls, results)):
            notebook.roll_back(mark)
            self.hint = prompt_part("react", "failed", failure=failure)
            return True
        found = sum(len(one.passages) for one in results)
        run.emit(
            Progress(
                "observing", self._percent(step), f"Found {counted(found, 'passage')}", numbers={"passages": found}
            )
        )
        notebook.gather(decision.calls, results)
        if toolbox.repeated >= MOST_REPEATED:
            run.record.degraded.append("react: the agent repeated itself and was stopped")
            return False
        if step < self.most_steps:
            gathered = len(notebook.gathered)
            said = f"Considering whether this is enough: {counted(gathered, 'passage')}"
            run.emit(Progress("reflecting", self._percent(step), said, numbers={"passages": gathered}))
            notebook.reflection_concluded = await self._reflect()
        return not notebook.reflection_concluded

    async def _end(self, call: ToolCall) -> Outcome | None:
        """By the model's choice. An answer without anything that was found is its own knowledge: nothing for us."""
        asks = call.name == "ask_clarification"
        said = cut(tidy(_text_of(call, "question" if asks else "answer")), LONGEST_ANSWER)
        if said and asks:
            return ask_back(self.notebook, said)
        if has_answer(said) and (self.notebook.toolbox.passages or self.notebook.toolbox.facts):
            return await give_answer(self.notebook, said)
        return None

    async def _reflect(self) -> bool:
        """Whether what was gathered is enough; binding. A reflection that fails decides nothing and is reported."""
        run, notebook, agents = self.run, self.notebook, self.run.settings.agents
        assert run.deps.chat is not None
        shown = [passage.content for passage in windows(notebook.gathered, GATHERED_CHARS)]
        gathered = "\n".join([*notebook.toolbox.facts, *shown, *notebook.notes])
        in_words = agents.protocol == "text"
        filled = prompt(
            "reflect",
            form=prompt_part("reflect", "lines" if in_words else "json"),
            question=quoted(run.plan.text),
            history=fenced(notebook.history()),
            gathered=quoted(gathered, GATHERED_CHARS),
            observation=quoted(notebook.steps[-1].observation, REFLECTED_CHARS),
        )
        try:
            reply = await run.record.metered("reflect", run.deps.chat, run.settings).structured(
                [Message("system", filled.system), Message("user", filled.user)],
                REFLECTION,
                choice=agents.protocol,
                temperature=agents.temperature,
                max_tokens=min(REFLECTION_TOKENS, agents.step_tokens),
                timeout=agents.reflect_seconds,
            )
        except ProviderError as error:
            run.record.degraded.append(f"react: a reflection failed ({error.code}: {error.detail})")
            return False
        enough, missing = read_reflection(reply.value, reply.text)
        notebook.steps[-1].reflection = cut(" ".join(missing.split()), 500)
        return enough and bool(notebook.gathered or notebook.toolbox.facts)

    def _percent(self, step: int) -> int:
        """20 to 80."""
        return 20 + 60 * (step - 1) // self.most_steps


# --- what the model says --------------------------------------------------------------------------------------------


def read_reflection(value: object, text: str) -> tuple[bool, str]:
    """Whether a reflection says that enough is known, and what it says is missing: JSON, or the last ACTION line. What is
    unclear is no."""
    if isinstance(value, dict) and "enough" in value:
        enough = value["enough"] is True or str(value["enough"]).strip().lower() in ("true", "yes")
        return enough, str(value.get("missing") or ("Enough is known." if enough else "Something is missing."))
    said = without_thought(text)
    concluded = _CONCLUDES.findall(said)
    return bool(concluded) and concluded[-1].lower() == "final_answer", said


def _plain_answer(decision: Decision) -> ToolCall | None:
    """A model that has tools and simply answers: what it says counts where it cites something, or says that the documents
    do not answer. Other talk is no answer."""
    text = decision.text
    if decision.protocol == "text" or decision.cut_off or not (list(marks(text)) or is_refusal(text)):
        return None
    return ToolCall("final_answer", {"answer": text})


def _text_of(call: ToolCall, name: str) -> str:
    """The argument of that name, else the first text."""
    values = (call.arguments.get(name), *call.arguments.values())
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def _doing(decision: Decision) -> str:
    asked = " and ".join(
        f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}" for call in decision.calls
    )
    return cut(f"{decision.thought} → {asked}" if decision.thought else asked, 500)
