// Package inspect is how a process shows itself: endpoints that answer programs in JSON and
// people in aligned text, and an index of them.
//
// What an endpoint tells is an [Answer]: a value that encoding/json writes, and that writes
// itself as text. Which of the two is asked for is found out here and nowhere else, by
// ?format= or by Accept, so all endpoints agree about it, and about how they refuse:
//
//	func (s *Server) nodes(*http.Request) (inspect.Answer, error) { … }
//
//	inspect.Router(inspect.Page("/debug/nodes", "every node", s.nodes))
//
// A [Router] is made of a table of endpoints and so is its index, which therefore cannot name
// what is not served, or be silent about what is.
package inspect
