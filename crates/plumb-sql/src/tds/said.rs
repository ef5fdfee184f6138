//! What a server of SQL Server says, for peers that are made of it.

/// Text as the protocol has it: UTF-16.
#[must_use]
pub fn text(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// `LOGINACK` of SQL Server 2022, and the end.
#[must_use]
pub fn let_in() -> Vec<u8> {
    const NAME: &str = "Microsoft SQL Server";
    let name = text(NAME);
    // a length, the version of the protocol, the name with its length, the version of the server
    let length = u8::try_from(10 + name.len()).unwrap_or(u8::MAX);
    let head = [0xad, length, 0, 1, 0x74, 0, 0, 4, 20];
    [&head[..], &name, &[16, 0, 0x0f, 0xa0], &done(0)].concat()
}

/// `DONE` with this status.
#[must_use]
pub fn done(status: u8) -> Vec<u8> {
    [&[0xfd, status, 0][..], &[0; 10]].concat()
}

/// `ERROR` of this number and class, at line 1.
#[must_use]
pub fn error(number: u32, class: u8, message: &str) -> Vec<u8> {
    let units = u16::try_from(message.encode_utf16().count()).unwrap_or(u16::MAX);
    let names = [0, 0]; // of server and procedure
    let inner = [
        &number.to_le_bytes()[..],
        &[1, class],
        &units.to_le_bytes(),
        &text(message),
        &names,
        &1_u32.to_le_bytes(),
    ]
    .concat();
    let length = u16::try_from(inner.len()).unwrap_or(u16::MAX);
    [&[0xaa][..], &length.to_le_bytes(), &inner].concat()
}

/// A table of one `int` with one row.
#[must_use]
pub fn one(value: u32) -> Vec<u8> {
    let column = [0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x38, 1];
    [&column[..], &text("n"), &[0xd1], &value.to_le_bytes()].concat()
}

/// A table of one `datetime2(7)`, so many ticks of 100 ns behind midnight, and that more follows.
#[must_use]
pub fn clock(ticks: u64) -> Vec<u8> {
    let [a, b, c, d, e, ..] = ticks.to_le_bytes();
    let column = [0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x2a, 7, 0];
    [&column[..], &[0xd1, 8, a, b, c, d, e, 0x5b, 0x95, 0x0a], &done(1)].concat()
}

/// A table of one `nvarchar(max)` with one row, in pieces of at most so many bytes.
#[must_use]
pub fn long(value: &str, piece: usize) -> Vec<u8> {
    const UNKNOWN_LENGTH: u64 = u64::MAX - 1;
    let column = [0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34, 0];
    let mut out = [&column[..], &[0xd1], &UNKNOWN_LENGTH.to_le_bytes()].concat();
    for piece in text(value).chunks(piece.max(1)) {
        out.extend(u32::try_from(piece.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(piece);
    }
    [out, vec![0; 4], done(1)].concat()
}
