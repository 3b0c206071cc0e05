//! The writer as a serializer, and the lists and objects that it hands out.

use serde::ser::{self, Serialize};

use super::{CanonicalList, CanonicalObject, CanonicalWriter, UnusualValue, Written};

/// Type by which a value hands over JSON text of its own.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! write_integers {
    ($($name:ident $kind:ty, |$number:ident| $size:expr;)*) => {
        $(fn $name(self, $number: $kind) -> Written {
            self.push_number($number, $size)
        })*
    };
}

impl<'w> ser::Serializer for &'w mut CanonicalWriter {
    type Ok = ();
    type Error = UnusualValue;
    type SerializeSeq = CanonicalList<'w>;
    type SerializeTuple = CanonicalList<'w>;
    type SerializeTupleStruct = CanonicalList<'w>;
    type SerializeTupleVariant = CanonicalList<'w>;
    type SerializeMap = CanonicalObject<'w>;
    type SerializeStruct = CanonicalObject<'w>;
    type SerializeStructVariant = CanonicalObject<'w>;

    write_integers! {
        serialize_i8 i8, |number| number.unsigned_abs().into();
        serialize_i16 i16, |number| number.unsigned_abs().into();
        serialize_i32 i32, |number| number.unsigned_abs().into();
        serialize_i64 i64, |number| number.unsigned_abs();
        serialize_u8 u8, |number| number.into();
        serialize_u16 u16, |number| number.into();
        serialize_u32 u32, |number| number.into();
        serialize_u64 u64, |number| number;
    }

    fn serialize_bool(self, value: bool) -> Written {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> Written {
        Err(UnusualValue)
    }

    fn serialize_f64(self, _: f64) -> Written {
        Err(UnusualValue)
    }

    fn serialize_char(self, value: char) -> Written {
        self.push_text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Written {
        self.push_text(text)
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        Err(UnusualValue)
    }

    fn serialize_none(self) -> Written {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.push_text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        self.begin_variant(variant)?;
        value.serialize(&mut *self)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<CanonicalList<'w>, UnusualValue> {
        Ok(self.begin_list("]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<CanonicalList<'w>, UnusualValue> {
        Ok(self.begin_list("]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<CanonicalList<'w>, UnusualValue> {
        Ok(self.begin_list("]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<CanonicalList<'w>, UnusualValue> {
        self.begin_variant(variant)?;
        Ok(self.begin_list("]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<CanonicalObject<'w>, UnusualValue> {
        Ok(self.begin_object("}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<CanonicalObject<'w>, UnusualValue> {
        if name == RAW_VALUE { Err(UnusualValue) } else { Ok(self.begin_object("}")) }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<CanonicalObject<'w>, UnusualValue> {
        self.begin_variant(variant)?;
        Ok(self.begin_object("}}"))
    }
}

macro_rules! write_lists {
    ($($kind:ident $push:ident;)*) => {
        $(impl ser::$kind for CanonicalList<'_> {
            type Ok = ();
            type Error = UnusualValue;

            fn $push<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
                self.push_item(item)
            }

            fn end(self) -> Written {
                self.close()
            }
        })*
    };
}

write_lists! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! write_objects {
    ($($kind:ident)*) => {
        $(impl ser::$kind for CanonicalObject<'_> {
            type Ok = ();
            type Error = UnusualValue;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
                self.push_field(name, value)
            }

            fn end(self) -> Written {
                self.close()
            }
        })*
    };
}

write_objects! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for CanonicalObject<'_> {
    type Ok = ();
    type Error = UnusualValue;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        self.key = Some(self.writer.push_key(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        let key = self.key.take().ok_or(UnusualValue)?;
        self.writer.push_value(key, value)
    }

    fn end(self) -> Written {
        self.close()
    }
}
