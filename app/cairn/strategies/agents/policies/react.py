"""ReAct: think, act, observe and reflect, until there is an answer. For questions that one search does not settle.

    decide  think: which tools -> nothing that can be called -> conclude
    act     final_answer, ask_clarification -> end
            one tool, or two at once -> nothing there -> back, once, with a hint
            observe, reflect -> enough is known -> conclude
    after `agents.maxSteps`, or when the budget is out -> conclude

The prompts are react.md and reflect.md. Where a step fails, the answer is concluded from what was gathered; where nothing was,
the question is answered by fast.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from cairn.answer.cite import marks, unmarked
from cairn.answer.context import Context
from cairn.answer.generate import told_conversation
from cairn.answer.refusal import is_refusal, refusal
from cairn.answer.reply import tidy
from cairn.domain.event import Progress
from cairn.domain.passage import Passage
from cairn.errors import CairnError, ProviderError
from cairn.language.fence import fenced, quoted
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import Message, Schema, ToolCall, ToolProtocol
from cairn.providers.reader import without_thought
from cairn.runs.context import Outcome, Run
from cairn.runs.progress import counted
from cairn.strategies.agents.finish import Conclusion, fall_back, finish, has_answer, has_conclusion, material_of
from cairn.strategies.agents.loop import Stop, call_tools, work
from cairn.strategies.agents.memory import AgentStep, Look, Memory, OwnAnswer, arguments_of, dead_end
from cairn.strategies.agents.protocol import Decision, Patience, ask_for_calls
from cairn.strategies.agents.tools.registry import open_toolbox
from cairn.strategies.agents.tools.show import cut, windows
from cairn.strategies.agents.tools.tool import LONGEST_ANSWER, ToolResult

log = structlog.get_logger(__name__)

MOST_REPEATED: Final = 2
"""Calls that were made before; with so many the agent goes in circles."""
TOP_TEXTS: Final = 3
"""Passages of one search that are gathered."""
REFLECTED_CHARS: Final = 1000
"""Of the last observation in a reflection."""
GATHERED_CHARS: Final = 3000
"""Of all that was gathered, in a reflection and in a forced conclusion."""
HISTORY_CHARS: Final = 3000
"""Of facts and of what was done, each, in a conclusion."""
REFLECTION_TOKENS: Final = 512
SEARCHES: Final = frozenset({"retrieve_vector", "search_docs"})
_CONCLUDES: Final = re.compile(r"ACTION[ \t*_`]*:[ \t*_`\"']*(final_answer|continue)", re.IGNORECASE)
REFLECTION: Final = Schema("reflection", {"missing": {"type": "string"}, "enough": {"type": "boolean"}})


async def react(run: Run) -> Outcome:
    """Raises CairnError only where fast does."""
    policy = React(Memory(run, open_toolbox(run)))
    if run.deps.chat is None:
        return await fall_back(run, "no chat model is configured", policy.route())
    try:
        policy.stopped = await work(policy)
        conclusion, why = policy.conclusion(), "the agent found nothing"
        if has_conclusion(policy.memory, conclusion):
            outcome = await finish(policy.memory, conclusion)
            if not outcome.needs_clarification:
                run.emit(Progress("finished", 98, f"Finished after {counted(policy.taken, 'step')}"))
            return outcome
    except CairnError as error:
        why = f"the agent failed ({error.code}: {error.detail})"
    except Exception as error:
        log.exception("react.bug", run_id=str(run.question.run_id))
        why = f"the agent failed (internal: {type(error).__name__})"
    return await fall_back(run, why, policy.route())


@dataclass(slots=True)
class React:
    """The policy. `taken`: steps, those that were taken back too. The flags say how the run went."""

    memory: Memory
    taken: int = 0
    parallel_steps: int = 0
    backtracked: bool = False
    reflection_concluded: bool = False
    stopped: Stop | None = None

    @property
    def run(self) -> Run:
        return self.memory.run

    @property
    def most_steps(self) -> int:
        return self.run.settings.agents.max_steps

    # --- decide -------------------------------------------------------------------------------------------------------

    async def decide(self, step: int) -> Decision | None:
        """The next actions. None where the model calls nothing, or fails and there is something to conclude from."""
        run, agents = self.run, self.run.settings.agents
        run.emit(Progress("thinking", self._percent(step), f"Step {step} of {self.most_steps}"))
        patience = Patience(agents.step_tokens, agents.temperature, agents.call_seconds)
        try:
            decision = await ask_for_calls(
                self.memory, "think", lambda protocol: self._messages(protocol, step), patience
            )
        except ProviderError as error:
            if not self.memory.knows_something:
                raise
            run.record.degraded.append(f"react: step {step} failed ({error.code}: {error.detail})")
            return None
        if decision.calls:
            return decision
        answer = _plain_answer(decision)
        return replace(decision, calls=(answer,), thought="", cut_off=False) if answer else None

    def _messages(self, protocol: ToolProtocol, step: int) -> list[Message]:
        """In words all steps stand in the user's part; natively they are the conversation."""
        run, memory = self.run, self.memory
        native = protocol == "native"
        how = prompt_part("react", protocol, tools="" if native else memory.toolbox.described())
        history = memory.remarks() if native else memory.history()
        history = prompt_part("react", "remarks" if native else "history", history=fenced(history)) if history else ""
        hint = "".join(prompt_part("react", "failed", failure=failure) for failure in memory.unmet)
        filled = prompt(
            "react",
            how=how,
            refusal=refusal(run.plan.text),
            language=run.plan.language or "as it is",
            question=quoted(run.plan.text),
            before="".join(f"{part}\n\n" for part in (told_conversation(run.history), history, hint) if part),
            step=str(step),
            steps=str(self.most_steps),
        )
        messages = [Message("system", filled.system), Message("user", filled.user)]
        return [*messages, *memory.messages()] if native else messages

    # --- act ----------------------------------------------------------------------------------------------------------

    async def act(self, step: int, decision: Decision) -> bool:
        run, memory, toolbox, percent = self.run, self.memory, self.memory.toolbox, self._percent(step)
        self.taken, memory.unmet = step, ()
        tool = toolbox.tools.get(decision.calls[0].name)
        if tool is not None and tool.kind == "end":
            self._end(decision.calls[0])
            return False
        run.emit(Progress("acting", percent, _doing(decision), documents=toolbox.documents))
        self.parallel_steps += len(decision.calls) > 1
        results = await call_tools(toolbox, decision.calls)
        memory.trace(decision.thought, step)
        if not self.backtracked and (failure := dead_end(toolbox, decision.calls, results)):
            self.backtracked, memory.unmet = True, (failure,)
            return True
        memory.steps.append(AgentStep(decision.thought, decision.calls, tuple(results)))
        found = sum(len(one.passages) for one in results)
        run.emit(Progress("observing", percent, f"Found {counted(found, 'passage')}", numbers={"passages": found}))
        self._gather(decision.calls, results)
        if toolbox.repeated >= MOST_REPEATED:
            run.record.degraded.append("react: the agent repeated itself and was stopped")
            return False
        if step < self.most_steps:
            gathered = len(memory.found)
            said = f"Considering whether this is enough: {counted(gathered, 'passage')}"
            run.emit(Progress("reflecting", percent, said, numbers={"passages": gathered}))
            self.reflection_concluded = await self._reflect()
        return not self.reflection_concluded

    def _end(self, call: ToolCall) -> None:
        """By the model's choice. An answer without anything that was found is its own knowledge: nothing for us."""
        memory, asks = self.memory, call.name == "ask_clarification"
        said = cut(tidy(_text_of(call, "question" if asks else "answer")), LONGEST_ANSWER)
        sources = tuple(memory.toolbox.passages)
        if said and asks:
            memory.question_back = said
        elif has_answer(said) and (sources or memory.toolbox.facts):
            memory.answer = OwnAnswer(said, Context("", sources, 0))

    def _gather(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        """Keep what the answer may be made of: of a search the best that are new."""
        memory = self.memory
        for call, result in zip(calls, results, strict=True):
            known = {passage.passage_id for passage in memory.found}
            new = tuple(passage for passage in result.passages if passage.passage_id not in known)
            memory.looks.append(Look(arguments_of(call), new[:TOP_TEXTS] if call.name in SEARCHES else new))
            if call.name == "synthesize" and result.success and result.data:
                memory.notes.append(str(result.data))

    async def _reflect(self) -> bool:
        """Whether what was gathered is enough; binding. A reflection that fails decides nothing and is reported."""
        run, memory, agents = self.run, self.memory, self.run.settings.agents
        assert run.deps.chat is not None
        shown = [passage.content for passage in windows(memory.found, GATHERED_CHARS)]
        gathered = "\n".join([*memory.toolbox.facts, *shown, *memory.notes])
        filled = prompt(
            "reflect",
            form=prompt_part("reflect", "lines" if agents.protocol == "text" else "json"),
            question=quoted(run.plan.text),
            history=fenced(memory.history()),
            gathered=quoted(gathered, GATHERED_CHARS),
            observation=quoted(memory.steps[-1].observation, REFLECTED_CHARS),
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
        memory.steps[-1].reflection = cut(" ".join(missing.split()), 500)
        return enough and memory.knows_something

    def _percent(self, step: int) -> int:
        """20 to 80."""
        return 20 + 60 * (step - 1) // self.most_steps

    # --- the end ------------------------------------------------------------------------------------------------------

    def conclusion(self) -> Conclusion:
        """From what was gathered; a forced conclusion from little of it."""
        memory = self.memory
        passages: Sequence[Passage] = memory.found
        if not passages and memory.answer is None:
            passages = memory.toolbox.passages
        if self._forced and memory.answer is None:
            passages = windows(passages, GATHERED_CHARS)
        material = material_of(memory, passages, task=self._task())
        return Conclusion(material, self.route(), rewrites=True)

    @property
    def _forced(self) -> bool:
        return self.stopped == "steps"

    def _task(self) -> str:
        """What a conclusion is told besides the sources. Numbers of passages are taken out: its sources have others."""
        memory, facts = self.memory, "\n".join(self.memory.toolbox.facts)
        told = [prompt_part("react", "facts", facts=fenced(cut(facts, HISTORY_CHARS)))] if facts else []
        if self._forced or memory.notes:
            did = [step.plainly for step in memory.steps] if self._forced else []
            history = cut("\n".join([*memory.notes, *did]), HISTORY_CHARS)
            told.append(prompt_part("react", "conclude", history=fenced(unmarked(history))))
        return "\n\n".join(told)

    def route(self) -> dict[str, Any]:
        toolbox = self.memory.toolbox
        return {
            "steps": self.taken,
            "parallel_steps": self.parallel_steps,
            "reflection_concluded": self.reflection_concluded,
            "backtracked": self.backtracked,
            "forced_conclusion": self._forced,
            "tool_calls": len(toolbox.used),
            "repeated_calls": toolbox.repeated,
            "protocol": self.memory.protocol,
        }


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
    asked = " and ".join(f"{call.name} {arguments_of(call)}" for call in decision.calls)
    return cut(f"{decision.thought} → {asked}" if decision.thought else asked, 500)
