//! Words and what they come from.

use super::*;

#[test]
fn names_come_apart_into_words() {
    for (name, words) in [
        ("ToolFilter::new", "tool filter new"),
        ("tool_filter.rs", "tool filter rs"),
        ("HTTPServer2x", "http server2x"),
        ("parseJSONValue", "parse json value"),
        ("Größe-Über", "größe über"),
        ("ToolFilter在哪里", "tool filter 在哪里"),
        ("", ""),
        ("…()", ""),
    ] {
        assert_eq!(subwords(name).join(" "), words, "{name}");
    }
}

#[test]
fn forms_of_a_word_have_one_stem() {
    for forms in [
        "transcript transcripts",
        "fold folds folded folding",
        "cache caches cached caching",
        "run runs running",
        "policy policies",
        "parse parses parsed parsing",
        "retry retries retried retrying",
        "match matches matched matching",
    ] {
        let stems: Vec<_> = forms.split(' ').map(stem).collect();
        assert!(stems.iter().all(|stem| same_stem(stem, stems[0])), "{forms}: {stems:?}");
    }
    assert!(same_stem(stem("parser"), stem("parsing")));
    for (one, other) in [("folder", "fold"), ("status", "stat"), ("class", "clas")] {
        assert!(!same_stem(stem(one), stem(other)), "{one} {other}");
    }
}
