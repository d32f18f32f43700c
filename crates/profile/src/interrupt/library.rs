//! The check of the C library's version.
#![expect(unsafe_code, reason = "a foreign function; the argument is in the parent module")]

use std::ffi::CStr;

use crate::error::ProfileError;

/// The first glibc with `_dl_find_object`, which finds unwind tables without a lock.
const VERSION_MIN: (u32, u32) = (2, 35);

/// Refuses a C library with which a stack walk in a signal handler could deadlock.
pub(crate) fn check_library() -> Result<(), ProfileError> {
    // SAFETY: `gnu_get_libc_version` returns a static string that ends with NUL.
    let text = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    let text = text.to_string_lossy();
    match version(&text) {
        Some(version) if version >= VERSION_MIN => Ok(()),
        _ => Err(ProfileError::Refused(format!(
            "the C library is glibc {text}; profiles need 2.35 or later"
        ))),
    }
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::{check_library, version};

    #[test]
    fn versions_are_numbers() {
        assert_eq!(version("2.35"), Some((2, 35)));
        assert_eq!(version("2.4.1"), Some((2, 4)));
        assert_eq!(version("2"), None);
        assert!(version("2.4") < version("2.35") && version("3.0") > version("2.35"));
        assert_eq!(check_library(), Ok(()), "the tests need glibc 2.35");
    }
}
