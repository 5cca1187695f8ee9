//! The expressions with derivatives.

use super::{GeneratedTy, Generator};

impl Generator<'_> {
    /// An expression of a first-order type with a derivative operator at its root.
    pub(super) fn derivative(&mut self, ty: &GeneratedTy) -> Option<(String, bool)> {
        if self.orders >= self.max_orders || !ty.first_order() {
            return None;
        }
        self.orders += 1;
        let term = self.operator(ty);
        self.orders -= 1;
        Some((term, true))
    }

    fn operator(&mut self, ty: &GeneratedTy) -> String {
        if *ty == GeneratedTy::Real && self.below(if self.variants { 4 } else { 2 }) == 0 {
            return self.of_a_number();
        }
        match ty {
            GeneratedTy::Array(n, t) if self.below(2) == 0 => match &**t {
                GeneratedTy::Real => return self.of_vectors(*n),
                GeneratedTy::Array(m, t) if **t == GeneratedTy::Real && *n > 0 && *m > 0 => {
                    let f = self.function(&GeneratedTy::reals(*m), &GeneratedTy::reals(*n), false);
                    let which = self.pick(&["jacobian", "jacfwd", "jacrev"]);
                    return format!("{which}({f})({})", self.expr(&GeneratedTy::reals(*m)));
                }
                _ => {}
            },
            _ => {}
        }
        let x = self.expr(ty);
        let form = match self.variants {
            true => [4, 11, 11, 11, 12, 13, 6, 1][self.below(8)],
            false => self.below(14),
        };
        match form {
            0 => format!("stop_gradient({x})"),
            1 => {
                let from = self.data(1);
                let f = self.function(&from, ty, false);
                format!("checkpoint({f})({})", self.expr(&from))
            }
            2 => {
                let from = self.data(1);
                let f = self.operand(&GeneratedTy::fun(from.clone(), ty.clone()));
                let (a, at) = (self.written(&from), self.expr(&from));
                format!("(let l = {f} in with_derivative(l, fn (x: {a}, o) -> jvp(l, x, o)))({at})")
            }
            // The value, by way of the derivative.
            3 => {
                let from = self.fixed(1);
                let f = self.function(&from, ty, false);
                let (at, along) = (self.expr(&from), self.expr(&from));
                let which = self.below(2);
                format!("jvp({f}, {at}, {along}).{which}")
            }
            4 => {
                let to = self.data(1);
                let f = self.operand(&GeneratedTy::fun(ty.clone(), to.clone()));
                // The cotangent is the value, whose shape is right.
                format!("(let (l, o) = ({f}, {x}) in rd(l, o, l(o)))")
            }
            5 if ty.fixed() => {
                let to = self.fixed(1);
                let f = self.function(ty, &to, false);
                format!("vjp({f}, {x}).1({})", self.expr(&to))
            }
            6 => {
                let f = self.function(ty, &GeneratedTy::Real, false);
                match self.below(3) {
                    0 => format!("grad({f})({x})"),
                    1 => format!("value_and_grad({f})({x}).1"),
                    _ => format!("(let o = {x} in hvp({f}, o, o))"),
                }
            }
            7 if ty.fixed() => format!("add({x}, {})", self.expr(ty)),
            8 => format!("scale({}, {x})", self.expr(&GeneratedTy::Real)),
            9 => format!("zero_of({x})"),
            10 => format!("(let o = {x} in unravel(o, map(sin, ravel(o))))"),
            // The value is handed to the pullback.
            11 => {
                let to = self.variant(1);
                let f = self.branching(ty, &to);
                format!("(let (l, o) = vjp({f}, {x}) in o(l))")
            }
            // A tangent is handed on.
            12 => {
                let (from, middle) = (self.data(1), self.variant(1));
                let (f, g) = (self.branching(&from, &middle), self.branching(&middle, ty));
                let (at, which) = (self.expr(&from), self.below(2));
                format!("(let o = {at} in let (l, o) = jvp({f}, o, o) in jvp({g}, l, o).{which})")
            }
            _ => {
                let from = self.variant(1);
                let f = self.branching(&from, ty);
                format!("(let o = {} in fd({f}, o, o))", self.expr(&from))
            }
        }
    }

    /// A function whose result depends on a comparison, as its constructor may.
    fn branching(&mut self, from: &GeneratedTy, to: &GeneratedTy) -> String {
        let (pattern, vars) = self.pattern(from, true);
        let body = self.scoped(vars, |g| {
            let (a, b) = (g.operand(&GeneratedTy::Real), g.operand(&GeneratedTy::Real));
            let (yes, no) = (g.expr(to), g.expr(to));
            format!("if {a} < {b} then {yes} else {no}")
        });
        format!("fn {pattern} -> {body}")
    }

    /// A derivative of a function of a Real.
    fn of_a_number(&mut self) -> String {
        let f = self.function(&GeneratedTy::Real, &GeneratedTy::Real, false);
        let x = self.expr(&GeneratedTy::Real);
        match self.below(11) {
            0 | 1 => format!("grad({f})({x})"),
            2 => format!("fd({f}, {x}, {})", self.expr(&GeneratedTy::Real)),
            3 => format!("rd({f}, {x}, {})", self.expr(&GeneratedTy::Real)),
            4 => {
                let order = 1 + self.below(3);
                format!("derivatives({order}, {f})({x})[{}]", self.below(order + 1))
            }
            5 => {
                let coefficients =
                    [x, self.expr(&GeneratedTy::Real), self.expr(&GeneratedTy::Real)].join(", ");
                format!("jet(1, 2, {f})([{coefficients}])[{}]", self.below(3))
            }
            6 => {
                let pair = GeneratedTy::pair(GeneratedTy::Real, GeneratedTy::Real);
                let f = self.function(&pair, &GeneratedTy::Real, false);
                let coefficients =
                    [x, self.expr(&GeneratedTy::Real), self.expr(&GeneratedTy::Real)].join(", ");
                format!("jet(2, 1, {f})([{coefficients}], [0.5, 0.0, 1.0])[{}]", self.below(3))
            }
            7 => {
                let (from, to) = (self.data(2), self.data(2));
                let f = self.function(&from, &to, false);
                let (k, r) = [(1, 1), (1, 2), (2, 1), (1, 3)][self.below(4)];
                let count = if k == 2 { 3 } else { r + 1 };
                let (a, b) = (self.written(&from), self.written(&to));
                let jets = self.expr(&from.jets(count));
                format!("(let (l: {a} -> {b}) = {f} in sum(ravel(jet({k}, {r}, l)({jets}))))")
            }
            // Jacobians of structures.
            8 => {
                let (from, to) = (self.data(1), self.fixed(1));
                let f = self.function(&from, &to, false);
                let which = self.pick(&["jacobian", "jacfwd", "jacrev"]);
                format!("sum(ravel({which}({f})({})))", self.expr(&from))
            }
            9 => {
                let from = self.fixed(1);
                let f = self.function(&from, &GeneratedTy::Real, false);
                format!("sum(ravel(hessian({f})({})))", self.expr(&from))
            }
            _ => {
                let n = 1 + self.below(3);
                let f = self.function(&GeneratedTy::reals(n), &GeneratedTy::Real, false);
                let xs = self.expr(&GeneratedTy::reals(n));
                format!("hessian({f})({xs})[{}][0]", self.below(n))
            }
        }
    }

    /// A vector of derivatives.
    fn of_vectors(&mut self, n: usize) -> String {
        let ty = GeneratedTy::reals(n);
        match self.below(3) {
            0 if n > 0 && n < 5 => {
                let f = self.function(&GeneratedTy::Real, &GeneratedTy::Real, false);
                format!("derivatives({}, {f})({})", n - 1, self.expr(&GeneratedTy::Real))
            }
            1 => {
                let f = self.function(&ty, &GeneratedTy::Real, false);
                format!("grad({f})({})", self.expr(&ty))
            }
            _ => {
                let f = self.function(&ty, &ty, false);
                let (at, along) = (self.expr(&ty), self.expr(&ty));
                format!("fd({f}, {at}, {along})")
            }
        }
    }
}
