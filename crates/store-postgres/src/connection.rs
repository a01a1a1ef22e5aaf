//! The pool: what each connection is set to, and what happens while the database is away.
//!
//! A pool of the driver keeps trying to connect until its limit, then says that it timed out. Here a call that waits for
//! a connection asks the database itself for the reason, once for all callers, and while the database is known to be
//! away each call costs at most one refused connection. The first call after its return succeeds.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ports::StoreError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, Postgres, SqlSafeStr, SqlStr};

use crate::error::{Target, is_contention, is_crowded, is_lost};
use crate::migrate;
use crate::options::Options;
use crate::statement::{args, statements};

/// A wait for a connection that is longer is worth asking for its reason.
const SLOW: Duration = Duration::from_millis(250);

/// A connection that was idle for longer is tried before it is used.
const IDLE: Duration = Duration::from_secs(1);

/// On top of the database's own limit on a statement: then this side gives up.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tries of a statement that was lost or lost against another one.
const TRIES: u32 = 4;

statements! {
    /// The settings of a connection, whatever role and database say.
    SETTINGS = "select set_config('search_path', $1, false), set_config('statement_timeout', $2, false),
        set_config('lock_timeout', $3, false), set_config('idle_in_transaction_session_timeout', $4, false),
        set_config('default_transaction_isolation', 'read committed', false),
        set_config('synchronous_commit', case current_setting('synchronous_commit')
            when 'off' then 'on' else current_setting('synchronous_commit') end, false)";

    /// Another limit on the statements of this transaction.
    LIMIT = "select set_config('statement_timeout', $1, true)";
}

/// The database, as the tables' modules use it.
pub(crate) struct Database {
    pool: PgPool,
    login: PgConnectOptions,
    target: Target,
    options: Options,
    lost: Arc<Lost>,
    /// Held while one caller finds out what is wrong.
    probing: tokio::sync::Mutex<()>,
    /// Why the database is away, if it is.
    away: Mutex<Option<String>>,
    /// Connections in use.
    n_leased: Arc<AtomicUsize>,
}

/// What every new connection goes through.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) search_path: String,
    pub(crate) statement_timeout: Duration,
    pub(crate) lock_timeout: Duration,
}

impl Setup {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            // A temporary table of the same name must not stand before ours.
            search_path: format!("\"{}\", pg_temp", options.schema),
            statement_timeout: options.statement_timeout,
            lock_timeout: options.lock_timeout,
        }
    }

    pub(crate) async fn settings(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let millis = |it: Duration| it.as_millis().to_string();
        // A transaction of a process that hangs would hold up every reader of the feed.
        let idle = self.statement_timeout.saturating_mul(2).min(Duration::from_millis(i32::MAX as u64));
        let args = args![
            &self.search_path,
            millis(self.statement_timeout),
            millis(self.lock_timeout),
            millis(idle)
        ]?;
        sqlx::query_with(SETTINGS, args).execute(connection).await?;
        Ok(())
    }

    /// The settings, and another epoch for the store if the connection leads to another history.
    async fn apply(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        self.settings(connection).await?;
        migrate::settle_home(connection).await
    }
}

/// When a connection was last found dead. Those made before are suspects.
#[derive(Debug, Default)]
struct Lost(Mutex<Option<Instant>>);

impl Lost {
    fn note(&self) {
        *locked(&self.0) = Some(Instant::now());
    }

    fn is_suspect(&self, age: Duration) -> bool {
        locked(&self.0).is_some_and(|it| it.elapsed() < age)
    }
}

/// A connection in use. Unless it is said to be clean it is closed, not given back: a call that was cancelled leaves
/// it in the middle of something.
pub(crate) struct Lease {
    connection: PoolConnection<Postgres>,
    is_clean: bool,
    n_leased: Arc<AtomicUsize>,
}

impl Deref for Lease {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.n_leased.fetch_sub(1, Ordering::Relaxed);
        if !self.is_clean {
            self.connection.close_on_drop();
        }
    }
}

impl Database {
    /// Must be called in a tokio runtime. Connects to nothing.
    pub(crate) fn new(login: PgConnectOptions, target: Target, options: Options, setup: Setup) -> Self {
        let lost = Arc::new(Lost::default());
        let (setup, suspects) = (Arc::new(setup), Arc::clone(&lost));
        let pool = PgPoolOptions::new()
            .max_connections(options.pool_size)
            .acquire_timeout(options.connect_timeout)
            .test_before_acquire(false)
            .before_acquire(move |connection, meta| {
                let is_doubtful = meta.idle_for > IDLE || suspects.is_suspect(meta.age);
                Box::pin(async move {
                    if is_doubtful {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .after_connect(move |connection, _| {
                let setup = Arc::clone(&setup);
                Box::pin(async move { setup.apply(connection).await })
            })
            .connect_lazy_with(login.clone());
        Self {
            pool,
            login,
            target,
            options,
            lost,
            probing: tokio::sync::Mutex::default(),
            away: Mutex::default(),
            n_leased: Arc::default(),
        }
    }

    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    /// Refuses further calls at once; the future ends when all connections are closed.
    pub(crate) fn close(&self) -> impl Future<Output = ()> + '_ {
        self.pool.close()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    /// Runs a statement that may be run twice. `doing` completes "cannot …".
    pub(crate) async fn read(
        &self,
        doing: &str,
        sql: impl SqlSafeStr,
        args: Result<PgArguments, sqlx::Error>,
    ) -> Result<Vec<PgRow>, StoreError> {
        self.run(doing, sql.into_sql_str(), args, |error| is_lost(error) || is_contention(error)).await
    }

    /// Runs a statement of its own transaction that must not be run twice once it may have been committed.
    pub(crate) async fn write(
        &self,
        doing: &str,
        sql: impl SqlSafeStr,
        args: Result<PgArguments, sqlx::Error>,
    ) -> Result<Vec<PgRow>, StoreError> {
        self.run(doing, sql.into_sql_str(), args, is_contention).await
    }

    async fn run(
        &self,
        doing: &str,
        sql: SqlStr,
        args: Result<PgArguments, sqlx::Error>,
        again: impl Fn(&sqlx::Error) -> bool,
    ) -> Result<Vec<PgRow>, StoreError> {
        let args = args.map_err(|error| self.target.error(doing, error))?;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut lease = self.acquire(doing).await?;
            let limit = self.options.statement_timeout + PATIENCE;
            let query = sqlx::query_with(sql.clone(), args.clone());
            match tokio::time::timeout(limit, query.fetch_all(&mut *lease)).await {
                Ok(Ok(rows)) => {
                    lease.is_clean = true;
                    return Ok(rows);
                }
                Ok(Err(error)) => {
                    self.settle(&mut lease, &error);
                    if tries == TRIES || !again(&error) {
                        return Err(self.target.error(doing, error));
                    }
                }
                Err(_) => return Err(self.target.timed_out(doing, limit)),
            }
        }
    }

    /// Begins a transaction with `sql`.
    pub(crate) async fn begin(
        &self,
        doing: &'static str,
        sql: &'static str,
    ) -> Result<Transaction<'_>, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut transaction = Transaction {
                lease: self.acquire(doing).await?,
                database: self,
                doing,
                limit: self.options.statement_timeout + PATIENCE,
            };
            match transaction.batch(sql).await {
                Ok(()) => return Ok(transaction),
                // Nothing was asked of the database yet.
                Err(Failure::Driver(error)) if tries < TRIES && is_lost(&error) => self.lost.note(),
                Err(failure) => return Err(transaction.error(failure)),
            }
        }
    }

    /// Notes what an error says of the connection that it came over.
    fn settle(&self, lease: &mut Lease, error: &sqlx::Error) {
        if is_lost(error) {
            self.lost.note();
        } else {
            lease.is_clean = true;
        }
    }

    async fn acquire(&self, doing: &str) -> Result<Lease, StoreError> {
        if self.is_closed() {
            return Err(self.target.closed());
        }
        if locked(&self.away).is_some() {
            self.probe(doing).await?;
        }
        let mut acquiring = std::pin::pin!(self.pool.acquire());
        let acquired = match tokio::time::timeout(SLOW, &mut acquiring).await {
            Ok(acquired) => acquired,
            Err(_) => tokio::select! {
                biased;
                acquired = &mut acquiring => acquired,
                probed = self.probe(doing) => {
                    probed?;
                    acquiring.await
                }
            },
        };
        match acquired {
            Ok(connection) => {
                self.n_leased.fetch_add(1, Ordering::Relaxed);
                Ok(Lease { connection, is_clean: false, n_leased: Arc::clone(&self.n_leased) })
            }
            Err(sqlx::Error::PoolClosed) => Err(self.target.closed()),
            Err(error) => Err(self.target.error(doing, error)),
        }
    }

    /// Finds out whether the database accepts connections, and remembers why not. One caller at a time does; the others
    /// take what is known.
    async fn probe(&self, doing: &str) -> Result<(), StoreError> {
        let Ok(_turn) = self.probing.try_lock() else {
            return match locked(&self.away).clone() {
                Some(reason) => Err(StoreError::Unavailable { reason, source: None }),
                None => Ok(()),
            };
        };
        let limit = self.options.connect_timeout / 2;
        let error = match tokio::time::timeout(limit, self.login.connect()).await {
            Ok(Ok(connection)) => {
                *locked(&self.away) = None;
                let _ = tokio::time::timeout(limit, connection.close()).await;
                return Ok(());
            }
            // Then one of ours will become free.
            Ok(Err(error)) if is_crowded(&error) && self.has_connections() => return Ok(()),
            Ok(Err(error)) => self.target.error(doing, error),
            Err(_) => self.target.timed_out(doing, limit),
        };
        if let StoreError::Unavailable { reason, .. } = &error {
            *locked(&self.away) = Some(reason.clone());
        }
        Err(error)
    }

    fn has_connections(&self) -> bool {
        self.n_leased.load(Ordering::Relaxed) > 0 || self.pool.num_idle() > 0
    }
}

/// A transaction. Dropped before its end, it closes its connection, and with it ends as if it had not been.
pub(crate) struct Transaction<'a> {
    lease: Lease,
    database: &'a Database,
    doing: &'static str,
    limit: Duration,
}

/// Why a step of a transaction failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The driver says why.
    Driver(sqlx::Error),
    /// No answer in time.
    Silence,
}

impl Failure {
    pub(crate) fn is_contention(&self) -> bool {
        matches!(self, Self::Driver(error) if is_contention(error))
    }
}

impl Transaction<'_> {
    /// Runs a statement.
    pub(crate) async fn run(
        &mut self,
        sql: impl SqlSafeStr,
        args: Result<PgArguments, sqlx::Error>,
    ) -> Result<Vec<PgRow>, Failure> {
        let query = sqlx::query_with(sql, args.map_err(Failure::Driver)?);
        match tokio::time::timeout(self.limit, query.fetch_all(&mut *self.lease)).await {
            Ok(result) => result.map_err(Failure::Driver),
            Err(_) => Err(Failure::Silence),
        }
    }

    /// Runs statements without parameters in one message, discarding what they return.
    pub(crate) async fn batch(&mut self, sql: &'static str) -> Result<(), Failure> {
        match tokio::time::timeout(self.limit, sqlx::raw_sql(sql).execute(&mut *self.lease)).await {
            Ok(result) => result.map(drop).map_err(Failure::Driver),
            Err(_) => Err(Failure::Silence),
        }
    }

    /// Sets another limit on each further statement.
    pub(crate) async fn allow(&mut self, limit: Duration) -> Result<(), Failure> {
        self.limit = limit + PATIENCE;
        let args = args![limit.as_millis().to_string()];
        self.run(LIMIT, args).await.map(drop)
    }

    /// Makes it durable.
    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        match self.batch("commit").await {
            Ok(()) => {
                self.lease.is_clean = true;
                Ok(())
            }
            Err(failure) => Err(self.error(failure)),
        }
    }

    /// Gives it up and keeps the connection.
    pub(crate) async fn roll_back(mut self) {
        self.lease.is_clean = self.batch("rollback").await.is_ok();
    }

    /// The port's error for a failed step; ends the transaction.
    pub(crate) fn error(self, failure: Failure) -> StoreError {
        match failure {
            Failure::Driver(error) => {
                if is_lost(&error) {
                    self.database.lost.note();
                }
                self.database.target.error(self.doing, error)
            }
            Failure::Silence => self.database.target.timed_out(self.doing, self.limit),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is held is replaced whole, so a panic cannot leave it half written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
