//! Random terms give the same in the machine as in a plain interpreter that follows the definitions.
//!
//! The terms are of Ints, truth values, tuples, arrays, `Maybe` and functions, with much sharing of variables,
//! so that every way of moving, sharing and giving back values occurs.

use crate::support::*;
use diffeo_calculus::prim::{Comparison, IntOp, Prim};
use diffeo_calculus::term::{Control, Lit, Term, TermKind};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::Ty;
use std::collections::HashMap;
use std::rc::Rc;

// A plain interpreter

type Env = HashMap<u32, V>;

#[derive(Clone)]
enum V {
    Int(i64),
    Bool(bool),
    Tuple(Vec<V>),
    Array(Vec<V>),
    Data(u32, Vec<V>),
    Fun(Rc<dyn Fn(V) -> Result<V, &'static str>>),
}

impl V {
    fn int(&self) -> i64 {
        match self {
            V::Int(n) => *n,
            _ => panic!("an Int"),
        }
    }

    fn items(&self) -> &[V] {
        match self {
            V::Tuple(items) | V::Array(items) | V::Data(_, items) => items,
            _ => panic!("a value with parts"),
        }
    }

    fn show(&self) -> String {
        let all = |items: &[V]| items.iter().map(V::show).collect::<Vec<_>>().join(", ");
        match self {
            V::Int(n) => n.to_string(),
            V::Bool(b) => b.to_string(),
            V::Tuple(items) => format!("({})", all(items)),
            V::Array(items) => format!("[{}]", all(items)),
            V::Data(0, _) => "Nothing".to_string(),
            V::Data(_, items) => format!("Just({})", all(items)),
            V::Fun(_) => panic!("a function"),
        }
    }
}

fn eval_all(terms: &[Term], env: &Env) -> Result<Vec<V>, &'static str> {
    terms.iter().map(|t| interpret(t, env)).collect()
}

fn with(env: &Env, id: u32, value: V) -> Env {
    let mut env = env.clone();
    env.insert(id, value);
    env
}

fn interpret(term: &Term, env: &Env) -> Result<V, &'static str> {
    Ok(match &term.kind {
        TermKind::Var(x) => env[&x.id].clone(),
        TermKind::Lit(Lit::Int(n)) => V::Int(*n),
        TermKind::Lit(Lit::Bool(b)) => V::Bool(*b),
        TermKind::Lam(binder, body) => {
            let (id, body, env) = (binder.var.id, body.clone(), env.clone());
            V::Fun(Rc::new(move |x| interpret(&body, &with(&env, id, x))))
        }
        TermKind::App(f, x) => {
            let V::Fun(f) = interpret(f, env)? else { panic!("a function") };
            f(interpret(x, env)?)?
        }
        TermKind::Let(bindings, body) => {
            let mut env = env.clone();
            for (binder, value) in bindings {
                let value = interpret(value, &env)?;
                env.insert(binder.var.id, value);
            }
            interpret(body, &env)?
        }
        TermKind::LetRec(binder, f, body) => {
            fn unroll(id: u32, f: Rc<Term>, env: Env) -> V {
                V::Fun(Rc::new(move |x| {
                    let env = with(&env, id, unroll(id, f.clone(), env.clone()));
                    let V::Fun(g) = interpret(&f, &env)? else { panic!("a function") };
                    g(x)
                }))
            }
            let id = binder.var.id;
            let f = unroll(id, Rc::new((**f).clone()), env.clone());
            interpret(body, &with(env, id, f))?
        }
        TermKind::Tuple(_, items) => V::Tuple(eval_all(items, env)?),
        TermKind::Proj(_, i, tuple) => interpret(tuple, env)?.items()[*i].clone(),
        TermKind::Con(_, _, tag, fields) => V::Data(*tag, eval_all(fields, env)?),
        TermKind::Case(case) => {
            let V::Data(tag, fields) = interpret(&case.scrutinee, env)? else { panic!("data") };
            let mut env = env.clone();
            match case.arms.iter().find(|arm| arm.tag == tag) {
                Some(arm) => {
                    for (binder, field) in arm.binders.iter().zip(fields) {
                        env.insert(binder.var.id, field);
                    }
                    interpret(&arm.body, &env)?
                }
                None => interpret(case.default.as_ref().expect("a default"), &env)?,
            }
        }
        TermKind::If(condition, yes, no) => match interpret(condition, env)? {
            V::Bool(true) => interpret(yes, env)?,
            _ => interpret(no, env)?,
        },
        TermKind::Array(_, items) => V::Array(eval_all(items, env)?),
        TermKind::Build(build) => {
            let n = interpret(&build.count, env)?.int();
            if n < 0 {
                return Err("negative-count");
            }
            let id = build.index.var.id;
            let items = (0..n).map(|i| interpret(&build.body, &with(env, id, V::Int(i))));
            V::Array(items.collect::<Result<_, _>>()?)
        }
        TermKind::Loop(l) => {
            let id = l.state.var.id;
            let mut state = interpret(&l.init, env)?;
            match &l.control {
                Control::Count { index, count } => {
                    for i in 0..interpret(count, env)?.int() {
                        let env = with(&with(env, id, state), index.var.id, V::Int(i));
                        state = interpret(&l.body, &env)?;
                    }
                }
                Control::While(condition) => loop {
                    let env = with(env, id, state.clone());
                    match interpret(condition, &env)? {
                        V::Bool(true) => state = interpret(&l.body, &env)?,
                        _ => break,
                    }
                },
            }
            state
        }
        TermKind::Prim(prim, args) => primitive(prim, &eval_all(args, env)?)?,
        TermKind::Lit(_) | TermKind::Global(_) | TermKind::Diff(..) => panic!("not generated"),
    })
}

fn primitive(prim: &Prim, args: &[V]) -> Result<V, &'static str> {
    let place = |array: &V, i: i64| {
        let n = array.items().len();
        usize::try_from(i).ok().filter(|i| *i < n).ok_or("index-out-of-bounds")
    };
    Ok(match prim {
        Prim::Int(op) => {
            let (a, b) = (args[0].int(), args[1].int());
            let result = match op {
                IntOp::Add => a.checked_add(b),
                IntOp::Sub => a.checked_sub(b),
                _ => a.checked_mul(b),
            };
            V::Int(result.ok_or("overflow")?)
        }
        Prim::Compare(Comparison::Lt, _) => V::Bool(args[0].int() < args[1].int()),
        Prim::Compare(..) => V::Bool(args[0].show() == args[1].show()),
        Prim::Not => V::Bool(args[0].show() == "false"),
        Prim::Length(_) => V::Int(args[0].items().len() as i64),
        Prim::Index(_) => args[0].items()[place(&args[0], args[1].int())?].clone(),
        Prim::Update(_) => {
            let mut items = args[0].items().to_vec();
            let i = place(&args[0], args[1].int())?;
            items[i] = args[2].clone();
            V::Array(items)
        }
        Prim::Append(_) => V::Array([args[0].items(), args[1].items()].concat()),
        _ => panic!("not generated"),
    })
}

// Random terms

struct TermGenerator {
    seed: u64,
    /// Variables in scope, with their types.
    scope: Vec<(Ty, Term)>,
    /// How many terms may still be made.
    fuel: usize,
}

impl TermGenerator {
    fn below(&mut self, n: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % n
    }

    fn ty(&mut self, depth: usize) -> Ty {
        match self.below(if depth == 0 { 3 } else { 8 }) {
            0 => Ty::Int,
            1 => Ty::Bool,
            2 | 3 => ints_ty(),
            4 | 5 => {
                let types: Vec<Ty> = (0..2 + self.below(2)).map(|_| self.ty(depth - 1)).collect();
                tuple_ty(&types)
            }
            6 => Ty::Data(DataId(1), Rc::new([self.ty(depth - 1)])),
            _ => Ty::fun(self.ty(depth - 1), self.ty(depth - 1)),
        }
    }

    /// Runs with variables in scope.
    fn scoped<R>(&mut self, vars: Vec<(Ty, Term)>, run: impl FnOnce(&mut Self) -> R) -> R {
        let n = self.scope.len();
        self.scope.extend(vars);
        let result = run(self);
        self.scope.truncate(n);
        result
    }

    /// A variable, or a component of one, of this type.
    fn variable(&mut self, ty: &Ty) -> Option<Term> {
        let mut found: Vec<Term> = Vec::new();
        for (t, x) in &self.scope {
            if t == ty {
                found.push(x.clone());
            }
            for (i, c) in t.components().unwrap_or_default().iter().enumerate() {
                let part = proj(t, i, x.clone());
                for (j, d) in c.components().unwrap_or_default().iter().enumerate() {
                    if d == ty {
                        found.push(proj(c, j, part.clone()));
                    }
                }
                if c == ty {
                    found.push(part);
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        let i = self.below(found.len());
        Some(found.swap_remove(i))
    }

    /// A short way to a value of the type.
    fn leaf(&mut self, ty: &Ty) -> Term {
        if self.below(5) > 0 {
            if let Some(x) = self.variable(ty) {
                return x;
            }
        }
        match ty {
            Ty::Int => int(self.below(5) as i64 - 1),
            Ty::Bool => boolean(self.below(2) == 0),
            Ty::Array(_) => {
                let n = 1 + self.below(3);
                let items = (0..n).map(|_| self.leaf(&Ty::Int)).collect();
                array(Ty::Int, items)
            }
            Ty::Tuple(types) => {
                let items = types.iter().map(|t| self.leaf(t)).collect();
                tuple(types, items)
            }
            Ty::Data(_, args) => match self.below(2) {
                0 => nothing(args[0].clone()),
                _ => {
                    let value = self.leaf(&args[0]);
                    just(args[0].clone(), value)
                }
            },
            Ty::Fun(f) => {
                let (from, to) = (f.0.clone(), f.1.clone());
                lam(from.clone(), |x| self.scoped(vec![(from, x)], |r| r.leaf(&to)))
            }
            _ => panic!("not generated"),
        }
    }

    fn term(&mut self, ty: &Ty) -> Term {
        if self.fuel == 0 {
            return self.leaf(ty);
        }
        self.fuel -= 1;
        match self.below(14) {
            0 => self.leaf(ty),
            1 | 2 => {
                let bound = self.ty(2);
                let value = self.term(&bound);
                let_(bound.clone(), value, |x| self.scoped(vec![(bound, x)], |r| r.term(ty)))
            }
            3 => {
                let condition = self.term(&Ty::Bool);
                if_(condition, self.term(ty), self.term(ty))
            }
            4 => {
                let element = self.ty(1);
                let maybe = self.term(&Ty::Data(DataId(1), Rc::new([element.clone()])));
                let none = self.term(ty);
                case_maybe(element.clone(), maybe, none, |x| {
                    self.scoped(vec![(element, x)], |r| r.term(ty))
                })
            }
            5 | 6 if !matches!(ty, Ty::Fun(_)) => {
                let init = self.term(ty);
                let count = self.leaf(&Ty::Int);
                loop_(ty.clone(), init, clamp(count), |s, i| {
                    self.scoped(vec![(ty.clone(), s), (Ty::Int, i)], |r| r.term(ty))
                })
            }
            7 => {
                // while state.0 < 3, with state.0 rising.
                let types = [Ty::Int, ty.clone()];
                let state = tuple_ty(&types);
                let init = tuple(&types, vec![int(self.below(4) as i64), self.term(ty)]);
                let looped = while_(
                    state.clone(),
                    init,
                    |s| ilt(proj(&state, 0, s), int(3)),
                    |s| {
                        let next = iadd(proj(&state, 0, s.clone()), int(1));
                        let body = self.scoped(vec![(state.clone(), s)], |r| r.term(ty));
                        tuple(&types, vec![next, body])
                    },
                );
                proj(&state, 1, looped)
            }
            8 => {
                let from = self.ty(2);
                let f = self.term(&Ty::fun(from.clone(), ty.clone()));
                app(f, self.term(&from))
            }
            9 => {
                // A recursive function that counts down its first component.
                let types = [Ty::Int, self.ty(1)];
                let from = tuple_ty(&types);
                let start = tuple(&types, vec![int(self.below(4) as i64), self.term(&types[1])]);
                letrec(
                    from.clone(),
                    ty.clone(),
                    |go, p| {
                        self.scoped(vec![(from.clone(), p.clone())], |r| {
                            let done = r.term(ty);
                            let smaller = isub(proj(&from, 0, p.clone()), int(1));
                            let next = tuple(&types, vec![smaller, r.term(&types[1])]);
                            let again = app(go, next);
                            let again = match r.below(3) {
                                0 => let_(ty.clone(), again, |x| {
                                    r.scoped(vec![(ty.clone(), x)], |r| r.term(ty))
                                }),
                                _ => again,
                            };
                            if_(ilt(proj(&from, 0, p), int(1)), done, again)
                        })
                    },
                    |go| app(go, start),
                )
            }
            10 => {
                let other = self.ty(1);
                let mut types = vec![self.ty(1), other];
                let at = self.below(2);
                types[at] = ty.clone();
                let value = self.term(&tuple_ty(&types));
                proj(&tuple_ty(&types), at, value)
            }
            _ => self.form(ty),
        }
    }

    /// A form that is special to the type.
    fn form(&mut self, ty: &Ty) -> Term {
        match ty {
            Ty::Int => match self.below(4) {
                0 => {
                    let xs = self.term(&ints_ty());
                    index(Ty::Int, xs, self.leaf(&Ty::Int))
                }
                1 => length(Ty::Int, self.term(&ints_ty())),
                n => {
                    let op = if n == 2 { IntOp::Add } else { IntOp::Sub };
                    let a = self.term(&Ty::Int);
                    int2(op, a, self.term(&Ty::Int))
                }
            },
            Ty::Bool => match self.below(3) {
                0 => prim(Prim::Not, vec![self.term(&Ty::Bool)]),
                1 => {
                    let ty = tuple_ty(&[Ty::Int, ints_ty()]);
                    let a = self.term(&ty);
                    compare(Comparison::Eq, ty.clone(), a, self.term(&ty))
                }
                _ => {
                    let a = self.term(&Ty::Int);
                    ilt(a, self.term(&Ty::Int))
                }
            },
            Ty::Array(_) => match self.below(6) {
                0 => {
                    let count = self.leaf(&Ty::Int);
                    build(Ty::Int, clamp(count), |i| {
                        self.scoped(vec![(Ty::Int, i)], |r| r.term(&Ty::Int))
                    })
                }
                1 => {
                    let a = self.leaf(&ints_ty());
                    prim(Prim::Append(Ty::Int), vec![a, self.leaf(&ints_ty())])
                }
                _ => {
                    let xs = self.term(&ints_ty());
                    let i = int(self.below(2) as i64);
                    update(ints_ty(), xs, i, self.term(&Ty::Int))
                }
            },
            Ty::Tuple(types) => {
                let items = types.iter().map(|t| self.term(t)).collect();
                tuple(types, items)
            }
            Ty::Data(_, args) => just(args[0].clone(), self.term(&args[0])),
            Ty::Fun(f) => {
                let (from, to) = (f.0.clone(), f.1.clone());
                lam(from.clone(), |x| self.scoped(vec![(from, x)], |r| r.term(&to)))
            }
            _ => panic!("not generated"),
        }
    }
}

/// At most 3.
fn clamp(n: Term) -> Term {
    let_(Ty::Int, n, |n| if_(ilt(n.clone(), int(3)), n, int(3)))
}

#[test]
fn random_terms() {
    let mut values = 0u64;
    // A longer search: RANDOM_TERMS=1000000 cargo test --release --test it random
    let count = std::env::var("RANDOM_TERMS").ok().and_then(|n| n.parse().ok()).unwrap_or(6000);
    for seed in 0..count {
        let mut random = TermGenerator { seed, scope: Vec::new(), fuel: 10 + seed as usize % 50 };
        random.below(1);
        // As a constant, and as a function of a tuple with an array.
        let types = [ints_ty(), Ty::Int, tuple_ty(&[ints_ty(), Ty::Bool])];
        let param = tuple_ty(&types);
        let result = loop {
            let ty = random.ty(2);
            let data = |t: &Ty| matches!(t, Ty::Fun(_));
            let components = ty.components().unwrap_or_default();
            let inside = |t: &Ty| match t {
                Ty::Data(_, args) => args.iter().any(data),
                t => data(t),
            };
            let deep: Vec<Ty> =
                components.iter().flat_map(|t| t.components().unwrap_or_default()).collect();
            if !inside(&ty) && !components.iter().any(inside) && !deep.iter().any(inside) {
                let nested = matches!(&ty, Ty::Data(_, a) if a[0].components().is_some_and(|c| c.iter().any(inside)));
                if !nested {
                    break ty;
                }
            }
        };
        let f =
            lam(param.clone(), |p| random.scoped(vec![(param.clone(), p)], |r| r.term(&result)));
        let arg = || {
            let row = array(Ty::Int, vec![int(5), int(6)]);
            let pair =
                tuple(&[ints_ty(), Ty::Bool], vec![build(Ty::Int, int(2), |i| i), boolean(true)]);
            tuple(&types, vec![row, int(1), pair])
        };
        let expected = match interpret(&app(f.clone(), arg()), &Env::new()) {
            Ok(value) => value.show(),
            Err(code) => code.to_string(),
        };
        let ty = Ty::fun(param.clone(), result.clone());
        let found = show_in(vec![("f", ty, f.clone())], result.clone(), app(global(0), arg()));
        let found = match expected.starts_with(|c: char| c.is_lowercase())
            && expected != "true"
            && expected != "false"
        {
            true => found.split(':').next().unwrap_or_default().to_string(),
            false => found,
        };
        if found != expected {
            let program = program(vec![("f", Ty::fun(param, result), f)]);
            panic!("seed {seed}: {found} and not {expected}\n{}", diffeo_calculus::print(&program));
        }
        values += u64::from(!expected.contains('-') || expected.contains(|c| "[(".contains(c)));
    }
    assert!(2 * values > count, "only {values} of the terms have a value");
}
