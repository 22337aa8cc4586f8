"""Words that speak of more than looking something up, in five families and four languages (A1.09), and questions about
the collection itself (A1.11), over folded text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from app.query.patterns.lexicon import Language
from app.query.patterns.text import compiled

Family = Literal["causal", "analysis", "comparison", "multi_step", "synthesis"]

_RAW: Final[Mapping[Family, Mapping[Language, tuple[str, ...]]]] = {
    "causal": {
        "en": (r"why", r"(?:causes?|caused|causing|because of|due to|reasons?|root cause)", r"(?:consequences?|impacts?|effects?|affect(?:s|ed)?|influences?|influenced|leads? to|led to|result(?:s|ed)? in)"),
        "fr": (r"pourquoi", r"(?:causes?|causé|provoque(?:nt)?|provoqué|raisons?|à cause|en raison)", r"(?:conséquences?|impacts?|effets?|influences?|influencé|répercussions?|entraîne(?:nt)?)"),
        "es": (r"por qué", r"(?:causas?|causó|causado|provoca|razón|razones|debido a)", r"(?:consecuencias?|impactos?|efectos?|influye|influencia|repercusiones|afecta)"),
        "de": (r"(?:warum|wieso|weshalb)", r"(?:ursachen?|gründe|verursacht|aufgrund|wegen)", r"(?:folgen|auswirkungen?|einfluss|konsequenzen|beeinflusst|effekte?|wirkung)"),
    },
    "analysis": {
        "en": (r"analy[sz]\w*", r"(?:evaluat\w+|assess\w*|examin\w+)", r"(?:explain|implications?|interpret\w*|significance|to what extent|justif\w+)"),
        "fr": (r"analys\w+", r"(?:évalu\w+|examine[rz]?|apprécie[rz])", r"(?:explique[rz]?|implications?|interprét\w+|dans quelle mesure|enjeux|justifi\w+)"),
        "es": (r"(?:analiz\w+|análisis|analice)", r"(?:evalu\w+|evalúa\w*|examin\w+)", r"(?:explica\w*|explique|implicaciones|interpret\w+|en qué medida|justific\w+)"),
        "de": (r"analys\w+", r"(?:bewert\w+|beurteil\w+|evaluier\w+|untersuch\w+)", r"(?:erklär\w+|erläuter\w+|interpret\w+|inwieweit|inwiefern|begründ\w+)"),
    },
    "comparison": {
        "en": (r"compar\w+", r"(?:differ(?:s|ences?|ent)?|versus|vs|contrast\w*|similarit\w+|distinguish\w*)", r"(?:advantages?|benefits|pros|strengths)", r"(?:disadvantages?|drawbacks?|cons|weaknesses|downsides)", r"(?:better|worse|more \w+|less \w+) than"),
        "fr": (r"compar\w+", r"(?:diff[eé]r(?:e|ent|ence|ences|er|ente|entes|ents)|diverg\w+|distingu\w+|contraste\w*|similitudes?)(?:-\w+)*", r"avantages?", r"(?:inconvénients?|désavantages?)", r"par rapport (?:à|au|aux)"),
        "es": (r"compar\w+", r"(?:diferencias?|diferent\w+|difieren?|contrast\w+|similitud\w*|divergen)", r"(?:ventajas?|beneficios)", r"(?:desventajas?|inconvenientes?)", r"(?:mejor|peor|más \w+|menos \w+) que"),
        "de": (r"(?:vergleich\w*|verglichen)", r"(?:unterschied\w*|unterscheide\w*|gegensatz|gemeinsamkeiten|abweich\w+)", r"(?:vorteile?|vor-)", r"nachteile?", r"(?:besser|schlechter|größer|kleiner|mehr|weniger) als"),
    },
    "multi_step": {
        "en": (r"(?:steps?|stages?|phases?)", r"(?:process(?:es)?|procedures?|workflow|pipeline)", r"(?:first .{1,80}? then|and then|after that|followed by|step by step)"),
        "fr": (r"(?:étapes?|phases?)", r"(?:processus|procédures?|procédés?|démarches?)", r"(?:d'abord .{1,80}? (?:puis|ensuite)|et ensuite|après cela|étape par étape)"),
        "es": (r"(?:pasos?|etapas?|fases?)", r"(?:procesos?|procedimientos?)", r"(?:primero .{1,80}? (?:luego|después)|y luego|después de eso|paso a paso)"),
        "de": (r"(?:schritte?|phasen?|stufen)", r"(?:prozesse?|verfahren|ablauf|vorgehen\w*|prozeduren?)", r"(?:zuerst .{1,80}? dann|und dann|danach|anschließend|schritt für schritt)"),
    },
    "synthesis": {
        "en": (r"summar\w+", r"(?:overview|synthesi[sz]e|synthesis|overall|big picture|all the|comprehensive)", r"(?:trends?|patterns?|themes?|evolution of|over time)"),
        "fr": (r"(?:résum\w+|synthèse|synthétis\w+)", r"(?:vue d'ensemble|aperçu|globalement|bilan|l'ensemble d\w*|tous les|toutes les)", r"(?:tendances?|évolution|thèmes?|au fil du temps)"),
        "es": (r"(?:resum\w+|síntesis|sintetiz\w+)", r"(?:visión general|panorama|en conjunto|balance|todos los|todas las)", r"(?:tendencias?|evolución|temas|a lo largo del tiempo)"),
        "de": (r"(?:zusammenfass\w+|zusammengefasst)", r"(?:überblick|übersicht|insgesamt|gesamtbild|synthese|alle)", r"(?:trends?|entwicklung|themen|im laufe der zeit)"),
    },
}  # fmt: skip
KEYWORDS: Final[Mapping[tuple[Family, Language], tuple[re.Pattern[str], ...]]] = {
    (family, language): tuple(compiled(pattern, german=language == "de") for pattern in patterns)
    for family, languages in _RAW.items()
    for language, patterns in languages.items()
}

_DOCS_EN = r"(?:documents?|docs?|files?|pdfs?|papers?|reports?|articles?|pages?|passages?|sources?|texts?)"
_HERE_EN = (
    r"(?:(?:in|inside|within|of) (?:the |this |your |my |our )?(?:\w+ )?(?:collection|database|db|corpus|knowledge base|library|index|system|archive)|indexed|"
    r"uploaded|stored|available|loaded|ingested|imported|here|there|in total|in all|so far|at (?:your|my) disposal)"
)
_END = r"\s*[?.!]*$"
_DOCS_FR = r"(?:documents?|docs?|fichiers?|pdfs?|sources?|textes?|rapports?|articles?)"
_HERE_FR = r"(?:(?:dans|de) (?:la |le |l'|ta |votre |ma |cette |notre )?(?:collection|base(?: de (?:données|connaissances))?|corpus|bibliothèque|index|système)|indexés?|disponibles?|chargés?|téléversés?|importés?|stockés?|enregistrés?|ici|au total|en tout)"
_DOCS_ES = r"(?:documentos?|docs?|archivos?|ficheros?|pdfs?|fuentes?|textos?|informes?|artículos?)"
_HERE_ES = r"(?:(?:en|de) (?:la |el |tu |su |mi |esta |nuestra )?(?:colección|base de (?:datos|conocimientos?)|corpus|biblioteca|índice|sistema)|indexad[oa]s?|disponibles?|cargad[oa]s?|subid[oa]s?|almacenad[oa]s?|guardad[oa]s?|aquí|en total)"
_DOCS_DE = r"(?:dokumenten?|dokumente|docs?|dateien|datei|pdfs?|quellen|texte|berichte|artikel)"
_HERE_DE = r"(?:(?:in|im|aus|der) (?:der |dieser |deiner |ihrer |meiner |unserer |dem )?(?:sammlung|datenbank|wissensdatenbank|wissensbasis|korpus|bibliothek|index|system)|indexiert|indiziert|verfügbar|vorhanden|hochgeladen|geladen|gespeichert|hier|insgesamt|drin)"

ABOUT_COLLECTION: Final = tuple(
    compiled(*patterns, german=german)
    for german, patterns in (
        (False, (
            rf"(?:how many|number of|count(?: of)?|total(?: number of)?) (?:the |all |of the )?{_DOCS_EN}(?: (?:do|did|have|are|can) (?:i|you|we|they|there)(?: have| got| know| access| see| uploaded| loaded| hold| contain| currently)*)?(?: (?:are|is|were|do you have|does it|does))*(?: there)?(?: {_HERE_EN})*(?: (?:now|currently|right now))?{_END}",
            rf"how many {_DOCS_EN} (?:are |were |have been |do you have |does (?:the|this) \w+ (?:have|hold|contain))*{_HERE_EN}", rf"how many {_DOCS_EN} (?:mention|mentions|contain|contains|talk about|discuss|refer to|are about|cover|deal with)",
            rf"(?:list|show|display|enumerate|give)(?: me| us)?(?: a list of)?(?: all| every| each)?(?: of)?(?: the| my| your| our)? (?:indexed |uploaded |available |stored |existing )?{_DOCS_EN}(?: (?:you have|we have|i have|i uploaded|you know|that (?:are|were|you|i|we) .{{1,40}}|{_HERE_EN}))*{_END}",
            rf"(?:what|which) {_DOCS_EN} (?:do (?:you|we|i) (?:have|know|hold|contain)|are (?:there|{_HERE_EN})|is there|have (?:i|we|you|been) (?:uploaded|indexed|loaded|got)|did i upload|can you (?:see|access|search)|exist|does (?:the|this) (?:collection|database|corpus|library) \w+)", rf"(?:what|which) (?:are|is) (?:all )?(?:the )?(?:names?|titles?) of (?:all )?(?:the |your |my )?{_DOCS_EN}{_END}",
            rf"(?:what is|what's|whats) (?:in|inside) (?:the|this|your|my) (?:collection|database|corpus|knowledge base|library)", rf"(?:size|statistics|stats) of (?:the|this|your|my) (?:collection|database|corpus|knowledge base|library|index)", rf"do you have any {_DOCS_EN}{_END}", rf"(?:database|collection|corpus|index) (?:statistics|stats|size)",
        )),
        (False, (
            rf"combien (?:de |d'|y a-t-il de |as-tu de |avez-vous de |a-t-on de |avons-nous de )+{_DOCS_FR}(?: (?:y a-t-il|il y a|as-tu|avez-vous|avons-nous|a-t-on|sont|contient|ont été|dans|possèdes-tu|possédez-vous|connais-tu)\b.{{0,60}}?| {_HERE_FR})*{_END}", rf"combien (?:de |d'){_DOCS_FR} (?:mentionnent|contiennent|parlent|traitent|évoquent)", rf"combien y a-t-il de {_DOCS_FR}", rf"nombre (?:total )?de {_DOCS_FR}(?: {_HERE_FR})*{_END}",
            rf"(?:liste|lister|listez|montre|montrez|affiche|affichez|énumère|énumérez|donne|donnez)(?:-moi|-nous| moi)?(?: la liste de)?(?: tous)?(?: les| mes| tes| vos| nos| des)? {_DOCS_FR}(?: (?:que tu as|que vous avez|que j'ai .{{1,30}}|{_HERE_FR}))*{_END}",
            rf"(?:quels?|quelles?) (?:sont (?:les|tes|vos|mes) )?{_DOCS_FR} (?:as-tu|avez-vous|avons-nous|ai-je|y a-t-il|il y a|sont (?:{_HERE_FR})|connais-tu|possèdes-tu|contient|{_HERE_FR}|ont été (?:indexés|chargés|importés|téléversés))", rf"quels? sont (?:les|tes|vos|mes) {_DOCS_FR}{_END}", r"qu'y a-t-il dans (?:la|ta|votre|cette) (?:collection|base(?: de données)?|bibliothèque)",
        )),
        (False, (
            rf"cuánt[oa]s {_DOCS_ES}(?: (?:hay|tienes|tiene|tenemos|tengo|existen|son|están|contiene|conoces)\b.{{0,60}}?| {_HERE_ES})*{_END}", rf"cuánt[oa]s {_DOCS_ES} (?:mencionan|contienen|hablan|tratan)", rf"número (?:total )?de {_DOCS_ES}(?: {_HERE_ES})*{_END}",
            rf"(?:lista|listar|liste|muestra|muéstrame|mostrar|enumera|dame|dime)(?: una lista de| la lista de)?(?: todos| todas)?(?: los| las| mis| tus| sus)? {_DOCS_ES}(?: (?:que tienes|que tenemos|que hay|que he .{{1,30}}|{_HERE_ES}))*{_END}",
            rf"(?:qué|cuáles) (?:son (?:los|tus|mis) )?{_DOCS_ES} (?:hay|tienes|tiene|tenemos|tengo|existen|conoces|están (?:{_HERE_ES})|contiene|{_HERE_ES}|se han (?:subido|cargado|indexado))", rf"cuáles son (?:los|tus|mis|sus) {_DOCS_ES}{_END}", r"qué hay en (?:la|tu|esta) (?:colección|base de datos|biblioteca)",
        )),
        (True, (
            rf"wie ?viele? {_DOCS_DE}(?: (?:gibt es|hast du|haben sie|haben wir|habe ich|sind|liegen|enthält|existieren|kennst du|wurden)(?!\w).{{0,60}}?| {_HERE_DE})*{_END}", rf"wie ?viele {_DOCS_DE} (?:erwähnen|enthalten|behandeln|handeln|sprechen)", rf"(?:anzahl|zahl) (?:der|aller|von) {_DOCS_DE}(?: {_HERE_DE})*{_END}",
            rf"(?:liste|zeige?|nenne?|zähle?|gib)(?: mir| uns)?(?: bitte)?(?: eine liste)?(?: alle[rn]?)?(?: die| meine| deine| der)? {_DOCS_DE}(?: (?:auf|an|aus|die du hast|die wir haben|{_HERE_DE}))*{_END}",
            rf"(?:welche|was für) {_DOCS_DE} (?:hast du|haben sie|haben wir|habe ich|gibt es|sind (?:{_HERE_DE})|kennst du|liegen|enthält|existieren|stehen|wurden (?:hochgeladen|indexiert|geladen))", rf"was (?:ist|steht|befindet sich) in (?:der|dieser|deiner) (?:sammlung|datenbank|bibliothek)",
        )),
    )
)  # fmt: skip
"""DATABASE_META_PATTERNS. A document that one needs (for a visa, in a case) is not one of the collection: what follows
the word must speak of having it here, or end the message."""

VAGUE: Final = frozenset(
    "thing things stuff info information help issue problem details detail example topic subject chose choses truc trucs aide probleme "
    "cosa cosas ayuda problema ding dinge sache sachen hilfe frage question pregunta idea idee really seriously hmm etc".split()
)
"""Content words by form that say nothing alone."""
