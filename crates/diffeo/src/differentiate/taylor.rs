//! All partial derivatives up to an order: the (k, R)-jet of a function at a point.
//!
//! Huot, Staton & Vákár's `D_(k,R)` with the first k Reals of the point as the variables.

use super::paths::{each_path, path_text};
use super::{numbers, with_numbers, Differentiator};
use crate::Diagnostic;
use diffeo_base::Span;
use diffeo_calculus::eval::derivative::{multi_indices, with_derivatives};
use diffeo_calculus::eval::RuntimeError;
use diffeo_calculus::leaves::reals;
use diffeo_calculus::outside::Asked;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;

/// The partial derivatives of a function up to an order.
pub struct Taylor {
    /// The value.
    pub value: Value,
    /// The Reals of the point that are the variables; the name of a point that is one Real is empty.
    pub variables: Vec<String>,
    /// The multi-indices in lexicographic order: how often is differentiated by each variable.
    pub indices: Vec<Vec<u32>>,
    /// For each Real of the value its name and its derivatives, in the order of the multi-indices.
    pub results: Vec<(String, Vec<Value>)>,
}

impl Differentiator<'_> {
    /// The derivatives up to order `r` by the first `k` Reals of the point (all of them if there are
    /// fewer), where the value is this one.
    ///
    /// # Errors
    /// What stops the program, or that the engine is not there.
    pub fn taylor(
        &mut self,
        x: &Value,
        value: Value,
        k: u32,
        r: u32,
    ) -> Result<Taylor, Box<Diagnostic>> {
        let (session, entry) = (self.session, &self.function.entry);
        let mut variables = Vec::new();
        each_path(x, &self.function.from, &entry.program.datas, &mut |path, _| {
            if variables.len() < k as usize {
                variables.push(path_text(path));
            }
        });
        let k = variables.len() as u32;
        let indices = multi_indices(k, r);
        let seeds: Vec<_> =
            (0..variables.len()).map(|v| move |i: usize| f64::from(u8::from(i == v))).collect();
        let seeds: Vec<&dyn Fn(usize) -> f64> = seeds.iter().map(|seed| seed as _).collect();
        let lifted =
            lifted(x, r, &seeds).map_err(|error| Box::new(session.explain(entry, &error)))?;
        let asked = (Asked::Jet { k, r }, Some(lifted), None);
        let all = self.attempt(
            asked,
            |jet| reals(&jet),
            |own| {
                let f = own.itself()?;
                own.jet_along(&f, x, r, &seeds).map(|jet| reals(&jet))
            },
        )?;
        let mut results = Vec::new();
        let mut rows = all.chunks_exact(indices.len());
        each_path(&value, &self.function.to, &entry.program.datas, &mut |path, _| {
            if let Some(row) = rows.next() {
                results.push((path_text(path), row.to_vec()));
            }
        });
        Ok(Taylor { value, variables, indices, results })
    }

    /// The derivatives up to order `r` of a function of the same point along directions, each given by
    /// its components: those of the first Real of the value in the order of the multi-indices, then
    /// those of the next.
    pub(crate) fn along(
        &mut self,
        function: &Value,
        x: &Value,
        r: u32,
        directions: &[&dyn Fn(usize) -> f64],
    ) -> Result<Vec<f64>, RuntimeError> {
        self.jet_along(function, x, r, directions).map(|jet| numbers(&jet))
    }

    /// The same as the value of the operator.
    fn jet_along(
        &mut self,
        function: &Value,
        x: &Value,
        r: u32,
        directions: &[&dyn Fn(usize) -> f64],
    ) -> Result<Value, RuntimeError> {
        let k = directions.len() as u32;
        let lifted = lifted(x, r, directions)?;
        self.derivative(DiffOp::Jet { k, r }, [function.clone(), lifted])
    }
}

/// A point with the coefficients of these directions in the place of each Real.
fn lifted(x: &Value, r: u32, directions: &[&dyn Fn(usize) -> f64]) -> Result<Value, RuntimeError> {
    let k = directions.len() as u32;
    let indices = multi_indices(k, r);
    let place =
        |v: usize| indices.iter().position(|alpha| alpha.iter().sum::<u32>() == 1 && alpha[v] == 1);
    let places: Vec<Option<usize>> = (0..directions.len()).map(place).collect();
    let coefficients = reals(x);
    // Reals of a structure are not lifted in their order: each says which it is.
    let places_of = with_numbers(x, &mut |i, _| Value::Real(i as f64));
    let lifted = with_derivatives(&places_of, indices.len(), &mut |i| {
        let i = i as usize;
        let mut c = vec![Value::Real(0.0); indices.len()];
        c[0] = coefficients[i].clone();
        for (place, direction) in places.iter().zip(directions) {
            if let Some(place) = place {
                c[*place] = Value::Real(direction(i));
            }
        }
        c
    });
    lifted.map_err(|kind| RuntimeError {
        kind,
        span: Span::NONE,
        function: None,
        trace: Vec::new(),
    })
}
