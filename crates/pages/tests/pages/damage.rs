//! Reports with any value in any place, and reports that end too soon.

use proptest::prelude::*;
use serde_json::{Value, json};
use simsched_pages::{page, read};

use crate::made::{document, run};
use crate::page::xml;

/// A value of any kind.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!(1e300)),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[0, 99_999_999_999_u64, 1]])),
        Just(json!([[]])),
        Just(json!({ "x": 1 })),
        "\\PC{0,12}".prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
    ]
}

/// The keys of all values of a run.
fn keys() -> Vec<String> {
    fn walk(value: &Value, key: &str, keys: &mut Vec<String>) {
        let mut inside = |name: &str, value: &Value| {
            let key = if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
            walk(value, &key, keys);
            keys.push(key);
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| inside(name, value)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(idx, value)| inside(&idx.to_string(), value));
            }
            _ => {}
        }
    }
    let mut keys = Vec::new();
    walk(&run("cfs", 1), "", &mut keys);
    keys
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A file is refused with its name, or makes a page that is well-formed.
    #[test]
    fn no_value_breaks_a_page(changes in proptest::collection::vec(
        (proptest::sample::select(keys()), value()), 1..4)
    ) {
        let mut broken = run("bias", 1);
        for (key, value) in &changes {
            let found = key.split('.').try_fold(&mut broken, |value, part| match value {
                Value::Object(map) => map.get_mut(part),
                Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
                _ => None,
            });
            if let Some(found) = found {
                *found = value.clone();
            }
        }
        match read("b.json", &broken.to_string()) {
            Err(error) => prop_assert!(error.to_string().starts_with("b.json: "), "{error}"),
            Ok(other) => {
                let html = page(&[document("a.json", &run("cfs", 1)), other]);
                xml(&html);
            }
        }
    }

    #[test]
    fn a_file_that_was_cut_off_is_refused_with_its_line(part in 0.0..0.999f64) {
        let text = serde_json::to_string_pretty(&run("cfs", 1)).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of it")]
        let end = (part * text.len() as f64) as usize;
        let error = read("a.json", &text[..end]).unwrap_err().to_string();
        prop_assert!(error.starts_with("a.json: line "), "{error}");
    }
}
