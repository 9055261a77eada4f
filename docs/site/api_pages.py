"""Makes the pages of the C++ reference, one for each public header, from Doxygen's XML."""

import dataclasses
import pathlib
import re
import xml.etree.ElementTree as ElementTree

NAMESPACE = "fulgurite::"
INTERNAL = {
    "retain",
    "release",
    "collect",
    "tensors",
    "state_with_edited",
    "state_with_callbacks",
}  # public for templates in headers alone
LARGE_CLASS = 100  # a class with more methods is listed as one block


@dataclasses.dataclass
class Declaration:
    """One declaration of a header, or of a class."""

    kind: str
    name: str
    text: str
    documentation: str
    line: int
    end: int
    members: list["Declaration"] = dataclasses.field(default_factory=list)


def inline(element) -> str:
    """Returns Markdown for the text of an XML element."""
    out = escape(element.text)
    for child in element:
        if child.tag in ("computeroutput", "verbatim"):
            out += f"`{''.join(child.itertext())}`"
        elif child.tag in ("itemizedlist", "orderedlist"):
            out += "\n\n" + "\n".join(f"- {inline(item).strip()}" for item in child) + "\n\n"
        elif child.tag == "programlisting":
            out += "\n\n```cpp\n" + "\n".join("".join(line.itertext()) for line in child) + "\n```\n\n"
        elif child.tag == "sp":
            out += " "
        else:
            out += inline(child) + ("\n\n" if child.tag == "para" else "")
        out += escape(child.tail)
    return out


def escape(text: str | None) -> str:
    return re.sub(r"([<>*_\[\]|])", r"\\\1", text or "")


def documentation(member) -> str:
    parts = [
        inline(member.find(tag)).strip()
        for tag in ("briefdescription", "detaileddescription", "inbodydescription")
        if member.find(tag) is not None
    ]
    return "\n\n".join(part for part in parts if part)


def plain(element) -> str:
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip() if element is not None else ""


def short(text: str) -> str:
    return text.replace(NAMESPACE, "").replace("< ", "<").replace(" >", ">").replace(" &", "&").replace(" *", "*")


def joined(*words: str) -> str:
    return " ".join(word for word in words if word)


def function_text(member) -> str:
    head = ""
    if (template := member.find("templateparamlist")) is not None:
        parameters = (joined(plain(p.find("type")), plain(p.find("declname"))) for p in template)
        head = f"template <{', '.join(parameters)}>\n"
    attributes = {"static": "static", "explicit": "explicit", "virtual": "virt"}
    words = [word for word, name in attributes.items() if member.get(name) in ("yes", "virtual", "pure-virtual")]
    name = plain(member.find("name")) + plain(member.find("argsstring"))
    return head + joined(*words, plain(member.find("type")), name) + ";"


def variable_text(member) -> str:
    name = plain(member.find("name")) + plain(member.find("argsstring"))
    return joined(plain(member.find("type")), name, plain(member.find("initializer"))) + ";"


def enumerators(member) -> list[Declaration]:
    names = [(plain(value.find("name")), documentation(value)) for value in member.findall("enumvalue")]
    return [Declaration("variable", name, name, text, 0, 0) for name, text in names]


def declaration(member) -> Declaration:
    kind, name, place = member.get("kind"), plain(member.find("name")), member.find("location")
    if kind == "function":
        code = function_text(member)
    elif kind == "enum":
        code = f"enum class {name};"
    elif kind == "typedef":
        code = f"using {name} = {plain(member.find('type'))};"
    else:
        code = variable_text(member)
    line = int(place.get("line"))
    end = max(line, int(place.get("bodyend") or line))
    return Declaration(kind, name, short(code), documentation(member), line, end, enumerators(member))


def compound(definition) -> Declaration:
    place = definition.find("location")
    name = plain(definition.find("compoundname")).removeprefix(NAMESPACE)
    line = int(place.get("line"))
    end = int(place.get("bodyend") or line)
    members = [
        declaration(m)
        for section in definition.findall("sectiondef")
        if not section.get("kind").startswith("private")
        for m in section.findall("memberdef")
        if m.get("kind") != "friend"
    ]
    members.sort(key=lambda m: m.line)
    return Declaration(
        "class", name, f"{definition.get('kind')} {short(name)};", documentation(definition), line, end, members
    )


def read(xml: pathlib.Path) -> dict[str, list[Declaration]]:
    """Returns the declarations of each header in their order."""
    headers: dict[str, list[Declaration]] = {}
    for path in sorted(xml.glob("*.xml")):
        for definition in ElementTree.parse(path).getroot().findall("compounddef"):
            if (
                definition.get("kind") in ("class", "struct")
                and definition.get("prot") == "public"
                and "<" not in plain(definition.find("compoundname"))
            ):
                headers.setdefault(definition.find("location").get("file"), []).append(compound(definition))
            elif definition.get("kind") == "namespace":
                for member in definition.iter("memberdef"):
                    if plain(member.find("name")) in INTERNAL:
                        continue
                    headers.setdefault(member.find("location").get("file"), []).append(declaration(member))
    for declarations in headers.values():
        declarations.sort(key=lambda d: d.line)
    return headers


def groups(declarations: list[Declaration], source: list[str]) -> list[list[Declaration]]:
    """Joins declarations that stand below one comment without a blank line between them."""
    out: list[list[Declaration]] = []
    for d in declarations:
        before = out[-1][-1] if out else None
        adjacent = before and not any(not line.strip() for line in source[before.end : d.line - 1])
        if before and not d.documentation and adjacent and "class" not in (d.kind, before.kind):
            out[-1].append(d)
        else:
            out.append([d])
    return out


def block(declarations: list[Declaration]) -> str:
    return "```cpp\n" + "\n".join(d.text for d in declarations) + "\n```\n"


def table(title: str, members: list[Declaration]) -> str:
    """Returns data members, or the values of an enumeration, with their descriptions; no text without members."""
    rows = ""
    for m in members:
        code, text = m.text.removesuffix(";").replace("|", "\\|"), re.sub(r"\s*\n\s*", " ", m.documentation)
        rows += f"| `{code}` | {text} |\n"
    return f"| {title} | description |\n| --- | --- |\n{rows}\n" if rows else ""


def class_text(d: Declaration, source: list[str]) -> str:
    out = f"### {escape(short(d.name))}\n\n{d.documentation}\n\n" + table(
        "member", [m for m in d.members if m.kind == "variable"]
    )
    others = [m for m in d.members if m.kind != "variable"]
    if len(others) > LARGE_CLASS:
        return out + block(others)
    return out + "\n".join(block(group) + "\n" + group[0].documentation + "\n" for group in groups(others, source))


def page(header: str, declarations: list[Declaration], source: list[str]) -> str:
    out = f"# {header}\n\n```cpp\n#include <fulgurite/{header}>\n```\n\n"
    for group in groups(declarations, source):
        if group[0].kind == "class":
            out += class_text(group[0], source) + "\n"
        else:
            names = list(dict.fromkeys(d.name for d in group))
            out += f"### {escape(', '.join(names))}\n\n{block(group)}\n{group[0].documentation}\n\n" + "".join(
                table("value", d.members) for d in group
            )
    return out


def undocumented(header: str, declarations: list[Declaration], source: list[str]):
    """Operators and overloads of documented functions need no comment, nor do types directly below a class."""
    known, above = set(), None
    for group in groups(declarations, source):
        first = group[0]
        is_companion = (
            first.kind in ("typedef", "class")
            and above
            and above.kind == "class"
            and all(line.strip() for line in source[above.end : first.line - 1])
        )
        if not (
            first.documentation
            or is_companion
            or first.name in known
            or (first.name.startswith("operator") and first.kind == "function")
        ):
            yield f"include/fulgurite/{header}:{first.line}: {first.name} has no comment"
        known |= {d.name for d in group}
        above = group[-1]


def write(xml: pathlib.Path, root: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Writes the pages; returns complaints about undocumented declarations."""
    complaints, rows = [], []
    folder.mkdir(parents=True)
    for path, declarations in sorted(read(xml).items()):
        file = pathlib.Path(path)
        file = file if file.is_absolute() else root / file
        header = file.relative_to(root / "include" / "fulgurite").as_posix()
        source = file.read_text(encoding="utf-8").split("\n")
        name = header.removesuffix(".h").replace("/", "_") + ".md"
        (folder / name).write_text(page(header, declarations, source), encoding="utf-8")
        complaints += undocumented(header, declarations, source)
        names = list(dict.fromkeys(short(d.name) for d in declarations if not d.name.startswith("operator")))
        shown = ", ".join(f"`{n}`" for n in names[:8]) + (f", … ({len(names)} names)" if len(names) > 8 else "")
        rows.append(f"| [{header}]({name}) | {shown} |")
    (folder / "index.md").write_text(
        "# C++ reference\n\nMade from the comments of the public headers.\n\n"
        "| header | names |\n| --- | --- |\n" + "\n".join(rows) + "\n",
        encoding="utf-8",
    )
    return complaints
