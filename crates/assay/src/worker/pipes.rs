//! The output of a worker, read by threads that end on their own: none of them waits for a worker
//! that has ended, and none of them keeps more than a bounded amount.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::Message;

/// Bytes that are kept of the end of a worker's standard error.
const STDERR_KEPT_BYTES: usize = 16 * 1024;
/// The most bytes of a message's line.
const MESSAGE_MOST_BYTES: u64 = 256 << 20;
/// The most unread messages; a worker that writes more has to wait.
const MESSAGES_WAITING: usize = 1024;

/// The two pipes that a worker writes to.
pub(super) struct Pipes {
    /// The worker's messages; disconnected once it cannot send any more.
    pub messages: Receiver<Message>,
    stderr: Receiver<String>,
}

impl Pipes {
    /// Starts reading.
    pub(super) fn of(child: &mut Child) -> Self {
        Self { messages: listen(child), stderr: keep_stderr(child) }
    }

    /// Reads to the ends of both pipes, or until the time is up: another process may have
    /// inherited them, and keep them open.
    pub(super) fn drain(self, within: Duration) -> (Vec<Message>, String) {
        let deadline = Instant::now() + within;
        let left = || deadline.saturating_duration_since(Instant::now());
        let mut messages = Vec::new();
        while let Ok(message) = self.messages.recv_timeout(left()) {
            messages.push(message);
        }
        (messages, self.stderr.recv_timeout(left()).unwrap_or_default())
    }
}

/// Starts reading messages, one JSON text a line. Other lines are skipped.
fn listen(child: &mut Child) -> Receiver<Message> {
    let (sender, receiver) = mpsc::sync_channel(MESSAGES_WAITING);
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            loop {
                line.clear();
                match (&mut stdout).take(MESSAGE_MOST_BYTES).read_until(b'\n', &mut line) {
                    Ok(1..) => {}
                    Ok(0) | Err(_) => return,
                }
                let Ok(message) = serde_json::from_slice(&line) else {
                    continue;
                };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

fn keep_stderr(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let stderr = child.stderr.take();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 4096];
        if let Some(mut stderr) = stderr {
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                kept.extend_from_slice(&buffer[..count]);
                let excess = kept.len().saturating_sub(STDERR_KEPT_BYTES);
                kept.drain(..excess);
            }
        }
        // The parent may have stopped waiting.
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    });
    receiver
}
