//! Notes where the compiler of this build keeps its libraries: rustup's toolchains carry an LLVM.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(compiler).args(["--print", "sysroot"]).output();
    let sysroot = sysroot.ok().filter(|output| output.status.success());
    let sysroot = sysroot.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo::rustc-env=DIFFEO_SYSROOT={}", sysroot.unwrap_or_default().trim());
}
