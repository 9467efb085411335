import re

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft import models


@pytest.mark.usefixtures("coder_model_path")
def test_the_demo_makes_its_edit_and_measures_the_gain(coder_model, run_cli) -> None:
    ran = run_cli("demo", model=coder_model)
    assert ran.code == 0
    added = "\n".join(line[1:] for line in ran.out.split("\n") if line.startswith("+"))
    assert "def invoice(order: Order, tax_free: bool = False) -> dict[str, int]:" in added
    assert re.search(r"if (not )?tax_free", added)
    assert re.search(
        r"\n\d+ prompt tokens, \d+ output tokens in \d+ passes, \d+\.\d tokens/pass,"
        r" \d+\.\d tokens/s(, \d+\.\d s of calibration)?, \d+\.\d times plain decoding \(\d+\.\d tokens/s, (the same|another)"
        r" text\)\n\nOn a file of your own:\n\n(  redraft \w+ .*\n){3}$",
        ran.out,
    )


def test_a_model_that_cannot_make_the_edit_fails_the_demo(
    small_model_path, monkeypatch: pytest.MonkeyPatch, run_cli
) -> None:
    monkeypatch.setattr(models, "fetch", lambda *args, **kwargs: small_model_path)
    ran = run_cli("demo", model=ScriptedModel(replies=["I would rather not."]))
    assert ran.code == 2
    assert "this model did not make the edit of the demo" in ran.err
