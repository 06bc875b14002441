//! Amounts of memory as users write them: `512MiB`.

use crate::exit::{Exit, Failure};

/// Units, and how many doublings of a byte each is.
const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];

/// The bytes that the text of an option says.
pub(crate) fn bytes(option: &str, text: &str) -> Result<u64, Failure> {
    let read = || {
        let unit = |(unit, shift): &(&str, u32)| Some((text.strip_suffix(unit)?, *shift));
        let (number, shift) = UNITS.iter().find_map(unit)?;
        let number: u64 = number.trim_end().parse().ok()?;
        number.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
    };
    read().ok_or_else(|| {
        let message =
            format!("bad {option} `{text}`: expected a whole number of B, KiB, MiB, GiB or TiB, e.g. 2GiB");
        Failure::new(Exit::Usage, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_and_a_unit() {
        for (text, want) in [
            ("1B", 1),
            ("3KiB", 3 << 10),
            ("512MiB", 512 << 20),
            ("2 GiB", 2 << 30),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(bytes("--memory-limit", text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_met_with_one() {
        for text in [
            "",
            "2",
            "GiB",
            "-1GiB",
            "1.5GiB",
            "0MiB",
            "2GB",
            "2gib",
            "99999999999TiB",
        ] {
            let failure = bytes("--memory-limit", text).unwrap_err();
            assert!(
                failure.exit == Exit::Usage && failure.message.contains("e.g. 2GiB"),
                "{text}: {}",
                failure.message
            );
        }
    }
}
