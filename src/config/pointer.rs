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

/// Whether a pointer is `parent` or points into it.
pub fn is_within(pointer: &str, parent: &str) -> bool {
    pointer
        .strip_prefix(parent)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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
    fn a_longer_name_is_not_within() {
        assert!(is_within("/a/b", "/a") && is_within("/a", "/a"));
        assert!(!is_within("/ab", "/a"));
    }
}
