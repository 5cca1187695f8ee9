//! Types by chance, declared as programs do, with values of them.
//!
//! Choices come in; declarations, a type over them and a value go out, with what the value is as text, as JSON, and with
//! every Real doubled: the gradient of the sum of the squares, which [`Declared::norm`] is. Types may be of one
//! constructor around anything, nested, parametrised, recursive and mutually recursive, and bear names of the library.

use super::generate::Choices;

/// A type.
#[derive(Clone)]
enum Type {
    Real,
    Int,
    Bool,
    Text,
    Unit,
    Tuple(Vec<Type>),
    /// The fields, in an order that is not that of their names.
    Record(Vec<(&'static str, Type)>),
    Array(Box<Type>),
    List(Box<Type>),
    Maybe(Box<Type>),
    /// A declaration at arguments.
    Declared(usize, Vec<Type>),
    /// A parameter of the declaration.
    Param(usize),
}

struct Declaration {
    name: String,
    params: usize,
    constructors: Vec<(String, Vec<Type>)>,
}

/// A value.
#[derive(Clone)]
enum Value {
    Real(f64),
    Int(i64),
    Bool(bool),
    Text(&'static str),
    Unit,
    Tuple(Vec<Value>),
    Record(Vec<(&'static str, Value)>),
    Array(Vec<Value>),
    List(Vec<Value>),
    Constructor(String, Vec<Value>),
}

/// A type that a program declares, with a value.
pub struct Declared {
    /// The declarations, and functions that `norm` needs.
    pub definitions: String,
    /// The type.
    pub ty: String,
    /// The value, as it is written and shown.
    pub value: String,
    /// As a host has it: lists as arrays are.
    pub host: String,
    pub json: String,
    /// The sum of the squares of the Reals of `x`.
    pub norm: String,
    /// The value with every Real doubled.
    pub doubled: String,
}

/// Names of types, and of constructors besides the names of their types.
const NAMES: [&str; 8] = ["Bag", "Id", "Rose", "Tree", "W", "Point", "Shape", "Either"];
const CONSTRUCTORS: [&str; 12] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"];
/// Names that the library has.
const LIBRARY: [&str; 6] = ["List", "Maybe", "Plot", "Key", "Result", "Layer"];
const LIBRARY_CONSTRUCTORS: [&str; 8] =
    ["Just", "Nothing", "Nil", "Cons", "Grid", "Line", "Gaussian", "Converged"];
const FIELDS: [&str; 4] = ["ys", "b", "Dose", "a"];
const TEXTS: [&str; 4] = ["", "a", "δ\n\"", "two words"];

/// A type with a value by chance.
pub fn declared(choices: &mut dyn Choices) -> Declared {
    let count = 1 + choices.below(4);
    let mut generator = Generator {
        choices,
        names: Vec::new(),
        constructors: Vec::new(),
        has_list: true,
        has_maybe: true,
        declarations: Vec::new(),
        count,
        mutual: None,
        nodes: 60,
    };
    generator.choose_names();
    if generator.below(3) == 0 {
        generator.mutual = Some(generator.below(2));
    }
    for i in 0..count {
        generator.declare(i);
    }
    let ty = generator.outer(2);
    let value = generator.value(&ty, 4);
    let mut definitions = String::new();
    for (i, declaration) in generator.declarations.iter().enumerate() {
        definitions += &generator.declaration(declaration);
        definitions += &generator.norm_of(i, declaration);
    }
    let shown = |list: &str, by: f64| {
        let mut out = String::new();
        value.show(list, by, &mut out);
        out
    };
    let mut json = String::new();
    value.json(&mut json);
    Declared {
        definitions,
        ty: generator.written(&ty),
        value: shown("list", 1.0),
        host: shown("", 1.0),
        json,
        norm: generator.norm(&ty, "x", 0),
        doubled: shown("list", 2.0),
    }
}

struct Generator<'c> {
    choices: &'c mut dyn Choices,
    names: Vec<&'static str>,
    constructors: Vec<&'static str>,
    /// Whether the types of the library can be written.
    has_list: bool,
    has_maybe: bool,
    declarations: Vec<Declaration>,
    /// How many declarations there will be.
    count: usize,
    /// Whether all of them may mention each other, and how many parameters each has then.
    mutual: Option<usize>,
    /// How many parts the value may still get.
    nodes: usize,
}

impl Generator<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.choices.below(n)
    }

    fn choose_names(&mut self) {
        let (mut names, mut constructors) = (NAMES.to_vec(), CONSTRUCTORS.to_vec());
        if self.below(3) == 0 {
            names = [&LIBRARY[..], &NAMES[..2]].concat();
            constructors = [&LIBRARY_CONSTRUCTORS[..], &CONSTRUCTORS[..4]].concat();
            self.has_maybe = false;
        }
        for list in [&mut names, &mut constructors] {
            for i in (1..list.len()).rev() {
                list.swap(i, self.choices.below(i + 1));
            }
        }
        names.truncate(self.count);
        self.has_list = !names.contains(&"List");
        (self.names, self.constructors) = (names, constructors);
    }

    // Types

    /// Declares type number `i`; those before it are declared.
    fn declare(&mut self, i: usize) {
        let params = match self.mutual {
            Some(params) => params,
            None => [0, 0, 1, 1, 2][self.below(5)],
        };
        let name = self.names.pop().expect("a name for each type").to_string();
        let count = [1, 1, 1, 2, 3][self.below(5)];
        let mut constructors: Vec<(String, Vec<Type>)> = Vec::new();
        for tag in 0..count {
            let own = tag == 0 && self.below(2) == 0;
            let fields = [1, 1, 1, 0, 2, 3][self.below(6)];
            // A lone constructor without fields that has the name of a type would be an alias.
            let alias = count == 1 && fields == 0;
            let constructor = match own && !alias {
                true => name.clone(),
                false => self.constructors.pop().unwrap_or("Z").to_string(),
            };
            let fields = (0..fields).map(|_| self.field(i, params, tag > 0, 2)).collect();
            constructors.push((constructor, fields));
        }
        self.declarations.push(Declaration { name, params, constructors });
    }

    /// The type of a field of declaration `i`; `free` where a value may have another constructor instead.
    fn field(&mut self, i: usize, params: usize, free: bool, depth: usize) -> Type {
        let own = |params: usize| (0..params).map(Type::Param).collect::<Vec<Type>>();
        match self.below(10) {
            0 | 1 if params > 0 => Type::Param(self.below(params)),
            // What may be without elements may hold what is being declared.
            2 if depth > 0 => Type::Array(Box::new(self.field(i, params, true, depth - 1))),
            3 | 4 if depth > 0 && self.has_list => {
                Type::List(Box::new(self.field(i, params, true, depth - 1)))
            }
            5 if depth > 0 && self.has_maybe => {
                Type::Maybe(Box::new(self.field(i, params, true, depth - 1)))
            }
            6 if free => {
                let any = if self.mutual.is_some() { self.count } else { i + 1 };
                match self.below(any) {
                    at if at == i || self.mutual.is_some() => Type::Declared(at, own(params)),
                    at => self.earlier(at, params, depth),
                }
            }
            6 | 7 if i > 0 => match self.mutual {
                Some(_) => Type::Declared(self.below(i), own(params)),
                None => {
                    let at = self.below(i);
                    self.earlier(at, params, depth)
                }
            },
            8 if depth > 0 => self.product(&mut |g| g.field(i, params, free, depth - 1)),
            _ => self.scalar(),
        }
    }

    /// A type that is declared already at some arguments.
    fn earlier(&mut self, at: usize, params: usize, depth: usize) -> Type {
        let count = self.declarations[at].params;
        Type::Declared(at, (0..count).map(|_| self.simple(params, depth)).collect())
    }

    /// A type without declared ones.
    fn simple(&mut self, params: usize, depth: usize) -> Type {
        match self.below(8) {
            0..=2 if params > 0 => Type::Param(self.below(params)),
            3 if depth > 0 => Type::Array(Box::new(self.simple(params, depth - 1))),
            4 if depth > 0 && self.has_list => Type::List(Box::new(self.simple(params, depth - 1))),
            5 if depth > 0 && self.has_maybe => {
                Type::Maybe(Box::new(self.simple(params, depth - 1)))
            }
            6 if depth > 0 => self.product(&mut |g| g.simple(params, depth - 1)),
            _ => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Type {
        match self.below(10) {
            0 => Type::Int,
            1 => Type::Bool,
            2 => Type::Text,
            3 => Type::Unit,
            _ => Type::Real,
        }
    }

    fn product(&mut self, part: &mut dyn FnMut(&mut Self) -> Type) -> Type {
        match self.below(2) {
            0 => Type::Tuple((0..2 + self.below(2)).map(|_| part(self)).collect()),
            _ => {
                let fields = FIELDS[self.below(2)..][..1 + self.below(3)].iter();
                Type::Record(fields.map(|name| (*name, part(self))).collect())
            }
        }
    }

    /// The type of the value, outside of declarations.
    fn outer(&mut self, depth: usize) -> Type {
        match self.below(8) {
            0 if depth > 0 => Type::Array(Box::new(self.outer(depth - 1))),
            1 if depth > 0 && self.has_list => Type::List(Box::new(self.outer(depth - 1))),
            2 if depth > 0 => self.product(&mut |g| g.outer(depth - 1)),
            _ => {
                let at = self.below(self.count);
                let params = self.declarations[at].params;
                let args = (0..params).map(|_| match self.below(3) {
                    0 => self.scalar(),
                    1 if self.has_list => Type::List(Box::new(self.scalar())),
                    _ => match depth {
                        0 => Type::Real,
                        _ => self.outer(depth - 1),
                    },
                });
                Type::Declared(at, args.collect())
            }
        }
    }

    // Values

    /// A value of a type without parameters.
    fn value(&mut self, ty: &Type, depth: usize) -> Value {
        let mut sizes = Vec::new();
        self.sizes(ty, depth, &mut sizes);
        self.value_of(ty, depth, &mut sizes.iter())
    }

    /// The sizes of the arrays in values of a type, outside of variants and lists: rows have one size.
    fn sizes(&mut self, ty: &Type, depth: usize, sizes: &mut Vec<usize>) {
        match ty {
            Type::Tuple(parts) => parts.iter().for_each(|ty| self.sizes(ty, depth, sizes)),
            Type::Record(fields) => fields.iter().for_each(|(_, ty)| self.sizes(ty, depth, sizes)),
            Type::Array(element) => {
                let most = if depth == 0 { 1 } else { 4 };
                sizes.push(self.below(most));
                self.sizes(element, depth.saturating_sub(1), sizes);
            }
            Type::Real | Type::Int | Type::Bool | Type::Text | Type::Unit => {}
            Type::List(_) | Type::Maybe(_) | Type::Declared(..) | Type::Param(_) => {}
        }
    }

    fn value_of(
        &mut self,
        ty: &Type,
        depth: usize,
        sizes: &mut std::slice::Iter<'_, usize>,
    ) -> Value {
        self.nodes = self.nodes.saturating_sub(1);
        let depth = if self.nodes == 0 { 0 } else { depth };
        let next = depth.saturating_sub(1);
        match ty {
            Type::Real => Value::Real(self.below(17) as f64 * 0.25 - 2.0),
            Type::Int => Value::Int(self.below(9) as i64 - 4),
            Type::Bool => Value::Bool(self.below(2) == 0),
            Type::Text => Value::Text(TEXTS[self.below(TEXTS.len())]),
            Type::Unit => Value::Unit,
            Type::Tuple(parts) => {
                Value::Tuple(parts.iter().map(|ty| self.value_of(ty, depth, sizes)).collect())
            }
            Type::Record(fields) => {
                let field =
                    |(name, ty): &(&'static str, Type)| (*name, self.value_of(ty, depth, sizes));
                Value::Record(fields.iter().map(field).collect())
            }
            Type::Array(element) => {
                let count = *sizes.next().expect("a size for each array");
                let inner = sizes.clone();
                let elements: Vec<Value> = (0..count)
                    .map(|_| {
                        *sizes = inner.clone();
                        self.value_of(element, next, sizes)
                    })
                    .collect();
                if count == 0 {
                    let mut unused = Vec::new();
                    self.sizes(element, 0, &mut unused);
                    sizes.by_ref().take(unused.len()).for_each(drop);
                }
                Value::Array(elements)
            }
            Type::List(element) => {
                let count = if depth == 0 { 0 } else { self.below(4) };
                Value::List((0..count).map(|_| self.value(element, next)).collect())
            }
            Type::Maybe(inner) => match depth == 0 || self.below(3) == 0 {
                true => Value::Constructor("Nothing".into(), Vec::new()),
                false => Value::Constructor("Just".into(), vec![self.value(inner, next)]),
            },
            Type::Declared(at, args) => {
                let constructors = &self.declarations[*at].constructors;
                let tag = if depth == 0 { 0 } else { self.choices.below(constructors.len()) };
                let (name, fields) = constructors[tag].clone();
                let fields = fields.iter().map(|ty| self.value(&ty.at(args), next)).collect();
                Value::Constructor(name, fields)
            }
            Type::Param(_) => unreachable!("the arguments stand for the parameters"),
        }
    }

    // As they are written

    fn written(&self, ty: &Type) -> String {
        let all =
            |types: &[Type]| types.iter().map(|ty| self.written(ty)).collect::<Vec<_>>().join(", ");
        match ty {
            Type::Real => "Real".into(),
            Type::Int => "Int".into(),
            Type::Bool => "Bool".into(),
            Type::Text => "String".into(),
            Type::Unit => "()".into(),
            Type::Tuple(parts) => format!("({})", all(parts)),
            Type::Record(fields) => {
                let field = |(name, ty): &(&str, Type)| format!("{name}: {}", self.written(ty));
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
            Type::Array(element) => format!("[]{}", self.written(element)),
            Type::List(element) => format!("List[{}]", self.written(element)),
            Type::Maybe(inner) => format!("Maybe[{}]", self.written(inner)),
            Type::Declared(at, args) if args.is_empty() => self.declarations[*at].name.clone(),
            Type::Declared(at, args) => format!("{}[{}]", self.declarations[*at].name, all(args)),
            Type::Param(i) => ["a", "b"][*i].into(),
        }
    }

    fn declaration(&self, declaration: &Declaration) -> String {
        let constructors = declaration.constructors.iter().map(|(name, fields)| {
            let fields: Vec<String> = fields.iter().map(|ty| self.written(ty)).collect();
            match fields.is_empty() {
                true => name.clone(),
                false => format!("{name}({})", fields.join(", ")),
            }
        });
        let constructors = constructors.collect::<Vec<_>>().join(" | ");
        let params = ["", "[a]", "[a, b]"][declaration.params];
        format!("type {}{params} = {constructors}\n", declaration.name)
    }

    /// The sum of the squares of the Reals in values of a declaration, by functions that give it for the parameters.
    fn norm_of(&self, i: usize, declaration: &Declaration) -> String {
        // A variable that an annotation names is another one in each of several functions that call each other.
        let annotated = self.mutual.is_none();
        let params = (0..declaration.params).map(|i| match annotated {
            true => format!("f{i}: {} -> Real, ", ["a", "b"][i]),
            false => format!("f{i}, "),
        });
        let params = params.collect::<String>();
        let alternatives = declaration.constructors.iter().map(|(name, fields)| {
            let names: Vec<String> = (0..fields.len()).map(|i| format!("v{i}")).collect();
            let sum = names.iter().zip(fields).map(|(name, ty)| self.norm(ty, name, 1));
            let sum = sum.collect::<Vec<_>>().join(" + ");
            match fields.is_empty() {
                true => format!("{name} -> 0.0"),
                false => format!("{name}({}) -> {sum}", names.join(", ")),
            }
        });
        let alternatives = alternatives.collect::<Vec<_>>().join(" | ");
        let args = ["", "[a]", "[a, b]"][declaration.params];
        let ty = if annotated { format!(": {}{args}", declaration.name) } else { String::new() };
        format!("def norm{i}({params}x{ty}) -> Real = case x of {{ {alternatives} }}\n")
    }

    /// The sum of the squares of the Reals in a variable.
    fn norm(&self, ty: &Type, of: &str, depth: usize) -> String {
        let part = |i: usize| format!("{}{depth}", ["p", "q", "r", "s"][i]);
        let within = |ty: &Type, of: &str| self.norm(ty, of, depth + 1);
        match ty {
            Type::Real => format!("{of} * {of}"),
            Type::Int | Type::Bool | Type::Text | Type::Unit => "0.0".into(),
            Type::Tuple(types) => {
                let names: Vec<String> = (0..types.len()).map(part).collect();
                let sum = names.iter().zip(types).map(|(name, ty)| within(ty, name));
                let sum = sum.collect::<Vec<_>>().join(" + ");
                format!("(let ({}) = {of} in {sum})", names.join(", "))
            }
            Type::Record(fields) => {
                let parts: Vec<String> = (0..fields.len()).map(part).collect();
                let pattern =
                    fields.iter().zip(&parts).map(|((name, _), p)| format!("{name} = {p}"));
                let pattern = pattern.collect::<Vec<_>>().join(", ");
                let sum = fields.iter().zip(&parts).map(|((_, ty), p)| within(ty, p));
                let sum = sum.collect::<Vec<_>>().join(" + ");
                format!("(let {{{pattern}}} = {of} in {sum})")
            }
            Type::Array(element) => {
                let name = part(0);
                format!("sum(map(fn {name} -> {}, {of}))", within(element, &name))
            }
            Type::List(element) => {
                let name = part(0);
                let sum = within(element, &name);
                format!("fold_left_list(fn (s, {name}) -> s + {sum}, 0.0, {of})")
            }
            Type::Maybe(inner) => {
                let name = part(0);
                let sum = within(inner, &name);
                format!("(case {of} of {{ Just({name}) -> {sum} | Nothing -> 0.0 }})")
            }
            Type::Declared(at, args) => {
                let name = part(0);
                let by = args.iter().map(|ty| format!("fn {name} -> {}, ", within(ty, &name)));
                format!("norm{at}({}{of})", by.collect::<String>())
            }
            Type::Param(i) => format!("f{i}({of})"),
        }
    }
}

impl Type {
    /// The type with arguments in the place of parameters.
    fn at(&self, args: &[Type]) -> Type {
        let all = |types: &[Type]| types.iter().map(|ty| ty.at(args)).collect();
        match self {
            Type::Real | Type::Int | Type::Bool | Type::Text | Type::Unit => self.clone(),
            Type::Tuple(parts) => Type::Tuple(all(parts)),
            Type::Record(fields) => {
                Type::Record(fields.iter().map(|(name, ty)| (*name, ty.at(args))).collect())
            }
            Type::Array(element) => Type::Array(Box::new(element.at(args))),
            Type::List(element) => Type::List(Box::new(element.at(args))),
            Type::Maybe(inner) => Type::Maybe(Box::new(inner.at(args))),
            Type::Declared(at, own) => Type::Declared(*at, all(own)),
            Type::Param(i) => args[*i].clone(),
        }
    }
}

impl Value {
    /// The value as it is written, with each Real times `by`.
    fn show(&self, list: &str, by: f64, out: &mut String) {
        let all = |values: &[Value], open: &str, close: &str, out: &mut String| {
            *out += open;
            for (i, value) in values.iter().enumerate() {
                *out += if i == 0 { "" } else { ", " };
                value.show(list, by, out);
            }
            *out += close;
        };
        match self {
            Value::Real(x) => *out += &format!("{:?}", x * by),
            Value::Int(n) => *out += &n.to_string(),
            Value::Bool(b) => *out += &b.to_string(),
            Value::Text(text) => *out += &format!("{text:?}"),
            Value::Unit => *out += "()",
            Value::Tuple(parts) => all(parts, "(", ")", out),
            Value::Record(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(name, _)| *name);
                *out += "{";
                for (i, (name, value)) in fields.into_iter().enumerate() {
                    *out += if i == 0 { "" } else { ", " };
                    *out += &format!("{name} = ");
                    value.show(list, by, out);
                }
                *out += "}";
            }
            Value::Array(elements) => all(elements, "[", "]", out),
            Value::List(elements) => all(elements, &format!("{list}["), "]", out),
            Value::Constructor(name, fields) if fields.is_empty() => *out += name,
            Value::Constructor(name, fields) => all(fields, &format!("{name}("), ")", out),
        }
    }

    fn json(&self, out: &mut String) {
        let all = |values: &[Value], out: &mut String| {
            for (i, value) in values.iter().enumerate() {
                *out += if i == 0 { "[" } else { "," };
                value.json(out);
            }
            *out += if values.is_empty() { "[]" } else { "]" };
        };
        match self {
            Value::Real(x) => *out += &format!("{x:?}"),
            Value::Int(n) => *out += &n.to_string(),
            Value::Bool(b) => *out += &b.to_string(),
            // The texts are written in JSON as in Rust.
            Value::Text(text) => *out += &format!("{text:?}"),
            Value::Unit => *out += "null",
            Value::Tuple(parts) => all(parts, out),
            Value::Record(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(name, _)| *name);
                for (i, (name, value)) in fields.into_iter().enumerate() {
                    *out += if i == 0 { "{" } else { "," };
                    *out += &format!("{name:?}:");
                    value.json(out);
                }
                *out += "}";
            }
            Value::Array(elements) | Value::List(elements) => all(elements, out),
            Value::Constructor(name, fields) => {
                *out += &format!("{{{name:?}:");
                match &fields[..] {
                    [] => *out += "null",
                    [field] => field.json(out),
                    fields => all(fields, out),
                }
                *out += "}";
            }
        }
    }
}
