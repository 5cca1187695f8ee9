//! Framing of the language server's messages: headers, an empty line, the text. What is no message is told, and the next
//! one is found behind it: at its header, wherever that begins.
//!
//! The crate lsp-server ends the program at the first malformed message, and reserves whatever length a header claims.

use diffeo_base::quoted;
use std::io::{self, Read};

/// What a header of the length begins with, up to case.
const LENGTH: &[u8] = b"content-length:";

/// How long the headers of a message, and a message, may be.
const MOST_HEADERS: usize = 1 << 14;
const MOST: u64 = 1 << 26;

/// How much is read at a time.
const PIECE: usize = 1 << 16;

/// The next frame of the stream.
#[derive(PartialEq, Debug)]
pub enum Frame {
    /// The text of a message.
    Message(Vec<u8>),
    /// Bytes that are no message, and why.
    Bad(String),
    /// The end of the stream.
    End,
}

/// Reads messages.
pub struct Frames<R> {
    input: R,
    /// What was read and is not taken, from `at`.
    buffer: Vec<u8>,
    at: usize,
    /// Whether the next header is to be found first: what was no message is told before more is read.
    lost: bool,
}

/// The headers at the start of a text.
enum Headers {
    /// They end here, and say how long the message is.
    Whole(usize, u64),
    /// They go on.
    Open,
    /// They are none, and why; so much is not looked at again.
    Bad(usize, String),
}

impl<R: Read> Frames<R> {
    /// The messages of this stream.
    pub fn new(input: R) -> Frames<R> {
        Frames { input, buffer: Vec::new(), at: 0, lost: false }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Reads more; whether there was any.
    fn more(&mut self) -> io::Result<bool> {
        self.buffer.drain(..std::mem::take(&mut self.at));
        let before = self.buffer.len();
        self.buffer.resize(before + PIECE, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    /// The next message.
    ///
    /// # Errors
    /// The stream cannot be read.
    pub fn next(&mut self) -> io::Result<Frame> {
        if std::mem::take(&mut self.lost) {
            self.skip()?;
        }
        loop {
            match headers(self.rest()) {
                Headers::Whole(end, length) => {
                    self.at += end;
                    return self.text(length);
                }
                Headers::Bad(skipped, why) => {
                    self.at += skipped;
                    self.lost = true;
                    return Ok(Frame::Bad(why));
                }
                Headers::Open => {
                    if !self.more()? {
                        let blank = self.rest().trim_ascii().is_empty();
                        self.at = self.buffer.len();
                        let why = "the stream ends within the headers of a message";
                        return Ok(if blank { Frame::End } else { Frame::Bad(why.to_string()) });
                    }
                }
            }
        }
    }

    fn text(&mut self, length: u64) -> io::Result<Frame> {
        if length > MOST {
            self.lost = true;
            let why = format!("a message of {length} bytes is too long: at most {MOST} are read");
            return Ok(Frame::Bad(why));
        }
        let length = length as usize;
        while self.rest().len() < length {
            if !self.more()? {
                self.at = self.buffer.len();
                return Ok(Frame::Bad("the stream ends within a message".to_string()));
            }
        }
        let text = self.rest()[..length].to_vec();
        self.at += length;
        Ok(Frame::Message(text))
    }

    /// Goes to the next header of a length.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let rest = self.rest();
            if let Some(found) = find(rest) {
                self.at += found;
                return Ok(());
            }
            // It may begin at the end of what is there.
            self.at += rest.len().saturating_sub(LENGTH.len() - 1);
            if !self.more()? {
                self.at = self.buffer.len();
                return Ok(());
            }
        }
    }
}

/// Where a header of the length begins.
fn find(text: &[u8]) -> Option<usize> {
    text.windows(LENGTH.len()).position(|word| word.eq_ignore_ascii_case(LENGTH))
}

fn headers(text: &[u8]) -> Headers {
    let mut length = None;
    let mut at = 0;
    loop {
        let Some(end) = text[at..].iter().position(|b| *b == b'\n') else {
            return match text.len() > MOST_HEADERS {
                true => {
                    Headers::Bad(LENGTH.len(), "the headers of a message have no end".to_string())
                }
                false => Headers::Open,
            };
        };
        let line = &text[at..at + end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = at;
        at += end + 1;
        let bad = |why: String| {
            // What follows on the line, or below, may be the message that is meant.
            Headers::Bad(find(&text[start + 1..]).map_or(at, |found| start + 1 + found), why)
        };
        if line.is_empty() {
            match length {
                Some(length) => return Headers::Whole(at, length),
                // What stands between two messages.
                None if text[..at].trim_ascii().is_empty() => continue,
                None => {
                    return Headers::Bad(at, "a message needs the header `Content-Length`".into())
                }
            }
        }
        let colon = line.iter().position(|b| *b == b':').unwrap_or(0);
        let (name, value) = line.split_at(colon);
        let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
        if name.is_empty() || !name.iter().all(is_name) {
            return bad(format!("{} is no header of a message", shown(line)));
        }
        if name.eq_ignore_ascii_case(&LENGTH[..LENGTH.len() - 1]) {
            let value = value[1..].trim_ascii();
            let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            if !digits {
                return bad(format!("{} is no length of a message", shown(value)));
            }
            // What is beyond any number is too long in any case.
            let found = String::from_utf8_lossy(value).parse().unwrap_or(u64::MAX);
            if length.is_some_and(|length| length != found) {
                return bad("a message has two lengths".to_string());
            }
            length = Some(found);
        }
    }
}

/// The beginning of a line, in quotes.
fn shown(line: &[u8]) -> String {
    const MOST: usize = 40;
    quoted(&String::from_utf8_lossy(line).chars().take(MOST).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in a stream that gives so many bytes at a time.
    fn frames(stream: &[u8], piece: usize) -> Vec<Frame> {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(buffer.len()).min(self.0.len());
                buffer[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let mut frames = Frames::new(Pieces(stream, piece));
        let mut all = Vec::new();
        while let Ok(frame) = frames.next() {
            if frame == Frame::End {
                break;
            }
            all.push(frame);
        }
        all
    }

    #[test]
    fn the_next_message_is_found_behind_what_is_none() {
        let good = "Content-Length: 2\r\n\r\n{}";
        let junk = [
            "Content-Length: 99999999999999\r\n\r\n{}",
            "Content-Length: 18446744073709551615\r\n\r\n",
            "Content-Length: 99999999999999999999999\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: two\r\n\r\n{}",
            "Content-Length:\r\n\r\n",
            "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "Content-Type: x\r\n\r\n{}",
            "{\"jsonrpc\": \"2.0\"}",
            "{\"jsonrpc\": \"2.0\"}\r\n\r\n",
            "no header\n\n\n",
            "\u{0}\u{1}",
            "Content-Lengt: 3\r\n\r\n{} content-length",
            ": 3\r\n\r\n",
        ];
        for piece in [1, 7, 1 << 20] {
            for junk in junk {
                let found = frames(format!("{junk}{good}\r\n{good}").as_bytes(), piece);
                let [Frame::Bad(_), Frame::Message(a), Frame::Message(b)] = &found[..] else {
                    panic!("{junk:?}: {found:?}")
                };
                assert!(a == b"{}" && b == b"{}");
            }
            let long = [&[b'x'; 1 << 17], good.as_bytes()].concat();
            assert!(matches!(&frames(&long, piece)[..], [Frame::Bad(_), Frame::Message(_)]));
            let invalid = [b"\xff\xfe: 1\n", good.as_bytes()].concat();
            assert!(matches!(&frames(&invalid, piece)[..], [Frame::Bad(_), Frame::Message(_)]));
            for open in ["Content-Length: 9\r\n\r\n{}", "Content-Length: 9\r\n", "Content-Len"] {
                let found = frames(format!("{good}{open}").as_bytes(), piece);
                assert!(matches!(&found[..], [Frame::Message(_), Frame::Bad(_)]), "{found:?}");
            }
        }
        let other = "content-length:2\ncontent-type: a; charset=utf-8\n\n{}";
        assert!(matches!(&frames(other.as_bytes(), 3)[..], [Frame::Message(_)]));
    }
}
