//! Whether results are equal.

/// How far results may be apart, relative to the larger of the two numbers and, for those that are nearly zero by
/// cancellation, to the mean size of the result's numbers.
pub const TOLERANCE: f64 = 1e-9;

/// Compares a result with the one that is taken to be right.
///
/// # Errors
/// Where they differ most.
pub fn compare(right: &[f64], other: &[f64]) -> Result<(), String> {
    if right.len() != other.len() {
        return Err(format!("{} numbers instead of {}", other.len(), right.len()));
    }
    let mean = right.iter().map(|x| x.abs()).sum::<f64>() / right.len().max(1) as f64;
    let mut worst: Option<(usize, f64)> = None;
    for (i, (a, b)) in right.iter().zip(other).enumerate() {
        // Written so that nan is not near anything.
        let error = (a - b).abs() / a.abs().max(b.abs()).max(mean);
        let near = a == b || error <= TOLERANCE;
        if !near && worst.is_none_or(|(_, e)| error > e) {
            worst = Some((i, error));
        }
    }
    match worst {
        None => Ok(()),
        Some((i, error)) => Err(format!(
            "number {i} of {} is {} instead of {} (relative difference {error:.1e})",
            right.len(),
            other[i],
            right[i]
        )),
    }
}
