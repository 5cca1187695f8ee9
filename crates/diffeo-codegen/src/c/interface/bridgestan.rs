//! Models of BridgeStan: a log density with its data.

use super::{data, elem, locals, rank, released, shape, short, KnownSizes, POOL};
use crate::c::library::{CValue, Exported};
use crate::c::literal::string;
use diffeo_array::ir::Elem;
use std::fmt::Write;

const HEAD: &str = include_str!("../runtime/interface/bridgestan.c");
const JSON: &str = include_str!("../runtime/interface/json.c");
const MODEL: &str = include_str!("../runtime/interface/model.c");
const CALLS: &str = include_str!("../runtime/interface/calls.c");

/// How many indices a value may have.
const MOST_INDICES: usize = 8;

/// A model: functions of the library by their numbers.
pub struct Bridgestan {
    /// The log density; data follow its first parameter.
    pub density: usize,
    /// Its value and gradient by the first parameter.
    pub gradient: usize,
    /// The derivative of the latter along a tangent of the first parameter.
    pub product: usize,
    /// What is reported of a draw, and whether it takes the data too.
    pub reported: Option<(usize, bool)>,
    /// How many values the first parameter consists of.
    pub parameters: usize,
    /// The sizes that the program does not say.
    pub sizes: KnownSizes,
}

impl Bridgestan {
    pub(super) fn source(&self, functions: &[Exported]) -> Result<String, (usize, String)> {
        let density = &functions[self.density];
        let (own, given) = density.params.split_at(self.parameters);
        if let Some(leaf) = own.iter().find(|leaf| elem(leaf) != Some(Elem::Real)) {
            let why = format!(
                "BridgeStan has parameters that are Reals, and `{}` is none: take it as data, behind the first parameter",
                short(leaf)
            );
            return Err((self.density, why));
        }
        let (number, reported) =
            self.reported.map_or((self.density, &[][..]), |(i, _)| (i, &functions[i].results[..]));
        for (number, leaves) in [(self.density, own), (self.density, given), (number, reported)] {
            distinct(leaves).map_err(|why| (number, why))?;
        }
        self.sizes_are_known(own, given).map_err(|why| (self.density, why))?;
        let mut text = HEAD.to_string() + JSON;
        for (name, leaves) in [("PARAMETERS", own), ("DATA", given), ("REPORTED", reported)] {
            // Writing to a string does not fail.
            let _ = writeln!(text, "#define {name} {}", leaves.len());
            let _ = writeln!(text, "static const datum {}[] = {{", name.to_lowercase());
            leaves.iter().for_each(|leaf| text += &datum(leaf));
            text += "    {\"\", 'r', 0, {\"\"}}};\n";
        }
        text += "static const struct { const char *name; int64_t size; } known[] = {";
        for (name, size) in &self.sizes {
            let _ = write!(text, "{{{}, {size}}}, ", string(name));
        }
        text += "{NULL, 0}};\n\n";
        text += MODEL;
        text += POOL;
        let point = |theta: &str| -> String {
            own.iter().enumerate().map(|(i, leaf)| at(i, leaf, theta)).collect()
        };
        let data: String = given.iter().enumerate().map(|(i, leaf)| datum_at(i, leaf)).collect();
        let call = |function: &Exported, arguments: &str| {
            let results: String = (0..function.results.len()).map(|i| format!(", &r{i}")).collect();
            let name = &function.name;
            format!(
                "{}  int32_t status = {name}(context{arguments}{results});\n  if (status) return status;\n",
                locals(&function.results)
            )
        };
        let head = |name: &str, rest: &str| {
            format!(
                "static int32_t call_{name}(const bs_model *m, NAME_context *context, const double *theta, {rest}) {{\n  \
                 (void)m, (void)theta;\n"
            )
        };
        let both = point("theta") + &data;
        text += &head("density", "double *value");
        text += &call(density, &both);
        text += "  *value = r0;\n  return 0;\n}\n\n";
        let gradient = &functions[self.gradient];
        text += &head("gradient", "double *value, double *gradient");
        text +=
            &(call(gradient, &both) + "  *value = r0;\n" + &gathered(gradient, 1, own, "gradient"));
        text += &(released(&gradient.results, "  ") + "  return 0;\n}\n\n");
        let product = &functions[self.product];
        text +=
            &head("product", "const double *along, double *value, double *gradient, double *to");
        text += &(call(product, &(both.clone() + &point("along")))
            + "  *value = r0;\n  if (gradient) {\n");
        text += &(gathered(product, 1, own, "  gradient") + "  }\n");
        text += &gathered(product, 2 + own.len(), own, "to");
        text += &(released(&product.results, "  ") + "  return 0;\n}\n\n");
        text += &head("reported", "double *to").replace("const bs_model", "bs_model");
        match self.reported {
            None => text += "  (void)context, (void)to, (void)report;\n  return 0;\n}\n\n",
            Some((i, takes_data)) => {
                let function = &functions[i];
                text += &call(function, &if takes_data { both } else { point("theta") });
                text += "  bool fits = true;\n";
                for (i, leaf) in function.results.iter().enumerate() {
                    let (data, shape) = (self::data(leaf, i), shape(leaf, i));
                    let _ = writeln!(text, "  fits &= report(m, {i}, {data}, {shape}, to);");
                }
                text += &(released(&function.results, "  ") + "  return !fits;\n}\n\n");
            }
        }
        Ok(text + CALLS)
    }

    /// Each size of a parameter is a number, that of data, or an Int among the data.
    fn sizes_are_known(&self, own: &[CValue], given: &[CValue]) -> Result<(), String> {
        for leaf in own {
            for size in leaf.sizes.iter().take(rank(leaf)) {
                let known = size.parse::<u64>().is_ok()
                    || self.sizes.contains_key(size)
                    || given.iter().any(|data| {
                        let named = data.sizes.iter().take(rank(data)).any(|s| s == size);
                        let int = elem(data) == Some(Elem::Int) && rank(data) == 0;
                        named || (int && short(data) == *size)
                    });
                let name = short(leaf);
                match size.as_str() {
                    "" => {
                        return Err(format!(
                            "BridgeStan has to know how many parameters there are, and a size of `{name}` has no name: \
                             annotate it, as in `[n]Real`"
                        ))
                    }
                    size if !known => {
                        return Err(format!(
                            "BridgeStan has to know how many parameters there are, and no data have the size `{size}` \
                             of `{name}`: say it by `--size {size}=8`"
                        ))
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Names are not used twice, and no value is a text or has too many indices.
fn distinct(leaves: &[CValue]) -> Result<(), String> {
    for (i, leaf) in leaves.iter().enumerate() {
        let name = short(leaf);
        if leaves[..i].iter().any(|other| short(other) == name) {
            return Err(format!(
                "BridgeStan knows values by their names, and two are called `{name}`"
            ));
        }
        if elem(leaf).is_none() || rank(leaf) > MOST_INDICES {
            return Err(format!(
                "BridgeStan has numbers and arrays of up to {MOST_INDICES} indices, and `{name}` is none"
            ));
        }
    }
    Ok(())
}

fn letter(leaf: &CValue) -> char {
    match elem(leaf) {
        Some(Elem::Int) => 'i',
        Some(Elem::Bool) => 'b',
        Some(Elem::Real | Elem::Text | Elem::Box(_)) | None => 'r',
    }
}

/// The row of a table for a value.
fn datum(leaf: &CValue) -> String {
    let rank = rank(leaf);
    let size = |i: usize| string(leaf.sizes.get(i).map_or("", String::as_str));
    let sizes: Vec<String> = (0..rank.max(1)).map(size).collect();
    format!(
        "    {{{}, '{}', {rank}, {{{}}}}},\n",
        string(&short(leaf)),
        letter(leaf),
        sizes.join(", ")
    )
}

/// A parameter within the vector of all.
fn at(i: usize, leaf: &CValue, theta: &str) -> String {
    match rank(leaf) {
        0 => format!(", {theta}[m->at[{i}]]"),
        _ => format!(", {theta} + m->at[{i}], m->shape[{i}]"),
    }
}

/// A value among the data.
fn datum_at(i: usize, leaf: &CValue) -> String {
    let get = match letter(leaf) {
        'i' => "INTS",
        'b' => "BOOLS",
        _ => "REALS",
    };
    match rank(leaf) {
        0 => format!(", *{get}({i})"),
        _ => format!(", {get}({i}), m->data[{i}].shape"),
    }
}

/// Statements that copy results from a number on to their places in a vector, whose name may be indented.
fn gathered(function: &Exported, first: usize, own: &[CValue], to: &str) -> String {
    let name = to.trim_start();
    let indent = &to[..to.len() - name.len()];
    let copy = |(i, leaf): (usize, &CValue)| {
        let result = data(&function.results[first + i], first + i);
        match rank(leaf) {
            0 => format!("  {indent}{name}[m->at[{i}]] = r{};\n", first + i),
            rank => format!(
                "  {indent}memcpy({name} + m->at[{i}], {result}, (size_t)product(m->shape[{i}], {rank}) * \
                 sizeof(double));\n"
            ),
        }
    };
    own.iter().enumerate().map(copy).collect()
}
