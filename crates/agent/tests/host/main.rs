//! A hosted session, against the scripted agent as a real process, in a real journal.
#![cfg(unix)]

mod process;
mod raw;
mod rig;
mod wire;

mod answers;
mod cc;
mod chat;
mod cm;
mod cn;
mod cp;
mod cr;
mod docs;
mod kill;
mod ra;
mod rb;
mod rd;
mod rf;
mod rk;
mod rl;
mod rq;
mod rs;
mod ru;
mod trouble;
mod waiting;
mod zoo;
