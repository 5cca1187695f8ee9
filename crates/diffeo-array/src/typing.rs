//! The types of operations: of their operands and results.
//!
//! An operation comes in with the module and the variables of its function; the types of its results go out, or what is
//! wrong with its operands, in words. Of the blocks in it, only the results are looked at.

use crate::ir::ops::{named_operands, row, Output};
use crate::ir::{
    Atom, Block, BoxId, Carried, Constant, Elem, FlatTy, Function, Module, Op, Reduction, Scalar,
    VarInfo,
};
use crate::print::type_text;
use diffeo_calculus::prim::text::{self, TextType};
use diffeo_calculus::prim::{int, real, Comparison};

/// The type of an operand; `None` of a variable that the function does not have.
pub fn atom_type(vars: &[VarInfo], atom: &Atom) -> Option<FlatTy> {
    match atom {
        Atom::Var(var) => vars.get(var.0 as usize).map(|info| info.ty.clone()),
        Atom::Real(_) => Some(FlatTy::Real),
        Atom::Int(_) => Some(FlatTy::Int),
        Atom::Bool(_) => Some(FlatTy::Bool),
        Atom::Unused(ty) => Some(ty.clone()),
    }
}

impl Elem {
    /// The type of an element.
    pub fn ty(self) -> FlatTy {
        match self {
            Elem::Real => FlatTy::Real,
            Elem::Int => FlatTy::Int,
            Elem::Bool => FlatTy::Bool,
            Elem::Text => FlatTy::Text,
            Elem::Box(id) => FlatTy::Box(id),
        }
    }
}

impl FlatTy {
    /// An array of elements, the element itself for rank 0.
    pub fn array(elem: Elem, rank: u8) -> FlatTy {
        if rank == 0 {
            elem.ty()
        } else {
            FlatTy::Array(elem, rank)
        }
    }

    /// The type as one of elements of arrays (of rank 0) or the elements and rank of an array; `None` of
    /// what no array holds.
    pub fn elements(&self) -> Option<(Elem, u8)> {
        match self {
            FlatTy::Real => Some((Elem::Real, 0)),
            FlatTy::Int => Some((Elem::Int, 0)),
            FlatTy::Bool => Some((Elem::Bool, 0)),
            FlatTy::Text => Some((Elem::Text, 0)),
            FlatTy::Box(id) => Some((Elem::Box(*id), 0)),
            FlatTy::Array(elem, rank) => Some((*elem, *rank)),
            FlatTy::Acc(_) | FlatTy::Stack(_) => None,
        }
    }

    /// Whether it is passed by reference and mutable: an accumulator or a stack.
    pub fn is_mutable(&self) -> bool {
        self.elements().is_none()
    }
}

impl Scalar {
    /// The type that it is of.
    pub fn ty(self) -> FlatTy {
        match self {
            Scalar::Real => FlatTy::Real,
            Scalar::Int => FlatTy::Int,
            Scalar::Bool => FlatTy::Bool,
            Scalar::Text => FlatTy::Text,
        }
    }
}

/// The types of a function's parameters.
pub fn param_types(function: &Function) -> Vec<FlatTy> {
    function.params.iter().filter_map(|var| atom_type(&function.vars, &Atom::Var(*var))).collect()
}

/// The types of the results of an operation; `None` if they can be any ([`Op::Stop`]).
///
/// # Errors
/// What is wrong with the number or the types of its operands.
pub fn results(module: &Module, vars: &[VarInfo], op: &Op) -> Result<Option<Vec<FlatTy>>, String> {
    let cx = Typing { module, vars };
    match op {
        Op::Stop(_) => cx.operands(op).map(|()| None),
        op => cx.op(op).map(Some),
    }
}

struct Typing<'m> {
    module: &'m Module,
    vars: &'m [VarInfo],
}

type Types = Result<Vec<FlatTy>, String>;

impl Typing<'_> {
    fn ty(&self, atom: &Atom) -> Result<FlatTy, String> {
        atom_type(self.vars, atom).ok_or_else(|| "there is no such variable".to_string())
    }

    fn show(&self, ty: &FlatTy) -> String {
        type_text(self.module, ty)
    }

    fn wants(&self, what: &str, atom: &Atom, expected: &FlatTy) -> Result<(), String> {
        let found = self.ty(atom)?;
        if found == *expected {
            return Ok(());
        }
        let (found, expected) = (self.show(&found), self.show(expected));
        Err(format!("{what} has type {found} and should have type {expected}"))
    }

    fn all(&self, what: &str, atoms: &[Atom], expected: &[FlatTy]) -> Result<(), String> {
        count(what, atoms.len(), expected.len())?;
        let mut pairs = atoms.iter().zip(expected).enumerate();
        pairs.try_for_each(|(i, (atom, ty))| self.wants(&format!("{what} {i}"), atom, ty))
    }

    fn array(&self, atom: &Atom) -> Result<(Elem, u8), String> {
        match self.ty(atom)? {
            FlatTy::Array(elem, rank) => Ok((elem, rank)),
            ty => Err(format!("the operand has type {} and should be an array", self.show(&ty))),
        }
    }

    fn acc(&self, atom: &Atom) -> Result<u8, String> {
        match self.ty(atom)? {
            FlatTy::Acc(rank) => Ok(rank),
            ty => Err(format!("the operand has type {} and should be an Acc", self.show(&ty))),
        }
    }

    fn stack(&self, atom: &Atom) -> Result<Vec<FlatTy>, String> {
        match self.ty(atom)? {
            FlatTy::Stack(elems) => Ok(elems.iter().map(|elem| elem.ty()).collect()),
            ty => Err(format!("the operand has type {} and should be a Stack", self.show(&ty))),
        }
    }

    fn boxed(&self, atom: &Atom) -> Result<BoxId, String> {
        match self.ty(atom)? {
            FlatTy::Box(id) => Ok(id),
            ty => Err(format!("the operand has type {} and should be a box", self.show(&ty))),
        }
    }

    /// The types of the fields of an alternative.
    fn fields(&self, id: BoxId, tag: u32) -> Result<&[FlatTy], String> {
        let ty = self.module.boxes.get(id.0 as usize).ok_or("there is no such type of boxes")?;
        let variant = ty.variants.get(tag as usize);
        variant.map(|v| &v.fields[..]).ok_or_else(|| format!("{} has no tag {tag}", ty.name))
    }

    fn results(&self, block: &Block) -> Types {
        block.results.iter().map(|atom| self.ty(atom)).collect()
    }

    /// The types of the results of blocks of which one is chosen.
    fn branches<'b>(&self, blocks: impl IntoIterator<Item = &'b Block>) -> Types {
        let mut blocks = blocks.into_iter();
        let first = blocks.next().ok_or("there is no block to choose")?;
        let types = self.results(first)?;
        if let Some(ty) = types.iter().find(|ty| ty.is_mutable()) {
            return Err(format!("the result of a branch has type {}", self.show(ty)));
        }
        for block in blocks {
            self.all("result", &block.results, &types)?;
        }
        Ok(types)
    }

    /// The types of the carried variables of a loop with this body.
    fn carried(&self, carried: &[Carried], body: &Block) -> Types {
        let mut types = Vec::with_capacity(carried.len());
        for (i, Carried { param, init }) in carried.iter().enumerate() {
            let ty = self.ty(&Atom::Var(*param))?;
            self.wants(&format!("the first value of carried variable {i}"), init, &ty)?;
            if ty.is_mutable() && body.results.get(i).is_some_and(|r| *r != Atom::Var(*param)) {
                let ty = self.show(&ty);
                return Err(format!("carried variable {i}, of type {ty}, is exchanged"));
            }
            types.push(ty);
        }
        self.all("result", &body.results, &types)?;
        Ok(types)
    }

    /// The array type of elements of this type.
    fn array_of(&self, ty: &FlatTy) -> Result<FlatTy, String> {
        let (elem, rank) = ty
            .elements()
            .ok_or_else(|| format!("an array cannot hold elements of type {}", self.show(ty)))?;
        Ok(FlatTy::Array(elem, rank.checked_add(1).ok_or("the rank of an array is too high")?))
    }

    /// Checks the operands whose types the table of operations has.
    fn operands(&self, op: &Op) -> Result<(), String> {
        let mut checked = Ok(());
        named_operands(op, |name, operand, atom| {
            if let (Some(ty), Ok(())) = (operand.ty(), &checked) {
                checked = self.wants(&format!("operand {name}"), atom, &ty);
            }
        });
        checked
    }

    fn op(&self, op: &Op) -> Types {
        let one = |ty: FlatTy| Ok(vec![ty]);
        self.operands(op)?;
        match op {
            Op::Real(op, args) => {
                count("operand", args.len(), real::row(*op).arity)?;
                one(FlatTy::Real)
            }
            Op::Int(op, args) | Op::IntFits(op, args) => {
                count("operand", args.len(), int::arity(*op))?;
                one(FlatTy::Int)
            }
            Op::Compare(comparison, scalar, a, b) => {
                if *scalar == Scalar::Bool && !matches!(comparison, Comparison::Eq | Comparison::Ne)
                {
                    return Err("truth values have no order".to_string());
                }
                self.wants("the first operand", a, &scalar.ty())?;
                self.wants("the second operand", b, &scalar.ty())?;
                one(FlatTy::Bool)
            }
            Op::Select(_, a, b) => {
                let ty = self.ty(a)?;
                if !matches!(ty, FlatTy::Real | FlatTy::Int | FlatTy::Bool) {
                    return Err(format!("select is not for values of type {}", self.show(&ty)));
                }
                self.wants("the third operand", b, &ty)?;
                one(ty)
            }
            Op::TextOp(op, operands) => {
                let ty = |leaf: &TextType| match leaf {
                    TextType::Int => FlatTy::Int,
                    TextType::Real => FlatTy::Real,
                    TextType::Text => FlatTy::Text,
                };
                let (params, result) = text::signature(*op);
                let params: Vec<FlatTy> = params.iter().map(ty).collect();
                self.all("operand", operands, &params)?;
                one(ty(&result))
            }
            Op::Show(scalar, a) => {
                self.wants("the operand", a, &scalar.ty())?;
                one(FlatTy::Text)
            }
            Op::Dim(array, dim) => {
                let (_, rank) = self.array(array)?;
                if *dim >= rank {
                    return Err(format!("an array of rank {rank} has no dimension {dim}"));
                }
                one(FlatTy::Int)
            }
            Op::Get(array, indices) => {
                let (elem, rank) = self.array(array)?;
                one(FlatTy::array(elem, indexed(indices, rank, 1)?))
            }
            Op::Slice { array, .. } => {
                let (elem, rank) = self.array(array)?;
                one(FlatTy::Array(elem, rank))
            }
            Op::Update { array, indices, value } => {
                let (elem, rank) = self.array(array)?;
                let left = indexed(indices, rank, 1)?;
                self.wants("the new element", value, &FlatTy::array(elem, left))?;
                one(FlatTy::Array(elem, rank))
            }
            Op::Elements(elem, atoms) => {
                self.all("element", atoms, &vec![elem.ty(); atoms.len()])?;
                one(FlatTy::Array(*elem, 1))
            }
            Op::Rows(rows) => {
                let first = rows.first().ok_or("there is no row")?;
                let (elem, rank) = self.array(first)?;
                let row = FlatTy::Array(elem, rank);
                self.all("row", rows, &vec![row.clone(); rows.len()])?;
                one(self.array_of(&row)?)
            }
            Op::Empty(elem, rank) => {
                if *rank == 0 {
                    return Err("the rank of an array is at least 1".to_string());
                }
                one(FlatTy::Array(*elem, *rank))
            }
            Op::Append(a, b) => {
                let (elem, rank) = self.array(a)?;
                let ty = FlatTy::Array(elem, rank);
                self.wants("the second operand", b, &ty)?;
                one(ty)
            }
            Op::Reshape(array, sizes) => {
                let (elem, _) = self.array(array)?;
                match u8::try_from(sizes.len()) {
                    Ok(rank) if rank > 0 => one(FlatTy::Array(elem, rank)),
                    Ok(_) | Err(_) => Err("the rank of an array is from 1 to 255".to_string()),
                }
            }
            Op::ArgSort(array) => match self.array(array)? {
                (Elem::Real | Elem::Int | Elem::Text, 1) => one(FlatTy::Array(Elem::Int, 1)),
                (elem, rank) => {
                    let ty = self.show(&FlatTy::Array(elem, rank));
                    Err(format!("arrays of type {ty} cannot be sorted"))
                }
            },
            Op::New(id, tag, fields) => {
                self.all("field", fields, self.fields(*id, *tag)?)?;
                one(FlatTy::Box(*id))
            }
            Op::Tag(object) => {
                self.boxed(object)?;
                one(FlatTy::Int)
            }
            Op::Field { object, tag, index } => {
                let fields = self.fields(self.boxed(object)?, *tag)?;
                let ty = fields.get(*index as usize);
                one(ty.cloned().ok_or_else(|| format!("the alternative has no field {index}"))?)
            }
            Op::If { then, otherwise, .. } => self.branches([then, otherwise]),
            Op::Switch { arms, default, .. } => {
                if arms.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
                    return Err("the values of the arms do not rise".to_string());
                }
                self.branches(arms.iter().map(|(_, block)| block).chain(default))
            }
            Op::For { index, carried, body, .. } => {
                self.wants("the index", &Atom::Var(*index), &FlatTy::Int)?;
                self.carried(carried, body)
            }
            Op::While { carried, cond, body } => {
                self.all("the condition's result", &cond.results, &[FlatTy::Bool])?;
                self.carried(carried, body)
            }
            Op::Build { index, body, .. } => {
                self.wants("the index", &Atom::Var(*index), &FlatTy::Int)?;
                self.results(body)?.iter().map(|ty| self.array_of(ty)).collect()
            }
            Op::Reduce { how, index, body, .. } => {
                self.wants("the index", &Atom::Var(*index), &FlatTy::Int)?;
                let types: Vec<FlatTy> = how
                    .iter()
                    .map(|how| match how {
                        Reduction::Add | Reduction::Max | Reduction::Min => FlatTy::Real,
                    })
                    .collect();
                self.all("result", &body.results, &types)?;
                Ok(types)
            }
            Op::Call(id, args) => {
                let callee =
                    self.module.functions.get(id.0 as usize).ok_or("there is no such function")?;
                self.all("argument", args, &param_types(callee))?;
                Ok(callee.results.clone())
            }
            Op::Constant(id) => {
                let constant =
                    self.module.constants.get(id.0 as usize).ok_or("there is no such constant")?;
                let init = self.module.functions.get(constant.init.0 as usize);
                Ok(init.ok_or("nothing computes the constant")?.results.clone())
            }
            Op::AccNew(sizes) => one(FlatTy::Acc(rank(sizes)?)),
            Op::AccAdd(acc, indices, _) => {
                self.element(acc, indices)?;
                Ok(Vec::new())
            }
            Op::AccAddArray(acc, array) => {
                let rank = self.acc(acc)?;
                self.wants("what is added", array, &FlatTy::array(Elem::Real, rank))?;
                Ok(Vec::new())
            }
            Op::AccRead(acc, indices) | Op::AccTake(acc, indices) => {
                self.element(acc, indices)?;
                one(FlatTy::Real)
            }
            Op::AccView(acc, indices) => {
                let rank = self.acc(acc)?;
                one(FlatTy::Acc(indexed(indices, rank, 0)?))
            }
            Op::AccSlice { acc, .. } => match self.acc(acc)? {
                0 => Err("an accumulator of rank 0 has no slices".to_string()),
                rank => one(FlatTy::Acc(rank)),
            },
            Op::AccReshape(acc, sizes) => {
                self.acc(acc)?;
                one(FlatTy::Acc(rank(sizes)?))
            }
            Op::AccGet(acc) => one(FlatTy::array(Elem::Real, self.acc(acc)?)),
            Op::StackNew(elems) => one(FlatTy::Stack(elems.clone())),
            Op::Push(stack, atoms) => {
                self.all("component", atoms, &self.stack(stack)?)?;
                Ok(Vec::new())
            }
            Op::StackLen(stack) => {
                self.stack(stack)?;
                one(FlatTy::Int)
            }
            Op::StackGet(stack, _) => self.stack(stack),
            op => match row(op).output {
                Output::None => Ok(Vec::new()),
                Output::Real => one(FlatTy::Real),
                Output::Int => one(FlatTy::Int),
                Output::Bool => one(FlatTy::Bool),
                Output::Text => one(FlatTy::Text),
                Output::Rule => Err("a bug of Diffeo: an operation without a type".to_string()),
            },
        }
    }

    /// Checks indices that lead to a number in an accumulator.
    fn element(&self, acc: &Atom, indices: &[Atom]) -> Result<(), String> {
        let rank = self.acc(acc)?;
        match indexed(indices, rank, 0)? {
            0 => Ok(()),
            _ => Err(format!("{} indices into rank {rank}", indices.len())),
        }
    }
}

/// The rank that is left after so many indices, of which there are at least `least`.
fn indexed(indices: &[Atom], rank: u8, least: usize) -> Result<u8, String> {
    if indices.len() < least || indices.len() > usize::from(rank) {
        return Err(format!("{} indices into rank {rank}", indices.len()));
    }
    Ok(rank - indices.len() as u8)
}

fn rank(sizes: &[Atom]) -> Result<u8, String> {
    u8::try_from(sizes.len()).map_err(|_| "the rank is too high".to_string())
}

fn count(what: &str, found: usize, expected: usize) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("of {what}s there are {found} and should be {expected}"))
    }
}

/// The types of a constant's value.
pub fn constant_types<'m>(module: &'m Module, constant: &Constant) -> Option<&'m [FlatTy]> {
    module.functions.get(constant.init.0 as usize).map(|init| &init.results[..])
}
