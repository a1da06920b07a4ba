//! The types of parameters and results that SQLite does not know, by the text of a statement.
//!
//! A parameter that is compared with a column, assigned to it or inserted in its place has the
//! column's type. A result that is no column has the type of its expression as far as functions,
//! casts and operators tell. What stays unknown is text.

mod literals;
mod results;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::sql::infer::results::items;
use crate::sql::tokens::{Form, Token, closing, opening};
use crate::types::{Kind, Taken};
pub(crate) use literals::is_literal;

/// The columns of a table, in their order.
pub(crate) type Columns = Vec<(String, Kind)>;

/// The knowledge that types are found by.
#[derive(Default)]
pub(crate) struct Known {
    /// The tables that the statement names, by their names in lower case.
    tables: HashMap<String, Columns>,
    /// The tables, by other names that the statement gives them, both in lower case.
    aliases: HashMap<String, String>,
    /// The types of parameters by their numbers.
    pub parameters: HashMap<usize, Taken>,
    /// The types of results that have names, and may be results of a query around theirs.
    named: HashMap<String, Kind>,
    /// The types that texts may mean, by where the texts start.
    literals: HashMap<usize, Kind>,
}

/// Words that precede a number of rows.
const COUNTS: [&str; 2] = ["LIMIT", "OFFSET"];
const COMPARISONS: [&str; 6] = ["LIKE", "GLOB", "IS", "IN", "BETWEEN", "REGEXP"];
/// Words between an operator and an array.
const QUANTIFIERS: [&str; 3] = ["ANY", "SOME", "ALL"];

impl Known {
    /// Looks up the tables that a statement names. `find` gets names in lower case.
    pub(crate) fn of(tokens: &[Token<'_>], find: &dyn Fn(&str) -> Option<Columns>) -> Self {
        // Each name is looked up once, also one that is no table's.
        let mut found: HashMap<String, Option<Columns>> = HashMap::new();
        for token in tokens.iter().filter(|token| token.is_name()) {
            if let Entry::Vacant(place) = found.entry(token.content().to_ascii_lowercase()) {
                let columns = find(place.key());
                place.insert(columns);
            }
        }
        let tables = found.into_iter().filter_map(|(key, columns)| Some((key, columns?)));
        let mut known = Self { tables: tables.collect(), ..Self::default() };
        for at in 1..tokens.len() {
            let has_as = tokens[at].is_word("AS");
            let name = tokens.get(at + usize::from(has_as)).filter(|name| name.is_name());
            let table = tokens[at - 1].content().to_ascii_lowercase();
            if let Some(name) = name.filter(|_| known.tables.contains_key(&table)) {
                known.aliases.insert(name.content().to_ascii_lowercase(), table);
            }
        }
        known
    }

    /// Finds the types of parameters that are not known yet, and of texts.
    pub(crate) fn find_parameters(&mut self, tokens: &[Token<'_>]) {
        self.find_named(tokens);
        self.find_inserted(tokens);
        self.find_listed(tokens);
        for (at, token) in tokens.iter().enumerate() {
            if self.is_sought(token)
                && let Some(kind) = self.beside(tokens, at)
            {
                self.note(token, kind);
            }
        }
    }

    /// Returns true for a parameter, or a text that may mean something else, without a type.
    fn is_sought(&self, token: &Token<'_>) -> bool {
        match token.parameter() {
            Some(number) => !self.parameters.contains_key(&number),
            None => is_literal(token) && !self.literals.contains_key(&token.start),
        }
    }

    /// Notes the type of a parameter or of a text.
    fn note(&mut self, token: &Token<'_>, kind: Kind) {
        if let Some(number) = token.parameter() {
            self.parameters.entry(number).or_insert(kind.into());
        } else if is_literal(token) {
            self.literals.entry(token.start).or_insert(kind);
        }
    }

    /// Finds those that `INSERT INTO t (…) VALUES (…)` puts into columns.
    fn find_inserted(&mut self, tokens: &[Token<'_>]) {
        let Some(into) = tokens.iter().position(|token| token.is_word("INTO")) else { return };
        let mut at = into + 1;
        if tokens.get(at + 1).is_some_and(|token| token.is_sign(".")) {
            at += 2;
        }
        let Some(table) = tokens.get(at) else { return };
        let Some(columns) = self.tables.get(&table.content().to_ascii_lowercase()) else { return };
        let mut kinds: Vec<Option<Kind>> = columns.iter().map(|(_, kind)| Some(*kind)).collect();
        at += 1;
        if tokens.get(at).is_some_and(|token| token.is_sign("(")) {
            let close = closing(tokens, at);
            let names = tokens[at + 1..close].iter().filter(|token| token.is_name());
            kinds = names.map(|name| self.column(&name.content())).collect();
            at = close + 1;
        }
        if !tokens.get(at).is_some_and(|token| token.is_word("VALUES")) {
            return;
        }
        at += 1;
        while tokens.get(at).is_some_and(|token| token.is_sign("(")) {
            let close = closing(tokens, at);
            for (item, kind) in items(&tokens[at + 1..close]).iter().zip(&kinds) {
                if let ([only], Some(kind)) = (item, kind) {
                    self.note(only, *kind);
                }
            }
            at = close + 1;
            if tokens.get(at).is_some_and(|token| token.is_sign(",")) {
                at += 1;
            }
        }
    }

    /// Finds those in `column IN (…)`, `column = ANY (…)` and the like. A parameter is an array
    /// there, if it is all that is in the brackets of the latter.
    fn find_listed(&mut self, tokens: &[Token<'_>]) {
        for at in 1..tokens.len() {
            let is_quantified = QUANTIFIERS.iter().any(|word| tokens[at - 1].is_word(word));
            if !tokens[at].is_sign("(") || !is_quantified && !tokens[at - 1].is_word("IN") {
                continue;
            }
            let kind = self.left_of(&tokens[..at - usize::from(is_quantified)]);
            match tokens.get(at + 1..closing(tokens, at)).unwrap_or_default() {
                // The query may compare other columns.
                [first, ..] if ["SELECT", "WITH"].iter().any(|word| first.is_word(word)) => {}
                [only] if is_quantified && only.parameter().is_some() => {
                    let taken = Taken::array_of(kind.unwrap_or(Kind::Text));
                    self.parameters.entry(only.parameter().unwrap_or(0)).or_insert(taken);
                }
                inner => {
                    let Some(kind) = kind else { continue };
                    inner.iter().for_each(|token| self.note(token, kind));
                }
            }
        }
    }

    /// Returns the type of a parameter by what is before or after it.
    fn beside(&self, tokens: &[Token<'_>], at: usize) -> Option<Kind> {
        let before = &tokens[..at];
        let last = before.last()?;
        if COUNTS.iter().any(|word| last.is_word(word)) {
            return Some(Kind::Int);
        }
        if ["LIKE", "GLOB", "REGEXP", "ILIKE"].iter().any(|word| last.is_word(word)) {
            return Some(Kind::Text);
        }
        if last.is_word("AS") {
            return None;
        }
        // CAST($1 AS type)
        if let [open, ..] = &before[before.len() - 1..]
            && open.is_sign("(")
            && tokens.get(at + 1).is_some_and(|token| token.is_word("AS"))
        {
            let name = tokens.get(at + 2)?.content();
            return Kind::of_name(&name).or_else(|| Kind::of_declared(&name));
        }
        self.left_of(before).or_else(|| self.right_of(&tokens[at + 1..]))
    }

    /// Returns the type of the operand that a parameter after these tokens is compared with.
    fn left_of(&self, before: &[Token<'_>]) -> Option<Kind> {
        let mut end = before.len();
        let is = |at: usize, word: &str| before[at].is_word(word);
        if end >= 2 && is(end - 1, "AND") {
            // col BETWEEN a AND $1
            let between = (end.saturating_sub(4)..end).rev().find(|at| is(*at, "BETWEEN"))?;
            end = between + 1;
        }
        let sign = |token: &Token<'_>| token.form == Form::Sign && "=<>!+-*/%".contains(token.text);
        let signs = before[..end].iter().rev().take_while(|token| sign(token)).count();
        let words = before[..end - signs].iter().rev().take_while(|token| {
            COMPARISONS.iter().any(|word| token.is_word(word)) || token.is_word("NOT")
        });
        let words = words.count();
        if signs + words == 0 {
            return None;
        }
        let operand = &before[..end - signs - words];
        let last = operand.last()?;
        let is_qualified = operand.len() > 2 && operand[operand.len() - 2].is_sign(".");
        let start = if last.is_sign(")") {
            opening(operand, operand.len() - 1).saturating_sub(1)
        } else {
            operand.len() - if is_qualified { 3 } else { 1 }
        };
        self.kind(&operand[start..])
    }

    /// Returns the type of the operand that a parameter before these tokens is compared with.
    fn right_of(&self, after: &[Token<'_>]) -> Option<Kind> {
        let sign =
            |token: &&Token<'_>| token.form == Form::Sign && "=<>!+-*/%".contains(token.text);
        let signs = after.iter().take_while(sign).count();
        let first = after.get(signs).filter(|token| signs > 0 && token.is_name())?;
        let is_qualified = after.get(signs + 1).is_some_and(|token| token.is_sign("."));
        if is_qualified {
            return self.column_of(&first.content(), &after.get(signs + 2)?.content());
        }
        self.column(&first.content())
    }

    /// Returns the type of a column of a table.
    fn column_of(&self, table: &str, name: &str) -> Option<Kind> {
        let table = table.to_ascii_lowercase();
        let columns = self.tables.get(self.aliases.get(&table).unwrap_or(&table));
        let of_table = columns.and_then(|columns| kind_of(columns, name));
        of_table.or_else(|| self.column(name))
    }

    /// Returns the type of a column of that name in the tables, or of a result: none if they
    /// differ.
    fn column(&self, name: &str) -> Option<Kind> {
        let named = self.named.get(&name.to_ascii_lowercase()).copied();
        let of_tables = self.tables.values().filter_map(|columns| kind_of(columns, name));
        let mut kinds = of_tables.chain(named);
        let first = kinds.next()?;
        kinds.all(|kind| kind == first).then_some(first)
    }
}

/// Returns the type of a column by its name.
fn kind_of(columns: &Columns, name: &str) -> Option<Kind> {
    let mut columns = columns.iter();
    columns.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens::tokens;

    fn columns(name: &str) -> Option<Columns> {
        let column = |name: &str, kind| (name.to_string(), kind);
        if name == "other" {
            return Some(vec![column("at", Kind::Text), column("id", Kind::Int)]);
        }
        (name == "t").then(|| {
            vec![
                column("id", Kind::Int),
                column("at", Kind::Time),
                column("x", Kind::Float),
                column("name", Kind::Text),
                column("price", Kind::Numeric),
            ]
        })
    }

    #[test]
    fn parameters_have_the_types_of_their_columns() {
        use Kind::{Float, Int, Numeric, Text, Time};
        for (source, expected) in [
            ("INSERT INTO t VALUES ($1, $2, $3, $4, $5)", vec![Int, Time, Float, Text, Numeric]),
            ("INSERT INTO t (x, id) VALUES ($1, $2), ($3, $4)", vec![Float, Int, Float, Int]),
            ("SELECT * FROM t WHERE id = $1 AND t.at >= $2", vec![Int, Time]),
            ("SELECT * FROM t WHERE $1 < x OR name LIKE $2 LIMIT $3", vec![Float, Text, Int]),
            (
                "SELECT * FROM t WHERE id IN ($1, $2) AND at BETWEEN $3 AND $4",
                vec![Int, Int, Time, Time],
            ),
            ("UPDATE t SET x = x + $1, name = $2 WHERE id = $3", vec![Float, Text, Int]),
            ("SELECT id FROM t GROUP BY id HAVING count(*) > $1 AND sum(x) < $2", vec![Int, Float]),
            ("SELECT CAST($1 AS REAL) FROM t", vec![Float]),
            (
                "SELECT 1 FROM other o, t AS a WHERE o.at = $1 AND $2 < a.at AND id = $3",
                vec![Text, Time, Int],
            ),
        ] {
            let tokens = tokens(source);
            let mut known = Known::of(&tokens, &columns);
            known.find_parameters(&tokens);
            let found: Vec<_> =
                (1..=expected.len()).map(|at| known.parameters.get(&at).copied()).collect();
            let expected: Vec<_> = expected.into_iter().map(|kind| Some(kind.into())).collect();
            assert_eq!(found, expected, "{source}");
        }
        let source = "SELECT 1 FROM t WHERE at = ANY ($1) OR x <> ALL($2) OR 1 + id = SOME ($3)
                      OR id IN (SELECT id FROM t WHERE name = $4) OR id = ANY (ARRAY[$5, 7])";
        let tokens = crate::sql::tokens::tokens_of_arrays(source);
        let mut known = Known::of(&tokens, &columns);
        known.find_parameters(&tokens);
        let found: Vec<_> = (1..=5).map(|at| known.parameters[&at]).collect();
        let arrays = [Time, Float, Int].map(Taken::array_of);
        assert_eq!(found, [&arrays[..], &[Text.into(), Int.into()]].concat());
    }

    #[test]
    fn a_name_is_looked_up_once() {
        let asked = std::cell::RefCell::new(Vec::new());
        let find = |name: &str| {
            asked.borrow_mut().push(name.to_string());
            columns(name)
        };
        Known::of(&tokens("x X, t. \"x\" + T, y y"), &find);
        assert_eq!(asked.into_inner(), ["x", "t", "y"]);
    }

    #[test]
    fn results_have_the_types_of_their_expressions() {
        use Kind::{Bool, Float, Int, Numeric, Text, Time};
        for (source, expected) in [
            (
                "SELECT count(*), sum(x) AS s, max(at), min(name) least FROM t",
                vec![Int, Float, Time, Text],
            ),
            (
                "SELECT id + 1, x * 2, name || 'x', id > 7, NOT id FROM t",
                vec![Int, Float, Text, Bool, Bool],
            ),
            (
                "SELECT 1, 1.5, 'a', true, -1, avg(id), sum(price)",
                vec![Int, Float, Text, Bool, Int, Float, Numeric],
            ),
            (
                "WITH a AS (SELECT 'x') SELECT coalesce(NULL, id), (SELECT max(x) FROM t) FROM t",
                vec![Int, Float],
            ),
            ("INSERT INTO t VALUES (1) RETURNING id, length(name)", vec![Int, Int]),
            (
                "SELECT n, x.is_more, x.t FROM (SELECT count(*) AS n, id > 7 is_more, max(at) AS t
                 FROM t) AS x",
                vec![Int, Bool, Time],
            ),
            ("WITH a AS (SELECT sum(x) AS s FROM t) SELECT s + 1 FROM a", vec![Float]),
            (
                "SELECT CASE WHEN id = 1 THEN 'a' END, row_number() OVER (ORDER BY id) FROM t",
                vec![Text, Int],
            ),
            ("SELECT CURRENT_TIMESTAMP, clock_timestamp(), current_date AS d", vec![Time; 3]),
            ("SELECT $1::int8[], '{}'::text[]", vec![Text; 2]),
        ] {
            let tokens = tokens(source);
            let mut known = Known::of(&[&tokens[..], &super::tests::table()].concat(), &columns);
            known.find_parameters(&tokens);
            let found = known.results(&tokens, expected.len());
            assert_eq!(found, expected.into_iter().map(Some).collect::<Vec<_>>(), "{source}");
        }
        for odd in
            ["SELECT", "SELECT (", "SELECT f(", "INSERT INTO", "SELECT CASE", "$1", "VALUES ($1"]
        {
            let tokens = tokens(odd);
            let mut known = Known::of(&tokens, &columns);
            known.find_parameters(&tokens);
            known.results(&tokens, 3);
        }
    }

    fn table() -> Vec<Token<'static>> {
        tokens("t")
    }
}
