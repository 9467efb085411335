"""VS Code in a browser: what a user does and sees there. Knows nothing of redraft."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

PATIENCE_MS = 30_000  # for whatever is awaited: the machine may be busy

# Nothing outside this machine is looked up, and no window is shown.
FLAGS = (
    *"--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync".split(),
    *"--disable-background-networking --disable-component-update --disable-dev-shm-usage".split(),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


@contextmanager
def open_page(browser: Path) -> Iterator[Page]:
    """Open an empty page in a browser."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE_MS)
        yield page
        chromium.close()


class Workbench:
    """The page of VS Code with `folder` open."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.input = page.locator(".quick-input-widget input[type=text]:visible")
        self.offered = page.locator(".quick-input-list .monaco-list-row")
        self.messages = page.locator(".notification-list-item-message")
        self.tabs = page.locator(".tab")
        self.unsaved = page.locator(".tab.dirty")

    def go_to(self, url: str) -> None:
        self.page.goto(url)
        expect(self.page.locator(".explorer-folders-view")).to_be_visible()

    # What a user does

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def command(self, title: str) -> None:
        """Run a command through the palette."""
        expect(self.input).to_be_hidden()
        self.press("F1")
        self.input.fill(f">{title}")
        self._pick(title)

    def submit(self, text: str) -> None:
        """Fill the box that asks for something, and confirm."""
        self.input.fill(text)
        self.press("Enter")

    def open(self, name: str, content: str) -> Path:
        """Write a file into the folder and open it."""
        file = self.folder / name
        file.write_bytes(content.encode())
        self.press("ControlOrMeta+p")
        self.input.fill(str(file))
        self._pick(name)
        self._wait_for(name)
        return file

    def switch_to(self, file: Path) -> None:
        """Bring an open file to the front."""
        self.page.get_by_role("tab", name=file.name, exact=True).click()
        self._wait_for(file.name)

    def select(self, text: str) -> None:
        """Select `text`, which the file has once, in one line."""
        self.press("ControlOrMeta+f")
        self.page.locator(".find-widget.visible textarea").first.fill(text)
        self.press("Enter")
        match_count = self.page.locator(".find-widget.visible .matchesCount")
        expect(match_count).to_have_text("1 of 1")
        self.press("Escape")

    def save(self) -> None:
        """Save the file in the active editor."""
        self.press("ControlOrMeta+s")
        expect(self.page.locator(".tab.active.dirty")).to_have_count(0)

    def save_and_expect(self, file: Path, text: str) -> None:
        """Save the file in the active editor; expect exactly `text` in it, line ends included."""
        self.save()
        wait_until(lambda: file.read_bytes() == text.encode())
        assert file.read_bytes().decode() == text

    def close_all(self) -> None:
        """Close every editor, unsaved ones too, and every message."""
        self.press("Escape")
        while n_tabs := self.tabs.count():
            self.command("View: Revert and Close Editor")
            expect(self.tabs).not_to_have_count(n_tabs)
        self.command("Notifications: Clear All Notifications")

    # What a user sees

    def expect_cursor_in(self, line: int) -> None:
        """Wait until the cursor of the active editor is in `line`, counted from 1."""
        place = self.page.locator('[id="status.editor.selection"]')
        expect(place).to_contain_text(f"Ln {line},")

    def expect_status(self, text: str) -> None:
        """Wait until the status bar contains `text`."""
        expect(self.page.locator(".statusbar")).to_contain_text(text)

    def expect_message(self, text: str) -> None:
        """Wait for a message that contains `text`."""
        expect(self.messages.filter(has_text=text).first).to_be_visible()

    def _wait_for(self, name: str) -> None:
        """Wait until the cursor is in the file `name` itself, not in a diff of it."""
        expect(self.page.get_by_role("tab", name=name, exact=True, selected=True)).to_be_visible()
        diff = "modified-in-monaco-diff-editor"
        expect(self.page.locator(f".monaco-editor.focused:not(.{diff})")).to_be_visible()

    def _pick(self, title: str) -> None:
        """Take the first of the offered items once it is the one with `title`."""
        expect(self.offered.first).to_contain_text(title)
        self.press("Enter")


def wait_until(condition: Callable[[], bool]) -> bool:
    """Return True once `condition` is true, or False when that takes too long."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not (is_true := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_true
