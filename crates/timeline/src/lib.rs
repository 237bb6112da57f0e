//! tapline-timeline
