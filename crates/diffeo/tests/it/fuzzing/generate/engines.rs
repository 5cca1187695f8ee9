//! What programs for comparing engines have besides: recursive types, long arrays, and expressions that may stop
//! with an error.

use super::{GeneratedTy, Generator};

impl Generator<'_> {
    /// One of these expressions, now and then.
    pub(super) fn of_engines(&mut self, ty: &GeneratedTy) -> Option<(String, bool)> {
        match self.below(30) {
            0 | 1 => Some((self.walk(ty), false)),
            2 if self.errors => Some(self.failing(ty)),
            3 | 4 => self.long(ty),
            5 => Some(self.grown(ty)),
            _ => None,
        }
    }

    /// A tree.
    pub(super) fn tree(&mut self, ty: &GeneratedTy, of: &GeneratedTy) -> (String, bool) {
        match self.below(5) {
            0 => self.leaf(ty),
            1 => (format!("Leaf({})", self.expr(of)), true),
            2 => {
                let n = self.length();
                let items = self.expr(&GeneratedTy::array(n, ty.clone()));
                (format!("Many({items}, {})", self.expr(&GeneratedTy::Int)), true)
            }
            _ => (format!("Node({}, {})", self.expr(ty), self.expr(ty)), true),
        }
    }

    /// What a recursive function gives of a tree.
    fn walk(&mut self, ty: &GeneratedTy) -> String {
        self.names += 1;
        let (name, of) = (format!("go{}", self.names), self.data(1));
        let tree = self.expr(&GeneratedTy::Tree(Box::new(of.clone())));
        let (from, to) = (self.written(&of), self.written(ty));
        let (x, n) = (("x".to_string(), of), ("n".to_string(), GeneratedTy::Int));
        let results = |names: [&str; 2]| names.map(|name| (name.to_string(), ty.clone())).to_vec();
        let leaf = self.scoped(vec![x], |g| g.expr(ty));
        let node = self.scoped(results(["p", "q"]), |g| g.expr(ty));
        let first = self.scoped(vec![n.clone()], |g| g.expr(ty));
        let each = self.scoped([results(["m", "w"]), vec![n]].concat(), |g| g.expr(ty));
        format!(
            "let rec {name}(o: Tree[{from}]) -> {to} = case o of {{ Leaf(x) -> {leaf} \
             | Node(l, o) -> (let (p: {to}, q: {to}) = ({name}(l), {name}(o)) in {node}) \
             | Many(l, n) -> (loop (m: {to}) = {first} for o in l do let (w: {to}) = {name}(o) in {each}) }} \
             in {name}({tree})"
        )
    }

    /// An expression that may stop, or surely does.
    fn failing(&mut self, ty: &GeneratedTy) -> (String, bool) {
        let n = self.length();
        match (ty, self.below(6)) {
            (_, 0) => (format!("fail(\"no \" ++ show({}))", self.expr(&GeneratedTy::Int)), true),
            (_, 1) => {
                let (c, e) = (self.expr(&GeneratedTy::Bool), self.expr(ty));
                (
                    format!("let _ = assert({c}, show({})) in {e}", self.expr(&GeneratedTy::Real)),
                    false,
                )
            }
            (GeneratedTy::Int, 2) => {
                let op = self.pick(&["/", "%", "+", "-", "*"]);
                (
                    format!(
                        "{} {op} {}",
                        self.operand(&GeneratedTy::Int),
                        self.operand(&GeneratedTy::Int)
                    ),
                    false,
                )
            }
            (GeneratedTy::Int, 3) => {
                let largest = self.pick(&["9223372036854775807", "(-9223372036854775807)"]);
                let op = self.pick(&["+", "-", "*"]);
                (format!("{largest} {op} {}", self.operand(&GeneratedTy::Int)), false)
            }
            (GeneratedTy::Int, 4) => {
                let f = self.pick(&["floor", "ceil", "round", "trunc"]);
                (format!("{f}(1.0 / {})", self.operand(&GeneratedTy::Real)), true)
            }
            (GeneratedTy::Int, _) => {
                let f = self.pick(&["shift_left", "shift_right"]);
                (
                    format!(
                        "{f}({}, {})",
                        self.expr(&GeneratedTy::Int),
                        self.expr(&GeneratedTy::Int)
                    ),
                    true,
                )
            }
            (GeneratedTy::Array(m, element), 2 | 3) if **element != GeneratedTy::Real => {
                let xs = self.operand(&GeneratedTy::array(m + n, GeneratedTy::clone(element)));
                let (a, b) = (self.operand(&GeneratedTy::Int), self.operand(&GeneratedTy::Int));
                (format!("{xs}[{a}..{b}]"), true)
            }
            (GeneratedTy::Array(m, element), 4 | 5) if *m > 0 => {
                let (xs, i) = (self.operand(ty), self.expr(&GeneratedTy::Int));
                (format!("{xs} with [{i}] = {}", self.expr(element)), false)
            }
            (GeneratedTy::Real, 2) => {
                let (a, b) = (self.expr(&GeneratedTy::reals(n)), self.length());
                (format!("dot({a}, {})", self.expr(&GeneratedTy::reals(b))), true)
            }
            (GeneratedTy::Real, 3) => {
                // Rows of different lengths.
                let (count, size) = (self.length(), self.operand(&GeneratedTy::Int));
                let body = self.expr(&GeneratedTy::Real);
                (format!("sum([sum(o) for o in [[{body} for l < {size}] for o < {count}]])"), true)
            }
            (GeneratedTy::Real, 4) => {
                let xs = self.operand(&GeneratedTy::reals(n));
                let (a, b) = (self.operand(&GeneratedTy::Int), self.operand(&GeneratedTy::Int));
                (format!("sum({xs}[{a}..{b}])"), true)
            }
            _ => {
                let xs = self.operand(&GeneratedTy::array(n, ty.clone()));
                (format!("{xs}[{}]", self.expr(&GeneratedTy::Int)), true)
            }
        }
    }

    /// A number from a long loop: longer than the vectors of any processor, and no multiple of them.
    fn long(&mut self, ty: &GeneratedTy) -> Option<(String, bool)> {
        let element = match ty {
            GeneratedTy::Real | GeneratedTy::Bool => GeneratedTy::Real,
            GeneratedTy::Int => GeneratedTy::Int,
            _ => return None,
        };
        let length = self.pick(&["7", "16", "33", "100"]);
        let body = self.scoped(vec![("d".to_string(), GeneratedTy::Int)], |g| g.expr(&element));
        let array = format!("[{body} for d < {length}]");
        let text = match (ty, self.below(6)) {
            (GeneratedTy::Bool, _) => format!("any(fn (o: Real) -> o > 0.5, {array})"),
            (_, 0) => format!("maximum({array})"),
            (_, 1) => format!("(let (l: []{}) = {array} in l[3] - l[5])", self.written(&element)),
            (_, 2) => format!("(loop (o: {}) = 1 for l in {array} do min(o, l))", self.written(ty)),
            (GeneratedTy::Int, _) => format!("sum([o % 7 for o in {array}])"),
            (_, 3) => format!("sum(scan(fn (m, w) -> max(m, w), 0.0, {array}))"),
            (_, 4) => format!("sum(sort({array})[2..6])"),
            _ => format!("sum({array})"),
        };
        Some((text, true))
    }

    /// An element of an array, or an array, that grows or changes step by step: in its place where nothing else
    /// holds it.
    fn grown(&mut self, ty: &GeneratedTy) -> (String, bool) {
        let steps = 1 + self.below(4);
        if let GeneratedTy::Array(n, row) = ty {
            if let (true, GeneratedTy::Array(m, element)) = (*n > 0, &**row) {
                if *m > 0 {
                    let (init, at) = (self.operand(ty), self.below(*m));
                    let vars =
                        vec![("m".to_string(), ty.clone()), ("w".to_string(), GeneratedTy::Int)];
                    let value = self.scoped(vars, |g| g.expr(element));
                    let text = format!("loop m = {init} for w < {n} do m with [w, {at}] = {value}");
                    return (text, false);
                }
            }
        }
        let element = self.written(ty);
        let first = self.expr(ty);
        let next = self.scoped(vec![("w".to_string(), GeneratedTy::Int)], |g| g.expr(ty));
        let text = format!(
            "(loop (m: []{element}) = [{first}] for w < {steps} do m ++ [{next}])[{}]",
            self.below(steps + 1)
        );
        (text, true)
    }
}
