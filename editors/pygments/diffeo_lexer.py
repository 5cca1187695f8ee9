"""A Pygments lexer of Diffeo, a differentiable programming language.

Types and constructors are both names with a capital; the lexer tells them apart by where they stand, as the states
`type`, `signature`, `pattern` and `variants` follow it.
"""

from pygments import unistring
from pygments.lexer import RegexLexer, bygroups, default, include, words
from pygments.token import (
    Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace,
)

__all__ = ["DiffeoLexer"]

_LETTERS = unistring.combine("Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc")
_NAME = rf"(?![0-9])[{_LETTERS}_0-9]+'*"
_UPPER = rf"[{unistring.Lu}][{_LETTERS}_0-9]*'*"
_LOWER = rf"(?![{unistring.Lu}]){_NAME}"
#: No name begins before, none goes on behind.
_BEFORE = rf"(?<![{_LETTERS}_0-9'])"
_BEHIND = rf"(?![{_LETTERS}_0-9'])"


def _word(text):
    return rf"{_BEFORE}(?:{text}){_BEHIND}"


def _capture(text):
    return rf"{_BEFORE}({text}){_BEHIND}"


#: Where the next definition begins, whatever is still open.
_ITEM = rf"(?={_word('def|import')}(?!\s*[:=,}}])|{_word('type')}\s+[{unistring.Lu}]|^\s*##(?!#))"

_DERIVATIVES = (
    "grad", "value_and_grad", "grad_along", "rd", "fd", "vjp", "jvp", "jacobian", "jacfwd", "jacrev", "hessian", "hvp",
    "derivatives", "jet", "stop_gradient", "checkpoint", "with_derivative", "with_exact_derivative",
)


class DiffeoLexer(RegexLexer):
    """For Diffeo programs."""

    name = "Diffeo"
    aliases = ["diffeo"]
    filenames = ["*.deo"]
    mimetypes = ["text/x-diffeo"]

    tokens = {
        "root": [
            (rf"{_capture('import')}(\s+)({_LOWER})",
             bygroups(Keyword.Namespace, Whitespace, Name.Namespace), "import"),
            (rf"{_capture('type')}(\s+)({_UPPER})",
             bygroups(Keyword.Declaration, Whitespace, Name.Class), "variants"),
            include("expression"),
            # What closes nothing, in programs with errors.
            (r"[)\]}]", Punctuation),
        ],
        "space": [
            (r"\ufeff", Whitespace),
            (r"[ \t\r\n]+", Whitespace),
            (r"##(?!#).*", String.Doc),
            (r"#.*", Comment.Single),
        ],
        "import": [
            include("space"),
            (r"\(", Punctuation, ("#pop", "imported")),
            default("#pop"),
        ],
        "imported": [
            include("space"),
            (_UPPER, Name.Class),
            (_LOWER, Name),
            (r",", Punctuation),
            (r"\)", Punctuation, "#pop"),
            default("#pop"),
        ],
        # The right side of `type T = …`.
        "variants": [
            (_ITEM, Whitespace, "#pop"),
            include("space"),
            (rf"(\|)(\s*)({_UPPER})", bygroups(Punctuation, Whitespace, Name.Constant)),
            (rf"{_UPPER}(?=\s*(?:\(|\|(?!>)))", Name.Constant),
            (r"=", Operator),
            (r"\|", Punctuation),
            include("type-parts"),
            default("#pop"),
        ],
        # A type up to what cannot belong to it.
        "type": [
            (_ITEM, Whitespace, "#pop"),
            include("space"),
            include("type-parts"),
            default("#pop"),
        ],
        "type-parts": [
            (_word("Real|Int|Bool|String|List|Maybe"), Keyword.Type),
            (_UPPER, Name.Class),
            (rf"({_LOWER})(\s*)(\.)(?=\s*[{unistring.Lu}])", bygroups(Name.Namespace, Whitespace, Punctuation)),
            (_LOWER, Name.Variable),
            (r"\d+", Number.Integer),
            (r"->", Operator),
            (r"[(\[]", Punctuation, "type-nested"),
            (r"\{", Punctuation, "type-fields"),
        ],
        "type-nested": [
            (r"[)\]]", Punctuation, "#pop"),
            (r",", Punctuation),
            include("type"),
        ],
        "type-fields": [
            (r"\}", Punctuation, "#pop"),
            (rf"{_NAME}(?=\s*:)", Name.Attribute),
            (r'"', String.Double, "string"),
            (r"[,:]", Punctuation),
            include("type"),
        ],
        # From the name of a function or constant to its `=`.
        "signature": [
            (_ITEM, Whitespace, "#pop"),
            include("space"),
            (r"\(", Punctuation, "pattern"),
            (r"->", Operator, "type"),
            (r":(?!:)", Punctuation, "type"),
            (r"=(?!=)", Operator, "#pop"),
            default("#pop"),
        ],
        "pattern": [
            (r"[)}]", Punctuation, "#pop"),
            include("pattern-parts"),
            default("#pop"),
        ],
        "pattern-parts": [
            include("space"),
            (r"[({]", Punctuation, "pattern"),
            (r":(?!:)", Punctuation, "type"),
            (rf"{_NAME}(?=\s*=(?!=))", Name.Attribute),
            include("literals"),
            (_UPPER, Name.Constant),
            (rf"_{_BEHIND}", Name.Builtin.Pseudo),
            (_LOWER, Name),
            (r"::|=|-(?!>)", Operator),
            (r"[,.]", Punctuation),
        ],
        # From `fn` to its arrow.
        "function": [
            (r"->", Operator, "#pop"),
            include("pattern-parts"),
            default("#pop"),
        ],
        "literals": [
            (r'"', String.Double, "string"),
            (r"\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)", Number.Float),
            (r"\d+", Number.Integer),
            (_word("true|false"), Keyword.Constant),
        ],
        "string": [
            (r'\\(?:[nt"\\]|u\{[0-9a-fA-F]{1,6}\})', String.Escape),
            (r'[^"\\\n]+', String.Double),
            (r'"', String.Double, "#pop"),
            (r"(?=\n)", String.Double, "#pop"),
        ],
        "expression": [
            include("space"),
            (rf"{_capture('def')}(\s+)({_LOWER})(?=\s*\()",
             bygroups(Keyword.Declaration, Whitespace, Name.Function), "signature"),
            (rf"{_capture('def')}(\s+)({_LOWER})",
             bygroups(Keyword.Declaration, Whitespace, Name.Constant), "signature"),
            (rf"{_capture('let')}(\s+)(?:{_capture('rec')}(\s+))?({_LOWER})(?=\s*\()",
             bygroups(Keyword, Whitespace, Keyword, Whitespace, Name.Function), "signature"),
            (rf"{_capture('let|loop')}(\s+)({_LOWER})(?=\s*=(?!=))", bygroups(Keyword, Whitespace, Name.Variable)),
            (_word("fn"), Keyword, "function"),
            (r"\.\.", Operator),
            (r"(\.)(\s*)(\d+)", bygroups(Punctuation, Whitespace, Number.Integer)),
            (rf"(\.)(\s*)({_UPPER})", bygroups(Punctuation, Whitespace, Name.Constant)),
            (rf"(\.)(\s*)({_NAME})(?=\s*\()", bygroups(Punctuation, Whitespace, Name.Function)),
            (rf"(\.)(\s*)({_NAME})", bygroups(Punctuation, Whitespace, Name.Attribute)),
            (_word("def|type|import"), Keyword.Declaration),
            (_word("let|rec|in|if|then|else|case|of|loop|for|while|do|with|list"), Keyword),
            (_word("and|or|not"), Operator.Word),
            include("literals"),
            (_UPPER, Name.Constant),
            (words(_DERIVATIVES, prefix=_BEFORE, suffix=_BEHIND), Name.Builtin),
            (rf"_{_BEHIND}", Name.Builtin.Pseudo),
            (rf"{_LOWER}(?=\s*\()", Name.Function),
            (_LOWER, Name),
            (r":(?!:)", Punctuation, "type"),
            (r"[(\[]", Punctuation, "nested"),
            (r"\{", Punctuation, "braces"),
            (r"\|>|->|==|!=|<=|>=|::|\+\+|[-+*/%^<>=]", Operator),
            (r"[,|.]", Punctuation),
        ],
        "nested": [
            (r"[)\]]", Punctuation, "#pop"),
            include("expression"),
        ],
        # A record, or the arms of a case.
        "braces": [
            (r"\}", Punctuation, "#pop"),
            (rf"(?!(?:let|loop|fn)\s){_NAME}(?=\s*=(?!=))", Name.Attribute),
            include("expression"),
        ],
    }
