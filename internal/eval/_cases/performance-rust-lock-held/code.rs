use std::sync::Arc;

use lru::LruCache;
use tokio::sync::Mutex;

use crate::geo::{Geocoder, Point};

/// Remembers what the geocoder said.
pub struct Cached {
    geocoder: Arc<dyn Geocoder>,
    known: Mutex<LruCache<String, Point>>,
}

impl Cached {
    /// A cache of at most `size` addresses.
    pub fn new(geocoder: Arc<dyn Geocoder>, size: std::num::NonZeroUsize) -> Self {
        Self { geocoder, known: Mutex::new(LruCache::new(size)) }
    }

    /// The place of an address.
    pub async fn locate(&self, address: &str) -> Result<Point, crate::Error> {
        let key = address.trim().to_lowercase();
        let mut known = self.known.lock().await;
        if let Some(point) = known.get(&key) {
            return Ok(*point);
        }
        let point = self.geocoder.locate(&key).await?;
        known.put(key, point);
        Ok(point)
    }
}
