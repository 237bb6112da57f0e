//! tapline-agent
