//! The loop: take an input, change it, run it, keep it if the answer is of a new kind; until time is up or something breaks.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::mutate::{self, MAX_BYTES};
use super::target::{Bound, Target};
use crate::random::Random;

/// A run that takes this long will not end.
const HANGS: Duration = Duration::from_secs(20);

/// Inputs to change: more would fill the memory in a long run.
const MOST_KEPT: usize = 8_192;

/// How an input broke a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It panicked, with these words.
    Panic(String),
    /// It took longer than its length allows, in the mean of several runs.
    Slow {
        /// The processor's time of one run.
        took: Duration,
        /// What it may take.
        bound: Duration,
    },
}

/// An input that broke a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The input, made as small as it was easy to.
    pub input: Vec<u8>,
    /// What it did.
    pub fault: Fault,
}

/// What a run has done.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Inputs run.
    pub runs: u64,
    /// Kinds of answers that were met.
    pub kept: usize,
    /// The longest time of an input, and its length.
    pub slowest: (Duration, usize),
    /// What broke.
    pub finding: Option<Finding>,
}

/// When to end.
#[derive(Debug, Clone, Copy)]
pub struct Until {
    /// After so many inputs.
    pub runs: Option<u64>,
    /// After so long.
    pub time: Option<Duration>,
}

/// Runs one input under its bound: the kind of answer, and the time.
///
/// # Errors
///
/// It broke the target.
pub fn run(target: Target, input: &[u8], bound: Bound) -> Result<(u64, Duration), Fault> {
    let begin = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(|| target.run(input)));
    let took = begin.elapsed();
    let answer = answer.map_err(|panic| Fault::Panic(words(panic.as_ref())))?;
    let bound = bound.of(input.len());
    if took <= bound {
        return Ok((answer, took));
    }
    // The machine does other things too: what counts is the processor's time, of several runs since it is told coarsely.
    const AGAIN: u32 = 8;
    let (begin, used) = (Instant::now(), processor_time());
    for _ in 0..AGAIN {
        // It has just been run without a panic.
        let _ = target.run(input);
    }
    let took =
        processor_time().zip(used).map_or_else(|| begin.elapsed(), |(now, then)| now.saturating_sub(then));
    let took = took / AGAIN;
    if took <= bound { Ok((answer, took)) } else { Err(Fault::Slow { took, bound }) }
}

/// What this thread has used of the processor; none where the system does not tell.
fn processor_time() -> Option<Duration> {
    // The time since the thread was scheduled last is counted when it gives way.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
}

/// Fuzzes a target from its seeds. `watch` is told the summary every ten seconds, and `hung` the input of a run that does
/// not end, after which the process aborts.
///
/// # Panics
///
/// If there are no seeds.
pub fn fuzz(
    target: Target,
    seeds: Vec<Vec<u8>>,
    seed: u64,
    until: Until,
    mut watch: impl FnMut(&Summary),
    hung: impl Fn(&[u8]) + Send + 'static,
) -> Summary {
    assert!(!seeds.is_empty(), "nothing to start from");
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let guard = Guard::start(hung);
    let mut random = Random::new(seed);
    let mut answers: HashSet<u64> = HashSet::new();
    let mut pool: Vec<Vec<u8>> = Vec::new();
    let mut summary = Summary::default();
    let begin = Instant::now();
    let mut told = begin;
    let mut waiting = seeds.clone();
    loop {
        let input = match waiting.pop() {
            Some(seed) => seed,
            None if is_over(until, summary.runs, begin) => break,
            None => {
                // Half of the time from what was found last: it is the least explored.
                let recent = pool.len().saturating_sub(64);
                let at = if random.once_in(2) {
                    recent + random.index(pool.len() - recent)
                } else {
                    random.index(pool.len())
                };
                let mut input = pool[at].clone();
                let other = pool[random.index(pool.len())].clone();
                mutate::mutate(&mut input, &other, &mut random);
                input
            }
        };
        guard.begin(&input);
        let result = run(target, &input, target.bound());
        guard.end();
        summary.runs += 1;
        match result {
            Ok((answer, took)) => {
                if took > summary.slowest.0 {
                    summary.slowest = (took, input.len());
                }
                if answers.insert(answer) || pool.is_empty() {
                    if pool.len() >= MOST_KEPT {
                        pool.swap_remove(random.index(pool.len()));
                    }
                    pool.push(input);
                }
            }
            Err(fault) => {
                summary.finding = Some(smaller(target, input, fault));
                break;
            }
        }
        summary.kept = answers.len();
        if told.elapsed() > Duration::from_secs(10) {
            told = Instant::now();
            watch(&summary);
        }
    }
    drop(guard);
    std::panic::set_hook(hook);
    summary
}

fn is_over(until: Until, runs: u64, begin: Instant) -> bool {
    until.runs.is_some_and(|it| runs >= it) || until.time.is_some_and(|it| begin.elapsed() >= it)
}

/// Leaves out what is not needed for a fault of the same kind, as long as that is quick.
fn smaller(target: Target, mut input: Vec<u8>, mut fault: Fault) -> Finding {
    let begin = Instant::now();
    let mut length = (input.len() / 2).max(1);
    while begin.elapsed() < Duration::from_secs(30) {
        let mut at = 0;
        while at < input.len() && begin.elapsed() < Duration::from_secs(30) {
            let mut less = input.clone();
            less.drain(at..(at + length).min(input.len()));
            match run(target, &less, target.bound()) {
                Err(it) if std::mem::discriminant(&it) == std::mem::discriminant(&fault) => {
                    (input, fault) = (less, it);
                }
                _ => at += length,
            }
        }
        if length == 1 {
            break;
        }
        length /= 2;
    }
    debug_assert!(input.len() <= MAX_BYTES);
    Finding { input, fault }
}

/// Since when which input runs, if one does.
type Running = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// Watches for a run that does not end.
struct Guard {
    current: Running,
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Guard {
    fn start(hung: impl Fn(&[u8]) + Send + 'static) -> Self {
        let current = Running::default();
        let is_over = Arc::new(AtomicBool::new(false));
        let (seen, over) = (Arc::clone(&current), Arc::clone(&is_over));
        let watch = move || {
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_secs(1));
                let current = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if let Some((begin, input)) = current.as_ref()
                    && begin.elapsed() > HANGS
                {
                    hung(input);
                    std::process::abort();
                }
            }
        };
        Self { current, is_over, thread: Some(std::thread::spawn(watch)) }
    }

    fn begin(&self, input: &[u8]) {
        let mut current = self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *current = Some((Instant::now(), input.to_vec()));
    }

    fn end(&self) {
        *self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}
