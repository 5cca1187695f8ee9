//! Types of Core as the language writes them; sizes, which Core does not have, are left open:
//! `[]Real`.

use diffeo_base::field_name;
use diffeo_calculus::ty::{DataDecl, Ty};

/// The type as the language writes it.
pub fn show_type(ty: &Ty, datas: &[DataDecl]) -> String {
    let mut text = String::new();
    write_type(&mut text, ty, datas);
    text
}

fn write_type(out: &mut String, ty: &Ty, datas: &[DataDecl]) {
    match ty {
        Ty::Real => out.push_str("Real"),
        Ty::Int => out.push_str("Int"),
        Ty::Bool => out.push_str("Bool"),
        Ty::String => out.push_str("String"),
        Ty::Unit => out.push_str("()"),
        Ty::Tuple(components) => separated(out, ('(', ')'), components, datas),
        Ty::Record(fields) => {
            out.push('{');
            for (i, (name, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                out.push_str(&field_name(name));
                out.push_str(": ");
                write_type(out, field, datas);
            }
            out.push('}');
        }
        Ty::Array(element) => {
            out.push_str("[]");
            write_operand(out, element, datas);
        }
        Ty::Data(id, args) => {
            match datas.get(id.0 as usize) {
                Some(decl) => out.push_str(&decl.name),
                None => out.push('?'),
            }
            if !args.is_empty() {
                separated(out, ('[', ']'), args, datas);
            }
        }
        Ty::Fun(f) => {
            write_operand(out, &f.0, datas);
            out.push_str(" -> ");
            write_type(out, &f.1, datas);
        }
        Ty::Param(i) => {
            out.push('t');
            out.push_str(&i.to_string());
        }
    }
}

/// Functions need parentheses where an operand stands.
fn write_operand(out: &mut String, ty: &Ty, datas: &[DataDecl]) {
    if matches!(ty, Ty::Fun(_)) {
        out.push('(');
        write_type(out, ty, datas);
        out.push(')');
    } else {
        write_type(out, ty, datas);
    }
}

fn separated(out: &mut String, brackets: (char, char), types: &[Ty], datas: &[DataDecl]) {
    out.push(brackets.0);
    for (i, ty) in types.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_type(out, ty, datas);
    }
    out.push(brackets.1);
}
