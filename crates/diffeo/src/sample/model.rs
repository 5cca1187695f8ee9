//! Models: from the definitions of a program to a log density of unconstrained vectors.
//!
//! What comes in are names of definitions and data: a log density of a record of parameters and a record of data, the
//! definition `parameters` that says what values each parameter takes (see `std/bayes.deo`), and perhaps one that makes
//! predictions. What goes out are functions of vectors: expressions of the language, in the scope of the program, that put
//! the transforms of `std/bayes.deo` before these definitions.

use crate::host::{Error, Function, HostOptions, Program, Type, Types, Value};
use diffeo_base::{closest, Help, Name};
use diffeo_calculus::ty::WellKnown;
use std::fmt::Write;

/// The names under which expressions see modules of the library; nothing in a program is called so.
const MODULES: &[(&str, &str)] = &[("bayes'", "bayes"), ("random'", "random")];

/// The most unconstrained Reals of a model.
const MOST: usize = 1 << 24;

/// What values a parameter takes: `Parameter` of `std/bayes.deo`.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Support {
    Free,
    Positive,
    Above(f64),
    Below(f64),
    Between(f64, f64),
    Simplex(usize),
    Ordered(usize),
    PositiveOrdered(usize),
    UnitVector(usize),
    CholeskyCorrelation(usize),
    Correlation(usize),
    CholeskyCovariance(usize),
    Covariance(usize),
    Array(usize, Box<Support>),
}

/// A Real as a literal of the language.
fn literal(x: f64) -> String {
    format!("({x:?})")
}

impl Support {
    /// The kind that a value of `Parameter` says.
    fn read(value: &Value<'_>) -> Result<Support, String> {
        let Value::Variant(name, fields) = value else {
            return Err("it is no `Parameter` of the module `bayes`".to_string());
        };
        let size = |least: i64| match fields.first() {
            Some(Value::Int(n)) if *n >= least && *n <= MOST as i64 => Ok(*n as usize),
            Some(Value::Int(n)) => Err(format!("the size of `{name}` is {n}")),
            _ => Err(format!("`{name}` has no size")),
        };
        let bound = |i: usize| match fields.get(i) {
            Some(Value::Real(x)) if x.is_finite() => Ok(*x),
            Some(Value::Real(x)) => Err(format!(
                "a bound of `{name}` is {x}: leave it out by `Above`, `Below` or `Free`"
            )),
            _ => Err(format!("`{name}` has no bound")),
        };
        Ok(match &**name {
            "Free" => Support::Free,
            "Positive" => Support::Positive,
            "Above" => Support::Above(bound(0)?),
            "Below" => Support::Below(bound(0)?),
            "Between" => {
                let (low, high) = (bound(0)?, bound(1)?);
                if low >= high {
                    return Err(format!(
                        "in `Between({low:?}, {high:?})` no Real is between the bounds"
                    ));
                }
                Support::Between(low, high)
            }
            "Simplex" => Support::Simplex(size(1)?),
            "Ordered" => Support::Ordered(size(0)?),
            "PositiveOrdered" => Support::PositiveOrdered(size(0)?),
            "UnitVector" => Support::UnitVector(size(1)?),
            "CholeskyCorrelation" => Support::CholeskyCorrelation(size(1)?),
            "Correlation" => Support::Correlation(size(1)?),
            "CholeskyCovariance" => Support::CholeskyCovariance(size(1)?),
            "Covariance" => Support::Covariance(size(1)?),
            "Array" => match fields.get(1) {
                Some(of) => Support::Array(size(0)?, Box::new(Support::read(of)?)),
                None => return Err("`Array` has no kind of its elements".to_string()),
            },
            _ => return Err(format!("`{name}` is no kind of parameter")),
        })
    }

    /// How many unconstrained Reals it is made of.
    pub fn reals(&self) -> usize {
        match self {
            Support::Free
            | Support::Positive
            | Support::Above(_)
            | Support::Below(_)
            | Support::Between(..) => 1,
            Support::Simplex(n) => n - 1,
            Support::Ordered(n) | Support::PositiveOrdered(n) | Support::UnitVector(n) => *n,
            Support::CholeskyCorrelation(n) | Support::Correlation(n) => {
                n.saturating_mul(n - 1) / 2
            }
            Support::CholeskyCovariance(n) | Support::Covariance(n) => n.saturating_mul(n + 1) / 2,
            Support::Array(n, of) => n.saturating_mul(of.reals()),
        }
    }

    /// The sizes of its value, which is an array of so many indices.
    pub fn sizes(&self) -> Vec<usize> {
        match self {
            Support::Free
            | Support::Positive
            | Support::Above(_)
            | Support::Below(_)
            | Support::Between(..) => Vec::new(),
            Support::Simplex(n)
            | Support::Ordered(n)
            | Support::PositiveOrdered(n)
            | Support::UnitVector(n) => vec![*n],
            Support::CholeskyCorrelation(n)
            | Support::Correlation(n)
            | Support::CholeskyCovariance(n)
            | Support::Covariance(n) => vec![*n, *n],
            Support::Array(n, of) => std::iter::once(*n).chain(of.sizes()).collect(),
        }
    }

    fn ty(&self) -> Type {
        self.sizes().iter().fold(Type::Real, |ty, _| Type::array(ty))
    }

    /// The pair of value and log Jacobian, made of the Reals of `x'` from `at` on.
    fn text(&self, at: &str, depth: usize) -> String {
        let one = |function: &str, rest: &str| format!("bayes'.{function}({rest}x'[{at}])");
        let slice = format!("x'[{at}..{at} + {}]", self.reals());
        let many = |function: &str| format!("bayes'.{function}({slice})");
        let matrix = |function: &str, n: usize| format!("bayes'.{function}({n}, {slice})");
        match self {
            Support::Free => format!("(x'[{at}], 0.0)"),
            Support::Positive => one("positive", ""),
            Support::Above(low) => one("above", &format!("{}, ", literal(*low))),
            Support::Below(high) => one("below", &format!("{}, ", literal(*high))),
            Support::Between(low, high) => {
                one("between", &format!("{}, {}, ", literal(*low), literal(*high)))
            }
            Support::Simplex(_) => many("simplex"),
            Support::Ordered(_) => many("ordered"),
            Support::PositiveOrdered(_) => many("positive_ordered"),
            Support::UnitVector(_) => many("unit_vector"),
            Support::CholeskyCorrelation(n) => matrix("cholesky_correlation", *n),
            Support::Correlation(n) => matrix("correlation", *n),
            Support::CholeskyCovariance(n) => matrix("cholesky_covariance", *n),
            Support::Covariance(n) => matrix("covariance", *n),
            Support::Array(_, of) if **of == Support::Free => format!("({slice}, 0.0)"),
            Support::Array(n, of) => {
                let i = format!("i{depth}'");
                let element = of.text(&format!("{at} + {i} * {}", of.reals()), depth + 1);
                format!("bayes'.all_of([{element} for {i} < {n}])")
            }
        }
    }
}

/// A parameter, or a value that is predicted.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The sizes of the array that it is; none of a number.
    pub sizes: Vec<usize>,
}

impl Variable {
    /// How many numbers it consists of.
    pub fn width(&self) -> usize {
        self.sizes.iter().product()
    }
}

/// The definitions that make a model.
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    /// The log density.
    pub density: &'n str,
    /// What says what values parameters take: where it is not there, they are Reals.
    pub parameters: &'n str,
    /// What makes predictions of parameters, data and a key.
    pub predict: Option<&'n str>,
}

/// The definitions of a model, before there are data.
pub(super) struct ModelDefinitions {
    density: Function,
    /// The function or constant, if there is one.
    parameters: Option<Function>,
    predict: Option<Predict>,
    /// The names and types of the density's parameters.
    fields: Vec<(Name, Type)>,
    takes_data: bool,
}

struct Predict {
    function: Function,
    takes_data: bool,
    takes_key: bool,
}

/// A model with its data.
pub(super) struct Model {
    pub parameters: Vec<Variable>,
    /// How many Reals a point has.
    pub dimension: usize,
    /// Value and gradient at a point and the data.
    pub gradient: Function,
    /// The log density at a point and the data.
    pub density: Function,
    /// The same as text: of a point `x'` and the data `d'`.
    pub text: String,
    pub data: Option<Value<'static>>,
    /// The parameters at a point.
    pub constrain: Function,
    /// Predictions at a point, the data and a seed, with the data that they take.
    pub predict: Option<(Function, Option<Value<'static>>)>,
    /// The text of the parameter that each Real of a point belongs to.
    pub coordinates: Vec<String>,
}

fn wrong(message: String, help: impl Into<Help>) -> Error {
    let mut message = crate::Message::error("model", message);
    let help = help.into();
    message.help = (help != Help::default()).then_some(help);
    Error::one(message)
}

const FORM: &str = "a log density takes a record of parameters, and perhaps a record of data, and gives a Real: `def log_density(p: {mean: Real, sd: Real}, d: {y: [n]Real}) -> Real = …`";

/// The fields of a record.
fn record(ty: &Type) -> Option<&[(Name, Type)]> {
    match ty {
        Type::Record(fields) => Some(fields),
        _ => None,
    }
}

impl ModelDefinitions {
    /// Looks the definitions up in a program.
    ///
    /// # Errors
    /// There is none of this name, or it is not what a model is made of.
    pub fn new(
        program: &Program,
        names: Names<'_>,
        options: &HostOptions,
    ) -> Result<ModelDefinitions, Error> {
        let density = program.callable(names.density, options.clone())?;
        let signature = || format!("`{}` is {}", names.density, density.signature());
        let refused = || wrong(format!("no log density: {}", signature()), FORM);
        let (from, to) = match density.ty() {
            Type::Function(f) => (&f.0, &f.1),
            _ => return Err(refused()),
        };
        if *to != Type::Real {
            return Err(refused());
        }
        let (point, data) = match from {
            Type::Tuple(parts) if parts.len() == 2 => (&parts[0], Some(&parts[1])),
            ty => (ty, None),
        };
        let fields = record(point).ok_or_else(refused)?.to_vec();
        if data.is_some_and(|data| record(data).is_none()) {
            return Err(refused());
        }
        let takes_data = data.is_some();
        let known = program.is_function(names.parameters).is_some();
        let parameters = match known {
            true => Some(program.callable(names.parameters, options.clone())?),
            false => None,
        };
        if let Some(function) = &parameters {
            let (takes, gives) = match function.ty() {
                Type::Function(f) => (Some(&f.0), &f.1),
                ty => (None, ty),
            };
            let is_kind = |(_, ty): &(Name, Type)| ty.is(WellKnown::Parameter);
            let kinds = record(gives).is_some_and(|fields| fields.iter().all(is_kind));
            if !kinds || takes.is_some_and(|ty| record(ty).is_none()) {
                let message = format!(
                    "`{}` is {}, but it is to say what values parameters take",
                    names.parameters,
                    function.signature()
                );
                return Err(wrong(message, "it is a record, or a function of a record of data that gives one, with a `Parameter` of the module `bayes` for each parameter: `def parameters = {mean = bayes.Free, sd = bayes.Positive}`"));
            }
        }
        let predict = match names.predict {
            None => None,
            Some(name) => Some(Predict::new(program.callable(name, options.clone())?, point)?),
        };
        Ok(ModelDefinitions { density, parameters, predict, fields, takes_data })
    }

    /// The names and types of all data that the definitions take.
    pub fn data(&self) -> Vec<(Name, Type)> {
        let mut all: Vec<(Name, Type)> = Vec::new();
        for taken in self.takers() {
            for (name, ty) in taken {
                if !all.iter().any(|(known, _)| known == name) {
                    all.push((name.clone(), ty.clone()));
                }
            }
        }
        all
    }

    /// The variant types that the definitions mention.
    pub fn types(&self) -> Types {
        let predict = self.predict.as_ref().map(|predict| &predict.function);
        let all = [Some(&self.density), self.parameters.as_ref(), predict];
        Types::joined(all.into_iter().flatten().map(Function::types))
    }

    /// The fields of the data that each definition takes.
    fn takers(&self) -> Vec<&[(Name, Type)]> {
        let density = match self.takes_data {
            true => self.density.sides().0.arguments().get(1).and_then(record),
            false => None,
        };
        let parameters = self.parameters.as_ref().and_then(|f| match f.ty() {
            Type::Function(f) => record(&f.0),
            _ => None,
        });
        let predict = self.predict.as_ref().filter(|p| p.takes_data);
        let predict =
            predict.and_then(|p| p.function.sides().0.arguments().get(1).and_then(record));
        [density, parameters, predict].into_iter().flatten().collect()
    }

    /// The model with these data, a record with all that the definitions take.
    ///
    /// # Errors
    /// Data are missing or do not fit, or parameters and their kinds disagree.
    pub(super) fn model(&self, data: &Value<'_>) -> Result<Model, Error> {
        let density = &self.density;
        self.check_data(data)?;
        let kinds = self.kinds(data)?;
        let dimension = kinds.iter().fold(0, |n: usize, (_, kind)| n.saturating_add(kind.reals()));
        if dimension == 0 || dimension > MOST {
            let message = format!("the model `{}` has {dimension} parameters", density.name());
            return Err(wrong(message, "it needs at least one, and at most 16 million"));
        }
        let (mut bindings, mut jacobians, mut fields) = (String::new(), Vec::new(), Vec::new());
        let (mut at, mut parameters, mut coordinates) = (0, Vec::new(), Vec::new());
        for (i, (name, kind)) in kinds.iter().enumerate() {
            let pair = kind.text(&at.to_string(), 0);
            let _ = write!(bindings, "let (p{i}', j{i}') = {pair} in ");
            jacobians.push(format!("j{i}'"));
            fields.push(format!("{} = p{i}'", field_name(name)));
            at += kind.reals();
            coordinates.extend(std::iter::repeat_n(name.to_string(), kind.reals()));
            parameters.push(Variable { name: name.to_string(), sizes: kind.sizes() });
        }
        let fields = fields.join(", ");
        let record = format!("{{{fields}}}");
        let (parameter, further) = match self.takes_data {
            true => ("((x': []Real), d')", ", d'"),
            false => ("(x': []Real)", ""),
        };
        let program = density.program();
        let made =
            |text: String| program.expression_with(&text, MODULES, density.options().clone());
        let name = density.name();
        let text = format!("{bindings}{name}({record}{further}) + ({})", jacobians.join(" + "));
        let function = made(format!("fn {parameter} -> {text}"))?;
        let constrain = made(format!("fn (x': []Real) -> {bindings}{record}"))?;
        let predict = match &self.predict {
            None => None,
            Some(predict) => {
                let name = predict.function.name();
                let data_given = if predict.takes_data { ", d'" } else { "" };
                let key = if predict.takes_key { ", random'.key(s')" } else { "" };
                let parameter = if predict.takes_data {
                    "((x': []Real), d', (s': Int))"
                } else {
                    "((x': []Real), (s': Int))"
                };
                let text = format!("fn {parameter} -> {bindings}{name}({record}{data_given}{key})");
                let taken = predict.function.sides().0.arguments().get(1);
                let data = predict.takes_data.then(|| part(data, taken)).transpose()?;
                Some((made(text)?, data))
            }
        };
        let taken = density.sides().0.arguments().get(1);
        Ok(Model {
            parameters,
            dimension,
            gradient: function.value_and_grad(&[0])?,
            density: function,
            text,
            data: self.takes_data.then(|| part(data, taken)).transpose()?,
            constrain,
            predict,
            coordinates,
        })
    }

    /// An expression in the scope of the program, which sees `bayes'` and `random'`.
    ///
    /// # Errors
    /// It has none.
    pub(super) fn expression(&self, text: &str) -> Result<Function, Error> {
        self.density.program().expression_with(text, MODULES, self.density.options().clone())
    }

    /// Each parameter with what values it takes, in the order of the names.
    fn kinds(&self, data: &Value<'_>) -> Result<Vec<(Name, Support)>, Error> {
        let name = self.density.name();
        let Some(function) = &self.parameters else {
            return self
                .fields
                .iter()
                .map(|(field, ty)| match ty {
                    Type::Real => Ok((field.clone(), Support::Free)),
                    ty => Err(wrong(
                        format!("nothing says what values the parameter `{field}: {ty}` of `{name}` takes"),
                        format!("define `parameters`, a record with a `Parameter` of the module `bayes` for each: `def parameters = {{{field} = bayes.{}}}`", match ty {
                            Type::Array(..) => "Array(3, bayes.Free)",
                            _ => "Free",
                        }),
                    )),
                })
                .collect();
        };
        let said = match function.ty() {
            Type::Function(f) => function.evaluate(&part(data, Some(&f.0))?)?,
            _ => function.evaluate(&Value::Unit)?,
        };
        let Value::Record(said) = said else { return Ok(Vec::new()) };
        let mut kinds = Vec::new();
        for (field, ty) in &self.fields {
            let Some((_, value)) = said.iter().find(|(known, _)| **known == **field) else {
                let message = format!(
                    "`{}` says nothing of the parameter `{field}` of `{name}`",
                    function.name()
                );
                return Err(wrong(message, format!("add `{field} = bayes.Free`, or what it is")));
            };
            let kind = Support::read(value).map_err(|why| {
                wrong(
                    format!("the parameter `{field}` in `{}`: {why}", function.name()),
                    Help::default(),
                )
            })?;
            if kind.ty() != *ty {
                let message = format!(
                    "the parameter `{field}` is {} in `{}`, but `{name}` takes {ty}",
                    kind.ty(),
                    function.name()
                );
                return Err(wrong(message, "an array of n Reals is `Array(n, Free)`"));
            }
            kinds.push((field.clone(), kind));
        }
        for (field, _) in &said {
            if !self.fields.iter().any(|(known, _)| **known == **field) {
                let message = format!(
                    "`{name}` has no parameter `{field}`, which `{}` names",
                    function.name()
                );
                let near = closest(field, self.fields.iter().map(|(name, _)| &**name));
                let help = near.map_or_else(Help::default, Help::did_you_mean);
                return Err(wrong(message, help));
            }
        }
        Ok(kinds)
    }

    fn check_data(&self, data: &Value<'_>) -> Result<(), Error> {
        let known = self.data();
        let given: &[_] = match data {
            Value::Record(fields) => fields,
            _ => &[],
        };
        let listed = || {
            let all: Vec<String> =
                known.iter().map(|(name, ty)| format!("`{name}: {ty}`")).collect();
            match all.is_empty() {
                true => "it takes no data".to_string(),
                false => format!("the data are {}", all.join(", ")),
            }
        };
        let name = self.density.name();
        if let Some((missing, ty)) = known.iter().find(|(name, _)| data.field(name).is_none()) {
            return Err(wrong(format!("the data of `{name}` lack `{missing}: {ty}`"), listed()));
        }
        match given.iter().find(|(name, _)| !known.iter().any(|(known, _)| **known == **name)) {
            Some((other, _)) => Err(wrong(format!("`{name}` has no data `{other}`"), listed())),
            None => Ok(()),
        }
    }
}

impl Predict {
    fn new(function: Function, point: &Type) -> Result<Predict, Error> {
        let (from, to) = function.sides();
        let refused = || {
            let (name, signature) = (function.name(), function.signature());
            let message = format!("no predictions: `{name}` is {signature}");
            let (taken, all) = match from {
                Type::Tuple(parts) => (record(&parts[0]), record(point)),
                ty => (record(ty), record(point)),
            };
            let taken = taken.unwrap_or_default();
            let lacking = all.unwrap_or_default().iter().find(|field| !taken.contains(field));
            if let Some((field, ty)) = lacking.filter(|_| !taken.is_empty()) {
                let help = format!(
                    "it takes all parameters of the log density, also those that it does not need: `{field}: {ty}` is lacking"
                );
                return wrong(message, help);
            }
            wrong(message, "it takes the parameters as the log density does, and perhaps a record of data and a `random.Key`, and gives a record of numbers and arrays")
        };
        let is_key = |ty: &Type| ty.is(WellKnown::Key);
        let (first, rest) = match from {
            Type::Tuple(parts) => (&parts[0], &parts[1..]),
            ty => (ty, &[][..]),
        };
        let (takes_data, takes_key) = match rest {
            [] => (false, false),
            [ty] if is_key(ty) => (false, true),
            [ty] if record(ty).is_some() => (true, false),
            [data, key] if record(data).is_some() && is_key(key) => (true, true),
            _ => return Err(refused()),
        };
        fn numbers(ty: &Type) -> bool {
            match ty {
                Type::Real | Type::Int | Type::Bool => true,
                Type::Array(_, of) => numbers(of),
                _ => false,
            }
        }
        let gives = record(to).is_some_and(|fields| fields.iter().all(|(_, ty)| numbers(ty)));
        let is_function = matches!(function.ty(), Type::Function(_));
        if first != point || !gives || !is_function {
            return Err(refused());
        }
        Ok(Predict { takes_data, takes_key, function })
    }
}

/// The fields of a record that a type has.
fn part(data: &Value<'_>, ty: Option<&Type>) -> Result<Value<'static>, Error> {
    let fields = ty.and_then(record).unwrap_or(&[]);
    let field = |(name, _): &(Name, Type)| {
        let value = data.field(name).cloned().unwrap_or(Value::Unit);
        (name.to_string().into(), value.into_owned())
    };
    Ok(Value::Record(fields.iter().map(field).collect()))
}

/// Names that a field has in quotes alone.
const KEYWORDS: &[&str] = &[
    "and", "case", "def", "do", "else", "false", "fn", "for", "if", "import", "in", "let", "list",
    "loop", "not", "of", "or", "rec", "then", "true", "type", "while", "with",
];

/// A field as the language writes it.
fn field_name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !KEYWORDS.contains(&name)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'');
    match plain {
        true => name.to_string(),
        false => format!("{name:?}"),
    }
}
