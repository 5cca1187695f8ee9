//! What to do about a message, as data: each host writes it as its users do, and editors apply it.

use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// What to do about a message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Help {
    parts: Vec<Part>,
    /// The change of the text that does it, if one does.
    pub fix: Option<Fix>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(Cow<'static, str>),
    Option(CallOption, Option<&'static str>),
}

/// A change of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fix {
    /// This text at the place of the message.
    Replace(String),
    /// This line behind the imports.
    Import(String),
}

/// An option of calls and draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallOption {
    /// How many draws a chain has.
    Draws,
    /// What runs programs.
    Engine,
    /// How far from 0 chains begin.
    Init,
    /// The longest trajectories.
    MaxDepth,
    /// How draws are made.
    Method,
    /// The seed of random numbers.
    Seed,
    /// The acceptance that steps aim at.
    TargetAccept,
    /// How many draws a chain warms up.
    Warmup,
}

/// How users of a host write options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// `--draws 4000`
    CommandLine,
    /// As fields: `draws: 4000`, `engine: Engine::Reference`.
    Rust,
    /// As keyword arguments: `draws=4000`, `engine="interp"`.
    Python,
}

impl CallOption {
    /// Its name on the command line, and its field in Rust.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            CallOption::Draws => ("draws", "draws"),
            CallOption::Engine => ("engine", "engine"),
            CallOption::Init => ("init", "radius"),
            CallOption::MaxDepth => ("max-depth", "max_depth"),
            CallOption::Method => ("method", "method"),
            CallOption::Seed => ("seed", "seed"),
            CallOption::TargetAccept => ("target-accept", "target_accept"),
            CallOption::Warmup => ("warmup", "warmup"),
        }
    }

    fn written(self, value: Option<&str>, spelling: Spelling) -> String {
        let (name, field) = self.names();
        let is_number = value.is_some_and(|value| value.parse::<f64>().is_ok());
        match (spelling, value) {
            (Spelling::CommandLine, None) => format!("--{name}"),
            (Spelling::CommandLine, Some(value)) => format!("--{name} {value}"),
            (Spelling::Python, None) => name.replace('-', "_"),
            (Spelling::Python, Some(value)) => {
                let quote = if is_number { "" } else { "\"" };
                format!("{}={quote}{value}{quote}", name.replace('-', "_"))
            }
            (Spelling::Rust, None) => field.to_string(),
            (Spelling::Rust, Some(value)) if is_number => format!("{field}: {value}"),
            (Spelling::Rust, Some(value)) => {
                let variant = match (self, value) {
                    (CallOption::Engine, "interp") => "Reference".to_string(),
                    (CallOption::Engine, "auto" | "flat") => capitalised(value),
                    (CallOption::Engine, constant) => constant.to_uppercase(),
                    (_, "meanfield") => "MeanField".to_string(),
                    (_, _) => capitalised(value),
                };
                format!("{field}: {}::{variant}", capitalised(field))
            }
        }
    }
}

fn capitalised(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

impl Help {
    /// Another name is meant: it takes the place of what stands there.
    pub fn did_you_mean(name: impl Into<String>) -> Help {
        let name = name.into();
        Help { fix: Some(Fix::Replace(name.clone())), ..format!("did you mean `{name}`?").into() }
    }

    /// A member of a module is meant: it takes the place of the member that stands there.
    pub fn did_you_mean_member(module: &str, name: impl Into<String>) -> Help {
        let name = name.into();
        let text = format!("did you mean `{module}.{name}`?");
        Help { fix: Some(Fix::Replace(name)), ..text.into() }
    }

    /// What such a line of imports would do, said by a text that names it.
    pub fn import(line: impl Into<String>, text: impl Into<Cow<'static, str>>) -> Help {
        Help { parts: vec![Part::Text(text.into())], fix: Some(Fix::Import(line.into())) }
    }

    /// More text.
    #[must_use]
    pub fn text(mut self, text: impl Into<Cow<'static, str>>) -> Help {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// The name of an option.
    #[must_use]
    pub fn option(mut self, option: CallOption) -> Help {
        self.parts.push(Part::Option(option, None));
        self
    }

    /// An option with a value.
    #[must_use]
    pub fn option_of(mut self, option: CallOption, value: &'static str) -> Help {
        self.parts.push(Part::Option(option, Some(value)));
        self
    }

    /// The text for the users of a host.
    pub fn written(&self, spelling: Spelling) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Option(option, value) => format!("`{}`", option.written(*value, spelling)).into(),
        };
        self.parts.iter().map(part).collect()
    }

    /// The same help with other texts.
    #[must_use]
    pub fn map_texts(&self, mut f: impl FnMut(&str) -> String) -> Help {
        let part = |part: &Part| match part {
            Part::Text(text) => Part::Text(f(text).into()),
            Part::Option(..) => part.clone(),
        };
        Help { parts: self.parts.iter().map(part).collect(), fix: self.fix.clone() }
    }
}

impl From<&'static str> for Help {
    fn from(text: &'static str) -> Help {
        Help::default().text(text)
    }
}

impl From<String> for Help {
    fn from(text: String) -> Help {
        Help::default().text(text)
    }
}

/// As on the command line.
impl Serialize for Help {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written(Spelling::CommandLine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_as_the_users_of_a_host_do() {
        let help = Help::from("aim higher, ")
            .option_of(CallOption::TargetAccept, "0.95")
            .text("; ")
            .option(CallOption::Seed)
            .text(", ")
            .option_of(CallOption::Init, "0.1")
            .text("; ")
            .option_of(CallOption::Method, "nuts")
            .text(" draws, ")
            .option_of(CallOption::Engine, "interp")
            .text(" tells; `--arg x=1`");
        let [line, rust, python] = [Spelling::CommandLine, Spelling::Rust, Spelling::Python]
            .map(|spelling| help.written(spelling));
        assert_eq!(line, "aim higher, `--target-accept 0.95`; `--seed`, `--init 0.1`; `--method nuts` draws, `--engine interp` tells; `--arg x=1`");
        assert_eq!(rust, "aim higher, `target_accept: 0.95`; `seed`, `radius: 0.1`; `method: Method::Nuts` draws, `engine: Engine::Reference` tells; `--arg x=1`");
        assert_eq!(python, "aim higher, `target_accept=0.95`; `seed`, `init=0.1`; `method=\"nuts\"` draws, `engine=\"interp\"` tells; `--arg x=1`");
    }

    #[test]
    fn a_fix_is_what_the_text_says() {
        let help = Help::did_you_mean("total");
        assert_eq!(help.written(Spelling::Rust), "did you mean `total`?");
        assert_eq!(help.fix, Some(Fix::Replace("total".to_string())));
    }
}
