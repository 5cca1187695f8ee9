//! The fields of record types.

use diffeo_base::Name;
use std::ops::Deref;

/// The fields of a record type, sorted by name: the order in which a program writes them makes no other type. That order is
/// kept beside them, for tables without a header and for the columns of results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fields<T> {
    sorted: Vec<(Name, T)>,
    /// The places of the fields in the order in which the program writes them.
    written: Vec<u32>,
    from: FieldOrder,
}

/// Where a program writes the order of fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldOrder {
    /// In a type.
    Type,
    /// In a record or a pattern.
    Value,
}

impl<T> Fields<T> {
    /// Fields in the order in which the program writes them.
    pub fn new(fields: Vec<(Name, T)>, from: FieldOrder) -> Fields<T> {
        let mut sorted: Vec<(u32, (Name, T))> = (0..).zip(fields).collect();
        sorted.sort_by(|(_, a), (_, b)| a.0.cmp(&b.0));
        let mut written = vec![0; sorted.len()];
        for (at, (place, _)) in (0..).zip(&sorted) {
            written[*place as usize] = at;
        }
        Fields { sorted: sorted.into_iter().map(|(_, field)| field).collect(), written, from }
    }

    /// The fields with other types, given in the order of the names.
    pub fn with_types<U>(&self, types: Vec<U>) -> Fields<U> {
        let names = self.sorted.iter().map(|(name, _)| name.clone());
        let (sorted, written) = (names.zip(types).collect(), self.written.clone());
        Fields { sorted, written, from: self.from }
    }

    /// The fields in the order in which the program writes them.
    pub fn written(&self) -> impl Iterator<Item = &(Name, T)> {
        self.written.iter().map(|at| &self.sorted[*at as usize])
    }

    /// Whether the program writes other fields, of the same names, in the same order.
    pub fn is_ordered_as<U>(&self, other: &Fields<U>) -> bool {
        self.written == other.written
    }

    /// Where the program writes the order.
    pub fn from(&self) -> FieldOrder {
        self.from
    }
}

impl<T> Deref for Fields<T> {
    type Target = [(Name, T)];

    fn deref(&self) -> &[(Name, T)] {
        &self.sorted
    }
}
