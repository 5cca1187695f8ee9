//! External functions of CasADi.
//!
//! CasADi finds derivatives by their names: of `f`, `fwd1_f` along tangents, `adj1_f` for cotangents, and `fwd1_adj1_f`
//! of the latter along tangents. They take what `f` takes, what it gives (which is not read), then tangents or cotangents.

use super::{data, elem, locals, rank, released, shape, KnownSizes, Unfit, POOL};
use crate::c::library::{CValue, Exported};
use crate::c::literal::string;
use diffeo_array::ir::Elem;
use std::fmt::Write;

const RUNTIME: &str = include_str!("../runtime/interface/casadi.c");

/// External functions: functions of the library by their numbers.
pub struct Casadi {
    /// The functions, and where their derivatives are, if there are any.
    pub functions: Vec<(usize, Option<Companions>)>,
    /// The sizes that the program does not say.
    pub sizes: KnownSizes,
}

/// Where the derivatives of a function are.
pub struct Companions {
    /// Along tangents: `(S, S) → (T, T)`.
    pub forward: usize,
    /// For cotangents: `(S, T) → (T, S)`.
    pub reverse: usize,
    /// Of the latter, along tangents.
    pub forward_reverse: usize,
}

/// What a function takes, or what it gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Takes,
    Gives,
}

use Side::{Gives, Takes};

/// A value as CasADi sees it: what its name begins with, and the value.
type Slot<'f> = (&'static str, &'f CValue);

/// A call of a function of the library.
struct Call<'f> {
    /// The name for CasADi.
    name: String,
    function: &'f Exported,
    takes: Vec<Slot<'f>>,
    gives: Vec<Slot<'f>>,
    /// For each parameter of the function, which of the values CasADi gives it is.
    arguments: Vec<usize>,
    /// The first of its results that CasADi takes.
    first: usize,
}

impl Casadi {
    pub(super) fn source(&self, functions: &[Exported]) -> Result<String, Unfit> {
        let mut text = RUNTIME.to_string() + POOL;
        text += "#if defined(__GNUC__)\n#pragma GCC visibility push(default)\n#endif\n\n";
        for (i, companions) in &self.functions {
            let f = &functions[*i];
            let unfit = |(in_result, why)| Unfit { number: *i, in_result, why };
            self.check(f).map_err(unfit)?;
            let name = format!("{}_casadi", f.name);
            let (n, m) = (f.params.len(), f.results.len());
            let sides = |parts: &[(&'static str, Side)]| -> Vec<Slot<'_>> {
                let part = |(prefix, side): &(&'static str, Side)| {
                    let leaves = if *side == Takes { &f.params } else { &f.results };
                    let prefix = *prefix;
                    leaves.iter().map(move |leaf| (prefix, leaf)).collect::<Vec<_>>()
                };
                parts.iter().flat_map(part).collect()
            };
            let inputs = ("", Takes);
            let mut calls = vec![Call {
                name: name.clone(),
                function: f,
                takes: sides(&[inputs]),
                gives: sides(&[("", Gives)]),
                arguments: (0..n).collect(),
                first: 0,
            }];
            if let Some(at) = companions {
                let (outputs, point) = (("out_", Gives), 0..n);
                calls.push(Call {
                    name: format!("fwd1_{name}"),
                    function: &functions[at.forward],
                    takes: sides(&[inputs, outputs, ("fwd_", Takes)]),
                    gives: sides(&[("fwd_", Gives)]),
                    arguments: point.clone().chain(n + m..n + m + n).collect(),
                    first: m,
                });
                calls.push(Call {
                    name: format!("adj1_{name}"),
                    function: &functions[at.reverse],
                    takes: sides(&[inputs, outputs, ("adj_", Gives)]),
                    gives: sides(&[("adj_", Takes)]),
                    arguments: point.clone().chain(n + m..n + m + m).collect(),
                    first: m,
                });
                // Of (x, out, bar), the value of (x_bar), and tangents of the three: the middle one is not read.
                let bars = n + m..n + 2 * m;
                let dots = 2 * n + 2 * m;
                calls.push(Call {
                    name: format!("fwd1_adj1_{name}"),
                    function: &functions[at.forward_reverse],
                    takes: sides(&[
                        inputs,
                        outputs,
                        ("adj_", Gives),
                        ("out_adj_", Takes),
                        ("fwd_", Takes),
                        ("fwd_out_", Gives),
                        ("fwd_adj_", Gives),
                    ]),
                    gives: sides(&[("fwd_adj_", Takes)]),
                    arguments: point
                        .chain(bars)
                        .chain(dots..dots + n)
                        .chain(dots + n + m..dots + n + 2 * m)
                        .collect(),
                    first: 2 * m + n,
                });
            }
            for call in &calls {
                text += &self.external(call).map_err(|why| (*i, why))?;
            }
        }
        Ok(text + "#if defined(__GNUC__)\n#pragma GCC visibility pop\n#endif\n")
    }

    /// Whether what a function of the program takes and gives has sizes: so have its derivatives.
    fn check(&self, f: &Exported) -> Result<(), (bool, String)> {
        let values = |leaves: &[CValue], result: bool| {
            leaves.iter().try_for_each(|leaf| {
                let value = match (result, leaf.path.len()) {
                    (false, _) => format!("the parameter `{}` of `{}`", leaf.path.join("."), f.of),
                    (true, 0 | 1) => format!("the result of `{}`", f.of),
                    (true, _) => {
                        format!("`{}` in the result of `{}`", leaf.path[1..].join("."), f.of)
                    }
                };
                self.sizes(leaf, &value).map(|_| ()).map_err(|why| (result, why))
            })
        };
        values(&f.params, false)?;
        values(&f.results, true)
    }

    /// Rows and columns of what messages call `value`.
    fn sizes(&self, leaf: &CValue, value: &str) -> Result<[u64; 2], String> {
        if elem(leaf).is_none() || rank(leaf) > 2 {
            let what = if elem(leaf).is_none() { "has texts" } else { "has more than two indices" };
            return Err(format!("CasADi has matrices of numbers, and {value} {what}"));
        }
        let mut found = [1, 1];
        for (i, size) in found.iter_mut().enumerate().take(rank(leaf)) {
            let said = leaf.sizes.get(i).map_or("", String::as_str);
            let known = said.parse().ok().or_else(|| self.sizes.get(said).copied());
            *size = known.ok_or_else(|| match said {
                "" => format!(
                    "CasADi has to know all sizes, and {value} has one without a name: write its type there, as in `[m]Real`, and `--size m=8`"
                ),
                said => format!(
                    "CasADi has to know all sizes, and `{said}` of {value} is not known: say it by `--size {said}=8`"
                ),
            })?;
        }
        Ok(found)
    }

    fn table(&self, name: &str, slots: &[Slot<'_>], of: &str) -> Result<String, String> {
        let mut text = format!("static const value {name}[] = {{");
        for (prefix, leaf) in slots {
            let [rows, columns] = self.sizes(leaf, of)?;
            let label = string(&format!("{prefix}{}", leaf.name));
            // Writing to a string does not fail.
            let _ = write!(text, "{{{label}, {{{rows}, {columns}, 1}}}}, ");
        }
        Ok(text + "{\"\", {0, 0, 0}}};\n")
    }

    fn external(&self, call: &Call<'_>) -> Result<String, String> {
        let Call { name, function, takes, gives, arguments, first } = call;
        let of = &function.name;
        let mut text = self.table(&format!("{name}_takes"), takes, of)?;
        text += &self.table(&format!("{name}_gives"), gives, of)?;
        let (mut work, mut taken, mut passed) = (0, String::new(), String::new());
        for (i, (slot, leaf)) in arguments.iter().zip(&function.params).enumerate() {
            let [rows, columns] = self.sizes(takes[*slot].1, of)?;
            work += rows * columns + 1;
            let (ty, suffix) = kind(leaf);
            let _ = writeln!(
                taken,
                "  {ty} *a{i} = take_{suffix}(&w, arg[{slot}], {rows}, {columns});"
            );
            if rank(leaf) > 0 {
                let shape =
                    if rank(leaf) > 1 { format!("{rows}, {columns}") } else { rows.to_string() };
                let _ = writeln!(taken, "  static const int64_t s{i}[] = {{{shape}}};");
                let _ = write!(passed, ", a{i}, s{i}");
            } else {
                let _ = write!(passed, ", *a{i}");
            }
        }
        (0..function.results.len()).for_each(|i| passed += &format!(", &r{i}"));
        let _ = writeln!(text, "EXTERNAL({name}, {}, {}, {work})", takes.len(), gives.len());
        let _ = write!(
            text,
            "int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem) {{\n{taken}{}  (void)arg, \
             (void)iw, (void)w, (void)mem;\n  NAME_context *context = take_context();\n  int32_t status = context ? \
             {of}(context{passed}) : 17;\n  bool fits = true;\n  if (status) {{\n    \
             fprintf(stderr, \"%s\\n\", context ? NAME_message(context) : \"there is no memory\");\n  }} else {{\n",
            locals(&function.results)
        );
        for (i, (prefix, leaf)) in gives.iter().enumerate() {
            let [rows, columns] = self.sizes(leaf, of)?;
            let (_, suffix) = kind(leaf);
            let derivative = !prefix.is_empty();
            if derivative && elem(leaf) != Some(Elem::Real) {
                let _ = writeln!(text, "    fits &= give_zeros(res[{i}], {});", rows * columns);
                continue;
            }
            let at = first + i;
            let from = &function.results[at];
            let (data, shape, rank) = (data(from, at), shape(from, at), rank(from));
            let _ = writeln!(
                text,
                "    fits &= give_{suffix}(res[{i}], {data}, {shape}, {rank}, {rows}, {columns});"
            );
        }
        text += &released(&function.results, "    ");
        let _ = write!(
            text,
            "    if (!fits) fprintf(stderr, \"{of}: a result has other sizes than CasADi was told\\n\");\n  }}\n  if \
             (context) give_context(context);\n  return status || !fits;\n}}\n\n"
        );
        Ok(text)
    }
}

/// The type of elements, and what ends the names of what takes and gives them.
fn kind(leaf: &CValue) -> (&'static str, &'static str) {
    match elem(leaf) {
        Some(Elem::Int) => ("int64_t", "ints"),
        Some(Elem::Bool) => ("bool", "bools"),
        Some(Elem::Real | Elem::Text | Elem::Box(_)) | None => ("double", "reals"),
    }
}
