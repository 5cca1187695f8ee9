//! What people write who come from other languages, and what to write instead.
//!
//! One table for all phases: the parser looks up words and signs in it, name resolution names, inference members and
//! the functions whose arguments are often misread. An entry is the help of a message. Where a form becomes one of
//! Diffeo's own, its entry goes, and its case in `tests/lang/diagnostics/newcomers.deo` with it.

/// As what something foreign stands in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A word that starts a form: `return`, `match`.
    Word,
    /// A word that continues or ends an expression: `where`, `end`.
    Infix,
    /// A word that starts a definition or an import: `data`, `struct`.
    Item,
    /// A sign, or several without a space between them: `+=`, `.^`.
    Sign,
    /// The name of a value.
    Value,
    /// A constructor.
    Constructor,
    /// A type.
    Type,
    /// A field or method of a value.
    Member,
    /// A module whose members are meant.
    Module,
    /// A function of Diffeo that is given something it does not take.
    Function,
    /// A function of a library for plots.
    Plot,
}

use Role::*;

/// What to do about a foreign name, word or sign; `None` where the table does not know it.
pub fn replacement(role: Role, text: &str) -> Option<&'static str> {
    let row = TABLE.iter().find(|(r, names, _)| *r == role && names.contains(&text));
    row.map(|(_, _, help)| *help)
}

/// The name in the module `stats` of a distribution that has another one elsewhere.
pub fn distribution(name: &str) -> &str {
    let row = DISTRIBUTIONS.iter().find(|(_, names)| names.contains(&name));
    row.map_or(name, |(ours, _)| ours)
}

/// The function of the module `stats` that Stan calls so: `student_t_lpdf`.
pub fn density(name: &str) -> Option<String> {
    ENDINGS.iter().find_map(|(theirs, ours)| {
        let of = name.strip_suffix(theirs)?;
        Some(format!("{}{ours}", distribution(of)))
    })
}

/// Endings of the functions of a distribution: in Stan, and here.
const ENDINGS: [(&str, &str); 5] = [
    ("_lpdf", "_logpdf"),
    ("_lupdf", "_logpdf"),
    ("_lpmf", "_logpmf"),
    ("_lupmf", "_logpmf"),
    ("_lcdf", "_logcdf"),
];

/// The distributions that SciPy or Stan call otherwise.
const DISTRIBUTIONS: &[(&str, &[&str])] = &[
    ("normal", &["norm", "std_normal"]),
    ("student_t", &["t"]),
    ("exponential", &["expon"]),
    ("lognormal", &["lognorm"]),
    ("laplace", &["double_exponential"]),
    ("chi_squared", &["chi2", "chi_square"]),
    ("inverse_gamma", &["invgamma", "inv_gamma"]),
    ("binomial", &["binom"]),
    ("negative_binomial", &["nbinom", "neg_binomial"]),
    ("negative_binomial_mean", &["neg_binomial_2"]),
    ("beta_binomial", &["betabinom"]),
    ("geometric", &["geom"]),
    ("weibull", &["weibull_min"]),
    ("gumbel", &["gumbel_r"]),
    ("half_normal", &["halfnorm"]),
    ("half_cauchy", &["halfcauchy"]),
    ("von_mises", &["vonmises"]),
    ("multivariate_normal", &["multi_normal"]),
    ("multivariate_normal_cholesky", &["multi_normal_cholesky"]),
    ("lkj", &["lkj_corr"]),
    ("lkj_cholesky", &["lkj_corr_cholesky"]),
];

const RANGE: &str =
    "`iota(n)` is the array of 0 to n - 1; `for i < n` in a loop or comprehension counts by itself";
const NO_VALUE: &str = "a value that may be missing is a `Maybe`: `Just(x)` or `Nothing`";
const MATCH: &str = "write `case e of { P -> e | P -> e }`";
const VARIANTS: &str = "write `type Shape = Circle(Real) | Square(Real)`";
const RECORD: &str = "a record type is written `type Point = {x: Real, y: Real}`";
const LOOP: &str = "write `loop acc = init for i < n do e`, or a comprehension `[e for x in xs]`";
const IMPORT: &str =
    "write `import linalg` for `linalg.solve`, or `import linalg (solve)` for `solve`";
const FAILURE: &str = "there are no exceptions: a function that may fail gives a `Maybe`, `fail(\"…\")` stops the program";
const BINDING: &str = "a name is bound by `let x = e in …`, one for the whole file by `def x = e`";
const UNCHANGED: &str =
    "values do not change: bind the new one, `let y = x + 1 in …`, or carry it in a `loop`";
const PRINTED: &str =
    "the value of `main` is printed; `trace(\"label\", x)` prints while evaluating";
const LENGTH: &str = "an array's length is `length(xs)`, a list's `length_list(xs)`";
const TO_REAL: &str = "`real(n)` makes a Real of an Int";
const TO_INT: &str = "`floor`, `round` or `trunc` make an Int of a Real";
const FILLED: &str = "write `replicate(n, 0.0)`, or `[[0.0 for j < m] for i < n]` for a matrix";
const ELEMENTWISE: &str = "`+`, `-`, `*` and `/` of two arrays of Reals go by element as they are; any other function does in `[f(x) for x in xs]`";
const ARRAY_TYPE: &str = "an array type is written `[n]Real`, or `[]Real` for any length";
const REAL_TYPE: &str = "the type is `Real`";
const INT_TYPE: &str = "the type is `Int`";
const STRING_TYPE: &str = "the type is `String`";
const MAYBE_TYPE: &str = "the type is `Maybe[T]`";
const COMMENT: &str = "a comment starts with `#` and goes to the end of the line";
const FOLDS: &str =
    "`fold_left(f, init, xs)` folds an array, `fold_left_list` and `fold_right_list` a list";
const PRELUDE: &str =
    "the functions of numbers and arrays need no module: write `sum(xs)`, `sqrt(x)`";

/// Role, the foreign texts, what to write.
const TABLE: &[(Role, &[&str], &str)] = &[
    // Words that start or continue a form.
    (Word, &["return"], "leave it out: the value of a function is that of its expression"),
    (Word, &["match", "switch", "when"], MATCH),
    (Word, &["function"], "write `fn x -> e`, or `fn x -> case x of { P -> e | P -> e }`"),
    (Word, &["lambda", "fun", "func"], "a function is written `fn x -> e`"),
    (Infix, &["where"], "bind it before: `let y = e in …`"),
    (Infix, &["end"], "leave it out: an expression ends where it ends; parentheses group"),
    (Word, &["begin"], "leave it out: parentheses group"),
    (Infix, &["elif", "elsif", "elseif"], "write `else if`"),
    (Word, &["mut", "var", "val", "const", "let!", "auto"], BINDING),
    (Word, &["try", "raise", "throw"], FAILURE),
    (Infix, &["is"], "values are compared with `==`; a `Maybe` is taken apart with `case`"),
    (Infix, &["as"], "`real(n)` makes a Real of an Int, `round(x)` an Int of a Real; a type stands in `(x: T)`"),
    (Infix, &["mod", "rem"], "the remainder is `a % b`"),
    (Infix, &["div", "quot"], "`/` of two Ints is the integer division"),
    (Infix, &["xor"], "write `a != b` for Bools, `bit_xor(a, b)` for Ints"),
    (Word, &["yield", "await", "async"], "leave it out: every expression is evaluated where it stands"),
    (Word, &["pass", "skip"], "every branch has a value: the one without parts is `()`"),
    (Word, &["lazy", "new", "ref", "move"], "leave it out: values do not change, so nothing refers to a place"),
    (Word, &["forall", "impl", "dyn"], "type variables need no declaration: `def id(x: a) -> a = x`"),
    (Infix, &["for", "while", "foreach", "repeat", "until"], LOOP),
    (Infix, &["if", "unless"], "a choice is written `if c then a else b`"),
    (Infix, &["do"], "`do` stands before the body of a `loop`; one thing after another is `let x = a in b`"),
    // Words that start an item.
    (Item, &["data", "enum"], VARIANTS),
    (Item, &["newtype", "typedef", "alias"], "write `type Name = T`"),
    (Item, &["struct", "class", "record", "dataclass", "mutable"], RECORD),
    (Item, &["let", "val", "var", "const", "static", "fn", "fun", "func", "function", "define", "proc", "pub", "public", "inline", "export"], "a definition of the whole file is written `def name = e` or `def f(x) = e`"),
    (Item, &["from", "use", "using", "open", "require", "include", "load"], IMPORT),
    (Item, &["module", "mod", "package", "namespace"], "a file is a module, named as the file"),
    (Item, &["instance", "trait", "interface", "impl", "deriving"], "there are no classes of types: equality, texts and derivatives work at all first-order types; pass functions for the rest"),
    (Item, &["for", "while", "if", "print", "return", "do", "begin", "main"], "a file consists of definitions; what is run and printed is `def main = e`"),
    (Item, &["@"], "there are no decorators: delete the line"),
    // Signs.
    (Sign, &[";", ";;"], "there are no semicolons: `in` ends a `let`, `|` separates the arms of a `case`"),
    (Sign, &[":="], "a name is bound with `=`"),
    (Sign, &["=>", "|->"], "the arrow is written `->`"),
    (Sign, &["->"], "a function is written `fn x -> e`"),
    (Sign, &["<>", "/=", "=/=", "!==", "=!=", "~="], "write `!=`"),
    (Sign, &["==="], "write `==`"),
    (Sign, &["=<"], "write `<=`"),
    (Sign, &["+=", "-=", "*=", "%=", "^=", "**="], UNCHANGED),
    (Sign, &["++"], "`++` joins two arrays, lists or strings; to count, write `x + 1`"),
    (Sign, &["<-"], "`let x = e in …` binds a name, `for x in xs` goes over elements"),
    (Sign, &[".^", ".*", "./", ".+", ".-", ".**"], ELEMENTWISE),
    (Sign, &["+.", "-.", "*.", "/."], "the operators of Reals are `+`, `-`, `*`, `/`, without a point"),
    (Sign, &["<$>", "<*>", ">>=", ">>", "<<"], "apply the function: `f(x)`, or `x |> f`; `map(f, xs)` goes over an array"),
    (Sign, &["..", "...", "..="], "`for i < n` counts from 0, `iota(n)` is the array of 0 to n - 1; `..` stands only in slices `xs[a..b]`"),
    (Sign, &["?"], "a choice is written `if c then a else b`; a `Maybe` is taken apart with `case`"),
    (Sign, &["$"], "a function is applied with parentheses: `f(x)`"),
    (Sign, &["@"], "the product of matrices is `matmul(a, b)`, of a matrix and a vector `matvec(a, x)`, of vectors `dot(x, y)`"),
    (Sign, &["`"], "names are written without quotation marks, strings with `\"`"),
    (Sign, &["&"], "the operator is `and`, of the bits of Ints `bit_and(a, b)`; values are passed as they are, without `&`"),
    (Sign, &["~"], "the operator is `not`, and `-` for numbers"),
    (Sign, &["'"], "strings are written with `\"`"),
    (Sign, &["--"], COMMENT),
    (Sign, &["\\"], "a function is written `fn x -> e`; the solution of a system is `linalg.solve(a, b)`"),
    (Sign, &["|"], "`|` separates the arms of a `case`; a function is written `fn x -> e`, a choice `if c then a else b`"),
    // Names of values.
    (Value, &["len", "size", "numel", "count"], LENGTH),
    (Value, &["shape", "ndim"], "the lengths are `length(a)` and `length(a[0])`; a type names them: `(a: [n][m]Real)`"),
    (Value, &["print", "println", "printf", "putStrLn", "echo", "display", "log_info"], PRINTED),
    (Value, &["input", "read_line", "readline", "open", "read"], "programs take their data as the parameters of `main`: `diffeo run FILE --arg name=value`"),
    (Value, &["ln", "loge"], "the natural logarithm is `log`"),
    (Value, &["exp2"], "write `pow(2.0, x)`"),
    (Value, &["float", "float64", "double", "fromIntegral", "realToFrac", "float_of_int", "toDouble", "to_float"], TO_REAL),
    (Value, &["int", "int_of_float", "truncate", "toInt", "to_int", "fromEnum", "ceiling"], TO_INT),
    (Value, &["str", "string", "to_string", "toString", "string_of_int", "string_of_float", "repr", "format"], "`show(x)` makes a String of a value"),
    (Value, &["bool"], "a comparison makes a Bool: `x != 0`"),
    (Value, &["range", "irange"], RANGE),
    (Value, &["slice"], "a part of an array is `xs[a..b]`; for Strings put `import text (slice)` at the start of the file"),
    (Value, &["arange"], "`iota(n)` is the array of 0 to n - 1, `linspace(a, b, n)` are n Reals from a to b; `for i < n` counts by itself"),
    (Value, &["fold", "foldl'", "inject", "accumulate"], FOLDS),
    (Value, &["mod", "fmod", "rem", "remainder", "modulo"], "the remainder is `a % b`"),
    (Value, &["div", "divmod", "quot", "quotient", "idiv"], "`/` of two Ints is the integer division, `%` its remainder"),
    (Value, &["null", "none", "nil", "nothing", "undefined", "NaN"], NO_VALUE),
    (Value, &["isnothing", "is_none", "is_some", "isJust", "isNothing"], "take it apart: `case x of { Just(y) -> … | Nothing -> … }`"),
    (Value, &["fabs", "absolute"], "the absolute value is `abs(x)`"),
    (Value, &["clamp"], "write `clip(low, high, x)`"),
    (Value, &["std", "stdev", "sd", "var"], "`stats.sd(xs)` is the standard deviation, `stats.variance(xs)` its square, after `import stats`"),
    (Value, &["average", "avg"], "write `mean(xs)`"),
    (Value, &["zeros_like", "ones_like"], "write `zeros(n)` or `ones(n)`, `[[0.0 for j < m] for i < n]` for a matrix, `zero_of(x)` for the shape of x"),
    (Value, &["full", "fill"], "write `replicate(n, 1.0)`, or `[[1.0 for j < m] for i < n]` for a matrix"),
    (Value, &["empty"], FILLED),
    (Value, &["eye"], "write `linalg.identity(n)`, after `import linalg`"),
    (Value, &["inv"], "write `linalg.inverse(a)`, after `import linalg`; `linalg.solve(a, b)` is the exact way to a system"),
    (Value, &["solve_ivp", "odeint", "ode45", "ode15s", "ode23s", "lsoda"], "write `ode.solve(f, y0, ts)` with f(t, y), after `import ode`; `ode.solve_stiff` where it is stiff"),
    (Value, &["dde23", "ddesd", "ddeint", "dede"], "write `ode.solve_delay(f, history, delays, ts)` with f(t, y, past), after `import ode`"),
    (Value, &["ode15i", "daspk"], "write `ode.solve_dae(mass, f, y0, ts)` with mass(y') = f(t, y), after `import ode`"),
    (Value, &["odeint_adjoint"], "write `ode.solve_adjoint(loss, f, y0, p, ts)` with f(t, y, p), after `import ode`"),
    (Value, &["curve_fit", "least_squares", "leastsq", "nls", "nlsLM", "lsqcurvefit", "lsqnonlin"], "write `optim.levenberg_marquardt(residuals, start)`, after `import optim`; `optim.levenberg_marquardt_between` has bounds"),
    (Value, &["minimize", "fmin", "fminunc", "nlm"], "write `optim.lbfgs(f, start)`, after `import optim`; `optim.lbfgsb` has bounds, `optim.nlp` constraints"),
    (Value, &["fminsearch", "nelder_mead"], "write `optim.nelder_mead(f, start)`, after `import optim`; `optim.lbfgs` takes the gradient, and far fewer evaluations"),
    (Value, &["linprog", "milp"], "write `optim.linear_program(f, bounds, constraints, limits)`, after `import optim`"),
    (Value, &["quadprog", "qpsol", "solve_qp"], "write `optim.quadratic_program(f, bounds, constraints, limits)`, after `import optim`"),
    (Value, &["quad", "integral", "quadgk"], "write `quadrature.integrate(f, a, b)`, after `import quadrature`"),
    (Value, &["dblquad", "nquad", "integral2"], "write `quadrature.integrate2(f, a, b, low, high)` with f(x, y) and limits of y that are functions of x, after `import quadrature`"),
    (Value, &["tplquad", "integral3"], "write `quadrature.integrate3(f, a, b, low, high, bottom, top)` with f(x, y, z), after `import quadrature`"),
    (Value, &["trapz", "trapezoid"], "write `quadrature.trapz(xs, ys)`, after `import quadrature`"),
    (Value, &["cumtrapz", "cumulative_trapezoid"], "write `quadrature.cumtrapz(xs, ys)`, after `import quadrature`"),
    (Value, &["interpolate", "interp1", "interp1d", "approx"], "write `interp(xs, ys, x)` for straight lines, `spline.at(spline.cubic(xs, ys), x)` for a curve, after `import spline`"),
    (Value, &["splinefun", "pchip"], "write `spline.cubic(xs, ys)` or `spline.monotone(xs, ys)`, after `import spline`; its value at x is `spline.at(s, x)`"),
    (Value, &["mannwhitneyu", "ranksum"], "write `stats.mann_whitney_test(xs, ys)`, after `import stats`"),
    (Value, &["cross_entropy", "softmax_cross_entropy"], "write `nn.cross_entropy(logits, class)`, after `import nn`"),
    (Value, &["cosine_decay", "cosine_decay_schedule", "exponential_decay"], "write `optim.cosine_decay(rate, least, steps)` or `optim.exponential_decay(rate, factor, steps)`, after `import optim`"),
    (Value, &["clip_grad_norm", "clip_by_global_norm"], "write `optim.clip_by_norm(most, gradient)`, after `import optim`"),
    (Value, &["fmincon", "constrOptim", "slsqp", "ipopt", "nlpsol", "trust_constr"], "write `optim.nlp(f, bounds, constraints, limits, start)`, after `import optim`"),
    (Value, &["solve_bvp", "bvp4c", "bvp5c"], "write `ode.boundary_value(f, ends, (a, b), steps, guess)` with f(t, y), after `import ode`"),
    (Value, &["fsolve", "brentq", "fzero", "uniroot"], "write `root.bisect(f, a, b)`, or `root.newton_system` for several unknowns, after `import root`"),
    (Value, &["csr_matrix", "coo_matrix", "csc_matrix", "sparseMatrix"], "write `sparse.from_triplets(rows, columns, [(i, j, x), …])`, after `import sparse`"),
    (Value, &["spsolve"], "write `sparse.solve(a, b)`, after `import sparse`"),
    (Value, &["array", "vec", "asarray", "tensor", "Array", "Vector"], "an array is written `[a, b, c]`"),
    (Value, &["zipWith", "zip_with", "map_two"], "write `map2(fn (x, y) -> e, xs, ys)`"),
    (Value, &["amax", "nanmax"], "write `maximum(xs)`"),
    (Value, &["amin", "nanmin"], "write `minimum(xs)`"),
    (Value, &["prod"], "write `product(xs)`"),
    (Value, &["power", "powf", "powi"], "write `x ^ n` for an Int n, `pow(x, p)` for a Real p"),
    (Value, &["square"], "write `sq(x)`"),
    (Value, &["append", "push", "extend"], "write `xs ++ [x]`; values do not change, the longer array is a new one"),
    (Value, &["concatenate", "cat", "hstack", "vstack", "concatMap"], "`xs ++ ys` joins two arrays, `concat(xss)` the rows of one"),
    (Value, &["sorted"], "write `sort(xs)`"),
    (Value, &["reversed"], "write `reverse(xs)`"),
    (Value, &["dict", "set", "object"], "a record is written `{x = 1.0, y = 2.0}`"),
    (Value, &["gradient", "derivative", "diff", "autograd", "value_and_gradient"], "the gradient of f at x is `grad(f)(x)`, with the value `value_and_grad(f)(x)`"),
    (Value, &["jit", "vmap", "pmap"], "leave it out: programs are compiled, and `[f(x) for x in xs]` goes over arrays"),
    (Value, &["stopGradient", "detach", "no_grad"], "write `stop_gradient(x)`"),
    (Value, &["rand", "randn", "runif", "rnorm"], "write `random.uniform(key)` or `random.normal(key)`, after `import random`"),
    (Value, &["otherwise"], "write `else`"),
    (Value, &["self", "this"], "a function takes what it works on as a parameter"),
    (Value, &["error", "failwith", "panic", "throw", "exit"], "write `fail(\"…\")`"),
    (Value, &["it"], "in a session, `it` is the last value, once there is one"),
    (Value, &["ref"], UNCHANGED),
    (Value, &["head", "hd"], "the first element of an array is `xs[0]`; a list is taken apart with `case xs of { x :: rest -> … | Nil -> … }`"),
    (Value, &["tail", "tl"], "write `drop(1, xs)` for an array; a list is taken apart with `case xs of { x :: rest -> … | Nil -> … }`"),
    (Value, &["last", "end"], "the last element is `xs[length(xs) - 1]`"),
    (Value, &["gammainc", "igamma"], "write `special.gamma_inc(a, x)`, after `import special`"),
    (Value, &["gammaincc", "igammac"], "write `special.gamma_inc_upper(a, x)`, after `import special`"),
    (Value, &["betainc"], "write `special.beta_inc(a, b, x)`, after `import special`"),
    (Value, &["besselj", "jv"], "write `special.bessel_j(nu, x)`, after `import special`"),
    (Value, &["bessely", "yv"], "write `special.bessel_y(nu, x)`, after `import special`"),
    (Value, &["besseli"], "write `special.bessel_i(nu, x)`, after `import special`"),
    (Value, &["besselk", "kv"], "write `special.bessel_k(nu, x)`, after `import special`"),
    (Value, &["hyp1f1", "hyperg_1F1"], "write `special.hyp1f1(a, b, x)`, after `import special`"),
    (Value, &["hyp2f1", "hyperg_2F1"], "write `special.hyp2f1(a, b, c, x)`, after `import special`"),
    (Value, &["dnorm", "normpdf"], "write `stats.normal_logpdf(x, mean, sd)`, the logarithm of the density, after `import stats`"),
    (Value, &["pnorm", "normcdf"], "write `stats.normal_cdf(x, mean, sd)`, after `import stats`"),
    (Value, &["logit"], "write `log(p) - log1p(-p)`"),
    (Value, &["arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh"], "inverse functions start with a: `asin`, `acos`, `atan`, `atan2(y, x)`, `asinh`, `acosh`, `atanh`"),
    (Value, &["select", "cond", "ifelse"], "a choice is written `if c then a else b`"),
    // Constructors.
    (Constructor, &["True"], "write `true`"),
    (Constructor, &["False"], "write `false`"),
    (Constructor, &["None", "NULL", "Null", "Nil'"], "a missing value is `Nothing`"),
    (Constructor, &["Some", "Ok", "Right"], "write `Just(x)`; without a value it is `Nothing`"),
    (Constructor, &["Err", "Left"], "a missing value is `Nothing`; a type of your own can hold why: `type Result[a] = Good(a) | Bad(String)`"),
    (Constructor, &["Cons"], "write `x :: xs`"),
    (Constructor, &["Array", "Vec", "Vector"], "an array is written `[a, b, c]`"),
    (Constructor, &["CubicSpline", "PchipInterpolator"], "write `spline.cubic(xs, ys)` or `spline.monotone(xs, ys)`, after `import spline`; its value at x is `spline.at(s, x)`"),
    (Constructor, &["Dense", "Linear"], "write `nn.dense(weights, x)`, after `import nn`; `nn.dense_start(inputs, outputs, key)` are the weights to start from"),
    (Constructor, &["LSTMCell", "LSTM"], "write `nn.lstm(weights, (h, c), x)`, after `import nn`; `nn.lstm_start(inputs, size, key)` are the weights to start from"),
    (Constructor, &["GRUCell", "GRU"], "write `nn.gru(weights, state, x)`, after `import nn`; `nn.gru_start(inputs, size, key)` are the weights to start from"),
    (Constructor, &["PI", "Inf", "NaN", "E"], "the constants are `pi`, `e`, `inf` and `nan`"),
    // Types.
    (Type, &["Float", "Double", "Number", "Num", "F64", "F32", "Float64", "Float32", "Scalar", "float", "double", "real", "f64", "f32", "number"], REAL_TYPE),
    (Type, &["Integer", "I64", "I32", "Int64", "Int32", "Nat", "int", "integer", "i64", "i32", "usize", "nat"], INT_TYPE),
    (Type, &["Boolean", "bool", "boolean"], "the type is `Bool`"),
    (Type, &["Str", "Text", "Char", "string", "str", "char"], STRING_TYPE),
    (Type, &["Option", "Optional"], MAYBE_TYPE),
    (Type, &["Vec", "Vector", "Array", "Matrix", "Tensor", "Ndarray"], ARRAY_TYPE),
    (Type, &["Unit", "Void", "None", "unit", "void"], "the type of the value without parts is `()`"),
    (Type, &["Tuple", "Pair"], "a tuple type is written `(A, B)`"),
    (Type, &["Dict", "Map", "Object"], "a record type is written `{x: T, y: T}`"),
    (Type, &["Callable", "Function", "Fn"], "a function type is written `A -> B`"),
    // Members of values.
    (Member, &["length", "len", "size", "count"], LENGTH),
    (Member, &["shape", "ndim"], "the lengths are `length(a)` and `length(a[0])`; a type names them: `(a: [n][m]Real)`"),
    (Member, &["T", "t"], "write `transpose(a)`"),
    (Member, &["append", "push", "extend", "add", "insert"], "write `xs ++ [x]`; values do not change, the longer array is a new one"),
    (Member, &["iter", "iter_mut", "into_iter", "collect", "to_vec", "clone", "copy", "tolist"], "leave it out: arrays are gone over as they are, `[e for x in xs]`, and values need no copies"),
    (Member, &["powi", "powf"], "write `x ^ n` for an Int n, `pow(x, p)` for a Real p"),
    (Member, &["ln"], "the natural logarithm is `log(x)`"),
    (Member, &["std", "var"], "`stats.sd(xs)` is the standard deviation, `stats.variance(xs)` its square, after `import stats`"),
    (Member, &["prod"], "write `product(xs)`"),
    (Member, &["max"], "write `maximum(xs)` for an array, `max(a, b)` for two numbers"),
    (Member, &["min"], "write `minimum(xs)` for an array, `min(a, b)` for two numbers"),
    (Member, &["to_string", "toString"], "`show(x)` makes a String of a value"),
    (Member, &["first", "head", "last", "tail"], "the first element of an array is `xs[0]`, the last `xs[length(xs) - 1]`"),
    (Member, &["unwrap", "is_some", "is_none", "value"], "take a `Maybe` apart: `case x of { Just(y) -> … | Nothing -> … }`, or `from_maybe(default, x)`"),
    (Member, &["fold", "reduce"], FOLDS),
    (Member, &["pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf"], "distributions are functions of the module `stats`: `stats.normal_logpdf(x, mean, sd)`"),
    // Modules.
    (Module, &["np", "numpy", "jnp", "jax", "torch", "tf", "scipy", "math", "Math", "cmath", "tensorflow", "LinearAlgebra", "Statistics", "Base", "Float", "Int", "std", "Prelude", "List", "Array", "Seq", "Data", "f64", "F64", "Float64"], PRELUDE),
    // Members of the module `plot`.
    (Plot, &["plot"], "`plot.line(xs, ys)` is a line through points, `plot.curve(f, a, b)` the graph of a function"),
    (Plot, &["scatter"], "write `plot.points(xs, ys)`"),
    (Plot, &["hist"], "write `plot.histogram(bins, xs)`"),
    (Plot, &["bar", "barh"], "write `plot.bars(names, heights)`"),
    (Plot, &["imshow", "matshow", "pcolormesh", "image", "contour", "contourf"], "write `plot.heatmap(values)`, or `plot.heatmap_at(xs, ys, values)`"),
    (Plot, &["xlabel", "ylabel", "label", "labels", "set_xlabel", "set_ylabel"], "write `|> plot.axes(\"x\", \"y\", _)` behind the plot"),
    (Plot, &["legend"], "`|> plot.name(\"text\", _)` puts a layer into the legend"),
    (Plot, &["subplot", "subplots", "figure"], "`plot.grid(columns, plots)` is plots side by side, `plot.layers(plots)` over one another"),
    (Plot, &["fill_between"], "write `plot.band(xs, lows, highs)`"),
    (Plot, &["axhline"], "write `plot.hline(y)`"),
    (Plot, &["axvline"], "write `plot.vline(x)`"),
    (Plot, &["xlim", "ylim", "axis"], "write `|> plot.x_range(low, high, _)` or `|> plot.y_range(low, high, _)` behind the plot"),
    (Plot, &["alpha", "transparency"], "write `|> plot.opacity(0.5, _)` behind the plot"),
    (Plot, &["linewidth", "lw", "stroke_width"], "write `|> plot.line_width(1.0, _)` behind the plot"),
    (Plot, &["loglog", "semilogx", "semilogy", "xscale", "yscale"], "write `|> plot.log_x` or `|> plot.log_y` behind the plot"),
    (Plot, &["savefig", "save", "show", "draw", "display"], "the program gives the plot, and `diffeo run FILE --plot picture.svg` draws it"),
    // Functions of Diffeo taken for something else.
    (Function, &["max"], "`max(a, b)` is the larger of two numbers; that of an array is `maximum(xs)`"),
    (Function, &["min"], "`min(a, b)` is the smaller of two numbers; that of an array is `minimum(xs)`"),
    (Function, &["map"], "`map(f, xs)` goes over one array, `map2(fn (x, y) -> e, xs, ys)` over two, `map3` over three"),
    (Function, &["maximum"], "`maximum(xs)` is of one array; the larger of two numbers is `max(a, b)`"),
    (Function, &["minimum"], "`minimum(xs)` is of one array; the smaller of two numbers is `min(a, b)`"),
    (Function, &["sum", "product", "mean"], "it is of one array: `sum([a, b])`, `sum([x * x for x in xs])`"),
    (Function, &["grad", "value_and_grad"], "`grad(f)(x)` is of a function that gives a Real; of one that gives an array it is `jacobian(f)(x)`, along a tangent `jvp(f, x, dx)`"),
    (Function, &["hessian"], "`hessian(f)(x)` is of a function that gives a Real; of one that gives an array it is `jacobian(jacobian(f))(x)`"),
    (Function, &["scan", "reduce"], "`f` joins two elements, `neutral` is one of them, too; with a state of another type use `fold_left` or a `loop`"),
    (Function, &["fold_left", "fold_left_list", "fold_right_list"], FOLDS),
    (Function, &["fst", "snd"], "it is of a pair; a component of any tuple is `p.0`, `p.1`, …"),
    (Function, &["assert"], "write `assert(condition, \"what is wrong\")`"),
    (Function, &["length"], "the length of a list is `length_list(xs)`"),
    (Function, &["round"], "`round(x)` makes an Int of a Real; to two digits, `real(round(100.0 * x)) / 100.0` is a Real"),
    (Function, &["floor", "ceil", "trunc"], "it makes an Int of a Real; an Int needs it not"),
    (Function, &["zeros", "ones"], "`zeros(n)` is an array of n numbers; a matrix is written `[[0.0 for j < m] for i < n]`"),
    (Function, &["append"], "`append` joins two lists; an element is put behind an array by `xs ++ [x]`, and arrays are joined by `xs ++ ys`"),
    (Function, &["concat"], "`concat(xss)` joins the rows of one array; two arrays are joined by `xs ++ ys`"),
    (Function, &["where"], "`where(conditions, xs, ys)` chooses among the elements of two arrays; a choice by element is `[if x > 0.0 then x else 0.0 for x in xs]`"),
    (Function, &["clip"], "the bounds come first: `clip(low, high, x)`"),
    (Function, &["zip"], "`zip(xs, ys)` is of two arrays of one length"),
    (Function, &["pow"], "`pow(x, p)` is of two Reals; write `x ^ n` for an Int n"),
];

#[cfg(test)]
mod tests {
    use super::{density, replacement, Role, TABLE};

    #[test]
    fn each_text_has_one_replacement() {
        for (i, (role, names, help)) in TABLE.iter().enumerate() {
            assert!(!help.ends_with('.') && !help.is_empty(), "{help}");
            for name in *names {
                let first = TABLE.iter().position(|(r, n, _)| r == role && n.contains(name));
                assert_eq!(first, Some(i), "{role:?} {name} stands twice");
            }
        }
        assert_eq!(density("std_normal_lpdf").as_deref(), Some("normal_logpdf"));
        assert_eq!(density("gamma_lcdf").as_deref(), Some("gamma_logcdf"));
        assert_eq!(density("normal_logpdf"), None);
        assert_eq!(replacement(Role::Constructor, "True"), Some("write `true`"));
        assert_eq!(replacement(Role::Value, "True"), None);
    }
}
