//! A hosted session, against the scripted agent as a real process, in a real journal.
#![cfg(unix)]

mod raw;
mod rig;

mod chat;
mod cp;
mod cr;
