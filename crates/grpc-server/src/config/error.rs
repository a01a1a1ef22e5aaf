//! What is wrong with a configuration, said so that it can be put right.

use std::path::PathBuf;

/// A setting that cannot be used. The text names the setting, its value, where it comes from and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file `{path}`; check the path and its rights")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file's text cannot be used. The parser's message holds line, column and field.
    #[error("configuration file `{path}`: {message}")]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// A setting from the environment or the command line has the wrong type.
    #[error("`{field}` cannot be `{value}` (from {origin}): {message}")]
    Value {
        /// The setting.
        field: String,
        /// What was given.
        value: String,
        /// Where it was given.
        origin: String,
        /// What is wrong.
        message: String,
    },
    /// There is no such setting.
    #[error("there is no setting `{field}` (from {origin}); `agrajag serve --print-config` lists them all")]
    Unknown {
        /// What was given.
        field: String,
        /// Where it was given.
        origin: String,
    },
    /// A setting is outside its range or does not go with another one.
    #[error("`{field}` is `{value}`: {remedy}")]
    Range {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is wrong and what to do.
        remedy: String,
    },
    /// There is no place for the default store.
    #[error(
        "no place for the store: neither `XDG_DATA_HOME` nor `HOME` is set to an absolute path; name one with \
         `--store sqlite:PATH` or `AGRAJAG_STORE`"
    )]
    NoDataDirectory,
}
