"""A row of a table is no sum, no average and no count of rows, and nothing "per trip": it is not called found."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest

from cairn.answer.candidates import candidates
from cairn.answer.evidence import question_terms
from cairn.answer.quotation import quote
from cairn.answer.row_asked import is_one_of_many, row_called_so
from cairn.domain.passage import Passage

TRIPS = """
| Vessel | Port | Built | Fuel (t) | Trips | Monthly fee |
| --- | --- | --- | --- | --- | --- |
| Aurora | Oslo | 2014-03-02 | 40 | 12 | 310 |
| Calypso | Bergen | 2018-10-30 | 217 | 9 | 280 |
| Dorado | Oslo | 2021-05-11 | 54 | 16 | 295 |
| Total | | | 311 | 37 | 885 |
"""
MORE = """
| Term | Average fuel (t) | Fee not refunded | Fee per trip | Days left |
| --- | --- | --- | --- | --- |
| Aurora | 40 | 12 | 3 | 4 |
| Calypso | 50 | 13 | 4 | 5 |
"""
STATEMENT = """
| | 2019 | 2018 |
| --- | --- | --- |
| Earnings per share: | | |
| Basic | 34 | 32 |
| Diluted | 33 | 31 |
"""
PRICES = "\n| Fuel | Price (EUR/kg) |\n| --- | --- |\n| Diesel | 2 |\n| Gas | 3 |\n"

STAFF = """
| Name | Centre | Patients | Wait (days) | Cost per visit | Nurses | Driver |
| --- | --- | --- | --- | --- | --- | --- |
| Rich Young | Health Centre | 1250 | 12 | 140 | 6 | Karl Voss |
| April Jones | Seefeld | 980 | 100 | 155 | 4 | Ina Berg |
"""
LINES = """
| Línea | Recorrido | Longitud (km) |
| --- | --- | --- |
| L4 | Ayuntamiento – Aeropuerto | 17,3 |
| L5 | Estación – Playa Larga | 14,9 |
"""
PLACES = """
| Ort | Stand |
| --- | --- |
| Kantine | geschlossen |
| Mensa | geöffnet |
"""
RENTS = """
| Flat | Tenant | Rent |
| --- | --- | --- |
| 2B | Menon | 890 |
| 1A | Strand | 945 |
"""
BANDS = """
| Service | Leave |
| --- | --- |
| 5 years or more | 30 days |
| 2 to 4 years | 25 days |
"""
MUSEUMS = """
| Museum | Town | Visitors |
| --- | --- | --- |
| Art House | Graz | 48000 |
| Rail Museum | Linz | 83000 |
| Salt Mine | Hallein | 139000 |
"""


def is_part(question: str, label: str, text: str = TRIPS) -> bool:
    here = UUID(int=1)
    read = Passage(here, here, "a.md", "", text, 0, len(text), None, (), 9, 1, "c", "text/plain", {})
    found = candidates([read])
    [best] = [one for one in found if one.cells and one.cells.row.label == label]
    return is_one_of_many(question_terms(question, found), best)


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("What is the total fuel without Calypso?", "Calypso"),
        ("What is the average fuel of vessels in Oslo?", "Dorado"),
        ("What is the fuel of vessels not in Oslo?", "Dorado"),
        ("What was the fuel per trip of Calypso?", "Calypso"),
        ("Wie hoch war der Verbrauch von Calypso pro Trip?", "Calypso"),
        ("Which vessel used the most fuel?", "Aurora"),
        ("What is the largest vessel?", "Aurora"),
        ("What is the total fuel in Oslo?", "Aurora"),
        ("By how much did the fuel of Aurora grow?", "Aurora"),
        ("What share of the fuel was for Aurora?", "Aurora"),
        ("How many trips from Aurora to Dorado?", "Aurora"),
        ("How many vessels were built in 2018?", "Calypso"),
        ("How many trips are left for Aurora?", "Aurora"),
        ("What is the total number of pianos?", "Total"),
        ("Quelle est la moyenne de fuel de Calypso ?", "Calypso"),
        ("Which vessels are cheaper than Aurora?", "Aurora"),
        ("Which vessels made more trips than Aurora?", "Aurora"),
        ("Quels navires sont moins chers que Calypso ?", "Calypso"),
        ("Which two vessels made the most trips of Oslo and Bergen?", "Calypso"),
        ("top 2 vessels of Bergen", "Calypso"),
    ],
)
def test_one_of_many_rows_is_a_part_of_what_is_asked_for(question: str, label: str) -> None:
    assert is_part(question, label)


@pytest.mark.parametrize(
    ("question", "label", "text"),
    [
        ("Which town has the most visited museum?", "Rail Museum", MUSEUMS),
        ("Who is the youngest?", "Rich Young", STAFF),
        ("waits over 100 days", "April Jones", STAFF),
        ("How many waits are over 100 days?", "Rich Young", STAFF),
        ("How many patients per nurse does April Jones have?", "April Jones", STAFF),
        ("What do two visits of April Jones cost?", "April Jones", STAFF),
        ("How many tours did Rich Young drive?", "Rich Young", STAFF),
        ("¿Cuál es la línea más larga?", "L5", LINES),
        ("Who waits longer, April Jones or Rich Young?", "April Jones", STAFF),
        ("Whose wait is longer than Karl Voss drives?", "April Jones", STAFF),
        ("Who pays more, Strand or Menon?", "1A", RENTS),
        ("Ist die Kantine mehr geöffnet als die Mensa?", "Kantine", PLACES),
        ("Um wie viel war der Besuch von Art House höher als der von Salt Mine?", "Salt Mine", MUSEUMS),
    ],
)
def test_a_row_with_a_word_of_the_question_is_no_answer(question: str, label: str, text: str) -> None:
    assert is_part(question, label, text)


@pytest.mark.parametrize(
    ("question", "label", "text"),
    [
        ("What is the fuel of Calypso?", "Calypso", TRIPS),
        ("How many trips did Calypso make?", "Calypso", TRIPS),
        ("What is the total fuel of Calypso?", "Calypso", TRIPS),
        ("What is the total fuel in the row Total?", "Total", TRIPS),
        ("What does Calypso mean?", "Calypso", TRIPS),
        ("What is the fee of Calypso per month?", "Calypso", TRIPS),
        ("When did the fuel of Aurora drop?", "Aurora", TRIPS),
        ("What is the average fuel of Aurora?", "Aurora", MORE),
        ("What fee of Aurora is not refunded?", "Aurora", MORE),
        ("What is the fee per trip of Aurora?", "Aurora", MORE),
        ("How many days are left for Aurora?", "Aurora", MORE),
        ("What is the price of gas per kg?", "Gas", PRICES),
        ("How many patients does April Jones have?", "April Jones", STAFF),
        ("What does a visit of April Jones cost?", "April Jones", STAFF),
        ("What is the cost per visit of April Jones?", "April Jones", STAFF),
        ("How many days of leave are there for more than 5 years?", "5 years or more", BANDS),
        ("How many days of leave are there for more than 2 years?", "2 to 4 years", BANDS),
        ("What are the basic earnings per share in 2019?", "Basic", STATEMENT),
        ("Are there more than five museums like Art House in Graz?", "Art House", MUSEUMS),
        ("What is the price of gas longer in use?", "Gas", PRICES),
        ("Hat die Kantine mehr Tage geöffnet?", "Kantine", PLACES),  # another row is open
    ],
)
def test_what_a_row_says_itself_is_looked_up(question: str, label: str, text: str) -> None:
    assert not is_part(question, label, text)


RELEASES = """
| Version | Runtime | Date |
| --- | --- | --- |
| v2.1.1 | go1.26.3 | 2026-05-25 |
| **v2.0.0** | go1.24.6 | 2025-08-11 |
| v1.30.0 | go1.24.4 | 2025-06-20 |
"""
SIGNALS = """
A graceful exit means that no new connections are accepted.

| Signal | Behavior |
| --- | --- |
| `SIGINT` | Graceful exit. |
| `SIGUSR2` | Ignored. |
| `SIGHUP` | Ignored. |
"""
SCANS = """
| Case | FileSize | `MaxFileSize` | MaxScanSize | Scanned? |
| --- | --- | --- | --- | --- |
| one | 84M | 84M | 42M | No |
| two | 84M | 42M | 84M | Yes |
| three | 42M | 42M | 42M | Yes |
"""
SIZES = "Is an 84M file scanned if MaxFileSize is 42M and MaxScanSize {} 84M?"
KEYS = """
| Action | Left | Right |
| --- | --- | --- |
| Crossfade | G | H |
| Small Crossfade | Shift + G | Shift + H |
| Small Crossfade Knob | X | Y |
"""
PORTS = """
| Port | Protocol | Description |
| --- | --- | --- |
| 8096 | TCP | Default HTTP |
| 8920 | TCP | Default HTTPS |
"""
SETTINGS = """
| Old setting | New setting | Notes |
| --- | --- | --- |
| `INOTIFY_DELAY` | [`STABILITY_DELAY`](a.md#x) | Unified |
| `POLLING_DELAY` | _Removed_ | Use `STABILITY_DELAY` |
"""


@pytest.mark.parametrize(
    ("question", "text", "best", "first"),
    [
        ("What is the default HTTP port?", PORTS, "8920", "8096"),
        ("What is the default HTTPS port?", PORTS, "8096", "8920"),
        ("What is the default HTTP port?", PORTS, "8096", None),
        ("What are the default HTTP and the default HTTPS port?", PORTS, "8920", None),
        ("What is the old name of STABILITY_DELAY?", SETTINGS, "`POLLING_DELAY`", "`INOTIFY_DELAY`"),
        ("What is the old name of STABILITY_DELAY?", SETTINGS, "`INOTIFY_DELAY`", None),
        ("What is the replacement of STABILITY?", SETTINGS, "`POLLING_DELAY`", None),
        (SIZES.format("is"), SCANS, "one", "two"),
        (SIZES.format("="), SCANS, "one", "two"),
        (SIZES.format("is"), SCANS, "two", None),
        (SIZES.format("of the"), SCANS, "three", "two"),
        (SIZES.format("is above"), SCANS, "one", None),
        ("Is a file scanned if MaxFileSize is 84M and MaxScanSize is 42M?", SCANS, "two", "one"),
        ("Is a file scanned if MaxFileSize is 42M?", SCANS, "one", None),
        ("What is the shortcut for Small Crossfade to the left?", KEYS, "Crossfade", "Small Crossfade"),
        ("What is the shortcut for the small crossfade knob?", KEYS, "Crossfade", "Small Crossfade Knob"),
        ("What is the shortcut for Crossfade, small or not?", KEYS, "Crossfade", None),
        ("What are the shortcuts for Crossfade and Small Crossfade?", KEYS, "Crossfade", None),
        ("When was v2.0.0 released?", RELEASES, "v2.1.1", "**v2.0.0**"),
        ("Quand est sortie la v2.0.0 ?", RELEASES, "v1.30.0", "**v2.0.0**"),
        ("When was v2.0.0 released?", RELEASES, "**v2.0.0**", None),
        ("When was v2.0.1 released?", RELEASES, "v2.1.1", None),
        ("When was the last one released?", RELEASES, "v2.1.1", None),
        ("What does SIGUSR2 do?", SIGNALS, "`SIGINT`", "`SIGUSR2`"),
        ("What does SIGUSR2 do?", SIGNALS, "", "`SIGUSR2`"),
        ("How long may a graceful exit take that SIGUSR2 began?", SIGNALS, "", None),
        ("What does Ignored mean?", SIGNALS, "", None),
    ],
)
def test_the_row_that_is_called_as_the_question_says_comes_first(
    question: str, text: str, best: str, first: str | None
) -> None:
    here = UUID(int=1)
    found = candidates([Passage(here, here, "a.md", "", text, 0, len(text), None, (), 9, 1, "c", "text/plain", {})])
    labels = [one.cells.row.label if one.cells else "" for one in found]
    order = sorted(range(len(found)), key=lambda at: labels[at] != best)
    called = row_called_so(order, found, question_terms(question, found))
    assert (labels[called] if called is not None else None) == first


@pytest.mark.parametrize(
    ("question", "row", "shown"),
    [
        (SIZES.format("is"), "two", "two | Scanned? | Yes"),
        ("Which MaxScanSize has case two?", "two", "two | MaxScanSize | 84M"),
        ("What is MaxScanSize where MaxFileSize is 42M, in case two?", "two", "two | MaxScanSize | 84M"),
        ("Is MaxScanSize 84M in case two?", "two", "two | MaxScanSize | 84M"),
    ],
)
def test_what_the_question_says_itself_is_not_the_answer(question: str, row: str, shown: str) -> None:
    here = UUID(int=1)
    passage = Passage(here, here, "a.md", "", SCANS, 0, len(SCANS), None, (), 9, 1, "c", "text/plain", {})
    found = candidates([passage])
    [at] = [at for at, one in enumerate(found) if one.cells and one.cells.row.label == row]
    assert quote(at, found, np.zeros(len(found)), question_terms(question, found), [passage]).shown == shown
