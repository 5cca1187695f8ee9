//! Scalar operations: on what is known while text is written, else as operations of StableHLO.

use crate::emit::union;
use crate::lift::{unknown_text, Lift, Outcome};
use crate::place::product;
use crate::value::{Affine, Dim, Table, Tensor, Val};
use crate::Reason;
use diffeo_array::ir::{Elem, Scalar};
use diffeo_array::report::Why;
use diffeo_calculus::names::Named;
use diffeo_calculus::prim::{int, real, Comparison, IntOp, RealOp, Rounding};
use std::rc::Rc;

/// Known values of more places are computed when the module runs.
const MOST: i64 = 1 << 20;

impl Lift<'_> {
    /// Ints as a tensor.
    pub fn ints(&mut self, value: &Val) -> Tensor {
        match value {
            Val::Tensor(t) => t.clone(),
            Val::Table(table) => self.table(table),
            Val::Int(affine) => {
                let mut sum = None;
                for (dim, a) in &affine.terms {
                    let mut term = self.iota(*dim);
                    if *a != 1 {
                        let factor = self.int(*a);
                        term = self.each("multiply", &[term, factor]);
                    }
                    sum = Some(match sum {
                        Some(sum) => self.each("add", &[sum, term]),
                        None => term,
                    });
                }
                match sum {
                    Some(sum) if affine.constant == 0 => sum,
                    Some(sum) => {
                        let constant = self.int(affine.constant);
                        self.each("add", &[sum, constant])
                    }
                    None => self.int(affine.constant),
                }
            }
            _ => self.int(0),
        }
    }

    /// A value as a tensor of this type.
    pub fn tensor(&mut self, value: &Val, elem: Elem) -> Tensor {
        match (value, elem) {
            (Val::Tensor(t), _) => t.clone(),
            (Val::Real(x), _) => Lift::real(self, *x),
            (Val::Table(_) | Val::Int(_), _) => self.ints(value),
            (_, Elem::Real) => Lift::real(self, 0.0),
            (_, Elem::Bool) => self.boolean(false),
            (_, _) => self.int(0),
        }
    }

    /// The table of a value that is known.
    pub fn known_table(&self, value: &Val) -> Option<Table> {
        match value {
            Val::Table(table) => Some(table.clone()),
            Val::Int(affine) => {
                let dims: Vec<Dim> = affine.terms.iter().map(|term| term.0).collect();
                let count = product(&self.sizes_of(&dims, &[]));
                if count > MOST {
                    return None;
                }
                let mut data = vec![affine.constant];
                for (dim, a) in &affine.terms {
                    let n = self.sizes[*dim as usize];
                    data = data.iter().flat_map(|c| (0..n).map(move |i| c + a * i)).collect();
                }
                Some(Table { elem: Elem::Int, dims, shape: Vec::new(), data: Rc::new(data) })
            }
            _ => None,
        }
    }

    /// The value of a table: affine, if it is.
    pub fn of_table(&self, table: Table) -> Val {
        if table.elem != Elem::Int || !table.shape.is_empty() {
            return Val::Table(table);
        }
        let sizes = self.sizes_of(&table.dims, &[]);
        let Some(first) = table.data.first().copied() else { return Val::int(0) };
        let mut affine = Affine::known(first);
        for (i, dim) in table.dims.iter().enumerate() {
            let stride = product(&sizes[i + 1..]) as usize;
            if sizes[i] > 1 {
                let a = table.data[stride].wrapping_sub(first);
                if a != 0 {
                    affine.terms.push((*dim, a));
                }
            }
        }
        match self.known_table(&Val::Int(affine.clone())) {
            Some(found) if self.widened(&found, &table.dims) == *table.data => Val::Int(affine),
            _ => Val::Table(table),
        }
    }

    /// The data of a table with more dimensions.
    pub fn widened(&self, table: &Table, dims: &[Dim]) -> Vec<i64> {
        let width = product(&table.shape).max(0) as usize;
        let mut starts = vec![0usize];
        let own = self.sizes_of(&table.dims, &[]);
        for dim in dims {
            let n = self.sizes[*dim as usize] as usize;
            let at = table.dims.iter().position(|d| d == dim);
            let stride = at.map_or(0, |at| product(&own[at + 1..]) as usize);
            starts = starts.iter().flat_map(|s| (0..n).map(move |i| s + stride * i)).collect();
        }
        starts.iter().flat_map(|s| &table.data[s * width..(s + 1) * width]).copied().collect()
    }

    /// Known operands with the dimensions of all.
    fn known(&self, operands: &[Val]) -> Option<(Vec<Dim>, Vec<Vec<i64>>)> {
        let tables: Vec<Table> =
            operands.iter().map(|value| self.known_table(value)).collect::<Option<_>>()?;
        if tables.iter().any(|table| !table.shape.is_empty()) {
            return None;
        }
        let dims = union(tables.iter().map(|table| &table.dims[..]));
        if product(&self.sizes_of(&dims, &[])) > MOST {
            return None;
        }
        let data = tables.iter().map(|table| self.widened(table, &dims)).collect();
        Some((dims, data))
    }

    /// A function of known scalars.
    fn map(&self, operands: &[Val], elem: Elem, f: impl Fn(&[i64]) -> i64) -> Option<Val> {
        let (dims, all) = self.known(operands)?;
        let count = product(&self.sizes_of(&dims, &[])) as usize;
        let lane = |i: usize| f(&all.iter().map(|data| data[i]).collect::<Vec<_>>());
        let data = Rc::new((0..count).map(lane).collect());
        Some(self.of_table(Table { elem, dims, shape: Vec::new(), data }))
    }

    pub fn and(&mut self, a: &Val, b: &Val) -> Val {
        if let (Some(1), _) | (_, Some(0)) = (a.known(), b.known()) {
            return b.clone();
        }
        if let (Some(0), _) | (_, Some(1)) = (a.known(), b.known()) {
            return a.clone();
        }
        let (a, b) = (a.clone(), b.clone());
        if let Some(value) = self.map(&[a.clone(), b.clone()], Elem::Bool, |x| x[0] & x[1]) {
            return value;
        }
        let (a, b) = (self.tensor(&a, Elem::Bool), self.tensor(&b, Elem::Bool));
        Val::Tensor(self.each("and", &[a, b]))
    }

    pub fn or(&mut self, a: &Val, b: &Val) -> Val {
        let (a, b) = (self.not(a), self.not(b));
        let both = self.and(&a, &b);
        self.not(&both)
    }

    pub fn not(&mut self, a: &Val) -> Val {
        if let Some(value) = self.map(std::slice::from_ref(a), Elem::Bool, |x| 1 - x[0]) {
            return value;
        }
        let a = self.tensor(a, Elem::Bool);
        Val::Tensor(self.each("not", &[a]))
    }

    pub fn comparison(&mut self, how: Comparison, of: Scalar, a: &Val, b: &Val) -> Outcome<Val> {
        let of_order = |less: bool, equal: bool| match how {
            Comparison::Eq => equal,
            Comparison::Ne => !equal,
            Comparison::Lt => less,
            Comparison::Le => less || equal,
            Comparison::Gt => !less && !equal,
            Comparison::Ge => !less,
        };
        let elem = match of {
            Scalar::Real => Elem::Real,
            Scalar::Int => Elem::Int,
            Scalar::Bool => Elem::Bool,
            Scalar::Text => return Err(self.refuse(Reason::Texts)),
        };
        // Mostly it is the same at all steps, by how far the two are apart.
        let apart = match (a, b) {
            (Val::Int(a), Val::Int(b)) => {
                a.plus(-1, b).and_then(|apart| self.range(&Val::Int(apart)))
            }
            (Val::Tensor(_), Val::Int(_) | Val::Tensor(_)) | (Val::Int(_), Val::Tensor(_))
                if elem == Elem::Int =>
            {
                let (a, b) = (self.range(a), self.range(b));
                a.zip(b).and_then(|(a, b)| Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)))
            }
            _ => None,
        };
        if let Some((low, high)) = apart {
            let (below, equal, above) =
                (of_order(true, false), of_order(false, true), of_order(false, false));
            let met = [(low < 0, below), (low <= 0 && high >= 0, equal), (high > 0, above)];
            let mut met = met.iter().filter(|(is_met, _)| *is_met).map(|(_, holds)| *holds);
            let first = met.next().unwrap_or(false);
            if met.all(|holds| holds == first) {
                return Ok(Val::bool(first));
            }
        }
        let f = |x: &[i64]| i64::from(of_order(x[0] < x[1], x[0] == x[1]));
        if let Some(value) = self.map(&[a.clone(), b.clone()], Elem::Bool, f) {
            return Ok(value);
        }
        let how = match how {
            Comparison::Eq => "EQ",
            Comparison::Ne => "NE",
            Comparison::Lt => "LT",
            Comparison::Le => "LE",
            Comparison::Gt => "GT",
            Comparison::Ge => "GE",
        };
        let (a, b) = (self.tensor(a, elem), self.tensor(b, elem));
        Ok(Val::Tensor(self.compare(how, &a, &b)))
    }

    /// The first value where the condition holds, the second elsewhere.
    pub fn choose(&mut self, cond: &Val, a: &Val, b: &Val, elem: Elem) -> Outcome<Val> {
        match (cond.known(), a, b) {
            (Some(0), ..) | (_, Val::Unused, _) => return Ok(b.clone()),
            (Some(_), ..) | (_, _, Val::Unused) => return Ok(a.clone()),
            (_, Val::Acc(_), _) => return Ok(a.clone()),
            (_, Val::Text(_), _) => return Ok(unknown_text()),
            (..) => {}
        }
        if let (Val::Int(x), Val::Int(y)) = (a, b) {
            if x == y {
                return Ok(a.clone());
            }
        }
        let all = [cond.clone(), a.clone(), b.clone()];
        let f = |x: &[i64]| if x[0] != 0 { x[1] } else { x[2] };
        if elem != Elem::Real {
            if let Some(value) = self.map(&all, elem, f) {
                return Ok(value);
            }
        }
        let (cond, a, b) =
            (self.tensor(cond, Elem::Bool), self.tensor(a, elem), self.tensor(b, elem));
        if a == b {
            return Ok(Val::Tensor(a));
        }
        if a.shape != b.shape {
            return Err(self.refuse(Reason::Size));
        }
        Ok(Val::Tensor(self.select(&cond, &a, &b)))
    }

    /// An operation on Ints; what does not fit is a failed check, unless it is known to fit.
    pub fn int_op(&mut self, op: IntOp, operands: &[Val], fits: bool) -> Outcome<Val> {
        if let (IntOp::Add | IntOp::Sub, [Val::Int(a), Val::Int(b)]) = (op, operands) {
            if let Some(sum) = a.plus(if op == IntOp::Add { 1 } else { -1 }, b) {
                return Ok(Val::Int(sum));
            }
        }
        if let (IntOp::Mul, [Val::Int(a), Val::Int(b)]) = (op, operands) {
            let product = match (a.terms.is_empty(), b.terms.is_empty()) {
                (true, _) => Affine::default().plus(a.constant, b),
                (_, true) => Affine::default().plus(b.constant, a),
                (false, false) => None,
            };
            if let Some(product) = product {
                return Ok(Val::Int(product));
            }
        }
        let lane = |x: &[i64]| int::apply(op, x[0], x.get(1).copied().unwrap_or(0));
        if let Some(value) = self.map(operands, Elem::Int, |x| lane(x).unwrap_or(0)) {
            let ok = self.map(operands, Elem::Bool, |x| i64::from(lane(x).is_ok()));
            if let Some(ok) = ok.filter(|_| !fits) {
                self.check(&ok, Why::Int(op), operands)?;
            }
            return Ok(value);
        }
        let all: Vec<Tensor> = operands.iter().map(|value| self.ints(value)).collect();
        let zero = self.int(0);
        let word = match op {
            IntOp::Add | IntOp::WrappingAdd => "add",
            IntOp::Sub => "subtract",
            IntOp::Mul | IntOp::WrappingMul => "multiply",
            IntOp::Div => "divide",
            IntOp::Rem => "remainder",
            IntOp::Neg => "negate",
            IntOp::Abs => "abs",
            IntOp::Sign => "sign",
            IntOp::Min => "minimum",
            IntOp::Max => "maximum",
            IntOp::BitAnd => "and",
            IntOp::BitOr => "or",
            IntOp::BitXor => "xor",
            IntOp::ShiftLeft => "shift_left",
            IntOp::ShiftRight => "shift_right_logical",
            IntOp::Pow => "power",
        };
        if op == IntOp::Pow && !fits {
            return Err(self.refuse(Reason::Operation("^ of Ints")));
        }
        let found = self.each(word, &all);
        if !fits {
            let ok = match op {
                IntOp::Add | IntOp::Sub => {
                    // The sign of the result is that of neither operand, or of the subtrahend alone.
                    let second = if op == IntOp::Add {
                        all[1].clone()
                    } else {
                        self.each("not", std::slice::from_ref(&all[1]))
                    };
                    let a = self.each("xor", &[found.clone(), all[0].clone()]);
                    let b = self.each("xor", &[found.clone(), second]);
                    let both = self.each("and", &[a, b]);
                    Some(self.compare("GE", &both, &zero))
                }
                IntOp::Mul => {
                    let one = self.int(1);
                    let is_zero = self.compare("EQ", &all[0], &zero);
                    let divisor = self.select(&is_zero, &one, &all[0]);
                    let back = self.each("divide", &[found.clone(), divisor]);
                    let same = self.compare("EQ", &back, &all[1]);
                    Some(self.each("or", &[same, is_zero]))
                }
                IntOp::Div | IntOp::Rem => {
                    let ok = self.compare("NE", &all[1], &zero);
                    self.check(&Val::Tensor(ok), Why::Int(op), operands)?;
                    None
                }
                IntOp::Neg | IntOp::Abs => {
                    let least = self.int(i64::MIN);
                    Some(self.compare("NE", &all[0], &least))
                }
                IntOp::ShiftLeft | IntOp::ShiftRight => {
                    let most = self.int(63);
                    let (low, high) =
                        (self.compare("GE", &all[1], &zero), self.compare("LE", &all[1], &most));
                    Some(self.each("and", &[low, high]))
                }
                _ => None,
            };
            if let Some(ok) = ok {
                self.check(&Val::Tensor(ok), Why::Int(op), operands)?;
            }
        }
        if let Some(bounds) = self.bounds_of(op, operands).filter(|_| found.dims.is_empty()) {
            self.bounds.insert(found.id.clone(), bounds);
        }
        Ok(Val::Tensor(found))
    }

    /// The least and the largest value of an Int, if they are known.
    pub fn range(&self, value: &Val) -> Option<(i64, i64)> {
        match value {
            Val::Int(affine) => {
                let (low, span) = self.extent(affine);
                Some((low, low + span - 1))
            }
            Val::Table(table) => {
                let least = table.data.iter().copied().min().unwrap_or(0);
                Some((least, table.data.iter().copied().max().unwrap_or(0)))
            }
            Val::Tensor(t) => self.bounds.get(&t.id).copied(),
            _ => None,
        }
    }

    /// The least and the largest result of an operation.
    fn bounds_of(&self, op: IntOp, operands: &[Val]) -> Option<(i64, i64)> {
        let ranges: Option<Vec<(i64, i64)>> = operands.iter().map(|x| self.range(x)).collect();
        match (op, &ranges?[..]) {
            (IntOp::Add, [a, b]) => Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)),
            (IntOp::Sub, [a, b]) => Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)),
            (IntOp::Min, [a, b]) => Some((a.0.min(b.0), a.1.min(b.1))),
            (IntOp::Max, [a, b]) => Some((a.0.max(b.0), a.1.max(b.1))),
            _ => None,
        }
    }

    pub fn round_op(&mut self, how: Rounding, x: &Val, fits: bool) -> Outcome<Val> {
        if let Val::Real(x) = x {
            if let Ok(n) = int::round(how, *x) {
                return Ok(Val::int(n));
            }
        }
        let t = self.tensor(x, Elem::Real);
        let word = match how {
            Rounding::Floor => "floor",
            Rounding::Ceil => "ceil",
            Rounding::Round => "round_nearest_afz",
            Rounding::Trunc => "convert",
        };
        let whole = if word == "convert" { t.clone() } else { self.each(word, &[t]) };
        if !fits {
            let limit = Lift::real(self, -(i64::MIN as f64));
            let least = Lift::real(self, i64::MIN as f64);
            let (low, high) =
                (self.compare("GE", &whole, &least), self.compare("LT", &whole, &limit));
            let ok = self.each("and", &[low, high]);
            self.check(&Val::Tensor(ok), Why::Round(how), std::slice::from_ref(x))?;
        }
        Ok(Val::Tensor(self.convert(&whole, Elem::Int)))
    }

    /// A power with an Int as its exponent.
    pub fn pow_int(&mut self, x: &Val, n: &Val) -> Val {
        if let (Some(n), Val::Tensor(t)) = (n.known().filter(|n| n.abs() <= 64), x) {
            let mut result: Option<Tensor> = None;
            let (mut square, mut rest) = (t.clone(), n.unsigned_abs());
            while rest > 0 {
                if rest & 1 == 1 {
                    result = Some(match result {
                        Some(result) => self.each("multiply", &[result, square.clone()]),
                        None => square.clone(),
                    });
                }
                rest >>= 1;
                if rest > 0 {
                    square = self.each("multiply", &[square.clone(), square]);
                }
            }
            let one = Lift::real(self, 1.0);
            return Val::Tensor(match (result, n < 0) {
                (Some(result), true) => self.each("divide", &[one, result]),
                (Some(result), false) => result,
                (None, _) => self.broadcast(&one, &t.dims),
            });
        }
        let (x, n) = (self.tensor(x, Elem::Real), self.ints(n));
        let n = self.convert(&n, Elem::Real);
        Val::Tensor(self.each("power", &[x, n]))
    }

    pub fn real_op(&mut self, op: RealOp, operands: &[Val]) -> Outcome<Val> {
        if let [Val::Real(a), rest @ ..] = operands {
            match rest {
                [] => return Ok(Val::Real(real::eval(op, *a, 0.0))),
                [Val::Real(b)] => return Ok(Val::Real(real::eval(op, *a, *b))),
                _ => {}
            }
        }
        // Sums begin with -0, which adds nothing.
        let is_nothing = |x: &Val| matches!(x, Val::Real(x) if *x == 0.0 && x.is_sign_negative());
        let (op, operands) = match (op, operands) {
            (RealOp::Add, [zero, x] | [x, zero]) if is_nothing(zero) => return Ok(x.clone()),
            (RealOp::Sub, [zero, x]) if is_nothing(zero) => (RealOp::Neg, std::slice::from_ref(x)),
            _ => (op, operands),
        };
        let all: Vec<Tensor> =
            operands.iter().map(|value| self.tensor(value, Elem::Real)).collect();
        let x = all[0].clone();
        let plain = match op {
            RealOp::Add => "add",
            RealOp::Sub => "subtract",
            RealOp::Mul => "multiply",
            RealOp::Div => "divide",
            RealOp::Neg => "negate",
            RealOp::Rem => "remainder",
            RealOp::Pow => "power",
            RealOp::Exp => "exponential",
            RealOp::Log => "log",
            RealOp::Sqrt => "sqrt",
            RealOp::Cbrt => "cbrt",
            RealOp::Sin => "sine",
            RealOp::Cos => "cosine",
            RealOp::Tan => "tan",
            RealOp::Tanh => "tanh",
            RealOp::Expm1 => "exponential_minus_one",
            RealOp::Log1p => "log_plus_one",
            RealOp::Atan2 => "atan2",
            RealOp::Abs => "abs",
            RealOp::Sign => "sign",
            RealOp::Min => "minimum",
            RealOp::Max => "maximum",
            RealOp::Erf | RealOp::Erfc | RealOp::Lgamma | RealOp::Polygamma(0) => {
                return Ok(Val::Tensor(self.special(op, &x)));
            }
            RealOp::Polygamma(_) => return Err(self.refuse(Reason::Operation("polygamma"))),
            _ => "",
        };
        if !plain.is_empty() {
            return Ok(Val::Tensor(match op {
                RealOp::Mul => match operands {
                    [Val::Real(by), _] => self.scale(*by, &all[1]),
                    [_, Val::Real(by)] => self.scale(*by, &all[0]),
                    _ => self.multiply(&all),
                },
                RealOp::Add => self.add(&x, 1.0, &all[1]),
                RealOp::Sub => self.add(&x, -1.0, &all[1]),
                RealOp::Neg => self.negate(&x),
                _ => self.each(plain, &all),
            }));
        }
        let (one, half) = (Lift::real(self, 1.0), Lift::real(self, 0.5));
        let two = Lift::real(self, 2.0);
        macro_rules! e {
            ($op:literal, $($x:expr),+) => {{ let all = [$($x.clone()),+]; self.each($op, &all) }};
        }
        let found = match op {
            RealOp::Atan => e!("atan2", x, one),
            RealOp::Asin | RealOp::Acos => {
                let (below, above) = (e!("subtract", one, x), e!("add", one, x));
                let side = e!("multiply", below, above);
                let side = e!("sqrt", side);
                if op == RealOp::Asin {
                    e!("atan2", x, side)
                } else {
                    e!("atan2", side, x)
                }
            }
            RealOp::Sinh => {
                let a = e!("abs", x);
                let m = e!("exponential_minus_one", a);
                let next = e!("add", m, one);
                let quotient = e!("divide", m, next);
                let sum = e!("add", m, quotient);
                let near = e!("multiply", half, sum);
                let root = e!("multiply", half, a);
                let root = e!("exponential", root);
                let halved = e!("multiply", half, root);
                let far = e!("multiply", halved, root);
                let limit = Lift::real(self, 30.0);
                let is_far = self.compare("GT", &a, &limit);
                let size = self.select(&is_far, &far, &near);
                let sign = e!("sign", x);
                e!("multiply", sign, size)
            }
            RealOp::Cosh => {
                let a = e!("abs", x);
                let root = e!("multiply", half, a);
                let root = e!("exponential", root);
                let halved = e!("multiply", half, root);
                let large = e!("multiply", halved, root);
                let inverse = e!("divide", half, root);
                let small = e!("divide", inverse, root);
                e!("add", large, small)
            }
            RealOp::Asinh => {
                let a = e!("abs", x);
                let square = e!("multiply", a, a);
                let root = e!("add", square, one);
                let root = e!("sqrt", root);
                let root = e!("add", root, one);
                let quotient = e!("divide", square, root);
                let sum = e!("add", a, quotient);
                let near = e!("log_plus_one", sum);
                let log = e!("log", a);
                let ln2 = Lift::real(self, std::f64::consts::LN_2);
                let far = e!("add", log, ln2);
                let limit = Lift::real(self, 1e8);
                let is_far = self.compare("GT", &a, &limit);
                let size = self.select(&is_far, &far, &near);
                let sign = e!("sign", x);
                e!("multiply", sign, size)
            }
            RealOp::Acosh => {
                let t = e!("subtract", x, one);
                let next = e!("add", t, two);
                let product = e!("multiply", t, next);
                let root = e!("sqrt", product);
                let sum = e!("add", t, root);
                let near = e!("log_plus_one", sum);
                let log = e!("log", x);
                let ln2 = Lift::real(self, std::f64::consts::LN_2);
                let far = e!("add", log, ln2);
                let limit = Lift::real(self, 1e8);
                let is_far = self.compare("GT", &x, &limit);
                self.select(&is_far, &far, &near)
            }
            RealOp::Atanh => {
                let a = e!("abs", x);
                let (double, below) = (e!("add", a, a), e!("subtract", one, a));
                let quotient = e!("divide", double, below);
                let log = e!("log_plus_one", quotient);
                let size = e!("multiply", half, log);
                let sign = e!("sign", x);
                e!("multiply", sign, size)
            }
            RealOp::Sigmoid => {
                let m = e!("negate", x);
                let e = e!("exponential", m);
                let sum = e!("add", one, e);
                e!("divide", one, sum)
            }
            RealOp::Softplus => {
                let zero = Lift::real(self, 0.0);
                let a = e!("abs", x);
                let m = e!("negate", a);
                let e = e!("exponential", m);
                let log = e!("log_plus_one", e);
                let large = e!("maximum", x, zero);
                e!("add", large, log)
            }
            RealOp::Hypot | RealOp::Unit => {
                let (a, b) = (e!("abs", all[0]), e!("abs", all[1]));
                let (large, small) = (e!("maximum", a, b), e!("minimum", a, b));
                let zero = Lift::real(self, 0.0);
                let none = self.compare("EQ", &small, &zero);
                let quotient = e!("divide", small, large);
                let quotient = self.select(&none, &zero, &quotient);
                let square = e!("multiply", quotient, quotient);
                let sum = e!("add", one, square);
                let root = e!("sqrt", sum);
                let hypot = e!("multiply", large, root);
                if op == RealOp::Hypot {
                    hypot
                } else {
                    e!("divide", x, hypot)
                }
            }
            RealOp::Sech => {
                let a = e!("abs", x);
                let m = e!("negate", a);
                let e = e!("exponential", m);
                let square = e!("multiply", e, e);
                let below = e!("add", one, square);
                let double = e!("add", e, e);
                e!("divide", double, below)
            }
            RealOp::OneMinusSquare => {
                let (below, above) = (e!("subtract", one, x), e!("add", one, x));
                e!("multiply", below, above)
            }
            _ => return Err(self.refuse(Reason::Operation(op.name()))),
        };
        Ok(Val::Tensor(found))
    }
}
