"""The Consolidator and live sessions.

Where the failures of a system like this one (nanobot, rows C1–C37 of the catalogue) are tested:

C1       test_consolidator: every prompt fits the window; two megabytes are split and never cut off
C2       test_consolidator: raw entries hold every message in full and stay small
C3, C4   test_summary; test_consolidator: without a summary the messages themselves are kept
C5, C6   test_cut, test_session: one turn of 200 tool rounds
C7, C29  test_nothing_is_lost: every message is in exactly one entry; killed between two chunks
C8, C9   test_session: the tokens of a session are never none (the counter itself: tests/llm)
C10      can't happen: counting never raises (tests/llm)
C11, C12 test_session: at the budget …; the agent's own prompt counts; after a restart
C13      can't happen: there is no window of messages beside the budget
C14      test_cut: what a live session keeps never starts with a result; a waiting call stays
C15, C16 test_nothing_is_lost: spans are contiguous; a session's messages are never trimmed
C17      test_session: an agent that kept nothing; test_consolidator: a session that became shorter
C18, C19 test_session: what is said while the model thinks is untouched; many threads
C20, C21 test_consolidator: a short session becomes one summary; all of a quiet one is consolidated
C22      can't happen: transcripts are never written to
C23      idle sessions are the pipeline's choice (tests/pipeline)
C24, C25 test_consolidator: a role that models do not know; the readers (tests/transcripts)
C26, C27 test_consolidator: images …; test_session: chat gives back what was added
C28      test_session: archive takes everything; it is in history when it returns
C30      a time limit is the gateway's (tests/llm); test_consolidator: a model that is down
C31      test_session: in the background the reply does not wait
C32      the agent's own choice: `archive` may be called at any time
C33      phase 1 compares with memory (tests/phases)
C34      can't happen: no file is rewritten from a model's answer
C35      can't happen: sessions are not files of ours
C36, C37 can't happen: no provider state is kept, and messages are never rewritten
"""
