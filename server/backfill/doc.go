// Package backfill gives large gangs room in time.
//
// A gang that asks for much of a busy cluster never starts while small pods take each node that falls free. So once the first gang, by
// priority and then by age, has waited for long, room is booked for it ([reservation.Keeper.Book]): the places that it would have first if
// pods end as expected. Pods that end before the gang can start, or fit beside it, go there meanwhile, and others of no higher priority do
// not. This is EASY backfilling (Lifka, The ANL/IBM SP Scheduling System, 1995) with one reservation, on a cluster of nodes that differ.
//
// A booking is nothing but a forecast, and is made again as pods end, and at least each half minute. It is read off the objects alone,
// so it is there again after a restart. Wrong estimates move it to a later time; nobody is evicted for it. It is given up once the gang
// has its places, goes, or could not start even after all ends that are expected.
package backfill
