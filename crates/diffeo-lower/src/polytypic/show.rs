//! Values as text: see `diffeo_calculus::show`.
//!
//! The texts of elements are joined by halves, so that long arrays and lists cost no more than a logarithm
//! times their text. Values of recursive types are put in pieces into an array, which are joined so, too: texts within
//! texts within texts would be copied as often as they are deep.

use super::{Family, NOWHERE};
use crate::prim::scalar;
use crate::sym::Sym;
use crate::Lower;
use diffeo_array::ir::{Atom, Carried, Elem, FlatTy, FunctionId, Op, SiteId};
use diffeo_base::field_name;
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::ty::WellKnown;
use diffeo_calculus::Ty;

/// An array of texts.
const TEXTS: FlatTy = FlatTy::Array(Elem::Text, 1);

/// Texts in an array, and how many there are.
type Pieces = (Atom, Atom);

impl<'p> Lower<'p> {
    /// A value as Diffeo writes it.
    pub(crate) fn show(&mut self, ty: &Ty, value: &Sym, at: SiteId) -> Atom {
        if let (Some(scalar), Sym::Leaf(atom)) = (scalar(ty), value) {
            return self.one(at, Op::Show(scalar, atom.clone()));
        }
        if self.is_deep(ty, &mut Vec::new()) {
            let room =
                self.fill(Atom::Int(8), vec![Atom::Int(8)], at, &mut |cx, _| cx.text("", at));
            let (texts, count) = self.pieces(ty, value, (room, Atom::Int(0)), at);
            let (join, nothing) = (self.join(), self.text("", at));
            return self.one(at, Op::Call(join, vec![texts, nothing, Atom::Int(0), count]));
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
                    let label = self.text(&format!("{} = ", field_name(name)), at);
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
                let id =
                    self.family(Family::Show, ty, &types, vec![FlatTy::Text], &|cx, params| {
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
        let (open, comma) = (self.text(open, at), self.text(", ", at));
        let all = self.one(at, Op::Call(join, vec![texts, comma, Atom::Int(0), count]));
        let close = self.text("]", at);
        self.texts(vec![open, all, close], at)
    }

    /// The function that joins some of an array of texts, with another one between them.
    fn join(&mut self) -> FunctionId {
        let params = [TEXTS, FlatTy::Text, FlatTy::Int, FlatTy::Int];
        self.family(Family::Join, &Ty::Unit, &params, vec![FlatTy::Text], &|cx, params| {
            let [texts, between, lo, hi] = params.as_slice() else { return Vec::new() };
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
                            let (texts, between) = (texts.clone(), between.clone());
                            let args =
                                vec![texts.clone(), between.clone(), lo.clone(), middle.clone()];
                            let first = cx.one(at, Op::Call(join, args));
                            let args = vec![texts, between.clone(), middle, hi.clone()];
                            let second = cx.one(at, Op::Call(join, args));
                            vec![cx.texts(vec![first, between, second], at)]
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
        if let (true, Sym::Leaf(list), Some(element)) =
            (decl.is(WellKnown::List), value, args.first())
        {
            return vec![self.show_list(element, list)];
        }
        self.switch(value, at, &[FlatTy::Text], &mut |cx, tag, fields| {
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
        let n = self.f.builder.var(FlatTy::Int, None);
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

    /// Whether texts of values of a type have others of its values within, to any depth: elements of a list are all at
    /// the same one.
    fn is_deep(&mut self, ty: &Ty, open: &mut Vec<Ty>) -> bool {
        match ty {
            Ty::Tuple(types) => types.iter().any(|ty| self.is_deep(ty, open)),
            Ty::Record(fields) => fields.iter().any(|(_, ty)| self.is_deep(ty, open)),
            Ty::Array(element) => self.is_deep(element, open),
            Ty::Data(data, args) => {
                if open.contains(ty) {
                    return true;
                }
                let program = self.program;
                let decl = &program.datas[data.0 as usize];
                if let (true, Some(element)) = (decl.is(WellKnown::List), args.first()) {
                    return self.is_deep(element, open);
                }
                open.push(ty.clone());
                let is_deep = (0..decl.constructors.len()).any(|tag| {
                    self.field_types(ty, tag as u32).iter().any(|ty| self.is_deep(ty, open))
                });
                open.pop();
                is_deep
            }
            Ty::Unit | Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Fun(_) | Ty::Param(_) => {
                false
            }
        }
    }

    /// Puts the texts that a value is shown as behind others.
    fn pieces(&mut self, ty: &Ty, value: &Sym, to: Pieces, at: SiteId) -> Pieces {
        if !self.is_deep(ty, &mut Vec::new()) {
            let text = self.show(ty, value, at);
            return self.piece(text, to, at);
        }
        match ty {
            Ty::Tuple(types) => {
                let parts = self.components(value, at);
                let labelled = types.iter().zip(parts.iter());
                let labelled = labelled.map(|(ty, part)| (String::new(), ty, part)).collect();
                self.pieces_of("(", labelled, ")", to, at)
            }
            Ty::Record(fields) => {
                let parts = self.components(value, at);
                let labelled = fields.iter().zip(parts.iter());
                let labelled = labelled
                    .map(|((name, ty), part)| (format!("{} = ", field_name(name)), ty, part));
                self.pieces_of("{", labelled.collect(), "}", to, at)
            }
            Ty::Array(element) => {
                let arrays = self.arrays(value);
                let count = self.length(value, at);
                let (texts, n) = self.written("[", to, at);
                let init = vec![texts, n, self.text("", at)];
                let state = self.for_each(count, init, at, &mut |cx, i, state| {
                    let [texts, n, between] = state.as_slice() else { return Vec::new() };
                    let to = cx.piece(between.clone(), (texts.clone(), n.clone()), at);
                    let x = cx.get(element, &arrays, &i, at);
                    let (texts, n) = cx.pieces(element, &x, to, at);
                    vec![texts, n, cx.text(", ", at)]
                });
                self.written("]", pair(state), at)
            }
            Ty::Data(..) => {
                let params = [self.plain_types(ty), vec![TEXTS, FlatTy::Int]].concat();
                let results = vec![TEXTS, FlatTy::Int];
                let id = self.family(Family::Pieces, ty, &params, results, &|cx, params| {
                    let mut params = params.into_iter();
                    let value = cx.plain_value(ty, &mut params);
                    cx.pieces_of_data(ty, &value, pair(params.collect()))
                });
                let mut args = self.store_plain(ty, value, at);
                args.extend([to.0, to.1]);
                pair(self.ops(at, Op::Call(id, args)))
            }
            Ty::Unit | Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Fun(_) | Ty::Param(_) => to,
        }
    }

    fn pieces_of_data(&mut self, ty: &Ty, value: &Sym, to: Pieces) -> Vec<Atom> {
        let program = self.program;
        let at = NOWHERE;
        let Ty::Data(data, args) = ty else { return Vec::new() };
        let decl = &program.datas[data.0 as usize];
        if let (true, Sym::Leaf(list), Some(element)) =
            (decl.is(WellKnown::List), value, args.first())
        {
            return self.pieces_of_list(element, list, to);
        }
        self.switch(value, at, &[TEXTS, FlatTy::Int], &mut |cx, tag, fields| {
            let name = &decl.constructors[tag as usize].name;
            let to = to.clone();
            let (texts, n) = if fields.is_empty() {
                cx.written(name, to, at)
            } else {
                let types = cx.field_types(ty, tag);
                let labelled = types.iter().zip(&fields);
                let labelled = labelled.map(|(ty, field)| (String::new(), ty, field)).collect();
                cx.pieces_of(&format!("{name}("), labelled, ")", to, at)
            };
            vec![texts, n]
        })
    }

    /// The elements of a list, one after the other.
    fn pieces_of_list(&mut self, element: &Ty, list: &Atom, to: Pieces) -> Vec<Atom> {
        let at = NOWHERE;
        let (texts, n) = self.written("list[", to, at);
        let init = [list.clone(), texts, n, self.text("", at)];
        let carried = init.map(|init| {
            let ty = self.f.builder.ty(&init);
            Carried { param: self.f.builder.var(ty, None), init }
        });
        let [rest, texts, n, between] = carried.each_ref().map(|carried| Atom::Var(carried.param));
        let cell = Sym::Leaf(rest.clone());
        self.f.builder.open();
        let more = self.has_tag(&cell, 1, at);
        let cond = self.f.builder.close(vec![more]);
        self.f.builder.open();
        let mut fields = self.fields(&cell, 1, at).into_iter();
        let (head, tail) =
            (fields.next().unwrap_or(Sym::Never), fields.next().unwrap_or(Sym::Never));
        let tail = self.atom(&tail).unwrap_or(rest);
        let to = self.piece(between, (texts, n), at);
        let (texts, n) = self.pieces(element, &head, to, at);
        let comma = self.text(", ", at);
        let body = self.f.builder.close(vec![tail, texts, n, comma]);
        let results = self.ops(at, Op::While { carried: carried.into(), cond, body });
        let (texts, n) = self.written("]", pair(results.into_iter().skip(1).collect()), at);
        vec![texts, n]
    }

    /// Values with labels, and commas between them.
    fn pieces_of(
        &mut self,
        open: &str,
        labelled: Vec<(String, &Ty, &Sym)>,
        close: &str,
        to: Pieces,
        at: SiteId,
    ) -> Pieces {
        let mut to = to;
        for (i, (label, ty, value)) in labelled.into_iter().enumerate() {
            let before = if i == 0 { open } else { ", " };
            to = self.written(&format!("{before}{label}"), to, at);
            to = self.pieces(ty, value, to, at);
        }
        self.written(close, to, at)
    }

    fn written(&mut self, text: &str, to: Pieces, at: SiteId) -> Pieces {
        let text = self.text(text, at);
        self.piece(text, to, at)
    }

    /// Puts a text behind others, in an array of twice the size where this one is full.
    fn piece(&mut self, text: Atom, (texts, n): Pieces, at: SiteId) -> Pieces {
        let params = [TEXTS, FlatTy::Int, FlatTy::Text];
        let results = vec![TEXTS, FlatTy::Int];
        let id = self.family(Family::Piece, &Ty::Unit, &params, results, &|cx, params| {
            let [texts, n, text] = params.as_slice() else { return Vec::new() };
            let at = NOWHERE;
            let room = cx.dims(texts, 0, at).pop().unwrap_or(Atom::Int(0));
            let full = cx.compare(Comparison::Eq, room, n.clone(), at);
            let grown = cx.choose(
                full,
                at,
                &mut |cx| {
                    let twice = cx.int(IntOp::WrappingAdd, n.clone(), n.clone(), at);
                    let room = cx.fill(twice.clone(), vec![twice], at, &mut |cx, i| {
                        let there = cx.compare(Comparison::Lt, i.clone(), n.clone(), at);
                        let text = cx.choose(
                            there,
                            at,
                            &mut |cx| vec![cx.one(at, Op::Get(texts.clone(), vec![i.clone()]))],
                            &mut |cx| vec![cx.text("", at)],
                        );
                        text.into_iter().next().unwrap_or(Atom::Int(0))
                    });
                    vec![room]
                },
                &mut |_| vec![texts.clone()],
            );
            let array = grown.into_iter().next().unwrap_or(Atom::Int(0));
            let (indices, value) = (vec![n.clone()], text.clone());
            let texts = cx.one(at, Op::Update { array, indices, value });
            vec![texts, cx.int(IntOp::WrappingAdd, n.clone(), Atom::Int(1), at)]
        });
        pair(self.ops(at, Op::Call(id, vec![texts, n, text])))
    }
}

/// An array and how many of its texts count.
fn pair(atoms: Vec<Atom>) -> Pieces {
    let mut atoms = atoms.into_iter();
    (atoms.next().unwrap_or(Atom::Int(0)), atoms.next().unwrap_or(Atom::Int(0)))
}
