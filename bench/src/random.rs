//! Random numbers that are the same on every machine: splitmix64 (Steele, Lea & Flood, OOPSLA 2014).

/// A generator.
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An Int from 0 to below n.
    pub fn below(&mut self, n: usize) -> i64 {
        (self.bits() % n as u64) as i64
    }

    /// A Real from 0 to below 1.
    pub fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// n Reals between two bounds.
    pub fn between(&mut self, lo: f64, hi: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| lo + (hi - lo) * self.real()).collect()
    }

    /// n Reals of the standard normal distribution (Box & Muller).
    pub fn normals(&mut self, n: usize) -> Vec<f64> {
        let mut normal = || {
            let radius = (-2.0 * (1.0 - self.real()).ln()).sqrt();
            radius * (std::f64::consts::TAU * self.real()).cos()
        };
        (0..n).map(|_| normal()).collect()
    }
}
