//! JSON as json-c reads it for rt-app, with the place of every value.
//!
//! Source: the behaviour of json-c 0.16 without `JSON_TOKENER_STRICT`, as rt-app calls it: comments
//! as in C and C++, strings in double or single quotes, a comma before a closing bracket, leading
//! zeros, words such as `TRUE` in any case, anything behind the first value; not deeper than 32. Unlike
//! json-c, an object keeps all of its entries, also those whose key it has already.

/// Values may be nested so deep (`JSON_TOKENER_DEFAULT_DEPTH`).
const MAX_DEPTH: usize = 32;

/// A value and where it begins, in bytes from the start of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    /// Numbers beyond the range of 64 bits are at its end.
    Int(i64),
    /// A number with a fraction or an exponent, of which nothing more is needed.
    Double,
    Text(String),
    Array(Vec<Value>),
    Object(Vec<Entry>),
}

/// An entry of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key begins.
    pub(super) at: usize,
    pub(super) value: Value,
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) what: String,
}

impl Wrong {
    pub(super) fn new(at: usize, what: impl Into<String>) -> Wrong {
        Wrong { at, what: what.into() }
    }
}

impl Kind {
    /// Its name with an article.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) => "an integer",
            Kind::Double => "a number that is no integer",
            Kind::Text(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }
}

/// The first value of `text`; what follows it is not looked at. A key may be without a value if
/// `lone_keys`, as workgen allows: its value is null.
pub(super) fn read(text: &str, lone_keys: bool) -> Result<Value, Wrong> {
    let mut reader = Reader { text, at: 0, depth: 0, lone_keys };
    reader.space()?;
    reader.value()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    lone_keys: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn found(&self) -> String {
        match self.peek() {
            None => "the end of the file".to_owned(),
            Some(c) if c.is_control() => format!("the character U+{:04X}", u32::from(c)),
            Some(c) => format!("`{c}`"),
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T, Wrong> {
        Err(Wrong::new(self.at, format!("expected {what}, found {}", self.found())))
    }

    /// White space and comments.
    fn space(&mut self) -> Result<(), Wrong> {
        loop {
            let rest = self.rest();
            let blanks =
                rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']).len();
            self.at += blanks;
            let rest = self.rest();
            if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(Wrong::new(self.at, "the comment that begins here has no end"));
                };
                self.at += end + 4;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<Value, Wrong> {
        let at = self.at;
        let kind = match self.peek() {
            Some('{') => self.nested(Reader::object)?,
            Some('[') => self.nested(Reader::array)?,
            Some(quote @ ('"' | '\'')) => Kind::Text(self.string(quote)?),
            Some('-' | '0'..='9') => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            _ => return self.expected("a value"),
        };
        Ok(Value { at, kind })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Kind, Wrong>) -> Result<Kind, Wrong> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let what = format!("nested deeper than the {MAX_DEPTH} levels that json-c reads");
            return Err(Wrong::new(self.at, what));
        }
        self.at += 1;
        self.space()?;
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn object(&mut self) -> Result<Kind, Wrong> {
        let mut entries = Vec::new();
        loop {
            let at = self.at;
            let key = match self.peek() {
                Some('}') => break self.at += 1,
                Some(quote @ ('"' | '\'')) => self.string(quote)?,
                _ => return self.expected("a key in quotes or `}`"),
            };
            self.space()?;
            let value = match self.peek() {
                Some(':') => {
                    self.at += 1;
                    self.space()?;
                    self.value()?
                }
                Some(',' | '}') if self.lone_keys => Value { at, kind: Kind::Null },
                _ => return self.expected(&format!("`:` behind the key `{key}`")),
            };
            entries.push(Entry { key, at, value });
            if self.ends('}')? {
                break;
            }
        }
        Ok(Kind::Object(entries))
    }

    fn array(&mut self) -> Result<Kind, Wrong> {
        let mut items = Vec::new();
        loop {
            if self.peek() == Some(']') {
                self.at += 1;
                break;
            }
            items.push(self.value()?);
            if self.ends(']')? {
                break;
            }
        }
        Ok(Kind::Array(items))
    }

    /// Behind an item: whether its container ends here; else there is a comma.
    fn ends(&mut self, close: char) -> Result<bool, Wrong> {
        self.space()?;
        let ends = match self.peek() {
            Some(c) if c == close => true,
            Some(',') => false,
            _ => return self.expected(&format!("`,` or `{close}`")),
        };
        self.at += 1;
        if !ends {
            self.space()?;
        }
        Ok(ends)
    }

    fn string(&mut self, quote: char) -> Result<String, Wrong> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else {
                return Err(Wrong::new(start, "the string that begins here has no end"));
            };
            self.at += c.len_utf8();
            match c {
                c if c == quote => return Ok(text),
                '\\' => text.push(self.escaped()?),
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, Wrong> {
        let at = self.at - 1;
        let c = self.peek();
        self.at += c.map_or(0, char::len_utf8);
        Ok(match c {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let digits = self.rest().get(..4);
                let code = digits.and_then(|hex| u32::from_str_radix(hex, 16).ok());
                let Some(code) = code else {
                    return Err(Wrong::new(at, "expected four hexadecimal digits behind `\\u`"));
                };
                self.at += 4;
                // Half of a pair is replaced, as json-c does with one that is alone.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(Wrong::new(at, "no escape of JSON begins so")),
        })
    }

    fn number(&mut self) -> Result<Kind, Wrong> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        let digits = word.strip_prefix('-').unwrap_or(word);
        let kind = if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let end = if digits.len() < word.len() { i64::MIN } else { i64::MAX };
            Kind::Int(word.parse().unwrap_or(end))
        } else if word.parse::<f64>().is_ok() {
            Kind::Double
        } else {
            return Err(Wrong::new(self.at, format!("`{word}` is no number")));
        };
        self.at += length;
        Ok(kind)
    }

    fn word(&mut self) -> Result<Kind, Wrong> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let word = rest[..length].to_ascii_lowercase();
        let kind = match word.as_str() {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "nan" | "infinity" => Kind::Double,
            _ => return Err(Wrong::new(self.at, format!("expected a value, found `{word}`"))),
        };
        self.at += length;
        Ok(kind)
    }
}

/// Line and column of a place, both from 1; columns are characters.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}
