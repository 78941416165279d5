use std::env;
use std::fmt;

/// Why a port cannot be used.
#[derive(Debug, PartialEq)]
pub enum PortError {
    NotANumber(String),
    OutOfRange(i64),
    Negative(i64),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortError::NotANumber(text) => write!(f, "{text:?} is no number"),
            PortError::OutOfRange(n) => write!(f, "{n} is no port"),
            PortError::Negative(n) => write!(f, "{n} is negative"),
        }
    }
}

/// Reads a port: a number from 1 to 65535.
pub fn parse(text: &str) -> Result<u16, PortError> {
    let n: i64 = text
        .trim()
        .parse()
        .map_err(|_| PortError::NotANumber(text.to_string()))?;
    if !(1..=65535).contains(&n) {
        return Err(PortError::OutOfRange(n));
    }
    if n < 0 {
        return Err(PortError::Negative(n));
    }
    Ok(n as u16)
}

/// The port of the environment, 8080 when none is set.
pub fn from_env() -> Result<u16, PortError> {
    match env::var("PORT") {
        Ok(text) => parse(&text),
        Err(_) => Ok(8080),
    }
}
