//! What must cost a constant factor or grow linearly, by counting operations.

use diffeo::{Engine, Options, Session};

/// The operations and the printed value of `main`.
fn operations(text: &str) -> (u64, String) {
    operations_on(Engine::Reference, text)
}

fn operations_on(engine: Engine, text: &str) -> (u64, String) {
    let mut session = Session::new();
    let module = session.load_text("costs.deo", text);
    session.check();
    let entry = session.entry(module, "main");
    let Some(entry) = entry else { panic!("{:?}", session.diagnostics()) };
    let run = session.run_on(&entry, None, Options::default(), engine);
    assert!(run.unsupported.is_none(), "{:?}", run.unsupported);
    let value = run.result.unwrap_or_else(|e| panic!("{}", e.message));
    let datas = &entry.program.datas;
    (run.operations.expect("it counts"), diffeo_calculus::show::show(&value, &entry.ty, datas))
}

/// The program at size n and 10 n: the operations must grow no faster than tenfold, and a little.
fn linear(name: &str, program: &str, n: u64) {
    let at = |n: u64| operations(&program.replace("SIZE", &n.to_string())).0;
    let (small, large) = (at(n), at(10 * n));
    let ratio = large as f64 / small as f64;
    println!("{name}: {small} operations at {n}, {large} at {}: ratio {ratio:.2}", 10 * n);
    assert!(ratio < 11.0, "{name} is not linear: {small} operations, then {large}");
}

#[test]
fn doubling_sixty_times_is_sixty_steps() {
    let text = "
def doubled(n: Int, x: Real) -> Real = loop y = x for i < n do y + y
def main = grad(fn x -> doubled(60, x))(1.0)";
    let (count, value) = operations(text);
    assert_eq!(value, "1.152921504606847e18");
    assert!(count < 3000, "{count} operations");
    linear("doubled", &text.replace("60", "SIZE").replace("y + y", "0.5 * (y + y)"), 1000);
}

#[test]
fn calls_that_pass_one_array_cost_no_more_for_its_length() {
    let text = "
def f(xs: [n]Real, i: Int) -> Real = xs[i] * xs[0]
def g(xs: [n]Real) -> Real = loop s = 0.0 for i < SIZE do s + f(xs, i % n)
def main = grad(g)(replicate(100, 0.5))[3]";
    linear("10^5 calls passing one array", text, 10_000);
}

#[test]
fn slices_in_a_loop_are_views() {
    let text = "
def main =
  let f(xs: [n]Real) = loop s = 0.0 for i < n do s + xs[i..n][0] * s + xs[0..i + 1][i] in
  sum(grad(f)(replicate(SIZE, 1e-9)))";
    linear("slices in a loop", text, 1000);
}

#[test]
fn updates_in_a_loop_are_in_place() {
    let primal = "
def f(xs: [n]Real) -> [n]Real = loop a = xs for i < n do a with [i] = sin(a[i])
def main = sum(f(replicate(SIZE, 0.5)))";
    linear("update in a loop", primal, 1000);
    let reverse = primal.replace("sum(f(", "sum(grad(fn xs -> sum(f(xs)))(");
    linear("update in a loop, reverse", &reverse, 1000);
    let with_counter = "
def main =
  let f(xs: [n]Real) =
    let (_, out) = loop (s, out) = (0.0, xs) for i < n do (s + out[i], out with [i] = s * out[i]) in
    sum(out) in
  sum(grad(f)(replicate(SIZE, 0.5)))";
    linear("update beside a counter, reverse", with_counter, 1000);
}

#[test]
fn the_derivative_of_a_solution_does_not_go_through_the_iterations() {
    let program = "
import root
def f(c: Real) -> Real = root.newton(fn (p, x) -> x ^ 3 + x * c - p, c * c, START)
def g(c: Real) -> Real = root.bisect(fn x -> x ^ 3 + x * c - c * c, 0.0, START)
def main = ";
    for (solve, far) in [("f", "1e12"), ("g", "1e100")] {
        let at = |start: &str, main: &str| {
            operations(&format!("{}{main}", program.replace("START", start))).0 as f64
        };
        let (near, value) =
            (at("2.0", &format!("{solve}(3.0)")), at(far, &format!("{solve}(3.0)")));
        assert!(value > 2.0 * near, "{solve}: {value} operations from far, {near} from near");
        for derivative in ["grad(SOLVE)(3.0)", "grad(grad(SOLVE))(3.0)"] {
            let main = derivative.replace("SOLVE", solve);
            let more = at(far, &main) - at("2.0", &main);
            println!("{main}: {more} operations more from far, the value {}", value - near);
            assert!(more < 1.05 * (value - near), "{main}: {more}, the value {}", value - near);
        }
    }
}

#[test]
fn an_input_at_two_positions_has_the_sum_of_its_derivatives_in_each() {
    let text = "
type Tree = Leaf(Real) | Node(Tree, Tree)
def total(t: Tree) -> Real = case t of { Leaf(x) -> x * x | Node(l, r) -> total(l) * 2.0 + total(r) }
def main = let t = Node(Leaf(1.0), Leaf(2.0)) in grad(total)(Node(t, t))";
    let (_, value) = operations(text);
    assert_eq!(value, "Node(Node(Leaf(8.0), Leaf(8.0)), Node(Leaf(4.0), Leaf(4.0)))");
}

#[test]
fn a_pullback_may_be_called_twice() {
    let text = "
def main =
  let (y, pullback) = vjp(fn (x, y) -> (x * y, x + y), (2.0, 3.0)) in
  (y, pullback(1.0, 0.0), pullback(0.0, 1.0), pullback(1.0, 0.0))";
    let (_, value) = operations(text);
    assert_eq!(value, "((6.0, 5.0), (3.0, 2.0), (1.0, 1.0), (3.0, 2.0))");
}

#[test]
fn a_list_read_many_times_costs_its_reads() {
    let text = "
def main =
  let f(xs: List[Real]) = loop s = 0.0 for i < SIZE do s + fold_left_list(fn (a, x) -> a + x * s, 0.0, xs) in
  nth(grad(f)(list[1e-9, 2e-9, 3e-9]), 1)";
    linear("a list read many times", text, 1000);
}

#[test]
fn functions_in_data_are_differentiated() {
    let text = "
type Op = Op(Real -> Real)
def main =
  let f(x: Real) =
    let ops = [Op(sin), Op(fn y -> x * y), Op(exp)] in
    loop y = x for op in ops do case op of { Op(g) -> g(y) } in
  (f(0.5), grad(f)(0.5), derivatives(1, f)(0.5)[1] - grad(f)(0.5))";
    let (_, value) = operations(text);
    let expected = {
        let (s, c) = (0.5f64.sin(), 0.5f64.cos());
        let y = (0.5 * s).exp();
        format!("({y:?}, {:?}", y * (s + 0.5 * c))
    };
    assert!(value.starts_with(&expected[..expected.len() - 3]), "{value} is not {expected}");
    assert!(value.ends_with("0.0)") || value.contains("e-1"), "{value}");
}

#[test]
fn long_loops_and_deep_recursion_have_gradients() {
    let text = "
def f(x: Real) -> Real = loop y = x for i < 1000000 do y * 0.999999 + x * 1e-6
def main = grad(f)(1.0)";
    let (_, value) = operations(text);
    let gradient: f64 = value.parse().expect("a number");
    assert!((gradient - 1.0).abs() < 1e-6, "{gradient}");
    let text = "
def f(n: Int, x: Real) -> Real = if n == 0 then x else 0.999999 * f(n - 1, x) + x * 1e-6
def main = grad(fn x -> f(1000000, x))(1.0)";
    let (_, value) = operations(text);
    let gradient: f64 = value.parse().expect("a number");
    assert!((gradient - 1.0).abs() < 1e-6, "{gradient}");
}

#[test]
fn ten_million_tail_steps_and_a_million_calls() {
    let text = "
def count(n: Int, acc: Int) -> Int = if n == 0 then acc else count(n - 1, acc + 1)
def depth(n: Int) -> Int = if n == 0 then 0 else 1 + depth(n - 1)
def main = (count(10000000, 0), depth(1000000))";
    assert_eq!(operations(text).1, "(10000000, 1000000)");
}

#[test]
fn checkpoints_give_the_same_gradient() {
    let text = "
def block(x: Real) -> Real = loop y = x for i < 100 do sin(y) + 0.5 * x
def run(wrap: (Real -> Real) -> (Real -> Real), x: Real) -> Real = loop y = x for i < 100 do wrap(block)(y)
def main =
  let plain = grad(fn x -> run(id, x))(0.3)
  let kept = grad(fn x -> run(fn f -> checkpoint(f), x))(0.3) in
  plain == kept";
    assert_eq!(operations(text).1, "true");
}

#[test]
fn derivatives_of_solve_and_logdet_go_through_the_factors_once() {
    let text = "
import linalg (solve, logdet)
def a = [[1.0 / (1.0 + real(abs(i - j))) for j < 60] for i < 60]
def solved(a) = sum(solve(a, [1.0 for _ < 60]))
def main = EXPRESSION";
    let count = |expression| operations(&text.replace("EXPRESSION", expression)).0 as f64;
    let cost = |expression| count(expression) - count("a[0, 0]");
    let solve = cost("grad(solved)(a)[0, 0]") / cost("solved(a)");
    let logdet = cost("grad(logdet)(a)[0, 0]") / cost("sum(linalg.inverse(a)[0])");
    println!(
        "gradient of solve {solve:.2} times the value, of logdet {logdet:.2} times the inverse"
    );
    assert!(solve < 2.0 && logdet < 2.0, "{solve}, {logdet}");
}

/// One of each kind: arithmetic, all sorts of functions, quotients, a loop, a branch, a recursion.
const COMPOSITE: [&str; 6] = [
    "let a = x * x + 3.0 * x in let b = a * a - x in let c = b * a + b in c * c * x - a",
    "let a = sin(x) * exp(-x * x) in let b = sqrt(1.0 + a * a) / (2.0 + cos(x)) in
     let c = log(1.0 + b * b) + tanh(a) in c * b + a / (1.0 + c ^ 3)",
    "let step(y) = y - (y * y - x) / (2.0 * y) in step(step(step(x)))",
    "loop a = x for i < 10 do sin(a) + x * exp(-a * a) / (1.0 + real(i))",
    "if x > 0.7 then atan(x) * x else (x + 1.0) ^ 2.5 / x",
    "let rec f(n: Int, y: Real) = if n == 0 then y else f(n - 1, y * x) + sin(y) in f(5, x)",
];

#[test]
fn derivatives_of_higher_orders_cost_the_square_of_the_order() {
    for body in COMPOSITE {
        let count = |what: &str| {
            let f = format!("def f(x: Real) -> Real = {body}\ndef d1(x: Real) = fd(f, x, 1.0)");
            let nested = "def d2(x: Real) = fd(d1, x, 1.0)\ndef d3(x: Real) = fd(d2, x, 1.0)
def d4(x: Real) = fd(d3, x, 1.0)\ndef d5(x: Real) = fd(d4, x, 1.0)";
            let main = format!("sum([let x = 0.5 + real(i) / 250.0 in {what} for i < 100])");
            operations_on(Engine::Flat, &format!("{f}\n{nested}\ndef main = {main}")).0 as f64
        };
        let value = count("f(x)");
        for order in 1..=10 {
            let taylor = count(&format!("derivatives({order}, f)(x)[{order}]"));
            let most = 3.0 * f64::from((order + 1) * (order + 2)) / 2.0;
            print!("{:.1} ", taylor / value);
            assert!(taylor <= most * value, "order {order}: {taylor}, {value} of {body}");
            if (3..=5).contains(&order) {
                let nested = count(&format!("d{order}(x)"));
                print!("({:.1}) ", nested / value);
                assert!(taylor < nested, "order {order}: {taylor}, nested {nested} of {body}");
            }
        }
        println!("times the operations of {body}");
    }
}

#[test]
fn values_of_recursive_types_are_shown_in_linear_time() {
    let program = "
type Tree = Leaf | Node(Tree, Int, Tree) | Many([]Tree) | Several(List[Tree]) | Named({sub: Tree, n: Int})
def main = show(loop t = Leaf for i < SIZE do STEP)";
    for step in [
        "Node(t, i, Leaf)",
        "Node(Leaf, i, t)",
        "Many([Leaf, t])",
        "Several(Leaf :: t :: Nil)",
        "Named({sub = t, n = i})",
    ] {
        let program = program.replace("STEP", step);
        let at =
            |n: u64| operations_on(Engine::Flat, &program.replace("SIZE", &n.to_string())).0 as f64;
        // Joining by halves takes a logarithm times the text.
        let (small, large) = (at(300), at(3000));
        println!("{step}: {small} operations at 300, {large} at 3000");
        assert!(large < 15.0 * small, "{step}: {small} operations, then {large}");
    }
}

#[test]
fn a_hessian_times_a_vector_is_linear_on_the_papers_reverse_mode() {
    let program = "
def mapped(xs: []Real) = sum([sin(x) * x for x in xs])
def folded(xs: []Real) = fold_left(fn (s, x) -> s * 0.5 + x * x, 0.0, xs)
def updated(xs: []Real) = sum(loop a = xs for i < length(xs) do a with [i] = sin(a[i]) * a[0])
def from(xs: []Real, i: Int) -> Real =
  if i == length(xs) then 0.0 else xs[i] * from(xs, i + 1) * 0.5 + xs[i]
def recursive(xs: []Real) = from(xs, 0)
def nested(xs: []Real) = sum([y * y for y in grad(mapped)(xs)])
def xs = [real(i) / real(SIZE) for i < SIZE]
def main = length(hvp(FUNCTION, xs, [1.0 for i < SIZE]))
";
    for function in ["mapped", "folded", "updated", "recursive", "nested"] {
        let at = |n: u64| {
            let text = program.replace("SIZE", &n.to_string()).replace("FUNCTION", function);
            operations_on(Engine::DELTA, &text).0 as f64
        };
        let [small, middle, large] = [500, 1000, 2000].map(at);
        let ratios = [middle / small, large / middle];
        println!("hvp of {function}: {small}, {middle}, {large} operations");
        assert!(ratios.iter().all(|r| (1.9..2.1).contains(r)), "{function}: {ratios:?}");
    }
}

#[test]
fn patterns_are_found_in_time_linear_in_the_program() {
    let bands = "
import sparse
def f(x: [n]Real) -> [n]Real = [sin(v) * x[(i + 1) % n] for (v, i) in zip(x, iota(n))]
def h(x: [n]Real) -> Real = sum([sq(v) * x[(i + 1) % n] for (v, i) in zip(x, iota(n))])
def point = replicate(SIZE, 0.5)
def main = ";
    for pattern in ["sparse.jacobian_pattern(f, point)", "sparse.hessian_pattern(h, point)"] {
        let at =
            |n: u64| operations(&format!("{bands}{pattern}").replace("SIZE", &n.to_string())).0;
        // Groups are cut a logarithm of the numbers times.
        let ratio = at(1000) as f64 / at(100) as f64;
        println!("{pattern}: ten times the numbers, {ratio:.1} times the operations");
        assert!(ratio < 15.0, "{pattern}: {ratio:.1}");
    }
    let chain = |n: usize| {
        let steps: String = (0..n)
            .map(|k| format!("  let x = [sin(x[j]) + 0.5 * x[{}] for j < 8]\n", k % 8))
            .collect();
        let main = "def main = sparse.jacobian_pattern(f, replicate(8, 0.5))";
        let text = format!("import sparse\ndef f(x: []Real) -> []Real =\n{steps}  in x\n{main}");
        operations(&text).0 as f64
    };
    let ratio = chain(1000) / chain(100);
    println!("ten times the program, {ratio:.1} times the operations");
    assert!(ratio < 11.0, "{ratio:.1}");
}
