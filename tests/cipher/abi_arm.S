/* abi_call for 32-bit ARM, see abi.c; the offsets are those of struct abi_frame. */
#ifdef __arm__

#define MOVED 36
#define SAVED 40
#define VECTORS 72
#define CONTROL 136
#define CANARY 148

	.syntax	unified
	.arch	armv7-a
	.fpu	vfpv3-d16
	.arm

	.local	abi_frame
	.comm	abi_frame, 4, 4
	.local	abi_stack
	.comm	abi_stack, 4, 4

	.text
	.globl	abi_call
	.type	abi_call, %function
	.balign	8
abi_call:
	.cfi_startproc
	push	{r4-r11, lr}
	.cfi_def_cfa_offset 36
	.cfi_rel_offset r4, 0
	.cfi_rel_offset r5, 4
	.cfi_rel_offset r6, 8
	.cfi_rel_offset r7, 12
	.cfi_rel_offset r8, 16
	.cfi_rel_offset r9, 20
	.cfi_rel_offset r10, 24
	.cfi_rel_offset r11, 28
	.cfi_rel_offset lr, 32
	vpush	{d8-d15}
	.cfi_adjust_cfa_offset 64
	/* Four arguments, the canary, FPSCR; 8-byte aligned. */
	sub	sp, sp, #28
	.cfi_adjust_cfa_offset 28

	mov	r12, r0
	ldr	r1, .Lframe
0:	add	r1, pc, r1
	str	r12, [r1]
	ldr	r1, .Lstack
1:	add	r1, pc, r1
	str	sp, [r1]
	vmrs	r1, fpscr
	str	r1, [sp, #20]
	ldr	r1, [r12, #CONTROL]
	vmsr	fpscr, r1
	ldr	r1, [r12, #CANARY]
	str	r1, [sp, #16]
	ldr	r1, [r12, #20]
	str	r1, [sp]
	ldr	r1, [r12, #24]
	str	r1, [sp, #4]
	ldr	r1, [r12, #28]
	str	r1, [sp, #8]
	ldr	r1, [r12, #32]
	str	r1, [sp, #12]
	add	r0, r12, #VECTORS
	vldm	r0, {d8-d15}
	add	r0, r12, #SAVED
	ldm	r0, {r4-r11}
	ldr	r0, [r12, #4]
	ldr	r1, [r12, #8]
	ldr	r2, [r12, #12]
	ldr	r3, [r12, #16]
	ldr	r12, [r12]
	blx	r12

	ldr	r12, .Lframe2
2:	add	r12, pc, r12
	ldr	r12, [r12]
	add	r0, r12, #SAVED
	stm	r0, {r4-r11}
	add	r0, r12, #VECTORS
	vstm	r0, {d8-d15}
	ldr	r1, .Lstack2
3:	add	r1, pc, r1
	ldr	r1, [r1]
	sub	r0, sp, r1
	mov	sp, r1
	str	r0, [r12, #MOVED]
	ldr	r1, [sp, #16]
	str	r1, [r12, #CANARY]
	vmrs	r1, fpscr
	str	r1, [r12, #CONTROL]
	ldr	r1, [sp, #20]
	vmsr	fpscr, r1

	add	sp, sp, #28
	.cfi_adjust_cfa_offset -28
	vpop	{d8-d15}
	.cfi_adjust_cfa_offset -64
	pop	{r4-r11, pc}
	.cfi_endproc
	.balign	4
.Lframe:
	.word	abi_frame - (0b + 8)
.Lstack:
	.word	abi_stack - (1b + 8)
.Lframe2:
	.word	abi_frame - (2b + 8)
.Lstack2:
	.word	abi_stack - (3b + 8)
	.size	abi_call, . - abi_call

/* abi_spoil(n): breaks the register n of `registers` in abi.c, counted from 1,
 * then d8 to d15, the control register, the caller's part of the stack. */
	.globl	abi_spoil
	.type	abi_spoil, %function
	.balign	8
abi_spoil:
	.cfi_startproc
	.irp	r, r4, r5, r6, r7, r8, r9, r10, r11
	subs	r0, r0, #1
	addeq	\r, \r, #1
	bxeq	lr
	.endr
	.irp	r, d8, d9, d10, d11, d12, d13, d14, d15
	subs	r0, r0, #1
	vmoveq	\r, r0, sp
	bxeq	lr
	.endr
	subs	r0, r0, #1
	vmsreq	fpscr, r0
	bxeq	lr
	subs	r0, r0, #1
	streq	r0, [sp, #16]
	bx	lr
	.cfi_endproc
	.size	abi_spoil, . - abi_spoil

#endif
	.section .note.GNU-stack, "", %progbits
