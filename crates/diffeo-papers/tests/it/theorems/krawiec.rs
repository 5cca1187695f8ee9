//! Krawiec et al.: forward mode F and reverse mode R are right, and what their proof says of the translations on
//! the way. What they cost is in `costs.rs`.

use crate::support::{app, diff, global, lam_of, real, tuple_ty};
use crate::theorems::generator::{Choices, Features, TheoremCase};
use crate::theorems::harness::{
    apply_main, close, close_values, derivative, inner, machine, machine_for, moved, reals,
    same_shape, theorem, with_reals, CaseFailure, MOST_OPERATIONS,
};
use crate::theorems::translations::{
    at_reals, call, close_all, exactly, lints, machine_of, magnitude, main_term, mapped, with,
    Numbers,
};
use diffeo_calculus::eval::{Kinks, Machine};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::{GlobalId, Program, Term, TermKind};
use diffeo_calculus::value::Value;
use diffeo_calculus::{print_term, Ty};
use diffeo_papers::delta::{naive, wrapper};
use diffeo_papers::{dual, Delta, System, Workspace};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

const LISTS: Delta = Delta { arrays: false, split: false };
const ARRAYS: Delta = Delta { arrays: true, split: false };
const SPLIT: Delta = Delta { arrays: false, split: true };
const ARRAYS_SPLIT: Delta = Delta { arrays: true, split: true };
const CHOICES: [Delta; 4] = [LISTS, ARRAYS, SPLIT, ARRAYS_SPLIT];

/// The paper's language with lists, records and recursion.
const fn language() -> Features {
    Features { lists: true, records: true, recursion: true, ..Features::paper_004() }
}

/// What the evaluator says.
struct Reference {
    /// J · v at the tangent.
    forward: Value,
    /// Jᵀ · w at the cotangent.
    gradient: Value,
    largest: f64,
}

fn reference(case: &TheoremCase) -> Result<Reference, CaseFailure> {
    let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
    let args = [case.point.clone(), case.tangent.clone()];
    let jvp = derivative(&mut machine, case, DiffOp::Jvp, args)?;
    let forward = jvp.fields()[1].clone();
    let args = [case.point.clone(), case.cotangent.clone()];
    let gradient = derivative(&mut machine, case, DiffOp::Rd, args)?;
    let largest = machine
        .take_largest()
        .max(magnitude(&reals(&forward)))
        .max(magnitude(&reals(&gradient)))
        .max(magnitude(&reals(&case.value)));
    Ok(Reference { forward, gradient, largest })
}

/// `F{main}` at the point with a tangent.
fn f(case: &TheoremCase, tangent: &Value) -> Result<Value, CaseFailure> {
    let mut w = Workspace::new(&case.program);
    let wrapper = dual::wrapper(&mut w, case.main);
    let mut machine = machine_of(&mut w)?;
    Ok(call(&mut machine, wrapper, Value::tuple([case.point.clone(), tangent.clone()]))?)
}

/// `R{main}` at the point with a cotangent.
fn r(case: &TheoremCase, choices: Delta, cotangent: &Value) -> Result<Value, CaseFailure> {
    let mut w = Workspace::new(&case.program);
    let wrapper = wrapper::r(&mut w, case.main, choices);
    let mut machine = machine_of(&mut w)?;
    Ok(call(&mut machine, wrapper, Value::tuple([case.point.clone(), cotangent.clone()]))?)
}

/// A value with 1 for its Real number `i` and 0 for the others.
fn one_hot(value: &Value, i: usize) -> Value {
    let mut count = 0;
    with_reals(value, |_| {
        count += 1;
        f64::from(u8::from(count == i + 1))
    })
}

// Figure 2

theorem! {
    /// F multiplies by the Jacobian and R by its transpose (Figure 2). The Jacobian's columns come from the
    /// evaluator's forward mode.
    figure_2, language(), |case| {
        let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
        let mut jacobian = Vec::new();
        for i in 0..reals(&case.point).len() {
            let hot = one_hot(&case.point, i);
            let jvp = derivative(&mut machine, case, DiffOp::Jvp, [case.point.clone(), hot])?;
            jacobian.push(reals(&jvp.fields()[1]));
        }
        let columns = jacobian.iter().map(|column| magnitude(column));
        let largest = columns.fold(machine.take_largest(), f64::max);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (ds, dt) = (reals(&case.tangent), reals(&case.cotangent));
        let rows = 0..reals(&case.value).len();
        let forward: Vec<f64> = rows
            .map(|j| ds.iter().zip(&jacobian).map(|(dx, column)| dx * column[j]).sum())
            .collect();
        let gradient: Vec<f64> = jacobian.iter().map(|column| dot(column, &dt)).collect();
        let largest = largest.max(magnitude(&forward)).max(magnitude(&gradient));
        close_all(&reals(&f(case, &case.tangent)?), &forward, largest)?;
        let choices = Numbers::of(case).pick(&CHOICES);
        close_all(&reals(&r(case, choices, &case.cotangent)?), &gradient, largest)
    }
}

theorem! {
    /// R gives what differences tend to (Figure 2), wherever they settle.
    figure_2_by_differences, Features { kinky: false, ..Features::no_derivatives() }, |case| {
        let gradient = r(case, Numbers::of(case).pick(&CHOICES), &case.cotangent)?;
        let slope = inner(&gradient, &case.tangent);
        let largest = reference(case)?.largest;
        let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
        let mut found = Vec::new();
        for h in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            let mut side = |h: f64| -> Result<Option<f64>, CaseFailure> {
                let y = apply_main(&mut machine, case, moved(&case.point, h, &case.tangent))?;
                let known = same_shape(&y, &case.value);
                Ok(known.then(|| inner(&case.cotangent, &moved(&y, -1.0, &case.value))))
            };
            let (Some(right), Some(left)) = (side(h)?, side(-h)?) else { continue };
            let difference = (right - left) / (2.0 * h);
            if (difference - slope).abs() <= 1e-6 * largest {
                return Ok(());
            }
            found.push(difference);
        }
        let settled = |three: &[f64]| {
            three.iter().all(|slope| (slope - three[0]).abs() <= 1e-4 * (1.0 + slope.abs()))
        };
        match found.windows(3).find(|three| settled(three)) {
            // A jump between the two sides looks like a steep slope, one nearby like none.
            Some(three) if case.program.globals.iter().all(|g| !branches(&g.body)) => {
                Err(format!("R gives {slope}, differences tend to {}", three[0]).into())
            }
            _ => Err(CaseFailure::Skip("differences do not settle")),
        }
    }
}

fn branches(body: &Term) -> bool {
    let mut found = false;
    crate::theorems::rewrite::each(&mut body.clone(), &mut |t| {
        found |= matches!(t.kind, TermKind::If(..))
    });
    found
}

theorem! {
    /// dt • F(s, ds) = R(s, dt) • ds (Lemma 1).
    lemma_1, Features::no_derivatives(), |case| {
        let largest = reference(case)?.largest;
        let forward = inner(&case.cotangent, &f(case, &case.tangent)?);
        for choices in CHOICES {
            let gradient = r(case, choices, &case.cotangent)?;
            close(forward, inner(&gradient, &case.tangent), largest)?;
        }
        Ok(())
    }
}

// Theorems 3 and 5

theorem! {
    /// R{e} is right for any first-order S and T (Theorems 3 and 5, with Figure 15): for sums, integers, truth
    /// values, texts, lists, records and arrays.
    theorem_5, Features::no_derivatives(), |case| {
        let reference = reference(case)?;
        close_values(&f(case, &case.tangent)?, &reference.forward, reference.largest)?;
        for choices in CHOICES {
            let gradient = r(case, choices, &case.cotangent)?;
            close_values(&gradient, &reference.gradient, reference.largest)?;
        }
        Ok(())
    }
}

theorem! {
    /// So are R¹ and R² (Theorem 2 and section 6).
    theorem_2, Features::no_derivatives(), |case| {
        let reference = reference(case)?;
        for wrapper in [naive::r1, naive::r2] {
            let mut w = Workspace::new(&case.program);
            let wrapper = wrapper(&mut w, case.main);
            let mut machine = machine_of(&mut w)?;
            let at = Value::tuple([case.point.clone(), case.cotangent.clone()]);
            let gradient = call(&mut machine, wrapper, at)?;
            close_values(&gradient, &reference.gradient, reference.largest)?;
        }
        Ok(())
    }
}

#[test]
fn the_zero_of_a_sum_of_nothing_has_the_shape_of_the_argument() {
    let text = "def e : ([]Real, Real) -> Real =
          fn (p : ([]Real, Real)) -> #real.max(#sum[Real](array[Real]()), proj[([]Real, Real), 1](p))
        def s : ([]Real, Real) = tuple[([]Real, Real)](array[Real](0.5, 0.25), -1.5)";
    let program = diffeo_calculus::parse(text).expect("a program");
    let mut w = Workspace::new(&program);
    let r1 = naive::r1(&mut w, GlobalId(0));
    let mut machine = machine_of(&mut w).expect("a translation");
    let s = machine.eval_global(GlobalId(1)).expect("a point");
    let at = Value::tuple([s.clone(), Value::Real(1.0)]);
    let gradient = call(&mut machine, r1, at).expect("a gradient");
    assert!(same_shape(&gradient, &s), "{gradient:?}");
    assert_eq!(reals(&gradient), [0.0; 3]);
}

/// Rows that are not there have a length, in every reverse system and on every way to sum them.
#[test]
fn the_sum_of_no_rows_has_their_length() {
    let text = "def e : Real -> []Real =
          fn (x : Real) ->
            let rows : []{a : []Real, b : (Real, [][]Real)} = array[{a : []Real, b : (Real, [][]Real)}](
              tuple[{a : []Real, b : (Real, [][]Real)}](
                array[Real](x, 1.0),
                tuple[(Real, [][]Real)](x, array[[]Real](array[Real](x, x, x))))) in
            let none : {a : []Real, b : (Real, [][]Real)} =
              #sum[{a : []Real, b : (Real, [][]Real)}](
                #slice[{a : []Real, b : (Real, [][]Real)}](rows, 1, 1)) in
            #append[Real](
              proj[{a : []Real, b : (Real, [][]Real)}, 0](none),
              #flatten[Real](proj[(Real, [][]Real), 1](proj[{a : []Real, b : (Real, [][]Real)}, 1](none))))";
    check_zero_gradient(text, 5);
}

/// A definition `e : Real -> []Real` whose results do not depend on its argument, in every reverse system.
fn check_zero_gradient(text: &str, results: usize) {
    let program = diffeo_calculus::parse(text).expect("a program");
    let wrappers: [fn(&mut Workspace) -> GlobalId; 4] = [
        |w| naive::r1(w, GlobalId(0)),
        |w| naive::r2(w, GlobalId(0)),
        |w| wrapper::r(w, GlobalId(0), CHOICES[0]),
        |w| wrapper::r(w, GlobalId(0), CHOICES[3]),
    ];
    for wrapper in wrappers {
        let mut w = Workspace::new(&program);
        let r = wrapper(&mut w);
        let mut machine = machine_of(&mut w).expect("a translation");
        let cotangent = diffeo_calculus::array::Array::from_reals(vec![1.0; results]);
        let at = Value::tuple([Value::Real(2.0), Value::Array(cotangent.into())]);
        let gradient = call(&mut machine, r, at).expect("a gradient");
        assert_eq!(reals(&gradient), [0.0]);
    }
}

/// What goes through an array without elements keeps the sizes of its rows.
#[test]
fn arrays_of_no_rows_keep_their_shape() {
    let text = "def e : Real -> []Real =
          fn (x : Real) ->
            let cube : [][][]Real =
              array[[][]Real](array[[]Real](array[Real](x, 1.0)), array[[]Real](array[Real](x, x))) in
            let none : [][][]Real = #slice[[][]Real](cube, 2, 2) in
            let sum : [][][]Real = #add[[][][]Real](none, #scale[[][][]Real](x, none)) in
            let flat : [][]Real = #sum[[][]Real](sum) in
            #append[Real](#flatten[Real](flat), #sum[[]Real](#slice[[]Real](flat, 1, 1)))";
    check_zero_gradient(text, 4);
}

// Section 4.1, typing

/// What stands for a Real that does not vary.
fn embedded(system: &System, case: &TheoremCase, x: f64) -> Value {
    let zero = match system {
        System::Forward => Value::Real(0.25),
        System::Vector(_) => case.tangent.clone(),
        // Zero
        _ => Value::data(0, []),
    };
    Value::tuple([Value::Real(x), zero])
}

theorem! {
    /// primal_T(D⃗{e} s) = e(primal_S s), to the last bit (section 4.1), and so for D¹, D² and D.
    section_4_1_primal, Features::no_derivatives(), |case| {
        let vector = System::Vector(Rc::new(case.s.clone()));
        for system in [System::Forward, vector, System::Naive] {
            let mut w = Workspace::new(&case.program);
            let id = w.translated(&system, case.main);
            let mut machine = machine_of(&mut w)?;
            let mut translated = machine.eval_global(id)?;
            if let System::Vector(_) = system {
                let zero = mapped(&case.point, &mut |_| Value::Real(0.0));
                translated = machine.apply(&translated, zero)?;
            }
            let at = mapped(&case.point, &mut |x| embedded(&system, case, x));
            let value = machine.apply(&translated, at)?;
            primal_is(case, &value)?;
        }
        for choices in CHOICES {
            let (value, _) = run(case, choices)?;
            primal_is(case, &value)?;
        }
        Ok(())
    }
}

/// The dual numbers of a value.
fn duals(case: &TheoremCase, value: &Value) -> Result<Vec<Value>, CaseFailure> {
    at_reals(&case.value, value).ok_or_else(|| format!("{value:?} has another shape").into())
}

fn primal_is(case: &TheoremCase, value: &Value) -> Result<(), CaseFailure> {
    let duals = duals(case, value)?;
    let primals: Vec<f64> = duals.iter().flat_map(|dual| reals(&dual.fields()[0])).collect();
    exactly(&primals, &reals(&case.value))
}

/// What D{main} gives at the point, with the state at the end.
fn run(case: &TheoremCase, choices: Delta) -> Result<(Value, Value), CaseFailure> {
    let mut w = Workspace::new(&case.program);
    let wrapper = wrapper::deltas(&mut w, case.main, choices);
    let mut machine = machine_of(&mut w)?;
    let both = call(&mut machine, wrapper, case.point.clone())?;
    match both.fields() {
        [value, state] => Ok((value.clone(), state.clone())),
        _ => Err("a run gives no pair".into()),
    }
}

theorem! {
    /// Γ ⊢ e : A implies D{Γ} ⊢ D{e} : D{A} for D⃗, D¹, D², D (Figures 3, 5, 7, 9), and the wrappers have the types
    /// of Figures 4, 6, 8 and 11.
    typing, Features::no_derivatives(), |case| {
        let mut w = Workspace::new(&case.program);
        let mut wrappers = vec![
            dual::wrapper(&mut w, case.main),
            naive::r1(&mut w, case.main),
            naive::r2(&mut w, case.main),
        ];
        wrappers.extend(CHOICES.map(|choices| wrapper::r(&mut w, case.main, choices)));
        let program = w.program();
        lints(&program)?;
        for (i, wrapper) in wrappers.into_iter().enumerate() {
            let (second, result) = if i == 0 { (&case.s, &case.t) } else { (&case.t, &case.s) };
            let expected = Ty::fun(tuple_ty(&[case.s.clone(), second.clone()]), result.clone());
            let global = &program.globals[wrapper.0 as usize];
            if global.ty != expected {
                return Err(format!("{} has another type", global.name).into());
            }
        }
        match w.refusals() {
            [] => Ok(()),
            refusals => Err(format!("{refusals:?}").into()),
        }
    }
}

// Section 7

theorem! {
    /// The Delta in every dual number is Zero or Var (section 7.1). In the state every binding refers to those
    /// before it, and its operands are Zero or Var.
    section_7_1_deltas_are_small, Features::no_derivatives(), |case| {
        for choices in CHOICES {
            let (value, state) = run(case, choices)?;
            for dual in duals(case, &value)? {
                match &dual.fields()[1] {
                    Value::Data(u) if u.tag == 0 || u.tag == 3 => {}
                    other => return Err(format!("{other:?} is neither Zero nor Var").into()),
                }
            }
            let inputs = reals(&case.point).len() as i64;
            let [Value::Int(next), bindings] = state.fields() else {
                return Err("no state".into());
            };
            let bindings = bindings_in_order(bindings)?;
            if inputs + 1 + bindings.len() as i64 != *next {
                return Err(format!("{} bindings, next {next}", bindings.len()).into());
            }
            for (i, u) in bindings.iter().enumerate() {
                if let Some(later) = variables(u).into_iter().find(|v| *v > inputs + i as i64) {
                    return Err(format!("{u:?} refers to the later {later}").into());
                }
            }
        }
        Ok(())
    }
}

/// The right sides of the bindings of a state, in the order they were made.
fn bindings_in_order(bindings: &Value) -> Result<Vec<Value>, CaseFailure> {
    let mut found = Vec::new();
    let mut rest = bindings.clone();
    loop {
        match &rest.clone() {
            Value::Array(array) => return Ok(array.iter().collect()),
            Value::Data(list) if list.tag == 0 => {
                found.reverse();
                return Ok(found);
            }
            Value::Data(list) => {
                found.push(list.fields[0].fields()[1].clone());
                rest = list.fields[1].clone();
            }
            other => return Err(format!("{other:?} has no bindings").into()),
        }
    }
}

/// The variables in a Delta.
fn variables(u: &Value) -> Vec<i64> {
    let mut pending = vec![u.clone()];
    let mut found = Vec::new();
    while let Some(u) = pending.pop() {
        let Value::Data(u) = &u else { continue };
        match (u.tag, u.fields.first()) {
            (3, Some(Value::Int(id))) => found.push(*id),
            _ => pending.extend(u.fields.iter().cloned()),
        }
    }
    found
}

/// A Delta term with `Let`s over the variables up to `free`, which is closed under what it binds: each gets a
/// number of its own.
fn delta(choices: &mut Choices, depth: usize, scope: &mut Vec<i64>, next: &mut i64) -> Value {
    let form = if depth == 0 { choices.below(2) } else { choices.below(7) };
    match form {
        0 => Value::data(0, []),
        1 => Value::data(3, [Value::Int(scope[choices.below(scope.len())])]),
        2 | 3 => {
            let factor = choices.below(33) as f64 / 8.0 - 2.0;
            let u = delta(choices, depth - 1, scope, next);
            Value::data(1, [Value::Real(factor), u])
        }
        4 => {
            let u = delta(choices, depth - 1, scope, next);
            Value::data(2, [u, delta(choices, depth - 1, scope, next)])
        }
        _ => {
            let u = delta(choices, depth - 1, scope, next);
            let id = *next;
            *next += 1;
            scope.push(id);
            let body = delta(choices, depth - 1, scope, next);
            scope.pop();
            Value::data(4, [Value::Int(id), u, body])
        }
    }
}

/// ⟦u⟧γ (Figure 16)
fn meaning(u: &Value, gamma: &mut HashMap<i64, f64>) -> f64 {
    let Value::Data(u) = u else { return f64::NAN };
    match (u.tag, &u.fields[..]) {
        (0, _) => 0.0,
        (1, [Value::Real(x), u]) => x * meaning(u, gamma),
        (2, [u, v]) => meaning(u, gamma) + meaning(v, gamma),
        (3, [Value::Int(id)]) => gamma[id],
        (4, [Value::Int(id), u, v]) => {
            let value = meaning(u, gamma);
            gamma.insert(*id, value);
            meaning(v, gamma)
        }
        _ => f64::NAN,
    }
}

/// How many variables are free in the Delta terms of Lemma 6.
const FREE: i64 = 5;

theorem! {
    /// s · ⟦u⟧γ = Σ_a (lookup (eval s u m) a − lookup m a) · γ(a), for the supporting functions with lists and maps
    /// and for those with arrays (Lemma 6).
    lemma_6, Features::CORE, |case| {
        let mut choices = Choices::new(&case.trace.list);
        let mut numbers = Numbers::of(case);
        let (mut scope, mut next) = ((0..FREE).collect::<Vec<i64>>(), FREE);
        let u = delta(&mut choices, 6, &mut scope, &mut next);
        let mut gamma: HashMap<i64, f64> = (0..FREE).map(|a| (a, numbers.real())).collect();
        let free = gamma.clone();
        let s = numbers.real();
        let expected = s * meaning(&u, &mut gamma);
        for choices in [LISTS, ARRAYS] {
            let mut w = Workspace::new(&case.program);
            wrapper::r(&mut w, case.main, choices);
            let program = w.program();
            let named = |name: &str| {
                let found = program.globals.iter().position(|g| &*g.name == name);
                found.map(|i| GlobalId(i as u32)).ok_or_else(|| format!("there is no {name}"))
            };
            let mut machine = machine_of(&mut w)?;
            let mut m = machine.eval_global(named("emptyMap")?)?;
            if choices.arrays {
                m = machine.apply(&m, Value::Int(next))?;
            }
            // m has bindings for the free variables.
            let mut before = HashMap::new();
            for a in 0..FREE {
                let x = numbers.real();
                before.insert(a, x);
                m = apply3(&mut machine, named("addDelta")?, [Value::Int(a), Value::Real(x), m])?;
            }
            let after = apply3(&mut machine, named("eval")?, [Value::Real(s), u.clone(), m])?;
            let mut sum = 0.0;
            let mut largest: f64 = 1.0;
            for id in 0..next {
                let lookup = machine.eval_global(named("lookupOrZero")?)?;
                let lookup = machine.apply(&lookup, Value::Int(id))?;
                let found = reals(&machine.apply(&lookup, after.clone())?)[0];
                largest = largest.max(found.abs());
                match before.get(&id) {
                    Some(x) => sum += (found - x) * free[&id],
                    // Bound variables are gone from the map.
                    None => exactly(&[found], &[0.0])?,
                }
            }
            close(expected, sum, largest)?;
        }
        Ok(())
    }
}

fn apply3(machine: &mut Machine, f: GlobalId, args: [Value; 3]) -> Result<Value, CaseFailure> {
    let mut f = machine.eval_global(f)?;
    for arg in args {
        f = machine.apply(&f, arg)?;
    }
    Ok(f)
}

theorem! {
    /// Arrays of bindings and sums (section 7.3) give what lists and maps (Figure 10) give, to the last bit.
    section_7_3_arrays_are_maps, Features::no_derivatives(), |case| {
        let lists = r(case, LISTS, &case.cotangent)?;
        let arrays = r(case, ARRAYS, &case.cotangent)?;
        exactly(&reals(&lists), &reals(&arrays))?;
        let split = [SPLIT, ARRAYS_SPLIT].map(|choices| r(case, choices, &case.cotangent));
        let [lists, arrays] = split;
        exactly(&reals(&lists?), &reals(&arrays?))
    }
}

theorem! {
    /// A vector of pairs and a pair of vectors give the same (section 10.2), to the last bit.
    section_10_2_vectors, Features { arrays: true, ..language() }, |case| {
        for (pairs, vectors) in [(LISTS, SPLIT), (ARRAYS, ARRAYS_SPLIT)] {
            let pairs = r(case, pairs, &case.cotangent)?;
            let vectors = r(case, vectors, &case.cotangent)?;
            close_values(&pairs, &vectors, 0.0)?;
            exactly(&reals(&pairs), &reals(&vectors))?;
        }
        Ok(())
    }
}

// Section 7.5

/// The name of a definition that was made for a type, without the numbers that tell types of one name apart.
fn unnumbered(name: &str) -> String {
    let mut parts = name.split('.');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == part.len() {
            text.push('.');
        }
        text.push_str(rest);
    }
    text
}

/// The definitions of a program by name, with variables numbered as they come.
fn texts(program: &Program) -> BTreeMap<String, String> {
    let mut program = program.clone();
    // Variants of one name are told apart by how many there are before, not by their numbers.
    let mut seen: HashMap<String, usize> = HashMap::new();
    for data in &mut program.datas {
        let count = seen.entry(data.name.to_string()).or_default();
        *count += 1;
        data.name = format!("{}#{count}", data.name).as_str().into();
    }
    seen.clear();
    for global in &mut program.globals {
        let name = unnumbered(&global.name);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count > 1 { format!("{name}#{count}") } else { name };
        std::rc::Rc::make_mut(global).name = name.as_str().into();
    }
    let program = &program;
    let text = |body: &Term| {
        let mut body = body.clone();
        crate::theorems::rewrite::fresh(&mut body, &mut 0);
        crate::theorems::rewrite::each_binder(&mut body, &mut |x| x.var.name = "x".into());
        print_term(&body, program)
    };
    program.globals.iter().map(|g| (g.name.to_string(), text(&g.body))).collect()
}

theorem! {
    /// The translation of a definition depends on it alone (section 7.5): it is the same term whatever the main
    /// expression is, and when one definition changes, that one alone is translated again.
    section_7_5_separate_translation, Features::no_derivatives(), |case| {
        let library = case.main.0 as usize;
        if library == 0 {
            return Err(CaseFailure::Skip("there is one definition"));
        }
        let mut numbers = Numbers::of(case);
        let vector = System::Vector(Rc::new(case.s.clone()));
        let delta = System::Delta(numbers.pick(&CHOICES));
        let system = numbers.pick(&[System::Forward, vector, System::Naive, delta]);
        // With the main expression and without.
        let mut whole = Workspace::new(&case.program);
        whole.translated(&system, case.main);
        let all: Vec<GlobalId> = (0..library as u32).map(GlobalId).collect();
        let in_whole: Vec<GlobalId> = all.iter().map(|id| whole.translated(&system, *id)).collect();
        let mut alone = (*case.program).clone();
        alone.globals.truncate(library);
        let mut alone = Workspace::new(&alone);
        all.iter().for_each(|id| { alone.translated(&system, *id); });
        let with_main = whole.program();
        let (with_main_texts, alone) = (texts(&with_main), texts(&alone.program()));
        for id in &in_whole {
            let name = unnumbered(&with_main.globals[id.0 as usize].name);
            if with_main_texts[&name] != alone[&name] {
                return Err(format!(
                    "{name} is\n{}\nand with the main expression\n{}",
                    alone[&name], with_main_texts[&name]
                ).into());
            }
        }
        // One definition changes.
        let id = all[numbers.below(all.len())];
        let global = &case.program.globals[id.0 as usize];
        let mut body = global.body.clone();
        crate::theorems::rewrite::fresh(&mut body, &mut (1 << 24));
        let body = crate::support::let_(Ty::Real, real(0.5), |_| body);
        let body = match &global.ty {
            Ty::Fun(f) => crate::support::lam(f.0.clone(), |x| app(body, x)),
            _ => body,
        };
        let before = whole.translations();
        whole.update(id, &body);
        let again = whole.translations() - before;
        if again != 1 {
            return Err(format!("{again} definitions are translated again").into());
        }
        let changed = whole.program();
        lints(&changed)?;
        let changed_texts = texts(&changed);
        for (name, text) in &changed_texts {
            let source = &case.program.globals[id.0 as usize].name;
            let own = *name == **source || name.starts_with(&format!("{source}'"));
            if !own && with_main_texts.get(name).is_some_and(|old| old != text) {
                return Err(format!("{name} has changed, too").into());
            }
        }
        Ok(())
    }
}

// Section 10.4

/// The definition `λ((s, dt₁), …). rd(f, …)` of a definition f : S → T, with the types of its arguments and result.
fn nested_rd(f: Term, s: &Ty, t: &Ty) -> (Ty, Ty, Term) {
    let types = [s.clone(), t.clone()];
    let body = lam_of(&types, |v| {
        diff(DiffOp::Rd, s.clone(), t.clone(), vec![f, v[0].clone(), v[1].clone()])
    });
    (tuple_ty(&types), s.clone(), body)
}

/// R over R, `levels` times, against nested `rd` of the evaluator.
fn tower(case: &TheoremCase, levels: usize, choices: Delta) -> Result<(), CaseFailure> {
    let mut numbers = Numbers::of(case);
    let mut definitions = Vec::new();
    let (mut s, mut t, mut f) = (case.s.clone(), case.t.clone(), main_term(case));
    for i in 0..levels {
        let (from, to, body) = nested_rd(f, &s, &t);
        definitions.push(("tower", Ty::fun(from.clone(), to.clone()), body));
        (s, t) = (from, to);
        f = global(case.main.0 + 1 + i as u32);
    }
    let mut at = Value::tuple([case.point.clone(), case.cotangent.clone()]);
    let mut result = case.point.clone();
    for _ in 1..levels {
        let cotangent = numbers.like(&result);
        result = at.clone();
        at = Value::tuple([at, cotangent]);
    }
    let (program, ids) = with(case, definitions);
    let Some(last) = ids.last() else { return Ok(()) };
    let mut evaluator = machine_for(Rc::new(program), Kinks::Ignore, MOST_OPERATIONS);
    let expected = call(&mut evaluator, *last, at.clone())?;
    let largest = evaluator.take_largest().max(magnitude(&reals(&expected)));
    let mut w = Workspace::new(&case.program);
    let top = (0..levels).fold(case.main, |f, _| wrapper::r(&mut w, f, choices));
    let mut machine = machine_of(&mut w)?;
    let got = call(&mut machine, top, at)?;
    close_values(&got, &expected, largest)
}

/// A language of which towers are small.
const fn small() -> Features {
    Features { functions: true, variants: true, conditionals: true, ..Features::CORE }
}

theorem! {
    /// Second derivatives by R over R (section 10.4).
    section_10_4_second_derivatives, language(), |case| {
        tower(case, 2, Numbers::of(case).pick(&CHOICES))
    }
}

theorem! {
    /// Third derivatives by R over R over R (section 10.4).
    section_10_4_third_derivatives, small(), |case| {
        let mut body = crate::theorems::translations::main_body(case);
        match crate::theorems::rewrite::size(&mut body) {
            0..200 => tower(case, 3, Numbers::of(case).pick(&[LISTS, ARRAYS])),
            _ => Err(CaseFailure::Skip("the program is too large")),
        }
    }
}
