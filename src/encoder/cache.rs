//! Keeps the vectors of tools on disk, by the hashes of their texts, so that each is made once.
//!
//! The file, numbers little-endian: magic and version in 8 bytes; the width and the number of vectors, 4 bytes each;
//! for each vector its key and its bytes; the SHA-256 of all that. One that is not exactly so is as none.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tracing::warn;

use crate::search::encoder::semantic::{Key, Vectors};
use crate::search::encoder::sentence::Sentence;

const MAGIC: &[u8; 8] = b"tcsent\0\x01";
const KEY: usize = 16;
const SUM: usize = 32;

/// A larger file is not ours.
const MAX_BYTES: u64 = 256 << 20;

pub struct Cache {
    path: PathBuf,
    width: usize,
}

impl Cache {
    /// The vectors of one model; another model's are in another file.
    pub fn new(folder: &Path, fingerprint: &str, width: usize) -> Cache {
        Cache {
            path: folder.join(format!("vectors-{fingerprint}.bin")),
            width,
        }
    }

    /// What was written last; nothing where that is damaged, not there or not to be read.
    pub fn read(&self) -> Vectors {
        let bytes = match self.bytes() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vectors::default(),
            Err(error) => {
                warn!(path = %self.path.display(), %error, "the vectors of tools cannot be read, they are made anew");
                return Vectors::default();
            }
        };
        parse(&bytes, self.width).unwrap_or_else(|| {
            warn!(path = %self.path.display(), "the vectors of tools are damaged, they are made anew");
            Vectors::default()
        })
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        if fs::metadata(&self.path)?.len() > MAX_BYTES {
            return Err(io::Error::other("the file is too large"));
        }
        fs::read(&self.path)
    }

    /// Puts the vectors in place of those written before, in one step: whoever reads sees the old or the new ones.
    pub fn write(&self, vectors: &Vectors) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&format(vectors, self.width))?;
        file.persist(&self.path)?;
        Ok(())
    }
}

fn format(vectors: &Vectors, width: usize) -> Vec<u8> {
    // Only of the right width, so that the file is what its head says.
    let entries: Vec<(&Key, &Arc<Sentence>)> = vectors
        .iter()
        .filter(|(_, sentence)| sentence.bytes().len() == width)
        .collect();
    let mut res = Vec::with_capacity(16 + entries.len() * (KEY + width) + SUM);
    res.extend(MAGIC);
    res.extend((width as u32).to_le_bytes());
    res.extend((entries.len() as u32).to_le_bytes());
    for (key, sentence) in entries {
        res.extend(key.0);
        res.extend(sentence.bytes().iter().map(|byte| *byte as u8));
    }
    let sum = Sha256::digest(&res);
    res.extend(sum);
    res
}

fn parse(bytes: &[u8], width: usize) -> Option<Vectors> {
    let (bytes, sum) = bytes.split_last_chunk::<SUM>()?;
    if Sha256::digest(bytes).as_slice() != sum {
        return None;
    }
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (written_width, rest) = rest.split_first_chunk::<4>()?;
    let (n_vectors, rest) = rest.split_first_chunk::<4>()?;
    let size = KEY + width;
    let is_whole = magic == MAGIC
        && u32::from_le_bytes(*written_width) as usize == width
        && u32::from_le_bytes(*n_vectors) as usize * size == rest.len();
    if !is_whole {
        return None;
    }
    let mut res = Vectors::default();
    for entry in rest.chunks_exact(size) {
        let (key, bytes) = entry.split_first_chunk::<KEY>()?;
        let sentence = Sentence::of_bytes(bytes.iter().map(|byte| *byte as i8).collect());
        res.insert(Key(*key), Arc::new(sentence));
    }
    Some(res)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(n: usize) -> Vectors {
        let mut res = Vectors::default();
        for number in 0..n {
            let numbers = [number as f32, 1.0, -2.0];
            let sentence = Arc::new(Sentence::of_numbers(&numbers));
            res.insert(Key::of(&number.to_string()), sentence);
        }
        res
    }

    fn all(vectors: &Vectors) -> Vec<(Key, Sentence)> {
        let mut res: Vec<_> = vectors
            .iter()
            .map(|(key, it)| (*key, (**it).clone()))
            .collect();
        res.sort_by_key(|(key, _)| *key);
        res
    }

    #[test]
    fn what_was_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(&folder.path().join("not/there/yet"), "model", 3);
        assert!(cache.read().is_empty());
        for n in [3, 0, 20] {
            cache.write(&vectors(n)).unwrap();
            assert_eq!(all(&cache.read()), all(&vectors(n)));
        }
        let another = Cache::new(cache.path.parent().unwrap(), "another", 3);
        assert!(another.read().is_empty());
        let files = fs::read_dir(cache.path.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "nothing else is left in the folder");
    }

    #[test]
    fn a_damaged_file_is_as_none() {
        let whole = format(&vectors(5), 3);
        assert_eq!(all(&parse(&whole, 3).unwrap()), all(&vectors(5)));
        assert!(parse(&whole, 4).is_none());
        for end in 0..whole.len() {
            assert!(parse(&whole[..end], 3).is_none(), "{end} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(parse(&damaged, 3).is_none(), "byte {at}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), "model", 3);
        fs::create_dir(&cache.path).unwrap();
        assert!(cache.read().is_empty());
        assert!(cache.write(&vectors(1)).is_err());
    }
}
