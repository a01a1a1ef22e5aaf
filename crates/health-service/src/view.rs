//! The view: an in-process copy of containers, absent ones too, that follows the store's change feed (DESIGN §8).
//!
//! A read that finds its containers here touches no store. A miss loads whole containers, one flight a container; a
//! change that arrives during the flight makes it load again, so that no older copy can replace a newer one.
//! The view is trusted while the last heartbeat of the feed is young; else answers say `stale`.

mod container;
mod feed;
mod flight;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use health_model::vocabulary::Scope;
use health_model::{Caller, ContainerKey, DocumentKey};
use ports::{Change, Revision, Store, StoreError};
use quick_cache::sync::Cache;
use tokio::sync::broadcast;
use tokio::time::Instant as Tick;

use crate::settings::Settings;
use container::{Weight, key_ref};
use flight::{Flight, FlightTable, Flights};

pub(crate) use container::{Container, Containers};
pub(crate) use feed::follow;

/// A document changed: what watchers are woken by.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// These documents changed.
    Changed(Arc<Vec<DocumentKey>>),
    /// Anything may have changed: the view was dropped.
    Everything,
}

/// The view.
pub(crate) struct View {
    store: Arc<dyn Store>,
    cache: Cache<ContainerKey, Arc<Container>, Weight>,
    flights: FlightTable,
    /// The feed's position, once it is followed. Only then may containers be kept.
    position: RwLock<Option<Revision>>,
    heartbeat: Mutex<Option<Tick>>,
    away_until: Mutex<Option<Tick>>,
    notices: broadcast::Sender<Notice>,
    settings: Arc<Settings>,
    pub(crate) misses: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl View {
    pub(crate) fn new(store: Arc<dyn Store>, settings: Arc<Settings>) -> Self {
        let cache = Cache::with_weighter(4_096, settings.view_bytes.max(1 << 20), Weight);
        let (notices, _) = broadcast::channel(4_096);
        Self {
            store,
            cache,
            flights: Mutex::default(),
            position: RwLock::new(None),
            heartbeat: Mutex::new(None),
            away_until: Mutex::new(None),
            notices,
            settings,
            misses: AtomicU64::new(0),
        }
    }

    /// What the caller's cascade holds. `provider` selects the GLOBAL container. With `fresh` the store is read even
    /// where the view has a copy.
    pub(crate) async fn containers(
        &self,
        caller: &Caller,
        provider: Option<&str>,
        fresh: bool,
    ) -> Result<Containers, StoreError> {
        let mut found = Containers::default();
        let mut missing: Vec<(usize, ContainerKey)> = Vec::new();
        for (at, &scope) in Scope::ALL.iter().enumerate() {
            let Some(key) = key_ref(caller, scope, provider) else { continue };
            match if fresh { None } else { self.cache.get(&key) } {
                Some(it) => {
                    found.by_scope[at] = Some(it);
                    found.from_view = true;
                }
                None => missing.push((
                    at,
                    ContainerKey {
                        tenant_id: key.tenant_id.to_owned(),
                        scope,
                        scope_id: key.scope_id.to_owned(),
                    },
                )),
            }
        }
        if !missing.is_empty() {
            let keys: Vec<ContainerKey> = missing.iter().map(|(_, key)| key.clone()).collect();
            let loaded = self.load(&keys, fresh).await?;
            for ((at, _), container) in missing.into_iter().zip(loaded) {
                found.by_scope[at] = Some(container);
            }
        }
        Ok(found)
    }

    /// What the view holds of the caller's cascade, without asking the store: what is left while it is away.
    pub(crate) fn held(&self, caller: &Caller, provider: Option<&str>) -> Containers {
        let mut found = Containers::default();
        for (at, &scope) in Scope::ALL.iter().enumerate() {
            found.by_scope[at] = key_ref(caller, scope, provider).and_then(|key| self.cache.get(&key));
        }
        found
    }

    /// Containers by key, in one load for those that are missing.
    pub(crate) async fn many(
        &self,
        keys: impl IntoIterator<Item = ContainerKey>,
        fresh: bool,
    ) -> Result<BTreeMap<ContainerKey, Arc<Container>>, StoreError> {
        let mut found = BTreeMap::new();
        let mut missing = Vec::new();
        for key in keys {
            match if fresh { None } else { self.cache.get(&key) } {
                Some(it) => {
                    found.insert(key, it);
                }
                None => missing.push(key),
            }
        }
        if !missing.is_empty() {
            let loaded = self.load(&missing, fresh).await?;
            found.extend(missing.into_iter().zip(loaded));
        }
        Ok(found)
    }

    /// Loads containers and keeps them, unless the feed is not followed yet.
    pub(crate) async fn load(
        &self,
        keys: &[ContainerKey],
        fresh: bool,
    ) -> Result<Vec<Arc<Container>>, StoreError> {
        self.misses.fetch_add(keys.len() as u64, Ordering::Relaxed);
        // In key order, so that two loads that overlap cannot wait for each other.
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
        let flights = Flights::enter(&self.flights, order.iter().map(|&at| keys[at].clone()));
        let mut turns = Vec::with_capacity(flights.entered.len());
        for (_, flight) in &flights.entered {
            turns.push(flight.turn.lock().await);
        }
        self.load_in_turn(keys, &flights.entered, fresh).await
    }

    async fn load_in_turn(
        &self,
        keys: &[ContainerKey],
        flights: &[(ContainerKey, Arc<Flight>)],
        fresh: bool,
    ) -> Result<Vec<Arc<Container>>, StoreError> {
        if !fresh {
            let held: Option<Vec<_>> = keys.iter().map(|key| self.cache.get(key)).collect();
            if let Some(held) = held {
                return Ok(held);
            }
        }
        for _ in 0..4 {
            for (_, flight) in flights {
                flight.dirty.store(false, Ordering::SeqCst);
            }
            let following = self.position.read().unwrap_or_else(PoisonError::into_inner).is_some();
            let loaded = self.guarded(self.store.load_containers(keys)).await?;
            let containers: Vec<Arc<Container>> =
                loaded.into_iter().map(|it| Arc::new(Container::of(it))).collect();
            if !following {
                return Ok(containers);
            }
            // Inserted under the lock that `apply` takes to mark flights dirty: no change can fall in between.
            let _table = locked(&self.flights);
            if flights.iter().any(|(_, it)| it.dirty.load(Ordering::SeqCst)) {
                continue;
            }
            for (key, container) in keys.iter().zip(&containers) {
                self.cache.insert(key.clone(), Arc::clone(container));
            }
            return Ok(containers);
        }
        // Written faster than it can be read: what was read is still a state that the store had after the call began.
        let loaded = self.guarded(self.store.load_containers(keys)).await?;
        Ok(loaded.into_iter().map(|it| Arc::new(Container::of(it))).collect())
    }

    /// Takes in changes, of the feed or of an own commit. Older versions than the copy held are passed over.
    pub(crate) fn apply(&self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        {
            let mut by_container: BTreeMap<ContainerKey, Vec<&Change>> = BTreeMap::new();
            for change in changes {
                by_container.entry(change.key.container()).or_default().push(change);
            }
            let table = locked(&self.flights);
            for (key, changes) in by_container {
                if let Some(flight) = table.get(&key) {
                    flight.dirty.store(true, Ordering::SeqCst);
                }
                if let Some(newer) = self.cache.peek(&key).and_then(|it| it.with(&changes)) {
                    self.cache.insert(key, Arc::new(newer));
                }
            }
        }
        let keys = changes.iter().map(|it| it.key.clone()).collect();
        let _ = self.notices.send(Notice::Changed(Arc::new(keys)));
    }

    /// Drops every copy: another store, or a gap in the feed.
    pub(crate) fn reset(&self, position: Option<Revision>) {
        {
            let table = locked(&self.flights);
            for flight in table.values() {
                flight.dirty.store(true, Ordering::SeqCst);
            }
            self.cache.clear();
            *self.position.write().unwrap_or_else(PoisonError::into_inner) = position;
        }
        let _ = self.notices.send(Notice::Everything);
    }

    pub(crate) fn advance(&self, position: Revision) {
        *self.position.write().unwrap_or_else(PoisonError::into_inner) = Some(position);
        *locked(&self.heartbeat) = Some(Tick::now());
    }

    /// Where the feed is, if it is followed.
    pub(crate) fn position(&self) -> Option<Revision> {
        self.position.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the view can be out of date by more than the setting.
    pub(crate) fn is_stale(&self) -> bool {
        locked(&self.heartbeat).is_none_or(|it| it.elapsed() > self.settings.stale_after)
    }

    /// Whether a caller that has seen `at_least` must be answered from the store.
    pub(crate) fn is_behind(&self, at_least: Option<&Revision>) -> bool {
        let Some(wanted) = at_least else { return false };
        self.position
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .is_none_or(|it| it.epoch != wanted.epoch || it.position < wanted.position)
    }

    pub(crate) fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Bytes held, estimated.
    pub(crate) fn weight(&self) -> u64 {
        self.cache.weight()
    }

    /// Runs a store call that a request waits for. After a failure further calls fail at once for a while, so that no
    /// caller waits for a store that is known to be away.
    pub(crate) async fn guarded<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.refuse_if_away()?;
        self.timed(self.settings.store_timeout, call).await
    }

    /// As [`View::guarded`], but always tries: for the task that finds out when the store is back.
    pub(crate) async fn timed<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let result = limited(limit, call).await;
        let away = matches!(result, Err(StoreError::Unavailable { .. }));
        *locked(&self.away_until) = away.then(|| Tick::now() + self.settings.store_retry);
        result
    }

    /// Runs a store call whose slowness says nothing about the store: a large delete, a sweep.
    pub(crate) async fn patient<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.refuse_if_away()?;
        limited(limit, call).await
    }

    fn refuse_if_away(&self) -> Result<(), StoreError> {
        if locked(&self.away_until).is_some_and(|it| Tick::now() < it) {
            let reason = "it did not answer a moment ago".to_owned();
            return Err(StoreError::Unavailable { reason, source: None });
        }
        Ok(())
    }

    /// Whether the last store call failed because the store was away.
    pub(crate) fn is_away(&self) -> bool {
        locked(&self.away_until).is_some()
    }
}

async fn limited<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|elapsed| {
        Err(StoreError::Unavailable {
            reason: format!("no answer within {limit:?}"),
            source: Some(Box::new(elapsed)),
        })
    })
}

/// Whether the call ran into its limit: it may have been carried out.
pub(crate) fn is_timeout(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { source: Some(it), .. } if it.is::<tokio::time::error::Elapsed>())
}
