"""The extension in the real VS Code, with a script in the model's place: what is asked for is what
the script answers, so every byte is known.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.editors.program import scripted_redraft
from tests.editors.tools import VSCode
from tests.editors.vscode.extension import Redraft, open_redraft
from tests.editors.vscode.workbench import wait_until
from tests.redraft.lsp.conftest import (
    AREA,
    AREA_LOSS,
    AREA_LOST,
    AREA_NEW,
    AREA_REPLY,
    SHOP,
    script,
)

# Keys are pressed as a user presses them, who looks and presses again: on a busy machine the
# workbench now and then loses one. What the extension does wrong, it does each time.
pytestmark = pytest.mark.flaky(reruns=3)

TOTAL = script(sub=["amount", "total_cost"])
TOTALLED = SHOP.replace("amount", "total_cost")

SETTINGS = {
    "debug.allowBreakpointsEverywhere": True,
    "diffEditor.codeLens": True,
    "editor.unusualLineTerminators": "off",
    "redraft.maxTokens": 10_000,  # the script's tokens are shorter than it says
    "redraft.actions": {
        "mark": {"title": "Mark the sum", "instruction": TOTAL, "scope": "function"},
        "fix": {"instruction": script(sub=[": 1,", ": 1"])},
    },
}


@pytest.fixture(scope="module")
def shared(
    browser: Path, vscode: VSCode, vsix: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Redraft]:
    home = tmp_path_factory.mktemp("vscode")
    path = {"redraft.server.path": str(scripted_redraft(home))}
    with open_redraft(vscode, browser, vsix=vsix, settings=SETTINGS | path, home=home) as redraft:
        yield redraft


@pytest.fixture
def redraft(shared: Redraft, tmp_path: Path) -> Iterator[Redraft]:
    """One VS Code; what earlier tests left open is closed, and the last look is kept in `tmp_path`."""
    shared.close_all()
    while shared.is_waiting:
        shared.command("redraft: Reject Change")
        expect(shared.tabs).to_have_count(1)
        shared.close_all()
    yield shared
    shared.page.screenshot(path=tmp_path / "end.png")


def open_at(redraft: Redraft, name: str, text: str, place: str) -> Path:
    """Open a file, put the cursor before `place` and return its path."""
    file = redraft.open(name, text)
    redraft.select(place)
    redraft.press("ArrowLeft")
    return file


def open_preview(redraft: Redraft) -> Path:
    """Open SHOP with the preview of what TOTAL asks for; return its path."""
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(TOTAL)
    redraft.expect_preview("total_cost = 0")
    return file


def expect_untouched(redraft: Redraft, file: Path) -> None:
    """Expect no preview, and SHOP as it was, in the editor and on the disk."""
    expect(redraft.previews).to_have_count(0)
    expect(redraft.unsaved).to_have_count(0)
    assert file.read_bytes() == SHOP.encode()


@pytest.mark.parametrize("way", ["palette", "keys", "button", "lens"])
def test_a_change_is_previewed_accepted_and_undone_at_once(redraft: Redraft, way: str):
    file = open_preview(redraft)
    assert file.read_bytes() == SHOP.encode()
    redraft.accept(way)
    redraft.save_and_expect(file, TOTALLED)
    redraft.press("ControlOrMeta+z")
    redraft.save_and_expect(file, SHOP)


def test_a_change_with_imports_is_one_undo(redraft: Redraft):
    file = open_at(redraft, "area.py", AREA, "3.14")
    redraft.edit(script(reply=f"{AREA_REPLY}```\n"))
    redraft.expect_preview("math.pi")
    redraft.accept()
    redraft.save_and_expect(file, AREA_NEW)
    redraft.press("ControlOrMeta+z")
    redraft.save_and_expect(file, AREA)


def test_what_is_typed_meanwhile_moves_the_imports_along(redraft: Redraft):
    file = open_at(redraft, "area.py", AREA, "3.14")
    redraft.edit(script(reply=f"{AREA_REPLY}```\n", token_s=0.05))
    redraft.expect_message("tokens/s")
    redraft.press("ControlOrMeta+Home")
    redraft.page.keyboard.type("# mine\n")
    redraft.show_preview("math.pi")
    redraft.accept()
    redraft.save_and_expect(file, "# mine\n" + AREA_NEW)


@pytest.mark.parametrize("preview", ["diff", "apply"])
def test_a_refused_change_is_shown_before_it_is_applied_anyway(redraft: Redraft, preview: str):
    with redraft.with_settings(preview=preview):
        file = open_at(redraft, "area.py", AREA, "3.14")
        redraft.edit(script(reply=f"{AREA_LOSS}```\n"))
        redraft.expect_message("circle.check()")
        redraft.page.get_by_role("button", name="Apply Anyway...").click()
        redraft.expect_preview("3.1416")
        assert file.read_bytes() == AREA.encode()
        redraft.accept()
        redraft.save_and_expect(file, AREA_LOST)
        redraft.press("ControlOrMeta+z")
        redraft.save_and_expect(file, AREA)


def test_a_refused_change_that_is_looked_at_can_be_rejected(redraft: Redraft):
    file = open_at(redraft, "area.py", AREA, "3.14")
    redraft.edit(script(reply=f"{AREA_LOSS}```\n"))
    redraft.page.get_by_role("button", name="Apply Anyway...").click()
    redraft.expect_preview("3.1416")
    redraft.reject()
    expect(redraft.previews).to_have_count(0)
    expect(redraft.unsaved).to_have_count(0)
    assert file.read_bytes() == AREA.encode()


def test_lines_that_do_not_fit_a_change_are_listed(redraft: Redraft):
    open_at(redraft, "shop.py", SHOP + "\n\nprint(total([]))\nprint(total)\n", "for item")
    redraft.edit(script(sub=["def total(items", "def sum_up(items"]))
    redraft.expect_preview("def sum_up")
    redraft.accept()
    redraft.expect_message("2 lines of shop.py still use the old total.")
    redraft.page.get_by_role("button", name="Show Lines").click()
    references = redraft.page.locator(".reference-zone-widget")
    expect(references).to_be_visible()
    expect(references.locator(".monaco-list-row", has_text="print(total")).to_have_count(2)
    redraft.press("Escape")


def test_a_change_can_be_accepted_in_the_file_itself(redraft: Redraft):
    file = open_preview(redraft)
    redraft.switch_to(file)
    redraft.accept("lens")
    redraft.save_and_expect(file, TOTALLED)


def test_the_keys_ask_and_former_instructions_come_back(redraft: Redraft):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.press("ControlOrMeta+k", "x")
    redraft.submit(TOTAL)
    redraft.expect_preview("total_cost = 0")
    redraft.reject()
    redraft.press("ControlOrMeta+k", "x")
    expect(redraft.input).to_be_focused()
    redraft.press("ArrowUp")
    expect(redraft.input).to_have_value(TOTAL)
    redraft.press("Enter")
    redraft.expect_preview("total_cost = 0")
    redraft.accept()
    redraft.save_and_expect(file, TOTALLED)


def test_the_box_names_what_will_be_edited_and_it_is_highlighted(redraft: Redraft):
    open_at(redraft, "shop.py", SHOP, "for item")
    redraft.press("ControlOrMeta+k", "x")
    title = redraft.page.locator(".quick-input-title")
    expect(title).to_have_text("redraft: Edit function total")
    highlighted = redraft.page.locator(".view-overlays [class*=ced-]:visible")
    expect(highlighted).to_have_count(5)  # the lines of the function
    redraft.press("Escape")
    expect(highlighted).to_have_count(0)


@pytest.mark.parametrize("way", ["keys", "button"])
def test_an_instruction_may_have_several_lines(redraft: Redraft, way: str):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.press("ControlOrMeta+k", "x")
    first, last = '{"sub":', ' ["amount", "total_cost"]}'
    redraft.input.fill(first)
    expect(redraft.page.locator(".quick-input-title")).to_have_text("redraft: Edit function total")
    redraft.press("Shift+Enter")
    tab = redraft.page.locator(".tab.active", has_text="Instruction.md")
    expect(tab).to_be_visible()
    redraft.expect_status("Ln 1, Col 8")  # behind what was typed before
    redraft.press("Enter")
    redraft.page.keyboard.type(last)
    if way == "keys":
        redraft.press("ControlOrMeta+Enter")
    else:
        redraft.page.locator('.editor-actions [aria-label^="Send Instruction"]').click()
    redraft.expect_preview("total_cost = 0")
    expect(redraft.page.locator(".tab", has_text="Instruction.md")).to_have_count(0)
    redraft.accept()
    redraft.save_and_expect(file, TOTALLED)
    redraft.press("ControlOrMeta+k", "x")
    expect(redraft.input).to_be_focused()
    redraft.press("ArrowUp")
    expect(redraft.input).to_have_value(f"{first} ⏎ {last}")
    redraft.press("Escape")


def test_an_instruction_of_several_lines_can_be_given_up(redraft: Redraft):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.press("ControlOrMeta+k", "x")
    redraft.input.fill("rename")
    redraft.press("Shift+Enter")
    tab = redraft.page.locator(".tab.active", has_text="Instruction.md")
    tab.locator(".tab-actions .action-label").click()
    expect(redraft.input).to_have_value("rename")
    redraft.press("Escape")
    expect_untouched(redraft, file)


def test_outside_of_functions_the_place_is_chosen_before_the_instruction(redraft: Redraft):
    text = "import os\n\nname = os.name\nprint(name)\n"
    file = open_at(redraft, "script.py", text, "print")
    redraft.press("ControlOrMeta+k", "x")
    expect(redraft.offered).to_contain_text(["line 4", "lines 3-4", "the whole file"])
    redraft.press("ArrowDown", "Enter")
    title = redraft.page.locator(".quick-input-title")
    expect(title).to_have_text("redraft: Edit lines 3-4")
    redraft.submit(script(sub=["name", "system"]))
    redraft.expect_preview("print(system)")
    redraft.accept()
    redraft.save_and_expect(file, "import os\n\nsystem = os.system\nprint(system)\n")


@pytest.mark.parametrize("way", ["palette", "keys", "button", "lens", "closing"])
def test_a_rejected_change_leaves_the_file_alone(redraft: Redraft, way: str):
    file = open_preview(redraft)
    redraft.reject(way)
    expect_untouched(redraft, file)


def test_retry_starts_from_the_instruction_and_replaces_the_preview(redraft: Redraft):
    file = open_preview(redraft)
    redraft.command("redraft: Retry with Another Instruction...")
    expect(redraft.input).to_have_value(TOTAL)
    redraft.submit(script(sub=["amount", "price_sum"]))
    redraft.expect_preview("price_sum = 0")
    redraft.accept()
    redraft.save_and_expect(file, SHOP.replace("amount", "price_sum"))


def test_exactly_the_selection_changes_after_wide_characters(redraft: Redraft):
    text = "\ufeff# \U0001f30a 波\r\ndef 合計():\r\n\tx = '\U0001f4b0'; y = 値 * 量  \r\n\treturn 値\r\n"
    file = redraft.open("waves.py", text)
    redraft.select("値 * 量")
    redraft.edit(script(sub=["値", "'\U0001f30a波'"]))
    redraft.expect_preview("'\U0001f30a波' * 量")
    redraft.accept()
    redraft.save_and_expect(file, text.replace("値 *", "'\U0001f30a波' *"))
    redraft.press("ControlOrMeta+z")
    redraft.save_and_expect(file, text)


def test_cursor_breakpoint_and_fold_stay_where_their_code_is(redraft: Redraft):
    open_at(redraft, "stop.py", SHOP, "class Cart")
    redraft.press("ControlOrMeta+Shift+BracketLeft")
    folded = redraft.page.locator(".codicon-folding-collapsed:visible")
    # VS Code folds once it has found the regions, wherever the cursor is by then.
    expect(folded).to_have_count(1)
    redraft.select("return amount")
    redraft.press("ArrowLeft", "F9")
    redraft.expect_cursor_in(8)
    redraft.edit(script(sub=["amount = 0", "amount = 0\n    count = 0"]))
    redraft.expect_preview("count = 0")
    redraft.accept()
    redraft.expect_cursor_in(9)
    number = redraft.page.locator(".line-numbers:visible").get_by_text("9", exact=True)
    stop = redraft.page.locator(".codicon-debug-breakpoint:visible")
    assert stop.bounding_box()["y"] == number.bounding_box()["y"]
    expect(folded).to_have_count(1)


def test_four_hundred_changed_lines_are_one_undo(redraft: Redraft):
    lines = "".join(f"    value = step(value, {n})\n" for n in range(400))
    text = f"def run(value):\n{lines}    return value\n"
    file = open_at(redraft, "long.py", text, "return")
    redraft.edit(script(sub=["step(", "move("]))
    redraft.expect_preview("value = move(value, 0)")
    redraft.accept()
    redraft.save_and_expect(file, text.replace("step(", "move("))
    redraft.press("ControlOrMeta+z")
    redraft.save_and_expect(file, text)


@pytest.mark.parametrize("way", ["palette", "button"])
def test_cancel_stops_the_model_and_the_next_edit_works(redraft: Redraft, way: str):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(script(sub=["amount", "slow"], token_s=0.5))
    redraft.expect_message("tokens/s")
    redraft.cancel(way)
    redraft.expect_status("redraft: cancelled")
    expect_untouched(redraft, file)
    redraft.edit(TOTAL)
    redraft.expect_preview("total_cost = 0")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param({"reply": "def total(items:\n```\n"}, "no longer parse", id="broken code"),
        pytest.param({"sub": ["amount", "amount"]}, "no changes", id="the same code"),
    ],
)
def test_what_is_no_edit_says_why_and_offers_another_try(
    redraft: Redraft, answer: dict[str, Any], message: str
):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(script(**answer))
    redraft.expect_message(message)
    expect_untouched(redraft, file)
    redraft.page.get_by_role("button", name="Retry...").click()
    redraft.submit(TOTAL)
    redraft.expect_preview("total_cost = 0")


def test_where_nothing_changed_another_version_can_be_had(redraft: Redraft):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(script(nearly=["amount", "total_cost"]))
    redraft.expect_message("no changes")
    expect_untouched(redraft, file)
    redraft.page.get_by_role("button", name="Another Version").click()
    redraft.expect_preview("total_cost = 0")


def test_a_failure_is_shown_and_changes_nothing(redraft: Redraft):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(script(fail="llama.cpp refused a pass"))
    redraft.expect_message("llama.cpp refused a pass")
    expect_untouched(redraft, file)


def test_a_preview_moves_with_changes_elsewhere_in_the_file(redraft: Redraft):
    file = open_preview(redraft)
    redraft.switch_to(file)
    redraft.press("ControlOrMeta+Home")
    redraft.page.keyboard.type("# mine\n")
    redraft.command("redraft: Show Change")
    expect(redraft.proposed).to_contain_text("# mine")
    redraft.accept("keys")
    redraft.save_and_expect(file, "# mine\n" + TOTALLED)


def test_several_changes_of_a_file_wait_each_at_its_own_function(redraft: Redraft):
    text = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(3))
    file = redraft.open("functions.py", text)
    for n in range(3):
        redraft.select(f"return {n}")
        redraft.press("ArrowLeft")
        redraft.edit(script(sub=["return", f"return  {n} +"], prefill_s=2.0 if n < 2 else 0.0))
    redraft.expect_preview("return  2 + 2")
    redraft.accept()
    expect(redraft.unsaved).to_have_count(1)
    redraft.save_and_expect(file, text := text.replace("return 2", "return  2 + 2"))
    for n in (0, 1):
        redraft.select(f"return {n}")
        redraft.command("redraft: Show Change")
        redraft.expect_preview(f"return  {n} + {n}")
        redraft.accept("keys")
        expect(redraft.unsaved).to_have_count(1)
        redraft.save_and_expect(file, text := text.replace(f"return {n}", f"return  {n} + {n}"))


def test_code_that_was_changed_during_the_preview_is_not_overwritten(redraft: Redraft):
    file = open_preview(redraft)
    redraft.switch_to(file)
    redraft.press("ControlOrMeta+Home", *["ArrowDown"] * 4, "End")
    redraft.page.keyboard.type(".5")
    redraft.command("redraft: Accept Change")
    redraft.expect_message("was changed since the preview")
    redraft.switch_to(file)
    redraft.save_and_expect(file, SHOP.replace("amount = 0", "amount = 0.5"))


@pytest.mark.parametrize("way", ["palette", "keys", "message"])
def test_a_preview_takes_no_key_from_a_user_who_went_on(redraft: Redraft, way: str):
    notes = redraft.open("notes.txt", "one\n")
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(script(sub=["amount", "total_cost"], token_s=0.03))
    redraft.expect_message("tokens/s")
    redraft.switch_to(notes)
    redraft.press("ControlOrMeta+Home")
    redraft.page.keyboard.type("zero ")
    redraft.expect_message("the change of shop.py is ready")
    redraft.expect_status("redraft: review")
    redraft.press("ControlOrMeta+Enter")  # a line below, and no acceptance
    redraft.page.keyboard.type("two")
    redraft.save_and_expect(notes, "zero one\ntwo\n")
    assert file.read_bytes() == SHOP.encode()
    redraft.show_preview("total_cost = 0", way)
    redraft.accept("keys")
    redraft.save_and_expect(file, TOTALLED)


def test_what_is_typed_while_the_model_writes_moves_the_change_along(redraft: Redraft):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(script(sub=["amount", "total_cost"], token_s=0.05))
    redraft.expect_message("tokens/s")
    redraft.press("ControlOrMeta+Home")
    redraft.page.keyboard.type("# mine\n")
    redraft.show_preview("total_cost = 0")
    redraft.accept()
    redraft.save_and_expect(file, "# mine\n" + TOTALLED)


# Letters arrive; arrow and Enter keys are lost here in about every second run, so that the saved file
# is not what was meant to be typed. Server and Neovim have tests of the same that lose nothing.
@pytest.mark.xfail(reason="the workbench loses keys in a file with odd line breaks", strict=False)
def test_what_is_typed_below_odd_line_breaks_shifts_nothing(redraft: Redraft):
    text = "# a\x0cb\x85c\u2028d\n\x0c\n" + SHOP
    file = open_at(redraft, "odd.py", text, "for item")
    redraft.page.keyboard.type("# mine\n    ")
    redraft.edit(TOTAL)
    redraft.expect_preview("total_cost = 0")
    redraft.accept()
    expected = TOTALLED.replace("    for item", "    # mine\n    for item")
    redraft.save_and_expect(file, text.replace(SHOP, expected))


def test_without_preview_the_change_is_applied_at_once(redraft: Redraft):
    with redraft.with_settings(preview="apply"):
        file = open_at(redraft, "shop.py", SHOP, "for item")
        redraft.edit(TOTAL)
        expect(redraft.unsaved).to_have_count(1)
        redraft.save_and_expect(file, TOTALLED)
        redraft.press("ControlOrMeta+z")
        redraft.save_and_expect(file, SHOP)


def test_the_preview_may_be_the_one_of_vs_code(redraft: Redraft):
    with redraft.with_settings(preview="refactorPreview"):
        file = open_at(redraft, "shop.py", SHOP, "for item")
        redraft.edit(TOTAL)
        panel = redraft.page.locator("#refactorPreview")
        panel.locator(".monaco-checkbox").first.click()
        assert file.read_bytes() == SHOP.encode()
        panel.get_by_role("button", name="Apply").click()
        expect(redraft.unsaved).to_have_count(1)
        redraft.save_and_expect(file, TOTALLED)


def test_a_missing_server_is_named_until_it_is_there(redraft: Redraft):
    open_at(redraft, "shop.py", SHOP, "for item")
    warning = redraft.status.locator(".codicon-warning")
    with redraft.with_settings(server__path="/nowhere/redraft"):
        expect(warning).to_be_visible()
        redraft.command("redraft: Edit Function or Selection...")
        redraft.expect_message("/nowhere/redraft, which is no program")
    expect(warning).to_have_count(0)
    redraft.edit(TOTAL)
    redraft.expect_preview("total_cost = 0")


def test_a_missing_model_is_offered_and_fetched(redraft: Redraft):
    model = redraft.folder.parent / "model"
    model.unlink()
    redraft.command("redraft: Restart Server")
    open_at(redraft, "shop.py", SHOP, "for item")
    redraft.edit(TOTAL)
    redraft.expect_message("is not on this machine. Download it?")
    redraft.page.get_by_role("button", name="Download").click()
    redraft.expect_preview("total_cost = 0")
    assert model.exists()


def test_a_killed_server_comes_back_by_itself(redraft: Redraft):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    [server] = redraft.find_servers()
    server.kill()
    assert wait_until(lambda: redraft.find_servers() not in ([], [server]))
    redraft.edit(TOTAL)
    redraft.expect_preview("total_cost = 0")
    redraft.accept()
    redraft.save_and_expect(file, TOTALLED)


def test_a_saved_action_is_in_the_code_action_menu_and_previewed(redraft: Redraft):
    file = open_at(redraft, "shop.py", SHOP, "for item")
    redraft.run_code_action("Mark the sum")
    redraft.expect_preview("total_cost = 0")
    redraft.accept()
    redraft.save_and_expect(file, TOTALLED)


def test_the_context_menu_edits_the_function(redraft: Redraft):
    redraft.open("shop.py", SHOP)
    redraft.page.locator(".view-line", has_text="item.price").click(button="right")
    redraft.page.get_by_role("menuitem", name="Edit Function with redraft").hover()
    redraft.press("Enter")
    redraft.submit(TOTAL)
    redraft.expect_preview("total_cost = 0")


def test_the_code_action_menu_asks_for_an_instruction(redraft: Redraft):
    open_at(redraft, "shop.py", SHOP, "for item")
    redraft.run_code_action("Edit with instruction...")
    redraft.submit(TOTAL)
    redraft.expect_preview("total_cost = 0")


def test_a_problem_is_fixed_from_the_code_action_menu(redraft: Redraft):
    file = open_at(redraft, "data.json", '{\n  "a": 1,\n}\n', ",")
    expect(redraft.page.locator(".squiggly-error").first).to_be_visible()
    redraft.run_code_action("Fix this problem")
    redraft.expect_preview('"a": 1')
    redraft.accept()
    redraft.save_and_expect(file, '{\n  "a": 1\n}\n')
