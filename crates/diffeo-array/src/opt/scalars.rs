//! Scalar replacement across functions: small arrays whose elements are written out enter functions, and leave
//! functions, branches and loops, as numbers.
//!
//! `fn f(a) { … return reshape(elements(x, y, z, w), 2, 2) }` returns four numbers, and callers put the array together;
//! `f(reshape(elements(a, b, c, d), 2, 2))` becomes `f(a, b, c, d)` where `f` only reads elements of it:
//! "worker/wrapper" (Gill & Hutton, *The worker/wrapper transformation*, 2009). `simplify` takes the numbers from where
//! an array is put together, so an array that is only read is never made.
//!
//! What it needs: `specialise` and `unroll` before, for constant sizes and indices; `dce` after. Why it is right: an array
//! is its sizes and its elements. Arrays are put together as often as they were made before. Elements that a function
//! reads are read before its call, where the sizes are written down, so they exist.

use super::graph::{call_graph, CallGraph};
use super::shapes::{Shapes, Size, SizeExtent};
use super::simplify::simplify_function;
use super::specialise::unused;
use crate::ir::walk::{deep, has_regions, operands, regions, regions_mut, statements, var};
use crate::ir::{Atom, Block, Elem, FlatTy, Function, Module, Op, SiteId, Stmt, Var, VarInfo};
use hashbrown::{HashMap, HashSet};

/// Maximum number of elements of an array that becomes numbers.
const ELEMENTS: i64 = 16;

/// Maximum number of parameters, and of results, that replace arrays of a function.
const MANY: usize = 64;

/// Maximum number of rounds over all calls, each of which leaves fewer parameters that can become numbers.
const ROUNDS: usize = 16;

/// Scalar replacement across functions: see the head of the file.
pub fn scalars(mut module: Module) -> Module {
    let graph = call_graph(&module);
    let mut stays = vec![false; module.functions.len()];
    stays[module.entry.0 as usize] = true;
    module.constants.iter().for_each(|constant| stays[constant.init.0 as usize] = true);
    let mut reads: HashMap<ParamId, Read> = HashMap::new();
    let mut names = Vec::new();
    for (f, function) in module.functions.iter().enumerate() {
        names.push(if stays[f] { ParamNames::new() } else { only_read(f, function, &mut reads) });
    }
    let mut changed = vec![false; module.functions.len()];
    let known = results(&mut module, &graph, &stays, &reads, &mut changed);
    parameters(&mut module, &known, &names, reads, &mut changed);
    for (function, changed) in module.functions.iter_mut().zip(changed) {
        if changed {
            simplify_function(function, false);
        }
    }
    module
}

/// An array that is written out.
#[derive(Clone, PartialEq)]
struct Literal {
    elem: Elem,
    /// Its sizes, none of which is 0.
    sizes: Vec<i64>,
    numbers: Vec<Atom>,
}

impl Literal {
    fn is_like(&self, other: &Literal) -> bool {
        self.elem == other.elem && self.sizes == other.sizes
    }
}

/// What is known of the arrays of a function.
#[derive(Default)]
struct ArrayFacts {
    literals: HashMap<Var, Literal>,
    /// The sizes that others were reshaped to.
    sized: HashMap<Var, Vec<i64>>,
}

impl ArrayFacts {
    fn literal(&self, atom: &Atom) -> Option<&Literal> {
        self.literals.get(&var(atom)?)
    }

    /// Notes what an operation gives.
    fn see(&mut self, op: &Op, result: Var) {
        let literal = match op {
            Op::Elements(elem @ (Elem::Real | Elem::Int | Elem::Bool), numbers)
                if (1..=ELEMENTS as usize).contains(&numbers.len()) =>
            {
                let sizes = vec![numbers.len() as i64];
                Some(Literal { elem: *elem, sizes, numbers: numbers.clone() })
            }
            Op::Rows(rows) => self.rows(rows),
            Op::Reshape(array, sizes) => {
                let Some(sizes) = small(sizes) else { return };
                let literal = self.literal(array).cloned();
                if literal.is_none() {
                    self.sized.insert(result, sizes.clone());
                }
                literal.map(|literal| Literal { sizes, ..literal })
            }
            _ => None,
        };
        self.literals.extend(literal.map(|literal| (result, literal)));
    }

    fn rows(&self, rows: &[Atom]) -> Option<Literal> {
        let first = self.literal(rows.first()?)?;
        let mut all = Literal { numbers: Vec::new(), ..first.clone() };
        for row in rows {
            let row = self.literal(row).filter(|row| row.is_like(first))?;
            all.numbers.extend(row.numbers.iter().cloned());
        }
        all.sizes.insert(0, rows.len() as i64);
        (all.numbers.len() as i64 <= ELEMENTS).then_some(all)
    }
}

/// Sizes that are known, of a few elements.
fn small(sizes: &[Atom]) -> Option<Vec<i64>> {
    let size = |atom: &Atom| match atom {
        Atom::Int(n @ 1..=ELEMENTS) => Some(*n),
        Atom::Int(_) | Atom::Var(_) | Atom::Real(_) | Atom::Bool(_) | Atom::Unused(_) => None,
    };
    let sizes: Vec<i64> = sizes.iter().map(size).collect::<Option<_>>()?;
    (sizes.iter().try_fold(1i64, |n, size| n.checked_mul(*size))? <= ELEMENTS).then_some(sizes)
}

/// New variables for the elements of an array.
fn fresh(vars: &mut Vec<VarInfo>, elem: Elem, count: usize) -> Vec<Var> {
    let first = vars.len();
    vars.extend((0..count).map(|_| VarInfo { ty: elem.ty(), name: None }));
    (first..vars.len()).map(|v| Var(v as u32)).collect()
}

/// The array of these numbers, put together as this variable.
fn together(literal: &Literal, v: Var, site: SiteId, vars: &mut Vec<VarInfo>) -> Vec<Stmt> {
    let elements = Op::Elements(literal.elem, literal.numbers.clone());
    if literal.sizes.len() == 1 {
        return vec![Stmt { results: vec![v], op: elements, site }];
    }
    vars.push(VarInfo { ty: FlatTy::array(literal.elem, 1), name: None });
    let all = Var(vars.len() as u32 - 1);
    let sizes = literal.sizes.iter().map(|n| Atom::Int(*n)).collect();
    let reshape = Op::Reshape(Atom::Var(all), sizes);
    let stmt = |results, op| Stmt { results, op, site };
    vec![stmt(vec![all], elements), stmt(vec![v], reshape)]
}

/// Makes results of functions, branches and loops numbers. Gives what is known of the arrays of each function.
fn results(
    module: &mut Module,
    graph: &CallGraph,
    stays: &[bool],
    reads: &HashMap<ParamId, Read>,
    changed: &mut [bool],
) -> Vec<ArrayFacts> {
    let mut known: Vec<ArrayFacts> =
        module.functions.iter().map(|_| ArrayFacts::default()).collect();
    // By function, which of its results some caller wants as numbers.
    let mut wanted: Vec<Vec<bool>> =
        module.functions.iter().map(|function| vec![false; function.results.len()]).collect();
    for (function, stays) in module.functions.iter().zip(stays) {
        if has_arrays(function) {
            want(function, *stays, reads, &mut wanted);
        }
    }
    let mut given: Vec<Vec<Option<Literal>>> = vec![Vec::new(); module.functions.len()];
    for f in graph.components.iter().flatten() {
        let function = &mut module.functions[*f];
        if !has_arrays(function) {
            continue;
        }
        let vars = std::mem::take(&mut function.vars);
        let mut cx =
            ResultScalars { given: &given, known: ArrayFacts::default(), vars, changed: false };
        let mut body = std::mem::take(&mut function.body);
        cx.block(&mut body);
        let (vars, found) = (cx.vars, cx.known);
        changed[*f] = cx.changed;
        if !stays[*f] && !graph.recursive[*f] {
            let mut count = 0;
            let mut literal = |(atom, wanted): (&Atom, &bool)| {
                let literal = found.literal(atom).filter(|_| *wanted)?;
                count += literal.numbers.len();
                (count <= MANY).then(|| literal.clone())
            };
            let literals: Vec<Option<Literal>> =
                body.results.iter().zip(&wanted[*f]).map(&mut literal).collect();
            if literals.iter().any(Option::is_some) {
                split(&mut body.results, &literals);
                let types = std::mem::take(&mut function.results);
                for (ty, literal) in types.into_iter().zip(&literals) {
                    match literal {
                        Some(literal) => {
                            let own = literal.numbers.iter().filter(|n| var(n).is_some());
                            function.results.extend(own.map(|_| literal.elem.ty()));
                        }
                        None => function.results.push(ty),
                    }
                }
                given[*f] = literals;
                changed[*f] = true;
            }
        }
        function.body = body;
        function.vars = vars;
        known[*f] = found;
    }
    known
}

fn has_arrays(function: &Function) -> bool {
    function.vars.iter().any(|v| matches!(v.ty, FlatTy::Array(..)))
}

/// Finds which results of calls are read, passed on as numbers, or put into other arrays: those need no block of
/// memory.
fn want(
    function: &Function,
    stays: bool,
    reads: &HashMap<ParamId, Read>,
    wanted: &mut [Vec<bool>],
) {
    let mut from: HashMap<Var, (usize, usize)> = HashMap::new();
    let mut used = Vec::new();
    statements(&function.body, &mut |stmt| {
        match &stmt.op {
            Op::Get(array, _) | Op::Reshape(array, _) | Op::Update { value: array, .. } => {
                used.extend(var(array));
            }
            Op::Call(f, args) => {
                let f = f.0 as usize;
                from.extend(stmt.results.iter().enumerate().map(|(i, v)| (*v, (f, i))));
                let numbers = args.iter().enumerate().filter(|(k, _)| reads.contains_key(&(f, *k)));
                used.extend(numbers.filter_map(|(_, arg)| var(arg)));
            }
            _ => {}
        }
        regions(&stmt.op, |region| used.extend(region.results.iter().filter_map(var)));
    });
    if !stays {
        used.extend(function.body.results.iter().filter_map(var));
    }
    for (f, i) in used.iter().filter_map(|v| from.get(v)) {
        wanted[*f][*i] = true;
    }
}

/// Puts those numbers that are not constant in the place of arrays.
fn split(results: &mut Vec<Atom>, literals: &[Option<Literal>]) {
    for (atom, literal) in std::mem::take(results).into_iter().zip(literals) {
        match literal {
            Some(literal) => {
                results.extend(literal.numbers.iter().filter(|n| var(n).is_some()).cloned());
            }
            None => results.push(atom),
        }
    }
}

struct ResultScalars<'a> {
    /// By function, which of its results are numbers now.
    given: &'a [Vec<Option<Literal>>],
    known: ArrayFacts,
    vars: Vec<VarInfo>,
    changed: bool,
}

impl ResultScalars<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |region| self.block(region)));
            }
            let given = self.given;
            let mut behind = Vec::new();
            match &mut stmt.op {
                Op::Call(f, _) if !given[f.0 as usize].is_empty() => {
                    behind = self.called(&mut stmt.results, &given[f.0 as usize], stmt.site);
                }
                Op::If { .. } | Op::Switch { .. } => behind = self.branches(&mut stmt),
                Op::For { .. } => behind = self.carried(&mut stmt),
                op => {
                    if let [result] = stmt.results[..] {
                        self.known.see(op, result);
                    }
                }
            }
            out.push(stmt);
            out.extend(behind);
        }
        block.stmts = out;
    }

    /// Takes numbers instead of the results of a call. Gives what puts the arrays together.
    fn called(
        &mut self,
        results: &mut Vec<Var>,
        given: &[Option<Literal>],
        site: SiteId,
    ) -> Vec<Stmt> {
        let mut behind = Vec::new();
        for (v, literal) in std::mem::take(results).into_iter().zip(given) {
            let Some(literal) = literal else {
                results.push(v);
                continue;
            };
            let mut literal = literal.clone();
            for number in literal.numbers.iter_mut().filter(|n| var(n).is_some()) {
                let new = fresh(&mut self.vars, literal.elem, 1);
                *number = Atom::Var(new[0]);
                results.extend(new);
            }
            behind.extend(self.put(literal, v, site));
        }
        behind
    }

    /// Puts an array together, which is known then.
    fn put(&mut self, literal: Literal, v: Var, site: SiteId) -> Vec<Stmt> {
        self.changed = true;
        let stmts = together(&literal, v, site, &mut self.vars);
        self.known.literals.insert(v, literal);
        stmts
    }

    /// The array of new variables, where all of these are written out alike.
    fn alike(&mut self, atoms: &[&Atom]) -> Option<(Literal, Vec<Var>)> {
        let first = self.known.literal(atoms.first()?)?.clone();
        if !atoms.iter().all(|atom| self.known.literal(atom).is_some_and(|l| l.is_like(&first))) {
            return None;
        }
        let new = fresh(&mut self.vars, first.elem, first.numbers.len());
        let numbers = new.iter().map(|v| Atom::Var(*v)).collect();
        Some((Literal { numbers, ..first }, new))
    }

    /// The numbers of an array that is written out; nothing, behind a stop.
    fn numbers(&self, atom: &Atom, like: &Literal) -> Vec<Atom> {
        match self.known.literal(atom) {
            Some(literal) => literal.numbers.clone(),
            None => vec![Atom::Unused(like.elem.ty()); like.numbers.len()],
        }
    }

    /// Takes numbers instead of the results of branches. Gives what puts the arrays together.
    fn branches(&mut self, stmt: &mut Stmt) -> Vec<Stmt> {
        let mut behind = Vec::new();
        for i in (0..stmt.results.len()).rev() {
            let v = stmt.results[i];
            if !matches!(self.vars[v.0 as usize].ty, FlatTy::Array(..)) {
                continue;
            }
            let mut atoms = Vec::new();
            regions(&stmt.op, |region| {
                if !region.stmts.last().is_some_and(|last| matches!(last.op, Op::Stop(_))) {
                    atoms.push(&region.results[i]);
                }
            });
            let Some((literal, new)) = self.alike(&atoms) else { continue };
            stmt.results.splice(i..=i, new);
            regions_mut(&mut stmt.op, |region| {
                let numbers = self.numbers(&region.results[i], &literal);
                region.results.splice(i..=i, numbers);
            });
            behind.extend(self.put(literal, v, stmt.site));
        }
        behind
    }

    /// Takes numbers instead of what a loop carries. Gives what puts the arrays together behind it.
    fn carried(&mut self, stmt: &mut Stmt) -> Vec<Stmt> {
        let Op::For { carried, body, .. } = &mut stmt.op else { return Vec::new() };
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for i in (0..carried.len()).rev() {
            let param = carried[i].param;
            if !matches!(self.vars[param.0 as usize].ty, FlatTy::Array(..)) {
                continue;
            }
            let init = carried[i].init.clone();
            let Some((within, params)) = self.alike(&[&init, &body.results[i]]) else { continue };
            let new = fresh(&mut self.vars, within.elem, params.len());
            let numbers = new.iter().map(|v| Atom::Var(*v)).collect();
            let literal = Literal { numbers, ..within.clone() };
            let inits = self.numbers(&init, &literal);
            let next = self.numbers(&body.results[i], &literal);
            let numbers = params.into_iter().zip(inits);
            carried.splice(i..=i, numbers.map(|(param, init)| crate::ir::Carried { param, init }));
            body.results.splice(i..=i, next);
            before.extend(self.put(within, param, stmt.site));
            let v = stmt.results[i];
            stmt.results.splice(i..=i, new);
            behind.extend(self.put(literal, v, stmt.site));
        }
        before.append(&mut body.stmts);
        body.stmts = before;
        behind
    }
}

/// A parameter: of which function, and which one it is.
type ParamId = (usize, usize);

/// What a call passes.
enum Passed {
    /// An array that is written out, of these sizes.
    Literal(Vec<i64>),
    /// An array that was given these sizes.
    Sized(Vec<i64>),
    /// A parameter of the caller, perhaps of these sizes.
    Parameter(ParamId, Option<Vec<i64>>),
    /// Something else.
    Other,
}

/// What is known of a parameter of which only elements are read.
#[derive(Clone, Default)]
struct Read {
    sizes: Option<Vec<i64>>,
    /// Whether some call passes an array that is written out.
    written: bool,
}

/// The parameters of a function, by what they are called: which one it is, and the sizes it was given.
type ParamNames = HashMap<Var, (usize, Option<Vec<i64>>)>;

/// Makes parameters numbers.
fn parameters(
    module: &mut Module,
    known: &[ArrayFacts],
    names: &[ParamNames],
    mut reads: HashMap<ParamId, Read>,
    changed: &mut [bool],
) {
    if known.iter().all(|known| known.literals.is_empty()) {
        return;
    }
    let mut calls: Vec<(ParamId, Passed)> = Vec::new();
    for (f, function) in module.functions.iter().enumerate() {
        passed(f, function, &known[f], &names[f], &reads, &mut calls);
    }
    settle(&mut reads, &calls);
    if reads.is_empty() {
        return;
    }
    for (f, function) in module.functions.iter_mut().enumerate() {
        let Function { vars, params, body, .. } = function;
        let mut cx = Parameters { reads: &reads, known: &known[f], vars, changed: false };
        cx.block(body);
        let mut start = Vec::new();
        let site = body.stmts.first().map_or(SiteId(0), |stmt| stmt.site);
        for (k, v) in std::mem::take(params).into_iter().enumerate() {
            let ty = cx.vars[v.0 as usize].ty.clone();
            let sizes = reads.get(&(f, k)).and_then(|read| read.sizes.clone());
            let (Some(sizes), FlatTy::Array(elem, _)) = (sizes, ty) else {
                params.push(v);
                continue;
            };
            let new = fresh(cx.vars, elem, sizes.iter().product::<i64>() as usize);
            let numbers = new.iter().map(|v| Atom::Var(*v)).collect();
            start.extend(together(&Literal { elem, sizes, numbers }, v, site, cx.vars));
            params.extend(new);
            cx.changed = true;
        }
        changed[f] |= cx.changed;
        start.append(&mut body.stmts);
        body.stmts = start;
    }
}

/// Finds the parameters of which only elements at constant indices and sizes are read. Gives what they are called.
fn only_read(f: usize, function: &Function, reads: &mut HashMap<ParamId, Read>) -> ParamNames {
    let mut names = ParamNames::new();
    for (k, v) in function.params.iter().enumerate() {
        let ty = &function.vars[v.0 as usize].ty;
        if matches!(ty, FlatTy::Array(Elem::Real | Elem::Int | Elem::Bool, _)) {
            names.insert(*v, (k, None));
            reads.insert((f, k), Read::default());
        }
    }
    if names.is_empty() {
        return names;
    }
    let mut whole: HashSet<Var> = HashSet::new();
    statements(&function.body, &mut |stmt| {
        match &stmt.op {
            Op::Get(array, indices) => {
                let place = indices.iter().all(|index| matches!(index, Atom::Int(_)));
                let number =
                    !matches!(function.vars[stmt.results[0].0 as usize].ty, FlatTy::Array(..));
                if !(place && number) {
                    whole.extend(var(array));
                }
            }
            Op::Reshape(array, sizes) => {
                let own = var(array).and_then(|v| names.get(&v));
                match (own, small(sizes)) {
                    (Some((k, _)), Some(sizes)) => {
                        let name = (*k, Some(sizes));
                        names.insert(stmt.results[0], name);
                    }
                    _ => whole.extend(var(array)),
                }
            }
            // Whether that is to be whole is found out with all calls.
            Op::Dim(..) | Op::Call(..) => {}
            op => operands(op, |a| whole.extend(var(a))),
        }
        regions(&stmt.op, |region| whole.extend(region.results.iter().filter_map(var)));
    });
    whole.extend(function.body.results.iter().filter_map(var));
    for (k, _) in whole.iter().filter_map(|v| names.get(v)) {
        reads.remove(&(f, *k));
    }
    names
}

/// Finds what calls pass.
fn passed(
    f: usize,
    function: &Function,
    known: &ArrayFacts,
    names: &ParamNames,
    reads: &HashMap<ParamId, Read>,
    calls: &mut Vec<(ParamId, Passed)>,
) {
    let mut shapes = None;
    let mut nothing = None;
    statements(&function.body, &mut |stmt| {
        let Op::Call(g, args) = &stmt.op else { return };
        for (k, arg) in args.iter().enumerate() {
            let place = (g.0 as usize, k);
            let own = var(arg).and_then(|v| names.get(&v));
            if !reads.contains_key(&place) && own.is_none() {
                continue;
            }
            let mut sizes = |v: Var| {
                let nothing = nothing.get_or_insert_with(|| unused(function));
                let shapes = shapes.get_or_insert_with(|| Shapes::of(function));
                let FlatTy::Array(_, rank) = function.vars[v.0 as usize].ty else { return None };
                let size = |k| match shapes.extent(v, k) {
                    Some(SizeExtent { size: Size::Is(n), always: true }) => Some(n),
                    Some(_) | None => None,
                };
                let sizes = known.sized.get(&v).cloned();
                let sizes =
                    sizes.or_else(|| small(&(0..rank).map(size).collect::<Option<Vec<_>>>()?));
                sizes.filter(|_| !nothing.contains(&v))
            };
            let passed = if let Some(literal) = known.literal(arg) {
                Passed::Literal(literal.sizes.clone())
            } else if let Some((own, sizes)) = own {
                Passed::Parameter((f, *own), sizes.clone())
            } else {
                var(arg).and_then(&mut sizes).map_or(Passed::Other, Passed::Sized)
            };
            calls.push((place, passed));
        }
    });
}

/// Leaves the parameters that become numbers.
fn settle(reads: &mut HashMap<ParamId, Read>, calls: &[(ParamId, Passed)]) {
    for _ in 0..ROUNDS {
        let mut stable = true;
        for (place, passed) in calls {
            let Some(read) = reads.get(place).cloned() else {
                // Who passes it on needs it whole.
                if let Passed::Parameter(own, _) = passed {
                    stable &= reads.remove(own).is_none();
                }
                continue;
            };
            let (sizes, written) = match passed {
                Passed::Literal(sizes) => (Some(sizes.clone()), true),
                Passed::Sized(sizes) => (Some(sizes.clone()), false),
                Passed::Parameter(own, sizes) => match (reads.get(own), sizes) {
                    (Some(own), Some(sizes)) => (Some(sizes.clone()), own.written),
                    (Some(own), None) => (own.sizes.clone(), own.written),
                    (None, Some(sizes)) => (Some(sizes.clone()), false),
                    (None, None) => {
                        reads.remove(place);
                        stable = false;
                        continue;
                    }
                },
                Passed::Other => {
                    reads.remove(place);
                    stable = false;
                    continue;
                }
            };
            match (&read.sizes, sizes) {
                (Some(a), Some(b)) if *a != b => {
                    reads.remove(place);
                    stable = false;
                    continue;
                }
                (None, Some(sizes)) => {
                    stable = false;
                    reads.entry(*place).or_default().sizes = Some(sizes);
                }
                (_, _) => {}
            }
            if written && !read.written {
                stable = false;
                reads.entry(*place).or_default().written = true;
            }
        }
        if stable {
            let before = reads.len();
            reads.retain(|_, read| read.written && read.sizes.is_some());
            let mut counts: HashMap<usize, usize> = HashMap::new();
            for ((f, _), read) in reads.iter() {
                let sizes = read.sizes.iter().flatten();
                *counts.entry(*f).or_default() += sizes.product::<i64>() as usize;
            }
            reads.retain(|(f, _), _| counts[f] <= MANY);
            if reads.len() == before {
                return;
            }
        }
    }
    reads.clear();
}

struct Parameters<'a> {
    reads: &'a HashMap<ParamId, Read>,
    known: &'a ArrayFacts,
    vars: &'a mut Vec<VarInfo>,
    changed: bool,
}

impl Parameters<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |region| self.block(region)));
            }
            if let Op::Call(f, args) = &mut stmt.op {
                for (k, arg) in std::mem::take(args).into_iter().enumerate() {
                    match self.reads.get(&(f.0 as usize, k)).and_then(|read| read.sizes.as_ref()) {
                        Some(sizes) => {
                            args.extend(self.elements(&arg, sizes, stmt.site, &mut out));
                            self.changed = true;
                        }
                        None => args.push(arg),
                    }
                }
            }
            out.push(stmt);
        }
        block.stmts = out;
    }

    /// The elements of an array of these sizes.
    fn elements(
        &mut self,
        array: &Atom,
        sizes: &[i64],
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> Vec<Atom> {
        if let Some(literal) = self.known.literal(array) {
            return literal.numbers.clone();
        }
        let Some(FlatTy::Array(elem, _)) = var(array).map(|v| self.vars[v.0 as usize].ty.clone())
        else {
            return Vec::new();
        };
        let count = sizes.iter().product::<i64>();
        let mut numbers = Vec::new();
        for (place, v) in (0..count).zip(fresh(self.vars, elem, count as usize)) {
            let mut left = place;
            let mut indices: Vec<Atom> = Vec::new();
            for size in sizes.iter().rev() {
                indices.push(Atom::Int(left % size));
                left /= size;
            }
            indices.reverse();
            out.push(Stmt { results: vec![v], op: Op::Get(array.clone(), indices), site });
            numbers.push(Atom::Var(v));
        }
        numbers
    }
}
