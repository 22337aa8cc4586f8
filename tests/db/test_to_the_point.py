"""What a model wrote and its sources support is an answer only where it is about what was asked: the name, the year, the thing.

Reports of two firms in each of four languages; a model that says the same of either, rightly and beside the point."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from scripted_server import ScriptedServer
from talking import Said, Talking

from cairn.providers.e5 import find_e5
from cairn.service.documents import create_collection
from cairn.wiring import Services
from tests.db.runs import answered, fill
from tests.db.tenants import on_documents_of, tenant_of
from tests.sharing import SHARED

pytestmark = SHARED

REPORTS = {
    "en": {
        "harrow.md": (
            "# Harrow Looms\n\n"
            "Revenue was 412 million dollars in 2021. In 2022 revenue came to 455 million dollars, because wool "
            "had become dearer. Harrow Looms runs 38 mills and employs 2,100 people. Nora Pell has led the "
            "company since 2016. A dividend of 80 cents a share was paid in 2022."
        ),
        "pennant.md": (
            "# Pennant Foods\n\n"
            "Revenue was 610 million dollars in 2021. In 2022 revenue came to 655 million dollars. The company "
            "sells frozen meals in 14 countries. A dividend of 120 cents a share was paid in 2022."
        ),
    },
    "fr": {
        "morel.md": (
            "# Laiteries Morel\n\n"
            "Le chiffre d'affaires était de 88 millions d'euros en 2021. En 2022, le chiffre d'affaires a atteint"
            " 97 millions d'euros. Les Laiteries Morel exploitent 6 laiteries et emploient 740 personnes. Un "
            "dividende de 2 euros par action a été versé en 2022."
        ),
        "garnier.md": (
            "# Cartonneries Garnaud\n\n"
            "Le chiffre d'affaires était de 120 millions d'euros en 2021. En 2022, le chiffre d'affaires a "
            "atteint 131 millions d'euros. L'entreprise livre des emballages dans toute l'Europe. Un dividende de"
            " 3 euros par action a été versé en 2022."
        ),
    },
    "de": {
        "weidner.md": (
            "# Weidner Optik GmbH\n\n"
            "Der Umsatz betrug 2021 52 Millionen Euro. Im Jahr 2022 stieg der Umsatz auf 61 Millionen Euro. Die "
            "Weidner Optik GmbH betreibt 17 Filialen und beschäftigt 390 Menschen. Die Geschäfte führt Ute "
            "Sander. Für 2022 wurde eine Dividende von 40 Cent je Aktie gezahlt."
        ),
        "lohmar.md": (
            "# Lohmar Druck AG\n\n"
            "Der Umsatz betrug 2021 83 Millionen Euro. Im Jahr 2022 stieg der Umsatz auf 94 Millionen Euro. "
            "Gedruckt wird in drei Werken an der Weser. Für 2022 wurde eine Dividende von 70 Cent je Aktie "
            "gezahlt."
        ),
    },
    "es": {
        "olmedo.md": (
            "# Bodegas Olmedo\n\n"
            "Los ingresos fueron de 35 millones de euros en 2021. En 2022 los ingresos llegaron a 41 millones de "
            "euros. Bodegas Olmedo tiene 9 bodegas y emplea a 260 personas. En 2022 se pagó un dividendo de 15 "
            "céntimos por acción."
        ),
        "tirado.md": (
            "# Conservas Tirado\n\n"
            "Los ingresos fueron de 70 millones de euros en 2021. En 2022 los ingresos llegaron a 78 millones de "
            "euros. La empresa vende pescado en conserva en ocho países. En 2022 se pagó un dividendo de 25 "
            "céntimos por acción."
        ),
    },
}
CASES = [
    (
        "en",
        "What was the revenue of Harrow Looms in 2022?",
        "In 2022 revenue came to 455 million dollars [harrow.md].",
        "",
    ),
    (
        "en",
        "How many people work for Harrow Looms?",
        "2,100 people [harrow.md].",
        "",
    ),
    (
        "en",
        "What was the revenue of Harrow Looms in 2022?",
        "In 2022 revenue came to 655 million dollars [pennant.md].",
        "Harrow",
    ),
    (
        "en",
        "What was the revenue of Harrow Looms in 2021?",
        "In 2022 revenue came to 455 million dollars [harrow.md].",
        "years",
    ),
    (
        "en",
        "What dividend did Harrow Looms pay per share?",
        "Harrow Looms runs 38 mills and employs 2,100 people [harrow.md].",
        "something else",
    ),
    (
        "fr",
        "Quel était le chiffre d'affaires des Laiteries Morel en 2022 ?",
        "En 2022, le chiffre d'affaires a atteint 97 millions d'euros [morel.md].",
        "",
    ),
    (
        "fr",
        "Combien de personnes travaillent aux Laiteries Morel ?",
        "740 personnes [morel.md].",
        "",
    ),
    (
        "fr",
        "Quel était le chiffre d'affaires des Laiteries Morel en 2022 ?",
        "En 2022, le chiffre d'affaires a atteint 131 millions d'euros [garnier.md].",
        "Morel",
    ),
    (
        "fr",
        "Quel était le chiffre d'affaires des Laiteries Morel en 2021 ?",
        "En 2022, le chiffre d'affaires a atteint 97 millions d'euros [morel.md].",
        "années",
    ),
    (
        "fr",
        "Quel dividende par action les Laiteries Morel ont-elles versé ?",
        "Les Laiteries Morel exploitent 6 laiteries et emploient 740 personnes [morel.md].",
        "autre chose",
    ),
    (
        "de",
        "Wie hoch war der Umsatz der Weidner Optik GmbH im Jahr 2022?",
        "Im Jahr 2022 stieg der Umsatz auf 61 Millionen Euro [weidner.md].",
        "",
    ),
    (
        "de",
        "Wie viele Menschen arbeiten bei der Weidner Optik GmbH?",
        "390 Menschen [weidner.md].",
        "",
    ),
    (
        "de",
        "Wie hoch war der Umsatz der Weidner Optik GmbH im Jahr 2022?",
        "Im Jahr 2022 stieg der Umsatz auf 94 Millionen Euro [lohmar.md].",
        "Weidner",
    ),
    (
        "de",
        "Wie hoch war der Umsatz der Weidner Optik GmbH im Jahr 2021?",
        "Im Jahr 2022 stieg der Umsatz auf 61 Millionen Euro [weidner.md].",
        "Jahren",
    ),
    (
        "de",
        "Welche Dividende je Aktie hat die Weidner Optik GmbH gezahlt?",
        "Die Weidner Optik GmbH betreibt 17 Filialen und beschäftigt 390 Menschen [weidner.md].",
        "etwas anderes",
    ),
    (
        "es",
        "¿Cuáles fueron los ingresos de Bodegas Olmedo en 2022?",
        "En 2022 los ingresos llegaron a 41 millones de euros [olmedo.md].",
        "",
    ),
    (
        "es",
        "¿Cuántas personas trabajan en Bodegas Olmedo?",
        "260 personas [olmedo.md].",
        "",
    ),
    (
        "es",
        "¿Cuáles fueron los ingresos de Bodegas Olmedo en 2022?",
        "En 2022 los ingresos llegaron a 78 millones de euros [tirado.md].",
        "Olmedo",
    ),
    (
        "es",
        "¿Cuáles fueron los ingresos de Bodegas Olmedo en 2021?",
        "En 2022 los ingresos llegaron a 41 millones de euros [olmedo.md].",
        "años",
    ),
    (
        "es",
        "¿Qué dividendo por acción pagó Bodegas Olmedo?",
        "Bodegas Olmedo tiene 9 bodegas y emplea a 260 personas [olmedo.md].",
        "otra cosa",
    ),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reports(chatty_of_module: Services, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Services]:
    if find_e5(tmp_path_factory.mktemp("loaded")) is None:
        pytest.skip("there is no reader: make install builds it")
    async with tenant_of(chatty_of_module) as opened:
        for language, texts in REPORTS.items():
            await create_collection(opened, language, "e5")
            await fill(opened, texts, language)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def services(reports: Services, scripted: ScriptedServer) -> AsyncIterator[Services]:
    async with on_documents_of(reports) as opened:
        yield opened


TITLES = {name: text.splitlines()[0][2:] for texts in REPORTS.values() for name, text in texts.items()}


def number_of(title: str, prompt: str) -> str:
    found = re.search(rf"\[Source (\d+): {re.escape(title)}", prompt)
    assert found, prompt
    return found[1]


def saying(text: str) -> list[Said]:
    """The model's reply, which names documents where a source's number has to stand."""

    def said(prompt: str) -> str:
        return re.sub(r"\[(\w+\.md)\]", lambda match: f"[{number_of(TITLES[match[1]], prompt)}]", text)

    return [said]


@pytest.mark.sweep(5)
@pytest.mark.parametrize(("language", "question", "said", "beside"), CASES)
async def test_a_supported_answer_is_green_only_where_it_is_to_the_point(
    services: Services, talking: Talking, language: str, question: str, said: str, beside: str
) -> None:
    talking.reset(generate=saying(said))
    made = await answered(services, question, collection=language)
    assert made.citations
    assert made.grounded is True
    assert made.answered == ("unsure" if beside else "yes"), made.insufficiencies
    assert made.insufficiencies == () if not beside else any(beside in told for told in made.insufficiencies)
    assert made.confidence < 0.5 if beside else made.confidence > 0
