//! A database of its own for one test, made over the wire protocol by hand.
//!
//! The stores hold the only driver; all that a test needs is a few statements without parameters on a cluster that
//! trusts local connections, as the one of `cargo xtask test` does. Blocking: a statement takes milliseconds.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::env;

/// The version of the wire protocol, 3.0.
const PROTOCOL: i32 = 196_608;

/// A fresh database, dropped with this value.
#[derive(Debug)]
pub struct Database {
    cluster: Url,
    name: String,
}

/// The parts of a URL that a connection needs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Url {
    user: String,
    authority: String,
    database: String,
}

impl Database {
    /// A database in the cluster without fsync.
    ///
    /// # Panics
    ///
    /// If [`env::POSTGRES`] is not set or the cluster does not answer.
    #[must_use]
    pub fn fresh() -> Self {
        Self::create(&env::required(env::POSTGRES)).expect("a fresh database")
    }

    /// A database in the cluster with fsync.
    ///
    /// # Panics
    ///
    /// If [`env::POSTGRES_DURABLE`] is not set or the cluster does not answer.
    #[must_use]
    pub fn fresh_durable() -> Self {
        Self::create(&env::required(env::POSTGRES_DURABLE)).expect("a fresh database")
    }

    /// A database in the cluster at `url`.
    ///
    /// # Errors
    ///
    /// The URL cannot be read, or the cluster refuses.
    pub fn create(url: &str) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let cluster = Url::parse(url)?;
        let n = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("agrajag_test_{}_{n}", std::process::id());
        let mut connection = Session::open(&cluster)?;
        // A process of this number may have died before it could clean up.
        connection.execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        connection.execute(&format!("CREATE DATABASE {name}"))?;
        Ok(Self { cluster, name })
    }

    /// Where to connect.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_through(&self.cluster.authority)
    }

    /// The same database by way of another `HOST:PORT`.
    #[must_use]
    pub fn url_through(&self, authority: &str) -> String {
        format!("postgres://{}@{authority}/{}", self.cluster.user, self.name)
    }

    /// `HOST:PORT` of the cluster.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.cluster.authority
    }

    /// Runs statements in the database; the rows of the last one, as texts.
    ///
    /// # Errors
    ///
    /// What the database says.
    pub fn execute(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        self.session()?.execute(sql)
    }

    /// A connection that lasts, for statements that belong together.
    ///
    /// # Errors
    ///
    /// What the database says.
    pub fn session(&self) -> Result<Session> {
        Session::open(&Url { database: self.name.clone(), ..self.cluster.clone() })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let dropped = Session::open(&self.cluster)
            .and_then(|mut it| it.execute(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)));
        if let Err(error) = dropped {
            eprintln!("database `{}` stays behind: {error:#}", self.name);
        }
    }
}

impl Url {
    fn parse(url: &str) -> Result<Self> {
        let rest = url.split_once("://").map(|(_, rest)| rest).context("a URL has `://`")?;
        let (user, rest) = rest.split_once('@').context("the URL names no user")?;
        ensure!(
            !user.contains(':'),
            "passwords are not spoken here; use a cluster that trusts local connections"
        );
        let (authority, database) = rest.split_once('/').context("the URL names no database")?;
        let database = database.split('?').next().unwrap_or_default();
        let authority =
            if authority.contains(':') { authority.to_owned() } else { format!("{authority}:5432") };
        Ok(Self { user: user.to_owned(), authority, database: database.to_owned() })
    }
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    stream: TcpStream,
}

impl Session {
    fn open(url: &Url) -> Result<Self> {
        let stream = TcpStream::connect(&url.authority)
            .with_context(|| format!("no PostgreSQL answers at `{}`", url.authority))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.set_nodelay(true)?;
        let mut connection = Self { stream };
        let parameters = format!("user\0{}\0database\0{}\0\0", url.user, url.database);
        let length = i32::try_from(parameters.len() + 8)?;
        let mut message = length.to_be_bytes().to_vec();
        message.extend(PROTOCOL.to_be_bytes());
        message.extend(parameters.as_bytes());
        connection.stream.write_all(&message)?;
        connection.read_until_ready()?;
        Ok(connection)
    }

    /// Runs statements; the rows of the last one, as texts.
    ///
    /// # Errors
    ///
    /// What the database says.
    pub fn execute(&mut self, sql: &str) -> Result<Vec<Vec<String>>> {
        let length = i32::try_from(sql.len() + 5)?;
        let mut message = vec![b'Q'];
        message.extend(length.to_be_bytes());
        message.extend(sql.as_bytes());
        message.push(0);
        self.stream.write_all(&message)?;
        self.read_until_ready().with_context(|| format!("`{sql}` failed"))
    }

    fn read_until_ready(&mut self) -> Result<Vec<Vec<String>>> {
        let mut rows = Vec::new();
        let mut refusal = None;
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let length = usize::try_from(i32::from_be_bytes([head[1], head[2], head[3], head[4]]))?;
            let mut body = vec![0; length.saturating_sub(4)];
            self.stream.read_exact(&mut body)?;
            match head[0] {
                b'R' if body.iter().any(|it| *it != 0) => {
                    bail!("the cluster asks for a password; use one that trusts local connections")
                }
                b'E' => refusal = Some(message_of(&body)),
                b'T' => rows.clear(),
                b'D' => rows.push(row(&body)?),
                b'Z' => match refusal {
                    Some(message) => bail!(message),
                    None => return Ok(rows),
                },
                _ => {}
            }
            // At the start an error is the last word: nothing follows it.
            if head[0] == b'E' && body.starts_with(b"SFATAL") {
                bail!(message_of(&body));
            }
        }
    }
}

fn message_of(body: &[u8]) -> String {
    let fields = body.split(|it| *it == 0).filter(|it| it.first() == Some(&b'M'));
    fields.map(|it| String::from_utf8_lossy(&it[1..]).into_owned()).next().unwrap_or_default()
}

fn row(body: &[u8]) -> Result<Vec<String>> {
    let mut values = Vec::new();
    let mut rest = body.get(2..).context("a row has a count")?;
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        // NULL has the length -1 and no bytes.
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        let (value, tail) = tail.split_at_checked(length).context("a row is cut")?;
        values.push(String::from_utf8_lossy(value).into_owned());
        rest = tail;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let url = Url::parse("postgres://postgres@127.0.0.1:5499/postgres?x=1").expect("a URL");
        assert_eq!(
            (url.user.as_str(), url.authority.as_str(), url.database.as_str()),
            ("postgres", "127.0.0.1:5499", "postgres")
        );
        assert!(Url::parse("postgres://a:secret@host/db").is_err());
        assert!(Url::parse("host/db").is_err());
    }

    #[test]
    fn a_database_is_made_used_and_dropped() {
        let database = Database::fresh();
        let url = database.url();
        assert_eq!(database.execute("SELECT 1 + 1, NULL, 'a'").expect("a row"), [["2", "", "a"]]);
        let error = database.execute("SELECT nothing").expect_err("no such column");
        assert!(format!("{error:#}").contains("nothing"), "{error:#}");
        let cluster = database.cluster.clone();
        let name = database.name.clone();
        drop(database);
        let mut connection = Session::open(&cluster).expect("the cluster");
        let found = connection.execute(&format!("SELECT 1 FROM pg_database WHERE datname = '{name}'"));
        assert!(found.expect("an answer").is_empty(), "{url}");
    }
}
