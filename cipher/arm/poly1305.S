/*
 * Poly1305 for ARMv7 by 32-bit multiplications.
 *
 *   void poly1305_arm(struct poly1305_state *state,
 *                     const struct poly1305_key *key, const uint8_t *blocks,
 *                     size_t count, uint32_t top);
 *
 * h and r are four limbs of 32 bits, and h4 what is above. Clamping leaves r's
 * limbs below 2^28 and makes r1, r2, r3 multiples of 4, so that 2^128 ri is
 * 5/4 ri = si modulo 2^130 - 5. The columns
 *
 *   d0 = h0 r0 + h1 s3 + h2 s2 + h3 s1
 *   d1 = h0 r1 + h1 r0 + h2 s3 + h3 s2 + h4 s1
 *   d2 = h0 r2 + h1 r1 + h2 r0 + h3 s3 + h4 s2
 *   d3 = h0 r3 + h1 r2 + h2 r1 + h3 r0 + h4 s3
 *   d4 = h4 r0
 *
 * stay below 2^63. So umlal sums a column with no carry to be caught, and takes
 * the upper half of the one before as the start of its sum. The si are made anew
 * for want of registers: one cycle each, as a load would be.
 *
 * On Cortex-A7 77 cycles a block in a row of eight; limbs of 26 bits in
 * compiled C take 165.
 */
#include "cipher/arm/save.h"

	.syntax unified
	.arch armv7-a
	.arm

h0 .req r8
h1 .req r4
h2 .req r5
h3 .req r6
h4 .req r7
k0 .req r9
k1 .req r10
k2 .req r11
k3 .req r12
ptr .req r0
t .req lr

#define LOW1	[sp]		/* and the next word: h1 and h2 to be */
#define LOW2	[sp, #4]
#define END	[sp, #8]
#define STATE	[sp, #12]
#define FRAME	16
#define TOP	[sp, #FRAME + 36]	/* the caller's */

	.text
	.p2align 4
	.globl	poly1305_arm
	.hidden	poly1305_arm
	.type	poly1305_arm, %function
poly1305_arm:
	.cfi_sections .debug_frame
	.cfi_startproc
	cmp	r3, #0
	bxeq	lr
	save_registers
	sub	sp, sp, #FRAME
	.cfi_adjust_cfa_offset FRAME
	add	r3, r2, r3, lsl #4
	str	r0, STATE
	str	r3, END
	ldr	h0, [r0]
	ldr	h1, [r0, #4]
	ldr	h2, [r0, #8]
	ldr	h3, [r0, #12]
	ldr	h4, [r0, #16]
	mov	ptr, r2
	ldm	r1, {k0, k1, k2, k3}

	.p2align 3
1:	ldr	r1, [ptr], #4
	ldr	r2, [ptr], #4
	ldr	r3, [ptr], #4
	ldr	t, [ptr], #4
	adds	h0, h0, r1
	ldr	r1, TOP
	adcs	h1, h1, r2
	adcs	h2, h2, r3
	adcs	h3, h3, t
	add	r3, k2, k2, lsr #2	/* s2 */
	adc	h4, h4, r1
	add	t, k3, k3, lsr #2	/* s3 */

	umull	r1, r2, h0, k0		/* d0 in r1, r2 */
	umlal	r1, r2, h2, r3
	add	r3, k1, k1, lsr #2	/* s1 */
	umlal	r1, r2, h1, t
	umlal	r1, r2, h3, r3

	mov	r3, #0
	umlal	r2, r3, h2, t		/* d1 in r2, r3 */
	add	t, k1, k1, lsr #2	/* s1 */
	umlal	r2, r3, h0, k1
	umlal	r2, r3, h4, t
	add	t, k2, k2, lsr #2	/* s2 */
	umlal	r2, r3, h1, k0
	umlal	r2, r3, h3, t
	str	r2, LOW1

	mov	r2, #0
	umlal	r3, r2, h4, t		/* d2 in r3, r2 */
	add	t, k3, k3, lsr #2	/* s3 */
	umlal	r3, r2, h0, k2
	umlal	r3, r2, h3, t
	umlal	r3, r2, h1, k1
	umlal	r3, r2, h2, k0
	str	r3, LOW2

	mov	r3, #0
	umlal	r2, r3, h4, t		/* d3 in r2, r3 */
	mul	h4, h4, k0		/* d4 */
	umlal	r2, r3, h0, k3
	umlal	r2, r3, h1, k2
	umlal	r2, r3, h2, k1
	umlal	r2, r3, h3, k0

	/* What is above 2^130 comes back times 5: four times and once. */
	ldrd	h1, h2, LOW1
	add	h4, h4, r3
	bic	t, h4, #3
	and	h4, h4, #3
	add	t, t, t, lsr #2
	ldr	r3, END
	adds	h0, r1, t
	adcs	h1, h1, #0
	adcs	h2, h2, #0
	adcs	h3, r2, #0
	adc	h4, h4, #0
	cmp	ptr, r3
	bne	1b

	/* No trace of the key, nor of the sums on the stack. */
	ldr	r0, STATE
	mov	r1, #0
	str	r1, LOW1
	str	r1, LOW2
	str	h0, [r0]
	str	h1, [r0, #4]
	str	h2, [r0, #8]
	str	h3, [r0, #12]
	str	h4, [r0, #16]
	str	r1, [r0, #20]
	add	sp, sp, #FRAME
	.cfi_adjust_cfa_offset -FRAME
	mov	r2, #0
	mov	r12, #0
	pop	{r4-r11, pc}
	.cfi_endproc
	.size	poly1305_arm, . - poly1305_arm

	.section .note.GNU-stack, "", %progbits
