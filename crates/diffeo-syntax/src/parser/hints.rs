//! Guesses which habit from another language led to the next token, and says what to write instead.
//!
//! Words and signs are looked up in the table of [`diffeo_base::foreign`]; patterns of several tokens are recognised
//! here, with the names that the user wrote. Where no pattern truly matches there is no help.

use super::{Parser, SyntaxLevel};
use crate::token::{Token, TokenKind};
use diffeo_base::foreign::{replacement, Role};

/// How many arguments of a call a help writes out.
const MOST_ARGUMENTS: usize = 6;

/// How other languages start a function.
pub(super) fn is_lambda_word(word: &str) -> bool {
    matches!(word, "lambda" | "function" | "fun" | "func")
}

/// Whether it is a sign: what a run of signs is made of.
fn is_sign(kind: TokenKind) -> bool {
    use TokenKind::*;
    match kind {
        Dot | DotDot | Colon | ColonColon | Eq | EqEq | BangEq | Lt | Le | Gt | Ge | Plus
        | PlusPlus | Minus | Arrow | Star | Slash | Percent | Caret | Bar | Pipe | ColonEq
        | Bang | FatArrow | StarStar | BarBar | AmpAmp | Semi | Backslash => true,
        Lower | Upper | Underscore | Int | Real | Str | BrokenStr | Stray | Eof | Def | Type
        | Import | Let | Rec | In | Fn | If | Then | Else | Case | Of | Loop | For | While | Do
        | With | And | Or | Not | List | True | False | LParen | RParen | LBracket | RBracket
        | LBrace | RBrace | Comma => false,
    }
}

impl Parser<'_> {
    /// The help for the next token, which is not what is expected.
    pub(super) fn hint(&self) -> Option<String> {
        let kind = self.kind();
        if let Some(help) = self.sign_hint() {
            return Some(help);
        }
        if kind == TokenKind::Lower || kind.is_keyword() {
            if let Some(help) = replacement(Role::Infix, self.text_of(self.token(0))) {
                return Some(help.into());
            }
        }
        let previous = self.previous()?;
        let same_line = !self.on_new_line();
        match kind {
            // What stands on a line of its own begins something.
            _ if !same_line => None,
            _ if self.level == SyntaxLevel::Type || self.level == SyntaxLevel::Pattern => {
                let name = self.text_of(previous);
                let argument = match kind {
                    TokenKind::Upper | TokenKind::LBrace => true,
                    // Otherwise a comma is missing before the next parameter.
                    TokenKind::Lower => self.next_kind() != TokenKind::Colon,
                    _ => false,
                };
                let takes_some = previous.kind == TokenKind::Upper
                    && !matches!(name, "Real" | "Int" | "Bool" | "String");
                (argument && takes_some).then(|| match replacement(Role::Type, name) {
                    Some(help) => help.into(),
                    None => format!("type arguments stand in brackets: `{name}[T]`"),
                })
            }
            TokenKind::LBrace if previous.kind == TokenKind::Upper => {
                let name = self.text_of(previous);
                Some(format!(
                    "a record is written `{{x = e}}`, in a constructor `{name}({{x = e}})`"
                ))
            }
            TokenKind::LBrace => None,
            _ if previous.kind.ends_operand() && kind.starts_operand() => {
                self.juxtaposition_hint(previous)
            }
            _ => None,
        }
    }

    /// The help for a sign, or for several without a space between them.
    fn sign_hint(&self) -> Option<String> {
        let touches = |a: Token, b: Token| is_sign(a.kind) && is_sign(b.kind) && a.end == b.start;
        let here = self.token(0);
        if !is_sign(here.kind) {
            let counted = self.previous().filter(|p| p.kind == TokenKind::PlusPlus)?;
            return replacement(Role::Sign, self.text_of(counted)).map(str::to_owned);
        }
        // `(*` and `{-` start comments elsewhere.
        let comments =
            [(TokenKind::LParen, TokenKind::Star), (TokenKind::LBrace, TokenKind::Minus)];
        if let Some(open) = self.previous().filter(|p| p.end == here.start) {
            let alone = self.token(1).start > here.end;
            if alone && comments.contains(&(open.kind, here.kind)) {
                return replacement(Role::Sign, "--").map(str::to_owned);
            }
            if open.kind == TokenKind::LParen && self.next_kind() == TokenKind::RParen {
                let sign = self.text_of(here);
                return Some(format!("an operator as a function is `fn (a, b) -> a {sign} b`"));
            }
        }
        let (mut first, mut last) = (here, here);
        let before = self.tokens[..self.pos].iter().rev();
        for token in before.take_while(|t| is_sign(t.kind)) {
            if !touches(*token, first) {
                break;
            }
            first = *token;
        }
        for token in self.tokens[self.pos..].iter().skip(1).take_while(|t| is_sign(t.kind)) {
            if !touches(last, *token) {
                break;
            }
            last = *token;
        }
        let run = self.text.get(first.start as usize..last.end as usize).unwrap_or("");
        if let Some(help) = replacement(Role::Sign, run) {
            let of_array = run == "|" && self.open[1] > 0 && self.open[2] == 0;
            let comprehension = "a comprehension is written `[e for x in xs]`";
            return Some(if of_array { comprehension } else { help }.into());
        }
        let previous = self.previous();
        let before = previous.map_or(TokenKind::Eof, |t| t.kind);
        let help = match here.kind {
            TokenKind::Bang if before == TokenKind::Lower => {
                let name = previous.map_or("", |t| self.text_of(t));
                return Some(match replacement(Role::Value, name) {
                    Some(help) => help.into(),
                    None => format!("leave out the `!`: a function is applied as `{name}(x)`"),
                });
            }
            TokenKind::Eq => "`=` binds a name; `==` compares",
            TokenKind::Colon if self.slice_of_column().is_some() => return self.slice_of_column(),
            TokenKind::Colon | TokenKind::ColonColon if self.open[1] > 0 => {
                "a slice is written `xs[a..b]`: `xs[0..b]` from the beginning, `xs[a..length(xs)]` to the end"
            }
            TokenKind::Colon if is_lambda_word(previous.map_or("", |t| self.text_of(t))) => {
                "a function is written `fn x -> e`"
            }
            TokenKind::Colon if matches!(before, TokenKind::Lower | TokenKind::RParen) => {
                "a type is given to a pattern, in parentheses: `(x: T)`"
            }
            TokenKind::Colon if matches!(before, TokenKind::Int | TokenKind::Real) => {
                "`iota(n)` is the array of 0 to n - 1; a type is given to a pattern: `(x: T)`"
            }
            TokenKind::Dot if matches!(self.next_kind(), TokenKind::Int | TokenKind::Real) => {
                "a Real literal starts with a digit: `0.5`"
            }
            TokenKind::Lt
                if before == TokenKind::Lower && self.level == SyntaxLevel::Definition =>
            {
                "type variables need no declaration: `def id(x: a) -> a = x`"
            }
            TokenKind::Lt if before == TokenKind::Upper => {
                "type arguments stand in brackets: `List[T]`"
            }
            _ => return None,
        };
        Some(help.into())
    }

    /// The help for the `:` of `a[:, 0]` and of `a[0, :]`.
    fn slice_of_column(&self) -> Option<String> {
        let back = |n: usize| self.pos.checked_sub(n).map(|at| self.tokens[at]);
        let name =
            |t: Token| Some(self.text_of(t)).filter(|s| t.kind == TokenKind::Lower && s.len() < 30);
        let index = |t: Token| {
            let simple = matches!(t.kind, TokenKind::Int | TokenKind::Lower);
            Some(self.text_of(t)).filter(|s| simple && s.len() < 30)
        };
        let kinds = |tokens: [Token; 2]| tokens.map(|t| t.kind);
        if self.next_kind() == TokenKind::Comma {
            let (a, i) = (name(back(2)?)?, index(self.token(2))?);
            let is_column =
                back(1)?.kind == TokenKind::LBracket && self.token(3).kind == TokenKind::RBracket;
            return is_column
                .then(|| format!("the column {i} of `{a}` is `[row[{i}] for row in {a}]`"));
        }
        let (a, i) = (name(back(4)?)?, index(back(2)?)?);
        let is_row = kinds([back(3)?, back(1)?]) == [TokenKind::LBracket, TokenKind::Comma]
            && self.next_kind() == TokenKind::RBracket;
        is_row.then(|| {
            format!("the row {i} of `{a}` is `{a}[{i}]`, its column `[row[{i}] for row in {a}]`")
        })
    }

    /// The help where two operands stand side by side.
    fn juxtaposition_hint(&self, previous: Token) -> Option<String> {
        let (word, found) = (self.text_of(previous), self.text_of(self.token(0)));
        let adjacent = self.previous_end() == self.start();
        let short = |text: &str| text.len() < 30;
        match previous.kind {
            TokenKind::Lower => {
                let foreign = replacement(Role::Word, word).or(replacement(Role::Value, word));
                if let Some(help) = foreign {
                    return Some(help.into());
                }
                if adjacent && self.at(TokenKind::Str) {
                    return Some("a value is put into a string with `\"x = \" ++ show(x)`".into());
                }
                Some(match short(word) {
                    true => {
                        let args = self.written_arguments();
                        format!("a function is applied with parentheses: `{word}({args})`")
                    }
                    false => "a function is applied with parentheses: `f(x)`".into(),
                })
            }
            TokenKind::Upper if short(word) => {
                let args = self.written_arguments();
                Some(format!("a constructor is applied with parentheses: `{word}({args})`"))
            }
            TokenKind::Str if self.at(TokenKind::Str) && adjacent => {
                Some("a string has one `\"` at each end; a line break in it is `\\n`".into())
            }
            TokenKind::Str if self.at(TokenKind::Str) => {
                Some("strings are joined with `++`".into())
            }
            TokenKind::Int | TokenKind::Real => {
                if let Some(help) = self.number_hint(word, found).filter(|_| adjacent) {
                    return Some(help);
                }
                let product =
                    matches!(self.kind(), TokenKind::Lower | TokenKind::LParen) && short(found);
                product.then(|| {
                    let found = if self.at(TokenKind::LParen) { "(…)" } else { found };
                    format!("a multiplication is written with `*`: `{word} * {found}`")
                })
            }
            _ => None,
        }
    }

    /// The operands on this line, from here on, as the arguments of a call.
    fn written_arguments(&self) -> String {
        let mut arguments = Vec::new();
        for token in self.tokens[self.pos..].iter().take(MOST_ARGUMENTS) {
            let text = self.text_of(*token);
            let simple = token.kind.ends_operand() && token.kind.starts_operand();
            if !simple || text.len() > 30 {
                // Where more follows that is not a name or a literal, it is left out.
                if token.kind.starts_operand() {
                    arguments.push("…");
                }
                break;
            }
            let line = self.text.get(self.start()..token.start as usize).unwrap_or("");
            if line.contains('\n') {
                break;
            }
            arguments.push(text);
        }
        arguments.join(", ")
    }

    /// The help for a number with letters right behind it.
    fn number_hint(&self, digits: &str, rest: &str) -> Option<String> {
        if rest.starts_with('_') && rest.bytes().all(|b| b == b'_' || b.is_ascii_digit()) {
            let plain = format!("{digits}{rest}").replace('_', "");
            return Some(format!("a number is written without `_` between its digits: `{plain}`"));
        }
        let radix = match rest.as_bytes().first()? {
            b'x' => 16,
            b'b' => 2,
            b'o' => 8,
            _ => 10,
        };
        if let (true, Ok(value)) =
            (digits == "0", i64::from_str_radix(rest.get(1..).unwrap_or_default(), radix))
        {
            return Some(format!("numbers are written in decimal digits: `{value}`"));
        }
        let suffix = matches!(
            rest,
            "i8" | "i16"
                | "i32"
                | "i64"
                | "u8"
                | "u16"
                | "u32"
                | "u64"
                | "usize"
                | "isize"
                | "L"
                | "f"
                | "f32"
                | "f64"
                | "F"
                | "d"
        );
        suffix.then(|| "a number has no suffix: `1` is an Int or a Real, `1.0` a Real".into())
    }

    /// Whether an `in` for the `let` whose value ends here comes later in this item: then it is the value that is
    /// wrong, and not the `in` that is missing.
    pub(super) fn in_comes(&self) -> bool {
        let mut nested = 0usize;
        for token in &self.tokens[self.pos..] {
            match token.kind {
                TokenKind::Let => nested += 1,
                TokenKind::In if nested == 0 => return true,
                TokenKind::In => nested -= 1,
                TokenKind::Def | TokenKind::Type | TokenKind::Import | TokenKind::Eof => {
                    return false
                }
                _ => {}
            }
        }
        false
    }
}
