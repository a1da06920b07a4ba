//! Checks that the counts and lengths in a message fit its body: `pgwire`'s decoders rely on it.

/// A fault of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A count, a length or the type makes no sense.
    Structure,
    /// A text is not UTF-8.
    Encoding,
}

/// The rest of a body.
struct Body<'b>(&'b [u8]);

impl Body<'_> {
    fn skip(&mut self, bytes: usize) -> Result<(), Fault> {
        self.0 = self.0.get(bytes..).ok_or(Fault::Structure)?;
        Ok(())
    }

    fn number<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Fault> {
        let (number, rest) = self.0.split_first_chunk::<BYTES>().ok_or(Fault::Structure)?;
        self.0 = rest;
        Ok(*number)
    }

    fn count(&mut self) -> Result<usize, Fault> {
        Ok(usize::from(u16::from_be_bytes(self.number()?)))
    }

    /// Skips a text that ends with a zero byte.
    fn text(&mut self) -> Result<(), Fault> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Fault::Structure)?;
        let text = str::from_utf8(&self.0[..end]);
        self.skip(end + 1)?;
        text.map(drop).map_err(|_| Fault::Encoding)
    }

    /// Skips a count of elements, and the elements.
    fn list(&mut self, element_bytes: usize) -> Result<(), Fault> {
        let count = self.count()?;
        self.skip(count * element_bytes)
    }

    /// Skips the parameters of `Bind`, each after its length; −1 is the length of NULL.
    fn parameters(&mut self) -> Result<(), Fault> {
        for _ in 0..self.count()? {
            match i32::from_be_bytes(self.number()?) {
                -1 => {}
                length => self.skip(usize::try_from(length).map_err(|_| Fault::Structure)?)?,
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Fault> {
        if self.0.is_empty() { Ok(()) } else { Err(Fault::Structure) }
    }
}

/// Checks the body of a message by its type.
pub(crate) fn check(kind: u8, body: &[u8]) -> Result<(), Fault> {
    let mut body = Body(body);
    let mut encoding = Ok(());
    // A text that is not UTF-8 is the fault only of a message that is whole.
    let mut text = |body: &mut Body<'_>| match body.text() {
        Err(Fault::Encoding) => {
            encoding = Err(Fault::Encoding);
            Ok(())
        }
        other => other,
    };
    match kind {
        b'Q' | b'f' => text(&mut body)?,
        b'P' => {
            text(&mut body)?;
            text(&mut body)?;
            body.list(4)?;
        }
        b'B' => {
            text(&mut body)?;
            text(&mut body)?;
            body.list(2)?;
            body.parameters()?;
            body.list(2)?;
        }
        b'D' | b'C' => {
            body.skip(1)?;
            text(&mut body)?;
        }
        b'E' => {
            text(&mut body)?;
            body.skip(4)?;
        }
        b'H' | b'S' | b'X' | b'c' => {}
        b'd' | b'p' => return Ok(()),
        _ => return Err(Fault::Structure),
    }
    body.end()?;
    encoding
}

/// Checks the body of the first answer of a client that gives a password: a method, and a length
/// with as many bytes.
pub(crate) fn check_first_answer(body: &[u8]) -> Result<(), Fault> {
    let mut body = Body(body);
    body.text()?;
    match i32::from_be_bytes(body.number()?) {
        -1 => {}
        length => body.skip(usize::try_from(length).map_err(|_| Fault::Structure)?)?,
    }
    body.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_the_body_are_found() {
        assert_eq!(check(b'P', b"name\0SELECT 1\0\0\x01\0\0\0\x14"), Ok(()));
        assert_eq!(check(b'P', b"name\0SELECT 1\0\0\x02\0\0\0\x14"), Err(Fault::Structure));
        assert_eq!(check(b'P', b"name\0SELECT 1"), Err(Fault::Structure));
        let bind = b"\0s\0\0\0\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0";
        assert_eq!(check(b'B', bind), Ok(()));
        let bind = b"\0s\0\0\0\0\x01\x7f\xff\xff\xffx\0\0";
        assert_eq!(check(b'B', bind), Err(Fault::Structure));
        let bind = b"\0s\0\0\0\0\x01\xff\xff\xff\xfex\0\0";
        assert_eq!(check(b'B', bind), Err(Fault::Structure));
        assert_eq!(check(b'E', b"\0\0\0\0\0more"), Err(Fault::Structure));
        assert_eq!(check(b'Q', b"\xff\0"), Err(Fault::Encoding));
        assert_eq!(check(b'Q', b"\xff\0\0"), Err(Fault::Structure));
        assert_eq!(check(b'!', b""), Err(Fault::Structure));
        assert_eq!(check_first_answer(b"SCRAM-SHA-256\0\0\0\0\x01n"), Ok(()));
        assert_eq!(check_first_answer(b"SCRAM-SHA-256\0\0\0\0\x02n"), Err(Fault::Structure));
    }
}
