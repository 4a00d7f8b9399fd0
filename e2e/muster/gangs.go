package muster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Gang is how far the members of a gang are.
type Gang struct {
	MinMember                             int
	Pending, Placed, Held, Binding, Bound int
}

// Gangs reads from /debug/gangs how far all gangs are, by namespace/name.
func (s *Server) Gangs(ctx context.Context) (map[string]Gang, error) {
	page, err := s.get(ctx, "/debug/gangs")
	if err != nil {
		return nil, err
	}
	defer page.Close()
	var gangs map[string]Gang
	for lines := bufio.NewScanner(page); lines.Scan(); {
		columns := strings.Fields(lines.Text())
		switch {
		case len(columns) > 0 && columns[0] == "GANG":
			gangs = map[string]Gang{}
		case gangs == nil || len(columns) == 0:
		default:
			var g Gang
			for i, field := range []*int{&g.MinMember, &g.Pending, &g.Placed, &g.Held, &g.Binding, &g.Bound} {
				if i+1 >= len(columns) {
					return nil, fmt.Errorf("/debug/gangs: line %q is too short", lines.Text())
				}
				if *field, err = strconv.Atoi(columns[i+1]); err != nil {
					return nil, fmt.Errorf("/debug/gangs: line %q: %w", lines.Text(), err)
				}
			}
			gangs[columns[0]] = g
		}
	}
	if gangs == nil {
		return nil, errors.New("/debug/gangs has no table of gangs")
	}
	return gangs, nil
}
