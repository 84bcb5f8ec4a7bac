"""Splits texts into the stems that the vectors are kept under; the same as the ranker's analysis."""

import functools
import re

import snowballstemmer

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD = re.compile(r"[^\W_]+", re.U)
STOP = set(
    """a an and are as at be but by can could do does for from had has have how i if in into is it its me my no not of on
    or our please should so some such that the their then there these they this to was we were what when where which who
    will with would you your""".split()
)
_stemmer = snowballstemmer.stemmer("english")
stem = functools.cache(_stemmer.stemWord)
STOP |= {stem(word) for word in STOP}


def stems(text):
    """The stems of a text in order, stop words left out."""
    found = (word.lower() for word in WORD.findall(CAMEL.sub(" ", text or "")))
    found = (stem(word) if word.isascii() else word for word in found)
    return [word for word in found if word not in STOP]
