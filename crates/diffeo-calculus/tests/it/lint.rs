//! Lint finds one violation of each kind, and says where.

use diffeo_base::{Name, Span};
use diffeo_calculus::term::{Binder, Global, GlobalId, Lit, Term, TermKind, Var};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::{lint, parse, type_of, Env, Program, Ty};

const PRELUDE: &str = "data Maybe[$0] = Nothing | Just($0)\n\
    data Fun = F(Real -> Real)\n\
    data Own = O(Real, Own)\n\
    def f : Real -> Real = fn (a : Real) -> a\n";

#[test]
fn each_violation_is_found() {
    for (body, violation) in [
        // Types.
        ("Maybe : Maybe = #fail[Maybe](\"\")", "wrong number of arguments: Maybe"),
        ("t : (Real,) = #fail[(Real,)](\"\")", "fewer than two components: (Real,)"),
        ("t : $0 = #fail[$0](\"\")", "a type parameter that is not declared: $0"),
        (
            "t : {b : Int, a : Int} = #fail[{b : Int, a : Int}](\"\")",
            "unsorted fields: {b : Int, a : Int}",
        ),
        ("t : {a : Int, a : Int} = #fail[{a : Int, a : Int}](\"\")", "unsorted fields"),
        // Variables and functions.
        ("t : Int = 1.0", "the definition has type Real and should have type Int, in\n1.0"),
        ("t : Real -> Real -> Real = fn (x.1 : Real) -> fn (x.1 : Real) -> x.1", "x.1 is bound twice"),
        ("t : Real = let x.1 : Real = 1.0 in let x.1 : Real = 2.0 in x.1", "x.1 is bound twice"),
        ("t : Real = 1.0 2.0", "what is applied has type Real, in\n1.0 2.0"),
        ("t : Real = @f 1", "the argument has type Int and should have type Real"),
        ("t : Real = let x : Int = 1.0 in 2.0", "the bound term has type Real"),
        ("t : Real -> Real = letrec g : Real -> Real = @f in g", "not a function"),
        ("t : Int = letrec g : Int = fn (x : Int) -> x in g", "the bound term has type Int -> Int"),
        // Data.
        ("t : Real = tuple[Real](1.0)", "a tuple whose type is no tuple"),
        ("t : (Int, Int) = tuple[(Int, Int)](1)", "1 components where 2 are needed"),
        ("t : (Int, Int) = tuple[(Int, Int)](1, 2.0)", "component 2 has type Real"),
        ("t : Int = proj[(Int, Int), 2](tuple[(Int, Int)](1, 2))", "a component that is not there"),
        ("t : Int = proj[(Int, Int), 0](tuple[(Int, Real)](1, 2.0))", "the tuple has type (Int, Real)"),
        ("t : Maybe[Int] = con Maybe[Int].Just(1.0)", "field 1 has type Real"),
        ("t : Maybe[Int] = con Maybe[Int].Just()", "0 fields where 1 are needed"),
        ("t : Maybe[Int] = con Maybe.Just(1)", "a constructor that is not there"),
        // Cases and branches.
        ("t : Int = case 1 of Maybe[Int] { | else -> 1 }", "what is looked at has type Int"),
        ("t : Maybe[Int] -> Int = fn (m : Maybe[Int]) -> case m of Maybe[Int] { | Nothing() -> 1 }", "do not cover"),
        (
            "t : Maybe[Int] -> Int = fn (m : Maybe[Int]) -> \
             case m of Maybe[Int] { | Just(x : Int) -> x | Nothing() -> 1 }",
            "not rising",
        ),
        (
            "t : Maybe[Int] -> Int = fn (m : Maybe[Int]) -> \
             case m of Maybe[Int] { | Nothing() -> 1 | Nothing() -> 1 | else -> 2 }",
            "not rising",
        ),
        (
            "t : Maybe[Int] -> Int = fn (m : Maybe[Int]) -> \
             case m of Maybe[Int] { | Nothing() -> 1 | Just(x : Real) -> 2 }",
            "the binders of an arm do not fit",
        ),
        (
            "t : Maybe[Int] -> Int = fn (m : Maybe[Int]) -> case m of Maybe[Int] { | Nothing() -> 1 | Just() -> 2 }",
            "the binders of an arm do not fit",
        ),
        (
            "t : Maybe[Int] -> Int = fn (m : Maybe[Int]) -> case m of Maybe[Int] { | Nothing() -> 1 | else -> 2.0 }",
            "the branch has type Real",
        ),
        ("t : Maybe[Int] -> Int = fn (m : Maybe[Int]) -> case m of Maybe[Int] { }", "without arms"),
        ("t : Int = if 1 then 1 else 2", "the condition has type Int"),
        ("t : Int = if true then 1 else 2.0", "the branch has type Real"),
        // Arrays and loops.
        ("t : []Int = array[Int](1.0)", "the element has type Real"),
        ("t : []Int = build[Int] i : Int < 1.0 do i", "the count has type Real"),
        ("t : []Real = build[Real] i : Real < 1 do i", "the index has type Real"),
        ("t : []Int = build[Int] i : Int < 1 do 1.0", "the element has type Real"),
        ("t : Int = loop s : Int = 1.0 while true do s", "the first state has type Real"),
        ("t : Int = loop s : Int = 1 while 1 do s", "the condition has type Int"),
        ("t : Int = loop s : Int = 1 while true do 1.0", "the next state has type Real"),
        ("t : Int = loop s : Int = 1 for i : Int < 1.0 do s", "the count has type Real"),
        ("t : Int = loop s : Int = 1 for i : Real < 1 do s", "the index has type Real"),
        ("t : Int = loop s : Int = 1 for i : Int < 1 do 1.0", "the next state has type Real"),
        // Operations.
        ("t : Real = #real.add(1.0)", "1 arguments where 2 are needed"),
        ("t : Real = #real.add(1.0, 1)", "argument 2 has type Int"),
        ("t : Bool = #eq[Real -> Real](@f, @f)", "equality needs a first-order type"),
        ("t : Bool = #eq[Maybe[Real -> Real]](con Maybe[Real -> Real].Nothing(), con Maybe[Real -> Real].Nothing())", "equality needs"),
        ("t : Bool = #eq[Fun](con Fun.F(@f), con Fun.F(@f))", "equality needs a first-order type"),
        ("t : Bool = #lt[Bool](true, true)", "an order comparison needs"),
        ("t : String = #show[Real -> Real](@f)", "needs a first-order type"),
        ("t : Fun = #zero_of[Fun](con Fun.F(@f))", "needs a first-order type"),
        ("t : Int = #neg[Int](1)", "needs a vector type"),
        ("t : () = #neg[()](())", "needs a vector type"),
        ("t : Real = #mul_elements[Real](1.0, 1.0)", "needs an array type of Real"),
        ("t : Bool = #sum[Bool](array[Bool]())", "a sum needs"),
        ("t : []Int = #arg_sort[Bool](array[Bool]())", "sorting needs"),
        ("t : Real = #update[Real](1.0, 1, 1.0)", "an update needs an array type"),
        ("t : []Real = #update[[]Real](array[Real](), 1, 1, 1.0)", "4 arguments where 3 are needed"),
        ("t : []Real = #update[[]Real](array[Real](), 1.0)", "2 arguments where 3 are needed"),
        ("t : Int = #sizes[{n}, 0, [n]_, Real](1.0)", "the size pattern does not fit"),
        ("t : () = #sizes[{}, 1, _, Real](1.0)", "more sizes given than there are"),
        // Derivatives.
        ("t : Fun = #checkpoint[Fun, Fun](fn (x : Fun) -> x, con Fun.F(@f))", "a derivative needs first-order types"),
        ("t : Real = #stop_gradient[Real, Int](1.0)", "the result of stop_gradient has type Int"),
        ("t : Real = #rd[Real, Int](@f, 1.0, 1)", "argument 1 has type Real -> Real"),
        ("t : Own = #jet[1, 1, Real, Own](fn (x : Real) -> #fail[Own](\"\"), array[Real]())", "a jet at a variant type"),
    ] {
        let program = parse(&format!("{PRELUDE}def {body}"))
            .unwrap_or_else(|error| panic!("{error}\n{body}"));
        let violations = lint(&program);
        assert!(violations.iter().any(|found| found.contains(violation)), "{body}\n{violations:#?}");
        let name = format!("def {}: ", body.split(' ').next().expect("a name"));
        assert!(violations.iter().all(|found| found.starts_with(&name)), "{violations:#?}");
    }
    assert_eq!(lint(&parse(PRELUDE).expect("a program")), Vec::<String>::new());
}

fn program(ty: Ty, kind: TermKind) -> Program {
    let body = Term::new(kind, Span::NONE);
    let main = Global { name: "main".into(), ty, body, span: Span::NONE };
    Program { datas: Vec::new(), globals: vec![main.into()], library: Vec::new() }
}

/// Violations that no text can have.
#[test]
fn what_is_not_there_is_found() {
    let var = Var { name: Name::new("x"), id: 4 };
    let ty = Ty::Data(DataId(3), [].into());
    for (ty, kind, violation) in [
        (Ty::Int, TermKind::Var(var), "def main: the variable x.4 is not in scope, in\nx"),
        (
            Ty::Int,
            TermKind::Global(GlobalId(1)),
            "def main: a definition that is not there, in\n@`?`.1",
        ),
        (ty.clone(), TermKind::Lit(Lit::Unit), "a variant type that is not declared: `?`.3"),
        (ty, TermKind::Con(DataId(3), [].into(), 0, Vec::new()), "a constructor that is not there"),
    ] {
        let violations = lint(&program(ty, kind));
        assert!(violations.iter().any(|found| found.contains(violation)), "{violations:#?}");
    }
}

#[test]
fn declarations_are_checked() {
    for (text, violation) in [
        ("data D[$0] = A($1)", "data D.A: a type parameter that is not declared: $1"),
        ("data D[$0] = A(D)", "data D.A: a variant type with the wrong number of arguments: D"),
    ] {
        assert_eq!(lint(&parse(text).expect("a program")), [violation]);
    }
}

#[test]
fn variables_are_in_scope_in_their_scopes_alone() {
    let binder = Binder { var: Var { name: "x".into(), id: 1 }, ty: Ty::Int };
    let x = || Term::new(TermKind::Var(binder.var.clone()), Span::NONE);
    // let x = x in x
    let own = TermKind::Let(vec![(binder.clone(), x())], Box::new(x()));
    assert_eq!(lint(&program(Ty::Int, own)).len(), 1);
    // (let x = 1 in x) and x
    let one = Term::new(TermKind::Lit(Lit::Int(1)), Span::NONE);
    let bound = Term::new(TermKind::Let(vec![(binder.clone(), one)], Box::new(x())), Span::NONE);
    let violations = lint(&program(Ty::array(Ty::Int), TermKind::Array(Ty::Int, vec![bound, x()])));
    assert_eq!(violations, ["def main: the variable x.1 is not in scope, in\nx"]);
}

#[test]
fn the_type_of_an_open_term_comes_from_its_environment() {
    let program = parse(&format!(
        "{PRELUDE}def g : Maybe[Real] -> Int -> Real =
        fn (m : Maybe[Real]) -> let z : Real = 1.0 in letrec h : Int -> Real = fn (i : Int) -> z in
        case m of Maybe[Real] {{ | Nothing() -> h | Just(x : Real) -> fn (j : Int) -> x }}"
    ))
    .expect("a program");
    assert_eq!(lint(&program), Vec::<String>::new());
    let global = &program.globals[1];
    assert_eq!(type_of(&global.body, &program, &Env::new()), Some(global.ty.clone()));
    let var = Var { name: "free".into(), id: 99 };
    let free = Term::new(TermKind::Var(var), Span::NONE);
    assert_eq!(type_of(&free, &program, &Env::new()), None);
    assert_eq!(type_of(&free, &program, &Env::from([(99, Ty::Bool)])), Some(Ty::Bool));
}
