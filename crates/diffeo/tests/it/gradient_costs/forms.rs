//! Programs whose gradients a simple design makes too dear, at three sizes.

use crate::gradient_costs::linear;

#[test]
fn calls_that_pass_one_array() {
    let text = "def f(xs: [n]Real, i: Int) -> Real = xs[i] * xs[0]
                def g(xs: []Real) -> Real = loop s = 0.0 for i < SIZE do s + f(xs, i % length(xs))";
    linear(text, "g", "replicate(100, 0.5)");
}

#[test]
fn slices_in_a_loop() {
    let text = "def f(xs: []Real) -> Real =
                  loop s = 0.0 for i < length(xs) do s + xs[i..length(xs)][0] * s + xs[0..i + 1][i]";
    linear(text, "f", "replicate(SIZE, 1e-9)");
}

#[test]
fn slices_that_a_loop_carries() {
    let text = "def f(xs: []Real) -> Real =
                  let (_, s) = loop (v, s) = (xs, 0.3) for i < length(xs) - 1 do
                    (v[1..length(v)], sin(s) + v[0] * v[length(v) - 1]) in
                  s";
    linear(text, "f", "replicate(SIZE, 0.5)");
}

#[test]
fn updates_in_a_loop() {
    let text = "def f(xs: []Real) -> Real =
                  sum(loop a = xs for i < length(xs) do a with [i] = sin(a[i]))";
    linear(text, "f", "replicate(SIZE, 0.5)");
}

#[test]
fn branches_that_choose_between_arrays() {
    let text = "def f(xs: []Real, ys: []Real) -> Real =
                  loop s = 0.3 for i < length(xs) do
                    let v = if i % 3 == 0 then xs else ys in sin(s) + v[i] * v[0]";
    linear(text, "f", "(replicate(SIZE, 0.5), replicate(SIZE, 0.4))");
}

#[test]
fn branches_that_choose_between_arrays_that_a_loop_carries() {
    let text = "def f(xs: []Real, ys: []Real) -> Real =
                  let (_, _, s) = loop (v, w, s) = (xs, ys, 0.3) for i < length(xs) do
                    let (v, w) = if s > 0.5 then (w, v) else (v, w) in
                    (v, w, sin(s) + v[i] * w[0]) in
                  s";
    linear(text, "f", "(replicate(SIZE, 0.5), replicate(SIZE, 0.4))");
}

#[test]
fn loops_that_swap_arrays() {
    let text = "def f(xs: []Real, ys: []Real) -> Real =
                  let (_, _, s) = loop (a, b, s) = (xs, ys, 0.3) for i < length(xs) do
                    (b, a, sin(s * a[i]) + b[0]) in
                  s";
    linear(text, "f", "(replicate(SIZE, 0.5), replicate(SIZE, 0.4))");
}

#[test]
fn loops_that_swap_and_update_arrays() {
    let text = "def f(xs: []Real, ys: []Real) -> Real =
                  let (a, b) = loop (a, b) = (xs, ys) for i < length(xs) do
                    (b, a with [i] = sin(a[i]) * b[i / 2]) in
                  sum(a) + sum(b)";
    linear(text, "f", "(replicate(SIZE, 0.5), replicate(SIZE, 0.4))");
}

const ROWS: &str = "type Rows = End | Row([]Real, Rows)
    def at(rows: Rows, k: Int, i: Int) -> Real =
      case rows of { End -> 0.0 | Row(xs, rest) -> if k == 0 then xs[i] else at(rest, k - 1, i) }\n";

#[test]
fn lists_of_arrays_read_by_element() {
    let text = format!(
        "{ROWS} def f(xs: []Real, ys: []Real) -> Real =
           let rows = Row(xs, Row(ys, Row([sin(x) for x in xs], End))) in
           loop s = 0.3 for i < length(xs) do sin(s) * at(rows, i % 3, i)"
    );
    linear(&text, "f", "(replicate(SIZE, 0.5), replicate(SIZE, 0.4))");
}

#[test]
fn lists_of_arrays_as_input_read_by_element() {
    let text = format!(
        "{ROWS} def f(rows: Rows) -> Real =
           loop s = 0.3 for i < SIZE do sin(s) * at(rows, i % 2, i)"
    );
    linear(&text, "f", "Row(replicate(SIZE, 0.5), Row(replicate(SIZE, 0.4), End))");
}

#[test]
fn lists_of_arrays_read_as_a_whole() {
    let text = "type Rows = End | Row([]Real, Rows)
                def total(rows: Rows) -> Real =
                  case rows of { End -> 0.0 | Row(xs, rest) -> sum([x * x for x in xs]) + total(rest) }
                def made(n: Int) -> Rows = loop r = End for i < n do Row(replicate(10, 0.5), r)";
    linear(text, "total", "made(SIZE)");
}

#[test]
fn trees_with_arrays_as_leaves() {
    let text = "type Tree = Leaf([]Real) | Node(Tree, Tree)
                def at(t: Tree, k: Int, i: Int) -> Real = case t of {
                  Leaf(xs) -> xs[i] | Node(l, r) -> at(if k % 2 == 0 then l else r, k / 2, i) }
                def f(t: Tree) -> Real =
                  loop s = 0.3 for i < SIZE do sin(s) * at(t, i, i) + at(t, i + 1, 0)";
    let point = "Node(Node(Leaf(replicate(SIZE, 0.5)), Leaf(replicate(SIZE, 0.2))), Leaf(replicate(SIZE, 0.4)))";
    linear(text, "f", point);
}

#[test]
fn slices_that_a_conditional_loop_carries() {
    let text = "def f(xs: []Real) -> Real =
                  let (_, s) = loop (v, s) = (xs, 0.3) while length(v) > 1 do
                    (v[1..length(v)], sin(s) + v[0] * v[length(v) - 1]) in
                  s";
    linear(text, "f", "replicate(SIZE, 0.5)");
}

#[test]
fn halves_that_a_conditional_loop_chooses() {
    let text = "def find(xs: []Real, x: Real) -> Real =
                  let v = loop v = xs while length(v) > 1 do
                    let m = length(v) / 2 in if v[m] > x then v[0..m] else v[m..length(v)] in
                  v[0]
                def f(xs: []Real) -> Real =
                  loop s = 0.3 for i < SIZE do sin(s) + find(xs, real(i))";
    linear(text, "f", "[real(i) for i < SIZE]");
}

#[test]
fn calls_that_choose_between_arrays() {
    let text = "def pick(xs: []Real, ys: []Real, k: Int) -> []Real =
                  if k <= 0 then xs else pick(ys, xs, k - 1)
                def f(xs: []Real, ys: []Real) -> Real =
                  loop s = 0.3 for i < length(xs) do sin(s) + pick(xs, ys, i % 3)[i]";
    linear(text, "f", "(replicate(SIZE, 0.5), replicate(SIZE, 0.4))");
}

const CHAIN: &str = "type Chain = End | Link(Real, Chain)
    def total(c: Chain) -> Real = case c of { End -> 0.0 | Link(x, rest) -> x * x + total(rest) }
    def made(n: Int) -> Chain = loop c = End for i < n do Link(0.5, c)\n";

#[test]
fn one_boxed_input_at_two_positions() {
    let text = format!("{CHAIN} def f(a: Chain, b: Chain) -> Real = total(a) * total(b)");
    linear(&text, "f", "let c = made(SIZE) in (c, c)");
}

#[test]
fn a_list_that_is_read_many_times() {
    let text = format!(
        "{CHAIN} def first(c: Chain) -> Real = case c of {{ End -> 0.0 | Link(x, _) -> x }}
         def f(c: Chain) -> Real = loop s = 0.0 for i < SIZE do sin(s) + first(c)"
    );
    linear(&text, "f", "made(SIZE)");
}

#[test]
fn deep_recursion() {
    linear(CHAIN, "total", "made(SIZE)");
}

#[test]
fn a_pullback_that_is_called_twice() {
    let text = "def h(xs: []Real) -> Real = sum([sin(x) * x for x in xs])
                def f(xs: []Real) -> Real = let (y, back) = vjp(h, xs) in sum(back(y)) + sum(back(2.0))";
    linear(text, "f", "replicate(SIZE, 0.5)");
}

#[test]
fn closures_in_data() {
    let text = "def f(x: Real) -> Real =
                  let fs = [fn (y: Real) -> x * y, fn (y: Real) -> sin(x + y)] in
                  loop s = 0.5 for i < SIZE do fs[i % 2](s) * 0.5";
    linear(text, "f", "0.3");
}

#[test]
fn arrays_of_trees_that_are_read_and_updated_in_a_loop() {
    let text = "type Tree = Leaf | Node(Tree, Real, Tree)
                def root(t: Tree) -> Real = case t of { Leaf -> 0.1 | Node(_, x, _) -> x }
                def f(x: Real) -> Real =
                  let ts = loop (ts: []Tree) = [Node(Leaf, x, Leaf) for _ < SIZE] for i < SIZE do
                    ts with [i] = Node(Leaf, sin(root(ts[i])) + root(ts[i / 2]), Leaf) in
                  sum([root(t) for t in ts])";
    linear(text, "f", "0.3");
}

#[test]
fn gradients_of_gradients() {
    let text =
        "def h(xs: []Real) -> Real = loop s = 0.1 for i < length(xs) do sin(s * xs[i]) + xs[i]
                def f(xs: []Real) -> Real = sum([g * g for g in grad(h)(xs)])";
    linear(text, "f", "replicate(SIZE, 0.5)");
}
