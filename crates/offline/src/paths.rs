//! Paths: what a file's place in a project says about it.

#[cfg(test)]
mod tests;

use crate::words::{has_word, subwords};

/// What a file is, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    /// Source.
    Source,
    /// Tests and what they need.
    Test,
    /// Settings and data.
    Config,
    /// Prose.
    Document,
    /// Generated, or written by others.
    Foreign,
}

const DOCUMENTS: &str = "md mdx rst txt adoc html tex org";
const CONFIGS: &str =
    "toml yaml yml json jsonl ini cfg conf xml csv env properties svg css snap gitignore lock";
const FOREIGN: &str = "vendor node_modules third_party dist build target generated gen __pycache__ \
    bower_components coverage out";
const TESTS: &str = "test tests testing spec specs testdata testkit fixtures mocks golden fuzz bench \
    benches examples e2e __tests__";
/// Extensions by which a bare word is a file.
const EXTENSIONS: &str = "rs py ts tsx js jsx mjs go java kt c h cc cpp hpp cs rb php swift scala sh sql \
    lua ex exs hs ml zig dart vue svelte proto md rst txt toml yaml yml json jsonl ini cfg conf xml csv \
    html css lock mod gradle tf";

/// Whether a token of a task names a file or a folder.
pub(crate) fn is_path(token: &str) -> bool {
    let odd = |letter: char| letter.is_whitespace() || "*?<>|\"'`(){}=,;".contains(letter);
    if token.len() > 300 || token.contains(odd) || token.contains("://") || token.contains("::") {
        return false;
    }
    let is_file = extension(token).is_some_and(|extension| has_word(EXTENSIONS, extension));
    if is_file && !file_stem(token).is_empty() {
        return true;
    }
    // `and/or` is not a path; two slashes, or one at the start, make one.
    let is_named = token.contains(char::is_alphanumeric);
    let slashes = token.matches('/').count();
    is_named && (slashes > 1 || token.starts_with("./") || token.starts_with('/'))
}

/// What a file is, by its path.
pub(crate) fn sort_of(path: &str) -> Sort {
    let lower = path.to_lowercase();
    let mut parts: Vec<&str> = lower.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    let extension = extension(name).unwrap_or_default();
    let is_lock = extension == "lock" || name.ends_with("-lock.json") || name == "go.sum";
    let is_made = name.contains(".min.") || name.contains(".pb.") || extension == "map";
    if is_lock || is_made || parts.iter().any(|part| has_word(FOREIGN, part)) {
        return Sort::Foreign;
    }
    let is_legal = matches!(name, "license" | "copying" | "notice" | "authors");
    if parts.iter().any(|part| has_word(TESTS, part)) || is_test_name(path) {
        Sort::Test
    } else if has_word(DOCUMENTS, extension) || is_legal {
        Sort::Document
    } else if has_word(CONFIGS, extension) {
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

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The file's name without its extension.
pub(crate) fn file_stem(path: &str) -> &str {
    let name = file_name(path);
    name.rsplit_once('.').map(|(stem, _)| stem).filter(|stem| !stem.is_empty()).unwrap_or(name)
}

fn extension(path: &str) -> Option<&str> {
    let (stem, extension) = file_name(path).rsplit_once('.')?;
    (!stem.is_empty()).then_some(extension)
}

/// The name that a fence around a snippet of the file bears.
pub(crate) fn language(path: &str) -> &str {
    match extension(path).unwrap_or_default() {
        "rs" => "rust",
        "py" => "python",
        plain if plain.len() <= 5 && plain.chars().all(|letter| letter.is_ascii_alphanumeric()) => {
            plain
        }
        _ => "",
    }
}

/// A glob that matches this path alone.
pub(crate) fn as_glob(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            // A comma would separate globs; `?` matches it.
            ',' => glob.push('?'),
            '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\' => glob.extend(['\\', letter]),
            letter => glob.push(letter),
        }
    }
    glob
}
