//! The dialects, through the whole path: what is recorded of each agent's own way of speaking.
//!
//! A file per agent; each test is named by the rule it holds.

mod claude;
mod cline;
mod codex;
mod deepagents;
mod gemini;
mod golden;
mod hermes;
mod kimi;
mod names;
mod omp;
mod opencode;
mod others;
mod pi;
mod qwen;
mod talk;
mod tools_apart;
