"""`python -m redraft`: the same as `redraft`."""

import sys

from redraft.cli import main

sys.exit(main())
