//! A hosted session, against the scripted agent as a real process, in a real journal.
#![cfg(unix)]

mod raw;
mod rig;

mod cc;
mod chat;
mod cm;
mod cn;
mod cp;
mod cr;
mod kill;
mod process;
mod rb;
mod zoo;
