//! How messages write options. Their texts have them as the command line does, in backquotes: `--draws 4000`.

use super::Error;
use diffeo_front::Message;

/// How the caller writes options, so that messages advise what can be written there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spelling {
    /// As fields: `draws: 4000`, `engine: Engine::Evaluator`.
    #[default]
    Rust,
    /// As keyword arguments: `draws=4000`, `engine="interp"`.
    Python,
    /// As they stand: `--draws 4000`.
    CommandLine,
}

/// The options that calls and draws have: on the command line, in Rust.
const OPTIONS: [(&str, &str); 9] = [
    ("draws", "draws"),
    ("engine", "engine"),
    ("init", "radius"),
    ("kinks", "kinks"),
    ("max-depth", "max_depth"),
    ("method", "method"),
    ("seed", "seed"),
    ("target-accept", "target_accept"),
    ("warmup", "warmup"),
];

impl Spelling {
    fn option(self, name: &str, value: Option<&str>) -> Option<String> {
        let (_, field) = OPTIONS.iter().find(|(option, _)| *option == name)?;
        let key = name.replace('-', "_");
        Some(match (self, value) {
            (Spelling::CommandLine, _) => return None,
            (Spelling::Python, None) => key,
            (Spelling::Rust, None) => field.to_string(),
            (Spelling::Python, Some(value)) => match value.parse::<f64>() {
                Ok(_) => format!("{key}={value}"),
                Err(_) => format!("{key}=\"{value}\""),
            },
            (Spelling::Rust, Some(value)) => {
                let ty = field[..1].to_uppercase() + &field[1..];
                match value {
                    "interp" => format!("{field}: {ty}::Evaluator"),
                    "meanfield" => format!("{field}: {ty}::MeanField"),
                    _ if value.parse::<f64>().is_ok() => format!("{field}: {value}"),
                    _ => format!("{field}: {ty}::{}{}", value[..1].to_uppercase(), &value[1..]),
                }
            }
        })
    }

    fn text(self, text: &str) -> String {
        let quoted = text.split('`').enumerate().map(|(i, part)| {
            let option = part.strip_prefix("--").filter(|_| i % 2 == 1);
            let spelled = option.and_then(|option| match option.split_once(' ') {
                Some((name, value)) => self.option(name, Some(value)),
                None => self.option(option, None),
            });
            spelled.unwrap_or_else(|| part.to_string())
        });
        quoted.collect::<Vec<String>>().join("`")
    }

    /// A message with the options as the caller writes them.
    pub(crate) fn message(self, mut message: Message) -> Message {
        message.help = message.help.map(|help| self.text(&help));
        for note in &mut message.notes {
            *note = self.text(note);
        }
        message
    }

    /// An error whose messages have the options as the caller writes them.
    pub(crate) fn error(self, error: Error) -> Error {
        Error { messages: error.messages.into_iter().map(|m| self.message(m)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_as_the_caller_does() {
        let text = "aim higher, `--target-accept 0.95`; `--seed`, `--init 0.1`; `--method nuts` draws, `--engine interp` \
                    tells; `diffeo grad --check`, `--arg x=1`";
        let python = "aim higher, `target_accept=0.95`; `seed`, `init=0.1`; `method=\"nuts\"` draws, `engine=\"interp\"` \
                      tells; `diffeo grad --check`, `--arg x=1`";
        let rust = "aim higher, `target_accept: 0.95`; `seed`, `radius: 0.1`; `method: Method::Nuts` draws, \
                    `engine: Engine::Evaluator` tells; `diffeo grad --check`, `--arg x=1`";
        assert_eq!(Spelling::Python.text(text), python);
        assert_eq!(Spelling::Rust.text(text), rust);
        assert_eq!(Spelling::CommandLine.text(text), text);
    }
}
