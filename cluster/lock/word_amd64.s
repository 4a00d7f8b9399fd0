//go:build lockorder

#include "textflag.h"

// func word(offset uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	MOVQ offset+0(FP), BX
	MOVQ (AX)(BX*1), AX
	MOVQ AX, ret+8(FP)
	RET
