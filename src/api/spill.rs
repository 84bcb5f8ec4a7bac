//! Keeps a result that is too long for the model whole, in a file of this user's own.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::sync::OnceCell;
use tracing::warn;

use crate::catalog::Tool;
use crate::output::Long;

/// The folder of long results where the configuration names none: this process's own, made when it is first needed.
#[derive(Default)]
pub struct SpillFolder(OnceCell<Option<TempDir>>);

impl SpillFolder {
    /// `None` where it cannot be made, which is logged.
    async fn path(&self) -> Option<&Path> {
        // A new folder with a random name and mode 0700: the system's temporary one is everybody's.
        let make = || async {
            let made = tempfile::Builder::new().prefix("toolcrib-").tempdir();
            made.inspect_err(|error| warn!(%error, "there is no folder for long results"))
                .ok()
        };
        self.0.get_or_init(make).await.as_ref().map(TempDir::path)
    }

    /// Removes the folder and the results in it.
    pub fn remove(&self) {
        if let Some(Some(folder)) = self.0.get()
            && let Err(error) = std::fs::remove_dir_all(folder.path())
            && error.kind() != io::ErrorKind::NotFound
        {
            warn!(%error, "the folder of long results could not be removed");
        }
    }
}

/// The file's path; `None` where it could not be written, which is logged.
pub async fn spill(
    configured: Option<&Path>,
    own: &SpillFolder,
    tool: &Tool,
    long: &Long,
) -> Option<PathBuf> {
    let folder = match configured {
        Some(folder) => folder,
        None => own.path().await?,
    };
    let folder = folder.to_owned();
    let prefix = format!("{}-", tool.exposed);
    let (text, suffix) = (long.text.clone(), format!(".{}", long.extension));
    let write = move || -> io::Result<PathBuf> {
        create_private(&folder)?;
        // Made with a random name and mode 0600.
        let mut file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(&suffix)
            .tempfile_in(&folder)?;
        file.write_all(text.as_bytes())?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(path)
    };
    let written = tokio::task::spawn_blocking(write).await;
    match written.map_err(io::Error::other).and_then(|it| it) {
        Ok(path) => Some(path),
        Err(error) => {
            warn!(tool = %tool.exposed, %error, "a long result could not be kept");
            None
        }
    }
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}
