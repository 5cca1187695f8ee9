//! The text of a file as UTF-8, from UTF-8, UTF-16 or Latin-1.
//!
//! A mark at the beginning counts more than the option. UTF-8 passes as it is, so that what is none is found where it
//! stands. In UTF-16 what is malformed ends the reading, behind all that stands before it: so the reader knows the line.

use crate::BUFFER;
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE, UTF_8};
use std::fmt;
use std::io::{self, Read};

/// How much is taken before anything is given: enough to see how lines end.
const START: usize = 1 << 12;

/// What is wrong with an encoding, within an error of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BadEncoding {
    /// A half of a surrogate pair or of a code unit.
    NotUtf16,
    /// Four bytes for each character.
    Utf32,
}

impl fmt::Display for BadEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadEncoding::NotUtf16 => "it is malformed UTF-16",
            BadEncoding::Utf32 => "it is UTF-32",
        })
    }
}

impl std::error::Error for BadEncoding {}

impl BadEncoding {
    /// What an error of reading says about the encoding, if it does.
    pub fn of(error: &io::Error) -> Option<BadEncoding> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// A text that is decoded as it is read.
pub(super) struct Decoded<R> {
    input: R,
    /// None where the bytes are UTF-8 already.
    decoder: Option<Decoder>,
    /// Whether the file begins with the mark of UTF-8.
    pub utf8_mark: bool,
    /// What was taken of the input and not given; there is room behind it.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the input has ended.
    ended: bool,
    /// What went wrong behind what was taken at the start.
    failed: Option<io::Error>,
    /// Whether all of it is given, or what comes is malformed.
    done: bool,
    malformed: bool,
}

impl<R: Read> Decoded<R> {
    /// The text of an input in this encoding.
    pub fn new(input: R, encoding: Option<&'static Encoding>) -> io::Result<Decoded<R>> {
        let mut decoded = Decoded {
            input,
            decoder: None,
            utf8_mark: false,
            bytes: vec![0; BUFFER],
            start: 0,
            end: 0,
            ended: false,
            failed: None,
            done: false,
            malformed: false,
        };
        while decoded.end < START && !decoded.ended {
            if let Err(error) = decoded.more() {
                decoded.failed = Some(error);
                break;
            }
        }
        let (encoding, mark) = match (&decoded.bytes[..decoded.end], encoding) {
            ([0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..], _) => {
                return Err(io::Error::other(BadEncoding::Utf32));
            }
            ([0xef, 0xbb, 0xbf, ..], _) => (UTF_8, 3),
            ([0xff, 0xfe, ..], _) => (UTF_16LE, 2),
            ([0xfe, 0xff, ..], _) => (UTF_16BE, 2),
            // Without a mark the first character, of ASCII in most tables, tells the order of the bytes.
            ([0, second, ..], Some(encoding)) if *second != 0 && encoding == UTF_16LE => {
                (UTF_16BE, 0)
            }
            (_, Some(encoding)) => (encoding, 0),
            (_, None) => (UTF_8, 0),
        };
        decoded.start = mark;
        decoded.utf8_mark = mark == 3;
        decoded.decoder = (encoding != UTF_8).then(|| encoding.new_decoder_without_bom_handling());
        Ok(decoded)
    }

    /// How the file begins, before anything is read.
    pub fn start(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes more of the input.
    fn more(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !self.ended {
            let n = self.input.read(&mut self.bytes[self.end..])?;
            self.end += n;
            self.ended = n == 0;
        }
        Ok(())
    }

    fn pass(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
        } else {
            let n = out.len().min(self.end - self.start);
            out[..n].copy_from_slice(&self.bytes[self.start..][..n]);
            self.start += n;
            return Ok(n);
        }
        if self.ended {
            return Ok(0);
        }
        self.input.read(out)
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.decoder.is_none() {
            return self.pass(out);
        }
        while !self.malformed && !self.done {
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
                self.more()?;
            }
            let Some(decoder) = &mut self.decoder else { break };
            let bytes = &self.bytes[self.start..self.end];
            let (result, read, written) =
                decoder.decode_to_utf8_without_replacement(bytes, out, self.ended);
            self.start += read;
            match result {
                DecoderResult::Malformed(..) => self.malformed = true,
                DecoderResult::InputEmpty => self.done = self.ended,
                DecoderResult::OutputFull => {}
            }
            if written > 0 {
                return Ok(written);
            }
        }
        if self.malformed {
            return Err(io::Error::other(BadEncoding::NotUtf16));
        }
        Ok(0)
    }
}
