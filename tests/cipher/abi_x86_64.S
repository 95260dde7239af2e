/* abi_call for x86-64, see abi.c; the offsets are those of struct abi_frame. */
#ifdef __x86_64__

#define ARGUMENT(n) (8 + 8 * (n))(%rax)
#define MOVED 72(%rax)
#define SAVED(n) (80 + 8 * (n))(%rax)
#define CONTROL(n) (192 + 4 * (n))(%rax)
#define CANARY 204(%rax)
#define HALVES 208(%rax)
#define UPPER 216(%rax)

	.local	abi_frame
	.comm	abi_frame, 8, 8
	.local	abi_stack
	.comm	abi_stack, 8, 8

	.text
	.globl	abi_call
	.type	abi_call, @function
	.balign	16
abi_call:
	.cfi_startproc
	endbr64
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	push	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	push	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	/* Two arguments, the canary, the control registers; 16-byte aligned. */
	sub	$40, %rsp
	.cfi_adjust_cfa_offset 40

	mov	%rdi, %rax
	mov	%rax, abi_frame(%rip)
	mov	%rsp, abi_stack(%rip)
	stmxcsr	24(%rsp)
	fnstcw	28(%rsp)
	ldmxcsr	CONTROL(0)
	fldcw	CONTROL(1)
	testq	$1, HALVES
	jz	1f
	vzeroupper
1:
	mov	ARGUMENT(6), %rcx
	mov	%rcx, (%rsp)
	mov	ARGUMENT(7), %rcx
	mov	%rcx, 8(%rsp)
	mov	CANARY, %ecx
	mov	%rcx, 16(%rsp)
	mov	ARGUMENT(0), %rdi
	mov	ARGUMENT(1), %rsi
	mov	ARGUMENT(2), %rdx
	mov	ARGUMENT(3), %rcx
	mov	ARGUMENT(4), %r8
	mov	ARGUMENT(5), %r9
	mov	SAVED(0), %rbx
	mov	SAVED(1), %rbp
	mov	SAVED(2), %r12
	mov	SAVED(3), %r13
	mov	SAVED(4), %r14
	mov	SAVED(5), %r15
	call	*(%rax)

	mov	abi_frame(%rip), %rax
	mov	%rbx, SAVED(0)
	mov	%rbp, SAVED(1)
	mov	%r12, SAVED(2)
	mov	%r13, SAVED(3)
	mov	%r14, SAVED(4)
	mov	%r15, SAVED(5)
	mov	%rsp, %rcx
	mov	abi_stack(%rip), %rsp
	sub	%rsp, %rcx
	mov	%rcx, MOVED
	pushfq
	.cfi_adjust_cfa_offset 8
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	cld
	mov	%ecx, CONTROL(2)
	mov	16(%rsp), %rcx
	mov	%ecx, CANARY
	stmxcsr	CONTROL(0)
	fnstcw	CONTROL(1)
	ldmxcsr	24(%rsp)
	fldcw	28(%rsp)
	testq	$1, HALVES
	jz	2f
	vextractf128 $1, %ymm0, %xmm0
	.irp	n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vextractf128 $1, %ymm\n, %xmm\n
	vpor	%xmm\n, %xmm0, %xmm0
	.endr
	vmovdqu	%xmm0, UPPER
	vzeroupper
2:
	add	$40, %rsp
	.cfi_adjust_cfa_offset -40
	pop	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	pop	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	pop	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	abi_call, . - abi_call

/* abi_spoil(n): breaks the register n of `registers` in abi.c, counted from 1,
 * then the control registers, the caller's part of the stack, an upper half. */
	.globl	abi_spoil
	.type	abi_spoil, @function
	.balign	16
abi_spoil:
	.cfi_startproc
	endbr64
	.irp	r, rbx, rbp, r12, r13, r14, r15
	dec	%edi
	jnz	1f
	inc	%\r
	ret
1:
	.endr
	dec	%edi
	jnz	1f
	stmxcsr	-8(%rsp)
	xorl	$0x2000, -8(%rsp)
	ldmxcsr	-8(%rsp)
	ret
1:
	dec	%edi
	jnz	1f
	fnstcw	-8(%rsp)
	xorl	$0x400, -8(%rsp)
	fldcw	-8(%rsp)
	ret
1:
	dec	%edi
	jnz	1f
	std
	ret
1:
	dec	%edi
	jnz	1f
	movq	$0, 24(%rsp)
	ret
1:
	dec	%edi
	jnz	1f
	vpcmpeqd %xmm3, %xmm3, %xmm3
	vinsertf128 $1, %xmm3, %ymm3, %ymm3
1:
	ret
	.cfi_endproc
	.size	abi_spoil, . - abi_spoil

#endif
	.section .note.GNU-stack, "", %progbits
