//! What a turn costs beside its HTTP: from the end of an answer to the arrival of the next request, for whole
//! runs (real tools, real transcripts), for the model alone, and for a bare HTTP client that sends the very same bodies,
//! in one process, with 1 to 256 of each at once.
//!
//! `cargo bench -p attache-runtime --bench http`. Compare the ratios; times depend on the machine.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may fail")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use attache_kernel::{
    agent::definition::Definition,
    id::{AgentName, SessionId},
    rights::{filter::ToolSet, tool_name::BuiltinTool},
    run::{
        Demand, ModelRequest,
        assignment::Assignment,
        conversation::Conversation,
        message::{Message, ToolResult},
        outcome::Status,
        tool_spec::ToolSpec,
    },
};
use attache_runtime::internal::{
    executor::Patience,
    model::{
        ModelCall,
        http::{HttpClient, Proxies},
        provider::{Provider, ProviderDescription},
        remote::RemoteModel,
        wire::{Traits, WireApi},
    },
    store::{FileStore, Options},
    tasks::{Runs, Start, new_run_id},
    tool::catalogue::builtin_tools,
};
use attache_testkit::assignment::assignment_of;
use tempfile::TempDir;

/// Turns of a run; all but the last read a file.
const TURNS: usize = 10;

/// What the server saw of each client.
#[derive(Default)]
struct Seen {
    /// When the last answer to a client ended.
    ended: BTreeMap<usize, Instant>,
    /// From the end of an answer to the next request.
    gaps: Vec<Duration>,
    /// When each client's first request arrived.
    firsts: Vec<Instant>,
    /// The bodies of the first client.
    bodies: Vec<Vec<u8>>,
}

/// A server that answers like a model that reads files, as fast as it can.
struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let seen = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { address, seen }
    }

    /// Forgets what it saw, and tells it.
    fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Seen>) {
    stream.set_nodelay(true).unwrap();
    let mut from = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut length, mut client) = (0, 0);
        loop {
            let mut line = String::new();
            if from.read_line(&mut line).unwrap_or_default() == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if let Some(value) = line.strip_prefix("x-client:") {
                client = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body).unwrap();
        let arrived = Instant::now();
        let answered = body.windows(14).filter(|piece| piece == b"\"tool_call_id\"").count();
        {
            let mut seen = seen.lock().unwrap();
            if let Some(ended) = seen.ended.get(&client) {
                let gap = arrived - *ended;
                seen.gaps.push(gap);
            }
            if answered == 0 {
                seen.firsts.push(arrived);
            }
            if client == 0 {
                seen.bodies.push(body);
            }
        }
        let answer = answer(answered);
        stream.write_all(answer.as_bytes()).unwrap();
        let mut seen = seen.lock().unwrap();
        if answered + 1 < TURNS {
            seen.ended.insert(client, Instant::now());
        } else {
            seen.ended.remove(&client);
        }
    }
}

fn answer(turn: usize) -> String {
    let (name, arguments) = if turn + 1 < TURNS {
        ("read_file", format!("{{\\\"path\\\":\\\"file-{turn}.txt\\\"}}"))
    } else {
        ("complete_task", "{\\\"result\\\":\\\"done\\\"}".to_owned())
    };
    let call = format!(
        "{{\"index\":0,\"id\":\"call_{turn}\",\"type\":\"function\",\"function\":{{\"name\":\"{name}\",\"arguments\":\"{arguments}\"}}}}"
    );
    let events = [
        format!("{{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}}]}}"),
        "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}".to_owned(),
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}".to_owned(),
        "[DONE]".to_owned(),
    ];
    let body = events.map(|event| format!("data: {event}\n\n")).concat();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

struct World {
    folder: TempDir,
    server: Server,
    http: HttpClient,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        for number in 0..TURNS {
            let line = format!("this is line of file {number}\n");
            fs::write(project.join(format!("file-{number}.txt")), line.repeat(20)).unwrap();
        }
        Self { folder, server: Server::start(), http: HttpClient::new(Proxies::default()) }
    }

    fn start(&self, client: usize, root: &Path) -> Start {
        let provider = Provider::new(ProviderDescription {
            id: "bench".to_owned(),
            wire_api: WireApi::Chat,
            base_url: Some(format!("http://{}", self.server.address)),
            headers: vec![("x-client".to_owned(), client.to_string().into())],
            ..ProviderDescription::default()
        });
        let provider = Arc::new(provider.unwrap());
        let model = RemoteModel::new(provider, &self.http, Traits::default(), None).unwrap();
        let mut definition = Definition::named(AgentName::new("bench"));
        definition.prompt_config.system_prompt = Some("You measure.".to_owned());
        let assignment = Assignment {
            agent_id: new_run_id(),
            session_id: SessionId::new("bench"),
            ..assignment_of(definition, "measure")
        };
        let rights = ToolSet::of_host([BuiltinTool::ReadFile.into()]);
        Start::new(assignment, rights, Arc::new(model), root)
    }

    /// Drives `count` runs at once to their goals.
    async fn runs(&self, count: usize) {
        let store = FileStore::new(self.folder.path().join("sessions"), Options::default());
        let runtime = Runs::new(Arc::new(store), Patience::default());
        let root = self.folder.path().join("project");
        let mut running = Vec::new();
        for client in 0..count {
            running.push(runtime.start(self.start(client, &root)).await.unwrap());
        }
        for handle in running {
            assert_eq!(handle.result().await.unwrap().status, Status::Goal);
        }
    }

    /// Calls `count` models at once, turn after turn, without a run.
    async fn models(&self, count: usize, results: &Arc<Vec<String>>) {
        let root = self.folder.path().join("project");
        let mut asking = tokio::task::JoinSet::new();
        for client in 0..count {
            let start = self.start(client, &root);
            let results = Arc::clone(results);
            asking.spawn(async move {
                let tools: Arc<[ToolSpec]> = builtin_tools()
                    .iter()
                    .map(|tool| tool.spec().clone())
                    .filter(|spec| spec.name == BuiltinTool::ReadFile.into())
                    .collect();
                let opening = [Message::system("You measure."), Message::user("measure")];
                let mut messages: Conversation = opening.into_iter().map(Arc::new).collect();
                for text in results.iter() {
                    let request = ModelRequest {
                        messages: messages.clone(),
                        tools: Arc::clone(&tools),
                        demand: Demand::Free,
                        attempt: 1,
                        not_before: Duration::ZERO,
                        deadline: None,
                    };
                    let call = ModelCall::of_run(&request, &start.assignment);
                    let reply = start.model.call(call, &mut |_| {}).await.unwrap();
                    drop(request);
                    let content = reply.content;
                    let call_id = content.iter().find_map(|part| Some(part.call()?.id.clone()));
                    messages.push(Arc::new(Message::Assistant { content }));
                    let result = ToolResult {
                        call_id: call_id.unwrap(),
                        text: text.clone(),
                        is_error: false,
                        images: Vec::new(),
                        artifacts: Vec::new(),
                        data: None,
                    };
                    messages.push(Arc::new(Message::Tool { results: vec![result] }));
                }
            });
        }
        while let Some(done) = asking.join_next().await {
            done.unwrap();
        }
    }

    /// `count` bare clients at once; each sends these bodies.
    async fn bare(&self, count: usize, bodies: &Arc<Vec<Vec<u8>>>) {
        let address = format!("http://{}/v1/chat/completions", self.server.address);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(no_tls())
            .tcp_nodelay(true)
            .no_proxy()
            .build()
            .unwrap();
        let mut running = tokio::task::JoinSet::new();
        for number in 0..count {
            let (client, address, bodies) = (client.clone(), address.clone(), Arc::clone(bodies));
            running.spawn(async move {
                for body in bodies.iter() {
                    let request = client.post(&address).header("x-client", number);
                    let mut response = request.body(body.clone()).send().await.unwrap();
                    while response.chunk().await.unwrap().is_some() {}
                }
            });
        }
        while let Some(done) = running.join_next().await {
            done.unwrap();
        }
    }
}

fn no_tls() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

fn median(mut gaps: Vec<Duration>) -> Duration {
    gaps.sort();
    gaps[gaps.len() / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = World::new();
    // The first one pays for what is made once.
    runtime.block_on(world.runs(1));
    let bodies = Arc::new(world.server.take().bodies);
    assert_eq!(bodies.len(), TURNS);
    println!("{TURNS} turns of a file read; the last body has {} bytes", bodies[TURNS - 1].len());
    let results: Vec<String> = (0..TURNS).map(|_| "x".repeat(600)).collect();
    let results = Arc::new(results);
    println!(
        "         a whole run            the model alone        a bare client          ratios to bare"
    );
    println!(
        "agents   gap        a turn      gap        a turn      gap        a turn      run: gap, turn   model: gap, turn   first request of a run, of the last run; bare"
    );
    for count in [1, 4, 16, 64, 256] {
        let rounds = (64 / count).max(3);
        let mut times = [Duration::ZERO; 3];
        let mut gaps = [const { Vec::new() }; 3];
        let (mut firsts, mut lasts) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
        for _ in 0..rounds {
            for (kind, (time, gaps)) in times.iter_mut().zip(&mut gaps).enumerate() {
                let began = Instant::now();
                match kind {
                    0 => runtime.block_on(world.runs(count)),
                    1 => runtime.block_on(world.models(count, &results)),
                    _ => runtime.block_on(world.bare(count, &bodies)),
                }
                *time += began.elapsed();
                let seen = world.server.take();
                gaps.extend(seen.gaps);
                let waits: Vec<_> = seen.firsts.iter().map(|first| *first - began).collect();
                lasts[kind].extend(waits.iter().max());
                firsts[kind].extend(waits);
            }
        }
        let turns = u32::try_from(rounds * count * TURNS).unwrap();
        let [run, model, bare] = times.map(|time| time / turns);
        let [run_gap, model_gap, bare_gap] = gaps.map(median);
        let [run_first, _, bare_first] = firsts.map(median);
        let [run_last, _, bare_last] = lasts.map(median);
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!(
            "{count:>6}   {run_gap:<9.1?}  {run:<9.1?}   {model_gap:<9.1?}  {model:<9.1?}   {bare_gap:<9.1?}  {bare:<9.1?}   {:.2}, {:.2}       {:.2}, {:.2}       {run_first:.1?}, {run_last:.1?}; {bare_first:.1?}, {bare_last:.1?}",
            ratio(run_gap, bare_gap),
            ratio(run, bare),
            ratio(model_gap, bare_gap),
            ratio(model, bare),
        );
    }
}
