//! Writes the conversation of the benches to standard output, for benches in other languages.

#[path = "../benches/conversation/mod.rs"]
mod conversation;

fn main() {
    println!("{}", conversation::conversation());
}
