//! Lists for C: they are given and taken as arrays.
//!
//! In: a function of a program. Out: one of arrays in the place of lists, which it makes into lists, and the lists of the
//! result into arrays.

use diffeo_base::Name;
use diffeo_calculus::build::{
    app, bind, build, count_loop, global, index, int, lam, length, placed, prim, proj, term, truth,
    var,
};
use diffeo_calculus::prim::IntOp;
use diffeo_calculus::term::{
    next_variable, Arm, Binder, Case, Control, Global, GlobalId, Loop, Term, TermKind, Var,
};
use diffeo_calculus::ty::{DataDecl, DataId, WellKnown, CONS, NIL};
use diffeo_calculus::{Prim, Program, Ty};
use std::rc::Rc;

/// A definition with arrays in the place of lists, if it has some.
pub fn with_arrays(program: &Rc<Program>, id: GlobalId) -> (Rc<Program>, GlobalId) {
    let own = &program.globals[id.0 as usize];
    let (from, to) = match &own.ty {
        Ty::Fun(sides) => (Some(&sides.0), &sides.1),
        ty => (None, ty),
    };
    let datas = &program.datas;
    let (takes, gives) = (from.and_then(|ty| outside(ty, datas)), outside(to, datas));
    if takes.is_none() && gives.is_none() {
        return (program.clone(), id);
    }
    let mut lists = Lists { datas, next: next_variable(&program.globals) };
    let parameter = from.map(|ty| lists.binder("given", &takes.unwrap_or_else(|| ty.clone())));
    let value = match (from, &parameter) {
        (Some(ty), Some(given)) => app(global(id), lists.crossed(ty, var(given), false)),
        _ => global(id),
    };
    let result = lists.binder("result", to);
    let body = bind(result.clone(), value, lists.crossed(to, var(&result), true));
    let to = gives.unwrap_or_else(|| to.clone());
    let (ty, body) = match parameter {
        Some(given) => (Ty::fun(given.ty.clone(), to), lam(given, body)),
        None => (to, body),
    };
    let made = Global { name: own.name.clone(), ty, body: placed(body, own.span), span: own.span };
    let mut program = Program::clone(program);
    program.globals.push(Rc::new(made));
    let id = GlobalId(program.globals.len() as u32 - 1);
    (Rc::new(program), id)
}

/// The variant type and the elements of a list.
fn list<'t>(ty: &'t Ty, datas: &[DataDecl]) -> Option<(DataId, &'t Rc<[Ty]>)> {
    match ty {
        Ty::Data(id, of) if datas[id.0 as usize].is(WellKnown::List) => Some((*id, of)),
        _ => None,
    }
}

/// A type with arrays in the place of lists, if it has some.
fn outside(ty: &Ty, datas: &[DataDecl]) -> Option<Ty> {
    if let Some((_, of)) = list(ty, datas) {
        return Some(Ty::array(of[0].clone()));
    }
    let parts = ty.components()?;
    let made: Vec<Option<Ty>> = parts.iter().map(|ty| outside(ty, datas)).collect();
    made.iter().any(Option::is_some).then(|| {
        let parts = made.into_iter().zip(parts).map(|(made, ty)| made.unwrap_or(ty));
        match ty {
            Ty::Record(fields) => {
                Ty::Record(fields.iter().map(|(n, _)| n.clone()).zip(parts).collect())
            }
            _ => Ty::Tuple(parts.collect()),
        }
    })
}

struct Lists<'p> {
    datas: &'p [DataDecl],
    next: u32,
}

impl Lists<'_> {
    fn binder(&mut self, name: &str, ty: &Ty) -> Binder {
        self.next += 1;
        Binder { var: Var { name: Name::new(name), id: self.next - 1 }, ty: ty.clone() }
    }

    /// A value, an atom, with lists in the place of arrays, or for the caller the other way round.
    fn crossed(&mut self, ty: &Ty, of: Term, for_caller: bool) -> Term {
        let Some(other) = outside(ty, self.datas) else { return of };
        if let Some((id, elements)) = list(ty, self.datas) {
            return match for_caller {
                true => self.array_of(id, elements, of),
                false => self.list_of(id, elements, of),
            };
        }
        let (given, made) = if for_caller { (ty, &other) } else { (&other, ty) };
        let parts = ty.components().unwrap_or_default().into_iter().enumerate();
        let part = |(i, ty): (usize, Ty)| self.crossed(&ty, proj(given, i, of.clone()), for_caller);
        term(TermKind::Tuple(made.clone(), parts.map(part).collect()))
    }

    /// `loop list = Nil for i < n do xs[n - 1 - i] :: list`
    fn list_of(&mut self, id: DataId, of: &Rc<[Ty]>, xs: Term) -> Term {
        let con = |tag, parts| term(TermKind::Con(id, of.clone(), tag, parts));
        let [count, i] = ["n", "i"].map(|name| self.binder(name, &Ty::Int));
        let made = self.binder("list", &Ty::Data(id, of.clone()));
        let minus = |a, b| prim(Prim::Int(IntOp::Sub), vec![a, b]);
        let at = minus(minus(var(&count), int(1)), var(&i));
        let body = con(CONS, vec![index(&of[0], xs.clone(), at), var(&made)]);
        let all = count_loop(made, con(NIL, vec![]), i, var(&count), body);
        bind(count, length(&of[0], xs), all)
    }

    /// The elements of a list are counted, then put in their places.
    fn array_of(&mut self, id: DataId, of: &Rc<[Ty]>, xs: Term) -> Term {
        let (element, rest) = (&of[0], Ty::Data(id, of.clone()));
        let array = Ty::array(element.clone());
        let cons = |lists: &mut Self, scrutinee, then: &dyn Fn(&Binder, &Binder) -> Term, nil| {
            let binders = [lists.binder("x", element), lists.binder("more", &rest)];
            let body = then(&binders[0], &binders[1]);
            let arm = Arm { tag: CONS, binders: binders.to_vec(), body };
            let data = (id, of.clone());
            term(TermKind::Case(Box::new(Case {
                scrutinee,
                data,
                arms: vec![arm],
                default: Some(nil),
            })))
        };
        let pair = |ty: &Ty, a, b| term(TermKind::Tuple(ty.clone(), vec![a, b]));

        let ty = Ty::Tuple([rest.clone(), Ty::Int].into());
        let state = self.binder("counted", &ty);
        let left = || proj(&ty, 0, var(&state));
        let is_left = cons(self, left(), &|_, _| truth(true), truth(false));
        let one_more = prim(Prim::Int(IntOp::Add), vec![proj(&ty, 1, var(&state)), int(1)]);
        let body =
            cons(self, left(), &|_, more| pair(&ty, var(more), one_more.clone()), var(&state));
        let init = pair(&ty, xs.clone(), int(0));
        let control = Control::While(is_left);
        let counted =
            term(TermKind::Loop(Box::new(Loop { state: state.clone(), init, control, body })));
        let count = self.binder("n", &Ty::Int);

        let ty = Ty::Tuple([array, rest.clone()].into());
        let state = self.binder("filled", &ty);
        let [i, j] = ["i", "j"].map(|name| self.binder(name, &Ty::Int));
        let put = |x: &Binder, more: &Binder| {
            let parts = vec![proj(&ty, 0, var(&state)), var(&i), var(x)];
            pair(&ty, prim(Prim::Update(Ty::array(element.clone())), parts), var(more))
        };
        let body = cons(self, proj(&ty, 1, var(&state)), &put, var(&state));
        let all = self.binder("all", &ty);
        let filled = |x: &Binder, _: &Binder| {
            let first = build(var(&count), j.clone(), element.clone(), var(x));
            let filled = count_loop(
                state.clone(),
                pair(&ty, first, xs.clone()),
                i.clone(),
                var(&count),
                body.clone(),
            );
            bind(all.clone(), filled, proj(&ty, 0, var(&all)))
        };
        let none = term(TermKind::Array(element.clone(), vec![]));
        let made = cons(self, xs.clone(), &filled, none);
        let ended = Ty::Tuple([rest.clone(), Ty::Int].into());
        bind(count, proj(&ended, 1, counted), made)
    }
}
