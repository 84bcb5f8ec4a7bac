//! Cuts a server's output into lines, however it comes and however long they are.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is held in memory.
pub const MAX_LINE: usize = 64 << 20;

/// What is kept of either end of a line that is longer.
const KEPT: usize = 4 << 10;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// Its beginning and its end: enough to find out which request it answers.
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
    },
}

/// The lines of one stream.
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// The last bytes of a line that is too long already.
    tail: Option<Vec<u8>>,
    max: usize,
    /// Bytes read so far.
    pub bytes: u64,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(reader: R, max: usize) -> Lines<R> {
        Lines {
            reader: BufReader::with_capacity(64 << 10, reader),
            line: Vec::new(),
            tail: None,
            max,
            bytes: 0,
        }
    }

    /// The next line, or `None` at the end; a last line needs no end of its own.
    ///
    /// Dropping the future loses nothing: what was read so far is kept here.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                let is_rest = !self.line.is_empty() || self.tail.is_some();
                return Ok(is_rest.then(|| self.take()));
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            keep(&mut self.line, &mut self.tail, part, self.max);
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.bytes += used as u64;
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    /// The stream itself, for whoever only wants to see its end.
    pub fn into_inner(self) -> R {
        self.reader.into_inner()
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        match self.tail.take() {
            Some(tail) => Line::TooLong { head: line, tail },
            None => Line::Whole(line),
        }
    }
}

fn keep(line: &mut Vec<u8>, tail: &mut Option<Vec<u8>>, part: &[u8], max: usize) {
    if tail.is_none() {
        if line.len() + part.len() <= max {
            line.extend_from_slice(part);
            return;
        }
        let start = line.len().saturating_sub(KEPT);
        *tail = Some(line[start..].to_vec());
        line.truncate(KEPT);
        line.shrink_to_fit();
    }
    if let Some(tail) = tail {
        tail.extend_from_slice(part);
        let surplus = tail.len().saturating_sub(KEPT);
        tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], max: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, max);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        assert_eq!(lines.bytes, text.len() as u64);
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn the_last_line_needs_no_end() {
        assert_eq!(
            read(b"a\n\nb", 10).await,
            [whole("a"), whole(""), whole("b")]
        );
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_keeps_its_ends_and_the_next_line_is_whole() {
        let long = format!("head{}tail\nnext\n", "x".repeat(300_000));
        let lines = read(long.as_bytes(), 100_000).await;
        let Line::TooLong { head, tail } = &lines[0] else {
            panic!("{lines:?}");
        };
        assert!(head.starts_with(b"head") && head.len() <= KEPT);
        assert!(tail.ends_with(b"tail") && tail.len() <= KEPT);
        assert_eq!(lines[1..], [whole("next")]);
    }
}
