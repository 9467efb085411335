"""The code cells of a Jupyter notebook, in the tree of its JSON.

Knows nothing of outputs and prose. What IPython adds to Python (`%time`, `!ls`, `name?`) is taken
out of the code: no grammar knows it.
"""

import json
import re
from collections.abc import Iterator

from tree_sitter import Node

from redraft.syntax.languages import LANGUAGES

__all__ = ["code_cells"]

_MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)


def code_cells(root: Node, data: bytes) -> Iterator[tuple[Node, str, str]]:
    """Yield for each code cell the node of its source, the code and its language.

    Cells in a language that is none of ours are left out, as is all of a notebook that names none.
    """
    notebook = next(iter(root.named_children), None)
    if notebook is None or notebook.type != "object":
        return
    members = _members(notebook, data)
    language = _kernel_language(members.get("metadata"), data)
    cells = members.get("cells")
    if language is None or cells is None:
        return
    for cell in cells.named_children:
        fields = _members(cell, data)
        kind, source = fields.get("cell_type"), fields.get("source")
        if kind is None or source is None or _value(kind, data) != "code":
            continue
        lines = _value(source, data)
        code = "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
        if not code.startswith("%%"):
            yield source, _MAGIC.sub(r"\1pass", code) if language == "python" else code, language


def _kernel_language(metadata: Node | None, data: bytes) -> str | None:
    sections = _members(metadata, data) if metadata else {}
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        if (node := sections.get(section)) and (name := _members(node, data).get(key)):
            language = str(_value(name, data)).lower()
            return language if language in LANGUAGES else None
    return None


def _members(node: Node, data: bytes) -> dict[str, Node]:
    pairs = [
        (pair.child_by_field_name("key"), pair.child_by_field_name("value"))
        for pair in node.named_children
        if pair.type == "pair"
    ]
    return {str(_value(key, data)): value for key, value in pairs if key and value}


def _value(node: Node, data: bytes) -> object:
    try:
        return json.loads(data[node.start_byte : node.end_byte])
    except ValueError:
        return None
