// Package trial says what would become of objects that are not in a cluster: whether the pods that are made of them have room now,
// once other pods have moved, at what time, on more nodes only, or never.
//
// A [World] is a private view of a cluster as it is at one moment, live or of dumps, with the parts that decide in muster: the plans of
// gangs, the booking of room in time, forecasts, and the planner of the rescheduler. The objects are put into that view, their pods are
// asked about, and nothing is written anywhere. So an answer is as good as what the view shows. What a muster that runs has learned
// since its start, and the room that it keeps for pods that kube-scheduler is about to bind, are not in it.
package trial
