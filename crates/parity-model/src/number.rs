//! `serde` for numbers that may be infinite: JSON has no word for them and would store `null`.

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// Writes finite numbers as numbers and the others as `"inf"`, `"-inf"` and `"NaN"`.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if x.is_finite() {
        serializer.serialize_f64(*x)
    } else {
        serializer.serialize_str(&x.to_string())
    }
}

/// Reads what [`serialize`] writes.
///
/// # Errors
/// For anything else.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Number)
}

/// The same for a number that may be absent.
pub mod optional {
    use serde::{Deserializer, Serializer};

    /// Writes the number; of one that is absent, `skip_serializing_if` leaves out the field.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(x: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match x {
            Some(x) => super::serialize(x, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads what [`serialize`] writes; a missing field gives `default`.
    ///
    /// # Errors
    /// For anything else.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        super::deserialize(deserializer).map(Some)
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number, \"inf\", \"-inf\" or \"NaN\"")
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<f64, E> {
        Ok(x)
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<f64, E> {
        Ok(x as f64)
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<f64, E> {
        Ok(x as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        match text {
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            "NaN" => Ok(f64::NAN),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Metrics;

    #[test]
    fn infinite_errors_survive_json() {
        let metrics = Metrics {
            elements: 1,
            outside: 1,
            max_ulp: f64::INFINITY,
            max_abs: 0.5,
            max_rel: Some(f64::INFINITY),
            limit_used: 2.0,
            worst: None,
        };
        let json = serde_json::to_string(&metrics).unwrap();
        assert!(json.contains(r#""max_ulp":"inf""#), "{json}");
        assert_eq!(serde_json::from_str::<Metrics>(&json).unwrap(), metrics);
        assert!(json.contains(r#""max_rel":"inf""#), "{json}");
        let whole = json.replace("2.0", "2");
        assert_eq!(serde_json::from_str::<Metrics>(&whole).unwrap(), metrics);
        assert!(serde_json::from_str::<Metrics>(&json.replace("inf", "lots")).is_err());
    }

    #[test]
    fn a_record_from_before_the_relative_error_was_measured_is_written_as_it_was() {
        let old = r#"{"elements":1,"outside":0,"max_ulp":0.0,"max_abs":0.0,"limit_used":0.0,"worst":null}"#;
        let metrics: Metrics = serde_json::from_str(old).unwrap();
        assert_eq!(metrics.max_rel, None);
        assert_eq!(serde_json::to_string(&metrics).unwrap(), old);
    }
}
