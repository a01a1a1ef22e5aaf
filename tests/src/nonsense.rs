//! Random messages after the descriptor of the interface, and random damage to bytes.
//!
//! Every field of every request gets values that somebody will send some day: extremes, empty and very long texts,
//! words of no enum, ids of somebody else. What comes out is well-formed; [`damaged`] sees to the rest.

use agrajag_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, Value,
};

use crate::random::Random;

/// Texts that fields get beside made-up ones.
const TEXTS: [&str; 26] = [
    "",
    "a",
    "acme",
    "essay",
    "alice",
    "jira_search",
    "http-403",
    "default",
    "\u{0}",
    "\u{1}\u{7f}",
    "two\nlines\r\n",
    "' OR 1=1; DROP TABLE documents; --",
    "../../../etc/passwd",
    "%s%n%x{}{{}}",
    "ä€😀\u{202e}\u{feff}",
    "NaN",
    "null",
    "0",
    "-1",
    "99999999999999999999",
    "Retry-After",
    "Mon, 30 Feb 2026 25:61:61 GMT",
    "PT24H",
    "patterns: [{ id: a, match: {}, signature: s, classification: UNCLEAR }]",
    "patterns: [{ id: a, match: { httpStatusRange: [9, 1] } }]",
    "00000000-0000-0000-0000-000000000000:1",
];

const NUMBERS: [i64; 14] = [
    0,
    1,
    -1,
    2,
    7,
    100,
    403,
    599,
    1_000,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
    253_402_300_799,
];

/// Every method of the interface.
///
/// # Panics
///
/// If the descriptor cannot be read.
#[must_use]
pub fn methods() -> Vec<MethodDescriptor> {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("our own descriptor");
    let services: Vec<_> = pool.services().filter(|it| it.package_name() == "agrajag.v1").collect();
    services.iter().flat_map(|it| it.methods().collect::<Vec<_>>()).collect()
}

/// The path of a method on the wire.
#[must_use]
pub fn path(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

/// A random message.
#[must_use]
pub fn message(descriptor: &MessageDescriptor, random: &mut Random) -> DynamicMessage {
    nested(descriptor, random, 0)
}

fn nested(descriptor: &MessageDescriptor, random: &mut Random, depth: u32) -> DynamicMessage {
    let mut message = DynamicMessage::new(descriptor.clone());
    for field in descriptor.fields() {
        // Fields that others hang on are there more often, so that the rest is reached at all.
        let is_key = ["caller", "tool", "key", "tenant_id", "name", "tool_name"].contains(&field.name());
        if if is_key { random.once_in(8) } else { random.once_in(2) } {
            continue;
        }
        let value = if field.is_list() {
            let n = if random.once_in(20) { 40 } else { random.below(4) };
            Value::List((0..n).map(|_| scalar(&field, random, depth)).collect())
        } else if field.is_map() {
            continue;
        } else {
            scalar(&field, random, depth)
        };
        message.set_field(&field, value);
    }
    message
}

fn scalar(field: &FieldDescriptor, random: &mut Random, depth: u32) -> Value {
    let number = if random.once_in(3) { random.next_u64().cast_signed() } else { *random.pick(&NUMBERS) };
    match field.kind() {
        Kind::Bool => Value::Bool(random.once_in(2)),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(number as i32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(number as u32),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(number.cast_unsigned()),
        Kind::Float => Value::F32(number as f32),
        Kind::Double => Value::F64(f64::from_bits(number.cast_unsigned())),
        Kind::String => Value::String(text(field.name(), random)),
        Kind::Bytes => {
            let len = random.index(40);
            Value::Bytes(random.bytes(len).into())
        }
        Kind::Enum(it) => {
            let known: Vec<i32> = it.values().map(|it| it.number()).collect();
            Value::EnumNumber(if random.once_in(4) { number as i32 } else { *random.pick(&known) })
        }
        Kind::Message(it) if depth < 8 => Value::Message(nested(&it, random, depth + 1)),
        Kind::Message(it) => Value::Message(DynamicMessage::new(it)),
    }
}

fn text(field: &str, random: &mut Random) -> String {
    match (field, random.below(8)) {
        ("tenant_id", 0..=5) => "acme".to_owned(),
        ("name" | "tool_name", 0..=4) => format!("tool_{}", random.below(10)),
        (_, 0) => "x".repeat(random.index(70_000)),
        (_, 1) => {
            let len = random.index(300);
            String::from_utf8_lossy(&random.bytes(len)).into_owned()
        }
        _ => (*random.pick(&TEXTS)).to_owned(),
    }
}

/// The bytes with a few of them changed, lost or added.
#[must_use]
pub fn damaged(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(8) {
        let at = random.index(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => {
                let byte = random.bytes(1)[0];
                bytes.insert(at, byte);
            }
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 => {
                let tail = bytes.split_off(at);
                let len = random.index(20);
                bytes.extend(random.bytes(len));
                bytes.extend(tail);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}
