//! Everything that goes wrong between a run and its provider, on all four APIs.
//!
//! Every retry is an event; nothing half-received reaches the conversation; a run never outlives its clocks.

use std::time::Duration;

use attache_kernel::{
    model::usage::Usage,
    run::{
        assignment::ModelLimits,
        event::{
            Event, StopReason,
            activity::{EventType, SubagentActivityEvent},
        },
        outcome::Status,
    },
};
use attache_runtime::internal::{model::wire::Traits, tasks::Start};
use attache_testkit::scripted_server::{Answer, Gate, ScriptedServer, Turn, WireApi as Api, text};
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Finished, HALF, Lab, begun, completes, described, everywhere, model_of, reads};

/// Long enough for a busy machine, short enough to be waited for.
const STALL: Duration = Duration::from_secs(1);

/// Nothing of an answer that broke off is in the transcript or was ever sent back.
fn nothing_half_received(lab: &Lab, done: &Finished, name: &str) {
    let api = lab.api;
    assert!(!done.written.contains(HALF), "{api:?} {name}: {}", done.written);
    assert!(!format!("{:?}", done.run.conversation()).contains(HALF), "{api:?} {name}");
    assert!(!done.result.result.contains(HALF), "{api:?} {name}");
    for request in lab.server.requests() {
        let body = String::from_utf8(request.body).unwrap();
        assert!(!body.contains(HALF), "{api:?} {name}: {body}");
    }
}

/// One thing goes wrong, is told with these words, and goes well the next time.
async fn heals(api: Api, name: &str, answer: Answer, reason: &str) {
    heals_within(api, (name, answer, reason), ModelLimits::default()).await;
}

/// The same, within these limits.
async fn heals_within(api: Api, fault: (&str, Answer, &str), limits: ModelLimits) {
    let (name, answer, reason) = fault;
    let lab = Lab::new(api);
    lab.server.answer(answer);
    lab.turn(&completes());
    let done = lab.run_with(|start| start.assignment.model_limits = limits).await;
    let retries = done.retries();
    assert_eq!(done.result.status, Status::Goal, "{api:?} {name}: {:?}", done.result);
    assert_eq!(done.result.result, "all is well");
    let story = [
        EventType::Started,
        EventType::TurnStart,
        EventType::Retry,
        EventType::ToolCallEnd,
        EventType::TurnComplete,
        EventType::Completed,
    ];
    assert_eq!(done.story(), story, "{api:?} {name}");
    assert_eq!(retries[0].0, 2, "{api:?} {name}");
    assert!(retries[0].1.starts_with("lab "), "{api:?} {name}: {retries:?}");
    assert!(retries[0].1.contains(reason), "{api:?} {name}: {retries:?}");
    assert_eq!(lab.server.requests().len(), 2, "{api:?} {name}");
    assert_eq!(done.result.turns_used, 1, "a retry does not count as a turn");
    lab.server.assert_done();
    nothing_half_received(&lab, &done, name);
}

/// One thing goes wrong, and ends the run with these words after one request.
async fn ends(api: Api, name: &str, answer: Answer, words: &[&str]) -> Finished {
    let lab = Lab::new(api);
    lab.server.answer(answer);
    let done = lab.run().await;
    assert_eq!(done.result.status, Status::Error, "{api:?} {name}: {:?}", done.result);
    for words in words {
        assert!(done.error().contains(words), "{api:?} {name}: {}", done.error());
    }
    assert_eq!(done.retries(), [], "{api:?} {name}");
    assert_eq!(lab.server.requests().len(), 1, "{api:?} {name}");
    let story =
        [EventType::Started, EventType::TurnStart, EventType::TurnComplete, EventType::Error];
    assert_eq!(done.story(), story, "{api:?} {name}");
    // What had arrived is the partial result; the conversation has whole answers alone.
    assert!(!format!("{:?}", done.run.conversation()).contains(HALF), "{api:?} {name}");
    assert_eq!(done.result.partial, !done.result.result.is_empty(), "{api:?} {name}");
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_is_tried_again() {
    everywhere(|api| async move {
        let statuses = [
            (408, "408 Request Timeout"),
            (429, "429 Too Many Requests"),
            (500, "500 Internal Server Error"),
            (502, "502 Bad Gateway"),
            (503, "503 Service Unavailable"),
            (529, "529 Overloaded"),
        ];
        let scenarios = statuses.map(|(status, words)| async move {
            let reason = format!("{words}: please be patient");
            let answer = api.error(status, "some_error", "please be patient");
            heals(api, words, answer, &reason).await;
        });
        let page = "<!doctype html>\n<html><head><title>Bad gateway ☁</title></head></html>";
        let page = Answer::new().status(502).html(page);
        let nothing = Answer::new().status(500);
        let zero = api.error(429, "slow_down", "wait").header("retry-after", "0");
        tokio::join!(
            join_all(scenarios),
            heals(api, "a page", page, "502 Bad Gateway: a web page, “Bad gateway ☁”"),
            heals(api, "no body", nothing, "answered 500 Internal Server Error"),
            heals(api, "retry-after 0", zero, "429 Too Many Requests: wait"),
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_pass_ends_the_run_in_the_providers_words() {
    everywhere(|api| async move {
        for (status, words, hint) in [
            (400, "400 Bad Request: that is nonsense", ""),
            (401, "401 Unauthorized: that is nonsense", "the key comes from LAB_API_KEY"),
            (403, "403 Forbidden: that is nonsense", "the key comes from LAB_API_KEY"),
            (404, "404 Not Found: that is nonsense", ""),
            (409, "409 Conflict: that is nonsense", ""),
            (413, "413 ", "that is nonsense"),
        ] {
            let answer = api.error(status, "some_error", "that is nonsense");
            ends(api, words, answer, &["lab answered ", words, hint]).await;
        }
        let moved = Answer::new().status(308).header("location", "http://127.0.0.1:9/");
        ends(api, "a redirect", moved, &["308", "fix base_url"]).await;
        let page = || Answer::new().html("<html><title>Welcome</title>Log in!</html>");
        ends(api, "a page", page(), &["answered with a web page", "is base_url right?"]).await;
        let missing = page().status(404);
        ends(api, "a missing page", missing, &["404 Not Found: a web page, “Welcome”"]).await;
        let quota = api.error(429, "insufficient_quota", "you have no money left");
        if matches!(api, Api::Chat | Api::Responses) {
            ends(api, "no money", quota, &["you have no money left"]).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encoded_answer_ends_the_run_and_names_the_encoding() {
    everywhere(|api| async move {
        for encoding in ["gzip", "br", "zstd"] {
            let body = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff];
            let answer = Answer::new().header("content-encoding", encoding).body(body);
            let words = format!("content-encoding: {encoding}");
            ends(api, encoding, answer, &["lab answered at http://127.0.0.1:", &words]).await;
            // A refusal keeps its meaning; its words cannot be read.
            let refused = Answer::new().status(503).header("content-encoding", encoding).body(body);
            heals(api, encoding, refused, &format!("503 Service Unavailable ({words})")).await;
        }
        let plain = api.answer(&completes()).header("content-encoding", "Identity");
        let lab = Lab::new(api);
        lab.server.answer(plain);
        let done = lab.run().await;
        assert_eq!((done.result.status, done.retries()), (Status::Goal, Vec::new()), "{api:?}");
        let sent = &lab.server.requests()[0];
        assert_eq!(sent.header("accept-encoding"), Some("identity"), "{api:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    everywhere(|api| async move {
        let mark = "without the mark at its end";
        let unanswered = [
            ("reset before its head", Answer::new().reset(), "did not answer at http://127.0.0.1:"),
            (
                "closed before its head",
                Answer::new().refuse(),
                "did not answer at http://127.0.0.1:",
            ),
            ("reset after its head", Answer::new().head().reset(), "lab "),
        ];
        // These have begun, and count as answers that broke off.
        let begun = [
            (
                "reset in its middle",
                begun(api).reset(),
                "broke off its answer at http://127.0.0.1:",
            ),
            ("closed in its middle", begun(api).close_early(), "broke off its answer at http://"),
            ("ended in its middle", begun(api), mark),
            ("ended at once", Answer::new().data(Vec::<String>::new()), mark),
            ("no JSON", begun(api).chunk("data: {\"half\": \n\n"), "sent something unreadable"),
            ("other JSON", begun(api).chunk("data: [1, 2]\n\n"), "sent something unreadable"),
            ("no text", begun(api).chunk(b"data: \xff\xfe\n\n".to_vec()), "an event is not UTF-8"),
            ("an error in its middle", begun(api).chunk(passing_error(api)), "please be patient"),
        ];
        let limits =
            ModelLimits { max_retries: 0, max_stream_retries: Some(1), ..ModelLimits::default() };
        tokio::join!(
            join_all(unanswered.map(|(name, answer, words)| heals(api, name, answer, words))),
            join_all(begun.map(|fault| heals_within(api, fault, limits))),
        );
    })
    .await;
}

/// Anthropic counts the input at the beginning of an answer, so what was lost is known in part.
#[tokio::test]
async fn what_was_counted_of_a_lost_answer_was_used() {
    let lab = Lab::new(Api::Anthropic);
    let used = |input_tokens| Usage { input_tokens, output_tokens: 10, ..Usage::default() };
    let whole = Api::Anthropic.answer(&completes().then_text(["hm"]).using(used(500)));
    lab.server.answer(whole.keep(3).reset());
    lab.server.answer(Api::Anthropic.answer(&completes().using(used(500))));
    let done = lab.run().await;
    assert_eq!((done.result.status, done.retries().len()), (Status::Goal, 1));
    assert_eq!((done.result.usage.input_tokens, done.result.cost_usd), (1000, None));
    assert!(done.written.contains("\"type\":\"lost_answer_counted\""), "{}", done.written);
}

#[tokio::test]
async fn what_is_odd_but_whole_is_no_fault() {
    everywhere(|api| async move {
        let turn = || api.answer(&completes().then_text(["ünïcödé ", "🦀🦀"]));
        let unknown = "event: brand.new\ndata: {\"type\":\"brand.new\"}\n\n: ping\n\n";
        for answer in [turn().split_every(1), turn().crlf().split_every(7), turn().between(unknown)]
        {
            let lab = Lab::new(api);
            lab.server.answer(answer);
            let done = lab.run().await;
            assert_eq!((done.result.status, done.retries()), (Status::Goal, Vec::new()), "{api:?}");
            assert!(done.written.contains("ünïcödé 🦀🦀"), "{api:?}");
            assert_eq!(lab.server.requests().len(), 1, "{api:?}");
        }
    })
    .await;
}

/// An error that stands in the middle of a stream.
fn passing_error(api: Api) -> String {
    let words = "please be patient, try again in 1ms.";
    match api {
        Api::Chat => {
            event("", &json!({"error": {"message": words, "type": "server_error", "code": 503}}))
        }
        Api::Responses => event(
            "response.failed",
            &json!({"type": "response.failed", "response": {
                "id": "resp_1", "status": "failed",
                "error": {"code": "rate_limit_exceeded", "message": words},
            }}),
        ),
        Api::Anthropic => event(
            "error",
            &json!({"type": "error", "error": {"type": "overloaded_error", "message": words}}),
        ),
        Api::Gemini => {
            event("", &json!({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}}))
        }
    }
}

fn event(name: &str, data: &Value) -> String {
    let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
    format!("{name}data: {data}\n\n")
}

#[tokio::test]
async fn an_error_in_the_middle_that_will_not_pass_ends_the_run() {
    everywhere(|api| async move {
        let words = "that is nonsense";
        let error = match api {
            Api::Chat => event("", &json!({"error": {"message": words, "code": 400}})),
            Api::Responses => event(
                "response.failed",
                &json!({"type": "response.failed", "response": {
                    "error": {"code": "invalid_prompt", "message": words},
                }}),
            ),
            Api::Anthropic => event(
                "error",
                &json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}}),
            ),
            Api::Gemini => event("", &json!({"error": {"code": 400, "message": words}})),
        };
        ends(api, "an error", begun(api).chunk(error), &["broke off its answer", words]).await;
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_named_with_its_address() {
    everywhere(|api| async move {
        // A port that no test is given, and where nobody listens: one retry, whatever the limit.
        let address = "http://127.0.0.1:1";
        let model = model_of(described(api, address), Traits::default(), None);
        let lab = Lab::with(api, ScriptedServer::start(), model);
        let done = lab.run().await;
        assert_eq!(done.result.status, Status::Error);
        let reason = format!("lab cannot be reached at {address}: ");
        assert!(done.error().starts_with(&reason), "{}", done.error());
        assert!(done.error().ends_with("(given up after 2 attempts)"), "{}", done.error());
        let retries = done.retries();
        assert!(retries.len() == 1 && retries[0].1.starts_with(&reason), "{retries:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_falls_silent_is_asked_again() {
    everywhere(|api| async move {
        let gate = Gate::new();
        let silent = [
            ("before its head", Answer::new().wait_for(&gate)),
            ("after its head", Answer::new().data(Vec::<String>::new()).head().wait_for(&gate)),
            ("in its middle", begun(api).wait_for(&gate)),
        ];
        let scenarios = silent.map(|(name, answer)| async move {
            let lab = Lab::new(api);
            lab.server.answer(answer);
            let done = lab.turn(&completes()).run_with(|start| start.stall = Some(STALL)).await;
            let retries = done.retries();
            assert_eq!(done.result.status, Status::Goal, "{api:?} {name}: {:?}", done.result);
            assert_eq!(retries.len(), 1, "{api:?} {name}: {retries:?}");
            assert!(retries[0].1.contains("sent nothing for 1 s"), "{api:?} {name}: {retries:?}");
            assert_eq!(lab.server.requests().len(), 2, "{api:?} {name}");
            // The connection nobody listens to any more is given up.
            lab.hung_up().await;
            nothing_half_received(&lab, &done, name);
        });
        join_all(scenarios).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_drips_is_alive_until_the_time_is_up() {
    everywhere(|api| async move {
        let gate = Gate::new();
        let lab = Lab::new(api);
        let pieces = std::iter::repeat_n("drip ", 1000);
        lab.server.answer(api.answer(&text(pieces)).gated(&gate, 0));
        let drips = async {
            let mut beat = tokio::time::interval(Duration::from_millis(100));
            loop {
                beat.tick().await;
                gate.pass();
            }
        };
        let run = lab.run_with(|start| {
            start.stall = Some(STALL);
            start.assignment.limits.max_time_seconds = 2;
            start.assignment.limits.grace_period_seconds = 0;
        });
        let done = tokio::select! {
            done = run => done,
            () = drips => return,
        };
        assert_eq!(done.result.status, Status::Timeout, "{api:?}: {:?}", done.result);
        assert_eq!(done.retries(), [], "{api:?}");
        assert!(done.result.partial && done.result.result.starts_with("drip drip"), "{api:?}");
        assert!((2000..8000).contains(&done.result.total_duration_ms), "{:?}", done.result);
        lab.hung_up().await;
        assert_eq!(lab.server.requests().len(), 1);
    })
    .await;
}

/// The first retry of a run, which is then cancelled: nobody waits for it.
async fn first_retry(lab: &Lab) -> (SubagentActivityEvent, Finished) {
    let started = lab.start_with(|_| {}).await;
    let mut events = started.0.events(1);
    let retry = loop {
        let event = events.next().await.unwrap().activity();
        if let Some(retry) = event.filter(|event| event.event_type == EventType::Retry) {
            break retry;
        }
    };
    started.0.cancel();
    (retry, lab.finished(started).await)
}

#[tokio::test]
async fn providers_are_waited_for_as_long_as_they_ask() {
    everywhere(|api| async move {
        let error = |words: &str| api.error(429, "rate_limited", words);
        let in_time = |seconds: i64| Timestamp::now() + Duration::from_secs(seconds.unsigned_abs());
        let date = in_time(40).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let mut asked = vec![
            (error("wait").header("retry-after", "20"), 20_000..=20_000),
            (error("wait").status(503).header("retry-after", "1.5"), 1500..=1500),
            (error("wait").header("retry-after", &date), 30_000..=40_000),
            (error("wait").header("retry-after-ms", "21000"), 21_000..=21_000),
            (error("wait").header("retry-after", "soon"), 375..=625),
            (error("wait").header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), 375..=625),
        ];
        match api {
            Api::Chat | Api::Responses => asked.extend([
                (error("Rate limit reached. Please try again in 22s. Visit …"), 22_000..=22_000),
                (
                    error("wait")
                        .header("x-ratelimit-remaining-tokens", "0")
                        .header("x-ratelimit-reset-tokens", "1m3s"),
                    63_000..=63_000,
                ),
            ]),
            Api::Anthropic => asked.push((
                error("wait")
                    .header("anthropic-ratelimit-output-tokens-remaining", "0")
                    .header("anthropic-ratelimit-output-tokens-reset", &in_time(40).to_string()),
                30_000..=40_000,
            )),
            Api::Gemini => asked.push((
                Answer::new().status(429).json(&json!({"error": {
                    "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "wait", "details": [
                        {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
                        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "24s"},
                    ],
                }})),
                24_000..=24_000,
            )),
        }
        for (answer, expected) in asked {
            let lab = Lab::new(api);
            lab.server.answer(answer);
            let (retry, done) = first_retry(&lab).await;
            let delay = retry.data["delay_ms"].as_u64().unwrap();
            assert!(expected.contains(&delay), "{api:?}: {delay} is not in {expected:?}");
            assert_eq!(done.result.status, Status::Aborted, "{api:?}");
            assert_eq!(lab.server.requests().len(), 1, "{api:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn nobody_waits_longer_than_there_is_time() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        lab.server.answer(api.error(429, "rate_limited", "wait").header("retry-after", "301"));
        let done = lab.run().await;
        assert_eq!(done.result.status, Status::Error, "{api:?}");
        assert!(done.error().contains("429"), "{}", done.error());
        assert!(done.error().ends_with("(no time left for another attempt)"), "{}", done.error());
        assert_eq!((done.retries(), lab.server.requests().len()), (Vec::new(), 1), "{api:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_are_numbered_and_come_to_an_end() {
    everywhere(|api| async move {
        let busy = || api.error(500, "server_error", "busy");
        let lab = Lab::new(api);
        lab.server.answer(busy()).answer(begun(api)).answer(busy());
        let most = |start: &mut Start| start.assignment.model_limits.max_retries = 2;
        let streams = Lab::new(api);
        streams.server.answer(busy()).answer(begun(api));
        let no_streams = |start: &mut Start| {
            start.assignment.model_limits.max_retries = 5;
            start.assignment.model_limits.max_stream_retries = Some(1);
        };
        let (done, cut) = tokio::join!(lab.run_with(most), streams.run_with(no_streams));
        assert_eq!(done.result.status, Status::Error, "{api:?}");
        assert!(done.error().ends_with("busy (given up after 3 attempts)"), "{}", done.error());
        let attempts: Vec<_> = done.retries().into_iter().map(|(attempt, _)| attempt).collect();
        assert_eq!((attempts, lab.server.requests().len()), (vec![2, 3], 3), "{api:?}");
        let told = done.of_type(EventType::Retry);
        assert!(told.iter().all(|data| data["max_retries"] == 2), "{told:?}");
        nothing_half_received(&lab, &done, "exhausted");
        // An answer that breaks off has a limit of its own; what came before it counts.
        assert_eq!(cut.result.status, Status::Error, "{api:?}");
        let words = "without the mark at its end (given up after 2 attempts)";
        assert!(cut.error().ends_with(words), "{}", cut.error());
        assert!(cut.result.partial && cut.result.result.contains(HALF), "{api:?}: {cut:?}");
        assert_eq!((cut.retries().len(), streams.server.requests().len()), (1, 2), "{api:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_turn_has_all_its_attempts() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        lab.file("a.txt", "a\n");
        let busy = || api.error(503, "unavailable", "busy");
        lab.server.answer(busy());
        lab.turn(&reads("a", "a.txt"));
        lab.server.answer(busy());
        lab.turn(&completes());
        let done = lab.run_with(|start| start.assignment.model_limits.max_retries = 1).await;
        assert_eq!(done.result.status, Status::Goal, "{api:?}: {:?}", done.result);
        let attempts: Vec<_> = done.retries().into_iter().map(|(attempt, _)| attempt).collect();
        assert_eq!(attempts, [2, 2], "{api:?}");
        // What is sent again is what was sent before, byte for byte.
        let bodies: Vec<_> = lab.server.requests().into_iter().map(|sent| sent.body).collect();
        assert!(bodies[0] == bodies[1] && bodies[2] == bodies[3], "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn arguments_that_were_cut_off_are_told_to_the_model() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        let cut = Turn::default()
            .then_text(["I look"])
            .then_raw_tool_call("a", "read_file", ["{\"path\": \"src/ma"])
            .stopping(StopReason::Length);
        let done = lab.turn(&cut).turn(&completes()).run().await;
        assert_eq!(done.result.status, Status::Goal, "{api:?}: {:?}", done.result);
        assert_eq!((done.retries(), lab.server.requests().len()), (Vec::new(), 2), "{api:?}");
        let told = String::from_utf8(lab.server.requests()[1].body.clone()).unwrap();
        let words = match api {
            // It sends no half call, so it is told what one that called nothing is told.
            Api::Gemini => "complete_task",
            _ => "not valid JSON",
        };
        assert!(told.contains(words), "{api:?}: {told}");
        assert_eq!(done.result.total_tool_use_count, 0, "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_cut_and_sent_again() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        lab.file("long.txt", &"many words ".repeat(400));
        lab.turn(&reads("a", "long.txt"));
        lab.server.answer(api.context_length_error());
        let done = lab.turn(&completes()).run().await;
        assert_eq!(done.result.status, Status::Goal, "{api:?}: {:?}", done.result);
        let cut = done.of_type(EventType::Compacted);
        assert_eq!(cut.len(), 1, "{api:?}");
        assert_eq!(cut[0]["results_removed"], 1, "{api:?}");
        assert_eq!(done.retries(), [], "{api:?}");
        let requests = lab.server.requests();
        let sent = |at: usize| String::from_utf8(requests[at].body.clone()).unwrap();
        assert_eq!(requests.len(), 3, "{api:?}");
        assert!(sent(1).contains("many words many words"), "{api:?}");
        assert!(!sent(2).contains("many words many words"), "{api:?}");
        // Where nothing can be cut, it is the end, in the provider's words.
        ends(api, "nothing to cut", api.context_length_error(), &["answered 400"]).await;
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_filtered_is_the_end_and_says_so() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        let filtered = text(["I was about"]).stopping(StopReason::ContentFilter);
        let done = lab.turn(&filtered).run().await;
        assert_eq!(done.result.status, Status::Error, "{api:?}: {:?}", done.result);
        assert!(done.result.error.as_ref().unwrap().contains("content filter"), "{api:?}");
        assert_eq!((done.result.result.as_str(), done.result.partial), ("I was about", true));
        assert_eq!((done.retries(), lab.server.requests().len()), (Vec::new(), 1), "{api:?}");
        assert!(done.written.contains("content_filter"), "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn a_model_that_says_nothing_is_reminded() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        let done = lab.turn(&Turn::empty()).turn(&completes()).run().await;
        assert_eq!(done.result.status, Status::Goal, "{api:?}: {:?}", done.result);
        assert_eq!((done.retries(), lab.server.requests().len()), (Vec::new(), 2), "{api:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_end_is_cut_off_before_it_fills_the_memory() {
    everywhere(|api| async move {
        let piece = format!("{HALF} ").repeat(4096);
        let half = |field: Value| event("", &field);
        let one = match api {
            Api::Chat => half(json!({"choices": [{"delta": {"content": piece}}]})),
            Api::Responses => half(json!({"type": "response.output_text.delta", "delta": piece})),
            Api::Anthropic => half(json!({
                "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece},
            })),
            Api::Gemini => half(json!({"candidates": [{"content": {"parts": [{"text": piece}]}}]})),
        };
        let times = 50_000_000 / one.len() as u64 + 1;
        let lab = Lab::new(api);
        lab.server.answer(begun(api).repeat(one, times));
        let done = lab.run().await;
        assert_eq!(done.result.status, Status::Error, "{api:?}: {:?}", done.result.error);
        assert!(done.error().contains("too large to be one (over 16 MB)"), "{}", done.error());
        assert_eq!(lab.server.requests().len(), 1, "{api:?}");
        lab.hung_up().await;
        // What was on its way, and no more.
        assert!(lab.server.bytes_sent() < 32 << 20, "{api:?}: {}", lab.server.bytes_sent());
        // The beginning is kept as the partial result.
        assert!(done.result.partial && done.result.result.len() <= 1 << 20, "{api:?}");
        assert!(done.result.result.starts_with(HALF), "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn a_body_that_does_not_end_with_its_answer_holds_nobody_up() {
    everywhere(|api| async move {
        let gate = Gate::new();
        let lab = Lab::new(api);
        lab.file("a.txt", "a\n");
        lab.server.answer(api.answer(&reads("a", "a.txt")).wait_for(&gate));
        lab.server.answer(api.answer(&completes()).wait_for(&gate));
        let done = lab.run().await;
        assert_eq!((done.result.status, done.retries()), (Status::Goal, Vec::new()), "{api:?}");
        assert!(done.result.total_duration_ms < 10_000, "{api:?}: {:?}", done.result);
        lab.server_says(|server| server.wait_for_hangup(2)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_cancelled_hangs_up_at_once_and_keeps_what_it_heard() {
    everywhere(|api| async move {
        let gate = Gate::new();
        let lab = Lab::new(api);
        lab.server.answer(begun(api).wait_for(&gate));
        let mut started = lab.start_with(|_| {}).await;
        while !matches!(started.1.next().await.unwrap().event, Event::TextChunk { .. }) {}
        started.0.cancel();
        let done = lab.finished(started).await;
        assert_eq!(done.result.status, Status::Aborted, "{api:?}");
        assert_eq!((done.result.partial, done.result.result.as_str()), (true, HALF), "{api:?}");
        assert_eq!(done.retries(), [], "{api:?}");
        lab.hung_up().await;
        assert_eq!(lab.server.open_requests(), 0, "{api:?}");
        // It is kept as what was cut off, and is no message of the conversation.
        assert!(!format!("{:?}", done.run.conversation()).contains(HALF), "{api:?}");
    })
    .await;
}
