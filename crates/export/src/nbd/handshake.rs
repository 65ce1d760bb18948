//! The negotiation between client and server before the first request.

use std::io::{self, Read, Write};

use super::protocol::{self, answer, option};
use super::server::Export;

/// Options with more data than this are refused; names are at most 4096 bytes long.
const LONGEST_OPTION: u32 = 16 << 10;

/// Number of refused options after which the server disconnects the client.
const PATIENCE: usize = 64;

/// Negotiates with a client. Returns `true` if the client may now send requests, `false` if it has disconnected.
pub(super) fn negotiate(stream: &mut (impl Read + Write), export: &Export) -> io::Result<bool> {
    let mut hello = Vec::with_capacity(18);
    hello.extend(protocol::HELLO.to_be_bytes());
    hello.extend(protocol::OPTION.to_be_bytes());
    hello.extend(protocol::HANDSHAKE.to_be_bytes());
    stream.write_all(&hello)?;
    let flags = u32::from_be_bytes(take(stream)?);
    if flags & !u32::from(protocol::HANDSHAKE) != 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    for _ in 0..PATIENCE {
        if u64::from_be_bytes(take(stream)?) != protocol::OPTION {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let number = u32::from_be_bytes(take(stream)?);
        let len = u32::from_be_bytes(take(stream)?);
        if len > LONGEST_OPTION {
            // An option this long is not worth reading, but without reading it the server cannot find the next option.
            let _ = send(stream, number, answer::TOO_BIG, &[]);
            return Ok(false);
        }
        let mut data = vec![0; len as usize];
        stream.read_exact(&mut data)?;
        match number {
            option::EXPORT_NAME => {
                if data != export.name.as_bytes() && !data.is_empty() {
                    return Ok(false); // This option has no way to say no.
                }
                let mut reply = description(export);
                if flags & protocol::NO_ZEROES == 0 {
                    reply.extend([0; 124]);
                }
                stream.write_all(&reply)?;
                return Ok(true);
            }
            option::ABORT => {
                let _ = send(stream, number, answer::ACK, &[]);
                return Ok(false);
            }
            option::LIST if data.is_empty() => {
                let mut entry = (export.name.len() as u32).to_be_bytes().to_vec();
                entry.extend(export.name.as_bytes());
                send(stream, number, answer::SERVER, &entry)?;
                send(stream, number, answer::ACK, &[])?;
            }
            option::INFO | option::GO => match wanted_name(&data) {
                None => send(stream, number, answer::INVALID, &[])?,
                Some(name) if !name.is_empty() && name != export.name.as_bytes() => {
                    send(stream, number, answer::UNKNOWN, &[])?;
                }
                Some(_) => {
                    inform(stream, number, export)?;
                    send(stream, number, answer::ACK, &[])?;
                    if number == option::GO {
                        return Ok(true);
                    }
                }
            },
            option::LIST => send(stream, number, answer::INVALID, &[])?,
            _ => send(stream, number, answer::UNSUPPORTED, &[])?,
        }
    }
    Ok(false)
}

/// Size and transmission flags.
fn description(export: &Export) -> Vec<u8> {
    let mut data = export.bytes.size().to_be_bytes().to_vec();
    data.extend(export.flags().to_be_bytes());
    data
}

fn inform(stream: &mut impl Write, number: u32, export: &Export) -> io::Result<()> {
    let mut data = protocol::INFO_EXPORT.to_be_bytes().to_vec();
    data.extend(description(export));
    send(stream, number, answer::INFO, &data)?;
    let preferred = (export.bytes.device().sector() as u32).max(4096);
    let mut data = protocol::INFO_BLOCK_SIZE.to_be_bytes().to_vec();
    for size in [1, preferred, protocol::MAX_REQUEST] {
        data.extend(size.to_be_bytes());
    }
    send(stream, number, answer::INFO, &data)
}

/// The name in the data of `INFO` and `GO`: a length, the name, a count, and that many 2-byte information requests,
/// which the server ignores, because it always sends all information.
fn wanted_name(data: &[u8]) -> Option<&[u8]> {
    let (len, rest) = data.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    let (count, requests) = rest.split_first_chunk()?;
    (requests.len() == usize::from(u16::from_be_bytes(*count)) * 2).then_some(name)
}

fn send(stream: &mut impl Write, number: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let mut reply = protocol::OPTION_REPLY.to_be_bytes().to_vec();
    reply.extend(number.to_be_bytes());
    reply.extend(kind.to_be_bytes());
    reply.extend((data.len() as u32).to_be_bytes());
    reply.extend(data);
    stream.write_all(&reply)
}

fn take<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
