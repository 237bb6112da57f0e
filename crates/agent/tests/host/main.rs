//! A hosted session, against the scripted agent as a real process, in a real journal.
#![cfg(unix)]

mod rig;
mod wire;

mod chat;
mod ra;
mod rq;
mod rd;
mod rf;
mod rl;
mod rs;
mod ru;
