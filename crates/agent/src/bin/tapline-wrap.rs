//! `tapline wrap` as a process of its own, for tests and measurements.

#[cfg(unix)]
fn main() {
    use std::ffi::OsString;
    use tapline_agent::wrap::{self, Taps, WrapOptions, guard};

    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: tapline-wrap CMD ARG…");
        std::process::exit(2);
    };
    if program == "__guard" {
        let code = i32::from(guard::run().is_err());
        std::process::exit(code);
    }
    let options = WrapOptions {
        program,
        arguments: arguments.collect(),
        guard: std::env::current_exe()
            .ok()
            .map(|exe| vec![exe.into_os_string(), OsString::from("__guard")]),
    };
    match wrap::run(options, Taps::closed()) {
        Ok(end) => end.pass_on(),
        Err(error) => {
            eprintln!("tapline wrap: {error}");
            std::process::exit(error.code());
        }
    }
}

#[cfg(not(unix))]
fn main() {
    eprintln!("`tapline wrap` runs on Linux and macOS");
}
