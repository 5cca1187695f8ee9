//! The types of generated programs, and how they are chosen and written.

use super::Generator;

/// A type.
#[derive(Clone, PartialEq, Debug)]
pub enum GeneratedTy {
    Real,
    Int,
    Bool,
    Text,
    Unit,
    Tuple(Vec<GeneratedTy>),
    /// Fields by their names as they are written, perhaps in quotes.
    Record(Vec<(&'static str, GeneratedTy)>),
    /// An array of this length.
    Array(usize, Box<GeneratedTy>),
    Maybe(Box<GeneratedTy>),
    List(Box<GeneratedTy>),
    /// The variant type that each program declares.
    Shape(Box<GeneratedTy>),
    /// The recursive type that programs for the engines declare.
    Tree(Box<GeneratedTy>),
    Fun(Box<GeneratedTy>, Box<GeneratedTy>),
}

impl GeneratedTy {
    pub fn fun(from: GeneratedTy, to: GeneratedTy) -> GeneratedTy {
        GeneratedTy::Fun(Box::new(from), Box::new(to))
    }

    pub fn array(n: usize, element: GeneratedTy) -> GeneratedTy {
        GeneratedTy::Array(n, Box::new(element))
    }

    pub fn reals(n: usize) -> GeneratedTy {
        GeneratedTy::array(n, GeneratedTy::Real)
    }

    pub fn pair(a: GeneratedTy, b: GeneratedTy) -> GeneratedTy {
        GeneratedTy::Tuple(vec![a, b])
    }

    /// The types that it is made of.
    fn below(&self) -> Vec<&GeneratedTy> {
        match self {
            GeneratedTy::Real
            | GeneratedTy::Int
            | GeneratedTy::Bool
            | GeneratedTy::Text
            | GeneratedTy::Unit => Vec::new(),
            GeneratedTy::Tuple(parts) => parts.iter().collect(),
            GeneratedTy::Record(fields) => fields.iter().map(|(_, t)| t).collect(),
            GeneratedTy::Array(_, t)
            | GeneratedTy::Maybe(t)
            | GeneratedTy::List(t)
            | GeneratedTy::Shape(t)
            | GeneratedTy::Tree(t) => vec![t],
            GeneratedTy::Fun(from, to) => vec![from, to],
        }
    }

    /// How many parts its values have, about.
    pub fn weight(&self) -> usize {
        match self {
            GeneratedTy::Array(n, t) => n * t.weight() + 1,
            other => other.below().iter().map(|t| t.weight()).sum::<usize>() + 1,
        }
    }

    /// Whether it holds no function.
    pub fn first_order(&self) -> bool {
        !matches!(self, GeneratedTy::Fun(..)) && self.below().iter().all(|t| t.first_order())
    }

    /// Whether it is a type of vectors.
    pub fn vector(&self) -> bool {
        match self {
            GeneratedTy::Real => true,
            GeneratedTy::Tuple(_) | GeneratedTy::Record(_) | GeneratedTy::Array(..) => {
                self.below().iter().all(|t| t.vector())
            }
            GeneratedTy::Int | GeneratedTy::Bool | GeneratedTy::Text | GeneratedTy::Unit => false,
            GeneratedTy::Maybe(_)
            | GeneratedTy::List(_)
            | GeneratedTy::Shape(_)
            | GeneratedTy::Tree(_)
            | GeneratedTy::Fun(..) => false,
        }
    }

    /// Whether all of its values have one shape.
    pub fn fixed(&self) -> bool {
        !matches!(
            self,
            GeneratedTy::Maybe(_)
                | GeneratedTy::List(_)
                | GeneratedTy::Shape(_)
                | GeneratedTy::Tree(_)
                | GeneratedTy::Fun(..)
        ) && self.below().iter().all(|t| t.fixed())
    }

    /// Whether every expression of it shows all of the type (`[]` and `Nothing` do not).
    pub fn plain(&self) -> bool {
        self.fixed()
            && !matches!(self, GeneratedTy::Array(0, _))
            && self.below().iter().all(|t| t.plain())
    }

    /// Whether another type is a part of it.
    pub fn holds(&self, other: &GeneratedTy) -> bool {
        self == other || self.below().iter().any(|t| t.holds(other))
    }

    /// Whether its values have Reals that can be differentiated by.
    pub fn holds_real(&self) -> bool {
        match self {
            GeneratedTy::Real => true,
            GeneratedTy::Array(0, _) | GeneratedTy::Fun(..) => false,
            other => other.below().iter().any(|t| t.holds_real()),
        }
    }

    /// The type with so many derivatives in the place of each Real.
    pub fn jets(&self, count: usize) -> GeneratedTy {
        let jets = |t: &GeneratedTy| Box::new(t.jets(count));
        match self {
            GeneratedTy::Real => GeneratedTy::reals(count),
            GeneratedTy::Int | GeneratedTy::Bool | GeneratedTy::Text | GeneratedTy::Unit => {
                self.clone()
            }
            GeneratedTy::Tuple(parts) => {
                GeneratedTy::Tuple(parts.iter().map(|t| t.jets(count)).collect())
            }
            GeneratedTy::Record(fields) => {
                GeneratedTy::Record(fields.iter().map(|(name, t)| (*name, t.jets(count))).collect())
            }
            GeneratedTy::Array(n, t) => GeneratedTy::Array(*n, jets(t)),
            GeneratedTy::Maybe(t) => GeneratedTy::Maybe(jets(t)),
            GeneratedTy::List(t) => GeneratedTy::List(jets(t)),
            GeneratedTy::Shape(t) => GeneratedTy::Shape(jets(t)),
            GeneratedTy::Tree(t) => GeneratedTy::Tree(jets(t)),
            GeneratedTy::Fun(from, to) => GeneratedTy::Fun(jets(from), jets(to)),
        }
    }

    /// A value of this type and what can be reached from it by components, fields and indices.
    pub fn parts(&self, path: &str, levels: usize, found: &mut dyn FnMut(&str, &GeneratedTy)) {
        found(path, self);
        if levels == 0 {
            return;
        }
        match self {
            GeneratedTy::Tuple(parts) => {
                for (i, t) in parts.iter().enumerate() {
                    t.parts(&format!("{path}.{i}"), levels - 1, found);
                }
            }
            GeneratedTy::Record(fields) => {
                for (name, t) in fields {
                    t.parts(&format!("{path}.{name}"), levels - 1, found);
                }
            }
            GeneratedTy::Array(n, t) if *n > 0 => {
                t.parts(&format!("{path}[{}]", n - 1), levels - 1, found);
            }
            GeneratedTy::Array(..)
            | GeneratedTy::Real
            | GeneratedTy::Int
            | GeneratedTy::Bool
            | GeneratedTy::Text
            | GeneratedTy::Unit => {}
            GeneratedTy::Maybe(_)
            | GeneratedTy::List(_)
            | GeneratedTy::Shape(_)
            | GeneratedTy::Tree(_)
            | GeneratedTy::Fun(..) => {}
        }
    }
}

impl Generator<'_> {
    /// A type, perhaps of functions.
    pub(super) fn ty(&mut self, depth: usize) -> GeneratedTy {
        if depth == 0 || self.below(8) < 6 {
            return self.data(depth);
        }
        let function = GeneratedTy::fun(self.data(depth - 1), self.data(depth - 1));
        match self.below(6) {
            0 => GeneratedTy::array(1 + self.below(2), function),
            1 => GeneratedTy::pair(function, self.data(depth - 1)),
            2 => GeneratedTy::Maybe(Box::new(function)),
            3 if self.engines => GeneratedTy::List(Box::new(function)),
            4 if self.engines => GeneratedTy::Tree(Box::new(function)),
            _ => function,
        }
    }

    /// A first-order type.
    pub(super) fn data(&mut self, depth: usize) -> GeneratedTy {
        if self.variants && self.below(3) == 0 {
            return self.variant(depth);
        }
        let simple = if depth == 0 { 7 } else { 16 };
        if self.engines && depth > 0 {
            match self.below(24) {
                0 | 1 => return GeneratedTy::Tree(Box::new(self.data(depth - 1))),
                // More components than a function gives one by one.
                2 if depth > 1 => {
                    let part = self.data(0);
                    return GeneratedTy::Tuple(vec![GeneratedTy::pair(part, GeneratedTy::Int); 17]);
                }
                _ => {}
            }
        }
        match self.below(simple) {
            0..=2 => GeneratedTy::Real,
            3 => GeneratedTy::Int,
            4 => GeneratedTy::Bool,
            5 => self.reals(),
            6 => match self.below(3) {
                0 => GeneratedTy::Text,
                1 => GeneratedTy::Unit,
                _ => GeneratedTy::Real,
            },
            7 | 8 => {
                GeneratedTy::Tuple((0..2 + self.below(2)).map(|_| self.data(depth - 1)).collect())
            }
            9 => {
                let names = match self.below(3) {
                    0 => ["\"Dose (µM)\"", "Age", "type"],
                    _ => ["a", "b'", "width"],
                };
                let n = 1 + self.below(3);
                GeneratedTy::Record(names[..n].iter().map(|n| (*n, self.data(depth - 1))).collect())
            }
            10..=12 => {
                let n = self.length();
                GeneratedTy::array(n, self.data(depth - 1))
            }
            13 => GeneratedTy::Maybe(Box::new(self.data(depth - 1))),
            14 => GeneratedTy::List(Box::new(self.data(depth - 1))),
            _ => GeneratedTy::Shape(Box::new(self.data(depth - 1))),
        }
    }

    /// A first-order type with variants, often of Reals.
    pub(super) fn variant(&mut self, depth: usize) -> GeneratedTy {
        let inner = match (depth, self.below(3)) {
            (0, _) | (_, 0) => GeneratedTy::Real,
            (depth, _) => self.data(depth - 1),
        };
        let inner = Box::new(inner);
        match self.below(6) {
            0 | 1 => GeneratedTy::Maybe(inner),
            2 | 3 => GeneratedTy::Shape(inner),
            4 => GeneratedTy::pair(GeneratedTy::Maybe(inner), GeneratedTy::Real),
            _ => {
                let n = self.length();
                GeneratedTy::array(n, GeneratedTy::Shape(inner))
            }
        }
    }

    /// A first-order type that holds a Real.
    pub(super) fn with_reals(&mut self) -> GeneratedTy {
        let ty = self.data(2);
        match ty.holds_real() {
            true => ty,
            false => GeneratedTy::pair(GeneratedTy::Real, ty),
        }
    }

    /// A type all of whose values have one shape.
    pub(super) fn fixed(&mut self, depth: usize) -> GeneratedTy {
        let ty = self.data(depth);
        match ty.fixed() {
            true => ty,
            false => GeneratedTy::Real,
        }
    }

    pub(super) fn reals(&mut self) -> GeneratedTy {
        let n = self.length();
        GeneratedTy::reals(n)
    }

    pub(super) fn length(&mut self) -> usize {
        if self.engines && self.below(12) == 0 {
            // As long as several vectors, and a rest.
            return [5, 8, 11][self.below(3)];
        }
        [2, 3, 1, 2, 3, 4, 2, 0][self.below(8)]
    }

    /// A type as it is written.
    pub(super) fn written(&mut self, ty: &GeneratedTy) -> String {
        match ty {
            GeneratedTy::Real => "Real".into(),
            GeneratedTy::Int => "Int".into(),
            GeneratedTy::Bool => "Bool".into(),
            GeneratedTy::Text => "String".into(),
            GeneratedTy::Unit => "()".into(),
            GeneratedTy::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|t| self.written(t)).collect();
                format!("({})", parts.join(", "))
            }
            GeneratedTy::Record(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(n, t)| format!("{n}: {}", self.written(t))).collect();
                format!("{{{}}}", fields.join(", "))
            }
            GeneratedTy::Array(n, t) => match self.below(2) {
                0 => format!("[]{}", self.written(t)),
                _ => format!("[{n}]{}", self.written(t)),
            },
            GeneratedTy::Maybe(t) => format!("Maybe[{}]", self.written(t)),
            GeneratedTy::List(t) => format!("List[{}]", self.written(t)),
            GeneratedTy::Shape(t) => format!("Shape[{}]", self.written(t)),
            GeneratedTy::Tree(t) => format!("Tree[{}]", self.written(t)),
            GeneratedTy::Fun(from, to) => {
                format!("({} -> {})", self.written(from), self.written(to))
            }
        }
    }
}
