//! Values as text: see `diffeo_calculus::show`.
//!
//! The texts of elements are joined by halves, so that long arrays and lists cost no more than a logarithm
//! times their text.

use super::{Family, NOWHERE};
use crate::lower::prim::scalar;
use crate::lower::sym::Sym;
use crate::lower::Lower;
use diffeo_array::ir::{Atom, Carried, Elem, FunctionId, Op, SiteId, Ty as Flat};
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::show::is_list;
use diffeo_calculus::Ty;

impl<'p> Lower<'p> {
    /// A value as Diffeo writes it.
    pub(in crate::lower) fn show(&mut self, ty: &Ty, value: &Sym, at: SiteId) -> Atom {
        if let (Some(scalar), Sym::Leaf(atom)) = (scalar(ty), value) {
            return self.one(at, Op::Show(scalar, atom.clone()));
        }
        match ty {
            Ty::Tuple(types) => {
                let parts = self.components(value, at);
                let texts =
                    types.iter().zip(parts.iter()).map(|(ty, part)| self.show(ty, part, at));
                let texts: Vec<Atom> = texts.collect();
                self.listed("(", texts, ")", at)
            }
            Ty::Record(fields) => {
                let parts = self.components(value, at);
                let mut texts = Vec::new();
                for ((name, ty), part) in fields.iter().zip(parts.iter()) {
                    let label = self.text(&format!("{name} = "), at);
                    let text = self.show(ty, part, at);
                    texts.push(self.texts(vec![label, text], at));
                }
                self.listed("{", texts, "}", at)
            }
            Ty::Array(element) => {
                let arrays = self.arrays(value);
                let count = self.length(value, at);
                let texts = self.fill(count.clone(), vec![count.clone()], at, &mut |cx, i| {
                    let element_value = cx.get(element, &arrays, &i, at);
                    cx.show(element, &element_value, at)
                });
                self.joined("[", texts, count, at)
            }
            Ty::Data(..) => {
                let types = self.plain_types(ty);
                let id = self.family(Family::Show, ty, &types, vec![Flat::Text], &|cx, params| {
                    let value = cx.plain_value(ty, &mut params.into_iter());
                    cx.show_data(ty, &value)
                });
                let args = self.store_plain(ty, value, at);
                self.one(at, Op::Call(id, args))
            }
            Ty::Fun(_) => self.text("<function>", at),
            Ty::Unit | Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Param(_) => {
                self.text("()", at)
            }
        }
    }

    /// Texts with commas between them.
    fn listed(&mut self, open: &str, texts: Vec<Atom>, close: &str, at: SiteId) -> Atom {
        let mut all = vec![self.text(open, at)];
        for (i, text) in texts.into_iter().enumerate() {
            if i > 0 {
                all.push(self.text(", ", at));
            }
            all.push(text);
        }
        all.push(self.text(close, at));
        self.texts(all, at)
    }

    fn joined(&mut self, open: &str, texts: Atom, count: Atom, at: SiteId) -> Atom {
        let join = self.join();
        let open = self.text(open, at);
        let all = self.one(at, Op::Call(join, vec![texts, Atom::Int(0), count]));
        let close = self.text("]", at);
        self.texts(vec![open, all, close], at)
    }

    /// The function that joins some of an array of texts, with commas between them.
    fn join(&mut self) -> FunctionId {
        let params = [Flat::Array(Elem::Text, 1), Flat::Int, Flat::Int];
        self.family(Family::Join, &Ty::Unit, &params, vec![Flat::Text], &|cx, params| {
            let [texts, lo, hi] = params.as_slice() else { return Vec::new() };
            let at = NOWHERE;
            let count = cx.int(IntOp::Sub, hi.clone(), lo.clone(), at);
            let some = cx.compare(Comparison::Gt, count.clone(), Atom::Int(0), at);
            cx.choose(
                some,
                at,
                &mut |cx| {
                    let one = cx.compare(Comparison::Eq, count.clone(), Atom::Int(1), at);
                    cx.choose(
                        one,
                        at,
                        &mut |cx| vec![cx.one(at, Op::Get(texts.clone(), vec![lo.clone()]))],
                        &mut |cx| {
                            let join = cx.join();
                            let half = cx.int(IntOp::Div, count.clone(), Atom::Int(2), at);
                            let middle = cx.int(IntOp::Add, lo.clone(), half, at);
                            let args = vec![texts.clone(), lo.clone(), middle.clone()];
                            let first = cx.one(at, Op::Call(join, args));
                            let comma = cx.text(", ", at);
                            let args = vec![texts.clone(), middle, hi.clone()];
                            let second = cx.one(at, Op::Call(join, args));
                            vec![cx.texts(vec![first, comma, second], at)]
                        },
                    )
                },
                &mut |cx| vec![cx.text("", at)],
            )
        })
    }

    fn show_data(&mut self, ty: &Ty, value: &Sym) -> Vec<Atom> {
        let program = self.program;
        let at = NOWHERE;
        let Ty::Data(data, args) = ty else { return Vec::new() };
        let decl = &program.datas[data.0 as usize];
        if let (true, Sym::Leaf(list), Some(element)) = (is_list(decl), value, args.first()) {
            return vec![self.show_list(element, list)];
        }
        self.switch(value, at, &[Flat::Text], &mut |cx, tag, fields| {
            let name = &decl.constructors[tag as usize].name;
            if fields.is_empty() {
                return vec![cx.text(name, at)];
            }
            let types = cx.field_types(ty, tag);
            let texts = types.iter().zip(&fields).map(|(ty, field)| cx.show(ty, field, at));
            let texts: Vec<Atom> = texts.collect();
            vec![cx.listed(&format!("{name}("), texts, ")", at)]
        })
    }

    /// A list: its length, then the texts of its elements.
    fn show_list(&mut self, element: &Ty, list: &Atom) -> Atom {
        let at = NOWHERE;
        let ty = self.f.builder.ty(list);
        let n = self.f.builder.var(Flat::Int, None);
        let rest = self.f.builder.var(ty, None);
        let carried = vec![
            Carried { param: n, init: Atom::Int(0) },
            Carried { param: rest, init: list.clone() },
        ];
        self.f.builder.open();
        let cell = Sym::Leaf(Atom::Var(rest));
        let more = self.has_tag(&cell, 1, at);
        let cond = self.f.builder.close(vec![more]);
        self.f.builder.open();
        let next = self.int(IntOp::Add, Atom::Var(n), Atom::Int(1), at);
        let tail = self.fields(&cell, 1, at).pop().unwrap_or(Sym::Never);
        let tail = self.atom(&tail).unwrap_or(Atom::Var(rest));
        let body = self.f.builder.close(vec![next, tail]);
        let results = self.ops(at, Op::While { carried, cond, body });
        let Some(count) = results.into_iter().next() else { return Atom::Int(0) };
        let empty = self.fill(count.clone(), vec![count.clone()], at, &mut |cx, _| cx.text("", at));
        let init = vec![empty, list.clone()];
        let results = self.for_each(count.clone(), init, at, &mut |cx, i, state| {
            let [texts, rest] = state.as_slice() else { return Vec::new() };
            let mut fields = cx.fields(&Sym::Leaf(rest.clone()), 1, at).into_iter();
            let (head, tail) =
                (fields.next().unwrap_or(Sym::Never), fields.next().unwrap_or(Sym::Never));
            let value = cx.show(element, &head, at);
            let array = texts.clone();
            let texts = cx.one(at, Op::Update { array, indices: vec![i], value });
            vec![texts, cx.atom(&tail).unwrap_or(rest.clone())]
        });
        match results.into_iter().next() {
            Some(texts) => self.joined("list[", texts, count, at),
            None => Atom::Int(0),
        }
    }
}
