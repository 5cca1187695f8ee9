//! The syntax tree: what the parser makes of a file, a span on every node, no types.
//!
//! Nodes live in the arenas of their [`Module`] and refer to each other by index, so that a tree of
//! any depth is dropped without recursion and passes keep their results in tables beside it.

use diffeo_base::{Arena, FileId, Idx, Name, Span};

/// The index of an expression.
pub type ExprId = Idx<Expr>;
/// The index of a pattern. A variable's identity is the index of the pattern that binds it.
pub type PatId = Idx<Pat>;
/// The index of a type expression.
pub type TypeId = Idx<TypeExpr>;

/// A name with its place. That of a field may be any text, which stands in quotes where it is no identifier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The text.
    pub name: Name,
    /// The place.
    pub span: Span,
}

/// A file's tree.
#[derive(Clone, Debug)]
pub struct Module {
    /// The file it was read from.
    pub file: FileId,
    /// Imports, types and definitions in source order.
    pub items: Vec<Item>,
    /// All expressions.
    pub exprs: Arena<Expr>,
    /// All patterns.
    pub pats: Arena<Pat>,
    /// All type expressions.
    pub types: Arena<TypeExpr>,
}

/// A top-level item.
#[derive(Clone, Debug)]
pub enum Item {
    /// `import m` or `import m (a, B)`.
    Import(Import),
    /// `type …`.
    Type(TypeDecl),
    /// `def …`.
    Def(Def),
}

/// `import module (names)`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module's name.
    pub module: Ident,
    /// The names taken unqualified.
    pub names: Vec<Ident>,
    /// The whole import.
    pub span: Span,
}

/// `type Name[params] = body`.
#[derive(Clone, Debug)]
pub struct TypeDecl {
    /// The lines of its doc comment, without `##`.
    pub doc: Vec<Name>,
    /// The type's name.
    pub name: Ident,
    /// The type parameters.
    pub params: Vec<Ident>,
    /// The right-hand side.
    pub body: TypeBody,
    /// The whole declaration.
    pub span: Span,
}

/// The right-hand side of a type declaration.
#[derive(Clone, Debug)]
pub enum TypeBody {
    /// Constructors: there was a `|`, or a constructor with fields.
    Variants(Vec<Constructor>),
    /// Another type. A bare upper-case name that is no type is a single constructor without fields:
    /// only name resolution can tell.
    Alias(TypeId),
}

/// A constructor of a variant type.
#[derive(Clone, Debug)]
pub struct Constructor {
    /// Its name.
    pub name: Ident,
    /// The types of its fields; none for a constant constructor.
    pub fields: Vec<TypeId>,
}

/// `def name(params) -> ret = body`, or `def name: ret = body`.
#[derive(Clone, Debug)]
pub struct Def {
    /// The lines of its doc comment, without `##`.
    pub doc: Vec<Name>,
    /// The name defined.
    pub name: Ident,
    /// The one parameter: a tuple pattern for several, the unit pattern for `()`, none for a constant.
    pub param: Option<PatId>,
    /// The result type, or the constant's type.
    pub ret: Option<TypeId>,
    /// The body.
    pub body: ExprId,
    /// The whole definition.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// A possibly qualified constructor, `Just` or `shapes.Circle`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The module.
    pub module: Option<Ident>,
    /// The name.
    pub name: Ident,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// What could not be parsed (reported already).
    Error,
    /// An integer literal; `9223372036854775808` is meaningful only under `-`.
    Int(u64),
    /// A literal with a point or an exponent.
    Real(f64),
    /// `true`, `false`.
    Bool(bool),
    /// `"text"`, escapes resolved.
    Str(Name),
    /// `()`.
    Unit,
    /// A lower-case name.
    Var(Name),
    /// A constructor, without a module.
    Con(Ident),
    /// `f(x)`; several arguments are one [`ExprKind::Tuple`], none is [`ExprKind::Unit`].
    Apply {
        /// The function.
        fun: ExprId,
        /// Its one argument.
        arg: ExprId,
    },
    /// `_` among the arguments of a call: the call is a function of it.
    Hole,
    /// `(a, b)`; at least two components.
    Tuple(Vec<ExprId>),
    /// `{x = a, y = b}`; `{y}` is `{y = y}`, its value a [`ExprKind::Var`] at the place of the field.
    Record(Vec<(Ident, ExprId)>),
    /// `{r with x = a}`.
    RecordWith {
        /// The record.
        base: ExprId,
        /// The fields replaced.
        fields: Vec<(Ident, ExprId)>,
    },
    /// `[a, b]`.
    Array(Vec<ExprId>),
    /// `list[a, b]`.
    List(Vec<ExprId>),
    /// `[body for …]`, outermost clause first; at least one clause, each perhaps with a condition.
    Comprehension {
        /// The element.
        body: ExprId,
        /// The clauses.
        clauses: Vec<Clause>,
    },
    /// `a[i]`, `a[i, j]`.
    Index {
        /// The array.
        base: ExprId,
        /// At least one index.
        indices: Vec<ExprId>,
    },
    /// `a[lo..hi]`.
    Slice {
        /// The array.
        base: ExprId,
        /// The first index.
        lo: ExprId,
        /// One past the last.
        hi: ExprId,
    },
    /// `r.x`; also `module.name` and `module.Constructor`, which only name resolution can tell apart.
    Field {
        /// The record.
        base: ExprId,
        /// The field.
        field: Ident,
    },
    /// `p.0`.
    Component {
        /// The tuple.
        base: ExprId,
        /// The component, from 0.
        index: usize,
    },
    /// `-a`, `not a`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: ExprId,
    },
    /// `a + b` and the other infix operators.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Where the operator stands.
        op_span: Span,
        /// The left operand.
        lhs: ExprId,
        /// The right operand.
        rhs: ExprId,
    },
    /// `if c then a else b`.
    If {
        /// The condition.
        cond: ExprId,
        /// If it holds.
        then: ExprId,
        /// If not.
        otherwise: ExprId,
    },
    /// `case e of { P -> e | … }`.
    Case {
        /// What is looked at.
        scrutinee: ExprId,
        /// The arms; possibly none after an error.
        arms: Vec<Arm>,
    },
    /// `let … let … in body`: consecutive lets are one node.
    Let {
        /// The bindings in order.
        bindings: Vec<Binding>,
        /// What they are in scope of.
        body: ExprId,
    },
    /// `fn p -> body`.
    Fn {
        /// The parameter.
        param: PatId,
        /// The body.
        body: ExprId,
    },
    /// `loop p = init <control> do body`.
    Loop {
        /// The state.
        pat: PatId,
        /// Its first value.
        init: ExprId,
        /// How often.
        control: Box<Control>,
        /// Its next value.
        body: ExprId,
    },
    /// `xs with [i, j] = value`.
    Update {
        /// The array.
        base: ExprId,
        /// At least one index.
        indices: Vec<ExprId>,
        /// The new element.
        value: ExprId,
    },
}

impl ExprKind {
    /// Calls a function with each expression that this one consists of, in the order of the text.
    pub fn each_child(&self, see: &mut dyn FnMut(ExprId)) {
        match self {
            ExprKind::Error
            | ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Var(_)
            | ExprKind::Con(_)
            | ExprKind::Hole => {}
            ExprKind::Apply { fun, arg } => [*fun, *arg].into_iter().for_each(see),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) | ExprKind::List(parts) => {
                parts.iter().copied().for_each(see);
            }
            ExprKind::Record(fields) => fields.iter().for_each(|(_, e)| see(*e)),
            ExprKind::RecordWith { base, fields } => {
                see(*base);
                fields.iter().for_each(|(_, e)| see(*e));
            }
            ExprKind::Comprehension { body, clauses } => {
                see(*body);
                for clause in clauses {
                    see(clause.range.expr());
                    clause.cond.into_iter().for_each(&mut *see);
                }
            }
            ExprKind::Index { base, indices } => {
                see(*base);
                indices.iter().copied().for_each(see);
            }
            ExprKind::Slice { base, lo, hi } => [*base, *lo, *hi].into_iter().for_each(see),
            ExprKind::Field { base, field: _ } | ExprKind::Component { base, index: _ } => {
                see(*base);
            }
            ExprKind::Unary { op: _, operand } => see(*operand),
            ExprKind::Binary { op: _, op_span: _, lhs, rhs } => {
                [*lhs, *rhs].into_iter().for_each(see);
            }
            ExprKind::If { cond, then, otherwise } => {
                [*cond, *then, *otherwise].into_iter().for_each(see);
            }
            ExprKind::Case { scrutinee, arms } => {
                see(*scrutinee);
                arms.iter().for_each(|arm| see(arm.body));
            }
            ExprKind::Let { bindings, body } => {
                for binding in bindings {
                    match binding {
                        Binding::Value { pat: _, value: e }
                        | Binding::Function { recursive: _, name: _, param: _, ret: _, body: e } => {
                            see(*e);
                        }
                    }
                }
                see(*body);
            }
            ExprKind::Fn { param: _, body } => see(*body),
            ExprKind::Loop { pat: _, init, control, body } => {
                let driver = match &**control {
                    Control::Count { pat: _, bound: e }
                    | Control::In { pat: _, source: e }
                    | Control::While(e) => *e,
                };
                [*init, driver, *body].into_iter().for_each(see);
            }
            ExprKind::Update { base, indices, value } => {
                see(*base);
                indices.iter().copied().for_each(&mut *see);
                see(*value);
            }
        }
    }
}

/// A clause of a comprehension.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The index variable or the element (any pattern).
    pub pat: PatId,
    /// What it goes over.
    pub range: Range,
    /// `if c` after it: the steps that are taken.
    pub cond: Option<ExprId>,
}

/// What a clause of a comprehension goes over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Range {
    /// `for i < n`.
    Count(ExprId),
    /// `for x in xs`.
    In(ExprId),
}

impl Range {
    /// The bound or the array.
    pub fn expr(self) -> ExprId {
        match self {
            Range::Count(e) | Range::In(e) => e,
        }
    }
}

/// What drives a loop.
#[derive(Clone, Debug)]
pub enum Control {
    /// `for i < n`.
    Count {
        /// The index variable (any pattern).
        pat: PatId,
        /// The bound.
        bound: ExprId,
    },
    /// `for x in xs`.
    In {
        /// The element.
        pat: PatId,
        /// The array.
        source: ExprId,
    },
    /// `while c`.
    While(ExprId),
}

/// An arm of a case.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The pattern.
    pub pat: PatId,
    /// The result.
    pub body: ExprId,
}

/// One binding of a let.
#[derive(Clone, Debug)]
pub enum Binding {
    /// `let p = e`.
    Value {
        /// The pattern.
        pat: PatId,
        /// The value.
        value: ExprId,
    },
    /// `let f(p) -> ret = e`, `let rec f(p) -> ret = e`.
    Function {
        /// Whether the body may call it.
        recursive: bool,
        /// A [`PatKind::Var`] pattern with the function's name.
        name: PatId,
        /// The one parameter.
        param: PatId,
        /// The result type.
        ret: Option<TypeId>,
        /// The body.
        body: ExprId,
    },
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `not`
    Not,
}

/// Infix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `|>`
    Pipe,
    /// `or`
    Or,
    /// `and`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `::`
    Cons,
    /// `++`
    Append,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `^`
    Pow,
}

impl BinaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Pipe => "|>",
            BinaryOp::Or => "or",
            BinaryOp::And => "and",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Cons => "::",
            BinaryOp::Append => "++",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Pow => "^",
        }
    }
}

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pat {
    /// What it is.
    pub kind: PatKind,
    /// Where.
    pub span: Span,
}

/// What a pattern is.
#[derive(Clone, Debug)]
pub enum PatKind {
    /// What could not be parsed (reported already).
    Error,
    /// `_`
    Wild,
    /// A variable.
    Var(Name),
    /// An integer literal, with its sign.
    Int(i64),
    /// A literal with a point or an exponent, with its sign.
    Real(f64),
    /// `true`, `false`.
    Bool(bool),
    /// `"text"`.
    Str(Name),
    /// `()`.
    Unit,
    /// `(p, q)`; at least two components.
    Tuple(Vec<PatId>),
    /// `{x = p, y}`; `{y}` is `{y = y}`.
    Record(Vec<(Ident, PatId)>),
    /// `Just(p)`; several arguments are one [`PatKind::Tuple`].
    Con {
        /// The constructor.
        path: Path,
        /// Its payload.
        arg: Option<PatId>,
    },
    /// `p :: q`.
    Cons(PatId, PatId),
    /// `(p: T)`.
    Annot(PatId, TypeId),
}

/// A type expression.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// What a type expression is.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// What could not be parsed (reported already).
    Error,
    /// `Real`, `List[T]`, `shapes.Shape`.
    Named {
        /// The name, perhaps with a module.
        path: Path,
        /// Its arguments.
        args: Vec<TypeId>,
    },
    /// A type variable.
    Var(Name),
    /// `()`
    Unit,
    /// `(A, B)`; at least two components.
    Tuple(Vec<TypeId>),
    /// `{x: A, y: B}`.
    Record(Vec<(Ident, TypeId)>),
    /// `[n]A`.
    Array(SizeExpr, TypeId),
    /// `A -> B`.
    Fun(TypeId, TypeId),
}

/// The size in an array type.
#[derive(Clone, Debug)]
pub enum SizeExpr {
    /// `[n]`
    Named(Ident),
    /// `[3]`
    Literal(u64, Span),
    /// `[]`
    Unknown,
}
