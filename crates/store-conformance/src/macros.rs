//! The macro that makes a test of each case.

/// Makes one `#[test]` per case, in a module `conformance`: `store_conformance!(fresh)`, where `fresh` is an `async fn` that
/// makes an empty [`Fixture`](crate::Fixture).
///
/// `except: [case => "reason"]` after it leaves a case out; it stays visible as an ignored test with the reason. A case that
/// does not exist does not compile.
#[macro_export]
macro_rules! store_conformance {
    ($fresh:expr $(, except: [$($case:ident => $reason:literal),* $(,)?])? $(,)?) => {
        $crate::store_conformance_tests!(($) $fresh; $($($case => $reason),*)?);
    };
}

/// The tests of [`store_conformance!`]. `$d` is a dollar sign: the inner macro needs one of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! store_conformance_tests {
    (($d:tt) $fresh:expr; $($except:ident => $reason:literal),*) => {
        mod conformance {
            #[allow(unused_imports, reason = "the factory may be named by a path of its own")]
            use super::*;

            macro_rules! conformance_test {
                $(($except) => {
                    #[test]
                    #[ignore = $reason]
                    fn $except() {
                        $crate::run($fresh, $crate::cases::$except);
                    }
                };)*
                ($d case:ident) => {
                    #[test]
                    fn $d case() {
                        $crate::run($fresh, $crate::cases::$d case);
                    }
                };
            }

            $(const _: &str = { let _ = $crate::cases::$except; stringify!($except) };)*

            $crate::each_case!(conformance_test);
        }
    };
}

/// Calls a macro with the name of each case.
#[doc(hidden)]
#[macro_export]
macro_rules! each_case {
    ($callback:ident) => {
        $callback!(hits_add_up);
        $callback!(hits_change_no_version);
        $callback!(hits_of_absent_documents_are_dropped);
        $callback!(counters_are_kept_apart_and_sorted);
        $callback!(counters_go_with_their_document);
        $callback!(sums_of_hits_saturate);
        $callback!(the_sweep_takes_counters_of_past_episodes);
        $callback!(one_document_is_deleted);
        $callback!(what_is_kept_under_a_user_is_deleted);
        $callback!(what_is_kept_under_a_session_is_deleted);
        $callback!(everything_of_a_tenant_is_deleted);
        $callback!(the_sweep_deletes_old_sessions);
        $callback!(the_sweep_takes_any_number);
        $callback!(the_sweep_takes_jobs_that_ended);
        $callback!(the_sweep_takes_jobs_of_old_sessions);
        $callback!(the_sweep_takes_old_outages_of_deleted_documents);
        $callback!(jobs_go_with_their_document);
        $callback!(jobs_go_with_a_user_or_session);
        $callback!(jobs_go_with_the_tenant_of_their_document);
        $callback!(a_user_is_forgotten_in_the_jobs_of_others);
        $callback!(outages_go_with_a_user_or_session);
        $callback!(absence_is_no_error);
        $callback!(a_document_comes_back_whole);
        $callback!(an_update_of_the_current_version_replaces);
        $callback!(a_stale_write_conflicts);
        $callback!(an_update_of_an_absent_document_conflicts);
        $callback!(versions_grow_over_a_delete);
        $callback!(containers_come_in_the_order_asked);
        $callback!(many_containers_load_at_once);
        $callback!(a_batch_answers_in_its_order);
        $callback!(an_empty_batch_answers_the_head);
        $callback!(two_writes_of_one_key_in_a_batch_are_refused);
        $callback!(odd_ids_are_kept_apart);
        $callback!(tenants_never_mix);
        $callback!(the_feed_tells_inserts_updates_and_deletes);
        $callback!(pages_of_the_feed_resume);
        $callback!(a_page_never_splits_a_transaction);
        $callback!(the_feed_is_empty_at_the_head);
        $callback!(the_feed_is_complete_under_concurrent_commits);
        $callback!(a_key_that_changes_again_is_told_again);
        $callback!(a_revision_of_another_epoch_is_refused);
        $callback!(a_revision_before_a_swept_tombstone_is_too_old);
        $callback!(a_commit_wakes_who_waits);
        $callback!(waiting_ends);
        $callback!(a_store_names_itself);
        $callback!(a_second_handle_sees_commits);
        $callback!(writers_of_two_handles_lose_no_update);
        $callback!(claims_of_two_handles_are_exclusive);
        $callback!(a_second_handle_sees_rule_layers);
        $callback!(a_closed_store_is_unavailable);
        $callback!(a_reopened_store_has_kept_everything);
        $callback!(a_job_comes_back_whole);
        $callback!(one_open_job_per_coalescing_key);
        $callback!(jobs_of_one_batch_coalesce);
        $callback!(the_first_and_the_last_four_signals_are_kept);
        $callback!(a_running_job_takes_signals_in_an_ended_one_does_not);
        $callback!(a_user_request_raises_the_trigger);
        $callback!(a_storm_makes_one_job);
        $callback!(jobs_are_listed_newest_first);
        $callback!(failures_are_listed_latest_first);
        $callback!(pages_of_failures_go_on_before_their_place);
        $callback!(a_page_of_failures_goes_on_behind_rows_that_cannot_be_read);
        $callback!(the_latest_failures_are_kept);
        $callback!(an_append_of_failures_can_be_repeated);
        $callback!(a_journal_goes_with_its_tenant);
        $callback!(appends_of_two_handles_keep_the_limit);
        $callback!(a_claim_leases_the_job);
        $callback!(user_requests_go_first_then_the_oldest);
        $callback!(no_two_claims_get_one_job);
        $callback!(one_job_of_a_project_runs);
        $callback!(an_ended_lease_is_taken_over);
        $callback!(an_ended_lease_does_not_run_beside_another);
        $callback!(a_lease_can_be_extended);
        $callback!(a_job_ends_once);
        $callback!(a_busy_queue_runs_dry);
        $callback!(filters_list_what_matches);
        $callback!(a_status_filter_follows_the_document);
        $callback!(a_page_goes_on_behind_its_place);
        $callback!(a_page_holds_one_to_a_thousand);
        $callback!(pages_are_complete_while_others_write);
        $callback!(outages_open_and_close);
        $callback!(outages_of_a_batch_are_in_order);
        $callback!(a_delete_censors_the_open_outage);
        $callback!(the_last_200_outages_are_kept);
        $callback!(random_operations_agree_with_the_model);
        $callback!(rule_layers_are_put_listed_and_deleted);
        $callback!(the_number_of_the_rules_grows);
        $callback!(a_rule_layer_is_changed_on_the_expected_version);
        $callback!(concurrent_puts_of_a_rule_layer_do_not_overwrite);
        $callback!(a_full_queue_drops_its_oldest_failure);
        $callback!(a_full_queue_keeps_what_people_asked_for);
        $callback!(a_batch_drops_from_the_queues_that_it_fills);
        $callback!(a_queue_stays_full_under_a_storm);
        $callback!(the_feed_tells_to_drop_what_cannot_be_read);
        $callback!(an_unreadable_document_hides_no_other);
        $callback!(a_first_insert_over_an_unreadable_document_is_corrupt);
        $callback!(an_unreadable_document_can_be_replaced_and_deleted);
        $callback!(two_first_inserts_make_one_document);
        $callback!(sixty_four_writers_lose_no_update);
        $callback!(overlapping_batches_end);
        $callback!(a_commit_is_all_or_nothing);
        $callback!(readers_see_whole_transactions);
        $callback!(a_large_batch_is_one_transaction);
    };
}
