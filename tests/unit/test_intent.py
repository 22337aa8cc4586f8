"""Layer 0 of the intent router, and how replies of the intent model are read."""

from __future__ import annotations

import json
import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.plan import Intent, Vocabulary
from cairn.query.intent import INTENTS, hard_rules, read_intent
from cairn.query.summarize import asks_summary
from tests.waiting import patience

NOTHING = Vocabulary(1000, {})


def intent(message: str, *, history: bool = False, vocabulary: Vocabulary | None = None) -> Intent | None:
    found = hard_rules(message, has_history=history, vocabulary=vocabulary)
    return found.intent if found else None


@pytest.mark.parametrize(
    ("message", "confidence"),
    [
        ("", 1.0),
        ("   ", 1.0),
        ("a", 1.0),
        ("?", 1.0),
        ("!!!", 1.0),
        ("...", 1.0),
        ("42", 1.0),
        ("🎉🎉🎉", 1.0),
        ("aaaaaaaaaaaa", 1.0),
        ("zzzzzzzzzzzzzzzzzzx", 1.0),
        ("abababab", 0.95),
        ("x!!!", 0.95),
        ("asdfghjkl", 0.95),
        ("qwertyuiop", 0.95),
        ("sdkjfhskjdfh", 0.95),
        ("lkjlkj dfgdfg", 0.95),
        ("asdf", 0.95),
        ("asdasd", 0.95),
    ],
)
def test_garbage_with_its_confidence(message: str, confidence: float) -> None:
    for history in (False, True) if message != "42" else (False,):
        found = hard_rules(message, has_history=history)
        assert found is not None
        assert (found.intent, found.confidence, found.layer) == ("garbage", confidence, 0)


@pytest.mark.parametrize(
    "message",
    [
        "pg_stat_io",
        "kubectl",
        "Dvořák",
        "nginx",
        "psql",
        "ERR-4021",
        "CVE-2024-1234",
        "RTX-3080",
        "E1042?",
        "C++",
        "C#",
        "Bydgoszcz",
        "Szczecin",
        "GDPR",
        "IT",
        "The Who",
        "Anna",
        "HNSWIndex",
        "水",
        "什么是向量",
        "что такое вектор",
        "ما هو المتجه",
        "xquad_de",
        "mysql",
        "Wert",
        "hertz",
        "IEEE",
        "xviii",
        "test",
        "plpgsql",
        "httpx",
        "vacuumdb",
        "rhythm",
        "strengths",
        "Angstschweiß",
        "x = 5?",
        "3.14 or 2.72",
        "tanks",
        "can you dance",
    ],
)
def test_unusual_words_are_not_garbage(message: str) -> None:
    assert intent(message) is None


def test_words_of_the_collection_are_never_garbage() -> None:
    held = Vocabulary(50, {"qwerty": 3, "xkcdfq": 1, "404": 2, "haha": 1})
    assert intent("qwerty") == "garbage"
    assert intent("sdkjfhq") == "garbage"
    for message in ("qwerty", "QWERTY", "xkcdfq", "404", "haha"):
        assert intent(message, vocabulary=held) is None


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("hi", "greeting"),
        ("hiii", "greeting"),
        ("Hello!!", "greeting"),
        ("HEY 👋", "greeting"),
        ("good morning everyone", "greeting"),
        ("how are you", "greeting"),
        ("¡hola!", "greeting"),
        ("Buenos días, ¿qué tal?", "greeting"),
        ("guten Morgen", "greeting"),
        ("Wie geht's?", "greeting"),
        ("Bonjour !", "greeting"),
        ("salut ça va ?", "greeting"),
        ("helo", "greeting"),
        ("👋", "greeting"),
        ("thanks", "gratitude"),
        ("thx!", "gratitude"),
        ("thnaks", "gratitude"),
        ("Thank you so much for your help!", "gratitude"),
        ("merci beaucoup", "gratitude"),
        ("muchas gracias", "gratitude"),
        ("danke schön", "gratitude"),
        ("dankeschoen", "gratitude"),
        ("Vielen Dank für die Erklärung", "gratitude"),
        ("ok, got it", "gratitude"),
        ("bye", "gratitude"),
        ("🙏", "gratitude"),
        ("tell me more", "followup"),
        ("continue please", "followup"),
        ("elaborate", "followup"),
        ("thanks, tell me more", "followup"),
        ("dis-m'en plus", "followup"),
        ("cuéntame más", "followup"),
        ("Erzähl mir mehr darüber", "followup"),
        ("what next?", "followup"),
        ("wie geht es weiter?", "followup"),
        ("¿qué sigue?", "followup"),
        ("cosa viene dopo?", "followup"),
        ("in one sentence please", "simplify"),
        ("zu lang", "simplify"),
        ("plus bref", "simplify"),
        ("más breve", "simplify"),
        ("più breve per favore", "simplify"),
        ("eli5", "simplify"),
        ("explain it in simpler words please", "simplify"),
        ("too complicated", "simplify"),
        ("plus simplement stp", "simplify"),
        ("no entiendo", "simplify"),
        ("das verstehe ich nicht", "simplify"),
        ("go deeper", "deepen"),
        ("more technical", "deepen"),
        ("en profondeur", "deepen"),
        ("más a fondo", "deepen"),
        ("mehr im Detail", "deepen"),
        ("summarize", "command"),
        ("list all", "command"),
        ("give me an overview", "command"),
        ("résume", "command"),
        ("Zusammenfassung", "command"),
        ("tell me a joke", "off_topic"),
        ("What's the weather?", "off_topic"),
        ("quelle heure est-il ?", "off_topic"),
        ("¿quién eres?", "off_topic"),
        ("Erzähl mir einen Witz", "off_topic"),
        ("turn the kitchen lights off", "off_topic"),
        ("mach das Licht an", "off_topic"),
        ("allume la lumière du salon", "off_topic"),
        ("enciende la luz", "off_topic"),
        ("merci bcp", "gratitude"),
        ("vielen lieben Dank!", "gratitude"),
        ("danke, das hilft", "gratitude"),
        ("Danke dir, das war's", "gratitude"),
        ("summarize that", "simplify"),
        ("résume ça", "simplify"),
        ("resúmelo", "simplify"),
        ("fass das zusammen", "simplify"),
    ],
)
def test_whole_messages_in_four_languages(message: str, wanted: Intent) -> None:
    assert intent(message, history=True) == wanted


@pytest.mark.parametrize(
    "message",
    [
        "hi, what is the leave policy?",
        "thanks, but what about sick leave?",
        "tell me more about the pension plan",
        "turn on the radio module",
        "summarize that document",
        "explain quantum computing in simple terms",
        "more than 5 users?",
        "what time is the meeting?",
        "summarize chapter 3",
        "who are you insured with?",
        "what does the greeting on page 2 mean?",
        "thank you letter template",
        "hey jude author",
        "plus de vacances pour les cadres",
        "gracias a quién se fundó la ONU",
        "mehr Urlaub beantragen",
        "in depth review of the engine",
        "how old are the participants?",
        "what's the weather station's range?",
    ],
)
def test_what_has_a_subject_goes_on(message: str) -> None:
    assert intent(message) is None
    assert intent(message, history=True) is None


@pytest.mark.parametrize(
    "message",
    [
        "why?",
        "how",
        "Why not?",
        "what is it",
        "who is he",
        "where is it",
        "what was that",
        "pourquoi ?",
        "¿Por qué?",
        "Warum?",
        "und dann?",
    ],
)
def test_history_is_consulted_before_the_stop_word_rule(message: str) -> None:
    assert intent(message) == "clarify_needed"
    assert intent(message, history=True) == "followup"


@pytest.mark.parametrize("message", ["42", "2019?", "3,5"])
def test_a_number_may_answer_or_vary_the_last_question(message: str) -> None:
    assert intent(message) == "garbage"
    assert intent(message, history=True) == "question"


def test_a_subject_of_the_collection_is_not_off_topic() -> None:
    assert intent("What's the weather?", vocabulary=NOTHING) == "off_topic"
    assert intent("What's the weather?", vocabulary=Vocabulary(100, {"weather": 40})) is None


def test_random_keys_are_mostly_found() -> None:
    """Nine letters, drawn evenly: most look like no language, and nothing else is claimed for them."""
    keys = random.Random(7)
    mashed = ["".join(keys.choices(string.ascii_lowercase, k=9)) for _ in range(300)]
    found = [intent(word, vocabulary=NOTHING) for word in mashed]
    assert set(found) <= {"garbage", None}
    assert found.count("garbage") > 180


@given(st.text(max_size=300), st.booleans())
def test_every_message_is_answered(message: str, history: bool) -> None:
    found = hard_rules(message, has_history=history, vocabulary=NOTHING)
    assert found is None or (
        found.intent in INTENTS and 0 < found.confidence <= 1 and found.layer == 0 and found.reason
    )


@pytest.mark.parametrize(
    "unit", ["hi ", "thanks ", "a", "tell me ", "asdf ", "?", "é", "\ud800", "👍", "set alarm for "]
)
def test_long_messages_take_bounded_time(unit: str) -> None:
    started = time.thread_time()
    hard_rules((unit * 20000)[:20000], has_history=True, vocabulary=NOTHING)
    assert time.thread_time() - started < patience(2, least=0)  # a runaway expression takes minutes


# --- layer 2 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ('{"intent": "greeting"}', "greeting"),
        ("off_topic", "off_topic"),
        ("Off-topic.", "off_topic"),
        ("**followup**", "followup"),
        ('```json\n{"intent": "Simplify", "confidence": 1}\n```', "simplify"),
        ("<think>question?</think> deepen", "deepen"),
        ("The intent is: clarify_needed", "clarify_needed"),
        ("follow-up", "followup"),
    ],
)
def test_replies_as_models_write_them(reply: str, wanted: Intent) -> None:
    assert read_intent(reply) == wanted


@pytest.mark.parametrize(
    "reply", ["", "I cannot say.", '{"intent": "dance"}', '{"intent": ', "greeting or question", "{}", "[]"]
)
def test_replies_that_name_no_intent(reply: str) -> None:
    assert read_intent(reply) is None


@given(
    st.text(max_size=400)
    | st.builds(lambda value: json.dumps({"intent": value}), st.text() | st.integers() | st.none())
)
def test_any_reply_can_be_read(reply: str) -> None:
    assert read_intent(reply) in (*INTENTS, None)


EVERYDAY = [
    ("resume", "es"), ("toll", "de"), ("gut", "de"), ("plus", "fr"), ("encore", "fr"), ("comment", "fr"), ("vale", "es"),
    ("weiter", "de"), ("salve", "it"), ("prima", "de"),
]  # fmt: skip
"""Words that are no commands and no small talk in English, with a language in which they are."""


@pytest.mark.parametrize(("word", "language"), EVERYDAY)
def test_an_everyday_word_is_no_command_of_another_language(word: str, language: str) -> None:
    assert hard_rules(word, has_history=True, language="en") is None
    assert hard_rules(word, has_history=True, language=language) is not None
    asked = f"Where do I find {word} in the settings?"
    assert hard_rules(asked, has_history=True) is None


@pytest.mark.parametrize(
    ("message", "language", "wanted"),
    [
        ("Where do I resume the download?", "en", False),
        ("How do I resume a paused job?", "es", False),
        ("resume", "en", False),
        ("resume", "es", True),
        ("Resume el informe", "en", True),
        ("résume", "en", True),
        ("summarize", "de", True),
        ("Can I list a compare plus on my resume?", "fr", False),
        ("Which sections does the ticket summary include?", "en", False),
        ("Give me a summary of the report", "en", True),
    ],
)
def test_a_summary_is_asked_for_in_the_language_of_the_message(message: str, language: str, wanted: bool) -> None:
    assert asks_summary(message, language) is wanted
