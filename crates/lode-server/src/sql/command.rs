//! The kind of a statement: what the server does itself, and the tag of what SQLite does.

use crate::refusal::{NOT_SUPPORTED, Refusal, SYNTAX};
use crate::sql::copy::Copy;
use crate::sql::tokens::{Form, Token};
use crate::sql::unsupported;

/// The treatment of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Nothing but white space and comments.
    Empty,
    /// None if the session's default holds.
    Begin {
        reads_only: Option<bool>,
    },
    Commit,
    Rollback,
    /// A statement about a savepoint.
    Savepoint {
        verb: Verb,
        name: String,
    },
    /// `SET name = value` and the like.
    Set {
        name: String,
        value: Option<String>,
    },
    /// `SET TRANSACTION …`: of this transaction, or of all later ones.
    SetTransaction {
        reads_only: Option<bool>,
        is_lasting: bool,
    },
    Show {
        name: String,
    },
    /// `DISCARD ALL` and `RESET ALL`.
    Reset {
        discards: bool,
    },
    /// `DEALLOCATE name`, or all.
    Deallocate {
        name: Option<String>,
    },
    /// `CLOSE ALL`.
    ClosePortals,
    /// `UNLISTEN`: nothing is listened to.
    Unlisten,
    /// `COPY`.
    Copy(Copy),
    /// A statement for SQLite or the console, with the first word of its tag.
    Other {
        tag: &'static str,
        /// True if the tag ends with the number of rows.
        counts: bool,
        /// True if tables or indexes are created or dropped.
        defines: bool,
    },
}

/// The action on a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Set,
    Release,
    /// `ROLLBACK TO`.
    GoBack,
}

/// The tokens that are left of a statement.
struct Rest<'r, 't>(&'r [Token<'t>]);

impl Rest<'_, '_> {
    fn takes(&mut self, word: &str) -> bool {
        let found = self.0.first().is_some_and(|token| token.is_word(word));
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn takes_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.takes(word))
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = self.0.first().is_some_and(|token| token.is_sign(sign));
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// Takes a name, perhaps with points in it.
    fn name(&mut self) -> Result<String, Refusal> {
        let mut name = String::new();
        loop {
            let token = self.0.first().filter(|token| token.is_name());
            let token = token.ok_or_else(|| Refusal::new(SYNTAX, "a name is missing"))?;
            name += &token.content();
            self.0 = &self.0[1..];
            if !self.takes_sign(".") {
                return Ok(name);
            }
            name.push('.');
        }
    }

    fn end<T>(&mut self, done: T) -> Result<T, Refusal> {
        while self.takes_sign(";") {}
        match self.0.first() {
            None => Ok(done),
            Some(token) => {
                Err(Refusal::new(SYNTAX, format!("near \"{}\": syntax error", token.text)))
            }
        }
    }
}

impl Command {
    /// Returns the treatment of a statement.
    pub(crate) fn of(tokens: &[Token<'_>]) -> Result<Self, Refusal> {
        let mut rest = Rest(tokens);
        let rest = &mut rest;
        while rest.takes_sign(";") {}
        if rest.0.is_empty() {
            return Ok(Self::Empty);
        }
        if rest.takes("BEGIN") {
            rest.takes_any(&["WORK", "TRANSACTION", "DEFERRED", "IMMEDIATE", "EXCLUSIVE"]);
            rest.takes("TRANSACTION");
            let reads_only = modes(rest)?;
            return rest.end(Self::Begin { reads_only });
        }
        if rest.takes("START") {
            rest.takes("TRANSACTION");
            let reads_only = modes(rest)?;
            return rest.end(Self::Begin { reads_only });
        }
        if rest.takes_any(&["COMMIT", "END"]) {
            rest.takes_any(&["WORK", "TRANSACTION"]);
            no_chain(rest)?;
            return rest.end(Self::Commit);
        }
        if rest.takes_any(&["ROLLBACK", "ABORT"]) {
            rest.takes_any(&["WORK", "TRANSACTION"]);
            if rest.takes("TO") {
                return savepoint(Verb::GoBack, rest);
            }
            no_chain(rest)?;
            return rest.end(Self::Rollback);
        }
        if rest.takes("SAVEPOINT") {
            let name = rest.name()?;
            return rest.end(Self::Savepoint { verb: Verb::Set, name });
        }
        if rest.takes("RELEASE") {
            return savepoint(Verb::Release, rest);
        }
        if rest.takes("SET") {
            return set(rest);
        }
        if rest.takes("SHOW") {
            if rest.takes("TRANSACTION") && rest.takes("ISOLATION") && rest.takes("LEVEL") {
                return rest.end(Self::Show { name: "transaction_isolation".into() });
            }
            if rest.takes("TIME") && rest.takes("ZONE") {
                return rest.end(Self::Show { name: "timezone".into() });
            }
            let name = rest.name()?.to_ascii_lowercase();
            return rest.end(Self::Show { name });
        }
        if rest.takes("RESET") {
            if rest.takes("ALL") {
                return rest.end(Self::Reset { discards: false });
            }
            let name = rest.name()?.to_ascii_lowercase();
            return rest.end(Self::Set { name, value: None });
        }
        if rest.takes("DISCARD") {
            if !rest.takes("ALL") {
                return Err(Refusal::new(NOT_SUPPORTED, "only DISCARD ALL is supported"));
            }
            return rest.end(Self::Reset { discards: true });
        }
        if rest.takes("CLOSE") {
            if !rest.takes("ALL") {
                return Err(Refusal::new(NOT_SUPPORTED, "only CLOSE ALL is supported"));
            }
            return rest.end(Self::ClosePortals);
        }
        if rest.takes("UNLISTEN") {
            if !rest.takes_sign("*") {
                rest.name()?;
            }
            return rest.end(Self::Unlisten);
        }
        if rest.takes("DEALLOCATE") {
            rest.takes("PREPARE");
            let name = if rest.takes("ALL") { None } else { Some(rest.name()?) };
            return rest.end(Self::Deallocate { name });
        }
        if rest.takes("COPY") {
            return Copy::parse(rest.0).map(Self::Copy);
        }
        unsupported::refuse(tokens)?;
        Ok(Self::other(tokens))
    }

    fn other(tokens: &[Token<'_>]) -> Self {
        let first = &tokens[0];
        let counted = |tag| Self::Other { tag, counts: true, defines: false };
        let verb = if first.is_word("WITH") { main_verb(tokens) } else { first };
        for (word, tag) in [
            ("SELECT", "SELECT"),
            ("VALUES", "SELECT"),
            ("PRAGMA", "SELECT"),
            ("INSERT", "INSERT 0"),
            ("REPLACE", "INSERT 0"),
            ("UPDATE", "UPDATE"),
            ("DELETE", "DELETE"),
        ] {
            if verb.is_word(word) {
                return counted(tag);
            }
        }
        let has = |word: &str| tokens.iter().take(4).any(|token| token.is_word(word));
        let (tag, defines) = match (first.is_word("CREATE"), first.is_word("DROP")) {
            (true, _) if has("INDEX") => ("CREATE INDEX", true),
            (true, _) if has("VIEW") => ("CREATE VIEW", false),
            (true, _) => ("CREATE TABLE", true),
            (_, true) if has("INDEX") => ("DROP INDEX", true),
            (_, true) if has("VIEW") => ("DROP VIEW", false),
            (_, true) => ("DROP TABLE", true),
            _ if first.is_word("ALTER") => ("ALTER TABLE", true),
            _ if first.is_word("EXPLAIN") => ("EXPLAIN", false),
            _ if first.is_word("VACUUM") => ("VACUUM", false),
            _ => ("OK", false),
        };
        Self::Other { tag, counts: false, defines }
    }
}

/// Returns the verb after `WITH … AS (…)`.
fn main_verb<'r, 't>(tokens: &'r [Token<'t>]) -> &'r Token<'t> {
    let mut depth = 0_usize;
    let verbs = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "VALUES"];
    for token in tokens {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && verbs.iter().any(|verb| token.is_word(verb)) {
            return token;
        }
    }
    &tokens[0]
}

/// Takes the name of a savepoint, perhaps after the word.
fn savepoint(verb: Verb, rest: &mut Rest<'_, '_>) -> Result<Command, Refusal> {
    if rest.0.get(1).is_some_and(Token::is_name) {
        rest.takes("SAVEPOINT");
    }
    let name = rest.name()?;
    rest.end(Command::Savepoint { verb, name })
}

fn no_chain(rest: &mut Rest<'_, '_>) -> Result<(), Refusal> {
    if rest.takes("AND") {
        if rest.takes("NO") && rest.takes("CHAIN") {
            return Ok(());
        }
        return Err(Refusal::new(NOT_SUPPORTED, "AND CHAIN is not supported; write BEGIN"));
    }
    Ok(())
}

/// Takes the modes of a transaction. All levels of isolation are serializable here, which each
/// of them allows. Returns true for `READ ONLY`.
fn modes(rest: &mut Rest<'_, '_>) -> Result<Option<bool>, Refusal> {
    let mut reads_only = None;
    loop {
        if rest.takes("ISOLATION") {
            let is_level = rest.takes("LEVEL")
                && (rest.takes("SERIALIZABLE")
                    || rest.takes("REPEATABLE") && rest.takes("READ")
                    || rest.takes("READ") && rest.takes_any(&["COMMITTED", "UNCOMMITTED"]));
            if !is_level {
                return Err(Refusal::new(SYNTAX, "ISOLATION LEVEL needs the name of a level"));
            }
        } else if rest.takes("READ") {
            reads_only = Some(rest.takes("ONLY"));
            if reads_only == Some(false) && !rest.takes("WRITE") {
                return Err(Refusal::new(SYNTAX, "READ needs ONLY or WRITE"));
            }
        } else if rest.takes("NOT") {
            if !rest.takes("DEFERRABLE") {
                return Err(Refusal::new(SYNTAX, "NOT needs DEFERRABLE"));
            }
        } else if !rest.takes("DEFERRABLE") && !rest.takes_sign(",") {
            return Ok(reads_only);
        }
    }
}

fn set(rest: &mut Rest<'_, '_>) -> Result<Command, Refusal> {
    let is_session = rest.takes("SESSION");
    if is_session && rest.takes("CHARACTERISTICS") {
        if !(rest.takes("AS") && rest.takes("TRANSACTION")) {
            return Err(Refusal::new(SYNTAX, "CHARACTERISTICS needs AS TRANSACTION"));
        }
        let reads_only = modes(rest)?;
        return rest.end(Command::SetTransaction { reads_only, is_lasting: true });
    }
    if !is_session && rest.takes("LOCAL") {
        return Err(Refusal::new(NOT_SUPPORTED, "SET LOCAL is not supported; write SET"));
    }
    if rest.takes("TRANSACTION") {
        let reads_only = modes(rest)?;
        return rest.end(Command::SetTransaction { reads_only, is_lasting: false });
    }
    let name = if rest.takes("TIME") && rest.takes("ZONE") {
        "timezone".into()
    } else if rest.takes("NAMES") {
        "client_encoding".into()
    } else {
        let name = rest.name()?.to_ascii_lowercase();
        if !rest.takes_sign("=") && !rest.takes("TO") {
            return Err(Refusal::new(SYNTAX, format!("SET {name} needs = and a value")));
        }
        name
    };
    let value = value(rest)?;
    rest.end(Command::Set { name, value })
}

/// Takes a value: words, texts and numbers, with commas between them; none for `DEFAULT`.
fn value(rest: &mut Rest<'_, '_>) -> Result<Option<String>, Refusal> {
    if rest.takes("DEFAULT") {
        return Ok(None);
    }
    let mut value = String::new();
    while let Some(token) = rest.0.first().filter(|token| !token.is_sign(";")) {
        let is_sign = token.form == Form::Sign;
        if is_sign && !matches!(token.text, "," | "-" | "+") {
            break;
        }
        value += &token.content();
        if token.is_sign(",") {
            value.push(' ');
        }
        rest.0 = &rest.0[1..];
    }
    if value.is_empty() && rest.0.first().is_none_or(|token| token.form != Form::Text) {
        return Err(Refusal::new(SYNTAX, "SET needs a value"));
    }
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens::tokens;

    #[test]
    fn statements_are_known_by_their_words() {
        let set =
            |name: &str, value: &str| Command::Set { name: name.into(), value: Some(value.into()) };
        let other = |tag| Command::Other { tag, counts: true, defines: false };
        let savepoint = |verb, name: &str| Command::Savepoint { verb, name: name.into() };
        for (source, command) in [
            (" -- nothing\n ;", Command::Empty),
            ("begin", Command::Begin { reads_only: None }),
            (
                "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;",
                Command::Begin { reads_only: Some(true) },
            ),
            ("END", Command::Commit),
            ("ABORT", Command::Rollback),
            ("ROLLBACK WORK TO SAVEPOINT a", savepoint(Verb::GoBack, "a")),
            ("ROLLBACK TO savepoint", savepoint(Verb::GoBack, "savepoint")),
            ("SAVEPOINT \"a\"\"b\";", savepoint(Verb::Set, "a\"b")),
            ("release savepoint a", savepoint(Verb::Release, "a")),
            ("\u{feff}UNLISTEN *", Command::Unlisten),
            ("CLOSE ALL", Command::ClosePortals),
            ("set DateStyle = iso, mdy", set("datestyle", "iso, mdy")),
            ("SET TIME ZONE 'UTC'", set("timezone", "UTC")),
            ("SET statement_timeout TO -1", set("statement_timeout", "-1")),
            (
                "SHOW TRANSACTION ISOLATION LEVEL",
                Command::Show { name: "transaction_isolation".into() },
            ),
            ("DEALLOCATE ALL", Command::Deallocate { name: None }),
            ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", other("INSERT 0")),
            ("SELECT 1", other("SELECT")),
        ] {
            assert_eq!(Command::of(&tokens(source)), Ok(command), "{source}");
        }
        for (wrong, code) in [
            ("BEGIN ISOLATION LEVEL NONE", SYNTAX),
            ("COMMIT AND CHAIN", NOT_SUPPORTED),
            ("COMMIT x", SYNTAX),
            ("SET x", SYNTAX),
            ("SHOW", SYNTAX),
            ("DISCARD TEMP", NOT_SUPPORTED),
            ("CLOSE c", NOT_SUPPORTED),
            ("ROLLBACK TO", SYNTAX),
            ("SAVEPOINT a b", SYNTAX),
            ("LISTEN a", NOT_SUPPORTED),
            ("DECLARE c CURSOR FOR SELECT 1", NOT_SUPPORTED),
            ("SELECT a FROM t WHERE (b = 1) FOR NO KEY UPDATE", NOT_SUPPORTED),
        ] {
            assert_eq!(Command::of(&tokens(wrong)).expect_err(wrong).code, code, "{wrong}");
        }
    }
}
