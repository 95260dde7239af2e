/* abi_call for 64-bit ARM, see abi.c; the offsets are those of struct abi_frame. */
#ifdef __aarch64__

#define MOVED 72
#define SAVED 80
#define VECTORS 168
#define CONTROL 232
#define CANARY 244

	.local	abi_frame
	.comm	abi_frame, 8, 8
	.local	abi_stack
	.comm	abi_stack, 8, 8

	.text
	.globl	abi_call
	.type	abi_call, %function
	.balign	16
abi_call:
	.cfi_startproc
	sub	sp, sp, #176
	.cfi_def_cfa_offset 176
	stp	x19, x20, [sp, #16]
	.cfi_rel_offset x19, 16
	.cfi_rel_offset x20, 24
	stp	x21, x22, [sp, #32]
	.cfi_rel_offset x21, 32
	.cfi_rel_offset x22, 40
	stp	x23, x24, [sp, #48]
	.cfi_rel_offset x23, 48
	.cfi_rel_offset x24, 56
	stp	x25, x26, [sp, #64]
	.cfi_rel_offset x25, 64
	.cfi_rel_offset x26, 72
	stp	x27, x28, [sp, #80]
	.cfi_rel_offset x27, 80
	.cfi_rel_offset x28, 88
	stp	x29, x30, [sp, #96]
	.cfi_rel_offset x29, 96
	.cfi_rel_offset x30, 104
	stp	d8, d9, [sp, #112]
	stp	d10, d11, [sp, #128]
	stp	d12, d13, [sp, #144]
	stp	d14, d15, [sp, #160]
	mrs	x9, fpcr
	str	x9, [sp, #8]

	mov	x16, x0
	adrp	x10, abi_frame
	str	x16, [x10, #:lo12:abi_frame]
	mov	x9, sp
	adrp	x10, abi_stack
	str	x9, [x10, #:lo12:abi_stack]
	ldr	w9, [x16, #CANARY]
	str	x9, [sp]
	ldr	w9, [x16, #CONTROL]
	msr	fpcr, x9
	ldp	d8, d9, [x16, #VECTORS]
	ldp	d10, d11, [x16, #VECTORS + 16]
	ldp	d12, d13, [x16, #VECTORS + 32]
	ldp	d14, d15, [x16, #VECTORS + 48]
	ldp	x19, x20, [x16, #SAVED]
	ldp	x21, x22, [x16, #SAVED + 16]
	ldp	x23, x24, [x16, #SAVED + 32]
	ldp	x25, x26, [x16, #SAVED + 48]
	ldp	x27, x28, [x16, #SAVED + 64]
	ldr	x29, [x16, #SAVED + 80]
	ldp	x0, x1, [x16, #8]
	ldp	x2, x3, [x16, #24]
	ldp	x4, x5, [x16, #40]
	ldp	x6, x7, [x16, #56]
	ldr	x16, [x16]
	blr	x16

	adrp	x10, abi_frame
	ldr	x16, [x10, #:lo12:abi_frame]
	stp	d8, d9, [x16, #VECTORS]
	stp	d10, d11, [x16, #VECTORS + 16]
	stp	d12, d13, [x16, #VECTORS + 32]
	stp	d14, d15, [x16, #VECTORS + 48]
	stp	x19, x20, [x16, #SAVED]
	stp	x21, x22, [x16, #SAVED + 16]
	stp	x23, x24, [x16, #SAVED + 32]
	stp	x25, x26, [x16, #SAVED + 48]
	stp	x27, x28, [x16, #SAVED + 64]
	str	x29, [x16, #SAVED + 80]
	mov	x9, sp
	adrp	x10, abi_stack
	ldr	x10, [x10, #:lo12:abi_stack]
	mov	sp, x10
	sub	x9, x9, x10
	str	x9, [x16, #MOVED]
	ldr	x9, [sp]
	str	w9, [x16, #CANARY]
	mrs	x9, fpcr
	str	w9, [x16, #CONTROL]
	ldr	x9, [sp, #8]
	msr	fpcr, x9

	ldp	d8, d9, [sp, #112]
	ldp	d10, d11, [sp, #128]
	ldp	d12, d13, [sp, #144]
	ldp	d14, d15, [sp, #160]
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp, #96]
	add	sp, sp, #176
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	abi_call, . - abi_call

/* abi_spoil(n): breaks the register n of `registers` in abi.c, counted from 1,
 * then d8 to d15, the control register, the caller's part of the stack. */
	.globl	abi_spoil
	.type	abi_spoil, %function
	.balign	16
abi_spoil:
	.cfi_startproc
	.irp	r, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, x29
	subs	w0, w0, #1
	b.ne	1f
	add	\r, \r, #1
	ret
1:
	.endr
	.irp	r, 8, 9, 10, 11, 12, 13, 14, 15
	subs	w0, w0, #1
	b.ne	1f
	mvn	v\r\().8b, v\r\().8b
	ret
1:
	.endr
	subs	w0, w0, #1
	b.ne	1f
	msr	fpcr, xzr
	ret
1:
	subs	w0, w0, #1
	b.ne	1f
	str	xzr, [sp]
1:
	ret
	.cfi_endproc
	.size	abi_spoil, . - abi_spoil

#endif
	.section .note.GNU-stack, "", %progbits
