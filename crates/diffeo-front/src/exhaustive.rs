//! Exhaustiveness: whether a case covers every value, and which arms can never be reached.
//!
//! The usefulness algorithm of Maranget, "Warnings for pattern matching" (JFP 2007), with a witness.

use crate::db::{Db, ModuleId};
use crate::types::DataIdx;
use diffeo_base::{deep, field_name, Diagnostic, Name};
use diffeo_syntax::ast::{Binding, Control, ExprKind, Module, PatId, PatKind};

/// Checks every case and every binding of a module.
pub fn check(db: &mut Db, module: ModuleId) {
    let ast = db.module(module).ast.clone();
    let mut found = Vec::new();
    let cx = Cx { db, module, ast: &ast };
    for (_, expr) in ast.exprs.iter() {
        match &expr.kind {
            ExprKind::Case { arms, .. } if !arms.is_empty() => {
                let mut rows: Vec<Vec<Pat>> = Vec::new();
                for arm in arms {
                    let row = vec![cx.pat(arm.pat)];
                    if cx.useful(&rows, &row, 1).is_none() {
                        found.push(
                            Diagnostic::warning(
                                "unreachable-case",
                                ast.pats[arm.pat].span,
                                "this case can never be reached: the cases before it cover it",
                            )
                            .help("remove it, or move it up"),
                        );
                    }
                    rows.push(row);
                }
                if let Some(witness) = cx.useful(&rows, &[Pat::Wild], 1) {
                    let text = cx.show(&witness[0]);
                    let message = format!("this case does not cover `{text}`");
                    let help = match &*text {
                        "_" => "add `| _ -> …` for all the rest".to_string(),
                        text => format!("add `| {text} -> …`, or `| _ -> …` for all the rest"),
                    };
                    found.push(Diagnostic::error("non-exhaustive", expr.span, message).help(help));
                }
            }
            ExprKind::Fn { param, .. } => found.extend(cx.irrefutable(*param)),
            ExprKind::Let { bindings, .. } => {
                for binding in bindings {
                    let pat = match binding {
                        Binding::Value { pat, .. } => *pat,
                        Binding::Function { param, .. } => *param,
                    };
                    found.extend(cx.irrefutable(pat));
                }
            }
            ExprKind::Loop { pat, control, .. } => {
                found.extend(cx.irrefutable(*pat));
                match &**control {
                    Control::Count { pat, .. } | Control::In { pat, .. } => {
                        found.extend(cx.irrefutable(*pat));
                    }
                    Control::While(_) => {}
                }
            }
            ExprKind::Comprehension { clauses, .. } => {
                for clause in clauses {
                    found.extend(cx.irrefutable(clause.pat));
                }
            }
            _ => {}
        }
    }
    for id in &cx.db.module(module).defs {
        if let Some(param) = crate::db::def_item(&ast, cx.db.def(*id).item).param {
            found.extend(cx.irrefutable(param));
        }
    }
    db.diagnostics.extend(found);
}

#[derive(Clone, PartialEq, Debug)]
enum Pat {
    Wild,
    Node(Head, Vec<Pat>),
}

#[derive(Clone, PartialEq, Debug)]
enum Head {
    Con(DataIdx, u32),
    /// A tuple, or a record with the names of its fields.
    Tuple(usize, Option<Vec<Name>>),
    Bool(bool),
    Unit,
    Int(i64),
    Real(u64),
    Str(Name),
}

struct Cx<'a> {
    db: &'a Db,
    module: ModuleId,
    ast: &'a Module,
}

impl Cx<'_> {
    fn irrefutable(&self, pat: PatId) -> Option<Diagnostic> {
        let witness = self.useful(&[vec![self.pat(pat)]], &[Pat::Wild], 1)?;
        let text = self.show(&witness[0]);
        Some(
            Diagnostic::error(
                "refutable-pattern",
                self.ast.pats[pat].span,
                format!("this pattern does not cover `{text}`"),
            )
            .help("use `case` to say what happens for the other values"),
        )
    }

    fn pat(&self, id: PatId) -> Pat {
        let many = |ids: &[PatId]| ids.iter().map(|p| self.pat(*p)).collect::<Vec<_>>();
        match &self.ast.pats[id].kind {
            PatKind::Error | PatKind::Wild | PatKind::Var(_) => Pat::Wild,
            PatKind::Int(n) => {
                let ty = &self.db.module(self.module).pat_ty[id.index()];
                match self.db.store.shallow(ty) {
                    crate::types::Ty::Real => Pat::Node(Head::Real((*n as f64).to_bits()), vec![]),
                    _ => Pat::Node(Head::Int(*n), vec![]),
                }
            }
            // 0.0 and -0.0 are equal.
            PatKind::Real(x) => Pat::Node(Head::Real((x + 0.0).to_bits()), vec![]),
            PatKind::Bool(b) => Pat::Node(Head::Bool(*b), vec![]),
            PatKind::Str(s) => Pat::Node(Head::Str(s.clone()), vec![]),
            PatKind::Unit => Pat::Node(Head::Unit, vec![]),
            PatKind::Tuple(ps) => Pat::Node(Head::Tuple(ps.len(), None), many(ps)),
            PatKind::Record(fields) => {
                // All fields of the type, those not mentioned as wildcards.
                let ty = &self.db.module(self.module).pat_ty[id.index()];
                let names: Vec<Name> = match self.db.store.shallow(ty) {
                    crate::types::Ty::Record(fs) => fs.iter().map(|(n, _)| n.clone()).collect(),
                    _ => fields.iter().map(|(f, _)| f.name.clone()).collect(),
                };
                let parts = names
                    .iter()
                    .map(|n| {
                        let given = fields.iter().find(|(f, _)| f.name == *n);
                        given.map_or(Pat::Wild, |(_, p)| self.pat(*p))
                    })
                    .collect();
                Pat::Node(Head::Tuple(names.len(), Some(names)), parts)
            }
            PatKind::Con { arg, .. } => {
                let Some((data, tag)) = self.db.module(self.module).con_pats.get(&id) else {
                    return Pat::Wild;
                };
                let fields = self.db.data(*data).constructors[*tag as usize].fields.len();
                let parts = match arg.map(|a| (a, &self.ast.pats[a].kind)) {
                    None => vec![Pat::Wild; fields],
                    Some((a, _)) if fields == 1 => vec![self.pat(a)],
                    Some((_, PatKind::Tuple(ps))) if ps.len() == fields => many(ps),
                    Some(_) => vec![Pat::Wild; fields],
                };
                Pat::Node(Head::Con(*data, *tag), parts)
            }
            PatKind::Cons(head, tail) => match self.db.list {
                Some(list) => Pat::Node(Head::Con(list, 1), vec![self.pat(*head), self.pat(*tail)]),
                None => Pat::Wild,
            },
            PatKind::Annot(p, _) => self.pat(*p),
        }
    }

    fn arity(&self, head: &Head) -> usize {
        match head {
            Head::Con(d, tag) => self.db.data(*d).constructors[*tag as usize].fields.len(),
            Head::Tuple(n, _) => *n,
            Head::Bool(_) | Head::Unit | Head::Int(_) | Head::Real(_) | Head::Str(_) => 0,
        }
    }

    /// All heads of the type, if the given ones are among finitely many.
    fn signature(&self, head: &Head) -> Option<Vec<Head>> {
        match head {
            Head::Con(d, _) => Some(
                (0..self.db.data(*d).constructors.len() as u32).map(|t| Head::Con(*d, t)).collect(),
            ),
            Head::Tuple(..) | Head::Unit => Some(vec![head.clone()]),
            Head::Bool(_) => Some(vec![Head::Bool(true), Head::Bool(false)]),
            Head::Int(_) | Head::Real(_) | Head::Str(_) => None,
        }
    }

    /// A value that `row` matches and no row before does.
    fn useful(&self, rows: &[Vec<Pat>], row: &[Pat], width: usize) -> Option<Vec<Pat>> {
        deep(|| self.useful_inner(rows, row, width))
    }

    fn useful_inner(&self, rows: &[Vec<Pat>], row: &[Pat], width: usize) -> Option<Vec<Pat>> {
        if width == 0 {
            return if rows.is_empty() { Some(Vec::new()) } else { None };
        }
        if let Pat::Node(head, parts) = &row[0] {
            return self.specialised(rows, head, parts, &row[1..], width);
        }
        let heads: Vec<&Head> = rows
            .iter()
            .filter_map(|r| match &r[0] {
                Pat::Node(h, _) => Some(h),
                Pat::Wild => None,
            })
            .collect();
        let signature = heads.first().and_then(|h| self.signature(h));
        let missing = match &signature {
            Some(all) => all.iter().find(|h| !heads.contains(h)),
            None => None,
        };
        match (&signature, missing) {
            (Some(all), None) => all.iter().find_map(|head| {
                let wild = vec![Pat::Wild; self.arity(head)];
                self.specialised(rows, head, &wild, &row[1..], width)
            }),
            _ => {
                let rest: Vec<Vec<Pat>> =
                    rows.iter().filter(|r| r[0] == Pat::Wild).map(|r| r[1..].to_vec()).collect();
                let mut witness = self.useful(&rest, &row[1..], width - 1)?;
                let first = match missing {
                    Some(head) => Pat::Node(head.clone(), vec![Pat::Wild; self.arity(head)]),
                    None => Pat::Wild,
                };
                witness.insert(0, first);
                Some(witness)
            }
        }
    }

    fn specialised(
        &self,
        rows: &[Vec<Pat>],
        head: &Head,
        parts: &[Pat],
        rest: &[Pat],
        width: usize,
    ) -> Option<Vec<Pat>> {
        let arity = self.arity(head);
        let narrowed: Vec<Vec<Pat>> = rows
            .iter()
            .filter_map(|r| match &r[0] {
                Pat::Wild => Some(
                    std::iter::repeat_n(Pat::Wild, arity).chain(r[1..].iter().cloned()).collect(),
                ),
                Pat::Node(h, ps) if h == head => {
                    Some(ps.iter().cloned().chain(r[1..].iter().cloned()).collect())
                }
                Pat::Node(..) => None,
            })
            .collect();
        let row: Vec<Pat> = parts.iter().cloned().chain(rest.iter().cloned()).collect();
        let mut witness = self.useful(&narrowed, &row, width - 1 + arity)?;
        let tail = witness.split_off(arity);
        Some(std::iter::once(Pat::Node(head.clone(), witness)).chain(tail).collect())
    }

    fn show(&self, pat: &Pat) -> String {
        let list = |ps: &[Pat]| ps.iter().map(|p| self.show(p)).collect::<Vec<_>>().join(", ");
        match pat {
            Pat::Wild => "_".to_string(),
            Pat::Node(head, ps) => match head {
                Head::Con(d, 1) if Some(*d) == self.db.list => {
                    let head = match &ps[0] {
                        p @ Pat::Node(Head::Con(d, 1), _) if Some(*d) == self.db.list => {
                            format!("({})", self.show(p))
                        }
                        p => self.show(p),
                    };
                    format!("{head} :: {}", self.show(&ps[1]))
                }
                Head::Con(d, tag) => {
                    let name = &self.db.data(*d).constructors[*tag as usize].name;
                    if ps.is_empty() {
                        name.to_string()
                    } else {
                        format!("{name}({})", list(ps))
                    }
                }
                Head::Tuple(_, None) => format!("({})", list(ps)),
                Head::Tuple(_, Some(names)) => {
                    let fields: Vec<String> = names
                        .iter()
                        .zip(ps)
                        .map(|(n, p)| format!("{} = {}", field_name(n), self.show(p)))
                        .collect();
                    format!("{{{}}}", fields.join(", "))
                }
                Head::Bool(b) => b.to_string(),
                Head::Unit => "()".to_string(),
                Head::Int(n) => n.to_string(),
                Head::Real(bits) => format!("{:?}", f64::from_bits(*bits)),
                Head::Str(s) => format!("{:?}", s.as_str()),
            },
        }
    }
}
