//! Many cases on both processors.

/// Works on several things at a time, and fails if one of them does.
pub fn on_all<T: Sync>(things: &[T], work: impl Fn(&T) -> Result<(), String> + Sync) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let half = things.len().div_ceil(2).max(1);
        let work = &work;
        let threads: Vec<_> = things
            .chunks(half)
            .map(|part| {
                scope.spawn(move || part.iter().filter_map(|thing| work(thing).err()).collect())
            })
            .collect();
        threads.into_iter().flat_map(|thread| -> Vec<_> { thread.join().expect("ends") }).collect()
    });
    let some = wrong.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} went wrong:\n{some}", wrong.len(), things.len());
}
