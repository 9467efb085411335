"""redraft in VS Code, as a user meets it: how to ask for an edit, and where its preview is."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Locator, Page, expect
from tests.editors.tools import VSCode
from tests.editors.vscode.server import Server, run_server
from tests.editors.vscode.workbench import Workbench, open_page


@contextmanager
def open_redraft(
    vscode: VSCode, browser: Path, *, vsix: Path, settings: dict[str, Any], home: Path
) -> Iterator["Redraft"]:
    """Open VS Code with the extension and an empty folder, all of it in `home`."""
    folder = home / "project"
    folder.mkdir()
    with (
        run_server(vscode, vsix=vsix, settings=settings, home=home) as server,
        open_page(browser) as page,
    ):
        redraft = Redraft(page, folder, server)
        redraft.go_to(server.build_url(folder))
        expect(redraft.status).to_be_visible()
        yield redraft


class Redraft(Workbench):
    """A workbench in which the extension has started."""

    def __init__(self, page: Page, folder: Path, server: Server) -> None:
        super().__init__(page, folder)
        self.server = server
        self.status = page.locator('.statusbar-item[id^="redraft.redraft"]')
        self.previews = page.locator(".tab", has_text="↔ redraft:")
        self.preview = page.locator(".tab.active", has_text="↔ redraft:")
        self.proposed = page.locator(".editor.modified .view-lines")

    @property
    def is_waiting(self) -> bool:
        """Whether a change waits for a decision."""
        return "review" in self.status.inner_text()

    def edit(self, instruction: str) -> None:
        """Ask for a change of what is selected, or of the function around the cursor."""
        self.command("redraft: Edit Function or Selection...")
        self.submit(instruction)

    def expect_preview(self, new: str) -> None:
        """Wait for a preview that has `new` in one of its lines."""
        expect(self.preview).to_be_visible()
        expect(self.proposed).to_contain_text(new)
        self.expect_status("redraft: review")  # from then on the keys work, too

    def show_preview(self, new: str, way: str = "palette") -> None:
        """Have the preview shown that is ready and did not open by itself."""
        self.expect_message("is ready")
        expect(self.previews).to_have_count(0)
        match way:
            case "palette":
                self.command("redraft: Show Change")
            case "keys":
                self.press("ControlOrMeta+k", "Shift+x")
            case "message":
                self.page.get_by_role("button", name="Show Change").click()
        self.expect_preview(new)

    def accept(self, way: str = "palette") -> None:
        self._decide("Accept Change", "ControlOrMeta+Enter", way)
        self.expect_status("redraft: applied")

    def reject(self, way: str = "palette") -> None:
        self._decide("Reject Change", "ControlOrMeta+Backspace", way)
        self.expect_status("redraft: rejected")

    def _decide(self, title: str, keys: str, way: str) -> None:
        """Decide about the preview in one of the ways that users have."""
        match way:
            case "palette":
                self.command(f"redraft: {title}")
            case "keys":
                self.press(keys)
            case "button":
                self._button(title).click()
            case "lens":
                lens = self.page.locator(".codelens-decoration a:visible", has_text=title[:6])
                lens.last.click()
            case "closing":
                self.page.locator(".tab.active .tab-actions .action-label").click()

    def _button(self, title: str) -> Locator:
        return self.page.locator(f'.editor-actions [aria-label^="{title}"]')

    def cancel(self, way: str) -> None:
        match way:
            case "palette":
                self.command("redraft: Cancel")
            case "button":
                self.page.get_by_role("button", name="Cancel").click()

    def run_code_action(self, title: str) -> None:
        """Take a code action at the cursor; the menu is walked with the keyboard."""
        expect(self.page.get_by_role("listbox", name="Show Code Actions")).to_be_visible()
        self.press("ControlOrMeta+.")
        rows = self.page.locator(".action-widget .monaco-list-row.action")
        expect(rows.filter(has_text=title)).to_be_visible()
        for _ in range(rows.count()):
            if title in self.page.locator(".action-widget .focused").inner_text():
                break
            self.press("ArrowDown")
        self.press("Enter")

    @contextmanager
    def with_settings(self, **settings: Any) -> Iterator[None]:
        """Change settings of redraft for a while; `__` in a name stands for a dot."""
        before = self.server.settings.read_text(encoding="utf-8")
        named = {f"redraft.{name.replace('__', '.')}": value for name, value in settings.items()}
        # VS Code has read them when the window has the new title.
        title = f"VS Code with {named}"
        after = json.loads(before) | named | {"window.title": title}
        self.server.settings.write_text(json.dumps(after), encoding="utf-8")
        expect(self.page).to_have_title(title)
        try:
            yield
        finally:
            self.server.settings.write_text(before, encoding="utf-8")
            expect(self.page).not_to_have_title(title)

    def find_servers(self) -> list[psutil.Process]:
        """Return the language servers that VS Code runs."""
        return [
            process
            for process in psutil.Process(self.server.pid).children(recursive=True)
            if _is_language_server(process)
        ]


def _is_language_server(process: psutil.Process) -> bool:
    try:
        return "tests.redraft.lsp.scripted_server" in process.cmdline()
    except psutil.NoSuchProcess:  # it has ended meanwhile
        return False
