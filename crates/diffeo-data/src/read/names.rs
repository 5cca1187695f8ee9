//! The columns of a table that belong to the fields of a record: by the same name, or else by the one name that is the
//! same up to case, blanks and punctuation.

use super::folded::folded;
use crate::error::Problem;
use crate::shape::Cell;
use diffeo_base::Name;

/// Where each field of a record stands among the columns.
pub(super) fn places(
    header: &[String],
    fields: &[(&Name, Cell<'_>)],
) -> Result<Vec<usize>, Problem> {
    let folded: Vec<String> = header.iter().map(|column| folded(column)).collect();
    let exact = |column: &str| fields.iter().any(|(name, _)| **name == column);
    let mut places: Vec<usize> = Vec::new();
    for (name, cell) in fields {
        let same: Vec<usize> =
            (0..header.len()).filter(|&i| **name == header[i].as_str()).collect();
        let like = self::folded(name);
        let near = || (0..header.len()).filter(|&i| folded[i] == like && !exact(&header[i]));
        let place = match &same[..] {
            [place] => *place,
            [_, ..] => return Err(Problem::RepeatedColumn(name.to_string())),
            [] => match &near().collect::<Vec<_>>()[..] {
                [place] if !like.is_empty() => *place,
                [first, second, ..] if !like.is_empty() => {
                    let (first, second) = (header[*first].clone(), header[*second].clone());
                    return Err(Problem::AmbiguousColumn((*name).clone(), first, second));
                }
                _ => {
                    let missing = (*name).clone();
                    return Err(Problem::MissingColumn(missing, cell.ty.clone(), header.to_vec()));
                }
            },
        };
        if let Some(other) = places.iter().position(|taken| *taken == place) {
            let (first, second) = (fields[other].0.clone(), (*name).clone());
            return Err(Problem::SharedColumn(header[place].clone(), first, second));
        }
        places.push(place);
    }
    Ok(places)
}
