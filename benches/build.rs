//! Compiles the hand-written C++ loops, with the flags that the drivers' C++ has.

fn main() {
    println!("cargo::rerun-if-changed=src/plain_loops.cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .opt_level(3)
        .warnings(true)
        .file("src/plain_loops.cpp")
        .compile("plain_loops");
}
