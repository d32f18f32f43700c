//! A naive validator of JSON schemas (<https://json-schema.org/draft/2020-12>), for the part of the
//! language that Weir's own schemas use. A keyword that it does not know is an error, so that no
//! part of a schema goes unchecked.

use serde_json::{Map, Value};

/// Keywords that do not constrain a value.
const ANNOTATIONS: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// Checks a value against a schema. `Err` has the path of the first member that does not fit, and
/// the reason.
///
/// ```
/// use serde_json::json;
/// use weir_testkit::json_schema::check;
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
/// assert_eq!(check(&schema, &json!({ "n": 1 })), Ok(()));
/// let error = check(&schema, &json!({ "n": "1" }));
/// assert_eq!(error, Err("/n: \"1\" is not of the type integer".to_owned()));
/// ```
///
/// # Errors
/// If the value does not fit, or if the schema has a keyword that is not known here.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    check_at(schema, schema, value, "")
}

fn check_at(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let schema =
        schema.as_object().ok_or_else(|| format!("{path}: the schema is not an object"))?;
    for (keyword, rule) in schema {
        let fits = match keyword.as_str() {
            "$ref" => {
                check_at(root, referred(root, rule)?, value, path)?;
                true
            }
            "type" => list(rule).iter().any(|name| has_type(value, name)),
            "const" => value == rule,
            "enum" => list(rule).contains(value),
            "minimum" => value.as_f64() >= rule.as_f64() || !value.is_number(),
            "anyOf" => any_of(root, rule, value, path)?,
            "required" => match value.as_object() {
                Some(members) => list(rule).iter().all(|name| has_member(members, name)),
                None => true,
            },
            "properties" | "additionalProperties" => {
                check_members(root, schema, value, path)?;
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check_at(root, rule, item, &format!("{path}/{index}"))?;
                }
                true
            }
            known if ANNOTATIONS.contains(&known) => true,
            unknown => return Err(format!("{path}: the keyword {unknown} is not known")),
        };
        if !fits {
            return Err(refusal(keyword, rule, value, path));
        }
    }
    Ok(())
}

fn refusal(keyword: &str, rule: &Value, value: &Value, path: &str) -> String {
    let rule = rule.as_str().map_or_else(|| rule.to_string(), str::to_owned);
    match keyword {
        "type" => format!("{path}: {value} is not of the type {rule}"),
        _ => format!("{path}: {value} does not meet {keyword} {rule}"),
    }
}

/// A rule that may be a list, as a list.
fn list(rule: &Value) -> Vec<Value> {
    rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()])
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

fn has_member(members: &Map<String, Value>, name: &Value) -> bool {
    name.as_str().is_some_and(|name| members.contains_key(name))
}

/// The schema of a reference such as `#/$defs/report`.
fn referred<'a>(root: &'a Value, rule: &Value) -> Result<&'a Value, String> {
    let pointer = rule.as_str().and_then(|text| text.strip_prefix('#'));
    let found = pointer.and_then(|pointer| root.pointer(pointer));
    found.ok_or_else(|| format!("{rule} refers to nothing"))
}

fn any_of(root: &Value, rule: &Value, value: &Value, path: &str) -> Result<bool, String> {
    let mut refusals = Vec::new();
    for schema in list(rule) {
        match check_at(root, &schema, value, path) {
            Ok(()) => return Ok(true),
            Err(refusal) => refusals.push(refusal),
        }
    }
    Err(refusals.join("; nor: "))
}

/// Checks members by their names, and those without a schema by `additionalProperties`.
fn check_members(
    root: &Value,
    schema: &Map<String, Value>,
    value: &Value,
    path: &str,
) -> Result<(), String> {
    for (name, member) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        let own = schema.get("properties").and_then(|properties| properties.get(name));
        match (own, schema.get("additionalProperties")) {
            (Some(own), _) => check_at(root, own, member, &path)?,
            (None, Some(Value::Bool(false))) => {
                return Err(format!("{path}: is not in the schema"));
            }
            (None, Some(others @ Value::Object(_))) => check_at(root, others, member, &path)?,
            (None, _) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    #[test]
    fn every_keyword_accepts_and_refuses() {
        let object = json!({ "a": 1 });
        for (schema, accepted, refused) in [
            (json!({ "type": "string" }), json!("x"), json!(1)),
            (json!({ "type": "integer" }), json!(-1), json!(1.5)),
            (json!({ "type": "number" }), json!(1.5), json!("1")),
            (json!({ "type": "boolean" }), json!(true), json!(null)),
            (json!({ "type": "array" }), json!([]), json!({})),
            (json!({ "type": ["string", "null"] }), json!(null), json!([])),
            (json!({ "const": true }), json!(true), json!(false)),
            (json!({ "enum": ["a", "b"] }), json!("b"), json!("c")),
            (json!({ "minimum": 0 }), json!(0), json!(-1)),
            (json!({ "required": ["a"] }), object.clone(), json!({ "b": 1 })),
            (
                json!({ "properties": { "a": { "minimum": 0 } } }),
                object.clone(),
                json!({ "a": -1 }),
            ),
            (json!({ "additionalProperties": false }), json!({}), object.clone()),
            (
                json!({ "additionalProperties": { "minimum": 1 } }),
                object.clone(),
                json!({ "a": 0 }),
            ),
            (json!({ "items": { "type": "null" } }), json!([null]), json!([null, 1])),
            (json!({ "anyOf": [{ "const": 1 }, { "const": 2 }] }), json!(2), json!(3)),
            (
                json!({ "$ref": "#/$defs/x", "$defs": { "x": { "items": { "$ref": "#/$defs/y" } }, "y": { "const": 1 } } }),
                json!([1, 1]),
                json!([1, 2]),
            ),
        ] {
            assert_eq!(check(&schema, &accepted), Ok(()), "{schema}");
            assert!(check(&schema, &refused).is_err(), "{schema} accepts {refused}");
        }
    }

    #[test]
    fn mistakes_in_a_schema_are_errors() {
        for schema in [
            json!({ "maxLength": 3 }),
            json!({ "$ref": "#/$defs/nothing" }),
            json!({ "type": "text" }),
            Value::Bool(true),
        ] {
            assert!(check(&schema, &json!("x")).is_err(), "{schema}");
        }
    }
}
