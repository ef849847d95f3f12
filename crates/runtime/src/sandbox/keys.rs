//! The usual places of keys: hidden from commands, whatever else they may read.

use std::path::{Path, PathBuf};

/// In the home directory.
const IN_HOME: [&str; 48] = [
    // Logging in elsewhere.
    ".ssh",
    ".gnupg",
    ".netrc",
    ".password-store",
    ".vault-token",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/rclone",
    ".kube",
    ".docker",
    ".oci",
    ".terraform.d",
    ".config/containers/auth.json",
    // Code and packages.
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".pypirc",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    // Other agents.
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".claude.json",
    ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".config/github-copilot",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
];

/// On the machine; only root could read most of them.
const ON_MACHINE: [&str; 5] =
    ["/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/run/secrets", "/var/lib/docker"];

/// Where keys usually are, in a home directory and on the machine.
pub fn places_of_keys(home: Option<&Path>) -> Vec<PathBuf> {
    let in_home = home.into_iter().flat_map(|home| IN_HOME.iter().map(|place| home.join(place)));
    in_home.chain(ON_MACHINE.iter().map(PathBuf::from)).collect()
}
