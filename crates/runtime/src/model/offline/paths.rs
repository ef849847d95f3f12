//! Paths: what a file's place in a project says about it.

#[cfg(test)]
mod tests;

use super::words::subwords;

/// What a file is, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// Source.
    Source,
    /// Tests and what they need.
    Test,
    /// Settings and data.
    Config,
    /// Prose.
    Document,
    /// Made by a program or by others.
    Foreign,
}

const DOCUMENTS: &[&str] = &["md", "mdx", "rst", "txt", "adoc", "html", "tex", "org"];
const CONFIGS: &[&str] = &[
    "toml",
    "yaml",
    "yml",
    "json",
    "jsonl",
    "ini",
    "cfg",
    "conf",
    "xml",
    "csv",
    "env",
    "properties",
    "svg",
    "css",
    "snap",
];
const FOREIGN: &[&str] = &[
    "vendor",
    "node_modules",
    "third_party",
    "dist",
    "build",
    "target",
    "generated",
    "gen",
    "__pycache__",
    "bower_components",
    "coverage",
    "out",
];
const TESTS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "spec",
    "specs",
    "testdata",
    "testkit",
    "fixtures",
    "mocks",
    "golden",
    "fuzz",
    "bench",
    "benches",
    "examples",
    "e2e",
    "__tests__",
];
/// Endings by which a bare word is a file.
const ENDINGS: &[&str] = &[
    "rs", "py", "ts", "tsx", "js", "jsx", "mjs", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp",
    "cs", "rb", "php", "swift", "scala", "sh", "sql", "lua", "ex", "exs", "hs", "ml", "zig",
    "dart", "vue", "svelte", "proto", "md", "rst", "txt", "toml", "yaml", "yml", "json", "jsonl",
    "ini", "cfg", "conf", "xml", "csv", "html", "css", "lock", "mod", "gradle", "tf",
];

/// Whether a token of a task names a file or a folder.
pub(super) fn is_path(token: &str) -> bool {
    let odd = |letter: char| letter.is_whitespace() || "*?<>|\"'`(){}=,;".contains(letter);
    if token.len() > 300 || token.contains(odd) || token.contains("://") || token.contains("::") {
        return false;
    }
    let stem = file_stem(token);
    let ends = extension(token).is_some_and(|extension| ENDINGS.contains(&extension));
    if ends && !stem.is_empty() {
        return true;
    }
    // `and/or` is no path; two slashes, or one at an end, make one.
    let slashes = token.matches('/').count();
    let is_named = token.contains(char::is_alphanumeric);
    is_named && (slashes > 1 || token.starts_with("./") || token.starts_with('/'))
}

/// What a file is, by its path.
pub(super) fn sort_of(path: &str) -> Sort {
    let lower = path.to_lowercase();
    let mut parts: Vec<&str> = lower.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    let extension = extension(name).unwrap_or_default();
    let is_lock = extension == "lock" || name.ends_with("-lock.json") || name == "go.sum";
    let is_made = name.contains(".min.") || name.contains(".pb.") || name.contains("_generated");
    if is_lock || is_made || extension == "map" || parts.iter().any(|part| FOREIGN.contains(part)) {
        return Sort::Foreign;
    }
    let is_test = parts.iter().any(|part| TESTS.contains(part))
        || ((name.contains("test") || name.contains("spec")) && is_test_name(path));
    let is_legal = matches!(name, "license" | "copying" | "notice" | "authors");
    if is_test {
        Sort::Test
    } else if DOCUMENTS.contains(&extension) || is_legal {
        Sort::Document
    } else if CONFIGS.contains(&extension) {
        Sort::Config
    } else {
        Sort::Source
    }
}

/// Whether a file's name begins or ends with what tests are called by.
fn is_test_name(path: &str) -> bool {
    let words = subwords(file_stem(path));
    let mut ends = [words.first(), words.last()].into_iter().flatten();
    ends.any(|word| matches!(word.as_str(), "test" | "tests" | "spec"))
}

/// The file's name without its ending.
pub(super) fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        Some(_) | None => name,
    }
}

/// The file's ending.
pub(super) fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

/// The name that a fence around a snippet of the file bears.
pub(super) fn language(path: &str) -> &str {
    match extension(path).unwrap_or_default() {
        "rs" => "rust",
        "py" => "python",
        "tsx" => "ts",
        "jsx" | "mjs" => "js",
        "h" => "c",
        "hpp" | "cc" => "cpp",
        "yml" => "yaml",
        plain if plain.len() <= 5 && plain.chars().all(|letter| letter.is_ascii_alphanumeric()) => {
            plain
        }
        _ => "",
    }
}

/// A path as a glob that means nothing but it.
pub(super) fn as_glob(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for letter in path.chars() {
        // A comma would part a list of globs; any letter will do for it.
        match letter {
            ',' => glob.push('?'),
            '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\' => glob.extend(['\\', letter]),
            letter => glob.push(letter),
        }
    }
    glob
}
