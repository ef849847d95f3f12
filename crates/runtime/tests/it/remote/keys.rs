//! A key is shown to nobody, whoever repeats it: the provider, the model or a tool.

use std::{fs, path::Path, sync::Arc};

use attache_kernel::run::{event::activity::EventType, outcome::Status};
use attache_runtime::internal::model::{http::HttpClient, provider::Provider, wire::Traits};
use attache_testkit::scripted_server::{Turn, WireApi as Api};
use serde_json::json;

use super::{KEY, Lab, described, everywhere, model_of, reads};

/// Every file below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found
}

#[tokio::test]
async fn no_file_and_no_event_has_the_key() {
    everywhere(|api| async move {
        let lab = Lab::new(api);
        lab.file("secret.txt", &format!("the key is {KEY} here\n"));
        // So many paths with the key in them that the whole list becomes an artifact.
        let folder = lab.project.path().join(KEY);
        fs::create_dir_all(&folder).unwrap();
        for number in 0..201 {
            fs::write(folder.join(format!("{number}.txt")), "").unwrap();
        }
        let echo = format!("invalid key provided: {KEY}, or \\\"{KEY}\\\"");
        lab.server.answer(api.error(500, "server_error", &echo));
        lab.turn(
            &Turn::default()
                .then_thinking([format!("the key {KEY} is mine")], "signed")
                .then_text([format!("I look for {KEY}"), " now".to_owned()])
                .then_tool_call("a", "glob_files", &json!({"pattern": "**/*.txt"})),
        );
        lab.turn(&reads("b", "secret.txt"));
        lab.turn(&reads("c", &format!("{KEY}.txt")));
        lab.server.answer(api.error(401, "authentication_error", &echo));
        let done = lab.run().await;
        lab.server.assert_done();
        assert_eq!(done.result.status, Status::Error, "{api:?}");
        assert!(done.error().contains("invalid key provided: ***"), "{api:?}: {}", done.error());
        assert!(done.error().contains("LAB_API_KEY"), "{}", done.error());
        assert_eq!(done.retries().len(), 1, "{api:?}");
        let written = files(lab.home.path());
        assert!(written.len() > 1, "there are a transcript and an artifact");
        for (path, content) in written {
            let found = content.windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes());
            let text = String::from_utf8_lossy(&content).replace("\\/", "/");
            assert!(!found && !text.contains(KEY), "{api:?}: {path}");
        }
        assert!(done.of_type(EventType::ToolCallEnd).len() == 3);
        for event in &done.events {
            let shown = serde_json::to_string(event).unwrap();
            assert!(!shown.contains(KEY), "{api:?}: {shown}");
        }
        // The provider itself still gets what was said: only what is kept is masked.
        let last = lab.server.requests().pop().unwrap();
        assert!(String::from_utf8(last.body).unwrap().contains(KEY), "{api:?}");
    })
    .await;
}

#[test]
fn no_debug_text_has_the_key() {
    for api in Api::ALL {
        let mut description = described(api, "http://127.0.0.1:9");
        description.headers.push(("x-more".to_owned(), format!("more {KEY}").into()));
        description.query.push(("key".to_owned(), KEY.into()));
        let provider = Arc::new(Provider::new(description.clone()).unwrap());
        let model = model_of(description.clone(), Traits::default(), None);
        let http = HttpClient::default();
        let runtime = Lab::new(api).runtime;
        let shown = format!("{description:?} {provider:?} {model:?} {http:?} {runtime:?}");
        assert!(!shown.contains(KEY) && !shown.contains("0123456789"), "{shown}");
        assert!(shown.contains("127.0.0.1:9"), "{shown}");
    }
}
