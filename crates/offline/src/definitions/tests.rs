//! Lines that define something, and lines that do not.

use super::*;

#[test]
fn definitions_of_many_languages_are_known() {
    for (line, expected) in [
        ("pub struct ToolSet {", "struct ToolSet"),
        ("    pub(crate) async fn read_all<T>(&self)", "fn read_all"),
        ("pub(super) const fn is_it() -> bool {", "fn is_it"),
        ("pub mod tool_filter;", "mod tool_filter"),
        ("macro_rules! prose {", "macro_rules! prose"),
        ("pub static NAMES: &[&str] = &[];", "static NAMES"),
        ("class TokenStore(Base):", "class TokenStore"),
        ("    async def fetch_page(self, url):", "def fetch_page"),
        ("def self.build(x)", "def build"),
        ("export default function renderPage() {", "function renderPage"),
        ("export const useStore = () => {", "const useStore"),
        ("export interface Shape {", "interface Shape"),
        ("func (s *Server) Handle(w http.ResponseWriter) error {", "func Handle"),
        ("type Server struct {", "type Server"),
        (
            "    public static List<String> readAll(Path path) throws IOException {",
            "function readAll",
        ),
        ("int ring_push(struct ring *r, int v)", "function ring_push"),
        ("static char *name_of(int kind) {", "function name_of"),
        ("#define MAX_RING 64", "#define MAX_RING"),
        ("typedef struct ring ring_t;", "typedef ring_t"),
    ] {
        let found = definition_in(line).map(|found| format!("{} {}", found.keyword, found.name));
        assert_eq!(found.as_deref(), Some(expected), "{line}");
    }
}

#[test]
fn calls_and_prose_define_nothing() {
    for line in [
        "    filter(&request)",
        "return call(x) {",
        "    let filtered = filter(&request);",
        "    if check(a) {",
        "// pub struct ToolFilter is described here",
        "text: \"src/tool_filter.rs:12: pub struct ToolFilter\".to_owned(),",
        "The function is called (often) from elsewhere.",
        "} else if (ready(x)) {",
        "use crate::tool_filter::{ToolSet, filter};",
        "",
        "§ ünïcode (",
    ] {
        assert_eq!(definition_in(line), None, "{line}");
    }
}
