//! JSON pointers (RFC 6901).

use std::borrow::Cow;

/// The pointer of a member of what `parent` points at.
pub fn child(parent: &str, key: &str) -> String {
    format!("{parent}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The keys of a pointer, from the root.
pub fn keys(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|key| {
        if key.contains('~') {
            Cow::Owned(key.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(key)
        }
    })
}

/// The pointer up to its `n`th key.
pub fn head(pointer: &str, n: usize) -> &str {
    match pointer.match_indices('/').nth(n) {
        Some((end, _)) => &pointer[..end],
        None => pointer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_as_they_went_in() {
        let pointer = child(&child("", "a/b"), "~1");
        assert_eq!(pointer, "/a~1b/~01");
        assert_eq!(keys(&pointer).collect::<Vec<_>>(), ["a/b", "~1"]);
        assert_eq!(keys("").count(), 0);
    }

    #[test]
    fn heads_are_cut_at_keys() {
        let cut = ["/a/b/c", "/a/b", "/a", ""].map(|pointer| head(pointer, 2));
        assert_eq!(cut, ["/a/b", "/a/b", "/a", ""]);
    }
}
