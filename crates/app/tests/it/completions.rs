//! `attache completions`, as a shell would use it.

use std::process::Command;

use attache_testkit::project::TestProject;

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
    project.file(".claude/agents/two.md", "---\nname: Two Words\ndescription: d\n---\nx\n");
    project.file(".claude/agents/team.md", "---\nname: team:Lead\ndescription: d\n---\nx\n");
    for (line, expected) in [
        ("attache show rev", "reviewer"),
        ("attache show REV", "reviewer"),
        ("attache show tw", r"Two\ Words"),
        (r"attache show Two\ w", r"Two\ Words"),
        ("attache show 'two w", "Two Words"),
        ("attache run team:l", "Lead"),
        ("attache login anth", "anthropic"),
        ("attache models OFF", "offline"),
        ("attache list -c subagents.auto", "subagents.auto_route="),
        ("attache list -c durability=m", "machine"),
        ("attache config set retention", "retention_days"),
        ("attache may reviewer write_f", "write_file"),
        ("attache completions po", "powershell"),
        ("attache transcript la", "last"),
        ("attache list --dialect gem", "gemini"),
        ("attache run reviewer --model off", "offline"),
    ] {
        assert_eq!(completed_by_bash(&project, line), expected, "{line}");
    }
}

/// What bash would show for a line: the script itself, run by a real bash.
fn completed_by_bash(project: &TestProject, line: &str) -> String {
    let script = project.file("complete.bash", project.run(&["completions", "bash"]).stdout);
    let program = project.command(&[]).get_program().to_owned();
    let folder = std::path::Path::new(&program).parent().unwrap().display().to_string();
    let asked = format!(
        "source {}; COMP_LINE=$LINE COMP_POINT=${{#LINE}} COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'; _attache; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let output = Command::new("bash")
        .args(["-c", &asked])
        .current_dir(project.root())
        .env_clear()
        .env("HOME", project.home())
        .env("PATH", format!("{folder}:/usr/bin:/bin"))
        .env("LINE", line)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Where a shell is, if it is installed.
fn installed(shell: &str) -> Option<std::path::PathBuf> {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .map(|folder| std::path::Path::new(folder).join(shell))
        .find(|path| path.is_file())
}

#[test]
fn zsh_and_fish_take_the_script_and_get_whole_names() {
    let project = project();
    project.file(".claude/agents/two.md", "---\nname: Two Words\ndescription: d\n---\nx\n");
    let program = project.command(&[]).get_program().to_owned();
    let folder = std::path::Path::new(&program).parent().unwrap().display().to_string();
    for (shell, asked) in [
        // What the script's function hands to zsh's own completion.
        (
            "zsh",
            "compdef() { }; compadd() { print -rl -- $words_whole }; source SCRIPT; \
             words=(attache show TW) CURRENT=3 PREFIX=TW; _attache",
        ),
        ("fish", "source SCRIPT; complete --do-complete 'attache show TW'"),
    ] {
        let Some(path) = installed(shell) else {
            eprintln!("{shell} is not installed, and was not tried");
            continue;
        };
        let script = project.file("script", project.run(&["completions", shell]).stdout);
        let output = Command::new(path)
            .args(["-c", &asked.replace("SCRIPT", script.to_str().unwrap())])
            .current_dir(project.root())
            .env_clear()
            .env("HOME", project.home())
            .env("PATH", format!("{folder}:/usr/bin:/bin"))
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(shown.starts_with("Two Words"), "{shell}: {output:?}");
    }
}
