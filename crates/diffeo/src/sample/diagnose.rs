//! Diagnostics of draws: what Vehtari, Gelman, Simpson, Carpenter & Bürkner, "Rank-Normalization, Folding, and Localization:
//! An Improved R-hat for Assessing Convergence of MCMC", 2021, recommend.
//!
//! What comes in are chains of equal length of one quantity. A quantity that does not vary has the standard error 0.0 and no
//! effective sample sizes and R-hat: these are nan, as they are of less than four draws a chain.

/// What draws of one quantity tell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The Monte Carlo standard error of the mean.
    pub mcse: f64,
    /// The quantiles to 5, 50 and 95 percent.
    pub quantiles: [f64; 3],
    /// The effective sample size of the bulk.
    pub ess_bulk: f64,
    /// That of the tails: the smaller of those of the quantiles to 5 and 95 percent.
    pub ess_tail: f64,
    /// The larger of the rank-normalised and the folded R-hat, of split chains.
    pub r_hat: f64,
}

impl Summary {
    /// Whether all draws are the same number.
    pub fn is_constant(&self) -> bool {
        self.sd == 0.0
    }

    /// The summary of chains.
    pub fn new(chains: &[Vec<f64>]) -> Summary {
        let mut sorted: Vec<f64> = chains.concat();
        sorted.sort_by(f64::total_cmp);
        if let ([first, ..], [.., last]) = (&sorted[..], &sorted[..]) {
            if first == last {
                let (ess_bulk, ess_tail, r_hat) = (f64::NAN, f64::NAN, f64::NAN);
                let quantiles = [*first; 3];
                return Summary {
                    mean: *first,
                    sd: 0.0,
                    mcse: 0.0,
                    quantiles,
                    ess_bulk,
                    ess_tail,
                    r_hat,
                };
            }
        }
        let (mean, sd) = moments(&sorted);
        let quantiles = [0.05, 0.5, 0.95].map(|p| quantile(&sorted, p));
        let halves = split(chains);
        let [low, median, high] = quantiles;
        let below = |q: f64| effective(&each(&halves, |x| f64::from(u8::from(x <= q))));
        let ranked = rank_normalised(&halves);
        let folded = rank_normalised(&each(&halves, |x| (x - median).abs()));
        Summary {
            mean,
            sd,
            mcse: sd / effective(&halves).sqrt(),
            quantiles,
            ess_bulk: effective(&ranked),
            ess_tail: least(below(low), below(high)),
            r_hat: greatest(r_hat(&ranked), r_hat(&folded)),
        }
    }
}

fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.min(b)
    }
}

fn greatest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

fn each(chains: &[Vec<f64>], f: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    chains.iter().map(|chain| chain.iter().map(|x| f(*x)).collect()).collect()
}

/// The first and second half of each chain; one in the middle is left out.
fn split(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    chains
        .iter()
        .flat_map(|chain| {
            let half = chain.len() / 2;
            [chain[..half].to_vec(), chain[chain.len() - half..].to_vec()]
        })
        .collect()
}

/// Mean and standard deviation (of a sample).
fn moments(xs: &[f64]) -> (f64, f64) {
    let n = xs.len() as f64;
    let mean = xs.iter().sum::<f64>() / n;
    let squares: f64 = xs.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// The quantile of sorted numbers, between the two nearest.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p * (sorted.len().saturating_sub(1)) as f64;
    let low = at.floor();
    match (sorted.get(low as usize), sorted.get(at.ceil() as usize)) {
        (Some(a), Some(b)) if a == b => *a,
        (Some(a), Some(b)) => a + (at - low) * (b - a),
        _ => f64::NAN,
    }
}

/// Quantiles of the normal distribution for the ranks of the numbers among all; equal numbers share a rank.
fn rank_normalised(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut order: Vec<(f64, usize, usize)> = chains
        .iter()
        .enumerate()
        .flat_map(|(i, chain)| chain.iter().enumerate().map(move |(j, x)| (*x, i, j)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out: Vec<Vec<f64>> = chains.iter().map(|chain| vec![0.0; chain.len()]).collect();
    let count = order.len() as f64;
    let mut first = 0;
    while first < order.len() {
        let mut end = first + 1;
        while end < order.len() && order[end].0 == order[first].0 {
            end += 1;
        }
        let rank = (first + 1 + end) as f64 / 2.0;
        let z = normal_quantile((rank - 0.375) / (count + 0.25));
        for (_, i, j) in &order[first..end] {
            out[*i][*j] = z;
        }
        first = end;
    }
    out
}

/// The potential scale reduction of chains.
fn r_hat(chains: &[Vec<f64>]) -> f64 {
    let n = chains.first().map_or(0, Vec::len) as f64;
    if n < 2.0 {
        return f64::NAN;
    }
    let parts: Vec<(f64, f64)> = chains.iter().map(|chain| moments(chain)).collect();
    let means: Vec<f64> = parts.iter().map(|(mean, _)| *mean).collect();
    let within = parts.iter().map(|(_, sd)| sd * sd).sum::<f64>() / parts.len() as f64;
    let between = moments(&means).1.powi(2);
    if within == 0.0 {
        return f64::NAN;
    }
    ((n - 1.0) / n + between / within).sqrt()
}

/// The effective sample size of chains, by Geyer's initial monotone sequence of autocorrelations.
fn effective(chains: &[Vec<f64>]) -> f64 {
    let n = chains.first().map_or(0, Vec::len);
    if n < 4 || chains.iter().flatten().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    let centred: Vec<(f64, Vec<f64>)> = chains
        .iter()
        .map(|chain| {
            let mean = moments(chain).0;
            (mean, chain.iter().map(|x| x - mean).collect())
        })
        .collect();
    let count = chains.len() as f64;
    let covariance = |lag: usize| {
        let of = |xs: &[f64]| -> f64 { xs.iter().zip(&xs[lag..]).map(|(a, b)| a * b).sum() };
        centred.iter().map(|(_, xs)| of(xs) / n as f64).sum::<f64>() / count
    };
    let size = n as f64;
    let within = covariance(0) * size / (size - 1.0);
    let means: Vec<f64> = centred.iter().map(|(mean, _)| *mean).collect();
    let between = if chains.len() > 1 { moments(&means).1.powi(2) } else { 0.0 };
    let total = within * (size - 1.0) / size + between;
    // Finite, as its parts are.
    if total <= 0.0 {
        return f64::NAN;
    }
    let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / total;
    let mut rho = vec![1.0, correlation(1)];
    let (mut even, mut odd) = (rho[0], rho[1]);
    let mut t = 0;
    while t + 5 < n && even + odd > 0.0 {
        t += 2;
        (even, odd) = (correlation(t), correlation(t + 1));
        rho.extend(if even + odd >= 0.0 { [even, odd] } else { [0.0, 0.0] });
    }
    if even > 0.0 {
        rho[t] = even;
    }
    let mut k = 2;
    while k + 2 <= t {
        let before = rho[k - 2] + rho[k - 1];
        if rho[k] + rho[k + 1] > before {
            (rho[k], rho[k + 1]) = (before / 2.0, before / 2.0);
        }
        k += 2;
    }
    let draws = size * count;
    let tau = 2.0 * rho[..t].iter().sum::<f64>() - 1.0 + rho[t];
    draws / tau.max(1.0 / draws.log10())
}

/// The estimated Bayesian fraction of missing information of a chain's energies (Betancourt 2016).
pub fn e_bfmi(energies: &[f64]) -> f64 {
    let mean = energies.iter().sum::<f64>() / energies.len() as f64;
    let steps: f64 = energies.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum();
    steps / energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>()
}

/// The quantile of the standard normal distribution: Wichura, "Algorithm AS 241", 1988.
fn normal_quantile(p: f64) -> f64 {
    fn ratio(r: f64, above: [f64; 8], below: [f64; 7]) -> f64 {
        let above = above.iter().rev().fold(0.0, |s, c| s * r + c);
        let below = below.iter().rev().fold(0.0, |s, c| s * r + c) * r + 1.0;
        above / below
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * ratio(
            r,
            [
                3.387_132_872_796_366_5,
                133.141_667_891_784_38,
                1_971.590_950_306_551_3,
                13_731.693_765_509_46,
                45_921.953_931_549_87,
                67_265.770_927_008_7,
                33_430.575_583_588_13,
                2_509.080_928_730_122_7,
            ],
            [
                42.313_330_701_600_91,
                687.187_007_492_057_9,
                5_394.196_021_424_751,
                21_213.794_301_586_597,
                39_307.895_800_092_71,
                28_729.085_735_721_943,
                5_226.495_278_852_545,
            ],
        );
    }
    let r = (-(if q < 0.0 { p } else { 1.0 - p }).ln()).sqrt();
    let size = if r <= 5.0 {
        ratio(
            r - 1.6,
            [
                1.423_437_110_749_683_5,
                4.630_337_846_156_546,
                5.769_497_221_460_691,
                3.647_848_324_763_204_5,
                1.270_458_252_452_368_4,
                0.241_780_725_177_450_6,
                0.022_723_844_989_269_184,
                7.745_450_142_783_414e-4,
            ],
            [
                2.053_191_626_637_759,
                1.676_384_830_183_803_8,
                0.689_767_334_985_1,
                0.148_103_976_427_480_08,
                0.015_198_666_563_616_457,
                5.475_938_084_995_345e-4,
                1.050_750_071_644_416_9e-9,
            ],
        )
    } else {
        ratio(
            r - 5.0,
            [
                6.657_904_643_501_103,
                5.463_784_911_164_114,
                1.784_826_539_917_291_3,
                0.296_560_571_828_504_87,
                0.026_532_189_526_576_124,
                0.001_242_660_947_388_078_4,
                2.711_555_568_743_487_6e-5,
                2.010_334_399_292_288_1e-7,
            ],
            [
                0.599_832_206_555_887_9,
                0.136_929_880_922_735_8,
                0.014_875_361_290_850_615,
                7.868_691_311_456_133e-4,
                1.846_318_317_510_054_8e-5,
                1.421_511_758_316_446e-7,
                2.044_263_103_389_939_8e-15,
            ],
        )
    };
    if q < 0.0 {
        -size
    } else {
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_distribution() {
        // By mpmath, 20 digits.
        for (p, z) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.01, -2.326_347_874_040_841),
            (1e-12, -7.034_483_825_301_132),
        ] {
            assert!((normal_quantile(p) - z).abs() < 1e-13, "{p}: {}", normal_quantile(p));
        }
    }

    /// Draws of an autoregressive process with correlation `rho`.
    fn process(seed: u64, rho: f64, n: usize) -> Vec<f64> {
        let mut state = seed;
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let u = ((state >> 12) as f64 + 0.5) / (1u64 << 52) as f64;
                x = rho * x + normal_quantile(u);
                x
            })
            .collect()
    }

    #[test]
    fn the_effective_size_of_a_known_process() {
        // An AR(1) process with coefficient r has n (1 - r) / (1 + r).
        let chains: Vec<Vec<f64>> = (1..5).map(|seed| process(seed, 0.5, 20_000)).collect();
        let summary = Summary::new(&chains);
        let expected = 80_000.0 / 3.0;
        assert!((summary.ess_bulk / expected - 1.0).abs() < 0.1, "{summary:?}");
        assert!((summary.r_hat - 1.0).abs() < 1e-3, "{summary:?}");
        assert!((summary.sd - (1.0f64 / 0.75).sqrt()).abs() < 0.02, "{summary:?}");
    }

    #[test]
    fn chains_apart_are_seen() {
        let moved = |by: f64| process(1, 0.0, 500).iter().map(|x| x + by).collect::<Vec<f64>>();
        assert!(Summary::new(&[moved(0.0), moved(2.0)]).r_hat > 1.2);
        let wide: Vec<f64> = process(2, 0.0, 500).iter().map(|x| 5.0 * x).collect();
        assert!(Summary::new(&[moved(0.0), wide]).r_hat > 1.1);
    }

    #[test]
    fn what_does_not_vary_has_no_diagnostics() {
        let summary = Summary::new(&[vec![1.0; 10], vec![1.0; 10]]);
        assert!(summary.r_hat.is_nan() && summary.ess_bulk.is_nan());
        assert_eq!((summary.mean, summary.sd), (1.0, 0.0));
    }
}
