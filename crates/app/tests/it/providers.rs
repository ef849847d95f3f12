//! Real runs of the real program against a provider on loopback, on all four wire APIs.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use attache_kernel::model::usage::Usage;
use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{Answer, Gate, Request, ScriptedServer, Turn, WireApi, text, tool_call},
};
use serde_json::{Value, json};

use crate::project;

pub(crate) const KEY: &str = "sk-lab-0123456789abcdef";

fn word(api: WireApi) -> &'static str {
    match api {
        WireApi::Chat => "chat",
        WireApi::Responses => "responses",
        WireApi::Anthropic => "anthropic",
        WireApi::Gemini => "gemini",
    }
}

/// A project whose settings name the server as a provider, and its key.
pub(crate) fn lab(server: &ScriptedServer, api: WireApi, more: &str) -> TestProject {
    let project = project().with_env("LAB_KEY", KEY);
    let settings = format!(
        "model = \"lab-1\"\nmodel_provider = \"lab\"\n{more}\n[model_providers.lab]\n\
         base_url = \"{}\"\nenv_key = \"LAB_KEY\"\nwire_api = \"{}\"\n",
        server.base_url(),
        word(api)
    );
    project.file("~/.attache/config.toml", settings);
    project.file("src/main.py", "print(1)\n");
    project
}

pub(crate) fn used(tokens: u64) -> Usage {
    Usage { input_tokens: tokens, output_tokens: 10, ..Usage::default() }
}

pub(crate) fn looks(tokens: u64) -> Turn {
    tool_call("call_1", "list_dir", &json!({ "path": "." })).using(used(tokens))
}

pub(crate) fn completes(result: &str) -> Turn {
    tool_call("call_9", "complete_task", &json!({ "result": result })).using(used(100))
}

fn object(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn an_agent_runs_from_task_to_result_on_every_api() {
    for api in WireApi::ALL {
        let server = ScriptedServer::start();
        server.answer(api.answer(&looks(100).then_thinking(["hm"], "c2ln")));
        server.answer(api.answer(&completes("It is in src/main.py.")));
        let project = lab(&server, api, "[model_prices.lab-1]\ninput = 1.0\noutput = 10.0\n");
        let result = object(&project.run(&["run", "Explore", "where?", "--json", "-q"]));
        assert_eq!(result["status"], "goal", "{api:?}: {result}");
        assert_eq!(result["result"], "It is in src/main.py.");
        assert_eq!(
            result["model"],
            json!({"id": "lab-1", "provider": "lab", "chosen_by": "parent", "asked": "inherit"})
        );
        assert_eq!(result["usage"]["input_tokens"], 200);
        assert_eq!((&result["total_tokens"], &result["turns_used"]), (&json!(220), &json!(2)));
        let cost = result["cost_usd"].as_f64().unwrap();
        assert!((cost - (200.0 + 200.0) / 1e6).abs() < 1e-12, "{cost}");
        let requests = server.requests();
        assert_eq!(requests[0].path, api.path("lab-1"), "{api:?}");
        let second = String::from_utf8(requests[1].body.clone()).unwrap();
        assert!(second.contains("src/"), "the tool's result went back: {second}");
        server.assert_done();
    }
}

#[test]
fn providers_of_codex_are_known() {
    let server = ScriptedServer::start();
    server.answer(WireApi::Chat.answer(&completes("done")));
    let project = project().with_env("MY_KEY", KEY).with_env("TEAM", "tools");
    let settings = format!(
        "model = \"m\"\nmodel_provider = \"mine\"\nunknown_here = 1\n[model_providers.mine]\n\
         name = \"Mine\"\nbase_url = \"{}/v1/\"\nenv_key = \"MY_KEY\"\nwire_api = \"chat\"\n\
         query_params = {{ api-version = \"7\" }}\nhttp_headers = {{ \"X-One\" = \"1\" }}\n\
         env_http_headers = {{ \"X-Team\" = \"TEAM\" }}\n",
        server.base_url()
    );
    project.file("~/.codex/config.toml", settings);
    let result = object(&project.run(&["run", "Explore", "x", "--json", "-q"]));
    assert_eq!(result["status"], "goal", "{result}");
    let request = server.wait_for_request(1);
    assert_eq!(
        (request.path.as_str(), request.query.as_str()),
        ("/v1/chat/completions", "api-version=7")
    );
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((request.header("x-one"), request.header("x-team")), (Some("1"), Some("tools")));
}

#[test]
fn a_refusal_is_told_in_the_providers_words_and_shows_no_key() {
    for api in WireApi::ALL {
        let server = ScriptedServer::start();
        server.answer(api.error(401, "authentication_error", &format!("invalid key {KEY}")));
        let project = lab(&server, api, "");
        let ran = project.run(&["run", "Explore", "x", "--json"]);
        let result = object(&ran);
        assert_eq!((ran.code, &result["status"]), (Some(1), &json!("error")), "{api:?}: {result}");
        let error = result["error"].as_str().unwrap();
        assert!(error.contains("401") && error.contains("invalid key ***"), "{error}");
        assert!(error.contains("LAB_KEY"), "{error}");
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
        assert_eq!(server.requests().len(), 1, "it is not tried again");
    }
}

#[test]
fn what_passes_is_tried_again_and_told() {
    for api in WireApi::ALL {
        let server = ScriptedServer::start();
        server.answer(api.error(529, "overloaded_error", "Overloaded").header("retry-after", "0"));
        server.answer(api.answer(&completes("done")));
        let project = lab(&server, api, "");
        let ran = project.run(&["run", "Explore", "x", "--output-format", "stream-json", "-q"]);
        let lines: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let retries: Vec<_> = lines.iter().filter(|line| line["event_type"] == "RETRY").collect();
        assert_eq!(retries.len(), 1, "{ran:?}");
        assert!(retries[0]["data"]["reason"].as_str().unwrap().contains("529"));
        assert_eq!(lines.last().unwrap()["status"], "goal");
    }
}

#[test]
fn a_provider_without_its_key_is_an_error_that_names_it() {
    let project = project();
    for (settings, part) in [
        (vec!["model_provider=openai"], "OPENAI_API_KEY"),
        (vec!["model=claude-x"], "ANTHROPIC_API_KEY"),
        (
            vec![
                "model_provider=lab",
                "model=m",
                "model_providers.lab.base_url=\"http://127.0.0.1:1\"",
                "model_providers.lab.env_key=LAB_KEY",
            ],
            "LAB_KEY",
        ),
        (vec!["model_provider=lab", "model=m"], "there is no provider `lab`"),
        (vec!["model_provider=lab", "model=m", "model_providers.lab.wire_api=chat"], "base_url"),
        (vec!["model_provider=ollama"], "no model is named"),
    ] {
        let mut arguments = vec!["run", "Explore", "x"];
        arguments.extend(settings.iter().flat_map(|setting| ["-c", *setting]));
        let ran = project.run(&arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(part) && ran.stderr.contains("hint"), "{part}: {ran:?}");
    }
    for (asked, part) in [
        (["--provider", "ollama"], "no model is named"),
        (["--model", "gpt-5"], "OPENAI_API_KEY"),
        (["--model", "something"], "there is no provider for the model"),
    ] {
        let ran = project.run(&[&["run", "Explore", "x"], &asked[..]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
}

#[test]
fn a_key_is_not_sent_unencrypted_to_another_machine() {
    let project = project().with_env("LAB_KEY", KEY);
    let settings = [
        "model_provider=lab",
        "model=m",
        "model_providers.lab.base_url=\"http://llm.invalid\"",
        "model_providers.lab.env_key=LAB_KEY",
    ];
    let mut arguments = vec!["run", "Explore", "x"];
    arguments.extend(settings.iter().flat_map(|setting| ["-c", *setting]));
    let ran = project.run(&arguments);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("unencrypted") && ran.stderr.contains("allow_http"), "{ran:?}");
    arguments.extend(["-c", "model_providers.lab.allow_http=true"]);
    arguments.extend(["-c", "model_providers.lab.request_max_retries=0"]);
    let ran = project.run(&arguments);
    assert_eq!(ran.code, Some(1), "nobody is there, but it was tried: {ran:?}");
}

#[test]
fn an_endpoint_of_a_project_is_used_once_it_is_trusted() {
    let api = WireApi::Chat;
    let (own, other) = (ScriptedServer::start(), ScriptedServer::start());
    own.always(api.answer(&completes("own")));
    other.always(api.answer(&completes("other")));
    let project = lab(&own, api, "");
    let endpoint = other.base_url();
    project.agent(
        "helper",
        &format!("description: d\nmodelConfig:\n  endpoint: {endpoint}\n  model: lab-2"),
    );
    let ran = project.run(&["run", "helper", "x", "--json"]);
    assert_eq!(object(&ran)["result"], "own", "{ran:?}");
    assert!(ran.stderr.contains("not trusted"), "{ran:?}");
    assert_eq!(other.requests().len(), 0);
    let trusted = project.run(&["run", "helper", "x", "--json", "--trust"]);
    assert_eq!(object(&trusted)["result"], "other", "{trusted:?}");
    assert_eq!(other.wait_for_request(1).json()["model"], "lab-2");
}

#[test]
fn an_agents_own_values_go_into_the_request() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    server.always(api.answer(&completes("done")));
    let project = lab(&server, api, "");
    project.agent(
        "helper",
        "description: d\nmodelConfig:\n  model: lab-2\n  temperature: 0.5\n  effort: low\n  parameters:\n    top_k: 7\n    stream_options: null",
    );
    let result = object(&project.run(&["run", "helper", "x", "--json", "-q"]));
    assert_eq!(result["model"]["chosen_by"], "definition", "{result}");
    let body = server.wait_for_request(1).json();
    assert_eq!((&body["model"], &body["temperature"]), (&json!("lab-2"), &json!(0.5)));
    assert_eq!((&body["reasoning_effort"], &body["top_k"]), (&json!("low"), &json!(7)));
    assert_eq!((body.get("stream_options"), body.get("top_p")), (None, None));
    project.agent("bad", "description: d\nmodelConfig:\n  parameters:\n    messages: []");
    let ran = project.run(&["run", "bad", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("parameters.messages"), "{ran:?}");
}

#[test]
fn a_budget_ends_a_run_through_a_last_turn() {
    let api = WireApi::Anthropic;
    for (limit, prices, recovered) in [
        ("maxTokens: 4000", "", true),
        ("maxCostUsd: 0.004", "[model_prices.lab-1]\ninput = 1.0\noutput = 1.0\n", true),
        ("maxTokens: 4000", "", false),
    ] {
        let server = ScriptedServer::start();
        server.answer(api.answer(&looks(1500)));
        if recovered {
            server.answer(api.answer(&completes("what I have")));
        } else {
            server.always(api.answer(&text(["I go on."]).using(used(10))));
        }
        let project = lab(&server, api, prices);
        project.agent("helper", &format!("description: d\nrunConfig:\n  {limit}"));
        let result = object(&project.run(&["run", "helper", "x", "--json", "-q"]));
        let last = server.requests()[1].json();
        assert_eq!(last["tools"].as_array().unwrap().len(), 1, "only complete_task is left");
        assert_eq!(last["tool_choice"], json!({"type": "any"}), "and its call is demanded");
        assert!(result["total_tokens"].as_u64().unwrap() <= 4000, "{result}");
        if recovered {
            assert_eq!(
                (&result["status"], &result["recovered_from"]),
                (&json!("goal"), &json!("budget"))
            );
        } else {
            assert_eq!((&result["status"], &result["partial"]), (&json!("budget"), &json!(true)));
        }
    }
}

#[test]
fn no_file_of_a_run_holds_the_key() {
    for api in WireApi::ALL {
        let server = ScriptedServer::start();
        server.answer(
            api.error(500, "server_error", &format!("who is {KEY}?")).header("retry-after", "0"),
        );
        server.answer(api.answer(
            &tool_call("call_1", "read_file", &json!({ "path": "keys.txt" })).then_text([KEY]),
        ));
        server.answer(api.answer(&completes(&format!("The key is {KEY}."))));
        let project = lab(&server, api, "");
        project.file("keys.txt", format!("LAB_KEY={KEY}\n"));
        let ran =
            project.run(&["run", "Explore", "read keys.txt", "--output-format", "stream-json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
        let mut written = BTreeSet::new();
        files(&project.home(), &mut written);
        assert!(written.iter().any(|path| path.contains(".jsonl")), "{written:?}");
        for path in written {
            let content = fs::read(&path).unwrap();
            let holds = content.windows(KEY.len()).any(|piece| piece == KEY.as_bytes());
            assert!(!holds, "{api:?}: the key is in {path}");
        }
    }
}

fn files(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.insert(path.display().to_string());
        }
    }
}

#[test]
fn an_interrupted_stream_is_resumed_on_the_same_model() {
    let api = WireApi::Responses;
    let server = ScriptedServer::start();
    server.answer(api.answer(&looks(100)));
    server.answer(api.error(400, "invalid_request_error", "no more"));
    let project = lab(&server, api, "");
    let first = object(&project.run(&["run", "Explore", "x", "--json", "-q"]));
    assert_eq!(
        (&first["status"], &first["error"]),
        (&json!("error"), &json!("lab answered 400 Bad Request: no more"))
    );
    server.answer(api.answer(&completes("done")));
    let second = object(&project.run(&["run", "--resume", "last", "go on", "--json", "-q"]));
    assert_eq!((&second["status"], &second["resumed_from"]), (&json!("goal"), &first["agent_id"]));
    let (before, after) = (server.requests()[1].body.clone(), server.requests()[2].body.clone());
    let stable = before.len() - "]}".len();
    assert_eq!(before[..stable], after[..stable], "the provider's cache is hit");
}

/// A process may die between a journal's header and its first event; so may one whose disk is full.
#[test]
fn a_run_that_was_cut_off_before_its_first_event_keeps_its_task_and_its_past() {
    let api = WireApi::Chat;
    let server = ScriptedServer::start();
    for answer in ["one", "two", "three", "four"] {
        server.answer(api.answer(&completes(answer)));
    }
    let project = lab(&server, api, "");
    let only_header = |result: &Value| {
        let path = result["transcript"].as_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, format!("{}\n", text.lines().next().unwrap())).unwrap();
    };
    let first = object(&project.run(&["run", "Explore", "first task", "--json", "-q"]));
    let id = first["agent_id"].as_str().unwrap();
    let second = object(&project.run(&["run", "--resume", id, "second task", "--json", "-q"]));
    only_header(&second);
    let id = second["agent_id"].as_str().unwrap();
    object(&project.run(&["run", "--resume", id, "third task", "--json", "-q"]));
    only_header(&first);
    object(&project.run(&["run", "--resume", first["agent_id"].as_str().unwrap(), "--json", "-q"]));
    let sent = |index: usize| server.requests()[index].json().to_string();
    for words in ["first task", "one", "second task", "third task"] {
        assert!(sent(2).contains(words), "{words} in {}", sent(2));
    }
    assert!(sent(3).contains("first task"), "{}", sent(3));
}

/// A run works in its own directory, so the rules and the agents of that project count for it.
#[test]
fn a_run_resumed_from_elsewhere_obeys_its_own_project() {
    let api = WireApi::Chat;
    let server = ScriptedServer::start();
    let reads = || tool_call("call_1", "read_file", &json!({ "path": "secret.txt" }));
    server.answer(api.answer(&completes("one")));
    server.answer(api.answer(&reads()));
    server.answer(api.answer(&completes("two")));
    let project = lab(&server, api, "");
    project.file("secret.txt", "zork\n");
    project.agent("worker", "description: works");
    let first = object(&project.run(&["run", "worker", "x", "--json", "-q"]));
    let id = first["agent_id"].as_str().unwrap();
    project.file(".attache/config.toml", "[permissions]\ndeny = [\"Read(secret.txt)\"]\n");
    project.agent("worker", "description: works\ntools: [read_file]");
    let elsewhere = project.home().to_str().unwrap().to_owned();
    let resume = ["run", "--resume", id, "more", "--json", "--cwd", &elsewhere];
    let ran = project.run(&resume);
    assert_eq!(object(&ran)["status"], "goal", "{ran:?}");
    assert!(ran.stderr.contains("continues in the directory it began in"), "{}", ran.stderr);
    let told = server.requests()[2].json().to_string();
    assert!(told.contains("secret.txt") && !told.contains("zork"), "{told}");
    assert!(!told.contains("grep_files"), "its file lists read_file alone: {told}");
    project.agent("worker", "description: works\nenabled: false");
    let ran = project.run(&resume);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn the_doctor_tries_the_model() {
    for api in WireApi::ALL {
        let server = ScriptedServer::start();
        server.answer(api.answer(&text(["ok"])));
        let project = lab(&server, api, "");
        let ran = project.run(&["doctor", "--online", "--json"]);
        let online = |ran: &Ran| {
            let checks = object(ran)["checks"].as_array().unwrap().clone();
            checks.into_iter().find(|check| check["name"] == "online").unwrap()
        };
        assert_eq!(online(&ran)["level"], "ok", "{ran:?}");
        let asked = server.wait_for_request(1).json();
        let most = match api {
            WireApi::Chat | WireApi::Anthropic => &asked["max_tokens"],
            WireApi::Responses => &asked["max_output_tokens"],
            WireApi::Gemini => &asked["generationConfig"]["maxOutputTokens"],
        };
        assert!(most.as_u64().is_some_and(|most| most <= 16), "{api:?}: {asked}");
        server.answer(Answer::new().status(404).body("no such model"));
        let ran = project.run(&["doctor", "--online", "--json"]);
        assert_eq!((ran.code, &online(&ran)["level"]), (Some(1), &json!("error")));
        assert!(online(&ran)["detail"].as_str().unwrap().contains("no such model"), "{ran:?}");
    }
}

#[test]
fn the_doctor_limits_an_answer_by_the_field_its_model_takes() {
    let refused = |field: &str| {
        WireApi::Chat.error(
            400,
            "unsupported_parameter",
            &format!("Unsupported parameter: '{field}' is not supported with this model."),
        )
    };
    let (old, new) = ("max_tokens", "max_completion_tokens");
    for (model, first, second) in [
        ("gpt-5.4-mini", new, None),
        ("o3", new, None),
        ("lab-1", old, None),
        ("my-reasoner", old, Some(new)),
        ("gpt-5-local", new, Some(old)),
    ] {
        let server = ScriptedServer::start();
        if second.is_some() {
            server.answer(refused(first));
        }
        server.answer(WireApi::Chat.answer(&text(["ok"])));
        let project = lab(&server, WireApi::Chat, "");
        let setting = format!("model={model}");
        let ran = project.run(&["doctor", "--online", "-c", &setting]);
        assert_eq!(ran.code, Some(0), "{model}: {ran:?}");
        let asked: Vec<Value> = server.requests().iter().map(Request::json).collect();
        let fields: Vec<_> =
            asked.iter().map(|asked| [old, new].map(|field| asked[field] == 1)).collect();
        let expected: Vec<_> = std::iter::once(first)
            .chain(second)
            .map(|field| [old, new].map(|known| known == field))
            .collect();
        assert_eq!(fields, expected, "{model}: {asked:?}");
        server.assert_done();
    }
    // A field that is refused either way is an error after two tries.
    let server = ScriptedServer::start();
    server.answer(refused(old)).answer(refused(new));
    let ran = lab(&server, WireApi::Chat, "").run(&["doctor", "--online"]);
    assert_eq!((ran.code, server.requests().len()), (Some(1), 2), "{ran:?}");
}

#[test]
fn a_header_that_is_left_out_does_not_make_a_provider_unready() {
    let server = ScriptedServer::start();
    server.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&server, WireApi::Chat, "");
    let header = "model_providers.lab.env_http_headers={X-Team=\"NOT_SET_VAR\"}";
    let row = |arguments: &[&str]| {
        let report = project.json(&[&["models", "lab", "--json"], arguments].concat());
        report["providers"][0].clone()
    };
    let lab = row(&["-c", header]);
    assert_eq!((&lab["ready"], &lab["missing_key"]), (&json!(true), &Value::Null), "{lab}");
    let result = object(&project.run(&["run", "Explore", "x", "--json", "-q", "-c", header]));
    assert_eq!(result["status"], "goal", "{result}");
    // A provider whose header may be its key lacks it.
    project.file(
        "~/.attache/config.toml",
        "[model_providers.lab]\nbase_url = \"http://127.0.0.1:9\"\nenv_http_headers = { Authorization = \"NOT_SET_VAR\" }\n",
    );
    let lab = row(&[]);
    assert_eq!((&lab["ready"], &lab["missing_key"]), (&json!(false), &json!("NOT_SET_VAR")));
}

#[test]
fn thinking_that_a_model_cannot_do_is_told() {
    let server = ScriptedServer::start();
    server.always(WireApi::Chat.answer(&completes("done")));
    let project = lab(&server, WireApi::Chat, "");
    project.agent("thinker", "description: d\nmodelConfig: {effort: high, thinkingBudget: 4096}");
    project.agent("worker", "description: d\neffort: high");
    let notice = "`effort` is not sent: `gpt-4o` cannot be told how much to think";
    let both = "`effort` and `thinkingBudget` are not sent: `gpt-4o-mini` cannot be told";
    for (agent, model, told) in [
        ("worker", "gpt-4o", Some(notice)),
        ("thinker", "gpt-4o-mini", Some(both)),
        ("worker", "gpt-5.4", None),
        ("worker", "lab-1", None),
        ("Explore", "gpt-4o", None),
    ] {
        let setting = format!("model={model}");
        let ran = project.run(&["run", agent, "x", "-c", &setting]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let lines: Vec<_> = ran.stderr.lines().filter(|line| line.contains("not sent")).collect();
        assert_eq!(lines.len(), usize::from(told.is_some()), "{ran:?}");
        assert!(told.is_none_or(|told| lines[0].contains(told)), "{ran:?}");
        let shown = project.run(&["show", agent, "-c", &setting]).stdout;
        assert_eq!(shown.contains("not sent"), told.is_some(), "{shown}");
        assert!(told.is_none_or(|told| shown.contains(told)), "{shown}");
        let quiet = project.run(&["run", agent, "x", "-q", "-c", &setting]);
        assert!(!quiet.stderr.contains("not sent"), "{quiet:?}");
    }
}

#[test]
fn planning_on_haiku_stays_there_where_nobody_knows_sonnet() {
    let server = ScriptedServer::start();
    server.always(WireApi::Chat.answer(&completes("done")));
    let project = lab(&server, WireApi::Chat, "");
    project.agent("planner", "description: d\npermissionMode: plan");
    let haiku = "model=claude-haiku-4-5";
    let ran = project.run(&["run", "planner", "x", "-c", haiku]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.requests()[0].json()["model"], "claude-haiku-4-5");
    let told = "planning stays on `claude-haiku-4-5`: nothing says what `sonnet` is on `lab`";
    assert!(ran.stderr.contains(told), "{ran:?}");
    let quiet = project.run(&["run", "planner", "x", "-q", "-c", haiku]);
    assert!(!quiet.stderr.contains("planning"), "{quiet:?}");
    let alias = "model_aliases.sonnet=big-one";
    let ran = project.run(&["run", "planner", "x", "-c", haiku, "-c", alias]);
    assert_eq!(server.requests()[2].json()["model"], "big-one");
    assert!(!ran.stderr.contains("planning"), "{ran:?}");
}

#[test]
fn the_allowlist_takes_a_model_with_its_provider_in_front() {
    let server = ScriptedServer::start();
    server.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&server, WireApi::Chat, "");
    let list = "subagents.model_allowlist=[\"a1\"]";
    let run = |model: &str| project.run(&["run", "Explore", "x", "-c", list, "--model", model]);
    assert_eq!(run("lab/a1").code, Some(0));
    assert_eq!(server.requests()[0].json()["model"], "a1");
    for model in ["ollama/a1", "lab/a2"] {
        let ran = run(model);
        assert!(ran.code == Some(2) && ran.stderr.contains("not on the allowlist"), "{ran:?}");
    }
}

#[test]
fn the_providers_and_what_they_lack_are_listed() {
    let project = project().with_env("OPENAI_API_KEY", KEY);
    project.file("~/.attache/config.toml", "[model_providers.lab]\nbase_url = \"https://llm.example.com/v1?key=hidden\"\nenv_key = \"LAB_KEY\"\n[model_aliases]\nquick = \"gpt-5.4-nano\"\n");
    let report = project.json(&["models", "--json"]);
    assert_eq!(report["default"]["provider"], "openai");
    let provider = |id: &str| {
        let providers = report["providers"].as_array().unwrap();
        providers.iter().find(|provider| provider["id"] == id).unwrap().clone()
    };
    assert_eq!(
        (&provider("openai")["ready"], &provider("openai")["key_from"]),
        (&json!(true), &json!("OPENAI_API_KEY"))
    );
    assert_eq!(provider("anthropic")["missing_key"], "ANTHROPIC_API_KEY");
    assert_eq!(
        (&provider("lab")["missing_key"], &provider("lab")["base_url"]),
        (&json!("LAB_KEY"), &json!("https://llm.example.com/v1"))
    );
    assert_eq!(
        (&provider("ollama")["ready"], &provider("offline")["ready"]),
        (&json!(true), &json!(true))
    );
    let aliases = report["aliases"].as_array().unwrap();
    let nano = json!({"model": "gpt-5.4-nano", "provider": "openai"});
    assert!(aliases.contains(
        &json!({"alias": "quick", "model": "gpt-5.4-nano", "builtin": false, "here": nano})
    ));
    // Its maker is not set up, so an agent that names it runs on the parent's model.
    let parents = json!({"model": "gpt-5.6-terra", "provider": "openai"});
    assert!(aliases.contains(
        &json!({"alias": "sonnet", "model": "claude-sonnet-5", "builtin": true, "here": parents})
    ));
    let models = report["models"].as_array().unwrap();
    assert!(
        models
            .iter()
            .any(|model| model["id"] == "claude-sonnet-5" && model["context_window"].is_u64())
    );
    let ran = project.run(&["models"]);
    for part in
        ["needs ANTHROPIC_API_KEY", "key from OPENAI_API_KEY", "quick", "claude-sonnet-5", "as of"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains(KEY) && !ran.stdout.contains("hidden"));
    assert!(ran.stdout.contains("gpt-5.6-terra on openai"), "{}", ran.stdout);
    let only = project.json(&["models", "gemini", "--json"]);
    assert_eq!(only["providers"].as_array().unwrap().len(), 1);
    assert_eq!(project.run(&["models", "nobody"]).code, Some(2));
}

#[test]
fn the_aliases_are_listed_on_every_provider_and_on_none() {
    let sonnet = |project: &TestProject| {
        let report = project.json(&["models", "--json"]);
        let aliases = report["aliases"].as_array().unwrap();
        aliases.iter().find(|row| row["alias"] == "sonnet").unwrap()["here"].clone()
    };
    let project = project();
    assert_eq!(sonnet(&project), json!(null));
    let shown = project.run(&["models"]).stdout;
    assert!(shown.contains("no provider is set up"), "{shown}");
    project.file("~/.attache/config.toml", "model = \"m\"\nmodel_provider = \"lab\"\n[model_providers.lab]\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    assert_eq!(sonnet(&project), json!({"model": "m", "provider": "lab"}));
    let project = project.with_env("ANTHROPIC_API_KEY", KEY);
    assert_eq!(sonnet(&project), json!({"model": "claude-sonnet-5", "provider": "anthropic"}));
}

#[test]
fn a_stored_key_is_sent_where_it_was_stored_for_and_nowhere_else() {
    let api = WireApi::Chat;
    let (own, other) = (ScriptedServer::start(), ScriptedServer::start());
    own.always(api.answer(&completes("own")));
    other.always(api.answer(&completes("other")));
    let project = project();
    let settings = |server: &ScriptedServer| {
        let settings = format!(
            "model = \"m\"\nmodel_provider = \"lab\"\n[model_providers.lab]\nbase_url = \"{}\"\n\
             env_key = \"LAB_KEY\"\nwire_api = \"chat\"\n",
            server.base_url()
        );
        project.file("~/.attache/config.toml", settings);
    };
    settings(&own);
    let ran = project.run_with_input(&["login", "lab"], KEY);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = object(&project.run(&["run", "Explore", "x", "--json", "-q"]));
    assert_eq!(result["result"], "own", "{result}");
    let sent = own.wait_for_request(1);
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let models = project.json(&["models", "lab", "--json"]);
    assert_eq!(models["providers"][0]["key_from"], "attache login");
    settings(&other);
    let ran = project.run(&["run", "Explore", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("LAB_KEY"), "{ran:?}");
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn a_budget_of_the_whole_tree_holds_for_a_run() {
    let api = WireApi::Chat;
    let server = ScriptedServer::start();
    server.answer(api.answer(&looks(1500)));
    server.answer(api.answer(&completes("what I have")));
    let project = lab(&server, api, "[subagents]\nmax_tree_tokens = 4000\n");
    let result = object(&project.run(&["run", "Explore", "x", "--json", "-q"]));
    assert_eq!(result["recovered_from"], "budget", "{result}");
}

#[test]
fn a_silent_stream_is_called_again_after_the_providers_own_limit() {
    let api = WireApi::Anthropic;
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(api.answer(&text(["I think"])).gated(&gate, 2));
    server.answer(api.answer(&completes("done")));
    let project = lab(&server, api, "");
    let silence = "model_providers.lab.stream_idle_timeout_ms=1500";
    let ran = project.run(&[
        "run",
        "Explore",
        "x",
        "--output-format",
        "stream-json",
        "-q",
        "-c",
        silence,
    ]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let retry = lines.iter().find(|line| line["event_type"] == "RETRY").unwrap();
    assert!(retry["data"]["reason"].as_str().unwrap().contains("sent nothing"), "{retry}");
    assert_eq!(lines.last().unwrap()["status"], "goal");
    server.wait_for_hangup(1);
}

#[test]
fn proxies_are_used_but_not_on_this_machine() {
    let api = WireApi::Chat;
    let proxy = ScriptedServer::start();
    proxy.always(api.answer(&completes("through the proxy")));
    let settings = |base_url: &str| {
        format!(
            "model = \"m\"\nmodel_provider = \"lab\"\n[model_providers.lab]\nbase_url = \"{base_url}\"\n\
             wire_api = \"chat\"\nrequest_max_retries = 0\n"
        )
    };
    let run =
        |project: &TestProject| object(&project.run(&["run", "Explore", "x", "--json", "-q"]));
    let there = project().with_env("HTTP_PROXY", &proxy.base_url());
    there.file("~/.attache/config.toml", settings("http://llm.invalid:81"));
    assert_eq!(run(&there)["result"], "through the proxy");
    let request = proxy.wait_for_request(1);
    assert_eq!(request.path, "http://llm.invalid:81/v1/chat/completions");
    let excepted = there.with_env("NO_PROXY", "other.example,llm.invalid");
    let result = run(&excepted);
    assert_eq!(result["status"], "error", "{result}");
    assert!(result["error"].as_str().unwrap().contains("http://llm.invalid:81"), "{result}");
    let here = project()
        .with_env("http_proxy", "http://127.0.0.1:9")
        .with_env("ALL_PROXY", "http://127.0.0.1:9");
    let server = ScriptedServer::start();
    server.always(api.answer(&completes("directly")));
    here.file("~/.attache/config.toml", settings(&server.base_url()));
    assert_eq!(run(&here)["result"], "directly");
    assert_eq!(proxy.requests().len(), 1);
    let bad = project().with_env("HTTPS_PROXY", "http://");
    bad.file("~/.attache/config.toml", settings("https://llm.invalid"));
    let ran = bad.run(&["run", "Explore", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("HTTPS_PROXY"), "{ran:?}");
}

#[test]
fn what_is_not_known_is_not_called_free() {
    let api = WireApi::Anthropic;
    let prices = "[model_prices.lab-1]\ninput = 1.0\noutput = 10.0\n";
    // The provider counts nothing.
    let server = ScriptedServer::start();
    let uncounted = tool_call("call_9", "complete_task", &json!({ "result": "x" }));
    server.answer(api.answer(&uncounted));
    let result = object(&lab(&server, api, prices).run(&["run", "Explore", "x", "--json", "-q"]));
    assert_eq!((&result["status"], &result["cost_usd"]), (&json!("goal"), &Value::Null));
    // An answer was begun and lost.
    let server = ScriptedServer::start();
    server.answer(api.answer(&looks(100)).keep(4).close_early());
    server.answer(api.answer(&completes("done")));
    let result = object(&lab(&server, api, prices).run(&["run", "Explore", "x", "--json", "-q"]));
    assert_eq!((&result["status"], &result["cost_usd"]), (&json!("goal"), &Value::Null));
    // A refusal is free.
    let server = ScriptedServer::start();
    server.answer(api.error(500, "api_error", "x").header("retry-after", "0"));
    server.answer(api.answer(&completes("done")));
    let result = object(&lab(&server, api, prices).run(&["run", "Explore", "x", "--json", "-q"]));
    assert!(result["cost_usd"].is_f64(), "{result}");
}

#[test]
fn a_price_of_the_table_holds_at_its_makers_only() {
    let api = WireApi::Responses;
    let server = ScriptedServer::start();
    server.always(api.answer(&completes("done")));
    let project =
        project().with_env("OPENAI_API_KEY", KEY).with_env("OPENAI_BASE_URL", &server.base_url());
    let result = object(&project.run(&["run", "Explore", "x", "--json", "-q"]));
    assert_eq!(
        (&result["status"], &result["cost_usd"]),
        (&json!("goal"), &Value::Null),
        "{result}"
    );
}

#[test]
fn what_one_provider_signed_is_not_shown_to_another() {
    for api in WireApi::ALL {
        let (own, other) = (ScriptedServer::start(), ScriptedServer::start());
        own.answer(api.answer(&looks(10).then_thinking(["hm"], "c2VjcmV0LXNpZ25hdHVyZQ==")));
        own.answer(api.error(400, "invalid_request_error", "no more"));
        other.answer(api.answer(&completes("done")));
        let project = lab(&own, api, "").with_env("OTHER_KEY", KEY);
        let there = [
            format!("model_providers.other.base_url=\"{}\"", other.base_url()),
            format!("model_providers.other.wire_api=\"{}\"", word(api)),
            "model_providers.other.env_key=OTHER_KEY".to_owned(),
        ];
        project.run(&["run", "Explore", "x", "-q"]);
        let mut arguments = vec!["run", "--resume", "last", "go on", "--provider", "other", "-q"];
        arguments.extend(there.iter().flat_map(|setting| ["-c", setting.as_str()]));
        let ran = project.run(&arguments);
        assert_eq!(ran.code, Some(0), "{api:?}: {ran:?}");
        let sent = String::from_utf8(other.wait_for_request(1).body).unwrap();
        assert!(sent.contains("list_dir") && !sent.contains("c2VjcmV0"), "{api:?}: {sent}");
    }
}

#[test]
fn a_key_in_two_pieces_is_no_less_a_key() {
    for api in WireApi::ALL {
        let server = ScriptedServer::start();
        let (one, two) = KEY.split_at(9);
        let says = Turn::empty()
            .then_thinking(["I know ", one, two], "c2ln")
            .then_text(["The key: ", one, two, ", sk-l"])
            .then_tool_call("call_9", "complete_task", &json!({ "result": "x" }));
        server.answer(api.answer(&says));
        let project = lab(&server, api, "");
        let ran = project.run(&["run", "Explore", "x", "--output-format", "stream-json", "-q"]);
        let lines: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let shown = |kind: &str| -> String {
            let pieces = lines.iter().filter(|line| line["event_type"] == kind);
            pieces.filter_map(|line| line["data"]["text"].as_str()).collect()
        };
        assert_eq!(shown("TEXT_CHUNK"), "The key: ***, sk-l", "{api:?}");
        assert_eq!(shown("THOUGHT_CHUNK"), "I know ***", "{api:?}");
    }
}

#[test]
fn a_stored_key_that_cannot_be_used_is_never_a_silent_offline() {
    let project = project();
    let ran = project.run_with_input(&["login", "anthropic"], KEY);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let moved = project.with_env("ANTHROPIC_BASE_URL", "https://gateway.example.com");
    let ran = moved.run(&["run", "Explore", "x", "-q"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("api.anthropic.com") && ran.stderr.contains("gateway"), "{ran:?}");
    let file = moved.home().join(".attache/credentials.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = moved.run(&["run", "Explore", "x", "-q"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("chmod 600"), "{ran:?}");
    assert_eq!(moved.run(&["run", "Explore", "x", "-q", "--model", "offline"]).code, Some(0));
}

#[test]
fn a_key_in_the_place_of_a_variables_name_is_not_repeated() {
    let project = project();
    let settings = [
        "model_provider=lab",
        "model=m",
        "model_providers.lab.base_url=\"http://u:password@127.0.0.1:1/v1\"",
        "model_providers.lab.env_key=\"sk-lab-0123456789abcdef\"",
    ];
    for command in [&["run", "Explore", "x"][..], &["models"], &["models", "--json"], &["doctor"]] {
        let mut arguments = command.to_vec();
        arguments.extend(settings.iter().flat_map(|setting| ["-c", *setting]));
        let ran = project.run(&arguments);
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{command:?}: {ran:?}");
        assert!(!ran.stdout.contains("password"), "{command:?}: {ran:?}");
    }
}

#[test]
fn a_cost_cap_without_a_price_is_refused_before_anything_is_spent() {
    let api = WireApi::Chat;
    let server = ScriptedServer::start();
    server.always(api.answer(&completes("done")));
    let project = lab(&server, api, "");
    project.agent("helper", "description: d\nrunConfig:\n  maxCostUsd: 0.01");
    project.agent("uncapped", "description: d");
    let tree = ["-c", "subagents.max_tree_cost_usd=1"];
    let refused = [
        (vec!["run", "helper", "x"], "`maxCostUsd`"),
        ([&["run", "uncapped", "x"][..], &tree].concat(), "`subagents.max_tree_cost_usd`"),
    ];
    for (arguments, cap) in refused {
        let ran = project.run(&arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(cap), "{ran:?}");
        assert!(ran.stderr.contains("[model_prices.\"lab-1\"]"), "{ran:?}");
    }
    assert!(server.requests().is_empty());
    let price = ["-c", "model_prices.lab-1={input=1.0, output=2.0}"];
    let ran = project.run(&[&["run", "helper", "x"][..], &price].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // What costs nothing needs no price.
    let ran = project.run(&["run", "helper", "x", "--model", "offline"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(project.run(&["run", "helper", "x", "--model", "lab/"]).code, Some(2));
}

#[test]
fn the_window_of_the_settings_is_kept() {
    let api = WireApi::Chat;
    let server = ScriptedServer::start();
    for number in 0..3 {
        let reads = tool_call(
            &format!("call_{number}"),
            "read_file",
            &json!({ "path": "long.txt", "offset": number + 1 }),
        );
        server.answer(api.answer(&reads.using(used(900 + number * 300))));
    }
    server.always(api.answer(&completes("done")));
    let project = lab(&server, api, "[model_context_windows]\nlab-1 = 1600\n");
    project.file("long.txt", "many words\n".repeat(60));
    let ran = project.run(&["run", "Explore", "x", "--output-format", "stream-json", "-q"]);
    assert!(ran.stdout.contains("\"event_type\":\"COMPACTED\""), "{ran:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn the_limits_of_the_settings_hold_for_retries() {
    let api = WireApi::Responses;
    let broken = || api.answer(&text(["I was"])).keep(3).close_early();
    let refused = || api.error(503, "unavailable", "x").header("retry-after", "0");
    for (setting, answer, requests) in [
        ("request_max_retries=1", refused(), 2),
        ("stream_max_retries=0", broken(), 1),
        ("request_max_retries=0", broken(), 1),
    ] {
        let server = ScriptedServer::start();
        server.always(answer);
        let project = lab(&server, api, "");
        let setting = format!("model_providers.lab.{setting}");
        let ran = project.run(&["run", "Explore", "x", "-q", "-c", &setting]);
        assert_eq!((ran.code, server.requests().len()), (Some(1), requests), "{setting}: {ran:?}");
    }
}

#[test]
fn being_told_to_end_stops_a_run_in_mid_stream_cleanly() {
    for signal in ["-TERM", "-INT"] {
        let api = WireApi::Gemini;
        let server = ScriptedServer::start();
        let gate = Gate::new();
        server.answer(api.answer(&text(["I was about", " to say"])).gated(&gate, 1));
        let project = lab(&server, api, "");
        let child = project
            .command(&["run", "Explore", "x", "--output-format", "stream-json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().any(|line| line.unwrap().contains("I was about")));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let last = lines.map(Result::unwrap).last().unwrap();
        let result: Value = serde_json::from_str(&last).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}: {result}");
        assert_eq!((&result["status"], &result["partial"]), (&json!("aborted"), &json!(true)));
        assert_eq!(result["result"], "I was about", "{signal}");
        server.wait_for_hangup(1);
    }
}

#[test]
fn a_sessions_budget_is_one_over_all_its_runs() {
    let server = ScriptedServer::start();
    let done = tool_call("call_9", "complete_task", &json!({"result": "done"}));
    server.always(WireApi::Chat.answer(&done.using(used(10_000))));
    let project = lab(&server, WireApi::Chat, "[subagents]\nmax_tree_tokens = 30000\n");
    let first = object(&project.run(&["run", "Explore", "one", "--json", "-q"]));
    assert_eq!((&first["status"], &first["total_tokens"]), (&json!("goal"), &json!(10_010)));
    for _ in 0..2 {
        let next = project.run(&["run", "--resume", "last", "more", "--json", "-q"]);
        assert_eq!(object(&next)["total_tokens"], 10_010);
    }
    let ran = project.run(&["run", "--resume", "last", "more", "--json", "-q"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("spent its budget of 30000 tokens"), "{}", ran.stderr);
    assert!(ran.stderr.contains("subagents.max_tree_tokens"), "{}", ran.stderr);
    // Raising it, as the hint says, gives all of what was added.
    let raised = [
        "run",
        "--resume",
        "last",
        "more",
        "--json",
        "-q",
        "-c",
        "subagents.max_tree_tokens=90000",
    ];
    let result = object(&project.run(&raised));
    let lines = fs::read_to_string(result["transcript"].as_str().unwrap()).unwrap();
    let header: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(header["run"]["limits"]["tree"]["tokens"], 59_970);
    assert_eq!(header["run"]["definition"]["runConfig"]["maxTokens"], json!(null));
    // Another session has its own.
    let other = project.run(&["run", "Explore", "one", "--json", "-q"]);
    assert_eq!(object(&other)["status"], "goal");
}

#[test]
fn what_was_too_long_to_show_can_be_read_after_resuming() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    let project = lab(&server, api, "");
    project.file("long.txt", "needle in a haystack, as always\n".repeat(5000));
    let search = json!({"pattern": "needle", "output_mode": "content", "head_limit": 2000});
    server.answer(api.answer(&tool_call("call_1", "grep_files", &search).using(used(100))));
    server.answer(api.answer(&completes("one")));
    let first = object(&project.run(&["run", "Explore", "one", "--json", "-q"]));
    let artifact = first["artifacts"][0]["path"].as_str().unwrap().to_owned();
    for turn in 2..4 {
        let read = json!({"path": artifact, "limit": 1});
        let id = format!("call_{turn}");
        server.answer(api.answer(&tool_call(&id, "read_file", &read).using(used(100))));
        server.answer(api.answer(&completes("two")));
        object(&project.run(&["run", "--resume", "last", "more", "--json", "-q"]));
        let body = server.requests().pop().unwrap().json().to_string();
        assert!(!body.contains("outside the workspace"), "{turn}: {body}");
    }
}

#[test]
fn a_provider_that_counts_nothing_is_told_of_and_held_by_an_estimate() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    let uncounted = |turn: Turn| api.answer(&turn.using(Usage::default()));
    let project = lab(&server, api, "");
    project.file("long.txt", "a long line of text\n".repeat(1000));
    let read = json!({"path": "long.txt"});
    server.answer(uncounted(tool_call("call_1", "read_file", &read)));
    server.answer(uncounted(completes("done")));
    let ran = project.run(&["run", "Explore", "what?", "--json"]);
    assert_eq!(object(&ran)["status"], "goal");
    assert!(ran.stderr.contains("lab counted no tokens"), "{}", ran.stderr);
    project.agent("capped", "description: d\ntools: Read\nmaxTokens: 3000");
    for id in ["call_1", "call_2"] {
        server.answer(uncounted(tool_call(id, "read_file", &read)));
    }
    server.answer(uncounted(completes("what I have")));
    let result = object(&project.run(&["run", "capped", "what?", "--json", "-q"]));
    assert_eq!((&result["status"], &result["recovered_from"]), (&json!("goal"), &json!("budget")));
}

#[test]
fn naming_a_provider_is_no_way_around_the_allowlist() {
    let server = ScriptedServer::start();
    server.always(WireApi::Chat.answer(&completes("done")));
    let list = "[subagents]\nmodel_allowlist = [\"a1\"]\n";
    let project = lab(&server, WireApi::Chat, list);
    let settings = project.home().join(".attache/config.toml");
    let text = fs::read_to_string(&settings).unwrap();
    let address = server.base_url();
    let other = format!("[model_providers.other]\nbase_url = \"{address}\"\nwire_api = \"chat\"\n");
    fs::write(&settings, text + &other).unwrap();
    for (arguments, code) in [
        (&["--model", "a1"][..], 0),
        (&["--model", "a1", "--provider", "lab"], 0),
        (&["--model", "a1", "--provider", "other"], 2),
        (&["--provider", "other"], 2),
    ] {
        let ran = project.run(&[&["run", "Explore", "x", "-q"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn of_several_resumes_of_one_run_one_goes_on() {
    let api = WireApi::Chat;
    let server = ScriptedServer::start();
    server.answer(api.answer(&completes("first")));
    let project = lab(&server, api, "");
    let first = object(&project.run(&["run", "Explore", "x", "--json", "-q"]));
    let id = first["agent_id"].as_str().unwrap();
    let gate = Gate::new();
    server.answer(api.answer(&completes("second")).gated(&gate, 1));
    let resume = ["run", "--resume", id, "and now?", "--json", "-q"];
    let going = project.command(&resume).stdout(Stdio::piped()).spawn().unwrap();
    gate.wait_until_reached(1);
    for _ in 0..3 {
        let ran = project.run(&resume);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        let told = format!("the run {id} is being resumed by agent-");
        assert!(ran.stderr.contains(&told) && ran.stderr.contains("wait for it"), "{}", ran.stderr);
    }
    gate.open();
    let second: Value = serde_json::from_slice(&going.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((&second["status"], &second["resumed_from"]), (&json!("goal"), &json!(id)));
    assert_eq!(server.requests().len(), 2, "the others cost nothing");
    server.answer(api.answer(&completes("third")));
    assert_eq!(object(&project.run(&resume))["status"], "goal", "one after another is fine");
}

#[test]
fn a_transcript_that_is_removed_in_mid_run_is_told() {
    for turns in [1, 2] {
        let api = WireApi::Chat;
        let server = ScriptedServer::start();
        let gate = Gate::new();
        if turns == 2 {
            server.answer(api.answer(&looks(100)).gated(&gate, 1));
        } else {
            server.answer(api.answer(&completes("the answer")).gated(&gate, 1));
        }
        let project = lab(&server, api, "");
        let command = ["run", "Explore", "x", "--json", "-q"];
        let going = project.command(&command).stdout(Stdio::piped()).spawn().unwrap();
        gate.wait_until_reached(1);
        fs::remove_dir_all(project.home().join(".attache/sessions")).unwrap();
        gate.open();
        let output = going.wait_with_output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &result["status"]), (Some(1), &json!("error")));
        let error = result["error"].as_str().unwrap();
        assert!(error.contains("was removed while the run was going on"), "{error}");
        assert_eq!(result["transcript"], json!(null), "{result}");
        if turns == 1 {
            // What was paid for is not thrown away.
            assert_eq!(
                (&result["result"], &result["partial"]),
                (&json!("the answer"), &json!(true))
            );
        }
    }
}

#[test]
fn a_short_name_on_the_command_line_is_never_sent_raw() {
    let api = WireApi::Chat;
    let server = ScriptedServer::start();
    server.always(api.answer(&completes("done")));
    let project = lab(&server, api, "");
    let ran = project.run(&["run", "Explore", "x", "--model", "haiku"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY"), "{ran:?}");
    assert!(ran.stderr.contains("[model_aliases] \"haiku\""), "{ran:?}");
    assert!(server.requests().is_empty());
    // What the settings or the user mean by it is used.
    let meant = [
        (&["--model", "haiku", "-c", "model_aliases.haiku=small"][..], "small"),
        (&["--model", "lab/haiku"], "haiku"),
        (&["--provider", "lab", "--model", "haiku"], "haiku"),
    ];
    for (number, (arguments, model)) in meant.into_iter().enumerate() {
        let ran = project.run(&[&["run", "Explore", "x"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(server.requests()[number].json()["model"], model);
    }
}
