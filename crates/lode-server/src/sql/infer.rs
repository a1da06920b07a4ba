//! The types of parameters and results that SQLite does not know, by the text of a statement.
//!
//! A parameter that is compared with a column, assigned to it or inserted in its place has the
//! column's type. A result that is no column has the type of its expression as far as functions,
//! casts and operators tell. What stays unknown is text.

use std::collections::HashMap;

use crate::sql::tokens::{Form, Token, closing, opening};
use crate::types::Kind;

/// The columns of a table, in their order.
pub(crate) type Columns = Vec<(String, Kind)>;

/// The knowledge that types are found by.
#[derive(Default)]
pub(crate) struct Known {
    /// The tables that the statement names, by their names in lower case.
    tables: HashMap<String, Columns>,
    /// The types of parameters by their numbers.
    pub parameters: HashMap<usize, Kind>,
}

/// Words that precede a number of rows.
const COUNTS: [&str; 2] = ["LIMIT", "OFFSET"];
const COMPARISONS: [&str; 6] = ["LIKE", "GLOB", "IS", "IN", "BETWEEN", "REGEXP"];
const LOGIC: [&str; 4] = ["AND", "OR", "NOT", "EXISTS"];

/// Functions whose result has the type of the first argument.
const OF_ARGUMENT: [&str; 13] = [
    "min",
    "max",
    "abs",
    "coalesce",
    "ifnull",
    "nullif",
    "first_value",
    "last_value",
    "lag",
    "lead",
    "nth_value",
    "likely",
    "iif",
];
const INTS: [&str; 17] = [
    "count",
    "length",
    "octet_length",
    "unixepoch",
    "instr",
    "unicode",
    "changes",
    "random",
    "row_number",
    "rank",
    "dense_rank",
    "ntile",
    "sign",
    "total_changes",
    "json_array_length",
    "last_insert_rowid",
    "pg_backend_pid",
];
const FLOATS: [&str; 13] = [
    "avg",
    "total",
    "round",
    "julianday",
    "sqrt",
    "pow",
    "power",
    "exp",
    "ln",
    "log",
    "percent_rank",
    "cume_dist",
    "pi",
];
const TEXTS: [&str; 20] = [
    "upper",
    "lower",
    "trim",
    "ltrim",
    "rtrim",
    "substr",
    "substring",
    "replace",
    "printf",
    "format",
    "hex",
    "quote",
    "typeof",
    "group_concat",
    "string_agg",
    "char",
    "date",
    "datetime",
    "strftime",
    "version",
];
const DECIMALS: [&str; 4] = ["decimal_add", "decimal_sub", "decimal_mul", "decimal_sum"];

impl Known {
    /// Looks up the tables that a statement names.
    pub(crate) fn of(tokens: &[Token<'_>], find: &dyn Fn(&str) -> Option<Columns>) -> Self {
        let mut tables = HashMap::new();
        for token in tokens.iter().filter(|token| token.is_name()) {
            let name = token.content();
            let key = name.to_ascii_lowercase();
            if !tables.contains_key(&key)
                && let Some(columns) = find(&name)
            {
                tables.insert(key, columns);
            }
        }
        Self { tables, parameters: HashMap::new() }
    }

    /// Finds the types of parameters that are not known yet.
    pub(crate) fn find_parameters(&mut self, tokens: &[Token<'_>]) {
        self.find_inserted(tokens);
        for at in 0..tokens.len() {
            let Some(number) = tokens[at].parameter() else { continue };
            if !self.parameters.contains_key(&number)
                && let Some(kind) = self.beside(tokens, at)
            {
                self.parameters.insert(number, kind);
            }
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
                if let ([only], Some(kind)) = (item, kind)
                    && let Some(number) = only.parameter()
                {
                    self.parameters.entry(number).or_insert(*kind);
                }
            }
            at = close + 1;
            if tokens.get(at).is_some_and(|token| token.is_sign(",")) {
                at += 1;
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
            let between = (0..end).rev().find(|at| is(*at, "BETWEEN"))?;
            end = if end - between <= 4 { between + 1 } else { return None };
        }
        let list = before[..end].iter().rposition(|token| {
            !(token.is_sign(",")
                || matches!(token.form, Form::Parameter | Form::Number | Form::Text))
        })?;
        if before[list].is_sign("(") && list > 0 && is(list - 1, "IN") {
            end = list;
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
        let start = if last.is_sign(")") {
            opening(operand, operand.len() - 1).saturating_sub(1)
        } else {
            operand.len() - 1
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
        let name = if is_qualified { after.get(signs + 2)? } else { first };
        self.column(&name.content())
    }

    /// Returns the type of a column of that name in any of the tables.
    fn column(&self, name: &str) -> Option<Kind> {
        let mut columns = self.tables.values().flatten();
        columns.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, kind)| *kind)
    }

    /// Returns the types of the results, as far as they are known; `count` is how many there are.
    pub(crate) fn results(&self, tokens: &[Token<'_>], count: usize) -> Vec<Option<Kind>> {
        let mut kinds = vec![None; count];
        let list = list(tokens);
        let found = items(list);
        if found.len() == count {
            kinds = found.iter().map(|item| self.kind(item)).collect();
        } else if found.len() < count {
            // A star stands for several columns, which are known otherwise.
            let starts = found.iter().rev().take_while(|item| !item.iter().any(|t| t.is_sign("*")));
            for (place, item) in kinds.iter_mut().rev().zip(starts) {
                *place = self.kind(item);
            }
        }
        kinds
    }

    /// Returns the type of an expression.
    fn kind(&self, item: &[Token<'_>]) -> Option<Kind> {
        let item = without_name(item);
        match item {
            [only] => return self.single(only),
            [_, dot, name] if dot.is_sign(".") && name.is_name() => {
                return self.column(&name.content());
            }
            [minus, number] if minus.is_sign("-") => return self.single(number),
            [] => return None,
            _ => {}
        }
        if let [.., cast, name] = item
            && cast.form == Form::Cast
        {
            return Kind::of_name(&name.content());
        }
        if item[0].is_sign("(") && closing(item, 0) == item.len() - 1 {
            let inner = &item[1..item.len() - 1];
            return match inner.first() {
                Some(first) if first.is_word("SELECT") => self.kind(items(list(inner)).first()?),
                _ => self.kind(inner),
            };
        }
        if item[0].is_word("CASE") {
            let then = item.iter().position(|token| token.is_word("THEN"))? + 1;
            let ends = ["WHEN", "ELSE", "END"];
            let end = item[then..].iter().position(|t| ends.iter().any(|word| t.is_word(word)))?;
            return self.kind(&item[then..then + end]);
        }
        self.operation(item).or_else(|| self.call(item))
    }

    fn single(&self, token: &Token<'_>) -> Option<Kind> {
        match token.form {
            Form::Number if token.text.contains(['.', 'e', 'E']) && !token.text.contains('x') => {
                Some(Kind::Float)
            }
            Form::Number => Some(Kind::Int),
            Form::Text if token.text.starts_with(['x', 'X']) => Some(Kind::Bytes),
            Form::Text => Some(Kind::Text),
            Form::Parameter => self.parameters.get(&token.parameter()?).copied(),
            _ if token.is_word("true") || token.is_word("false") => Some(Kind::Bool),
            Form::Word | Form::Quoted => self.column(&token.content()),
            Form::Cast | Form::Sign => None,
        }
    }

    /// Returns the type of an expression with an operator outside of brackets.
    fn operation(&self, item: &[Token<'_>]) -> Option<Kind> {
        let mut depth = 0_usize;
        let mut operators = Vec::new();
        for (at, token) in item.iter().enumerate() {
            match token.text {
                "(" if token.form == Form::Sign => depth += 1,
                ")" if token.form == Form::Sign => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                _ if token.form == Form::Sign && "=<>!|+-*/%".contains(token.text) => {
                    operators.push(at);
                }
                _ if LOGIC.iter().chain(&COMPARISONS).any(|word| token.is_word(word)) => {
                    return Some(Kind::Bool);
                }
                _ => {}
            }
        }
        let is = |signs: &str| operators.iter().any(|at| signs.contains(item[*at].text));
        if is("=<>!") {
            return Some(Kind::Bool);
        }
        if is("|") {
            return Some(Kind::Text);
        }
        let first = *operators.first()?;
        let kinds = [self.kind(&item[..first]), self.kind(&item[first + 1..])];
        let has = |kind: Kind| kinds.contains(&Some(kind));
        if has(Kind::Float) {
            Some(Kind::Float)
        } else if has(Kind::Numeric) {
            Some(Kind::Numeric)
        } else if has(Kind::Int) || has(Kind::Time) {
            Some(Kind::Int)
        } else {
            None
        }
    }

    /// Returns the type of a call of a function.
    fn call(&self, item: &[Token<'_>]) -> Option<Kind> {
        let open = item.iter().position(|token| token.is_sign("("))?;
        let name = item[open.checked_sub(1)?].content();
        let inside = &item[open + 1..closing(item, open).max(open + 1)];
        let arguments = items(inside);
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is(&["cast"]) {
            let at = inside.iter().rposition(|token| token.is_word("AS"))?;
            let kind = inside.get(at + 1)?.content();
            return Kind::of_name(&kind).or_else(|| Kind::of_declared(&kind));
        }
        if is(&["sum"]) {
            return match self.kind(arguments.first()?) {
                Some(Kind::Bool) => Some(Kind::Int),
                other => other,
            };
        }
        if is(&OF_ARGUMENT) {
            let first = usize::from(is(&["iif"]));
            return arguments.iter().skip(first).find_map(|argument| self.kind(argument));
        }
        let lists: [(&[&str], Kind); 4] = [
            (&INTS, Kind::Int),
            (&FLOATS, Kind::Float),
            (&TEXTS, Kind::Text),
            (&DECIMALS, Kind::Numeric),
        ];
        lists.iter().find(|(names, _)| is(names)).map(|(_, kind)| *kind)
    }
}

/// Returns the items between commas that are outside of brackets.
fn items<'l, 't>(list: &'l [Token<'t>]) -> Vec<&'l [Token<'t>]> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, token) in list.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if token.is_sign(",") && depth == 0 {
            found.push(&list[start..at]);
            start = at + 1;
        }
    }
    if start < list.len() {
        found.push(&list[start..]);
    }
    found
}

/// Returns the list of results: after `SELECT` up to `FROM`, or after `RETURNING`.
fn list<'l, 't>(tokens: &'l [Token<'t>]) -> &'l [Token<'t>] {
    let mut depth = 0_usize;
    let mut start = None;
    let ends = ["FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT"];
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && (token.is_word("SELECT") || token.is_word("RETURNING")) {
            let distinct = tokens.get(at + 1).is_some_and(|next| next.is_word("DISTINCT"));
            start = Some(at + 1 + usize::from(distinct));
        } else if depth == 0
            && (token.is_sign(";") || ends.iter().any(|word| token.is_word(word)))
            && let Some(start) = start
        {
            return &tokens[start..at];
        }
    }
    start.map_or(&[], |start| &tokens[start..])
}

/// Returns an item without the name that it is given.
fn without_name<'l, 't>(item: &'l [Token<'t>]) -> &'l [Token<'t>] {
    match item {
        [rest @ .., word, name] if word.is_word("AS") && name.is_name() => rest,
        [rest @ .., last, name]
            if name.is_name()
                && (last.is_name() || last.is_sign(")") || last.form == Form::Number)
                && !name.is_word("END")
                && !LOGIC.iter().chain(&COMPARISONS).any(|word| last.is_word(word)) =>
        {
            &item[..rest.len() + 1]
        }
        _ => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens::tokens;

    fn columns(name: &str) -> Option<Columns> {
        let column = |name: &str, kind| (name.to_string(), kind);
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
        ] {
            let tokens = tokens(source);
            let mut known = Known::of(&tokens, &columns);
            known.find_parameters(&tokens);
            let found: Vec<_> =
                (1..=expected.len()).map(|at| known.parameters.get(&at).copied()).collect();
            assert_eq!(found, expected.into_iter().map(Some).collect::<Vec<_>>(), "{source}");
        }
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
                "SELECT CASE WHEN id = 1 THEN 'a' ELSE 'b' END, row_number() OVER (ORDER BY id) FROM t",
                vec![Text, Int],
            ),
        ] {
            let tokens = tokens(source);
            let known = Known::of(&[&tokens[..], &super::tests::table()].concat(), &columns);
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
