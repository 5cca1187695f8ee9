//! Times of several runners, measured in turn.

use crate::run::Runner;
use std::time::{Duration, Instant};

/// At least how long a sample takes: short calls are repeated.
const SAMPLE: Duration = Duration::from_micros(500);
/// Calls that take less are made once before each sample.
const SHORT: Duration = Duration::from_millis(5);
/// At most how many samples are taken.
const SAMPLES: usize = 51;

/// Times of a call.
#[derive(Clone, Debug)]
pub struct Times {
    /// The times in seconds, sorted.
    pub samples: Vec<f64>,
}

impl Times {
    /// From times in seconds in any order.
    pub fn new(mut samples: Vec<f64>) -> Times {
        samples.sort_by(f64::total_cmp);
        Times { samples }
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The number below which this part of the samples lies.
    pub fn quantile(&self, part: f64) -> f64 {
        match self.samples.len() {
            0 => f64::NAN,
            n => self.samples[((n - 1) as f64 * part).round() as usize],
        }
    }
}

/// How many calls take as long as a sample. The first call says little of short ones: it warmed up.
fn calls_in_sample(runner: &mut Runner<'_>, first: Duration) -> Result<u32, String> {
    let (mut calls, mut time) = (1, first);
    while time < SAMPLE {
        // At most so many times as many, because the last ones perhaps still warmed up.
        let factor = SAMPLE.as_secs_f64() / time.as_secs_f64().max(1e-9);
        calls = (f64::from(calls) * factor.clamp(1.25, 8.0)).ceil() as u32;
        let start = Instant::now();
        for _ in 0..calls {
            runner.prepared.call()?;
        }
        time = start.elapsed();
    }
    Ok(calls)
}

/// Measures runners in turn (the first, the second, … and again from the start), so that what disturbs the machine
/// disturbs all of them. Each is measured until its budget is used up; one call that takes longer than that is the
/// only sample. `first` are the times of the calls before, which warmed up.
///
/// # Errors
/// What stopped a call.
pub fn interleaved(
    runners: &mut [Runner<'_>],
    first: &[Duration],
    budget: Duration,
) -> Result<Vec<Times>, String> {
    let mut calls = Vec::with_capacity(runners.len());
    for (runner, first) in runners.iter_mut().zip(first) {
        calls.push(calls_in_sample(runner, *first)?);
    }
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); runners.len()];
    let mut spent = vec![Duration::ZERO; runners.len()];
    for (i, time) in first.iter().enumerate() {
        if *time > budget {
            samples[i].push(time.as_secs_f64());
            spent[i] = *time;
        }
    }
    loop {
        let mut measured = false;
        for (i, runner) in runners.iter_mut().enumerate() {
            if spent[i] >= budget || samples[i].len() >= SAMPLES {
                continue;
            }
            if first[i] < SHORT {
                // What the others left in the caches is not its business: each has data of its own.
                runner.prepared.call()?;
            }
            let start = Instant::now();
            for _ in 0..calls[i] {
                runner.prepared.call()?;
            }
            let time = start.elapsed();
            spent[i] += time;
            samples[i].push(time.as_secs_f64() / f64::from(calls[i]));
            measured = true;
        }
        if !measured {
            return Ok(samples.into_iter().map(Times::new).collect());
        }
    }
}
