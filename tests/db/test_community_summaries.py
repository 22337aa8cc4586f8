"""Summaries of communities by a chat model that is a real HTTP server: capped, of their sentences alone, never in the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scripted_replies import Reply
from scripted_server import ScriptedServer

from cairn.graph.refresh import KIND, parse_summary
from cairn.service.jobs import get_job
from cairn.settings import CommunitySettings, Environment, GraphSettings, JobsSettings, Settings, SettingsStore
from cairn.store.jobs import enqueue
from cairn.wiring import Services, open_services
from tests.db.graphs import remove
from tests.db.test_communities import filled, summaries


async def run_job(services: Services, collection_id: Any) -> dict[str, Any]:
    async with services.database.transaction(services.principal) as connection:
        job = await enqueue(connection, services.principal, KIND, {"collection_id": str(collection_id)}, max_attempts=1)
    await services.worker().run_until_idle()
    done = await get_job(services, job.id)
    assert done.status == "succeeded", done
    assert done.result is not None
    return done.result


def settings(written: int) -> SettingsStore:
    communities = CommunitySettings(delay_seconds=0, written=written, written_tokens=123)
    return SettingsStore(
        initial=Settings(graph=GraphSettings(communities=communities), jobs=JobsSettings(retry_seconds=0))
    )


async def test_the_largest_are_summed_up_and_blanked_with_their_documents(environment: Environment) -> None:
    heard: list[str] = []

    def answer(messages: list[dict[str, Any]]) -> str:
        heard.append(messages[-1]["content"])
        return "**A circle of four**\n\nThey belong together.\nSo says a note."

    with ScriptedServer(answer=answer) as server:
        with_model = replace(environment, openai_base_url=server.openai_url, openai_api_key="key")
        async with open_services(with_model, settings(2)) as services:
            collection_id = await filled(services)
            result = await run_job(services, collection_id)
            assert (result["by_model"]["written"], result["by_model"]["calls"], len(heard)) == (2, 2, 2)
            assert [request.body["max_tokens"] for request in server.requests] == [123, 123]
            found = await summaries(services, collection_id)
            told = [one for one in found if one.written]
            assert {(one.title, one.written) for one in told} == {
                ("A circle of four", "They belong together. So says a note.")
            }
            assert len(told) == 2
            assert all(sentence.text in "".join(heard) for one in told for sentence in one.sentences)
            await remove(services, "c", told[0].sentences[0].document_id)
            found = await summaries(services, collection_id)
            assert [one.id for one in found if one.written] == [told[1].id]


async def test_a_model_that_fails_leaves_the_sentences_and_is_told(environment: Environment) -> None:
    with ScriptedServer() as server:
        server.script(*[Reply("400")] * 9)
        with_model = replace(environment, openai_base_url=server.openai_url, openai_api_key="key")
        async with open_services(with_model, settings(5)) as services:
            collection_id = await filled(services)
            result = await run_job(services, collection_id)
            assert result["by_model"]["written"] == 0
            assert result["by_model"]["problem"]
            found = await summaries(services, collection_id)
            assert len(found) == 3
            assert all(one.sentences and not one.written for one in found)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Title: Stones\nThey are hard.", ("Stones", "They are hard.")),
        ("# Stones.\n\nThey are hard.\n\nVery.", ("Stones", "They are hard. Very.")),
        ("One line", ("", "")),
        ("", ("", "")),
    ],
)
def test_replies_are_read_tolerantly(reply: str, expected: tuple[str, str]) -> None:
    assert parse_summary(reply) == expected
