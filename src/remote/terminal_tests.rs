//! Editing of a line, and whole questions on a pseudo-terminal.

use std::{sync::mpsc, time::Duration};

use portable_pty::{MasterPty, PtySize, native_pty_system};
use tokio::task::JoinSet;

use super::*;

fn typed(keys: &[u8]) -> String {
    let mut line = Line::new();
    for key in keys {
        match line.take(*key) {
            Key::Enter => return format!("{:?}", line.text().as_deref()),
            Key::Declined => return "declined".to_owned(),
            _ => {}
        }
    }
    "open".to_owned()
}

#[test]
fn lines_are_edited() {
    let cases: [(&[u8], &str); 9] = [
        (b"yes\n", "Some(\"yes\")"),
        (b"yes\r", "Some(\"yes\")"),
        (b"\n", "Some(\"\")"),
        (b"yex\x7fs\n", "Some(\"yes\")"),
        ("n\u{e9}\u{8}o\n".as_bytes(), "Some(\"no\")"),
        (b"wrong\x15right\n", "Some(\"right\")"),
        (b"secret\x03", "declined"),
        (b"\x04", "declined"),
        (b"a\x04\x1b[A\xff\n", "None"),
    ];
    for (keys, expected) in cases {
        assert_eq!(typed(keys), expected, "{keys:?}");
    }
}

#[test]
fn a_line_has_a_limit() {
    let mut line = Line::new();
    for _ in 0..=MAX_ANSWER_BYTES {
        line.take(b'a');
    }
    assert_eq!(line.bytes.len(), MAX_ANSWER_BYTES);
}

/// A pseudo-terminal with the user's end of it.
struct Desk {
    prompter: Arc<TerminalPrompter>,
    terminal: File,
    keyboard: Box<dyn io::Write + Send>,
    screen: mpsc::Receiver<Vec<u8>>,
    shown: String,
    /// The pseudo-terminal ends with it.
    _master: Box<dyn MasterPty + Send>,
}

impl Desk {
    fn new() -> Self {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let path = pair.master.tty_name().unwrap();
        let terminal = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(&path)
                .unwrap()
        };
        let prompter = TerminalPrompter::on(terminal(), Box::new(|_| {})).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, screen) = mpsc::sync_channel(64);
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(count) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            prompter: Arc::new(prompter),
            terminal: terminal(),
            keyboard: pair.master.take_writer().unwrap(),
            screen,
            shown: String::new(),
            _master: pair.master,
        }
    }

    fn ask(&self, echo: bool) -> JoinSet<Option<Zeroizing<String>>> {
        let prompter = Arc::clone(&self.prompter);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let question = Question {
                host: "web1".to_owned(),
                server_text: Some("Passphrase for id\u{1b}[2J: ".to_owned()),
                prompt: "Answer: ".to_owned(),
                echo,
            };
            prompter.ask(question).await
        });
        tasks
    }

    fn see(&mut self, text: &str) {
        while !self.shown.contains(text) {
            let bytes = self.screen.recv_timeout(Duration::from_secs(20)).unwrap();
            self.shown.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    fn press(&mut self, keys: &str) {
        self.shown.clear();
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    fn has_echo(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }
}

async fn answer(tasks: &mut JoinSet<Option<Zeroizing<String>>>) -> Option<String> {
    let joined = tokio::time::timeout(Duration::from_secs(20), tasks.join_next());
    let answer = joined.await.unwrap().unwrap().unwrap();
    answer.map(|answer| answer.to_string())
}

/// One test, because a signal reaches every open question of the process.
#[tokio::test(flavor = "multi_thread")]
async fn echo_is_back_after_every_end_of_a_question() {
    let mut desk = Desk::new();
    let mut asked = desk.ask(false);
    desk.see("Answer: ");
    assert!(
        desk.shown
            .contains("  web1 wrote:\r\n  | Passphrase for id"),
        "{}",
        desk.shown
    );
    assert!(!desk.shown.contains('\u{1b}'));
    assert!(!desk.has_echo());
    desk.press("secret\r");
    assert_eq!(answer(&mut asked).await.as_deref(), Some("secret"));
    desk.see("\n");
    assert!(!desk.shown.contains("secret") && desk.has_echo());

    let mut asked = desk.ask(true);
    desk.see("Answer: ");
    desk.press("shown\r");
    assert_eq!(answer(&mut asked).await.as_deref(), Some("shown"));
    desk.see("shown");
    assert!(desk.has_echo());

    desk.shown.clear();
    let mut asked = desk.ask(false);
    desk.see("Answer: ");
    desk.press("half\u{3}");
    assert_eq!(answer(&mut asked).await, None);
    assert!(desk.has_echo());

    desk.shown.clear();
    let mut asked = desk.ask(false);
    desk.see("Answer: ");
    assert!(!desk.has_echo());
    kill_process(getpid(), Signal::TERM).unwrap();
    assert_eq!(answer(&mut asked).await, None);
    assert!(desk.has_echo());

    desk.shown.clear();
    let mut asked = desk.ask(false);
    desk.see("Answer: ");
    assert!(!desk.has_echo());
    asked.shutdown().await;
    assert!(desk.has_echo());
}
