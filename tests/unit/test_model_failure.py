"""What a reader is told of a chat model that failed."""

from __future__ import annotations

from typing import get_args

import pytest

from cairn.answer.model_failure import Instead, describe_failure, said_cause
from cairn.errors import CircuitOpenError, FailureCause, ProviderError, ProviderTimeoutError
from cairn.language.lexicon import languages

KEY = ProviderError("m: HTTP 401: no", upstream_status=401)
LATE = ProviderTimeoutError("m: no answer in time")
ANSWERING = frozenset({"generate"})


@pytest.mark.parametrize("one", languages(), ids=lambda one: one.code)
def test_every_cause_has_its_own_sentence_in_every_language(one: object) -> None:
    said, instead = one.replies.model_failed, one.replies.model_instead  # type: ignore[attr-defined]
    assert set(said) == set(get_args(FailureCause))
    assert set(instead) == set(get_args(Instead))
    assert len(set(said.values())) == len(said)
    assert not any(sentence.endswith(".") for sentence in said.values()), "a status follows"


def test_one_sentence_says_what_failed_and_one_what_was_done() -> None:
    degraded = ["reranker failed: m: HTTP 401: no", "generation failed (m: HTTP 401: no)", "memory: not saved"]
    found = describe_failure([("rerank", KEY), ("generate", KEY)], degraded, "quotation", "en", ANSWERING)
    assert found is not None
    assert found.sentence == "The chat model rejects its key (401). This answer is a quotation."
    assert (found.cause, found.status, found.details) == ("key", 401, tuple(degraded[:2]))


def test_why_there_is_no_written_answer_counts_before_what_failed_earlier() -> None:
    degraded = ["reranker failed: m: no answer in time", "generation failed (m: HTTP 401: no)"]
    found = describe_failure([("rerank", LATE), ("generate", KEY)], degraded, "quotation", "de", ANSWERING)
    assert found is not None
    assert found.sentence.startswith("Das Sprachmodell weist seinen Schlüssel zurück (401). ")


def test_what_came_when_it_was_asked_again_has_not_failed() -> None:
    assert describe_failure([("generate", KEY)], ["memory: not saved"], "quotation", "en", ANSWERING) is None
    assert describe_failure([], ["memory: not saved"], "partly", "en", ANSWERING) is None


def test_an_open_circuit_is_told_by_its_cause() -> None:
    waiting = CircuitOpenError(f"{KEY.detail}; not asked again for 9 s", reason=KEY, retry_after=9)
    assert said_cause(waiting, "en") == "The chat model rejects its key (401)"
