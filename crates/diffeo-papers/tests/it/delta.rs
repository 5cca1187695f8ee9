//! The reverse-mode systems of Krawiec et al.: they lint, they agree with each other and with the evaluator's
//! derivatives, and they cost what the paper says.

use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Machine, Options, RuntimeError};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, parse, Program, Ty};
use diffeo_papers::delta::shown::{figure_12, Expression};
use diffeo_papers::delta::{naive, wrapper};
use diffeo_papers::{Delta, System, Workspace};
use std::rc::Rc;

const DEFAULT: Delta = Delta { arrays: false, split: false };
const ARRAYS: Delta = Delta { arrays: true, split: false };
const SPLIT: Delta = Delta { arrays: false, split: true };
const BOTH: Delta = Delta { arrays: true, split: true };

fn program(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&program), Vec::<String>::new(), "{text}");
    program
}

fn find(program: &Program, name: &str) -> GlobalId {
    let at = program.globals.iter().position(|g| &*g.name == name);
    GlobalId(at.unwrap_or_else(|| panic!("{name}")) as u32)
}

fn machine(program: &Rc<Program>) -> Machine {
    Machine::new(program.clone(), Options::default())
}

/// The numbers of a value, and its other leaves as text.
fn leaves(value: &Value, numbers: &mut Vec<f64>, rest: &mut String) {
    match value {
        Value::Real(x) => numbers.push(*x),
        Value::Tuple(_) | Value::Data(_) => {
            if let Value::Data(data) = value {
                *rest += &format!("{}(", data.tag);
            }
            value.fields().iter().for_each(|v| leaves(v, numbers, rest));
            *rest += ")";
        }
        Value::Array(array) => {
            *rest += &format!("{}[", array.len());
            array.iter().for_each(|v| leaves(&v, numbers, rest));
        }
        other => *rest += &format!("{other:?},"),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let mut found = Vec::new();
    leaves(value, &mut found, &mut String::new());
    found
}

fn assert_agree(what: &str, a: &Value, b: &Value) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    let (mut p, mut q) = (String::new(), String::new());
    leaves(a, &mut xs, &mut p);
    leaves(b, &mut ys, &mut q);
    assert_eq!(p, q, "{what}");
    assert_eq!(xs.len(), ys.len(), "{what}");
    let scale =
        xs.iter().chain(&ys).filter(|x| x.is_finite()).fold(1.0, |m: f64, x| m.max(x.abs()));
    for (x, y) in xs.iter().zip(&ys) {
        let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * scale;
        assert!(same, "{what}: {xs:?} and {ys:?}");
    }
}

/// What the definition makes of the pair of the constants `s` and `dt`.
fn applied(program: &Rc<Program>, f: GlobalId) -> Result<Value, RuntimeError> {
    let mut m = machine(program);
    let s = m.eval_global(find(program, "s"))?;
    let dt = m.eval_global(find(program, "dt"))?;
    let f = m.eval_global(f)?;
    m.apply(&f, Value::tuple([s, dt]))
}

fn rd(program: &Rc<Program>) -> Result<Value, RuntimeError> {
    let mut m = machine(program);
    let s = m.eval_global(find(program, "s"))?;
    let dt = m.eval_global(find(program, "dt"))?;
    let e = m.eval_global(find(program, "e"))?;
    m.derivative(DiffOp::Rd, vec![e, s, dt])
}

type Wrapper = fn(&mut Workspace, GlobalId) -> GlobalId;

const SYSTEMS: &[(&str, Wrapper)] = &[
    ("R", |w, e| wrapper::r(w, e, DEFAULT)),
    ("R with arrays", |w, e| wrapper::r(w, e, ARRAYS)),
    ("R with pairs of vectors", |w, e| wrapper::r(w, e, SPLIT)),
    ("R with arrays and pairs of vectors", |w, e| wrapper::r(w, e, BOTH)),
    ("R²", naive::r2),
    ("R¹", naive::r1),
];

/// All systems give the evaluator's derivative of `e` at `s` with `dt`.
fn agree(text: &str) {
    let source = program(text);
    let expected = rd(&Rc::new(source.clone()));
    let expected = expected.unwrap_or_else(|e| panic!("{}\n{text}", e.kind.message()));
    for (name, make) in SYSTEMS {
        let mut w = Workspace::new(&source);
        let f = make(&mut w, find(&source, "e"));
        let translated = w.program();
        assert_eq!(lint(&translated), Vec::<String>::new(), "{name} of {text}");
        assert!(w.refusals().is_empty());
        match applied(&translated, f) {
            Ok(value) => assert_agree(&format!("{name} of {text}"), &expected, &value),
            Err(e) => panic!("{name}: {}\n{text}", e.kind.message()),
        }
    }
}

/// The programs in `tests/delta/`, by name.
fn corpus_files() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/delta");
    let paths = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "core")).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        (path.display().to_string(), std::fs::read_to_string(&path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// Every form and every operation.
#[test]
fn all_systems_agree() {
    for (file, text) in corpus_files() {
        println!("{file}");
        agree(&text);
    }
}

fn corpus(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/delta");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn figure_12_of_the_paper() {
    let source = program(&corpus("quaternion.core"));
    let point = machine(&Rc::new(source.clone())).eval_global(find(&source, "s")).unwrap();
    let shown = figure_12(&source, find(&source, "e"), point, Options::default()).unwrap();
    assert_eq!(format!("{shown}\n"), corpus("figure_12.txt"));
    // Without those for the constants, which the paper binds to Zero.
    assert_eq!(shown.bindings.len(), 38);
    let names: Vec<&str> = shown.inputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["q.w", "q.x", "q.y", "q.z", "v.x", "v.y", "v.z"]);
    // By hand: the x component of (s² - u·u) v + 2 (u·v) u + 2 s (u × v), q = (u, s).
    let expected = [38.72, 91.96, 58.08, -77.44, 4.84, -24.2, 26.62];
    for (x, y) in shown.derivatives[0].iter().zip(expected) {
        assert!((x - y).abs() < 1e-9, "{:?}", shown.derivatives);
    }
    assert_eq!((shown.derivatives.len(), shown.derivatives[0].len()), (1, 7));
    assert!((shown.results[0].value - 71.874).abs() < 1e-9, "{:?}", shown.results);
}

/// The Delta of every dual number is Zero or Var, so that there is nothing else within those of the bindings.
#[test]
fn deltas_are_names() {
    fn parts<'d>(u: &'d Expression, found: &mut Vec<&'d Expression>) {
        match u {
            Expression::Scale(_, u) => parts(u, found),
            Expression::Add(a, b) => {
                parts(a, found);
                parts(b, found);
            }
            Expression::Zero | Expression::Var(_) | Expression::OneHot(_) | Expression::Let(..) => {
                found.push(u)
            }
        }
    }
    let named = |u: &Expression| matches!(u, Expression::Zero | Expression::Var(_));
    let mut bindings = 0;
    for (file, text) in corpus_files() {
        let source = program(&text);
        let point = machine(&Rc::new(source.clone())).eval_global(find(&source, "s")).unwrap();
        let shown = figure_12(&source, find(&source, "e"), point, Options::default()).unwrap();
        assert!(shown.results.iter().all(|n| named(&n.delta)), "{file}");
        for (_, u) in &shown.bindings {
            let mut found = Vec::new();
            parts(u, &mut found);
            assert!(found.into_iter().all(named), "{file}: {u}");
        }
        bindings += shown.bindings.len();
    }
    assert!(bindings > 200, "{bindings}");
}

/// The evaluator's derivatives of derivatives, and those that the translation of translated programs gives.
#[test]
fn towers() {
    let text = "
        def e : (Real, Real) -> Real = fn (p : (Real, Real)) ->
          let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p) in
          loop z : Real = #real.mul(#real.sin(x), y) for i : Int < 2 do #real.mul(z, #real.add(z, x))
        def e2 : ((Real, Real), Real) -> (Real, Real) = fn (p : ((Real, Real), Real)) ->
          #rd[(Real, Real), Real](@e, proj[((Real, Real), Real), 0](p), proj[((Real, Real), Real), 1](p))
        def e3 : (((Real, Real), Real), (Real, Real)) -> ((Real, Real), Real) =
          fn (p : (((Real, Real), Real), (Real, Real))) ->
            #rd[((Real, Real), Real), (Real, Real)](@e2,
              proj[(((Real, Real), Real), (Real, Real)), 0](p),
              proj[(((Real, Real), Real), (Real, Real)), 1](p))
        def s : ((Real, Real), Real) = tuple[((Real, Real), Real)](tuple[(Real, Real)](0.7, 1.3), 0.5)
        def dt : (Real, Real) = tuple[(Real, Real)](1.0, -2.0)
        def ddt : ((Real, Real), Real) = tuple[((Real, Real), Real)](tuple[(Real, Real)](0.25, 1.5), 2.0)";
    let source = program(text);
    let plain = Rc::new(source.clone());
    let mut m = machine(&plain);
    let mut constant = |name: &str| m.eval_global(find(&plain, name)).unwrap();
    let (s, dt, ddt) = (constant("s"), constant("dt"), constant("ddt"));
    let (e2, e3) = (constant("e2"), constant("e3"));
    let pair = Value::tuple([s.clone(), dt.clone()]);
    let second = m.derivative(DiffOp::Rd, vec![e2, s, dt]).unwrap();
    let third = m.derivative(DiffOp::Rd, vec![e3, pair.clone(), ddt.clone()]).unwrap();
    for choices in [[DEFAULT; 3], [ARRAYS; 3], [BOTH; 3], [DEFAULT, ARRAYS, SPLIT]] {
        let mut w = Workspace::new(&source);
        let r = wrapper::r(&mut w, find(&source, "e"), choices[0]);
        let rr = wrapper::r(&mut w, r, choices[1]);
        let rrr = wrapper::r(&mut w, rr, choices[2]);
        let translated = w.program();
        assert_eq!(lint(&translated), Vec::<String>::new());
        let mut m = machine(&translated);
        let f = m.eval_global(rr).unwrap();
        assert_agree("R{R{e}}", &second, &m.apply(&f, pair.clone()).unwrap());
        let f = m.eval_global(rrr).unwrap();
        let arg = Value::tuple([pair.clone(), ddt.clone()]);
        assert_agree("R{R{R{e}}}", &third, &m.apply(&f, arg).unwrap());
    }
}

/// Translated function values: run once for a value and any number of gradients.
#[test]
fn function_values() {
    for (file, text) in corpus_files() {
        let source = program(&text);
        let expected = rd(&Rc::new(source.clone())).unwrap();
        let e = find(&source, "e");
        let Ty::Fun(f) = source.globals[e.0 as usize].ty.clone() else { panic!() };
        for choices in [DEFAULT, ARRAYS, SPLIT, BOTH] {
            let mut w = Workspace::new(&source);
            let translated = w.translated(&System::Delta(choices), e);
            let vjp = wrapper::vjp(&mut w, choices, &f.0, &f.1);
            let all = w.program();
            assert_eq!(lint(&all), Vec::<String>::new(), "{file}");
            let mut m = machine(&all);
            let mut value = |id| m.eval_global(id).unwrap();
            let (s, dt) = (value(find(&source, "s")), value(find(&source, "dt")));
            let (e, f, vjp) = (value(e), value(translated), value(vjp));
            let both = m.apply(&vjp, Value::tuple([f, s.clone()])).unwrap();
            assert_agree(&file, &m.apply(&e, s).unwrap(), &both.fields()[0]);
            for _ in 0..2 {
                let gradient = m.apply(&both.fields()[1], dt.clone()).unwrap();
                assert_agree(&file, &expected, &gradient);
            }
        }
    }
}

#[test]
fn a_cotangent_of_another_shape_stops_the_program() {
    let other = "con Either[Real, (Real, String)].Left(0.5)";
    let sums = corpus("sums.core");
    let source = program(&format!(
        "{}def dt : Either[Real, (Real, String)] = {other}",
        sums.split("def dt").next().unwrap()
    ));
    for (name, make) in SYSTEMS {
        let mut w = Workspace::new(&source);
        let f = make(&mut w, find(&source, "e"));
        let error = applied(&w.program(), f).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::ShapeMismatch { .. }), "{name}: {:?}", error.kind);
    }
    let text = corpus("arrays.core")
        .replace("](array[Real](1.0, 2.0, 3.0), 0.5)", "](array[Real](1.0), 0.5)");
    let source = program(&text);
    for (name, make) in SYSTEMS {
        let mut w = Workspace::new(&source);
        let f = make(&mut w, find(&source, "e"));
        let error = applied(&w.program(), f).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::SizeMismatch { .. }), "{name}: {:?}", error.kind);
    }
}

/// A definition is translated on its own (section 7.5).
#[test]
fn a_change_of_one_definition_translates_that_one_again() {
    let text = "
        def f : Real -> Real = fn (x : Real) -> #real.sin(x)
        def g : Real -> Real = fn (x : Real) -> #real.mul(@f x, 2.0)
        def e : Real -> Real = fn (x : Real) -> #real.add(@f x, @g x)
        def s : Real = 0.5
        def dt : Real = 1.0";
    let source = program(text);
    let changed = program(&text.replace("#real.sin(x)", "#real.mul(x, #real.exp(x))"));
    let expected = rd(&Rc::new(changed.clone())).unwrap();
    let mut w = Workspace::new(&source);
    let r = wrapper::r(&mut w, find(&source, "e"), DEFAULT);
    w.program();
    let before = w.translations();
    w.update(find(&source, "f"), &changed.globals[find(&source, "f").0 as usize].body);
    assert_eq!(w.translations(), before + 1);
    let translated = w.program();
    assert_eq!(lint(&translated), Vec::<String>::new());
    assert_agree("after the change", &expected, &applied(&translated, r).unwrap());
    assert_eq!(w.translations(), before + 1);
}

/// The operations that a system takes for the derivative of `e` at `s`.
fn cost(text: &str, make: Wrapper) -> u64 {
    let source = program(text);
    let mut w = Workspace::new(&source);
    let f = make(&mut w, find(&source, "e"));
    let translated = w.program();
    let mut m = machine(&translated);
    let mut value = |name| m.eval_global(find(&translated, name)).unwrap();
    let argument = Value::tuple([value("s"), value("dt")]);
    let f = m.eval_global(f).unwrap();
    let before = m.operations();
    m.apply(&f, argument).unwrap();
    m.operations() - before
}

fn ratio(text: &dyn Fn(u32) -> String, n: u32, factor: u32, make: Wrapper) -> f64 {
    cost(&text(n * factor), make) as f64 / cost(&text(n), make) as f64
}

#[test]
fn vectors_of_numbers_are_pairs_of_vectors() {
    let source = program(&corpus("boxes.core"));
    let mut w = Workspace::new(&source);
    let e = w.translated(&System::Delta(SPLIT), find(&source, "e"));
    let all = w.program();
    let text = diffeo_calculus::print_type(&all.globals[e.0 as usize].ty, &all);
    let flat: String = text.split_whitespace().collect();
    assert!(flat.contains("([]Real,[]Delta[Real])"), "{text}");
    assert!(!flat.contains("[](Real,Delta[Real])"), "{text}");
}

/// Section 6: D¹ works on the whole of δS at every operation.
#[test]
fn the_first_system_is_quadratic() {
    let sum = |n: u32| {
        format!(
            "def e : []Real -> Real = fn (xs : []Real) -> #sum[Real](xs)
             def s : []Real = build[Real] i : Int < {n} do #to_real(i)
             def dt : Real = 1.0"
        )
    };
    let r1 = ratio(&sum, 50, 4, naive::r1);
    assert!((14.0..17.0).contains(&r1), "{r1}");
    let r2 = ratio(&sum, 500, 4, naive::r2);
    assert!(r2 < 4.2, "{r2}");
    let lists = ratio(&sum, 500, 4, |w, e| wrapper::r(w, e, DEFAULT));
    assert!(lists < 5.5, "{lists}");
    let arrays = ratio(&sum, 500, 4, |w, e| wrapper::r(w, e, ARRAYS));
    assert!(arrays < 4.2, "{arrays}");
}

/// Section 7: D² loses the sharing of `let x₁ = x + x in let x₂ = x₁ + x₁ in …`, D keeps it.
#[test]
fn the_second_system_is_exponential() {
    let doubled = |n: u32| {
        format!(
            "def e : Real -> Real = fn (x : Real) ->
               loop y : Real = x for i : Int < {n} do #real.add(y, y)
             def s : Real = 1.0
             def dt : Real = 1.0"
        )
    };
    let r2 = cost(&doubled(13), naive::r2) as f64 / cost(&doubled(12), naive::r2) as f64;
    assert!((1.9..2.1).contains(&r2), "{r2}");
    let lists = ratio(&doubled, 500, 4, |w, e| wrapper::r(w, e, DEFAULT));
    assert!(lists < 5.5, "{lists}");
    let arrays = ratio(&doubled, 500, 4, |w, e| wrapper::r(w, e, ARRAYS));
    assert!(arrays < 4.2, "{arrays}");
}

/// s·⟦u⟧γ is the difference of the maps after and before `eval s u` (Lemma 6), for any Delta.
#[test]
fn eval_adds_the_difference() {
    const FREE: usize = 4;
    /// A Delta with this many variables in scope, as a value and as the vector ⟦u⟧ over the free ones.
    fn delta(seed: &mut u64, depth: u32, scope: &mut Vec<Vec<f64>>) -> (Value, Vec<f64>) {
        let mut next = |n: u64| {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*seed >> 33) % n
        };
        let con = |tag: u32, fields: Vec<Value>| Value::data(tag, fields);
        match if depth == 0 { 3 * next(2) } else { 1 + next(4) } {
            0 => (con(0, vec![]), vec![0.0; FREE]),
            1 => {
                let x = next(9) as f64 - 4.0;
                let (u, d) = delta(seed, depth - 1, scope);
                (con(1, vec![Value::Real(x), u]), d.iter().map(|y| x * y).collect())
            }
            2 => {
                let (u, d) = delta(seed, depth - 1, scope);
                let (v, e) = delta(seed, depth - 1, scope);
                (con(2, vec![u, v]), d.iter().zip(&e).map(|(x, y)| x + y).collect())
            }
            3 => {
                let id = next(scope.len() as u64) as usize;
                (con(3, vec![Value::Int(id as i64)]), scope[id].clone())
            }
            _ => {
                let (u, d) = delta(seed, depth - 1, scope);
                let id = scope.len();
                scope.push(d);
                let (v, e) = delta(seed, depth - 1, scope);
                scope.pop();
                (con(4, vec![Value::Int(id as i64), u, v]), e)
            }
        }
    }
    let source = program("def e : Real -> Real = fn (x : Real) -> x");
    for choices in [DEFAULT, ARRAYS] {
        let mut w = Workspace::new(&source);
        wrapper::r(&mut w, GlobalId(0), choices);
        let all = w.program();
        let mut m = machine(&all);
        let mut call = |name: &str, args: &[Value]| {
            let f = m.eval_global(find(&all, name)).unwrap();
            args.iter().fold(f, |f, x| m.apply(&f, x.clone()).unwrap())
        };
        let mut seed = 7;
        for round in 0..200 {
            let mut scope: Vec<Vec<f64>> =
                (0..FREE).map(|i| (0..FREE).map(|j| f64::from(i == j)).collect()).collect();
            let (u, difference) = delta(&mut seed, 6, &mut scope);
            let mut um = match choices.arrays {
                true => call("emptyMap", &[Value::Int(64)]),
                false => call("emptyMap", &[]),
            };
            let before: Vec<f64> = (0..FREE).map(|i| (i * round) as f64 - 3.0).collect();
            for (i, x) in before.iter().enumerate().skip(round % 2) {
                um = call("addDelta", &[Value::Int(i as i64), Value::Real(*x), um]);
            }
            let start = |i: usize| if i < round % 2 { 0.0 } else { before[i] };
            let um = call("eval", &[Value::Real(1.5), u, um]);
            for i in 0..64 {
                let after = call("lookupOrZero", &[Value::Int(i), um.clone()]);
                let Value::Real(after) = after else { panic!() };
                let i = i as usize;
                // Bound variables are gone.
                let expected = if i < FREE { start(i) + 1.5 * difference[i] } else { 0.0 };
                assert!(
                    expected.is_finite()
                        && (after - expected).abs() <= 1e-9 * expected.abs().max(1.0)
                );
            }
        }
    }
}

/// With lists the work is n log n, with arrays linear (section 7.3).
#[test]
fn a_million_bindings() {
    let steps = |n: u32| {
        format!(
            "def e : []Real -> Real = fn (xs : []Real) ->
               loop y : Real = 1.0 for i : Int < {n} do
                 #real.mul(#index[Real](xs, #int.rem(i, 1000)), y)
             def s : []Real = build[Real] i : Int < 1000 do 1.0
             def dt : Real = 1.0"
        )
    };
    for (n, choices) in [(100_000, DEFAULT), (1_000_000, ARRAYS)] {
        let source = program(&steps(n));
        let mut w = Workspace::new(&source);
        let f = wrapper::r(&mut w, find(&source, "e"), choices);
        let gradient = applied(&w.program(), f).unwrap();
        assert!(numbers(&gradient).iter().all(|x| *x == f64::from(n / 1000)));
    }
    let arrays = ratio(&steps, 10_000, 10, |w, e| wrapper::r(w, e, ARRAYS));
    assert!(arrays < 10.5, "{arrays}");
}

/// `Let x = 1 x in Let x = 1 x in … x`, a million deep.
#[test]
fn eval_recurses_a_million_deep() {
    let source = program("def e : Real -> Real = fn (x : Real) -> x");
    let mut w = Workspace::new(&source);
    wrapper::r(&mut w, GlobalId(0), DEFAULT);
    let all = w.program();
    let mut m = machine(&all);
    let id = || Value::Int(5);
    let variable = || Value::data(3, [id()]);
    let mut u = variable();
    for _ in 0..1_000_000 {
        u = Value::data(4, [id(), Value::data(1, [Value::Real(1.0), variable()]), u]);
    }
    let mut call = |name: &str, args: &[Value]| {
        let f = m.eval_global(find(&all, name)).unwrap();
        args.iter().fold(f, |f, x| m.apply(&f, x.clone()).unwrap())
    };
    let empty = call("emptyMap", &[]);
    let um = call("eval", &[Value::Real(2.0), u, empty]);
    assert!(matches!(call("lookupOrZero", &[id(), um]), Value::Real(2.0)));
}
