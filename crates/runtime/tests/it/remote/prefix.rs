//! The prefix of a request stays the same, byte for byte, from turn to turn and from parent to fork:
//! that is what providers' caches go by.

use attache_kernel::run::{
    Run, Step,
    assignment::{Assignment, RunRequest},
    fork::Fork,
    outcome::Status,
};
use attache_runtime::internal::model::{Chunk, Model as _, ModelCall, wire::Traits};
use attache_testkit::scripted_server::{Request, ScriptedServer, Turn, WireApi as Api, text};
use serde_json::json;
use std::{sync::Arc, time::Duration};

use super::{Asking, Finished, Lab, assignment, completes, described, everywhere, model_of, reads};
use attache_testkit::driving::allow_all;

/// What must come again: all but the end of the array of messages.
fn prefix(request: &Request) -> &[u8] {
    let body = request.body.as_slice();
    body.strip_suffix(b"]}").unwrap()
}

fn continues(earlier: &Request, later: &Request) -> bool {
    later.body.starts_with(prefix(earlier))
}

/// A run of five turns: thoughts, texts, parallel calls, failing ones, a reminder.
async fn five_turns(lab: &Lab) -> Finished {
    lab.file("a.txt", "some notes\n").file("b.txt", "more ünïcode \"notes\"\n");
    lab.turn(
        &Turn::default()
            .then_thinking(["hm ", "hm"], "signed-1")
            .then_text(["I look."])
            .then_tool_call("call-1", "read_file", &json!({"path": "a.txt"}))
            .then_tool_call("call-2", "read_file", &json!({"path": "missing.txt"})),
    );
    lab.turn(&Turn::default().then_thinking(["so"], "signed-2").then_text(["What a day."]));
    lab.turn(&reads("call-3", "b.txt").then_thinking(["late"], "signed-3"));
    lab.turn(&reads("call-4", "a.txt"));
    let done = lab.turn(&completes()).run().await;
    assert_eq!(done.result.status, Status::Goal, "{:?}", done.result);
    lab.server.assert_done();
    done
}

#[tokio::test]
async fn a_request_begins_with_the_one_before_it() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        five_turns(&lab).await;
        let requests = lab.server.requests();
        assert_eq!(requests.len(), 5, "{api:?}");
        for pair in requests.windows(2) {
            let shown = |request: &Request| String::from_utf8(request.body.clone()).unwrap();
            let (earlier, later) = (&pair[0], &pair[1]);
            assert!(continues(earlier, later), "{api:?}\n{}\n{}", shown(earlier), shown(later));
            assert!(later.body.len() > earlier.body.len());
        }
    })
    .await;
}

#[tokio::test]
async fn caches_are_asked_for_where_they_have_to_be() {
    everywhere(|api| async move {
        for openai in [false, true] {
            let server = ScriptedServer::start();
            let traits = Traits { openai, ..Traits::default() };
            let model = model_of(described(api, &server.base_url()), traits, None);
            let lab = Lab::with(api, server, model);
            five_turns(&lab).await;
            let bodies = lab.server.requests().into_iter().map(|request| request.json());
            for body in bodies {
                let key = body.get("prompt_cache_key").and_then(|key| key.as_str());
                let has_key = api == Api::Responses || (api == Api::Chat && openai);
                assert_eq!(key, has_key.then_some("session-1"), "{api:?}");
                let ephemeral = json!({"type": "ephemeral"});
                let marks = body.to_string().matches("cache_control").count();
                if api == Api::Anthropic {
                    assert_eq!(body["cache_control"], ephemeral);
                    assert_eq!(body["system"][0]["cache_control"], ephemeral);
                    assert_eq!(marks, 2, "{body}");
                } else {
                    assert_eq!(marks, 0, "{api:?}");
                }
            }
        }
    })
    .await;
}

/// The first request of a run that knows its parent's conversation.
async fn forked(lab: &Lab, parent: &Run, assignment: Assignment) -> Request {
    let fork = Some(Fork::from_parent(parent));
    let (mut run, _) = Run::new(RunRequest { assignment, fork, guard: allow_all() }).unwrap();
    run.start(Duration::ZERO);
    let Step::CallModel(request) = run.next_step() else { panic!("a run begins with a call") };
    lab.turn(&completes());
    let call = ModelCall::of_run(&request, run.assignment());
    lab.model.call(call, &mut |_: Chunk| {}).await.unwrap();
    lab.server.requests().pop().unwrap()
}

#[tokio::test]
async fn a_fork_begins_with_its_parents_bytes() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        let parent = five_turns(&lab).await.run;
        let last = lab.server.requests().pop().unwrap();
        // Another agent, with instructions of its own and fewer tools.
        let mut other = assignment("another thing");
        other.tools = parent.assignment().tools.clone();
        other.tools.truncate(1);
        assert_ne!(other.tools, parent.assignment().tools);
        let definition = Arc::make_mut(&mut other.definition);
        definition.prompt_config.system_prompt = Some("You are another.".to_owned());
        let same_model = forked(&lab, &parent, other.clone()).await;
        assert!(continues(&last, &same_model), "{api:?}");
        assert!(String::from_utf8(same_model.body).unwrap().contains("You are another."));
        // Of another model there is no cache; what was said is the same.
        other.model.id = "another".to_owned();
        let other_model = forked(&lab, &parent, other).await;
        let (said, repeated) = (messages(api, &last), messages(api, &other_model));
        assert!(repeated.starts_with(said.strip_suffix(b"]}").unwrap()), "{api:?}");
        assert!(!continues(&last, &other_model), "{api:?}");
    })
    .await;
}

/// The body from the first message on that is no instruction.
fn messages(api: Api, request: &Request) -> Vec<u8> {
    let first = match api {
        Api::Gemini => br#"{"role":"user","parts":[{"text":"test it"}"#.as_slice(),
        Api::Anthropic => br#"{"role":"user","content":[{"type":"text","text":"test it"}"#,
        Api::Chat => br#"{"role":"user","content":"test it"}"#,
        Api::Responses => br#"{"type":"message","role":"user","content":[{"type":"input_text""#,
    };
    let body = &request.body;
    let at = body.windows(first.len()).position(|bytes| bytes == first).unwrap();
    body[at..].to_vec()
}

#[tokio::test]
async fn what_another_process_reads_back_is_sent_with_the_same_bytes() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        let done = five_turns(&lab).await;
        let last = lab.server.requests().pop().unwrap();
        // The run as it was folded from its transcript, asked by hand.
        lab.turn(&text(["done"]));
        let mut asking = Asking::new(&lab.model);
        asking.assignment = done.run.assignment().clone();
        asking.messages =
            done.run.conversation().messages().iter().map(|message| (**message).clone()).collect();
        asking.tools.clone_from(&asking.assignment.tools);
        let tools = last.json();
        asking.hear().await.reply();
        let again = lab.server.requests().pop().unwrap();
        assert!(
            messages(api, &again).starts_with(messages(api, &last).strip_suffix(b"]}").unwrap())
        );
        assert!(tools.get("tools").is_some(), "{api:?}");
    })
    .await;
}
