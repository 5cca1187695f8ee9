//! What is measured: kernels and their data.

/// A value with nothing borrowed.
pub type OwnedValue = diffeo::Value<'static>;

/// A program in each of the languages: in Diffeo a function of a program; by its name perhaps `c/plain/NAME.c`,
/// `c/good/NAME.c` and functions in `python/`.
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// The program, from the root of the repository.
    pub program: &'static str,
    /// The function of it.
    pub entry: &'static str,
    /// The argument of the function from the arrays of a case.
    pub argument: fn(&KernelCase) -> OwnedValue,
    /// The fields of the argument that are parameters, not data: what gradients are by. None for derivatives.
    pub parameters: &'static [&'static str],
    /// The same in Rust, where the standard library of Rust is a measure, too.
    pub rust: Option<fn(&KernelCase) -> Vec<f64>>,
    /// The data it is measured with; small if quick.
    pub cases: fn(quick: bool) -> Vec<KernelCase>,
}

/// Data for a kernel.
pub struct KernelCase {
    /// The sizes, to tell the cases of a kernel apart.
    pub label: String,
    /// What C is told of the sizes.
    pub sizes: Vec<i64>,
    /// The data, in the order in which C takes them.
    pub arrays: Vec<CaseArray>,
    /// How many numbers the result has.
    pub results: usize,
}

/// An array in row-major order; a single number has no dimensions.
pub struct CaseArray {
    /// Its name, for Python.
    pub name: &'static str,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: CaseData,
}

/// The elements of a [`CaseArray`].
pub enum CaseData {
    /// Of type Real.
    Reals(Vec<f64>),
    /// Of type Int.
    Ints(Vec<i64>),
}

impl CaseArray {
    /// Reals.
    pub fn reals(name: &'static str, shape: &[usize], data: Vec<f64>) -> CaseArray {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "the shape of {name}");
        CaseArray { name, shape: shape.to_vec(), data: CaseData::Reals(data) }
    }

    /// Ints.
    pub fn ints(name: &'static str, shape: &[usize], data: Vec<i64>) -> CaseArray {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "the shape of {name}");
        CaseArray { name, shape: shape.to_vec(), data: CaseData::Ints(data) }
    }

    /// The same as a value of Diffeo.
    pub fn value(&self) -> OwnedValue {
        let sizes = self.shape.clone();
        match (&self.data, sizes.is_empty()) {
            (CaseData::Reals(data), true) => data[0].into(),
            (CaseData::Ints(data), true) => data[0].into(),
            (CaseData::Reals(data), false) => {
                OwnedValue::Reals(diffeo::Array { data: data.clone().into(), sizes })
            }
            (CaseData::Ints(data), false) => {
                OwnedValue::Ints(diffeo::Array { data: data.clone().into(), sizes })
            }
        }
    }
}

impl KernelCase {
    /// The array of a name.
    ///
    /// # Panics
    /// There is none: the kernel's data do not fit its program.
    pub fn array(&self, name: &str) -> &CaseArray {
        let found = self.arrays.iter().find(|a| a.name == name);
        found.unwrap_or_else(|| panic!("the case {} has no array {name}", self.label))
    }

    /// The Reals of an array.
    ///
    /// # Panics
    /// There is no such array of Reals.
    pub fn reals(&self, name: &str) -> &[f64] {
        match &self.array(name).data {
            CaseData::Reals(data) => data,
            CaseData::Ints(_) => panic!("{name} holds Ints"),
        }
    }

    /// The Ints of an array.
    ///
    /// # Panics
    /// There is no such array of Ints.
    pub fn ints(&self, name: &str) -> &[i64] {
        match &self.array(name).data {
            CaseData::Ints(data) => data,
            CaseData::Reals(_) => panic!("{name} holds Reals"),
        }
    }

    /// A record of all arrays by their names: the argument of most programs.
    pub fn record(&self) -> OwnedValue {
        OwnedValue::record(self.arrays.iter().map(|a| (a.name, a.value())))
    }
}
