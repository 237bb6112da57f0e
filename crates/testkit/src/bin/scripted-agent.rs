//! The scripted agent as a process of its own, for tests.

fn main() {
    tapline_testkit::command::run(std::env::args().skip(1)).end_process()
}
