//! Types as the user writes them, by the names that the program gives them, and where two of them differ.

use crate::db::Db;
use crate::types::{Scheme, Size, SizeVar, Ty, TyVar};
use diffeo_base::field_name;
use std::collections::HashMap;
use std::fmt::Write;

/// How many nodes of a type are compared with an alias: types may be exponentially larger than their declarations.
const MOST_NODES: usize = 1 << 12;

/// How many nodes of a type are written: the rest is `…`.
const MOST_WRITTEN: usize = 1 << 12;

/// How many nodes are compared with aliases for one text.
const MOST_COMPARED: usize = 1 << 20;

/// From how many nodes on a type that is no record is written by its alias; smaller ones say more than a name.
const LONG: usize = 5;

/// From how many characters on a type is written without what is deep in it, where that is said otherwise.
const WIDE: usize = 100;

/// Names the variables of several types consistently.
pub struct TypePrinter<'a> {
    db: &'a Db,
    names: HashMap<TyVar, String>,
    taken: Vec<String>,
    sizes: Vec<SizeVar>,
    /// Whether declared types are written with their modules.
    qualified: bool,
    /// Whether types are written by the names that aliases give them.
    named: bool,
    /// How many levels of records, tuples and arguments are written; deeper ones are `…`.
    levels: usize,
    /// How many nodes may still be written, and compared.
    left: usize,
    compared: usize,
}

impl<'a> TypePrinter<'a> {
    /// A printer without names so far.
    pub fn new(db: &'a Db) -> Self {
        TypePrinter {
            db,
            names: HashMap::new(),
            taken: Vec::new(),
            sizes: Vec::new(),
            qualified: false,
            named: true,
            levels: usize::MAX,
            left: 0,
            compared: 0,
        }
    }

    /// A printer that writes out what aliases stand for.
    pub fn plain(db: &'a Db) -> Self {
        TypePrinter { named: false, ..TypePrinter::new(db) }
    }

    /// A printer that writes declared types with their modules.
    pub fn qualified(db: &'a Db) -> Self {
        TypePrinter { qualified: true, ..TypePrinter::new(db) }
    }

    /// The type as text.
    pub fn ty(&mut self, ty: &Ty) -> String {
        let mut out = String::new();
        (self.left, self.compared) = (MOST_WRITTEN, MOST_COMPARED);
        self.write(ty, false, &mut out);
        out
    }

    /// The type as text, without what is deep in it if that is long.
    pub fn brief(&mut self, ty: &Ty) -> String {
        let text = self.ty(ty);
        if text.chars().count() <= WIDE {
            return text;
        }
        self.levels = 1;
        let brief = self.ty(ty);
        self.levels = usize::MAX;
        brief
    }

    /// The alias that stands for a type, with its arguments.
    fn alias(&mut self, ty: &Ty) -> Option<(String, Vec<Ty>)> {
        let ty = self.db.store.shallow(ty);
        let worthy = match &ty {
            Ty::Record(_) => true,
            Ty::Tuple(_) | Ty::Array(..) | Ty::Fun(_) => nodes(self.db, &ty, LONG) >= LONG,
            Ty::Error
            | Ty::Var(_)
            | Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Data(..)
            | Ty::Param(_) => false,
        };
        if !worthy {
            return None;
        }
        // The program's own names come before those of the library.
        let (own, library): (Vec<_>, Vec<_>) =
            self.db.aliases.iter().partition(|alias| !self.db.module(alias.module).std);
        own.into_iter().chain(library).find_map(|alias| {
            // The alias of a parameter by itself would stand for every type, with that type as its argument.
            if matches!(alias.ty, Some(Ty::Param(_))) {
                return None;
            }
            let mut args = vec![None; alias.params.len()];
            let most = MOST_NODES.min(self.compared);
            let mut left = most;
            let matched = stands_for(self.db, alias.ty.as_ref()?, &ty, &mut args, &mut left);
            self.compared -= most - left;
            let args = args.into_iter().collect::<Option<Vec<Ty>>>().filter(|_| matched)?;
            Some((alias.name.to_string(), args))
        })
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
            if self.left == 0 {
                break;
            }
        }
    }

    fn write(&mut self, ty: &Ty, atom: bool, out: &mut String) {
        if self.left == 0 {
            return out.push('…');
        }
        self.left -= 1;
        if self.named {
            if let Some((name, args)) = self.alias(ty) {
                return self.named(&name, &args, out);
            }
        }
        let ty = self.db.store.shallow(ty);
        if self.levels == 0 && matches!(ty, Ty::Tuple(_) | Ty::Record(_) | Ty::Fun(_)) {
            return out.push('…');
        }
        let deeper = matches!(ty, Ty::Tuple(_) | Ty::Record(_));
        self.levels = self.levels.saturating_sub(usize::from(deeper));
        self.write_out(ty, atom, out);
        self.levels = self.levels.saturating_add(usize::from(deeper));
    }

    /// `Name[arguments]`
    fn named(&mut self, name: &str, args: &[Ty], out: &mut String) {
        out.push_str(name);
        if !args.is_empty() {
            out.push('[');
            self.list(args.iter(), out);
            out.push(']');
        }
    }

    fn write_out(&mut self, ty: Ty, atom: bool, out: &mut String) {
        match ty {
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
                    let _ = write!(out, "{}: ", field_name(n));
                    self.write(t, false, out);
                    if self.left == 0 {
                        break;
                    }
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
                self.named(&data.name, &ts, out);
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
    let mut printer = TypePrinter::new(db);
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

/// How many nodes a type has, counted up to a bound.
fn nodes(db: &Db, ty: &Ty, most: usize) -> usize {
    if most == 0 {
        return 0;
    }
    let all = |parts: &mut dyn Iterator<Item = Ty>| {
        parts.fold(1, |n, t| n + nodes(db, &t, most.saturating_sub(n)))
    };
    match db.store.shallow(ty) {
        Ty::Tuple(ts) | Ty::Data(_, ts) => all(&mut ts.iter().cloned()),
        Ty::Record(fs) => all(&mut fs.iter().map(|(_, t)| t.clone())),
        Ty::Array(_, t) => all(&mut std::iter::once(Ty::clone(&t))),
        Ty::Fun(f) => all(&mut [f.0.clone(), f.1.clone()].into_iter()),
        Ty::Error
        | Ty::Var(_)
        | Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Param(_) => 1,
    }
}

/// Whether a type is the body of an alias with some arguments, which are put in their places; an unknown size of
/// the body stands for any. `left` bounds how many nodes are looked at.
fn stands_for(db: &Db, body: &Ty, ty: &Ty, args: &mut [Option<Ty>], left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    if body.part() == ty.part() && !matches!(body, Ty::Param(_)) {
        return true;
    }
    let mut all = |bodies: &[Ty], types: &[Ty], left: &mut usize| {
        bodies.len() == types.len()
            && bodies.iter().zip(types).all(|(b, t)| stands_for(db, b, t, args, left))
    };
    match (&db.store.shallow(body), &db.store.shallow(ty)) {
        (Ty::Param(i), t) => match &args[*i as usize] {
            Some(given) => same(db, &given.clone(), t, left),
            None => {
                args[*i as usize] = Some(t.clone());
                true
            }
        },
        (Ty::Real, Ty::Real)
        | (Ty::Int, Ty::Int)
        | (Ty::Bool, Ty::Bool)
        | (Ty::String, Ty::String)
        | (Ty::Unit, Ty::Unit) => true,
        (Ty::Tuple(bs), Ty::Tuple(ts)) => all(bs, ts, left),
        (Ty::Data(d, bs), Ty::Data(e, ts)) => d == e && all(bs, ts, left),
        (Ty::Record(bs), Ty::Record(ts)) => {
            bs.len() == ts.len()
                && bs.iter().zip(ts.iter()).all(|(b, t)| b.0 == t.0)
                && bs.iter().zip(ts.iter()).all(|(b, t)| stands_for(db, &b.1, &t.1, args, left))
        }
        (Ty::Array(m, b), Ty::Array(n, t)) => {
            (*m == Size::Unknown || *m == db.store.size(*n)) && stands_for(db, b, t, args, left)
        }
        (Ty::Fun(f), Ty::Fun(g)) => {
            stands_for(db, &f.0, &g.0, args, left) && stands_for(db, &f.1, &g.1, args, left)
        }
        _ => false,
    }
}

/// Whether two types are the same; sizes count.
fn same(db: &Db, a: &Ty, b: &Ty, left: &mut usize) -> bool {
    match (db.store.shallow(a), db.store.shallow(b)) {
        (Ty::Var(v), Ty::Var(w)) => v == w,
        (Ty::Array(m, x), Ty::Array(n, y)) => {
            db.store.size(m) == db.store.size(n) && same(db, &x, &y, left)
        }
        (a, b) => stands_for(db, &a, &b, &mut [], left),
    }
}

/// Where two types differ first, as a path from the whole: `.layers[].w`, or `the result` of functions; empty if
/// they differ as a whole, none where no difference is found.
pub fn mismatch(db: &Db, a: &Ty, b: &Ty) -> Option<String> {
    let mut path = Vec::new();
    differs(db, a, b, &mut path, &mut { MOST_NODES }).then(|| {
        let (places, fields): (Vec<String>, Vec<String>) =
            path.into_iter().partition(|step| step.starts_with("the "));
        let mut text = places.into_iter().rev().collect::<Vec<_>>().join(" of ");
        if !text.is_empty() && !fields.is_empty() {
            text.push_str(", at ");
        }
        if !fields.is_empty() {
            let _ = write!(text, "`{}`", fields.concat());
        }
        text
    })
}

/// Whether two types differ; `path` then leads to the place.
fn differs(db: &Db, a: &Ty, b: &Ty, path: &mut Vec<String>, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    let mut part = |step: String, a: &Ty, b: &Ty| {
        path.push(step);
        let found = differs(db, a, b, path, left);
        if !found {
            path.pop();
        }
        found
    };
    match (&db.store.shallow(a), &db.store.shallow(b)) {
        (Ty::Error, _)
        | (_, Ty::Error)
        | (Ty::Real, Ty::Real)
        | (Ty::Int, Ty::Int)
        | (Ty::Bool, Ty::Bool)
        | (Ty::String, Ty::String)
        | (Ty::Unit, Ty::Unit) => false,
        (Ty::Var(v), Ty::Var(w)) if v == w => false,
        (a @ Ty::Var(_), _) if db.store.open_var(a).is_some() => false,
        (_, b @ Ty::Var(_)) if db.store.open_var(b).is_some() => false,
        (Ty::Param(i), Ty::Param(j)) => i != j,
        (Ty::Tuple(xs), Ty::Tuple(ys)) if xs.len() == ys.len() => {
            xs.iter().zip(ys.iter()).enumerate().any(|(i, (x, y))| part(format!(".{i}"), x, y))
        }
        (Ty::Record(xs), Ty::Record(ys))
            if xs.len() == ys.len() && xs.iter().zip(ys.iter()).all(|(x, y)| x.0 == y.0) =>
        {
            xs.iter()
                .zip(ys.iter())
                .any(|(x, y)| part(format!(".{}", field_name(&x.0)), &x.1, &y.1))
        }
        (Ty::Array(m, x), Ty::Array(n, y)) => {
            let sizes = (db.store.size(*m), db.store.size(*n));
            let open = |size: Size| size == Size::Unknown || db.store.is_open_size(size);
            sizes.0 != sizes.1 && !open(sizes.0) && !open(sizes.1) || part("[]".into(), x, y)
        }
        (Ty::Data(d, xs), Ty::Data(e, ys)) if d == e => {
            let step =
                if Some(*d) == db.list { "[]".into() } else { format!(".{}", db.data(*d).name) };
            xs.iter().zip(ys.iter()).any(|(x, y)| part(step.clone(), x, y))
        }
        (Ty::Fun(f), Ty::Fun(g)) => {
            part("the argument".into(), &f.0, &g.0) || part("the result".into(), &f.1, &g.1)
        }
        _ => true,
    }
}
