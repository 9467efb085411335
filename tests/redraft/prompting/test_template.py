import pytest

from redraft.prompting.template import CHATML, render_frame
from redraft.records import Piece

QWEN = """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nBe a helpful model.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""

LLAMA3 = """{{- bos_token }}
{%- set date = strftime_now("%d %b %Y") if strftime_now is defined else "no date" %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nToday: " + date + "<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
    {{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

MISTRAL = """{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('roles must alternate user and assistant') -}}
{% endif %}
{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% else -%}
{{ message['content'] + eos_token }}{% endif %}{% endfor %}"""

GEMMA = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}
{{- raise_exception('System role not supported') -}}{% endif %}
{% for message in messages %}
{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"""


@pytest.mark.parametrize(
    ("template", "head", "tail"),
    [
        pytest.param(
            QWEN,
            "<|im_start|>system\nBe a helpful model.<|im_end|>\n<|im_start|>user\n",
            "<|im_end|>\n<|im_start|>assistant\n",
            id="Qwen prints its own default system text",
        ),
        pytest.param(
            LLAMA3,
            "<|start_header_id|>system<|end_header_id|>\n\nToday: 01 Jan 2026<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n",
            "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            id="Llama 3 prints a date that never changes",
        ),
        pytest.param(MISTRAL, "[INST] ", " [/INST]", id="Mistral has no system role"),
        pytest.param(
            GEMMA,
            "<start_of_turn>user\n",
            "<end_of_turn>\n<start_of_turn>model\n",
            id="Gemma refuses a system role",
        ),
    ],
)
def test_a_template_gives_the_text_around_a_user_turn(template, head, tail):
    frame = render_frame(template)
    assert (frame.head, frame.tail) == (head, tail)
    assert frame.opening == Piece(frame.head, control=True)


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(None, id="none at all"),
        pytest.param("{% for", id="not Jinja"),
        pytest.param("{{ raise_exception('no') }}", id="refuses every conversation"),
        pytest.param("{{ messages[7].content.x }}", id="reads what is not there"),
        pytest.param("{{ 1 // 0 }}", id="divides by zero"),
        pytest.param("{{ messages[0].content | length }}", id="loses the user's text"),
        pytest.param("{{ messages[0].content * 2 }}", id="prints the user's text twice"),
        pytest.param("{{ messages[0].content | upper }}", id="changes the user's text"),
        pytest.param("{{ ''.__class__.__mro__ }}", id="tries to leave the sandbox"),
    ],
)
def test_without_a_template_that_works_chatml_is_used(template):
    assert render_frame(template) == CHATML
