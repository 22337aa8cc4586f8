"""`cls` of a class method is its class; a variable that is called so is not."""

from __future__ import annotations

import pytest

from cairn.graph.code.outline import outline_of

BODY = "class Stack:\n    {head}\n        {before}return cls(1)\n"


@pytest.mark.parametrize(
    ("head", "before", "called"),
    [
        ("@classmethod\n    def make(cls):", "", True),
        ("def __new__(cls: type, x):", "", True),
        ("@classmethod\n    def make(cls):", "def inner(y): return cls(y)\n        ", True),
        ("def build(self):", "for cls in self.layers: pass\n        ", False),
        ("@staticmethod\n    def build(cls_name, cls=None):", "", False),
    ],
)
def test_cls_is_the_class_where_the_method_says_so(head: str, before: str, called: bool) -> None:
    found = outline_of(BODY.format(head=head, before=before), "python", "a.py")
    assert found
    assert any(one.relation == "calls" and one.target == "Stack" and one.local for one in found.references) is called
