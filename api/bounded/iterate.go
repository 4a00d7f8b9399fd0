package bounded

import "github.com/go-faster/jx"

// Object reads an object and hands on the name of each field, before its value, which read has to
// read or skip. Unlike jx's own it leaves errors as they are.
func Object(d *jx.Decoder, read func(d *jx.Decoder, name []byte) error) error {
	fields, err := d.ObjIter()
	if err != nil {
		return err
	}
	for fields.Next() {
		if err := read(d, fields.Key()); err != nil {
			return err
		}
	}
	return fields.Err()
}

// Array is Object for the elements of a list.
func Array(d *jx.Decoder, read func(d *jx.Decoder) error) error {
	elements, err := d.ArrIter()
	if err != nil {
		return err
	}
	for elements.Next() {
		if err := read(d); err != nil {
			return err
		}
	}
	return elements.Err()
}
