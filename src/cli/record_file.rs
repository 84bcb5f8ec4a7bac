//! Which file searches may be recorded in: a regular one, which nobody else can read.

use std::fs::{self, File, FileType, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::process::geteuid;

/// Why a file cannot be recorded in.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("it is {0} and no regular file")]
    Irregular(&'static str),
    #[error("it is a symbolic link to nothing")]
    Dangling,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A file that is ready to be appended to.
#[derive(Debug)]
pub struct Opened {
    pub file: File,
    /// What its owner should know of it.
    pub warning: Option<String>,
}

/// Opens a file to append to and to read; makes it where there is none, and takes it from the eyes of others.
///
/// Never waits, as opening a named pipe does that nobody reads.
pub fn open(path: &Path) -> Result<Opened, OpenError> {
    // Opening alone can do something to a device.
    match fs::metadata(path) {
        Ok(metadata) => require_regular(metadata.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            return Err(OpenError::Dangling);
        }
        // Whatever else is wrong, opening tells too.
        Err(_) => {}
    }
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    // Another may stand there by now.
    require_regular(file.metadata()?.file_type())?;
    let is_private = keep_private(&file, geteuid().as_raw())?;
    let warning = (!is_private).then(|| {
        format!(
            "others may read the searches that are recorded in `{}`: it is not ours to forbid",
            path.display()
        )
    });
    Ok(Opened { file, warning })
}

fn require_regular(kind: FileType) -> Result<(), OpenError> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(OpenError::Irregular(what))
}

/// Keeps all but its owner from a file, if that is `me`; says whether nobody else can read it then.
fn keep_private(file: &File, me: u32) -> io::Result<bool> {
    let of_others = |mode: u32| mode & 0o077;
    let metadata = file.metadata()?;
    if metadata.uid() == me && of_others(metadata.mode()) != 0 {
        // Some file systems refuse, and some only seem to obey.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
    }
    let metadata = file.metadata()?;
    Ok(metadata.uid() == me && of_others(metadata.mode()) == 0)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_new_file_and_one_that_others_could_read_are_for_their_owner_alone() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("new.jsonl");
        assert_eq!(open(&path).unwrap().warning, None);
        assert_eq!(mode(&path), 0o600);
        let path = folder.path().join("old.jsonl");
        fs::write(&path, "{}\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let link = folder.path().join("link.jsonl");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(open(&link).unwrap().warning, None);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    }

    #[test]
    fn the_file_of_another_is_left_as_it_is() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("theirs.jsonl");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        let file = File::open(&path).unwrap();
        let me = file.metadata().unwrap().uid();
        assert!(!keep_private(&file, me + 1).unwrap());
        assert_eq!(mode(&path), 0o666);
        assert!(keep_private(&file, me).unwrap());
    }
}
