/*
 * Poly1305 for ARMv7 with NEON: eight blocks at once.
 *
 *   void neon_poly1305(struct poly1305_state *state,
 *                      const struct poly1305_key *key, const uint8_t *blocks,
 *                      size_t count, uint32_t top);
 *
 * Each word of the message is multiplied by the residue of its own place, which
 * is in the key (see poly1305.h): nothing is carried before the end, and words
 * need not be cut into limbs. A block is 10 vmlal.u32 and 12 loads of 64 bits,
 * 32 cycles on Cortex-A7 for 77 of poly1305_arm. With powers of r alone it would
 * be 12.5 vmlal.u32, 4.5 loads and 6 cycles to cut: 37. Eight blocks take 385
 * cycles, four 250; fewer are left to poly1305_arm, as is what does not begin a
 * message or has no bit above its blocks.
 */
	.syntax unified
	.arch armv7-a
	.fpu neon
	.arm

state .req r0
key .req r1
block .req r2
count .req r3

#define RESIDUES 16	/* in struct poly1305_key */
#define ALL	640	/* bytes of residues; behind them the tops */

	.text
	.p2align 4
	.globl	neon_poly1305
	.hidden	neon_poly1305
	.type	neon_poly1305, %function
neon_poly1305:
	.cfi_sections .debug_frame
	.cfi_startproc
	cmp	count, #4
	blo	poly1305_arm
	ldr	r12, [sp]
	cmp	r12, #0
	beq	poly1305_arm
	push	{r2-r11, lr}
	.cfi_def_cfa_offset 44
	.cfi_rel_offset r4, 8
	.cfi_rel_offset r5, 12
	.cfi_rel_offset r6, 16
	.cfi_rel_offset r7, 20
	.cfi_rel_offset r8, 24
	.cfi_rel_offset r9, 28
	.cfi_rel_offset r10, 32
	.cfi_rel_offset r11, 36
	.cfi_rel_offset lr, 40
	ldm	state, {r4-r9}
	/* The branch tells nothing of the message: a sum of one or more blocks
	 * is 0 for one key in 2^100. */
	orr	r4, r4, r5
	orr	r6, r6, r7
	orr	r8, r8, r9
	orr	r4, r4, r6
	orrs	r4, r4, r8
	bne	.Lnot_fresh
	subs	r4, count, #8
	movhi	count, #8
	movls	r4, #0
	str	r4, [sp, #4]	/* blocks behind the first eight */
	/* The residues of n blocks are the last 80 n bytes; their tops are 40
	 * bytes at 40 (n - 1). */
	add	r4, key, #RESIDUES + ALL
	add	r5, count, count, lsl #2
	add	r6, r4, r5, lsl #3
	sub	r6, r6, #40
	sub	key, r4, r5, lsl #4
	vldr	d16, [r6]
	vldr	d18, [r6, #8]
	vldr	d20, [r6, #16]
	vldr	d22, [r6, #24]
	vldr	d24, [r6, #32]
	.irp	r, 17, 19, 21, 23, 25
	vmov.i32 d\r, #0
	.endr

	/* Columns in q8 to q12, words in d0 and d1. Loads are ready when
	 * everything in between is done. */
1:	vld1.8	{d0-d1}, [block]!
	vld1.32	{d2-d5}, [key]!
	vld1.32	{d6-d7}, [key]!
	vmlal.u32 q8, d0, d2
	vld1.32	{d26-d29}, [key]!
	vmlal.u32 q9, d0, d3
	vmlal.u32 q10, d0, d4
	vmlal.u32 q11, d0, d5
	vmlal.u32 q12, d0, d6
	vmlal.u32 q8, d1, d7
	subs	count, count, #1
	vmlal.u32 q9, d1, d26
	vmlal.u32 q10, d1, d27
	vmlal.u32 q11, d1, d28
	vmlal.u32 q12, d1, d29
	bne	1b

	vadd.i64 d16, d16, d17
	vadd.i64 d18, d18, d19
	vadd.i64 d20, d20, d21
	vadd.i64 d22, d22, d23
	vadd.i64 d24, d24, d25
	str	block, [sp]
	vmov	r2, r3, d16
	vmov	r4, r5, d18
	vmov	r6, r7, d20
	vmov	r8, r9, d22
	vmov	r10, r11, d24

	/* Carry: the columns are below 2^63. Of each only the limb stays, r2,
	 * r4, r6, r8; of the last one all, r10 and r11. */
	lsr	lr, r2, #26
	orr	lr, lr, r3, lsl #6
	bic	r2, r2, #0xfc000000
	adds	r4, r4, lr
	adc	r5, r5, r3, lsr #26
	lsr	lr, r4, #26
	orr	lr, lr, r5, lsl #6
	bic	r4, r4, #0xfc000000
	adds	r6, r6, lr
	adc	r7, r7, r5, lsr #26
	lsr	lr, r6, #26
	orr	lr, lr, r7, lsl #6
	bic	r6, r6, #0xfc000000
	adds	r8, r8, lr
	adc	r9, r9, r7, lsr #26
	lsr	lr, r8, #26
	orr	lr, lr, r9, lsl #6
	bic	r8, r8, #0xfc000000
	adds	r10, r10, lr
	adc	r11, r11, r9, lsr #26

	/* What is above 2^130 comes back times 5: r3 and r5. */
	lsr	r3, r10, #26
	orr	r3, r3, r11, lsl #6
	lsr	r5, r11, #26
	lsl	lr, r5, #2
	orr	lr, lr, r3, lsr #30
	adds	r3, r3, r3, lsl #2
	adc	r5, r5, lr
	orr	r2, r2, r4, lsl #26
	lsr	r4, r4, #6
	orr	r4, r4, r6, lsl #20
	lsr	r6, r6, #12
	orr	r6, r6, r8, lsl #14
	lsr	r8, r8, #18
	orr	r8, r8, r10, lsl #8
	ubfx	r10, r10, #24, #2
	adds	r2, r2, r3
	adcs	r3, r4, r5
	adcs	r4, r6, #0
	adcs	r5, r8, #0
	adc	r6, r10, #0
	mov	r7, #0
	stm	state, {r2-r7}
	ldr	count, [sp, #4]
	/* No trace of the key. */
	.irp	q, 1, 2, 3, 13, 14
	vmov.i32 q\q, #0
	.endr
	cmp	count, #0
	popeq	{r2-r11, pc}
	sub	key, key, #RESIDUES + ALL
.Lnot_fresh:		/* here the stack has what the registers had */
	pop	{r2-r11, lr}
	.cfi_def_cfa_offset 0
	.irp	r, r4, r5, r6, r7, r8, r9, r10, r11, lr
	.cfi_restore \r
	.endr
	b	poly1305_arm
	.cfi_endproc
	.size	neon_poly1305, . - neon_poly1305

	.section .note.GNU-stack, "", %progbits
