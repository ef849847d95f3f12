//! Providers behind TLS: whom the system trusts is trusted, nobody else, and HTTP/2 is spoken where it
//! is offered.

use attache_testkit::{
    project::TestProject,
    scripted_server::{ScriptedServer, WireApi, tool_call},
    secure_front::{Authority, SecureFront, Seen},
};
use serde_json::{Value, json};

use crate::project;

const KEY: &str = "sk-lab-0123456789abcdef";

struct Lab {
    server: ScriptedServer,
    front: SecureFront,
    project: TestProject,
}

/// A provider behind TLS, and a program that trusts that authority alone.
fn lab(authority: &Authority, protocols: &[&str], trusted: &Authority) -> Lab {
    let server = ScriptedServer::start();
    let front = SecureFront::start(server.address(), authority, protocols);
    let project = project().with_env("LAB_KEY", KEY);
    let roots = project.file("~/roots.pem", trusted.pem());
    let project = project
        .with_env("SSL_CERT_FILE", &roots.display().to_string())
        .with_env("SSL_CERT_DIR", &folder_without_certificates(&roots));
    let settings = format!(
        "model = \"lab-1\"\nmodel_provider = \"lab\"\n[model_providers.lab]\nbase_url = \"{}\"\n\
         env_key = \"LAB_KEY\"\nwire_api = \"chat\"\n",
        front.base_url()
    );
    project.file("~/.attache/config.toml", settings);
    Lab { server, front, project }
}

/// A folder without certificates.
fn folder_without_certificates(roots: &std::path::Path) -> String {
    roots.parent().unwrap().join(".attache").display().to_string()
}

fn two_turns(server: &ScriptedServer) {
    let looks = tool_call("call_1", "list_dir", &json!({"path": "."}));
    server.answer(WireApi::Chat.answer(&looks));
    let completes = tool_call("call_2", "complete_task", &json!({"result": "done"}));
    server.answer(WireApi::Chat.answer(&completes));
}

#[test]
fn a_provider_behind_tls_is_asked_over_one_connection_in_the_newest_version_it_offers() {
    let authority = Authority::new();
    for (protocols, version) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let lab = lab(&authority, protocols, &authority);
        two_turns(&lab.server);
        let ran = lab.project.run(&["run", "Explore", "where?", "--json", "-q"]);
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(result["status"], "goal", "{protocols:?}: {ran:?}");
        let Seen { connections, versions } = lab.front.seen();
        let versions: Vec<_> = versions.iter().map(|version| format!("{version:?}")).collect();
        assert_eq!((connections, versions), (1, vec![version.to_owned(); 2]), "{protocols:?}");
        for request in lab.server.requests() {
            assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
        }
    }
}

#[test]
fn a_certificate_nobody_vouches_for_ends_the_run_before_anything_is_sent() {
    let lab = lab(&Authority::new(), &["h2", "http/1.1"], &Authority::new());
    let ran = lab.project.run(&["run", "Explore", "where?", "--json", "-q"]);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &result["status"]), (Some(1), &json!("error")), "{ran:?}");
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(lab.front.seen(), Seen { connections: 1, versions: Vec::new() });
    assert_eq!(lab.server.requests().len(), 0);
}
