//! Groups of flags that several commands share, and how they become messages.
//!
//! Flags say what a person can say in one line. What they say wins over a request file, and that over the defaults.
//! Knows no command and opens no connection.

pub(crate) mod call;
pub(crate) mod caller;
pub(crate) mod failure;
pub(crate) mod key;
pub(crate) mod rules;
pub(crate) mod time;
pub(crate) mod tool;

use std::fs::File;
use std::io::{self, Read};

use crate::error::Error;

/// Reads at most `limit` bytes of a file, or of standard input for `-`. Bytes that are no text are replaced. `flag` is
/// empty for a file that stands alone.
///
/// # Errors
///
/// [`Error::Input`] naming flag and file if it cannot be read.
pub(crate) fn read(flag: &str, file: &str, limit: u64) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let result = if file == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|it| it.take(limit).read_to_end(&mut bytes))
    };
    match result {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(Error::input(
            // A file that stands alone on the command line has no flag to be named.
            format!("`{}` cannot be read: {error}", format!("{flag} {file}").trim_start()),
            "name a file that you may read, or `-` for standard input",
        )),
    }
}
