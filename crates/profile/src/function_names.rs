//! The names of functions as a person writes them.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

/// The names of the functions at addresses, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct FunctionNames(HashMap<usize, Vec<Arc<str>>>);

impl FunctionNames {
    /// The functions of a stack from the outermost to the innermost. Its addresses begin with that at which the
    /// innermost was interrupted; the others are where functions return to, behind their calls.
    pub(crate) fn functions(&mut self, addresses: &[usize]) -> Vec<Arc<str>> {
        let mut functions = Vec::with_capacity(addresses.len());
        for (index, address) in addresses.iter().enumerate().rev() {
            // The one before an address is looked up.
            let behind = if index == 0 { address.saturating_add(1) } else { *address };
            let names = self.0.entry(behind).or_insert_with(|| names_at(behind));
            functions.extend(names.iter().cloned());
        }
        functions
    }
}

impl Drop for FunctionNames {
    fn drop(&mut self) {
        // The tables of the program's file.
        backtrace::clear_symbol_cache();
    }
}

/// The function at an address, preceded by those that it was inlined into.
fn names_at(address: usize) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    backtrace::resolve(without_provenance_mut::<c_void>(address), |symbol| {
        // `#` leaves out the hashes that the compiler adds.
        let name = symbol.name().map(|name| format!("{name:#}"));
        names.push(name.map_or_else(|| "unknown".into(), Arc::from));
    });
    if names.is_empty() {
        names.push("unknown".into());
    }
    names.reverse();
    names
}
