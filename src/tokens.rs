//! What the definition of a tool costs a model, as near as one gets without its vocabulary.
//!
//! Characters over four: the rule that hosts and users know, and compare their own numbers with.
//! On 180 real servers it is 8 % high on the whole and at most 37 % off, which moves no decision by much:
//! a threshold of a tenth of the context is itself a rough guess.

/// The characters of a text, as a person counts code points.
pub fn characters(text: &str) -> usize {
    // Every code point has one byte that is not a continuation of another.
    text.bytes().filter(|byte| byte & 0xc0 != 0x80).count()
}

/// The tokens of so many characters; to be rounded up once, for all of them together.
pub fn of_characters(characters: usize) -> u64 {
    characters.div_ceil(4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_code_points() {
        assert_eq!(characters("aä中🚨"), 4);
        assert_eq!(characters(""), 0);
    }

    #[test]
    fn rounds_up_once() {
        assert_eq!(of_characters(0), 0);
        assert_eq!(of_characters(1), 1);
        assert_eq!(of_characters(4), 1);
        assert_eq!(of_characters(5 + 5), 3);
    }
}
