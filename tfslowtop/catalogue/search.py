"""Sorts the scenarios by symptom and ranks them for a search."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .find import Entry

#: What each article is about, in a few words.
ARTICLES = {
    "000": "why the time of a function rises",
    "001": "why the second calculation is slower",
    "002": "why code is slow in a loop",
    "003": "the limits of tf.numpy_function",
    "004": "why tf.function is slower than Python",
}


@dataclass(frozen=True, slots=True)
class Symptom:
    """What somebody notices, with a sign for narrow places."""

    name: str
    sign: str
    watch: str
    """What to look at while such a scenario runs."""


#: By a scenario's kind, in the order of the catalogue.
SYMPTOMS = {
    "grows": Symptom("gets slower", "▲", "The latency curve climbs until a fix flattens it."),
    "leaks": Symptom("leaks", "+", "Host memory climbs; the right fix stops it."),
    "constant penalty": Symptom("always slow", "=", "Latency is flat but high; a fix makes it drop."),
    "pauses": Symptom("pauses", "!", "Most iterations are fast, and a few take far longer."),
    "myth": Symptom("myths", "-", "A claim that measurements do not support: expect no difference."),
    "stale result": Symptom("wrong results", "~", "It is fast, and computes with an old value."),
    "needs a GPU": Symptom("needs a GPU", "#", "It shows only on a machine with a GPU."),
}
_BROKEN = Symptom("cannot be read", "x", "")

#: How much a word counts where it is found. Prose comes last: it mentions much that it is not about.
_TITLE, _ID, _TAG, _CLAIM, _TEXT, _CODE = 16, 12, 8, 4, 2, 1
_ENDINGS = re.compile(r"(ing|th|ed|es|s)$")


def symptom(entry: Entry) -> Symptom:
    """Return what somebody notices who has this problem."""
    return SYMPTOMS[entry.scenario.kind] if entry.scenario is not None else _BROKEN


def by_symptom(entries: Iterable[Entry]) -> list[Entry]:
    """Sort by symptom; those of one symptom keep their order."""
    order = [*SYMPTOMS.values(), _BROKEN]
    return sorted(entries, key=lambda entry: order.index(symptom(entry)))


def origin(entry: Entry) -> str:
    """Say in plain words where the claim comes from."""
    source = entry.scenario.source if entry.scenario is not None else ""
    if source.startswith("added: "):
        return f"From no article. It is common in code of today: {source.removeprefix('added: ')}."
    article, _, place = source.partition(", ")
    if article not in ARTICLES:
        return source
    return f"From an article on {ARTICLES[article]}" + (f": {place}." if place else ".")


def ranked(entries: Iterable[Entry], words: str) -> list[Entry]:
    """Return the scenarios in which every word occurs, the best match first."""
    wanted = [_stem(word) for word in words.lower().replace("_", " ").split()]
    scores = [(found, entry) for entry in entries if (found := _found(entry, wanted))]
    return [entry for _, entry in sorted(scores, key=lambda score: -sum(score[0]))]


def _found(entry: Entry, wanted: Iterable[str]) -> list[int]:
    """Return how much each word counts, or nothing if one of them does not occur."""
    parts = _parts(entry)
    found = []
    for word in wanted:
        # The beginning of a word is a better match than something within one.
        begins = [weight for text, weight in parts if f" {word}" in text]
        within = [weight / 2 for text, weight in parts if word in text and len(word) > 1]
        if not begins and not within:
            return []
        found.append(int(2 * max([*begins, *within])))
    return found


def _parts(entry: Entry) -> list[tuple[str, int]]:
    """Return the texts to search, and what a word in each of them counts."""
    scenario = entry.scenario
    texts = [(entry.title, _TITLE), (entry.id, _ID)]
    if scenario is not None:
        fixes = " ".join(f"{fix.id} {fix.title}" for fix in scenario.fixes)
        texts += [
            (f"{scenario.kind} {symptom(entry).name} {scenario.source}", _TAG),
            (scenario.claim, _CLAIM),
            (f"{scenario.mechanism} {fixes}", _TEXT),
        ]
    texts.append((_read(entry.path), _CODE))
    return [(_words(text), weight) for text, weight in texts]


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> str:
    return " " + re.sub(r"[\W_]+", " ", text.lower())


@functools.lru_cache(maxsize=256)
def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _stem(word: str) -> str:
    """Return the word without its ending: `grows`, `growing` and `growth` are the same to a search."""
    word = re.sub(r"\W+", " ", word).strip()
    shorter = _ENDINGS.sub("", word)
    return shorter if len(shorter) >= 4 else word
