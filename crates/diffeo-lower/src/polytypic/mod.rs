//! Operations by induction on types: equality, arithmetic on structures, text, the Reals of a structure.
//!
//! Scalars, tuples and arrays are worked on where the operation stands. For each declared type there is a
//! function ([`Family`]), so that code does not grow with nesting and recursive types are possible.

mod jets;
mod labels;
mod ravel;
mod show;
mod zip;

pub(super) use jets::Coefficient;
pub(super) use zip::{Map, Zip};

use super::prim::scalar;
use super::sym::Sym;
use super::Lower;
use diffeo_array::ad::Orders;
use diffeo_array::ir::{Atom, Carried, FlatTy, FunctionId, Op, SiteId};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::Ty;

/// An operation that declared types have a function for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Family {
    /// `(a, b) → Bool`
    Equal,
    /// `(a, b) → a`; where the second is taken, nothing, but they are compared.
    Zip(Zip),
    /// `(r, a) → a`
    Map(Map),
    /// `(a, b, sum) → sum`
    Inner,
    /// `a → Text`
    Show,
    /// `([]Text, lo, hi) → Text`, at no type.
    Join,
    /// Puts the texts that a value is shown as into an array.
    Pieces,
    /// Puts one text there.
    Piece,
    /// `a → Int`: how many Reals there are.
    Count,
    /// `(a, []Real, position) → ([]Real, position)`
    Fill,
    /// `(a, []Real, position) → (a, position)`
    Rebuild,
    /// `(a, Text, Text, []Text, position) → ([]Text, position)`
    Label,
    /// `J(a) → a`
    Coefficient(Coefficient),
    /// `(a, …, a) → J(a)`
    Jet(Orders),
}

/// The place of statements in functions without text.
const NOWHERE: SiteId = SiteId(0);

/// Whether a declared type is in it.
fn has_data(ty: &Ty) -> bool {
    match ty {
        Ty::Data(..) => true,
        Ty::Array(element) => has_data(element),
        Ty::Tuple(types) => types.iter().any(has_data),
        Ty::Record(fields) => fields.iter().any(|(_, ty)| has_data(ty)),
        Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => false,
    }
}

/// The type inside nested arrays.
fn innermost(ty: &Ty) -> &Ty {
    match ty {
        Ty::Array(element) => innermost(element),
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Tuple(_)
        | Ty::Record(_)
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => ty,
    }
}

/// What a loop does: given the index and what is carried, what is carried on.
type LoopStep<'s, L> = dyn FnMut(&mut L, Atom, Vec<Atom>) -> Vec<Atom> + 's;

impl<'p> Lower<'p> {
    /// The function of a family at a type; `body` makes it from its parameters.
    fn family(
        &mut self,
        family: Family,
        ty: &Ty,
        params: &[FlatTy],
        results: Vec<FlatTy>,
        body: &dyn Fn(&mut Self, Vec<Atom>) -> Vec<Atom>,
    ) -> FunctionId {
        let key = (family, ty.clone());
        if let Some(id) = self.families.get(&key) {
            return *id;
        }
        let name = match family {
            Family::Equal => "equal",
            Family::Zip(_) => "add",
            Family::Map(_) => "map",
            Family::Inner => "inner",
            Family::Show => "show",
            Family::Join => "join",
            Family::Pieces => "pieces",
            Family::Piece => "piece",
            Family::Count => "count",
            Family::Fill => "ravel",
            Family::Rebuild => "unravel",
            Family::Label => "labels",
            Family::Coefficient(_) => "coefficient",
            Family::Jet(_) => "jet",
        };
        let id = self.glue(name, params, results);
        self.families.insert(key, id);
        let saved = self.begin(id, NOWHERE);
        let params = self.params(id);
        let results = diffeo_base::deep(|| body(self, params));
        self.end(id, results, saved);
        id
    }

    /// The types of the values that a plain value consists of.
    fn plain_types(&mut self, ty: &Ty) -> Vec<FlatTy> {
        let shape = self.plain(ty);
        self.types(&shape)
    }

    fn plain_value(&mut self, ty: &Ty, atoms: &mut impl Iterator<Item = Atom>) -> Sym {
        let shape = self.plain(ty);
        self.load(&shape, atoms)
    }

    fn store_plain(&mut self, ty: &Ty, value: &Sym, at: SiteId) -> Vec<Atom> {
        let shape = self.plain(ty);
        self.store(value, &shape, at)
    }

    /// The types of the fields of a constructor.
    fn field_types(&self, ty: &Ty, tag: u32) -> Vec<Ty> {
        match ty {
            Ty::Data(data, args) => self.program.datas[data.0 as usize].fields(tag, args),
            Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Tuple(_)
            | Ty::Record(_)
            | Ty::Array(_)
            | Ty::Fun(_)
            | Ty::Param(_) => Vec::new(),
        }
    }

    fn text(&mut self, text: &str, at: SiteId) -> Atom {
        self.one(at, Op::Text(Name::new(text)))
    }

    /// Texts one after the other.
    fn texts(&mut self, texts: Vec<Atom>, at: SiteId) -> Atom {
        let all = texts.into_iter().reduce(|a, b| self.one(at, Op::AppendText(a, b)));
        match all {
            Some(text) => text,
            None => self.text("", at),
        }
    }

    /// A loop over the indices below `count` with values that are carried.
    pub(super) fn for_each(
        &mut self,
        count: Atom,
        init: Vec<Atom>,
        at: SiteId,
        step: &mut LoopStep<'_, Self>,
    ) -> Vec<Atom> {
        let index = self.f.builder.var(FlatTy::Int, None);
        let carried: Vec<Carried> = init
            .into_iter()
            .map(|init| {
                let ty = self.f.builder.ty(&init);
                Carried { param: self.f.builder.var(ty, None), init }
            })
            .collect();
        let state = carried.iter().map(|c| Atom::Var(c.param)).collect();
        self.f.builder.open();
        let results = step(self, Atom::Var(index), state);
        let body = self.f.builder.close(results);
        self.ops(at, Op::For { count, index, carried, body })
    }

    /// The array of what `f` makes of the elements of another one, which are of the first type; the second is that of
    /// what it makes.
    fn each(
        &mut self,
        (from, to): (&Ty, &Ty),
        arrays: &[Atom],
        at: SiteId,
        f: &mut dyn FnMut(&mut Self, &Atom, Sym) -> Sym,
    ) -> Sym {
        let Some(first) = arrays.first() else { return Sym::Never };
        let count = self.dim(first, 0, at);
        let index = self.f.builder.var(FlatTy::Int, None);
        self.f.builder.open();
        let value = self.get(from, arrays, &Atom::Var(index), at);
        let value = f(self, &Atom::Var(index), value);
        let shape = self.plain(to);
        let results = self.element(&value, &shape, at);
        let body = self.f.builder.close(results);
        Sym::Array(self.ops(at, Op::Build { count, index, body }).into())
    }

    /// Values that a condition chooses.
    fn choose(
        &mut self,
        cond: Atom,
        at: SiteId,
        yes: &mut dyn FnMut(&mut Self) -> Vec<Atom>,
        no: &mut dyn FnMut(&mut Self) -> Vec<Atom>,
    ) -> Vec<Atom> {
        match cond {
            Atom::Bool(true) => return yes(self),
            Atom::Bool(false) => return no(self),
            Atom::Var(_) | Atom::Real(_) | Atom::Int(_) | Atom::Unused(_) => {}
        }
        self.f.builder.open();
        let results = yes(self);
        let then = self.f.builder.close(results);
        self.f.builder.open();
        let results = no(self);
        let otherwise = self.f.builder.close(results);
        self.ops(at, Op::If { cond, then, otherwise })
    }

    /// Whether a variant has this tag.
    fn has_tag(&mut self, variant: &Sym, tag: u32, at: SiteId) -> Atom {
        match self.tag(variant, at) {
            Ok(found) => Atom::Bool(found == tag),
            Err(found) => self.compare(Comparison::Eq, found, Atom::Int(i64::from(tag)), at),
        }
    }

    // Equality

    /// Whether two values are equal.
    pub(super) fn equal(&mut self, ty: &Ty, a: &Sym, b: &Sym, at: SiteId) -> Atom {
        if let Some(scalar) = scalar(ty) {
            return match (a, b) {
                (Sym::Leaf(a), Sym::Leaf(b)) => {
                    self.one(at, Op::Compare(Comparison::Eq, scalar, a.clone(), b.clone()))
                }
                _ => Atom::Bool(false),
            };
        }
        match ty {
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                let (a, b) = (self.components(a, at), self.components(b, at));
                self.equal_parts(&types, &a, &b, at)
            }
            Ty::Array(element) => {
                let (a, b) = (self.arrays(a), self.arrays(b));
                self.equal_arrays(element, &a, &b, at)
            }
            Ty::Data(..) => {
                let types = self.plain_types(ty);
                let params = [types.clone(), types.clone()].concat();
                let id =
                    self.family(Family::Equal, ty, &params, vec![FlatTy::Bool], &|cx, params| {
                        let mut params = params.into_iter();
                        let (a, b) =
                            (cx.plain_value(ty, &mut params), cx.plain_value(ty, &mut params));
                        cx.equal_data(ty, &a, &b)
                    });
                let mut args = self.store_plain(ty, a, at);
                args.extend(self.store_plain(ty, b, at));
                self.one(at, Op::Call(id, args))
            }
            Ty::Unit | Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Fun(_) | Ty::Param(_) => {
                Atom::Bool(true)
            }
        }
    }

    fn equal_parts(&mut self, types: &[Ty], a: &[Sym], b: &[Sym], at: SiteId) -> Atom {
        let Some((ty, rest)) = types.split_first() else { return Atom::Bool(true) };
        let (Some((a, more_a)), Some((b, more_b))) = (a.split_first(), b.split_first()) else {
            return Atom::Bool(true);
        };
        let first = self.equal(ty, a, b, at);
        if rest.is_empty() {
            return first;
        }
        if rest.iter().all(|ty| scalar(ty).is_some()) {
            let second = self.equal_parts(rest, more_a, more_b, at);
            return match first {
                Atom::Bool(true) => second,
                first => self.one(at, Op::And(first, second)),
            };
        }
        let results = self.choose(
            first,
            at,
            &mut |cx| vec![cx.equal_parts(rest, more_a, more_b, at)],
            &mut |_| vec![Atom::Bool(false)],
        );
        results.into_iter().next().unwrap_or(Atom::Bool(false))
    }

    fn equal_data(&mut self, ty: &Ty, a: &Sym, b: &Sym) -> Vec<Atom> {
        let at = NOWHERE;
        self.switch(a, at, &[FlatTy::Bool], &mut |cx, tag, fields| {
            let same = cx.has_tag(b, tag, at);
            let types = cx.field_types(ty, tag);
            if types.is_empty() {
                return vec![same];
            }
            cx.choose(
                same,
                at,
                &mut |cx| {
                    let others = cx.fields(b, tag, at);
                    vec![cx.equal_parts(&types, &fields, &others, at)]
                },
                &mut |_| vec![Atom::Bool(false)],
            )
        })
    }

    fn equal_arrays(&mut self, element: &Ty, a: &[Atom], b: &[Atom], at: SiteId) -> Atom {
        let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else {
            return Atom::Bool(true);
        };
        let flat = scalar(innermost(element)).is_some();
        // The sizes are equal as far as there are elements.
        let mut count = Atom::Int(1);
        let mut same = Atom::Bool(true);
        for d in 0..if flat { self.rank(first_a) } else { 1 } {
            let (m, n) = (self.dim(first_a, d, at), self.dim(first_b, d, at));
            let equal = self.compare(Comparison::Eq, m.clone(), n, at);
            if d == 0 {
                (count, same) = (m, equal);
                continue;
            }
            let none = self.compare(Comparison::Eq, count.clone(), Atom::Int(0), at);
            let fits = self.one(at, Op::Or(none, equal));
            same = self.one(at, Op::And(same, fits));
            count = self.int(IntOp::WrappingMul, count, m, at);
        }
        let count = self.int(IntOp::Max, count, Atom::Int(0), at);
        let (element, a, b) = match flat && self.rank(first_a) > 1 {
            true => {
                // Only where the sizes are equal are there as many elements in the second array.
                let sizes = self.dims(first_b, 0, at);
                let other = self.product(&sizes, at);
                let a = self.one(at, Op::Reshape(first_a.clone(), vec![count.clone()]));
                let b = self.one(at, Op::Reshape(first_b.clone(), vec![other]));
                (innermost(element), vec![a], vec![b])
            }
            false => (element, a.to_vec(), b.to_vec()),
        };
        let i = self.f.builder.var(FlatTy::Int, None);
        let equal = self.f.builder.var(FlatTy::Bool, None);
        let carried =
            vec![Carried { param: i, init: Atom::Int(0) }, Carried { param: equal, init: same }];
        self.f.builder.open();
        let more = self.compare(Comparison::Lt, Atom::Var(i), count, at);
        let on = self.one(at, Op::And(more, Atom::Var(equal)));
        let cond = self.f.builder.close(vec![on]);
        self.f.builder.open();
        let (x, y) =
            (self.get(element, &a, &Atom::Var(i), at), self.get(element, &b, &Atom::Var(i), at));
        let result = self.equal(element, &x, &y, at);
        let next = self.int(IntOp::WrappingAdd, Atom::Var(i), Atom::Int(1), at);
        let body = self.f.builder.close(vec![next, result]);
        let results = self.ops(at, Op::While { carried, cond, body });
        results.into_iter().nth(1).unwrap_or(Atom::Bool(false))
    }
}
