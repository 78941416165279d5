use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const VALID: Duration = Duration::from_secs(60 * 60);
const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

struct Pending {
    user: u64,
    made: Instant,
}

/// Links for people who forgot their password.
#[derive(Default)]
pub struct Resets {
    pending: Mutex<HashMap<String, Pending>>,
}

impl Resets {
    /// Makes the token of a link for a user.
    pub fn begin(&self, user: u64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut rng = SmallRng::seed_from_u64(now.as_secs());
        let token: String = (0..32)
            .map(|_| ALPHABET[rng.gen_range(0..ALPHABET.len())] as char)
            .collect();
        let mut pending = self.pending.lock().expect("no holder panics");
        pending.retain(|_, p| p.made.elapsed() < VALID);
        pending.insert(token.clone(), Pending { user, made: Instant::now() });
        token
    }

    /// Uses a token up and says whose it was.
    pub fn finish(&self, token: &str) -> Option<u64> {
        let mut pending = self.pending.lock().expect("no holder panics");
        let found = pending.remove(token)?;
        (found.made.elapsed() < VALID).then_some(found.user)
    }
}
