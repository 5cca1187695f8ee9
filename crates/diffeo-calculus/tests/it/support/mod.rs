//! Small functions that make terms, and runs of programs made of them, for the tests of the evaluator.
#![allow(dead_code, missing_docs)]

pub mod programs;
pub mod rewrite;
pub mod translated;

use diffeo_base::{FileId, Name, Span};
use diffeo_calculus::eval::{Kinks, Machine, Options, RuntimeError};
use diffeo_calculus::prim::{Comparison, Diff, DiffOp, IntOp, Prim, RealOp, SizePattern};
use diffeo_calculus::term::{
    Arm, Binder, Build, Case, Control, Global, GlobalId, Lit, Loop, Term, TermKind, Var,
};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, WellKnown};
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, Program, Ty};
use std::cell::Cell;
use std::rc::Rc;

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// A term without a place.
pub fn term(kind: TermKind) -> Term {
    Term::new(kind, Span::NONE)
}

/// A term at a place; see [`place`].
pub fn at(line: usize, mut t: Term) -> Term {
    t.span = place(line);
    t
}

/// The place number so many.
pub fn place(line: usize) -> Span {
    Span::new(FileId(0), line, line + 1)
}

pub fn binder(name: &str, ty: Ty) -> (Binder, Term) {
    let id = NEXT.with(|next| {
        next.set(next.get() + 1);
        next.get()
    });
    let var = Var { name: Name::new(name), id };
    (Binder { var: var.clone(), ty }, term(TermKind::Var(var)))
}

// Types

pub fn tuple_ty(types: &[Ty]) -> Ty {
    Ty::tuple(types.to_vec())
}

pub fn reals_ty() -> Ty {
    Ty::array(Ty::Real)
}

pub fn ints_ty() -> Ty {
    Ty::array(Ty::Int)
}

pub fn list_ty(element: Ty) -> Ty {
    Ty::Data(DataId(0), Rc::new([element]))
}

/// `List` (data 0) and `Maybe` (data 1).
pub fn datas() -> Vec<DataDecl> {
    let con = |name: &str, fields: Vec<Ty>| ConstructorDecl { name: Name::new(name), fields };
    let own = Ty::Data(DataId(0), Rc::new([Ty::Param(0)]));
    vec![
        DataDecl {
            name: Name::new("List"),
            known: Some(WellKnown::List),
            params: 1,
            constructors: vec![con("Nil", vec![]), con("Cons", vec![Ty::Param(0), own])],
        },
        DataDecl {
            name: Name::new("Maybe"),
            known: Some(WellKnown::Maybe),
            params: 1,
            constructors: vec![con("Nothing", vec![]), con("Just", vec![Ty::Param(0)])],
        },
    ]
}

// Terms

pub fn real(x: f64) -> Term {
    term(TermKind::Lit(Lit::Real(x)))
}

pub fn int(n: i64) -> Term {
    term(TermKind::Lit(Lit::Int(n)))
}

pub fn boolean(b: bool) -> Term {
    term(TermKind::Lit(Lit::Bool(b)))
}

pub fn text(s: &str) -> Term {
    term(TermKind::Lit(Lit::String(Name::new(s))))
}

pub fn unit() -> Term {
    term(TermKind::Lit(Lit::Unit))
}

pub fn global(id: u32) -> Term {
    term(TermKind::Global(GlobalId(id)))
}

pub fn lam(ty: Ty, body: impl FnOnce(Term) -> Term) -> Term {
    let (b, x) = binder("x", ty);
    term(TermKind::Lam(b, Box::new(body(x))))
}

/// `λ(x, y)` of a tuple of these types, bound by a `let` of projections.
pub fn lam_of(types: &[Ty], body: impl FnOnce(&[Term]) -> Term) -> Term {
    let ty = tuple_ty(types);
    lam(ty.clone(), |p| split(&ty, p, body))
}

/// `let` binds the components of a tuple.
pub fn split(ty: &Ty, tuple: Term, body: impl FnOnce(&[Term]) -> Term) -> Term {
    let mut bindings = Vec::new();
    let mut vars = Vec::new();
    for (i, component) in ty.components().expect("a tuple").into_iter().enumerate() {
        let (b, x) = binder(&format!("c{i}"), component);
        bindings.push((b, proj(ty, i, tuple.clone())));
        vars.push(x);
    }
    term(TermKind::Let(bindings, Box::new(body(&vars))))
}

pub fn app(f: Term, arg: Term) -> Term {
    term(TermKind::App(Box::new(f), Box::new(arg)))
}

pub fn let_(ty: Ty, value: Term, body: impl FnOnce(Term) -> Term) -> Term {
    let (b, x) = binder("v", ty);
    term(TermKind::Let(vec![(b, value)], Box::new(body(x))))
}

/// `let rec f(x) = …  in …`
pub fn letrec(
    from: Ty,
    to: Ty,
    function: impl FnOnce(Term, Term) -> Term,
    body: impl FnOnce(Term) -> Term,
) -> Term {
    let (b, f) = binder("go", Ty::fun(from.clone(), to));
    let inner = lam(from, |x| function(f.clone(), x));
    term(TermKind::LetRec(b, Box::new(inner), Box::new(body(f))))
}

pub fn tuple(types: &[Ty], components: Vec<Term>) -> Term {
    term(TermKind::Tuple(tuple_ty(types), components))
}

pub fn proj(ty: &Ty, index: usize, tuple: Term) -> Term {
    term(TermKind::Proj(ty.clone(), index, Box::new(tuple)))
}

pub fn if_(condition: Term, yes: Term, no: Term) -> Term {
    term(TermKind::If(Box::new(condition), Box::new(yes), Box::new(no)))
}

pub fn array(element: Ty, items: Vec<Term>) -> Term {
    term(TermKind::Array(element, items))
}

pub fn build(element: Ty, count: Term, body: impl FnOnce(Term) -> Term) -> Term {
    let (index, i) = binder("i", Ty::Int);
    let body = body(i);
    term(TermKind::Build(Box::new(Build { count, index, body, element })))
}

/// `loop s = init for i < count do body(s, i)`
pub fn loop_(ty: Ty, init: Term, count: Term, body: impl FnOnce(Term, Term) -> Term) -> Term {
    let (state, s) = binder("s", ty);
    let (index, i) = binder("i", Ty::Int);
    let body = body(s, i);
    let control = Control::Count { index, count };
    term(TermKind::Loop(Box::new(Loop { state, init, control, body })))
}

/// A counted loop over a tuple, whose components the body gets.
pub fn loop_of(
    types: &[Ty],
    init: Vec<Term>,
    count: Term,
    body: impl FnOnce(&[Term], Term) -> Term,
) -> Term {
    let ty = tuple_ty(types);
    let all = ty.clone();
    loop_(ty, tuple(types, init), count, |s, i| split(&all, s, |vars| body(vars, i)))
}

pub fn while_(
    ty: Ty,
    init: Term,
    condition: impl FnOnce(Term) -> Term,
    body: impl FnOnce(Term) -> Term,
) -> Term {
    let (state, s) = binder("s", ty);
    let (condition, body) = (condition(s.clone()), body(s));
    let control = Control::While(condition);
    term(TermKind::Loop(Box::new(Loop { state, init, control, body })))
}

pub fn nil(element: Ty) -> Term {
    term(TermKind::Con(DataId(0), Rc::new([element]), 0, vec![]))
}

pub fn cons(element: Ty, head: Term, tail: Term) -> Term {
    term(TermKind::Con(DataId(0), Rc::new([element]), 1, vec![head, tail]))
}

pub fn nothing(element: Ty) -> Term {
    term(TermKind::Con(DataId(1), Rc::new([element]), 0, vec![]))
}

pub fn just(element: Ty, value: Term) -> Term {
    term(TermKind::Con(DataId(1), Rc::new([element]), 1, vec![value]))
}

/// `case list of { Nil -> … | head :: tail -> … }`
pub fn case_list(
    element: Ty,
    list: Term,
    empty: Term,
    more: impl FnOnce(Term, Term) -> Term,
) -> Term {
    let (head, h) = binder("head", element.clone());
    let (tail, t) = binder("tail", list_ty(element.clone()));
    let arms = vec![
        Arm { tag: 0, binders: vec![], body: empty },
        Arm { tag: 1, binders: vec![head, tail], body: more(h, t) },
    ];
    let data = (DataId(0), Rc::new([element]) as Rc<[Ty]>);
    term(TermKind::Case(Box::new(Case { scrutinee: list, data, arms, default: None })))
}

/// `case maybe of { Nothing -> … | Just(x) -> … }`
pub fn case_maybe(element: Ty, maybe: Term, none: Term, some: impl FnOnce(Term) -> Term) -> Term {
    let (binder, x) = binder("x", element.clone());
    let arms = vec![
        Arm { tag: 0, binders: vec![], body: none },
        Arm { tag: 1, binders: vec![binder], body: some(x) },
    ];
    let data = (DataId(1), Rc::new([element]) as Rc<[Ty]>);
    term(TermKind::Case(Box::new(Case { scrutinee: maybe, data, arms, default: None })))
}

// Operations

pub fn prim(prim: Prim, args: Vec<Term>) -> Term {
    term(TermKind::Prim(prim, args))
}

pub fn real1(op: RealOp, a: Term) -> Term {
    prim(Prim::Real(op), vec![a])
}

pub fn real2(op: RealOp, a: Term, b: Term) -> Term {
    prim(Prim::Real(op), vec![a, b])
}

pub fn add(a: Term, b: Term) -> Term {
    real2(RealOp::Add, a, b)
}

pub fn sub(a: Term, b: Term) -> Term {
    real2(RealOp::Sub, a, b)
}

pub fn mul(a: Term, b: Term) -> Term {
    real2(RealOp::Mul, a, b)
}

pub fn div(a: Term, b: Term) -> Term {
    real2(RealOp::Div, a, b)
}

pub fn sin(a: Term) -> Term {
    real1(RealOp::Sin, a)
}

pub fn int2(op: IntOp, a: Term, b: Term) -> Term {
    prim(Prim::Int(op), vec![a, b])
}

pub fn iadd(a: Term, b: Term) -> Term {
    int2(IntOp::Add, a, b)
}

pub fn isub(a: Term, b: Term) -> Term {
    int2(IntOp::Sub, a, b)
}

pub fn imul(a: Term, b: Term) -> Term {
    int2(IntOp::Mul, a, b)
}

pub fn to_real(n: Term) -> Term {
    prim(Prim::ToReal, vec![n])
}

pub fn compare(comparison: Comparison, ty: Ty, a: Term, b: Term) -> Term {
    prim(Prim::Compare(comparison, ty), vec![a, b])
}

pub fn ilt(a: Term, b: Term) -> Term {
    compare(Comparison::Lt, Ty::Int, a, b)
}

pub fn ieq(a: Term, b: Term) -> Term {
    compare(Comparison::Eq, Ty::Int, a, b)
}

pub fn lt(a: Term, b: Term) -> Term {
    compare(Comparison::Lt, Ty::Real, a, b)
}

pub fn index(element: Ty, array: Term, i: Term) -> Term {
    prim(Prim::Index(element), vec![array, i])
}

pub fn length(element: Ty, array: Term) -> Term {
    prim(Prim::Length(element), vec![array])
}

/// `array with [i] = value`; the type is that of the array.
pub fn update(ty: Ty, array: Term, i: Term, value: Term) -> Term {
    prim(Prim::Update(ty), vec![array, i, value])
}

pub fn slice(element: Ty, array: Term, lo: Term, hi: Term) -> Term {
    prim(Prim::Slice(element), vec![array, lo, hi])
}

pub fn sum(element: Ty, array: Term) -> Term {
    prim(Prim::Sum(element), vec![array])
}

pub fn fail(ty: Ty, message: &str) -> Term {
    prim(Prim::Fail(ty), vec![text(message)])
}

pub fn sizes(pattern: SizePattern, ty: Ty, value: Term, given: Vec<Term>) -> Term {
    let mut args = vec![value];
    args.extend(given);
    prim(Prim::Sizes(Rc::new(pattern), ty), args)
}

pub fn diff(op: DiffOp, from: Ty, to: Ty, args: Vec<Term>) -> Term {
    term(TermKind::Diff(Diff { op, from, to }, args))
}

/// `rd(f, x, 1.0)`
pub fn grad(from: Ty, f: Term, x: Term) -> Term {
    diff(DiffOp::Rd, from, Ty::Real, vec![f, x, real(1.0)])
}

/// `(f(x), rd(f, x, 1.0))` in one pass.
pub fn value_and_grad(from: Ty, f: Term, x: Term) -> Term {
    let pullback = Ty::fun(Ty::Real, from.clone());
    let pair = tuple_ty(&[Ty::Real, pullback.clone()]);
    let both = diff(DiffOp::Vjp, from.clone(), Ty::Real, vec![f, x]);
    let_(pair.clone(), both, |both| {
        tuple(
            &[Ty::Real, from],
            vec![proj(&pair, 0, both.clone()), app(proj(&pair, 1, both), real(1.0))],
        )
    })
}

// Programs

/// A program of definitions with these names, types and bodies; [`datas`] are declared.
pub fn program(definitions: Vec<(&str, Ty, Term)>) -> Rc<Program> {
    let globals = definitions
        .into_iter()
        .map(|(name, ty, body)| {
            Rc::new(Global { name: Name::new(name), ty, body, span: Span::NONE })
        })
        .collect();
    Rc::new(Program { datas: datas(), globals, library: Vec::new() })
}

/// A machine for a program that lints.
pub fn machine(program: &Rc<Program>) -> Machine {
    machine_with(program, Kinks::Ignore)
}

pub fn machine_with(program: &Rc<Program>, kinks: Kinks) -> Machine {
    assert_eq!(lint(program), Vec::<String>::new());
    Machine::new(program.clone(), Options { kinks, ..Options::default() })
}

/// The value of the last definition, which is a constant.
pub fn eval(program: &Rc<Program>) -> Result<Value, RuntimeError> {
    machine(program).eval_global(GlobalId(program.globals.len() as u32 - 1))
}

/// The value of a term of this type, as text.
pub fn show(ty: Ty, body: Term) -> String {
    show_in(vec![], ty, body)
}

/// The value of a term of this type, as text, after other definitions.
pub fn show_in(mut definitions: Vec<(&str, Ty, Term)>, ty: Ty, body: Term) -> String {
    definitions.push(("main", ty.clone(), body));
    let program = program(definitions);
    match eval(&program) {
        Ok(value) => diffeo_calculus::show::show(&value, &ty, &program.datas),
        Err(error) => format!("{}: {}", error.kind.code(), error.kind.message()),
    }
}

/// The operations that the last definition takes.
pub fn operations(definitions: Vec<(&str, Ty, Term)>) -> u64 {
    let program = program(definitions);
    let mut machine = machine(&program);
    let result = machine.eval_global(GlobalId(program.globals.len() as u32 - 1));
    result.expect("a value");
    machine.operations()
}
