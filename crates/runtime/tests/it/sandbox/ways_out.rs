//! Ways out: every file in `ways_out/` tries one thing that the sandbox must stop.
//!
//! A script succeeds (exit code 0) if it got out. Each is run without the sandbox first, as the control: there
//! it has to succeed. One whose control does not (it needs root, or another kernel) is not checked, and that is said.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Mutex,
    thread,
};

use attache_runtime::internal::sandbox::{ResourceLimits, Sandbox, places_of_keys};

use super::{Yard, has_namespaces, sandbox, shown};

/// The controls that succeed for every user on every kernel, so that the test never checks nothing.
const LEAST_CONTROLS: usize = 30;

/// Files with keys of programs that developers use; `ways_out/key_file_*` read them.
const KEY_FILES: [&str; 8] = [
    ".npmrc",
    ".pgpass",
    ".git-credentials",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".cargo/credentials.toml",
    ".pypirc",
    ".aws/credentials",
];

/// What the scripts try to reach: files, a process and sockets outside of the workspace.
struct Surroundings {
    yard: Yard,
    victim: Child,
    variables: Vec<(&'static str, String)>,
    _sockets: (TcpListener, UdpSocket, UnixListener, UnixListener, UnixDatagram),
}

impl Surroundings {
    fn new() -> Self {
        let mut yard = Yard::new();
        let (outside, home) = (yard.beside("outside"), yard.beside("home"));
        for directory in [&outside, &home, &home.join(".ssh")] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(outside.join("victim"), "victim").unwrap();
        fs::write(home.join(".bashrc"), "").unwrap();
        fs::write(home.join(".ssh/id"), "secret key").unwrap();
        fs::write(home.join(".netrc"), "secret key").unwrap();
        for path in KEY_FILES.map(|path| home.join(path)) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "secret key").unwrap();
        }
        for repository in [".git", "vendor/lib/.git"].map(|path| yard.inside(path)) {
            fs::create_dir_all(repository.join("hooks")).unwrap();
            fs::write(repository.join("config"), "").unwrap();
        }
        fs::create_dir_all(yard.inside(".github")).unwrap();
        yard.policy.deny_read = places_of_keys(Some(&home));
        yard.policy.limits = ResourceLimits {
            processes: 301,
            file_bytes: 1 << 20,
            data_bytes: 256 << 20,
            ..ResourceLimits::default()
        };

        // A process with a secret, an open file and a directory of its own.
        let mut victim = Command::new("sh");
        victim.args(["-c", "exec 9>>victim; echo ready; exec sleep 1000"]);
        victim.env("SECRET", "of-the-victim").current_dir(&outside).stdout(Stdio::piped());
        let mut victim = victim.spawn().unwrap();
        victim.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();

        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let stream = UnixListener::bind(outside.join("stream")).unwrap();
        let datagram = UnixDatagram::bind(outside.join("datagram")).unwrap();
        let name = format!("attache-{}", victim.id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_stream = UnixListener::bind_addr(&address).unwrap();

        let shown = |path: &Path| path.to_str().unwrap().to_owned();
        let variables = vec![
            ("OUTSIDE", shown(&outside)),
            ("HOME", shown(&home)),
            ("VICTIM", victim.id().to_string()),
            ("TCP", tcp.local_addr().unwrap().port().to_string()),
            ("UDP", udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", name),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ];
        let sockets = (tcp, udp, stream, abstract_stream, datagram);
        Self { yard, victim, variables, _sockets: sockets }
    }

    /// Runs a way out, in the sandbox or without.
    fn run(&self, sandbox: Option<&Sandbox>, way: &Way) -> Output {
        let (program, arguments) = (&way.command[0], &way.command[1..]);
        let mut command = if let Some(sandbox) = sandbox {
            let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
            sandbox.command(&self.yard.policy, program.as_ref(), &arguments).unwrap()
        } else {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("TMPDIR", &self.yard.policy.temp_dir);
        command.current_dir(&self.yard.policy.workspace).stdin(Stdio::null()).output().unwrap()
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        // A way out may have ended it already.
        drop(self.victim.kill());
        drop(self.victim.wait());
    }
}

struct Way {
    name: String,
    command: Vec<String>,
}

/// The files of `ways_out/` as commands; C is compiled.
fn ways(programs: &Path) -> Vec<Way> {
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let python = String::from_utf8(python.unwrap().stdout).unwrap().trim().to_owned();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sandbox/ways_out");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let way = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&file).unwrap();
        let command = match file.extension().unwrap().to_str().unwrap() {
            "sh" => vec!["sh".to_owned(), "-c".to_owned(), text],
            "py" => vec![python.clone(), "-c".to_owned(), text],
            "c" => vec![compiled(&file, &programs.join(&name))?],
            other => panic!("{other}: not a kind of script"),
        };
        Some(Way { name, command })
    };
    files.into_iter().filter_map(way).collect()
}

/// The program of a C file, if it can be compiled here: some are for one architecture.
fn compiled(file: &Path, program: &Path) -> Option<String> {
    let output = Command::new("gcc").arg(file).arg("-o").arg(program).output().unwrap();
    if !output.status.success() {
        println!("not checked, does not compile here: {}", file.display());
    }
    output.status.success().then(|| program.to_str().unwrap().to_owned())
}

#[test]
fn every_way_out_is_closed() {
    if !has_namespaces() {
        return;
    }
    let programs = tempfile::tempdir().unwrap();
    let ways = ways(programs.path());
    let sandbox = sandbox();
    let _level = sandbox.level();
    let (next, checked, problems) =
        (Mutex::new(ways.iter()), Mutex::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            let _handle = scope.spawn(|| {
                while let Some(way) = { next.lock().unwrap().next() } {
                    // One for each: what a control does is not to help the other.
                    let control = Surroundings::new().run(None, way);
                    let inside = Surroundings::new().run(Some(&sandbox), way);
                    if !control.status.success() {
                        println!(
                            "not checked, its control fails here: {}: {}",
                            way.name,
                            shown(&control)
                        );
                    } else if inside.status.success() {
                        problems.lock().unwrap().push(format!(
                            "{} is open: {}",
                            way.name,
                            shown(&inside)
                        ));
                    } else {
                        *checked.lock().unwrap() += 1;
                    }
                    if shown(&inside).contains("could not be set up") {
                        problems.lock().unwrap().push(format!("{}: {}", way.name, shown(&inside)));
                    }
                }
            });
        }
    });
    let (checked, problems) = (checked.into_inner().unwrap(), problems.into_inner().unwrap());
    println!("{checked} of {} ways out checked", ways.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked >= LEAST_CONTROLS, "only {checked} controls succeeded");
    std::io::stdout().flush().unwrap();
}
