//! Writes JSON, for what is built with every program or launcher and only tells: no reader, no derived code.
//!
//! Invariant: what is written is JSON, whatever the texts hold. Members stay in the order that they are given in.
#![forbid(unsafe_code)]

use std::fmt::{self, Display, Write};

/// A value as JSON writes it.
#[derive(Clone, Debug)]
pub struct Json(String);

impl Json {
    /// An object.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
        let members = members.into_iter().map(|(name, value)| format!("{}:{value}", Json::from(name)));
        Json(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
    }

    /// An array.
    pub fn list<T: Into<Json>>(items: impl IntoIterator<Item = T>) -> Json {
        let items = items.into_iter().map(|item| item.into().0);
        Json(format!("[{}]", items.collect::<Vec<_>>().join(",")))
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        let mut quoted = String::from('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => quoted.extend(['\\', character]),
                control if control < ' ' => _ = write!(quoted, "\\u{:04x}", control as u32),
                plain => quoted.push(plain),
            }
        }
        Json(quoted + "\"")
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::from(&*text)
    }
}

impl From<f64> for Json {
    /// JSON has no number that is not finite; such a one is not known.
    fn from(number: f64) -> Json {
        Json(if number.is_finite() { format!("{number:?}") } else { "null".into() })
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or_else(|| Json("null".into()), T::into)
    }
}

macro_rules! as_displayed {
    ($($kind:ty)*) => { $(
        impl From<$kind> for Json {
            fn from(value: $kind) -> Json {
                Json(value.to_string())
            }
        }
    )* };
}

as_displayed!(bool i32 u32 u64);

impl Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parsed(written: impl Into<Json>) -> Value {
        let written = written.into().to_string();
        serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"))
    }

    #[test]
    fn any_text_can_be_read_again() {
        let controls: String = (0..=0xa0).filter_map(char::from_u32).collect();
        for text in
            ["", "plain", "\"quoted\" \\ back", "C:\\new\\table", "Wärme, 熱, 🔥, \u{2028}", &controls]
        {
            assert_eq!(parsed(text), text);
            assert_eq!(parsed(text.to_owned()), text);
            assert_eq!(parsed(Json::object([(text, 1u32.into())])), json!({ text: 1 }));
        }
    }

    #[test]
    fn any_number_can_be_read_again() {
        assert_eq!(parsed(u64::MAX), u64::MAX);
        assert_eq!(parsed(u32::MAX), u32::MAX);
        assert_eq!(parsed(i32::MIN), i32::MIN);
        for number in [0.0, -0.5, 1.5, 2.0, 1e300, f64::MIN_POSITIVE, f64::MAX, u64::MAX as f64 / 1000.0] {
            assert_eq!(parsed(number), number);
        }
        assert_eq!(parsed(f64::NAN), Value::Null);
        assert_eq!(parsed(f64::NEG_INFINITY), Value::Null);
    }

    #[test]
    fn values_may_hold_values() {
        let inner =
            Json::object([("yes", true.into()), ("none", None::<u32>.into()), ("some", Some(3).into())]);
        let lists = [Json::list([1u32, 2]), Json::list([""; 0]), inner, Json::object([])];
        let expected = json!([[1, 2], [], { "yes": true, "none": null, "some": 3 }, {}]);
        assert_eq!(parsed(Json::list(lists)), expected);
    }
}
