//! `kill -9`: what was acknowledged as committed is there afterwards (DESIGN §2.5).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::{Durability, SuccessOutcome, ToolState};
use agrajag_tests::client::Client;
use agrajag_tests::messages::{caller, check, connection_refused, lookup, rest, success};
use agrajag_tests::postgres::Database;
use agrajag_tests::random::Random;
use agrajag_tests::server::Setup;
use agrajag_tests::wait::until;

/// How often the server is killed.
const ROUNDS: u64 = 20;

/// Writers at the same time.
const WRITERS: u64 = 16;

/// The server is killed at a random moment at most this long after its first acknowledgement.
const LIFE: Duration = Duration::from_millis(400);

/// What is known of a tool: what was acknowledged last, and whether a write behind it was never answered.
#[derive(Debug, Clone, Copy)]
struct Known {
    acknowledged: ToolState,
    in_doubt: bool,
}

type Ledger = Mutex<BTreeMap<String, Known>>;

/// One writer: a failure takes a tool down, every other time a success brings it back; until the server is gone.
async fn write(client: Client, round: u64, writer: u64, ledger: &Ledger) {
    let note = |tool: &str, known: Known| {
        ledger.lock().expect("no panic").insert(tool.to_owned(), known);
    };
    for n in 0.. {
        let tool = format!("r{round}_w{writer}_{n}");
        note(&tool, Known { acknowledged: ToolState::Ok, in_doubt: true });
        let request = check(caller("alice"), rest(&tool), connection_refused());
        let Ok(answer) = client.tools().check(request).await else { return };
        let verdict = answer.into_inner().verdict.expect("a verdict");
        assert_eq!(verdict.durability(), Durability::Committed, "the store was never away: {verdict:?}");
        note(&tool, Known { acknowledged: ToolState::Down, in_doubt: n % 2 == 1 });
        if n % 2 == 0 {
            continue;
        }
        let Ok(answer) = client.tools().record_success(success(caller("bob"), rest(&tool))).await else {
            return;
        };
        let answer = answer.into_inner();
        assert_eq!(answer.results[0].outcome(), SuccessOutcome::Cleared);
        assert_eq!(answer.durability(), Durability::Committed);
        note(&tool, Known { acknowledged: ToolState::Ok, in_doubt: false });
    }
}

/// Compares every tool with what was acknowledged; the number of those that were.
async fn verify(client: &Client, ledger: &Ledger, seed: u64) -> usize {
    let known: Vec<(String, Known)> =
        ledger.lock().expect("no panic").iter().map(|(tool, known)| (tool.clone(), *known)).collect();
    for part in known.chunks(1_000) {
        let request = v1::LookupRequest {
            consistency: v1::Consistency::Store.into(),
            ..lookup(caller("carol"), part.iter().map(|(tool, _)| rest(tool)))
        };
        let response = client.lookup(request).await;
        for ((tool, known), found) in part.iter().zip(&response.tools) {
            let is_kept = found.state() == known.acknowledged || known.in_doubt;
            assert!(is_kept, "`{tool}` reads {:?}, acknowledged was {known:?}; seed {seed}", found.state());
        }
    }
    known.iter().filter(|(_, it)| it.acknowledged == ToolState::Down || !it.in_doubt).count()
}

async fn kill_twenty_times(setup: Setup, what: &str) {
    let mut random = Random::announced(what);
    let ledger = Ledger::default();
    let mut server = setup.spawn().await;
    let began = std::time::Instant::now();
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let seed = random.next_u64();
        let span = u64::try_from(LIFE.as_micros()).expect("less than a second");
        let life = Duration::from_micros(Random::new(seed).below(span));
        let load = futures::future::join_all(
            (0..WRITERS).map(|it| write(server.client.clone(), round, it, &ledger)),
        );
        let killed = async {
            until("the first acknowledgement", async || {
                let prefix = format!("r{round}_");
                let ledger = ledger.lock().expect("no panic");
                let mut known =
                    ledger.range(prefix.clone()..).take_while(|(tool, _)| tool.starts_with(&prefix));
                known.any(|(_, it)| it.acknowledged == ToolState::Down).then_some(())
            })
            .await;
            tokio::time::sleep(life).await;
            server.kill()
        };
        let (_, setup) = futures::future::join(load, killed).await;
        server = setup.spawn().await;
        let kept = verify(&server.client, &ledger, seed).await;
        eprintln!(
            "{what}: round {round} (seed {seed}): killed after {life:?}, {kept} acknowledged and there"
        );
        assert!(kept > acknowledged, "round {round} lost what it had acknowledged");
        acknowledged = kept;
    }
    eprintln!("{what}: {ROUNDS} kills in {:?}, {acknowledged} tools", began.elapsed());
}

/// DESIGN §2.5 on SQLite: 20 kills under load, every acknowledged write is there.
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_what_was_acknowledged() {
    kill_twenty_times(Setup::sqlite(), "kill on SQLite").await;
}

/// The same on PostgreSQL with durability on.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_what_was_acknowledged() {
    let database = Database::fresh_durable();
    kill_twenty_times(Setup::postgres_at(&database.url()), "kill on PostgreSQL").await;
}
