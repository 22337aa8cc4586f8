"""Patterns of the types of questions in four languages (A1.03, A1.05), over folded text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from app.domain.plan import QueryType
from app.query.patterns.lexicon import Language
from app.query.patterns.text import compiled

Named = tuple[str, re.Pattern[str]]

_GAP = r".{1,120}?"
_BIG_EN = (
    "better|worse|best|worst|more|less|most|least|older|oldest|younger|youngest|larger|largest|bigger|biggest|smaller|smallest|"
    "taller|tallest|longer|longest|shorter|higher|highest|lower|faster|fastest|slower|cheaper|earlier|earliest|later|first|last|"
    "newer|newest|closer|farther|further|heavier|wider|stronger|richer"
)
_NEED_EN = "i|you|we|one|they|my|our|your"

_RAW: Final[Mapping[Language, Mapping[str, tuple[str, ...]]]] = {
    "en": {
        "PROCEDURAL": (
            r"how to", rf"how (?:do|does|can|could|should|would|must|might|did) (?:{_NEED_EN}) (?!compare|differ)\w+", r"how (?:is|are) \w+ (?:installed|configured|set up|done|built|used) (?:in|on|with|by)",
            r"steps? (?:to|for|involved|required|needed|by step)", r"step-by-step", r"(?:procedure|process|instructions?|guide|tutorial|recipe|method|way)s? (?:for|to|on|of) \w+ing",
            r"instructions (?:for|to|on)", r"(?:guide|tutorial) (?:to|for|on)", r"procedures? (?:for|to|when|if|in case)", r"what (?:is|are) the (?:\w+ )?(?:procedure|steps|process|instructions)", r"walk me through", r"show me how",
            r"(?:best|right|easiest|correct) way to", r"what (?:should|must|do) (?:i|we|you) do (?:to|if|when|in|after|before)",
        ),
        "COMPARATIVE": (
            r"compar(?:e|es|ed|ing|ison|isons|ative|atively)", r"versus", r"vs\.?", r"differences?", r"differ(?:s|ed|ing)?(?: (?:from|in|between|significantly))?", r"different (?:from|than|to)", r"how (?:is|are|was|were) .{1,80}? different",
            r"distinguish(?:es|ed)?", r"similarit(?:y|ies)", r"similar to", r"in common", r"(?:advantages?|benefits|upsides) (?:and|or|&|versus|over) (?:\w+ )?(?:disadvantages?|drawbacks?|downsides|risks)?", r"pros and cons", r"contrast(?:s|ed|ing)? (?:with|between|the|to)?", r"as opposed to", r"relative to",
            rf"(?:{_BIG_EN}) than", rf"(?:which|who|what) {_GAP} (?:{_BIG_EN})\W.{{0,120}}? or", r"(?:which|who|what|where) .{1,120}?, .{1,80}? or", r"between .{1,80}? and .{1,80}?, (?:which|who|what)", r"^(?:are|were|is|was|do|does|did|have|has|had|can) .{1,120}? both", r"^(?:are|were|is|was|do|does|did|have|has) .{1,90}? and .{1,90}? same", r"respective(?:ly)?", r"both .{1,100}? and .{1,100}? (?:are|were|have|had|is|was)", r"which (?:of|one of) (?:the )?(?:two|three|these|those|them)",
            r"the same .{1,80}? as", r"(?:prefer|choose|pick|decide) .{1,80}? (?:or|over|between|instead of)", r"trade-?offs?",
        ),
        "RELATIONAL": (
            r"relationships? of", r"(?:relationships?|relations?|connections?|links?|associations?|correlations?|interactions?|interplay|dependenc(?:y|ies)|ties) (?:exists? |is there |are there |was there )?(?:between|among|amongst|with|to)", r"(?:related|connected|linked|tied|associated|correlated) (?:to|with|together)", r"how (?:is|are|was|were|do|does|did) .{1,120}? (?:related|relate|connected|connect|linked|interact|associated|correlated?)",
            r"relates? to", r"interacts? with", r"depends? (?:up)?on", r"who (?:works?|worked|collaborates?|collaborated) (?:with|for|under)", r"what connects", r"what links",
        ),
        "ANALYTICAL": (
            r"analy[sz](?:e|es|ed|ing)", r"analys[ei]s", r"evaluat(?:e|es|ion|ing)", r"assess(?:es|ment|ing)?", r"(?:impacts?|effects?|influence|consequences?|implications?|ramifications|repercussions) (?:of|on|for)", r"(?:causes?|reasons?|motives?|rationale|drivers?) (?:of|for|behind|why)", r"what (?:causes|caused|led to|leads to|drives|drove|explains)",
            r"explain why", r"to what extent", r"how (?:does|do|did|has|have|had|can|could|will|would|might|is|are) .{1,120}? (?:affect(?:ed|ing)?|influenc(?:e|ed|ing)|impact(?:ed|ing)?|contribut(?:e|ed|ing) to|lead to|led to|shaped?|cause[ds]?)", r"strengths? and weakness(?:es)?", r"why (?:do|does|did|is|are|was|were|has|have) .{1,120}? (?:important|significant|matter|critical|necessary)",
            r"(?:significance|importance|role) of", r"critically", r"interpret(?:ation)?", r"examine", r"factors? (?:that|behind|affecting|influencing|contributing)", r"trends? (?:in|of)", r"root cause",
        ),
        "EXPLORATORY": (
            r"summari[sz](?:e|es|ed|ing)", r"summar(?:y|ies)", r"(?:an? |general |brief |quick |high-level )*overview", r"tell (?:me|us) (?:everything |all |something |more |a bit |a little )*about", r"what (?:do (?:we|you) know|is known|can you tell (?:me|us)) about", r"(?:main|key|major|principal|central|core) (?:themes?|topics?|points?|ideas?|takeaways?|findings?|messages?|aspects?|concepts?|subjects?)",
            r"^(?:\w+ ){0,3}describe", r"introduc(?:e|tion) (?:me )?(?:to|of)", r"outline", r"discuss", r"explore", r"what (?:is|are|was) (?:the |this |that |these )?(?:\w+ ){0,3}?(?:all )?about\s*\??$", r"what .{1,40}? (?:document|report|paper|text|book|article|file)s? (?:is |are )?(?:about|cover|discuss|say)s?", r"give (?:me )?(?:some )?(?:background|context|information|insight)s? (?:on|about|into)", r"synthesi[sz]e", r"recap", r"tl;?dr",
        ),
    },
    "fr": {
        "PROCEDURAL": (
            r"comment (?:faire|faut-il|doit-on|dois-je|puis-je|peut-on|pouvons-nous|peux-je|procéder|s'y prendre)", r"comment (?:est-ce qu(?:e |')(?:je|on|nous|vous) |on |je |peut-on |ne pas )?(?:bien |se |s'|y )?\w{2,}(?:er|ir|re)", r"(?:étapes?|démarches?|procédures?|marche à suivre|mode d'emploi|modalités) (?:pour|à suivre|de|d')", r"(?:quelles?|quels?) (?:sont|est) (?:les|la|le) (?:étapes?|démarches?|procédures?|marche à suivre)", r"que (?:faire|faut-il faire|dois-je faire|doit-on faire)", r"instructions? (?:pour|de)", r"tutoriel", r"guide (?:pour|de|d')", r"façon de \w+(?:er|ir|re)", r"manière de \w+(?:er|ir|re)",
        ),
        "COMPARATIVE": (
            r"compar(?:e|é|ée|er|ez|ons|aison|aisons|atif|ative|ativement|és|ées)", r"versus", r"vs\.?", r"différences?", r"diff(?:ère|èrent)(?:-\w+| (?:de|du|des|d'|en|par|selon))", r"différer (?:de|du|des)", r"différente? (?:de|du)", r"diverg(?:e|ent|er|ence|ences)(?:-\w+)*", r"(?:se |s')?distingu(?:e|ent|er)(?:-\w+)*", r"(?:similitudes?|ressemblances?|points communs)", r"(?<!transports )en commun", r"(?:avantages?|bénéfices|atouts|points forts) et (?:les |des |ses |leurs )?(?:inconvénients?|désavantages?|risques|points faibles|limites)", r"le pour et le contre", r"par rapport (?:à|au|aux)", r"contrairement (?:à|au|aux)", r"plutôt que", r"(?:meilleure?s?|mieux|pire|plus \w+|moins \w+|aussi \w+) que", r"(?:lequel|laquelle|qui|quel \w+|quelle \w+) .{1,120}?, .{1,80}? ou", r"(?:lequel|laquelle|lesquels|qui|quel \w+|quelle \w+) .{1,80}? (?:plus|moins|meilleure?|mieux|premier|première) .{0,120}? ou", r"(?:lequel|laquelle) (?:des|de ces) deux", r"(?:tous|toutes) (?:les )?deux", r"oppos(?:e|ent|er|ition)(?:-\w+)* .{0,60}?(?:à|au|entre)",
        ),
        "RELATIONAL": (
            r"(?:relations?|liens?|rapports?|connexions?|corrélations?|interactions?|associations?|dépendances?) (?:existe-t-il |y a-t-il |il y a |existe )?(?:entre|avec)", r"(?:lié|liée|liés|liées|relié|reliée|reliés|reliées|connecté|connectée|connectés|associé|associée|associés|associées|rattaché|rattachée) (?:à|au|aux|avec|entre|par)", r"comment .{1,120}? (?:est-il|est-elle|sont-ils|sont-elles|est|sont) (?:liée?s?|reliée?s?|connectée?s?)", r"interagi(?:r|t|ssent)(?:-\w+)*", r"dépend(?:ent)?(?:-\w+)* (?:de|du|des|d')", r"(?:avec|pour) qui (?:travaille|collabore)", r"qu'est-ce qui (?:relie|lie|unit)",
        ),
        "ANALYTICAL": (
            r"analys(?:e|es|er|ez|ant)", r"évalu(?:e|er|ez|ation|ations)", r"(?:impacts?|effets?|influences?|conséquences?|implications?|répercussions?|incidences?) (?:de|du|des|d'|sur|pour)", r"(?:la|les|quelles?|quels|des) (?:causes?|raisons?|motifs?)", r"qu'est-ce qui (?:a )?(?:cause|causé|provoque|provoqué|explique|entraîne|entraîné|conduit)", r"explique[rz]? pourquoi", r"(?:dans|en) quelle mesure", r"comment .{1,120}? (?:affecte|influence|impacte|contribue|modifie|a-t-il (?:affecté|influencé|contribué)|a-t-elle (?:affecté|influencé|contribué))(?:nt)?(?:-\w+)*", r"forces et (?:les |des )?faiblesses", r"(?:importance|rôle|portée) (?:de|du|des|d')", r"facteurs?", r"enjeux", r"interpr(?:ète|éter|étez|étation)", r"examine[rz]?",
        ),
        "EXPLORATORY": (
            r"résum(?:e|é|és|er|ez|ons)", r"(?:une |brève )?(?:vue d'ensemble|synthèse|présentation générale)", r"synthétise[rz]?", r"aperçu", r"(?:parle|parlez|parle-moi|parlez-moi|parlez-nous)(?: moi)? (?:de|du|des|d')", r"(?:dis|dites)(?:-| )moi (?:tout|en plus|plus) (?:sur|de)", r"que (?:sait-on|savons-nous|sais-tu|savez-vous|peux-tu me dire|pouvez-vous me dire) (?:de|du|des|d'|sur|à propos)", r"(?:principaux|principales|grands|grandes) (?:thèmes?|points?|idées?|sujets?|aspects?|axes|conclusions?|lignes)", r"(?:idées|points|thèmes|messages) (?:clés?|principa(?:ux|les)|essentiels?)", r"décri(?:s|re|vez|vent|t)", r"présente[rz]?(?:-moi)?", r"de quoi (?:parle|traite|s'agit)(?:nt)?(?:-\w+)*", r"informations (?:sur|à propos)", r"récapitule[rz]?", r"explore[rz]?",
        ),
    },
    "es": {
        "PROCEDURAL": (
            r"cómo (?:hacer|se hace|hago|puedo|podemos|se puede|debo|debemos|se debe|tengo que|hay que)", r"cómo (?:\w+(?:ar|er|ir)(?:se|me|lo|la)?)", r"cómo se (?:instala|configura|usa|utiliza|solicita|prepara|cocina|crea|realiza|elabora|obtiene|calcula|aplica)n?", r"(?:pasos?|procedimientos?|instrucciones|trámites?) (?:para|de|a seguir|necesarios)", r"(?:cuál|cuáles) (?:es|son) (?:los|el|las) (?:pasos|procedimiento|proceso|instrucciones|trámites)", r"qué (?:debo|hay que|tengo que|debemos|se debe) hacer", r"paso a paso", r"guía (?:para|de)", r"tutorial", r"(?:manera|forma) de \w+(?:ar|er|ir)",
        ),
        "COMPARATIVE": (
            r"compar(?:a|ar|e|ación|aciones|ado|ada|ativo|ativa|ando|emos|alos|arlos)", r"versus", r"vs\.?", r"diferencias?", r"(?:se )?difieren?", r"diferenciar?n?", r"(?:diferentes?|distint[oa]s?) (?:de|del|a|entre)", r"(?:se )?distinguen?", r"(?:similitud(?:es)?|semejanzas?|parecidos?)", r"en común", r"(?:ventajas|beneficios|pros) y (?:las |los |sus )?(?:desventajas|inconvenientes|riesgos|contras)", r"frente a", r"en comparación", r"a diferencia de", r"respecto (?:a|al)", r"(?:mejor|peor|mayor|menor) que", r"(?:es|son|era|eran|fue) (?:más|menos|tan) \w+ (?:que|como)", r"(?:cuál|quién|qué \w+) .{1,120}?, .{1,80}? o", r"(?:cuál|quién|qué \w+) .{1,80}? (?:más|menos|mejor|peor|mayor|menor|primero) .{0,120}? o", r"cuál de (?:los|las|estos|estas) (?:dos)?", r"(?:ambos|ambas)", r"divergen", r"contrasta[r]?",
        ),
        "RELATIONAL": (
            r"(?:relación|relaciones|conexión|conexiones|vínculos?|enlaces?|correlación|interacción|asociación|dependencia) (?:existe |hay |existen |tiene )?(?:entre|con)", r"relación (?:de|del)", r"(?:relacionad|conectad|vinculad|asociad|ligad)[oa]s? (?:a|al|con|entre)", r"(?:se )?relaciona[n]? con", r"cómo se (?:relacionan?|conectan?|vinculan?)", r"interactúa[n]?", r"depende[n]? de", r"con quién (?:trabaj|colabor)\w+", r"qué (?:une|conecta|vincula)",
        ),
        "ANALYTICAL": (
            r"analiza(?:r|ndo|mos)?", r"analice", r"análisis", r"evalúa(?:r|n)?", r"evalu(?:ar|ación|e|é)", r"(?:impactos?|efectos?|influencia|consecuencias?|implicaciones|repercusiones) (?:de|del|en|sobre|para)", r"(?:causas?|razones|razón|motivos?) (?:de|del|por|para|que)", r"qué (?:causa|causó|provoca|provocó|explica|originó|llevó a)", r"explica(?:r|me)? por qué", r"en qué medida", r"hasta qué punto", r"cómo .{1,120}? (?:afecta|afectó|influye|influyó|impacta|contribuye|contribuyó)n?", r"(?:fortalezas|puntos fuertes) y (?:las |los )?(?:debilidades|puntos débiles)", r"(?:importancia|papel|rol) (?:de|del)", r"factores?", r"interpreta(?:r|ción)?", r"examina(?:r)?",
        ),
        "EXPLORATORY": (
            r"resum(?:e|en|ir|a|ido|irme|eme)", r"(?:síntesis|sintetiza|sintetizar)", r"(?:visión|panorama|vista) general", r"panorama (?:de|del)", r"(?:háblame|cuéntame|hábleme|cuénteme|dime|dígame) (?:todo |más |algo )*(?:sobre|de|del|acerca)", r"qué (?:se sabe|sabemos|sabes|puedes decirme|me puedes decir) (?:de|del|sobre|acerca)", r"(?:principales|grandes) (?:temas?|puntos?|ideas?|aspectos?|conclusiones|hallazgos)", r"(?:temas|puntos|ideas|aspectos|mensajes) (?:clave|principales|centrales)", r"^(?:\w+ ){0,2}describ(?:e|ir|a|eme)", r"de qué (?:trata|tratan|habla|hablan)", r"información (?:sobre|acerca)", r"introducción (?:a|al)", r"explora(?:r)?", r"presenta(?:r|me)?",
        ),
    },
    "de": {
        "PROCEDURAL": (
            r"wie kann (?:ich|man|wir|ein|eine|der|die|das)", r"wie (?:mache|macht|muss|soll|sollte|können|könnte|darf|funktioniert die \w+|gehe|geht|lässt|lassen) (?:ich|man|wir|sich|es)", r"wie (?!heiß|nennt|lang|viel|alt|groß|hoch|oft|weit|vergleich)\w+(?:e|t|en) (?:ich|man|wir)", r"(?:schritte?|anleitung|vorgehensweise|verfahren|vorgehen|anweisungen?) (?:zu|zum|zur|für|um|bei|sind|nötig|erforderlich)", r"schritt für schritt", r"(?:welche|was sind die) (?:schritte|anweisungen)", r"was (?:muss|soll|sollte|kann|ist) (?:ich|man|wir|zu) .{0,60}?tun", r"was ist zu tun", r"anleitung", r"tutorial", r"wie wird .{1,80}? (?:installiert|konfiguriert|eingerichtet|hergestellt|zubereitet|beantragt|durchgeführt|verwendet)",
        ),
        "COMPARATIVE": (
            r"vergleich(?:e|en|s|t|st|ung|bar|sweise)?", r"(?:im|zum) vergleich", r"verglichen", r"versus", r"vs\.?", r"unterschied(?:e|en|s|lich|liche|licher)?", r"unterscheide(?:t|n|st)?", r"vor- und nachteile", r"vorteile und (?:die )?(?:nachteile|risiken)", r"pro und (?:contra|kontra)", r"im gegensatz zu", r"im unterschied zu", r"gegenüber(?:stellen|stellung|gestellt)", r"gemeinsamkeiten", r"gemeinsam (?:haben|mit)", r"haben .{1,100}? gemeinsam", r"ähnlichkeit(?:en)?", r"(?:besser|schlechter|größer|kleiner|älter|jünger|höher|niedriger|schneller|langsamer|teurer|billiger|günstiger|länger|kürzer|mehr|weniger|früher|später|stärker) als(?! \d| ein)", r"(?:wer|was|welche[rs]?) .{1,120}?, .{1,80}? oder", r"^(?:sind|waren|haben|hatten) .{1,120}? beide", r"(?:wer|was|welcher?s?|welche \w+) .{1,80}? (?:besser|schlechter|größer|kleiner|älter|jünger|höher|schneller|länger|früher|mehr|zuerst|teurer|günstiger) .{0,120}? oder", r"abweich(?:en|t|ung|ungen)", r"welche[rs]? (?:der|von) (?:beiden|den)",
        ),
        "RELATIONAL": (
            r"(?:beziehung|beziehungen|zusammenhang|zusammenhänge|verbindung|verbindungen|verhältnis|korrelation|wechselwirkung|wechselwirkungen|verknüpfung|abhängigkeit|abhängigkeiten) (?:\w+ ){0,3}?(?:zwischen|von|mit|zu|der)", r"(?:verbunden|verknüpft|verwandt|assoziiert|zusammenhängend) (?:mit|zu)?", r"(?:in|im) (?:beziehung|zusammenhang|verbindung) (?:mit|zu|stehen|steht)?", r"wie (?:hängt|hängen) .{1,120}? zusammen", r"häng(?:t|en) .{1,80}? (?:ab|zusammen)", r"interagier(?:t|en)", r"mit wem (?:arbeitet|arbeiten|kooperiert)", r"was verbindet",
        ),
        "ANALYTICAL": (
            r"analysier(?:e|en|t|st)", r"analyse[n]?", r"bewert(?:e|en|et|ung|ungen)", r"beurteil(?:e|en|t|ung)", r"evaluier(?:e|en|ung)", r"(?:auswirkung|auswirkungen|effekt|effekte|einfluss|einflüsse|folgen|konsequenzen|implikationen|wirkung) (?:von|auf|der|des|dieser|für|hat|hatte|haben|hatten)", r"(?:ursachen?|gründe|grund|anlass|motive?) (?:für|von|der|des|dafür|warum)", r"was (?:verursacht|verursachte|führt|führte|erklärt|bewirkt)", r"erklär(?:e|en|t)? .{0,20}?warum", r"inwieweit", r"inwiefern", r"in welchem (?:maße|umfang|ausmaß)", r"wie .{1,120}? (?:beeinflusst|beeinflusste|beeinflussen|wirkt|wirken|wirkte|auswirkt|beigetragen)", r"wie (?:wirkt|wirken|wirkte) sich", r"stärken und (?:die )?schwächen", r"(?:bedeutung|rolle|stellenwert) (?:von|der|des|für)", r"faktoren", r"interpretier(?:e|en|t)", r"untersuch(?:e|en|t)",
        ),
        "EXPLORATORY": (
            r"zusammenfass(?:ung|ungen|en|end)", r"(?:fasse?|fassen sie) .{0,120}?zusammen", r"überblick", r"übersicht", r"(?:erzähl|erzähle|erzählen sie|sag|sage|berichte|sagen sie) (?:mir |uns )?(?:etwas |mehr |alles |was )*(?:über|von|zu)", r"was (?:weiß man|wissen wir|weißt du|ist bekannt|ist .{1,30}? bekannt|wissen sie) (?:über|von|zu)", r"was ist .{0,40}?über .{1,60}? bekannt", r"(?:wichtigste|wesentliche|zentrale|haupt)\w* (?:themen|punkte|ideen|aspekte|ergebnisse|aussagen|erkenntnisse)", r"(?:hauptthemen|hauptpunkte|kernaussagen|kernpunkte|hauptaussagen|schlüsselpunkte)", r"^(?:\w+ ){0,2}beschreib\w*", r"worum geht es", r"wovon handel(?:t|n)", r"(?:gib|such|brauche|möchte|^)\w*.{0,30}? ?informationen (?:über|zu|zum|zur)", r"einführung (?:in|zu)", r"einleitung", r"stell(?:e|en sie)? .{1,60}? vor", r"skizzier(?:e|en)",
        ),
    },
}  # fmt: skip

TYPES: Final[tuple[QueryType, ...]] = ("COMPARATIVE", "RELATIONAL", "ANALYTICAL", "PROCEDURAL", "EXPLORATORY")
"""In order of precedence, where patterns of several stand in a text."""

PATTERNS: Final[Mapping[Language, Mapping[QueryType, re.Pattern[str]]]] = {
    language: {kind: compiled(*raw[kind], german=language == "de") for kind in TYPES} for language, raw in _RAW.items()
}

_NUMBERS_EN = (
    "many|much|old|tall|long|far|big|large|high|deep|often|fast|heavy|wide|hot|cold|expensive|small|thick|frequently"
)
_ASKED_EN = (
    "year|years|date|day|month|century|decade|time|percentage|percent|number|amount|price|cost|age|population|temperature|size|height|"
    "length|distance|speed|version|area|weight|rate|salary|fee|deadline|capacity|elevation|depth|score|value"
)
ASKED_VALUE: Final[Mapping[Language, re.Pattern[str]]] = {
    "en": compiled(
        rf"how (?:{_NUMBERS_EN})", r"when (?:was|were|is|are|did|does|do|will|has|have|had|can|could|should|would|must)", r"since when",
        rf"(?:what|which) (?:\w+ )?(?:{_ASKED_EN})", rf"(?:what|whats|what's) (?:is |was |are |were )?(?:the |its |his |her |their )?(?:\w+ ){{0,2}}?(?:{_ASKED_EN})", r"when$",
    ),
    "fr": compiled(
        r"combien", r"(?:^|depuis |jusqu'à |de |à partir de )quand", r"quand (?:est-ce|a|ont|est|sont|était|fut|furent|doit|doivent|faut|peut|sera|seront|eut|a-t-\w+|ont-\w+)", r"quelles? (?:est |sont |était |fut )?(?:la |le |l'|les )?(?:\w+ )?(?:année|années|date|dates|taille|durée|superficie|population|distance|hauteur|longueur|vitesse|température|valeur|quantité|somme|heure|période|fréquence|altitude|profondeur)", r"quels? (?:est |sont |était |fut )?(?:le |la |l'|les )?(?:\w+ )?(?:prix|montant|montants|âge|jour|mois|siècle|nombre|pourcentage|taux|coût|délai|délais|salaire|poids|tarif|tarifs)",
    ),
    "es": compiled(
        r"cuánt[oa]s?", r"(?:^|desde |hasta |a partir de )cuándo", r"¿ ?cuándo", r"cuándo (?:se|es|fue|fueron|son|era|ha|han|nació|murió|empezó|comenzó|terminó|debe|hay|\w+ó|\w+aron|\w+ieron)", r"(?:en )?qué (?:año|años|fecha|día|mes|siglo|década|edad|hora|porcentaje|número|cantidad|precio|tamaño|altura|temperatura)", r"cuál (?:es|era|fue) (?:el|la|su) (?:\w+ )?(?:año|fecha|edad|población|precio|costo|coste|número|cantidad|porcentaje|altura|altitud|superficie|extensión|distancia|velocidad|temperatura|tamaño|plazo|salario|longitud|peso|duración|valor)",
    ),
    "de": compiled(
        r"wie (?:viele?[nr]?|alt|groß|hoch|lang|lange|weit|oft|schnell|schwer|breit|tief|teuer|heiß|kalt|häufig|klein|warm|dick)", r"wieviele?", r"(?:^|seit |bis |ab )wann", r"wann (?:war|waren|ist|sind|wurde|wurden|hat|haben|wird|werden|muss|kann|darf|soll|\w+te|\w+t)", r"(?:in |an |um |zu )?(?:welche[mrns]?|welches) (?:jahr|jahre|datum|tag|monat|jahrhundert|jahrzehnt|uhrzeit|alter|zeit|zahl|anzahl|prozentsatz|preis|größe|höhe|temperatur|version)", r"(?:wie|was) (?:ist|war|lautet|beträgt) (?:die|das|der) (?:jahr|datum|alter|einwohnerzahl|bevölkerung|preis|zahl|anzahl|prozentsatz|höhe|größe|fläche|länge|entfernung|geschwindigkeit|temperatur|frist|gehalt|gewicht|dauer|wert|betrag)", r"was kostet", r"wie hoch",
        german=True,
    ),
}  # fmt: skip
"""Questions for a date or a number (T6)."""
