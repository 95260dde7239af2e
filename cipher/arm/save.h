/*
 * For assembly: what a function saves when it begins, with what a debugger wants
 * to know of it. It returns by pop {r4-r11, pc}, after vpop {d8-d15} and 4 bytes
 * more where it saved those.
 */
	.macro	save_registers
	push	{r4-r11, lr}
	.cfi_adjust_cfa_offset 36
	.cfi_rel_offset r4, 0
	.cfi_rel_offset r5, 4
	.cfi_rel_offset r6, 8
	.cfi_rel_offset r7, 12
	.cfi_rel_offset r8, 16
	.cfi_rel_offset r9, 20
	.cfi_rel_offset r10, 24
	.cfi_rel_offset r11, 28
	.cfi_rel_offset lr, 32
	.endm

	.macro	save_vectors	/* the stack stays aligned to 8 bytes */
	sub	sp, sp, #4
	.cfi_adjust_cfa_offset 4
	vpush	{d8-d15}
	.cfi_adjust_cfa_offset 64
	.cfi_rel_offset d8, 0
	.cfi_rel_offset d9, 8
	.cfi_rel_offset d10, 16
	.cfi_rel_offset d11, 24
	.cfi_rel_offset d12, 32
	.cfi_rel_offset d13, 40
	.cfi_rel_offset d14, 48
	.cfi_rel_offset d15, 56
	.endm
