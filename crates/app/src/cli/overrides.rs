//! `-c` before the command: all of them count, wherever they stand.
//!
//! The parser keeps the values of an option of every command from one place only. So those before the
//! command are moved behind it, in front of those that stand there.

use std::ffi::OsString;

/// Options of every command that take a value.
const WITH_VALUE: [&str; 5] = ["--agents", "--agents-dir", "--cwd", "--profile", "--log-file"];

/// The arguments with every `-c` behind the command.
pub(crate) fn overrides_gathered(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut moved: Vec<OsString> = Vec::new();
    let mut kept: Vec<OsString> = Vec::new();
    let mut given = arguments.iter();
    kept.extend(given.next().cloned());
    while let Some(argument) = given.next() {
        let text = argument.to_str().unwrap_or_default();
        let is_override = text.starts_with("-c") && !text.starts_with("--");
        let with_value = text == "-c" || WITH_VALUE.contains(&text);
        let place = if is_override { &mut moved } else { &mut kept };
        place.push(argument.clone());
        if with_value {
            place.extend(given.next().cloned());
        } else if !text.starts_with('-') {
            // The command.
            kept.extend(moved);
            kept.extend(given.cloned());
            return kept;
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_before_the_command_come_first() {
        let gathered = |line: &str| {
            let given = overrides_gathered(line.split(' ').map(OsString::from).collect());
            let words: Vec<_> = given.iter().map(|word| word.to_str().unwrap()).collect();
            words.join(" ")
        };
        for (given, expected) in [
            ("a -c x=1 config -c y=2", "a config -c x=1 -c y=2"),
            ("a -cx=1 -q --cwd d run -c y=2 -- -c", "a -q --cwd d run -cx=1 -c y=2 -- -c"),
            ("a run x -c y=2", "a run x -c y=2"),
            ("a --cwd=d -c x=1 list", "a --cwd=d list -c x=1"),
            ("a -c x=1", "a -c x=1"),
            ("a -c", "a -c"),
            ("a --help", "a --help"),
            ("a", "a"),
        ] {
            assert_eq!(gathered(given), expected, "{given}");
        }
    }
}
