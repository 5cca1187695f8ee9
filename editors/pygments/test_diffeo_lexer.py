"""The lexer on a table, and on every program of the repository: no text has a token `Error`."""

import re
import unittest
from pathlib import Path

from diffeo_lexer import DiffeoLexer
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String

ROOT = Path(__file__).resolve().parents[2]
PASSED_OVER = {".git", "target", "node_modules", "build", ".venv"}


def files(folder, ending):
    """The files below a folder, without what is built or belongs to others."""
    return sorted(
        path for path in (ROOT / folder).rglob(f"*{ending}")
        if not PASSED_OVER & set(path.relative_to(ROOT).parts) and path.is_file()
    )


def programs():
    """Names and texts of all programs that are correct: files, cases of tests/lang, blocks of the book."""
    for path in files("", ".deo"):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT)
        if "lang" not in name.parts or name.parts[0] != "tests":
            yield name, text
            continue
        # A case begins at a line `#: name`; lines of directives follow.
        for case in re.split(r"^#: ", text, flags=re.M)[1:]:
            title, *lines = case.split("\n")
            head = 0
            while head < len(lines) and re.match(r"#(?! )", lines[head]):
                head += 1
            if not any(line.startswith("#! ") for line in lines[:head]):
                yield f"{name}: {title}", "\n".join(lines[head:])
    for path in files("docs/book", ".md"):
        for block in re.findall(r"^```diffeo\n(.*?)^```$", path.read_text(encoding="utf-8"), flags=re.M | re.S):
            yield path.relative_to(ROOT), block


TABLE = [
    ("# c\n## d\n### e", [("# c", Comment.Single), ("## d", String.Doc), ("### e", Comment.Single)]),
    ("import shapes (area, Circle)", [("import", Keyword.Namespace), ("shapes", Name.Namespace), ("area", Name)]),
    ("def pi: Real = 3.14", [("def", Keyword.Declaration), ("pi", Name.Constant), ("Real", Keyword.Type), ("3.14", Number.Float)]),
    ("def f(x: [n]Real, {a = b}) -> T = x", [("f", Name.Function), ("x", Name), ("n", Name.Variable), ("Real", Keyword.Type), ("a", Name.Attribute), ("b", Name), ("->", Operator), ("T", Name.Class), ("x", Name)]),
    ("type Tree[a] = Leaf(a) | Node(Tree[a], {x: Int})\ndef v = 1", [("type", Keyword.Declaration), ("Tree", Name.Class), ("Leaf", Name.Constant), ("Node", Name.Constant), ("Tree", Name.Class), ("x", Name.Attribute), ("Int", Keyword.Type), ("def", Keyword.Declaration), ("1", Number.Integer)]),
    ("def a = let rec g(n) = n in let b = true in g(b)", [("let", Keyword), ("rec", Keyword), ("g", Name.Function), ("in", Keyword), ("b", Name.Variable), ("true", Keyword.Constant), ("g", Name.Function)]),
    ("def a = if not x then Just(1) else f(_)", [("if", Keyword), ("not", Operator.Word), ("Just", Name.Constant), ("_", Name.Builtin.Pseudo)]),
    ("def a = grad(fn (w: Real) -> w ^ 2)(1e-3)", [("grad", Name.Builtin), ("fn", Keyword), ("Real", Keyword.Type), ("->", Operator), ("^", Operator), ("1e-3", Number.Float)]),
    ("def a = (p.0.1, r.type, m.Just(1), xs[0..n])", [("0", Number.Integer), ("1", Number.Integer), ("type", Name.Attribute), ("Just", Name.Constant), ("..", Operator)]),
    ('def a = {type = 1, "µM" = 2, y}', [("type", Name.Attribute), ("µM", String.Double), ("y", Name)]),
    ('def a = "x # \\u{3b4}"', [("x # ", String.Double), ("\\u{3b4}", String.Escape)]),
    ("def in' = δ_1'' + list[1]", [("in'", Name.Constant), ("δ_1''", Name), ("list", Keyword)]),
]


class Lexer(unittest.TestCase):
    def test_table(self):
        for text, pieces in TABLE:
            rest = [(value, kind) for kind, value in DiffeoLexer(stripnl=False).get_tokens(text)]
            for piece in pieces:
                self.assertIn(piece, rest, text)
                rest = rest[rest.index(piece) + 1:]

    def test_programs(self):
        number = 0
        for name, text in programs():
            number += 1
            lexer = DiffeoLexer(stripnl=False, ensurenl=False)
            tokens = list(lexer.get_tokens(text))
            wrong = [value for kind, value in tokens if kind is Error]
            self.assertFalse(wrong, name)
            self.assertEqual("".join(value for _, value in tokens), text.removeprefix("\ufeff").replace("\r", ""), name)
        print(f"{number} programs have no token Error")
        self.assertGreater(number, 1000)


if __name__ == "__main__":
    unittest.main()
