//! `attache config set|unset|edit|path`: changes of the user's settings file.
//!
//! They work before settings are loaded, so a file that is broken can be repaired.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Subcommand;
use serde_json::{Value, json};

use crate::{
    cli::Globals,
    environment::{self, Environment},
    failure::{Exit, Failure},
    print::{
        self,
        palette::{Tone, paint},
    },
    settings::{self, SettingsError, SettingsFile},
    setup::settings_failure,
};

/// A change of the settings file.
#[derive(Debug, Subcommand)]
pub(crate) enum Change {
    /// Set a key in $ATTACHE_HOME/config.toml.
    #[command(after_help = "Examples:
  attache config set model gpt-5
  attache config set subagents.default_max_turns 20
  attache config set subagents.model_allowlist '[\"gpt-5\", \"sonnet\"]'
  attache config set 'model_prices.\"gpt-5.1\".input' 1.25

VALUE is read as TOML, and taken as a string if it is not TOML. Comments and order are kept.")]
    Set {
        /// The key, with dots.
        #[arg(add = crate::commands::completions::settings())]
        key: String,
        /// Its value.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a key from $ATTACHE_HOME/config.toml.
    Unset {
        /// The key, with dots.
        #[arg(add = crate::commands::completions::settings())]
        key: String,
    },
    /// Open $ATTACHE_HOME/config.toml in $VISUAL or $EDITOR; it is checked before it counts.
    Edit,
    /// Print where the settings file is.
    Path,
}

/// Where things are.
struct Place<'a> {
    attache_home: PathBuf,
    home: Option<&'a Path>,
    file: PathBuf,
}

pub(crate) fn run(
    change: &Change,
    globals: &Globals,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let home = environment.get("HOME").filter(|home| !home.is_empty()).map(Path::new);
    let folder = environment::current_directory().unwrap_or_default();
    let attache_home = settings::attache_home(environment, home, &folder).ok_or_else(|| {
        Failure::usage("there is no home directory").hint("set HOME or ATTACHE_HOME")
    })?;
    let file = attache_home.join("config.toml");
    let place = Place { attache_home, home, file };
    let (report, told) = match change {
        Change::Set { key, value } => set(key, value, &place)?,
        Change::Unset { key } => unset(key, &place)?,
        Change::Edit => in_editor(&place, environment)?,
        Change::Path => {
            let path = place.file.display().to_string();
            (json!({ "path": path }), format!("{path}\n"))
        }
    };
    if globals.json {
        print::json(&report)?;
    } else {
        print::out(&told)?;
    }
    Ok(Exit::Success)
}

fn set(key: &str, value: &str, place: &Place<'_>) -> Result<(Value, String), Failure> {
    let mut file = open(place)?;
    file.set(key, value).map_err(|error| settings_failure(&error))?;
    file.save().map_err(|error| settings_failure(&error))?;
    let path = file.path().display().to_string();
    // The value may be a secret, and is not repeated.
    let told = format!("{} {key} in {path}\n", paint(Tone::Good, "set"));
    Ok((json!({ "key": key, "set": true, "path": path }), told))
}

fn unset(key: &str, place: &Place<'_>) -> Result<(Value, String), Failure> {
    let mut file = open(place)?;
    let removed = file.unset(key).map_err(|error| settings_failure(&error))?;
    if removed {
        file.save().map_err(|error| settings_failure(&error))?;
    }
    let path = file.path().display().to_string();
    let told = if removed {
        format!("{} {key} from {path}\n", paint(Tone::Good, "removed"))
    } else {
        format!("{key} is not set in {path}\n")
    };
    Ok((json!({ "key": key, "removed": removed, "path": path }), told))
}

fn open<'a>(place: &Place<'a>) -> Result<SettingsFile<'a>, Failure> {
    SettingsFile::open(&place.attache_home, place.home).map_err(|error| unopened(&error))
}

/// What is said when the settings file cannot be opened to change it.
pub(crate) fn unopened(error: &SettingsError) -> Failure {
    let failure = settings_failure(error);
    match error {
        SettingsError::Unwritten { .. } => failure,
        _ => failure.hint("`attache config edit` opens the file"),
    }
}

/// A copy is edited; it takes the file's place once it is right.
fn in_editor(place: &Place<'_>, environment: &Environment) -> Result<(Value, String), Failure> {
    if !print::is_interactive() {
        // An editor would wait for keys that nobody can type.
        return Err(Failure::usage("`attache config edit` needs a terminal").hint(format!(
            "use `attache config set KEY VALUE`, or change {} yourself",
            place.file.display()
        )));
    }
    let set = |name: &str| environment.get(name).filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or("vi");
    let cannot = |error: std::io::Error| {
        Failure::unsuccessful(format!("cannot copy {}", place.file.display())).because(&error)
    };
    let before = match fs::read(&place.file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(cannot(error)),
    };
    fs::create_dir_all(&place.attache_home).map_err(cannot)?;
    let copy = place.attache_home.join(format!("config.edit-{}.toml", std::process::id()));
    fs::write(&copy, &before).map_err(cannot)?;
    let edited = edit_until_right(editor, &copy, &before, place);
    let kept = edited.is_err();
    if !kept {
        // It has done its service.
        fs::remove_file(&copy).unwrap_or_default();
    }
    let changed = edited
        .map_err(|failure| failure.hint(format!("your changes are in {}", copy.display())))?
        != before;
    let path = place.file.display().to_string();
    let told = if changed { format!("changed {path}\n") } else { format!("{path} is as it was\n") };
    Ok((json!({ "changed": changed, "path": path }), told))
}

fn edit_until_right(
    editor: &str,
    copy: &Path,
    before: &[u8],
    place: &Place<'_>,
) -> Result<Vec<u8>, Failure> {
    loop {
        let status = Command::new("sh")
            // The shell splits what EDITOR says, as everybody expects.
            .arg("-c")
            .arg(format!("{editor} \"$1\""))
            .arg("editor")
            .arg(copy)
            .status()
            .map_err(|error| {
                Failure::unsuccessful(format!("cannot start the editor `{editor}`"))
                    .because(&error)
                    .hint("set EDITOR")
            })?;
        if !status.success() {
            return Err(Failure::unsuccessful(format!(
                "the editor `{editor}` failed; nothing was changed"
            ))
            .hint("set EDITOR to a program that is installed"));
        }
        let text = fs::read_to_string(copy).map_err(|error| {
            Failure::unsuccessful("cannot read what was edited").because(&error)
        })?;
        let unchanged = before == text.as_bytes();
        let checked = if unchanged {
            Ok(())
        } else {
            settings::replace_edited(&place.file, place.home, before, &text)
        };
        let Err(error) = checked else { return Ok(text.into_bytes()) };
        let failure = settings_failure(&error);
        if matches!(error, SettingsError::ChangedMeanwhile { .. }) {
            return Err(failure);
        }
        print::aside(&failure.told(crate::setup::OutputFormat::Text));
        let again = print::ask("Edit again? [Y/n] ");
        if !again.is_some_and(|answer| answer.is_empty() || answer.to_lowercase().starts_with('y'))
        {
            return Err(Failure::unsuccessful("nothing was changed"));
        }
    }
}
