use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

type Fields = Vec<(String, String)>;

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, Undecodable> {
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode(block, |name, value| fields.push((text(name), text(value))))?;
    Ok(fields)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
    let pair = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn field(name: &str, value: &str) -> (String, String) {
    (name.into(), value.into())
}

/// RFC 7541, appendix C.6: three answers of one connection whose table holds 256 bytes, here written
/// with an update of its size before the first.
#[test]
fn the_answers_of_the_standard_are_read_with_a_table_that_is_full() {
    let mut decoder = Decoder::default();
    let date = |s: u32| field("date", &format!("Mon, 21 Oct 2013 20:13:{s} GMT"));
    let location = field("location", "https://www.example.com");
    let (private, redirect) = (field("cache-control", "private"), field(":status", "302"));
    let first = bytes(
        "3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b \
         ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
    );
    let fields = decoded(&mut decoder, &first).unwrap();
    assert_eq!(fields, [redirect, private.clone(), date(21), location.clone()]);
    let fields = decoded(&mut decoder, &bytes("4883 640e ffc1 c0bf")).unwrap();
    assert_eq!(fields, [field(":status", "307"), private.clone(), date(21), location.clone()]);
    let third = bytes(
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 \
         821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed \
         4ee5 b106 3d50 07",
    );
    let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    assert_eq!(
        decoded(&mut decoder, &third).unwrap(),
        [
            field(":status", "200"),
            private,
            date(22),
            location,
            field("content-encoding", "gzip"),
            field("set-cookie", cookie)
        ]
    );
}

/// Blocks of one connection that another encoder wrote, its table of 4,096, 200, 0 and 4,096 bytes.
#[test]
fn blocks_of_another_encoder_are_read_with_tables_of_any_size() {
    let mut decoder = Decoder::default();
    let mut blocks = 0;
    for part in include_str!("vectors.txt").split("block ").skip(1) {
        let mut lines = part.lines();
        let block = bytes(lines.next().unwrap());
        let expected: Fields = lines
            .map(|line| {
                let (name, value) = line[1..].split_once(": ").unwrap();
                field(&format!("{}{name}", &line[..1]), value)
            })
            .collect();
        assert_eq!(decoded(&mut decoder, &block).unwrap(), expected, "block {blocks}");
        blocks += 1;
    }
    assert_eq!(blocks, 24);
}

#[test]
fn what_is_encoded_changes_no_table_and_a_secret_is_marked() {
    let mut block = Vec::new();
    encode(b":method", b"GET", false, &mut block);
    assert_eq!(block, [0x82]);
    encode(b"authorization", b"Basic eA==", true, &mut block);
    assert_eq!(block[1] & 0xf0, 0x10, "never indexed");
    encode(b"x-a", &[b'~'; 300], false, &mut block);
    let mut decoder = Decoder::default();
    let fields = decoded(&mut decoder, &block).unwrap();
    let long = "~".repeat(300);
    let all = [field(":method", "GET"), field("authorization", "Basic eA=="), field("x-a", &long)];
    assert_eq!(fields, all);
    assert_eq!(decoder.generation(), 0);
}

#[test]
fn what_no_block_may_hold_is_refused() {
    let refused = |hex: &str| decoded(&mut Decoder::default(), &bytes(hex)).is_err();
    for hex in [
        "80",               // no field has number 0
        "be",               // the first entry of an empty table
        "ffffffffffffff7f", // a number beyond all bounds
        "8220",             // an update of the table behind a field
        "3fe2ff03",         // a table that was not allowed
        "00",               // a name is missing
        "0001",             // a name is cut
        "000161",           // a value is missing
        "0f",               // a number is cut
    ] {
        assert!(refused(hex), "{hex}");
    }
    assert!(!refused("2020 82"), "two updates before the first field");
}

/// The fields of three blocks in any order, some of which are only repeated where that is allowed, and
/// those of a decoder that decodes each.
fn beside(order: &[(usize, bool)]) -> (Vec<Fields>, Vec<Fields>) {
    let refers = [0xbe]; // to the entry that came last
    let adds = [&[0x40, 1][..], b"a", &[1, b'1'], &[0x58, 2], b"no"].concat();
    let more = [&[0x40, 1][..], b"b", &[40], &[b'2'; 40]].concat();
    let blocks: [&[u8]; 3] = [&refers, &adds, &more];
    let (mut lazy, mut plain) = (Decoder::default(), Decoder::default());
    for decoder in [&mut lazy, &mut plain] {
        decoded(decoder, blocks[1]).unwrap();
    }
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for (which, repeats) in order {
        let fields = decoded(&mut plain, blocks[*which]).unwrap();
        if *repeats && *which > 0 {
            lazy.repeat(blocks[*which]).unwrap();
        } else {
            found.push(decoded(&mut lazy, blocks[*which]).unwrap());
            expected.push(fields);
        }
    }
    // the whole table, from its last entry to its first
    for index in 62..200_u8 {
        let entry = |decoder: &mut Decoder| {
            let mut block = Vec::new();
            write_number(usize::from(index), 7, 0x80, &mut block);
            decoded(decoder, &block).unwrap_or_default()
        };
        found.push(entry(&mut lazy));
        expected.push(entry(&mut plain));
    }
    (found, expected)
}

#[test]
fn a_block_that_comes_often_fills_the_table_as_if_each_were_decoded() {
    for times in [1, 2, 100, 128, 129, 130, 1_000] {
        let (found, expected) = beside(&vec![(1, true); times]);
        assert_eq!(found, expected, "{times}");
        let order = [&vec![(2, true); times][..], &[(1, true); 3], &[(0, false)]].concat();
        let (found, expected) = beside(&order);
        assert_eq!(found, expected, "{times}");
    }
}

proptest! {
    #[test]
    fn repeated_blocks_leave_the_table_that_decoded_ones_leave(
        order in vec((0..3_usize, any::<bool>()), 0..300),
    ) {
        let (found, expected) = beside(&order);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_blocks_are_decoded_or_refused(blocks in vec(vec(any::<u8>(), 0..80), 1..6)) {
        let mut decoder = Decoder::default();
        let _ = blocks.iter().try_for_each(|block| decoded(&mut decoder, block).map(drop));
    }

    #[test]
    fn blocks_that_were_changed_are_decoded_or_refused(
        which in 0..24_usize, at: usize, byte: u8, cut in 0..3_usize,
    ) {
        let mut decoder = Decoder::default();
        for (number, part) in include_str!("vectors.txt").split("block ").skip(1).enumerate() {
            let mut block = bytes(part.lines().next().unwrap());
            if number == which {
                let at = at % block.len();
                block[at] = byte;
                block.truncate(block.len() - cut.min(block.len()));
            }
            if decoded(&mut decoder, &block).is_err() {
                break;
            }
        }
    }

    #[test]
    fn what_is_encoded_is_read_back(name in "[a-z:-]{1,40}", value: Vec<u8>, secret: bool) {
        let mut block = Vec::new();
        encode(name.as_bytes(), &value, secret, &mut block);
        let mut found = None;
        Decoder::default()
            .decode(&block, |name, value| found = Some((name.to_vec(), value.to_vec())))
            .unwrap();
        prop_assert_eq!(found, Some((name.into_bytes(), value)));
    }
}
