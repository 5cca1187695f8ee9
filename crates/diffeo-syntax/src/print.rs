//! Syntax tree to a readable dump: s-expressions, indented where they do not fit a line, no spans.
//!
//! The tree is first flattened to a list of opening brackets, words and closing brackets, which is
//! then laid out without recursion.

use crate::ast::{
    Arm, Binding, Clause, Control, Def, ExprId, ExprKind, Ident, Import, Item, Module, PatId,
    PatKind, Path, Range, SizeExpr, TypeBody, TypeDecl, TypeId, TypeKind, UnaryOp,
};
use diffeo_base::{deep, field_name};

/// The dump of a tree: a line `(import …)`, `(type …)` or `(def …)` for each item, broken and indented
/// where it is longer than 100 characters.
///
/// ```
/// let (module, _) = diffeo_syntax::parse(diffeo_base::FileId(0), "def f(x, y) = x + 2 * y");
/// assert_eq!(diffeo_syntax::print(&module), "(def f (tuple x y) (+ x (* 2 y)))\n");
/// ```
pub fn print(module: &Module) -> String {
    let mut printer = AstPrinter { module, events: Vec::new() };
    for item in &module.items {
        match item {
            Item::Import(import) => printer.import(import),
            Item::Type(decl) => printer.type_decl(decl),
            Item::Def(def) => printer.def(def),
        }
    }
    layout(&printer.events)
}

const WIDTH: usize = 100;
/// Deeper levels are not indented further: the dump stays linear in the tree.
const MAX_INDENT: usize = 60;

enum Event {
    Open,
    Word(String),
    Close,
}

struct AstPrinter<'m> {
    module: &'m Module,
    events: Vec<Event>,
}

impl AstPrinter<'_> {
    fn open(&mut self, head: &str) {
        self.events.push(Event::Open);
        self.word(head);
    }

    fn close(&mut self) {
        self.events.push(Event::Close);
    }

    fn word(&mut self, word: impl Into<String>) {
        self.events.push(Event::Word(word.into()));
    }

    fn path(&mut self, path: &Path) {
        match &path.module {
            Some(module) => self.word(format!("{}.{}", module.name, path.name.name)),
            None => self.word(&*path.name.name),
        }
    }

    fn doc(&mut self, doc: &[diffeo_base::Name]) {
        if !doc.is_empty() {
            self.open("doc");
            for line in doc {
                self.word(format!("{line:?}"));
            }
            self.close();
        }
    }

    fn import(&mut self, import: &Import) {
        self.open("import");
        self.word(&*import.module.name);
        for name in &import.names {
            self.word(&*name.name);
        }
        self.close();
    }

    fn type_decl(&mut self, decl: &TypeDecl) {
        self.open("type");
        self.word(&*decl.name.name);
        self.doc(&decl.doc);
        if !decl.params.is_empty() {
            self.open("params");
            for param in &decl.params {
                self.word(&*param.name);
            }
            self.close();
        }
        match &decl.body {
            TypeBody::Variants(constructors) => {
                self.open("variants");
                for constructor in constructors {
                    self.open(&constructor.name.name);
                    for &field in &constructor.fields {
                        self.type_(field);
                    }
                    self.close();
                }
                self.close();
            }
            TypeBody::Alias(alias) => {
                self.open("alias");
                self.type_(*alias);
                self.close();
            }
        }
        self.close();
    }

    fn def(&mut self, def: &Def) {
        self.open("def");
        self.word(&*def.name.name);
        self.doc(&def.doc);
        if let Some(param) = def.param {
            self.pat(param);
        }
        self.ret(def.ret);
        self.expr(def.body);
        self.close();
    }

    fn ret(&mut self, ret: Option<TypeId>) {
        if let Some(ret) = ret {
            self.open(":");
            self.type_(ret);
            self.close();
        }
    }

    fn exprs(&mut self, head: &str, parts: &[ExprId]) {
        self.open(head);
        for &part in parts {
            self.expr(part);
        }
        self.close();
    }

    fn fields(&mut self, fields: &[(Ident, ExprId)]) {
        for (name, value) in fields {
            self.open(&field_name(&name.name));
            self.expr(*value);
            self.close();
        }
    }

    fn expr(&mut self, id: ExprId) {
        deep(|| self.expr_here(id));
    }

    fn expr_here(&mut self, id: ExprId) {
        let module = self.module;
        match &module.exprs[id].kind {
            ExprKind::Error => self.word("<error>"),
            ExprKind::Int(n) => self.word(n.to_string()),
            ExprKind::Real(x) => self.word(format!("{x:?}")),
            ExprKind::Bool(b) => self.word(b.to_string()),
            ExprKind::Str(text) => self.word(format!("{text:?}")),
            ExprKind::Unit => self.word("()"),
            ExprKind::Var(name) => self.word(&**name),
            ExprKind::Con(name) => self.word(&*name.name),
            ExprKind::Apply { fun, arg } => self.exprs("call", &[*fun, *arg]),
            ExprKind::Hole => self.word("_"),
            ExprKind::Tuple(parts) => self.exprs("tuple", parts),
            ExprKind::Record(fields) => {
                self.open("record");
                self.fields(fields);
                self.close();
            }
            ExprKind::RecordWith { base, fields } => {
                self.open("record-with");
                self.expr(*base);
                self.fields(fields);
                self.close();
            }
            ExprKind::Array(parts) => self.exprs("array", parts),
            ExprKind::List(parts) => self.exprs("list", parts),
            ExprKind::Comprehension { body, clauses } => {
                self.open("comprehension");
                self.expr(*body);
                for clause in clauses {
                    let Clause { pat, range, cond } = *clause;
                    match range {
                        Range::Count(bound) => self.iteration("count", pat, bound),
                        Range::In(source) => self.iteration("in", pat, source),
                    }
                    if let Some(cond) = cond {
                        self.exprs("if", &[cond]);
                    }
                }
                self.close();
            }
            ExprKind::Index { base, indices } => {
                self.open("index");
                self.expr(*base);
                for &index in indices {
                    self.expr(index);
                }
                self.close();
            }
            ExprKind::Slice { base, lo, hi } => self.exprs("slice", &[*base, *lo, *hi]),
            ExprKind::Field { base, field } => {
                self.open("field");
                self.expr(*base);
                self.word(field_name(&field.name));
                self.close();
            }
            ExprKind::Component { base, index } => {
                self.open("component");
                self.expr(*base);
                self.word(index.to_string());
                self.close();
            }
            ExprKind::Unary { op: UnaryOp::Neg, operand } => self.exprs("neg", &[*operand]),
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.exprs("not", &[*operand]),
            ExprKind::Binary { op, lhs, rhs, op_span: _ } => self.exprs(op.symbol(), &[*lhs, *rhs]),
            ExprKind::If { cond, then, otherwise } => self.exprs("if", &[*cond, *then, *otherwise]),
            ExprKind::Case { scrutinee, arms } => {
                self.open("case");
                self.expr(*scrutinee);
                for Arm { pat, body } in arms {
                    self.iteration("arm", *pat, *body);
                }
                self.close();
            }
            ExprKind::Let { bindings, body } => {
                self.open("let");
                for binding in bindings {
                    self.binding(binding);
                }
                self.expr(*body);
                self.close();
            }
            ExprKind::Fn { param, body } => self.iteration("fn", *param, *body),
            ExprKind::Loop { pat, init, control, body } => {
                self.open("loop");
                self.pat(*pat);
                self.expr(*init);
                match &**control {
                    Control::Count { pat, bound } => self.iteration("count", *pat, *bound),
                    Control::In { pat, source } => self.iteration("in", *pat, *source),
                    Control::While(cond) => self.exprs("while", &[*cond]),
                }
                self.expr(*body);
                self.close();
            }
            ExprKind::Update { base, indices, value } => {
                self.open("update");
                self.expr(*base);
                self.exprs("at", indices);
                self.expr(*value);
                self.close();
            }
        }
    }

    fn iteration(&mut self, head: &str, pat: PatId, expr: ExprId) {
        self.open(head);
        self.pat(pat);
        self.expr(expr);
        self.close();
    }

    fn binding(&mut self, binding: &Binding) {
        match binding {
            Binding::Value { pat, value } => self.iteration("=", *pat, *value),
            Binding::Function { recursive, name, param, ret, body } => {
                self.open(if *recursive { "rec" } else { "fun" });
                self.pat(*name);
                self.pat(*param);
                self.ret(*ret);
                self.expr(*body);
                self.close();
            }
        }
    }

    fn pat(&mut self, id: PatId) {
        deep(|| self.pat_here(id));
    }

    fn pat_here(&mut self, id: PatId) {
        let module = self.module;
        match &module.pats[id].kind {
            PatKind::Error => self.word("<error>"),
            PatKind::Wild => self.word("_"),
            PatKind::Var(name) => self.word(&**name),
            PatKind::Int(n) => self.word(n.to_string()),
            PatKind::Real(x) => self.word(format!("{x:?}")),
            PatKind::Bool(b) => self.word(b.to_string()),
            PatKind::Str(text) => self.word(format!("{text:?}")),
            PatKind::Unit => self.word("()"),
            PatKind::Tuple(parts) => {
                self.open("tuple");
                for &part in parts {
                    self.pat(part);
                }
                self.close();
            }
            PatKind::Record(fields) => {
                self.open("record");
                for (name, pat) in fields {
                    self.open(&field_name(&name.name));
                    self.pat(*pat);
                    self.close();
                }
                self.close();
            }
            PatKind::Con { path, arg: None } => self.path(path),
            PatKind::Con { path, arg: Some(arg) } => {
                self.events.push(Event::Open);
                self.path(path);
                self.pat(*arg);
                self.close();
            }
            PatKind::Cons(head, tail) => {
                self.open("::");
                self.pat(*head);
                self.pat(*tail);
                self.close();
            }
            PatKind::Annot(pat, ty) => {
                self.open(":");
                self.pat(*pat);
                self.type_(*ty);
                self.close();
            }
        }
    }

    fn type_(&mut self, id: TypeId) {
        deep(|| self.type_here(id));
    }

    fn type_here(&mut self, id: TypeId) {
        let module = self.module;
        match &module.types[id].kind {
            TypeKind::Error => self.word("<error>"),
            TypeKind::Named { path, args } if args.is_empty() => self.path(path),
            TypeKind::Named { path, args } => {
                self.events.push(Event::Open);
                self.path(path);
                for &arg in args {
                    self.type_(arg);
                }
                self.close();
            }
            TypeKind::Var(name) => self.word(&**name),
            TypeKind::Unit => self.word("()"),
            TypeKind::Tuple(parts) => {
                self.open("tuple");
                for &part in parts {
                    self.type_(part);
                }
                self.close();
            }
            TypeKind::Record(fields) => {
                self.open("record");
                for (name, ty) in fields {
                    self.open(&field_name(&name.name));
                    self.type_(*ty);
                    self.close();
                }
                self.close();
            }
            TypeKind::Array(size, element) => {
                self.open("array");
                match size {
                    SizeExpr::Named(name) => self.word(&*name.name),
                    SizeExpr::Literal(n, _) => self.word(n.to_string()),
                    SizeExpr::Unknown => self.word("_"),
                }
                self.type_(*element);
                self.close();
            }
            TypeKind::Fun(from, to) => {
                self.open("->");
                self.type_(*from);
                self.type_(*to);
                self.close();
            }
        }
    }
}

/// For each event the width of what starts there, written on one line.
fn widths(events: &[Event]) -> Vec<usize> {
    let mut widths = vec![0; events.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut total = 0;
    for (i, event) in events.iter().enumerate() {
        match event {
            Event::Open => {
                open.push(i);
                widths[i] = total;
                total += 1;
            }
            Event::Word(word) => {
                widths[i] = word.chars().count();
                total += widths[i] + 1;
            }
            Event::Close => {
                total += 1;
                if let Some(start) = open.pop() {
                    widths[start] = total - widths[start];
                }
            }
        }
    }
    widths
}

fn layout(events: &[Event]) -> String {
    let widths = widths(events);
    let mut out = String::new();
    // For each open bracket whether it is broken over lines, and how many parts it has so far.
    let mut open: Vec<(bool, usize)> = Vec::new();
    for (event, width) in events.iter().zip(&widths) {
        let indent = (2 * open.len()).min(MAX_INDENT);
        if !matches!(event, Event::Close) {
            match open.last_mut() {
                None if out.is_empty() => {}
                None => out.push('\n'),
                Some((broken, parts)) => {
                    // What follows the head stays beside it if it is a word.
                    let beside = !*broken || *parts == 1 && matches!(event, Event::Word(_));
                    match *parts {
                        0 => {}
                        _ if beside => out.push(' '),
                        _ => {
                            out.push('\n');
                            out.extend(std::iter::repeat_n(' ', indent));
                        }
                    }
                    *parts += 1;
                }
            }
        }
        match event {
            Event::Open => {
                out.push('(');
                open.push((indent + width > WIDTH, 0));
            }
            Event::Word(word) => out.push_str(word),
            Event::Close => {
                out.push(')');
                open.pop();
            }
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}
