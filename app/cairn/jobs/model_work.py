"""What jobs share that send the text of documents to a chat model: pages of documents that wait, a call within the caps, what it
cost noted whatever came of it, and the sum at the end.

A cap ends such a job with a note; a later run goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from cairn.domain.trace import Spend
from cairn.errors import BudgetExceededError, ProviderError, ProviderResponseError
from cairn.jobs.caps import CapReachedError, spent, stop_note
from cairn.jobs.context import JobContext
from cairn.prompts import Prompt
from cairn.providers.metered import Account, Meter
from cairn.providers.protocols import ChatModel, Message
from cairn.providers.tokens import estimate
from cairn.settings import EnrichmentSettings, GraphModelSettings, Settings
from cairn.store import model_usage
from cairn.store.session import Database

BATCH_DOCUMENTS: Final = 20
FIRST: Final = UUID(int=0)
REFUSED: Final = frozenset({400, 413, 422})
"""HTTP statuses by which a server refuses this one request: too long, or not to its liking."""


class WaitingDocument(Protocol):
    """A document that waits for the model. `own`: whether who ordered the job may read it."""

    @property
    def id(self) -> UUID: ...

    @property
    def own(self) -> bool: ...


Document = TypeVar("Document", bound=WaitingDocument)


@dataclass
class ModelWork:
    """One run of such a job. `section`: of the settings that has its caps, in `limits`; `step`: what its calls are counted as;
    `doing`: what it does, for who watches."""

    database: Database
    context: JobContext
    chat: ChatModel
    settings: Settings
    limits: EnrichmentSettings | GraphModelSettings
    account: Account | None
    section: str
    step: str
    doing: str
    tally: Counter[str] = field(default_factory=Counter)

    async def go_through(
        self,
        list_waiting: Callable[[Any, UUID, int], Awaitable[Sequence[Document]]],
        work: Callable[[Document], Awaitable[bool]],
    ) -> str | None:
        """Do every document that waits, from the beginning again as long as any was done, since others may have come or changed
        meanwhile. Why it stopped, where a cap was reached. `list_waiting`: (connection, after which id, how many)."""
        try:
            while await self._once(list_waiting, work):
                pass
        except CapReachedError as reached:
            return f"{reached}; documents that are left are done by a later run"
        return None

    async def _once(
        self,
        list_waiting: Callable[[Any, UUID, int], Awaitable[Sequence[Document]]],
        work: Callable[[Document], Awaitable[bool]],
    ) -> bool:
        after, done = FIRST, 0
        while True:
            async with self.database.transaction(self.context.principal, readonly=True) as connection:
                waiting = await list_waiting(connection, after, BATCH_DOCUMENTS)
            for document in waiting:
                done += await work(document)
            if not waiting:
                return done > 0
            after = waiting[-1].id

    async def call(
        self, document: WaitingDocument, filled: Prompt, note_spend: Callable[[Spend], Awaitable[None]]
    ) -> tuple[str | None, Spend]:
        """What the model writes, and what it cost: None where it has nothing usable to say of this text, but may of another.

        `note_spend`: stores what a call cost that failed. Raises ProviderError, and CapReachedError instead of calling.
        """
        await self._check(prompt_size(filled))
        await self.context.progress(self.tally["documents"], None, f"{self.doing} with {self.chat.name}")
        meter = self.meter(document)
        try:
            reply = await meter.chat(self.chat, self.step).complete(
                [Message("system", filled.system), Message("user", filled.user)],
                temperature=0.0, max_tokens=self.limits.max_output_tokens, timeout=self.limits.timeout_seconds,
            )  # fmt: skip
        except BudgetExceededError as error:
            raise CapReachedError(f"the job has used up {error.reason}") from None
        except ProviderError as error:
            await note_spend(meter.spend)
            if not self._concerns_text(error):
                raise
            return None, Spend()
        self.tally["answered"] += 1
        return reply.text, meter.spend

    def meter(self, document: WaitingDocument) -> Meter:
        """Of what is done for a document: of one that who ordered the job may not read nothing is counted on a key, since the sum
        would tell of it."""
        return Meter(self.settings.answer.prices, self.account if document.own else None)

    def _concerns_text(self, error: ProviderError) -> bool:
        """Whether another text may fare better: an empty reply, or a refusal by a server that has answered before."""
        if isinstance(error, ProviderResponseError):
            return not error.blames_server
        return self.tally["answered"] > 0 and error.extra.get("upstream_status") in REFUSED

    async def _check(self, size: int) -> None:
        prices, principal = self.settings.answer.prices, self.context.principal
        async with self.database.transaction(principal, readonly=True) as connection:
            used = await model_usage.usage(connection, principal, self.context.job)
        wanted = size, self.limits.max_output_tokens
        if note := stop_note(self.section, self.limits, prices, self.chat.name, used, wanted):
            raise CapReachedError(note)

    async def note_usage(self, connection: Any, spend: Spend) -> None:
        """In the transaction that keeps what was written."""
        if spend.calls:
            await model_usage.note_usage(connection, self.context.principal, self.context.job, self.chat.name, spend)

    async def sum_up(
        self, counted: Sequence[str], besides: dict[str, Any], stopped: str | None,
        count_waiting: Callable[[Any], Awaitable[int]],
    ) -> dict[str, Any]:  # fmt: skip
        """The result of the job: model, what was counted, `besides`, calls, tokens and cost; where it stopped, what is left."""
        async with self.database.transaction(self.context.principal) as connection:
            used = await model_usage.usage(connection, self.context.principal, self.context.job)
            left = await count_waiting(connection)
        own = [one for one in used if one.own]
        cost = spent(own, self.settings.answer.prices).usage()
        return {
            "model": self.chat.name, **{name: self.tally[name] for name in counted}, **besides,
            "calls": sum(one.calls for one in own),
            **{name: cost[name] for name in ("input_tokens", "output_tokens", "cost")},
            **({"stopped": stopped, "left": left} if stopped else {}),
        }  # fmt: skip


def prompt_size(filled: Prompt) -> int:
    """Tokens, estimated."""
    return estimate(filled.system) + estimate(filled.user)
