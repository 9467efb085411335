"""Edits through the real server process: what is applied, and what is answered instead."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.redraft.lsp.conftest import (
    AREA,
    AREA_LOSS,
    AREA_LOST,
    AREA_NEW,
    AREA_REPLY,
    SHOP,
    script,
)
from tests.redraft.lsp.editor import CAPABILITIES, Editor, OpenDocument, ResponseError

URI = "file:///work/shop.py"
RENAME = script(sub=["amount", "sum_"])
RENAMED = SHOP.replace("amount", "sum_")
SLOW = script(sub=["amount", "sum_"], prefill_s=0.3, token_s=0.005)

pytestmark = pytest.mark.asyncio


def position_of(editor: Editor, document: OpenDocument, part: str) -> dict[str, int]:
    return document.position(document.text.index(part), editor.unit)


def capable(**more: Any) -> dict[str, Any]:
    """The usual capabilities with those of some sections replaced."""
    return CAPABILITIES | {key: CAPABILITIES[key] | value for key, value in more.items()}


async def error_of(answer: "asyncio.Future[Any]") -> ResponseError:
    await asyncio.wait([answer], timeout=30)
    error = answer.exception()
    assert isinstance(error, ResponseError)
    return error


async def test_the_function_around_the_cursor_is_edited_as_one_labelled_edit() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        answer = await editor.edit(document, RENAME, position=position_of(editor, document, "+="))
        assert answer["outcome"] == "applied"
        assert answer["stats"]["outputTokens"] > 0
        assert document.text == RENAMED
        assert await editor.server_text(document) == document.text
        (params,) = editor.applied
        assert params["label"].startswith("redraft: ")
        assert "changeAnnotations" not in params["edit"]
        (change,) = params["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": URI, "version": 1}
    assert editor.code == 0
    assert "amount" not in editor.stderr


async def test_a_preview_returns_the_edit_and_applies_nothing() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        answer = await editor.edit(document, RENAME, scope="file", preview=True)
        assert (answer["outcome"], answer["version"]) == ("preview", 1)
        assert answer["target"] == document.range(0, len(SHOP), editor.unit)
        assert not editor.applied
        (change,) = answer["edit"]["documentChanges"]
        assert change["edits"] == answer["edits"]
        document.apply(answer["edits"], editor.unit)
        assert document.text == RENAMED


async def test_without_wait_the_command_is_answered_before_the_edit_is_made() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        answer = await editor.edit(document, SLOW, scope="file", wait=False)
        assert answer["outcome"] == "started"
        assert not editor.applied
        await editor.until("workspace/applyEdit")
        assert document.text == RENAMED


@pytest.mark.parametrize(
    ("instruction", "kind", "message"),
    [
        (script(fail="the library failed"), 2, "the library failed"),
        (script(bug=True), 2, "internal error"),
    ],
    ids=["failed", "bug"],
)
async def test_without_wait_a_message_says_how_it_ended(
    instruction: str, kind: int, message: str
) -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        await editor.edit(document, instruction, scope="file", wait=False)
        params = await editor.until("window/showMessage")
        assert params["type"] == kind
        assert message in params["message"]


NEARLY = script(nearly=["count", "number"])  # its second choice for the first one


async def test_another_version_is_the_second_choice() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        answer = await editor.edit(document, NEARLY, scope="file")
        assert (answer["outcome"], document.text) == ("unchanged", SHOP)
        answer = await editor.edit(document, NEARLY, scope="file", anotherVersion=True)
        assert answer["outcome"] == "applied"
        assert document.text == SHOP.replace("count", "number")
        assert answer["notes"][-1].startswith("the model first left the code as it is")


@pytest.mark.parametrize("choice", ["Another version", None])
async def test_without_wait_another_version_is_offered(choice: str | None) -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        asked = "window/showMessageRequest"
        editor.on_request[asked] = lambda _: choice and {"title": choice}
        await editor.edit(document, NEARLY, scope="file", wait=False)
        question = await editor.until(asked)
        assert question["message"] == "redraft: no changes"
        if choice:
            await editor.until("workspace/applyEdit")
        assert document.text == (SHOP.replace("count", "number") if choice else SHOP)


async def test_another_version_without_a_second_choice_is_none() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        same = script(sub=["amount", "amount"])
        await editor.edit(document, same, scope="file", anotherVersion=True, wait=False)
        params = await editor.until("window/showMessage")
        assert params["message"] == "redraft: no changes"


async def test_progress_rises_and_partial_text_grows() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        answer = await editor.edit(document, SLOW, scope="file", partial=True, id="mine")
        assert answer["id"] == "mine"
        values = [
            p["value"] for p in editor.params_of("$/progress") if p["token"] == "redraft/mine"
        ]
        assert [v["kind"] for v in (values[0], values[-1])] == ["begin", "end"]
        shares = [v["percentage"] for v in values if v["kind"] == "report"]
        assert shares == sorted(shares)
        assert shares[-1] > 40
        assert "tokens/s" in values[-2]["message"]
        texts = [p["text"] for p in editor.params_of("redraft/partial") if p["phase"] == "decode"]
        assert len(texts) > 2
        assert all(new.startswith(old) for old, new in itertools.pairwise(texts))


async def test_partial_text_is_not_sent_unasked() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        await editor.edit(document, SLOW, scope="file")
        assert not editor.params_of("redraft/partial")


async def test_a_token_of_the_client_is_used_for_progress() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        argument = {"uri": URI, "instruction": RENAME, "scope": "file"}
        await editor.request(
            "workspace/executeCommand",
            {"command": "redraft.edit", "arguments": [argument], "workDoneToken": 77},
        )
        assert {p["token"] for p in editor.params_of("$/progress")} == {77}
        assert not editor.params_of("window/workDoneProgress/create")
        assert document.text == RENAMED


@pytest.mark.parametrize("choice", ["Replace", "Keep", None])
async def test_of_edits_that_overlap_the_user_chooses_one(choice: str | None) -> None:
    async with Editor() as editor:
        asked = "window/showMessageRequest"
        editor.on_request[asked] = lambda _: choice and {"title": choice}
        document, other = editor.open(URI, SHOP), editor.open("file:///work/other.py", SHOP)
        _, first = editor.begin_edit(document, SLOW, scope="file", title="First")
        _, beside = editor.begin_edit(other, SLOW, scope="file")
        cursor = document.range(100, 100, "utf-16")
        _, second = editor.begin_edit(document, script(sub=["amount", "n"]), range=cursor)
        message = (await editor.until(asked))["message"]
        assert message == 'redraft: "First" is changing the same code. Replace it?'
        kept, ended = (second, first) if choice == "Replace" else (first, second)
        error = await error_of(ended)
        assert error.code == -32800
        assert "the same code" in error.message
        assert (await kept)["outcome"] == (await beside)["outcome"] == "applied"
        assert document.text == (SHOP.replace("amount", "n") if choice == "Replace" else RENAMED)
        assert other.text == RENAMED
        assert len(editor.params_of(asked)) == 1


@pytest.mark.parametrize("preview", [True, False])
async def test_edits_of_one_document_each_have_a_target_of_their_own(preview: bool) -> None:
    names = ["zero", "one", "two", "three"]
    text = "\n\n".join(f"def {name}(x):\n    return x + {n}\n" for n, name in enumerate(names))
    async with Editor() as editor:
        document = editor.open(URI, text)
        futures = []
        for name in names:
            place = text.index(f"def {name}")
            instruction = script(sub=["return", f"# {name}\n    return"], prefill_s=0.1)
            cursor = document.range(place, place, "utf-16")
            future = editor.begin_edit(document, instruction, range=cursor, preview=preview)[1]
            futures.append(future)
        results = await asyncio.gather(*futures)
        if preview:
            assert document.text == text
            for result in reversed(results):  # from the last to the first: none moves the next
                document.apply(result["edits"], "utf-16")
        expected = "\n\n".join(
            f"def {name}(x):\n    # {name}\n    return x + {n}\n" for n, name in enumerate(names)
        )
        assert document.text == expected
        assert not editor.params_of("window/showMessageRequest")


async def test_of_many_edits_of_the_same_code_one_is_made_and_none_is_left_over() -> None:
    async with Editor() as editor:
        replace = {"title": "Replace"}
        editor.on_request["window/showMessageRequest"] = lambda _: replace
        document = editor.open(URI, SHOP)
        *others, last = (editor.begin_edit(document, SLOW, scope="file")[1] for _ in range(9))
        assert (await last)["outcome"] == "applied"
        assert {(await error_of(other)).code for other in others} == {-32800}
        assert (await editor.command("redraft.status"))["edits"] == []
        trace = (await editor.command("redraft.showTrace"))["edits"]
        outcomes = [edit["outcome"] for edit in trace]
        assert sorted(outcomes) == ["applied"] + ["cancelled"] * 8


async def test_a_document_that_is_closed_midway_is_left_alone_and_others_go_on() -> None:
    async with Editor() as editor:
        document, other = editor.open(URI, SHOP), editor.open("file:///work/other.py", SHOP)
        _, first = editor.begin_edit(document, SLOW, scope="file")
        _, second = editor.begin_edit(other, SLOW, scope="file")
        await editor.until("$/progress")
        editor.close(document)
        assert (await error_of(first)).code == -32800
        assert (await second)["outcome"] == "applied"
        assert [
            change["edit"]["documentChanges"][0]["textDocument"]["uri"] for change in editor.applied
        ] == [other.uri]


async def test_an_edit_that_the_editor_refuses_for_a_newer_version_is_sent_again() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)

        def refuse_once(params: dict[str, Any]) -> dict[str, Any]:
            editor.on_request["workspace/applyEdit"] = editor.apply_edit
            editor.change(document, 0, 0, "# typed\n")
            return {"applied": False}

        editor.on_request["workspace/applyEdit"] = refuse_once
        answer = await editor.edit(document, RENAME, position=position_of(editor, document, "+="))
        assert answer["outcome"] == "applied"
        assert document.text == "# typed\n" + RENAMED


async def test_an_edit_that_the_editor_refuses_for_good_is_an_error_with_its_reason() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        editor.on_request["workspace/applyEdit"] = lambda _: {
            "applied": False,
            "failureReason": "read only",
        }
        _, answer = editor.begin_edit(document, RENAME, scope="file")
        assert "read only" in (await error_of(answer)).message
        assert document.text == SHOP


async def test_cancelling_while_the_editor_applies_does_not_deny_the_edit() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)

        def cancel_then_apply(params: dict[str, Any]) -> dict[str, Any]:
            editor.notify("$/cancelRequest", {"id": id_})
            editor.notify("redraft/cancel", {})
            cancel = {"command": "redraft.cancel", "arguments": []}
            cancels.append(editor.begin("workspace/executeCommand", cancel)[1])
            return editor.apply_edit(params)

        cancels: list[asyncio.Future[Any]] = []
        editor.on_request["workspace/applyEdit"] = cancel_then_apply
        id_, answer = editor.begin_edit(document, RENAME, scope="file")
        assert (await answer)["outcome"] == "applied"
        assert await cancels[0] == {"cancelled": 0}


START = {"line": 0, "character": 0}


@pytest.mark.parametrize(
    "change",
    [
        {"range": {"start": START, "end": {"line": 0, "character": 4294967295}}, "text": "x"},
        {"range": {"start": START, "end": START}, "rangeLength": -1, "text": "x"},
        {"range": None, "text": "x"},
        {"range": {"start": START}, "text": "x"},
    ],
)
async def test_after_a_change_that_makes_no_sense_the_text_is_unknown_until_it_comes_whole(
    change: dict[str, Any],
) -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        _, running = editor.begin_edit(document, SLOW, scope="file")
        await editor.until("$/progress")
        named = {"uri": URI, "version": 2}
        editor.notify("textDocument/didChange", {"textDocument": named, "contentChanges": [change]})
        error = await error_of(running)
        assert (error.code, "its text is not known" in error.message) == (-32800, True)
        (shown,) = editor.params_of("window/showMessage")
        assert "close the file and open it again" in shown["message"]
        document.version = 2
        editor.change(document, 0, 0, "# nobody knows where this is\n")
        error = await error_of(editor.begin_edit(document, RENAME, scope="file")[1])
        assert (error.code, "its text is not known" in error.message) == (-32803, True)
        editor.change_whole(document, SHOP)
        assert (await editor.edit(document, RENAME, scope="file"))["outcome"] == "applied"
        assert document.text == RENAMED
        assert not editor.applied[1:]


async def test_a_client_that_counts_no_versions_gets_edits_of_the_version_null() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        place = document.range(0, 0, editor.unit)
        change = {"range": place, "text": "# typed\n"}
        named = {"uri": URI, "version": None}
        editor.notify("textDocument/didChange", {"textDocument": named, "contentChanges": [change]})
        document.text = "# typed\n" + document.text
        document.version = None
        editor.on_request["workspace/applyEdit"] = lambda _: {"applied": True}
        answer = await editor.edit(document, RENAME, scope="file")
        assert answer["outcome"] == "applied"
        (sent,) = editor.params_of("workspace/applyEdit")
        (edit,) = sent["edit"]["documentChanges"]
        assert edit["textDocument"]["version"] is None
        document.version = 0
        document.apply(edit["edits"], editor.unit)
        assert document.text == "# typed\n" + RENAMED


async def test_the_log_names_code_and_message_of_each_refusal_and_no_code() -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        await error_of(editor.begin_edit(document, "  ", scope="file")[1])
        await error_of(editor.begin_edit(document, LOSING, scope="file")[1])
        await editor.until("window/logMessage", lambda params: "deletion" in params["message"])
        info = 3
        assert editor.params_of("window/logMessage") == [
            {"type": info, "message": f"a request was refused: {refusal}"}
            for refusal in ("-32602 instruction must say what to change", "-32803 deletion")
        ]
    assert not editor.stderr


IMPORTING = script(reply=f"{AREA_REPLY}```\n", prefill_s=0.3)
LOSING = script(reply=f"{AREA_LOSS}```\n")


async def test_an_edit_with_imports_is_one_edit_of_several_places() -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        await editor.edit(document, IMPORTING, position=position_of(editor, document, "3.14"))
        assert document.text == AREA_NEW
        (params,) = editor.applied
        (change,) = params["edit"]["documentChanges"]
        assert len(change["edits"]) >= 3
        assert all(edit["range"]["end"]["line"] <= 6 for edit in change["edits"])


async def test_the_setting_imports_keeps_an_edit_inside_its_target() -> None:
    async with Editor(settings={"imports": False}) as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        answer = await editor.edit(document, IMPORTING, position=place)
        head = AREA.partition("def")[0]
        assert document.text == head + "def" + AREA_NEW.partition("def")[2]
        assert any("imports" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ("import os\nfrom", '"""Areas."""\n\n'),
        ("\nfrom", "  # the system's"),
        ("\nfrom", "\nimport re"),
        ("\n\ndef", "\nPI = 3"),
        ("def", "# Areas\n"),
        ("\n\n\nprint", "\n\n\nONE = 1"),
        ("print", "print(1)\n"),
    ],
    ids=[
        "a docstring above the imports",
        "behind the import above",
        "an import of the user's",
        "between imports and target",
        "a line right above the target",
        "a line right below the target",
        "below the target",
    ],
)
async def test_what_is_typed_around_an_import_that_is_added_stays(before: str, typed: str) -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        _, answer = editor.begin_edit(document, IMPORTING, position=place)
        await editor.until("$/progress")
        start = AREA.index(before)
        editor.change(document, start, start, typed)
        assert (await answer)["outcome"] == "applied"
        expected = AREA_NEW.replace("import math\n", "").replace(before, typed + before)
        assert document.text == expected.replace("from typing", "import math\nfrom typing")


@pytest.mark.parametrize(
    ("part", "new"),
    [
        ("typing", "collections.abc"),
        ("Any\n", "Any, Final\n"),
        ("\nfrom", "; from"),
        ("3.14", "3.1"),
    ],
    ids=["another module", "another name", "the line break before it", "the target"],
)
async def test_a_change_of_a_line_that_takes_an_import_makes_the_edit_stale(
    part: str, new: str
) -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        _, answer = editor.begin_edit(document, IMPORTING, position=place)
        await editor.until("$/progress")
        start = AREA.index(part)
        editor.change(document, start, start + len(part), new)
        error = await error_of(answer)
        assert (error.code, error.data) == (-32801, {"reason": "stale"})
        assert document.text == AREA.replace(part, new, 1)
        assert not editor.applied


async def test_a_refused_edit_can_be_looked_at_and_applied_anyway() -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        _, answer = editor.begin_edit(document, LOSING, position=place, id="mine")
        error = await error_of(answer)
        assert error.code == -32803
        assert error.message.endswith("or apply it anyway")
        assert error.data["reason"] == "deletion"
        assert [line.strip() for line in error.data["lost"]] == ["circle.check()"]
        withheld = error.data["withheld"]
        assert (withheld["id"], withheld["uri"], withheld["outcome"]) == ("mine", URI, "preview")
        assert withheld["version"] == document.version
        (change,) = withheld["edit"]["documentChanges"]
        assert change["edits"] == withheld["edits"]
        assert not editor.applied
        document.apply(withheld["edits"], editor.unit)
        assert document.text == AREA_LOST
        (traced,) = (await editor.command("redraft.showTrace"))["edits"]
        assert (traced["outcome"], traced["reason"]) == ("failed", "deletion")
        assert "circle" not in str(traced)
    assert "circle" not in editor.stderr


async def test_a_refused_edit_is_withheld_in_the_document_as_it_is_by_then() -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        losing = script(reply=f"{AREA_LOSS}```\n", prefill_s=0.3)
        _, answer = editor.begin_edit(document, losing, position=place)
        await editor.until("$/progress")
        editor.change(document, 0, 0, "# typed\n")
        withheld = (await error_of(answer)).data["withheld"]
        assert withheld["version"] == document.version
        document.apply(withheld["edits"], editor.unit)
        assert document.text == "# typed\n" + AREA_LOST


@pytest.mark.parametrize("part", ["3.14", "circle.check()"])
async def test_a_refused_edit_of_code_that_was_changed_is_not_shown(part: str) -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        losing = script(reply=f"{AREA_LOSS}```\n", prefill_s=0.3)
        _, answer = editor.begin_edit(document, losing, position=place)
        await editor.until("$/progress")
        start = AREA.index(part)
        editor.change(document, start, start + 1, "")
        error = await error_of(answer)
        assert (error.data["reason"], error.data["withheld"]) == ("deletion", None)
        assert "anyway" not in error.message


async def test_a_refusal_that_no_request_waits_for_names_no_way_that_there_is_not() -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        await editor.edit(document, LOSING, position=place, wait=False)
        message = (await editor.until("window/showMessage"))["message"]
        assert message.endswith("if that is meant, say so in the instruction")


@pytest.mark.parametrize("reply", ["", "def area(:\n"], ids=["no code", "no valid code"])
async def test_no_refusal_names_a_flag_of_the_command_line(reply: str) -> None:
    async with Editor() as editor:
        document = editor.open(URI, AREA)
        place = position_of(editor, document, "3.14")
        instruction = script(reply=f"{reply}```\n")
        _, answer = editor.begin_edit(document, instruction, position=place)
        assert " --" not in (await error_of(answer)).message


RENAMING = script(sub=["def total(items", "def sum_up(items"], prefill_s=0.3)
CALLING = SHOP + "\n\nprint('\U0001f4b0'); x = total([])\nprint(total)  # all\n"


@pytest.mark.parametrize("preview", [True, False])
async def test_lines_that_do_not_fit_an_edit_are_named_by_their_places(preview: bool) -> None:
    async with Editor() as editor:
        document = editor.open(URI, CALLING)
        place = position_of(editor, document, "+=")
        _, answer = editor.begin_edit(document, RENAMING, position=place, preview=preview)
        await editor.until("$/progress")
        editor.change(document, 0, 0, "# typed\n# typed\n")
        start = document.text.index("print(total)")
        editor.change(document, start, start, "\n")
        result = await answer
        if preview:
            document.apply(result["edits"], editor.unit)
        assert "def sum_up" in document.text
        assert [(use["definition"], use["text"]) for use in result["callers"]] == [
            ("total", "print('\U0001f4b0'); x = total([])"),
            ("total", "print(total)  # all"),
        ]
        for use in result["callers"]:
            ends = (document.offset(use["range"][end], editor.unit) for end in ("start", "end"))
            start, stop = ends
            assert document.text[start:stop] == use["text"]
        assert "old form of total" in "".join(result["notes"])


async def test_a_line_that_was_changed_meanwhile_is_not_named() -> None:
    async with Editor() as editor:
        document = editor.open(URI, CALLING)
        place = position_of(editor, document, "+=")
        _, answer = editor.begin_edit(document, RENAMING, position=place)
        await editor.until("$/progress")
        start = document.text.index("total)  # all")
        editor.change(document, start, start + len("total"), "sum_up")
        assert [use["text"] for use in (await answer)["callers"]] == [
            "print('\U0001f4b0'); x = total([])"
        ]


async def test_annotations_go_only_to_a_client_that_knows_them() -> None:
    capabilities = capable(
        workspace={"workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {}}}
    )
    async with Editor(capabilities=capabilities, settings={"confirm": True}) as editor:
        document = editor.open(URI, SHOP)
        await editor.edit(document, RENAME, scope="file", title="Rename")
        edit = editor.applied[0]["edit"]
        assert edit["changeAnnotations"] == {
            "redraft": {"label": "redraft: Rename", "needsConfirmation": True}
        }
        assert edit["documentChanges"][0]["edits"][0]["annotationId"] == "redraft"


async def test_a_client_without_versioned_edits_gets_plain_ones() -> None:
    async with Editor(capabilities=capable(workspace={"workspaceEdit": {}})) as editor:
        document = editor.open(URI, SHOP)
        answer = await editor.edit(document, RENAME, scope="file", preview=True)
        document.apply(answer["edit"]["changes"][URI], editor.unit)
        assert document.text == RENAMED


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"applied": True}, None),
        ({"applied": False, "failureReason": "read-only"}, "read-only"),
        (NotImplemented, "takes no edits from a server"),  # it does not answer at all
    ],
)
async def test_a_client_that_does_not_declare_it_is_asked_to_apply_an_edit_and_believed(
    answer: Any, reason: str | None
) -> None:
    async with Editor(capabilities={}) as editor:
        editor.on_request["workspace/applyEdit"] = lambda _: answer
        document = editor.open(URI, SHOP)
        _, edit = editor.begin_edit(document, RENAME, scope="file")
        if reason:
            assert reason in (await error_of(edit)).message
        else:
            assert (await edit)["outcome"] == "applied"
        (sent,) = editor.params_of("workspace/applyEdit")
        document.apply(sent["edit"]["changes"][URI], "utf-16")
        assert document.text == RENAMED


@pytest.mark.parametrize(
    ("argument", "code", "message"),
    [
        ({"uri": "file:///no.py"}, -32602, "not open"),
        ({"version": 9}, -32801, "version 9"),
        ({"instruction": "  "}, -32602, "instruction"),
        ({"scope": "world"}, -32602, "scope"),
        ({"range": {"start": {"line": 0}}}, -32602, "character"),
        ({"position": {"line": -1, "character": 0}}, -32602, "count from 0"),
        ({"preview": "yes"}, -32602, "preview"),
        ({}, -32803, "position or a range"),
        ({"position": {"line": 0, "character": 0}}, -32803, "or select what to edit"),
        ({"position": {"line": 1, "character": 0}, "scope": "function"}, -32803, "no function"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_wrong_request_is_answered_with_what_is_wrong(
    argument: dict[str, Any], code: int, message: str
) -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        more = {"uri": URI, **argument}
        instruction = more.pop("instruction", RENAME)
        _, answer = editor.begin_edit(document, instruction, **more)
        error = await error_of(answer)
        assert error.code == code
        assert message in error.message


@pytest.mark.parametrize(
    ("uri", "text", "at"),
    [
        (URI, "", 0),
        (URI, "import os\n\n\n\nprint(os)\n", 11),
        (URI, "import os\n", 10),
        ("file:///work/notes.odd", "one\n\ntwo\n", 4),
    ],
    ids=["an empty file", "between statements", "the last line", "a language without grammar"],
)
async def test_on_an_empty_line_outside_of_functions_the_edit_is_an_insertion(
    uri: str, text: str, at: int
) -> None:
    async with Editor() as editor:
        document = editor.open(uri, text, "python" if uri == URI else "odd")
        cursor = document.position(at, editor.unit)
        answer = await editor.edit(document, script(reply="new = 1\n```\n"), position=cursor)
        assert answer["outcome"] == "applied"
        before, after = text[:at], text[at:]
        assert document.text.startswith(before + "new = 1")
        assert document.text.endswith(after)
        assert document.text.replace("new = 1", "").strip("\n") == text.strip("\n")


async def test_a_language_without_grammar_can_be_edited_by_selection() -> None:
    async with Editor() as editor:
        document = editor.open("untitled:notes", "alpha\nbeta\n", "plaintext")
        _, answer = editor.begin_edit(document, RENAME, position={"line": 0, "character": 0})
        assert "select what to edit" in (await error_of(answer)).message
        selection = document.range(6, 10, editor.unit)
        await editor.edit(document, script(sub=["beta", "gamma"]), range=selection)
        assert document.text == "alpha\ngamma\n"


SCRIPT = """import os

total = 0
print(os, total)


class Cart:
    def add(self):
        return 1
"""


@pytest.mark.parametrize(
    ("at", "scope", "name", "target"),
    [
        ("return", None, "method Cart.add", "    def add(self):\n        return 1"),
        ("return", "function", "method Cart.add", "    def add(self):\n        return 1"),
        ("class", None, "class Cart", SCRIPT[SCRIPT.index("class") : -1]),
        ("total = 0\nprint(os, total)", None, "lines 3-4", "total = 0\nprint(os, total)"),
        ("total = 0\n", None, "line 3", "total = 0\n"),
        ("total", "selection", "part of line 3", "total"),
        ("\n\ntotal", "cursor", "an insertion at line 2", ""),
        ("total", "file", "the whole file", SCRIPT),
    ],
)
async def test_what_an_edit_would_change_is_named_before_it_is_asked_for(
    at: str, scope: str | None, name: str, target: str
) -> None:
    async with Editor() as editor:
        document = editor.open(URI, SCRIPT)
        start = SCRIPT.index(at)
        place: dict[str, Any] = {"range": document.range(start, start + len(at), editor.unit)}
        if at in ("return", "class"):
            place = {"position": document.position(start, editor.unit)}
        if scope == "cursor":
            place, scope = {"position": document.position(start + 1, editor.unit)}, None
        found = await editor.command("redraft.findTarget", {"uri": URI, "scope": scope, **place})
        assert found["problem"] is None
        (only,) = found["targets"]
        assert (only["name"], only["scope"]) == (name, scope)
        span = (document.offset(only["range"][end], editor.unit) for end in ("start", "end"))
        assert SCRIPT[slice(*span)] == target
        # What is named is what is edited.
        place["scope"] = scope
        reply = script(reply=f"{target.rstrip()}  # noted\n")
        edit = await editor.edit(document, reply, preview=True, **place)
        assert edit["target"] == only["range"]


@pytest.mark.parametrize(
    ("text", "language", "names"),
    [
        (SCRIPT, "python", ["line 4", "lines 3-4", "the whole file"]),
        ("alpha\nbeta", "plaintext", ["line 2", "the whole file"]),
        ("total = 0", "python", ["the whole file"]),
    ],
)
async def test_outside_of_functions_there_are_places_to_choose(
    text: str, language: str, names: list[str]
) -> None:
    async with Editor() as editor:
        editor.open(URI, text, language)
        line = {SCRIPT: 3, "alpha\nbeta": 1}.get(text, 0)
        argument = {"uri": URI, "position": {"line": line, "character": 1}}
        found = await editor.command("redraft.findTarget", argument)
        assert "select what to edit" in found["problem"]
        assert [target["name"] for target in found["targets"]] == names
        chosen = found["targets"][0]
        place = {key: chosen[key] for key in ("range", "scope")}
        again = await editor.command("redraft.findTarget", {"uri": URI, **place})
        assert again == {"problem": None, "targets": [chosen]}
        stale = editor.command("redraft.findTarget", {**argument, "version": 7})
        with pytest.raises(ResponseError) as error:
            await stale
        assert error.value.code == -32801


async def test_status_trace_warm_and_reload() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        assert (await editor.command("redraft.status"))["model"]["state"] == "unloaded"
        await editor.command("redraft.warm", {"uri": URI})
        await editor.status(lambda status: URI in status["warm"])
        await editor.edit(document, RENAME, scope="file")
        (edit,) = (await editor.command("redraft.showTrace"))["edits"]
        assert (edit["outcome"], edit["uri"]) == ("applied", URI)
        assert "sum_" not in str(edit)
        await editor.command("redraft.reload")
        await editor.edit(document, script(sub=["sum_", "amount"]), scope="file")
        model = await editor.request("test/model", {})
        assert model["loaded"] == ["", "freed", ""]


@pytest.mark.parametrize("argument", [None, {"uri": URI}], ids=["the model", "a document"])
async def test_what_is_warmed_at_once_is_the_model_of_the_editors_settings(argument: Any) -> None:
    async with Editor(settings={"model": "mine"}) as editor:
        editor.open(URI, SHOP)
        await editor.command("redraft.warm", argument)
        await editor.status(lambda status: status["model"]["state"] == "loaded")
        assert (await editor.request("test/model", {}))["loaded"] == ["mine"]


async def test_an_open_file_is_prefilled_again_after_changes_and_requests_come_first() -> None:
    async with Editor() as editor:
        document, other = editor.open(URI, SHOP), editor.open("file:///work/other.py", SHOP)
        await editor.edit(other, RENAME, scope="file")
        editor.change(document, 0, 0, "# 1\n")
        editor.change(document, 0, 0, "# 2\n")
        while len((await editor.command("redraft.status"))["warm"]) < 2:
            await editor.edit(other, script(sub=["item", "item"]), scope="file")
            await asyncio.sleep(0.1)
        warmed = (await editor.request("test/model", {}))["warmed"]
        assert len(warmed) == 2


async def test_the_model_is_freed_when_idle_and_loaded_again_on_demand() -> None:
    async with Editor(settings={"idleUnload": 0.2}) as editor:
        document = editor.open(URI, SHOP)
        await editor.edit(document, RENAME, scope="file")
        await editor.status(lambda status: status["model"]["state"] == "unloaded")
        await editor.edit(document, script(sub=["sum_", "amount"]), scope="file")
        assert document.text == SHOP


def summarize(status: dict[str, Any]) -> tuple[str, int]:
    return status["model"]["state"], len(status["edits"])


async def test_each_change_of_the_status_is_sent_to_a_client_that_asks_for_it() -> None:
    async with Editor(options={"statusNotifications": True}) as editor:
        first = await editor.until("redraft/status")
        assert summarize(first) == ("unloaded", 0)
        assert first.keys() == (await editor.command("redraft.status")).keys()
        document = editor.open(URI, SHOP)
        await editor.edit(document, SLOW, scope="file")
        await editor.until("redraft/status", lambda status: summarize(status) == ("loaded", 0))
        await editor.command("redraft.reload")
        await editor.status(lambda status: status["model"]["state"] == "unloaded")
        states = [summarize(status) for status in editor.params_of("redraft/status")]
        assert all(new != old for old, new in itertools.pairwise(states))
        states = [state for state in states if state != ("loading", 1)]  # may be over too soon
        assert states == [
            *[("unloaded", 0), ("unloaded", 1), ("loaded", 1), ("loaded", 0)],
            ("unloaded", 0),
        ]


async def test_the_status_is_not_sent_unasked() -> None:
    async with Editor() as editor:
        await editor.edit(editor.open(URI, SHOP), RENAME, scope="file")
        assert not editor.params_of("redraft/status")


@pytest.mark.parametrize("choice", ["Download", "Not now", None])
async def test_a_missing_model_is_offered_for_download(choice: str | None, tmp_path: Path) -> None:
    env = {
        "SCRIPTED_NEEDS": str(tmp_path / "model"),
        "REDRAFT_MODELS_DIR": str(tmp_path / "models"),
        "HOME": str(tmp_path),
        "HF_HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    async with Editor(env=env) as editor:
        document = editor.open(URI, SHOP)
        editor.on_request["window/showMessageRequest"] = lambda _: choice and {"title": choice}
        _, answer = editor.begin_edit(document, RENAME, scope="file")
        question = await editor.until("window/showMessageRequest")
        assert [action["title"] for action in question["actions"]] == ["Download", "Not now"]
        if choice == "Download":
            assert (await answer)["outcome"] == "applied"
            steps = [p["value"].get("message") for p in editor.params_of("$/progress")]
            assert "downloading, 60 of 100 MB" in steps
        else:
            assert "not on this machine" in (await error_of(answer)).message
            assert document.text == SHOP
