//! A hosted session, against the scripted agent as a real process, in a real journal.
#![cfg(unix)]

mod rig;
mod wire;

mod answers;
mod chat;
mod child;
mod ra;
mod rd;
mod rf;
mod rk;
mod rl;
mod rq;
mod rs;
mod ru;
mod trouble;
mod waiting;
