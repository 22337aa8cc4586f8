"""What tells names from other capitalised words: tables of English, French, Spanish and German, folded."""

from __future__ import annotations

from typing import Final

from app.language.text import folded_words

CONNECTORS: Final = folded_words(
    "of the de la le les du des del los las el da do dos di van von der den vom zu zur al bin ibn af d l aux auf"
)
"""Small words inside a name: Bank of America, Universidad de Chile, Ludwig van Beethoven."""

ARTICLES_OF_NAMES: Final = folded_words("los las el la")
"""Begin names of places where they are capitalised: Los Angeles, La Habana."""

CONNECTORS_DE: Final = folded_words("von van de of la di del da do dos el al zu")

ADDRESSES: Final = folded_words(
    "i i'm i'd i've i'll mr mrs ms dr monsieur madame señor señora herr frau sie ihr ihre ihnen ihren ihrem ihrer"
)

COMMON_OPENERS: Final = folded_words(
    "compare describe explain summarize summarise list give show tell find name define discuss analyze analyse evaluate "
    "outline identify write translate please hi hello hey thanks according during besides although given since though "
    "how many both either neither each every many several compare-moi what's according "
    "comparez comparer comparons décris décrivez explique expliquez résume résumez liste listez donne donnez montre montrez "
    "parle parlez cite citez présente analyse analysez évalue définis selon lors pendant bonjour salut merci dites dis "
    "compara comparar describe describa explica explique resume resuma lista enumera da dame muestra muéstrame dime analiza "
    "evalúa define según durante hola gracias háblame cuéntame "
    "vergleiche vergleichen beschreibe beschreiben erkläre erklären nenne nennen zeige liste gib fasse analysiere bewerte "
    "definiere laut während hallo danke erzähle seit nach unter neben wieviel wieviele"
)
"""Words that begin sentences and are no names, though a capitalised word may follow."""

DETERMINERS_DE: Final = folded_words(
    "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser diese dieses "
    "diesen diesem jener jene jenes jenen jenem jeder jede jedes jeden jedem welcher welche welches welchen welchem mein "
    "meine meinen meinem meiner dein deine deinen deinem deiner sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer "
    "unser unsere unseren unserem unserer euer eure euren eurem im am zum zur beim vom ins ans aufs viele vielen mehr wenige "
    "einige einigen mehrere mehreren alle allen aller manche manchen solche solchen zwei drei vier fünf sechs sieben acht "
    "neun zehn viel wieviel wieviele wie ersten erste zweite zweiten dritten letzte letzten nächsten beide beiden andere "
    "anderen meisten meiste welch was für art prozent euro dollar millionen tausend hundert"
)
NOUN_ENDINGS_DE: Final = (
    "ung", "ungen", "heit", "heiten", "keit", "keiten", "schaft", "schaften", "tion", "tionen", "ismus", "tat", "taten", "chen",
    "lein", "nis", "nisse", "nissen", "tum", "ling", "linge", "zeug", "werk", "werke", "system", "systeme", "systems", "systemen",
    "wesen", "jahr", "jahre", "jahren", "zeit", "zeiten", "zahl", "zahlen", "kraft", "stoff", "stoffe", "stoffen", "gruppe",
    "gruppen", "punkt", "punkte", "teil", "teile", "teilen", "recht", "rechte", "rechts", "gesetz", "gesetze", "mittel",
    "platz", "raum", "form", "formen", "arten", "weise", "name", "namen", "kosten", "preis", "preise", "spiel", "spiele",
    "dienst", "dienste", "stadt", "land", "lander", "landern", "krieg", "kriege", "schule", "schulen", "haus", "hauser",
    "regierung", "gebiet", "gebiete", "partei", "parteien", "ler", "lern", "iker", "ismen", "enz", "anz", "ur", "uren", "ik",
    "iken", "ieren", "erung", "bau", "gang", "gange", "wert", "werte", "satz", "satze", "stelle", "stellen", "linie", "linien",
)  # fmt: skip
NOUNS_DE: Final = folded_words(
    "mensch menschen person personen leute mann männer frau frauen kind kinder kindern vater mutter bruder schwester sohn "
    "tochter "
    "stadt städte land länder ort orte region regionen staat staaten welt erde meer fluss flüsse berg berge insel wasser luft "
    "feuer licht tag tage tagen woche wochen monat monate monaten stunde stunden minute minuten uhr anfang ende mitte seite "
    "seiten buch bücher film filme lied lieder wort wörter sprache sprachen bild bilder name titel thema themen frage fragen "
    "antwort antworten grund gründe ursache ursachen folge folgen ziel ziele zweck art arten weise typ typen form formen größe "
    "höhe länge breite anzahl menge prozent anteil grad meter kilometer kilogramm tonnen liter euro dollar geld arbeit beruf "
    "firma firmen unternehmen produkt produkte auto autos haus häuser schule schulen universität kirche kirchen armee soldaten "
    "könig königin kaiser präsident präsidenten kanzler minister papst gott krieg kriege schlacht frieden vertrag verträge "
    "gesetz gesetze recht rechte partei parteien wahl wahlen spiel spiele spieler team mannschaft mannschaften tor tore punkt "
    "punkte problem probleme system systeme methode methoden theorie theorien modell modelle unterschied unterschiede vorteil "
    "vorteile nachteil nachteile beispiel beispiele dokument dokumente datei dateien daten bericht berichte vertrag text texte "
    "tabelle tier tiere pflanze pflanzen baum bäume zelle zellen krankheit krankheiten arzt ärzte patient patienten medikament "
    "medikamente energie strom gas öl metall element elemente atom atome molekül moleküle sauerstoff kohlenstoff bevölkerung "
    "einwohner bürger volk völker gruppe gruppen mitglied mitglieder hauptstadt sitz gebiet gebiete grenze grenzen straße "
    "straßen eltern familie familien freund freunde leben tod geburt musik kunst kultur religion wissenschaft forscher "
    "wissenschaftler autor künstler sänger schauspieler student studenten schüler lehrer professor rolle preis preise kosten "
    "gehalt steuer steuern urlaub kündigung miete versicherung antrag frist monarch jahrzehnt jahrhundert jahrhunderts jahr "
    "jahre "
    "jahres jahren bedeutung einfluss wirkung zusammenhang beziehung verhältnis überblick übersicht schritte schritt anleitung "
    "verfahren prozess prozesse maschine maschinen gerät geräte motor rechner computer programm programme server netz netzwerk "
    "zug züge bahn flug flugzeug schiff schiffe hafen linie fall fälle teil teile zeit zeitraum zahl zahlen wert werte "
    "temperatur druck kraft masse feld fläche volumen dauer geschwindigkeit gewicht farbe farben stoff stoffe boden gestein wald "
    "tor tore abwehr angriff saison liga turnier trainer sieg niederlage runde finale kritik kritiker rezeption"
)

ABBREVIATIONS: Final = folded_words(
    "mr mrs ms dr prof st jr sr vs no inc ltd co corp gen col capt sen gov rev vol ed pp fig approx ca bzw usw nr bd mme "
    "mlle av sra dra ud art"
)
"""A full stop after these ends no sentence."""
