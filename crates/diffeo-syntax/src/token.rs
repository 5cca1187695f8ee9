//! The tokens of the language: what the lexer hands to the parser.
//!
//! A token is a kind with a range of bytes; its text is read from the source where it is needed.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind {
    Lower,
    Upper,
    Underscore,
    Int,
    Real,
    Str,
    /// A string without its end; reported by the lexer.
    BrokenStr,
    /// Characters of no token; reported by the lexer.
    Stray,
    Eof,

    Def,
    Type,
    Import,
    Let,
    Rec,
    In,
    Fn,
    If,
    Then,
    Else,
    Case,
    Of,
    Loop,
    For,
    While,
    Do,
    With,
    And,
    Or,
    Not,
    List,
    True,
    False,

    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Comma,
    Dot,
    DotDot,
    Colon,
    ColonColon,
    Eq,
    EqEq,
    BangEq,
    Lt,
    Le,
    Gt,
    Ge,
    Plus,
    PlusPlus,
    Minus,
    Arrow,
    Star,
    Slash,
    Percent,
    Caret,
    Bar,
    Pipe,

    // Not of the language, but of its neighbours: known so that the message can say what to write.
    ColonEq,
    Bang,
    FatArrow,
    StarStar,
    BarBar,
    AmpAmp,
    Semi,
    Backslash,
}

/// The keywords with their texts.
const KEYWORDS: [(&str, TokenKind); 23] = [
    ("def", TokenKind::Def),
    ("type", TokenKind::Type),
    ("import", TokenKind::Import),
    ("let", TokenKind::Let),
    ("rec", TokenKind::Rec),
    ("in", TokenKind::In),
    ("fn", TokenKind::Fn),
    ("if", TokenKind::If),
    ("then", TokenKind::Then),
    ("else", TokenKind::Else),
    ("case", TokenKind::Case),
    ("of", TokenKind::Of),
    ("loop", TokenKind::Loop),
    ("for", TokenKind::For),
    ("while", TokenKind::While),
    ("do", TokenKind::Do),
    ("with", TokenKind::With),
    ("and", TokenKind::And),
    ("or", TokenKind::Or),
    ("not", TokenKind::Not),
    ("list", TokenKind::List),
    ("true", TokenKind::True),
    ("false", TokenKind::False),
];

/// The keyword with this text.
pub(crate) fn keyword(text: &str) -> Option<TokenKind> {
    KEYWORDS.iter().find(|(word, _)| *word == text).map(|&(_, kind)| kind)
}

/// True of a keyword, which is no name.
pub fn is_keyword(text: &str) -> bool {
    keyword(text).is_some()
}

impl TokenKind {
    /// Whether it is a reserved word.
    pub(crate) fn is_keyword(self) -> bool {
        KEYWORDS.iter().any(|&(_, kind)| kind == self)
    }

    /// Whether a definition, a type or an import starts with it.
    pub(crate) fn is_item(self) -> bool {
        matches!(self, TokenKind::Def | TokenKind::Type | TokenKind::Import)
    }

    /// Whether an expression can start with it.
    pub(crate) fn starts_expr(self) -> bool {
        use TokenKind::*;
        self.starts_operand()
            || matches!(self, Let | Fn | If | Case | Loop | Not | Minus | Bang | Backslash)
    }

    /// Whether an operand can start with it: a name, a literal or something in brackets.
    pub(crate) fn starts_operand(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Lower
                | Upper
                | Underscore
                | Int
                | Real
                | Str
                | BrokenStr
                | True
                | False
                | List
                | LParen
                | LBracket
                | LBrace
        )
    }

    /// Whether an operand can end with it.
    pub(crate) fn ends_operand(self) -> bool {
        use TokenKind::*;
        matches!(self, Lower | Upper | Int | Real | Str | True | False | RParen | RBracket | RBrace)
    }

    /// Its text, if that is always the same.
    pub(crate) fn text(self) -> Option<&'static str> {
        use TokenKind::*;
        Some(match self {
            Lower | Upper | Int | Real | Str | BrokenStr | Stray | Eof => return None,
            Def | Type | Import | Let | Rec | In | Fn | If | Then | Else | Case | Of | Loop
            | For | While | Do | With | And | Or | Not | List | True | False => {
                return KEYWORDS.iter().find(|(_, kind)| *kind == self).map(|&(word, _)| word)
            }
            Underscore => "_",
            LParen => "(",
            RParen => ")",
            LBracket => "[",
            RBracket => "]",
            LBrace => "{",
            RBrace => "}",
            Comma => ",",
            Dot => ".",
            DotDot => "..",
            Colon => ":",
            ColonColon => "::",
            Eq => "=",
            EqEq => "==",
            BangEq => "!=",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
            Plus => "+",
            PlusPlus => "++",
            Minus => "-",
            Arrow => "->",
            Star => "*",
            Slash => "/",
            Percent => "%",
            Caret => "^",
            Bar => "|",
            Pipe => "|>",
            ColonEq => ":=",
            Bang => "!",
            FatArrow => "=>",
            StarStar => "**",
            BarBar => "||",
            AmpAmp => "&&",
            Semi => ";",
            Backslash => "\\",
        })
    }
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Token {
    /// Its bytes.
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
