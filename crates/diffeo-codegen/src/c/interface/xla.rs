//! Handlers of XLA's foreign function interface.

use super::{data, elem, locals, rank, released, shape, POOL};
use crate::c::library::{c_type, CValue, Crossing, Exported};
use crate::c::literal::string;
use diffeo_array::ir::Elem;
use std::fmt::Write;

const RUNTIME: &str = include_str!("../runtime/interface/xla_ffi.c");

/// The file, or the number of a function for which there is none, and why.
pub(super) fn source(functions: &[Exported]) -> Result<String, (usize, String)> {
    let mut text = RUNTIME.to_string() + POOL;
    text += "#if defined(__GNUC__)\n#pragma GCC visibility push(default)\n#endif\n\n";
    for (number, function) in functions.iter().enumerate() {
        text += &handler(function).map_err(|why| (number, why))?;
    }
    Ok(text + "#if defined(__GNUC__)\n#pragma GCC visibility pop\n#endif\n")
}

/// The number that XLA has for a type.
fn dtype(function: &Exported, leaf: &CValue) -> Result<u8, String> {
    let elem = elem(leaf)
        .ok_or_else(|| format!("XLA has no texts, and `{}` of `{}` has", leaf.name, function.of))?;
    Ok(match elem {
        Elem::Real => 12,
        Elem::Bool => 1,
        Elem::Int | Elem::Text | Elem::Box(_) => 5,
    })
}

fn handler(function: &Exported) -> Result<String, String> {
    let Exported { name, params, results, .. } = function;
    let mut text = format!("void *{name}_xla(frame *call);\nvoid *{name}_xla(frame *call) {{\n");
    text += "  static const value expected[] = {";
    for leaf in params.iter().chain(results) {
        // Writing to a string does not fail.
        let dtype = dtype(function, leaf)?;
        let _ = write!(text, "{{{}, {dtype}, {}}}, ", string(&leaf.name), rank(leaf));
    }
    text += "{\"\", 0, 0}};\n  if (tells(call)) return NULL;\n";
    let (takes, gives) = (params.len(), results.len());
    let _ = write!(
        text,
        "  void *failed = misfit(call, \"{name}\", &call->takes, expected, {takes});\n  if (!failed) failed = \
         misfit(call, \"{name}\", &call->gives, expected + {takes}, {gives});\n  if (failed) return failed;\n"
    );
    text += "  NAME_context *context = take_context();\n  if (!context) return fail(call, 8, \"there is no memory\");\n";
    if takes > 0 {
        text += "  buffer **in = call->takes.items;\n";
    }
    text += &locals(results);
    let _ = write!(text, "  int32_t status = {name}(context");
    for (i, leaf) in params.iter().enumerate() {
        let ty = elem(leaf).map_or("double", |elem| c_type(elem).0);
        let _ = match leaf.crossing {
            Crossing::Array(..) => write!(text, ", in[{i}]->data, in[{i}]->dims"),
            Crossing::Scalar(_) | Crossing::Text => write!(text, ", *({ty} *)in[{i}]->data"),
        };
    }
    (0..gives).for_each(|i| text += &format!(", &r{i}"));
    text += ");\n  if (status) {\n    failed = fail(call, 3, NAME_message(context));\n  } else {\n    bool fits = true;\n";
    for (i, leaf) in results.iter().enumerate() {
        let size = elem(leaf).map_or(8, |elem| c_type(elem).3);
        let (data, shape) = (data(leaf, i), shape(leaf, i));
        let _ = writeln!(text, "    fits &= put(call->gives.items[{i}], {data}, {shape}, {size});");
    }
    text += &released(results, "    ");
    let _ = write!(
        text,
        "    if (!fits) failed = fail(call, 3, \"{name}: a result has other sizes than its buffer\");\n  }}\n  \
         give_context(context);\n  return failed;\n}}\n\n"
    );
    Ok(text)
}
