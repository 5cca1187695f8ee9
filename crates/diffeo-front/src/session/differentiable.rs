//! Functions that are differentiated from outside the program, with the points that programs give.
//!
//! In: the name of a definition, perhaps that of a definition of its argument. Out: both elaborated into
//! one program, together with the modes of differentiation at their types. What always holds: the
//! function goes from a first-order type to a first-order type, and the point is of the former.

use super::{Entry, Session};
use crate::db::{DefId, ModuleId};
use crate::display::TypePrinter;
use crate::types::{Ty as Inferred, Why};
use diffeo_base::{Diagnostic, Name, Span};
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::typing::mentions_real;
use diffeo_calculus::Ty;
use std::rc::Rc;

/// The modes as functions of a function, in the scope of the standard library.
const MODES: &str = include_str!("modes.deo");

/// The name of their module; no import can name it.
const MODULE: &str = "derivative check";

/// A function that can be differentiated.
#[derive(Clone)]
pub struct Differentiable {
    /// The function, and the program that everything here is in.
    pub entry: Entry,
    /// What it takes.
    pub from: Ty,
    /// What it gives.
    pub to: Ty,
    /// Both as the user writes them.
    pub written: (String, String),
    /// The definition of a point, if one was asked for.
    pub point: Option<GlobalId>,
    /// The modes at these types.
    pub modes: Modes,
}

/// The definitions of [`MODES`].
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    /// The vector-Jacobian product.
    pub reverse: GlobalId,
    /// The Jacobian-vector product.
    pub forward: GlobalId,
    /// Taylor coefficients along a direction.
    pub taylor: GlobalId,
    /// The function along a line.
    pub line: GlobalId,
}

impl Differentiable {
    /// Why there is nothing to differentiate, where that is so: no Real in the types.
    pub fn without_reals(&self) -> Option<Diagnostic> {
        let Entry { program, name, span, .. } = &self.entry;
        let sides = [("takes", &self.from, &self.written.0), ("gives", &self.to, &self.written.1)];
        let lacking = sides.into_iter().find(|(_, ty, _)| !mentions_real(ty, program));
        lacking.map(|(what, _, ty)| {
            refusal(name, *span, &format!("there is no Real in what it {what}, {ty}"))
        })
    }
}

impl Session {
    /// A function to be differentiated, at a point that a definition gives or that comes from outside.
    /// What a polymorphic function leaves open, the point decides. What is wrong goes to
    /// [`Session::diagnostics`].
    pub fn differentiable(
        &mut self,
        module: ModuleId,
        name: &str,
        point: Option<(ModuleId, &str)>,
    ) -> Option<Differentiable> {
        if self.has_errors() {
            return None;
        }
        let def = self.definition(module, name)?;
        let point = match point {
            Some((module, name)) => Some(self.definition(module, name)?),
            None => None,
        };
        let info = self.db.def(def);
        let (name, span) = (info.name.clone(), info.span);
        let scheme = info.scheme.clone()?;
        let (function_args, ty) = self.instance_of(def)?;
        let mut printer = TypePrinter::new(&self.db);
        let (Inferred::Fun(own), Inferred::Fun(function)) =
            (self.db.store.shallow(&scheme.ty), self.db.store.shallow(&ty))
        else {
            let ty = printer.ty(&scheme.ty);
            let d = refusal(&name, span, &format!("it is no function, but of type {ty}"));
            self.db.report(d.help("define a function of what is to vary"));
            return None;
        };
        let written = (printer.ty(&own.0), printer.ty(&own.1));
        let (from, to) = (function.0.clone(), function.1.clone());
        let point_args = match point {
            Some(point) => Some((point, self.at_point(&name, (&from, &written.0), point)?)),
            None => None,
        };
        for (what, ty, written) in [("takes", &from, &written.0), ("gives", &to, &written.1)] {
            if self.holds_function(ty) {
                let d = refusal(&name, span, &format!("it {what} a function, in {written}"));
                self.db.report(
                    d.help("define a function from data to data, in which the others are applied"),
                );
                return None;
            }
        }
        if self.holds_variable(&from) {
            let why = format!("nothing determines all of its parameter's type, {}", written.0);
            let d = refusal(&name, span, &why);
            let help = format!("annotate the parameters: `def {name}(x: [n]Real) = …`");
            self.db.report(d.help(help));
            return None;
        }
        let modes = self.modes();
        let mut wanted = vec![(def, function_args)];
        for name in ["reverse", "forward", "taylor", "line"] {
            let mode = self.definition(modes, name)?;
            let args = self.mode_arguments(mode, &from, &to);
            wanted.push((mode, args));
        }
        wanted.extend(point_args);
        let (program, ids) = self.elaborated_all(&wanted)?;
        let entry = self.entry_of(def, Rc::new(program), ids[0])?;
        let Ty::Fun(types) = &entry.ty else { return None };
        let (from, to) = (types.0.clone(), types.1.clone());
        let modes = Modes { reverse: ids[1], forward: ids[2], taylor: ids[3], line: ids[4] };
        Some(Differentiable { entry, from, to, written, point: ids.get(5).copied(), modes })
    }

    /// The type of a definition with fresh variables, and these.
    fn instance_of(&mut self, def: DefId) -> Option<(Vec<Inferred>, Inferred)> {
        let info = self.db.def(def);
        let why = Why { span: info.span, what: info.name.clone() };
        let scheme = info.scheme.clone()?;
        let (args, _, _, ty) = self.db.store.instantiate(&scheme, &why);
        Some((args, ty))
    }

    /// The type arguments of the definition of a point for a function that takes this type.
    fn at_point(
        &mut self,
        name: &Name,
        (from, takes): (&Inferred, &str),
        point: DefId,
    ) -> Option<Vec<Inferred>> {
        let (args, ty) = self.instance_of(point)?;
        let found = TypePrinter::new(&self.db).ty(&ty);
        if self.db.store.unify(from, &ty).is_err() {
            let info = self.db.def(point);
            let message =
                format!("`{}` is no point for `{name}`: it is of type {found}", info.name);
            let d = Diagnostic::error("point-type", info.span, message)
                .note(format!("`{name}` takes {takes}"));
            // An annotation changes how a number or an empty array is read, and nothing else.
            let help = match self.db.store.shallow(&ty) {
                Inferred::Fun(_) => format!("the point is data, not a function: define a {takes}"),
                Inferred::String | Inferred::Bool => format!("define a {takes}"),
                _ => format!("an annotation makes literals fit: `def {}: {takes} = …`", info.name),
            };
            self.db.report(d.help(help));
            return None;
        }
        Some(args)
    }

    /// The module of the modes.
    fn modes(&mut self) -> ModuleId {
        let key = Name::new(MODULE);
        if let Some(id) = self.std.get(&key) {
            return *id;
        }
        let id = self.module(MODULE, "std/modes.deo", MODES.to_string(), None, true);
        self.check_whole(id);
        self.check();
        id
    }

    /// The type arguments of a mode, whose first parameter is the function.
    fn mode_arguments(&self, mode: DefId, from: &Inferred, to: &Inferred) -> Vec<Inferred> {
        let Some(scheme) = self.db.def(mode).scheme.clone() else { return Vec::new() };
        let variable = |ty: &Inferred| match self.db.store.shallow(ty) {
            Inferred::Var(v) => Some(v),
            _ => None,
        };
        let sides = match self.db.store.shallow(&scheme.ty) {
            Inferred::Fun(mode) => match self.db.store.shallow(&mode.0) {
                Inferred::Tuple(params) => match self.db.store.shallow(&params[0]) {
                    Inferred::Fun(f) => [variable(&f.0), variable(&f.1)],
                    _ => [None, None],
                },
                _ => [None, None],
            },
            _ => [None, None],
        };
        let argument = |v| match v {
            v if sides[0] == Some(v) => from.clone(),
            v if sides[1] == Some(v) => to.clone(),
            _ => Inferred::Unit,
        };
        scheme.vars.iter().map(|v| argument(*v)).collect()
    }
}

fn refusal(name: &Name, span: Span, why: &str) -> Diagnostic {
    let what = if *name == "it" { "the value".into() } else { format!("`{name}`") };
    Diagnostic::error("entry-type", span, format!("{what} cannot be differentiated: {why}"))
}
