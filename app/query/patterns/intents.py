"""Whole messages that want something else than documents, in four languages: key phrases, and what may stand beside.

A message has an intent when one of its key phrases is in it and every other word is a companion: "tell me more about
it" is a follow-up, "tell me more about the pension plan" is not. Written with accents; read without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.query.patterns.text import compiled, fold, folded_set, words

Phrase = tuple[str, ...]


def _phrases(text: str) -> frozenset[Phrase]:
    """Phrases divided by `;` or line ends, as words without apostrophes."""
    lines = (line for part in text.split(";") for line in part.splitlines())
    return frozenset(tuple(tokens(line)) for line in lines if line.strip())


def tokens(text: str) -> list[str]:
    """Words without apostrophes, folded: "What's" is "whats"."""
    return [word.replace("'", "") for word in words(fold(text))]


GREETINGS: Final = _phrases("""
hi; hello; hey; hiya; heya; hi there; howdy; yo; sup; wassup; whatsup; greetings; good morning; good afternoon; good evening; good day
morning; evening; afternoon; gday; hola; salut; allo; bonjour; bonsoir; coucou; bjr; slt; rebonjour; bonne journée
buenos días; buenas tardes; buenas noches; buen día; buenas; saludos; holi; qué onda
hallo; guten morgen; guten tag; guten abend; moin; moin moin; servus; grüß gott; grüß dich; grüezi; tach; na du; mahlzeit
ciao; salve; buongiorno; olá; oi; namaste; salam; aloha; privet; привет; здравствуйте; 你好; 您好; こんにちは; 안녕하세요; مرحبا; merhaba
nice to meet you; pleased to meet you; how do you do; how are you; how are you doing; how r u; hows it going; how is it going
how are things; how have you been; hows your day; whats up; what is up; are you there; anyone there; anybody there; you there
ça va; comment ça va; comment vas tu; comment allez vous; tu vas bien; vous allez bien; quoi de neuf; enchanté; enchantée
qué tal; cómo estás; cómo está; cómo te va; cómo va; qué hay; cómo están; mucho gusto; encantado; encantada
wie gehts; wie geht es dir; wie geht es ihnen; wie gehts dir; wie läufts; alles klar bei dir; na wie gehts; freut mich
""")
FAREWELLS: Final = _phrases("""
bye; bye bye; goodbye; good bye; see you; see ya; see you later; see you soon; good night; farewell; cya; have a nice day; have a good day
have a great day; take care; talk to you later; ttyl; until next time
au revoir; à bientôt; à plus; à plus tard; bonne nuit; bonne soirée; à demain; adieu; bonne fin de journée
adiós; hasta luego; hasta pronto; hasta mañana; nos vemos; chao; que tengas un buen día; chau
tschüss; tschüß; tschau; auf wiedersehen; bis bald; bis später; gute nacht; schönen tag; schönen tag noch; bis dann; bis morgen; machs gut
""")
GRATITUDE: Final = _phrases("""
thanks; thank you; thank u; thankyou; thx; thnx; thanx; tx; ty; tysm; tyvm; tks; cheers; much appreciated; appreciate it; appreciated; appreciate that
i appreciate it; i appreciate your help; grateful; many thanks; thanks a lot; thanks a million; thanks a bunch; much obliged; kudos
merci; merci beaucoup; merci bien; mille mercis; un grand merci; je vous remercie; je te remercie; grand merci; remerciements
gracias; muchas gracias; mil gracias; muchísimas gracias; te lo agradezco; se lo agradezco; lo agradezco; agradecido; agradecida
danke; danke schön; dankeschön; danke sehr; vielen dank; besten dank; herzlichen dank; tausend dank; ich danke dir; ich danke ihnen; dankesehr
merci vielmals; dankbar; grazie; obrigado; obrigada; arigato; спасибо; 谢谢; ありがとう; شكرا
""")
ACKNOWLEDGEMENTS: Final = _phrases("""
ok; okay; okey; k; kk; okie; alright; all right; got it; gotcha; i see; understood; i understand; makes sense; that makes sense; noted; fine; sounds good
great; cool; nice; perfect; awesome; excellent; wonderful; brilliant; amazing; fantastic; good job; well done; nice work; great work; good answer; great answer
nice one; that helps; that helped; very helpful; helpful; that is helpful; thats helpful; super; sweet; lovely; wow; good bot; you rock; you are the best; youre the best
youre awesome; you are awesome; all good; no worries; good to know; interesting; never mind; nevermind; no thanks; no thank you
d'accord; entendu; compris; j'ai compris; je vois; très bien; parfait; génial; bien reçu; c'est noté; ça marche; bravo; c'est bon; c'est parfait; non merci
vale; de acuerdo; entiendo; entendido; ya veo; muy bien; perfecto; genial; estupendo; excelente; está bien; no gracias; claro; bueno
alles klar; verstanden; ich verstehe; verstehe; in ordnung; sehr gut; perfekt; prima; klasse; gut; gut gemacht; passt; na gut; nein danke; toll
""")
FOLLOWUPS: Final = _phrases("""
more; tell me more; say more; go on; continue; keep going; carry on; elaborate; elaborate on that; expand; expand on that; what else; anything else; what more
more details; more detail; more info; more information; further details; additional details; details; more examples; another example; an example; examples; for example
explain; explain that; explain it; explain this; explain further; explain more; can you explain; and then; then what; what then; what happens next; whats next; so what; and
next; proceed; any more; any others; what about the rest; the rest; yes please; yes; yeah; yep; sure; please do; go ahead; how so; why is that; why so; what for; how come
why not; why; how; are you sure; really; is that all; is that it; thats it; thats all; and so; what does that imply
plus; dis m'en plus; dites m'en plus; m'en dire plus; en savoir plus; continue; continuez; continuer; poursuis; poursuivez; et ensuite; et après; ensuite; quoi d'autre; autre chose
développe; développez; développer; plus de détails; plus d'informations; davantage; davantage de détails; précise; précisez; détaille; détaillez; un exemple; d'autres exemples
explique; expliquez; explique moi; expliquez moi; c'est tout; pourquoi; comment; comment ça; pourquoi pas; la suite; vas y; allez y; encore; oui; ouais; plus d'exemples
más; cuéntame más; dime más; dígame más; continúa; continúe; continuar; sigue; siga; qué más; algo más; más detalles; más información; amplía; amplíe; ampliar; desarrolla; desarrolle
elabora; profundiza un poco; un ejemplo; más ejemplos; otro ejemplo; explica; explícame; explique; explícalo; eso es todo; por qué; cómo; por qué no; y luego; y después; adelante; sí; y qué más
mehr; mehr dazu; mehr davon; erzähl mir mehr; erzähle mir mehr; erzähl mehr; sag mir mehr; sagen sie mir mehr; weiter; mach weiter; machen sie weiter; fahre fort; fahren sie fort; fortfahren; fortsetzen
was noch; was sonst; sonst noch etwas; noch etwas; mehr details; mehr informationen; weitere details; weitere informationen; genauere informationen; führe das aus; führ das aus; näher erläutern
ein beispiel; weitere beispiele; noch ein beispiel; erklär; erkläre; erklären; erkläre das; erklär mir das; ist das alles; das ist alles; warum; wieso; weshalb; wie; warum nicht; wie das; und dann; und weiter; ja; ja bitte
""")
SIMPLIFICATIONS: Final = _phrases("""
simpler; simple; simply; simplify; simplified; simplify it; eli5; eli 5; dumb it down; dumb that down; dumb down; dumbed down; too complicated; too complex; complicated; too technical; too hard; too difficult
easier; plain english; plain language; plain words; plain terms; layman; laymans; laymen; laypersons; lay terms; like im 5; like im five; like i am 5; like i am five; five year old; 5 year old; 5yo; for a child; to a child; for dummies; for beginners
as if i were five; i dont understand; i do not understand; dont understand; didnt understand; i dont get it; dont get it; dont get that; i didnt get that; not clear; unclear; confusing; im confused; confused; im lost; lost me; what do you mean; what does that mean; what does this mean
what does it mean; what is that supposed to mean; clarify; shorter; in short; short version; less technical; less jargon; too long; tldr; tl dr; rephrase; reword; in other words; huh; come again; fewer words; briefly; make it short
plus simple; plus simplement; simplement; simplifie; simplifiez; simplifier; simplifie moi ça; trop compliqué; trop complexe; trop technique; trop difficile; compliqué; vulgarise; vulgarisez; vulgariser; je ne comprends pas; je comprends pas; je n'ai pas compris; j'ai pas compris
pas compris; comme à un enfant; comme si j'avais cinq ans; comme si j'avais 5 ans; c'est pas clair; pas clair; qu'est-ce que ça veut dire; ça veut dire quoi; que veux tu dire; que voulez vous dire; termes simples; mots simples; reformule; reformulez; reformuler; plus court; plus clairement; moins technique; en bref
más simple; más sencillo; más fácil; más simplemente; más sencillamente; simplifica; simplifícalo; simplifique; simplificar; demasiado complicado; demasiado complejo; demasiado técnico; muy complicado; muy difícil; no entiendo; no lo entiendo; no entendí; no comprendo; no he entendido; no me queda claro
como si tuviera cinco años; como si tuviera 5 años; como a un niño; para niños; palabras sencillas; palabras simples; palabras más simples; palabras más sencillas; términos sencillos; términos simples; términos más simples; qué quieres decir; qué quiere decir; qué significa eso; reformula; más corto; menos técnico; en pocas palabras
einfacher; einfach; vereinfachen; vereinfache; vereinfach; vereinfache das; zu kompliziert; zu komplex; zu technisch; zu schwierig; zu schwer; kompliziert; ich verstehe nicht; ich verstehe das nicht; verstehe ich nicht; das verstehe ich nicht; nicht verstanden; habe ich nicht verstanden; verstehe nicht
wie für ein kind; wie einem kind; als wäre ich fünf; als wäre ich 5; für anfänger; für laien; was meinst du; was meinen sie; was bedeutet das; was heißt das; mit einfachen worten; einfachen worten; einfache worte; einfachere worte; einfacheren worten; verständlicher; leichter; kürzer; weniger technisch; formuliere um; umformulieren; anders ausgedrückt; unklar
""")
DEEPENINGS: Final = _phrases("""
deeper; go deeper; dig deeper; dive deeper; deep dive; in depth; more depth; greater depth; more technical; technical details; technical detail; technically; technical; more advanced; advanced; under the hood; nitty gritty; in detail; in more detail; in greater detail; in full detail; in details; more detailed
thorough; more thorough; thoroughly; more precise; more specific; be specific; more precisely; be more specific; full explanation; detailed explanation; detailed; more rigorous; more in depth; go into detail; go into details; comprehensive; drill down; expert level; for an expert
approfondis; approfondissez; approfondir; plus en profondeur; en profondeur; plus technique; détails techniques; plus détaillé; en détail; plus en détail; plus loin; plus précis; plus précisément; de manière plus technique; creuse; creuser; plus avancé; plus poussé
profundiza; profundice; profundizar; más profundo; más a fondo; a fondo; en profundidad; más técnico; detalles técnicos; más detallado; en detalle; con más detalle; más en detalle; más preciso; más específico; más avanzado; con detalle; más profundidad; detalladamente
tiefer; geh tiefer; gehe tiefer; gehen sie tiefer; vertiefe; vertiefen; in die tiefe; mehr in die tiefe; technischer; technische details; ausführlicher; ausführlich; im detail; mehr im detail; genauer; detaillierter; detailliert; präziser; gründlicher; fortgeschrittener; etwas genauer; ins detail
""")
COMMANDS: Final = _phrases("""
summarize; summarise; summary; summarize it; sum up; compare; list all; list everything; overview; give me an overview; outline; recap; compare them; tldr please
résume; résumez; résumer; résumé; compare; comparez; comparer; liste tout; aperçu; vue d'ensemble; synthèse; fais une synthèse; récapitule; liste
resume; resuma; resumir; resumen; compara; compare; comparar; lista todo; enumera todo; panorama; visión general; síntesis
fasse zusammen; fass zusammen; fassen sie zusammen; zusammenfassen; zusammenfassung; vergleiche; vergleichen; liste alles auf; überblick; übersicht; gib mir einen überblick
""")

_POLITE: Final = folded_set(
    "please pls plz kindly can could would will you me i i'd id like to want s'il te vous plaît plait svp stp por favor puedes "
    "puede podrías podría bitte kannst könntest können könnten sie du mir tu peux pouvez pourrais pourriez moi me nous us "
    "uns nos and et y und so now maintenant ahora jetzt ok okay well just oh ah hmm hm um a an the la le les el los las "
    "der die das den dem ein eine einen un une uno una it this that ça cela ceci eso esto lo dies dieses for pour para für "
    "bit little peu poco bisschen etwas i'm im am is was were are very so really much too far also again encore otra "
    "vez nochmal noch einmal mal alors donc bueno pues then one more time es est c"
)
_ADDRESSED: Final = folded_set(
    "there everyone everybody all folks guys team friend friends buddy mate man bro dude sir madam maam bot chatbot robot "
    "assistant ai cairn dear again à tous toutes tout le monde madame monsieur messieurs mesdames ami amis amigo amiga "
    "amigos señor señora a todos todas zusammen allerseits leute alle herr frau mein freund my today heute hoy aujourd'hui "
    "liebes team from me beautiful lovely world good day back"
)
_THANKED: Final = folded_set(
    "for your help helping explanation explaining answer answers answering response reply info information clarification "
    "time support that was were is helpful useful great perfect good nice awesome excellent amazing lot million bunch "
    "much many so very really in advance again all everything quick kind it this letting know me wonderful cool "
    "votre ton aide réponse réponses explication explications pour l de d avance beaucoup bien très utile infiniment c'est c "
    "était parfait génial encore tout vos tes su tu ayuda respuesta la explicación información por de todo muy útil "
    "antemano mucho fue es perfecto genial tanto für die deine ihre hilfe antwort antworten erklärung auskunft info "
    "informationen sehr im voraus das war ist hilfreich super toll nett gut nochmals euch dir ihnen mal how you've been "
    "one works worked now i get understand got makes sense see mate man sir bro buddy dude friend cairn to you question my "
    "answers answered"
)
_POINTED: Final = folded_set(
    "tell give show say explain describe write put go make do provide have need know hear see i'd about on of into in with "
    "that this it those these them your last previous answer answers response explanation point points topic subject "
    "thing things part first second one sentence paragraph above us me some any few bit little way manner terms words word "
    "language version form english level sound talk break down there here get something anything which "
    "dis dites donne donnez moi explique expliquez expliquer peux pouvez ça cela sur de d en à avec ta votre ton réponse "
    "explication point sujet partie des du plus moins quelques manière façon façons termes mots mot version phrase langage "
    "dernier dernière dernier précédente ce cette ces voudrais aimerais veux savoir dire donner aller faire vas va "
    "dime dame da dé deme explica explícame explicar explícalo explicarlo explicármelo puedes puede sobre de del eso esto "
    "tu su respuesta explicación punto tema parte manera forma términos palabras con en más menos quiero quisiera saber "
    "decir dar hazlo hacerlo ello última anterior lo al "
    "sag sage sagen erzähl erzähle erzählen gib gebt geben erklär erkläre erklären erläutere erläutern beschreibe "
    "beschreiben darüber davon dazu zu über von mit deine ihre deiner ihrer antwort erklärung punkt thema teil "
    "weise art worten worte wörter begriffen version satz letzte letzten vorherige möchte will wissen hören geh gehe gehen "
    "sie hierzu hier bitte mach mache machen drück drücke aus ausdrücken formuliere formulieren "
    "years year old kid child think mean hard five 5 doesn't dont do not is still kind sorry but i'm i am don't don't"
)

COMPANIONS: Final[Mapping[str, frozenset[str]]] = {
    "greeting": _POLITE | _ADDRESSED,
    "gratitude": _POLITE | _ADDRESSED | _THANKED,
    "followup": _POLITE | _POINTED,
    "simplify": _POLITE | _POINTED,
    "deepen": _POLITE | _POINTED,
    "command": _POLITE,
}
"""Words that may stand beside a key phrase of the intent."""

TYPO_PRONE: Final = folded_set(
    "hello morning evening afternoon goodbye thanks thank appreciate bonjour bonsoir merci beaucoup gracias muchas buenos buenas "
    "tardes noches danke schön dankeschön vielen guten morgen hallo continue elaborate simplify explain deeper summarize"
)
"""Recognised with one letter wrong, missing, doubled or swapped."""
REAL_WORDS: Final = folded_set(
    "tanks banks ranks hanks shanks thinks hanke ranke anke hell cello jello hollow hallow shallow halo mercy merck mercia guter "
    "gute gluten mourning moaning warning morgan organ deeper peeper steeper keeper elaborated elaborates explains explained "
    "continued continues simplified simplifies summarized summarizes summarised thick tank bank dank anker denke danker danken "
    "marci mercis schon vieler viele vielem noche tarde gracia bueno buena mucha muchos event events evenings mornings"
)
"""Not typing errors."""

EMOJI: Final[Mapping[str, str]] = {
    "👋": "greeting",
    "🙏": "gratitude",
    "💐": "gratitude",
    "👍": "acknowledgement",
    "👌": "acknowledgement",
}
"""Messages of nothing but these."""

OFF_TOPIC_CUES: Final = frozenset(word.replace("'", "") for word in folded_set(
    "you your you're yours yourself u me my i i'm i'd i'll we joke jokes weather rain raining snow forecast umbrella outside today tonight "
    "tomorrow alarm timer music song volume coin dice die heads tails lights light phone time date day morning pizza life laugh funny bored "
    "tu toi te t as es ton ta vous votre moi aujourd demain heure temps blague musique météo robot tú usted ti eres tienes te tu me hoy mañana "
    "hora tiempo chiste música clima du dich dir dein sie ihr mir heute morgen wetter witz uhr spät musik bist"
))
"""One of these is in all small talk and in all orders to a device."""

HOW_TO: Final = compiled(
    r"how (?:to|do|does|can|could|should|would|did)", r"comment", r"cómo (?:se|puedo|hago|debo|\w+[aei]r)", r"wie (?:kann|muss|soll|mache|macht|geht|stelle|schalte)",
    r"according to", r"selon", r"según", r"laut",
)
"""Asks how something is done, or what somebody says: documents may know."""

_DEVICES: Final = (
    r"(?:tell|say|give)(?: me| us)?(?: a| another| one more| some)?(?: good| funny| short| dad| knock knock)* jokes?(?: please| about .{1,40})?",
    r"(?:(?:do you )?know(?: any| some| a)?|any)(?: good| funny)* jokes?", r"make me laugh", r"sing(?: me)?(?: a| something)?(?: song)?",
    r"(?:what is|whats|hows|how is) the weather(?: like)?(?: today| tomorrow| now| outside| right now)?", r"how(?:s| is) the weather(?: like)?(?: today| outside)?",
    r"(?:what is|whats|hows|how is) the weather (?:like )?in (?:\w+ ?){1,3}?(?:today|tomorrow|now|right now|like)?", r"remind me to .{1,80}",
    r"quel temps (?:fait-il|fait il|fera-t-il) (?:à|en|au) (?:\w+ ?){1,3}", r"qué tiempo (?:hace|hará) en (?:\w+ ?){1,3}", r"wie (?:ist|wird) das wetter (?:heute |morgen )?in (?:\w+ ?){1,3}",
    r"(?:will|is) it (?:going to )?(?:rain|snow|raining|snowing|sunny)(?: today| tomorrow| outside| now)?",
    r"what (?:time|day) is it(?: now| today)?", r"(?:what is|whats) (?:the time|todays date|the date(?: today)?|the current time)",
    r"(?:set|start|cancel|stop)(?: me| up)?(?: an?| the| my)? (?:alarm|timer|reminder)(?: for .{1,40}| at .{1,40}| to .{1,60})?",
    r"play (?:some|a|my) (?:music|song|songs|playlist)", r"(?:flip|toss) a coin", r"roll (?:a|the) dic?e", r"(?:turn|switch) (?:on|off) the lights?",
    r"(?:order|book) me (?:a|an|some) (?:pizza|taxi|uber|cab|flight|table|hotel)", r"call (?:my )?(?:mom|mum|dad|wife|husband|brother|sister)",
    r"(?:who|what) are you", r"who (?:made|created|built|designed|programmed|developed|trained) you", r"(?:what is|whats) your (?:name|favou?rite (?:colou?r|food|movie|song|book)|age|hobby|hobbies)",
    r"how old are you", r"where (?:are|do) you (?:from|live|come from)", r"are you (?:a |an )?(?:real |actual )?(?:bot|robot|human|person|ai|alive|real|machine|computer|chatbot|chatgpt|sentient|conscious|married|single)(?: or .{1,30})?",
    r"do you (?:love|like|hate) me", r"(?:will you )?marry me", r"i (?:love|like|hate|miss) you", r"i(?:m| am) (?:bored|hungry|tired|sad|happy|lonely|sleepy)", r"what can you do", r"what do you do",
    r"(?:what is|whats) the meaning of life", r"do you have (?:any )?(?:pets?|feelings|hobbies|a name|friends|a dog|a cat|children)", r"(?:tell|give) me (?:a|some|another)(?: fun| random| interesting)* (?:fact|facts|trivia|story|poem|riddle)",
    r"write (?:me )?(?:a|an) (?:poem|song|haiku|love letter|limerick)(?: about .{1,40})?", r"can i ask you (?:something|a question)", r"what should i (?:eat|wear|cook)(?: today| tonight| for (?:dinner|lunch|breakfast))?",
    # fr
    r"(?:raconte|dis|fais|racontez|dites)(?:-| )?(?:moi|nous)? ?(?:une|des)(?: bonne| petite| autre)* (?:blagues?|histoires? drôles?)", r"(?:fais|faites)(?:-| )moi rire", r"quel temps (?:fait-il|fait il|il fait|fera-t-il)(?: aujourd'hui| demain| dehors)?", r"quelle est la météo(?: du jour| aujourd'hui| de demain)?", r"il fait quel temps(?: aujourd'hui)?",
    r"quelle heure (?:est-il|est il|il est)(?: maintenant)?", r"il est quelle heure", r"quel jour (?:sommes-nous|est-on|on est)(?: aujourd'hui)?", r"(?:qui|qu)(?: |')?(?:es-tu|etes-vous|es tu|êtes vous|t'es)", r"(?:tu es|t'es|vous êtes) qui", r"(?:comment )(?:t'appelles-tu|tu t'appelles|vous appelez-vous|t'appelles tu)",
    r"quel est (?:ton|votre) (?:nom|âge|prénom)", r"quel âge (?:as-tu|avez-vous|as tu)", r"(?:es-tu|êtes-vous|tu es|es tu) (?:un |une )?(?:robot|humain|humaine|ia|bot|vrai|réel|machine|intelligence artificielle)", r"qui t'a (?:créé|fait|programmé|conçu)", r"(?:mets|joue|lance)(?:-moi)? (?:de la|une|ma) (?:musique|chanson|playlist)", r"je (?:t'aime|m'ennuie|vous aime)", r"chante(?:-moi)?(?: une chanson| quelque chose)?", r"quel est le sens de la vie", r"que (?:sais-tu|peux-tu|savez-vous|pouvez-vous) faire",
    r"(?:règle|mets|programme)(?: une?| mon| le)? (?:alarme|réveil|minuteur|rappel)(?: .{1,40})?",
    # es
    r"(?:cuéntame|dime|cuenta|cuénteme|dígame|cuentame)(?: un| otro| algún)(?: buen)? (?:chiste|cuento|acertijo)", r"(?:hazme reír)", r"qué tiempo (?:hace|hará|va a hacer)(?: hoy| mañana| fuera)?", r"(?:cómo está|cuál es) el (?:clima|tiempo)(?: hoy| mañana)?", r"qué hora es(?: ahora)?", r"qué día es(?: hoy)?", r"(?:quién|qué) (?:eres|es usted)(?: tú)?", r"cómo (?:te llamas|se llama usted)", r"cuál es (?:tu|su) nombre", r"(?:cuántos años|qué edad) (?:tienes|tiene usted)", r"(?:eres|es usted) (?:un |una )?(?:robot|humano|humana|ia|bot|real|máquina|persona)(?: real)?",
    r"quién te (?:creó|hizo|programó|ha creado)", r"de dónde eres", r"(?:pon|reproduce|toca)(?:me)? (?:música|una canción|mi lista)", r"te (?:quiero|amo)", r"(?:estoy aburrid[oa])", r"cuál es el sentido de la vida", r"qué (?:puedes|sabes) hacer", r"cántame(?: una canción| algo)?", r"(?:pon|programa|configura)(?: una?| mi)? (?:alarma|temporizador|recordatorio)(?: .{1,40})?",
    # de
    r"(?:erzähl|erzähle|sag|erzählen sie)(?: mir| uns)?(?: bitte)?(?: einen| noch einen)(?: guten| lustigen)? witz", r"(?:kennst du|kennen sie) (?:einen|ein paar) (?:guten )?witze?", r"bring mich zum lachen", r"wie (?:ist|wird) das wetter(?: heute| morgen| draußen)?", r"was ist das wetter(?: heute)?", r"(?:regnet|schneit) es(?: heute| morgen| gerade)?", r"wie (?:spät|viel uhr) ist es(?: gerade| jetzt)?", r"welcher tag ist heute", r"(?:wer|was) (?:bist du|sind sie)", r"wie heißt du", r"wie heißen sie", r"wie ist (?:dein|ihr) name", r"wie alt (?:bist du|sind sie)",
    r"(?:bist du|sind sie) (?:ein |eine )?(?:roboter|mensch|ki|bot|echt|maschine|echter mensch|künstliche intelligenz)", r"wer hat dich (?:gemacht|erschaffen|programmiert|entwickelt|gebaut)", r"woher kommst du", r"(?:spiel|spiele)(?: mir)? (?:etwas |die |ein |meine )?(?:musik|lied|playlist)(?: ab)?", r"ich (?:liebe|mag|hasse) dich", r"mir ist langweilig", r"was ist der sinn des lebens", r"was kannst du(?: alles)?", r"(?:sing|singe)(?: mir)?(?: etwas| ein lied)", r"(?:stell|stelle|stellen sie)(?: mir)?(?: einen?| den)? (?:wecker|timer|erinnerung)(?: .{1,40})?", r"wirf eine münze",
)  # fmt: skip
_PREFIX = r"(?:hey |hi |hello |please |ok |so |salut |hola |hallo |bonjour |(?:can|could|would|will) you (?:please )?|peux-tu |pouvez-vous |puedes |kannst du )*"
OFF_TOPIC: Final = compiled(
    *(f"^{_PREFIX}(?:{one})(?: please| for me| then| s'il te plait| svp| por favor| bitte)*$" for one in _DEVICES),
    german=True,
)
"""Small talk and orders to a device, as whole messages without punctuation."""

NONSENSE: Final = folded_set(
    "bla blah blablabla blablah bleh meh lol lmao rofl haha hehe hihi jaja jeje xd hmm hmmm mdr ptdr kkk test testing"
)
