//! Notations of PostgreSQL of more than one token that SQLite has otherwise: `trim(both 'x' from
//! y)`, `x = ANY (…)`, and functions with several rows as a result.

use std::collections::HashMap;

use crate::refusal::{Refusal, TOO_LARGE};
use crate::sql::quoted;
use crate::sql::tokens::Token;

/// The texts that stand for tokens, by the places of these.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// An empty text leaves a token out.
    pub replaced: HashMap<usize, String>,
    /// The texts before tokens, or after the last one.
    pub before: HashMap<usize, String>,
}

/// Words that end the tables of a query.
const ENDS: [&str; 9] =
    ["WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "WINDOW"];
/// Functions that are called in another way, or not at all, by SQLite.
const CALLS: [&str; 8] =
    ["trim", "substring", "position", "any", "some", "all", "_pg_expandarray", "generate_series"];
/// A table that PostgreSQL has as a function.
const KEYWORDS: &str = "pg_get_keywords";
/// The name of the rows that an array is expanded to.
const EXPANDED: &str = "expanded";
/// The most calls that expand arrays: for each, the end of the tables is looked for.
const MOST_EXPANDED: usize = 100;

impl Edits {
    /// Finds the notations in a statement.
    pub(super) fn of(source: &str, tokens: &[Token<'_>]) -> Result<Self, Refusal> {
        let mut edits = Self::default();
        let is_call = |pair: &[Token<'_>]| {
            let name = pair[0].text.trim_matches('"');
            let mut known = CALLS.iter().chain([&KEYWORDS]);
            pair[1].is_sign("(") && known.any(|known| name.eq_ignore_ascii_case(known))
        };
        if !tokens.windows(2).any(is_call) {
            return Ok(edits);
        }
        let closings = closings(tokens);
        let mut expanded = 0;
        // For each bracket that is open, true where tables are listed.
        let mut lists_tables = vec![false];
        for (at, token) in tokens.iter().enumerate() {
            let is = |word: &str| token.is_word(word);
            if token.is_sign("(") {
                lists_tables.push(false);
            } else if token.is_sign(")") && lists_tables.len() > 1 {
                lists_tables.pop();
            } else if let Some(last) = lists_tables.last_mut() {
                if is("FROM") && !edits.replaced.contains_key(&at) {
                    *last = true;
                } else if is("SELECT") || ENDS.iter().any(|end| is(end)) {
                    *last = false;
                }
            }
            if !tokens.get(at + 1).is_some_and(|next| next.is_sign("(")) || !token.is_name() {
                continue;
            }
            let call = Call { source, tokens, closings: &closings, at, close: closings[at + 1] };
            match &token.content().to_ascii_lowercase()[..] {
                "trim" => edits.trim(&call),
                "substring" => edits.substring(&call),
                "position" => edits.within(&call, "IN", ","),
                "any" | "some" | "all" => edits.quantified(&call),
                "_pg_expandarray" => {
                    expanded += 1;
                    if expanded > MOST_EXPANDED {
                        let line = format!("a statement can expand {MOST_EXPANDED} arrays");
                        return Err(Refusal::new(TOO_LARGE, line));
                    }
                    edits.expanded(&call);
                }
                "generate_series" if lists_tables.last() == Some(&true) => edits.series(&call),
                KEYWORDS => edits.leave_out(at + 1..call.close + 1),
                _ => {}
            }
        }
        Ok(edits)
    }

    fn replace(&mut self, at: usize, text: impl Into<String>) {
        self.replaced.insert(at, text.into());
    }

    fn leave_out(&mut self, places: std::ops::Range<usize>) {
        places.for_each(|at| self.replace(at, ""));
    }

    /// Replaces a word between the arguments of a call.
    fn within(&mut self, call: &Call<'_, '_>, word: &str, text: &str) {
        if let Some(at) = call.word(word) {
            self.replace(at, text);
        }
    }

    /// `trim(both x from y)`
    fn trim(&mut self, call: &Call<'_, '_>) {
        let sides = [("BOTH", "trim_of"), ("LEADING", "ltrim_of"), ("TRAILING", "rtrim_of")];
        let side = call.tokens.get(call.at + 2);
        let found = sides.iter().find(|(word, _)| side.is_some_and(|side| side.is_word(word)));
        let (Some((_, function)), Some(from)) = (found, call.word("FROM")) else { return };
        if from == call.at + 3 {
            // Blanks are trimmed.
            self.leave_out(call.at + 2..from + 1);
            self.replace(call.at, function.trim_end_matches("_of"));
            return;
        }
        self.replace(call.at, *function);
        self.replace(call.at + 2, "");
        self.replace(from, ",");
    }

    /// `substring(x from 1 for 2)`
    fn substring(&mut self, call: &Call<'_, '_>) {
        let from = call.word("FROM");
        self.within(call, "FROM", ",");
        self.within(call, "FOR", if from.is_some() { "," } else { ", 1," });
    }

    /// `x = ANY (…)` and `x <> ALL (…)`
    fn quantified(&mut self, call: &Call<'_, '_>) {
        let Call { tokens, at, close, .. } = *call;
        let sign = |before: usize, sign: &str| {
            at.checked_sub(before).is_some_and(|at| tokens[at].is_sign(sign))
        };
        let is_all = tokens[at].is_word("ALL");
        let is_not = sign(1, "=") && sign(2, "!") || sign(1, ">") && sign(2, "<");
        let is_equal = sign(1, "=") && !["!", "<", ">"].iter().any(|other| sign(2, other));
        let operator = match (is_all, is_equal, is_not) {
            (false, true, _) => "IN",
            (true, _, true) => "NOT IN",
            _ => return,
        };
        let signs = if is_not { 2 } else { 1 };
        self.leave_out(at - signs..at);
        self.replace(at, format!(" {operator} "));
        let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
        if is(at + 2, "ARRAY") && is(at + 4, "SELECT") {
            // The rows themselves.
            self.leave_out(at + 1..at + 3);
            self.replace(close, "");
        } else if !is(at + 2, "SELECT") {
            // Without an array, nobody knows.
            self.replace(at + 1, "(SELECT +value FROM json_each(array_json(ifnull(");
            self.replace(close, ", '{NULL}'))))");
        }
    }

    /// `_pg_expandarray(x)` in a list of results: a row for each element, with its place.
    fn expanded(&mut self, call: &Call<'_, '_>) {
        let Call { source, tokens, at, close, .. } = *call;
        let Some(from) = call.tables() else { return };
        let argument = tokens.get(close).map_or("", |end| &source[tokens[at + 1].end()..end.start]);
        let rows = format!(", json_each(array_json({argument})) AS {EXPANDED} ");
        let known = self.before.entry(from).or_insert_with(|| rows.clone());
        if *known != rows {
            // SQLite says that there is no such function.
            return;
        }
        self.leave_out(call.start()..close + 1);
        let composite = format!("json_object('x', {EXPANDED}.value, 'n', {EXPANDED}.key + 1)");
        self.replace(at, composite);
    }

    /// `generate_series(a, b) AS name(column)` among tables.
    fn series(&mut self, call: &Call<'_, '_>) {
        let Call { tokens, at, close, .. } = *call;
        let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
        let mut end = close + 1;
        let has_as = is(end, "AS");
        let place = end + usize::from(has_as);
        let follows = ["JOIN", "LEFT", "INNER", "CROSS", "NATURAL", "ON", "USING", "FULL", "RIGHT"];
        let is_free = |token: &&Token<'_>| {
            token.is_name() && !ENDS.iter().chain(&follows).any(|word| token.is_word(word))
        };
        let name = tokens.get(place).filter(is_free).map(Token::content);
        if name.is_some() {
            end = place + 1;
        }
        let name = name.unwrap_or_else(|| "generate_series".into());
        let mut column = name.clone();
        if let [open, named, shut, ..] = &tokens[end.min(tokens.len())..]
            && open.is_sign("(")
            && named.is_name()
            && shut.is_sign(")")
        {
            column = named.content();
            end += 3;
        }
        let start = format!("(SELECT value AS {} FROM generate_series", quoted(&column));
        self.leave_out(call.start()..at);
        self.replace(at, start);
        self.leave_out(close + 1..end);
        self.replace(close, format!(")) AS {} ", quoted(&name)));
    }
}

/// A call of a function.
struct Call<'c, 't> {
    source: &'c str,
    tokens: &'c [Token<'t>],
    /// For each opening bracket, the place of the one that closes it.
    closings: &'c [usize],
    /// The place of the name.
    at: usize,
    /// The place of the bracket that closes it.
    close: usize,
}

impl Call<'_, '_> {
    /// Returns the place of the first token: that of the schema, if there is one.
    fn start(&self) -> usize {
        match self.at.checked_sub(1) {
            Some(dot) if dot > 0 && self.tokens[dot].is_sign(".") => dot - 1,
            _ => self.at,
        }
    }

    /// Returns the place of a word between the arguments.
    fn word(&self, word: &str) -> Option<usize> {
        let mut at = self.at + 2;
        while at < self.close.min(self.tokens.len()) {
            if self.tokens[at].is_word(word) {
                return Some(at);
            }
            let opens = self.tokens[at].is_sign("(");
            at = if opens { self.closings[at] + 1 } else { at + 1 };
        }
        None
    }

    /// Returns the place at which the tables of the query end in whose results the call is.
    fn tables(&self) -> Option<usize> {
        let mut at = self.close + 1;
        let mut has_from = false;
        while let Some(token) = self.tokens.get(at) {
            if token.is_sign("(") {
                at = self.closings[at] + 1;
                continue;
            }
            if has_from && (token.is_sign(")") || ENDS.iter().any(|end| token.is_word(end))) {
                return Some(at);
            }
            has_from |= token.is_word("FROM");
            at += 1;
        }
        has_from.then_some(self.tokens.len())
    }
}

/// Returns, for each opening bracket, the place of the one that closes it, or the end.
fn closings(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut found = vec![tokens.len(); tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            open.push(at);
        } else if token.is_sign(")")
            && let Some(start) = open.pop()
        {
            found[start] = at;
        }
    }
    found
}
