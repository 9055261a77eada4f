#!/usr/bin/env python3
"""The language of the source tree: sentences of comments, widths of lines, and the words of docs/glossary.md in
identifiers."""

import argparse
import collections
import pathlib
import re
import sys

LONGEST_LINE = 120
FOLDERS = ["include", "src", "tests", "tools", "benchmarks", "examples", "cmake", "python"]
# The rules themselves, programs that use names as they were, and expected or foreign text.
EXEMPT = re.compile(
    r"^(tests/lint/|tests/install/consumer/published/|tests/headers/deprecated_names\.cpp$)|\.(txt|json|safetensors|svg|css|html)$"
)

# Rule, pattern, advice. They are searched for in comments, docstrings and names of tests.
SENTENCES = [
    (
        "opening",
        re.compile(r"^\W*(What|Whether|Where|Of|Who|Which)\b"),
        "begin with the noun that the sentence is about",
    ),
    (
        "is no",
        re.compile(
            r"(?<!there )(?<!There )\b(is|are) no "
            r"(?!longer\b|more\b|less\b|later\b|earlier\b|larger\b|smaller\b|better\b|worse\b)"
        ),
        'write "is not a"',
    ),
    (
        "who",
        re.compile(r"\b([Ww]ho|[Ww]hom|[Ww]hoever|[Nn]obody|[Ss]omebody|[Aa]nybody)\b"),
        "name the caller, executor, owner or user",
    ),
    ("made again", re.compile(r"\b(made|makes|make|making) (\w+ )?again\b"), "recomputed, rematerialized, recreated"),
    ("lies", re.compile(r"\b(lie|lies|lying|lay)\b"), "is stored, is laid out, is contiguous, aliases"),
]

# Words of docs/glossary.md that identifiers had before, and the word that replaced each.
OLD_NAMES = [
    (r"(most|least|few|worth)_\w+", "max_, min_"),
    (r"\w*(LineByLine|line_by_line)\w*", "OpInterpreter"),
    (r"LineWatch|\w*_line_watch\w*", "ExecutionObserver"),
    (r"LineGraph|line_graph", "DependencyGraph"),
    (
        r"(Line|Lines)(Pair|Printer|Runner|Expressions|Before)|(Wrong|Taken|Printed|Explorer|Epilogue|Verify)Lines?",
        "Op",
    ),
    (r"CallInPieces|PieceRunner|Pieces?|\w*(^|_)pieces?(_\w*)?", "subgraph, chunk, slice, segment"),
    (r"CompiledVersion|SymbolicVersion|VersionStore|version_store", "CacheEntry, CompilationCache"),
    (r"sets_of_values\w*|\w+_set_of_values", "specializations"),
    (r"Leaves", "FlatArguments"),
    (r"CompileTurns|compile_turns", "SingleFlight"),
    (r"RecordAgain", "Retrace"),
    (r"[Dd]oors?|\w*_doors?", "entry point, cache"),
    (
        r"Product(Kernels?|Functions?|Launch|Tiles|Operand|Matrix|Layout|Form|Epilogue|Call|Fusions|Registers)?|BlockProduct|NamedProduct",
        "Gemm",
    ),
    (
        r"(run|fuse|compile|takes|has)_products?|products?_(kernels?|epilogue|implementations|executor|instructions)",
        "gemm",
    ),
    (r"\w*(MatrixUnit|matrix_unit|MATRIX_UNIT)\w*", "AMX"),
    (
        r"Grown?Regions?|GrowingRules|RegionKernel|RegionLowering|RegionFusion|LoweredRegion|(grow|lower)_regions?|region_(kernel|lowering)",
        "FusionGroup, LoopNest",
    ),
    (r"what_\w+|who_\w+|\w+_what|told(_\w+)?|\w+_told|nobody|somebody|whoever", "a noun of the field"),
    (r"(may_|sizes_that_)pay|pays(_\w+)?|paying_\w+", "is_profitable"),
    (
        r"merge_repeats|put_in_fusions|open_class_losses|open_creations",
        "local_cse, outline_fusions, decompose_nll_loss, inline_creation_ops",
    ),
    (
        r"is_torn|take_makers|take_neighbours|take_readers|joins_last|undoes_recomputation",
        "is_non_convex, absorb_producers, fuse_last",
    ),
    (r"Refusal", "UnsupportedOp"),
    (r"(most_|note_)?sweeps?_?|Sweep", "row loop"),
    (r"ask_ahead|ask_for", "prefetch"),
    (r"Largest|Smallest", "Max, Min"),
    (r"made_again|is_made_again|remade_?|Remade", "recomputed"),
    (
        r"rounds_nothing|updates_place_by_place|changes_places(_of)?",
        "is_exact, is_elementwise_update, is_scatter_update",
    ),
    (r"scatter_into_sums|update_early", "fold_scatter_add, schedule_updates_early"),
    (
        r"\w*(Place|Places)(Reducer|Along|InWhole)?|(Indexed|Reduction|Hook|Memory)Places?|throw_place_error|place_error",
        "index, position, offset, StorageClass",
    ),
    (r"(parts|results)_in_place|(Parts|Results)InPlace", "elide_concat_copies, reuse_operand_buffers"),
    (r"tensor_without_memory|give_memory|lends?_arena_?", "meta_tensor, materialize, return_arena"),
    (r"gives_last_first_?|is_ours_alone|asks_strides_?|reads_before_hooks", "reverse_edges, is_uniquely_owned"),
    (r"UnplacedError|unplaced_error", "UnlocatedError"),
    (r"DrawScope|Draws", "RngScope, RngStates"),
    (
        r"without_numbers|number_guards|NumberGuards|number_values|NumberValues|NumberReplay|number_replay",
        "specialize_symbols, Guards, SymbolValues, SymbolicReplay",
    ),
]
OLD_NAME = re.compile("|".join(f"(?P<n{i}>{pattern})" for i, (pattern, _) in enumerate(OLD_NAMES)))
# Members of public structures, which stay until 0.3, and PyTorch's words.
KEPT_NAMES = {
    "most_steps",
    "sets_of_values",
    "least_step",
    "least_plain_step",
    "most_suggestions",
    "is_place",
    "replace",
    "inplace",
    "Sweep",
}
WORD = re.compile(r"\b[A-Za-z_]\w*\b")

CPP = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<raw>(?:u8|L)?R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])*\')',
    re.S,
)
PYTHON = re.compile(
    r'(?P<raw>[rfbRFB]{0,2}(?:""".*?"""|\'\'\'.*?\'\'\'))|(?P<string>[rfbRFB]{0,2}(?:"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'))'
    r"|(?P<comment>#[^\n]*)",
    re.S,
)
# The sentences of operators' records, from which the public headers are made.
DOCUMENTATION = re.compile(r'\.documentation\s*=\s*((?:"(?:\\.|[^"\\])*"\s*)+)')
TEST_NAME = re.compile(r'^TEST\(\s*"((?:[^"\\]|\\.)*)"', re.M)
CMAKE = re.compile(r'(?P<string>"(?:\\.|[^"\\])*")|(?P<comment>#[^\n]*)|(?P<raw>(?!))', re.S)


class File:
    """The code, the comments and the long texts of one file."""

    def __init__(self, name, text):
        self.name, self.lines = name, text.split("\n")
        pattern = (
            CPP
            if name.endswith((".h", ".cpp", ".js", ".in"))
            else CMAKE
            if name.endswith((".cmake", "CMakeLists.txt"))
            else PYTHON
        )
        self.comments, self.texts, code, at = [], set(), [], 0
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            code.append(text[at : found.start()])
            code.append(re.sub(r"[^\n]", " ", found.group()))
            at = found.end()
            is_docstring = (
                pattern is PYTHON
                and found["raw"]
                and text[: found.start()].rstrip().endswith((":", "env python3"))
                or (
                    pattern is PYTHON
                    and found["raw"]
                    and not text[: found.start()].replace("#!/usr/bin/env python3", "").strip()
                )
            )
            if found["comment"] or is_docstring:
                for offset, one in enumerate(found.group().split("\n")):
                    stripped = re.sub(r'^\s*(///?<?|/\*+|\*+/?|#+!?|[rR]?"""|\'\'\')', "", one).strip()
                    self.comments.append((line + offset, stripped))
            elif found["raw"]:
                self.texts.update(range(line, line + found.group().count("\n") + 1))
        for found in DOCUMENTATION.finditer(text) if pattern is CPP else ():
            line = text.count("\n", 0, found.start(1)) + 1
            self.comments.append((line, "".join(re.findall(r'"((?:\\.|[^"\\])*)"', found[1]))))
        for found in TEST_NAME.finditer(text):
            name = found[1]
            self.comments.append((text.count("\n", 0, found.start(1)) + 1, name[:1].upper() + name[1:]))
        code.append(text[at:])
        self.code = "".join(code).split("\n")

    def offences(self):
        """(line number, rule, text, advice), in order of the rules."""
        for number, comment in self.comments:
            for rule, pattern, advice in SENTENCES:
                if found := pattern.search(comment):
                    yield number, rule, comment, f'"{found.group().strip()}": {advice}'
        for number, line in enumerate(self.lines, 1):
            is_error_text = number > 1 and self.lines[number - 2].startswith("#error ")  # one literal, which is printed
            if len(line) > LONGEST_LINE and number not in self.texts and not is_error_text:
                yield number, "width", line, f"{len(line)} columns, at most {LONGEST_LINE}"
        for number, line in enumerate(self.code, 1):
            if "[[deprecated" in self.lines[number - 1]:
                continue
            for word in WORD.findall(line):
                if word not in KEPT_NAMES and (found := OLD_NAME.fullmatch(word)):
                    yield number, "old name", word, f"{word}: {OLD_NAMES[int(found.lastgroup[1:])][1]}"


def is_generated(text):
    return "Generated by " in text[:200]


def files(root):
    for folder in [*FOLDERS]:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if (
                not path.is_file()
                or "__pycache__" in name
                or (EXEMPT.search(name) and path.name != "CMakeLists.txt")
                or path.is_symlink()
            ):
                continue
            if path.suffix not in {".h", ".cpp", ".py", ".js", ".in", ".cmake", ""} and path.name != "CMakeLists.txt":
                continue
            text = path.read_text()
            if path.suffix == "" and not text.startswith("#!/usr/bin/env python3"):
                continue
            yield File(name, text), is_generated(text)


def all_offences(root):
    """By file: those of generated files are their generators'."""
    found = {}
    for file, generated in files(root):
        found[file.name] = [] if generated else list(file.offences())
    return {name: offences for name, offences in found.items() if offences}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "root", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).resolve().parents[2], help="the repository"
    )
    parser.add_argument(
        "--list", nargs="?", const="", metavar="PATH", help="print every offence, of files below PATH if one is given"
    )
    parser.add_argument("--folders", action="store_true", help="print how many offences each folder has, by rule")
    options = parser.parse_args()
    root = options.root.resolve()
    found = all_offences(root)

    if options.list is not None:
        for name, offences in found.items():
            if name.startswith(options.list):
                for number, rule, _, advice in sorted(offences):
                    print(f"{name}:{number}: {rule}: {advice}")
        return 0
    if options.folders:
        table = collections.defaultdict(collections.Counter)
        for name, offences in found.items():
            folder = "/".join(name.split("/")[:2]) if name.startswith(("src/", "tests/")) else name.split("/")[0]
            table[folder].update(rule for _, rule, _, _ in offences)
        for folder, rules in sorted(table.items()):
            print(
                f"{sum(rules.values()):5} {folder}: "
                + ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items()))
            )
        print(f"{sum(sum(rules.values()) for rules in table.values()):5} in all")
        return 0
    for name, offences in found.items():
        for number, rule, _, advice in sorted(offences):
            print(f"{name}:{number}: {rule}: {advice}")
    count = sum(map(len, found.values()))
    print(f"{count} offences in {len(found)} files" if count else "no offences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
