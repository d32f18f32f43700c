//! Chooses a server: the less loaded of two picked at random ("power of two choices", Mitzenmacher
//! 2001). Unlike "least loaded of all", it does not send a herd to one server, and unlike round
//! robin, it sees the load.

use std::cell::Cell;
use std::sync::Arc;

use super::instance::Instance;

thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
}

/// Chooses among the healthy servers. If none is healthy, any server may get the request: a guess
/// is better than a certain error. The server `tried` is chosen only if there is no other.
pub(super) fn choose<'a>(
    instances: &'a [Arc<Instance>],
    tried: Option<&Arc<Instance>>,
) -> Option<&'a Arc<Instance>> {
    if let [instance] = instances {
        return Some(instance);
    }
    let is_untried = |instance: &&Arc<Instance>| !tried.is_some_and(|it| Arc::ptr_eq(it, instance));
    let healthy = instances.iter().filter(is_untried).filter(|instance| instance.is_available());
    if let Some(instance) = less_loaded(healthy) {
        return Some(instance);
    }
    less_loaded(instances.iter().filter(is_untried)).or_else(|| instances.first())
}

fn less_loaded<'a>(
    candidates: impl Iterator<Item = &'a Arc<Instance>> + Clone,
) -> Option<&'a Arc<Instance>> {
    let count = candidates.clone().count();
    if count < 2 {
        return candidates.into_iter().next();
    }
    let first = below(count);
    let second = (first + 1 + below(count - 1)) % count;
    let pair = [first, second].map(|index| candidates.clone().nth(index));
    let [Some(first), Some(second)] = pair else { return pair[0] };
    Some(if second.load() < first.load() { second } else { first })
}

/// Returns a random number below `count`, from a xorshift generator (Marsaglia 2003) for each
/// thread. Nothing secret depends on it.
fn below(count: usize) -> usize {
    RANDOM.with(|random| {
        let mut state = random.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        random.set(state);
        (state >> 32) as usize % count
    })
}
