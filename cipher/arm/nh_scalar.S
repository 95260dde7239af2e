/*
 * NH for ARMv7 without NEON.
 *
 *   void nh_scalar(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
 *                  const uint8_t *message, size_t size);
 *
 * umlal makes each product and adds it, so a stride costs 16 additions and 8
 * umlal for the four passes: 32 cycles on Cortex-A7. The rest is loads, for want
 * of registers. All four passes at once would need eight for the sums and leave
 * two for key words, which then come one by one (68 cycles). So a unit is gone
 * through twice, for two passes each time: four registers for sums, four for
 * the message, four for key words, which come in pairs by ldrd. That is 49
 * cycles, 3.1 per byte of message; compiled C takes 5.7 to 6.6.
 *
 * ldm, unlike ldr, needs a message that is aligned to words: without it there
 * is a second loop.
 */
#include "cipher/arm/save.h"

	.syntax unified
	.arch armv7-a
	.arm

message .req r0
keys .req r1
/* r2-r5: key words, and their sums with the message; r6-r9: sums of products;
 * r10-r12, lr: the message */

#define SUMS	[sp]
#define KEY	[sp, #4]
#define LEFT	[sp, #8]
#define UNIT	[sp, #12]
#define END	[sp, #16]	/* also as text in the macros below */
#define FRAME	20

/* One pass: the key words at keys + at. `fill` stands where ldrd is waited for;
 * `between` where r2 and r4 are free. */
	.macro pass lo, hi, at, fill, between
	ldrd	r2, r3, [keys, #\at]
	ldrd	r4, r5, [keys, #\at + 8]
	\fill
	add	r2, r2, r10
	add	r4, r4, r12
	add	r3, r3, r11
	add	r5, r5, lr
	umlal	\lo, \hi, r2, r4
	\between
	umlal	\lo, \hi, r3, r5
	.endm

	.macro stride aligned, between
	.if \aligned
	ldm	message!, {r10-r12, lr}
	.else
	ldr	r10, [message], #4
	ldr	r11, [message], #4
	ldr	r12, [message], #4
	ldr	lr, [message], #4
	.endif
	pass	r6, r7, 0, "", ""
	pass	r8, r9, 16, "add keys, keys, #16", "\between"
	.endm

/* Two passes over one unit. The key's place moves on in the second pass, before
 * which ldrd has read from it. */
	.macro unit aligned
	ldr	r2, END
	sub	r2, r2, message
	cmp	r2, #64
	blo	2f
1:	stride	\aligned, ""
	stride	\aligned, ""
	stride	\aligned, ""
	stride	\aligned, "ldr r2, [sp, #16]"
	sub	r2, r2, message
	cmp	r2, #64
	bhs	1b
2:	cmp	r2, #0
	beq	4f
3:	stride	\aligned, "ldr r2, [sp, #16]"
	cmp	r2, message
	bne	3b
4:
	.endm

	.text
	.p2align 4
	.globl	nh_scalar
	.hidden	nh_scalar
	.type	nh_scalar, %function
nh_scalar:
	.cfi_sections .debug_frame
	.cfi_startproc
	save_registers
	sub	sp, sp, #FRAME
	.cfi_adjust_cfa_offset FRAME
	str	r0, SUMS
	str	r1, KEY
	mov	message, r2
	cmp	r3, #0
	beq	.Ldone

.Lunit:	/* r3 bytes are left */
	cmp	r3, #1024
	mov	r4, r3
	movhi	r4, #1024
	sub	r3, r3, r4
	add	r4, message, r4
	str	r3, LEFT
	str	message, UNIT
	str	r4, END
	ldr	keys, KEY
	mov	r12, #0
.Lhalf:	/* r12 passes are done */
	mov	r6, #0
	mov	r7, #0
	mov	r8, #0
	mov	r9, #0
	tst	message, #3
	bne	.Lunaligned
	unit	1
	b	.Lstore
.Lunaligned:
	unit	0
.Lstore:
	ldr	r2, SUMS
	stm	r2!, {r6-r9}
	str	r2, SUMS
	/* The first half ends at the key words that are the number of strides
	 * behind the key's first; the second two strides further. */
	ldr	r4, UNIT
	ldr	r5, KEY
	sub	r6, message, r4
	sub	r7, keys, r5
	cmp	r6, r7
	moveq	message, r4
	addeq	keys, r5, #32
	beq	.Lhalf
	ldr	r3, LEFT
	cmp	r3, #0
	bne	.Lunit
	mov	r4, #0
	str	r4, UNIT
.Ldone:
	add	sp, sp, #FRAME
	.cfi_adjust_cfa_offset -FRAME
	mov	r2, #0	/* key words, or their sums with the message */
	mov	r3, #0
	mov	r12, #0
	pop	{r4-r11, pc}
	.cfi_endproc
	.size	nh_scalar, . - nh_scalar

	.section .note.GNU-stack, "", %progbits
