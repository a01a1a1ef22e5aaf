//! Wake-ups between servers: an accelerator, never a promise. Readers poll all the same.
//!
//! A NOTIFY inside a commit would make all commits of the database wait for each other, so one task a server sends it
//! afterwards, at most every 5 ms, on a connection of its own. Another task listens, on another one. Whatever goes wrong
//! here costs readers a poll interval and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPoolOptions};
use sqlx::{ConnectOptions, Row};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::options::Options;
use crate::statement::statements;

/// The shortest time between two notifications of one server.
const INTERVAL: Duration = Duration::from_millis(5);

/// After a failure.
const PAUSE: Duration = Duration::from_secs(1);

statements! {
    NOTIFY = "select pg_notify($1, '')";

    OWN_PROCESS = "select pg_backend_pid()";
}

/// The tasks, and how to reach them.
#[derive(Debug)]
pub(crate) struct Wakeups {
    /// Something was committed here.
    committed: Arc<Notify>,
    /// Counts what was committed here or elsewhere.
    news: watch::Sender<u64>,
    tasks: [JoinHandle<()>; 2],
}

impl Wakeups {
    /// Must be called in a tokio runtime.
    pub(crate) fn start(login: &PgConnectOptions, options: &Options) -> Self {
        let committed = Arc::new(Notify::new());
        let news = watch::Sender::new(0);
        let own_process = Arc::new(AtomicU32::new(0));
        let notifier = Notifier {
            login: login.clone(),
            channel: options.channel(),
            limit: options.connect_timeout,
            committed: Arc::clone(&committed),
            own_process: Arc::clone(&own_process),
        };
        let listener = Listener {
            login: login.clone(),
            channel: options.channel(),
            limit: options.connect_timeout,
            news: news.clone(),
            own_process,
        };
        let tasks = [tokio::spawn(notifier.run()), tokio::spawn(listener.run())];
        Self { committed, news, tasks }
    }

    /// Wakes the readers of this server, then those of the others.
    pub(crate) fn send(&self) {
        self.news.send_modify(|it| *it = it.wrapping_add(1));
        self.committed.notify_one();
    }

    /// Changes with each wake-up from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Ends the tasks and wakes every reader.
    pub(crate) fn stop(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.news.send_modify(|it| *it = it.wrapping_add(1));
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Notifier {
    login: PgConnectOptions,
    channel: String,
    limit: Duration,
    committed: Arc<Notify>,
    own_process: Arc<AtomicU32>,
}

impl Notifier {
    async fn run(self) {
        let mut connection = None;
        loop {
            // One that comes while the last is on its way, or in the pause, is kept.
            self.committed.notified().await;
            let sent = tokio::time::timeout(self.limit, self.send(&mut connection)).await;
            if matches!(sent, Ok(Ok(()))) {
                tokio::time::sleep(INTERVAL).await;
            } else {
                tracing::debug!(?sent, "a notification was not sent");
                connection = None;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn send(&self, connection: &mut Option<PgConnection>) -> Result<(), sqlx::Error> {
        let connection = match connection {
            Some(connection) => connection,
            None => {
                let mut fresh = self.login.connect().await?;
                let row = sqlx::query(OWN_PROCESS).fetch_one(&mut fresh).await?;
                self.own_process.store(row.try_get::<i32, _>(0)?.cast_unsigned(), Ordering::Relaxed);
                connection.insert(fresh)
            }
        };
        sqlx::query(NOTIFY).bind(&self.channel).execute(connection).await?;
        Ok(())
    }
}

struct Listener {
    login: PgConnectOptions,
    channel: String,
    limit: Duration,
    news: watch::Sender<u64>,
    own_process: Arc<AtomicU32>,
}

impl Listener {
    async fn run(self) {
        // The driver's listener connects again through a pool.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(self.limit)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(self.login.clone());
        loop {
            if let Err(error) = self.listen(&pool).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "notifications cannot be received");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn listen(&self, pool: &sqlx::PgPool) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(&self.channel).await?;
        loop {
            // Whatever was sent while nobody listened is lost: look.
            self.news.send_modify(|it| *it = it.wrapping_add(1));
            loop {
                match listener.try_recv().await? {
                    Some(it) if it.process_id() == self.own_process.load(Ordering::Relaxed) => {}
                    Some(_) => self.news.send_modify(|it| *it = it.wrapping_add(1)),
                    None => break,
                }
            }
        }
    }
}
