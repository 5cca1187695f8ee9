//! Reasons of the operating system, as messages say them.

use std::io;

/// The reason of a failed input or output, without the operating system's number.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_string(),
        io::ErrorKind::IsADirectory => "this is a directory".to_string(),
        io::ErrorKind::NotADirectory => "a part of its name is a file and no folder".to_string(),
        io::ErrorKind::InvalidFilename => "the name is too long".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        io::ErrorKind::StorageFull => "there is no space left".to_string(),
        _ => {
            let text = error.to_string();
            match text.find(" (os error") {
                Some(end) => text[..end].to_string(),
                None => text,
            }
        }
    }
}
