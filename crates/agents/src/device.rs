//! The kind of device that an agent tells, by a few words.

use memchr::memmem;

/// Words of tablets. An Android without `Mobile` is one too.
const TABLET: [&str; 7] = ["iPad", "Tablet", "PlayBook", "Kindle", "Silk/", "Nexus 7", "SM-T"];

/// Words of phones.
const PHONE: [&str; 14] = [
    "iPhone",
    "iPod",
    "Windows Phone",
    "IEMobile",
    "BlackBerry",
    "BB10",
    "Opera Mini",
    "Opera Mobi",
    "Symbian",
    "Series40",
    "J2ME",
    "KAIOS",
    "webOS/",
    "MIDP",
];

/// Words of televisions, players and consoles, which are none of these.
const OTHER: [&str; 12] = [
    "SmartTV",
    "SMART-TV",
    "Smart TV",
    "HbbTV",
    "AppleTV",
    "GoogleTV",
    "Android TV",
    "BRAVIA",
    "AFT",
    "Roku",
    "PlayStation",
    "Nintendo",
];

/// Words of desktops and laptops.
const DESKTOP: [&str; 9] = [
    "Windows NT",
    "Windows 9",
    "Win64",
    "Macintosh",
    "Mac OS X",
    "X11;",
    "CrOS",
    "Linux x86_64",
    "Linux i686",
];

/// Returns the kind of device of an agent that is not a robot: `desktop`, `phone` or `tablet`.
///
/// A tablet of Apple that asks for the page of a desktop says that it is one.
pub(crate) fn device(agent: &[u8]) -> Option<&'static str> {
    let has =
        |words: &[&str]| words.iter().any(|word| memmem::find(agent, word.as_bytes()).is_some());
    if has(&OTHER) {
        return None;
    }
    let is_android = has(&["Android"]);
    let is_mobile = has(&["Mobile"]);
    if has(&TABLET) {
        return Some("tablet");
    }
    if has(&PHONE) || is_android && is_mobile {
        return Some("phone");
    }
    if is_android {
        // An app says neither.
        return has(&["Chrome/", "Safari/", "Firefox/"]).then_some("tablet");
    }
    match has(&DESKTOP) {
        true => Some("desktop"),
        false => (is_mobile && has(&["Mozilla/"])).then_some("phone"),
    }
}
