"""What thousands of questions about tables of an encyclopaedia showed (ADR 159): cells that hold several things, one row compared
with another, what is counted and what is not. Over PostgreSQL."""

from __future__ import annotations

import pytest
import pytest_asyncio

from cairn.domain.passage import Passage
from cairn.runs.library import Library
from cairn.wiring import Services
from tests.db.test_table_cases import indexed, told
from tests.sharing import SHARED

pytestmark = SHARED

PROVINCES = """# Provinces of the valley

| Province | Centre | Population | Languages | Governor since |
| --- | --- | --- | --- | --- |
| Arda | Kern | 120,000 | Tolu | 2011 |
| Belm | Lunt | 45,500 | Tolu, Kesh | 2015 |
| Cora | Mide | 310,000 | Kesh | 2009 |
| Dura | Nost | 88,000 | Kesh / Tolu (some Ruvan) | 2019 |
| Emra | Olsk | 61,000 | Ruvan | 2015 |
"""
RIVERS = """# Rivers

| River | Country | Length (km) | Basin (km2) |
| --- | --- | --- | --- |
| Rhine | Germany | 1233 | 185000 |
| Elbe | Germany | 1094 | 148268 |
| Loire | France | 1006 | 117000 |
| Seine | France | 777 | 79000 |
| Upper Seine | France | 212 | 9000 |
"""
RACES = """# Season of a driver

| Year | Race | Team | Position | Laps | Points | Result |
| --- | --- | --- | --- | --- | --- | --- |
| 2014 | Coast Cup | Lark | 3 | 52 | 16 | Finished |
| 2014 | Hill Prize | Lark | 11 | 48 | 0 | Finished |
| 2015 | Coast Cup | Finch | 1 | 52 | 25 | Won |
| 2015 | Lake Prize | Finch | 7 | 61 | 6 | Finished |
| 2015 | Hill Prize | Finch | 2 | 48 | 18 | Finished |
| Career |  |  |  | 261 | 65 |  |
"""
FERRY = """Payroll no.,Employee,Department,Overtime (EUR),Gross pay (EUR)
201,Alasdair Munro,Deck,212.50,5480.00
207,Callum Rae,Deck,318.75,2465.00
219,Sandy Kerr,Engine,640.00,5120.00
221,Mairi Lennox,Engine,275.00,3890.00
232,Nadia Osman,Catering,97.50,2390.00
"""
SHOWS = """# Shows

| Season | Host | Commentator(s) | Viewers |
| --- | --- | --- | --- |
| 1 | Ida Holm | Leo Pohl and Mia Sand | 6.4 million |
| 2 | Ida Holm | Leo Pohl | 5.7 million |
| 3 | Ben Aber | Mia Sand, Leo Pohl, Jo Reed | 6.1 million |
"""
RUNNERS = """# Heights

| Name | Height | Year of birth |
| --- | --- | --- |
| Bo Brown | 5'11 | 1988 |
| Jo Olmed | 6'1 | 1991 |
| Cy Reed | 5'9 | 1979 |
"""
LOANS = """# Loans

| Book | Borrower | Borrowed on | Returned on | Fine (EUR) | Weight (kg) | Paid |
| --- | --- | --- | --- | --- | --- | --- |
| Cosmos | Ann Bell | 2026-09-01 | 2026-09-12 | 1.40 | 1.2 | yes |
| Foster | Bo Carr | 2026-09-04 |  |  | 0.4 | no |
| Emma | Ann Bell | 2026-09-09 |  |  | 0.6 | no |
| SPQR | Cy Dean | 2026-10-02 | 2026-10-20 | 2.00 | 0.9 | no |
"""
VINES = """<html lang="de"><head><title>Weinlese</title></head><body><h1>Weinlese</h1><table>
<tr><th>Parzelle</th><th>Rebsorte</th><th>Fläche (ha)</th><th>Menge 2024 (kg)</th><th>Menge 2025 (kg)</th></tr>
<tr><td>Kirchberg</td><td>Riesling</td><td>2,4</td><td>16.800</td><td>19.320</td></tr>
<tr><td>Sonnenhang</td><td>Riesling</td><td>1,8</td><td>11.900</td><td>12.640</td></tr>
<tr><td>Mühlwiese</td><td>Silvaner</td><td>1,6</td><td>14.200</td><td>15.110</td></tr>
</table></body></html>"""
GRANTS = """<html lang="fr"><head><title>Subventions</title></head><body><h1>Subventions</h1><table>
<tr><th>Association</th><th>Domaine</th><th>Montant demandé</th><th>Montant accordé</th></tr>
<tr><td>Judo club</td><td>Sport</td><td>6 500 €</td><td>5 000 €</td></tr>
<tr><td>Les Amis du Moulin</td><td>Patrimoine</td><td>9 200 €</td><td>6 400 €</td></tr>
<tr><td>Club de gymnastique</td><td>Sport</td><td>8 400 €</td><td>7 200 €</td></tr>
</table></body></html>"""
WARDS = """<html lang="it"><head><title>Reparti</title></head><body><h1>Reparti</h1><table>
<tr><th>Reparto</th><th>Posti letto</th><th>Degenza media (giorni)</th></tr>
<tr><td>Geriatria</td><td>30</td><td>14,3</td></tr>
<tr><td>Riabilitazione</td><td>18</td><td>21,6</td></tr>
<tr><td>Cardiologia</td><td>26</td><td>6,2</td></tr>
</table></body></html>"""
TRIAL = """# Trial sites per country

| Site | Country | Target | Enrolled | Support agent |
| --- | --- | --- | --- | --- |
| Royal | Britain | 30 | 32 | Bea |
| Charlotte | France | 40 | 24 | Marek |
| Leeds | Britain | 35 | 35 | Bea |
"""
WARD_RESULTS = """ward,district,electorate,labour,lib_dem,turnout_pct
Netherton,North,5210,905,310,31.8
Millbrook,South,6390,879,640,44.1
Guildhall,Centre,7020,1120,815,39.5
"""
SHOP = """# Shop

| Article | Group | Sold 2024 (pcs) | Sold 2025 (pcs) |
| --- | --- | --- | --- |
| Tea towel | textiles | 480 | 642 |
| Mug | china | 300 | 290 |
"""
WEATHER = """# Weather

| Month | Rain (mm) | Sun (h) |
| --- | --- | --- |
| June | 33.2 | 190 |
| July | 82.9 | 170 |
| August | 45.7 | 180 |
"""
LINES = """# Bus lines

| Line | Company | Passengers 2024 | Passengers 2025 |
| --- | --- | --- | --- |
| L1 | Urbasa | 1284300 | 1347850 |
| L2 | Urbasa | 968400 | 1042600 |
| L3 | Transvega | 611750 | 589200 |
| L4 | Urbasa | 537900 | 556150 |
"""
HOTELS = """# Hotels of the group

| Hotel | City | Stars | Beds | Nights sold | Target |
| --- | --- | --- | --- | --- | --- |
| Alpenblick | Graz | 4 | 120 | 3100 | 3000 |
| Seehof | Linz | 3 | 80 | 2150 | 2400 |
| Krone | Wels | 3 | 45 | 1250 | 1250 |
"""
RENTS = """# Rents

| Flat | Tenant | Bedrooms | Rent (GBP) | Arrears (GBP) | prio |
| --- | --- | --- | --- | --- | --- |
| G1 | Doreen Pascoe | 1 | 685 |  | low |
| 2B | Imran Sheikh | 2 | 890 | 445 | high |
| 1A | Oliver Strand | 2 | 945 | 135 | high |
| Total |  |  | 2520 | 580 |  |
"""
BAKERY = """<html lang="fr"><head><title>Ventes</title></head><body><h1>Boulangerie</h1><table>
<tr><th>Produit</th><th>Prix TTC</th><th>Invendus sem. 44</th></tr>
<tr><td>Baguette</td><td>1,30 €</td><td>64</td></tr><tr><td>Croissant</td><td>1,20 €</td><td>52</td></tr>
<tr><td>Brioche</td><td>5,50 €</td><td></td></tr><tr><td>Fougasse</td><td>2,90 €</td><td>17</td></tr>
</table></body></html>"""
AUTOBUSES = """<html lang="es"><head><title>Autobuses</title></head><body><h1>Autobuses</h1><table>
<tr><th>Línea</th><th>Recorrido</th><th>Long. (km)</th><th>Viajeros 2024</th><th>Viajeros 2025</th></tr>
<tr><td>L3</td><td>Puerto – Parque</td><td>12,6</td><td>611.750</td><td>589.200</td></tr>
<tr><td>L5</td><td>Estación – Playa Larga</td><td>14,9</td><td>472.600</td><td>528.900</td></tr>
<tr><td>L8</td><td>Plaza – Aeropuerto</td><td>17,3</td><td>415.100</td><td>463.800</td></tr>
</table></body></html>"""
SOLAR = """<html lang="de"><head><title>Solaranlage</title></head><body><h1>Solaranlage</h1><table>
<tr><th>Monat</th><th>Ertrag 2025 (kWh)</th><th>Einspeisung 2025 (kWh)</th></tr>
<tr><td>Oktober</td><td>452</td><td>216</td></tr><tr><td>November</td><td>263</td><td>81</td></tr>
<tr><td>Dezember</td><td>187</td><td>38</td></tr>
</table></body></html>"""
MEDALS = """<html lang="de"><head><title>Medaillen</title></head><body><h1>Medaillen</h1><table>
<tr><th>Land</th><th>Medaillen 2016</th><th>Medaillen 2020</th></tr>
<tr><td>Deutschland</td><td>42</td><td>37</td></tr><tr><td>Italien</td><td>28</td><td>40</td></tr>
<tr><td>Kuba</td><td>11</td><td>15</td></tr></table></body></html>"""
MEDALLAS = """<html lang="es"><head><title>Medallas</title></head><body><h1>Medallas</h1><table>
<tr><th>País</th><th>Medallas 2016</th><th>Medallas 2020</th></tr>
<tr><td>Alemania</td><td>42</td><td>37</td></tr><tr><td>Italia</td><td>28</td><td>40</td></tr>
<tr><td>Cuba</td><td>11</td><td>15</td></tr></table></body></html>"""
POINTS = """<html lang="de"><head><title>Liga</title></head><body><h1>Liga</h1><table>
<tr><th>Verein</th><th>Punkte</th></tr><tr><td>Rapid</td><td>51</td></tr><tr><td>Austria</td><td>48</td></tr>
</table></body></html>"""
MATCHES = """# League

| Team | Matches 2023 | Matches 2024 |
| --- | --- | --- |
| Rovers | 38 | 46 |
| Albion | 40 | 44 |
"""
MINING = """# Copper

| Country | Producer | Production (t) |
| --- | --- | --- |
| Chile | Codelco | 5300 |
| Peru | Antamina | 2600 |
"""
VOTES = """# Votes

| Year | Vote % | Seats |
| --- | --- | --- |
| 1968 | 35.2 | 61 |
| 1974 | 27.6 | 44 |
"""
FILES = {
    name: text.encode() for name, text in {
        "provinces.md": PROVINCES, "rivers.md": RIVERS, "races.md": RACES, "ferry.csv": FERRY, "shows.md": SHOWS,
        "heights.md": RUNNERS, "votes.md": VOTES, "loans.md": LOANS, "lese.html": VINES, "subventions.html": GRANTS,
        "reparti.html": WARDS,
    }.items()
}  # fmt: skip


MORE_FILES = {
    name: text.encode() for name, text in {
        "sites.md": TRIAL, "wards.csv": WARD_RESULTS, "shop.md": SHOP, "lines.md": LINES, "weather.md": WEATHER,
        "hotels.md": HOTELS,
        "rents.md": RENTS, "ventes.html": BAKERY, "autobuses.html": AUTOBUSES, "solar.html": SOLAR,
    }.items()
}  # fmt: skip
WON_FILES = {
    name: text.encode() for name, text in {
        "medaillen.html": MEDALS, "medallas.html": MEDALLAS, "liga.html": POINTS, "league.md": MATCHES, "copper.md": MINING,
    }.items()
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def many(services_of_module: Services) -> tuple[Library, list[Passage]]:
    return await indexed(services_of_module, "many", FILES)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many provinces have Tolu as one of their languages?", "3"),  # alone, and among others
        ("How many provinces speak Kesh?", "3"),
        ("Which province with Kesh has the smallest population?", "Belm: 45,500"),
        ("Which is longer, the Rhine or the Elbe?", "Rhine: 1233 km"),
        ("Which is shorter: Loire or Elbe?", "Loire: 1006 km"),
        ("Which river has a larger basin, the Loire or the Seine?", "Loire: 117000"),
        ("Was ist länger, der Rhine oder die Elbe?", None),
        ("Which rivers are longer than the Loire?", "\nRhine: 1233\nElbe: 1094"),
        ("How many rivers have a larger basin than the Loire?", "2"),
        ("What is the difference in length between the Loire and the Rhine?", "227 km"),  # whichever is longer
        ("How many laps were completed in 2015?", "161"),
        ("What is the total number of races in 2015?", "3"),
        ("How many times did Finch race?", None),  # a verb that nothing in the table says
        ("What is the total number of points?", "65"),  # those of the career apart
        ("How much overtime was paid to the deck department?", "531.25 EUR"),
        (
            "How much overtime was paid for each department?",
            "\nDeck: 531.25 EUR\nEngine: 915.00 EUR\nCatering: 97.50 EUR",
        ),
        ("How many employees got overtime of less than .5?", "0"),
        ("What percentage of all overtime went to the engine department?", "59.27 %"),
        ("Who is the oldest?", "Cy Reed: 1979"),
        ("Which books have not been returned yet?", "\nFoster\nEmma"),
        ("How many books have not been returned?", "2"),
        ("Which books have not been paid?", "\nFoster\nEmma\nSPQR"),
        ("Wie viel Hektar entfallen auf jede Rebsorte?", "\nRiesling: 4,2\nSilvaner: 1,6"),
        ("Wie viel Kilo Riesling wurden 2025 insgesamt geerntet?", "31.960 kg"),
        ("Combien d’argent a été accordé en tout dans le domaine du sport ?", "12 200 €"),
        ("Quel est l’écart entre la somme demandée et la somme accordée pour Les Amis du Moulin ?", "2 800 €"),
        ("In quale reparto la degenza media è più lunga?", "Riabilitazione: 21,6"),
        ("Who gets more overtime, Callum Rae or Mairi Lennox?", "Callum Rae: 318.75 EUR"),
        ("What was the difference in vote percent between 1968 and 1974?", "-7.6"),
    ],
)
async def test_what_many_asked_is_computed(
    many: tuple[Library, list[Passage]], question: str, answer: str | None
) -> None:
    assert await told(many, question) == answer


@pytest.mark.parametrize(
    "question",
    [
        "Which river has the same length as the Loire?",
        "How many rivers are not in France?",
        "Which river is the next one after the Loire?",
        "How many years did Alasdair Munro serve in the department?",
        "How many races did he win in 2015?",  # one, of three
        "How many teams had the most points?",
        "What was his highest position?",  # the first, or the eleventh
        "What is the total position?",
        "What is the sum of the years?",
        "How many commentators did Ida Holm have in season 1?",  # a cell of two
        "How many viewers were there with Ben Aber?",  # it says how many
        "How much overtime did a deck hand get?",
        "Which runner is taller, Bo Brown or Jo Olmed?",  # feet and inches
        "Which is longer, the Rhine or the river?",
        "How much gross pay do people in Deck get?",  # together, or each
        "Which books were not borrowed?",  # all were
        "Which books were not returned in September?",
        "Who has not returned a book?",
        "How many drivers are from the US?",
        "What is the number of the employee from Catering?",
        "How many provinces exist to the north?",
    ],
)
async def test_what_many_asked_and_is_not_sure_is_not_computed(
    many: tuple[Library, list[Passage]], question: str
) -> None:
    assert await told(many, question) is None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def more(services_of_module: Services) -> tuple[Library, list[Passage]]:
    return await indexed(services_of_module, "more", MORE_FILES)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many patients were enrolled in each country?", "\nBritain: 67\nFrance: 24"),
        ("How many patients were enrolled per country?", "\nBritain: 67\nFrance: 24"),  # the title has "per", too
        ("How many sites does each support agent have?", "\nBea: 2\nMarek: 1"),
        ("In which ward was the turnout lowest?", "Netherton: 31.8"),
        ("In which wards did the Lib Dems get more than 500 votes?", "\nMillbrook: 640\nGuildhall: 815"),
        ("By what percentage did sales of the tea towel grow from 2024 to 2025?", "33.75 %"),
        ("How many women were enrolled in each country?", None),  # some of them
        ("What is the total turnout?", None),
        ("How much rain fell from June to August?", None),  # no change
        ("How much did rain drop from July to August?", "37.2"),
        ("How many passengers did L3 lose between 2024 and 2025?", "22550"),
        ("How many passengers did L1 lose between 2024 and 2025?", "an increase of 63550"),
        ("How many passengers did Urbasa lose between 2024 and 2025?", None),
        (
            "What are the three lines with the most passengers in 2025?",
            "\nL1, Urbasa: 1347850\nL2, Urbasa: 1042600\nL3, Transvega: 589200",
        ),
        ("How many passengers did L3 lose in 2024 and 2025?", None),  # in each of them
        ("Which lines had passengers in 2025 lower than 2024?", "\nL3: 589200 (Passengers 2024: 611750)"),
        ("Which lines had more than 2024 passengers in 2025?", None),  # all, or those above the year before
        ("Which of the four lines had the most passengers in 2025?", "L1: 1347850"),
        (
            "Which hotels sold at least as many nights as their target?",
            "\nAlpenblick: 3100 (Target: 3000)\nKrone: 1250 (Target: 1250)",
        ),
        ("How many hotels sold at most as many nights as their target?", "2"),
        ("Which hotels have at least as many beds as 100?", None),
        ("What is the average number of beds of the three-star hotels?", "62.5"),
        ("How many four-star hotels are there?", "1"),
        ("How many hotels have three stars?", "2"),
        ("What is the average rent of the two-bedroom flats?", "917.5 GBP"),
        ("Which flats had a high priority?", "\n2B\n1A"),
        ("Which tenants owe more than 200?", "\n2B, Imran Sheikh: 445"),
        ("Quels sont les deux produits avec le plus d’invendus ?", "\nBaguette: 64\nCroissant: 52"),
        ("Quel est le produit le plus cher ?", "Brioche: 5,50 €"),
        ("¿Cuál es la línea más larga?", "L8: 17,3 km"),
        ("¿Cuántos viajeros perdió la línea L3 entre 2024 y 2025?", "22.550"),
        ("In welchem Monat wurde 2025 am wenigsten erzeugt?", "Dezember: 187 kWh"),
        ("Wie viele Kilowattstunden wurden 2025 insgesamt eingespeist?", "335 kWh"),
    ],
)
async def test_what_many_asked_in_other_words(
    more: tuple[Library, list[Passage]], question: str, answer: str | None
) -> None:
    assert await told(more, question) == answer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def won(services_of_module: Services) -> tuple[Library, list[Passage]]:
    return await indexed(services_of_module, "won", WON_FILES)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many matches did Rovers lose in 2023 and 2024?", None),  # of those played
        ("How many matches did Rovers lose between 2023 and 2024?", None),
        ("Wie viele Medaillen haben Deutschland und Italien 2020 gewonnen?", None),  # what is won is no change
        ("Wie viele Medaillen gewann Deutschland 2016 und 2020?", None),
        ("Wie viele Medaillen gewann Deutschland zwischen 2016 und 2020?", None),
        ("Welches Land gewann 2020 die meisten Medaillen?", "Italien: 40"),
        ("Wie viele Medaillen gewann Deutschland 2020?", "37"),
        ("Wie viele Länder gewannen 2020 mehr als 20 Medaillen?", "2"),
        ("Wie viele Punkte gewannen die Vereine insgesamt?", "99"),
        ("¿Cuántas medallas ganó Alemania en 2016 y 2020?", None),
        ("¿Qué país ganó más medallas en 2020?", "Italia: 40"),
        ("¿Cuántas medallas ganó Alemania en 2020?", "37"),
        ("¿Cuántos países ganaron más de 20 medallas en 2020?", "2"),
        ("Which country produced the most?", "Chile: 5300 t"),
        ("How much was produced in Chile?", "5300 t"),
    ],
)
async def test_what_is_won_lost_or_produced(
    won: tuple[Library, list[Passage]], question: str, answer: str | None
) -> None:
    """What is won and lost in two years is no change from one to the other, and who produces is not what is produced."""
    assert await told(won, question) == answer
