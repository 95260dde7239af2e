/*
 * Poly1305 of up to eight blocks at once, for arm64.
 *
 *   void poly1305_neon_sum(struct poly1305_state *state,
 *                          const struct poly1305_residues *residues,
 *                          const uint8_t *blocks, size_t count);
 *
 * sets the state to the sum of `count` blocks, 1 to 8, each with the bit above;
 * what it held before does not count.
 *
 * Horner's rule makes each block wait for the one before: a product of 64-bit
 * limbs is 28 cycles of the multiplier and 43 from start to end on Cortex-A53
 * (compiled C: 55). Here each word of the message is multiplied by the residue
 * of its own place, which is in the key (see poly1305.h), and nothing is carried
 * before the end: 10 umlal a block, and 12 loads of 64 bits, which bound it. With
 * powers of r alone it would be 12.5 umlal, and the blocks would have to be cut
 * into limbs first. Eight blocks take 160 cycles, two 85.
 */
#define SUM	x0
#define KEY	x4
#define TOP	x5
#define BLOCK	x2
#define COUNT	x3
#define RESIDUE	80	/* bytes of a block's residues */
#define ALL	640	/* of all of them; the tops are behind, 40 bytes each */

	.text
	.p2align 4
	.globl	poly1305_neon_sum
	.hidden	poly1305_neon_sum
	.type	poly1305_neon_sum, %function
poly1305_neon_sum:
	.cfi_startproc
	mov	w6, #RESIDUE
	mov	w7, #40
	add	TOP, x1, #ALL
	umsubl	KEY, w3, w6, TOP
	ldp	d5, d6, [BLOCK]
	umaddl	TOP, w3, w7, TOP
	sub	COUNT, COUNT, #1
	ldp	d16, d17, [KEY]
	ldp	d18, d19, [KEY, #16]
	ldp	d0, d1, [TOP, #-40]
	ldp	d2, d3, [TOP, #-24]
	ldr	d4, [TOP, #-8]
	ldp	d20, d21, [KEY, #32]
	ldp	d22, d23, [KEY, #48]
	ldp	d24, d25, [KEY, #64]
	cbz	COUNT, 2f

	.p2align 3
1:	umlal	v0.2d, v5.2s, v16.2s
	ldr	d16, [KEY, #RESIDUE]!
	umlal	v1.2d, v5.2s, v17.2s
	ldr	d17, [KEY, #8]
	umlal	v2.2d, v5.2s, v18.2s
	ldr	d18, [KEY, #16]
	umlal	v3.2d, v5.2s, v19.2s
	ldr	d19, [KEY, #24]
	umlal	v4.2d, v5.2s, v20.2s
	ldr	d5, [BLOCK, #16]!
	sub	COUNT, COUNT, #1
	ldr	d20, [KEY, #32]
	umlal	v0.2d, v6.2s, v21.2s
	ldr	d21, [KEY, #40]
	umlal	v1.2d, v6.2s, v22.2s
	ldr	d22, [KEY, #48]
	umlal	v2.2d, v6.2s, v23.2s
	ldr	d23, [KEY, #56]
	umlal	v3.2d, v6.2s, v24.2s
	ldr	d24, [KEY, #64]
	umlal	v4.2d, v6.2s, v25.2s
	ldr	d6, [BLOCK, #8]
	ldr	d25, [KEY, #72]
	cbnz	COUNT, 1b

2:	umlal	v0.2d, v5.2s, v16.2s
	umlal	v1.2d, v5.2s, v17.2s
	umlal	v0.2d, v6.2s, v21.2s
	umlal	v1.2d, v6.2s, v22.2s
	umlal	v2.2d, v5.2s, v18.2s
	umlal	v2.2d, v6.2s, v23.2s
	addp	d0, v0.2d
	umlal	v3.2d, v5.2s, v19.2s
	addp	d1, v1.2d
	fmov	x6, d0
	umlal	v3.2d, v6.2s, v24.2s
	fmov	x7, d1
	addp	d2, v2.2d
	umlal	v4.2d, v5.2s, v20.2s
	fmov	x8, d2
	umlal	v4.2d, v6.2s, v25.2s
	addp	d3, v3.2d
	add	x7, x7, x6, lsr #26
	fmov	x9, d3
	addp	d4, v4.2d
	add	x8, x8, x7, lsr #26
	fmov	x10, d4

	/* The columns are below 2^63: carry, and join the limbs. */
	and	x6, x6, #0x3ffffff
	bfi	x6, x7, #26, #26
	add	x9, x9, x8, lsr #26
	ubfx	x11, x8, #12, #14
	orr	x6, x6, x8, lsl #52
	add	x10, x10, x9, lsr #26
	bfi	x11, x9, #14, #26
	lsr	x12, x10, #24
	orr	x11, x11, x10, lsl #40
	/* What is above 2^130 comes back times 5: four times and once. */
	and	x13, x12, #~3
	add	x13, x13, x12, lsr #2
	and	x12, x12, #3
	adds	x6, x6, x13
	movi	v16.2d, #0
	adcs	x11, x11, xzr
	movi	v17.2d, #0
	adc	x12, x12, xzr
	movi	v18.2d, #0
	stp	x6, x11, [SUM]
	str	x12, [SUM, #16]
	/* No trace of the key. */
	.irp	r, 19, 20, 21, 22, 23, 24, 25
	movi	d\r, #0
	.endr
	ret
	.cfi_endproc
	.size	poly1305_neon_sum, . - poly1305_neon_sum

	.section .note.GNU-stack, "", %progbits
