"""Names that look alike, and names of files."""

from __future__ import annotations

import pytest

from cairn.domain.names import check_distinct, check_external_id, check_name, check_named, clean_title, id_of_file_name
from cairn.errors import InputError

SEEN = (
    "acme", "Grüße an alle", "日本語", "می‌خواهم", "क्‍ष", "👩‍💻 notes", "👁️‍🗨️", "1️⃣ first", "❤️", "©️", "٣؀", "Screenshot 3.00\u202fPM",
    "葛\U000e0100", "🫨 new", "a.b_c-d",
)  # fmt: skip
HIDDEN = (
    "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2064\ufeff\u202a\u202e\u2066\u2069"
    "\u00ad\u2028\u2029\x00\x1b\x7f\x9b\ue000\u0378\uffff"
    "\u115f\u3164\u034f\ufe00\U000e0001\U000e0061"
)

JOINERS_AND_VARIANTS = "\u200c\u200d\ufe00"


@pytest.mark.parametrize("name", SEEN)
def test_what_is_seen_is_a_name(name: str) -> None:
    assert check_name(name, "the name") == check_external_id(name) == name
    assert check_named(name, "key").split() == name.split()
    assert clean_title(name) == name


@pytest.mark.parametrize("sign", HIDDEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_what_is_not_seen_is_refused_by_its_number(sign: str) -> None:
    for name in (f"ac{sign}me", f"acme{sign}", f"{sign}acme"):
        with pytest.raises(InputError, match=rf"U\+{ord(sign):04X}"):
            check_external_id(name)
    with pytest.raises(InputError, match=rf"U\+{ord(sign):04X}"):
        check_named(f"ac{sign}me", "tenant")
    kept = sign if sign in JOINERS_AND_VARIANTS else "\ufffd" if sign == "\x00" else ""
    assert clean_title(f"ac{sign}me").replace(" ", "") == f"ac{kept}me"


def test_names_of_files_stay_apart() -> None:
    assert id_of_file_name("C:\\fakepath\\x.txt") == id_of_file_name("x.txt") == id_of_file_name("./x.txt") == "x.txt"
    assert id_of_file_name("a\\b.txt") == "a/b.txt"
    assert id_of_file_name("v1..v2/.env") == "v1..v2/.env"
    assert id_of_file_name(" x.txt") == " x.txt"
    assert id_of_file_name("c:notes.txt") == "c:notes.txt"
    for path in ("C:\\x.txt", "/x.txt", "..\\..\\x.txt", "\\\\server\\x.txt", "a/ .. /b", "C:/fakepath/../x.txt"):
        with pytest.raises(InputError, match="send a plain name"):
            id_of_file_name(path)
    for nothing in ("", "/", "\\", " ", ".", "./", "a/ /b", "a/\u2028"):
        with pytest.raises(InputError):
            id_of_file_name(nothing)
    check_distinct([("x", "x"), ("y", "y")])
    with pytest.raises(InputError, match=r"'\./x' and 'x' are both 'x'"):
        check_distinct([("./x", "x"), ("x", "x")])
