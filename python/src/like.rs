//! Results of derivatives that have the type of an argument, such as gradients: they are in the order of what was given.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The argument, or part of one, that a result has the type of.
#[derive(Clone)]
pub enum Like {
    /// None.
    Nothing,
    /// The one at the end of this way: the number of the argument, then places in tuples.
    Argument(Vec<usize>),
    /// Its components those of arguments.
    Parts(Vec<Like>),
}

impl Like {
    /// The likeness of the result of a derivative, of a function of so many arguments whose result is like this.
    pub fn derived(&self, what: &str, numbers: &[u32], count: usize) -> Like {
        let argument = |i: &u32| Like::Argument(vec![*i as usize]);
        let arguments = || match numbers {
            [i] => argument(i),
            several => Like::Parts(several.iter().map(argument).collect()),
        };
        match what {
            "grad" => arguments(),
            "value_and_grad" => Like::Parts(vec![self.clone(), arguments()]),
            "vjp" => Like::Parts(vec![self.at_point(count), arguments().at_point(count)]),
            "jvp" => Like::Parts(vec![self.at_point(count), self.at_point(count)]),
            "enclose" => self.clone(),
            _ => Like::Nothing,
        }
    }

    /// The same, where the arguments are the first of two: a tuple, if there are several.
    fn at_point(&self, count: usize) -> Like {
        match self {
            Like::Nothing => Like::Nothing,
            Like::Argument(way) if count == 1 => Like::Argument(way.clone()),
            Like::Argument(way) => Like::Argument([&[0], &way[..]].concat()),
            Like::Parts(parts) => {
                Like::Parts(parts.iter().map(|part| part.at_point(count)).collect())
            }
        }
    }

    /// A value of the structure of the result, of parts of the arguments; None where it is like nothing that was given.
    pub fn of<'py>(
        &self,
        py: Python<'py>,
        args: &[Bound<'py, PyAny>],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self {
            Like::Nothing => None,
            Like::Argument(way) => {
                let mut part = way.first().and_then(|i| args.get(*i)).cloned();
                for i in way.iter().skip(1) {
                    part = part.and_then(|part| component(&part, *i));
                }
                part
            }
            Like::Parts(parts) => {
                let parts = parts.iter().map(|part| part.of(py, args));
                Some(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
        })
    }
}

fn component<'py>(value: &Bound<'py, PyAny>, i: usize) -> Option<Bound<'py, PyAny>> {
    match (value.cast::<PyTuple>(), value.cast::<PyList>()) {
        (Ok(tuple), _) => tuple.get_item(i).ok(),
        (_, Ok(list)) => list.get_item(i).ok(),
        _ => None,
    }
}
