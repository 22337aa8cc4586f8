"""One file a language: what is there is checked, what is not there is no rule, and no Python names a language."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cairn.language import lexicon
from tests.waiting import patience

APP = Path(lexicon.__file__).parents[1]
CODES = frozenset(one.code for one in lexicon.languages())
PORTUGUESE = """
name = "Portuguese"
[words]
stop = "o os as um uma e em do da dos das no na por para com não que se é são foi ao à"
elided = "d"
[identify]
words = "qual quais quem onde quando como quantos você não são é uma obrigado olá"
letters = "ãõç"
[messages]
greetings = "olá; bom dia; boa tarde"
[replies]
refusal = "Não sei com base nos documentos fornecidos."
"""


@pytest.mark.parametrize("path", sorted(lexicon.DATA.glob("*.toml")), ids=lambda path: path.stem)
def test_every_file_keeps_the_schema_and_its_patterns_compile(path: Path) -> None:
    one = lexicon.read(path)
    assert one.code == path.stem
    assert one.name
    for section in (one.questions, one.complexity, one.messages, one.split, one.filters, one.summaries, one.orders):
        for name, value in section:
            for pattern in value if isinstance(value, tuple) else ():
                re.compile(pattern)
                assert one.compiled(pattern), name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('name = "X"\n[words]\nstopp = "a"', "words.stopp"),
        ('name = "X"\ntext_serch = "x"', "text_serch"),
        ("order = 3", "name"),
        ('name = "X"\n[related]\ntwo = ["how <bothh>"]', "<bothh>"),
    ],
)
def test_what_a_file_may_not_hold_is_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(problem)) as refused:
        lexicon.read(path)
    assert "xx.toml" in str(refused.value)


def test_a_language_is_added_by_a_file_alone(tmp_path: Path) -> None:
    for path in lexicon.DATA.glob("*.toml"):
        shutil.copy(path, tmp_path)
    (tmp_path / "pt.toml").write_text(PORTUGUESE, encoding="utf-8")
    program = f"""
from pathlib import Path
from cairn.language import lexicon
lexicon.DATA = Path({str(tmp_path)!r})
from cairn.answer.refusal import is_refusal, refusal
from cairn.graph.extract import PassageSpan, extract
from cairn.language.identify import by_words
from cairn.language.tokens import terms
from cairn.query.classify import classify
from cairn.query.intent import hard_rules
text = "Quando é que a água do mar está fria em São Paulo?"
print(by_words(text), refusal(text), is_refusal("Não sei com base nos documentos fornecidos."))
print(hard_rules("Bom dia!", has_history=False).intent, classify(text, "pt").type, "uma" in terms(text))
print(len(extract(text, [PassageSpan(0, len(text))], language="pt")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=APP.parent)
    assert done.returncode == 0, done.stderr
    said, kind, extracted = done.stdout.splitlines()
    assert said == "pt Não sei com base nos documentos fornecidos. True"
    assert kind.startswith("greeting ")
    assert kind.endswith(" False")
    assert extracted == "1"


def test_a_language_without_rules_has_the_replies_of_the_default() -> None:
    assert lexicon.replies("xx") == lexicon.replies(lexicon.DEFAULT)
    assert lexicon.replies("it").refusal != lexicon.replies("en").refusal


NAMED_ELSEWHERE = {
    "query/references",  # words of follow-ups
    "query/followup.py",
    "query/pointing.py",
    "query/binding.py",
    "query/refocus.py",
    "query/rewrite.py",
    "language/identify.py",  # what PostgreSQL can stem
}
"""Where a language may be named."""


def test_no_python_names_a_language() -> None:
    """A string that is a code, as a key, an element or in a comparison: rules go into the language's file."""
    found = []
    written = re.compile(rf"""["'](?:{"|".join(CODES)})["']""")
    for path in APP.rglob("*.py"):
        name, source = path.relative_to(APP).as_posix(), path.read_text(encoding="utf-8")
        if any(name.startswith(place) for place in NAMED_ELSEWHERE) or not written.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            named: list[ast.expr | None] = []
            if isinstance(node, ast.Dict):
                named = list(node.keys)
            elif isinstance(node, ast.Compare):
                named = [node.left, *node.comparators]
            elif isinstance(node, ast.Subscript):
                named = [node.slice, *(node.slice.elts if isinstance(node.slice, ast.Tuple) else [])]
            found += [
                f"{name}:{one.lineno} {one.value!r}"
                for one in named
                if isinstance(one, ast.Constant) and one.value in CODES - {lexicon.DEFAULT}
            ]
    assert not found


@pytest.mark.parametrize("code", sorted(CODES))
def test_no_word_may_mean_two_things(code: str) -> None:
    """Groups that share a word are one: who produces would be what is produced."""
    words = [word for group in lexicon.language(code).arithmetic.alike for word in group.split()]
    assert sorted(words) == sorted({*words})


def test_reading_the_files_takes_no_time() -> None:
    begun = time.thread_time()
    for path in lexicon.DATA.glob("*.toml"):
        lexicon.read(path)
    assert time.thread_time() - begun < patience(2, least=0)


def test_a_definition_may_use_those_above_it_alone(tmp_path: Path) -> None:
    """What stays unfilled would be looked for as it is written, and never be found."""
    path = tmp_path / "pt.toml"
    kin, role = 'kin = "(?:mãe|pai)"', 'role = "(?:autor|<kin>)"'
    rest = PORTUGUESE + "[questions]\nthrough_another = ['<role> de \\w']\n"
    path.write_text(f"{rest}[define]\n{kin}\n{role}\n", encoding="utf-8")
    assert lexicon.read(path).questions.through_another == (r"(?:autor|(?:mãe|pai)) de \w",)
    path.write_text(f"{rest}[define]\n{role}\n{kin}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="<kin> is not defined"):
        lexicon.read(path)


def test_words_of_a_set_are_patterns_longest_first_and_lists_stay_as_they_are() -> None:
    words = lexicon.patterns(lambda one: frozenset({"ab", "abc", "abcd"}) if one.code == "en" else ())
    assert words == ["abcd", "abc", "ab"]
    assert lexicon.patterns(lambda one: ["b", "abc", "a"] if one.code == "en" else ()) == ["b", "abc", "a"]
