//! Throw-away PostgreSQL clusters for tests.
//!
//! Owns finding (or, as root, installing) PostgreSQL, starting a cluster on a free loopback port, and ending it in every
//! case: a keeper process holds the other end of a pipe and stops the cluster when this program is gone, killed or
//! not. Knows nothing of the product's schema.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::{process, workspace};

/// The user that runs the cluster when this program is root, because PostgreSQL refuses to run as root.
const SYSTEM_USER: &str = "postgres";

/// Another process may take the free port between the look and the start; then the next one is tried.
const START_ATTEMPTS: usize = 5;

/// Whether a cluster's commits reach the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Durability {
    /// PostgreSQL as it comes: for tests that kill processes and for measurements.
    Durable,
    /// `fsync` off: for conformance tests, where only the answers count.
    Fast,
}

impl Durability {
    /// Both kinds, in the order in which they are started.
    pub(crate) const ALL: [Self; 2] = [Self::Fast, Self::Durable];

    /// The environment variable in which tests find the cluster's URL.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::Fast => "AGRAJAG_TEST_PG",
            Self::Durable => "AGRAJAG_TEST_PG_DURABLE",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Durable => "durable",
        }
    }

    fn settings(self, port: u16, sockets: &Path) -> String {
        let mut settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{}'\nmax_connections = 200\n",
            sockets.display()
        );
        if self == Self::Fast {
            settings.push_str("fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n");
        }
        settings
    }
}

/// A running cluster that ends with this value, or with this process if that ends first.
pub(crate) struct Cluster {
    url: String,
    keeper: Child,
}

impl Cluster {
    /// Starts a cluster of its own in a temporary folder.
    pub(crate) fn start(durability: Durability) -> Result<Self> {
        let programs = Programs::find_or_install()?;
        let dir = programs.make_folder()?;
        // Before anything else, so that a half-made cluster is removed as well.
        let keeper = programs.keeper(&dir)?;
        let mut cluster = Self { url: String::new(), keeper };
        cluster.url = url(programs.create(&dir, durability)?);
        Ok(cluster)
    }

    /// Where to connect, as a superuser, without a password.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The end of its input is the keeper's sign to stop the cluster and remove its folder.
        drop(self.keeper.stdin.take());
        if let Err(error) = self.keeper.wait() {
            eprintln!("cannot wait for the end of a PostgreSQL cluster: {error}");
        }
    }
}

/// `pg up`: starts a cluster that outlives this program, or finds the one that is up; prints its URL.
pub(crate) fn up(durability: Durability) -> Result<()> {
    let programs = Programs::find_or_install()?;
    let file = state_file(durability);
    if let Some(dir) = read_state(&file)? {
        if let Some(port) = programs.port_of_running(&dir) {
            announce(durability, port);
            return Ok(());
        }
        programs.stop(&dir);
    }
    let dir = programs.make_folder()?;
    // Written first: a cluster that fails half-way can still be taken down.
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create `{}`", parent.display()))?;
    }
    fs::write(&file, format!("{}\n", dir.display()))
        .with_context(|| format!("cannot write `{}`", file.display()))?;
    let port = programs.create(&dir, durability)?;
    announce(durability, port);
    Ok(())
}

/// `pg down`: stops every cluster that `pg up` started.
pub(crate) fn down() -> Result<()> {
    for durability in Durability::ALL {
        let file = state_file(durability);
        let Some(dir) = read_state(&file)? else { continue };
        Programs::find_or_install()?.stop(&dir);
        fs::remove_file(&file).with_context(|| format!("cannot remove `{}`", file.display()))?;
        println!("stopped the {} cluster", durability.name());
    }
    Ok(())
}

fn announce(durability: Durability, port: u16) {
    println!("{}", url(port));
    eprintln!("for tests: export {}={}", durability.variable(), url(port));
}

fn url(port: u16) -> String {
    format!("postgres://{SYSTEM_USER}@127.0.0.1:{port}/postgres")
}

fn state_file(durability: Durability) -> PathBuf {
    workspace::target().join("pg").join(durability.name())
}

/// The folder of the cluster that a state file names, if there is one.
fn read_state(file: &Path) -> Result<Option<PathBuf>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(PathBuf::from(text.trim_end()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", file.display())),
    }
}

/// PostgreSQL's programs and the user to run them as.
struct Programs {
    bin: PathBuf,
    as_root: bool,
}

impl Programs {
    fn find_or_install() -> Result<Self> {
        let as_root = process::is_root();
        let found = match find_bin() {
            Some(bin) => Some(bin),
            None if as_root && process::find("apt-get").is_some() => {
                eprintln!("PostgreSQL is not installed; installing it with apt-get");
                process::run(Command::new("apt-get").arg("update"))?;
                process::run(
                    Command::new("apt-get")
                        .args(["install", "-y", "--no-install-recommends", "postgresql"])
                        .env("DEBIAN_FRONTEND", "noninteractive"),
                )?;
                find_bin()
            }
            None => None,
        };
        let bin = found.context(
            "PostgreSQL is not installed: no initdb below /usr/lib/postgresql or in PATH; install the package \
             `postgresql` (14 or newer), or set AGRAJAG_TEST_PG and AGRAJAG_TEST_PG_DURABLE to clusters of yours",
        )?;
        Ok(Self { bin, as_root })
    }

    /// The command line that runs one of the programs as a user that PostgreSQL accepts.
    fn argv(&self, program: &str) -> Vec<String> {
        let program = self.bin.join(program).to_string_lossy().into_owned();
        if self.as_root { as_system_user(&program) } else { vec![program] }
    }

    fn command(&self, program: &str) -> Command {
        let argv = self.argv(program);
        let mut command = Command::new(&argv[0]);
        // A folder that the system user may enter: the programs complain about others.
        command.args(&argv[1..]).current_dir("/");
        command
    }

    /// A new folder that the cluster's user owns and can reach.
    fn make_folder(&self) -> Result<PathBuf> {
        let reachable = |dir: &PathBuf| {
            let argv = as_system_user("test");
            !self.as_root
                || process::output(
                    Command::new(&argv[0]).args(&argv[1..]).arg("-w").arg(dir).current_dir("/"),
                )
                .is_ok()
        };
        let parent = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
            .into_iter()
            .find(reachable)
            .context("no temporary folder that the user `postgres` can write to")?;
        let dir = tempfile::Builder::new()
            .prefix("agrajag-pg-")
            .tempdir_in(&parent)
            .with_context(|| format!("cannot create a folder in `{}`", parent.display()))?
            .keep();
        if self.as_root {
            process::output(Command::new("chown").arg(format!("{SYSTEM_USER}:")).arg(&dir))?;
        }
        Ok(dir)
    }

    /// Makes a cluster in the folder and starts it; gives back its port.
    fn create(&self, dir: &Path, durability: Durability) -> Result<u16> {
        let data = dir.join("data");
        process::output(
            self.command("initdb")
                .arg("--pgdata")
                .arg(&data)
                .args(["--username", SYSTEM_USER, "--auth", "trust"])
                .args(["--encoding", "UTF8", "--locale", "C", "--no-sync"]),
        )?;
        let mut failure = String::new();
        for _ in 0..START_ATTEMPTS {
            let port = free_port()?;
            let settings = data.join("agrajag.conf");
            fs::write(&settings, durability.settings(port, dir))
                .with_context(|| format!("cannot write `{}`", settings.display()))?;
            include(&data.join("postgresql.conf"), "agrajag.conf")?;
            let started = process::output(
                self.command("pg_ctl").arg("--pgdata").arg(&data).arg("--log").arg(dir.join("log")).args([
                    "--wait",
                    "--timeout",
                    "60",
                    "start",
                ]),
            );
            match started {
                Ok(_) => return Ok(port),
                Err(error) => failure = format!("{error:#}"),
            }
        }
        let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
        bail!("cannot start PostgreSQL in `{}`: {failure}\n{log}", dir.display());
    }

    /// The port of the cluster in the folder, if it runs.
    fn port_of_running(&self, dir: &Path) -> Option<u16> {
        let data = dir.join("data");
        process::output(self.command("pg_ctl").arg("--pgdata").arg(&data).arg("status")).ok()?;
        let pid_file = fs::read_to_string(data.join("postmaster.pid")).ok()?;
        port_in_pid_file(&pid_file)
    }

    fn stop_argv(&self, dir: &Path) -> Vec<String> {
        let mut argv = self.argv("pg_ctl");
        argv.extend(["--pgdata".to_owned(), dir.join("data").to_string_lossy().into_owned()]);
        argv.extend(["--mode", "immediate", "--wait", "stop"].map(str::to_owned));
        argv
    }

    /// Stops the cluster in the folder, if it runs, and removes the folder.
    fn stop(&self, dir: &Path) {
        let argv = self.stop_argv(dir);
        if let Err(error) = process::output(Command::new(&argv[0]).args(&argv[1..]).current_dir("/")) {
            eprintln!("{error:#}");
        }
        if let Err(error) = fs::remove_dir_all(dir) {
            eprintln!("cannot remove `{}`: {error}", dir.display());
        }
    }

    /// A process that waits for the end of its input, which comes when this program ends however it ends, and then
    /// stops the cluster in the folder and removes it. Its own process group keeps it out of reach of ctrl-c.
    fn keeper(&self, dir: &Path) -> Result<Child> {
        const SCRIPT: &str = r#"trap '' HUP INT TERM
            cat >/dev/null
            dir=$1; shift
            if [ -f "$dir/data/postmaster.pid" ]; then "$@"; fi
            rm -rf "$dir""#;
        Command::new("sh")
            .args(["-c", SCRIPT, "agrajag-pg-keeper"])
            .arg(dir)
            .args(self.stop_argv(dir))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start `sh`")
    }
}

fn as_system_user(program: &str) -> Vec<String> {
    ["runuser", "-u", SYSTEM_USER, "--", program].map(str::to_owned).to_vec()
}

/// The folder of `initdb`, `pg_ctl` and `postgres`: Debian's place, the highest version first, then `PATH`.
fn find_bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut bins: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("initdb").is_file())
        .collect();
    bins.sort();
    if let Some((_, bin)) = bins.pop() {
        return Some(bin);
    }
    // Links are followed: the programs look for each other beside themselves.
    let initdb = process::find("initdb")?.canonicalize().ok()?;
    initdb.parent().map(Path::to_path_buf)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind a port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

/// Adds an include line to PostgreSQL's configuration, once.
fn include(config: &Path, file: &str) -> Result<()> {
    let line = format!("include '{file}'");
    let text = fs::read_to_string(config).with_context(|| format!("cannot read `{}`", config.display()))?;
    if text.lines().any(|existing| existing == line) {
        return Ok(());
    }
    let mut config = fs::OpenOptions::new().append(true).open(config)?;
    writeln!(config, "{line}")?;
    Ok(())
}

/// The fourth line of `postmaster.pid` is the port.
fn port_in_pid_file(text: &str) -> Option<u16> {
    text.lines().nth(3)?.trim().parse().ok()
}

/// Fails with a clear message if the cluster behind the URL is not one that tests may fill.
pub(crate) fn check_url(variable: &str, url: &str) -> Result<()> {
    ensure!(
        url.starts_with("postgres://") || url.starts_with("postgresql://"),
        "`{variable}` must be a URL that begins with postgres://, not `{url}`"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fast_cluster_gives_up_durability() {
        let fast = Durability::Fast.settings(5001, Path::new("/x"));
        let durable = Durability::Durable.settings(5001, Path::new("/x"));
        assert!(fast.contains("fsync = off") && !durable.contains("fsync"));
        for settings in [fast, durable] {
            assert!(settings.contains("listen_addresses = '127.0.0.1'\nport = 5001\n"));
            assert!(settings.contains("unix_socket_directories = '/x'\n"));
        }
    }

    #[test]
    fn the_port_is_read_from_the_pid_file() {
        assert_eq!(port_in_pid_file("77\n/x/data\n1796000000\n5433\n/x\n127.0.0.1\n"), Some(5433));
        assert_eq!(port_in_pid_file("77\n"), None);
    }

    #[test]
    fn the_include_line_is_added_once() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("postgresql.conf");
        fs::write(&config, "port = 1\n").unwrap();
        include(&config, "a.conf").unwrap();
        include(&config, "a.conf").unwrap();
        assert_eq!(fs::read_to_string(&config).unwrap(), "port = 1\ninclude 'a.conf'\n");
    }

    #[test]
    fn a_url_of_another_kind_is_refused_by_name() {
        assert!(check_url("X", "postgres://127.0.0.1/a").is_ok());
        let error = check_url("X", "sqlite:a").unwrap_err().to_string();
        assert!(error.contains("`X`") && error.contains("`sqlite:a`"), "{error}");
    }
}
