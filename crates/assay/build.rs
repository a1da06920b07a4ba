//! Hands the binary what it was built with.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").expect("cargo names the compiler");
    let output = Command::new(rustc).arg("--version").output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    println!("cargo::rustc-env=ASSAY_RUSTC={text}");
    for name in ["TARGET", "OPT_LEVEL"] {
        let value = std::env::var(name).expect("cargo sets it");
        println!("cargo::rustc-env=ASSAY_{name}={value}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
