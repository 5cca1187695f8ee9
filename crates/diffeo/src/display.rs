//! Types as the user writes them.

use crate::db::Db;
use crate::types::{Scheme, Size, SizeVar, Ty, TyVar};
use std::collections::HashMap;
use std::fmt::Write;

/// Names the variables of several types consistently.
pub struct Printer<'a> {
    db: &'a Db,
    names: HashMap<TyVar, String>,
    taken: Vec<String>,
    sizes: Vec<SizeVar>,
    /// Whether declared types are written with their modules.
    qualified: bool,
}

impl<'a> Printer<'a> {
    /// A printer without names so far.
    pub fn new(db: &'a Db) -> Self {
        Printer {
            db,
            names: HashMap::new(),
            taken: Vec::new(),
            sizes: Vec::new(),
            qualified: false,
        }
    }

    /// A printer that writes declared types with their modules.
    pub fn qualified(db: &'a Db) -> Self {
        Printer { qualified: true, ..Printer::new(db) }
    }

    /// The type as text.
    pub fn ty(&mut self, ty: &Ty) -> String {
        let mut out = String::new();
        self.write(ty, false, &mut out);
        out
    }

    /// A size as text, without brackets.
    pub fn size(&mut self, size: Size) -> String {
        match self.db.store.size(size) {
            Size::Known(n) => n.to_string(),
            Size::Unknown => String::new(),
            s @ Size::Var(v) => match self.db.store.size_origin(s) {
                Some((name, _)) => name.to_string(),
                None => {
                    // Sizes without a name of their own: n, m, k, l, then n1, …
                    let known = self.sizes.iter().position(|w| *w == v);
                    let i = known.unwrap_or_else(|| {
                        self.sizes.push(v);
                        self.sizes.len() - 1
                    });
                    let letter = ["n", "m", "k", "l"][i % 4];
                    if i < 4 {
                        letter.to_string()
                    } else {
                        format!("{letter}{}", i / 4)
                    }
                }
            },
        }
    }

    fn var(&mut self, v: TyVar) -> String {
        if let Some(name) = self.names.get(&v) {
            return name.clone();
        }
        let mut name = self.db.store.var_name(v).map(|n| n.to_string());
        if name.as_ref().is_some_and(|n| self.taken.contains(n)) {
            name = None;
        }
        let name = name.unwrap_or_else(|| {
            (0u32..)
                .map(|i| {
                    let letter = char::from(b'a' + (i % 26) as u8);
                    if i < 26 {
                        letter.to_string()
                    } else {
                        format!("{letter}{}", i / 26)
                    }
                })
                .find(|n| !self.taken.contains(n))
                .unwrap_or_default()
        });
        self.taken.push(name.clone());
        self.names.insert(v, name.clone());
        name
    }

    fn list<'t>(&mut self, items: impl Iterator<Item = &'t Ty>, out: &mut String) {
        for (i, t) in items.enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            self.write(t, false, out);
        }
    }

    fn write(&mut self, ty: &Ty, atom: bool, out: &mut String) {
        match self.db.store.shallow(ty) {
            Ty::Error => out.push('_'),
            Ty::Var(v) => out.push_str(&self.var(v)),
            Ty::Real => out.push_str("Real"),
            Ty::Int => out.push_str("Int"),
            Ty::Bool => out.push_str("Bool"),
            Ty::String => out.push_str("String"),
            Ty::Unit => out.push_str("()"),
            Ty::Param(i) => {
                let _ = write!(out, "'{i}");
            }
            Ty::Tuple(ts) => {
                out.push('(');
                self.list(ts.iter(), out);
                out.push(')');
            }
            Ty::Record(fs) => {
                out.push('{');
                for (i, (n, t)) in fs.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    let _ = write!(out, "{n}: ");
                    self.write(t, false, out);
                }
                out.push('}');
            }
            Ty::Array(s, t) => {
                let size = self.size(s);
                let _ = write!(out, "[{size}]");
                self.write(&t, true, out);
            }
            Ty::Data(d, ts) => {
                let data = self.db.data(d);
                if self.qualified {
                    let _ = write!(out, "{}.", self.db.module(data.module).name);
                }
                out.push_str(&data.name);
                if !ts.is_empty() {
                    out.push('[');
                    self.list(ts.iter(), out);
                    out.push(']');
                }
            }
            Ty::Fun(f) => {
                if atom {
                    out.push('(');
                }
                self.write(&f.0, true, out);
                out.push_str(" -> ");
                self.write(&f.1, false, out);
                if atom {
                    out.push(')');
                }
            }
        }
    }
}

/// A scheme as text, with its first-order constraints.
pub fn scheme(db: &Db, scheme: &Scheme) -> String {
    let mut printer = Printer::new(db);
    let mut text = printer.ty(&scheme.ty);
    let constrained: Vec<String> = scheme
        .vars
        .iter()
        .filter(|v| db.store.needs_first_order(**v) && printer.names.contains_key(v))
        .map(|v| printer.names[v].clone())
        .collect();
    if !constrained.is_empty() {
        let _ = write!(text, "   with {} first-order", constrained.join(", "));
    }
    text
}
