// Package rescheduler tests that pods are moved: by 'muster reschedule' beside muster, the stock
// scheduler, the disruption controller and machines that KWOK stands in for.
package rescheduler
