//! The bytes of a file or of standard input, those of a gzip file decompressed.
//!
//! Reading never goes back and asks for no length, so pipes are as good as files.

use super::Check;
use crate::place::Target;
use crate::{reason, BUFFER};
use flate2::bufread::GzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A source of bytes.
pub(super) struct Input<'a> {
    bytes: Box<dyn Read + 'a>,
    /// How many compressed bytes have been taken, in a gzip file.
    compressed: Option<Rc<Cell<u64>>>,
    check: Check<'a>,
}

impl<'a> Input<'a> {
    /// Opens a file or standard input; whether it is compressed is seen from its first bytes.
    pub fn open(target: &Target, check: Check<'a>) -> io::Result<Input<'a>> {
        let source: Box<dyn Read> = match target {
            Target::Standard => Box::new(io::stdin().lock()),
            Target::File(path) => {
                let file = File::open(path)?;
                let about = file.metadata()?;
                // A download that was cut off before its first byte.
                if about.is_file() && about.len() == 0 && path.extension() == Some("gz".as_ref()) {
                    return Err(io::Error::other("it is empty, and no gzip file is"));
                }
                Box::new(file)
            }
        };
        Input::new(source, check)
    }

    /// These bytes, decompressed if they are a gzip file.
    pub fn new(mut source: impl Read + 'a, check: Check<'a>) -> io::Result<Input<'a>> {
        let start = start(&mut source)?;
        let gzip = start == GZIP;
        let whole = io::Cursor::new(start).chain(source);
        if !gzip {
            return Ok(Input { bytes: Box::new(whole), compressed: None, check });
        }
        let taken = Rc::new(Cell::new(0));
        let counted =
            Counted { inner: BufReader::with_capacity(BUFFER, whole), taken: taken.clone() };
        let bytes = Box::new(Members(Some(GzDecoder::new(counted))));
        Ok(Input { bytes, compressed: Some(taken), check })
    }

    /// Whether a file begins as a gzip file does.
    pub fn is_gzip(source: &mut impl Read) -> io::Result<bool> {
        Ok(start(source)? == GZIP)
    }

    /// All there is. (`read_to_end` would touch twice the memory.)
    pub fn read_all(self) -> io::Result<Vec<u8>> {
        let mut input = self.buffered();
        let mut all = Vec::new();
        loop {
            let piece = input.fill_buf()?;
            if piece.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(piece);
            let n = piece.len();
            input.consume(n);
        }
    }

    /// With a buffer.
    pub fn buffered(self) -> BufReader<Input<'a>> {
        BufReader::with_capacity(BUFFER, self)
    }
}

/// Takes the first two bytes.
fn start(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    source.take(GZIP.len() as u64).read_to_end(&mut start)?;
    Ok(start)
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // As another kind than `Interrupted`, after which reading would be tried again.
        (self.check)().map_err(|error| io::Error::other(reason(&error)))?;
        let Some(taken) = &self.compressed else { return self.bytes.read(buffer) };
        self.bytes.read(buffer).map_err(|error| {
            let taken = taken.get();
            match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    io::Error::other(format!("its gzip data ends too early, after {taken} bytes"))
                }
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    io::Error::other(format!("its gzip data is damaged near byte {taken} of it"))
                }
                _ => error,
            }
        })
    }
}

/// The contents of the members of a gzip file, one after the other. Zeros between and after them are
/// padding, as they are to `gzip`: tapes and archives fill their blocks so.
struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let n = member.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            let Some(mut input) = self.0.take().map(GzDecoder::into_inner) else { break };
            let more = loop {
                let piece = input.fill_buf()?;
                let (all, zeros) = (piece.len(), piece.iter().take_while(|&&b| b == 0).count());
                input.consume(zeros);
                if zeros < all || all == 0 {
                    break all > 0;
                }
            };
            self.0 = more.then(|| GzDecoder::new(input));
        }
        Ok(0)
    }
}

/// Counts what is taken from a buffer.
struct Counted<R> {
    inner: BufReader<R>,
    taken: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.taken.set(self.taken.get() + n as u64);
        Ok(n)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.taken.set(self.taken.get() + n as u64);
        self.inner.consume(n);
    }
}
