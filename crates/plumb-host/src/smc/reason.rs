//! Why connections fell back from SMC to TCP.

/// Reasons that the kernel counts, and what they mean.
///
/// # Source
/// net/smc/smc_clc.h of Linux 6.12.
const REASONS: [(u32, &str); 9] = [
    (0x0101_0000, "no memory for its buffers"),
    (0x0201_0000, "the link was not confirmed in time"),
    (0x0301_0000, "the peer has no SMC"),
    (0x0302_0000, "IPsec is in force"),
    (0x0303_0000, "no device for SMC, or no user-defined EID"),
    (0x0303_0008, "the peer has no user-defined EID"),
    (0x0306_0000, "an option of the socket that SMC cannot have"),
    (0x0307_0000, "the peer is in another subnet"),
    (0x030e_0000, "no route to the peer's device"),
];

/// The peer declined; the other bits may say more.
const DECLINED: u32 = 0x0500_0000;

/// A reason in words, with its number.
pub(crate) fn words(reason: u32) -> String {
    let known = REASONS.iter().find(|(known, _)| *known == reason);
    match known {
        Some((_, meaning)) => format!("{reason:#010x}: {meaning}"),
        None if reason & 0xff00_0000 == DECLINED => format!("{reason:#010x}: the peer declined"),
        None => format!("{reason:#010x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_its_number_and_its_meaning() {
        assert_eq!(words(0x0301_0000), "0x03010000: the peer has no SMC");
        assert_eq!(words(0x0500_0000), "0x05000000: the peer declined");
        assert_eq!(words(7), "0x00000007");
    }
}
