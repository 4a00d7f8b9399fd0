// Package docsite makes a site of the repository's Markdown: each page becomes HTML beside the pictures that it shows,
// with a navigation that is made of the tables in docs/README.md.
//
// The pages stay as GitHub shows them. Their relative links are rewritten: those to pages lead to HTML, those to pictures
// to copies, and those to anything else to the source on the web. The site needs no server but one of files, and loads
// nothing from elsewhere.
//
// A link that leads to no file is an error, and so is a page that no link leads to. [Check] reads what was built, and finds
// links, anchors and pictures that lead nowhere. It knows nothing of Markdown.
package docsite
