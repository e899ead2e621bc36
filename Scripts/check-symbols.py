#!/usr/bin/env python3
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Checks the symbols that documentation links to, such as ``Type`` and ``Type/member``.

In a module's catalogue each must be something that the module declares publicly; in a comment, something that this
package declares. It reads declarations as text, so it knows names and argument labels and no types. With --self-test:
proves that a misspelt link is found.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!`)``([^`\s]+)``(?!`)")
STRINGS_AND_COMMENTS = re.compile(
    r'#"""[\s\S]*?"""#|"""[\s\S]*?"""|#"[^\n]*?"#|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*[\s\S]*?\*/|`[^`\n]*`')
TYPE = re.compile(r"\b(class|struct|enum|protocol|actor|extension)\s+([A-Z]\w*(?:\.\w+)*)")
MEMBER = re.compile(r"\b(?:(?P<call>func|init|subscript)\b|(?:var|let|typealias|associatedtype)\s+(?P<name>\w+))")
CASE = re.compile(r"\bcase\s+(?P<names>[a-z]\w*[^\n{]*)")


def plain(source):
    """The source with neither comments nor what is in strings, of the same lines."""

    def blank(match):
        text = match.group()
        if text.startswith("`"):
            return text.strip("`")
        return "\n" * text.count("\n") if text.startswith("/") else '""' + "\n" * text.count("\n")

    return STRINGS_AND_COMMENTS.sub(blank, source)


def split(text):
    """The parts between commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text.replace("->", "  "):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def bracketed(text, start):
    """What stands between the bracket at a place and the one that closes it."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return text[start + 1 : index]
    return ""


def call(declaration, keyword):
    """The name of a function with its argument labels, as links spell it."""
    match = re.match(r"(?:func\s+(\w+)|init[?]?|subscript)\s*(?:<[^(]*>)?\s*(?=\()", declaration)
    if not match:
        return None
    labels = [part.split(":")[0].split()[0] for part in split(bracketed(declaration, match.end()))]
    return f"{match[1] or keyword}({''.join(label + ':' for label in labels)})"


def symbols(source):
    """What a file declares, each name with the types that it stands in before it, and whether it is public."""
    found, scopes, pending, text = {}, [], None, plain(source)

    def add(*names, is_public):
        name = "/".join(filter(None, names))
        found[name] = found.get(name, False) or is_public

    for match in re.finditer(r"[{}]|[^\n{};]+", text):
        piece = match.group()
        if piece == "{":
            scopes.append(pending)
            pending = None
        elif piece == "}":
            del scopes[-1:]
        elif None not in scopes:  # Inside of a body nothing is declared for others.
            path = "/".join(name for name, _ in scopes)
            kind = scopes[-1][1] if scopes else ""
            says_so = re.search(r"\b(public|open)\b(?!\s*\()", piece)
            is_public = bool(says_so) or kind in ("protocol", "public extension")
            member, holder = MEMBER.search(piece), TYPE.search(piece)
            if holder and not member:
                kind, name = holder.group(1), holder.group(2).replace(".", "/")
                if kind == "extension":
                    kind = "public extension" if is_public else kind
                else:
                    add(path, name, is_public=is_public)
                pending = (name, kind)
            elif kind == "enum" and (names := CASE.search(piece)):
                for part in split(names["names"]):
                    name = re.match(r"\w+", part).group()
                    values = split(bracketed(part, part.index("("))) if "(" in part else []
                    labels = [value.split(":")[0].split()[0] if ":" in value else "_" for value in values]
                    add(path, name, is_public=True)
                    add(path, f"{name}({''.join(label + ':' for label in labels)})", is_public=True)
            elif member:
                rest = text[match.start() + member.start() :]
                name = call(rest, member["call"]) if member["call"] else member["name"]
                if name:
                    add(path, name, is_public=is_public)
                pending = None
    return found


def public_symbols(sources):
    """The names that a module declares publicly, each in types that are public too or another module's."""
    declared = {}
    for source in sources:
        for name, is_public in symbols(source).items():
            declared[name] = declared.get(name, False) or is_public

    def is_seen(name):
        parts = name.split("/")
        return all(declared.get("/".join(parts[:count]), True) for count in range(1, len(parts) + 1))

    return {name for name in declared if is_seen(name)}


def broken(module, pages, sources):
    """The links of a module's pages that lead nowhere."""
    public = {module, *public_symbols(sources)}
    for name, page in pages:
        for link in LINK.findall(re.sub(r"```[\s\S]*?```", "", page)):
            if link.removeprefix(f"{module}/") not in public:
                yield f"{name} links to ``{link}``, which {module} does not declare publicly."


def broken_comments(files):
    """The links of comments that lead nowhere; one may leave out the types that it stands in itself."""
    ends = set()
    for _, source in files:
        for name in symbols(source):
            parts = name.split("/")
            ends.update("/".join(parts[count:]) for count in range(len(parts)))
    for name, source in files:
        for number, line in enumerate(source.split("\n"), 1):
            for link in LINK.findall(line.partition("///")[2]):
                if link not in ends:
                    yield f"{name}:{number} links to ``{link}``, which nothing here declares."


def read(files):
    return [(file.relative_to(ROOT), file.read_text(encoding="utf-8")) for file in sorted(files)]


def check():
    problems = list(broken_comments(read(ROOT.glob("Sources/**/*.swift"))))
    for catalog in sorted(ROOT.glob("Sources/*/*.docc")):
        sources = [source for _, source in read(catalog.parent.rglob("*.swift"))]
        problems += broken(catalog.stem, read(catalog.glob("*.md")), sources)
    return problems


def self_test():
    source = '''
        public struct Car: Sendable {
            /// Not ``Wheel``: } func hidden()
            public var text = "{ public func quoted() {"
            public enum Gear { case first, second(_ speed: Int, in: Unit), `default` }
            public init(named name: String, `for` others: [String: (Int, Int)] = [:]) { func inner() {} }
            public func drive<Road: Collection>(
                _ way: Road, at speed: @escaping (Int) -> Void
            ) -> Int { 1 }
            func secret() {}
        }
        public protocol Engine { func start(); var isOn: Bool { get } }
        extension Car.Gear { public static func any() -> Self { .first } }
        struct Private { public var value: Int; enum Kind { case one } }
    '''
    good = """
        Car Car/text Car/Gear Car/Gear/first Car/Gear/second(_:in:) Car/Gear/default Car/Gear/any() Car/init(named:for:)
        Car/drive(_:at:) Cars/Car/drive(_:at:) Engine Engine/start()
        Engine/isOn Cars Cars/Car
    """.split()
    bad = """
        Carr Wheel Car/secret() Car/quoted() Car/hidden() Car/inner() Car/drive(_:) Car/Gear/third Private Engine/stop()
        Car/init(named:) Private/value Private/Kind/one Car/first
    """.split()
    found = {link for link in good + bad if list(broken("Cars", [("page", f"See ``{link}``.")], [source]))}
    comments = source + "/// See ``Car/secret()``, ``start()``, ``Private`` and ``Car/stop()``."
    found.update("a comment's " + problem.split("``")[1] for problem in broken_comments([("comments", comments)]))
    wrong = found ^ {*bad, "a comment's Wheel", "a comment's Car/stop()"}
    return [f"The self-test judged {link} wrongly." for link in sorted(wrong)]


for problem in (complaints := self_test() if "--self-test" in sys.argv[1:] else check()):
    print(problem, file=sys.stderr)
sys.exit(bool(complaints))
