//! Second derivatives: every nesting of two modes.
//!
//! The inner mode is a function made of the checked one (`modes.deo`), the outer one is applied to it.

use super::cells::{Cells, Rank, CANCELLED};
use super::differences::{differences, Sample};
use super::probes::Probe;
use super::{part, ComponentName, DerivativeChecker, OrderReport};
use crate::differentiate::numbers;
use diffeo_calculus::eval::RuntimeError;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;

impl DerivativeChecker<'_> {
    /// Compares second derivatives: of the result weighted by each `w`, along each `v` and then along every
    /// direction in the modes that give them together, along the `v`s in the others.
    pub(super) fn second(&mut self, (vs, ws): (usize, usize)) -> Result<OrderReport, RuntimeError> {
        let directions = self.inputs.len();
        let mut along: Vec<usize> = (0..vs.min(self.inputs.numbers())).collect();
        along.push(self.inputs.numbers());
        let weights: Vec<usize> = match (self.y.len(), ws) {
            (1, _) => vec![0],
            (_, ws) => {
                (1..ws.min(self.outputs.numbers())).chain([self.outputs.numbers()]).collect()
            }
        };
        let place = |v: usize, w: usize, p: usize| (v * weights.len() + w) * directions + p;
        let rank = |place: usize| {
            let w = weights[place / directions % weights.len()];
            let v = along[place / directions / weights.len()];
            let probes = &self.inputs.probes;
            let single = probes[v].is_number() && probes[place % directions].is_number();
            match single && self.outputs.probes[w].is_number() {
                true => Rank::Single,
                false => Rank::Mixed,
            }
        };
        let count = along.len() * weights.len() * directions;
        let mut cells = Cells::new((0..count).map(rank).collect());
        for (v, &i) in along.iter().enumerate() {
            self.result_valued(i, &along, &weights, &mut cells, &|w, p| place(v, w, p))?;
            for (w, &j) in weights.iter().enumerate() {
                let place = |p: usize| place(v, w, p);
                self.point_valued(i, j, &mut cells, &place)?;
                self.taylor_inside(i, j, &along, &mut cells, &place)?;
                if i == self.inputs.numbers() {
                    self.order_three(i, j, &mut cells, place(i))?;
                }
                self.gradient_differences(i, j, &mut cells, &place)?;
            }
        }
        let weights = &weights;
        Ok(part(&cells, |place| ComponentName {
            inputs: vec![
                self.inputs.names[along[place / directions / weights.len()]].clone(),
                self.inputs.names[place % directions].clone(),
            ],
            output: self.outputs.names[weights[place / directions % weights.len()]].clone(),
        }))
    }

    /// The modes whose result has the shape of the point: along all directions at once.
    fn point_valued(
        &mut self,
        i: usize,
        j: usize,
        cells: &mut Cells,
        place: &dyn Fn(usize) -> usize,
    ) -> Result<(), RuntimeError> {
        let (v, w) = (self.inputs.values[i].clone(), self.outputs.values[j].clone());
        let x = self.point.clone();
        let modes = self.differentiator.function.modes;
        let reverse = self.made(modes.reverse, vec![w.clone()])?;
        let forward = self.made(modes.forward, vec![v.clone()])?;
        let taylor = self.made(modes.taylor, vec![w.clone(), v.clone()])?;
        let probe = self.inputs.probes[i].clone();
        let component = |k: usize| probe.component(k);
        let args = [reverse.clone(), x.clone(), v.clone()];
        let (pair, forward_size) = self.measured(|e| e.derivative(DiffOp::Jvp, args))?;
        let args = [reverse.clone(), x.clone(), v];
        let (twice, twice_size) = self.measured(|e| e.derivative(DiffOp::Rd, args))?;
        let (jet, jet_size) = self.measured(|e| e.along(&reverse, &x, 1, &[&component]))?;
        let args = [forward, x.clone(), w];
        let (over_forward, over_size) = self.measured(|e| e.derivative(DiffOp::Rd, args))?;
        let args = [taylor, x, Value::Real(1.0)];
        let (over_taylor, taylor_size) = self.measured(|e| e.derivative(DiffOp::Rd, args))?;
        let jet: Vec<f64> = jet.iter().skip(1).step_by(2).copied().collect();
        for (mode, column, size) in [
            ("forward over reverse", numbers(&pair.fields()[1]), forward_size),
            ("reverse over reverse", numbers(&twice), twice_size),
            ("Taylor over reverse", jet, jet_size),
            ("reverse over forward", numbers(&over_forward), over_size),
            ("reverse over Taylor", numbers(&over_taylor), taylor_size),
        ] {
            for (p, probe) in self.inputs.probes.iter().enumerate() {
                cells.add(place(p), mode, probe.of(&column), size, true);
            }
        }
        Ok(())
    }

    /// The modes whose result has the shape of the function's: along one more direction, for all weights.
    fn result_valued(
        &mut self,
        i: usize,
        others: &[usize],
        weights: &[usize],
        cells: &mut Cells,
        place: &dyn Fn(usize, usize) -> usize,
    ) -> Result<(), RuntimeError> {
        let v = self.inputs.values[i].clone();
        let (f, x) = (self.differentiator.itself()?, self.point.clone());
        let forward = self.made(self.differentiator.function.modes.forward, vec![v])?;
        let first = self.inputs.probes[i].clone();
        for &p in others {
            let u = self.inputs.values[p].clone();
            let second = self.inputs.probes[p].clone();
            let (a, b) = (|k: usize| first.component(k), |k: usize| second.component(k));
            let args = [forward.clone(), x.clone(), u];
            let (pair, forward_size) = self.measured(|e| e.derivative(DiffOp::Jvp, args))?;
            let (jet, jet_size) = self.measured(|e| e.along(&forward, &x, 1, &[&b]))?;
            let (both, both_size, [of_order_1, of_order_2]) =
                self.measured_with_terms(|e| e.along(&f, &x, 2, &[&a, &b]))?;
            // The multi-indices are 00, 01, 02, 10, 11, 20.
            let first = [1, 3].into_iter().flat_map(|i| both.iter().skip(i).step_by(6));
            let first = first.fold(0.0, |largest: f64, x| largest.max(x.abs()));
            // What rounding has left of a first derivative may be all of the second one.
            let cancelled = of_order_1 > 0.0 && first <= CANCELLED * of_order_1;
            let of_order = if cancelled { f64::INFINITY } else { of_order_2 };
            let mixed = both.iter().skip(4).step_by(6).copied().collect();
            let jet = jet.iter().skip(1).step_by(2).copied().collect();
            for (mode, column, size) in [
                ("forward over forward", numbers(&pair.fields()[1]), forward_size),
                ("Taylor over forward", jet, jet_size),
                ("Taylor of order 2", mixed, both_size),
            ] {
                for (w, &j) in weights.iter().enumerate() {
                    let given = self.outputs.probes[j].of(&column);
                    cells.add(place(w, p), mode, given, size, true);
                }
            }
            (0..weights.len()).for_each(|w| cells.met(place(w, p), of_order));
        }
        Ok(())
    }

    /// The modes around a Taylor coefficient: along one more direction.
    fn taylor_inside(
        &mut self,
        i: usize,
        j: usize,
        others: &[usize],
        cells: &mut Cells,
        place: &dyn Fn(usize) -> usize,
    ) -> Result<(), RuntimeError> {
        let args = vec![self.outputs.values[j].clone(), self.inputs.values[i].clone()];
        let taylor = self.made(self.differentiator.function.modes.taylor, args)?;
        let x = self.point.clone();
        for &p in others {
            let args = [taylor.clone(), x.clone(), self.inputs.values[p].clone()];
            let (pair, size) = self.measured(|e| e.derivative(DiffOp::Jvp, args))?;
            cells.add(place(p), "forward over Taylor", numbers(&pair)[1], size, true);
            let probe = self.inputs.probes[p].clone();
            let component = |k: usize| probe.component(k);
            let (jet, size) = self.measured(|e| e.along(&taylor, &x, 1, &[&component]))?;
            cells.add(place(p), "Taylor over Taylor", jet[1], size, true);
        }
        Ok(())
    }

    /// Coefficients of a higher order than is asked for, on a line.
    fn order_three(
        &mut self,
        i: usize,
        j: usize,
        cells: &mut Cells,
        place: usize,
    ) -> Result<(), RuntimeError> {
        let line = self.line(i, j)?;
        let (jet, size) = self.measured(|e| e.along(&line, &Value::Real(0.0), 3, &[&|_| 1.0]))?;
        cells.add(place, "Taylor of order 3 along a line", jet[2], size, true);
        Ok(())
    }

    /// Differences of the gradient of the weighted result, along a direction.
    fn gradient_differences(
        &mut self,
        i: usize,
        j: usize,
        cells: &mut Cells,
        place: &dyn Fn(usize) -> usize,
    ) -> Result<(), RuntimeError> {
        let weights = self.outputs.values[j].clone();
        let gradient = self.made(self.differentiator.function.modes.reverse, vec![weights])?;
        let (point, probe) = (self.point, self.inputs.probes[i].clone());
        let probes: Vec<Probe> = self.inputs.probes.clone();
        let along = |g: &Value| -> Vec<f64> {
            let numbers = numbers(g);
            probes.iter().map(|p| p.of(&numbers)).collect()
        };
        let (here, _) = self.measured(|e| e.machine.apply(&gradient, point.clone()))?;
        let here = along(&here);
        let expected: Vec<f64> = (0..here.len()).map(|p| cells.expected(place(p))).collect();
        let sweeps = self.sweeps(&probe);
        let estimates = differences(&here, &expected, &sweeps, &mut |t| {
            let (g, largest) = self.tried(&gradient, probe.moved(point, t))?;
            let moved = probe.rounding(&self.x, t);
            Ok(g.map(|g| Sample { values: along(&g), largest, moved }))
        })?;
        for (p, estimate) in estimates.into_iter().enumerate() {
            cells.estimated(place(p), estimate);
        }
        Ok(())
    }
}
