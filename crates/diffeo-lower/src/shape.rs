//! Shapes: what is known of a value when a program is lowered, and which values of Flat it consists of.
//!
//! A type has one *plain* shape ([`Lower::plain`]), in which values lie in boxes and arrays and are passed
//! where nothing more is known. A shape may know more: which function a value is, which constructor.

use super::Lower;
use diffeo_array::ir::{BoxId, BoxType, Elem, FlatTy, FunctionId, Variant};
use diffeo_base::Name;
use diffeo_calculus::ty::DataId;
use diffeo_calculus::typing;
use diffeo_calculus::Ty;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A tuple or variant of more values than this is put into a box.
const MOST_LEAVES: usize = 32;

/// What is known of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Shape {
    /// The program stops before there is a value.
    Never,
    /// `()`
    Unit,
    /// One value of Flat: a scalar, or data in a box.
    Leaf(FlatTy),
    /// A tuple or record: the values of its components.
    Tuple(Rc<[Shape]>),
    /// A large tuple, or a variant that is an element of an array, in a box.
    Boxed(BoxId, Rc<Shape>),
    /// An array: an array of Flat for each value that an element consists of.
    Array(Rc<[FlatTy]>),
    /// A variant with a known constructor: the values of its fields.
    Con(Rc<VariantLayout>, u32, Rc<[Shape]>),
    /// A variant: its tag and slots.
    Sum(Rc<VariantLayout>),
    /// A function with known code, by its parameter: the values that it captured.
    Known(u32, Rc<[Shape]>),
    /// A function of this type ([`Lower::functions`]), in a box.
    Dynamic(u32),
}

/// How a variant that is not recursive is laid out: its tag, if it has several constructors, and slots that
/// the constructors share. A Real in a slot that the constructor does not use is 0.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct VariantLayout {
    /// Unique.
    id: usize,
    /// The constructors.
    pub alternatives: Vec<Alternative>,
    /// The types of the slots.
    pub slots: Vec<FlatTy>,
    /// The box for elements of arrays, if they are not laid out as arrays of tags and slots.
    pub boxed: Option<BoxId>,
}

/// A constructor of a [`VariantLayout`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Alternative {
    /// The shapes of its fields.
    pub fields: Vec<Shape>,
    /// The slot of each value of the fields.
    pub slots: Vec<usize>,
}

impl PartialEq for VariantLayout {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl Eq for VariantLayout {}
impl Hash for VariantLayout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl VariantLayout {
    /// Whether there is a tag.
    pub fn tagged(&self) -> bool {
        self.alternatives.len() != 1
    }

    /// The types of tag and slots.
    pub fn types(&self) -> impl Iterator<Item = FlatTy> + '_ {
        self.tagged().then_some(FlatTy::Int).into_iter().chain(self.slots.iter().cloned())
    }
}

impl Shape {
    /// Whether a known function is in it.
    pub fn has_known(&self) -> bool {
        match self {
            Shape::Known(..) => true,
            Shape::Tuple(parts) | Shape::Con(_, _, parts) => parts.iter().any(Shape::has_known),
            Shape::Never
            | Shape::Unit
            | Shape::Leaf(_)
            | Shape::Boxed(..)
            | Shape::Array(_)
            | Shape::Sum(_)
            | Shape::Dynamic(_) => false,
        }
    }

    /// Whether a function that is not known is in it, outside boxes of data and arrays.
    pub fn has_dynamic(&self) -> bool {
        match self {
            Shape::Dynamic(_) => true,
            Shape::Tuple(parts) | Shape::Con(_, _, parts) | Shape::Known(_, parts) => {
                parts.iter().any(Shape::has_dynamic)
            }
            Shape::Boxed(_, inner) => inner.has_dynamic(),
            Shape::Sum(sum) => {
                sum.alternatives.iter().any(|a| a.fields.iter().any(Shape::has_dynamic))
            }
            Shape::Never | Shape::Unit | Shape::Leaf(_) | Shape::Array(_) => false,
        }
    }

    /// How deep known functions have captured known functions.
    pub fn depth(&self) -> usize {
        let deepest = |parts: &[Shape]| parts.iter().map(Shape::depth).max().unwrap_or(0);
        match self {
            Shape::Known(_, parts) => 1 + deepest(parts),
            Shape::Tuple(parts) | Shape::Con(_, _, parts) => deepest(parts),
            Shape::Never
            | Shape::Unit
            | Shape::Leaf(_)
            | Shape::Boxed(..)
            | Shape::Array(_)
            | Shape::Sum(_)
            | Shape::Dynamic(_) => 0,
        }
    }
}

/// What boxes are for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// Data of this type.
    Data(DataId, Rc<[Ty]>),
    /// Tuples of this type.
    Tuple(Ty),
    /// Functions of this type.
    Function(Rc<(Ty, Ty)>),
    /// What the pullback of this function has captured.
    Residuals(FunctionId),
}

/// The constructors' fields, of data in boxes.
pub(super) type Fields = Rc<[Vec<Shape>]>;

impl Lower<'_> {
    /// The plain shape of a type.
    pub(super) fn plain(&mut self, ty: &Ty) -> Shape {
        if let Some(shape) = self.shapes.get(ty) {
            return shape.clone();
        }
        let shape = self.make_plain(ty);
        self.shapes.insert(ty.clone(), shape.clone());
        shape
    }

    fn make_plain(&mut self, ty: &Ty) -> Shape {
        match ty {
            Ty::Real => Shape::Leaf(FlatTy::Real),
            Ty::Int => Shape::Leaf(FlatTy::Int),
            Ty::Bool => Shape::Leaf(FlatTy::Bool),
            Ty::String => Shape::Leaf(FlatTy::Text),
            Ty::Unit | Ty::Param(_) => Shape::Unit,
            Ty::Tuple(_) | Ty::Record(_) => {
                let components = ty.components().unwrap_or_default();
                let parts: Rc<[Shape]> = components.iter().map(|ty| self.plain(ty)).collect();
                let tuple = Shape::Tuple(parts);
                let types = self.types(&tuple);
                if types.len() <= MOST_LEAVES {
                    return tuple;
                }
                let id = self.new_box(Content::Tuple(ty.clone()), Name::new("Tuple"));
                self.module.boxes[id.0 as usize].variants =
                    vec![Variant { name: Name::new("Tuple"), fields: types }];
                Shape::Boxed(id, Rc::new(tuple))
            }
            Ty::Array(element) => {
                let element = self.plain(element);
                let leaves = self.element_types(&element);
                Shape::Array(
                    leaves.into_iter().map(|(elem, rank)| FlatTy::Array(elem, rank + 1)).collect(),
                )
            }
            Ty::Data(data, args) => {
                if !self.is_recursive(*data) {
                    if let Some(sum) = self.sum_type(*data, args) {
                        return Shape::Sum(sum);
                    }
                }
                Shape::Leaf(FlatTy::Box(self.data_box(*data, args)))
            }
            Ty::Fun(fun) => Shape::Dynamic(self.function_type(fun)),
        }
    }

    /// The layout of a variant that is not recursive, unless it is to lie in a box.
    fn sum_type(&mut self, data: DataId, args: &Rc<[Ty]>) -> Option<Rc<VariantLayout>> {
        let program = self.program;
        let decl = &program.datas[data.0 as usize];
        let mut slots: Vec<FlatTy> = Vec::new();
        let mut alternatives = Vec::new();
        for tag in 0..decl.constructors.len() as u32 {
            let fields: Vec<Shape> =
                decl.fields(tag, args).iter().map(|ty| self.plain(ty)).collect();
            let mut taken = vec![false; slots.len()];
            let mut places = Vec::new();
            for ty in fields.iter().flat_map(|field| self.types(field)) {
                let free = (0..slots.len()).find(|i| !taken[*i] && slots[*i] == ty);
                let slot = free.unwrap_or_else(|| {
                    slots.push(ty);
                    taken.push(false);
                    slots.len() - 1
                });
                taken[slot] = true;
                places.push(slot);
            }
            if slots.len() > MOST_LEAVES {
                return None;
            }
            alternatives.push(Alternative { fields, slots: places });
        }
        // Derivatives look at all slots, and what is in that of another alternative is no array or box.
        let reference = |ty: &FlatTy| {
            matches!(ty, FlatTy::Box(_) | FlatTy::Array(Elem::Real | Elem::Box(_), _))
        };
        let shared = |slot: usize| alternatives.iter().any(|a| !a.slots.contains(&slot));
        if self.differentiates
            && slots.iter().enumerate().any(|(slot, ty)| reference(ty) && shared(slot))
        {
            return None;
        }
        let scalar = |ty: &FlatTy| matches!(ty, FlatTy::Real | FlatTy::Int | FlatTy::Bool);
        // Data that has arrays in it may have other sizes in each element; texts and boxes of another
        // alternative are nothing that could be stored.
        let boxed = (!slots.iter().all(scalar)).then(|| self.data_box(data, args));
        self.sums += 1;
        Some(Rc::new(VariantLayout { id: self.sums, alternatives, slots, boxed }))
    }

    /// Whether values of a declared type may hold values of it.
    fn is_recursive(&mut self, data: DataId) -> bool {
        if let Some(known) = self.recursive.get(&data) {
            return *known;
        }
        let mut seen = HashSet::new();
        let mut pending = vec![data];
        let mut found = false;
        while let Some(next) = pending.pop() {
            for field in
                self.program.datas[next.0 as usize].constructors.iter().flat_map(|c| &c.fields)
            {
                typing::parts(field, &mut |part| {
                    if let Ty::Data(inner, _) = part {
                        found |= *inner == data;
                        if seen.insert(*inner) {
                            pending.push(*inner);
                        }
                    }
                });
            }
        }
        self.recursive.insert(data, found);
        found
    }

    // Boxes

    fn new_box(&mut self, content: Content, name: Name) -> BoxId {
        if let Some(id) = self.boxes.get(&content) {
            return *id;
        }
        let id = BoxId(self.module.boxes.len() as u32);
        let used = self.box_names.entry(name.clone()).or_insert(0);
        let name = if *used == 0 { name } else { Name::from(format!("{name}.{used}")) };
        *used += 1;
        self.module.boxes.push(BoxType { name, variants: Vec::new() });
        self.boxes.insert(content.clone(), id);
        self.contents.push(content);
        self.fields.push(None);
        id
    }

    /// The box for data of a type.
    pub(super) fn data_box(&mut self, data: DataId, args: &Rc<[Ty]>) -> BoxId {
        let name = self.program.datas[data.0 as usize].name.clone();
        self.new_box(Content::Data(data, args.clone()), name)
    }

    /// The box for functions of a type.
    pub(super) fn function_box(&mut self, ty: &Rc<(Ty, Ty)>) -> BoxId {
        self.new_box(Content::Function(ty.clone()), Name::new("Function"))
    }

    /// The box for residuals, whose types are found last.
    pub(super) fn residuals_box(&mut self, function: FunctionId) -> BoxId {
        self.new_box(Content::Residuals(function), Name::new("Residuals"))
    }

    /// The fields of data in a box. They are looked at when such a box is first made or read.
    pub(super) fn box_fields(&mut self, id: BoxId) -> Fields {
        if let Some(fields) = &self.fields[id.0 as usize] {
            return fields.clone();
        }
        let fields: Fields = match self.contents[id.0 as usize].clone() {
            Content::Data(data, args) => {
                let program = self.program;
                let decl = &program.datas[data.0 as usize];
                let mut all = Vec::new();
                let mut variants = Vec::new();
                for (tag, constructor) in (0..).zip(&decl.constructors) {
                    let fields: Vec<Shape> =
                        decl.fields(tag, &args).iter().map(|ty| self.plain(ty)).collect();
                    let types = fields.iter().flat_map(|field| self.types(field)).collect();
                    variants.push(Variant { name: constructor.name.clone(), fields: types });
                    all.push(fields);
                }
                self.module.boxes[id.0 as usize].variants = variants;
                all.into()
            }
            Content::Tuple(_) | Content::Function(_) | Content::Residuals(_) => Rc::new([]),
        };
        self.fields[id.0 as usize] = Some(fields.clone());
        fields
    }

    // The values that a shape consists of

    /// The types of the values that a shape consists of.
    pub(super) fn types(&self, shape: &Shape) -> Vec<FlatTy> {
        let mut types = Vec::new();
        self.add_types(shape, &mut types);
        types
    }

    fn add_types(&self, shape: &Shape, types: &mut Vec<FlatTy>) {
        match shape {
            Shape::Never | Shape::Unit => {}
            Shape::Leaf(ty) => types.push(ty.clone()),
            Shape::Tuple(parts) | Shape::Con(_, _, parts) | Shape::Known(_, parts) => {
                parts.iter().for_each(|part| self.add_types(part, types));
            }
            Shape::Boxed(id, _) => types.push(FlatTy::Box(*id)),
            Shape::Array(arrays) => types.extend(arrays.iter().cloned()),
            Shape::Sum(sum) => types.extend(sum.types()),
            Shape::Dynamic(function) => {
                types.push(FlatTy::Box(self.functions[*function as usize].id))
            }
        }
    }

    /// What elements of a shape are in arrays: the arrays' elements, and their ranks if the elements are
    /// arrays.
    pub(super) fn element_types(&self, shape: &Shape) -> Vec<(Elem, u8)> {
        let mut types = Vec::new();
        self.add_element_types(shape, &mut types);
        types
    }

    fn add_element_types(&self, shape: &Shape, types: &mut Vec<(Elem, u8)>) {
        match shape {
            Shape::Never | Shape::Unit => types.push((Elem::Bool, 0)),
            Shape::Tuple(parts) if parts.is_empty() => types.push((Elem::Bool, 0)),
            Shape::Tuple(parts) => {
                parts.iter().for_each(|part| self.add_element_types(part, types))
            }
            Shape::Boxed(_, inner) => self.add_element_types(inner, types),
            Shape::Sum(sum) => match sum.boxed {
                Some(id) => types.push((Elem::Box(id), 0)),
                None => {
                    let before = types.len();
                    types.extend(sum.types().filter_map(|ty| ty.elements()));
                    if types.len() == before {
                        types.push((Elem::Bool, 0));
                    }
                }
            },
            Shape::Leaf(_)
            | Shape::Array(_)
            | Shape::Con(..)
            | Shape::Known(..)
            | Shape::Dynamic(_) => {
                types.extend(self.types(shape).iter().filter_map(FlatTy::elements));
            }
        }
    }
}
