// Package questions answers the questions that people ask by objects in their namespaces.
//
//	watch ──Trim──→ Queue ──turns of namespaces──→ Answerer ──→ status of the Question
//
// What holds whatever tenants ask:
//
//   - One question is answered at a time, a few a second in all, and they take a fifth of a core at most. Namespaces take
//     turns, so one with thousands of questions delays the question of another by one answer.
//   - Of a namespace a number of answers stand at a time. Its other questions wait until these are deleted: by people who
//     have read them, or by muster some minutes after it has seen the answer, by its own clock.
//   - A question is answered once. The answer is written to the very object, and version of it, that was seen.
//   - A question waits as a name and what it is about, whatever else its object has.
//
// Every process follows the questions, and only the leader answers them.
package questions
