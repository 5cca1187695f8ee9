//! First derivatives.

use super::cells::{Cells, Comparison, Rank};
use super::differences::{differences, Estimate, Sample};
use super::probes::Probe;
use super::{part, ComponentName, DerivativeChecker, Directions, OrderReport};
use crate::differentiate::numbers;
use diffeo_calculus::eval::RuntimeError;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;

/// A mode, the derivatives that it gives, and the largest number met.
type ModeResult = (&'static str, Vec<f64>, f64);

impl DerivativeChecker<'_> {
    /// Compares the first derivatives: column by column in the modes that go along a direction of the
    /// point, row by row in those that go backwards from the result, and random directions along a line.
    pub(super) fn first(&mut self) -> Result<OrderReport, RuntimeError> {
        let (ins, outs) = (self.inputs.len(), self.outputs.len());
        let rank = |place: usize| {
            let (v, w) = (&self.inputs.probes[place / outs], &self.outputs.probes[place % outs]);
            match (v.is_number(), w.is_number()) {
                (true, true) => Rank::Single,
                (_, false) if self.y.len() == 1 => Rank::Multiple,
                (false, _) | (_, false) => Rank::Mixed,
            }
        };
        let mut cells = Cells::new((0..ins * outs).map(rank).collect());
        for i in 0..ins {
            let probe = self.inputs.probes[i].clone();
            let place = |j| i * outs + j;
            let (columns, of_order) = self.columns(&probe, &self.inputs.values[i].clone())?;
            for (j, weights) in self.outputs.probes.iter().enumerate() {
                for (mode, column, size) in &columns {
                    cells.add(place(j), mode, weights.of(column), *size, true);
                }
                cells.met(place(j), of_order);
            }
            let expected: Vec<f64> = (0..outs).map(|j| cells.expected(place(j))).collect();
            for (j, estimate) in self.differences(&probe, &expected)?.into_iter().enumerate() {
                cells.estimated(place(j), estimate);
            }
        }
        for j in 0..outs {
            for (mode, row, size) in self.rows(&self.outputs.values[j].clone())? {
                for (i, probe) in self.inputs.probes.iter().enumerate() {
                    cells.add(i * outs + j, mode, probe.of(&row), size, false);
                }
            }
        }
        let randoms = self.inputs.numbers()..ins;
        for (i, j) in randoms.zip(self.outputs.numbers()..outs) {
            self.on_a_line(i, j, &mut cells, i * outs + j)?;
        }
        let mut found = part(&cells, |place| ComponentName {
            inputs: vec![self.inputs.names[place / outs].clone()],
            output: self.outputs.names[place % outs].clone(),
        });
        self.locate(&cells, &mut found)?;
        Ok(found)
    }

    /// The derivatives of all numbers of the result along a direction, by mode, with the largest number
    /// met, and the largest derivative.
    fn columns(
        &mut self,
        probe: &Probe,
        direction: &Value,
    ) -> Result<(Vec<ModeResult>, f64), RuntimeError> {
        let (f, x) = (self.differentiator.itself()?, self.point);
        let args = [f.clone(), x.clone(), direction.clone()];
        let (pair, forward_size) = self.measured(|e| e.derivative(DiffOp::Jvp, args))?;
        self.seen(&numbers(&pair.fields()[0]), forward_size);
        let forward = numbers(&pair.fields()[1]);
        let component = |i: usize| probe.component(i);
        let (jet, taylor_size, [of_order, _]) =
            self.measured_with_terms(|e| e.along(&f, x, 1, &[&component]))?;
        let every = |k: usize| -> Vec<f64> { jet.iter().skip(k).step_by(2).copied().collect() };
        let (values, taylor) = (every(0), every(1));
        self.seen(&values, taylor_size);
        Ok((vec![("forward", forward, forward_size), ("Taylor", taylor, taylor_size)], of_order))
    }

    /// The derivatives of the weighted result by all numbers of the point.
    fn rows(&mut self, weights: &Value) -> Result<Vec<ModeResult>, RuntimeError> {
        let (f, x) = (self.differentiator.itself()?, self.point);
        let args = [f, x.clone(), weights.clone()];
        let (reverse, reverse_size) = self.measured(|e| e.derivative(DiffOp::Rd, args))?;
        let ((value, gradient), pullback_size) = self.measured(|e| {
            let (value, pullback) = e.pullback(x)?;
            // The first call must leave the second as it is.
            e.machine.apply(&pullback, weights.clone())?;
            Ok((value, e.machine.apply(&pullback, weights.clone())?))
        })?;
        self.seen(&numbers(&value), pullback_size);
        let mode = self.differentiator.function.modes.reverse;
        let of_inner = self.made(mode, vec![weights.clone()])?;
        let (inner, inner_size) = self.measured(|e| e.machine.apply(&of_inner, x.clone()))?;
        Ok(vec![
            ("reverse", numbers(&reverse), reverse_size),
            ("pullback", numbers(&gradient), pullback_size),
            ("gradient of an inner product", numbers(&inner), inner_size),
        ])
    }

    /// The derivative of the weighted result along a direction, as a function of one variable.
    fn on_a_line(
        &mut self,
        i: usize,
        j: usize,
        cells: &mut Cells,
        place: usize,
    ) -> Result<(), RuntimeError> {
        let line = self.line(i, j)?;
        let at = |x: f64| Value::Real(x);
        let args = [line.clone(), at(0.0), at(1.0)];
        let (forward, size) = self.measured(|e| e.derivative(DiffOp::Jvp, args))?;
        cells.add(place, "forward along a line", numbers(&forward)[1], size, true);
        let args = [line.clone(), at(0.0), at(1.0)];
        let (reverse, size) = self.measured(|e| e.derivative(DiffOp::Rd, args))?;
        cells.add(place, "reverse along a line", numbers(&reverse)[0], size, true);
        let (jet, size) = self.measured(|e| e.along(&line, &at(0.0), 3, &[&|_| 1.0]))?;
        cells.add(place, "Taylor of order 3 along a line", jet[1], size, true);
        Ok(())
    }

    /// What differences give for the derivatives of each weighted result along a direction.
    fn differences(
        &mut self,
        probe: &Probe,
        expected: &[f64],
    ) -> Result<Vec<Estimate>, RuntimeError> {
        let weighted = |numbers: &[f64], outputs: &Directions| -> Vec<f64> {
            outputs.probes.iter().map(|weights| weights.of(numbers)).collect()
        };
        let values = weighted(&self.y, &self.outputs);
        let (f, point, count) = (self.differentiator.itself()?, self.point, self.y.len());
        let sweeps = self.sweeps(probe);
        // What comes between is of about the size that it has at the point, with its derivative.
        let run = |probe: &Probe| [f.clone(), point.clone(), probe.value(point)];
        let still = Probe::Random(vec![0.0; self.x.len()]);
        let (_, between) = self.measured(|e| e.derivative(DiffOp::Jvp, run(&still)))?;
        let (_, moving) = self.measured(|e| e.derivative(DiffOp::Jvp, run(probe)))?;
        // The step itself is lost where everything cancels.
        let moving = if expected.contains(&0.0) { moving.max(1.0) } else { moving };
        differences(&values, expected, &sweeps, &mut |t| {
            let largest = between + t.abs() * moving;
            let (y, _) = self.tried(&f, probe.moved(point, t))?;
            let numbers = y.map(|y| numbers(&y)).filter(|ys| ys.len() == count);
            Ok(numbers.map(|numbers| Sample {
                values: weighted(&numbers, &self.outputs),
                largest,
                moved: probe.rounding(&self.x, t),
            }))
        })
    }

    /// Where something is wrong along a random direction only, finds a number of the point that is to
    /// blame, by halving the direction.
    fn locate(&mut self, cells: &Cells, found: &mut OrderReport) -> Result<(), RuntimeError> {
        let outs = self.outputs.len();
        for (by_modes, comparison) in [
            (true, cells.modes_compared(super::MODES_AGREE)),
            (false, cells.differences_compared(super::DIFFERENCES_AGREE)),
        ] {
            let Comparison { worst: Some(worst), disagreements: 1.., .. } = comparison else {
                continue;
            };
            let (i, mut j) = (worst.place / outs, worst.place % outs);
            if self.y.len() == 1 {
                j = 0;
            }
            let Probe::Random(weights) = self.inputs.probes[i].clone() else { continue };
            if self.inputs.numbers() == self.x.len() {
                continue;
            }
            let rows = self.rows(&self.outputs.values[j].clone())?;
            let row = &rows[0].1;
            let (mut from, mut to) = (0, self.x.len());
            while to - from > 1 {
                let middle = from + (to - from) / 2;
                let mut apart = [0.0; 2];
                for (apart, (from, to)) in apart.iter_mut().zip([(from, middle), (middle, to)]) {
                    let mut half = vec![0.0; self.x.len()];
                    half[from..to].copy_from_slice(&weights[from..to]);
                    let half = Probe::Random(half);
                    let expected = half.of(row);
                    *apart = if by_modes {
                        let (columns, _) = self.columns(&half, &half.value(self.point))?;
                        let given = columns.iter().map(|(_, c, _)| self.outputs.probes[j].of(c));
                        given.map(|d| (d - expected).abs()).fold(0.0, f64::max)
                    } else {
                        let mut all = vec![f64::NAN; outs];
                        all[j] = expected;
                        self.differences(&half, &all)?[j].distance(expected)
                    };
                }
                // A distance that is nan is one to follow.
                let second = apart[1].is_nan() || apart[1] > apart[0];
                (from, to) = if second { (middle, to) } else { (from, middle) };
            }
            let probe = Probe::Number(from);
            let mut cell = Cells::new(vec![Rank::Single]);
            for (mode, row, size) in &rows {
                cell.add(0, mode, probe.of(row), *size, false);
            }
            let direction = probe.value(self.point);
            let (columns, of_order) = self.columns(&probe, &direction)?;
            for (mode, column, size) in columns {
                cell.add(0, mode, self.outputs.probes[j].of(&column), size, true);
            }
            cell.met(0, of_order);
            let mut expected = vec![f64::NAN; outs];
            expected[j] = cell.expected(0);
            cell.estimated(0, self.differences(&probe, &expected)?[j]);
            let function = self.differentiator.function;
            let named = Directions::new(self.point, &function.from, function, vec![probe]);
            let place =
                ComponentName { inputs: named.names, output: self.outputs.names[j].clone() };
            let (blamed, kept) = if by_modes {
                (cell.modes_compared(super::MODES_AGREE), &mut found.agreement)
            } else {
                (cell.differences_compared(super::DIFFERENCES_AGREE), &mut found.differences)
            };
            if blamed.disagreements > 0 {
                kept.worst = blamed.worst.map(|worst| worst.at(|_| place));
            }
        }
        Ok(())
    }
}
