//! Looks up the sizes that a type annotation names in a value; see [`SizePattern`].

use crate::array::Array;
use crate::eval::code::{SizesCall, SizesTree};
use crate::eval::error::ErrorKind;
use crate::prim::{SizePattern, SizeRef, SizeShape};
use crate::value::Value;
use smallvec::SmallVec;

struct SizeMatcher<'s> {
    pattern: &'s SizePattern,
    /// The component of the value that is being looked at; none within a tuple that has not been entered.
    part: Option<usize>,
    bound: SmallVec<[Option<i64>; 4]>,
    operations: &'s mut u64,
}

/// The sizes bound by a pattern, in the order of its names after the given ones. The operands are those of
/// the tree, then the given sizes.
pub fn sizes(
    call: &SizesCall,
    operands: &[&Value],
    operations: &mut u64,
) -> Result<SmallVec<[i64; 4]>, ErrorKind> {
    let pattern = &*call.pattern;
    let given = pattern.given.min(pattern.names.len());
    let mut bound = SmallVec::from_elem(None, pattern.names.len());
    for (bound, value) in bound.iter_mut().zip(&operands[operands.len() - given..]) {
        if let Value::Int(n) = value {
            *bound = Some(*n);
        }
    }
    let mut sizes = SizeMatcher { pattern, part: pattern.first_part(), bound, operations };
    sizes.tree(&pattern.shape, &call.tree, operands)?;
    Ok(sizes.bound[given..].iter().map(|size| size.unwrap_or(0)).collect())
}

impl SizeMatcher<'_> {
    fn tree(
        &mut self,
        shape: &SizeShape,
        tree: &SizesTree,
        operands: &[&Value],
    ) -> Result<(), ErrorKind> {
        match (tree, shape) {
            (SizesTree::Operand(i), _) => self.value(shape, operands[*i as usize]),
            (SizesTree::Tuple(trees), SizeShape::Tuple(shapes)) => {
                let outer = self.part;
                for (i, (tree, shape)) in trees.iter().zip(shapes).enumerate() {
                    self.part = outer.or(Some(i));
                    self.tree(shape, tree, operands)?;
                }
                Ok(())
            }
            (SizesTree::Tuple(_) | SizesTree::Nothing, _) => Ok(()),
        }
    }

    fn value(&mut self, shape: &SizeShape, value: &Value) -> Result<(), ErrorKind> {
        match (shape, value) {
            (SizeShape::Any, _) => Ok(()),
            (SizeShape::Array(size, rows), Value::Array(array)) => {
                self.size(*size, array.len())?;
                self.elements(rows, array)
            }
            (SizeShape::Tuple(shapes), _) => {
                let outer = self.part;
                for (i, (shape, field)) in shapes.iter().zip(value.fields()).enumerate() {
                    self.part = outer.or(Some(i));
                    self.value(shape, field)?;
                }
                Ok(())
            }
            (SizeShape::Data(constructors), Value::Data(data)) => {
                match constructors.get(data.tag as usize) {
                    Some(shapes) => shapes
                        .iter()
                        .zip(&data.fields)
                        .try_for_each(|(shape, field)| self.value(shape, field)),
                    None => Ok(()),
                }
            }
            (SizeShape::Array(..) | SizeShape::Data(_), _) => {
                Err(ErrorKind::Internal { message: "sizes of a value of another type".into() })
            }
        }
    }

    /// The elements of an array. Where rows are regular, one look at the array is enough.
    fn elements(&mut self, shape: &SizeShape, array: &Array) -> Result<(), ErrorKind> {
        match shape {
            SizeShape::Any => Ok(()),
            SizeShape::Array(size, rows) => match array.flat() {
                Some((width, flat)) => {
                    self.size(*size, width)?;
                    self.elements(rows, &flat)
                }
                None => Ok(()),
            },
            SizeShape::Tuple(shapes) => {
                for (i, shape) in shapes.iter().enumerate() {
                    if let Some(column) = array.field(i) {
                        self.elements(shape, &column)?;
                    }
                }
                Ok(())
            }
            SizeShape::Data(_) => {
                *self.operations += array.len() as u64;
                array.iter().try_for_each(|element| self.value(shape, &element))
            }
        }
    }

    fn size(&mut self, size: SizeRef, found: usize) -> Result<(), ErrorKind> {
        let expected = match size {
            SizeRef::Any => return Ok(()),
            SizeRef::Literal(n) => n as i64,
            SizeRef::Name(i) => match self.bound[i] {
                Some(n) => n,
                None => {
                    self.bound[i] = Some(found as i64);
                    return Ok(());
                }
            },
        };
        if expected == found as i64 {
            return Ok(());
        }
        let what = self.pattern.contradicted(size, self.part);
        let expected = usize::try_from(expected).unwrap_or(0);
        Err(ErrorKind::SizeMismatch { what, expected, found })
    }
}
