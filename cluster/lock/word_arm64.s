//go:build lockorder

#include "textflag.h"

// func word(offset uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-16
	MOVD offset+0(FP), R0
	ADD  g, R0
	MOVD (R0), R0
	MOVD R0, ret+8(FP)
	RET
