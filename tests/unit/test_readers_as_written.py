"""Who may read, as people write it: a line each, for all of a source or for a folder of it."""

import random

import pytest

from cairn.domain.access import KINDS, check_access, parse_readers, write_readers


@pytest.mark.parametrize(
    ("lines", "access"),
    [
        ([], {}),
        (["", "  "], {}),
        (["group:staff", " person:ada "], {"": ["group:staff", "person:ada"]}),
        (["plans=group:hr", "plans = key:7", "group:staff"], {"plans": ["group:hr", "key:7"], "": ["group:staff"]}),
        (["person:YWRh=="], {"": ["person:YWRh=="]}),  # subjects of tokens may end so
        (["plans=person:YWRh="], {"plans": ["person:YWRh="]}),
        (["person:cn=ada,ou=group:hr"], {"": ["person:cn=ada,ou=group:hr"]}),
        (["plans=person:cn=ada,ou=group:hr"], {"plans": ["person:cn=ada,ou=group:hr"]}),
        (["a=b=group:hr"], {"a=b": ["group:hr"]}),
        (["=group:hr"], {"": ["group:hr"]}),
        (["plans=", "=", "staff=group:hr"], {"plans": [], "": [], "staff": ["group:hr"]}),  # everybody
        (["plans=everyone", "everyone"], {"plans": ["everyone"], "": ["everyone"]}),  # refused where it is taken
    ],
)
def test_lines_say_who_may_read_what(lines: list[str], access: dict[str, list[str]]) -> None:
    assert parse_readers(lines) == access
    assert parse_readers(write_readers(access)) == access


def test_whatever_list_may_be_is_written_and_read_again() -> None:
    chance = random.Random(7)
    parts = ["a", "=", ":", "group", "=group:", "person:", "=key:", ",ou=", " ", "é", "/", "=="]
    folders = ["", "hr", "hr/pay", "a=b", "with blanks in it", "é"]
    for _ in range(2000):
        names = {f"{chance.choice(KINDS)}:x{''.join(chance.choices(parts, k=4))}y" for _ in range(chance.randint(0, 3))}
        access = {folder: list(check_access(names)) for folder in chance.sample(folders, chance.randint(0, 4))}
        assert parse_readers(write_readers(access)) == access
