"""When a circuit opens, tries again and closes."""

from __future__ import annotations

import asyncio

import pytest

from cairn.errors import CircuitOpenError, ProviderError, ProviderResponseError, ProviderTimeoutError
from cairn.providers.circuit import Circuit, Circuits, Limits, counts


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def fail(circuit: Circuit, error: ProviderError | None = None) -> None:
    with pytest.raises(ProviderError):
        async with circuit.call():
            raise error or ProviderTimeoutError("late", retryable=True)


async def succeed(circuit: Circuit) -> None:
    async with circuit.call():
        pass


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuit(clock: Clock) -> Circuit:
    return Circuit("chat m", lambda: Limits(failures=3, seconds=20), clock)


async def opened(circuit: Circuit) -> Circuit:
    for _ in range(3):
        await fail(circuit)
    return circuit


async def test_it_opens_after_failures_in_a_row_and_says_when_to_come_back(circuit: Circuit, clock: Clock) -> None:
    await opened(circuit)
    assert circuit.state == "open"
    clock.now += 12
    with pytest.raises(CircuitOpenError, match=r"^late; not asked again for 8 s, after 3 failures in a row$") as caught:
        await succeed(circuit)
    assert caught.value.extra["retry_after"] == 8


async def test_while_it_is_open_it_says_why_the_calls_failed(circuit: Circuit, clock: Clock) -> None:
    for _ in range(3):
        await fail(circuit, ProviderError("m: HTTP 401: bad key", upstream_status=401))
    for _ in range(2):
        with pytest.raises(CircuitOpenError) as caught:
            await succeed(circuit)
        assert (caught.value.cause, caught.value.answered) == ("key", 401), "the first cause, not that it is open"
    clock.now += 20
    await fail(circuit, ProviderTimeoutError("late"))
    with pytest.raises(CircuitOpenError) as caught:
        await succeed(circuit)
    assert (caught.value.cause, caught.value.answered) == ("silent", None), "what the call found that tried again"
    clock.now += 20
    await succeed(circuit)
    assert circuit.reason is None


async def test_a_model_that_is_not_there_opens_nothing_and_is_told(circuit: Circuit) -> None:
    for _ in range(5):
        await fail(circuit, ProviderError("no such model", upstream_status=404, cause="model"))
    assert circuit.state == "closed"
    assert circuit.reason is not None
    await fail(circuit, ProviderError("too long", upstream_status=400))
    assert circuit.reason is None, "the request was at fault, not the settings"


async def test_what_the_server_said_is_for_who_asked_and_not_for_who_comes_later(circuit: Circuit) -> None:
    said = ProviderError(
        "m: HTTP 500: the notes say 412,000", outline="m: HTTP 500: the server failed", upstream_status=500
    )
    for _ in range(3):
        with pytest.raises(ProviderError, match="412,000"):
            async with circuit.call():
                raise said
    with pytest.raises(CircuitOpenError) as caught:
        await succeed(circuit)
    assert caught.value.detail.startswith("m: HTTP 500: the server failed; not asked again for ")
    assert (caught.value.cause, caught.value.answered) == ("server", 500)
    assert circuit.reason is not None
    assert (circuit.reason.detail, circuit.reason.answered) == ("m: HTTP 500: the server failed", 500)


async def test_one_success_in_between_starts_the_count_again(circuit: Circuit) -> None:
    for _ in range(5):
        await fail(circuit)
        await fail(circuit)
        await succeed(circuit)
    assert circuit.state == "closed"


async def test_half_open_lets_one_call_try(circuit: Circuit, clock: Clock) -> None:
    await opened(circuit)
    clock.now += 20
    assert circuit.state == "half_open"
    trying, done = asyncio.Event(), asyncio.Event()

    async def probe() -> None:
        async with circuit.call():
            trying.set()
            await done.wait()

    task = asyncio.create_task(probe())
    await trying.wait()
    with pytest.raises(CircuitOpenError):
        await succeed(circuit)
    done.set()
    await task
    assert (circuit.state, circuit.failures) == ("closed", 0)


async def test_a_failed_probe_opens_it_again(circuit: Circuit, clock: Clock) -> None:
    await opened(circuit)
    clock.now += 20
    await fail(circuit)
    assert (circuit.state, circuit.retry_in) == ("open", 20)


async def test_a_cancelled_probe_leaves_the_next_call_to_try(circuit: Circuit, clock: Clock) -> None:
    await opened(circuit)
    clock.now += 20
    with pytest.raises(asyncio.CancelledError):
        async with circuit.call():
            raise asyncio.CancelledError
    assert circuit.state == "half_open"
    await succeed(circuit)
    assert circuit.state == "closed"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ProviderError("down", retryable=True), True),
        (ProviderTimeoutError("late"), True),
        (ProviderResponseError("malformed"), True),
        (ProviderError("key", upstream_status=401), True),
        (ProviderError("busy", upstream_status=429), True),
        (ProviderError("too long", upstream_status=400), False),
        (ProviderError("no such model", upstream_status=404), False),
        (ProviderResponseError("empty reply", blames_server=False), False),
    ],
)
def test_what_is_the_requests_own_fault_does_not_count(error: ProviderError, expected: bool) -> None:
    assert counts(error) is expected


def test_each_server_and_model_has_its_own() -> None:
    circuits = Circuits()
    first = circuits.get("chat", "http://a", "m")
    assert circuits.get("chat", "http://a", "m") is first
    others = [
        circuits.get("chat", "http://b", "m"),
        circuits.get("chat", "http://a", "n"),
        circuits.get("rerank", None, "m"),
    ]
    assert len({id(one) for one in (first, *others)}) == 4
    assert circuits.all() == [first, *others]
