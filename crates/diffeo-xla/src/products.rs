//! Sums of products, as contractions.
//!
//! A multiplication keeps its factors until something sums it, so that no dimension is computed that only some factors have:
//! `Σₙ g[n, i] · x[n, j]`, the gradient of a layer, is a product of matrices, for which XLA has the fastest code of a
//! device, and no tensor of `n · i · j` numbers.

use crate::emit::union;
use crate::lift::Lift;
use crate::value::{Dim, Tensor};
use diffeo_array::ir::Elem;
use std::rc::Rc;

/// The most factors that are kept.
const FACTORS: usize = 6;

/// `scale` times a product of tensors where all masks hold, 0 elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    /// The dimensions of the product where it was written: its axes may have other names since.
    dims: Vec<Dim>,
    scale: f64,
    factors: Vec<Tensor>,
    masks: Vec<Tensor>,
}

impl Product {
    /// The product by the names that its dimensions have in a tensor.
    fn renamed(&self, t: &Tensor) -> Option<Product> {
        if !t.shape.is_empty() || self.dims.len() != t.dims.len() {
            return None;
        }
        let now = |dim: &Dim| self.dims.iter().position(|d| d == dim).map(|at| t.dims[at]);
        let renamed = |all: &[Tensor]| -> Option<Vec<Tensor>> {
            let one = |factor: &Tensor| {
                let dims = factor.dims.iter().map(now).collect::<Option<Vec<Dim>>>()?;
                Some(Tensor { dims, ..factor.clone() })
            };
            all.iter().map(one).collect()
        };
        Some(Product {
            dims: t.dims.clone(),
            scale: self.scale,
            factors: renamed(&self.factors)?,
            masks: renamed(&self.masks)?,
        })
    }
}

impl Lift<'_> {
    /// The product of tensors; it keeps its factors.
    pub fn multiply(&mut self, operands: &[Tensor]) -> Tensor {
        let found = self.each("multiply", operands);
        let mut all = self.product(&operands[0]);
        for t in &operands[1..] {
            let next = self.product(t);
            all.scale *= next.scale;
            all.factors.extend(next.factors);
            all.masks.extend(next.masks);
        }
        self.keep(&found, all);
        found
    }

    /// A number times a tensor.
    pub fn scale(&mut self, by: f64, x: &Tensor) -> Tensor {
        let factor = self.reals(by, &x.shape);
        let found = self.each("multiply", &[factor, x.clone()]);
        let product = self.product(x);
        self.keep(&found, Product { scale: by * product.scale, ..product });
        found
    }

    /// The negative; that of a product is a product.
    pub fn negate(&mut self, x: &Tensor) -> Tensor {
        let found = self.each("negate", std::slice::from_ref(x));
        let product = self.product(x);
        self.keep(&found, Product { scale: -product.scale, ..product });
        found
    }

    /// `a + sign * b`; of the same product twice, a product.
    pub fn add(&mut self, a: &Tensor, sign: f64, b: &Tensor) -> Tensor {
        let name = if sign > 0.0 { "add" } else { "subtract" };
        let found = self.each(name, &[a.clone(), b.clone()]);
        let (a, b) = (self.product(a), self.product(b));
        if a.factors == b.factors && a.masks == b.masks {
            self.keep(&found, Product { scale: a.scale + sign * b.scale, ..a });
        }
        found
    }

    /// The tensor where the mask holds, 0 elsewhere.
    pub fn masked(&mut self, mask: &Tensor, x: &Tensor) -> Tensor {
        let zero = self.reals(0.0, &x.shape);
        let found = self.select(mask, x, &zero);
        if found.dims == x.dims {
            let mut product = self.product(x);
            product.masks.push(mask.clone());
            self.keep(&found, product);
        }
        found
    }

    fn keep(&mut self, t: &Tensor, product: Product) {
        if t.shape.is_empty() && product.factors.len() <= FACTORS {
            let product = Product { dims: t.dims.clone(), ..product };
            self.products.insert(t.id.clone(), product);
        }
    }

    /// The product that a tensor is.
    fn product(&self, t: &Tensor) -> Product {
        let kept = self.products.get(&t.id).and_then(|product| product.renamed(t));
        kept.unwrap_or_else(|| Product {
            dims: t.dims.clone(),
            scale: 1.0,
            factors: vec![t.clone()],
            masks: Vec::new(),
        })
    }

    /// The sum of a product over some of its dimensions, if that can be had without all numbers of the product.
    pub fn contracted(&mut self, t: &Tensor, over: &[Dim]) -> Option<Tensor> {
        let over: Vec<Dim> = over.iter().copied().filter(|dim| t.dims.contains(dim)).collect();
        if over.iter().any(|dim| self.sizes[*dim as usize] == 0) {
            return None;
        }
        let Product { scale, mut factors, masks, .. } = self.product(t);
        if factors.len() == 1 && factors[0].dims == t.dims {
            return None;
        }
        let touches = |t: &Tensor| t.dims.iter().any(|dim| over.contains(dim));
        let (inner_masks, outer_masks): (Vec<Tensor>, Vec<Tensor>) =
            masks.into_iter().partition(touches);
        // The factors that are 0 where a mask does not hold.
        let mut zero: Vec<Rc<str>> = Vec::new();
        let is_masked = !inner_masks.is_empty();
        for mask in inner_masks {
            let has = |t: &Tensor| mask.dims.iter().all(|dim| t.dims.contains(dim));
            // 0 times nan is nan: no other factor may have numbers of steps that the program does not take.
            if !factors.iter().all(|t| has(t) || self.is_taken(&t.id)) {
                return None;
            }
            if !factors.iter().any(has) {
                let factor = self.convert(&mask, Elem::Real);
                zero.push(factor.id.clone());
                factors.push(factor);
                continue;
            }
            for factor in factors.iter_mut().filter(|t| has(t)) {
                let nothing = self.real(0.0);
                *factor = self.select(&mask, factor, &nothing);
                zero.push(factor.id.clone());
            }
        }
        let (mut inner, outer): (Vec<Tensor>, Vec<Tensor>) = factors.into_iter().partition(touches);
        // A factor whose dimensions another one has is multiplied into the smallest such.
        inner.sort_by_key(|t| t.dims.len());
        let mut groups: Vec<Vec<Tensor>> = Vec::new();
        for t in inner.into_iter().rev() {
            let holds = |group: &&mut Vec<Tensor>| t.dims.iter().all(|d| group[0].dims.contains(d));
            match groups.iter_mut().rev().find(holds) {
                Some(group) => group.push(t),
                None => groups.push(vec![t]),
            }
        }
        let dims = union(groups.iter().map(|group| &group[0].dims[..]));
        let (first, rest) = groups.split_first()?;
        let own = |a: &[Dim], b: &[Dim]| a.iter().any(|d| !b.contains(d) && !over.contains(d));
        let others = union(rest.iter().map(|group| &group[0].dims[..]));
        let (a, shared) = (&first[0].dims, |d: &Dim| others.contains(d) && over.contains(d));
        let is_dot = a.iter().any(shared) && own(a, &others) && own(&others, a);
        if !is_dot && dims.len() == t.dims.len() {
            return None;
        }
        let rest = rest.concat();
        let mut sides = if is_dot { [first.clone(), rest] } else { [groups.concat(), Vec::new()] };
        for side in &mut sides {
            side.sort_by_key(|t| (!zero.contains(&t.id), t.dims.len()));
            // A product of numbers that the program does not multiply may be infinite, and 0 times that nan.
            let begins_with_zero = side.first().is_some_and(|t| zero.contains(&t.id));
            if is_masked && side.len() > 1 && !begins_with_zero {
                return None;
            }
        }
        let found = if is_dot {
            let (a, b) = (self.multiplied(&sides[0]), self.multiplied(&sides[1]));
            let alone = |dims: &[Dim], other: &[Dim]| -> Vec<Dim> {
                let alone = |d: &&Dim| over.contains(*d) && !other.contains(*d);
                dims.iter().filter(alone).copied().collect()
            };
            let zero = self.real(0.0);
            let a_alone = self.reduce_dims(&a, &alone(&a.dims, &b.dims), "add", &zero);
            let b_alone = self.reduce_dims(&b, &alone(&b.dims, &a.dims), "add", &zero);
            let both = |d: &&Dim| a.dims.contains(d) && b.dims.contains(d);
            let both: Vec<Dim> = over.iter().filter(both).copied().collect();
            self.dot(&a_alone, &b_alone, &both)
        } else {
            let value = self.multiplied(&sides[0]);
            let zero = self.real(0.0);
            self.reduce_dims(&value, &over, "add", &zero)
        };
        let mut all: Vec<Tensor> = std::iter::once(found).chain(outer).collect();
        all.sort_by_key(|t| t.dims.len());
        let mut found = self.multiplied(&all);
        if scale != 1.0 {
            found = self.scale(scale, &found);
        }
        let dims: Vec<Dim> = t.dims.iter().copied().filter(|d| !over.contains(d)).collect();
        found = self.broadcast(&found, &dims);
        for mask in outer_masks {
            found = self.masked(&mask, &found);
        }
        Some(found)
    }

    /// The product of one or more tensors, in this order.
    fn multiplied(&mut self, tensors: &[Tensor]) -> Tensor {
        let mut all = tensors.iter().cloned();
        let first = all.next().unwrap_or_else(|| self.real(1.0));
        all.fold(first, |product, t| self.multiply(&[product, t]))
    }
}
