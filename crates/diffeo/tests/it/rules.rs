//! Rules of derivatives by chance, linear in their tangents and not: none that is not linear passes in silence, none that
//! is linear is refused.
//!
//! A rule is made of forms that keep what is made of the tangent linear. One that is not to be linear has one form in it
//! that is not, of a single Real of the tangent, at a place on which the result depends.

use crate::fuzzing::generate::{Choices, Random};
use crate::fuzzing::probe;
use crate::support::near;
use diffeo::{Engine, Limits, Options, Session};
use diffeo_calculus::show::show;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What has Reals, in the position of a point or result: its type, how two of them are taken apart, how it is made.
struct Package {
    ty: &'static str,
    /// The pattern of one, and the names of its Reals; `#` is the letter.
    pattern: &'static str,
    reals: &'static [&'static str],
    /// How it is made of Reals `%0`, `%1`.
    made: &'static str,
    /// Whether the pattern may not fit.
    partial: bool,
}

const PACKAGES: &[Package] = &[
    Package { ty: "Real", pattern: "#", reals: &["#"], made: "%0", partial: false },
    Package {
        ty: "(Real, Real)",
        pattern: "(#0, #1)",
        reals: &["#0", "#1"],
        made: "(%0, %1)",
        partial: false,
    },
    Package {
        ty: "[2]Real",
        pattern: "#",
        reals: &["#[0]", "#[1]"],
        made: "[%0, %1]",
        partial: false,
    },
    Package {
        ty: "{a: Real, b: Real}",
        pattern: "#",
        reals: &["#.a", "#.b"],
        made: "{a = %0, b = %1}",
        partial: false,
    },
    Package {
        ty: "(Real, Int, Real)",
        pattern: "(#0, #n, #1)",
        reals: &["#0", "#1"],
        made: "(%0, 3, %1)",
        partial: false,
    },
    Package {
        ty: "Maybe[Real]",
        pattern: "Just(#0)",
        reals: &["#0"],
        made: "Just(%0)",
        partial: true,
    },
    Package {
        ty: "Shape",
        pattern: "Box(#0, #1, #n)",
        reals: &["#0", "#1"],
        made: "Box(%0, %1, 2)",
        partial: true,
    },
    Package {
        ty: "Tree",
        pattern: "Node(Leaf(#0), Leaf(#1))",
        reals: &["#0", "#1"],
        made: "Node(Leaf(%0), Leaf(%1))",
        partial: true,
    },
    Package {
        ty: "List[Real]",
        pattern: "#0 :: #1 :: Nil",
        reals: &["#0", "#1"],
        made: "list[%0, %1]",
        partial: true,
    },
    Package {
        ty: "[1](Real, [1]Real)",
        pattern: "#",
        reals: &["#[0].0", "#[0].1[0]"],
        made: "[(%0, [%1])]",
        partial: false,
    },
];

impl Package {
    fn pattern(&self, letter: &str) -> String {
        self.pattern.replace('#', letter)
    }

    fn reals(&self, letter: &str) -> Vec<String> {
        self.reals.iter().map(|real| real.replace('#', letter)).collect()
    }

    fn made(&self, parts: &[String]) -> String {
        let made = self.made.replace("%0", &parts[0]);
        parts.get(1).map_or(made.clone(), |part| made.replace("%1", part))
    }
}

/// Makes a rule.
struct Maker<'r> {
    random: &'r mut Random,
    point: Vec<String>,
    tangent: Vec<String>,
    names: usize,
}

impl Maker<'_> {
    fn one<'a>(&mut self, of: &'a [String]) -> &'a str {
        &of[self.random.below(of.len())]
    }

    fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn real(&mut self) -> String {
        let point = self.point.clone();
        self.one(&point).to_string()
    }

    fn leaf(&mut self) -> String {
        let tangent = self.tangent.clone();
        self.one(&tangent).to_string()
    }

    /// A number between 1/4 and 4 that is free of the tangent.
    fn factor(&mut self) -> String {
        let x = self.real();
        match self.random.below(9) {
            0 => "1.5".to_string(),
            1 => format!("(2.0 + sin({x}))"),
            2 => format!("exp(0.1 * {x})"),
            3 => "k".to_string(),
            4 => format!("(1.0 + {x} * {x})"),
            5 => format!("steep({x})"),
            6 => format!("(if {x} > 0.0 then 0.5 else k)"),
            7 => format!("norm([1.0, {x}])"),
            _ => format!("grad(fn z -> z * k + sin({x}))({x})"),
        }
    }

    /// A number that is linear in the tangent, but for a form in it if `not` is set.
    fn linear(&mut self, depth: usize, not: bool) -> String {
        if depth == 0 || (not && self.random.below(5) == 0) {
            return if not { self.broken() } else { self.leaf() };
        }
        let d = depth - 1;
        let part = self.linear(d, not);
        match self.random.below(30) {
            0 => format!("({part} + {})", self.linear(d, false)),
            1 => format!("({} - {part})", self.linear(d, false)),
            2 => format!("({} * {part})", self.factor()),
            3 => format!("({part} / {})", self.factor()),
            4 => {
                format!("(if {} > -100.0 then {part} else {})", self.real(), self.linear(d, false))
            }
            5 => {
                let v = self.name("v");
                format!("(let {v} = {part} in {v} + {} * {v})", self.factor())
            }
            6 => format!("(fn t -> {} * t)({part})", self.factor()),
            7 => format!("(loop s = {part} for i < 2 do {} * s)", self.factor()),
            8 => format!("sum([{part} for i < 2])"),
            9 => format!("dot([{}, k], [{part}, {}])", self.factor(), self.linear(d, false)),
            10 => format!("fd(fn z -> sin(z) + {} * z, 0.3, {part})", self.factor()),
            11 => format!("[{part}, {}][0]", self.linear(d, false)),
            12 => format!("({}, {part}).1", self.factor()),
            13 => format!("(case Just({part}) of {{ Just(t) -> t | Nothing -> 0.0 }})"),
            14 => format!("checkpoint(fn t -> {} * t)({part})", self.factor()),
            15 => format!("scale({}, add({part}, {}))", self.factor(), self.linear(d, false)),
            16 => format!("iterate(2, fn t -> {} * t, {part})", self.factor()),
            17 => {
                format!("fold_left(fn (a, t) -> a + t, 0.0, [{part}, {}])", self.linear(d, false))
            }
            18 => format!("halves(3, {part})"),
            19 => format!(
                "fold_right_list(fn (t, a) -> t + {} * a, 0.0, list[{part}, {part}])",
                self.factor()
            ),
            20 => format!("snd(vjp(fn z -> {} * z, 0.2))({part})", self.factor()),
            21 => format!("{{a = {part}, b = {}}}.a", self.factor()),
            22 => format!("[fn t -> {} * t, fn t -> k * t][1]({part})", self.factor()),
            23 => format!("third({part})"),
            24 => format!("linear_map({part})"),
            25 => {
                format!("matvec([[{}, k]], [{part}, {}])[0]", self.factor(), self.linear(d, false))
            }
            26 => format!("([{part}, 0.0] with [1] = {})[0]", self.linear(d, false)),
            27 => {
                format!("scatter_add([0.0, 0.0], [0, 1], [{part}, {}])[0]", self.linear(d, false))
            }
            28 => format!("grad(fn z -> z * {part})({})", self.factor()),
            _ => format!(
                "linalg.solve([[{}, 0.0], [0.5, k]], [{part}, {}])[0]",
                self.factor(),
                self.linear(d, false)
            ),
        }
    }

    /// A number that is not linear in a Real of the tangent.
    fn broken(&mut self) -> String {
        let d = self.leaf();
        match self.random.below(30) {
            0 => format!("({d} * {})", self.leaf()),
            1 => format!("abs({d})"),
            2 => format!("max({d}, 0.0)"),
            3 => format!("sin({d})"),
            4 => format!("({d} + {})", self.factor()),
            5 => format!("stop_gradient({d})"),
            6 => format!("(if {d} > 0.0 then {d} else 0.0)"),
            7 => format!("(exp({d}) - 1.0)"),
            8 => format!("real(round(8.0 * {d}))"),
            9 => format!("sq({d})"),
            10 => format!("{d} ^ 2"),
            11 => self.factor(),
            12 => format!("sort([{d}, 0.0])[0]"),
            13 => format!("norm([{d}, 1.0])"),
            14 => format!("({d} / (2.0 + {d} * {d}))"),
            15 => format!("relu({d})"),
            16 => format!("maximum([{d}, 0.5 * {d}])"),
            17 => format!("logsumexp([{d}, 0.0])"),
            18 => format!("(1.0 / (2.0 + {d}))"),
            19 => format!("[1.0, {d}][if {d} > 0.0 then 0 else 1]"),
            20 => format!("hidden({d})"),
            21 => format!("(case {d} > 0.0 of {{ true -> {d} | false -> 2.0 * {d} }})"),
            22 => format!("[{}, {d}][0]", self.factor()),
            23 => format!("(let a = [k, {d}] in a[1] * a[1])"),
            24 => format!("({d} + k * cos({}))", self.real()),
            25 => format!("sum([t for t in [{d}, -{d}] if t > 0.0])"),
            26 => format!("(sin({0} + {d}) - sin({0}))", self.real()),
            27 => format!("fd(fn z -> z * z, {d}, {d})"),
            28 => format!("(loop s = {d} while abs(s) > 0.1 do 0.5 * s)"),
            _ => format!("(let t = {d} in t + (if show(t) == \"0.0\" then 1.0 else t * t))"),
        }
    }
}

/// A program with a rule; whether that is linear.
fn program(random: &mut Random) -> (String, bool) {
    let linear = random.below(2) == 0;
    let from = &PACKAGES[random.below(PACKAGES.len())];
    let to = &PACKAGES[random.below(PACKAGES.len())];
    let (point, tangent) = (from.reals("x"), from.reals("d"));
    let mut maker = Maker { random, point, tangent, names: 0 };
    let results = to.reals.len();
    // The value, or one number of the tangent, is what is not linear.
    let at = if linear { usize::MAX } else { maker.random.below(8 * results) };
    let values: Vec<String> = (0..results).map(|_| maker.factor()).collect();
    let mut own = values.clone();
    if at == 0 {
        own[0] = format!("({} + 0.5 * {})", own[0], maker.leaf());
    }
    let tangents: Vec<String> = (0..results)
        .map(|i| {
            let depth = 1 + maker.random.below(4);
            maker.linear(depth, !linear && at > 0 && at % results == i)
        })
        .collect();
    let pair = format!("({}, {})", to.made(&own), to.made(&tangents));
    let taken = |names: &str, body: &str| match from.partial {
        true => format!(
            "case {names} of {{ {} -> {body} | _ -> fail(\"another shape\") }}",
            match names {
                "x" => from.pattern("x"),
                _ => format!("({}, {})", from.pattern("x"), from.pattern("d")),
            }
        ),
        false => body.to_string(),
    };
    let pattern = |letter: &str| match from.partial {
        true => letter.to_string(),
        false => from.pattern(letter),
    };
    let (s, t) = (from.ty, to.ty);
    let value = format!("fn ({}: {s}) -> {}", pattern("x"), taken("x", &to.made(&values)));
    let body = taken("(x, d)", &pair);
    let rule = format!("fn ({}: {s}, {}: {s}) -> {body}", pattern("x"), pattern("d"));
    let taker = ["with_derivative", "with_exact_derivative"][maker.random.below(2)];
    let (global, ruled) = match maker.random.below(9) {
        0 => (String::new(), format!("{taker}({value}, {rule})")),
        1 => (format!("def rule({}: {s}, {}: {s}) -> ({t}, {t}) = {body}", pattern("x"), pattern("d")), format!("{taker}({value}, rule)")),
        2 => ("def given(f, rule) = TAKER(f, rule)".to_string(), format!("given({value}, {rule})")),
        3 => ("def given(f: a -> b, rule: (a, a) -> (b, b)) -> (a -> b) = TAKER(f, rule)".to_string(), format!("given({value}, {rule})")),
        4 => (format!("def rule(k: Real, {}: {s}, {}: {s}) -> ({t}, {t}) = {body}", pattern("x"), pattern("d")), format!("{taker}({value}, fn (x, d) -> rule(k, x, d))")),
        5 => (String::new(), format!("(let take = {taker} in take({value}, {rule}))")),
        6 => (String::new(), format!("(case list[{rule}] of {{ r :: _ -> {taker}({value}, r) | Nil -> fail(\"no rule\") }})")),
        7 => (String::new(), format!("(let f = {value} in let r = {rule} in if k > 0.0 then {taker}(f, r) else f)")),
        _ => (String::new(), format!("{taker}({value}, (fn r -> fn (x, d) -> r(x, d))({rule}))")),
    };
    let of = |package: &Package, numbers: [&str; 2]| package.made(&numbers.map(str::to_string));
    let text = format!(
        "import linalg
type Shape = Ball(Real) | Box(Real, Real, Int)
type Tree = Leaf(Real) | Node(Tree, Tree)
def k = 1.25
def steep(x: Real) -> Real = 1.0 + sq(x)
def halves(n: Int, d: Real) -> Real = if n == 0 then d else halves(n - 1, 0.5 * d)
def third(d: Real) = with_exact_derivative(fn d -> d / 3.0, fn (d, dd) -> (d / 3.0, dd / 3.0))(d)
def table: [2](Real -> Real) = [fn d -> 3.0 * d, fn d -> stop_gradient(d) * d]
def linear_map(d: Real) -> Real = table[0](d)
def hidden(d: Real) -> Real = table[1](d)
{}
def ruled(k: Real, x: {s}) -> {t} = {ruled}(x)
def main =
  let (x: {s}, dx: {s}) = ({}, {})
  let (dy: {t}) = {}
  let f(x: {s}) = ruled(1.5, x) in
  (inner(fd(f, x, dx), dy), inner(dx, rd(f, x, dy)))
",
        global.replace("TAKER", taker),
        of(from, ["0.4", "0.7"]),
        of(from, ["0.9", "-1.3"]),
        of(to, ["1.1", "0.6"]),
    );
    (text, linear)
}

/// What became of a program: how a rule that is not linear was found, or that one that is linear passed; or what is
/// wrong.
fn judge(text: &str, linear: bool, engine: Engine) -> Result<&'static str, String> {
    thread_local! {
        static PREPARED: Session = {
            let mut session = probe::session();
            session.library_module("linalg");
            session.check();
            session
        };
    }
    let mut session = PREPARED.with(Session::clone);
    let module = session.load_text("program.deo", text);
    session.check();
    let errors: Vec<_> = session.diagnostics().into_iter().filter(|d| d.is_error()).collect();
    if let Some(first) = errors.first() {
        let only = errors.iter().all(|d| d.code == "nonlinear-rule");
        let refused =
            format!("{}: {:?}", first.message, session.sources().slice(first.primary.span));
        return if only && !linear { Ok("refused") } else { Err(refused) };
    }
    let seen = session.unseen_rules().is_empty();
    let entry = session.entry(module, "main").ok_or("there is no entry")?;
    let options = Options { limits: Limits::after(Duration::from_secs(20)), ..Options::default() };
    match session.run_on(&entry, None, options, engine).result {
        Ok(value) => {
            let value = show(&value, &entry.ty, &entry.program.datas);
            if !linear {
                return Err(format!("{value}, in silence"));
            }
            let parts = value[1..value.len() - 1].split_once(", ");
            match parts.filter(|(a, b)| near(a, b, 1e-9)) {
                None => Err(format!("modes disagree: {value}")),
                Some(_) if seen => Ok("seen to be linear"),
                Some(_) => Ok("linear where it ran"),
            }
        }
        Err(error) if !linear && error.message.contains("tangent") => Ok("stopped"),
        Err(error) => Err(format!("it stops: {}", error.message)),
    }
}

fn all(first: usize, count: usize, engine: Engine) -> BTreeMap<&'static str, usize> {
    let mut labels = BTreeMap::new();
    let mut wrong = Vec::new();
    for i in first..first + count {
        let mut random = Random((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (text, linear) = program(&mut random);
        if std::env::var_os("FUZZ_SHOW").is_some() {
            println!("{i}:\n{text}");
        }
        let start = Instant::now();
        let judged = judge(&text, linear, engine);
        if start.elapsed() > Duration::from_secs(20) {
            wrong.push(format!("{i}: it takes {:?}\n{text}", start.elapsed()));
        }
        match judged {
            Ok(label) => *labels.entry(label).or_insert(0) += 1,
            Err(why) => wrong
                .push(format!("{i} ({}linear): {why}\n{text}", if linear { "" } else { "not " })),
        }
        if wrong.len() == 10 {
            break;
        }
    }
    println!("{engine:?}: {labels:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    labels
}

#[test]
fn random_rules() {
    let labels = all(0, 400, Engine::Reference);
    let of = |label| labels.get(label).copied().unwrap_or(0);
    // Most that are linear are known before they run; of the others those are not whose fault is in one element of an
    // array that is written out, or a constant that may be 0, and stop where they run. Of each kind there are some.
    assert!(of("refused") > 60 && of("seen to be linear") > 100, "{labels:?}");
    assert!(of("stopped") > 5 && of("linear where it ran") > 5, "{labels:?}");
    all(400, 40, Engine::JIT);
}

#[test]
#[ignore = "10,000 rules: minutes"]
fn many_random_rules() {
    all(0, 10_000, Engine::Reference);
    all(0, 500, Engine::JIT);
}
