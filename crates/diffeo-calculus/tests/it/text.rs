//! Core prints and parses back: programs with every form, and random ones.

use diffeo_base::{Name, Span};
use diffeo_calculus::prim::{
    Comparison, Diff, DiffOp, IntOp, RealOp, SizePattern, SizeRef, SizeShape,
};
use diffeo_calculus::term::{
    Arm, Binder, Build, Case, Control, Global, GlobalId, Lit, Loop, Term, TermKind, Var,
};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, WellKnown};
use diffeo_calculus::{
    alpha_eq, alpha_eq_programs, lint, parse, print, print_term, Prim, Program, Ty,
};
use proptest::prelude::*;
use std::rc::Rc;

fn assert_reads_back(program: &Program) {
    let text = print(program);
    let parsed = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(print(&parsed), text);
    assert!(alpha_eq_programs(program, &parsed), "{text}");
}

fn term(kind: TermKind) -> Term {
    Term::new(kind, Span::NONE)
}

fn definition(name: &str, ty: Ty, body: Term) -> Rc<Global> {
    Rc::new(Global { name: name.into(), ty, body, span: Span::NONE })
}

/// Every form, as it prints.
const FORMS: &str = r#"data List[$0] = Nil | `::`($0, List[$0])

data Shape = Circle(Real) | Box(Real, Real) | `a point`

def `map[Real, Int]` : (Real -> Int) -> List[Real] -> List[Int] =
  fn (f : Real -> Int) ->
    letrec go : List[Real] -> List[Int] =
      fn (l : List[Real]) ->
        case l of List[Real] {
          | Nil() -> con List[Int].Nil()
          | `::`(x : Real, rest : List[Real]) -> con List[Int].`::`(f x, go rest)
        } in
    go

def area : Shape -> Real =
  fn (s : Shape) -> case s of Shape { | Circle(r : Real) -> #real.mul(3.0e200, r) | else -> -0.0 }

def main : () -> {at : [](Real, Int), `let` : String} =
  fn (u : ()) ->
    let x.2 : Real = if #lt[Int](1, -2) then 1.5 else if true then nan else -inf;
        x.3 : Real = loop s : Real = x.2 while #lt[Real](s, 10.0) do #real.add(s, 1.0e-7);
        p : (Real, Int) = tuple[(Real, Int)](x.3, 3);
        many : List[Int] =
          @`map[Real, Int]`
            (fn (y : Real) -> #trunc(y))
            con List[Real].`::`(proj[(Real, Int), 0](p), con List[Real].Nil()) in
    tuple[{at : [](Real, Int), `let` : String}](
      build[(Real, Int)] i : Int < 3 do
        tuple[(Real, Int)](
          loop t : Real = 0.0 for j : Int < i do #real.add(t, #index[Real](array[Real](x.2), j)),
          #sizes[{n, m}, 1, [m][3][_]_, [][][]Real](#fail[[][][]Real]("no\n\"array\""), 2)),
      "text")

def slope : Real =
  proj[(Real, Real -> Real), 1](#vjp[Real, Real](fn (z : Real) -> #real.sin(z), 1.0)) 1.0
"#;

#[test]
fn every_form_reads_back_and_lints() {
    let program = parse(FORMS).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lint(&program), Vec::<String>::new());
    assert_reads_back(&program);
    let text = print(&program);
    assert!(text == FORMS, "{text}");
}

#[test]
fn names_are_numbered_where_they_are_shared() {
    let binder = |id| Binder { var: Var { name: "x".into(), id }, ty: Ty::Real };
    let body = term(TermKind::Var(binder(7).var));
    let inner = term(TermKind::Lam(binder(8), Box::new(body)));
    let program = Program {
        datas: Vec::new(),
        library: Vec::new(),
        globals: vec![
            definition("f", Ty::Real, term(TermKind::Lam(binder(7), Box::new(inner)))),
            definition("f", Ty::Real, term(TermKind::Global(GlobalId(1)))),
            definition(
                "g",
                Ty::Real,
                term(TermKind::Lam(binder(9), Box::new(term(TermKind::Lit(Lit::Unit))))),
            ),
        ],
    };
    assert_eq!(
        print(&program),
        "def f.0 : Real = fn (x.7 : Real) -> fn (x.8 : Real) -> x.7\n\n\
         def f.1 : Real = @f.1\n\n\
         def g : Real = fn (x : Real) -> ()\n"
    );
    assert_reads_back(&program);
}

#[test]
fn bound_variables_may_be_renamed_and_free_ones_not() {
    let body = |text: &str| parse(&format!("def a : Real = {text}")).expect("a program");
    let equal = |a: &str, b: &str| {
        let (a, b) = (body(a), body(b));
        alpha_eq(&a.globals[0].body, &b.globals[0].body)
    };
    assert!(equal("fn (x : Real) -> fn (y : Real) -> x", "fn (u : Real) -> fn (v : Real) -> u"));
    assert!(!equal("fn (x : Real) -> fn (y : Real) -> x", "fn (u : Real) -> fn (v : Real) -> v"));
    assert!(!equal("fn (x : Real) -> 1.0", "fn (x : Int) -> 1.0"));
    assert!(!equal("0.0", "-0.0"));
    assert!(equal("nan", "nan"));
    // Shadowing: the outer variable is what it was again after the inner scope.
    let nested = "fn (x.1 : Real) -> (fn (x.1 : Real) -> x.1) x.1";
    assert!(equal(nested, "fn (a : Real) -> (fn (b : Real) -> b) a"));
    assert!(!equal("fn (a : Real) -> (fn (b : Real) -> a) a", nested));
    let free = |id| term(TermKind::Var(Var { name: "x".into(), id }));
    assert!(alpha_eq(&free(1), &free(1)));
    assert!(!alpha_eq(&free(1), &free(2)));
}

#[test]
fn errors_say_where_they_are() {
    for (text, position, message) in [
        ("def a : Real = b", (1, 16), "no variable `b` is in scope"),
        ("def a : Real =\n  @b", (2, 4), "no definition is called `b`"),
        ("def a : Reel = 1.0", (1, 9), "no variant type is called `Reel`"),
        ("def a : Real = #real.sine(1.0)", (1, 26), "no operation is called `real.sine`"),
        ("def a : Real = tuple[Real](1.0", (1, 31), "expected `)`"),
        ("def a : Real = 1.0 def", (1, 23), "expected a name"),
        ("def a : Real = 1.0 )", (1, 20), "expected a definition or the end"),
        ("def a : Real = 99999999999999999999", (1, 16), "expected a number that fits"),
        ("def a : String = \"x", (1, 20), "a `\"` is missing"),
        ("def a : Real = ?", (1, 16), "unexpected `?`"),
        (
            "def a : Real = 1.0 def a : Real = 1.0",
            (1, 5),
            "no definition is called `a`, or several are",
        ),
        ("def a.1 : Real = 1.0", (1, 5), "no definition is called `a`"),
        ("def a : Int = #sizes[{n}, 0, n, Int](1)", (1, 30), "expected the sizes of a value"),
        ("data D = A(D) def a : D = con D.B()", (1, 33), "no constructor is called `B`"),
        ("", (0, 0), ""),
    ] {
        match parse(text) {
            Ok(_) => assert_eq!(message, "", "{text}"),
            Err(error) => {
                assert_eq!((error.line, error.column), position, "{text}: {error}");
                assert!(error.message.contains(message), "{text}: {error}");
            }
        }
    }
}

#[test]
fn deep_terms_are_no_trouble() {
    let depth = 20_000;
    let mut body = term(TermKind::Lit(Lit::Real(1.0)));
    for id in 0..depth {
        let var = Var { name: "x".into(), id };
        let argument = term(TermKind::Var(var.clone()));
        let sum = term(TermKind::Prim(Prim::Real(RealOp::Add), vec![body, argument]));
        let value = term(TermKind::Lit(Lit::Real(2.0)));
        body = term(TermKind::Let(vec![(Binder { var, ty: Ty::Real }, value)], Box::new(sum)));
    }
    let program = Program {
        datas: Vec::new(),
        globals: vec![definition("deep", Ty::Real, body)],
        library: Vec::new(),
    };
    assert_eq!(lint(&program), Vec::<String>::new());
    assert_reads_back(&program);
    // An error at the end, with all of the term parsed.
    assert!(parse(&(print(&program) + ")")).is_err());
}

#[test]
fn lines_are_at_most_100_columns_wide() {
    for line in FORMS.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let mut sum = term(TermKind::Lit(Lit::Real(0.1)));
    for _ in 0..60 {
        sum = term(TermKind::Prim(
            Prim::Real(RealOp::Add),
            vec![sum.clone(), term(TermKind::Lit(Lit::Real(0.1)))],
        ));
    }
    let text = print_term(&sum, &Program::default());
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

// Random programs: well scoped, though not well typed.

const NAMES: &[&str] =
    &["x", "y", "x'", "let", "_", "::", "map[Real, Int]", "a`b\\", "π\n", "Real", "q.1", "0", ""];

/// Makes a program from a list of choices; without choices left, the smallest.
struct TextGenerator {
    choices: std::vec::IntoIter<u32>,
    next_id: u32,
    scope: Vec<Var>,
}

impl TextGenerator {
    fn below(&mut self, count: usize) -> usize {
        self.choices.next().unwrap_or(0) as usize % count
    }

    fn many<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| item(self)).collect()
    }

    fn name(&mut self) -> Name {
        NAMES[self.below(NAMES.len())].into()
    }

    fn program(&mut self) -> Program {
        let constructor =
            |g: &mut Self| ConstructorDecl { name: g.name(), fields: g.many(Self::ty) };
        let data = |g: &mut Self| DataDecl {
            name: g.name(),
            known: [None, Some(WellKnown::List), Some(WellKnown::Key)][g.below(3)],
            params: g.below(3),
            constructors: vec![constructor(g), constructor(g)],
        };
        let datas = vec![data(self), data(self)];
        let global = |g: &mut Self| {
            let (name, ty, body) = (g.name(), g.ty(), g.term());
            Rc::new(Global { name, ty, body, span: Span::NONE })
        };
        Program {
            datas,
            globals: vec![global(self), global(self), global(self)],
            library: Vec::new(),
        }
    }

    fn ty(&mut self) -> Ty {
        match self.below(11) {
            0 => Ty::Real,
            1 => Ty::Int,
            2 => Ty::Bool,
            3 => Ty::String,
            4 => Ty::Unit,
            5 => Ty::Tuple(self.many(Self::ty).into()),
            6 => Ty::Record(self.many(|g| (g.name(), g.ty())).into()),
            7 => Ty::array(self.ty()),
            8 => Ty::Data(self.data(), self.many(Self::ty).into()),
            9 => Ty::fun(self.ty(), self.ty()),
            _ => Ty::Param(self.below(9) as u32),
        }
    }

    fn data(&mut self) -> DataId {
        DataId(self.below(2) as u32)
    }

    fn shape(&mut self, names: usize) -> SizeShape {
        match self.below(6) {
            0 => SizeShape::Any,
            1 => SizeShape::Array(SizeRef::Any, Box::new(self.shape(names))),
            2 => SizeShape::Array(SizeRef::Literal(u64::MAX), Box::new(self.shape(names))),
            3 if names > 0 => {
                SizeShape::Array(SizeRef::Name(self.below(names)), Box::new(self.shape(names)))
            }
            4 => SizeShape::Data(self.many(|g| g.many(|g| g.shape(names)))),
            _ => SizeShape::Tuple(self.many(|g| g.shape(names))),
        }
    }

    fn binder(&mut self) -> Binder {
        self.next_id += 1;
        Binder { var: Var { name: self.name(), id: self.next_id * 3 % 1009 }, ty: self.ty() }
    }

    fn under(&mut self, binders: &[&Binder]) -> Term {
        self.scope.extend(binders.iter().map(|binder| binder.var.clone()));
        let body = self.term();
        self.scope.truncate(self.scope.len() - binders.len());
        body
    }

    fn boxed(&mut self) -> Box<Term> {
        Box::new(self.term())
    }

    fn term(&mut self) -> Term {
        let kind = match self.below(17) {
            0 => TermKind::Lit(self.literal()),
            1 | 2 if !self.scope.is_empty() => {
                let position = self.below(self.scope.len());
                TermKind::Var(self.scope[position].clone())
            }
            3 => TermKind::Global(GlobalId(self.below(3) as u32)),
            4 => {
                let binder = self.binder();
                let body = self.under(&[&binder]);
                TermKind::Lam(binder, Box::new(body))
            }
            5 => {
                let mut bindings: Vec<(Binder, Term)> = Vec::new();
                for _ in 0..self.below(4) {
                    let value = self.term();
                    let binder = self.binder();
                    self.scope.push(binder.var.clone());
                    bindings.push((binder, value));
                }
                let body = self.boxed();
                self.scope.truncate(self.scope.len() - bindings.len());
                TermKind::Let(bindings, body)
            }
            6 => {
                let binder = self.binder();
                let (value, body) = (self.under(&[&binder]), self.under(&[&binder]));
                TermKind::LetRec(binder, Box::new(value), Box::new(body))
            }
            7 => TermKind::Tuple(self.ty(), self.many(Self::term)),
            8 => TermKind::Proj(self.ty(), self.below(4), self.boxed()),
            9 => {
                let args = self.many(Self::ty).into();
                TermKind::Con(self.data(), args, self.below(2) as u32, self.many(Self::term))
            }
            10 => {
                let arm = |g: &mut Self| {
                    let binders = g.many(Self::binder);
                    let body = g.under(&binders.iter().collect::<Vec<_>>());
                    Arm { tag: g.below(2) as u32, binders, body }
                };
                let arms = self.many(arm);
                let data = (self.data(), self.many(Self::ty).into());
                let default = (self.below(2) == 0).then(|| self.term());
                TermKind::Case(Box::new(Case { scrutinee: self.term(), data, arms, default }))
            }
            11 => TermKind::If(self.boxed(), self.boxed(), self.boxed()),
            12 => TermKind::Array(self.ty(), self.many(Self::term)),
            13 => {
                let (count, index) = (self.term(), self.binder());
                let body = self.under(&[&index]);
                TermKind::Build(Box::new(Build { count, index, body, element: self.ty() }))
            }
            14 => {
                let (state, init) = (self.binder(), self.term());
                let (control, body) = if self.below(2) == 0 {
                    let (index, count) = (self.binder(), self.term());
                    let body = self.under(&[&state, &index]);
                    (Control::Count { index, count }, body)
                } else {
                    (Control::While(self.under(&[&state])), self.under(&[&state]))
                };
                TermKind::Loop(Box::new(Loop { state, init, control, body }))
            }
            15 => TermKind::Prim(self.prim(), self.many(Self::term)),
            16 => {
                let op = [DiffOp::Rd, DiffOp::Jet { k: 1, r: 2 }][self.below(2)];
                let (from, to) = (self.ty(), self.ty());
                TermKind::Diff(Diff { op, from, to }, self.many(Self::term))
            }
            _ => TermKind::App(self.boxed(), self.boxed()),
        };
        term(kind)
    }

    fn literal(&mut self) -> Lit {
        let reals = [0.0, -0.0, 1.0, -1e300, 5e-324, 0.1, f64::MAX, f64::NAN, f64::INFINITY];
        match self.below(5) {
            0 => Lit::Unit,
            1 => Lit::Real(reals[self.below(reals.len())]),
            2 => Lit::Int([0, -1, i64::MIN, i64::MAX][self.below(4)]),
            3 => Lit::Bool(self.below(2) == 0),
            _ => Lit::String(["", "a\"b", "\\n\n\t\r\u{7f}", "é"][self.below(4)].into()),
        }
    }

    fn prim(&mut self) -> Prim {
        match self.below(6) {
            0 => Prim::Real(RealOp::Polygamma(self.below(9) as u32)),
            1 => Prim::Int(IntOp::ShiftLeft),
            2 => Prim::Compare(Comparison::Ge, self.ty()),
            3 => Prim::Index(self.ty()),
            4 => Prim::IsNan,
            _ => {
                let names = self.many(Self::name);
                let shape = self.shape(names.len());
                let (given, parts) = (self.below(3), self.many(Self::name));
                let pattern = SizePattern { names, given, parts, shape };
                Prim::Sizes(std::rc::Rc::new(pattern), self.ty())
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_programs_read_back(choices in prop::collection::vec(any::<u32>(), 0..400)) {
        let mut generator =
            TextGenerator { choices: choices.into_iter(), next_id: 0, scope: Vec::new() };
        let program = generator.program();
        assert_reads_back(&program);
        // Checking any program whatever reports violations and does not panic.
        lint(&program);
    }
}
