"""settings.json: its shape, what is refused, and reloading while running."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from cairn.errors import SettingsError
from cairn.settings import Settings, SettingsStore, parse_settings, read_environment, released
from cairn.settings.store import read_settings
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]


def test_the_rag_block_has_the_documented_keys_and_defaults() -> None:
    shipped = json.loads((ROOT / "settings.json").read_text())["rag"]
    documented: dict[str, Any] = {
        "embeddingModel": "auto", "collectionName": "default", "chunkSize": 500, "chunkOverlap": 50,
        "topK": 5, "hybridSearchEnabled": True, "hybridSearchWeight": 0.7, "rerankingEnabled": True, "rerankerProvider": "auto",
        "rerankerModel": "", "contextualEnrichmentEnabled": False, "contextualEnrichmentModel": "",
        "adaptiveRoutingEnabled": False, "adaptiveRoutingModel": "",
        "qa": {"model": "", "temperature": 0.1},
        "agenticRetrieval": {
            "enabled": False, "maxRetries": 2, "documentGradingEnabled": True, "queryExpansionEnabled": True,
            "queryDecompositionEnabled": True, "hallucinationCheckEnabled": True, "strictHallucinationCheck": False,
            "webSearchFallbackEnabled": False, "confidenceThreshold": 0.5,
        },
    }  # fmt: skip
    assert shipped == documented


def test_the_rag_block_of_thoth_is_accepted_as_it_stands() -> None:
    """Every key of it, with the values that it ships with; nothing is refused, and nothing is said to be in vain."""
    block = {
        "embeddingModel": "text-embedding-3-small", "collectionName": "thoth_papers", "chunkSize": 500, "chunkOverlap": 50,
        "topK": 5, "hybridSearchEnabled": True, "hybridSearchWeight": 0.7, "rerankingEnabled": True, "rerankerProvider": "auto",
        "rerankerModel": "google/gemini-2.5-flash", "contextualEnrichmentEnabled": False,
        "contextualEnrichmentModel": "google/gemini-2.5-flash", "adaptiveRoutingEnabled": False,
        "adaptiveRoutingModel": "google/gemini-2.5-flash",
        "qa": {"model": "anthropic/claude-3-5-sonnet", "temperature": 0.1},
        "agenticRetrieval": {
            "enabled": False, "maxRetries": 2, "documentGradingEnabled": True, "queryExpansionEnabled": True,
            "queryDecompositionEnabled": True, "hallucinationCheckEnabled": True, "strictHallucinationCheck": False,
            "webSearchFallbackEnabled": False, "confidenceThreshold": 0.5,
        },
    }  # fmt: skip
    settings, notes = read_settings(json.dumps({"rag": block}).encode())
    assert notes == ()
    assert settings.rag.model_dump(by_alias=True) == block
    production = {"chunkSize": 800, "chunkOverlap": 100, "topK": 10, "rerankerProvider": "cohere"}
    assert parse_settings(json.dumps({"rag": block | production}).encode()).rag.top_k == 10


def test_the_fallback_to_the_web_needs_a_server() -> None:
    wanted: dict[str, Any] = {"rag": {"agenticRetrieval": {"webSearchFallbackEnabled": True}}}
    with pytest.raises(SettingsError, match=r"needs web\.searxngUrl, the address of a SearXNG server") as refused:
        parse_settings(json.dumps(wanted).encode())
    assert "Value error" not in refused.value.detail
    for url in (
        "ftp://search.example",
        "file:///etc/passwd",
        "search.example",
        "http://user:key@search.example",
        "http://",
    ):
        with pytest.raises(SettingsError, match=r"web\.searxngUrl"):
            parse_settings(json.dumps({**wanted, "web": {"searxngUrl": url}}).encode())
    for url in ("http://127.0.0.1:8888", "https://search.example/searxng/"):
        found = parse_settings(json.dumps({**wanted, "web": {"searxngUrl": url}}).encode())
        assert found.web.searxng_url == url


def test_the_shipped_file_is_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sections of the rooms with their constants: parent 2000/200, child 400/50, k = 60, 50."""
    monkeypatch.delenv("CAIRN_EMBEDDING_MODEL")
    shipped = parse_settings((ROOT / "settings.json").read_bytes())
    assert shipped == Settings()
    whole = json.loads(Settings().model_dump_json(by_alias=True))
    assert json.loads((ROOT / "settings.json").read_text()) == whole, "all that can be set stands in it"
    chunking = shipped.chunking
    assert (chunking.passage_size, chunking.passage_overlap, chunking.chunk_size, chunking.chunk_overlap) == (
        2000, 200, 400, 50,
    )  # fmt: skip
    assert (shipped.retrieve.rrf_k, shipped.retrieve.rerank_candidates) == (60, 50)


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from models(field.annotation)


def test_every_key_has_a_description() -> None:
    for model in models(Settings):
        for name, field in model.model_fields.items():
            section = isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
            assert section or field.description, f"{model.__name__}.{name}"


BAD = {
    "unknown key": (b'{"rag": {"topk": 3}}', "did you mean 'topK'"),
    "unknown section": (b'{"rga": {}}', "did you mean 'rag'"),
    "snake case": (b'{"rag": {"top_k": 3}}', "rag.top_k"),
    "wrong type": (b'{"rag": {"topK": "3"}}', "rag.topK"),
    "out of range": (b'{"rag": {"topK": 0}}', "rag.topK"),
    "not a number": (b'{"rag": {"hybridSearchWeight": NaN}}', "rag.hybridSearchWeight"),
    "empty": (b"", "empty"),
    "white space": (b" \n", "empty"),
    "a list": (b"[]", "object"),
    "half-written": (b'{"rag": {"topK": 7', "JSON"),
    "NUL": (b"\x00\x00\x00", "JSON"),
    "not UTF-8": (b'{"rag": "\xff"}', "JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_changes_nothing_and_says_why(tmp_path: Path, name: str) -> None:
    """The old settings stay in force; a good file heals it."""
    content, problem = BAD[name]
    file = tmp_path / "settings.json"
    file.write_text('{"rag": {"topK": 9}}')
    store = SettingsStore(file)
    kept = store.current
    file.write_bytes(content)
    assert store.reload() is False
    assert store.current is kept
    assert problem in (store.problem or "")
    file.write_text('{"rag": {"topK": 11}}')
    assert store.reload() is True
    assert (store.problem, store.current.rag.top_k) == (None, 11)


def test_a_bad_file_at_start_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    with pytest.raises(SettingsError, match=r"settings\.json"):
        SettingsStore(file)
    file.write_text("[]")
    with pytest.raises(SettingsError, match="object"):
        SettingsStore(file)


def test_what_a_file_asks_for_in_vain_is_said(tmp_path: Path) -> None:
    """A key of an earlier release is no reason not to start."""
    file = tmp_path / "settings.json"
    file.write_text('{"graph": {"vectors": {"enabled": true}, "hops": 3}, "ingest": {"embedBatch": 8}}')
    store = SettingsStore(file)
    assert store.current.graph.hops == 3
    assert [note.split()[0] for note in store.notes] == ["graph.vectors", "ingest.embedBatch"]
    file.write_text('{"graph": {"hops": 2}}')
    assert store.reload()
    assert store.notes == ()


def test_a_copy_of_what_an_older_release_shipped_is_told_where_the_defaults_are_others_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever copied the file has old defaults for ever, and knows nothing of it; who wrote a few keys means them."""
    shipped = json.loads((ROOT / "settings.json").read_text())
    older = json.loads(json.dumps(shipped))
    older["rag"]["topK"], older["retrieve"]["rrfK"], older["cache"]["gone"] = 4, 61, 1
    (tmp_path / "released").mkdir()
    (tmp_path / "released" / "0.0.9.json").write_text(json.dumps(older))
    monkeypatch.setattr(released, "FOLDER", tmp_path / "released")
    del older["cache"]["gone"]
    older["vector"]["efSearch"], older["graph"]["hops"] = 120, 3  # what somebody changed in the copy
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(older))
    store = SettingsStore(file)
    assert store.notes == (
        "these 2 keys hold the default of an older release: rag.topK, retrieve.rrfK; remove what is not meant, and this "
        "release's counts",
    )
    assert store.current.rag.top_k == 4, "nothing is changed of itself"
    del older["rag"]["topK"]
    file.write_text(json.dumps(older))
    assert store.reload()
    assert [note.partition(":")[0] for note in store.notes] == ["this key holds the default of an older release"]
    for meant in (shipped, {"rag": {"topK": 4}, "retrieve": {"rrfK": 61}}):
        file.write_text(json.dumps(meant))
        store.reload()
        assert store.notes == ()


def test_this_release_reads_what_every_release_shipped() -> None:
    files = sorted(released.FOLDER.glob("*.json"))
    assert files
    for file in files:
        parse_settings(file.read_bytes())


async def test_changes_are_followed_also_atomic_renames_and_removal(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    store = SettingsStore(file)
    watcher = asyncio.create_task(store.watch())

    def replace(top_k: int) -> None:
        fresh = tmp_path / "settings.json.new"
        fresh.write_text(json.dumps({"rag": {"topK": top_k}}))
        os.replace(fresh, file)

    def is_watching() -> bool:
        replace(6)
        return store.current.rag.top_k == 6

    try:
        await until(is_watching)
        for top_k in (7, 8):
            replace(top_k)
            await until(lambda expected=top_k: store.current.rag.top_k == expected)
        file.unlink()
        await until(lambda: store.problem)
        assert store.current.rag.top_k == 8
        file.write_text('{"rag": {"topK": 12}}')
        await until(lambda: store.current.rag.top_k == 12)
        assert store.problem is None
    finally:
        watcher.cancel()


def test_revision_names_the_effective_values() -> None:
    assert parse_settings(b"{}").revision == parse_settings(b'{"rag": {"topK": 5}}').revision
    assert parse_settings(b"{}").revision != parse_settings(b'{"rag": {"topK": 6}}').revision


def test_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = read_environment({})
    assert (plain.tenant, plain.host, plain.port, plain.settings_path) == ("default", "127.0.0.1", 8000, None)
    assert not plain.chat_configured
    (tmp_path / "settings.json").write_text("{}")
    assert read_environment({}).settings_path == Path("settings.json")
    assert read_environment({"OPENAI_BASE_URL": "http://localhost:11434/v1"}).chat_configured
    with pytest.raises(SettingsError, match="CAIRN_PORT"):
        read_environment({"CAIRN_PORT": "http"})
    assert plain.prepared_statements
    assert not read_environment({"CAIRN_PREPARED_STATEMENTS": "off"}).prepared_statements
    with pytest.raises(SettingsError, match="CAIRN_PREPARED_STATEMENTS must be on or off, not '0'"):
        read_environment({"CAIRN_PREPARED_STATEMENTS": "0"})
    assert plain.replica_urls == ()
    several = read_environment({"CAIRN_REPLICA_URL": "postgresql://a,b/x, postgres://u:p,w@c/x"}).replica_urls
    assert several == ("postgresql://a,b/x", "postgres://u:p,w@c/x")
    with pytest.raises(SettingsError, match="CAIRN_REPLICA_URL"):
        read_environment({"CAIRN_REPLICA_URL": "replica.example.org"})
