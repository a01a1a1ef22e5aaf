//! The `agrajag` binary as a child process: what can be killed, and what says with an exit code how it ended.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result};

use crate::env;
use crate::wait;

/// A running child, killed with this value. Its output goes to a file.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

/// What a program wrote, and how it ended.
#[derive(Debug)]
pub struct Output {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The binary with nothing of this process's surroundings that could configure it, and a home below `home`.
#[must_use]
pub fn command(home: &Path) -> Command {
    isolated(Command::new(env::binary()), home)
}

/// The same, with a limit on the size of files, and without the signal that would end the process at it.
#[must_use]
pub fn limited_command(home: &Path, kib: u64) -> Command {
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"")).arg(env::binary());
    isolated(shell, home)
}

fn isolated(mut command: Command, home: &Path) -> Command {
    for (name, _) in std::env::vars_os() {
        let ours = name.to_str().is_none_or(|it| it.starts_with("AGRAJAG_"));
        if ours {
            command.env_remove(name);
        }
    }
    command.env("HOME", home).env_remove("XDG_DATA_HOME").env_remove("RUST_LOG").current_dir(home);
    command.stdin(Stdio::null());
    command
}

/// Runs a command of the binary to its end.
///
/// # Panics
///
/// If it cannot be started.
#[must_use]
pub fn run(mut command: Command) -> Output {
    let output = command.output().expect("the binary starts");
    Output {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Process {
    /// Starts it; what it prints goes to `log`, behind what is there.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or the program not be started.
    pub fn start(mut command: Command, log: &Path) -> Result<Self> {
        let file = File::options().create(true).append(true).open(log).context("cannot open the log")?;
        let other = file.try_clone().context("cannot open the log twice")?;
        let child = command.stdout(file).stderr(other).spawn().context("cannot start the binary")?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// Kills it as nothing can be caught: `kill -9`.
    ///
    /// # Panics
    ///
    /// If the system refuses.
    pub fn kill(&mut self) {
        self.child.kill().expect("the child is killed");
        self.child.wait().expect("the child is gone");
    }

    /// Asks it to end, as a service manager does: SIGTERM.
    ///
    /// # Panics
    ///
    /// If there is no such process.
    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` runs");
        assert!(sent.success(), "no process {pid}");
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub async fn ended(&mut self) -> ExitStatus {
        wait::until("the process ends", async || self.child.try_wait().expect("a child of ours")).await
    }

    /// Whether it runs.
    ///
    /// # Panics
    ///
    /// If the system does not know.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// What it has printed so far.
    #[must_use]
    pub fn printed(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a child that is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- printed by the server:\n{}---", self.printed());
        }
    }
}
