// Package walkthrough follows a page of the documentation as its reader would: it runs the page's
// shell blocks in order and holds what they print against what the page shows.
//
//	sh               runs in one bash, which keeps its variables and jobs
//	sh again         only looks at something that takes a moment: runs again until it prints what is shown
//	sh background    runs in a terminal of its own, until the end
//	text             what the last block prints, stderr included. Without it the block prints nothing
//	text background  what the background block prints from where it was last looked at; it is waited for
//
// Other blocks are not looked at. In a text a line of nothing but ... stands for any number of lines,
// ... in a line for anything, and any number of spaces for one, as the widths of columns vary.
package walkthrough
