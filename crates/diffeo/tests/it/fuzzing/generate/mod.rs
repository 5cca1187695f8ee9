//! Well-typed programs by chance.
//!
//! Choices come in, from a generator of numbers or from the bytes of a fuzzer; programs go out that check
//! without errors, end soon and usually have a value. Arrays have lengths that are known here, so sizes
//! agree; an annotation may leave them out. `forms` are the expressions of every type, `typed` those of one
//! type, `calculus` those with derivatives, `engines` those with recursive types, long arrays and errors.

mod calculus;
mod engines;
mod forms;
mod typed;
mod types;

pub use types::GeneratedTy;

/// Where choices come from.
pub trait Choices {
    /// A number below `n`, which is at least 1. Always 0 makes for small programs.
    fn below(&mut self, n: usize) -> usize;
}

/// A program without a parameter: `main` is a constant.
pub fn program(choices: &mut dyn Choices, fuel: usize) -> String {
    let mut generator = Generator::new(choices, fuel);
    let mut text = generator.definitions();
    let ty = generator.data(2);
    let body = generator.expr(&ty);
    let annotation = match generator.below(3) {
        0 => format!(": {}", generator.written(&ty)),
        _ => String::new(),
    };
    text.push_str(&format!("def main{annotation} = {body}\n"));
    text
}

/// A program with a function `f` between types that hold Reals, and a `point` to differentiate it at.
pub fn differentiable(choices: &mut dyn Choices, fuel: usize) -> String {
    let mut generator = Generator::new(choices, fuel);
    let mut text = generator.definitions();
    let from = generator.with_reals();
    let to = GeneratedTy::Tuple(vec![generator.with_reals(), GeneratedTy::Real, GeneratedTy::Real]);
    generator.orders = 1;
    let body = generator.expr_of(&from, &to, "def f");
    text.push_str(&body);
    generator.fuel = 6;
    generator.orders = generator.max_orders;
    let point = generator.expr(&from);
    // Annotated, for empty lists and the like.
    text.push_str(&format!("def point: {} = {point}\n", generator.written(&from)));
    text
}

/// A program whose `main` counts the entries of Jacobians and Hessians, at so many points, that the patterns found of a
/// function from 5 numbers to 4 miss.
pub fn for_patterns(choices: &mut dyn Choices, fuel: usize, points: usize) -> String {
    let mut generator = Generator::new(choices, fuel);
    let mut text = format!("import sparse\n{}", generator.definitions());
    let (from, to) = (GeneratedTy::reals(5), GeneratedTy::reals(4));
    let inner = usize::from(generator.below(4) == 0);
    generator.orders = generator.max_orders.saturating_sub(inner);
    text.push_str(&generator.expr_of(&from, &to, "def f"));
    text.push_str(&MISSED.replace("POINTS", &points.to_string()));
    text
}

/// Entries that are rounding are none.
const MISSED: &str = "
def missed(columns: [5][]Real, pattern: [k](Int, Int)) -> Int =
  let largest = loop l = 1.0 for column in columns do loop l = l for v in column do if abs(v) < 1e300 then max(l, abs(v)) else l in
  loop all = 0 for j < 5 do loop all = all for i < length(columns[j]) do
    let v = abs(columns[j, i])
    let found = loop found = false for (r, c) in pattern do found or r == i and c == j in
    if v > 1e-9 * largest and not found then all + 1 else all
def column(j: Int) -> [5]Real = [if i == j then 1.0 else 0.0 for i < 5]
def total(x: [5]Real) -> Real = sum(f(x))
def at(k: Int) -> [5]Real = [1.5 * sin(real(17 * k + 5 * j)) for j < 5]
def main =
  let jacobian = sparse.jacobian_pattern(f, at(0))
  let hessian = sparse.hessian_pattern(total, at(0)) in
  loop all = 0 for k < POINTS do
    let x = at(k)
    let j = [fd(f, x, column(c)) for c < 5] in
    all + missed(j, jacobian) + missed(j, sparse.pattern_at(f, x)) + missed([fd(grad(total), x, column(c)) for c < 5], hessian)
";

/// A program without a parameter and without derivatives, for comparing engines: it has recursive types and long
/// arrays besides, and one of a few may stop with an error.
pub fn for_engines(choices: &mut dyn Choices, fuel: usize) -> String {
    let mut generator = Generator::new(choices, fuel);
    generator.max_orders = 0;
    generator.engines = true;
    generator.errors = generator.below(3) == 0;
    let mut text = String::from(TREE);
    text.push_str(&generator.definitions());
    let ty = generator.data(2);
    let (body, ty) = (generator.expr(&ty), generator.written(&ty));
    text.push_str(&format!("def main: {ty} = {body}\n"));
    text
}

/// A program without a parameter for comparing engines, with derivative operators up to three deep.
pub fn for_derivatives(choices: &mut dyn Choices, fuel: usize) -> String {
    let mut generator = Generator::new(choices, fuel);
    generator.max_orders = 3;
    derivatives(generator, |generator| generator.data(2))
}

/// The same with variants in arguments and results, and operators up to two deep.
pub fn for_variants(choices: &mut dyn Choices, fuel: usize) -> String {
    let mut generator = Generator::new(choices, fuel);
    generator.max_orders = 2;
    generator.variants = true;
    derivatives(generator, |generator| match generator.below(2) {
        0 => GeneratedTy::Real,
        _ => generator.variant(2),
    })
}

/// A program for engines with a derivative operator at the root of an expression of a type.
fn derivatives(
    mut generator: Generator<'_>,
    ty: impl Fn(&mut Generator<'_>) -> GeneratedTy,
) -> String {
    generator.engines = true;
    let mut text = String::from(TREE);
    text.push_str(&generator.definitions());
    let ty = ty(&mut generator);
    let body = match generator.derivative(&ty) {
        Some((body, _)) => body,
        None => generator.expr(&ty),
    };
    text.push_str(&format!("def main: {} = {body}\n", generator.written(&ty)));
    text
}

/// Numbers that look like chance, from a seed (Knuth's MMIX generator).
pub struct Random(pub u64);

impl Choices for Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// Makes expressions.
struct Generator<'c> {
    choices: &'c mut dyn Choices,
    /// Variables with their types, innermost last.
    scope: Vec<(String, GeneratedTy)>,
    /// How many forms may still be made.
    fuel: usize,
    /// How many forms are open.
    depth: usize,
    /// How many derivative operators are open, and how many may be.
    orders: usize,
    max_orders: usize,
    /// Whether the program is for comparing engines, and whether it may stop with an error.
    engines: bool,
    errors: bool,
    /// Whether many types are to have variants in them.
    variants: bool,
    /// How many names were made.
    names: usize,
}

/// A type that contains itself.
const TREE: &str = "type Tree[a] = Leaf(a) | Node(Tree[a], Tree[a]) | Many([]Tree[a], Int)\n";

/// Constructors share places for fields, and some have no Real.
const SHAPE: &str =
    "type Shape[a] = Dot | Disc(a) | Box(a, Int) | Flag(Bool, Int) | Pair(Int, a, a) | Inner(Maybe[a], Bool)\n";

/// How many forms may be open.
const DEPTH: usize = 14;

/// The names of variables. There are few, so that they are hidden by others; none is one of the prelude. Forms
/// that bind a name around something they did not make use `l` and `o`, which nothing else means.
const NAMES: [&str; 16] =
    ["a", "b", "c", "d", "g", "k", "p", "q", "r", "s", "t", "u", "v", "x", "y", "z'"];

impl<'c> Generator<'c> {
    fn new(choices: &'c mut dyn Choices, fuel: usize) -> Generator<'c> {
        let max_orders = 2 + choices.below(2);
        Generator {
            choices,
            scope: Vec::new(),
            fuel,
            depth: 0,
            orders: 0,
            max_orders,
            engines: false,
            errors: false,
            variants: false,
            names: 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.choices.below(n)
    }

    /// Whether something of one in `n` chances happens.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    fn pick<'a>(&mut self, among: &[&'a str]) -> &'a str {
        among[self.below(among.len())]
    }

    fn name(&mut self) -> String {
        self.names += 1 + self.below(3);
        NAMES[self.names % NAMES.len()].into()
    }

    /// Types, helpers and constants that the rest can use.
    fn definitions(&mut self) -> String {
        let mut text = String::from(SHAPE);
        let fuel = self.fuel;
        for i in 0..self.below(4) {
            self.fuel = fuel / 4;
            let name = format!("h{i}");
            let ty = self.data(1);
            if self.below(2) == 0 {
                let body = self.expr(&ty);
                let annotation = self.written(&ty);
                text.push_str(&format!("def {name}: {annotation} = {body}\n"));
                self.scope.push((name, ty));
            } else {
                let from = self.ty(1);
                text.push_str(&self.expr_of(&from, &ty, &format!("def {name}")));
                self.scope.push((name, GeneratedTy::fun(from, ty)));
            }
        }
        self.fuel = fuel;
        text
    }

    /// A definition of a function, `head(pattern) -> T = e`.
    fn expr_of(&mut self, from: &GeneratedTy, to: &GeneratedTy, head: &str) -> String {
        let (pattern, vars) = self.pattern(from, true);
        let body = self.scoped(vars, |g| g.expr(to));
        // A tuple pattern is the list of the parameters; the whole tuple may have one name, too.
        let parameter = match pattern.strip_prefix('(') {
            Some(_) => pattern,
            None => format!("({pattern})"),
        };
        // What a literal is depends on the definition it stands in, not on the callers.
        let result = match self.below(2) {
            0 if !to.holds(&GeneratedTy::Int) => String::new(),
            _ => format!(" -> {}", self.written(to)),
        };
        format!("{head}{parameter}{result} = {body}\n")
    }

    /// Runs with variables in scope.
    fn scoped<R>(
        &mut self,
        vars: Vec<(String, GeneratedTy)>,
        run: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let outside = self.scope.len();
        self.scope.extend(vars);
        let result = run(self);
        self.scope.truncate(outside);
        result
    }

    /// A pattern for a type with the variables that it binds. Its type can be told from it if `annotated`.
    fn pattern(
        &mut self,
        ty: &GeneratedTy,
        annotated: bool,
    ) -> (String, Vec<(String, GeneratedTy)>) {
        let parts: Vec<(Option<&str>, &GeneratedTy)> = match ty {
            GeneratedTy::Tuple(parts) => parts.iter().map(|t| (None, t)).collect(),
            GeneratedTy::Record(fields) => fields.iter().map(|(n, t)| (Some(*n), t)).collect(),
            _ => Vec::new(),
        };
        if !parts.is_empty() && self.below(2) == 0 {
            let (mut texts, mut vars): (Vec<String>, Vec<(String, GeneratedTy)>) =
                Default::default();
            for (field, ty) in parts {
                let (mut text, bound) = self.pattern(ty, annotated);
                if bound.iter().any(|(n, _)| vars.iter().any(|(m, _)| n == m)) {
                    // A name twice in a pattern is an error.
                    text = match annotated {
                        true => format!("(_: {})", self.written(ty)),
                        false => "_".into(),
                    };
                } else {
                    vars.extend(bound);
                }
                texts.push(match field {
                    Some(field) => format!("{field} = {text}"),
                    None => text,
                });
            }
            let text = texts.join(", ");
            let text = match ty {
                GeneratedTy::Record(_) => format!("{{{text}}}"),
                _ => format!("({text})"),
            };
            return (text, vars);
        }
        let name = match self.once_in(12) {
            true => "_".to_string(),
            false => self.name(),
        };
        let text = match annotated {
            true => format!("({name}: {})", self.written(ty)),
            false => name.clone(),
        };
        let vars = if name == "_" { Vec::new() } else { vec![(name, ty.clone())] };
        (text, vars)
    }

    /// `fn pattern -> e`. The parameter is annotated unless its type is plain to see from the use.
    fn function(&mut self, from: &GeneratedTy, to: &GeneratedTy, plain: bool) -> String {
        let annotated = !(plain && from.plain()) || self.below(2) == 0;
        let (pattern, vars) = self.pattern(from, annotated);
        let body = self.scoped(vars, |g| g.expr(to));
        format!("fn {pattern} -> {body}")
    }

    /// An expression, for a place where it may be any.
    fn expr(&mut self, ty: &GeneratedTy) -> String {
        self.term(ty).0
    }

    /// An expression as an operand.
    fn operand(&mut self, ty: &GeneratedTy) -> String {
        match self.term(ty) {
            (text, true) => text,
            (text, false) => format!("({text})"),
        }
    }

    /// An expression, and whether it can be an operand as it is.
    fn term(&mut self, ty: &GeneratedTy) -> (String, bool) {
        if self.fuel == 0 || self.depth >= DEPTH {
            return self.leaf(ty);
        }
        // Not all of the fuel for the first of several parts.
        let (used, whole) = (1 + self.below(self.fuel), self.fuel);
        self.fuel = used - 1;
        self.depth += 1;
        if self.engines {
            if let Some(term) = self.of_engines(ty) {
                self.depth -= 1;
                self.fuel += whole - used;
                return term;
            }
        }
        let term = match self.below(8) {
            0 => self.variable(ty).unwrap_or_else(|| self.leaf(ty)),
            1..=3 => self.any(ty),
            4 => self.derivative(ty).unwrap_or_else(|| self.special(ty)),
            _ => self.special(ty),
        };
        self.depth -= 1;
        self.fuel += whole - used;
        term
    }

    /// A short expression.
    fn leaf(&mut self, ty: &GeneratedTy) -> (String, bool) {
        if self.below(4) > 0 {
            if let Some(found) = self.variable(ty) {
                return found;
            }
        }
        let mut joined = |types: &mut dyn Iterator<Item = &GeneratedTy>| {
            types.map(|t| self.leaf(t).0).collect::<Vec<_>>().join(", ")
        };
        let text = match ty {
            GeneratedTy::Real => {
                let numbers =
                    ["0.5", "1.0", "2.0", "0.0", "1.5", "0.25", "3.0", "1e-2", "0.7", "1.25e1"];
                return match self.below(4) {
                    0 => (format!("-{}", self.pick(&numbers)), false),
                    _ => (self.pick(&numbers).into(), true),
                };
            }
            GeneratedTy::Int => match self.below(7) {
                6 => return ("-1".into(), false),
                n => n.to_string(),
            },
            GeneratedTy::Bool => self.pick(&["true", "false"]).into(),
            GeneratedTy::Text => self.pick(&["\"\"", "\"a\"", "\"δ\\n\"", "\"two words\""]).into(),
            GeneratedTy::Unit => "()".into(),
            GeneratedTy::Tuple(parts) => format!("({})", joined(&mut parts.iter())),
            GeneratedTy::Record(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(n, t)| format!("{n} = {}", self.leaf(t).0)).collect();
                format!("{{{}}}", fields.join(", "))
            }
            GeneratedTy::Array(n, t) => format!("[{}]", joined(&mut std::iter::repeat_n(&**t, *n))),
            GeneratedTy::Maybe(t) => match self.below(2) {
                0 => "Nothing".into(),
                _ => format!("Just({})", self.leaf(t).0),
            },
            GeneratedTy::List(t) => match self.below(3) {
                0 => "Nil".into(),
                n => {
                    let items: Vec<String> = (0..n).map(|_| self.leaf(t).0).collect();
                    format!("list[{}]", items.join(", "))
                }
            },
            GeneratedTy::Shape(t) => match self.below(5) {
                0 => "Dot".into(),
                1 => format!("Disc({})", self.leaf(t).0),
                2 => format!("Box({}, {})", self.leaf(t).0, self.leaf(&GeneratedTy::Int).0),
                3 => format!(
                    "Flag({}, {})",
                    self.leaf(&GeneratedTy::Bool).0,
                    self.leaf(&GeneratedTy::Int).0
                ),
                _ => {
                    format!("Inner(Just({}), {})", self.leaf(t).0, self.leaf(&GeneratedTy::Bool).0)
                }
            },
            GeneratedTy::Tree(t) => match self.below(4) {
                0 => format!("Node(Leaf({}), Leaf({}))", self.leaf(t).0, self.leaf(t).0),
                1 => {
                    format!("Many([Leaf({})], {})", self.leaf(t).0, self.leaf(&GeneratedTy::Int).0)
                }
                _ => format!("Leaf({})", self.leaf(t).0),
            },
            GeneratedTy::Fun(from, to) => {
                let (pattern, vars) = self.pattern(from, true);
                let body = self.scoped(vars, |g| g.leaf(to).0);
                return (format!("fn {pattern} -> {body}"), false);
            }
        };
        (text, true)
    }

    /// A variable of this type, or a part of one.
    fn variable(&mut self, ty: &GeneratedTy) -> Option<(String, bool)> {
        let mut found = self.reachable(|t| (t == ty).then_some(()));
        if found.is_empty() {
            return None;
        }
        // The innermost ones more often.
        let (a, b) = (self.below(found.len()), self.below(found.len()));
        Some((found.swap_remove(a.max(b)).0, true))
    }

    /// A function in scope that gives this type, with what it takes.
    fn callable(&mut self, ty: &GeneratedTy) -> Option<(String, GeneratedTy)> {
        let mut found = self.reachable(|t| match t {
            GeneratedTy::Fun(from, to) if **to == *ty => Some(GeneratedTy::clone(from)),
            _ => None,
        });
        if found.is_empty() {
            return None;
        }
        let i = self.below(found.len());
        Some(found.swap_remove(i))
    }

    /// The variables, and the parts of variables, of the types that `wanted` takes.
    fn reachable<T>(&self, wanted: impl Fn(&GeneratedTy) -> Option<T>) -> Vec<(String, T)> {
        let mut found = Vec::new();
        for (i, (name, t)) in self.scope.iter().enumerate() {
            if self.scope[i + 1..].iter().all(|(inner, _)| inner != name) {
                t.parts(name, 2, &mut |path, part| {
                    if let Some(what) = wanted(part) {
                        found.push((path.to_string(), what));
                    }
                });
            }
        }
        found
    }
}
