//! The suite finds what it is there to find: stores with one fault each do not pass.

mod faulty;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use health_model::DocumentKey;
use ports::Store;
use store_conformance::{Damage, Fixture, cases, run};
use store_memory::MemoryStore;
use uuid::Uuid;

use faulty::{Fault, Faulty};

/// Handles on one store, all with the same fault.
struct Broken(MemoryStore, Fault);

#[async_trait]
impl Fixture for Broken {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Faulty::new(self.0.handle(), self.1))
    }

    async fn damage(&self, key: &DocumentKey, _: Damage) {
        assert!(self.0.damage(key).expect("the store is open"), "there is no `{key}`");
    }

    async fn damage_failure(&self, id: Uuid) {
        assert!(self.0.damage_failure(id).expect("the store is open"), "there is no `{id}`");
    }
}

/// Whether each case passes on a store with the fault.
macro_rules! passes {
    ($fault:expr, $($case:ident),+) => {
        [$((
            stringify!($case),
            catch_unwind(AssertUnwindSafe(|| {
                run(async || Broken(MemoryStore::new("faulty"), $fault), cases::$case);
            }))
            .is_ok(),
        )),+]
    };
}

/// For each fault: the cases fail with it, and pass without.
macro_rules! each_fault_is_found {
    ($($test:ident: $fault:ident => [$($case:ident),+];)+) => {
        $(#[test]
        fn $test() {
            for (case, passes) in passes!(Fault::None, $($case),+) {
                assert!(passes, "{case} fails without a fault");
            }
            for (case, passes) in passes!(Fault::$fault, $($case),+) {
                assert!(!passes, "{case} does not find {:?}", Fault::$fault);
            }
        })+
    };
}

each_fault_is_found! {
    overwriting: Overwrites => [
        a_stale_write_conflicts, two_first_inserts_make_one_document, sixty_four_writers_lose_no_update,
        overlapping_batches_end, writers_of_two_handles_lose_no_update, a_commit_is_all_or_nothing,
        random_operations_agree_with_the_model
    ];
    half_a_commit: CommitsInParts => [a_commit_is_all_or_nothing, readers_see_whole_transactions];
    answers_out_of_order: AnswersBackwards => [a_batch_answers_in_its_order];
    a_lost_fraction: CutsInstants => [a_document_comes_back_whole];
    a_stale_read: ReadsLate => [a_second_handle_sees_commits];
    unsorted_containers: SortsContainers => [containers_come_in_the_order_asked];
    mixed_tenants: MixesTenants => [
        tenants_never_mix, filters_list_what_matches, a_journal_goes_with_its_tenant
    ];
    a_filter_that_is_ignored: IgnoresStatus => [filters_list_what_matches, a_status_filter_follows_the_document];
    pages_without_end: SaysThereIsMore => [a_page_goes_on_behind_its_place];
    a_split_transaction: SplitsTransactions => [a_page_never_splits_a_transaction];
    a_change_passed_over: SkipsChanges => [
        the_feed_is_complete_under_concurrent_commits, pages_of_the_feed_resume, random_operations_agree_with_the_model
    ];
    a_delete_passed_over: HidesDeletes => [
        the_feed_tells_inserts_updates_and_deletes, one_document_is_deleted, random_operations_agree_with_the_model
    ];
    a_gap_kept_quiet: NeverTooOld => [
        a_revision_before_a_swept_tombstone_is_too_old, a_revision_of_another_epoch_is_refused
    ];
    an_event_for_each_hit: HitsAreWrites => [hits_change_no_version];
    hits_of_nothing: KeepsStrayHits => [hits_of_absent_documents_are_dropped];
    an_outage_that_ended_by_itself: ForgetsCensoring => [a_delete_censors_the_open_outage, the_sweep_deletes_old_sessions];
    one_job_for_two: ClaimsTwice => [
        no_two_claims_get_one_job, one_job_of_a_project_runs, claims_of_two_handles_are_exclusive,
        random_operations_agree_with_the_model
    ];
    a_token_that_opens_all: IgnoresTokens => [an_ended_lease_is_taken_over, a_job_ends_once];
    oldest_first: ForgetsRequests => [
        user_requests_go_first_then_the_oldest, a_user_request_raises_the_trigger,
        a_full_queue_keeps_what_people_asked_for
    ];
    rules_overwritten: IgnoresRuleVersions => [
        a_rule_layer_is_changed_on_the_expected_version, concurrent_puts_of_a_rule_layer_do_not_overwrite
    ];
    a_sweep_that_does_nothing: NeverSweeps => [
        the_sweep_deletes_old_sessions, the_sweep_takes_any_number, the_sweep_takes_counters_of_past_episodes,
        the_last_200_outages_are_kept, the_sweep_takes_jobs_that_ended, the_sweep_takes_jobs_of_old_sessions,
        the_sweep_takes_old_outages_of_deleted_documents
    ];
    a_bad_row_kept_quiet: HidesDamage => [the_feed_tells_to_drop_what_cannot_be_read];
    a_bad_row_that_reads_as_absent: AnswersDamageAsAbsent => [
        an_unreadable_document_hides_no_other
    ];
    a_bad_row_that_conflicts: ConflictsOverDamage => [a_first_insert_over_an_unreadable_document_is_corrupt];
    a_bad_row_for_good: NeverMends => [an_unreadable_document_can_be_replaced_and_deleted];
    jobs_that_outlive_their_document: KeepsJobs => [
        jobs_go_with_their_document, jobs_go_with_a_user_or_session, jobs_go_with_the_tenant_of_their_document,
        a_user_is_forgotten_in_the_jobs_of_others, random_operations_agree_with_the_model
    ];
    a_user_deleted_by_documents_alone: DeletesOneByOne => [
        a_user_is_forgotten_in_the_jobs_of_others, outages_go_with_a_user_or_session
    ];
    a_queue_without_end: DropsNothing => [
        a_full_queue_drops_its_oldest_failure, a_full_queue_keeps_what_people_asked_for,
        a_batch_drops_from_the_queues_that_it_fills, a_queue_stays_full_under_a_storm
    ];
    a_journal_without_end: KeepsFailures => [the_latest_failures_are_kept, appends_of_two_handles_keep_the_limit];
    a_journal_that_ends_at_a_bad_row: EndsAtDamage => [a_page_of_failures_goes_on_behind_rows_that_cannot_be_read];
    a_close_that_does_nothing: StaysOpen => [a_closed_store_is_unavailable];
}
