//! The (k,R)-Taylor macro and the βη-laws (Huot, Staton & Vákár, Figure 5; Lemma 1 and section 6.1): both sides
//! of a law, applied somewhere in a generated term, have translations with the same value.
//!
//! | law | left | right |
//! |---|---|---|
//! | functions, β | `(λx. t) s` | `t[s/x]` |
//! | functions, η | `t` | `λx. t x` |
//! | tuples, β | `case ⟨t, s⟩ of ⟨x, y⟩ → x` | `t` |
//! | tuples, η | `t[s/x]` | `case s of ⟨y, z⟩ → t[⟨y, z⟩/x]` |
//! | variants, β | `case ℓ t of ℓ x → x` | `t` |
//! | variants, η | `t[s/x]` | `case s of {ℓᵢ yᵢ → t[ℓᵢ yᵢ/x]}` |
//! | lists, β | a fold over `[]`, a fold over `s₁ :: s₂` | its start, a step of it |
//! | lists, η | `t` | the fold over `t` that makes the same list |
//!
//! In Core `case ⟨…⟩` is a projection or `let`, and a fold is a recursion that goes down a list.

use crate::support::{
    app, binder, case_list, cons, global, lam, let_, letrec, list_ty, nil, prim, proj, real, sin,
    term, tuple, unit,
};
use crate::theorems::generator::{Features, TheoremCase};
use crate::theorems::harness::{
    derivative, jets, machine_for, reals, theorem, CaseFailure, MOST_OPERATIONS,
};
use crate::theorems::rewrite::{children, each_binder, one_of, size, substitute, types};
use crate::theorems::translations::{
    call, close_all, exactly, lints, machine_of, magnitude, main_body, main_term, tuples, with,
    Numbers,
};
use diffeo_base::Name;
use diffeo_calculus::eval::derivative::multi_indices;
use diffeo_calculus::eval::Kinks;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::{Arm, Case as CaseOf, GlobalId, Program, Term, TermKind};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::value::Value;
use diffeo_calculus::{alpha_eq, print_term, type_of, Env, Prim, Ty};
use diffeo_papers::{System, Workspace};
use std::rc::Rc;

/// The number of `List` and of `Maybe` among the generated programs' variants.
const LIST: DataId = DataId(0);
const MAYBE: DataId = DataId(1);

/// What a law needs to know.
struct Laws<'c> {
    program: &'c Program,
    env: Env,
    numbers: Numbers,
}

impl Laws<'_> {
    /// One of the subterms.
    fn one<'t>(&mut self, t: &'t mut Term, select: &dyn Fn(&Term) -> bool) -> Option<&'t mut Term> {
        one_of(t, select, |count| self.numbers.below(count))
    }

    /// One of the subterms of a type that is so.
    fn typed<'t>(
        &mut self,
        t: &'t mut Term,
        holds: &dyn Fn(&Ty) -> bool,
    ) -> Option<(&'t mut Term, Ty)> {
        let (program, env) = (self.program, &self.env);
        let ty = |t: &Term| type_of(t, program, env);
        let select = |t: &Term| ty(t).is_some_and(|ty| holds(&ty));
        let found = one_of(t, &select, |count| self.numbers.below(count))?;
        let ty = ty(found)?;
        Some((found, ty))
    }

    /// One of the `let`s whose last variable has a type that is so: variable, type, value, the rest with the
    /// other variables still to be bound, body.
    fn bound(&mut self, t: &mut Term, holds: &dyn Fn(&Ty) -> bool, make: Make) -> Option<()> {
        let last = |t: &Term| match &t.kind {
            TermKind::Let(bindings, _) => bindings.last().is_some_and(|(x, _)| holds(&x.ty)),
            _ => false,
        };
        let found = self.one(t, &last)?;
        let TermKind::Let(bindings, body) = &mut found.kind else { return None };
        let (x, s) = bindings.pop()?;
        let body = std::mem::replace(&mut **body, unit());
        let made = make(self, x.var.id, &x.ty, s, body)?;
        let bindings = std::mem::take(bindings);
        found.kind = match bindings.is_empty() {
            true => made.kind,
            false => TermKind::Let(bindings, Box::new(made)),
        };
        Some(())
    }
}

type Make<'m> = &'m dyn Fn(&Laws, u32, &Ty, Term, Term) -> Option<Term>;

/// Rewrites a term somewhere, if it has the form for it.
type Law = fn(&mut Laws, &mut Term) -> Option<()>;

fn any(_: &Ty) -> bool {
    true
}

const LAWS: &[(&str, Law)] = &[
    ("the term itself", |_, _| Some(())),
    ("functions, β, left", |laws, t| {
        laws.bound(t, &any, &|_, x, ty, s, body| {
            Some(app(
                lam(ty.clone(), |y| {
                    let mut body = body.clone();
                    substitute(&mut body, x, &y);
                    body
                }),
                s,
            ))
        })
    }),
    ("functions, β, right", |laws, t| {
        laws.bound(t, &any, &|_, x, _, s, mut body| {
            substitute(&mut body, x, &s);
            Some(body)
        })
    }),
    ("functions, η", |laws, t| {
        let (t, ty) = laws.typed(t, &|ty| matches!(ty, Ty::Fun(_)))?;
        let Ty::Fun(f) = ty else { return None };
        *t = lam(f.0.clone(), |x| app(t.clone(), x));
        Some(())
    }),
    ("tuples, β", |laws, t| {
        let (t, ty) = laws.typed(t, &any)?;
        let pair = tuple(&[Ty::Real, ty.clone()], vec![real(1.0), t.clone()]);
        *t = proj(&Ty::tuple(vec![Ty::Real, ty]), 1, pair);
        Some(())
    }),
    ("tuples, η", |laws, t| {
        let tuple = |ty: &Ty| matches!(ty, Ty::Tuple(_) | Ty::Record(_));
        laws.bound(t, &tuple, &|_, x, ty, s, mut body| {
            let count = ty.components()?.len();
            Some(let_(ty.clone(), s, |p| {
                let parts = (0..count).map(|i| proj(ty, i, p.clone())).collect();
                substitute(&mut body, x, &term(TermKind::Tuple(ty.clone(), parts)));
                body
            }))
        })
    }),
    ("variants, β", |laws, t| {
        let (t, ty) = laws.typed(t, &any)?;
        let (b, x) = binder("x", ty.clone());
        let args: Rc<[Ty]> = Rc::new([ty]);
        let scrutinee = term(TermKind::Con(MAYBE, args.clone(), 1, vec![t.clone()]));
        let arms = vec![
            Arm { tag: 0, binders: vec![], body: t.clone() },
            Arm { tag: 1, binders: vec![b], body: x },
        ];
        let case = CaseOf { scrutinee, data: (MAYBE, args), arms, default: None };
        *t = term(TermKind::Case(Box::new(case)));
        Some(())
    }),
    ("variants, η", |laws, t| {
        laws.bound(t, &|ty| matches!(ty, Ty::Data(..)), &|laws, x, ty, s, body| {
            let Ty::Data(data, args) = ty else { return None };
            let decl = &laws.program.datas[data.0 as usize];
            let mut arms = Vec::new();
            for tag in 0..decl.constructors.len() as u32 {
                let fields = decl.fields(tag, args);
                let (binders, fields) = fields.iter().map(|t| binder("y", t.clone())).unzip();
                let mut body = body.clone();
                substitute(&mut body, x, &term(TermKind::Con(*data, args.clone(), tag, fields)));
                arms.push(Arm { tag, binders, body });
            }
            let data = (*data, args.clone());
            Some(term(TermKind::Case(Box::new(CaseOf { scrutinee: s, data, arms, default: None }))))
        })
    }),
    ("lists, β of []", |laws, t| {
        let (t, ty) = laws.typed(t, &any)?;
        let list = list_ty(Ty::Real);
        let start = t.clone();
        *t = letrec(
            list,
            ty.clone(),
            |go, l| case_list(Ty::Real, l, start, |_, tail| let_(ty.clone(), app(go, tail), |r| r)),
            |go| app(go, nil(Ty::Real)),
        );
        Some(())
    }),
    ("lists, β of s₁ :: s₂", |laws, t| {
        let found = laws.one(t, &|t| matches!(t.kind, TermKind::LetRec(..)))?;
        let TermKind::LetRec(f, function, rest) = &mut found.kind else { return None };
        let called = |t: &Term| match &t.kind {
            TermKind::App(g, _) => matches!(&g.kind, TermKind::Var(x) if x.id == f.var.id),
            _ => false,
        };
        let call = one_of(rest, &called, |count| laws.numbers.below(count))?;
        let TermKind::App(g, _) = &mut call.kind else { return None };
        **g = (**function).clone();
        Some(())
    }),
    ("lists, η", |laws, t| {
        let (t, ty) = laws.typed(t, &|ty| matches!(ty, Ty::Data(LIST, _)))?;
        let Ty::Data(_, args) = &ty else { return None };
        let element = args[0].clone();
        let list = t.clone();
        *t = letrec(
            ty.clone(),
            ty.clone(),
            |go, l| {
                case_list(element.clone(), l, nil(element.clone()), |head, tail| {
                    let_(ty.clone(), app(go, tail), |r| cons(element.clone(), head, r))
                })
            },
            |go| app(go, list),
        );
        Some(())
    }),
];

const SYSTEMS: [System; 5] = [
    System::Taylor { k: 1, r: 1 },
    System::Taylor { k: 2, r: 2 },
    System::Taylor { k: 1, r: 3 },
    System::Mixed,
    System::Forward,
];

/// Programs of the paper and more.
const fn features() -> Features {
    Features { arrays: true, conditionals: true, recursion: true, ..Features::paper_002() }
}

theorem! {
    /// D respects the βη-laws: both sides have translations with the same value.
    figure_5_laws_are_respected, features(), |case| {
        let mut body = main_body(case);
        let env = types(&mut body);
        let mut laws = Laws { program: &case.program, env, numbers: Numbers::of(case) };
        let mut definitions = Vec::new();
        for (name, law) in LAWS {
            let mut body = main_body(case);
            // The `λ` of the definition stays one.
            let TermKind::Lam(_, inner) = &mut body.kind else { return Err("no function".into()) };
            if law(&mut laws, inner).is_some() && size(inner) < 2_000 {
                definitions.push((*name, Ty::fun(case.s.clone(), case.t.clone()), body));
            }
        }
        let system = laws.numbers.pick(&SYSTEMS);
        let names: Vec<&str> = definitions.iter().map(|(name, ..)| *name).collect();
        let (program, ids) = with(case, definitions);
        lints(&program)?;
        let mut w = Workspace::new(&program);
        let translated: Vec<GlobalId> = ids.iter().map(|id| w.translated(&system, *id)).collect();
        let mut machine = machine_of(&mut w)?;
        let count = match system {
            System::Taylor { k, r } => if (k, r) == (2, 2) { 6 } else { r as usize + 1 },
            System::Mixed => 4,
            _ => 2,
        };
        let mut parts = vec![case.point.clone()];
        parts.extend((1..count).map(|_| laws.numbers.like(&case.point)));
        let at = tuples(&parts.iter().collect::<Vec<_>>());
        let mut expected: Option<Vec<f64>> = None;
        for (name, id) in names.iter().zip(translated) {
            let got = reals(&call(&mut machine, id, at.clone())?);
            match &expected {
                None => expected = Some(got),
                // The same operations on the same numbers, unless a law has them done twice.
                Some(first) => close_all(first, &got, 0.0).map_err(|why| match why {
                    CaseFailure::Wrong(why) => CaseFailure::Wrong(format!("{name}: {why}")),
                    skip => skip,
                })?,
            }
        }
        Ok(())
    }
}

/// All source variables begin with this.
const MARK: &str = "§";

theorem! {
    /// D(t[s/x]) and D(t)[D(s)/x] are the same term up to renaming (Lemma 1 b). Translations name what they need
    /// more than once by `let`, where the paper has `case … of`; these names are replaced by what they stand for.
    lemma_1_b_substitution, Features::no_derivatives(), |case| {
        let mut numbers = Numbers::of(case);
        let mut whole = main_body(case);
        each_binder(&mut whole, &mut |x| x.var.name = marked(&x.var.name));
        let mut substituted = whole.clone();
        let with_let = |t: &Term| matches!(&t.kind, TermKind::Let(..));
        let Some(place) = one_of(&mut substituted, &with_let, |count| numbers.below(count)) else {
            return Err(CaseFailure::Skip("there is no `let`"));
        };
        let TermKind::Let(bindings, body) = &mut place.kind else { return Ok(()) };
        let Some((x, s)) = bindings.pop() else { return Ok(()) };
        substitute(body, x.var.id, &s);
        if bindings.is_empty() {
            *place = (**body).clone();
        }
        let chosen = x.var.id;
        each_binder(&mut whole, &mut |x| {
            if x.var.id == chosen {
                // Like the names that a translation makes.
                x.var.name = "x".into();
            }
        });
        if size(&mut substituted) > 400 {
            return Err(CaseFailure::Skip("the term is too large"));
        }
        let ty = Ty::fun(case.s.clone(), case.t.clone());
        let definitions = vec![("left", ty.clone(), substituted), ("right", ty, whole)];
        let (program, ids) = with(case, definitions);
        let system = numbers.pick(&SYSTEMS);
        let mut w = Workspace::new(&program);
        let translated: Vec<GlobalId> = ids.iter().map(|id| w.translated(&system, *id)).collect();
        let program = w.program();
        let mut sides = translated.iter().map(|id| program.globals[id.0 as usize].body.clone());
        let (Some(mut left), Some(mut right)) = (sides.next(), sides.next()) else { return Ok(()) };
        for side in [&mut left, &mut right] {
            let mut budget = 50_000;
            if replace_names(side, &program, &mut budget).is_none() {
                return Err(CaseFailure::Skip("the term is too large"));
            }
        }
        match alpha_eq(&left, &right) {
            true => Ok(()),
            false => {
                let [left, right] =
                    [left, right].map(|t| print_term(&t, &program));
                Err(format!("D(t[s/x]) is\n{left}\nD(t)[D(s)/x] is\n{right}").into())
            }
        }
    }
}

fn marked(name: &str) -> Name {
    Name::new(&format!("{MARK}{name}"))
}

/// Replaces variables without the mark by the values of their `let`s, calls of the functions that stand for what
/// is done to one number by what they do, and components of tuples that are there by the components; none if the
/// term becomes too large.
fn replace_names(term: &mut Term, program: &Program, budget: &mut usize) -> Option<()> {
    *budget = budget.checked_sub(1)?;
    if let TermKind::App(f, x) = &term.kind {
        if let TermKind::Global(f) = f.kind {
            let f = &program.globals[f.0 as usize];
            match &f.body.kind {
                TermKind::Lam(y, body) if f.name.contains("[Real;") => {
                    let mut body = (**body).clone();
                    substitute(&mut body, y.var.id, x);
                    *term = body;
                }
                _ => {}
            }
        }
    }
    if let TermKind::Let(bindings, body) = &mut term.kind {
        let mut kept = Vec::new();
        let mut all = std::mem::take(bindings);
        while !all.is_empty() {
            let (x, s) = all.remove(0);
            if x.var.name.starts_with(MARK) {
                kept.push((x, s));
                continue;
            }
            let places = all.iter_mut().map(|(_, value)| value).chain([&mut **body]);
            for place in places {
                substitute(place, x.var.id, &s);
                *budget = budget.checked_sub(size(place) / 16)?;
            }
        }
        if kept.is_empty() {
            *term = (**body).clone();
            return replace_names(term, program, budget);
        }
        *bindings = kept;
    }
    for child in children(term) {
        replace_names(child, program, budget)?;
    }
    if let TermKind::Proj(_, i, of) = &term.kind {
        if let TermKind::Tuple(_, components) = &of.kind {
            *term = components[*i].clone();
        }
    }
    Some(())
}

theorem! {
    /// D of a composition is the composition of the Ds (section 6.1), and the composition of the derivatives is
    /// the derivative of the composition.
    functoriality, Features::no_derivatives(), |case| {
        let mut numbers = Numbers::of(case);
        let (s, t) = (case.s.clone(), case.t.clone());
        // before : S → S, after : T → T
        let twice = |ty: &Ty| {
            lam(ty.clone(), |x| {
                let square = prim(
                    Prim::Inner(ty.clone()),
                    vec![x.clone(), x.clone()],
                );
                let factor = sin(square);
                prim(Prim::Scale(ty.clone()), vec![factor, x])
            })
        };
        let next = case.program.globals.len() as u32;
        let composed = lam(s.clone(), |x| {
            let inner = app(global(next), x);
            app(global(next + 1), app(main_term(case), inner))
        });
        let (program, ids) = with(case, vec![
            ("before", Ty::fun(s.clone(), s.clone()), twice(&s)),
            ("after", Ty::fun(t.clone(), t.clone()), twice(&t)),
            ("composed", Ty::fun(s, t), composed),
        ]);
        lints(&program)?;
        let (k, r) = numbers.pick(&[(1, 1), (2, 1), (2, 2), (1, 3)]);
        let system = System::Taylor { k, r };
        let count = multi_indices(k, r).len();
        let mut w = Workspace::new(&program);
        let [before, after, composed] = [ids[0], ids[1], ids[2]].map(|id| w.translated(&system, id));
        let main = w.translated(&system, case.main);
        let mut machine = machine_of(&mut w)?;
        let mut parts = vec![case.point.clone()];
        parts.extend((1..count).map(|_| numbers.like(&case.point)));
        let at = tuples(&parts.iter().collect::<Vec<_>>());
        let one = call(&mut machine, composed, at.clone())?;
        let x = call(&mut machine, before, at)?;
        let y = call(&mut machine, main, x)?;
        let z = call(&mut machine, after, y)?;
        exactly(&reals(&one), &reals(&z))?;
        // And it is the jet of the composition.
        let derivatives: Vec<&Value> = parts[1..].iter().collect();
        let jet = jets(&case.point, &derivatives)?;
        let composition = TheoremCase {
            program: Rc::new(program),
            main: ids[2],
            s: case.s.clone(),
            t: case.t.clone(),
            point: case.point.clone(),
            tangent: case.tangent.clone(),
            value: case.value.clone(),
            cotangent: case.cotangent.clone(),
            stops: None,
            trace: case.trace.clone(),
        };
        let mut evaluator = machine_for(composition.program.clone(), Kinks::Ignore, MOST_OPERATIONS);
        let expected = derivative(&mut evaluator, &composition, DiffOp::Jet { k, r }, [jet])?;
        let largest = evaluator.take_largest().max(magnitude(&reals(&expected)));
        close_all(&reals(&expected), &reals(&z), largest)
    }
}
