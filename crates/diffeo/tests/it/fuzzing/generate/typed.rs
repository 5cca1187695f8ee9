//! The expressions of one type: arithmetic, constructors, the prelude's functions.

use super::{GeneratedTy, Generator};

/// Functions of the prelude that are smooth and bounded, or nearly.
const SMOOTH: [&str; 8] = ["sin", "cos", "tanh", "sigmoid", "atan", "erf", "softplus", "asinh"];

/// Others, from Real to Real.
const OTHER: [&str; 15] = [
    "sq", "exp", "abs", "relu", "sqrt", "log", "tan", "sign", "log1p", "cbrt", "expm1", "lgamma",
    "digamma", "erfc", "cosh",
];

impl Generator<'_> {
    /// An expression that is special to its type.
    pub(super) fn special(&mut self, ty: &GeneratedTy) -> (String, bool) {
        // Of an empty array, arithmetic makes one of Reals.
        let empty = !ty.plain() && *ty != GeneratedTy::reals(0);
        if ty.vector() && !empty && self.below(3) == 0 {
            return self.vectors(ty);
        }
        match ty {
            GeneratedTy::Real => self.real(),
            GeneratedTy::Int => self.int(),
            GeneratedTy::Bool => self.bool(),
            GeneratedTy::Text => self.text(),
            GeneratedTy::Unit => match self.below(2) {
                0 => ("()".into(), true),
                _ => ("assert(true, \"\")".into(), true),
            },
            GeneratedTy::Tuple(parts) => {
                let items: Vec<String> = parts.iter().map(|t| self.expr(t)).collect();
                (format!("({})", items.join(", ")), true)
            }
            GeneratedTy::Record(fields) => {
                let mut items: Vec<String> =
                    fields.iter().map(|(n, t)| format!("{n} = {}", self.expr(t))).collect();
                if self.below(3) == 0 {
                    let base = self.operand(ty);
                    let changed = items.swap_remove(self.below(items.len()));
                    return (format!("{{{base} with {changed}}}"), true);
                }
                if self.below(2) == 0 {
                    items.reverse();
                }
                (format!("{{{}}}", items.join(", ")), true)
            }
            GeneratedTy::Array(n, element) => self.array(*n, element),
            GeneratedTy::Maybe(t) => match self.below(4) {
                0 => self.leaf(ty),
                1 => {
                    let from = self.data(1);
                    let f = self.function(&from, t, false);
                    (
                        format!(
                            "map_maybe({f}, {})",
                            self.expr(&GeneratedTy::Maybe(Box::new(from)))
                        ),
                        true,
                    )
                }
                _ => (format!("Just({})", self.expr(t)), true),
            },
            GeneratedTy::List(t) => self.list(ty, t),
            GeneratedTy::Shape(t) => match self.below(6) {
                0 => self.leaf(ty),
                1 => (format!("Box({}, {})", self.expr(t), self.expr(&GeneratedTy::Int)), true),
                2 => {
                    let n = self.expr(&GeneratedTy::Int);
                    (format!("Pair({n}, {}, {})", self.expr(t), self.expr(t)), true)
                }
                3 => {
                    let inner = self.expr(&GeneratedTy::Maybe(t.clone()));
                    (format!("Inner({inner}, {})", self.expr(&GeneratedTy::Bool)), true)
                }
                _ => (format!("Disc({})", self.expr(t)), true),
            },
            GeneratedTy::Tree(t) => self.tree(ty, t),
            GeneratedTy::Fun(from, to) => match (&**from, &**to) {
                (GeneratedTy::Real, GeneratedTy::Real) if self.below(3) == 0 => {
                    (self.pick(&SMOOTH).into(), true)
                }
                (a, b) if self.below(5) == 0 => {
                    let middle = self.data(1);
                    let f = self.function(a, &middle, false);
                    let g = self.function(&middle, b, false);
                    (format!("fn (o: {}) -> ({g})(({f})(o))", self.written(a)), false)
                }
                (a, b) => (self.function(a, b, false), false),
            },
        }
    }

    /// Arithmetic of vectors, Real among them.
    fn vectors(&mut self, ty: &GeneratedTy) -> (String, bool) {
        let a = self.operand(ty);
        match self.below(6) {
            0 | 1 => (format!("{a} + {}", self.operand(ty)), false),
            2 => (format!("{a} - {}", self.operand(ty)), false),
            3 => (format!("-{a}"), false),
            4 => (format!("{} * {a}", self.operand(&GeneratedTy::Real)), false),
            _ => (format!("{a} / {}", self.pick(&["2.0", "0.5", "3.0", "1.25"])), false),
        }
    }

    fn real(&mut self) -> (String, bool) {
        let n = 1 + self.below(3);
        match self.below(24) {
            0 | 1 => (
                format!(
                    "{} * {}",
                    self.operand(&GeneratedTy::Real),
                    self.operand(&GeneratedTy::Real)
                ),
                false,
            ),
            2 => (
                format!(
                    "{} - {}",
                    self.operand(&GeneratedTy::Real),
                    self.operand(&GeneratedTy::Real)
                ),
                false,
            ),
            3..=6 => {
                let f = self.pick(&SMOOTH);
                (format!("{f}({})", self.expr(&GeneratedTy::Real)), true)
            }
            7 => {
                let f = self.pick(&OTHER);
                (format!("{f}({})", self.expr(&GeneratedTy::Real)), true)
            }
            8 => {
                // Within the domain.
                let f = self.pick(&["sqrt(1.0 + sq(", "log(1.5 + sq(", "1.0 / (2.0 + sq("]);
                (format!("({f}{})))", self.expr(&GeneratedTy::Real)), true)
            }
            9 => (format!("{} ^ {}", self.operand(&GeneratedTy::Real), self.below(4)), false),
            10 => {
                let f = self.pick(&["min", "max", "atan2", "hypot"]);
                (
                    format!(
                        "{f}({}, {})",
                        self.expr(&GeneratedTy::Real),
                        self.expr(&GeneratedTy::Real)
                    ),
                    true,
                )
            }
            11 => {
                let f = ["sum", "product", "maximum", "minimum", "mean", "norm_sq", "logsumexp"];
                let f = self.pick(&f);
                (format!("{f}({})", self.expr(&GeneratedTy::reals(n))), true)
            }
            12 => {
                let of = self.fixed(1);
                if !of.plain() {
                    return self.leaf(&GeneratedTy::Real);
                }
                (format!("inner({}, {})", self.expr(&of), self.expr(&of)), true)
            }
            13 => {
                let xs = self.expr(&GeneratedTy::reals(n));
                (format!("dot({xs}, {})", self.expr(&GeneratedTy::reals(n))), true)
            }
            14 | 15 => (format!("real({})", self.expr(&GeneratedTy::Int)), true),
            16 => (format!("{} % 3.0", self.operand(&GeneratedTy::Real)), false),
            17 => match self.below(2) {
                0 => (format!("2 * {} + 1", self.operand(&GeneratedTy::Real)), false),
                // Indices and bounds that are computed.
                _ => {
                    let (xs, i) =
                        (self.operand(&GeneratedTy::reals(n)), self.operand(&GeneratedTy::Int));
                    match self.below(3) {
                        0 => (format!("{xs}[bit_and({i}, 7) % {n}]"), true),
                        1 => (format!("sum({xs}[bit_and({i}, 7) % {n}..{n}])"), true),
                        _ => (
                            format!("sum([sq(o) for o in take(bit_and({i}, 7) % {n}, {xs})])"),
                            true,
                        ),
                    }
                }
            },
            18 => {
                // An array whose length depends on its elements.
                let xs = self.expr(&GeneratedTy::reals(n));
                if self.below(2) == 0 {
                    let p = self.function(&GeneratedTy::Real, &GeneratedTy::Bool, true);
                    return (format!("sum(filter({p}, {xs}))"), true);
                }
                let x = self.name();
                let (body, condition) = self.scoped(vec![(x.clone(), GeneratedTy::Real)], |g| {
                    (g.expr(&GeneratedTy::Real), g.expr(&GeneratedTy::Bool))
                });
                match self.below(2) {
                    0 => (format!("sum([{body} for {x} in {xs} if {condition}])"), true),
                    _ => {
                        // A name of its own, which hides none.
                        let row = format!("sum([{body} for {x} in {xs} if {condition}])");
                        (format!("sum([{row} for step < {n} if step > 0])"), true)
                    }
                }
            }
            19 => {
                let a = self.expr(&GeneratedTy::array(n, GeneratedTy::reals(2)));
                (format!("sum(matvec({a}, {}))", self.expr(&GeneratedTy::reals(2))), true)
            }
            20 => {
                let base = self.pick(&["2.0", "1.5", "0.5"]);
                (format!("{base} ^ {}", self.operand(&GeneratedTy::Real)), false)
            }
            21 => {
                let f = self.function(&GeneratedTy::Int, &GeneratedTy::Real, true);
                (format!("sum(build({n}, {f}))"), true)
            }
            22 => {
                let f = self.operand(&GeneratedTy::fun(
                    GeneratedTy::pair(GeneratedTy::Real, GeneratedTy::Real),
                    GeneratedTy::Real,
                ));
                (format!("uncurry(curry({f}))({}, 0.5)", self.expr(&GeneratedTy::Real)), true)
            }
            _ => self.leaf(&GeneratedTy::Real),
        }
    }

    fn int(&mut self) -> (String, bool) {
        match self.below(17) {
            0 => (
                format!(
                    "{} + {}",
                    self.operand(&GeneratedTy::Int),
                    self.operand(&GeneratedTy::Int)
                ),
                false,
            ),
            1 => (
                format!(
                    "{} - {}",
                    self.operand(&GeneratedTy::Int),
                    self.operand(&GeneratedTy::Int)
                ),
                false,
            ),
            2 => {
                let (a, b) = (self.operand(&GeneratedTy::Int), self.operand(&GeneratedTy::Int));
                (format!("({a} * {b}) % 11"), false)
            }
            3 => {
                let by = self.pick(&["2", "3", "-2", "7"]);
                let op = self.pick(&["/", "%"]);
                (format!("{} {op} {by}", self.operand(&GeneratedTy::Int)), false)
            }
            4 => {
                let n = self.length();
                let element = self.data(1);
                (format!("length({})", self.expr(&GeneratedTy::array(n, element))), true)
            }
            5 => {
                let f = self.pick(&["floor", "ceil", "round", "trunc"]);
                (format!("{f}(4.3 * tanh({}))", self.expr(&GeneratedTy::Real)), true)
            }
            6 => {
                let f = self.pick(&["argmax", "argmin"]);
                let n = 1 + self.below(3);
                (format!("{f}({})", self.expr(&GeneratedTy::reals(n))), true)
            }
            7 => {
                let f = self.pick(&["bit_and", "bit_or", "bit_xor", "min", "max"]);
                (
                    format!(
                        "{f}({}, {})",
                        self.expr(&GeneratedTy::Int),
                        self.expr(&GeneratedTy::Int)
                    ),
                    true,
                )
            }
            8 => {
                let element = self.data(1);
                (format!("length_list({})", self.expr(&GeneratedTy::List(Box::new(element)))), true)
            }
            9 => {
                let f = self.pick(&["sum", "maximum", "minimum", "product"]);
                let n = 1 + self.below(3);
                (format!("{f}({})", self.expr(&GeneratedTy::array(n, GeneratedTy::Int))), true)
            }
            10 => {
                let f = self.pick(&["abs", "sign", "-"]);
                match f {
                    "-" => (format!("-{}", self.operand(&GeneratedTy::Int)), false),
                    f => (format!("{f}({})", self.expr(&GeneratedTy::Int)), true),
                }
            }
            11 => {
                let (a, b) = (self.expr(&GeneratedTy::Int), self.expr(&GeneratedTy::Int));
                (format!("wrapping_mul({a}, wrapping_add({b}, 9223372036854775807)) % 5"), false)
            }
            12 => (format!("{} ^ {}", self.pick(&["2", "3"]), self.below(5)), false),
            _ => self.leaf(&GeneratedTy::Int),
        }
    }

    fn bool(&mut self) -> (String, bool) {
        match self.below(12) {
            0..=3 => {
                let of =
                    [GeneratedTy::Real, GeneratedTy::Int, GeneratedTy::Text][self.below(3)].clone();
                let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                (format!("{} {op} {}", self.operand(&of), self.operand(&of)), false)
            }
            4 => (
                format!(
                    "{} and {}",
                    self.operand(&GeneratedTy::Bool),
                    self.operand(&GeneratedTy::Bool)
                ),
                false,
            ),
            5 => (
                format!(
                    "{} or {}",
                    self.operand(&GeneratedTy::Bool),
                    self.operand(&GeneratedTy::Bool)
                ),
                false,
            ),
            6 => (format!("not {}", self.operand(&GeneratedTy::Bool)), false),
            7 => {
                let of = self.data(1);
                let (a, b, ty) = (self.expr(&of), self.expr(&of), self.written(&of));
                let op = self.pick(&["==", "!="]);
                (format!("let (l: {ty}, o: {ty}) = ({a}, {b}) in l {op} o"), false)
            }
            8 => {
                let f = self.pick(&["any", "all"]);
                let p = self.function(&GeneratedTy::Real, &GeneratedTy::Bool, true);
                let n = self.length();
                (format!("{f}({p}, {})", self.expr(&GeneratedTy::reals(n))), true)
            }
            9 => (format!("is_nan({})", self.expr(&GeneratedTy::Real)), true),
            _ => self.leaf(&GeneratedTy::Bool),
        }
    }

    fn text(&mut self) -> (String, bool) {
        match self.below(4) {
            0 => (
                format!(
                    "{} ++ {}",
                    self.operand(&GeneratedTy::Text),
                    self.operand(&GeneratedTy::Text)
                ),
                false,
            ),
            1 | 2 => {
                let of = self.data(1);
                (format!("show({})", self.expr(&of)), true)
            }
            _ => self.leaf(&GeneratedTy::Text),
        }
    }

    fn list(&mut self, ty: &GeneratedTy, element: &GeneratedTy) -> (String, bool) {
        match self.below(9) {
            0 => (format!("{} :: {}", self.operand(element), self.operand(ty)), false),
            1 => (format!("{} ++ {}", self.operand(ty), self.operand(ty)), false),
            2 => (format!("reverse_list({})", self.expr(ty)), true),
            3 => {
                let p = self.function(element, &GeneratedTy::Bool, false);
                (format!("filter_list({p}, {})", self.expr(ty)), true)
            }
            4 => {
                let from = self.data(1);
                let f = self.function(&from, element, false);
                (format!("map_list({f}, {})", self.expr(&GeneratedTy::List(Box::new(from)))), true)
            }
            5 => {
                let n = self.length();
                (format!("to_list({})", self.expr(&GeneratedTy::array(n, element.clone()))), true)
            }
            6 => self.leaf(ty),
            n => {
                let items: Vec<String> = (6..n + 1).map(|_| self.expr(element)).collect();
                (format!("list[{}]", items.join(", ")), true)
            }
        }
    }

    fn array(&mut self, n: usize, element: &GeneratedTy) -> (String, bool) {
        let ty = GeneratedTy::array(n, element.clone());
        if *element == GeneratedTy::Real && self.below(4) == 0 {
            let xs = self.operand(&ty);
            return match self.below(5) {
                0 => (format!("{xs} * {}", self.operand(&ty)), false),
                1 => (format!("{xs} / [{}]", vec!["2.0"; n].join(", ")), false),
                2 => (format!("sort({xs})"), true),
                3 if n > 0 => (format!("softmax({xs})"), true),
                _ => (format!("scan(fn (m, w) -> m * w, 1.0, {xs})"), true),
            };
        }
        match self.below(17) {
            0 | 1 => {
                let i = self.name();
                let body = self.scoped(vec![(i.clone(), GeneratedTy::Int)], |g| g.expr(element));
                (format!("[{body} for {i} < {n}]"), true)
            }
            2 | 3 => {
                let from = self.data(1);
                let xs = self.expr(&GeneratedTy::array(n, from.clone()));
                let (x, vars) = self.pattern(&from, !from.plain() || n == 0);
                let body = self.scoped(vars, |g| g.expr(element));
                match self.below(2) {
                    0 => (format!("map(fn {x} -> {body}, {xs})"), true),
                    _ => (format!("[{body} for {x} in {xs}]"), true),
                }
            }
            4 => (format!("reverse({})", self.expr(&ty)), true),
            5 => (format!("replicate({n}, {})", self.expr(element)), true),
            6 if n > 0 => {
                let k = self.below(n + 1);
                let a = self.operand(&GeneratedTy::array(k, element.clone()));
                let b = self.operand(&GeneratedTy::array(n - k, element.clone()));
                (format!("{a} ++ {b}"), false)
            }
            7 => {
                let (before, after) = (self.below(2), self.below(2));
                let xs = self.operand(&GeneratedTy::array(before + n + after, element.clone()));
                (format!("{xs}[{before}..{}]", before + n), true)
            }
            8 | 9 if n > 0 => {
                let xs = self.operand(&ty);
                let i = self.below(n);
                (format!("{xs} with [{i}] = {}", self.expr(element)), false)
            }
            10 if n > 0 => {
                let of = 1 + self.below(3);
                let xs = self.expr(&GeneratedTy::array(of, element.clone()));
                let at: Vec<String> = (0..n).map(|_| self.below(of).to_string()).collect();
                (format!("gather({xs}, [{}])", at.join(", ")), true)
            }
            11 if n > 0 && element.vector() && element.plain() => {
                let k = 1 + self.below(3);
                let vs = self.expr(&GeneratedTy::array(k, element.clone()));
                let at: Vec<String> = (0..k).map(|_| self.below(n).to_string()).collect();
                match self.below(2) {
                    0 => (
                        format!("scatter_add({}, [{}], {vs})", self.expr(&ty), at.join(", ")),
                        true,
                    ),
                    _ => (format!("histogram({n}, [{}], {vs})", at.join(", ")), true),
                }
            }
            12 => {
                let (a, b) = (self.data(0), self.data(0));
                let pair = GeneratedTy::pair(a.clone(), b.clone());
                let f = self.function(&pair, element, n > 0);
                let xs = self.expr(&GeneratedTy::array(n, a));
                (format!("map2({f}, {xs}, {})", self.expr(&GeneratedTy::array(n, b))), true)
            }
            13 => match element {
                GeneratedTy::Array(m, inner) if *m > 0 && n > 0 => {
                    let turned =
                        GeneratedTy::array(*m, GeneratedTy::array(n, GeneratedTy::clone(inner)));
                    (format!("transpose({})", self.expr(&turned)), true)
                }
                GeneratedTy::Tuple(parts) if parts.len() == 2 => {
                    let xs = self.expr(&GeneratedTy::array(n, parts[0].clone()));
                    (
                        format!(
                            "zip({xs}, {})",
                            self.expr(&GeneratedTy::array(n, parts[1].clone()))
                        ),
                        true,
                    )
                }
                GeneratedTy::Int => (format!("iota({n})"), true),
                _ if n > 0 => {
                    let other = self.data(0);
                    let pairs = self
                        .expr(&GeneratedTy::array(n, GeneratedTy::pair(element.clone(), other)));
                    (format!("unzip({pairs}).0"), true)
                }
                _ => self.leaf(&ty),
            },
            14 if n > 0 => {
                // A replaced element in a loop: in place, where nothing else holds the array.
                let init = self.operand(&ty);
                let (xs, i) = ("m".to_string(), "w".to_string());
                let vars = vec![(xs.clone(), ty.clone()), (i.clone(), GeneratedTy::Int)];
                let value = self.scoped(vars, |g| g.expr(element));
                (format!("loop m = {init} for w < {n} do m with [w] = {value}"), false)
            }
            15 => {
                let k = self.data(0);
                let key = match k {
                    GeneratedTy::Text | GeneratedTy::Int => k,
                    _ => GeneratedTy::Real,
                };
                let f = self.function(element, &key, false);
                (format!("sort_by({f}, {})", self.expr(&ty)), true)
            }
            _ => {
                let items: Vec<String> = (0..n).map(|_| self.expr(element)).collect();
                (format!("[{}]", items.join(", ")), true)
            }
        }
    }
}
