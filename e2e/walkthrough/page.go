package walkthrough

import (
	"fmt"
	"slices"
	"strings"
)

// Block is a shell block of a page, or (with an empty Script) what its background has said by now.
type Block struct {
	// Line of the page where it begins.
	Line int
	// Script is for the shell to run.
	Script string
	// Want is the text that is shown, empty when there is none.
	Want string
	// Again says that it may have to run more than once, Background that it runs beside the others.
	Again, Background bool
}

// Parse returns the blocks of a Markdown page, in order. It fails at a block that is not closed, a
// word that it does not know, and a text that no block comes before.
func Parse(page string) (blocks []Block, err error) {
	lines := strings.Split(page, "\n")
	shown := true // whether the last block's output is known already
	for i := 0; i < len(lines); i++ {
		info, fence := strings.CutPrefix(lines[i], "```")
		if !fence {
			continue
		}
		began := i + 1
		length := slices.Index(lines[began:], "```")
		if length < 0 {
			return nil, fmt.Errorf("line %d: the block is not closed", began)
		}
		text := strings.Join(lines[began:began+length], "\n")
		i = began + length
		switch info {
		case "sh":
			blocks, shown = append(blocks, Block{Line: began, Script: text}), false
		case "sh again":
			blocks, shown = append(blocks, Block{Line: began, Script: text, Again: true}), false
		case "sh background":
			blocks, shown = append(blocks, Block{Line: began, Script: text, Background: true}), true
		case "text background":
			blocks, shown = append(blocks, Block{Line: began, Want: text, Background: true}), true
		case "text":
			if shown {
				return nil, fmt.Errorf("line %d: no block comes before this text that might print it", began)
			}
			blocks[len(blocks)-1].Want, shown = text, true
		default:
			if word, _, _ := strings.Cut(info, " "); word == "sh" || word == "text" {
				return nil, fmt.Errorf("line %d: a block marked %q", began, info)
			}
		}
	}
	return blocks, nil
}
