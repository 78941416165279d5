use crate::remote::{Error, Remote};
use crate::store::Store;

/// Copies what changed on either side to the other; the newer one wins.
pub fn sync(store: &mut Store, remote: &mut dyn Remote) -> Result<usize, Error> {
    let mut copied = 0;
    for item in remote.list()? {
        match store.get(&item.id) {
            Some(mine) if mine.changed > item.changed => remote.put(mine)?,
            Some(mine) if mine.changed == item.changed => continue,
            _ => store.put(item),
        }
        copied += 1;
    }
    Ok(copied)
}
