//! Programs of every kind in the corpus, with sizes.

use crate::support::{cases, root};

/// A program; the word stands for each of the sizes.
pub struct CostCase {
    pub name: String,
    pub program: String,
    /// What is differentiated, and where.
    pub function: String,
    pub point: String,
    word: &'static str,
    pub sizes: [usize; 3],
}

/// By word, the sizes.
const SIZES: [(&str, [usize; 3]); 3] =
    [("SIZE", [30, 300, 3000]), ("SIDE", [5, 16, 50]), ("CUBE", [6, 13, 28])];

impl CostCase {
    /// Program, function and point of a size.
    pub fn of(&self, size: usize) -> [String; 3] {
        let text = [&self.program, &self.function, &self.point];
        text.map(|text| text.replace(self.word, &size.to_string()))
    }
}

/// The programs of `kinds.deo`.
pub fn kinds() -> Vec<CostCase> {
    let file = root().join("crates/diffeo/tests/it/gradient_costs/kinds.deo");
    let kind = |(name, program, (function, point, _)): (String, String, _)| {
        let found =
            |(word, _): &&(&str, _)| [&program, &function, &point].iter().any(|t| t.contains(word));
        let (word, sizes) = SIZES.iter().find(found).copied().expect("a size");
        CostCase { name, program, function, point, word, sizes }
    };
    let each = cases(&file).into_iter().flat_map(|case| {
        let (name, text) = (case.name, case.text);
        case.derivatives.into_iter().map(move |of| (name.clone(), text.clone(), of))
    });
    each.map(kind).collect()
}
