//! The (k,R)-Taylor macro: its translation of every program, called with jets, is the evaluator's `jet`;
//! the paper's examples as they are printed; its theorems about terms.

use crate::support;
use crate::support::programs::{
    of_operation, DECLARED, FALSE_RULES, OPERATIONS, OWN_FUNCTION, PROGRAMS,
};
use crate::support::rewrite;
use crate::support::translated::{assert_close, call, named, program, value};
use diffeo_base::Span;
use diffeo_calculus::array::Array;
use diffeo_calculus::eval::derivative::{jet_coefficients, with_derivatives};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::{Binder, GlobalId, Term, TermKind};
use diffeo_calculus::value::Value;
use diffeo_calculus::{alpha_eq, lint, print_term, print_type, Program};
use diffeo_papers::jet::canonical;
use diffeo_papers::{dual, System, Workspace};

/// A jet of some numbers at a point: derivatives that differ from Real to Real and from α to α.
fn jet_at(point: &Value, k: u32, r: u32) -> Value {
    let count = jet_coefficients(k.into(), r.into()) as usize;
    let mut seed = 0.5f64;
    let jet = with_derivatives(point, count, &mut |x| {
        let mut next = || {
            seed = (seed * 7.3 + 0.619).fract();
            1.6 * seed - 0.8
        };
        std::iter::once(x).chain((1..count).map(|_| next())).map(Value::Real).collect()
    });
    jet.expect("a jet")
}

fn agrees(name: &str, text: &str, (k, r): (u32, u32), tolerance: f64) {
    let name = format!("({k},{r}) of {name}");
    let program = program(&name, text);
    let mut machine = support::machine(&program);
    let f = value(&mut machine, &program, "f");
    let point = value(&mut machine, &program, "point");
    let jet = jet_at(&point, k, r);
    let expected = machine.derivative(DiffOp::Jet { k, r }, vec![f, jet.clone()]).expect("a jet");
    let mut w = Workspace::new(&program);
    let wrapper = canonical::wrapper(&mut w, named(&program, "f"), k, r);
    let translated = w.program();
    assert_eq!(w.refusals(), [], "{name}");
    let got = call(&name, &translated, wrapper, jet);
    assert_close(&name, &got, &expected, tolerance);
}

#[test]
fn every_program() {
    for (k, r) in [(0, 2), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (3, 3), (1, 8)] {
        for (name, text) in PROGRAMS.iter().chain(FALSE_RULES) {
            agrees(name, text, (k, r), 1e-9);
        }
    }
}

#[test]
fn a_rule_may_use_its_own_function_at_order_one() {
    for k in 1..=3 {
        agrees(OWN_FUNCTION.0, OWN_FUNCTION.1, (k, 1), 1e-9);
    }
}

#[test]
fn every_operation() {
    for (k, r) in [(1, 1), (3, 1), (1, 2), (2, 2), (3, 3), (1, 8)] {
        for operation in OPERATIONS {
            agrees(operation.0, &of_operation(*operation), (k, r), 1e-9);
        }
    }
}

#[test]
fn what_is_translated_is_translated_again() {
    // The evaluator's jet of F{f}, of which the Taylor macro makes the same.
    for (name, text) in PROGRAMS {
        let program = program(name, text);
        let mut w = Workspace::new(&program);
        let forward = dual::wrapper(&mut w, named(&program, "f"));
        w.program();
        let wrapper = canonical::wrapper(&mut w, forward, 2, 2);
        let translated = w.program();
        let mut machine = support::machine(&translated);
        let f = machine.eval_global(forward).expect("a function");
        let point = value(&mut machine, &translated, "point");
        let tangent = value(&mut machine, &translated, "tangent");
        let jet = jet_at(&Value::tuple([point, tangent]), 2, 2);
        let op = DiffOp::Jet { k: 2, r: 2 };
        let expected = machine.derivative(op, vec![f, jet.clone()]).expect("a jet");
        let got = call(name, &translated, wrapper, jet);
        assert_close(name, &got, &expected, 1e-9);
    }
}

#[test]
fn what_has_no_jets_is_refused_by_name() {
    let (name, text) = DECLARED[0];
    let program = program(name, text);
    let mut w = Workspace::new(&program);
    canonical::wrapper(&mut w, named(&program, "f"), 1, 2);
    let translated = w.program();
    assert_eq!(lint(&translated), Vec::<String>::new());
    assert_eq!(w.refusals().len(), 1);
    assert_eq!(w.refusals()[0].what, "`jet`");
}

#[test]
fn as_many_derivatives_as_there_are_are_wanted() {
    let program = program("id", "def f : [][]Real -> [][]Real = fn (x : [][]Real) -> x");
    let mut w = Workspace::new(&program);
    let wrapper = canonical::wrapper(&mut w, GlobalId(0), 2, 2);
    let translated = w.program();
    let mut machine = support::machine(&translated);
    let f = machine.eval_global(wrapper).expect("a function");
    let mut call = |count: usize| {
        let real = Value::array(Array::from_reals(vec![1.0; count]));
        let rows = Array::from_values(vec![real]).expect("a row");
        let rows = Array::from_values(vec![Value::array(rows)]).expect("an array");
        machine.apply(&f, Value::array(rows))
    };
    assert!(call(6).is_ok());
    for count in [0, 1, 5, 7] {
        let error = call(count).expect_err("another length");
        assert_eq!(error.kind.message(), "`jet(2, 2, …)` takes 6 derivatives of a Real");
    }
}

// The special cases of sections 2.3, 2.4 and 3.2

/// The translation of `g : (Real, Real) -> Real` by a system, as a function of two tuples.
fn of_two(system: &System, text: &str) -> impl FnMut(&[f64], &[f64]) -> Vec<f64> {
    let program = program("g", text);
    let mut w = Workspace::new(&program);
    let h = w.translated(system, named(&program, "f"));
    let translated = w.program();
    assert_eq!(lint(&translated), Vec::<String>::new());
    let mut machine = support::machine(&translated);
    let h = machine.eval_global(h).expect("a function");
    move |x, y| {
        let pair = [x, y].map(|x| Value::tuple(x.iter().map(|x| Value::Real(*x))));
        let result = machine.apply(&h, Value::tuple(pair)).expect("a value");
        let number = |v: &Value| if let Value::Real(x) = v { *x } else { f64::NAN };
        result.fields().iter().map(number).collect()
    }
}

/// g(x, y) = x² y³ + sin(x y)
const G: &str = "def f : (Real, Real) -> Real =
  fn (p : (Real, Real)) ->
    let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p) in
    #real.add(#real.mul(#pow_int(x, 2), #pow_int(y, 3)), #real.sin(#real.mul(x, y)))";

/// g, g_x, g_y, g_xx, g_xy, g_yy
fn g(x: f64, y: f64) -> [f64; 6] {
    let (s, c) = (x * y).sin_cos();
    [
        x * x * y.powi(3) + s,
        2.0 * x * y.powi(3) + y * c,
        3.0 * x * x * y * y + x * c,
        2.0 * y.powi(3) - y * y * s,
        6.0 * x * y * y + c - x * y * s,
        6.0 * x * x * y - x * x * s,
    ]
}

fn assert_numbers(got: &[f64], expected: &[f64]) {
    let close = |(x, y): (&f64, &f64)| y.is_finite() && (x - y).abs() <= 1e-12 * y.abs().max(1.0);
    let equal = got.len() == expected.len() && got.iter().zip(expected).all(close);
    assert!(equal, "{got:?} is not {expected:?}");
}

#[test]
fn order_one_of_one_variable_is_dual_numbers() {
    for operation in OPERATIONS {
        let text = of_operation(*operation);
        let mut taylor = of_two(&System::Taylor { k: 1, r: 1 }, &text);
        let mut forward = of_two(&System::Forward, &text);
        let (x, y) = ([0.8, 1.5], [0.5, -0.5]);
        assert_numbers(&taylor(&x, &y), &forward(&x, &y));
    }
}

#[test]
fn order_two_of_one_variable_is_triples() {
    let mut h = of_two(&System::Taylor { k: 1, r: 2 }, G);
    let (x, y) = (0.7, 1.2);
    let [v, gx, gy, gxx, gxy, gyy] = g(x, y);
    let first = h(&[x, 1.0, 0.0], &[y, 0.0, 0.0]);
    let second = h(&[x, 0.0, 0.0], &[y, 1.0, 0.0]);
    let both = h(&[x, 1.0, 0.0], &[y, 1.0, 0.0]);
    assert_numbers(&first, &[v, gx, gxx]);
    assert_numbers(&second, &[v, gy, gyy]);
    assert_numbers(&both, &[v, gx + gy, gxx + gyy + 2.0 * gxy]);
    // ½(h(x₁,1,0; x₂,1,0) − h(x₁,1,0; x₂,0,0) − h(x₁,0,0; x₂,1,0)), the last components
    assert_numbers(&[0.5 * (both[2] - first[2] - second[2])], &[gxy]);
}

#[test]
fn order_two_of_two_variables() {
    let (x, y) = (0.7, 1.2);
    let [v, gx, gy, gxx, gxy, gyy] = g(x, y);
    // α = 00, 01, 02, 10, 11, 20
    let mut h = of_two(&System::Taylor { k: 2, r: 2 }, G);
    let full = h(&[x, 0.0, 0.0, 1.0, 0.0, 0.0], &[y, 1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_numbers(&full, &[v, gy, gyy, gx, gxy, gxx]);
    // α = 00, 01, 10, 11
    let mut h = of_two(&System::Mixed, G);
    assert_numbers(&h(&[x, 0.0, 1.0, 0.0], &[y, 1.0, 0.0, 0.0]), &[v, gy, gx, gxy]);
    assert_numbers(&h(&[x, 1.0, 1.0, 0.0], &[y, 0.0, 0.0, 0.0]), &[v, gx, gx, gxx]);
}

#[test]
fn the_restricted_case_drops_components_of_the_full_one() {
    for operation in OPERATIONS {
        let text = of_operation(*operation);
        let mut full = of_two(&System::Taylor { k: 2, r: 2 }, &text);
        let mut mixed = of_two(&System::Mixed, &text);
        let (x, y) = ([0.8, 0.3, 9.0, -0.4, 0.7, 8.0], [0.5, 1.3, 7.0, 0.6, -0.9, 6.0]);
        let kept = |x: [f64; 6]| [x[0], x[1], x[3], x[4]];
        let full = full(&x, &y);
        let got = mixed(&kept(x), &kept(y));
        assert_numbers(&got, &[full[0], full[1], full[3], full[4]]);
    }
}

/// Section 3.2, Example: the inner product of two pairs.
const INNER: &str = "def inner : (Real, Real) -> (Real, Real) -> Real =
  fn (t : (Real, Real)) -> fn (s : (Real, Real)) ->
    let z1 : Real = proj[(Real, Real), 0](t); z2 : Real = proj[(Real, Real), 1](t);
        y1 : Real = proj[(Real, Real), 0](s); y2 : Real = proj[(Real, Real), 1](s) in
    #real.add(#real.mul(z1, y1), #real.mul(z2, y2))";

#[test]
fn the_inner_product_reads_as_in_the_paper() {
    let program = program("inner", INNER);
    for (name, system) in
        [("inner_1_1", System::Taylor { k: 1, r: 1 }), ("inner_2_2_restricted", System::Mixed)]
    {
        let mut w = Workspace::new(&program);
        let id = w.translated(&system, GlobalId(0));
        let translated = w.program();
        let body = &translated.globals[id.0 as usize].body;
        // The paper shows it β-reduced.
        let paper = rewrite::reduced(body, &|value| matches!(value.kind, TermKind::Tuple(..)));
        let text = format!(
            "{}\n\nreduced:\n\n{}\n",
            print_term(body, &translated),
            print_term(&paper, &translated)
        );
        insta::assert_snapshot!(name, text);
    }
}

// Theorems

#[test]
fn networks_of_functions_are_translated() {
    let program = program("network", NETWORK);
    let network = named(&program, "network");
    for (k, r) in [(1, 1), (2, 2), (1, 4)] {
        let system = System::Taylor { k, r };
        let mut w = Workspace::new(&program);
        let id = w.translated(&system, network);
        let translated = w.program();
        assert_eq!(lint(&translated), Vec::<String>::new());
        // If ⊢ t : τ then ⊢ D(t) : D(τ).
        let number = vec!["Real"; jet_coefficients(k.into(), r.into()) as usize].join(", ");
        let written = |program: &Program, id: GlobalId| {
            let ty = print_type(&program.globals[id.0 as usize].ty, program);
            ty.replace(char::is_whitespace, "").replace(",", ", ")
        };
        let expected = written(&program, network).replace("Real", &format!("({number})"));
        assert_eq!(written(&translated, id), expected);
        agrees("network", NETWORK, (k, r), 1e-9);
    }
}

/// The network (1) of section 1 with two inputs and two hidden layers of two neurons.
const NETWORK: &str = "
def neuron : ((Real, Real), ((Real, Real), Real)) -> Real =
  fn (p : ((Real, Real), ((Real, Real), Real))) ->
    let x : (Real, Real) = proj[((Real, Real), ((Real, Real), Real)), 0](p);
        w : (Real, Real) = proj[((Real, Real), Real), 0](proj[((Real, Real), ((Real, Real), Real)), 1](p));
        b : Real = proj[((Real, Real), Real), 1](proj[((Real, Real), ((Real, Real), Real)), 1](p)) in
    #real.sigmoid(#real.add(
      #real.add(#real.mul(proj[(Real, Real), 0](w), proj[(Real, Real), 0](x)),
        #real.mul(proj[(Real, Real), 1](w), proj[(Real, Real), 1](x))), b))
def layer : (((Real, Real), ((Real, Real), Real)) -> Real) ->
    ((Real, Real), (((Real, Real), Real), ((Real, Real), Real))) -> (Real, Real) =
  fn (f : ((Real, Real), ((Real, Real), Real)) -> Real) ->
  fn (q : ((Real, Real), (((Real, Real), Real), ((Real, Real), Real)))) ->
    let x : (Real, Real) = proj[((Real, Real), (((Real, Real), Real), ((Real, Real), Real))), 0](q);
        ps : (((Real, Real), Real), ((Real, Real), Real)) =
          proj[((Real, Real), (((Real, Real), Real), ((Real, Real), Real))), 1](q) in
    tuple[(Real, Real)](
      f tuple[((Real, Real), ((Real, Real), Real))](x, proj[(((Real, Real), Real), ((Real, Real), Real)), 0](ps)),
      f tuple[((Real, Real), ((Real, Real), Real))](x, proj[(((Real, Real), Real), ((Real, Real), Real)), 1](ps)))
def last : (((Real, Real), (((Real, Real), Real), ((Real, Real), Real))) -> (Real, Real),
      ((Real, Real), ((Real, Real), Real)) -> Real) ->
    ((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real))) -> Real =
  fn (fg : (((Real, Real), (((Real, Real), Real), ((Real, Real), Real))) -> (Real, Real),
      ((Real, Real), ((Real, Real), Real)) -> Real)) ->
  fn (q : ((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real)))) ->
    let x : (Real, Real) =
          proj[((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real))), 0](q);
        ps : ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real)) =
          proj[((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real))), 1](q) in
    proj[(((Real, Real), (((Real, Real), Real), ((Real, Real), Real))) -> (Real, Real),
      ((Real, Real), ((Real, Real), Real)) -> Real), 1](fg) tuple[((Real, Real), ((Real, Real), Real))](
        proj[(((Real, Real), (((Real, Real), Real), ((Real, Real), Real))) -> (Real, Real),
          ((Real, Real), ((Real, Real), Real)) -> Real), 0](fg)
          tuple[((Real, Real), (((Real, Real), Real), ((Real, Real), Real)))](x,
            proj[((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real)), 0](ps)),
        proj[((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real)), 1](ps))
def network : ((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real))) -> Real =
  @last tuple[(((Real, Real), (((Real, Real), Real), ((Real, Real), Real))) -> (Real, Real),
    ((Real, Real), ((Real, Real), Real)) -> Real)](@layer @neuron, @neuron)
def f : ((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real))) -> Real =
  fn (q : ((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real)))) -> @network q
def point : ((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real))) =
  tuple[((Real, Real), ((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real)))](
    tuple[(Real, Real)](0.3, -0.8),
    tuple[((((Real, Real), Real), ((Real, Real), Real)), ((Real, Real), Real))](
      tuple[(((Real, Real), Real), ((Real, Real), Real))](
        tuple[((Real, Real), Real)](tuple[(Real, Real)](0.2, -0.5), 0.1),
        tuple[((Real, Real), Real)](tuple[(Real, Real)](-0.7, 0.4), 0.9)),
      tuple[((Real, Real), Real)](tuple[(Real, Real)](1.2, -1.5), 0.6)))";

/// Terms t with the free variable `x` of type Real, as bodies of functions of it.
const TERMS: &[&str] = &[
    "#real.mul(#real.sin(x), #real.add(x, 2.0))",
    "(fn (y : Real) -> #real.div(y, x)) #real.exp(x)",
    "let y : Real = #real.mul(x, x) in #real.atan2(y, x)",
    "case con Maybe[Real].Just(x) of Maybe[Real] { | Nothing() -> 1.0 | Just(y : Real) -> #real.mul(x, y) }",
    "#pow_int(proj[(Real, Int), 0](tuple[(Real, Int)](x, 3)), proj[(Real, Int), 1](tuple[(Real, Int)](x, 3)))",
    "letrec go : Int -> Real = fn (n : Int) ->
       if #lt[Int](n, 1) then x else #real.mul(x, go #int.sub(n, 1)) in go 3",
    "loop s : Real = x for i : Int < 3 do #real.hypot(s, x)",
    "#index[Real](build[Real] i : Int < 2 do #real.mul(x, #to_real(i)), 1)",
];

/// Terms s with the free variable `u`.
const ARGUMENTS: &[&str] = &["u", "#real.mul(u, u)", "2.5", "(fn (v : Real) -> #real.cos(v)) u"];

#[test]
fn substitution_and_translation_change_places() {
    // D(t[s/x]) = D(t)[D(s)/x]
    for (t, s) in TERMS.iter().flat_map(|t| ARGUMENTS.iter().map(move |s| (t, s))) {
        let text = format!(
            "data Maybe[$0] = Nothing | Just($0)
             def t : Real -> Real -> Real = fn (x : Real) -> fn (u : Real) -> {t}
             def s : Real -> Real = fn (u : Real) -> {s}
             def ts : Real -> Real = fn (u : Real) -> u"
        );
        let mut both = (*program(t, &text)).clone();
        let under = |program: &Program, name: &str| -> (Binder, Term) {
            let TermKind::Lam(x, body) =
                &program.globals[named(program, name).0 as usize].body.kind
            else {
                panic!("{name} is a function")
            };
            (x.clone(), (**body).clone())
        };
        // fn u -> t[s/x] with the same u.
        let (x, t_body) = under(&both, "t");
        let TermKind::Lam(u, t_body) = t_body.kind else { panic!("a function") };
        let (v, s_body) = under(&both, "s");
        let variable = |x: &Binder| Term::new(TermKind::Var(x.var.clone()), Span::NONE);
        let s_body = rewrite::substitute(&s_body, &v.var, &variable(&u));
        let substituted = rewrite::substitute(&t_body, &x.var, &s_body);
        let at = named(&both, "ts").0 as usize;
        let lam = TermKind::Lam(u, Box::new(substituted));
        std::rc::Rc::make_mut(&mut both.globals[at]).body = Term::new(lam, Span::NONE);
        for system in [
            System::Taylor { k: 1, r: 1 },
            System::Taylor { k: 2, r: 2 },
            System::Mixed,
            System::Forward,
        ] {
            let mut w = Workspace::new(&both);
            let ids = ["t", "s", "ts"].map(|name| w.translated(&system, named(&both, name)));
            let translated = w.program();
            let body = |id: GlobalId| under(&translated, &translated.globals[id.0 as usize].name);
            let [(x, t), (v, s), (u, ts)] = ids.map(body);
            let TermKind::Lam(w, t) = t.kind else { panic!("a function") };
            let t = rewrite::substitute(&t, &w.var, &variable(&u));
            let s = rewrite::substitute(&s, &v.var, &variable(&u));
            let expected = rewrite::substitute(&t, &x.var, &s);
            // Arguments of operations that stand in their place have names, as in the paper's `case`.
            let laws = |t: &Term| rewrite::reduced(t, &|_| true);
            let in_place = !matches!(system, System::Taylor { k: 2, r: 2 });
            let equal = if in_place {
                alpha_eq(&laws(&ts), &laws(&expected))
            } else {
                alpha_eq(&ts, &expected)
            };
            let print = |t: &Term| print_term(t, &translated);
            assert!(equal, "{system:?}: {}\n\nis not\n\n{}", print(&ts), print(&expected));
        }
    }
}
