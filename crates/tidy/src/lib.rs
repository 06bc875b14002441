//! The repository's invariants, as tests: see `tests/`. ARCHITECTURE.md says why each one stands.
