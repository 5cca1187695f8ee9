//! The forms in which `diffeo show` prints a program: how they are written, read and completed.

use super::jet;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use diffeo::pipeline::CodeForm;
use diffeo::show::{Traced, Translation};
use diffeo_base::closest;
use diffeo_calculus::eval::derivative::jet_coefficients;

/// A form of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The syntax tree.
    Ast,
    /// The types of the definitions.
    Types,
    /// The calculus.
    Core,
    /// The first-order array language, after this pass or after the last.
    Flat(Option<&'static str>),
    /// Low, after this pass.
    Low(&'static str),
    /// A form behind that.
    Code(CodeForm),
    /// StableHLO, for arrays of given sizes.
    StableHlo,
    /// The trace at a point, or its derivative.
    Trace(Traced),
    /// The program that a system translates it to, or the Delta of that at a point.
    Translated(Translation),
}

impl Form {
    /// How it is written.
    pub fn name(&self) -> String {
        match self {
            Form::Ast => "ast".to_string(),
            Form::Types => "types".to_string(),
            Form::Core => "core".to_string(),
            Form::Flat(None) => "flat".to_string(),
            Form::Flat(Some(pass)) => format!("flat:{pass}"),
            Form::Low(pass) => format!("low:{pass}"),
            Form::Code(code) => code.name().to_string(),
            Form::StableHlo => "stablehlo".to_string(),
            Form::Trace(traced) => traced.name().to_string(),
            Form::Translated(translation) => translation.name(),
        }
    }

    /// A language after one of its passes.
    fn after(
        language: &str,
        pass: &str,
        passes: impl Iterator<Item = &'static str>,
        form: impl Fn(&'static str) -> Form,
    ) -> Result<Form, String> {
        let passes: Vec<&str> = passes.collect();
        let found = passes.iter().find(|name| **name == pass);
        found.map(|pass| form(pass)).ok_or_else(|| {
            let names: Vec<String> = passes.iter().map(|p| format!("{language}:{p}")).collect();
            format!("there is no such pass; there are {}", names.join(", "))
        })
    }

    /// Reads a form.
    fn parse(text: &str) -> Result<Form, String> {
        let forms = [
            Form::Ast,
            Form::Types,
            Form::Core,
            Form::Flat(None),
            Form::StableHlo,
            Form::Trace(Traced::Function),
            Form::Trace(Traced::Printed),
            Form::Trace(Traced::Linear),
            Form::Translated(Translation::Forward),
            Form::Translated(Translation::Mixed),
            Form::Translated(Translation::Vector),
            Form::Translated(Translation::DeltaNaive),
            Form::Translated(Translation::DELTA),
            Form::Translated(Translation::DELTA_ARRAY),
            Form::Translated(Translation::DELTA_SPLIT),
        ];
        let mut forms = forms.into_iter().chain(CodeForm::ALL.map(Form::Code));
        if let Some(form) = forms.find(|form| form.name() == text) {
            return Ok(form);
        }
        match text.split_once(':') {
            Some(("taylor", numbers)) => {
                let (k, r) = jet(numbers)
                    .map_err(|why| format!("taylor:K,R is meant, or taylor:2,2-mixed; {why}"))?;
                if jet_coefficients(k.into(), r.into()) > MOST_COMPONENTS {
                    return Err(format!(
                        "it has more than {MOST_COMPONENTS} components for each Real: \
                         ask for fewer variables or a lower order"
                    ));
                }
                Ok(Form::Translated(Translation::Taylor { k, r }))
            }
            Some(("flat", pass)) => {
                let form = |pass| Form::Flat(Some(pass));
                Form::after("flat", pass, diffeo::pipeline::passes(), form)
            }
            Some(("low", pass)) => {
                Form::after("low", pass, diffeo::pipeline::low_passes(), Form::Low)
            }
            _ if text == "taylor" => {
                Err("how many variables and which order? taylor:1,1 is dual numbers".to_string())
            }
            _ => {
                let names = FORMS.iter().copied();
                let near = closest(text, names.clone());
                let near = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
                let names: Vec<&str> = names.collect();
                Err(format!("the forms are {}{near}", names.join(", ")))
            }
        }
    }
}

/// The most components of a Real in a translated program that is shown.
const MOST_COMPONENTS: u64 = 100;

/// How the forms are written.
const FORMS: &[&str] = &[
    "types",
    "ast",
    "core",
    "flat",
    "flat:PASS",
    "low",
    "low:PASS",
    "clif",
    "llvm",
    "c",
    "stablehlo",
    "trace",
    "trace-reverse",
    "trace-linear",
    "forward",
    "taylor:K,R",
    "taylor:2,2-mixed",
    "vector",
    "delta-naive",
    "delta",
    "delta-array",
    "delta-split",
];

/// Reads a form, and names them for completions.
#[derive(Clone)]
pub(super) struct FormParser;

impl TypedValueParser for FormParser {
    type Value = Form;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Form, clap::Error> {
        let parser = StringValueParser::new().try_map(|text| Form::parse(&text));
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let name = |form: &&'static str| match *form {
            "taylor:K,R" => PossibleValue::new("taylor:1,1").hide(true),
            form => PossibleValue::new(form).hide(true),
        };
        Some(Box::new(FORMS.iter().map(name).collect::<Vec<_>>().into_iter()))
    }
}
