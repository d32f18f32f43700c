//! The kind of device that an agent tells, by a few words.

use memchr::memmem;

/// Words of tablets. An Android without `Mobile` is one too.
const TABLET: [&str; 6] = ["iPad", "PlayBook", "Kindle", "Silk/", "Nexus 7", "SM-T"];

/// A word of tablets, unless it is the edition of Windows that many desktops name.
const TABLET_WORD: &[u8] = b"Tablet";
const WINDOWS_EDITION: &[u8] = b" PC";

/// The beginning of the models of one maker's sticks for televisions, such as `AFTS`.
const STICK: &[u8] = b"AFT";

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
const OTHER: [&str; 11] = [
    "SmartTV",
    "SMART-TV",
    "Smart TV",
    "HbbTV",
    "AppleTV",
    "GoogleTV",
    "Android TV",
    "BRAVIA",
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
    if has(&OTHER) || is_stick(agent) {
        return None;
    }
    let is_android = has(&["Android"]);
    let is_mobile = has(&["Mobile"]);
    if has(&TABLET) || is_tablet(agent) {
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

fn is_tablet(agent: &[u8]) -> bool {
    let mut starts = memmem::find_iter(agent, TABLET_WORD);
    starts.any(|start| !agent[start + TABLET_WORD.len()..].starts_with(WINDOWS_EDITION))
}

/// Whether a word of an agent is the model of a stick for televisions: capitals and digits alone.
fn is_stick(agent: &[u8]) -> bool {
    memmem::find_iter(agent, STICK).any(|start| {
        let rest = &agent[start + STICK.len()..];
        let is_part = |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let length = rest.iter().take_while(is_part).count();
        let begins =
            start.checked_sub(1).is_none_or(|before| !agent[before].is_ascii_alphanumeric());
        let ends = rest.get(length).is_none_or(|after| !after.is_ascii_alphanumeric());
        begins && ends && length > 0
    })
}

#[cfg(test)]
mod tests {
    use super::device;

    #[test]
    fn words_that_only_look_like_devices_are_none() {
        for (agent, expected) in [
            ("Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Tablet PC 2.0)", Some("desktop")),
            (
                "Mozilla/5.0 (Android 14; Tablet; rv:145.0) Gecko/145.0 Firefox/145.0",
                Some("tablet"),
            ),
            ("Mozilla/5.0 (Windows NT 6.1; Tablet PC 2.0; Tablet)", Some("tablet")),
            ("Mozilla/5.0 (Linux; Android 9; AFTS Build/PS7233) Chrome/1 Safari/1", None),
            ("Mozilla/5.0 (Linux; Android 9; AFTKA) Chrome/1 Safari/1", None),
            ("Mozilla/5.0 (X11; Linux x86_64) MINECRAFT/1", Some("desktop")),
            ("Mozilla/5.0 (X11; Linux x86_64) AFT/1 AFTer", Some("desktop")),
        ] {
            assert_eq!(device(agent.as_bytes()), expected, "{agent}");
        }
    }
}
