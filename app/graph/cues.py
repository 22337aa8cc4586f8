"""Words that tell what a name is of, and what stands between two related names. Data, folded; four languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from app.language.name_words import COMMON_OPENERS
from app.language.text import folded_words
from app.language.tokens import ALL_STOP_WORDS

STOPS: Final = ALL_STOP_WORDS | folded_words(
    # sentence openers and pronouns of texts, which questions lack
    "however although though despite therefore thus hence moreover furthermore meanwhile nevertheless nonetheless later "
    "today currently originally eventually finally recently initially formerly previously together because unlike like "
    "within without against among upon around another others several every since while whereas yet still even "
    "following see note notes here there "
    "figure table chapter section appendix page example "
    "cependant toutefois ainsi alors puis ensuite enfin aujourd'hui actuellement lorsque puisque malgre afin selon "
    "chaque plusieurs certains tous toute voir tableau chapitre exemple article "
    "aunque embargo ademas luego entonces despues finalmente actualmente mientras cada varios algunos todos vease tabla "
    "capitulo ejemplo articulo "
    "jedoch allerdings dennoch zudem ausserdem daher deshalb spater heute zunachst schliesslich obwohl wahrend jeder "
    "alle siehe tabelle kapitel beispiel abschnitt"
)
"""Words that never begin a name."""
OPENERS: Final = COMMON_OPENERS

ALONE: Final = folded_words(
    "new first second third last one two three four five six seven eight nine ten great old north south east west northern "
    "southern eastern western central upper lower saint nouveau nouvelle premier première deux trois grand nord sud est "
    "ouest nuevo nueva primer primera dos tres gran norte sur este oeste neue neuer erste erster zwei drei nord süd ost"
)
"""Words that begin names, but are none by themselves."""
ASSERTS: Final = folded_words("is was has had est était a fut es fue era tiene ist war hat wurde became devient")
"""After a single capitalised word that begins a sentence these make it a name: "Paris is ..."."""

CALENDAR: Final = folded_words(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday spring summer autumn winter jan feb mar apr jun jul aug sep sept oct nov dec "
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi "
    "vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "lunes martes miércoles jueves viernes sábado domingo januar februar märz juni juli oktober dezember montag dienstag "
    "mittwoch donnerstag freitag samstag sonntag ad bc bce ce am pm"
)
"""Dates are no entities: they would join everything of a year."""

PERSON_TITLES: Final = folded_words(
    "mr mrs ms dr sir king queen prince princess duke count president professor prof general captain "
    "colonel saint pope emperor senator governor bishop monsieur madame roi reine saint docteur professeur señor señora "
    "don doña rey reina doctor herr frau könig königin kaiser papst professor"
)
ORGANISATIONS: Final = folded_words(
    "inc corp corporation company co ltd llc plc gmbh ag sa sarl kg se university college institute institution school "
    "academy association society foundation agency ministry department committee council commission party union club "
    "team league bank group records press organization organisation authority bureau orchestra band museum church army "
    "navy parliament senate court université école société ministère association fondation parti banque musée "
    "universidad escuela sociedad ministerio asociación fundación partido banco museo instituto compañía "
    "universität schule gesellschaft ministerium verein stiftung partei bank museum institut hochschule verband"
)
"""Words of which one is in the name of an organisation."""
PLACES: Final = folded_words(
    "river lake mount mountain mountains island islands city county town village state province district region valley "
    "bay sea ocean gulf peninsula street road avenue park forest airport station bridge cape fort kingdom republic "
    "empire township territory desert canyon falls harbor harbour rivière lac mont île ville département région rue "
    "fleuve mer forêt aéroport gare pont royaume république río lago monte isla ciudad provincia departamento región "
    "calle mar bosque aeropuerto puente reino república fluss see berg insel stadt kreis landkreis provinz strasse meer "
    "wald flughafen bahnhof brücke königreich republik"
)
"""Words of which one is in the name of a place."""
PLACE_PREPOSITIONS: Final = frozenset(["in", "near", "à", "en", "dans", "nach", "aus", "bei"])
"""Before a name, as they are written."""

PRONOUNS: Final = folded_words(
    "he she it they his her its their il elle ils elles son sa ses él ella ellos ellas su sus er sie es sein seine ihr"
)
"""First words of sentences that speak of the document's topic."""

LEADING_ARTICLE: Final = re.compile(r"^(?:(?:the|an?|les?|la|los|las|el|der|die|das)\s+|l'(?=\w{2}))")

_ROLE = r"(?P<role>[\w-]+(?: [\w-]+)?)"
_RELATIONS: Final[Sequence[tuple[str, str]]] = (
    # X ... Y, the text between them as it stands, folded; <role> names the relation itself
    (rf"(?:,| is| was| are| were|, who (?:is|was)) (?:the|an?) {_ROLE} of(?: the)?", "{role}_of"),
    (rf"(?:,| est| était| fut) (?:le |la |l'|une? ){_ROLE} (?:de la |de l'|de|du|des|d')", "{role}_of"),
    (rf"(?:,| es| era| fue) (?:el|la|una?) {_ROLE} (?:de la|de los|de|del)", "{role}_of"),
    (rf"(?:,| ist| war) (?:der|die|das|eine?) {_ROLE} (?:von|des|der)", "{role}_of"),
    (r"(?:,? (?:is|was|were|are|which was|who was|has been))?,? (?:\w+ly )?born (?:\w+ ){0,4}(?:in|at|near)", "born_in"),
    (r"(?:,? est)?,? nee? (?:\w+ ){0,5}(?:a|en|au)", "born_in"),
    (r",? naci[oda]+ (?:\w+ ){0,6}en", "born_in"),
    (r",? (?:wurde )?geboren (?:\w+ ){0,5}in", "born_in"),
    (r" (?:died|was killed|was buried) (?:\w+ ){0,4}(?:in|at|near)", "died_in"),
    (r" (?:lives?|lived|grew up|resides|resided|moved) (?:\w+ ){0,2}(?:in|to)", "lived_in"),
    (
        r"(?:,? (?:is|was|were|are|which was|has been|being))?,? (?:\w+ ){0,3}?(?P<verb>founded|directed|written|"
        r"produced|published|owned|discovered|designed|composed|recorded|performed|created|developed|built|released|"
        r"invented|established|acquired|operated|edited|painted|led|hosted|played|sung)(?: and \w+)?(?: \w+)? by(?: the)?",
        "{verb}_by",
    ),
    (r"(?:,? (?:a|est|fut|ete|etait))*,? (?P<verb>fonde|realise|ecrit|produit|publie|cree|compose)e?s? par", "{verb}_by"),
    (r"(?:,? (?:fue|es))?,? (?P<verb>fundad|dirigid|escrit|producid|publicad|cread|compuest)[oa]s? por", "{verb}_by"),
    (r"(?:,? (?:wurde|ist))?,? von", "by"),
    (
        r"(?:,? (?:is|was|are|were|lies))?,? (?:\w+ ){0,2}?(?:located|situated|based|headquartered|held|set|found) "
        r"(?:\w+ ){0,2}?(?:in|at|near|on)(?: the)?",
        "located_in",
    ),
    (r"(?:,? (?:est|se trouve))?,? (?:situee?|basee?) (?:a|en|au|dans)(?: la)?", "located_in"),
    (r"(?:,? (?:esta|se encuentra))?,? (?:situad|ubicad)[oa] en(?: la)?", "located_in"),
    (r" (?:liegt|befindet sich) (?:\w+ ){0,2}?in(?: der)?", "located_in"),
    (
        r"(?:,? (?:is|was))?,? (?:a |the )?(?:\w+ )?(?:part|member|subsidiary|division|branch|native|citizen) of(?: the)?",
        "part_of",
    ),
    (r"(?:,? (?:is|was))?,? (?:the )?(?P<kin>son|daughter|wife|husband|brother|sister|mother|father|spouse) of", "{kin}_of"),
    (r" (?:is |was )?married(?: to)?", "married"),
    (r" (?P<verb>founded|directed|wrote|produced|published|owns|discovered|designed|composed|recorded|created|invented|"
     r"acquired|joined|attended|defeated|borders)(?: the)?", "{verb}"),
    (r", ", "in"),
    (r" (?:in|near|at)(?: the)?", "in"),
)  # fmt: skip
RELATIONS: Final = tuple((re.compile(pattern), kind) for pattern, kind in _RELATIONS)
"""What may stand between two names, matched in full, and the relation from the first to the second."""
