//! `attache completions`, as a shell would use it.

use std::process::Command;

use crate::project;

#[test]
fn every_shell_has_a_script_and_others_are_told() {
    let project = project();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = project.run(&["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stdout.contains("attache"), "{shell}");
    }
    let ran = project.run(&["completions", "tcsh"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("bash"));
}

#[test]
fn bash_takes_the_script() {
    let project = project();
    let script = project.file("complete.bash", project.run(&["completions", "bash"]).stdout);
    let status = Command::new("bash").arg("-n").arg(&script).status().unwrap();
    assert!(status.success());
}

#[test]
fn agent_names_are_completed() {
    let project = project();
    project.agent("reviewer", "description: Reviews");
    let output = project
        .command(&["--", "attache", "show", "rev"])
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2")
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "reviewer", "{output:?}");
}
