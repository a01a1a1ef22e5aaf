//! Running other programs, loudly: every command line is printed before it runs.
//!
//! Knows nothing of what the programs are for.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A `cargo` command that runs in the workspace root, with the cargo that started this program.
pub(crate) fn cargo<I, S>(args: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(workspace::root());
    // Set for this program by `cargo run`; they would make every nested build look different from a plain one.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    command
}

/// Runs the command with this program's terminal, and fails unless it exits with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", line(command));
    let status = command.status().with_context(|| format!("cannot start `{}`", program(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", line(command));
    }
    Ok(())
}

/// Runs the command quietly and gives back its standard output; on failure the error carries what it said.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", program(command)))?;
    if !done.status.success() {
        bail!(
            "`{}` failed: {}\n{}{}",
            line(command),
            done.status,
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    }
    String::from_utf8(done.stdout)
        .with_context(|| format!("`{}` printed bytes that are not UTF-8", program(command)))
}

/// The first folder of `PATH` that holds an executable of that name, as the full path of the executable.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| is_executable(file))
}

/// Whether this process runs as root.
pub(crate) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// The command as a person would type it; the folder of the program is left out.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    command.get_args().fold(name, |mut line, arg| {
        line.push(' ');
        line.push_str(&quoted(&arg.to_string_lossy()));
        line
    })
}

fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@+%".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) {
        arg.to_owned()
    } else {
        format!("'{}'", arg.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_prints_as_it_would_be_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["run", "it's", "", "a=b"]);
        assert_eq!(line(&command), r"cargo run 'it'\''s' '' a=b");
    }

    #[test]
    fn the_error_of_a_failed_command_carries_its_output() {
        let error = output(Command::new("sh").args(["-c", "echo told; echo why >&2; exit 3"]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("told") && error.contains("why") && error.contains('3'), "{error}");
    }
}
