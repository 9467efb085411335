"""Mistakes of other tools (C02 to C08), seen from Neovim: the right bytes, or a message."""

import pytest
from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import script

METHOD = """\
class Port:
    def read(self):
        # one
        value = self.port.read()
        if value:
            value = value + 1
        self.count += 1
        self.last = value
        return value
"""
MANY = "".join(
    f"{METHOD.replace('Port', f'Port{n}').replace('# one', f'# {n}')}\n\n" for n in range(30)
)
MARKDOWN = "# Build\n\n```sh\nmake\n```\n\nSome text.\n\n```sh\nmake test\n```\n\nThe end.\n"
BODY = METHOD.partition("\n")[2]
DEDENTED = "\n".join(line[4:] for line in BODY.replace("+ 1\n", "+ 2\n", 1).split("\n"))


@pytest.mark.parametrize(
    ("text", "at", "reply", "expected"),
    [
        (MANY, "# 17", script(sub=["# 17", "# seventeen"]), MANY.replace("# 17", "# seventeen")),
        (
            METHOD,
            "# one",
            script(reply="    def read(self):\n        return 1\n```\n"),
            "delet|leave",
        ),
        (
            METHOD,
            "# one",
            script(
                reply="<|im_start|>assistant\nHere is the updated method:\n\n```python\n"
                + BODY.replace("# one", "# two")
                + "```\n\nThis changes the comment.<|im_end|>\n"
            ),
            "leave|parse",
        ),
        (METHOD, "# one", script(reply=f"{DEDENTED}```\n"), METHOD.replace("+ 1\n", "+ 2\n", 1)),
        (MARKDOWN, "Some", script(sub=["Some", "More"]), MARKDOWN.replace("Some", "More")),
        (
            METHOD,
            "# one",
            script(
                reply="    def read(self):\n        # ... rest of the code unchanged ...\n```\n"
            ),
            "left|rest|leave|elid|changes",
        ),
        (METHOD, "# one", script(reply=BODY.replace("\n", "  \n") + "```\n"), "no changes"),
    ],
    ids=[
        "C02: only the one method is edited",
        "C02: a reply that deletes most is refused",
        "C03: tags, fences and talk stay out: here by a refusal",
        "C04: a dedented reply is indented again",
        "C05: inner fences are text",
        "C07: an elided reply is refused or restored",
        "C08: spaces at line ends are no changes",
    ],
)
def test_the_bytes_are_right_or_the_reason_is_said(
    vim: Vim, text: str, at: str, reply: str, expected: str
) -> None:
    vim.lua("vim.g.redraft = { preview = 'none' }")
    is_markdown = text is MARKDOWN
    path = vim.open(text, "case.md" if is_markdown else "case.py")
    vim.go_to(at)
    vim.nvim.command(f"Redraft {'file' if is_markdown else 'edit'} {reply}")
    vim.wait_for("#messages > 0")
    if "\n" in expected:
        assert vim.get_bytes(path) == expected.encode(), vim.get_messages()
        vim.nvim.command("undo")
    else:
        assert any(word in vim.get_messages()[0] for word in expected.split("|")), (
            vim.get_messages()
        )
    assert vim.get_bytes(path) == text.encode()
