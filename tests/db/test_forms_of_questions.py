"""Eight ways to ask: how do I, which command, what are the steps, which values, what is, who, when, yes or no. The questions are
in forms_of_questions.toml, over the descriptions of packages that the tests install, and over minutes."""

from __future__ import annotations

import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

from cairn.domain.document import Indexed, Source
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.measurement]

PACKAGES = ("attrs", "click", "httpx", "ifaddr", "networkx", "python-dotenv", "requests", "structlog", "typer")
MINUTES = {
    "minutes.md": """# Minutes of the rowing association

The minutes are taken by Ms. Lindqvist. The association bought the boat house in 1998.

## Motions

- Motion 12 on longer opening hours was rejected by the members.
- Motion 13 on a second landing stage has been withdrawn by its authors.
- Motion 14 on new oars was approved with 31 votes.
- The new roof, which Mr. Moreau proposed, was postponed until more offers are there.

## Offices

Ms. Okafor was elected treasurer. Mr. Bianchi is responsible for the keys.

## Dates

The budget year begins on 1 April. Fees are due at the end of January. The next meeting is on 17 September. The office opens
at nine o'clock on weekdays.
""",
    "rooms.md": """# Rooms of the boat house

Rooms must be reserved two weeks before. Dogs may not be brought into the boat house.

## Which rooms there are

| Room | Seats | Fee |
|---|---|---|
| Blue room | 12 | 40 euros |
| Hall | 80 | 150 euros |

The Blue room is the smaller room on the first floor, with twelve seats.

## Reserving the meeting room

1. Write to the office.
2. Wait for the confirmation.
3. Fetch the key on the day before.

## Leaving the meeting room

1. Close the windows.
2. Switch off the heating and the light.
3. Put the key into the box.

## Applying for a grant

1. Fill in the form.
2. Have it signed by the board.
3. Hand it in before the end of March.
""",
    "proces_verbal.md": """# Procès-verbal

La motion 20 sur les horaires a été acceptée. La motion 21 sur le parking a été rejetée par l'assemblée.
Le trésorier a présenté les comptes. La prochaine réunion aura lieu le 12 octobre.

## Réserver la salle

1. Écrire au bureau.
2. Attendre la confirmation.
3. Prendre la clé.

## Les salles

La salle verte est une petite salle au rez-de-chaussée.

Les salles disponibles sont :

- salle verte
- grande salle
""",
    "protokoll.md": """# Protokoll

Antrag 30 zu den Öffnungszeiten wurde angenommen. Antrag 31 zum Parkplatz wurde von der Versammlung abgelehnt.
Der Kassenwart hat die Zahlen vorgestellt. Die nächste Sitzung ist am 12. Oktober.

## Den Raum reservieren

1. Dem Büro schreiben.
2. Auf die Bestätigung warten.
3. Den Schlüssel abholen.

## Die Räume

Der grüne Raum ist ein kleiner Raum im Erdgeschoss.

Diese Räume sind verfügbar:

- grüner Raum
- großer Saal
""",
    "acta.md": """# Acta

La moción 40 sobre los horarios fue aprobada. La moción 41 sobre el aparcamiento fue rechazada por la asamblea.
El tesorero presentó las cuentas. La próxima reunión será el 12 de octubre.

## Reservar la sala

1. Escribir a la oficina.
2. Esperar la confirmación.
3. Recoger la llave.

## Las salas

La sala verde es una sala pequeña en la planta baja.

Las salas disponibles son:

- sala verde
- sala grande
""",
    "verbale.md": """# Verbale

La mozione 50 sugli orari è stata approvata. La mozione 51 sul parcheggio è stata respinta dall'assemblea.
Il tesoriere ha presentato i conti. La prossima riunione sarà il 12 ottobre.

## Prenotare la sala

1. Scrivere all'ufficio.
2. Aspettare la conferma.
3. Ritirare la chiave.

## Le sale

La sala verde è una piccola sala al piano terra.

Le sale disponibili sono:

- sala verde
- sala grande
""",
}
"""What became of motions, which no package tells."""
FORMS = tomllib.loads((Path(__file__).parent / "forms_of_questions.toml").read_text())


def described(name: str) -> str:
    about = metadata(name)
    return str(about.get_payload() or about["Description"])


def file_name(package: str) -> str:
    kind = "rst" if "rst" in str(metadata(package)["Description-Content-Type"]) else "md"
    return f"{package}.{kind}"


def shows(answer: str, key: str) -> bool:
    """Whether one of the alternatives stands there, whatever the markup and white space."""
    plain = " ".join(answer.replace("`", "").split())
    return any(one in plain for one in key.split("|"))


async def test_what_is_shown_holds_what_was_asked_for_in_each_form(services: Services) -> None:
    texts = {file_name(name): described(name) for name in PACKAGES}
    for name, text in (texts | MINUTES).items():
        [outcome] = await index_now(services, "forms", [Source(name, name, text.encode())])
        assert isinstance(outcome, Indexed), outcome
    lost: list[str] = []
    for form, cases in FORMS.items():
        for question, key in cases["known"]:
            answer = await answered(services, question, collection="forms")
            if not shows(answer.answer, key):
                lost.append(f"{form}: {question} -> {key!r} is not in {answer.answer[:300]!r}")
    assert not lost, "\n".join(lost)
