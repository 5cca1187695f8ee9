//! The sampler's operations on vectors, with the same digits on every processor: those of nuts-rs have as many sums as
//! the registers of the processor have lanes, and fuse multiplications with additions where it can.
//!
//! What always holds: every sum has [`SUMS`] parts, whatever the processor is.

use super::chain::{Density, Nowhere};
use nuts_rs::rand::Rng;
use nuts_rs::{CpuMath, CpuMathError, HasDims, Math};
use std::collections::HashMap;

/// Each sum has so many parts.
const SUMS: usize = 8;

/// What nuts-rs has, but for the operations whose digits depend on the processor.
pub(super) struct Vectors<'m>(pub CpuMath<Density<'m>>);

/// A vector of nuts-rs.
type Column<'m> = <CpuMath<Density<'m>> as Math>::Vector;

/// Its numbers.
macro_rules! numbers {
    ($vector:expr) => {
        $vector.try_as_col_major().map(|column| column.as_slice()).unwrap_or_default()
    };
    (mut $vector:expr) => {
        $vector.try_as_col_major_mut().map(|column| column.as_slice_mut()).unwrap_or_default()
    };
}

/// The sum of what a function gives for so many indices.
fn sum(count: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut parts = [0.0; SUMS];
    for first in (0..count).step_by(SUMS) {
        for (part, i) in parts.iter_mut().zip(first..count) {
            *part += term(i);
        }
    }
    let [a, b, c, d, e, f, g, h] = parts;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

impl HasDims for Vectors<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        self.0.dim_sizes()
    }
}

/// Methods that are those of nuts-rs.
macro_rules! same {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        $(fn $name(&mut self, $($arg: $ty),*) $(-> $result)? { self.0.$name($($arg),*) })*
    };
}

impl<'m> Math for Vectors<'m> {
    type Vector = Column<'m>;
    type EigVectors = <CpuMath<Density<'m>> as Math>::EigVectors;
    type EigValues = <CpuMath<Density<'m>> as Math>::EigValues;
    type LogpErr = Nowhere;
    type Err = CpuMathError;
    type FlowParameters = ();
    type ExpandedVector = ();

    fn scalar_prods3(
        &mut self,
        positive1: &Self::Vector,
        negative1: &Self::Vector,
        positive2: &Self::Vector,
        x: &Self::Vector,
        y: &Self::Vector,
    ) -> (f64, f64) {
        let (a, b, c) = (numbers!(positive1), numbers!(negative1), numbers!(positive2));
        let product = |x: &[f64]| sum(a.len(), |i| (a[i] + c[i] - b[i]) * x[i]);
        (product(numbers!(x)), product(numbers!(y)))
    }

    fn scalar_prods2(
        &mut self,
        positive1: &Self::Vector,
        positive2: &Self::Vector,
        x: &Self::Vector,
        y: &Self::Vector,
    ) -> (f64, f64) {
        let (a, b) = (numbers!(positive1), numbers!(positive2));
        let product = |x: &[f64]| sum(a.len(), |i| (a[i] + b[i]) * x[i]);
        (product(numbers!(x)), product(numbers!(y)))
    }

    fn array_vector_dot(&mut self, array1: &Self::Vector, array2: &Self::Vector) -> f64 {
        let (x, y) = (numbers!(array1), numbers!(array2));
        sum(x.len(), |i| x[i] * y[i])
    }

    fn sq_norm_sum(&mut self, x: &Self::Vector, y: &Self::Vector) -> f64 {
        let (x, y) = (numbers!(x), numbers!(y));
        sum(x.len(), |i| (x[i] + y[i]) * (x[i] + y[i]))
    }

    fn axpy_out(&mut self, x: &Self::Vector, y: &Self::Vector, a: f64, out: &mut Self::Vector) {
        let both = numbers!(x).iter().zip(numbers!(y));
        numbers!(mut out).iter_mut().zip(both).for_each(|(out, (x, y))| *out = y + a * x);
    }

    fn axpy(&mut self, x: &Self::Vector, y: &mut Self::Vector, a: f64) {
        numbers!(mut y).iter_mut().zip(numbers!(x)).for_each(|(y, x)| *y += a * x);
    }

    fn std_norm_flow(
        &mut self,
        pos: &Self::Vector,
        pos_out: &mut Self::Vector,
        vel: &mut Self::Vector,
        epsilon: f64,
    ) {
        let (sin, cos) = epsilon.sin_cos();
        let both = numbers!(mut pos_out).iter_mut().zip(numbers!(mut vel));
        numbers!(pos).iter().zip(both).for_each(|(p, (out, v))| {
            (*out, *v) = (p * cos + *v * sin, *v * cos - p * sin);
        });
    }

    fn std_norm_grad_flow(
        &mut self,
        pos: &Self::Vector,
        grad: &Self::Vector,
        vel: &Self::Vector,
        vel_out: &mut Self::Vector,
        epsilon: f64,
    ) {
        self.copy_into(vel, vel_out);
        self.std_norm_grad_flow_inplace(pos, grad, vel_out, epsilon);
    }

    fn std_norm_grad_flow_inplace(
        &mut self,
        pos: &Self::Vector,
        grad: &Self::Vector,
        vel: &mut Self::Vector,
        epsilon: f64,
    ) {
        let both = numbers!(pos).iter().zip(numbers!(grad));
        numbers!(mut vel).iter_mut().zip(both).for_each(|(v, (p, g))| *v += epsilon * (p + g));
    }

    fn expand_vector<R: Rng + ?Sized>(
        &mut self,
        _rng: &mut R,
        _array: &Self::Vector,
    ) -> Result<(), CpuMathError> {
        Ok(())
    }

    // What follows has no sums, and no products that are added; or, as the low-rank transforms, the sampler does not
    // use it with a diagonal metric.

    fn new_eig_vectors<'a>(
        &'a mut self,
        vals: impl ExactSizeIterator<Item = &'a [f64]>,
    ) -> Self::EigVectors {
        self.0.new_eig_vectors(vals)
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn init_position<R: Rng + ?Sized>(
        &mut self,
        rng: &mut R,
        position: &mut Self::Vector,
        gradient: &mut Self::Vector,
    ) -> Result<f64, Nowhere> {
        self.0.init_position(rng, position, gradient)
    }

    fn array_gaussian<R: Rng + ?Sized>(
        &mut self,
        rng: &mut R,
        dest: &mut Self::Vector,
        stds: &Self::Vector,
    ) {
        self.0.array_gaussian(rng, dest, stds);
    }

    fn array_gaussian_eigs<R: Rng + ?Sized>(
        &mut self,
        rng: &mut R,
        dest: &mut Self::Vector,
        scale: &Self::Vector,
        vals: &Self::EigValues,
        vecs: &Self::EigVectors,
    ) {
        self.0.array_gaussian_eigs(rng, dest, scale, vals, vecs);
    }

    fn update_transformation<'a, R: Rng + ?Sized>(
        &'a mut self,
        rng: &mut R,
        untransformed_positions: impl ExactSizeIterator<Item = &'a Self::Vector>,
        untransformed_gradients: impl ExactSizeIterator<Item = &'a Self::Vector>,
        untransformed_logps: impl ExactSizeIterator<Item = &'a f64>,
        params: &'a mut (),
    ) -> Result<(), Nowhere> {
        self.0.update_transformation(
            rng,
            untransformed_positions,
            untransformed_gradients,
            untransformed_logps,
            params,
        )
    }

    fn new_transformation<R: Rng + ?Sized>(
        &mut self,
        rng: &mut R,
        dim: usize,
        chain: u64,
    ) -> Result<(), Nowhere> {
        self.0.new_transformation(rng, dim, chain)
    }

    fn init_transformation<R: Rng + ?Sized>(
        &mut self,
        rng: &mut R,
        untransformed_position: &Self::Vector,
        untransformed_gradient: &Self::Vector,
        chain: u64,
    ) -> Result<(), Nowhere> {
        self.0.init_transformation(rng, untransformed_position, untransformed_gradient, chain)
    }

    fn transformation_id(&self, params: &()) -> Result<i64, Nowhere> {
        self.0.transformation_id(params)
    }

    same! {
        fn new_array() -> Self::Vector;
        fn new_eig_values(vals: &[f64]) -> Self::EigValues;
        fn logp_array(position: &Self::Vector, gradient: &mut Self::Vector) -> Result<f64, Nowhere>;
        fn logp(position: &[f64], gradient: &mut [f64]) -> Result<f64, Nowhere>;
        fn read_from_slice(dest: &mut Self::Vector, source: &[f64]);
        fn write_to_slice(source: &Self::Vector, dest: &mut [f64]);
        fn eigs_as_array(source: &Self::EigValues) -> Box<[f64]>;
        fn copy_into(array: &Self::Vector, dest: &mut Self::Vector);
        fn fill_array(array: &mut Self::Vector, val: f64);
        fn array_sum_ln(array: &Self::Vector) -> f64;
        fn array_all_finite(array: &Self::Vector) -> bool;
        fn array_all_finite_and_nonzero(array: &Self::Vector) -> bool;
        fn array_mult(array1: &Self::Vector, array2: &Self::Vector, dest: &mut Self::Vector);
        fn array_mult_inplace(array1: &mut Self::Vector, array2: &Self::Vector);
        fn array_recip(array: &Self::Vector, dest: &mut Self::Vector);
        fn array_softclip(array: &mut Self::Vector, clip: f64);
        fn apply_lowrank_transform(
            vecs: &Self::EigVectors,
            vals: &Self::EigValues,
            rhs: &Self::Vector,
            dest: &mut Self::Vector,
        );
        fn apply_lowrank_transform_inplace(
            vecs: &Self::EigVectors,
            vals: &Self::EigValues,
            rhs_and_dest: &mut Self::Vector,
        );
        fn array_mult_eigs(
            stds: &Self::Vector,
            rhs: &Self::Vector,
            dest: &mut Self::Vector,
            vecs: &Self::EigVectors,
            vals: &Self::EigValues,
        );
        fn array_normalize(v: &mut Self::Vector);
        fn esh_momentum_update(grad: &Self::Vector, mom: &mut Self::Vector, step: f64) -> f64;
        fn array_update_variance(
            mean: &mut Self::Vector,
            variance: &mut Self::Vector,
            value: &Self::Vector,
            diff_scale: f64,
        );
        fn array_update_var_inv_std_draw(
            inv_std: &mut Self::Vector,
            std: &mut Self::Vector,
            draw_var: &Self::Vector,
            scale: f64,
            fill_invalid: Option<f64>,
            clamp: (f64, f64),
        );
        fn array_update_var_inv_std_draw_grad(
            inv_std: &mut Self::Vector,
            std: &mut Self::Vector,
            draw_var: &Self::Vector,
            grad_var: &Self::Vector,
            fill_invalid: Option<f64>,
            clamp: (f64, f64),
        );
        fn array_update_var_inv_std_grad(
            inv_std: &mut Self::Vector,
            std: &mut Self::Vector,
            gradient: &Self::Vector,
            fill_invalid: f64,
            clamp: (f64, f64),
        );
        fn inv_transform_normalize(
            params: &(),
            untransformed_position: &Self::Vector,
            untransformed_gradient: &Self::Vector,
            transformed_position: &mut Self::Vector,
            transformed_gradient: &mut Self::Vector,
        ) -> Result<f64, Nowhere>;
        fn init_from_untransformed_position(
            params: &(),
            untransformed_position: &Self::Vector,
            untransformed_gradient: &mut Self::Vector,
            transformed_position: &mut Self::Vector,
            transformed_gradient: &mut Self::Vector,
            clip: Option<f64>,
        ) -> Result<(f64, f64), Nowhere>;
        fn init_from_transformed_position(
            params: &(),
            untransformed_position: &mut Self::Vector,
            untransformed_gradient: &mut Self::Vector,
            transformed_position: &Self::Vector,
            transformed_gradient: &mut Self::Vector,
            clip: Option<f64>,
        ) -> Result<(f64, f64), Nowhere>;
    }
}
