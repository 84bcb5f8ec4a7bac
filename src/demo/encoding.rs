//! Bytes as text: base64, hexadecimal digits and percent signs.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for nth in 0..4 {
            if nth <= chunk.len() {
                let digit = (group >> (18 - 6 * nth)) & 63;
                text.push(BASE64[digit as usize] as char);
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Takes both alphabets, and leaves out padding and line breaks.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let plain = text.trim().trim_end_matches('=').bytes();
    let digits: Option<Vec<u32>> = plain
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'-' => Some(62),
            b'_' => Some(63),
            byte => BASE64
                .iter()
                .position(|digit| *digit == byte)
                .map(|at| at as u32),
        })
        .collect();
    let mut bytes = Vec::new();
    for chunk in digits?.chunks(4) {
        if chunk.len() == 1 {
            return None;
        }
        let group = chunk.iter().fold(0, |group, digit| group << 6 | digit);
        let group = group << (6 * (4 - chunk.len()));
        bytes.extend(&group.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    Some(pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// As in the query of an address: everything but letters, digits and `-._~`.
pub fn to_percent(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            text.push(*byte as char);
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

pub fn from_percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte == b'%' {
            let digits = behind.get(..2)?;
            bytes.extend(from_hex(std::str::from_utf8(digits).ok()?)?);
            rest = &behind[2..];
        } else {
            bytes.push(*byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_gives_back_what_it_was_given() {
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7 % 256) as u8).collect();
            assert_eq!(from_base64(&to_base64(&bytes)).as_ref(), Some(&bytes));
            assert_eq!(from_hex(&to_hex(&bytes)).as_ref(), Some(&bytes));
            assert_eq!(from_percent(&to_percent(&bytes)).as_ref(), Some(&bytes));
        }
    }

    #[test]
    fn writes_what_others_write() {
        assert_eq!(to_base64(b"toolcrib"), "dG9vbGNyaWI=");
        assert_eq!(to_base64(b"ab"), "YWI=");
        assert_eq!(to_base64(b"a"), "YQ==");
        assert_eq!(to_hex(b"\x00\xff"), "00ff");
        assert_eq!(to_percent("a b/ü".as_bytes()), "a%20b%2F%C3%BC");
    }

    #[test]
    fn refuses_what_is_not_encoded() {
        assert_eq!(from_base64("a"), None);
        assert_eq!(from_base64("a*b="), None);
        assert_eq!(from_hex("abc"), None);
        assert_eq!(from_hex("xy"), None);
        assert_eq!(from_percent("100%"), None);
        assert_eq!(from_percent("%+f"), None);
    }
}
