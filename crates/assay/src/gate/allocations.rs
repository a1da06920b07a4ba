//! Counts allocations in a profile that callgrind wrote.
//!
//! A profile has the executions of each instruction. A function's first instruction, the lowest of
//! its addresses, is executed once a call, so its count is the number of calls within the spans.
//! The profile's own numbers of calls will not do: they have those outside of spans too.

use std::collections::HashMap;

/// The functions of the C library that allocate. Rust and C++ come to them too.
const ALLOCATE: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
];

/// Returns the number of allocations in a profile with a line for each instruction.
pub(super) fn allocations(profile: &str) -> u64 {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut total = 0;
    // The lowest address of an allocating function, and its executions.
    let mut entry: Option<(u64, u64)> = None;
    let mut is_inside = false;
    let mut is_cost_of_call = false;
    for line in profile.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            total += entry.take().map_or(0, |(_, executions)| executions);
            is_inside = ALLOCATE.contains(&plain(named(&mut names, function)));
        } else if let Some(function) = line.strip_prefix("cfn=") {
            named(&mut names, function);
        } else if line.starts_with("calls=") {
            is_cost_of_call = true;
        } else if let Some(cost) = line.strip_prefix("0x") {
            if is_inside
                && !is_cost_of_call
                && let Some((address, executions)) = first_two(cost)
                && entry.is_none_or(|(lowest, _)| address < lowest)
            {
                entry = Some((address, executions));
            }
            is_cost_of_call = false;
        }
    }
    total + entry.map_or(0, |(_, executions)| executions)
}

/// Returns the name of a function that a line names by a number, `(12)`, or by both, `(12) malloc`.
fn named<'p>(names: &mut HashMap<&'p str, &'p str>, function: &'p str) -> &'p str {
    match function.split_once(") ") {
        Some((number, name)) => {
            names.insert(number, name);
            name
        }
        None => names.get(function.trim_end_matches(')')).copied().unwrap_or(function),
    }
}

/// Returns a function's name without the version of its symbol and the prefix of the C library.
fn plain(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    name.strip_prefix("__libc_").unwrap_or(name)
}

/// Returns the address and the executions of an instruction.
fn first_two(cost: &str) -> Option<(u64, u64)> {
    let mut words = cost.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    Some((address, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_instructions_of_allocating_functions_are_counted() {
        let profile = "positions: instr\nevents: Ir Dr\nsummary: 99 1\n\n\
            fn=(7) insert\n0x10 400\ncfn=(8) malloc\ncalls=4711 0x30\n0x14 90 8\n\
            fn=(8)\n0x34 900 1\n0x30 12\n0x32 12\ncfn=(9) _int_malloc\ncalls=3 0x8\n0x20 5000 1\n\
            fn=(10) free\n0x50 77\n\
            fn=(11) __libc_calloc\nfi=(2)\n0x60 3\n\
            fn=(12) posix_memalign@@GLIBC_2.2.5\n0x70 2\n0x78 1\n";
        assert_eq!(allocations(profile), 12 + 3 + 2);
        assert_eq!(allocations(""), 0);
    }
}
