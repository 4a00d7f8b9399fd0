// Package bounded decodes JSON that nobody has checked: bodies of requests, annotations, dumps,
// custom resources. What that takes follows from the length of the text, whatever it says.
//
// A decoder makes of four bytes, "{},", a container of hundreds, of a name of an unlimited length a
// key, and of a quantity a number of millions of digits. So a text is walked once before it is
// decoded, along what the type takes: nothing in it may be too deep or too many, every quantity
// must be one that [quantity.Check] lets be parsed, and what decoding will allocate must be within
// [Memory]. An error has the place in the text, the figure and the bound.
package bounded
