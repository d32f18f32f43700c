//! Demangled names of functions, by address.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

/// A cache of function names by address. Each address is resolved once.
#[derive(Debug, Default)]
pub(crate) struct FunctionNames(HashMap<usize, Vec<Arc<str>>>);

impl FunctionNames {
    /// Resolves a stack to function names, outermost first, with inlined functions. `addresses`
    /// starts with the instruction pointer of the innermost function; the others are return
    /// addresses, which follow their calls.
    pub(crate) fn resolve(&mut self, addresses: &[usize]) -> Vec<Arc<str>> {
        let mut functions = Vec::with_capacity(addresses.len());
        for (index, address) in addresses.iter().enumerate().rev() {
            // The resolver looks up the address minus 1, which is within the call for a return
            // address.
            let return_address = if index == 0 { address.saturating_add(1) } else { *address };
            let names = self.0.entry(return_address).or_insert_with(|| names_at(return_address));
            functions.extend(names.iter().cloned());
        }
        functions
    }
}

impl Drop for FunctionNames {
    fn drop(&mut self) {
        // Frees the debug information of the executable, which the resolver caches.
        backtrace::clear_symbol_cache();
    }
}

/// Removes the prefix of names that glibc uses for its functions internally.
fn without_alias(name: &str) -> &str {
    name.strip_prefix("__GI_").unwrap_or(name)
}

/// Returns the name of the function at an address, after the functions that it was inlined into.
fn names_at(address: usize) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    backtrace::resolve(without_provenance_mut::<c_void>(address), |symbol| {
        // `#` omits the hashes that the compiler appends.
        let name = symbol.name().map(|name| format!("{name:#}"));
        names.push(name.map_or_else(|| "unknown".into(), |name| without_alias(&name).into()));
    });
    if names.is_empty() {
        names.push("unknown".into());
    }
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::without_alias;

    #[test]
    fn internal_names_are_those_of_the_manual() {
        assert_eq!(without_alias("__GI_epoll_ctl"), "epoll_ctl");
        assert_eq!(without_alias("epoll_ctl"), "epoll_ctl");
    }
}
