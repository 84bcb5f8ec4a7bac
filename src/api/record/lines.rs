//! Adds whole lines to a file that others may append to as well.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// What lines can be added to.
pub(super) trait Append {
    fn append(&mut self, line: &str) -> io::Result<()>;
}

/// A file that lines are added to.
pub(super) struct Lines {
    file: File,
    /// Whether its last line may have been begun and not ended. It is looked at only then: another process may be in the
    /// midst of a line, which is its own to end.
    is_doubtful: bool,
}

impl Lines {
    pub fn new(file: File) -> Lines {
        Lines {
            file,
            is_doubtful: true,
        }
    }
}

impl Append for Lines {
    fn append(&mut self, line: &str) -> io::Result<()> {
        let is_at_start = !self.is_doubtful || is_at_start_of_line(&self.file)?;
        let written = write_line(&mut self.file, is_at_start, line);
        self.is_doubtful = written.is_err();
        written
    }
}

/// Whether a file has no line that was begun and not ended.
fn is_at_start_of_line(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    // Nothing is read where the file was emptied meanwhile.
    let n_read = file.read_at(&mut byte, last)?;
    Ok(n_read == 0 || byte == *b"\n")
}

/// Writes a line in one piece, so that the lines of others who append to the file come before or after it.
fn write_line(file: &mut impl Write, is_at_start: bool, line: &str) -> io::Result<()> {
    let start = if is_at_start { "" } else { "\n" };
    let text = format!("{start}{line}\n");
    loop {
        return match file.write(text.as_bytes()) {
            Ok(written) if written == text.len() => Ok(()),
            // What is missing could only follow what another has written by now.
            Ok(_) => Err(io::Error::other("there was no room for all of it")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps each write; takes no more than so many bytes of one.
    struct Writes {
        most: usize,
        all: Vec<String>,
    }

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = &bytes[..bytes.len().min(self.most)];
            self.all.push(String::from_utf8(taken.to_vec()).unwrap());
            Ok(taken.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_in_one_piece_or_given_up() {
        let mut writes = Writes {
            most: 6,
            all: Vec::new(),
        };
        write_line(&mut writes, true, "{one}").unwrap();
        write_line(&mut writes, true, "{three}").unwrap_err();
        write_line(&mut writes, false, "{2}").unwrap();
        assert_eq!(writes.all, ["{one}\n", "{three", "\n{2}\n"]);
    }

    #[test]
    fn a_line_that_was_not_ended_stays_alone() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{torn").unwrap();
        let mut lines = Lines::new(file);
        lines.append("{1}").unwrap();
        lines.append("{2}").unwrap();
        // As after a write for which there was no room.
        lines.file.write_all(b"{torn").unwrap();
        lines.is_doubtful = true;
        lines.append("{3}").unwrap();
        let mut text = vec![0; 64];
        let n_read = lines.file.read_at(&mut text, 0).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&text[..n_read]),
            "{torn\n{1}\n{2}\n{torn\n{3}\n"
        );
    }
}
