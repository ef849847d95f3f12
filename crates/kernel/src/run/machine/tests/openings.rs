//! What a run begins with, and what keeps it from beginning.

use super::*;
use crate::{
    agent::definition::{
        InitialMessage, InitialRole, InputConfig, InputDefinition, InputType, OutputConfig,
    },
    run::RunError,
};

fn edited(edit: impl FnOnce(&mut Definition)) -> Assignment {
    let mut assignment = assignment();
    edit(Arc::make_mut(&mut assignment.definition));
    assignment
}

fn opening(assignment: Assignment) -> Vec<Message> {
    let request = RunRequest { assignment, fork: None, guard: guard() };
    let (run, _) = Run::new(request).unwrap();
    let messages = run.conversation().messages();
    messages.iter().map(|message| (**message).clone()).collect()
}

fn refused(assignment: Assignment) -> RunError {
    let request = RunRequest { assignment, fork: None, guard: guard() };
    Run::new(request).unwrap_err()
}

const FINISH: &str = "When the task is done, call `complete_task` with your whole answer: only what \
    you pass to it is handed back.";

#[test]
fn instructions_and_task_come_first() {
    assert_eq!(
        opening(assignment()),
        [Message::system(format!("You test in /work.\n\n{FINISH}")), Message::user("Test it."),]
    );
    let main = opening(main_agent());
    assert_eq!(main[0], Message::system("You test in /work."));
}

#[test]
fn templates_know_task_place_day_name_and_inputs() {
    let mut assignment = edited(|definition| {
        definition.prompt_config.system_prompt =
            Some("${agent_type} ${today} ${prompt} ${depth}${absent} ${X}".to_owned());
        definition.prompt_config.query = Some("Go ${depth}: ${prompt}".to_owned());
        definition.prompt_config.initial_messages = vec![
            InitialMessage { role: InitialRole::User, content: "in ${cwd}?".to_owned() },
            InitialMessage { role: InitialRole::Assistant, content: "yes".to_owned() },
        ];
        let optional = |input_type| InputDefinition {
            description: String::new(),
            input_type,
            required: false,
        };
        let inputs =
            [("depth", optional(InputType::Integer)), ("absent", optional(InputType::String))];
        definition.input_config = Some(InputConfig {
            inputs: inputs.map(|(name, input)| (name.to_owned(), input)).into(),
        });
    });
    assignment.inputs.insert("depth".to_owned(), json!(3));
    assignment.task = "a ${cwd}".to_owned();
    assert_eq!(
        opening(assignment),
        [
            Message::system(format!("tester 2026-11-05 a ${{cwd}} 3 ${{X}}\n\n{FINISH}")),
            Message::user("in /work?"),
            Message::assistant("yes"),
            Message::user("Go 3: a ${cwd}"),
        ]
    );
}

#[test]
fn a_run_without_a_task_gets_started_and_no_task_is_lost() {
    let with = |task: &str, query: Option<&str>| {
        let mut assignment = edited(|definition| {
            definition.prompt_config.system_prompt = Some("  ".to_owned());
            definition.prompt_config.query = query.map(str::to_owned);
        });
        assignment.task = task.to_owned();
        opening(assignment).pop().unwrap()
    };
    assert_eq!(with(" ", None), Message::user("Get Started!"));
    assert_eq!(with("", Some("Audit.")), Message::user("Audit."));
    assert_eq!(with("src", Some("Audit.")), Message::user("Audit.\n\nsrc"));
    assert_eq!(with("src", Some("Audit ${prompt}.")), Message::user("Audit src."));
}

#[test]
fn an_agent_without_instructions_has_default_ones() {
    let assignment = edited(|definition| definition.prompt_config.system_prompt = None);
    let Message::System { text } = &opening(assignment)[0] else {
        panic!("no instructions");
    };
    assert!(text.starts_with("You are a careful assistant."), "{text}");
}

#[test]
fn bad_inputs_and_schemas_are_errors_before_anything_starts() {
    let mut assignment = edited(|definition| {
        let path = InputDefinition {
            description: "where to look".to_owned(),
            input_type: InputType::String,
            required: true,
        };
        definition.input_config = Some(InputConfig { inputs: [("path".to_owned(), path)].into() });
    });
    assert_eq!(refused(assignment.clone()).to_string(), "input `path` is required: where to look");
    assignment.inputs = json!({"path": 1, "paht": ""}).as_object().unwrap().clone();
    assert_eq!(
        refused(assignment).to_string(),
        "input `path` must be of type string, not 1; there is no input `paht`; did you mean `path`?"
    );
    let schema = refused(edited(|definition| {
        definition.output_config = Some(OutputConfig {
            output_name: "report".to_owned(),
            description: String::new(),
            schema: json!({"type": "objekt"}),
        });
    }));
    assert!(
        schema.to_string().starts_with("the output schema of `tester` is not valid: at /type: "),
        "{schema}"
    );
}

#[test]
fn a_name_is_offered_once() {
    let mut assignment = assignment();
    let shell = assignment.tools.last().cloned();
    assignment.tools.extend(shell);
    assert_eq!(refused(assignment.clone()), RunError::NameTaken(BuiltinTool::Shell.into()));
    let name = ToolName::Host("complete_task".to_owned());
    assignment.tools.pop();
    assignment.tools[0].name = name.clone();
    assert_eq!(refused(assignment), RunError::NameTaken(name));
}

#[test]
fn the_first_request_offers_the_tools_and_complete_task_last() {
    let script = Script::begin(assignment());
    assert_eq!(script.offered(), ["read_file", "grep_files", "shell", "complete_task"]);
    let request = script.model_request();
    assert_eq!((request.attempt, request.not_before), (1, Duration::ZERO));
    assert_eq!(request.deadline, Some(Duration::from_secs(100)));
    let main = Script::begin(main_agent());
    assert_eq!(main.offered(), ["read_file", "grep_files", "shell"]);
}
