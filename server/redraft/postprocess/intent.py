"""Tell by its words what an instruction asks for; code that it quotes has no say.

English only: an instruction in another language counts as one that asks for none of these.
"""

import re

__all__ = ["asks_to_add", "asks_to_fix", "asks_to_lay_out", "asks_to_remove"]

_QUOTED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)

_ADD = re.compile(
    r"\b(?:add|append|insert|includ|put|paste|copy|use|using|call|implement|writ|creat|introduc"
    r"|mov|replac|into)[a-z]*\b",
    re.IGNORECASE,
)
# What code should do, it does not do yet; how it should look, it may look already: "each function
# should have a docstring" is said of those that have one, too.
_DO = (
    r"return|output|print|raise|throw|give|yield|produce|evaluate|accept|reject|ignore|match|skip"
    r"|work"
)
_FIX = re.compile(
    r"\b(?:fix|bugs?|debug|repair|wrong|incorrect|correct|broken|fail(?:s|ed|ing)?"
    rf"|(?:should|(?:supposed|meant|expected) to) (?:(?:not|also|only|never|always) )?(?:{_DO}))\b",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"\b(?:typos?|spelling|comments?|docstrings?|documentation|document|format(?:ting)?|style|lint(?:er)?"
    r"|naming|grammar|wording|imports?|type hints?|annotations?)\b",
    re.IGNORECASE,
)
_LAYOUT = re.compile(
    r"indent|dedent|white ?space|\btabs?\b|\bspaces\b|blank line|line ending", re.IGNORECASE
)
_REMOVE = re.compile(
    r"\b(?:remov|delet|drop|eras|get rid|eliminat|discard|omit|simplif|shorten|inline\b|condens"
    r"|compress|reduc|collaps|merge|dedup|minimi[sz]|one-?line|single line|extract|replace"
    r"|comprehension|(?:clear|empty|strip|cut) (?:out|the|this|all)\b)",
    re.IGNORECASE,
)


def asks_to_add(instruction: str) -> bool:
    """Return True where code that `instruction` quotes may be meant to go into the file."""
    return bool(_ADD.search(_words(instruction)))


def asks_to_fix(instruction: str) -> bool:
    """Return True where `instruction` says that the code does something wrong.

    Then leaving it as it is cannot be right. Wrong words or looks, such as typos in comments, may
    not be there at all.
    """
    words = _words(instruction)
    return bool(_FIX.search(words)) and not _LOOKS.search(words)


def asks_to_lay_out(instruction: str) -> bool:
    """Return True where white space is what `instruction` is about."""
    return bool(_LAYOUT.search(_words(instruction)))


def asks_to_remove(instruction: str) -> bool:
    """Return True where `instruction` speaks of code that goes."""
    return bool(_REMOVE.search(_words(instruction)))


def _words(instruction: str) -> str:
    return _QUOTED.sub("", instruction)
