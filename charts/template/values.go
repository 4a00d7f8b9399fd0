package template

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"text/template/parse"
)

// pipe returns the value of a pipeline, and sets the variables that it names.
func (f *filling) pipe(dot any, pipe *parse.PipeNode) (value any, err error) {
	for i, command := range pipe.Cmds {
		var piped []any
		if i > 0 {
			piped = []any{value}
		}
		if value, err = f.command(dot, command, piped); err != nil {
			return nil, err
		}
	}
	for _, name := range pipe.Decl {
		if !pipe.IsAssign {
			f.declare(name, value)
			continue
		}
		at := f.find(name.Ident[0])
		if at < 0 {
			return nil, fmt.Errorf("there is no variable %s", name)
		}
		f.variables[at].value = value
	}
	return value, nil
}

// find returns the place of a variable, -1 for none.
func (f *filling) find(name string) int {
	for i, known := range slices.Backward(f.variables) {
		if known.name == name {
			return i
		}
	}
	return -1
}

// command returns the value of a command of a pipeline, which gets what the one before it returned.
func (f *filling) command(dot any, command *parse.CommandNode, piped []any) (any, error) {
	function, calls := command.Args[0].(*parse.IdentifierNode)
	if !calls {
		if len(command.Args) > 1 || len(piped) > 0 {
			return nil, fmt.Errorf("%s is no function", command.Args[0])
		}
		return f.value(dot, command.Args[0])
	}
	var args []any
	for _, arg := range command.Args[1:] {
		value, err := f.value(dot, arg)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	return f.set.funcs[function.Ident](append(args, piped...)...)
}

// value returns the value of an operand.
func (f *filling) value(dot any, node parse.Node) (any, error) {
	switch node := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return fields(dot, node.Ident)
	case *parse.ChainNode: // of something in parentheses, which may be nothing
		value, err := f.value(dot, node.Node)
		if err != nil || value == nil {
			return nil, err
		}
		return fields(value, node.Field)
	case *parse.VariableNode:
		at := f.find(node.Ident[0])
		if at < 0 {
			return nil, fmt.Errorf("there is no variable %s", node)
		}
		return fields(f.variables[at].value, node.Ident[1:])
	case *parse.IdentifierNode:
		return f.set.funcs[node.Ident]()
	case *parse.PipeNode:
		return f.pipe(dot, node)
	case *parse.StringNode:
		return node.Text, nil
	case *parse.BoolNode:
		return node.True, nil
	case *parse.NumberNode:
		if node.IsInt {
			return int(node.Int64), nil
		}
	}
	return nil, fmt.Errorf("%s is not supported here", node)
}

// fields returns the value of a field of a field. A map has each field: one that it lacks is nil.
func fields(of any, names []string) (any, error) {
	for _, name := range names {
		value := reflect.Indirect(reflect.ValueOf(of))
		switch value.Kind() {
		case reflect.Map:
			if value = value.MapIndex(reflect.ValueOf(name)); !value.IsValid() {
				of = nil
				continue
			}
		case reflect.Struct:
			if value = value.FieldByName(name); !value.IsValid() {
				return nil, fmt.Errorf("%T has no field %s", of, name)
			}
		default:
			return nil, fmt.Errorf("%T has no fields: %s", of, name)
		}
		of = value.Interface()
	}
	return of, nil
}

// True reports whether something is neither nil nor the zero value of its type nor empty.
func True(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	case reflect.Struct:
		return true
	default:
		return !v.IsZero()
	}
}

// builtins are the functions of each template.
func builtins() map[string]Func {
	return map[string]Func{
		"eq": func(args ...any) (any, error) {
			if len(args) < 2 {
				return nil, errors.New("eq compares two values, or more")
			}
			return slices.ContainsFunc(args[1:], func(other any) bool { return same(args[0], other) }), nil
		},
		"ne": func(args ...any) (any, error) {
			if len(args) != 2 {
				return nil, errors.New("ne compares two values")
			}
			return !same(args[0], args[1]), nil
		},
		"and": func(args ...any) (any, error) { return first(args, false) },
		"or":  func(args ...any) (any, error) { return first(args, true) },
		"not": func(args ...any) (any, error) {
			value, err := first(args, true)
			return !True(value), err
		},
		"len": func(args ...any) (any, error) {
			if len(args) == 1 {
				switch v := reflect.ValueOf(args[0]); v.Kind() {
				case reflect.Slice, reflect.Map, reflect.String:
					return v.Len(), nil
				}
			}
			return nil, errors.New("len takes a list, a map or a text")
		},
	}
}

// same compares texts, whatever their types, and values of one type.
func same(a, b any) bool {
	if v, w := reflect.ValueOf(a), reflect.ValueOf(b); v.Kind() == reflect.String && w.Kind() == reflect.String {
		return v.String() == w.String()
	}
	return a == b
}

// first returns the first value that is true, or is not; the last one if none is.
func first(values []any, wanted bool) (any, error) {
	if len(values) == 0 {
		return nil, errors.New("and, or and not take a value")
	}
	for _, value := range values {
		if True(value) == wanted {
			return value, nil
		}
	}
	return values[len(values)-1], nil
}
