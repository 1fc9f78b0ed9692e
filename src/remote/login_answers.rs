//! Answers that only the user has: questions of the server, and passwords (remote.md 5.1, 5.3).

use russh::{
    MethodKind,
    client::{AuthResult, Handle, KeyboardInteractiveAuthResponse as Reply, Prompt},
};

use super::{
    error::Error,
    handler::LinkHandler,
    login::{Login, Step},
    prompt::Prompter,
};

const KEYBOARD: &str = "keyboard-interactive";

/// What stands before a question that is asked again.
const REFUSED_PASSWORD: &str = "The server refused that password. Try again.\n";
const REFUSED_ANSWER: &str = "The server refused that answer. Try again.\n";

/// Questions in one round, bytes of each, and rounds (remote.md 5.3).
const MAX_QUESTIONS: usize = 16;
const MAX_QUESTION_BYTES: usize = 1024;
const MAX_ROUNDS: usize = 16;

impl<P: Prompter> Login<'_, P> {
    /// Answers the server's questions, up to the allowed number of attempts.
    pub(super) async fn converse(
        &mut self,
        handle: &mut Handle<LinkHandler>,
    ) -> Result<Step, Error> {
        let mut methods = self.methods.clone();
        for attempt in 0..self.asker.host.login.password_prompts {
            if !self.asker.can_ask() {
                self.needs_answer = true;
                break;
            }
            let user = self.asker.host.user.clone();
            let work = handle.authenticate_keyboard_interactive_start(user, None);
            let reply = self.step(KEYBOARD, work).await?;
            match self.answer_all(handle, reply, attempt > 0).await? {
                Step::Refused(left) if left.contains(&MethodKind::KeyboardInteractive) => {
                    methods = left;
                }
                step => return Ok(step),
            }
        }
        Ok(Step::Refused(methods))
    }

    async fn answer_all(
        &mut self,
        handle: &mut Handle<LinkHandler>,
        mut reply: Reply,
        mut was_refused: bool,
    ) -> Result<Step, Error> {
        for _ in 0..MAX_ROUNDS {
            let (name, instructions, prompts) = match reply {
                Reply::Success => return self.settle(AuthResult::Success).await,
                Reply::Failure {
                    remaining_methods,
                    partial_success,
                } => {
                    let result = AuthResult::Failure {
                        remaining_methods,
                        partial_success,
                    };
                    return self.settle(result).await;
                }
                Reply::InfoRequest {
                    name,
                    instructions,
                    prompts,
                } => (name, instructions, prompts),
            };
            let again = if was_refused { REFUSED_ANSWER } else { "" };
            let answers = self.answer(&name, &instructions, prompts, again).await?;
            was_refused &= answers.is_empty();
            self.report.answers += u32::from(!answers.is_empty());
            let work = handle.authenticate_keyboard_interactive_respond(answers);
            reply = self.step(KEYBOARD, work).await?;
        }
        Err(Error::LoginEnded {
            message: format!("more than {MAX_ROUNDS} rounds of questions"),
        })
    }

    async fn answer(
        &mut self,
        name: &str,
        instructions: &str,
        prompts: Vec<Prompt>,
        again: &str,
    ) -> Result<Vec<String>, Error> {
        let is_too_much = prompts.len() > MAX_QUESTIONS
            || prompts
                .iter()
                .any(|prompt| prompt.prompt.len() > MAX_QUESTION_BYTES)
            || name.len() + instructions.len() > MAX_QUESTIONS * MAX_QUESTION_BYTES;
        if is_too_much {
            return Err(Error::LoginEnded {
                message: "more or longer questions than anybody asks".to_owned(),
            });
        }
        let mut heading: Vec<&str> = [name, instructions]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        let mut answers = Vec::new();
        for Prompt { prompt, echo } in &prompts {
            heading.push(prompt);
            let server_text = Some(heading.join("\n"));
            heading.clear();
            let again = if answers.is_empty() { again } else { "" };
            let ours = format!("{again}Answer to {}: ", self.asker.host.name);
            let Some(answer) = self.asker.ask(ours, server_text, *echo).await else {
                // The library waits for an answer and takes nothing else: this login is over.
                self.needs_answer = true;
                self.finish_report();
                return Err(Error::PromptNeeded {
                    report: Box::new(std::mem::take(&mut self.report)),
                    encrypted: None,
                });
            };
            answers.push(answer.to_string());
        }
        Ok(answers)
    }

    /// Sends passwords, up to the allowed number of attempts.
    pub(super) async fn send_passwords(
        &mut self,
        handle: &mut Handle<LinkHandler>,
    ) -> Result<Step, Error> {
        let mut methods = self.methods.clone();
        let host = self.asker.host;
        for attempt in 0..host.login.password_prompts {
            let again = if attempt > 0 { REFUSED_PASSWORD } else { "" };
            let prompt = format!("{again}Password of {} at {}: ", host.user, host.name);
            let mut answer = None;
            if self.asker.can_ask() {
                answer = self.asker.ask(prompt, None, false).await;
            }
            let Some(password) = answer else {
                self.needs_answer = true;
                break;
            };
            self.report.passwords += 1;
            // The library wipes its copy.
            let work = handle.authenticate_password(host.user.clone(), password.to_string());
            let result = self.step("password", work).await?;
            match self.settle(result).await? {
                Step::Refused(left) if left.contains(&MethodKind::Password) => methods = left,
                step => return Ok(step),
            }
        }
        Ok(Step::Refused(methods))
    }
}
