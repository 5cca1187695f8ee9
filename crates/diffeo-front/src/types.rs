//! The types of inference and the store of their variables: unification, sizes, classes of types.
//!
//! A type variable is open (to be found), bound, rigid (named by an annotation) or general
//! (quantified by a scheme; elaboration replaces it). Sizes have their own variables; a known size
//! that meets an unknown one becomes unknown, because nothing is checked there.

mod fields;
mod unify;
mod walk;

use diffeo_base::{deep, Name, Span};
pub use fields::{FieldOrder, Fields};
use std::collections::HashMap;
use std::convert::Infallible;
use std::rc::Rc;
pub use walk::{Made, Part, Seen, Shared, Walk};

/// A type variable of the [`Store`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TyVar(pub u32);

/// A size variable of the [`Store`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SizeVar(pub u32);

/// The index of a variant type in the program's tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DataIdx(pub u32);

/// A type.
#[derive(Clone, Debug)]
pub enum Ty {
    /// What an error left unknown: agrees with everything.
    Error,
    /// A variable.
    Var(TyVar),
    /// `f64`
    Real,
    /// `i64`
    Int,
    /// Truth values.
    Bool,
    /// Text.
    String,
    /// `()`
    Unit,
    /// At least two components.
    Tuple(Rc<[Ty]>),
    /// A record.
    Record(Rc<Fields<Ty>>),
    /// An array.
    Array(Size, Rc<Ty>),
    /// A variant type.
    Data(DataIdx, Rc<[Ty]>),
    /// A function.
    Fun(Rc<(Ty, Ty)>),
    /// A parameter of a type declaration, by position; only within declarations.
    Param(u32),
}

impl Ty {
    /// `from -> to`
    pub fn fun(from: Ty, to: Ty) -> Ty {
        Ty::Fun(Rc::new((from, to)))
    }

    /// A record of fields as the program writes them.
    pub fn record(written: Vec<(Name, Ty)>, from: FieldOrder) -> Ty {
        Ty::Record(Rc::new(Fields::new(written, from)))
    }

    /// `[size]element`
    pub fn array(size: Size, element: Ty) -> Ty {
        Ty::Array(size, Rc::new(element))
    }
}

/// The size of an array type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    /// `[3]`
    Known(u64),
    /// To be found, or named.
    Var(SizeVar),
    /// `[]`
    Unknown,
}

/// What a type variable stands for.
#[derive(Clone, Debug)]
enum TyVarState {
    Open,
    Bound(Ty),
    Rigid,
    General,
}

/// The types that an operation works at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeClass {
    /// Every type.
    Any,
    /// Int, Real and the vector types.
    Add,
    /// Int, Real, String.
    Ord,
    /// Int, Real.
    Num,
    /// Real and the vector types.
    Vec,
}

impl TypeClass {
    /// The types in both; `None` where only Real is.
    fn meet(self, other: TypeClass) -> Option<TypeClass> {
        use TypeClass::{Add, Any, Num, Ord, Vec};
        match (self, other) {
            (Any, c) | (c, Any) => Some(c),
            (a, b) if a == b => Some(a),
            (Num, Add | Ord) | (Add | Ord, Num) | (Add, Ord) | (Ord, Add) => Some(Num),
            (Vec, Add) | (Add, Vec) => Some(Vec),
            (Vec, Num | Ord) | (Num | Ord, Vec) => None,
            (Add, Add) | (Ord, Ord) | (Num, Num) | (Vec, Vec) => Some(self),
        }
    }

    /// The types in words.
    pub fn words(self) -> &'static str {
        match self {
            TypeClass::Any => "any type",
            TypeClass::Add => "Int, Real or a vector type (Reals in tuples, records and arrays)",
            TypeClass::Ord => "Int, Real or String",
            TypeClass::Num => "Int or Real",
            TypeClass::Vec => "Real or a vector type (Reals in tuples, records and arrays)",
        }
    }
}

/// Why a type must be in a class, or first-order.
#[derive(Clone, Debug)]
pub struct Why {
    /// The operation's place.
    pub span: Span,
    /// The operation as the user knows it.
    pub what: Name,
}

/// What has to do with a variable whose type is left to the default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Touch {
    /// Only plumbing.
    Neutral,
    /// An integer literal.
    Literal,
    /// A caller of the definition, or a derivative.
    Parameter,
}

#[derive(Clone, Debug)]
struct VarInfo {
    state: TyVarState,
    level: u32,
    class: TypeClass,
    class_why: Option<Why>,
    first_order: Option<Why>,
    equality: Option<Why>,
    touch: Touch,
    /// Whether a derivative is taken at the type.
    differentiated: bool,
    name: Option<Name>,
    waiting: Vec<u32>,
}

#[derive(Clone, Debug)]
enum SizeState {
    Open,
    Bound(Size),
    Rigid,
    General,
}

#[derive(Clone, Debug)]
struct SizeInfo {
    state: SizeState,
    level: u32,
    name: Option<Name>,
    span: Span,
}

/// Why two types do not agree.
#[derive(Clone, Debug)]
pub enum Clash {
    /// They differ here.
    Types(Ty, Ty),
    /// These sizes differ.
    Sizes(Size, Size),
    /// A type would contain itself.
    Infinite,
    /// The type is not in the class that an operation needs.
    Class(Ty, TypeClass, Why),
    /// The type holds a function where an operation needs a first-order one.
    NotFirstOrder(Ty, Why),
}

/// A polymorphic type.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// The quantified type variables.
    pub vars: Vec<TyVar>,
    /// The quantified size variables.
    pub sizes: Vec<SizeVar>,
    /// Sizes that name an Int parameter: which component of the argument (none: the argument itself).
    pub size_params: Vec<(Option<usize>, SizeVar)>,
    /// What is known of types of Jacobians.
    pub nests: Vec<Nest>,
    /// The type over them.
    pub ty: Ty,
}

/// That a type is another one with a third in the place of each Real: the type of a Jacobian.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The type with Reals, that of the result of the function.
    pub of: Ty,
    /// What stands for each, the type of its argument.
    pub with: Ty,
    /// The type of the Jacobian.
    pub out: Ty,
}

impl Scheme {
    /// The scheme of a type without variables of its own.
    pub fn mono(ty: Ty) -> Scheme {
        Scheme {
            vars: Vec::new(),
            sizes: Vec::new(),
            size_params: Vec::new(),
            nests: Vec::new(),
            ty,
        }
    }
}

/// All type and size variables of a session.
#[derive(Clone, Debug, Default)]
pub struct Store {
    vars: Vec<VarInfo>,
    sizes: Vec<SizeInfo>,
    /// The current depth of lets.
    pub level: u32,
    /// Constraints that a newly bound variable may release.
    pub released: Vec<u32>,
    /// Variables that got a class or an equality constraint, for defaults.
    pub classed: Vec<TyVar>,
    /// First-order types by variant type: whether its declaration holds a function.
    pub data_has_function: Vec<bool>,
    /// Whether sizes that differ give an unknown size instead of a clash (elements of lists).
    lenient: bool,
}

impl Store {
    fn new_var(&mut self, state: TyVarState, touch: Touch, name: Option<Name>) -> TyVar {
        self.vars.push(VarInfo {
            state,
            level: self.level,
            class: TypeClass::Any,
            class_why: None,
            first_order: None,
            equality: None,
            touch,
            differentiated: false,
            name,
            waiting: Vec::new(),
        });
        TyVar(self.vars.len() as u32 - 1)
    }

    /// A new open variable.
    pub fn fresh(&mut self) -> Ty {
        Ty::Var(self.new_var(TyVarState::Open, Touch::Neutral, None))
    }

    /// The type of an integer literal: Int or Real.
    pub fn fresh_literal(&mut self, why: Why) -> Ty {
        let var = self.new_var(TyVarState::Open, Touch::Literal, None);
        self.vars[var.0 as usize].class = TypeClass::Num;
        self.vars[var.0 as usize].class_why = Some(why);
        self.classed.push(var);
        Ty::Var(var)
    }

    /// A rigid variable, named by an annotation.
    pub fn rigid(&mut self, name: Name) -> TyVar {
        self.new_var(TyVarState::Rigid, Touch::Neutral, Some(name))
    }

    /// An open variable, named by an annotation.
    pub fn named(&mut self, name: Name) -> TyVar {
        self.new_var(TyVarState::Open, Touch::Neutral, Some(name))
    }

    fn new_size(&mut self, state: SizeState, name: Option<Name>, span: Span) -> SizeVar {
        self.sizes.push(SizeInfo { state, level: self.level, name, span });
        SizeVar(self.sizes.len() as u32 - 1)
    }

    /// A new open size.
    pub fn fresh_size(&mut self) -> Size {
        Size::Var(self.new_size(SizeState::Open, None, Span::NONE))
    }

    /// A rigid size, named by an annotation.
    pub fn rigid_size(&mut self, name: Name, span: Span) -> Size {
        Size::Var(self.new_size(SizeState::Rigid, Some(name), span))
    }

    /// An open size, named by an annotation.
    pub fn named_size(&mut self, name: Name, span: Span) -> Size {
        Size::Var(self.new_size(SizeState::Open, Some(name), span))
    }

    /// The type with its outermost variable followed.
    pub fn shallow(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        while let Ty::Var(v) = ty {
            match &self.vars[v.0 as usize].state {
                TyVarState::Bound(t) => ty = t,
                TyVarState::Open | TyVarState::Rigid | TyVarState::General => break,
            }
        }
        ty.clone()
    }

    /// The size with its variables followed.
    pub fn size(&self, size: Size) -> Size {
        let mut size = size;
        while let Size::Var(v) = size {
            match self.sizes[v.0 as usize].state {
                SizeState::Bound(s) => size = s,
                SizeState::Open | SizeState::Rigid | SizeState::General => break,
            }
        }
        size
    }

    /// The last variable of a chain of bound size variables, if there is one.
    fn size_root(&self, size: Size) -> Option<SizeVar> {
        let Size::Var(mut v) = size else { return None };
        while let SizeState::Bound(Size::Var(next)) = self.sizes[v.0 as usize].state {
            v = next;
        }
        Some(v)
    }

    /// Whether nothing is known of this size yet.
    pub fn is_open_size(&self, size: Size) -> bool {
        matches!(self.size(size), Size::Var(v) if matches!(self.sizes[v.0 as usize].state, SizeState::Open))
    }

    /// Where a named size was named.
    pub fn size_origin(&self, size: Size) -> Option<(Name, Span)> {
        match self.size(size) {
            Size::Var(v) => {
                let info = &self.sizes[v.0 as usize];
                info.name.clone().map(|n| (n, info.span))
            }
            Size::Known(_) | Size::Unknown => None,
        }
    }

    /// The open variable that a type is, if it is one.
    pub fn open_var(&self, ty: &Ty) -> Option<TyVar> {
        match self.shallow(ty) {
            Ty::Var(v) if matches!(self.vars[v.0 as usize].state, TyVarState::Open) => Some(v),
            _ => None,
        }
    }

    /// What had to do with an open variable; a derivative counts as a parameter.
    pub fn touch(&self, v: TyVar) -> Touch {
        let info = &self.vars[v.0 as usize];
        if info.differentiated {
            Touch::Parameter
        } else {
            info.touch
        }
    }

    /// The class of an open variable and why.
    pub fn class(&self, v: TyVar) -> (TypeClass, Option<Why>) {
        let info = &self.vars[v.0 as usize];
        (info.class, info.class_why.clone())
    }

    /// Why a variable needs an equality test.
    pub fn equality(&self, v: TyVar) -> Option<Why> {
        self.vars[v.0 as usize].equality.clone()
    }

    /// Wakes the constraint when the variable is bound.
    pub fn wait(&mut self, v: TyVar, constraint: u32) {
        self.vars[v.0 as usize].waiting.push(constraint);
    }

    /// Keeps what is open in a type from being generalised before the end of the top-level definition:
    /// a constraint on it waits.
    pub fn hold(&mut self, ty: &Ty) {
        self.adjust(ty, 1);
    }

    /// Binds a type that is an open variable to the type of errors.
    pub fn give_up(&mut self, ty: &Ty) {
        if let Some(v) = self.open_var(ty) {
            self.vars[v.0 as usize].state = TyVarState::Bound(Ty::Error);
        }
    }

    fn adjust(&mut self, ty: &Ty, level: u32) {
        let mut walk = Walk::of(ty);
        while let Some(ty) = walk.next(self) {
            match ty {
                Ty::Var(v) => {
                    let info = &mut self.vars[v.0 as usize];
                    info.level = info.level.min(level);
                }
                Ty::Array(s, _) => self.adjust_size(s, level),
                _ => {}
            }
        }
    }

    fn adjust_size(&mut self, size: Size, level: u32) {
        if let Some(v) = self.size_root(size) {
            let info = &mut self.sizes[v.0 as usize];
            info.level = info.level.min(level);
        }
    }

    /// A derivative is taken at this type: the numbers in it that nothing else decides are Reals.
    pub fn differentiate(&mut self, ty: &Ty) {
        let mut walk = Walk::of(ty);
        while let Some(ty) = walk.next(self) {
            match ty {
                Ty::Var(v) => self.vars[v.0 as usize].differentiated = true,
                Ty::Fun(_) => walk.skip(),
                _ => {}
            }
        }
    }

    /// Marks what a type takes from outside: numbers there come from callers, not from literals.
    pub fn mark_parameters(&mut self, ty: &Ty, taken: bool) {
        let mut pending = vec![(ty.clone(), taken)];
        let mut seen = Seen::default();
        while let Some((ty, taken)) = pending.pop() {
            let mut walk = Walk::of(&ty);
            while let Some(ty) = walk.next(self) {
                match &ty {
                    Ty::Var(v) if taken => self.vars[v.0 as usize].touch = Touch::Parameter,
                    Ty::Fun(f) => {
                        walk.skip();
                        if seen.is_new((ty.part(), taken)) {
                            pending.extend([(f.0.clone(), !taken), (f.1.clone(), taken)]);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Requires a type to be first-order and known at the end of the definition.
    pub fn require_equality(&mut self, ty: &Ty, why: &Why) -> Result<(), Clash> {
        if let Some(v) = self.open_var(ty) {
            self.vars[v.0 as usize].equality.get_or_insert_with(|| why.clone());
            self.classed.push(v);
        }
        self.first_order(ty, why)
    }

    /// Gives a rigid variable the class that its name promises (in the standard library).
    pub fn set_class(&mut self, v: TyVar, class: TypeClass) {
        self.vars[v.0 as usize].class = class;
    }

    /// The type with sizes of its own, so that what it meets does not change the original: for the
    /// common type of branches.
    pub fn with_own_sizes(&mut self, ty: &Ty) -> Ty {
        self.own_sizes(ty, &mut Made::default())
    }

    fn own_sizes(&mut self, ty: &Ty, made: &mut Made<Ty>) -> Ty {
        let ty = self.shallow(ty);
        if let Some(made) = made.get(&ty) {
            return made;
        }
        let own = deep(|| match &ty {
            Ty::Fun(_) => ty.clone(),
            Ty::Array(s, t) if !self.is_open_size(*s) => {
                let state = SizeState::Bound(self.size(*s));
                let own = Size::Var(self.new_size(state, None, Span::NONE));
                Ty::array(own, self.own_sizes(t, made))
            }
            _ => mapped(&ty, |t| self.own_sizes(t, made)),
        });
        made.put(&ty, &own);
        own
    }

    /// Quantifies what is open in a type above a level; variables with a class stay open one level up.
    pub fn generalise(&mut self, ty: &Ty, level: u32) -> Scheme {
        let mut scheme = Scheme::mono(ty.clone());
        self.collect(ty, level, &mut scheme);
        scheme
    }

    fn collect(&mut self, ty: &Ty, level: u32, scheme: &mut Scheme) {
        let mut walk = Walk::of(ty);
        while let Some(ty) = walk.next(self) {
            match ty {
                Ty::Var(v) => {
                    let info = &mut self.vars[v.0 as usize];
                    let free = match info.state {
                        TyVarState::Open => {
                            info.level > level
                                && info.class == TypeClass::Any
                                && info.equality.is_none()
                                // At the end of a group nothing waits any more.
                                && (level == 0 || info.waiting.is_empty())
                        }
                        TyVarState::Rigid => info.level > level,
                        TyVarState::Bound(_) | TyVarState::General => false,
                    };
                    if free {
                        info.state = TyVarState::General;
                        scheme.vars.push(v);
                    } else if matches!(info.state, TyVarState::Open) {
                        info.level = info.level.min(level);
                    }
                }
                Ty::Array(s, _) => {
                    if let Size::Var(v) = self.size(s) {
                        let info = &mut self.sizes[v.0 as usize];
                        let free = matches!(info.state, SizeState::Open | SizeState::Rigid)
                            && info.level > level;
                        if free {
                            info.state = SizeState::General;
                            scheme.sizes.push(v);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The type with fresh variables for the quantified ones: the types and sizes chosen, what is known of Jacobians,
    /// and the type.
    pub fn instantiate(
        &mut self,
        scheme: &Scheme,
        use_site: &Why,
    ) -> (Vec<Ty>, Vec<Size>, Vec<Nest>, Ty) {
        let mut types = Vec::with_capacity(scheme.vars.len());
        for v in &scheme.vars {
            let (class, first_order, differentiated) = {
                let info = &self.vars[v.0 as usize];
                (info.class, info.first_order.is_some(), info.differentiated)
            };
            let fresh = self.new_var(TyVarState::Open, Touch::Neutral, None);
            let info = &mut self.vars[fresh.0 as usize];
            info.differentiated = differentiated;
            if first_order {
                info.first_order = Some(use_site.clone());
            }
            if class != TypeClass::Any {
                info.class = class;
                info.class_why = Some(use_site.clone());
                self.classed.push(fresh);
            }
            types.push(Ty::Var(fresh));
        }
        let sizes: Vec<Size> = scheme.sizes.iter().map(|_| self.fresh_size()).collect();
        let types_of = scheme.vars.iter().copied().zip(types.iter().cloned()).collect();
        let sizes_of = scheme.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        let with = Substitution { types: types_of, sizes: sizes_of };
        let mut made = Made::default();
        let mut own = |ty: &Ty| self.substitute(ty, &with, &mut made);
        let mut nests = Vec::new();
        for Nest { of, with, out } in &scheme.nests {
            nests.push(Nest { of: own(of), with: own(with), out: own(out) });
        }
        let ty = own(&scheme.ty);
        (types, sizes, nests, ty)
    }

    /// Replaces variables in a type.
    fn substitute(&self, ty: &Ty, with: &Substitution, made: &mut Made<Ty>) -> Ty {
        let ty = self.shallow(ty);
        if let Some(made) = made.get(&ty) {
            return made;
        }
        let new = deep(|| match &ty {
            Ty::Var(v) => with.types.get(v).unwrap_or(&ty).clone(),
            Ty::Array(s, t) => {
                let new = self.substitute(t, with, made);
                match self.size(*s) {
                    Size::Var(v) => Ty::array(*with.sizes.get(&v).unwrap_or(&Size::Var(v)), new),
                    size if size == *s && t.part() == new.part() => ty.clone(),
                    size => Ty::array(size, new),
                }
            }
            _ => mapped(&ty, |t| self.substitute(t, with, made)),
        });
        made.put(&ty, &new);
        new
    }

    /// How many parts of a type differ, counted up to a bound; those without parts of their own do not count.
    pub fn extent(&self, ty: &Ty, most: usize) -> usize {
        let (mut walk, mut parts) = (Walk::of(ty), std::collections::HashSet::new());
        while let Some(ty) = walk.next(self) {
            match ty {
                Ty::Tuple(_) | Ty::Record(_) | Ty::Array(..) | Ty::Data(..) | Ty::Fun(_) => {
                    parts.insert(ty.part());
                }
                Ty::Error
                | Ty::Var(_)
                | Ty::Real
                | Ty::Int
                | Ty::Bool
                | Ty::String
                | Ty::Unit
                | Ty::Param(_) => {}
            }
            if parts.len() >= most {
                break;
            }
        }
        parts.len()
    }

    /// The name a variable has from an annotation.
    pub fn var_name(&self, v: TyVar) -> Option<Name> {
        self.vars[v.0 as usize].name.clone()
    }

    /// Whether a variable is rigid (or quantified): it can be any type.
    pub fn is_rigid(&self, v: TyVar) -> bool {
        matches!(self.vars[v.0 as usize].state, TyVarState::Rigid | TyVarState::General)
    }

    /// Why a variable must be first-order.
    pub fn needs_first_order(&self, v: TyVar) -> bool {
        self.vars[v.0 as usize].first_order.is_some()
    }
}

/// What stands for variables.
struct Substitution {
    types: HashMap<TyVar, Ty>,
    sizes: HashMap<SizeVar, Size>,
}

/// The type with others for its parts.
pub fn mapped(ty: &Ty, mut of: impl FnMut(&Ty) -> Ty) -> Ty {
    match ty.with_parts(&mut |t| Ok::<Ty, Infallible>(of(t))) {
        Ok(ty) => ty,
        Err(never) => match never {},
    }
}

/// Replaces the parameters of a type declaration.
pub fn instantiate_params(ty: &Ty, args: &[Ty]) -> Ty {
    instantiate(ty, args, &mut Made::default(), &mut |ty| ty)
}

/// The same, where each type that is made is passed on.
pub fn instantiate(
    ty: &Ty,
    args: &[Ty],
    made: &mut Made<Ty>,
    pass: &mut impl FnMut(Ty) -> Ty,
) -> Ty {
    if let Some(made) = made.get(ty) {
        return made;
    }
    let new = deep(|| match ty {
        Ty::Param(i) => args.get(*i as usize).cloned().unwrap_or(Ty::Error),
        _ => {
            let new = mapped(ty, |t| instantiate(t, args, made, pass));
            pass(new)
        }
    });
    made.put(ty, &new);
    new
}
