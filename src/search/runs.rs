//! Where the words of a text may be: its runs of letters and digits, looked for in many bytes at a time.

use std::ops::Range;

/// What is in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Letters and digits of ASCII, and no capitals but the first letter.
    Plain,
    /// Those, and capitals further on.
    Mixed,
    /// Characters beyond ASCII, each of which passes for a letter here.
    Wide,
}

/// Calls `take` with every run of letters and digits, in order, and with what is in it.
///
/// Most words are so short that to go through them byte by byte costs less than to find out each time, at their ends,
/// that the processor guessed wrong about their lengths.
pub(super) fn each(text: &str, mut take: impl FnMut(Range<usize>, Shape)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let block = Block::of(&bytes[at..]);
        let goes_on = bytes.len() - at > Block::LENGTH;
        let mut letters = block.letters;
        at += loop {
            if letters == 0 {
                break Block::LENGTH;
            }
            // To add one at the end of a run carries through all of it.
            let others = letters & letters.wrapping_add(letters & letters.wrapping_neg());
            let run = letters ^ others;
            let start = run.trailing_zeros() as usize;
            let end = Block::LENGTH - run.leading_zeros() as usize;
            if end == Block::LENGTH && goes_on {
                if start > 0 {
                    break start;
                }
                let run = long_run(&bytes[at..]);
                take(at..at + run.len(), shape(run));
                break run.len();
            }
            take(at + start..at + end, block.shape(run));
            letters = others;
        };
    }
}

/// The first bytes, as many as there are to be but at least one and at most eight, as a number.
pub(super) fn eight(bytes: &[u8], length: usize) -> u64 {
    match bytes.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * length.min(8))),
        None => bytes[..length]
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Bytes of a text, a bit each.
#[derive(Default)]
struct Block {
    letters: u64,
    capitals: u64,
    wide: u64,
}

impl Block {
    const LENGTH: usize = 64;

    fn of(bytes: &[u8]) -> Block {
        let mut res = Block::default();
        for (at, bytes) in bytes.chunks(8).take(8).enumerate() {
            res.add(eight(bytes, bytes.len()), 8 * at);
        }
        res
    }

    fn add(&mut self, eight: u64, at: usize) {
        // Seven bits of each byte, so that a sum stays within its byte and its top bit says whether it is so large.
        let low = eight & each_byte(0x7f);
        let small = low | each_byte(0x20);
        let between = |bytes: u64, first: u8, last: u8| {
            (bytes + each_byte(0x80 - first)) & !(bytes + each_byte(0x7f - last))
        };
        let letters = between(small, b'a', b'z');
        let capitals = letters & !(low + each_byte(0x80 - b'a'));
        let digits = between(low, b'0', b'9');
        self.letters |= top_bits(letters | digits | eight) << at;
        self.capitals |= top_bits(capitals) << at;
        if eight & each_byte(0x80) != 0 {
            self.wide |= top_bits(eight) << at;
        }
    }

    fn shape(&self, run: u64) -> Shape {
        let but_first = run & (run - 1);
        if self.wide & run != 0 {
            Shape::Wide
        } else if self.capitals & but_first != 0 {
            Shape::Mixed
        } else {
            Shape::Plain
        }
    }
}

const fn each_byte(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The top bits of eight bytes, that of the first byte lowest.
fn top_bits(bytes: u64) -> u64 {
    // Each bit is moved by another seven places less, and no two of them to the same.
    ((bytes & each_byte(0x80)) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The run at the start of a text, of whatever length.
fn long_run(text: &[u8]) -> &[u8] {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let end = text.iter().position(|byte| !is_letter(byte));
    &text[..end.unwrap_or(text.len())]
}

fn shape(run: &[u8]) -> Shape {
    if !run.is_ascii() {
        Shape::Wide
    } else if run[1..].iter().any(u8::is_ascii_uppercase) {
        Shape::Mixed
    } else {
        Shape::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, a byte at a time.
    fn plainly(text: &str) -> Vec<(Range<usize>, Shape)> {
        let bytes = text.as_bytes();
        let mut res = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let run = long_run(&bytes[at..]);
            if run.is_empty() {
                at += 1;
            } else {
                res.push((at..at + run.len(), shape(run)));
                at += run.len();
            }
        }
        res
    }

    fn check(text: &str) {
        let mut found = Vec::new();
        each(text, |run, shape| found.push((run, shape)));
        assert_eq!(found, plainly(text), "{text:?}");
    }

    #[test]
    fn every_byte_is_a_letter_or_is_none() {
        for first in '\0'..='\u{ff}' {
            check(&format!("{first}"));
            check(&format!("a{first}b {first}a"));
        }
    }

    #[test]
    fn finds_runs_wherever_they_lie_in_a_block() {
        let words = "a bc, dEf Ghij-klMno/pqrstu É vwxyz0 1234567_ü ";
        let text = words.repeat(5);
        for start in 0..words.len() {
            for end in start..text.len() {
                if text.is_char_boundary(start) && text.is_char_boundary(end) {
                    check(&text[start..end]);
                }
            }
        }
    }

    #[test]
    fn finds_runs_of_any_length() {
        for length in 0..300 {
            let long = "x".repeat(length);
            check(&long);
            check(&format!("{long} {long}"));
            check(&format!(" {long}X."));
            check(&format!("é{long}é-{long}"));
        }
    }
}
