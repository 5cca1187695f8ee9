//! The expressions of every type: bindings, branches, loops, calls, parts of something larger.

use super::{GeneratedTy, Generator};

impl Generator<'_> {
    /// An expression that does not depend on its type.
    pub(super) fn any(&mut self, ty: &GeneratedTy) -> (String, bool) {
        if ty.weight() > 24 {
            return self.special(ty);
        }
        match self.below(22) {
            20 => self.pullback(ty),
            0..=2 => self.let_value(ty),
            3 => self.let_function(ty),
            4 => {
                let c = self.expr(&GeneratedTy::Bool);
                let (yes, no) = (self.expr(ty), self.expr(ty));
                (format!("if {c} then {yes} else {no}"), false)
            }
            5 | 6 => (self.case(ty), false),
            7 => self.counted_loop(ty),
            8 => self.while_loop(ty),
            9 => {
                let element = self.data(1);
                let n = self.length();
                let xs = self.operand(&GeneratedTy::array(n, element.clone()));
                let init = self.operand(ty);
                let (state, vars) = self.pattern(ty, true);
                let (item, more) = self.pattern(&element, n == 0 || !element.plain());
                let both = [vars, more].concat();
                let body = self.scoped(both, |g| g.expr(ty));
                (format!("loop {state} = {init} for {item} in {xs} do {body}"), false)
            }
            10 => {
                let from = self.ty(1);
                let f = self.function(&from, ty, false);
                let arg = self.expr(&from);
                match self.below(2) {
                    0 => (format!("({f})({arg})"), true),
                    _ => (format!("({arg}) |> ({f})"), false),
                }
            }
            11 => self.recursion(ty),
            12 => {
                // A component of a tuple or a field of a record.
                let other = self.data(1);
                let (a, b) = (self.expr(ty), self.expr(&other));
                let text = match self.below(6) {
                    0 => format!("({a}, {b}).0"),
                    1 => format!("({b}, {a}).1"),
                    2 => format!("fst(({a}, {b}))"),
                    3 => format!("snd(({b}, {a}))"),
                    4 => format!("{{x = {a}, y = {b}}}.x"),
                    _ => format!("{{{{x = {a}, y = {b}}} with x = {}}}.x", self.expr(ty)),
                };
                (text, true)
            }
            13 => {
                let n = 1 + self.below(3);
                let xs = self.operand(&GeneratedTy::array(n, ty.clone()));
                (format!("{xs}[{}]", self.below(n)), true)
            }
            14 => {
                // A function in scope that gives it.
                let Some((name, from)) = self.callable(ty) else { return self.special(ty) };
                (format!("{name}({})", self.expr(&from)), true)
            }
            15 if ty.first_order() => {
                let f = self.function(ty, ty, ty.plain());
                let init = self.expr(ty);
                let n = self.below(3);
                (format!("iterate({n}, {f}, {init})"), true)
            }
            16 => {
                let element = self.data(1);
                let pair = GeneratedTy::pair(ty.clone(), element.clone());
                let init = self.expr(ty);
                match self.below(3) {
                    0 => {
                        let f = self.function(&pair, ty, false);
                        let items = self.expr(&GeneratedTy::List(Box::new(element)));
                        (format!("fold_left_list({f}, {init}, {items})"), true)
                    }
                    1 => {
                        let turned = GeneratedTy::pair(element.clone(), ty.clone());
                        let f = self.function(&turned, ty, false);
                        let items = self.expr(&GeneratedTy::List(Box::new(element)));
                        (format!("fold_right_list({f}, {init}, {items})"), true)
                    }
                    _ => {
                        let n = self.length();
                        let f = self.function(&pair, ty, n > 0);
                        let items = self.expr(&GeneratedTy::array(n, element));
                        (format!("fold_left({f}, {init}, {items})"), true)
                    }
                }
            }
            17 => {
                let default = self.expr(ty);
                let maybe = self.expr(&GeneratedTy::Maybe(Box::new(ty.clone())));
                (format!("from_maybe({default}, {maybe})"), true)
            }
            18 => {
                let e = self.expr(ty);
                match self.below(6) {
                    0 => (format!("id({e})"), true),
                    1 => {
                        let other = self.data(1);
                        (format!("const({e})({})", self.expr(&other)), true)
                    }
                    2 if ty.first_order() => (format!("trace(\"at\", {e})"), true),
                    3 => (format!("let _ = assert(true, \"fine\") in {e}"), false),
                    4 => {
                        let n = 1 + self.below(2);
                        let rest: Vec<String> = (0..n).map(|_| self.expr(ty)).collect();
                        (format!("nth(list[{e}, {}], {})", rest.join(", "), self.below(n)), true)
                    }
                    _ => (format!("({e})"), true),
                }
            }
            _ => self.special(ty),
        }
    }

    fn let_value(&mut self, ty: &GeneratedTy) -> (String, bool) {
        let of = self.ty(2);
        let value = self.expr(&of);
        let annotated = !of.plain() || self.below(2) == 0;
        let (pattern, vars) = self.pattern(&of, annotated);
        let body = self.scoped(vars, |g| g.expr(ty));
        (format!("let {pattern} = {value} in {body}"), false)
    }

    fn let_function(&mut self, ty: &GeneratedTy) -> (String, bool) {
        if self.below(3) == 0 {
            // A polymorphic one, used at two types.
            let (a, b) = (self.expr(ty), self.data(1));
            let b = self.expr(&b);
            return (format!("let twice(w) = (w, w) in fst((twice({a}).1, twice({b}).0))"), false);
        }
        let (from, to) = (self.ty(1), self.data(1));
        let name = self.name();
        let function = self.expr_of(&from, &to, &name);
        let bound = vec![(name, GeneratedTy::fun(from, to))];
        let body = self.scoped(bound, |g| g.expr(ty));
        (format!("let {}in {body}", function.replace('\n', " ")), false)
    }

    /// A value and its pullback, for the body to call.
    fn pullback(&mut self, ty: &GeneratedTy) -> (String, bool) {
        if self.orders >= self.max_orders {
            return self.special(ty);
        }
        self.orders += 1;
        let (from, to) = (self.data(1), self.fixed(1));
        let f = self.function(&from, &to, false);
        let at = self.expr(&from);
        self.orders -= 1;
        let (value, back) = (self.name(), self.name());
        if value == back {
            return self.leaf(ty);
        }
        let bound = vec![(value.clone(), to.clone()), (back.clone(), GeneratedTy::fun(to, from))];
        let body = self.scoped(bound, |g| g.expr(ty));
        (format!("let ({value}, {back}) = vjp({f}, {at}) in {body}"), false)
    }

    fn case(&mut self, ty: &GeneratedTy) -> String {
        let of = self.ty(1);
        match self.below(6) {
            0 | 1 => {
                let maybe = self.expr(&GeneratedTy::Maybe(Box::new(of.clone())));
                let none = self.expr(ty);
                let (x, vars) = self.pattern(&of, true);
                let some = self.scoped(vars, |g| g.expr(ty));
                let x = x.strip_prefix('(').and_then(|x| x.strip_suffix(')')).unwrap_or(&x);
                format!("case {maybe} of {{ Nothing -> {none} | Just({x}) -> {some} }}")
            }
            2 => {
                let list = self.expr(&GeneratedTy::List(Box::new(of.clone())));
                let none = self.expr(ty);
                let (x, mut vars) = self.pattern(&of, true);
                let rest = self.name();
                if vars.iter().all(|(n, _)| *n != rest) {
                    vars.push((rest.clone(), GeneratedTy::List(Box::new(of))));
                    let some = self.scoped(vars, |g| g.expr(ty));
                    return format!("case {list} of {{ {x} :: {rest} -> {some} | Nil -> {none} }}");
                }
                let some = self.scoped(vars, |g| g.expr(ty));
                format!("case {list} of {{ | Nil -> {none} | {x} :: _ -> {some} }}")
            }
            3 => {
                let shape = self.expr(&GeneratedTy::Shape(Box::new(of.clone())));
                let dot = self.expr(ty);
                let (x, vars) = (self.name(), self.name());
                let disc = self.scoped(vec![(x.clone(), of.clone())], |g| g.expr(ty));
                let other = match vars == x {
                    true => "_".to_string(),
                    false => vars,
                };
                let bound = match other.as_str() {
                    "_" => vec![(x.clone(), of.clone())],
                    k => vec![(x.clone(), of.clone()), (k.to_string(), GeneratedTy::Int)],
                };
                let last = self.scoped(bound, |g| g.expr(ty));
                let inner = GeneratedTy::Maybe(Box::new(of.clone()));
                let inner = self.scoped(vec![(x.clone(), inner)], |g| g.expr(ty));
                let of = self.written(&of);
                format!(
                    "case {shape} of {{ Dot -> {dot} | Disc({x}: {of}) -> {disc} | Box({x}, {other}) -> {last} | Inner({x}, _) -> {inner} | Pair(_, {x}, _) -> {disc} | Flag(_, _) -> {dot} }}"
                )
            }
            4 => {
                let n = self.expr(&GeneratedTy::Int);
                let (a, b) = (self.expr(ty), self.expr(ty));
                let name = self.name();
                let other = self.scoped(vec![(name.clone(), GeneratedTy::Int)], |g| g.expr(ty));
                format!("case {n} of {{ 0 -> {a} | 2 -> {b} | {name} -> {other} }}")
            }
            _ => {
                let (s, c) = (self.expr(&GeneratedTy::Text), self.expr(&GeneratedTy::Bool));
                let (a, b, d) = (self.expr(ty), self.expr(ty), self.expr(ty));
                format!("case ({s}, {c}) of {{ (\"a\", _) -> {a} | (_, true) -> {b} | _ -> {d} }}")
            }
        }
    }

    fn counted_loop(&mut self, ty: &GeneratedTy) -> (String, bool) {
        let init = self.operand(ty);
        let (pattern, mut vars) = self.pattern(ty, true);
        let index = self.name();
        let index = match vars.iter().any(|(n, _)| *n == index) {
            true => "_".to_string(),
            false => index,
        };
        if index != "_" {
            vars.push((index.clone(), GeneratedTy::Int));
        }
        let n = self.below(4);
        let body = self.scoped(vars, |g| g.expr(ty));
        (format!("loop {pattern} = {init} for {index} < {n} do {body}"), false)
    }

    fn while_loop(&mut self, ty: &GeneratedTy) -> (String, bool) {
        let (init, count) = (self.expr(ty), self.name());
        let (pattern, mut vars) = self.pattern(ty, true);
        if vars.iter().any(|(n, _)| *n == count) {
            return self.leaf(ty);
        }
        vars.push((count.clone(), GeneratedTy::Int));
        let n = self.below(4);
        let (condition, body) = self.scoped(vars, |g| {
            let condition = match g.below(2) {
                0 => String::new(),
                _ => format!(" and {}", g.operand(&GeneratedTy::Bool)),
            };
            (condition, g.expr(ty))
        });
        // A name of its own, which nothing hides.
        let text = format!(
            "(loop ({count}, {pattern}) = (0, {init}) while {count} < {n}{condition} do ({count} + 1, {body})).1"
        );
        (text, true)
    }

    fn recursion(&mut self, ty: &GeneratedTy) -> (String, bool) {
        self.names += 1;
        let name = format!("go{}", self.names);
        let acc = self.data(1);
        let (from, to) = (self.written(&acc), self.written(ty));
        let start = self.expr(&acc);
        let count = self.below(4);
        let vars = vec![("n".to_string(), GeneratedTy::Int), ("w".to_string(), acc.clone())];
        let (done, next, then) = self.scoped(vars, |g| {
            let done = g.expr(ty);
            let next = g.expr(&acc);
            let then = match g.below(2) {
                0 => None,
                _ => Some(g.scoped(vec![("m".to_string(), ty.clone())], |g| g.expr(ty))),
            };
            (done, next, then)
        });
        let again = match then {
            None => format!("{name}(n - 1, {next})"),
            Some(then) => format!("let m = {name}(n - 1, {next}) in {then}"),
        };
        let text = format!(
            "let rec {name}(n: Int, w: {from}) -> {to} = if n <= 0 then {done} else {again} in {name}({count}, {start})"
        );
        (text, false)
    }
}
