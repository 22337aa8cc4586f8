"""Sixty documents in four languages whose topics, authors, years, types and languages are known."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.domain.document import Source

WORDS = {
    "en": {"wind": "wind turbines", "solar": "solar power", "minutes": "board minutes", "harbour": "harbour dues"},
    "fr": {
        "wind": "éoliennes",
        "solar": "énergie solaire",
        "minutes": "conseil municipal",
        "harbour": "droits de port",
    },
    "es": {
        "wind": "turbinas eólicas",
        "solar": "energía solar",
        "minutes": "actas del consejo",
        "harbour": "tasas portuarias",
    },
    "de": {"wind": "Windräder", "solar": "Solarenergie", "minutes": "Stadtrat", "harbour": "Hafengebühren"},
}
"""What each topic is called; the first word of a document's text, in the plural."""
TEXTS = {
    "en": "The committee looked at {topic} in the past season and compared the costs of several suppliers. {second}"
    "Everything else was left as it was, and the next meeting decides on the budget.",
    "fr": "La commission a examiné {topic} pendant la saison passée et a comparé les coûts de plusieurs fournisseurs. {second}"
    "Tout le reste est demeuré inchangé, et la prochaine réunion décidera du budget.",
    "es": "La comisión examinó {topic} durante la temporada pasada y comparó los costes de varios proveedores. {second}"
    "Todo lo demás quedó como estaba, y la próxima reunión decidirá sobre el presupuesto.",
    "de": "Der Ausschuss hat {topic} in der vergangenen Saison geprüft und die Kosten mehrerer Anbieter verglichen. {second}"
    "Alles andere blieb, wie es war, und die nächste Sitzung entscheidet über den Haushalt.",
}
SECOND = {
    "en": "It also discussed {topic} at length. ",
    "fr": "Elle a aussi discuté de {topic}. ",
    "es": "También habló de {topic}. ",
    "de": "Auch {topic} wurden besprochen. ",
}
TITLES = {"en": "Dossier", "fr": "Dossier", "es": "Expediente", "de": "Akte"}
AUTHORS = ("Kim Lee", "Ana Duarte", "Jonas Weber", "Claire Moreau")
PLACES = ("Bremen", "Lyon", "Sevilla")


@dataclass(frozen=True)
class Made:
    name: str
    language: str
    topics: tuple[str, ...]
    author: str
    year: int
    kind: str
    office: str
    suffix: str


def collection() -> list[Made]:
    """Fifteen documents of each language; every fifth has two topics, every third is HTML, some are Markdown."""
    topics, made = ("wind", "solar", "minutes", "harbour"), []
    for number in range(60):
        language = ("en", "fr", "es", "de")[number // 15]
        first = topics[number % 15 % 4]
        both = (first, topics[(number % 15 + 1) % 4]) if number % 5 == 0 else (first,)
        suffix = "html" if number % 3 == 0 else "md" if number % 4 == 0 else "txt"
        author = AUTHORS[number % 3] if number < 50 else AUTHORS[3]
        kind = "report" if number % 2 else "letter"
        name = f"file-{number:02}.{suffix}"
        made.append(Made(name, language, both, author, 2017 + number % 5, kind, PLACES[number % 3], suffix))
    return made


def source(made: Made) -> Source:
    words = WORDS[made.language]
    second = SECOND[made.language].format(topic=words[made.topics[1]]) if len(made.topics) > 1 else ""
    text = TEXTS[made.language].format(topic=words[made.topics[0]], second=second)
    title = f"{TITLES[made.language]} {made.name[5:7]}"
    if made.suffix == "html":
        text = f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    elif made.suffix == "md":
        text = f"# {title}\n\n{text}\n"
    else:
        text = f"{title}\n\n{text}\n"
    metadata = {"author": made.author, "year": made.year, "type": made.kind, "office": made.office}
    return Source(made.name, made.name, text.encode(), metadata=metadata)
