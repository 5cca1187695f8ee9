//! The types of generated programs, and how they are chosen and written.

use super::Generator;

/// A type.
#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    Real,
    Int,
    Bool,
    Text,
    Unit,
    Tuple(Vec<Ty>),
    /// Fields by their names as they are written, perhaps in quotes.
    Record(Vec<(&'static str, Ty)>),
    /// An array of this length.
    Array(usize, Box<Ty>),
    Maybe(Box<Ty>),
    List(Box<Ty>),
    /// The variant type that each program declares.
    Shape(Box<Ty>),
    /// The recursive type that programs for the engines declare.
    Tree(Box<Ty>),
    Fun(Box<Ty>, Box<Ty>),
}

impl Ty {
    pub fn fun(from: Ty, to: Ty) -> Ty {
        Ty::Fun(Box::new(from), Box::new(to))
    }

    pub fn array(n: usize, element: Ty) -> Ty {
        Ty::Array(n, Box::new(element))
    }

    pub fn reals(n: usize) -> Ty {
        Ty::array(n, Ty::Real)
    }

    pub fn pair(a: Ty, b: Ty) -> Ty {
        Ty::Tuple(vec![a, b])
    }

    /// The types that it is made of.
    fn below(&self) -> Vec<&Ty> {
        match self {
            Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Unit => Vec::new(),
            Ty::Tuple(parts) => parts.iter().collect(),
            Ty::Record(fields) => fields.iter().map(|(_, t)| t).collect(),
            Ty::Array(_, t) | Ty::Maybe(t) | Ty::List(t) | Ty::Shape(t) | Ty::Tree(t) => vec![t],
            Ty::Fun(from, to) => vec![from, to],
        }
    }

    /// How many parts its values have, about.
    pub fn weight(&self) -> usize {
        match self {
            Ty::Array(n, t) => n * t.weight() + 1,
            other => other.below().iter().map(|t| t.weight()).sum::<usize>() + 1,
        }
    }

    /// Whether it holds no function.
    pub fn first_order(&self) -> bool {
        !matches!(self, Ty::Fun(..)) && self.below().iter().all(|t| t.first_order())
    }

    /// Whether it is a type of vectors.
    pub fn vector(&self) -> bool {
        match self {
            Ty::Real => true,
            Ty::Tuple(_) | Ty::Record(_) | Ty::Array(..) => self.below().iter().all(|t| t.vector()),
            Ty::Int | Ty::Bool | Ty::Text | Ty::Unit => false,
            Ty::Maybe(_) | Ty::List(_) | Ty::Shape(_) | Ty::Tree(_) | Ty::Fun(..) => false,
        }
    }

    /// Whether all of its values have one shape.
    pub fn fixed(&self) -> bool {
        !matches!(self, Ty::Maybe(_) | Ty::List(_) | Ty::Shape(_) | Ty::Tree(_) | Ty::Fun(..))
            && self.below().iter().all(|t| t.fixed())
    }

    /// Whether every expression of it shows all of the type (`[]` and `Nothing` do not).
    pub fn plain(&self) -> bool {
        self.fixed() && !matches!(self, Ty::Array(0, _)) && self.below().iter().all(|t| t.plain())
    }

    /// Whether another type is a part of it.
    pub fn holds(&self, other: &Ty) -> bool {
        self == other || self.below().iter().any(|t| t.holds(other))
    }

    /// Whether its values have Reals that can be differentiated by.
    pub fn holds_real(&self) -> bool {
        match self {
            Ty::Real => true,
            Ty::Array(0, _) | Ty::Fun(..) => false,
            other => other.below().iter().any(|t| t.holds_real()),
        }
    }

    /// The type with so many derivatives in the place of each Real.
    pub fn jets(&self, count: usize) -> Ty {
        let jets = |t: &Ty| Box::new(t.jets(count));
        match self {
            Ty::Real => Ty::reals(count),
            Ty::Int | Ty::Bool | Ty::Text | Ty::Unit => self.clone(),
            Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|t| t.jets(count)).collect()),
            Ty::Record(fields) => {
                Ty::Record(fields.iter().map(|(name, t)| (*name, t.jets(count))).collect())
            }
            Ty::Array(n, t) => Ty::Array(*n, jets(t)),
            Ty::Maybe(t) => Ty::Maybe(jets(t)),
            Ty::List(t) => Ty::List(jets(t)),
            Ty::Shape(t) => Ty::Shape(jets(t)),
            Ty::Tree(t) => Ty::Tree(jets(t)),
            Ty::Fun(from, to) => Ty::Fun(jets(from), jets(to)),
        }
    }

    /// A value of this type and what can be reached from it by components, fields and indices.
    pub fn parts(&self, path: &str, levels: usize, found: &mut dyn FnMut(&str, &Ty)) {
        found(path, self);
        if levels == 0 {
            return;
        }
        match self {
            Ty::Tuple(parts) => {
                for (i, t) in parts.iter().enumerate() {
                    t.parts(&format!("{path}.{i}"), levels - 1, found);
                }
            }
            Ty::Record(fields) => {
                for (name, t) in fields {
                    t.parts(&format!("{path}.{name}"), levels - 1, found);
                }
            }
            Ty::Array(n, t) if *n > 0 => {
                t.parts(&format!("{path}[{}]", n - 1), levels - 1, found);
            }
            Ty::Array(..) | Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Unit => {}
            Ty::Maybe(_) | Ty::List(_) | Ty::Shape(_) | Ty::Tree(_) | Ty::Fun(..) => {}
        }
    }
}

impl Generator<'_> {
    /// A type, perhaps of functions.
    pub(super) fn ty(&mut self, depth: usize) -> Ty {
        if depth == 0 || self.below(8) < 6 {
            return self.data(depth);
        }
        let function = Ty::fun(self.data(depth - 1), self.data(depth - 1));
        match self.below(6) {
            0 => Ty::array(1 + self.below(2), function),
            1 => Ty::pair(function, self.data(depth - 1)),
            2 => Ty::Maybe(Box::new(function)),
            3 if self.engines => Ty::List(Box::new(function)),
            4 if self.engines => Ty::Tree(Box::new(function)),
            _ => function,
        }
    }

    /// A first-order type.
    pub(super) fn data(&mut self, depth: usize) -> Ty {
        if self.variants && self.below(3) == 0 {
            return self.variant(depth);
        }
        let simple = if depth == 0 { 7 } else { 16 };
        if self.engines && depth > 0 {
            match self.below(24) {
                0 | 1 => return Ty::Tree(Box::new(self.data(depth - 1))),
                // More components than a function gives one by one.
                2 if depth > 1 => {
                    let part = self.data(0);
                    return Ty::Tuple(vec![Ty::pair(part, Ty::Int); 17]);
                }
                _ => {}
            }
        }
        match self.below(simple) {
            0..=2 => Ty::Real,
            3 => Ty::Int,
            4 => Ty::Bool,
            5 => self.reals(),
            6 => match self.below(3) {
                0 => Ty::Text,
                1 => Ty::Unit,
                _ => Ty::Real,
            },
            7 | 8 => Ty::Tuple((0..2 + self.below(2)).map(|_| self.data(depth - 1)).collect()),
            9 => {
                let names = match self.below(3) {
                    0 => ["\"Dose (µM)\"", "Age", "type"],
                    _ => ["a", "b'", "width"],
                };
                let n = 1 + self.below(3);
                Ty::Record(names[..n].iter().map(|n| (*n, self.data(depth - 1))).collect())
            }
            10..=12 => {
                let n = self.length();
                Ty::array(n, self.data(depth - 1))
            }
            13 => Ty::Maybe(Box::new(self.data(depth - 1))),
            14 => Ty::List(Box::new(self.data(depth - 1))),
            _ => Ty::Shape(Box::new(self.data(depth - 1))),
        }
    }

    /// A first-order type with variants, often of Reals.
    pub(super) fn variant(&mut self, depth: usize) -> Ty {
        let inner = match (depth, self.below(3)) {
            (0, _) | (_, 0) => Ty::Real,
            (depth, _) => self.data(depth - 1),
        };
        let inner = Box::new(inner);
        match self.below(6) {
            0 | 1 => Ty::Maybe(inner),
            2 | 3 => Ty::Shape(inner),
            4 => Ty::pair(Ty::Maybe(inner), Ty::Real),
            _ => {
                let n = self.length();
                Ty::array(n, Ty::Shape(inner))
            }
        }
    }

    /// A first-order type that holds a Real.
    pub(super) fn with_reals(&mut self) -> Ty {
        let ty = self.data(2);
        match ty.holds_real() {
            true => ty,
            false => Ty::pair(Ty::Real, ty),
        }
    }

    /// A type all of whose values have one shape.
    pub(super) fn fixed(&mut self, depth: usize) -> Ty {
        let ty = self.data(depth);
        match ty.fixed() {
            true => ty,
            false => Ty::Real,
        }
    }

    pub(super) fn reals(&mut self) -> Ty {
        let n = self.length();
        Ty::reals(n)
    }

    pub(super) fn length(&mut self) -> usize {
        if self.engines && self.below(12) == 0 {
            // As long as several vectors, and a rest.
            return [5, 8, 11][self.below(3)];
        }
        [2, 3, 1, 2, 3, 4, 2, 0][self.below(8)]
    }

    /// A type as it is written.
    pub(super) fn written(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Real => "Real".into(),
            Ty::Int => "Int".into(),
            Ty::Bool => "Bool".into(),
            Ty::Text => "String".into(),
            Ty::Unit => "()".into(),
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|t| self.written(t)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(n, t)| format!("{n}: {}", self.written(t))).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Ty::Array(n, t) => match self.below(2) {
                0 => format!("[]{}", self.written(t)),
                _ => format!("[{n}]{}", self.written(t)),
            },
            Ty::Maybe(t) => format!("Maybe[{}]", self.written(t)),
            Ty::List(t) => format!("List[{}]", self.written(t)),
            Ty::Shape(t) => format!("Shape[{}]", self.written(t)),
            Ty::Tree(t) => format!("Tree[{}]", self.written(t)),
            Ty::Fun(from, to) => format!("({} -> {})", self.written(from), self.written(to)),
        }
    }
}
