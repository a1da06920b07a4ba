//! Passwords of clients: a file of them, and the proof that a client knows one (SCRAM-SHA-256, RFC
//! 5802 and 7677).

use std::collections::HashMap;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pgwire::api::auth::sasl::scram::{
    SCRAM_ITERATIONS, ScramSecret, ScramServerAuth, gen_salted_password,
};
use pgwire::error::PgWireResult;
use pgwire::messages::Message;
use pgwire::messages::startup::{Authentication, SASLInitialResponse};

use crate::error::{ServeError, io_error};
use crate::protocol::input::{Input, Lost};
use crate::protocol::output::Output;
use crate::refusal::{Refusal, WRONG_PASSWORD};
use crate::server::own_file::{self, Readers};

const METHOD: &str = "SCRAM-SHA-256";
/// The method whose proof holds for one certificate only.
const BOUND_METHOD: &str = "SCRAM-SHA-256-PLUS";
/// The start of the first answer of a client that binds its proof to a certificate.
const BOUND: &[u8] = b"p=";
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// The secrets that are kept of a password.
#[derive(Clone)]
struct Verifier {
    salt: Vec<u8>,
    iterations: usize,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

/// The users who may connect, each with what is kept of the password.
pub struct Passwords {
    users: HashMap<String, Verifier>,
    /// The verifier of a password that no user has, for users that do not exist.
    nobody: Verifier,
    /// The secret that their salts are made with: each has one of its own, as users have.
    secret: String,
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

impl Passwords {
    /// Reads a file with a line for each user: `user:password`, or PostgreSQL's
    /// `user:SCRAM-SHA-256$4096:salt$stored:server`. Blank lines, and those that start with `#`,
    /// are skipped.
    ///
    /// # Errors
    /// [`ServeError::OpenToOthers`] if the file's mode lets others in;
    /// [`ServeError::PasswordLine`]; those of reading.
    pub fn read(path: &Path) -> Result<Self, ServeError> {
        let failed = || io_error(path.display());
        let text = own_file::read(path, Readers::Owner)?;
        let mut users = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let line_error = |why: &str| ServeError::PasswordLine {
                path: path.into(),
                line: at + 1,
                why: why.into(),
            };
            let (user, secret) = line
                .split_once(':')
                .filter(|(user, secret)| !user.is_empty() && !secret.is_empty())
                .ok_or_else(|| line_error("this is no user and password; write user:password"))?;
            let verifier = match secret.strip_prefix("SCRAM-SHA-256$") {
                Some(rest) => of_text(rest)
                    .ok_or_else(|| line_error("this verifier is damaged; write the password"))?,
                None => of_password(secret).map_err(failed())?,
            };
            if users.insert(user.into(), verifier).is_some() {
                return Err(line_error("this user has a line already; keep one of them"));
            }
        }
        let nobody = of_password(&random_text().map_err(failed())?).map_err(failed())?;
        Ok(Self { users, nobody, secret: random_text().map_err(failed())? })
    }

    /// Returns what is kept of the password of a user; for one that does not exist, what looks
    /// like it.
    fn verifier(&self, user: &str) -> Verifier {
        self.users.get(user).cloned().unwrap_or_else(|| {
            let mut salt = gen_salted_password(&self.secret, user.as_bytes(), 1);
            salt.truncate(SALT_BYTES);
            Verifier { salt, ..self.nobody.clone() }
        })
    }

    /// Has a client prove that it knows the password of a user. With a `binding`, the client also
    /// proves, if it can, that it sees the certificate of this server.
    ///
    /// # Errors
    /// `None` if the client has gone away.
    pub(crate) fn check(
        &self,
        user: &str,
        input: &mut Input,
        output: &mut Output,
        binding: Option<&ScramServerAuth>,
        is_ending: &dyn Fn() -> bool,
    ) -> Result<(), Option<Refusal>> {
        let wrong = || {
            let line = format!("password authentication failed for user \"{user}\"");
            Some(Refusal::new(WRONG_PASSWORD, line))
        };
        let lost = |lost: Lost| match lost {
            Lost::Protocol(why) => Some(Refusal::new(crate::refusal::PROTOCOL, why)),
            Lost::Gone | Lost::Ending => None,
        };
        let mut send = |message: Authentication| {
            let sent = output.put(&message).and_then(|()| output.send(is_ending));
            sent.map_err(|_| None)
        };
        let bound = binding.map(|_| BOUND_METHOD.to_string());
        send(Authentication::SASL(bound.into_iter().chain([METHOD.into()]).collect()))?;
        let mut body = input.answer(true, is_ending).map_err(lost)?;
        let first = first_answer(&mut body).map_err(|_| wrong())?;
        let method = &first.auth_method[..];
        let is_known = method == METHOD || (method == BOUND_METHOD && binding.is_some());
        let data = first.data.filter(|_| is_known).ok_or_else(wrong)?;
        if data.starts_with(BOUND) != (method == BOUND_METHOD) {
            return Err(wrong());
        }
        let kept = self.verifier(user);
        let secret = ScramSecret::Verifier {
            salt: kept.salt,
            iterations: kept.iterations,
            stored_key: kept.stored_key,
            server_key: kept.server_key,
        };
        let scram = binding.cloned().unwrap_or_default();
        let (challenge, waiting) =
            scram.on_client_first_message_with_secret(&data, secret).map_err(|_| wrong())?;
        send(Authentication::SASLContinue(challenge.into()))?;
        let body = input.answer(false, is_ending).map_err(lost)?;
        let proof = waiting.on_client_final_message(&body).map_err(|_| wrong())?;
        send(Authentication::SASLFinal(proof.into()))
    }
}

/// Decodes the first answer of a client, whose lengths were checked.
fn first_answer(body: &mut bytes::BytesMut) -> PgWireResult<SASLInitialResponse> {
    let length = body.len() + 4;
    SASLInitialResponse::decode_body(body, length, &pgwire::messages::DecodeContext::default())
}

fn random(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

fn random_text() -> io::Result<String> {
    let mut bytes = [0; KEY_BYTES];
    random(&mut bytes)?;
    Ok(STANDARD.encode(bytes))
}

/// Returns what is kept of a password.
fn of_password(password: &str) -> io::Result<Verifier> {
    let mut salt = vec![0; SALT_BYTES];
    random(&mut salt)?;
    let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
    let secret = ScramSecret::verifier_from_salted_password(salt, salted, SCRAM_ITERATIONS);
    match secret {
        ScramSecret::Verifier { salt, iterations, stored_key, server_key } => {
            Ok(Verifier { salt, iterations, stored_key, server_key })
        }
        ScramSecret::SaltedPassword { .. } => Err(io::Error::other("no verifier was made")),
    }
}

/// Returns the verifier of `4096:salt$stored:server`.
fn of_text(text: &str) -> Option<Verifier> {
    let (front, keys) = text.split_once('$')?;
    let (iterations, salt) = front.split_once(':')?;
    let (stored, server) = keys.split_once(':')?;
    let bytes = |text: &str| STANDARD.decode(text).ok();
    let key = |text: &str| bytes(text).filter(|key| key.len() == KEY_BYTES);
    Some(Verifier {
        salt: bytes(salt)?,
        iterations: iterations.parse().ok().filter(|count| *count >= SCRAM_ITERATIONS)?,
        stored_key: key(stored)?,
        server_key: key(server)?,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_of_passwords_is_only_for_its_owner() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("passwords");
        let write = |text: &str, mode: u32| {
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
            Passwords::read(&path)
        };
        let keys = STANDARD.encode([7; KEY_BYTES]);
        let text = format!("# users\nada:secret\n\nbo:SCRAM-SHA-256$4096:c2FsdA==${keys}:{keys}\n");
        assert_eq!(write(&text, 0o600).expect("it is read").users.len(), 2);
        assert!(matches!(write(&text, 0o640), Err(ServeError::OpenToOthers { .. })));
        for wrong in ["ada", ":secret", "ada:", "ada:SCRAM-SHA-256$1:c2FsdA==$eA==:eA=="] {
            let line = format!("# one\n{wrong}");
            let refused = write(&line, 0o600);
            assert!(matches!(refused, Err(ServeError::PasswordLine { line: 2, .. })), "{wrong}");
        }
        let refused = write("ada:one\nbo:two\nada:three\n", 0o600);
        assert!(matches!(refused, Err(ServeError::PasswordLine { line: 3, .. })), "a user twice");
        assert!(write(&"#".repeat((1 << 20) + 1), 0o600).is_err(), "it is too long");
        assert!(Passwords::read(folder.path()).is_err());
    }

    #[test]
    fn whoever_does_not_exist_has_a_salt_that_stays() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("passwords");
        fs::write(&path, "ada:secret\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        let passwords = Passwords::read(&path).expect("it is read");
        let salt = |user: &str| passwords.verifier(user).salt;
        assert_eq!(salt("bo"), salt("bo"));
        assert_ne!(salt("bo"), salt("cy"));
        assert_eq!((salt("bo").len(), salt("ada").len()), (SALT_BYTES, SALT_BYTES));
        let other = Passwords::read(&path).expect("it is read");
        assert_ne!(salt("bo"), other.verifier("bo").salt, "the secret is another one");
    }
}
