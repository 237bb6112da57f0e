//! The owner of a terminal as a process of its own, for the test that kills it.
//!
//! It runs the line of shell that it is given in a terminal, prints the first line of the output once it is there, and waits
//! to be killed.

#[cfg(unix)]
fn main() {
    use std::path::PathBuf;
    use std::time::Duration;

    use tapline_agent::files::Folders;
    use tapline_agent::terminals::{Spec, Terminals};
    use tapline_agent::wrap::guard;

    let Some(line) = std::env::args().nth(1) else {
        eprintln!("usage: tapline-terminals LINE");
        std::process::exit(2);
    };
    if line == "__guard" {
        let code = i32::from(guard::run().is_err());
        std::process::exit(code);
    }
    let run = || -> Result<(), Box<dyn std::error::Error>> {
        let exe = std::env::current_exe()?.into_os_string();
        let folders = Folders::open(&PathBuf::from("/"), &[])?;
        let mut terminals = Terminals::new(folders, Some(vec![exe, "__guard".into()]));
        let id = terminals.create(Spec {
            command: line,
            ..Spec::default()
        })?;
        loop {
            let output = terminals.output(&id)?;
            if let Some((first, _)) = output.text.split_once('\n') {
                println!("{first}");
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        loop {
            std::thread::park();
        }
    };
    if let Err(error) = run() {
        eprintln!("tapline-terminals: {error}");
        std::process::exit(1);
    }
}

#[cfg(not(unix))]
fn main() {
    eprintln!("terminals run on Linux and macOS");
}
