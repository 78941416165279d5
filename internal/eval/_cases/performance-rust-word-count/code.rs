use std::collections::HashMap;

/// How often each word stands in a text, in lower case.
pub fn count(text: &str) -> HashMap<String, u32> {
    let mut out: HashMap<String, u32> = HashMap::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
            continue;
        }
        add(&mut out, &mut word);
    }
    add(&mut out, &mut word);
    out
}

/// Counts a word and empties it, so that its memory is used again.
fn add(out: &mut HashMap<String, u32>, word: &mut String) {
    if word.is_empty() {
        return;
    }
    match out.get_mut(word.as_str()) {
        Some(n) => *n += 1,
        None => {
            out.insert(word.clone(), 1);
        }
    }
    word.clear();
}
