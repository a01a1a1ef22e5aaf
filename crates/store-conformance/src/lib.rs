//! The contract of a store, as tests: every store passes the same suite.
//!
//! A store's tests call [`store_conformance!`] with a function that makes an empty [`Fixture`]; it makes one test per case.
//!
//! ```ignore
//! store_conformance::store_conformance!(fresh);
//! // or, where a store cannot keep a promise, with the reason:
//! store_conformance::store_conformance!(fresh, except: [a_reopened_store_has_kept_everything => "keeps nothing"]);
//!
//! async fn fresh() -> MyFixture { /* an empty database of its own */ }
//! ```
//!
//! Cases know nothing of a store but the ports. They run at once, each on a fixture of its own, and no case sleeps: real time
//! bounds only how long a broken store may hang.
//!
//! # Promises and their cases
//!
//! | promise of [`ports`] | cases |
//! |---|---|
//! | absence is never an error | `absence_is_no_error` |
//! | a document comes back as written (R33…R37) | `a_document_comes_back_whole` |
//! | commit: compare-and-set on versions, conflict names a key | `an_update_of_the_current_version_replaces`, `a_stale_write_conflicts`, `an_update_of_an_absent_document_conflicts` |
//! | commit: of two first inserts one wins (R38) | `two_first_inserts_make_one_document` |
//! | commit: no update is lost, conflicts end | `sixty_four_writers_lose_no_update`, `overlapping_batches_end`, `writers_of_two_handles_lose_no_update` |
//! | commit: one transaction or nothing, over documents, jobs and outages | `a_commit_is_all_or_nothing`, `readers_see_whole_transactions`, `two_writes_of_one_key_in_a_batch_are_refused`, `a_large_batch_is_one_transaction` |
//! | commit: answers in the order of the batch; an empty one answers the head | `a_batch_answers_in_its_order`, `an_empty_batch_answers_the_head` |
//! | versions grow, also over a delete and a new insert | `versions_grow_over_a_delete` |
//! | containers: whole, in the order asked, absent ones empty | `containers_come_in_the_order_asked`, `many_containers_load_at_once` |
//! | loads see every acknowledged commit, by any server | `a_second_handle_sees_commits` |
//! | ids are compared byte by byte (R32, C25) | `odd_ids_are_kept_apart` |
//! | tenants never mix (DESIGN §4) | `tenants_never_mix`, `everything_of_a_tenant_is_deleted` |
//! | listing: filters, order, pages (R39, R40) | `filters_list_what_matches`, `a_status_filter_follows_the_document`, `a_page_goes_on_behind_its_place`, `a_page_holds_one_to_a_thousand`, `pages_are_complete_while_others_write` |
//! | feed: inserts, updates, deletes, in commit order | `the_feed_tells_inserts_updates_and_deletes`, `pages_of_the_feed_resume`, `the_feed_is_empty_at_the_head`, `a_key_that_changes_again_is_told_again` |
//! | feed: no commit is passed over, no transaction is split | `the_feed_is_complete_under_concurrent_commits`, `a_page_never_splits_a_transaction` |
//! | feed: a revision that is too old, or of another epoch, is refused | `a_revision_before_a_swept_tombstone_is_too_old`, `a_revision_of_another_epoch_is_refused` |
//! | waiting for changes ends with a change, or in time | `a_commit_wakes_who_waits`, `waiting_ends` |
//! | counters add up, without version or event (DESIGN §8) | `hits_add_up`, `hits_change_no_version`, `hits_of_absent_documents_are_dropped`, `counters_are_kept_apart_and_sorted`, `sums_of_hits_saturate` |
//! | rows that cannot be read: told as gone, left out of containers and lists, an error alone and to a first insert | `the_feed_tells_to_drop_what_cannot_be_read`, `an_unreadable_document_hides_no_other`, `a_first_insert_over_an_unreadable_document_is_corrupt`, `an_unreadable_document_can_be_replaced_and_deleted` |
//! | outages open and close; the last 200 stay (DESIGN §7) | `outages_open_and_close`, `outages_of_a_batch_are_in_order`, `the_last_200_outages_are_kept` |
//! | deletes take what they name, censor outages, leave tombstones | `one_document_is_deleted`, `what_is_kept_under_a_user_is_deleted`, `what_is_kept_under_a_session_is_deleted`, `everything_of_a_tenant_is_deleted`, `counters_go_with_their_document`, `a_delete_censors_the_open_outage` |
//! | deletes take jobs, open and ended, with their signals | `jobs_go_with_their_document`, `jobs_go_with_a_user_or_session`, `jobs_go_with_the_tenant_of_their_document` |
//! | deletes of a user take the user's jobs, and the user out of others' | `a_user_is_forgotten_in_the_jobs_of_others` |
//! | deletes of a user or session take its outages | `outages_go_with_a_user_or_session` |
//! | the sweep (R42, DESIGN §11.8) | `the_sweep_deletes_old_sessions`, `the_sweep_takes_any_number`, `the_sweep_takes_counters_of_past_episodes`, `the_sweep_takes_jobs_that_ended`, `the_sweep_takes_jobs_of_old_sessions`, `the_sweep_takes_old_outages_of_deleted_documents` |
//! | jobs come back as enqueued (R196, R197) | `a_job_comes_back_whole` |
//! | one open job per coalescing key, signals merged (R198, R199, C6) | `one_open_job_per_coalescing_key`, `jobs_of_one_batch_coalesce`, `the_first_and_the_last_four_signals_are_kept`, `a_running_job_takes_signals_in_an_ended_one_does_not`, `a_user_request_raises_the_trigger`, `a_storm_makes_one_job` |
//! | a full queue drops its oldest failure's job, never what a person asked for | `a_full_queue_drops_its_oldest_failure`, `a_full_queue_keeps_what_people_asked_for`, `a_batch_drops_from_the_queues_that_it_fills`, `a_queue_stays_full_under_a_storm` |
//! | claims: order, exclusive, one running per project (R194) | `a_claim_leases_the_job`, `user_requests_go_first_then_the_oldest`, `no_two_claims_get_one_job`, `one_job_of_a_project_runs`, `claims_of_two_handles_are_exclusive`, `a_busy_queue_runs_dry` |
//! | leases end, stale tokens do nothing | `an_ended_lease_is_taken_over`, `an_ended_lease_does_not_run_beside_another`, `a_lease_can_be_extended`, `a_job_ends_once` |
//! | jobs are listed newest first | `jobs_are_listed_newest_first` |
//! | rule layers, their versions and their number | `rule_layers_are_put_listed_and_deleted`, `the_number_of_the_rules_grows`, `a_rule_layer_is_changed_on_the_expected_version`, `concurrent_puts_of_a_rule_layer_do_not_overwrite`, `a_second_handle_sees_rule_layers` |
//! | the journal of failures: order and pages | `failures_are_listed_latest_first`, `pages_of_failures_go_on_before_their_place` |
//! | the journal: rows that cannot be read are passed over and counted | `a_page_of_failures_goes_on_behind_rows_that_cannot_be_read` |
//! | the journal: an append leaves the latest ones, also of several at once | `the_latest_failures_are_kept`, `appends_of_two_handles_keep_the_limit` |
//! | the journal: appends can be repeated, without version or event | `an_append_of_failures_can_be_repeated` |
//! | the journal: one a tenant, deleted with the tenant alone | `a_journal_goes_with_its_tenant` |
//! | identity; close; durability over a new start (DESIGN §2.5) | `a_store_names_itself`, `a_closed_store_is_unavailable`, `a_reopened_store_has_kept_everything` |
//! | all of it together | `random_operations_agree_with_the_model` |
//!
//! # What the suite reads into the contract
//!
//! Where the text of a port leaves a choice, all stores make the same one:
//!
//! - Keys are compared as bytes of UTF-8 and sorted as `DocumentKey` is: scopes from narrow to wide, not by their spelling.
//!   `None` sorts before any text. Ids hold no NUL; other text (notes, details of signals) may.
//! - Versions only grow: by how much is the store's affair. A page of the feed with `more` may lack a commit whose key was
//!   written again since: the newer content comes with a later page. A page without `more` lacks nothing up to `next`.
//! - Instants outside of documents are kept to the microsecond, inside of them to the nanosecond.
//! - A claim first puts the jobs whose lease ended before `now`, of any project, back to QUEUED, and voids their tokens. Of the
//!   queued ones it takes requests of people first, then by (`created_at`, id). Nobody completes or extends an ended job.
//! - A place in a journal is compared to the microsecond, as places on record have no more.
//! - A limit of a page is taken as 1 where it is 0, and as 1,000 where it is more. A page of jobs after an id that is not on
//!   record is empty.
//! - The sweep counts documents, tombstones, ended jobs, counters of past episodes and outages; counters and jobs that go with
//!   their document are not counted.
//! - Of a batch with several writes that cannot be done, one is named: a document that cannot be read, or one that conflicts.

pub mod cases;
mod fixture;
mod follower;
mod macros;
#[cfg(test)]
mod tests;
mod values;

pub use fixture::{Damage, Fixture, run};
