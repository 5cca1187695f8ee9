//! What is measured: kernels and their data.

/// A value with nothing borrowed.
pub type Value = diffeo::Value<'static>;

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
    pub argument: fn(&Case) -> Value,
    /// The fields of the argument that are parameters, not data: what gradients are by. None for derivatives.
    pub parameters: &'static [&'static str],
    /// The same in Rust, where the standard library of Rust is a measure, too.
    pub rust: Option<fn(&Case) -> Vec<f64>>,
    /// The data it is measured with; small if quick.
    pub cases: fn(quick: bool) -> Vec<Case>,
}

/// Data for a kernel.
pub struct Case {
    /// The sizes, to tell the cases of a kernel apart.
    pub label: String,
    /// What C is told of the sizes.
    pub sizes: Vec<i64>,
    /// The data, in the order in which C takes them.
    pub arrays: Vec<Array>,
    /// How many numbers the result has.
    pub results: usize,
}

/// An array in row-major order; a single number has no dimensions.
pub struct Array {
    /// Its name, for Python.
    pub name: &'static str,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: Data,
}

/// The elements of an [`Array`].
pub enum Data {
    /// Of type Real.
    Reals(Vec<f64>),
    /// Of type Int.
    Ints(Vec<i64>),
}

impl Array {
    /// Reals.
    pub fn reals(name: &'static str, shape: &[usize], data: Vec<f64>) -> Array {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "the shape of {name}");
        Array { name, shape: shape.to_vec(), data: Data::Reals(data) }
    }

    /// Ints.
    pub fn ints(name: &'static str, shape: &[usize], data: Vec<i64>) -> Array {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "the shape of {name}");
        Array { name, shape: shape.to_vec(), data: Data::Ints(data) }
    }

    /// The same as a value of Diffeo.
    pub fn value(&self) -> Value {
        let sizes = self.shape.clone();
        match (&self.data, sizes.is_empty()) {
            (Data::Reals(data), true) => data[0].into(),
            (Data::Ints(data), true) => data[0].into(),
            (Data::Reals(data), false) => {
                Value::Reals(diffeo::Array { data: data.clone().into(), sizes })
            }
            (Data::Ints(data), false) => {
                Value::Ints(diffeo::Array { data: data.clone().into(), sizes })
            }
        }
    }
}

impl Case {
    /// The array of a name.
    ///
    /// # Panics
    /// There is none: the kernel's data do not fit its program.
    pub fn array(&self, name: &str) -> &Array {
        let found = self.arrays.iter().find(|a| a.name == name);
        found.unwrap_or_else(|| panic!("the case {} has no array {name}", self.label))
    }

    /// The Reals of an array.
    ///
    /// # Panics
    /// There is no such array of Reals.
    pub fn reals(&self, name: &str) -> &[f64] {
        match &self.array(name).data {
            Data::Reals(data) => data,
            Data::Ints(_) => panic!("{name} holds Ints"),
        }
    }

    /// The Ints of an array.
    ///
    /// # Panics
    /// There is no such array of Ints.
    pub fn ints(&self, name: &str) -> &[i64] {
        match &self.array(name).data {
            Data::Ints(data) => data,
            Data::Reals(_) => panic!("{name} holds Reals"),
        }
    }

    /// A record of all arrays by their names: the argument of most programs.
    pub fn record(&self) -> Value {
        Value::record(self.arrays.iter().map(|a| (a.name, a.value())))
    }
}
