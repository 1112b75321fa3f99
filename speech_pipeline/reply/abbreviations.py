"""Abbreviations of English, French and Spanish: how they are read, and which periods of theirs end no sentence.

Scripts without spaces have next to none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Abbreviations:
    """What the abbreviations of one language are read as.

    Attributes:
        titles: stand before a name.
        numbered: stand before a number.
        linking: stand in the middle of a sentence.
        closing: may stand at its end too.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    numbered: Mapping[str, str] = field(default_factory=dict)
    linking: Mapping[str, str] = field(default_factory=dict)
    closing: Mapping[str, str] = field(default_factory=dict)


ABBREVIATIONS: Mapping[str, Abbreviations] = MappingProxyType(
    {
        "en": Abbreviations(
            titles={
                "Dr.": "Doctor", "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miss", "Prof.": "Professor",
                "St.": "Saint", "Gen.": "General", "Lt.": "Lieutenant", "Sgt.": "Sergeant", "Capt.": "Captain",
                "Rev.": "Reverend", "Sen.": "Senator", "Gov.": "Governor", "Mt.": "Mount",
            },
            numbered={
                "No.": "number", "no.": "number", "Fig.": "figure", "fig.": "figure", "Vol.": "volume",
                "p.": "page", "pp.": "pages", "ca.": "about",
            },
            linking={
                "e.g.": "for example", "i.e.": "that is", "vs.": "versus", "approx.": "approximately",
                "incl.": "including", "cf.": "compare", "w/": "with",
            },
            closing={
                "etc.": "et cetera", "a.m.": "AM", "p.m.": "PM", "Jr.": "Junior", "Sr.": "Senior", "Ave.": "Avenue",
                "St.": "Street", "Rd.": "Road", "Blvd.": "Boulevard", "max.": "maximum", "min.": "minimum",
                "Inc.": "Incorporated", "Ltd.": "Limited",
            },
        ),
        "fr": Abbreviations(
            titles={
                "M.": "Monsieur", "MM.": "Messieurs", "Mme": "Madame", "Mmes": "Mesdames", "Mlle": "Mademoiselle",
                "Dr": "Docteur", "Dr.": "Docteur", "Pr": "Professeur", "St": "Saint", "Ste": "Sainte",
                "av.": "avenue", "bd": "boulevard",
            },
            numbered={
                "n°": "numéro", "nº": "numéro", "N°": "numéro", "p.": "page", "pp.": "pages", "vol.": "volume",
                "fig.": "figure", "env.": "environ",
            },
            linking={"p. ex.": "par exemple", "p.ex.": "par exemple", "c.-à-d.": "c'est-à-dire", "cf.": "voir"},
            closing={
                "etc.": "et cetera", "av. J.-C.": "avant Jésus-Christ", "apr. J.-C.": "après Jésus-Christ",
                "min.": "minimum", "max.": "maximum",
            },
        ),
        "es": Abbreviations(
            titles={
                "Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Sres.": "señores", "Dr.": "doctor",
                "Dra.": "doctora", "Prof.": "profesor", "D.": "don", "Dña.": "doña", "Av.": "avenida",
                "Avda.": "avenida", "Sto.": "santo", "Sta.": "santa",
            },
            numbered={
                "núm.": "número", "n.º": "número", "nº": "número", "N.º": "número", "pág.": "página",
                "págs.": "páginas", "vol.": "volumen", "fig.": "figura", "aprox.": "aproximadamente",
            },
            linking={"p. ej.": "por ejemplo", "p.ej.": "por ejemplo", "cf.": "véase"},
            closing={
                "etc.": "etcétera", "EE. UU.": "Estados Unidos", "EE.UU.": "Estados Unidos", "Ud.": "usted",
                "Uds.": "ustedes", "a. m.": "de la mañana", "a.m.": "de la mañana", "p. m.": "de la tarde",
                "p.m.": "de la tarde", "a. C.": "antes de Cristo", "d. C.": "después de Cristo", "máx.": "máximo",
                "mín.": "mínimo",
            },
        ),
    }
)  # fmt: skip

_NONE = Abbreviations()
_INITIAL = re.compile(r"(?:^|[\s.(«“\"-])[A-ZÀ-Þ]\.\Z")


def goes_on(text: str, language: str, following: str) -> bool:
    """Whether the period at the end of a text belongs to an abbreviation or an initial, and the sentence goes on.

    Args:
        text: ends with a period.
        language: code.
        following: the next character that is no white space.
    """
    known = ABBREVIATIONS.get(language, _NONE)
    if _INITIAL.search(text) and not _ends_with(text, known.closing):
        return True
    if _ends_with(text, known.numbered):
        return following.isdigit()
    return _ends_with(text, known.titles) or _ends_with(text, known.linking)


def expand_abbreviations(text: str, language: str) -> str:
    """Replace the abbreviations of a language by what they are read as."""
    for pattern, words in _patterns(language):
        text = pattern.sub(words.replace("\\", r"\\"), text)
    return text


def _ends_with(text: str, abbreviations: Mapping[str, str]) -> bool:
    for abbreviation in abbreviations:
        if abbreviation.endswith(".") and text.endswith(abbreviation):
            before = text[: -len(abbreviation)][-1:]
            if not before.isalnum() and before not in (".", "-"):
                return True
    return False


@cache
def _patterns(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of the abbreviations, longest first, each with its words."""
    known = ABBREVIATIONS.get(language, _NONE)
    groups = (
        (known.titles, r"(?=\s+[^\W\d_a-zß-ÿ])"),
        (known.numbered, r"(?=\s*\d)"),
        (known.linking, r"(?!\w)"),
        (known.closing, r"(?!\w)"),
    )
    found = []
    for abbreviations, after in groups:
        for abbreviation, words in abbreviations.items():
            found.append((abbreviation, re.compile(rf"(?<![\w.-]){re.escape(abbreviation)}{after}"), words))
    # A stable sort: a title comes before what else the same letters stand for.
    return tuple((pattern, words) for _, pattern, words in sorted(found, key=lambda item: -len(item[0])))
