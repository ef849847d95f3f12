//! A tool turn: calls that have begun are made side by side; questions are asked one at a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use attache_kernel::{
    id::ToolCallId,
    rights::tool_name::{BuiltinTool, ToolName},
    run::{PendingCall, Run, Step, ToolAnswer, fork::Fork, message::Artifact},
};
use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};

use tracing::Instrument as _;

use super::{Driver, Interruption, spans};
use crate::{
    approvals::Question,
    delegation::cut_off,
    store::StoreError,
    tasks::Delegate,
    tool::{
        AnswerForm, ChangeSink, ForesightFuture, Repeatability, Tool, ToolContext, ToolOutput,
        caller::{Caller, Lent, ServerNews, ServersNews},
        named_paths::foresee_reading,
        output::{OutputSink, Pieces},
        shell::report::report_stopped,
    },
};

/// What an answer says in addition that lacks files which a rule asks about.
const LEFT_OUT: &str =
    "\n[files that a rule asks about were left out; name their folder to be asked about it]";

/// What a call leaves behind when it is stopped.
struct Trace {
    call: ToolCallId,
    name: ToolName,
    changes: ChangeSink,
    output: OutputSink,
    /// How it starts an agent, if it is one that may.
    delegate: Option<Delegate>,
}

impl Driver {
    /// Finds out what the calls that are judged next would do.
    pub(super) async fn foresee(&mut self) -> Result<(), StoreError> {
        let calls = self.run.calls_to_judge();
        let asked = calls.iter().filter_map(|call| {
            let foresight = foresight(self.tools.get(&call.tool)?.as_ref(), call, &self.context)?;
            Some(async { (call.id.clone(), foresight.await) })
        });
        let asked: FuturesUnordered<_> = asked.collect();
        let interruption = self.interruption();
        let foreseen: BTreeMap<_, _> = tokio::select! {
            biased;
            interruption = interruption => return self.interrupted(interruption).await,
            foreseen = asked.collect() => foreseen,
        };
        self.run.foresee(foreseen);
        Ok(())
    }

    /// Asks whether a call may begin. The question is in the journal already.
    pub(super) async fn ask_turn(&mut self, question: Question) -> Result<(), StoreError> {
        let request_id = question.request_id.clone();
        let stop = self.cancel.child_token();
        let _stopped = stop.clone().drop_guard();
        let approvals = self.approvals.clone();
        let foresight = self.run.foresight(&question.call_id).cloned().unwrap_or_default();
        let interruption = self.interruption();
        let (decision, words) = tokio::select! {
            biased;
            interruption = interruption => return self.interrupted(interruption).await,
            decided = approvals.decide(question, &foresight, stop) => decided,
        };
        self.feed(|run, now| run.approval_answered(&request_id, decision, words, now)).await
    }

    /// Makes the calls that have begun.
    pub(super) async fn tool_turn(&mut self, calls: Vec<PendingCall>) -> Result<(), StoreError> {
        // Calls that are still running when this turn is interrupted are told to stop.
        let stop = self.cancel.child_token();
        let _stopped = stop.clone().drop_guard();
        // Only servers of MCP ask something of the run.
        let asks = calls.iter().any(|call| matches!(call.tool, ToolName::Mcp { .. }));
        let caller = asks.then(|| Caller::new(&self.run, &self.approvals, &self.model));
        let context = ToolContext {
            cancel: stop,
            caller: caller.as_ref().map(|(caller, _)| Arc::clone(caller)),
            ..self.shared_context(&calls)
        };
        let mut servers = caller.map(|(_, servers)| servers);
        let mut pieces = Pieces::new();
        let own_context = |call: &PendingCall| {
            let foresight = self.run.foresight(&call.id).cloned().unwrap_or_default();
            ToolContext {
                files: context.files.for_call(&call.tool, &call.arguments, &foresight),
                foresight: Arc::new(foresight),
                output: pieces.sink(&call.id),
                changes: ChangeSink::default(),
                delegate: context.delegate.as_ref().map(Delegate::for_call),
                ..context.clone()
            }
        };
        let mut traces = Vec::with_capacity(calls.len());
        let begun = calls.into_iter().map(|call| {
            let context = own_context(&call);
            traces.push(Trace {
                call: call.id.clone(),
                name: call.tool.clone(),
                changes: context.changes.clone(),
                output: context.output.clone(),
                delegate: context.delegate.clone().filter(|_| can_delegate(&call.tool)),
            });
            self.answer(call, context)
        });
        let mut under_way: FuturesUnordered<_> = begun.collect();
        loop {
            // Calls that answer at once are written down with their answers.
            let at_once = self.recorder.has_unwritten().then(|| under_way.next().now_or_never());
            let finished = if let Some(finished) = at_once.flatten() {
                Ok(finished)
            } else {
                self.recorder.write(&self.run).await?;
                tokio::task::consume_budget().await;
                let interruption = self.interruption();
                let news = self.links.news.clone();
                tokio::select! {
                    biased;
                    interruption = interruption => Err(interruption),
                    () = news.arrived() => {
                        self.note_news().await?;
                        continue;
                    }
                    finished = under_way.next() => Ok(finished),
                    news = next_of(servers.as_mut()) => {
                        self.note_server(news).await?;
                        continue;
                    }
                    piece = pieces.next() => {
                        self.recorder.show_output(&self.run, piece.call_id, piece.text);
                        continue;
                    }
                }
            };
            while let Some(piece) = pieces.try_next() {
                self.recorder.write(&self.run).await?;
                self.recorder.show_output(&self.run, piece.call_id, piece.text);
            }
            self.note_news().await?;
            self.note_servers(servers.as_mut()).await?;
            match finished {
                Ok(Some((id, answer))) => {
                    self.recorder.output_over(&self.run, &id);
                    self.feed(|run, now| run.tool_returned(&id, answer, now)).await?;
                }
                Ok(None) => return Ok(()),
                Err(interruption) => {
                    drop(under_way);
                    self.note_servers(servers.as_mut()).await?;
                    self.record_cut_off(traces, interruption).await?;
                    return self.interrupted(interruption).await;
                }
            }
        }
    }

    /// What the calls of a turn share.
    fn shared_context(&self, calls: &[PendingCall]) -> ToolContext {
        let answer_form = if self.model.wants_structured_results() {
            AnswerForm::TextAndData
        } else {
            AnswerForm::Text
        };
        let delegates = calls.iter().any(|call| can_delegate(&call.tool));
        let delegate = self.context.delegate.clone().map(|delegate| {
            let fork = delegates.then(|| Arc::new(Fork::from_parent(&self.run)));
            delegate.forking(fork)
        });
        let usual_time_limit = self.patience.tool;
        ToolContext { answer_form, usual_time_limit, delegate, ..self.context.clone() }
    }

    /// Records what servers did to the run so far.
    async fn note_servers(&mut self, servers: Option<&mut ServersNews>) -> Result<(), StoreError> {
        let Some(servers) = servers else { return Ok(()) };
        while let Ok(news) = servers.try_recv() {
            self.note_server(news).await?;
        }
        Ok(())
    }

    /// Records what the run's model was used for besides its turns, and when its clock stands.
    async fn note_server(&mut self, news: ServerNews) -> Result<(), StoreError> {
        match news {
            ServerNews::Lent(Lent { server, usage, cost_usd }) => {
                self.feed(|run, now| run.model_lent(server, usage, cost_usd, now)).await
            }
            ServerNews::Asks { server } => {
                self.feed(|run, now| run.server_asks(Some(server), now)).await
            }
            ServerNews::Answered => self.feed(|run, now| run.server_asks(None, now)).await,
        }
    }

    /// Records what is known of calls that were stopped: what they did to files, what their commands
    /// wrote, and how far the agents came for which they waited. They do no more.
    async fn record_cut_off(
        &mut self,
        traces: Vec<Trace>,
        why: Interruption,
    ) -> Result<(), StoreError> {
        let open = match self.run.next_step() {
            Step::CallTools(open) => open,
            _ => Vec::new(),
        };
        let open: BTreeSet<ToolCallId> = open.into_iter().map(|call| call.id).collect();
        let mut known = Vec::new();
        for trace in traces.into_iter().filter(|trace| open.contains(&trace.call)) {
            let Trace { call, name, changes, output, delegate } = trace;
            let changes = changes.close();
            let agent = delegate.as_ref().and_then(Delegate::started);
            if let Some(agent) = agent.filter(|agent| agent.is_cancelled()) {
                // Dropped with the runtime, there is nothing to wait for.
                let Ok(result) = agent.result().await else { continue };
                let answer = cut_off(&result, &self.context.artifacts);
                known.push((call, into_answer("the agent", answer)));
            } else if !changes.is_empty() {
                let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
                let text = format!("it was stopped after it had changed {}", paths.join(", "));
                known.push((
                    call,
                    ToolAnswer { text, is_error: true, changes, ..ToolAnswer::default() },
                ));
            } else if let Some(written) = output.unread().await
                && let Some(answer) = report_stopped(written, why.told())
            {
                known.push((call, into_answer(&name.to_string(), answer)));
            }
        }
        self.note_news().await?;
        self.feed(|run, now| run.calls_cut_off(known, now)).await
    }

    /// Whether what has begun need not be in the journal before it is done: only calls that may be made
    /// again, should nobody learn of them.
    pub(super) fn can_put_off_writing(&self) -> bool {
        let Step::CallTools(calls) = self.run.next_step() else { return false };
        calls.iter().all(|call| {
            let tool = self.tools.get(&call.tool);
            tool.is_some_and(|tool| tool.spec().repetition == Repeatability::Repeatable)
        })
    }

    fn answer(
        &self,
        call: PendingCall,
        context: ToolContext,
    ) -> impl Future<Output = (ToolCallId, ToolAnswer)> + Send + use<> {
        let tool = self.tools.get(&call.tool).cloned();
        let span = spans::call(&call, self.recorder.secrets());
        let told = span.clone();
        let secrets = spans::secrets_of_content(self.recorder.secrets());
        let answer = async move {
            let name = call.tool.to_string();
            let mut output = match tool {
                None => ToolOutput::error(format!("{name} is not available here")),
                Some(tool) => {
                    let limit = tool.time_limit(&call.arguments, context.usual_time_limit);
                    let answer = tool.call(call.arguments, &context);
                    tokio::time::timeout(limit, answer)
                        .await
                        .unwrap_or_else(|_| timed_out(&name, limit))
                }
            };
            if context.files.has_left_out() && !output.is_error {
                output.text.push_str(LEFT_OUT);
            }
            spans::answered(&told, &output, secrets.as_ref());
            let changes = context.changes.close();
            (call.id, ToolAnswer { changes, ..into_answer(&name, output) })
        };
        answer.instrument(span)
    }
}

/// The next news of servers; never, if none is called.
async fn next_of(servers: Option<&mut ServersNews>) -> ServerNews {
    match servers {
        Some(servers) => match servers.recv().await {
            Some(news) => news,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// Whether a tool may start an agent that is to know what its parent knows.
fn can_delegate(tool: &ToolName) -> bool {
    match tool {
        ToolName::Builtin(tool) => BuiltinTool::DELEGATION.contains(tool),
        ToolName::Mcp { .. } => false,
        ToolName::Host(_) => true,
    }
}

/// Whether something can be found out about the calls that are judged next.
pub(super) fn can_foresee(
    run: &Run,
    tools: &BTreeMap<ToolName, Arc<dyn Tool>>,
    context: &ToolContext,
) -> bool {
    run.calls_to_judge().iter().any(|call| {
        let tool = tools.get(&call.tool);
        tool.is_some_and(|tool| foresight(tool.as_ref(), call, context).is_some())
    })
}

/// What a call would do. Where a rule asks about files, that is also where a call that reads leads.
fn foresight<'a>(
    tool: &'a dyn Tool,
    call: &'a PendingCall,
    context: &'a ToolContext,
) -> Option<ForesightFuture<'a>> {
    let own = tool.foresee(&call.arguments, context);
    own.or_else(|| foresee_reading(&call.tool, &call.arguments, context))
}

fn timed_out(name: &str, limit: Duration) -> ToolOutput {
    let seconds = limit.as_secs_f64();
    ToolOutput::error(format!("{name} did not finish within {seconds} s and was stopped"))
}

fn into_answer(name: &str, output: ToolOutput) -> ToolAnswer {
    let artifacts = output
        .artifacts
        .iter()
        .map(|path| Artifact {
            path: path.display().to_string(),
            description: format!("the whole output of {name}"),
        })
        .collect();
    let ToolOutput { text, is_error, images, data, delivers, artifacts: _ } = output;
    ToolAnswer { text, is_error, images, artifacts, data, delivers, changes: Vec::new() }
}
