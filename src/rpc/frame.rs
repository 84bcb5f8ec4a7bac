//! Finds where one message ends and the next begins, in both framings.

use std::io::{self, BufRead, BufReader, Read, Write};

/// How messages are told apart on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length` headers before each message, as in LSP.
    Headers,
    /// One JSON value on a line.
    Lines,
}

/// What came out of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    Message(Vec<u8>),
    /// A message over the limit was read past, without being kept.
    TooLong,
    /// Where the next message begins cannot be known, so that no other frame follows.
    Lost(Loss),
}

/// Why the place in the stream was lost.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    #[error("expected a header such as `Content-Length: 2`, found `{0}`")]
    NotAHeader(String),
    #[error("the headers hold no `Content-Length`")]
    NoLength,
    #[error("the headers of a message are longer than {MAX_HEADERS} bytes")]
    LongHeaders,
    #[error("a message of {0} bytes is not believed; the connection is closed")]
    AbsurdLength(u64),
}

/// Bytes of all headers of one message.
const MAX_HEADERS: u64 = 16 * 1024;

/// A longer message than this is taken for a broken header: to read past it could swallow all that follows.
const MAX_BELIEVED: u64 = 1024 * 1024 * 1024;

const READ_BUFFER: usize = 64 * 1024;

/// Splits a stream into frames.
pub struct FrameReader<R> {
    input: BufReader<R>,
    framing: Option<Framing>,
    max_message: usize,
}

impl<R: Read> FrameReader<R> {
    /// `framing` is found out from the first byte where it is `None`.
    pub fn new(input: R, framing: Option<Framing>, max_message: usize) -> FrameReader<R> {
        FrameReader {
            input: BufReader::with_capacity(READ_BUFFER, input),
            framing,
            max_message,
        }
    }

    /// Waits for the first byte that is no blank; `None` where the stream ends before it.
    pub fn detect(&mut self) -> io::Result<Option<Framing>> {
        const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];
        loop {
            let byte = match self.input.fill_buf() {
                Ok([]) => return Ok(None),
                Ok([byte, ..]) => *byte,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if !byte.is_ascii_whitespace() && !BYTE_ORDER_MARK.contains(&byte) {
                let seen = if byte.is_ascii_alphabetic() {
                    Framing::Headers
                } else {
                    Framing::Lines
                };
                return Ok(Some(*self.framing.get_or_insert(seen)));
            }
            self.input.consume(1);
        }
    }

    /// The next frame; `None` at the end of the stream, also where it ends within a message with headers.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        let framing = match self.framing {
            Some(framing) => framing,
            None => match self.detect()? {
                Some(framing) => framing,
                None => return Ok(None),
            },
        };
        match framing {
            Framing::Lines => self.next_line(),
            Framing::Headers => self.next_after_headers(),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let mut line = Vec::new();
            let limit = self.max_message as u64 + 1;
            if (&mut self.input).take(limit).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if line.len() > self.max_message && line.last() != Some(&b'\n') {
                self.input.skip_until(b'\n')?;
                return Ok(Some(Frame::TooLong));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Frame::Message(line)));
            }
        }
    }

    fn next_after_headers(&mut self) -> io::Result<Option<Frame>> {
        let length = match self.read_headers()? {
            None => return Ok(None),
            Some(Err(loss)) => return Ok(Some(Frame::Lost(loss))),
            Some(Ok(length)) => length,
        };
        if length > MAX_BELIEVED {
            return Ok(Some(Frame::Lost(Loss::AbsurdLength(length))));
        }
        let mut message = (&mut self.input).take(length);
        if length > self.max_message as u64 {
            let skipped = io::copy(&mut message, &mut io::sink())?;
            return Ok((skipped == length).then_some(Frame::TooLong));
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let read = message.read_to_end(&mut bytes)?;
        Ok((read as u64 == length).then_some(Frame::Message(bytes)))
    }

    /// Reads up to the blank line and returns the length of the message behind it.
    fn read_headers(&mut self) -> io::Result<Option<Result<u64, Loss>>> {
        let mut headers = (&mut self.input).take(MAX_HEADERS);
        let mut length = None;
        let mut any = false;
        loop {
            let mut line = Vec::new();
            if headers.read_until(b'\n', &mut line)? == 0 || line.last() != Some(&b'\n') {
                let is_full = headers.limit() == 0;
                return Ok(is_full.then_some(Err(Loss::LongHeaders)));
            }
            let line = String::from_utf8_lossy(line.trim_ascii());
            if line.is_empty() {
                if !any {
                    continue;
                }
                return Ok(Some(length.ok_or(Loss::NoLength)));
            }
            any = true;
            let Some((name, value)) = split_header(&line) else {
                return Ok(Some(Err(not_a_header(&line))));
            };
            if name.eq_ignore_ascii_case("content-length") {
                let Ok(value) = value.parse() else {
                    return Ok(Some(Err(not_a_header(&line))));
                };
                length = Some(value);
            }
        }
    }
}

/// Writes one message in its frame.
///
/// Raw line breaks are blanked in line framing. JSON has none but between tokens, and results that
/// are passed on unread may be laid out over several lines.
pub fn write_message(output: &mut impl Write, framing: Framing, message: String) -> io::Result<()> {
    match framing {
        Framing::Headers => {
            let headers = format!("Content-Length: {}\r\n\r\n", message.len());
            output.write_all(headers.as_bytes())?;
            output.write_all(message.as_bytes())?;
        }
        Framing::Lines => {
            let message = if message.as_bytes().contains(&b'\n') {
                message.replace(['\n', '\r'], " ")
            } else {
                message
            };
            output.write_all(message.as_bytes())?;
            output.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Name and value of a header; a name has no blanks, quotes or braces, so that a line of JSON or of a log is not one.
fn split_header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    is_name.then(|| (name, value.trim()))
}

fn not_a_header(line: &str) -> Loss {
    const SHOWN: usize = 80;
    let mut shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    Loss::NotAHeader(shown)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const MAX_MESSAGE: usize = 32;

    /// The frames of `input`, which comes in pieces of one byte so that nothing may rely on whole reads.
    fn check(input: impl AsRef<[u8]>, expected: Expect) {
        check_as(None, input, expected);
    }

    fn check_as(framing: Option<Framing>, input: impl AsRef<[u8]>, expected: Expect) {
        struct Trickle<'a>(&'a [u8]);
        impl Read for Trickle<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = buffer.len().min(1);
                self.0.read(&mut buffer[..length])
            }
        }
        let mut reader = FrameReader::new(Trickle(input.as_ref()), framing, MAX_MESSAGE);
        let mut text = match reader.detect().unwrap() {
            Some(framing) => format!("{framing:?}\n"),
            None => "nothing\n".to_owned(),
        };
        while let Some(frame) = reader.next_frame().unwrap() {
            match frame {
                Frame::Message(bytes) => {
                    text += &format!("{:?}\n", String::from_utf8_lossy(&bytes));
                }
                Frame::TooLong => text += "too long\n",
                Frame::Lost(loss) => {
                    text += &format!("lost: {loss}\n");
                    break;
                }
            }
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn a_brace_or_a_bracket_means_lines() {
        check(
            "{}\n[1]\n",
            expect![[r#"
            Lines
            "{}\n"
            "[1]\n"
        "#]],
        );
        check(
            "[1]\n",
            expect![[r#"
            Lines
            "[1]\n"
        "#]],
        );
    }

    #[test]
    fn a_letter_means_headers() {
        check(
            "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]",
            expect![[r#"
            Headers
            "{}"
            "[1]"
        "#]],
        );
    }

    #[test]
    fn blanks_and_a_byte_order_mark_may_come_first() {
        check(
            "\u{feff} \r\n\t{}\n",
            expect![[r#"
            Lines
            "{}\n"
        "#]],
        );
        check(
            "\u{feff}\r\nContent-Length: 2\r\n\r\n{}",
            expect![[r#"
            Headers
            "{}"
        "#]],
        );
    }

    #[test]
    fn framing_can_be_forced() {
        check_as(
            Some(Framing::Lines),
            "hello\n{}\n",
            expect![[r#"
            Lines
            "hello\n"
            "{}\n"
        "#]],
        );
        check_as(
            Some(Framing::Headers),
            "{}\n",
            expect![[r#"
            Headers
            lost: expected a header such as `Content-Length: 2`, found `{}`
        "#]],
        );
    }

    #[test]
    fn lines_may_end_in_crlf_be_blank_or_lack_their_end() {
        check(
            "{}\r\n\r\n  \n{}",
            expect![[r#"
            Lines
            "{}\r\n"
            "{}"
        "#]],
        );
    }

    #[test]
    fn header_names_have_no_case_and_other_headers_are_ignored() {
        check(
            "content-length: 2\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n{}CONTENT-LENGTH:3\n\n[1]",
            expect![[r#"
                Headers
                "{}"
                "[1]"
            "#]],
        );
    }

    #[test]
    fn blank_lines_between_messages_do_no_harm() {
        check(
            "Content-Length: 2\r\n\r\n{}\r\n\r\nContent-Length: 2\r\n\r\n{}",
            expect![[r#"
            Headers
            "{}"
            "{}"
        "#]],
        );
    }

    #[test]
    fn a_message_over_the_limit_is_read_past() {
        let long = "x".repeat(MAX_MESSAGE + 1);
        let fits = "x".repeat(MAX_MESSAGE);
        check(
            format!("{{{long}\n{fits}\n"),
            expect![[r#"
            Lines
            too long
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"
        "#]],
        );
        check(
            format!("Content-Length: 33\r\n\r\n{long}Content-Length: 32\r\n\r\n{fits}"),
            expect![[r#"
                Headers
                too long
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "#]],
        );
    }

    #[test]
    fn an_absurd_length_is_not_waited_for() {
        check(
            "Content-Length: 99999999999\r\n\r\n{}",
            expect![[r#"
            Headers
            lost: a message of 99999999999 bytes is not believed; the connection is closed
        "#]],
        );
    }

    #[test]
    fn a_stray_line_loses_the_place() {
        check(
            "Content-Length: 2\r\n\r\n{}Warning: a\nnot a header\n",
            expect![[r#"
            Headers
            "{}"
            lost: expected a header such as `Content-Length: 2`, found `not a header`
        "#]],
        );
        check(
            r#"Content-Length: 2

{}{"id": 1}
"#,
            expect![[r#"
            Headers
            "{}"
            lost: expected a header such as `Content-Length: 2`, found `{"id": 1}`
        "#]],
        );
    }

    #[test]
    fn headers_need_a_length() {
        check(
            "Content-Type: a\r\n\r\n{}",
            expect![[r#"
            Headers
            lost: the headers hold no `Content-Length`
        "#]],
        );
        check(
            "Content-Length: -1\r\n\r\n{}",
            expect![[r#"
            Headers
            lost: expected a header such as `Content-Length: 2`, found `Content-Length: -1`
        "#]],
        );
    }

    #[test]
    fn endless_headers_are_given_up() {
        check(
            format!("A: {}", "x".repeat(20_000)),
            expect![[r#"
            Headers
            lost: the headers of a message are longer than 16384 bytes
        "#]],
        );
    }

    #[test]
    fn a_message_that_breaks_off_is_not_a_message() {
        check(
            "Content-Length: 20\r\n\r\n{}",
            expect![[r#"
            Headers
        "#]],
        );
        check(
            "Content-Length: 2\r\n",
            expect![[r#"
            Headers
        "#]],
        );
        check(
            " ",
            expect![[r#"
            nothing
        "#]],
        );
    }

    #[test]
    fn writes_both_framings() {
        let written = |framing| {
            let mut output = Vec::new();
            write_message(&mut output, framing, "{\"a\":\r\n \"ß\"}".to_owned()).unwrap();
            String::from_utf8(output).unwrap()
        };
        assert_eq!(written(Framing::Lines), "{\"a\":   \"ß\"}\n");
        assert_eq!(
            written(Framing::Headers),
            "Content-Length: 13\r\n\r\n{\"a\":\r\n \"ß\"}"
        );
    }
}
