//! Jobs: coalescing, claims under a lease, listing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use health_model::{DocumentKey, Instant};
use ports::job::{QUEUE_FULL, QUEUE_LIMIT, merge_signal};
use ports::{Claim, Enqueue, EnqueueOutcome, Job, JobFilter, JobState, Signal, Trigger};
use uuid::Uuid;

use crate::micros;

/// All jobs, and which of them is open for a coalescing key.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    jobs: BTreeMap<Uuid, Job>,
    open: BTreeMap<CoalescingKey, Uuid>,
}

/// R198, with the user part of C6.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CoalescingKey {
    service_type: String,
    key: DocumentKey,
    signature: String,
    key_user: Option<String>,
}

impl CoalescingKey {
    fn of_job(job: &Job) -> Self {
        Self {
            service_type: job.service_type.clone(),
            key: job.key.clone(),
            signature: job.signature.clone(),
            key_user: job.key_user.clone(),
        }
    }
}

impl Queue {
    /// Whether a job of this id is on record, open or ended.
    pub(crate) fn has(&self, id: Uuid) -> bool {
        self.jobs.contains_key(&id)
    }

    /// The open job that `enqueue` would be merged into.
    pub(crate) fn open_job(&self, enqueue: &Enqueue) -> Option<Uuid> {
        let key = CoalescingKey {
            service_type: enqueue.service_type.clone(),
            key: enqueue.key.clone(),
            signature: enqueue.signature.clone(),
            key_user: enqueue.key_user.clone(),
        };
        self.open.get(&key).copied()
    }

    /// Merges into the open job of the same key, or creates one.
    pub(crate) fn enqueue(&mut self, enqueue: &Enqueue) -> EnqueueOutcome {
        let signal = Signal { at: micros(enqueue.signal.at), ..enqueue.signal.clone() };
        if let Some(job) = self.open_job(enqueue).and_then(|id| self.jobs.get_mut(&id)) {
            merge_signal(&mut job.signals, signal);
            job.signal_count = job.signal_count.saturating_add(1);
            if enqueue.trigger == Trigger::UserRequest {
                job.trigger = Trigger::UserRequest;
            }
            return EnqueueOutcome::Coalesced(job.id);
        }
        let job = Job {
            id: enqueue.id,
            service_type: enqueue.service_type.clone(),
            tenant_id: enqueue.tenant_id.clone(),
            project_id: enqueue.project_id.clone(),
            key: enqueue.key.clone(),
            signature: enqueue.signature.clone(),
            key_user: enqueue.key_user.clone(),
            trigger: enqueue.trigger,
            signals: vec![signal],
            signal_count: 1,
            state: JobState::Queued,
            lease_token: 0,
            lease_until: None,
            created_at: micros(enqueue.now),
            ended_at: None,
            reason: None,
        };
        self.open.insert(CoalescingKey::of_job(&job), job.id);
        self.jobs.insert(job.id, job);
        EnqueueOutcome::Created(enqueue.id)
    }

    /// Ends the oldest failures' jobs of each queue that a job was created in and that is over its limit. The last one created
    /// in a queue stays.
    pub(crate) fn drop_excess<'a>(
        &mut self,
        enqueued: impl Iterator<Item = (&'a Enqueue, &'a EnqueueOutcome)>,
    ) {
        let mut last_created: BTreeMap<(&str, &str), &Enqueue> = BTreeMap::new();
        for (enqueue, outcome) in enqueued {
            if matches!(outcome, EnqueueOutcome::Created(_)) {
                last_created.insert((&enqueue.tenant_id, &enqueue.project_id), enqueue);
            }
        }
        for ((tenant_id, project_id), last) in last_created {
            let queued: Vec<&Job> = (self.open.values())
                .filter_map(|id| self.jobs.get(id))
                .filter(|it| it.state == JobState::Queued)
                .filter(|it| it.tenant_id == tenant_id && it.project_id == project_id)
                .collect();
            let n_excess = queued.len().saturating_sub(QUEUE_LIMIT);
            let mut droppable: Vec<_> = queued
                .into_iter()
                .filter(|it| it.trigger == Trigger::ToolCallError && it.id != last.id)
                .map(|it| (it.created_at, it.id))
                .collect();
            droppable.sort_unstable();
            for (_, id) in droppable.into_iter().take(n_excess) {
                self.end(id, JobState::Stale, Some(QUEUE_FULL), micros(last.now));
            }
        }
    }

    /// Puts jobs whose lease ended back into the queue, their tokens void, then claims the first that may run. Were they
    /// left RUNNING, their worker could extend the lease beside another job of the same project.
    pub(crate) fn claim(&mut self, now: Instant, lease_until: Instant) -> Option<Claim> {
        let mut busy = BTreeSet::new();
        for id in self.open.values() {
            let Some(job) = self.jobs.get_mut(id).filter(|job| job.state == JobState::Running) else {
                continue;
            };
            if job.lease_until.is_some_and(|until| until < now) {
                job.state = JobState::Queued;
                job.lease_until = None;
                job.lease_token += 1;
            } else {
                busy.insert((job.tenant_id.clone(), job.project_id.clone()));
            }
        }
        let id = self
            .open
            .values()
            .filter_map(|id| self.jobs.get(id))
            .filter(|job| job.state == JobState::Queued)
            .filter(|job| !busy.contains(&(job.tenant_id.clone(), job.project_id.clone())))
            .min_by_key(|job| (job.trigger != Trigger::UserRequest, job.created_at, job.id))?
            .id;
        let job = self.jobs.get_mut(&id)?;
        job.state = JobState::Running;
        job.lease_token += 1;
        job.lease_until = Some(lease_until);
        Some(Claim { job: job.clone(), token: job.lease_token })
    }

    pub(crate) fn extend(&mut self, id: Uuid, token: u64, lease_until: Instant) -> bool {
        self.running(id, token).map(|job| job.lease_until = Some(lease_until)).is_some()
    }

    pub(crate) fn complete(
        &mut self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> bool {
        if self.running(id, token).is_none() {
            return false;
        }
        let state = if stale_reason.is_some() { JobState::Stale } else { JobState::Done };
        self.end(id, state, stale_reason, now);
        true
    }

    fn end(&mut self, id: Uuid, state: JobState, reason: Option<&str>, now: Instant) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.state = state;
        job.reason = reason.map(str::to_owned);
        job.ended_at = Some(now);
        job.lease_until = None;
        self.open.remove(&CoalescingKey::of_job(job));
    }

    fn running(&mut self, id: Uuid, token: u64) -> Option<&mut Job> {
        self.jobs.get_mut(&id).filter(|job| job.state == JobState::Running && job.lease_token == token)
    }

    /// Newest first. An `after` that is not on record has nothing after it.
    pub(crate) fn list(&self, filter: &JobFilter, after: Option<Uuid>, limit: usize) -> Vec<Job> {
        let place = |job: &Job| Reverse((job.created_at, job.id));
        let start = match after {
            None => None,
            Some(id) => match self.jobs.get(&id) {
                Some(job) => Some(place(job)),
                None => return Vec::new(),
            },
        };
        let mut jobs: Vec<&Job> = self
            .jobs
            .values()
            .filter(|job| job.tenant_id == filter.tenant_id)
            .filter(|job| filter.project_id.as_ref().is_none_or(|it| *it == job.project_id))
            .filter(|job| filter.state.is_none_or(|it| it == job.state))
            .filter(|job| filter.scope.is_none_or(|it| it == job.key.scope))
            .filter(|job| filter.tool_name.as_ref().is_none_or(|it| *it == job.key.tool_name))
            .filter(|job| start.as_ref().is_none_or(|it| place(job) > *it))
            .collect();
        jobs.sort_by_key(|job| place(job));
        jobs.into_iter().take(limit).cloned().collect()
    }

    pub(crate) fn count_queued(&self) -> u64 {
        self.open
            .values()
            .filter(|id| self.jobs.get(id).is_some_and(|job| job.state == JobState::Queued))
            .count() as u64
    }

    /// Deletes jobs, open or ended; how many.
    pub(crate) fn delete(&mut self, selects: impl Fn(&Job) -> bool) -> usize {
        let n_jobs = self.jobs.len();
        self.jobs.retain(|_, job| !selects(job));
        let jobs = &self.jobs;
        self.open.retain(|_, id| jobs.contains_key(id));
        n_jobs - jobs.len()
    }

    /// Deletes the jobs that are one user's alone, and what the tenant's other jobs say of the user.
    pub(crate) fn forget_user(&mut self, tenant_id: &str, user_id: &str) {
        self.delete(|job| job.tenant_id == tenant_id && job.key_user.as_deref() == Some(user_id));
        for job in self.jobs.values_mut().filter(|it| it.tenant_id == tenant_id) {
            let signals = job.signals.iter_mut();
            signals.filter(|it| it.user_id.as_deref() == Some(user_id)).for_each(Signal::forget);
        }
    }
}
