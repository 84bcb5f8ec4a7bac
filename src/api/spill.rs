//! Keeps a result that is too long for the model whole, in a file of this user's own.

use std::path::{Path, PathBuf};

use tracing::warn;

use crate::catalog::Tool;
use crate::output::Long;

/// The file's path; `None` where it could not be written, which is logged.
pub async fn spill(folder: Option<&Path>, tool: &Tool, long: &Long) -> Option<PathBuf> {
    let folder = folder.map_or_else(default_folder, Path::to_owned);
    let prefix = format!("{}-", tool.exposed);
    let (text, suffix) = (long.text.clone(), format!(".{}", long.extension));
    let write = move || -> std::io::Result<PathBuf> {
        create_private(&folder)?;
        // Made with mode 0600.
        let mut file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(&suffix)
            .tempfile_in(&folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(path)
    };
    match tokio::task::spawn_blocking(write).await {
        Ok(Ok(path)) => Some(path),
        Ok(Err(error)) => {
            warn!(tool = %tool.exposed, %error, "a long result could not be kept");
            None
        }
        Err(error) => {
            warn!(tool = %tool.exposed, %error, "a long result could not be kept");
            None
        }
    }
}

/// Of this user alone: the system's temporary folder is everybody's.
fn default_folder() -> PathBuf {
    let owner = std::env::var("USER").unwrap_or_else(|_| "user".to_owned());
    std::env::temp_dir().join(format!("toolcrib-{owner}"))
}

#[cfg(unix)]
fn create_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}
