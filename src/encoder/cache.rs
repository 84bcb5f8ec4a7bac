//! Keeps the vectors of tools on disk, by the hashes of their texts, so that each is made once.
//!
//! The file, numbers little-endian: magic and version in 8 bytes; the width and the number of vectors, 4 bytes each;
//! for each vector its key and its bytes; the SHA-256 of all that. One that is not exactly so is as none. Those used
//! last stand first. Several processes write the file, so each leaves in it what the others have added.

use std::collections::HashSet;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(unix)]
use std::thread;
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use rustix::fs::FlockOperation;
#[cfg(unix)]
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use tracing::warn;

use crate::search::encoder::semantic::{Key, Vectors};
use crate::search::encoder::sentence::Sentence;

const MAGIC: &[u8; 8] = b"tcsent\0\x01";
const KEY: usize = 16;
const SUM: usize = 32;

/// A larger file is not ours.
const MAX_BYTES: u64 = 256 << 20;

/// How often and after which pause it is tried again to lock what another process has locked.
#[cfg(unix)]
const TRIES: u32 = 50;
#[cfg(unix)]
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A vector, and what its text is known by.
type Entry = (Key, Arc<Sentence>);

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
        let mut res = Vectors::default();
        for (key, sentence) in self.entries() {
            res.insert(key, sentence);
        }
        res
    }

    fn entries(&self) -> Vec<Entry> {
        let bytes = match self.bytes() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                warn!(path = %self.path.display(), %error, "the vectors of tools cannot be read, they are made anew");
                return Vec::new();
            }
        };
        parse(&bytes, self.width).unwrap_or_else(|| {
            warn!(path = %self.path.display(), "the vectors of tools are damaged, they are made anew");
            Vec::new()
        })
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        if fs::metadata(&self.path)?.len() > MAX_BYTES {
            return Err(io::Error::other("the file is too large"));
        }
        fs::read(&self.path)
    }

    /// Puts vectors into the file, in one step: whoever reads sees the old or the new ones.
    ///
    /// Those that are `used` come first. What another process has written stays behind them, and then come the others,
    /// as long as there are fewer than `limit`.
    pub fn write(&self, vectors: &Vectors, used: &HashSet<Key>, limit: usize) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
        let _lock = Lock::take(folder);
        let own = |is_used: bool| {
            let entries = vectors.iter().map(|(key, it)| (*key, it.clone()));
            entries.filter(move |(key, _)| used.contains(key) == is_used)
        };
        let mut entries: Vec<Entry> = own(true).collect();
        let mut seen: HashSet<Key> = entries.iter().map(|(key, _)| *key).collect();
        for (key, sentence) in self.entries().into_iter().chain(own(false)) {
            if entries.len() >= limit {
                break;
            }
            if seen.insert(key) {
                entries.push((key, sentence));
            }
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&format(entries, self.width))?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// Keeps other processes from writing between a reading and a writing. It is the folder that is locked, so that no file
/// is left over, and the system unlocks it when a process ends, however that comes.
struct Lock {
    #[cfg(unix)]
    _folder: fs::File,
}

impl Lock {
    /// After some patience, nothing: it is better to lose a few vectors than to wait for a process that hangs.
    #[cfg(unix)]
    fn take(folder: &Path) -> Option<Lock> {
        let folder = fs::File::open(folder).ok()?;
        for _ in 0..TRIES {
            match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(Lock { _folder: folder }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => thread::sleep(BETWEEN_TRIES),
                Err(_) => return None,
            }
        }
        None
    }

    #[cfg(not(unix))]
    fn take(_folder: &Path) -> Option<Lock> {
        None
    }
}

fn format(mut entries: Vec<Entry>, width: usize) -> Vec<u8> {
    // Only of the right width, so that the file is what its head says.
    entries.retain(|(_, sentence)| sentence.bytes().len() == width);
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

fn parse(bytes: &[u8], width: usize) -> Option<Vec<Entry>> {
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
    let mut res = Vec::with_capacity(rest.len() / size);
    for entry in rest.chunks_exact(size) {
        let (key, bytes) = entry.split_first_chunk::<KEY>()?;
        let sentence = Sentence::of_bytes(bytes.iter().map(|byte| *byte as i8).collect());
        res.push((Key(*key), Arc::new(sentence)));
    }
    Some(res)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn vectors(numbers: Range<usize>) -> Vectors {
        let mut res = Vectors::default();
        for number in numbers {
            let numbers = [number as f32, 1.0, -2.0];
            let sentence = Arc::new(Sentence::of_numbers(&numbers));
            res.insert(Key::of(&number.to_string()), sentence);
        }
        res
    }

    fn keys(numbers: Range<usize>) -> HashSet<Key> {
        let keys = numbers.map(|number| Key::of(&number.to_string()));
        keys.collect()
    }

    fn written(vectors: &Vectors) -> Vec<u8> {
        format(
            vectors.iter().map(|(key, it)| (*key, it.clone())).collect(),
            3,
        )
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
        for (written, kept) in [(3, 3), (0, 3), (20, 20)] {
            cache.write(&vectors(0..written), &keys(0..0), 50).unwrap();
            assert_eq!(all(&cache.read()), all(&vectors(0..kept)));
        }
        let another = Cache::new(cache.path.parent().unwrap(), "another", 3);
        assert!(another.read().is_empty());
        let files = fs::read_dir(cache.path.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "nothing else is left in the folder");
    }

    #[test]
    fn processes_keep_what_the_others_have_made() {
        let folder = tempfile::tempdir().unwrap();
        let caches: Vec<Cache> = (0..4)
            .map(|_| Cache::new(folder.path(), "model", 3))
            .collect();
        std::thread::scope(|scope| {
            for (number, cache) in caches.iter().enumerate() {
                scope.spawn(move || {
                    let all = 100 * number..100 * number + 20;
                    for end in all.clone() {
                        let made = all.start..end + 1;
                        cache
                            .write(&vectors(made.clone()), &keys(made), 1000)
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(caches[0].read().len(), 4 * 20);
    }

    #[test]
    fn those_used_last_are_kept_where_there_is_no_room_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), "model", 3);
        cache.write(&vectors(0..10), &keys(0..10), 20).unwrap();
        // These know the first ones too, but use only their own.
        cache.write(&vectors(0..18), &keys(10..18), 20).unwrap();
        cache.write(&vectors(20..30), &keys(20..30), 20).unwrap();
        let left = cache.read();
        assert_eq!(left.len(), 20);
        for key in keys(10..18).union(&keys(20..30)) {
            assert!(left.get(key).is_some());
        }
        // What is in use is never left out.
        cache.write(&vectors(0..30), &keys(0..30), 20).unwrap();
        assert_eq!(cache.read().len(), 30);
    }

    #[test]
    fn a_damaged_file_is_as_none() {
        let whole = written(&vectors(0..5));
        assert_eq!(parse(&whole, 3).unwrap().len(), 5);
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
        assert!(cache.write(&vectors(0..1), &keys(0..1), 50).is_err());
    }
}
