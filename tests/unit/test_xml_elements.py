"""XML of others: what does not matter takes no memory, and what is damaged is said."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from cairn.connectors.webdav_connector import read_multistatus
from cairn.connectors.xml_elements import MOST_PARTS, DamagedXmlError, XmlElements


def test_what_nobody_asked_for_is_not_held() -> None:
    content = b"<r><x><a/><!----><?a?></x><!----><a>t<b/></a>t<a/><!----><e/><!----><e/></r>"
    found = 0
    for element in XmlElements(content).find("e".__eq__):
        before = element.getprevious()
        assert before is None or (before.getprevious() is None and len(before) == 0)
        assert {type(other.tag) for other in element.getparent()} == {str}  # what was parsed ahead has no comments
        found += 1
    assert found == 2


def test_an_element_has_a_bound_of_parts() -> None:
    def count(parts: int) -> int:
        content = f"<r><e>{'<p/>' * parts}</e><e/></r>".encode()
        return len(list(XmlElements(content).find("e".__eq__)))

    assert count(MOST_PARTS) == 2
    with pytest.raises(DamagedXmlError, match="10,000 parts"):
        count(MOST_PARTS + 1)


def test_an_element_is_whole_and_those_of_its_name_in_it_are_its_own() -> None:
    content = b"<r><x><e><p/><e>inner</e></e></x><e>two</e></r>"
    elements = XmlElements(content)
    assert elements.root == "r"
    assert [[part.tag for part in found.iter()] for found in elements.find("e".__eq__)] == [["e", "p", "e"], ["e"]]


def test_a_folder_with_an_address_that_is_none_is_read() -> None:
    answers = "".join(f"<response><href>{href}</href></response>" for href in ("http://[", "/a"))
    length = f"<response><href>/b</href><getcontentlength>{'9' * 5000}</getcontentlength></response>"
    found = read_multistatus(f"<multistatus xmlns='DAV:'>{answers}{length}</multistatus>".encode(), "u")
    assert [(one.path, one.size) for one in found] == [("", None), ("/a", None), ("/b", None)]


def test_no_other_thread_goes_on_with_a_parser() -> None:
    """It would corrupt memory: the process ended, now and then."""
    elements = XmlElements(b"<a><b/><b/></a>").find(lambda tag: tag == "b")
    next(elements)
    with ThreadPoolExecutor(1) as other, pytest.raises(RuntimeError, match="in the thread"):
        other.submit(next, elements).result()
