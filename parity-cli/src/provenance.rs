//! Where and when this binary and this run come from.

/// parity's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit the binary was built from, where it was built in a checkout.
pub(crate) fn commit() -> Option<String> {
    option_env!("PARITY_COMMIT").map(str::to_owned)
}

/// Now, RFC 3339, UTC, whole seconds.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
