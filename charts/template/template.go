// Package template fills in templates of the syntax of text/template, as far as the chart and muster's pages use it.
//
// It calls no methods by their names, as text/template does: where that is linked, a linker keeps each exported method of each
// type, and the program is half as large again.
package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// Func is a function that templates may call.
type Func func(args ...any) (any, error)

// Set is templates that may include one another. It is immutable.
type Set struct {
	trees  map[string]*parse.Tree
	funcs  map[string]Func
	escape func(string) string
}

// Parse returns texts as templates by their names, and the templates that they define. They may call functions besides eq, ne, and,
// or, not, len and include. What they print of data is escaped first, unless escape is nil.
func Parse(texts map[string]string, funcs map[string]Func, escape func(string) string) (*Set, error) {
	s := &Set{trees: map[string]*parse.Tree{}, funcs: builtins(), escape: escape}
	maps.Copy(s.funcs, funcs)
	s.funcs["include"] = func(args ...any) (any, error) {
		if len(args) != 2 {
			return nil, fmt.Errorf("include takes a name and data, and not %d arguments", len(args))
		}
		return s.Fill(fmt.Sprint(args[0]), args[1])
	}
	known := make(map[string]any, len(s.funcs))
	for name := range s.funcs {
		known[name] = true
	}
	for name, text := range texts {
		trees, err := parse.Parse(name, text, "", "", known)
		if err != nil {
			return nil, err
		}
		maps.Copy(s.trees, trees)
	}
	return s, nil
}

// Fill returns a template filled in with data: maps by text, structs, slices, text, numbers and truths.
func (s *Set) Fill(name string, data any) (string, error) {
	tree, found := s.trees[name]
	if !found {
		return "", fmt.Errorf("there is no template %q", name)
	}
	f := &filling{set: s, variables: []variable{{"$", data}}}
	if err := f.node(data, tree.Root); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return f.text.String(), nil
}

// filling is a template that is being filled in.
type filling struct {
	set       *Set
	text      strings.Builder
	variables []variable // that are in scope, the innermost last
}

type variable struct {
	name  string
	value any
}

// node writes what a part of the template says of dot.
func (f *filling) node(dot any, node parse.Node) error {
	switch node := node.(type) {
	case *parse.TextNode:
		f.text.Write(node.Text)
		return nil
	case *parse.ListNode:
		if node == nil {
			return nil
		}
		for _, part := range node.Nodes {
			if err := f.node(dot, part); err != nil {
				return err
			}
		}
		return nil
	case *parse.ActionNode:
		value, err := f.pipe(dot, node.Pipe)
		if err == nil && len(node.Pipe.Decl) == 0 {
			f.print(value)
		}
		return err
	case *parse.IfNode:
		return f.branch(dot, &node.BranchNode, func(any) any { return dot })
	case *parse.WithNode:
		return f.branch(dot, &node.BranchNode, func(value any) any { return value })
	case *parse.RangeNode:
		return f.rows(dot, node)
	case *parse.CommentNode:
		return nil
	}
	return fmt.Errorf("%s is not supported here", node)
}

func (f *filling) print(value any) {
	text := fmt.Sprint(value)
	if f.set.escape != nil {
		text = f.set.escape(text)
	}
	f.text.WriteString(text)
}

// branch writes one of two lists, with the dot that within makes of what decides.
func (f *filling) branch(dot any, node *parse.BranchNode, within func(any) any) error {
	defer f.leave(len(f.variables))
	value, err := f.pipe(dot, node.Pipe)
	switch {
	case err != nil:
		return err
	case True(value):
		return f.node(within(value), node.List)
	default:
		return f.node(dot, node.ElseList)
	}
}

// leave ends the scope of the variables after a number of them.
func (f *filling) leave(before int) { f.variables = f.variables[:before] }

// rows writes a list for each element of a slice, and of a map by text in the order of its keys.
func (f *filling) rows(dot any, node *parse.RangeNode) error {
	defer f.leave(len(f.variables))
	declared := node.Pipe.Decl
	pipe := *node.Pipe
	pipe.Decl = nil
	rows, err := f.pipe(dot, &pipe)
	if err != nil {
		return err
	}
	list := reflect.ValueOf(rows)
	if !True(rows) {
		return f.node(dot, node.ElseList)
	}
	var keys []any
	var element func(key any) any
	switch entries, isMap := rows.(map[string]any); {
	case isMap:
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			keys = append(keys, key)
		}
		element = func(key any) any { return entries[key.(string)] }
	case list.Kind() == reflect.Slice:
		for i := range list.Len() {
			keys = append(keys, i)
		}
		element = func(key any) any { return list.Index(key.(int)).Interface() }
	default:
		return fmt.Errorf("range over %T", rows)
	}
	scope := len(f.variables)
	for _, key := range keys {
		row := element(key)
		switch len(declared) {
		case 1:
			f.declare(declared[0], row)
		case 2:
			f.declare(declared[0], key)
			f.declare(declared[1], row)
		}
		if err := f.node(row, node.List); err != nil {
			return err
		}
		f.leave(scope)
	}
	return nil
}

func (f *filling) declare(name *parse.VariableNode, value any) {
	f.variables = append(f.variables, variable{name.Ident[0], value})
}
