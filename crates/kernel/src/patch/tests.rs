use proptest::prelude::*;

use super::*;

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch\n")
}

fn hunks(body: &str) -> Vec<Hunk> {
    let patch = parse(&patch(&format!("*** Update File: a\n{body}"))).unwrap();
    match patch.operations.into_iter().next() {
        Some(Operation::Update { hunks, .. }) => hunks,
        other => panic!("{other:?}"),
    }
}

fn applied(text: &str, body: &str) -> String {
    apply(text, &hunks(body)).unwrap()
}

fn refused(text: &str, body: &str) -> String {
    apply(text, &hunks(body)).unwrap_err().to_string()
}

#[test]
fn what_is_not_a_patch_is_an_error_that_names_the_line() {
    for (text, expected) in [
        ("", "must begin with"),
        ("--- a\n+++ b\n", "must begin with"),
        ("please:\n*** Begin Patch\n*** End Patch", "must begin with"),
        ("*** Begin Patch\n*** Delete File: a\n", "must end with"),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nand then this", "must end with"),
        ("*** Begin Patch\n*** End Patch", "the patch is empty"),
        (
            "*** Begin Patch\n*** Frob File: a\n*** End Patch",
            "line 2 of the patch: `*** Frob File: a`",
        ),
        ("*** Begin Patch\n*** Delete File:  \n*** End Patch", "line 2 of the patch: the path is"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "the update of a has no changes"),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n*** End Patch",
            "line 3 of the patch: the hunk has",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n+b\nc\n*** End Patch",
            "line 5 of the patch: `c` must",
        ),
        (
            "*** Begin Patch\n*** Add File: a\nb\n*** End Patch",
            "line 3 of the patch: `b` does not begin",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** Move to:\n*** End Patch",
            "line 3 of the patch: the path",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let many = "*** Delete File: a\n".repeat(2001);
    assert_eq!(parse(&patch(&many)), Err(EnvelopeError::TooMany));
    let many = format!("*** Update File: a\n{}", "@@\n+a\n".repeat(2001));
    assert_eq!(parse(&patch(&many)), Err(EnvelopeError::TooMany));
}

#[test]
fn wrappings_and_paddings_of_models_are_understood() {
    let plain =
        "*** Begin Patch\n*** Add File: a b.txt\n+one\n+\n*** Delete File: c\n*** End Patch";
    let expected = parse(plain).unwrap();
    assert_eq!(
        expected.operations,
        [
            Operation::Add { path: "a b.txt".into(), content: "one\n\n".into() },
            Operation::Delete { path: "c".into() },
        ]
    );
    for text in [
        format!("{plain}\n"),
        format!("\n{plain}\n\n"),
        format!("<<'EOF'\n{plain}\nEOF\n"),
        format!("apply_patch <<\"PATCH\"\n{plain}\nPATCH"),
        format!("```diff\n{plain}\n```\n"),
        plain.replace('\n', "\r\n"),
        plain.replace("*** Begin", "  *** Begin").replace("*** End Patch", " *** End Patch  "),
        plain.replace("*** Delete", "\n\n  *** Delete"),
    ] {
        assert_eq!(parse(&text).as_ref(), Ok(&expected), "{text:?}");
    }
}

#[test]
fn hunks_are_found_by_their_lines_and_anchors() {
    let text = "class A:\n  def f():\n    pass\nclass B:\n  def f():\n    pass\n";
    let changed = "class A:\n  def f():\n    pass\nclass B:\n  def f():\n    return\n";
    for body in [
        "@@ class B:\n@@   def f():\n-    pass\n+    return",
        "@@ class B:\n   def f():\n-    pass\n+    return",
        "@@ -4,3 +4,3 @@ class B:\n   def f():\n-    pass\n+    return",
        "@@ class B: @@\n   def f():\n-    pass\n+    return",
        "-    pass\n+    return\n*** End of File",
        " class B:\n   def f():\n-    pass\n+    return\n",
    ] {
        assert_eq!(applied(text, body), changed, "{body}");
    }
    let both = "@@\n-    pass\n+    1\n@@\n-    pass\n+    2";
    assert_eq!(applied(text, both), "class A:\n  def f():\n    1\nclass B:\n  def f():\n    2\n");
}

#[test]
fn new_lines_go_below_their_anchor_or_to_the_end() {
    assert_eq!(applied("a\nb\n", "@@ a\n+x"), "a\nx\nb\n");
    assert_eq!(applied("a\nb\n", "@@\n+x"), "a\nb\nx\n");
    assert_eq!(applied("a\nb", "@@\n+x"), "a\nb\nx\n");
    assert_eq!(applied("", "@@\n+x"), "x\n");
}

#[test]
fn line_endings_and_the_last_line_stay() {
    for (text, body, expected) in [
        ("a\r\nb\r\n", "@@\n-a\n+x\n b", "x\r\nb\r\n"),
        ("a\r\nb\rc\nd\r\n", "@@\n b\n-c\n+C\n d", "a\r\nb\rC\r\nd\r\n"),
        ("a\nb", "@@\n-a\n+x", "x\nb"),
        ("a\nb", "@@\n-b\n+x", "a\nx\n"),
        ("a\nb", "@@\n-a\n b", "b"),
        ("a\n\nb\n", "@@\n a\n\n-b\n+x", "a\n\nx\n"),
    ] {
        assert_eq!(applied(text, body), expected, "{text:?} {body:?}");
    }
}

#[test]
fn slips_of_models_are_overlooked() {
    assert_eq!(applied("a  \nb\n", "@@\n a\n-b\n+x"), "a  \nx\n");
    assert_eq!(applied("\ta\n\tb\n", "@@\n a\n-b\n+\tx"), "\ta\n\tx\n");
    assert_eq!(applied("it’s – “a”\n", "@@\n-it's - \"a\"\n+x"), "x\n");
    // The exact line wins over one that is only like it.
    assert_eq!(applied(" a\na\n", "@@\n-a\n+x"), " a\nx\n");
}

#[test]
fn a_hunk_that_does_not_fit_says_why() {
    let text = "fn a() {\n    one();\n}\nfn b() {\n    two();\n}\n";
    for (body, expected) in [
        ("@@ fn c() {\n+x", "hunk 1 (line 3 of the patch): no line `fn c() {` in the file"),
        (
            "@@\n-    one();\n+    1();\n@@\n fn b() {\n-    three();\n+    3();",
            "hunk 2 (line 6 of the patch): these lines are not in the file below line 2:\n\
             fn b() {\n    three();\nThe nearest lines are:\n4\tfn b() {\n5\t    two();",
        ),
        (
            "@@\n-    two();\n+    2();\n@@\n-    one();\n+    1();",
            "They are above, in line 2: hunks must be in the order of the file",
        ),
    ] {
        let error = refused(text, body);
        assert!(error.contains(expected), "{body:?}: {error}");
    }
    let long = format!("@@\n-{}\n+y", "x".repeat(100_000));
    assert!(refused(text, &long).len() < 2000);
    let many = format!("@@\n{}", "-x\n".repeat(1000));
    assert!(refused(text, &many).contains("… 992 more lines"));
}

fn signed(sign: &str, lines: &[String], ending: &str) -> String {
    lines.iter().map(|line| format!("{sign}{line}{ending}")).collect::<Vec<_>>().concat()
}

/// A patch that turns one text into another: everything goes, everything comes.
fn whole(before: &[String], after: &[String]) -> String {
    let body = format!("@@\n{}{}", signed("-", before, "\n"), signed("+", after, "\n"));
    body.trim_end_matches('\n').to_owned()
}

/// A patch that keeps what two texts have in common at their beginning.
fn by_line(before: &[String], after: &[String]) -> String {
    let shared = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let body = format!(
        "@@\n{}{}{}",
        signed(" ", &before[..shared], "\n"),
        signed("-", &before[shared..], "\n"),
        signed("+", &after[shared..], "\n")
    );
    body.trim_end_matches('\n').to_owned()
}

proptest! {
    #[test]
    fn nothing_panics(text in any::<String>(), patch in any::<String>()) {
        if let Ok(patch) = parse(&patch) {
            for operation in patch.operations {
                if let Operation::Update { hunks, .. } = operation {
                    drop(apply(&text, &hunks));
                }
            }
        }
    }

    #[test]
    fn no_hunk_panics(text in "[ab \r\n]{0,30}", body in "(@@( a)?\n|[-+ ]?[ab]?\n){0,12}") {
        let patch = patch(&format!("*** Update File: a\n{body}"));
        if let Ok(patch) = parse(&patch) {
            for operation in patch.operations {
                if let Operation::Update { hunks, .. } = operation {
                    drop(apply(&text, &hunks));
                }
            }
        }
    }

    /// A patch made from two texts gives the second one.
    #[test]
    fn a_patch_gives_the_text_it_was_made_for(
        before in prop::collection::vec("[a-d]{1,3}", 1..20),
        after in prop::collection::vec("[a-d]{1,3}", 1..20),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let text = |lines: &[String]| signed("", lines, ending);
        for body in [whole(&before, &after), by_line(&before, &after)] {
            prop_assert_eq!(applied(&text(&before), &body), text(&after));
        }
    }
}
