"""Helpers for other programs' engines: a draft model for llama-cpp-python's own `Llama`.

It looks up the text's end in the text before it, in constant time a token:

    from llama_cpp import Llama
    from redraft.integrations import SuffixLookupDecoding

    llama = Llama("model.gguf", draft_model=SuffixLookupDecoding())

A drop-in for `LlamaPromptLookupDecoding`, which scans all of the text before every pass and takes
the oldest match. This one keeps an index, and takes the longest match, the latest among equals.

The limits are those of `Llama`:

- With a draft model it keeps the logits of every token (`logits_all`): n_ctx * n_vocab * 4 bytes,
  20 GB for 32,768 tokens of a vocabulary of 152,000. Give a small n_ctx.
- It computes those logits for the whole prompt too, which makes prefill slower.
- The draft length is fixed: it does not know what a pass costs. 10 suits GPUs; on CPUs 3, 7 or 15
  fill rows that cost little (the pass has one row more than the draft).
- Rejected drafts are removed from the memory, which recurrent and hybrid models cannot do.
- On quantised models the text may differ from that without drafts where two tokens are nearly
  equally likely, since kernels round differently for one row and for many.

redraft's own engine has none of these limits; it does not use this module.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from llama_cpp.llama_speculative import LlamaDraftModel

from redraft_lookup import SuffixIndex

__all__ = ["SuffixLookupDecoding"]


class SuffixLookupDecoding(LlamaDraftModel):  # type: ignore[misc]  # llama_cpp is not typed
    """Drafts up to `num_pred_tokens` tokens that followed the longest earlier match of the end.

    Indexes only what is new of a text that grows; another text is indexed from its start. One
    object serves one `Llama`. Raises ValueError for `num_pred_tokens` < 1.
    """

    def __init__(self, num_pred_tokens: int = 10) -> None:
        if num_pred_tokens < 1:
            raise ValueError(f"num_pred_tokens must be at least 1, not {num_pred_tokens}")
        self.num_pred_tokens = num_pred_tokens
        self._index = SuffixIndex()

    def __call__(
        self,
        input_ids: npt.NDArray[np.intc],
        /,
        **kwargs: Any,  # noqa: ANN401, ARG002 - the base class's signature
    ) -> npt.NDArray[np.intc]:
        """Return (k,) ids that may follow, 0 <= k <= num_pred_tokens.

        input_ids: (n,) the text so far.
        """
        n_indexed = len(self._index)
        # `Llama` says nothing when it starts another text, or goes back in this one.
        if not np.array_equal(np.asarray(self._index.tokens, np.intc), input_ids[:n_indexed]):
            self._index, n_indexed = SuffixIndex(), 0
        self._index.extend(input_ids[n_indexed:].tolist())
        match = self._index.longest_match()
        if match is None:
            return np.empty(0, np.intc)
        stop = match.position + self.num_pred_tokens
        return np.array(self._index.tokens[match.position : stop], np.intc)
