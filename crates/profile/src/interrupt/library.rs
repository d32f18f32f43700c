//! The version of the C library.
#![expect(unsafe_code, reason = "a foreign function; the argument is in the module above")]

use std::ffi::CStr;

use crate::error::ProfileError;

/// The first version whose list of loaded libraries can be read without a lock.
const VERSION_MIN: (u32, u32) = (2, 35);

/// Refuses a C library in which a signal handler that walks stacks could wait for ever.
pub(crate) fn check_library() -> Result<(), ProfileError> {
    // SAFETY: it returns a static text that ends with a NUL.
    let text = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    let text = text.to_string_lossy();
    match version(&text) {
        Some(version) if version >= VERSION_MIN => Ok(()),
        _ => Err(ProfileError::Refused(format!(
            "the C library is glibc {text}, and stacks can be walked from 2.35 on"
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
