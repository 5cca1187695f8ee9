//! Calls: instances of functions, constants, and functions in boxes.
//!
//! An instance whose result is known by its type is lowered later ([`Job`]), so that chains of definitions do not nest;
//! an instance that gives functions is lowered at once, because its caller has to know which.
//!
//! A stored function is a box (defunctionalisation): its tag says which of the functions of its type that are ever
//! stored it is, its fields are what it captured. For each function type, one function of Flat calls what is in such a
//! box.

use super::analyse::Lambda;
use super::shape::Shape;
use super::sym::Sym;
use super::{Current, Lower};
use diffeo_array::build::Builder;
use diffeo_array::ir::{
    self, Atom, Block, BoxId, ConstantId, FunctionId, Inlined, Op, SiteId, Stop, Variant,
};
use diffeo_base::Name;
use diffeo_calculus::term::{GlobalId, TermKind};
use diffeo_calculus::Ty;
use std::collections::HashMap;
use std::rc::Rc;

/// Functions that captured functions, and so on, deeper than this are put into a box.
const MOST_DEPTH: usize = 8;

/// And functions that captured more values.
const MOST_CAPTURED: usize = 64;

/// A function in a box has known functions among what it captured if these are not deeper than this,
const MOST_STORED_DEPTH: usize = 1;

/// and for at most so many combinations of them.
const MOST_STORED: usize = 8;

/// How many callers are looked at for a recursion in which functions grow.
const MOST_CALLERS: usize = 64;

/// What distinguishes instances.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    lambda: u32,
    captured: Rc<[Shape]>,
    arg: Shape,
}

impl Key {
    fn depth(&self) -> usize {
        self.captured.iter().map(Shape::depth).max().unwrap_or(0).max(self.arg.depth())
    }
}

/// A function for arguments and captured values of certain shapes.
pub(super) struct Instance<'p> {
    lambda: Rc<Lambda<'p>>,
    key: Key,
    function: FunctionId,
    result: ResultShape,
    /// The instance that calls it first.
    caller: Option<usize>,
}

/// The shape of a result.
enum ResultShape {
    Known(Shape),
    /// It is being lowered. If it has been asked for, it was said to be the plain one.
    Open {
        asked: bool,
    },
}

/// A constant.
pub(super) struct Constant {
    id: ConstantId,
    result: ResultShape,
}

/// A type of functions in boxes.
pub(super) struct FunctionType {
    ty: Rc<(Ty, Ty)>,
    /// The box.
    pub id: BoxId,
    /// Calls what is in a box, if anything does.
    apply: Option<FunctionId>,
    /// The functions, by tag.
    stored: Vec<Stored>,
    tags: HashMap<Stored, u32>,
    /// The body of `apply` in the making, with a block for each of the first functions.
    current: Option<Current>,
    arms: Vec<(i64, Block)>,
}

/// A function in a box, and the shapes of what it captured.
type Stored = (u32, Rc<[Shape]>);

/// What is to be lowered.
pub(super) enum Job {
    Instance(usize),
    Constant(GlobalId),
}

impl<'p> Lower<'p> {
    /// Lowers what is needed until nothing more is.
    pub(super) fn run_jobs(&mut self) {
        loop {
            while let Some(job) = self.jobs.pop_front() {
                match job {
                    Job::Instance(i) => self.lower_instance(i),
                    Job::Constant(global) => self.lower_constant(global),
                }
            }
            if !self.add_arms() {
                break;
            }
        }
        for k in 0..self.functions.len() {
            self.finish_apply(k);
        }
    }

    /// The value of a definition.
    pub(super) fn global(&mut self, global: GlobalId, at: SiteId) -> Sym {
        let program = self.program;
        let definition = &program.globals[global.0 as usize];
        match &definition.body.kind {
            TermKind::Lam(parameter, _) => {
                self.analyse(global);
                Sym::Known(parameter.var.id, Rc::new([]))
            }
            TermKind::Lit(literal) => self.literal(literal, at),
            _ => {
                let (id, shape) = self.constant(global, &definition.ty);
                let atoms = self.ops(at, Op::Constant(id));
                self.load(&shape, &mut atoms.into_iter())
            }
        }
    }

    fn constant(&mut self, global: GlobalId, ty: &Ty) -> (ConstantId, Shape) {
        let plain = self.plain(ty);
        if let Some(constant) = self.constants.get_mut(&global) {
            let shape = match &mut constant.result {
                ResultShape::Known(shape) => shape.clone(),
                ResultShape::Open { asked } => {
                    *asked = true;
                    plain
                }
            };
            return (constant.id, shape);
        }
        let definition = &self.program.globals[global.0 as usize];
        let (name, span) = (definition.name.clone(), definition.span);
        let unique = self.unique(&name);
        let library = self.program.library.contains(&definition.body.span.file);
        let init = self.declare(unique, name.clone(), library, span, &[], self.types(&plain));
        let id = ConstantId(self.module.constants.len() as u32);
        self.module.constants.push(ir::Constant { name, init });
        if plain.has_dynamic() {
            self.constants
                .insert(global, Constant { id, result: ResultShape::Open { asked: false } });
            self.lower_constant(global);
            return self.constant(global, ty);
        }
        self.constants.insert(global, Constant { id, result: ResultShape::Known(plain.clone()) });
        self.jobs.push_back(Job::Constant(global));
        (id, plain)
    }

    fn lower_constant(&mut self, global: GlobalId) {
        self.analyse(global);
        let program = self.program;
        let definition = &program.globals[global.0 as usize];
        let Some(id) = self.constants.get(&global).map(|constant| constant.id) else { return };
        let init = self.module.constants[id.0 as usize].init;
        let at = self.site(definition.span);
        let saved = self.begin(init, at);
        let value = self.term(&definition.body);
        let plain = self.plain(&definition.ty);
        let known = self.shape_of(&value);
        let known = self.knowledge(&known, &plain);
        let shape = match self.constants.get_mut(&global) {
            Some(Constant { result: result @ ResultShape::Open { asked: false }, .. }) => {
                *result = ResultShape::Known(known.clone());
                known
            }
            Some(Constant { result, .. }) => {
                *result = ResultShape::Known(plain.clone());
                plain
            }
            None => plain,
        };
        let results = self.store(&value, &shape, at);
        self.end(init, results, saved);
    }

    // Calls

    /// The value of a function at an argument; its code is put in place of the call if that is the only one.
    pub(super) fn apply(&mut self, function: &Sym, arg: &Sym, in_place: bool, at: SiteId) -> Sym {
        if arg.is_never() {
            return Sym::Never;
        }
        match function {
            Sym::Known(id, captured) => {
                let Some(lambda) = self.lambdas.get(id).cloned() else {
                    if let Some(gradient) = self.pull(*id, captured, arg, at) {
                        return gradient;
                    }
                    self.bug("a function that was not found beforehand");
                    return Sym::Never;
                };
                let small = in_place
                    && lambda.itself.is_none()
                    && self.shape_of(function).depth() <= MOST_DEPTH;
                if small {
                    return self.expand(&lambda, captured, arg, at);
                }
                self.call(&lambda, captured, arg, at)
            }
            Sym::Dynamic(k, object) => {
                let (apply, from, to) = self.apply_of(*k as usize);
                let mut args = vec![object.clone()];
                args.extend(self.store(arg, &from, at));
                let atoms = self.ops(at, Op::Call(apply, args));
                self.load(&to, &mut atoms.into_iter())
            }
            Sym::Never => Sym::Never,
            Sym::Unit
            | Sym::Leaf(_)
            | Sym::Tuple(_)
            | Sym::Boxed(..)
            | Sym::Array(_)
            | Sym::Con(..)
            | Sym::Sum(..) => {
                self.bug("what is called is no function");
                Sym::Never
            }
        }
    }

    /// Lowers the body of a function in place.
    fn expand(&mut self, lambda: &Rc<Lambda<'p>>, captured: &[Sym], arg: &Sym, at: SiteId) -> Sym {
        let (function, library) = (lambda.shown.clone(), lambda.library);
        let inlined = Some(Inlined { function, library, at });
        let outside = std::mem::replace(&mut self.f.inlined, inlined);
        self.f.frames.push(HashMap::new());
        self.enter(lambda, captured, arg);
        let value = self.term(lambda.body);
        self.f.frames.pop();
        self.f.inlined = outside;
        value
    }

    /// Binds what a function captured, itself, and its parameter.
    fn enter(&mut self, lambda: &Rc<Lambda<'p>>, captured: &[Sym], arg: &Sym) {
        for (binder, value) in lambda.captured.iter().zip(captured) {
            self.bind(binder, value.clone());
        }
        if let (Some(itself), Some(frame)) = (lambda.itself, self.f.frames.last_mut()) {
            frame.insert(itself, Sym::Known(lambda.id, captured.into()));
        }
        self.bind(lambda.parameter, arg.clone());
    }

    fn call(&mut self, lambda: &Rc<Lambda<'p>>, captured: &[Sym], arg: &Sym, at: SiteId) -> Sym {
        let (known, plain) = (self.shape_of(arg), self.plain(&lambda.parameter.ty));
        let shape = self.knowledge(&known, &plain);
        let (function, mut args, shape, result) = self.resolve(lambda, captured, shape, at);
        args.extend(self.store(arg, &shape, at));
        let atoms = self.ops(at, Op::Call(function, args));
        self.load(&result, &mut atoms.into_iter())
    }

    /// The instance of a function for what it captured and an argument of a shape: what it captured as values, the
    /// shape that it wants its argument in, and that of its result.
    pub(super) fn resolve(
        &mut self,
        lambda: &Rc<Lambda<'p>>,
        captured: &[Sym],
        arg: Shape,
        at: SiteId,
    ) -> (FunctionId, Vec<Atom>, Shape, Shape) {
        let mut shapes = Vec::new();
        for (binder, value) in lambda.captured.iter().zip(captured) {
            let (known, plain) = (self.shape_of(value), self.plain(&binder.ty));
            shapes.push(self.knowledge(&known, &plain));
        }
        let mut key = Key { lambda: lambda.id, captured: shapes.into(), arg };
        if self.grows(&key) {
            key.captured = lambda.captured.iter().map(|binder| self.plain(&binder.ty)).collect();
            key.arg = self.plain(&lambda.parameter.ty);
        }
        let mut args = Vec::new();
        for (value, shape) in captured.iter().zip(key.captured.iter()) {
            args.extend(self.store(value, shape, at));
        }
        let arg = key.arg.clone();
        let (function, result) = self.instance(lambda, key);
        (function, args, arg, result)
    }

    /// What an instance is to know of a value: which functions are in it.
    pub(super) fn knowledge(&mut self, known: &Shape, plain: &Shape) -> Shape {
        if !known.has_known() {
            return plain.clone();
        }
        match (known, plain) {
            (Shape::Tuple(parts), Shape::Tuple(plains)) => Shape::Tuple(
                parts.iter().zip(plains.iter()).map(|(k, p)| self.knowledge(k, p)).collect(),
            ),
            (Shape::Tuple(_), Shape::Boxed(_, inner)) => self.knowledge(known, inner),
            (Shape::Con(sum, tag, fields), _) => {
                let plains = &sum.alternatives[*tag as usize].fields;
                let fields = fields.iter().zip(plains).map(|(k, p)| self.knowledge(k, p)).collect();
                Shape::Con(sum.clone(), *tag, fields)
            }
            (Shape::Known(id, captured), _) => {
                if let Some(pullback) = self.pullbacks.get(id) {
                    let shape = Shape::Known(*id, pullback.captured.clone());
                    let large = self.types(&shape).len() > MOST_CAPTURED;
                    return if large { plain.clone() } else { shape };
                }
                let Some(lambda) = self.lambdas.get(id).cloned() else { return plain.clone() };
                let mut shapes = Vec::new();
                for (binder, known) in lambda.captured.iter().zip(captured.iter()) {
                    let plain = self.plain(&binder.ty);
                    shapes.push(self.knowledge(known, &plain));
                }
                let shape = Shape::Known(*id, shapes.into());
                if shape.depth() > MOST_DEPTH || self.types(&shape).len() > MOST_CAPTURED {
                    return plain.clone();
                }
                shape
            }
            (
                Shape::Never
                | Shape::Unit
                | Shape::Leaf(_)
                | Shape::Tuple(_)
                | Shape::Boxed(..)
                | Shape::Array(_)
                | Shape::Sum(_)
                | Shape::Dynamic(_),
                _,
            ) => plain.clone(),
        }
    }

    /// Whether a caller is an instance of the same function for smaller functions.
    fn grows(&self, key: &Key) -> bool {
        let depth = key.depth();
        if depth < 2 {
            return false;
        }
        let mut caller = self.f.instance;
        for _ in 0..MOST_CALLERS {
            let Some(instance) = caller.and_then(|i| self.instances.get(i)) else { return false };
            if instance.key.lambda == key.lambda && instance.key.depth() < depth {
                return true;
            }
            caller = instance.caller;
        }
        false
    }

    /// The function of an instance, and the shape of its result.
    fn instance(&mut self, lambda: &Rc<Lambda<'p>>, key: Key) -> (FunctionId, Shape) {
        let plain = self.plain(&lambda.ty.1);
        if let Some(i) = self.by_key.get(&key) {
            let instance = &mut self.instances[*i];
            let shape = match &mut instance.result {
                ResultShape::Known(shape) => shape.clone(),
                ResultShape::Open { asked } => {
                    *asked = true;
                    plain
                }
            };
            return (instance.function, shape);
        }
        let mut params = Vec::new();
        for shape in key.captured.iter().chain([&key.arg]) {
            params.extend(self.types(shape));
        }
        let name = if lambda.shown.is_empty() { "derivative" } else { lambda.shown.as_str() };
        let name = self.unique(&Name::new(name));
        let results = self.types(&plain);
        let function =
            self.declare(name, lambda.shown.clone(), lambda.library, lambda.span, &params, results);
        let i = self.instances.len();
        self.by_key.insert(key.clone(), i);
        let open = plain.has_dynamic();
        let result = if open {
            ResultShape::Open { asked: false }
        } else {
            ResultShape::Known(plain.clone())
        };
        let caller = self.f.instance;
        self.instances.push(Instance { lambda: lambda.clone(), key, function, result, caller });
        if !open {
            self.jobs.push_back(Job::Instance(i));
            return (function, plain);
        }
        diffeo_base::deep(|| self.lower_instance(i));
        match &self.instances[i].result {
            ResultShape::Known(shape) => (function, shape.clone()),
            ResultShape::Open { .. } => (function, plain),
        }
    }

    fn lower_instance(&mut self, i: usize) {
        let instance = &self.instances[i];
        let (lambda, key, function) =
            (instance.lambda.clone(), instance.key.clone(), instance.function);
        let at = self.site(lambda.span);
        let saved = self.begin(function, at);
        self.f.instance = Some(i);
        let mut atoms = self.params(function).into_iter();
        let captured: Vec<Sym> =
            key.captured.iter().map(|shape| self.load(shape, &mut atoms)).collect();
        let arg = self.load(&key.arg, &mut atoms);
        self.enter(&lambda, &captured, &arg);
        let value = self.term(lambda.body);
        let plain = self.plain(&lambda.ty.1);
        let known = self.shape_of(&value);
        let known = self.knowledge(&known, &plain);
        let result = &mut self.instances[i].result;
        let shape = match result {
            ResultShape::Open { asked: false } => known,
            ResultShape::Open { asked: true } | ResultShape::Known(_) => plain,
        };
        *result = ResultShape::Known(shape.clone());
        let results = self.store(&value, &shape, at);
        self.end(function, results, saved);
    }

    // Functions in boxes

    /// The number of a type of functions.
    pub(super) fn function_type(&mut self, ty: &Rc<(Ty, Ty)>) -> u32 {
        if let Some(k) = self.by_type.get(ty) {
            return *k;
        }
        let id = self.function_box(ty);
        let k = self.functions.len() as u32;
        self.by_type.insert(ty.clone(), k);
        self.functions.push(FunctionType {
            ty: ty.clone(),
            id,
            apply: None,
            stored: Vec::new(),
            tags: HashMap::new(),
            current: None,
            arms: Vec::new(),
        });
        k
    }

    /// The function that calls what is in a box of a type, and the shapes of argument and result.
    pub(super) fn apply_of(&mut self, k: usize) -> (FunctionId, Shape, Shape) {
        let (ty, id) = (self.functions[k].ty.clone(), self.functions[k].id);
        let (from, to) = (self.plain(&ty.0), self.plain(&ty.1));
        let apply = match self.functions[k].apply {
            Some(apply) => apply,
            None => {
                let params = [vec![ir::FlatTy::Box(id)], self.types(&from)].concat();
                let apply = self.glue("apply", &params, self.types(&to));
                self.functions[k].apply = Some(apply);
                apply
            }
        };
        (apply, from, to)
    }

    /// The type of a function with known code.
    pub(super) fn function_of(&mut self, lambda: u32) -> u32 {
        let ty = match self.lambdas.get(&lambda) {
            Some(lambda) => Some(lambda.ty.clone()),
            None => self.pullbacks.get(&lambda).map(|pullback| pullback.ty.clone()),
        };
        match ty {
            Some(ty) => self.function_type(&ty),
            None => {
                self.bug("a function that was not found beforehand");
                0
            }
        }
    }

    /// Puts a function into a box.
    pub(super) fn closure(&mut self, id: u32, captured: &[Sym], at: SiteId) -> Atom {
        let k = self.function_of(id) as usize;
        let (shown, shapes) = match (self.pullbacks.get(&id), self.lambdas.get(&id).cloned()) {
            (Some(pullback), _) => (Name::new("pullback"), pullback.captured.clone()),
            (None, Some(lambda)) => (lambda.shown.clone(), self.stored(k, &lambda, captured)),
            (None, None) => return Atom::Int(0),
        };
        let mut values = Vec::new();
        let mut types = Vec::new();
        for (shape, value) in shapes.iter().zip(captured) {
            types.extend(self.types(shape));
            values.extend(self.store(value, shape, at));
        }
        let stored = (id, shapes);
        let function = &mut self.functions[k];
        let tag = match function.tags.get(&stored) {
            Some(tag) => *tag,
            None => {
                let tag = function.stored.len() as u32;
                function.stored.push(stored.clone());
                function.tags.insert(stored, tag);
                let variant = Variant { name: shown, fields: types };
                self.module.boxes[function.id.0 as usize].variants.push(variant);
                tag
            }
        };
        let id = self.functions[k].id;
        self.one(at, Op::New(id, tag, values))
    }

    /// The shapes of what a function in a box of a type captured. Where these are known functions, calls of what is in
    /// the box call them directly.
    fn stored(&mut self, k: usize, lambda: &Rc<Lambda<'p>>, captured: &[Sym]) -> Rc<[Shape]> {
        let plains: Rc<[Shape]> =
            lambda.captured.iter().map(|binder| self.plain(&binder.ty)).collect();
        let mut shapes = Vec::new();
        for (plain, value) in plains.iter().zip(captured) {
            let known = self.shape_of(value);
            let shape = self.knowledge(&known, plain);
            shapes.push(if shape.depth() > MOST_STORED_DEPTH { plain.clone() } else { shape });
        }
        let stored = (lambda.id, shapes.into());
        let function = &self.functions[k];
        let others = function.stored.iter().filter(|(id, _)| *id == lambda.id).count();
        if others >= MOST_STORED && !function.tags.contains_key(&stored) {
            return plains;
        }
        stored.1
    }

    /// Adds to the functions that call what is in a box the calls of what came to be in one. Whether there was
    /// any.
    fn add_arms(&mut self) -> bool {
        let mut any = false;
        let mut k = 0;
        while k < self.functions.len() {
            while self.functions[k].apply.is_some()
                && self.functions[k].arms.len() < self.functions[k].stored.len()
            {
                self.add_arm(k);
                any = true;
            }
            k += 1;
        }
        any
    }

    /// The body of `apply`, as far as it is.
    fn resume(&mut self, k: usize, apply: FunctionId) -> Current {
        let function = &self.module.functions[apply.0 as usize];
        let fresh = || Current::new(apply, Builder::resume(function, SiteId(0)));
        let current = self.functions[k].current.take().unwrap_or_else(fresh);
        std::mem::replace(&mut self.f, current)
    }

    fn add_arm(&mut self, k: usize) {
        let (apply, from, to) = self.apply_of(k);
        let saved = self.resume(k, apply);
        let at = SiteId(0);
        let tag = self.functions[k].arms.len();
        let (id, shapes) = self.functions[k].stored[tag].clone();
        let mut params = self.params(apply).into_iter();
        let object = params.next().unwrap_or(Atom::Int(0));
        let arg = self.load(&from, &mut params);
        self.f.builder.open();
        let mut index = 0;
        let mut captured = Vec::new();
        for shape in shapes.iter() {
            let mut atoms = Vec::new();
            for _ in self.types(shape) {
                let (object, tag) = (object.clone(), tag as u32);
                atoms.push(self.one(at, Op::Field { object, tag, index }));
                index += 1;
            }
            captured.push(self.load(shape, &mut atoms.into_iter()));
        }
        let value = match self.lambdas.get(&id).cloned() {
            Some(lambda) => self.call(&lambda, &captured, &arg, at),
            None => self.pull(id, &captured, &arg, at).unwrap_or(Sym::Never),
        };
        let results = self.store(&value, &to, at);
        let block = self.f.builder.close(results);
        self.functions[k].arms.push((tag as i64, block));
        self.functions[k].current = Some(std::mem::replace(&mut self.f, saved));
    }

    fn finish_apply(&mut self, k: usize) {
        let Some(apply) = self.functions[k].apply else { return };
        let saved = self.resume(k, apply);
        let at = SiteId(0);
        let arms = std::mem::take(&mut self.functions[k].arms);
        let results = if arms.is_empty() {
            let message = self.one(at, Op::Text(Name::new("a function that nothing made")));
            let types = self.module.functions[apply.0 as usize].results.clone();
            self.f.builder.stop(Stop::Fail(message), types)
        } else {
            let object = self.params(apply).into_iter().next().unwrap_or(Atom::Int(0));
            let on = self.one(at, Op::Tag(object));
            self.ops(at, Op::Switch { on, arms, default: None })
        };
        self.end(apply, results, saved);
    }
}
