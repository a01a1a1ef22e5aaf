//! The virtual environment for the Python client test.
//!
//! Owns where it is and when it is stale. What is installed into it stands in `tests/python/requirements.txt`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// The environment variable in which tests find the interpreter.
pub(crate) const VARIABLE: &str = "AGRAJAG_TEST_PYTHON";

/// Makes the environment if it is absent or was made from other requirements; gives back its interpreter.
pub(crate) fn prepare() -> Result<PathBuf> {
    let requirements = workspace::root().join("tests/python/requirements.txt");
    let wanted =
        fs::read(&requirements).with_context(|| format!("cannot read `{}`", requirements.display()))?;
    let venv = workspace::target().join("python-venv");
    let python = venv.join("bin/python");
    // A copy, written last: a half-made environment has none.
    let stamp = venv.join("requirements.txt");
    if python.is_file() && fs::read(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(python);
    }
    let base = find_or_install()?;
    process::run(Command::new(base).args(["-m", "venv", "--clear"]).arg(&venv))?;
    process::run(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(&requirements),
    )?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write `{}`", stamp.display()))?;
    Ok(python)
}

/// A Python that can make virtual environments with pip in them.
fn find_or_install() -> Result<PathBuf> {
    if let Some(python) = find() {
        return Ok(python);
    }
    if process::is_root() && process::find("apt-get").is_some() {
        process::run(Command::new("apt-get").arg("update"))?;
        process::run(
            Command::new("apt-get")
                .args(["install", "-y", "--no-install-recommends", "python3", "python3-venv"])
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )?;
    }
    find().context(
        "no Python of version 3.10 or newer with the modules `venv` and `ensurepip`; install python3-venv",
    )
}

fn find() -> Option<PathBuf> {
    let names = ["python3", "python3.13", "python3.12", "python3.11", "python3.10"];
    let fixed = Path::new("/usr/bin/python3");
    names.into_iter().filter_map(process::find).chain([fixed.to_path_buf()]).find(|python| {
        let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
        process::output(Command::new(python).args(["-c", check])).is_ok()
    })
}
