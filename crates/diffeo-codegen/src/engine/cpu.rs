//! The processors that code is made for.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// A processor: the instructions that compiled code may use. The default is that of the environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Cpu {
    /// Those that every processor of the architecture has.
    Baseline,
    /// Those of x86-64 processors with SSE4.2.
    X86V2,
    /// Those of x86-64 processors with AVX2 and a fused multiply-add.
    X86V3,
    /// Those of x86-64 processors with AVX-512.
    X86V4,
    /// All that this processor has.
    Host,
}

impl Cpu {
    /// The processors of this architecture.
    pub fn all() -> impl Iterator<Item = Cpu> {
        let all = [Cpu::Host, Cpu::Baseline, Cpu::X86V2, Cpu::X86V3, Cpu::X86V4];
        all.into_iter().filter(|cpu| match cpu {
            Cpu::Host | Cpu::Baseline => true,
            Cpu::X86V2 | Cpu::X86V3 | Cpu::X86V4 => cfg!(target_arch = "x86_64"),
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Cpu::Host => "native",
            Cpu::Baseline => "baseline",
            Cpu::X86V2 => "x86-64-v2",
            Cpu::X86V3 => "x86-64-v3",
            Cpu::X86V4 => "x86-64-v4",
        }
    }

    /// The processor that the variable `DIFFEO_CPU` names, else this one; it was read once.
    ///
    /// # Errors
    /// There is no such processor, or this one lacks instructions of it: the message says so.
    pub fn of_environment() -> Result<Cpu, &'static str> {
        static CPU: OnceLock<Result<Cpu, String>> = OnceLock::new();
        let cpu = CPU.get_or_init(|| match std::env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => {
                let cpu: Cpu = name.parse().map_err(|e| format!("{VARIABLE} is `{name}`: {e}"))?;
                match cpu.lacking() {
                    None => Ok(cpu),
                    Some(lacking) => Err(format!(
                        "{VARIABLE} is {cpu}, whose code does not run here: this processor has no {lacking}"
                    )),
                }
            }
            Ok(_) | Err(_) => Ok(Cpu::Host),
        });
        cpu.as_ref().copied().map_err(String::as_str)
    }

    /// An instruction set that its code needs and that the processor of this machine lacks.
    pub fn lacking(self) -> Option<&'static str> {
        let needed = match self {
            Cpu::Baseline | Cpu::Host => 0,
            Cpu::X86V2 => 1,
            Cpu::X86V3 => 2,
            Cpu::X86V4 => 3,
        };
        lacking().get(..needed)?.iter().flatten().next().copied()
    }
}

/// The variable that says which instructions compiled code may use, where nobody else does.
const VARIABLE: &str = "DIFFEO_CPU";

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu::of_environment().unwrap_or(Cpu::Baseline)
    }
}

/// For each level of x86-64 above the first, what this processor lacks of it.
#[cfg(target_arch = "x86_64")]
fn lacking() -> [Option<&'static str>; 3] {
    macro_rules! first {
        ($($feature:tt)*) => {
            [$(($feature, std::is_x86_feature_detected!($feature))),*]
                .into_iter()
                .find(|(_, there)| !there)
                .map(|(feature, _)| feature)
        };
    }
    [
        first!("cmpxchg16b" "popcnt" "sse3" "sse4.1" "sse4.2" "ssse3"),
        first!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave"),
        first!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn lacking() -> [Option<&'static str>; 3] {
    [Some("x86-64"); 3]
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Cpu {
    type Err = String;

    fn from_str(name: &str) -> Result<Cpu, String> {
        Cpu::all().find(|cpu| cpu.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Cpu::all().map(Cpu::name).collect();
            format!("the processors are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Cpu;

    #[test]
    fn names_are_read_back() {
        for cpu in Cpu::all() {
            assert_eq!(cpu.name().parse(), Ok(cpu));
        }
        let error = "pentium".parse::<Cpu>().unwrap_err();
        assert!(error.contains("native, baseline"), "{error}");
    }

    #[test]
    fn levels_contain_each_other() {
        assert_eq!((Cpu::Host.lacking(), Cpu::Baseline.lacking()), (None, None));
        let lacking = [Cpu::X86V2, Cpu::X86V3, Cpu::X86V4].map(|cpu| cpu.lacking().is_some());
        assert!(lacking.is_sorted(), "{lacking:?}");
    }
}
