//! Types of inference to types of Core, and the shapes of annotations.

use super::{Body, Elaborator, TooLarge};
use crate::db::SizeRes;
use crate::types::{DataIdx, Made, Part, Size, Ty as Inferred, TyVar};
use diffeo_base::{deep, Name};
use diffeo_calculus::prim::{SizeRef, SizeShape};
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId};
use diffeo_calculus::Ty;
use diffeo_syntax::ast::{ExprId, PatId};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Types of more nodes are noted with their sizes.
const SMALL: u64 = 64;

/// What a type is known by, as long as it is kept; 0 for one without parts.
fn address(ty: &Ty) -> usize {
    let address = match ty {
        Ty::Tuple(ts) => Rc::as_ptr(ts).cast::<()>(),
        Ty::Record(fs) => Rc::as_ptr(fs).cast::<()>(),
        Ty::Array(t) => Rc::as_ptr(t).cast::<()>(),
        Ty::Data(_, ts) => Rc::as_ptr(ts).cast::<()>(),
        Ty::Fun(f) => Rc::as_ptr(f).cast::<()>(),
        Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => return 0,
    };
    address as usize
}

impl Elaborator<'_> {
    /// The Core type; what inference left open does not matter and is `()`.
    pub(super) fn ty(&mut self, ty: &Inferred, vars: &HashMap<TyVar, Ty>) -> Ty {
        self.core_ty(ty, vars, &mut Made::default())
    }

    fn core_ty(&mut self, ty: &Inferred, vars: &HashMap<TyVar, Ty>, made: &mut Made<Ty>) -> Ty {
        let ty = self.db.store.shallow(ty);
        if let Some(made) = made.get(&ty) {
            return made;
        }
        let core = deep(|| match &ty {
            Inferred::Error => Ty::Unit,
            Inferred::Var(v) => vars.get(v).cloned().unwrap_or(Ty::Unit),
            Inferred::Real => Ty::Real,
            Inferred::Int => Ty::Int,
            Inferred::Bool => Ty::Bool,
            Inferred::String => Ty::String,
            Inferred::Unit => Ty::Unit,
            Inferred::Tuple(ts) => {
                Ty::Tuple(ts.iter().map(|t| self.core_ty(t, vars, made)).collect())
            }
            Inferred::Record(fs) => {
                let field = |(n, t): &(Name, Inferred)| (n.clone(), self.core_ty(t, vars, made));
                Ty::Record(fs.iter().map(field).collect())
            }
            Inferred::Array(_, t) => Ty::array(self.core_ty(t, vars, made)),
            Inferred::Data(d, ts) => {
                let ts = ts.iter().map(|t| self.core_ty(t, vars, made)).collect();
                Ty::Data(self.data(*d), ts)
            }
            Inferred::Fun(f) => {
                let from = self.core_ty(&f.0, vars, made);
                Ty::fun(from, self.core_ty(&f.1, vars, made))
            }
            Inferred::Param(i) => Ty::Param(*i),
        });
        let size = self.size(&core);
        if size > SMALL {
            self.sizes.insert(address(&core), (core.clone(), size));
        }
        if size > self.most {
            // What is being elaborated is brought to an end.
            self.too_large.get_or_insert(TooLarge::Type);
        }
        made.put(&ty, &core);
        core
    }

    /// How many nodes a type has, written out.
    pub(super) fn size(&self, ty: &Ty) -> u64 {
        if let Some((_, size)) = self.sizes.get(&address(ty)) {
            return *size;
        }
        let sum = |n: u64, t: &Ty| n.saturating_add(self.size(t));
        match ty {
            Ty::Tuple(ts) | Ty::Data(_, ts) => ts.iter().fold(1, sum),
            Ty::Record(fs) => fs.iter().map(|(_, t)| t).fold(1, sum),
            Ty::Array(t) => sum(1, t),
            Ty::Fun(f) => sum(sum(1, &f.0), &f.1),
            Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => 1,
        }
    }

    /// The Core declaration of a variant type.
    pub(super) fn data(&mut self, d: DataIdx) -> DataId {
        if let Some(id) = self.datas.get(&d) {
            return *id;
        }
        let info = self.db.data(d);
        let id = DataId(self.program.datas.len() as u32);
        self.datas.insert(d, id);
        let taken = self.program.datas.iter().any(|o| o.name == info.name);
        let name = if taken {
            Name::from(format!("{}.{}", self.db.module(info.module).name, info.name))
        } else {
            info.name.clone()
        };
        let (known, params) = (info.known, info.params.len());
        self.program.datas.push(DataDecl { name, known, params, constructors: vec![] });
        let constructors = info
            .constructors
            .iter()
            .map(|c| ConstructorDecl {
                name: c.name.clone(),
                fields: c.fields.iter().map(|t| self.ty(t, &HashMap::new())).collect(),
            })
            .collect();
        self.program.datas[id.0 as usize].constructors = constructors;
        id
    }
}

impl Body<'_, '_> {
    /// The Core type of an expression.
    pub(super) fn expr_ty(&mut self, id: ExprId) -> Ty {
        let ty = self.cx.db.module(self.module).expr_ty[id.index()].clone();
        self.cx.ty(&ty, &self.types)
    }

    /// The Core type of a pattern.
    pub(super) fn pat_ty(&mut self, id: PatId) -> Ty {
        let ty = self.cx.db.module(self.module).pat_ty[id.index()].clone();
        self.cx.ty(&ty, &self.types)
    }

    pub(super) fn core(&mut self, ty: &Inferred) -> Ty {
        self.cx.ty(ty, &self.types)
    }
}

/// The sizes that an annotated type names, collected into a [`SizeShape`].
pub(super) struct SizeCollector<'a> {
    pub db: &'a crate::db::Db,
    pub module: crate::db::ModuleId,
    /// The meaning of each name collected so far.
    pub names: Vec<(Name, SizeRes)>,
    /// Whether a literal size occurs.
    pub literals: bool,
    /// How often names occur.
    pub occurrences: usize,
    /// Only where this type says `[]` although the annotation says more.
    pub found: bool,
    /// Variant types being looked into, against recursion, and whether one was met again.
    pub open: Vec<DataIdx>,
    pub again: bool,
    /// Types in which there is no size: what stands in many places is looked into once.
    pub plain: HashSet<(Part, Vec<Part>)>,
    /// How many nodes may still be looked at.
    pub left: u64,
}

impl SizeCollector<'_> {
    /// The shape of an annotation; with `found`, only its sizes that the type found leaves unknown.
    pub fn shape(&mut self, annotation: &Inferred, found: Option<&Inferred>) -> SizeShape {
        let key = match annotation {
            Inferred::Data(d, args) => {
                (Part::Data(*d, 0), args.iter().map(Inferred::part).collect())
            }
            ty => (ty.part(), Vec::new()),
        };
        if self.left == 0 || found.is_none() && self.plain.contains(&key) {
            return SizeShape::Any;
        }
        self.left -= 1;
        let again = std::mem::take(&mut self.again);
        let shape = deep(|| self.shape_of(annotation, found));
        if shape == SizeShape::Any && found.is_none() && !self.again {
            self.plain.insert(key);
        }
        self.again |= again;
        shape
    }

    fn shape_of(&mut self, annotation: &Inferred, found: Option<&Inferred>) -> SizeShape {
        let found = found.map(|f| self.db.store.shallow(f));
        match annotation {
            Inferred::Array(size, element) => {
                let (unknown, inner) = match &found {
                    None => (true, None),
                    Some(Inferred::Array(s, t)) => {
                        (self.db.store.size(*s) == Size::Unknown, Some(&**t))
                    }
                    Some(_) => (false, None),
                };
                let check = !self.found || unknown;
                let size = match size {
                    Size::Known(n) if check => {
                        self.literals = true;
                        SizeRef::Literal(*n)
                    }
                    Size::Var(v) if check => {
                        match self.db.module(self.module).size_values.get(v).cloned() {
                            Some(res) => {
                                let name = match &res {
                                    SizeRes::Local(_) => {
                                        self.db.store.size_origin(*size).map(|(n, _)| n)
                                    }
                                    SizeRes::Name(_, n) | SizeRes::Free(_, n) => Some(n.clone()),
                                };
                                let name = name.unwrap_or_else(|| Name::new("n"));
                                self.occurrences += 1;
                                let known = self.names.iter().position(|(_, r)| *r == res);
                                SizeRef::Name(known.unwrap_or_else(|| {
                                    self.names.push((name, res));
                                    self.names.len() - 1
                                }))
                            }
                            None => SizeRef::Any,
                        }
                    }
                    Size::Known(_) | Size::Var(_) | Size::Unknown => SizeRef::Any,
                };
                let shape = self.shape(element, inner);
                match (size, &shape) {
                    (SizeRef::Any, SizeShape::Any) => SizeShape::Any,
                    _ => SizeShape::Array(size, Box::new(shape)),
                }
            }
            Inferred::Tuple(ts) => {
                let parts = match &found {
                    Some(Inferred::Tuple(fs)) => {
                        ts.iter().zip(fs.iter()).map(|(t, f)| self.shape(t, Some(f))).collect()
                    }
                    _ => ts.iter().map(|t| self.shape(t, None)).collect(),
                };
                tuple(parts)
            }
            Inferred::Record(ts) => {
                let parts = match &found {
                    Some(Inferred::Record(fs)) => ts
                        .iter()
                        .zip(fs.iter())
                        .map(|((_, t), (_, f))| self.shape(t, Some(f)))
                        .collect(),
                    _ => ts.iter().map(|(_, t)| self.shape(t, None)).collect(),
                };
                tuple(parts)
            }
            Inferred::Data(d, args) if !self.open.contains(d) => {
                self.open.push(*d);
                let db = self.db;
                let constructors: Vec<Vec<SizeShape>> = db
                    .data(*d)
                    .constructors
                    .iter()
                    .map(|c| {
                        c.fields
                            .iter()
                            .map(|t| {
                                let t = crate::types::instantiate_params(t, args);
                                self.shape(&t, None)
                            })
                            .collect()
                    })
                    .collect();
                self.open.pop();
                if constructors.iter().flatten().all(|s| *s == SizeShape::Any) {
                    SizeShape::Any
                } else {
                    SizeShape::Data(constructors)
                }
            }
            Inferred::Data(..) => {
                self.again = true;
                SizeShape::Any
            }
            Inferred::Error
            | Inferred::Var(_)
            | Inferred::Real
            | Inferred::Int
            | Inferred::Bool
            | Inferred::String
            | Inferred::Unit
            | Inferred::Fun(_)
            | Inferred::Param(_) => SizeShape::Any,
        }
    }
}

fn tuple(parts: Vec<SizeShape>) -> SizeShape {
    if parts.iter().all(|s| *s == SizeShape::Any) {
        SizeShape::Any
    } else {
        SizeShape::Tuple(parts)
    }
}

/// Renames variables in a term in place.
pub(super) fn rename(
    term: &mut diffeo_calculus::term::Term,
    map: &HashMap<u32, diffeo_calculus::term::Var>,
) {
    use diffeo_calculus::term::{Control, TermKind};
    deep(|| match &mut term.kind {
        TermKind::Var(v) => {
            if let Some(to) = map.get(&v.id) {
                *v = to.clone();
            }
        }
        TermKind::Global(_) | TermKind::Lit(_) => {}
        TermKind::Lam(_, body) | TermKind::Proj(_, _, body) => rename(body, map),
        TermKind::App(f, a) => {
            rename(f, map);
            rename(a, map);
        }
        TermKind::Let(bindings, body) => {
            bindings.iter_mut().for_each(|(_, t)| rename(t, map));
            rename(body, map);
        }
        TermKind::LetRec(_, lam, body) => {
            rename(lam, map);
            rename(body, map);
        }
        TermKind::Tuple(_, ts)
        | TermKind::Con(_, _, _, ts)
        | TermKind::Array(_, ts)
        | TermKind::Prim(_, ts)
        | TermKind::Diff(_, ts) => ts.iter_mut().for_each(|t| rename(t, map)),
        TermKind::Case(case) => {
            rename(&mut case.scrutinee, map);
            case.arms.iter_mut().for_each(|a| rename(&mut a.body, map));
            case.default.iter_mut().for_each(|t| rename(t, map));
        }
        TermKind::If(a, b, c) => [a, b, c].into_iter().for_each(|t| rename(t, map)),
        TermKind::Build(build) => {
            rename(&mut build.count, map);
            rename(&mut build.body, map);
        }
        TermKind::Loop(l) => {
            rename(&mut l.init, map);
            match &mut l.control {
                Control::Count { count, .. } => rename(count, map),
                Control::While(cond) => rename(cond, map),
            }
            rename(&mut l.body, map);
        }
    });
}
