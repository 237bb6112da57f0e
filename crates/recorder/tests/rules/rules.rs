//! Rules of the design that the translator keeps, each test named by its rule.
