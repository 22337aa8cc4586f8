"""Who may read, as people write it: a line each, for all of a source or for a folder of it."""

import pytest

from cairn.domain.access import parse_readers, write_readers


@pytest.mark.parametrize(
    ("lines", "access"),
    [
        ([], {}),
        (["", "  "], {}),
        (["group:staff", " person:ada "], {"": ["group:staff", "person:ada"]}),
        (["plans=group:hr", "plans = key:7", "group:staff"], {"plans": ["group:hr", "key:7"], "": ["group:staff"]}),
        (["person:YWRh=="], {"": ["person:YWRh=="]}),  # subjects of tokens may end so
        (["plans=person:YWRh="], {"plans": ["person:YWRh="]}),
        (["a=b=group:hr"], {"a=b": ["group:hr"]}),
        (["=group:hr"], {"": ["group:hr"]}),
        (["plans=everyone", "everyone"], {"plans": ["everyone"], "": ["everyone"]}),  # refused where it is taken
        (["plans="], {"plans": [""]}),
        (["group:a=group:b"], {"group:a": ["group:b"]}),
    ],
)
def test_lines_say_who_may_read_what(lines: list[str], access: dict[str, list[str]]) -> None:
    assert parse_readers(lines) == access
    assert parse_readers(write_readers(access)) == access
