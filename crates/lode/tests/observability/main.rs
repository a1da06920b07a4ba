//! Reports of databases to a recorder of metrics and to a subscriber of events.

mod events;
mod metrics;
#[path = "../../examples/observed.rs"]
mod observed;
mod support;

#[test]
fn the_example_runs() {
    observed::main().expect("it runs");
}
