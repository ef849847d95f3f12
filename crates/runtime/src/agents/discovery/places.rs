//! Places: the folders that are searched for agents, and which of their files are read.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use attache_kernel::agent::definition::{Dialect, Format, Scope};

/// Where to look.
#[derive(Debug, Clone)]
pub struct Places {
    /// The working directory.
    pub working_directory: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The program's own home.
    pub attache_home: PathBuf,
    /// The `agents_dir` of the settings.
    pub agents_dir: Option<PathBuf>,
    /// The folders given on the command line.
    pub extra_dirs: Vec<PathBuf>,
    /// Whether the usual folders are looked at.
    pub mode: DiscoveryMode,
}

/// Whether the usual folders are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiscoveryMode {
    /// They are.
    #[default]
    Auto,
    /// Only where told.
    Manual,
}

/// A folder to look in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// What its agents belong to.
    pub scope: Scope,
    /// The dialect of its files; `None` if each file's path decides.
    pub dialect: Option<Dialect>,
    /// How many folders above the working directory.
    pub distance: u32,
    /// Whether the user named it; if it is missing, that is reported.
    pub named: bool,
    /// Which links to folders are followed.
    pub links: LinkRule,
}

/// Which links to folders are followed. Paths are without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkRule {
    /// Those that stay within one of these folders. A project's links must not make other people's files its agents.
    Within(Vec<PathBuf>),
    /// All but those to one of these folders or a folder above it. The user's own links lead to folders of the user's
    /// choice, such as those of a dotfile manager; one to `/` or to the home is a mistake.
    NotAbove(Vec<PathBuf>),
}

impl LinkRule {
    /// Whether a link to this folder is followed.
    pub(crate) fn allows(&self, target: &Path) -> bool {
        match self {
            Self::Within(folders) => folders.iter().any(|folder| target.starts_with(folder)),
            Self::NotAbove(folders) => !folders.iter().any(|folder| folder.starts_with(target)),
        }
    }
}

/// The folders of a dialect below a project or the home.
fn folders(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Attache => &[".attache/agents"],
        Dialect::Claude => &[".claude/agents"],
        Dialect::Codex => &[".codex/agents"],
        Dialect::Wave => &[".wave/agents"],
        Dialect::Gemini => &[".gemini/agents"],
        Dialect::Qwen => &[".qwen/agents"],
        Dialect::Opencode => &[".opencode/agent", ".opencode/agents"],
        Dialect::Copilot => &[".github/agents"],
        Dialect::Cursor => &[".cursor/agents"],
    }
}

impl Places {
    /// Every folder to look in, whether or not it exists.
    pub fn list(&self) -> Vec<Place> {
        let mut places = Vec::new();
        let told = |folder: &Path, scope: Scope, links: LinkRule| Place {
            folder: self.working_directory.join(folder),
            scope,
            dialect: None,
            distance: 0,
            named: true,
            links,
        };
        places.extend(self.extra_dirs.iter().map(|folder| {
            let links = self.links_of_named(&self.working_directory.join(folder));
            told(folder, Scope::Session, links)
        }));
        if self.mode == DiscoveryMode::Auto {
            let user = self.user_places();
            let of_user: HashSet<&Path> = user.iter().map(|place| place.folder.as_path()).collect();
            let project = self.project_places();
            // A folder that is both is the user's.
            places.extend(
                project.into_iter().filter(|place| !of_user.contains(place.folder.as_path())),
            );
            places.extend(user);
        }
        places.extend(
            self.agents_dir.iter().map(|folder| told(folder, Scope::User, self.links_of_user())),
        );
        // Otherwise a home that is also a project would be listed twice.
        let mut seen: HashSet<PathBuf> = HashSet::new();
        places.retain(|place| seen.insert(place.folder.clone()));
        places
    }

    fn project_places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        let links = LinkRule::Within(vec![self.project_root()]);
        for (distance, folder) in (0..).zip(self.project_folders()) {
            let folder = self.as_home(folder);
            for dialect in Dialect::ALL {
                places.extend(folders(dialect).iter().map(|below| Place {
                    folder: folder.join(below),
                    scope: Scope::Project,
                    dialect: Some(dialect),
                    distance,
                    named: false,
                    links: links.clone(),
                }));
            }
        }
        places
    }

    /// The working directory and the folders above it, up to the root of the repository; without a
    /// repository, the working directory alone.
    fn project_folders(&self) -> Vec<&Path> {
        let above: Vec<&Path> = self.working_directory.ancestors().collect();
        let root = above.iter().position(|folder| folder.join(".git").exists());
        above.into_iter().take(root.map_or(1, |index| index + 1)).collect()
    }

    /// The outermost folder of the project, without links.
    fn project_root(&self) -> PathBuf {
        let root = self.project_folders().last().copied().unwrap_or(&self.working_directory);
        without_links(root)
    }

    /// Links below a folder that was named: within it, or within the project.
    pub(crate) fn links_of_named(&self, folder: &Path) -> LinkRule {
        LinkRule::Within(vec![without_links(folder), self.project_root()])
    }

    fn links_of_user(&self) -> LinkRule {
        let homes = self.home.iter().chain(std::iter::once(&self.attache_home));
        LinkRule::NotAbove(homes.map(|home| without_links(home)).collect())
    }

    /// The home as the user writes it, if the folder is the home under another name.
    fn as_home<'a>(&'a self, folder: &'a Path) -> &'a Path {
        match &self.home {
            Some(home) if home.canonicalize().is_ok_and(|home| home == folder) => home,
            _ => folder,
        }
    }

    fn user_places(&self) -> Vec<Place> {
        let links = self.links_of_user();
        let place = |folder: PathBuf, dialect: Dialect| Place {
            folder,
            scope: Scope::User,
            dialect: Some(dialect),
            distance: 0,
            named: false,
            links: links.clone(),
        };
        let mut places = vec![place(self.attache_home.join("agents"), Dialect::Attache)];
        let Some(home) = &self.home else { return places };
        for dialect in Dialect::ALL {
            let below: &[&str] = match dialect {
                Dialect::Attache | Dialect::Copilot => &[],
                Dialect::Opencode => &[".config/opencode/agent", ".config/opencode/agents"],
                _ => folders(dialect),
            };
            places.extend(below.iter().map(|below| place(home.join(below), dialect)));
        }
        places
    }
}

fn without_links(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

impl Place {
    /// The same with a folder without links.
    pub(crate) fn canonical(mut self) -> Self {
        self.folder = without_links(&self.folder);
        self
    }

    /// Whether a file lies here, where its folders are looked into.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.strip_prefix(&self.folder)
            .is_ok_and(|below| self.is_deep() || below.components().count() == 1)
    }

    /// Whether folders inside it are looked into.
    pub(crate) fn is_deep(&self) -> bool {
        match self.dialect {
            Some(Dialect::Codex | Dialect::Wave | Dialect::Copilot) => false,
            Some(
                Dialect::Attache
                | Dialect::Claude
                | Dialect::Gemini
                | Dialect::Qwen
                | Dialect::Opencode
                | Dialect::Cursor,
            )
            | None => true,
        }
    }

    /// The format of a file here; `None` if it is not an agent file.
    pub(crate) fn format_of(&self, path: &Path) -> Option<Format> {
        let format = Format::of_path(path)?;
        let counts = match format {
            Format::Markdown if self.dialect == Some(Dialect::Copilot) => {
                path.file_name()?.to_str().is_some_and(|name| name.ends_with(".agent.md"))
            }
            Format::Markdown => true,
            Format::Yaml => {
                !matches!(self.dialect, Some(Dialect::Codex | Dialect::Wave | Dialect::Copilot))
            }
            Format::Toml => {
                matches!(self.dialect, None | Some(Dialect::Attache | Dialect::Codex))
            }
        };
        counts.then_some(format)
    }
}
