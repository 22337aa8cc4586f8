"""What clients of two tenants do all the time: index, replace, delete, upload, search, ask, chat, look at the page, call tools.

Each goes to either server, as behind a balancer that takes the other one where nobody listens, and each document belongs to one
client, which knows what it was told of it.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import httpx2

from tests.faults.known_texts import PEOPLE, WORDS, Library, State, write_text
from tests.faults.soak.journal import Request
from tests.faults.soak.system import System

COLLECTION: Final = "soak"
NAMES: Final = 20
"""Documents of each client that writes: the collection stays as large as it is, so memory and speed can be compared."""
PATIENCE_SECONDS: Final = 120.0
"""After which a request counts as lost."""
QUESTIONS: Final = ("Who met {} at Silver Lake?", "Where did {} build a marker?", "What did {} and others build?")


class Clients:
    """Of one tenant."""

    def __init__(self, system: System, tenant: str, seed: str, pace: float) -> None:
        self.system, self.tenant, self.pace = system, tenant, pace
        self.library = Library()
        self.stopping = False
        self.key = {"Authorization": f"Bearer {system.keys[tenant]}"}
        self.http = httpx2.AsyncClient(trust_env=False, verify=False, timeout=PATIENCE_SECONDS)
        work: list[tuple[float, Callable[[random.Random], Awaitable[None]]]] = [
            (1.0, self._writer(0)), (1.0, self._writer(1)), (5.0, self._upload), (0.5, self._search), (0.5, self._search),
            (2.0, self._ask), (3.0, self._ask_streaming), (3.0, self._chat), (3.0, self._page), (2.0, self._call_tool),
        ]  # fmt: skip
        self.tasks = [
            asyncio.create_task(self._keep_on(one, seconds, random.Random(f"{seed} {tenant} {number}")))
            for number, (seconds, one) in enumerate(work)
        ]

    async def stop(self) -> None:
        """When what is under way is done."""
        self.stopping = True
        await asyncio.gather(*self.tasks)
        await self.http.aclose()

    async def _keep_on(
        self, work: Callable[[random.Random], Awaitable[None]], pause: float, chance: random.Random
    ) -> None:
        """With pauses of `pause` seconds on the average, as people make them."""
        while not self.stopping:
            await work(chance)
            await asyncio.sleep(chance.expovariate(self.pace / pause))

    async def _send(
        self,
        kind: str,
        chance: random.Random,
        method: str,
        path: str,
        *,
        good: tuple[int, ...] = (200,),
        **options: Any,
    ) -> httpx2.Response | None:
        """The whole answer; None where there is none, or one that is not good."""
        at, began = self.system.now, time.perf_counter()
        first, second = chance.sample(list(self.system.ports.values()), 2)
        options["headers"] = {**self.key, **options.get("headers", {})}
        answer, outcome, told = None, "lost", ""
        try:
            try:
                answer = await self.http.request(method, f"http://127.0.0.1:{first}{path}", **options)
            except httpx2.ConnectError:  # nothing was sent
                answer = await self.http.request(method, f"http://127.0.0.1:{second}{path}", **options)
            outcome = "ok" if answer.status_code in good else str(answer.status_code)
            told = "" if outcome == "ok" else answer.text[:300]
        except httpx2.HTTPError:
            await asyncio.sleep(0.2)
        took = 1000 * (time.perf_counter() - began)
        self.system.journal.requests.append(Request(at, kind, took, outcome, told))
        return answer if outcome == "ok" else None

    def _blame(self, what: str) -> None:
        self.library.wrong.append(f"{self.tenant}: {what}")

    # --- writing --------------------------------------------------------------------------------------------------------

    def _writer(self, number: int) -> Callable[[random.Random], Awaitable[None]]:
        async def write(chance: random.Random) -> None:
            name = f"{self.tenant}-{number}-{chance.randrange(NAMES)}"
            state = self.library.states.get(name)
            if state is not None and state.id is not None and chance.random() < 0.15:
                await self._delete(name, state, chance)
            else:
                await self._index(name, chance)

        return write

    def _text(self, name: str, chance: random.Random) -> str:
        state = self.library.states.get(name)
        return write_text(chance, name, len(state.sent) if state else 0)

    async def _index(self, name: str, chance: random.Random) -> None:
        text = self._text(name, chance)
        state = self.library.begin(name, text)
        body = {"collection": COLLECTION, "documents": [{"external_id": name, "text": text}]}
        answer = await self._send("index", chance, "POST", "/index", json=body)
        indexed = answer.json()["indexed"] if answer else []
        if indexed:
            state.id = indexed[0]["id"]
        self.library.end(name, "indexed", text, known=bool(indexed))

    async def _delete(self, name: str, state: State, chance: random.Random) -> None:
        self.library.begin(name, None)
        path = f"/collections/{COLLECTION}/documents/{state.id}"
        good = (204, 404) if None in state.may_be else (204,)
        answer = await self._send("delete", chance, "DELETE", path, good=good)
        if answer:
            state.id = None
        self.library.end(name, "deleted", None, known=answer is not None)

    async def _upload(self, chance: random.Random) -> None:
        """A file for the workers, followed until its job is done; whether it was taken is not known where the answer was lost."""
        name = f"{self.tenant}-file-{chance.randrange(NAMES)}.txt"
        text = self._text(name, chance)
        self.library.begin(name, text)
        files = {"files": (name, text.encode(), "text/plain")}
        at, began = self.system.now, time.perf_counter()
        answer = await self._send(
            "upload", chance, "POST", f"/collections/{COLLECTION}/documents", good=(202,), files=files
        )
        done = answer is not None and await self._follow(str(answer.json()["id"]), chance)
        if done:
            took = 1000 * (time.perf_counter() - began)
            self.system.journal.requests.append(Request(at, "upload, to its end", took, "ok"))
        self.library.end(name, "uploaded", text, known=done)

    async def _follow(self, job: str, chance: random.Random) -> bool:
        while True:
            if answer := await self._send("job", chance, "GET", f"/jobs/{job}"):
                status = answer.json()["status"]
                if status not in ("queued", "running"):
                    if status != "succeeded":
                        self._blame(f"job {job} ended as {status}: {answer.text[:300]}")
                    return bool(status == "succeeded")
            await asyncio.sleep(0.5)

    # --- reading --------------------------------------------------------------------------------------------------------

    def _query(self, chance: random.Random) -> str:
        return " ".join(chance.sample(WORDS, 2)) if chance.random() < 0.7 else chance.choice(PEOPLE)

    def _question(self, chance: random.Random) -> str:
        return chance.choice(QUESTIONS).format(chance.choice(PEOPLE))

    async def _search(self, chance: random.Random) -> None:
        before = self.library.quiet()
        body = {"query": self._query(chance), "collection": COLLECTION, "top_k": 20, "cache": chance.random() < 0.5}
        answer = await self._send("search", chance, "POST", "/search", good=(200, 404), json=body)
        if answer and answer.status_code == 200:
            after = self.library.quiet()
            for one in answer.json()["results"]:
                self.library.judge(one, before, after)

    async def _ask(self, chance: random.Random) -> None:
        body = {"question": self._question(chance), "collection": COLLECTION}
        answer = await self._send("ask", chance, "POST", "/query", good=(200, 404), json=body)
        if answer and answer.status_code == 200:
            self._judge_answer(answer.json())

    def _judge_answer(self, answer: dict[str, Any]) -> None:
        """What is quoted stands in a text that this tenant sent."""
        for one in answer["citations"]:
            state = self.library.states.get(one["external_id"])
            if state is None or not any(text[one["start"] : one["end"]] == one["quote"] for text in state.sent):
                self._blame(f"cites {one['external_id']}: {one['quote'][:80]!r}")

    async def _ask_streaming(self, chance: random.Random) -> None:
        body = {
            "question": self._question(chance), "collection": COLLECTION, "stream": True,
            "session_id": f"{self.tenant}-{chance.randrange(50)}",
        }  # fmt: skip
        answer = await self._send("ask, streaming", chance, "POST", "/query", good=(200, 404), json=body)
        if answer and answer.status_code == 200:
            events = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
            ends = [one for one in events if one in ("answer", "error", "cancelled")]
            if len(ends) != 1 or events[-1] != ends[0]:
                self._blame(f"a stream with the events {events[-5:]}")

    async def _chat(self, chance: random.Random) -> None:
        messages = [{"role": "user", "content": self._question(chance)}]
        body = {"model": COLLECTION, "messages": messages, "stream": True}
        answer = await self._send("chat", chance, "POST", "/v1/chat/completions", good=(200, 404), json=body)
        if answer and answer.status_code == 200:
            last = answer.text.rstrip().rpartition("data: ")[2]
            if last != "[DONE]" and not last.startswith('{"error":'):
                self._blame(f"a chat that ends in {last[-80:]!r}")

    async def _page(self, chance: random.Random) -> None:
        path = chance.choice(["/", "/collections", f"/collections/{COLLECTION}/documents", "/chat/sessions", "/jobs"])
        await self._send("page", chance, "GET", path, good=(200, 303, 307, 404))

    async def _call_tool(self, chance: random.Random) -> None:
        arguments = {"query": self._query(chance), "collection": COLLECTION}
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "search_documents", "arguments": arguments},
        }
        headers = {"Accept": "application/json, text/event-stream"}
        answer = await self._send("tool", chance, "POST", "/mcp", json=call, headers=headers)
        if answer:
            text = answer.text
            if '"result"' not in text and '"error"' not in text:
                self._blame(f"a tool that says {json.dumps(text[:200])}")
