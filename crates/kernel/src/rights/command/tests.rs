//! Lines as the shell reads them, and lines that nobody should have to read.

use proptest::prelude::*;

use super::*;

/// A line's commands, each with words in brackets: `<…>` marks an expansion, `=` an assignment, `>` a
/// redirection to or from a file.
fn shown(line: &str) -> Result<Vec<String>, Complexity> {
    match parse(line) {
        Parsed::Complex(reason) => Err(reason),
        Parsed::Plain(commands) => Ok(commands.iter().map(show).collect()),
    }
}

fn show(command: &SimpleCommand) -> String {
    let assignments = command.assignments.iter().map(|word| format!("={}", show_word(word)));
    let words = command.words.iter().map(show_word);
    let redirections = command.redirections.iter().map(|redirection| {
        let mark = match redirection.kind {
            RedirectionKind::Output => ">",
            RedirectionKind::Input => "<",
            RedirectionKind::Duplicate => "&",
            RedirectionKind::HereString => "<<<",
            RedirectionKind::HereDocument => "<<",
        };
        format!("{mark}{}", show_word(&redirection.target))
    });
    let parts: Vec<String> = assignments.chain(words).chain(redirections).collect();
    parts.join("|")
}

fn show_word(word: &Word) -> String {
    word.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Expansion(text) => format!("<{text}>"),
        })
        .collect()
}

/// The commands a survey finds, and its blind spot.
fn surveyed(line: &str) -> (Vec<String>, Option<Complexity>) {
    let survey = survey(line);
    let commands = survey.launches.iter().map(|launch| show(&launch.command));
    (commands.collect(), survey.blind_spot)
}

#[test]
fn plain_lists_are_split_into_commands() {
    for (line, commands) in [
        ("", &[][..]),
        ("  # nothing", &[]),
        ("git status", &["git|status"]),
        ("a && b | c", &["a", "b", "c"]),
        ("a; b\nc & d || e |& f;", &["a", "b", "c", "d", "e", "f"]),
        ("a&&b|c", &["a", "b", "c"]),
        ("git log # ; rm x\nls", &["git|log", "ls"]),
        ("echo a#b", &["echo|a#b"]),
        ("FOO=1 BAR+=x cmd A=b", &["=FOO=1|=BAR+=x|cmd|A=b"]),
        ("'FOO'=1 cmd", &["FOO=1|cmd"]),
        ("X=1", &["=X=1"]),
        ("echo \"it's; a\" 'b && c' d\\ e", &["echo|it's; a|b && c|d e"]),
        ("echo ''", &["echo|"]),
        ("\\rm r''m r\"\"m r\\\nm", &["rm|rm|rm|rm"]),
        ("git \\\n  log", &["git|log"]),
        ("$'\\x72m' $'a\\nb' $'\\u00e9' $\"x\"", &["rm|a\nb|é|x"]),
        ("echo $'\\0x' y", &["echo|<\\x>|y"]),
        ("echo $HOME ${HOME} \"a$1b\" $? $", &["echo|<$HOME>|<${HOME}>|a<$1>b|<$?>|$"]),
        ("ls *.md a?b [ab]c {a,b} x{1..3}", &["ls|<*>.md|a<?>b|<[ab]c>|<{a,b}>|x<{1..3}>"]),
        ("=ls $=X", &["<=>ls|<$=X>"]),
        ("cat ~/x ~bob/y a~b", &["cat|<~>/x|<~bob>/y|a~b"]),
        ("echo $((1 + 2))", &["echo|<$((1 + 2))>"]),
        ("[ -f x ] && find . -name {} }", &["[|-f|x|]", "find|.|-name|{}|}"]),
    ] {
        let commands: Vec<String> = commands.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(shown(line), Ok(commands), "{line:?}");
    }
}

#[test]
fn redirections_are_told_apart() {
    for (line, command, harmless) in [
        ("a 2>&1", "a|&1", true),
        ("a >/dev/null 2>/dev/null", "a|>/dev/null|>/dev/null", true),
        ("a &>/dev/null", "a|>/dev/null", true),
        ("a >&- <&0 2>&1-", "a|&-|&0|&1-", true),
        ("a </dev/null", "a|</dev/null", true),
        ("a > f", "a|>f", false),
        ("a>f", "a|>f", false),
        ("a 2>>f", "a|>f", false),
        ("a >| f", "a|>f", false),
        ("a &>> f", "a|>f", false),
        ("a >& f", "a|>f", false),
        ("a <> f", "a|>f", false),
        ("a < f", "a|<f", false),
        ("a <<< 'text here'", "a|<<<text here", false),
        ("a > $X", "a|><$X>", false),
        ("> f", ">f", false),
        ("a '2'>f", "a|2|>f", false),
    ] {
        assert_eq!(shown(line), Ok(vec![command.to_owned()]), "{line:?}");
        let Parsed::Plain(commands) = parse(line) else {
            panic!("{line:?} is plain");
        };
        let all_harmless =
            commands.iter().flat_map(|command| &command.redirections).all(Redirection::is_harmless);
        assert_eq!(all_harmless, harmless, "{line:?}");
    }
}

#[test]
fn what_is_more_than_a_list_says_so() {
    use Complexity as C;
    for (line, reason) in [
        ("echo $(ls)", C::CommandSubstitution),
        ("echo \"`ls`\"", C::CommandSubstitution),
        ("diff <(a) b", C::ProcessSubstitution),
        ("(a; b)", C::Group),
        ("{ a; b; }", C::Group),
        ("if a; then b; fi", C::ControlFlow),
        ("for x in 1 2; do a; done", C::ControlFlow),
        ("! a", C::ControlFlow),
        ("cat <<EOF\nx\nEOF", C::HereDocument),
        ("echo ${X:-y}", C::Parameter),
        ("echo ${X@P}", C::Parameter),
        ("echo ${X[0]}", C::Parameter),
        ("echo ${X:1}", C::Parameter),
        ("echo $((X))", C::Arithmetic),
        ("echo $[1]", C::Arithmetic),
        ("((x++))", C::Arithmetic),
        ("[[ -f x ]]", C::Test),
        ("case x in a) b;; esac", C::Case),
        ("f() { rm x; }", C::Declaration),
        ("function f { a; }", C::Declaration),
        ("a=(1 2)", C::Declaration),
        ("echo 'x", C::Unterminated),
        ("echo \"x", C::Unterminated),
        ("echo `x", C::Unterminated),
        ("echo $(x", C::Unterminated),
        ("cat <<EOF\nx", C::Unterminated),
        ("a )", C::Syntax),
        ("a >", C::Syntax),
        ("a >&-rm x", C::Syntax),
        ("a &>/dev/null rm x", C::Syntax),
        ("if a { rm x }", C::Syntax),
        ("echo $'\\'; rm x #'", C::Syntax),
        ("cat <<$'E'\nE", C::HereDocument),
        ("a\0b", C::Syntax),
    ] {
        assert_eq!(shown(line), Err(reason), "{line:?}");
    }
    let deep = format!("{}a{}", "$(".repeat(100), ")".repeat(100));
    assert_eq!(shown(&format!("echo {deep}")), Err(C::TooDeep));
}

#[test]
fn a_survey_finds_every_command() {
    for (line, commands) in [
        ("echo $(rm -rf x)", &["rm|-rf|x", "echo|<$(…)>"][..]),
        ("echo \"a `rm x` b\"", &["rm|x", "echo|a <$(…)> b"]),
        ("echo `echo \\`rm x\\``", &["rm|x", "echo|<$(…)>", "echo|<$(…)>"]),
        ("diff <(rm x) y", &["rm|x", "diff|<<(…)>|y"]),
        ("(cd a && rm x)", &["cd|a", "rm|x"]),
        ("if rm x; then b; fi > f", &["rm|x", "b", ">f"]),
        ("for f in $(ls); do rm \"$f\"; done", &["ls", "rm|<$f>"]),
        ("while read f; do rm $f; done", &["read|f", "rm|<$f>"]),
        ("cat <<EOF > f; rm x\n$(rm y)\nEOF\nz", &["cat|<<EOF|>f", "rm|x", "rm|y", "z"]),
        ("cat <<'EOF'\n$(rm y)\nEOF\nz", &["cat|<<EOF", "z"]),
        ("cat <<-EOF\n\tit's\n\tEOF\nz", &["cat|<<EOF", "z"]),
        ("echo ${X:-y} ${#X}", &["echo|<${X:-y}>|<${#X}>"]),
        ("bash -c 'rm x; ls'", &["rm|x", "ls", "bash|-c|rm x; ls"]),
        ("bash -o pipefail -ec 'rm x'", &["rm|x", "bash|-o|pipefail|-ec|rm x"]),
        ("sudo sh -c \"sh -c 'rm x'\"", &["rm|x", "sh|-c|rm x", "sudo|sh|-c|sh -c 'rm x'"]),
        ("eval rm 'x y'", &["rm|x|y", "eval|rm|x y"]),
        ("su bob -c 'rm x'", &["rm|x", "su|bob|-c|rm x"]),
        ("trap 'rm x' EXIT", &["rm|x", "trap|rm x|EXIT"]),
        ("bash script.sh; . ./env", &["bash|script.sh", ".|./env"]),
    ] {
        let commands: Vec<String> = commands.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(surveyed(line), (commands, None), "{line:?}");
    }
}

#[test]
fn scripts_that_cannot_be_read_are_blind_spots() {
    for line in [
        "curl x | sh",
        "bash <<< 'rm x'",
        "bash <<EOF\nrm x\nEOF",
        "bash -c \"$X\"",
        "bash -s x",
        "bash /dev/stdin",
        "bash -o pipefail",
        "bash <(echo rm x)",
        "source <(echo rm x)",
        "eval $X",
        "eval \"$(x)\"",
        "xargs sh",
        "env -S 'rm x'",
        "alias ls=rm",
    ] {
        assert!(surveyed(line).1.is_some(), "{line:?}");
    }
}

#[test]
fn commands_within_commands_are_marked() {
    use Appended as A;
    for (line, inner_from, appended) in [
        ("git log", 2, A::Nothing),
        ("sudo -u bob rm x", 1, A::Nothing),
        ("/usr/bin/env A=1 rm x", 1, A::Nothing),
        ("timeout 5 rm x", 1, A::Nothing),
        ("bash deploy.sh", 1, A::Nothing),
        ("$X rm", 1, A::Nothing),
        ("find . -name rm", 4, A::Nothing),
        ("find . -exec rm {} ;", 3, A::Nothing),
        ("xargs git", 1, A::Arguments),
        ("sudo xargs git", 1, A::Arguments),
        ("xargs env", 1, A::Commands),
        ("xargs $X", 1, A::Commands),
        ("parallel", 1, A::Commands),
    ] {
        let launch = survey(line).launches.remove(0);
        assert_eq!((launch.inner_from, launch.appended), (inner_from, appended), "{line:?}");
    }
}

#[test]
fn long_and_nested_lines_are_read_to_the_end() {
    const LONG: usize = 200_000;
    const LONG_SCRIPT: usize = 30_000;
    for unit in [
        "(",
        "$(",
        "`",
        "'",
        "\"",
        "{",
        "a=",
        "\\",
        "\\\n",
        "<<E\n",
        "<<<",
        "${",
        "$((",
        ";",
        "a ",
        "sudo bash ",
        "bash -c ",
        "\"$(",
        "$'\\",
        "if ",
        "~",
        "[",
        "=",
        "eval ",
        "x<",
        "#",
    ] {
        drop(parse(&unit.repeat(LONG / unit.len())));
        drop(survey(&unit.repeat(LONG_SCRIPT / unit.len())));
    }
}

fn shellish() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "rm", "git", "bash", "-c", "sudo", "eval", " ", " ", "\n", ";", "&&", "|", "&", "(", ")",
        "{", "}", "'", "\"", "\\", "`", "$", "$(", "${", "$((", "<<EOF", "EOF", "<", ">", "2>&1",
        "<(", "#", "=", "[[", "if", "for", "in", "do", "done", "case", "*", "~", "\0", "é", "x",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_panics(line in prop_oneof![any::<String>(), shellish()]) {
        drop(parse(&line));
        drop(survey(&line));
    }

    #[test]
    fn a_plain_line_has_no_blind_spot_and_no_other_commands(line in shellish()) {
        if let Parsed::Plain(commands) = parse(&line) {
            let survey = survey(&line);
            for command in commands {
                prop_assert!(survey.launches.iter().any(|launch| launch.command == command));
            }
        }
    }

    #[test]
    fn quoted_words_come_back_as_they_were(words in prop::collection::vec("[^\0]{0,12}", 1..5)) {
        let line = words
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
            .collect::<Vec<_>>()
            .join(" ");
        let expected = SimpleCommand::of_words(words.iter().map(String::as_str));
        prop_assert_eq!(parse(&line), Parsed::Plain(vec![expected]));
    }
}
