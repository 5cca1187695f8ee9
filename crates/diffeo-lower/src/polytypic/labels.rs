//! The paths of the Reals of a structure: see `diffeo_calculus::labels`.

use super::ravel::{is_inert, pair};
use super::{Family, NOWHERE};
use crate::sym::Sym;
use crate::Lower;
use diffeo_array::ir::{Atom, Carried, Elem, FlatTy, Op, Scalar, SiteId};
use diffeo_base::field_name;
use diffeo_calculus::prim::IntOp;
use diffeo_calculus::ty::WellKnown;
use diffeo_calculus::Ty;

/// An array of texts.
const TEXTS: FlatTy = FlatTy::Array(Elem::Text, 1);

/// The path of a value. A name in it follows `stem`, the path with a point or, at the outermost value, nothing.
#[derive(Clone)]
struct PathLabel {
    path: Atom,
    stem: Atom,
}

/// The labels written so far, and how many there are.
type Written = (Atom, Atom);

impl<'p> Lower<'p> {
    pub(crate) fn labels(&mut self, ty: &Ty, value: &Sym, at: SiteId) -> Sym {
        let count = self.reals(ty, value, at);
        let empty = self.text("", at);
        let out = self.fill(count.clone(), vec![count], at, &mut |_, _| empty.clone());
        let root = PathLabel { path: empty.clone(), stem: empty };
        let (out, _) = self.label(ty, value, root, (out, Atom::Int(0)), at);
        Sym::Array([out].into())
    }

    /// The path of the part that these texts lead to.
    fn step(&mut self, texts: Vec<Atom>, at: SiteId) -> PathLabel {
        let path = self.texts(texts, at);
        let point = self.text(".", at);
        let stem = self.texts(vec![path.clone(), point], at);
        PathLabel { path, stem }
    }

    fn element_path(&mut self, of: &PathLabel, i: &Atom, at: SiteId) -> PathLabel {
        let (open, close) = (self.text("[", at), self.text("]", at));
        let i = self.one(at, Op::Show(Scalar::Int, i.clone()));
        self.step(vec![of.path.clone(), open, i, close], at)
    }

    /// Writes the labels of a value.
    fn label(
        &mut self,
        ty: &Ty,
        value: &Sym,
        of: PathLabel,
        (out, n): Written,
        at: SiteId,
    ) -> Written {
        match ty {
            _ if is_inert(ty) => (out, n),
            Ty::Real => {
                let op = Op::Update { array: out, indices: vec![n.clone()], value: of.path };
                (self.one(at, op), self.int(IntOp::WrappingAdd, n, Atom::Int(1), at))
            }
            Ty::Tuple(types) => {
                let mut written = (out, n);
                let parts = self.components(value, at);
                for (i, (ty, part)) in types.iter().zip(parts.iter()).enumerate() {
                    let number = self.text(&format!(".{i}"), at);
                    let path = self.step(vec![of.path.clone(), number], at);
                    written = self.label(ty, part, path, written, at);
                }
                written
            }
            Ty::Record(fields) => {
                let mut written = (out, n);
                let parts = self.components(value, at);
                for ((name, ty), part) in fields.iter().zip(parts.iter()) {
                    let name = self.text(&field_name(name), at);
                    let path = self.step(vec![of.stem.clone(), name], at);
                    written = self.label(ty, part, path, written, at);
                }
                written
            }
            Ty::Array(element) => {
                let arrays = self.arrays(value);
                let count = self.length(value, at);
                pair(self.for_each(count, vec![out, n], at, &mut |cx, i, state| {
                    let x = cx.get(element, &arrays, &i, at);
                    let path = cx.element_path(&of, &i, at);
                    let (out, n) = cx.label(element, &x, path, pair(state), at);
                    vec![out, n]
                }))
            }
            Ty::Data(..) => {
                let texts = vec![FlatTy::Text, FlatTy::Text, TEXTS, FlatTy::Int];
                let params = [self.plain_types(ty), texts].concat();
                let results = vec![TEXTS, FlatTy::Int];
                let id = self.family(Family::Label, ty, &params, results, &|cx, params| {
                    let mut params = params.into_iter();
                    let value = cx.plain_value(ty, &mut params);
                    let (path, stem) = pair(params.by_ref().take(2).collect());
                    cx.label_data(ty, &value, &PathLabel { path, stem }, pair(params.collect()))
                });
                let mut args = self.store_plain(ty, value, at);
                args.extend([of.path, of.stem, out, n]);
                pair(self.ops(at, Op::Call(id, args)))
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => (out, n),
        }
    }

    fn label_data(&mut self, ty: &Ty, value: &Sym, of: &PathLabel, (out, n): Written) -> Vec<Atom> {
        let program = self.program;
        let at = NOWHERE;
        let Ty::Data(data, args) = ty else { return vec![out, n] };
        let decl = &program.datas[data.0 as usize];
        if let (true, Sym::Leaf(list), Some(element)) =
            (decl.is(WellKnown::List), value, args.first())
        {
            return self.label_list(element, list, of, (out, n));
        }
        self.switch(value, at, &[TEXTS, FlatTy::Int], &mut |cx, tag, fields| {
            let name = &decl.constructors[tag as usize].name;
            let mut written = (out.clone(), n.clone());
            for (i, (ty, field)) in cx.field_types(ty, tag).iter().zip(&fields).enumerate() {
                let name = cx.text(&format!("{name}.{i}"), at);
                let path = cx.step(vec![of.stem.clone(), name], at);
                written = cx.label(ty, field, path, written, at);
            }
            vec![written.0, written.1]
        })
    }

    /// The elements of a list are numbered as those of an array.
    fn label_list(
        &mut self,
        element: &Ty,
        list: &Atom,
        of: &PathLabel,
        (out, n): Written,
    ) -> Vec<Atom> {
        let at = NOWHERE;
        let init = [out, n, Atom::Int(0), list.clone()];
        let carried: Vec<Carried> = init
            .into_iter()
            .map(|init| {
                let ty = self.f.builder.ty(&init);
                Carried { param: self.f.builder.var(ty, None), init }
            })
            .collect();
        let state: Vec<Atom> = carried.iter().map(|c| Atom::Var(c.param)).collect();
        let [out, n, i, rest] = state.as_slice() else { return Vec::new() };
        let cell = Sym::Leaf(rest.clone());
        self.f.builder.open();
        let more = self.has_tag(&cell, 1, at);
        let cond = self.f.builder.close(vec![more]);
        self.f.builder.open();
        let mut fields = self.fields(&cell, 1, at).into_iter();
        let (head, tail) =
            (fields.next().unwrap_or(Sym::Never), fields.next().unwrap_or(Sym::Never));
        let path = self.element_path(of, i, at);
        let (out, n) = self.label(element, &head, path, (out.clone(), n.clone()), at);
        let next = self.int(IntOp::WrappingAdd, i.clone(), Atom::Int(1), at);
        let tail = self.atom(&tail).unwrap_or(rest.clone());
        let body = self.f.builder.close(vec![out, n, next, tail]);
        let mut results = self.ops(at, Op::While { carried, cond, body });
        results.truncate(2);
        results
    }
}
