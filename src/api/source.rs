//! Where the configuration comes from, to be read now and again on reload.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::api::error::ApiError;
use crate::api::types::ConfigSource;
use crate::config::{self, Parsed};
use crate::config_file::{self, Place, ReadError};
use crate::hub::Loaded;

#[derive(Debug, Clone)]
pub enum Source {
    /// This file.
    File(PathBuf),
    /// The first file of the search order that is there.
    Search,
    /// The value itself.
    Inline(Map<String, Value>),
}

impl Source {
    pub fn of_host(source: &ConfigSource) -> Result<Source, ApiError> {
        match (&source.path, &source.inline) {
            (Some(path), None) => Ok(Source::File(path.into())),
            (None, Some(inline)) => Ok(Source::Inline(inline.clone())),
            _ => Err(ApiError::InvalidParams(
                "`config` needs either `path` or `inline`".to_owned(),
            )),
        }
    }

    /// Reads it. Where the search finds nothing the configuration is empty.
    pub fn load(&self) -> Result<Loaded, ReadError> {
        let named = match self {
            Source::Inline(value) => {
                let base = std::env::current_dir().unwrap_or_default();
                let parsed = config::parse_value(value, &base, config_file::lookup);
                return Ok(Loaded { path: None, parsed });
            }
            Source::File(path) => Some(path.as_path()),
            Source::Search => None,
        };
        match config_file::locate(named) {
            Place::File(path) => Ok(Loaded {
                parsed: config_file::load(&path)?,
                path: Some(path),
            }),
            Place::Nowhere(_) => Ok(Loaded {
                path: None,
                parsed: Parsed::default(),
            }),
        }
    }

    /// As `load`; what cannot be read counts as an empty configuration with a problem.
    pub fn load_leniently(&self) -> Loaded {
        self.load().unwrap_or_else(|error| {
            let parsed = Parsed {
                problems: vec![error.problem()],
                ..Parsed::default()
            };
            Loaded { path: None, parsed }
        })
    }
}
