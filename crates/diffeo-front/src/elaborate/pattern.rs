//! Patterns: irrefutable ones to projections, cases to decision trees.
//!
//! A case becomes a tree of tests of one constructor or literal each (columns from left to right).
//! An arm that several leaves of the tree lead to becomes a local function, so that nothing is copied.

use super::{lets, var, Body, Local};
use diffeo_base::{deep, Name, Span};
use diffeo_calculus::prim::Comparison;
use diffeo_calculus::term::{Arm, Binder, Case, Lit, Term, TermKind};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::{Prim, Ty};
use diffeo_syntax::ast::{self, ExprId, PatId, PatKind};
use std::rc::Rc;

/// A row of the pattern matrix.
#[derive(Clone)]
struct Row {
    columns: Vec<Option<PatId>>,
    binds: Vec<(PatId, PatBinding)>,
    /// Annotated patterns, whose sizes are checked in an arm that is taken.
    annotated: Vec<(PatId, Binder)>,
    arm: usize,
}

/// What a pattern variable is bound to.
#[derive(Clone)]
enum PatBinding {
    Value(Binder),
    /// The tuple of a constructor's fields.
    Payload(Vec<Binder>),
}

/// The constructor of a pattern at a type.
struct PatConstructor {
    data: DataId,
    args: Rc<[Ty]>,
    tag: u32,
    types: Vec<Ty>,
}

enum Tree {
    Fail,
    Leaf(usize, Vec<(PatId, PatBinding)>, Vec<(PatId, Binder)>),
    Lets(Vec<(Binder, Term)>, Box<Tree>),
    Switch(Binder, (DataId, Rc<[Ty]>), Vec<(u32, Vec<Binder>, Tree)>, Option<Box<Tree>>),
    If(Term, Box<Tree>, Box<Tree>),
}

impl Body<'_, '_> {
    /// A name for the value of a pattern.
    pub(super) fn pattern_name(&self, pat: PatId) -> Name {
        match &self.ast.pats[pat].kind {
            PatKind::Var(name) => name.clone(),
            PatKind::Annot(p, _) => self.pattern_name(*p),
            _ => Name::new("p"),
        }
    }

    /// Binds the variables of an irrefutable pattern to the parts of a value.
    pub(super) fn bind(
        &mut self,
        pat: PatId,
        value: &Binder,
        bindings: &mut Vec<(Binder, Term)>,
        span: Span,
    ) {
        let ast = self.ast.clone();
        match &ast.pats[pat].kind {
            PatKind::Var(_) => {
                self.locals.insert(pat, Local::Var(value.clone()));
            }
            PatKind::Annot(p, _) => self.bind(*p, value, bindings, span),
            PatKind::Tuple(ps) => {
                let types = value.ty.components().unwrap_or_default();
                for (i, (p, ty)) in ps.iter().zip(types).enumerate() {
                    self.bind_part(*p, ty, bindings, span, |span| {
                        Term::new(
                            TermKind::Proj(value.ty.clone(), i, Box::new(var(value, span))),
                            span,
                        )
                    });
                }
            }
            PatKind::Record(fields) => {
                let Ty::Record(types) = value.ty.clone() else { return };
                for (field, p) in fields {
                    let Some(i) = types.iter().position(|(n, _)| *n == field.name) else {
                        continue;
                    };
                    self.bind_part(*p, types[i].1.clone(), bindings, span, |span| {
                        Term::new(
                            TermKind::Proj(value.ty.clone(), i, Box::new(var(value, span))),
                            span,
                        )
                    });
                }
            }
            PatKind::Con { .. } | PatKind::Cons(..) => {
                let Some(PatConstructor { data, args, tag, types }) =
                    self.constructor(pat, &value.ty)
                else {
                    return;
                };
                let parts = self.sub_patterns(pat, types.len());
                let payload = match &parts {
                    Ok(_) => None,
                    Err(whole) => Some(*whole),
                };
                let mut field_binders = Vec::new();
                for (i, ty) in types.iter().enumerate() {
                    let p = parts.as_ref().ok().and_then(|ps| ps[i]);
                    if p.is_none() && payload.is_none() {
                        continue;
                    }
                    let name = p.map_or(Name::new("x"), |p| self.pattern_name(p));
                    let binders: Vec<Binder> =
                        types.iter().map(|t| self.cx.binder("x", t.clone())).collect();
                    let body = var(&binders[i], span);
                    let case = Case {
                        scrutinee: var(value, span),
                        data: (data, args.clone()),
                        arms: vec![Arm { tag, binders, body }],
                        default: None,
                    };
                    let part = self.cx.binder(&name, ty.clone());
                    bindings.push((part.clone(), Term::new(TermKind::Case(Box::new(case)), span)));
                    if let Some(p) = p {
                        self.bind(p, &part, bindings, span);
                    }
                    field_binders.push(part);
                }
                if let Some(whole) = payload {
                    let ty = Ty::tuple(types);
                    let name = self.pattern_name(whole);
                    let all = self.cx.binder(&name, ty.clone());
                    let parts = field_binders.iter().map(|b| var(b, span)).collect();
                    bindings.push((all.clone(), Term::new(TermKind::Tuple(ty, parts), span)));
                    self.bind(whole, &all, bindings, span);
                }
            }
            PatKind::Error
            | PatKind::Wild
            | PatKind::Int(_)
            | PatKind::Real(_)
            | PatKind::Bool(_)
            | PatKind::Str(_)
            | PatKind::Unit => {}
        }
    }

    fn bind_part(
        &mut self,
        pat: PatId,
        ty: Ty,
        bindings: &mut Vec<(Binder, Term)>,
        span: Span,
        part: impl FnOnce(Span) -> Term,
    ) {
        if matches!(self.ast.pats[pat].kind, PatKind::Wild | PatKind::Unit | PatKind::Error) {
            return;
        }
        let name = self.pattern_name(pat);
        let binder = self.cx.binder(&name, ty);
        bindings.push((binder.clone(), part(span)));
        self.bind(pat, &binder, bindings, span);
    }

    /// The constructor of a pattern: its type, arguments, tag and field types.
    fn constructor(&mut self, pat: PatId, ty: &Ty) -> Option<PatConstructor> {
        let (data, tag) = self.cx.db.module(self.module).con_pats.get(&pat).copied()?;
        let id = self.cx.data(data);
        let Ty::Data(_, args) = ty else { return None };
        let types = self.cx.program.datas[id.0 as usize].fields(tag, args);
        Some(PatConstructor { data: id, args: args.clone(), tag, types })
    }

    /// The patterns of a constructor's fields, or the one pattern for all of them together.
    fn sub_patterns(&self, pat: PatId, fields: usize) -> Result<Vec<Option<PatId>>, PatId> {
        match &self.ast.pats[pat].kind {
            PatKind::Cons(head, tail) => Ok(vec![Some(*head), Some(*tail)]),
            PatKind::Con { arg: Some(arg), .. } => {
                let mut arg = *arg;
                if fields == 1 {
                    return Ok(vec![Some(arg)]);
                }
                while let PatKind::Annot(p, _) = &self.ast.pats[arg].kind {
                    arg = *p;
                }
                match &self.ast.pats[arg].kind {
                    PatKind::Tuple(ps) => Ok(ps.iter().map(|p| Some(*p)).collect()),
                    PatKind::Wild => Ok(vec![None; fields]),
                    _ => Err(arg),
                }
            }
            _ => Ok(vec![None; fields]),
        }
    }

    /// `case scrutinee of arms`.
    pub(super) fn case(
        &mut self,
        scrutinee: ExprId,
        arms: &[ast::Arm],
        result: &Ty,
        span: Span,
    ) -> Term {
        let term = self.expr(scrutinee);
        let ty = self.expr_ty(scrutinee);
        let value = self.cx.binder("subject", ty);
        let rows = arms
            .iter()
            .enumerate()
            .map(|(arm, a)| Row {
                columns: vec![Some(a.pat)],
                binds: Vec::new(),
                annotated: Vec::new(),
                arm,
            })
            .collect();
        let tree = self.tree(vec![value.clone()], rows, span);
        let mut uses = vec![0usize; arms.len()];
        count(&tree, &mut uses);
        // Arms with several leaves become functions of their variables.
        let mut joins: Vec<Option<(Binder, Vec<PatId>)>> = vec![None; arms.len()];
        let mut bindings = vec![(value, term)];
        for (i, arm) in arms.iter().enumerate() {
            if uses[i] > 1 {
                let mut vars = Vec::new();
                self.variables(arm.pat, &mut vars);
                let types: Vec<Ty> = vars.iter().map(|p| self.pat_ty(*p)).collect();
                let param = self.cx.binder("p", Ty::tuple(types.clone()));
                let mut inner = Vec::new();
                for (k, (p, ty)) in vars.iter().zip(&types).enumerate() {
                    let name = self.pattern_name(*p);
                    let binder = self.cx.binder(&name, ty.clone());
                    let whole = var(&param, span);
                    let part = if vars.len() == 1 {
                        whole
                    } else {
                        Term::new(TermKind::Proj(param.ty.clone(), k, Box::new(whole)), span)
                    };
                    inner.push((binder.clone(), part));
                    self.locals.insert(*p, Local::Var(binder));
                }
                let body = self.expr(arm.body);
                let fun_ty = Ty::fun(param.ty.clone(), result.clone());
                let lam = Term::new(TermKind::Lam(param, Box::new(lets(inner, body))), span);
                let join = self.cx.binder("arm", fun_ty);
                bindings.push((join.clone(), lam));
                joins[i] = Some((join, vars));
            }
        }
        let body = self.leaf_terms(tree, arms, &joins, result, span);
        lets(bindings, body)
    }

    fn variables(&self, pat: PatId, out: &mut Vec<PatId>) {
        match &self.ast.pats[pat].kind {
            PatKind::Var(_) => out.push(pat),
            PatKind::Annot(p, _) => self.variables(*p, out),
            PatKind::Tuple(ps) => ps.iter().for_each(|p| self.variables(*p, out)),
            PatKind::Record(fs) => fs.iter().for_each(|(_, p)| self.variables(*p, out)),
            PatKind::Con { arg, .. } => arg.iter().for_each(|p| self.variables(*p, out)),
            PatKind::Cons(h, t) => [h, t].iter().for_each(|p| self.variables(**p, out)),
            PatKind::Error
            | PatKind::Wild
            | PatKind::Int(_)
            | PatKind::Real(_)
            | PatKind::Bool(_)
            | PatKind::Str(_)
            | PatKind::Unit => {}
        }
    }

    fn tree(&mut self, values: Vec<Binder>, mut rows: Vec<Row>, span: Span) -> Tree {
        deep(|| {
            for row in &mut rows {
                for (column, value) in row.columns.iter_mut().zip(&values) {
                    while let Some(p) = *column {
                        match &self.ast.pats[p].kind {
                            PatKind::Var(_) => {
                                row.binds.push((p, PatBinding::Value(value.clone())));
                                *column = None;
                            }
                            PatKind::Annot(inner, _) => {
                                row.annotated.push((p, value.clone()));
                                *column = Some(*inner);
                            }
                            PatKind::Wild | PatKind::Unit | PatKind::Error => *column = None,
                            _ => break,
                        }
                    }
                }
            }
            let Some(first) = rows.first() else { return Tree::Fail };
            let Some(c) = first.columns.iter().position(Option::is_some) else {
                let first = rows.swap_remove(0);
                return Tree::Leaf(first.arm, first.binds, first.annotated);
            };
            let Some(pat) = first.columns[c] else { return Tree::Fail };
            self.test(values, rows, c, pat, span)
        })
    }

    fn test(
        &mut self,
        values: Vec<Binder>,
        rows: Vec<Row>,
        c: usize,
        pat: PatId,
        span: Span,
    ) -> Tree {
        let ast = self.ast.clone();
        let value = values[c].clone();
        let replaced = |values: &[Binder], parts: &[Binder]| {
            let mut out = values.to_vec();
            out.splice(c..=c, parts.iter().cloned());
            out
        };
        match &ast.pats[pat].kind {
            PatKind::Tuple(_) | PatKind::Record(_) => {
                let types = value.ty.components().unwrap_or_default();
                let names: Option<Vec<Name>> = match &value.ty {
                    Ty::Record(fs) => Some(fs.iter().map(|(n, _)| n.clone()).collect()),
                    _ => None,
                };
                let rows: Vec<Row> = rows
                    .into_iter()
                    .map(|mut row| {
                        let parts: Vec<Option<PatId>> =
                            match row.columns[c].map(|p| &ast.pats[p].kind) {
                                Some(PatKind::Tuple(ps)) => ps.iter().map(|p| Some(*p)).collect(),
                                Some(PatKind::Record(fs)) => names
                                    .iter()
                                    .flatten()
                                    .map(|n| fs.iter().find(|(f, _)| f.name == *n).map(|f| f.1))
                                    .collect(),
                                _ => vec![None; types.len()],
                            };
                        row.columns.splice(c..=c, parts);
                        row
                    })
                    .collect();
                let mut bindings = Vec::new();
                let mut parts = Vec::new();
                for (i, ty) in types.into_iter().enumerate() {
                    let binder = self.part_binder(&rows, c + i, ty);
                    // A component that no row looks at stays unprojected.
                    if rows.iter().any(|r| r.columns[c + i].is_some()) {
                        let whole = Box::new(var(&value, span));
                        let part = TermKind::Proj(value.ty.clone(), i, whole);
                        bindings.push((binder.clone(), Term::new(part, span)));
                    }
                    parts.push(binder);
                }
                let rest = self.tree(replaced(&values, &parts), rows, span);
                Tree::Lets(bindings, Box::new(rest))
            }
            PatKind::Con { .. } | PatKind::Cons(..) => self.switch(&values, rows, c, pat, span),
            PatKind::Bool(_) => {
                let side = |b: bool| -> Vec<Row> {
                    rows.iter()
                        .filter(|r| match r.columns[c].map(|p| &ast.pats[p].kind) {
                            Some(PatKind::Bool(x)) => *x == b,
                            _ => true,
                        })
                        .map(|r| without(r, c))
                        .collect()
                };
                let rest = replaced(&values, &[]);
                let (yes, no) = (side(true), side(false));
                let yes = self.tree(rest.clone(), yes, span);
                let no = self.tree(rest, no, span);
                Tree::If(var(&value, span), Box::new(yes), Box::new(no))
            }
            PatKind::Int(_) | PatKind::Real(_) | PatKind::Str(_) => {
                let at = ast.pats[pat].span;
                let Some(lit) = self.literal_pattern(pat, &value.ty) else { return Tree::Fail };
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for row in rows {
                    let own = row.columns[c].and_then(|p| self.literal_pattern(p, &value.ty));
                    match own {
                        Some(l) if l == lit => yes.push(without(&row, c)),
                        Some(_) => no.push(row),
                        None => {
                            yes.push(without(&row, c));
                            no.push(row);
                        }
                    }
                }
                let test = Term::new(
                    TermKind::Prim(
                        Prim::Compare(Comparison::Eq, value.ty.clone()),
                        vec![var(&value, at), Term::new(TermKind::Lit(lit), at)],
                    ),
                    at,
                );
                let yes = self.tree(replaced(&values, &[]), yes, span);
                let no = self.tree(values, no, span);
                Tree::If(test, Box::new(yes), Box::new(no))
            }
            PatKind::Error
            | PatKind::Wild
            | PatKind::Var(_)
            | PatKind::Unit
            | PatKind::Annot(..) => Tree::Fail,
        }
    }

    fn literal_pattern(&self, pat: PatId, ty: &Ty) -> Option<Lit> {
        match &self.ast.pats[pat].kind {
            PatKind::Int(n) if *ty == Ty::Real => Some(Lit::Real(*n as f64)),
            PatKind::Int(n) => Some(Lit::Int(*n)),
            PatKind::Real(x) => Some(Lit::Real(*x)),
            PatKind::Str(s) => Some(Lit::String(s.clone())),
            _ => None,
        }
    }

    /// A binder for a column, named after a variable that some row binds it to.
    fn part_binder(&mut self, rows: &[Row], column: usize, ty: Ty) -> Binder {
        let name = rows
            .iter()
            .filter_map(|r| r.columns[column])
            .map(|p| self.pattern_name(p))
            .next()
            .unwrap_or_else(|| Name::new("x"));
        self.cx.binder(&name, ty)
    }

    fn switch(
        &mut self,
        values: &[Binder],
        rows: Vec<Row>,
        c: usize,
        pat: PatId,
        span: Span,
    ) -> Tree {
        let value = values[c].clone();
        let Some(PatConstructor { data, args, .. }) = self.constructor(pat, &value.ty) else {
            return Tree::Fail;
        };
        let tag_of = |body: &Self, row: &Row| {
            let p = row.columns[c]?;
            body.cx.db.module(body.module).con_pats.get(&p).map(|(_, tag)| *tag)
        };
        let mut tags: Vec<u32> = rows.iter().filter_map(|r| tag_of(self, r)).collect();
        tags.sort_unstable();
        tags.dedup();
        let all = self.cx.program.datas[data.0 as usize].constructors.len();
        let mut cases = Vec::new();
        for tag in &tags {
            let types = self.cx.program.datas[data.0 as usize].fields(*tag, &args);
            let mut narrowed: Vec<Row> = Vec::new();
            let mut wholes: Vec<(usize, PatId)> = Vec::new();
            for row in &rows {
                let parts = match row.columns[c] {
                    None => Ok(vec![None; types.len()]),
                    Some(p) if tag_of(self, row) == Some(*tag) => self.sub_patterns(p, types.len()),
                    Some(_) => continue,
                };
                let mut row = row.clone();
                let parts = parts.unwrap_or_else(|whole| {
                    wholes.push((narrowed.len(), whole));
                    vec![None; types.len()]
                });
                row.columns.splice(c..=c, parts);
                narrowed.push(row);
            }
            let binders: Vec<Binder> = types
                .iter()
                .enumerate()
                .map(|(i, ty)| self.part_binder(&narrowed, c + i, ty.clone()))
                .collect();
            for (row, whole) in wholes {
                narrowed[row].binds.push((whole, PatBinding::Payload(binders.clone())));
            }
            let mut rest = values.to_vec();
            rest.splice(c..=c, binders.iter().cloned());
            let tree = self.tree(rest, narrowed, span);
            cases.push((*tag, binders, tree));
        }
        let default = (tags.len() < all).then(|| {
            let rows =
                rows.iter().filter(|r| r.columns[c].is_none()).map(|r| without(r, c)).collect();
            let mut rest = values.to_vec();
            rest.remove(c);
            Box::new(self.tree(rest, rows, span))
        });
        Tree::Switch(value, (data, args), cases, default)
    }

    fn bound_value(&self, bound: &PatBinding, span: Span) -> Term {
        match bound {
            PatBinding::Value(b) => var(b, span),
            PatBinding::Payload(bs) => {
                let ty = Ty::tuple(bs.iter().map(|b| b.ty.clone()).collect());
                Term::new(TermKind::Tuple(ty, bs.iter().map(|b| var(b, span)).collect()), span)
            }
        }
    }

    fn leaf_terms(
        &mut self,
        tree: Tree,
        arms: &[ast::Arm],
        joins: &[Option<(Binder, Vec<PatId>)>],
        result: &Ty,
        span: Span,
    ) -> Term {
        deep(|| match tree {
            Tree::Fail => {
                let message = Lit::String("no case matches".into());
                let message = Term::new(TermKind::Lit(message), span);
                Term::new(TermKind::Prim(Prim::Fail(result.clone()), vec![message]), span)
            }
            Tree::Leaf(arm, binds, annotated) => match &joins[arm] {
                Some((join, vars)) => {
                    let parts: Vec<Term> = vars
                        .iter()
                        .filter_map(|p| binds.iter().find(|(q, _)| q == p))
                        .map(|(_, b)| self.bound_value(b, span))
                        .collect();
                    let Ty::Fun(f) = &join.ty else { unreachable!("a join is a function") };
                    let arg = match parts.len() {
                        0 => Term::new(TermKind::Lit(Lit::Unit), span),
                        1 => parts.into_iter().next().expect("one part"),
                        _ => Term::new(TermKind::Tuple(f.0.clone(), parts), span),
                    };
                    Term::new(TermKind::App(Box::new(var(join, span)), Box::new(arg)), span)
                }
                None => {
                    let mut bindings = Vec::new();
                    for (p, b) in &binds {
                        let binder = match b {
                            PatBinding::Value(b) => b.clone(),
                            PatBinding::Payload(_) => {
                                let ty = self.pat_ty(*p);
                                let name = self.pattern_name(*p);
                                let binder = self.cx.binder(&name, ty);
                                bindings.push((binder.clone(), self.bound_value(b, span)));
                                binder
                            }
                        };
                        self.locals.insert(*p, Local::Var(binder));
                    }
                    for (p, value) in &annotated {
                        self.check_sizes(*p, value, &mut bindings);
                    }
                    let body = self.expr(arms[arm].body);
                    lets(bindings, body)
                }
            },
            Tree::Lets(bindings, rest) => {
                let rest = self.leaf_terms(*rest, arms, joins, result, span);
                lets(bindings, rest)
            }
            Tree::Switch(value, data, cases, default) => {
                let arms_out = cases
                    .into_iter()
                    .map(|(tag, binders, tree)| Arm {
                        tag,
                        binders,
                        body: self.leaf_terms(tree, arms, joins, result, span),
                    })
                    .collect();
                let default = default.map(|t| self.leaf_terms(*t, arms, joins, result, span));
                let case = Case { scrutinee: var(&value, span), data, arms: arms_out, default };
                Term::new(TermKind::Case(Box::new(case)), span)
            }
            Tree::If(test, yes, no) => {
                let yes = self.leaf_terms(*yes, arms, joins, result, span);
                let no = self.leaf_terms(*no, arms, joins, result, span);
                Term::new(TermKind::If(Box::new(test), Box::new(yes), Box::new(no)), span)
            }
        })
    }
}

fn without(row: &Row, column: usize) -> Row {
    let mut row = row.clone();
    row.columns.remove(column);
    row
}

fn count(tree: &Tree, uses: &mut [usize]) {
    deep(|| match tree {
        Tree::Fail => {}
        Tree::Leaf(arm, ..) => uses[*arm] += 1,
        Tree::Lets(_, rest) => count(rest, uses),
        Tree::Switch(_, _, cases, default) => {
            cases.iter().for_each(|(_, _, t)| count(t, uses));
            default.iter().for_each(|t| count(t, uses));
        }
        Tree::If(_, yes, no) => {
            count(yes, uses);
            count(no, uses);
        }
    });
}
