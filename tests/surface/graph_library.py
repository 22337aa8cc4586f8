"""A small library with people, places and works, whose graph is known."""

from __future__ import annotations

TEXTS = {
    "lovelace": "# Ada Lovelace\n\nAda Lovelace was born in London. Ada Lovelace worked with Charles Babbage on the Analytical "
    "Engine for many years.",
    "babbage": "# Charles Babbage\n\nCharles Babbage designed the Analytical Engine. Charles Babbage lived in Marylebone near "
    "the river.",
    "marylebone": "# Marylebone\n\nMarylebone is a district of London. The Wigmore Hall is located in Marylebone and gives "
    "concerts.",
    "bread": "# Bread\n\nSourdough rises slowly, and salt makes it keep.",
}
COLLECTION = "people"
