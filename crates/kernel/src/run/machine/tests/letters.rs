//! Letters that come while a run hands in its answer, and runs that branch off an earlier turn.

use super::*;
use crate::{
    id::LetterId,
    run::{ModelFailure, letter::Letter, outcome::Status, transcript::fold_through_turn},
};

fn letter(id: &str, text: &str) -> Letter {
    Letter { id: Some(LetterId::new(id)), ..Letter::new(text) }
}

fn amid(script: &mut Script, content: Vec<AssistantPart>, letters: &[Letter]) -> Vec<Event> {
    let answer = reply(content);
    assert!(script.run.would_end_with(&answer));
    script.does(|run, now| run.model_replied_amid(answer, letters, now))
}

#[test]
fn an_answer_amid_letters_is_not_accepted_until_they_are_read() {
    let mut script = Script::begin(assignment());
    let letters = [letter("1", "news"), letter("2", "more")];
    let events = amid(&mut script, vec![complete("a", "early")], &letters);
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Announced { letter, .. } => letter.as_ref().map(LetterId::as_str),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["1", "2"]);
    assert!(!script.run.has_ended());
    assert!(script.results()[0].1.starts_with("Not accepted yet"), "{:?}", script.results());
    assert_eq!(script.last_said(), "more");
    script.replies(vec![complete("b", "late")]);
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.result.as_str()), (Status::Goal, "late"));
}

#[test]
fn an_answer_that_was_put_off_is_kept_if_none_follows() {
    let put_off = || {
        let mut script = Script::begin(assignment());
        amid(&mut script, vec![complete("a", "the report")], &[letter("1", "thanks")]);
        script
    };
    let kept = |script: &Script, status: Status| {
        let ending = script.outcome().ending;
        assert_eq!((ending.status, ending.result.as_str()), (status, "the report"));
        assert!(ending.partial && ending.error.is_some(), "{ending:?}");
    };
    let mut failed = put_off();
    let fatal = || ModelFailure::Fatal { message: "400".to_owned() };
    failed.does(|run, now| run.model_failed(fatal(), 0.5, now));
    kept(&failed, Status::Error);
    let mut cancelled = put_off();
    cancelled.does(Run::cancelled);
    kept(&cancelled, Status::Aborted);
    let mut talks = put_off();
    talks.says("You are welcome.").says("Bye.").says("Bye.");
    kept(&talks, Status::ErrorNoCompleteTaskCall);
    // A newer one is the better one.
    let mut again = put_off();
    amid(&mut again, vec![complete("b", "the second")], &[letter("2", "and?")]);
    again.does(|run, now| run.model_failed(fatal(), 0.5, now));
    assert_eq!(again.outcome().ending.result, "the second");
}

#[test]
fn a_text_answer_amid_letters_is_not_the_last_word() {
    let mut script = Script::begin(main_agent());
    amid(&mut script, vec![AssistantPart::text("early")], &[letter("1", "news")]);
    assert!(!script.run.has_ended());
    assert_eq!(script.last_said(), "news");
    script.says("late");
    assert_eq!(script.outcome().ending.result, "late");
}

#[test]
fn only_an_answer_that_ends_the_run_is_held_up() {
    let mut script = Script::begin(assignment());
    assert!(!script.run.would_end_with(&reply(vec![read("a", "x")])));
    assert!(!script.run.would_end_with(&reply(vec![AssistantPart::text("thinking aloud")])));
    assert!(!script.run.would_end_with(&reply(vec![call("a", "complete_task", "{}")])));
    assert!(script.run.would_end_with(&reply(vec![complete("a", "x")])));
    script.replies(vec![complete("a", "x")]);
    assert!(!script.run.would_end_with(&reply(vec![complete("b", "x")])));
    // A last chance is for the answer alone.
    let script = Script::begin(with_limits(|limits| limits.max_turns = 0));
    assert!(!script.run.would_end_with(&reply(vec![complete("a", "x")])));
}

#[test]
fn a_run_is_folded_up_to_the_end_of_a_turn() {
    let mut script = Script::begin(assignment());
    script.reads("a", "x").reads("b", "y").replies(vec![complete("c", "done")]);
    let lines = || script.lines.clone();
    for turn in 1..=3_u32 {
        let (run, turns) = fold_through_turn(lines(), turn).unwrap();
        let run = run.unwrap();
        assert_eq!((turns, run.state().turns), (3, turn));
        assert!(!run.has_ended());
    }
    let (first, _) = fold_through_turn(lines(), 1).unwrap();
    let (second, _) = fold_through_turn(lines(), 2).unwrap();
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(second.conversation().len(), first.conversation().len() + 2);
    for none in [0, 4, u32::MAX] {
        assert_eq!(fold_through_turn(lines(), none).unwrap(), (None, 3));
    }
}
