//! Sums of products, as contractions.
//!
//! A multiplication keeps its factors until something sums it, so that no dimension is computed that only some factors have:
//! `Σₙ g[n, i] · x[n, j]`, the gradient of a layer, is a product of matrices, for which XLA has the fastest code of a
//! device, and no tensor of `n · i · j` numbers.

use crate::emit::union;
use crate::lift::Lift;
use crate::value::{Dim, Tensor};

/// The most factors that are kept.
const FACTORS: usize = 6;

/// A product of tensors.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    /// The dimensions of the product where it was written: its axes may have other names since.
    dims: Vec<Dim>,
    factors: Vec<Tensor>,
}

impl Lift<'_> {
    /// The product of tensors; it keeps its factors.
    pub fn multiply(&mut self, operands: &[Tensor]) -> Tensor {
        let found = self.each("multiply", operands);
        let parts = operands.iter().map(|t| self.factors(t).unwrap_or_else(|| vec![t.clone()]));
        self.keep(&found, parts.flatten().collect());
        found
    }

    /// The negative; that of a product is a product.
    pub fn negate(&mut self, x: &Tensor) -> Tensor {
        let found = self.each("negate", std::slice::from_ref(x));
        if let Some(mut factors) = self.factors(x) {
            factors.push(self.real(-1.0));
            self.keep(&found, factors);
        }
        found
    }

    /// The product where the mask holds, 0 elsewhere. It stays a product if its factors have no nan of steps that the
    /// program does not take: 0 times that would be nan.
    pub fn masked(&mut self, mask: &Tensor, x: &Tensor) -> Tensor {
        let zero = self.reals(0.0, &x.shape);
        let found = self.select(mask, x, &zero);
        let Some(mut factors) = self.factors(x).filter(|_| found.dims == x.dims) else {
            return found;
        };
        let has = |t: &Tensor| mask.dims.iter().all(|dim| t.dims.contains(dim));
        if !factors.iter().any(has) || !factors.iter().all(|t| has(t) || self.is_taken(&t.id)) {
            return found;
        }
        for factor in factors.iter_mut().filter(|t| has(t)) {
            let zero = self.real(0.0);
            *factor = self.select(mask, factor, &zero);
        }
        self.keep(&found, factors);
        found
    }

    fn keep(&mut self, product: &Tensor, factors: Vec<Tensor>) {
        if product.shape.is_empty() && factors.len() <= FACTORS {
            let kept = Product { dims: product.dims.clone(), factors };
            self.products.insert(product.id.clone(), kept);
        }
    }

    /// The factors of a product, by the names that its dimensions have now.
    fn factors(&self, t: &Tensor) -> Option<Vec<Tensor>> {
        let kept = self.products.get(&t.id)?;
        if !t.shape.is_empty() || kept.dims.len() != t.dims.len() {
            return None;
        }
        let now = |dim: &Dim| kept.dims.iter().position(|d| d == dim).map(|at| t.dims[at]);
        let renamed = |factor: &Tensor| {
            let dims = factor.dims.iter().map(now).collect::<Option<Vec<Dim>>>()?;
            Some(Tensor { dims, ..factor.clone() })
        };
        kept.factors.iter().map(renamed).collect()
    }

    /// The sum of a product over some of its dimensions, if that can be had without all numbers of the product.
    pub fn contracted(&mut self, t: &Tensor, over: &[Dim]) -> Option<Tensor> {
        let over: Vec<Dim> = over.iter().copied().filter(|dim| t.dims.contains(dim)).collect();
        if over.iter().any(|dim| self.sizes[*dim as usize] == 0) {
            return None;
        }
        let touches = |t: &Tensor| t.dims.iter().any(|dim| over.contains(dim));
        let (mut inner, outer): (Vec<Tensor>, Vec<Tensor>) =
            self.factors(t)?.into_iter().partition(touches);
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
        let (first, rest) = (first.clone(), rest.concat());
        let found = match is_dot {
            true => {
                let contracted: Vec<Dim> = over.iter().copied().filter(|d| a.contains(d)).collect();
                let (a, b) = (self.multiplied(&first), self.multiplied(&rest));
                let (of_a, of_b): (Vec<Dim>, Vec<Dim>) = (a.dims.clone(), b.dims.clone());
                let alone = |dims: &[Dim], other: &[Dim]| -> Vec<Dim> {
                    dims.iter()
                        .copied()
                        .filter(|d| over.contains(d) && !other.contains(d))
                        .collect()
                };
                let zero = self.real(0.0);
                let a = self.reduce_dims(&a, &alone(&of_a, &of_b), "add", &zero);
                let b = self.reduce_dims(&b, &alone(&of_b, &of_a), "add", &zero);
                let both: Vec<Dim> = contracted.into_iter().filter(|d| of_b.contains(d)).collect();
                self.dot(&a, &b, &both)
            }
            false => {
                let all: Vec<Tensor> = first.into_iter().chain(rest).collect();
                let value = self.multiplied(&all);
                let zero = self.real(0.0);
                self.reduce_dims(&value, &over, "add", &zero)
            }
        };
        let all: Vec<Tensor> = std::iter::once(found).chain(outer).collect();
        Some(self.multiplied(&all))
    }

    /// The product of one or more tensors, those of fewer dimensions first.
    fn multiplied(&mut self, tensors: &[Tensor]) -> Tensor {
        let mut tensors = tensors.to_vec();
        tensors.sort_by_key(|t| t.dims.len());
        let mut all = tensors.into_iter();
        let first = all.next();
        let first = first.unwrap_or_else(|| self.real(1.0));
        all.fold(first, |product, t| self.multiply(&[product, t]))
    }
}
