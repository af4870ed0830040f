"""Where each known failure of a system like this one is tested here, row by row; or why it cannot happen.

The ids are those of the catalogue of nanobot's failures: H history, C consolidation, D dreaming, E edits, G git,
S schedule, Q quality of what is kept, U use. A value is the node id of a test below tests/, or of several; or, after
`=`, the reason why there is nothing to test. A test below sees to it that every node is there.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
COUNTS = {"H": 33, "C": 37, "D": 31, "E": 12, "G": 27, "S": 14, "Q": 15, "U": 12}

DAMAGE, PROCESSES = "store/test_history_damage.py", "store/test_history_processes.py"
ARCHIVE, HISTORY, LEGACY = "store/test_history_archive.py", "store/test_history.py", "store/test_history_legacy.py"
CONTEXT, WORKSPACE = "store/test_context.py", "store/test_workspace.py"
CONSOLIDATOR, CUT, SESSION = (
    "consolidate/test_consolidator.py",
    "consolidate/test_cut.py",
    "consolidate/test_session.py",
)
SUMMARY, NOTHING_LOST = "consolidate/test_summary.py", "consolidate/test_nothing_is_lost.py"
RUN, PHASE1, PHASE2 = "pipeline/test_run.py", "phases/test_phase1.py", "phases/test_phase2.py"
DRAFT, EDITING, FINDINGS = "phases/test_draft.py", "phases/test_editing.py", "phases/test_findings.py"
STORE, RESTORE, TRANSACTION = "git/test_gitstore.py", "git/test_restore.py", "git/test_transaction.py"
ISOLATION, MESSAGES = "git/test_isolation.py", "git/test_messages.py"
CRASH, DISK, DOCTOR = "faults/test_crash.py", "faults/test_disk.py", "faults/test_doctor.py"
RACES, MODEL, PERSON = "faults/test_processes.py", "faults/test_misbehaviour.py", "faults/test_person.py"
SERVE, SCHEDULE, NIGHT, CRONTIME, TIMERS = (
    f"nights/test_{name}.py" for name in ("serve", "schedule", "night", "crontime", "timers")
)
COMMANDS, TOKENS, GATEWAY = "cli/test_commands.py", "text/test_tokens.py", "llm/test_gateway.py"
REVISING, READING = "embedded/test_revising.py", "embedded/test_reading.py"

TABLE: dict[str, str] = {
    "H1": f"{DAMAGE}::test_a_torn_tail_is_set_aside_before_the_next_append",
    "H2": f"{DAMAGE}::test_a_cursor_file_from_a_backup_is_not_believed",
    "H3": f"{ARCHIVE}::test_an_undreamt_entry_never_moves",
    "H4": f"{PROCESSES}::test_archiving_appending_and_reading_side_by_side_lose_nothing",
    "H5": "store/test_history_processes.py::test_many_processes_share_gap_free_cursors_and_whole_lines",
    "H6": f"{HISTORY}::test_two_objects_on_one_log_never_give_a_cursor_twice",
    "H7": f"{DAMAGE}::test_a_foreign_line_stops_nothing_and_is_reported_once",
    "H8": f"{DAMAGE}::test_a_foreign_line_stops_nothing_and_is_reported_once",
    "H9": f"{DAMAGE}::test_a_foreign_line_stops_nothing_and_is_reported_once",
    "H10": f"{DAMAGE}::test_a_damaged_cursor_file_is_mended",
    "H11": f"{DAMAGE}::test_a_line_that_can_be_understood_is_read",
    "H12": f"{HISTORY}::test_a_lone_surrogate_becomes_a_replacement_character "
    f"{CONSOLIDATOR}::test_images_control_characters_and_lone_surrogates_break_nothing",
    "H13": f"{WORKSPACE}::test_a_damaged_dream_cursor_is_taken_from_the_last_commit {CRASH}::test_killed_at_every_call",
    "H14": f"{DOCTOR}::test_new_entries_are_dreamt_after_history_and_its_cursor_were_deleted "
    f"{DOCTOR}::test_new_entries_are_dreamt_though_the_cursor_says_that_they_were",
    "H15": f"{ARCHIVE}::test_a_crash_between_archive_and_log_shows_nothing_twice_and_is_finished_by_the_next_append",
    "H16": f"{PROCESSES}::test_a_kill_in_mid_append_loses_no_entry_that_was_acknowledged",
    "H17": f"{HISTORY}::test_the_newest_entries_come_in_order",
    "H18": f"{HISTORY}::test_reading_after_a_cursor_begins_with_the_next",
    "H19": f"{LEGACY}::test_entries_without_an_empty_line_between_them_are_not_merged "
    f"{LEGACY}::test_a_raw_block_stays_together {LEGACY}::test_dates_are_understood_however_they_are_written "
    f"{WORKSPACE}::test_an_old_history_is_imported_as_already_dreamt",
    "H20": "llm/test_answers.py::test_only_thinking_at_the_start_is_dropped",
    "H21": "llm/test_answers.py::test_text_that_only_resembles_a_call_stays_text",
    "H22": f"{CONSOLIDATOR}::test_raw_entries_hold_every_message_in_full_and_stay_small "
    f"{CONTEXT}::test_the_block_never_exceeds_its_budget",
    "H23": f"{SUMMARY}::test_a_summary_longer_than_what_it_summarises_is_refused",
    "H24": "= append returns the entries that it wrote; nothing is read back as the last row",
    "H25": f"{CONTEXT}::test_of_other_sessions_nothing_is_shown",
    "H26": f"{CONTEXT}::test_the_oldest_entries_give_way_not_the_newest",
    "H27": f"{CONTEXT}::test_the_oldest_entries_give_way_not_the_newest",
    "H28": f"{WORKSPACE}::test_the_context_holds_the_files_and_what_was_not_dreamt_yet",
    "H29": f"{SESSION}::test_summaries_of_another_session_stay_out",
    "H30": f"{CONSOLIDATOR}::test_nothing_is_an_entry_that_nobody_has_to_read "
    f"{CONTEXT}::test_what_holds_nothing_is_not_shown",
    "H31": f"{HISTORY}::test_times_are_written_in_utc",
    "H32": f"{DRAFT}::test_only_the_three_files_can_be_named",
    "H33": f"{ARCHIVE}::test_the_oldest_dreamt_entries_move_until_history_is_within_its_budget",
    "C1": f"{CONSOLIDATOR}::test_every_prompt_fits_the_window_with_its_answer "
    f"{CONSOLIDATOR}::test_a_message_of_two_megabytes_is_split_and_never_cut_off",
    "C2": f"{CONSOLIDATOR}::test_raw_entries_hold_every_message_in_full_and_stay_small",
    "C3": f"{MODEL}::test_without_a_summary_the_messages_themselves_are_kept",
    "C4": f"{MODEL}::test_without_a_summary_the_messages_themselves_are_kept",
    "C5": f"{CUT}::test_a_turn_longer_than_the_budget_is_cut_at_a_message",
    "C6": f"{SESSION}::test_one_turn_of_200_tool_rounds_is_still_consolidated",
    "C7": f"{NOTHING_LOST}::test_every_message_is_in_exactly_one_entry",
    "C8": f"{TOKENS}::test_real_tokenizers_are_found_without_a_download",
    "C9": f"{TOKENS}::test_special_tokens_are_ordinary_text",
    "C10": f"{TOKENS}::test_every_text_can_be_counted",
    "C11": f"{CONSOLIDATOR}::test_every_prompt_fits_the_window_with_its_answer",
    "C12": f"{SESSION}::test_after_a_restart_the_session_goes_on_where_history_says "
    f"{SESSION}::test_the_agents_own_prompt_counts",
    "C13": "= there is no window of messages beside the budget, so none can hide what was not archived",
    "C14": f"{CUT}::test_what_a_live_session_keeps_never_starts_with_a_result "
    f"{CUT}::test_a_call_that_waits_for_its_result_stays_in_the_prompt",
    "C15": f"{NOTHING_LOST}::test_every_message_is_in_exactly_one_entry",
    "C16": "= a session is never trimmed before its messages are in history",
    "C17": f"{SESSION}::test_an_agent_that_kept_nothing_loses_nothing_that_is_said_after "
    f"{CONSOLIDATOR}::test_a_session_that_became_shorter_is_said_and_nothing_is_read",
    "C18": f"{SESSION}::test_messages_added_from_many_threads_are_all_there",
    "C19": f"{SESSION}::test_what_is_said_while_the_model_thinks_is_untouched",
    "C20": f"{CONSOLIDATOR}::test_a_session_that_grew_is_read_from_where_it_was",
    "C21": f"{CONSOLIDATOR}::test_a_short_session_becomes_one_summary",
    "C22": "= transcripts are read and never written to",
    "C23": "sources/test_incremental.py::test_what_was_written_within_the_last_hours_waits",
    "C24": "transcripts/test_mutations.py::test_a_field_of_any_other_value_never_raises",
    "C25": "transcripts/test_openai.py::test_a_record_without_role_time_or_id_is_a_users",
    "C26": f"{CONSOLIDATOR}::test_images_control_characters_and_lone_surrogates_break_nothing",
    "C27": "transcripts/test_content.py::test_a_call_is_one_short_line_with_its_most_telling_argument",
    "C28": f"{SESSION}::test_archive_takes_everything",
    "C29": f"{CRASH}::test_killed_at_every_call "
    f"{NOTHING_LOST}::test_a_process_that_is_killed_between_two_chunks_loses_and_doubles_nothing",
    "C30": f"{GATEWAY}::test_a_server_that_never_answers_is_given_up_in_time",
    "C31": f"{SESSION}::test_in_the_background_the_reply_does_not_wait",
    "C32": f"{SESSION}::test_archive_takes_everything",
    "C33": f"{REVISING}::test_what_is_said_again_makes_no_second_line",
    "C34": f"{MODEL}::test_whatever_phase_2_does_a_finding_is_settled_in_bounded_calls",
    "C35": "= dream keeps no session files; a session is a key in history and nothing else",
    "C36": "= each call holds the whole prompt; nothing is resumed at the provider",
    "C37": "= a date stands before the speaker in the prompt's data, never in a message of the assistant",
    "D1": f"{MODEL}::test_an_unusable_analysis_fails_the_run_and_changes_nothing",
    "D2": f"{MODEL}::test_an_unusable_analysis_fails_the_run_and_changes_nothing",
    "D3": f"{MODEL}::test_whatever_phase_2_does_a_finding_is_settled_in_bounded_calls",
    "D4": f"{DRAFT}::test_an_ambiguous_match_is_an_error",
    "D5": f"{MODEL}::test_a_poisoned_entry_is_set_aside_and_the_ones_after_it_are_dreamt",
    "D6": f"{RUN}::test_skip_moves_the_cursor_without_a_commit_and_the_next_commit_takes_it_along",
    "D7": f"{MODEL}::test_whatever_phase_2_does_a_finding_is_settled_in_bounded_calls",
    "D8": f"{RUN}::test_skip_moves_the_cursor_without_a_commit_and_the_next_commit_takes_it_along",
    "D9": f"{DRAFT}::test_an_edit_that_changes_nothing_is_an_error {PHASE2}::test_a_run_of_errors_ends_the_loop",
    "D10": f"{PHASE2}::test_a_miss_is_answered_with_the_nearest_line_and_can_be_mended",
    "D11": f"{RACES}::test_of_two_dreams_at_once_one_works_and_the_other_exits_4_at_once",
    "D12": f"{DRAFT}::test_only_the_three_files_can_be_named",
    "D13": f"{DRAFT}::test_only_the_three_files_can_be_named",
    "D14": f"{CRASH}::test_killed_at_every_call",
    "D15": f"{PHASE1}::test_a_long_entry_is_read_in_pages_and_no_byte_is_left_out",
    "D16": "llm/test_spending.py::test_a_prompt_that_fills_the_window_is_not_sent",
    "D17": f"{MODEL}::test_an_edit_that_deletes_everything_is_held",
    "D18": f"{PHASE1}::test_history_cannot_forge_a_section_or_an_entry",
    "D19": f"{MESSAGES}::test_the_subject_counts_the_files_that_a_person_reads",
    "D20": f"{MESSAGES}::test_findings_stand_labelled_between_subject_and_trailers",
    "D21": f"{PERSON}::test_a_save_between_any_two_steps",
    "D22": f"{RUN}::test_max_batches_bounds_a_run",
    "D23": f"{RUN}::test_a_memory_file_that_is_not_text_is_said_and_nothing_is_lost",
    "D24": "= a draft belongs to one dream; nothing of it is kept in a module",
    "D25": f"{CONSOLIDATOR}::test_recalled_memory_is_never_learnt_again",
    "D26": f"{MODEL}::test_an_unusable_analysis_fails_the_run_and_changes_nothing",
    "D27": f"{DRAFT}::test_memory_md_is_understood_without_its_folder",
    "D28": "= no age or hint stands in the text that a model copies",
    "D29": "= no age of a line is kept anywhere",
    "D30": f"{PHASE2}::test_a_model_that_does_not_do_its_work_costs_no_fact",
    "D31": "= the files stand once in each phase's prompt, as the prompt's tests show",
    "E1": f"{DRAFT}::test_a_miss_names_the_nearest_line",
    "E2": f"{DRAFT}::test_an_ambiguous_match_is_an_error",
    "E3": f"{DRAFT}::test_an_edit_that_changes_nothing_is_an_error",
    "E4": "= no age or hint stands in the text that a model copies",
    "E5": f"{DRAFT}::test_one_crlf_in_a_file_does_not_spread",
    "E6": f"{DRAFT}::test_a_whole_line_is_meant_where_it_is_also_part_of_another",
    "E7": f"{DRAFT}::test_a_removed_line_leaves_no_hole",
    "E8": "= an edit names its place by its text alone; there is no line number to be wrong",
    "E9": f"{PHASE2}::test_several_calls_in_one_round_all_land",
    "E10": f"{DRAFT}::test_an_empty_old_text_appends_a_line_at_the_end",
    "E11": "= a tool's error is an exception on our side; the text of a result is never looked at",
    "E12": f"{PERSON}::test_a_save_between_any_two_steps {PERSON}::test_a_save_while_the_model_thinks",
    "G1": f"{STORE}::test_every_listed_sha_is_git_own_and_resolves",
    "G2": f"{STORE}::test_an_ambiguous_sha_names_the_candidates",
    "G3": f"{STORE}::test_a_sha_that_breaks_a_rule_is_refused_by_that_rule",
    "G4": f"{STORE}::test_every_listed_sha_is_git_own_and_resolves",
    "G5": f"{STORE}::test_the_very_first_change_is_shown_with_a_full_diff",
    "G6": f"{RESTORE}::test_only_takes_one_change_out_and_keeps_the_later_ones_and_the_cursor",
    "G7": f"{RESTORE}::test_what_a_person_typed_later_stays_and_is_in_its_own_commit",
    "G8": f"{RESTORE}::test_a_file_that_the_change_made_goes_and_one_that_it_removed_comes_back",
    "G9": f"{RESTORE}::test_bytes_that_are_no_utf8_come_back_as_they_were",
    "G10": f"{RESTORE}::test_a_restore_gives_back_files_and_cursor_byte_for_byte",
    "G11": f"{RESTORE}::test_forget_remembers_what_went_away {EDITING}::test_a_fact_that_a_person_took_back_stays_out",
    "G12": f"{RESTORE}::test_a_restore_can_itself_be_taken_back_and_that_too",
    "G13": f"{RESTORE}::test_a_state_that_is_already_there_is_nothing_to_do",
    "G14": f"{ISOLATION}::test_somebody_elses_repository_is_not_touched_by_a_byte",
    "G15": f"{ISOLATION}::test_somebody_elses_repository_is_not_touched_by_a_byte",
    "G16": f"{ISOLATION}::test_what_the_person_has_staged_in_our_repository_stays_staged",
    "G17": f"{ISOLATION}::test_somebody_elses_repository_is_not_touched_by_a_byte",
    "G18": f"{STORE}::test_a_stale_index_lock_of_the_person_stops_no_dream",
    "G19": "= a dream writes nothing but files that are versioned",
    "G20": f"{STORE}::test_a_blob_a_tree_and_a_commit_by_hand_are_no_changes_of_dream",
    "G21": f"{RUN}::test_nothing_new_costs_no_call_and_says_why",
    "G22": f"{STORE}::test_a_blob_a_tree_and_a_commit_by_hand_are_no_changes_of_dream",
    "G23": "store/test_files.py::test_links_and_special_files_are_refused",
    "G24": f"{TRANSACTION}::test_whatever_bytes_a_person_leaves_are_kept",
    "G25": f"{STORE}::test_state_and_history_do_not_show_as_untracked",
    "G26": f"{STORE}::test_loose_objects_are_packed_once_they_are_many",
    "G27": "faults/test_forget.py::test_nothing_of_a_secret_is_left_and_the_rest_is_as_it_was",
    "S1": f"{SCHEDULE}::test_a_restart_neither_forgets_nor_repeats_a_night",
    "S2": f"{SERVE}::test_serve_makes_up_for_the_night_it_missed",
    "S3": f"{NIGHT}::test_whoever_wants_to_know_is_told_of_changes_and_of_failures",
    "S4": "= dream runs no jobs but nights of its own",
    "S5": f"{SERVE}::test_a_schedule_that_can_not_be_used_is_wrong_usage_at_once",
    "S6": f"{NIGHT}::test_a_night_reads_and_dreams_and_the_next_one_has_nothing_to_do",
    "S7": "nights/test_cron_command.py::test_install_status_and_remove_by_crontab",
    "S8": "nights/test_cron_command.py::test_install_status_and_remove_by_crontab",
    "S9": "= settings are read and never saved back",
    "S10": f"{SCHEDULE}::test_a_night_is_had_once_at_its_time",
    "S11": f"{SCHEDULE}::test_a_restart_neither_forgets_nor_repeats_a_night",
    "S12": f"{NIGHT}::test_a_damaged_stamp_is_no_stamp",
    "S13": f"{CRONTIME}::test_a_time_that_comes_twice_in_autumn_is_had_once",
    "S14": "= no event loop of an agent is shared: a night is a process, `in_background` a thread",
    "Q1": f"{RUN}::test_what_is_over_the_budget_moves_to_the_archive",
    "Q2": f"{EDITING}::test_without_a_model_a_correction_replaces_the_old_line",
    "Q3": "llm/test_spending.py::test_a_call_that_could_pass_a_bound_is_not_made",
    "Q4": "= no line is ever removed for its age",
    "Q5": f"{REVISING}::test_each_kind_of_fact_has_its_file {REVISING}::test_what_is_said_again_makes_no_second_line",
    "Q6": f"{FINDINGS}::test_ordinary_spellings_of_a_line_are_understood",
    "Q7": f"{REVISING}::test_what_is_said_again_makes_no_second_line",
    "Q8": f"{REVISING}::test_a_new_value_takes_the_place_of_the_old_one",
    "Q9": "consolidate/test_fidelity.py::test_beside_a_poor_summary_the_users_sentences_go_in",
    "Q10": f"{READING}::test_what_is_not_the_users_own_claim_is_not_stated",
    "Q11": "embedded/test_quoting.py::test_a_line_is_a_quotation_with_its_days_in_the_language_of_the_talk",
    "Q12": f"{READING}::test_what_only_the_assistant_said_is_not_stated",
    "Q13": "= dream writes three files and no skills",
    "Q14": "llm/test_spending.py::test_a_prompt_that_fills_the_window_is_not_sent",
    "Q15": f"{EDITING}::test_a_claim_that_a_fact_stands_already_is_checked",
    "U1": f"{SESSION}::test_in_the_background_the_reply_does_not_wait",
    "U2": f"{COMMANDS}::test_a_run_with_nothing_to_do_says_why",
    "U3": f"{MODEL}::test_an_unusable_analysis_fails_the_run_and_changes_nothing",
    "U4": "= dream has no commands in any chat",
    "U5": "= an agent's tools don't reach the schedule: it is crontab's, systemd's or launchd's",
    "U6": f"{COMMANDS}::test_a_dry_restore_shows_the_diff_and_changes_nothing",
    "U7": f"{RUN}::test_a_failed_dream_changes_nothing",
    "U8": f"{COMMANDS}::test_status_check_fails_after_a_run_that_failed {NIGHT}::test_every_night_leaves_a_record",
    "U9": f"{COMMANDS}::test_held_edits_exit_with_3_and_review_decides_on_them "
    f"{COMMANDS}::test_a_dry_run_shows_the_diff_and_changes_nothing",
    "U10": f"{COMMANDS}::test_log_of_one_change_shows_findings_bill_and_diff",
    "U11": "test_readme.py::test_every_setting_stands_in_the_docs_with_its_default",
    "U12": f"{CONSOLIDATOR}::test_a_workspace_may_have_its_own_prompt",
}


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_the_table_has_every_row_of_the_catalogue() -> None:
    assert list(TABLE) == [f"{letter}{number}" for letter, most in COUNTS.items() for number in range(1, most + 1)]


def test_each_row_names_tests_that_are_there() -> None:
    wrong = []
    for row, named in TABLE.items():
        for node in [] if named.startswith("=") else named.split():
            path, _, name = node.partition("::")
            if name not in names_in(path):
                wrong.append(f"{row}: {node}")
    assert wrong == []


def test_each_other_row_says_why_it_cannot_happen() -> None:
    reasons = [reason for reason in TABLE.values() if reason.startswith("=")]
    assert all(len(reason.split()) >= 5 for reason in reasons)
    print(f"{len(TABLE) - len(reasons)} known failures are tested, {len(reasons)} cannot happen")
