//! What programs for comparing engines have besides: recursive types, long arrays, and expressions that may stop
//! with an error.

use super::{Generator, Ty};

impl Generator<'_> {
    /// One of these expressions, now and then.
    pub(super) fn of_engines(&mut self, ty: &Ty) -> Option<(String, bool)> {
        match self.below(30) {
            0 | 1 => Some((self.walk(ty), false)),
            2 if self.errors => Some(self.failing(ty)),
            3 | 4 => self.long(ty),
            5 => Some(self.grown(ty)),
            _ => None,
        }
    }

    /// A tree.
    pub(super) fn tree(&mut self, ty: &Ty, of: &Ty) -> (String, bool) {
        match self.below(5) {
            0 => self.leaf(ty),
            1 => (format!("Leaf({})", self.expr(of)), true),
            2 => {
                let n = self.length();
                let items = self.expr(&Ty::array(n, ty.clone()));
                (format!("Many({items}, {})", self.expr(&Ty::Int)), true)
            }
            _ => (format!("Node({}, {})", self.expr(ty), self.expr(ty)), true),
        }
    }

    /// What a recursive function gives of a tree.
    fn walk(&mut self, ty: &Ty) -> String {
        self.names += 1;
        let (name, of) = (format!("go{}", self.names), self.data(1));
        let tree = self.expr(&Ty::Tree(Box::new(of.clone())));
        let (from, to) = (self.written(&of), self.written(ty));
        let (x, n) = (("x".to_string(), of), ("n".to_string(), Ty::Int));
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
    fn failing(&mut self, ty: &Ty) -> (String, bool) {
        let n = self.length();
        match (ty, self.below(6)) {
            (_, 0) => (format!("fail(\"no \" ++ show({}))", self.expr(&Ty::Int)), true),
            (_, 1) => {
                let (c, e) = (self.expr(&Ty::Bool), self.expr(ty));
                (format!("let _ = assert({c}, show({})) in {e}", self.expr(&Ty::Real)), false)
            }
            (Ty::Int, 2) => {
                let op = self.pick(&["/", "%", "+", "-", "*"]);
                (format!("{} {op} {}", self.operand(&Ty::Int), self.operand(&Ty::Int)), false)
            }
            (Ty::Int, 3) => {
                let largest = self.pick(&["9223372036854775807", "(-9223372036854775807)"]);
                let op = self.pick(&["+", "-", "*"]);
                (format!("{largest} {op} {}", self.operand(&Ty::Int)), false)
            }
            (Ty::Int, 4) => {
                let f = self.pick(&["floor", "ceil", "round", "trunc"]);
                (format!("{f}(1.0 / {})", self.operand(&Ty::Real)), true)
            }
            (Ty::Int, _) => {
                let f = self.pick(&["shift_left", "shift_right"]);
                (format!("{f}({}, {})", self.expr(&Ty::Int), self.expr(&Ty::Int)), true)
            }
            (Ty::Array(m, element), 2 | 3) if **element != Ty::Real => {
                let xs = self.operand(&Ty::array(m + n, Ty::clone(element)));
                let (a, b) = (self.operand(&Ty::Int), self.operand(&Ty::Int));
                (format!("{xs}[{a}..{b}]"), true)
            }
            (Ty::Array(m, element), 4 | 5) if *m > 0 => {
                let (xs, i) = (self.operand(ty), self.expr(&Ty::Int));
                (format!("{xs} with [{i}] = {}", self.expr(element)), false)
            }
            (Ty::Real, 2) => {
                let (a, b) = (self.expr(&Ty::reals(n)), self.length());
                (format!("dot({a}, {})", self.expr(&Ty::reals(b))), true)
            }
            (Ty::Real, 3) => {
                // Rows of different lengths.
                let (count, size) = (self.length(), self.operand(&Ty::Int));
                let body = self.expr(&Ty::Real);
                (format!("sum([sum(o) for o in [[{body} for l < {size}] for o < {count}]])"), true)
            }
            (Ty::Real, 4) => {
                let xs = self.operand(&Ty::reals(n));
                let (a, b) = (self.operand(&Ty::Int), self.operand(&Ty::Int));
                (format!("sum({xs}[{a}..{b}])"), true)
            }
            _ => {
                let xs = self.operand(&Ty::array(n, ty.clone()));
                (format!("{xs}[{}]", self.expr(&Ty::Int)), true)
            }
        }
    }

    /// A number from a long loop: longer than the vectors of any processor, and no multiple of them.
    fn long(&mut self, ty: &Ty) -> Option<(String, bool)> {
        let element = match ty {
            Ty::Real | Ty::Bool => Ty::Real,
            Ty::Int => Ty::Int,
            _ => return None,
        };
        let length = self.pick(&["7", "16", "33", "100"]);
        let body = self.scoped(vec![("d".to_string(), Ty::Int)], |g| g.expr(&element));
        let array = format!("[{body} for d < {length}]");
        let text = match (ty, self.below(6)) {
            (Ty::Bool, _) => format!("any(fn (o: Real) -> o > 0.5, {array})"),
            (_, 0) => format!("maximum({array})"),
            (_, 1) => format!("(let (l: []{}) = {array} in l[3] - l[5])", self.written(&element)),
            (_, 2) => format!("(loop (o: {}) = 1 for l in {array} do min(o, l))", self.written(ty)),
            (Ty::Int, _) => format!("sum([o % 7 for o in {array}])"),
            (_, 3) => format!("sum(scan(fn (m, w) -> max(m, w), 0.0, {array}))"),
            (_, 4) => format!("sum(sort({array})[2..6])"),
            _ => format!("sum({array})"),
        };
        Some((text, true))
    }

    /// An element of an array, or an array, that grows or changes step by step: in its place where nothing else
    /// holds it.
    fn grown(&mut self, ty: &Ty) -> (String, bool) {
        let steps = 1 + self.below(4);
        if let Ty::Array(n, row) = ty {
            if let (true, Ty::Array(m, element)) = (*n > 0, &**row) {
                if *m > 0 {
                    let (init, at) = (self.operand(ty), self.below(*m));
                    let vars = vec![("m".to_string(), ty.clone()), ("w".to_string(), Ty::Int)];
                    let value = self.scoped(vars, |g| g.expr(element));
                    let text = format!("loop m = {init} for w < {n} do m with [w, {at}] = {value}");
                    return (text, false);
                }
            }
        }
        let element = self.written(ty);
        let first = self.expr(ty);
        let next = self.scoped(vec![("w".to_string(), Ty::Int)], |g| g.expr(ty));
        let text = format!(
            "(loop (m: []{element}) = [{first}] for w < {steps} do m ++ [{next}])[{}]",
            self.below(steps + 1)
        );
        (text, true)
    }
}
