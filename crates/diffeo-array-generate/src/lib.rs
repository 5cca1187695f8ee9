//! Random well-typed modules of Flat, for the tests of whatever works on Flat.
//!
//! Numbers come in, from whoever makes random ones and shrinks them; a [`GeneratedProgram`] goes out: a module that
//! lints, with arguments for its entry. What always holds: the program ends soon, and every access in it is
//! checked, so what stops it is an error of the program; smaller and fewer numbers give smaller programs.
//! It has every operation of Flat, functions that recurse, boxes, constants, and sites of calls that were
//! inlined.
//!
//! ```
//! use diffeo_array_generate::{program, Features};
//! let program = program(&[7, 1, 42, 3, 5, 9, 2, 6], Features::default());
//! assert!(diffeo_array::lint(&program.module).is_empty());
//! ```

mod arrays;
mod control;
mod scalars;

use diffeo_array::build::Builder;
use diffeo_array::ir::{
    Atom, Block, BoxId, BoxType, Constant, ConstantId, Elem, FlatTy, Function, FunctionId, Inlined,
    Module, Op, Site, SiteId, Variant,
};
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_base::{FileId, Name, Span};
use std::rc::Rc;

/// What programs may have.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Accumulators and stacks.
    pub derivatives: bool,
    /// Operations on Reals whose last digits depend on who computes them: exponentials, roots of numbers that
    /// are no squares, divisions. Without them all numbers are dyadic, and small enough for sums in any order.
    pub inexact: bool,
    /// What stops the program on purpose.
    pub stops: bool,
}

impl Default for Features {
    /// All of them.
    fn default() -> Features {
        Features { derivatives: true, inexact: true, stops: true }
    }
}

/// A module with arguments for its entry.
#[derive(Clone, Debug)]
pub struct GeneratedProgram {
    /// The module.
    pub module: Module,
    /// The arguments.
    pub args: Vec<FlatValue>,
}

/// The program that these numbers choose.
pub fn program(choices: &[u32], features: Features) -> GeneratedProgram {
    let mut generator = ModuleGenerator {
        choices,
        at: 0,
        features,
        module: Module::default(),
        b: Builder::new(SiteId(0)),
        scope: Vec::new(),
        accs: Vec::new(),
        budget: 0,
        depth: 0,
        parallel: false,
        recursion: None,
    };
    generator.program()
}

const PROGRAM: FileId = FileId(0);
const LIBRARY: FileId = FileId(1);

/// A type of lists, and one that does not contain itself.
const LIST: BoxId = BoxId(0);
const SHAPE: BoxId = BoxId(1);

fn boxes() -> Vec<BoxType> {
    let variant = |name: &str, fields: Vec<FlatTy>| Variant { name: name.into(), fields };
    vec![
        BoxType {
            name: "List".into(),
            variants: vec![
                variant("Nil", vec![]),
                variant("Cons", vec![FlatTy::Real, FlatTy::Box(LIST)]),
            ],
        },
        BoxType {
            name: "Shape".into(),
            variants: vec![
                variant("Point", vec![]),
                variant("Some", vec![FlatTy::Array(Elem::Real, 1), FlatTy::Text]),
                variant(
                    "Some",
                    vec![
                        FlatTy::Bool,
                        FlatTy::Int,
                        FlatTy::Box(LIST),
                        FlatTy::Array(Elem::Box(LIST), 1),
                    ],
                ),
            ],
        },
    ]
}

struct ModuleGenerator<'c> {
    choices: &'c [u32],
    at: usize,
    features: Features,
    module: Module,
    /// The function in the making.
    b: Builder,
    /// The variables that can be used, without accumulators.
    scope: Vec<(Atom, FlatTy)>,
    /// The accumulators that can be used, with their sizes.
    accs: Vec<(Atom, Vec<Atom>)>,
    /// How many statements the function may still have.
    budget: usize,
    /// How many loops are open.
    depth: usize,
    /// Whether steps that do not depend on each other are being made.
    parallel: bool,
    /// The function in the making and what is left of its fuel, where it may call itself.
    recursion: Option<(FunctionId, Atom)>,
}

impl ModuleGenerator<'_> {
    /// The next choice, below `n`. The first is taken when no numbers are left.
    fn below(&mut self, n: usize) -> usize {
        let choice = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        choice as usize % n.max(1)
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn done(&self) -> bool {
        self.at >= self.choices.len()
    }

    fn program(&mut self) -> GeneratedProgram {
        self.module.library.push(LIBRARY);
        self.module.boxes = boxes();
        self.module.sites.push(Site { span: Span::NONE, inlined: None });
        let constants = self.below(3);
        for i in 0..constants {
            self.constant(i);
        }
        let functions = self.below(3);
        for _ in 0..functions {
            self.function(false);
        }
        let entry = self.function(true);
        self.module.entry = entry;
        let types = diffeo_array::typing::param_types(&self.module.functions[entry.0 as usize]);
        let args = types.iter().map(|ty| self.value(ty)).collect();
        GeneratedProgram { module: std::mem::take(&mut self.module), args }
    }

    fn constant(&mut self, number: usize) {
        let types = self.types(1, 2);
        let init = self.declare(&format!("init_{number}"), Vec::new(), types.clone());
        self.budget = 3;
        self.body(init, &types);
        // Names of constants need not differ.
        let name = self.pick(&["table", "pi", "table"]).into();
        self.module.constants.push(Constant { name, init });
    }

    /// A function that calls only those before it, and perhaps itself.
    fn function(&mut self, entry: bool) -> FunctionId {
        let mut params: Vec<(FlatTy, Option<Name>)> = Vec::new();
        let recursive = !entry && self.below(3) == 0;
        if recursive {
            params.push((FlatTy::Int, Some("fuel".into())));
        }
        for ty in if entry { self.types(2, 6) } else { self.types(0, 4) } {
            let name = self.variable_name();
            params.push((ty, name));
        }
        if !entry && self.features.derivatives && self.below(3) == 0 {
            params.push((FlatTy::Acc(0), Some("x_bar".into())));
        }
        let results = if entry { self.types(1, 5) } else { self.types(0, 3) };
        let name =
            if entry { "main".to_string() } else { format!("f[{}]", self.module.functions.len()) };
        let id = self.declare(&name, params, results.clone());
        self.budget = if entry { 60 } else { 8 };
        if recursive {
            self.recursive_body(id, &results);
        } else {
            self.body(id, &results);
        }
        id
    }

    /// Adds a function without statements.
    fn declare(
        &mut self,
        name: &str,
        params: Vec<(FlatTy, Option<Name>)>,
        results: Vec<FlatTy>,
    ) -> FunctionId {
        let mut b = Builder::new(SiteId(0));
        for (ty, name) in params {
            b.param(ty, name);
        }
        let mut function = b.finish(name, Vec::new()).expect("there are no statements");
        function.shown = self.pick(&[name, "fn", ""]).into();
        function.library = self.below(4) == 0;
        function.span = self.span(function.library);
        function.results = results;
        self.module.functions.push(function);
        FunctionId(self.module.functions.len() as u32 - 1)
    }

    /// Begins the body of a function that was declared.
    fn begin(&mut self, id: FunctionId) {
        let function = &self.module.functions[id.0 as usize];
        self.b = Builder::resume(function, SiteId(0));
        self.scope.clear();
        self.accs.clear();
        (self.depth, self.parallel) = (0, false);
        for param in &function.params {
            match &function.vars[param.0 as usize].ty {
                FlatTy::Acc(_) => self.accs.push((Atom::Var(*param), Vec::new())),
                ty => self.scope.push((Atom::Var(*param), ty.clone())),
            }
        }
    }

    fn end(&mut self, id: FunctionId, results: Vec<Atom>) {
        let b = std::mem::replace(&mut self.b, Builder::new(SiteId(0)));
        let made = b.finish("", results).expect("operands have the right types");
        let declared = &mut self.module.functions[id.0 as usize];
        *declared = Function {
            name: declared.name.clone(),
            shown: declared.shown.clone(),
            library: declared.library,
            span: declared.span,
            ..made
        };
    }

    fn body(&mut self, id: FunctionId, results: &[FlatTy]) {
        self.begin(id);
        while self.budget > 0 && !self.done() {
            self.statements(6);
        }
        let results = results.iter().map(|ty| self.atom(ty)).collect();
        self.end(id, results);
    }

    /// The body of a function that calls itself as long as there is fuel.
    fn recursive_body(&mut self, id: FunctionId, results: &[FlatTy]) {
        self.begin(id);
        let fuel = self.scope[0].0.clone();
        let cond = self.positive(&fuel);
        let then = self.region(results, |g| {
            let less = g.less(&fuel);
            g.recursion = Some((id, less));
            g.statements(5);
            g.call_itself();
            g.recursion = None;
        });
        let otherwise = self.region(results, |g| g.statements(3));
        let results = self.emit(Op::If { cond, then, otherwise });
        self.end(id, results);
    }

    // Places and names

    fn span(&mut self, library: bool) -> Span {
        let start = self.module.sites.len() as u32 * 10;
        Span { file: if library { LIBRARY } else { PROGRAM }, start, end: start + 5 }
    }

    /// A new place for the next statement, at times within a call that was inlined.
    fn place(&mut self) {
        let library = self.below(5) == 0;
        let span = self.span(library);
        let inlined = (self.below(6) == 0).then(|| Inlined {
            function: self.pick(&["g", "sum[Real]", ""]).into(),
            library,
            at: SiteId(self.below(self.module.sites.len()) as u32),
        });
        self.module.sites.push(Site { span, inlined });
        self.b.set_site(SiteId(self.module.sites.len() as u32 - 1));
    }

    fn variable_name(&mut self) -> Option<Name> {
        let names = ["", "x", "y", "x", "i", "if", "a b", "x_dot", "true", "`\n"];
        let name = self.pick(&names);
        (!name.is_empty()).then(|| name.into())
    }

    // Types and values

    /// From `least` to below `most` types.
    fn types(&mut self, least: usize, most: usize) -> Vec<FlatTy> {
        let count = least + self.below(most - least);
        (0..count).map(|_| self.ty()).collect()
    }

    fn ty(&mut self) -> FlatTy {
        match self.below(9) {
            0 | 1 => FlatTy::Real,
            2 => FlatTy::Int,
            3 => FlatTy::Bool,
            4 => FlatTy::Text,
            5 => FlatTy::Box(self.pick(&[LIST, SHAPE])),
            6 => FlatTy::Array(Elem::Real, 1),
            7 => FlatTy::Array(Elem::Real, 1 + self.below(3) as u8),
            _ => FlatTy::Array(self.elem(), 1 + self.below(2) as u8),
        }
    }

    fn elem(&mut self) -> Elem {
        self.pick(&[Elem::Real, Elem::Int, Elem::Bool, Elem::Text, Elem::Box(LIST)])
    }

    fn real(&mut self) -> f64 {
        let exact = [0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 4.0, -0.0];
        let other = [0.1, 1e10, -1e-10, f64::INFINITY, f64::NAN, 1e300];
        match self.below(3) {
            2 if self.features.inexact => self.pick(&other),
            _ => self.pick(&exact),
        }
    }

    fn int(&mut self) -> i64 {
        self.pick(&[0, 1, 2, 3, -1, 7, 64, -5])
    }

    /// A value for a caller.
    fn value(&mut self, ty: &FlatTy) -> FlatValue {
        match ty {
            FlatTy::Real => FlatValue::Real(self.real()),
            FlatTy::Int => FlatValue::Int(self.int()),
            FlatTy::Bool => FlatValue::Bool(self.below(2) == 1),
            FlatTy::Text => FlatValue::text(self.pick(&["", "a", "ü\n"])),
            FlatTy::Box(id) => {
                let tag = self.below(self.module.boxes[id.0 as usize].variants.len());
                // The first alternative has no fields.
                let tag = if self.done() { 0 } else { tag };
                let fields = self.module.boxes[id.0 as usize].variants[tag].fields.clone();
                FlatValue::object(
                    tag as u32,
                    fields.iter().map(|ty| self.value(ty)).collect::<Vec<_>>(),
                )
            }
            FlatTy::Array(elem, rank) => {
                let sizes: Vec<i64> = (0..*rank).map(|_| self.below(4) as i64).collect();
                let count = sizes.iter().product::<i64>() as usize;
                let elements: Vec<FlatValue> = (0..count).map(|_| self.value(&elem.ty())).collect();
                FlatValue::array(
                    FlatArray::new(&sizes, data(*elem, elements)).expect("as many elements"),
                )
            }
            // The entry takes none of these.
            FlatTy::Acc(_) | FlatTy::Stack(_) => FlatValue::Null,
        }
    }

    /// An operand of a type: of what there is, or new.
    fn atom(&mut self, ty: &FlatTy) -> Atom {
        let found: Vec<Atom> = self
            .scope
            .iter()
            .rev()
            .filter(|(_, t)| t == ty)
            .map(|(atom, _)| atom.clone())
            .collect();
        let literal = self.below(4) == 3 && !self.done();
        if !found.is_empty() && !literal {
            return self.pick(&found);
        }
        match ty {
            FlatTy::Real => Atom::Real(self.real()),
            FlatTy::Int => Atom::Int(self.int()),
            FlatTy::Bool => Atom::Bool(self.below(2) == 0),
            FlatTy::Text => {
                let text = self.pick(&["", "label", "a \"quoted\"\ttext", "\u{1}"]);
                self.one(Op::Text(text.into()))
            }
            FlatTy::Array(elem, rank) => self.new_array(*elem, *rank),
            FlatTy::Box(id) => self.new_box(*id),
            FlatTy::Acc(rank) => {
                let sizes: Vec<Atom> = (0..*rank).map(|_| Atom::Int(2)).collect();
                self.one(Op::AccNew(sizes))
            }
            FlatTy::Stack(elems) => self.one(Op::StackNew(elems.clone())),
        }
    }

    fn new_box(&mut self, id: BoxId) -> Atom {
        let count = self.module.boxes[id.0 as usize].variants.len();
        let tag = if self.done() { 0 } else { self.below(count) };
        let types = self.module.boxes[id.0 as usize].variants[tag].fields.clone();
        let fields = types.iter().map(|ty| self.atom(ty)).collect();
        self.one(Op::New(id, tag as u32, fields))
    }

    // Statements

    /// Adds a statement; its results can be used from now on.
    fn emit(&mut self, op: Op) -> Vec<Atom> {
        self.place();
        let results = self.b.emit(&self.module, op);
        for result in &results {
            if let Some(name) = self.variable_name() {
                self.b.name(result, &name);
            }
            let ty = self.b.ty(result);
            if !matches!(ty, FlatTy::Acc(_)) {
                self.scope.push((result.clone(), ty));
            }
        }
        results
    }

    fn one(&mut self, op: Op) -> Atom {
        self.emit(op).pop().expect("the operation has a result")
    }

    /// Up to so many statements.
    fn statements(&mut self, most: usize) {
        let count = 1 + self.below(most);
        for _ in 0..count {
            if self.budget == 0 || self.done() {
                return;
            }
            self.budget -= 1;
            self.statement();
        }
    }

    fn statement(&mut self) {
        match self.below(28) {
            0..=3 => self.scalar(),
            4 => self.text(),
            5..=9 => self.array(),
            10 | 11 => self.boxed(),
            12 => self.chosen(),
            13 => self.switch(),
            14 | 15 => self.counted(),
            16 => self.conditional(),
            17 | 18 => self.build(),
            19 => self.reduce(),
            20 => self.call(),
            21 => self.constants(),
            22 if self.features.derivatives && !self.parallel => self.accumulate(),
            23 if self.features.derivatives && !self.parallel => self.stack(),
            // Accumulators are used more than once.
            24..=26 if !self.accs.is_empty() && !self.parallel => self.accumulate(),
            _ => self.effect(),
        }
    }

    /// A block with results of these types; what is defined in it is forgotten.
    fn region(&mut self, results: &[FlatTy], fill: impl FnOnce(&mut Self)) -> Block {
        let (scope, accs) = (self.scope.len(), self.accs.len());
        self.b.open();
        fill(self);
        let results = results.iter().map(|ty| self.atom(ty)).collect();
        self.scope.truncate(scope);
        self.accs.truncate(accs);
        self.b.close(results)
    }

    fn constants(&mut self) {
        if !self.module.constants.is_empty() {
            // Those that are there have been made before this function.
            let id = self.below(self.module.constants.len());
            self.emit(Op::Constant(ConstantId(id as u32)));
        }
    }
}

fn data(elem: Elem, elements: Vec<FlatValue>) -> Data {
    let real = |value: &FlatValue| if let FlatValue::Real(x) = value { *x } else { 0.0 };
    let int = |value: &FlatValue| if let FlatValue::Int(n) = value { *n } else { 0 };
    let bool = |value: &FlatValue| matches!(value, FlatValue::Bool(true));
    match elem {
        Elem::Real => Data::Reals(Rc::new(elements.iter().map(real).collect())),
        Elem::Int => Data::Ints(Rc::new(elements.iter().map(int).collect())),
        Elem::Bool => Data::Bools(Rc::new(elements.iter().map(bool).collect())),
        Elem::Text | Elem::Box(_) => Data::Values(Rc::new(elements)),
    }
}
