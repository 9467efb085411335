"""Odd texts in a real Neovim: what is not edited keeps its bytes, and undo gives all of them back."""

import pytest
from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import script

WAVES = '''\
# \U0001f30a 波 waves
LABEL = 'Wavelength (μm)'; RATE = price * qty  # \U0001f4b0 total
\f
def speed(λ, ν):
    """Speed: λ·ν.\u2028Second line."""
    v = λ * ν  # \U0001f4b0\U0001f468‍\U0001f469‍\U0001f467 家
    return v


class 測定:
    def read(self):
\t\tvalue = self.port.read()
\t\tif value:
\t\t\tvalue = value + 1
\t\treturn value
'''

BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module", params=["utf-8", "utf-16", "utf-32"])
def waves(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Vim:
    """A Neovim that lets the server count columns in one way only."""
    capabilities = f"{{ general = {{ positionEncodings = {{ '{request.param}' }} }} }}"
    vim = Vim(
        tmp_path_factory.mktemp("nvim"),
        config=f"vim.lsp.config('redraft', {{ capabilities = {capabilities} }})\n"
        "vim.lsp.enable('redraft')\nvim.g.redraft = { preview = 'none' }",
    )
    yield vim
    vim.close()


@pytest.mark.parametrize(
    ("at", "sub"),
    [
        ("λ * ν", ["λ * ν", "λ * ν * 2"]),
        ("\U0001f4b0\U0001f468", ["家", "\U0001f30a家\U0001f30a"]),
        ("value + 1", ["value + 1", "値 + 2"]),
    ],
    ids=["Greek", "C10: behind emoji", "C10: tabs, in a class with a CJK name"],
)
def test_columns_are_right_in_every_encoding(waves: Vim, at: str, sub: list[str]) -> None:
    waves.nvim.command("silent! %bwipeout!")
    waves.lua("_G.messages = {}")
    path = waves.open(WAVES, "waves.py")
    waves.go_to(at)
    waves.nvim.command(f"Redraft edit {script(sub=sub)}")
    waves.wait_for_message("change")
    assert waves.get_bytes(path) == WAVES.replace(*sub).encode()
    waves.nvim.command("undo")
    assert waves.get_bytes(path) == WAVES.encode()


def test_a_selection_behind_emoji_is_exact_in_every_encoding(waves: Vim) -> None:
    waves.nvim.command("silent! %bwipeout!")
    waves.lua("_G.messages = {}")
    path = waves.open(WAVES, "waves.py")
    waves.go_to("\U0001f468")
    waves.type_keys(f"v/家<CR>:Redraft edit {script(reply='測')}<CR>")
    waves.wait_for_message("change")
    old = WAVES[WAVES.index("\U0001f468") : WAVES.index("家") + 1]
    assert waves.get_bytes(path) == WAVES.replace(old, "測").encode()


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


PLAIN = WAVES.replace("\u2028", " ")
MIXED = "".join(
    line + ("\r\n" if n % 2 else "\n")
    for n, line in enumerate(PLAIN.removesuffix("\n").split("\n"))
)


@pytest.mark.parametrize(
    "content",
    [
        WAVES.encode(),
        crlf(WAVES),
        WAVES.replace("\n", "\r").encode(),
        MIXED.encode(),
        WAVES.removesuffix("\n").encode(),
        crlf(WAVES).removesuffix(b"\r\n"),
        BOM + WAVES.encode(),
        BOM + crlf(WAVES),
        WAVES.replace("波", "wave").encode("utf-16"),
        WAVES.replace("家", "\0").encode(),
    ],
    ids=[
        "LF",
        "C09: CRLF",
        "C09: CR",
        "C09: mixed",
        "no final newline",
        "CRLF without a final one",
        "BOM",
        "BOM and CRLF",
        "UTF-16 on disk",
        "a NUL",
    ],
)
@pytest.mark.parametrize("scope", ["Redraft edit", "Redraft file"])
def test_c09_an_edit_changes_the_bytes_it_means_and_no_others(
    vim: Vim, content: bytes, scope: str
) -> None:
    vim.lua("vim.g.redraft = { preview = 'none' }")
    if content.startswith(b"\xff\xfe"):
        encode = lambda text: text.encode("utf-16-le")  # noqa: E731
    else:
        encode = lambda text: text.encode()  # noqa: E731
    if b"\r" in content and b"\n" not in content:
        vim.nvim.command("set fileformats=unix,dos,mac")
    path = vim.open(content, "waves.py")
    vim.nvim.command("set fileformats&")
    vim.go_to("value + 1")
    vim.nvim.command(f"{scope} {script(sub=['value + 1', 'value + 2'])}")
    vim.wait_for_message("change")
    assert vim.get_bytes(path) == content.replace(encode("value + 1"), encode("value + 2"))
    vim.nvim.command("undo")
    assert vim.get_bytes(path) == content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            crlf(WAVES),
            crlf(WAVES.replace("    return v\n", "    # one\n    # two\n    return v\n")),
        ),
        (
            MIXED.encode(),
            MIXED.replace("    return v\n", "    # one\r\n    # two\r\n    return v\n").encode(),
        ),
    ],
    ids=["CRLF", "mixed, after CRLF"],
)
def test_c09_new_lines_end_as_their_neighbours(vim: Vim, content: bytes, expected: bytes) -> None:
    vim.lua("vim.g.redraft = { preview = 'none' }")
    path = vim.open(content, "waves.py")
    vim.go_to("λ * ν")
    sub = ["    return v", "    # one\n    # two\n    return v"]
    vim.nvim.command(f"Redraft edit {script(sub=sub)}")
    vim.wait_for_message("change")
    assert vim.get_bytes(path) == expected
    vim.nvim.command("undo")
    assert vim.get_bytes(path) == content


def test_c11_the_servers_copy_is_the_buffer_after_changes_below_odd_lines(vim: Vim) -> None:
    path = vim.open("a\x0cb\x0bc\x85d\u2028e\u2029f\n\n" + WAVES, "odd.py")
    server = """(function(uri)
      local client = vim.lsp.get_clients({ name = "redraft" })[1]
      local answer = client:request_sync("test/document", { uri = uri }, 2000,
        vim.api.nvim_get_current_buf())
      return answer.result.text
    end)(...)"""
    for keys in (
        "Gonew<Esc>",
        "ggx",
        "/speed<CR>cwpace<Esc>",
        "/λ<CR>x",
        "u",
        "Gdd",
        ":%s/v/w/g<CR>",
    ):
        vim.type_keys(keys)
        vim.wait_for("vim.api.nvim_get_mode().mode == 'n'")
        text = "\n".join(vim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")) + "\n"
        assert vim.wait_for(server, path.as_uri()) == text
