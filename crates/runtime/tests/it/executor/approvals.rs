//! Calls that need approval: journalled, asked about, and made or refused by the answer.

use std::collections::VecDeque;

use super::*;

/// Gives these answers, one after another, and keeps the questions.
#[derive(Debug, Default)]
struct Answers {
    answers: Mutex<VecDeque<ApprovalAnswer>>,
    questions: Mutex<Vec<Question>>,
}

impl Answers {
    fn new(answers: impl IntoIterator<Item = ApprovalAnswer>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            questions: Mutex::default(),
        })
    }

    fn asked(&self) -> usize {
        self.questions.lock().unwrap().len()
    }
}

impl Approver for Answers {
    fn ask(&self, question: Question, _cancel: CancellationToken) -> ApprovalFuture<'_> {
        self.questions.lock().unwrap().push(question);
        let answer = self.answers.lock().unwrap().pop_front().unwrap();
        Box::pin(std::future::ready(answer))
    }
}

/// Waits for ever, and says when it was asked and when nobody waits for it any more.
#[derive(Debug, Default)]
struct Silent {
    asked: CancellationToken,
    told_to_stop: Arc<Mutex<Option<CancellationToken>>>,
}

impl Approver for Silent {
    fn ask(&self, _question: Question, cancel: CancellationToken) -> ApprovalFuture<'_> {
        *self.told_to_stop.lock().unwrap() = Some(cancel);
        self.asked.cancel();
        Box::pin(std::future::pending())
    }
}

fn asking() -> SharedGuard {
    Arc::new(Always(Permission::Ask { reason: "it writes".to_owned() }))
}

fn writer(made: &Arc<AtomicUsize>) -> Arc<dyn Tool> {
    let made = Arc::clone(made);
    tool(BuiltinTool::WriteFile, Concurrency::Exclusive, move |_, _| {
        made.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(ToolOutput::text("written")))
    })
}

fn writes() -> attache_testkit::scripted_model::Turn {
    calls("write_file", &json!({"path": "a"}))
}

fn answers(world: &World) -> Vec<String> {
    let entries = world.entries();
    let answers = entries.iter().filter_map(|entry| match &entry.event {
        Event::ToolReturned { result, tool_name, .. } if tool_name == "write_file" => {
            Some(result.text.clone())
        }
        _ => None,
    });
    answers.collect()
}

#[tokio::test(start_paused = true)]
async fn without_anybody_to_ask_a_call_is_refused_at_once() {
    let made = Arc::default();
    let world = World { guard: asking(), ..World::new().with(writer(&made)) };
    let outcome = world.outcome(ScriptedModel::new([writes(), completes("done")])).await;
    assert_eq!((outcome.ending.status, outcome.tool_uses), (Status::Goal, 0));
    assert_eq!(answers(&world), ["Refused: not approved: nobody is there to ask (it writes)."]);
    assert_eq!(made.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_names_the_agent_and_is_in_the_journal_before_the_call_begins() {
    let made = Arc::default();
    let approver = Answers::new([ApprovalAnswer::Once]);
    let approvals = Approvals::new(Arc::clone(&approver) as Arc<dyn Approver>);
    let world = World { guard: asking(), approvals, ..World::new().with(writer(&made)) };
    world.outcome(ScriptedModel::new([writes(), completes("done")])).await;
    let question = approver.questions.lock().unwrap()[0].clone();
    assert_eq!((question.agent_id.as_str(), question.agent_type.as_str()), ("agent-1", "tester"));
    assert_eq!((question.arguments, question.reason.as_str()), (json!({"path": "a"}), "it writes"));
    let entries = world.entries();
    let position =
        |wanted: fn(&Event) -> bool| entries.iter().position(|entry| wanted(&entry.event)).unwrap();
    let requested = position(|event| matches!(event, Event::ApprovalRequested { .. }));
    let resolved = position(|event| {
        let once = ApprovalDecision::ApprovedOnce;
        matches!(event, Event::ApprovalResolved { decision, .. } if *decision == once)
    });
    let started = position(|event| matches!(event, Event::ToolStarted { .. }));
    assert!(requested < resolved && resolved < started);
    assert_eq!((answers(&world), made.load(Ordering::SeqCst)), (vec!["written".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_approved_for_the_session_is_not_asked_again() {
    let made = Arc::default();
    let approver = Answers::new([ApprovalAnswer::Session, ApprovalAnswer::Once]);
    let approvals = Approvals::new(Arc::clone(&approver) as Arc<dyn Approver>);
    let world = World { guard: asking(), approvals, ..World::new().with(writer(&made)) };
    let other = calls("write_file", &json!({"path": "b"}));
    let turns = [writes(), writes(), other, completes("done")];
    world.outcome(ScriptedModel::new(turns)).await;
    assert_eq!((approver.asked(), made.load(Ordering::SeqCst)), (2, 3));
    // Another run of the session shares it.
    world.outcome(ScriptedModel::new([writes(), completes("done")])).await;
    assert_eq!((approver.asked(), made.load(Ordering::SeqCst)), (2, 4));
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_the_run() {
    let made = Arc::default();
    let approvals = Approvals::new(Answers::new([ApprovalAnswer::Abort]));
    let world = World { guard: asking(), approvals, ..World::new().with(writer(&made)) };
    let outcome = world.outcome(ScriptedModel::new([writes(), completes("done")])).await;
    assert_eq!(outcome.ending.status, Status::Aborted);
    assert_eq!(made.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_an_answer_can_be_cancelled() {
    let made = Arc::default();
    let silent = Arc::new(Silent::default());
    let approvals = Approvals::new(Arc::clone(&silent) as Arc<dyn Approver>);
    let mut world = World { guard: asking(), approvals, ..World::new().with(writer(&made)) };
    // No clock ends a question.
    world.definition.run_config.max_time_seconds = 1;
    let cancel = world.cancel.clone();
    let later = async {
        silent.asked.cancelled().await;
        tokio::time::advance(Duration::from_hours(1)).await;
        cancel.cancel();
    };
    let model = ScriptedModel::new([writes(), completes("done")]);
    let (outcome, ()) = tokio::join!(world.outcome(model), later);
    assert_eq!(outcome.ending.status, Status::Aborted);
    assert_eq!(answers(&world), ["Not executed: the run was cancelled."]);
    assert!(silent.told_to_stop.lock().unwrap().as_ref().unwrap().is_cancelled());
    assert_eq!(made.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_open_when_the_process_died_is_asked_again() {
    let made = Arc::default();
    let silent = Arc::new(Silent::default());
    let approvals = Approvals::new(Arc::clone(&silent) as Arc<dyn Approver>);
    let mut world = World { guard: asking(), approvals, ..World::new().with(writer(&made)) };
    let model = ScriptedModel::new([writes()]);
    tokio::select! {
        _ = world.outcome(model) => panic!("nobody answered"),
        () = silent.asked.cancelled() => {}
    }
    let approver = Answers::new([ApprovalAnswer::Once]);
    world.approvals = Approvals::new(Arc::clone(&approver) as Arc<dyn Approver>);
    let entries = world.entries();
    let next_seq = entries.last().unwrap().seq + 1;
    let header = Line::Header(Box::new(world.header()));
    let lines = std::iter::once(header).chain(entries.into_iter().map(Line::Event));
    let run = fold(lines).unwrap().with_guard(asking());
    let model = Arc::new(ScriptedModel::new([completes("done")]));
    let (_, outcome) = world.drive(run, Vec::new(), next_seq, model).await.unwrap();
    assert_eq!((outcome.ending.status, approver.asked()), (Status::Goal, 1));
    assert_eq!((answers(&world), made.load(Ordering::SeqCst)), (vec!["written".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_a_time_limit_of_its_own() {
    for (limit, said) in [(None, "120 s"), (Some(Duration::from_secs(7)), "7 s")] {
        let spec = quick("").spec().clone();
        let work = Box::new(|_, _| -> ToolFuture<'static> { Box::pin(std::future::pending()) });
        let world = World::new().with(Arc::new(Doing { spec, time_limit: limit, work }));
        let model = [calls("read_file", &json!({"path": "a"})), completes("done")];
        world.outcome(ScriptedModel::new(model)).await;
        let told = world.entries().into_iter().find_map(|entry| match entry.event {
            Event::ToolReturned { result, .. } => Some(result.text),
            _ => None,
        });
        let expected = format!("read_file did not finish within {said} and was stopped");
        assert_eq!(told, Some(expected));
    }
}
