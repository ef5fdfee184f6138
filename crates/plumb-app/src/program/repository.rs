//! What the server is delivered with: sources of programs, and images.

/// Sizes of the text pages and images, in units of 1,024 bytes.
pub(crate) const SIZES: [usize; 8] = [0, 1, 2, 4, 8, 16, 32, 64];
/// Pages of the catalogue: enough for a buffer to be too small, and for a generation to be work.
const CATALOGUE: usize = 240;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:2em auto;\
                     padding:0 1em;color:#1c2733}";

/// Name and source of every program.
pub(crate) fn sources() -> impl Iterator<Item = (String, String)> {
    let texts = SIZES.into_iter().map(|size| (format!("it03/text{size}kb.htm"), text(size)));
    let catalogue = (1..=CATALOGUE)
        .map(|number| (format!("catalog/page{number:03}.htm"), catalogue_page(number)));
    texts.chain(catalogue).chain([("it03/page.htm".into(), text(1))])
}

/// The smallest page has no room for style: it is the runtime and nothing else.
fn text(kib: usize) -> String {
    if kib == 0 {
        return "<!DOCTYPE html><title>Hello</title><p>Hello World, <%= carrier LH %>\n".into();
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"<%= language %>\"><head><meta charset=\"utf-8\">\
         <title>text{kib}kb</title><style>{STYLE}</style></head>\n<body><h1>Hello World</h1>\n\
         <p>User <%= user %>, client <%= client %>, flying <%= carrier LH %>.</p>\n\
         <p><% fill {} %></p></body></html>\n",
        kib << 10
    )
}

fn catalogue_page(number: usize) -> String {
    const CARRIERS: [&str; 8] = ["AA", "AZ", "DL", "JL", "LH", "QF", "SQ", "UA"];
    let mut source = format!(
        "<!DOCTYPE html>\n<html lang=\"<%= language %>\"><head><meta charset=\"utf-8\">\
         <title>Catalogue page {number}</title><style>{STYLE}</style></head>\n<body>\
         <h1>Catalogue, page {number}</h1>\n<p>For <%= user %>.</p>\n<ul>\n"
    );
    for line in 1..=10 + number % 50 {
        let carrier = CARRIERS[(number + line) % CARRIERS.len()];
        source += &format!("<li>Article {number}-{line}: shipped by {carrier}");
        if line == 1 {
            source += &format!(", which is <%= carrier {carrier} %>");
        }
        source += "</li>\n";
    }
    source += &format!("</ul>\n<p><% fill {} %></p></body></html>\n", (4 + number % 13) << 10);
    source
}

/// Name and content of every image.
pub(crate) fn images() -> impl Iterator<Item = (String, Vec<u8>)> {
    SIZES.into_iter().map(|size| (format!("it03/image{size}kb.gif"), gif(size << 10)))
}

/// A GIF of one blue pixel that is `size` bytes long, if that is possible: comments fill it.
fn gif(size: usize) -> Vec<u8> {
    let mut image = b"GIF89a\x01\0\x01\0\x80\0\0\x1f\x6f\xb2\xff\xff\xff".to_vec();
    let picture = b",\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    let mut left = size.saturating_sub(image.len() + picture.len());
    // a comment is 0x21 0xfe, blocks of 1 to 255 bytes after their length, 0
    if left >= 5 {
        image.extend(b"!\xfe");
        left -= 3;
        while left > 0 {
            let block = match left - 1 {
                256 => 254, // would leave one byte, too few for a block
                many => many.min(255),
            };
            image.push(u8::try_from(block).unwrap_or(u8::MAX));
            image.extend(std::iter::repeat_n(b'.', block));
            left -= block + 1;
        }
        image.push(0);
    }
    image.extend(picture);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_their_size_to_the_byte() {
        for (size, (name, image)) in SIZES.into_iter().zip(images()) {
            let expected = if size == 0 { 35 } else { size << 10 };
            assert_eq!(image.len(), expected, "{name}");
        }
    }

    #[test]
    fn the_blocks_of_an_image_end_where_its_picture_begins() {
        for (name, image) in images().skip(1) {
            let mut at = 19;
            assert_eq!(&image[at..at + 2], b"!\xfe", "{name}");
            at += 2;
            while image[at] != 0 {
                at += usize::from(image[at]) + 1;
            }
            assert_eq!(image[at + 1], b',', "{name}");
        }
    }
}
