//! Why connections fell back from SMC to TCP.

/// Reasons that the kernel knows, and what they mean.
///
/// # Source
/// net/smc/smc_clc.h of Linux 6.12.
const REASONS: [(u32, &str); 35] = [
    (0x0101_0000, "no memory for its buffers"),
    (0x0201_0000, "the link was not confirmed in time"),
    (0x0202_0000, "the second link was not added in time"),
    (0x0300_0000, "an error of configuration"),
    (0x0301_0000, "the peer has no SMC"),
    (0x0302_0000, "IPsec is in force"),
    (0x0303_0000, "no device for SMC, or no user-defined EID"),
    (0x0303_0001, "no device for SMC-D"),
    (0x0303_0002, "no device for SMC-R"),
    (0x0303_0003, "the hardware has no SMC-D of version 2"),
    (0x0303_0004, "the peer has no SMC of version 2"),
    (0x0303_0005, "the peer has no SMC-D of version 2"),
    (0x0303_0006, "the peer has no EID of its system"),
    (0x0303_0007, "no device for SMC-D of version 2"),
    (0x0303_0008, "the peer has no user-defined EID"),
    (0x0303_0009, "the two sides have no release in common"),
    (0x0303_000a, "the two sides differ about connections a link group"),
    (0x0303_000b, "the two sides differ about links a link group"),
    (0x0304_0000, "one side offers SMC-R, the other SMC-D"),
    (0x0305_0000, "the peer marks its buffers in a way that is not known"),
    (0x0306_0000, "an option of the socket that SMC cannot have"),
    (0x0307_0000, "the peer is in another subnet"),
    (0x0308_0000, "the VLAN of the device cannot be told"),
    (0x0309_0000, "the VLAN cannot be used by SMC-D"),
    (0x030a_0000, "no link of the link group is active"),
    (0x030b_0000, "the server's link is not known here"),
    (0x030c_0000, "the two sides have different versions of SMC"),
    (0x030d_0000, "SMC-D has no buffer left"),
    (0x030e_0000, "no route to the peer's device"),
    (0x030f_0000, "the peer's device is behind a gateway, or the other way round"),
    (0x0400_0000, "the two sides are not in step"),
    (0x0500_0000, "the peer declined"),
    (0x0999_0000, "an error of the kernel"),
    (0x0999_0001, "the kernel could not exchange keys of memory"),
    (0x0999_0003, "the kernel could not register a buffer"),
];

/// A reason in words, with its number.
#[must_use]
pub fn reason_in_words(reason: u32) -> String {
    match REASONS.iter().find(|(known, _)| *known == reason) {
        Some((_, meaning)) => format!("{reason:#010x}: {meaning}"),
        None => format!("{reason:#010x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_its_number_and_its_meaning() {
        assert_eq!(reason_in_words(0x0301_0000), "0x03010000: the peer has no SMC");
        assert_eq!(reason_in_words(0x0500_0000), "0x05000000: the peer declined");
        assert_eq!(reason_in_words(7), "0x00000007");
    }
}
