"""Turns comments behind declarations into documentation: `int x = 0;  // text` becomes `int x = 0;  ///< text`.

usage: doxygen_filter.py FILE
"""

import re
import sys

BEHIND = re.compile(r"^([^/\n]*[;,{}\w\]]) *// ?(?=\S)", re.MULTILINE)
NAMESPACE_END = re.compile(r"^\} +// namespace")

for line in open(sys.argv[1], encoding="utf-8"):
    sys.stdout.write(line if NAMESPACE_END.match(line) else BEHIND.sub(r"\1  ///< ", line))
